#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

/* Of the files that are left by who is killed. */
static const char prefix[] = ".service-token-";

enum { PRIVATE = S_IRUSR | S_IWUSR };

/* ---- The directory ---- */

static int say_no_directory(const char *file, struct error *error)
{
    error_set(error, TOKEN_MISSING, "%s: there is no such directory", file);
    return error_hint(error, "make the directory first");
}

static int open_place(const char *file, struct place *place, struct error *error)
{
    *place = (struct place){.directory = -1, .file = file};
    if (!*file)
        return error_set(error, TOKEN_USAGE, "the name of the file is empty");
    place->directory = open_parent(file, &place->name);
    if (place->directory < 0 && (errno == ENOENT || errno == ENOTDIR))
        return say_no_directory(file, error);
    if (place->directory < 0)
        return say_failure(file, ": its directory", error);
    if (*place->name)
        return 0;
    return error_set(error, TOKEN_KIND, "%s: it names a directory, not a regular file", file);
}

/* Whoever is killed gives it up. */
static int lock(const struct place *place, struct error *error)
{
    enum { TRIES = 500 };
    const struct timespec pause = {.tv_nsec = 20L * 1000 * 1000};

    for (int i = 0; i < TRIES; i++) {
        if (flock(place->directory, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return say_failure(place->file, ": its directory cannot be locked", error);
        nanosleep(&pause, NULL);
    }
    error_set(error, TOKEN_BUSY, "%s: another holds the lock on its directory", place->file);
    return error_hint(error, "wait for the other service-token to end; fuser, given the directory, tells who "
                             "it is");
}

/* ---- The new file ---- */

/* Private first, then its owner's, and only then is anything in it. */
static int hand_over(const struct place *place, const struct content *content, int fd, struct error *error)
{
    struct stat status;

    if (fchmod(fd, PRIVATE) < 0 || fstat(fd, &status) < 0)
        return say_failure(place->file, "", error);
    if (content->fd < 0 ||
        (status.st_uid == content->status.st_uid && status.st_gid == content->status.st_gid) ||
        fchown(fd, content->status.st_uid, content->status.st_gid) == 0)
        return 0;
    return say_failure(place->file, ": its owner and group cannot be kept", error);
}

static int write_line(int fd, bool needs_newline)
{
    char line[128], digits[TOKEN_MADE + 1];
    int length, result;

    if (random_digits(digits, TOKEN_MADE) < 0)
        return -1;
    length = snprintf(line, sizeof line, "%s%s=%s\n", needs_newline ? "\n" : "", token_variable, digits);
    result = write_all(fd, line, (size_t)length);
    explicit_bzero(line, sizeof line);
    explicit_bzero(digits, sizeof digits);
    return result;
}

static int fill(const struct place *place, const struct content *content, int fd, struct error *error)
{
    const struct secret *text = &content->text;
    bool needs_newline = text->size && text->bytes[text->size - 1] != '\n';

    if (hand_over(place, content, fd, error) < 0)
        return -1;
    if (write_all(fd, text->bytes, text->size) < 0 || write_line(fd, needs_newline) < 0)
        return say_failure(place->file, "", error);
    if (content_is_current(place, content))
        return 0;
    error_set(error, TOKEN_BUSY, "%s: it was changed meanwhile", place->file);
    return error_hint(error, "run it again");
}

static int add(const struct place *place, const struct content *content, struct error *error)
{
    struct replacement replacement;

    if (replacement_open(&replacement, place->directory, prefix) < 0)
        return say_failure(place->file, ": no file can be made beside it", error);
    if (fill(place, content, replacement.fd, error) < 0) {
        replacement_drop(&replacement);
        return -1;
    }
    return replacement_place(&replacement, place->name) < 0 ? say_failure(place->file, "", error) : 0;
}

/* ---- Both ---- */

static int put_right(const struct place *place, const struct content *content, struct token_report *report,
                     struct error *error)
{
    if (!report->times) {
        if (add(place, content, error) < 0)
            return -1;
        report->was_added = true;
        report->length = TOKEN_MADE;
    } else if (report->mode != PRIVATE && fchmod(content->fd, PRIVATE) < 0) {
        return say_failure(place->file, ": its mode", error);
    }
    report->mode = PRIVATE;
    return 0;
}

static int ensure_in(const struct place *place, struct token_report *report, struct error *error)
{
    auto_content struct content content = {.fd = -1};

    if (lock(place, error) < 0)
        return -1;
    replacement_sweep(place->directory, prefix);
    if (content_open(place, &content, error) < 0)
        return -1;
    content_report(&content, report);
    if (content_judge(place, &content, error) < 0)
        return -1;
    return put_right(place, &content, report, error);
}

int token_ensure(const char *file, struct token_report *report, struct error *error)
{
    struct place place;
    int result;

    *report = (struct token_report){0};
    result = open_place(file, &place, error);
    if (result == 0)
        result = ensure_in(&place, report, error);
    cleanup_close(&place.directory);
    return result;
}
