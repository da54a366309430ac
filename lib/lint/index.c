#include "lint/internal.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

/* Asked with one call where realpath(3) makes one for each component: most paths have none. */
static bool has_no_link(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    auto_close int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

    return fd >= 0;
}

char *real_path(const char *path)
{
    char *real = has_no_link(path) ? strdup(path) : realpath(path, NULL);

    if (real || errno == ENOMEM)
        return real;
    return strdup(path);
}

static int compare_items(const void *left, const void *right)
{
    const struct indexed *a = left, *b = right;
    int order = strcmp(a->path, b->path);

    return order ? order : (a->rule > b->rule) - (a->rule < b->rule);
}

int index_rules(const struct policy *policy, bool real, struct rule_index *index)
{
    index->items = calloc(policy->path_rule_count + 1, sizeof *index->items);
    if (!index->items)
        return -1;
    for (size_t i = 0; i < policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &policy->path_rules[i];
        char *path = real ? real_path(rule->path) : strdup(rule->path);

        if (!path)
            return -1;
        index->items[index->count++] = (struct indexed){path, rule};
    }
    qsort(index->items, index->count, sizeof *index->items, compare_items);
    return 0;
}

void index_free(struct rule_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        free(index->items[i].path);
    free(index->items);
}

/* As strcmp(3) with the first `length` bytes of `path`. */
static int compare_to(const struct indexed *item, const char *path, size_t length)
{
    int order = strncmp(item->path, path, length);

    return order ? order : item->path[length] != '\0';
}

/* The first item at exactly the first `length` bytes of `path`; the others follow it. */
static size_t find_first(const struct rule_index *index, const char *path, size_t length)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_to(&index->items[middle], path, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool walk_at(const struct rule_index *index, const char *path, size_t length, take_rule *take,
                    void *context)
{
    for (size_t i = find_first(index, path, length);
         i < index->count && !compare_to(&index->items[i], path, length); i++)
        if (take(context, &index->items[i]))
            return true;
    return false;
}

bool index_walk(const struct rule_index *index, const char *path, take_rule *take, void *context)
{
    if (walk_at(index, "/", 1, take, context))
        return true;
    for (const char *end = path; path[1] && *end;) {
        end = strchrnul(end + 1, '/');
        if (walk_at(index, path, (size_t)(end - path), take, context))
            return true;
    }
    return false;
}
