/*
 * launch_grants(): what it tells beforehand, and that the kernel's own answer is the same.
 */
#include "child.h"
#include "launch/internal.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define READ POLICY_READ_FILE
#define WRITE POLICY_FS(1)
#define LIST POLICY_READ_DIR
#define HANDLED (POLICY_EXECUTE | WRITE | READ | LIST)

/* The tree, made anew for each test: directories end in '/'. A test's paths are below `top`. */
static const char *const tree[] = {"a/", "a/b/", "a/b/file", "a/other", "c/", "c/mount/", "c/mounted"};

struct scene {
    char top[PATH_MAX];
};

static const char *below(const struct scene *scene, const char *path, char out[static PATH_MAX])
{
    if (path[0] == '/')
        snprintf(out, PATH_MAX, "%s", path);
    else
        snprintf(out, PATH_MAX, "%.*s/%s", PATH_MAX / 2, scene->top, path);
    return out;
}

static int make_scene(void **state)
{
    static struct scene scene;
    char template[] = "/tmp/unit-grants-XXXXXX", path[PATH_MAX];

    scene = (struct scene){0};
    assert_non_null(mkdtemp(template));
    assert_non_null(realpath(template, scene.top));
    for (size_t i = 0; i < array_size(tree); i++) {
        below(&scene, tree[i], path);
        if (path[strlen(path) - 1] == '/')
            assert_int_equal(mkdir(path, 0700), 0);
        else
            close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    *state = &scene;
    return 0;
}

static int remove_scene(void **state)
{
    const struct scene *scene = *state;
    char path[PATH_MAX];

    for (size_t i = array_size(tree); i > 0; i--) {
        below(scene, tree[i - 1], path);
        umount2(path, MNT_DETACH);
        remove(path);
    }
    return rmdir(scene->top);
}

/* ---- One question, asked of launch_grants() and of the kernel ---- */

enum { MOST_GRANTS = 4 };

struct question {
    const char *path;
    policy_rights rights;
    struct {
        const char *path;
        policy_rights rights;
    } grants[MOST_GRANTS];
    bool is_granted;
};

static bool ask(const struct scene *scene, const struct question *question, policy_rights handled)
{
    struct launch_grant grants[MOST_GRANTS];
    struct launch launch = {.handled = handled, .grants = grants};
    char path[PATH_MAX];
    struct stat status;

    for (size_t i = 0; i < MOST_GRANTS && question->grants[i].path; i++) {
        assert_int_equal(stat(below(scene, question->grants[i].path, path), &status), 0);
        grants[launch.grant_count++] =
            (struct launch_grant){status.st_dev, status.st_ino, 0, question->grants[i].rights, NULL};
    }
    return launch_grants(&launch, below(scene, question->path, path), question->rights);
}

/* Opens the file as the rights in question allow. */
static int open_with(const char *path, policy_rights rights)
{
    int flags = !(rights & WRITE) ? O_RDONLY : rights & READ ? O_RDWR : O_WRONLY;

    return open(path, flags | O_CLOEXEC);
}

/* In a child: 0 allowed, 1 denied, 2 no Landlock. */
static int try_inside(const struct scene *scene, const struct question *question)
{
    struct landlock_access handled = {.fs = HANDLED};
    struct error error;
    char path[PATH_MAX];
    int ruleset = landlock_create(&handled, &error);

    for (size_t i = 0; i < MOST_GRANTS && question->grants[i].path; i++) {
        int fd = open(below(scene, question->grants[i].path, path), O_PATH | O_CLOEXEC);

        if (landlock_allow_path(ruleset, fd, question->grants[i].rights) < 0)
            return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_restrict(ruleset, 1, false, &error) < 0)
        return 2;
    if (open_with(below(scene, question->path, path), question->rights) >= 0)
        return 0;
    return errno == EACCES ? 1 : 3;
}

static int ask_kernel(const struct scene *scene, const struct question *question)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(try_inside(scene, question));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool has_landlock(void)
{
    struct error error;

    return landlock_abi(&error) > 0;
}

static void check(const struct scene *scene, const struct question *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ask(scene, &table[i], HANDLED) != table[i].is_granted)
            fail_msg("question %zu: %s: it is %s", i, table[i].path,
                     table[i].is_granted ? "granted and was told to be denied"
                                         : "denied and was told to be granted");
        if (has_landlock() && ask_kernel(scene, &table[i]) != (table[i].is_granted ? 0 : 1))
            fail_msg("question %zu: %s: the kernel says otherwise", i, table[i].path);
    }
}

static void rights_come_from_the_path_itself_and_from_what_is_above(void **state)
{
    static const struct question table[] = {
        {"a/b/file", READ, {{"a/b/file", READ}}, true},
        {"a/b/file", READ, {{"a/b", READ}}, true},
        {"a/b/file", READ, {{"a", READ}}, true},
        {"a/b/file", READ, {{"/", READ}}, true},
        {"a/b", LIST, {{"a/b", LIST}}, true},
        {"a/b", LIST, {{"a", LIST}}, true},
        {"/", LIST, {{"/", LIST}}, true},
        {"a/b/file", READ, {{NULL, 0}}, false},
        {"a/b/file", READ, {{"a/other", READ}, {"c", READ}}, false},
        {"a/other", READ, {{"a/b", READ}, {"a/b/file", READ}}, false},
        {"a/b", LIST, {{"a/b/file", READ}}, false},
        {"a", LIST, {{"a/b", LIST}}, false},
        {"/", LIST, {{"a", LIST}}, false},
        {"a/b/file", READ, {{"a", WRITE | LIST}}, false},
    };

    check(*state, table, array_size(table));
}

static void rights_add_up_over_several_grants(void **state)
{
    static const struct question table[] = {
        {"a/b/file", READ | WRITE, {{"a/b/file", READ}, {"a", WRITE}}, true},
        {"a/b/file", READ | WRITE, {{"/", WRITE}, {"a/b", READ}}, true},
        {"a/b/file", READ | WRITE, {{"a/b", READ}, {"a/b", WRITE}}, true},
        {"a/b/file", READ | WRITE, {{"a", LIST}, {"a/b", READ}, {"/", LIST}, {"a", WRITE}}, true},
        {"a/b/file", READ, {{"a", READ | WRITE | LIST}}, true},
        {"a/b/file", READ | WRITE, {{"a/b/file", READ}, {"a/b", READ}, {"a", READ}}, false},
        {"a/b/file", READ | WRITE, {{"a/b/file", READ}, {"a/other", WRITE}}, false},
    };

    check(*state, table, array_size(table));
}

static void what_is_not_handled_counts_as_granted(void **state)
{
    static const struct question nothing = {"a/b/file", READ, {{NULL, 0}}, false},
                                 both = {"a/b/file", READ | WRITE, {{"a", READ}}, false},
                                 none = {"a/b/file", 0, {{NULL, 0}}, true};

    assert_false(ask(*state, &nothing, READ));
    assert_true(ask(*state, &nothing, WRITE));
    assert_true(ask(*state, &nothing, 0));
    assert_false(ask(*state, &both, READ | WRITE));
    assert_true(ask(*state, &both, READ));
    assert_true(ask(*state, &none, HANDLED));
}

/* A name that is not there has the rights of what is above it: they hold once it is made. */
static void a_missing_path_has_what_is_granted_above_it(void **state)
{
    static const struct question above = {"a/nothing/here", READ, {{"a", READ}}, true},
                                 beside = {"a/nothing/here", READ, {{"a/b", READ}}, false};

    assert_true(ask(*state, &above, HANDLED));
    assert_false(ask(*state, &beside, HANDLED));
}

static void the_longest_path_is_looked_at_whole(void **state)
{
    static char path[PATH_MAX];
    struct launch_grant grant;
    struct launch launch = {.handled = HANDLED, .grants = &grant, .grant_count = 1};
    struct stat status;

    (void)state;
    assert_int_equal(stat("/", &status), 0);
    grant = (struct launch_grant){status.st_dev, status.st_ino, 0, READ, NULL};
    memset(path, '/', sizeof path - 1);
    assert_true(launch_grants(&launch, path, READ));
    assert_false(launch_grants(&launch, path, WRITE));
}

static void an_inode_of_another_file_system_is_another_object(void **state)
{
    const struct scene *scene = *state;
    struct launch_grant grants[2];
    struct launch launch = {.handled = HANDLED, .grants = grants, .grant_count = array_size(grants)};
    char path[PATH_MAX];
    struct stat status;

    assert_int_equal(stat(below(scene, "a/other", path), &status), 0);
    grants[0] = (struct launch_grant){status.st_dev + 1, status.st_ino, 0, HANDLED, NULL};
    grants[1] = (struct launch_grant){status.st_dev, status.st_ino + (1UL << 32), 0, HANDLED, NULL};
    assert_false(launch_grants(&launch, path, READ));
    grants[1].inode = status.st_ino;
    assert_true(launch_grants(&launch, path, READ));
}

/* ---- Bind mounts ---- */

static void bind(const struct scene *scene, const char *source, const char *target)
{
    char from[PATH_MAX], to[PATH_MAX];

    assert_int_equal(mount(below(scene, source, from), below(scene, target, to), NULL, MS_BIND, NULL), 0);
}

static int open_place(const struct scene *scene, const char *path)
{
    char full[PATH_MAX];

    return open(below(scene, path, full), O_PATH | O_CLOEXEC);
}

/* What lies beneath a mount is not on the way: only what is mounted, and what is above the mount point. */
static void grants_beneath_a_mount_do_not_count(const struct scene *scene, int beneath)
{
    char path[PATH_MAX];
    struct stat status;
    struct launch_grant grant;
    struct launch launch = {.handled = HANDLED, .grants = &grant, .grant_count = 1};

    assert_int_equal(fstat(beneath, &status), 0);
    grant = (struct launch_grant){status.st_dev, status.st_ino, 0, HANDLED, NULL};
    assert_false(launch_grants(&launch, below(scene, "c/mount/file", path), READ));
}

static void a_bind_mount_is_reached_by_its_own_way(void **state)
{
    static const struct question table[] = {
        {"c/mount/file", READ, {{"a/b", READ}}, true},
        {"c/mount/file", READ, {{"a/b/file", READ}}, true},
        {"c/mount/file", READ, {{"c/mount", READ}}, true},
        {"a/b/file", READ, {{"c/mount", READ}}, true},
        {"a/b/file", READ, {{"c/mount/file", READ}}, true},
        {"c/mount/file", READ, {{"c", READ}}, true},
        {"c/mount/file", READ | WRITE, {{"c", READ}, {"a/b", WRITE}}, true},
        {"c/mounted", READ, {{"a/other", READ}}, true},
        {"c/mounted", READ, {{"c", READ}}, true},
        {"a/other", READ, {{"c/mounted", READ}}, true},
        {"c/mount/file", READ, {{"a", READ}}, false},
        {"c/mounted", READ, {{"a", READ}}, false},
        {"a/b/file", READ, {{"c", READ}}, false},
        {"a/other", READ, {{"c", READ}}, false},
    };
    const struct scene *scene = *state;
    auto_close int beneath = open_place(scene, "c/mount");

    need(geteuid() == 0 && unshare(CLONE_NEWNS) == 0 && !mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL),
         "root who may mount");
    bind(scene, "a/b", "c/mount");
    bind(scene, "a/other", "c/mounted");
    check(scene, table, array_size(table));
    grants_beneath_a_mount_do_not_count(scene, beneath);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rights_come_from_the_path_itself_and_from_what_is_above, make_scene,
                                        remove_scene),
        cmocka_unit_test_setup_teardown(rights_add_up_over_several_grants, make_scene, remove_scene),
        cmocka_unit_test_setup_teardown(what_is_not_handled_counts_as_granted, make_scene, remove_scene),
        cmocka_unit_test_setup_teardown(a_missing_path_has_what_is_granted_above_it, make_scene,
                                        remove_scene),
        cmocka_unit_test_setup_teardown(the_longest_path_is_looked_at_whole, make_scene, remove_scene),
        cmocka_unit_test_setup_teardown(an_inode_of_another_file_system_is_another_object, make_scene,
                                        remove_scene),
        cmocka_unit_test_setup_teardown(a_bind_mount_is_reached_by_its_own_way, make_scene, remove_scene),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
