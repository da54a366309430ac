#include "lint/internal.h"

/* What must not be open, and the rules that may open it. */
struct closed {
    struct linter *linter;
    enum lint_code code;
    policy_rights rights;
    const char *what; /* "is private", "expect denied read_dir /etc" */
    const struct policy_position *position;
};

static bool find_open(void *context, const struct indexed *item)
{
    struct closed *closed = context;
    policy_rights open = item->rule->rights & closed->rights;
    auto_free char *place = NULL;
    char names[POLICY_RIGHTS_TEXT];

    if (!open)
        return false;
    place = place_text(closed->linter->policy, closed->position);
    add_finding(closed->linter, closed->code, &item->rule->position,
                text_of("allowing %s on %s contradicts %s (%s)", policy_rights_text(open, names),
                        item->rule->path, closed->what, place),
                text_of("one of the two lines is wrong: take that one out"));
    return false;
}

static void look_at_path(struct closed *closed, const char *path)
{
    auto_free char *real = real_path(path);

    if (real)
        index_walk(&closed->linter->real, real, find_open, closed);
    else
        closed->linter->is_out_of_memory = true;
}

static void look_at_ports(struct closed *closed, const struct policy_expectation *expectation)
{
    const struct policy *policy = closed->linter->policy;

    for (size_t i = 0; i < policy->port_rule_count; i++) {
        const struct policy_port_rule *rule = &policy->port_rules[i];
        policy_rights open = rule->rights & expectation->rights;
        auto_free char *place = NULL;
        char names[POLICY_RIGHTS_TEXT], ports[POLICY_PORTS_TEXT];

        if (!open || rule->last < expectation->first || rule->first > expectation->last)
            continue;
        place = place_text(policy, closed->position);
        add_finding(closed->linter, closed->code, &rule->position,
                    text_of("allowing %s on port %s contradicts %s (%s)", policy_rights_text(open, names),
                            policy_ports_text(rule->first, rule->last, ports), closed->what, place),
                    text_of("one of the two lines is wrong: take that one out"));
    }
}

static void look_at_unrestricted(struct closed *closed)
{
    const struct policy *policy = closed->linter->policy;
    policy_rights open = policy->unrestricted & closed->rights;
    auto_free char *place = NULL;
    char names[POLICY_RIGHTS_TEXT];

    if (!open)
        return;
    place = place_text(policy, closed->position);
    add_finding(closed->linter, closed->code, &policy->unrestricted_position,
                text_of("leaving %s unrestricted contradicts %s (%s)", policy_rights_text(open, names),
                        closed->what, place),
                text_of("one of the two lines is wrong: take that one out"));
}

static void look_at_expectation(struct linter *linter, const struct policy_expectation *expectation)
{
    auto_free char *what = expectation->path
                               ? text_of("what is expected to be denied on %s", expectation->path)
                               : text_of("what is expected to be denied");
    struct closed closed = {.linter = linter,
                            .code = LINT_CONTRADICTS_EXPECTATION,
                            .rights = expectation->rights,
                            .what = what,
                            .position = &expectation->position};

    if (!what)
        linter->is_out_of_memory = true;
    else if (expectation->path)
        look_at_path(&closed, expectation->path);
    else
        look_at_ports(&closed, expectation);
    if (what)
        look_at_unrestricted(&closed);
}

void lint_contradictions(struct linter *linter)
{
    const struct policy *policy = linter->policy;

    for (size_t i = 0; i < policy->expectation_count; i++)
        if (!policy->expectations[i].allowed)
            look_at_expectation(linter, &policy->expectations[i]);
    for (size_t i = 0; i < policy->private_count; i++) {
        auto_free char *what = text_of("%s being private", policy->privates[i].path);
        struct closed closed = {.linter = linter,
                                .code = LINT_CONTRADICTS_PRIVATE,
                                .rights = POLICY_READ_FILE | POLICY_WRITE_FILE,
                                .what = what,
                                .position = &policy->privates[i].position};

        if (what)
            look_at_path(&closed, policy->privates[i].path);
        else
            linter->is_out_of_memory = true;
    }
}
