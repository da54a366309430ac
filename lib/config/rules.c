#include "config/internal.h"

enum { PORTS = 65536 };

int rules_add_path(struct rules *rules, const char *path, policy_rights rights)
{
    auto_free char *copy = strdup(path);

    if (!copy || array_reserve(&rules->paths, &rules->capacity, rules->count, sizeof *rules->paths) < 0)
        return -1;
    rules->paths[rules->count++] = (struct path_rule){copy, rights};
    copy = NULL; /* cppcheck-suppress memleak ; the array has it now */
    return 0;
}

int rules_add_ports(struct rules *rules, uint16_t first, uint16_t last, policy_rights rights)
{
    if (!rules->ports)
        rules->ports = calloc(PORTS, sizeof *rules->ports);
    if (!rules->ports)
        return -1;
    for (unsigned port = first; port <= last; port++)
        rules->ports[port] |= rights;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct path_rule *x = a, *y = b;

    return strcmp(x->path, y->path);
}

void rules_sort(struct rules *rules)
{
    size_t kept = 0;

    if (rules->count)
        qsort(rules->paths, rules->count, sizeof *rules->paths, compare);
    for (size_t i = 0; i < rules->count; i++)
        if (kept && compare(&rules->paths[kept - 1], &rules->paths[i]) == 0) {
            rules->paths[kept - 1].rights |= rules->paths[i].rights;
            free(rules->paths[i].path);
        } else {
            rules->paths[kept++] = rules->paths[i];
        }
    rules->count = kept;
}

bool rules_next_ports(const struct rules *rules, unsigned *first, unsigned *last)
{
    unsigned port = *first;

    while (rules->ports && port < PORTS && !rules->ports[port])
        port++;
    if (!rules->ports || port == PORTS)
        return false;
    *first = *last = port;
    while (*last + 1 < PORTS && rules->ports[*last + 1] == rules->ports[port])
        ++*last;
    return true;
}

void rules_free(struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        free(rules->paths[i].path);
    free(rules->paths);
    free(rules->ports);
    *rules = (struct rules){0};
}
