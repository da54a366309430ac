/*
 * lib/launch/walk.c against real directories and links: a tree of root's on a tmpfs in a mount namespace of
 * this process's own, so that nothing is left behind.
 */
#include "launch/internal.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROOT "/run" /* where the tmpfs is mounted: no link on the way, every directory root's */
#define NAME_51 "a-name-of-fifty-one-bytes--------------------------"
#define NAME_255 NAME_51 NAME_51 NAME_51 NAME_51 NAME_51
enum { USER = 1000, MOST_LINKS = 40 };

/* Whether the tree could be made. */
static bool is_ready;

/* ---- The tree: a target makes a link, else the mode says what it is ---- */

static const struct entry {
    const char *path;
    mode_t mode;
    uid_t owner;
    const char *target;
} tree[] = {
    {"safe", S_IFDIR | 0755, 0, NULL},
    {"safe/dir", S_IFDIR | 0755, 0, NULL},
    {"safe/dir/file", S_IFREG | 0644, 0, NULL},
    {"safe/dir/" NAME_255, S_IFREG | 0644, 0, NULL},
    {"safe/relative", 0, 0, "dir/file"},
    {"safe/absolute", 0, 0, ROOT "/safe/dir/file"},
    {"safe/to-dir", 0, 0, "dir"},
    {"safe/with-slash", 0, 0, "dir/"},
    {"safe/with-slashes", 0, 0, "dir///file"},
    {"safe/file-with-slash", 0, 0, "dir/file/"},
    {"safe/link-with-slash", 0, 0, "to-dir/"},
    {"safe/up", 0, 0, "../safe/dir/file"},
    {"safe/up-within", 0, 0, "dir/../dir/../dir/file"},
    {"safe/up-at-end", 0, 0, "dir/.."},
    {"safe/up-from-link", 0, 0, "to-dir/.."},
    {"safe/above-root", 0, 0, "../../../../.." ROOT "/safe/dir/file"},
    {"safe/dots", 0, 0, "./././dir/./file"},
    {"safe/dot", 0, 0, "."},
    {"safe/to-root", 0, 0, "/"},
    {"safe/first", 0, 0, "second"},
    {"safe/second", 0, 0, ROOT "/safe/third"},
    {"safe/third", 0, 0, "to-dir/file"},
    {"safe/dir/inner", 0, 0, "file"},
    {"safe/to-inner", 0, 0, "dir/inner"},
    {"safe/self", 0, 0, "self"},
    {"safe/here", 0, 0, "there"},
    {"safe/there", 0, 0, "here"},
    {"safe/dangling", 0, 0, "dir/nothing"},
    {"safe/dangling-early", 0, 0, "nothing/file"},
    {"safe/through-file", 0, 0, "dir/file/file"},
    {"safe/up-from-file", 0, 0, "dir/file/.."},
    {"safe/to-longest", 0, 0, "dir/" NAME_255},
    {"safe/too-long", 0, 0, "dir/" NAME_255 "x"},
    {"safe/fifo", S_IFIFO | 0644, 0, NULL},
    {"safe/to-fifo", 0, 0, "fifo"},
    {"safe/of-user", 0, USER, "dir/file"},
    {"safe/private", S_IFDIR | 0700, 0, NULL},
    {"safe/private/link", 0, 0, "../dir/file"},
    {"safe/set-gid", S_IFDIR | 02755, 0, NULL},
    {"safe/set-gid/link", 0, 0, "../dir/file"},
    {"user", S_IFDIR | 0755, USER, NULL},
    {"user/file", S_IFREG | 0644, USER, NULL},
    {"user/link", 0, 0, "../safe/dir/file"},
    {"user/below", S_IFDIR | 0755, 0, NULL},
    {"user/below/deep", S_IFDIR | 0755, 0, NULL},
    {"user/below/deep/link", 0, 0, ROOT "/safe/dir/file"},
    {"user/dangling", 0, 0, "nothing"},
    {"nobody", S_IFDIR | 0755, 65534, NULL},
    {"nobody/link", 0, 0, "../safe/dir/file"},
    {"group", S_IFDIR | 0775, 0, NULL},
    {"group/link", 0, 0, "../safe/dir/file"},
    {"world", S_IFDIR | 0757, 0, NULL},
    {"world/link", 0, 0, "../safe/dir/file"},
    {"sticky", S_IFDIR | 01777, 0, NULL},
    {"sticky/link", 0, 0, "../safe/dir/file"},
    {"sticky/below", S_IFDIR | 0755, 0, NULL},
    {"sticky/below/link", 0, 0, "../../safe/dir"},
    {"safe/to-user", 0, 0, "../user/file"},
    {"safe/to-user-dir", 0, 0, "../user"},
    {"safe/to-user-link", 0, 0, "../user/link"},
    {"safe/past-user", 0, 0, "../user/../safe/relative"},
    {"safe/via-user-dir", 0, 0, "to-user-dir/below/deep/link"},
};

static const char *in_root(const char *path, char out[static PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/%s", ROOT, path);
    return out;
}

static void make_entry(const struct entry *entry)
{
    char path[PATH_MAX];

    in_root(entry->path, path);
    if (entry->target)
        assert_int_equal(symlink(entry->target, path), 0);
    else if (S_ISDIR(entry->mode))
        assert_int_equal(mkdir(path, 0700), 0);
    else
        assert_int_equal(mknod(path, entry->mode, 0), 0);
    assert_int_equal(lchown(path, entry->owner, 0), 0);
    if (!entry->target)
        assert_int_equal(chmod(path, entry->mode & 07777), 0);
}

/* chain/N crosses N links, the last of which is to the file. */
static void make_chain(void)
{
    char path[PATH_MAX], target[64] = "../safe/dir/file";

    make_entry(&(struct entry){"chain", S_IFDIR | 0755, 0, NULL});
    for (int i = 1; i <= MOST_LINKS + 1; i++) {
        snprintf(path, sizeof path, "%s/chain/%d", ROOT, i);
        assert_int_equal(symlink(target, path), 0);
        snprintf(target, sizeof target, "%d", i);
    }
}

static int make_tree(void **state)
{
    (void)state;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("unit-walk", ROOT, "tmpfs", 0, "mode=0755") < 0)
        return 0;
    for (size_t i = 0; i < array_size(tree); i++)
        make_entry(&tree[i]);
    make_chain();
    is_ready = true;
    return 0;
}

/* Skips a test for which something is missing here; where every test is required that is a failure. */
static void need(bool is_there, const char *what)
{
    const char *all = getenv("REQUIRE_ALL");

    if (is_there)
        return;
    if (all && *all)
        fail_msg("there must be %s", what);
    print_message("there is no %s here\n", what);
    skip();
}

static void need_tree(void)
{
    need(is_ready, "root who may mount");
}

static size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* ---- walk_open() ---- */

/* An error that nobody has set yet, told from one that was. */
static void make_untouched(struct error *error)
{
    memset(error, 'x', sizeof *error);
    error->code = 0;
}

static void assert_untouched(const struct error *error)
{
    static struct error untouched;

    make_untouched(&untouched);
    assert_memory_equal(error, &untouched, sizeof untouched);
}

/* The very file, and a descriptor that gives no access to it. */
static void assert_is_file(int fd, const char *path)
{
    struct stat wanted, got;

    assert_int_equal(lstat(path, &wanted), 0);
    assert_int_equal(fstat(fd, &got), 0);
    assert_true(got.st_dev == wanted.st_dev && got.st_ino == wanted.st_ino);
    assert_true(fcntl(fd, F_GETFL) & O_PATH);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

struct reached {
    const char *path, *file;
};

static void check_reached(const struct reached *row)
{
    static struct error error;
    char path[PATH_MAX], file[PATH_MAX];
    struct walker walker = {0};
    size_t before = open_descriptors();
    int fd;

    make_untouched(&error);
    fd = walk_open(&walker, in_root(row->path, path), &error);
    if (fd < 0)
        fail_msg("%s: %s", row->path, error.code ? error.message : strerror(errno));
    assert_is_file(fd, row->file[0] == '/' ? row->file : in_root(row->file, file));
    assert_untouched(&error);
    close(fd);
    walk_free(&walker);
    assert_int_equal(open_descriptors(), before);
}

static void links_that_only_root_could_write_are_followed(void **state)
{
    static const struct reached table[] = {
        {"safe/relative", "safe/dir/file"},
        {"safe/absolute", "safe/dir/file"},
        {"safe/to-dir", "safe/dir"},
        {"safe/to-dir/file", "safe/dir/file"},
        {"safe/with-slash", "safe/dir"},
        {"safe/with-slash/file", "safe/dir/file"},
        {"safe/with-slashes", "safe/dir/file"},
        {"safe/link-with-slash", "safe/dir"},
        {"safe/link-with-slash/file", "safe/dir/file"},
        {"safe/up", "safe/dir/file"},
        {"safe/up-within", "safe/dir/file"},
        {"safe/up-at-end", "safe"},
        {"safe/up-at-end/dir/file", "safe/dir/file"},
        {"safe/up-from-link", "safe"},
        {"safe/up-from-link/to-dir/file", "safe/dir/file"},
        {"safe/above-root", "safe/dir/file"},
        {"safe/dots", "safe/dir/file"},
        {"safe/dot", "safe"},
        {"safe/dot/dot/dot/dir", "safe/dir"},
        {"safe/to-root", "/"},
        {"safe/to-root/proc", "/proc"},
        {"safe/first", "safe/dir/file"},
        {"safe/to-inner", "safe/dir/file"},
        {"safe/to-dir/inner", "safe/dir/file"},
        {"safe/to-longest", "safe/dir/" NAME_255},
        {"safe/to-dir/" NAME_255, "safe/dir/" NAME_255},
        {"safe/to-fifo", "safe/fifo"},
        {"safe/of-user", "safe/dir/file"},
        {"safe/private/link", "safe/dir/file"},
        {"safe/set-gid/link", "safe/dir/file"},
        {"chain/1", "safe/dir/file"},
        {"chain/40", "safe/dir/file"},
    };

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++)
        check_reached(&table[i]);
}

static void what_lies_behind_the_last_link_may_be_anyones(void **state)
{
    static const struct reached table[] = {
        {"safe/to-user", "user/file"},
        {"safe/to-user-dir", "user"},
        {"safe/to-user-dir/file", "user/file"},
        {"safe/to-user-dir/below/deep", "user/below/deep"},
    };

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++)
        check_reached(&table[i]);
}

static void paths_without_links_are_opened_wherever_they_lie(void **state)
{
    static const struct reached table[] = {
        {"safe/dir/file", "safe/dir/file"}, {"user/file", "user/file"},
        {"sticky/below", "sticky/below"},   {"group", "group"},
        {"safe/fifo", "safe/fifo"},
    };
    struct walker walker = {0};
    struct error error;
    auto_close int fd = walk_open(&walker, "/", &error);

    (void)state;
    assert_is_file(fd, "/");
    assert_int_equal(walker.count, 0);
    need_tree();
    for (size_t i = 0; i < array_size(table); i++)
        check_reached(&table[i]);
}

struct refused {
    const char *path, *directory;
};

static void assert_refused(const struct error *error, const char *path, const char *directory)
{
    char wanted[ERROR_TEXT_SIZE];

    snprintf(wanted, sizeof wanted, "%s crosses a symbolic link in %s, which the program could have written",
             path, directory);
    assert_int_equal(error->code, LAUNCH_PATH);
    assert_string_equal(error->message, wanted);
    assert_string_not_equal(error->hint, "");
}

static void links_that_others_could_have_written_are_refused(void **state)
{
    static const struct refused table[] = {
        {"user/link", "user"},
        {"user/link/file", "user"},
        {"user/dangling", "user"},
        {"user/below/deep/link", "user/below/deep"},
        {"nobody/link", "nobody"},
        {"group/link", "group"},
        {"world/link", "world"},
        {"sticky/link", "sticky"},
        {"sticky/below/link", "sticky/below"},
        {"sticky/below/link/file", "sticky/below"},
        {"safe/to-user-link", "user"},
        {"safe/to-user-dir/link", "user"},
        {"safe/via-user-dir", "user/below/deep"},
        {"safe/past-user", "safe"},
    };
    static struct error error;

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++) {
        char path[PATH_MAX], directory[PATH_MAX];
        struct walker walker = {0};
        size_t before = open_descriptors();

        make_untouched(&error);
        assert_int_equal(walk_open(&walker, in_root(table[i].path, path), &error), -1);
        assert_int_equal(errno, ELOOP);
        assert_refused(&error, path, in_root(table[i].directory, directory));
        walk_free(&walker);
        assert_int_equal(open_descriptors(), before);
    }
}

static void more_links_than_forty_are_refused(void **state)
{
    static const char *const table[] = {"chain/41", "safe/self", "safe/here", "safe/self/file"};
    static struct error error;

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++) {
        char path[PATH_MAX], wanted[ERROR_TEXT_SIZE];
        struct walker walker = {0};
        size_t before = open_descriptors();

        make_untouched(&error);
        assert_int_equal(walk_open(&walker, in_root(table[i], path), &error), -1);
        assert_int_equal(errno, ELOOP);
        snprintf(wanted, sizeof wanted, "%s crosses more than 40 symbolic links", path);
        assert_int_equal(error.code, LAUNCH_PATH);
        assert_string_equal(error.message, wanted);
        walk_free(&walker);
        assert_int_equal(open_descriptors(), before);
    }
}

struct failed {
    const char *path;
    int failure;
};

static void check_failed(const char *path, int failure)
{
    static struct error error;
    struct walker walker = {0};
    size_t before = open_descriptors();
    int fd;

    make_untouched(&error);
    fd = walk_open(&walker, path, &error);
    if (fd != -1 || errno != failure)
        fail_msg("%.200s: %s instead of %s", path, fd < 0 ? strerror(errno) : "opened", strerror(failure));
    assert_untouched(&error);
    walk_free(&walker);
    assert_int_equal(open_descriptors(), before);
}

static void what_the_file_system_refuses_is_its_errno_and_no_error(void **state)
{
    static const struct failed table[] = {
        {"nothing", ENOENT},
        {"safe/nothing/file", ENOENT},
        {"safe/dir/file/file", ENOTDIR},
        {"safe/dir/" NAME_255 "x", ENAMETOOLONG},
        {"safe/dangling", ENOENT},
        {"safe/dangling/file", ENOENT},
        {"safe/dangling-early", ENOENT},
        {"safe/to-dir/nothing", ENOENT},
        {"safe/relative/file", ENOTDIR},
        {"safe/through-file", ENOTDIR},
        {"safe/up-from-file", ENOTDIR},
        {"safe/to-fifo/file", ENOTDIR},
        {"safe/too-long", ENAMETOOLONG},
        {"safe/to-dir/" NAME_255 "x", ENAMETOOLONG},
        {"safe/to-dir/" NAME_255 "x/file", ENAMETOOLONG},
    };
    char path[PATH_MAX];

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++)
        check_failed(in_root(table[i].path, path), table[i].failure);
}

/* As the kernel has it: a slash after a name asks for a directory. */
static void a_target_that_ends_in_a_slash_must_be_a_directory(void **state)
{
    (void)state;
    need_tree();
    assert_int_equal(open(ROOT "/safe/file-with-slash", O_PATH), -1);
    assert_int_equal(errno, ENOTDIR);
    check_failed(ROOT "/safe/file-with-slash", ENOTDIR);
}

/* Two links, each with the longest target there can be: what is left to walk behind the second is as long as
 * the first one's target, and anything more does not fit. */
static void the_longest_targets_fit_and_longer_ones_are_too_long(void **state)
{
    enum { LONGEST = PATH_MAX - 1 };
    char target[PATH_MAX];

    (void)state;
    need_tree();
    assert_int_equal(mkdir(ROOT "/long", 0755), 0);
    memset(target, '/', sizeof target);
    target[LONGEST] = '\0';
    memcpy(target, "b", 1);
    assert_int_equal(symlink(target, ROOT "/long/a"), 0);
    memcpy(target, ".", 1);
    assert_int_equal(symlink(target, ROOT "/long/b"), 0);
    check_reached(&(struct reached){"long/a", "long"});
    check_failed(ROOT "/long/a/x", ENAMETOOLONG);
    check_failed(ROOT "/long/a/" NAME_255, ENAMETOOLONG);
    check_reached(&(struct reached){"long/b", "long"});
    check_failed(ROOT "/long/b/x", ENOENT);
    check_reached(&(struct reached){"long/b/a", "long"});
}

/* Relative links reach a directory whose path is longer than any that could be named. */
static void a_place_too_deep_to_be_named_is_too_long(void **state)
{
    enum { LEVELS = 36, HOP = 12 };
    char target[PATH_MAX] = "";
    auto_close int directory = -1;

    (void)state;
    need_tree();
    for (int i = 0; i < HOP; i++)
        strcat(target, NAME_255 "/");
    strcat(target, "hop");
    assert_int_equal(mkdir(ROOT "/deep", 0755), 0);
    directory = open(ROOT "/deep", O_PATH | O_DIRECTORY);
    for (int level = 0; level < LEVELS; level++) {
        int below;

        if (level % HOP == 0)
            assert_int_equal(symlinkat(target, directory, "hop"), 0);
        assert_int_equal(mkdirat(directory, NAME_255, 0755), 0);
        below = openat(directory, NAME_255, O_PATH | O_DIRECTORY);
        close(directory);
        directory = below;
    }
    assert_int_equal(mkdirat(directory, "hop", 0755), 0);
    check_failed(ROOT "/deep/hop", ENAMETOOLONG);
}

/* In a user namespace that does not map root, the overflow UID stands for it. */
static void root_may_be_unmapped(void **state)
{
    pid_t child;
    int status;

    (void)state;
    need_tree();
    child = fork();
    if (child == 0) {
        struct walker walker = {0};
        struct error error;

        if (unshare(CLONE_NEWUSER) < 0)
            _exit(2);
        _exit(walk_open(&walker, ROOT "/safe/relative", &error) < 0 ||
              walk_open(&walker, ROOT "/group/link", &error) >= 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    need(status != 2 << 8, "user namespace");
    assert_int_equal(status, 0);
}

/* ---- walk_check() ---- */

static struct launch_grant grant_on(const char *path, policy_rights rights)
{
    char full[PATH_MAX];
    struct stat status;

    assert_int_equal(stat(path[0] == '/' ? path : in_root(path, full), &status), 0);
    return (struct launch_grant){status.st_dev, status.st_ino, rights};
}

static int check_with(const char *path, const struct launch_grant *grants, size_t count, struct error *error)
{
    struct launch launch = {.grants = (struct launch_grant *)grants, .grant_count = count};
    char full[PATH_MAX];
    struct walker walker = {0};
    size_t before = open_descriptors();
    int fd = walk_open(&walker, in_root(path, full), error), result;

    assert_true(fd >= 0);
    close(fd);
    result = walk_check(&walker, &launch, error);
    walk_free(&walker);
    assert_int_equal(open_descriptors(), before);
    return result;
}

#define MAKE_REG POLICY_FS(8)

static void a_link_where_the_program_may_create_is_refused(void **state)
{
    static const struct {
        const char *path, *granted;
        const char *directory; /* NULL: nothing to refuse */
    } table[] = {
        {"safe/relative", "safe", "safe"},
        {"safe/relative", ROOT, "safe"},
        {"safe/relative", "/", "safe"},
        {"safe/to-dir/file", "safe", "safe"},
        {"safe/private/link", "safe", "safe/private"},
        {"safe/private/link", "safe/private", "safe/private"},
        {"safe/to-inner", "safe/dir", "safe/dir"},
        {"safe/to-inner", "safe", "safe"},
        {"safe/to-dir/inner", "safe/dir", "safe/dir"},
        {"safe/up-from-link", "safe", "safe"},
        {"safe/relative", "safe/dir", NULL}, /* only behind the link */
        {"safe/relative", "user", NULL},
        {"safe/to-user", "user", NULL},
        {"safe/to-user-dir/file", "user", NULL},
        {"safe/dir/file", "safe", NULL}, /* no link */
        {"user/file", "/", NULL},
    };
    static struct error error;

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(table); i++) {
        struct launch_grant grant = grant_on(table[i].granted, MAKE_REG);
        char path[PATH_MAX], directory[PATH_MAX];

        make_untouched(&error);
        assert_int_equal(check_with(table[i].path, &grant, 1, &error), table[i].directory ? -1 : 0);
        if (table[i].directory)
            assert_refused(&error, in_root(table[i].path, path), in_root(table[i].directory, directory));
        else
            assert_untouched(&error);
    }
}

static void every_right_that_creates_counts_and_no_other(void **state)
{
    static struct error error;

    (void)state;
    need_tree();
    for (size_t i = 0; i < policy_right_count; i++) {
        const struct policy_right *right = &policy_right_table[i];
        bool creates = !strncmp(right->name, "make_", 5) || !strcmp(right->name, "refer");
        struct launch_grant grant = grant_on("safe", right->bit);

        if (check_with("safe/relative", &grant, 1, &error) != (creates ? -1 : 0))
            fail_msg("%s on the link's directory is %s", right->name, creates ? "accepted" : "refused");
    }
}

/* One creating grant among many others, and many of them, in every position. */
static void the_order_of_the_grants_does_not_matter(void **state)
{
    enum { MANY = 64 };
    static const char *const decoys[] = {"safe/dir", "user", "group", "sticky", "chain", "safe/set-gid"};
    struct launch_grant grants[MANY], creating;
    static struct error error;

    (void)state;
    need_tree();
    for (size_t i = 0; i < MANY; i++)
        grants[i] = grant_on(decoys[i % array_size(decoys)], i % 2 ? MAKE_REG : POLICY_READ_DIR);
    creating = grant_on("safe", MAKE_REG);
    assert_int_equal(check_with("safe/relative", grants, MANY, &error), 0);
    for (size_t i = 0; i < MANY; i++) {
        struct launch_grant decoy = grants[i];

        grants[i] = creating;
        assert_int_equal(check_with("safe/relative", grants, MANY, &error), -1);
        assert_refused(&error, ROOT "/safe/relative", ROOT "/safe");
        grants[i] = decoy;
    }
}

static void an_inode_of_another_file_system_is_another_directory(void **state)
{
    struct launch_grant grants[2];
    static struct error error;

    (void)state;
    need_tree();
    grants[0] = grants[1] = grant_on("safe", MAKE_REG);
    grants[0].device--;
    grants[1].device++;
    assert_int_equal(check_with("safe/relative", grants, array_size(grants), &error), 0);
}

/* The program may create and read at one place by two rules: each counts by itself. */
static void a_reading_grant_beside_a_creating_one_hides_nothing(void **state)
{
    struct launch_grant grants[3];
    static struct error error;

    (void)state;
    need_tree();
    grants[0] = grants[2] = grant_on("safe", POLICY_READ_DIR | POLICY_READ_FILE);
    grants[1] = grant_on("safe", POLICY_REFER);
    assert_int_equal(check_with("safe/relative", grants, array_size(grants), &error), -1);
    assert_int_equal(check_with("safe/relative", grants, 1, &error), 0);
    assert_int_equal(check_with("safe/relative", NULL, 0, &error), 0);
}

/* A policy's paths share one walker: the one that crosses the link is named. */
static void of_several_paths_the_one_that_crosses_the_link_is_named(void **state)
{
    struct launch_grant grant;
    struct launch launch = {.grants = &grant, .grant_count = 1};
    static const char *const paths[] = {ROOT "/chain/40", ROOT "/safe/dir/file", ROOT "/safe/dangling",
                                        ROOT "/safe/private/link", ROOT "/user/link"};
    struct walker walker = {0};
    static struct error error;

    (void)state;
    need_tree();
    grant = grant_on("safe/private", MAKE_REG);
    for (size_t i = 0; i < array_size(paths); i++)
        cleanup_close(&(int){walk_open(&walker, paths[i], &error)});
    assert_int_equal(walk_check(&walker, &launch, &error), -1);
    assert_refused(&error, ROOT "/safe/private/link", ROOT "/safe/private");
    walk_free(&walker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_that_only_root_could_write_are_followed),
        cmocka_unit_test(what_lies_behind_the_last_link_may_be_anyones),
        cmocka_unit_test(paths_without_links_are_opened_wherever_they_lie),
        cmocka_unit_test(links_that_others_could_have_written_are_refused),
        cmocka_unit_test(more_links_than_forty_are_refused),
        cmocka_unit_test(what_the_file_system_refuses_is_its_errno_and_no_error),
        cmocka_unit_test(a_target_that_ends_in_a_slash_must_be_a_directory),
        cmocka_unit_test(the_longest_targets_fit_and_longer_ones_are_too_long),
        cmocka_unit_test(a_place_too_deep_to_be_named_is_too_long),
        cmocka_unit_test(root_may_be_unmapped),
        cmocka_unit_test(a_link_where_the_program_may_create_is_refused),
        cmocka_unit_test(every_right_that_creates_counts_and_no_other),
        cmocka_unit_test(the_order_of_the_grants_does_not_matter),
        cmocka_unit_test(an_inode_of_another_file_system_is_another_directory),
        cmocka_unit_test(a_reading_grant_beside_a_creating_one_hides_nothing),
        cmocka_unit_test(of_several_paths_the_one_that_crosses_the_link_is_named),
    };

    return cmocka_run_group_tests(tests, make_tree, NULL);
}
