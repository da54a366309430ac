/*
 * Linked into each program that counts what of it runs (COVERAGE): its counts are not lost where it can no longer open their files,
 * being restricted, nor where it ends by _exit(2). libgcov opens them by open(2) when the program ends or executes another one; here they
 * are opened when it starts, and kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define not_counted __attribute__((no_profile_instrument_function))

enum { MOST_FILES = 256, FIRST_FD = 400, LARGEST_FILE = 1 << 20 };

void __gcov_dump(void);
void __gcov_reset(void);
int __real_open(const char *path, int flags, ...);
_Noreturn void __real__exit(int status);
int __wrap_open(const char *path, int flags, ...);
_Noreturn void __wrap__exit(int status);

static struct kept {
    const char *path; /* libgcov's, which stays */
    dev_t device;
    ino_t inode;
    int fd;
} files[MOST_FILES];
static size_t file_count;
static bool is_starting;
static pid_t first_process;

not_counted static bool is_counts(const char *path)
{
    size_t length = strlen(path);

    return length > 5 && !strcmp(path + length - 5, ".gcda");
}

not_counted static void keep(const char *path)
{
    int fd = __real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), high;
    struct stat status;

    if (fd < 0)
        return;
    high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    if (high >= 0 && fstat(high, &status) == 0 && file_count < MOST_FILES)
        files[file_count++] = (struct kept){strdup(path), status.st_dev, status.st_ino, high};
    else if (high >= 0)
        close(high);
    close(fd);
}

/* A descriptor of the file that was kept, unless the program closed it. */
not_counted static int kept_fd(const char *path)
{
    struct stat status;

    for (size_t i = 0; i < file_count; i++)
        if (!strcmp(files[i].path, path) && fstat(files[i].fd, &status) == 0 &&
            status.st_dev == files[i].device && status.st_ino == files[i].inode)
            return fcntl(files[i].fd, F_DUPFD_CLOEXEC, FIRST_FD);
    return -1;
}

/* The program itself and its children; theirs are too many, in trials. */
not_counted static bool is_near(void)
{
    return getpid() == first_process || getppid() == first_process;
}

/* A write beyond the limit on the size of files would end the program. */
not_counted static bool may_be_written(void)
{
    struct rlimit limit;

    return is_near() && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= LARGEST_FILE;
}

not_counted static int open_counts(const char *path, int flags)
{
    int fd;

    if (is_starting)
        keep(path);
    if (!may_be_written()) /* to be thrown away */
        return __real_open("/dev/null", O_RDWR | O_CLOEXEC);
    if (is_starting)
        return memfd_create(
            "counts", MFD_CLOEXEC); /* not /dev/null, for which all programs would wait: libgcov locks it */
    fd = kept_fd(path);
    return fd < 0 ? __real_open(path, flags, 0666) : lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
}

not_counted int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode;

    if (is_counts(path))
        return open_counts(path, flags);
    va_start(arguments, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return __real_open(path, flags, mode);
}

not_counted _Noreturn void __wrap__exit(int status)
{
    if (is_near())
        __gcov_dump();
    __real__exit(status);
}

/* libgcov tells the names of its files by opening them. */
__attribute__((constructor)) not_counted static void begin(void)
{
    int failure = errno;

    first_process = getpid();
    is_starting = true;
    __gcov_dump();
    __gcov_reset();
    is_starting = false;
    errno = failure;
}
