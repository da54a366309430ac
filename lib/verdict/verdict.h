/*
 * What would come of an access: by the policy, and by the file system it is for. Nothing is tried.
 *
 * Landlock's part follows the kernel (Documentation/userspace-api/landlock.rst): a right is given by a rule for the file itself or
 * for a directory above it, through mount points; what this ABI cannot restrict is given. The rest is asked of the kernel by
 * faccessat2(2), for this process as it is: call it without capabilities (launch_drop_capabilities()), as the program will be.
 *
 * A right on files that is asked of a directory means a file in it; what the permissions of that file are is not known then.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "launch/launch.h"

/* What stands in the way. */
enum verdict_obstacle {
    VERDICT_NOTHING,
    VERDICT_LANDLOCK,    /* no rule gives the right, and this ABI can restrict it */
    VERDICT_PERMISSIONS, /* the mode of the file or of a directory on the way, an ACL, a noexec or nodev mount */
    VERDICT_READ_ONLY, /* a read-only mount or file system */
    VERDICT_MISSING,   /* the file, or a directory on the way */
    VERDICT_KIND,      /* it is not the kind of file that the right is about */
    VERDICT_OTHER      /* whatever else the kernel answers */
};

extern const struct name_row verdict_obstacle_table[];
extern const size_t verdict_obstacle_count;

static inline const char *verdict_obstacle_name(enum verdict_obstacle obstacle)
{
    return name_in(verdict_obstacle_table, verdict_obstacle_count, (int)obstacle);
}

static inline const char *verdict_obstacle_help(enum verdict_obstacle obstacle)
{
    return help_in(verdict_obstacle_table, verdict_obstacle_count, (int)obstacle);
}

/* Of one right at one path or port. */
struct verdict {
    bool is_allowed;      /* neither Landlock nor the system is in the way */
    bool is_restricted;   /* this ABI restricts the right, and the policy does not leave it out */
    bool landlock_denies; /* whatever else there is in the way */
    bool
        is_undecided; /* a right on files, asked of a directory: the file's own permissions decide, too; or a file of /proc */
    bool is_in_proc; /* a file of /proc, where the kernel has rules of its own */
    char *
        interpreter; /* what is missing and suggested is for this: the program's ELF loader or interpreter; else NULL */
    enum verdict_obstacle obstacle;        /* Landlock's first */
    enum verdict_obstacle system_obstacle; /* the one that would be there without Landlock */
    int failure;                           /* the errno of the system's obstacle; 0: it has none */
    policy_rights missing;                 /* what Landlock denies: the right, or one that comes with it */
    const struct policy_position
        *position;        /* of the line that gives the right; line 0 or NULL: no line does */
    const char *given_to; /* the path of that line; NULL: it is for a port, or leaves the right out */
    char *real;           /* what the path leads to, or what there is of it; NULL: a port */
    char *suggestion;     /* the line that would allow it; NULL: none is needed, or none would do */
    const struct policy_position
        *forbidden_by; /* the `expect denied` or `private` that such a line would contradict */
};

/* `right`: one file right; `path`: absolute, shorter than PATH_MAX, followed as the program would. `launch` was prepared by
 * launch_prepare_domain(). 0, or -1 and `error` (LAUNCH_SYSTEM) when memory ran out. Release `verdict` with verdict_free(). */
int verdict_of_path(const struct launch *launch, policy_rights right, const char *path,
                    struct verdict *verdict, struct error *error);

/* `right`: one network right. Whether the port is in use, or may be bound without privilege, is not asked. */
int verdict_of_port(const struct launch *launch, policy_rights right, uint16_t port, struct verdict *verdict,
                    struct error *error);

void verdict_free(struct verdict *verdict);

#endif
