/* chat-files: files in and out of a chat's directory. */
#include "command.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int take_mode(struct options *options, const char *argument, struct error *error)
{
    enum { OWNER_READS = 0400, MOST = 0777 };
    char *end;
    unsigned long mode = strtoul(argument, &end, 8);

    if (argument[0] < '0' || argument[0] > '7' || *end || mode > MOST || !(mode & OWNER_READS))
        return command_usage(&chat_files_table, CHAT_USAGE, "--mode",
                             "expected permissions in octal that let the owner read: 400 to 777, such as 640",
                             error);
    options->mode = (mode_t)mode;
    return 0;
}

static int take(void *context, int id, const char *shown, char *argument, struct error *error)
{
    struct options *options = context;

    (void)shown;
    if (id == MODE)
        return take_mode(options, argument, error);
    return command_take_format(&chat_files_table, CHAT_USAGE, argument, &options->is_json, error);
}

/* An empty file where there was no input, or an answer that nobody gets, is no success. */
static int need_streams(const struct options *options, struct error *error)
{
    const struct command_line *line = &options->line;
    bool wants_text = line->wants_help || line->wants_version;
    bool writes = wants_text || options->is_json || line->subcommand->bit & (GET | LIST | IMPORT);
    bool reads = !wants_text && line->subcommand->bit == PUT;

    if (reads && options->stand_ins & 1U << STDIN_FILENO)
        return error_set(error, CHAT_INPUT, "standard input is closed");
    if (writes && options->stand_ins & 1U << STDOUT_FILENO)
        return error_set(error, CHAT_OUTPUT, "standard output is closed");
    return 0;
}

static int act(const struct options *options, struct error *error)
{
    if (need_streams(options, error) < 0)
        return -1;
    if (command_print_wanted(&chat_files_table, &options->line, PROJECT_VERSION))
        return 0;
    switch (options->line.subcommand->bit) {
    case PUT:
        return put(options, error);
    case GET:
        return get(options, error);
    case LIST:
        return list(options, error);
    case REMOVE:
        return remove_file(options, error);
    default:
        return import(options, error);
    }
}

static int say(const struct options *options, const struct error *error)
{
    say_error(options, error);
    return chat_refusal(error->code)->exit_status;
}

int main(int count, char **arguments)
{
    static struct error error; /* large */
    struct options options = {.mode = CHAT_MODE};
    int status = stand_in_for_streams(CHAT_SYSTEM, &options.stand_ins, &error);

    umask(0);                 /* modes are as they are asked for */
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error to be told */
    if (status == 0)
        status = command_read_line(&chat_files_table, count, arguments, CHAT_USAGE, take, &options,
                                   &options.line, &error);
    if (status == 0)
        status = act(&options, &error);
    if (status < 0)
        status = say(&options, &error);
    if (flush_output() < 0) {
        error_set(&error, CHAT_OUTPUT, "standard output: %s", strerror(errno));
        status = say(&options, &error);
    }
    return status;
}
