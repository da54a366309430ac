/* lib/command: reading options by a table, and the help that comes from the same table. */
#include "command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FAULT = 7, CHECK = 1, SHOW = 2, LONG_ONLY = COMMAND_LONG_ONLY, LONGER };

static const struct command_option options[] = {
    {'p', "policy", "FILE", "the policy", VALUE_POLICY, 0},
    {'v', "verbose", NULL, "tell more", VALUE_NONE, 0},
    {'q', "quiet", NULL, "tell less", VALUE_NONE, SHOW},
    {LONG_ONLY, "max", "N", "at most", VALUE_ABI, CHECK | SHOW},
    {LONGER, "max-abi", "N", "at most that ABI", VALUE_ABI, 0},
    {'V', "version", NULL, "print the version", VALUE_NONE, 0},
};
static const struct command_subcommand subcommands[] = {
    {"check", "POLICY...", "read it", CHECK, {VALUE_POLICY}, 1, UINT_MAX},
    {"show", "POLICY", "print it", SHOW, {VALUE_POLICY}, 1, 1},
};

/* A launcher: what is behind the first operand is another command's. */
static const struct command_table launcher = {.name = "run",
                                              .usage = "[OPTION...] [PROGRAM]",
                                              .summary = "Runs.",
                                              .epilogue = "See run(1).",
                                              .options = options,
                                              .option_count = array_size(options),
                                              .options_end_at_operand = true};
static const struct command_table tool = {.name = "tool",
                                          .usage = "[OPTION...] SUBCOMMAND",
                                          .summary = "Tells.",
                                          .epilogue = "See tool(1).",
                                          .options = options,
                                          .option_count = array_size(options),
                                          .subcommands = subcommands,
                                          .subcommand_count = array_size(subcommands)};

/* ---- Reading ---- */

enum { MAX_WORDS = 8 };

struct read_case {
    const struct command_table *table;
    const struct command_subcommand *subcommand;
    const char *words[MAX_WORDS]; /* behind the name */
    const char *taken;            /* each option as messages name it, "=" and its argument */
    const char *rest;             /* the words from the first operand on */
    const char *message;          /* NULL: no fault */
};

static int record(void *context, int id, const char *shown, char *argument, struct error *error)
{
    char *text = context;

    (void)id;
    snprintf(text + strlen(text), 256 - strlen(text), "%s%s%s ", shown, argument ? "=" : "",
             argument ? argument : "");
    if (argument && strcmp(argument, "refuse") == 0)
        return command_usage(&tool, FAULT, shown, "refused", error);
    return 0;
}

static void join(char **words, size_t count, char text[static 256])
{
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), 256 - strlen(text), "%s%s", i ? " " : "", words[i]);
}

static void assert_read(const struct read_case *given)
{
    struct error error = {0};
    char *words[MAX_WORDS + 1] = {(char *)"name"}, taken[256] = "", rest[256];
    bool is_sound = true;
    int count = 1, first;

    for (; count <= MAX_WORDS && given->words[count - 1]; count++)
        words[count] = (char *)given->words[count - 1];
    first =
        command_read(given->table, given->subcommand, count, words, FAULT, record, taken, &error, &is_sound);
    join(words + first, (size_t)(count - first), rest);
    assert_string_equal(taken, given->taken);
    assert_string_equal(rest, given->rest);
    assert_string_equal(error.message, given->message ? given->message : "");
    assert_int_equal(error.code, given->message ? FAULT : 0);
    assert_int_equal(is_sound, !given->message);
}

static void assert_all_read(const struct read_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_read(&cases[i]);
}

static void options_are_read_in_each_of_their_forms(void **state)
{
    static const struct read_case cases[] = {
        {&launcher, NULL, {"-v", "-p", "a"}, "--verbose --policy=a ", "", NULL},
        {&launcher, NULL, {"-vpa"}, "--verbose --policy=a ", "", NULL},
        {&launcher, NULL, {"-p", "-v"}, "--policy=-v ", "", NULL},
        {&launcher, NULL, {"-p", ""}, "--policy= ", "", NULL},
        {&launcher, NULL, {"--policy", "--", "-v"}, "--policy=-- --verbose ", "", NULL},
        {&launcher, NULL, {"--policy=a=b", "--policy="}, "--policy=a=b --policy= ", "", NULL},
        {&launcher, NULL, {"--pol", "a", "--verb"}, "--policy=a --verbose ", "", NULL},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

/* A name that begins another one is itself. */
static void a_whole_name_is_no_beginning(void **state)
{
    static const struct read_case cases[] = {
        {&tool, &subcommands[0], {"--max=3"}, "--max=3 ", "", NULL},
        {&tool, &subcommands[0], {"--max-=3"}, "--max-abi=3 ", "", NULL},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

static void options_end_where_the_command_says(void **state)
{
    static const struct read_case cases[] = {
        {&launcher, NULL, {"-v", "ls", "-v"}, "--verbose ", "ls -v", NULL},
        {&launcher, NULL, {"--", "-v"}, "", "-v", NULL},
        {&launcher, NULL, {"-", "-v"}, "", "- -v", NULL},
        {&launcher, NULL, {"", "-v"}, "", " -v", NULL},
        {&launcher, NULL, {NULL}, "", "", NULL},
        {&tool, NULL, {"-v", "check", "-v"}, "--verbose ", "check -v", NULL},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

static void operands_go_to_the_end_in_their_order(void **state)
{
    static const struct read_case cases[] = {
        {&tool, &subcommands[0], {"a", "-v", "b", "-p", "x", "c"}, "--verbose --policy=x ", "a b c", NULL},
        {&tool, &subcommands[0], {"a", "b", "--max", "1", "-v"}, "--max=1 --verbose ", "a b", NULL},
        {&tool, &subcommands[0], {"a", "-v", "b", "--", "-v", "--", "c"}, "--verbose ", "a b -v -- c", NULL},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

#define UNKNOWN "unknown option, or one that takes no argument"

static void the_first_fault_is_told_and_reading_goes_on(void **state)
{
    static const struct read_case cases[] = {
        {&launcher, NULL, {"--no", "-p", "a"}, "--policy=a ", "", "--no: " UNKNOWN},
        {&launcher, NULL, {"--ver"}, "", "", "--ver: " UNKNOWN},
        {&launcher, NULL, {"--=x", "-v"}, "--verbose ", "", "--=x: " UNKNOWN},
        {&launcher, NULL, {"--verbose=1"}, "", "", "--verbose=1: " UNKNOWN},
        {&launcher, NULL, {"-vxp", "a"}, "--verbose --policy=a ", "", "-vxp: " UNKNOWN},
        {&launcher, NULL, {"-\x80"}, "", "", "-\x80: " UNKNOWN},
        {&launcher, NULL, {"-v", "-vp"}, "--verbose --verbose ", "", "-vp: its argument is missing"},
        {&launcher, NULL, {"--policy"}, "", "", "--policy: its argument is missing"},
        {&launcher,
         NULL,
         {"-p", "refuse", "--no", "-v"},
         "--policy=refuse --verbose ",
         "",
         "--policy: refused"},
        {&tool, &subcommands[1], {"a", "-p"}, "", "a", "-p: its argument is missing"},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

static void a_subcommand_takes_its_own_options(void **state)
{
    static const struct read_case cases[] = {
        {&tool, &subcommands[1], {"-q", "a"}, "--quiet ", "a", NULL},
        {&tool, &subcommands[0], {"-q", "-v"}, "--verbose ", "", "--quiet: not an option of this subcommand"},
        {&tool,
         NULL,
         {"--max", "1", "check"},
         "",
         "check",
         "--max: an option of some subcommands; expected behind one of them"},
    };

    (void)state;
    assert_all_read(cases, array_size(cases));
}

static void an_error_from_before_is_kept(void **state)
{
    struct error error = {0};
    char *words[] = {(char *)"run", (char *)"--no", NULL}, taken[256] = "";
    bool is_sound = true;

    (void)state;
    error_set(&error, 3, "before");
    assert_int_equal(command_read(&launcher, NULL, 2, words, FAULT, record, taken, &error, &is_sound), 2);
    assert_false(is_sound);
    assert_int_equal(error.code, 3);
    assert_string_equal(error.message, "before");
}

static void what_was_unsound_stays_so(void **state)
{
    struct error error = {0};
    char *words[] = {(char *)"run", NULL}, taken[256] = "";
    bool is_sound = false;

    (void)state;
    assert_int_equal(command_read(&launcher, NULL, 1, words, FAULT, record, taken, &error, &is_sound), 1);
    assert_false(is_sound);
    assert_int_equal(command_read(&launcher, NULL, 0, words + 1, FAULT, record, taken, &error, &is_sound), 0);
}

static void a_fault_says_where_options_are_listed(void **state)
{
    struct error error = {0};

    (void)state;
    assert_int_equal(command_usage(&tool, FAULT, "word", "why", &error), -1);
    assert_int_equal(error.code, FAULT);
    assert_string_equal(error.message, "word: why");
    assert_string_equal(error.hint, "tool --help lists the options");
}

static void subcommands_are_found_by_their_whole_names(void **state)
{
    (void)state;
    assert_ptr_equal(command_find(&tool, "show"), &subcommands[1]);
    assert_null(command_find(&tool, "sho"));
    assert_null(command_find(&tool, "shows"));
    assert_null(command_find(&tool, ""));
    assert_null(command_find(&launcher, "show"));
}

/* ---- Arguments ---- */

static void a_number_is_digits_within_bounds(void **state)
{
    static const char *const faults[] = {
        "", "-1", "+1", " 1", "1 ", "0x1", "11", "1e0", "99999999999999999999", "one"};
    long number;

    (void)state;
    assert_int_equal(command_number("0", 0, 10, &number), 0);
    assert_int_equal(number, 0);
    assert_int_equal(command_number("010", 0, 10, &number), 0);
    assert_int_equal(number, 10);
    assert_int_equal(command_number("1", 2, 10, &number), -1);
    for (size_t i = 0; i < array_size(faults); i++)
        if (command_number(faults[i], 0, 10, &number) == 0)
            fail_msg("'%s' is read as %ld", faults[i], number);
}

static void a_definition_is_split_at_its_first_equals_sign(void **state)
{
    char sound[] = "a=b=c", empty[] = "a=", nameless[] = "=b", valueless[] = "a";
    const char *name, *value;

    (void)state;
    assert_int_equal(command_definition(sound, &name, &value), 0);
    assert_string_equal(name, "a");
    assert_string_equal(value, "b=c");
    assert_int_equal(command_definition(empty, &name, &value), 0);
    assert_string_equal(value, "");
    assert_int_equal(command_definition(nameless, &name, &value), -1);
    assert_string_equal(nameless, "=b");
    assert_int_equal(command_definition(valueless, &name, &value), -1);
}

/* ---- Help ---- */

static void assert_help(const struct command_table *table, const struct command_subcommand *subcommand,
                        const char *expected)
{
    auto_free char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    command_print_help(out, table, subcommand);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
}

static void help_lists_every_option(void **state)
{
    static const struct command_table small = {.name = "run",
                                               .usage = "[OPTION...]",
                                               .summary = "Runs.",
                                               .epilogue = "See run(1).",
                                               .options = options,
                                               .option_count = 2};

    (void)state;
    assert_help(&small, NULL,
                "usage: run [OPTION...]\nRuns.\n\n"
                "  -p, --policy FILE\n          the policy\n"
                "  -v, --verbose\n          tell more\n"
                "\nSee run(1).\n");
}

static void help_tells_which_subcommands_take_an_option(void **state)
{
    (void)state;
    assert_help(&tool, NULL,
                "usage: tool [OPTION...] SUBCOMMAND\nTells.\n\n"
                "  check POLICY...\n          read it\n"
                "  show POLICY\n          print it\n\n"
                "  -p, --policy FILE\n          the policy\n"
                "  -v, --verbose\n          tell more\n"
                "  -q, --quiet\n          tell less (show)\n"
                "      --max N\n          at most (check, show)\n"
                "      --max-abi N\n          at most that ABI\n"
                "  -V, --version\n          print the version\n"
                "\nSee tool(1).\n");
}

static void help_of_a_subcommand_leaves_out_what_it_does_not_take(void **state)
{
    (void)state;
    assert_help(&tool, &subcommands[0],
                "usage: tool check [OPTION...] POLICY...\nread it\n\n"
                "  -p, --policy FILE\n          the policy\n"
                "  -v, --verbose\n          tell more\n"
                "      --max N\n          at most\n"
                "      --max-abi N\n          at most that ABI\n"
                "  -V, --version\n          print the version\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_read_in_each_of_their_forms),
        cmocka_unit_test(a_whole_name_is_no_beginning),
        cmocka_unit_test(options_end_where_the_command_says),
        cmocka_unit_test(operands_go_to_the_end_in_their_order),
        cmocka_unit_test(the_first_fault_is_told_and_reading_goes_on),
        cmocka_unit_test(a_subcommand_takes_its_own_options),
        cmocka_unit_test(an_error_from_before_is_kept),
        cmocka_unit_test(what_was_unsound_stays_so),
        cmocka_unit_test(a_fault_says_where_options_are_listed),
        cmocka_unit_test(subcommands_are_found_by_their_whole_names),
        cmocka_unit_test(a_number_is_digits_within_bounds),
        cmocka_unit_test(a_definition_is_split_at_its_first_equals_sign),
        cmocka_unit_test(help_lists_every_option),
        cmocka_unit_test(help_tells_which_subcommands_take_an_option),
        cmocka_unit_test(help_of_a_subcommand_leaves_out_what_it_does_not_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
