/* Policies in real files: which are read, which are refused, and why. */
#include "child.h"
#include "policy_fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- A folder of its own for each test ---- */

enum { PATH_SIZE = 128, LONG_PATH = 256, OTHER_USER = 54321 };

struct folder {
    char path[PATH_SIZE];
};

static int make_folder(void **state)
{
    static struct folder folder;

    snprintf(folder.path, sizeof folder.path, "/tmp/unit-policy-XXXXXX");
    *state = &folder;
    umask(022);
    return mkdtemp(folder.path) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_folder(void **state)
{
    const struct folder *folder = *state;

    return nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *in_folder(const struct folder *folder, const char *name, char out[static LONG_PATH])
{
    snprintf(out, LONG_PATH, "%s/%s", folder->path, name);
    return out;
}

static void write_file(const struct folder *folder, const char *name, const char *text)
{
    char path[LONG_PATH];
    FILE *file = fopen(in_folder(folder, name, path), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct loaded load_real(const struct folder *folder, const char *name)
{
    static char path[LONG_PATH];
    struct loaded loaded = {0};

    loaded.policy = policy_load(in_folder(folder, name, path), NULL, 0, NULL, NULL, &loaded.diagnostics);
    return loaded;
}

/* Reads one file, bare: the errno, and the reason in `reason`. */
enum { REASON_SIZE = 256 };
static int read_real(const struct folder *folder, const char *name, char reason[static REASON_SIZE])
{
    char path[LONG_PATH], *text = NULL;
    uint64_t device, inode;
    size_t size;
    int fault;

    reason[0] = '\0';
    fault = policy_read_file(NULL, in_folder(folder, name, path), &text, &size, &device, &inode, reason,
                             REASON_SIZE);
    if (!fault)
        free(text);
    return fault;
}

/* ---- read(2) as it can be: the linker puts __wrap_read() in its place in lib/ ---- */

enum reading { AS_IT_IS, BY_BYTES, IS_INTERRUPTED, FAILS, ENDS, GOES_ON };
static enum reading reading; /* from the call number `reading_at` on, byte by byte before it */
static unsigned reading_at, reads;

ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t size, size_t room);

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    bool is_now = ++reads >= reading_at;

    if (reading == AS_IT_IS)
        return __real_read(fd, bytes, size);
    if ((is_now && reading == FAILS) || (reads == reading_at && reading == IS_INTERRUPTED)) {
        errno = reading == FAILS ? EIO : EINTR;
        return -1;
    }
    if (is_now && reading == ENDS)
        return 0;
    if (is_now && reading == GOES_ON) {
        memset(bytes, '#', size);
        return (ssize_t)size;
    }
    return __real_read(fd, bytes, size ? 1 : 0);
}

/* What read() becomes with _FORTIFY_SOURCE. */
ssize_t __wrap___read_chk(int fd, void *bytes, size_t size, size_t room)
{
    assert_in_range(size, 0, room);
    return __wrap_read(fd, bytes, size);
}

static int read_by(const struct folder *folder, enum reading by, unsigned at, char reason[static REASON_SIZE])
{
    int fault;

    reading = by;
    reading_at = at;
    reads = 0;
    fault = read_real(folder, "file", reason);
    reading = AS_IT_IS;
    return fault;
}

static void assert_refused(const struct folder *folder, const char *name, int fault, const char *part)
{
    char reason[REASON_SIZE], path[LONG_PATH];
    auto_loaded struct loaded loaded = load_real(folder, name);
    const struct fault whole = {in_folder(folder, name, path), 0, 0, part};

    assert_int_equal(read_real(folder, name, reason), fault);
    if (!strstr(reason, part))
        fail_msg("%s instead of %s", reason, part);
    assert_faults(&loaded, &whole, 1);
    assert_int_equal(loaded.diagnostics.items[0].fault, fault == EPERM   ? POLICY_FAULT_UNSAFE
                                                        : fault == EFBIG ? POLICY_FAULT_TOO_LARGE
                                                                         : POLICY_FAULT_UNREADABLE);
}

/* ---- What is read ---- */

static void a_regular_file_of_the_callers_is_read(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], *text = NULL, reason[REASON_SIZE];
    uint64_t device = 0, inode = 0;
    size_t size = 0;
    struct stat status;

    write_file(folder, "good", "policy 1\nrun a");
    in_folder(folder, "good", path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(policy_read_file(NULL, path, &text, &size, &device, &inode, reason, sizeof reason), 0);
    assert_int_equal(size, 14);
    assert_memory_equal(text, "policy 1\nrun a", 14);
    text[size] = '\0'; /* there is room for one byte more */
    assert_int_equal(device, status.st_dev);
    assert_int_equal(inode, status.st_ino);
    free(text);
}

static void modes_that_leave_writing_to_the_owner_are_fine(void **state)
{
    static const mode_t modes[] = {0644, 0600, 0444, 0755, 0400, 04755};
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "good", "policy 1\nrun a\n");
    for (size_t i = 0; i < array_size(modes); i++) {
        assert_int_equal(chmod(in_folder(folder, "good", path), modes[i]), 0);
        auto_loaded struct loaded loaded = load_real(folder, "good");
        assert_accepted(&loaded);
        assert_string_equal(loaded.policy->run[0], "a");
    }
}

static void an_empty_file_is_read(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "empty", "");
    auto_loaded struct loaded loaded = load_real(folder, "empty");
    const struct fault fault = {in_folder(folder, "empty", path), 1, 1, "no statement"};
    assert_faults(&loaded, &fault, 1);
}

static void a_symbolic_link_to_a_good_file_is_followed(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "good", "policy 1\nrun a\n");
    assert_int_equal(symlink("good", in_folder(folder, "link", path)), 0);
    auto_loaded struct loaded loaded = load_real(folder, "link");
    assert_accepted(&loaded);
    assert_string_equal(loaded.policy->files[0].name, path);
}

static void includes_are_looked_up_beside_their_file(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    assert_int_equal(mkdir(in_folder(folder, "a", path), 0755), 0);
    assert_int_equal(mkdir(in_folder(folder, "b", path), 0755), 0);
    write_file(folder, "a/main", "policy 1\ninclude ../b/x\ninclude -local\ninclude -main/x\n");
    write_file(folder, "b/x", "policy 1\ninclude y\n");
    write_file(folder, "b/y", "policy 1\nrun y\n");
    auto_loaded struct loaded loaded = load_real(folder, "a/main");
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->file_count, 3);
    assert_string_equal(loaded.policy->files[2].name, in_folder(folder, "a/../b/y", path));
    assert_string_equal(loaded.policy->run[0], "y");
}

static void two_names_of_one_file_are_one_file(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], other[LONG_PATH];

    write_file(folder, "main", "policy 1\ninclude a\ninclude link\ninclude hard\ninclude ./a\n");
    write_file(folder, "a", "policy 1\nallow read /x\nlimit cpu 1\n");
    assert_int_equal(symlink("a", in_folder(folder, "link", path)), 0);
    assert_int_equal(link(in_folder(folder, "a", path), in_folder(folder, "hard", other)), 0);
    auto_loaded struct loaded loaded = load_real(folder, "main");
    assert_accepted(&loaded);
    assert_int_equal(loaded.policy->file_count, 2);
    assert_int_equal(loaded.policy->path_rule_count, 1);
}

/* ---- What is refused ---- */

static void a_missing_file_is_refused(void **state)
{
    const struct folder *folder = *state;

    write_file(folder, "file", "policy 1\n");
    assert_refused(folder, "none", ENOENT, "No such file or directory");
    assert_refused(folder, "file/none", ENOTDIR, "Not a directory");
}

static void a_link_to_nothing_is_refused(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    assert_int_equal(symlink("none", in_folder(folder, "dangling", path)), 0);
    assert_int_equal(symlink("loop", in_folder(folder, "loop", path)), 0);
    assert_refused(folder, "dangling", ENOENT, "No such file or directory");
    assert_refused(folder, "loop", ELOOP, "Too many levels of symbolic links");
}

static void a_directory_is_refused(void **state)
{
    assert_refused(*state, ".", EISDIR, "it is a directory, not a regular file");
}

static void a_fifo_is_refused_without_waiting(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    assert_int_equal(mkfifo(in_folder(folder, "fifo", path), 0600), 0);
    alarm(10); /* not before ctest gives up, but saying where */
    assert_refused(folder, "fifo", EINVAL, "it is not a regular file");
    alarm(0);
}

static void a_device_is_refused(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    assert_int_equal(symlink("/dev/null", in_folder(folder, "device", path)), 0);
    assert_refused(folder, "device", EINVAL, "it is not a regular file");
}

static void a_file_that_others_may_write_is_refused(void **state)
{
    static const mode_t modes[] = {0664, 0646, 0666, 0620, 0602};
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "file", "policy 1\n");
    for (size_t i = 0; i < array_size(modes); i++) {
        assert_int_equal(chmod(in_folder(folder, "file", path), modes[i]), 0);
        assert_refused(folder, "file", EPERM, "others may write it");
    }
}

static void a_link_to_a_file_that_others_may_write_is_refused(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "file", "policy 1\n");
    assert_int_equal(chmod(in_folder(folder, "file", path), 0666), 0);
    assert_int_equal(symlink("file", in_folder(folder, "link", path)), 0);
    assert_refused(folder, "link", EPERM, "others may write it");
}

static void a_file_of_another_user_is_refused(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH];

    write_file(folder, "file", "policy 1\n");
    need(chown(in_folder(folder, "file", path), OTHER_USER, (gid_t)-1) == 0, "root, to give a file to "
                                                                             "another user");
    assert_refused(folder, "file", EPERM, "it belongs to another user");
}

static void a_file_that_may_not_be_opened_is_refused(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], reason[REASON_SIZE];
    bool is_root = geteuid() == 0;
    int fault;

    write_file(folder, "file", "policy 1\n");
    assert_int_equal(chmod(in_folder(folder, "file", path), 0), 0);
    if (is_root)
        assert_int_equal(seteuid(OTHER_USER), 0);
    fault = read_real(folder, "file", reason);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(fault, EACCES);
    assert_string_equal(reason, "Permission denied");
}

static void a_file_has_eight_mebibytes_at_most(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], reason[REASON_SIZE];

    write_file(folder, "file", "policy 1\n");
    assert_int_equal(truncate(in_folder(folder, "file", path), POLICY_MAX_FILE_SIZE), 0);
    assert_int_equal(read_real(folder, "file", reason), 0);
    assert_int_equal(truncate(path, POLICY_MAX_FILE_SIZE + 1), 0);
    assert_refused(folder, "file", EFBIG, "it is larger than 8 MiB");
}

static void a_file_that_changes_while_it_is_read_is_refused(void **state)
{
    const struct folder *folder = *state;
    char reason[REASON_SIZE];

    write_file(folder, "file", "policy 1\n");
    for (unsigned at = 1; at <= 3; at++) {
        assert_int_equal(read_by(folder, ENDS, at, reason), EBUSY);
        assert_non_null(strstr(reason, "it changed while it was read"));
        assert_int_equal(read_by(folder, GOES_ON, at, reason), EBUSY);
        assert_non_null(strstr(reason, "it changed while it was read"));
    }
}

static void a_file_that_cannot_be_read_to_its_end_is_refused(void **state)
{
    const struct folder *folder = *state;
    char reason[REASON_SIZE];

    write_file(folder, "file", "policy 1\n");
    for (unsigned at = 1; at <= 3; at++) {
        assert_int_equal(read_by(folder, FAILS, at, reason), EIO);
        assert_string_equal(reason, "Input/output error");
    }
}

static void a_file_is_read_whole_however_it_comes(void **state)
{
    const struct folder *folder = *state;
    char reason[REASON_SIZE];

    write_file(folder, "file", "policy 1\n");
    assert_int_equal(read_by(folder, BY_BYTES, 1, reason), 0);
    for (unsigned at = 1; at <= 3; at++)
        assert_int_equal(read_by(folder, IS_INTERRUPTED, at, reason), 0);
}

static void an_include_must_be_as_good_as_its_file(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], main_path[LONG_PATH];

    write_file(folder, "main", "policy 1\ninclude -open\ninclude -fifo\ninclude -.\n");
    write_file(folder, "open", "policy 1\n");
    assert_int_equal(chmod(in_folder(folder, "open", path), 0666), 0);
    assert_int_equal(mkfifo(in_folder(folder, "fifo", path), 0600), 0);
    in_folder(folder, "main", main_path);
    auto_loaded struct loaded loaded = load_real(folder, "main");
    const struct fault faults[] = {
        {main_path, 2, 9, "others may write it"},
        {main_path, 3, 9, "it is not a regular file"},
        {main_path, 4, 9, "it is a directory"},
    };
    assert_faults(&loaded, faults, array_size(faults));
}

/* No path through the reading leaves a descriptor open. */
static void no_descriptor_is_left_open(void **state)
{
    const struct folder *folder = *state;
    char path[LONG_PATH], reason[REASON_SIZE];
    int before = dup(STDIN_FILENO), after;

    close(before);
    write_file(folder, "good", "policy 1\n");
    write_file(folder, "open", "policy 1\n");
    assert_int_equal(chmod(in_folder(folder, "open", path), 0666), 0);
    assert_int_equal(read_real(folder, "good", reason), 0);
    assert_int_equal(read_real(folder, "open", reason), EPERM);
    assert_int_equal(read_real(folder, ".", reason), EISDIR);
    assert_int_equal(read_real(folder, "none", reason), ENOENT);
    after = dup(STDIN_FILENO);
    close(after);
    assert_int_equal(after, before);
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_own_folder(a_regular_file_of_the_callers_is_read),
        in_own_folder(modes_that_leave_writing_to_the_owner_are_fine),
        in_own_folder(an_empty_file_is_read),
        in_own_folder(a_symbolic_link_to_a_good_file_is_followed),
        in_own_folder(includes_are_looked_up_beside_their_file),
        in_own_folder(two_names_of_one_file_are_one_file),
        in_own_folder(a_missing_file_is_refused),
        in_own_folder(a_link_to_nothing_is_refused),
        in_own_folder(a_directory_is_refused),
        in_own_folder(a_fifo_is_refused_without_waiting),
        in_own_folder(a_device_is_refused),
        in_own_folder(a_file_that_others_may_write_is_refused),
        in_own_folder(a_link_to_a_file_that_others_may_write_is_refused),
        in_own_folder(a_file_of_another_user_is_refused),
        in_own_folder(a_file_that_may_not_be_opened_is_refused),
        in_own_folder(a_file_has_eight_mebibytes_at_most),
        in_own_folder(a_file_that_changes_while_it_is_read_is_refused),
        in_own_folder(a_file_that_cannot_be_read_to_its_end_is_refused),
        in_own_folder(a_file_is_read_whole_however_it_comes),
        in_own_folder(an_include_must_be_as_good_as_its_file),
        in_own_folder(no_descriptor_is_left_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
