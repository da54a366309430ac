/*
 * Shared by the files of lib/policy, and by nobody else. A policy is read in two passes: the first (load.c,
 * with lex.c) cuts every file into statements and gathers the definitions, the second (statements.c) replaces
 * and understands.
 */
#ifndef POLICY_INTERNAL_H
#define POLICY_INTERNAL_H

#include "base/base.h"
#include "policy/policy.h"

/* ---- Memory that lives as long as the policy ---- */

struct policy_store;

struct policy_store *store_new(void);
void store_free(struct policy_store *store);
/* `size` bytes, aligned for anything; NULL when memory ran out. */
void *store_get(struct policy_store *store, size_t size);

/* ---- What pass one leaves for pass two ---- */

struct slice {
    const char *text;
    size_t length;
};

/* A word as it stands in the source. */
struct word {
    uint32_t offset;
    uint32_t length : 31;
    uint32_t is_plain : 1; /* no quote, escape or replacement: the source is the value */
    uint32_t line;
    uint32_t line_start;
};

/* The words are those of the parser, and hold until the next statement is cut. */
struct statement {
    uint16_t file;
    uint32_t count; /* the keyword included */
    const struct word *words;
};

/* Who gave a value that may be given once a file: an including file's beats an included one's. */
struct slot {
    const char *what;
    uint64_t files; /* bit i: files[i] gave one */
    uint16_t winner;
    struct policy_position position; /* the winner's */
};

enum definition_state { DEFINITION_RAW, DEFINITION_IN_USE, DEFINITION_KNOWN, DEFINITION_BROKEN };

struct definition {
    const char *name;
    struct slot slot;
    struct word word; /* the winner's VALUE, in files[slot.winner] */
    bool is_from_outside;
    enum definition_state state;
    struct slice value;
};

enum { NAME_SIZE = 64 }; /* of a definition or an environment variable, with its NUL */

enum single {
    SINGLE_RUN,
    SINGLE_DIRECTORY,
    SINGLE_AUDIT,
    SINGLE_CHECK,
    SINGLE_UID,
    SINGLE_CAPABILITIES,
    SINGLE_LIMIT, /* and one for each resource */
    SINGLE_COUNT = SINGLE_LIMIT + RLIM_NLIMITS
};

/* What reading one file needs to know of it, beside what the policy keeps. */
struct source {
    char *text;
    uint64_t device, inode;
    bool is_open;    /* being read: including it again is a cycle */
    size_t includer; /* the file, and the offset of the word there, where it was first included */
    uint32_t included_at;
};

struct parser {
    struct policy *policy;
    struct policy_diagnostics *diagnostics;
    policy_read_function *read;
    void *read_context;

    struct policy_file *files;
    struct source *sources; /* of the same length */
    size_t file_count, file_capacity, source_capacity;
    size_t total_size; /* of all that was read, a file included twice counted twice */

    struct word *words; /* of the present statement */
    size_t word_count, word_capacity;

    struct definition **definitions;
    size_t definition_count, definition_capacity;
    void *definition_tree;     /* tsearch(3), by name */
    unsigned definition_depth; /* of definitions being resolved, one needing the next */
    size_t replaced;           /* bytes that replacements inserted */

    size_t path_rule_capacity, port_rule_capacity, private_capacity, kept_capacity, setting_capacity;
    size_t read_only_capacity, writable_capacity, expectation_capacity, requirement_capacity;
    void *setting_tree; /* tsearch(3), by name: the later assignment holds */
    struct slot singles[SINGLE_COUNT];
    bool has_read_only, has_container;
    struct policy_position container_position;

    /* where the last diagnostic's column was counted to, so that many in one line cost no more than one pass
     * over it */
    uint16_t counted_file;
    uint32_t counted_line_start, counted_offset;
    size_t counted_column;
};

/* ---- diagnostics.c ---- */

/* Records a fault. Returns false, so that `return complain(…)` reads well. */
bool complain(struct parser *parser, enum policy_fault fault, const struct policy_position *position,
              const char *format, ...) __attribute__((cold, format(printf, 4, 5)));
/* Likewise where there is no line: for the policy's file, which cannot be read, or for a definition from
 * outside (file: NULL). */
bool complain_of_file(struct parser *parser, enum policy_fault fault, const char *file,
                      const char *definition, const char *format, ...)
    __attribute__((cold, format(printf, 5, 6)));
bool out_of_memory(struct parser *parser) __attribute__((cold));
void diagnostics_sort(struct policy_diagnostics *diagnostics);
/* " (did you mean 'x'?)" in `out`, or nothing: where none is near, or so many faults were found that this one
 * will not be shown. */
void suggest(const struct parser *parser, char out[static NAME_SIZE + 32], const char *word, size_t count,
             const char *(*name_at)(size_t, const void *), const void *context);

/* ---- store.c, too ---- */

/* A copy with its NUL, as long-lived as the policy. NULL: out of memory, recorded. */
char *keep_text(struct parser *parser, const char *text, size_t length);

/* ---- lex.c ---- */

/* Where the next statement is looked for; zeroed at first. */
struct cursor {
    uint32_t offset, line, line_start;
    bool is_silent; /* faults are passed over without a word */
    bool has_fault; /* one was met */
};

/* Cuts the next statement of files[statement->file] into words; the cursor moves past it. Lines without a statement, and
 * statements with a fault, are passed over. False at the end of the file. */
bool lex_statement(struct parser *parser, struct statement *statement, struct cursor *cursor);

/* Where a word stands, `skip` bytes into it. */
struct policy_position position_of(size_t file, const struct word *word, uint32_t skip);

/*
 * The value of files[file]'s `word` from its source byte *from on, up to the first `stop` ('\0': none) that
 * stands in the source unescaped, or to the end. *from moves past what was taken and the stop; it is
 * word->length + 1 where no stop was met. The text ends in NUL where `stop` is '\0'. False: a fault was
 * recorded.
 */
bool word_value(struct parser *parser, size_t file, const struct word *word, uint32_t *from, char stop,
                struct slice *value);
/* Whether it begins with '-' in the source, a quote before it or not: what it names may be missing. */
bool word_is_optional(const struct parser *parser, size_t file, const struct word *word);
/* The whole value, with its NUL. NULL: a fault was recorded. */
const char *word_text(struct parser *parser, size_t file, const struct word *word);

/* [A-Za-z_][A-Za-z0-9_]*, shorter than NAME_SIZE */
bool is_name(const char *text, size_t length);

/* ---- definitions.c ---- */

/* The definition's value with its own replacements made; false: a fault was recorded. `position`: where it is
 * used. */
bool definition_value(struct parser *parser, const char *name, const struct policy_position *position,
                      struct slice *value);
/* Whether a value given by `position` is, so far, the one that holds; a second one in a file is recorded as a
 * fault. */
bool claim(struct parser *parser, struct slot *slot, const char *what,
           const struct policy_position *position);
/* Records a fault where no file that gave the value includes all the others that did. */
bool check_claims(struct parser *parser, const struct slot *slot);
/* Those from outside, which hold whatever the policy says; to be called first. */
bool add_outside_definitions(struct parser *parser, const struct policy_definition *definitions,
                             size_t count);
/* The statement `define`. */
bool define(struct parser *parser, const struct statement *statement);
/* Records those from outside that the policy does not know, and those that files disagree on. */
void check_definitions(struct parser *parser);

/* ---- tables.c ---- */

/* The names of all rights, then of all groups, for suggest() and text_nearest(). */
const char *right_name(size_t i, const void *context);

/* ---- statements.c ---- */

enum keyword_kind { IS_ORDINARY, IS_POLICY, IS_INCLUDE, IS_DEFINE };

struct keyword {
    const char *name;
    const char *form;     /* for messages */
    uint32_t least, most; /* words after the keyword */
    enum keyword_kind kind;
    bool (*parse)(struct parser *parser, const struct statement *statement); /* NULL: load.c does it */
};
extern const struct keyword keyword_table[];
extern const size_t keyword_count;

/* What can only be told once all is read. */
bool check_policy(struct parser *parser);

#endif
