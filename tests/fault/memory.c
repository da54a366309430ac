/*
 * Allocations that find no memory: where malloc(3), calloc(3) or realloc(3) of the watched process begins it is
 * stopped, and asked for more than there can be. So the C library itself, or lib/arena, refuses, with errno.
 */
#include "injector.h"
#include "registers.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MALLOC, CALLOC, REALLOC, START = ALLOCATORS };

static void set_breakpoint(struct process *process, uint64_t address, unsigned what)
{
    struct breakpoint *breakpoint = &process->breakpoints[process->breakpoint_count++];

    *breakpoint = (struct breakpoint){.address = address, .what = what};
    trace(PTRACE_PEEKTEXT, process->pid, address, (uintptr_t)&breakpoint->original);
    trace(PTRACE_POKETEXT, process->pid, address, (uintptr_t)stopping(breakpoint->original));
}

static void remove_breakpoint(const struct process *process, const struct breakpoint *breakpoint)
{
    trace(PTRACE_POKETEXT, process->pid, breakpoint->address, (uintptr_t)breakpoint->original);
}

/* Where the process begins when its libraries have been loaded. */
static uint64_t start_of(pid_t pid)
{
    char path[64];
    uint64_t pair[2], start = 0;
    FILE *vector;

    snprintf(path, sizeof path, "/proc/%d/auxv", pid);
    vector = fopen(path, "re");
    while (vector && !start && fread(pair, sizeof pair, 1, vector) == 1)
        if (pair[0] == AT_ENTRY)
            start = pair[1];
    if (vector)
        fclose(vector);
    return start;
}

/* Where a file, named as it ends, begins in memory. */
static uint64_t base_of(pid_t pid, const char *file)
{
    char line[4352];
    uint64_t base = 0;
    FILE *maps;

    snprintf(line, sizeof line, "/proc/%d/maps", pid);
    maps = fopen(line, "re");
    while (maps && !base && fgets(line, sizeof line, maps)) {
        size_t length = strcspn(line, "\n");

        if (length > strlen(file) && !strncmp(line + length - strlen(file), file, strlen(file)))
            base = strtoull(line, NULL, 16);
    }
    if (maps)
        fclose(maps);
    return base;
}

void watch_memory(struct process *process)
{
    uint64_t start = start_of(process->pid);

    if (start)
        set_breakpoint(process, start, START);
}

static void watch_allocators(const struct allocators *allocators, struct process *process)
{
    uint64_t base = base_of(process->pid, allocators->file);

    for (unsigned i = 0; base && i < ALLOCATORS; i++)
        set_breakpoint(process, base + allocators->offsets[i], i);
}

static void ask_for_too_much(struct user_regs_struct *registers, unsigned what)
{
    if (what == CALLOC)
        set_argument(registers, 0, 2);
    set_argument(registers, what == MALLOC ? 0 : 1, ~0UL);
}

static bool is_refused(struct run *run)
{
    unsigned number = run->allocations++;

    return run->plan.value ? number >= run->plan.call : number == run->plan.call;
}

static bool step_over(struct process *process, struct breakpoint *breakpoint,
                      struct user_regs_struct *registers)
{
    go_on_at(registers, breakpoint->address);
    write_registers(process->pid, registers);
    remove_breakpoint(process, breakpoint);
    process->stepped_over = breakpoint;
    return true;
}

bool at_memory_stop(const struct allocators *allocators, struct run *run, struct process *process)
{
    struct user_regs_struct registers = {0};

    if (process->stepped_over) {
        trace(PTRACE_POKETEXT, process->pid, process->stepped_over->address,
              (uintptr_t)stopping(process->stepped_over->original));
        process->stepped_over = NULL;
        return true;
    }
    read_registers(process->pid, &registers);
    for (size_t i = 0; i < process->breakpoint_count; i++) {
        struct breakpoint *breakpoint = &process->breakpoints[i];

        if (breakpoint->address != stopped_at(&registers))
            continue;
        if (breakpoint->what == START) {
            watch_allocators(allocators, process);
        } else if (is_refused(run)) {
            ask_for_too_much(&registers, breakpoint->what);
            run->hit = breakpoint->what;
        }
        return step_over(process, breakpoint, &registers);
    }
    return false;
}
