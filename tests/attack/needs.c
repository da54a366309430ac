/* What a system has. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* The number in a file of /proc/sys; `otherwise` where there is none. */
static long setting(const char *name, long otherwise)
{
    char text[32] = "";
    int fd = open(in("/proc/sys", name).text, O_RDONLY);

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return otherwise;
    close(fd);
    return strtol(text, NULL, 10);
}

static bool has_root(const struct stage *stage)
{
    struct statvfs state;

    return stage->is_root && statvfs(stage->scene.shared, &state) == 0 && !(state.f_flag & ST_NOSUID);
}

static bool has_executable(const struct stage *stage)
{
    return witnessed(in(stage->scene.other, "program").text, "witness", -1) == 0;
}

static bool has_loader(const struct stage *stage)
{
#ifdef __aarch64__
    const char *loader = "/lib/ld-linux-aarch64.so.1";
#else
    const char *loader = "/lib64/ld-linux-x86-64.so.2";
#endif
    return witnessed(loader, in(stage->work, "payload").text, -1) == 0;
}

static bool has_xattr(const struct stage *stage)
{
    return getxattr(SECRET(&stage->scene), "user.secret", NULL, 0) > 0;
}

static bool has_fanotify(const struct stage *stage)
{
    int fd = fanotify_init(
            FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_NONBLOCK, O_RDONLY),
        result = fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN | FAN_EVENT_ON_CHILD, AT_FDCWD, stage->scene.other);

    close(fd);
    return result == 0;
}

static bool in_child(bool (*is_possible)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(!is_possible());
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool can_unshare(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
}

static bool has_user_namespace(const struct stage *stage)
{
    (void)stage;
    return in_child(can_unshare);
}

static bool can_ring(const struct stage *stage)
{
    (void)stage;
    return has_uring();
}

static bool can_ring_socket(const struct stage *stage)
{
    (void)stage;
    return has_uring_socket();
}

static bool has_mptcp(const struct stage *stage)
{
    (void)stage;
    return opened(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)) == 0;
}

static bool has_fastopen(const struct stage *stage)
{
    (void)stage;
    return setting("net/ipv4/tcp_fastopen", 0) & 1;
}

static bool has_udplite(const struct stage *stage)
{
    return stage->udplite >= 0;
}

static bool has_sctp(const struct stage *stage)
{
    return stage->sctp >= 0;
}

static bool has_ping(const struct stage *stage)
{
    (void)stage;
    return opened(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP)) == 0;
}

static bool has_vsock(const struct stage *stage)
{
    (void)stage;
    return opened(socket(AF_VSOCK, SOCK_STREAM, 0)) == 0;
}

static bool has_sock_diag(const struct stage *stage)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {{sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 0, 0},
                  {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << 10}};
    char answer[8192];
    struct nlmsghdr *first = (struct nlmsghdr *)(void *)answer;
    int fd = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
    bool has = fd >= 0 && send(fd, &question, sizeof question, 0) > 0 &&
               recv(fd, answer, sizeof answer, 0) > 0 && first->nlmsg_type == SOCK_DIAG_BY_FAMILY;

    (void)stage;
    close(fd);
    return has;
}

static bool has_queue(const struct stage *stage)
{
    return opened(mq_open(stage->scene.queue, O_RDONLY)) == 0;
}

static bool has_perf(const struct stage *stage)
{
    (void)stage;
    return setting("kernel/perf_event_paranoid", 4) <= 2;
}

static bool has_kernel_log(const struct stage *stage)
{
    (void)stage;
    return setting("kernel/dmesg_restrict", 1) == 0;
}

static bool has_tiocsti(const struct stage *stage)
{
    (void)stage;
    return setting("dev/tty/legacy_tiocsti", 1) == 1; /* before Linux 6.2 there was no such switch */
}

static bool can_call_ia32(void)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    return result == getpid();
#else
    return false;
#endif
}

static bool has_ia32(const struct stage *stage)
{
    return has_tiocsti(stage) && in_child(can_call_ia32);
}

static bool has_core_limit(const struct stage *stage)
{
    struct rlimit limit;

    (void)stage;
    return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max >= 1 << 20;
}

static const struct {
    bool (*is_there)(const struct stage *stage);
    const char *without;
} table[] = {
    [NEEDS_ROOT] = {has_root, "set-user-id"},
    [NEEDS_EXECUTABLE] = {has_executable, "execution"},
    [NEEDS_LOADER] = {has_loader, "loader"},
    [NEEDS_XATTR] = {has_xattr, "user-xattr"},
    [NEEDS_FANOTIFY] = {has_fanotify, "fanotify"},
    [NEEDS_USER_NAMESPACE] = {has_user_namespace, "user-namespace"},
    [NEEDS_URING] = {can_ring, "io_uring"},
    [NEEDS_URING_SOCKET] = {can_ring_socket, "io_uring-socket"},
    [NEEDS_MPTCP] = {has_mptcp, "mptcp"},
    [NEEDS_FASTOPEN] = {has_fastopen, "tcp_fastopen"},
    [NEEDS_UDPLITE] = {has_udplite, "udplite"},
    [NEEDS_SCTP] = {has_sctp, "sctp"},
    [NEEDS_PING] = {has_ping, "ping_group_range"},
    [NEEDS_VSOCK] = {has_vsock, "vsock"},
    [NEEDS_SOCK_DIAG] = {has_sock_diag, "sock_diag"},
    [NEEDS_QUEUE] = {has_queue, "mqueue"},
    [NEEDS_PERF] = {has_perf, "perf_event_paranoid"},
    [NEEDS_KERNEL_LOG] = {has_kernel_log, "dmesg_restrict"},
    [NEEDS_TIOCSTI] = {has_tiocsti, "legacy_tiocsti"},
    [NEEDS_IA32] = {has_ia32, "ia32"},
    [NEEDS_CORE_LIMIT] = {has_core_limit, "core-limit"},
};

const char *missing(const struct stage *stage, enum need need)
{
    return need == ANYWHERE || table[need].is_there(stage) ? NULL : table[need].without;
}
