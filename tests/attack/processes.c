/* Processes of the same user: the victim, the parent, which are outside of the restriction, and a sibling, which is in it. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct path proc_of(pid_t process, const char *name)
{
    struct path path;

    snprintf(path.text, sizeof path.text, "/proc/%d/%.280s", process, name);
    return path;
}

static int open_of(pid_t process, const char *name)
{
    return open(proc_of(process, name).text, O_RDONLY);
}

/* Whether the text, which may have NUL bytes in it, holds the secret. */
static int mentions_secret(const struct scene *scene, int fd)
{
    char text[4096];
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (length < 0)
        return -1;
    return memmem(text, (size_t)length, scene->secret, SECRET_SIZE - 1) ? 0 : failed(ENODATA);
}

static int says_something(int fd)
{
    char text[256];
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text);

    if (length < 0)
        return -1;
    return length ? 0 : failed(ENODATA);
}

static int memory_of(const struct scene *scene, int fd)
{
    char text[SECRET_SIZE] = "";

    if (fd < 0 || pread(fd, text, sizeof text - 1, (off_t)(uintptr_t)victim_secret) < 0)
        return -1;
    return equals_secret(scene, text);
}

static int try_mem(const struct scene *scene)
{
    return memory_of(scene, open_of(scene->victim, "mem"));
}

static int try_environ(const struct scene *scene)
{
    return mentions_secret(scene, open_of(scene->victim, "environ"));
}

static int try_maps(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "maps"));
}

static int try_auxv(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "auxv"));
}

static int try_exe(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "exe"));
}

static int try_exe_link(const struct scene *scene)
{
    char target[NAME_SIZE];

    return readlink(proc_of(scene->victim, "exe").text, target, sizeof target) < 0 ? -1 : 0;
}

static int try_cwd(const struct scene *scene)
{
    return reads_secret(scene, open_of(scene->victim, "cwd/secret"));
}

static int try_root(const struct scene *scene)
{
    return reads_secret(scene, open_of(scene->victim, in("root", SECRET(scene)).text));
}

static int try_fd(const struct scene *scene)
{
    char name[16];

    snprintf(name, sizeof name, "fd/%d", VICTIMS_FILE);
    return reads_secret(scene, open_of(scene->victim, name));
}

static int try_namespace(const struct scene *scene)
{
    return opened(open_of(scene->victim, "ns/mnt"));
}

static int try_io(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "io"));
}

static int try_cmdline(const struct scene *scene)
{
    return mentions_secret(scene, open_of(scene->victim, "cmdline"));
}

static int try_status(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "status"));
}

static int try_mountinfo(const struct scene *scene)
{
    return says_something(open_of(scene->victim, "mountinfo"));
}

static int try_oom(const struct scene *scene)
{
    int fd = open(proc_of(scene->victim, "oom_score_adj").text, O_WRONLY);

    return fd < 0 || write(fd, "1000", 4) != 4 ? -1 : 0;
}

static int try_readv(const struct scene *scene)
{
    char text[SECRET_SIZE] = "";
    struct iovec here = {text, sizeof text - 1}, there = {victim_secret, sizeof text - 1};

    return process_vm_readv(scene->victim, &here, 1, &there, 1, 0) < 0 ? -1 : equals_secret(scene, text);
}

static int try_writev(const struct scene *scene)
{
    char text[SECRET_SIZE];
    struct iovec here = {text, sizeof text - 1}, there = {victim_secret, sizeof text - 1};

    memcpy(text, scene->secret, sizeof text);
    return process_vm_writev(scene->victim, &here, 1, &there, 1, 0) < 0 ? -1 : 0;
}

static int traces(pid_t process)
{
    if (ptrace(PTRACE_SEIZE, process, NULL, NULL) < 0)
        return -1;
    return ptrace(PTRACE_DETACH, process, NULL, NULL) < 0 && errno != ESRCH
               ? -1
               : 0; /* ESRCH: it is not stopped */
}

static int try_attach(const struct scene *scene)
{
    long word, wanted;

    if (ptrace(PTRACE_ATTACH, scene->victim, NULL, NULL) < 0 || waitpid(scene->victim, NULL, __WALL) < 0)
        return -1;
    word = ptrace(PTRACE_PEEKDATA, scene->victim, victim_secret, NULL);
    ptrace(PTRACE_DETACH, scene->victim, NULL, NULL);
    memcpy(&wanted, scene->secret, sizeof wanted);
    return word == wanted ? 0 : failed(EBADMSG);
}

static int try_seize(const struct scene *scene)
{
    return traces(scene->victim);
}

static int try_kcmp(const struct scene *scene)
{
    return syscall(SYS_kcmp, getpid(), scene->victim, KCMP_VM, 0, 0) < 0 ? -1 : 0;
}

static int try_getfd(const struct scene *scene)
{
    int process = (int)syscall(SYS_pidfd_open, scene->victim, 0);

    return process < 0 ? -1 : reads_secret(scene, (int)syscall(SYS_pidfd_getfd, process, VICTIMS_FILE, 0));
}

static int try_move_pages(const struct scene *scene)
{
    void *page = victim_secret;
    int status;

    return (int)syscall(SYS_move_pages, scene->victim, 1UL, &page, NULL, &status, 0);
}

static int try_robust_list(const struct scene *scene)
{
    void *head;
    size_t size;

    return (int)syscall(SYS_get_robust_list, scene->victim, &head, &size);
}

static int try_perf(const struct scene *scene)
{
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof event,
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1};

    return opened((int)syscall(SYS_perf_event_open, &event, scene->victim, -1, -1, 0));
}

static int try_prlimit(const struct scene *scene)
{
    struct rlimit limit;

    if (prlimit(scene->victim, RLIMIT_NOFILE, NULL, &limit) < 0)
        return -1;
    limit.rlim_cur = 100;
    return prlimit(scene->victim, RLIMIT_NOFILE, &limit, NULL);
}

static bool limit_is_lower(const struct stage *stage)
{
    struct rlimit limit;

    return prlimit(stage->scene.victim, RLIMIT_NOFILE, NULL, &limit) == 0 && limit.rlim_cur == 100;
}

static int try_priority(const struct scene *scene)
{
    return setpriority(PRIO_PROCESS, (id_t)scene->victim, 5);
}

static bool priority_is_lower(const struct stage *stage)
{
    return getpriority(PRIO_PROCESS, (id_t)stage->scene.victim) == 5;
}

static int try_scheduler(const struct scene *scene)
{
    const struct sched_param parameter = {0};

    return sched_setscheduler(scene->victim, SCHED_BATCH, &parameter);
}

static bool scheduler_is_another(const struct stage *stage)
{
    return sched_getscheduler(stage->scene.victim) == SCHED_BATCH;
}

static int try_affinity(const struct scene *scene)
{
    cpu_set_t processors;

    if (sched_getaffinity(scene->victim, sizeof processors, &processors) < 0)
        return -1;
    return sched_setaffinity(scene->victim, sizeof processors, &processors);
}

/* ---- The parent, which in the container is its first process ---- */

static int try_parent_mem(const struct scene *scene)
{
    unsigned long start;
    char text[256] = "", byte;
    int fd = open_of(scene->parent, "maps");

    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        return -1;
    start = strtoul(text, NULL, 16);
    fd = open_of(scene->parent, "mem");
    return fd < 0 || pread(fd, &byte, 1, (off_t)start) != 1 ? -1 : 0;
}

static int try_parent_environ(const struct scene *scene)
{
    return says_something(open_of(scene->parent, "environ"));
}

static int try_parent_root(const struct scene *scene)
{
    return opened(open_of(scene->parent, "root"));
}

static int try_parent_trace(const struct scene *scene)
{
    return traces(scene->parent);
}

static int try_parent_kill(const struct scene *scene)
{
    return kill(scene->parent, 0);
}

/* ---- A sibling ---- */

static pid_t sibling(void)
{
    pid_t child = fork();

    if (child == 0)
        for (;;)
            pause();
    return child;
}

static int try_sibling_memory(const struct scene *scene)
{
    char text[SECRET_SIZE] = "";
    struct iovec here = {text, 1}, there = {victim_secret, 1};
    pid_t child = sibling();
    int result = (int)process_vm_readv(child, &here, 1, &there, 1, 0), failure = errno;

    (void)scene;
    kill(child, SIGKILL);
    return result == 1 ? 0 : failed(failure);
}

static int try_sibling_kill(const struct scene *scene)
{
    pid_t child = sibling();
    int status;

    (void)scene;
    return kill(child, SIGKILL) < 0 || waitpid(child, &status, 0) < 0 ? -1 : 0;
}

static const struct attack rows[] = {
    {"mem", "/proc/PID/mem", try_mem, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"environ", "/proc/PID/environ", try_environ, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"maps", "/proc/PID/maps", try_maps, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"auxv", "/proc/PID/auxv", try_auxv, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"exe", "opening /proc/PID/exe", try_exe, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"exe-link", "readlink(2) of /proc/PID/exe", try_exe_link, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"cwd", "a file by /proc/PID/cwd", try_cwd, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"root", "a file by /proc/PID/root", try_root, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"fd", "an open file by /proc/PID/fd", try_fd, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"namespace", "/proc/PID/ns", try_namespace, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"io", "/proc/PID/io", try_io, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"cmdline", "/proc/PID/cmdline, if /proc may be read", try_cmdline, CONTAINER(PROCESSES)},
    {"status", "/proc/PID/status, likewise", try_status, CONTAINER(PROCESSES)},
    {"mountinfo", "/proc/PID/mountinfo, likewise", try_mountinfo, CONTAINER(PROCESSES)},
    {"oom", "writing /proc/PID/oom_score_adj", try_oom, LANDLOCK(1, EACCES), CONTAINER(PROCESSES)},
    {"readv", "process_vm_readv(2)", try_readv, LANDLOCK(1, EPERM), CONTAINER(PROCESSES), FILTERED},
    {"writev", "process_vm_writev(2)", try_writev, LANDLOCK(1, EPERM), CONTAINER(PROCESSES), FILTERED},
    {"attach", "ptrace(2): attaching", try_attach, LANDLOCK(1, EPERM), CONTAINER(PROCESSES)},
    {"seize", "ptrace(2): seizing", try_seize, LANDLOCK(1, EPERM), CONTAINER(PROCESSES)},
    {"kcmp", "kcmp(2)", try_kcmp, LANDLOCK(1, EPERM), CONTAINER(PROCESSES), FILTERED},
    {"getfd", "pidfd_getfd(2)", try_getfd, LANDLOCK(1, EPERM), CONTAINER(PROCESSES), FILTERED},
    {"move-pages", "move_pages(2)", try_move_pages, LANDLOCK(1, EPERM), CONTAINER(PROCESSES), FILTERED},
    {"robust-list", "get_robust_list(2)", try_robust_list, LANDLOCK(1, EPERM), CONTAINER(PROCESSES)},
    {"perf", "perf_event_open(2)", try_perf, .need = NEEDS_PERF, LANDLOCK(1, EACCES), CONTAINER(PROCESSES),
     FILTERED},
    {"limits", "lowering its limits (prlimit(2))", try_prlimit, limit_is_lower, FILTER_FROM(6, EPERM),
     CONTAINER(PROCESSES)},
    {"priority", "lowering its priority", try_priority, priority_is_lower, CONTAINER(PROCESSES)},
    {"scheduler", "changing how it is scheduled", try_scheduler, scheduler_is_another, CONTAINER(PROCESSES)},
    {"affinity", "changing on which processors it runs", try_affinity, CONTAINER(PROCESSES)},
    {"parent-mem", "the memory of the parent", try_parent_mem, LANDLOCK(1, EACCES)},
    {"parent-environ", "the environment of the parent", try_parent_environ, LANDLOCK(1, EACCES)},
    {"parent-root", "the root directory of the parent", try_parent_root, LANDLOCK(1, EACCES)},
    {"parent-trace", "ptrace(2) of the parent", try_parent_trace, LANDLOCK(1, EPERM)},
    {"parent-kill", "signalling the parent", try_parent_kill, LANDLOCK(6, EPERM)},
    {"sibling-memory", "memory of a process in the same restriction", try_sibling_memory, FILTERED},
    {"sibling-kill", "ending a process in the same restriction", try_sibling_kill, NEVER},
};

const struct attack_group process_group = {
    .name = "processes", .title = "Processes of the same user outside of the restriction", ROWS(rows)};
