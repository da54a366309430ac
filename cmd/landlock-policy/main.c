/* landlock-policy: what a policy allows, why, and whether this machine would enforce it. */
#include "command.h"

#include <errno.h>
#include <string.h>

static int act(const struct options *options, struct error *error)
{
    if (command_print_wanted(&landlock_policy_table, &options->line, PROJECT_VERSION))
        return FINE;
    switch (options->line.subcommand->bit) {
    case CHECK:
        return check(options, error);
    case SHOW:
        return show(options, error);
    case WHY:
        return why(options, error);
    case TEST:
        return test(options, error);
    case TRACE:
        return trace(options, error);
    case IMPORT:
        return import(options, error);
    case EXPORT:
        return export(options, error);
    default:
        return probe(options, error);
    }
}

/* A trace has the exit status of the program; what keeps it from running is told as landlock-exec tells it. */
static int say(const struct options *options, const struct error *error)
{
    const struct command_subcommand *subcommand = options->line.subcommand;

    command_say(&landlock_policy_table, error, NULL);
    return subcommand && subcommand->bit == TRACE ? launch_reason(error->code)->exit_status : FAILED;
}

int main(int count, char **arguments, char **environment)
{
    struct error error = {0};
    struct options options;
    unsigned stand_ins;
    int status =
        command_need_output(LAUNCH_SYSTEM, &error) < 0 || launch_guard_streams(&stand_ins, &error) < 0 ? -1
                                                                                                       : 0;

    if (status == 0)
        status = read_options(count, arguments, environment, &options, &error);
    else
        options = (struct options){0};
    if (status == 0)
        status = act(&options, &error);
    if (status < 0)
        status = say(&options, &error);
    if (flush_output() < 0) {
        error_set(&error, LAUNCH_SYSTEM, "standard output: %s", strerror(errno));
        status = say(&options, &error);
    }
    free_options(&options);
    return status;
}
