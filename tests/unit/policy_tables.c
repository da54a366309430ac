/* The tables of rights, groups, resources and presets, against the kernel's numbers written out here. */
#include "policy_fixture.h"

struct right_case {
    const char *name;
    uint64_t fs, net, scoped; /* the kernel's bits */
    unsigned abi;
    bool fits_file, may_be_unrestricted;
};

/* include/uapi/linux/landlock.h */
static const struct right_case rights[] = {
    {"execute", 1U << 0, 0, 0, 1, true, false},
    {"write_file", 1U << 1, 0, 0, 1, true, false},
    {"read_file", 1U << 2, 0, 0, 1, true, false},
    {"read_dir", 1U << 3, 0, 0, 1, false, false},
    {"remove_dir", 1U << 4, 0, 0, 1, false, false},
    {"remove_file", 1U << 5, 0, 0, 1, false, false},
    {"make_char", 1U << 6, 0, 0, 1, false, false},
    {"make_dir", 1U << 7, 0, 0, 1, false, false},
    {"make_reg", 1U << 8, 0, 0, 1, false, false},
    {"make_sock", 1U << 9, 0, 0, 1, false, false},
    {"make_fifo", 1U << 10, 0, 0, 1, false, false},
    {"make_block", 1U << 11, 0, 0, 1, false, false},
    {"make_sym", 1U << 12, 0, 0, 1, false, false},
    {"refer", 1U << 13, 0, 0, 2, false, false},
    {"truncate", 1U << 14, 0, 0, 3, true, false},
    {"ioctl_dev", 1U << 15, 0, 0, 5, true, true},
    {"resolve_unix", 1U << 16, 0, 0, 9, true, true},
    {"bind_tcp", 0, 1U << 0, 0, 4, false, true},
    {"connect_tcp", 0, 1U << 1, 0, 4, false, true},
    {"bind_udp", 0, 1U << 2, 0, 10, false, true},
    {"connect_send_udp", 0, 1U << 3, 0, 10, false, true},
    {"abstract_unix_socket", 0, 0, 1U << 0, 6, false, true},
    {"signal", 0, 0, 1U << 1, 6, false, true},
};

/* ---- Rights ---- */

static void every_right_has_the_kernels_bit_and_abi(void **state)
{
    (void)state;
    assert_int_equal(policy_right_count, array_size(rights));
    for (size_t i = 0; i < array_size(rights); i++) {
        const struct policy_right *right = &policy_right_table[i];

        assert_string_equal(right->name, rights[i].name);
        assert_int_equal(policy_rights_fs(right->bit), rights[i].fs);
        assert_int_equal(policy_rights_net(right->bit), rights[i].net);
        assert_int_equal(policy_rights_scoped(right->bit), rights[i].scoped);
        assert_int_equal(right->abi, rights[i].abi);
        assert_int_equal(!!(right->traits & RIGHT_FITS_FILE), rights[i].fits_file);
        assert_int_equal(!!(right->traits & RIGHT_MAY_BE_UNRESTRICTED), rights[i].may_be_unrestricted);
        assert_true(right->help && right->help[0]);
    }
}

static void each_abi_restricts_what_the_kernel_documents(void **state)
{
    static const struct {
        uint64_t fs, net, scoped;
    } by_abi[] = {
        {0, 0, 0},           {0x1fff, 0, 0},      {0x3fff, 0, 0},     {0x7fff, 0, 0}, {0x7fff, 0x3, 0},
        {0xffff, 0x3, 0},    {0xffff, 0x3, 0x3},  {0xffff, 0x3, 0x3}, {0xffff, 3, 3}, {0x1ffff, 3, 3},
        {0x1ffff, 0xf, 0x3}, {0x1ffff, 0xf, 0x3}, {0x1ffff, 15, 3}, /* a kernel newer than this build */
    };

    (void)state;
    assert_int_equal(POLICY_NEWEST_ABI, 11);
    for (unsigned abi = 0; abi < array_size(by_abi); abi++) {
        policy_rights all = policy_rights_of_abi(abi);

        assert_int_equal(policy_rights_fs(all), by_abi[abi].fs);
        assert_int_equal(policy_rights_net(all), by_abi[abi].net);
        assert_int_equal(policy_rights_scoped(all), by_abi[abi].scoped);
    }
    assert_int_equal(policy_rights_of_abi(UINT_MAX), policy_rights_of_abi(11));
}

static void the_macros_are_the_kernels_bits(void **state)
{
    (void)state;
    assert_int_equal(POLICY_EXECUTE, 0x1);
    assert_int_equal(POLICY_READ_FILE, 0x4);
    assert_int_equal(POLICY_READ_DIR, 0x8);
    assert_int_equal(POLICY_REFER, 0x2000);
    assert_int_equal(POLICY_BIND_TCP, 0x100000000);
    assert_int_equal(policy_rights_of_files(), 0x1c007);
    assert_int_equal(policy_rights_that_create(), 0x3fc0);
}

static void every_right_can_be_named_in_one_text(void **state)
{
    char text[POLICY_RIGHTS_TEXT];

    (void)state;
    assert_string_equal(policy_rights_text(0, text), "");
    assert_string_equal(policy_rights_text(0x5, text), "execute,read_file");
    assert_string_equal(policy_rights_text(POLICY_NET(1) | POLICY_SCOPE(1), text), "connect_tcp,signal");
    assert_string_equal(policy_rights_text(UINT64_MAX, text),
                        "execute,write_file,read_file,read_dir,remove_dir,remove_file,make_char,make_dir,"
                        "make_reg,make_sock,make_fifo,make_block,make_sym,refer,truncate,ioctl_dev,"
                        "resolve_unix,bind_tcp,connect_tcp,bind_udp,connect_send_udp,abstract_unix_socket,"
                        "signal");
}

static void every_file_right_can_be_allowed_on_a_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(rights); i++) {
        char body[128];

        if (!rights[i].fs)
            continue;
        snprintf(body, sizeof body, "allow %s /x\n", rights[i].name);
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        assert_int_equal(loaded.policy->path_rule_count, 1);
        assert_int_equal(loaded.policy->path_rules[0].rights, rights[i].fs);
        assert_int_equal(loaded.policy->path_rules[0].singles, rights[i].fs);
    }
}

static void every_network_right_can_be_allowed_on_a_port(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(rights); i++) {
        char body[128];

        if (!rights[i].net)
            continue;
        snprintf(body, sizeof body, "allow %s 443\n", rights[i].name);
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        assert_int_equal(loaded.policy->port_rule_count, 1);
        assert_int_equal(loaded.policy->port_rules[0].rights, rights[i].net << 32);
    }
}

static void every_right_can_be_required_and_only_some_left_unrestricted(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(rights); i++) {
        uint64_t bit = rights[i].fs | rights[i].net << 32 | rights[i].scoped << 48;
        char require[128], unrestricted[128];

        snprintf(require, sizeof require, "require %s\n", rights[i].name);
        snprintf(unrestricted, sizeof unrestricted, "unrestricted %s\n", rights[i].name);
        auto_loaded struct loaded required = load_body(require);
        auto_loaded struct loaded left_out = load_body(unrestricted);
        assert_accepted(&required);
        assert_int_equal(required.policy->requirement_count, 1);
        assert_int_equal(required.policy->requirements[0].rights, bit);
        assert_int_equal(required.policy->requirements[0].abi, 0);
        if (rights[i].may_be_unrestricted) {
            assert_accepted(&left_out);
            assert_int_equal(left_out.policy->unrestricted, bit);
        } else {
            assert_fault(&left_out, 2, 14, "is always restricted");
        }
    }
}

/* ---- Groups ---- */

struct group_case {
    const char *name;
    policy_rights rights;
};

static const struct group_case groups[] = {
    {"read", 0x000c}, {"write", 0x4002},  {"create", 0x1780},
    {"remove", 0x30}, {"rename", 0x2000}, {"network", (policy_rights)0xf << 32},
};

static void every_group_stands_for_its_rights(void **state)
{
    (void)state;
    assert_int_equal(policy_group_count, array_size(groups));
    for (size_t i = 0; i < array_size(groups); i++) {
        char body[128];
        bool is_net = groups[i].rights > UINT32_MAX;

        assert_string_equal(policy_group_table[i].name, groups[i].name);
        assert_int_equal(policy_group_table[i].rights, groups[i].rights);
        assert_true(policy_group_table[i].help[0]);
        snprintf(body, sizeof body, "allow %s %s\n", groups[i].name, is_net ? "443" : "/x");
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        if (is_net) {
            assert_int_equal(loaded.policy->port_rules[0].rights, groups[i].rights);
        } else {
            assert_int_equal(loaded.policy->path_rules[0].rights, groups[i].rights);
            assert_int_equal(loaded.policy->path_rules[0].singles, 0);
        }
    }
}

static void a_right_named_beside_its_group_is_single(void **state)
{
    static const struct {
        const char *rights;
        uint64_t all, singles;
    } cases[] = {
        {"read,execute", 0xd, 0x1},       {"read,read_dir", 0xc, 0x8},
        {"read_dir,read", 0xc, 0x8},      {"read,write,create,remove", 0x57be, 0},
        {"rename,refer", 0x2000, 0x2000}, {"read,read", 0xc, 0},
    };

    (void)state;
    for (size_t i = 0; i < array_size(cases); i++) {
        char body[128];

        snprintf(body, sizeof body, "allow %s /x\n", cases[i].rights);
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        assert_int_equal(loaded.policy->path_rules[0].rights, cases[i].all);
        assert_int_equal(loaded.policy->path_rules[0].singles, cases[i].singles);
    }
}

/* ---- Resources and presets ---- */

struct resource_case {
    const char *name;
    int resource;
    bool is_size;
};

static const struct resource_case resources[] = {
    {"as", RLIMIT_AS, true},
    {"core", RLIMIT_CORE, true},
    {"cpu", RLIMIT_CPU, false},
    {"data", RLIMIT_DATA, true},
    {"fsize", RLIMIT_FSIZE, true},
    {"locks", RLIMIT_LOCKS, false},
    {"memlock", RLIMIT_MEMLOCK, true},
    {"msgqueue", RLIMIT_MSGQUEUE, true},
    {"nice", RLIMIT_NICE, false},
    {"nofile", RLIMIT_NOFILE, false},
    {"nproc", RLIMIT_NPROC, false},
    {"rss", RLIMIT_RSS, true},
    {"rtprio", RLIMIT_RTPRIO, false},
    {"rttime", RLIMIT_RTTIME, false},
    {"sigpending", RLIMIT_SIGPENDING, false},
    {"stack", RLIMIT_STACK, true},
};

static void every_resource_can_be_limited(void **state)
{
    (void)state;
    assert_int_equal(policy_resource_count, array_size(resources));
    assert_int_equal(array_size(resources), RLIM_NLIMITS);
    for (size_t i = 0; i < array_size(resources); i++) {
        const struct policy_resource *row = &policy_resource_table[i];
        rlim_t value = row->resource == RLIMIT_CORE ? 0 : row->is_size ? 7168 : 7;
        char body[128];

        assert_string_equal(row->name, resources[i].name);
        assert_int_equal(row->resource, resources[i].resource);
        assert_int_equal(row->is_size, resources[i].is_size);
        assert_true(row->help[0]);
        snprintf(body, sizeof body, "limit %s 7%s\n", row->name, row->is_size ? "K" : "");
        auto_loaded struct loaded loaded = load_body(body);
        assert_accepted(&loaded);
        for (int k = 0; k < RLIM_NLIMITS; k++)
            assert_int_equal(loaded.policy->limits[k].is_set, k == row->resource);
        assert_int_equal(loaded.policy->limits[row->resource].value, value);
    }
}

static void a_unit_fits_sizes_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < array_size(resources); i++) {
        char body[128];

        if (resources[i].is_size)
            continue;
        snprintf(body, sizeof body, "limit %s 7K\n", resources[i].name);
        auto_loaded struct loaded loaded = load_body(body);
        assert_fault(&loaded, 2, 8 + strlen(resources[i].name), "'7K' is not a limit");
    }
}

static void presets_have_a_bit_each(void **state)
{
    static const char *const names[] = {"docker", "podman", "bubblewrap"};

    (void)state;
    assert_int_equal(policy_preset_count, array_size(names));
    for (size_t i = 0; i < array_size(names); i++) {
        assert_string_equal(policy_preset_table[i].name, names[i]);
        assert_int_equal(policy_preset_table[i].bit, 1U << i);
        assert_true(policy_preset_table[i].help[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_right_has_the_kernels_bit_and_abi),
        cmocka_unit_test(each_abi_restricts_what_the_kernel_documents),
        cmocka_unit_test(the_macros_are_the_kernels_bits),
        cmocka_unit_test(every_right_can_be_named_in_one_text),
        cmocka_unit_test(every_file_right_can_be_allowed_on_a_path),
        cmocka_unit_test(every_network_right_can_be_allowed_on_a_port),
        cmocka_unit_test(every_right_can_be_required_and_only_some_left_unrestricted),
        cmocka_unit_test(every_group_stands_for_its_rights),
        cmocka_unit_test(a_right_named_beside_its_group_is_single),
        cmocka_unit_test(every_resource_can_be_limited),
        cmocka_unit_test(a_unit_fits_sizes_only),
        cmocka_unit_test(presets_have_a_bit_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
