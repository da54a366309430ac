/*
 * openat2(2) for programs under a valgrind that does not know it and answers ENOSYS: preloaded, syscall(3) makes it of
 * openat(2), a component at a time where no symbolic link may be followed. All other calls pass through.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One component; a link is none of them. Closes `directory` if it is one of ours. */
static int open_next(int directory, int outer, const char *name, int flags)
{
    bool is_any = flags & O_PATH; /* a link, too, which is not told by O_DIRECTORY */
    int fd = openat(directory, name, (is_any ? flags & ~O_DIRECTORY : flags) | O_NOFOLLOW | O_CLOEXEC),
        failure = errno;
    struct stat status;

    if (directory != outer)
        close(directory);
    errno = failure;
    if (fd < 0 || fstat(fd, &status) < 0)
        return fd;
    if (!S_ISLNK(status.st_mode) && (S_ISDIR(status.st_mode) || !(flags & O_DIRECTORY)))
        return fd;
    close(fd);
    errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
    return -1;
}

static int open_without_links(int outer, const char *path, int flags)
{
    char rest[PATH_MAX], *next = rest;
    int fd = path[0] == '/' ? openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC) : outer;

    if (strlen(path) >= sizeof rest) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(rest, path);
    while (next && (fd >= 0 || fd == outer)) {
        char *name = next + strspn(next, "/"), *slash = strchr(name, '/');

        if (slash)
            *slash = '\0';
        fd = open_next(fd, outer, *name ? name : ".", slash ? O_PATH : flags);
        next = fd >= 0 && slash ? slash + 1 : NULL;
    }
    return fd;
}

static long stand_in(int directory, const char *path, const struct open_how *how)
{
    if (how->resolve & RESOLVE_NO_SYMLINKS)
        return open_without_links(directory, path, (int)how->flags);
    return openat(directory, path, (int)how->flags, (mode_t)how->mode);
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list arguments;

    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_openat2)
        return stand_in((int)a[0], (const char *)a[1], (const struct open_how *)a[2]);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
