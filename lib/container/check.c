#include "container/internal.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* What is read of /proc tells of this PID namespace's processes, and is the kernel's own. */
static int check_proc(struct error *error)
{
    char name[32];
    struct statfs status;
    ssize_t length = readlink("/proc/self", name, sizeof name - 1);

    name[length < 0 ? 0 : length] = '\0';
    if (length > 0 && statfs("/proc", &status) == 0 && status.f_type == PROC_SUPER_MAGIC &&
        strtol(name, NULL, 10) == getpid())
        return 0;
    error_set(error, 1, "/proc is missing, or is not that of this PID namespace");
    return error_hint(error, "mount /proc; Docker, Podman and bwrap --proc /proc do");
}

int container_check(const struct container_expectation *expectation, pid_t pid,
                    struct container_findings *findings, struct error *error)
{
    struct check check = {expectation, pid, findings};

    return check_proc(error) < 0 || check_process(&check, error) < 0 || check_mounts(&check, error) < 0 ? -1
                                                                                                        : 0;
}
