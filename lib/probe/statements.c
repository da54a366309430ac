#include "probe/probe.h"

#include <errno.h>
#include <string.h>

const struct name_row probe_effect_table[] = {
    {PROBE_EFFECT_FULL, "full", "it holds as it says"},
    {PROBE_EFFECT_PART, "part", "this kernel or container cannot do all that it says"},
    {PROBE_EFFECT_NONE, "none", "it has no effect here"},
    {PROBE_EFFECT_REFUSED, "refused", "the launcher would refuse because of it"},
};
const size_t probe_effect_count = array_size(probe_effect_table);

struct prober {
    const struct launch *launch;
    bool is_enforcing; /* else Landlock does nothing here, and the launcher refuses */
    const struct policy *policy;
    struct probe_statements *statements;
    bool is_out_of_memory;
};

bool probe_refuses(const struct launch *launch, const struct launch_fault *fault)
{
    return fault->reason != LAUNCH_CONTAINER || launch_needs_container(launch);
}

/* Takes over both texts; what is at fault there says more than `detail`. */
static void add(struct prober *prober, const struct policy_position *position, char *text,
                enum probe_effect effect, char *detail)
{
    struct probe_statements *all = prober->statements;
    const struct launch_fault *fault = launch_fault_at(prober->launch->request->faults, position);

    if (fault) {
        free(detail);
        detail = strdup(fault->message);
        effect = probe_refuses(prober->launch, fault) ? PROBE_EFFECT_REFUSED : PROBE_EFFECT_NONE;
    }
    if (text && detail && array_reserve(&all->items, &all->capacity, all->count, sizeof *all->items) == 0) {
        all->items[all->count++] = (struct probe_statement){*position, text, effect, detail};
        return;
    }
    free(text);
    free(detail);
    prober->is_out_of_memory = true;
}

/* Likewise what Landlock is to do: nothing, where it does nothing. */
static void add_ruled(struct prober *prober, const struct policy_position *position, char *text,
                      enum probe_effect effect, char *detail)
{
    if (prober->is_enforcing) {
        add(prober, position, text, effect, detail);
        return;
    }
    free(detail);
    add(prober, position, text, PROBE_EFFECT_NONE,
        strdup("Landlock is not to be had here, so nothing would run"));
}

/* ---- Rights ---- */

/* Of rights that the policy gives or wants denied: what this ABI restricts of them. */
static enum probe_effect effect_of(policy_rights rights, policy_rights enforced)
{
    return !(rights & ~enforced) ? PROBE_EFFECT_FULL
           : rights & enforced   ? PROBE_EFFECT_PART
                                 : PROBE_EFFECT_NONE;
}

static policy_rights enforced(const struct launch *launch)
{
    return launch->handled | POLICY_REFER; /* which is denied by every ABI */
}

static char *detail_of(const struct launch *launch, policy_rights rights, const char *otherwise)
{
    policy_rights open = rights & ~enforced(launch) & ~launch->policy->unrestricted;
    policy_rights not_granted = rights & POLICY_REFER & ~launch->handled;
    char names[POLICY_RIGHTS_TEXT];

    if (rights & launch->policy->unrestricted)
        return text_of("left unrestricted by the policy: %s",
                       policy_rights_text(rights & launch->policy->unrestricted, names));
    if (not_granted)
        return text_of("cannot be granted on Landlock ABI %u: refer", launch->abi);
    if (open)
        return text_of("Landlock ABI %u cannot restrict: %s", launch->abi, policy_rights_text(open, names));
    return strdup(otherwise);
}

static bool is_skipped(const struct launch *launch, const struct policy_path_rule *rule)
{
    for (size_t i = 0; i < launch->skipped_count; i++)
        if (launch->skipped[i].path == rule->path)
            return true;
    return false;
}

static policy_rights rights_of(const struct launch *launch, const struct policy_path_rule *rule)
{
    for (size_t i = 0; i < launch->grant_count; i++)
        if (launch->grants[i].rule == rule)
            return launch->grants[i].rights;
    return rule->rights;
}

static void add_rules(struct prober *prober)
{
    const struct launch *launch = prober->launch;
    char names[POLICY_RIGHTS_TEXT];

    for (size_t i = 0; i < prober->policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &prober->policy->path_rules[i];
        policy_rights rights = rights_of(launch, rule), denied = rights & POLICY_REFER & ~launch->handled;
        char *text = text_of("allow %s %s", policy_rights_short_text(rights, names), rule->path);

        if (is_skipped(launch, rule))
            add_ruled(prober, &rule->position, text, PROBE_EFFECT_NONE, strdup("it is missing, and may be"));
        else
            add_ruled(prober, &rule->position, text, effect_of(rights, enforced(launch) & ~denied),
                      detail_of(launch, rights, "allowed, and nothing beside what is allowed"));
    }
    for (size_t i = 0; i < prober->policy->port_rule_count; i++) {
        const struct policy_port_rule *rule = &prober->policy->port_rules[i];
        char ports[POLICY_PORTS_TEXT];

        add_ruled(prober, &rule->position,
                  text_of("allow %s %s", policy_rights_short_text(rule->rights, names),
                          policy_ports_text(rule->first, rule->last, ports)),
                  effect_of(rule->rights, enforced(launch)),
                  detail_of(launch, rule->rights, "allowed, and no other port"));
    }
}

static void add_expectations(struct prober *prober)
{
    const struct launch *launch = prober->launch;
    char names[POLICY_RIGHTS_TEXT];

    for (size_t i = 0; i < prober->policy->expectation_count; i++) {
        const struct policy_expectation *expectation = &prober->policy->expectations[i];
        const char *outcome = expectation->allowed ? "allowed" : "denied";
        char ports[POLICY_PORTS_TEXT];
        enum probe_effect effect =
            expectation->allowed ? PROBE_EFFECT_FULL : effect_of(expectation->rights, enforced(launch));
        char *detail = expectation->allowed ? strdup("tried by landlock-policy test, not at a start")
                                            : detail_of(launch, expectation->rights,
                                                        "this ABI can deny it; tried by landlock-policy "
                                                        "test");

        add_ruled(prober, &expectation->position,
                  text_of("expect %s %s %s", outcome, policy_rights_short_text(expectation->rights, names),
                          expectation->path
                              ? expectation->path
                              : policy_ports_text(expectation->first, expectation->last, ports)),
                  effect, detail);
    }
}

static void add_requirements(struct prober *prober)
{
    char names[POLICY_RIGHTS_TEXT];

    for (size_t i = 0; i < prober->policy->requirement_count; i++) {
        const struct policy_requirement *requirement = &prober->policy->requirements[i];

        add_ruled(prober, &requirement->position,
                  requirement->abi ? text_of("require abi %u", requirement->abi)
                                   : text_of("require %s", policy_rights_text(requirement->rights, names)),
                  PROBE_EFFECT_FULL, text_of("Landlock ABI %u has it", prober->launch->abi));
    }
}

/* ---- Everything else ---- */

static void add_files(struct prober *prober)
{
    const struct policy *policy = prober->policy;

    for (size_t i = 0; i < policy->private_count; i++)
        add(prober, &policy->privates[i].position, text_of("private %s", policy->privates[i].path),
            PROBE_EFFECT_FULL, strdup("the program is given its bytes and cannot open it"));
    if (policy->directory.path)
        add(prober, &policy->directory.position, text_of("directory %s", policy->directory.path),
            PROBE_EFFECT_FULL, strdup("it is there"));
    if (policy->run_position.line)
        add(prober, &policy->run_position, text_of("run %s", policy->run[0]), PROBE_EFFECT_FULL,
            text_of("it is %s", prober->launch->program ? prober->launch->program : "there"));
}

static void add_environment(struct prober *prober)
{
    const struct policy *policy = prober->policy;

    for (size_t i = 0; i < policy->kept_count; i++)
        add(prober, &policy->kept[i].position,
            text_of("environment keep %s%s", policy->kept[i].name, policy->kept[i].is_prefix ? "*" : ""),
            PROBE_EFFECT_FULL, strdup("kept where the caller has it; all others are gone"));
    for (size_t i = 0; i < policy->setting_count; i++)
        add(prober, &policy->settings[i].position,
            text_of("environment set %.*s=...", (int)policy->settings[i].name_length,
                    policy->settings[i].assignment),
            PROBE_EFFECT_FULL, strdup("set"));
    for (size_t i = 0; i < policy_resource_count; i++) {
        const struct policy_limit *limit = &policy->limits[policy_resource_table[i].resource];
        struct rlimit now;

        if (!limit->is_set)
            continue;
        getrlimit(policy_resource_table[i].resource, &now);
        add(prober, &limit->position,
            text_of("limit %s %ju", policy_resource_table[i].name, (uintmax_t)limit->value),
            now.rlim_max < limit->value ? PROBE_EFFECT_NONE : PROBE_EFFECT_FULL,
            now.rlim_max < limit->value ? text_of("the caller's is lower: %ju", (uintmax_t)now.rlim_max)
                                        : strdup("lowered to it"));
    }
}

static void add_audit(struct prober *prober)
{
    enum { FIRST_ABI_WITH_AUDIT = 7 };
    bool has_it = prober->launch->abi >= FIRST_ABI_WITH_AUDIT;

    if (prober->policy->audit_position.line)
        add_ruled(prober, &prober->policy->audit_position,
                  strdup(prober->policy->audit ? "audit on" : "audit off"),
                  has_it || !prober->policy->audit ? PROBE_EFFECT_FULL : PROBE_EFFECT_NONE,
                  has_it ? strdup("the kernel does as it says")
                         : text_of("Landlock ABI %u logs nothing", prober->launch->abi));
    if (prober->policy->unrestricted) {
        char names[POLICY_RIGHTS_TEXT];

        add_ruled(prober, &prober->policy->unrestricted_position,
                  text_of("unrestricted %s", policy_rights_text(prober->policy->unrestricted, names)),
                  PROBE_EFFECT_FULL, strdup("left out on purpose: open to the program"));
    }
}

/* ---- The container ---- */

static const char *container_detail(const struct launch *launch)
{
    if (launch->container == LAUNCH_CONTAINER_CHECKED)
        return "this container passes the check";
    return launch->findings.count ? "this container does not pass the check" : "the check could not be made";
}

static void add_container(struct prober *prober)
{
    const struct policy_container *container = &prober->policy->container;
    const struct launch *launch = prober->launch;
    bool passes = launch->container == LAUNCH_CONTAINER_CHECKED;
    bool is_needed = launch_needs_container(launch);
    enum probe_effect effect = passes      ? PROBE_EFFECT_FULL
                               : is_needed ? PROBE_EFFECT_REFUSED
                                           : PROBE_EFFECT_NONE;
    const char *detail = container_detail(launch);

    if (container->check_position.line)
        add(prober, &container->check_position,
            text_of("container check %s", container->check == POLICY_CHECK_ALWAYS ? "always" : "old-abi"),
            PROBE_EFFECT_FULL,
            strdup(is_needed ? "it must be checked here" : "it need not be checked on this ABI"));
    if (!container->is_described)
        return;
    add(prober, &container->uid_position, text_of("container uid %u", container->uid), effect,
        strdup(detail));
    add(prober, &container->capabilities_position, strdup("container capabilities none"), effect,
        strdup(detail));
    for (size_t i = 0; i < container->read_only_count; i++)
        add(prober, &container->read_only[i].position,
            text_of("container read-only %s", container->read_only[i].path), effect, strdup(detail));
    for (size_t i = 0; i < policy_preset_count; i++)
        if (container->presets & policy_preset_table[i].bit)
            add(prober, &container->writable_position,
                text_of("container writable %s", policy_preset_table[i].name), effect, strdup(detail));
    for (size_t i = 0; i < container->writable_count; i++)
        add(prober, &container->writable[i].position,
            text_of("container writable %s", container->writable[i].path), effect, strdup(detail));
}

static int compare(const void *left, const void *right)
{
    const struct probe_statement *a = left, *b = right;

    return policy_compare_positions(&a->position, &b->position);
}

int probe_statements(const struct probe_kernel *kernel, const struct launch *launch,
                     struct probe_statements *statements, struct error *error)
{
    struct prober prober = {.launch = launch,
                            .is_enforcing = !kernel->message,
                            .policy = launch->policy,
                            .statements = statements};

    add_files(&prober);
    add_requirements(&prober);
    add_rules(&prober);
    add_audit(&prober);
    add_environment(&prober);
    add_container(&prober);
    add_expectations(&prober);
    if (prober.is_out_of_memory)
        return error_set(error, LAUNCH_SYSTEM, "looking at the policy's statements: out of memory");
    if (statements->count > 1)
        qsort(statements->items, statements->count, sizeof *statements->items, compare);
    return 0;
}

void probe_statements_free(struct probe_statements *statements)
{
    for (size_t i = 0; i < statements->count; i++) {
        free(statements->items[i].text);
        free(statements->items[i].detail);
    }
    free(statements->items);
    *statements = (struct probe_statements){0};
}

/* ---- What to do ---- */

const char *probe_advice(const struct probe_kernel *kernel, const struct launch *launch)
{
    const struct launch_faults *faults = launch ? launch->request->faults : NULL;

    if (kernel->message)
        return kernel->hint[0] ? kernel->hint : kernel->message;
    for (size_t i = 0; faults && i < faults->count; i++) {
        const struct launch_fault *fault = &faults->items[i];

        if (!probe_refuses(launch, fault))
            continue;
        if (fault->reason == LAUNCH_CONTAINER && launch->findings.count)
            return launch->findings.items[0].hint;
        return fault->hint[0] ? fault->hint : fault->message;
    }
    return NULL;
}
