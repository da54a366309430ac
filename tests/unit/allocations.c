#include "allocations.h"

#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t allocations; /* so far */
static size_t refused_at;  /* the one that is refused; 0: none */
static bool stays_refused; /* and every one after it */
static long in_use;        /* allocated and not yet freed */

bool is_refused(void)
{
    allocations++;
    if (!refused_at || (stays_refused ? allocations < refused_at : allocations != refused_at))
        return false;
    errno = ENOMEM;
    return true;
}

void refuse(size_t at, bool stays)
{
    allocations = 0;
    refused_at = at;
    stays_refused = stays;
}

void refuse_no_more(void)
{
    refused_at = 0;
}

size_t allocations_so_far(void)
{
    return allocations;
}

long allocations_in_use(void)
{
    return in_use;
}

static void *counted(void *allocated)
{
    in_use += allocated != NULL;
    return allocated;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *allocated);
void *__real_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
FILE *__real_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *allocated);
int __wrap_vasprintf(char **out, const char *format, va_list arguments);
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments);
void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *));
FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (is_refused())
        return NULL;
    return old ? __real_realloc(old, size) : counted(__real_realloc(NULL, size));
}

char *__wrap_strdup(const char *text)
{
    return is_refused() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *allocated)
{
    in_use -= allocated != NULL;
    __real_free(allocated);
}

/* On failure *out is undefined (asprintf(3)): what uses it all the same must fall over it. */
int __wrap_vasprintf(char **out, const char *format, va_list arguments)
{
    va_list again;
    int length;

    memset(out, 0x5a, sizeof *out);
    if (is_refused())
        return -1;
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *out = counted(__real_malloc((size_t)length + 1));
    return *out ? vsnprintf(*out, (size_t)length + 1, format, arguments) : -1;
}

/* What vasprintf() becomes with _FORTIFY_SOURCE. */
int __wrap___vasprintf_chk(char **out, int flag, const char *format, va_list arguments)
{
    (void)flag;
    return __wrap_vasprintf(out, format, arguments);
}

void *__wrap_tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
    return is_refused() ? NULL : __real_tsearch(key, root, compare);
}

FILE *__wrap_fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
    return is_refused() ? NULL : __real_fopencookie(cookie, mode, functions);
}
