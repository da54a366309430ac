#include "command.h"

#include <errno.h>
#include <string.h>

json_t *json_rights(policy_rights rights)
{
    json_t *names = json_array();

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights)
            json_add(names, json_string(policy_right_table[i].name));
    return names;
}

json_t *json_ports(uint16_t first, uint16_t last)
{
    json_t *range = json_object();

    json_set(range, "first", json_integer(first));
    json_set(range, "last", json_integer(last));
    return range;
}

void json_add_position(json_t *object, const struct policy *policy, const struct policy_position *position)
{
    size_t line = 0, column = 0;
    bool is_there = position && position->line;

    if (is_there)
        policy_locate(policy, position, &line, &column);
    json_set(object, "file", is_there ? json_text(policy->files[position->file].name) : json_null());
    json_set(object, "line", is_there ? json_integer((json_int_t)line) : json_null());
    json_set(object, "column", is_there ? json_integer((json_int_t)column) : json_null());
}

json_t *json_abi(const struct launch *launch)
{
    json_t *abi = json_object();

    json_set(abi, "kernel", launch->kernel_abi ? json_integer(launch->kernel_abi) : json_null());
    json_set(abi, "used", json_integer(launch->abi));
    return abi;
}

int put_json(json_t *document, struct error *error)
{
    if (json_put(stdout, document, 2) == 0)
        return 0;
    return error_set(error, LAUNCH_SYSTEM, "writing JSON: %s", strerror(errno));
}
