/*
 * What the parts of the injector share: injector.c launches and watches, fault.c puts the fault in, memory.c refuses
 * allocations, registers.c knows the processor.
 */
#ifndef INJECTOR_H
#define INJECTOR_H

#include <linux/ptrace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FIRST_OWN = 100, MOST_PROCESSES = 32 };
enum stream { OUT, ERROR, STATUS, REPORT, STREAMS };
enum kind { NONE, RECORD, ERRNO, LIE, SHORT, SIGNAL, LAST_OF_CALLS = SIGNAL, LIMIT, MEMORY };

enum { ALLOCATORS = 3, MOST_BREAKPOINTS = ALLOCATORS + 1 };

/* Where malloc(3), calloc(3) and realloc(3) are in the file that has them. */
struct allocators {
    const char *file;
    uint64_t offsets[ALLOCATORS];
};

/* What all launches have in common. */
struct scene {
    char **command, **environment;
    int terminal_count; /* so many descriptors from 0 on are a terminal */
    unsigned seconds;   /* for one launch */
    int reading[STREAMS], writing[STREAMS];
    int tcp, local; /* that listen */
    char port[16], pid[16], abstract[64];
    struct allocators allocators;
};

/* One fault. */
struct plan {
    int process;
    unsigned call;
    enum kind kind;
    long value;
    long number; /* of the system call; -1: any */
};

enum step { BEFORE, AT_EXIT, DONE };

struct breakpoint {
    uint64_t address;
    long original; /* the word that stood there */
    unsigned what; /* an index into the allocating functions */
};

struct process {
    pid_t pid;
    bool is_started, is_program, in_call;
    unsigned calls, execs;
    enum step step;
    uint64_t number, arguments[6];
    struct breakpoint breakpoints[MOST_BREAKPOINTS];
    size_t breakpoint_count;
    struct breakpoint *stepped_over;
};

struct call {
    int process;
    uint64_t number;
    long result;
};

/* One launch. */
struct run {
    struct plan plan;
    struct process processes[MOST_PROCESSES];
    size_t process_count;
    long hit; /* the number of the system call that was disturbed; -1: none was */
    bool has_run, is_late;
    int status, helper_status;
    unsigned allocations;
    int terminal, slave;
    char terminal_name[64];
    struct call *record;
    size_t record_count, record_capacity;
};

/* ---- fault.c ---- */

/* Whether something is left to be done when the call returns. */
bool inject_at_entry(const struct run *run, struct process *process);
void inject_at_exit(const struct run *run, const struct process *process);
void record_call(struct run *run, const struct process *process, long result);
void print_record(const struct run *run);

/* ---- memory.c ---- */

/* A process that has just executed something. */
void watch_memory(struct process *process);
/* Whether the stop was for this. */
bool at_memory_stop(const struct allocators *allocators, struct run *run, struct process *process);

#endif
