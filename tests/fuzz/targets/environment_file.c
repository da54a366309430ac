/*
 * A file as Docker Compose reads it, lib/token/environment.c. Behind a first byte 0xff, the input is the text itself, of which less can be
 * promised; else choices, from which a text is made of statements whose meaning is known from the making: the second opinion, which reads
 * nothing.
 */
#include "report.h"
#include "token/internal.h"

#include <string.h>

enum { MOST_STATEMENTS = 12, LARGEST = 1 << 16 };

enum { LITERAL, EXPANDED, INHERITED, NONE, REFUSED, TEXTS_READ, TEXTS_REFUSED, APPENDED };
struct tally tallies[] = {[LITERAL] = {"made texts with a value", 0},
                          [EXPANDED] = {"made texts with a variable in it", 0},
                          [INHERITED] = {"made texts with a name alone", 0},
                          [NONE] = {"made texts without it", 0},
                          [REFUSED] = {"made texts refused", 0},
                          [TEXTS_READ] = {"texts read", 0},
                          [TEXTS_REFUSED] = {"texts refused", 0},
                          [APPENDED] = {"texts with a line put behind them", 0}};
const size_t tally_count = array_size(tallies);

static const char *present;
static size_t present_size;

void describe_input(FILE *out)
{
    fwrite(present, 1, present_size, out);
}

/* ---- Promises of any text ---- */

static void check_entry(const struct environment_entry *entry, size_t size)
{
    promise((entry->kind == ENVIRONMENT_NONE) == !entry->times, "%zu times", entry->times);
    promise(entry->first_line <= entry->last_line && entry->last_line <= size + 1, "%zu to %zu",
            entry->first_line, entry->last_line);
    promise(!entry->times || entry->first_line > 0, "no line");
    promise(entry->times < 2 || entry->times <= size, "%zu times", entry->times);
    if (entry->kind == ENVIRONMENT_LITERAL)
        promise(entry->value.bytes && entry->value.size < entry->value.capacity &&
                    !entry->value.bytes[entry->value.size] && entry->value.size <= size,
                "a value of %zu bytes", entry->value.size);
}

/* What ensure does: the line that is put behind a text that is read is read, and is the last. */
static void check_appended(const char *text, size_t size, const struct environment_entry *before)
{
    static const char line[] = "\nK=appended\n";
    size_t skipped = !size || text[size - 1] == '\n', total = size + sizeof line - 1 - skipped;
    auto_free char *longer = malloc(total);
    struct environment_entry entry;
    struct environment_fault fault;

    if (!longer)
        abort();
    memcpy(longer, text, size);
    memcpy(longer + size, line + skipped, sizeof line - 1 - skipped);
    promise(environment_find(longer, total, "K", &entry, &fault) == 0, "line %zu: %s", fault.line,
            fault.what);
    promise(entry.kind == ENVIRONMENT_LITERAL && !strcmp(entry.value.bytes, "appended"), "another value");
    promise(entry.times == before->times + 1, "%zu times and then %zu", before->times, entry.times);
    secret_wipe(&entry.value);
    tally(APPENDED);
}

static int read_text_of(const char *text, size_t size, struct environment_entry *entry)
{
    struct environment_fault fault;
    int result = environment_find(text, size, "K", entry, &fault);
    size_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    promise(!result == !fault.what, "%d: %s", result, fault.what ? fault.what : "nothing");
    promise(!result || (fault.line >= 1 && fault.line <= lines), "line %zu of %zu", fault.line, lines);
    promise(!result || !entry->value.bytes, "a value of a text that is refused");
    if (result == 0) {
        check_entry(entry, size);
        check_appended(text, size, entry);
    }
    return result;
}

/* ---- Texts whose meaning is known ---- */

struct made {
    struct text text, value;
    size_t times, first, last, line;
    enum environment_value kind;
    bool is_refused;
};

static void add(struct text *text, const char *bytes)
{
    size_t length = strlen(bytes);

    if (array_reserve(&text->bytes, &text->capacity, text->size + length, 1) < 0)
        abort();
    memcpy(text->bytes + text->size, bytes, length + 1);
    text->size += length;
}

static void write_out(struct made *made, const char *bytes)
{
    add(&made->text, bytes);
    for (; *bytes; bytes++)
        made->line += *bytes == '\n';
}

/* Parts of values: as they are written, and what they mean; NULL: a reference to a variable. */
struct part {
    const char *written, *meaning;
};
static const struct part bare[] = {
    {"a", "a"},     {"$$", "$"},  {"\\n", "\\n"},           {"\"", "\""}, {"'", "'"},  {"=", "="}, {"#", "#"},
    {"x y", "x y"}, {"$1", "$1"}, {"\xc3\xa9", "\xc3\xa9"}, {"$x", NULL}, {"${", NULL}};
static const struct part single[] = {{"a", "a"},     {"\\'", "'"},       {"\n", "\n"},
                                     {"\\n", "\\n"}, {"$x", "$x"},       {"\"", "\""},
                                     {" # ", " # "}, {"K=z\n", "K=z\n"}, {"\\\\", "\\\\"}};
static const struct part twofold[] = {{"a", "a"},      {"\\\"", "\""},    {"\n", "\n"},
                                      {"\\n", "\n"},   {"\\\\", "\\"},    {"\\$", "$"},
                                      {"'", "'"},      {"$$", "$"},       {"\\q", "\\q"},
                                      {"\\0101", "A"}, {"\\018", "\\18"}, {"\nK=z\n", "\nK=z\n"},
                                      {"${x}", NULL},  {"\\tb", "\tb"}};
static const struct {
    const struct part *parts;
    unsigned count;
    const char *quote;
} styles[] = {
    {bare, array_size(bare), ""}, {single, array_size(single), "'"}, {twofold, array_size(twofold), "\""}};

/* Writes a value, and what it means into made->value. False: it is a variable's. */
static bool make_value(struct made *made, struct choices *choices)
{
    unsigned style = choose(choices, array_size(styles)), count = choose(choices, 6);
    bool is_literal = true;

    made->value.size = 0;
    add(&made->value, "");
    write_out(made, styles[style].quote);
    if (!style) { /* so that nothing at the beginning is taken for a quote */
        write_out(made, "v");
        add(&made->value, "v");
    }
    for (unsigned i = 0; i < count; i++) {
        const struct part *part = &styles[style].parts[choose(choices, styles[style].count)];

        write_out(made, part->written);
        is_literal &= part->meaning != NULL;
        add(&made->value, part->meaning ? part->meaning : "");
    }
    write_out(made, styles[style].quote);
    if (!style)
        write_out(made, (const char *[]){"\n", " \n", "\r\n", " # c\n", "\xc2\xa0\n"}[choose(choices, 5)]);
    else
        write_out(made, (const char *[]){"\n", " ", " # c\n", ""}[choose(choices, 4)]);
    return is_literal;
}

static void make_statement(struct made *made, struct choices *choices)
{
    static const char *const others[] = {"A", "KK", "k", "a.b", "x-y", "q[1]", "\xd0\x9a"},
                             *const exports[] = {"", "", "export ", "\texport\t ", " "},
                             *const between[] = {"=", " = ", ":", "\t:  "},
                             *const faults[] = {"a b=1\n", "!\n", "=1\n", "'\n", "A\xff=1\n"},
                             *const nothing[] = {"\n", "# K=1\n", " \t\r\n", "\xe2\x80\x83\n"};
    bool is_ours = choose(choices, 2);
    size_t line;

    switch (choose(choices, 8)) {
    case 0:
        write_out(made, nothing[choose(choices, array_size(nothing))]);
        return;
    case 1:
        made->is_refused |= choose(choices, 4) == 3;
        write_out(made, made->is_refused ? faults[choose(choices, array_size(faults))] : "\n");
        return;
    default:
        break;
    }
    line = made->line;
    write_out(made, exports[choose(choices, array_size(exports))]);
    write_out(made, is_ours ? "K" : others[choose(choices, array_size(others))]);
    if (choose(choices, 6) == 5) {
        write_out(made, "\n");
        made->kind = is_ours ? ENVIRONMENT_INHERITED : made->kind;
    } else {
        struct text before = made->value;
        bool is_literal;

        made->value = (struct text){0};
        write_out(made, between[choose(choices, array_size(between))]);
        is_literal = make_value(made, choices);
        free(is_ours ? before.bytes : made->value.bytes);
        if (is_ours)
            made->kind = is_literal ? ENVIRONMENT_LITERAL : ENVIRONMENT_EXPANDED;
        else
            made->value = before;
    }
    if (!is_ours)
        return;
    made->first = made->times++ ? made->first : line;
    made->last = line;
}

static void check_made(const struct made *made)
{
    static const int tallied[] = {[ENVIRONMENT_NONE] = NONE,
                                  [ENVIRONMENT_LITERAL] = LITERAL,
                                  [ENVIRONMENT_EXPANDED] = EXPANDED,
                                  [ENVIRONMENT_INHERITED] = INHERITED};
    struct environment_entry entry;
    int result = read_text_of(made->text.bytes, made->text.size, &entry);

    promise(!result == !made->is_refused, "%s", result ? "refused" : "read");
    tally(result ? REFUSED : tallied[entry.kind]);
    if (result == 0) {
        promise(entry.kind == made->kind && entry.times == made->times, "kind %d for %d, %zu times for %zu",
                (int)entry.kind, (int)made->kind, entry.times, made->times);
        promise(entry.first_line == made->first && entry.last_line == made->last,
                "lines %zu and %zu for %zu and %zu", entry.first_line, entry.last_line, made->first,
                made->last);
        promise(entry.kind != ENVIRONMENT_LITERAL ||
                    (entry.value.size == made->value.size &&
                     !memcmp(entry.value.bytes, made->value.bytes, entry.value.size)),
                "%s", entry.value.bytes);
    }
    secret_wipe(&entry.value);
}

static void try_made(const uint8_t *data, size_t size)
{
    struct choices choices = {data, size};
    struct made made = {.line = 1};
    unsigned count;

    add(&made.text, choose(&choices, 4) == 3 ? "\xef\xbb\xbf" : "");
    count = choose(&choices, MOST_STATEMENTS);
    for (unsigned i = 0; i < count && !made.is_refused; i++)
        make_statement(&made, &choices);
    present = made.text.bytes;
    present_size = made.text.size;
    check_made(&made);
    free(made.text.bytes);
    free(made.value.bytes);
}

static void try_text(const char *text, size_t size)
{
    struct environment_entry entry;

    present = text;
    present_size = size;
    tally(read_text_of(text, size, &entry) ? TEXTS_REFUSED : TEXTS_READ);
    secret_wipe(&entry.value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_free char *copy = malloc(size + 1);

    if (!copy)
        abort();
    if (size && data[0] == 0xff && size < LARGEST) { /* a copy of that size: reading beyond it is seen */
        free(copy);
        copy = malloc(size > 1 ? size - 1 : 1);
        if (!copy)
            abort();
        memcpy(copy, data + 1, size - 1);
        try_text(copy, size - 1);
    } else {
        try_made(data, size);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    enum { LONGEST = 200 };

    if (size && data[0] == 0xff)
        return LLVMFuzzerMutate(data, size, most);
    return mutate_choices(data, size, most, LONGEST, seed);
}
