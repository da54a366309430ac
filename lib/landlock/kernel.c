#include "landlock/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

/* The same numbers on every architecture (since Linux 5.13). */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

enum { CREATE_RULESET_VERSION = 1, CREATE_RULESET_ERRATA = 2 };
enum { RULE_PATH_BENEATH = 1, RULE_NET_PORT = 2 };
enum { LOG_SAME_EXEC_OFF = 1, LOG_NEW_EXEC_ON = 2, LOG_SUBDOMAINS_OFF = 4, ABI_WITH_LOG_FLAGS = 7 };

struct path_beneath {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

struct net_port {
    uint64_t allowed_access;
    uint64_t port;
};

#define REQUIREMENT "Sandbox requires enabled Landlock ABI 1 or newer"

bool landlock_is_filtered(void)
{
    auto_free char *status =
        read_text_file("/proc/self/status"); /* it stands behind all of a user's groups */
    const char *seccomp = status ? strstr(status, "\nSeccomp:\t") : NULL;

    return seccomp && seccomp[strlen("\nSeccomp:\t")] == '2';
}

static bool read_link(const char *path, char target[static PATH_MAX])
{
    ssize_t length = readlink(path, target, PATH_MAX - 1);

    target[length > 0 ? length : 0] = '\0';
    return length > 0;
}

bool landlock_is_emulated(char by[static PATH_MAX])
{
    char shown[PATH_MAX];

    return read_link("/proc/self/exe", shown) && read_link("/proc/thread-self/exe", by) &&
           strcmp(shown, by) != 0;
}

uint32_t landlock_errata(void)
{
    long errata = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_ERRATA);

    return errata > 0 ? (uint32_t)errata : 0;
}

/* In a container there is always a filter; a kernel before 5.13 needs none to have no Landlock. */
static bool can_have_landlock(const char *release)
{
    char *rest;
    unsigned long major = strtoul(release, &rest, 10), minor = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;

    return major > 5 || (major == 5 && minor >= 13);
}

static int say_missing(struct error *error)
{
    struct utsname name = {0};
    char by[PATH_MAX];

    uname(&name);
    if (landlock_is_emulated(by)) {
        error_set(error, LANDLOCK_MISSING,
                  REQUIREMENT ": the program is emulated by %s, which does not pass its system calls on "
                              "(ENOSYS)",
                  by);
        return error_hint(error, "use an image of the host's own architecture (docker build --platform, "
                                 "docker run "
                                 "--platform), not one that has to be emulated");
    }
    if (landlock_is_filtered() && can_have_landlock(name.release)) {
        error_set(error, LANDLOCK_OLD_SECCOMP,
                  REQUIREMENT ": a seccomp profile that is too old to know Landlock hides it, or the kernel "
                              "(%s) has none (ENOSYS)",
                  name.release);
        return error_hint(error, "update Docker to 20.10.18 or newer (containerd 1.6, Podman's "
                                 "containers-common 0.49) and libseccomp to 2.5.2 or newer on the host, then "
                                 "start the container anew");
    }
    error_set(error, LANDLOCK_MISSING,
              REQUIREMENT ": kernel %s is not built with it, or it is emulated, as gVisor or an image of "
                          "another architecture does (ENOSYS)",
              name.release);
    return error_hint(error, "use a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y, an image of the "
                             "host's architecture and the runtime runc");
}

static int say_why_not(struct error *error, int failure)
{
    switch (failure) {
    case ENOSYS:
        return say_missing(error);
    case EOPNOTSUPP:
        error_set(error, LANDLOCK_DISABLED,
                  REQUIREMENT ": the kernel has it, but it is not enabled at boot (EOPNOTSUPP)");
        return error_hint(error, "add landlock to the list in the host's kernel parameter lsm= "
                                 "(lsm=landlock,...) and boot again");
    case EPERM:
        error_set(error, LANDLOCK_BLOCKED, REQUIREMENT ": a seccomp profile blocks its system calls (EPERM)");
        return error_hint(error, "allow landlock_create_ruleset, landlock_add_rule and "
                                 "landlock_restrict_self in the container's seccomp profile, or use Docker's "
                                 "default profile");
    default:
        error_set(error, LANDLOCK_FAILED, REQUIREMENT ": the kernel answers %s", strerror(failure));
        return error_hint(error, "a seccomp profile, an emulator or a security module may answer so in the "
                                 "kernel's "
                                 "place: run without it, or see the kernel's log");
    }
}

int say_not_enforced(struct error *error, const char *sign)
{
    error_set(error, LANDLOCK_NOT_ENFORCED,
              REQUIREMENT ": the system calls are accepted but enforce nothing (%s)", sign);
    return error_hint(error, "run on a real Linux kernel, with a seccomp profile that lets Landlock's system "
                             "calls through");
}

int landlock_abi(struct error *error)
{
    long abi = syscall(CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);

    if (abi < 0)
        return say_why_not(error, errno);
    if (abi == 0)
        return say_not_enforced(error, "the ABI is 0");
    return (int)abi;
}

int landlock_create(struct landlock_access *handled, struct error *error)
{
    long fd = syscall(CREATE_RULESET, handled, sizeof *handled, 0);

    if (fd < 0 && handled->scoped && (errno == EINVAL || errno == E2BIG)) {
        handled->scoped = 0;
        fd = syscall(CREATE_RULESET, handled, sizeof *handled, 0);
    }
    if (fd < 0)
        return say_why_not(error, errno);
    if (fd <= STDERR_FILENO)
        return say_not_enforced(error, "a ruleset has the number of an open descriptor");
    return (int)fd;
}

int landlock_allow_path(int ruleset, int fd, uint64_t access)
{
    struct path_beneath rule = {.allowed_access = access, .parent_fd = fd};

    return (int)syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

int landlock_allow_port(int ruleset, uint16_t port, uint64_t access)
{
    struct net_port rule = {.allowed_access = access, .port = port};

    return (int)syscall(ADD_RULE, ruleset, RULE_NET_PORT, &rule, 0);
}

int landlock_restrict(int ruleset, unsigned abi, bool audit, struct error *error)
{
    uint32_t flags = 0;

    if (abi >= ABI_WITH_LOG_FLAGS)
        flags = LOG_SAME_EXEC_OFF | (audit ? LOG_NEW_EXEC_ON : LOG_SUBDOMAINS_OFF);
    if (syscall(RESTRICT_SELF, ruleset, flags) < 0) {
        if (errno != E2BIG)
            return say_why_not(error, errno);
        error_set(error, LANDLOCK_FAILED, "Landlock: this process has 16 layers of rules already (E2BIG)");
        return error_hint(error, "start it from a process with fewer Landlock domains");
    }
    return 0;
}
