#include "command.h"

#include <errno.h>
#include <string.h>

enum { SHOWN_SIZE = 64 }; /* "--" and the longest name of an option */

/* Reading in progress. */
struct reader {
    const struct command_table *table;
    const struct command_subcommand *subcommand;
    int code;
    command_take *take;
    void *context;
    struct error *error;
    bool *is_sound;
};

int command_usage(const struct command_table *table, int code, const char *shown, const char *what,
                  struct error *error)
{
    if (error->code)
        return -1;
    error_set(error, code, "%s: %s", shown, what);
    return error_hint(error, "%s --help lists the options", table->name);
}

const struct command_subcommand *command_find(const struct command_table *table, const char *name)
{
    for (size_t i = 0; i < table->subcommand_count; i++)
        if (strcmp(table->subcommands[i].name, name) == 0)
            return &table->subcommands[i];
    return NULL;
}

bool command_takes(const struct command_subcommand *subcommand, const struct command_option *option)
{
    return !option->subcommands || (subcommand && (option->subcommands & subcommand->bit));
}

static void fault(const struct reader *reader, const char *shown, const char *what)
{
    *reader->is_sound = false;
    command_usage(reader->table, reader->code, shown, what, reader->error);
}

static void unknown(const struct reader *reader, const char *word)
{
    fault(reader, word, "unknown option, or one that takes no argument");
}

static void give(const struct reader *reader, const struct command_option *option, char *argument)
{
    char shown[SHOWN_SIZE];

    snprintf(shown, sizeof shown, "--%s", option->name);
    if (!command_takes(reader->subcommand, option))
        fault(reader, shown,
              reader->subcommand ? "not an option of this subcommand"
                                 : "an option of some subcommands; expected behind one of them");
    else if (reader->take(reader->context, option->id, shown, argument, reader->error) < 0)
        *reader->is_sound = false;
}

/* Takes an option whose argument is the next word. Returns how many words that were. */
static int give_next(const struct reader *reader, const struct command_option *option, char **words, int left)
{
    if (left < 2) {
        fault(reader, words[0], "its argument is missing");
        return 1;
    }
    give(reader, option, words[1]);
    return 2;
}

/* The option of that name, or the only one whose name begins so. */
static const struct command_option *find_long(const struct command_table *table, const char *name,
                                              size_t length)
{
    const struct command_option *found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < table->option_count; i++) {
        if (strncmp(table->options[i].name, name, length) != 0)
            continue;
        found = &table->options[i];
        if (!found->name[length])
            return found;
        count++;
    }
    return count == 1 ? found : NULL;
}

static const struct command_option *find_letter(const struct command_table *table, char letter)
{
    for (size_t i = 0; i < table->option_count; i++)
        if (table->options[i].id == (unsigned char)letter)
            return &table->options[i];
    return NULL;
}

static int read_long(const struct reader *reader, char **words, int left)
{
    char *name = words[0] + 2;
    size_t length = strcspn(name, "=");
    const struct command_option *option = find_long(reader->table, name, length);

    if (!option || (name[length] && !option->argument))
        unknown(reader, words[0]);
    else if (name[length])
        give(reader, option, name + length + 1);
    else if (option->argument)
        return give_next(reader, option, words, left);
    else
        give(reader, option, NULL);
    return 1;
}

static int read_letters(const struct reader *reader, char **words, int left)
{
    for (char *letter = words[0] + 1; *letter; letter++) {
        const struct command_option *option = find_letter(reader->table, *letter);

        if (!option) {
            unknown(reader, words[0]);
        } else if (!option->argument) {
            give(reader, option, NULL);
        } else if (letter[1]) {
            give(reader, option, letter + 1);
            return 1;
        } else {
            return give_next(reader, option, words, left);
        }
    }
    return 1;
}

static bool ends_at_operand(const struct reader *reader)
{
    return reader->table->options_end_at_operand || (reader->table->subcommand_count && !reader->subcommand);
}

/* Moves the `count` words at `from` down to `to`. */
static void move_down(char **arguments, int to, int from, int count)
{
    for (; from > to && count; to++, from++, count--) {
        char *word = arguments[from];

        memmove(arguments + to + 1, arguments + to, (size_t)(from - to) * sizeof *arguments);
        arguments[to] = word;
    }
}

/* Options are read at `at`; the operands before it begin at `operands`. */
static int read_all(const struct reader *reader, int count, char **arguments)
{
    int operands = count > 0, at = operands;

    while (at < count) {
        const char *word = arguments[at];
        bool is_end = strcmp(word, "--") == 0;
        int length = 1;

        if (word[0] != '-' || !word[1]) {
            if (ends_at_operand(reader))
                break;
            at++;
            continue;
        }
        if (!is_end)
            length = (word[1] == '-' ? read_long : read_letters)(reader, arguments + at, count - at);
        move_down(arguments, operands, at, length);
        operands += length;
        at += length;
        if (is_end)
            break;
    }
    return operands;
}

int command_read(const struct command_table *table, const struct command_subcommand *subcommand, int count,
                 char **arguments, int code, command_take *take, void *context, struct error *error,
                 bool *is_sound)
{
    struct reader reader = {table, subcommand, code, take, context, error, is_sound};

    return read_all(&reader, count, arguments);
}

int command_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno || end == text || *end || text[0] < '0' || text[0] > '9' || *number < least || *number > most
               ? -1
               : 0;
}

int command_definition(char *argument, const char **name, const char **value)
{
    char *equals = strchr(argument, '=');

    if (!equals || equals == argument)
        return -1;
    *equals = '\0';
    *name = argument;
    *value = equals + 1;
    return 0;
}
