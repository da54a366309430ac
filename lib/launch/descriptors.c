#include "launch/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>

enum { CLOSE_ON_EXEC = 4 }; /* CLOSE_RANGE_CLOEXEC, close_range(2) */

static int guard_stream(int fd, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0) {
        if (errno == EBADF && openat(AT_FDCWD, "/dev/null", O_RDWR) == fd && fstat(fd, &status) == 0 &&
            S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))
            return 0;
        return error_set(error, LAUNCH_DESCRIPTOR,
                         "descriptor %d is closed and /dev/null cannot stand in for it: %s", fd,
                         strerror(errno));
    }
    if (!S_ISDIR(status.st_mode))
        return 0;
    error_set(error, LAUNCH_DESCRIPTOR, "descriptor %d is a directory, which the program could list", fd);
    return error_hint(error, "give it a file, a pipe or a terminal");
}

int launch_guard_streams(struct error *error)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (guard_stream(fd, error) < 0)
            return -1;
    return 0;
}

int guard_descriptors(const struct launch_request *request, struct error *error)
{
    int flags = request->status_fd < 0 ? O_WRONLY : fcntl(request->status_fd, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
        return error_set(error, LAUNCH_DESCRIPTOR, "--status-fd %d: it is not open for writing",
                         request->status_fd);
    for (size_t i = 0; i < request->pass_fd_count; i++) {
        if (fcntl(request->pass_fds[i], F_GETFD) < 0)
            return error_set(error, LAUNCH_DESCRIPTOR, "--pass-fd %d: it is not open", request->pass_fds[i]);
        if (request->pass_fds[i] == request->status_fd && request->status_fd > STDERR_FILENO)
            return error_set(error, LAUNCH_DESCRIPTOR,
                             "--pass-fd %d: it is the status descriptor, which the program must not have",
                             request->status_fd);
    }
    return 0;
}

/* Whatever cannot be told not to be one, as a terminal that was hung up cannot (EIO), is guarded like one. */
static bool may_be_terminal(int fd)
{
    struct termios attributes;

    return tcgetattr(fd, &attributes) == 0 || (errno != ENOTTY && errno != EBADF);
}

bool has_terminal(const struct launch_request *request)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (may_be_terminal(fd))
            return true;
    for (size_t i = 0; i < request->pass_fd_count; i++)
        if (may_be_terminal(request->pass_fds[i]))
            return true;
    return false;
}

static int pass(int fd, struct error *error)
{
    return fcntl(fd, F_SETFD, 0) < 0 ? system_error(error, "passing a descriptor") : 0;
}

int pass_descriptors(const struct launch *launch, struct error *error)
{
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_ON_EXEC) < 0)
        return system_error(error, "closing descriptors (close_range)");
    for (size_t i = 0; i < launch->request->pass_fd_count; i++)
        if (pass(launch->request->pass_fds[i], error) < 0)
            return -1;
    for (size_t i = 0; i < launch->pipe_count; i++)
        if (pass(launch->pipes[i].fd, error) < 0)
            return -1;
    return 0;
}
