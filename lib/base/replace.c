#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>

enum { RANDOM_SIZE = 16, RANDOM_DIGITS = 2 * RANDOM_SIZE };
static const char hexadecimal[] = "0123456789abcdef";

int random_digits(char *digits, size_t count)
{
    unsigned char bytes[RANDOM_SIZE];

    for (size_t i = 0; i < count; i++) {
        size_t at = i / 2 % sizeof bytes;

        if (i % (2 * sizeof bytes) == 0)
            for (ssize_t got; (got = getrandom(bytes, sizeof bytes, 0)) != sizeof bytes;)
                if (got < 0 && errno != EINTR)
                    return -1;
        digits[i] = hexadecimal[i % 2 ? bytes[at] & 0xf : bytes[at] >> 4];
    }
    digits[count] = '\0';
    explicit_bzero(bytes, sizeof bytes);
    return 0;
}

int open_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    auto_free char *parent = slash ? text_of("%.*s/", (int)(slash - path), path) : text_of(".");

    *name = slash ? slash + 1 : path;
    return parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int replacement_open(struct replacement *replacement, int directory, const char *prefix)
{
    size_t length = strlen(prefix);

    *replacement = (struct replacement){.fd = -1, .directory = directory};
    if (length + RANDOM_DIGITS >= sizeof replacement->name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(replacement->name, prefix, length);
    if (random_digits(replacement->name + length, RANDOM_DIGITS) < 0)
        return -1;
    replacement->fd =
        openat(directory, replacement->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return replacement->fd < 0 ? -1 : 0;
}

void replacement_drop(struct replacement *replacement)
{
    int failure = errno;

    if (replacement->fd >= 0) {
        unlinkat(replacement->directory, replacement->name, 0);
        close(take_fd(&replacement->fd));
    }
    errno = failure;
}

/* The entry of a directory; there are file systems on which it cannot be asked for, and needs not be. */
static int sync_directory(int directory)
{
    return fsync(directory) == 0 || errno == EINVAL ? 0 : -1;
}

int replacement_place(struct replacement *replacement, const char *name)
{
    if (fsync(replacement->fd) < 0 ||
        renameat(replacement->directory, replacement->name, replacement->directory, name) < 0) {
        replacement_drop(replacement);
        return -1;
    }
    close(take_fd(&replacement->fd));
    return sync_directory(replacement->directory);
}

/* Whether it is a name that replacement_open() gives. */
static bool is_left_over(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);

    return !strncmp(name, prefix, length) && strlen(name + length) == RANDOM_DIGITS &&
           strspn(name + length, hexadecimal) == RANDOM_DIGITS;
}

void replacement_sweep(int directory, const char *prefix)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);

    if (!entries) {
        cleanup_close(&fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries));) {
        struct stat status;

        if (is_left_over(entry->d_name, prefix) &&
            fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
            unlinkat(directory, entry->d_name, 0);
    }
    closedir(entries);
}
