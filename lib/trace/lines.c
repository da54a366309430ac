#include "trace/trace.h"

#include <errno.h>
#include <string.h>

/* ---- Sorted, each path and port once ---- */

/* Paths before ports. */
static int compare(const void *a, const void *b)
{
    const struct trace_line *x = a, *y = b;

    if (x->path && y->path)
        return strcmp(x->path, y->path);
    return x->path || y->path ? (y->path != NULL) - (x->path != NULL) : x->port - y->port;
}

static int append(struct trace_lines *lines, const char *path, uint16_t port, policy_rights rights)
{
    char *copy = path ? strdup(path) : NULL;

    if ((path && !copy) ||
        array_reserve(&lines->items, &lines->capacity, lines->count, sizeof *lines->items) < 0) {
        free(copy);
        errno = ENOMEM;
        return -1;
    }
    lines->items[lines->count++] = (struct trace_line){copy, port, rights};
    return 0;
}

static void sort(struct trace_lines *lines)
{
    size_t kept = 0;

    if (lines->count)
        qsort(lines->items, lines->count, sizeof *lines->items, compare);
    for (size_t i = 0; i < lines->count; i++)
        if (kept && compare(&lines->items[kept - 1], &lines->items[i]) == 0) {
            lines->items[kept - 1].rights |= lines->items[i].rights;
            free(lines->items[i].path);
        } else {
            lines->items[kept++] = lines->items[i];
        }
    lines->count = kept;
}

static const struct trace_line *find(const struct trace_lines *lines, char *path)
{
    const struct trace_line wanted = {.path = path};

    return bsearch(&wanted, lines->items, lines->count, sizeof wanted, compare);
}

/* ---- What another line covers ---- */

/* What lines for the directories above a path give. */
static policy_rights given_above(const struct trace_lines *lines, const char *path)
{
    char above[PATH_MAX];
    const struct trace_line *line;
    policy_rights rights = 0;

    snprintf(above, sizeof above, "%s", path);
    while (path_to_parent(above)) {
        line = find(lines, above);
        rights |= line ? line->rights : 0;
    }
    return rights;
}

static void drop_covered(struct trace_lines *lines)
{
    size_t kept = 0;

    for (size_t i = lines->count; i-- > 0;) /* those below first */
        if (lines->items[i].path)
            lines->items[i].rights &= ~given_above(lines, lines->items[i].path);
    for (size_t i = 0; i < lines->count; i++)
        if (lines->items[i].rights)
            lines->items[kept++] = lines->items[i];
        else
            free(lines->items[i].path);
    lines->count = kept;
}

/* ---- Gathering ---- */

/* The directory of a file, in `directory`; false for one that is too near to the root to be opened as a whole. */
static bool directory_of(const char *path, char directory[static PATH_MAX])
{
    char above[PATH_MAX];

    snprintf(directory, PATH_MAX, "%s", path);
    path_to_parent(directory);
    strcpy(above, directory);
    return path_to_parent(above) && strcmp(above, "/") != 0;
}

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* Programs stay apart: to execute one is not to execute all beside it. */
static bool may_be_gathered(const struct trace_line *line)
{
    return line->path && !(line->rights & POLICY_EXECUTE) && is_file(line->path);
}

/* Whether the policy has nothing against it: 1, 0, or -1: memory ran out. */
static int may_open(const struct launch *launch, const struct trace_line *line)
{
    struct error error = {0};
    int is_fine = 1;

    for (size_t i = 0; i < policy_right_count && is_fine > 0; i++) {
        struct verdict verdict;

        if (!(policy_right_table[i].bit & line->rights))
            continue;
        if (verdict_of_path(launch, policy_right_table[i].bit, line->path, &verdict, &error) < 0)
            is_fine = -1;
        else
            is_fine = !verdict.forbidden_by;
        verdict_free(&verdict);
    }
    return is_fine;
}

/* A line for the directory of each file. */
static int list_directories(const struct trace_lines *lines, struct trace_lines *directories)
{
    char directory[PATH_MAX];

    for (size_t i = 0; i < lines->count; i++)
        if (may_be_gathered(&lines->items[i]) && directory_of(lines->items[i].path, directory) &&
            append(directories, directory, 0, lines->items[i].rights) < 0)
            return -1;
    if (directories->count)
        qsort(directories->items, directories->count, sizeof *directories->items, compare);
    return 0;
}

/* Adds those that stand there more than once. */
static int take_repeated(struct trace_lines *lines, const struct trace_lines *directories,
                         const struct launch *launch)
{
    size_t next;
    int may_be;

    for (size_t i = 0; i < directories->count; i = next) {
        struct trace_line line = directories->items[i];

        for (next = i + 1; next < directories->count && compare(&directories->items[next], &line) == 0;
             next++)
            line.rights |= directories->items[next].rights;
        may_be = next > i + 1 ? may_open(launch, &line) : 0;
        if (may_be < 0 || (may_be && append(lines, line.path, 0, line.rights) < 0))
            return -1;
    }
    return 0;
}

static int gather(struct trace_lines *lines, const struct launch *launch)
{
    struct trace_lines directories = {0};
    int result = list_directories(lines, &directories) < 0 ? -1 : take_repeated(lines, &directories, launch);

    trace_lines_free(&directories);
    sort(lines);
    return result;
}

/* ---- All of them ---- */

int trace_lines_add(struct trace_lines *lines, const struct trace_report *report, const struct launch *launch,
                    bool gathers)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct trace_denial *denial = report->denials[i];

        if (denial->has_line && append(lines, denial->subject, denial->port, denial->rights) < 0)
            return -1;
    }
    sort(lines);
    if (gathers && gather(lines, launch) < 0)
        return -1;
    drop_covered(lines);
    return 0;
}

void trace_lines_free(struct trace_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->items[i].path);
    free(lines->items);
    *lines = (struct trace_lines){0};
}

char *trace_line_text(const struct trace_line *line)
{
    char names[POLICY_RIGHTS_TEXT];
    auto_free char *word = line->path ? text_as_word(line->path) : text_of("%u", line->port);
    struct stat status;
    bool is_missing = line->path && lstat(line->path, &status) < 0;

    return word ? text_of("allow %s %s%s", policy_rights_text(line->rights, names), is_missing ? "-" : "",
                          word)
                : NULL;
}
