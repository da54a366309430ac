/*
 * What every command here shares: one table, from which options are read, and help, messages, completion and the
 * manual's check come.
 *
 * Options are read as getopt_long(3) reads them (letters in one word, `--name=value`, unambiguous beginnings of names,
 * `--`), without its globals. Nothing here keeps state. Nothing here knows of policies or Landlock.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "base/base.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- The table of a command ---- */

/* What a word of the command line is: what completion offers for it. */
enum command_value {
    VALUE_NONE,
    VALUE_FILE,
    VALUE_POLICY,     /* a policy file */
    VALUE_DEFINITION, /* NAME=VALUE, of a definition of the policy that the command line names */
    VALUE_DESCRIPTOR,
    VALUE_ABI,
    VALUE_FORMAT,
    VALUE_RIGHTS, /* a list, separated by commas */
    VALUE_PATH,   /* of a file or directory */
    VALUE_DIRECTORY,
    VALUE_FILE_IN_IT, /* the name of a file in the directory that is the operand before */
    VALUE_CODES,      /* of diagnostics: a list, separated by commas */
    VALUE_NUMBER,
    VALUE_PROGRAM /* a command, and behind it that command's own words */
};

/* Identities from here on have no short form; those below are the letter. */
enum { COMMAND_LONG_ONLY = 256 };

struct command_option {
    int id;
    const char *name, *argument, *help; /* argument NULL: it takes none */
    enum command_value value;           /* of the argument */
    unsigned subcommands; /* bits of the subcommands that take it; 0: all, and the command itself */
};

struct command_subcommand {
    const char *name, *operands, *help;
    unsigned bit;
    enum command_value values[3]; /* of its operands; the last that is not VALUE_NONE repeats up to `most` */
    unsigned least, most;         /* operands; most UINT_MAX: any number */
};

struct command_table {
    const char *name, *usage, *summary,
        *epilogue; /* whole lines but for the last newline; usage without the name */
    const struct command_option *options;
    size_t option_count;
    const struct command_subcommand *subcommands;
    size_t subcommand_count;     /* 0: none */
    enum command_value operands; /* without subcommands */
    bool options_end_at_operand; /* of a subcommand where there are some: what is behind it is no option */
};

/* ---- Reading options ---- */

/* Called for each option in order. 0, or -1 and `error`, set with command_usage(). `shown`: the option as messages
 * name it ("--max-abi"). */
typedef int command_take(void *context, int id, const char *shown, char *argument, struct error *error);

/*
 * Reads the options in arguments[1..] that `subcommand` takes, arguments[0] being its name; NULL: those of the command
 * itself, which end at the first operand where there are subcommands. Returns the index of the first operand: all
 * operands are at the end then, in their order; `arguments` is rearranged for it unless the options end at an operand.
 *
 * A fault sets `error` (`code`) unless it is set, and *is_sound to false; reading goes on behind it, so that as much as
 * can be understood is taken.
 */
int command_read(const struct command_table *table, const struct command_subcommand *subcommand, int count,
                 char **arguments, int code, command_take *take, void *context, struct error *error,
                 bool *is_sound);

/* Sets `error` (`code`) unless it is set: "`shown`: `what`", and where the options are listed. Returns -1. */
int command_usage(const struct command_table *table, int code, const char *shown, const char *what,
                  struct error *error);

/* The subcommand of that name; NULL: there is none. */
const struct command_subcommand *command_find(const struct command_table *table, const char *name);

/* Whether `subcommand` (NULL: the command itself) takes `option`. */
bool command_takes(const struct command_subcommand *subcommand, const struct command_option *option);

/* ---- Commands with subcommands ---- */

/* What every such command takes. */
enum { COMMAND_HELP = 'h', COMMAND_VERSION = 'V' };

/* What its words say, but for its own options. */
struct command_line {
    const struct command_subcommand *subcommand; /* NULL: none was reached */
    char **operands;
    size_t operand_count;
    bool wants_help, wants_version; /* then the operands were not counted */
};

/* Reads the whole line; `take` gets the options but COMMAND_HELP and COMMAND_VERSION. 0, or -1 and `error` (`code`): an option or
 * subcommand that there is not, or operands too few or too many. */
int command_read_line(const struct command_table *table, int count, char **arguments, int code,
                      command_take *take, void *context, struct command_line *line, struct error *error);

/* Prints the help or the version that the line asks for. False: it asks for neither. */
bool command_print_wanted(const struct command_table *table, const struct command_line *line,
                          const char *version);

/* Takes the argument "text" or "json". 0, or -1 and `error`. */
int command_take_format(const struct command_table *table, int code, const char *argument, bool *is_json,
                        struct error *error);

/* An answer that nobody gets is none: what is closed is not made up for by /dev/null. 0, or -1 and `error` (`code`): standard output is
 * closed. To be called before anything opens a descriptor. */
int command_need_output(int code, struct error *error);

/* Says an error on standard error, with the name of its code (NULL: without), and its hint. */
void command_say(const struct command_table *table, const struct error *error, const char *code);

/* The help of a subcommand; NULL: of the whole command. */
void command_print_help(FILE *out, const struct command_table *table,
                        const struct command_subcommand *subcommand) __attribute__((cold));

/* ---- Arguments of options ---- */

/* A whole number in [least, most], in decimal digits alone. 0 or -1. */
int command_number(const char *text, long least, long most, long *number);

/* NAME=VALUE, split in place. 0, or -1 with `argument` as it was: there is no name, or no "=". */
int command_definition(char *argument, const char **name, const char **value);

#endif
