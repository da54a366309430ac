#include "launch/internal.h"

#include <sys/resource.h>

static rlim_t least(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

/* And reads it back: a seccomp filter can let a call succeed that is not made. */
static int set(int resource, const struct rlimit *limit, const char *what, struct error *error)
{
    struct rlimit now;

    if (setrlimit(resource, limit) < 0 || getrlimit(resource, &now) < 0)
        return system_error(error, what);
    if (now.rlim_cur == limit->rlim_cur && now.rlim_max == limit->rlim_max)
        return 0;
    return error_set(error, LAUNCH_SYSTEM, "%s: it is accepted without effect", what);
}

static int lower(int resource, rlim_t value, struct error *error)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return system_error(error, "reading resource limits");
    limit.rlim_cur = least(limit.rlim_cur, value);
    limit.rlim_max = least(limit.rlim_max, value);
    return set(resource, &limit, "lowering resource limits", error);
}

int set_limits(const struct policy *policy, struct error *error)
{
    for (int resource = 0; resource < (int)array_size(policy->limits); resource++)
        if (policy->limits[resource].is_set && lower(resource, policy->limits[resource].value, error) < 0)
            return -1;
    return set(RLIMIT_CORE, &(struct rlimit){0, 0}, "turning core dumps off", error);
}
