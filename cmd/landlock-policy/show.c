#include "command.h"

#include <string.h>

/* What became of a rule's path here. */
struct sight {
    const char *state;  /* "allow", "no effect", "missing", "refused" */
    const char *detail; /* why it is refused; NULL */
    policy_rights rights, effective;
};

static const struct launch_grant *grant_of(const struct launch *launch, const struct policy_path_rule *rule)
{
    for (size_t i = 0; i < launch->grant_count; i++)
        if (launch->grants[i].rule == rule)
            return &launch->grants[i];
    return NULL;
}

static struct sight see(const struct look *look, const struct policy_path_rule *rule)
{
    const struct launch_grant *grant = grant_of(&look->launch, rule);
    const struct launch_fault *fault = launch_fault_at(&look->faults, &rule->position);
    policy_rights rights = grant ? grant->rights : rule->rights, effective = rights & look->launch.handled;

    if (fault)
        return (struct sight){"refused", fault->message, rights, 0};
    if (!grant)
        return (struct sight){"missing", NULL, rights, 0};
    return (struct sight){effective ? "allow" : "no effect", NULL, rights, effective};
}

/* ---- Text ---- */

enum { STATE = 12, RIGHTS = 36, SUBJECT = 32 };

static void put_names(const char *label, policy_rights rights)
{
    char names[POLICY_RIGHTS_TEXT];

    put_fact(label, rights ? policy_rights_text(rights, names) : "-");
}

static void put_abi(const struct launch *launch)
{
    char text[128];

    if (launch->kernel_abi)
        snprintf(text, sizeof text, "%u (kernel %u, this build %d)", launch->abi, launch->kernel_abi,
                 POLICY_NEWEST_ABI);
    else
        snprintf(text, sizeof text, "%u, though this kernel has no Landlock: landlock-policy probe tells why",
                 launch->abi);
    put_fact("landlock abi", text);
}

static void put_rule(const struct policy *policy, const char *state, policy_rights rights,
                     const char *subject, const struct policy_position *position, const char *detail)
{
    auto_free char *place = position_text(policy, position);
    char names[POLICY_RIGHTS_TEXT];

    put_column(state, STATE);
    put_column(policy_rights_short_text(rights, names), RIGHTS);
    put_column(subject, SUBJECT);
    put_text(place ? place : "");
    if (detail) {
        fputs("  ", stdout);
        put_text(detail);
    }
    putchar('\n');
}

static void put_rules(const struct look *look)
{
    const struct policy *policy = look->launch.policy;
    char ports[POLICY_PORTS_TEXT];

    for (size_t i = 0; i < policy->path_rule_count; i++) {
        struct sight sight = see(look, &policy->path_rules[i]);

        put_rule(policy, sight.state, sight.effective ? sight.effective : sight.rights,
                 policy->path_rules[i].path, &policy->path_rules[i].position, sight.detail);
    }
    for (size_t i = 0; i < policy->port_rule_count; i++) {
        const struct policy_port_rule *rule = &policy->port_rules[i];
        policy_rights effective = rule->rights & look->launch.handled;

        put_rule(policy, effective ? "allow" : "no effect", effective ? effective : rule->rights,
                 policy_ports_text(rule->first, rule->last, ports), &rule->position, NULL);
    }
    for (size_t i = 0; i < policy->private_count; i++) {
        const struct launch_fault *fault = launch_fault_at(&look->faults, &policy->privates[i].position);

        put_rule(policy, fault ? "refused" : "private", 0, policy->privates[i].path,
                 &policy->privates[i].position, fault ? fault->message : NULL);
    }
}

static void put_words(const char *label, const char *const *words, size_t count)
{
    put_column(label, LABEL_WIDTH);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? " " : "", stdout);
        put_text(words[i]);
    }
    putchar('\n');
}

static void put_environment(const struct policy *policy)
{
    put_column("environment", LABEL_WIDTH);
    for (size_t i = 0; i < policy->kept_count; i++) {
        fputs(i ? " " : "keep ", stdout);
        put_text(policy->kept[i].name);
        fputs(policy->kept[i].is_prefix ? "*" : "", stdout);
    }
    for (size_t i = 0; i < policy->setting_count; i++) {
        auto_free char *name = strndup(policy->settings[i].assignment, policy->settings[i].name_length);

        fputs(i ? " " : policy->kept_count ? "; set " : "set ", stdout);
        put_text(name ? name : "");
    }
    fputs(policy->kept_count || policy->setting_count ? "\n" : "-\n", stdout);
}

static void put_paths(const char *label, const struct policy_path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs(i ? " " : label, stdout);
        put_text(paths[i].path);
    }
}

static void put_container(const struct policy_container *container)
{
    put_column("container", LABEL_WIDTH);
    if (!container->is_described) {
        puts("not described");
        return;
    }
    printf("checked %s: uid %u, no capabilities",
           container->check == POLICY_CHECK_ALWAYS ? "always" : "on Landlock ABI 1 and 2", container->uid);
    put_paths(", read-only ", container->read_only, container->read_only_count);
    fputs(", writable", stdout);
    for (size_t i = 0; i < policy_preset_count; i++)
        if (container->presets & policy_preset_table[i].bit)
            printf(" %s", policy_preset_table[i].name);
    put_paths(" ", container->writable, container->writable_count);
    putchar('\n');
}

static void put_requirements(const struct policy *policy)
{
    char text[POLICY_RIGHTS_TEXT];

    for (size_t i = 0; i < policy->requirement_count; i++) {
        const struct policy_requirement *requirement = &policy->requirements[i];

        if (requirement->abi)
            snprintf(text, sizeof text, "abi %u", requirement->abi);
        else
            policy_rights_text(requirement->rights, text);
        put_fact("require", text);
    }
}

static void put_rest(const struct launch *launch)
{
    const struct policy *policy = launch->policy;
    char text[64];

    if (policy->run)
        put_words("run", policy->run, policy->run_count);
    put_fact("directory", policy->directory.path ? policy->directory.path : "(the caller's)");
    put_environment(policy);
    for (size_t i = 0; i < policy_resource_count; i++)
        if (policy->limits[policy_resource_table[i].resource].is_set) {
            snprintf(text, sizeof text, "%s %ju", policy_resource_table[i].name,
                     (uintmax_t)policy->limits[policy_resource_table[i].resource].value);
            put_fact("limit", text);
        }
    put_fact("audit", policy->audit ? "on" : "off");
    put_requirements(policy);
    put_container(&policy->container);
}

static void put_expectations(const struct policy *policy)
{
    char ports[POLICY_PORTS_TEXT];

    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];

        put_rule(policy, expectation->allowed ? "must allow" : "must deny", expectation->rights,
                 expectation->path ? expectation->path
                                   : policy_ports_text(expectation->first, expectation->last, ports),
                 &expectation->position, NULL);
    }
}

static void put_show(const struct look *look)
{
    const struct launch *launch = &look->launch;

    for (size_t i = 0; i < launch->policy->file_count; i++)
        put_fact("policy", launch->policy->files[i].name);
    put_abi(launch);
    put_names("restricted", launch->handled);
    put_names("not enforced", launch->not_enforced);
    put_names("not granted", launch->not_granted);
    put_names("unrestricted", launch->policy->unrestricted);
    put_rest(launch);
    putchar('\n');
    put_rules(look);
    put_expectations(launch->policy);
}

/* ---- JSON ---- */

static json_t *json_rule(const struct look *look, const struct policy_path_rule *rule)
{
    struct sight sight = see(look, rule);
    json_t *object = json_object();

    json_set(object, "path", json_text(rule->path));
    json_set(object, "rights", json_rights(sight.rights));
    json_set(object, "effective", json_rights(sight.effective));
    json_set(object, "state", json_string(sight.state));
    json_set(object, "detail", json_text(sight.detail));
    json_set(object, "optional", json_boolean(rule->position.flags & POLICY_OPTIONAL));
    json_add_position(object, look->launch.policy, &rule->position);
    return object;
}

static json_t *json_port_rule(const struct launch *launch, const struct policy_port_rule *rule)
{
    json_t *object = json_object();

    json_set(object, "first", json_integer(rule->first));
    json_set(object, "last", json_integer(rule->last));
    json_set(object, "rights", json_rights(rule->rights));
    json_set(object, "effective", json_rights(rule->rights & launch->handled));
    json_add_position(object, launch->policy, &rule->position);
    return object;
}

static json_t *json_paths(const struct policy *policy, const struct policy_path *paths, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();

        json_set(object, "path", json_text(paths[i].path));
        json_add_position(object, policy, &paths[i].position);
        json_add(array, object);
    }
    return array;
}

static json_t *json_privates(const struct look *look)
{
    const struct policy *policy = look->launch.policy;
    json_t *array = json_paths(policy, policy->privates, policy->private_count);

    for (size_t i = 0; i < policy->private_count; i++) {
        const struct launch_fault *fault = launch_fault_at(&look->faults, &policy->privates[i].position);

        json_set(json_array_get(array, i), "state", json_string(fault ? "refused" : "private"));
        json_set(json_array_get(array, i), "detail", json_text(fault ? fault->message : NULL));
    }
    return array;
}

static json_t *json_requirements(const struct policy *policy)
{
    json_t *array = json_array();

    for (size_t i = 0; i < policy->requirement_count; i++) {
        const struct policy_requirement *requirement = &policy->requirements[i];
        json_t *object = json_object();

        json_set(object, "abi", requirement->abi ? json_integer(requirement->abi) : json_null());
        json_set(object, "rights", json_rights(requirement->rights));
        json_add_position(object, policy, &requirement->position);
        json_add(array, object);
    }
    return array;
}

static json_t *json_expectations(const struct policy *policy)
{
    json_t *array = json_array();

    for (size_t i = 0; i < policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &policy->expectations[i];
        json_t *object = json_object();

        json_set(object, "expected", json_string(expectation->allowed ? "allowed" : "denied"));
        json_set(object, "rights", json_rights(expectation->rights));
        json_set(object, "path", json_text(expectation->path));
        json_set(object, "ports",
                 expectation->path ? json_null() : json_ports(expectation->first, expectation->last));
        json_add_position(object, policy, &expectation->position);
        json_add(array, object);
    }
    return array;
}

static json_t *json_container(const struct policy *policy)
{
    const struct policy_container *container = &policy->container;
    json_t *object = json_object(), *presets = json_array();

    if (!container->is_described) {
        json_decref(object);
        json_decref(presets);
        return json_null();
    }
    for (size_t i = 0; i < policy_preset_count; i++)
        if (container->presets & policy_preset_table[i].bit)
            json_add(presets, json_string(policy_preset_table[i].name));
    json_set(object, "check", json_string(container->check == POLICY_CHECK_ALWAYS ? "always" : "old-abi"));
    json_set(object, "uid", json_integer(container->uid));
    json_set(object, "presets", presets);
    json_set(object, "read_only", json_paths(policy, container->read_only, container->read_only_count));
    json_set(object, "writable", json_paths(policy, container->writable, container->writable_count));
    return object;
}

/* Names only: a value may be a secret. */
static json_t *json_environment(const struct policy *policy)
{
    json_t *object = json_object(), *keep = json_array(), *set = json_array();

    for (size_t i = 0; i < policy->kept_count; i++) {
        auto_free char *pattern = text_of("%s%s", policy->kept[i].name, policy->kept[i].is_prefix ? "*" : "");

        json_add(keep, pattern ? json_text(pattern) : NULL);
    }
    for (size_t i = 0; i < policy->setting_count; i++)
        json_add(set, json_stringn(policy->settings[i].assignment, policy->settings[i].name_length));
    json_set(object, "keep", keep);
    json_set(object, "set", set);
    return object;
}

/* More than a signed number holds is more than there can be of anything. */
static json_t *json_limit(rlim_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *json_limits(const struct policy *policy)
{
    json_t *object = json_object();

    for (size_t i = 0; i < policy_resource_count; i++)
        if (policy->limits[policy_resource_table[i].resource].is_set)
            json_set(object, policy_resource_table[i].name,
                     json_limit(policy->limits[policy_resource_table[i].resource].value));
    return object;
}

static json_t *json_all_rules(const struct look *look)
{
    const struct policy *policy = look->launch.policy;
    json_t *array = json_array();

    for (size_t i = 0; i < policy->path_rule_count; i++)
        json_add(array, json_rule(look, &policy->path_rules[i]));
    return array;
}

static json_t *json_all_ports(const struct launch *launch)
{
    json_t *array = json_array();

    for (size_t i = 0; i < launch->policy->port_rule_count; i++)
        json_add(array, json_port_rule(launch, &launch->policy->port_rules[i]));
    return array;
}

static json_t *json_texts(const char *const *texts, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_add(array, json_text(texts[i]));
    return array;
}

static json_t *json_files(const struct policy *policy)
{
    json_t *array = json_array();

    for (size_t i = 0; i < policy->file_count; i++)
        json_add(array, json_text(policy->files[i].name));
    return array;
}

static json_t *json_show(const struct look *look)
{
    const struct launch *launch = &look->launch;
    const struct policy *policy = launch->policy;
    json_t *document = json_object();

    json_set(document, "policy", json_text(look->request.policy_file));
    json_set(document, "files", json_files(policy));
    json_set(document, "abi", json_abi(launch));
    json_set(document, "restricted", json_rights(launch->handled));
    json_set(document, "not_enforced", json_rights(launch->not_enforced));
    json_set(document, "not_granted", json_rights(launch->not_granted));
    json_set(document, "unrestricted", json_rights(policy->unrestricted));
    json_set(document, "rules", json_all_rules(look));
    json_set(document, "ports", json_all_ports(launch));
    json_set(document, "private", json_privates(look));
    json_set(document, "run", policy->run ? json_texts(policy->run, policy->run_count) : json_null());
    json_set(document, "directory", json_text(policy->directory.path));
    json_set(document, "environment", json_environment(policy));
    json_set(document, "limits", json_limits(policy));
    json_set(document, "audit", json_boolean(policy->audit));
    json_set(document, "container", json_container(policy));
    json_set(document, "requirements", json_requirements(policy));
    json_set(document, "expectations", json_expectations(policy));
    return document;
}

int show(const struct options *options, struct error *error)
{
    struct look look;
    int status = look_at_policy(&look, options, options->request.policy_file, false, error);

    if (status < 0)
        say_diagnostics(&look.launch.diagnostics);
    else if (options->is_json)
        status = put_json(json_show(&look), error);
    else
        put_show(&look);
    look_free(&look);
    return status < 0 ? -1 : FINE;
}
