/*
 * What the program inherits: descriptors, limits, no capabilities; and which of them is a terminal. Each
 * check changes a process for good, so each has a child of its own.
 */
#include "child.h"
#include "launch/internal.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

enum { NOBODY = 65534 };

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void must_fail(int result, const struct error *error, const char *message)
{
    must(result == -1);
    must(error->code == LAUNCH_DESCRIPTOR);
    if (strcmp(error->message, message) != 0) {
        dprintf(CHILD_REPORT_FD, "got:    %s\nwanted: %s\n", error->message, message);
        _exit(1);
    }
}

/* ---- launch_guard_streams() ---- */

/* What stands in for a stream: the null device, both ways, open for the program too. */
static bool is_null(int fd)
{
    struct stat status, null;

    return stat("/dev/null", &null) == 0 && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == null.st_rdev && fcntl(fd, F_GETFD) == 0 &&
           (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

static void guard_closed_streams(const void *context)
{
    const unsigned closed = *(const unsigned *)context;
    struct error error;
    unsigned stand_ins;

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        must(dup2(open("/proc/version", O_RDONLY | O_CLOEXEC), fd) == fd);
    must(syscall(SYS_close_range, STDERR_FILENO + 1, CHILD_REPORT_FD - 1, 0) == 0);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (closed & 1U << fd)
            close(fd);
    must(launch_guard_streams(&stand_ins, &error) == 0);
    must(stand_ins == closed);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        must(is_open(fd) && is_null(fd) == ((closed & 1U << fd) != 0));
    must(!is_open(STDERR_FILENO + 1));
}

static void closed_streams_are_opened_on_null_and_open_ones_left_alone(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++)
        in_child(guard_closed_streams, &closed);
}

static void guard_without_null(const void *context)
{
    const struct rlimit none = {0, 0};
    struct error error;
    unsigned stand_ins;

    (void)context;
    close(STDOUT_FILENO);
    must(setrlimit(RLIMIT_NOFILE, &none) == 0);
    must_fail(launch_guard_streams(&stand_ins, &error), &error,
              "descriptor 1 is closed and /dev/null cannot stand in for it: Too many open files");
}

static void a_closed_stream_that_null_cannot_stand_in_for_is_refused(void **state)
{
    (void)state;
    in_child(guard_without_null, NULL);
}

/* ---- launch_guard_streams() and launch_guard(), as one does after the other ---- */

struct guarded {
    const char *name;
    const char *path; /* opened as descriptor `fd`; NULL: it is closed */
    int flags, fd;
    int pass_fds[2];
    size_t pass_fd_count;
    int status_fd;
    const char *message; /* NULL: accepted */
};

static void guard(const void *context)
{
    const struct guarded *row = context;
    struct launch_request request = {
        .pass_fds = row->pass_fds, .pass_fd_count = row->pass_fd_count, .status_fd = row->status_fd};
    struct error error;
    int result;

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        must(dup2(open("/dev/null", O_RDWR | O_CLOEXEC), fd) == fd);
    close(row->fd);
    must(!row->path || dup2(open(row->path, row->flags | O_CLOEXEC), row->fd) == row->fd);
    result = launch_guard_streams(&request.stand_ins, &error) < 0 ? -1 : launch_guard(&request, &error);
    if (row->message)
        must_fail(result, &error, row->message);
    else
        must(result == 0);
}

#define IS_DIRECTORY " is a directory, which the program could list"
#define NOT_WRITABLE ": it is not open for writing"

static void the_callers_descriptors_are_checked(void **state)
{
    static const struct guarded table[] = {
        {"nothing asked for", "/dev/null", O_RDONLY, 30, {0}, 0, -1, NULL},
        {"directory on 0", "/", O_RDONLY, 0, {0}, 0, -1, "descriptor 0" IS_DIRECTORY},
        {"directory on 1", "/proc", O_RDONLY, 1, {0}, 0, -1, "descriptor 1" IS_DIRECTORY},
        {"directory on 2", "/", O_PATH, 2, {0}, 0, -1, "descriptor 2" IS_DIRECTORY},
        {"file on 0", "/proc/version", O_RDONLY, 0, {0}, 0, -1, NULL},
        {"closed 1", NULL, 0, 1, {0}, 0, -1, NULL},
        {"pass one that is closed", NULL, 0, 30, {30}, 1, -1, "--pass-fd 30: it is not open"},
        {"pass a second that is closed", NULL, 0, 31, {2, 31}, 2, -1, "--pass-fd 31: it is not open"},
        {"pass none of the numbers", NULL, 0, 30, {-1}, 1, -1, "--pass-fd -1: it is not open"},
        {"pass one that is open", "/proc/version", O_RDONLY, 30, {30}, 1, -1, NULL},
        {"pass a directory", "/", O_RDONLY, 30, {30}, 1, -1, NULL},
        {"pass a stream that is closed", NULL, 0, 0, {0}, 1, -1, "--pass-fd 0: it is not open"},
        {"status to a stream that is closed", NULL, 0, 2, {0}, 0, 2, "--status-fd 2" NOT_WRITABLE},
        {"status to one that is closed", NULL, 0, 30, {0}, 0, 30, "--status-fd 30" NOT_WRITABLE},
        {"status, read only", "/dev/null", O_RDONLY, 30, {0}, 0, 30, "--status-fd 30" NOT_WRITABLE},
        {"status to O_PATH", "/dev/null", O_PATH, 30, {0}, 0, 30, "--status-fd 30" NOT_WRITABLE},
        {"status to a directory", "/", O_RDONLY, 30, {0}, 0, 30, "--status-fd 30" NOT_WRITABLE},
        {"status, write only", "/dev/null", O_WRONLY, 30, {0}, 0, 30, NULL},
        {"status, both ways", "/dev/null", O_RDWR, 30, {0}, 0, 30, NULL},
        {"status to 2", "/dev/null", O_WRONLY, 2, {0}, 0, 2, NULL},
        {"status to 2, passed", "/dev/null", O_WRONLY, 2, {2}, 1, 2, NULL},
        {"status, passed",
         "/dev/null",
         O_WRONLY,
         30,
         {2, 30},
         2,
         30,
         "--pass-fd 30: it is the status descriptor, which the program must not have"},
        {"status and another passed", "/dev/null", O_WRONLY, 30, {1, 2}, 2, 30, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        if (run_child(guard, &table[i]) != 0)
            fail_msg("%s", table[i].name);
}

/* ---- pass_descriptors() ---- */

static void pass(const void *context)
{
    enum { PASSED = 40, PIPE = 41, KEPT_BACK = 42 };
    static const int pass_fds[] = {STDIN_FILENO, PASSED};
    struct launch_request request = {.pass_fds = pass_fds, .pass_fd_count = array_size(pass_fds)};
    struct launch_pipe pipe = {.fd = PIPE};
    struct launch launch = {.request = &request, .pipes = &pipe, .pipe_count = 1};
    struct error error;

    (void)context;
    for (int fd = PASSED; fd <= KEPT_BACK; fd++)
        must(dup2(STDIN_FILENO, fd) == fd);
    must(fcntl(PIPE, F_SETFD, FD_CLOEXEC) == 0);
    must(pass_descriptors(&launch, &error) == 0);
    for (int fd = STDIN_FILENO; fd <= CHILD_REPORT_FD; fd++)
        if (is_open(fd))
            must(fcntl(fd, F_GETFD) == (fd <= STDERR_FILENO || fd == PASSED || fd == PIPE ? 0 : FD_CLOEXEC));
    must(is_open(KEPT_BACK));
}

static void all_but_the_streams_and_what_is_passed_is_closed_on_execution(void **state)
{
    (void)state;
    in_child(pass, NULL);
}

/* ---- set_limits() ---- */

struct limited {
    int resource;
    struct rlimit before;
    bool is_set;
    rlim_t value;
    struct rlimit after;
};

static void limit(const void *context)
{
    const struct limited *row = context;
    struct policy policy = {0};
    struct rlimit after;
    struct error error;

    policy.limits[row->resource].is_set = row->is_set;
    policy.limits[row->resource].value = row->value;
    must(setrlimit(row->resource, &row->before) == 0);
    must(set_limits(&policy, &error) == 0);
    must(getrlimit(row->resource, &after) == 0);
    must(after.rlim_cur == row->after.rlim_cur && after.rlim_max == row->after.rlim_max);
}

static void limits_are_only_ever_lowered_and_core_is_always_none(void **state)
{
    static const struct limited table[] = {
        {RLIMIT_FSIZE, {100, 200}, true, 50, {50, 50}},
        {RLIMIT_FSIZE, {100, 200}, true, 150, {100, 150}},
        {RLIMIT_FSIZE, {100, 200}, true, 200, {100, 200}},
        {RLIMIT_FSIZE, {100, 200}, true, 1000, {100, 200}},
        {RLIMIT_FSIZE, {100, 200}, true, RLIM_INFINITY, {100, 200}},
        {RLIMIT_FSIZE, {100, 200}, true, 0, {0, 0}},
        {RLIMIT_FSIZE, {100, 200}, false, 0, {100, 200}},
        {RLIMIT_NOFILE, {20, 30}, true, 25, {20, 25}},
        {RLIMIT_CORE, {0, 0}, false, 0, {0, 0}},
        {RLIMIT_CORE, {100, 200}, false, 0, {0, 0}},
        {RLIMIT_CORE, {100, 200}, true, 50, {0, 0}},
        {RLIMIT_CORE, {100, 200}, true, RLIM_INFINITY, {0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        if (run_child(limit, &table[i]) != 0)
            fail_msg("row %zu", i);
}

static rlim_t least(rlim_t a, rlim_t b)
{
    return a < b ? a : b;
}

/* With the number that setrlimit(2) has for it, and no other limit touched but core. */
static void limit_one(const void *context)
{
    enum { VALUE = 60 };
    const int limited = *(const int *)context;
    struct rlimit before[RLIM_NLIMITS], after;
    struct policy policy = {0};
    struct error error;

    for (int resource = 0; resource < RLIM_NLIMITS; resource++)
        must(getrlimit(resource, &before[resource]) == 0);
    policy.limits[limited].is_set = true;
    policy.limits[limited].value = VALUE;
    before[limited].rlim_cur = least(before[limited].rlim_cur, VALUE);
    before[limited].rlim_max = least(before[limited].rlim_max, VALUE);
    before[RLIMIT_CORE].rlim_cur = before[RLIMIT_CORE].rlim_max = 0;
    must(set_limits(&policy, &error) == 0);
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        must(getrlimit(resource, &after) == 0);
        must(after.rlim_cur == before[resource].rlim_cur && after.rlim_max == before[resource].rlim_max);
    }
}

static void every_resource_is_limited_by_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < policy_resource_count; i++)
        if (run_child(limit_one, &policy_resource_table[i].resource) != 0)
            fail_msg("%s", policy_resource_table[i].name);
}

/* ---- Terminals ---- */

static void tell_terminals(const void *context)
{
    int terminal = open_terminal();
    const int passed[] = {STDOUT_FILENO, terminal};
    struct launch_request request = {.pass_fds = passed, .status_fd = -1};

    (void)context;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        must(dup2(open("/dev/null", O_RDWR | O_CLOEXEC), fd) == fd);
    must(!has_terminal(&request));
    request.pass_fd_count = 1;
    must(!has_terminal(&request));
    request.pass_fd_count = 2;
    must(has_terminal(&request));
    request.pass_fd_count = 0;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        must(dup2(terminal, fd) == fd && has_terminal(&request));
        must(dup2(open("/dev/null", O_RDWR | O_CLOEXEC), fd) == fd && !has_terminal(&request));
    }
}

static void a_terminal_is_seen_on_every_descriptor_that_the_program_gets(void **state)
{
    (void)state;
    in_child(tell_terminals, NULL);
}

/* ---- Capabilities ---- */

#define NONE 0ULL

static void must_have_no_capabilities(void)
{
    static const char *const sets[] = {"Inh", "Prm", "Eff", "Amb"};
    struct error error;

    must(launch_drop_capabilities(&error) == 0);
    for (size_t i = 0; i < array_size(sets); i++)
        must(capabilities(sets[i]) == NONE);
}

static void drop_all(const void *context)
{
    unsigned long long all = capabilities("Prm");

    (void)context;
    must(all & 1ULL << CAP_SETPCAP);
    set_capabilities(all, all, all);
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) == 0);
    must(capabilities("Amb") == 1ULL << CAP_CHOWN);
    must_have_no_capabilities();
    must(capabilities("Bnd") == NONE);
    must_have_no_capabilities();
}

static void drop_without_setpcap(const void *context)
{
    unsigned long long bounding = capabilities("Bnd"), few = 1ULL << CAP_KILL | 1ULL << CAP_CHOWN;

    (void)context;
    set_capabilities(few, few, few);
    must_have_no_capabilities();
    must(capabilities("Bnd") == bounding);
}

/* Each set alone must be seen. */
static void drop_permitted_only(const void *context)
{
    (void)context;
    set_capabilities(NONE, 1ULL << CAP_KILL, NONE);
    must_have_no_capabilities();
}

static void drop_inheritable_only(const void *context)
{
    (void)context;
    set_capabilities(NONE, NONE, 1ULL << CAP_KILL);
    must_have_no_capabilities();
}

/* The second half of the sets, bits 32 and above. */
static void drop_upper_half_only(const void *context)
{
    (void)context;
    set_capabilities(NONE, 1ULL << CAP_BLOCK_SUSPEND, NONE);
    must_have_no_capabilities();
}

static void drop_nothing(const void *context)
{
    unsigned long long bounding = capabilities("Bnd");

    (void)context;
    must(geteuid() != 0 || setresuid(NOBODY, NOBODY, NOBODY) == 0);
    must_have_no_capabilities();
    must(capabilities("Bnd") == bounding);
}

static bool has_capability(int capability)
{
    return geteuid() == 0 && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
}

static void roots_capabilities_are_all_dropped(void **state)
{
    (void)state;
    need(has_capability(CAP_SETPCAP) && has_capability(CAP_CHOWN), "root with capabilities");
    in_child(drop_all, NULL);
}

static void without_setpcap_all_but_the_bounding_set_is_dropped(void **state)
{
    (void)state;
    need(has_capability(CAP_KILL) && has_capability(CAP_CHOWN), "root with capabilities");
    in_child(drop_without_setpcap, NULL);
}

static void a_capability_in_one_set_alone_is_dropped(void **state)
{
    (void)state;
    need(has_capability(CAP_KILL), "root with capabilities");
    in_child(drop_permitted_only, NULL);
    in_child(drop_inheritable_only, NULL);
    need(has_capability(CAP_BLOCK_SUSPEND), "root with CAP_BLOCK_SUSPEND");
    in_child(drop_upper_half_only, NULL);
}

static void without_capabilities_there_is_nothing_to_drop(void **state)
{
    (void)state;
    in_child(drop_nothing, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_streams_are_opened_on_null_and_open_ones_left_alone),
        cmocka_unit_test(a_closed_stream_that_null_cannot_stand_in_for_is_refused),
        cmocka_unit_test(the_callers_descriptors_are_checked),
        cmocka_unit_test(all_but_the_streams_and_what_is_passed_is_closed_on_execution),
        cmocka_unit_test(limits_are_only_ever_lowered_and_core_is_always_none),
        cmocka_unit_test(every_resource_is_limited_by_itself),
        cmocka_unit_test(a_terminal_is_seen_on_every_descriptor_that_the_program_gets),
        cmocka_unit_test(roots_capabilities_are_all_dropped),
        cmocka_unit_test(without_setpcap_all_but_the_bounding_set_is_dropped),
        cmocka_unit_test(a_capability_in_one_set_alone_is_dropped),
        cmocka_unit_test(without_capabilities_there_is_nothing_to_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
