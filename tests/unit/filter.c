/*
 * The seccomp filter that closes ways around what Landlock restricts. It changes a process for good, so each check has a child of its
 * own.
 */
#include "child.h"
#include "launch/internal.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>

enum { NOBODY = 65534 };

/* ---- The terminal ---- */

static void filter(policy_rights handled, bool is_terminal)
{
    const struct launch launch = {.handled = handled, .is_terminal = is_terminal};
    struct error error;

    must(needs_filter(&launch));
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(set_filter(&launch, &error) == 0);
}

static int result_of(long result)
{
    return result < 0 ? errno : 0;
}

static void type_into_terminal(const void *context)
{
    static const unsigned long requests[] = {TIOCSTI, TIOCLINUX, TIOCSTI | 1UL << 32, TIOCLINUX | 1UL << 63};
    int terminal = open_terminal();
    char byte = 2;

    (void)context;
    for (size_t i = 0; i < array_size(requests); i++)
        must(result_of(syscall(SYS_ioctl, terminal, requests[i], &byte)) != EPERM);
    filter(0, true);
    for (size_t i = 0; i < array_size(requests); i++)
        must(result_of(syscall(SYS_ioctl, terminal, requests[i], &byte)) == EPERM);
#ifdef __x86_64__
    must(result_of(syscall(0x40000000 | 514, terminal, TIOCSTI, &byte)) == ENOSYS); /* x32 */
#endif
}

static void the_filter_refuses_to_type_into_a_terminal(void **state)
{
    (void)state;
    in_child(type_into_terminal, NULL);
}

/* Calls that are not ioctl, their second argument being one of the numbers, and ioctls of other numbers. */
static void use_terminal(const void *context)
{
    int terminal = open_terminal(), file = memfd_create("unit-descriptors", MFD_CLOEXEC), waiting = -1;
    struct winsize size = {0};
    struct termios modes;

    (void)context;
    filter(0, true);
    must(ioctl(terminal, TIOCGWINSZ, &size) == 0);
    must(ioctl(terminal, FIONREAD, &waiting) == 0 && waiting == 0);
    must(tcgetattr(terminal, &modes) == 0 && tcsetattr(terminal, TCSANOW, &modes) == 0);
    must(tcflush(terminal, TCIOFLUSH) == 0);
    must(write(terminal, "x", 1) == 1);
    must(ioctl(terminal, TIOCSTI + 1, &size) == 0 || errno != EPERM);
    must(lseek(file, TIOCSTI, SEEK_SET) == TIOCSTI);
    must(lseek(file, TIOCLINUX, SEEK_SET) == TIOCLINUX);
    must(result_of(setsockopt(file, TIOCSTI, 0, &size, sizeof size)) == ENOTSOCK); /* 54 on x86-64 */
}

static void the_filter_leaves_all_else_alone(void **state)
{
    (void)state;
    in_child(use_terminal, NULL);
}

static void set_filter_without_right(const void *context)
{
    const struct launch launch = {.is_terminal = true};
    struct error error;

    (void)context;
    must(geteuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
    must(set_filter(&launch, &error) == -1);
    must(error.code == LAUNCH_SYSTEM);
    must(!strcmp(error.message, "the seccomp filter that closes ways around the restriction cannot be set: "
                                "Permission denied"));
    must(error.hint[0]);
}

static void a_filter_that_cannot_be_set_is_an_error(void **state)
{
    (void)state;
    need(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0, "process without no_new_privs");
    in_child(set_filter_without_right, NULL);
}

#ifdef __x86_64__
/* A system call by the 32-bit entry, its third argument a pointer below 4 GiB. Returns what the kernel returns. */
static long call_32(unsigned number, unsigned a, unsigned b, void *c)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
}

enum { GETPID_32 = 20, IOCTL_32 = 54 };

static void try_entry_32(const void *context)
{
    (void)context;
    signal(SIGSEGV, SIG_DFL);
    must(call_32(GETPID_32, 0, 0, NULL) == getpid());
}

static void type_into_terminal_32(const void *context)
{
    int terminal = open_terminal();
    struct termios *modes =
        mmap(NULL, sizeof *modes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    (void)context;
    must(modes != MAP_FAILED);
    must(call_32(IOCTL_32, (unsigned)terminal, TIOCSTI, modes) != -EPERM);
    must(call_32(IOCTL_32, (unsigned)terminal, TIOCLINUX, modes) != -EPERM);
    filter(0, true);
    must(call_32(IOCTL_32, (unsigned)terminal, TIOCSTI, modes) == -ENOSYS);
    must(call_32(IOCTL_32, (unsigned)terminal, TIOCLINUX, modes) == -ENOSYS);
    must(call_32(GETPID_32, 0, 0, NULL) == -ENOSYS);
}

static void there_is_no_32_bit_entry_under_the_filter(void **state)
{
    bool is_there = run_child(try_entry_32, NULL) == 0;

    (void)state;
    if (is_there)
        in_child(type_into_terminal_32, NULL);
    else
        print_message("this kernel has no 32-bit entry (int 0x80), so there is nothing to guard\n");
}
#endif

/* ---- The network ---- */

static int make_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol), failure = fd < 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return failure;
}

static void make_sockets(const void *context)
{
    static const struct {
        int family, type, protocol, failure;
    } table[] = {
        {AF_INET, SOCK_STREAM, 0, 0},
        {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP, 0},
        {AF_INET, SOCK_DGRAM, IPPROTO_UDP, 0},
        {AF_INET6, SOCK_STREAM, 0, 0},
        {AF_UNIX, SOCK_SEQPACKET, 0, 0},
        {AF_UNIX, SOCK_STREAM, 0, 0},
        {AF_NETLINK, SOCK_RAW, 0, 0},
        {AF_INET, SOCK_STREAM, 262, EPROTONOSUPPORT}, /* MPTCP */
        {AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 262, EPROTONOSUPPORT},
        {AF_INET, SOCK_STREAM, 256, EPROTONOSUPPORT}, /* SMC */
        {AF_INET, SOCK_STREAM, IPPROTO_SCTP, EPROTONOSUPPORT},
        {AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP, ESOCKTNOSUPPORT},
        {AF_INET, SOCK_SEQPACKET, 0, ESOCKTNOSUPPORT},
        {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE, EPROTONOSUPPORT},
        {AF_INET, SOCK_DGRAM, IPPROTO_ICMP, EPROTONOSUPPORT},
        {AF_INET, SOCK_RAW, IPPROTO_RAW, ESOCKTNOSUPPORT},
        {AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, EPROTONOSUPPORT},
        {AF_PACKET, SOCK_RAW, 0, EAFNOSUPPORT},
        {AF_VSOCK, SOCK_STREAM, 0, EAFNOSUPPORT},
        {AF_ALG, SOCK_SEQPACKET, 0, EAFNOSUPPORT},
        {43, SOCK_STREAM, 0, EAFNOSUPPORT}, /* AF_SMC */
    };

    (void)context;
    must(make_socket(AF_INET, SOCK_STREAM, 262) != EPROTONOSUPPORT ||
         access("/proc/sys/net/mptcp", F_OK) < 0);
    filter(POLICY_CONNECT_TCP, false);
    for (size_t i = 0; i < array_size(table); i++) {
        int failure = make_socket(table[i].family, table[i].type, table[i].protocol);

        if (failure != table[i].failure)
            dprintf(CHILD_REPORT_FD, "row %zu: %s\n", i, strerror(failure));
        must(failure == table[i].failure);
    }
    must(result_of(syscall(SYS_socket, AF_INET | 1UL << 32, SOCK_STREAM, 262 | 1UL << 40)) ==
         EPROTONOSUPPORT);
    must(make_socket(AF_UNIX, SOCK_STREAM, 0) == 0);
}

static void only_tcp_and_udp_are_left_of_the_internet(void **state)
{
    (void)state;
    in_child(make_sockets, NULL);
}

/* What a connection by sending gives, by each of the calls that take flags. */
static void send_each(int fd, int flags, struct sockaddr_in *to, int failures[static 3])
{
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct mmsghdr message = {
        .msg_hdr = {.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = &part, .msg_iovlen = 1}};

    failures[0] = result_of(sendto(fd, &byte, 1, flags, (const struct sockaddr *)to, sizeof *to));
    failures[1] = result_of(sendmsg(fd, &message.msg_hdr, flags));
    failures[2] = result_of(sendmmsg(fd, &message, 1, flags));
}

static void send_without_connecting(const void *context)
{
    struct sockaddr_in nobody = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int failures[3], stream = socket(AF_INET, SOCK_STREAM, 0), datagram = socket(AF_INET, SOCK_DGRAM, 0),
                     pair[2];
    char ring[256] = {0};

    (void)context;
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    filter(POLICY_BIND_TCP, false);
    send_each(stream, MSG_FASTOPEN | MSG_NOSIGNAL, &nobody, failures);
    for (size_t i = 0; i < array_size(failures); i++)
        must(failures[i] == EOPNOTSUPP);
    send_each(datagram, MSG_NOSIGNAL, &nobody, failures);
    must(failures[0] != EOPNOTSUPP && failures[1] != EOPNOTSUPP && failures[2] != EOPNOTSUPP);
    must(send(pair[0], "x", 1, MSG_NOSIGNAL) == 1);
    must(result_of(syscall(SYS_io_uring_setup, 1, ring)) == ENOSYS);
    must(result_of(setsockopt(stream, IPPROTO_TCP, TCP_ULP, "smc", 3)) == ENOPROTOOPT);
    must(setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) == 0);
}

static void nothing_connects_but_connect(void **state)
{
    (void)state;
    in_child(send_without_connecting, NULL);
}

/* ---- Others' limits ---- */

static void limit_parent(const void *context)
{
    struct rlimit limit;

    (void)context;
    must(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit) == 0);
    filter(POLICY_SIGNAL, false);
    must(result_of(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit)) == EPERM);
    must(result_of(prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL)) == EPERM);
    must(prlimit(0, RLIMIT_NOFILE, NULL, &limit) == 0);
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    must(make_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE) != EPROTONOSUPPORT);
}

static void limits_of_others_are_out_of_reach(void **state)
{
    (void)state;
    in_child(limit_parent, NULL);
}

/* ---- Whether there is one ---- */

static void a_filter_is_set_for_what_is_restricted_only(void **state)
{
    static const struct {
        policy_rights handled;
        bool is_terminal, needs;
    } table[] = {{0, false, false},
                 {POLICY_ALL_FS, false, false},
                 {POLICY_SCOPE(0), false, false},
                 {POLICY_SIGNAL, false, true},
                 {POLICY_BIND_TCP, false, true},
                 {POLICY_CONNECT_SEND_UDP, false, true},
                 {0, true, true}};

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        struct launch launch = {.handled = table[i].handled, .is_terminal = table[i].is_terminal};

        assert_int_equal(needs_filter(&launch), table[i].needs);
    }
}

/* A filter of the caller's that lets the call succeed without making it. */
static void pretend(const void *context)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {array_size(code), code};
    const struct launch launch = {.handled = POLICY_CONNECT_TCP};
    struct error error = {0};

    (void)context;
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    must(set_filter(&launch, &error) == -1);
    must(error.code == LAUNCH_LANDLOCK_NOT_ENFORCED && error.hint[0]);
}

static void a_filter_that_is_not_there_is_noticed(void **state)
{
    (void)state;
    in_child(pretend, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_filter_refuses_to_type_into_a_terminal),
        cmocka_unit_test(the_filter_leaves_all_else_alone),
        cmocka_unit_test(a_filter_that_cannot_be_set_is_an_error),
#ifdef __x86_64__
        cmocka_unit_test(there_is_no_32_bit_entry_under_the_filter),
#endif
        cmocka_unit_test(only_tcp_and_udp_are_left_of_the_internet),
        cmocka_unit_test(nothing_connects_but_connect),
        cmocka_unit_test(limits_of_others_are_out_of_reach),
        cmocka_unit_test(a_filter_is_set_for_what_is_restricted_only),
        cmocka_unit_test(a_filter_that_is_not_there_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
