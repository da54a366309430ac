#include "tracing.h"

#include <string.h>
#include <sys/wait.h>

bool has_succeeded(const struct trace_report *report)
{
    return report->has_started && WIFEXITED(report->status) && WEXITSTATUS(report->status) == 0;
}

/* NULL: there is none, or memory ran out. */
static char *line_of(const struct trace_report *report, const struct trace_denial *denial)
{
    const struct trace_line line = {denial->subject, denial->port, denial->rights};

    return denial->has_line && !report->is_disturbed ? trace_line_text(&line) : NULL;
}

int write_lines(FILE *out, const char *prefix, const struct trace_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        auto_free char *text = trace_line_text(&lines->items[i]);

        if (!text || fprintf(out, "%s%s\n", prefix, text) < 0)
            return -1;
    }
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

static void put_advice(const struct launch *launch, const struct trace_report *report,
                       const struct trace_denial *denial)
{
    auto_free char *place =
        denial->forbidden_by.line ? position_text(launch->policy, &denial->forbidden_by) : NULL;
    auto_free char *line = line_of(report, denial);
    char names[POLICY_RIGHTS_TEXT];

    if (report->is_disturbed)
        put_reason("no line is proposed: see below");
    else if (denial->has_line)
        put_reason("to allow it: %s", line ? line : "(out of memory)");
    else if (place)
        put_reason("to allow it would contradict %s", place);
    else if (denial->system_obstacle != VERDICT_NOTHING)
        put_reason("no line would do: without Landlock, too, it is denied (%s)",
                   verdict_obstacle_help(denial->system_obstacle));
    else if (denial->rights & POLICY_ALL_SCOPES)
        put_reason("only a policy that leaves it unrestricted as a whole would allow it: unrestricted %s",
                   policy_rights_text(denial->rights, names));
    else
        put_reason("no line would allow it on this kernel");
}

static void put_denial(const struct launch *launch, const struct trace_report *report,
                       const struct trace_denial *denial)
{
    bool is_tolerated = has_succeeded(report);
    char names[POLICY_RIGHTS_TEXT];

    put_coloured(is_tolerated ? YELLOW : RED, is_tolerated ? "tolerated" : "denied");
    printf(" %s ", policy_rights_text(denial->rights, names));
    put_subject(denial);
    putchar('\n');
    put_reason("%s: %s; %lu call%s%s%s", denial->call, strerror(denial->failure), denial->count,
               denial->count > 1 ? "s" : "", denial->program ? ", the first by " : "",
               denial->program ? denial->program : "");
    put_advice(launch, report, denial);
}

static void put_status(const struct trace_report *report)
{
    if (!report->has_started)
        fputs("the program was not started", stdout);
    else if (WIFEXITED(report->status))
        printf("the program ended with exit status %d", WEXITSTATUS(report->status));
    else
        printf("the program was ended by signal %d (%s)", WTERMSIG(report->status),
               strsignal(WTERMSIG(report->status)));
    printf(report->count ? "; %zu denied\n" : "; nothing was denied\n", report->count);
}

/* "1 call WHAT", "2 calls WHAT"; nothing of none. */
static void put_count(size_t count, const char *things, const char *what)
{
    if (count)
        printf("%zu %s%s %s\n", count, things, count > 1 ? "s" : "", what);
}

static void put_counts(const struct trace_report *report)
{
    put_count(report->dropped, "more call", "denied something: not all is told");
    put_count(report->unread, "call", "failed where it could not be looked at: what was denied is not known");
    put_count(report->unfollowed, "time",
              "a process was watched by another, or hid: what it was denied is not known");
    put_count(report->foreign, "call",
              "failed in programs of another architecture: what was denied is not known");
    put_count(report->left, "thread", "left running when the program had ended: not watched to the end");
    if (report->is_disturbed)
        puts("the program has moved or linked a file that the policy expects to be denied, or keeps private: "
             "no "
             "line is proposed");
}

static void put_run(const struct launch *launch, const struct trace_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        put_denial(launch, report, report->denials[i]);
    put_counts(report);
    put_status(report);
}

/* Where lines were gathered or come from several runs, they are more than what stands with the denials. */
static int put_end(const struct options *options, const struct found *found)
{
    if ((options->gathers || options->runs > 1) && (found->needed.count || found->tolerated.count)) {
        puts("\nto allow all of it:");
        if (write_lines(stdout, "    ", &found->needed) < 0 ||
            write_lines(stdout, "    ", &found->tolerated) < 0)
            return -1;
    }
    if (!found->is_unfinished || found->has_succeeded)
        return 0;
    if (options->runs == 1)
        puts("\nit may meet more behind that: --runs 20 runs it again, with what is found");
    else
        printf("\nit may meet more behind that: %u runs were not enough\n", options->runs);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_denial(const struct launch *launch, const struct trace_report *report,
                           const struct trace_denial *denial)
{
    json_t *object = json_object(), *place = denial->forbidden_by.line ? json_object() : json_null();
    auto_free char *line = line_of(report, denial);

    json_set(object, "rights", json_rights(denial->rights));
    json_set(object, "path", json_text(denial->path));
    json_set(object, "port", denial->rights & POLICY_ALL_NET ? json_integer(denial->port) : json_null());
    json_set(object, "call", json_string(denial->call));
    json_set(object, "error", json_string(strerror(denial->failure)));
    json_set(object, "count", json_integer((json_int_t)denial->count));
    json_set(object, "program", json_text(denial->program));
    json_set(object, "tolerated", json_boolean(has_succeeded(report)));
    json_set(object, "line", json_text(line));
    json_set(object, "system", json_string(verdict_obstacle_name(denial->system_obstacle)));
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
        json_add(denials, json_denial(launch, report, report->denials[i]));
    json_set(object, "started", json_boolean(report->has_started));
    json_set(object, "exit_status", is_exit ? json_integer(WEXITSTATUS(report->status)) : json_null());
    json_set(object, "signal", is_exit ? json_null() : json_integer(WTERMSIG(report->status)));
    json_set(object, "denials", denials);
    json_set(object, "dropped", json_integer((json_int_t)report->dropped));
    json_set(object, "unread", json_integer((json_int_t)report->unread));
    json_set(object, "unfollowed", json_integer((json_int_t)report->unfollowed));
    json_set(object, "foreign", json_integer((json_int_t)report->foreign));
    json_set(object, "left", json_integer((json_int_t)report->left));
    json_set(object, "disturbed", json_boolean(report->is_disturbed));
    return object;
}

static void json_add_lines(json_t *array, const struct trace_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        auto_free char *text = trace_line_text(&lines->items[i]);

        json_add(array, json_text(text));
    }
}

static int put_document(const struct options *options, struct found *found, struct error *error)
{
    json_t *document = json_object(), *lines = json_array(), *tolerated = json_array();

    json_add_lines(lines, &found->needed);
    json_add_lines(lines, &found->tolerated);
    json_add_lines(tolerated, &found->tolerated);
    json_set(document, "policy", json_text(options->request.policy_file));
    json_set(document, "runs", found->runs);
    json_set(document, "lines", lines);
    json_set(document, "tolerated", tolerated);
    json_set(document, "finished", json_boolean(!found->is_unfinished));
    found->runs = NULL;
    return put_json(document, error);
}

/* ---- Either ---- */

void tell_run(struct found *found, const struct launch *launch, const struct trace_report *report)
{
    if (found->runs)
        json_add(found->runs, json_run(launch, report));
    else
        put_run(launch, report);
}

int tell_end(const struct options *options, struct found *found, struct error *error)
{
    if (found->runs)
        return put_document(options, found, error);
    return put_end(options, found) < 0 ? error_set(error, LAUNCH_SYSTEM, "the report: out of memory") : 0;
}
