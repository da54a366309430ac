/*
 * What a program, and all that it starts, is denied by Landlock: each path, port and scope once, with the line that would allow it.
 *
 * The program runs as landlock-exec would run it, and is watched with ptrace(2): a call that fails as Landlock lets calls fail (EACCES,
 * EXDEV, EPERM) is looked at where it stopped, and lib/verdict tells whether the policy is why. Nothing is changed or withheld, and
 * no contents, arguments or environment are read but the names that the call was given. The kernel asks for no privilege: the
 * watching process is the program's parent, of the same user, outside of the restriction.
 *
 * Every call is stopped at, which a seccomp filter would spare: but its filter stays on a process when nobody watches it any more, and
 * on one that is watched by another, and lets its calls fail there.
 */
#ifndef TRACE_H
#define TRACE_H

#include "launch/launch.h"
#include "verdict/verdict.h"

enum {
    TRACE_MAX_DENIALS = 10000,         /* kept; others are counted */
    TRACE_MAX_BYTES = 2 * 1024 * 1024, /* of paths, likewise: as lines they are a policy that can be read */
    TRACE_MAX_DEPTH = 128              /* directories of a path that is looked at */
};

/* What the policy expects to be denied, or keeps private, as it was before the program could move it or give it other names. */
struct trace_guard {
    char *path;
    struct policy_position position;
    struct stat status; /* zeroed: it was missing */
};

struct trace_guards {
    struct trace_guard *items;
    size_t count, capacity;
};

/* Looks at them, once, before the first run. 0, or -1 with errno ENOMEM. Whatever happened, `guards` is to be freed. */
int trace_guards_take(struct trace_guards *guards, const struct policy *policy);
void trace_guards_free(struct trace_guards *guards);

/* What was denied of one path, port or scope. */
struct trace_denial {
    char *path;    /* where it leads; /proc/self for the process's own directory; NULL: a port or scope */
    uint16_t port; /* of network rights */
    policy_rights rights; /* that were missing */
    const char *call;     /* the system call that met it first, "openat" */
    int failure;          /* its errno */
    char *program;        /* the executable of the process that met it first; NULL: it could not be told */
    unsigned long count;  /* calls */
    unsigned long last;   /* of them: its number */

    /* Either there is a line that would allow it, or one of the two is why not; neither for a scope. */
    char *subject; /* the path of the line: a directory where the name comes and goes; NULL: none */
    bool has_line;
    struct policy_position forbidden_by;   /* `expect denied` or `private`, against the line; line 0: none */
    enum verdict_obstacle system_obstacle; /* what stands in the way without Landlock, too */
};

struct trace_report {
    struct trace_denial **denials; /* in the order they were met */
    size_t count, capacity;
    void *index;        /* of them: tsearch(3) */
    size_t bytes;       /* of their paths */
    size_t dropped;     /* calls that were denied more than is kept */
    size_t unread;      /* calls that failed and could not be looked at */
    size_t unfollowed;  /* how often a process was to be watched by another, or hid */
    size_t foreign;     /* calls of programs of another architecture */
    size_t left;        /* threads that were there after the program had ended, and were let go */
    size_t stuck;       /* of them, those that could not be stopped: they are let go when this process ends */
    bool is_disturbed;  /* the program has moved or linked what a guard stands for: no line is proposed */
    bool has_started;   /* the program was executed */
    bool was_signalled; /* a signal came for this process, and was passed on */
    int status;         /* of the program: waitpid(2) */
};

/* Runs the program of `launch`, which was prepared, once, and adds what it was denied to `report`, which was zeroed; no line is proposed
 * that contradicts a guard. This process must have no capabilities (launch_drop_capabilities()) and no other children. Signals that
 * would end it go to the program meanwhile. Returns when the program has ended, and what it left behind with it or some seconds later.
 *
 * 0, or -1 and `error` (LAUNCH_SYSTEM): it cannot be watched, or memory ran out. Where the launch was refused the child has said so on
 * standard error, and its exit status is the refusal's (launch_reason()). Whatever happened, `report` is to be freed. */
int trace_run(struct launch *launch, const struct trace_guards *guards, struct trace_report *report,
              struct error *error);

void trace_report_free(struct trace_report *report);

/* ---- Lines ---- */

/* An `allow` statement: of a path, or of a port (`path` NULL). */
struct trace_line {
    char *path;
    uint16_t port;
    policy_rights rights;
};

struct trace_lines {
    struct trace_line *items;
    size_t count, capacity;
};

/* Adds the lines that would allow what was denied, the least of them: sorted, each path and port once, none that another one covers.
 * `gathers`: files that share a directory, but for programs, become one line for it, where that is not the root or a directory in it
 * and contradicts nothing in the policy. 0, or -1 with errno ENOMEM. Whatever happened, `lines` is to be freed. */
int trace_lines_add(struct trace_lines *lines, const struct trace_report *report, const struct launch *launch,
                    bool gathers);
void trace_lines_free(struct trace_lines *lines);

/* "allow read_file /etc/mime.types", to be freed; "-PATH" where it is missing by now. NULL: memory ran out. */
char *trace_line_text(const struct trace_line *line);

#endif
