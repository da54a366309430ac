/*
 * How long it takes to start a program: bare, by the floor (floor.c), by landlock-exec and by other launchers that are there.
 *
 *     launch [-r RULES[,RULES...]] [-n ROUNDS] [-p] FLOOR PROGRAM LANDLOCK-EXEC [OTHER-BUILD...]
 *
 *     -r  how many rules; default 6,10,100,1000,10000
 *     -n  how many rounds; by default fewer for more rules
 *     -p  without the peers
 *     OTHER-BUILD: another landlock-exec, to see what a change gains
 *
 * All commands take turns in each round, every round beginning with another one, on one processor. `over bare` is the difference of
 * the medians; the figure is (time - bare) / (floor - bare). Root becomes user 1000 for it, where that user can reach the commands.
 */
#include "launch.h"
#include "bench.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_COMMANDS = 16, BARE = 0, FLOOR = 1, LAUNCHER = 2, MOST_BUILDS = 8 };
enum { MOST_RULES_OF_PEERS = 100, ROUNDS_A_PEER_ROUND = 20, WARM_UP = 2, USER = 1000 };

struct settings {
    const char *rules;
    size_t rounds; /* 0: by the number of rules */
    bool without_peers;
    char *floor, *program;
    char *launchers[MOST_BUILDS]; /* NULL-terminated, the first is the one that is judged */
};

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
    static char *no_environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;

    posix_spawn_file_actions_init(&actions);
    for (int fd = STDOUT_FILENO; is_quiet && fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    errno = posix_spawn(&child, command->arguments[0], &actions, NULL, command->arguments, no_environment);
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
    double time = run_once(command, false);

    if (time < 0)
        errx(1, "%s failed", command->name);
    if (counts)
        command->times[command->time_count++] = time;
}

static void measure(struct command *commands, size_t count, size_t rounds)
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

static void print_rows(const struct command *commands, size_t count, size_t rules)
{
    double bare = commands[BARE].median, floor = commands[FLOOR].median - bare;

    for (size_t i = 0; i < count; i++) {
        double over = commands[i].median - bare;
        char figure[16] = "-", peak[16] = "-";

        if (i != BARE)
            snprintf(figure, sizeof figure, "%.3f", over / floor);
        if (commands[i].peak)
            snprintf(peak, sizeof peak, "%ld", commands[i].peak);
        printf("%6zu  %-13s  %11.1f  %12.1f  %7s  %8s  %6zu\n", rules, commands[i].name, commands[i].median,
               over, figure, peak, commands[i].time_count);
    }
    fflush(stdout);
}

static size_t rounds_for(const struct settings *settings, size_t rules)
{
    if (settings->rounds)
        return settings->rounds;
    return rules <= 10 ? 2000 : rules <= 100 ? 1000 : rules <= 1000 ? 300 : 40;
}

static struct command launcher_command(const char *name, const char *launcher, const char *policy,
                                       const struct scene *scene)
{
    struct command command = {.name = name};

    push(&command, format("%s", launcher));
    push(&command, format("--policy"));
    push(&command, format("%s", policy));
    push(&command, format("--"));
    push(&command, format("%s", scene->program));
    return command;
}

static size_t own_commands(struct command *commands, const struct settings *settings, const char *policy,
                           const struct scene *scene)
{
    size_t count = LAUNCHER;

    push(&commands[BARE], format("%s", scene->program));
    push(&commands[FLOOR], format("%s", settings->floor));
    push(&commands[FLOOR], format("%s", scene->program));
    for (char *const *launcher = settings->launchers; *launcher; launcher++) {
        const char *name = count == LAUNCHER ? "landlock-exec" : strrchr(*launcher, '/') + 1;

        commands[count++] = launcher_command(name, *launcher, policy, scene);
    }
    return count;
}

static void bench(const struct settings *settings, struct scene *scene, size_t rules)
{
    struct command commands[MOST_COMMANDS] = {{.name = "bare"}, {.name = "floor"}};
    char *policy = make_scene(scene, rules);
    size_t own = own_commands(commands, settings, policy, scene), count = own;

    free(policy);
    if (!settings->without_peers && rules <= MOST_RULES_OF_PEERS)
        count = add_peers(commands, count, MOST_COMMANDS, scene);
    measure(commands, count, rounds_for(settings, rules));
    for (size_t i = FLOOR; i < own; i++)
        commands[i].peak = measure_peak(&commands[i]);
    print_rows(commands, count, rules);
    for (size_t i = 0; i < count; i++)
        free_command(&commands[i]);
    free_scene(scene);
}

/* ---- Around them ---- */

static bool can_reach(const struct settings *settings)
{
    return faccessat(AT_FDCWD, settings->floor, X_OK, AT_EACCESS) == 0 &&
           faccessat(AT_FDCWD, settings->program, X_OK, AT_EACCESS) == 0 && settings->launchers[0] &&
           faccessat(AT_FDCWD, settings->launchers[0], X_OK, AT_EACCESS) == 0;
}

/* Root has capabilities to drop, which the floor does not. */
static void become_ordinary(const struct settings *settings)
{
    if (geteuid() != 0)
        return;
    if (setegid(USER) < 0 || seteuid(USER) < 0)
        err(1, "becoming user %d", USER);
    if (can_reach(settings)) {
        if (seteuid(0) < 0 || setgroups(0, NULL) < 0 || setgid(USER) < 0 || setuid(USER) < 0)
            err(1, "becoming user %d", USER);
        return;
    }
    warnx("user %d cannot reach the executables: run as root, so landlock-exec has capabilities to drop",
          USER);
    if (seteuid(0) < 0 || setegid(0) < 0)
        err(1, "becoming root again");
}

static void stay_on_one_processor(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);

    if (!real)
        err(1, "%s", path);
    return real;
}

static struct settings read_settings(int count, char **arguments)
{
    struct settings settings = {.rules = "6,10,100,1000,10000"};
    int option;

    while ((option = getopt(count, arguments, "r:n:p")) != -1)
        switch (option) {
        case 'r':
            settings.rules = optarg;
            break;
        case 'n':
            settings.rounds = strtoul(optarg, NULL, 10);
            break;
        case 'p':
            settings.without_peers = true;
            break;
        default:
            exit(2);
        }
    if (count - optind < 3 || count - optind > 2 + MOST_BUILDS - 1)
        errx(2, "usage: launch [-r RULES[,RULES...]] [-n ROUNDS] [-p] FLOOR PROGRAM LANDLOCK-EXEC "
                "[OTHER-BUILD...]");
    settings.floor = real_path(arguments[optind]);
    settings.program = real_path(arguments[optind + 1]);
    for (int i = optind + 2; i < count; i++)
        settings.launchers[i - optind - 2] = real_path(arguments[i]);
    return settings;
}

static char folder[] = "/tmp/bench.XXXXXX";

static void remove_folder(void)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int count, char **arguments)
{
    struct settings settings = read_settings(count, arguments);
    struct scene scene = {.folder = folder, .program = settings.program};
    const char *rest = settings.rules;

    become_ordinary(&settings);
    stay_on_one_processor();
    if (!mkdtemp(folder))
        err(1, "%s", folder);
    atexit(remove_folder);
    printf("%6s  %-13s  %11s  %12s  %7s  %8s  %6s\n", "rules", "command", "median (us)", "over bare",
           "figure", "peak KiB", "rounds");
    while (*rest) {
        char *end;
        size_t rules = strtoul(rest, &end, 10);

        if (end == rest || !rules)
            errx(2, "-r %s: expected numbers of rules", settings.rules);
        bench(&settings, &scene, rules);
        rest = end + (*end == ',');
    }
    free(settings.floor);
    free(settings.program);
    for (char **launcher = settings.launchers; *launcher; launcher++)
        free(*launcher);
    return 0;
}
