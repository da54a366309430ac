/*
 * From a checked policy to execve(2).
 *
 * The steps, in the order in which they must be taken; each may refuse, and after a refusal nothing may be run:
 *
 *     launch_guard_streams, launch_guard
 *                         the caller's descriptors; no privilege gained by executing the launcher itself
 *     launch_prepare      policy, ABI, rule paths, directory, private files, links, environment, arguments, program, container;
 *                         in parts: launch_prepare_domain, launch_prepare_program, launch_check_container
 *     launch_restrict     capabilities, no_new_privs, seccomp filter, Landlock, proof, private files
 *     launch_enter        directory, descriptors
 *     launch_execute      limits; becomes the program
 *
 * What was done can be read from `struct launch` in between; nothing is printed here.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "base/base.h"
#include "container/container.h"
#include "landlock/landlock.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

/* Why the program does not run, as error.code. */
enum launch_reason {
    LAUNCH_USAGE = 1,
    LAUNCH_SYSTEM,
    LAUNCH_DESCRIPTOR,
    LAUNCH_PRIVILEGED,
    LAUNCH_POLICY,
    LAUNCH_LANDLOCK_MISSING,
    LAUNCH_LANDLOCK_OLD_SECCOMP,
    LAUNCH_LANDLOCK_DISABLED,
    LAUNCH_LANDLOCK_BLOCKED,
    LAUNCH_LANDLOCK_NOT_ENFORCED,
    LAUNCH_LANDLOCK_FAILED,
    LAUNCH_REQUIREMENT,
    LAUNCH_PATH,
    LAUNCH_PRIVATE,
    LAUNCH_CONTAINER,
    LAUNCH_NOT_EXECUTABLE,
    LAUNCH_NOT_FOUND
};

/* One row of the table of reasons: its name in the status line and the exit status of the launcher. */
struct launch_reason_name {
    enum launch_reason reason;
    const char *name;
    int exit_status;
    const char *help;
};
extern const struct launch_reason_name launch_reason_table[];
extern const size_t launch_reason_count;

/* The row of a reason; that of LAUNCH_SYSTEM for an unknown code. */
const struct launch_reason_name *launch_reason(int code);

/* Why a launch would be refused: an error, and the place in the policy that it is about. */
struct launch_fault {
    enum launch_reason reason;
    struct policy_position position; /* line 0: of none */
    char *message, *hint; /* the message without that place; the hint empty where nothing can be done */
};

struct launch_faults {
    struct launch_fault *items;
    size_t count, capacity;
};

/* What the caller wants. All pointers are the caller's and stay valid until execution. */
struct launch_request {
    const char *policy_file;
    policy_read_function *read; /* NULL: policy_read_file() */
    void *read_context;
    const struct policy_definition *definitions;
    size_t definition_count;
    const int *pass_fds; /* left open for the program; all others above 2 are closed */
    size_t pass_fd_count;
    unsigned stand_ins;   /* of descriptors 0–2, bit by bit: those that the caller had closed */
    int status_fd;        /* -1: none. Only kept from being closed before execution */
    unsigned max_abi;     /* 0: the newest that this build knows */
    char *const *command; /* NULL-terminated; empty: the policy's `run` */
    char *const *environment;
    struct launch_faults *
        faults; /* NULL: the first fault ends the preparation. Else it is for looking at a policy, not for a launch:
                                     each fault is added, freed by the caller, and the preparation goes on without what is amiss */
    bool always_checks; /* the container, whatever the ABI */
};

/* An object of the file system, and what a rule grants on it and, for a directory, below it: also what this kernel cannot restrict. */
struct launch_grant {
    uint64_t device, inode, mount;
    policy_rights rights;
    const struct policy_path_rule *rule;
};

struct launch_private {
    const char *path;
    uint64_t device, inode;
    int fd; /* O_PATH */
};

/* A pipe that holds a private file's bytes, and the argument that stands for it. */
struct launch_pipe {
    int fd;
    char path[32]; /* /proc/self/fd/N */
};

enum launch_container { LAUNCH_CONTAINER_UNKNOWN, LAUNCH_CONTAINER_NOT_NEEDED, LAUNCH_CONTAINER_CHECKED };

/* A launch in progress. Zeroed by its owner at first; released with launch_free(). */
struct launch {
    const struct launch_request *request;
    struct policy *policy;
    struct policy_diagnostics diagnostics; /* of a policy that was refused */

    unsigned kernel_abi;   /* what the kernel announces; 0: not asked yet */
    unsigned abi;          /* what is used of it */
    policy_rights handled; /* restricted unless a rule grants it */
    policy_rights
        not_enforced; /* known to this build, not to this kernel; what the policy leaves out is not in it */
    policy_rights not_granted; /* the policy grants it, this kernel cannot */
    bool scopes_are_broken;    /* the kernel announces scopes and refuses them */

    int ruleset;
    struct launch_grant *grants;
    size_t grant_count, grant_capacity;
    struct policy_path *skipped; /* `-PATH` that were missing */
    size_t skipped_count, skipped_capacity;
    struct launch_private *privates;
    size_t private_count;

    int directory; /* O_PATH; AT_FDCWD: the caller's */
    char **arguments;
    struct launch_pipe *pipes; /* read ends, kept open for the program */
    size_t pipe_count;
    char **environment;
    char *program; /* the path to be executed */
    enum launch_container container;
    struct container_expectation expectation; /* its texts are the policy's, or constants */
    struct container_findings findings;       /* why the container is refused */
    const struct landlock_attempt *proof;     /* NULL: the policy denies nothing that could be tried */
    bool is_terminal;                         /* a descriptor of the program is a terminal */
    bool is_root;                             /* UID 0 of the initial user namespace */
};

/* Gives this process a working directory, umask and descriptors of its own, where its caller shares them with it (clone(2): CLONE_FS,
 * CLONE_FILES; execve(2) ends only the second). A caller that does so must not let a seccomp filter refuse unshare(2): that is no
 * error here, since Docker's always does. 0, or -1 and `error`. */
int launch_stand_alone(struct error *error);

/* Opens what is closed of descriptors 0–2 on /dev/null, and sets those bits of *stand_ins. Call it before anything else opens a
 * descriptor. 0, or -1 and `error`. */
int launch_guard_streams(unsigned *stand_ins, struct error *error);

/* Refuses a descriptor to pass that is not open or is the status descriptor, a status descriptor that cannot be written, and a
 * launcher that is set-uid, set-gid or has file capabilities (getauxval(3): AT_SECURE, and the file AT_EXECFN). Call it before
 * anything opens a descriptor, so that none is taken for the caller's. 0, or -1 and `error`. */
int launch_guard(const struct launch_request *request, struct error *error);

/* Reads and resolves everything, builds the ruleset, finds the program and, where it must be, has the container checked by a child
 * process, which has ended or was killed when this returns; restricts nothing. Where the policy has faults, launch->diagnostics has
 * them all; where the container has, launch->findings. 0, or -1 and `error`. */
int launch_prepare(struct launch *launch, const struct launch_request *request, struct error *error);

/* The parts of launch_prepare(), in their order: the policy, and what it says of Landlock and of paths; then the environment, the
 * arguments and the program; then the container, where it must be checked. Where request->faults collects, only a policy that
 * cannot be read and a failing system stop them; on a kernel without Landlock there is no ruleset then, kernel_abi is 0, and what is
 * prepared is what request->max_abi would enforce. 0, or -1 and `error`. */
int launch_prepare_domain(struct launch *launch, const struct launch_request *request, struct error *error);
int launch_prepare_program(struct launch *launch, struct error *error);
int launch_check_container(struct launch *launch, struct error *error);

/* The fault about what stands at `position`, or NULL. */
const struct launch_fault *launch_fault_at(const struct launch_faults *faults,
                                           const struct policy_position *position);

/* Whether the container must be checked for a launch: on an ABI that cannot stop truncation, or because the policy says always. */
bool launch_needs_container(const struct launch *launch);

void launch_faults_free(struct launch_faults *faults);

/* Sets launch->proof to an attempt that the rules deny and that, tried now, succeeds; NULL: there is none. 0, or -1 and `error`
 * where one could not be tried. */
int launch_choose_proof(struct launch *launch, struct error *error);

/* Restricts this process. After a failure the process may be restricted in part: it can only end. 0, or -1
 * and `error`. */
int launch_restrict(struct launch *launch, struct error *error);

/* Sets what the program inherits; afterwards only what is needed for execution and for telling of its failure
 * is left open. 0, or -1 and `error`. */
int launch_enter(struct launch *launch, struct error *error);

/* Lowers the limits and becomes the program. Returns only on failure: -1 and `error`, LAUNCH_NOT_FOUND, LAUNCH_NOT_EXECUTABLE, or
 * LAUNCH_SYSTEM where a limit cannot be lowered. */
int launch_execute(struct launch *launch, struct error *error);

void launch_free(struct launch *launch);

/* Whether the rules grant `rights` on the object at an absolute path (shorter than PATH_MAX) without symbolic links: asked of the
 * path and each directory above it, as Landlock walks them. For telling beforehand; only the kernel's own
 * answer counts. */
bool launch_grants(const struct launch *launch, const char *path, policy_rights rights);

/* The grant by which the rules give one right there, of the path itself or the nearest directory above it; whether this kernel can
 * restrict it or not. NULL: none. */
const struct launch_grant *launch_granting(const struct launch *launch, const char *path,
                                           policy_rights right);

/* What execve(2) opens beside `program` (absolute): its ELF loader, or a script's interpreter, as the file names it; to be freed. NULL:
 * nothing, or it cannot be read, with errno 0; or memory ran out, ENOMEM. */
char *launch_interpreter_of(const char *program);

/* What a launch meets only without capabilities, which it drops: whether the program's directory may be entered and the program
 * executed. For telling beforehand, after launch_prepare_program(). 0, or -1 and `error`. */
int launch_check_unprivileged(struct launch *launch, struct error *error);

/* Drops the capabilities as launch_restrict() does, for attempts without the restriction. 0, or -1 and `error`. */
int launch_drop_capabilities(struct error *error);

#endif
