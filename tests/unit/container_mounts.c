/*
 * lib/container/mounts.c and presets.c against mounts as the runtimes make them, recorded from /proc/self/mountinfo in
 * containers of theirs: mountinfo/.
 */
#include "recorded_mounts.h"

#include <sys/stat.h>

enum { MOST_FINDINGS = 16 };

#define DOCKER CONTAINER_DOCKER
#define PODMAN CONTAINER_PODMAN
#define BUBBLEWRAP CONTAINER_BUBBLEWRAP

/* What interpreter.policy says: / and its script read-only, /tmp and /sandbox writable and allowed. */
static void expect_as_the_policy(struct container_expectation *expectation)
{
    static const char *const read_only[] = {"/", "/opt/main.py"}, *const writable[] = {"/tmp", "/sandbox"};

    for (size_t i = 0; i < array_size(read_only); i++)
        expect_read_only(expectation, read_only[i], recorded_mount(read_only[i]));
    for (size_t i = 0; i < array_size(writable); i++) {
        const struct container_place place = {writable[i], recorded_mount(writable[i]),
                                              is_recorded_point(writable[i]), true};

        expect_writable(expectation, &place);
    }
}

/* Checks the recording in use. */
static void assert_findings(const struct container_expectation *expectation,
                            const struct wanted_finding wanted[static MOST_FINDINGS], const char *name)
{
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = expectation, .findings = &findings};
    struct error error = {0};
    size_t count = 0;

    while (count < MOST_FINDINGS && wanted[count].message)
        count++;
    if (check_mounts(&check, &error) < 0)
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(error.code, 0);
    assert_true(are_found(&findings, wanted, count, name));
}

struct recorded {
    const char *name;
    unsigned presets;
    struct wanted_finding wanted[MOST_FINDINGS];
};

static void check_recorded(const struct recorded *row)
{
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = row->presets};

    use_recording(row->name);
    expect_as_the_policy(&expectation);
    assert_findings(&expectation, row->wanted, row->name);
}

static void the_standard_configurations_are_fine(void **state)
{
    static const struct recorded table[] = {
        {"docker", DOCKER, {{0}}},
        {"docker", DOCKER | BUBBLEWRAP, {{0}}},
        {"docker", PODMAN, {{0}}},
        {"docker-terminal", DOCKER, {{0}}},
        {"docker-init", DOCKER, {{0}}},
        {"docker-cgroupns-private", DOCKER, {{0}}},
        {"docker-ipc-none", DOCKER, {{0}}},
        {"docker-remap", DOCKER, {{0}}},
        {"docker-remap-terminal-init", DOCKER, {{0}}},
        {"docker-remap-host", DOCKER, {{0}}},
        {"podman", PODMAN, {{0}}},
        {"podman-terminal", PODMAN, {{0}}},
        {"bubblewrap", BUBBLEWRAP, {{0}}},
        {"bubblewrap-terminal", BUBBLEWRAP, {{0}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_recorded(&table[i]);
}

/* ---- Departures ---- */

#define STRANGER(point, type, source, root) \
    point " is a writable mount that the policy does not name (" type ", source " source ", root " root ")"
#define HIDDEN(point, type, source, root) \
    point " is a writable mount, hidden under another one (" type ", source " source ", root " root ")"
#define NOT_THE_RUNTIMES(point, type, source, root)                                          \
    point " is a writable mount, but not the one that the runtime itself makes there (" type \
          ", source " source ", root " root ")"
#define IN_STORAGE(file) "/run/containers/storage/vfs-containers/4f1c07d2a9be/userdata/" file
#define NO_PRIVILEGES "docker run: neither --privileged nor --security-opt systempaths=unconfined"
#define NO_SHARED_MEMORY "run: neither --ipc=host nor a --tmpfs or -v on /dev/shm; --shm-size sets its size"

static void dockers_departures_are_found_with_the_option_that_restores_it(void **state)
{
    static const struct recorded table[] = {
        {"docker-bare", DOCKER, {{0}}}, /* no tmpfs on /tmp, no mount of the script: all of it is read-only */
        {"docker-not-read-only",
         DOCKER,
         {{"/ must be read-only, and is mounted writable", "docker run: --read-only"},
          {"/opt/main.py must be read-only, and lies on /, which is mounted writable", "--read-only"},
          {STRANGER("/etc/resolv.conf", "ext4", "/dev/vda",
                    "/var/lib/docker/containers/4f1c07d2a9be/resolv.conf"),
           "docker run: "},
          {STRANGER("/etc/hostname", "ext4", "/dev/vda", "/var/lib/docker/containers/4f1c07d2a9be/hostname"),
           "docker run: "},
          {STRANGER("/etc/hosts", "ext4", "/dev/vda", "/var/lib/docker/containers/4f1c07d2a9be/hosts"),
           "docker run: "}}},
        {"docker-ipc-host",
         DOCKER,
         {{NOT_THE_RUNTIMES("/dev/shm", "tmpfs", "tmpfs", "/"), "docker " NO_SHARED_MEMORY}}},
        {"docker-tmpfs-on-shm",
         DOCKER,
         {{NOT_THE_RUNTIMES("/dev/shm", "tmpfs", "tmpfs", "/"), "docker " NO_SHARED_MEMORY}}},
        {"docker-privileged", DOCKER, {{STRANGER("/sys", "sysfs", "sysfs", "/"), NO_PRIVILEGES}}},
        {"docker-departures",
         DOCKER,
         {{STRANGER("/data/hidden dir\\x", "ext4", "/dev/vda", "/srv/data"), "allow write "
                                                                             "/data/hidden\\x20dir\\\\x "
                                                                             "and: container writable "
                                                                             "/data/hidden\\x20dir\\\\x"},
          {NOT_THE_RUNTIMES("/dev/mqueue", "ext4", "/dev/vda", "/srv/chats/one"), "docker run: no -v, "
                                                                                  "--mount or --tmpfs on "
                                                                                  "/dev/mqueue"},
          {STRANGER("/opt/extra", "tmpfs", "tmpfs", "/"), "leave out what mounts it (-v, --mount, --tmpfs"}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_recorded(&table[i]);
}

/* Without --read-only they are writable, and with it they are not: nothing else of Docker's changes that. */
static void what_docker_mounts_in_etc_is_restored_by_read_only(void **state)
{
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = DOCKER};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .findings = &findings};
    struct error error;

    (void)state;
    use_recording("docker-not-read-only");
    expect_as_the_policy(&expectation);
    assert_int_equal(check_mounts(&check, &error), 0);
    assert_int_equal(findings.count, 5);
    for (size_t i = 0; i < findings.count; i++)
        if (!strstr(findings.items[i].hint, "--read-only"))
            fail_msg("%s\n  hint: %s", findings.items[i].message, findings.items[i].hint);
}

static void podmans_and_bubblewraps_departures_are_found_likewise(void **state)
{
    static const struct recorded table[] = {
        {"podman-no-tmpfs", PODMAN, {{0}}},
        {"podman-not-read-only",
         PODMAN,
         {{"/ must be read-only, and is mounted writable", "podman run: --read-only"},
          {"/opt/main.py must be read-only, and lies on /, which is mounted writable", "--read-only"},
          {STRANGER("/etc/hosts", "ext4", "/dev/vda", IN_STORAGE("hosts")), "podman run: "},
          {STRANGER("/run/.containerenv", "ext4", "/dev/vda", IN_STORAGE(".containerenv")), "podman run: "},
          {STRANGER("/etc/hostname", "ext4", "/dev/vda", IN_STORAGE("hostname")), "podman run: "}}},
        {"podman-ipc-host",
         PODMAN,
         {{NOT_THE_RUNTIMES("/dev/shm", "tmpfs", "tmpfs", "/"), "podman " NO_SHARED_MEMORY}}},
        {"bubblewrap-root-writable",
         BUBBLEWRAP,
         {{"/ must be read-only, and is mounted writable", "bwrap: --remount-ro /"},
          {"/opt/main.py must be read-only, and lies on /, which is mounted writable", "bwrap: --ro-bind "
                                                                                       "SOURCE "
                                                                                       "/opt/main.py"}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_recorded(&table[i]);
}

/* One runtime's own mounts are not another's. */
static void a_preset_that_is_not_named_knows_nothing(void **state)
{
    static const struct recorded table[] = {
        {"podman",
         DOCKER,
         {{STRANGER("/run", "tmpfs", "tmpfs", "/"), "docker run: leave out what mounts it"},
          {STRANGER("/var/tmp", "tmpfs", "tmpfs", "/"), "docker run: leave out what mounts it"}}},
        {"docker",
         BUBBLEWRAP,
         {{STRANGER("/sys/fs/cgroup", "tmpfs", "tmpfs", "/"), "bwrap: "},
          {STRANGER("/dev/shm", "tmpfs", "shm", "/"), "bwrap: leave it out"},
          {STRANGER("/proc/keys", "tmpfs", "tmpfs", "/null"), "bwrap: "},
          {STRANGER("/proc/timer_list", "tmpfs", "tmpfs", "/null"), "bwrap: "}}},
        {"bubblewrap-terminal",
         0,
         {{STRANGER("/proc", "proc", "proc", "/"), NULL},
          {STRANGER("/dev", "tmpfs", "tmpfs", "/"), NULL},
          {STRANGER("/dev/null", "devtmpfs", "devtmpfs", "/null"), NULL},
          {STRANGER("/dev/zero", "devtmpfs", "devtmpfs", "/zero"), NULL},
          {STRANGER("/dev/full", "devtmpfs", "devtmpfs", "/full"), NULL},
          {STRANGER("/dev/random", "devtmpfs", "devtmpfs", "/random"), NULL},
          {STRANGER("/dev/urandom", "devtmpfs", "devtmpfs", "/urandom"), NULL},
          {STRANGER("/dev/tty", "devtmpfs", "devtmpfs", "/tty"), NULL},
          {STRANGER("/dev/pts", "devpts", "devpts", "/"), NULL},
          {STRANGER("/dev/console", "devpts", "devpts", "/0"), NULL}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_recorded(&table[i]);
}

/* ---- One mount more, in Docker's standard configuration ---- */

struct added {
    const char *lines;
    struct wanted_finding wanted[MOST_FINDINGS];
    struct recorded_sight sights[2];
};

static void check_added(const struct added *row)
{
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = DOCKER};

    use_recording("docker");
    expect_as_the_policy(&expectation);
    add_to_recording(row->lines);
    use_sights(row->sights, array_size(row->sights));
    assert_findings(&expectation, row->wanted, row->lines);
}

static void check_each_added(const struct added *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_added(&table[i]);
}

static void a_mount_is_read_only_by_its_own_option(void **state)
{
    static const struct added table[] = {
        {.lines = "900 112 8:1 /srv /data ro,relatime - ext4 /dev/sda1 rw\n"},
        {.lines = "900 112 8:1 /srv /data nosuid,nodev,ro - ext4 /dev/sda1 rw\n"},
        {.lines = "900 112 8:1 /srv /data ro shared:1 master:2 propagate_from:3 - ext4 /dev/sda1 rw\n"},
        {.lines = "900 112 8:1 /srv /data rw,relatime - ext4 /dev/sda1 ro\n",
         .wanted = {{STRANGER("/data", "ext4", "/dev/sda1", "/srv"), "mount it read-only (:ro)"}}},
        {.lines = "900 112 8:1 / /data rw,noatime shared:1 - fuse.sshfs u@h:/x rw\n",
         .wanted = {{STRANGER("/data", "fuse.sshfs", "u@h:/x", "/"), NULL}}},
        {.lines = "900 112 8:1 / /data relatime - ext4 /dev/sda1 ro,norecovery\n",
         .wanted = {{STRANGER("/data", "ext4", "/dev/sda1", "/"), NULL}}},
        {.lines = "900 112 8:1 / /data rwx,roo,oro,r - ext4 /dev/sda1 ro\n",
         .wanted = {{STRANGER("/data", "ext4", "/dev/sda1", "/"), NULL}}},
    };

    (void)state;
    check_each_added(table, array_size(table));
}

static void names_are_told_as_they_are(void **state)
{
    static const struct added table[] = {
        {.lines = "900 112 8:1 /a\\040b /c\\040d\\011e\\012f\\134g rw - ext4 s\\040t rw\n",
         .wanted = {{STRANGER("/c d\te\nf\\g", "ext4", "s t", "/a b"), "allow write "
                                                                       "/c\\x20d\\x09e\\x0af\\\\g and: "
                                                                       "container writable "
                                                                       "/c\\x20d\\x09e\\x0af\\\\g"}}},
        {.lines = "900 112 8:1 / /\\134040 rw - ext4 s rw\n",
         .wanted = {{STRANGER("/\\040", "ext4", "s", "/"), NULL}}},
        {.lines = "900 112 8:1 /x//deleted /data rw - ext4 s rw\n",
         .wanted = {{STRANGER("/data", "ext4", "s", "/x//deleted"), NULL}}},
        {.lines = "900 112 8:1 / /x\\040(deleted) rw - ext4 s rw\n",
         .wanted = {{STRANGER("/x (deleted)", "ext4", "s", "/"), NULL}}},
        {.lines = "900 112 8:1 / /data rw - ext4  rw\n",
         .wanted = {{STRANGER("/data", "ext4", "", "/"), NULL}}},
        {.lines = "900 112 8:1 / /data rw - ext4 LABEL=a rw\n",
         .wanted = {{STRANGER("/data", "ext4", "LABEL=a", "/"), NULL}}},
        {.lines = "900 112 8:1 / /a@b rw - ext4 @ rw\n",
         .wanted = {{STRANGER("/a@b", "ext4", "@", "/"), "allow write /a@b and"}}},
        {.lines = "900 112 8:1 / /\xd1\x84\xff rw - ext4 s rw\n",
         .wanted = {{STRANGER("/\xd1\x84\xff", "ext4", "s", "/"), NULL}}},
    };

    (void)state;
    check_each_added(table, array_size(table));
}

/* The runtime's own, and what stands in the same place and is not. */
static void what_is_mounted_over_a_runtimes_mount_is_found_and_what_is_hidden_too(void **state)
{
    static const struct added table[] = {
        {.lines = "900 116 8:1 /x /sandbox rw - ext4 /dev/sda1 rw\n",
         .wanted = {{STRANGER("/sandbox", "ext4", "/dev/sda1", "/x"), NULL}}},
        {.lines = "900 116 8:1 /x /data rw - ext4 /dev/sda1 rw\n"
                  "901 900 8:1 /y /data ro - ext4 /dev/sda1 rw\n",
         .wanted = {{HIDDEN("/data", "ext4", "/dev/sda1", "/x"), "docker run: leave out the option that "
                                                                 "mounts the one below"}}},
        {.lines = "900 116 8:1 /x /data rw - ext4 /dev/sda1 rw\n"
                  "901 900 8:1 /y /data rw - ext4 /dev/sda1 rw\n",
         .wanted = {{HIDDEN("/data", "ext4", "/dev/sda1", "/x"), "docker run: leave out the option that "
                                                                 "mounts the one below"},
                    {STRANGER("/data", "ext4", "/dev/sda1", "/y"), NULL}}},
        {.lines = "900 116 8:1 /x /dev/mqueue rw - ext4 /dev/sda1 rw\n"
                  "901 900 0:42 / /dev/mqueue rw - mqueue mqueue rw\n",
         .wanted = {{HIDDEN("/dev/mqueue", "ext4", "/dev/sda1", "/x"), "leave out the option that mounts the "
                                                                       "one below"}}},
        {.lines = "900 113 8:1 /null /proc/kcore rw - ext4 /dev/sda1 rw\n",
         .wanted = {{NOT_THE_RUNTIMES("/proc/kcore", "ext4", "/dev/sda1", "/null"), NULL}}},
        {.lines = "900 114 0:6 / /dev rw - devtmpfs udev rw\n",
         .wanted = {{NOT_THE_RUNTIMES("/dev", "devtmpfs", "udev", "/"), NULL}}},
        {.lines = "900 113 0:43 /sys /proc/sys rw - proc proc rw\n",
         .wanted = {{NOT_THE_RUNTIMES("/proc/sys", "proc", "proc", "/sys"), NULL}}},
        {.lines = "900 116 0:30 / /sys/kernel/debug rw - debugfs debugfs rw\n",
         .wanted = {{STRANGER("/sys/kernel/debug", "debugfs", "debugfs", "/"), NO_PRIVILEGES}}},
    };

    (void)state;
    check_each_added(table, array_size(table));
}

#define SOCKET(point) point " is a socket: it could be connected to, whether mounted read-only or not"

static void a_socket_is_found_read_only_or_not(void **state)
{
    static const struct added table[] = {
        {.lines = "900 112 0:9 /docker.sock /run/docker.sock ro - tmpfs tmpfs rw\n",
         .sights = {{.path = "/run/docker.sock", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/run/docker.sock"), "docker run: no -v or --mount on /run/docker.sock"}}},
        {.lines = "900 112 0:9 /docker.sock /run/docker.sock rw - tmpfs tmpfs rw\n",
         .sights = {{.path = "/run/docker.sock", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/run/docker.sock"), "no -v or --mount on /run/docker.sock"}}},
        {.lines = "900 112 0:9 /a /a\\040b ro - tmpfs tmpfs rw\n",
         .sights = {{.path = "/a b", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/a b"), "no -v or --mount on /a\\x20b"}}},
        {.lines = "900 112 0:9 /s /run/s ro - tmpfs tmpfs rw\n",
         .sights = {{.path = "/run/s", .type = S_IFSOCK, .has_no_mount = true}},
         .wanted = {{SOCKET("/run/s"), NULL}}},
        {.lines = "900 112 0:9 /null /dev/zero rw - devtmpfs udev rw\n", /* a known point */
         .sights = {{.path = "/dev/zero", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/dev/zero"), NULL}}},
        {.lines = "", /* a mount that the policy names */
         .sights = {{.path = "/sandbox", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/sandbox"), NULL}}},
        /* The socket of another mount is that mount's finding. */
        {.lines = "900 112 0:9 /s /run/s ro - tmpfs tmpfs rw\n"
                  "901 900 0:9 /t /run/s ro - tmpfs tmpfs rw\n",
         .sights = {{.path = "/run/s", .type = S_IFSOCK}},
         .wanted = {{SOCKET("/run/s"), NULL}}},
        {.lines = "900 112 0:9 /f /run/s ro - tmpfs tmpfs rw\n",
         .sights = {{"/run/s", S_IFREG, 0, 0, false}}},
        {.lines = "900 112 0:9 /f /run/s ro - tmpfs tmpfs rw\n",
         .sights = {{"/run/s", S_IFIFO, 0, 0, false}}},
    };

    (void)state;
    check_each_added(table, array_size(table));
}

static void what_the_program_cannot_reach_is_found_where_it_is_writable(void **state)
{
    static const int faults[] = {EACCES, ENOENT, ENOTDIR};

    (void)state;
    for (size_t i = 0; i < array_size(faults); i++) {
        const char *message = faults[i] == EACCES ? STRANGER("/data", "ext4", "/dev/sda1", "/")
                                                  : HIDDEN("/data", "ext4", "/dev/sda1", "/");
        const struct added writable = {.lines = "900 112 8:1 / /data rw - ext4 /dev/sda1 rw\n",
                                       .sights = {{.path = "/data", .fault = faults[i]}},
                                       .wanted = {{message, NULL}}},
                           read_only = {.lines = "900 112 8:1 / /data ro - ext4 /dev/sda1 rw\n",
                                        .sights = {{.path = "/data", .fault = faults[i]}}};

        check_added(&writable);
        if (faults[i] != EACCES)
            check_added(&read_only);
    }
}

/* Its directory may be the user's own, who opens it again. */
static void what_the_user_may_not_look_at_is_found(void **state)
{
    static const struct added read_only = {.lines = "900 112 8:1 / /data ro - ext4 /dev/sda1 rw\n",
                                           .sights = {{.path = "/data", .fault = EACCES}},
                                           .wanted = {{"/data is a mount that cannot be looked at, and could "
                                                       "be a socket: Permission denied",
                                                       "no -v or --mount on /data"}}};

    (void)state;
    check_added(&read_only);
}

static void what_cannot_be_looked_at_is_found(void **state)
{
    static const int faults[] = {EIO, ELOOP, ENOMEM, ENAMETOOLONG, ESTALE, EPERM};

    (void)state;
    for (size_t i = 0; i < array_size(faults); i++) {
        const struct recorded_sight sight = {.path = "/sys/firmware", .fault = faults[i]};
        auto_expectation struct container_expectation expectation = {.presets = DOCKER};
        auto_findings struct container_findings findings = {0};
        struct check check = {.expectation = &expectation, .findings = &findings};
        struct error error;
        char wanted[160];

        use_recording("docker");
        use_sights(&sight, 1);
        expect_as_the_policy(&expectation);
        assert_int_equal(check_mounts(&check, &error), 0);
        snprintf(wanted, sizeof wanted,
                 "/sys/firmware is a mount that cannot be looked at, and could be a socket: %s",
                 strerror(faults[i]));
        assert_int_equal(findings.count, 1);
        assert_string_equal(findings.items[0].message, wanted);
    }
}

/* The mounts of control groups of version 2, as Docker makes them (runc: type cgroup2, source cgroup). */
static void docker_on_control_groups_of_version_2(const char *options, unsigned presets,
                                                  const struct wanted_finding wanted[static MOST_FINDINGS])
{
    auto_expectation struct container_expectation expectation = {.uid = 1000, .presets = presets};
    char line[256];

    use_recording("docker");
    drop_from_recording("/sys/fs/cgroup");
    snprintf(line, sizeof line, "900 116 0:26 / /sys/fs/cgroup %s,nosuid,nodev,noexec - cgroup2 cgroup rw\n",
             options);
    add_to_recording(line);
    expect_as_the_policy(&expectation);
    assert_findings(&expectation, wanted, line);
}

static void control_groups_of_version_2_are_fine(void **state)
{
    static const struct wanted_finding none[MOST_FINDINGS];

    (void)state;
    docker_on_control_groups_of_version_2("ro", DOCKER, none);
    docker_on_control_groups_of_version_2("ro", PODMAN, none);
}

/* Docker takes `ro` from them there, of either version: moby's oci_linux.go. */
static void control_groups_of_version_2_are_fine_where_users_are_remapped(void **state)
{
    static const struct wanted_finding none[MOST_FINDINGS];

    (void)state;
    docker_on_control_groups_of_version_2("rw", DOCKER, none);
}

/* ---- What the policy names ---- */

struct named {
    struct container_place places[3];
    struct wanted_finding wanted[MOST_FINDINGS];
};

static void check_named(const struct named *row)
{
    auto_expectation struct container_expectation expectation = {.presets = DOCKER};

    use_text("100 1 0:1 / / ro - overlay overlay rw\n"
             "101 100 8:1 /srv /sandbox rw - ext4 /dev/sda1 rw\n"
             "102 101 8:1 /in /sandbox/in rw - ext4 /dev/sda1 rw\n"
             "103 100 8:1 /ro /data ro - ext4 /dev/sda1 rw\n");
    for (size_t i = 0; i < array_size(row->places) && row->places[i].path; i++)
        expect_writable(&expectation, &row->places[i]);
    assert_findings(&expectation, row->wanted, row->places[0].path);
}

#define UNNAMED_OUTER STRANGER("/sandbox", "ext4", "/dev/sda1", "/srv")
#define UNNAMED_INNER STRANGER("/sandbox/in", "ext4", "/dev/sda1", "/in")
#define NOT_ALLOWED \
    " is a writable mount that the policy names, but does not let the program write and truncate as a whole"

static void a_named_mount_is_named_itself_and_wholly_allowed(void **state)
{
    static const struct named table[] = {
        {{{"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, true}}, {{0}}},
        {{{"/sandbox/in", 102, true, true}, {"/sandbox", 101, true, true}}, {{0}}},
        {{{"/sandbox", 101, true, true}}, {{UNNAMED_INNER, "container writable /sandbox/in"}}},
        {{{"/sandbox/in", 102, true, true}}, {{UNNAMED_OUTER, "container writable /sandbox"}}},
        {{{0}}, {{UNNAMED_OUTER, NULL}, {UNNAMED_INNER, NULL}}},
        {{{"/sandbox", 101, true, false}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox" NOT_ALLOWED, "say in the policy: allow write /sandbox"}}},
        {{{"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, false}},
         {{"/sandbox/in" NOT_ALLOWED, "say in the policy: allow write /sandbox/in"}}},
        {{{"/sandbox/x", 101, false, true}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox is a writable mount, of which /sandbox/x, which the policy names, is only a part",
           "docker run: mount /sandbox/x itself (-v DIRECTORY:/sandbox/x)"}}},
        {{{"/sandbox/x", 101, false, false}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox is a writable mount, of which /sandbox/x, which the policy names, is only a part",
           NULL}}},
        /* the mount itself counts, whichever was named first */
        {{{"/sandbox/x", 101, false, true}, {"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, true}},
         {{0}}},
        {{{"/sandbox", 101, true, true}, {"/sandbox/x", 101, false, true}, {"/sandbox/in", 102, true, true}},
         {{0}}},
        {{{"/sandbox", 101, true, false}, {"/sandbox/x", 101, false, true}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox" NOT_ALLOWED, NULL}}},
        /* what is read-only may be named, and a mount that is not there as well */
        {{{"/data", 103, true, true}, {"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, true}},
         {{0}}},
        {{{"/", 100, true, false}, {"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, true}}, {{0}}},
        {{{"/gone", 999, true, true}, {"/sandbox", 101, true, true}, {"/sandbox/in", 102, true, true}},
         {{"/gone lies on a mount that /proc/self/mountinfo does not list", "not in a chroot"}}},
        /* its number alone says which it is */
        {{{"/sandbox", 999, true, true}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox lies on a mount that /proc/self/mountinfo does not list", NULL}, {UNNAMED_OUTER, NULL}}},
        {{{"/sandbox", UINT64_C(0x100000065), true, true}, {"/sandbox/in", 102, true, true}},
         {{"/sandbox lies on a mount that /proc/self/mountinfo does not list", NULL}, {UNNAMED_OUTER, NULL}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++)
        check_named(&table[i]);
}

struct read_only {
    const char *path;
    uint64_t mount;
    struct wanted_finding wanted[MOST_FINDINGS];
};

static void a_read_only_path_lies_on_a_mount_that_is_listed_and_read_only(void **state)
{
    static const struct read_only table[] = {
        {"/", 100, {{0}}},
        {"/usr/bin", 100, {{0}}},
        {"/data/x", 103, {{0}}},
        {"/data",
         101,
         {{"/data must be read-only, and lies on /sandbox, which is mounted writable", "-v "
                                                                                       "SOURCE:/data:ro"}}},
        {"/sandbox", 101, {{"/sandbox must be read-only, and is mounted writable", "-v SOURCE:/sandbox:ro"}}},
        {"/x",
         7,
         {{"/x lies on a mount that /proc/self/mountinfo does not list", "not in a chroot"},
          {STRANGER("/sandbox", "tmpfs", "tmpfs", "/"), NULL}}},
        {"/",
         0,
         {{"/ lies on a mount that /proc/self/mountinfo does not list", "not in a chroot"},
          {STRANGER("/sandbox", "tmpfs", "tmpfs", "/"), NULL}}},
    };

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        auto_expectation struct container_expectation expectation = {.presets = DOCKER};
        bool names_sandbox = table[i].mount != 7 && table[i].mount != 0;
        const struct container_place sandbox = {"/sandbox", 101, true, true};

        use_text("100 1 0:1 / / ro - overlay overlay rw\n101 100 0:2 / /sandbox rw - tmpfs tmpfs rw\n"
                 "103 100 0:3 / /data ro - tmpfs tmpfs rw\n");
        expect_read_only(&expectation, table[i].path, table[i].mount);
        if (names_sandbox)
            expect_writable(&expectation, &sandbox);
        assert_findings(&expectation, table[i].wanted, table[i].path);
    }
}

/* ---- What cannot be read ---- */

static void assert_cannot_be_read(const char *name)
{
    const struct container_expectation expectation = {.presets = DOCKER};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .findings = &findings};
    struct error error = {0};

    if (check_mounts(&check, &error) != -1)
        fail_msg("'%s' was read, with %zu findings", name, findings.count);
    assert_int_equal(error.code, CONTAINER_ERROR);
    assert_string_equal(error.message, "/proc/self/mountinfo: cannot be read");
    assert_int_equal(findings.count, 0);
}

static void a_path_that_is_named_twice_is_told_once(void **state)
{
    auto_expectation struct container_expectation expectation = {.presets = DOCKER};
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .findings = &findings};
    struct error error;

    (void)state;
    use_text("100 1 0:1 / / rw - overlay overlay rw\n");
    expect_read_only(&expectation, "/", 100);
    expect_read_only(&expectation, "/", 100);
    assert_int_equal(check_mounts(&check, &error), 0);
    assert_int_equal(findings.count, 1);
}

/* A line that is passed over might be the one that matters. */
static void a_line_that_cannot_be_understood_is_an_error_wherever_it_stands(void **state)
{
    static const char good[] = "70 44 0:39 / / ro,nosuid - tmpfs tmpfs rw\n";
    static const char *const table[] = {
        "x\n",
        "71\n",
        "71 70\n",
        "71 70 0:40\n",
        "71 70 0:40 / /x\n",
        "71 70 0:40 / /x rw\n",
        "71 70 0:40 / /x rw - tmpfs\n",
        "71 70 0:40 / /x rw,nosuid tmpfs tmpfs rw\n",
        "71 70 040 / /x rw - tmpfs tmpfs rw\n",
        "x1 70 0:40 / /x rw - tmpfs tmpfs rw\n",
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < array_size(table); i++) {
        snprintf(text, sizeof text, "%s%s", good, table[i]);
        use_text(text);
        assert_cannot_be_read(text);
        snprintf(text, sizeof text, "%s%s%s", good, table[i], good);
        use_text(text);
        assert_cannot_be_read(text);
        use_text(table[i]);
        assert_cannot_be_read(table[i]);
    }
}

static void without_lines_nothing_is_fine(void **state)
{
    (void)state;
    use_text("");
    assert_cannot_be_read("");
    use_text("\n");
    assert_cannot_be_read("\n");
    use_text("# 70 44 0:39 / / ro - tmpfs tmpfs rw\n");
    assert_cannot_be_read("a comment");
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    static const int results[] = {-ENOENT, -EACCES, -ENOMEM, -EIO, 1};

    (void)state;
    for (size_t i = 0; i < array_size(results); i++) {
        use_recording("docker");
        fail_reading(results[i]);
        assert_cannot_be_read(strerror(-results[i]));
    }
}

static void long_lines_are_read_whole(void **state)
{
    enum { LENGTH = 20000 };
    static char lines[2 * LENGTH], option[LENGTH];
    auto_expectation struct container_expectation expectation = {.presets = DOCKER};
    static const struct wanted_finding wanted[MOST_FINDINGS] = {
        {STRANGER("/data", "overlay", "overlay", "/"), NULL}, {STRANGER("/after", "ext4", "s", "/"), NULL}};

    (void)state;
    memset(option, 'x', LENGTH - 1);
    snprintf(lines, sizeof lines,
             "900 112 8:1 / /data rw - overlay overlay rw,lowerdir=%s\n901 112 8:1 / /after rw - ext4 s rw\n",
             option);
    use_recording("docker");
    add_to_recording(lines);
    expect_as_the_policy(&expectation);
    assert_findings(&expectation, wanted, "long lines");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standard_configurations_are_fine),
        cmocka_unit_test(dockers_departures_are_found_with_the_option_that_restores_it),
        cmocka_unit_test(what_docker_mounts_in_etc_is_restored_by_read_only),
        cmocka_unit_test(podmans_and_bubblewraps_departures_are_found_likewise),
        cmocka_unit_test(a_preset_that_is_not_named_knows_nothing),
        cmocka_unit_test(a_mount_is_read_only_by_its_own_option),
        cmocka_unit_test(names_are_told_as_they_are),
        cmocka_unit_test(what_is_mounted_over_a_runtimes_mount_is_found_and_what_is_hidden_too),
        cmocka_unit_test(a_socket_is_found_read_only_or_not),
        cmocka_unit_test(what_the_program_cannot_reach_is_found_where_it_is_writable),
        cmocka_unit_test(what_the_user_may_not_look_at_is_found),
        cmocka_unit_test(what_cannot_be_looked_at_is_found),
        cmocka_unit_test(control_groups_of_version_2_are_fine),
        cmocka_unit_test(control_groups_of_version_2_are_fine_where_users_are_remapped),
        cmocka_unit_test(a_named_mount_is_named_itself_and_wholly_allowed),
        cmocka_unit_test(a_read_only_path_lies_on_a_mount_that_is_listed_and_read_only),
        cmocka_unit_test(a_path_that_is_named_twice_is_told_once),
        cmocka_unit_test(a_line_that_cannot_be_understood_is_an_error_wherever_it_stands),
        cmocka_unit_test(without_lines_nothing_is_fine),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(long_lines_are_read_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
