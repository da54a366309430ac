#include "launch/internal.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

enum { MOST_LINKS = 40 }; /* as the kernel: path_resolution(7) */

/* One careful walk. `rest` is what is still to be walked, `where` the directory reached so far. */
struct walk {
    struct walker *walker;
    const char *path;
    char rest[2 * PATH_MAX];
    char where[2 * PATH_MAX];
    char target[PATH_MAX];
    char untrusted[2 * PATH_MAX]; /* the first directory that is not */
    int directory;
    int doubt;       /* 0; errno: whether it is root's cannot be told */
    bool is_trusted; /* every directory so far is root's and nobody else's to write */
    unsigned links;
    struct object reached; /* the present directory */
    size_t committed;      /* walker->walked_count up to the last link that was followed */
};

static int say_link(struct walk *walk, struct error *error)
{
    error_set(error, LAUNCH_PATH, "%s crosses a symbolic link in %s, which the program could have written",
              walk->path, walk->where);
    if (walk->doubt)
        return error_hint(error, "whether %s is root's cannot be told: /proc: %s (mount /proc)",
                          walk->untrusted, strerror(walk->doubt));
    return error_hint(error,
                      "%s is not root's, or others may write it: name in the policy the path that the link "
                      "leads to (readlink -f shows it), or make every directory on the way root's and "
                      "writable by root alone",
                      walk->untrusted);
}

/* Takes the next component of `rest` into `name`. False at the end. */
static bool next_component(struct walk *walk, char name[static NAME_MAX + 1], bool *is_last)
{
    const char *begin = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(begin, "/");

    if (!length || length > NAME_MAX)
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    begin += length;
    *is_last = !*begin; /* what a '/' follows must be a directory */
    memmove(walk->rest, begin, strlen(begin) + 1);
    return true;
}

static void distrust(struct walk *walk, int doubt)
{
    if (!walk->is_trusted)
        return;
    strcpy(walk->untrusted, walk->where);
    walk->doubt = doubt;
    walk->is_trusted = false;
}

/* Moves into a directory, whose descriptor the walk takes over. */
static int enter(struct walk *walk, int fd)
{
    struct walker *walker = walk->walker;
    struct object *object = &walk->reached;
    int is_roots;

    cleanup_close(&walk->directory);
    walk->directory = fd;
    if (object_of(fd, object) < 0)
        return -1;
    is_roots = uid_is_roots(object->uid);
    if (is_roots <= 0 || object->mode & (S_IWGRP | S_IWOTH))
        distrust(walk, is_roots < 0 ? errno : 0);
    if (array_reserve(&walker->walked, &walker->walked_capacity, walker->walked_count,
                      sizeof *walker->walked) < 0)
        return -1;
    walker->walked[walker->walked_count++] = (struct walked){object->device, object->inode};
    return 0;
}

static int enter_root(struct walk *walk)
{
    int fd = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    strcpy(walk->where, "/");
    return fd < 0 ? -1 : enter(walk, fd);
}

static int enter_parent(struct walk *walk)
{
    int fd = openat(walk->directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

    path_to_parent(walk->where);
    return fd < 0 ? -1 : enter(walk, fd);
}

/* Moves the text of where the walk is to a name in the present directory. */
static int append(struct walk *walk, const char *name)
{
    size_t length = strlen(walk->where);

    if (length + strlen(name) + 2 > sizeof walk->where) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(walk->where + length, sizeof walk->where - length, "%s%s", length > 1 ? "/" : "", name);
    return 0;
}

/* Keeps a copy of a text as long as the walker. NULL: errno is ENOMEM. */
static char *keep(struct walker *walker, const char *text)
{
    char *copy;

    if (array_reserve(&walker->texts, &walker->text_capacity, walker->text_count, sizeof *walker->texts) < 0)
        return NULL;
    copy = strdup(text);
    if (copy)
        walker->texts[walker->text_count++] = copy;
    return copy;
}

/* Notes that a link in the present directory was followed. */
static int commit(struct walk *walk)
{
    struct walker *walker = walk->walker;
    char *directory = keep(walker, walk->where);

    if (!directory || array_reserve(&walker->followed, &walker->followed_capacity, walker->followed_count,
                                    sizeof *walker->followed) < 0)
        return -1;
    walker->followed[walker->followed_count++] = (struct followed){.path = walk->path,
                                                                   .position = walker->position,
                                                                   .directory = directory,
                                                                   .device = walk->reached.device,
                                                                   .mount = walk->reached.mount,
                                                                   .first = walk->committed,
                                                                   .last = walker->walked_count};
    walk->committed = walker->walked_count;
    return 0;
}

/* Puts the link's target before what is left to walk. */
static int follow(struct walk *walk, int link, struct error *error)
{
    char *target = walk->target;
    ssize_t length;
    size_t left = strlen(walk->rest);

    if (!walk->is_trusted)
        return say_link(walk, error);
    if (++walk->links > MOST_LINKS)
        return error_set(error, LAUNCH_PATH, "%s crosses more than %d symbolic links", walk->path,
                         MOST_LINKS);
    length = readlinkat(link, "", target, sizeof walk->target);
    if (length < 0)
        return -1;
    if (length == 0 || (size_t)length >= sizeof walk->target ||
        (size_t)length + left + 1 > sizeof walk->rest) {
        errno = length ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    if (commit(walk) < 0)
        return -1;
    memmove(walk->rest + length, walk->rest, left + 1); /* it is empty or begins with '/' */
    memcpy(walk->rest, target, (size_t)length);
    return target[0] == '/' ? enter_root(walk) : 0;
}

/* One component: 0 to go on, 1 when *fd is what the path names, -1 on failure. */
static int step(struct walk *walk, const char *name, bool is_last, int *fd, struct error *error)
{
    struct stat status;

    if (!strcmp(name, "."))
        return 0;
    if (!strcmp(name, ".."))
        return enter_parent(walk);
    *fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &status) < 0)
        return -1;
    if (S_ISLNK(status.st_mode)) {
        auto_close int link = take_fd(fd);

        return follow(walk, link, error);
    }
    if (append(walk, name) < 0)
        return -1;
    if (is_last)
        return 1;
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    return enter(walk, take_fd(fd));
}

static int walk_components(struct walk *walk, struct error *error)
{
    auto_close int fd = -1;
    char name[NAME_MAX + 1];
    bool is_last;

    if (enter_root(walk) < 0)
        return -1;
    while (next_component(walk, name, &is_last)) {
        int result = step(walk, name, is_last, &fd, error);

        if (result < 0)
            return -1;
        if (result)
            return take_fd(&fd);
    }
    if (walk->rest[strspn(walk->rest, "/")]) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return take_fd(&walk->directory);
}

/* A component at a time, for a path that meets a link. */
static int walk_carefully(struct walker *walker, const char *path, struct error *error)
{
    struct walk *walk = walker->walk ? walker->walk : malloc(sizeof *walk);
    auto_close int fd = -1;

    walker->walk = walk;
    if (!walk)
        return -1;
    walk->walker = walker;
    walk->path = path;
    walk->directory = -1;
    walk->is_trusted = true;
    walk->links = 0;
    walk->committed = walker->walked_count;
    strcpy(walk->rest, path);
    fd = walk_components(walk, error);
    cleanup_close(&walk->directory);
    walker->walked_count = walk->committed;
    if (fd >= 0)
        walker->real = keep(walker, walk->where);
    return walker->real ? take_fd(&fd) : -1;
}

int walk_open(struct walker *walker, const char *path, struct error *error)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

    walker->real = NULL;
    if (fd < 0 && (errno == ELOOP || errno == ENOSYS)) /* an emulator need not know the call */
        return walk_carefully(walker, path, error);
    return (int)fd;
}
