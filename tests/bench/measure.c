/* What the drivers share: commands, and rounds in which they take turns. */
#include "launch.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_A_PEER_ROUND = 20, WARM_UP = 2 };

/* ---- Commands ---- */

char *format(const char *pattern, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, pattern);
    if (vasprintf(&text, pattern, arguments) < 0)
        err(1, "memory");
    va_end(arguments);
    return text;
}

void push(struct command *command, char *argument)
{
    if (command->argument_count + 1 >= command->capacity) {
        command->capacity = command->capacity ? command->capacity * 2 : 8;
        command->arguments = realloc(command->arguments, command->capacity * sizeof *command->arguments);
        if (!command->arguments)
            err(1, "memory");
    }
    command->arguments[command->argument_count++] = argument;
    command->arguments[command->argument_count] = NULL;
}

void free_command(struct command *command)
{
    for (size_t i = 0; i < command->argument_count; i++)
        free(command->arguments[i]);
    free(command->arguments);
    free(command->times);
    *command = (struct command){0};
}

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* posix_spawn(3) shares the parent's memory until execution, as vfork(2) does: the cost is the command's. */
static pid_t start(const struct command *command, bool is_quiet)
{
    char *environment[] = {(char *)command->variable, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    for (int fd = STDOUT_FILENO; is_quiet && fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    if (command->input)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, command->input, O_RDONLY, 0);
    if (command->output)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, command->output,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    errno = posix_spawn(&child, command->arguments[0], &actions, NULL, command->arguments, environment);
    if (errno)
        err(1, "%s", command->arguments[0]);
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

double run_once(const struct command *command, bool is_quiet)
{
    double begin = microseconds();
    pid_t child = start(command, is_quiet);
    int status;

    if (child < 0 || waitpid(child, &status, 0) < 0)
        err(1, "%s", command->arguments[0]);
    return status == 0 ? microseconds() - begin : -1;
}

/* ---- Rounds ---- */

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void take_time(struct command *command, bool counts)
{
    double time;

    if (command->prepare)
        command->prepare(command);
    time = run_once(command, command->is_quiet);
    if (time < 0 && command->is_quiet)
        run_once(command, false); /* let it say why */
    if (time < 0)
        errx(1, "%s failed", command->name);
    if (counts)
        command->times[command->time_count++] = time;
}

void measure(struct command *commands, size_t count, size_t rounds)
{
    for (size_t i = 0; i < count; i++) {
        commands[i].times = calloc(rounds, sizeof *commands[i].times);
        if (!commands[i].times)
            err(1, "memory");
    }
    for (size_t round = 0; round < rounds + WARM_UP; round++)
        for (size_t turn = 0; turn < count; turn++) {
            size_t i = (turn + round) % count;

            if (!commands[i].is_peer || round % ROUNDS_A_PEER_ROUND <= WARM_UP)
                take_time(&commands[i], round >= WARM_UP);
        }
    for (size_t i = 0; i < count; i++) {
        qsort(commands[i].times, commands[i].time_count, sizeof *commands[i].times, compare_times);
        commands[i].median = commands[i].times[commands[i].time_count / 2];
    }
}

/* ---- Around them ---- */

char *real_path(const char *path)
{
    char *real = realpath(path, NULL);

    if (!real)
        err(1, "%s", path);
    return real;
}

void stay_on_one_processor(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}
