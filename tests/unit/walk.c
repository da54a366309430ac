/*
 * lib/launch/walk.c and links.c against real directories and links: a tree of root's on a tmpfs in a mount namespace of
 * this process's own, so that nothing is left behind.
 */
#include "child.h"
#include "launch/internal.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

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
    {"safe/private/link", 0, 0, ROOT "/safe/dir/file"},
    {"safe/set-gid", S_IFDIR | 02755, 0, NULL},
    {"safe/set-gid/link", 0, 0, "../dir/file"},
    {"links", S_IFDIR | 0755, 0, NULL},
    {"links/to-safe", 0, 0, "../safe"},
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

static void need_tree(void)
{
    need(is_ready, "root who may mount");
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
    if (row->file[0] == '/')
        strcpy(file, row->file);
    else
        in_root(row->file, file);
    assert_is_file(fd, file);
    assert_string_equal(walker.real ? walker.real : path, file);
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
    assert_int_equal(walker.followed_count, 0);
    assert_null(walker.real);
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

static int open_and_close(struct walker *walker, const char *path, struct error *error)
{
    int fd = walk_open(walker, path, error);

    cleanup_close(&fd);
    return fd < 0 ? -1 : 0;
}

/* As a rule does that lets the program create. */
static void note_creatable(struct walker *walker, const char *path)
{
    static struct error error;
    struct object object;
    auto_close int fd = walk_open(walker, path, &error);

    assert_true(fd >= 0);
    assert_int_equal(object_of(fd, &object), 0);
    assert_int_equal(walk_note_creatable(walker, &object, path), 0);
}

struct checked {
    const char *path, *creatable;
    const char *directory; /* of the link that is refused; NULL: none is */
};

/* Whichever of the two comes first in the policy. */
static void check_link(const struct checked *row, bool is_link_first)
{
    static struct error error;
    char path[PATH_MAX], directory[PATH_MAX];
    struct walker walker = {0};
    size_t before = open_descriptors();
    int result;

    in_root(row->path, path);
    if (!is_link_first)
        note_creatable(&walker, row->creatable);
    assert_int_equal(open_and_close(&walker, path, &error), 0);
    if (is_link_first)
        note_creatable(&walker, row->creatable);
    make_untouched(&error);
    result = walk_check(&walker, &error);
    if (result != (row->directory ? -1 : 0))
        fail_msg("%s with %s to create in: %s", row->path, row->creatable, result ? "refused" : "accepted");
    if (row->directory)
        assert_refused(&error, path, in_root(row->directory, directory));
    else
        assert_untouched(&error);
    walk_free(&walker);
    assert_int_equal(open_descriptors(), before);
}

static void check_links(const struct checked *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_link(&table[i], true);
        check_link(&table[i], false);
    }
}

static void a_link_where_the_program_may_create_is_refused(void **state)
{
    static const struct checked table[] = {
        {"safe/relative", ROOT "/safe", "safe"},
        {"safe/relative", ROOT, "safe"},
        {"safe/relative", "/", "safe"},
        {"safe/to-dir/file", ROOT "/safe", "safe"},
        {"safe/private/link", ROOT "/safe", "safe/private"},
        {"safe/private/link", ROOT "/safe/private", "safe/private"},
        {"safe/to-inner", ROOT "/safe/dir", "safe/dir"},
        {"safe/to-inner", ROOT "/safe", "safe"},
        {"safe/to-dir/inner", ROOT "/safe/dir", "safe/dir"},
        {"safe/up-from-link", ROOT "/safe", "safe"},
    };

    (void)state;
    need_tree();
    check_links(table, array_size(table));
}

static void a_link_above_or_beside_where_the_program_may_create_is_followed(void **state)
{
    static const struct checked table[] = {
        {"safe/relative", ROOT "/safe/dir", NULL}, /* only behind the link */
        {"safe/relative", ROOT "/user", NULL},
        {"safe/relative", ROOT "/safe/private", NULL},
        {"safe/to-user", ROOT "/user", NULL},
        {"safe/to-user-dir/file", ROOT "/user", NULL},
        {"safe/dir/file", ROOT "/safe", NULL}, /* no link */
        {"user/file", "/", NULL},
        {"safe/relative", "/proc", NULL},
    };

    (void)state;
    need_tree();
    check_links(table, array_size(table));
}

static void the_rights_that_create_are_those_that_make_a_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < policy_right_count; i++) {
        const struct policy_right *right = &policy_right_table[i];
        bool creates = !strncmp(right->name, "make_", 5) || !strcmp(right->name, "refer");

        assert_int_equal((policy_rights_that_create() & right->bit) != 0, creates);
    }
}

/* One among many, in every position. */
static void the_order_of_creatable_directories_does_not_matter(void **state)
{
    enum { MANY = 40 };
    static const char *const others[] = {ROOT "/safe/dir", ROOT "/user", ROOT "/group", ROOT "/sticky",
                                         "/proc"};
    static struct error error;

    (void)state;
    need_tree();
    for (size_t position = 0; position <= MANY; position++) {
        struct walker walker = {0};

        for (size_t i = 0; i < MANY; i++)
            note_creatable(&walker, i == position ? ROOT "/safe" : others[i % array_size(others)]);
        assert_int_equal(open_and_close(&walker, ROOT "/safe/relative", &error), 0);
        assert_int_equal(walk_check(&walker, &error), position < MANY ? -1 : 0);
        if (position < MANY)
            assert_refused(&error, ROOT "/safe/relative", ROOT "/safe");
        walk_free(&walker);
    }
}

static void an_inode_of_another_file_system_is_another_directory(void **state)
{
    static struct error error;
    struct walker walker = {0};

    (void)state;
    need_tree();
    note_creatable(&walker, ROOT "/safe");
    note_creatable(&walker, ROOT "/safe");
    for (unsigned i = 0; i < 2; i++) /* major number 0 is special: see links.c */
        walker.creatable[i].device = makedev(major(walker.creatable[i].device) + 1 + i, 7);
    walker.creatable[0].mount = walker.creatable[1].mount = 0; /* and not in mountinfo */
    assert_int_equal(open_and_close(&walker, ROOT "/safe/relative", &error), 0);
    assert_int_equal(walk_check(&walker, &error), 0);
    walk_free(&walker);
}

/* A policy's paths share one walker: the one that crosses the link is named. */
static void of_several_paths_the_one_that_crosses_the_link_is_named(void **state)
{
    static const char *const paths[] = {ROOT "/chain/40", ROOT "/safe/dir/file", ROOT "/safe/dangling",
                                        ROOT "/safe/private/link", ROOT "/user/link"};
    static struct error error;
    struct walker walker = {0};

    (void)state;
    need_tree();
    for (size_t i = 0; i < array_size(paths); i++)
        open_and_close(&walker, paths[i], &error);
    assert_int_equal(walk_check(&walker, &error), 0);
    note_creatable(&walker, ROOT "/safe/private");
    assert_int_equal(walk_check(&walker, &error), -1);
    assert_refused(&error, ROOT "/safe/private/link", ROOT "/safe/private");
    walk_free(&walker);
}

/* What a missing path crossed before it was found to be missing counts: the program could change what it leads to. */
static void a_link_on_the_way_to_a_missing_file_counts(void **state)
{
    static struct error error;
    struct walker walker = {0};

    (void)state;
    need_tree();
    note_creatable(&walker, ROOT "/safe");
    assert_int_equal(open_and_close(&walker, ROOT "/safe/dangling", &error), -1);
    assert_int_equal(walk_check(&walker, &error), -1);
    assert_refused(&error, ROOT "/safe/dangling", ROOT "/safe");
    walk_free(&walker);
}

/* ---- The same directories by another mount ---- */

static void bind_at(const char *source, const char *target)
{
    assert_int_equal(mkdir(target, 0755), 0);
    assert_int_equal(mount(source, target, NULL, MS_BIND, NULL), 0);
}

static void check_bound(const struct checked *table, size_t count, const char *source, const char *target)
{
    bind_at(source, target);
    check_links(table, count);
    assert_int_equal(umount(target), 0);
    assert_int_equal(rmdir(target), 0);
}

static void a_link_is_refused_by_whatever_mount_the_program_may_create_there(void **state)
{
    static const struct checked whole[] = {
        {"safe/relative", ROOT "/bound", "safe"},
        {"bound/relative", ROOT "/safe", "bound"},
        {"bound/private/link", ROOT "/safe/private", "bound/private"},
        {"safe/private/link", ROOT "/bound", "safe/private"},
        {"safe/private/link", ROOT "/bound/private", "safe/private"},
        {"safe/to-inner", ROOT "/bound/to-dir", "safe/dir"},
        {"bound/relative", ROOT "/user", NULL},
        {"bound/relative", ROOT "/safe/dir", NULL},
        {"safe/relative", ROOT "/bound/dir", NULL},
        {"bound/relative", ROOT "/safe/private", NULL},
    };

    (void)state;
    need_tree();
    check_bound(whole, array_size(whole), ROOT "/safe", ROOT "/bound");
}

static void a_mount_of_a_part_is_seen_as_that_part(void **state)
{
    static const struct checked part[] = {
        {"safe/private/link", ROOT "/bound", "safe/private"},
        {"bound/link", ROOT "/safe", "bound"},
        {"bound/link", ROOT "/safe/private", "bound"},
        {"bound/link", ROOT "/links/to-safe", "bound"}, /* by a link: its real path counts */
        {"safe/relative", ROOT "/bound", NULL},
        {"bound/link", ROOT "/safe/dir", NULL},
        {"bound/link", ROOT "/user", NULL},
    };

    (void)state;
    need_tree();
    check_bound(part, array_size(part), ROOT "/safe/private", ROOT "/bound");
}

/* Blanks, backslashes and newlines are escaped where the kernel lists mounts. */
static void odd_names_of_mounts_are_read_as_they_are(void **state)
{
#define ODD "bo und\\040\n\t#"
    static const struct checked whole[] = {
        {"safe/relative", ROOT "/" ODD, "safe"},
        {ODD "/relative", ROOT "/safe", ODD},
        {ODD "/private/link", ROOT "/safe/private", ODD "/private"},
        {ODD "/relative", ROOT "/user", NULL},
        {"safe/relative", ROOT "/" ODD "/dir", NULL},
    };

    (void)state;
    need_tree();
    check_bound(whole, array_size(whole), ROOT "/safe", ROOT "/" ODD);
    assert_int_equal(rename(ROOT "/safe", ROOT "/safe " ODD), 0);
    bind_at(ROOT "/safe " ODD, ROOT "/safe");
    check_link(&(struct checked){"safe/relative", ROOT "/safe " ODD, "safe"}, true);
    check_link(&(struct checked){"safe/relative", ROOT "/safe " ODD "/dir", NULL}, true);
    assert_int_equal(umount(ROOT "/safe"), 0);
    assert_int_equal(rmdir(ROOT "/safe"), 0);
    assert_int_equal(rename(ROOT "/safe " ODD, ROOT "/safe"), 0);
}

/* The program may create below the mount point, and so in what is mounted there; the link is reached another way. */
static void a_mount_below_where_the_program_may_create_counts(void **state)
{
    static const struct checked below[] = {
        {"safe/relative", ROOT "/other", "safe"},
        {"safe/private/link", ROOT "/other", "safe/private"},
        {"other/below/bound/relative", ROOT "/other/below", "other/below/bound"},
        {"safe/relative", ROOT "/other/beside", NULL},
    };

    (void)state;
    need_tree();
    assert_int_equal(mkdir(ROOT "/other", 0755), 0);
    assert_int_equal(mount("unit-walk", ROOT "/other", "tmpfs", 0, "mode=0755"), 0);
    assert_int_equal(mkdir(ROOT "/other/below", 0755), 0);
    assert_int_equal(mkdir(ROOT "/other/beside", 0755), 0);
    check_bound(below, array_size(below), ROOT "/safe", ROOT "/other/below/bound");
}

/* The list of mounts is longer than what is read of it at first; the one that counts stands at its end. */
static void many_mounts_are_read_to_the_last_one(void **state)
{
    enum { COUNT = 200 };
    static const struct checked whole[] = {
        {"safe/relative", ROOT "/bound", "safe"},
        {"bound/private/link", ROOT "/safe/private", "bound/private"},
        {"bound/relative", ROOT "/user", NULL},
    };
    static const char many[] = ROOT "/many-mounts-of-a-directory-by-a-name-that-is-rather-long";

    (void)state;
    need_tree();
    assert_int_equal(mkdir(many, 0755), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(mount(ROOT "/user", many, NULL, MS_BIND, NULL), 0);
    check_bound(whole, array_size(whole), ROOT "/safe", ROOT "/bound");
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(umount(many), 0);
    assert_int_equal(rmdir(many), 0);
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
        cmocka_unit_test(a_link_above_or_beside_where_the_program_may_create_is_followed),
        cmocka_unit_test(the_rights_that_create_are_those_that_make_a_name),
        cmocka_unit_test(the_order_of_creatable_directories_does_not_matter),
        cmocka_unit_test(an_inode_of_another_file_system_is_another_directory),
        cmocka_unit_test(of_several_paths_the_one_that_crosses_the_link_is_named),
        cmocka_unit_test(a_link_on_the_way_to_a_missing_file_counts),
        cmocka_unit_test(a_link_is_refused_by_whatever_mount_the_program_may_create_there),
        cmocka_unit_test(a_mount_of_a_part_is_seen_as_that_part),
        cmocka_unit_test(odd_names_of_mounts_are_read_as_they_are),
        cmocka_unit_test(a_mount_below_where_the_program_may_create_counts),
        cmocka_unit_test(many_mounts_are_read_to_the_last_one),
    };

    return cmocka_run_group_tests(tests, make_tree, NULL);
}
