/* The options and subcommands of service-token. */
#ifndef SERVICE_TOKEN_TABLE_H
#define SERVICE_TOKEN_TABLE_H

#include "command/command.h"

enum service_token_option { SERVICE_HELP = 'h', SERVICE_VERSION = 'V' };

enum service_token_subcommand { SERVICE_ENSURE = 1, SERVICE_CHECK = 2 };

extern const struct command_table service_token_table;

#endif
