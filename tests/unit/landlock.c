/*
 * lib/landlock against the kernel that runs: every restriction is taken in a child of its own. What this
 * kernel does not do by itself (no Landlock, scopes announced and refused) a seccomp filter or a tracer answers.
 */
#include "landlock/landlock.h"
#include "child.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, VERSION = 1 };
enum { EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, BIND_TCP = 1 << 0 };
enum { MOST_LAYERS = 16, ABI_WITH_NETWORK = 4 };

#define REQUIREMENT "Sandbox requires enabled Landlock ABI 1 or newer: "

static long raw_abi(void)
{
    return syscall(CREATE_RULESET, NULL, 0, VERSION);
}

static void need_landlock(void)
{
    need(raw_abi() > 0, "Landlock");
}

/* ---- Rulesets ---- */

static struct landlock_access everything(void)
{
    policy_rights rights = policy_rights_of_abi((unsigned)raw_abi());

    return (struct landlock_access){policy_rights_fs(rights), policy_rights_net(rights),
                                    policy_rights_scoped(rights)};
}

static int new_ruleset(void)
{
    struct landlock_access handled = everything();
    struct error error;
    int ruleset = landlock_create(&handled, &error);

    must(ruleset >= 0);
    return ruleset;
}

static void restrict_to(int ruleset)
{
    struct error error;

    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(landlock_restrict(ruleset, (unsigned)raw_abi(), false, &error) == 0);
}

static int try_open(const char *path, int flags)
{
    auto_close int fd = open(path, flags | O_CLOEXEC);

    return fd < 0 ? errno : 0;
}

static int try_bind(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(fd >= 0);
    return bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
}

static void abi_is_what_the_kernel_answers(void **state)
{
    struct error error;

    (void)state;
    need_landlock();
    assert_int_equal(landlock_abi(&error), raw_abi());
}

static void a_ruleset_handles_all_of_the_abi_and_is_close_on_exec(void **state)
{
    struct landlock_access handled = everything(), wanted = handled;
    struct error error;
    auto_close int ruleset = -1;

    (void)state;
    need_landlock();
    ruleset = landlock_create(&handled, &error);
    assert_true(ruleset > STDERR_FILENO);
    assert_int_equal(fcntl(ruleset, F_GETFD), FD_CLOEXEC);
    assert_memory_equal(&handled, &wanted, sizeof handled);
}

/* A right that this kernel does not know is an error, whatever else was asked for. */
static void a_right_newer_than_the_kernel_is_refused(void **state)
{
    struct landlock_access handled = everything();
    struct error error;

    (void)state;
    need_landlock();
    handled.fs |= (uint64_t)1 << 63;
    assert_int_equal(landlock_create(&handled, &error), -1);
    assert_int_equal(error.code, LANDLOCK_FAILED);
    assert_string_equal(error.message, REQUIREMENT "the kernel answers Invalid argument");
}

static void restrict_with_rules(const void *context)
{
    auto_close int ruleset = new_ruleset(), proc = open("/proc", O_PATH | O_CLOEXEC),
                   null = open("/dev/null", O_PATH | O_CLOEXEC);

    (void)context;
    must(landlock_allow_path(ruleset, proc, READ_FILE | READ_DIR) == 0);
    must(landlock_allow_path(ruleset, null, READ_FILE | WRITE_FILE) == 0);
    must(raw_abi() < ABI_WITH_NETWORK || landlock_allow_port(ruleset, 0, BIND_TCP) == 0);
    restrict_to(ruleset);
    must(try_open("/", O_RDONLY | O_DIRECTORY) == EACCES);
    must(try_open("/etc/passwd", O_RDONLY) == EACCES);
    must(try_open("/proc/version", O_RDONLY) == 0);
    must(try_open("/proc", O_RDONLY | O_DIRECTORY) == 0);
    must(try_open("/dev/null", O_RDWR) == 0);
    must(try_open("/dev/full", O_WRONLY) == EACCES);
    must(try_bind(0) == 0);
    must(raw_abi() < ABI_WITH_NETWORK || try_bind(54321) == EACCES);
}

static void what_a_rule_allows_works_and_all_else_is_denied(void **state)
{
    (void)state;
    need_landlock();
    in_child(restrict_with_rules, NULL);
}

static void restrict_with_audit(const void *context)
{
    struct error error;

    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    must(landlock_restrict(new_ruleset(), (unsigned)raw_abi(), *(const bool *)context, &error) == 0);
    must(landlock_prove(&landlock_attempts[0], &error) == 0);
}

static void restriction_takes_with_audit_and_without(void **state)
{
    static const bool answers[] = {true, false};

    (void)state;
    need_landlock();
    for (size_t i = 0; i < array_size(answers); i++)
        in_child(restrict_with_audit, &answers[i]);
}

struct rule_fault {
    const char *name;
    const char *path;     /* opened with O_PATH */
    int (*make_fd)(void); /* where there is no path */
    uint64_t access;
    int failure;
};

static int make_pipe(void)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]);
    return ends[0];
}

static int make_memfd(void)
{
    return memfd_create("unit-landlock", MFD_CLOEXEC);
}

static int make_nothing(void)
{
    int fd = make_pipe();

    close(fd);
    return fd;
}

static void a_rule_that_cannot_be_tells_why(void **state)
{
    static const struct rule_fault table[] = {
        {"a directory right on a file", "/etc/passwd", NULL, READ_FILE | READ_DIR, EINVAL},
        {"a directory right alone on a file", "/dev/null", NULL, READ_DIR, EINVAL},
        {"an unknown right", "/", NULL, (uint64_t)1 << 62, EINVAL},
        {"no right", "/", NULL, 0, ENOMSG},
        {"a pipe", NULL, make_pipe, READ_FILE, EBADFD},
        {"a memfd", NULL, make_memfd, READ_FILE, EBADFD},
        {"a closed descriptor", NULL, make_nothing, READ_FILE, EBADF},
        {"a file right on a file", "/etc/passwd", NULL, READ_FILE | EXECUTE, 0},
        {"a directory right on a directory", "/", NULL, READ_FILE | READ_DIR, 0},
    };
    struct landlock_access handled = everything();
    struct error error;
    auto_close int ruleset = -1;

    (void)state;
    need_landlock();
    ruleset = landlock_create(&handled, &error);
    for (size_t i = 0; i < array_size(table); i++) {
        auto_close int fd = table[i].path ? open(table[i].path, O_PATH | O_CLOEXEC) : table[i].make_fd();
        int failure = landlock_allow_path(ruleset, fd, table[i].access) < 0 ? errno : 0;

        if (failure != table[i].failure)
            fail_msg("%s: %s instead of %s", table[i].name, strerror(failure), strerror(table[i].failure));
    }
}

static void a_port_rule_that_cannot_be_tells_why(void **state)
{
    struct landlock_access handled = everything(), no_network = {.fs = READ_FILE};
    struct error error;
    auto_close int with = -1, without = -1;

    (void)state;
    need_landlock();
    need(raw_abi() >= ABI_WITH_NETWORK, "Landlock ABI 4");
    with = landlock_create(&handled, &error);
    without = landlock_create(&no_network, &error);
    assert_int_equal(landlock_allow_port(with, UINT16_MAX, BIND_TCP), 0);
    assert_int_equal(landlock_allow_port(with, 80, 0), -1);
    assert_int_equal(errno, ENOMSG);
    assert_int_equal(landlock_allow_port(without, 80, BIND_TCP), -1);
    assert_int_equal(errno, EINVAL);
}

static void take_too_many_layers(const void *context)
{
    struct landlock_access handled = {.fs = READ_FILE};
    struct error error;
    int ruleset = landlock_create(&handled, &error);

    (void)context;
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    for (int layer = 0; layer < MOST_LAYERS; layer++)
        must(landlock_restrict(ruleset, (unsigned)raw_abi(), false, &error) == 0);
    must(landlock_restrict(ruleset, (unsigned)raw_abi(), false, &error) == -1);
    must(error.code == LANDLOCK_FAILED);
    must(!strcmp(error.message, "Landlock: this process has 16 layers of rules already (E2BIG)"));
    must(!strcmp(error.hint, "start it from a process with fewer Landlock domains"));
}

static void the_seventeenth_layer_is_refused(void **state)
{
    (void)state;
    need_landlock();
    in_child(take_too_many_layers, NULL);
}

/* ---- Proof ---- */

static void attempt_inside(const void *context)
{
    const struct landlock_attempt *attempt = context;
    struct landlock_access handled = everything();
    struct error error;
    int before = attempt->try(attempt->path);

    if (!(attempt->of.fs & handled.fs) && !(attempt->of.net & handled.net))
        return;
    must(attempt != &landlock_attempts[0] || before == 0);
    restrict_to(new_ruleset());
    must(before != 0 || landlock_prove(attempt, &error) == 0);
}

static void every_attempt_proves_a_restriction(void **state)
{
    (void)state;
    need_landlock();
    for (size_t i = 0; i < landlock_attempt_count; i++)
        in_child(attempt_inside, &landlock_attempts[i]);
}

/* Exactly the one right that it names: handled alone it stops the attempt, granted it lets the attempt through. */
static void attempt_needs_its_right(const void *context)
{
    const struct landlock_attempt *attempt = context;
    struct landlock_access handled = everything(), one = attempt->of;
    struct error error;
    int ruleset;

    if (((one.fs & handled.fs) | (one.net & handled.net)) == 0 || attempt->try(attempt->path) != 0)
        return;
    ruleset = new_ruleset();
    if (attempt->path)
        must(landlock_allow_path(ruleset, open(attempt->path, O_PATH | O_CLOEXEC), one.fs) == 0);
    else
        must(landlock_allow_port(ruleset, 0, one.net) == 0);
    restrict_to(ruleset);
    must(attempt->try(attempt->path) == 0);
    restrict_to(landlock_create(&one, &error));
    must(attempt->try(attempt->path) == EACCES);
}

static void every_attempt_needs_the_one_right_that_it_names(void **state)
{
    (void)state;
    need_landlock();
    for (size_t i = 0; i < landlock_attempt_count; i++)
        in_child(attempt_needs_its_right, &landlock_attempts[i]);
}

static void the_first_attempt_lists_the_root(void **state)
{
    (void)state;
    assert_string_equal(landlock_attempts[0].name, "read_dir /");
    assert_string_equal(landlock_attempts[0].path, "/");
    assert_int_equal(landlock_attempts[0].of.fs, READ_DIR);
}

static void without_restriction_nothing_is_proved(void **state)
{
    struct error error;

    (void)state;
    assert_int_equal(landlock_prove(&landlock_attempts[0], &error), -1);
    assert_int_equal(error.code, LANDLOCK_NOT_ENFORCED);
    assert_string_equal(error.message, REQUIREMENT "the system calls are accepted but enforce nothing "
                                                   "(read_dir /: allowed instead of Permission denied)");
    assert_string_not_equal(error.hint, "");
}

static int fail_with_eperm(const char *path)
{
    (void)path;
    return EPERM;
}

static void a_failure_other_than_eacces_is_no_proof(void **state)
{
    static const struct landlock_attempt attempt = {"a try", "/", {.fs = READ_DIR}, fail_with_eperm};
    struct error error;

    (void)state;
    assert_int_equal(landlock_prove(&attempt, &error), -1);
    assert_int_equal(error.code, LANDLOCK_NOT_ENFORCED);
    assert_string_equal(error.message, REQUIREMENT "the system calls are accepted but enforce nothing (a "
                                                   "try: Operation not "
                                                   "permitted instead of Permission denied)");
}

/* ---- A filter answers the calls ---- */

struct answer {
    int failure; /* what the filter answers; 0: success without effect */
    int code;    /* what is made of it */
    const char *says, *advises;
};

static const struct answer answers[] = {
    {ENOSYS, LANDLOCK_OLD_SECCOMP, "a seccomp profile that is too old to know Landlock hides it",
     "update Docker"},
    {EOPNOTSUPP, LANDLOCK_DISABLED, "it is not enabled at boot (EOPNOTSUPP)", "lsm="},
    {EPERM, LANDLOCK_BLOCKED, "a seccomp profile blocks its system calls (EPERM)", "seccomp profile"},
    {0, LANDLOCK_NOT_ENFORCED, "the system calls are accepted but enforce nothing", "real Linux kernel"},
    {EFAULT, LANDLOCK_FAILED, "the kernel answers Bad address", "kernel's log"},
};

/* Sets a filter that does `action` for one system call. Returns what seccomp(2) returned. */
static long filter_call(unsigned call, unsigned action, unsigned flags)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = array_size(filter), .filter = filter};

    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void must_say(const struct error *error, const struct answer *answer)
{
    must(error->code == answer->code);
    must(!strncmp(error->message, REQUIREMENT, strlen(REQUIREMENT)));
    must(strstr(error->message, answer->says));
    must(answer->advises[0] ? strstr(error->hint, answer->advises) != NULL : !error->hint[0]);
}

static void ask_for_abi(const void *context)
{
    const struct answer *answer = context;
    struct error error;

    must(filter_call(CREATE_RULESET, SECCOMP_RET_ERRNO | (unsigned)answer->failure, 0) == 0);
    must(landlock_abi(&error) == -1);
    must_say(&error, answer);
}

static void ask_for_ruleset(const void *context)
{
    const struct answer *answer = context;
    struct landlock_access handled = {.fs = READ_FILE, .scoped = 3};
    struct error error;

    must(filter_call(CREATE_RULESET, SECCOMP_RET_ERRNO | (unsigned)answer->failure, 0) == 0);
    must(landlock_create(&handled, &error) == -1);
    must(handled.scoped == 3);
    must_say(&error, answer);
}

static void ask_for_restriction(const void *context)
{
    const struct answer *answer = context;
    struct error error;
    int ruleset = new_ruleset();

    must(filter_call(RESTRICT_SELF, SECCOMP_RET_ERRNO | (unsigned)answer->failure, 0) == 0);
    if (answer->failure) {
        must(landlock_restrict(ruleset, 1, false, &error) == -1);
    } else {
        must(landlock_restrict(ruleset, 1, false, &error) == 0);
        must(landlock_prove(&landlock_attempts[0], &error) == -1);
    }
    must_say(&error, answer);
}

static void a_filter_that_answers_for_the_abi_is_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(answers); i++)
        in_child(ask_for_abi, &answers[i]);
}

static void a_filter_that_answers_for_the_ruleset_is_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(answers); i++)
        in_child(ask_for_ruleset, &answers[i]);
}

static void a_filter_that_answers_for_the_restriction_is_told_apart(void **state)
{
    (void)state;
    need_landlock();
    for (size_t i = 0; i < array_size(answers); i++)
        in_child(ask_for_restriction, &answers[i]);
}

/* ---- Scopes announced and refused: RHEL 9.6 ---- */

/* Answers one call of the child under the filter: `failure` where it asks for scopes, else the kernel goes on. */
static void answer_as_rhel(int listener, pid_t child, int failure)
{
    struct seccomp_notif call = {0};
    struct seccomp_notif_resp response = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    struct landlock_access asked;
    char path[64];
    int memory;

    must(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    must(pread(memory, &asked, sizeof asked, (off_t)call.data.args[0]) == (ssize_t)sizeof asked);
    close(memory);
    response.id = call.id;
    if (asked.scoped) {
        response.flags = 0;
        response.error = -failure;
    }
    must(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0);
}

static void create_without_scopes(const void *context)
{
    struct landlock_access handled = {.fs = READ_FILE | READ_DIR, .scoped = 3};
    struct error error;
    int ruleset = landlock_create(&handled, &error);

    (void)context;
    must(ruleset > STDERR_FILENO);
    must(handled.fs == (READ_FILE | READ_DIR) && handled.net == 0 && handled.scoped == 0);
    must(landlock_restrict(ruleset, 1, false, &error) == 0);
    must(landlock_prove(&landlock_attempts[0], &error) == 0);
}

/* The filter is this process's and its child's; only the child makes the call. */
static void supervise(const void *context)
{
    const int *failure = context;
    int status,
        listener = (int)filter_call(CREATE_RULESET, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    pid_t child;

    must(listener >= 0);
    child = start_child(create_without_scopes, NULL);
    must(child > 0);
    answer_as_rhel(listener, child, *failure);
    answer_as_rhel(listener, child, *failure);
    must(waitpid(child, &status, 0) == child && status == 0);
}

static void a_kernel_that_refuses_scopes_gets_a_ruleset_without(void **state)
{
    static const int failures[] = {EINVAL, E2BIG};

    (void)state;
    need_landlock();
    for (size_t i = 0; i < array_size(failures); i++)
        in_child(supervise, &failures[i]);
}

/* ---- A kernel without Landlock, and no filter: a tracer takes the call away ---- */

#ifdef __x86_64__
static void ask_a_kernel_without_landlock(const void *context)
{
    struct error error;

    (void)context;
    must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    must(landlock_abi(&error) == -1);
    must(error.code == LANDLOCK_MISSING);
    must(!strncmp(error.message, REQUIREMENT "kernel ", strlen(REQUIREMENT "kernel ")));
    must(strstr(error.message, "is not built with it, or it is emulated"));
    must(strstr(error.hint, "CONFIG_SECURITY_LANDLOCK=y"));
}

/* Runs a traced child to its end; landlock_create_ruleset gets the number of no system call. */
static int take_call_away(pid_t child)
{
    struct user_regs_struct registers;
    int status;

    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0 && registers.orig_rax == CREATE_RULESET) {
            registers.orig_rax = (unsigned long long)-1;
            ptrace(PTRACE_SETREGS, child, NULL, &registers);
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    return status;
}

static bool is_filtered(void)
{
    char text[4096];

    return read_small_file("/proc/self/status", text, sizeof text) && !strstr(text, "\nSeccomp:\t0");
}

static void enosys_without_a_filter_is_a_kernel_without_landlock(void **state)
{
    pid_t child;

    (void)state;
    need(!is_filtered(), "process without a seccomp filter");
    child = start_child(ask_a_kernel_without_landlock, NULL);
    assert_int_not_equal(child, -1);
    assert_int_equal(take_call_away(child), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abi_is_what_the_kernel_answers),
        cmocka_unit_test(a_ruleset_handles_all_of_the_abi_and_is_close_on_exec),
        cmocka_unit_test(a_right_newer_than_the_kernel_is_refused),
        cmocka_unit_test(what_a_rule_allows_works_and_all_else_is_denied),
        cmocka_unit_test(restriction_takes_with_audit_and_without),
        cmocka_unit_test(a_rule_that_cannot_be_tells_why),
        cmocka_unit_test(a_port_rule_that_cannot_be_tells_why),
        cmocka_unit_test(the_seventeenth_layer_is_refused),
        cmocka_unit_test(every_attempt_proves_a_restriction),
        cmocka_unit_test(every_attempt_needs_the_one_right_that_it_names),
        cmocka_unit_test(the_first_attempt_lists_the_root),
        cmocka_unit_test(without_restriction_nothing_is_proved),
        cmocka_unit_test(a_failure_other_than_eacces_is_no_proof),
        cmocka_unit_test(a_filter_that_answers_for_the_abi_is_told_apart),
        cmocka_unit_test(a_filter_that_answers_for_the_ruleset_is_told_apart),
        cmocka_unit_test(a_filter_that_answers_for_the_restriction_is_told_apart),
        cmocka_unit_test(a_kernel_that_refuses_scopes_gets_a_ruleset_without),
#ifdef __x86_64__
        cmocka_unit_test(enosys_without_a_filter_is_a_kernel_without_landlock),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
