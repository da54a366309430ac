#include "lint/internal.h"

#include <sys/stat.h>

/* The path of the policy that stands at a position, or NULL. */
static const char *path_at(const struct policy *policy, const struct policy_position *position)
{
    const struct policy_path *lists[] = {policy->privates, policy->container.read_only,
                                         policy->container.writable, &policy->directory};
    const size_t counts[] = {policy->private_count, policy->container.read_only_count,
                             policy->container.writable_count, policy->directory.path ? 1 : 0};

    for (size_t i = 0; i < policy->path_rule_count; i++)
        if (policy->path_rules[i].position.file == position->file &&
            policy->path_rules[i].position.offset == position->offset)
            return policy->path_rules[i].path;
    for (size_t list = 0; list < array_size(lists); list++)
        for (size_t i = 0; i < counts[list]; i++)
            if (lists[list][i].position.file == position->file &&
                lists[list][i].position.offset == position->offset)
                return lists[list][i].path;
    return NULL;
}

static bool is_missing(const char *path)
{
    struct stat status;

    return path && lstat(path, &status) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Whether a rule's contradiction to this private file has been told. */
static bool is_told(const struct linter *linter, const char *path)
{
    for (size_t i = 0; path && i < linter->findings->count; i++)
        if (linter->findings->items[i].code == LINT_CONTRADICTS_PRIVATE &&
            strstr(linter->findings->items[i].message, path))
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
        if (fault->reason == LAUNCH_PRIVATE && is_told(linter, path))
            continue;
        add_finding(linter, is_missing(path) ? LINT_MISSING : LINT_REFUSED, &fault->position,
                    strdup(fault->message), strdup(fault->hint));
    }
}
