#include "command.h"

#include <errno.h>
#include <string.h>

int put_json(json_t *document, struct error *error)
{
    if (json_put(stdout, document, 2) == 0)
        return 0;
    return error_set(error, CHAT_OUTPUT, "writing JSON: %s", strerror(errno));
}

void say_error(const struct options *options, const struct error *error)
{
    json_t *document, *members;

    if (!options->is_json) {
        command_say(&chat_files_table, error, chat_refusal(error->code)->name);
        return;
    }
    document = json_object();
    members = json_object();
    json_set(members, "code", json_text(chat_refusal(error->code)->name));
    json_set(members, "message", json_text(error->message));
    json_set(members, "hint", json_text(error->hint[0] ? error->hint : NULL));
    json_set(document, "error", members);
    json_put(stderr, document, 0);
}

void format_time(const struct timespec *time, char text[static TIME_SIZE])
{
    struct tm parts;

    if (!gmtime_r(&time->tv_sec, &parts) || !strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts))
        strcpy(text, "-");
}
