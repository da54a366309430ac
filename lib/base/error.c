#include "base/base.h"

#include <stdarg.h>
#include <string.h>

static void format_bounded(char *out, const char *format, va_list arguments)
{
    int length = vsnprintf(out, ERROR_TEXT_SIZE, format, arguments);

    if (length < 0)
        out[0] = '\0';
    else if (length >= ERROR_TEXT_SIZE)
        memcpy(out + ERROR_TEXT_SIZE - 4, "...", 4);
}

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list arguments;

    error->code = code;
    error->hint[0] = '\0';
    va_start(arguments, format);
    format_bounded(error->message, format, arguments);
    va_end(arguments);
    return -1;
}

int error_hint(struct error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    format_bounded(error->hint, format, arguments);
    va_end(arguments);
    return -1;
}
