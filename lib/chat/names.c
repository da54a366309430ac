#include "chat/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* ---- What a name may be ---- */

static bool is_control(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0], second = length > 1 ? (unsigned char)text[1] : 0;

    if (length == 1)
        return first < 0x20 || first == 0x7f;
    return length == 2 && first == 0xc2 && second < 0xa0; /* C1: U+0080 to U+009F */
}

/* What is wrong with the `size` bytes at `name`; NULL: nothing. */
static const char *fault_of(const char *name, size_t size)
{
    if (!size)
        return "a name is empty";
    if (size > NAME_MAX)
        return "a name has more than 255 bytes";
    if (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.')))
        return "'.' and '..' are no names of files";
    for (size_t at = 0, step; at < size; at += step) {
        step = utf8_sequence(name + at, size - at);
        if (!step)
            return "a name is not valid UTF-8";
        if (is_control(name + at, step))
            return "a name has a control character";
        if (name[at] == '/')
            return "a name has a slash";
    }
    return NULL;
}

static int say_fault(const char *name, const char *fault, struct error *error)
{
    error_set(error, CHAT_NAME, "%s: %s", name, fault);
    return error_hint(error, "expected 1 to 255 bytes of UTF-8 without slashes and control characters, and "
                             "not . or ..");
}

int chat_check_name(const char *name, struct error *error)
{
    const char *fault = fault_of(name, strlen(name));

    return fault ? say_fault(name, fault, error) : 0;
}

int chat_check_path(const char *path, struct error *error)
{
    const char *fault = strlen(path) < PATH_MAX ? NULL : "the path is too long";

    for (const char *name = path; !fault; name++) {
        size_t size = strcspn(name, "/");

        fault = fault_of(name, size);
        name += size;
        if (!*name)
            break;
    }
    return fault ? say_fault(path, fault, error) : 0;
}

int chat_read_limit(const char *text, size_t *limit, struct error *error)
{
    unsigned long long number;
    char *end;

    *limit = CHAT_MOST_IMPORTED;
    if (!text)
        return 0;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && number) {
        *limit = errno || number > SIZE_MAX ? SIZE_MAX : (size_t)number; /* more than there can be files */
        return 0;
    }
    error_set(error, CHAT_USAGE, "LLM_MAX_ATTACHMENT_FILES: '%s' is not a whole number from 1 up", text);
    return error_hint(error, "set it to the number of files that a request may bring, or unset it for %d",
                      CHAT_MOST_IMPORTED);
}

/* ---- The names in a directory ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int keep_name(struct names *names, const char *name)
{
    char *copy;

    if (array_reserve(&names->items, &names->capacity, names->count, sizeof *names->items) < 0)
        return -1;
    copy = strdup(name);
    if (!copy)
        return -1;
    names->items[names->count++] = copy;
    return 0;
}

static int read_entries(DIR *stream, size_t most, bool (*wants)(const char *, unsigned char),
                        struct names *names)
{
    struct dirent *entry;

    for (errno = 0; (entry = readdir(stream)); errno = 0) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            (wants && !wants(entry->d_name, entry->d_type)))
            continue;
        if (names->count == most) {
            errno = EOVERFLOW;
            return -1;
        }
        if (keep_name(names, entry->d_name) < 0)
            return -1;
    }
    return errno ? -1 : 0;
}

int read_names(int directory, size_t most, bool (*wants)(const char *, unsigned char), struct names *names)
{
    auto_close int fd =
        openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with a place of its own */
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    int result, failure;

    *names = (struct names){0};
    if (!stream)
        return -1;
    take_fd(&fd);
    result = read_entries(stream, most, wants, names);
    failure = errno;
    closedir(stream);
    errno = failure;
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return result;
}

void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}
