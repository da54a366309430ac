#include "base/base.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

static const struct name_row *row_in(const struct name_row *table, size_t count, int value)
{
    static const struct name_row none = {0, "", ""};

    for (size_t i = 0; i < count; i++)
        if (table[i].value == value)
            return &table[i];
    return &none;
}

const char *name_in(const struct name_row *table, size_t count, int value)
{
    return row_in(table, count, value)->name;
}

const char *help_in(const struct name_row *table, size_t count, int value)
{
    return row_in(table, count, value)->help;
}

bool is_at_or_below(const char *path, const char *top)
{
    size_t length = strcmp(top, "/") ? strlen(top) : 0;

    return !strncmp(path, top, length) && (!path[length] || path[length] == '/');
}

bool path_to_parent(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash || !path[1])
        return false;
    slash[slash == path] = '\0';
    return true;
}

char *text_of_list(const char *format, va_list arguments)
{
    char *text;

    return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *text_of(const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = text_of_list(format, arguments);
    va_end(arguments);
    return text;
}

size_t utf8_sequence(const char *text, size_t size)
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t length;

    if (!size)
        return 0;
    if (byte[0] < 0x80)
        return 1;
    length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f))
        return 0;
    return length;
}

static unsigned code_point(const char *text, size_t length)
{
    static const unsigned char lead_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned point = (unsigned char)text[0] & lead_mask[length];

    for (size_t i = 1; i < length; i++)
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    return point;
}

/* Control characters, line and paragraph separators, and Unicode's Default_Ignorable_Code_Point, bidirectional controls being
 * among them (DerivedCoreProperties.txt). */
static const struct {
    unsigned first, last;
} disturbing[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x061c, 0x061c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool utf8_disturbs(const char *text, size_t length)
{
    unsigned point = code_point(text, length);

    for (size_t i = 0; i < array_size(disturbing) && point >= disturbing[i].first; i++)
        if (point <= disturbing[i].last)
            return true;
    return false;
}

/* As JSON writes a character by its number: above U+FFFF as a surrogate pair (RFC 8259, section 7). */
static void write_json_number(FILE *out, unsigned point)
{
    if (point <= 0xffff)
        fprintf(out, "\\u%04x", point);
    else
        fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                0xdc00 + ((point - 0x10000) & 0x3ff));
}

void text_write_safe(FILE *out, const char *text)
{
    size_t left = strlen(text);

    while (left) {
        size_t length = utf8_sequence(text, left);
        size_t step = length ? length : 1;

        if (length && !utf8_disturbs(text, length))
            fwrite(text, 1, step, out);
        else
            for (size_t i = 0; i < step; i++)
                fprintf(out, "\\x%02x", (unsigned char)text[i]);
        text += step;
        left -= step;
    }
}

void text_write_json(FILE *out, const char *text)
{
    size_t left = strlen(text);

    putc('"', out);
    while (left) {
        size_t length = utf8_sequence(text, left);
        size_t step = length ? length : 1;
        unsigned char byte = (unsigned char)text[0];

        if (!length)
            fputs("\\ufffd", out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (utf8_disturbs(text, length))
            write_json_number(out, code_point(text, length));
        else
            fwrite(text, 1, step, out);
        text += step;
        left -= step;
    }
    putc('"', out);
}

int hold_off_signals(struct write_signals *before)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    return sigaction(SIGPIPE, &ignore, &before->pipe) < 0 || sigaction(SIGXFSZ, &ignore, &before->size) < 0
               ? -1
               : 0;
}

int restore_signals(const struct write_signals *before)
{
    return sigaction(SIGPIPE, &before->pipe, NULL) < 0 || sigaction(SIGXFSZ, &before->size, NULL) < 0 ? -1
                                                                                                      : 0;
}

int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            return -1;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int flush_output(void)
{
    if (fflush(stdout) != 0)
        return -1;
    errno = EIO;
    return ferror(stdout) ? -1 : 0;
}

/* As fopencookie(3) wants it: the number of bytes taken, 0 on failure. */
static ssize_t append(void *cookie, const char *bytes, size_t count)
{
    struct text *text = cookie;

    text->is_torn |= array_reserve(&text->bytes, &text->capacity, text->size + count, 1) < 0;
    if (text->is_torn)
        return 0;
    memcpy(text->bytes + text->size, bytes, count);
    text->size += count;
    text->bytes[text->size] = '\0';
    return (ssize_t)count;
}

FILE *text_open(struct text *text)
{
    FILE *out = fopencookie(text, "w", (cookie_io_functions_t){.write = append});

    if (out)
        append(text, "", 0);
    return out;
}

int text_close(FILE *out, struct text *text)
{
    if (fclose(out) == 0 && !text->is_torn)
        return 0;
    free(text->bytes);
    *text = (struct text){0};
    errno = ENOMEM;
    return -1;
}

static bool is_plain(const char *text, size_t length)
{
    return length > 1 ? !utf8_disturbs(text, length)
                      : (*text >= '0' && *text <= '9') || ((*text | 32) >= 'a' && (*text | 32) <= 'z') ||
                            strchr("/._-+:,=@%{}", *text);
}

char *text_as_word(const char *text)
{
    struct text word = {0};
    FILE *out = text_open(&word);

    if (!out)
        return NULL;
    for (size_t left = strlen(text), step; left; text += step, left -= step) {
        size_t length = utf8_sequence(text, left);

        step = length ? length : 1;
        if (length && is_plain(text, length))
            fwrite(text, 1, step, out);
        else if (strchr("\\\"#$", *text))
            fprintf(out, "\\%c", *text);
        else
            for (size_t i = 0; i < step; i++)
                fprintf(out, "\\x%02x", (unsigned char)text[i]);
    }
    return text_close(out, &word) == 0 ? word.bytes : NULL;
}

/* As text_write_safe() does, without memory: in many writes. */
static void write_safe_parts(int fd, const char *text)
{
    for (size_t left = strlen(text), step; left; text += step, left -= step) {
        size_t length = utf8_sequence(text, left);
        char escape[8];

        step = length ? length : 1;
        if (length && !utf8_disturbs(text, length))
            write_all(fd, text, step);
        else
            for (size_t i = 0; i < step; i++)
                write_all(fd, escape, (size_t)sprintf(escape, "\\x%02x", (unsigned char)text[i]));
    }
}

void text_write_line(int fd, const char *prefix, const char *text)
{
    struct text line = {0};
    FILE *out = text_open(&line);

    if (out) {
        fprintf(out, "%s", prefix);
        text_write_safe(out, text);
        putc('\n', out);
    }
    if (out && text_close(out, &line) == 0) {
        write_all(fd, line.bytes, line.size);
        free(line.bytes);
        return;
    }
    write_all(fd, prefix, strlen(prefix));
    write_safe_parts(fd, text);
    write_all(fd, "\n", 1);
}
