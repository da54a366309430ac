#include "chat/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

enum {
    PART = 4 * 1024 * 1024, /* bytes a call of the kernel's ways: progress is told between them */
    BUFFER_SIZE = 128 * 1024
};

/* The ways of the kernel, none of which needs memory of ours; the last one does, and tells what failed. */
typedef ssize_t move_part(int in, int out, size_t size);

static ssize_t move_range(int in, int out, size_t size)
{
    return copy_file_range(in, NULL, out, NULL, size, 0);
}

static ssize_t move_pipe(int in, int out, size_t size)
{
    return splice(in, NULL, out, NULL, size, SPLICE_F_MOVE);
}

/* Into a file alone: in a pipe or a socket the kernel would put the pages of the file itself, which whoever writes to it changes until
 * they are read. */
static move_part *way_for(const struct copy *copy)
{
    struct stat from, to;

    if (copy->is_between_files)
        return move_range;
    if (fstat(copy->in, &from) < 0 || fstat(copy->out, &to) < 0 || !S_ISREG(to.st_mode))
        return NULL;
    return S_ISREG(from.st_mode) ? move_range : S_ISFIFO(from.st_mode) ? move_pipe : NULL;
}

/* ---- A buffer of ours ---- */

/* Whether to try again: a descriptor that does not block was not ready. */
static bool is_to_be_tried_again(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};

    if (errno == EAGAIN)
        poll(&ready, 1, -1);
    return errno == EINTR || errno == EAGAIN;
}

static ssize_t read_some(int fd, char *bytes, size_t size)
{
    ssize_t count;

    do {
        errno = 0;
        count = read(fd, bytes, size);
    } while (count < 0 && is_to_be_tried_again(fd, POLLIN));
    return count;
}

static int write_some(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t count = write(fd, bytes, size);

        if (count < 0 && is_to_be_tried_again(fd, POLLOUT))
            continue;
        if (count <= 0)
            return -1;
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

/* What goes into a chat fails as an upload does. */
static int say_failure(const char *shown, int code, struct error *error)
{
    return code == CHAT_SYSTEM ? say_errno(shown, error)
                               : error_set(error, code, "%s: %s", shown, strerror(errno));
}

/* Moves up to `size` bytes. Returns how many; -1: `error`. */
static ssize_t move_by_hand(const struct copy *copy, char **buffer, size_t size, struct error *error)
{
    ssize_t count;

    if (!*buffer)
        *buffer = malloc(BUFFER_SIZE);
    if (!*buffer)
        return error_set(error, CHAT_SYSTEM, "%s: out of memory", copy->in_shown);
    count = read_some(copy->in, *buffer, size < BUFFER_SIZE ? size : BUFFER_SIZE);
    if (count < 0)
        return say_failure(copy->in_shown, copy->in_code, error);
    return write_some(copy->out, *buffer, (size_t)count) < 0
               ? say_failure(copy->out_shown, copy->out_code, error)
               : count;
}

/* ---- The copy ---- */

static void tell(const struct copy *copy, uint64_t copied)
{
    if (copy->watch && copy->watch->tell)
        copy->watch->tell(copy->watch->context, copy->before + copied);
}

int copy_bytes(const struct copy *copy, uint64_t most, uint64_t *copied, struct error *error)
{
    auto_free char *buffer = NULL;
    move_part *way = way_for(copy);

    *copied = 0;
    while (*copied < most) {
        size_t size = most - *copied < PART ? (size_t)(most - *copied) : PART;
        ssize_t count = way ? way(copy->in, copy->out, size) : 0;

        if (way && count < 0 && errno == EINTR)
            continue;
        if (way &&
            count <= 0) { /* the end, a way that these files do not have, or a failure: the other way tells */
            way = NULL;
            continue;
        }
        if (!way)
            count = move_by_hand(copy, &buffer, size, error);
        if (count <= 0)
            return (int)count;
        *copied += (uint64_t)count;
        tell(copy, *copied);
    }
    return 0;
}

int has_more(int fd)
{
    char byte;
    ssize_t count = read_some(fd, &byte, 1);

    return count < 0 ? -1 : count > 0;
}
