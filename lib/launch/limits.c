#include "launch/internal.h"

#include <sys/resource.h>

static rlim_t least(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

static int lower(int resource, rlim_t value, struct error *error)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return system_error(error, "reading resource limits");
    limit.rlim_cur = least(limit.rlim_cur, value);
    limit.rlim_max = least(limit.rlim_max, value);
    return setrlimit(resource, &limit) < 0 ? system_error(error, "lowering resource limits") : 0;
}

int set_limits(const struct policy *policy, struct error *error)
{
    for (int resource = 0; resource < (int)array_size(policy->limits); resource++)
        if (policy->limits[resource].is_set && lower(resource, policy->limits[resource].value, error) < 0)
            return -1;
    return setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) < 0 ? system_error(error, "turning core dumps off")
                                                              : 0;
}
