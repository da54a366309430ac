/*
 * The files of a chat: the only code that opens anything in a chat's directory.
 *
 * The directory belongs to code that is hostile and may run at the same time: it can plant links, FIFOs, sockets, folders, files with
 * other links and huge ones, and change anything at any moment. What leads to the directory is the administrator's. So a name is one
 * component and never followed (openat2(2): RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_XDEV; Linux 5.6),
 * nothing is waited for when it is opened (O_NONBLOCK), and what was opened is looked at by its descriptor (fstat(2)).
 *
 * A new file is written without a name (open(2), O_TMPFILE), belongs to the directory's owner and is put in place whole by linkat(2) or
 * renameat2(2): readers see the old file or the new one. It is not forced to the disk: after a power failure a file may be what the
 * file system makes of that.
 *
 * Where this process is not the owner of the directory it must be root, or have CAP_CHOWN, CAP_FOWNER, CAP_DAC_OVERRIDE, CAP_SETUID and
 * CAP_SETGID. Its umask must be 0. Nothing here is kept between calls but in `struct chat`, which one thread may use at a time; any
 * number of processes and threads may each have one of the same directory.
 */
#ifndef CHAT_H
#define CHAT_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

enum {
    CHAT_MOST_BYTES = 100 * 1024 * 1024, /* of a file */
    CHAT_MOST_IMPORTED = 40,             /* files, where LLM_MAX_ATTACHMENT_FILES does not say */
    CHAT_MOST_LISTED = 100000,           /* files of a listing, and names that an import meets */
    CHAT_DEEPEST = 100,                  /* folders within each other that import goes down */
    CHAT_MODE = 0600
};

/* ---- Refusals: the codes of every error here ---- */

enum chat_refusal {
    CHAT_NAME = 1,
    CHAT_MISSING,
    CHAT_LINK,
    CHAT_SPECIAL,
    CHAT_FOLDER,
    CHAT_NOT_FOLDER,
    CHAT_HARD_LINK,
    CHAT_MOUNT,
    CHAT_TOO_LARGE,
    CHAT_CHANGED,
    CHAT_NO_SPACE,
    CHAT_PERMISSION,
    CHAT_BUSY,
    CHAT_LIMIT,
    CHAT_DEPTH,
    CHAT_ITSELF,
    CHAT_TOO_MANY,
    CHAT_DIRECTORY,
    CHAT_INPUT,
    CHAT_OUTPUT,
    CHAT_UNSUPPORTED,
    CHAT_SYSTEM,
    CHAT_USAGE /* for commands */
};

struct chat_refusal_row {
    int code;
    const char *name; /* stable: part of the answers in JSON */
    int exit_status;  /* 1: refused; 2: it could not be tried */
    const char *help;
};

extern const struct chat_refusal_row chat_refusal_table[];
extern const size_t chat_refusal_count;

/* The row of an error's code, which is one of the above. */
const struct chat_refusal_row *chat_refusal(int code);

/* ---- Names ---- */

/* Whether `name` is one of a file: 1 to 255 bytes of valid UTF-8 (RFC 3629) without "/" and control characters (C0, DEL, C1), and
 * neither "." nor "..". 0; or -1 and `error`: CHAT_NAME. */
int chat_check_name(const char *name, struct error *error);

/* Likewise a path: names with "/" between them, shorter than PATH_MAX. */
int chat_check_path(const char *path, struct error *error);

/* The value of LLM_MAX_ATTACHMENT_FILES, NULL where it is not set: a whole number from 1 up, in decimal digits. 0, or -1 and `error`:
 * CHAT_USAGE. */
int chat_read_limit(const char *text, size_t *limit, struct error *error);

/* ---- A chat ---- */

struct chat {
    int directory; /* closed by chat_close() */
    uid_t owner;
    gid_t group;
    dev_t device;
    ino_t inode;
    uint64_t most_bytes; /* of a file; CHAT_MOST_BYTES, unless it is changed behind chat_open() */
    mode_t mode;         /* of new files; likewise CHAT_MODE. Who can read them can search new folders */
    bool is_owner, has_list, is_swept, links_by_proc;
};

#define auto_chat __attribute__((cleanup(chat_close)))

/* Opens a directory; its last component is not followed. 0; or -1 and `error`: CHAT_DIRECTORY, CHAT_UNSUPPORTED. In both cases `chat` is
 * to be closed. */
int chat_open(struct chat *chat, const char *path, struct error *error);

void chat_close(const struct chat *chat);

/* Told from time to time how many bytes were copied so far. */
struct chat_watch {
    void (*tell)(void *context, uint64_t bytes);
    void *context;
};

/* ---- Files out ---- */

struct chat_file {
    int fd; /* open for reading, to be closed */
    struct stat status;
};

/*
 * Opens what `name` is: a regular file with one link, of at most chat->most_bytes. 0; or -1 and `error`: CHAT_NAME, CHAT_MISSING,
 * CHAT_LINK, CHAT_SPECIAL (a FIFO, socket or device), CHAT_FOLDER, CHAT_HARD_LINK, CHAT_MOUNT (another file is mounted there),
 * CHAT_TOO_LARGE, CHAT_PERMISSION, CHAT_BUSY (another process has a lease on it), CHAT_CHANGED (it was replaced over and over),
 * CHAT_SYSTEM; then file->fd is -1.
 */
int chat_open_file(const struct chat *chat, const char *name, struct chat_file *file, struct error *error);

/*
 * Writes the file to a descriptor: as many bytes as it had when it was opened. 0; or -1 and `error`: CHAT_CHANGED where it was written
 * to meanwhile, as its size and time tell (the time to a tick of the kernel before Linux 6.13, and not what goes through a mapping), CHAT_OUTPUT,
 * CHAT_INPUT, CHAT_SYSTEM. Part of the file may be written then. `watch`, of which the function may be NULL, is told.
 */
int chat_send(const struct chat_file *file, const char *name, int out, const struct chat_watch *watch,
              struct error *error);

struct chat_entry {
    char *name;
    uint64_t size;
    struct timespec time; /* when it was last written to */
};

struct chat_listing {
    struct chat_entry *entries; /* sorted by the bytes of their names */
    size_t count, capacity;
};

/* Lists what chat_open_file() would open; `listing` is to be freed in any case. 0; or -1 and `error`: CHAT_TOO_MANY (`most`),
 * CHAT_DIRECTORY, CHAT_SYSTEM. */
int chat_list(const struct chat *chat, size_t most, struct chat_listing *listing, struct error *error);
void chat_free_listing(struct chat_listing *listing);

/* ---- Files in ---- */

/* A file that is being written. A process that ends leaves nothing of it, or a file whose name is none (chat_check_name()), which the
 * next upload to that chat removes. */
struct chat_upload {
    struct chat *chat;
    const char *path; /* the caller's */
    int fd;
    uint64_t size;
    char temporary[32]; /* its name, where it has one; else "" */
};

#define auto_upload __attribute__((cleanup(chat_abandon)))

/* Begins to write chat/`path`. 0; or -1 and `error`: CHAT_NAME, CHAT_DIRECTORY, CHAT_NO_SPACE, CHAT_PERMISSION, CHAT_SYSTEM. In both cases it is to be
 * ended with chat_abandon(). */
int chat_begin(struct chat *chat, const char *path, struct chat_upload *upload, struct error *error);

/* Appends bytes. 0; or -1 and `error`: CHAT_TOO_LARGE, CHAT_NO_SPACE, CHAT_SYSTEM. */
int chat_append(struct chat_upload *upload, const char *bytes, size_t size, struct error *error);

/* Appends all that can be read from a descriptor. Likewise, and CHAT_INPUT where it cannot be read. */
int chat_receive(struct chat_upload *upload, int in, const struct chat_watch *watch, struct error *error);

/*
 * Puts the file in place, in folders that are made where they are missing, and tells whether it replaced a file or a link. 0; or -1
 * and `error`, with the old file as it was: CHAT_FOLDER, CHAT_SPECIAL, CHAT_MOUNT (what is there is not replaced); CHAT_LINK,
 * CHAT_NOT_FOLDER (what is there is no folder); CHAT_NO_SPACE, CHAT_PERMISSION, CHAT_CHANGED (the directory, or a folder, was removed
 * meanwhile), CHAT_BUSY, CHAT_SYSTEM.
 */
int chat_finish(struct chat_upload *upload, bool *is_replaced, struct error *error);

/* Releases an upload, finished or not. */
void chat_abandon(struct chat_upload *upload);

/* Removes a file or a link. 0; or -1 and `error`: CHAT_NAME, CHAT_MISSING, CHAT_FOLDER, CHAT_SPECIAL, CHAT_MOUNT, CHAT_PERMISSION,
 * CHAT_SYSTEM. */
int chat_remove(const struct chat *chat, const char *name, struct error *error);

/* ---- Files and folders of elsewhere ---- */

enum chat_outcome { CHAT_COPIED, CHAT_REPLACED, CHAT_SKIPPED };

/* "copied", "replaced", "skipped". */
const char *chat_outcome_name(enum chat_outcome outcome);

/* What became of a file. The texts are valid until tell() returns. */
struct chat_imported {
    enum chat_outcome outcome;
    const char *source;
    const char *path; /* in the chat; NULL where it has none */
    uint64_t size;
    const struct error *why; /* of what was skipped */
};

struct chat_import {
    size_t most;                                               /* files that are copied */
    void (*tell)(void *context, const struct chat_imported *); /* of each, in order */
    void *context;
    struct chat_watch watch; /* of the bytes of all files */
    size_t copied, replaced, skipped;
    bool is_complete; /* nothing was skipped but sources that are missing, links or special files */
};

/*
 * Copies files and folders in: a file under its name, what is in a folder under its path below it. In the order given, folders sorted
 * by the bytes of their names; of two with the same path the later stays. Sources are taken for as hostile as the chat: nothing in them is
 * followed or waited for, and they are not left into another mount; only what leads to a source is the caller's. What cannot be copied
 * is skipped, with any of the codes, CHAT_LIMIT, CHAT_DEPTH (a folder in CHAT_DEEPEST others), CHAT_TOO_MANY (a folder with more names than
 * may still be met) and CHAT_ITSELF (the chat's directory) among them. 0; or -1 and `error`: CHAT_SYSTEM, memory ran out before anything was done.
 */
int chat_import(struct chat *chat, char *const *sources, size_t count, struct chat_import *import,
                struct error *error);

#endif
