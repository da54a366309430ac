/* lib/base: text that cannot forge a line, errors as values, arrays that grow, small files. */
#include "child.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* ---- UTF-8 ---- */

struct sequence_case {
    const char *text;
    size_t size, length;
};

static void assert_sequences(const struct sequence_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (utf8_sequence(cases[i].text, cases[i].size) != cases[i].length)
            fail_msg("case %zu: %zu bytes instead of %zu", i, utf8_sequence(cases[i].text, cases[i].size),
                     cases[i].length);
}

static void a_valid_sequence_has_its_length(void **state)
{
    static const struct sequence_case cases[] = {
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\x7f", 1, 1},
        {"\xc2\x80", 2, 2},         /* U+0080 */
        {"\xdf\xbf", 2, 2},         /* U+07FF */
        {"\xe0\xa0\x80", 3, 3},     /* U+0800 */
        {"\xed\x9f\xbf", 3, 3},     /* U+D7FF, before the surrogates */
        {"\xee\x80\x80", 3, 3},     /* U+E000, after them */
        {"\xef\xbf\xbf", 3, 3},     /* U+FFFF */
        {"\xf0\x90\x80\x80", 4, 4}, /* U+10000 */
        {"\xf4\x8f\xbf\xbf", 4, 4}, /* U+10FFFF */
        {"\xd0\xb6z", 3, 2},
    };

    (void)state;
    assert_sequences(cases, array_size(cases));
}

static void an_invalid_sequence_has_none(void **state)
{
    static const struct sequence_case cases[] = {
        {"a", 0, 0},
        {"\x80", 1, 0},
        {"\xbf", 1, 0},
        {"\xc0\xaf", 2, 0},         /* overlong '/' */
        {"\xc1\xbf", 2, 0},         /* overlong */
        {"\xe0\x9f\xbf", 3, 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 4, 0}, /* overlong */
        {"\xed\xa0\x80", 3, 0},     /* U+D800 */
        {"\xed\xbf\xbf", 3, 0},     /* U+DFFF */
        {"\xf4\x90\x80\x80", 4, 0}, /* U+110000 */
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xfe", 1, 0},
        {"\xff", 1, 0},
        {"\xd0\xb6", 1, 0}, /* cut off */
        {"\xe2\x82\xac", 2, 0},
        {"\xf0\x9f\x98\x80", 3, 0},
        {"\xd0z", 2, 0},
        {"\xe2\x82z", 3, 0},
        {"\xf0\x9f\x98z", 4, 0},
    };

    (void)state;
    assert_sequences(cases, array_size(cases));
}

/* ---- Text for terminals and JSON ---- */

struct text_case {
    const char *text, *written;
};

static void assert_written(void (*write_text)(FILE *, const char *), const struct text_case *cases,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        auto_free char *written = NULL;
        size_t size;
        FILE *out = open_memstream(&written, &size);

        assert_non_null(out);
        write_text(out, cases[i].text);
        fclose(out);
        assert_string_equal(written, cases[i].written);
    }
}

static void text_for_a_terminal_stays_in_its_line(void **state)
{
    static const struct text_case cases[] = {
        {"", ""},
        {"plain text, \\ and \"", "plain text, \\ and \""},
        {"файл", "файл"},
        {"a\nb", "a\\x0ab"},
        {"\x1b[31m\r\t\x7f", "\\x1b[31m\\x0d\\x09\\x7f"},
        {"\xc2\x85\xc2\x9b", "\\xc2\\x85\\xc2\\x9b"},                   /* C1 */
        {"\xc2\xa0", "\xc2\xa0"},                                       /* the first behind C1 */
        {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"}, /* separators */
        {"\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xac", "\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xe2\\x81\\xa9\\"
                                                             "xe2\\x80\\xac"}, /* bidirectional */
        {"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
        {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"}, /* their neighbours */
        {"\xff\xd0", "\\xff\\xd0"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    };

    (void)state;
    assert_written(text_write_safe, cases, array_size(cases));
}

static void json_is_valid_whatever_the_bytes(void **state)
{
    static const struct text_case cases[] = {
        {"", "\"\""},
        {"файл /", "\"файл /\""},
        {"\"\\", "\"\\\"\\\\\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
        {"\xe2\x80\xa8\xe2\x80\xae\xe2\x80\xac\xc2\x85", "\"\\u2028\\u202e\\u202c\\u0085\""},
        {"\xff"
         "a\xc0\xaf",
         "\"\\ufffda\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
        {"\xd0", "\"\\ufffd\""},
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
        {"\xf0\x9d\x85\xb3\xf3\xa0\x80\x81", "\"\\ud834\\udd73\\udb40\\udc01\""}, /* U+1D173, U+E0001 */
    };

    (void)state;
    assert_written(text_write_json, cases, array_size(cases));
}

/* No byte of 1 to 255 puts anything into a JSON string or a line that does not belong there. */
static void every_single_byte_is_written_safely(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        const char text[] = {(char)byte, '\0'};
        void (*const writers[])(FILE *, const char *) = {text_write_safe, text_write_json};

        for (size_t k = 0; k < array_size(writers); k++) {
            auto_free char *written = NULL;
            size_t size;
            FILE *out = open_memstream(&written, &size);

            assert_non_null(out);
            writers[k](out, text);
            fclose(out);
            for (size_t i = 0; i < size; i++)
                assert_in_range((unsigned char)written[i], 0x20, 0x7e);
        }
    }
}

/* ---- Suggestions ---- */

static const char *name_in_list(size_t i, const void *context)
{
    return ((const char *const *)context)[i];
}

static void the_nearest_name_has_at_most_a_third_of_its_letters_changed(void **state)
{
    static const char *const names[] = {"allow",    "audit", "read_file",
                                        "read_dir", "as",    "a_name_of_more_than_thirty_two_letters"};
    static const struct text_case cases[] = {
        {"allow", "allow"},
        {"alow", "allow"},
        {"lalow", "allow"}, /* exchanged */
        {"allows", "allow"},
        {"alloq", "allow"},
        {"aduit", "audit"},
        {"readfile", "read_file"},
        {"read_dri", "read_dir"},
        {"read_xyz", NULL},
        {"xyz", NULL},
        {"", NULL},
        {"a", NULL},
        {"ass", "as"},
        {"al", NULL},
        {"a_name_of_more_than_thirty_two_letter", NULL},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        const char *nearest = text_nearest(cases[i].text, array_size(names), name_in_list, names);

        if (cases[i].written)
            assert_non_null(nearest);
        if (nearest)
            assert_string_equal(nearest, cases[i].written ? cases[i].written : "nothing");
    }
}

static void at_most_256_names_are_compared(void **state)
{
    const char *names[300];

    (void)state;
    for (size_t i = 0; i < array_size(names); i++)
        names[i] = "elsewhere";
    names[256] = "allow";
    assert_null(text_nearest("alow", array_size(names), name_in_list, names));
    names[255] = "allow";
    assert_ptr_equal(text_nearest("alow", array_size(names), name_in_list, names), names[255]);
    assert_null(text_nearest("alow", 0, name_in_list, names));
}

/* ---- Errors ---- */

static void an_error_carries_its_message(void **state)
{
    auto_free struct error *error = calloc(1, sizeof *error);

    (void)state;
    assert_non_null(error);
    assert_int_equal(error_set(error, 7, "%s: %d", "WHAT", 5), -1);
    assert_int_equal(error->code, 7);
    assert_string_equal(error->message, "WHAT: 5");
    assert_string_equal(error->hint, "");
    assert_int_equal(error_hint(error, "do %s", "this"), -1);
    assert_string_equal(error->hint, "do this");
    assert_int_equal(error->code, 7);
    error_set(error, 8, "another");
    assert_string_equal(error->hint, "");
}

static void a_message_that_does_not_fit_ends_in_dots(void **state)
{
    auto_free struct error *error = calloc(1, sizeof *error);
    char text[ERROR_TEXT_SIZE + 100];

    (void)state;
    assert_non_null(error);
    memset(text, 'x', sizeof text);
    text[ERROR_TEXT_SIZE - 1] = '\0'; /* just fits */
    error_set(error, 1, "%s", text);
    assert_string_equal(error->message, text);
    text[ERROR_TEXT_SIZE - 1] = 'x';
    text[ERROR_TEXT_SIZE] = '\0';
    error_set(error, 1, "%s", text);
    error_hint(error, "%s", text);
    assert_int_equal(strlen(error->message), ERROR_TEXT_SIZE - 1);
    assert_string_equal(error->message + ERROR_TEXT_SIZE - 5, "x...");
    assert_string_equal(error->hint + ERROR_TEXT_SIZE - 5, "x...");
}

/* ---- Arrays ---- */

static void an_array_keeps_its_items_while_it_grows(void **state)
{
    enum { COUNT = 1000 };
    auto_free size_t *items = NULL;
    size_t capacity = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(array_reserve(&items, &capacity, i, sizeof *items), 0);
        assert_in_range(capacity, i + 1, 2 * COUNT);
        items[i] = i;
    }
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(items[i], i);
}

static void an_array_has_room_however_many_items_are_asked_for(void **state)
{
    auto_free char *items = NULL;
    size_t capacity = 0;

    (void)state;
    assert_int_equal(array_reserve(&items, &capacity, 99, 1), 0);
    assert_in_range(capacity, 100, SIZE_MAX);
}

static void an_array_that_cannot_grow_stays_as_it_was(void **state)
{
    char item = 0, *items = &item;
    size_t capacity = SIZE_MAX / 4;

    (void)state;
    errno = 0;
    assert_int_equal(array_reserve(&items, &capacity, capacity, 16), -1);
    assert_int_equal(errno, ENOMEM);
    assert_ptr_equal(items, &item);
    assert_int_equal(capacity, SIZE_MAX / 4);
}

/* ---- Writing to descriptors ---- */

static volatile sig_atomic_t signals_seen;

static void count_signal(int number)
{
    (void)number;
    signals_seen++;
}

static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static void all_bytes_are_written(void **state)
{
    int ends[2];
    char text[16] = "";

    (void)state;
    make_pipe(ends);
    assert_int_equal(write_all(ends[1], "twelve bytes", 12), 0);
    assert_int_equal(write_all(ends[1], "", 0), 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text), 12);
    assert_string_equal(text, "twelve bytes");
    close(ends[0]);
}

static void a_reader_that_has_gone_away_is_an_error_and_no_signal(void **state)
{
    struct sigaction counting = {.sa_handler = count_signal}, before, after;
    struct write_signals held;
    int ends[2];

    (void)state;
    make_pipe(ends);
    close(ends[0]);
    signals_seen = 0;
    sigaction(SIGPIPE, &counting, &before);
    assert_int_equal(hold_off_signals(&held), 0);
    errno = 0;
    assert_int_equal(write_all(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    text_write_line(ends[1], "prefix: ", "text");
    assert_int_equal(restore_signals(&held), 0);
    sigaction(SIGPIPE, &before, &after);
    close(ends[1]);
    assert_int_equal(signals_seen, 0);
    assert_ptr_equal(after.sa_handler, count_signal);
}

static void a_file_that_may_not_grow_is_an_error_and_no_signal(void **state)
{
    struct sigaction counting = {.sa_handler = count_signal}, before, after;
    struct write_signals held;
    struct rlimit limit, small;
    FILE *file = tmpfile();

    (void)state;
    assert_non_null(file);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){4, limit.rlim_max};
    signals_seen = 0;
    sigaction(SIGXFSZ, &counting, &before);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(hold_off_signals(&held), 0);
    errno = 0;
    assert_int_equal(write_all(fileno(file), "more than four", 14), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(restore_signals(&held), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    sigaction(SIGXFSZ, &before, &after);
    fclose(file);
    assert_int_equal(signals_seen, 0);
    assert_ptr_equal(after.sa_handler, count_signal);
}

static void a_closed_descriptor_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(write_all(-1, "x", 1), -1);
    assert_int_equal(errno, EBADF);
}

static void a_line_is_written_safely_and_at_once(void **state)
{
    int ends[2];
    char text[64] = "";

    (void)state;
    make_pipe(ends);
    text_write_line(ends[1], "landlock-exec: ", "a\nlandlock-exec: b\x1b");
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, "landlock-exec: a\\x0alandlock-exec: b\\x1b\n");
    close(ends[0]);
    close(ends[1]);
}

/* ---- /proc ---- */

static void id_ranges_are_taken_line_by_line(void **state)
{
    const char *map = "         0       1000          1\n         1     100000      65536\n", *rest = map;
    struct id_range range;

    (void)state;
    assert_true(next_id_range(&rest, &range));
    assert_int_equal(range.inside, 0);
    assert_int_equal(range.outside, 1000);
    assert_int_equal(range.count, 1);
    assert_true(next_id_range(&rest, &range));
    assert_int_equal(range.inside, 1);
    assert_int_equal(range.outside, 100000);
    assert_int_equal(range.count, 65536);
    assert_false(next_id_range(&rest, &range));
}

static void an_incomplete_id_range_is_none(void **state)
{
    static const char *const maps[] = {"", "\n", "0", "0 0", "0 0\n", "x 0 1", "0 x 1"};

    (void)state;
    for (size_t i = 0; i < array_size(maps); i++) {
        const char *rest = maps[i];
        struct id_range range;

        assert_false(next_id_range(&rest, &range));
    }
}

static void a_user_that_this_namespace_maps_stands_for_nobody_else(void **state)
{
    (void)state;
    assert_int_equal(uid_stands_for_unmapped(getuid()), 0);
    assert_int_equal(uid_stands_for_unmapped(1), 0);
    assert_int_equal(uid_is_roots(1), 0);
    assert_int_equal(uid_is_roots(0), 1);
    assert_int_equal(uid_is_roots_or_own(getuid()), 1);
    assert_int_equal(uid_is_roots_or_own(1), 0);
}

enum { NO_NAMESPACE = 77, OVERFLOW_UID = 65534, NUMBER_SIZE = 64 };

static void enter_namespaces(int flags)
{
    if (unshare(flags) < 0)
        _exit(NO_NAMESPACE);
}

/* In a user namespace of its own, which maps nobody at first, then *`context` alone. */
static void judge_in_namespace(const void *context)
{
    const unsigned *inside = context;
    char map[NUMBER_SIZE];
    int length = snprintf(map, sizeof map, "%u %u 1\n", *inside, geteuid()), fd;

    enter_namespaces(CLONE_NEWUSER);
    must(uid_stands_for_unmapped(OVERFLOW_UID) == 1 && uid_is_roots(OVERFLOW_UID) == 1);
    must(uid_stands_for_unmapped(0) == 0);
    fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, map, (size_t)length) == length && close(fd) == 0);
    must(uid_stands_for_unmapped(OVERFLOW_UID) == (*inside != OVERFLOW_UID));
    must(uid_stands_for_unmapped(0) == 0);
}

/* Where something else is mounted on /proc. */
static void judge_without_proc(const void *context)
{
    (void)context;
    enter_namespaces(CLONE_NEWUSER | CLONE_NEWNS);
    must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    must(mount("tmpfs", "/proc", "tmpfs", 0, "") == 0);
    must(uid_stands_for_unmapped(OVERFLOW_UID) == -1 && errno == ENOENT);
    must(uid_is_roots(1) == -1 && uid_is_roots_or_own(1) == -1);
    must(uid_is_roots(0) == 1 && uid_is_roots_or_own(getuid()) == 1);
}

static void judge_in_child(void (*judge)(const void *), const void *context)
{
    int status = run_child(judge, context);

    need(!WIFEXITED(status) || WEXITSTATUS(status) != NO_NAMESPACE, "user namespace");
    assert_int_equal(status, 0);
}

static void whom_a_user_stands_for_cannot_be_told_without_proc(void **state)
{
    (void)state;
    judge_in_child(judge_without_proc, NULL);
}

static void the_overflow_user_stands_for_those_that_are_not_mapped(void **state)
{
    static const unsigned mapped[] = {0, 1000, OVERFLOW_UID};
    char overflow[NUMBER_SIZE];

    (void)state;
    assert_true(read_small_file("/proc/sys/kernel/overflowuid", overflow, sizeof overflow));
    assert_string_equal(overflow, "65534\n");
    for (size_t i = 0; i < array_size(mapped); i++)
        judge_in_child(judge_in_namespace, &mapped[i]);
}

static void a_small_file_is_read_as_far_as_it_fits(void **state)
{
    char path[] = "/tmp/unit-base-XXXXXX", text[16];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_true(read_small_file(path, text, sizeof text));
    assert_string_equal(text, "");
    assert_int_equal(write(fd, "0123456789", 10), 10);
    close(fd);
    assert_true(read_small_file(path, text, sizeof text));
    assert_string_equal(text, "0123456789");
    assert_true(read_small_file(path, text, 5));
    assert_string_equal(text, "0123");
    assert_true(read_small_file(path, text, 1));
    assert_string_equal(text, "");
    assert_int_equal(unlink(path), 0);
}

static void a_file_that_cannot_be_read_is_no_small_file(void **state)
{
    char text[16] = "left over";

    (void)state;
    assert_false(read_small_file("/nonexistent/file", text, sizeof text));
    assert_string_equal(text, "");
    assert_false(read_small_file("/", text, sizeof text));
}

/* ---- Cleanup ---- */

static void a_descriptor_that_was_taken_is_not_closed(void **state)
{
    int taken;

    (void)state;
    {
        auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        auto_close int none = -1;

        assert_true(fd >= 0);
        taken = take_fd(&fd);
        assert_int_equal(fd, -1);
        (void)none;
    }
    assert_int_equal(fcntl(taken, F_GETFD), FD_CLOEXEC);
    {
        auto_close int fd = taken;

        (void)fd;
    }
    assert_int_equal(fcntl(taken, F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_sequence_has_its_length),
        cmocka_unit_test(an_invalid_sequence_has_none),
        cmocka_unit_test(text_for_a_terminal_stays_in_its_line),
        cmocka_unit_test(json_is_valid_whatever_the_bytes),
        cmocka_unit_test(every_single_byte_is_written_safely),
        cmocka_unit_test(the_nearest_name_has_at_most_a_third_of_its_letters_changed),
        cmocka_unit_test(at_most_256_names_are_compared),
        cmocka_unit_test(an_error_carries_its_message),
        cmocka_unit_test(a_message_that_does_not_fit_ends_in_dots),
        cmocka_unit_test(an_array_keeps_its_items_while_it_grows),
        cmocka_unit_test(an_array_has_room_however_many_items_are_asked_for),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(all_bytes_are_written),
        cmocka_unit_test(a_reader_that_has_gone_away_is_an_error_and_no_signal),
        cmocka_unit_test(a_file_that_may_not_grow_is_an_error_and_no_signal),
        cmocka_unit_test(a_closed_descriptor_is_an_error),
        cmocka_unit_test(a_line_is_written_safely_and_at_once),
        cmocka_unit_test(id_ranges_are_taken_line_by_line),
        cmocka_unit_test(an_incomplete_id_range_is_none),
        cmocka_unit_test(a_user_that_this_namespace_maps_stands_for_nobody_else),
        cmocka_unit_test(whom_a_user_stands_for_cannot_be_told_without_proc),
        cmocka_unit_test(the_overflow_user_stands_for_those_that_are_not_mapped),
        cmocka_unit_test(a_small_file_is_read_as_far_as_it_fits),
        cmocka_unit_test(a_file_that_cannot_be_read_is_no_small_file),
        cmocka_unit_test(a_descriptor_that_was_taken_is_not_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
