/*
 * lib/launch/container.c: when the container is checked, as what the policy's paths are described to the helper, and what is
 * made of its answer. In the helper's place stands what each test has it answer.
 */
#include "child.h"
#include "launch/internal.h"
#include "policy_fixture.h"

#include <sys/stat.h>

enum { NEWEST_ABI = 11 };

/* ---- The helper's place ---- */

static struct {
    const char *bytes;
    size_t size;
    int status;
    const char *complaint;
    const char *failure; /* NULL: it answers */
} answer_to_give;

static size_t times_run;
static char words_given[8][256];

int __wrap_run_helper(char *const *arguments, struct helper_answer *answer, struct error *error);

int __wrap_run_helper(char *const *arguments, struct helper_answer *answer, struct error *error)
{
    times_run++;
    memset(words_given, 0, sizeof words_given);
    for (size_t i = 0; i < array_size(words_given) && arguments[i]; i++)
        snprintf(words_given[i], sizeof words_given[i], "%s", arguments[i]);
    if (answer_to_give.failure) {
        error_set(error, LAUNCH_CONTAINER, "%s", answer_to_give.failure);
        return error_hint(error, "the hint");
    }
    answer->status = answer_to_give.status;
    answer->bytes = malloc(answer_to_give.size + 1);
    answer->size = answer_to_give.size;
    assert_non_null(answer->bytes);
    memcpy(answer->bytes, answer_to_give.bytes ? answer_to_give.bytes : "", answer_to_give.size);
    snprintf(answer->complaint, sizeof answer->complaint, "%s",
             answer_to_give.complaint ? answer_to_give.complaint : "");
    return 0;
}

static int forget_answer(void **state)
{
    (void)state;
    memset(&answer_to_give, 0, sizeof answer_to_give);
    answer_to_give.bytes = CONTAINER_CHECKED;
    answer_to_give.size = sizeof CONTAINER_CHECKED;
    times_run = 0;
    return 0;
}

/* ---- Launches ---- */

#define DESCRIBED                                                                    \
    "container uid 1234\ncontainer capabilities none\ncontainer read-only / /proc\n" \
    "container writable docker bubblewrap /proc /dev/null\n"

struct scene {
    struct loaded loaded;
    struct walker walker;
    struct launch_request request;
    struct launch launch;
    struct error error;
};

#define auto_scene __attribute__((cleanup(free_scene)))

static void free_scene(struct scene *scene)
{
    walk_free(&scene->walker);
    container_expectation_free(&scene->launch.expectation);
    container_findings_free(&scene->launch.findings);
    unload(&scene->loaded);
}

static void set_scene(struct scene *scene, const char *body, unsigned abi)
{
    *scene = (struct scene){.loaded = load_body(body)};
    assert_accepted(&scene->loaded);
    scene->launch.policy = scene->loaded.policy;
    scene->launch.abi = abi;
    scene->launch.request = &scene->request;
    scene->launch.directory = AT_FDCWD;
}

static int prepare(struct scene *scene)
{
    return prepare_container(&scene->launch, &scene->walker, &scene->error);
}

/* ---- When it is checked ---- */

static void it_is_checked_on_old_abis_and_where_the_policy_says_always(void **state)
{
    (void)state;
    for (unsigned abi = 1; abi <= NEWEST_ABI; abi++)
        for (int is_always = 0; is_always <= 1; is_always++) {
            bool is_checked = abi <= 2 || is_always;
            auto_scene struct scene scene;

            set_scene(&scene, is_always ? DESCRIBED "container check always\n" : DESCRIBED, abi);
            times_run = 0;
            assert_int_equal(prepare(&scene), 0);
            assert_int_equal(scene.launch.expectation.read_only_count, is_checked ? 2 : 0);
            assert_int_equal(launch_check_container(&scene.launch, &scene.error), 0);
            assert_int_equal(times_run, is_checked);
            assert_int_equal(scene.launch.container,
                             is_checked ? LAUNCH_CONTAINER_CHECKED : LAUNCH_CONTAINER_NOT_NEEDED);
        }
}

static void a_policy_that_does_not_describe_it_is_refused_where_it_must_be_checked(void **state)
{
    (void)state;
    for (unsigned abi = 1; abi <= 3; abi++) {
        auto_scene struct scene scene;
        char wanted[160];

        set_scene(&scene, "allow read /usr\n", abi);
        assert_int_equal(prepare(&scene), abi <= 2 ? -1 : 0);
        if (abi > 2)
            continue;
        snprintf(wanted, sizeof wanted,
                 "container: Landlock ABI %u cannot stop truncation, and the policy does "
                 "not describe the container that would be checked",
                 abi);
        assert_int_equal(scene.error.code, LAUNCH_CONTAINER);
        assert_string_equal(scene.error.message, wanted);
        assert_non_null(strstr(scene.error.hint, "container uid, capabilities, read-only and writable"));
        assert_int_equal(scene.launch.container, LAUNCH_CONTAINER_UNKNOWN);
    }
}

/* ---- What the helper is told ---- */

static uint64_t mount_of(const char *path)
{
    struct statx status;

    assert_int_equal(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status), 0);
    return status.stx_mnt_id;
}

static void grant(struct launch *launch, struct launch_grant *grant, const char *path, policy_rights rights)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    *grant = (struct launch_grant){status.st_dev, status.st_ino, 0, rights, NULL};
    launch->grants = grant;
    launch->grant_count = 1;
}

static void places_are_described_as_they_are(void **state)
{
    auto_scene struct scene scene;
    const struct container_expectation *expectation = &scene.launch.expectation;

    (void)state;
    set_scene(&scene, DESCRIBED, 1);
    assert_int_equal(prepare(&scene), 0);
    assert_int_equal(expectation->uid, 1234);
    assert_int_equal(expectation->presets, CONTAINER_DOCKER | CONTAINER_BUBBLEWRAP);
    assert_int_equal(expectation->read_only_count, 2);
    assert_string_equal(expectation->read_only[0].path, "/");
    assert_true(expectation->read_only[0].mount == mount_of("/"));
    assert_string_equal(expectation->read_only[1].path, "/proc");
    assert_true(expectation->read_only[1].mount == mount_of("/proc"));
    assert_int_equal(expectation->writable_count, 2);
    assert_string_equal(expectation->writable[0].path, "/proc");
    assert_true(expectation->writable[0].mount == mount_of("/proc"));
    assert_true(expectation->writable[0].is_mount_point);
    assert_true(expectation->writable[1].mount == mount_of("/dev/null"));
    assert_false(expectation->writable[0].is_allowed || expectation->writable[1].is_allowed);
}

struct allowed {
    const char *path;
    policy_rights rights;
    bool is_allowed; /* to write all of /proc */
};

/* All of it may be emptied, so all of it must be the program's to write. */
static void a_place_is_allowed_where_the_rules_reach_its_root(void **state)
{
    const policy_rights write = POLICY_WRITE_FILE | POLICY_TRUNCATE;
    const struct allowed table[] = {
        {"/proc", write, true},
        {"/", write, true},
        {"/proc", write | POLICY_READ_FILE, true},
        {"/proc", POLICY_WRITE_FILE, false},
        {"/proc", POLICY_TRUNCATE, false},
        {"/proc", POLICY_READ_FILE, false},
        {"/proc/sys", write, false},
        {"/dev", write, false},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        auto_scene struct scene scene;
        struct launch_grant one;

        set_scene(&scene, DESCRIBED, 2);
        grant(&scene.launch, &one, table[i].path, table[i].rights);
        assert_int_equal(prepare(&scene), 0);
        if (scene.launch.expectation.writable[0].is_allowed != table[i].is_allowed)
            fail_msg("row %zu", i);
    }
}

static void every_preset_of_the_policy_reaches_the_helper(void **state)
{
    static const struct {
        const char *name;
        unsigned bit;
    } table[] = {
        {"docker", CONTAINER_DOCKER}, {"podman", CONTAINER_PODMAN}, {"bubblewrap", CONTAINER_BUBBLEWRAP}};

    (void)state;
    assert_int_equal(policy_preset_count, array_size(table));
    for (size_t i = 0; i < array_size(table); i++) {
        auto_scene struct scene scene;
        char body[256];

        snprintf(body, sizeof body,
                 "container uid 1\ncontainer capabilities none\ncontainer read-only /\ncontainer writable "
                 "%s\n",
                 table[i].name);
        set_scene(&scene, body, 1);
        assert_int_equal(prepare(&scene), 0);
        assert_int_equal(scene.launch.expectation.presets, table[i].bit);
    }
}

static void the_helper_gets_it_as_its_arguments(void **state)
{
    auto_scene struct scene scene;
    char wanted[256];

    (void)state;
    set_scene(&scene,
              "container uid 1234\ncontainer capabilities none\ncontainer read-only /\n"
              "container writable podman /proc\n",
              1);
    assert_int_equal(prepare(&scene), 0);
    assert_int_equal(launch_check_container(&scene.launch, &scene.error), 0);
    assert_string_equal(words_given[0], "check-container");
    assert_string_equal(words_given[1], "uid=1234");
    assert_string_equal(words_given[2], "preset=podman");
    snprintf(wanted, sizeof wanted, "read-only=%llu:/", (unsigned long long)mount_of("/"));
    assert_string_equal(words_given[3], wanted);
    snprintf(wanted, sizeof wanted, "writable=%llu:1:0:/proc", (unsigned long long)mount_of("/proc"));
    assert_string_equal(words_given[4], wanted);
    snprintf(wanted, sizeof wanted, "held=%llu:/", (unsigned long long)mount_of("/"));
    assert_string_equal(words_given[5], wanted);
    snprintf(wanted, sizeof wanted, "held=%llu:the working directory", (unsigned long long)mount_of("."));
    assert_string_equal(words_given[6], wanted);
}

static void a_path_that_is_missing_is_an_error_at_its_place_in_the_policy(void **state)
{
    static const char *const bodies[] = {"container uid 1\ncontainer capabilities none\ncontainer writable "
                                         "docker\ncontainer read-only / /none/x\n",
                                         "container uid 1\ncontainer capabilities none\ncontainer read-only "
                                         "/\ncontainer writable docker /none/x\n"};

    (void)state;
    for (size_t i = 0; i < array_size(bodies); i++) {
        auto_scene struct scene scene;

        set_scene(&scene, bodies[i], 1);
        assert_int_equal(prepare(&scene), -1);
        assert_int_equal(scene.error.code, LAUNCH_PATH);
        assert_non_null(strstr(scene.error.message, ": No such file or directory"));
        assert_int_equal(strncmp(scene.error.message, "main:5:", 7), 0);
    }
}

/* ---- What is made of the answer ---- */

#define EXITED(status) ((status) << 8)
#define BYTES(text) .bytes = (text), .size = sizeof(text)
#define ONE_FINDING BYTES("a message\0a hint")
#define TWO_FINDINGS BYTES("a message\0a hint\0another\0another hint")
#define BECAUSE "(checked because Landlock ABI 2 cannot stop truncation)"

struct answered {
    const char *bytes;
    size_t size;
    int status;
    const char *complaint;
    const char *message, *hint; /* NULL: fine; none */
    size_t findings;
};

static void check_answer(const struct answered *row)
{
    auto_scene struct scene scene;

    set_scene(&scene, DESCRIBED, 2);
    answer_to_give.bytes = row->bytes;
    answer_to_give.size = row->size;
    answer_to_give.status = row->status;
    answer_to_give.complaint = row->complaint;
    assert_int_equal(launch_check_container(&scene.launch, &scene.error), row->message ? -1 : 0);
    assert_int_equal(scene.launch.container,
                     row->message ? LAUNCH_CONTAINER_UNKNOWN : LAUNCH_CONTAINER_CHECKED);
    assert_int_equal(scene.launch.findings.count, row->findings);
    if (!row->message)
        return;
    assert_int_equal(scene.error.code, LAUNCH_CONTAINER);
    assert_string_equal(scene.error.message, row->message);
    if (row->hint ? !strstr(scene.error.hint, row->hint) : scene.error.hint[0])
        fail_msg("%s\n  hint: %s", row->message, scene.error.hint);
}

#define CHECKED .bytes = CONTAINER_CHECKED, .size = sizeof CONTAINER_CHECKED

static void only_an_end_that_is_well_and_said_so_is_fine(void **state)
{
    static const struct answered table[] = {
        {CHECKED, .status = EXITED(0)},
        {CHECKED, .status = EXITED(0), .complaint = "libmount says something"},
        {.status = EXITED(0), .message = "container: the check failed (exit status 0)"},
        {CHECKED, .status = EXITED(1), .message = "container: the check failed (exit status 1)"},
        {CHECKED, .status = 9, .message = "container: the check failed (killed by signal 9)"},
        {.status = EXITED(1), .message = "container: the check failed (exit status 1)"},
        {.status = EXITED(2), .message = "container: the check failed (exit status 2)"},
        {.status = EXITED(2),
         .complaint = "why",
         .message = "container: the check failed (exit status 2): why"},
        {.status = EXITED(127),
         .complaint = "libmount.so.1: cannot open shared object file",
         .message = "container: the check failed (exit status 127): libmount.so.1: cannot open shared object "
                    "file",
         .hint = "libmount1"},
        {.status = EXITED(255), .message = "container: the check failed (exit status 255)"},
        {.status = 9, .message = "container: the check failed (killed by signal 9)"},
        {.status = 11 | 0x80,
         .complaint = "x",
         .message = "container: the check failed (killed by signal 11): x"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_answer(&table[i]);
}

static void findings_count_only_with_the_exit_status_that_says_so(void **state)
{
    static const struct answered table[] = {
        {ONE_FINDING, .status = EXITED(1), .message = "container: a message " BECAUSE, .hint = "a hint",
         .findings = 1},
        {TWO_FINDINGS, .status = EXITED(1), .message = "container: 2 findings " BECAUSE,
         .hint = "each is told with what restores it", .findings = 2},
        {BYTES("\0"), .status = EXITED(1), .message = "container:  " BECAUSE, .findings = 1},
        {ONE_FINDING, .status = EXITED(0), .message = "container: the check failed (exit status 0)"},
        {TWO_FINDINGS, .status = EXITED(2), .message = "container: the check failed (exit status 2)"},
        {ONE_FINDING, .status = 9, .message = "container: the check failed (killed by signal 9)"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_answer(&table[i]);
}

/* What was cut short is no finding: it may lack a text. */
static void an_answer_that_is_cut_short_is_a_failed_check_without_findings(void **state)
{
    static const struct answered table[] = {
        {.bytes = "a message",
         .size = 9,
         .status = EXITED(1),
         .message = "container: the check failed (exit status 1)"},
        {.bytes = "a message",
         .size = 10,
         .status = 9,
         .message = "container: the check failed (killed by signal 9)"},
        {.bytes = "a\0b\0c",
         .size = 6,
         .status = 9,
         .message = "container: the check failed (killed by signal 9)"},
        {.bytes = "a\0b\0c\0d",
         .size = 7,
         .status = EXITED(1),
         .message = "container: the check failed (exit status 1)"},
        {.bytes = "x",
         .size = 1,
         .status = EXITED(0),
         .message = "container: the check failed (exit status 0)"},
        {.bytes = "",
         .size = 1,
         .status = EXITED(0),
         .message = "container: the check failed (exit status 0)"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_answer(&table[i]);
}

static void the_cause_is_the_policys_where_it_says_always(void **state)
{
    auto_scene struct scene scene;

    (void)state;
    set_scene(&scene, DESCRIBED "container check always\n", 7);
    answer_to_give.bytes = "a\0b";
    answer_to_give.size = 4;
    answer_to_give.status = EXITED(1);
    assert_int_equal(launch_check_container(&scene.launch, &scene.error), -1);
    assert_string_equal(scene.error.message, "container: a (checked because the policy says 'container check "
                                             "always')");
}

static void a_helper_that_cannot_be_run_is_the_error(void **state)
{
    auto_scene struct scene scene;

    (void)state;
    set_scene(&scene, DESCRIBED, 2);
    answer_to_give.failure = "container: it is missing";
    assert_int_equal(launch_check_container(&scene.launch, &scene.error), -1);
    assert_int_equal(scene.error.code, LAUNCH_CONTAINER);
    assert_string_equal(scene.error.message, "container: it is missing");
    assert_string_equal(scene.error.hint, "the hint");
    assert_int_equal(scene.launch.container, LAUNCH_CONTAINER_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup(name, forget_answer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_checked_on_old_abis_and_where_the_policy_says_always),
        TEST(a_policy_that_does_not_describe_it_is_refused_where_it_must_be_checked),
        TEST(places_are_described_as_they_are),
        TEST(a_place_is_allowed_where_the_rules_reach_its_root),
        TEST(every_preset_of_the_policy_reaches_the_helper),
        TEST(the_helper_gets_it_as_its_arguments),
        TEST(a_path_that_is_missing_is_an_error_at_its_place_in_the_policy),
        TEST(only_an_end_that_is_well_and_said_so_is_fine),
        TEST(findings_count_only_with_the_exit_status_that_says_so),
        TEST(an_answer_that_is_cut_short_is_a_failed_check_without_findings),
        TEST(the_cause_is_the_policys_where_it_says_always),
        TEST(a_helper_that_cannot_be_run_is_the_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
