#include "registers.h"

#include <elf.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

long trace(int request, pid_t pid, uintptr_t address, uintptr_t data)
{
    return syscall(SYS_ptrace, request, pid, address, data);
}

void read_registers(pid_t pid, struct user_regs_struct *registers)
{
    struct iovec room = {registers, sizeof *registers};

    trace(PTRACE_GETREGSET, pid, NT_PRSTATUS, (uintptr_t)&room);
}

void write_registers(pid_t pid, struct user_regs_struct *registers)
{
    struct iovec room = {registers, sizeof *registers};

    trace(PTRACE_SETREGSET, pid, NT_PRSTATUS, (uintptr_t)&room);
}

#if defined __x86_64__

void set_argument(struct user_regs_struct *registers, unsigned number, unsigned long value)
{
    *(number == 0 ? &registers->rdi : number == 1 ? &registers->rsi : &registers->rdx) = value;
}

unsigned long argument(const struct user_regs_struct *registers, unsigned number)
{
    return number == 0 ? registers->rdi : number == 1 ? registers->rsi : registers->rdx;
}

void give_back_arguments(struct user_regs_struct *registers, const uint64_t arguments[static 3])
{
    for (unsigned i = 0; i < 3; i++)
        set_argument(registers, i, arguments[i]);
}

void set_result(struct user_regs_struct *registers, long value)
{
    registers->rax = (unsigned long)value;
}

void skip_call(pid_t pid)
{
    struct user_regs_struct registers = {0};

    read_registers(pid, &registers);
    registers.orig_rax = (unsigned long)-1;
    write_registers(pid, &registers);
}

uint64_t stopped_at(const struct user_regs_struct *registers)
{
    return registers->rip - 1; /* int3 has been executed */
}

void go_on_at(struct user_regs_struct *registers, uint64_t address)
{
    registers->rip = address;
}

long stopping(long original)
{
    return (original & ~0xffL) | 0xcc;
}

#elif defined __aarch64__

void set_argument(struct user_regs_struct *registers, unsigned number, unsigned long value)
{
    registers->regs[number] = value;
}

unsigned long argument(const struct user_regs_struct *registers, unsigned number)
{
    return registers->regs[number];
}

void give_back_arguments(struct user_regs_struct *registers, const uint64_t arguments[static 3])
{
    for (unsigned i = 1; i < 3; i++)
        set_argument(registers, i, arguments[i]);
}

void set_result(struct user_regs_struct *registers, long value)
{
    registers->regs[0] = (unsigned long)value;
}

void skip_call(pid_t pid)
{
    int none = -1;
    struct iovec room = {&none, sizeof none};

    trace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, (uintptr_t)&room);
}

uint64_t stopped_at(const struct user_regs_struct *registers)
{
    return registers->pc;
}

void go_on_at(struct user_regs_struct *registers, uint64_t address)
{
    registers->pc = address;
}

long stopping(long original)
{
    return (original & ~0xffffffffL) | 0xd4200000L; /* brk #0 */
}

#else
#error "injector: tell here of this architecture's registers"
#endif
