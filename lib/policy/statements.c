#include "policy/internal.h"

#include <errno.h>
#include <search.h>
#include <string.h>

/* Adds an item of `size` bytes to one of the policy's lists (`list`: the address of its pointer). */
static bool append(struct parser *parser, void *list, size_t *count, size_t *capacity, const void *item,
                   size_t size)
{
    char *items;

    if (array_reserve(list, capacity, *count, size) < 0)
        return out_of_memory(parser);
    memcpy(&items, list, sizeof items);
    memcpy(items + *count * size, item, size);
    (*count)++;
    return true;
}

/* ---- Words of a statement ---- */

static const struct word *word_at(const struct statement *statement, uint32_t i)
{
    return &statement->words[i];
}

static struct policy_position place(const struct statement *statement, uint32_t i)
{
    return position_of(statement->file, word_at(statement, i), 0);
}

static const char *text_at(struct parser *parser, const struct statement *statement, uint32_t i)
{
    return word_text(parser, statement->file, word_at(statement, i));
}

/* The index of word `i` in a list of names; -1: a fault was recorded. */
static int choice_at(struct parser *parser, const struct statement *statement, uint32_t i,
                     const char *const names[], int count, const char *expected)
{
    const char *text = text_at(parser, statement, i);
    struct policy_position position = place(statement, i);

    if (!text)
        return -1;
    for (int k = 0; k < count; k++)
        if (!strcmp(text, names[k]))
            return k;
    complain(parser, POLICY_FAULT_UNKNOWN_WORD, &position, "unknown word '%s'; expected %s", text, expected);
    return -1;
}

static bool parse_number(const char *text, size_t length, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;

    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
            return false;
    }
    *number = value;
    return value <= most;
}

/* ---- Rights ---- */

static bool add_right(struct parser *parser, const struct policy_position *position, const struct slice *word,
                      policy_rights *rights, policy_rights *singles)
{
    char copy[NAME_SIZE] = "", hint[NAME_SIZE + 32];
    bool is_group;
    policy_rights named = policy_rights_named(word->text, word->length, &is_group);

    if (named) {
        *rights |= named;
        *singles |= is_group ? 0 : named;
        return true;
    }
    memcpy(copy, word->text, word->length < NAME_SIZE ? word->length : NAME_SIZE - 1);
    suggest(parser, hint, copy, policy_right_count + policy_group_count, right_name, NULL);
    return complain(parser, POLICY_FAULT_UNKNOWN_RIGHT, position,
                    "unknown right '%s'%s; rights and groups are listed in landlock-exec.policy(5)", copy,
                    hint);
}

/* RIGHTS: names and groups separated by commas. */
static bool rights_at(struct parser *parser, const struct statement *statement, uint32_t i,
                      policy_rights *rights, policy_rights *singles)
{
    const struct word *word = word_at(statement, i);
    bool is_good = true;
    uint32_t from = 0;

    *rights = *singles = 0;
    while (from <= word->length) {
        struct policy_position position = position_of(statement->file, word, from);
        struct slice name;

        if (!word_value(parser, statement->file, word, &from, ',', &name))
            return false;
        is_good &= add_right(parser, &position, &name, rights, singles);
    }
    return is_good;
}

/* ---- Paths ---- */

const char *policy_path_fault(const char *path)
{
    size_t length = strlen(path);

    if (path[0] != '/')
        return "is not absolute";
    if (length >= PATH_MAX)
        return "is longer than 4095 bytes";
    if (length == 1)
        return NULL;
    for (const char *component = path + 1;;) {
        const char *end = strchrnul(component, '/');
        size_t size = (size_t)(end - component);

        if (!size)
            return *end ? "has an empty component ('//')" : "ends in '/'";
        if (component[0] == '.' && (size == 1 || (size == 2 && component[1] == '.')))
            return size == 1 ? "has a '.' component" : "has a '..' component";
        if (!*end)
            return NULL;
        component = end + 1;
    }
}

/* [-]PATH, or PATH. */
static const char *path_at(struct parser *parser, const struct statement *statement, uint32_t i,
                           bool may_be_optional, struct policy_position *position)
{
    const struct word *word = word_at(statement, i);
    bool is_optional = may_be_optional && word_is_optional(parser, statement->file, word);
    const char *fault;
    uint32_t from = 0;
    struct slice value;

    *position = position_of(statement->file, word, 0);
    if (!word_value(parser, statement->file, word, &from, '\0', &value))
        return NULL;
    if (is_optional) {
        position->flags = POLICY_OPTIONAL;
        value.text++;
    }
    fault = policy_path_fault(value.text);
    if (!fault)
        return value.text;
    complain(parser, POLICY_FAULT_PATH, position,
             "path '%.256s' %s; expected an absolute path without empty, '.' or '..' components", value.text,
             fault);
    return NULL;
}

/* PATH... from word `i` on. */
static bool paths_from(struct parser *parser, const struct statement *statement, uint32_t i,
                       const struct policy_path **list, size_t *count, size_t *capacity)
{
    bool is_good = true;

    for (; i < statement->count; i++) {
        struct policy_path path;

        path.path = path_at(parser, statement, i, false, &path.position);
        is_good &= path.path && append(parser, list, count, capacity, &path, sizeof path);
    }
    return is_good;
}

/* ---- Ports ---- */

static bool ports_at(struct parser *parser, const struct statement *statement, uint32_t i, uint16_t *first,
                     uint16_t *last)
{
    const struct word *word = word_at(statement, i);
    struct policy_position position = place(statement, i);
    uint64_t from_port, to_port;
    struct slice low, high;
    uint32_t from = 0;

    if (!word_value(parser, statement->file, word, &from, '-', &low))
        return false;
    high = low;
    if (from <= word->length && !word_value(parser, statement->file, word, &from, '\0', &high))
        return false;
    if (!parse_number(low.text, low.length, UINT16_MAX, &from_port) ||
        !parse_number(high.text, high.length, UINT16_MAX, &to_port) || from_port > to_port)
        return complain(parser, POLICY_FAULT_PORT, &position,
                        "'%.*s' is not a port or a range of ports; expected PORT or PORT-PORT, 0 to 65535",
                        (int)(word->length > NAME_SIZE ? NAME_SIZE : word->length),
                        parser->sources[statement->file].text + word->offset);
    *first = (uint16_t)from_port;
    *last = (uint16_t)to_port;
    return true;
}

/* ---- allow and expect ---- */

/* The RIGHTS of an access: all of files or all of the network. */
static bool access_at(struct parser *parser, const struct statement *statement, uint32_t i,
                      policy_rights *rights, policy_rights *singles)
{
    struct policy_position position = place(statement, i);
    char names[POLICY_RIGHTS_TEXT];

    if (!rights_at(parser, statement, i, rights, singles))
        return false;
    if (*rights & POLICY_ALL_SCOPES)
        return complain(parser, POLICY_FAULT_SCOPE, &position,
                        "%s is a scope and has no path or port; expected file rights or network rights (a "
                        "scope can only be left out: unrestricted %s)",
                        policy_rights_text(*rights & POLICY_ALL_SCOPES, names), names);
    if (*rights & POLICY_ALL_FS && *rights & POLICY_ALL_NET)
        return complain(parser, POLICY_FAULT_MIXED_RIGHTS, &position,
                        "file rights and network rights in one line; expected a line for each");
    return true;
}

static bool allow_path(struct parser *parser, const struct statement *statement, uint32_t i,
                       policy_rights rights, policy_rights singles)
{
    struct policy *policy = parser->policy;
    struct policy_path_rule rule = {.rights = rights, .singles = singles};

    rule.path = path_at(parser, statement, i, true, &rule.position);
    if (!rule.path)
        return false;
    return append(parser, &policy->path_rules, &policy->path_rule_count, &parser->path_rule_capacity, &rule,
                  sizeof rule);
}

static bool allow_ports(struct parser *parser, const struct statement *statement, uint32_t i,
                        policy_rights rights)
{
    struct policy *policy = parser->policy;
    struct policy_port_rule rule = {.rights = rights, .position = place(statement, i)};

    if (!ports_at(parser, statement, i, &rule.first, &rule.last))
        return false;
    return append(parser, &policy->port_rules, &policy->port_rule_count, &parser->port_rule_capacity, &rule,
                  sizeof rule);
}

/* The rights of this statement have a fault; what can be told of its paths is told all the same. */
static bool check_paths(struct parser *parser, const struct statement *statement, uint32_t i)
{
    for (; i < statement->count; i++) {
        char first = parser->sources[statement->file].text[word_at(statement, i)->offset];
        struct policy_position position;

        if (first < '0' || first > '9')
            path_at(parser, statement, i, true, &position);
    }
    return false;
}

static bool parse_allow(struct parser *parser, const struct statement *statement)
{
    policy_rights rights, singles;
    bool is_good = true;

    if (!access_at(parser, statement, 1, &rights, &singles))
        return check_paths(parser, statement, 2);
    for (uint32_t i = 2; i < statement->count; i++)
        is_good &= rights & POLICY_ALL_NET ? allow_ports(parser, statement, i, rights)
                                           : allow_path(parser, statement, i, rights, singles);
    return is_good;
}

static bool expect_one(struct parser *parser, const struct statement *statement, uint32_t i,
                       struct policy_expectation expectation)
{
    struct policy *policy = parser->policy;

    if (expectation.rights & POLICY_ALL_NET) {
        expectation.position = place(statement, i);
        if (!ports_at(parser, statement, i, &expectation.first, &expectation.last))
            return false;
    } else {
        expectation.path = path_at(parser, statement, i, false, &expectation.position);
        if (!expectation.path)
            return false;
    }
    return append(parser, &policy->expectations, &policy->expectation_count, &parser->expectation_capacity,
                  &expectation, sizeof expectation);
}

static bool parse_expect(struct parser *parser, const struct statement *statement)
{
    static const char *const outcomes[] = {"denied", "allowed"};
    int outcome = choice_at(parser, statement, 1, outcomes, array_size(outcomes), "allowed or denied");
    struct policy_expectation expectation = {.allowed = outcome == 1};
    policy_rights singles;
    bool is_good = outcome >= 0;

    if (!access_at(parser, statement, 2, &expectation.rights, &singles) || !is_good)
        return check_paths(parser, statement, 3);
    for (uint32_t i = 3; i < statement->count; i++)
        is_good &= expect_one(parser, statement, i, expectation);
    return is_good;
}

/* ---- require and unrestricted ---- */

static bool add_requirement(struct parser *parser, struct policy_requirement requirement)
{
    struct policy *policy = parser->policy;

    return append(parser, &policy->requirements, &policy->requirement_count, &parser->requirement_capacity,
                  &requirement, sizeof requirement);
}

static bool parse_require_abi(struct parser *parser, const struct statement *statement)
{
    const char *text = text_at(parser, statement, 2);
    struct policy_position position = place(statement, 2);
    uint64_t abi;

    if (!text)
        return false;
    if (!parse_number(text, strlen(text), POLICY_NEWEST_ABI, &abi) || !abi)
        return complain(parser, POLICY_FAULT_ABI, &position,
                        "'%.64s' is not a Landlock ABI that this build knows; expected 1 to %d", text,
                        POLICY_NEWEST_ABI);
    return add_requirement(parser, (struct policy_requirement){.abi = (unsigned)abi, .position = position});
}

static bool parse_require(struct parser *parser, const struct statement *statement)
{
    const struct word *word = word_at(statement, 1);
    struct policy_position position = place(statement, statement->count - 1);
    bool is_abi = word->is_plain && word->length == 3 &&
                  !memcmp(parser->sources[statement->file].text + word->offset, "abi", 3);
    policy_rights rights, singles;

    if (is_abi != (statement->count == 3))
        return complain(parser, POLICY_FAULT_REQUIREMENT, &position,
                        "not a requirement; expected: require abi N, or: require RIGHTS");
    if (is_abi)
        return parse_require_abi(parser, statement);
    if (!rights_at(parser, statement, 1, &rights, &singles))
        return false;
    return add_requirement(parser, (struct policy_requirement){.rights = rights, .position = position});
}

static bool parse_unrestricted(struct parser *parser, const struct statement *statement)
{
    struct policy_position position = place(statement, 1);
    policy_rights rights, singles, refused = 0;
    char names[POLICY_RIGHTS_TEXT];

    if (!rights_at(parser, statement, 1, &rights, &singles))
        return false;
    for (size_t i = 0; i < policy_right_count; i++)
        if (!(policy_right_table[i].traits & RIGHT_MAY_BE_UNRESTRICTED))
            refused |= policy_right_table[i].bit & rights;
    if (refused)
        return complain(parser, POLICY_FAULT_ALWAYS_RESTRICTED, &position,
                        "%s is always restricted; expected network rights, scopes, resolve_unix or ioctl_dev",
                        policy_rights_text(refused, names));
    parser->policy->unrestricted |= rights;
    parser->policy->unrestricted_position = position;
    return true;
}

/* ---- Single values ---- */

static bool claim_single(struct parser *parser, const struct statement *statement, enum single single,
                         const char *what)
{
    struct policy_position position = place(statement, 0);

    return claim(parser, &parser->singles[single], what, &position);
}

static bool parse_run(struct parser *parser, const struct statement *statement)
{
    struct policy_position position = place(statement, 1);
    const char **run = store_get(parser->policy->store, sizeof *run * statement->count);
    bool is_good = true;

    if (!run)
        return out_of_memory(parser);
    for (uint32_t i = 1; i < statement->count; i++) {
        run[i - 1] = text_at(parser, statement, i);
        is_good &= run[i - 1] != NULL;
    }
    if (!is_good)
        return false;
    run[statement->count - 1] = NULL;
    if (!run[0][0])
        return complain(parser, POLICY_FAULT_EMPTY_NAME, &position,
                        "empty program name; expected: run PROGRAM [ARGUMENT...]");
    if (claim_single(parser, statement, SINGLE_RUN, "'run'")) {
        parser->policy->run = run;
        parser->policy->run_count = statement->count - 1;
    }
    return true;
}

static bool parse_directory(struct parser *parser, const struct statement *statement)
{
    struct policy_path directory;

    directory.path = path_at(parser, statement, 1, false, &directory.position);
    if (!directory.path)
        return false;
    if (claim_single(parser, statement, SINGLE_DIRECTORY, "'directory'"))
        parser->policy->directory = directory;
    return true;
}

static bool parse_audit(struct parser *parser, const struct statement *statement)
{
    static const char *const settings[] = {"off", "on"};
    int setting = choice_at(parser, statement, 1, settings, array_size(settings), "on or off");

    if (setting >= 0 && claim_single(parser, statement, SINGLE_AUDIT, "'audit'"))
        parser->policy->audit = setting;
    return setting >= 0;
}

static const char *resource_name(size_t i, const void *context)
{
    (void)context;
    return policy_resource_table[i].name;
}

static const struct policy_resource *resource_at(struct parser *parser, const struct statement *statement,
                                                 uint32_t i)
{
    const char *text = text_at(parser, statement, i);
    struct policy_position position = place(statement, i);
    char hint[NAME_SIZE + 32];

    if (!text)
        return NULL;
    for (size_t k = 0; k < policy_resource_count; k++)
        if (!strcmp(text, policy_resource_table[k].name))
            return &policy_resource_table[k];
    suggest(parser, hint, text, policy_resource_count, resource_name, NULL);
    complain(parser, POLICY_FAULT_RESOURCE, &position,
             "unknown resource '%.64s'%s; resources are listed in landlock-exec.policy(5)", text, hint);
    return NULL;
}

/* A number; where a size fits, K, M, G or T may follow. */
static bool parse_size(const char *text, bool is_size, uint64_t *value)
{
    static const char units[] = "KMGT";
    size_t length = strlen(text);
    const char *unit = length && is_size ? strchr(units, text[length - 1]) : NULL;
    unsigned shift = unit ? (unsigned)(unit - units + 1) * 10 : 0;

    if (!parse_number(text, length - (unit != NULL), UINT64_MAX >> shift, value))
        return false;
    *value <<= shift;
    return *value < RLIM_INFINITY;
}

static bool parse_limit(struct parser *parser, const struct statement *statement)
{
    const struct policy_resource *resource = resource_at(parser, statement, 1);
    const char *text = resource ? text_at(parser, statement, 2) : NULL;
    struct policy_position position = place(statement, 2);
    uint64_t value;

    if (!text)
        return false;
    if (!parse_size(text, resource->is_size, &value))
        return complain(parser, POLICY_FAULT_LIMIT, &position,
                        "'%.64s' is not a limit; expected a whole number%s", text,
                        resource->is_size ? ", K, M, G or T may follow" : "");
    if (claim_single(parser, statement, SINGLE_LIMIT + (enum single)resource->resource, resource->name))
        parser->policy->limits[resource->resource] =
            (struct policy_limit){true, resource->resource == RLIMIT_CORE ? 0 : value, position};
    return true;
}

static bool parse_private(struct parser *parser, const struct statement *statement)
{
    return paths_from(parser, statement, 1, &parser->policy->privates, &parser->policy->private_count,
                      &parser->private_capacity);
}

/* ---- environment ---- */

/* Whether the word ends in '*' in the source, a quote behind it or not. */
static bool ends_in_asterisk(const struct parser *parser, const struct statement *statement, uint32_t i)
{
    const struct word *word = word_at(statement, i);
    const char *source = parser->sources[statement->file].text + word->offset;
    uint32_t quote = source[word->length - 1] == '"';

    return word->length > quote && source[word->length - 1 - quote] == '*';
}

static bool keep_one(struct parser *parser, const struct statement *statement, uint32_t i)
{
    struct policy *policy = parser->policy;
    struct policy_pattern pattern = {.position = place(statement, i),
                                     .is_prefix = ends_in_asterisk(parser, statement, i)};
    const char *text = text_at(parser, statement, i);
    size_t length = text ? strlen(text) - pattern.is_prefix : 0;

    if (!text)
        return false;
    if (!is_name(text, length))
        return complain(parser, POLICY_FAULT_VARIABLE, &pattern.position,
                        "'%.64s' is not the name of a variable; expected letters, digits and '_', at most "
                        "63, no digit first; '*' may follow",
                        text);
    pattern.name = keep_text(parser, text, length);
    if (!pattern.name)
        return false;
    return append(parser, &policy->kept, &policy->kept_count, &parser->kept_capacity, &pattern,
                  sizeof pattern);
}

/* A node of the tree of settings: found by name, it tells where in the array the assignment stands. */
struct set_name {
    const char *assignment;
    size_t length, index;
};

static int compare_set_names(const void *left, const void *right)
{
    const struct set_name *a = left, *b = right;
    int order = strncmp(a->assignment, b->assignment, a->length < b->length ? a->length : b->length);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool add_setting(struct parser *parser, const struct policy_setting *setting)
{
    struct policy *policy = parser->policy;
    struct set_name *node = store_get(policy->store, sizeof *node);
    void *const *found;

    if (!node)
        return out_of_memory(parser);
    *node = (struct set_name){setting->assignment, setting->name_length, policy->setting_count};
    found = tsearch(node, &parser->setting_tree, compare_set_names);
    if (!found || array_reserve(&policy->settings, &parser->setting_capacity, policy->setting_count,
                                sizeof *setting) < 0)
        return out_of_memory(parser);
    node = *found;
    ((struct policy_setting *)policy->settings)[node->index] = *setting;
    policy->setting_count += node->index == policy->setting_count;
    return true;
}

static bool set_one(struct parser *parser, const struct statement *statement, uint32_t i)
{
    const struct word *word = word_at(statement, i);
    struct policy_setting setting = {.position = place(statement, i)};
    struct slice name, whole;
    uint32_t to_equals = 0, from = 0;

    if (!word_value(parser, statement->file, word, &to_equals, '=', &name))
        return false;
    if (to_equals > word->length || !is_name(name.text, name.length))
        return complain(parser, POLICY_FAULT_ASSIGNMENT, &setting.position,
                        "not an assignment; expected NAME=VALUE, NAME being letters, digits and '_', at most "
                        "63, no digit first");
    if (!word_value(parser, statement->file, word, &from, '\0', &whole))
        return false;
    setting.assignment = whole.text;
    setting.name_length = name.length;
    return add_setting(parser, &setting);
}

static bool parse_environment(struct parser *parser, const struct statement *statement)
{
    static const char *const actions[] = {"keep", "set"};
    int action =
        choice_at(parser, statement, 1, actions, array_size(actions), "keep NAME... or set NAME=VALUE...");
    bool is_good = action >= 0;

    for (uint32_t i = 2; i < statement->count && action >= 0; i++)
        is_good &= action ? set_one(parser, statement, i) : keep_one(parser, statement, i);
    return is_good;
}

/* ---- container ---- */

static bool has_one_value(struct parser *parser, const struct statement *statement, const char *what)
{
    struct policy_position position;

    if (statement->count == 3)
        return true;
    position = place(statement, 3);
    return complain(parser, POLICY_FAULT_TOO_MANY_WORDS, &position,
                    "too many words; expected: container %s VALUE", what);
}

static bool parse_check(struct parser *parser, const struct statement *statement)
{
    static const char *const checks[] = {"old-abi", "always"};
    int check = choice_at(parser, statement, 2, checks, array_size(checks), "old-abi or always");

    if (check >= 0 && claim_single(parser, statement, SINGLE_CHECK, "'container check'"))
        parser->policy->container.check = check ? POLICY_CHECK_ALWAYS : POLICY_CHECK_OLD_ABI;
    return check >= 0;
}

static bool parse_uid(struct parser *parser, const struct statement *statement)
{
    const char *text = text_at(parser, statement, 2);
    struct policy_position position = place(statement, 2);
    uint64_t uid;

    if (!text)
        return false;
    if (!parse_number(text, strlen(text), UINT32_MAX - 1, &uid))
        return complain(parser, POLICY_FAULT_USER, &position, "'%.64s' is not a user ID; expected a number",
                        text);
    if (claim_single(parser, statement, SINGLE_UID, "'container uid'"))
        parser->policy->container.uid = (uid_t)uid;
    return true;
}

static bool parse_capabilities(struct parser *parser, const struct statement *statement)
{
    static const char *const sets[] = {"none"};

    if (choice_at(parser, statement, 2, sets, array_size(sets), "none") < 0)
        return false;
    claim_single(parser, statement, SINGLE_CAPABILITIES, "'container capabilities'");
    return true;
}

static const char *preset_name(size_t i, const void *context)
{
    (void)context;
    return policy_preset_table[i].name;
}

static bool add_writable(struct parser *parser, const struct statement *statement, uint32_t i)
{
    struct policy_container *container = &parser->policy->container;
    struct policy_path path = {.path = text_at(parser, statement, i), .position = place(statement, i)};
    char hint[NAME_SIZE + 32];

    if (!path.path)
        return false;
    if (path.path[0] == '/') {
        path.path = path_at(parser, statement, i, false, &path.position);
        return path.path && append(parser, &container->writable, &container->writable_count,
                                   &parser->writable_capacity, &path, sizeof path);
    }
    for (size_t k = 0; k < policy_preset_count; k++)
        if (!strcmp(path.path, policy_preset_table[k].name)) {
            container->presets |= policy_preset_table[k].bit;
            return true;
        }
    suggest(parser, hint, path.path, policy_preset_count, preset_name, NULL);
    return complain(parser, POLICY_FAULT_PRESET, &path.position,
                    "unknown preset '%.64s'%s; expected docker, podman, bubblewrap or an absolute path",
                    path.path, hint);
}

static bool parse_writable(struct parser *parser, const struct statement *statement)
{
    struct policy_position *first = &parser->policy->container.writable_position;
    bool is_good = true;

    if (!first->line)
        *first = place(statement, 0);
    for (uint32_t i = 2; i < statement->count; i++)
        is_good &= add_writable(parser, statement, i);
    return is_good;
}

static bool parse_container(struct parser *parser, const struct statement *statement)
{
    static const char *const parts[] = {"check", "uid", "capabilities", "read-only", "writable"};
    enum { CHECK, UID, CAPABILITIES, READ_ONLY, WRITABLE };
    struct policy_container *container = &parser->policy->container;
    int part = choice_at(parser, statement, 1, parts, array_size(parts),
                         "check, uid, capabilities, read-only or writable");

    if (part < 0 || (part <= CAPABILITIES && !has_one_value(parser, statement, parts[part])))
        return false;
    if (part == CHECK)
        return parse_check(parser, statement);
    parser->has_container = true;
    parser->container_position = place(statement, 0);
    if (part == UID)
        return parse_uid(parser, statement);
    if (part == CAPABILITIES)
        return parse_capabilities(parser, statement);
    if (part == WRITABLE)
        return parse_writable(parser, statement);
    parser->has_read_only = true;
    return paths_from(parser, statement, 2, &container->read_only, &container->read_only_count,
                      &parser->read_only_capacity);
}

/* ---- The table of statements ---- */

const struct keyword keyword_table[] = {
    {"policy", "policy 1", 1, 1, IS_POLICY, NULL},
    {"include", "include [-]FILE", 1, 1, IS_INCLUDE, NULL},
    {"define", "define NAME VALUE", 2, 2, IS_DEFINE, NULL},
    {"run", "run PROGRAM [ARGUMENT...]", 1, UINT32_MAX - 1, IS_ORDINARY, parse_run},
    {"private", "private PATH...", 1, UINT32_MAX - 1, IS_ORDINARY, parse_private},
    {"directory", "directory PATH", 1, 1, IS_ORDINARY, parse_directory},
    {"require", "require abi N, or: require RIGHTS", 1, 2, IS_ORDINARY, parse_require},
    {"allow", "allow RIGHTS [-]PATH..., or: allow RIGHTS PORT[-PORT]...", 2, UINT32_MAX - 1, IS_ORDINARY,
     parse_allow},
    {"unrestricted", "unrestricted RIGHTS", 1, 1, IS_ORDINARY, parse_unrestricted},
    {"audit", "audit on|off", 1, 1, IS_ORDINARY, parse_audit},
    {"environment", "environment keep NAME..., or: environment set NAME=VALUE...", 2, UINT32_MAX - 1,
     IS_ORDINARY, parse_environment},
    {"limit", "limit RESOURCE VALUE", 2, 2, IS_ORDINARY, parse_limit},
    {"container", "container check|uid|capabilities|read-only|writable VALUE...", 2, UINT32_MAX - 1,
     IS_ORDINARY, parse_container},
    {"expect", "expect allowed|denied RIGHTS PATH|PORT...", 3, UINT32_MAX - 1, IS_ORDINARY, parse_expect},
};
const size_t keyword_count = array_size(keyword_table);

static bool check_container(struct parser *parser)
{
    bool has_uid = parser->singles[SINGLE_UID].files,
         has_capabilities = parser->singles[SINGLE_CAPABILITIES].files,
         has_writable = parser->policy->container.writable_position.line;
    bool is_complete = has_uid && has_capabilities && parser->has_read_only && has_writable;

    parser->policy->container.is_described = is_complete;
    if (is_complete || !parser->has_container)
        return true;
    return complain(parser, POLICY_FAULT_PART_OF_CONTAINER, &parser->container_position,
                    "the container is described in part (missing:%s%s%s%s); expected all of container uid, "
                    "capabilities, read-only and writable, or none",
                    has_uid ? "" : " uid", has_capabilities ? "" : " capabilities",
                    parser->has_read_only ? "" : " read-only", has_writable ? "" : " writable");
}

/* Where the single values stand that hold. */
static void keep_positions(struct policy *policy, const struct slot singles[static SINGLE_COUNT])
{
    policy->run_position = singles[SINGLE_RUN].position;
    policy->audit_position = singles[SINGLE_AUDIT].position;
    policy->container.check_position = singles[SINGLE_CHECK].position;
    policy->container.uid_position = singles[SINGLE_UID].position;
    policy->container.capabilities_position = singles[SINGLE_CAPABILITIES].position;
}

bool check_policy(struct parser *parser)
{
    policy_rights contradiction = 0;
    bool is_good = check_container(parser);
    char names[POLICY_RIGHTS_TEXT];

    keep_positions(parser->policy, parser->singles);
    for (size_t i = 0; i < SINGLE_COUNT; i++)
        if (parser->singles[i].files)
            is_good &= check_claims(parser, &parser->singles[i]);
    for (size_t i = 0; i < parser->policy->requirement_count; i++)
        contradiction |= parser->policy->requirements[i].rights & parser->policy->unrestricted;
    if (contradiction)
        is_good = complain(parser, POLICY_FAULT_CONTRADICTION, &parser->policy->unrestricted_position,
                           "%s is required and unrestricted at once; expected one of the two",
                           policy_rights_text(contradiction, names));
    return is_good;
}
