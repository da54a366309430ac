#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/fsuid.h>

/* ---- Made by the owner: what a name leads to after it was made may be something else, which must not be given away. ---- */

struct identity {
    uid_t user;
    gid_t group;
};

static void become(const struct identity *identity)
{
    setfsgid(identity->group); /* first: a user may not */
    setfsuid(identity->user);
}

static void become_again(const struct identity *identity)
{
    setfsuid(identity->user);
    setfsgid(identity->group);
}

static bool is_now(const struct identity *identity)
{
    return (uid_t)setfsuid((uid_t)-1) == identity->user &&
           (gid_t)setfsgid((gid_t)-1) == identity->group; /* setfsuid(2) tells a failure so */
}

static int make_as_owner(const struct chat *chat, int parent, const char *name)
{
    const struct identity before = {geteuid(), getegid()}, owner = {chat->owner, chat->group};
    mode_t mode = S_IRWXU | chat->mode | (chat->mode & 0444) >> 2;
    int result = -1, failure = EPERM;

    if (chat->is_owner)
        return mkdirat(parent, name, mode);
    become(&owner);
    if (is_now(&owner)) {
        result = mkdirat(parent, name, mode);
        failure = errno;
    }
    become_again(&before);
    errno = failure;
    return result;
}

/* ---- The folder of a path ---- */

static int open_component(const struct chat *chat, int parent, const char *name)
{
    int fd = open_beneath(parent, name, O_PATH | O_DIRECTORY);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (make_as_owner(chat, parent, name) < 0 && errno != EEXIST)
        return -1;
    return open_beneath(parent, name, O_PATH | O_DIRECTORY);
}

/* `path` is taken apart. */
static int open_components(const struct chat *chat, char *path)
{
    auto_close int folder = -1;
    char *rest = path;

    for (char *name; (name = strsep(&rest, "/"));) {
        int next = open_component(chat, folder < 0 ? chat->directory : folder, name);

        if (next < 0)
            return -1;
        cleanup_close(&folder);
        folder = next;
    }
    return take_fd(&folder);
}

int open_folder(const struct chat *chat, const char *path, size_t length, struct error *error)
{
    auto_free char *folder = strndup(path, length);
    int fd;

    if (!folder)
        return error_set(error, CHAT_SYSTEM, "%s: out of memory", path);
    fd = open_beneath(chat->directory, folder, O_PATH | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT)
        fd = open_components(chat, folder);
    if (fd < 0 && errno == ENOENT)
        return say_removed(path, error);
    return fd < 0 ? say_errno(path, error) : fd;
}
