/* make-completion SHELL COMMAND TEMPLATE: prints the completion of a command for a shell, from their tables. For the build only. */
#include "lint/lint.h"
#include "policy/policy.h"
#include "sections.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *name;
    const struct section *sections;
} shells[] = {{"bash", bash_sections}, {"zsh", zsh_sections}};

/* Each command's table.c; their headers give some options the same names. */
extern const struct command_table landlock_exec_table, landlock_policy_table, chat_files_table,
    service_token_table;

static const struct command_table *const commands[] = {&landlock_exec_table, &landlock_policy_table,
                                                       &chat_files_table, &service_token_table};

/* ---- What both shells need ---- */

const char *kind_name(enum command_value value)
{
    static const char *const names[] = {
        [VALUE_NONE] = "",
        [VALUE_FILE] = "filename",
        [VALUE_POLICY] = "policy",
        [VALUE_DEFINITION] = "definition",
        [VALUE_DESCRIPTOR] = "descriptor",
        [VALUE_ABI] = "abi",
        [VALUE_FORMAT] = "format",
        [VALUE_RIGHTS] = "rights",
        [VALUE_PATH] = "path",
        [VALUE_DIRECTORY] = "directory",
        [VALUE_FILE_IN_IT] = "file_in_it",
        [VALUE_CODES] = "codes",
        [VALUE_NUMBER] = "number",
        [VALUE_PROGRAM] = "program",
    };

    return names[value];
}

/* Formats are listed by the option that takes one: "text|json". */
static void print_formats(FILE *out, const struct command_table *table)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (table->options[i].value == VALUE_FORMAT)
            for (const char *at = table->options[i].argument; *at; at++)
                putc(*at == '|' ? ' ' : *at, out);
}

void print_choices(FILE *out, const struct command_table *table, enum command_value value)
{
    if (value == VALUE_FORMAT)
        print_formats(out, table);
    for (size_t i = 0; value == VALUE_CODES && i < lint_code_count; i++)
        fprintf(out, "%s%s", i ? " " : "", lint_code_table[i].name);
    for (unsigned abi = 1; value == VALUE_ABI && abi <= POLICY_NEWEST_ABI; abi++)
        fprintf(out, "%s%u", abi > 1 ? " " : "", abi);
}

bool table_uses(const struct command_table *table, enum command_value value)
{
    bool is_used = !table->subcommand_count && table->operands == value;

    for (size_t i = 0; i < table->option_count; i++)
        is_used |= table->options[i].value == value;
    for (size_t i = 0; i < table->subcommand_count; i++)
        for (size_t j = 0; j < array_size(table->subcommands[i].values); j++)
            is_used |= table->subcommands[i].values[j] == value;
    return is_used;
}

void print_default_policy(FILE *out, const struct command_table *table)
{
    putc('\'', out);
    for (const char *at = table == &landlock_exec_table ? DEFAULT_POLICY : ""; *at; at++)
        if (*at == '\'')
            fputs("'\\''", out);
        else
            putc(*at, out);
    putc('\'', out);
}

enum command_value operand_value(const struct command_subcommand *subcommand, unsigned before)
{
    enum command_value value = VALUE_NONE;

    if (before >= subcommand->most)
        return VALUE_NONE;
    for (size_t i = 0; i <= before && i < array_size(subcommand->values) && subcommand->values[i]; i++)
        value = subcommand->values[i];
    return value;
}

/* ---- Sections that both templates have ---- */

static void print_command(FILE *out, const struct command_table *table)
{
    fputs(table->name, out);
}

/* The name as a part of a function's. */
static void print_function(FILE *out, const struct command_table *table)
{
    for (const char *at = table->name; *at; at++)
        putc(*at == '-' ? '_' : *at, out);
}

static const struct section common_sections[] = {{"command", print_command},
                                                 {"function", print_function},
                                                 {"default_policy", print_default_policy},
                                                 {NULL, NULL}};

/* ---- The template ---- */

static const struct section *find_section(const struct section *sections, const char *name, size_t length)
{
    for (; sections->name; sections++)
        if (strncmp(sections->name, name, length) == 0 && !sections->name[length])
            return sections;
    return NULL;
}

/* The length of the letters at `text` if an "@" follows them; else 0. */
static size_t placeholder(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");

    return text[length] == '@' ? length : 0;
}

static int print_line(const char *line, const struct section *sections, const struct command_table *table)
{
    while (*line) {
        size_t length = *line == '@' ? placeholder(line + 1) : 0;
        const struct section *section;

        if (!length) {
            putchar(*line++);
            continue;
        }
        section = find_section(sections, line + 1, length);
        if (!section)
            section = find_section(common_sections, line + 1, length);
        if (!section)
            return -1;
        section->print(stdout, table);
        line += length + 2;
    }
    return 0;
}

/* "@with KIND@": the lines up to "@end@" are for commands that have words of that kind. */
static bool is_left_out(const char *line, const struct command_table *table)
{
    for (int value = VALUE_NONE; value <= VALUE_PROGRAM; value++) {
        const char *kind = kind_name((enum command_value)value);
        size_t length = strlen(kind);

        if (strncmp(line, kind, length) == 0 && strcmp(line + length, "@\n") == 0)
            return !table_uses(table, (enum command_value)value);
    }
    return false;
}

static int print_template(FILE *in, const struct section *sections, const struct command_table *table)
{
    static const char with[] = "@with ";
    auto_free char *line = NULL;
    size_t capacity = 0;
    bool leaves_out = false;

    while (getline(&line, &capacity, in) >= 0) {
        if (strncmp(line, with, sizeof with - 1) == 0) {
            leaves_out = is_left_out(line + sizeof with - 1, table);
        } else if (strcmp(line, "@end@\n") == 0) {
            leaves_out = false;
        } else if (!leaves_out && print_line(line, sections, table) < 0) {
            fprintf(stderr, "make-completion: unknown section: %s", line);
            return 1;
        }
    }
    if (!ferror(in) && flush_output() == 0)
        return 0;
    fprintf(stderr, "make-completion: %s\n", strerror(errno));
    return 1;
}

static const struct section *find_shell(const char *name)
{
    for (size_t i = 0; i < array_size(shells); i++)
        if (strcmp(shells[i].name, name) == 0)
            return shells[i].sections;
    return NULL;
}

static const struct command_table *find_command(const char *name)
{
    for (size_t i = 0; i < array_size(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int main(int count, char **arguments)
{
    const struct section *sections = count == 4 ? find_shell(arguments[1]) : NULL;
    const struct command_table *table = count == 4 ? find_command(arguments[2]) : NULL;
    FILE *in;
    int status;

    if (!sections || !table) {
        fputs("usage: make-completion bash|zsh COMMAND TEMPLATE\n", stderr);
        return 2;
    }
    in = fopen(arguments[3], "re");
    if (!in) {
        fprintf(stderr, "make-completion: %s: %s\n", arguments[3], strerror(errno));
        return 1;
    }
    status = print_template(in, sections, table);
    fclose(in);
    return status;
}
