#include "launch/internal.h"

#include <errno.h>
#include <string.h>

int walk_note_creatable(struct walker *walker, const struct object *object, const char *path)
{
    if (array_reserve(&walker->creatable, &walker->creatable_capacity, walker->creatable_count,
                      sizeof *walker->creatable) < 0)
        return -1;
    walker->creatable[walker->creatable_count++] =
        (struct creatable){object->device, object->inode, object->mount, walker->real ? walker->real : path};
    return 0;
}

static int compare_creatable(const void *left, const void *right)
{
    const struct creatable *a = left, *b = right;

    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return (a->device > b->device) - (a->device < b->device);
}

/* Whether one of the directories walked through is one in which the program may create. */
static bool is_below(const struct walker *walker, const struct followed *followed)
{
    for (size_t i = followed->first; i < followed->last; i++) {
        struct creatable key = {.device = walker->walked[i].device, .inode = walker->walked[i].inode};

        if (bsearch(&key, walker->creatable, walker->creatable_count, sizeof key, compare_creatable))
            return true;
    }
    return false;
}

/* ---- The same file system by two mounts: neither walk sees the other's directories ---- */

/* The text of /proc/self/mountinfo, or NULL. */
static char *read_mounts(void)
{
    size_t size = 0;
    char *text = NULL;

    do {
        free(text);
        size += 65536;
        text = malloc(size);
        if (!text || !read_small_file("/proc/self/mountinfo", text, size)) {
            free(text);
            return NULL;
        }
    } while (strlen(text) == size - 1);
    return text;
}

/* Takes a word of mountinfo, where blanks, newlines and backslashes are written \NNN. */
static const char *take_field(const char *from, char *out, size_t size)
{
    size_t length = 0;

    while (*from && *from != ' ' && *from != '\n' && length < size - 1) {
        if (from[0] == '\\' && from[1] && from[2] && from[3]) {
            out[length++] = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            out[length++] = *from++;
        }
    }
    out[length] = '\0';
    return *from == ' ' ? from + 1 : from;
}

/* Where `path`, in mount `id`, lies within its file system: the mount's root and what follows its mount point. */
static bool within_file_system(const char *mounts, uint64_t id, const char *path,
                               char out[static 2 * PATH_MAX])
{
    char number[32], parent[32], device[32], root[PATH_MAX], point[PATH_MAX];

    for (const char *line = mounts; *line; line = strchrnul(line, '\n'), line += *line == '\n') {
        const char *at = take_field(line, number, sizeof number);
        size_t length;

        if (strtoull(number, NULL, 10) != id)
            continue;
        at = take_field(at, parent, sizeof parent);
        at = take_field(at, device, sizeof device);
        at = take_field(at, root, sizeof root);
        take_field(at, point, sizeof point);
        length = strcmp(point, "/") ? strlen(point) : 0;
        if (strncmp(path, point, length) || (path[length] && path[length] != '/'))
            return false;
        snprintf(out, 2 * PATH_MAX, "%s%s", strcmp(root, "/") ? root : "",
                 path[length] && path[length + 1] ? path + length : "");
        return true;
    }
    return false;
}

/* Whether the link's directory lies at or below the creatable one in the file system that both are in. What cannot be told
 * is taken for yes. */
static bool is_below_by_another_mount(const char *mounts, const struct followed *followed,
                                      const struct creatable *creatable)
{
    auto_free char *link = malloc(2 * PATH_MAX), *create = malloc(2 * PATH_MAX);
    size_t length;

    if (!mounts || !link || !create ||
        !within_file_system(mounts, followed->mount, followed->directory, link) ||
        !within_file_system(mounts, creatable->mount, creatable->path, create))
        return true;
    length = strlen(create);
    return !strncmp(link, create, length) && (!link[length] || link[length] == '/');
}

static bool is_reachable_by_another_mount(const struct walker *walker, const struct followed *followed,
                                          char **mounts)
{
    for (size_t i = 0; i < walker->creatable_count; i++) {
        const struct creatable *creatable = &walker->creatable[i];

        if (creatable->device != followed->device || creatable->mount == followed->mount)
            continue;
        if (!*mounts)
            *mounts = read_mounts();
        if (is_below_by_another_mount(*mounts, followed, creatable))
            return true;
    }
    return false;
}

int walk_check(const struct walker *walker, struct error *error)
{
    auto_free char *mounts = NULL;

    if (walker->creatable_count)
        qsort(walker->creatable, walker->creatable_count, sizeof *walker->creatable, compare_creatable);
    for (size_t i = 0; i < walker->followed_count; i++) {
        const struct followed *followed = &walker->followed[i];

        if (!is_below(walker, followed) && !is_reachable_by_another_mount(walker, followed, &mounts))
            continue;
        error_set(error, LAUNCH_PATH,
                  "%s crosses a symbolic link in %s, which the program could have written", followed->path,
                  followed->directory);
        return error_hint(error, "the policy lets the program create there: name the path that the link "
                                 "leads to "
                                 "(readlink -f shows it), or do not allow to create there");
    }
    return 0;
}

void walk_free(struct walker *walker)
{
    for (size_t i = 0; i < walker->text_count; i++)
        free(walker->texts[i]);
    free(walker->texts);
    free(walker->walk);
    free(walker->followed);
    free(walker->walked);
    free(walker->creatable);
}
