/*
 * value FILE [EXPECTED]: what lib/token takes the variable of a file for, for tests that know it from elsewhere. Exit status: 0 the value is
 * EXPECTED, 1 it is another, 2 the file is refused, 3 the variable is not given, 4 refers to others, 5 stands without a value.
 */
#include "token/internal.h"

#include <fcntl.h>

enum { SAME, OTHER, REFUSED, NONE, EXPANDED, INHERITED, BROKEN = 9 };

static int compare(const struct environment_entry *entry, const char *expected)
{
    switch (entry->kind) {
    case ENVIRONMENT_LITERAL:
        return entry->value.size == strlen(expected) &&
                       !memcmp(entry->value.bytes, expected, entry->value.size)
                   ? SAME
                   : OTHER;
    case ENVIRONMENT_EXPANDED:
        return EXPANDED;
    case ENVIRONMENT_INHERITED:
        return INHERITED;
    default:
        return NONE;
    }
}

int main(int count, char **arguments)
{
    auto_close int fd = count > 1 ? open(arguments[1], O_RDONLY | O_CLOEXEC) : -1;
    struct environment_entry entry;
    struct environment_fault fault;
    auto_free char *text = NULL;
    size_t size;
    int status;

    text = read_bytes(fd, SIZE_MAX / 2, &size);
    if (!text)
        return BROKEN;
    status = environment_find(text, size, token_variable, &entry, &fault) < 0
                 ? REFUSED
                 : compare(&entry, count > 2 ? arguments[2] : "");
    secret_wipe(&entry.value);
    return status;
}
