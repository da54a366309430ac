#include "policy/policy.h"
#include "sections.h"

/* A case for each option that takes an argument. */
static void print_options(FILE *out, const struct command_table *table)
{
    const char *newline = "";

    for (size_t i = 0; i < table->option_count; i++) {
        const struct command_option *option = &table->options[i];

        if (!option->argument)
            continue;
        fprintf(out, "%s    ", newline);
        if (option->id < COMMAND_LONG_ONLY)
            fprintf(out, "-%c | ", option->id);
        fprintf(out, "--%s) kind=%s ;;", option->name, kind_name(option->value));
        newline = "\n";
    }
}

static void print_option_list(FILE *out, const struct command_table *table,
                              const struct command_subcommand *subcommand)
{
    const char *separator = "";

    fprintf(out, "    %s) list=(", subcommand ? subcommand->name : "\"\"");
    for (size_t i = 0; i < table->option_count; i++) {
        const struct command_option *option = &table->options[i];

        if (!command_takes(subcommand, option))
            continue;
        if (option->id < COMMAND_LONG_ONLY)
            fprintf(out, "%s-%c --%s", separator, option->id, option->name);
        else
            fprintf(out, "%s--%s", separator, option->name);
        separator = " ";
    }
    fputs(") ;;", out);
}

static void print_subcommand_options(FILE *out, const struct command_table *table)
{
    print_option_list(out, table, NULL);
    for (size_t i = 0; i < table->subcommand_count; i++) {
        putc('\n', out);
        print_option_list(out, table, &table->subcommands[i]);
    }
}

static void print_subcommand_operands(FILE *out, const struct command_subcommand *subcommand)
{
    unsigned last = 0;

    while (last + 1 < array_size(subcommand->values) && subcommand->values[last + 1])
        last++;
    for (unsigned i = 0; i < last; i++)
        fprintf(out, "\n    %s:%u) kind=%s ;;", subcommand->name, i, kind_name(subcommand->values[i]));
    if (subcommand->most == last + 1)
        fprintf(out, "\n    %s:%u) kind=%s ;;", subcommand->name, last, kind_name(subcommand->values[last]));
    else
        fprintf(out, "\n    %s:*) kind=%s ;;", subcommand->name, kind_name(subcommand->values[last]));
}

static void print_operands(FILE *out, const struct command_table *table)
{
    fprintf(out, "    :0) kind=%s ;;", table->subcommand_count ? "subcommand" : kind_name(table->operands));
    for (size_t i = 0; i < table->subcommand_count; i++)
        print_subcommand_operands(out, &table->subcommands[i]);
}

static void print_subcommands(FILE *out, const struct command_table *table)
{
    for (size_t i = 0; i < table->subcommand_count; i++)
        fprintf(out, "%s%s", i ? " " : "", table->subcommands[i].name);
}

static void print_rights(FILE *out)
{
    for (size_t i = 0; i < policy_group_count; i++)
        fprintf(out, "%s ", policy_group_table[i].name);
    for (size_t i = 0; i < policy_right_count; i++)
        fprintf(out, "%s%s", i ? " " : "", policy_right_table[i].name);
}

/* A case for each kind that is one of some words. */
static void print_words(FILE *out, const struct command_table *table)
{
    static const enum command_value values[] = {VALUE_ABI, VALUE_FORMAT, VALUE_RIGHTS, VALUE_CODES};

    fputs("    subcommand) list=(", out);
    print_subcommands(out, table);
    fputs(") ;;", out);
    for (size_t i = 0; i < array_size(values); i++) {
        if (!table_uses(table, values[i]))
            continue;
        fprintf(out, "\n    %s) list=(", kind_name(values[i]));
        if (values[i] == VALUE_RIGHTS)
            print_rights(out);
        else
            print_choices(out, table, values[i]);
        fputs(") ;;", out);
    }
}

const struct section bash_sections[] = {{"options", print_options},
                                        {"subcommand_options", print_subcommand_options},
                                        {"operands", print_operands},
                                        {"words", print_words},
                                        {NULL, NULL}};
