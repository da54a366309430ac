#include "launch/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <termios.h>

enum { CLOSE_ON_EXEC = 4 }; /* CLOSE_RANGE_CLOEXEC, close_range(2) */

static int refuse_directory(int fd, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_set(error, LAUNCH_DESCRIPTOR, "descriptor %d: %s", fd, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return 0;
    error_set(error, LAUNCH_DESCRIPTOR, "descriptor %d is a directory, which the program could list", fd);
    return error_hint(error, "give it a file, a pipe or a terminal");
}

int launch_guard_streams(unsigned *stand_ins, struct error *error)
{
    if (stand_in_for_streams(LAUNCH_DESCRIPTOR, stand_ins, error) < 0)
        return -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (refuse_directory(fd, error) < 0)
            return -1;
    return 0;
}

/* The flags of a descriptor that the caller named; -1 with errno EBADF for one that the caller had closed. */
static int caller_flags(const struct launch_request *request, int fd)
{
    if ((unsigned)fd > STDERR_FILENO || !(request->stand_ins & 1U << fd))
        return fcntl(fd, F_GETFL);
    errno = EBADF;
    return -1;
}

/* For errno; `what`: where that is EBADF. */
static int say_descriptor(const char *option, int fd, const char *what, struct error *error)
{
    return error_set(error, LAUNCH_DESCRIPTOR, "%s %d: %s", option, fd,
                     errno == EBADF ? what : strerror(errno));
}

static int guard_status(const struct launch_request *request, struct error *error)
{
    int flags = request->status_fd < 0 ? O_WRONLY : caller_flags(request, request->status_fd);

    if (flags >= 0 && ((flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)) {
        flags = -1;
        errno = EBADF; /* as write(2) would say */
    }
    return flags < 0 ? say_descriptor("--status-fd", request->status_fd, "it is not open for writing", error)
                     : 0;
}

int guard_descriptors(const struct launch_request *request, struct error *error)
{
    if (guard_status(request, error) < 0)
        return -1;
    for (size_t i = 0; i < request->pass_fd_count; i++) {
        int fd = request->pass_fds[i];

        if (caller_flags(request, fd) < 0)
            return say_descriptor("--pass-fd", fd, "it is not open", error);
        if (fd == request->status_fd && fd > STDERR_FILENO)
            return error_set(error, LAUNCH_DESCRIPTOR,
                             "--pass-fd %d: it is the status descriptor, which the program must not have",
                             fd);
    }
    return 0;
}

/* Whatever cannot be told not to be one, as a terminal that was hung up cannot (EIO), is guarded like one. */
static bool may_be_terminal(int fd)
{
    struct termios attributes;

    return tcgetattr(fd, &attributes) == 0 || (errno != ENOTTY && errno != EINVAL);
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

/* Marks all above 2 to be closed, and proves it on one that was not: a seccomp filter can let a call succeed that is not made. */
static int close_all(struct error *error)
{
    int sample = fcntl(STDIN_FILENO, F_DUPFD, STDERR_FILENO + 1);

    if (sample < 0)
        return system_error(error, "closing descriptors");
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_ON_EXEC) < 0) {
        system_error(error, "closing descriptors (close_range)");
        return error_hint(error, "use Linux 5.11 or newer, and a seccomp profile that knows the call");
    }
    if (fcntl(sample, F_GETFD) == FD_CLOEXEC)
        return 0;
    return error_set(error, LAUNCH_SYSTEM, "closing descriptors: close_range is accepted without effect");
}

int pass_descriptors(const struct launch *launch, struct error *error)
{
    if (close_all(error) < 0)
        return -1;
    for (size_t i = 0; i < launch->request->pass_fd_count; i++)
        if (pass(launch->request->pass_fds[i], error) < 0)
            return -1;
    for (size_t i = 0; i < launch->pipe_count; i++)
        if (pass(launch->pipes[i].fd, error) < 0)
            return -1;
    return 0;
}
