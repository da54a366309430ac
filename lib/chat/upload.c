#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>

/* What an upload is called where it needs a name. A control character begins it, so that no file of a user's is called so. */
static const char temporary_prefix[] = "\001upload.";

enum { MOST_SWEPT = 10000 }; /* at once; the code in the chat can call anything so */

/* ---- What other uploads left ---- */

static bool is_temporary(const char *name, unsigned char type)
{
    (void)type;
    return !strncmp(name, temporary_prefix, sizeof temporary_prefix - 1);
}

/* An upload that goes on keeps its file locked, and one of root's may not be opened by the owner: what cannot be opened is removed only
 * where it is no file. A shared lock, since network file systems want a descriptor that can be written to for the other kind. */
static void remove_left(int directory, const char *name)
{
    auto_close int fd = open_beneath(directory, name, O_RDONLY);

    if (fd < 0 ? errno == ELOOP || errno == ENXIO || errno == ENODEV : flock(fd, LOCK_SH | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
}

static int sweep(struct chat *chat, struct error *error)
{
    auto_names struct names left = {0};

    if (chat->is_swept)
        return 0;
    if (read_names(chat->directory, MOST_SWEPT, is_temporary, &left) < 0 && errno != EOVERFLOW)
        return say_unreadable(error);
    for (size_t i = 0; i < left.count; i++)
        remove_left(chat->directory, left.items[i]);
    chat->is_swept = true;
    return 0;
}

/* ---- A file without a name, or with one of its own ---- */

static int choose_name(struct chat_upload *upload)
{
    enum { DIGITS = 16 };

    strcpy(upload->temporary, temporary_prefix);
    if (random_digits(upload->temporary + sizeof temporary_prefix - 1, DIGITS) == 0)
        return 0;
    upload->temporary[0] = '\0';
    return -1;
}

/* Between its making and its locking another upload may have taken it for one that was left. */
static bool lock_named(int fd)
{
    struct stat status;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &status) < 0)
        return false;
    errno = EAGAIN;
    return status.st_nlink;
}

static int open_named(struct chat_upload *upload)
{
    enum { TRIES = 100 };
    int failure = EAGAIN;

    for (int i = 0; i < TRIES; i++) {
        if (choose_name(upload) < 0)
            return -1;
        upload->fd = openat(upload->chat->directory, upload->temporary,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, upload->chat->mode);
        if (upload->fd < 0) {
            upload->temporary[0] = '\0';
            return -1;
        }
        if (lock_named(upload->fd))
            return 0;
        failure = errno;
        chat_abandon(upload);
    }
    errno = failure;
    return -1;
}

static bool is_removed(int directory)
{
    struct stat status;

    return fstat(directory, &status) == 0 && !status.st_nlink;
}

static int say_begin(const struct chat *chat, const char *path, struct error *error)
{
    int failure = errno;

    if (is_removed(chat->directory)) /* what creating fails with there is the file system's to choose */
        return error_set(error, CHAT_DIRECTORY, "%s: the chat's directory was removed", path);
    errno = failure;
    return say_errno(path, error);
}

int chat_begin(struct chat *chat, const char *path, struct chat_upload *upload, struct error *error)
{
    *upload = (struct chat_upload){.chat = chat, .path = path, .fd = -1};
    if (chat_check_path(path, error) < 0 || sweep(chat, error) < 0)
        return -1;
    upload->fd = openat(chat->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, chat->mode);
    if (upload->fd < 0 && errno == EOPNOTSUPP)
        open_named(upload);
    return upload->fd < 0 ? say_begin(chat, path, error) : 0;
}

void chat_abandon(struct chat_upload *upload)
{
    if (upload->temporary[0])
        unlinkat(upload->chat->directory, upload->temporary, 0);
    upload->temporary[0] = '\0';
    cleanup_close(&upload->fd);
    upload->fd = -1;
}

/* ---- Its content ---- */

static int say_too_large(const struct chat_upload *upload, struct error *error)
{
    error_set(error, CHAT_TOO_LARGE, "%s: it has more than %ju bytes, which is what a file may have",
              upload->path, (uintmax_t)upload->chat->most_bytes);
    return error_hint(error, "split it, or compress it");
}

int chat_append(struct chat_upload *upload, const char *bytes, size_t size, struct error *error)
{
    if (size > upload->chat->most_bytes - upload->size)
        return say_too_large(upload, error);
    if (write_all(upload->fd, bytes, size) < 0)
        return say_errno(upload->path, error);
    upload->size += size;
    return 0;
}

int chat_receive(struct chat_upload *upload, int in, const struct chat_watch *watch, struct error *error)
{
    const struct copy copy = {.in = in,
                              .out = upload->fd,
                              .in_shown = "the input",
                              .out_shown = upload->path,
                              .in_code = CHAT_INPUT,
                              .out_code = CHAT_SYSTEM,
                              .before = upload->size,
                              .watch = watch};
    uint64_t left = upload->chat->most_bytes - upload->size, copied;
    int more;

    if (copy_bytes(&copy, left, &copied, error) < 0)
        return -1;
    upload->size += copied;
    more = copied == left ? has_more(in) : 0;
    if (more < 0)
        return error_set(error, CHAT_INPUT, "the input: %s", strerror(errno));
    return more ? say_too_large(upload, error) : 0;
}

/* ---- In place ---- */

/* Network file systems tell that there was no space when a descriptor is closed. */
static int flush(int fd)
{
    int copy = dup(fd);

    return copy < 0 ? -1 : close(copy);
}

static int give_away(const struct chat_upload *upload, struct error *error)
{
    const struct chat *chat = upload->chat;

    if (chat->is_owner || fchown(upload->fd, chat->owner, chat->group) == 0)
        return 0;
    if (errno != EPERM)
        return say_errno(upload->path, error);
    error_set(error, CHAT_PERMISSION, "%s: it cannot be given to the directory's owner, UID %ju",
              upload->path, (uintmax_t)chat->owner);
    return error_hint(error, "run it as UID %ju, or as root", (uintmax_t)chat->owner);
}

/* The owner of the directory may have set an access control list that new files begin with (acl(5)): the mode alone counts. */
static int set_mode(const struct chat_upload *upload, struct error *error)
{
    bool has_no_list = fremovexattr(upload->fd, "system.posix_acl_access") == 0 || errno == ENODATA;

    return has_no_list && fchmod(upload->fd, upload->chat->mode) == 0 ? 0 : say_errno(upload->path, error);
}

static int settle(const struct chat_upload *upload, struct error *error)
{
    if (flush(upload->fd) < 0)
        return say_errno(upload->path, error);
    if (give_away(upload, error) < 0)
        return -1;
    return upload->chat->has_list ? set_mode(upload, error) : 0;
}

/* Gives a file that has no name one (open(2), O_TMPFILE): by its descriptor, which takes CAP_DAC_READ_SEARCH before Linux 6.10, or by
 * /proc. */
static int link_unnamed(const struct chat_upload *upload, int folder, const char *name)
{
    char path[64];
    int result;

    if (!upload->chat->links_by_proc) {
        result = linkat(upload->fd, "", folder, name, AT_EMPTY_PATH);
        if (result == 0 || errno != ENOENT)
            return result;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", upload->fd);
    result = linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
    upload->chat->links_by_proc |= result == 0;
    return result;
}

/* Why it did not come to `folder`. */
static int say_place(const struct chat_upload *upload, int folder, struct error *error)
{
    if (errno != ENOENT)
        return say_errno(upload->path, error);
    if (upload->temporary[0] || is_removed(folder) || access("/proc/self/fd", X_OK) == 0)
        return say_removed(upload->path, error);
    error_set(error, CHAT_SYSTEM, "%s: /proc is not mounted", upload->path);
    return error_hint(error, "mount it: a new file gets its name by /proc/self/fd");
}

/* Where there is nothing of that name. 1: there is something; -1: `error`. */
static int put_new(struct chat_upload *upload, int folder, const char *name, struct error *error)
{
    int result = upload->temporary[0]
                     ? renameat2(upload->chat->directory, upload->temporary, folder, name, RENAME_NOREPLACE)
                     : link_unnamed(upload, folder, name);

    if (result == 0)
        upload->temporary[0] = '\0';
    else if (errno == EEXIST ||
             (upload->temporary[0] && errno == EINVAL)) /* file systems without RENAME_NOREPLACE */
        return 1;
    return result < 0 ? say_place(upload, folder, error) : 0;
}

static int give_name(struct chat_upload *upload, struct error *error)
{
    if (upload->temporary[0])
        return 0;
    if (choose_name(upload) == 0 && flock(upload->fd, LOCK_EX | LOCK_NB) == 0 &&
        link_unnamed(upload, upload->chat->directory, upload->temporary) == 0)
        return 0;
    upload->temporary[0] = '\0';
    return say_place(upload, upload->chat->directory, error);
}

/* Something that may not be replaced came there only just now: all is made as it was again. Where the code in the chat has taken away
 * what was put there, there is nothing to change places with; where it has put a folder there, too, one of both keeps the other name. */
static int put_back(struct chat_upload *upload, int folder, const char *name, mode_t mode,
                    struct error *error)
{
    enum { TRIES = 100 };
    int top = upload->chat->directory;

    for (int i = 0; i < TRIES; i++) {
        if (renameat2(top, upload->temporary, folder, name, RENAME_EXCHANGE) == 0)
            return say_kind(mode, upload->path, error);
        if (errno == ENOENT && renameat2(top, upload->temporary, folder, name, RENAME_NOREPLACE) == 0)
            break;
    }
    upload->temporary[0] = '\0';
    return say_removed(upload->path, error);
}

/* What was replaced is now called as the upload was. */
static int put_away(struct chat_upload *upload, int folder, const char *name, struct error *error)
{
    int top = upload->chat->directory;
    struct stat old;

    if (fstatat(top, upload->temporary, &old, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(old.st_mode) &&
        !S_ISLNK(old.st_mode))
        return put_back(upload, folder, name, old.st_mode, error);
    unlinkat(top, upload->temporary, 0);
    upload->temporary[0] = '\0';
    /* As file systems do when a file takes another's place, lest both are lost with the power: only sooner, while the old one is still
     * there, that takes twice as long on ext4. */
    sync_file_range(upload->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

/* Where files cannot change places, or there is none any more. Where both are names of the same file already, rename(2) does nothing. */
static int rename_over(struct chat_upload *upload, int folder, const char *name, struct error *error)
{
    int top = upload->chat->directory;

    if (renameat(top, upload->temporary, folder, name) < 0)
        return say_place(upload, folder, error);
    unlinkat(top, upload->temporary, 0);
    upload->temporary[0] = '\0';
    return 0;
}

static int replace(struct chat_upload *upload, int folder, const char *name, bool *is_replaced,
                   struct error *error)
{
    error->code = 0;
    *is_replaced = check_replaceable(folder, name, upload->path, error) == 0;
    if ((error->code && error->code != CHAT_MISSING) || give_name(upload, error) < 0)
        return -1;
    if (renameat2(upload->chat->directory, upload->temporary, folder, name, RENAME_EXCHANGE) == 0)
        return put_away(upload, folder, name, error);
    return errno == EINVAL || errno == ENOENT ? rename_over(upload, folder, name, error)
                                              : say_place(upload, folder, error);
}

int finish_in(struct chat_upload *upload, int folder, const char *name, bool *is_replaced,
              struct error *error)
{
    int is_there;

    *is_replaced = false;
    if (settle(upload, error) < 0)
        return -1;
    is_there = put_new(upload, folder, name, error);
    return is_there > 0 ? replace(upload, folder, name, is_replaced, error) : is_there;
}

int chat_finish(struct chat_upload *upload, bool *is_replaced, struct error *error)
{
    const char *slash = strrchr(upload->path, '/');
    auto_close int folder = -1;

    if (!slash)
        return finish_in(upload, upload->chat->directory, upload->path, is_replaced, error);
    folder = open_folder(upload->chat, upload->path, (size_t)(slash - upload->path), error);
    return folder < 0 ? -1 : finish_in(upload, folder, slash + 1, is_replaced, error);
}
