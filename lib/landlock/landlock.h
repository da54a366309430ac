/*
 * The kernel's Landlock interface (Documentation/userspace-api/landlock.rst), defined here because a
 * distribution's <linux/landlock.h> may be older than the kernel that runs.
 *
 * It knows nothing of policies: sets of rights are the kernel's own bits, and what belongs to which ABI is
 * the caller's table.
 */
#ifndef LANDLOCK_H
#define LANDLOCK_H

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

/* Why Landlock cannot be had, as error.code. */
enum landlock_fault {
    LANDLOCK_MISSING = 1,  /* ENOSYS, no seccomp filter: not built in, or an emulated kernel */
    LANDLOCK_OLD_SECCOMP,  /* ENOSYS under a seccomp filter that is too old to know the calls */
    LANDLOCK_DISABLED,     /* EOPNOTSUPP: built in, not enabled at boot */
    LANDLOCK_BLOCKED,      /* EPERM: a seccomp filter blocks the calls */
    LANDLOCK_NOT_ENFORCED, /* the calls succeed and nothing is restricted */
    LANDLOCK_FAILED        /* any other error of the calls */
};

/* `handled_access_fs`, `handled_access_net` and `scoped` of struct landlock_ruleset_attr. */
struct landlock_access {
    uint64_t fs, net, scoped;
};

/* The kernel's ABI, 1 or more: landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION). -1: `error`
 * tells why there is none, its message beginning "Sandbox requires enabled Landlock ABI 1 or newer", its hint
 * saying what to do. */
int landlock_abi(struct error *error);

/* What emulates this program, as qemu-user does with that of another architecture: the path of the emulator, in `by`. False: nothing
 * does, or it cannot be told. An emulator shows the program in the place of itself in /proc/self and, other than the kernel, not in
 * /proc/thread-self. */
bool landlock_is_emulated(char by[static PATH_MAX]);

/* Whether a seccomp filter is on this process (proc(5): /proc/self/status, Seccomp). */
bool landlock_is_filtered(void);

/* The kernel's set of errata (landlock_create_ruleset(2): LANDLOCK_CREATE_RULESET_ERRATA), 0 where it does not tell. */
uint32_t landlock_errata(void);

/* A ruleset (a descriptor, close-on-exec) that handles `handled`, no bit of which may be newer than the
 * kernel's ABI. A kernel that announces scopes and refuses them (RHEL 9.6) gets a ruleset without, and
 * handled->scoped becomes 0. -1: `error`. */
int landlock_create(struct landlock_access *handled, struct error *error);

/* landlock_add_rule(2) for the file below `fd` (O_PATH will do) or for a port in host byte order. `access`:
 * handled, not empty; for what is not a directory, file rights only. 0, or -1 with errno: EINVAL, EBADFD (not
 * a file of a file system), ENOMEM. */
int landlock_allow_path(int ruleset, int fd, uint64_t access);
int landlock_allow_port(int ruleset, uint16_t port, uint64_t access);

/* Restricts this thread and what it will start: landlock_restrict_self(2). no_new_privs must be set. From ABI
 * 7 on, `audit` asks the kernel to log what is denied to the program that is executed next; the caller's own
 * denials are not logged. -1: `error`. */
int landlock_restrict(int ruleset, unsigned abi, bool audit, struct error *error);

/*
 * Attempts that leave nothing behind: tried before and after a restriction that denies them, they prove that
 * it took. On a kernel or emulator that accepts the calls without effect both succeed.
 */
struct landlock_attempt {
    const char *name;             /* "read_dir /" */
    const char *path;             /* NULL: port 0 */
    struct landlock_access of;    /* the one right that it needs */
    int (*try)(const char *path); /* 0, or the errno */
};
extern const struct landlock_attempt landlock_attempts[]; /* the first is reading `/` */
extern const size_t landlock_attempt_count;

/* Whether an attempt that succeeded before the restriction now gives exactly EACCES. -1: `error`,
 * LANDLOCK_NOT_ENFORCED. */
int landlock_prove(const struct landlock_attempt *attempt, struct error *error);

#endif
