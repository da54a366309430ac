/*
 * lib/container/process.c and check.c: another process, with IDs and capabilities of its own, is looked at from here.
 */
#include "container_fixture.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { USER = 1000, OTHER = 2000, MOST_FINDINGS = 6 };

static void set_bounding_set(unsigned long long left)
{
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
        if (!(left >> i & 1))
            must(prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0);
}

/* ---- A process as it is told to be, while its child looks at it ---- */

struct process {
    uid_t uids[4];  /* real, effective, saved, filesystem */
    uid_t expected; /* what the policy names */
    unsigned long long permitted, effective, inheritable, ambient, bounding;
    const char *name; /* NULL: as it is */
    const char *messages[MOST_FINDINGS];
};

#define USERS(real, effective, saved, filesystem) .uids = {real, effective, saved, filesystem}
#define BIT(capability) (1ULL << (capability))
#define THE_USER USERS(USER, USER, USER, USER), .expected = USER

static void become(const struct process *process)
{
    unsigned long long all = capabilities("Prm");

    set_capabilities(all, all, process->inheritable); /* while the bounding set has it */
    set_bounding_set(process->bounding);
    must(!process->name || prctl(PR_SET_NAME, process->name) == 0);
    must(prctl(PR_SET_KEEPCAPS, 1) == 0);
    must(setresuid(process->uids[0], process->uids[1], process->uids[2]) == 0);
    set_capabilities(all, all, process->inheritable);
    setfsuid(process->uids[3]); /* returns the one before, whatever happened */
    must((uid_t)setfsuid((uid_t)-1) == process->uids[3]);
    for (int i = 0; i < 64; i++)
        if (process->ambient >> i & 1)
            must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0) == 0);
    set_capabilities(process->effective, process->permitted, process->inheritable);
    must(capabilities("Amb") == process->ambient && capabilities("Prm") == process->permitted);
}

static void look_at_parent(const struct process *process)
{
    const struct container_expectation expectation = {.uid = process->expected, .presets = CONTAINER_DOCKER};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .pid = getppid(), .findings = &findings};
    struct wanted_finding wanted[MOST_FINDINGS] = {{0}};
    struct error error = {0};
    size_t count = 0;

    for (; count < MOST_FINDINGS && process->messages[count]; count++)
        wanted[count] = (struct wanted_finding){process->messages[count], NULL};
    must(check_process(&check, &error) == 0);
    must(error.code == 0);
    must(are_found(&findings, wanted, count, "a process"));
}

static void become_and_be_looked_at(const void *context)
{
    pid_t child;
    int status;

    become(context);
    child = fork();
    if (child == 0) {
        look_at_parent(context);
        _exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void check_each(const struct process *table, size_t count)
{
    need(geteuid() == 0 && capabilities("Prm") >> CAP_SETPCAP & 1, "root with capabilities");
    for (size_t i = 0; i < count; i++)
        in_child(become_and_be_looked_at, &table[i]);
}

static void a_user_without_capabilities_is_fine(void **state)
{
    static const struct process table[] = {
        {THE_USER},
        {THE_USER, .name = "x\nUid:\t0\t0"},
        {.uids = {65534, 65534, 65534, 65534}, .expected = 65534},
        {.uids = {4294967294, 4294967294, 4294967294, 4294967294}, .expected = 4294967294},
        {.uids = {0, 0, 0, 0}, .expected = 0},
    };

    (void)state;
    check_each(table, array_size(table));
}

static void each_uid_must_be_the_one_that_is_named(void **state)
{
    static const struct process table[] = {
        {USERS(OTHER, USER, USER, USER), .expected = USER,
         .messages = {"the user is not UID 1000 but real UID 2000"}},
        {USERS(USER, OTHER, USER, USER), .expected = USER,
         .messages = {"the user is not UID 1000 but effective UID 2000"}},
        {USERS(USER, USER, OTHER, USER), .expected = USER,
         .messages = {"the user is not UID 1000 but saved UID 2000"}},
        {USERS(USER, USER, USER, OTHER), .expected = USER,
         .messages = {"the user is not UID 1000 but filesystem UID 2000"}},
        {USERS(USER, USER, 0, USER), .expected = USER,
         .messages = {"the user is not UID 1000 but saved UID 0"}},
        {USERS(0, USER, USER, OTHER), .expected = USER,
         .messages = {"the user is not UID 1000 but real UID 0, filesystem UID "
                      "2000"}},
        {USERS(0, 0, 0, 0), .expected = USER,
         .messages = {"the user is not UID 1000 but real UID 0, effective UID 0, saved "
                      "UID 0, filesystem UID 0"}},
        {USERS(4294967290, 4294967291, 4294967292, 4294967293), .expected = USER,
         .messages = {"the user is not UID 1000 but "
                      "real UID 4294967290, effective "
                      "UID 4294967291, "
                      "saved UID 4294967292, "
                      "filesystem UID 4294967293"}},
        {.uids = {USER, USER, USER, USER},
         .expected = 0,
         .messages = {"the user is not UID 0 but real UID 1000, effective UID 1000, saved UID 1000, "
                      "filesystem UID 1000"}},
        {USERS(OTHER, OTHER, OTHER, OTHER), .expected = 1001,
         .messages = {"the user is not UID 1001 but real UID 2000, effective UID 2000, saved UID 2000, "
                      "filesystem UID 2000"}},
    };

    (void)state;
    check_each(table, array_size(table));
}

#define NOT_EMPTY(set, names) "the " set " capability set is not empty: " names

/* As far as the kernel allows it: what is effective is permitted, what is ambient is permitted and inheritable. */
static void a_capability_in_one_set_alone_is_found(void **state)
{
    static const struct process table[] = {
        {THE_USER, .permitted = BIT(CAP_KILL), .messages = {NOT_EMPTY("permitted", "cap_kill")}},
        {THE_USER, .permitted = BIT(CAP_KILL), .effective = BIT(CAP_KILL),
         .messages = {NOT_EMPTY("effective", "cap_kill"), NOT_EMPTY("permitted", "cap_kill")}},
        {THE_USER, .inheritable = BIT(CAP_CHOWN), .messages = {NOT_EMPTY("inheritable", "cap_chown")}},
        {THE_USER, .permitted = BIT(CAP_CHOWN), .inheritable = BIT(CAP_CHOWN), .ambient = BIT(CAP_CHOWN),
         .messages = {NOT_EMPTY("permitted", "cap_chown"), NOT_EMPTY("inheritable", "cap_chown"),
                      NOT_EMPTY("ambient", "cap_chown")}},
        {THE_USER, .bounding = BIT(CAP_NET_RAW), .messages = {NOT_EMPTY("bounding", "cap_net_raw")}},
    };

    (void)state;
    check_each(table, array_size(table));
}

static void the_capabilities_of_a_set_are_named(void **state)
{
    static const struct process table[] = {
        {THE_USER, .permitted = BIT(CAP_CHOWN) | BIT(CAP_SETFCAP) | BIT(CAP_BLOCK_SUSPEND),
         .messages = {NOT_EMPTY("permitted", "cap_chown, cap_setfcap, cap_block_suspend")}},
        {THE_USER, .permitted = 0xff, /* as many as a line names */
         .messages = {NOT_EMPTY("permitted", "cap_chown, cap_dac_override, cap_dac_read_search, cap_fowner, "
                                             "cap_fsetid, cap_kill, cap_setgid, cap_setuid")}},
        {THE_USER, .permitted = 0x3ff,
         .messages = {NOT_EMPTY("permitted", "cap_chown, cap_dac_override, cap_dac_read_search, cap_fowner, "
                                             "cap_fsetid, cap_kill, cap_setgid, cap_setuid and 2 more")}},
        {THE_USER, .bounding = BIT(CAP_CHOWN), .messages = {NOT_EMPTY("bounding", "cap_chown")}},
        {THE_USER, .bounding = BIT(CAP_BLOCK_SUSPEND),
         .messages = {NOT_EMPTY("bounding", "cap_block_suspend")}},
        {THE_USER, .bounding = BIT(40), /* the last one that Linux 6.1 has */
         .messages = {NOT_EMPTY("bounding", "cap_checkpoint_restore")}},
    };

    (void)state;
    check_each(table, array_size(table));
}

static void the_user_and_the_sets_are_found_in_one_go(void **state)
{
    static const struct process table[] = {
        {USERS(0, USER, USER, USER), .expected = USER, .permitted = BIT(CAP_CHOWN),
         .effective = BIT(CAP_CHOWN), .inheritable = BIT(CAP_CHOWN) | BIT(CAP_KILL),
         .ambient = BIT(CAP_CHOWN), .bounding = BIT(CAP_KILL),
         .messages = {"the user is not UID 1000 but real UID 0", NOT_EMPTY("effective", "cap_chown"),
                      NOT_EMPTY("permitted", "cap_chown"), NOT_EMPTY("inheritable", "cap_chown, cap_kill"),
                      NOT_EMPTY("ambient", "cap_chown"), NOT_EMPTY("bounding", "cap_kill")}},
    };

    (void)state;
    check_each(table, array_size(table));
}

/* ---- Processes that are not there ---- */

static void a_process_that_is_not_there_is_an_error(void **state)
{
    const struct container_expectation expectation = {.uid = USER};
    pid_t gone = fork();
    pid_t processes[3];

    (void)state;
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    processes[0] = gone;
    processes[1] = 0;
    processes[2] = -1;
    for (size_t i = 0; i < array_size(processes); i++) {
        auto_findings struct container_findings findings = {0};
        struct check check = {.expectation = &expectation, .pid = processes[i], .findings = &findings};
        struct error error = {0};
        char wanted[128];

        snprintf(wanted, sizeof wanted, "/proc/%d/status: cannot be read: No such file or directory",
                 (int)processes[i]);
        assert_int_equal(check_process(&check, &error), -1);
        assert_int_equal(error.code, CONTAINER_ERROR);
        assert_string_equal(error.message, wanted);
        assert_int_equal(container_check(&expectation, processes[i], &findings, &error), -1);
        assert_string_equal(error.message, wanted);
        assert_int_equal(findings.count, 0);
    }
}

/* ---- /proc ---- */

static int check_myself(struct error *error, size_t *count)
{
    const struct container_expectation expectation = {.uid = USER, .presets = CONTAINER_DOCKER};
    auto_findings struct container_findings findings = {0};
    int result = container_check(&expectation, getpid(), &findings, error);

    *count = findings.count;
    return result;
}

static void must_not_be_checked(void)
{
    struct error error = {0};
    size_t count;

    must(check_myself(&error, &count) == -1 && count == 0);
    must(error.code == CONTAINER_ERROR);
    must(!strcmp(error.message, "/proc is missing, or is not that of this PID namespace"));
    must(strstr(error.hint, "mount /proc"));
}

static void must_be_checked(void)
{
    struct error error = {0};
    size_t count;

    must(check_myself(&error, &count) == 0 && count > 0);
}

static void enter_mount_namespace(int others)
{
    must(unshare(CLONE_NEWNS | others) == 0);
    must(mount("", "/", "", MS_REC | MS_PRIVATE, NULL) == 0);
}

/* In the first process of a new PID namespace. */
static void in_pid_namespace(void (*body)(void))
{
    pid_t child;
    int status;

    enter_mount_namespace(CLONE_NEWPID);
    child = fork();
    if (child == 0) {
        must(getpid() == 1);
        body();
        _exit(0);
    }
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void mount_own_proc(void)
{
    must_not_be_checked();
    must(mount("proc", "/proc", "proc", 0, "") == 0);
    must_be_checked();
}

static void another_pid_namespaces_proc(const void *context)
{
    (void)context;
    in_pid_namespace(mount_own_proc);
}

static void no_proc(const void *context)
{
    (void)context;
    enter_mount_namespace(0);
    must_be_checked();
    must(umount2("/proc", MNT_DETACH) == 0);
    must_not_be_checked();
}

/* What looks like it, but is not the kernel's. */
static void false_proc(const void *context)
{
    char name[32];

    (void)context;
    enter_mount_namespace(0);
    must(mount("tmpfs", "/proc", "tmpfs", 0, "") == 0);
    snprintf(name, sizeof name, "%d", (int)getpid());
    must(mkdir("/proc/sys", 0755) == 0 && symlink(name, "/proc/self") == 0);
    must_not_be_checked();
}

static bool may_mount(void)
{
    return geteuid() == 0 && capabilities("Eff") >> CAP_SYS_ADMIN & 1;
}

static void proc_must_be_that_of_this_pid_namespace(void **state)
{
    (void)state;
    need(may_mount(), "root who may mount");
    in_child(another_pid_namespaces_proc, NULL);
}

static void without_proc_nothing_is_checked(void **state)
{
    (void)state;
    need(may_mount(), "root who may mount");
    in_child(no_proc, NULL);
    in_child(false_proc, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_without_capabilities_is_fine),
        cmocka_unit_test(each_uid_must_be_the_one_that_is_named),
        cmocka_unit_test(a_capability_in_one_set_alone_is_found),
        cmocka_unit_test(the_capabilities_of_a_set_are_named),
        cmocka_unit_test(the_user_and_the_sets_are_found_in_one_go),
        cmocka_unit_test(a_process_that_is_not_there_is_an_error),
        cmocka_unit_test(proc_must_be_that_of_this_pid_namespace),
        cmocka_unit_test(without_proc_nothing_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
