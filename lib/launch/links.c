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

/* ---- The same directory by another mount: neither walk saw the other's directories ---- */

/* A line of /proc/self/mountinfo (proc(5)), its texts unescaped. */
struct mount {
    uint64_t id, device;
    char *root, *point;
};

/* A directory by its path within its file system. */
struct place {
    uint64_t device;
    char *path;
};

struct mounts {
    char *text;
    struct mount *items;
    size_t count, capacity;
    struct place *creatable; /* where the program may create, by whatever mount */
    size_t creatable_count, creatable_capacity;
};

/* The text of /proc/self/mountinfo, or NULL. */
static char *read_mountinfo(void)
{
    size_t size = 16384;
    char *text = malloc(size);

    while (text && read_small_file("/proc/self/mountinfo", text, size) && strlen(text) == size - 1) {
        free(text);
        size *= 2;
        text = malloc(size);
    }
    if (text && text[0])
        return text;
    free(text);
    return NULL;
}

/* Takes a word of mountinfo, where blanks, newlines and backslashes are written \NNN, and leaves it unescaped in its place. */
static char *take_field(char **at)
{
    char *begin = *at, *out = begin, *in = begin;

    while (*in && *in != ' ' && *in != '\n') {
        bool is_escaped = in[0] == '\\' && in[1] && in[2] && in[3];

        *out++ = is_escaped ? (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0')) : *in;
        in += is_escaped ? 4 : 1;
    }
    *at = in + (*in == ' ');
    *out = '\0';
    return begin;
}

static struct mount take_mount(char *line)
{
    struct mount mount = {.id = strtoull(take_field(&line), NULL, 10)};
    char *device;

    take_field(&line); /* the parent */
    device = take_field(&line);
    mount.device = strtoull(device, &device, 10) << 32;
    mount.device |= *device ? strtoull(device + 1, NULL, 10) : 0;
    mount.root = take_field(&line);
    mount.point = take_field(&line);
    return mount;
}

static int read_mounts(struct mounts *mounts)
{
    mounts->text = read_mountinfo();
    if (!mounts->text)
        return -1;
    for (char *line = mounts->text, *next; *line; line = next) {
        next = strchrnul(line, '\n');
        next += *next == '\n';
        if (array_reserve(&mounts->items, &mounts->capacity, mounts->count, sizeof *mounts->items) < 0)
            return -1;
        mounts->items[mounts->count++] = take_mount(line);
    }
    return 0;
}

static bool is_at_or_below(const char *path, const char *top)
{
    size_t length = strcmp(top, "/") ? strlen(top) : 0;

    return !strncmp(path, top, length) && (!path[length] || path[length] == '/');
}

static const struct mount *find_mount(const struct mounts *mounts, uint64_t id)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->items[i].id == id)
            return &mounts->items[i];
    return NULL;
}

/* Where `path`, reached in mount `id`, lies in its file system; path NULL: that cannot be told (in a chroot, the mount of its
 * root is not listed) or memory ran out. */
static struct place place_of(const struct mounts *mounts, uint64_t id, const char *path)
{
    const struct mount *mount = find_mount(mounts, id);
    struct place place = {0};
    const char *rest;

    if (!mount || !is_at_or_below(path, mount->point))
        return place;
    rest = path + (strcmp(mount->point, "/") ? strlen(mount->point) : 0);
    if (asprintf(&place.path, "%s%s", strcmp(mount->root, "/") ? mount->root : "",
                 strcmp(rest, "/") ? rest : "") < 0)
        place.path = NULL;
    place.device = mount->device;
    return place;
}

static int add_place(struct mounts *mounts, struct place place)
{
    if (!place.path)
        return 0;
    if (array_reserve(&mounts->creatable, &mounts->creatable_capacity, mounts->creatable_count,
                      sizeof place) < 0) {
        free(place.path);
        return -1;
    }
    mounts->creatable[mounts->creatable_count++] = place;
    return 0;
}

/* A directory in which the program may create, and each mount below it: Landlock walks up through mount points. */
static int add_creatable(struct mounts *mounts, const struct creatable *creatable)
{
    if (add_place(mounts, place_of(mounts, creatable->mount, creatable->path)) < 0)
        return -1;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];
        struct place place = {.device = mount->device};

        if (!strcmp(mount->point, creatable->path) || !is_at_or_below(mount->point, creatable->path))
            continue;
        place.path = strdup(mount->root);
        if (!place.path || add_place(mounts, place) < 0)
            return -1;
    }
    return 0;
}

static int find_creatable_places(const struct walker *walker, struct mounts *mounts)
{
    if (read_mounts(mounts) < 0)
        return -1;
    for (size_t i = 0; i < walker->creatable_count; i++)
        if (add_creatable(mounts, &walker->creatable[i]) < 0)
            return -1;
    return 0;
}

/* Whether a directory on the link's device, in another mount than the link, is one in which the program may create. Asked where
 * it cannot be told how the two lie to each other. */
static bool may_be_below(const struct walker *walker, const struct mounts *mounts,
                         const struct followed *followed, bool is_placed)
{
    for (size_t i = 0; i < walker->creatable_count; i++) {
        const struct creatable *creatable = &walker->creatable[i];

        if (creatable->device == followed->device && creatable->mount != followed->mount &&
            !(is_placed && find_mount(mounts, creatable->mount)))
            return true;
    }
    return false;
}

static bool is_below_by_another_mount(const struct walker *walker, const struct mounts *mounts,
                                      const struct followed *followed)
{
    struct place link = place_of(mounts, followed->mount, followed->directory);
    bool is_below = may_be_below(walker, mounts, followed, link.path);

    for (size_t i = 0; link.path && !is_below && i < mounts->creatable_count; i++)
        is_below = mounts->creatable[i].device == link.device &&
                   is_at_or_below(link.path, mounts->creatable[i].path);
    free(link.path);
    return is_below;
}

static void free_mounts(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->creatable_count; i++)
        free(mounts->creatable[i].path);
    free(mounts->creatable);
    free(mounts->items);
    free(mounts->text);
}

static int say_followed(const struct followed *followed, struct error *error)
{
    error_set(error, LAUNCH_PATH, "%s crosses a symbolic link in %s, which the program could have written",
              followed->path, followed->directory);
    return error_hint(error, "the policy lets the program create there: name the path that the link leads to "
                             "(readlink -f shows it), or do not allow to create there");
}

static int check_links(const struct walker *walker, const struct mounts *mounts, struct error *error)
{
    for (size_t i = 0; i < walker->followed_count; i++)
        if (is_below(walker, &walker->followed[i]) ||
            is_below_by_another_mount(walker, mounts, &walker->followed[i]))
            return say_followed(&walker->followed[i], error);
    return 0;
}

int walk_check(const struct walker *walker, struct error *error)
{
    struct mounts mounts = {0};
    int result;

    if (!walker->followed_count || !walker->creatable_count)
        return 0;
    qsort(walker->creatable, walker->creatable_count, sizeof *walker->creatable, compare_creatable);
    if (find_creatable_places(walker, &mounts) < 0) {
        result = system_error(error, "checking symbolic links: /proc/self/mountinfo");
        error_hint(error, "mount /proc, or name in the policy the paths that the links lead to");
    } else {
        result = check_links(walker, &mounts, error);
    }
    free_mounts(&mounts);
    return result;
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
