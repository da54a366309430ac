#include "tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MOST = 1024 * 1024 }; /* bytes that a pipe holds, unprivileged (pipe(7), pipe-max-size) */

static int say_input(struct error *error)
{
    if (errno != EFBIG)
        return error_set(error, LAUNCH_SYSTEM, "standard input: %s", strerror(errno));
    error_set(error, LAUNCH_USAGE,
              "--runs: standard input is no file, and of more than a MiB: it can be read only once");
    return error_hint(error, "give it as a file (< FILE), or none (< /dev/null)");
}

/* What comes from a pipe or a socket is read to its end, to be given to each run by a pipe. */
int take_input(struct input *input, unsigned runs, struct error *error)
{
    struct stat status;

    if (runs == 1 || fstat(STDIN_FILENO, &status) < 0 || S_ISCHR(status.st_mode))
        return 0;
    input->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    input->is_file = input->start >= 0;
    if (!input->is_file)
        input->bytes = read_bytes(STDIN_FILENO, MOST, &input->size);
    return input->is_file || input->bytes ? 0 : say_input(error);
}

static int give_by_pipe(const struct input *input)
{
    enum { DEFAULT_CAPACITY = 65536 };
    auto_close int inner = -1, outer = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    inner = ends[0];
    outer = ends[1];
    if (input->size > DEFAULT_CAPACITY && fcntl(outer, F_SETPIPE_SZ, (int)input->size) < 0)
        return -1;
    return write_all(outer, input->bytes, input->size) < 0 || dup2(inner, STDIN_FILENO) < 0 ? -1 : 0;
}

int give_input(const struct input *input, struct error *error)
{
    int result = 0;

    if (input->is_file)
        result = lseek(STDIN_FILENO, input->start, SEEK_SET) < 0 ? -1 : 0;
    else if (input->bytes)
        result = give_by_pipe(input);
    return result < 0 ? say_input(error) : 0;
}

void free_input(const struct input *input)
{
    free(input->bytes);
}
