/* What Docker Compose takes a text for: token.h says it in words. Where a rule looks odd, it is Compose's. */
#include "internal.h"

#include <errno.h>

/* Where reading has come to. */
struct scanner {
    const char *at, *end;
    size_t line;
};

/* A value as it is written. */
struct written {
    const char *at;
    size_t size;
    char quote; /* NUL: none */
};

/* ---- Blanks: lengths in bytes of the one at `at`, 0 if there is none ---- */

static bool begins_with(const char *at, size_t left, const char *text)
{
    size_t length = strlen(text);

    return left >= length && !memcmp(at, text, length);
}

/* Those that do not end a line. */
static size_t blank_length(const char *at, size_t left)
{
    if (left && *at && strchr("\t\v\f\r ", *at))
        return 1;
    return begins_with(at, left, "\xc2\x85") || begins_with(at, left, "\xc2\xa0") ? 2 : 0;
}

/* Unicode's White_Space. */
static size_t space_length(const char *at, size_t left)
{
    size_t length = left && *at == '\n' ? 1 : blank_length(at, left);
    unsigned char third;

    if (length || left < 3)
        return length;
    third = (unsigned char)at[2];
    if (!memcmp(at, "\xe2\x80", 2))
        return (third >= 0x80 && third <= 0x8a) || third == 0xa8 || third == 0xa9 || third == 0xaf ? 3 : 0;
    return !memcmp(at, "\xe1\x9a\x80", 3) || !memcmp(at, "\xe2\x81\x9f", 3) || !memcmp(at, "\xe3\x80\x80", 3)
               ? 3
               : 0;
}

static size_t left_of(const struct scanner *scanner)
{
    return (size_t)(scanner->end - scanner->at);
}

static void skip(struct scanner *scanner, size_t (*length_of)(const char *, size_t))
{
    for (size_t length; (length = length_of(scanner->at, left_of(scanner))); scanner->at += length)
        scanner->line += *scanner->at == '\n';
}

/* The size without the white space at the end. */
static size_t trimmed(const char *text, size_t size)
{
    enum { LONGEST = 3 };

    for (size_t length = 1; length <= LONGEST && length <= size;)
        if (space_length(text + size - length, length) == length) {
            size -= length;
            length = 1;
        } else {
            length++;
        }
    return size;
}

/* ---- Names ---- */

static int refuse(const struct scanner *scanner, const char *what, struct environment_fault *fault)
{
    *fault = (struct environment_fault){what, scanner->line};
    return -1;
}

/* Goes on to the next name, over blank lines and comments. False: there is none. */
static bool find_statement(struct scanner *scanner)
{
    for (;;) {
        skip(scanner, space_length);
        if (scanner->at == scanner->end)
            return false;
        if (*scanner->at != '#')
            return true;
        scanner->at = memchr(scanner->at, '\n', left_of(scanner));
        if (!scanner->at)
            return false;
    }
}

static void skip_export(struct scanner *scanner)
{
    static const char word[] = "export";
    size_t length = sizeof word - 1;

    if (begins_with(scanner->at, left_of(scanner), word) && left_of(scanner) > length &&
        strchr("\t\n\f\r ", scanner->at[length]) && scanner->at[length]) {
        scanner->at += length;
        skip(scanner, blank_length);
    }
}

/* The length of a character that a name may have, blanks among them. */
static size_t name_character(const char *at, size_t left)
{
    size_t length = blank_length(at, left);

    if (length)
        return length;
    if (*at & 0x80)
        return space_length(at, left) ? 0 : utf8_sequence(at, left);
    return (*at >= '0' && *at <= '9') || ((*at | 32) >= 'a' && (*at | 32) <= 'z') ||
           (*at && strchr("_.-[]", *at));
}

/* Takes a name and what ends it, which is told. */
static int take_name(struct scanner *scanner, const char **name, size_t *length, char *ending,
                     struct environment_fault *fault)
{
    if (scanner->at == scanner->end)
        return refuse(scanner, "it ends behind \"export\"", fault);
    *name = scanner->at;
    while (scanner->at < scanner->end && !strchr("=:\n", *scanner->at)) {
        size_t step = name_character(scanner->at, left_of(scanner));

        if (!step)
            return refuse(scanner, "a name has a character that it cannot have", fault);
        scanner->at += step;
    }
    *length = trimmed(*name, (size_t)(scanner->at - *name));
    if (memchr(*name, ' ', *length))
        return refuse(scanner, "a name has a blank in it", fault);
    if (scanner->at == scanner->end)
        return refuse(scanner, "a name without \"=\" ends the file, with no newline behind it", fault);
    if (!*length && *scanner->at != '\n')
        return refuse(scanner, "there is no name before \"=\" or \":\"", fault);
    *ending = *scanner->at++;
    scanner->line += *ending == '\n';
    return 0;
}

/* ---- Values ---- */

static void take_line(struct scanner *scanner, struct written *value)
{
    const char *end = memchr(scanner->at, '\n', left_of(scanner)), *comment;

    if (!end)
        end = scanner->end;
    comment = memmem(scanner->at, (size_t)(end - scanner->at), " #", 2);
    *value = (struct written){.at = scanner->at};
    value->size = trimmed(value->at, (size_t)((comment ? comment : end) - value->at));
    scanner->at = end;
}

static int take_quoted(struct scanner *scanner, struct written *value, struct environment_fault *fault)
{
    const struct scanner begin = *scanner;
    bool is_escaped = false;

    *value = (struct written){.at = scanner->at + 1, .quote = *scanner->at};
    for (scanner->at++; scanner->at < scanner->end; scanner->at++) {
        char byte = *scanner->at;

        if (byte == value->quote && !is_escaped) {
            value->size = (size_t)(scanner->at++ - value->at);
            return 0;
        }
        scanner->line += byte == '\n';
        is_escaped = byte == '\\' && !is_escaped;
    }
    return refuse(&begin, "a quoted value has no end", fault);
}

static int take_value(struct scanner *scanner, struct written *value, struct environment_fault *fault)
{
    skip(scanner, blank_length);
    if (scanner->at < scanner->end && (*scanner->at == '"' || *scanner->at == '\''))
        return take_quoted(scanner, value, fault);
    take_line(scanner, value);
    return 0;
}

/* ---- What a value means; nothing becomes longer ---- */

static void put(struct secret *value, char byte)
{
    value->bytes[value->size++] = byte;
}

/* A backslash before the quote goes. */
static void unquote(const struct written *written, struct secret *value)
{
    bool is_escaped = false;

    for (size_t i = 0; i < written->size; i++) {
        char byte = written->at[i];

        if (!is_escaped && byte == '\\' && written->quote) {
            is_escaped = true;
            continue;
        }
        if (is_escaped && byte != written->quote)
            put(value, '\\');
        put(value, byte);
        is_escaped = false;
    }
}

/* The number behind "\0", of three octal digits; -1: there is none that fits a byte. *length: the digits there, octal or not, 3 at most. */
static int octal(const char *at, size_t left, size_t *length)
{
    int number = 0;

    for (*length = 0; *length < left && *length < 3; ++*length) {
        char digit = at[*length];

        if (digit < '0' || digit > '9')
            break;
        number = number < 0 || digit > '7' ? -1 : number * 8 + (digit - '0');
    }
    return *length == 3 && number <= 0xff ? number : -1;
}

/* Puts what the escape at `at` stands for, or what is there if it is none, and returns the length of it. */
static size_t put_escape(const char *at, size_t left, struct secret *value)
{
    static const char letters[] = "abfnrtv\"\\", meanings[] = "\a\b\f\n\r\t\v\"\\";
    const char *letter = left > 1 && at[1] ? strchr(letters, at[1]) : NULL;
    size_t digits;
    int number;

    if (letter) {
        put(value, meanings[letter - letters]);
        return 2;
    }
    if (left > 1 && at[1] == '$') { /* to be one "$" in the end */
        put(value, '$');
        put(value, '$');
        return 2;
    }
    if (left < 2 || at[1] != '0') {
        put(value, *at);
        return 1;
    }
    number = octal(at + 2, left - 2, &digits);
    if (number < 0) { /* the zero is lost */
        put(value, *at);
        return 2;
    }
    if (number & 0x80)
        put(value, (char)(0xc0 | number >> 6));
    put(value, (char)(number & 0x80 ? 0x80 | (number & 0x3f) : number));
    return 2 + digits;
}

static void expand_escapes(struct secret *value)
{
    size_t size = value->size;

    value->size = 0;
    for (size_t i = 0; i < size;) {
        if (value->bytes[i] == '\\')
            i += put_escape(value->bytes + i, size - i, value);
        else
            put(value, value->bytes[i++]);
    }
}

/* "$$" is a "$". False: what a "$" begins is the name of a variable. */
static bool expand_dollars(struct secret *value)
{
    size_t size = value->size;

    value->size = 0;
    for (size_t i = 0; i < size; i++) {
        char byte = value->bytes[i], next = '\0';

        if (i + 1 < size)
            next = value->bytes[i + 1];
        if (byte == '$' && (next == '{' || next == '_' || ((next | 32) >= 'a' && (next | 32) <= 'z')))
            return false;
        i += byte == '$' && next == '$';
        put(value, byte);
    }
    return true;
}

static int read_value(const struct written *written, struct environment_entry *entry)
{
    if (secret_reserve(&entry->value, written->size + 1) < 0)
        return -1;
    unquote(written, &entry->value);
    if (written->quote == '"')
        expand_escapes(&entry->value);
    if (written->quote != '\'' && !expand_dollars(&entry->value))
        entry->kind = ENVIRONMENT_EXPANDED;
    put(&entry->value, '\0');
    entry->value.size--;
    return 0;
}

/* ---- The text ---- */

static int find_nul(const char *text, size_t size, struct environment_fault *fault)
{
    const char *nul = memchr(text, '\0', size);
    struct scanner scanner = {.at = text, .end = nul, .line = 1};

    if (!nul)
        return 0;
    for (; scanner.at < nul; scanner.at++)
        scanner.line += *scanner.at == '\n';
    return refuse(&scanner, "it has a NUL byte", fault);
}

static void note(struct environment_entry *entry, size_t line, bool is_inherited)
{
    if (!entry->times++)
        entry->first_line = line;
    entry->last_line = line;
    entry->kind = is_inherited ? ENVIRONMENT_INHERITED : ENVIRONMENT_LITERAL;
}

int environment_find(const char *text, size_t size, const char *name, struct environment_entry *entry,
                     struct environment_fault *fault)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t skipped = begins_with(text, size, mark) ? sizeof mark - 1 : 0;
    struct scanner scanner = {text + skipped, text + size, 1};
    struct written last = {0};

    *entry = (struct environment_entry){0};
    *fault = (struct environment_fault){0};
    if (find_nul(text, size, fault) < 0)
        return -1;
    while (find_statement(&scanner)) {
        struct written value = {0};
        const char *found;
        size_t length, line;
        char ending;

        skip_export(&scanner);
        line = scanner.line;
        if (take_name(&scanner, &found, &length, &ending, fault) < 0 ||
            (ending != '\n' && take_value(&scanner, &value, fault) < 0))
            return -1;
        if (length == strlen(name) && !memcmp(found, name, length)) {
            note(entry, line, ending == '\n');
            last = value;
        }
    }
    return entry->kind == ENVIRONMENT_LITERAL ? read_value(&last, entry) : 0;
}
