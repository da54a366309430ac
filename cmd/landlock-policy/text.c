#include "command.h"

#include <stdarg.h>
#include <string.h>

static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && no[0]);
}

void put_text(const char *text)
{
    text_write_safe(stdout, text);
}

void put_coloured(enum colour colour, const char *text)
{
    static const char *const codes[] = {[RED] = "31", [GREEN] = "32", [YELLOW] = "33", [BOLD] = "1"};
    bool is_coloured = colour != PLAIN && has_colours();

    if (is_coloured)
        printf("\033[%sm", codes[colour]);
    put_text(text);
    if (is_coloured)
        fputs("\033[0m", stdout);
}

void put_column(const char *text, size_t width)
{
    size_t characters = 0;

    for (const char *at = text; *at; at++)
        characters += ((unsigned char)*at & 0xc0) != 0x80;
    put_text(text);
    printf("%*s", characters < width ? (int)(width - characters) : 1, "");
}

void put_fact(const char *label, const char *text)
{
    put_column(label, LABEL_WIDTH);
    put_text(text);
    putchar('\n');
}

void put_reason(const char *format, ...)
{
    auto_free char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = text_of_list(format, arguments);
    va_end(arguments);
    fputs("    ", stdout);
    put_text(text ? text : "(out of memory)");
    putchar('\n');
}

char *position_text(const struct policy *policy, const struct policy_position *position)
{
    size_t line, column;

    policy_locate(policy, position, &line, &column);
    return text_of("%s:%zu:%zu", policy->files[position->file].name, line, column);
}
