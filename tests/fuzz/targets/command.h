/* What is shared by the two halves of the target `command`. */
#ifndef FUZZ_COMMAND_H
#define FUZZ_COMMAND_H

#include "command/command.h"
#include "launch/launch.h"
#include "report.h"

enum { MOST_WORDS = 24 };

/* A command line, and what describes it after a broken promise. */
struct words {
    char *items[MOST_WORDS + 1];
    int count;
};

/* ---- The second opinion: getopt_long(3), and the table's names ---- */

/* An option as it was given. */
struct given {
    int id;
    char *argument;
};

struct opinion {
    struct given options[MOST_WORDS * 64];
    size_t count;
    int first;      /* of the operands, in words.items */
    bool has_fault; /* an unknown option, an argument too many or one that is missing */
};

/* Reads the options of a copy of the words, which it rearranges unless the options end at the first operand. */
void ask_getopt(const struct command_table *table, bool ends_at_operand, struct words *words,
                struct opinion *opinion);

/* Whether it is a number in decimal digits within [least, most]; its value then. */
bool is_number(const char *text, long least, long most, long *value);

/* Whether it reads NAME=VALUE; then it must be the definition number `index`. */
bool is_defined(const char *argument, const struct launch_request *request, size_t index);

/* Reads `words` with the command's own read_options() and compares what comes of it; whether it is accepted. */
bool try_landlock_exec(const struct words *words);
bool try_landlock_policy(const struct words *words);

/* Copies whose texts may be changed. */
struct words copy_words(const struct words *words);
void free_words(struct words *words);

#endif
