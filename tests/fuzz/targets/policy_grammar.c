/* Mutations of a policy's text that know the language: its words come from the tables that the parser itself reads. */
#include "policy/internal.h"
#include "report.h"

#include <string.h>

static const char *const words[] = {
    "policy 1",
    "-",
    "\"",
    "\\\n",
    "\\x41",
    "\\x00",
    "${A}",
    "${B}",
    "\\$",
    "#",
    "A",
    "B",
    "A*",
    "A=b",
    "A=\"${B} c\"",
    "/",
    "/a",
    "-/a",
    "/a/b",
    "/a//b",
    "/a/",
    "/./a",
    "/a/..",
    "\"/a b\"",
    "a",
    "-a",
    "b/c",
    "/etc/p/a",
    "unsafe",
    "0",
    "1",
    "11",
    "12",
    "443",
    "8000-8010",
    "65535",
    "65536",
    "2-1",
    "4294967294",
    "1K",
    "9T",
    "18446744073709551615",
    "none",
    "check",
    "uid",
    "read-only",
    "writable",
    "old-abi",
    "always",
    "capabilities",
    "keep",
    "set",
    "on",
    "off",
    "abi",
    "allowed",
    "denied",
    "\xc3\xa9",
    "\xe2\x80\x8b",
    "\xff",
    "\x01",
    "\r",
    "\xef\xbb\xbf",
};

static const char *const statements[] = {
    "policy 1",
    "include b",
    "include -c",
    "include ../p/a",
    "define A /a",
    "define B \"${A}/b\"",
    "define A ${B}",
    "container uid 1000",
    "container capabilities none",
    "container read-only / ${A}",
    "container writable docker /a",
    "container check always",
    "expect denied read_file /a",
    "expect allowed connect_tcp 443 8000-8010",
    "environment keep LC_* HOME",
    "environment set A=b \"C=${A} d\"",
    "require abi 1",
    "require bind_tcp,signal",
    "unrestricted network,signal",
    "run python3 ${A} \"b c\"",
    "private /opt/main.py",
    "directory ${A}",
    "audit on",
    "limit core 0",
};

static const char *some_word(unsigned *seed)
{
    switch (roll(seed, 7)) {
    case 0:
        return keyword_table[roll(seed, (unsigned)keyword_count)].name;
    case 1:
    case 2:
        return policy_right_table[roll(seed, (unsigned)policy_right_count)].name;
    case 3:
        return policy_group_table[roll(seed, (unsigned)policy_group_count)].name;
    case 4:
        return policy_resource_table[roll(seed, (unsigned)policy_resource_count)].name;
    case 5:
        return policy_preset_table[roll(seed, (unsigned)policy_preset_count)].name;
    default:
        return words[roll(seed, array_size(words))];
    }
}

static size_t put_rights(unsigned *seed, char *out, size_t size)
{
    size_t length = 0;

    for (unsigned left = 1 + roll(seed, 4); left && length < size; left--) {
        bool is_group = !roll(seed, 4);
        const char *name = is_group ? policy_group_table[roll(seed, (unsigned)policy_group_count)].name
                                    : policy_right_table[roll(seed, (unsigned)policy_right_count)].name;

        length += (size_t)snprintf(out + length, size - length, "%s%s", length ? "," : "", name);
    }
    return length < size ? length : size;
}

/* A statement, most of them sound. */
static size_t put_statement(unsigned *seed, char *out, size_t size)
{
    static const char *const beginnings[] = {"allow ", "expect denied ", "expect allowed ", "require ",
                                             "unrestricted "};
    size_t length;

    if (roll(seed, 3))
        return (size_t)snprintf(out, size, "%s", statements[roll(seed, array_size(statements))]);
    if (!roll(seed, 4))
        return (size_t)snprintf(out, size, "limit %s %u%.1s",
                                policy_resource_table[roll(seed, (unsigned)policy_resource_count)].name,
                                roll(seed, 2000), &"KMGT"[roll(seed, 5)]);
    length = (size_t)snprintf(out, size, "%s", beginnings[roll(seed, array_size(beginnings))]);
    length += put_rights(seed, out + length, size - length);
    if (roll(seed, 4))
        length += (size_t)snprintf(out + length, size - length, " %s", words[roll(seed, array_size(words))]);
    return length;
}

struct span {
    size_t from, to;
};

/* A line with its newline, or a word with the blank behind it. */
static struct span some_span(const uint8_t *data, size_t size, const char *ends, unsigned *seed)
{
    size_t at = size ? roll(seed, (unsigned)size) : 0;
    struct span span = {at, at};

    while (span.from && !strchr(ends, data[span.from - 1]))
        span.from--;
    while (span.to < size && !strchr(ends, data[span.to]))
        span.to++;
    span.to += span.to < size;
    return span;
}

/* Puts `length` bytes in the place of a span. */
static size_t replace(uint8_t *data, size_t size, size_t most, struct span span, const char *text,
                      size_t length)
{
    if (size - (span.to - span.from) + length > most)
        return size;
    memmove(data + span.from + length, data + span.to, size - span.to);
    memcpy(data + span.from, text, length);
    return size - (span.to - span.from) + length;
}

static size_t replace_word(uint8_t *data, size_t size, size_t most, unsigned *seed)
{
    struct span span = some_span(data, size, " \t\n,", seed);

    const char *word = some_word(seed);

    span.to -= span.to > span.from && strchr(" \t\n,", data[span.to - 1]);
    return replace(data, size, most, span, word, strlen(word));
}

static size_t insert_statement(uint8_t *data, size_t size, size_t most, unsigned *seed)
{
    struct span span = some_span(data, size, "\n", seed);
    char line[512];
    size_t length = put_statement(seed, line, sizeof line - 1);

    line[length++] = '\n';
    return replace(data, size, most, (struct span){span.from, span.from}, line, length);
}

static size_t copy_line(uint8_t *data, size_t size, size_t most, unsigned *seed)
{
    struct span span = some_span(data, size, "\n", seed), place = some_span(data, size, "\n", seed);
    char line[1024];
    size_t length = span.to - span.from;

    if (length > sizeof line)
        return size;
    memcpy(line, data + span.from, length);
    return replace(data, size, most, (struct span){place.from, place.from}, line, length);
}

/* A statement, and at the end what makes something of it: the file that is included, or the definition's value from outside. */
static size_t insert_pair(uint8_t *data, size_t size, size_t most, unsigned *seed)
{
    static const struct {
        const char *statement, *section;
    } pairs[] = {{"include a\n", "\n==> a\npolicy 1\n"},
                 {"include b\n", "\n==> b\npolicy 1\nallow read ${A}\nlimit core 0\n"},
                 {"include x/../c\n", "\n==> c\npolicy 1\ndefine A /c\ninclude b\n"},
                 {"include -d\n", "\n==> d\npolicy 1\nrun a\n"},
                 {"define A /a\n", "\n==> =A=/d\n"},
                 {"define B b\nrun ${B}\n", "\n==> =B=\n"},
                 {"", "\n==> !7\n"},
                 {"", "\n==> !33\n"}};
    struct span span = some_span(data, size, "\n", seed);
    unsigned which = roll(seed, array_size(pairs));
    const char *statement = pairs[which].statement, *section = pairs[which].section;

    size = replace(data, size, most, (struct span){span.from, span.from}, statement, strlen(statement));
    return replace(data, size, most, (struct span){size, size}, section, strlen(section));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    switch (roll(&seed, 10)) {
    case 0:
    case 1:
        return insert_statement(data, size, most, &seed);
    case 2:
    case 3:
        return replace_word(data, size, most, &seed);
    case 4:
        return copy_line(data, size, most, &seed);
    case 5:
        return replace(data, size, most, some_span(data, size, "\n", &seed), "", 0);
    case 6:
        return insert_pair(data, size, most, &seed);
    default:
        return LLVMFuzzerMutate(data, size, most);
    }
}
