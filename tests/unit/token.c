/* The token's value, the file as Docker Compose reads it, and memory that runs out. That Compose reads it so is shown in tests/token. */
#include "allocations.h"
#include "child.h"
#include "token/internal.h"

#include <sys/prctl.h>

#define KEY "AI_INTERPRETER_SERVICE_TOKEN"
#define LONG "0123456789abcdef0123456789abcdef" /* 32 */

/* ---- Values ---- */

static void assert_value(const char *value, int code)
{
    struct error error = {0};

    assert_int_equal(token_check_value(value, &error), code ? -1 : 0);
    assert_int_equal(error.code, code);
    if (code)
        assert_true(error.hint[0] && !strstr(error.message, "0123456789abcdef"));
}

static void a_value_has_32_printable_characters(void **state)
{
    (void)state;
    assert_value(LONG, 0);
    assert_value(LONG LONG, 0);
    assert_value(LONG + 1, TOKEN_SHORT);
    assert_value("", TOKEN_SHORT);
    assert_value(NULL, TOKEN_MISSING);
    assert_value("!~" LONG, 0);
    assert_value(LONG " ", TOKEN_UNUSABLE);
    assert_value(LONG "\x7f", TOKEN_UNUSABLE);
    assert_value(LONG "\n", TOKEN_UNUSABLE);
    assert_value(LONG "\xc3\xa9", TOKEN_UNUSABLE);
    assert_value("\xff", TOKEN_UNUSABLE);
}

static void every_refusal_has_a_row(void **state)
{
    (void)state;
    assert_int_equal(token_refusal_count, TOKEN_SYSTEM);
    for (size_t i = 0; i < token_refusal_count; i++) {
        assert_int_equal(token_refusal_table[i].code, i + 1);
        assert_ptr_equal(token_refusal((int)i + 1), &token_refusal_table[i]);
        assert_in_range(token_refusal_table[i].exit_status, 1, 2);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(token_refusal_table[i].name, token_refusal_table[j].name);
    }
    assert_int_equal(token_refusal(0)->code, TOKEN_SYSTEM);
    assert_int_equal(token_refusal(99)->code, TOKEN_SYSTEM);
}

/* ---- The file ---- */

static const struct {
    const char *text, *value;
    size_t times, first_line, last_line;
    enum environment_value kind;
} read_texts[] = {
    {"", NULL, 0, 0, 0, ENVIRONMENT_NONE},
    {"K=v\n", "v", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"\n # K=w\n\tK = v #c\r\n", "v", 1, 3, 3, ENVIRONMENT_LITERAL},
    {"K=v#c \xc2\xa0\xe3\x80\x80", "v#c", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"K=#v", "#v", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"K=\nK:w\n", "w", 2, 1, 2, ENVIRONMENT_LITERAL},
    {"A='\nK=x\n'K=v", "v", 1, 3, 3, ENVIRONMENT_LITERAL},
    {"A=\"\\\"\nK=x\n\"\n", NULL, 0, 0, 0, ENVIRONMENT_NONE},
    {"K='a\\'b\\nc$d'", "a'b\\nc$d", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"K=\"a\\\"b\\tc\\\\d\\$e\\0101\\08\"", "a\"b\tc\\d$eA\\8", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"K=$$a$1\\n", "$a$1\\n", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"K=$a", NULL, 1, 1, 1, ENVIRONMENT_EXPANDED},
    {"K=v\nexport K\n", NULL, 2, 1, 2, ENVIRONMENT_INHERITED},
    {"\xef\xbb\xbf"
     "export\t K=v",
     "v", 1, 1, 1, ENVIRONMENT_LITERAL},
    {"KK=v\nk=v\nK.=v\n", NULL, 0, 0, 0, ENVIRONMENT_NONE},
};

static void a_file_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(read_texts); i++) {
        struct environment_entry entry;
        struct environment_fault fault;

        assert_int_equal(
            environment_find(read_texts[i].text, strlen(read_texts[i].text), "K", &entry, &fault), 0);
        assert_int_equal(entry.kind, read_texts[i].kind);
        assert_int_equal(entry.times, read_texts[i].times);
        assert_int_equal(entry.first_line, read_texts[i].first_line);
        assert_int_equal(entry.last_line, read_texts[i].last_line);
        if (read_texts[i].value)
            assert_string_equal(entry.value.bytes, read_texts[i].value);
        secret_wipe(&entry.value);
    }
}

static void a_faulty_file_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t size, line;
    } faulty[] = {{"A=1\nB='x\n", 9, 2},
                  {"\nA B=1", 6, 2},
                  {"A=1\n\0", 5, 2},
                  {"A", 1, 1},
                  {"export ", 7, 1},
                  {"=x", 2, 1},
                  {"!", 1, 1},
                  {"\xff=1", 3, 1},
                  {"A='1'\n'", 7, 2},
                  {"\xe2\x80\x83", 2, 1},
                  {"A\xe2\x80\x83=1", 6, 1}};

    (void)state;
    for (size_t i = 0; i < array_size(faulty); i++) {
        struct environment_entry entry;
        struct environment_fault fault;

        assert_int_equal(environment_find(faulty[i].text, faulty[i].size, "K", &entry, &fault), -1);
        assert_non_null(fault.what);
        assert_int_equal(fault.line, faulty[i].line);
        secret_wipe(&entry.value);
    }
}

/* ---- Memory that runs out ---- */

static char folder[] = "/var/tmp/token.XXXXXX";
static char file[sizeof folder + 8];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(file, sizeof file, "%s/.env", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static void write_file(const char *text)
{
    auto_close int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, text, strlen(text)), 0);
}

/* Each allocation refused: it is done, or refused for that, with the file as it was. */
static void refuse_each(int (*act)(const char *, struct token_report *, struct error *), const char *text,
                        int expected)
{
    bool was_refused;
    size_t at = 0;

    do {
        struct token_report report;
        struct error error = {0};
        long before;
        int result;

        write_file(text);
        before = allocations_in_use();
        refuse(++at, false);
        result = act(file, &report, &error);
        was_refused = allocations_so_far() >= at;
        refuse_no_more();
        assert_int_equal(allocations_in_use(), before);
        if (result < 0 && error.code == TOKEN_SYSTEM) {
            auto_free char *after = read_text_file(file);

            assert_true(was_refused);
            assert_string_equal(after, text);
        } else {
            assert_int_equal(error.code, expected);
            assert_int_equal(result, expected ? -1 : 0);
        }
    } while (was_refused);
    assert_in_range(at, 2, 100);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    refuse_each(token_ensure, "A=1", 0);
    refuse_each(token_ensure, KEY "=" LONG "\n", 0);
    refuse_each(token_ensure, KEY "=x\n", TOKEN_SHORT);
    refuse_each(token_check, KEY "='" LONG "'\n", 0);
    refuse_each(token_check, "A=1", TOKEN_MISSING);
    refuse_each(token_check, "A='1", TOKEN_SYNTAX);
}

/* ---- What is reported ---- */

static void a_report_tells_what_was_done(void **state)
{
    struct token_report report;
    struct error error = {0};

    (void)state;
    unlink(file);
    assert_int_equal(token_ensure(file, &report, &error), 0);
    assert_true(report.was_added && !report.was_file);
    assert_int_equal(report.length, TOKEN_MADE);
    assert_int_equal(report.mode, 0600);
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(token_ensure(file, &report, &error), 0);
    assert_true(!report.was_added && report.was_file && report.mode_before == 0640 && report.mode == 0600);
    assert_int_equal(token_check(file, &report, &error), 0);
    assert_true(report.length == TOKEN_MADE && report.times == 1 && report.first_line == 1);
}

static void guard(const void *context)
{
    struct error error = {0};

    (void)context;
    must(token_guard_memory(&error) == 0);
    must(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void memory_is_guarded(void **state)
{
    (void)state;
    in_child(guard, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_has_32_printable_characters),
        cmocka_unit_test(every_refusal_has_a_row),
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(a_faulty_file_is_refused),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(a_report_tells_what_was_done),
        cmocka_unit_test(memory_is_guarded),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
