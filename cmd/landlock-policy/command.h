/* Shared by the files of this command. */
#ifndef LANDLOCK_POLICY_COMMAND_H
#define LANDLOCK_POLICY_COMMAND_H

#include "launch/launch.h"
#include "table.h"
#include "json/json.h"

/* Exit status. */
enum { FINE = 0, FINDINGS = 1, FAILED = 2 };

/* What the command line says. The arrays are malloc'd. */
struct options {
    struct command_line line;
    struct launch_request request; /* policy_file: the first operand, where there is one */
    const char **ignored;          /* lists of codes */
    size_t ignored_count;
    const char *output, *report; /* of trace; NULL: none */
    unsigned runs;               /* of trace, at most */
    bool gathers;
    bool is_json;
};

/* 0, or -1 and `error`. */
int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error);
void free_options(struct options *options);

/* ---- The subcommands: each returns the exit status; -1: `error` says why it could not do its work ---- */

int check(const struct options *options, struct error *error);
int show(const struct options *options, struct error *error);
int why(const struct options *options, struct error *error);
int test(const struct options *options, struct error *error);
int probe(const struct options *options, struct error *error);
int trace(const struct options *options,
          struct error *error); /* FINE or the program's; does not return where a signal ended that */

int import(const struct options *options, struct error *error);
int export(const struct options *options, struct error *error);

/* ---- prepare.c: a policy, looked at ---- */

/* A launch that is prepared as far as the subcommand needs, and the faults that it would be refused for. */
struct look {
    struct launch launch;
    struct launch_request request;
    struct launch_faults faults;
};

/* Prepares the domain with all faults gathered. -1: the policy cannot be read; its diagnostics are in look->launch. Whatever happened,
 * `look` is to be freed. */
int look_at_policy(struct look *look, const struct options *options, const char *file, bool always_checks,
                   struct error *error);
void look_free(struct look *look);

/* Of rights that are asked of a path, what fits the kind of file that is there, as an allow statement takes of a group; all of them
 * where none fits, where there is no such file, and for a port (`path` NULL). */
policy_rights fitting_rights(policy_rights rights, const char *path);

/* The faults of a policy that a subcommand other than check cannot go on without, on standard error. */
void say_diagnostics(const struct policy_diagnostics *diagnostics);

/* ---- text.c: answers for people ---- */

enum colour { PLAIN, RED, GREEN, YELLOW, BOLD };

/* Writes `text`, made safe for a terminal; in colour where standard output is one and NO_COLOR is not set. */
void put_text(const char *text);
void put_coloured(enum colour colour, const char *text);

/* Writes `text` and blanks up to `width` characters; what is longer stays whole. */
void put_column(const char *text, size_t width);

/* A line: a label in a column of its own, and a text. */
enum { LABEL_WIDTH = 14 };
void put_fact(const char *label, const char *text);

/* A line of its own below an answer: why it is so, or what to do. */
void put_reason(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "FILE:LINE:COLUMN" of a position; to be freed. NULL: out of memory. */
char *position_text(const struct policy *policy, const struct policy_position *position);

/* ---- json.c: answers for programs ---- */

json_t *json_rights(policy_rights rights);
json_t *json_ports(uint16_t first, uint16_t last);
/* Adds file, line and column to an object; null where there is no position. */
void json_add_position(json_t *object, const struct policy *policy, const struct policy_position *position);
/* {"kernel", "used"}; kernel null: there is no Landlock, and the answer is for the ABI that is used. */
json_t *json_abi(const struct launch *launch);
/* Writes a document, which is released. 0, or -1 and `error`. */
int put_json(json_t *document, struct error *error);

#endif
