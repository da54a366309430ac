#include "chat/internal.h"

#include <errno.h>
#include <string.h>

int copy_whole(const struct copy *copy, const struct stat *status, struct error *error)
{
    uint64_t copied;
    int more, is_same;

    if (copy_bytes(copy, (uint64_t)status->st_size, &copied, error) < 0)
        return -1;
    more = status->st_size ? 0 : has_more(copy->in); /* as of a file of /proc */
    is_same = more < 0 ? -1 : is_as_before(copy->in, status);
    if (is_same < 0)
        return error_set(error, copy->in_code, "%s: %s", copy->in_shown, strerror(errno));
    if (is_same && !more && copied == (uint64_t)status->st_size)
        return 0;
    error_set(error, CHAT_CHANGED, "%s: it was written to while it was read", copy->in_shown);
    return error_hint(error, "what was read is not the whole file: try again when nothing writes to it");
}

int chat_send(const struct chat_file *file, const char *name, int out, const struct chat_watch *watch,
              struct error *error)
{
    struct copy copy = {.in = file->fd,
                        .out = out,
                        .in_shown = name,
                        .out_shown = "the output",
                        .in_code = CHAT_INPUT,
                        .out_code = CHAT_OUTPUT,
                        .watch = watch};

    return copy_whole(&copy, &file->status, error);
}
