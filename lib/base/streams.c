#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Opens /dev/null as `fd`, which is closed, as all below it are not. */
static int stand_in(int fd, int code, struct error *error)
{
    int opened = openat(AT_FDCWD, "/dev/null", O_RDWR);
    const char *why = opened < 0 ? strerror(errno) : "it is not the null device";
    struct stat status;

    if (opened == fd && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
        return 0;
    cleanup_close(&opened); /* nothing is to be written into it */
    return error_set(error, code, "descriptor %d is closed and /dev/null cannot stand in for it: %s", fd,
                     why);
}

int stand_in_for_streams(int code, unsigned *stand_ins, struct error *error)
{
    *stand_ins = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat status;

        if (fstat(fd, &status) == 0)
            continue;
        if (errno != EBADF)
            return error_set(error, code, "descriptor %d: %s", fd, strerror(errno));
        *stand_ins |= 1U << fd;
        if (stand_in(fd, code, error) < 0)
            return -1;
    }
    return 0;
}
