/* Shared by the files of lib/trace, and by nobody else. */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "trace/trace.h"

enum { ARGUMENTS = 6 };

/* A system call of a tracee (thread `tid`) that failed, in which it is still stopped. */
struct failed_call {
    const struct launch *launch;
    const struct trace_guards *guards;
    struct trace_report *report;
    pid_t tid;
    const char *name;
    uint64_t arguments[ARGUMENTS];
    int failure;
    unsigned long serial; /* each call has another */
    bool is_unread;       /* something of it could not be looked at */
    bool is_dropped;      /* it was denied something for which there is no room */
    bool has_looked;      /* at the guards, by which `disturbed` is known */
    const struct policy_position
        *disturbed; /* the statement about a guard that is not as before; NULL: none */
    bool is_out_of_memory;
};

/* ---- table.c: who is watched ---- */

struct tracee {
    pid_t tid; /* 0: a free place */
    bool is_in_call, is_foreign;
    bool is_released;  /* is to be let go when it stops */
    pid_t waits_to_be; /* the thread that is held until then, since it will watch this one; 0: none */
    time_t held;       /* since when, on the monotonic clock */
    uint64_t number, arguments[ARGUMENTS];
};

/* A hash table; zeroed: empty. What is pointed to moves when another is taken or dropped. */
struct tracees {
    struct tracee *items;
    size_t count, capacity; /* a power of two */
};

/* NULL: it is not watched. */
struct tracee *find_tracee(const struct tracees *tracees, pid_t tid);
/* NULL: memory ran out. */
struct tracee *take_tracee(struct tracees *tracees, pid_t tid);
void drop_tracee(struct tracees *tracees, struct tracee *tracee);

/* ---- guards.c ---- */

/* The statement about what is not where it was any more, or has got more names; NULL: none. */
const struct policy_position *disturbed_guard(const struct trace_guards *guards);

/* The statement about what lies below a directory: who may move names there can give it another one. NULL: none. */
const struct policy_position *guard_within(const struct trace_guards *guards, const char *directory);

/* ---- calls.c ---- */

/* Whether Landlock lets some call fail so. */
bool may_be_landlocks(int failure);

/* Looks at a call that has failed and adds what was denied; one that Landlock has no part in adds nothing. */
void examine_call(struct failed_call *call, uint64_t number);

/* ---- tracee.c: what a stopped tracee sees ---- */

/* ptrace(2), as the kernel has it. */
long ptrace_call(int request, pid_t tid, uintptr_t address, uintptr_t data);

/* Copies `size` bytes of its memory. False: it cannot be read. */
bool read_memory(pid_t tid, uint64_t address, void *bytes, size_t size);

/* A NUL-terminated text there, of less than PATH_MAX bytes. False: it cannot be read, or is longer. */
bool read_path(pid_t tid, uint64_t address, char path[static PATH_MAX]);

/* How a path is followed. */
enum {
    FOLLOWS = 1,     /* the last component, too */
    IN_DIRECTORY = 2 /* which is the root: openat2(2), RESOLVE_IN_ROOT */
};

/* Where `path` leads that the tracee names, from `directory` on (a descriptor of its, or AT_FDCWD): absolute, without symbolic links
 * but for the last component, if that is not followed. What is missing of it stays as it is. False: it leads to what has no name. */
bool resolve_path(pid_t tid, int directory, const char *path, int how, char real[static PATH_MAX]);

/* What its descriptor is open on. False: it has no name. */
bool path_of_descriptor(pid_t tid, int fd, char real[static PATH_MAX]);
bool status_of_descriptor(pid_t tid, int fd, struct stat *status);

/* The path of its executable. False: it cannot be told. */
bool program_of(pid_t tid, char path[static PATH_MAX]);

/* Its process. 0: it cannot be told. */
pid_t process_of(pid_t tid);

/* Whether it is dead and waits to be waited for: it does not stop any more. */
bool is_dead(pid_t tid);

/* Whether process IDs that it names are ours. */
bool has_our_process_ids(pid_t tid);

/* Whether the thread has this ID where `tid` names it. */
bool is_called(pid_t thread, pid_t tid, pid_t id);

/* The process that its pidfd stands for. 0: it is none. */
pid_t process_of_pidfd(pid_t tid, int fd);

/* Whether its socket is of that kind: SOCK_STREAM, SOCK_DGRAM. A socket that cannot be asked is taken for any. */
bool is_socket_of(pid_t tid, int fd, int kind);

/* Whether its socket has been given no port yet. One that cannot be asked is taken to have one. */
bool is_without_port(pid_t tid, int fd);

/* ---- denials.c ---- */

/* Rights that a call needs at a path that has no symbolic link in it. */
struct want {
    policy_rights rights;
    const char *path;
};

/* Whether there are more directories in a path than is reasonable to look at, each more than once. */
bool is_deep(const char *path);

/* Adds what the policy denies of them. */
void deny_paths(struct failed_call *call, const struct want *wants, size_t count);
void deny_path(struct failed_call *call, policy_rights rights, const char *path);
void deny_port(struct failed_call *call, policy_rights right, uint16_t port);
void deny_scope(struct failed_call *call, policy_rights scope);

#endif
