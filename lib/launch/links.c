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

/* A directory in which the program may create, by its path within its file system. */
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

/* A directory in which the program may create, and each mount below it: Landlock walks up through mount points. */
static int add_creatable(struct places *places, const struct mounts *mounts,
                         const struct creatable *creatable)
{
    struct place own;
    int is_placed = place_of(mounts, creatable->mount, creatable->path, &own);

    if (is_placed < 0 || (is_placed && add_place(places, own) < 0))
        return -1;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->items[i];
        struct place place = {.device = mount->device};

        if (!strcmp(mount->point, creatable->path) || !is_at_or_below(mount->point, creatable->path))
            continue;
        place.path = strdup(mount->root);
        if (!place.path || add_place(places, place) < 0)
            return -1;
    }
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
                                      const struct places *places, const struct followed *followed)
{
    struct place link;
    int is_placed = place_of(mounts, followed->mount, followed->directory, &link);
    bool is_below = is_placed < 0 || may_be_below(walker, mounts, followed, is_placed);

    for (size_t i = 0; is_placed > 0 && !is_below && i < places->count; i++)
        is_below = places->items[i].device == link.device && is_at_or_below(link.path, places->items[i].path);
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
        if (is_below(walker, followed) || is_below_by_another_mount(walker, mounts, places, followed))
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
    for (size_t i = 0; mounts && result == 0 && i < walker->creatable_count; i++)
        result = add_creatable(&places, mounts, &walker->creatable[i]);
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
