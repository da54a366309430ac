/* Templates, and memory that runs out. That a configuration means what its policy does is shown by attempts, in tests/policy. */
#include "allocations.h"
#include "config/internal.h"
#include "policy_fixture.h"

#include <errno.h>
#include <jansson.h>

/* ---- Templates ---- */

static const char *two[] = {"a", "b"}, *empty[] = {"", "x"};
static struct variable some_variables[] = {
    {"two", two, array_size(two), 0}, {"empty", empty, array_size(empty), 0}, {"none", NULL, 0, 0}};
static struct variables variables = {some_variables, array_size(some_variables), 0, 0};

/* "PATH;" behind one another. */
static const char *collect(void *context, const char *path)
{
    char *all = context;

    if (strlen(all) + strlen(path) + 2 > 1024)
        return "enough";
    strcat(strcat(all, path), ";");
    return NULL;
}

static void assert_expands(const char *text, const char *expected, const char *fault)
{
    char all[1024] = "";
    const char *said = expand_template(text, &variables, collect, all);

    assert_string_equal(all, expected);
    if (fault)
        assert_string_equal(said ? said : "", fault);
    else
        assert_null(said);
}

static void a_template_stands_for_each_value(void **state)
{
    (void)state;
    assert_expands("/x", "/x;", NULL);
    assert_expands("/${two}", "/a;/b;", NULL);
    assert_expands("/${two}/${two}", "/a/a;/a/b;/b/a;/b/b;", NULL);
    assert_expands("/${empty}y", "/y;/xy;", NULL);
    assert_expands("/${none}/${two}", "", NULL);
    assert_expands("/$$x/$/$$$${two}/a$", "/$x/$/$${two}/a$;", NULL);
    assert_expands("/$$${two}", "/$a;/$b;", NULL);
}

static void a_faulty_template_is_told(void **state)
{
    (void)state;
    assert_expands("/${two", "", "'${' without '}'");
    assert_expands("/${none}/${", "", "'${' without '}'");
    assert_expands("/${none}/${other}", "", "it names a variable that there is not");
    assert_expands("/${2}", "", "the name of a variable begins with a letter");
    assert_expands("/${a b}", "", "the name of a variable has letters, digits and underscores");
}

/* However many values there are, what is not a path in the end takes no time. */
static void what_stands_for_nothing_is_not_expanded(void **state)
{
    auto_free char *text = repeated("/", "${two}", 64, "${none}");

    (void)state;
    assert_expands(text, "", NULL);
}

static void a_template_has_bounds(void **state)
{
    auto_free char *path = repeated("/", "x", PATH_MAX, ""), *values = repeated("/", "${two}", PATH_MAX, ""),
                   *paths = repeated("/", "${two}", 64, "");
    char all[1024] = "";

    (void)state;
    assert_expands(path, "", "it is too long for a path");
    assert_expands(values, "", "it is too long");
    assert_string_equal(expand_template(paths, &variables, collect, all), "enough");
}

/* ---- Memory ---- */

static const char configuration[] =
    "{\"abi\": 5, \"variable\": [{\"name\": \"v\", \"literal\": [\"a\", \"b\", \"$$\"]}],"
    " \"ruleset\": [{\"handledAccessFs\": [\"abi.all\"], \"scoped\": [\"signal\"]}],"
    " \"pathBeneath\": [{\"allowedAccess\": [\"abi.read_execute\"], \"parent\": [\"/usr/${v}\", "
    "\"relative\", \"/dev/null\"]}],"
    " \"netPort\": [{\"allowedAccess\": [\"connect_tcp\"], \"port\": [1, 2, 2]}]}";

static const char faulty[] = "{\"abi\": 0, \"pathBeneeth\": [], \"ruleset\": [{}, {\"scoped\": [\"x\"]}]}";

static const char policy_text[] = "run /usr/bin/true\nallow read /usr \"/a b\" -/\\$x -/\\xff\nallow "
                                  "resolve_unix -/run\nallow connect_tcp 80-82\n"
                                  "allow bind_udp 9\nrequire abi 1\nenvironment set A=b\nlimit core "
                                  "0\nexpect denied read_file /etc/passwd\n";

/* Whether it was done; *size: what was written. */
typedef bool attempt(const void *context, size_t *size);

static bool try_import(const void *context, size_t *size)
{
    struct config_notes notes = {0};
    char written[8192];
    FILE *out = fmemopen(written, sizeof written, "w");
    int result;

    assert_non_null(out);
    result = config_import(context, strlen(context), out, &notes);
    *size = (size_t)ftell(out);
    fclose(out);
    assert_true(result == 0 || notes.count || notes.is_out_of_memory);
    config_notes_free(&notes);
    return result == 0;
}

static bool try_export(const void *context, size_t *size)
{
    struct config_notes notes = {0};
    char written[8192];
    FILE *out = fmemopen(written, sizeof written, "w");
    int result;

    assert_non_null(out);
    result = config_export(context, out, &notes);
    fflush(out);
    *size = (size_t)ftell(out);
    fclose(out);
    config_notes_free(&notes);
    return result == 0;
}

/* All is written, or it is refused. */
static void refuse_each(attempt *tries, const void *context)
{
    size_t whole, size, at = 0;
    bool was_refused;

    refuse_no_more();
    tries(context, &whole);
    do {
        long before = allocations_in_use();
        bool is_done;

        refuse(++at, false);
        is_done = tries(context, &size);
        was_refused = allocations_so_far() >= at;
        refuse_no_more();
        if (is_done && size != whole)
            fail_msg("allocation %zu was refused and nothing says so", at);
        assert_int_equal(allocations_in_use(), before);
    } while (was_refused);
    assert_in_range(at, 20, 10000);
}

static void an_import_is_whole_or_refused(void **state)
{
    (void)state;
    refuse_each(try_import, configuration);
}

static void a_faulty_one_is_always_refused(void **state)
{
    size_t size;

    (void)state;
    refuse_each(try_import, faulty);
    refuse_no_more();
    assert_false(try_import(faulty, &size));
}

static void an_export_is_whole_or_refused(void **state)
{
    auto_loaded struct loaded loaded = load_body(policy_text);

    (void)state;
    assert_accepted(&loaded);
    refuse_each(try_export, loaded.policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_stands_for_each_value),
        cmocka_unit_test(a_faulty_template_is_told),
        cmocka_unit_test(what_stands_for_nothing_is_not_expanded),
        cmocka_unit_test(a_template_has_bounds),
        cmocka_unit_test(an_import_is_whole_or_refused),
        cmocka_unit_test(a_faulty_one_is_always_refused),
        cmocka_unit_test(an_export_is_whole_or_refused),
    };

    json_set_alloc_funcs(malloc, free); /* those that can be refused */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
