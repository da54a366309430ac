/*
 * What this machine would enforce: its kernel, its seccomp profile, and the container that this process is in.
 *
 * Everything is looked at whatever is found amiss, so that one answer tells all of it, and what is to be done first.
 */
#ifndef PROBE_H
#define PROBE_H

#include "launch/launch.h"

/* What the kernel does with Landlock's calls. */
enum probe_landlock {
    PROBE_ENFORCED = 1, /* a restriction was made and an access that had succeeded was denied */
    PROBE_UNPROVEN,  /* made, but none of the accesses that would prove it succeeds here without it either */
    PROBE_NOT_BUILT, /* ENOSYS, no seccomp filter and no emulator */
    PROBE_EMULATED,  /* ENOSYS of an emulator of another architecture, as qemu-user */
    PROBE_OLD_SECCOMP,  /* ENOSYS under a seccomp filter */
    PROBE_DISABLED,     /* EOPNOTSUPP: not enabled at boot */
    PROBE_BLOCKED,      /* EPERM: a strict seccomp profile */
    PROBE_NOT_ENFORCED, /* the calls succeed and nothing is denied */
    PROBE_FAILED        /* any other error */
};

extern const struct name_row probe_landlock_table[];
extern const size_t probe_landlock_count;

static inline const char *probe_landlock_name(enum probe_landlock state)
{
    return name_in(probe_landlock_table, probe_landlock_count, (int)state);
}

struct probe_kernel {
    char release[65], machine[65]; /* uname(2) */
    enum probe_landlock landlock;
    unsigned abi;           /* 0: none */
    uint32_t errata;        /* landlock_errata() */
    bool has_broken_scopes; /* the kernel announces scopes and refuses them */
    bool is_filtered;       /* a seccomp filter is on this process */
    char *message, *hint;   /* why it does not enforce, and what to do; NULL: it does */
};

/* Looks at the kernel; the restriction is made in a child. 0, or -1 and `error` (LAUNCH_SYSTEM). Release with probe_kernel_free(). */
int probe_kernel(struct probe_kernel *kernel, struct error *error);
void probe_kernel_free(struct probe_kernel *kernel);

/* What becomes of a statement. */
enum probe_effect {
    PROBE_EFFECT_FULL,   /* as it says */
    PROBE_EFFECT_PART,   /* not all that it says */
    PROBE_EFFECT_NONE,   /* nothing of it, here */
    PROBE_EFFECT_REFUSED /* the launcher would refuse because of it */
};

extern const struct name_row probe_effect_table[];
extern const size_t probe_effect_count;

static inline const char *probe_effect_name(enum probe_effect effect)
{
    return name_in(probe_effect_table, probe_effect_count, (int)effect);
}

/* A statement, or one of its words, and what this machine would make of it. Texts are malloc'd. */
struct probe_statement {
    struct policy_position position;
    char *text;
    enum probe_effect effect;
    char *detail; /* never NULL */
};

struct probe_statements {
    struct probe_statement *items;
    size_t count, capacity;
};

/* What this machine, with this kernel, makes of launch->policy, in the order of files and lines. `launch` was prepared with request->faults and
 * request->always_checks, up to launch_check_container(). 0, or -1 and `error` (LAUNCH_SYSTEM) when memory ran out. Whatever
 * happened, `statements` is to be freed. */
int probe_statements(const struct probe_kernel *kernel, const struct launch *launch,
                     struct probe_statements *statements, struct error *error);
void probe_statements_free(struct probe_statements *statements);

/* Whether a fault would make the launcher refuse: what is amiss with the container does so only where it must be checked. */
bool probe_refuses(const struct launch *launch, const struct launch_fault *fault);

/* The one thing to do: the hint of what would make a launch fail first, in the launcher's order; NULL: nothing, it would start.
 * `launch` may be NULL: no policy was given. */
const char *probe_advice(const struct probe_kernel *kernel, const struct launch *launch);

#endif
