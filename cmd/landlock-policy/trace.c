#include "trace/trace.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What is found over all runs. */
struct found {
    struct trace_lines needed;    /* by runs that failed */
    struct trace_lines tolerated; /* by those that succeeded */
    char *text;                   /* both, as a policy has them; NULL: none yet */
    int status;                   /* of the last run: waitpid(2) */
    json_t *runs;                 /* NULL: text */
};

static bool has_succeeded(const struct trace_report *report)
{
    return WIFEXITED(report->status) && WEXITSTATUS(report->status) == 0;
}

/* ---- The policy, with what was found ---- */

/* Of the reader below. */
struct addition {
    const char *text; /* NULL: nothing to be added */
    bool is_added;
};

/* A policy_read_function: the lines stand at the end of the first file, which is the policy itself. */
static int read_with_addition(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                              uint64_t *inode, char *reason, size_t reason_size)
{
    struct addition *addition = context;
    int failure = policy_read_file(NULL, name, text, size, device, inode, reason, reason_size);
    size_t more = addition->text && !addition->is_added ? strlen(addition->text) : 0;
    char *grown;

    addition->is_added = true;
    if (failure || !more)
        return failure;
    grown = realloc(*text, *size + more + 2);
    if (!grown) {
        free(*text);
        return ENOMEM;
    }
    grown[*size] = '\n';
    memcpy(grown + *size + 1, addition->text, more);
    *size += more + 1;
    *text = grown;
    return 0;
}

/* ---- Text ---- */

static void put_subject(const struct trace_denial *denial)
{
    if (denial->path)
        put_text(denial->path);
    else if (denial->rights & POLICY_ALL_NET)
        printf("%u", denial->port);
    else
        fputs("outside of the program", stdout);
}

static void put_advice(const struct launch *launch, const struct trace_denial *denial)
{
    auto_free char *place =
        denial->forbidden_by.line ? position_text(launch->policy, &denial->forbidden_by) : NULL;
    auto_free char *word = denial->subject ? text_as_word(denial->subject) : text_of("%u", denial->port);
    char names[POLICY_RIGHTS_TEXT];

    policy_rights_text(denial->rights, names);
    if (denial->has_line)
        put_reason("to allow it: allow %s %s", names, word ? word : "");
    else if (place)
        put_reason("to allow it would contradict %s", place);
    else if (denial->system_obstacle != VERDICT_NOTHING)
        put_reason("no line would do: without Landlock, too, it is denied (%s)",
                   verdict_obstacle_help(denial->system_obstacle));
    else if (denial->rights & POLICY_ALL_SCOPES)
        put_reason("only a policy that leaves it unrestricted as a whole would allow it: unrestricted %s",
                   names);
    else
        put_reason("no line would allow it on this kernel");
}

static void put_denial(const struct launch *launch, const struct trace_denial *denial, bool is_tolerated)
{
    char names[POLICY_RIGHTS_TEXT];

    put_coloured(is_tolerated ? YELLOW : RED, is_tolerated ? "tolerated" : "denied");
    printf(" %s ", policy_rights_text(denial->rights, names));
    put_subject(denial);
    putchar('\n');
    put_reason("%s: %s; %lu call%s%s%s", denial->call, strerror(denial->failure), denial->count,
               denial->count > 1 ? "s" : "", denial->program ? ", the first by " : "",
               denial->program ? denial->program : "");
    put_advice(launch, denial);
}

static void put_status(const struct trace_report *report)
{
    if (WIFEXITED(report->status))
        printf("the program ended with exit status %d", WEXITSTATUS(report->status));
    else
        printf("the program was ended by signal %d (%s)", WTERMSIG(report->status),
               strsignal(WTERMSIG(report->status)));
}

static void put_counts(const struct trace_report *report)
{
    if (report->dropped)
        printf("%zu more calls were denied something; %d things at most are told\n", report->dropped,
               TRACE_MAX_DENIALS);
    if (report->unread)
        printf("%zu calls failed in processes that may not be looked at: what they were denied is not "
               "known\n",
               report->unread);
    if (report->unfollowed)
        printf("%zu processes were watched by others, or hid: what they were denied is not known\n",
               report->unfollowed);
    if (report->foreign)
        printf("%zu calls failed in programs of another architecture: what they were denied is not known\n",
               report->foreign);
    if (report->left)
        printf("%zu threads ran on after the program had ended, and were not watched to their end\n",
               report->left);
}

static void put_run(const struct launch *launch, const struct trace_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        put_denial(launch, report->denials[i], has_succeeded(report));
    put_counts(report);
    put_status(report);
    printf(report->count ? "; %zu denied\n" : "; nothing was denied\n", report->count);
}

/* ---- JSON ---- */

static json_t *json_denial(const struct launch *launch, const struct trace_denial *denial, bool is_tolerated)
{
    json_t *object = json_object(), *place;
    struct trace_line line = {denial->subject, denial->port, denial->rights};
    auto_free char *text = denial->has_line ? trace_line_text(&line) : NULL;

    json_set(object, "rights", json_rights(denial->rights));
    json_set(object, "path", json_text(denial->path));
    json_set(object, "port", denial->rights & POLICY_ALL_NET ? json_integer(denial->port) : json_null());
    json_set(object, "call", json_string(denial->call));
    json_set(object, "error", json_string(strerror(denial->failure)));
    json_set(object, "count", json_integer((json_int_t)denial->count));
    json_set(object, "program", json_text(denial->program));
    json_set(object, "tolerated", json_boolean(is_tolerated));
    json_set(object, "line", json_text(text));
    json_set(object, "system", json_string(verdict_obstacle_name(denial->system_obstacle)));
    place = denial->forbidden_by.line ? json_object() : json_null();
    if (denial->forbidden_by.line)
        json_add_position(place, launch->policy, &denial->forbidden_by);
    json_set(object, "forbidden_by", place);
    return object;
}

static json_t *json_run(const struct launch *launch, const struct trace_report *report)
{
    json_t *object = json_object(), *denials = json_array();
    bool is_exit = WIFEXITED(report->status);

    for (size_t i = 0; i < report->count; i++)
        json_add(denials, json_denial(launch, report->denials[i], has_succeeded(report)));
    json_set(object, "exit_status", is_exit ? json_integer(WEXITSTATUS(report->status)) : json_null());
    json_set(object, "signal", is_exit ? json_null() : json_integer(WTERMSIG(report->status)));
    json_set(object, "denials", denials);
    json_set(object, "dropped", json_integer((json_int_t)report->dropped));
    json_set(object, "unread", json_integer((json_int_t)report->unread));
    json_set(object, "unfollowed", json_integer((json_int_t)report->unfollowed));
    json_set(object, "foreign", json_integer((json_int_t)report->foreign));
    json_set(object, "left", json_integer((json_int_t)report->left));
    return object;
}

/* ---- The lines ---- */

/* Writes them, each behind `prefix`. 0, or -1 with errno. */
static int write_lines(FILE *out, const struct trace_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        auto_free char *text = trace_line_text(&lines->items[i]);

        if (!text || fprintf(out, "%s\n", text) < 0)
            return -1;
    }
    return 0;
}

/* The policy to include. Nothing in it but the lines comes from the program. */
static int write_policy(FILE *out, const struct found *found)
{
    fputs("# Written by landlock-policy trace: what would allow what a program was denied. To be "
          "included.\npolicy 1\n",
          out);
    if (found->needed.count)
        fputs("\n", out);
    if (write_lines(out, &found->needed) < 0)
        return -1;
    if (found->tolerated.count)
        fputs("\n# The program succeeded without these: leave out what it should not have.\n", out);
    return write_lines(out, &found->tolerated);
}

static int say_file(const char *file, struct error *error)
{
    return error_set(error, LAUNCH_SYSTEM, "%s: %s", file, strerror(errno));
}

/* A stream on a new file that no name leads to yet but its own, beside `file`. */
static FILE *open_beside(const char *file, char **name)
{
    auto_close int fd = -1;
    FILE *out;

    *name = text_of("%s.XXXXXX", file);
    fd = *name ? mkostemp(*name, O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    out = fchmod(fd, 0644) == 0 ? fdopen(fd, "w") : NULL;
    if (out)
        take_fd(&fd);
    else
        unlink(*name);
    return out;
}

/* The file is replaced whole; a link of that name is not followed. */
static int write_output(const char *file, const struct found *found, struct error *error)
{
    auto_free char *name = NULL;
    FILE *out = open_beside(file, &name);
    int failure;

    if (!out)
        return say_file(file, error);
    failure =
        write_policy(out, found) < 0 || fflush(out) < 0 || ferror(out) || fsync(fileno(out)) < 0 ? errno : 0;
    if (fclose(out) < 0 && !failure)
        failure = errno;
    if (!failure && rename(name, file) == 0)
        return 0;
    failure = failure ? failure : errno;
    unlink(name);
    errno = failure;
    return say_file(file, error);
}

/* Before anything runs: whether it can be written. */
static int check_output(const char *file, struct error *error)
{
    auto_free char *name = NULL;
    FILE *out = open_beside(file, &name);

    if (!out)
        return say_file(file, error);
    fclose(out);
    unlink(name);
    return 0;
}

/* All lines as text, for the next run. True: there are others than before; false, too, with `error`. */
static bool renew_text(struct found *found, struct error *error)
{
    struct text text = {0};
    FILE *out = text_open(&text);
    bool is_whole = out && write_lines(out, &found->needed) == 0 && write_lines(out, &found->tolerated) == 0;
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

/* ---- The report ---- */

/* Standard output is the program's while it runs: what is told goes elsewhere. */
struct outputs {
    int report, programs;
};

static void close_outputs(const struct outputs *outputs)
{
    cleanup_close(&outputs->report);
    cleanup_close(&outputs->programs);
}

static int open_outputs(struct outputs *outputs, const char *file, struct error *error)
{
    outputs->report = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644)
                           : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (outputs->report < 0)
        return say_file(file ? file : "standard error", error);
    outputs->programs = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return outputs->programs < 0 ? say_file("standard output", error) : 0;
}

static int direct(int to, struct error *error)
{
    return flush_output() < 0 || dup2(to, STDOUT_FILENO) < 0 ? say_file("the report", error) : 0;
}

static int put_document(const struct options *options, struct found *found, struct error *error)
{
    json_t *document = json_object(), *lines = json_array();

    for (int i = 0; i < 2; i++) {
        const struct trace_lines *part = i ? &found->tolerated : &found->needed;

        for (size_t k = 0; k < part->count; k++) {
            auto_free char *text = trace_line_text(&part->items[k]);

            json_add(lines, json_text(text));
        }
    }
    json_set(document, "policy", json_text(options->request.policy_file));
    json_set(document, "runs", found->runs);
    json_set(document, "lines", lines);
    found->runs = NULL;
    return put_json(document, error);
}

/* The lines of all runs, where they are not what the last run has told already. */
static int put_end(const struct options *options, struct found *found, struct error *error)
{
    return found->runs ? put_document(options, found, error) : 0;
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

/* What a run has found, told and kept. True: another one may find more. */
static bool take_report(const struct options *options, struct found *found, const struct launch *launch,
                        const struct trace_report *report, struct error *error)
{
    struct trace_lines *lines = has_succeeded(report) ? &found->tolerated : &found->needed;

    found->status = report->status;
    if (found->runs)
        json_add(found->runs, json_run(launch, report));
    else
        put_run(launch, report);
    if (trace_lines_add(lines, report, launch, options->gathers) == 0)
        return renew_text(found, error) && !report->was_signalled;
    error_set(error, LAUNCH_SYSTEM, "gathering lines: out of memory");
    return false;
}

/* Runs the program once. True: another run may find more. */
static bool run_once(const struct options *options, struct found *found, const struct outputs *outputs,
                     struct error *error)
{
    struct addition addition = {.text = found->text};
    struct launch_request request = options->request;
    struct launch launch = {0};
    struct trace_report report = {0};
    bool goes_on = false;

    request.read = read_with_addition;
    request.read_context = &addition;
    request.command = options->operands + 1;
    if (prepare(&launch, &request, error) == 0 && trace_run(&launch, &report, error) == 0 &&
        direct(outputs->report, error) == 0) {
        goes_on = take_report(options, found, &launch, &report, error);
        direct(outputs->programs, error);
    }
    trace_report_free(&report);
    launch_free(&launch);
    return goes_on;
}

/* ---- The whole ---- */

/* Runs it as often as it may, telling each run. */
static int run_all(const struct options *options, struct found *found, const struct outputs *outputs,
                   struct error *error)
{
    bool goes_on = true;

    for (unsigned i = 0; i < options->runs && goes_on; i++) {
        goes_on = run_once(options, found, outputs, error);
        if (error->code)
            return -1;
    }
    if (options->output && write_output(options->output, found, error) < 0)
        return -1;
    if (direct(outputs->report, error) < 0 || put_end(options, found, error) < 0)
        return -1;
    return direct(outputs->programs, error);
}

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
    __attribute__((cleanup(close_outputs))) struct outputs outputs = {-1, -1};
    struct found found = {.runs = options->is_json ? json_array() : NULL};
    int result = -1;

    if (launch_guard(&options->request, error) == 0 && open_outputs(&outputs, options->report, error) == 0 &&
        (!options->output || check_output(options->output, error) == 0))
        result = run_all(options, &found, &outputs, error);
    trace_lines_free(&found.needed);
    trace_lines_free(&found.tolerated);
    json_decref(found.runs);
    free(found.text);
    return result < 0 ? -1 : pass_status(found.status);
}
