/*
 * lib/container/findings.c: a finding says what is amiss, and which option of the runtime at hand restores it.
 */
#include "container_fixture.h"

static void check_hint(unsigned presets, enum remedy remedy, const char *hint)
{
    const struct container_expectation expectation = {.presets = presets};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .findings = &findings};

    assert_int_equal(find(&check, remedy, "/a b", "%s: %d%%", "text", 7), 0);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.items[0].message, "text: 7%");
    assert_string_equal(findings.items[0].hint, hint);
}

#define CONTAINERS_HINT " run: no -v, --mount or --tmpfs on /a\\x20b"
#define BUBBLEWRAPS_HINT "bwrap: no --bind or --tmpfs on /a\\x20b"

static void the_hint_is_for_the_runtime_that_the_policy_names(void **state)
{
    enum { D = CONTAINER_DOCKER, P = CONTAINER_PODMAN, B = CONTAINER_BUBBLEWRAP };
    static const char *const hints[] = {
        [0] = "docker" CONTAINERS_HINT,
        [D] = "docker" CONTAINERS_HINT,
        [P] = "podman" CONTAINERS_HINT,
        [D | P] = "docker run or podman" CONTAINERS_HINT,
        [B] = BUBBLEWRAPS_HINT,
        [B | D] = BUBBLEWRAPS_HINT "; docker" CONTAINERS_HINT,
        [B | P] = BUBBLEWRAPS_HINT "; podman" CONTAINERS_HINT,
        [B | D | P] = BUBBLEWRAPS_HINT "; docker run or podman" CONTAINERS_HINT,
    };

    (void)state;
    for (unsigned presets = 0; presets < array_size(hints); presets++)
        check_hint(presets, REMEDY_RUNTIME_MOUNT, hints[presets]);
}

/* Every remedy has a text for both kinds of runtime, and names its subject wherever it must be typed. */
static void every_remedy_says_what_to_do(void **state)
{
    static const struct {
        enum remedy remedy;
        const char *docker, *bubblewrap; /* parts */
    } table[] = {
        {REMEDY_USER, "docker run: --user 7:7", "bwrap: --unshare-user --uid 7 --gid 7"},
        {REMEDY_CAPABILITIES, "--cap-drop ALL, and neither --privileged nor --cap-add",
         "--cap-drop ALL, started by an ordinary user"},
        {REMEDY_READ_ONLY_ROOT, "docker run: --read-only", "--remount-ro /"},
        {REMEDY_READ_ONLY, "-v SOURCE:7:ro", "--ro-bind SOURCE 7"},
        {REMEDY_UNLISTED, "not in a chroot", "not in a chroot"},
        {REMEDY_WRITABLE, "allow write 7 and: container writable 7",
         "allow write 7 and: container writable 7"},
        {REMEDY_HIDDEN, "leave out the option that mounts the one below",
         "leave out the option that mounts the one below"},
        {REMEDY_KERNEL_MOUNT, "neither --privileged nor", "--ro-bind in place of --bind"},
        {REMEDY_SHARED_MEMORY, "neither --ipc=host nor a --tmpfs or -v on 7", "container writable 7"},
        {REMEDY_RUNTIME_MOUNT, "no -v, --mount or --tmpfs on 7", "no --bind or --tmpfs on 7"},
        {REMEDY_NOT_ALLOWED, "say in the policy: allow write 7", "say in the policy: allow write 7"},
        {REMEDY_PART, "mount 7 itself (-v DIRECTORY:7)", "--bind DIRECTORY 7"},
        {REMEDY_SOCKET, "no -v or --mount on 7", "no --bind or --ro-bind on 7"},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        const struct container_expectation docker = {.presets = CONTAINER_DOCKER},
                                           bubblewrap = {.presets = CONTAINER_BUBBLEWRAP};
        auto_findings struct container_findings findings = {0};

        assert_int_equal(
            find(&(struct check){.expectation = &docker, .findings = &findings}, table[i].remedy, "7", "x"),
            0);
        assert_int_equal(find(&(struct check){.expectation = &bubblewrap, .findings = &findings},
                              table[i].remedy, "7", "x"),
                         0);
        if (!strstr(findings.items[0].hint, table[i].docker))
            fail_msg("%s", findings.items[0].hint);
        if (!strstr(findings.items[1].hint, table[i].bubblewrap))
            fail_msg("%s", findings.items[1].hint);
        assert_null(strchr(findings.items[0].hint, '@'));
        assert_null(strchr(findings.items[1].hint, '@'));
    }
}

/* A name is not looked into again, and cannot be taken for more than a name by who pastes it. */
static void the_subject_is_put_in_as_one_word(void **state)
{
    static const char *const subjects[] = {"/@/@", "/%s%n",   "/a\nb",          "/\xff",
                                           "",     "/a /etc", "/$(reboot);#\"", "/отчёт"};
    static const char *const put_in[] = {
        "/@/@",  "/%s%n", "/a\\x0ab", "/\\xff", "", "/a\\x20/etc", "/\\$\\x28reboot\\x29\\x3b\\#\\\"",
        "/отчёт"};
    const struct container_expectation expectation = {0};

    (void)state;
    for (size_t i = 0; i < array_size(subjects); i++) {
        auto_findings struct container_findings findings = {0};
        struct check check = {.expectation = &expectation, .findings = &findings};
        char wanted[128];

        assert_int_equal(find(&check, REMEDY_SOCKET, subjects[i], "%s", subjects[i]), 0);
        snprintf(wanted, sizeof wanted, "docker run: no -v or --mount on %s", put_in[i]);
        assert_string_equal(findings.items[0].message, subjects[i]);
        assert_string_equal(findings.items[0].hint, wanted);
    }
}

static void findings_are_kept_in_their_order(void **state)
{
    enum { COUNT = 99 }; /* one more says that there are more */
    const struct container_expectation expectation = {0};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .findings = &findings};

    (void)state;
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(find(&check, REMEDY_USER, "", "%d", i), 0);
    assert_int_equal(findings.count, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(strtol(findings.items[i].message, NULL, 10), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hint_is_for_the_runtime_that_the_policy_names),
        cmocka_unit_test(every_remedy_says_what_to_do),
        cmocka_unit_test(the_subject_is_put_in_as_one_word),
        cmocka_unit_test(findings_are_kept_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
