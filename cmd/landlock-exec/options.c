#include "command.h"
#include "table.h"

static int usage(struct error *error, const char *shown, const char *what)
{
    return command_usage(&landlock_exec_table, LAUNCH_USAGE, shown, what, error);
}

static int read_definition(struct options *options, const char *shown, char *argument, struct error *error)
{
    struct policy_definition *definitions = (struct policy_definition *)options->request.definitions;
    struct policy_definition *definition = &definitions[options->request.definition_count];

    if (command_definition(argument, &definition->name, &definition->value) < 0)
        return usage(error, shown, "expected NAME=VALUE");
    options->request.definition_count++;
    return 0;
}

static int read_descriptor(struct options *options, int id, const char *shown, const char *argument,
                           struct error *error)
{
    long number;

    if (command_number(argument, 0, INT_MAX, &number) < 0)
        return usage(error, shown, "expected the number of a descriptor");
    if (id == EXEC_STATUS_FD && number < STDERR_FILENO)
        return usage(error, shown, "expected 2 or a number above it: 0 and 1 belong to the program");
    if (id == EXEC_STATUS_FD)
        options->request.status_fd = (int)number;
    else
        ((int *)options->request.pass_fds)[options->request.pass_fd_count++] = (int)number;
    return 0;
}

static int read_max_abi(struct options *options, const char *shown, const char *argument, struct error *error)
{
    long number;

    if (command_number(argument, 1, POLICY_NEWEST_ABI, &number) < 0)
        return usage(error, shown, "expected a Landlock ABI that this build knows, 1 to 11");
    options->request.max_abi = (unsigned)number;
    return 0;
}

static int take_option(void *context, int id, const char *shown, char *argument, struct error *error)
{
    struct options *options = context;

    switch (id) {
    case EXEC_POLICY:
        options->request.policy_file = argument;
        return argument[0] ? 0 : usage(error, shown, "expected the name of a file");
    case EXEC_DEFINE:
        return read_definition(options, shown, argument, error);
    case EXEC_PASS_FD:
    case EXEC_STATUS_FD:
        return read_descriptor(options, id, shown, argument, error);
    case EXEC_MAX_ABI:
        return read_max_abi(options, shown, argument, error);
    case EXEC_DRY_RUN:
        options->is_dry_run = true;
        return 0;
    case EXEC_VERBOSE:
        options->is_verbose = true;
        return 0;
    case EXEC_HELP:
        options->wants_help = true;
        return 0;
    default:
        options->wants_version = true;
        return 0;
    }
}

static int read_all(int count, char **arguments, struct options *options, struct error *error)
{
    bool is_sound = true;
    int first = command_read(&landlock_exec_table, NULL, count, arguments, LAUNCH_USAGE, take_option, options,
                             error, &is_sound);

    options->request.command = arguments + first;
    if (options->is_verbose && options->request.status_fd == STDERR_FILENO)
        return usage(error, "--verbose",
                     "cannot be had with --status-fd 2, which keeps standard error for the status line");
    return is_sound ? 0 : -1;
}

int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error)
{
    *options = (struct options){
        .request = {.policy_file = DEFAULT_POLICY, .status_fd = -1, .environment = environment}};
    options->request.definitions = calloc((size_t)count + 1, sizeof *options->request.definitions);
    options->request.pass_fds = calloc((size_t)count + 1, sizeof *options->request.pass_fds);
    options->request.command = arguments + count;
    if (!options->request.definitions || !options->request.pass_fds)
        return error_set(error, LAUNCH_SYSTEM, "reading options: out of memory");
    return read_all(count, arguments, options, error);
}

void free_options(struct options *options)
{
    free((void *)options->request.definitions);
    free((void *)options->request.pass_fds);
}
