/* Shared by the files of lib/config, and by nobody else. */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "config/config.h"

#include <jansson.h>
#include <string.h>

/* ---- notes.c ---- */

void add_note(struct config_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- groups.c: the names of rights ---- */

/* The rights of a name in a list of `kind` (POLICY_ALL_FS, POLICY_ALL_NET or POLICY_ALL_SCOPES); 0: it has no such name. *is_group:
 * its rights are those of `abi`. */
policy_rights rights_of_name(const char *name, policy_rights kind, unsigned abi, bool *is_group);

/* ---- template.c: paths with variables ---- */

struct variable {
    const char *name;
    const char **values;
    size_t count, capacity;
};

struct variables {
    struct variable *items;
    size_t count, capacity;
    size_t expanded; /* values that were put into templates so far: CONFIG_MAX_PATHS at most */
};

struct variable *find_variable(const struct variables *variables, const char *name, size_t length);

/* NULL, or what is wrong with the name of a variable. */
const char *variable_name_fault(const char *name, size_t length);

/* Calls `take` with each path that `text` stands for. NULL, or what is wrong with it. */
typedef const char *take_path(void *context, const char *path);
const char *expand_template(const char *text, struct variables *variables, take_path *take, void *context);

/* ---- rules.c: what is allowed, each path and port once ---- */

struct path_rule {
    char *path;
    policy_rights rights;
};

struct rules {
    struct path_rule *paths;
    size_t count, capacity;
    policy_rights *ports; /* of each; NULL: of none */
};

/* 0, or -1 and ENOMEM. The path is copied. */
int rules_add_path(struct rules *rules, const char *path, policy_rights rights);
int rules_add_ports(struct rules *rules, uint16_t first, uint16_t last, policy_rights rights);

/* Sorts the paths, and makes of those that are the same one with the rights of all. */
void rules_sort(struct rules *rules);

/* The next range of ports, from *first on, that have the same rights. False: there is none. */
bool rules_next_ports(const struct rules *rules, unsigned *first, unsigned *last);
void rules_free(struct rules *rules);

#endif
