/* Shared by the files of lib/lint, and by nobody else. */
#ifndef LINT_INTERNAL_H
#define LINT_INTERNAL_H

#include "lint/lint.h"

#include <errno.h>
#include <string.h>

/* The path rules of a policy, sorted by path. */
struct indexed {
    char *path;
    const struct policy_path_rule *rule;
};

struct rule_index {
    struct indexed *items;
    size_t count;
};

struct linter {
    const struct launch *launch;
    const struct policy *policy;
    struct lint_findings *findings;
    struct rule_index written; /* by the path as the policy has it */
    struct rule_index real;    /* by the path that it leads to here */
    bool is_out_of_memory;
};

/* ---- index.c ---- */

/* `real`: by what the paths lead to. 0, or -1 when memory ran out; whatever happened, `index` is to be freed. */
int index_rules(const struct policy *policy, bool real, struct rule_index *index);
void index_free(struct rule_index *index);

/* Calls `take` for each rule at `path` and above, from the root down, until it returns true; whether it did. */
typedef bool take_rule(void *context, const struct indexed *item);
bool index_walk(const struct rule_index *index, const char *path, take_rule *take, void *context);

/* What a path leads to, by realpath(3), or itself where that fails; to be freed. NULL: out of memory. */
char *real_path(const char *path);

/* ---- findings.c ---- */

/* Adds a finding, which takes over both texts; NULL in one of them: memory ran out. */
void add_finding(struct linter *linter, enum lint_code code, const struct policy_position *position,
                 char *message, char *hint);

/* "FILE:LINE"; to be freed. NULL: out of memory. */
char *place_text(const struct policy *policy, const struct policy_position *position);

/* ---- The checks ---- */

void lint_rules(struct linter *linter);          /* W101, W102, W103, W106 */
void lint_contradictions(struct linter *linter); /* W104, W105 */
void lint_environment(struct linter *linter);    /* W107 */
void lint_faults(struct linter *linter);         /* W108, W109; after the contradictions */
void lint_abis(struct linter *linter);           /* W110, W111 */

#endif
