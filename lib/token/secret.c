#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int secret_reserve(struct secret *secret, size_t capacity)
{
    *secret = (struct secret){.bytes = malloc(capacity)};
    secret->capacity = secret->bytes ? capacity : 0;
    return secret->bytes ? 0 : -1;
}

void secret_wipe(struct secret *secret)
{
    if (secret->bytes)
        explicit_bzero(secret->bytes, secret->capacity);
    free(secret->bytes);
    *secret = (struct secret){0};
}

/* Where cores go to a program (core(5)) the limit is not looked at; whether the memory may be dumped is. */
int token_guard_memory(struct error *error)
{
    const struct rlimit none = {0, 0};

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && setrlimit(RLIMIT_CORE, &none) == 0)
        return 0;
    return error_set(error, TOKEN_SYSTEM, "core files cannot be turned off: %s", strerror(errno));
}
