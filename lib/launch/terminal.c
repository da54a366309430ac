#include "launch/internal.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The architecture's own ioctl, one more number for it, and the 32-bit architecture that its kernel also
 * runs. */
#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_IOCTL (0x40000000 | 514) /* x32 */
#define COMPAT_ARCHITECTURE AUDIT_ARCH_I386
#define COMPAT_IOCTL 54
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_IOCTL SYS_ioctl
#define COMPAT_ARCHITECTURE AUDIT_ARCH_ARM
#define COMPAT_IOCTL 54
#elif defined __riscv && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#define OTHER_IOCTL SYS_ioctl
#define COMPAT_ARCHITECTURE AUDIT_ARCH_RISCV32
#define COMPAT_IOCTL SYS_ioctl
#else
#error "terminal filter: tell here what this architecture's ioctl is called by"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

/* The requests are compared in their lower 32 bits, which is all that the kernel looks at (the architectures
 * above are little-endian). */
static const struct sock_filter filter[] = {
    /* 0 */ LOAD(args[1]),
    /* 1 */ IF_EQUAL(TIOCSTI, 1, 0),
    /* 2 */ IF_EQUAL(TIOCLINUX, 0, 10),
    /* 3 */ LOAD(arch),
    /* 4 */ IF_EQUAL(ARCHITECTURE, 2, 0),
    /* 5 */ IF_EQUAL(COMPAT_ARCHITECTURE, 4, 0),
    /* 6 */ RETURN(SECCOMP_RET_ERRNO | EPERM),
    /* 7 */ LOAD(nr),
    /* 8 */ IF_EQUAL(SYS_ioctl, 3, 0),
    /* 9 */ IF_EQUAL(OTHER_IOCTL, 2, 3),
    /* 10 */ LOAD(nr),
    /* 11 */ IF_EQUAL(COMPAT_IOCTL, 0, 1),
    /* 12 */ RETURN(SECCOMP_RET_ERRNO | EPERM),
    /* 13 */ RETURN(SECCOMP_RET_ALLOW),
};

int filter_terminal(struct error *error)
{
    struct sock_fprog program = {.len = array_size(filter), .filter = (struct sock_filter *)filter};

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
        return 0;
    system_error(error, "a descriptor is a terminal, and the filter that guards it cannot be set");
    return error_hint(error, "use a kernel with CONFIG_SECCOMP_FILTER, or give the program no terminal");
}
