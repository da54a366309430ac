#include "launch/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

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

/* Directories that are known by where they lie: those in which the program may create, then the roots of the mounts below them. */
struct places {
    struct place *items;
    size_t count, capacity;
};

static int add_place(struct places *places, struct place place)
{
    if (array_reserve(&places->items, &places->capacity, places->count, sizeof place) < 0) {
        free(place.path);
        return -1;
    }
    places->items[places->count++] = place;
    return 0;
}

/* Whether a device of mountinfo may be one of stat(2): btrfs tells another one for each subvolume, with the major number 0, too. */
static bool may_be_device(uint64_t listed, uint64_t device)
{
    return makedev((unsigned)(listed >> 32), (unsigned)listed) == device ||
           (!(listed >> 32) && !major(device));
}

/* Whether a directory is `top` or below it. Of two in a mount that is not listed, the root's, the paths tell; else it cannot be told
 * of such a one, and the device must do. */
static bool lies_below(const struct place *place, const struct place *top)
{
    if (place->is_listed != top->is_listed)
        return place->is_listed ? may_be_device(place->device, top->device)
                                : may_be_device(top->device, place->device);
    return place->device == top->device && is_at_or_below(place->path, top->path);
}

/* As place_of(); where that cannot be told, the path itself and the device as stat(2) has it. 0, or -1 when memory ran out. */
static int place_or_path(const struct mounts *mounts, uint64_t id, const char *path, uint64_t device,
                         struct place *place)
{
    int is_listed = place_of(mounts, id, path, place);

    if (is_listed)
        return is_listed < 0 ? -1 : 0;
    *place = (struct place){device, strdup(path), false};
    return place->path ? 0 : -1;
}

/* A mount, by where its point lies. */
struct mounted {
    const struct mount *mount;
    const struct mounted *parent; /* NULL: it is not listed */
    struct place point;
    bool
        is_below; /* a directory in which the program may create is met on the way up from the point to the parent's root */
};

/* Landlock passes over a directory on which something is mounted. What is mounted on "/" is below nothing. */
static bool meets(const struct mounted *mounted, const struct place *top)
{
    const struct place *point = &mounted->point;

    if (point->is_listed != top->is_listed)
        return strcmp(mounted->mount->point, "/") != 0 && lies_below(point, top);
    return lies_below(point, top) && strcmp(point->path, top->path) != 0 &&
           (!mounted->parent || is_at_or_below(top->path, mounted->parent->mount->root));
}

static void free_mounted(struct mounted *mounted, size_t count)
{
    for (size_t i = 0; mounted && i < count; i++)
        free(mounted[i].point.path);
    free(mounted);
}

/* `root`: the device of "/". */
static struct mounted *take_mounted(const struct mounts *mounts, const struct places *creatable,
                                    uint64_t root)
{
    struct mounted *mounted = calloc(mounts->count, sizeof *mounted);

    for (size_t i = 0; mounted && i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i], *parent = find_mount(mounts, mount->parent);

        mounted[i].mount = mount;
        if (parent && parent != mount)
            mounted[i].parent = &mounted[parent - mounts->items];
        if (place_or_path(mounts, mount->parent, mount->point, root, &mounted[i].point) < 0) {
            free_mounted(mounted, mounts->count);
            return NULL;
        }
        for (size_t k = 0; k < creatable->count && !mounted[i].is_below; k++)
            mounted[i].is_below = meets(&mounted[i], &creatable->items[k]);
    }
    return mounted;
}

/* Adds the root of every mount below one of the directories, or below a mount that is: Landlock walks up through mount points. */
static int add_mounts_below(struct places *places, const struct mounts *mounts, uint64_t root)
{
    struct mounted *mounted = take_mounted(mounts, places, root);
    int result = mounted ? 0 : -1;

    for (size_t i = 0; result == 0 && i < mounts->count; i++) {
        const struct mounted *above = &mounted[i];
        struct place place = {mounts->items[i].device, NULL, true};

        for (size_t left = mounts->count; above && !above->is_below && left;
             left--) /* no circle can hold it */
            above = above->parent;
        if (!above)
            continue;
        place.path = strdup(mounts->items[i].root);
        result = place.path ? add_place(places, place) : -1;
    }
    free_mounted(mounted, mounts->count);
    return result;
}

static int take_places(struct places *places, const struct walker *walker, const struct mounts *mounts)
{
    for (size_t i = 0; i < walker->creatable_count; i++) {
        const struct creatable *creatable = &walker->creatable[i];
        struct place own;

        if (place_or_path(mounts, creatable->mount, creatable->path, creatable->device, &own) < 0 ||
            add_place(places, own) < 0)
            return -1;
    }
    return add_mounts_below(places, mounts, walker->walked[0].device); /* each walk begins at the root */
}

static bool is_below_by_another_mount(const struct mounts *mounts, const struct places *places,
                                      const struct followed *followed)
{
    struct place link;
    bool is_below = place_or_path(mounts, followed->mount, followed->directory, followed->device, &link) < 0;

    for (size_t i = 0; !is_below && i < places->count; i++)
        is_below = lies_below(&link, &places->items[i]);
    free(link.path);
    return is_below;
}

static int say_followed(const struct followed *followed, struct error *error)
{
    error_set(error, LAUNCH_PATH, "%s crosses a symbolic link in %s, which the program could have written",
              followed->path, followed->directory);
    return error_hint(error, "the policy lets the program create there: name the path that the link leads to "
                             "(readlink -f shows it), or do not allow to create there");
}

static int check_links(struct walker *walker, const struct mounts *mounts, const struct places *places,
                       struct error *error)
{
    while (walker->checked < walker->followed_count) {
        const struct followed *followed = &walker->followed[walker->checked++];

        walker->position = followed->position;
        if (is_below(walker, followed) || is_below_by_another_mount(mounts, places, followed))
            return say_followed(followed, error);
    }
    return 0;
}

int walk_check(struct walker *walker, struct error *error)
{
    const struct mounts *mounts;
    struct places places = {0};
    int result = 0;

    if (!walker->followed_count || !walker->creatable_count)
        return 0;
    mounts = mounts_of(walker);
    if (mounts)
        result = take_places(&places, walker, mounts);
    qsort(walker->creatable, walker->creatable_count, sizeof *walker->creatable, compare_creatable);
    if (!mounts || result < 0)
        result = say_no_mounts(error, "checking symbolic links");
    else
        result = check_links(walker, mounts, &places, error);
    for (size_t i = 0; i < places.count; i++)
        free(places.items[i].path);
    free(places.items);
    return result;
}

void walk_free(struct walker *walker)
{
    for (size_t i = 0; i < walker->text_count; i++)
        free(walker->texts[i]);
    free(walker->texts);
    free(walker->walk);
    mounts_free(walker->mounts);
    free(walker->followed);
    free(walker->walked);
    free(walker->creatable);
}
