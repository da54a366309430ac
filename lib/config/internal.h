/* Shared by the files of lib/config, and by nobody else. */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "config/config.h"

#include <jansson.h>
#include <string.h>

/* ---- notes.c ---- */

void add_note(struct config_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- groups.c: the names of rights ---- */

/* Which of the three lists a name stands in: rights on files, network rights or scopes. */
extern const policy_rights config_fs, config_net, config_scoped;

/* The rights of a name in a list of `kind`; 0: it has no such name. *needs_abi: it is a group, whose rights are those of `abi`. */
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
};

struct variable *find_variable(const struct variables *variables, const char *name, size_t length);

/* NULL, or what is wrong with the name of a variable. */
const char *variable_name_fault(const char *name, size_t length);

/* Calls `take` with each path that `text` stands for. NULL, or what is wrong with it. */
typedef const char *take_path(void *context, const char *path);
const char *expand_template(const char *text, const struct variables *variables, take_path *take,
                            void *context);

#endif
