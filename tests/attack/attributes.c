/* What can be learnt of a path, or changed of its attributes, without opening what is there. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int try_stat(const struct scene *scene)
{
    struct stat state;

    if (stat(SECRET(scene), &state) < 0)
        return -1;
    return state.st_size == SECRET_SIZE - 1 ? 0 : failed(EBADMSG);
}

static int try_access(const struct scene *scene)
{
    return access(SECRET(scene), R_OK | W_OK);
}

static int try_readlink(const struct scene *scene)
{
    char target[SECRET_SIZE] = "";

    return readlink(in(scene->other, "link").text, target, sizeof target - 1) < 0
               ? -1
               : equals_secret(scene, target);
}

static int try_statfs(const struct scene *scene)
{
    struct statfs state;

    return statfs(scene->other, &state);
}

static int try_chdir(const struct scene *scene)
{
    char directory[NAME_SIZE];

    if (chdir(scene->other) < 0 || !getcwd(directory, sizeof directory))
        return -1;
    return strcmp(directory, scene->other) == 0 ? 0 : failed(EBADMSG);
}

static int try_path(const struct scene *scene)
{
    return opened(open(SECRET(scene), O_PATH));
}

static int try_handle(const struct scene *scene)
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } room = {.handle.handle_bytes = MAX_HANDLE_SZ};
    int mount;

    return name_to_handle_at(AT_FDCWD, SECRET(scene), &room.handle, &mount, 0);
}

static int try_getxattr(const struct scene *scene)
{
    char value[SECRET_SIZE] = "";

    return getxattr(SECRET(scene), "user.secret", value, sizeof value) < 0 ? -1 : equals_secret(scene, value);
}

/* The victim opens the secret again and again. */
static int learns_of_it(int fd, size_t least)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char events[4096];

    if (poll(&ready, 1, 5000) != 1)
        return failed(ETIMEDOUT);
    return read(fd, events, sizeof events) > (ssize_t)least ? 0 : failed(EBADMSG);
}

static int try_inotify(const struct scene *scene)
{
    int fd = inotify_init1(IN_NONBLOCK);

    return fd < 0 || inotify_add_watch(fd, scene->other, IN_OPEN) < 0
               ? -1
               : learns_of_it(fd, sizeof(struct inotify_event));
}

static int fanotify_on(const char *path)
{
    int fd = fanotify_init(
        FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_NONBLOCK, O_RDONLY);

    return fd < 0 || fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN | FAN_EVENT_ON_CHILD, AT_FDCWD, path) < 0 ? -1
                                                                                                        : fd;
}

static int try_fanotify(const struct scene *scene)
{
    int fd = fanotify_on(scene->other);

    return fd < 0 ? -1 : learns_of_it(fd, sizeof(struct fanotify_event_metadata));
}

static bool secret_state(const struct stage *stage, struct stat *state)
{
    return stat(SECRET(&stage->scene), state) == 0;
}

static int try_chmod(const struct scene *scene)
{
    return chmod(SECRET(scene), 0666);
}

static int try_chmod_path(const struct scene *scene)
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", open(SECRET(scene), O_PATH));
    return chmod(link, 0666);
}

static bool mode_is_changed(const struct stage *stage)
{
    struct stat state;

    return secret_state(stage, &state) && (state.st_mode & 07777) == 0666;
}

/* To the owner that it has: takes the set-user-ID bit away. */
static int try_chown(const struct scene *scene)
{
    return chown(SECRET(scene), getuid(), getgid());
}

static bool bit_is_gone(const struct stage *stage)
{
    struct stat state;

    return secret_state(stage, &state) && !(state.st_mode & S_ISUID);
}

static int try_utime(const struct scene *scene)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    return utimensat(AT_FDCWD, SECRET(scene), times, 0);
}

static bool time_is_changed(const struct stage *stage)
{
    struct stat state;

    return secret_state(stage, &state) && state.st_mtim.tv_sec == 1;
}

static int try_setxattr(const struct scene *scene)
{
    return setxattr(SECRET(scene), "user.secret", "x", 1, 0);
}

static int try_removexattr(const struct scene *scene)
{
    return removexattr(SECRET(scene), "user.secret");
}

static bool xattr_is_changed(const struct stage *stage)
{
    char value[SECRET_SIZE];

    return getxattr(SECRET(&stage->scene), "user.secret", value, sizeof value) != SECRET_SIZE - 1;
}

/* A descriptor that is neither for reading nor for writing asks for no right to the content. */
static int try_flock(const struct scene *scene)
{
    int fd = open(SECRET(scene), O_ACCMODE);

    return fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB);
}

static bool is_locked(const struct stage *stage)
{
    int fd = open(SECRET(&stage->scene), O_RDONLY | O_NONBLOCK), result = flock(fd, LOCK_EX | LOCK_NB);

    close(fd);
    return result < 0;
}

static int try_lease_path(const struct scene *scene)
{
    return fcntl(open(SECRET(scene), O_PATH), F_SETLEASE, F_RDLCK);
}

static int try_lease(const struct scene *scene)
{
    int fd = open(SECRET(scene), O_ACCMODE);

    return fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK);
}

static bool is_leased(const struct stage *stage)
{
    int fd = open(SECRET(&stage->scene), O_WRONLY | O_NONBLOCK);

    return opened(fd) < 0;
}

static int try_ioctl(const struct scene *scene)
{
    int fd = open("/dev/urandom", O_RDONLY), count;

    (void)scene;
    return fd < 0 ? -1 : ioctl(fd, RNDGETENTCNT, &count);
}

static const struct attack rows[] = {
    {"stat", "stat(2): existence, size, owner, times", try_stat, CONTAINER(MOUNTS)},
    {"access", "access(2)", try_access, CONTAINER(MOUNTS)},
    {"readlink", "readlink(2)", try_readlink, CONTAINER(MOUNTS)},
    {"statfs", "statfs(2)", try_statfs, CONTAINER(MOUNTS)},
    {"chdir", "chdir(2)", try_chdir, CONTAINER(MOUNTS)},
    {"open-path", "opening with O_PATH", try_path, CONTAINER(MOUNTS)},
    {"handle", "name_to_handle_at(2)", try_handle, CONTAINER(MOUNTS), FILTERED},
    {"getxattr", "reading an extended attribute", try_getxattr, .need = NEEDS_XATTR, CONTAINER(MOUNTS)},
    {"inotify", "inotify(7): which files of a directory are used", try_inotify, CONTAINER(MOUNTS)},
    {"fanotify", "fanotify(7) likewise", try_fanotify, .need = NEEDS_FANOTIFY, CONTAINER(MOUNTS), FILTERED},
    {"chmod", "chmod(2)", try_chmod, mode_is_changed, CONTAINER(MOUNTS)},
    {"chmod-path", "chmod(2) by an O_PATH descriptor", try_chmod_path, mode_is_changed, CONTAINER(MOUNTS)},
    {"chown", "chown(2)", try_chown, bit_is_gone, CONTAINER(MOUNTS)},
    {"utime", "utimensat(2)", try_utime, time_is_changed, CONTAINER(MOUNTS)},
    {"setxattr", "setting an extended attribute", try_setxattr, xattr_is_changed, NEEDS_XATTR,
     CONTAINER(MOUNTS)},
    {"removexattr", "removing an extended attribute", try_removexattr, xattr_is_changed, NEEDS_XATTR,
     CONTAINER(MOUNTS)},
    {"flock", "flock(2), without opening for reading or writing", try_flock, is_locked, NOBODY},
    {"lease", "a lease, opened neither for reading nor for writing (O_ACCMODE)", try_lease, is_leased,
     CONTAINER(MOUNTS)},
    {"lease-path", "a lease, opened with O_PATH", try_lease_path, is_leased, NOBODY},
    {"ioctl", "ioctl(2) on a device that may be read", try_ioctl, LANDLOCK(5, EACCES)},
};

const struct attack_group attribute_group = {
    .name = "attributes", .title = "Attributes of files that no line allows", ROWS(rows)};
