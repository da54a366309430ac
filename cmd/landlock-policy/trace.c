#include "tracing.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- The policy, with what was found ---- */

/* Of the reader below. */
struct reading {
    const struct outputs *outputs;
    const char *more; /* NULL: nothing to be added */
    bool is_added;
};

/* Adds a text at the end of another, behind a newline. 0, or ENOMEM, and the text is gone. */
static int append(char **text, size_t *size, const char *more)
{
    size_t length = strlen(more);
    char *grown = realloc(*text, *size + length + 2);

    if (!grown) {
        free(*text);
        return ENOMEM;
    }
    grown[*size] = '\n';
    memcpy(grown + *size + 1, more, length + 1);
    *size += length + 1;
    *text = grown;
    return 0;
}

/* A policy_read_function: the lines stand at the end of the first file, which is the policy itself. */
static int read_policy(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                       uint64_t *inode, char *reason, size_t reason_size)
{
    struct reading *reading = context;
    int failure = policy_read_file(NULL, name, text, size, device, inode, reason, reason_size);
    bool is_first = !reading->is_added;

    reading->is_added = true;
    if (failure)
        return failure;
    if (is_output(reading->outputs, *device, *inode)) {
        free(*text);
        snprintf(reason, reason_size, "--output or --report would replace it");
        return EBUSY;
    }
    return is_first && reading->more ? append(text, size, reading->more) : 0;
}

/* ---- Running ---- */

/* The kernel is to tell of a program that the policy does not let run: the launcher would refuse it beforehand. */
static int prepare_program(struct launch *launch, struct error *error)
{
    if (launch_prepare_program(launch, error) == 0)
        return 0;
    if (error->code != LAUNCH_NOT_EXECUTABLE || !launch->program)
        return -1;
    *error = (struct error){0};
    return 0;
}

static int prepare(struct launch *launch, const struct launch_request *request, struct error *error)
{
    if (launch_prepare_domain(launch, request, error) == 0 && prepare_program(launch, error) == 0 &&
        launch_check_container(launch, error) == 0)
        return launch_drop_capabilities(error);
    say_diagnostics(&launch->diagnostics);
    for (size_t i = 0; i < launch->findings.count; i++)
        text_write_line(STDERR_FILENO, "landlock-policy: container: ", launch->findings.items[i].message);
    return -1;
}

/* All lines as text, for the next run. True: there are others than before; false, too, with `error`. */
static bool renew_text(struct found *found, struct error *error)
{
    struct text text = {0};
    FILE *out = text_open(&text);
    bool is_whole =
        out && write_lines(out, "", &found->needed) == 0 && write_lines(out, "", &found->tolerated) == 0;
    bool is_new;

    if (!out || text_close(out, &text) < 0 || !is_whole) {
        free(text.bytes);
        error_set(error, LAUNCH_SYSTEM, "gathering lines: out of memory");
        return false;
    }
    is_new = strcmp(text.bytes, found->text ? found->text : "") != 0;
    free(found->text);
    found->text = text.bytes;
    return is_new;
}

/* What a run has found, told and kept. */
static void take_report(const struct options *options, struct found *found, const struct launch *launch,
                        const struct trace_report *report, struct error *error)
{
    struct trace_lines *lines = has_succeeded(report) ? &found->tolerated : &found->needed;

    found->status = report->status;
    found->has_succeeded = has_succeeded(report);
    found->was_signalled = report->was_signalled;
    found->is_disturbed = report->is_disturbed;
    found->is_stuck = report->stuck;
    tell_run(found, launch, report);
    if (report->is_disturbed) { /* by what was found in earlier runs, perhaps */
        trace_lines_free(&found->needed);
        trace_lines_free(&found->tolerated);
    } else if (trace_lines_add(lines, report, launch, options->gathers) < 0) {
        error_set(error, LAUNCH_SYSTEM, "gathering lines: out of memory");
        return;
    }
    found->is_unfinished = renew_text(found, error);
}

static int take_guards(struct found *found, const struct launch *launch, struct error *error)
{
    if (found->text || trace_guards_take(&found->guards, launch->policy) == 0)
        return 0;
    return error_set(error, LAUNCH_SYSTEM, "looking at what the policy denies: out of memory");
}

static bool goes_on(const struct found *found)
{
    return found->is_unfinished && !found->was_signalled && !found->is_disturbed && !found->is_stuck;
}

/* Runs the program once. 0, or -1 and `error`. */
static int run_once(const struct options *options, struct found *found, struct outputs *outputs,
                    struct error *error)
{
    struct reading reading = {.outputs = outputs, .more = found->text};
    struct launch_request request = options->request;
    struct launch launch = {0};
    struct trace_report report = {0};

    request.read = read_policy;
    request.read_context = &reading;
    request.command = options->line.operands + 1;
    if (prepare(&launch, &request, error) == 0 && open_outputs(outputs, error) == 0 &&
        take_guards(found, &launch, error) == 0 && trace_run(&launch, &found->guards, &report, error) == 0 &&
        direct_to_report(outputs, error) == 0) {
        take_report(options, found, &launch, &report, error);
        direct_to_program(outputs, error);
    }
    trace_report_free(&report);
    launch_free(&launch);
    return error->code ? -1 : 0;
}

/* Runs it as often as it may, telling each run. What was found before one that cannot be had is told all the same. */
static int run_all(const struct options *options, struct found *found, struct outputs *outputs,
                   struct error *error)
{
    __attribute__((cleanup(free_input))) struct input input = {0};
    struct error of_files = {0};
    int result = take_input(&input, options->runs, error);

    found->is_unfinished = true;
    for (unsigned i = 0; result == 0 && i < options->runs && goes_on(found); i++)
        result = give_input(&input, error) < 0 ? -1 : run_once(options, found, outputs, error);
    if (result < 0 && !found->text)
        return -1;
    if ((options->output && write_output(options->output, found, &of_files) < 0) ||
        direct_to_report(outputs, &of_files) < 0 || tell_end(options, found, &of_files) < 0 ||
        direct_to_program(outputs, &of_files) < 0)
        result = -1;
    if (!error->code)
        *error = of_files;
    return result;
}

/* ---- The whole ---- */

/* As the program ended. A signal that does not end this process, as PID 1, is told as shells do. */
static int pass_status(int status)
{
    const struct rlimit none = {0, 0};
    int number = WTERMSIG(status);
    sigset_t set;

    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number;
}

int trace(const struct options *options, struct error *error)
{
    __attribute__((cleanup(close_outputs))) struct outputs outputs = {.policy = options->output,
                                                                      .report = options->report};
    struct found found = {.runs = options->is_json ? json_array() : NULL};
    int result = launch_guard(&options->request, error);

    if (result == 0 && geteuid() == 0)
        text_write_line(STDERR_FILENO, "landlock-policy: warning: ",
                        "what UID 0 is denied is not what others are: trace it as the user that is to run "
                        "it");
    if (result == 0)
        result = run_all(options, &found, &outputs, error);
    trace_lines_free(&found.needed);
    trace_lines_free(&found.tolerated);
    trace_guards_free(&found.guards);
    json_decref(found.runs);
    free(found.text);
    return result < 0 ? -1 : pass_status(found.status);
}
