/* The floor of `landlock-policy check`: reads each policy that is named and looks at each of its paths once. Nothing is compared. */
#include "policy/policy.h"

#include <err.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void look_at(const char *file)
{
    struct policy_diagnostics diagnostics = {0};
    struct policy *policy = policy_load(file, NULL, 0, NULL, NULL, &diagnostics);
    struct stat status;

    if (!policy)
        errx(1, "%s: %s", file, diagnostics.count ? diagnostics.items[0].message : "out of memory");
    for (size_t i = 0; i < policy->path_rule_count; i++) {
        int fd = open(policy->path_rules[i].path, O_PATH | O_CLOEXEC);

        if (fd < 0)
            continue;
        fstat(fd, &status);
        close(fd);
    }
    policy_free(policy);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        look_at(arguments[i]);
    return 0;
}
