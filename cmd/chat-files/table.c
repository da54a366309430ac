#include "table.h"

static const struct command_option options[] = {
    {MODE, "mode", "MODE", "the permissions of new files, in octal; default: 600", VALUE_NUMBER,
     PUT | IMPORT},
    {FORMAT, "format", "text|json", "how answers and errors are written; default: text", VALUE_FORMAT, 0},
    {HELP, "help", NULL, "print this", VALUE_NONE, 0},
    {VERSION, "version", NULL, "print the version", VALUE_NONE, 0},
};

static const struct command_subcommand subcommands[] = {
    {"put",
     "DIRECTORY NAME",
     "standard input becomes DIRECTORY/NAME",
     PUT,
     {VALUE_DIRECTORY, VALUE_FILE_IN_IT},
     2,
     2},
    {"get",
     "DIRECTORY NAME",
     "DIRECTORY/NAME goes to standard output",
     GET,
     {VALUE_DIRECTORY, VALUE_FILE_IN_IT},
     2,
     2},
    {"list", "DIRECTORY", "name, size and time of what get would serve", LIST, {VALUE_DIRECTORY}, 1, 1},
    {"remove",
     "DIRECTORY NAME",
     "remove DIRECTORY/NAME, a file or a link",
     REMOVE,
     {VALUE_DIRECTORY, VALUE_FILE_IN_IT},
     2,
     2},
    {"import",
     "DIRECTORY SOURCE...",
     "copy files, and what is in folders, into DIRECTORY",
     IMPORT,
     {VALUE_DIRECTORY, VALUE_PATH},
     2,
     UINT_MAX},
};

const struct command_table chat_files_table = {
    .name = "chat-files",
    .usage = "[OPTION...] SUBCOMMAND [OPTION...] DIRECTORY [OPERAND...]",
    .summary = "Moves files in and out of a chat's directory, whatever the code that owns it does meanwhile.",
    .epilogue = "What stands behind DIRECTORY is a name, also where it looks like an option.\n"
                "import copies at most as many files as LLM_MAX_ATTACHMENT_FILES says; default: 40.\n"
                "chat-files SUBCOMMAND --help prints the help of one. See chat-files(1).",
    .options_end_at_operand = true, /* a name may look like an option, and is the code's to choose */
    .options = options,
    .option_count = array_size(options),
    .subcommands = subcommands,
    .subcommand_count = array_size(subcommands),
};
