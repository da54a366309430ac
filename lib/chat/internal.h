/* Shared by the files of this library. */
#ifndef CHAT_INTERNAL_H
#define CHAT_INTERNAL_H

#include "chat/chat.h"

/* Opens `path` below `directory` without following or waiting for anything, and without leaving the mount. -1: errno. */
int open_beneath(int directory, const char *path, uint64_t flags);

/* How much of a path names what may be a link: without slashes and dots at its end, which would have it followed. */
size_t length_of_link(const char *path);

/* Opens a file or a folder of a directory; of a file, one link is in the status only if that is its name here. -1: errno, among them ENXIO for
 * what is neither and no link, ESTALE where it is replaced over and over.
 * `may_be_mount`: whatever is mounted there. */
int open_counted(int directory, const char *name, bool may_be_mount, struct chat_file *file);

/* Whether what was opened is such a file. 0, or -1 and `error`. */
int check_regular(const struct stat *status, const char *shown, uint64_t most, struct error *error);

/* Sets `error` for errno, as opening, replacing and removing fail. Returns -1. */
int say_errno(const char *shown, struct error *error);

/* Likewise, for what is no file. */
int say_kind(mode_t mode, const char *shown, struct error *error);

/* Likewise, where the names in the chat's directory cannot be read. */
int say_unreadable(struct error *error);

/* That a file, or the folder that it belongs in, is gone. */
int say_removed(const char *shown, struct error *error);

/* Whether what `name` is may be replaced or removed: a file or a link. 0; or -1 and `error`, CHAT_MISSING among others. */
int check_replaceable(int directory, const char *name, const char *shown, struct error *error);

/* The names in a directory, but for "." and "..", in the order of their bytes. */
struct names {
    char **items;
    size_t count, capacity;
};

/* Of those for which `wants` (NULL: all) is true. At most `most`; one more: errno EOVERFLOW. 0, or -1 with errno; `names` is to be
 * freed in both cases. */
int read_names(int directory, size_t most, bool (*wants)(const char *name, unsigned char type),
               struct names *names);
void free_names(struct names *names);
#define auto_names __attribute__((cleanup(free_names)))

/* ---- copy.c ---- */

/* A copy from where `in` stands to where `out` stands. What names them in messages: */
struct copy {
    int in, out;
    const char *in_shown, *out_shown;
    int in_code, out_code;          /* of errors; CHAT_SYSTEM: what errno means in a chat */
    bool is_between_files;          /* as is known */
    uint64_t before;                /* bytes of others that the watch is told, too */
    const struct chat_watch *watch; /* NULL: none */
};

/* Copies until the end of `in` or `most` bytes. 0, or -1 and `error`. */
int copy_bytes(const struct copy *copy, uint64_t most, uint64_t *copied, struct error *error);

/* Whether a descriptor has more to be read: 1, of which a byte is gone then; 0; -1: errno. */
int has_more(int fd);

/* ---- send.c ---- */

/* Copies the whole of a file, of which fstat(2) said `status`, and sees that it was not written to meanwhile. 0, or -1 and `error`. */
int copy_whole(const struct copy *copy, const struct stat *status, struct error *error);

/* ---- upload.c and folder.c ---- */

/* As chat_finish(), into a folder that is open. */
int finish_in(struct chat_upload *upload, int folder, const char *name, bool *is_replaced,
              struct error *error);

/* Opens the folder of a path's first `length` bytes, below the chat's directory, and makes what is missing. -1: `error`. */
int open_folder(const struct chat *chat, const char *path, size_t length, struct error *error);

#endif
