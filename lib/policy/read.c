#include "policy/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int refuse(char *reason, size_t size, int error, const char *text)
{
    snprintf(reason, size, "%s", text);
    return error;
}

static int judge_owner(uid_t uid, char *reason, size_t size)
{
    int is_good = uid_is_roots_or_own(uid), failure = errno;

    if (is_good > 0)
        return 0;
    if (is_good == 0)
        return refuse(reason, size, EPERM,
                      "it belongs to another user; a policy must be root's or the caller's own (chown root "
                      "FILE)");
    snprintf(reason, size, "whether it is root's cannot be told: /proc: %s (mount /proc)", strerror(failure));
    return failure;
}

static int judge(const struct stat *status, char *reason, size_t size)
{
    int fault;

    if (S_ISDIR(status->st_mode))
        return refuse(reason, size, EISDIR, "it is a directory, not a regular file");
    if (!S_ISREG(status->st_mode))
        return refuse(reason, size, EINVAL, "it is not a regular file");
    fault = judge_owner(status->st_uid, reason, size);
    if (fault)
        return fault;
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return refuse(reason, size, EPERM,
                      "others may write it; a policy must be writable by its owner alone (chmod go-w FILE)");
    if (status->st_size > POLICY_MAX_FILE_SIZE)
        return refuse(reason, size, EFBIG, "it is larger than 8 MiB");
    return 0;
}

/* Reads what fstat(2) announced, and sees that there is not more and not less. */
static int read_whole(int fd, const struct stat *status, char **text, size_t *size, char *reason,
                      size_t reason_size)
{
    size_t expected = (size_t)status->st_size;
    auto_free char *bytes = malloc(expected + 2);
    ssize_t count = 1;
    int is_same;

    *size = 0;
    if (!bytes)
        return refuse(reason, reason_size, ENOMEM, "out of memory");
    while (*size < expected && count) {
        count = read(fd, bytes + *size, expected + 1 - *size);
        if (count < 0 && errno != EINTR)
            return refuse(reason, reason_size, errno, strerror(errno));
        *size += count > 0 ? (size_t)count : 0;
    }
    is_same = is_as_before(fd, status);
    if (is_same < 0)
        return refuse(reason, reason_size, errno, strerror(errno));
    if (*size != expected || !is_same)
        return refuse(reason, reason_size, EBUSY, "it changed while it was read; start again");
    *text = bytes;
    bytes = NULL;
    return 0;
}

int policy_read_file(void *context, const char *name, char **text, size_t *size, uint64_t *device,
                     uint64_t *inode, char *reason, size_t reason_size)
{
    auto_close int fd = openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    int fault;

    (void)context;
    if (fd < 0 || fstat(fd, &status) < 0)
        return refuse(reason, reason_size, errno, strerror(errno));
    fault = judge(&status, reason, reason_size);
    if (fault)
        return fault;
    *device = status.st_dev;
    *inode = status.st_ino;
    return read_whole(fd, &status, text, size, reason, reason_size);
}
