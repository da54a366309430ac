#include "launch/internal.h"

#include <string.h>

static bool is_kept(const struct policy *policy, const char *variable, size_t name_length)
{
    for (size_t i = 0; i < policy->kept_count; i++) {
        size_t length = strlen(policy->kept[i].name);

        if (policy->kept[i].is_prefix ? length <= name_length : length == name_length)
            if (!memcmp(policy->kept[i].name, variable, length))
                return true;
    }
    return false;
}

static bool is_set(const struct policy *policy, const char *variable, size_t name_length)
{
    for (size_t i = 0; i < policy->setting_count; i++)
        if (policy->settings[i].name_length == name_length &&
            !memcmp(policy->settings[i].assignment, variable, name_length))
            return true;
    return false;
}

int prepare_environment(struct launch *launch, struct error *error)
{
    const struct policy *policy = launch->policy;
    size_t count = 0;

    while (launch->request->environment[count])
        count++;
    launch->environment = calloc(count + policy->setting_count + 1, sizeof *launch->environment);
    if (!launch->environment)
        return system_error(error, "making the environment");
    count = 0;
    for (char *const *variable = launch->request->environment; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        size_t length = equals ? (size_t)(equals - *variable) : 0;

        if (equals && is_kept(policy, *variable, length) && !is_set(policy, *variable, length))
            launch->environment[count++] = *variable;
    }
    for (size_t i = 0; i < policy->setting_count; i++)
        launch->environment[count++] = (char *)policy->settings[i].assignment;
    return 0;
}
