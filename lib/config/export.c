#include "config/internal.h"

#include <stdarg.h>

struct export
{
    const struct policy *policy;
    struct config_notes *notes;
    policy_rights handled; /* what the configuration lists */
    struct rules rules;
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

/* What of a rule the format has a name for; of a rule that has no such right, that is told. */
static policy_rights named(struct export *export, policy_rights rights,
                           const struct policy_position *position, const char *what)
{
    if (!(rights & export->handled) && rights & ~export->policy->unrestricted)
        note_at(export, position, "the format has no name for what is allowed on %s", what);
    return rights & export->handled;
}

static void take_path_rule(struct export *export, const struct policy_path_rule *rule)
{
    policy_rights rights = named(export, rule->rights, &rule->position, rule->path);

    if (rights && !is_utf8(rule->path))
        note_at(export, &rule->position, "%s: JSON has no bytes that are not UTF-8", rule->path);
    else if (rights && rules_add_path(&export->rules, rule->path, rights) < 0)
        export->is_out_of_memory = true;
}

static void take_port_rule(struct export *export, const struct policy_port_rule *rule)
{
    char ports[POLICY_PORTS_TEXT], text[POLICY_PORTS_TEXT + 8];
    policy_rights rights;

    snprintf(text, sizeof text, "port %s", policy_ports_text(rule->first, rule->last, ports));
    rights = named(export, rule->rights, &rule->position, text);
    if (rights && rules_add_ports(&export->rules, rule->first, rule->last, rights) < 0)
        export->is_out_of_memory = true;
}

static void take_rules(struct export *export)
{
    const struct policy *policy = export->policy;
    bool is_required = false;

    for (size_t i = 0; i < policy->path_rule_count; i++) {
        is_required |= !(policy->path_rules[i].position.flags & POLICY_OPTIONAL);
        take_path_rule(export, &policy->path_rules[i]);
    }
    if (is_required)
        add_note(export->notes, "the format passes over every path that is missing, those without '-', too");
    for (size_t i = 0; i < policy->port_rule_count; i++)
        take_port_rule(export, &policy->port_rules[i]);
    rules_sort(&export->rules);
}

/* An array of rules, where there are any. */
static void set_rules(struct export *export, json_t *document, const char *key, json_t *rules)
{
    if (json_array_size(rules))
        set(export, document, key, rules);
    else
        json_decref(rules);
}

static void set_paths(struct export *export, json_t *document)
{
    const struct rules *rules = &export->rules;
    json_t *array = json_array();

    for (size_t i = 0; i < rules->count; i++)
        add(export, array_for(export, array, rules->paths[i].rights, "parent"),
            template_of(export, rules->paths[i].path));
    set_rules(export, document, "pathBeneath", array);
}

static void set_ports(struct export *export, json_t *document)
{
    const struct rules *rules = &export->rules;
    json_t *array = json_array();

    for (unsigned first = 0, last; rules_next_ports(rules, &first, &last); first = last + 1)
        for (unsigned port = first; port <= last; port++)
            add(export, array_for(export, array, rules->ports[port], "port"), json_integer(port));
    set_rules(export, document, "netPort", array);
}

int config_export(const struct policy *policy, FILE *out, struct config_notes *notes)
{
    struct export export = {.policy = policy, .notes = notes};
    json_t *document = json_object();
    int result = -1;

    export.handled = policy_rights_of_abi(CONFIG_NEWEST_ABI) & ~policy->unrestricted;
    take_rules(&export);
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
    rules_free(&export.rules);
    return result;
}
