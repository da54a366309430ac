#include "lint/internal.h"

#include <fnmatch.h>

static bool is_secret(const char *name)
{
    static const char *const patterns[] = {"*TOKEN*", "*SECRET*", "*PASSWORD*", "*_KEY"};

    for (size_t i = 0; i < array_size(patterns); i++)
        if (fnmatch(patterns[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

void lint_environment(struct linter *linter)
{
    const struct policy *policy = linter->policy;

    for (size_t i = 0; i < policy->kept_count; i++)
        if (is_secret(policy->kept[i].name))
            add_finding(linter, LINT_SECRET, &policy->kept[i].position,
                        text_of("%s%s has the name of a secret, and the program is given the caller's",
                                policy->kept[i].name, policy->kept[i].is_prefix ? "*" : ""),
                        text_of("untrusted code can print all of its environment: leave it out"));
    for (size_t i = 0; i < policy->setting_count; i++) {
        const struct policy_setting *setting = &policy->settings[i];
        auto_free char *name = strndup(setting->assignment, setting->name_length);

        if (!name)
            linter->is_out_of_memory = true;
        else if (is_secret(name))
            add_finding(linter, LINT_SECRET, &setting->position,
                        text_of("%s has the name of a secret, and the program is given its value", name),
                        text_of("untrusted code can print all of its environment: leave it out"));
    }
}
