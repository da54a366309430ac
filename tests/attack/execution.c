/* Running what may not be executed, and re-opening what may not be opened. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int try_execute(const struct scene *scene)
{
    return witnessed(in(scene->other, "program").text, "witness", -1);
}

static int try_execute_own(const struct scene *scene)
{
    return witnessed(in(scene->work, "program").text, "witness", -1);
}

static int try_execute_path(const struct scene *scene)
{
    return witnessed("program", "witness", open(in(scene->work, "program").text, O_PATH));
}

static int try_loader(const struct scene *scene)
{
#ifdef __aarch64__
    const char *loader = "/lib/ld-linux-aarch64.so.1";
#else
    const char *loader = "/lib64/ld-linux-x86-64.so.2";
#endif
    return witnessed(loader, in(scene->work, "payload").text, -1);
}

static int try_memory(const struct scene *scene)
{
    int from = open(in(scene->work, "program").text, O_RDONLY), to = memfd_create("program", MFD_CLOEXEC);

    while (from >= 0 && to >= 0 && sendfile(to, from, NULL, 1 << 20) > 0)
        ;
    return witnessed("program", "witness", to);
}

static int try_set_user(const struct scene *scene)
{
    return witnessed(in(scene->shared, "set-user").text, "witness-root", -1);
}

static int try_core(const struct scene *scene)
{
    const struct rlimit limit = {1 << 20, 1 << 20};

    (void)scene;
    return setrlimit(RLIMIT_CORE, &limit);
}

static int try_environment(const struct scene *scene)
{
    const char *secret = getenv("SECRET");

    return secret ? equals_secret(scene, secret) : failed(ENODATA);
}

static const struct attack executions[] = {
    {"program", "executing a file", try_execute, .need = NEEDS_EXECUTABLE, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"written", "executing what it may write", try_execute_own, .need = NEEDS_EXECUTABLE,
     LANDLOCK(1, EACCES)},
    {"written-path", "the same by an O_PATH descriptor", try_execute_path, .need = NEEDS_EXECUTABLE,
     LANDLOCK(1, EACCES)},
    {"loader", "the same by the ELF loader, which may be executed", try_loader, .need = NEEDS_LOADER},
    {"memory", "executing from memory (memfd_create(2))", try_memory, NEVER},
    {"set-user-id", "gaining a user by a set-user-ID program", try_set_user, .need = NEEDS_ROOT,
     LAUNCHER(PRIVILEGES, EBADMSG), CONTAINER(MOUNTS)},
    {"core", "allowing core dumps", try_core, .need = NEEDS_CORE_LIMIT, LAUNCHER(LIMITS, EPERM)},
    {"environment", "the caller's environment", try_environment, LAUNCHER(ENVIRONMENT, ENODATA),
     CONTAINER(ENVIRONMENT)},
};

const struct attack_group execution_group = {
    .name = "execute", .title = "Programs, and what they inherit", ROWS(executions)};

/* ---- Re-opening ---- */

static int by_link(const struct scene *scene, const char *folder, const char *rest)
{
    struct path path;

    snprintf(path.text, sizeof path.text, "%s%s/secret", folder, rest);
    return reads_secret(scene, open(path.text, O_RDONLY));
}

static int try_root(const struct scene *scene)
{
    return by_link(scene, "/proc/self/root", scene->other);
}

static int try_directory(const struct scene *scene)
{
    return chdir(scene->other) < 0 ? -1 : by_link(scene, "/proc/self/cwd", "");
}

static int try_relative(const struct scene *scene)
{
    return chdir(scene->other) < 0 ? -1 : reads_secret(scene, open("secret", O_RDONLY));
}

static int reopens(const struct scene *scene, int fd, const char *rest)
{
    struct path path;

    if (fd < 0)
        return -1;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d%s", fd, rest);
    return reads_secret(scene, open(path.text, O_RDONLY));
}

static int try_path_file(const struct scene *scene)
{
    return reopens(scene, open(SECRET(scene), O_PATH), "");
}

static int try_path_directory(const struct scene *scene)
{
    return reopens(scene, open(scene->other, O_PATH), "/secret");
}

static int try_at(const struct scene *scene)
{
    int fd = open(scene->other, O_PATH);

    return fd < 0 ? -1 : reads_secret(scene, openat(fd, "secret", O_RDONLY));
}

static int try_empty(const struct scene *scene)
{
    int fd = open(SECRET(scene), O_PATH);

    return fd < 0 ? -1 : reads_secret(scene, openat(fd, "", O_RDONLY));
}

static int try_above(const struct scene *scene)
{
    const char *name = strrchr(scene->other, '/');
    struct path up;

    snprintf(up.text, sizeof up.text, "%s/..%s", scene->work, name ? name : "");
    return reads_secret(scene, open(in(up.text, "secret").text, O_RDONLY));
}

static int try_uring(const struct scene *scene)
{
    return reads_secret(scene, uring_open(SECRET(scene), false));
}

static int try_uring_thread(const struct scene *scene)
{
    return reads_secret(scene, uring_open(SECRET(scene), true));
}

static int try_handle(const struct scene *scene)
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } room = {.handle.handle_bytes = MAX_HANDLE_SZ};
    int mount;

    if (name_to_handle_at(AT_FDCWD, SECRET(scene), &room.handle, &mount, 0) < 0)
        return -1;
    return reads_secret(scene, open_by_handle_at(AT_FDCWD, &room.handle, O_RDONLY));
}

static const struct attack reopenings[] = {
    {"root", "/proc/self/root", try_root, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"directory", "/proc/self/cwd, after chdir(2)", try_directory, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"relative", "a relative path, after chdir(2)", try_relative, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"above", "a path that goes up from an allowed directory", try_above, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"path-file", "/proc/self/fd of a file that is open with O_PATH", try_path_file, LANDLOCK(1, EACCES),
     CONTAINER(MOUNTS)},
    {"path-directory", "/proc/self/fd of a directory that is open with O_PATH", try_path_directory,
     LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"at", "openat(2) from it", try_at, LANDLOCK(1, EACCES), CONTAINER(MOUNTS)},
    {"empty", "openat(2) with an empty path", try_empty, NOBODY},
    {"uring", "io_uring(7)", try_uring, .need = NEEDS_URING, LANDLOCK(1, EACCES), FILTER_FROM(4, ENOSYS),
     CONTAINER(MOUNTS)},
    {"uring-thread", "a thread of io_uring(7)", try_uring_thread, .need = NEEDS_URING, LANDLOCK(1, EACCES),
     FILTER_FROM(4, ENOSYS), CONTAINER(MOUNTS)},
    {"handle", "open_by_handle_at(2)", try_handle, NOBODY},
};

const struct attack_group reopening_group = {
    .name = "reopen", .title = "Other ways to open such a file for reading", ROWS(reopenings)};
