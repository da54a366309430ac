#include "table.h"

static const struct command_option options[] = {
    {EXEC_POLICY, "policy", "FILE", "the policy; default: " DEFAULT_POLICY, VALUE_POLICY, 0},
    {EXEC_DEFINE, "define", "NAME=VALUE", "the value of a definition of the policy; repeatable",
     VALUE_DEFINITION, 0},
    {EXEC_PASS_FD, "pass-fd", "FD",
     "leave a descriptor open for the program; repeatable; all others above 2 are closed", VALUE_DESCRIPTOR,
     0},
    {EXEC_STATUS_FD, "status-fd", "FD",
     "write one line of JSON on what was done, before the program starts or on refusal", VALUE_DESCRIPTOR, 0},
    {EXEC_MAX_ABI, "max-abi", "N", "use nothing newer than Landlock ABI N, to try a policy", VALUE_ABI, 0},
    {EXEC_DRY_RUN, "dry-run", NULL, "do all but restrict and run; print what would hold", VALUE_NONE, 0},
    {EXEC_VERBOSE, "verbose", NULL, "tell what is done", VALUE_NONE, 0},
    {EXEC_HELP, "help", NULL, "print this", VALUE_NONE, 0},
    {EXEC_VERSION, "version", NULL, "print the version", VALUE_NONE, 0},
};

const struct command_table landlock_exec_table = {
    .name = "landlock-exec",
    .usage = "[OPTION...] [--] [PROGRAM [ARGUMENT...]]",
    .summary = "Runs a program under a policy that Landlock enforces, or runs nothing.",
    .epilogue = "Without a program, the one that the policy names (run) is started.\n"
                "Exit status: the program's own; 125 refused, the program did not run; 126 it cannot be "
                "executed; "
                "127 not found.\n"
                "See landlock-exec(1), landlock-exec.policy(5).",
    .options = options,
    .option_count = array_size(options),
    .operands = VALUE_PROGRAM,
    .options_end_at_operand = true,
};
