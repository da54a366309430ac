/*
 * Names and paths of files, and the limit of an import, lib/chat/names.c. The first byte of the input says which, the rest is the text.
 * What must come of it is told by a second opinion, which decodes the text to code points first.
 */
#include "chat/chat.h"
#include "report.h"

#include <string.h>

enum {
    NAME_ACCEPTED,
    NAME_REFUSED,
    PATH_ACCEPTED,
    PATH_REFUSED,
    PATH_TOO_LONG,
    LIMIT_READ,
    LIMIT_HUGE,
    LIMIT_REFUSED
};
struct tally tallies[] = {[NAME_ACCEPTED] = {"names accepted", 0}, [NAME_REFUSED] = {"names refused", 0},
                          [PATH_ACCEPTED] = {"paths accepted", 0}, [PATH_REFUSED] = {"paths refused", 0},
                          [PATH_TOO_LONG] = {"paths too long", 0}, [LIMIT_READ] = {"limits read", 0},
                          [LIMIT_HUGE] = {"limits beyond all", 0}, [LIMIT_REFUSED] = {"limits refused", 0}};
const size_t tally_count = array_size(tallies);

static const char *present;
static struct error error;

void describe_input(FILE *out)
{
    text_write_safe(out, present);
    putc('\n', out);
}

/* ---- The second opinion ---- */

enum { MALFORMED = -1 };

/* The code point at *text, which is moved behind it: by the bits, and what is longer than it must be is found at the end. */
static long decode(const unsigned char **text)
{
    static const long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned first = *(*text)++;
    int length = 0;
    long point;

    while (length < 8 && first & 0x80u >> length)
        length++;
    if (!length)
        return first;
    if (length == 1 || length > 4)
        return MALFORMED;
    point = first & (0x7fu >> length);
    for (int i = 1; i < length; i++, (*text)++) {
        if (**text >> 6 != 2)
            return MALFORMED;
        point = point << 6 | (**text & 0x3f);
    }
    return point < least[length] || point > 0x10ffff || (point >> 11) == 0x1b ? MALFORMED : point;
}

/* Whether the text up to a NUL, or to a slash where that ends it, is a name; *end: behind it. */
static bool is_name(const unsigned char *text, bool slash_ends, const unsigned char **end)
{
    const unsigned char *begin = text;
    size_t points = 0, dots = 0;
    bool is_good = true;

    while (*text && !(slash_ends && *text == '/')) {
        const unsigned char *before = text;
        long point = decode(&text);

        if (point == MALFORMED)
            text = before + 1;
        is_good &= point >= 0x20 && point != '/' && (point < 0x7f || point > 0x9f);
        dots += point == '.';
        points++;
    }
    *end = text;
    return is_good && points && text - begin < 256 && !(dots == points && points < 3);
}

static bool is_path(const unsigned char *text)
{
    bool is_good = true;

    for (;; text++) {
        is_good &= is_name(text, true, &text);
        if (!*text)
            return is_good;
    }
}

/* Whether the text is digits, not all of them 0; *limit: the number, or the most that there is. */
static bool is_limit(const char *text, size_t *limit)
{
    bool is_huge = false;

    *limit = 0;
    if (!*text || strspn(text, "0123456789") != strlen(text))
        return false;
    for (; *text; text++)
        is_huge |= __builtin_mul_overflow(*limit, 10u, limit) ||
                   __builtin_add_overflow(*limit, (size_t)(*text - '0'), limit);
    if (is_huge)
        *limit = SIZE_MAX;
    return *limit;
}

/* ---- The trials ---- */

static void check_answer(int result, bool is_good, int code)
{
    promise(result == (is_good ? 0 : -1), "%d: %s", result, error.message);
    promise(error.code == (is_good ? 0 : code), "code %d", error.code);
    promise(is_good || (error.message[0] && error.hint[0]), "no reason or no hint");
}

static void try_name(const char *text)
{
    const unsigned char *end;
    bool is_good = is_name((const unsigned char *)text, false, &end);

    check_answer(chat_check_name(text, &error), is_good, CHAT_NAME);
    tally(is_good ? NAME_ACCEPTED : NAME_REFUSED);
    if (!is_good)
        return;
    promise(chat_check_path(text, &error) == 0, "a name and no path: %s", error.message);
    promise(!strchr(text, '/'), "a slash");
}

static void try_path(const char *text)
{
    bool is_short = strlen(text) < PATH_MAX, is_good = is_path((const unsigned char *)text);

    check_answer(chat_check_path(text, &error), is_good && is_short, CHAT_NAME);
    tally(!is_short ? PATH_TOO_LONG : is_good ? PATH_ACCEPTED : PATH_REFUSED);
}

static void try_limit(const char *text)
{
    size_t limit, expected;
    bool is_good = is_limit(text, &expected);

    check_answer(chat_read_limit(text, &limit, &error), is_good, CHAT_USAGE);
    tally(!is_good ? LIMIT_REFUSED : expected == SIZE_MAX ? LIMIT_HUGE : LIMIT_READ);
    promise(!is_good || limit == expected, "%zu, and should be %zu", limit, expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const trials[])(const char *) = {try_name, try_path, try_limit};
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    error = (struct error){0};
    present = size ? text + 1 : text;
    trials[size ? data[0] % array_size(trials) : 0](present);
    free(text);
    return 0;
}

/* ---- Mutations that know the pieces ---- */

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static const char *const pieces[] = {"/",
                                         ".",
                                         "..",
                                         "/../",
                                         "a",
                                         "й",
                                         "и\xcc\x86",
                                         "😀",
                                         "\xc0\xaf",
                                         "\xe0\x80\xaf",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xc2\x80",
                                         "\xc2\xa0",
                                         "\x7f",
                                         "\x80",
                                         "\xd0",
                                         "\n",
                                         "0",
                                         "18446744073709551615",
                                         "9",
                                         "щщщщщщщщщщщщщщщщщщщщщщщщщщщщщщщщ"};
    const char *piece = pieces[roll(&seed, array_size(pieces))];
    size_t length = strlen(piece), times = roll(&seed, 4) ? 1 : 1 + roll(&seed, 64), at;

    if (!size || roll(&seed, 2))
        return LLVMFuzzerMutate(data, size, most);
    at = 1 + roll(&seed, (unsigned)size);
    for (size_t i = 0; i < times && size + length <= most; i++) {
        memmove(data + at + length, data + at, size - at);
        for (size_t j = 0; j < length; j++)
            data[at + j] = (uint8_t)piece[j];
        size += length;
    }
    return size;
}
