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
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COMMANDS = 16, BARE = 0, FLOOR = 1, LAUNCHER = 2, MOST_BUILDS = 8 };
enum { MOST_RULES_OF_PEERS = 100, USER = 1000 };

struct settings {
    const char *rules;
    size_t rounds; /* 0: by the number of rules */
    bool without_peers;
    char *floor, *program;
    char *launchers[MOST_BUILDS]; /* NULL-terminated, the first is the one that is judged */
};

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

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
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
