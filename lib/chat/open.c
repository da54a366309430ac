#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

int open_beneath(int directory, const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
                                      RESOLVE_NO_XDEV};
    long fd;

    if (flags & O_PATH)
        how.flags &= ~(uint64_t)(O_NONBLOCK | O_NOCTTY); /* openat2(2) refuses what O_PATH would ignore */
    do {
        fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
    } while (fd < 0 && errno == EINTR);
    return (int)fd;
}

/* ---- The directory ---- */

static int say_directory(const char *path, struct error *error)
{
    int number = errno;

    error_set(error, CHAT_DIRECTORY, "%s: %s", path, strerror(number));
    switch (number) {
    case ENOENT:
        return error_hint(error, "the chat's directory is made by who owns the chats: mkdir -m 700");
    case ELOOP:
    case ENOTDIR:
        return error_hint(error, "expected a directory that is no symbolic link; readlink -f shows what a "
                                 "link leads to");
    case EACCES:
        return error_hint(error, "run it as the directory's owner, or as root");
    default:
        return -1;
    }
}

/* Opens it anew by the call on which everything here rests. */
static int need_openat2(int directory, const char *path, struct error *error)
{
    auto_close int fd = open_beneath(directory, ".", O_PATH | O_DIRECTORY);

    if (fd >= 0)
        return 0;
    if (errno != ENOSYS && errno != EPERM) /* EPERM: a seccomp profile */
        return say_directory(path, error);
    error_set(error, CHAT_UNSUPPORTED, "openat2(2): %s", strerror(errno));
    return error_hint(error, "use Linux 5.6 or newer, and a seccomp profile that allows openat2");
}

/* A slash at the end would have the last component followed. */
static char *without_slashes(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    return strndup(path, length);
}

int chat_open(struct chat *chat, const char *path, struct error *error)
{
    auto_free char *plain = without_slashes(path);
    struct stat status;

    *chat = (struct chat){.directory = -1, .most_bytes = CHAT_MOST_BYTES, .mode = CHAT_MODE};
    if (!plain)
        return error_set(error, CHAT_SYSTEM, "%s: out of memory", path);
    chat->directory = openat(AT_FDCWD, plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (chat->directory < 0 || fstat(chat->directory, &status) < 0)
        return say_directory(path, error);
    chat->owner = status.st_uid;
    chat->group = status.st_gid;
    chat->device = status.st_dev;
    chat->inode = status.st_ino;
    chat->is_owner = geteuid() == status.st_uid;
    return need_openat2(chat->directory, path, error);
}

void chat_close(const struct chat *chat)
{
    cleanup_close(&chat->directory);
}

/* ---- A file ---- */

int check_regular(const struct stat *status, const char *shown, uint64_t most, struct error *error)
{
    if (S_ISDIR(status->st_mode))
        return error_set(error, CHAT_FOLDER, "%s: it is a folder", shown);
    if (!S_ISREG(status->st_mode))
        return error_set(error, CHAT_SPECIAL, "%s: it is a FIFO, a socket or a device", shown);
    if (status->st_nlink > 1) {
        error_set(error, CHAT_HARD_LINK, "%s: it has %ju names, of which others may be outside", shown,
                  (uintmax_t)status->st_nlink);
        return error_hint(error, "copy it, and remove this name");
    }
    if ((uint64_t)status->st_size > most) {
        error_set(error, CHAT_TOO_LARGE, "%s: it has %jd bytes; at most %ju are allowed", shown,
                  (intmax_t)status->st_size, (uintmax_t)most);
        return error_hint(error, "split it, or pack it tighter");
    }
    return 0;
}

int open_regular(int directory, const char *name, const char *shown, uint64_t most, struct chat_file *file,
                 struct error *error)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES; i++) {
        file->fd = open_beneath(directory, name, O_RDONLY);
        if (file->fd < 0)
            return say_errno(shown, error);
        if (fstat(file->fd, &file->status) < 0)
            return say_errno(shown, error);
        if (file->status.st_nlink)
            return check_regular(&file->status, shown, most, error);
        cleanup_close(&file->fd); /* it was replaced since: its other names could not be told */
        file->fd = -1;
    }
    error_set(error, CHAT_CHANGED, "%s: it is replaced all the time", shown);
    return error_hint(error, "try again when nothing runs in this chat");
}

int chat_open_file(const struct chat *chat, const char *name, struct chat_file *file, struct error *error)
{
    file->fd = -1;
    if (chat_check_name(name, error) < 0)
        return -1;
    return open_regular(chat->directory, name, name, chat->most_bytes, file, error);
}

/* ---- What may be replaced or removed ---- */

int check_replaceable(int directory, const char *name, const char *shown, struct error *error)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return say_errno(shown, error);
    if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))
        return 0;
    if (S_ISDIR(status.st_mode))
        error_set(error, CHAT_FOLDER, "%s: it is a folder", shown);
    else
        error_set(error, CHAT_SPECIAL, "%s: it is a FIFO, a socket or a device", shown);
    return error_hint(error, "only a file or a link is replaced or removed: remove it by hand");
}

int chat_remove(const struct chat *chat, const char *name, struct error *error)
{
    if (chat_check_name(name, error) < 0 || check_replaceable(chat->directory, name, name, error) < 0)
        return -1;
    return unlinkat(chat->directory, name, 0) < 0 ? say_errno(name, error) : 0;
}
