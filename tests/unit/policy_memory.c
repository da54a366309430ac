/* Memory that runs out: each allocation of lib/ is refused in turn, and the policy is refused, with nothing lost. */
#include "allocations.h"
#include "policy_fixture.h"

/* ---- Policies ---- */

/* Every statement, and more than 16 of each list, so that every array has to grow. */
static const struct memory_file all_statements[] = {
    {.name = "etc/main",
     .text = "policy 1\n"
             "define DATA /data\ndefine QUOTED \"a b\"\ndefine MADE ${DATA}/${QUOTED}\ninclude many\n"
             "include -none\ninclude \"quoted\"\n"
             "run python3 -I ${MADE} \"x\\ty\"\nprivate /opt/main.py ${DATA}/p\ndirectory ${DATA}\n"
             "require abi 3\nrequire read,signal\nallow read,execute /usr -/opt \"/a b\" ${MADE}\n"
             "allow bind_tcp 80-443 ${PORT}\nunrestricted bind_udp\naudit on\n"
             "environment keep LANG LC_* ${NAME}\nenvironment set A=1 ${NAME}=${QUOTED} A=2\n"
             "limit cpu 60\nlimit fsize 100M\ncontainer check always\ncontainer uid 1000\n"
             "container capabilities none\ncontainer read-only / ${DATA}\n"
             "container writable docker /tmp ${DATA}\nexpect allowed read /usr\n"
             "expect denied bind_tcp 1-1024\n"},
    {.name = "etc/many",
     .text = "policy 1\ndefine PORT 8080\ndefine NAME A_NAME\n"
             "private /1 /2 /3 /4 /5 /6 /7 /8 /9 /10 /11 /12 /13 /14 /15 /16 /17\n"
             "allow read /1 /2 /3 /4 /5 /6 /7 /8 /9 /10 /11 /12 /13 /14 /15 /16 /17\n"
             "allow connect_tcp 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
             "environment keep A B C D E F G H I J K L M N O P Q\n"
             "environment set A=1 B=1 C=1 D=1 E=1 F=1 G=1 H=1 I=1 J=1 K=1 L=1 M=1 N=1 O=1 P=1 Q=1\n"
             "container read-only /1 /2 /3 /4 /5 /6 /7 /8 /9 /10 /11 /12 /13 /14 /15 /16 /17\n"
             "container writable /1 /2 /3 /4 /5 /6 /7 /8 /9 /10 /11 /12 /13 /14 /15 /16 /17\n"
             "expect denied read /1 /2 /3 /4 /5 /6 /7 /8 /9 /10 /11 /12 /13 /14 /15 /16 /17\n"
             "require read\nrequire read\nrequire read\nrequire read\nrequire read\nrequire read\n"
             "require read\nrequire read\nrequire read\nrequire read\nrequire read\nrequire read\n"
             "require read\nrequire read\nrequire read\nrequire read\nrequire read\nrequire read\n"},
    {.name = "etc/quoted",
     .text = "policy \"1\"\ndefine A 1\ndefine B 1\ndefine C 1\ndefine D 1\ndefine E 1\ndefine F 1\n"
             "define G 1\ndefine H 1\ndefine I 1\ndefine J 1\ndefine K 1\ndefine L 1\ndefine M 1\n"
             "limit cpu 1\n"},
};

/* A fault of every statement, in more than one file. */
static const struct memory_file all_faults[] = {
    {.name = "main",
     .text = "policy 2\ndefine 1 x\ndefine L ${L}\ninclude other\ninclude none\ninclude main\n"
             "run ${L} ${NONE}\nprivate x\ndirectory y/\ndirectory /a\ndirectory /b\nrequire abi 99\n"
             "require signal\nunrestricted signal,reed\nunrestricted signal\nallow raed x /ok ${NONE}\n"
             "allow bind_tcp x 1\naudit maybe\nenvironment keep 1\nenvironment set x 1=2 A=${NONE}\n"
             "limit cpu x\nlimit xyz 1\ncontainer uid x\ncontainer writable dokcer\nexpect maybe read z\n"
             "unknown\nrun \\q\n"},
    {.name = "other", .text = "\xef\xbb\xbf"},
};

static const struct policy_definition from_outside[] = {{"DATA", "/outer"}, {"QUOTED", "c d"}};
static const struct policy_definition unknown_outside[] = {{"XYZZY", "/outer"}, {"L2", ""}};

/* The policy was refused, and it is said that memory was why. */
static void assert_refused_for_memory(const struct loaded *loaded, size_t at)
{
    bool is_said = loaded->diagnostics.out_of_memory;

    assert_null(loaded->policy);
    for (size_t i = 0; i < loaded->diagnostics.count; i++)
        is_said |= strstr(loaded->diagnostics.items[i].message, strerror(ENOMEM)) != NULL;
    if (!is_said)
        fail_msg("allocation %zu was refused and nothing says so", at);
}

/* Refuses each allocation in turn; returns how many there are. */
static size_t refuse_each(const struct memory_file *files, size_t count,
                          const struct policy_definition *definitions, size_t definition_count, bool stays)
{
    size_t at = 0;

    do {
        long before = allocations_in_use();
        refuse(++at, stays);
        struct loaded loaded = load_defined(files, count, definitions, definition_count);
        bool was_refused = allocations_so_far() >= at;

        refuse_no_more();
        if (was_refused)
            assert_refused_for_memory(&loaded, at);
        unload(&loaded);
        if (allocations_in_use() != before)
            fail_msg("allocation %zu was refused and %ld are lost", at, allocations_in_use() - before);
        if (!was_refused)
            return at - 1;
    } while (at < 100000);
    return at;
}

static void the_policy_of_all_statements_is_a_good_one(void **state)
{
    long before = allocations_in_use();
    struct loaded loaded =
        load_defined(all_statements, array_size(all_statements), from_outside, array_size(from_outside));

    (void)state;
    assert_accepted(&loaded);
    assert_string_equal(loaded.policy->run[2], "/outer/c d");
    assert_int_equal(loaded.policy->path_rule_count, 21);
    assert_true(allocations_in_use() > before);
    unload(&loaded);
    assert_int_equal(allocations_in_use(), before);
}

static void a_good_policy_is_refused_whichever_allocation_fails(void **state)
{
    (void)state;
    for (int stays = 0; stays <= 1; stays++)
        assert_in_range(refuse_each(all_statements, array_size(all_statements), from_outside,
                                    array_size(from_outside), stays),
                        50, 10000);
}

static void faults_are_told_as_far_as_memory_goes(void **state)
{
    (void)state;
    for (int stays = 0; stays <= 1; stays++)
        assert_in_range(refuse_each(all_faults, array_size(all_faults), unknown_outside,
                                    array_size(unknown_outside), stays),
                        50, 10000);
}

static void diagnostics_say_that_memory_ran_out(void **state)
{
    auto_free char *written = NULL;
    size_t size;
    FILE *out = open_memstream(&written, &size);

    (void)state;
    assert_non_null(out);
    refuse(1, true);
    auto_loaded struct loaded loaded = load_files(all_statements, array_size(all_statements));
    refuse_no_more();
    policy_diagnostics_write(out, &loaded.diagnostics);
    fclose(out);
    assert_string_equal(written, "out of memory: not everything was read\n");
}

/* ---- What else asks for memory ---- */

static void a_file_is_not_read_without_memory(void **state)
{
    char path[] = "/tmp/unit-memory-XXXXXX", *text = NULL, reason[64] = "";
    uint64_t device, inode;
    size_t size;
    int fd = mkstemp(path), fault;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    refuse(1, true);
    fault = policy_read_file(NULL, path, &text, &size, &device, &inode, reason, sizeof reason);
    refuse_no_more();
    unlink(path);
    assert_int_equal(fault, ENOMEM);
    assert_string_equal(reason, "out of memory");
    assert_null(text);
}

static void an_array_that_gets_no_memory_stays_as_it_was(void **state)
{
    auto_free int *items = NULL;
    size_t capacity = 0;
    size_t first;
    int *before;

    (void)state;
    assert_int_equal(array_reserve(&items, &capacity, 0, sizeof *items), 0);
    before = items;
    first = capacity;
    refuse(1, true);
    assert_int_equal(array_reserve(&items, &capacity, capacity, sizeof *items), -1);
    refuse_no_more();
    assert_int_equal(errno, ENOMEM);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, first);
}

/* What text_write_line() makes of `text` when the allocation number `at` is refused, and all after it if `stays`. Whether one was. */
static bool write_line(size_t at, bool stays, const char *text, char *written, size_t size)
{
    bool was_refused;
    ssize_t count;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    refuse(at, stays);
    text_write_line(ends[1], "landlock-exec: ", text);
    was_refused = allocations_so_far() >= at;
    refuse_no_more();
    close(ends[1]);
    count = read(ends[0], written, size - 1);
    close(ends[0]);
    assert_true(count > 0);
    written[count] = '\0';
    return was_refused;
}

static void a_line_is_written_without_memory(void **state)
{
    static char text[20000], whole[sizeof text + 32], written[sizeof whole];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    snprintf(whole, sizeof whole, "landlock-exec: %s\n", text);
    for (int stays = 0; stays <= 1; stays++) {
        size_t at = 1;

        for (; write_line(at, stays, text, written, sizeof written); at++)
            assert_string_equal(written, whole);
        assert_string_equal(written, whole);
        assert_in_range(at, 4, 100);
    }
}

/* As open_memstream(3) would give it, without its middle. */
static void a_text_that_lost_a_part_is_none(void **state)
{
    static const char part[] = "a part that is longer than nothing\n";

    (void)state;
    for (size_t at = 2; at < 6; at++) {
        struct text text = {0};
        FILE *out;
        int result;

        refuse(at, false);
        out = text_open(&text);
        for (int i = 0; i < 1000; i++)
            fputs(part, out);
        result = text_close(out, &text);
        refuse_no_more();
        assert_int_equal(result, -1);
        assert_int_equal(errno, ENOMEM);
        assert_null(text.bytes);
        assert_int_equal(text.size, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_of_all_statements_is_a_good_one),
        cmocka_unit_test(a_good_policy_is_refused_whichever_allocation_fails),
        cmocka_unit_test(faults_are_told_as_far_as_memory_goes),
        cmocka_unit_test(diagnostics_say_that_memory_ran_out),
        cmocka_unit_test(a_file_is_not_read_without_memory),
        cmocka_unit_test(an_array_that_gets_no_memory_stays_as_it_was),
        cmocka_unit_test(a_line_is_written_without_memory),
        cmocka_unit_test(a_text_that_lost_a_part_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
