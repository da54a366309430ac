/*
 * Memory that runs out under lib/container: each allocation is refused in turn, libmount's tables and iterators too; the error
 * is the documented one, nothing is lost, and nothing passes for checked.
 */
#include "allocations.h"
#include "recorded_mounts.h"

#include <libmount/libmount.h>
#include <sys/stat.h>

struct libmnt_table *__wrap_mnt_new_table(void);
struct libmnt_table *__real_mnt_new_table(void);
struct libmnt_iter *__wrap_mnt_new_iter(int direction);
struct libmnt_iter *__real_mnt_new_iter(int direction);

struct libmnt_table *__wrap_mnt_new_table(void)
{
    return is_refused() ? NULL : __real_mnt_new_table();
}

struct libmnt_iter *__wrap_mnt_new_iter(int direction)
{
    return is_refused() ? NULL : __real_mnt_new_iter(direction);
}

/* ---- An attempt is made while each allocation in turn is refused ---- */

enum { MOST_ALLOCATIONS = 10000, PLACES = 20 };

/* Calls the code under test. False: it failed. After a refusal it must fail, with what is documented. */
typedef bool attempt(const void *context);

/* Returns how many allocations there are. */
static size_t refuse_each(attempt *try, const void *context, bool stays)
{
    size_t at = 0;
    bool was_refused;

    do {
        long before = allocations_in_use();
        bool is_done;

        refuse(++at, stays);
        is_done = try(context);
        was_refused = allocations_so_far() >= at;
        refuse_no_more();
        if (is_done == was_refused)
            fail_msg("allocation %zu was %s, and all was %s", at, was_refused ? "refused" : "granted",
                     is_done ? "fine" : "not");
        if (allocations_in_use() != before)
            fail_msg("allocation %zu was refused and %ld are lost", at, allocations_in_use() - before);
    } while (was_refused && at < MOST_ALLOCATIONS);
    return at - 1;
}

static void refuse_each_both_ways(attempt *try, const void *context, size_t least)
{
    assert_in_range(refuse_each(try, context, false), least, MOST_ALLOCATIONS - 2);
    assert_in_range(refuse_each(try, context, true), least, MOST_ALLOCATIONS - 2);
}

static void fill(struct container_expectation *expectation)
{
    const struct container_place place = {"/sandbox", 1, true, true};

    *expectation =
        (struct container_expectation){.uid = 1000, .presets = CONTAINER_DOCKER | CONTAINER_PODMAN};
    for (int i = 0; i < PLACES; i++) {
        expect_read_only(expectation, "/", 1);
        expect_writable(expectation, &place);
    }
}

/* ---- What is said ---- */

static bool write_arguments(const void *context)
{
    char **arguments = container_write_arguments(context);

    if (!arguments)
        assert_int_equal(errno, ENOMEM);
    container_free_arguments(arguments);
    return arguments;
}

static bool read_arguments(const void *context)
{
    auto_expectation struct container_expectation expectation;
    struct error error = {0};
    int result = container_read_arguments((char *const *)context, &expectation, &error);

    assert_int_equal(error.code, result < 0 ? CONTAINER_ERROR : 0);
    return result == 0;
}

static bool read_findings(const void *context)
{
    static const char bytes[] = "a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0l\0m\0n\0o\0p\0q\0r";
    auto_findings struct container_findings findings;
    int result = container_read_findings(bytes, sizeof bytes, &findings);

    (void)context;
    if (result < 0)
        assert_int_equal(errno, ENOMEM);
    return result == 0;
}

static void what_is_said_needs_memory(void **state)
{
    auto_expectation struct container_expectation expectation;
    char **arguments;

    (void)state;
    fill(&expectation);
    arguments = container_write_arguments(&expectation);
    assert_non_null(arguments);
    refuse_each_both_ways(write_arguments, &expectation, 2 + 2 * PLACES);
    refuse_each_both_ways(read_arguments, arguments, 6);
    refuse_each_both_ways(read_findings, NULL, 9 * 2 + 2);
    container_free_arguments(arguments);
}

static bool add_places(const void *context)
{
    auto_expectation struct container_expectation expectation = {0};
    const struct container_place place = {.path = "/"};
    int result = 0;

    (void)context;
    for (size_t i = 0; i < PLACES && result == 0; i++) {
        result = container_add_place(&expectation.read_only, &expectation.read_only_count,
                                     &expectation.read_only_capacity, &place);
        if (result < 0)
            assert_int_equal(errno, ENOMEM);
        assert_int_equal(expectation.read_only_count, i + (result == 0));
    }
    return result == 0;
}

static void a_list_that_gets_no_memory_stays_as_it_was(void **state)
{
    (void)state;
    refuse_each_both_ways(add_places, NULL, 3);
}

/* ---- What is checked ---- */

static bool check_all(const void *context)
{
    auto_findings struct container_findings findings = {0};
    struct error error = {0};
    int result = container_check(context, getpid(), &findings, &error);

    assert_int_equal(error.code, result < 0 ? CONTAINER_ERROR : 0);
    if (result < 0 && strcmp(error.message, "out of memory") != 0 &&
        strcmp(error.message, "/proc/self/mountinfo: cannot be read") != 0)
        assert_non_null(strstr(error.message, ": cannot be read: Cannot allocate memory"));
    return result == 0;
}

/* Nothing is as it must be: every kind of finding has to be made. */
static void what_cannot_be_checked_for_want_of_memory_is_an_error(void **state)
{
    const struct container_place part = {"/sandbox/part", 130, false, true},
                                 denied = {"/tmp", 131, true, false};
    const struct recorded_sight sights[] = {{.path = "/run/docker.sock", .type = S_IFSOCK}};
    auto_expectation struct container_expectation expectation = {.uid = getuid() + 1,
                                                                 .presets = CONTAINER_DOCKER};

    (void)state;
    use_recording("docker-departures");
    use_sights(sights, array_size(sights));
    expect_read_only(&expectation, "/", recorded_mount("/"));
    expect_read_only(&expectation, "/gone", 7);
    expect_read_only(&expectation, "/opt/extra", recorded_mount("/opt/extra"));
    expect_writable(&expectation, &part);
    expect_writable(&expectation, &denied);
    refuse_each_both_ways(check_all, &expectation, 20);
}

static void what_is_fine_needs_memory_too(void **state)
{
    const struct container_place places[] = {{"/tmp", 0, true, true}, {"/sandbox", 0, true, true}};
    auto_expectation struct container_expectation expectation = {.uid = getuid(),
                                                                 .presets = CONTAINER_DOCKER};

    (void)state;
    use_recording("docker");
    expect_read_only(&expectation, "/", recorded_mount("/"));
    for (size_t i = 0; i < array_size(places); i++) {
        struct container_place place = places[i];

        place.mount = recorded_mount(place.path);
        expect_writable(&expectation, &place);
    }
    refuse_each_both_ways(check_all, &expectation, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_needs_memory),
        cmocka_unit_test(a_list_that_gets_no_memory_stays_as_it_was),
        cmocka_unit_test(what_cannot_be_checked_for_want_of_memory_is_an_error),
        cmocka_unit_test(what_is_fine_needs_memory_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
