#include "command.h"
#include "verdict/verdict.h"

#include <string.h>

/* A right at a path or port, and what came of the question. */
struct answer {
    policy_rights right;
    const char *path; /* NULL: a port */
    uint16_t port;
    struct verdict verdict;
};

/* ---- Text ---- */

static void put_line(const struct launch *launch, const struct verdict *verdict)
{
    auto_free char *place = position_text(launch->policy, verdict->position);

    if (verdict->given_to)
        put_reason("given by the rule for %s, %s", verdict->given_to, place ? place : "");
    else
        put_reason("%s", place ? place : "");
}

static void put_landlock(const struct launch *launch, const struct answer *answer)
{
    const struct verdict *verdict = &answer->verdict;
    char names[POLICY_RIGHTS_TEXT];

    if (verdict->landlock_denies && !(launch->handled & verdict->missing))
        put_reason("Landlock ABI %u denies it, whatever the policy says", launch->abi);
    else if (verdict->landlock_denies)
        put_reason("Landlock: no line allows %s%s", policy_rights_text(verdict->missing, names),
                   verdict->interpreter ? " on its ELF loader or interpreter" : "");
    else if (!verdict->is_restricted && launch->policy->unrestricted & answer->right)
        put_reason("Landlock: the policy leaves it unrestricted");
    else if (!verdict->is_restricted)
        put_reason("Landlock ABI %u cannot restrict it: nothing denies it", launch->abi);
    if (verdict->position)
        put_line(launch, verdict);
}

static void put_system(const struct answer *answer)
{
    const struct verdict *verdict = &answer->verdict;

    if (answer->path && verdict->real && strcmp(verdict->real, answer->path) != 0 &&
        verdict->system_obstacle != VERDICT_MISSING)
        put_reason("it leads to %s", verdict->real);
    if (verdict->system_obstacle == VERDICT_MISSING)
        put_reason("there is no such file; what is there of it: %s", verdict->real);
    else if (verdict->system_obstacle == VERDICT_KIND)
        put_reason("it is not the kind of file that this right is about");
    else if (verdict->system_obstacle != VERDICT_NOTHING)
        put_reason("%s: %s", verdict->landlock_denies ? "without Landlock, too" : "not Landlock",
                   verdict->system_obstacle == VERDICT_READ_ONLY ? "a read-only mount"
                                                                 : strerror(verdict->failure));
    if (verdict->is_undecided)
        put_reason(verdict->is_in_proc ? "in /proc the kernel has rules of its own, on other processes above "
                                         "all"
                                       : "of files in it; their own permissions decide, too");
}

static void put_advice(const struct launch *launch, const struct verdict *verdict)
{
    if (verdict->suggestion)
        put_reason("to allow it: %s", verdict->suggestion);
    if (verdict->forbidden_by) {
        auto_free char *place = position_text(launch->policy, verdict->forbidden_by);

        put_reason("to allow it would contradict %s", place ? place : "");
    }
}

static void put_answer(const struct launch *launch, const struct answer *answer)
{
    bool is_allowed = answer->verdict.is_allowed;
    char subject[32];

    snprintf(subject, sizeof subject, "%u", answer->port);
    put_coloured(is_allowed ? GREEN : RED, is_allowed ? "allowed" : "denied");
    printf(" %s ", policy_right_name(answer->right));
    put_text(answer->path ? answer->path : subject);
    putchar('\n');
    put_landlock(launch, answer);
    put_system(answer);
    put_advice(launch, &answer->verdict);
}

/* ---- JSON ---- */

static json_t *json_place(const struct policy *policy, const struct policy_position *position)
{
    json_t *object;

    if (!position)
        return json_null();
    object = json_object();
    json_add_position(object, policy, position);
    return object;
}

static json_t *json_answer(const struct launch *launch, const struct answer *answer)
{
    const struct verdict *verdict = &answer->verdict;
    json_t *object = json_object();

    json_set(object, "right", json_string(policy_right_name(answer->right)));
    json_set(object, "path", json_text(answer->path));
    json_set(object, "port", answer->path ? json_null() : json_integer(answer->port));
    json_set(object, "allowed", json_boolean(verdict->is_allowed));
    json_set(object, "obstacle", json_string(verdict_obstacle_name(verdict->obstacle)));
    json_set(object, "restricted", json_boolean(verdict->is_restricted));
    json_set(object, "landlock_denies", json_boolean(verdict->landlock_denies));
    json_set(object, "missing", json_rights(verdict->missing));
    json_set(object, "system", json_string(verdict_obstacle_name(verdict->system_obstacle)));
    json_set(object, "system_error", json_text(verdict->failure ? strerror(verdict->failure) : NULL));
    json_set(object, "undecided", json_boolean(verdict->is_undecided));
    json_set(object, "leads_to", json_text(verdict->real));
    json_set(object, "given_by", json_place(launch->policy, verdict->position));
    json_set(object, "suggestion", json_text(verdict->suggestion));
    json_set(object, "forbidden_by", json_place(launch->policy, verdict->forbidden_by));
    return object;
}

/* ---- The questions ---- */

static int read_rights(const char *text, policy_rights *rights, struct error *error)
{
    size_t length;
    const char *unknown = policy_rights_read(text, rights, &length), *nearest;
    auto_free char *word = NULL;

    if (!unknown && *rights & POLICY_ALL_SCOPES) {
        error_set(error, LAUNCH_USAGE, "%s: a scope has no path or port", text);
        return error_hint(error, "landlock-policy show tells whether it is restricted");
    }
    if (!unknown && *rights & POLICY_ALL_FS && *rights & POLICY_ALL_NET) {
        error_set(error, LAUNCH_USAGE, "%s: file rights and network rights at once", text);
        return error_hint(error, "ask twice: file rights have paths, network rights have ports");
    }
    if (!unknown)
        return 0;
    word = strndup(unknown, length);
    nearest = word ? policy_rights_nearest(word) : NULL;
    error_set(error, LAUNCH_USAGE, "unknown right '%.*s'%s%s%s", (int)length, unknown,
              nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
    return error_hint(error, "rights and groups are listed in landlock-exec.policy(5)");
}

static int read_subject(const char *text, struct answer *answer, struct error *error)
{
    const char *fault;
    long port;

    if (answer->right & POLICY_ALL_NET) {
        if (command_number(text, 0, UINT16_MAX, &port) < 0) {
            error_set(error, LAUNCH_USAGE, "'%s' is not a port; expected 0 to 65535", text);
            return error_hint(error, "network rights have ports; a range is asked port by port");
        }
        answer->port = (uint16_t)port;
        return 0;
    }
    fault = policy_path_fault(text);
    answer->path = text;
    if (!fault)
        return 0;
    error_set(error, LAUNCH_USAGE, "path '%s' %s", text, fault);
    return error_hint(error, "name it as a policy does: absolute, without empty, '.' or '..' components");
}

/* Answers one question: 1 allowed, 0 denied, -1 and `error`. */
static int answer_one(const struct launch *launch, struct answer answer, const char *subject, json_t *answers,
                      struct error *error)
{
    int result;

    if (read_subject(subject, &answer, error) < 0)
        return -1;
    result = answer.path ? verdict_of_path(launch, answer.right, answer.path, &answer.verdict, error)
                         : verdict_of_port(launch, answer.right, answer.port, &answer.verdict, error);
    if (result == 0) {
        if (answers)
            json_add(answers, json_answer(launch, &answer));
        else
            put_answer(launch, &answer);
        result = answer.verdict.is_allowed;
    }
    verdict_free(&answer.verdict);
    return result;
}

static int answer_all(const struct options *options, const struct launch *launch, json_t *answers,
                      struct error *error)
{
    policy_rights rights;
    int status = FINE;

    if (read_rights(options->line.operands[1], &rights, error) < 0)
        return -1;
    for (size_t k = 2; k < options->line.operand_count; k++) {
        const char *subject = options->line.operands[k];
        policy_rights fitting = rights & POLICY_ALL_NET ? rights : fitting_rights(rights, subject);

        for (size_t i = 0; i < policy_right_count; i++) {
            struct answer answer = {.right = policy_right_table[i].bit & fitting};
            int result = answer.right ? answer_one(launch, answer, subject, answers, error) : 1;

            if (result < 0)
                return -1;
            status = result ? status : FINDINGS;
        }
    }
    return status;
}

/* A launch would not come as far as this. */
static void note_faults(const struct look *look)
{
    for (size_t i = 0; i < look->faults.count; i++) {
        const struct launch_fault *fault = &look->faults.items[i];
        auto_free char *place =
            fault->position.line ? position_text(look->launch.policy, &fault->position) : NULL;
        auto_free char *text = text_of("%s%s%s", place ? place : "", place ? ": " : "", fault->message);

        text_write_line(STDERR_FILENO, "landlock-policy: note: a launch would be refused here: ",
                        text ? text : "out of memory");
    }
}

static int answer_with(const struct options *options, struct look *look, struct error *error)
{
    json_t *answers = options->is_json ? json_array() : NULL, *document;
    int status;

    note_faults(look);
    if (launch_drop_capabilities(error) < 0)
        return -1;
    status = answer_all(options, &look->launch, answers, error);
    if (!answers || status < 0) {
        json_decref(answers);
        return status;
    }
    document = json_object();
    json_set(document, "policy", json_text(options->request.policy_file));
    json_set(document, "abi", json_abi(&look->launch));
    json_set(document, "answers", answers);
    return put_json(document, error) < 0 ? -1 : status;
}

int why(const struct options *options, struct error *error)
{
    struct look look;
    int status = look_at_policy(&look, options, options->request.policy_file, false, error);

    if (status == 0)
        status = answer_with(options, &look, error);
    else
        say_diagnostics(&look.launch.diagnostics);
    look_free(&look);
    return status;
}
