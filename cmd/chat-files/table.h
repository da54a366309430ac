/* The options and subcommands of chat-files. */
#ifndef CHAT_FILES_TABLE_H
#define CHAT_FILES_TABLE_H

#include "command/command.h"

enum chat_files_option { MODE = 'm', HELP = 'h', VERSION = 'V', FORMAT = COMMAND_LONG_ONLY };

enum chat_files_subcommand { PUT = 1, GET = 2, LIST = 4, REMOVE = 8, IMPORT = 16 };

extern const struct command_table chat_files_table;

#endif
