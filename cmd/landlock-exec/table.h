/* The options of landlock-exec. */
#ifndef LANDLOCK_EXEC_TABLE_H
#define LANDLOCK_EXEC_TABLE_H

#include "command/command.h"

enum landlock_exec_option {
    EXEC_POLICY = 'p',
    EXEC_DEFINE = 'D',
    EXEC_DRY_RUN = 'n',
    EXEC_VERBOSE = 'v',
    EXEC_HELP = 'h',
    EXEC_VERSION = 'V',
    EXEC_PASS_FD = COMMAND_LONG_ONLY,
    EXEC_STATUS_FD,
    EXEC_MAX_ABI
};

extern const struct command_table landlock_exec_table;

#endif
