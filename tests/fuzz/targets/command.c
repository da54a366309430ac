/*
 * The command lines of landlock-exec and landlock-policy. The input is their words, each with a NUL behind it. What getopt_long(3)
 * makes of them, and a plain model of what each option wants, say what must come of it.
 */
#include "command.h"

#include "landlock-exec/table.h"
#include "landlock-policy/table.h"

#include <getopt.h>
#include <string.h>

enum { EXEC_ACCEPTED, EXEC_REFUSED, POLICY_ACCEPTED, POLICY_REFUSED };
struct tally tallies[] = {[EXEC_ACCEPTED] = {"command lines of landlock-exec accepted", 0},
                          [EXEC_REFUSED] = {"command lines of landlock-exec refused", 0},
                          [POLICY_ACCEPTED] = {"command lines of landlock-policy accepted", 0},
                          [POLICY_REFUSED] = {"command lines of landlock-policy refused", 0}};
const size_t tally_count = array_size(tallies);

static const struct words *present;

void describe_input(FILE *out)
{
    for (int i = 0; present && i < present->count; i++) {
        fputs("  [", out);
        text_write_safe(out, present->items[i]);
        fputs("]\n", out);
    }
}

struct words copy_words(const struct words *words)
{
    struct words copy = {.count = words->count};

    for (int i = 0; i < words->count; i++) {
        copy.items[i] = strdup(words->items[i]);
        if (!copy.items[i])
            abort();
    }
    return copy;
}

void free_words(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->items[i]);
}

/* ---- The second opinion ---- */

enum { MOST_OPTIONS = 16 };

void ask_getopt(const struct command_table *table, bool ends_at_operand, struct words *words,
                struct opinion *opinion)
{
    struct option options[MOST_OPTIONS + 1] = {{0}};
    char letters[3 * MOST_OPTIONS] = "+:";
    int id;

    if (!ends_at_operand)
        strcpy(letters, ":");
    for (size_t i = 0; i < table->option_count; i++) {
        const struct command_option *option = &table->options[i];
        char letter[3] = {(char)option->id, option->argument ? ':' : '\0', '\0'};

        options[i] = (struct option){option->name, option->argument ? required_argument : no_argument, NULL,
                                     option->id};
        if (option->id < COMMAND_LONG_ONLY)
            strcat(letters, letter);
    }
    *opinion = (struct opinion){0};
    opterr = 0;
    optind = 0; /* begins anew */
    while ((id = getopt_long(words->count, words->items, letters, options, NULL)) != -1)
        if (id == '?' || id == ':')
            opinion->has_fault = true;
        else
            opinion->options[opinion->count++] = (struct given){id, optarg};
    opinion->first = words->count ? optind : 0;
}

bool is_number(const char *text, long least, long most, long *value)
{
    size_t length = strlen(text);

    if (!length || strspn(text, "0123456789") != length)
        return false;
    while (length > 1 && text[0] == '0') {
        text++;
        length--;
    }
    if (length > 12)
        return false;
    *value = strtol(text, NULL, 10);
    return *value >= least && *value <= most;
}

bool is_defined(const char *argument, const struct launch_request *request, size_t index)
{
    const struct policy_definition *definition = &request->definitions[index];
    size_t length = strcspn(argument, "=");

    if (!length || !argument[length])
        return false;
    promise(index < request->definition_count && strlen(definition->name) == length &&
                !strncmp(definition->name, argument, length) &&
                !strcmp(definition->value, argument + length + 1),
            "definition %zu is not %s", index, argument);
    return true;
}

/* ---- The input ---- */

static void take_words(struct words *words, char *bytes, size_t size)
{
    words->count = 0;
    for (size_t at = 0; at < size && words->count < MOST_WORDS; at += strlen(bytes + at) + 1)
        words->items[words->count++] = bytes + at;
    words->items[words->count] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words;
    char *bytes = malloc(size + 1);

    if (!bytes)
        abort();
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    take_words(&words, bytes, size);
    present = &words;
    tally(try_landlock_exec(&words) ? EXEC_ACCEPTED : EXEC_REFUSED);
    tally(try_landlock_policy(&words) ? POLICY_ACCEPTED : POLICY_REFUSED);
    present = NULL;
    free(bytes);
    return 0;
}

/* ---- Mutations that know the options ---- */

static const char *const values[] = {
    "x",    "A=b",  "A=",        "=b",  "A",          "",           "0",
    "1",    "2",    "3",         "11",  "12",         "-1",         "+3",
    " 3",   "03",   "3x",        "007", "2147483647", "2147483648", "99999999999999999999",
    "text", "json", "E101,E102", "/a",  "-",          "--",         "---",
};
static const char *const operands[] = {"check", "show",     "why",  "test", "probe",
                                       "chec",  "p.policy", "read", "/a",   "443"};

/* Writes a word in one of the ways it may be written, or nearly; the bytes, NUL included. */
static size_t put_option(unsigned *seed, char *out, size_t size)
{
    const struct command_table *table = roll(seed, 2) ? &landlock_exec_table : &landlock_policy_table;
    const struct command_option *option = &table->options[roll(seed, (unsigned)table->option_count)];
    const char *value = values[roll(seed, array_size(values))];
    size_t length = strlen(option->name), cut = roll(seed, 3) ? length : roll(seed, (unsigned)length + 1);

    switch (roll(seed, 6)) {
    case 0:
        return (size_t)snprintf(out, size, "--%.*s=%s", (int)cut, option->name, value) + 1;
    case 1:
        return (size_t)snprintf(out, size, "--%.*s%c%s", (int)cut, option->name, '\0', value) + 1;
    case 2:
        return (size_t)snprintf(out, size, "-%c%s", option->id, value) + 1;
    case 3:
        return (size_t)snprintf(out, size, "-%c%c%s", option->id, '\0', value) + 1;
    case 4:
        return (size_t)snprintf(out, size, "-nv%c%c", "hVDpn"[roll(seed, 5)], option -> id) + 1;
    default:
        return (size_t)snprintf(out, size, "%s", operands[roll(seed, array_size(operands))]) + 1;
    }
}

static size_t put_word(unsigned *seed, char *out, size_t size)
{
    return roll(seed, 4) ? put_option(seed, out, size)
                         : (size_t)snprintf(out, size, "%s", values[roll(seed, array_size(values))]) + 1;
}

/* Where some word begins; `size` for the end. */
static size_t some_word(const uint8_t *data, size_t size, unsigned *seed)
{
    size_t at = roll(seed, (unsigned)size + 1);

    while (at && at < size && data[at - 1])
        at--;
    return at;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    char word[128];
    size_t at = some_word(data, size, &seed), length = put_word(&seed, word, sizeof word), end = at;

    switch (roll(&seed, 4)) {
    case 0: /* in the place of a word */
        while (end < size && data[end])
            end++;
        end += end < size;
        break;
    case 1: /* before it */
        break;
    case 2: /* only the word away */
        while (end < size && data[end])
            end++;
        end += end < size;
        length = 0;
        break;
    default:
        return LLVMFuzzerMutate(data, size, most);
    }
    if (length > sizeof word || size - (end - at) + length > most)
        return size;
    memmove(data + at + length, data + end, size - end);
    memcpy(data + at, word, length);
    return size - (end - at) + length;
}
