#include "lint/internal.h"

/* The path of the policy that stands at a position, or NULL. */
static const char *path_at(const struct policy *policy, const struct policy_position *position)
{
    const struct policy_path *lists[] = {policy->privates, policy->container.read_only,
                                         policy->container.writable, &policy->directory};
    const size_t counts[] = {policy->private_count, policy->container.read_only_count,
                             policy->container.writable_count, policy->directory.path ? 1 : 0};

    for (size_t i = 0; i < policy->path_rule_count; i++)
        if (policy_compare_positions(&policy->path_rules[i].position, position) == 0)
            return policy->path_rules[i].path;
    for (size_t list = 0; list < array_size(lists); list++)
        for (size_t i = 0; i < counts[list]; i++)
            if (policy_compare_positions(&lists[list][i].position, position) == 0)
                return lists[list][i].path;
    return NULL;
}

/* Whether a fault says that the path is not there, and not that a link on the way must not be followed. */
static bool is_missing(const char *path, const char *message)
{
    size_t length = path ? strlen(path) : 0;

    if (!path || strncmp(message, path, length) != 0 || strncmp(message + length, ": ", 2) != 0)
        return false;
    message += length + 2;
    return !strcmp(message, strerror(ENOENT)) || !strcmp(message, strerror(ENOTDIR));
}

/* Whether a fault says that a rule lets the program open this private file, and that has been told of the rule. */
static bool is_told(struct linter *linter, const char *path, const char *message)
{
    auto_free char *told = text_of(" contradicts %s being private (", path ? path : "");

    if (!told)
        linter->is_out_of_memory = true;
    for (size_t i = 0;
         told && strstr(message, " is private, but a rule lets ") && i < linter->findings->count; i++)
        if (linter->findings->items[i].code == LINT_CONTRADICTS_PRIVATE &&
            strstr(linter->findings->items[i].message, told))
            return true;
    return false;
}

void lint_faults(struct linter *linter)
{
    const struct launch_faults *faults = linter->launch->request->faults;

    for (size_t i = 0; i < faults->count; i++) {
        const struct launch_fault *fault = &faults->items[i];
        const char *path = path_at(linter->policy, &fault->position);

        if (fault->reason != LAUNCH_PATH && fault->reason != LAUNCH_PRIVATE)
            continue;
        if (fault->reason == LAUNCH_PRIVATE && is_told(linter, path, fault->message))
            continue;
        add_finding(linter, is_missing(path, fault->message) ? LINT_MISSING : LINT_REFUSED, &fault->position,
                    strdup(fault->message), strdup(fault->hint));
    }
}
