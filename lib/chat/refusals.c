#include "chat/internal.h"

#include <errno.h>
#include <string.h>

const struct chat_refusal_row chat_refusal_table[] = {
    {CHAT_NAME, "name", 1,
     "it is no name of a file: 1 to 255 bytes of UTF-8, no slash, no control character, not '.' or '..'"},
    {CHAT_MISSING, "missing", 1, "there is no such file"},
    {CHAT_LINK, "link", 1, "a symbolic link, which is never followed"},
    {CHAT_SPECIAL, "special", 1, "a FIFO, a socket or a device"},
    {CHAT_FOLDER, "folder", 1, "a folder where a file was expected"},
    {CHAT_NOT_FOLDER, "not-folder", 1, "a file where a folder was expected"},
    {CHAT_HARD_LINK, "hard-link", 1, "the file has another name, too, which may be outside"},
    {CHAT_MOUNT, "mount", 1, "something is mounted there"},
    {CHAT_TOO_LARGE, "too-large", 1, "the file is larger than 100 MiB"},
    {CHAT_CHANGED, "changed", 1, "the file, or its folder, was written to, replaced or removed meanwhile"},
    {CHAT_NO_SPACE, "no-space", 1, "the file system, a quota or the limit on the size of files is full"},
    {CHAT_PERMISSION, "permission", 1, "file permissions, or a read-only mount"},
    {CHAT_BUSY, "busy", 1, "another process is using it"},
    {CHAT_LIMIT, "limit", 1, "over the limit of files that are imported at once"},
    {CHAT_DEPTH, "depth", 1, "a folder in more than a hundred others"},
    {CHAT_ITSELF, "itself", 1, "the chat's directory cannot be imported into itself"},
    {CHAT_TOO_MANY, "too-many", 1, "more files than are listed"},
    {CHAT_DIRECTORY, "directory", 2, "the chat's directory cannot be used"},
    {CHAT_INPUT, "input", 2, "what is to be stored cannot be read"},
    {CHAT_OUTPUT, "output", 2, "the answer or the file cannot be written to where it should go"},
    {CHAT_UNSUPPORTED, "unsupported", 2, "the kernel or a seccomp profile lacks openat2(2)"},
    {CHAT_SYSTEM, "system", 2, "the system failed, as the message says"},
    {CHAT_USAGE, "usage", 2, "the command line or the environment is wrong"},
};

const size_t chat_refusal_count = array_size(chat_refusal_table);

const struct chat_refusal_row *chat_refusal(int code)
{
    return &chat_refusal_table[code - 1];
}

_Static_assert(array_size(chat_refusal_table) == CHAT_USAGE, "a row for each code, in their order");

static const char special[] = "it is a FIFO, a socket or a device", folder[] = "it is a folder";

/* What errno means where a name is opened, replaced or removed. */
static const struct {
    int number, code;
    const char *what, *hint;
} meanings[] = {
    {ENOENT, CHAT_MISSING, "there is no such file", ""},
    {ELOOP, CHAT_LINK, "it is a symbolic link, or lies behind one", "links are never followed"},
    {EXDEV, CHAT_MOUNT, "another file system or file is mounted there, or it has been moved away", ""},
    {EBUSY, CHAT_MOUNT, "something is mounted there", "unmount it first"},
    {ENOTDIR, CHAT_NOT_FOLDER, "what should be a folder is a file", "remove or rename the file"},
    {EISDIR, CHAT_FOLDER, folder, ""},
    {ENXIO, CHAT_SPECIAL, special, ""},
    {ENODEV, CHAT_SPECIAL, special, ""},
    {EOVERFLOW, CHAT_TOO_MANY, "it has more names in it than are looked at",
     "name smaller folders, one after the other"},
    {ESTALE, CHAT_CHANGED, "it is replaced all the time", "try again when nothing runs in this chat"},
    {EACCES, CHAT_PERMISSION, "permission denied by file permissions",
     "it takes the directory's owner, with the permission (chmod u+rwX), or root"},
    {EPERM, CHAT_PERMISSION, "operation not permitted", "it takes the directory's owner, or root"},
    {EROFS, CHAT_PERMISSION, "it is on a read-only mount", "mount it for writing"},
    {ENOSPC, CHAT_NO_SPACE, "the file system is full", "remove files, or make it larger"},
    {EDQUOT, CHAT_NO_SPACE, "the quota is used up", "remove files, or raise the quota"},
    {EFBIG, CHAT_NO_SPACE, "it is larger than a file may be here",
     "see ulimit -f and the file system's limit"},
    {EAGAIN, CHAT_BUSY, "another process has a lease on it", "try again"},
    {ETXTBSY, CHAT_BUSY, "it is in use", "try again"},
    {ENAMETOOLONG, CHAT_NAME, "its name is too long for the file system", "give it a shorter name"},
    {EILSEQ, CHAT_NAME, "the file system has no such names", "give it another name"},
};

static const char *hint_for(int number, const char *hint)
{
    bool is_root_refused = geteuid() == 0 && (number == EPERM || number == EACCES);

    return is_root_refused ? "root may not: an attribute (lsattr), a seccomp profile or a security module is "
                             "in the way"
                           : hint;
}

int say_errno(const char *shown, struct error *error)
{
    int number = errno;

    for (size_t i = 0; i < array_size(meanings); i++)
        if (meanings[i].number == number) {
            const char *hint = hint_for(number, meanings[i].hint);

            error_set(error, meanings[i].code, "%s: %s", shown, meanings[i].what);
            return hint[0] ? error_hint(error, "%s", hint) : -1;
        }
    return error_set(error, CHAT_SYSTEM, "%s: %s", shown, strerror(number));
}

int say_kind(mode_t mode, const char *shown, struct error *error)
{
    bool is_folder = S_ISDIR(mode);

    return error_set(error, is_folder ? CHAT_FOLDER : CHAT_SPECIAL, "%s: %s", shown,
                     is_folder ? folder : special);
}

int say_unreadable(struct error *error)
{
    return error_set(error, errno == ENOMEM ? CHAT_SYSTEM : CHAT_DIRECTORY,
                     "the chat's directory cannot be read: %s", strerror(errno));
}

int say_removed(const char *shown, struct error *error)
{
    error_set(error, CHAT_CHANGED, "%s: it, or the folder that it belongs in, was removed meanwhile", shown);
    return error_hint(error, "try again when nothing runs in this chat");
}
