#include "injector.h"
#include "registers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Faults ---- */

/* The kernel leaves a call's arguments as they were, and the caller may go on with them: they are given back at its end. */
static bool change_argument(const struct process *process, unsigned number, unsigned long value)
{
    struct user_regs_struct registers = {0};

    read_registers(process->pid, &registers);
    set_argument(&registers, number, value);
    write_registers(process->pid, &registers);
    return true;
}

/* The failure of brk(2) is the old end, and no errno. */
static bool fails_by_argument(const struct run *run, const struct process *process)
{
    return run->plan.kind == ERRNO && process->number == SYS_brk;
}

bool inject_at_entry(const struct run *run, struct process *process)
{
    const struct plan *plan = &run->plan;

    switch (plan->kind) {
    case ERRNO:
        if (fails_by_argument(run, process))
            return change_argument(process, 0, 0);
        if (process->number != SYS_close)
            skip_call(process->pid);
        return true;
    case LIE:
        skip_call(process->pid);
        return true;
    case SHORT:
        return process->arguments[2] > (uint64_t)plan->value &&
               change_argument(process, 2, (unsigned long)plan->value);
    case SIGNAL:
        kill(process->pid, (int)plan->value);
        return false;
    default:
        return false;
    }
}

void inject_at_exit(const struct run *run, const struct process *process)
{
    struct user_regs_struct registers = {0};

    read_registers(process->pid, &registers);
    if (run->plan.kind == SHORT || fails_by_argument(run, process))
        give_back_arguments(&registers, process->arguments);
    else
        set_result(&registers, run->plan.kind == ERRNO ? -run->plan.value : run->plan.value);
    write_registers(process->pid, &registers);
}

/* ---- The record ---- */

void record_call(struct run *run, const struct process *process, long result)
{
    if (run->record_count == run->record_capacity) {
        run->record_capacity = run->record_capacity * 2 + 256;
        run->record = realloc(run->record, run->record_capacity * sizeof *run->record);
        if (!run->record)
            abort();
    }
    run->record[run->record_count++] = (struct call){
        .process = (int)(process - run->processes), .number = process->number, .result = result};
}

void print_record(const struct run *run)
{
    printf(",\"calls\":[");
    for (size_t i = 0; i < run->record_count; i++) {
        const struct call *call = &run->record[i];

        printf("%s[%d,%lu,%ld]", i ? "," : "", call->process, call->number, call->result);
    }
    printf("]");
}
