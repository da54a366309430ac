#include "config/internal.h"

#include <stdarg.h>

/* A configuration that is read. */
struct import {
    struct config_notes faults, unsaid; /* what is wrong with it; what no policy can say */
    unsigned abi;                       /* 0: not given */
    struct variables variables;
    policy_rights handled;
    struct rules rules;
    bool has_newer_group; /* than the format has names for */
    bool is_out_of_memory;
};

/* Where something stands: "pathBeneath[2].parent[0]". */
struct place {
    const char *list;
    size_t item;
    const char *key; /* NULL: the item itself */
    size_t index;
};

static void __attribute__((format(printf, 3, 4)))
complain(struct import *import, const struct place *place, const char *format, ...)
{
    auto_free char *text = NULL, *where = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = text_of_list(format, arguments);
    va_end(arguments);
    if (place->key)
        where = text_of("%s[%zu].%s[%zu]", place->list, place->item, place->key, place->index);
    else
        where = place->list ? text_of("%s[%zu]", place->list, place->item) : strdup("configuration");
    add_note(&import->faults, "%s: %s", where ? where : "", text ? text : "out of memory");
}

/* ---- Shapes ---- */

/* A key that an object may have. */
struct key {
    const char *name;
    bool is_required;
};

static const char *key_name(size_t i, const void *context)
{
    return ((const struct key *)context)[i].name;
}

static bool is_among(const struct key *keys, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(keys[i].name, name))
            return true;
    return false;
}

/* False: it is no object. Keys that are unknown or missing are complained of. */
static bool check_keys(struct import *import, const struct place *place, json_t *object,
                       const struct key *keys, size_t count)
{
    const char *name, *nearest;
    json_t *value;

    if (!json_is_object(object)) {
        complain(import, place, "expected an object");
        return false;
    }
    json_object_foreach(object, name, value)
    {
        if (is_among(keys, count, name))
            continue;
        nearest = text_nearest(name, count, key_name, keys);
        complain(import, place, "unknown key '%s'%s%s%s", name, nearest ? " (did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?)" : "");
    }
    for (size_t i = 0; i < count; i++)
        if (keys[i].is_required && !json_object_get(object, keys[i].name))
            complain(import, place, "key '%s' is missing", keys[i].name);
    return true;
}

/* Calls `take` with each item of the array that stands at a key, where there is one: it must have items. */
typedef void take_item(struct import *import, const struct place *place, json_t *item, void *context);

static void each_item(struct import *import, const struct place *place, json_t *object, const char *key,
                      take_item *take, void *context)
{
    json_t *array = json_object_get(object, key), *item;
    struct place at = *place;
    size_t i;

    if (!array)
        return;
    if (!json_is_array(array) || !json_array_size(array)) {
        complain(import, place, "'%s' must be an array with at least one item", key);
        return;
    }
    if (!at.list)
        at.list = key;
    else
        at.key = key;
    json_array_foreach(array, i, item)
    {
        *(at.key ? &at.index : &at.item) = i;
        take(import, &at, item, context);
    }
}

/* NULL: it is no text, which is complained of. jansson lets no NUL be in one. */
static const char *text_of_item(struct import *import, const struct place *place, json_t *item)
{
    if (!json_is_string(item))
        complain(import, place, "expected a string");
    return json_string_value(item);
}

/* ---- Rights ---- */

struct rights_wanted {
    policy_rights kind, rights;
};

static void take_right(struct import *import, const struct place *place, json_t *item, void *context)
{
    struct rights_wanted *wanted = context;
    const char *name = text_of_item(import, place, item);
    policy_rights rights;
    bool is_group;

    if (!name)
        return;
    rights = rights_of_name(name, wanted->kind, import->abi, &is_group);
    if (is_group && !import->abi)
        complain(import, place, "'%s' needs the key 'abi', which is missing", name);
    else if (!is_group && !rights)
        complain(import, place, "unknown right '%s'", name);
    import->has_newer_group |= rights & ~policy_rights_of_abi(CONFIG_NEWEST_ABI);
    wanted->rights |= rights;
}

static policy_rights read_rights(struct import *import, const struct place *place, json_t *object,
                                 const char *key, policy_rights kind)
{
    struct rights_wanted wanted = {.kind = kind};

    each_item(import, place, object, key, take_right, &wanted);
    return wanted.rights;
}

/* ---- The sections ---- */

static void take_literal(struct import *import, const struct place *place, json_t *item, void *context)
{
    struct variable *variable = context;
    const char *value = text_of_item(import, place, item);

    if (!value)
        return;
    if (array_reserve(&variable->values, &variable->capacity, variable->count, sizeof *variable->values) < 0)
        import->is_out_of_memory = true;
    else
        variable->values[variable->count++] = value;
}

static void take_variable(struct import *import, const struct place *place, json_t *item, void *context)
{
    static const struct key keys[] = {{"name", true}, {"literal", false}};
    struct variables *variables = &import->variables;
    struct variable *variable;
    const char *name, *fault;

    (void)context;
    if (!check_keys(import, place, item, keys, array_size(keys)) || !json_object_get(item, "name"))
        return;
    name = text_of_item(import, place, json_object_get(item, "name"));
    if (!name)
        return;
    fault = variable_name_fault(name, strlen(name));
    if (fault) {
        complain(import, place, "'%s': %s", name, fault);
        return;
    }
    variable = find_variable(variables, name, strlen(name));
    if (!variable) {
        if (variables->count == CONFIG_MAX_VARIABLES) {
            complain(import, place, "there are more than %d variables", CONFIG_MAX_VARIABLES);
            return;
        }
        if (array_reserve(&variables->items, &variables->capacity, variables->count,
                          sizeof *variables->items) < 0) {
            import->is_out_of_memory = true;
            return;
        }
        variable = &variables->items[variables->count++];
        *variable = (struct variable){.name = name};
    }
    each_item(import, place, item, "literal", take_literal, variable);
}

static void take_ruleset(struct import *import, const struct place *place, json_t *item, void *context)
{
    static const struct key keys[] = {
        {"handledAccessFs", false}, {"handledAccessNet", false}, {"scoped", false}};

    (void)context;
    if (!check_keys(import, place, item, keys, array_size(keys)))
        return;
    if (!json_object_size(item))
        complain(import, place, "it is empty; expected handledAccessFs, handledAccessNet or scoped");
    import->handled |= read_rights(import, place, item, "handledAccessFs", POLICY_ALL_FS) |
                       read_rights(import, place, item, "handledAccessNet", POLICY_ALL_NET) |
                       read_rights(import, place, item, "scoped", POLICY_ALL_SCOPES);
}

/* ---- Paths ---- */

struct parent {
    struct import *import;
    const struct place *place;
    policy_rights rights;
};

/* As the format's paths are compared: without empty and "." components. */
static void normalize(char *path)
{
    char *to = path;

    for (const char *from = path; *from;) {
        size_t length = strcspn(from + 1, "/") + 1;

        if (length > 1 && !(length == 2 && from[1] == '.')) {
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path)
        *to++ = '/';
    *to = '\0';
}

/* Whether a path is written so that it leads to a directory or to nothing. */
static bool must_be_directory(const char *path)
{
    const char *last = strrchr(path, '/') + 1;

    return !*last || !strcmp(last, ".");
}

static bool is_other_than_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static const char *allow_path(void *context, const char *path)
{
    const struct parent *parent = context;
    struct import *import = parent->import;
    auto_free char *copy = strdup(path);
    const char *fault;

    if (!copy) {
        import->is_out_of_memory = true;
        return NULL;
    }
    if (copy[0] == '/')
        normalize(copy);
    fault = policy_path_fault(copy);
    if (!fault && must_be_directory(path) && is_other_than_directory(copy))
        fault = "is no directory, and is passed over: a policy would allow it";
    if (fault)
        add_note(&import->unsaid, "%s[%zu].parent[%zu]: '%s' %s", parent->place->list, parent->place->item,
                 parent->place->index, path, fault);
    else if (rules_add_path(&import->rules, copy, parent->rights) < 0)
        import->is_out_of_memory = true;
    return NULL;
}

static void take_parent(struct import *import, const struct place *place, json_t *item, void *context)
{
    struct parent parent = {import, place, *(const policy_rights *)context};
    const char *text = text_of_item(import, place, item), *fault;

    fault = text ? expand_template(text, &import->variables, allow_path, &parent) : NULL;
    if (fault)
        complain(import, place, "'%s': %s", text, fault);
}

static void take_path_rule(struct import *import, const struct place *place, json_t *item, void *context)
{
    static const struct key keys[] = {{"allowedAccess", true}, {"parent", true}};
    policy_rights rights;

    (void)context;
    if (!check_keys(import, place, item, keys, array_size(keys)))
        return;
    rights = read_rights(import, place, item, "allowedAccess", POLICY_ALL_FS);
    import->handled |= rights;
    each_item(import, place, item, "parent", take_parent, &rights);
}

/* ---- Ports ---- */

static void take_port(struct import *import, const struct place *place, json_t *item, void *context)
{
    json_int_t port = json_integer_value(item);

    if (!json_is_integer(item) || port < 0 || port > UINT16_MAX) {
        complain(import, place, "expected a port, 0 to 65535");
        return;
    }
    if (rules_add_ports(&import->rules, (uint16_t)port, (uint16_t)port, *(const policy_rights *)context) < 0)
        import->is_out_of_memory = true;
}

static void take_port_rule(struct import *import, const struct place *place, json_t *item, void *context)
{
    static const struct key keys[] = {{"allowedAccess", true}, {"port", true}};
    policy_rights rights;

    (void)context;
    if (!check_keys(import, place, item, keys, array_size(keys)))
        return;
    rights = read_rights(import, place, item, "allowedAccess", POLICY_ALL_NET);
    import->handled |= rights;
    each_item(import, place, item, "port", take_port, &rights);
}

/* ---- The whole ---- */

static void read_abi(struct import *import, json_t *document)
{
    json_t *abi = json_object_get(document, "abi");
    const struct place whole = {NULL};

    if (!abi)
        return;
    if (!json_is_integer(abi) || json_integer_value(abi) < 1 || json_integer_value(abi) > INT32_MAX) {
        complain(import, &whole, "'abi' must be a whole number from 1 to %d", INT32_MAX);
        import->abi = 1; /* so that groups are not complained of, too */
        return;
    }
    import->abi = (unsigned)json_integer_value(abi);
}

static void read_document(struct import *import, json_t *document)
{
    static const struct key keys[] = {
        {"abi", false}, {"variable", false}, {"ruleset", false}, {"pathBeneath", false}, {"netPort", false}};
    const struct place whole = {NULL};

    if (!check_keys(import, &whole, document, keys, array_size(keys)))
        return;
    if (json_object_size(document) == (size_t) !!json_object_get(document, "abi"))
        complain(import, &whole, "it says nothing; expected variable, ruleset, pathBeneath or netPort");
    read_abi(import, document);
    each_item(import, &whole, document, "variable", take_variable, NULL);
    each_item(import, &whole, document, "ruleset", take_ruleset, NULL);
    each_item(import, &whole, document, "pathBeneath", take_path_rule, NULL);
    each_item(import, &whole, document, "netPort", take_port_rule, NULL);
}

/* ---- Writing ---- */

/* What fits the file that is there now, since a policy refuses what does not; there it is left out without a word. */
static policy_rights fitting(struct import *import, const struct path_rule *rule)
{
    policy_rights files = policy_rights_of_files();
    char names[POLICY_RIGHTS_TEXT];

    if (!(rule->rights & ~files) || !is_other_than_directory(rule->path))
        return rule->rights;
    add_note(&import->unsaid, "%s is no directory: left out for it: %s", rule->path,
             policy_rights_text(rule->rights & ~files, names));
    return rule->rights & files;
}

static void write_path(struct import *import, FILE *out, const struct path_rule *rule)
{
    policy_rights rights = fitting(import, rule);
    char names[POLICY_RIGHTS_TEXT];
    auto_free char *word = text_as_word(rule->path);

    if (!word)
        import->is_out_of_memory = true;
    else if (rights)
        fprintf(out, "allow %s -%s\n", policy_rights_short_text(rights, names), word);
}

static void write_rules(struct import *import, FILE *out)
{
    const struct rules *rules = &import->rules;
    char names[POLICY_RIGHTS_TEXT], ports[POLICY_PORTS_TEXT];

    rules_sort(&import->rules);
    for (size_t i = 0; i < rules->count; i++)
        write_path(import, out, &rules->paths[i]);
    for (unsigned first = 0, last; rules_next_ports(rules, &first, &last); first = last + 1)
        fprintf(out, "allow %s %s\n", policy_rights_text(rules->ports[first], names),
                policy_ports_text((uint16_t)first, (uint16_t)last, ports));
}

/* What it does not handle. `refer` is denied, too, where another right on files is handled. */
static void write_unhandled(const struct import *import, FILE *out)
{
    policy_rights open = policy_rights_of_abi(POLICY_NEWEST_ABI) & ~import->handled, free = 0;
    char names[POLICY_RIGHTS_TEXT];

    if (import->handled & POLICY_ALL_FS)
        open &= ~POLICY_REFER;
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].traits & RIGHT_MAY_BE_UNRESTRICTED)
            free |= policy_right_table[i].bit & open;
    if (open)
        fputs("\n# What the configuration does not handle.\n", out);
    if (free)
        fprintf(out, "unrestricted %s\n", policy_rights_text(free, names));
    if (open & ~free)
        fprintf(out, "allow %s /\n", policy_rights_text(open & ~free, names));
}

static void write_policy(struct import *import, FILE *out)
{
    fputs("policy 1\n\n", out);
    write_rules(import, out);
    write_unhandled(import, out);
}

static void import_free(struct import *import)
{
    for (size_t i = 0; i < import->variables.count; i++)
        free(import->variables.items[i].values);
    free(import->variables.items);
    rules_free(&import->rules);
}

/* What is true of the configuration as a whole. */
static void note_whole(struct import *import)
{
    if (!import->handled)
        add_note(&import->unsaid, "it restricts nothing, which landlockconfig refuses: the policy allows "
                                  "all");
    if (import->has_newer_group)
        add_note(&import->unsaid,
                 "that its groups have less, where landlockconfig's library does not know all of ABI %u",
                 import->abi < POLICY_NEWEST_ABI ? import->abi : POLICY_NEWEST_ABI);
}

/* Hands over the faults or, where there are none, what is not said. */
static int answer(struct import *import, struct config_notes *notes)
{
    bool is_faulty = import->faults.count;

    *notes = is_faulty ? import->faults : import->unsaid;
    notes->is_out_of_memory =
        import->is_out_of_memory || import->faults.is_out_of_memory || import->unsaid.is_out_of_memory;
    config_notes_free(is_faulty ? &import->unsaid : &import->faults);
    return is_faulty || notes->is_out_of_memory ? -1 : 0;
}

int config_import(const char *text, size_t size, FILE *out, struct config_notes *notes)
{
    struct import import = {0};
    json_error_t fault = {0};
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);

    if (!document && json_error_code(&fault) <= json_error_out_of_memory) /* or it has not come to say */
        import.is_out_of_memory = true;
    else if (!document)
        add_note(&import.faults, "%d:%d: %s", fault.line, fault.column, fault.text);
    else
        read_document(&import, document);
    if (!import.faults.count && !import.is_out_of_memory) {
        note_whole(&import);
        write_policy(&import, out);
    }
    json_decref(document);
    import_free(&import);
    return answer(&import, notes);
}
