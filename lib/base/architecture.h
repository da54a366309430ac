/* This program's architecture, as seccomp(2) and ptrace(2) tell which one a system call is of. */
#ifndef ARCHITECTURE_H
#define ARCHITECTURE_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000 /* in the numbers of calls of x32, which tell the same architecture */
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "tell here what this architecture is called"
#endif

/* Whether a call has this program's numbers. */
static inline bool is_own_call(uint32_t architecture, uint64_t number)
{
#ifdef X32_BIT
    return architecture == ARCHITECTURE && !(number & X32_BIT);
#else
    (void)number;
    return architecture == ARCHITECTURE;
#endif
}

#endif
