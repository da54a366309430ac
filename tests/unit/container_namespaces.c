/*
 * lib/container/mounts.c against real mounts: each test has a child with a mount namespace and a root of its own, so that the
 * findings are those of its mounts alone and nothing is left behind.
 */
#include "container_fixture.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define NEW_ROOT "/run" /* until it is the root */
enum { USER = 1000 };

/* ---- Making mounts ---- */

static void make_directory(const char *path)
{
    must(mkdir(path, 0755) == 0);
}

static void make_file(const char *path)
{
    must(mknod(path, S_IFREG | 0644, 0) == 0);
}

/* A file system of its own; `flags` are mount(2)'s. */
static void mount_new(const char *source, const char *point, unsigned long flags)
{
    must(mount(source, point, "tmpfs", flags, "mode=0755") == 0);
}

static void make_read_only(const char *point)
{
    must(mount("", point, "", MS_REMOUNT | MS_BIND | MS_RDONLY, "") == 0);
}

static void mount_file(const char *from, const char *to, bool is_read_only)
{
    must(mount(from, to, "", MS_BIND, "") == 0);
    if (is_read_only)
        make_read_only(to);
}

/* Returns the socket, which listens. */
static int make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0);
    return fd;
}

static bool can_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
}

/* A root that has /proc, /data and /sandbox, and is still writable. */
static void enter_own_root(void)
{
    must(unshare(CLONE_NEWNS) == 0);
    must(mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0);
    mount_new("unit-root", NEW_ROOT, 0);
    make_directory(NEW_ROOT "/proc");
    make_directory(NEW_ROOT "/old");
    make_directory(NEW_ROOT "/data");
    make_directory(NEW_ROOT "/sandbox");
    must(mount("/proc", NEW_ROOT "/proc", "", MS_BIND, "") == 0);
    must(syscall(SYS_pivot_root, NEW_ROOT, NEW_ROOT "/old") == 0);
    must(chdir("/") == 0 && umount2("/old", MNT_DETACH) == 0);
}

/* ---- Checking them ---- */

/* As lib/launch looks at a path of the policy. */
static struct container_place place_of(const char *path)
{
    struct statx status;

    must(statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MNT_ID, &status) == 0);
    must(status.stx_mask & STATX_MNT_ID);
    return (struct container_place){.path = path,
                                    .mount = status.stx_mnt_id,
                                    .is_mount_point = status.stx_attributes & STATX_ATTR_MOUNT_ROOT,
                                    .is_allowed = true};
}

/* The root and what else a policy says is read-only, and what it says is writable; /proc is as the machine has it. */
static void expect(struct container_expectation *expectation, const char *const *read_only,
                   const char *const *writable)
{
    struct container_place proc = place_of("/proc");

    *expectation = (struct container_expectation){.uid = USER, .presets = CONTAINER_DOCKER};
    expect_writable(expectation, &proc);
    for (; read_only && *read_only; read_only++)
        expect_read_only(expectation, *read_only, place_of(*read_only).mount);
    for (; writable && *writable; writable++) {
        struct container_place place = place_of(*writable);

        expect_writable(expectation, &place);
    }
}

static void must_find(const char *writable, const struct wanted_finding *wanted, size_t count)
{
    const char *const read_only[] = {"/", NULL}, *const names[] = {writable, NULL};
    auto_expectation struct container_expectation expectation;
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .pid = getpid(), .findings = &findings};
    struct error error = {0};

    expect(&expectation, read_only, names);
    if (check_mounts(&check, &error) < 0)
        dprintf(CHILD_REPORT_FD, "%s\n", error.message);
    must(error.code == 0);
    must(are_found(&findings, wanted, count, "real mounts"));
}

#define MUST_FIND(writable, ...)                                      \
    must_find(writable, (const struct wanted_finding[]){__VA_ARGS__}, \
              array_size(((const struct wanted_finding[]){__VA_ARGS__})))
#define MUST_FIND_NOTHING(writable) must_find(writable, NULL, 0)
#define STRANGER(point, source) \
    point " is a writable mount that the policy does not name (tmpfs, source " source ", root /)"
#define HIDDEN(point, source) \
    point " is a writable mount, hidden under another one (tmpfs, source " source ", root /)"
#define SOCKET(point) point " is a socket: it could be connected to, whether mounted read-only or not"

static void try_own_root(const void *context)
{
    (void)context;
    enter_own_root();
}

static void in_own_root(void (*body)(const void *))
{
    static bool is_known, is_there;

    if (!is_known)
        is_there = geteuid() == 0 && run_child(try_own_root, NULL) == 0;
    is_known = true;
    need(is_there, "root who may mount");
    in_child(body, NULL);
}

/* ---- What is fine ---- */

static void nothing_but_what_is_named(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-sandbox", "/sandbox", 0);
    mount_new("unit-data", "/data", MS_RDONLY);
    make_read_only("/");
    MUST_FIND_NOTHING("/sandbox");
}

/* The file system is writable and the mount is not. */
static void read_only_by_the_mounts_option(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-data", "/data", 0);
    make_read_only("/data");
    make_read_only("/");
    MUST_FIND_NOTHING(NULL);
}

static void unmounted(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-data", "/data", 0);
    must(umount2("/data", MNT_DETACH) == 0);
    make_read_only("/");
    MUST_FIND_NOTHING(NULL);
}

static void what_is_as_it_must_be_is_fine(void **state)
{
    (void)state;
    in_own_root(nothing_but_what_is_named);
    in_own_root(read_only_by_the_mounts_option);
    in_own_root(unmounted);
}

/* ---- Writable mounts ---- */

static void directory_and_file(const void *context)
{
    (void)context;
    enter_own_root();
    make_file("/data/hosts");
    mount_new("unit sandbox", "/sandbox", 0);
    make_file("/sandbox/file");
    mount_file("/sandbox/file", "/data/hosts", false);
    make_read_only("/");
    MUST_FIND(NULL, {STRANGER("/sandbox", "unit sandbox"), "container writable /sandbox"},
              {"/data/hosts is a writable mount that the policy does not name (tmpfs, source unit sandbox, "
               "root /file)",
               "container writable /data/hosts"});
}

static void a_part_of_a_mount(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-sandbox", "/sandbox", 0);
    make_directory("/sandbox/part");
    make_read_only("/");
    MUST_FIND("/sandbox/part", {"/sandbox is a writable mount, of which /sandbox/part, which the policy "
                                "names, is only a part",
                                NULL});
}

/* Bound a second time, it is another mount. */
static void another_mount_of_the_same(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-sandbox", "/sandbox", 0);
    must(mount("/sandbox", "/data", "", MS_BIND, "") == 0);
    make_read_only("/");
    MUST_FIND("/sandbox", {STRANGER("/data", "unit-sandbox"), NULL});
}

static void strange_names(const void *context)
{
    static const char name[] = "/sandbox/a b\tc\nd\\e\\040#\xff";

    (void)context;
    enter_own_root();
    mount_new("", "/sandbox", 0);
    make_directory(name);
    make_directory("/sandbox/x (deleted)");
    mount_new("a b\\\n", name, 0);
    mount_new("#", "/sandbox/x (deleted)", 0);
    make_read_only("/");
    MUST_FIND("/sandbox", {STRANGER("/sandbox/a b\tc\nd\\e\\040#\xff", "a b\\\n"), NULL},
              {STRANGER("/sandbox/x (deleted)", "#"), NULL});
}

static void every_writable_mount_is_found(void **state)
{
    (void)state;
    in_own_root(directory_and_file);
    in_own_root(a_part_of_a_mount);
    in_own_root(another_mount_of_the_same);
    in_own_root(strange_names);
}

/* ---- Hidden mounts ---- */

static void hidden_by_a_read_only_one(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-lower", "/data", 0);
    mount_new("unit-upper", "/data", MS_RDONLY);
    make_read_only("/");
    MUST_FIND(NULL, {HIDDEN("/data", "unit-lower"), "leave out the option that mounts the one below"});
}

static void hidden_by_the_one_that_is_named(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-1", "/sandbox", 0);
    mount_new("unit-2", "/sandbox", 0);
    mount_new("unit-3", "/sandbox", 0);
    make_read_only("/");
    MUST_FIND("/sandbox", {HIDDEN("/sandbox", "unit-1"), NULL}, {HIDDEN("/sandbox", "unit-2"), NULL});
}

static void hidden_by_a_mount_above(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-lower", "/data", MS_RDONLY);
    must(mount("", "/data", "", MS_REMOUNT | MS_BIND, "") == 0);
    must(mount("", "/data", "", MS_REMOUNT, "") == 0);
    make_directory("/data/same");
    make_directory("/data/gone");
    make_directory("/data/link");
    mount_new("unit-same", "/data/same", 0);
    mount_new("unit-gone", "/data/gone", 0);
    mount_new("unit-link", "/data/link", 0);
    make_read_only("/data");
    mount_new("unit-upper", "/data", 0);
    make_directory("/data/same");
    must(symlink("/", "/data/link") == 0);
    make_read_only("/data");
    make_read_only("/");
    MUST_FIND(NULL, {HIDDEN("/data/same", "unit-same"), NULL}, {HIDDEN("/data/gone", "unit-gone"), NULL},
              {HIDDEN("/data/link", "unit-link"), NULL});
}

static void a_hidden_mount_is_found_and_said_to_be_hidden(void **state)
{
    (void)state;
    in_own_root(hidden_by_a_read_only_one);
    in_own_root(hidden_by_the_one_that_is_named);
    in_own_root(hidden_by_a_mount_above);
}

/* ---- Sockets ---- */

static void mount_socket(const char *point, bool is_read_only)
{
    make_file(point);
    make_socket("/sandbox/socket");
    mount_file("/sandbox/socket", point, is_read_only);
    must(can_connect(point));
}

static void read_only_socket(const void *context)
{
    (void)context;
    enter_own_root();
    mount_socket("/data/docker.sock", true);
    make_read_only("/");
    MUST_FIND(NULL, {SOCKET("/data/docker.sock"), "no -v or --mount on /data/docker.sock"});
}

static void writable_socket(const void *context)
{
    (void)context;
    enter_own_root();
    mount_socket("/data/docker.sock", false);
    make_read_only("/");
    MUST_FIND(NULL, {SOCKET("/data/docker.sock"), "no -v or --mount on /data/docker.sock"});
}

static void named_socket(const void *context)
{
    (void)context;
    enter_own_root();
    mount_socket("/data/docker.sock", false);
    make_read_only("/");
    MUST_FIND("/data/docker.sock", {SOCKET("/data/docker.sock"), NULL});
}

static void hidden_socket(const void *context)
{
    (void)context;
    enter_own_root();
    make_file("/sandbox/file");
    mount_socket("/data/docker.sock", true);
    mount_file("/sandbox/file", "/data/docker.sock", true);
    must(!can_connect("/data/docker.sock"));
    make_read_only("/");
    MUST_FIND_NOTHING(NULL);
}

static void hidden_by_a_socket(const void *context)
{
    (void)context;
    enter_own_root();
    make_file("/data/docker.sock");
    make_file("/sandbox/file");
    make_socket("/sandbox/socket");
    mount_file("/sandbox/file", "/data/docker.sock", true);
    mount_file("/sandbox/socket", "/data/docker.sock", true);
    must(can_connect("/data/docker.sock"));
    make_read_only("/");
    MUST_FIND(NULL, {SOCKET("/data/docker.sock"), NULL});
}

static void a_socket_that_can_be_reached_is_found(void **state)
{
    (void)state;
    in_own_root(read_only_socket);
    in_own_root(writable_socket);
    in_own_root(named_socket);
    in_own_root(hidden_socket);
    in_own_root(hidden_by_a_socket);
}

/* ---- What the user cannot search ---- */

static void become_user(void)
{
    must(setresuid(USER, USER, USER) == 0);
}

/* Of roots: the writable one is found as such, the other could be a socket. */
static void behind_a_closed_directory(const void *context)
{
    (void)context;
    enter_own_root();
    make_directory("/data/writable");
    make_directory("/data/read-only");
    mount_new("unit-writable", "/data/writable", 0);
    mount_new("unit-read-only", "/data/read-only", MS_RDONLY);
    must(chmod("/data", 0) == 0);
    make_read_only("/");
    become_user();
    MUST_FIND(NULL, {STRANGER("/data/writable", "unit-writable"), NULL},
              {"/data/read-only is a mount that cannot be looked at, and could be a socket: Permission "
               "denied",
               NULL});
}

/* Its owner closed it, and opens it again: chmod(2) is nothing that Landlock restricts. */
static void a_socket_behind_the_users_own_directory(const void *context)
{
    auto_expectation struct container_expectation expectation;
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .pid = getpid(), .findings = &findings};
    struct error error = {0};
    int result;

    (void)context;
    enter_own_root();
    mount_new("unit-sandbox", "/sandbox", 0);
    make_directory("/sandbox/own");
    make_socket("/data/socket");
    make_file("/sandbox/own/socket");
    mount_file("/data/socket", "/sandbox/own/socket", true);
    must(chmod("/data/socket", 0666) == 0 && chown("/sandbox/own", USER, USER) == 0 &&
         chmod("/sandbox/own", 0) == 0);
    expect(&expectation, NULL, (const char *const[]){"/", "/sandbox", NULL});
    become_user();
    result = check_mounts(&check, &error);
    must(!can_connect("/sandbox/own/socket"));
    must(chmod("/sandbox/own", 0700) == 0);
    must(can_connect("/sandbox/own/socket"));
    must(result < 0 || findings.count > 0);
}

static void a_writable_mount_is_found_where_the_user_cannot_search(void **state)
{
    (void)state;
    in_own_root(behind_a_closed_directory);
}

static void a_socket_is_found_where_the_user_can_let_himself_in(void **state)
{
    (void)state;
    in_own_root(a_socket_behind_the_users_own_directory);
}

/* ---- A root that is no mount ---- */

static void make_chroot(const char *root)
{
    char proc[64];

    snprintf(proc, sizeof proc, "%s/proc", root);
    make_directory(proc);
    must(mount("/proc", proc, "", MS_BIND, "") == 0);
    must(chroot(root) == 0 && chdir("/") == 0);
}

static void chroot_to_a_directory(const void *context)
{
    const char *const read_only[] = {"/", NULL};
    auto_expectation struct container_expectation expectation;
    auto_findings struct container_findings findings = {0};
    struct check check = {.expectation = &expectation, .pid = getpid(), .findings = &findings};
    const struct wanted_finding wanted[] = {
        {"/ lies on a mount that /proc/self/mountinfo does not list", "not in a chroot"}};
    struct error error = {0};

    (void)context;
    enter_own_root();
    make_chroot("/data");
    expect(&expectation, read_only, NULL);
    must(check_mounts(&check, &error) == 0);
    must(are_found(&findings, wanted, array_size(wanted), "a chroot"));
}

static void chroot_to_a_mount(const void *context)
{
    (void)context;
    enter_own_root();
    mount_new("unit-data", "/data", 0);
    make_chroot("/data");
    make_read_only("/");
    MUST_FIND_NOTHING(NULL);
}

static void a_path_on_a_mount_that_is_not_listed_is_found(void **state)
{
    (void)state;
    in_own_root(chroot_to_a_directory);
    in_own_root(chroot_to_a_mount);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_it_must_be_is_fine),
        cmocka_unit_test(every_writable_mount_is_found),
        cmocka_unit_test(a_hidden_mount_is_found_and_said_to_be_hidden),
        cmocka_unit_test(a_socket_that_can_be_reached_is_found),
        cmocka_unit_test(a_writable_mount_is_found_where_the_user_cannot_search),
        cmocka_unit_test(a_socket_is_found_where_the_user_can_let_himself_in),
        cmocka_unit_test(a_path_on_a_mount_that_is_not_listed_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
