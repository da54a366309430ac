#include "trace/internal.h"

#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <string.h>

/* ---- The record ---- */

static int compare_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* What two denials must have in common to be told as one. */
static int compare(const void *a, const void *b)
{
    const struct trace_denial *x = a, *y = b;
    int order = compare_text(x->path, y->path);

    if (!order)
        order = compare_text(x->subject, y->subject);
    if (!order)
        order = x->port - y->port;
    if (!order && !x->path)
        order = (x->rights > y->rights) - (x->rights < y->rights);
    if (!order)
        order = x->has_line - y->has_line;
    if (!order)
        order = (int)x->system_obstacle - (int)y->system_obstacle;
    return order ? order : policy_compare_positions(&x->forbidden_by, &y->forbidden_by);
}

static void free_denial(struct trace_denial *denial)
{
    if (!denial)
        return;
    free(denial->path);
    free(denial->subject);
    free(denial->program);
    free(denial);
}

static struct trace_denial *copy_denial(const struct failed_call *call, const struct trace_denial *found)
{
    struct trace_denial *denial = malloc(sizeof *denial);
    char program[PATH_MAX];
    bool has_program = program_of(call->tid, program);

    if (!denial)
        return NULL;
    *denial = *found;
    denial->path = found->path ? strdup(found->path) : NULL;
    denial->subject = found->subject ? strdup(found->subject) : NULL;
    denial->call = call->name;
    denial->failure = call->failure;
    denial->program = has_program ? strdup(program) : NULL;
    denial->count = denial->last = 0;
    if ((denial->path || !found->path) && (denial->subject || !found->subject) &&
        (denial->program || !has_program))
        return denial;
    free_denial(denial);
    return NULL;
}

/* False: memory ran out. */
static bool add(struct trace_report *report, struct trace_denial *denial)
{
    if (!denial || array_reserve(&report->denials, &report->capacity, report->count, sizeof(void *)) < 0 ||
        !tsearch(denial, &report->index, compare)) {
        free_denial(denial);
        return false;
    }
    report->denials[report->count++] = denial;
    return true;
}

static void note(struct failed_call *call, const struct trace_denial *found)
{
    struct trace_report *report = call->report;
    struct trace_denial *const *known = tfind(found, &report->index, compare);
    size_t bytes = (found->path ? strlen(found->path) : 0) + (found->subject ? strlen(found->subject) : 0);
    struct trace_denial *denial;

    if (!known && (report->count == TRACE_MAX_DENIALS || report->bytes + bytes > TRACE_MAX_BYTES)) {
        call->is_dropped = true;
        return;
    }
    report->bytes += known ? 0 : bytes;
    if (!known && !add(report, copy_denial(call, found))) {
        call->is_out_of_memory = true;
        return;
    }
    denial = known ? *known : report->denials[report->count - 1];
    denial->rights |= found->rights;
    denial->count += denial->last != call->serial;
    denial->last = call->serial;
}

static void leave_denial(void *denial)
{
    (void)denial;
}

void trace_report_free(struct trace_report *report)
{
    tdestroy(report->index, leave_denial);
    for (size_t i = 0; i < report->count; i++)
        free_denial(report->denials[i]);
    free(report->denials);
    *report = (struct trace_report){0};
}

/* ---- What a line would be for ---- */

/* The length of "/proc/PID"; 0: it is none. */
static size_t process_directory(const char *path)
{
    size_t length = strlen("/proc/");

    if (strncmp(path, "/proc/", length) != 0 || !isdigit((unsigned char)path[length]))
        return 0;
    length += strspn(path + length, "0123456789");
    return path[length] == '/' || !path[length] ? length : 0;
}

/* As it is told: the directory of a process has another name each time. */
static void name_of(const struct failed_call *call, const char *path, char name[static PATH_MAX])
{
    size_t length = process_directory(path);
    bool is_own = length && strtol(path + strlen("/proc/"), NULL, 10) == process_of(call->tid);

    snprintf(name, PATH_MAX, "%s%s", is_own ? "/proc/self" : "", path + (is_own ? length : 0));
}

/* The directory above in which the policy lets the program create, as the policy names it; NULL: none. There files come and go, and a
 * rule holds for the file that was there. */
static const char *creatable_above(const struct launch *launch, const char *path)
{
    char parent[PATH_MAX];
    const struct launch_grant *grant = NULL;

    snprintf(parent, sizeof parent, "%s", path);
    if (!path_to_parent(parent))
        return NULL;
    for (size_t i = 0; i < policy_right_count && !grant; i++)
        if (policy_right_table[i].bit & policy_rights_that_create() & ~POLICY_REFER)
            grant = launch_granting(launch, parent, policy_right_table[i].bit);
    return grant ? grant->rule->path : NULL;
}

/* A rule for what belongs to one process would hold for that process alone. */
static const char *subject_of(const struct failed_call *call, const char *path)
{
    const char *directory;

    if (process_directory(path))
        return "/proc";
    directory = creatable_above(call->launch, path);
    return directory ? directory : path;
}

/* ---- Judging ---- */

static bool judge(struct failed_call *call, policy_rights right, const char *path, struct verdict *verdict)
{
    struct error error = {0};

    if (verdict_of_path(call->launch, right, path, verdict, &error) == 0)
        return true;
    verdict_free(verdict);
    call->is_out_of_memory = true;
    return false;
}

/* The statement that a line would contradict if not now, then when the program has made use of it. */
static const struct policy_position *forbidden_by_guards(struct failed_call *call, policy_rights right,
                                                         const char *subject)
{
    if (!call->has_looked)
        call->disturbed = disturbed_guard(call->guards);
    call->has_looked = true;
    call->report->is_disturbed |= call->disturbed != NULL;
    if (call->disturbed || !(right & (policy_rights_that_create() | POLICY_REMOVE_FILE | POLICY_REMOVE_DIR)))
        return call->disturbed;
    return guard_within(call->guards, subject);
}

/* Looks for a line that would allow it: for what was met or, since a rule holds for the file that is there when the program starts, for
 * where files come and go. Where there is none `found` tells why not. */
static void find_line(struct failed_call *call, policy_rights right, const char *path,
                      struct trace_denial *found)
{
    const char *subject = subject_of(call, path);
    const struct policy_position *forbidden = forbidden_by_guards(call, right, subject);
    struct verdict verdict;

    if (!judge(call, right, subject, &verdict))
        return;
    forbidden = forbidden ? forbidden : verdict.forbidden_by;
    if (forbidden)
        found->forbidden_by = *forbidden;
    found->has_line = verdict.suggestion && !forbidden;
    found->subject = found->has_line ? strdup(subject) : NULL;
    call->is_out_of_memory |= found->has_line && !found->subject;
    verdict_free(&verdict);
}

/* False: it is not denied by the policy, or memory ran out. */
static bool find_denial(struct failed_call *call, policy_rights right, const char *path,
                        struct trace_denial *found)
{
    char name[PATH_MAX];
    struct verdict verdict;
    const char *target;

    *found = (struct trace_denial){0};
    if (!judge(call, right, path, &verdict))
        return false;
    target = verdict.interpreter ? verdict.interpreter : path;
    if (verdict.landlock_denies) {
        name_of(call, target, name);
        found->path = strdup(name);
        found->rights = verdict.missing;
        if (!verdict.is_undecided)
            found->system_obstacle = verdict.system_obstacle;
        if (found->system_obstacle == VERDICT_NOTHING)
            find_line(call, right, target, found);
        call->is_out_of_memory |= !found->path;
    }
    verdict_free(&verdict);
    if (!found->path)
        free(found->subject);
    return found->path;
}

static void forbid(struct trace_denial *found, const struct trace_denial *hopeless)
{
    free(found->subject);
    found->subject = NULL;
    found->has_line = false;
    found->forbidden_by = hopeless->forbidden_by;
    found->system_obstacle = hopeless->system_obstacle;
}

bool is_deep(const char *path)
{
    unsigned depth = 0;

    for (const char *at = path; *at; at++)
        depth += *at == '/';
    return depth > TRACE_MAX_DEPTH;
}

/* What is denied of the rights at a path; returns how many there are. */
static size_t find_denials(struct failed_call *call, const struct want *want, struct trace_denial *found,
                           size_t most)
{
    size_t count = 0;

    if (is_deep(want->path)) {
        call->is_unread = true;
        return 0;
    }
    for (size_t i = 0; i < policy_right_count && count < most; i++)
        if (policy_right_table[i].bit & want->rights &&
            find_denial(call, policy_right_table[i].bit, want->path, &found[count]))
            count++;
    return count;
}

/* Where one of the rights that the call needs must not be given, or would not do, a line for the others would be of no use. */
void deny_paths(struct failed_call *call, const struct want *wants, size_t count)
{
    enum { MOST = 64 }; /* rights on files, at two paths */
    struct trace_denial found[MOST];
    const struct trace_denial *hopeless = NULL;
    size_t found_count = 0;

    for (size_t i = 0; i < count; i++)
        found_count += find_denials(call, &wants[i], found + found_count, MOST - found_count);
    for (size_t i = 0; i < found_count; i++)
        if (!hopeless && !found[i].has_line)
            hopeless = &found[i];
    for (size_t i = 0; i < found_count; i++) {
        if (hopeless && found[i].has_line)
            forbid(&found[i], hopeless);
        note(call, &found[i]);
        free(found[i].path);
        free(found[i].subject);
    }
}

void deny_path(struct failed_call *call, policy_rights rights, const char *path)
{
    deny_paths(call, &(const struct want){rights, path}, 1);
}

/* Ports that the kernel gives only to who has a capability, which the program has not (ip(7), ip_unprivileged_port_start). */
static bool is_privileged(policy_rights right, uint16_t port)
{
    char text[32];

    return right & (POLICY_BIND_TCP | POLICY_BIND_UDP) && port && port < 1024 &&
           read_small_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", text, sizeof text) &&
           port < strtol(text, NULL, 10);
}

void deny_port(struct failed_call *call, policy_rights right, uint16_t port)
{
    struct trace_denial found = {.port = port, .rights = right};
    struct verdict verdict;
    struct error error = {0};

    if (verdict_of_port(call->launch, right, port, &verdict, &error) < 0) {
        call->is_out_of_memory = true;
        return;
    }
    if (verdict.landlock_denies) {
        if (is_privileged(right, port))
            found.system_obstacle = VERDICT_PERMISSIONS;
        else
            found.has_line = verdict.suggestion != NULL;
        if (verdict.forbidden_by)
            found.forbidden_by = *verdict.forbidden_by;
        note(call, &found);
    }
    verdict_free(&verdict);
}

void deny_scope(struct failed_call *call, policy_rights scope)
{
    struct trace_denial found = {.rights = scope};

    if (call->launch->handled & scope)
        note(call, &found);
}
