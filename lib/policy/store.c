#include "policy/internal.h"

#include <stdalign.h>
#include <string.h>

struct chunk {
    struct chunk *next;
    size_t size, used;
    alignas(max_align_t) char bytes[];
};

struct policy_store {
    struct chunk *newest;
};

struct policy_store *store_new(void)
{
    return calloc(1, sizeof(struct policy_store));
}

void store_free(struct policy_store *store)
{
    if (!store)
        return;
    for (struct chunk *chunk = store->newest, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(store);
}

void *store_get(struct policy_store *store, size_t size)
{
    enum { FIRST_SIZE = 480, MOST_SIZE = 64 * 1024 };
    struct chunk *chunk = store->newest;
    void *taken;

    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!chunk || chunk->size - chunk->used < size) {
        size_t bytes = !chunk ? FIRST_SIZE : chunk->size < MOST_SIZE / 2 ? chunk->size * 2 : MOST_SIZE;

        bytes = size > bytes ? size : bytes;
        chunk = malloc(sizeof *chunk + bytes);
        if (!chunk)
            return NULL;
        *chunk = (struct chunk){.next = store->newest, .size = bytes};
        store->newest = chunk;
    }
    taken = chunk->bytes + chunk->used;
    chunk->used += size;
    return taken;
}

char *keep_text(struct parser *parser, const char *text, size_t length)
{
    char *copy = store_get(parser->policy->store, length + 1);

    if (!copy) {
        out_of_memory(parser);
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
