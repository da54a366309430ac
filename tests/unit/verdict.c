/*
 * What a verdict says, field by field. That it is what the kernel does is verdict_property.c's.
 */
#include "verdict/verdict.h"
#include "verdict_fixture.h"

static struct verdict asked;

static const struct verdict *ask(struct fixture *fixture, policy_rights right, const char *name)
{
    struct error error = {0};

    verdict_free(&asked);
    must(verdict_of_path(&fixture->launch, right, path_in(fixture, name), &asked, &error) == 0);
    return &asked;
}

static const struct verdict *ask_port(struct fixture *fixture, policy_rights right, uint16_t port)
{
    struct error error = {0};

    verdict_free(&asked);
    must(verdict_of_port(&fixture->launch, right, port, &asked, &error) == 0);
    return &asked;
}

/* The line's number counts `policy 1`. */
static void is_given_by(const struct verdict *verdict, unsigned line, const char *path)
{
    assert_true(verdict->is_restricted);
    assert_false(verdict->landlock_denies);
    assert_non_null(verdict->position);
    assert_int_equal(verdict->position->line, line);
    assert_string_equal(verdict->given_to, path);
    assert_null(verdict->suggestion);
}

static void a_right_is_given_by_the_nearest_line(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0600, "");
    make_file(fixture, "folder/other", 0600, "");
    prepare(fixture, 0, "allow read,write %\nallow read_file %/folder\nallow read_file %/folder/file");
    is_given_by(ask(fixture, POLICY_READ_FILE, "folder/file"), 4, path_in(fixture, "folder/file"));
    is_given_by(ask(fixture, POLICY_READ_FILE, "folder/other"), 3, path_in(fixture, "folder"));
    is_given_by(ask(fixture, POLICY_WRITE_FILE, "folder/file"), 2, path_in(fixture, ""));
    is_given_by(ask(fixture, POLICY_READ_DIR, "folder"), 2, path_in(fixture, ""));
    assert_true(asked.is_allowed);
    assert_int_equal(asked.obstacle, VERDICT_NOTHING);
    assert_string_equal(asked.real, path_in(fixture, "folder"));
}

static void what_no_line_gives_is_missing(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0700, "");
    prepare(fixture, 0, "allow execute %/folder");
    ask(fixture, POLICY_WRITE_FILE, "folder/file");
    assert_true(asked.landlock_denies && asked.is_restricted && !asked.is_allowed);
    assert_int_equal(asked.obstacle, VERDICT_LANDLOCK);
    assert_int_equal(asked.system_obstacle, VERDICT_NOTHING);
    assert_int_equal(asked.missing, POLICY_WRITE_FILE);
    assert_null(asked.given_to);
}

static void a_program_must_be_readable_too(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0700, "");
    prepare(fixture, 0, "allow execute %/folder");
    assert_int_equal(ask(fixture, POLICY_EXECUTE, "folder/file")->missing, POLICY_READ_FILE);
    assert_int_equal(asked.position->line, 2);
    assert_int_equal(ask(fixture, POLICY_EXECUTE, "folder")->missing, POLICY_READ_FILE);
    assert_true(asked.is_undecided);
    assert_int_equal(ask(fixture, POLICY_EXECUTE, "")->missing, POLICY_EXECUTE | POLICY_READ_FILE);
    prepare(fixture, 0, "allow read_file %/folder");
    assert_int_equal(ask(fixture, POLICY_EXECUTE, "folder/file")->missing, POLICY_EXECUTE);
    prepare(fixture, 0, "allow execute %/folder\nallow read_file %");
    assert_int_equal(ask(fixture, POLICY_EXECUTE, "folder/file")->missing, 0);
    assert_true(asked.is_allowed);
}

/* ---- What is not restricted ---- */

static void a_policy_can_leave_a_right_out(void **state)
{
    struct fixture *fixture = *state;

    prepare(fixture, 0, "unrestricted ioctl_dev\nunrestricted bind_tcp");
    ask_port(fixture, POLICY_BIND_TCP, 80);
    assert_true(asked.is_allowed && !asked.is_restricted);
    assert_int_equal(asked.position->line, 3);
    ask(fixture, POLICY_IOCTL_DEV, "");
    assert_false(asked.is_restricted);
    assert_int_equal(asked.position->line, 3);
    assert_null(asked.given_to);
}

static void what_the_abi_does_not_know_is_not_restricted(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() >= 3, "Landlock ABI 3");
    make_file(fixture, "file", 0600, "");
    prepare(fixture, 2, "allow read_dir %");
    ask(fixture, POLICY_TRUNCATE, "file");
    assert_true(asked.is_allowed && !asked.is_restricted && !asked.position);
    prepare(fixture, 3, "allow read_dir %");
    ask(fixture, POLICY_TRUNCATE, "file");
    assert_true(asked.landlock_denies && asked.is_restricted);
}

static void abi_1_denies_refer_whatever_the_policy_says(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() >= 2, "Landlock ABI 2");
    prepare(fixture, 1, "allow refer,make_reg %");
    ask(fixture, POLICY_REFER, "");
    assert_true(asked.landlock_denies && asked.is_restricted);
    assert_int_equal(asked.missing, POLICY_REFER);
    assert_null(asked.suggestion);
    prepare(fixture, 2, "allow refer,make_reg %");
    assert_true(ask(fixture, POLICY_REFER, "")->is_allowed);
}

/* ---- Ports ---- */

static void ports_have_rules_of_their_own(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() >= 4, "Landlock ABI 4");
    prepare(fixture, 0, "allow connect_tcp 443 8000-8002\nallow bind_tcp 8000\nexpect denied connect_tcp 25");
    assert_int_equal(ask_port(fixture, POLICY_CONNECT_TCP, 8002)->position->line, 2);
    assert_true(asked.is_allowed && asked.is_restricted && !asked.real && !asked.given_to);
    assert_int_equal(ask_port(fixture, POLICY_BIND_TCP, 8000)->position->line, 3);
    assert_string_equal(ask_port(fixture, POLICY_BIND_TCP, 8002)->suggestion, "allow bind_tcp 8002");
    assert_int_equal(asked.missing, POLICY_BIND_TCP);
    assert_int_equal(asked.obstacle, VERDICT_LANDLOCK);
    assert_int_equal(asked.failure, 0);
    assert_null(ask_port(fixture, POLICY_CONNECT_TCP, 25)->suggestion);
    assert_int_equal(asked.forbidden_by->line, 4);
}

/* ---- What a line would contradict ---- */

static void forbids(struct fixture *fixture, policy_rights right, const char *name, unsigned line)
{
    ask(fixture, right, name);
    assert_true(asked.landlock_denies);
    if (line) {
        assert_null(asked.suggestion);
        assert_non_null(asked.forbidden_by);
        assert_int_equal(asked.forbidden_by->line, line);
    } else {
        assert_non_null(asked.suggestion);
        assert_null(asked.forbidden_by);
    }
}

static void no_line_is_suggested_against_an_expectation(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0600, "");
    make_file(fixture, "folder/other", 0600, "");
    make_folder(fixture, "folder2");
    must(symlink("folder", path_in(fixture, "link")) == 0);
    prepare(fixture, 0, "expect denied write_file %/link/file\nexpect allowed read_file %/folder");
    forbids(fixture, POLICY_WRITE_FILE, "folder/file", 2);
    forbids(fixture, POLICY_WRITE_FILE, "folder", 2);
    forbids(fixture, POLICY_WRITE_FILE, "", 2);
    forbids(fixture, POLICY_WRITE_FILE, "link", 2);
    forbids(fixture, POLICY_WRITE_FILE, "folder/other", 0);
    forbids(fixture, POLICY_WRITE_FILE, "folder2", 0);
    forbids(fixture, POLICY_READ_FILE, "folder", 0);
}

static void no_line_is_suggested_that_opens_a_private_file(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_file(fixture, "folder/secret", 0600, "");
    make_file(fixture, "folder/other", 0700, "");
    prepare(fixture, 0, "private %/folder/secret");
    forbids(fixture, POLICY_READ_FILE, "folder/secret", 2);
    forbids(fixture, POLICY_WRITE_FILE, "folder", 2);
    forbids(fixture, POLICY_READ_FILE, "", 2);
    forbids(fixture, POLICY_EXECUTE, "folder", 2); /* for which it must be readable */
    forbids(fixture, POLICY_READ_DIR, "folder", 0);
    forbids(fixture, POLICY_READ_FILE, "folder/other", 0);
}

/* ---- Suggestions ---- */

static void a_suggested_line_is_one_of_the_language(void **state)
{
    static const struct {
        const char *name, *written;
    } table[] = {
        {"plain", "plain"},
        {"two words", "two\\x20words"},
        {"-\"quoted\"", "-\\\"quoted\\\""},
        {"${PATH}", "\\${PATH}"},
        {"a#b", "a\\#b"},
        {"back\\slash", "back\\\\slash"},
        {"tab\tnew\nline", "tab\\x09new\\x0aline"},
        {"\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb", "\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb"},
        {"\xff\xd1", "\\xff\\xd1"},
        {"\xe2\x80\x8btxt", "\\xe2\\x80\\x8btxt"},
        {"*;`", "\\x2a\\x3b\\x60"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < array_size(table); i++) {
        auto_free char *line = NULL,
                       *expected = text_of("allow read_file %s/%s", fixture->top, table[i].written);

        make_file(fixture, table[i].name, 0600, "");
        prepare(fixture, 0, "");
        line = strdup(ask(fixture, POLICY_READ_FILE, table[i].name)->suggestion);
        must(line);
        assert_string_equal(line, expected);
        prepare(fixture, 0, line);
        assert_int_equal(fixture->faults.count, newest_abi() ? 0 : 1);
        assert_true(ask(fixture, POLICY_READ_FILE, table[i].name)->is_allowed);
    }
}

static void all_that_is_missing_is_suggested(void **state)
{
    struct fixture *fixture = *state;
    auto_free char *expected = text_of("allow execute,read_file %s/file", fixture->top);

    make_file(fixture, "file", 0700, "");
    must(symlink("file", path_in(fixture, "link")) == 0);
    prepare(fixture, 0, "");
    assert_string_equal(ask(fixture, POLICY_EXECUTE, "link")->suggestion, expected);
}

static void nothing_is_suggested_where_no_line_would_do(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "file", 0600, "");
    make_folder(fixture, "closed");
    make_file(fixture, "closed/file", 0600, "");
    must(symlink("loop", path_in(fixture, "loop")) == 0);
    prepare(fixture, 0, "");
    must(chmod(path_in(fixture, "closed"), 0) == 0);
    assert_null(ask(fixture, POLICY_READ_FILE, "missing")->suggestion);
    assert_null(ask(fixture, POLICY_READ_DIR, "file")->suggestion);
    assert_null(ask(fixture, POLICY_IOCTL_DEV, "file")->suggestion);
    assert_null(ask(fixture, POLICY_READ_FILE, "loop")->suggestion);
    assert_null(ask(fixture, POLICY_READ_FILE, "closed/file")->suggestion);
    must(chmod(path_in(fixture, "closed"), 0700) == 0);
    assert_non_null(ask(fixture, POLICY_READ_FILE, "closed/file")->suggestion);
}

/* ---- The system's part ---- */

static void stops(struct fixture *fixture, policy_rights right, const char *name,
                  enum verdict_obstacle obstacle, int failure)
{
    ask(fixture, right, name);
    assert_int_equal(asked.system_obstacle, obstacle);
    assert_int_equal(asked.failure, failure);
    assert_false(asked.is_allowed);
}

static void the_system_can_be_in_the_way(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "file", 0400, "");
    make_folder(fixture, "closed");
    must(mkfifo(path_in(fixture, "fifo"), 0600) == 0 && symlink("loop", path_in(fixture, "loop")) == 0);
    must(chmod(path_in(fixture, "closed"), 0) == 0);
    prepare(fixture, 0, "allow execute,read,write,remove,make_char,ioctl_dev,resolve_unix %");
    stops(fixture, POLICY_WRITE_FILE, "file", VERDICT_PERMISSIONS, EACCES);
    assert_int_equal(asked.obstacle, VERDICT_PERMISSIONS);
    stops(fixture, POLICY_EXECUTE, "file", VERDICT_PERMISSIONS, EACCES);
    stops(fixture, POLICY_READ_DIR, "closed", VERDICT_PERMISSIONS, EACCES);
    stops(fixture, POLICY_REMOVE_FILE, "closed", VERDICT_PERMISSIONS, EACCES);
    stops(fixture, POLICY_READ_FILE, "closed", VERDICT_PERMISSIONS, EACCES);
    stops(fixture, POLICY_MAKE_CHAR, "", VERDICT_PERMISSIONS, EPERM);
    stops(fixture, POLICY_READ_FILE, "missing", VERDICT_MISSING, ENOENT);
    stops(fixture, POLICY_READ_FILE, "file/missing", VERDICT_MISSING, ENOTDIR);
    stops(fixture, POLICY_READ_FILE, "loop", VERDICT_OTHER, ELOOP);
    stops(fixture, POLICY_READ_DIR, "file", VERDICT_KIND, ENOTDIR);
    stops(fixture, POLICY_TRUNCATE, "fifo", VERDICT_KIND, EINVAL);
    stops(fixture, POLICY_EXECUTE, "fifo", VERDICT_KIND, EINVAL);
    stops(fixture, POLICY_IOCTL_DEV, "file", VERDICT_KIND, EINVAL);
    stops(fixture, POLICY_RESOLVE_UNIX, "file", VERDICT_KIND, EINVAL);
    must(chmod(path_in(fixture, "closed"), 0700) == 0);
}

/* What is there of a path, links followed. */
static void leads_to(struct fixture *fixture, const char *name, const char *real)
{
    assert_string_equal(ask(fixture, POLICY_READ_FILE, name)->real, path_in(fixture, real));
}

static void a_path_is_followed_as_far_as_it_leads(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    make_folder(fixture, "other");
    make_file(fixture, "folder/file", 0600, "");
    must(symlink("folder/file", path_in(fixture, "link")) == 0 &&
         symlink("../folder", path_in(fixture, "other/folder")) == 0 &&
         symlink("folder/missing/file", path_in(fixture, "dangling")) == 0);
    prepare(fixture, 0, "");
    leads_to(fixture, "link", "folder/file");
    leads_to(fixture, "other/folder/file", "folder/file");
    leads_to(fixture, "other/folder/missing/away", "folder");
    leads_to(fixture, "dangling", "folder");
    leads_to(fixture, "folder/file/missing", "folder/file");
}

/* A link to what is not there yet: a rule for where it will be gives the right. */
static void what_is_missing_has_the_rights_of_where_it_would_be(void **state)
{
    struct fixture *fixture = *state;

    make_folder(fixture, "folder");
    must(symlink("folder/missing", path_in(fixture, "dangling")) == 0);
    prepare(fixture, 0, "allow read_file %/folder");
    assert_false(ask(fixture, POLICY_READ_FILE, "dangling")->landlock_denies);
    assert_true(ask(fixture, POLICY_READ_FILE, "missing")->landlock_denies);
}

static void every_obstacle_has_a_name(void **state)
{
    (void)state;
    for (int obstacle = VERDICT_NOTHING; obstacle <= VERDICT_OTHER; obstacle++)
        assert_true(verdict_obstacle_name((enum verdict_obstacle)obstacle)[0]);
    assert_string_equal(verdict_obstacle_name((enum verdict_obstacle)99), "");
    assert_string_equal(verdict_obstacle_name(VERDICT_READ_ONLY), "read-only");
}

/* ---- What may only be appended to; before capabilities are dropped, for chattr(1) needs one ---- */

static void ask_as_the_program(const void *context)
{
    struct fixture *fixture = *(struct fixture *const *)context;
    struct error error = {0};

    must(launch_drop_capabilities(&error) == 0);
    prepare(fixture, 0, "allow read,write,create,remove %");
    must(ask(fixture, POLICY_WRITE_FILE, "file")->is_allowed);
    must(ask(fixture, POLICY_TRUNCATE, "file")->failure == EPERM);
    must(ask(fixture, POLICY_MAKE_REG, "folder")->is_allowed);
    must(ask(fixture, POLICY_REMOVE_FILE, "folder")->failure == EPERM);
    must(ask(fixture, POLICY_REMOVE_DIR, "folder")->system_obstacle == VERDICT_PERMISSIONS);
}

static void what_is_append_only_is_neither_truncated_nor_emptied(void **state)
{
    struct fixture *fixture = *state;

    make_file(fixture, "file", 0600, "");
    make_folder(fixture, "folder");
    make_append_only(path_in(fixture, "file"));
    make_append_only(path_in(fixture, "folder"));
    in_child(ask_as_the_program, &fixture);
    set_append_only(path_in(fixture, "file"), false);
    set_append_only(path_in(fixture, "folder"), false);
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_fixture, remove_fixture)

int main(void)
{
    const struct CMUnitTest privileged[] = {
        test(what_is_append_only_is_neither_truncated_nor_emptied),
    };
    const struct CMUnitTest tests[] = {
        test(a_right_is_given_by_the_nearest_line),
        test(what_no_line_gives_is_missing),
        test(a_program_must_be_readable_too),
        test(a_policy_can_leave_a_right_out),
        test(what_the_abi_does_not_know_is_not_restricted),
        test(abi_1_denies_refer_whatever_the_policy_says),
        test(ports_have_rules_of_their_own),
        test(no_line_is_suggested_against_an_expectation),
        test(no_line_is_suggested_that_opens_a_private_file),
        test(a_suggested_line_is_one_of_the_language),
        test(all_that_is_missing_is_suggested),
        test(nothing_is_suggested_where_no_line_would_do),
        test(the_system_can_be_in_the_way),
        test(a_path_is_followed_as_far_as_it_leads),
        test(what_is_missing_has_the_rights_of_where_it_would_be),
        test(every_obstacle_has_a_name),
    };
    struct error error = {0};
    int failed = cmocka_run_group_tests(privileged, NULL, NULL);

    if (launch_drop_capabilities(&error) < 0)
        return 1;
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    verdict_free(&asked);
    return failed;
}
