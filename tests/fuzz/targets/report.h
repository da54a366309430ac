/* What the targets share: how a broken promise is told, and how bytes become choices. */
#ifndef REPORT_H
#define REPORT_H

#include "base/base.h"

/* Ends the process where `condition` does not hold, which libFuzzer takes for a crash; says what was promised. */
#define promise(condition, ...)                                       \
    do {                                                              \
        if (!(condition)) {                                           \
            tell_broken(__FILE__, __LINE__, #condition, __VA_ARGS__); \
            abort();                                                  \
        }                                                             \
    } while (0)

void tell_broken(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));

/* Called before the process ends: what the input was, in words. */
void describe_input(FILE *out);

/* ---- What a run must have met ---- */

/* Each target counts what it has tested; the counts are printed at the end. One that is 0 after the corpus tells that it is none. */
struct tally {
    const char *what;
    unsigned long count;
};
extern struct tally tallies[];
extern const size_t tally_count;

/* Counts one; libFuzzer takes it for something to be covered, too. */
void tally(int index);

/* ---- The input as a sequence of choices ---- */

struct choices {
    const uint8_t *bytes;
    size_t size;
};

/* The next byte, reduced to [0, count); 0 where the input has ended. */
unsigned choose(struct choices *choices, unsigned count);

/* ---- A mutator's dice ---- */

unsigned roll(unsigned *seed, unsigned count);

/* A quarter of the time bytes without any order, `length` at most, which are choices like any other; else libFuzzer's mutation. */
size_t mutate_choices(uint8_t *data, size_t size, size_t most, size_t length, unsigned seed);

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
