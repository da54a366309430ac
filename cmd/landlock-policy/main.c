/* landlock-policy: what a policy allows, why, and whether this machine would enforce it. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int act(const struct options *options, struct error *error)
{
    if (options->wants_version)
        return puts("landlock-policy " PROJECT_VERSION) < 0 ? FAILED : FINE;
    if (options->wants_help) {
        command_print_help(stdout, &landlock_policy_table, options->subcommand);
        return FINE;
    }
    switch (options->subcommand->bit) {
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
static int failure_of(const struct options *options, const struct error *error)
{
    return options->subcommand && options->subcommand->bit == TRACE ? launch_reason(error->code)->exit_status
                                                                    : FAILED;
}

static int say(const struct options *options, const struct error *error)
{
    text_write_line(STDERR_FILENO, "landlock-policy: ", error->message);
    if (error->hint[0])
        text_write_line(STDERR_FILENO, "landlock-policy: hint: ", error->hint);
    return failure_of(options, error);
}

/* An answer that nobody gets is none: what is closed is not made up for by /dev/null. */
static int need_output(struct error *error)
{
    if (fcntl(STDOUT_FILENO, F_GETFD) >= 0)
        return 0;
    return error_set(error, LAUNCH_SYSTEM, "standard output: %s", strerror(errno));
}

int main(int count, char **arguments, char **environment)
{
    struct error error = {0};
    struct options options;
    unsigned stand_ins;
    int status = need_output(&error) < 0 || launch_guard_streams(&stand_ins, &error) < 0 ? -1 : 0;

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
