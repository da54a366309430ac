#include "internal.h"

/* The value is never put right here: whoever wrote it may have given it to the other service, too. */
static int say_renewal(const char *file, struct error *error)
{
    static const char recreate[] = "docker compose up -d --no-deps --force-recreate aiserver "
                                   "aiserver-code-interpreter";

    if (file)
        return error_hint(error,
                          "remove every line that gives it, let 'service-token ensure %s' make a token, and "
                          "recreate both "
                          "services: %s",
                          file, recreate);
    return error_hint(error, "let 'service-token ensure .env' make one, and recreate both services: %s",
                      recreate);
}

static bool is_printable(const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (value[i] <= ' ' || value[i] > '~')
            return false;
    return true;
}

int judge_value(const char *where, const char *value, size_t length, const char *file, struct error *error)
{
    if (!is_printable(value, length))
        error_set(error, TOKEN_UNUSABLE,
                  "%s%s: it has a character that is no letter, digit or punctuation mark of ASCII", where,
                  token_variable);
    else if (length < TOKEN_LEAST)
        error_set(error, TOKEN_SHORT, "%s%s: it has %zu of at least %d characters", where, token_variable,
                  length, TOKEN_LEAST);
    else
        return 0;
    return say_renewal(file, error);
}

int token_check_value(const char *value, struct error *error)
{
    if (value)
        return judge_value("", value, strlen(value), NULL, error);
    error_set(error, TOKEN_MISSING, "%s: it is not set", token_variable);
    return say_renewal(NULL, error);
}
