#include "command.h"
#include "trial/trial.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <string.h>

/* One line of the answer: a right that is expected at a path, or at a range of ports. */
struct point {
    const struct policy_expectation *expectation;
    policy_rights right;
    size_t first, count; /* its trials */
};

enum outcome { OK, NOT_OK, SKIPPED };

/* What is said of a point. Texts are malloc'd, or NULL. */
struct result {
    enum outcome outcome;
    char *note, *hint;
    const struct trial *trial; /* the one that decided */
};

struct tester {
    const struct options *options;
    struct launch *launch;
    struct point *points;
    struct trial *trials;
    size_t point_count, point_capacity, trial_count, trial_capacity;
    size_t counts[3]; /* by outcome */
    json_t *tests;    /* NULL: TAP */
};

/* ---- What is to be tried ---- */

static int add_point(struct tester *tester, const struct policy_expectation *expectation, policy_rights right,
                     struct error *error)
{
    size_t count = expectation->path ? 1 : (size_t)(expectation->last - expectation->first) + 1;

    if (array_reserve(&tester->points, &tester->point_capacity, tester->point_count, sizeof *tester->points) <
        0)
        return error_set(error, LAUNCH_SYSTEM, "reading expectations: out of memory");
    tester->points[tester->point_count++] = (struct point){expectation, right, tester->trial_count, count};
    for (size_t i = 0; i < count; i++) {
        if (array_reserve(&tester->trials, &tester->trial_capacity, tester->trial_count,
                          sizeof *tester->trials) < 0)
            return error_set(error, LAUNCH_SYSTEM, "reading expectations: out of memory");
        tester->trials[tester->trial_count++] = (struct trial){
            .right = right, .path = expectation->path, .port = (uint16_t)(expectation->first + i)};
    }
    return 0;
}

static int add_points(struct tester *tester, struct error *error)
{
    const struct policy *policy = tester->launch->policy;

    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];
        policy_rights rights = fitting_rights(expectation->rights, expectation->path);

        for (size_t k = 0; k < policy_right_count; k++)
            if (policy_right_table[k].bit & rights &&
                add_point(tester, expectation, policy_right_table[k].bit, error) < 0)
                return -1;
    }
    return 0;
}

/* ---- What came of it ---- */

static const char *came_of(int failure)
{
    return failure ? strerror(failure) : "it succeeds";
}

static bool is_missing(int failure)
{
    return failure == ENOENT || failure == ENOTDIR;
}

static bool is_permission(int failure)
{
    return failure == EACCES || failure == EPERM || failure == EROFS;
}

/* What was to be allowed is not, and not by Landlock. */
static struct result not_by_landlock(const struct trial *trial)
{
    bool is_ours = is_permission(trial->outside) && trial->outside != EROFS;

    return (struct result){.outcome = NOT_OK,
                           .note = trial->untried
                                       ? text_of("it cannot be tried: %s%s%s", trial->untried,
                                                 trial->outside > 0 ? ": " : "",
                                                 trial->outside > 0 ? strerror(trial->outside) : "")
                                       : text_of("denied, and not by Landlock: %s", strerror(trial->outside)),
                           .hint = is_ours ? text_of("UID %u may not, without capabilities: run this as the "
                                                     "user that the program runs as",
                                                     getuid())
                                           : NULL};
}

static struct result judge_allowed(const struct trial *trial, const struct verdict *verdict)
{
    if (!trial->untried && !trial->inside)
        return (struct result){.outcome = OK};
    if (trial->untried || trial->outside)
        return not_by_landlock(trial);
    return (struct result){.outcome = NOT_OK,
                           .note = text_of("denied by Landlock: %s", strerror(trial->inside)),
                           .hint = verdict->suggestion ? strdup(verdict->suggestion) : NULL};
}

/* The policy's rules deny it, on this ABI. */
static struct result judge_denied(const struct trial *trial)
{
    if (trial->untried && is_missing(trial->outside))
        return (struct result){.outcome = SKIPPED, .note = text_of("there is no such file")};
    if (trial->untried && is_permission(trial->outside))
        return (struct result){.outcome = OK,
                               .note = text_of("not only by Landlock: %s", strerror(trial->outside))};
    /* a link fails inside, if for another right, too */
    if (trial->untried && trial->right == POLICY_REFER && !trial->outside)
        return (struct result){.outcome = OK, .note = text_of("%s", trial->untried)};
    if (trial->untried)
        return (struct result){.outcome = SKIPPED, .note = text_of("%s", trial->untried)};
    if (!trial->inside)
        return (struct result){.outcome = NOT_OK,
                               .note = text_of("it succeeds, although the policy denies it"),
                               .hint = text_of("this kernel does not enforce it: landlock-policy probe")};
    if (!trial->outside && trial->inside != EACCES && trial->inside != EXDEV)
        return (struct result){
            .outcome = NOT_OK,
            .note = text_of("it fails, and not as Landlock denies: %s", strerror(trial->inside)),
            .hint = text_of("something else changes there: try it again")};
    return (struct result){
        .outcome = OK,
        .note = trial->outside ? text_of("not only by Landlock: %s", strerror(trial->outside)) : NULL};
}

/* Landlock does not deny it: by a rule, or since this ABI cannot. */
static struct result judge_not_denied(const struct launch *launch, const struct trial *trial,
                                      const struct verdict *verdict)
{
    bool fails = trial->untried || trial->inside;
    auto_free char *place = verdict->position ? position_text(launch->policy, verdict->position) : NULL;

    if (!verdict->is_restricted && !verdict->position && fails && trial->right == POLICY_TRUNCATE &&
        launch->container == LAUNCH_CONTAINER_CHECKED)
        return (struct result){
            .outcome = SKIPPED,
            .note = text_of("Landlock ABI %u cannot restrict it; the container, which was checked, does: %s",
                            launch->abi, came_of(trial->untried ? trial->outside : trial->inside))};
    return (struct result){
        .outcome = NOT_OK,
        .note = place ? text_of("Landlock does not deny it: %s allows it%s%s", place, fails ? "; " : "",
                                fails ? came_of(trial->untried ? trial->outside : trial->inside) : "")
                      : text_of("Landlock ABI %u cannot restrict it%s%s", launch->abi, fails ? "; " : "",
                                fails ? came_of(trial->untried ? trial->outside : trial->inside) : ""),
        .hint = place
                    ? text_of("take one of the two lines out")
                    : text_of("refuse to run on such a kernel: require %s", policy_right_name(trial->right))};
}

static struct result judge_trial(const struct launch *launch, const struct point *point,
                                 const struct trial *trial, const struct verdict *verdict)
{
    struct result result;

    if (verdict->system_obstacle == VERDICT_KIND)
        result = (struct result){.outcome = NOT_OK,
                                 .note = text_of("it is not the kind of file that this right is about"),
                                 .hint = text_of("name a path that it fits, or take the right out")};
    else if (point->expectation->allowed)
        result = judge_allowed(trial, verdict);
    else if (verdict->landlock_denies)
        result = judge_denied(trial);
    else
        result = judge_not_denied(launch, trial, verdict);
    result.trial = trial;
    return result;
}

static int ask_verdict(const struct tester *tester, const struct trial *trial, struct verdict *verdict,
                       struct error *error)
{
    return trial->path ? verdict_of_path(tester->launch, trial->right, trial->path, verdict, error)
                       : verdict_of_port(tester->launch, trial->right, trial->port, verdict, error);
}

static void free_result(struct result *result)
{
    free(result->note);
    free(result->hint);
}

/* Of a range, the first port that is not as expected decides, else the first. */
static int judge(const struct tester *tester, const struct point *point, struct result *result,
                 struct error *error)
{
    for (size_t i = 0; i < point->count; i++) {
        const struct trial *trial = &tester->trials[point->first + i];
        struct verdict verdict;
        struct result next;

        if (ask_verdict(tester, trial, &verdict, error) < 0)
            return -1;
        next = judge_trial(tester->launch, point, trial, &verdict);
        verdict_free(&verdict);
        if (i && next.outcome != NOT_OK) {
            free_result(&next);
            continue;
        }
        free_result(result);
        *result = next;
        if (next.outcome == NOT_OK)
            return 0;
    }
    return 0;
}

/* ---- TAP version 14 ---- */

/* What is written is TAP 13, too. A harness that knows no newer one says so: Perl's Test::Harness in TAP_VERSION, up to 3.47. */
static const char *tap_version(void)
{
    const char *known = getenv("TAP_VERSION");

    return known && !strcmp(known, "13") ? "13" : "14";
}

/* In a description a number sign would begin a directive. */
static void put_escaped(const char *text)
{
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "#\\");
        auto_free char *part = strndup(at, length);

        put_text(part ? part : "");
        at += length;
        if (*at)
            printf("\\%c", *at++);
    }
}

static void put_subject(const struct point *point)
{
    const struct policy_expectation *expectation = point->expectation;
    char ports[POLICY_PORTS_TEXT];

    if (expectation->path)
        put_escaped(expectation->path);
    else
        fputs(policy_ports_text(expectation->first, expectation->last, ports), stdout);
}

static void put_yaml(const char *key, const char *text)
{
    printf("  %s: ", key);
    text_write_json(stdout, text);
    putchar('\n');
}

static void put_details(const struct tester *tester, const struct point *point, const struct result *result)
{
    auto_free char *place = position_text(tester->launch->policy, &point->expectation->position);

    puts("  ---");
    put_yaml("message", result->note ? result->note : "out of memory");
    put_yaml("at", place ? place : "");
    if (point->count > 1)
        printf("  port: %u\n", result->trial->port);
    if (!result->trial->untried) {
        put_yaml("outside", came_of(result->trial->outside));
        put_yaml("inside", came_of(result->trial->inside));
    }
    if (result->hint)
        put_yaml("hint", result->hint);
    puts("  ...");
}

static void put_result(const struct tester *tester, size_t number, const struct point *point,
                       const struct result *result)
{
    const struct policy_expectation *expectation = point->expectation;

    printf("%sok %zu - %s %s ", result->outcome == NOT_OK ? "not " : "", number,
           expectation->allowed ? "allowed" : "denied", policy_right_name(point->right));
    put_subject(point);
    if (result->outcome == SKIPPED) {
        fputs(" # SKIP ", stdout);
        put_text(result->note ? result->note : "");
    } else if (result->outcome == OK && result->note) {
        fputs(" (", stdout);
        put_escaped(result->note);
        putchar(')');
    }
    putchar('\n');
    if (result->outcome == NOT_OK)
        put_details(tester, point, result);
}

/* ---- JSON ---- */

static json_t *json_result(const struct tester *tester, const struct point *point,
                           const struct result *result)
{
    static const char *const outcomes[] = {[OK] = "ok", [NOT_OK] = "not ok", [SKIPPED] = "skipped"};
    const struct policy_expectation *expectation = point->expectation;
    const struct trial *trial = result->trial;
    json_t *object = json_object();

    json_set(object, "outcome", json_string(outcomes[result->outcome]));
    json_set(object, "expected", json_string(expectation->allowed ? "allowed" : "denied"));
    json_set(object, "right", json_string(policy_right_name(point->right)));
    json_set(object, "path", json_text(expectation->path));
    json_set(object, "ports",
             expectation->path ? json_null() : json_ports(expectation->first, expectation->last));
    json_set(object, "port", expectation->path ? json_null() : json_integer(trial->port));
    json_set(object, "tried", json_boolean(!trial->untried));
    json_set(object, "outside", json_text(trial->untried ? NULL : came_of(trial->outside)));
    json_set(object, "inside", json_text(trial->untried ? NULL : came_of(trial->inside)));
    json_set(object, "message", json_text(result->note));
    json_set(object, "hint", json_text(result->hint));
    json_add_position(object, tester->launch->policy, &expectation->position);
    return object;
}

static int put_document(struct tester *tester, struct error *error)
{
    json_t *document = json_object();

    json_set(document, "policy", json_text(tester->options->request.policy_file));
    json_set(document, "abi", json_abi(tester->launch));
    json_set(document, "tests", json_incref(tester->tests));
    json_set(document, "passed", json_integer((json_int_t)tester->counts[OK]));
    json_set(document, "failed", json_integer((json_int_t)tester->counts[NOT_OK]));
    json_set(document, "skipped", json_integer((json_int_t)tester->counts[SKIPPED]));
    return put_json(document, error);
}

/* ---- The whole ---- */

static int tell(struct tester *tester, struct error *error)
{
    if (!tester->tests)
        printf("TAP version %s\n1..%zu%s\n", tap_version(), tester->point_count,
               tester->point_count ? "" : " # SKIP the policy expects nothing: it has no expect statement");
    for (size_t i = 0; i < tester->point_count; i++) {
        struct result result = {.trial = &tester->trials[tester->points[i].first]};

        if (judge(tester, &tester->points[i], &result, error) < 0)
            return -1;
        tester->counts[result.outcome]++;
        if (tester->tests)
            json_add(tester->tests, json_result(tester, &tester->points[i], &result));
        else
            put_result(tester, i + 1, &tester->points[i], &result);
        free_result(&result);
    }
    return tester->tests ? put_document(tester, error) : 0;
}

static int run(struct tester *tester, struct error *error)
{
    if (add_points(tester, error) < 0 || launch_drop_capabilities(error) < 0 ||
        trial_run(tester->launch, tester->trials, tester->trial_count, error) < 0 || tell(tester, error) < 0)
        return -1;
    return tester->counts[NOT_OK] ? FINDINGS : FINE;
}

static int run_prepared(const struct options *options, struct launch *launch, struct error *error)
{
    struct tester tester = {
        .options = options, .launch = launch, .tests = options->is_json ? json_array() : NULL};
    int status = run(&tester, error);

    json_decref(tester.tests);
    free(tester.points);
    free(tester.trials);
    return status;
}

/* More than one finding is in the hint's place. */
static void say_findings(const struct container_findings *findings)
{
    for (size_t i = 0; findings->count > 1 && i < findings->count; i++) {
        text_write_line(STDERR_FILENO, "landlock-policy: container: ", findings->items[i].message);
        text_write_line(STDERR_FILENO, "landlock-policy: hint: ", findings->items[i].hint);
    }
}

int test(const struct options *options, struct error *error)
{
    struct launch launch = {0};
    int status = launch_prepare_domain(&launch, &options->request, error);

    if (status == 0)
        status = launch_check_container(&launch, error);
    if (status == 0) {
        status = run_prepared(options, &launch, error);
    } else {
        say_diagnostics(&launch.diagnostics);
        say_findings(&launch.findings);
    }
    launch_free(&launch);
    return status;
}
