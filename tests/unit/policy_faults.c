/* The codes of faults: which fault has which, and where; and where what a policy gives is given. */
#include "policy_fixture.h"

#include <stddef.h>

/* ---- Sources that are too long to be written down ---- */

enum { NAME = 24, TEXT = 64, LONG_WORD = 65536 };

/* Files 0, 1, 2, …, each of which includes the next. */
static struct loaded load_deep(void)
{
    enum { COUNT = POLICY_MAX_DEPTH + 1 };
    static char names[COUNT][NAME], texts[COUNT][TEXT];
    struct memory_file files[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], NAME, "%zu", i);
        snprintf(texts[i], TEXT, "policy 1\ninclude %zu\n", i + 1);
        files[i] = (struct memory_file){.name = names[i], .text = texts[i]};
    }
    return load_files(files, COUNT);
}

/* One file that includes all the others. */
static struct loaded load_many(void)
{
    enum { COUNT = POLICY_MAX_FILES + 1 };
    static char names[COUNT][NAME];
    struct memory_file files[COUNT];
    char text[COUNT * 2 * NAME] = "policy 1\n", *end = text + strlen(text);

    files[0] = (struct memory_file){.name = "main", .text = text};
    for (size_t i = 1; i < COUNT; i++) {
        snprintf(names[i], NAME, "%zu", i);
        end += sprintf(end, "include %s\n", names[i]);
        files[i] = (struct memory_file){.name = names[i], .text = "policy 1\n"};
    }
    return load_files(files, COUNT);
}

static struct loaded load_long_word(void)
{
    auto_free char *body = repeated("run ", "x", LONG_WORD + 1, "\n");

    return load_body(body);
}

static struct loaded load_long_replacement(void)
{
    auto_free char *body = repeated("define A ", "x", LONG_WORD, "\nrun ${A}x\n");

    return load_body(body);
}

static struct loaded load_many_replacements(void)
{
    auto_free char *definition = repeated("define A ", "x", LONG_WORD, "\nrun");
    auto_free char *body = repeated(definition, " ${A}", POLICY_MAX_REPLACED / LONG_WORD + 1, "\n");

    return load_body(body);
}

/* Definitions each of which needs the one before it, the last one first. */
static struct loaded load_nested(void)
{
    auto_free char *body = NULL;
    size_t size;
    FILE *out = open_memstream(&body, &size);

    assert_non_null(out);
    for (int i = POLICY_MAX_NESTING; i > 0; i--)
        fprintf(out, "define A%d ${A%d}\n", i, i - 1);
    fputs("define A0 x\n", out);
    fclose(out);
    return load_body(body);
}

/* ---- A source for each fault ---- */

struct code_case {
    const char *code;
    size_t line, column; /* of the only fault */
    const char *text;    /* the file "main"; NULL: it cannot be read */
    const char *other;   /* the files "other" and "third", likewise */
    int error;           /* of a file that cannot be read */
    const char *where;   /* the file that has the fault; NULL: "main" */
    const char *given;   /* to --define; the fault is there, and not in a file */
    bool is_given_twice;
    size_t size;                 /* of `text`, where it holds a NUL */
    struct loaded (*load)(void); /* in the place of all that */
};

#define TEXT_OF(body) "policy 1\n" body "\n"
#define MAIN(body) .text = TEXT_OF(body)
#define OTHER(body) .other = TEXT_OF(body)

static const struct code_case cases[] = {
    {"E101", 0, 0, .error = ENOENT},
    {"E101", 0, 0, .error = EACCES},
    {"E101", 2, 9, MAIN("include other"), .error = ENOENT},
    {"E101", 2, 9, MAIN("include -other"), .error = EISDIR},
    {"E102", 0, 0, .error = EPERM},
    {"E102", 2, 9, MAIN("include -other"), .error = EPERM},
    {"E103", 2, 9, MAIN("include main")},
    {"E103", 2, 9, MAIN("include other"), OTHER("include main"), .where = "other"},
    {"E104", 2, 9, .load = load_deep, .where = "15"},
    {"E105", 65, 9, .load = load_many},
    {"E106", 0, 0, .error = EFBIG},
    {"E106", 2, 9, MAIN("include other"), .error = EFBIG},
    {"E107", 1, 1, .text = "\xef\xbb\xbfpolicy 1\n"},
    {"E107", 1, 1, MAIN("include other"), .other = "\xef\xbb\xbfpolicy 1\n", .where = "other"},
    {"E108", 1, 1, .text = ""},
    {"E108", 1, 1, .text = "\n# nothing\n"},
    {"E108", 2, 3, .text = "\n  run a\n"},
    {"E108", 1, 1, MAIN("include other"), .other = "", .where = "other"},
    {"E109", 1, 8, .text = "policy 2\n"},
    {"E110", 2, 1, MAIN("policy 1")},
    {"E111", 2, 5, MAIN("run \xff")},
    {"E111", 2, 6, .text = "policy 1\nrun a\0b\n", .size = 17},
    {"E112", 1, 9, .text = "policy 1\r\n"},
    {"E112", 2, 8, MAIN("run a #\x1b")},
    {"E113", 2, 6, MAIN("run a\u200b")},
    {"E113", 2, 3, MAIN("# \u202e")},
    {"E114", 2, 6, MAIN("run a\"b")},
    {"E115", 2, 6, MAIN("run a\\q")},
    {"E115", 2, 5, MAIN("run \\x4")},
    {"E115", 2, 5, MAIN("run \\x00")},
    {"E115", 2, 6, .text = "policy 1\nrun a\\"},
    {"E116", 2, 5, .load = load_long_word},
    {"E116", 3, 5, .load = load_long_replacement},
    {"E116", 3, 5 + 5 * (POLICY_MAX_REPLACED / LONG_WORD), .load = load_many_replacements},
    {"E201", 2, 1, MAIN("rum a")},
    {"E202", 2, 1, MAIN("run")},
    {"E202", 1, 1, .text = "policy\n"},
    {"E203", 2, 10, MAIN("audit on off")},
    {"E203", 2, 24, MAIN("container check always x")},
    {"E204", 2, 7, MAIN("audit yes")},
    {"E204", 2, 13, MAIN("environment drop A")},
    {"E204", 2, 11, MAIN("container mounts x")},
    {"E204", 2, 17, MAIN("container check never")},
    {"E204", 2, 8, MAIN("expect refused read /x")},
    {"E205", 2, 8, MAIN("define 1 x")},
    {"E206", 2, 5, MAIN("run ${A}")},
    {"E207", 2, 10, MAIN("define A ${A}")},
    {"E207", 65, 11, .load = load_nested},
    {"E208", 3, 9, MAIN("define A other\ninclude ${A}"), OTHER("")},
    {"E208", 1, 8, .text = "policy ${V}\ndefine V 1\n"},
    {"E209", 2, 5, MAIN("run $A")},
    {"E210", 3, 1, MAIN("run a\nrun a")},
    {"E210", 3, 1, MAIN("limit cpu 1\nlimit cpu 2")},
    {"E210", 3, 8, MAIN("define A 1\ndefine A 2")},
    {"E211", 2, 1, MAIN("include other\ninclude third"), OTHER("run a"), .where = "third"},
    {"E211", 2, 8, MAIN("include other\ninclude third"), OTHER("define A 1"), .where = "third"},
    {"E212", 0, 0, MAIN("define A 1"), .given = "A", .is_given_twice = true},
    {"E213", 0, 0, MAIN("define A 1"), .given = "B"},
    {"E301", 2, 12, MAIN("allow read,raed /x")},
    {"E301", 2, 9, MAIN("require 3")},
    {"E301", 2, 14, MAIN("unrestricted all")},
    {"E302", 2, 7, MAIN("allow signal /x")},
    {"E302", 2, 15, MAIN("expect denied read,signal /x")},
    {"E303", 2, 7, MAIN("allow read,bind_tcp /x")},
    {"E304", 2, 14, MAIN("unrestricted read")},
    {"E305", 3, 14, MAIN("require signal\nunrestricted signal")},
    {"E306", 2, 9, MAIN("require abi")},
    {"E306", 2, 16, MAIN("require signal 1")},
    {"E307", 2, 13, MAIN("require abi 0")},
    {"E307", 2, 13, MAIN("require abi x")},
    {"E308", 2, 12, MAIN("allow read x")},
    {"E308", 2, 12, MAIN("allow read -/x/")},
    {"E308", 2, 9, MAIN("private /x/../y")},
    {"E308", 2, 11, MAIN("directory //")},
    {"E308", 2, 20, MAIN("expect denied read x")},
    {"E309", 2, 18, MAIN("allow bind_tcp 1 65536")},
    {"E309", 2, 24, MAIN("expect denied bind_tcp 2-1")},
    {"E310", 2, 5, MAIN("run \"\"")},
    {"E310", 2, 9, MAIN("include -")},
    {"E311", 2, 7, MAIN("limit memory 1")},
    {"E312", 2, 11, MAIN("limit cpu 1M")},
    {"E312", 2, 10, MAIN("limit as 18446744073709551615")},
    {"E313", 2, 20, MAIN("environment keep A B=")},
    {"E314", 2, 17, MAIN("environment set A")},
    {"E315", 5, 15,
     MAIN("container capabilities none\ncontainer read-only /\ncontainer writable docker\ncontainer uid x\n"
          "container uid 1")},
    {"E316", 5, 20,
     MAIN("container uid 1\ncontainer capabilities none\ncontainer read-only /\ncontainer writable dokcer")},
    {"E317", 2, 1, MAIN("container uid 1")},
};

static struct loaded load_case(const struct code_case *one)
{
    const struct memory_file files[] = {
        {.name = "main", .text = one->text, .size = one->size, .fault = one->error},
        {.name = "other", .text = one->other, .fault = one->error ? one->error : ENOENT},
        {.name = "third", .text = one->other, .fault = one->error ? one->error : ENOENT},
    };
    const struct policy_definition given[] = {{one->given, "x"}, {one->given, "y"}};

    if (one->load)
        return one->load();
    return load_defined(files, array_size(files), given, one->given ? 1 + one->is_given_twice : 0);
}

static void each_fault_has_its_code_and_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        const struct code_case *one = &cases[i];
        const char *where = one->where ? one->where : "main";
        const struct fault expected = {one->given ? NULL : where, one->line, one->column, ""};
        auto_loaded struct loaded loaded = load_case(one);
        const struct policy_diagnostic *item = loaded.diagnostics.items;

        if (loaded.diagnostics.count != 1 || strcmp(policy_fault_code(item->fault), one->code) != 0)
            print_error("%s, %s\n", one->code, one->text ? one->text : "(no text)");
        assert_faults(&loaded, &expected, 1);
        assert_string_equal(policy_fault_code(item->fault), one->code);
        if (one->given)
            assert_string_equal(item->definition, one->given);
        else
            assert_null(item->definition);
    }
}

/* ---- The table ---- */

static void each_code_of_the_table_is_met(void **state)
{
    (void)state;
    for (size_t i = 0; i < policy_fault_count; i++) {
        size_t k = 0;

        while (k < array_size(cases) && strcmp(cases[k].code, policy_fault_table[i].name) != 0)
            k++;
        if (k == array_size(cases))
            fail_msg("no source has the fault %s", policy_fault_table[i].name);
    }
}

static void codes_are_unique_and_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < policy_fault_count; i++) {
        const char *code = policy_fault_table[i].name;

        assert_int_equal(policy_fault_table[i].value, i + 1);
        assert_string_equal(policy_fault_code(policy_fault_table[i].value), code);
        assert_int_equal(strlen(code), 4);
        assert_true(code[0] == 'E' && code[1] >= '1' && code[1] <= '3');
        assert_int_equal(strspn(code + 2, "0123456789"), 2);
        if (i)
            assert_true(strcmp(policy_fault_table[i - 1].name, code) < 0);
    }
}

static void what_is_no_fault_has_no_code_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(policy_fault_code((enum policy_fault)0), "");
    assert_string_equal(policy_fault_code((enum policy_fault)(policy_fault_count + 1)), "");
}

static void each_help_is_a_line_of_its_own(void **state)
{
    enum { MOST = 72 };

    (void)state;
    for (size_t i = 0; i < policy_fault_count; i++) {
        const char *help = policy_fault_table[i].help;

        assert_in_range(strlen(help), 1, MOST);
        assert_null(strpbrk(help, "\"'`\\\n"));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(policy_fault_table[k].help, help);
    }
}

/* ---- Where what a policy gives is given ---- */

enum holder { IN_MAIN, FIRST, LAST }; /* of two statements of one kind: which one holds */
enum layout { MAIN_THEN_OTHER, OTHER_THEN_MAIN, OTHER_ALONE, LAYOUTS };

struct place_case {
    const char *statement;
    size_t offset; /* of its position in struct policy */
    size_t column;
    enum holder holder;
    const char *others; /* what else the policy has to say */
};

#define NO_UID "container capabilities none\ncontainer read-only /\ncontainer writable docker\n"
#define NO_CAPABILITIES "container uid 1\ncontainer read-only /\ncontainer writable docker\n"
#define NO_WRITABLE "container uid 1\ncontainer capabilities none\ncontainer read-only /\n"

static const struct place_case places[] = {
    {"run a", offsetof(struct policy, run_position), 1, IN_MAIN, ""},
    {"  audit off", offsetof(struct policy, audit_position), 3, IN_MAIN, ""},
    {"unrestricted signal", offsetof(struct policy, unrestricted_position), 14, LAST, ""},
    {"container check always", offsetof(struct policy, container.check_position), 1, IN_MAIN, ""},
    {"container uid 0", offsetof(struct policy, container.uid_position), 1, IN_MAIN, NO_UID},
    {" container capabilities none", offsetof(struct policy, container.capabilities_position), 2, IN_MAIN,
     NO_CAPABILITIES},
    {"container writable /x", offsetof(struct policy, container.writable_position), 1, FIRST, NO_WRITABLE},
};

/* The statement in line 2 of "main", or in line 3 below an include; in line 4 of "other". */
static struct loaded load_layout(const struct place_case *one, enum layout layout)
{
    static char main_text[512], other_text[128];
    const struct memory_file files[] = {{.name = "main", .text = main_text},
                                        {.name = "other", .text = other_text}};
    const char *before = layout == MAIN_THEN_OTHER ? one->statement : "";
    const char *behind = layout == OTHER_THEN_MAIN ? one->statement : "";

    snprintf(main_text, sizeof main_text, "policy 1\n%s%sinclude other\n%s\n%s", before, *before ? "\n" : "",
             behind, one->others);
    snprintf(other_text, sizeof other_text, "policy 1\n\n# ж\n%s\n", one->statement);
    return load_files(files, array_size(files));
}

static bool main_holds(enum holder holder, enum layout layout)
{
    if (layout == OTHER_ALONE)
        return false;
    return holder == IN_MAIN || (holder == FIRST) == (layout == MAIN_THEN_OTHER);
}

static const struct policy_position *position_in(const struct policy *policy, size_t offset)
{
    return (const void *)((const char *)policy + offset);
}

static void a_policy_tells_where_its_values_are_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(places); i++)
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            bool is_main = main_holds(places[i].holder, layout);
            auto_loaded struct loaded loaded = load_layout(&places[i], layout);
            const struct policy_position *position;
            size_t line, column;

            assert_accepted(&loaded);
            position = position_in(loaded.policy, places[i].offset);
            policy_locate(loaded.policy, position, &line, &column);
            assert_int_equal(position->file, !is_main);
            assert_int_equal(line, !is_main ? 4 : layout == MAIN_THEN_OTHER ? 2 : 3);
            assert_int_equal(column, places[i].column);
        }
}

static void what_is_not_given_is_in_no_line(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow read /x\n");

    (void)state;
    assert_accepted(&loaded);
    for (size_t i = 0; i < array_size(places); i++)
        assert_int_equal(position_in(loaded.policy, places[i].offset)->line, 0);
}

static void of_several_statements_of_a_file_one_is_told(void **state)
{
    auto_loaded struct loaded loaded =
        load_body("unrestricted signal\nunrestricted bind_tcp\n" NO_WRITABLE "container writable "
                  "/a\ncontainer writable "
                  "docker\nallow read /x\n");

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->unrestricted_position.line, 3);
    assert_int_equal(loaded.policy->container.writable_position.line, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_has_its_code_and_place),
        cmocka_unit_test(each_code_of_the_table_is_met),
        cmocka_unit_test(codes_are_unique_and_in_order),
        cmocka_unit_test(what_is_no_fault_has_no_code_of_the_table),
        cmocka_unit_test(each_help_is_a_line_of_its_own),
        cmocka_unit_test(a_policy_tells_where_its_values_are_given),
        cmocka_unit_test(what_is_not_given_is_in_no_line),
        cmocka_unit_test(of_several_statements_of_a_file_one_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
