/*
 * What watching costs: a program under landlock-exec, under `landlock-policy trace` and, where it is there, under strace.
 *
 *     trace [-n ROUNDS] LANDLOCK-EXEC LANDLOCK-POLICY PROGRAM [ARGUMENT...]
 *
 * The policy lets the program read all. The figure is the ratio to the first, of medians, taken in turns. Goal for importing pandas: less
 * than 3.
 */
#include "launch.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALONE, TRACED, STRACED, COMMANDS };

static char *make_policy(void)
{
    char *name = format("/var/tmp/landlock-policy-bench.XXXXXX");
    int fd = mkstemp(name);

    if (fd < 0 || dprintf(fd, "policy 1\nallow execute,read /\nallow read_file,write_file /dev/null\n") < 0 ||
        close(fd) < 0)
        err(1, "%s", name);
    return name;
}

static void push_program(struct command *command, char **program)
{
    for (; *program; program++)
        push(command, format("%s", *program));
}

static size_t make_commands(char **files, const char *policy, struct command *commands)
{
    char *strace = find_in_path("strace");

    commands[ALONE] = (struct command){.name = "landlock-exec", .is_quiet = true};
    push(&commands[ALONE], real_path(files[0]));
    push(&commands[ALONE], format("--policy=%s", policy));
    push(&commands[ALONE], format("--"));
    push_program(&commands[ALONE], files + 2);
    commands[TRACED] = (struct command){.name = "trace", .is_quiet = true};
    push(&commands[TRACED], real_path(files[1]));
    push(&commands[TRACED], format("trace"));
    push(&commands[TRACED], format("%s", policy));
    push(&commands[TRACED], format("--"));
    push_program(&commands[TRACED], files + 2);
    if (!strace)
        return STRACED;
    commands[STRACED] = (struct command){.name = "strace -f", .is_quiet = true};
    push(&commands[STRACED], strace);
    push(&commands[STRACED], format("-f"));
    for (size_t i = 0; i < commands[ALONE].argument_count; i++)
        push(&commands[STRACED], format("%s", commands[ALONE].arguments[i]));
    return COMMANDS;
}

static void print(const struct command *commands, size_t count, size_t rounds)
{
    printf("watching a program (medians of %zu rounds)\n%-16s %12s %8s\n", rounds, "command", "time (ms)",
           "ratio");
    for (size_t i = 0; i < count; i++)
        printf("%-16s %12.1f %8.2f\n", commands[i].name, commands[i].median / 1e3,
               commands[i].median / commands[ALONE].median);
}

int main(int count, char **arguments)
{
    size_t rounds = 15, commands_count;
    struct command commands[COMMANDS] = {0};
    char *policy;
    int option;

    while ((option = getopt(count, arguments, "+n:")) != -1) {
        rounds = option == 'n' ? strtoul(optarg, NULL, 10) : 0;
        if (!rounds)
            errx(2, "usage: trace [-n ROUNDS] LANDLOCK-EXEC LANDLOCK-POLICY PROGRAM [ARGUMENT...]");
    }
    if (count - optind < 3)
        errx(2, "usage: trace [-n ROUNDS] LANDLOCK-EXEC LANDLOCK-POLICY PROGRAM [ARGUMENT...]");
    policy = make_policy();
    commands_count = make_commands(arguments + optind, policy, commands);
    measure(commands, commands_count, rounds);
    print(commands, commands_count, rounds);
    for (size_t i = 0; i < commands_count; i++)
        free_command(&commands[i]);
    unlink(policy);
    free(policy);
    return 0;
}
