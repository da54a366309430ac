#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static const uint64_t below = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;

static int open_resolved(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {.flags = flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, .resolve = resolve};
    long fd;

    if (flags & O_PATH)
        how.flags &= ~(uint64_t)(O_NONBLOCK | O_NOCTTY); /* openat2(2) refuses what O_PATH would ignore */
    do {
        fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
    } while (fd < 0 && errno == EINTR);
    return (int)fd;
}

int open_beneath(int directory, const char *path, uint64_t flags)
{
    return open_resolved(directory, path, flags, below | RESOLVE_NO_XDEV);
}

/* ---- The directory ---- */

static int say_directory(const char *path, struct error *error)
{
    int number = errno;

    error_set(error, CHAT_DIRECTORY, "%s: %s", path, strerror(number));
    switch (number) {
    case ENOENT:
        return error_hint(error, "make it for the user that the code runs as: install -d -m 700 -o UID -g "
                                 "GID DIRECTORY");
    case ELOOP:
    case ENOTDIR:
        return error_hint(error, "expected a directory; of a symbolic link, what it leads to, which readlink "
                                 "-f shows");
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

size_t length_of_link(const char *path)
{
    size_t length = strlen(path);

    while (length > 1 &&
           (path[length - 1] == '/' || (length > 2 && path[length - 2] == '/' && path[length - 1] == '.')))
        length--;
    return length;
}

int chat_open(struct chat *chat, const char *path, struct error *error)
{
    auto_free char *plain = strndup(path, length_of_link(path));
    struct stat status;

    *chat = (struct chat){.directory = -1, .most_bytes = CHAT_MOST_BYTES, .mode = CHAT_MODE};
    if (!*path)
        return error_set(error, CHAT_DIRECTORY, "the name of the directory is empty");
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
    chat->has_list = fgetxattr(chat->directory, "system.posix_acl_default", NULL, 0) >= 0;
    return need_openat2(chat->directory, path, error);
}

void chat_close(const struct chat *chat)
{
    cleanup_close(&chat->directory);
}

/* ---- A file ---- */

/* Comes back when nobody is unlinking in the directory any more: its lock is taken, and nothing is done. */
static void wait_for_unlinks(int directory, const char *name)
{
    enum { SOME = 512 };
    char names[SOME];

    if (renameat2(directory, name, directory, name, RENAME_NOREPLACE) == 0 || errno == EEXIST ||
        errno == ENOENT)
        return;
    lseek(directory, 0, SEEK_SET); /* on a read-only mount, by reading */
    syscall(SYS_getdents64, directory, names, sizeof names);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_nlink == b->st_nlink &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * Whether the links of an open file were counted while the name was one of them. Of a file with another name outside, one link is left
 * when its name here is unlinked, and for a moment before that name is gone: vfs_unlink() in Linux. Each link and unlink changes the
 * ctime, before Linux 6.13 to a tick: so it is compared with what was there before and, when all unlinks are done, after.
 */
static bool is_counted(int directory, const char *name, const struct stat *before, const struct stat *status)
{
    struct stat after;

    if (!status->st_nlink || !is_same(before, status))
        return false;
    wait_for_unlinks(directory, name);
    return fstatat(directory, name, &after, AT_SYMLINK_NOFOLLOW) == 0 && is_same(status, &after);
}

/* Opening a device may do something, and a FIFO wakes its writer: neither is opened. */
static bool is_special(mode_t mode)
{
    return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

int open_counted(int directory, const char *name, bool may_be_mount, struct chat_file *file)
{
    enum { TRIES = 100 };
    uint64_t resolve = may_be_mount ? below : below | RESOLVE_NO_XDEV;
    struct stat before;

    for (int i = 0; i < TRIES; i++) {
        file->fd = -1;
        if (fstatat(directory, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
            return -1;
        errno = ENXIO;
        if (!is_special(before.st_mode))
            file->fd = open_resolved(directory, name, O_RDONLY, resolve);
        if (file->fd < 0)
            return -1;
        if (fstat(file->fd, &file->status) == 0 &&
            (!S_ISREG(file->status.st_mode) || is_counted(directory, name, &before, &file->status)))
            return 0;
        cleanup_close(&file->fd);
    }
    file->fd = -1;
    errno = ESTALE;
    return -1;
}

int check_regular(const struct stat *status, const char *shown, uint64_t most, struct error *error)
{
    if (!S_ISREG(status->st_mode))
        return say_kind(status->st_mode, shown, error);
    if (status->st_nlink > 1) {
        error_set(error, CHAT_HARD_LINK, "%s: it has %ju names, of which others may be outside", shown,
                  (uintmax_t)status->st_nlink);
        return error_hint(error, "let the code in the chat copy it and remove this name; do not copy it as "
                                 "root");
    }
    if ((uint64_t)status->st_size > most) {
        error_set(error, CHAT_TOO_LARGE, "%s: it has %jd bytes; a file may have %ju", shown,
                  (intmax_t)status->st_size, (uintmax_t)most);
        return error_hint(error, "split it, or compress it");
    }
    return 0;
}

int chat_open_file(const struct chat *chat, const char *name, struct chat_file *file, struct error *error)
{
    file->fd = -1;
    if (chat_check_name(name, error) < 0)
        return -1;
    if (open_counted(chat->directory, name, false, file) < 0)
        return say_errno(name, error);
    if (check_regular(&file->status, name, chat->most_bytes, error) == 0)
        return 0;
    cleanup_close(&file->fd);
    file->fd = -1;
    return -1;
}

/* ---- What may be replaced or removed ---- */

int check_replaceable(int directory, const char *name, const char *shown, struct error *error)
{
    struct stat status;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return say_errno(shown, error);
    if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))
        return 0;
    say_kind(status.st_mode, shown, error);
    return error_hint(error, "only a file or a link is replaced or removed: remove it as the directory's "
                             "owner, not as root");
}

int chat_remove(const struct chat *chat, const char *name, struct error *error)
{
    if (chat_check_name(name, error) < 0 || check_replaceable(chat->directory, name, name, error) < 0)
        return -1;
    return unlinkat(chat->directory, name, 0) < 0 ? say_errno(name, error) : 0;
}
