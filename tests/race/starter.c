/*
 * Starts a command over and over for some time, and tells what came of it:
 *
 *     starter SECONDS COMMAND [ARGUMENT...]
 *
 * The command has /dev/null as standard input and a descriptor 3. For each outcome that there was, however often:
 *
 *     COUNT STATUS LENGTH LENGTH LENGTH\n
 *
 * and so many bytes of its standard output, of its standard error and of what it wrote to descriptor 3. STATUS is that of waitpid(2), -1
 * where it did not end in time and was killed.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STREAMS = 3, MOST_BYTES = 8192, MOST_OUTCOMES = 4096, DEADLINE_S = 60, NOT_ENDED = -1 };

struct outcome {
    unsigned long count;
    int status;
    size_t lengths[STREAMS];
    char *bytes[STREAMS];
};

struct launch {
    int ends[STREAMS]; /* -1: at its end */
    struct outcome outcome;
    char bytes[STREAMS][MOST_BYTES];
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static pid_t start(char **command, int ends[STREAMS])
{
    static const int targets[STREAMS] = {STDOUT_FILENO, STDERR_FILENO, 3};
    int writing[STREAMS];
    pid_t child;

    for (int i = 0; i < STREAMS; i++) {
        int both[2];

        if (pipe2(both, O_CLOEXEC) < 0)
            err(1, "pipe");
        ends[i] = both[0];
        writing[i] = fcntl(both[1], F_DUPFD_CLOEXEC, 16); /* above the targets */
        close(both[1]);
    }
    child = fork();
    if (child < 0)
        err(1, "fork");
    if (child == 0) {
        for (int i = 0; i < STREAMS; i++)
            dup2(writing[i], targets[i]);
        execv(command[0], command);
        _exit(124);
    }
    for (int i = 0; i < STREAMS; i++)
        close(writing[i]);
    return child;
}

/* Takes what there is of one stream. */
static void take(struct launch *launch, int i)
{
    size_t *length = &launch->outcome.lengths[i];
    ssize_t count = read(launch->ends[i], launch->bytes[i] + *length, MOST_BYTES - *length);

    if (count < 0)
        err(1, "read");
    *length += (size_t)count;
    if (*length == MOST_BYTES)
        errx(1, "the command writes more than %d bytes: %.200s", MOST_BYTES, launch->bytes[i]);
    if (count == 0) {
        close(launch->ends[i]);
        launch->ends[i] = -1;
    }
}

static int is_reading(const struct launch *launch)
{
    return launch->ends[0] >= 0 || launch->ends[1] >= 0 || launch->ends[2] >= 0;
}

static void attend(struct launch *launch, pid_t child)
{
    double deadline = now() + DEADLINE_S;
    int is_late = 0;

    while (is_reading(launch)) {
        struct pollfd polled[STREAMS];

        for (int i = 0; i < STREAMS; i++)
            polled[i] = (struct pollfd){.fd = launch->ends[i], .events = POLLIN};
        poll(polled, STREAMS, 1000);
        for (int i = 0; i < STREAMS; i++)
            if (launch->ends[i] >= 0 && polled[i].revents)
                take(launch, i);
        if (!is_late && now() > deadline) {
            is_late = 1;
            kill(child, SIGKILL);
        }
    }
    if (waitpid(child, &launch->outcome.status, 0) < 0)
        err(1, "waitpid");
    if (is_late)
        launch->outcome.status = NOT_ENDED;
}

/* ---- Outcomes ---- */

static int is_same(const struct outcome *outcome, const struct launch *launch)
{
    if (outcome->status != launch->outcome.status)
        return 0;
    for (int i = 0; i < STREAMS; i++)
        if (outcome->lengths[i] != launch->outcome.lengths[i] ||
            memcmp(outcome->bytes[i], launch->bytes[i], outcome->lengths[i]) != 0)
            return 0;
    return 1;
}

static void note(struct outcome *outcomes, size_t *count, const struct launch *launch)
{
    struct outcome *outcome = outcomes;

    while (outcome < outcomes + *count && !is_same(outcome, launch))
        outcome++;
    if (outcome == outcomes + *count) {
        if (++*count == MOST_OUTCOMES)
            errx(1, "more than %d outcomes", MOST_OUTCOMES - 1);
        *outcome = launch->outcome;
        for (int i = 0; i < STREAMS; i++) {
            outcome->bytes[i] = malloc(MOST_BYTES);
            if (!outcome->bytes[i])
                err(1, "memory");
            memcpy(outcome->bytes[i], launch->bytes[i], outcome->lengths[i]);
        }
    }
    outcome->count++;
}

static void tell(const struct outcome *outcome)
{
    printf("%lu %d %zu %zu %zu\n", outcome->count, outcome->status, outcome->lengths[0], outcome->lengths[1],
           outcome->lengths[2]);
    for (int i = 0; i < STREAMS; i++)
        fwrite(outcome->bytes[i], 1, outcome->lengths[i], stdout);
}

int main(int count, char **arguments)
{
    struct outcome *outcomes = calloc(MOST_OUTCOMES, sizeof *outcomes);
    size_t outcome_count = 0;
    double end;

    if (count < 3 || !outcomes)
        errx(2, "starter SECONDS COMMAND [ARGUMENT...]");
    close(STDIN_FILENO);
    if (open("/dev/null", O_RDWR) != STDIN_FILENO)
        err(1, "/dev/null");
    end = now() + strtod(arguments[1], NULL);
    do {
        static struct launch launch;
        pid_t child;

        launch.outcome = (struct outcome){0};
        child = start(arguments + 2, launch.ends);
        attend(&launch, child);
        note(outcomes, &outcome_count, &launch);
    } while (now() < end);
    for (size_t i = 0; i < outcome_count; i++)
        tell(&outcomes[i]);
    return fflush(stdout) == 0 ? 0 : 1;
}
