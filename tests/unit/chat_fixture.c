#include "chat_fixture.h"
#include "allocations.h"

#include <dirent.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

struct strange strange;
struct error why;

/* ---- Calls ---- */

int __real_openat(int directory, const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *status);
int __real_linkat(int from, const char *old, int to, const char *new, int flags);
int __real_renameat(int from, const char *old, int to, const char *new);
int __real_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
long __real_syscall(long number, ...);

int __wrap_openat(int directory, const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *status);
int __wrap_linkat(int from, const char *old, int to, const char *new, int flags);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags);
long __wrap_syscall(long number, ...);
char *__wrap_strndup(const char *text, size_t most);
void *__wrap_malloc(size_t size);

static int fail_with(int number)
{
    errno = number;
    return -1;
}

static void call_once(void (**hook)(void))
{
    void (*called)(void) = *hook;

    *hook = NULL;
    if (called)
        called();
}

int __wrap_openat(int directory, const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;
    int fd;

    va_start(arguments, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if (strange.has_no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE)
        return fail_with(EOPNOTSUPP);
    fd = __real_openat(directory, path, flags, mode);
    if (flags & O_EXCL)
        call_once(&strange.after_creation);
    return fd;
}

int __wrap_fstat(int fd, struct stat *status)
{
    int result = __real_fstat(fd, status);

    if (strange.without_names) {
        strange.without_names--;
        status->st_nlink = 0;
    }
    return result;
}

int __wrap_linkat(int from, const char *old, int to, const char *new, int flags)
{
    return strange.needs_proc && flags & AT_EMPTY_PATH ? fail_with(ENOENT)
                                                       : __real_linkat(from, old, to, new, flags);
}

int __wrap_renameat(int from, const char *old, int to, const char *new)
{
    call_once(&strange.before_rename);
    return __real_renameat(from, old, to, new);
}

int __wrap_renameat2(int from, const char *old, int to, const char *new, unsigned flags)
{
    if (flags & RENAME_EXCHANGE && !strange.has_no_noreplace)
        call_once(&strange.before_rename);
    return strange.has_no_noreplace && flags ? fail_with(EINVAL)
                                             : __real_renameat2(from, old, to, new, flags);
}

/* lib/chat has one use for it: openat2(2). */
long __wrap_syscall(long number, ...)
{
    long a[4];
    va_list arguments;

    va_start(arguments, number);
    for (size_t i = 0; i < array_size(a); i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    return strange.openat2_failure ? fail_with(strange.openat2_failure)
                                   : __real_syscall(number, a[0], a[1], a[2], a[3]);
}

/* The allocations' (allocations.c), which has none of it. */
char *__wrap_strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = __wrap_malloc(length + 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void in_each_way(void (*test)(void))
{
    static const struct strange ways[] = {{.needs_proc = false},
                                          {.needs_proc = true},
                                          {.has_no_tmpfile = true},
                                          {.has_no_tmpfile = true, .has_no_noreplace = true}};

    for (size_t i = 0; i < array_size(ways); i++) {
        strange = ways[i];
        test();
        clear_chat();
    }
    strange = (struct strange){0};
}

/* ---- The place of a test ---- */

static char place[64];
static size_t descriptors_before;
static long allocations_before;

/* A tree may be deeper than a path may be long. */
static void remove_below(int parent, const char *name)
{
    int fd = __real_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);

    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_below(fd, entry->d_name);
    if (stream)
        closedir(stream);
    assert_int_equal(unlinkat(parent, name, stream ? AT_REMOVEDIR : 0), 0);
}

void clear_chat(void)
{
    struct stat status;

    assert_int_equal(stat("chat", &status), 0);
    remove_below(AT_FDCWD, "chat");
    assert_int_equal(mkdir("chat", 0700), 0);
    assert_int_equal(chown("chat", status.st_uid, status.st_gid), 0);
    assert_int_equal(chmod("chat", status.st_mode & 07777), 0);
}

int enter_place(void **state)
{
    (void)state;
    strange = (struct strange){0};
    why = (struct error){0};
    umask(0);
    strcpy(place, "/tmp/unit-chat.XXXXXX");
    assert_non_null(mkdtemp(place));
    assert_int_equal(chmod(place, 0755), 0); /* other users are tests' */
    assert_int_equal(chdir(place), 0);
    assert_int_equal(mkdir("chat", 0700), 0);
    descriptors_before = open_descriptors();
    allocations_before = allocations_in_use();
    return 0;
}

int leave_place(void **state)
{
    (void)state;
    strange = (struct strange){0};
    refuse_no_more();
    assert_int_equal(chdir("/"), 0);
    remove_below(AT_FDCWD, place);
    assert_int_equal(open_descriptors(), descriptors_before);
    assert_int_equal(allocations_in_use(), allocations_before);
    return 0;
}

/* ---- Files ---- */

static void write_with(const char *path, const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, text, strlen(text)), 0);
    close(fd);
}

void write_text(const char *path, const char *text)
{
    write_with(path, text, O_TRUNC);
}

void append_text(const char *path, const char *text)
{
    write_with(path, text, O_APPEND);
}

void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

void make_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

void assert_text(const char *path, const char *expected)
{
    char *text = read_text_file(path);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

void assert_link(const char *path, const char *target)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text - 1);

    assert_true(length >= 0);
    text[length] = '\0';
    assert_string_equal(text, target);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void assert_names(const char *directory, const char *expected)
{
    char *names[256] = {NULL}, all[4096] = "";
    DIR *stream = opendir(directory);
    size_t count = 0;

    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));) {
        assert_true(count < array_size(names));
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            names[count++] = strdup(entry->d_name);
    }
    closedir(stream);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(all) + strlen(names[i]) + 2 < sizeof all);
        strcat(strcat(all, names[i]), "|");
        free(names[i]);
    }
    assert_string_equal(all, expected);
}

void assert_belongs(const char *path, uid_t owner, mode_t mode)
{
    struct stat status;

    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_uid, owner);
    assert_int_equal(status.st_gid, owner);
    assert_int_equal(status.st_mode & 07777, mode);
}

char pattern_at(size_t position)
{
    return (char)(position * 31 + (position >> 8) * 7 + (position >> 16));
}

void write_pattern(const char *path, size_t size)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    for (size_t i = 0; i < size; i++)
        putc(pattern_at(i), file);
    assert_int_equal(fclose(file), 0);
}

void assert_pattern(const char *path, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t count = 0;

    assert_non_null(file);
    for (int next; (next = getc(file)) != EOF; count++)
        if ((char)next != pattern_at(count))
            fail_msg("%s: byte %zu is another", path, count);
    fclose(file);
    assert_int_equal(count, size);
}

/* ---- Calls of lib/chat ---- */

void open_chat(struct chat *chat)
{
    assert_done(chat_open(chat, "chat", &why));
}

void assert_refusal(int result, int expected, const char *call, const char *file, int line)
{
    if (result != -1 || why.code != expected) {
        print_error("%s:%d: %s: %d, code %d (%s), and should be code %d\n", file, line, call, result,
                    why.code, why.message, expected);
        _fail(file, line);
    }
    _assert_true(why.message[0] != '\0', "a message", file, line);
    why = (struct error){0};
}

void assert_success(int result, const char *call, const char *file, int line)
{
    if (result == 0)
        return;
    print_error("%s:%d: %s: code %d: %s\n", file, line, call, why.code, why.message);
    _fail(file, line);
}

int put(struct chat *chat, const char *path, const char *text, bool *is_replaced)
{
    struct chat_upload upload;
    bool ignored;
    int result = chat_begin(chat, path, &upload, &why);

    if (result == 0)
        result = chat_append(&upload, text, strlen(text), &why);
    if (result == 0)
        result = chat_finish(&upload, is_replaced ? is_replaced : &ignored, &why);
    chat_abandon(&upload);
    return result;
}

struct role {
    uid_t user;
    void (*body)(struct chat *chat);
};

static void play(const void *context)
{
    const struct role *role = context;
    struct chat chat;

    must(setgroups(0, NULL) == 0 && setresgid(role->user, role->user, role->user) == 0 &&
         setresuid(role->user, role->user, role->user) == 0);
    must(chat_open(&chat, "chat", &why) == 0);
    role->body(&chat);
    chat_close(&chat);
}

void as_user(uid_t user, void (*body)(struct chat *chat))
{
    const struct role role = {user, body};

    need(geteuid() == 0, "root, who can be another user");
    in_child(play, &role);
}

/* valgrind's stand-in for openat2(2) knows nothing of mounts. */
static bool sees_mounts(void)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV};
    long fd = __real_syscall(SYS_openat2, AT_FDCWD, "/proc", &how, sizeof how);

    if (fd >= 0)
        close((int)fd);
    return fd < 0;
}

static void check_mounts(const void *context)
{
    (void)context;
    _exit(unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 ? 0 : 1);
}

struct body {
    void (*body)(const void *);
};

static void move_and_play(const void *context)
{
    const struct body *body = context;

    must(unshare(CLONE_NEWNS) == 0 && mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    body->body(NULL);
}

void with_own_mounts(void (*body)(const void *))
{
    const struct body context = {body};

    need(run_child(check_mounts, NULL) == 0, "root who may mount");
    need(sees_mounts(), "openat2(2) of the kernel");
    in_child(move_and_play, &context);
}
