/* Shared by the drivers (launch.c, container.c) and the floors (floor.c): how a floor is told its rules, and what its container is. */
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

/* The user and the described paths of the container that container.c makes. */
enum { CONTAINER_USER = 1000 };
#define CONTAINER_READ_ONLY \
    {                       \
        "/", "/opt/main.py" \
    }
#define CONTAINER_WRITABLE \
    {                      \
        "/tmp", "/sandbox" \
    }

/* Of a floor: what it checks before it restricts itself. 0, or -1: the container is not as it must be. Of the three
 * floor_nothing.c checks nothing, floor_by_hand.c and floor_libraries.c what the helper does. */
int check_container(void);

#endif
