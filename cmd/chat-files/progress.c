#include "command.h"

#include <time.h>

enum { FIRST_MS = 1000, NEXT_MS = 200 };

static int64_t milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1024 * 1024);
}

static void tell(void *context, uint64_t bytes)
{
    struct progress *progress = context;
    int64_t now = milliseconds();

    if (now < progress->next)
        return;
    progress->next = now + NEXT_MS;
    progress->is_shown = true;
    fprintf(stderr, "\r%s: %.1f ", progress->what, mebibytes(bytes));
    if (progress->total)
        fprintf(stderr, "of %.1f ", mebibytes(progress->total));
    fputs("MiB\033[K", stderr);
}

void progress_start(struct progress *progress, const char *what, uint64_t total)
{
    *progress = (struct progress){.what = what, .total = total};
    if (!isatty(STDERR_FILENO))
        return;
    progress->watch = (struct chat_watch){tell, progress};
    progress->next = milliseconds() + FIRST_MS;
}

void progress_clear(struct progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
