#include "container/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* `failure`: the errno of what failed; 0 where nothing did. */
static int say_no_proc(struct error *error, int failure)
{
    bool is_telling = failure && failure != ENOENT;

    error_set(error, 1, "/proc is missing, or is not that of this PID namespace%s%s", is_telling ? ": " : "",
              is_telling ? strerror(failure) : "");
    return error_hint(error, "mount /proc; Docker, Podman and bwrap --proc /proc do");
}

/* The kernel's /proc of this PID namespace; -1 and `error`. */
static int open_proc_root(struct error *error)
{
    auto_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char found[32] = "", expected[32];
    struct statfs status;

    snprintf(expected, sizeof expected, "%d", (int)getpid());
    errno = proc < 0 ? errno : 0;
    if (proc >= 0 && fstatfs(proc, &status) == 0 && status.f_type == PROC_SUPER_MAGIC &&
        readlinkat(proc, "self", found, sizeof found - 1) > 0 && !strcmp(found, expected))
        return take_fd(&proc);
    return say_no_proc(error, errno);
}

int open_proc(const char *path, struct error *error)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    auto_close int proc = open_proc_root(error);
    int fd, failure;

    if (proc < 0)
        return -1;
    fd = (int)syscall(SYS_openat2, proc, path, &how, sizeof how);
    if (fd >= 0)
        return fd;
    failure = errno;
    error_set(error, 1, "/proc/%s: cannot be read: %s", path, strerror(failure));
    return failure == EXDEV ? error_hint(error, "something is mounted on it: leave that out") : -1;
}

int container_check(const struct container_expectation *expectation, pid_t pid,
                    struct container_findings *findings, struct error *error)
{
    struct check check = {.expectation = expectation, .pid = pid, .findings = findings};

    return check_process(&check, error) < 0 || check_mounts(&check, error) < 0 ? -1 : 0;
}
