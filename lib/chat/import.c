#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A folder of a source on its way into the chat. */
struct folder {
    int source;
    int target;    /* -1: not opened yet */
    size_t length; /* of its path in walk->path; 0: the chat's directory itself */
    unsigned depth;
};

struct walk {
    struct chat *chat;
    struct chat_import *import;
    char source[3 * PATH_MAX]; /* where the walk is, as it is shown */
    char path[2 * PATH_MAX];   /* and where that comes to be in the chat */
    uint64_t bytes;            /* of the files that were copied */
    size_t left;               /* so many names may still be met */
    struct error why;          /* what is skipped now */
};

/* ---- The report ---- */

const char *chat_outcome_name(enum chat_outcome outcome)
{
    static const char *const names[] = {
        [CHAT_COPIED] = "copied", [CHAT_REPLACED] = "replaced", [CHAT_SKIPPED] = "skipped"};

    return names[outcome];
}

static void report(const struct walk *walk, enum chat_outcome outcome, uint64_t size, const struct error *why)
{
    struct chat_import *import = walk->import;
    const struct chat_imported imported = {outcome, walk->source, walk->path[0] ? walk->path : NULL, size,
                                           why};

    import->copied += outcome == CHAT_COPIED;
    import->replaced += outcome == CHAT_REPLACED;
    import->skipped += outcome == CHAT_SKIPPED;
    import->tell(import->context, &imported);
}

/* For what is in walk->why. */
static void skip(const struct walk *walk)
{
    int code = walk->why.code;

    walk->import->is_complete &= code == CHAT_MISSING || code == CHAT_LINK || code == CHAT_SPECIAL;
    report(walk, CHAT_SKIPPED, 0, &walk->why);
}

static void skip_for_errno(struct walk *walk)
{
    say_errno(walk->source, &walk->why);
    skip(walk);
}

/* ---- A file ---- */

static int open_target(struct walk *walk, struct folder *folder)
{
    if (!folder->length)
        return walk->chat->directory;
    if (folder->target < 0)
        folder->target = open_folder(walk->chat, walk->path, folder->length, &walk->why);
    return folder->target;
}

/* The code in the chat may remove the folder: it is made once more then. */
static int put_in_place(struct walk *walk, struct folder *folder, struct chat_upload *upload,
                        bool *is_replaced)
{
    const char *name = walk->path + (folder->length ? folder->length + 1 : 0);

    for (int i = 0;; i++) {
        int target = open_target(walk, folder);

        if (target >= 0 && finish_in(upload, target, name, is_replaced, &walk->why) == 0)
            return 0;
        if (walk->why.code != CHAT_CHANGED || !folder->length || i)
            return -1;
        cleanup_close(&folder->target);
        folder->target = -1;
    }
}

static int copy_into(struct walk *walk, struct folder *folder, const struct chat_file *file,
                     bool *is_replaced)
{
    auto_upload struct chat_upload upload = {.fd = -1};
    struct copy copy = {.in = file->fd,
                        .in_shown = walk->source,
                        .out_shown = walk->path,
                        .in_code = CHAT_INPUT,
                        .out_code = CHAT_SYSTEM,
                        .is_between_files = true,
                        .before = walk->bytes,
                        .watch = &walk->import->watch};

    if (chat_begin(walk->chat, walk->path, &upload, &walk->why) < 0)
        return -1;
    copy.out = upload.fd;
    if (copy_whole(&copy, &file->status, &walk->why) < 0)
        return -1;
    return put_in_place(walk, folder, &upload, is_replaced);
}

static int check_limit(struct walk *walk)
{
    const struct chat_import *import = walk->import;

    if (import->copied + import->replaced < import->most)
        return 0;
    return error_set(&walk->why, CHAT_LIMIT, "%s: over the limit of %zu file%s (LLM_MAX_ATTACHMENT_FILES)",
                     walk->source, import->most, import->most == 1 ? "" : "s");
}

static void import_file(struct walk *walk, struct folder *folder, const struct chat_file *file)
{
    uint64_t size = (uint64_t)file->status.st_size;
    bool is_replaced = false;

    if (check_regular(&file->status, walk->source, walk->chat->most_bytes, &walk->why) < 0 ||
        check_limit(walk) < 0) {
        skip(walk);
        return;
    }
    if (copy_into(walk, folder, file, &is_replaced) < 0) {
        walk->import->is_complete = false; /* a link or a FIFO in the chat is no such source */
        skip(walk);
        return;
    }
    walk->bytes += size;
    report(walk, is_replaced ? CHAT_REPLACED : CHAT_COPIED, size, NULL);
}

/* ---- A folder ---- */

static void import_folder(struct walk *walk, struct folder *folder);

static int check_folder(struct walk *walk, unsigned depth, const struct stat *status)
{
    if (status->st_dev == walk->chat->device && status->st_ino == walk->chat->inode)
        return error_set(&walk->why, CHAT_ITSELF, "%s: it is the chat's directory", walk->source);
    if (depth > CHAT_DEEPEST)
        return error_set(&walk->why, CHAT_DEPTH, "%s: %d folders are within each other already", walk->source,
                         CHAT_DEEPEST);
    return 0;
}

/* What is open: a file or a folder. */
static void import_opened(struct walk *walk, struct folder *parent, const struct chat_file *file)
{
    struct folder folder = {
        .source = file->fd, .target = -1, .length = strlen(walk->path), .depth = parent->depth + 1};

    if (!S_ISDIR(file->status.st_mode)) {
        import_file(walk, parent, file);
    } else if (check_folder(walk, folder.depth, &file->status) < 0) {
        skip(walk);
    } else {
        import_folder(walk, &folder);
        cleanup_close(&folder.target);
    }
}

static void import_name(struct walk *walk, struct folder *folder, const char *name)
{
    struct chat_file file = {.fd = -1};

    if (chat_check_path(walk->path, &walk->why) < 0) {
        skip(walk);
        return;
    }
    if (open_counted(folder->source, name, false, &file) < 0)
        skip_for_errno(walk);
    else
        import_opened(walk, folder, &file);
    cleanup_close(&file.fd);
}

/* Returns the length before. A name that does not fit makes a path that is too long, which is seen. */
static size_t append(char *text, size_t size, const char *name)
{
    size_t length = strlen(text);

    snprintf(text + length, size - length, "%s%s", length && text[length - 1] != '/' ? "/" : "", name);
    return length;
}

static void import_folder(struct walk *walk, struct folder *folder)
{
    auto_names struct names names = {0};

    if (read_names(folder->source, walk->left, NULL, &names) < 0) {
        skip_for_errno(walk);
        return;
    }
    walk->left -= names.count;
    for (size_t i = 0; i < names.count; i++) {
        size_t source = append(walk->source, sizeof walk->source, names.items[i]);
        size_t path = append(walk->path, sizeof walk->path, names.items[i]);

        import_name(walk, folder, names.items[i]);
        walk->source[source] = '\0';
        walk->path[path] = '\0';
    }
}

/* ---- A source ---- */

static const char *name_in_source(const char *source)
{
    const char *slash = strrchr(source, '/');

    return slash ? slash + 1 : source;
}

/* A folder by whatever name; a file by its name in the folder that it is in. */
static int open_source(const char *source, struct chat_file *file)
{
    const char *name = name_in_source(source);
    auto_free char *folder = text_of("%.*s.", (int)(name - source), source);
    auto_close int parent = folder ? openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

    file->fd = -1;
    if (parent < 0)
        return -1;
    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
        return open_counted(parent, name, true, file);
    file->fd = openat(AT_FDCWD, source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return file->fd < 0 ? -1 : fstat(file->fd, &file->status);
}

static void import_source(struct walk *walk, const char *source)
{
    struct folder top = {.source = -1, .target = -1};
    struct chat_file file = {.fd = -1};
    size_t length = length_of_link(source);

    snprintf(walk->source, PATH_MAX, "%.*s", length < PATH_MAX ? (int)length : PATH_MAX, source);
    walk->path[0] = '\0';
    if (length >= PATH_MAX || !length) {
        error_set(&walk->why, CHAT_NAME, "%s: a source's name is empty, or too long", walk->source);
        skip(walk);
    } else if (open_source(walk->source, &file) < 0) {
        skip_for_errno(walk);
    } else {
        if (!S_ISDIR(file.status.st_mode))
            strcpy(walk->path, name_in_source(walk->source));
        if (walk->path[0] && chat_check_name(walk->path, &walk->why) < 0)
            skip(walk);
        else
            import_opened(walk, &top, &file);
    }
    cleanup_close(&file.fd);
}

int chat_import(struct chat *chat, char *const *sources, size_t count, struct chat_import *import,
                struct error *error)
{
    struct walk *walk = malloc(sizeof *walk);

    if (!walk)
        return error_set(error, CHAT_SYSTEM, "importing files: out of memory");
    walk->chat = chat;
    walk->import = import;
    walk->bytes = 0;
    walk->left = CHAT_MOST_LISTED;
    import->copied = import->replaced = import->skipped = 0;
    import->is_complete = true;
    for (size_t i = 0; i < count; i++)
        import_source(walk, sources[i]);
    free(walk);
    return 0;
}
