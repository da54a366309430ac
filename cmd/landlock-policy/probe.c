#include "probe/probe.h"
#include "command.h"

#include <string.h>

/* All that is found. `look` is NULL without a policy. */
struct findings {
    struct probe_kernel kernel;
    struct look *look;
    struct probe_statements statements;
    bool is_fit;
    const char *advice;
};

static unsigned used_abi(const struct options *options, const struct probe_kernel *kernel)
{
    unsigned most = options->request.max_abi ? options->request.max_abi : POLICY_NEWEST_ABI;

    return kernel->abi < most ? kernel->abi : most;
}

static policy_rights restricted(const struct options *options, const struct findings *found)
{
    policy_rights rights = policy_rights_of_abi(used_abi(options, &found->kernel));

    if (found->kernel.message)
        return 0;
    return found->kernel.has_broken_scopes ? rights & ~POLICY_ALL_SCOPES : rights;
}

/* What is left open where `rights` are restricted; refer is denied by every ABI. */
static policy_rights open_rights(policy_rights rights)
{
    return policy_rights_of_abi(POLICY_NEWEST_ABI) & ~rights & ~(rights ? POLICY_REFER : 0);
}

/* ---- Text ---- */

enum { EFFECT = 9, PLACE = 34 };

static void put_kernel(const struct probe_kernel *kernel)
{
    char text[256], *end = text;

    snprintf(text, sizeof text, "%s %s", kernel->release, kernel->machine);
    put_fact("kernel", text);
    put_fact("seccomp", kernel->is_filtered ? "a filter is on this process" : "no filter");
    put_column("landlock", LABEL_WIDTH);
    put_coloured(kernel->message ? RED : GREEN, probe_landlock_name(kernel->landlock));
    if (kernel->abi)
        printf(", ABI %u (this build knows up to %d)", kernel->abi, POLICY_NEWEST_ABI);
    putchar('\n');
    if (kernel->message)
        put_fact("", kernel->message);
    if (kernel->has_broken_scopes)
        put_fact("scopes", "the kernel announces them and refuses them: signals and abstract sockets are "
                           "open");
    *end = '\0';
    for (unsigned bit = 0; bit < 32; bit++)
        if (kernel->errata >> bit & 1)
            end += sprintf(end, "%s%u", end > text ? " " : "", bit + 1);
    if (kernel->errata)
        put_fact("errata fixed", text);
}

/* What cannot be restricted, each with the ABI that can. */
static void put_rights(policy_rights rights)
{
    policy_rights open = open_rights(rights);
    char names[POLICY_RIGHTS_TEXT];
    const char *separator = "";

    put_fact("restricted", rights ? policy_rights_short_text(rights, names) : "nothing");
    if (!rights)
        return;
    put_column("open", LABEL_WIDTH);
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & open) {
            printf("%s%s (ABI %u)", separator, policy_right_table[i].name, policy_right_table[i].abi);
            separator = ", ";
        }
    puts(open ? "" : "-");
}

static void put_statements(const struct findings *found)
{
    static const enum colour colours[] = {[PROBE_EFFECT_FULL] = GREEN,
                                          [PROBE_EFFECT_PART] = YELLOW,
                                          [PROBE_EFFECT_NONE] = YELLOW,
                                          [PROBE_EFFECT_REFUSED] = RED};
    const struct policy *policy = found->look->launch.policy;

    for (size_t i = 0; i < found->statements.count; i++) {
        const struct probe_statement *statement = &found->statements.items[i];
        auto_free char *place = position_text(policy, &statement->position);
        const char *effect = probe_effect_name(statement->effect);

        put_coloured(colours[statement->effect], effect);
        printf("%*s", EFFECT - (int)strlen(effect), "");
        put_column(place ? place : "", PLACE);
        put_text(statement->text);
        if (statement->effect != PROBE_EFFECT_FULL) {
            fputs(": ", stdout);
            put_text(statement->detail);
        }
        putchar('\n');
    }
}

static void put_container(const struct launch *launch)
{
    static const char *const texts[] = {[LAUNCH_CONTAINER_UNKNOWN] = "not checked",
                                        [LAUNCH_CONTAINER_NOT_NEEDED] = "the policy does not describe it, "
                                                                        "and on this ABI it need not",
                                        [LAUNCH_CONTAINER_CHECKED] = "it is what the policy describes"};

    put_fact("container",
             launch->findings.count ? "it is not what the policy describes:" : texts[launch->container]);
    for (size_t i = 0; i < launch->findings.count; i++) {
        put_fact("", launch->findings.items[i].message);
        put_fact("", launch->findings.items[i].hint);
    }
}

static void put_refusals(const struct look *look)
{
    for (size_t i = 0; i < look->faults.count; i++) {
        const struct launch_fault *fault = &look->faults.items[i];
        auto_free char *place =
            fault->position.line ? position_text(look->launch.policy, &fault->position) : NULL;

        put_column(probe_refuses(&look->launch, fault) ? "refused" : "not needed", LABEL_WIDTH);
        if (place) {
            put_text(place);
            fputs(": ", stdout);
        }
        put_text(fault->message);
        putchar('\n');
    }
}

static void put_probe(const struct options *options, const struct findings *found)
{
    put_kernel(&found->kernel);
    put_rights(restricted(options, found));
    if (found->look) {
        putchar('\n');
        put_statements(found);
        putchar('\n');
        put_container(&found->look->launch);
        put_refusals(found->look);
    }
    putchar('\n');
    put_column("to do", LABEL_WIDTH);
    put_coloured(found->is_fit ? GREEN : BOLD, found->advice ? found->advice
                                               : found->look ? "nothing: a launch would start"
                                                             : "nothing: Landlock can be used here");
    putchar('\n');
}

/* ---- JSON ---- */

static json_t *json_kernel(const struct options *options, const struct findings *found)
{
    const struct probe_kernel *kernel = &found->kernel;
    policy_rights rights = restricted(options, found);
    json_t *object = json_object();

    json_set(object, "release", json_text(kernel->release));
    json_set(object, "machine", json_text(kernel->machine));
    json_set(object, "landlock", json_string(probe_landlock_name(kernel->landlock)));
    json_set(object, "abi", kernel->abi ? json_integer(kernel->abi) : json_null());
    json_set(object, "errata", json_integer(kernel->errata));
    json_set(object, "seccomp", json_boolean(kernel->is_filtered));
    json_set(object, "broken_scopes", json_boolean(kernel->has_broken_scopes));
    json_set(object, "message", json_text(kernel->message));
    json_set(object, "hint", json_text(kernel->hint && kernel->hint[0] ? kernel->hint : NULL));
    json_set(object, "restricted", json_rights(rights));
    json_set(object, "open", json_rights(open_rights(rights)));
    return object;
}

static json_t *json_statements(const struct findings *found)
{
    json_t *array = json_array();

    for (size_t i = 0; i < found->statements.count; i++) {
        const struct probe_statement *statement = &found->statements.items[i];
        json_t *object = json_object();

        json_set(object, "statement", json_text(statement->text));
        json_set(object, "effect", json_string(probe_effect_name(statement->effect)));
        json_set(object, "detail", json_text(statement->detail));
        json_add_position(object, found->look->launch.policy, &statement->position);
        json_add(array, object);
    }
    return array;
}

static json_t *json_container(const struct launch *launch)
{
    static const char *const states[] = {[LAUNCH_CONTAINER_UNKNOWN] = "not-checked",
                                         [LAUNCH_CONTAINER_NOT_NEEDED] = "not-needed",
                                         [LAUNCH_CONTAINER_CHECKED] = "checked"};
    json_t *object = json_object(), *findings = json_array();

    for (size_t i = 0; i < launch->findings.count; i++) {
        json_t *finding = json_object();

        json_set(finding, "message", json_text(launch->findings.items[i].message));
        json_set(finding, "hint", json_text(launch->findings.items[i].hint));
        json_add(findings, finding);
    }
    json_set(object, "state", json_string(launch->findings.count ? "refused" : states[launch->container]));
    json_set(object, "findings", findings);
    return object;
}

static json_t *json_refusals(const struct look *look)
{
    json_t *array = json_array();

    for (size_t i = 0; i < look->faults.count; i++) {
        const struct launch_fault *fault = &look->faults.items[i];
        json_t *object;

        if (!probe_refuses(&look->launch, fault))
            continue;
        object = json_object();
        json_set(object, "reason", json_string(launch_reason((int)fault->reason)->name));
        json_set(object, "message", json_text(fault->message));
        json_set(object, "hint", json_text(fault->hint[0] ? fault->hint : NULL));
        json_add_position(object, look->launch.policy, &fault->position);
        json_add(array, object);
    }
    return array;
}

static json_t *json_probe(const struct options *options, const struct findings *found)
{
    json_t *document = json_object();

    json_set(document, "kernel", json_kernel(options, found));
    json_set(document, "policy", json_text(options->request.policy_file));
    json_set(document, "statements", found->look ? json_statements(found) : json_null());
    json_set(document, "container", found->look ? json_container(&found->look->launch) : json_null());
    json_set(document, "refusals", found->look ? json_refusals(found->look) : json_null());
    json_set(document, "fit", json_boolean(found->is_fit));
    json_set(document, "advice", json_text(found->advice));
    return document;
}

/* ---- Finding out ---- */

/* As a launch would, going on behind every fault. */
static int look_further(struct findings *found, struct error *error)
{
    struct launch *launch = &found->look->launch;

    if (launch->policy->run && launch_prepare_program(launch, error) < 0)
        return -1;
    return launch_check_container(launch, error) < 0 || launch_check_unprivileged(launch, error) < 0 ||
                   probe_statements(&found->kernel, launch, &found->statements, error) < 0
               ? -1
               : 0;
}

static int tell(const struct options *options, struct findings *found, struct error *error)
{
    found->advice = probe_advice(&found->kernel, found->look ? &found->look->launch : NULL);
    found->is_fit = !found->advice;
    if (options->is_json)
        return put_json(json_probe(options, found), error);
    put_probe(options, found);
    return 0;
}

static int probe_policy(const struct options *options, struct findings *found, struct error *error)
{
    int status = look_at_policy(found->look, options, options->request.policy_file, true, error);

    if (status < 0)
        say_diagnostics(&found->look->launch.diagnostics);
    if (status == 0)
        status = look_further(found, error);
    if (status == 0)
        status = tell(options, found, error);
    look_free(found->look);
    return status;
}

int probe(const struct options *options, struct error *error)
{
    struct look look = {0};
    struct findings found = {.look = options->request.policy_file ? &look : NULL};
    int status = probe_kernel(&found.kernel, error);

    if (status == 0)
        status = found.look ? probe_policy(options, &found, error) : tell(options, &found, error);
    probe_statements_free(&found.statements);
    probe_kernel_free(&found.kernel);
    return status < 0 ? -1 : found.is_fit ? FINE : FINDINGS;
}
