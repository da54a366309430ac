/*
 * Allocations of lib/ that can be refused: a program linked with refuse_allocations() (CMakeLists.txt) has the functions of
 * allocations.c in the place of the C library's.
 */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Refuses the allocation number `at` from now on (1: the next one), and every one after it if `stays`. */
void refuse(size_t at, bool stays);

/* How many there were since refuse(). */
size_t allocations_so_far(void);

void refuse_no_more(void);

/* Allocated and not yet freed. */
long allocations_in_use(void);

/* For what else asks for memory and is wrapped by the test itself: whether it is to be refused, which counts. */
bool is_refused(void);

#endif
