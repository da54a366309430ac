#include "trace/internal.h"

/* Open addressing: the place of a thread, or the free one where it would be. */
static struct tracee *place_of(const struct tracees *tracees, pid_t tid)
{
    size_t at = (size_t)tid * 2654435761U & (tracees->capacity - 1);

    while (tracees->items[at].tid && tracees->items[at].tid != tid)
        at = (at + 1) & (tracees->capacity - 1);
    return &tracees->items[at];
}

static bool grow(struct tracees *tracees)
{
    enum { FIRST = 64 };
    struct tracees grown = {.capacity = tracees->capacity ? tracees->capacity * 2 : FIRST};

    grown.items = calloc(grown.capacity, sizeof *grown.items);
    if (!grown.items)
        return false;
    for (size_t i = 0; i < tracees->capacity; i++)
        if (tracees->items[i].tid)
            *place_of(&grown, tracees->items[i].tid) = tracees->items[i];
    grown.count = tracees->count;
    free(tracees->items);
    *tracees = grown;
    return true;
}

struct tracee *find_tracee(const struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee = tracees->capacity ? place_of(tracees, tid) : NULL;

    return tracee && tracee->tid ? tracee : NULL;
}

struct tracee *take_tracee(struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee;

    if (tracees->count * 2 >= tracees->capacity && !grow(tracees))
        return NULL;
    tracee = place_of(tracees, tid);
    if (!tracee->tid) {
        *tracee = (struct tracee){.tid = tid};
        tracees->count++;
    }
    return tracee;
}

/* Those behind it move up, so that they are found. */
void drop_tracee(struct tracees *tracees, struct tracee *tracee)
{
    size_t at = (size_t)(tracee - tracees->items);

    tracee->tid = 0;
    tracees->count--;
    for (;;) {
        struct tracee moved;

        at = (at + 1) & (tracees->capacity - 1);
        moved = tracees->items[at];
        if (!moved.tid)
            return;
        tracees->items[at].tid = 0;
        *place_of(tracees, moved.tid) = moved;
    }
}
