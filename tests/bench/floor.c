/*
 * The floor: the least that a launcher could do for these rules. It makes the system calls that landlock-exec makes to restrict
 * itself and become the program; nothing is read, looked up or checked.
 *
 *     floor PROGRAM        the rules are on descriptor FLOOR_RULES_FD, which the driver has opened (bench.h)
 *
 * In it, as in landlock-exec:
 *   - a static executable's start (the same libc, the same way of linking);
 *   - landlock_create_ruleset twice: for the ABI, for the ruleset;
 *   - for each rule openat2 (O_PATH, RESOLVE_NO_SYMLINKS), fstat, landlock_add_rule, close;
 *   - isatty on 0, 1 and 2 (one ioctl each), capget (an unprivileged user: nothing to drop);
 *   - `/` opened and closed before the restriction and tried after it (the proof);
 *   - no_new_privs, a seccomp filter as long, landlock_restrict_self, close_range, getrlimit and setrlimit for core dumps, execve.
 *
 * Not in it, so that landlock-exec pays for them in the figure:
 *   - reading and judging the policy file, parsing, the memory for it;
 *   - descriptors 0-2: are they open, are they directories;
 *   - set-uid or file capabilities on itself (/proc/self/exe);
 *   - the program: is it there, executable, and allowed by the rules (/proc/self/fd);
 *   - whether the rules grant the proof; the environment; messages.
 *
 * The floors of container.c are the same with a check: floor_by_hand.c or floor_libraries.c in the place of floor_nothing.c.
 *
 * Only in it: one read(2) for the rules, where landlock-exec parses. They would not fit an argument list for 10,000 rules.
 */
#include "bench.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FAILED = 99, CLOSE_ON_EXEC = 4, RULE_PATH_BENEATH = 1 };

static char rules[FLOOR_MOST_BYTES];

static int add_rules(int ruleset, uint32_t count)
{
    const char *next = rules + sizeof(struct floor_header);
    struct {
        uint64_t allowed_access;
        int32_t parent_fd;
    } __attribute__((packed)) rule;

    for (uint32_t i = 0; i < count; i++) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
        const char *path = next + sizeof rule.allowed_access;
        struct stat status;

        memcpy(&rule.allowed_access, next, sizeof rule.allowed_access);
        rule.parent_fd = (int32_t)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        if (fstat(rule.parent_fd, &status) < 0 || syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
            return -1;
        close(rule.parent_fd);
        next = path + strlen(path) + 1;
    }
    return 0;
}

static void ask_once(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    struct winsize size;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        ioctl(fd, TIOCGWINSZ, &size); /* what musl's isatty(3) asks */
    syscall(SYS_capget, &header, sets);
}

static int try_root(void)
{
    int fd = openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return fd < 0 ? -1 : close(fd);
}

/* A seccomp filter of as many instructions, whose every call meets about as many of them. */
static int set_filter(void)
{
    enum { CALLS = 29 };
    static struct sock_filter code[2 * CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    for (size_t i = 0; i < CALLS; i++) {
        code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 100000 + (unsigned)i, 0, 1);
        code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO);
    }
    code[sizeof code / sizeof code[0] - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int restrict_self(int ruleset, uint32_t flags)
{
    struct rlimit limit;

    if (try_root() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || set_filter() < 0 ||
        syscall(RESTRICT_SELF, ruleset, flags) < 0 || try_root() == 0)
        return -1;
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_ON_EXEC) < 0 ||
        getrlimit(RLIMIT_CORE, &limit) < 0)
        return -1;
    limit.rlim_cur = limit.rlim_max = 0;
    return setrlimit(RLIMIT_CORE, &limit);
}

int main(int count, char **arguments)
{
    static char *no_environment[] = {NULL};
    struct floor_header header;
    int ruleset;

    if (count < 2 || pread(FLOOR_RULES_FD, rules, sizeof rules, 0) < (ssize_t)sizeof header)
        return FAILED;
    memcpy(&header, rules, sizeof header);
    if (syscall(CREATE_RULESET, NULL, 0, 1) < 1)
        return FAILED;
    ruleset = (int)syscall(CREATE_RULESET, header.handled, sizeof header.handled, 0);
    if (ruleset < 0 || add_rules(ruleset, header.rule_count) < 0)
        return FAILED;
    ask_once();
    if (check_container() < 0 || restrict_self(ruleset, header.restrict_flags) < 0)
        return FAILED;
    execve(arguments[1], arguments + 1, no_environment);
    return FAILED;
}
