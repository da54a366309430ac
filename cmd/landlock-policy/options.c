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

    switch (id) {
    case DEFINE:
        return take_definition(options, argument, error);
    case MAX_ABI:
        return take_abi(options, argument, error);
    case FORMAT:
        options->is_json = !strcmp(argument, "json");
        if (options->is_json || !strcmp(argument, "text"))
            return 0;
        return command_usage(&landlock_policy_table, LAUNCH_USAGE, shown, "expected text or json", error);
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
    case IGNORE:
        options->ignored[options->ignored_count++] = argument;
        return 0;
    case HELP:
        options->wants_help = true;
        return 0;
    default:
        options->wants_version = true;
        return 0;
    }
}

static const char *subcommand_name(size_t i, const void *context)
{
    (void)context;
    return landlock_policy_table.subcommands[i].name;
}

static int find_subcommand(struct options *options, const char *name, struct error *error)
{
    const char *nearest;

    options->subcommand = command_find(&landlock_policy_table, name);
    if (options->subcommand)
        return 0;
    nearest = text_nearest(name, landlock_policy_table.subcommand_count, subcommand_name, NULL);
    error_set(error, LAUNCH_USAGE, "unknown subcommand '%s'%s%s%s", name, nearest ? " (did you mean '" : "",
              nearest ? nearest : "", nearest ? "'?)" : "");
    return error_hint(error, "landlock-policy --help lists the subcommands");
}

static int count_operands(const struct options *options, struct error *error)
{
    const struct command_subcommand *subcommand = options->subcommand;
    bool is_short = options->operand_count < subcommand->least;

    if (!is_short && options->operand_count <= subcommand->most)
        return 0;
    error_set(error, LAUNCH_USAGE, "%s: too %s operands", subcommand->name, is_short ? "few" : "many");
    return error_hint(error, "landlock-policy %s [OPTION...] %s", subcommand->name, subcommand->operands);
}

/* What stands behind the subcommand. */
static int read_subcommand(int count, char **arguments, struct options *options, struct error *error)
{
    bool is_sound = true;
    int first = command_read(&landlock_policy_table, options->subcommand, count, arguments, LAUNCH_USAGE,
                             take, options, error, &is_sound);

    if (!is_sound)
        return -1;
    options->operands = arguments + first;
    options->operand_count = (size_t)(count - first);
    if (options->wants_help || options->wants_version)
        return 0;
    if (options->operand_count)
        options->request.policy_file = options->operands[0];
    return count_operands(options, error);
}

int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error)
{
    bool is_sound = true;
    int first;

    *options = (struct options){.request = {.status_fd = -1, .environment = environment}, .runs = 1};
    options->request.command = arguments + count;
    options->request.definitions = calloc((size_t)count + 1, sizeof *options->request.definitions);
    options->ignored = calloc((size_t)count + 1, sizeof *options->ignored);
    if (!options->request.definitions || !options->ignored)
        return error_set(error, LAUNCH_SYSTEM, "reading options: out of memory");
    first = command_read(&landlock_policy_table, NULL, count, arguments, LAUNCH_USAGE, take, options, error,
                         &is_sound);
    if (!is_sound || options->wants_help || options->wants_version)
        return is_sound ? 0 : -1;
    if (first == count) {
        error_set(error, LAUNCH_USAGE, "no subcommand");
        return error_hint(error, "landlock-policy --help lists them: check, show, why, test, probe, trace, "
                                 "import, export");
    }
    if (find_subcommand(options, arguments[first], error) < 0)
        return -1;
    return read_subcommand(count - first, arguments + first, options, error);
}

void free_options(struct options *options)
{
    free((void *)options->request.definitions);
    free(options->ignored);
}
