#include "command.h"

enum { FIRST_MS = 1000, NEXT_MS = 200, MS = 1000000, MS_A_SECOND = 1000 };

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void wait_for(struct progress *progress, struct timespec now, long milliseconds)
{
    now.tv_nsec += milliseconds % MS_A_SECOND * MS;
    now.tv_sec += milliseconds / MS_A_SECOND + now.tv_nsec / (MS_A_SECOND * MS);
    now.tv_nsec %= MS_A_SECOND * MS;
    progress->next = now;
}

static double mebibytes(uint64_t bytes)
{
    return (double)bytes / (1024 * 1024);
}

static void tell(void *context, uint64_t bytes)
{
    struct progress *progress = context;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (is_before(&now, &progress->next))
        return;
    wait_for(progress, now, NEXT_MS);
    progress->is_shown = true;
    if (progress->total)
        fprintf(stderr, "\r%s: %.1f of %.1f MiB\033[K", progress->what, mebibytes(bytes),
                mebibytes(progress->total));
    else
        fprintf(stderr, "\r%s: %.1f MiB\033[K", progress->what, mebibytes(bytes));
}

void progress_start(struct progress *progress, const char *what, uint64_t total)
{
    struct timespec now;

    *progress = (struct progress){.what = what, .total = total};
    if (!isatty(STDERR_FILENO))
        return;
    progress->watch = (struct chat_watch){tell, progress};
    clock_gettime(CLOCK_MONOTONIC, &now);
    wait_for(progress, now, FIRST_MS);
}

void progress_clear(struct progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
