/*
 * How long it takes to start a program where the container must be checked, as on Landlock ABI 2: by floors that check it too, and by
 * landlock-exec and its helper.
 *
 *     container [-n ROUNDS] PROGRAM FLOOR BY-HAND LIBRARIES {LANDLOCK-EXEC HELPER HELPER'S-PATH}...
 *
 *     FLOOR       as in launch.c: it makes the same rules and checks nothing (floor_nothing.c)
 *     BY-HAND     a static floor that also checks the container, without libraries (floor_by_hand.c)
 *     LIBRARIES   a floor that checks it by libmount and libcap-ng, which the project uses (floor_libraries.c): landlock-exec is to
 *                 cost at most twice this one
 *     a second LANDLOCK-EXEC: another build, to see what a change gains; its helper must have another path
 *
 * All of them run in a mount namespace of their own, with a read-only root and the mounts of a Docker container, as user 1000 without
 * capabilities. Only root can make it. The figures are (time - bare) / (floor - bare) of medians, as in launch.c.
 */
#include "bench.h"
#include "launch.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BARE, FLOOR, BY_HAND, LIBRARIES, LAUNCHER, MOST_BUILDS = 8, MOST_COMMANDS = LAUNCHER + MOST_BUILDS };
enum { RULES = 6, ROUNDS = 1000 };

#define PLACE "/tmp"       /* where the new root is made; covered in the new namespace only */
#define ROOT PLACE "/root" /* the new root */
#define INPUTS "/bench"    /* in it, the programs, the policy and the rules */

struct settings {
    size_t rounds;
    const char *const *files; /* PROGRAM FLOOR BY-HAND LIBRARIES, then three for each build */
    size_t build_count;
};

/* ---- The container ---- */

/* Without it nothing is measured, and that is no failure. */
static _Noreturn void leave_out(const char *what)
{
    printf("container: left out, a container cannot be made here: %s: %s\n", what, strerror(errno));
    exit(0);
}

/* Makes the folders above `path`, and `path` itself as a folder or an empty file. */
static void make_point(const char *path, bool is_file)
{
    char *copy = format("%s", path);

    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(copy, 0755);
        *at = '/';
    }
    if (is_file)
        close(open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    else
        mkdir(copy, 0755);
    free(copy);
}

/* The mounts of `docker run --read-only --tmpfs /tmp -v CHAT:/sandbox -v main.py:/opt/main.py:ro --init`, in Docker's order. */
static const struct container_mount {
    const char *point, *type; /* NULL: a bind mount */
    const char *source, *data;
    bool is_read_only, is_file, may_be_missing;
} mounts[] = {
    {"/proc", "proc", "proc", NULL, false, false, false},
    {"/dev", "tmpfs", "tmpfs", "mode=755,size=64k", false, false, false},
    {"/dev/pts", "devpts", "devpts", "newinstance,ptmxmode=0666,mode=0620,gid=5", false, false, false},
    {"/sys", "sysfs", "sysfs", NULL, true, false, false},
    {"/sys/fs/cgroup", "cgroup2", "cgroup", NULL, true, false, true},
    {"/dev/mqueue", "mqueue", "mqueue", NULL, false, false, true},
    {"/dev/shm", "tmpfs", "shm", "mode=1777,size=64m", false, false, false},
    {"/tmp", "tmpfs", "tmpfs", "mode=1777,size=64m", false, false, false},
    {"/sandbox", NULL, PLACE "/host/sandbox", NULL, false, false, false},
    {"/opt/main.py", NULL, PLACE "/host/main.py", NULL, true, true, false},
    {"/etc/resolv.conf", NULL, PLACE "/host/resolv.conf", NULL, true, true, false},
    {"/etc/hostname", NULL, PLACE "/host/hostname", NULL, true, true, false},
    {"/etc/hosts", NULL, PLACE "/host/hosts", NULL, true, true, false},
    {"/usr/sbin/docker-init", NULL, PLACE "/host/docker-init", NULL, true, true, false},
    {"/proc/bus", NULL, ROOT "/proc/bus", NULL, true, false, false},
    {"/proc/fs", NULL, ROOT "/proc/fs", NULL, true, false, false},
    {"/proc/irq", NULL, ROOT "/proc/irq", NULL, true, false, false},
    {"/proc/sys", NULL, ROOT "/proc/sys", NULL, true, false, false},
    {"/proc/sysrq-trigger", NULL, ROOT "/proc/sysrq-trigger", NULL, true, true, true},
    {"/proc/acpi", "tmpfs", "tmpfs", NULL, true, false, true},
    {"/proc/kcore", NULL, ROOT "/dev/null", NULL, false, true, true},
    {"/proc/keys", NULL, ROOT "/dev/null", NULL, false, true, true},
    {"/proc/latency_stats", NULL, ROOT "/dev/null", NULL, false, true, true},
    {"/proc/timer_list", NULL, ROOT "/dev/null", NULL, false, true, true},
    {"/proc/interrupts", NULL, ROOT "/dev/null", NULL, false, true, true},
    {"/proc/scsi", "tmpfs", "tmpfs", NULL, true, false, true},
    {"/sys/firmware", "tmpfs", "tmpfs", NULL, true, false, true},
};

static void make_mount(const struct container_mount *mount_)
{
    char *point = format("%s%s", ROOT, mount_->point);
    unsigned long read_only = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;

    make_point(point, mount_->is_file);
    if (mount(mount_->source, point, mount_->type, mount_->type ? MS_NOSUID : MS_BIND, mount_->data) < 0) {
        if (!mount_->may_be_missing)
            leave_out(mount_->point);
    } else if (mount_->is_read_only && mount(NULL, point, NULL, read_only, NULL) < 0) {
        leave_out(mount_->point);
    }
    free(point);
    if (!strcmp(mount_->point, "/dev") &&
        (mknod(ROOT "/dev/null", S_IFCHR | 0666, makedev(1, 3)) < 0 || chmod(ROOT "/dev/null", 0666) < 0))
        leave_out("/dev/null");
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        err(1, "%s", path);
    return fd;
}

/* The new root: the machine's own below an overlay, as an image's layers are. */
static void make_root(void)
{
    static const char *const files[] = {"main.py", "resolv.conf", "hostname", "hosts", "docker-init"};

    if (unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0)
        leave_out("a namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", PLACE, "tmpfs", 0, "mode=755") < 0)
        leave_out(PLACE);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = format(PLACE "/host/%s", files[i]);

        make_point(path, true);
        free(path);
    }
    make_point(PLACE "/host/sandbox", false);
    make_point(PLACE "/upper", false);
    make_point(PLACE "/work", false);
    make_point(ROOT, false);
    if (chown(PLACE "/host/sandbox", CONTAINER_USER, CONTAINER_USER) < 0 ||
        mount("overlay", ROOT, "overlay", 0, "lowerdir=/,upperdir=" PLACE "/upper,workdir=" PLACE "/work") <
            0)
        leave_out("an overlay on /");
}

static void enter_root(void)
{
    if (chdir(ROOT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        leave_out("another root");
}

static void copy_file(int from, const char *to)
{
    char *path = format(ROOT "%s", to);
    struct stat status;
    int fd;

    make_point(path, true);
    fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
    if (fd < 0 || fstat(from, &status) < 0)
        err(1, "%s", path);
    for (off_t done = 0; done < status.st_size;)
        if (sendfile(fd, from, &done, (size_t)(status.st_size - done)) <= 0)
            err(1, "%s", path);
    if (fchmod(fd, 0755) < 0)
        err(1, "%s", path);
    close(fd);
    close(from);
    free(path);
}

/* To be freed. The name in the container of an input that is executed by its name there. */
static char *input_path(size_t i)
{
    return format(INPUTS "/%zu/landlock-exec", i);
}

/* The policy's writable mounts must be there when its rules are made; the root is read-only from here on. */
static char *make_container(const struct settings *settings, struct scene *scene)
{
    enum { OWN = 4, MOST_FILES = OWN + 3 * MOST_BUILDS };
    int fds[MOST_FILES];
    size_t count = OWN + 3 * settings->build_count;
    char *policy;

    for (size_t i = 0; i < count; i++)
        fds[i] = i >= OWN && (i - OWN) % 3 == 2 ? -1 : open_file(settings->files[i]);
    make_root();
    for (size_t i = 0; i < count; i++) {
        char *path = i >= OWN && (i - OWN) % 3 == 1 ? format("%s", settings->files[i + 1]) : input_path(i);

        if (fds[i] >= 0)
            copy_file(fds[i], path);
        free(path);
    }
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++)
        make_mount(&mounts[i]);
    enter_root();
    policy = make_scene(scene, RULES);
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
        leave_out("a read-only root");
    return policy;
}

static void become_user(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    for (int i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++)
        if (prctl(PR_CAPBSET_DROP, i) < 0)
            leave_out("no capabilities");
    if (setgroups(0, NULL) < 0 || setgid(CONTAINER_USER) < 0 || setuid(CONTAINER_USER) < 0 ||
        syscall(SYS_capset, &header, none) < 0)
        leave_out("another user");
}

static size_t count_mounts(void)
{
    FILE *in = fopen("/proc/self/mountinfo", "re");
    size_t count = 0;
    int c;

    while (in && (c = getc(in)) != EOF)
        count += c == '\n';
    if (in)
        fclose(in);
    return count;
}

/* ---- The commands ---- */

static void push_all(struct command *command, const char *const *arguments)
{
    for (; *arguments; arguments++)
        push(command, format("%s", *arguments));
}

static size_t make_commands(struct command *commands, const struct settings *settings, const char *policy,
                            const char *program)
{
    static const char *const names[] = {"bare", "floor", "floor-by-hand", "floor-libraries"};
    size_t count = LAUNCHER + settings->build_count;

    for (size_t i = 0; i < count; i++) {
        size_t build = i - LAUNCHER;
        bool is_launcher = i >= LAUNCHER;

        commands[i].name = !is_launcher ? names[i]
                           : !build     ? "landlock-exec"
                                        : settings->files[4 + 3 * build];
        commands[i].is_quiet = true;
        if (i != BARE)
            push(&commands[i], input_path(is_launcher ? 4 + 3 * build : i));
        if (is_launcher)
            push_all(&commands[i], (const char *const[]){"--max-abi", "2", "--policy", policy, "--", NULL});
        push(&commands[i], format("%s", program));
    }
    return count;
}

static void print_table(const struct command *commands, size_t count)
{
    double bare = commands[BARE].median, libraries = commands[LIBRARIES].median - bare,
           by_hand = commands[BY_HAND].median - bare;

    printf("container: %zu mounts, %d rules, Landlock ABI 2\n", count_mounts(), RULES + 2);
    printf("%-15s  %11s  %9s  %14s  %12s  %6s\n", "command", "median (us)", "over bare", "/ libraries",
           "/ by hand", "rounds");
    for (size_t i = 0; i < count; i++) {
        double over = commands[i].median - bare;

        printf("%-15s  %11.1f  %9.1f", commands[i].name, commands[i].median, over);
        if (i == BARE)
            printf("  %14s  %12s", "-", "-");
        else
            printf("  %14.3f  %12.3f", over / libraries, over / by_hand);
        printf("  %6zu\n", commands[i].time_count);
    }
}

/* ---- Around them ---- */

static struct settings read_settings(int count, char **arguments)
{
    struct settings settings = {.rounds = ROUNDS};
    int option, left;

    while ((option = getopt(count, arguments, "n:")) != -1)
        if (option == 'n')
            settings.rounds = strtoul(optarg, NULL, 10);
        else
            exit(2);
    left = count - optind - 4;
    if (left < 3 || left % 3 || left > 3 * MOST_BUILDS || !settings.rounds)
        errx(2, "usage: container [-n ROUNDS] PROGRAM FLOOR BY-HAND LIBRARIES {LANDLOCK-EXEC HELPER "
                "HELPER'S-PATH}...");
    settings.files = (const char *const *)arguments + optind;
    settings.build_count = (size_t)left / 3;
    return settings;
}

int main(int count, char **arguments)
{
    struct settings settings = read_settings(count, arguments);
    char *program = input_path(0), *policy;
    struct scene scene = {.folder = INPUTS, .program = program, .is_container = true};
    struct command commands[MOST_COMMANDS] = {0};
    size_t command_count;

    if (geteuid() != 0) {
        errno = EPERM;
        leave_out("not root");
    }
    policy = make_container(&settings, &scene);
    become_user();
    stay_on_one_processor();
    command_count = make_commands(commands, &settings, policy, program);
    measure(commands, command_count, settings.rounds);
    print_table(commands, command_count);
    for (size_t i = 0; i < command_count; i++)
        free_command(&commands[i]);
    free_scene(&scene);
    free(policy);
    free(program);
    return 0;
}
