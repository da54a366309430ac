#include "policy/internal.h"

#include <errno.h>
#include <search.h>
#include <string.h>

static bool gather_file(struct parser *parser, const char *name, unsigned depth,
                        const struct policy_position *at, bool may_be_missing);

/* ---- Statements ---- */

static const char *keyword_name(size_t i, const void *context)
{
    (void)context;
    return keyword_table[i].name;
}

/* The keyword of a statement, or NULL. */
static const struct keyword *keyword_of(const struct parser *parser, const struct statement *statement)
{
    const char *source = parser->sources[statement->file].text + statement->words[0].offset;

    for (size_t i = 0; i < keyword_count; i++)
        if (strlen(keyword_table[i].name) == statement->words[0].length &&
            !memcmp(source, keyword_table[i].name, statement->words[0].length))
            return &keyword_table[i];
    return NULL;
}

static bool has_form(const struct keyword *keyword, const struct statement *statement)
{
    return statement->count - 1 >= keyword->least && statement->count - 1 <= keyword->most;
}

static bool say_unknown(struct parser *parser, const struct statement *statement)
{
    const struct word *word = &statement->words[0];
    struct policy_position position = position_of(statement->file, word, 0);
    char copy[NAME_SIZE] = "", hint[NAME_SIZE + 32];

    memcpy(copy, parser->sources[statement->file].text + word->offset,
           word->length < NAME_SIZE ? word->length : NAME_SIZE - 1);
    suggest(parser, hint, copy, keyword_count, keyword_name, NULL);
    return complain(parser, POLICY_FAULT_UNKNOWN_STATEMENT, &position,
                    "unknown statement '%s'%s; expected policy, include, define, run, private, directory, "
                    "require, allow, unrestricted, audit, environment, limit, container or expect",
                    copy, hint);
}

static bool say_form(struct parser *parser, const struct keyword *keyword, const struct statement *statement)
{
    bool is_short = statement->count - 1 < keyword->least;
    struct policy_position position =
        position_of(statement->file, &statement->words[is_short ? 0 : keyword->most + 1], 0);

    return complain(parser, is_short ? POLICY_FAULT_TOO_FEW_WORDS : POLICY_FAULT_TOO_MANY_WORDS, &position,
                    "too %s words; expected: %s", is_short ? "few" : "many", keyword->form);
}

/* ---- Pass one: includes and definitions ---- */

/* Whether an unescaped '$' stands in the word. */
static bool has_replacement(const struct parser *parser, size_t file, const struct word *word)
{
    const char *source = parser->sources[file].text + word->offset;

    for (uint32_t i = 0; i < word->length; i += source[i] == '\\' ? 2 : 1)
        if (source[i] == '$')
            return true;
    return false;
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
    struct word word = statement->words[1];
    struct policy_position position = position_of(statement->file, &word, 0);
    bool is_optional = word_is_optional(parser, statement->file, &word);
    const char *name;
    char *path;

    if (has_replacement(parser, statement->file, &word))
        return complain(parser, POLICY_FAULT_REFUSED_REPLACEMENT, &position,
                        "a replacement cannot name an included file; expected its name itself");
    word.is_plain = false; /* copied: the source is still to be read a second time */
    name = word_text(parser, statement->file, &word);
    if (!name)
        return false;
    name += is_optional;
    if (!name[0])
        return complain(parser, POLICY_FAULT_EMPTY_NAME, &position,
                        "empty file name; expected: include [-]FILE");
    path = beside(parser, statement->file, name);
    if (!path)
        return out_of_memory(parser);
    return gather_file(parser, path, depth + 1, &position, is_optional);
}

static bool has_byte_order_mark(const struct parser *parser, size_t file)
{
    return parser->files[file].size >= 3 && !memcmp(parser->sources[file].text, "\xef\xbb\xbf", 3);
}

/* Faults are passed over: pass two meets them again and tells of them. */
static void gather_statements(struct parser *parser, size_t file, unsigned depth)
{
    struct statement statement = {.file = (uint16_t)file};
    struct cursor cursor = {.is_silent = true};

    while (!has_byte_order_mark(parser, file) && lex_statement(parser, &statement, &cursor)) {
        const struct keyword *keyword = keyword_of(parser, &statement);

        if (!keyword || !has_form(keyword, &statement))
            continue;
        if (keyword->kind == IS_INCLUDE)
            include(parser, &statement, depth);
        else if (keyword->kind == IS_DEFINE)
            define(parser, &statement);
    }
}

static bool include_fault(struct parser *parser, enum policy_fault fault, const struct policy_position *at,
                          const char *name, const char *reason)
{
    return at ? complain(parser, fault, at, "cannot include %s: %s", name, reason)
              : complain_of_file(parser, fault, name, NULL, "%s", reason);
}

/* What an errno of a policy_read_function tells. */
static enum policy_fault fault_of_reading(int error)
{
    if (error == EPERM)
        return POLICY_FAULT_UNSAFE;
    return error == EFBIG ? POLICY_FAULT_TOO_LARGE : POLICY_FAULT_UNREADABLE;
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
    int error = parser->read(parser->read_context, name, &source.text, &size, &source.device, &source.inode,
                             reason, sizeof reason);

    if (error)
        return (may_be_missing && (error == ENOENT || error == ENOTDIR)) ||
               include_fault(parser, fault_of_reading(error), at, name, reason);
    parser->total_size += size;
    if (parser->total_size > POLICY_MAX_TOTAL_SIZE) {
        free(source.text);
        return include_fault(parser, POLICY_FAULT_TOO_LARGE, at, name,
                             "too much to read; all files together may have 64 MiB");
    }
    known = known_file(parser, source.device, source.inode);
    *file = known;
    if (known < parser->file_count) {
        free(source.text);
        return !parser->sources[known].is_open || include_fault(parser, POLICY_FAULT_INCLUDE_CYCLE, at, name,
                                                                "it includes itself, directly or by way of "
                                                                "others");
    }
    if (known == POLICY_MAX_FILES) {
        free(source.text);
        return include_fault(parser, POLICY_FAULT_TOO_MANY_FILES, at, name,
                             "too many files; a policy may be made of 64");
    }
    if (array_reserve(&parser->files, &parser->file_capacity, known, sizeof *parser->files) < 0 ||
        array_reserve(&parser->sources, &parser->source_capacity, known, sizeof *parser->sources) < 0) {
        free(source.text);
        return out_of_memory(parser);
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

/* Reads a file and what it includes, for pass one. */
static bool gather_file(struct parser *parser, const char *name, unsigned depth,
                        const struct policy_position *at, bool may_be_missing)
{
    size_t before = parser->file_count, file = POLICY_MAX_FILES;

    if (depth > POLICY_MAX_DEPTH)
        return include_fault(parser, POLICY_FAULT_INCLUDE_DEPTH, at, name,
                             "includes are nested too deeply; 16 levels are allowed");
    if (!open_source(parser, name, at, may_be_missing, &file))
        return false;
    if (file == POLICY_MAX_FILES)
        return true;
    note_inclusion(parser, file);
    if (parser->file_count > before) {
        if (at) {
            parser->sources[file].includer = at->file;
            parser->sources[file].included_at = at->offset;
        }
        gather_statements(parser, file, depth);
        parser->sources[file].is_open = false;
    }
    return true;
}

/* ---- Pass two: everything in the order of its lines, an include's where it is first included ---- */

static bool check_version(struct parser *parser, const struct statement *statement, bool is_first)
{
    struct policy_position position = position_of(statement->file, &statement->words[is_first], 0);
    const char *text;

    if (!is_first)
        return complain(parser, POLICY_FAULT_LATE_VERSION, &position,
                        "'policy' in the middle of a file; it is the first statement and stands once");
    if (has_replacement(parser, statement->file, &statement->words[1]))
        return complain(parser, POLICY_FAULT_REFUSED_REPLACEMENT, &position,
                        "a replacement cannot give the version; expected: policy 1");
    text = word_text(parser, statement->file, &statement->words[1]);
    if (text && strcmp(text, "1") != 0)
        return complain(parser, POLICY_FAULT_UNKNOWN_VERSION, &position,
                        "unknown version '%s' of the language; this build knows: policy 1", text);
    return text;
}

static void understand_file(struct parser *parser, size_t file);

static void understand_included(struct parser *parser, const struct statement *statement)
{
    uint32_t offset = statement->words[1].offset;
    size_t includer = statement->file;

    for (size_t i = 1; i < parser->file_count; i++)
        if (parser->sources[i].includer == includer && parser->sources[i].included_at == offset) {
            understand_file(parser, i);
            return;
        }
}

static void understand_statement(struct parser *parser, const struct statement *statement, bool is_first,
                                 bool follows_a_fault)
{
    const struct keyword *keyword = keyword_of(parser, statement);
    struct policy_position position = position_of(statement->file, &statement->words[0], 0);

    if (is_first && !follows_a_fault && (!keyword || keyword->kind != IS_POLICY))
        complain(parser, POLICY_FAULT_NO_VERSION, &position,
                 "the file does not begin with a version; its first statement is: policy 1");
    if (!keyword)
        say_unknown(parser, statement);
    else if (!has_form(keyword, statement))
        say_form(parser, keyword, statement);
    else if (keyword->kind == IS_POLICY)
        check_version(parser, statement, is_first);
    else if (keyword->kind == IS_INCLUDE)
        understand_included(parser, statement);
    else if (keyword->parse)
        keyword->parse(parser, statement);
}

static void understand_file(struct parser *parser, size_t file)
{
    struct policy_position beginning = {.file = (uint16_t)file, .line = 1};
    struct statement statement = {.file = (uint16_t)file};
    struct cursor cursor = {0};
    bool is_first = true;

    if (has_byte_order_mark(parser, file)) {
        complain(parser, POLICY_FAULT_BYTE_ORDER_MARK, &beginning,
                 "byte order mark; save the file as UTF-8 without one");
        return;
    }
    while (lex_statement(parser, &statement, &cursor)) {
        understand_statement(parser, &statement, is_first, cursor.has_fault);
        is_first = false;
    }
    if (is_first && !cursor.has_fault)
        complain(parser, POLICY_FAULT_NO_VERSION, &beginning, "no statement; a policy begins with: policy 1");
}

/* ---- The whole ---- */

static void keep(void *node)
{
    (void)node; /* the store owns it */
}

static void parse(struct parser *parser, const char *file, const struct policy_definition *definitions,
                  size_t count)
{
    const char *name = keep_text(parser, file, strlen(file));

    if (!name || !add_outside_definitions(parser, definitions, count) ||
        !gather_file(parser, name, 1, NULL, false))
        return;
    check_definitions(parser);
    understand_file(parser, 0);
    check_policy(parser);
}

/* Moves the files into the policy, which outlives the parser. */
static bool keep_files(struct parser *parser)
{
    struct policy_file *files = store_get(parser->policy->store, sizeof *files * (parser->file_count + 1));

    if (!files) {
        for (size_t i = 0; i < parser->file_count; i++)
            free(parser->sources[i].text);
        return out_of_memory(parser);
    }
    if (parser->file_count)
        memcpy(files, parser->files, sizeof *files * parser->file_count);
    parser->policy->files = files;
    parser->policy->file_count = parser->file_count;
    return true;
}

static void parser_free(struct parser *parser)
{
    tdestroy(parser->definition_tree, keep);
    tdestroy(parser->setting_tree, keep);
    free(parser->definitions);
    free(parser->words);
    free(parser->files);
    free(parser->sources);
    free(parser);
}

struct policy *policy_load(const char *file, const struct policy_definition *definitions,
                           size_t definition_count, policy_read_function *read, void *context,
                           struct policy_diagnostics *diagnostics)
{
    struct parser *parser = calloc(1, sizeof *parser);
    struct policy *policy = calloc(1, sizeof *policy);

    if (policy)
        policy->store = store_new();
    if (!parser || !policy || !policy->store) {
        diagnostics->out_of_memory = true;
        free(parser);
        policy_free(policy);
        return NULL;
    }
    parser->policy = policy;
    parser->diagnostics = diagnostics;
    parser->read = read ? read : policy_read_file;
    parser->read_context = context;
    parse(parser, file, definitions, definition_count);
    keep_files(parser);
    parser_free(parser);
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
