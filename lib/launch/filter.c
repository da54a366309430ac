#include "base/architecture.h"
#include "launch/internal.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * The ways around what Landlock restricts that only a seccomp filter can close (seccomp(2)). Arguments are compared in their lower 32
 * bits: those below are all that the kernel looks at, and the architectures are little-endian.
 */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IF_BITS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, yes, no)
#define KEEP_BITS(value) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, value)
#define FAIL(failure) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (failure))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Only the calls of the launcher's own architecture: others, of 32-bit programs and x32, have other numbers. */
#ifdef X32_BIT
#define ONLY_OWN_NUMBERS LOAD(nr), IF_BITS(X32_BIT, 0, 1), FAIL(ENOSYS)
#else
#define ONLY_OWN_NUMBERS LOAD(nr)
#endif

static const struct sock_filter beginning[] = {LOAD(arch), IF_EQUAL(ARCHITECTURE, 1, 0), FAIL(ENOSYS),
                                               ONLY_OWN_NUMBERS};

/* A request that no driver knows, to which only the filter gives this answer: the proof that it is there. */
enum { PROOF_REQUEST = 0x6c6c6578, PROOF_ANSWER = EXFULL };
static const struct sock_filter ending[] = {
    /* 0 */ LOAD(nr),
    /* 1 */ IF_EQUAL(SYS_ioctl, 0, 3),
    /* 2 */ LOAD(args[1]),
    /* 3 */ IF_EQUAL(PROOF_REQUEST, 0, 1),
    /* 4 */ FAIL(PROOF_ANSWER),
    /* 5 */ ALLOW,
};

/* Each part goes on behind its end where it does not fail. */

/* A terminal that was open already is not bound by ioctl_dev: what is put in its queue is typed into the caller's shell. */
static const struct sock_filter terminal_part[] = {
    LOAD(nr),    IF_EQUAL(SYS_ioctl, 0, 4), LOAD(args[1]), IF_EQUAL(TIOCSTI, 1, 0), IF_EQUAL(TIOCLINUX, 0, 1),
    FAIL(EPERM),
};

/* MPTCP, SMC, SCTP and others reach TCP's peers, or ports of their own, and Landlock takes no exception: it knows TCP and UDP.
 * EPROTONOSUPPORT makes programs fall back on TCP. */
static const struct sock_filter protocol_part[] = {
    /* 0 */ LOAD(nr),
    /* 1 */ IF_EQUAL(SYS_socket, 0, 16),
    /* 2 */ LOAD(args[0]),
    /* 3 */ IF_EQUAL(AF_UNIX, 14, 0),
    /* 4 */ IF_EQUAL(AF_NETLINK, 13, 0), /* getaddrinfo(3) asks it for the machine's addresses */
    /* 5 */ IF_EQUAL(AF_INET, 2, 0),
    /* 6 */ IF_EQUAL(AF_INET6, 1, 0),
    /* 7 */ FAIL(EAFNOSUPPORT),
    /* 8 */ LOAD(args[1]),
    /* 9 */ KEEP_BITS(0xf), /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    /* 10 */ IF_EQUAL(SOCK_STREAM, 2, 0),
    /* 11 */ IF_EQUAL(SOCK_DGRAM, 1, 0),
    /* 12 */ FAIL(ESOCKTNOSUPPORT),
    /* 13 */ LOAD(args[2]),
    /* 14 */ IF_EQUAL(0, 3, 0),
    /* 15 */ IF_EQUAL(IPPROTO_TCP, 2, 0),
    /* 16 */ IF_EQUAL(IPPROTO_UDP, 1, 0),
    /* 17 */ FAIL(EPROTONOSUPPORT),
};

/* A connection that is made by sending is none that Landlock is asked about. */
#define FAST_OPEN_PART(call, flags) \
    LOAD(nr), IF_EQUAL(call, 0, 3), LOAD(flags), IF_BITS(MSG_FASTOPEN, 0, 1), FAIL(EOPNOTSUPP)
static const struct sock_filter fast_open_part[] = {
    FAST_OPEN_PART(SYS_sendto, args[3]),
    FAST_OPEN_PART(SYS_sendmsg, args[2]),
    FAST_OPEN_PART(SYS_sendmmsg, args[3]),
};

/* Sockets and sending without calls of their own, which no filter sees. */
static const struct sock_filter ring_part[] = {LOAD(nr), IF_EQUAL(SYS_io_uring_setup, 0, 1), FAIL(ENOSYS)};

/* A socket of TCP becomes one of SMC, as above. */
static const struct sock_filter upper_layer_part[] = {
    /* 0 */ LOAD(nr),
    /* 1 */ IF_EQUAL(SYS_setsockopt, 0, 5),
    /* 2 */ LOAD(args[1]),
    /* 3 */ IF_EQUAL(IPPROTO_TCP, 0, 3),
    /* 4 */ LOAD(args[2]),
    /* 5 */ IF_EQUAL(TCP_ULP, 0, 1),
    /* 6 */ FAIL(ENOPROTOOPT),
};

/* With the least limit on processor time a process that may not be signalled is ended by the kernel. */
static const struct sock_filter limit_part[] = {
    /* 0 */ LOAD(nr),
    /* 1 */ IF_EQUAL(SYS_prlimit64, 0, 3),
    /* 2 */ LOAD(args[0]),
    /* 3 */ IF_EQUAL(0, 1, 0), /* its own */
    /* 4 */ FAIL(EPERM),
};

/* What a part goes with: rights of which this launch handles one, or a terminal. */
#define PART(part) part, array_size(part)
static const struct part {
    const struct sock_filter *code;
    size_t length;
    policy_rights rights;
    bool is_for_terminal;
} parts[] = {
    {PART(terminal_part), 0, true},
    {PART(protocol_part), POLICY_ALL_NET, false},
    {PART(fast_open_part), POLICY_ALL_NET, false},
    {PART(ring_part), POLICY_ALL_NET, false},
    {PART(upper_layer_part), POLICY_ALL_NET, false},
    {PART(limit_part), POLICY_SIGNAL, false},
};

enum { MOST_INSTRUCTIONS = 128 };

struct program {
    struct sock_filter code[MOST_INSTRUCTIONS];
    size_t length;
};

static void add(struct program *program, const struct sock_filter *code, size_t length)
{
    memcpy(program->code + program->length, code, length * sizeof *code);
    program->length += length;
}

static bool is_wanted(const struct launch *launch, const struct part *part)
{
    return launch->handled & part->rights || (launch->is_terminal && part->is_for_terminal);
}

bool needs_filter(const struct launch *launch)
{
    for (size_t i = 0; i < array_size(parts); i++)
        if (is_wanted(launch, &parts[i]))
            return true;
    return false;
}

static void write_program(const struct launch *launch, struct program *program)
{
    add(program, beginning, array_size(beginning));
    for (size_t i = 0; i < array_size(parts); i++)
        if (is_wanted(launch, &parts[i]))
            add(program, parts[i].code, parts[i].length);
    add(program, ending, array_size(ending));
}

static int prove_filter(struct error *error)
{
    if (syscall(SYS_ioctl, -1, PROOF_REQUEST, 0) < 0 && errno == PROOF_ANSWER)
        return 0;
    error_set(error, LAUNCH_LANDLOCK_NOT_ENFORCED,
              "the seccomp filter that closes ways around the restriction is accepted but not there");
    return error_hint(error, "run on a real Linux kernel, with a seccomp profile that lets prctl(2) through");
}

int set_filter(const struct launch *launch, struct error *error)
{
    struct program program = {.length = 0};
    struct sock_fprog shown = {.filter = program.code};

    write_program(launch, &program);
    shown.len = (unsigned short)program.length;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &shown, 0, 0) == 0)
        return prove_filter(error);
    system_error(error, "the seccomp filter that closes ways around the restriction cannot be set");
    return error_hint(error, "use a kernel with CONFIG_SECCOMP_FILTER; or give the program no terminal, and "
                             "leave the network "
                             "and signals out in the policy (unrestricted network,signal)");
}
