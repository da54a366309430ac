#include "token/token.h"

const char token_variable[] = "AI_INTERPRETER_SERVICE_TOKEN";

/* Names are given once and stay. */
const struct token_refusal_row token_refusal_table[] = {
    {TOKEN_MISSING, "missing", 1, "the file is missing, or does not give the variable"},
    {TOKEN_SHORT, "short", 1, "the token has fewer than 32 characters"},
    {TOKEN_UNUSABLE, "unusable", 1, "the token has a blank, or what is not printable ASCII"},
    {TOKEN_EXPANDED, "variable", 1, "the token refers to another variable"},
    {TOKEN_INHERITED, "inherited", 1, "the variable's name stands alone, without '='"},
    {TOKEN_EXPOSED, "exposed", 1, "the file is open to its group or to others"},
    {TOKEN_SYNTAX, "syntax", 1, "the file is not one that Docker Compose reads"},
    {TOKEN_LINK, "link", 1, "the file is a symbolic link"},
    {TOKEN_KIND, "kind", 1, "the file is not a regular file"},
    {TOKEN_SIZE, "size", 1, "the file has more than 1 MiB"},
    {TOKEN_USAGE, "usage", 2, "the command line is wrong"},
    {TOKEN_PERMISSION, "permission", 2, "a permission is missing, or the file system is read-only"},
    {TOKEN_BUSY, "busy", 2, "another changes a file in the directory"},
    {TOKEN_SPACE, "space", 2, "there is no space for the file, or a limit is reached"},
    {TOKEN_SYSTEM, "system", 2, "the system failed"},
};
const size_t token_refusal_count = array_size(token_refusal_table);

const struct token_refusal_row *token_refusal(int code)
{
    for (size_t i = 0; i < token_refusal_count; i++)
        if (token_refusal_table[i].code == code)
            return &token_refusal_table[i];
    return &token_refusal_table[token_refusal_count - 1];
}
