#include "launch/internal.h"

#include <string.h>

/* Whether the rules grant the attempt, its path being what it really leads to. */
static bool is_granted(const struct launch *launch, const struct landlock_attempt *attempt)
{
    auto_close int fd = attempt->path ? open(attempt->path, O_PATH | O_CLOEXEC) : -1;
    char real[PATH_MAX];

    if (attempt->path && !strcmp(attempt->path, "/"))
        return launch_grants(launch, "/", attempt->of.fs); /* needs no /proc */
    if (attempt->path)
        return fd < 0 || path_of_fd(fd, real) < 0 || launch_grants(launch, real, attempt->of.fs);
    if (!(policy_rights_net(launch->handled) & attempt->of.net))
        return true;
    for (size_t i = 0; i < launch->policy->port_rule_count; i++)
        if (launch->policy->port_rules[i].first == 0 &&
            policy_rights_net(launch->policy->port_rules[i].rights) & attempt->of.net)
            return true;
    return false;
}

const struct landlock_attempt *launch_choose_proof(const struct launch *launch)
{
    for (size_t i = 0; i < landlock_attempt_count; i++) {
        const struct landlock_attempt *attempt = &landlock_attempts[i];

        if (!is_granted(launch, attempt) && attempt->try(attempt->path) == 0)
            return attempt;
    }
    return NULL;
}
