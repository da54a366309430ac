#include "policy/internal.h"

#include <string.h>

enum class { ORDINARY, BLANK, NEWLINE, QUOTE, ESCAPE, REPLACEMENT, CONTROL, HIGH };

/* One look-up a byte: most of a policy is ORDINARY. */
static const unsigned char class_of[256] = {
    [0 ... 8] = CONTROL, ['\t'] = BLANK,  ['\n'] = NEWLINE,    [11 ... 31] = CONTROL, [' '] = BLANK,
    ['"'] = QUOTE,       ['\\'] = ESCAPE, ['$'] = REPLACEMENT, [127] = CONTROL,       [128 ... 255] = HIGH,
};

bool is_name(const char *text, size_t length)
{
    if (!length || length >= NAME_SIZE || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++) {
        char letter = text[i];

        if (!((letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') ||
              (letter >= '0' && letter <= '9') || letter == '_'))
            return false;
    }
    return true;
}

/* ---- Cutting into words ---- */

struct scan {
    struct parser *parser;
    size_t file;
    const char *text;
    uint32_t size;
    struct cursor at;
};

static bool fault_at(struct scan *scan, enum policy_fault fault, const struct cursor *at, const char *message)
{
    struct policy_position position = {
        .file = (uint16_t)scan->file, .line = at->line, .line_start = at->line_start, .offset = at->offset};

    return !at->is_silent && complain(scan->parser, fault, &position, "%s", message);
}

/* A fault in the present line. */
static bool scan_fault(struct scan *scan, enum policy_fault fault, uint32_t offset, const char *message)
{
    struct cursor at = scan->at;

    at.offset = offset;
    return fault_at(scan, fault, &at, message);
}

static void next_line(struct scan *scan)
{
    scan->at.offset++;
    scan->at.line++;
    scan->at.line_start = scan->at.offset;
}

static bool at_end(const struct scan *scan)
{
    return scan->at.offset >= scan->size;
}

static char byte_at(const struct scan *scan, uint32_t offset)
{
    if (offset < scan->size)
        return scan->text[offset];
    return '\n';
}

/* A byte that may stand nowhere in a policy, or a character of several bytes. */
static bool pass_unusual(struct scan *scan)
{
    const char *here = scan->text + scan->at.offset;
    size_t length = utf8_sequence(here, scan->size - scan->at.offset);

    if (!length)
        return scan_fault(scan, POLICY_FAULT_NOT_TEXT, scan->at.offset,
                          "invalid UTF-8; a policy is UTF-8 text, and \\xHH writes any other byte");
    if (length == 1 && *here == '\0')
        return scan_fault(scan, POLICY_FAULT_NOT_TEXT, scan->at.offset, "NUL byte; a policy is UTF-8 text");
    if (length == 1 && *here == '\r')
        return scan_fault(scan, POLICY_FAULT_CONTROL_CHARACTER, scan->at.offset,
                          "carriage return; save the file with Unix line ends");
    if (length == 1)
        return scan_fault(scan, POLICY_FAULT_CONTROL_CHARACTER, scan->at.offset,
                          "control character; write it as \\xHH");
    if (utf8_disturbs(here, length))
        return scan_fault(scan, POLICY_FAULT_DECEPTIVE_CHARACTER, scan->at.offset,
                          "a character that cannot be seen or turns the text round, so that a reader takes "
                          "the line for another; write its bytes as \\xHH");
    scan->at.offset += (uint32_t)length;
    return true;
}

static bool pass_comment(struct scan *scan)
{
    while (!at_end(scan)) {
        unsigned class = class_of[(unsigned char)scan->text[scan->at.offset]];

        if (class == NEWLINE)
            break;
        if (class != CONTROL && class != HIGH)
            scan->at.offset++;
        else if (!pass_unusual(scan))
            return false;
    }
    return true;
}

static int hex_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    letter |= 'a' ^ 'A';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static bool pass_escape(struct scan *scan)
{
    uint32_t start = scan->at.offset;
    char letter = byte_at(scan, start + 1);

    if (letter == '\n') {
        scan->at.offset++;
        if (at_end(scan))
            return scan_fault(scan, POLICY_FAULT_ESCAPE, start,
                              "backslash at the end of the file; nothing follows that it could continue");
        next_line(scan);
        return true;
    }
    if (letter == 'x') {
        int high = hex_digit(byte_at(scan, start + 2)), low = hex_digit(byte_at(scan, start + 3));

        if (high < 0 || low < 0)
            return scan_fault(scan, POLICY_FAULT_ESCAPE, start,
                              "incomplete \\x; two hexadecimal digits were expected");
        if (high == 0 && low == 0)
            return scan_fault(scan, POLICY_FAULT_ESCAPE, start, "NUL byte; no name or argument can hold one");
        scan->at.offset += 4;
        return true;
    }
    if (!letter || !strchr("\\\"#$nt", letter))
        return scan_fault(scan, POLICY_FAULT_ESCAPE, start,
                          "unknown escape; expected \\\\ \\\" \\# \\$ \\n \\t \\xHH or the end of the line");
    scan->at.offset += 2;
    return true;
}

static bool pass_replacement(struct scan *scan)
{
    uint32_t start = scan->at.offset, name = start + 2, end = name;

    while (end - name < NAME_SIZE && byte_at(scan, end) != '}' && byte_at(scan, end) != '\n')
        end++;
    if (byte_at(scan, start + 1) != '{' || byte_at(scan, end) != '}' ||
        !is_name(scan->text + name, end - name))
        return scan_fault(scan, POLICY_FAULT_BARE_DOLLAR, start,
                          "'$' does not begin a replacement; expected ${NAME}, or \\$ for the character "
                          "itself");
    scan->at.offset = end + 1;
    return true;
}

static bool pass_word(struct scan *scan, struct word *word)
{
    bool is_quoted = false, is_plain = true;
    struct cursor begin = scan->at, quote = scan->at;

    for (;;) {
        unsigned class = at_end(scan) ? NEWLINE : class_of[(unsigned char)scan->text[scan->at.offset]];

        if (class == ORDINARY) {
            scan->at.offset++;
            continue;
        }
        if (class == NEWLINE || (class == BLANK && !is_quoted))
            break;
        if (class == CONTROL || class == HIGH) {
            if (!pass_unusual(scan))
                return false;
            continue;
        }
        is_plain &= class == BLANK;
        if (class == QUOTE) {
            is_quoted = !is_quoted;
            quote = scan->at;
        }
        if (class == QUOTE || class == BLANK)
            scan->at.offset++;
        else if (class == ESCAPE ? !pass_escape(scan) : !pass_replacement(scan))
            return false;
    }
    if (scan->at.offset - begin.offset > POLICY_MAX_WORD_SIZE)
        return fault_at(scan, POLICY_FAULT_TOO_LONG, &begin, "word too long; it may have 65536 bytes");
    if (is_quoted)
        return fault_at(scan, POLICY_FAULT_UNCLOSED_QUOTE, &quote,
                        "unclosed quote; expected '\"' before the end of the line");
    *word = (struct word){.offset = begin.offset,
                          .length = (scan->at.offset - begin.offset) & 0x7fffffff,
                          .is_plain = is_plain,
                          .line = begin.line,
                          .line_start = begin.line_start};
    return true;
}

/* Moves to the next word of this statement. False at the end of the statement or on a fault (*is_good tells
 * which). */
static bool find_word(struct scan *scan, bool *is_good)
{
    for (;;) {
        char letter = byte_at(scan, scan->at.offset);

        if (letter == ' ' || letter == '\t') {
            scan->at.offset++;
        } else if (letter == '\\' && byte_at(scan, scan->at.offset + 1) == '\n') {
            if (!pass_escape(scan))
                return *is_good = false;
        } else if (letter == '#') {
            *is_good = pass_comment(scan);
            return false;
        } else {
            return letter != '\n';
        }
    }
}

static bool add_word(struct parser *parser, const struct word *word)
{
    if (array_reserve(&parser->words, &parser->word_capacity, parser->word_count, sizeof *word) < 0)
        return out_of_memory(parser);
    parser->words[parser->word_count++] = *word;
    return true;
}

static bool scan_statement(struct scan *scan)
{
    bool is_good = true;

    while (find_word(scan, &is_good)) {
        struct word word;

        if (!pass_word(scan, &word) || !add_word(scan->parser, &word))
            return false;
    }
    return is_good;
}

/* After a fault, the rest of the line is passed over. */
static void pass_line(struct scan *scan)
{
    const char *rest = memchr(scan->text + scan->at.offset, '\n', scan->size - scan->at.offset);

    scan->at.offset = rest ? (uint32_t)(rest - scan->text) : scan->size;
    scan->at.has_fault = true;
    scan->parser->word_count = 0;
}

bool lex_statement(struct parser *parser, struct statement *statement, struct cursor *cursor)
{
    struct scan scan = {.parser = parser,
                        .file = statement->file,
                        .text = parser->sources[statement->file].text,
                        .size = (uint32_t)parser->files[statement->file].size,
                        .at = *cursor};

    if (!scan.at.line)
        scan.at.line = 1;
    parser->word_count = 0;
    while (!parser->word_count && !at_end(&scan)) {
        if (!scan_statement(&scan))
            pass_line(&scan);
        if (!at_end(&scan))
            next_line(&scan);
    }
    *cursor = scan.at;
    statement->words = parser->words;
    statement->count = (uint32_t)parser->word_count;
    return parser->word_count > 0;
}

/* ---- Values ---- */

struct policy_position position_of(size_t file, const struct word *word, uint32_t skip)
{
    return (struct policy_position){.file = (uint16_t)file,
                                    .line = word->line,
                                    .line_start = word->line_start,
                                    .offset = word->offset + skip};
}

/* A value under construction. */
enum { FIRST_VALUE_SIZE = 64 };
struct value {
    char *text;
    size_t length, capacity;
};

static bool value_add(struct parser *parser, struct value *value, const char *text, size_t length)
{
    if (value->length + length + 1 > value->capacity) {
        size_t capacity = (value->length + length + 1) * 2;
        char *grown = store_get(parser->policy->store, capacity);

        if (!grown)
            return out_of_memory(parser);
        memcpy(grown, value->text, value->length);
        value->text = grown;
        value->capacity = capacity;
    }
    memcpy(value->text + value->length, text, length);
    value->length += length;
    return true;
}

/* The byte that an escape stands for; *i moves past it. '\0': a continued line, which stands for nothing. */
static char escaped(const char *raw, uint32_t *i)
{
    char letter = raw[*i + 1];

    *i += 2;
    if (letter == '\n')
        return '\0';
    if (letter == 'n')
        return '\n';
    if (letter == 't')
        return '\t';
    if (letter != 'x')
        return letter;
    *i += 2;
    return (char)((unsigned)hex_digit(raw[*i - 2]) << 4 | (unsigned)hex_digit(raw[*i - 1]));
}

static bool say_long_word(struct parser *parser, const struct policy_position *position)
{
    return complain(parser, POLICY_FAULT_TOO_LONG, position,
                    "word too long; after replacement it may have 65536 bytes");
}

static bool value_replace(struct parser *parser, struct value *value, const char *raw, uint32_t *i,
                          const struct policy_position *position)
{
    const char *begin = raw + *i + 2, *end = strchr(begin, '}');
    char name[NAME_SIZE] = "";
    struct slice replacement;

    memcpy(name, begin, (size_t)(end - begin));
    *i = (uint32_t)(end + 1 - raw);
    if (!definition_value(parser, name, position, &replacement))
        return false;
    parser->replaced += replacement.length;
    if (value->length + replacement.length > POLICY_MAX_WORD_SIZE)
        return say_long_word(parser, position);
    if (parser->replaced > POLICY_MAX_REPLACED)
        return complain(parser, POLICY_FAULT_TOO_LONG, position,
                        "too much text from replacements; all of it together may have 16 MiB");
    return value_add(parser, value, replacement.text, replacement.length);
}

static bool decode(struct parser *parser, size_t file, const struct word *word, uint32_t *from, char stop,
                   struct slice *slice)
{
    const char *raw = parser->sources[file].text + word->offset;
    struct value value = {.text = store_get(parser->policy->store, FIRST_VALUE_SIZE),
                          .capacity = FIRST_VALUE_SIZE};
    uint32_t i = *from;

    if (!value.text)
        return out_of_memory(parser);
    while (i < word->length && !(stop && raw[i] == stop)) {
        struct policy_position position = position_of(file, word, i);
        char letter = raw[i];
        bool is_added = true;

        if (letter == '$') {
            is_added = value_replace(parser, &value, raw, &i, &position);
        } else if (letter == '\\') {
            letter = escaped(raw, &i);
            is_added = !letter || value_add(parser, &value, &letter, 1);
        } else {
            i++;
            is_added = letter == '"' || value_add(parser, &value, &letter, 1);
        }
        if (!is_added)
            return false;
    }
    if (value.length > POLICY_MAX_WORD_SIZE) {
        struct policy_position position = position_of(file, word, *from);

        return say_long_word(parser, &position);
    }
    *from = i + 1;
    value.text[value.length] = '\0';
    *slice = (struct slice){value.text, value.length};
    return true;
}

bool word_value(struct parser *parser, size_t file, const struct word *word, uint32_t *from, char stop,
                struct slice *value)
{
    char *text = parser->sources[file].text + word->offset;
    const char *found;

    if (!word->is_plain)
        return decode(parser, file, word, from, stop, value);
    found = stop ? memchr(text + *from, stop, word->length - *from) : NULL;
    *value = (struct slice){text + *from, found ? (size_t)(found - text) - *from : word->length - *from};
    *from += (uint32_t)value->length + 1;
    if (!stop)
        text[word->length] =
            '\0'; /* the separator behind it: every word of this statement has been cut by now */
    return true;
}

bool word_is_optional(const struct parser *parser, size_t file, const struct word *word)
{
    const char *source = parser->sources[file].text + word->offset;
    uint32_t quote = source[0] == '"';

    return word->length > quote && source[quote] == '-';
}

const char *word_text(struct parser *parser, size_t file, const struct word *word)
{
    struct slice value = {0};
    uint32_t from = 0;

    return word_value(parser, file, word, &from, '\0', &value) ? value.text : NULL;
}
