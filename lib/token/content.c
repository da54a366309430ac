#include "internal.h"

#include <errno.h>
#include <fcntl.h>

enum { LARGEST = 1 << 20 };

/* ---- What goes wrong ---- */

static int code_of(int failure)
{
    static const struct {
        int failure, code;
    } codes[] = {{EACCES, TOKEN_PERMISSION}, {EPERM, TOKEN_PERMISSION}, {EROFS, TOKEN_PERMISSION},
                 {ENOSPC, TOKEN_SPACE},      {EDQUOT, TOKEN_SPACE},     {EFBIG, TOKEN_SPACE},
                 {EWOULDBLOCK, TOKEN_BUSY},  {ELOOP, TOKEN_LINK},       {ENXIO, TOKEN_KIND}};

    for (size_t i = 0; i < array_size(codes); i++)
        if (codes[i].failure == failure)
            return codes[i].code;
    return TOKEN_SYSTEM;
}

int say_failure(const char *file, const char *what, struct error *error)
{
    int failure = errno;

    error_set(error, code_of(failure), "%s%s: %s", file, what, strerror(failure));
    if (failure == EACCES || failure == EPERM)
        return error_hint(error, "it takes the owner of the file, who may write to its directory, or root");
    if (error->code == TOKEN_SPACE)
        return error_hint(error, "the file is as it was; make space, and run it again");
    return -1;
}

static int say_changed(const char *file, struct error *error)
{
    error_set(error, TOKEN_BUSY, "%s: it was changed while it was read", file);
    return error_hint(error, "run it again");
}

/* ---- Opening ---- */

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int check_kind(const char *file, const struct stat *status, struct error *error)
{
    if (S_ISLNK(status->st_mode)) {
        error_set(error, TOKEN_LINK, "%s: it is a symbolic link", file);
        return error_hint(error, "name the file that it leads to");
    }
    if (!S_ISREG(status->st_mode)) {
        error_set(error, TOKEN_KIND, "%s: it is %s, not a regular file", file, kind_of(status->st_mode));
        return error_hint(error, "name the .env file beside docker-compose.yml");
    }
    if (status->st_size <= LARGEST)
        return 0;
    return error_set(error, TOKEN_SIZE, "%s: it has more than 1 MiB", file);
}

/* What is not a regular file is not even opened: of a device that may do something, of a FIFO it may take long. */
static int open_regular(const struct place *place, struct content *content, struct error *error)
{
    if (fstatat(place->directory, place->name, &content->status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : say_failure(place->file, "", error);
    if (check_kind(place->file, &content->status, error) < 0)
        return -1;
    content->fd =
        openat(place->directory, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (content->fd < 0 || fstat(content->fd, &content->status) < 0)
        return say_failure(place->file, "", error);
    return check_kind(place->file, &content->status, error);
}

/* ---- Reading ---- */

/* One byte more than there should be is asked for, to see that there is none. */
static int read_whole(const struct place *place, struct content *content, struct error *error)
{
    struct secret *text = &content->text;

    if (secret_reserve(text, (size_t)content->status.st_size + 1) < 0)
        return say_failure(place->file, "", error);
    while (text->size < text->capacity) {
        ssize_t got = read(content->fd, text->bytes + text->size, text->capacity - text->size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return say_failure(place->file, "", error);
        if (got == 0)
            break;
        text->size += (size_t)got;
    }
    return text->size + 1 == text->capacity ? 0 : say_changed(place->file, error);
}

static int parse(const struct place *place, struct content *content, struct error *error)
{
    struct environment_fault fault;

    if (environment_find(content->text.bytes, content->text.size, token_variable, &content->entry, &fault) ==
        0)
        return 0;
    if (!fault.what)
        return say_failure(place->file, "", error);
    error_set(error, TOKEN_SYNTAX, "%s:%zu: %s", place->file, fault.line, fault.what);
    return error_hint(error, "Docker Compose would not read the file: put the line right first");
}

int content_open(const struct place *place, struct content *content, struct error *error)
{
    *content = (struct content){.fd = -1};
    if (open_regular(place, content, error) < 0)
        return -1;
    if (content->fd < 0)
        return 0;
    return read_whole(place, content, error) < 0 || parse(place, content, error) < 0 ? -1 : 0;
}

void content_close(struct content *content)
{
    secret_wipe(&content->entry.value);
    secret_wipe(&content->text);
    cleanup_close(&content->fd);
}

bool content_is_current(const struct place *place, const struct content *content)
{
    struct stat status;
    bool is_there = fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) == 0;

    if (!is_there || content->fd < 0)
        return !is_there && content->fd < 0;
    return status.st_dev == content->status.st_dev && status.st_ino == content->status.st_ino &&
           is_as_before(content->fd, &content->status) == 1;
}

/* ---- Judging ---- */

int content_judge(const struct place *place, const struct content *content, struct error *error)
{
    const struct environment_entry *entry = &content->entry;
    auto_free char *where = text_of("%s:%zu: ", place->file, entry->last_line);

    if (!where)
        return say_failure(place->file, "", error);
    switch (entry->kind) {
    case ENVIRONMENT_LITERAL:
        return judge_value(where, entry->value.bytes, entry->value.size, place->file, error);
    case ENVIRONMENT_EXPANDED:
        error_set(error, TOKEN_EXPANDED,
                  "%s%s: it refers to another variable, so that it has no length of its own", where,
                  token_variable);
        return error_hint(error, "write the value itself, in single quotes if it has a dollar sign");
    case ENVIRONMENT_INHERITED:
        error_set(error, TOKEN_INHERITED, "%s%s: it stands there without a value", where, token_variable);
        return error_hint(error,
                          "write '=' and the value behind it, or remove the line and let "
                          "'service-token ensure %s' make a token",
                          place->file);
    default:
        return 0;
    }
}

void content_report(const struct content *content, struct token_report *report)
{
    const struct environment_entry *entry = &content->entry;

    report->was_file = content->fd >= 0;
    report->mode = report->mode_before = report->was_file ? content->status.st_mode & 07777 : 0;
    report->length = entry->kind == ENVIRONMENT_LITERAL ? entry->value.size : 0;
    report->times = entry->times;
    report->first_line = entry->first_line;
    report->last_line = entry->last_line;
}
