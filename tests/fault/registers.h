/*
 * What differs between processors: the registers of a stopped process, and the instruction that stops it.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The system call ptrace(2) itself, which puts what it reads at `data`. */
long trace(int request, pid_t pid, uintptr_t address, uintptr_t data);

void read_registers(pid_t pid, struct user_regs_struct *registers);
void write_registers(pid_t pid, struct user_regs_struct *registers);

/* Argument 0, 1 or 2 of a system call or of a function that begins. */
void set_argument(struct user_regs_struct *registers, unsigned number, unsigned long value);
unsigned long argument(const struct user_regs_struct *registers, unsigned number);

/* At the exit of a system call: what set_argument() changed, but for where the result is. */
void give_back_arguments(struct user_regs_struct *registers, const uint64_t arguments[static 3]);

void set_result(struct user_regs_struct *registers, long value);

/* At the entry of a system call: it is not made. */
void skip_call(pid_t pid);

/* Where a process that met the stopping instruction is to go on: at that instruction's place. */
uint64_t stopped_at(const struct user_regs_struct *registers);
void go_on_at(struct user_regs_struct *registers, uint64_t address);

/* The word `original` with the stopping instruction in its place. */
long stopping(long original);

#endif
