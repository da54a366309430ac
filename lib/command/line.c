#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* A take of another, and what is taken here. */
struct taking {
    command_take *take;
    void *context;
    struct command_line *line;
};

static int take(void *context, int id, const char *shown, char *argument, struct error *error)
{
    struct taking *taking = context;

    if (id == COMMAND_HELP)
        taking->line->wants_help = true;
    else if (id == COMMAND_VERSION)
        taking->line->wants_version = true;
    else
        return taking->take(taking->context, id, shown, argument, error);
    return 0;
}

static const char *subcommand_name(size_t i, const void *table)
{
    return ((const struct command_table *)table)->subcommands[i].name;
}

static int say_none(const struct command_table *table, int code, struct error *error)
{
    struct text names = {0};
    FILE *out = text_open(&names);

    for (size_t i = 0; out && i < table->subcommand_count; i++)
        fprintf(out, "%s%s", i ? ", " : "", table->subcommands[i].name);
    error_set(error, code, "no subcommand");
    if (out && text_close(out, &names) == 0)
        error_hint(error, "%s --help lists them: %s", table->name, names.bytes);
    free(names.bytes);
    return -1;
}

static int find_subcommand(const struct command_table *table, int code, const char *name,
                           struct command_line *line, struct error *error)
{
    const char *nearest;

    line->subcommand = command_find(table, name);
    if (line->subcommand)
        return 0;
    nearest = text_nearest(name, table->subcommand_count, subcommand_name, table);
    error_set(error, code, "unknown subcommand '%s'%s%s%s", name, nearest ? " (did you mean '" : "",
              nearest ? nearest : "", nearest ? "'?)" : "");
    return error_hint(error, "%s --help lists the subcommands", table->name);
}

static int count_operands(const struct command_table *table, int code, const struct command_line *line,
                          struct error *error)
{
    const struct command_subcommand *subcommand = line->subcommand;
    bool is_short = line->operand_count < subcommand->least;

    if (!is_short && line->operand_count <= subcommand->most)
        return 0;
    error_set(error, code, "%s: too %s operands", subcommand->name, is_short ? "few" : "many");
    return error_hint(error, "%s %s [OPTION...] %s", table->name, subcommand->name, subcommand->operands);
}

int command_read_line(const struct command_table *table, int count, char **arguments, int code,
                      command_take *taker, void *context, struct command_line *line, struct error *error)
{
    struct taking taking = {taker, context, line};
    bool is_sound = true;
    int first, operands;

    *line = (struct command_line){0};
    first = command_read(table, NULL, count, arguments, code, take, &taking, error, &is_sound);
    if (!is_sound || line->wants_help || line->wants_version)
        return is_sound ? 0 : -1;
    if (first == count)
        return say_none(table, code, error);
    if (find_subcommand(table, code, arguments[first], line, error) < 0)
        return -1;
    operands = first + command_read(table, line->subcommand, count - first, arguments + first, code, take,
                                    &taking, error, &is_sound);
    line->operands = arguments + operands;
    line->operand_count = (size_t)(count - operands);
    if (!is_sound || line->wants_help || line->wants_version)
        return is_sound ? 0 : -1;
    return count_operands(table, code, line, error);
}

bool command_print_wanted(const struct command_table *table, const struct command_line *line,
                          const char *version)
{
    if (line->wants_version)
        printf("%s %s\n", table->name, version);
    else if (line->wants_help)
        command_print_help(stdout, table, line->subcommand);
    return line->wants_version || line->wants_help;
}

int command_take_format(const struct command_table *table, int code, const char *argument, bool *is_json,
                        struct error *error)
{
    *is_json = !strcmp(argument, "json");
    if (*is_json || !strcmp(argument, "text"))
        return 0;
    return command_usage(table, code, "--format", "expected text or json", error);
}

int command_need_output(int code, struct error *error)
{
    if (fcntl(STDOUT_FILENO, F_GETFD) >= 0)
        return 0;
    return error_set(error, code, "standard output: %s", strerror(errno));
}

void command_say(const struct command_table *table, const struct error *error, const char *code)
{
    auto_free char *coded = code ? text_of("%s [%s]", error->message, code) : NULL;
    char prefix[64];

    snprintf(prefix, sizeof prefix, "%s: ", table->name);
    text_write_line(STDERR_FILENO, prefix, coded ? coded : error->message);
    if (!error->hint[0])
        return;
    snprintf(prefix, sizeof prefix, "%s: hint: ", table->name);
    text_write_line(STDERR_FILENO, prefix, error->hint);
}
