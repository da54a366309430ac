/*
 * Real attempts leave nothing behind, run no program, and end as they should. What they find out is verdict_property.c's.
 */
#include "trial/trial.h"
#include "verdict_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#define EVERYTHING \
    "allow execute,read,write,create,remove,refer,make_char,make_block,ioctl_dev,resolve_unix /"

/* ---- A listing of everything, times of directories excepted ---- */

static FILE *listing;

static void list_content(const char *path)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    char bytes[256];
    ssize_t count = fd < 0 ? 0 : read(fd, bytes, sizeof bytes);

    fprintf(listing, "%.*s", count > 0 ? (int)count : 0, bytes);
}

static int list_one(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    (void)flag;
    (void)place;
    fprintf(listing, "%s %lu %o %u %lu", path, status->st_ino, status->st_mode, status->st_uid,
            (unsigned long)status->st_nlink);
    if (!S_ISDIR(status->st_mode))
        fprintf(listing, " %ld %ld.%09ld ", status->st_size, status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    if (S_ISREG(status->st_mode))
        list_content(path);
    putc('\n', listing);
    return 0;
}

static char *list(const char *top)
{
    char *text = NULL;
    size_t size;

    listing = open_memstream(&text, &size);
    must(listing && nftw(top, list_one, 16, FTW_PHYS) == 0 && fclose(listing) == 0);
    return text;
}

/* ---- Trials ---- */

static struct trial try(struct fixture *fixture, policy_rights right, const char *name)
{
    struct trial trial = {.right = right, .path = path_in(fixture, name)};
    struct error error = {0};

    if (trial_run(&fixture->launch, &trial, 1, &error) < 0)
        fail_msg("%s", error.message);
    return trial;
}

static void comes_to(struct fixture *fixture, policy_rights right, const char *name, int outside, int inside)
{
    struct trial trial = try(fixture, right, name);

    if (trial.untried || trial.outside != outside || trial.inside != inside)
        fail_msg("%s %s: outside %d, inside %d %s", policy_right_name(right), name, trial.outside,
                 trial.inside, trial.untried ? trial.untried : "");
}

static void is_untried(struct fixture *fixture, policy_rights right, const char *name, int failure)
{
    struct trial trial = try(fixture, right, name);

    if (!trial.untried || trial.outside != failure)
        fail_msg("%s %s: outside %d, inside %d", policy_right_name(right), name, trial.outside, trial.inside);
}

static void make_socket(const struct fixture *fixture, const char *name, bool listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    must(chdir(fixture->top) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    must(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 64) == 0);
    must(chdir("/") == 0);
    if (!listens)
        close(fd);
}

/* Of every kind, some of it closed to everybody. */
static const char *const subjects[] = {"",       "file",    "program",   "empty",   "closed", "fifo",
                                       "socket", "dead",    "link",      "folder",  "full",   "shut",
                                       "locked", "missing", "file/none", "folders", "nowhere"};

static void make_one_of_each(const struct fixture *fixture)
{
    make_file(fixture, "file", 0600, "content");
    make_file(fixture, "program", 0700, "garbage\n");
    make_file(fixture, "empty", 0700, "");
    make_file(fixture, "closed", 0, "closed");
    must(mkfifo(path_in(fixture, "fifo"), 0600) == 0);
    make_socket(fixture, "socket", true);
    make_socket(fixture, "dead", false);
    must(symlink("file", path_in(fixture, "link")) == 0 &&
         symlink("folder", path_in(fixture, "folders")) == 0 &&
         symlink("none", path_in(fixture, "nowhere")) == 0);
    make_folder(fixture, "folder");
    make_folder(fixture, "full");
    make_file(fixture, "full/file", 0700, "content");
    make_folder(fixture, "full/folder");
    make_folder(fixture, "shut");
    make_file(fixture, "shut/file", 0600, "content");
    must(chmod(path_in(fixture, "shut"), 0) == 0);
    make_folder(fixture, "locked");
    make_file(fixture, "locked/file", 0700, "content");
    must(chmod(path_in(fixture, "locked"), 0500) == 0);
}

static void open_again(const struct fixture *fixture)
{
    must(chmod(path_in(fixture, "shut"), 0700) == 0 && chmod(path_in(fixture, "locked"), 0700) == 0);
}

enum { MOST_TRIALS = 1024 };

/* Every right at every subject. The paths are to be freed. */
static size_t every_trial(const struct fixture *fixture, struct trial trials[static MOST_TRIALS])
{
    size_t count = 0;

    for (size_t i = 0; i < policy_right_count; i++)
        for (size_t k = 0; policy_right_table[i].bit & POLICY_ALL_FS && k < array_size(subjects); k++)
            trials[count++] = (struct trial){.right = policy_right_table[i].bit,
                                             .path = strdup(path_in(fixture, subjects[k]))};
    return count;
}

static void leaves_everything_as_it_was(struct fixture *fixture, const char *policy)
{
    static struct trial trials[MOST_TRIALS];
    size_t count = every_trial(fixture, trials);
    auto_free char *before = NULL, *after = NULL;
    struct error error = {0};

    prepare(fixture, 0, policy);
    before = list(fixture->top);
    if (trial_run(&fixture->launch, trials, count, &error) < 0)
        fail_msg("%s", error.message);
    after = list(fixture->top);
    assert_string_equal(before, after);
    for (size_t i = 0; i < count; i++)
        free((char *)trials[i].path);
}

static void nothing_is_left_behind(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 0, "Landlock");
    make_one_of_each(fixture);
    leaves_everything_as_it_was(fixture, EVERYTHING);
    leaves_everything_as_it_was(fixture, "allow read %");
    leaves_everything_as_it_was(fixture, "allow make_reg,remove_file %\nallow write %/full/file");
    leaves_everything_as_it_was(fixture, "");
    open_again(fixture);
}

static void a_file_is_not_changed_by_writing_and_truncating(void **state)
{
    struct fixture *fixture = *state;
    auto_free char *before = NULL, *after = NULL;

    need(newest_abi() > 2, "Landlock ABI 3");
    make_file(fixture, "file", 0600, "content");
    before = list(fixture->top);
    prepare(fixture, 0, "allow write %");
    comes_to(fixture, POLICY_WRITE_FILE, "file", 0, 0);
    comes_to(fixture, POLICY_TRUNCATE, "file", 0, 0);
    prepare(fixture, 0, "");
    comes_to(fixture, POLICY_WRITE_FILE, "file", 0, EACCES);
    comes_to(fixture, POLICY_TRUNCATE, "file", 0, EACCES);
    after = list(fixture->top);
    assert_string_equal(before, after);
}

static void run_script(const void *context)
{
    const char *path = *(const char *const *)context;

    execl(path, path, NULL);
}

static void a_program_is_not_run(void **state)
{
    struct fixture *fixture = *state;
    auto_free char *script = text_of("#!/bin/sh\n: >%s/ran\n", fixture->top);
    const char *path;

    need(newest_abi() > 0, "Landlock");
    make_file(fixture, "script", 0700, script);
    prepare(fixture, 0, EVERYTHING);
    comes_to(fixture, POLICY_EXECUTE, "script", 0, 0);
    comes_to(fixture, POLICY_EXECUTE, "", 0, 0);
    prepare(fixture, 0, "");
    comes_to(fixture, POLICY_EXECUTE, "script", 0, EACCES);
    usleep(100000);
    assert_int_equal(access(path_in(fixture, "ran"), F_OK), -1);
    path = path_in(fixture, "script");
    in_child(run_script, &path); /* it would have */
    assert_int_equal(access(path_in(fixture, "ran"), F_OK), 0);
}

/* ---- What is tried ---- */

static void each_kind_is_tried_as_it_can_be(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 2, "Landlock ABI 3");
    make_one_of_each(fixture);
    prepare(fixture, 0, "");
    comes_to(fixture, POLICY_READ_FILE, "fifo", 0, EACCES);
    comes_to(fixture, POLICY_WRITE_FILE, "fifo", 0, EACCES);
    comes_to(fixture, POLICY_READ_FILE, "link", 0, EACCES);
    comes_to(fixture, POLICY_MAKE_REG, "folders", 0, EACCES);
    comes_to(fixture, POLICY_READ_FILE, "locked", 0, EACCES);
    comes_to(fixture, POLICY_MAKE_REG, "locked", EACCES, EACCES);
    comes_to(fixture, POLICY_RESOLVE_UNIX, "socket", 0, newest_abi() < 9 ? 0 : EACCES);
    comes_to(fixture, POLICY_RESOLVE_UNIX, "dead", ECONNREFUSED, ECONNREFUSED);
    comes_to(fixture, POLICY_RESOLVE_UNIX, "folder", 0, newest_abi() < 9 ? 0 : EACCES);
    is_untried(fixture, POLICY_READ_FILE, "socket", ENXIO);
    is_untried(fixture, POLICY_TRUNCATE, "fifo", EINVAL);
    is_untried(fixture, POLICY_READ_DIR, "file", ENOTDIR);
    is_untried(fixture, POLICY_READ_FILE, "missing", ENOENT);
    is_untried(fixture, POLICY_READ_FILE, "shut/file", EACCES);
    is_untried(fixture, POLICY_REMOVE_FILE, "locked", EACCES);
    is_untried(fixture, POLICY_REFER, "", 0); /* make_reg is denied */
    is_untried(fixture, POLICY_SCOPE(0), "", 0);
    open_again(fixture);
}

static void a_device_is_sent_a_request(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {.right = POLICY_IOCTL_DEV, .path = "/dev/null"};
    struct error error = {0};

    need(newest_abi() > 4 && access("/dev/null", R_OK | W_OK) == 0, "Landlock ABI 5 and /dev/null");
    prepare(fixture, 0, "allow read_file /dev/null");
    assert_int_equal(trial_run(&fixture->launch, &trial, 1, &error), 0);
    assert_true(!trial.untried && trial.outside == 0 && trial.inside == EACCES);
    prepare(fixture, 0, "allow write_file,ioctl_dev /dev/null");
    assert_int_equal(trial_run(&fixture->launch, &trial, 1, &error), 0);
    assert_true(!trial.untried && trial.outside == 0 && trial.inside == 0);
}

static void ports_are_tried_without_a_service(void **state)
{
    struct fixture *fixture = *state;
    struct trial trials[] = {
        {.right = POLICY_BIND_TCP, .port = 40001},         {.right = POLICY_BIND_TCP, .port = 40002},
        {.right = POLICY_CONNECT_TCP, .port = 40001},      {.right = POLICY_CONNECT_TCP, .port = 40002},
        {.right = POLICY_BIND_UDP, .port = 40001},         {.right = POLICY_BIND_UDP, .port = 40002},
        {.right = POLICY_CONNECT_SEND_UDP, .port = 40001}, {.right = POLICY_CONNECT_SEND_UDP, .port = 40002}};
    struct error error = {0};

    need(newest_abi() >= 4, "Landlock ABI 4");
    prepare(fixture, 0, "allow network 40001");
    assert_int_equal(trial_run(&fixture->launch, trials, array_size(trials), &error), 0);
    for (size_t i = 0; i < array_size(trials); i++) {
        bool is_denied = trials[i].port == 40002 && fixture->launch.handled & trials[i].right;

        assert_true(!trials[i].untried && trials[i].outside == 0 &&
                    trials[i].inside == (is_denied ? EACCES : 0));
    }
}

/* One is removed before the other is tried. */
static void a_file_of_another_trial_is_not_taken(void **state)
{
    struct fixture *fixture = *state;
    struct trial trials[] = {{.right = POLICY_REMOVE_FILE, .path = fixture->top},
                             {.right = POLICY_READ_FILE, .path = fixture->top},
                             {.right = POLICY_EXECUTE, .path = fixture->top}};
    struct error error = {0};

    need(newest_abi() > 0, "Landlock");
    prepare(fixture, 0, EVERYTHING);
    assert_int_equal(trial_run(&fixture->launch, trials, array_size(trials), &error), 0);
    for (size_t i = 0; i < array_size(trials); i++)
        assert_true(!trials[i].untried && trials[i].outside == 0 && trials[i].inside == 0);
}

static void a_file_with_a_rule_of_its_own_says_nothing_of_its_directory(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 0, "Landlock");
    make_folder(fixture, "folder");
    make_file(fixture, "folder/file", 0600, "");
    prepare(fixture, 0, "allow read_file %/folder/file");
    comes_to(fixture, POLICY_READ_FILE, "folder", 0, EACCES);
}

/* A name of 200 bytes twice, and a socket's address holds 107. */
static void a_socket_may_have_a_long_path(void **state)
{
    struct fixture *fixture = *state;
    char name[512];

    need(newest_abi() > 0 && access("/proc/self/fd", F_OK) == 0, "Landlock and /proc");
    memset(name, 'n', sizeof name);
    name[200] = '\0';
    make_folder(fixture, name);
    prepare(fixture, 0, EVERYTHING);
    comes_to(fixture, POLICY_RESOLVE_UNIX, name, 0, 0);
    make_socket(fixture, "socket", true);
    name[200] = '/';
    name[400] = '\0';
    {
        auto_free char *from = strdup(path_in(fixture, "socket"));

        must(rename(from, path_in(fixture, name)) == 0);
    }
    comes_to(fixture, POLICY_RESOLVE_UNIX, name, 0, 0);
}

/* ---- What goes wrong ---- */

static void a_restriction_that_fails_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    struct trial trial = {.right = POLICY_REMOVE_FILE, .path = fixture->top};
    struct error error = {0};
    auto_free char *before = list(fixture->top), *after = NULL;

    prepare(fixture, 0, "");
    cleanup_close(&fixture->launch.ruleset);
    fixture->launch.ruleset = -1;
    assert_int_equal(trial_run(&fixture->launch, &trial, 1, &error), -1);
    assert_int_equal(error.code, LAUNCH_SYSTEM);
    assert_non_null(strstr(error.message, "restriction failed"));
    after = list(fixture->top);
    assert_string_equal(before, after);
}

static void children_need_not_be_waited_for_by_the_caller(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 0, "Landlock");
    signal(SIGCHLD, SIG_IGN);
    prepare(fixture, 0, EVERYTHING);
    comes_to(fixture, POLICY_READ_DIR, "", 0, 0);
    assert_ptr_equal(signal(SIGCHLD, SIG_DFL), SIG_IGN);
}

/* ---- A signal that ends the process ---- */

enum { MANY = 5000, OF_A_BATCH = 32 };

static void try_much(const void *context)
{
    struct fixture *fixture = *(struct fixture *const *)context;
    struct trial *trials = calloc(MANY, sizeof *trials);
    struct error error = {0};

    must(trials);
    for (size_t i = 0; i < MANY; i++)
        trials[i] =
            (struct trial){.right = i % 8 ? POLICY_REMOVE_FILE : POLICY_EXECUTE, .path = fixture->top};
    trial_run(&fixture->launch, trials, MANY, &error);
}

static size_t names_in(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;

    must(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

/* Ends it once it has made so many files, and sees that none is left. */
static void end_when_there_are(struct fixture *fixture, size_t count, int number)
{
    pid_t child = start_child(try_much, &fixture);
    int status;

    while (names_in(fixture->top) < count)
        usleep(500);
    kill(child, number);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
    assert_int_equal(names_in(fixture->top), 0);
}

static void a_signal_ends_the_process_when_all_is_cleaned(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 0, "Landlock");
    prepare(fixture, 0, "");
    end_when_there_are(fixture, 1, SIGTERM);
    end_when_there_are(fixture, OF_A_BATCH, SIGTERM);
    end_when_there_are(fixture, OF_A_BATCH, SIGINT);
    end_when_there_are(fixture, OF_A_BATCH, SIGUSR1);
    end_when_there_are(fixture, OF_A_BATCH, SIGALRM);
}

/* ---- Before capabilities are dropped, for chattr(1) needs one ---- */

static void try_in_append_only(const void *context)
{
    struct fixture *fixture = *(struct fixture *const *)context;
    struct error error = {0};

    must(launch_drop_capabilities(&error) == 0);
    prepare(fixture, 0, EVERYTHING);
    for (size_t i = 0; i < policy_right_count; i++) {
        struct trial trial = {.right = policy_right_table[i].bit, .path = path_in(fixture, "folder")};

        if (trial.right & POLICY_ALL_FS)
            must(trial_run(&fixture->launch, &trial, 1, &error) == 0);
    }
    must(names_in(path_in(fixture, "folder")) == 0);
}

static void nothing_is_made_where_it_could_not_be_removed(void **state)
{
    struct fixture *fixture = *state;

    need(newest_abi() > 0, "Landlock");
    make_folder(fixture, "folder");
    make_append_only(path_in(fixture, "folder"));
    in_child(try_in_append_only, &fixture);
    set_append_only(path_in(fixture, "folder"), false);
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_fixture, remove_fixture)

int main(void)
{
    const struct CMUnitTest privileged[] = {
        test(nothing_is_made_where_it_could_not_be_removed),
    };
    const struct CMUnitTest tests[] = {
        test(nothing_is_left_behind),
        test(a_file_is_not_changed_by_writing_and_truncating),
        test(a_program_is_not_run),
        test(each_kind_is_tried_as_it_can_be),
        test(a_device_is_sent_a_request),
        test(ports_are_tried_without_a_service),
        test(a_file_of_another_trial_is_not_taken),
        test(a_file_with_a_rule_of_its_own_says_nothing_of_its_directory),
        test(a_socket_may_have_a_long_path),
        test(a_restriction_that_fails_is_an_error),
        test(children_need_not_be_waited_for_by_the_caller),
        test(a_signal_ends_the_process_when_all_is_cleaned),
    };
    struct error error = {0};
    int failed = cmocka_run_group_tests(privileged, NULL, NULL);

    if (launch_drop_capabilities(&error) < 0)
        return 1;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
