#include "launch/internal.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static int say_privileged(struct error *error, const char *what)
{
    error_set(error, LAUNCH_PRIVILEGED, "landlock-exec %s: it needs no privilege and refuses to have one",
              what);
    return error_hint(error, "remove it: chmod u-s,g-s FILE; setcap -r FILE");
}

/* What it gained the kernel tells (AT_SECURE). The bits of the file are looked at all the same: to a caller who is root already, or
 * with no_new_privs, they give nothing, but the next one may be another. The file is named as it was executed (AT_EXECFN):
 * /proc/self/exe costs twenty times as much, for its entries are made anew for every process. */
static int refuse_privileged_file(struct error *error)
{
    const char *self = (const char *)getauxval(AT_EXECFN);
    struct stat status;

    if (!self ||
        stat(self, &status) < 0) { /* executed by a descriptor, or from a root directory that was left */
        self = "/proc/self/exe";
        if (stat(self, &status) < 0)
            return system_error(error, "landlock-exec's own file cannot be looked at");
    }
    if (status.st_mode & (S_ISUID | S_ISGID))
        return say_privileged(error, "is set-uid or set-gid");
    if (getxattr(self, "security.capability", NULL, 0) >= 0)
        return say_privileged(error, "has file capabilities");
    if (errno != ENODATA && errno != EOPNOTSUPP)
        return system_error(error, "landlock-exec's own file cannot be looked at (getxattr)");
    return 0;
}

static int refuse_privileged_launcher(struct error *error)
{
    if (refuse_privileged_file(error) < 0)
        return -1;
    if (!getauxval(AT_SECURE))
        return 0;
    error_set(error, LAUNCH_PRIVILEGED,
              "landlock-exec gained privileges when it was executed, and not by its file: its "
              "caller's real and effective user or group differ, or a security module says so");
    return error_hint(error, "start it as one user: setpriv --reuid UID --regid GID --clear-groups");
}

int launch_stand_alone(struct error *error)
{
    if (unshare(CLONE_FS | CLONE_FILES) == 0 || errno == EPERM || errno == ENOSYS)
        return 0;
    return system_error(error, "working directory and descriptors of its own (unshare)");
}

int launch_guard(const struct launch_request *request, struct error *error)
{
    return guard_descriptors(request, error) < 0 ? -1 : refuse_privileged_launcher(error);
}

bool is_root_of_the_initial_namespace(void)
{
    struct id_range range;
    char map[128];
    const char *rest = map;

    if (getauxval(AT_EUID) != 0)
        return false;
    /* what cannot be told is taken for the worse */
    return !read_small_file("/proc/self/uid_map", map, sizeof map) || !next_id_range(&rest, &range) ||
           (range.inside == 0 && range.outside == 0 && range.count == UINT32_MAX);
}

struct capability_sets {
    struct __user_cap_data_struct halves[_LINUX_CAPABILITY_U32S_3];
};

static long get_capabilities(struct capability_sets *sets)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

    memset(sets, 0xff, sizeof *sets); /* an answer that is none must not look like empty sets */
    return syscall(SYS_capget, &header, sets->halves);
}

static bool are_empty(const struct capability_sets *sets)
{
    for (size_t i = 0; i < array_size(sets->halves); i++)
        if (sets->halves[i].effective || sets->halves[i].permitted || sets->halves[i].inheritable)
            return false;
    return true;
}

/* Possible with an effective CAP_SETPCAP only; without it the set stays, and gives nothing while no_new_privs is
 * set: execve(2) then adds no capability (capabilities(7)). */
static int drop_bounding_set(const struct capability_sets *sets, struct error *error)
{
    unsigned long capability = 0;

    if (!(sets->halves[0].effective & 1U << CAP_SETPCAP))
        return 0;
    while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
        capability++;
    /* behind the last one, which the kernel knows; not an earlier one, which it would not drop */
    if (errno == EINVAL && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) < 0 && errno == EINVAL)
        return 0;
    return system_error(error, "dropping the bounding set");
}

int launch_drop_capabilities(struct error *error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct capability_sets sets, none = {0};

    if (get_capabilities(&sets) < 0)
        return system_error(error, "reading capabilities");
    if (are_empty(&sets))
        return 0; /* and the ambient set with them: it is part of both permitted and inheritable,
                     capabilities(7) */
    if (drop_bounding_set(&sets, error) < 0)
        return -1;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, none.halves) < 0)
        return system_error(error, "dropping capabilities");
    if (get_capabilities(&sets) < 0)
        return system_error(error, "reading capabilities");
    if (!are_empty(&sets))
        return error_set(error, LAUNCH_SYSTEM, "dropping capabilities: some are still there");
    return 0;
}
