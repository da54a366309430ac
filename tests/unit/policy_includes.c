/* Several files as one policy: includes, definitions, and whose single values hold. */
#include "policy_fixture.h"

/* ---- What an include brings ---- */

static void an_includes_lines_stand_where_it_is_included(void **state)
{
    static const struct memory_file files[] = {
        {.name = "etc/main",
         .text = "policy 1\nallow read /1\ninclude sub/a\nallow read /4\ninclude /abs/b\n"},
        {.name = "etc/sub/a", .text = "policy 1\nallow read /2\ninclude ../c\n"},
        {.name = "etc/sub/../c", .text = "policy 1\nallow read /3\n"},
        {.name = "/abs/b", .text = "policy 1\nallow read /5\n"},
    };
    static const uint16_t file_of_rule[] = {0, 1, 2, 0, 3};
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->file_count, 4);
    for (size_t i = 0; i < array_size(files); i++)
        assert_string_equal(loaded.policy->files[i].name, files[i].name);
    assert_int_equal(loaded.policy->path_rule_count, 5);
    for (size_t i = 0; i < array_size(file_of_rule); i++) {
        const char path[] = {'/', (char)('1' + i), '\0'};

        assert_string_equal(loaded.policy->path_rules[i].path, path);
        assert_int_equal(loaded.policy->path_rules[i].position.file, file_of_rule[i]);
    }
    assert_int_equal(loaded.policy->files[0].includes, 0xe);
    assert_int_equal(loaded.policy->files[1].includes, 0x4);
    assert_int_equal(loaded.policy->files[2].includes, 0);
    assert_int_equal(loaded.policy->files[3].includes, 0);
}

static void lists_add_up_over_files(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main",
         .text = "policy 1\ninclude a\nrequire abi 2\nunrestricted bind_tcp\nprivate /m\nenvironment set "
                 "A=m\n"
                 "container writable docker\ncontainer uid 1\ncontainer capabilities none\n"},
        {.name = "a",
         .text = "policy 1\nrequire signal\nunrestricted bind_udp\nprivate /a\nenvironment set A=a B=a\n"
                 "container read-only /\ncontainer writable podman /x\nexpect denied read /\n"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->requirement_count, 2);
    assert_int_equal(policy->unrestricted, POLICY_NET(0) | POLICY_NET(2));
    assert_int_equal(policy->private_count, 2);
    assert_string_equal(policy->privates[0].path, "/a");
    assert_int_equal(policy->setting_count, 2);
    assert_string_equal(policy->settings[0].assignment, "A=m");
    assert_string_equal(policy->settings[1].assignment, "B=a");
    assert_true(policy->container.is_described);
    assert_int_equal(policy->container.presets, POLICY_PRESET_DOCKER | POLICY_PRESET_PODMAN);
    assert_int_equal(policy->expectation_count, 1);
}

static void an_optional_include_may_be_missing(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main", .text = "policy 1\ninclude -none\ninclude \"-not a folder\"\ninclude -there\n"},
        {.name = "not a folder", .fault = ENOTDIR},
        {.name = "there", .text = "policy 1\nallow read /x\n"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->file_count, 2);
    assert_int_equal(loaded.policy->path_rule_count, 1);
}

static void an_include_that_cannot_be_read_is_refused(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main",
         .text = "policy 1\ninclude none\ninclude -secret\ninclude -big\ninclude \"\"\ninclude -\n"
                 "include \\x2dnone\ninclude -/\\xff\n"},
        {.name = "secret", .fault = EACCES},
        {.name = "big", .fault = EFBIG},
        {.name = "/\xff", .fault = EISDIR},
    };
    static const struct fault faults[] = {
        {"main", 2, 9, "cannot include none: No such file or directory"},
        {"main", 3, 9, "cannot include secret: Permission denied"},
        {"main", 4, 9, "cannot include big: File too large"},
        {"main", 5, 9, "empty file name"},
        {"main", 6, 9, "empty file name"},
        {"main", 7, 9, "cannot include -none: No such file or directory"},
        {"main", 8, 9, "cannot include /\xff: Is a directory"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_faults(&loaded, faults, array_size(faults));
}

static void a_policy_that_cannot_be_read_is_refused(void **state)
{
    static const struct memory_file file = {.name = "main", .fault = EACCES};
    auto_loaded struct loaded loaded = load_files(&file, 1);

    (void)state;
    assert_fault(&loaded, 0, 0, "Permission denied");
}

static void a_policy_keeps_the_name_of_its_file(void **state)
{
    char name[] = "main";
    const struct memory_file file = {.name = name, .text = "policy 1\n"};
    auto_loaded struct loaded loaded = load_files(&file, 1);

    (void)state;
    assert_accepted(&loaded);
    memset(name, 'x', strlen(name));
    assert_string_equal(loaded.policy->files[0].name, "main");
}

static void a_replacement_cannot_name_an_include(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main", .text = "policy 1\ndefine A a\ninclude ${A}\n"},
        {.name = "a", .text = "policy 1\n"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_fault(&loaded, 3, 9, "a replacement cannot name an included file");
}

static void an_include_may_have_any_name(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main",
         .text = "policy 1\ninclude \"a file\"\ninclude \\x2dfile\ninclude ./-file\n"
                 "include US\\$\n"},
        {.name = "a file", .text = "policy 1\n"},
        {.name = "-file", .text = "policy 1\n"},
        {.name = "./-file", .text = "policy 1\n", .same_as = "-file"},
        {.name = "US$", .text = "policy 1\n"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->file_count, 4);
}

/* ---- Shapes ---- */

static void a_file_that_is_included_twice_is_read_once(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main", .text = "policy 1\ninclude a\ninclude b\ninclude a\ninclude link\n"},
        {.name = "a", .text = "policy 1\ninclude common\nallow read /a\n"},
        {.name = "b", .text = "policy 1\ninclude common\nallow read /b\n"},
        {.name = "common", .text = "policy 1\nallow read /common\nlimit cpu 1\ndefine D x\n"},
        {.name = "link", .text = "policy 1\nallow read /a\n", .same_as = "a"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->file_count, 4);
    assert_int_equal(policy->path_rule_count, 3);
    assert_string_equal(policy->path_rules[0].path, "/common");
    assert_string_equal(policy->path_rules[1].path, "/a");
    assert_string_equal(policy->path_rules[2].path, "/b");
    assert_int_equal(policy->files[0].includes, 0xe); /* main: a, common, b */
    assert_int_equal(policy->files[1].includes, 0x4);
    assert_int_equal(policy->files[2].includes, 0);
    assert_int_equal(policy->files[3].includes, 0x4);
}

static void a_cycle_is_refused(void **state)
{
    static const struct memory_file itself[] = {{.name = "main", .text = "policy 1\ninclude main\n"}};
    static const struct memory_file by_others[] = {
        {.name = "main", .text = "policy 1\ninclude a\n"},
        {.name = "a", .text = "policy 1\ninclude b\n"},
        {.name = "b", .text = "policy 1\n\n  include -a\ninclude link\n"},
        {.name = "link", .text = "", .same_as = "main"},
    };
    static const struct fault faults[] = {
        {"b", 3, 11, "cannot include a: it includes itself, directly or by way of others"},
        {"b", 4, 9, "cannot include link: it includes itself"},
    };
    auto_loaded struct loaded short_cycle = load_files(itself, 1);
    auto_loaded struct loaded long_cycle = load_files(by_others, array_size(by_others));

    (void)state;
    assert_fault(&short_cycle, 2, 9, "cannot include main: it includes itself");
    assert_faults(&long_cycle, faults, array_size(faults));
}

enum { MOST_MADE = 80, NAME = 24, TEXT = 64 };

/* Files 0, 1, 2, …, each of which includes the next. */
static struct loaded load_chain(size_t count)
{
    static char names[MOST_MADE][NAME], texts[MOST_MADE][TEXT];
    struct memory_file files[MOST_MADE];

    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], NAME, "%zu", i);
        if (i + 1 < count)
            snprintf(texts[i], TEXT, "policy 1\ninclude %zu\n", i + 1);
        else
            snprintf(texts[i], TEXT, "policy 1\nallow read /x\n");
        files[i] = (struct memory_file){.name = names[i], .text = texts[i]};
    }
    return load_files(files, count);
}

static void includes_are_nested_sixteen_deep_at_most(void **state)
{
    static const struct fault fault = {"15", 2, 9,
                                       "cannot include 16: includes are nested too deeply; 16 levels"};
    auto_loaded struct loaded deepest = load_chain(POLICY_MAX_DEPTH);
    auto_loaded struct loaded too_deep = load_chain(POLICY_MAX_DEPTH + 1);

    (void)state;
    assert_int_equal(POLICY_MAX_DEPTH, 16);
    assert_accepted(&deepest);
    assert_int_equal(deepest.policy->path_rule_count, 1);
    assert_int_equal(deepest.policy->files[0].includes, 0xfffe);
    assert_faults(&too_deep, &fault, 1);
}

/* One file that includes `count` - 1 others. */
static struct loaded load_star(size_t count)
{
    static char names[MOST_MADE][NAME];
    struct memory_file files[MOST_MADE];
    char main_text[MOST_MADE * 2 * NAME] = "policy 1\n", *end = main_text + strlen(main_text);

    files[0] = (struct memory_file){.name = "main", .text = main_text};
    for (size_t i = 1; i < count; i++) {
        snprintf(names[i], NAME, "%zu", i);
        end += sprintf(end, "include %s\n", names[i]);
        files[i] = (struct memory_file){.name = names[i], .text = "policy 1\nallow read /x\n"};
    }
    return load_files(files, count);
}

static void a_file_may_not_be_included_without_end(void **state)
{
    enum { LARGE = 4 * 1024 * 1024, FITS = POLICY_MAX_TOTAL_SIZE / LARGE - 1 };
    auto_free char *large = repeated("policy 1\n", "# comment\n", LARGE / 10, "");
    auto_free char *some = repeated("policy 1\n", "include large\n", FITS, ""),
                   *more = repeated("policy 1\n", "include large\n", FITS + 2, "");
    const struct memory_file few[] = {{.name = "main", .text = some}, {.name = "large", .text = large}};
    const struct memory_file many[] = {{.name = "main", .text = more}, {.name = "large", .text = large}};
    auto_loaded struct loaded accepted = load_files(few, array_size(few));
    auto_loaded struct loaded refused = load_files(many, array_size(many));

    (void)state;
    assert_accepted(&accepted);
    assert_null(refused.policy);
    assert_true(strstr(refused.diagnostics.items[0].message, "too much to read") != NULL);
    assert_int_equal(refused.diagnostics.items[0].fault, POLICY_FAULT_TOO_LARGE);
}

static void a_policy_has_sixty_four_files_at_most(void **state)
{
    auto_loaded struct loaded most = load_star(POLICY_MAX_FILES);
    auto_loaded struct loaded too_many = load_star(POLICY_MAX_FILES + 1);

    (void)state;
    assert_int_equal(POLICY_MAX_FILES, 64);
    assert_accepted(&most);
    assert_int_equal(most.policy->file_count, 64);
    assert_int_equal(most.policy->path_rule_count, 63);
    assert_true(most.policy->files[0].includes == ~(uint64_t)1);
    assert_fault(&too_many, 65, 9, "cannot include 64: too many files; a policy may be made of 64");
}

static void faults_of_all_files_are_told_in_their_order(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main", .text = "policy 1\nallow read x\ninclude a\ninclude b\nlimit cpu x\n"},
        {.name = "a", .text = "allow read y\n\\q\n"},
        {.name = "b", .text = "# nothing\n"},
    };
    static const struct fault faults[] = {
        {"main", 2, 12, "path 'x'"},
        {"main", 5, 11, "'x' is not a limit"},
        {"a", 1, 1, "does not begin with a version"},
        {"a", 1, 12, "path 'y'"},
        {"a", 2, 1, "unknown escape"},
        {"b", 1, 1, "no statement"},
    };
    auto_loaded struct loaded loaded = load_files(files, array_size(files));

    (void)state;
    assert_faults(&loaded, faults, array_size(faults));
}

/* ---- Single values ---- */

static const struct {
    const char *statement, *what;
    const char *others; /* what else the policy has to say */
} singles[] = {
    {"run a", "'run'", ""},
    {"directory /a", "'directory'", ""},
    {"audit on", "'audit'", ""},
    {"limit nofile 1", "nofile", ""},
    {"limit core 0", "core", ""},
    {"container check always", "'container check'", ""},
    {"container uid 1", "'container uid'",
     "container capabilities none\ncontainer read-only /\ncontainer writable docker\n"},
    {"container capabilities none", "'container capabilities'",
     "container uid 1\ncontainer read-only /\ncontainer writable docker\n"},
    {"define A 1", "A", ""},
};

static void a_file_gives_a_single_value_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(singles); i++) {
        char body[512], message[128];

        snprintf(body, sizeof body, "%s\n%s\n%s", singles[i].statement, singles[i].statement,
                 singles[i].others);
        snprintf(message, sizeof message, "%s given twice; a file gives it once", singles[i].what);
        auto_loaded struct loaded loaded = load_body(body);
        assert_fault(&loaded, 3, !strncmp(body, "define", 6) ? 8 : 1, message);
    }
}

static void a_file_has_a_limit_for_each_resource(void **state)
{
    auto_loaded struct loaded loaded = load_body("limit cpu 1\nlimit nofile 2\nlimit core 0\n");

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->limits[RLIMIT_CPU].value, 1);
    assert_int_equal(loaded.policy->limits[RLIMIT_NOFILE].value, 2);
}

static void siblings_that_give_the_same_single_value_conflict(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(singles); i++) {
        char main_text[512], text[128], message[128];
        const struct memory_file files[] = {
            {.name = "main", .text = main_text},
            {.name = "a", .text = text},
            {.name = "b", .text = text},
        };

        snprintf(main_text, sizeof main_text, "policy 1\ninclude a\ninclude b\n%s", singles[i].others);
        snprintf(text, sizeof text, "policy 1\n%s\n", singles[i].statement);
        snprintf(message, sizeof message, "%s is also given in a, and neither file includes the other",
                 singles[i].what);
        auto_loaded struct loaded loaded = load_files(files, array_size(files));
        const struct fault fault = {"b", 2, !strncmp(singles[i].statement, "define", 6) ? 8 : 1, message};
        assert_faults(&loaded, &fault, 1);
    }
}

/* A value of its own in each file that gives one: which one holds? */
struct order_case {
    const char *files[5]; /* "#" stands for the statement that gives the value */
    uint64_t winner;
};

static const struct order_case orders[] = {
    {{"include 1\n#", "#"}, 0},
    {{"#include 1\n", "#"}, 0},
    {{"include 1\n", "#"}, 1},
    {{"include 1\n", "include 2\n#", "#"}, 1},
    {{"include 1\n", "#include 2\n", "#"}, 1},
    {{"include 1\n", "include 2\n", "#"}, 2},
    {{"#include 1\n", "include 2\n", "#"}, 0},
    {{"include 1\n#", "include 2\n#", "include 3\n#", "#"}, 0},
    {{"#include 1\n", "#include 2\n", "#include 3\n", "#"}, 0},
    /* two includes, and a file above both that decides */
    {{"include 1\ninclude 2\n#", "#", "#"}, 0},
    {{"#include 1\ninclude 2\n", "#", "#"}, 0},
    {{"include 1\n#include 2\n", "#", "#"}, 0},
    {{"include 1\n", "include 2\ninclude 3\n#", "#", "#"}, 1},
    {{"include 1\n", "#include 2\ninclude 3\n", "#", "#"}, 1},
    /* diamonds */
    {{"include 1\ninclude 2\n", "include 3\n", "include 3\n", "#"}, 3},
    {{"include 1\ninclude 2\n", "include 3\n#", "include 3\n", "#"}, 1},
    {{"include 1\ninclude 2\n", "include 3\n", "include 3\n#", "#"}, 2},
    {{"include 1\ninclude 2\n", "include 3\n", "#include 3\n", "#"}, 2},
    {{"include 1\ninclude 2\n#", "include 3\n#", "include 3\n#", "#"}, 0},
    /* a file that gives it first includes the other only later, by a file that is known already */
    {{"include 1\ninclude 2\n", "#", "#include 1\n"}, 2},
    {{"include 1\ninclude 2\n", "#", "include 1\n#"}, 2},
    {{"include 1\ninclude 2\n", "#", "include 3\n#", "include 1\n"}, 2},
};

static struct loaded load_order(const char *const texts[5], const char *statement)
{
    static char written[5][512];
    static const char *const names[] = {"0", "1", "2", "3", "4"};
    struct memory_file files[5];
    size_t count = 0;

    for (; count < 5 && texts[count]; count++) {
        const char *mark = strchr(texts[count], '#');
        int before = mark ? (int)(mark - texts[count]) : (int)strlen(texts[count]);
        int length = snprintf(written[count], sizeof written[count], "policy 1\n%.*s", before, texts[count]);

        if (mark)
            snprintf(written[count] + length, sizeof written[count] - (size_t)length, "%s%zu\n%s", statement,
                     count, mark + 1);
        files[count] = (struct memory_file){.name = names[count], .text = written[count]};
    }
    return load_files(files, count);
}

static void an_including_files_single_value_wins_whatever_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(orders); i++) {
        auto_loaded struct loaded loaded = load_order(orders[i].files, "limit cpu ");

        assert_accepted(&loaded);
        assert_int_equal(loaded.policy->limits[RLIMIT_CPU].value, orders[i].winner);
    }
}

static void an_including_files_definition_wins_whatever_the_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(orders); i++) {
        struct order_case order = orders[i];
        auto_free char *first = repeated(order.files[0], "run ${D}\n", 1, "");
        char value[2] = {(char)('0' + order.winner), '\0'};

        order.files[0] = first;
        auto_loaded struct loaded loaded = load_order(order.files, "define D ");
        assert_accepted(&loaded);
        assert_string_equal(loaded.policy->run[0], value);
    }
}

static void files_that_do_not_include_each_other_conflict_wherever_they_are(void **state)
{
    static const struct order_case conflicts[] = {
        {{"include 1\ninclude 2\n", "#", "#"}, 1},
        {{"include 1\n", "include 2\ninclude 3\n", "#", "#"}, 2},
        {{"include 1\ninclude 3\n", "include 2\n#", "#", "#"}, 1},
        {{"include 1\ninclude 3\n", "include 2\n", "#", "#"}, 2},
        {{"include 1\ninclude 2\n", "include 3\n#", "include 3\n#", "#"}, 1},
        {{"include 1\ninclude 4\n", "include 2\ninclude 3\n#", "#", "#", "#"}, 1},
    };

    (void)state;
    for (size_t i = 0; i < array_size(conflicts); i++) {
        auto_loaded struct loaded loaded = load_order(conflicts[i].files, "limit cpu ");
        char message[64];

        assert_null(loaded.policy);
        assert_int_equal(loaded.diagnostics.count, 1);
        snprintf(message, sizeof message, "cpu is also given in %u, ", (unsigned)conflicts[i].winner);
        if (!strstr(loaded.diagnostics.items[0].message, message))
            fail_msg("conflict %zu: %s", i, loaded.diagnostics.items[0].message);
    }
}

/* ---- Definitions ---- */

static struct loaded load_with(const char *body, const struct policy_definition *definitions, size_t count)
{
    auto_free char *text = repeated("policy 1\n", body, 1, "");
    const struct memory_file files[] = {
        {.name = "main", .text = text},
        {.name = "defaults", .text = "policy 1\ndefine D included\n"},
    };

    return load_defined(files, array_size(files), definitions, count);
}

static void a_definition_from_outside_wins(void **state)
{
    static const struct {
        const char *body, *without, *with;
    } cases[] = {
        {"define D own\nrun ${D}\n", "own", "outer"},
        {"include defaults\nrun ${D}\n", "included", "outer"},
        {"include defaults\ndefine D own\nrun ${D}\n", "own", "outer"},
        {"define D own\nrun ${D}\ninclude defaults\n", "own", "outer"},
        {"run ${D}\ndefine D own\n", "own", "outer"},
        {"define E <${D}>\nrun ${E}\ndefine D own\n", "<own>", "<outer>"},
        {"define D ${D}\nrun ${D}\n", NULL, "outer"},
    };
    static const struct policy_definition outer = {"D", "outer"};

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        auto_loaded struct loaded with = load_with(cases[i].body, &outer, 1);
        auto_loaded struct loaded without = load_with(cases[i].body, NULL, 0);

        assert_accepted(&with);
        assert_string_equal(with.policy->run[0], cases[i].with);
        if (!cases[i].without) {
            assert_null(without.policy);
            continue;
        }
        assert_accepted(&without);
        assert_string_equal(without.policy->run[0], cases[i].without);
    }
}

static void a_definition_from_outside_is_used_as_it_is(void **state)
{
    static const struct policy_definition outer[] = {{"D", "a \"b\" \\n ${E} # -,="}, {"E", ""}};
    auto_loaded struct loaded loaded = load_with("define D 1\ndefine E 2\nrun x ${D} ${E}\n", outer, 2);

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->run_count, 3);
    assert_string_equal(loaded.policy->run[1], "a \"b\" \\n ${E} # -,=");
    assert_string_equal(loaded.policy->run[2], "");
}

static void a_definition_from_outside_decides_a_conflict(void **state)
{
    static const struct memory_file files[] = {
        {.name = "main", .text = "policy 1\ninclude a\ninclude b\nrun ${D}\n"},
        {.name = "a", .text = "policy 1\ndefine D a\n"},
        {.name = "b", .text = "policy 1\ndefine D b\n"},
    };
    static const struct policy_definition outer = {"D", "outer"};
    auto_loaded struct loaded loaded = load_defined(files, array_size(files), &outer, 1);

    (void)state;
    assert_accepted(&loaded);
    assert_string_equal(loaded.policy->run[0], "outer");
}

static void a_definition_from_outside_must_be_known(void **state)
{
    static const struct policy_definition outer[] = {
        {"DATE", "x"}, {"XYZZY", "x"}, {"D", "x"}, {"D", "y"}, {"not a name", "x"}};
    static const struct fault faults[] = {
        {NULL, 0, 0, "--define D given twice"},
        {NULL, 0, 0, "--define DATE: the policy has no such definition (did you mean 'DATA'?)"},
        {NULL, 0, 0, "--define XYZZY: the policy has no such definition"},
        {NULL, 0, 0, "--define not a name: the policy has no such definition"},
    };
    auto_loaded struct loaded loaded = load_with("define DATA /x\ndefine D 1\n", outer, array_size(outer));

    (void)state;
    assert_null(loaded.policy);
    assert_int_equal(loaded.diagnostics.count, array_size(faults));
    for (size_t i = 0; i < array_size(faults); i++) {
        size_t k = 0;

        while (k < loaded.diagnostics.count && !strstr(loaded.diagnostics.items[k].message, faults[i].part))
            k++;
        assert_in_range(k, 0, loaded.diagnostics.count - 1);
        assert_null(loaded.diagnostics.items[k].file);
        assert_int_equal(loaded.diagnostics.items[k].line, 0);
        assert_non_null(strstr(faults[i].part, loaded.diagnostics.items[k].definition));
    }
}

static void only_the_policy_makes_a_definition_known(void **state)
{
    static const struct policy_definition outer = {"D", "x"};
    static const struct fault faults[] = {
        {NULL, 0, 0, "--define D: the policy has no such definition"},
        {"main", 2, 5, "'D' is not defined"},
    };
    auto_loaded struct loaded loaded = load_with("run ${D}\n", &outer, 1);

    (void)state;
    assert_faults(&loaded, faults, array_size(faults));
}

static void a_fault_from_outside_reads_as_the_command_lines(void **state)
{
    static const struct policy_definition outer = {"D", "x"};
    auto_loaded struct loaded loaded = load_with("run a\n", &outer, 1);
    auto_free char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);

    (void)state;
    assert_non_null(out);
    policy_diagnostics_write(out, &loaded.diagnostics);
    fclose(out);
    assert_string_equal(written, "command line: error: --define D: the policy has no such definition\n");
}

static void a_definition_has_a_name(void **state)
{
    static const struct fault_case cases[] = {
        {"define 1A x\n", 2, 8, "'1A' is not a name"},   {"define A-B x\n", 2, 8, "'A-B' is not a name"},
        {"define \"A\" x\n", 2, 8, "is not a name"},     {"define \"\" x\n", 2, 8, "is not a name"},
        {"define ${A} x\n", 2, 8, "is not a name"},      {"define Ж x\n", 2, 8, "is not a name"},
        {"define A=1 x\n", 2, 8, "'A=1' is not a name"},
    };
    auto_free char *long_name = repeated("define ", "n", 64, " x\n");
    auto_loaded struct loaded loaded = load_body(long_name);

    (void)state;
    assert_fault_cases(cases, array_size(cases));
    assert_fault(&loaded, 2, 8, "is not a name; expected letters, digits and '_', at most 63");
}

static void definitions_are_made_of_definitions(void **state)
{
    auto_loaded struct loaded loaded = load_body("run ${C} ${B} ${A}\ndefine C ${B}${B}\ndefine B \"${A} "
                                                 "b\"\n"
                                                 "define A a\ndefine _9 unused\n");

    (void)state;
    assert_accepted(&loaded);
    assert_string_equal(loaded.policy->run[0], "a ba b");
    assert_string_equal(loaded.policy->run[1], "a b");
    assert_string_equal(loaded.policy->run[2], "a");
}

static void a_definition_that_leads_nowhere_is_refused(void **state)
{
    static const struct fault_case cases[] = {
        {"run ${A}\n", 2, 5, "'A' is not defined; expected a statement: define A VALUE"},
        {"run a${A}b\n", 2, 6, "'A' is not defined"},
        {"define A ${B}\nrun ${A}\n", 2, 10, "'B' is not defined"},
        {"define A ${A}\nrun ${A}\n", 2, 10, "the definition of 'A' leads back to itself"},
        {"define A x${B}\ndefine B ${C}\ndefine C ${A}\nrun ${A} b\n", 4, 10,
         "the definition of 'A' leads back to itself"},
        {"define A ${B}\nallow read ${A}\nlimit cpu ${A}\nenvironment set X=${A}\n", 2, 10,
         "'B' is not defined"},                                                   /* told once */
        {"define A ${A}\n", 2, 10, "the definition of 'A' leads back to itself"}, /* used or not */
        {"define A ${B}\n", 2, 10, "'B' is not defined"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

/* define D0 ${D1}, define D1 ${D2} and so on: `count` that need the next, in this order, and `run ${D0}`. */
static char *chain(unsigned count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "define D%u ${D%u}\n", i, i + 1);
    fprintf(out, "define D%u end\nrun ${D0}\n", count);
    fclose(out);
    return text;
}

static void definitions_may_need_each_other_64_deep(void **state)
{
    auto_free char *deepest = chain(POLICY_MAX_NESTING - 1), *deeper = chain(POLICY_MAX_NESTING),
                   *deep = chain(100000);

    (void)state;
    {
        auto_loaded struct loaded loaded = load_body(deepest);

        assert_accepted(&loaded);
        assert_string_equal(loaded.policy->run[0], "end");
    }
    {
        auto_loaded struct loaded loaded = load_body(deeper);

        assert_fault(&loaded, POLICY_MAX_NESTING + 1, 12,
                     "definitions lead to each other too often; 64 levels are allowed");
    }
    {
        auto_loaded struct loaded loaded = load_body(deep);

        assert_null(loaded.policy);
        assert_true(loaded.diagnostics.count > 0);
    }
}

/* Each place that takes a word tells once what is wrong with it, and nothing more. */
static void a_replacement_that_fails_is_the_only_fault(void **state)
{
    static const char *const statements[] = {
        "run ${A}",
        "private ${A}",
        "directory ${A}",
        "require ${A}",
        "require abi ${A}",
        "allow ${A} /x",
        "allow read ${A}",
        "allow bind_tcp ${A}",
        "allow bind_tcp 1-${A}",
        "unrestricted ${A}",
        "audit ${A}",
        "environment ${A} x",
        "environment keep ${A}",
        "environment set ${A}=1",
        "environment set B=${A}",
        "limit ${A} 1",
        "limit cpu ${A}",
        "container ${A} x",
        "container check ${A}",
        "expect ${A} read /x",
        "expect denied ${A} /x",
        "expect denied read ${A}",
        "expect denied bind_tcp ${A}",
    };

    (void)state;
    for (size_t i = 0; i < array_size(statements); i++) {
        auto_free char *body = repeated(statements[i], "\n", 1, "");
        auto_loaded struct loaded loaded = load_body(body);

        assert_fault(&loaded, 2, (size_t)(strstr(body, "${") - body) + 1, "'A' is not defined");
    }
}

static void a_value_that_explodes_is_refused(void **state)
{
    char body[4096] = "define A0 0123456789\n", *end = body + strlen(body);

    (void)state;
    for (int i = 1; i <= 40; i++) /* 10 * 10^40 bytes */
        end += sprintf(end, "define A%d ${A%d}${A%d}${A%d}${A%d}${A%d}${A%d}${A%d}${A%d}${A%d}${A%d}\n", i,
                       i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    sprintf(end, "run ${A40}\n");
    auto_loaded struct loaded loaded = load_body(body);
    assert_fault(&loaded, 6, 41, "word too long; after replacement it may have 65536 bytes");
}

/* Many words, each within its bound. */
static void all_replacements_together_are_bounded(void **state)
{
    enum { SIZE = 65536, FIT = POLICY_MAX_REPLACED / SIZE };
    auto_free char *define = repeated("define A ", "x", SIZE, "\nrun");
    auto_free char *fits = repeated(define, " ${A}", FIT, "\n");
    auto_free char *too_much = repeated(define, " ${A}", FIT + 1, "\n");
    auto_loaded struct loaded accepted = load_body(fits);
    auto_loaded struct loaded refused = load_body(too_much);

    (void)state;
    assert_accepted(&accepted);
    assert_int_equal(accepted.policy->run_count, FIT);
    assert_fault(&refused, 3, 5 + FIT * 5,
                 "too much text from replacements; all of it together may have 16 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_includes_lines_stand_where_it_is_included),
        cmocka_unit_test(lists_add_up_over_files),
        cmocka_unit_test(an_optional_include_may_be_missing),
        cmocka_unit_test(an_include_that_cannot_be_read_is_refused),
        cmocka_unit_test(a_policy_that_cannot_be_read_is_refused),
        cmocka_unit_test(a_policy_keeps_the_name_of_its_file),
        cmocka_unit_test(a_replacement_cannot_name_an_include),
        cmocka_unit_test(an_include_may_have_any_name),
        cmocka_unit_test(a_file_that_is_included_twice_is_read_once),
        cmocka_unit_test(a_cycle_is_refused),
        cmocka_unit_test(includes_are_nested_sixteen_deep_at_most),
        cmocka_unit_test(a_policy_has_sixty_four_files_at_most),
        cmocka_unit_test(a_file_may_not_be_included_without_end),
        cmocka_unit_test(faults_of_all_files_are_told_in_their_order),
        cmocka_unit_test(a_file_gives_a_single_value_once),
        cmocka_unit_test(a_file_has_a_limit_for_each_resource),
        cmocka_unit_test(siblings_that_give_the_same_single_value_conflict),
        cmocka_unit_test(an_including_files_single_value_wins_whatever_the_order),
        cmocka_unit_test(an_including_files_definition_wins_whatever_the_order),
        cmocka_unit_test(files_that_do_not_include_each_other_conflict_wherever_they_are),
        cmocka_unit_test(a_definition_from_outside_wins),
        cmocka_unit_test(a_definition_from_outside_is_used_as_it_is),
        cmocka_unit_test(a_definition_from_outside_decides_a_conflict),
        cmocka_unit_test(a_definition_from_outside_must_be_known),
        cmocka_unit_test(only_the_policy_makes_a_definition_known),
        cmocka_unit_test(a_fault_from_outside_reads_as_the_command_lines),
        cmocka_unit_test(a_definition_has_a_name),
        cmocka_unit_test(definitions_are_made_of_definitions),
        cmocka_unit_test(a_definition_that_leads_nowhere_is_refused),
        cmocka_unit_test(definitions_may_need_each_other_64_deep),
        cmocka_unit_test(a_replacement_that_fails_is_the_only_fault),
        cmocka_unit_test(a_value_that_explodes_is_refused),
        cmocka_unit_test(all_replacements_together_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
