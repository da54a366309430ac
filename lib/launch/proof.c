#include "launch/internal.h"

#include <errno.h>
#include <string.h>

/* Whether the rules let the program open the file that the attempt leads to; yes, where that cannot be told. */
static bool is_open(const struct launch *launch, const struct landlock_attempt *attempt)
{
    auto_close int fd = -1;
    auto_free char *real = NULL;

    if (!strcmp(attempt->path, "/"))
        return launch_grants(launch, "/", attempt->of.fs); /* needs no /proc */
    fd = openat(AT_FDCWD, attempt->path, O_PATH | O_CLOEXEC);
    real = fd < 0 ? NULL : path_of_fd(fd);
    return !real || launch_grants(launch, real, attempt->of.fs);
}

static bool is_port_open(const struct launch *launch, const struct landlock_attempt *attempt)
{
    if (!(policy_rights_net(launch->handled) & attempt->of.net))
        return true;
    for (size_t i = 0; i < launch->policy->port_rule_count; i++)
        if (launch->policy->port_rules[i].first == 0 &&
            policy_rights_net(launch->policy->port_rules[i].rights) & attempt->of.net)
            return true;
    return false;
}

int launch_choose_proof(struct launch *launch, struct error *error)
{
    launch->proof = NULL;
    for (size_t i = 0; i < landlock_attempt_count && !launch->proof; i++) {
        const struct landlock_attempt *attempt = &landlock_attempts[i];
        bool is_allowed = attempt->path ? is_open(launch, attempt) : is_port_open(launch, attempt);
        int failure = is_allowed ? 0 : attempt->try(attempt->path);

        /* not for want of an attempt, but of means: that must not pass for a policy that denies nothing */
        if (failure == EMFILE || failure == ENFILE || failure == ENOMEM || failure == ENOBUFS)
            return error_set(error, LAUNCH_SYSTEM, "the restriction cannot be proven: %s: %s", attempt->name,
                             strerror(failure));
        if (!is_allowed && !failure)
            launch->proof = attempt;
    }
    return 0;
}
