/* The options and subcommands of landlock-policy. */
#ifndef LANDLOCK_POLICY_TABLE_H
#define LANDLOCK_POLICY_TABLE_H

#include "command/command.h"

enum landlock_policy_option {
    DEFINE = 'D',
    HELP = 'h',
    VERSION = 'V',
    FORMAT = COMMAND_LONG_ONLY,
    MAX_ABI,
    IGNORE,
    GATHER,
    OUTPUT,
    REPORT,
    RUNS
};

enum landlock_policy_subcommand {
    CHECK = 1,
    SHOW = 2,
    WHY = 4,
    TEST = 8,
    PROBE = 16,
    TRACE = 32,
    IMPORT = 64,
    EXPORT = 128
};

extern const struct command_table landlock_policy_table;

#endif
