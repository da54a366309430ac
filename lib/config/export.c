#include "config/internal.h"

#include <stdarg.h>

struct export
{
    const struct policy *policy;
    struct config_notes *notes;
    policy_rights handled; /* what the configuration lists */
    bool is_out_of_memory;
};

/* ---- JSON; without memory for it nothing is written ---- */

static void set(struct export *export, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        export->is_out_of_memory = true;
}

static void add(struct export *export, json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) < 0)
        export->is_out_of_memory = true;
}

static json_t *names_of(struct export *export, policy_rights rights)
{
    json_t *names = json_array();

    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & rights)
            add(export, names, json_string(policy_right_table[i].name));
    return names;
}

/* ---- What cannot be said ---- */

static void __attribute__((format(printf, 3, 4)))
note_at(struct export *export, const struct policy_position *position, const char *format, ...)
{
    auto_free char *text = NULL;
    size_t line, column;
    va_list arguments;

    va_start(arguments, format);
    text = text_of_list(format, arguments);
    va_end(arguments);
    policy_locate(export->policy, position, &line, &column);
    add_note(export->notes, "%s:%zu:%zu: %s", export->policy->files[position->file].name, line, column,
             text ? text : "");
}

static void note_lists(struct export *export)
{
    const struct policy *policy = export->policy;

    for (size_t i = 0; i < policy->private_count; i++)
        note_at(export, &policy->privates[i].position, "private %s", policy->privates[i].path);
    for (size_t i = 0; i < policy->requirement_count; i++)
        note_at(export, &policy->requirements[i].position, "require");
    for (size_t i = 0; i < policy->kept_count; i++)
        note_at(export, &policy->kept[i].position, "environment keep");
    for (size_t i = 0; i < policy->setting_count; i++)
        note_at(export, &policy->settings[i].position, "environment set");
    for (size_t i = 0; i < RLIM_NLIMITS; i++)
        if (policy->limits[i].is_set)
            note_at(export, &policy->limits[i].position, "limit");
    for (size_t i = 0; i < policy->expectation_count; i++)
        note_at(export, &policy->expectations[i].position, "expect");
}

static void note_single(struct export *export, const struct policy_position *position, const char *what)
{
    if (position->line)
        note_at(export, position, "%s", what);
}

static void note_statements(struct export *export)
{
    const struct policy *policy = export->policy;

    note_single(export, &policy->run_position, "run");
    if (policy->directory.path)
        note_single(export, &policy->directory.position, "directory");
    note_single(export, &policy->audit_position, "audit");
    note_single(export, &policy->container.check_position, "container check");
    if (policy->container.is_described)
        note_single(export, &policy->container.uid_position, "container");
    note_lists(export);
}

/* Rights for which the format has no name: it handles only what it lists, so that they are open to the program. */
static void note_rights(struct export *export)
{
    policy_rights unnamed = policy_rights_of_abi(POLICY_NEWEST_ABI) &
                            ~policy_rights_of_abi(CONFIG_NEWEST_ABI) & ~export->policy->unrestricted;
    char names[POLICY_RIGHTS_TEXT];

    if (unnamed)
        add_note(export->notes, "the format has no name for these rights and leaves them open: %s",
                 policy_rights_text(unnamed, names));
}

/* ---- The sections ---- */

static void set_ruleset(struct export *export, json_t *document)
{
    static const struct {
        const char *key;
        policy_rights kind;
    } parts[] = {{"handledAccessFs", POLICY_ALL_FS},
                 {"handledAccessNet", POLICY_ALL_NET},
                 {"scoped", POLICY_ALL_SCOPES}};
    json_t *ruleset = json_object(), *array = json_array();

    for (size_t i = 0; i < array_size(parts); i++)
        if (export->handled & parts[i].kind)
            set(export, ruleset, parts[i].key, names_of(export, export->handled & parts[i].kind));
    add(export, array, ruleset);
    set(export, document, "ruleset", array);
}

static bool is_utf8(const char *text)
{
    size_t length = 1;

    for (; *text && length; text += length)
        length = utf8_sequence(text, strnlen(text, 4));
    return length;
}

/* A path as a template has it: "$" begins a variable. NULL: memory ran out. */
static json_t *template_of(struct export *export, const char *path)
{
    struct text text = {0};
    FILE *out = text_open(&text);
    json_t *string;

    if (!out) {
        export->is_out_of_memory = true;
        return NULL;
    }
    for (; *path; path++)
        fprintf(out, *path == '$' ? "$$" : "%c", *path);
    if (text_close(out, &text) < 0) {
        export->is_out_of_memory = true;
        return NULL;
    }
    string = json_string(text.bytes);
    export->is_out_of_memory |= !string;
    free(text.bytes);
    return string;
}

/* The array of what has these rights, in the rule for them, which is made if there is none yet. NULL: memory ran out. */
static json_t *array_for(struct export *export, json_t *rules, policy_rights rights, const char *key)
{
    json_t *names = names_of(export, rights), *rule;
    size_t i;

    json_array_foreach(rules, i, rule) if (json_equal(json_object_get(rule, "allowedAccess"), names))
    {
        json_decref(names);
        return json_object_get(rule, key);
    }
    rule = json_object();
    set(export, rule, "allowedAccess", names);
    set(export, rule, key, json_array());
    add(export, rules, rule);
    return export->is_out_of_memory ? NULL : json_object_get(rule, key);
}

static void add_path_rule(struct export *export, json_t *rules, const struct policy_path_rule *rule)
{
    policy_rights rights = rule->rights & export->handled;
    json_t *path;

    if (!rights) {
        note_at(export, &rule->position, "the format has no name for what is allowed on %s", rule->path);
        return;
    }
    if (!is_utf8(rule->path)) {
        note_at(export, &rule->position, "%s: JSON has no bytes that are not UTF-8", rule->path);
        return;
    }
    path = template_of(export, rule->path);
    add(export, array_for(export, rules, rights, "parent"), path);
}

static void set_paths(struct export *export, json_t *document)
{
    json_t *rules = json_array();
    bool is_required = false;

    for (size_t i = 0; i < export->policy->path_rule_count; i++) {
        const struct policy_path_rule *rule = &export->policy->path_rules[i];

        is_required |= !(rule->position.flags & POLICY_OPTIONAL);
        add_path_rule(export, rules, rule);
    }
    if (is_required)
        add_note(export->notes, "the format passes over every path that is missing, those without '-', too");
    if (json_array_size(rules))
        set(export, document, "pathBeneath", rules);
    else
        json_decref(rules);
}

static void add_port_rule(struct export *export, json_t *rules, const struct policy_port_rule *rule)
{
    policy_rights rights = rule->rights & export->handled;
    char ports[POLICY_PORTS_TEXT];
    json_t *array;

    if (!rights) {
        note_at(export, &rule->position, "the format has no name for what is allowed on port %s",
                policy_ports_text(rule->first, rule->last, ports));
        return;
    }
    array = array_for(export, rules, rights, "port");
    for (unsigned port = rule->first; port <= rule->last; port++)
        add(export, array, json_integer(port));
}

static void set_ports(struct export *export, json_t *document)
{
    json_t *rules = json_array();

    for (size_t i = 0; i < export->policy->port_rule_count; i++)
        add_port_rule(export, rules, &export->policy->port_rules[i]);
    if (json_array_size(rules))
        set(export, document, "netPort", rules);
    else
        json_decref(rules);
}

int config_export(const struct policy *policy, FILE *out, struct config_notes *notes)
{
    struct export export = {.policy = policy, .notes = notes};
    json_t *document = json_object();
    int result = -1;

    export.handled = policy_rights_of_abi(CONFIG_NEWEST_ABI) & ~policy->unrestricted;
    set_ruleset(&export, document);
    set_paths(&export, document);
    set_ports(&export, document);
    note_rights(&export);
    note_statements(&export);
    if (!export.is_out_of_memory && !notes->is_out_of_memory)
        result =
            json_dumpf(document, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0 && putc('\n', out) != EOF
                ? 0
                : -1;
    json_decref(document);
    return result;
}
