#include "lint/lint.h"
#include "policy/policy.h"
#include "sections.h"

#include <string.h>

/* Text within single quotes, in which _arguments and _values take some characters for their own. */
static void print_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\'') {
            fputs("'\\''", out);
        } else {
            if (strchr("[]:\\", *text))
                putc('\\', out);
            putc(*text, out);
        }
}

/* What completes a word of that value: an action of _arguments. */
static void print_action(FILE *out, const struct command_table *table, enum command_value value)
{
    switch (value) {
    case VALUE_FILE:
    case VALUE_POLICY:
    case VALUE_PATH:
        fputs("_files", out);
        break;
    case VALUE_DIRECTORY:
        fputs("_files -/", out);
        break;
    case VALUE_ABI:
    case VALUE_FORMAT:
        putc('(', out);
        print_choices(out, table, value);
        putc(')', out);
        break;
    case VALUE_DEFINITION:
    case VALUE_RIGHTS:
    case VALUE_CODES:
    case VALUE_FILE_IN_IT:
        fprintf(out, "_%s_%s", table->name, kind_name(value));
        break;
    default:
        putc(' ', out); /* the message alone */
    }
}

/* One form of an option: "-p+" and "--policy=" take the argument in the same word or the next. */
static void print_form(FILE *out, const struct command_table *table, const struct command_option *option,
                       const char *form)
{
    fprintf(out, " \\\n        '*%s[", form);
    print_escaped(out, option->help);
    putc(']', out);
    if (option->argument) {
        fprintf(out, ":%s:", option->argument);
        print_action(out, table, option->value);
    }
    putc('\'', out);
}

static void print_options(FILE *out, const struct command_table *table,
                          const struct command_subcommand *subcommand)
{
    char form[64];

    for (size_t i = 0; i < table->option_count; i++) {
        const struct command_option *option = &table->options[i];

        if (!command_takes(subcommand, option))
            continue;
        if (option->id < COMMAND_LONG_ONLY) {
            snprintf(form, sizeof form, "-%c%s", option->id, option->argument ? "+" : "");
            print_form(out, table, option, form);
        }
        snprintf(form, sizeof form, "--%s%s", option->name, option->argument ? "=" : "");
        print_form(out, table, option, form);
    }
}

static void print_operand(FILE *out, const struct command_table *table,
                          const struct command_subcommand *subcommand, unsigned before, bool repeats)
{
    enum command_value value = operand_value(subcommand, before);

    fputs(" \\\n        '", out);
    if (repeats)
        putc('*', out);
    else
        fprintf(out, "%u%s", before + 1, before < subcommand->least ? "" : ":");
    fprintf(out, ":%s:", kind_name(value));
    print_action(out, table, value);
    putc('\'', out);
}

static void print_subcommand(FILE *out, const struct command_table *table,
                             const struct command_subcommand *subcommand)
{
    bool repeats = subcommand->most == UINT_MAX;
    unsigned last = 0;

    while (last + 1 < array_size(subcommand->values) && subcommand->values[last + 1])
        last++;
    fprintf(out, "    %s)\n        _arguments -s -S%s", subcommand->name,
            table->options_end_at_operand ? " -A '-*'" : "");
    print_options(out, table, subcommand);
    for (unsigned i = 0; i < last; i++)
        print_operand(out, table, subcommand, i, false);
    print_operand(out, table, subcommand, last, repeats);
    fputs("\n        ;;\n", out);
}

/* The subcommand, and what each takes. */
static void print_subcommands(FILE *out, const struct command_table *table)
{
    fputs("    local curcontext=$curcontext state\n    local -a line\n    local -A opt_args\n\n"
          "    _arguments -C -s -S -A '-*'",
          out);
    print_options(out, table, NULL);
    fputs(" \\\n        '1:subcommand:((", out);
    for (size_t i = 0; i < table->subcommand_count; i++) {
        fprintf(out, "%s%s\\:\"", i ? " " : "", table->subcommands[i].name);
        print_escaped(out, table->subcommands[i].help);
        putc('"', out);
    }
    fputs("))' \\\n        '*::operand:->operand' && return\n"
          "    [[ $state == operand ]] || return 1\n    case $words[1] in\n",
          out);
    for (size_t i = 0; i < table->subcommand_count; i++)
        print_subcommand(out, table, &table->subcommands[i]);
    fputs("    *) return 1 ;;\n    esac", out);
}

static void print_main(FILE *out, const struct command_table *table)
{
    if (table->subcommand_count) {
        print_subcommands(out, table);
        return;
    }
    fputs("    _arguments -s -S -A '-*'", out);
    print_options(out, table, NULL);
    fputs(" \\\n        '(-)1:program: _command_names -e' \\\n        '*::argument:_normal'", out);
}

/* What the options with an argument take, as pairs of an associative array. */
static void print_kinds(FILE *out, const struct command_table *table)
{
    const char *separator = "";

    for (size_t i = 0; i < table->option_count; i++) {
        const struct command_option *option = &table->options[i];
        const char *kind = kind_name(option->value);

        if (!option->argument)
            continue;
        if (option->id < COMMAND_LONG_ONLY)
            fprintf(out, "%s-%c %s --%s %s", separator, option->id, kind, option->name, kind);
        else
            fprintf(out, "%s--%s %s", separator, option->name, kind);
        separator = " ";
    }
}

static void print_first_operand(FILE *out, const struct command_table *table)
{
    fputs(kind_name(table->subcommand_count ? operand_value(table->subcommands, 0) : table->operands), out);
}

/* One of the values of a list. */
static void print_listed(FILE *out, const char *name, const char *help)
{
    fprintf(out, " \\\n        '%s[", name);
    print_escaped(out, help);
    fputs("]'", out);
}

static void print_rights(FILE *out, const struct command_table *table)
{
    (void)table;
    for (size_t i = 0; i < policy_group_count; i++)
        print_listed(out, policy_group_table[i].name, policy_group_table[i].help);
    for (size_t i = 0; i < policy_right_count; i++)
        print_listed(out, policy_right_table[i].name, policy_right_table[i].help);
}

static void print_codes(FILE *out, const struct command_table *table)
{
    (void)table;
    for (size_t i = 0; i < lint_code_count; i++)
        print_listed(out, lint_code_table[i].name, lint_code_table[i].help);
}

const struct section zsh_sections[] = {
    {"main", print_main},     {"kinds", print_kinds}, {"first_operand", print_first_operand},
    {"rights", print_rights}, {"codes", print_codes}, {NULL, NULL}};
