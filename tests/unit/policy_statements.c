/* Every statement: what it gives, and what is wrong with it. */
#include "policy_fixture.h"

/* ---- The file as a whole ---- */

static void a_policy_begins_with_its_version(void **state)
{
    static const struct {
        const char *text;
        size_t line, column;
        const char *part;
    } cases[] = {
        {"", 1, 1, "no statement; a policy begins with: policy 1"},
        {"# nothing\n\n", 1, 1, "no statement"},
        {"\nallow read /x\n", 2, 1, "does not begin with a version"},
        {"policy \"1\nrun a\n", 1, 8, "unclosed quote"}, /* and no more: it may have been the version */
        {"policy 2\n", 1, 8, "unknown version '2'"},
        {"policy 01\n", 1, 8, "unknown version '01'"},
        {"policy \"\"\n", 1, 8, "unknown version ''"},
        {"policy\n", 1, 1, "too few words; expected: policy 1"},
        {"policy 1 2\n", 1, 10, "too many words; expected: policy 1"},
        {"policy 1\npolicy 1\n", 2, 1, "'policy' in the middle of a file"},
        {"policy 1\nrun a\npolicy 1\n", 3, 1, "'policy' in the middle of a file"},
        {"policy ${V}\ndefine V 1\n", 1, 8, "a replacement cannot give the version"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        const struct memory_file file = {.name = "main", .text = cases[i].text};
        auto_loaded struct loaded loaded = load_files(&file, 1);

        assert_fault(&loaded, cases[i].line, cases[i].column, cases[i].part);
    }
}

static void a_policy_may_hold_nothing_but_its_version(void **state)
{
    auto_loaded struct loaded loaded = load_bytes("\n# comment\n  \"policy\"\\\n", 0);
    auto_loaded struct loaded empty = load_bytes("# first\n\n  policy \"1\" # the version", 0);

    (void)state;
    assert_null(loaded.policy); /* a statement is named as it is, not quoted */
    assert_accepted(&empty);
    const struct policy *policy = empty.policy;
    assert_int_equal(policy->file_count, 1);
    assert_string_equal(policy->files[0].name, "main");
    assert_int_equal(policy->path_rule_count + policy->port_rule_count + policy->private_count, 0);
    assert_int_equal(policy->kept_count + policy->setting_count + policy->expectation_count, 0);
    assert_null(policy->run);
    assert_null(policy->directory.path);
    assert_int_equal(policy->requirement_count, 0);
    assert_int_equal(policy->unrestricted, 0);
    assert_false(policy->audit);
    assert_false(policy->container.is_described);
    assert_int_equal(policy->container.check, POLICY_CHECK_OLD_ABI);
}

static void every_statement_has_its_number_of_words(void **state)
{
    static const struct fault_case cases[] = {
        {"include\n", 2, 1, "too few words; expected: include [-]FILE"},
        {"include a b\n", 2, 11, "too many words; expected: include [-]FILE"},
        {"define A\n", 2, 1, "too few words; expected: define NAME VALUE"},
        {"define A b c\n", 2, 12, "too many words; expected: define NAME VALUE"},
        {"run\n", 2, 1, "too few words; expected: run PROGRAM [ARGUMENT...]"},
        {"private\n", 2, 1, "too few words; expected: private PATH..."},
        {"directory\n", 2, 1, "too few words; expected: directory PATH"},
        {"directory /a /b\n", 2, 14, "too many words; expected: directory PATH"},
        {"require\n", 2, 1, "too few words; expected: require abi N"},
        {"require abi 1 2\n", 2, 15, "too many words; expected: require abi N"},
        {"allow read\n", 2, 1, "too few words; expected: allow RIGHTS"},
        {"unrestricted\n", 2, 1, "too few words; expected: unrestricted RIGHTS"},
        {"unrestricted signal network\n", 2, 21, "too many words; expected: unrestricted RIGHTS"},
        {"audit\n", 2, 1, "too few words; expected: audit on|off"},
        {"audit on off\n", 2, 10, "too many words; expected: audit on|off"},
        {"environment keep\n", 2, 1, "too few words; expected: environment keep"},
        {"limit cpu\n", 2, 1, "too few words; expected: limit RESOURCE VALUE"},
        {"limit cpu 1 2\n", 2, 13, "too many words; expected: limit RESOURCE VALUE"},
        {"container check\n", 2, 1, "too few words; expected: container"},
        {"container check always x\n", 2, 24, "too many words; expected: container check VALUE"},
        {"expect denied read\n", 2, 1, "too few words; expected: expect"},
        {"\"run\" a\n", 2, 1, "unknown statement '\"run\"'"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

/* ---- run, directory, private, audit ---- */

static void single_words_give_their_values(void **state)
{
    auto_loaded struct loaded loaded = load_body("run python3 -I \"a b\" \"\" /opt/x\ndirectory /data\naudit "
                                                 "on\n"
                                                 "private /opt/x /opt/y\nprivate /opt/z\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->run_count, 5);
    assert_string_equal(policy->run[0], "python3");
    assert_string_equal(policy->run[2], "a b");
    assert_string_equal(policy->run[3], "");
    assert_null(policy->run[5]);
    assert_string_equal(policy->directory.path, "/data");
    assert_int_equal(policy->directory.position.line, 3);
    assert_true(policy->audit);
    assert_int_equal(policy->private_count, 3);
    assert_string_equal(policy->privates[1].path, "/opt/y");
    assert_string_equal(policy->privates[2].path, "/opt/z");
    assert_int_equal(policy->privates[2].position.line, 6);
}

static void audit_can_be_off(void **state)
{
    auto_loaded struct loaded loaded = load_body("audit off\n");

    (void)state;
    assert_accepted(&loaded);
    assert_false(loaded.policy->audit);
}

static void words_that_no_statement_knows_are_refused(void **state)
{
    static const struct fault_case cases[] = {
        {"run \"\" a\n", 2, 5, "empty program name"},
        {"audit yes\n", 2, 7, "unknown word 'yes'; expected on or off"},
        {"environment drop A\n", 2, 13, "unknown word 'drop'; expected keep NAME... or set"},
        {"container mounts x\n", 2, 11, "unknown word 'mounts'; expected check, uid"},
        {"container check never\n", 2, 17, "unknown word 'never'; expected old-abi or always"},
        {"expect refused read /x\n", 2, 8, "unknown word 'refused'; expected allowed or denied"},
        {"private -/x\n", 2, 9, "is not absolute"},
        {"directory -/x\n", 2, 11, "is not absolute"},
        {"expect denied read -/x\n", 2, 20, "is not absolute"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

/* ---- Paths ---- */

static void every_fault_of_a_path_is_told(void **state)
{
    static const struct fault_case cases[] = {
        {"allow read x\n", 2, 12, "path 'x' is not absolute"},
        {"allow read \"\"\n", 2, 12, "path '' is not absolute"},
        {"allow read ./x\n", 2, 12, "is not absolute"},
        {"allow read -x\n", 2, 12, "path 'x' is not absolute"},
        {"allow read -\n", 2, 12, "path '' is not absolute"},
        {"allow read --/x\n", 2, 12, "path '-/x' is not absolute"},
        {"allow read //\n", 2, 12, "has an empty component"},
        {"allow read /a//b\n", 2, 12, "has an empty component"},
        {"allow read //a\n", 2, 12, "has an empty component"},
        {"allow read /a/\n", 2, 12, "ends in '/'"},
        {"allow read /.\n", 2, 12, "has a '.' component"},
        {"allow read /a/./b\n", 2, 12, "has a '.' component"},
        {"allow read /..\n", 2, 12, "has a '..' component"},
        {"allow read /a/../b\n", 2, 12, "has a '..' component"},
        {"allow read /a/..\n", 2, 12, "has a '..' component"},
        {"directory a\n", 2, 11, "is not absolute"},
        {"private /ok a\n", 2, 13, "is not absolute"},
        {"expect denied read /a/\n", 2, 20, "ends in '/'"},
        {"container check always\ndefine P /a/..\nallow read ${P}/b\n", 4, 12, "has a '..' component"},
        {"define P a\nallow read /${P}/b/../c\n", 3, 12, "path '/a/b/../c' has a '..' component"},
        {"define P \"\"\nallow read /a/${P}/b\n", 3, 12, "has an empty component"},
        {"define P \"\"\nallow read ${P}\n", 3, 12, "is not absolute"},
        {"define P \"\"\nallow read /a/${P}\n", 3, 12, "ends in '/'"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void unusual_paths_are_paths(void **state)
{
    static const char *const paths[] = {"/",    "/a", "/a/b", "/...",  "/.a", "/..a", "/a..",
                                        "/a b", "/-", "/\n",  "/файл", "/$x", "/\xff"};
    auto_loaded struct loaded loaded = load_body("allow read / /a /a/b /... /.a /..a /a.. \"/a b\" /- /\\n "
                                                 "/файл /\\$x /\\xff\n");

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->path_rule_count, array_size(paths));
    for (size_t i = 0; i < array_size(paths); i++) {
        assert_string_equal(loaded.policy->path_rules[i].path, paths[i]);
        assert_null(policy_path_fault(paths[i]));
    }
}

static void a_path_is_shorter_than_4096_bytes(void **state)
{
    auto_free char *longest = repeated("allow read /", "x", PATH_MAX - 2, "\n");
    auto_free char *too_long = repeated("allow read /", "x", PATH_MAX - 1, "\n");
    auto_loaded struct loaded accepted = load_body(longest);
    auto_loaded struct loaded refused = load_body(too_long);

    (void)state;
    assert_accepted(&accepted);
    assert_int_equal(strlen(accepted.policy->path_rules[0].path), PATH_MAX - 1);
    assert_fault(&refused, 2, 12, "is longer than 4095 bytes");
}

/* ---- allow ---- */

static void allowed_paths_and_ports_add_up_in_order(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow read,execute /usr -/opt\nallow write_file "
                                                 "/usr\nallow network 53 80-443\n"
                                                 "allow bind_tcp,connect_send_udp 0-65535\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->path_rule_count, 3);
    assert_string_equal(policy->path_rules[0].path, "/usr");
    assert_int_equal(policy->path_rules[0].rights, 0xd);
    assert_int_equal(policy->path_rules[0].position.flags, 0);
    assert_string_equal(policy->path_rules[1].path, "/opt");
    assert_int_equal(policy->path_rules[1].position.flags, POLICY_OPTIONAL);
    assert_string_equal(policy->path_rules[2].path, "/usr");
    assert_int_equal(policy->path_rules[2].rights, 0x2);
    assert_int_equal(policy->port_rule_count, 3);
    assert_int_equal(policy->port_rules[0].first, 53);
    assert_int_equal(policy->port_rules[0].last, 53);
    assert_int_equal(policy->port_rules[0].rights, 0xf00000000);
    assert_int_equal(policy->port_rules[1].first, 80);
    assert_int_equal(policy->port_rules[1].last, 443);
    assert_int_equal(policy->port_rules[2].first, 0);
    assert_int_equal(policy->port_rules[2].last, 65535);
    assert_int_equal(policy->port_rules[2].rights, 0x900000000);
}

static void rights_and_objects_must_fit(void **state)
{
    static const struct fault_case cases[] = {
        {"allow signal /x\n", 2, 7, "signal is a scope and has no path or port"},
        {"allow read,abstract_unix_socket /x\n", 2, 7, "abstract_unix_socket is a scope"},
        {"expect denied signal /x\n", 2, 15, "signal is a scope"},
        {"allow read,bind_tcp /x\n", 2, 7, "file rights and network rights in one line"},
        {"allow network,read 1\n", 2, 7, "file rights and network rights in one line"},
        {"allow read 80\n", 2, 12, "path '80' is not absolute"},
        {"allow read,,write /x\n", 2, 12, "unknown right ''"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_port_is_a_number_up_to_65535(void **state)
{
    static const char *const ports[] = {"65536",
                                        "-1",
                                        "80-",
                                        "-",
                                        "80-79",
                                        "1-65536",
                                        "0x50",
                                        "http",
                                        "/x",
                                        "8O",
                                        "1-2-3",
                                        "+1",
                                        "99999999999999999999999",
                                        "\"\"",
                                        "1,2",
                                        "80:81"};

    (void)state;
    for (size_t i = 0; i < array_size(ports); i++) {
        char body[128];

        snprintf(body, sizeof body, "allow bind_tcp %s\n", ports[i]);
        auto_loaded struct loaded allowed = load_body(body);
        assert_fault(&allowed, 2, 16, "not a port or a range of ports");
        snprintf(body, sizeof body, "expect denied bind_tcp %s\n", ports[i]);
        auto_loaded struct loaded expected = load_body(body);
        assert_fault(&expected, 2, 24, "not a port or a range of ports");
    }
}

/* ---- require, unrestricted ---- */

static void requirements_and_what_is_unrestricted_add_up(void **state)
{
    auto_loaded struct loaded loaded =
        load_body("require abi 3\nrequire abi 11\nrequire abi 1\nrequire read,signal\nrequire bind_tcp\n"
                  "unrestricted bind_udp,connect_send_udp\nunrestricted abstract_unix_socket,ioctl_dev\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->requirement_count, 5);
    assert_int_equal(policy->requirements[0].abi, 3);
    assert_int_equal(policy->requirements[0].rights, 0);
    assert_int_equal(policy->requirements[1].abi, 11);
    assert_int_equal(policy->requirements[2].abi, 1);
    assert_int_equal(policy->requirements[3].abi, 0);
    assert_int_equal(policy->requirements[3].rights, 0xc | POLICY_SCOPE(1));
    assert_int_equal(policy->requirements[4].rights, POLICY_NET(0));
    assert_int_equal(policy->requirements[4].position.line, 6);
    assert_int_equal(policy->unrestricted, POLICY_NET(2) | POLICY_NET(3) | POLICY_SCOPE(0) | POLICY_FS(15));
}

static void what_cannot_be_required_is_refused(void **state)
{
    static const struct fault_case cases[] = {
        {"require abi\n", 2, 9, "not a requirement"},
        {"require read 3\n", 2, 14, "not a requirement"},
        {"require abi 0\n", 2, 13, "'0' is not a Landlock ABI that this build knows; expected 1 to 11"},
        {"require abi 12\n", 2, 13, "'12' is not a Landlock ABI"},
        {"require abi one\n", 2, 13, "'one' is not a Landlock ABI"},
        {"require abi -1\n", 2, 13, "'-1' is not a Landlock ABI"},
        {"require abi 18446744073709551617\n", 2, 13, "is not a Landlock ABI"},
        {"require reed\n", 2, 9, "unknown right 'reed'"},
        {"unrestricted read\n", 2, 14, "read_file,read_dir is always restricted"},
        {"unrestricted network,execute\n", 2, 14, "execute is always restricted"},
        {"unrestricted 443\n", 2, 14, "unknown right '443'"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void nothing_is_required_and_unrestricted_at_once(void **state)
{
    static const struct fault_case cases[] = {
        {"require signal\nunrestricted signal\n", 3, 14, "signal is required and unrestricted at once"},
        {"unrestricted network\nrequire bind_tcp\n", 2, 14, "bind_tcp is required and unrestricted at once"},
    };
    auto_loaded struct loaded loaded = load_body("require signal\nunrestricted network\n");

    (void)state;
    assert_fault_cases(cases, array_size(cases));
    assert_accepted(&loaded);
}

/* ---- environment ---- */

static void variables_are_kept_by_name_or_prefix(void **state)
{
    auto_loaded struct loaded loaded = load_body("environment keep LANG LC_*\nenvironment keep _a9 A*\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->kept_count, 4);
    assert_string_equal(policy->kept[0].name, "LANG");
    assert_false(policy->kept[0].is_prefix);
    assert_string_equal(policy->kept[1].name, "LC_");
    assert_true(policy->kept[1].is_prefix);
    assert_string_equal(policy->kept[2].name, "_a9");
    assert_string_equal(policy->kept[3].name, "A");
    assert_true(policy->kept[3].is_prefix);
    assert_int_equal(policy->kept[3].position.line, 3);
}

static void the_later_of_two_assignments_holds(void **state)
{
    auto_loaded struct loaded loaded = load_body("environment set A=1 B=2 AB=3\nenvironment set A=x=y C=\n"
                                                 "environment set B=4 B=\"5 6\"\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy *policy = loaded.policy;
    assert_int_equal(policy->setting_count, 4);
    assert_string_equal(policy->settings[0].assignment, "A=x=y");
    assert_int_equal(policy->settings[0].position.line, 3);
    assert_string_equal(policy->settings[1].assignment, "B=5 6");
    assert_string_equal(policy->settings[2].assignment, "AB=3");
    assert_int_equal(policy->settings[2].name_length, 2);
    assert_string_equal(policy->settings[3].assignment, "C=");
    assert_int_equal(policy->settings[3].name_length, 1);
}

static void a_variable_has_a_name(void **state)
{
    static const struct fault_case cases[] = {
        {"define P A*\nenvironment keep ${P}\n", 3, 18, "'A*' is not the name of a variable"},
        {"environment keep A B=1\n", 2, 20, "'B=1' is not the name of a variable"},
        {"environment keep 1A\n", 2, 18, "'1A' is not the name of a variable"},
        {"environment keep *\n", 2, 18, "'*' is not the name of a variable"},
        {"environment keep A**\n", 2, 18, "'A**' is not the name of a variable"},
        {"environment keep A*B\n", 2, 18, "'A*B' is not the name of a variable"},
        {"environment keep \"\"\n", 2, 18, "'' is not the name of a variable"},
        {"environment keep Ж\n", 2, 18, "is not the name of a variable"},
        {"environment set A\n", 2, 17, "not an assignment"},
        {"environment set =1\n", 2, 17, "not an assignment"},
        {"environment set A=1 1B=2\n", 2, 21, "not an assignment"},
        {"environment set A-B=1\n", 2, 17, "not an assignment"},
        {"environment set \"A =1\"\n", 2, 17, "not an assignment"},
        {"environment set A*=1\n", 2, 17, "not an assignment"},
    };

    (void)state;
    assert_fault_cases(cases, array_size(cases));
}

static void a_name_of_a_variable_has_at_most_63_letters(void **state)
{
    auto_free char *begin = repeated("environment keep ", "N", 63, "*\nenvironment set ");
    auto_free char *fits = repeated(begin, "N", 63, "=1\n");
    auto_free char *keep = repeated("environment keep ", "N", 64, "\n");
    auto_free char *set = repeated("environment set ", "N", 64, "=1\n");
    auto_loaded struct loaded accepted = load_body(fits);
    auto_loaded struct loaded no_keep = load_body(keep);
    auto_loaded struct loaded no_set = load_body(set);

    (void)state;
    assert_accepted(&accepted);
    assert_int_equal(accepted.policy->settings[0].name_length, 63);
    assert_fault(&no_keep, 2, 18, "is not the name of a variable");
    assert_fault(&no_set, 2, 17, "not an assignment");
}

/* ---- limit ---- */

static void limits_have_units(void **state)
{
    static const struct {
        const char *text;
        rlim_t value;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"100K", 102400},
        {"100M", 104857600},
        {"2G", 2147483648},
        {"3T", 3298534883328},
        {"0T", 0},
        {"16777215T", 18446742974197923840U},
        {"18014398509481983K", 18446744073709550592U},
        {"18446744073709551614", 18446744073709551614U},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        char body[128];

        snprintf(body, sizeof body, "limit fsize %s\n", cases[i].text);
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        assert_true(loaded.policy->limits[RLIMIT_FSIZE].is_set);
        assert_int_equal(loaded.policy->limits[RLIMIT_FSIZE].value, cases[i].value);
        assert_int_equal(loaded.policy->limits[RLIMIT_FSIZE].position.line, 2);
        assert_false(loaded.policy->limits[RLIMIT_CPU].is_set);
    }
}

static void what_is_no_limit_is_refused(void **state)
{
    static const char *const values[] = {
        "-1",
        "unlimited",
        "infinity",
        "\"\"",
        "K",
        "1k",
        "1KK",
        "1.5M",
        "1P",
        "1KB",
        "16777216T",
        "18014398509481984K",
        "M1",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999",
        "0x10",
        "1\\n",
        "+1",
        "18446744073709551616K",
    };

    (void)state;
    for (size_t i = 0; i < array_size(values); i++) {
        char body[128];

        snprintf(body, sizeof body, "limit fsize %s\n", values[i]);
        auto_loaded struct loaded loaded = load_body(body);
        assert_fault(&loaded, 2, 13, "is not a limit; expected a whole number, K, M, G or T may follow");
    }
}

static void core_dumps_stay_off(void **state)
{
    auto_loaded struct loaded loaded = load_body("limit core 100M\n");

    (void)state;
    assert_accepted(&loaded);
    assert_true(loaded.policy->limits[RLIMIT_CORE].is_set);
    assert_int_equal(loaded.policy->limits[RLIMIT_CORE].value, 0);
}

/* ---- container ---- */

static void a_container_is_described_in_whole(void **state)
{
    auto_loaded struct loaded loaded =
        load_body("container check always\ncontainer uid 1000\ncontainer capabilities none\n"
                  "container read-only / /usr\ncontainer read-only /opt\n"
                  "container writable docker /data\ncontainer writable bubblewrap /tmp\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy_container *container = &loaded.policy->container;
    assert_true(container->is_described);
    assert_int_equal(container->check, POLICY_CHECK_ALWAYS);
    assert_int_equal(container->uid, 1000);
    assert_int_equal(container->read_only_count, 3);
    assert_string_equal(container->read_only[0].path, "/");
    assert_string_equal(container->read_only[2].path, "/opt");
    assert_int_equal(container->presets, POLICY_PRESET_DOCKER | POLICY_PRESET_BUBBLEWRAP);
    assert_int_equal(container->writable_count, 2);
    assert_string_equal(container->writable[1].path, "/tmp");
}

static const struct {
    const char *line, *name;
} container_parts[] = {
    {"container uid 0\n", " uid"},
    {"container capabilities none\n", " capabilities"},
    {"container read-only /\n", " read-only"},
    {"container writable podman\n", " writable"},
};

/* Each of the 16 subsets of the four parts. */
static void a_container_is_described_in_whole_or_not_at_all(void **state)
{
    (void)state;
    for (unsigned set = 0; set < 16; set++) {
        char body[256] = "container check old-abi\n", missing[128] = "(missing:";
        size_t last = 2;

        for (unsigned i = 0; i < array_size(container_parts); i++) {
            strcat(set & 1U << i ? body : missing,
                   set & 1U << i ? container_parts[i].line : container_parts[i].name);
            last += set >> i & 1;
        }
        auto_loaded struct loaded loaded = load_body(body);
        if (set == 0 || set == 15) {
            assert_accepted(&loaded);
            assert_int_equal(loaded.policy->container.is_described, set == 15);
        } else {
            assert_fault(&loaded, last, 1, strcat(missing, ")"));
        }
    }
}

static void what_no_container_has_is_refused(void **state)
{
    static const struct fault fault_of_part = {"main", 2, 1, "the container is described in part"};
    static const struct fault_case cases[] = {
        {"container uid root\n", 2, 15, "'root' is not a user ID"},
        {"container uid 4294967295\n", 2, 15, "'4294967295' is not a user ID"},
        {"container uid -1\n", 2, 15, "'-1' is not a user ID"},
        {"container capabilities all\n", 2, 24, "unknown word 'all'; expected none"},
        {"container read-only usr\n", 2, 21, "is not absolute"},
        {"container read-only -/usr\n", 2, 21, "is not absolute"},
        {"container writable /tmp/\n", 2, 20, "ends in '/'"},
        {"container writable -/tmp\n", 2, 20, "unknown preset '-/tmp'"},
        {"container writable kubernetes\n", 2, 20, "unknown preset 'kubernetes'; expected docker, podman"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        auto_loaded struct loaded loaded = load_body(cases[i].body);
        const struct fault faults[] = {fault_of_part,
                                       {"main", cases[i].line, cases[i].column, cases[i].part}};

        assert_faults(&loaded, faults, array_size(faults));
    }
}

static void the_greatest_user_id_is_one(void **state)
{
    auto_loaded struct loaded loaded = load_body("container uid 4294967294\ncontainer capabilities none\n"
                                                 "container read-only /\ncontainer writable /x\n");

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->container.uid, 4294967294U);
    assert_int_equal(loaded.policy->container.presets, 0);
}

/* ---- expect ---- */

static void expectations_are_kept_in_order(void **state)
{
    auto_loaded struct loaded loaded = load_body("expect allowed read,execute /usr /opt\n"
                                                 "expect denied bind_tcp 80 1-1024\nexpect denied write /\n");

    (void)state;
    assert_accepted(&loaded);
    const struct policy_expectation *expected = loaded.policy->expectations;
    assert_int_equal(loaded.policy->expectation_count, 5);
    assert_true(expected[0].allowed);
    assert_int_equal(expected[0].rights, 0xd);
    assert_string_equal(expected[0].path, "/usr");
    assert_string_equal(expected[1].path, "/opt");
    assert_false(expected[2].allowed);
    assert_null(expected[2].path);
    assert_int_equal(expected[2].rights, POLICY_NET(0));
    assert_int_equal(expected[2].first, 80);
    assert_int_equal(expected[2].last, 80);
    assert_int_equal(expected[3].first, 1);
    assert_int_equal(expected[3].last, 1024);
    assert_int_equal(expected[4].rights, 0x4002);
    assert_int_equal(expected[4].position.line, 4);
}

/* ---- All faults in one go ---- */

static void all_faults_are_told_in_order(void **state)
{
    auto_loaded struct loaded loaded = load_body("allow raed x /ok y\nrun \\q\nlimit cpu x\nunknwon\nexpect "
                                                 "maybe reed z 1\n"
                                                 "environment keep 1 A 2\ndefine 9 x\ncontainer uid x\n");
    static const struct fault faults[] = {
        {"main", 2, 7, "unknown right 'raed'"},
        {"main", 2, 12, "path 'x'"},
        {"main", 2, 18, "path 'y'"},
        {"main", 3, 5, "unknown escape"},
        {"main", 4, 11, "'x' is not a limit"},
        {"main", 5, 1, "unknown statement 'unknwon'"},
        {"main", 6, 8, "unknown word 'maybe'"},
        {"main", 6, 14, "unknown right 'reed'"},
        {"main", 6, 19, "path 'z'"},
        {"main", 7, 18, "'1' is not the name"},
        {"main", 7, 22, "'2' is not the name"},
        {"main", 8, 8, "'9' is not a name"},
        {"main", 9, 1, "described in part"},
        {"main", 9, 15, "'x' is not a user ID"},
    };

    (void)state;
    assert_faults(&loaded, faults, array_size(faults));
}

static void faults_are_sorted_by_line_and_column(void **state)
{
    auto_loaded struct loaded loaded = load_body("run ${A} ${B}\nunknown\nallow read x\nrun a\nrun b\n");

    (void)state;
    assert_null(loaded.policy);
    for (size_t i = 1; i < loaded.diagnostics.count; i++) {
        const struct policy_diagnostic *a = &loaded.diagnostics.items[i - 1], *b = a + 1;

        assert_true(a->line < b->line || (a->line == b->line && a->column <= b->column));
    }
}

static void faults_beyond_a_thousand_are_counted(void **state)
{
    auto_free char *body = repeated("", "allow read x\n", 1500, "");
    auto_loaded struct loaded loaded = load_body(body);
    auto_free char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);

    (void)state;
    assert_null(loaded.policy);
    assert_int_equal(loaded.diagnostics.count, 1000);
    assert_int_equal(loaded.diagnostics.dropped, 500);
    assert_int_equal(loaded.diagnostics.items[999].line, 1001);
    assert_non_null(out);
    policy_diagnostics_write(out, &loaded.diagnostics);
    fclose(out);
    assert_non_null(strstr(written, "\nand 500 more errors\n"));
}

static void exactly_a_thousand_faults_are_all_kept(void **state)
{
    auto_free char *body = repeated("", "allow read x\n", 1000, "");
    auto_loaded struct loaded loaded = load_body(body);

    (void)state;
    assert_int_equal(loaded.diagnostics.count, 1000);
    assert_int_equal(loaded.diagnostics.dropped, 0);
}

/* ---- Much of everything ---- */

enum { MANY = 100000 };

/* A body of MANY lines, each `format` with its number. */
static char *numbered(const char *format)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    for (unsigned i = 0; i < MANY; i++)
        for (const char *c = format; *c; c++)
            if (*c == '#')
                fprintf(out, "%u", i);
            else
                putc(*c, out);
    fclose(out);
    return text;
}

static void a_hundred_thousand_rules_are_read(void **state)
{
    auto_free char *body = numbered("allow read,write_file /data/#\n");
    auto_loaded struct loaded loaded = load_body(body);

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->path_rule_count, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        const struct policy_path_rule *rule = &loaded.policy->path_rules[i];
        char path[32];

        snprintf(path, sizeof path, "/data/%u", i);
        assert_string_equal(rule->path, path);
        assert_int_equal(rule->rights, 0xe);
        assert_int_equal(rule->position.line, i + 2);
    }
}

static void a_hundred_thousand_definitions_are_read(void **state)
{
    auto_free char *body = numbered("define D# /data/#\nallow read ${D#}\n");
    auto_loaded struct loaded loaded = load_body(body);

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->path_rule_count, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        char path[32];

        snprintf(path, sizeof path, "/data/%u", i);
        assert_string_equal(loaded.policy->path_rules[i].path, path);
    }
}

static void a_hundred_thousand_assignments_are_read(void **state)
{
    auto_free char *body = numbered("environment set N#=# SAME=#\n");
    auto_loaded struct loaded loaded = load_body(body);

    (void)state;
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->setting_count, MANY + 1);
    assert_string_equal(loaded.policy->settings[0].assignment, "N0=0");
    assert_string_equal(loaded.policy->settings[1].assignment, "SAME=99999");
    for (unsigned i = 1; i < MANY; i++) {
        char assignment[32];

        snprintf(assignment, sizeof assignment, "N%u=%u", i, i);
        assert_string_equal(loaded.policy->settings[i + 1].assignment, assignment);
    }
}

static void a_line_of_a_hundred_thousand_faults_is_read(void **state)
{
    static const char *const lines[][3] = {
        {"allow read", " я", "path 'я' is not absolute"},
        {"environment keep", " 1", "'1' is not the name of a variable"},
        {"allow bind_tcp", " x", "not a port"},
        {"run", " ${A}", "'A' is not defined"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(lines); i++) {
        auto_free char *body = repeated(lines[i][0], lines[i][1], MANY, "\n");
        auto_loaded struct loaded loaded = load_body(body);
        size_t width = lines[i][1][1] == '$' ? 5 : 2, first = strlen(lines[i][0]) + 2;

        assert_null(loaded.policy);
        assert_int_equal(loaded.diagnostics.count, 1000);
        assert_int_equal(loaded.diagnostics.dropped, MANY - 1000);
        for (size_t k = 0; k < loaded.diagnostics.count; k++) {
            assert_int_equal(loaded.diagnostics.items[k].line, 2);
            assert_int_equal(loaded.diagnostics.items[k].column, first + k * width);
            assert_non_null(strstr(loaded.diagnostics.items[k].message, lines[i][2]));
        }
    }
}

static void a_list_of_rights_full_of_faults_is_read(void **state)
{
    auto_free char *body = repeated("allow read", ",raed", 10000, " /x\n");
    auto_loaded struct loaded loaded = load_body(body);

    (void)state;
    assert_null(loaded.policy);
    assert_int_equal(loaded.diagnostics.count, 1000);
    assert_int_equal(loaded.diagnostics.dropped, 9000);
    assert_int_equal(loaded.diagnostics.items[999].column, 12 + 999 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_begins_with_its_version),
        cmocka_unit_test(a_policy_may_hold_nothing_but_its_version),
        cmocka_unit_test(every_statement_has_its_number_of_words),
        cmocka_unit_test(single_words_give_their_values),
        cmocka_unit_test(audit_can_be_off),
        cmocka_unit_test(words_that_no_statement_knows_are_refused),
        cmocka_unit_test(every_fault_of_a_path_is_told),
        cmocka_unit_test(unusual_paths_are_paths),
        cmocka_unit_test(a_path_is_shorter_than_4096_bytes),
        cmocka_unit_test(allowed_paths_and_ports_add_up_in_order),
        cmocka_unit_test(rights_and_objects_must_fit),
        cmocka_unit_test(a_port_is_a_number_up_to_65535),
        cmocka_unit_test(requirements_and_what_is_unrestricted_add_up),
        cmocka_unit_test(what_cannot_be_required_is_refused),
        cmocka_unit_test(nothing_is_required_and_unrestricted_at_once),
        cmocka_unit_test(variables_are_kept_by_name_or_prefix),
        cmocka_unit_test(the_later_of_two_assignments_holds),
        cmocka_unit_test(a_variable_has_a_name),
        cmocka_unit_test(a_name_of_a_variable_has_at_most_63_letters),
        cmocka_unit_test(limits_have_units),
        cmocka_unit_test(what_is_no_limit_is_refused),
        cmocka_unit_test(core_dumps_stay_off),
        cmocka_unit_test(a_container_is_described_in_whole),
        cmocka_unit_test(a_container_is_described_in_whole_or_not_at_all),
        cmocka_unit_test(what_no_container_has_is_refused),
        cmocka_unit_test(the_greatest_user_id_is_one),
        cmocka_unit_test(expectations_are_kept_in_order),
        cmocka_unit_test(all_faults_are_told_in_order),
        cmocka_unit_test(faults_are_sorted_by_line_and_column),
        cmocka_unit_test(faults_beyond_a_thousand_are_counted),
        cmocka_unit_test(exactly_a_thousand_faults_are_all_kept),
        cmocka_unit_test(a_hundred_thousand_rules_are_read),
        cmocka_unit_test(a_hundred_thousand_definitions_are_read),
        cmocka_unit_test(a_hundred_thousand_assignments_are_read),
        cmocka_unit_test(a_line_of_a_hundred_thousand_faults_is_read),
        cmocka_unit_test(a_list_of_rights_full_of_faults_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
