#include "table.h"

static const struct command_option options[] = {
    {DEFINE, "define", "NAME=VALUE", "the value of a definition of the policy; repeatable", VALUE_DEFINITION,
     0},
    {MAX_ABI, "max-abi", "N", "answer as if the kernel had nothing newer than Landlock ABI N", VALUE_ABI,
     SHOW | WHY | TEST | PROBE},
    {FORMAT, "format", "text|json", "how the answer is written; default: text", VALUE_FORMAT, 0},
    {IGNORE, "ignore", "CODE[,CODE...]", "leave out these diagnostics; repeatable", VALUE_CODES, CHECK},
    {HELP, "help", NULL, "print this", VALUE_NONE, 0},
    {VERSION, "version", NULL, "print the version", VALUE_NONE, 0},
};

static const struct command_subcommand subcommands[] = {
    {"check", "POLICY...", "parse and lint", CHECK, {VALUE_POLICY}, 1, UINT_MAX},
    {"show",
     "POLICY",
     "each path and its rights, where from, and what is enforced",
     SHOW,
     {VALUE_POLICY},
     1,
     1},
    {"why",
     "POLICY RIGHTS PATH|PORT...",
     "whether it is allowed, by which line, and which line would allow it",
     WHY,
     {VALUE_POLICY, VALUE_RIGHTS, VALUE_PATH},
     3,
     UINT_MAX},
    {"test", "POLICY", "try every expectation for real inside the domain", TEST, {VALUE_POLICY}, 1, 1},
    {"probe",
     "[POLICY]",
     "what this kernel, this seccomp profile and this container would enforce",
     PROBE,
     {VALUE_POLICY},
     0,
     1},
};

const struct command_table landlock_policy_table = {
    .name = "landlock-policy",
    .usage = "[OPTION...] SUBCOMMAND [OPTION...] [OPERAND...]",
    .summary = "Tells what a policy of landlock-exec allows, why, and whether this kernel would enforce it.",
    .epilogue = "landlock-policy SUBCOMMAND --help prints the help of one.\n"
                "See landlock-policy(1), landlock-exec(1), landlock-exec.policy(5).",
    .options = options,
    .option_count = array_size(options),
    .subcommands = subcommands,
    .subcommand_count = array_size(subcommands),
};
