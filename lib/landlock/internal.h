/* Shared by the files of lib/landlock, and by nobody else. */
#ifndef LANDLOCK_INTERNAL_H
#define LANDLOCK_INTERNAL_H

#include "landlock/landlock.h"

/* Sets LANDLOCK_NOT_ENFORCED; `sign` is what gave it away. Returns -1. */
int say_not_enforced(struct error *error, const char *sign) __attribute__((cold));

#endif
