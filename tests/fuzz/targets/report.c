#include "report.h"

#include <stdarg.h>

void tell_broken(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s:%d: broken promise: %s\n    ", file, line, condition);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\nThe input:\n", stderr);
    describe_input(stderr);
}

/* libFuzzer looks here as it does at the counters that the compiler adds, and empties it before each input. */
enum { MOST_TALLIES = 16 };
static uint8_t seen[MOST_TALLIES] __attribute__((section("__libfuzzer_extra_counters")));

void tally(int index)
{
    tallies[index].count++;
    seen[index] = 1;
}

static void print_tallies(void)
{
    for (size_t i = 0; i < tally_count; i++)
        fprintf(stderr, "tally %lu %s\n", tallies[i].count, tallies[i].what);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    return atexit(print_tallies);
}

unsigned choose(struct choices *choices, unsigned count)
{
    if (!choices->size)
        return 0;
    choices->size--;
    return *choices->bytes++ % count;
}

unsigned roll(unsigned *seed, unsigned count)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % count;
}

size_t mutate_choices(uint8_t *data, size_t size, size_t most, size_t length, unsigned seed)
{
    size_t from;

    if (roll(&seed, 4))
        return LLVMFuzzerMutate(data, size, most);
    length = length < most ? length : most;
    from = roll(&seed, 2) || size > length ? 0 : size / 2; /* all of it, or its end */
    for (size_t i = from; i < length; i++)
        data[i] = (uint8_t)roll(&seed, 256);
    return length;
}
