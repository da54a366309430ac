#include "trace/internal.h"

#include <string.h>

static bool look(const char *path, struct stat *status)
{
    if (stat(path, status) == 0)
        return true;
    *status = (struct stat){0};
    return false;
}

static int add(struct trace_guards *guards, const char *path, const struct policy_position *position)
{
    auto_free char *copy = strdup(path);
    struct stat status;

    if (!copy || array_reserve(&guards->items, &guards->capacity, guards->count, sizeof *guards->items) < 0)
        return -1;
    look(path, &status);
    guards->items[guards->count++] = (struct trace_guard){copy, *position, status};
    copy = NULL; /* cppcheck-suppress memleak ; the array has it now */
    return 0;
}

int trace_guards_take(struct trace_guards *guards, const struct policy *policy)
{
    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        if (!expectation->allowed && expectation->path &&
            add(guards, expectation->path, &expectation->position) < 0)
            return -1;
    }
    for (size_t i = 0; i < policy->private_count; i++)
        if (add(guards, policy->privates[i].path, &policy->privates[i].position) < 0)
            return -1;
    return 0;
}

void trace_guards_free(struct trace_guards *guards)
{
    for (size_t i = 0; i < guards->count; i++)
        free(guards->items[i].path);
    free(guards->items);
    *guards = (struct trace_guards){0};
}

/* A directory has another number of links for each that is made in it; a file of /proc another number when it is looked up anew. */
static bool is_undisturbed(const struct trace_guard *guard)
{
    struct stat now;
    bool is_there = look(guard->path, &now), was_there = guard->status.st_nlink;

    if (is_at_or_below(guard->path, "/proc"))
        return is_there == was_there;
    return now.st_ino == guard->status.st_ino && now.st_dev == guard->status.st_dev &&
           (now.st_nlink == guard->status.st_nlink || S_ISDIR(now.st_mode));
}

const struct policy_position *disturbed_guard(const struct trace_guards *guards)
{
    for (size_t i = 0; i < guards->count; i++)
        if (!is_undisturbed(&guards->items[i]))
            return &guards->items[i].position;
    return NULL;
}

const struct policy_position *guard_within(const struct trace_guards *guards, const char *directory)
{
    char real[PATH_MAX];

    for (size_t i = 0; i < guards->count; i++) {
        const char *path = guards->items[i].path;

        if ((is_at_or_below(path, directory) && strcmp(path, directory) != 0) ||
            (realpath(path, real) && is_at_or_below(real, directory) && strcmp(real, directory) != 0))
            return &guards->items[i].position;
    }
    return NULL;
}
