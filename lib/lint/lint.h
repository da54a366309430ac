/*
 * What is doubtful about a policy that has no faults: it does more than it says, less than it seems to, or will not start here.
 *
 * Paths are compared as the file system has them, links followed, where what can be written is at stake; as they are written where
 * the question is whether a line says anything at all, so that the answer is the same on every machine.
 */
#ifndef LINT_H
#define LINT_H

#include "launch/launch.h"

enum lint_code {
    LINT_WRITABLE_EXECUTABLE = 1,
    LINT_BELOW_CREATABLE,
    LINT_COVERED,
    LINT_CONTRADICTS_EXPECTATION,
    LINT_CONTRADICTS_PRIVATE,
    LINT_TOO_WIDE,
    LINT_SECRET,
    LINT_MISSING,
    LINT_REFUSED,
    LINT_NOT_ON_EVERY_ABI,
    LINT_DENIED_BY_NEWER
};

/* Their names, "W101": these stay. */
extern const struct name_row lint_code_table[];
extern const size_t lint_code_count;

static inline const char *lint_code_name(enum lint_code code)
{
    return name_in(lint_code_table, lint_code_count, (int)code);
}

struct lint_finding {
    enum lint_code code;
    struct policy_position position;
    char *message, *hint; /* the hint says what to do; both may hold names that an attacker chose */
};

enum { LINT_MAX_FINDINGS = 1000 }; /* kept; the rest is counted */

struct lint_findings {
    struct lint_finding *items;
    size_t count, capacity;
    size_t dropped; /* beyond LINT_MAX_FINDINGS */
};

/* Adds what is doubtful about launch->policy, in the order of files and lines. `launch` was prepared by launch_prepare_domain() with
 * request->faults: of these the ones about paths and private files become findings; what this kernel or container lacks does not,
 * since a policy is checked on other machines than the one it is for. 0, or -1 and `error` (LAUNCH_SYSTEM) when memory ran out.
 * Whatever happened, `findings` is to be freed. */
int lint(const struct launch *launch, struct lint_findings *findings, struct error *error);
void lint_free(struct lint_findings *findings);

#endif
