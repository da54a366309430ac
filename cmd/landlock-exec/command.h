/* Shared by the files of this command. */
#ifndef LANDLOCK_EXEC_COMMAND_H
#define LANDLOCK_EXEC_COMMAND_H

#include "launch/launch.h"

/* What the command line says. */
struct options {
    struct launch_request request;
    bool is_dry_run, is_verbose, wants_help, wants_version;
};

/* Reads the command line. The arrays in options->request are malloc'd. 0, or -1 and `error`, which may hold a fault from before: then as much as
 * could be understood, the status descriptor above all, is in `options`. */
int read_options(int count, char **arguments, char **environment, struct options *options,
                 struct error *error);
void free_options(struct options *options);

/* What the administrator should know although the program runs. `number` from 0 on; NULL: no more. */
const char *warning(const struct options *options, const struct launch *launch, unsigned number);

/* One line of JSON. `event`: "starting", "would-start" or "refused"; `error`: of a refusal, else NULL. 0, or
 * -1 with errno. */
int write_status(int fd, const char *event, const struct options *options, const struct launch *launch,
                 const struct error *error);

/* The faults of a policy that was refused, a line each. */
void write_diagnostics(int fd, const struct policy_diagnostics *diagnostics) __attribute__((cold));

/* What is amiss with the container, where that is more than the refusal itself says: two lines each. */
void write_findings(int fd, const struct container_findings *findings) __attribute__((cold));

/* For --verbose, to standard error: what was read, and how it is enforced. */
void tell_preparation(const struct launch *launch) __attribute__((cold));
void tell_restriction(const struct launch *launch) __attribute__((cold));

/* For --dry-run: what would hold. */
void print_dry_run(FILE *out, const struct options *options, const struct launch *launch)
    __attribute__((cold));

#endif
