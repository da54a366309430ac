#include "command.h"
#include "table.h"

#include <errno.h>
#include <string.h>

/* All of a launch. It is kept off the stack: what is not used of it, the error above all, is never touched, and touching memory
 * for the first time is what a launch costs most. */
struct command {
    struct options options;
    struct launch launch;
    struct write_signals signals; /* as the caller left them to the program */
    struct error *error;
};

static bool may_speak(const struct options *options)
{
    return options->request.status_fd != STDERR_FILENO;
}

/* The whole story of a refusal: the status line, the policy's faults, the reason and what to do. Returns the
 * exit status. */
static int refuse(const struct options *options, const struct launch *launch, const struct error *error)
{
    if (options->request.status_fd >= 0)
        write_status(options->request.status_fd, "refused", options, launch, error);
    if (may_speak(options)) {
        write_diagnostics(STDERR_FILENO, &launch->diagnostics);
        write_findings(STDERR_FILENO, &launch->findings);
        text_write_line(STDERR_FILENO, "landlock-exec: ", error->message);
        if (error->hint[0])
            text_write_line(STDERR_FILENO, "landlock-exec: hint: ", error->hint);
    }
    return launch_reason(error->code)->exit_status;
}

static void warn(const struct options *options, const struct launch *launch)
{
    const char *text;

    if (may_speak(options))
        for (unsigned i = 0; (text = warning(options, launch, i)); i++)
            text_write_line(STDERR_FILENO, "landlock-exec: warning: ", text);
}

static int say_status(const struct options *options, const struct launch *launch, const char *event,
                      struct error *error)
{
    int fd = options->request.status_fd;

    if (fd < 0 || write_status(fd, event, options, launch, NULL) == 0)
        return 0;
    return error_set(error, LAUNCH_DESCRIPTOR, "--status-fd %d: the status line cannot be written: %s", fd,
                     strerror(errno));
}

static int dry_run(const struct options *options, struct launch *launch, struct error *error)
{
    if (launch_check_unprivileged(launch, error) < 0 || launch_choose_proof(launch, error) < 0)
        return -1;
    print_dry_run(stdout, options, launch);
    if (flush_output() < 0)
        return error_set(error, LAUNCH_SYSTEM, "standard output: %s", strerror(errno));
    return say_status(options, launch, "would-start", error);
}

/* Returns only on failure: -1 and `error`. */
static int execute(struct command *command)
{
    struct write_signals again;

    if (restore_signals(&command->signals) < 0)
        return error_set(command->error, LAUNCH_SYSTEM, "restoring signals: %s", strerror(errno));
    launch_execute(&command->launch, command->error);
    hold_off_signals(&again); /* what failed is yet to be told */
    return -1;
}

/* Returns only on a refusal: -1 and `error`; or after a dry run: 0. */
static int run(struct command *command)
{
    const struct options *options = &command->options;
    struct launch *launch = &command->launch;
    struct error *error = command->error;

    if (launch_guard(&options->request, error) < 0 || launch_prepare(launch, &options->request, error) < 0)
        return -1;
    if (options->is_verbose)
        tell_preparation(launch);
    if (options->is_dry_run)
        return dry_run(options, launch, error);
    warn(options, launch);
    if (launch_restrict(launch, error) < 0 || launch_enter(launch, error) < 0)
        return -1;
    if (options->is_verbose)
        tell_restriction(launch);
    if (say_status(options, launch, "starting", error) < 0)
        return -1;
    return execute(command);
}

static int answer(const struct options *options)
{
    if (options->wants_version)
        puts("landlock-exec " PROJECT_VERSION);
    else
        command_print_help(stdout, &landlock_exec_table, NULL);
    if (flush_output() == 0)
        return 0;
    text_write_line(STDERR_FILENO, "landlock-exec: standard output: ", strerror(errno));
    return 125;
}

static int stand_alone(struct command *command)
{
    if (hold_off_signals(&command->signals) == 0)
        return launch_stand_alone(command->error);
    return error_set(command->error, LAUNCH_SYSTEM, "holding off signals: %s", strerror(errno));
}

/* `is_sound`: nothing was wrong so far. */
static int act(struct command *command, bool is_sound)
{
    const struct options *options = &command->options;

    if (is_sound && (options->wants_help || options->wants_version))
        return answer(options);
    if (is_sound && run(command) == 0)
        return 0;
    return refuse(options, &command->launch, command->error);
}

int main(int count, char **arguments, char **environment)
{
    struct error *error = calloc(1, sizeof *error);
    struct command *command = calloc(1, sizeof *command);
    unsigned stand_ins = 0;
    bool is_sound;
    int status;

    if (!command || !error) {
        text_write_line(STDERR_FILENO, "landlock-exec: ", "out of memory");
        return 125;
    }
    command->error = error;
    is_sound = stand_alone(command) == 0 && launch_guard_streams(&stand_ins, error) == 0;
    is_sound &= read_options(count, arguments, environment, &command->options, error) == 0;
    command->options.request.stand_ins = stand_ins;
    status = act(command, is_sound);
    launch_free(&command->launch);
    free_options(&command->options);
    free(command);
    free(error);
    return status;
}
