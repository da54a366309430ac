/*
 * lib/container/exchange.c: what the launcher and its helper say to each other arrives as it was said, and nothing else is
 * understood.
 */
#include "container_fixture.h"

#include <limits.h>
#include <sys/mman.h>

enum { MOST_WORDS = 8 };

/* ---- The command line: what is written is read ---- */

static void add(struct container_expectation *expectation, const char *path, uint64_t mount)
{
    const struct container_place writable = {.path = path,
                                             .mount = mount,
                                             .is_mount_point = expectation->writable_count & 1,
                                             .is_allowed = expectation->writable_count & 2};

    expect_read_only(expectation, path, mount);
    expect_writable(expectation, &writable);
    expect_held(expectation, path, mount);
}

static void assert_same_places(const struct container_place *got, size_t got_count,
                               const struct container_place *wanted, size_t wanted_count)
{
    assert_int_equal(got_count, wanted_count);
    for (size_t i = 0; i < wanted_count; i++) {
        assert_string_equal(got[i].path, wanted[i].path);
        assert_true(got[i].mount == wanted[i].mount);
        assert_int_equal(got[i].is_mount_point, wanted[i].is_mount_point);
        assert_int_equal(got[i].is_allowed, wanted[i].is_allowed);
    }
}

/* Writes it, reads it, and compares. Returns how many words there were. */
static size_t assert_arrives(const struct container_expectation *wanted)
{
    char **arguments = container_write_arguments(wanted);
    auto_expectation struct container_expectation got;
    struct error error;
    size_t count = 0;

    assert_non_null(arguments);
    while (arguments[count])
        count++;
    assert_string_equal(arguments[0], "check-container");
    if (container_read_arguments(arguments, &got, &error) < 0)
        fail_msg("%s", error.message);
    assert_int_equal(got.uid, wanted->uid);
    assert_int_equal(got.presets, wanted->presets);
    assert_same_places(got.read_only, got.read_only_count, wanted->read_only, wanted->read_only_count);
    assert_same_places(got.writable, got.writable_count, wanted->writable, wanted->writable_count);
    assert_same_places(got.held, got.held_count, wanted->held, wanted->held_count);
    container_expectation_free(&got);
    container_free_arguments(arguments);
    return count;
}

static void an_expectation_of_nothing_but_a_user_arrives(void **state)
{
    static const uid_t uids[] = {0, 1, 1000, 65534, INT_MAX, UINT32_MAX - 1};

    (void)state;
    for (size_t i = 0; i < array_size(uids); i++)
        assert_int_equal(assert_arrives(&(struct container_expectation){.uid = uids[i]}), 2);
}

static void every_combination_of_presets_arrives(void **state)
{
    const unsigned all = CONTAINER_DOCKER | CONTAINER_PODMAN | CONTAINER_BUBBLEWRAP;

    (void)state;
    for (unsigned presets = 0; presets <= all; presets++)
        assert_int_equal(assert_arrives(&(struct container_expectation){.uid = 1000, .presets = presets}),
                         2 + (size_t)__builtin_popcount(presets));
}

static void paths_arrive_byte_for_byte(void **state)
{
    static const char *const paths[] = {
        "/",
        "/sandbox",
        "/with blanks  and\ttabs ",
        "/with\nnewlines\n",
        "/a:b:c",
        "/1:1:1:/x",
        "/uid=0",
        "/=",
        "/read-only=1:/",
        "/-",
        "/@",
        "/%s%n",
        "/\\040\\",
        "/\"quoted\"'",
        "/\xc3\xa9",
        "/not \xff\xfe UTF-8 \x80",
        "/\x01\x1b[31m",
        "/\xe2\x80\xae \xe2\x80\xac",
    };
    auto_expectation struct container_expectation expectation = {.uid = 1000};

    (void)state;
    for (size_t i = 0; i < array_size(paths); i++)
        add(&expectation, paths[i], i);
    assert_int_equal(assert_arrives(&expectation), 2 + 3 * array_size(paths));
}

static void mounts_and_flags_arrive_whatever_they_are(void **state)
{
    static const uint64_t mounts[] = {0, 1, INT_MAX, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX};
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = CONTAINER_DOCKER};

    (void)state;
    for (size_t i = 0; i < array_size(mounts); i++)
        add(&expectation, "/x", mounts[i]);
    assert_arrives(&expectation);
}

static void a_very_long_path_arrives(void **state)
{
    enum { LENGTH = 100000 };
    char *path = malloc(LENGTH + 1);
    auto_expectation struct container_expectation expectation = {.uid = 1000};

    (void)state;
    assert_non_null(path);
    memset(path, 'x', LENGTH);
    path[0] = '/';
    path[LENGTH] = '\0';
    add(&expectation, path, 1);
    assert_arrives(&expectation);
    container_expectation_free(&expectation);
    free(path);
}

static void thousands_of_paths_arrive_in_their_order(void **state)
{
    enum { COUNT = 5000 };
    static char paths[COUNT][16];
    auto_expectation struct container_expectation expectation = {.uid = 1000};

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(paths[i], sizeof paths[i], "/path/%zu", i);
        add(&expectation, paths[i], i * 7);
    }
    assert_int_equal(assert_arrives(&expectation), 2 + 3 * COUNT);
}

/* ---- The command line: what is not understood ---- */

struct words {
    const char *words[MOST_WORDS]; /* after the name */
    const char *message;           /* NULL: understood */
};

static char name[] = "check-container";

static void check_words(const struct words *row)
{
    char *arguments[MOST_WORDS + 2] = {name};
    auto_expectation struct container_expectation expectation = {
        .uid = 77, .presets = 77, .read_only_count = 77};
    struct error error = {0};
    int result;

    for (size_t i = 0; i < MOST_WORDS && row->words[i]; i++)
        arguments[i + 1] = (char *)row->words[i];
    result = container_read_arguments(arguments, &expectation, &error);
    if (result != (row->message ? -1 : 0))
        fail_msg("%s %s: %s", row->words[0] ? row->words[0] : "", row->words[1] ? row->words[1] : "",
                 result < 0 ? error.message : "was understood");
    if (row->message) {
        assert_int_equal(error.code, CONTAINER_ERROR);
        assert_string_equal(error.message, row->message);
        assert_non_null(strstr(error.hint, "landlock-exec --dry-run"));
    } else {
        assert_int_equal(error.code, 0);
    }
}

static void words_may_come_in_any_order(void **state)
{
    static const struct words table[] = {
        {{"uid=0"}, NULL},
        {{"preset=docker", "uid=0"}, NULL},
        {{"writable=2:0:1:/x", "read-only=1:/", "preset=podman", "uid=1", "preset=bubblewrap"}, NULL},
        {{"preset=docker", "preset=docker", "uid=0"}, NULL},
        {{"read-only=1:/", "uid=1000", "read-only=1:/"}, NULL},
        {{"read-only=18446744073709551615:/", "uid=4294967294"}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_words(&table[i]);
}

static void without_a_user_nothing_is_understood(void **state)
{
    static const struct words table[] = {
        {{NULL}, "no user is named"},
        {{"preset=docker"}, "no user is named"},
        {{"read-only=1:/", "writable=2:1:1:/x"}, "no user is named"},
    };
    char *nothing[] = {NULL};
    auto_expectation struct container_expectation expectation;
    struct error error;

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_words(&table[i]);
    assert_int_equal(container_read_arguments(nothing, &expectation, &error), -1);
    assert_string_equal(error.message, "no user is named");
}

/* Which of two users would be meant? */
static void a_user_is_named_once(void **state)
{
    static const struct words table[] = {
        {{"uid=0", "uid=1000"}, "'uid=1000' is not understood"},
        {{"uid=1000", "preset=docker", "uid=1000"}, "'uid=1000' is not understood"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_words(&table[i]);
}

static const char *const malformed[] = {
    "",
    " ",
    "=",
    "uid",
    "uid=",
    "uid=x",
    "uid=-1",
    "uid=+1",
    "uid= 1",
    "uid=1 ",
    "uid=1x",
    "uid=0x10",
    "uid=1:",
    "uid=4294967295",
    "uid=4294967296",
    "uid=18446744073709551616",
    "uid=99999999999999999999999999",
    " uid=1",
    "UID=1",
    "uids=1",
    "-uid=1",
    "--uid=1",
    "gid=1",
    "preset",
    "preset=",
    "preset=Docker",
    "preset=docker ",
    "preset= docker",
    "preset=dockers",
    "preset=dock",
    "preset=docker,podman",
    "preset=1",
    "read-only",
    "read-only=",
    "read-only=/",
    "read-only=1",
    "read-only=1:",
    "read-only=:/",
    "read-only=1:relative",
    "read-only=1: /",
    "read-only=1/",
    "read-only=-1:/",
    "read-only=+1:/",
    "read-only= 1:/",
    "read-only=1x:/",
    "read-only=0x1:/",
    "read-only=18446744073709551616:/",
    "read-only=1:1:/",
    "read_only=1:/",
    "writable",
    "writable=",
    "writable=/",
    "writable=1:/",
    "writable=1:1:/",
    "writable=1:1:1",
    "writable=1:1:1:",
    "writable=1:1:1:relative",
    "writable=1:1:1: /",
    "writable=1:1:1:1:/",
    "writable=1:2:1:/",
    "writable=1:1:2:/",
    "writable=1:-1:1:/",
    "writable=1:1:-1:/",
    "writable=1:true:1:/",
    "writable=1:1:yes:/",
    "writable=1::1:/",
    "writable=1:1::/",
    "writable=:1:1:/",
    "writable=-1:1:1:/",
    "writable=x:1:1:/",
    "writable=18446744073709551616:1:1:/",
    "writable=1:18446744073709551617:1:/",
    "/",
    "docker",
    "no\nsuch\nword",
    "\xff",
};

/* Each of them alone, and after words that are understood. */
static void malformed_words_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(malformed); i++) {
        char message[128];

        snprintf(message, sizeof message, "'%s' is not understood", malformed[i]);
        check_words(&(struct words){{malformed[i]}, message});
        check_words(&(struct words){{"uid=1000", "preset=docker", "read-only=1:/", malformed[i]}, message});
        check_words(&(struct words){{malformed[i], "uid=1000"}, message});
    }
}

static void the_first_word_is_the_name_whatever_it_says(void **state)
{
    char first[] = "uid=1", second[] = "uid=2";
    char *as_name[] = {first, second, NULL}, *alone[] = {first, NULL};
    auto_expectation struct container_expectation expectation;
    struct error error;

    (void)state;
    assert_int_equal(container_read_arguments(as_name, &expectation, &error), 0);
    assert_int_equal(expectation.uid, 2);
    assert_int_equal(container_read_arguments(alone, &expectation, &error), -1);
}

static void presets_have_a_bit_each_and_other_names_none(void **state)
{
    static const char *const others[] = {"", "dock", "dockers", "Docker", "docker ", "bwrap", "lxc"};

    (void)state;
    assert_int_equal(container_preset("docker"), CONTAINER_DOCKER);
    assert_int_equal(container_preset("podman"), CONTAINER_PODMAN);
    assert_int_equal(container_preset("bubblewrap"), CONTAINER_BUBBLEWRAP);
    for (size_t i = 0; i < array_size(others); i++)
        assert_int_equal(container_preset(others[i]), 0);
}

/* ---- The findings ---- */

/* Findings are not const because they are freed; these are not. */
static struct container_finding finding(const char *message, const char *hint)
{
    return (struct container_finding){(char *)message, (char *)hint};
}

enum { KINDS = 4 };

static void make_all_kinds(struct container_finding kinds[static KINDS])
{
    kinds[0] = finding("a message", "a hint");
    kinds[1] = finding("a message without a hint", "");
    kinds[2] = finding("", "");
    kinds[3] = finding("with\nnewlines\n", "\t\\ \"quoted\" \xff\xfe \xe2\x80\xae \xe2\x80\xac");
}

/* What container_write_findings() writes, to be freed. */
static char *written(const struct container_findings *findings, size_t *size)
{
    auto_close int fd = memfd_create("unit-container_exchange", MFD_CLOEXEC);
    char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(container_write_findings(fd, findings), 0);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *size, 0), *size);
    return bytes;
}

static void assert_findings_arrive(const struct container_findings *wanted)
{
    auto_findings struct container_findings got;
    size_t size;
    char *bytes = written(wanted, &size);

    assert_int_equal(container_read_findings(bytes, size, &got), 0);
    free(bytes); /* what was read is a copy */
    assert_int_equal(got.count, wanted->count);
    for (size_t i = 0; i < wanted->count; i++) {
        assert_string_equal(got.items[i].message, wanted->items[i].message);
        assert_string_equal(got.items[i].hint, wanted->items[i].hint);
    }
}

static void findings_arrive_byte_for_byte(void **state)
{
    enum { COUNT = 3000, LENGTH = 200000 };
    static struct container_finding many[COUNT], kinds[KINDS];
    char *text = malloc(LENGTH + 1);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', LENGTH);
    text[LENGTH] = '\0';
    make_all_kinds(kinds);
    for (size_t i = 0; i < COUNT; i++)
        many[i] = kinds[i % KINDS];
    many[COUNT / 2] = (struct container_finding){text, text};
    for (size_t count = 0; count <= KINDS; count++)
        assert_findings_arrive(&(struct container_findings){.items = kinds, .count = count});
    assert_findings_arrive(&(struct container_findings){.items = many, .count = COUNT});
    free(text);
}

/* Bytes in memory of exactly their size, so that valgrind and the sanitizers see what is read behind them. */
static int read_exactly(const char *bytes, size_t size, struct container_findings *findings)
{
    char *exact = malloc(size ? size : 1);
    int result, reason;

    assert_non_null(exact);
    memcpy(exact, bytes, size);
    errno = 0;
    result = container_read_findings(exact, size, findings);
    reason = errno;
    free(exact);
    errno = reason;
    return result;
}

static void bytes_that_are_no_findings_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } table[] = {
        {"\0", 1},      {"x", 1},         {"message", 7},    {"message\0", 8}, {"message\0hint", 12},
        {"a\0b\0c", 5}, {"a\0b\0c\0", 6}, {"a\0b\0c\0d", 7}, {"\0\0\0", 3},    {"a\0b\0\n", 5},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        auto_findings struct container_findings findings;

        if (read_exactly(table[i].bytes, table[i].size, &findings) != -1)
            fail_msg("row %zu was understood", i);
        assert_int_equal(errno, EBADMSG);
    }
}

/* Only where a finding ends may the bytes end. */
static void findings_cut_short_anywhere_are_refused(void **state)
{
    static const char bytes[] = "first\0hint\0second\0\0third\0hint";
    size_t texts = 0;

    (void)state;
    for (size_t size = 0; size <= sizeof bytes; size++) {
        bool is_whole = size == 0 || (bytes[size - 1] == '\0' && ++texts % 2 == 0);
        auto_findings struct container_findings findings;
        int result = read_exactly(bytes, size, &findings);

        assert_int_equal(result, is_whole ? 0 : -1);
        assert_true(is_whole ? findings.count == texts / 2 : errno == EBADMSG);
    }
    assert_int_equal(texts, 6);
}

static void no_bytes_are_no_findings(void **state)
{
    auto_findings struct container_findings findings = {.count = 77};

    (void)state;
    assert_int_equal(container_read_findings(NULL, 0, &findings), 0);
    assert_int_equal(findings.count, 0);
    assert_null(findings.items);
}

static void findings_that_cannot_be_written_are_an_error(void **state)
{
    struct container_finding one = finding("a message", "a hint");
    const struct container_findings findings = {.items = &one, .count = 1};
    struct write_signals signals;
    int ends[2];

    (void)state;
    errno = 0;
    assert_int_equal(container_write_findings(-1, &findings), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    assert_int_equal(hold_off_signals(&signals), 0); /* as the launcher does for its helper */
    assert_int_equal(container_write_findings(ends[1], &findings), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(restore_signals(&signals), 0);
    close(ends[1]);
    ends[1] = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(container_write_findings(ends[1], &findings), -1);
    assert_int_equal(errno, ENOSPC);
    close(ends[1]);
}

static void what_is_freed_is_empty(void **state)
{
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = CONTAINER_DOCKER};
    auto_findings struct container_findings findings;

    (void)state;
    add(&expectation, "/x", 1);
    container_expectation_free(&expectation);
    container_expectation_free(&expectation);
    assert_int_equal(expectation.writable_count + expectation.read_only_count + expectation.uid, 0);
    assert_int_equal(container_read_findings("a\0b", 4, &findings), 0);
    container_findings_free(&findings);
    container_findings_free(&findings);
    assert_int_equal(findings.count, 0);
    container_free_arguments(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expectation_of_nothing_but_a_user_arrives),
        cmocka_unit_test(every_combination_of_presets_arrives),
        cmocka_unit_test(paths_arrive_byte_for_byte),
        cmocka_unit_test(mounts_and_flags_arrive_whatever_they_are),
        cmocka_unit_test(a_very_long_path_arrives),
        cmocka_unit_test(thousands_of_paths_arrive_in_their_order),
        cmocka_unit_test(words_may_come_in_any_order),
        cmocka_unit_test(without_a_user_nothing_is_understood),
        cmocka_unit_test(a_user_is_named_once),
        cmocka_unit_test(malformed_words_are_refused),
        cmocka_unit_test(the_first_word_is_the_name_whatever_it_says),
        cmocka_unit_test(presets_have_a_bit_each_and_other_names_none),
        cmocka_unit_test(findings_arrive_byte_for_byte),
        cmocka_unit_test(bytes_that_are_no_findings_are_refused),
        cmocka_unit_test(findings_cut_short_anywhere_are_refused),
        cmocka_unit_test(no_bytes_are_no_findings),
        cmocka_unit_test(findings_that_cannot_be_written_are_an_error),
        cmocka_unit_test(what_is_freed_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
