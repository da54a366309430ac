#include "policy/internal.h"

#include <errno.h>
#include <search.h>
#include <string.h>

static bool read_policy_file(struct parser *parser, const char *name, unsigned depth,
                             const struct policy_position *included_at, bool may_be_missing);

/* ---- Values that may be given once a file ---- */

bool claim(struct parser *parser, struct slot *slot, const char *what, const struct policy_position *position)
{
    uint64_t bit = (uint64_t)1 << position->file;

    if (slot->files & bit)
        return complain(parser, position, "%s given twice; a file gives it once", what);
    slot->what = what;
    if (slot->files && parser->files[slot->winner].includes & bit) {
        slot->files |= bit;
        return false;
    }
    slot->files |= bit;
    slot->winner = position->file;
    slot->position = *position;
    return true;
}

bool check_claims(struct parser *parser, const struct slot *slot)
{
    uint64_t beaten = parser->files[slot->winner].includes | (uint64_t)1 << slot->winner;
    size_t other = 0;

    if (!(slot->files & ~beaten))
        return true;
    while (!((slot->files & ~beaten) >> other & 1))
        other++;
    return complain(parser, &slot->position,
                    "%s is also given in %s, and neither file includes the other; a file that includes "
                    "both must decide",
                    slot->what, parser->files[other].name);
}

/* ---- Definitions ---- */

static int compare_definitions(const void *a, const void *b)
{
    return strcmp(((const struct definition *)a)->name, ((const struct definition *)b)->name);
}

struct definition *find_definition(const struct parser *parser, const char *name)
{
    struct definition key = {.name = name};
    void *const *found = tfind(&key, &parser->definition_tree, compare_definitions);

    return found ? *(struct definition *const *)found : NULL;
}

static struct definition *add_definition(struct parser *parser, const char *name)
{
    struct definition *definition = find_definition(parser, name);

    if (definition)
        return definition;
    definition = store_get(parser->policy->store, sizeof *definition);
    if (!definition || array_reserve(&parser->definitions, &parser->definition_capacity,
                                     parser->definition_count, sizeof(struct definition *)) < 0)
        return NULL;
    *definition = (struct definition){.name = name};
    if (!tsearch(definition, &parser->definition_tree, compare_definitions))
        return NULL;
    parser->definitions[parser->definition_count++] = definition;
    return definition;
}

static bool add_outside_definitions(struct parser *parser, const struct policy_definition *definitions,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct definition *definition = add_definition(parser, definitions[i].name);

        if (!definition)
            return out_of_memory(parser);
        if (definition->is_from_outside)
            complain_of_file(parser, NULL, 0, "--define %s given twice", definitions[i].name);
        definition->is_from_outside = true;
        definition->state = DEFINITION_KNOWN;
        definition->value = (struct slice){definitions[i].value, strlen(definitions[i].value)};
    }
    return true;
}

static const char *policy_definition_name(size_t i, const void *context)
{
    const struct parser *parser = context;

    return parser->definitions[i]->slot.files ? parser->definitions[i]->name : "";
}

static void check_definitions(struct parser *parser)
{
    for (size_t i = 0; i < parser->definition_count; i++) {
        const struct definition *definition = parser->definitions[i];
        char hint[NAME_SIZE + 32];

        if (definition->slot.files) {
            if (!definition->is_from_outside)
                check_claims(parser, &definition->slot);
            continue;
        }
        suggest(parser, hint, definition->name, parser->definition_count, policy_definition_name, parser);
        complain_of_file(parser, NULL, 0, "--define %s: the policy has no such definition%s",
                         definition->name, hint);
    }
}

/* Its value, from the word that holds; replacements in it are made first. */
static bool resolve(struct parser *parser, struct definition *definition,
                    const struct policy_position *position)
{
    uint32_t from = 0;

    if (definition->state == DEFINITION_IN_USE)
        return complain(parser, position, "the definition of '%s' leads back to itself", definition->name);
    if (definition->state == DEFINITION_RAW) {
        definition->state = DEFINITION_IN_USE;
        definition->state =
            word_value(parser, definition->slot.winner, &definition->word, &from, '\0', &definition->value)
                ? DEFINITION_KNOWN
                : DEFINITION_BROKEN;
    }
    return definition->state == DEFINITION_KNOWN;
}

bool definition_value(struct parser *parser, const char *name, const struct policy_position *position,
                      struct slice *value)
{
    struct definition *definition = find_definition(parser, name);
    char hint[NAME_SIZE + 32];

    if (!definition || !definition->slot.files) {
        suggest(parser, hint, name, parser->definition_count, policy_definition_name, parser);
        return complain(parser, position, "'%s' is not defined%s; expected a statement: define %s VALUE",
                        name, hint, name);
    }
    if (!resolve(parser, definition, position))
        return false;
    *value = definition->value;
    return true;
}

/* ---- Pass one ---- */

static bool has_replacement(const struct parser *parser, size_t file, const struct word *word)
{
    return !word->is_plain && memchr(parser->sources[file].text + word->offset, '$', word->length);
}

static bool define(struct parser *parser, const struct statement *statement)
{
    const struct word *name = &parser->words[statement->first + 1];
    const char *source = parser->sources[statement->file].text + name->offset;
    struct policy_position position = position_of(statement->file, name, 0);
    struct definition *definition;
    char *copy;

    if (!name->is_plain || !is_name(source, name->length))
        return complain(parser, &position,
                        "'%.*s' is not a name; expected letters, digits and '_', at most 63, no digit first",
                        (int)(name->length > NAME_SIZE ? NAME_SIZE : name->length), source);
    copy = store_get(parser->policy->store, name->length + 1);
    if (!copy)
        return out_of_memory(parser);
    memcpy(copy, source, name->length);
    copy[name->length] = '\0';
    definition = add_definition(parser, copy);
    if (!definition)
        return out_of_memory(parser);
    if (claim(parser, &definition->slot, definition->name, &position))
        definition->word = parser->words[statement->first + 2];
    return true;
}

/* `name` below the folder of files[file]. */
static char *beside(struct parser *parser, size_t file, const char *name)
{
    const char *includer = parser->files[file].name, *slash = strrchr(includer, '/');
    size_t folder = slash && name[0] != '/' ? (size_t)(slash - includer) + 1 : 0, length = strlen(name);
    char *path = store_get(parser->policy->store, folder + length + 1);

    if (!path)
        return NULL;
    memcpy(path, includer, folder);
    memcpy(path + folder, name, length + 1);
    return path;
}

static bool include(struct parser *parser, const struct statement *statement, unsigned depth)
{
    struct word word = parser->words[statement->first + 1];
    struct policy_position position = position_of(statement->file, &word, 0);
    bool is_optional;
    const char *name;
    char *path;

    if (has_replacement(parser, statement->file, &word))
        return complain(parser, &position,
                        "a replacement cannot name an included file; expected its name itself");
    name = word_text(parser, statement->file, &word);
    if (!name)
        return false;
    is_optional = word_is_optional(parser, statement->file, &word);
    name += is_optional;
    if (!name[0])
        return complain(parser, &position, "empty file name; expected: %s", "include [-]FILE");
    path = beside(parser, statement->file, name);
    if (!path)
        return out_of_memory(parser);
    return read_policy_file(parser, path, depth + 1, &position, is_optional);
}

static const char *keyword_name(size_t i, const void *context)
{
    (void)context;
    return keyword_table[i].name;
}

static bool find_keyword(struct parser *parser, struct statement *statement)
{
    const struct word *word = &parser->words[statement->first];
    const char *source = parser->sources[statement->file].text + word->offset;
    struct policy_position position = position_of(statement->file, word, 0);
    char copy[NAME_SIZE] = "", hint[NAME_SIZE + 32];

    memcpy(copy, source, word->length < NAME_SIZE ? word->length : NAME_SIZE - 1);
    for (size_t i = 0; i < keyword_count; i++)
        if (strlen(keyword_table[i].name) == word->length &&
            !memcmp(source, keyword_table[i].name, word->length)) {
            statement->keyword = (uint16_t)i;
            return true;
        }
    suggest(parser, hint, copy, keyword_count, keyword_name, NULL);
    return complain(parser, &position,
                    "unknown statement '%s'%s; expected policy, include, define, run, private, directory, "
                    "require, allow, unrestricted, audit, environment, limit, container or expect",
                    copy, hint);
}

static bool check_form(struct parser *parser, const struct statement *statement)
{
    const struct keyword *keyword = &keyword_table[statement->keyword];
    uint32_t given = statement->count - 1, at = given > keyword->most ? keyword->most + 1 : 0;
    struct policy_position position = position_of(statement->file, &parser->words[statement->first + at], 0);

    if (given >= keyword->least && given <= keyword->most)
        return true;
    return complain(parser, &position, "too %s words; expected: %s", given < keyword->least ? "few" : "many",
                    keyword->form);
}

static bool check_version(struct parser *parser, const struct statement *statement, bool is_first)
{
    const struct word *version = &parser->words[statement->first + 1];
    struct policy_position position = position_of(statement->file, version, 0);
    const char *text;

    if (!is_first) {
        position = position_of(statement->file, &parser->words[statement->first], 0);
        return complain(parser, &position,
                        "'policy' in the middle of a file; it is the first statement and stands once");
    }
    if (has_replacement(parser, statement->file, version))
        return complain(parser, &position, "a replacement cannot give the version; expected: policy 1");
    text = word_text(parser, statement->file, version);
    if (text && strcmp(text, "1") != 0)
        return complain(parser, &position, "unknown version '%s' of the language; this build knows: policy 1",
                        text);
    return text;
}

/* Handles what pass one understands and keeps the rest for pass two. */
static bool take_statement(struct parser *parser, struct statement *statement, bool is_first, unsigned depth)
{
    struct policy_position position = position_of(statement->file, &parser->words[statement->first], 0);
    bool is_known = find_keyword(parser, statement);

    if (is_first && (!is_known || keyword_table[statement->keyword].pass_one != IS_POLICY))
        complain(parser, &position,
                 "the file does not begin with a version; its first statement is: policy 1");
    if (!is_known || !check_form(parser, statement))
        return false;
    switch (keyword_table[statement->keyword].pass_one) {
    case IS_POLICY:
        return check_version(parser, statement, is_first);
    case IS_INCLUDE:
        return include(parser, statement, depth);
    case IS_DEFINE:
        return define(parser, statement);
    case PASS_TWO:
        break;
    }
    if (array_reserve(&parser->statements, &parser->statement_capacity, parser->statement_count,
                      sizeof *statement) < 0)
        return out_of_memory(parser);
    parser->statements[parser->statement_count++] = *statement;
    return true;
}

static void take_file(struct parser *parser, size_t file, unsigned depth)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    struct cursor cursor = {0};
    uint32_t first, count;
    bool is_first = true;

    if (parser->files[file].size >= 3 && !memcmp(parser->sources[file].text, byte_order_mark, 3)) {
        complain_of_file(parser, parser->files[file].name, file,
                         "byte order mark; save the file as UTF-8 without one");
        return;
    }
    while (lex_statement(parser, file, &cursor, &first, &count)) {
        struct statement statement = {.file = (uint16_t)file, .first = first, .count = count};

        take_statement(parser, &statement, is_first, depth);
        is_first = false;
    }
    if (is_first && !parser->diagnostics->count)
        complain_of_file(parser, parser->files[file].name, file,
                         "no statement; a policy begins with: policy 1");
}

static bool include_fault(struct parser *parser, const struct policy_position *at, const char *name,
                          const char *reason)
{
    return at ? complain(parser, at, "cannot include %s: %s", name, reason)
              : complain_of_file(parser, name, 0, "%s", reason);
}

/* The index of a file already read, or parser->file_count. */
static size_t known_file(const struct parser *parser, uint64_t device, uint64_t inode)
{
    size_t i = 0;

    while (i < parser->file_count &&
           (parser->sources[i].device != device || parser->sources[i].inode != inode))
        i++;
    return i;
}

/* Reads a file that is not known yet into files[file_count]; *file is its index, or that of the same file
 * read before. */
static bool open_source(struct parser *parser, const char *name, const struct policy_position *at,
                        bool may_be_missing, size_t *file)
{
    struct source source = {.is_open = true};
    char reason[256] = "";
    size_t size, known;
    int fault = parser->read(parser->read_context, name, &source.text, &size, &source.device, &source.inode,
                             reason, sizeof reason);

    if (fault)
        return (may_be_missing && (fault == ENOENT || fault == ENOTDIR)) ||
               include_fault(parser, at, name, reason);
    known = known_file(parser, source.device, source.inode);
    *file = known;
    if (known < parser->file_count) {
        free(source.text);
        return !parser->sources[known].is_open ||
               include_fault(parser, at, name, "it includes itself, directly or by way of others");
    }
    if (known == POLICY_MAX_FILES) {
        free(source.text);
        return include_fault(parser, at, name, "too many files; a policy may be made of 64");
    }
    parser->sources[known] = source;
    parser->files[known] = (struct policy_file){.name = name, .text = source.text, .size = size};
    parser->file_count++;
    return true;
}

/* Every file that is being read includes `file`, and what that one includes. Told before it is read, so that
 * whose value holds is known while its statements are taken. */
static void note_inclusion(struct parser *parser, size_t file)
{
    for (size_t i = 0; i < parser->file_count; i++)
        if (parser->sources[i].is_open && i != file)
            parser->files[i].includes |= (uint64_t)1 << file | parser->files[file].includes;
}

static bool read_policy_file(struct parser *parser, const char *name, unsigned depth,
                             const struct policy_position *included_at, bool may_be_missing)
{
    size_t before = parser->file_count, file = POLICY_MAX_FILES;

    if (depth > POLICY_MAX_DEPTH)
        return include_fault(parser, included_at, name,
                             "includes are nested too deeply; 16 levels are allowed");
    if (!open_source(parser, name, included_at, may_be_missing, &file))
        return false;
    if (file == POLICY_MAX_FILES)
        return true;
    note_inclusion(parser, file);
    if (parser->file_count > before) {
        take_file(parser, file, depth);
        parser->sources[file].is_open = false;
    }
    return true;
}

/* ---- The whole ---- */

static void keep(void *node)
{
    (void)node; /* the store owns it */
}

static bool parse(struct parser *parser, const char *file, const struct policy_definition *definitions,
                  size_t count)
{
    bool is_good = true;

    if (!add_outside_definitions(parser, definitions, count) ||
        !read_policy_file(parser, file, 1, NULL, false))
        return false;
    check_definitions(parser);
    for (size_t i = 0; i < parser->statement_count; i++)
        is_good &= parse_statement(parser, &parser->statements[i]);
    return check_policy(parser) && is_good;
}

/* Moves the files into the policy, which outlives the parser. */
static bool keep_files(struct parser *parser)
{
    struct policy_file *files = store_get(parser->policy->store, sizeof *files * POLICY_MAX_FILES);

    if (!files) {
        for (size_t i = 0; i < parser->file_count; i++)
            free(parser->sources[i].text);
        return out_of_memory(parser);
    }
    memcpy(files, parser->files, sizeof *files * parser->file_count);
    parser->policy->files = files;
    parser->policy->file_count = parser->file_count;
    return true;
}

struct policy *policy_load(const char *file, const struct policy_definition *definitions,
                           size_t definition_count, policy_read_function *read, void *context,
                           struct policy_diagnostics *diagnostics)
{
    struct parser parser = {
        .diagnostics = diagnostics, .read = read ? read : policy_read_file, .read_context = context};
    struct policy *policy = calloc(1, sizeof *policy);

    if (policy)
        policy->store = store_new();
    if (!policy || !policy->store) {
        free(policy);
        diagnostics->out_of_memory = true;
        return NULL;
    }
    parser.policy = policy;
    parse(&parser, file, definitions, definition_count);
    keep_files(&parser);
    tdestroy(parser.definition_tree, keep);
    tdestroy(parser.setting_tree, keep);
    free(parser.definitions);
    free(parser.statements);
    free(parser.words);
    if (!diagnostics->count && !diagnostics->out_of_memory)
        return policy;
    diagnostics_sort(diagnostics);
    policy_free(policy);
    return NULL;
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    for (size_t i = 0; i < policy->file_count; i++)
        free((void *)policy->files[i].text);
    free((void *)policy->path_rules);
    free((void *)policy->port_rules);
    free((void *)policy->privates);
    free((void *)policy->requirements);
    free((void *)policy->kept);
    free((void *)policy->settings);
    free((void *)policy->container.read_only);
    free((void *)policy->container.writable);
    free((void *)policy->expectations);
    store_free(policy->store);
    free(policy);
}
