/*
 * What a denial is told as, the lines that are made of it, and where a path leads: of this process, in the place of a tracee. Watching
 * processes is tests/policy's.
 */
#include "allocations.h"
#include "base/architecture.h"
#include "trace/internal.h"
#include "verdict_fixture.h"

#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct trace_report report;
static struct trace_guards guards;

/* Another call of this process that has failed. */
static struct failed_call failed_call(struct fixture *fixture)
{
    static unsigned long serial;

    serial++;
    return (struct failed_call){.launch = &fixture->launch,
                                .guards = &guards,
                                .report = &report,
                                .tid = getpid(),
                                .name = "openat",
                                .serial = serial,
                                .failure = EACCES};
}

static void deny(struct fixture *fixture, policy_rights rights, const char *name)
{
    struct failed_call call = failed_call(fixture);

    deny_path(&call, rights, path_in(fixture, name));
    assert_false(call.is_out_of_memory);
}

static const struct trace_denial *last_denial(void)
{
    assert_int_not_equal(report.count, 0);
    return report.denials[report.count - 1];
}

static int forget(void **state)
{
    trace_report_free(&report);
    return remove_fixture(state);
}

/* ---- Denials ---- */

static void what_is_denied_is_told_once(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "file", 0600, "");
    make_file(fixture, "other", 0600, "");
    prepare(fixture, 0, "allow read_file %/other");
    deny(fixture, POLICY_READ_FILE, "file");
    deny(fixture, POLICY_WRITE_FILE, "file");
    deny(fixture, POLICY_READ_FILE, "other");
    assert_int_equal(report.count, 1);
    assert_int_equal(last_denial()->rights, POLICY_READ_FILE | POLICY_WRITE_FILE);
    assert_int_equal(last_denial()->count, 2);
    assert_string_equal(last_denial()->path, path_in(fixture, "file"));
    assert_true(last_denial()->has_line);
    deny(fixture, POLICY_WRITE_FILE, "other");
    assert_int_equal(report.count, 2);
}

static void a_line_that_the_policy_forbids_is_not_suggested(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "file", 0600, "");
    make_file(fixture, "other", 0600, "");
    prepare(fixture, 0, "allow read_dir %\nexpect denied write_file %/file");
    deny(fixture, POLICY_READ_FILE | POLICY_WRITE_FILE, "file");
    for (size_t i = 0; i < report.count; i++) {
        assert_false(report.denials[i]->has_line);
        assert_null(report.denials[i]->subject);
        assert_int_equal(report.denials[i]->forbidden_by.line, 3);
    }
    deny(fixture, POLICY_READ_FILE | POLICY_WRITE_FILE, "other");
    assert_true(last_denial()->has_line);
}

static void a_line_is_for_the_directory_in_which_the_program_may_create(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_folder(fixture, "folder/deep");
    make_file(fixture, "folder/deep/file", 0600, "");
    make_file(fixture, "folder/secret", 0600, "");
    prepare(fixture, 0, "allow make_reg %/folder");
    deny(fixture, POLICY_READ_FILE, "folder/deep/file");
    assert_string_equal(last_denial()->path, path_in(fixture, "folder/deep/file"));
    assert_string_equal(last_denial()->subject, path_in(fixture, "folder"));
    trace_report_free(&report);
    prepare(fixture, 0, "allow make_reg %/folder\nexpect denied read_file %/folder/secret");
    deny(fixture, POLICY_READ_FILE, "folder/deep/file"); /* the program may make it another file */
    assert_false(last_denial()->has_line);
    assert_int_equal(last_denial()->forbidden_by.line, 3);
    deny(fixture, POLICY_READ_FILE, "folder/secret");
    assert_false(last_denial()->has_line);
}

static void a_process_directory_is_told_without_its_number(void **state)
{
    struct fixture *fixture = *state;
    struct failed_call call;
    char path[64];

    prepare(fixture, 0, "");
    call = failed_call(fixture);
    snprintf(path, sizeof path, "/proc/%d/maps", getpid());
    deny_path(&call, POLICY_READ_FILE, path);
    assert_string_equal(last_denial()->path, "/proc/self/maps");
    assert_string_equal(last_denial()->subject, "/proc");
    deny_path(&call, POLICY_READ_FILE, "/proc/1/cmdline");
    assert_string_equal(last_denial()->path, "/proc/1/cmdline");
}

static void what_the_system_denies_too_gets_no_line(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "closed", 0, "");
    prepare(fixture, 0, "");
    deny(fixture, POLICY_READ_FILE, "closed");
    assert_int_equal(last_denial()->system_obstacle, VERDICT_PERMISSIONS);
    assert_false(last_denial()->has_line);
}

static void ports_and_scopes_are_told_each_once(void **state)
{
    struct fixture *fixture = *state;
    struct failed_call call;

    need(newest_abi() >= 6, "Landlock ABI 6");
    prepare(fixture, 0, "allow connect_tcp 80\nexpect denied bind_tcp 22");
    call = failed_call(fixture);
    deny_port(&call, POLICY_CONNECT_TCP, 80);
    assert_int_equal(report.count, 0);
    deny_port(&call, POLICY_CONNECT_TCP, 443);
    deny_port(&call, POLICY_CONNECT_TCP, 443); /* the same call */
    assert_int_equal(last_denial()->count, 1);
    call = failed_call(fixture);
    deny_port(&call, POLICY_CONNECT_TCP, 443);
    assert_true(report.count == 1 && last_denial()->count == 2 && last_denial()->has_line);
    deny_port(&call, POLICY_BIND_TCP, 22);
    assert_true(report.count == 2 && !last_denial()->has_line && last_denial()->forbidden_by.line == 3);
    deny_scope(&call, POLICY_SIGNAL);
    deny_scope(&call, POLICY_ABSTRACT_UNIX_SOCKET);
    deny_scope(&call, POLICY_SIGNAL);
    assert_true(report.count == 4 && !last_denial()->has_line);
    prepare(fixture, 0, "unrestricted signal");
    trace_report_free(&report);
    deny_scope(&call, POLICY_SIGNAL);
    assert_int_equal(report.count, 0);
}

static void ten_thousand_are_kept(void **state)
{
    struct fixture *fixture = *state;
    struct failed_call call;

    need(newest_abi() >= 4, "Landlock ABI 4");
    prepare(fixture, 0, "");
    for (unsigned port = 1; port <= TRACE_MAX_DENIALS + 7; port++) {
        call = failed_call(fixture);
        deny_port(&call, POLICY_CONNECT_TCP, (uint16_t)port);
        assert_int_equal(call.is_dropped, port > TRACE_MAX_DENIALS);
    }
    deny_port(&call, POLICY_CONNECT_TCP, 1);
    assert_int_equal(report.count, TRACE_MAX_DENIALS);
    assert_int_equal(report.denials[0]->count, 2);
}

/* ---- Lines ---- */

/* "LINE;LINE;" of what was denied so far. */
static void assert_lines(struct fixture *fixture, bool gathers, const char *expected)
{
    struct trace_lines lines = {0};
    char wanted[4096] = "", got[4096] = "";

    for (const char *at = expected; *at; at++)
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), *at == '%' ? "%s" : "%.1s",
                 *at == '%' ? fixture->top : at);
    assert_int_equal(trace_lines_add(&lines, &report, &fixture->launch, gathers), 0);
    for (size_t i = 0; i < lines.count; i++) {
        auto_free char *text = trace_line_text(&lines.items[i]);

        snprintf(got + strlen(got), sizeof got - strlen(got), "%s;", text);
    }
    trace_lines_free(&lines);
    assert_string_equal(got, wanted);
}

static void lines_are_sorted_and_none_covers_another(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "b");
    make_file(fixture, "b/file", 0600, "");
    make_file(fixture, "b/two words", 0600, "");
    make_file(fixture, "a", 0600, "");
    prepare(fixture, 0, "");
    deny(fixture, POLICY_READ_FILE | POLICY_WRITE_FILE, "b/file");
    deny(fixture, POLICY_READ_FILE, "b/two words");
    deny(fixture, POLICY_READ_FILE, "a");
    assert_lines(fixture, false,
                 "allow read_file %/a;allow write_file,read_file %/b/file;allow read_file "
                 "%/b/two\\x20words;");
    deny(fixture, POLICY_READ_DIR | POLICY_READ_FILE, "b");
    assert_lines(fixture, false,
                 "allow read_file %/a;allow read_file,read_dir %/b;allow write_file %/b/file;");
}

static void gathered_files_become_their_directory(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "lib");
    make_file(fixture, "lib/one", 0600, "");
    make_file(fixture, "lib/two", 0600, "");
    make_file(fixture, "lib/program", 0700, "");
    make_folder(fixture, "single");
    make_file(fixture, "single/file", 0600, "");
    make_folder(fixture, "kept");
    make_file(fixture, "kept/one", 0600, "");
    make_file(fixture, "kept/two", 0600, "");
    make_file(fixture, "kept/secret", 0600, "");
    prepare(fixture, 0, "expect denied read_file %/kept/secret");
    deny(fixture, POLICY_READ_FILE, "lib/one");
    deny(fixture, POLICY_READ_FILE, "lib/two");
    deny(fixture, POLICY_EXECUTE, "lib/program");
    deny(fixture, POLICY_READ_FILE, "single/file");
    deny(fixture, POLICY_READ_FILE, "kept/one");
    deny(fixture, POLICY_READ_FILE, "kept/two");
    assert_lines(fixture, true,
                 "allow read_file %/kept/one;allow read_file %/kept/two;allow read_file %/lib;"
                 "allow execute %/lib/program;allow read_file %/single/file;");
}

static void nothing_is_gathered_near_the_root(void **state)
{
    struct fixture *fixture = *state;
    struct failed_call call;

    prepare(fixture, 0, "");
    call = failed_call(fixture);
    deny_path(&call, POLICY_READ_FILE, "/etc/passwd");
    deny_path(&call, POLICY_READ_FILE, "/etc/group");
    assert_lines(fixture, true, "allow read_file /etc/group;allow read_file /etc/passwd;");
}

/* ---- Where a path leads ---- */

static void assert_leads(const char *path, bool follows, const char *expected)
{
    char real[PATH_MAX] = "nowhere";
    bool leads = resolve_path(getpid(), AT_FDCWD, path, follows ? FOLLOWS : 0, real);

    assert_string_equal(leads ? real : "nowhere", expected);
}

static void a_path_is_followed_as_the_kernel_does(void **state)
{
    struct fixture *fixture = *state;
    char *folder = path_in(fixture, "folder");
    auto_free char *file = text_of("%s/file", folder);
    auto_free char *dots = text_of("%s/./x/..//../folder/file/", folder);

    make_folder(fixture, "folder");
    make_folder(fixture, "folder/x");
    make_file(fixture, "folder/file", 0600, "");
    must(symlink("folder/link", path_in(fixture, "to")) == 0);
    must(symlink("../folder/file", path_in(fixture, "folder/link")) == 0);
    must(symlink("loop", path_in(fixture, "loop")) == 0);
    assert_leads(dots, true, file);
    assert_leads(path_in(fixture, "to"), true, file);
    assert_leads(path_in(fixture, "to"), false, path_in(fixture, "to"));
    assert_leads(path_in(fixture, "loop"), true, "nowhere");
    assert_leads(path_in(fixture, "loop"), false, path_in(fixture, "loop"));
    assert_leads(path_in(fixture, "loop/x"), false, "nowhere");
    assert_leads(path_in(fixture, "none/below"), true, path_in(fixture, "none/below"));
    assert_leads("/../..", true, "/");
}

static void names_in_proc_are_the_tracees(void **state)
{
    char own[64], thread[64];
    int ends[2];
    auto_free char *file = NULL;

    (void)state;
    snprintf(own, sizeof own, "/proc/%d/status", getpid());
    snprintf(thread, sizeof thread, "/proc/%d/task/%d/comm", getpid(), getpid());
    assert_leads("/proc/self/status", true, own);
    assert_leads("/proc/thread-self/comm", true, thread);
    assert_leads("/proc/self/root/usr", true, "/usr");
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    file = text_of("/proc/self/fd/%d", ends[0]);
    assert_leads(file, true, "nowhere");
    close(ends[0]);
    close(ends[1]);
}

static void too_long_is_nowhere(void **state)
{
    char path[PATH_MAX];

    (void)state;
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[PATH_MAX - 1] = '\0';
    assert_leads(path, true, "nowhere"); /* a name of more than NAME_MAX */
    for (size_t i = 0; i + 2 < sizeof path; i += 2)
        memcpy(path + i, "/x", 2);
    path[PATH_MAX - 1] = '\0';
    assert_leads(path, true, path);
    assert_leads(path + 1, true, "nowhere"); /* with the working directory it is too long */
}

static void look_from_another_root(const void *context)
{
    const struct fixture *fixture = context;

    must(chroot(fixture->top) == 0 && chdir("/folder") == 0);
    kill(getpid(), SIGSTOP);
}

/* A process that has another root, whose links begin there. */
static void a_path_begins_at_the_tracees_root(void **state)
{
    struct fixture *fixture = *state;
    char real[PATH_MAX];
    pid_t child;
    int status;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0600, "");
    must(symlink("/folder/file", path_in(fixture, "link")) == 0);
    must(symlink("../../../../folder/file", path_in(fixture, "up")) == 0);
    child = start_child(look_from_another_root, fixture);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    if (WIFSTOPPED(status)) {
        static const char *const paths[] = {"/link", "/up", "file", "../link", "/../folder/file"};

        for (size_t i = 0; i < array_size(paths); i++) {
            assert_true(resolve_path(child, AT_FDCWD, paths[i], FOLLOWS, real));
            assert_string_equal(real, path_in(fixture, "folder/file"));
        }
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    need(WIFSTOPPED(status), "chroot(2)");
}

/* ---- Processes ---- */

static void is_told_of_itself(const void *context)
{
    auto_close int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

    (void)context;
    must(pidfd >= 0 || errno == ENOSYS); /* valgrind 3.19 does not know it */
    must(process_of(getpid()) == getpid() && process_of(1U << 30) == 0);
    must(pidfd < 0 || process_of_pidfd(getpid(), pidfd) == getpid());
    must(process_of_pidfd(getpid(), STDERR_FILENO) == 0);
    must(has_our_process_ids(getpid()) && !is_dead(getpid()) && is_dead(1U << 30));
    must(is_called(getpid(), getpid(), getpid()) && !is_called(getpid(), getpid(), getpid() + 1));
}

static void is_told_in_many_groups(const void *context)
{
    gid_t groups[2000];

    for (size_t i = 0; i < array_size(groups); i++)
        groups[i] = (gid_t)(10000 + i);
    must(setgroups(array_size(groups), groups) == 0);
    is_told_of_itself(context);
}

static void processes_are_told(void **state)
{
    (void)state;
    in_child(is_told_of_itself, NULL);
}

/* In /proc/PID/status some things stand behind the groups. */
static void processes_in_many_groups_are_told(void **state)
{
    (void)state;
    need(geteuid() == 0, "root");
    in_child(is_told_in_many_groups, NULL);
}

/* ---- Sockets ---- */

static void sockets_are_told_apart(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};
    const struct sockaddr_in any = {.sin_family = AF_INET};

    (void)state;
    for (size_t i = 0; i < array_size(families); i++) {
        auto_close int stream = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto_close int datagram = socket(families[i], SOCK_DGRAM | SOCK_CLOEXEC, 0);

        assert_true(stream >= 0 && datagram >= 0);
        assert_true(is_socket_of(getpid(), stream, SOCK_STREAM) &&
                    !is_socket_of(getpid(), stream, SOCK_DGRAM));
        assert_true(is_socket_of(getpid(), datagram, SOCK_DGRAM) &&
                    !is_socket_of(getpid(), datagram, SOCK_STREAM));
        assert_true(is_without_port(getpid(), datagram));
        if (families[i] == AF_INET) {
            assert_int_equal(bind(datagram, (const struct sockaddr *)&any, sizeof any), 0);
            assert_false(is_without_port(getpid(), datagram));
        }
    }
    assert_false(is_without_port(getpid(), STDIN_FILENO));
}

/* ---- Guards ---- */

static void guards_see_what_is_moved_linked_or_replaced(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0600, "");
    prepare(fixture, 0, "allow read_dir /usr\nexpect denied read_file %/folder/file %/none /proc/self/maps");
    assert_int_equal(trace_guards_take(&guards, fixture->launch.policy), 0);
    assert_int_equal(guards.count, 3);
    make_file(fixture, "folder/other", 0600, "");
    assert_null(disturbed_guard(&guards));
    must(link(path_in(fixture, "folder/file"), path_in(fixture, "second")) == 0);
    assert_int_equal(disturbed_guard(&guards)->line, 3);
    must(unlink(path_in(fixture, "second")) == 0);
    assert_null(disturbed_guard(&guards));
    must(rename(path_in(fixture, "folder"), path_in(fixture, "moved")) == 0);
    assert_non_null(disturbed_guard(&guards));
    must(rename(path_in(fixture, "moved"), path_in(fixture, "folder")) == 0);
    assert_null(disturbed_guard(&guards));
    must(rename(path_in(fixture, "folder/other"), path_in(fixture, "folder/file")) == 0);
    assert_non_null(disturbed_guard(&guards));
    trace_guards_free(&guards);
}

static void names_are_not_given_around_a_guard(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "top");
    make_folder(fixture, "top/folder");
    make_folder(fixture, "beside");
    must(symlink("top", path_in(fixture, "alias")) == 0);
    prepare(fixture, 0, "allow read_dir /usr\nexpect denied read_file %/alias/folder");
    assert_int_equal(trace_guards_take(&guards, fixture->launch.policy), 0);
    assert_int_equal(guard_within(&guards, path_in(fixture, "top"))->line, 3);
    assert_non_null(guard_within(&guards, path_in(fixture, "")));
    assert_non_null(guard_within(&guards, "/"));
    assert_null(guard_within(&guards, path_in(fixture, "top/folder"))); /* names in it are none of its own */
    assert_null(guard_within(&guards, path_in(fixture, "beside")));
    trace_guards_free(&guards);
}

/* ---- The table ---- */

static void a_table_keeps_what_is_taken(void **state)
{
    enum { MOST = 500, ROUNDS = 200000 };
    static bool is_taken[MOST];
    struct tracees tracees = {0};
    size_t count = 0;

    (void)state;
    srandom(1);
    for (int i = 0; i < ROUNDS; i++) {
        pid_t tid = 1 + (pid_t)(random() % (MOST - 1)) * (i % 2 ? 64 : 1) % (MOST - 1);
        struct tracee *tracee = find_tracee(&tracees, tid);

        assert_int_equal(tracee != NULL, is_taken[tid]);
        if (tracee && random() % 2) {
            drop_tracee(&tracees, tracee);
            is_taken[tid] = false;
            count--;
        } else if (!tracee) {
            tracee = take_tracee(&tracees, tid);
            assert_non_null(tracee);
            assert_int_equal(tracee->number, 0);
            tracee->number = (uint64_t)tid;
            is_taken[tid] = true;
            count++;
        }
        assert_int_equal(tracees.count, count);
    }
    for (pid_t tid = 1; tid < MOST; tid++)
        if (is_taken[tid])
            assert_int_equal(find_tracee(&tracees, tid)->number, tid);
    free(tracees.items);
}

static void calls_of_other_architectures_are_known(void **state)
{
    (void)state;
    assert_true(is_own_call(ARCHITECTURE, SYS_openat));
    assert_false(is_own_call(AUDIT_ARCH_I386, 5));
#ifdef X32_BIT
    assert_false(is_own_call(ARCHITECTURE, X32_BIT | SYS_openat));
#endif
}

/* ---- Memory ---- */

static void refused(struct fixture *fixture, bool *is_told)
{
    struct failed_call call = failed_call(fixture);
    struct trace_lines lines = {0};
    auto_free char *text = NULL;

    deny_path(&call, POLICY_READ_FILE | POLICY_WRITE_FILE, path_in(fixture, "folder/one"));
    deny_path(&call, POLICY_READ_FILE, path_in(fixture, "folder/two"));
    deny_path(&call, POLICY_EXECUTE, path_in(fixture, "folder"));
    deny_port(&call, POLICY_CONNECT_TCP, 80);
    *is_told = call.is_out_of_memory;
    if (trace_lines_add(&lines, &report, &fixture->launch, true) < 0)
        *is_told = true;
    if (lines.count)
        text = trace_line_text(&lines.items[0]);
    *is_told |= lines.count && !text;
    trace_lines_free(&lines);
    trace_report_free(&report);
}

static void memory_that_runs_out_is_told(void **state)
{
    struct fixture *fixture = *state;
    size_t at = 0;
    bool is_told;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/one", 0600, "");
    make_file(fixture, "folder/two", 0600, "");
    prepare(fixture, 0, "expect denied read_file %/x");
    do {
        long before = allocations_in_use();

        refuse(++at, false);
        refused(fixture, &is_told);
        if (allocations_so_far() >= at && !is_told)
            fail_msg("allocation %zu was refused and nothing says so", at);
        refuse_no_more();
        assert_int_equal(allocations_in_use(), before);
    } while (is_told);
    assert_in_range(at, 20, 10000);
}

#define test(name)                              \
    {                                           \
#name, name, make_fixture, forget, NULL \
    }

int main(void)
{
    const struct CMUnitTest privileged[] = {
        test(a_path_begins_at_the_tracees_root),
        test(processes_in_many_groups_are_told),
    };
    const struct CMUnitTest tests[] = {
        test(what_is_denied_is_told_once),
        test(a_line_that_the_policy_forbids_is_not_suggested),
        test(a_line_is_for_the_directory_in_which_the_program_may_create),
        test(a_process_directory_is_told_without_its_number),
        test(what_the_system_denies_too_gets_no_line),
        test(ports_and_scopes_are_told_each_once),
        test(ten_thousand_are_kept),
        test(lines_are_sorted_and_none_covers_another),
        test(gathered_files_become_their_directory),
        test(nothing_is_gathered_near_the_root),
        test(a_path_is_followed_as_the_kernel_does),
        test(names_in_proc_are_the_tracees),
        test(too_long_is_nowhere),
        test(processes_are_told),
        test(sockets_are_told_apart),
        test(guards_see_what_is_moved_linked_or_replaced),
        test(names_are_not_given_around_a_guard),
        test(a_table_keeps_what_is_taken),
        test(calls_of_other_architectures_are_known),
        test(memory_that_runs_out_is_told),
    };
    struct error error = {0};
    int failed = cmocka_run_group_tests(privileged, NULL, NULL);

    if (launch_drop_capabilities(&error) < 0)
        return 1;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
