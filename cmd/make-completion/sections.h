/* What stands in a template between "@" and "@", printed from the tables. */
#ifndef SECTIONS_H
#define SECTIONS_H

#include "command/command.h"

struct section {
    const char *name;
    void (*print)(FILE *out, const struct command_table *table);
};

/* Those of each shell; the last name is NULL. */
extern const struct section bash_sections[];
extern const struct section zsh_sections[];

/* The kinds of words as both templates name them; "": nothing is offered. */
const char *kind_name(enum command_value value);

/* Whether the command has words of that value. */
bool table_uses(const struct command_table *table, enum command_value value);

/* The words of which one of that value (ABIs, formats, codes) is one, with a blank between. */
void print_choices(FILE *out, const struct command_table *table, enum command_value value);

/* The policy that is read where the line names none, as one word of a shell. */
void print_default_policy(FILE *out, const struct command_table *table);

/* What an operand is that stands behind `before` others. */
enum command_value operand_value(const struct command_subcommand *subcommand, unsigned before);

#endif
