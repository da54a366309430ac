/*
 * Runs a program on a kernel that seems to have another Landlock ABI:
 *
 *     abi_supervisor ABI [broken-scopes | no-effect] -- PROGRAM [ARGUMENT...]
 *
 * A seccomp filter notifies this process of the program's Landlock calls. It answers the question for the ABI, and refuses what
 * that ABI does not know: an unknown bit with EINVAL, a part of the attributes that has no place with E2BIG. Rights that the ABI
 * knows and the kernel does not are left out: the ruleset is made here and handed over. All else the kernel does itself.
 *
 * broken-scopes: RHEL 9.6, which announces scopes and answers EINVAL to them. no-effect: an emulator that says yes to everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };
enum { VERSION_QUERY = 1, RULE_PATH = 1 };

enum part { FS, NET, SCOPED, PART_COUNT };

/* The bits of each part of the attributes, and the flags of restrict_self, from an ABI on. */
static const struct known {
    unsigned abi;
    uint64_t parts[PART_COUNT];
    uint32_t flags;
} known_table[] = {
    {1, {0x1fff}, 0},         {2, {0x3fff}, 0},           {3, {0x7fff}, 0},           {4, {0x7fff, 3}, 0},
    {5, {0xffff, 3}, 0},      {6, {0xffff, 3, 3}, 0},     {7, {0xffff, 3, 3}, 7},     {8, {0xffff, 3, 3}, 15},
    {9, {0x1ffff, 3, 3}, 15}, {10, {0x1ffff, 15, 3}, 15}, {11, {0x1ffff, 15, 3}, 31},
};

struct supervisor {
    struct known pretended, real;
    unsigned abi, kernel_abi;
    bool has_broken_scopes, has_no_effect;
    int listener;
};

static struct known known_of(unsigned abi)
{
    struct known known = known_table[0];

    for (size_t i = 0; i < sizeof known_table / sizeof known_table[0]; i++)
        if (known_table[i].abi <= abi)
            known = known_table[i];
    return known;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* ---- The program's side ---- */

static void send_descriptor(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char text = 0;
    struct iovec byte = {.iov_base = &text, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(socket, &message, 0) < 0)
        fail("sendmsg");
}

static int receive_descriptor(int socket)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    char text;
    struct iovec byte = {.iov_base = &text, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fd = -1;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) > 0 && message.msg_controllen)
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

static void become(int socket, char **command)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CREATE_RULESET, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, RESTRICT_SELF, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    int listener;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail("prctl");
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0)
        fail("seccomp");
    send_descriptor(socket, listener);
    close(listener);
    close(socket);
    execv(command[0], command);
    fail(command[0]);
}

/* ---- The kernel's side ---- */

static void respond(const struct supervisor *supervisor, uint64_t id, int64_t value, int error,
                    uint32_t flags)
{
    struct seccomp_notif_resp response = {.id = id, .val = value, .error = -error, .flags = flags};

    ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static bool peek(const struct seccomp_notif *call, uint64_t address, void *bytes, size_t size)
{
    struct iovec local = {bytes, size}, remote = {.iov_len = size};

    memcpy(&remote.iov_base, &address, sizeof remote.iov_base);

    return process_vm_readv((pid_t)call->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The program's own descriptor, here. */
static int borrow(const struct seccomp_notif *call, int fd)
{
    int process = (int)syscall(SYS_pidfd_open, call->pid, 0),
        copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);

    close(process);
    return copy;
}

static void hand_over(const struct supervisor *supervisor, uint64_t id, int fd)
{
    struct seccomp_notif_addfd give = {
        .id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd, .newfd_flags = O_CLOEXEC};

    if (fd < 0 || ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0)
        respond(supervisor, id, 0, errno, 0);
    if (fd >= 0)
        close(fd);
}

static int fault_of(const struct supervisor *supervisor, const uint64_t parts[PART_COUNT])
{
    for (int part = 0; part < PART_COUNT; part++)
        if (parts[part] & ~supervisor->pretended.parts[part])
            return supervisor->pretended.parts[part] ? EINVAL : E2BIG;
    return supervisor->has_broken_scopes && parts[SCOPED] ? EINVAL : 0;
}

static void create_ruleset(const struct supervisor *supervisor, const struct seccomp_notif *call)
{
    uint64_t id = call->id, size = call->data.args[1], parts[PART_COUNT] = {0};
    int fault;

    if (!call->data.args[0] && call->data.args[2] == VERSION_QUERY)
        return respond(supervisor, id, supervisor->abi, 0, 0);
    if (!peek(call, call->data.args[0], parts, size < sizeof parts ? size : sizeof parts))
        return respond(supervisor, id, 0, EFAULT, 0);
    fault = fault_of(supervisor, parts);
    if (fault)
        return respond(supervisor, id, 0, fault, 0);
    if (supervisor->has_no_effect)
        return hand_over(supervisor, id, open("/dev/null", O_RDWR | O_CLOEXEC));
    for (int part = 0; part < PART_COUNT; part++)
        parts[part] &= supervisor->real.parts[part];
    hand_over(supervisor, id, (int)syscall(CREATE_RULESET, parts, sizeof parts, 0));
}

/* landlock_path_beneath_attr and landlock_net_port_attr both begin with the rights. */
static void add_rule(const struct supervisor *supervisor, const struct seccomp_notif *call)
{
    bool is_path = call->data.args[1] == RULE_PATH;
    char rule[16] = {0};
    uint64_t rights;
    int ruleset, parent = -1, failure = 0;

    if (!peek(call, call->data.args[2], rule, is_path ? 12 : 16))
        return respond(supervisor, call->id, 0, EFAULT, 0);
    memcpy(&rights, rule, sizeof rights);
    if (supervisor->has_no_effect || !(rights & ~supervisor->real.parts[is_path ? FS : NET]))
        return respond(supervisor, call->id, 0, 0,
                       supervisor->has_no_effect ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE);
    rights &= supervisor->real.parts[is_path ? FS : NET];
    memcpy(rule, &rights, sizeof rights);
    if (!rights)
        return respond(supervisor, call->id, 0, 0, 0);
    if (is_path) {
        memcpy(&parent, rule + sizeof rights, sizeof parent);
        parent = borrow(call, parent);
        memcpy(rule + sizeof rights, &parent, sizeof parent);
    }
    ruleset = borrow(call, (int)call->data.args[0]);
    if (syscall(ADD_RULE, ruleset, call->data.args[1], rule, 0) < 0)
        failure = errno;
    close(ruleset);
    if (parent >= 0)
        close(parent);
    respond(supervisor, call->id, 0, failure, 0);
}

static void restrict_self(const struct supervisor *supervisor, const struct seccomp_notif *call)
{
    if ((uint32_t)call->data.args[1] & ~supervisor->pretended.flags)
        respond(supervisor, call->id, 0, EINVAL, 0);
    else
        respond(supervisor, call->id, 0, 0, supervisor->has_no_effect ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

static void answer(const struct supervisor *supervisor)
{
    struct seccomp_notif call = {0};

    if (ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
        return;
    if (call.data.nr == CREATE_RULESET)
        create_ruleset(supervisor, &call);
    else if (call.data.nr == ADD_RULE)
        add_rule(supervisor, &call);
    else
        restrict_self(supervisor, &call);
}

/* Until nobody is left under the filter; returns the child's status. The child is reaped as soon as it ends: before Linux 6.11 it
 * is under the filter until then. */
static int serve(const struct supervisor *supervisor, pid_t child)
{
    struct pollfd ready[] = {{.fd = supervisor->listener, .events = POLLIN},
                             {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN}};
    int status = 0;

    while (poll(ready, 2, -1) > 0 && !(ready[0].revents & POLLHUP)) {
        if (ready[0].revents)
            answer(supervisor);
        if (ready[1].revents) {
            waitpid(child, &status, 0);
            close(ready[1].fd);
            ready[1].fd = -1;
        }
    }
    if (ready[1].fd >= 0)
        waitpid(child, &status, 0);
    return status;
}

int main(int count, char **arguments)
{
    struct supervisor supervisor = {.listener = -1};
    int command = 1, sockets[2], status;
    pid_t child;

    while (command < count && strcmp(arguments[command], "--") != 0)
        command++;
    if (command < 2 || command + 1 >= count) {
        fputs("usage: abi_supervisor ABI [broken-scopes | no-effect] -- PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    supervisor.abi = (unsigned)strtoul(arguments[1], NULL, 10);
    supervisor.kernel_abi = (unsigned)syscall(CREATE_RULESET, NULL, 0, VERSION_QUERY);
    supervisor.pretended = known_of(supervisor.abi);
    supervisor.real = known_of(supervisor.kernel_abi);
    supervisor.has_broken_scopes = !strcmp(arguments[2], "broken-scopes");
    supervisor.has_no_effect = !strcmp(arguments[2], "no-effect");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0 || (child = fork()) < 0)
        fail("abi_supervisor");
    if (child == 0)
        become(sockets[1], arguments + command + 1);
    close(sockets[1]);
    supervisor.listener = receive_descriptor(sockets[0]);
    status = serve(&supervisor, child);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    return WEXITSTATUS(status);
}
