/* service-token: the secret that two services share, made once and kept. Its value is never printed. */
#include "table.h"
#include "token/token.h"

#include <errno.h>
#include <string.h>

enum { FINE = 0 };

/* No option but those that every command takes. */
static int take(void *context, int id, const char *shown, char *argument, struct error *error)
{
    (void)context;
    (void)id;
    (void)argument;
    return command_usage(&service_token_table, TOKEN_USAGE, shown, "unknown option", error);
}

static int say(const struct error *error)
{
    const struct token_refusal_row *row = token_refusal(error->code);

    command_say(&service_token_table, error, row->name);
    return row->exit_status;
}

static void warn_of_repetition(const char *file, const struct token_report *report)
{
    auto_free char *text = NULL;

    if (report->times < 2)
        return;
    if (report->times == 2)
        text = text_of("%s: %s stands on lines %zu and %zu: the last counts", file, token_variable,
                       report->first_line, report->last_line);
    else
        text = text_of("%s: %s stands %zu times, on lines %zu to %zu: the last counts", file, token_variable,
                       report->times, report->first_line, report->last_line);
    if (text)
        text_write_line(STDERR_FILENO, "service-token: ", text);
}

static void put_ensured(const char *file, const struct token_report *report)
{
    text_write_safe(stdout, file);
    printf(": %s %s", token_variable, report->was_added ? "added" : "kept");
    if (report->was_file && report->mode != report->mode_before)
        printf(", mode %03o (was %03o)", report->mode, report->mode_before);
    putchar('\n');
}

static void put_checked(const char *file, const struct token_report *report)
{
    text_write_safe(stdout, file);
    printf(": %s is there, %zu characters, private\n", token_variable, report->length);
}

/* Beyond the limit on the size of files is an error, not the end. */
static int ensure(const char *file, struct token_report *report, struct error *error)
{
    struct write_signals before;
    int result;

    if (hold_off_signals(&before) < 0)
        return error_set(error, TOKEN_SYSTEM, "signals: %s", strerror(errno));
    result = token_ensure(file, report, error);
    if (restore_signals(&before) < 0 && result == 0)
        return error_set(error, TOKEN_SYSTEM, "signals: %s", strerror(errno));
    return result;
}

static int act(const struct command_line *line, struct error *error)
{
    struct token_report report = {0};
    bool is_ensure;
    int result;

    if (command_print_wanted(&service_token_table, line, PROJECT_VERSION))
        return 0;
    is_ensure = line->subcommand->bit == SERVICE_ENSURE;
    result = is_ensure ? ensure(line->operands[0], &report, error)
                       : token_check(line->operands[0], &report, error);
    warn_of_repetition(line->operands[0], &report);
    if (result == 0)
        (is_ensure ? put_ensured : put_checked)(line->operands[0], &report);
    return result;
}

int main(int count, char **arguments)
{
    struct error error = {0};
    struct command_line line = {0};
    unsigned stand_ins;
    int status = FINE;

    if (command_need_output(TOKEN_SYSTEM, &error) < 0 ||
        stand_in_for_streams(TOKEN_SYSTEM, &stand_ins, &error) < 0 || token_guard_memory(&error) < 0 ||
        command_read_line(&service_token_table, count, arguments, TOKEN_USAGE, take, NULL, &line, &error) <
            0 ||
        act(&line, &error) < 0)
        status = say(&error);
    if (flush_output() < 0) {
        error_set(&error, TOKEN_SYSTEM, "standard output: %s", strerror(errno));
        status = say(&error);
    }
    return status;
}
