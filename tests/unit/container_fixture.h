/*
 * Shared by the tests of lib/container: expectations, and what is expected of findings.
 */
#ifndef CONTAINER_FIXTURE_H
#define CONTAINER_FIXTURE_H

#include "child.h"
#include "container/internal.h"

enum { CONTAINER_ERROR = 1 }; /* the one error.code of lib/container */

#define auto_expectation __attribute__((cleanup(container_expectation_free)))
#define auto_findings __attribute__((cleanup(container_findings_free)))

/* In a child or in the test itself: memory that runs out ends either. */
static inline void expect_read_only(struct container_expectation *expectation, const char *path,
                                    uint64_t mount)
{
    const struct container_place place = {.path = path, .mount = mount};

    if (container_add_place(&expectation->read_only, &expectation->read_only_count,
                            &expectation->read_only_capacity, &place) < 0)
        abort();
}

static inline void expect_held(struct container_expectation *expectation, const char *text, uint64_t mount)
{
    const struct container_place place = {.path = text, .mount = mount};

    if (container_add_place(&expectation->held, &expectation->held_count, &expectation->held_capacity,
                            &place) < 0)
        abort();
}

static inline void expect_writable(struct container_expectation *expectation,
                                   const struct container_place *place)
{
    if (container_add_place(&expectation->writable, &expectation->writable_count,
                            &expectation->writable_capacity, place) < 0)
        abort();
}

/* A finding that must be there: its message, and a part of its hint (NULL: whatever it is). */
struct wanted_finding {
    const char *message, *hint;
};

/* Whether there are exactly these findings, in this order; if not, they are shown. `name` says of what. */
static inline bool are_found(const struct container_findings *findings, const struct wanted_finding *wanted,
                             size_t count, const char *name)
{
    bool is_so = findings->count == count;

    for (size_t i = 0; is_so && i < count; i++)
        is_so = !strcmp(findings->items[i].message, wanted[i].message) &&
                (!wanted[i].hint || strstr(findings->items[i].hint, wanted[i].hint));
    if (is_so)
        return true;
    for (size_t i = 0; i < findings->count; i++)
        dprintf(STDERR_FILENO, "%s: found %s\n    hint: %s\n", name, findings->items[i].message,
                findings->items[i].hint);
    for (size_t i = 0; i < count; i++)
        dprintf(STDERR_FILENO, "%s: wanted %s\n    hint: %s\n", name, wanted[i].message,
                wanted[i].hint ? wanted[i].hint : "");
    return false;
}

#endif
