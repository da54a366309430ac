#include "base/base.h"

#include <string.h>

enum { LONGEST = 32, NAMES_COMPARED = 256 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The restricted Damerau-Levenshtein distance; words longer than LONGEST are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[3][LONGEST + 1];
    size_t a_length = strnlen(a, LONGEST + 1), b_length = strnlen(b, LONGEST + 1);

    if (a_length > LONGEST || b_length > LONGEST)
        return LONGEST;
    for (unsigned j = 0; j <= b_length; j++)
        row[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned change = before[j - 1] + (a[i - 1] != b[j - 1]);

            now[j] = least(change, least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

const char *text_nearest(const char *word, size_t count, const char *(*name_at)(size_t, const void *),
                         const void *context)
{
    const char *nearest = NULL;
    unsigned smallest = (unsigned)strnlen(word, LONGEST) / 3 + 1;

    for (size_t i = 0; i < count && i < NAMES_COMPARED; i++) {
        const char *name = name_at(i, context);
        unsigned away = distance(word, name);

        if (away < smallest) {
            smallest = away;
            nearest = name;
        }
    }
    return nearest;
}
