#include "table.h"

static const struct command_option options[] = {
    {SERVICE_HELP, "help", NULL, "print this", VALUE_NONE, 0},
    {SERVICE_VERSION, "version", NULL, "print the version", VALUE_NONE, 0},
};

static const struct command_subcommand subcommands[] = {
    {"ensure",
     "FILE",
     "keep a good token, or add one where there is none; mode 600",
     SERVICE_ENSURE,
     {VALUE_FILE},
     1,
     1},
    {"check", "FILE", "whether it is there, long enough and private", SERVICE_CHECK, {VALUE_FILE}, 1, 1},
};

const struct command_table service_token_table = {
    .name = "service-token",
    .usage = "[OPTION...] SUBCOMMAND FILE",
    .summary = "Looks after AI_INTERPRETER_SERVICE_TOKEN, the secret of two services, in the .env file of "
               "Docker "
               "Compose.",
    .epilogue = "See service-token(1).",
    .options = options,
    .option_count = array_size(options),
    .subcommands = subcommands,
    .subcommand_count = array_size(subcommands),
};
