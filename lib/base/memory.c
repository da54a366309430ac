#include "base/base.h"

#include <errno.h>
#include <string.h>

int array_reserve(void *items, size_t *capacity, size_t count, size_t size)
{
    enum { FIRST_CAPACITY = 4 };
    void *old, *grown;
    size_t wanted, bytes;

    if (count < *capacity)
        return 0;
    wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    if (wanted <= count)
        wanted = count + 1;
    if (__builtin_mul_overflow(wanted, size, &bytes)) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(&old, items, sizeof old);
    grown = realloc(old, bytes);
    if (!grown)
        return -1;
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return 0; /* cppcheck-suppress memleak ; *items has it now */
}
