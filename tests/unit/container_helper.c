/*
 * lib/launch/helper.c: whatever the helper is or does, it is trusted only where it may be, waited for only so long, and gone
 * afterwards. It is compiled anew for this test, with a name in the working directory and a deadline that the test sets.
 */
#include "container_helper.h"

#include "child.h"
#include "launch/internal.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <time.h>

enum { USER = 1000, OTHER = 2000, MOST_ARGUMENTS = 8, LONG_MS = 25000, SHORT_MS = 1000 };

#define FILE_HINT "install landlock-exec whole"
#define SLOW_HINT "a mount that does not answer"
#define TOO_SLOW "did not end in time"

int helper_deadline_ms = LONG_MS; /* no test of something else meets it, however busy the machine */

static char role_program[PATH_MAX], folder[] = "/tmp/unit-container_helper-XXXXXX";

/* ---- The helper's file ---- */

static void put_helper(void)
{
    auto_close int from = open(role_program, O_RDONLY | O_CLOEXEC), to = -1;
    struct stat status = {0};

    unlink(CHECK_CONTAINER);
    to = open(CHECK_CONTAINER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (from < 0 || to < 0 || fstat(from, &status) < 0)
        fail_msg("%s: %s", role_program, strerror(errno));
    for (off_t left = status.st_size; left > 0;) {
        ssize_t count = sendfile(to, from, NULL, (size_t)left);

        assert_true(count > 0);
        left -= count;
    }
    assert_int_equal(fchmod(to, 0755), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chmod(folder, 0755) < 0 || chdir(folder) < 0)
        return -1;
    return prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the helper leaves behind is seen */
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(CHECK_CONTAINER);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static int fresh_helper(void **state)
{
    (void)state;
    put_helper();
    return 0;
}

/* ---- Running it ---- */

struct run {
    struct helper_answer answer;
    struct error error;
    int result;
    long milliseconds;
};

#define auto_run __attribute__((cleanup(free_run)))

static void free_run(struct run *run)
{
    free(run->answer.bytes);
}

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool has_children(void)
{
    return waitpid(-1, NULL, WNOHANG | __WALL) >= 0 || errno != ECHILD;
}

/* Runs the helper with the words after its name. What it must leave is the same in every case. In a child or in the test itself. */
static struct run run_words(const char *const *words, bool may_leave_others)
{
    struct run run = {.result = 0};
    char *arguments[MOST_ARGUMENTS + 2] = {(char *)CHECK_CONTAINER};
    size_t before = open_descriptors();
    long start = now();

    for (size_t i = 0; words[i]; i++)
        arguments[i + 1] = (char *)words[i];
    run.result = run_helper(arguments, &run.answer, &run.error);
    run.milliseconds = now() - start;
    if (!may_leave_others && has_children()) {
        dprintf(STDERR_FILENO, "%s: a process is left\n", words[0]);
        abort();
    }
    if (open_descriptors() != before) {
        dprintf(STDERR_FILENO, "%s: a descriptor is left\n", words[0]);
        abort();
    }
    return run;
}

#define RUN(...) run_words((const char *const[]){__VA_ARGS__, NULL}, false)

/* One that does not end by itself. */
static struct run run_briefly(const char *const *words, bool may_leave_others)
{
    struct run run;

    helper_deadline_ms = SHORT_MS;
    run = run_words(words, may_leave_others);
    helper_deadline_ms = LONG_MS;
    return run;
}

#define RUN_BRIEFLY(...) run_briefly((const char *const[]){__VA_ARGS__, NULL}, false)

static void assert_refused(const struct run *run, const char *why, const char *hint)
{
    char wanted[256];

    snprintf(wanted, sizeof wanted, "container: " CHECK_CONTAINER ": %s", why);
    assert_int_equal(run->result, -1);
    assert_int_equal(run->error.code, LAUNCH_CONTAINER);
    assert_string_equal(run->error.message, wanted);
    if (hint ? !strstr(run->error.hint, hint) : run->error.hint[0])
        fail_msg("%s\n  hint: %s", wanted, run->error.hint);
}

/* ---- What it may be ---- */

static void a_helper_that_is_missing_is_refused(void **state)
{
    (void)state;
    assert_int_equal(unlink(CHECK_CONTAINER), 0);
    auto_run struct run run = RUN("got");
    assert_refused(&run, "No such file or directory", FILE_HINT);
}

static void a_helper_that_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(kind ? unlink(CHECK_CONTAINER) : rename(CHECK_CONTAINER, "elsewhere"), 0);
        if (kind == 0)
            assert_int_equal(symlink("elsewhere", CHECK_CONTAINER), 0);
        else if (kind == 1)
            assert_int_equal(symlink("/bin/true", CHECK_CONTAINER), 0);
        else if (kind == 2)
            assert_int_equal(mkfifo(CHECK_CONTAINER, 0700), 0);
        else
            assert_int_equal(mkdir(CHECK_CONTAINER, 0700), 0);
        auto_run struct run run = RUN("got");
        assert_refused(&run, "is not a regular file", FILE_HINT);
    }
    assert_int_equal(rmdir(CHECK_CONTAINER), 0);
    unlink("elsewhere");
}

static void a_helper_that_others_may_write_is_refused(void **state)
{
    static const mode_t modes[] = {0775, 0757, 0777, 0722, 0720, 0702, 02775};

    (void)state;
    for (size_t i = 0; i < array_size(modes); i++) {
        assert_int_equal(chmod(CHECK_CONTAINER, modes[i]), 0);
        auto_run struct run run = RUN("got");
        assert_refused(&run, "others may write it", FILE_HINT);
    }
}

struct owned {
    uid_t owner, caller;
    bool is_fine;
};

static void run_as(const void *context)
{
    const struct owned *row = context;

    must(setresuid(row->caller, row->caller, row->caller) == 0);
    auto_run struct run run = RUN("say", "", "", "0");
    must(run.result == (row->is_fine ? 0 : -1));
    must(row->is_fine || strstr(run.error.message, "belongs to another user"));
}

static void a_helper_belongs_to_root_or_to_the_caller(void **state)
{
    static const struct owned table[] = {{0, 0, true},      {0, USER, true},      {USER, USER, true},
                                         {OTHER, 0, false}, {OTHER, USER, false}, {USER, OTHER, false},
                                         {65534, 0, false}, {65534, USER, false}};

    (void)state;
    need(geteuid() == 0, "root");
    for (size_t i = 0; i < array_size(table); i++) {
        assert_int_equal(chown(CHECK_CONTAINER, table[i].owner, 0), 0);
        in_child(run_as, &table[i]);
    }
}

/* The real UID is the caller's. */
static void run_with_another_effective_uid(const void *context)
{
    (void)context;
    must(setresuid(USER, OTHER, OTHER) == 0);
    auto_run struct run run = RUN("say", "", "", "0");
    must(run.result == -1 && strstr(run.error.message, "belongs to another user"));
}

static void the_caller_is_the_real_user(void **state)
{
    (void)state;
    need(geteuid() == 0, "root");
    assert_int_equal(chown(CHECK_CONTAINER, OTHER, 0), 0);
    in_child(run_with_another_effective_uid, NULL);
}

/* Users that this namespace does not map are not told apart, and the outer root is one of them. */
static void run_in_a_user_namespace(const void *context)
{
    (void)context;
    must(unshare(CLONE_NEWUSER) == 0);
    auto_close int map = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    must(write(map, "1000 0 1", 8) == 8);
    must(getuid() == USER);
    auto_run struct run run = RUN("say", "", "", "0");
    must(run.result == 0 && run.answer.status == 0);
}

static void try_user_namespace(const void *context)
{
    (void)context;
    must(unshare(CLONE_NEWUSER) == 0);
}

static void a_helper_of_the_outer_root_is_fine_in_a_user_namespace(void **state)
{
    (void)state;
    need(geteuid() == 0 && run_child(try_user_namespace, NULL) == 0, "user namespaces");
    assert_int_equal(chown(CHECK_CONTAINER, OTHER, 0), 0);
    in_child(run_in_a_user_namespace, NULL);
}

/* ---- What cannot be executed has an exit status that is not 0 or 1, and a complaint ---- */

static void assert_not_executed(const char *why)
{
    auto_run struct run run = RUN("got");

    assert_int_equal(run.result, 0);
    assert_true(WIFEXITED(run.answer.status));
    assert_int_equal(WEXITSTATUS(run.answer.status), CONTAINER_NOT_CHECKED);
    assert_int_equal(run.answer.size, 0);
    assert_string_equal(run.answer.complaint, why);
}

static void write_helper(const char *text)
{
    auto_close int fd = open(CHECK_CONTAINER, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

static void a_helper_that_cannot_be_executed_complains(void **state)
{
    (void)state;
    assert_int_equal(chmod(CHECK_CONTAINER, 0644), 0);
    assert_not_executed("executing it: Permission denied");
    assert_int_equal(chmod(CHECK_CONTAINER, 0755), 0);
    write_helper("");
    assert_not_executed("executing it: Exec format error");
    write_helper("\x7f"
                 "ELF");
    assert_not_executed("executing it: Exec format error");
    write_helper("#!/bin/true\n"); /* a script would need a descriptor that stays open */
    assert_not_executed("executing it: No such file or directory");
}

/* ---- What it gets ---- */

static void it_gets_its_arguments_and_nothing_else(void **state)
{
    static const char wanted[] = "argument uid=1\nargument \nargument two words\nargument \xff\n"
                                 "descriptor 0\ndescriptor 1\ndescriptor 2\ninput 0\n";
    int inherited[3];

    (void)state;
    assert_int_equal(setenv("LD_DEBUG", "help", 1), 0);
    assert_int_equal(setenv("A_SECRET", "x", 1), 0);
    inherited[0] = open("/dev/null", O_RDWR);
    inherited[1] = fcntl(inherited[0], F_DUPFD, 50);
    inherited[2] = fcntl(inherited[0], F_DUPFD, 500);
    auto_run struct run run = RUN("got", "uid=1", "", "two words", "\xff");
    for (size_t i = 0; i < array_size(inherited); i++)
        close(inherited[i]);
    unsetenv("LD_DEBUG");
    unsetenv("A_SECRET");
    assert_int_equal(run.result, 0);
    assert_int_equal(run.answer.status, 0);
    assert_int_equal(run.answer.size, strlen(wanted));
    assert_memory_equal(run.answer.bytes, wanted, strlen(wanted));
    assert_string_equal(run.answer.complaint, "");
}

static void its_standard_input_is_not_the_callers(void **state)
{
    int ends[2], kept = dup(STDIN_FILENO);
    char byte;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    auto_run struct run run = RUN("got");
    dup2(kept, STDIN_FILENO);
    assert_non_null(run.answer.bytes);
    assert_int_equal(run.answer.size, strlen("descriptor 0\ndescriptor 1\ndescriptor 2\ninput 0\n"));
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    close(kept);
}

/* ---- How it ends ---- */

struct said {
    const char *output, *complaint, *status;
    int exit_status;
    const char *wanted_complaint;
};

static void what_it_says_and_how_it_ends_is_passed_on(void **state)
{
    static const struct said table[] = {
        {"", "", "0", 0, ""},
        {"output", "", "0", 0, ""},
        {"output", "complaint", "1", 1, "complaint"},
        {"", "", "1", 1, ""},
        {"", "complaint\n", "2", 2, "complaint"},
        {"", "one\ntwo\n\nthree\n\n\n", "3", 3, "one two  three"},
        {"", "\n", "127", 127, ""},
        {"", "\n\n", "255", 255, ""},
        {"output\n", "\nx", "0", 0, " x"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        const struct said *row = &table[i];
        auto_run struct run run = RUN("say", row->output, row->complaint, row->status);

        assert_int_equal(run.result, 0);
        assert_true(WIFEXITED(run.answer.status));
        assert_int_equal(WEXITSTATUS(run.answer.status), row->exit_status);
        assert_int_equal(run.answer.size, strlen(row->output));
        assert_memory_equal(run.answer.bytes, row->output, run.answer.size);
        assert_string_equal(run.answer.complaint, row->wanted_complaint);
    }
}

static void a_signal_that_ended_it_is_passed_on(void **state)
{
    static const char *const signals[] = {"6", "9", "15", "31"};

    (void)state;
    for (size_t i = 0; i < array_size(signals); i++) {
        auto_run struct run run = RUN("signal", signals[i]);

        assert_int_equal(run.result, 0);
        assert_true(WIFSIGNALED(run.answer.status));
        assert_int_equal(WTERMSIG(run.answer.status), strtol(signals[i], NULL, 10));
    }
}

static void all_that_it_writes_is_read(void **state)
{
    static const char *const amounts[] = {"1", "4095", "4096", "4097", "65536", "65537", "1000000"};

    (void)state;
    for (size_t i = 0; i < array_size(amounts); i++) {
        size_t amount = strtoul(amounts[i], NULL, 10);
        auto_run struct run run = RUN("bytes", amounts[i]);

        assert_int_equal(run.result, 0);
        assert_int_equal(run.answer.status, 0);
        assert_int_equal(run.answer.size, amount);
        for (size_t k = 0; k < amount; k++)
            if (run.answer.bytes[k] != ((amount - k) & 1 ? 'x' : '\0'))
                fail_msg("byte %zu of %zu is another", k, amount);
    }
}

static void too_much_is_refused(void **state)
{
    (void)state;
    auto_run struct run many = RUN("bytes", "1100000"), flood = RUN("flood");
    assert_refused(&many, "says too much", NULL);
    assert_refused(&flood, "says too much", NULL);
}

static void complaints_do_not_block_it_and_are_cut_short(void **state)
{
    auto_run struct run run = RUN("complain-much");

    (void)state;
    assert_int_equal(run.result, 0);
    assert_int_equal(run.answer.status, 0);
    assert_int_equal(strncmp(run.answer.complaint, "the first line more more ", 25), 0);
    assert_int_equal(strlen(run.answer.complaint), sizeof run.answer.complaint - 1);
}

/* ---- Those that do not end ---- */

static void assert_too_slow(const struct run *run)
{
    assert_refused(run, TOO_SLOW, SLOW_HINT);
    assert_in_range(run->milliseconds, SHORT_MS, LONG_MS);
}

static void a_helper_that_does_not_end_is_ended(void **state)
{
    (void)state;
    auto_run struct run sleeping = RUN_BRIEFLY("sleep", "60000"), closed = RUN_BRIEFLY("close"),
                        complaining = RUN_BRIEFLY("complain-for-ever");
    assert_too_slow(&sleeping);
    assert_too_slow(&closed);
    assert_too_slow(&complaining);
}

static void a_grandchild_that_keeps_the_output_open_is_not_waited_for(void **state)
{
    auto_run struct run run = run_briefly((const char *const[]){"grandchild", NULL}, true);
    char children[64];
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (read_small_file(path, children, sizeof children))
        for (char *at = children; strtol(at, NULL, 10) > 0; at = strchr(at, ' ') + 1)
            kill((pid_t)strtol(at, NULL, 10), SIGKILL); /* adopted: the test is the subreaper */
    while (waitpid(-1, NULL, __WALL) > 0)
        continue;
    assert_too_slow(&run);
}

static volatile sig_atomic_t interruptions;

static void count_interruption(int signal)
{
    (void)signal;
    interruptions++;
}

static void run_interrupted(const void *context)
{
    const struct sigaction action = {.sa_handler = count_interruption}; /* without SA_RESTART */
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};

    (void)context;
    must(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    auto_run struct run slow = RUN("sleep", "300"), writing = RUN("bytes", "900000"),
                        sleeping = RUN_BRIEFLY("sleep", "60000");
    must(setitimer(ITIMER_REAL, &never, NULL) == 0);
    must(interruptions > 10);
    must(slow.result == 0 && slow.answer.status == 0);
    must(writing.result == 0 && writing.answer.size == 900000);
    must(sleeping.result == -1 && sleeping.milliseconds >= SHORT_MS && sleeping.milliseconds < LONG_MS);
}

static void signals_do_not_shorten_the_wait_nor_lengthen_it(void **state)
{
    (void)state;
    in_child(run_interrupted, NULL);
}

/* ---- SIGCHLD ---- */

struct child_signal {
    void (*handler)(int);
    int flags;
    bool is_blocked;
};

static volatile sig_atomic_t child_signals;

static void count_child_signal(int signal)
{
    (void)signal;
    child_signals++;
}

static bool is_pending(int signal)
{
    sigset_t pending;

    must(sigpending(&pending) == 0);
    return sigismember(&pending, signal);
}

static void run_with_child_signal(const void *context)
{
    const struct child_signal *row = context;
    struct sigaction action = {.sa_handler = row->handler, .sa_flags = row->flags}, after;
    sigset_t set, mask;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    must(sigaction(SIGCHLD, &action, NULL) == 0);
    must(sigprocmask(row->is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL) == 0);
    auto_run struct run fine = RUN("say", "output", "", "1"), refused = RUN("flood");
    must(fine.result == 0 && WEXITSTATUS(fine.answer.status) == 1 && fine.answer.size == 6);
    must(refused.result == -1 && strstr(refused.error.message, "says too much"));
    must(!is_pending(SIGCHLD) && child_signals == 0);
    must(sigaction(SIGCHLD, NULL, &after) == 0 && sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
    must(after.sa_handler == row->handler && (after.sa_flags & SA_NOCLDWAIT) == (row->flags & SA_NOCLDWAIT));
    must(sigismember(&mask, SIGCHLD) == row->is_blocked);
}

static void what_the_caller_does_about_children_does_not_matter(void **state)
{
    static const struct child_signal table[] = {
        {SIG_DFL, 0, false},
        {SIG_DFL, 0, true},
        {SIG_IGN, 0, false},
        {SIG_IGN, 0, true},
        {SIG_DFL, SA_NOCLDWAIT, false},
        {SIG_DFL, SA_NOCLDWAIT, true},
        {count_child_signal, 0, false},
        {count_child_signal, 0, true},
    };
    size_t failures = 0;

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        failures += run_child(run_with_child_signal, &table[i]) != 0;
    assert_int_equal(failures, 0);
}

/* ---- Its end with the launcher's ---- */

static void launch_and_be_ended(const void *context)
{
    char *const arguments[] = {(char *)CHECK_CONTAINER, (char *)"tell", (char *)"waits", NULL};
    struct helper_answer answer = {0};
    struct error error;

    (void)context;
    run_helper(arguments, &answer, &error);
}

static void it_ends_with_the_launcher(void **state)
{
    pid_t launcher = start_child(launch_and_be_ended, NULL), helper;
    int status = 0;

    (void)state;
    while (unlink("waits") < 0) {
        assert_int_equal(waitpid(launcher, &status, WNOHANG), 0); /* else nobody is left to tell */
        poll(NULL, 0, 5);
    }
    assert_int_equal(kill(launcher, SIGKILL), 0);
    assert_int_equal(waitpid(launcher, &status, 0), launcher);
    helper = waitpid(-1, &status, __WALL); /* adopted: the test is the subreaper */
    assert_true(helper > 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(has_children());
}

/* ---- What runs out ---- */

static void run_without_processes(const void *context)
{
    const struct rlimit none = {0, 0};

    (void)context;
    must(setrlimit(RLIMIT_NPROC, &none) == 0);
    must(geteuid() != 0 || setresuid(USER, USER, USER) == 0);
    auto_run struct run run = RUN("got");
    must(run.result == -1 && run.error.code == LAUNCH_CONTAINER);
    must(strstr(run.error.message, ": Resource temporarily unavailable"));
    must(strstr(run.error.hint, "--pids-limit"));
}

static void without_a_process_for_it_it_is_refused(void **state)
{
    (void)state;
    in_child(run_without_processes, NULL);
}

/* The limits under which nothing works, then all: never anything between an error and an answer. */
static void run_with_few_descriptors(const void *context)
{
    bool is_fine = false;
    size_t before;

    (void)context;
    must(close_range(STDERR_FILENO + 1, CHILD_REPORT_FD - 1, 0) == 0);
    before = open_descriptors();
    for (rlim_t most = STDERR_FILENO + 1; most < 16; most++) {
        const struct rlimit limit = {most, 1024};
        const struct rlimit enough = {1024, 1024};
        char *const arguments[] = {
            (char *)CHECK_CONTAINER, (char *)"say", (char *)"", (char *)"", (char *)"0", NULL};
        struct helper_answer answer = {0};
        struct error error = {0};
        int result;

        must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        result = run_helper(arguments, &answer, &error);
        must(setrlimit(RLIMIT_NOFILE, &enough) == 0);
        free(answer.bytes);
        must(!has_children());
        must(open_descriptors() == before);
        must(result == 0 || (error.code == LAUNCH_CONTAINER && strstr(error.message, ": Too many open "
                                                                                     "files")));
        is_fine = result == 0 && answer.status == 0;
        must(most > STDERR_FILENO + 1 || !is_fine);
    }
    must(is_fine);
}

static void without_descriptors_for_it_it_is_refused(void **state)
{
    (void)state;
    in_child(run_with_few_descriptors, NULL);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh_helper)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        TEST(a_helper_that_is_missing_is_refused),
        TEST(a_helper_that_is_no_regular_file_is_refused),
        TEST(a_helper_that_others_may_write_is_refused),
        TEST(a_helper_belongs_to_root_or_to_the_caller),
        TEST(the_caller_is_the_real_user),
        TEST(a_helper_of_the_outer_root_is_fine_in_a_user_namespace),
        TEST(a_helper_that_cannot_be_executed_complains),
        TEST(it_gets_its_arguments_and_nothing_else),
        TEST(its_standard_input_is_not_the_callers),
        TEST(what_it_says_and_how_it_ends_is_passed_on),
        TEST(a_signal_that_ended_it_is_passed_on),
        TEST(all_that_it_writes_is_read),
        TEST(too_much_is_refused),
        TEST(complaints_do_not_block_it_and_are_cut_short),
        TEST(a_helper_that_does_not_end_is_ended),
        TEST(a_grandchild_that_keeps_the_output_open_is_not_waited_for),
        TEST(signals_do_not_shorten_the_wait_nor_lengthen_it),
        TEST(what_the_caller_does_about_children_does_not_matter),
        TEST(it_ends_with_the_launcher),
        TEST(without_a_process_for_it_it_is_refused),
        TEST(without_descriptors_for_it_it_is_refused),
    };
    char path[PATH_MAX];
    const char *slash = strrchr(arguments[0], '/');

    (void)count;
    snprintf(path, sizeof path, "%.*s/container-role", slash ? (int)(slash - arguments[0]) : 1,
             slash ? arguments[0] : ".");
    if (!realpath(path, role_program))
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
