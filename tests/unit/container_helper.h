/* The time that lib/launch/helper.c gives the helper, as this test sets it: short only for a helper that shall use it up. */
#ifndef CONTAINER_HELPER_H
#define CONTAINER_HELPER_H

extern int helper_deadline_ms;

#define HELPER_DEADLINE_MS helper_deadline_ms

#endif
