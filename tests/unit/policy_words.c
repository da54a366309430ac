/* How a file becomes statements and words: quotes, escapes, replacements, and where a fault stands. */
#include "policy_fixture.h"

/* ---- Words ---- */

struct word_case {
    const char *source; /* behind "run " */
    const char *words[4];
};

static void assert_words(const struct word_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        auto_free char *body = repeated("run ", cases[i].source, 1, "\n");
        auto_loaded struct loaded loaded = load_body(body);
        size_t k = 0;

        assert_accepted(&loaded);
        for (; k < 4 && cases[i].words[k]; k++) {
            assert_in_range(loaded.policy->run_count, k + 1, 4);
            assert_string_equal(loaded.policy->run[k], cases[i].words[k]);
        }
        assert_int_equal(loaded.policy->run_count, k);
        assert_null(loaded.policy->run[k]);
    }
}

static void blanks_separate_words(void **state)
{
    static const struct word_case cases[] = {
        {"a b", {"a", "b"}},          {"  a \t b\t", {"a", "b"}},    {"\ta", {"a"}},
        {"a=b,c-d:e", {"a=b,c-d:e"}}, {"имя файл", {"имя", "файл"}},
    };

    (void)state;
    assert_words(cases, array_size(cases));
}

static void quotes_cover_a_word_or_part_of_one(void **state)
{
    static const struct word_case cases[] = {
        {"\"a b\" c", {"a b", "c"}}, {"a\" b \"c", {"a b c"}},     {"NAME=\"a b\"", {"NAME=a b"}},
        {"\"a\"\"b\"", {"ab"}},      {"a \"\" b", {"a", "", "b"}}, {"\"# no comment\"", {"# no comment"}},
        {"\"\ta\"", {"\ta"}},        {"\"путь к\"", {"путь к"}},
    };

    (void)state;
    assert_words(cases, array_size(cases));
}

static void every_escape_stands_for_its_character(void **state)
{
    static const struct word_case cases[] = {
        {"\\\\", {"\\"}},
        {"\\\"a", {"\"a"}},
        {"\\#", {"#"}},
        {"\\$ \\${A}", {"$", "${A}"}},
        {"a\\nb\\tc", {"a\nb\tc"}},
        {"\\x41\\x4a\\x4A\\x20", {"AJJ "}},
        {"\\xff\\xC0", {"\xff\xc0"}},
        {"\"\\\\\\\"\\#\\$\\n\\t\\x41\"", {"\\\"#$\n\tA"}},
        {"\\\\n", {"\\n"}},
    };

    (void)state;
    assert_words(cases, array_size(cases));
}

static void a_comment_begins_at_the_start_of_a_word(void **state)
{
    static const struct word_case cases[] = {
        {"a # b", {"a"}},
        {"a #", {"a"}},
        {"a#b", {"a#b"}},
        {"a#", {"a#"}},
        {"a \"#\"b", {"a", "#b"}},
        {"a \\#b", {"a", "#b"}},
        {"a # \"unclosed \\q $ \\", {"a"}},
        {"a # русский", {"a"}},
    };

    (void)state;
    assert_words(cases, array_size(cases));
}

static void a_backslash_at_the_end_continues_the_line(void **state)
{
    static const struct word_case cases[] = {
        {"a \\\nb", {"a", "b"}},    {"a\\\nb", {"ab"}},         {"a \\\n  \\\n\tb", {"a", "b"}},
        {"\"a\\\nb c\"", {"ab c"}}, {"a \\\n# comment", {"a"}}, {"a \\\n", {"a"}},
        {"\\\n\\\na", {"a"}},
    };

    (void)state;
    assert_words(cases, array_size(cases));
}

static void a_comment_does_not_continue(void **state)
{
    auto_loaded struct loaded loaded = load_body("# a comment \\\nrun a\n");

    (void)state;
    assert_accepted(&loaded);
    assert_string_equal(loaded.policy->run[0], "a");
}

static void the_last_line_needs_no_newline(void **state)
{
    static const char *const bodies[] = {"run a",   "run a ",    "run \"a\"",
                                         "run a #", "run a\\\n", "\n\n  \t\nrun a"};

    (void)state;
    for (size_t i = 0; i < array_size(bodies); i++) {
        auto_loaded struct loaded loaded = load_body(bodies[i]);

        assert_accepted(&loaded);
        assert_int_equal(loaded.policy->run_count, 1);
        assert_string_equal(loaded.policy->run[0], "a");
    }
}

static void a_fault_in_a_word_tells_where(void **state)
{
    static const struct fault_case cases[] = {
        {"run \"a b\nrun c\n", 2, 5, "unclosed quote"},
        {"run a\"b c\n", 2, 6, "unclosed quote"},
        {"run \"", 2, 5, "unclosed quote"},
        {"run a\\q\n", 2, 6, "unknown escape"},
        {"run \\ж\n", 2, 5, "unknown escape"},
        {"run \\x4\n", 2, 5, "incomplete \\x"},
        {"run \\x\n", 2, 5, "incomplete \\x"},
        {"run \\xg0\n", 2, 5, "incomplete \\x"},
        {"run \\x", 2, 5, "incomplete \\x"},
        {"run a\\x00\n", 2, 6, "NUL byte"},
        {"run a\\", 2, 6, "backslash at the end of the file"},
        {"run a \\", 2, 7, "backslash at the end of the file"},
        {"run $\n", 2, 5, "'$' does not begin a replacement"},
        {"run a$b\n", 2, 6, "'$' does not begin a replacement"},
        {"run ${}\n", 2, 5, "'$' does not begin a replacement"},
        {"run ${A\n# }\n", 2, 5, "'$' does not begin a replacement"},
        {"run ${1A}\n", 2, 5, "'$' does not begin a replacement"},
        {"run ${A-B}\n", 2, 5, "'$' does not begin a replacement"},
        {"run \"${A B}\"\n", 2, 6, "'$' does not begin a replacement"},
        {"run $", 2, 5, "'$' does not begin a replacement"},
        {"run ${", 2, 5, "'$' does not begin a replacement"},
        {"run ${A", 2, 5, "'$' does not begin a replacement"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_name_to_replace_has_at_most_63_letters(void **state)
{
    auto_free char *fits = repeated("define ", "n", 63, " v\nrun ${");
    auto_free char *fitting = repeated(fits, "n", 63, "}\n");
    auto_free char *too_long = repeated("run ${", "n", 64, "}\n");
    auto_loaded struct loaded accepted = load_body(fitting);
    auto_loaded struct loaded refused = load_body(too_long);

    (void)state;
    assert_accepted(&accepted);
    assert_string_equal(accepted.policy->run[0], "v");
    assert_fault(&refused, 2, 5, "'$' does not begin a replacement");
}

static void a_word_is_bounded(void **state)
{
    auto_free char *longest = repeated("run ", "x", POLICY_MAX_WORD_SIZE, "\n");
    auto_free char *too_long = repeated("run a ", "x", POLICY_MAX_WORD_SIZE + 1, " b\n");
    auto_loaded struct loaded accepted = load_body(longest);
    auto_loaded struct loaded refused = load_body(too_long);

    (void)state;
    assert_accepted(&accepted);
    assert_int_equal(strlen(accepted.policy->run[0]), POLICY_MAX_WORD_SIZE);
    assert_fault(&refused, 2, 7, "word too long");
}

static void a_word_is_bounded_after_replacement(void **state)
{
    auto_free char *half = repeated("define A ", "x", POLICY_MAX_WORD_SIZE / 2, "\nrun ${A}${A}");
    auto_free char *fits = repeated(half, "", 0, "\n");
    auto_free char *by_letter = repeated(half, "", 0, "y\n");
    auto_free char *by_value = repeated(half, "", 0, "${A}\n");
    auto_loaded struct loaded accepted = load_body(fits);
    auto_loaded struct loaded one_more = load_body(by_letter);
    auto_loaded struct loaded thrice = load_body(by_value);

    (void)state;
    assert_accepted(&accepted);
    assert_int_equal(strlen(accepted.policy->run[0]), POLICY_MAX_WORD_SIZE);
    assert_null(one_more.policy);
    assert_int_equal(one_more.diagnostics.count, 1);
    assert_non_null(strstr(one_more.diagnostics.items[0].message, "word too long"));
    assert_fault(&thrice, 3, 13, "word too long");
}

/* ---- Replacement ---- */

static const char definitions[] = "define A \"x y,z-1=2 # \\${B} \\\" *\"\ndefine B b\ndefine E \"\"\n";

static void a_value_is_never_split_nor_looked_into_again(void **state)
{
    static const struct word_case cases[] = {
        {"${A}", {"x y,z-1=2 # ${B} \" *"}},
        {"a${B}c${B}", {"abcb"}},
        {"\"${B} ${B}\"", {"b b"}},
        {"a ${E} b", {"a", "", "b"}},
        {"\\${B}", {"${B}"}},
        {"a${E}", {"a"}},
        {"${B}\\\n${B}", {"bb"}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        auto_free char *begin = repeated(definitions, "run ", 1, "");
        auto_free char *body = repeated(begin, cases[i].source, 1, "\n");
        auto_loaded struct loaded loaded = load_body(body);

        assert_accepted(&loaded);
        for (size_t k = 0; k < loaded.policy->run_count; k++)
            assert_string_equal(loaded.policy->run[k], cases[i].words[k]);
        assert_true(loaded.policy->run_count == 4 || !cases[i].words[loaded.policy->run_count]);
    }
}

static void separators_are_recognised_in_the_source_alone(void **state)
{
    static const struct fault_case cases[] = {
        {"define R read,write\nallow ${R} /x\n", 3, 7, "unknown right 'read,write'"},
        {"define R 1-2\nallow bind_tcp ${R}\n", 3, 16, "not a port"},
        {"define R -/x\nallow read ${R}\n", 3, 12, "is not absolute"},
        {"define R A=b\nenvironment set ${R}\n", 3, 17, "not an assignment"},
        {"define R A=b\nenvironment set ${R}=c\n", 3, 17, "not an assignment"},
        {"allow read\\x2cwrite /x\n", 2, 7, "unknown right 'read,write'"},
        {"allow bind_tcp 1\\x2d2\n", 2, 16, "not a port"},
        {"allow read \\x2d/x\n", 2, 12, "is not absolute"},
        {"environment set A\\x3db\n", 2, 17, "not an assignment"},
        {"define R abi\nrequire ${R} 3\n", 3, 14, "not a requirement"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void lists_ranges_and_assignments_may_have_replaced_parts(void **state)
{
    auto_loaded struct loaded loaded = load_body("define R read\ndefine P 80\ndefine N NAME\ndefine D /data\n"
                                                 "allow ${R},write_file -${D} \"-/quoted path\" ${D}/x\n"
                                                 "allow bind_tcp ${P}-${P}80 ${P}\n"
                                                 "environment set ${N}=${P}=${D} B=\"a=b\"\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->path_rule_count, 3);
    assert_int_equal(policy->path_rules[0].rights, 0xe);
    assert_int_equal(policy->path_rules[0].singles, 0x2);
    assert_string_equal(policy->path_rules[0].path, "/data");
    assert_int_equal(policy->path_rules[0].position.flags, POLICY_OPTIONAL);
    assert_string_equal(policy->path_rules[1].path, "/quoted path");
    assert_int_equal(policy->path_rules[1].position.flags, POLICY_OPTIONAL);
    assert_string_equal(policy->path_rules[2].path, "/data/x");
    assert_int_equal(policy->path_rules[2].position.flags, 0);
    assert_int_equal(policy->port_rules[0].first, 80);
    assert_int_equal(policy->port_rules[0].last, 8080);
    assert_int_equal(policy->port_rules[1].last, 80);
    assert_string_equal(policy->settings[0].assignment, "NAME=80=/data");
    assert_int_equal(policy->settings[0].name_length, 4);
    assert_string_equal(policy->settings[1].assignment, "B=a=b");
}

/* ---- Where a fault stands ---- */

static void columns_are_characters_not_bytes(void **state)
{
    static const struct fault_case cases[] = {
        {"run путь \\q\n", 2, 10, "unknown escape"},
        {"run \"путь\" \\q\n", 2, 12, "unknown escape"},
        {"allow read /данные относительный\n", 2, 20, "is not absolute"},
        {"run € 😀 $\n", 2, 9, "does not begin a replacement"},
        {"\trun\t$\n", 2, 6, "does not begin a replacement"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_fault_behind_a_continued_line_stands_in_its_own_line(void **state)
{
    static const struct fault_case cases[] = {
        {"allow read \\\n  /x \\\n  y\n", 4, 3, "is not absolute"},
        {"run \\\n  \\q\n", 3, 3, "unknown escape"},
        {"run a\\\nbc\\q\n", 3, 3, "unknown escape"},
        {"run a \\\n\nallow read y\n", 4, 12, "is not absolute"},
        {"run русский \\\nещё $\n", 3, 5, "does not begin a replacement"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_fault_in_a_word_that_was_continued_stands_in_its_own_line(void **state)
{
    static const struct fault_case cases[] = {
        {"allow read,\\\nwrite,raed /x\n", 3, 7, "unknown right 'raed'"},
        {"run a\\\nbc${NONE}\n", 3, 3, "'NONE' is not defined"},
        {"run \"a\\\nb ${NONE}\"\n", 3, 3, "'NONE' is not defined"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void an_unclosed_quote_stands_where_it_was_opened(void **state)
{
    static const struct fault_case cases[] = {
        {"run \"a\\\nb\n", 2, 5, "unclosed quote"},
        {"run a b\"c\\\n\\\nd", 2, 8, "unclosed quote"},
        {"run a\\\nb\"c\\\nd\n", 3, 2, "unclosed quote"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void many_faults_of_one_line_have_their_columns(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow read я /ok ю /ok/ \\\n э\n");
    static const struct fault faults[] = {
        {"main", 2, 12, "path 'я' is not absolute"},
        {"main", 2, 18, "path 'ю' is not absolute"},
        {"main", 2, 20, "path '/ok/' ends in '/'"},
        {"main", 3, 2, "path 'э' is not absolute"},
    };

    (void)state;
    assert_faults(&loaded, faults, array_size(faults));
}

static void positions_can_be_located(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow read /данные /a \\\n  -/b # comment\nallow bind_tcp "
                                                 "1 2\nprivate /p\n");
    size_t line, column;

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    policy_locate(policy, &policy->path_rules[1].position, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 20);
    policy_locate(policy, &policy->path_rules[2].position, &line, &column);
    assert_int_equal(line, 3);
    assert_int_equal(column, 3);
    policy_locate(policy, &policy->port_rules[1].position, &line, &column);
    assert_int_equal(line, 4);
    assert_int_equal(column, 18);
    policy_locate(policy, &policy->privates[0].position, &line, &column);
    assert_int_equal(line, 5);
    assert_int_equal(column, 9);
}

/* ---- Bytes that are no text ---- */

static void what_is_not_utf8_is_refused(void **state)
{
    static const struct fault_case cases[] = {
        {"run a\xff\n", 2, 6, "invalid UTF-8"},
        {"run \x80\n", 2, 5, "invalid UTF-8"},
        {"run \xc0\xaf\n", 2, 5, "invalid UTF-8"},         /* overlong */
        {"run \xe0\x80\xaf\n", 2, 5, "invalid UTF-8"},     /* overlong */
        {"run \xed\xa0\x80\n", 2, 5, "invalid UTF-8"},     /* surrogate */
        {"run \xf4\x90\x80\x80\n", 2, 5, "invalid UTF-8"}, /* above U+10FFFF */
        {"run \"\xd0\"\n", 2, 6, "invalid UTF-8"},         /* cut off */
        {"run \xd0", 2, 5, "invalid UTF-8"},
        {"# \xff\nrun a\n", 2, 3, "invalid UTF-8"},
        {"# я \xff\nrun a\n", 2, 5, "invalid UTF-8"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void control_characters_are_refused(void **state)
{
    static const struct fault_case cases[] = {
        {"run a\r\n", 2, 6, "carriage return"},
        {"run a\rb\n", 2, 6, "carriage return"},
        {"run a\u202eb\n", 2, 6, "cannot be seen or turns the text round"}, /* right to left from here */
        {"# \u2066\n", 2, 3, "cannot be seen or turns the text round"},     /* in comments above all */
        {"run a\u200bb\n", 2, 6, "cannot be seen or turns the text round"}, /* a blank of no width */
        {"# a\r\n", 2, 4, "carriage return"},
        {"run a\x1b[0m\n", 2, 6, "control character"},
        {"run \x7f\n", 2, 5, "control character"},
        {"run \"\x01\"\n", 2, 6, "control character"},
        {"\x0crun a\n", 2, 1, "control character"},
        {"# \x0b\n", 2, 3, "control character"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_nul_byte_is_refused_wherever_it_stands(void **state)
{
    static const struct {
        const char *text;
        size_t size, line, column;
    } cases[] = {
        {"policy 1\nrun a\0b\n", 17, 2, 6},   {"policy 1\n\0run a\n", 16, 2, 1},
        {"policy 1\n# \0\n", 13, 2, 3},       {"policy 1\nrun \"\0\"\n", 17, 2, 6},
        {"policy 1\nrun \\\0\n", 16, 2, 5},   {"policy 1\nrun a\n\0", 16, 3, 1},
        {"policy 1\nrun ${A\0}\n", 19, 2, 5},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        auto_loaded struct loaded loaded = load_bytes(cases[i].text, cases[i].size);

        assert_fault(&loaded, cases[i].line, cases[i].column, "");
    }
}

static void a_byte_order_mark_is_refused(void **state)
{
    auto_loaded struct loaded loaded = load_bytes("\xef\xbb\xbfpolicy 1\nrun a\n", 0);

    (void)state;
    assert_fault(&loaded, 1, 1, "byte order mark");
}

/* ---- Suggestions ---- */

static void a_misspelt_word_of_any_table_gets_a_suggestion(void **state)
{
    static const struct fault_case cases[] = {
        {"alow read /x\n", 2, 1, "'alow' (did you mean 'allow'?)"},
        {"enviroment keep A\n", 2, 1, "did you mean 'environment'?"},
        {"Allow read /x\n", 2, 1, "did you mean 'allow'?"},
        {"allow raed /x\n", 2, 7, "did you mean 'read'?"},
        {"allow read,make_rge /x\n", 2, 12, "did you mean 'make_reg'?"},
        {"allow networks 1\n", 2, 7, "did you mean 'network'?"},
        {"unrestricted singal\n", 2, 14, "did you mean 'signal'?"},
        {"limit nofiles 1\n", 2, 7, "did you mean 'nofile'?"},
        {"container writable dokcer\n", 2, 20, "did you mean 'docker'?"},
        {"define DATA /x\nallow read ${DATAS}\n", 3, 12, "did you mean 'DATA'?"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        auto_loaded struct loaded loaded = load_body(cases[i].body);

        assert_null(loaded.policy);
        assert_in_range(loaded.diagnostics.count, 1, 2); /* a container is described in part, too */
        const struct policy_diagnostic *last = &loaded.diagnostics.items[loaded.diagnostics.count - 1];
        assert_int_equal(last->line, cases[i].line);
        assert_int_equal(last->column, cases[i].column);
        if (!strstr(last->message, cases[i].part))
            fail_msg("%s: %s", cases[i].part, last->message);
    }
}

static void a_word_like_no_other_gets_none(void **state)
{
    static const struct fault_case cases[] = {
        {"xyzzy read /x\n", 2, 1, "unknown statement 'xyzzy'; expected"},
        {"allow xyzzy /x\n", 2, 7, "unknown right 'xyzzy'; "},
        {"allow read, /x\n", 2, 12, "unknown right ''; "},
        {"allow ,read /x\n", 2, 7, "unknown right ''; "},
        {"limit xyzzy 1\n", 2, 7, "unknown resource 'xyzzy'; "},
        {"run ${XYZZY}\n", 2, 5, "'XYZZY' is not defined; expected a statement: define XYZZY VALUE"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_name_of_the_file_cannot_forge_a_line(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow read a\\nmain:1:1:\\x1b[31m\n");
    auto_free char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);

    (void)state;
    assert_non_null(out);
    policy_diagnostics_write(out, &loaded.diagnostics);
    fclose(out);
    assert_string_equal(written, "main:2:12: error: path 'a\\x0amain:1:1:\\x1b[31m' is not absolute; "
                                 "expected an "
                                 "absolute path without empty, '.' or '..' components\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_separate_words),
        cmocka_unit_test(quotes_cover_a_word_or_part_of_one),
        cmocka_unit_test(every_escape_stands_for_its_character),
        cmocka_unit_test(a_comment_begins_at_the_start_of_a_word),
        cmocka_unit_test(a_backslash_at_the_end_continues_the_line),
        cmocka_unit_test(a_comment_does_not_continue),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(a_fault_in_a_word_tells_where),
        cmocka_unit_test(a_name_to_replace_has_at_most_63_letters),
        cmocka_unit_test(a_word_is_bounded),
        cmocka_unit_test(a_word_is_bounded_after_replacement),
        cmocka_unit_test(a_value_is_never_split_nor_looked_into_again),
        cmocka_unit_test(separators_are_recognised_in_the_source_alone),
        cmocka_unit_test(lists_ranges_and_assignments_may_have_replaced_parts),
        cmocka_unit_test(columns_are_characters_not_bytes),
        cmocka_unit_test(a_fault_behind_a_continued_line_stands_in_its_own_line),
        cmocka_unit_test(a_fault_in_a_word_that_was_continued_stands_in_its_own_line),
        cmocka_unit_test(an_unclosed_quote_stands_where_it_was_opened),
        cmocka_unit_test(many_faults_of_one_line_have_their_columns),
        cmocka_unit_test(positions_can_be_located),
        cmocka_unit_test(what_is_not_utf8_is_refused),
        cmocka_unit_test(control_characters_are_refused),
        cmocka_unit_test(a_nul_byte_is_refused_wherever_it_stands),
        cmocka_unit_test(a_byte_order_mark_is_refused),
        cmocka_unit_test(a_misspelt_word_of_any_table_gets_a_suggestion),
        cmocka_unit_test(a_word_like_no_other_gets_none),
        cmocka_unit_test(a_name_of_the_file_cannot_forge_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
