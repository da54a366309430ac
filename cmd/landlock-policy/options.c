#include "command.h"

#include <string.h>

static int take_definition(struct options *options, char *argument, struct error *error)
{
    struct policy_definition *definitions = (struct policy_definition *)options->request.definitions;
    struct policy_definition *definition = &definitions[options->request.definition_count];

    if (command_definition(argument, &definition->name, &definition->value) < 0)
        return command_usage(&landlock_policy_table, LAUNCH_USAGE, "--define", "expected NAME=VALUE", error);
    options->request.definition_count++;
    return 0;
}

static int take_abi(struct options *options, const char *argument, struct error *error)
{
    long number;
    char expected[64];

    snprintf(expected, sizeof expected, "expected a Landlock ABI that this build knows, 1 to %d",
             POLICY_NEWEST_ABI);
    if (command_number(argument, 1, POLICY_NEWEST_ABI, &number) < 0)
        return command_usage(&landlock_policy_table, LAUNCH_USAGE, "--max-abi", expected, error);
    options->request.max_abi = (unsigned)number;
    return 0;
}

static int take_runs(struct options *options, const char *argument, struct error *error)
{
    enum { MOST = 1000 };
    long number;

    if (command_number(argument, 1, MOST, &number) < 0)
        return command_usage(&landlock_policy_table, LAUNCH_USAGE, "--runs", "expected a number, 1 to 1000",
                             error);
    options->runs = (unsigned)number;
    return 0;
}

static int take(void *context, int id, const char *shown, char *argument, struct error *error)
{
    struct options *options = context;

    (void)shown;
    switch (id) {
    case DEFINE:
        return take_definition(options, argument, error);
    case MAX_ABI:
        return take_abi(options, argument, error);
    case FORMAT:
        return command_take_format(&landlock_policy_table, LAUNCH_USAGE, argument, &options->is_json, error);
    case OUTPUT:
        options->output = argument;
        return 0;
    case REPORT:
        options->report = argument;
        return 0;
    case GATHER:
        options->gathers = true;
        return 0;
    case RUNS:
        return take_runs(options, argument, error);
    default:
        options->ignored[options->ignored_count++] = argument;
        return 0;
    }
}

int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error)
{
    int result;

    *options = (struct options){.request = {.status_fd = -1, .environment = environment}, .runs = 1};
    options->request.command = arguments + count;
    options->request.definitions = calloc((size_t)count + 1, sizeof *options->request.definitions);
    options->ignored = calloc((size_t)count + 1, sizeof *options->ignored);
    if (!options->request.definitions || !options->ignored)
        return error_set(error, LAUNCH_SYSTEM, "reading options: out of memory");
    result = command_read_line(&landlock_policy_table, count, arguments, LAUNCH_USAGE, take, options,
                               &options->line, error);
    if (options->line.operand_count)
        options->request.policy_file = options->line.operands[0];
    return result;
}

void free_options(struct options *options)
{
    free((void *)options->request.definitions);
    free(options->ignored);
}
