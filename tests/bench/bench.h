/* Shared by the driver (launch.c) and the floor (floor.c): how the floor is told its rules. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

enum {
    CREATE_RULESET = 444, /* Landlock's calls, the same numbers on every architecture */
    ADD_RULE = 445,
    RESTRICT_SELF = 446
};

enum { FLOOR_RULES_FD = 3, FLOOR_MOST_BYTES = 4 * 1024 * 1024 };

/* What the floor reads from FLOOR_RULES_FD: this, then for each rule the rights (8 bytes, unaligned) and the path with its NUL. */
struct floor_header {
    uint64_t handled[3]; /* fs, net, scoped: struct landlock_ruleset_attr */
    uint32_t restrict_flags;
    uint32_t rule_count;
};

#endif
