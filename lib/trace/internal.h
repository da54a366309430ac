/* Shared by the files of lib/trace, and by nobody else. */
#ifndef TRACE_INTERNAL_H
#define TRACE_INTERNAL_H

#include "trace/trace.h"

enum { ARGUMENTS = 6 };

/* A system call of a tracee (thread `tid`) that failed, in which it is still stopped. */
struct failed_call {
    const struct launch *launch;
    struct trace_report *report;
    pid_t tid;
    const char *name;
    uint64_t arguments[ARGUMENTS];
    int failure;
    unsigned long serial; /* each call has another */
    bool is_unread;       /* something of it could not be looked at */
    bool is_dropped;      /* it was denied something for which there is no room */
    bool is_out_of_memory;
};

/* ---- calls.c ---- */

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

/* The process that its pidfd stands for. 0: it is none. */
pid_t process_of_pidfd(pid_t tid, int fd);

/* Whether its socket is of that kind: SOCK_STREAM, SOCK_DGRAM. A socket that cannot be asked is taken for any. */
bool is_socket_of(pid_t tid, int fd, int kind);

/* Whether its socket has been given no port yet. One that cannot be asked is taken to have one. */
bool is_without_port(pid_t tid, int fd);

/* ---- denials.c ---- */

/* Adds what the policy denies of `rights` at a path that has no symbolic link in it. */
void deny_path(struct failed_call *call, policy_rights rights, const char *path);
void deny_port(struct failed_call *call, policy_rights right, uint16_t port);
void deny_scope(struct failed_call *call, policy_rights scope);

#endif
