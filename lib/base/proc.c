#include "base/base.h"

#include <errno.h>
#include <fcntl.h>

bool read_small(int fd, char *text, size_t size)
{
    size_t length = 0;
    ssize_t count = 0;

    while (fd >= 0 && length < size - 1 && (count = read(fd, text + length, size - 1 - length)) > 0)
        length += (size_t)count;
    text[length] = '\0';
    return fd >= 0 && count >= 0;
}

int is_as_before(int fd, const struct stat *before)
{
    struct stat now;

    if (fstat(fd, &now) < 0)
        return -1;
    return now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

char *read_bytes(int fd, size_t most, size_t *size)
{
    enum { PART = 4096 };
    char *text = NULL;
    size_t length = 0, capacity = 0;
    ssize_t count;

    do {
        if (array_reserve(&text, &capacity, length + PART, 1) < 0)
            break;
        count = read(fd, text + length, PART);
        length += count > 0 ? (size_t)count : 0;
        text[length] = '\0';
        if (count == 0) {
            *size = length;
            return text;
        }
        if (length > most) {
            errno = EFBIG;
            break;
        }
    } while (count > 0);
    free(text);
    return NULL;
}

char *read_text(int fd)
{
    size_t size;

    return read_bytes(fd, SIZE_MAX, &size);
}

char *read_text_file(const char *path)
{
    auto_close int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? NULL : read_text(fd);
}

bool read_small_file(const char *path, char *text, size_t size)
{
    auto_close int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

    return read_small(fd, text, size);
}

static bool next_number(const char **text, unsigned long *number)
{
    char *end;

    *number = strtoul(*text, &end, 10);
    if (end == *text)
        return false;
    *text = end;
    return true;
}

bool next_id_range(const char **text, struct id_range *range)
{
    return next_number(text, &range->inside) && next_number(text, &range->outside) &&
           next_number(text, &range->count);
}

int uid_stands_for_unmapped(uid_t uid)
{
    enum { LONGEST_MAP = 16384 }; /* 340 lines are allowed */
    char map[LONGEST_MAP], overflow[32];
    struct id_range range;
    const char *rest = map;

    if (!read_small_file("/proc/sys/kernel/overflowuid", overflow, sizeof overflow))
        return -1;
    if (strtoul(overflow, NULL, 10) != uid)
        return 0;
    if (!read_small_file("/proc/self/uid_map", map, LONGEST_MAP))
        return -1;
    while (next_id_range(&rest, &range))
        if (uid >= range.inside && uid - range.inside < range.count)
            return 0;
    return 1;
}

int uid_is_roots(uid_t uid)
{
    return uid == 0 ? 1 : uid_stands_for_unmapped(uid);
}

int uid_is_roots_or_own(uid_t uid)
{
    return uid == getuid() ? 1 : uid_is_roots(uid);
}
