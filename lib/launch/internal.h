/* Shared by the files of lib/launch, and by nobody else. */
#ifndef LAUNCH_INTERNAL_H
#define LAUNCH_INTERNAL_H

#include "launch/launch.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- object.c ---- */

/* What an open descriptor, O_PATH included, leads to: statx(2). */
struct object {
    uint64_t device, inode;
    uint64_t mount; /* as in /proc/self/mountinfo; 0: the kernel does not tell */
    bool is_mount_root;
    uid_t uid;
    mode_t mode;
    uint32_t links;
};

/* 0, or -1 with errno. */
int object_of(int fd, struct object *object);

/* ---- mounts.c: /proc/self/mountinfo (proc(5)) ---- */

/* A line of it, its texts unescaped. */
struct mount {
    uint64_t id, parent, device;
    char *root, *point; /* the directory of the file system that is mounted, and where */
};

struct mounts {
    char *text;
    struct mount *items;
    size_t count, capacity;
};

/* A file by its path within its file system, whatever mount it is reached through. */
struct place {
    uint64_t device; /* as mountinfo has it, which need not be st_dev */
    char *path;      /* to be freed */
    bool is_listed;  /* its mount is in mountinfo; links.c also has places of which it is not */
};

struct walker;

/* Read when first asked for, and kept by the walker. NULL: errno. */
const struct mounts *mounts_of(struct walker *walker);
void mounts_free(struct mounts *mounts);
/* Sets LAUNCH_SYSTEM: "what: /proc/self/mountinfo: strerror(errno)". Returns -1. */
int say_no_mounts(struct error *error, const char *what) __attribute__((cold));
/* NULL: not listed, as the mount of a chroot's root is not. */
const struct mount *find_mount(const struct mounts *mounts, uint64_t id);
/* Where `path`, reached in mount `id`, lies in its file system. 1; 0 where that cannot be told; -1 when memory ran out. */
int place_of(const struct mounts *mounts, uint64_t id, const char *path, struct place *place);

/* ---- walk.c, links.c: the paths of a policy, opened as if an attacker had prepared them ---- */

/* A directory that was walked through to reach a symbolic link that was followed. */
struct walked {
    uint64_t device, inode;
};

/* A symbolic link that was followed. */
struct followed {
    const char *path; /* the policy's path on which it was met */
    const struct policy_position *position;
    char *directory;        /* the directory that holds it, by its real path */
    uint64_t device, mount; /* of that directory */
    size_t first, last;     /* walker.walked[first..last): walked through since the link before it */
};

/* A directory in which the policy lets the program create. */
struct creatable {
    uint64_t device, inode, mount;
    const char *path; /* as it was found: no link in it */
};

struct walker {
    struct walked *walked;
    size_t walked_count, walked_capacity;
    struct followed *followed;
    size_t followed_count, followed_capacity;
    struct creatable *creatable;
    size_t creatable_count, creatable_capacity;
    char **texts;
    size_t text_count, text_capacity;
    struct mounts *mounts;
    struct walk *walk; /* room for a careful walk, kept for the next one */
    const char *real;  /* of the path opened last, where it crossed a link; else NULL: the path itself */
    const struct policy_position
        *position;  /* of the path that is opened or checked; NULL: the policy does not name it */
    size_t checked; /* followed[0..checked) */
};

/* Opens `path` with O_PATH and O_CLOEXEC. A symbolic link is followed only if the directory that holds it, and each one
 * walked through to reach it, is root's and nobody else's to write. `error` is empty. -1: after a refusal `error` is set; else it is
 * still empty, and errno tells what failed (ENOENT and ENOTDIR: missing). */
int walk_open(struct walker *walker, const char *path, struct error *error);

/* Notes that the policy lets the program create in `object`, which `path` has just been opened as. 0, or -1 with errno. */
int walk_note_creatable(struct walker *walker, const struct object *object, const char *path);

/* Once all of a policy's paths are open: no link that was followed lies at or below a directory in which the program may
 * create, by whatever mount either was reached. 0, or -1 and `error`: then walker->position is that of the path, and the rest is
 * checked when it is called again. */
int walk_check(struct walker *walker, struct error *error);

void walk_free(struct walker *walker);

/* ---- The steps of launch_prepare ---- */

int prepare_landlock(struct launch *launch, struct error *error);
int prepare_rules(struct launch *launch, struct walker *walker, struct error *error);
int prepare_privates(struct launch *launch, struct walker *walker, struct error *error);
int prepare_directory(struct launch *launch, struct walker *walker, struct error *error);
int prepare_environment(struct launch *launch, struct error *error);
int prepare_arguments(struct launch *launch, struct error *error);
int prepare_program(struct launch *launch, struct error *error);

/* ---- container.c, helper.c ---- */

/* Where the container must be checked: opens the paths by which the policy describes it, and notes what the program has without
 * opening it. 0, or -1 and `error` (LAUNCH_CONTAINER where the policy describes none). */
int prepare_container(struct launch *launch, struct walker *walker, struct error *error);

/* What the helper said, and how it ended. */
struct helper_answer {
    char *bytes; /* of its standard output; to be freed */
    size_t size;
    int status;           /* as of waitpid(2) */
    char complaint[1024]; /* the beginning of its standard error */
};

/* Runs the helper with `arguments` and nothing of the caller's: an empty environment, no descriptor but its standard ones. A helper
 * that is missing, others could have written, or that does not end in time is an error (LAUNCH_CONTAINER); it is killed then, and
 * waited for unless the kernel does not let it end. 0, or -1 and `error`; whatever happened, answer->bytes is to be freed. */
int run_helper(char *const *arguments, struct helper_answer *answer, struct error *error);

/* ---- program.c, interpreter.c ---- */

/* Whether execve(2) will be allowed what it needs on `path`, seen from the program's working directory; `role` says for a hint
 * what it is. What cannot be told is taken for yes: the kernel decides. 0, or -1 and `error`. */
int check_executable(const struct launch *launch, const char *path, const char *role, struct error *error);

/* Sets `error`: the program's working directory cannot be entered, for errno. Returns -1. */
int say_directory(const struct launch *launch, struct error *error) __attribute__((cold));

/* Likewise for the program's ELF loader, or a script's interpreter and what that needs in turn. */
int check_interpreters(const struct launch *launch, struct error *error);

/* ---- descriptors.c ---- */

int guard_descriptors(const struct launch_request *request, struct error *error);
bool has_terminal(const struct launch_request *request);

/* ---- The steps of launch_restrict and launch_enter ---- */

bool is_root_of_the_initial_namespace(void);
/* filter.c: whether this launch leaves a way around what it restricts that a seccomp filter must close, and setting it, which needs
 * no_new_privs. 0, or -1 and `error`. */
bool needs_filter(const struct launch *launch);
int set_filter(const struct launch *launch, struct error *error);
int check_privates(const struct launch *launch, struct error *error);
int set_limits(const struct policy *policy, struct error *error);
int pass_descriptors(const struct launch *launch, struct error *error);

/* ---- faults.c ---- */

/* Where the request collects faults, and it is none of the system's: adds `error`, which is about what stands at `position` (NULL: at
 * none), empties it and returns 0. Else -1, and `error`. */
int fault(const struct launch *launch, const struct policy_position *position, struct error *error)
    __attribute__((cold));

/* ---- Small things ---- */

/* Whether the policy lets the program do all of `rights` at an absolute path without symbolic links, whether this kernel can
 * restrict them or not: 1 or 0. -1 and errno: what was found does not let it, and not all on the way could be looked at. */
int policy_grants(const struct launch *launch, const char *path, policy_rights rights);

/* What the rules grant on an object itself. */
policy_rights granted_on(const struct launch *launch, uint64_t device, uint64_t inode);

/* walk_open() for a path that must be there: whatever goes wrong is an error at its position. -1: `error`. */
int open_named(const struct launch *launch, struct walker *walker, const char *path,
               const struct policy_position *position, struct error *error);

/* The hint for a `failure`, an errno, that is want of descriptors; none for another. Returns -1. */
int hint_at_descriptors(struct error *error, int failure) __attribute__((cold));

/* Sets LAUNCH_SYSTEM: "what: strerror(errno)". Returns -1. */
int system_error(struct error *error, const char *what) __attribute__((cold));

/* Sets `error`, its message beginning with where in the policy it is ("FILE:LINE:COLUMN: "). Returns -1. */
int policy_error(struct error *error, int code, const struct launch *launch,
                 const struct policy_position *position, const char *format, ...)
    __attribute__((cold, format(printf, 5, 6)));

/* The real path of an open descriptor, by /proc; to be freed. NULL: errno. */
char *path_of_fd(int fd);

#endif
