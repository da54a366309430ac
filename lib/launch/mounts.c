#include "launch/internal.h"

#include <errno.h>
#include <string.h>

static bool is_octal(char digit)
{
    return digit >= '0' && digit <= '7';
}

/* Takes a word of mountinfo, where blanks, newlines and backslashes are written \NNN, and leaves it unescaped in its place. */
static char *take_field(char **at)
{
    char *begin = *at, *out = begin, *in = begin;

    while (*in && *in != ' ' && *in != '\n') {
        if (in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3])) {
            *out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *at = in + (*in == ' ');
    *out = '\0';
    return begin;
}

static struct mount take_mount(char *line)
{
    struct mount mount = {.id = strtoull(take_field(&line), NULL, 10)};
    char *device;

    mount.parent = strtoull(take_field(&line), NULL, 10);
    device = take_field(&line);
    mount.device = strtoull(device, &device, 10) << 32;
    mount.device |= *device ? strtoull(device + 1, NULL, 10) : 0;
    mount.root = take_field(&line);
    mount.point = take_field(&line);
    return mount;
}

static int take_mounts(struct mounts *mounts)
{
    mounts->text = read_text_file("/proc/self/mountinfo");
    if (!mounts->text || !mounts->text[0])
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

const struct mount *find_mount(const struct mounts *mounts, uint64_t id)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (mounts->items[i].id == id)
            return &mounts->items[i];
    return NULL;
}

int place_of(const struct mounts *mounts, uint64_t id, const char *path, struct place *place)
{
    const struct mount *mount = find_mount(mounts, id);
    const char *rest;

    *place = (struct place){0};
    if (!mount || !is_at_or_below(path, mount->point))
        return 0;
    rest = path + (strcmp(mount->point, "/") ? strlen(mount->point) : 0);
    place->device = mount->device;
    place->is_listed = true;
    place->path = text_of("%s%s", strcmp(mount->root, "/") ? mount->root : "", strcmp(rest, "/") ? rest : "");
    return place->path ? 1 : -1;
}

const struct mounts *mounts_of(struct walker *walker)
{
    struct mounts *mounts = walker->mounts;

    if (mounts)
        return mounts;
    mounts = calloc(1, sizeof *mounts);
    if (!mounts || take_mounts(mounts) < 0) {
        mounts_free(mounts);
        return NULL;
    }
    return walker->mounts = mounts;
}

int say_no_mounts(struct error *error, const char *what)
{
    if (errno == ENOMEM)
        return system_error(error, what);
    error_set(error, LAUNCH_SYSTEM, "%s: /proc/self/mountinfo: %s", what, strerror(errno));
    return error_hint(error, "mount /proc");
}

void mounts_free(struct mounts *mounts)
{
    if (!mounts)
        return;
    free(mounts->items);
    free(mounts->text);
    free(mounts);
}
