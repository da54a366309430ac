/*
 * The least that a program could do to check its container by the libraries that the project has decided on: it reads the mounts by
 * libmount and the capabilities by libcap-ng, in its own process, and looks at every mount point. It judges as the helper does, but
 * knows a writable mount by its point alone.
 */
#include "bench.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_the_user(void)
{
    char text[4096], *at;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, text, sizeof text - 1);

    close(fd);
    text[size < 0 ? 0 : size] = '\0';
    at = strstr(text, "\nUid:");
    for (int i = 0; at && i < 4; i++)
        if (strtoul(i ? at : at + 5, &at, 10) != CONTAINER_USER)
            return false;
    return at;
}

static bool has_no_capability(void)
{
    return capng_get_caps_process() == 0 && capng_have_capabilities(CAPNG_SELECT_ALL) == CAPNG_NONE &&
           capng_have_capabilities(CAPNG_SELECT_AMBIENT) == CAPNG_NONE;
}

static bool look_at(const char *path, struct statx *status)
{
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
                 STATX_TYPE | STATX_MNT_ID, status) == 0;
}

static bool is_known(const char *point)
{
    static const char *const known[] = {"/proc",    "/dev", "/dev/pts", "/dev/mqueue",
                                        "/dev/shm", "/tmp", "/sandbox"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(point, known[i]))
            return true;
    return !strncmp(point, "/proc/", 6) && !strchr(point + 6, '/');
}

static bool check_mount(struct libmnt_fs *fs, const uint64_t read_only[static 2])
{
    const char *point = mnt_fs_get_target(fs);
    uint64_t id = (uint64_t)mnt_fs_get_id(fs);
    struct statx status;

    if (look_at(point, &status) && S_ISSOCK(status.stx_mode))
        return false;
    if (mnt_optstr_get_option(mnt_fs_get_vfs_options(fs), "ro", NULL, NULL) == 0)
        return true;
    return is_known(point) && id != read_only[0] && id != read_only[1];
}

static bool look_at_places(uint64_t read_only[static 2])
{
    static const char *const named[] = CONTAINER_READ_ONLY, *const writable[] = CONTAINER_WRITABLE;
    struct statx status;

    for (size_t i = 0; i < 2; i++) {
        if (!look_at(named[i], &status))
            return false;
        read_only[i] = status.stx_mnt_id;
    }
    return look_at(writable[0], &status) && look_at(writable[1], &status);
}

int check_container(void)
{
    struct libmnt_table *table = mnt_new_table();
    struct libmnt_iter *at = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    uint64_t read_only[2];

    if (!table || !at || !is_the_user() || !has_no_capability() || !look_at_places(read_only) ||
        mnt_table_parse_file(table, "/proc/self/mountinfo") < 0)
        return -1;
    while (mnt_table_next_fs(table, at, &fs) == 0)
        if (!check_mount(fs, read_only))
            return -1;
    mnt_free_iter(at);
    mnt_unref_table(table);
    return 0;
}
