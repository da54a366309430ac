#include "command.h"

/* "check, show" */
static void print_subcommands(FILE *out, const struct command_table *table, unsigned bits)
{
    const char *separator = "";

    for (size_t i = 0; i < table->subcommand_count; i++)
        if (table->subcommands[i].bit & bits) {
            fprintf(out, "%s%s", separator, table->subcommands[i].name);
            separator = ", ";
        }
}

static void print_option(FILE *out, const struct command_table *table, const struct command_option *option,
                         bool tells_subcommands)
{
    char letter[] = "   ";

    if (option->id < COMMAND_LONG_ONLY)
        snprintf(letter, sizeof letter, "-%c,", option->id);
    fprintf(out, "  %s --%s%s%s\n", letter, option->name, option->argument ? " " : "",
            option->argument ? option->argument : "");
    fprintf(out, "          %s", option->help);
    if (tells_subcommands && option->subcommands) {
        fputs(" (", out);
        print_subcommands(out, table, option->subcommands);
        putc(')', out);
    }
    putc('\n', out);
}

static void print_options(FILE *out, const struct command_table *table,
                          const struct command_subcommand *subcommand)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (!subcommand || command_takes(subcommand, &table->options[i]))
            print_option(out, table, &table->options[i], !subcommand);
}

void command_print_help(FILE *out, const struct command_table *table,
                        const struct command_subcommand *subcommand)
{
    if (subcommand) {
        fprintf(out, "usage: %s %s [OPTION...] %s\n%s\n\n", table->name, subcommand->name,
                subcommand->operands, subcommand->help);
        print_options(out, table, subcommand);
        return;
    }
    fprintf(out, "usage: %s %s\n%s\n\n", table->name, table->usage, table->summary);
    for (size_t i = 0; i < table->subcommand_count; i++)
        fprintf(out, "  %s %s\n          %s\n", table->subcommands[i].name, table->subcommands[i].operands,
                table->subcommands[i].help);
    if (table->subcommand_count)
        putc('\n', out);
    print_options(out, table, NULL);
    fprintf(out, "\n%s\n", table->epilogue);
}
