#include "internal.h"

#include <fcntl.h>

static int say_missing(const char *file, const char *what, struct error *error)
{
    error_set(error, TOKEN_MISSING, "%s: %s", file, what);
    return error_hint(error, "let 'service-token ensure %s' add it", file);
}

static int say_exposed(const char *file, unsigned mode, struct error *error)
{
    error_set(error, TOKEN_EXPOSED, "%s: its mode is %03o, which lets others than its owner at it", file,
              mode);
    return error_hint(error,
                      "'service-token ensure %s' makes it 600; if it was open to people you do not "
                      "trust, remove the token's line before, and recreate both services",
                      file);
}

int token_check(const char *file, struct token_report *report, struct error *error)
{
    const struct place place = {AT_FDCWD, file, file};
    auto_content struct content content = {.fd = -1};

    *report = (struct token_report){0};
    if (!*file)
        return error_set(error, TOKEN_USAGE, "the name of the file is empty");
    if (content_open(&place, &content, error) < 0)
        return -1;
    content_report(&content, report);
    if (content_judge(&place, &content, error) < 0)
        return -1;
    if (!report->was_file)
        return say_missing(file, "there is no such file", error);
    if (!report->times)
        return say_missing(file, "it does not give AI_INTERPRETER_SERVICE_TOKEN", error);
    return report->mode & (S_IRWXG | S_IRWXO) ? say_exposed(file, report->mode, error) : 0;
}
