/*
 * The configuration format of the Landlock project's landlockconfig, in JSON, from and to the policy language.
 *
 * What it says (its JSON schema, and what its library makes of it):
 *
 *   abi          the Landlock ABI that the groups abi.all, abi.read_execute and abi.read_write stand for
 *   variable     names with any number of values; ${NAME} in a path stands for each of them, $$ for $
 *   ruleset      what is handled: handledAccessFs, handledAccessNet, scoped; to which what the rules name is added
 *   pathBeneath  allowedAccess on each parent; a parent that is missing is passed over
 *   netPort      allowedAccess on each port
 *
 * It restricts only what it lists, whereas a policy restricts everything. So what a configuration does not handle is left
 * `unrestricted` by its policy or, where the language has that for no such right, allowed on `/`, which to the kernel is the same.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "policy/policy.h"

enum {
    CONFIG_NEWEST_ABI = 6,             /* whose names the format has */
    CONFIG_MAX_SIZE = 8 * 1024 * 1024, /* bytes of a configuration */
    CONFIG_MAX_VARIABLES = 1000,
    CONFIG_MAX_PATHS = 100000, /* that variables expand to, in all */
    CONFIG_MAX_NOTES = 1000    /* others are counted */
};

/* What the other language cannot say, or the configuration's faults: one text each, which may hold names that an attacker chose. */
struct config_notes {
    char **items;
    size_t count, capacity;
    size_t dropped; /* beyond CONFIG_MAX_NOTES */
    bool is_out_of_memory;
};

void config_notes_free(struct config_notes *notes);

/* Writes the policy that a configuration amounts to. `text`: of `size` bytes. 0, with a note of each thing that no policy can say, which
 * is left out: the policy is never wider than the configuration. -1: it is none, and `notes` tells all that is wrong with it; nothing
 * was written. */
int config_import(const char *text, size_t size, FILE *out, struct config_notes *notes);

/* Writes the configuration that a policy amounts to. 0, with a note of each thing that no configuration can say, which is left out: then
 * the configuration may be wider. -1: memory ran out. */
int config_export(const struct policy *policy, FILE *out, struct config_notes *notes);

#endif
