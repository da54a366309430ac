#include "launch/internal.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#ifndef HELPER_DEADLINE_MS
#define HELPER_DEADLINE_MS 10000
#endif

enum { MOST_OUTPUT = 1 << 20 };

static int say_helper(struct error *error, const char *why)
{
    return error_set(error, LAUNCH_CONTAINER, "container: " CHECK_CONTAINER ": %s", why);
}

/* Of the helper's file. */
static int say_file(struct error *error, const char *why)
{
    say_helper(error, why);
    return error_hint(error, "install landlock-exec whole: cmake --install puts the helper there, root's and "
                             "writable by nobody else");
}

/* Of whose the file is. */
static int say_no_proc(struct error *error)
{
    error_set(error, LAUNCH_CONTAINER,
              "container: " CHECK_CONTAINER ": whether it is root's cannot be told: /proc: %s",
              strerror(errno));
    return error_hint(error, "mount /proc");
}

/* Of a system call that failed. */
static int say_errno(struct error *error)
{
    int failure = errno;

    say_helper(error, strerror(failure));
    return failure == EAGAIN ? error_hint(error, "it is a process of its own: allow one more (docker run "
                                                 "--pids-limit, ulimit -u)")
                             : -1;
}

/* The helper's word lets a program run: it must be as trusted as the policy. */
static int open_helper(struct error *error)
{
    auto_close int fd = openat(AT_FDCWD, CHECK_CONTAINER, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct object object;
    int is_owned;

    if (fd < 0 || object_of(fd, &object) < 0)
        return say_file(error, strerror(errno));
    if (!S_ISREG(object.mode))
        return say_file(error, "is not a regular file");
    is_owned = uid_is_roots_or_own(object.uid);
    if (is_owned < 0)
        return say_no_proc(error);
    if (!is_owned)
        return say_file(error, "belongs to another user");
    if (object.mode & (S_IWGRP | S_IWOTH))
        return say_file(error, "others may write it");
    return take_fd(&fd);
}

/* ---- The child ---- */

/* Returns only on failure: what failed. */
static const char *execute(int helper, int output, int complaints, char *const *arguments)
{
    static char *const nothing[] = {NULL};
    int null = openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC);

    if (null < 0)
        return "/dev/null";
    if (dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(complaints, STDERR_FILENO) < 0 ||
        syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        return "passing descriptors";
    syscall(SYS_execveat, helper, "", arguments, nothing, AT_EMPTY_PATH);
    return "executing it";
}

static _Noreturn void become_helper(int helper, int output, int complaints, char *const *arguments)
{
    const char *what;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no helper without a launcher */
    what = execute(helper, output, complaints, arguments);
    dprintf(complaints, "%s: %s", what, strerror(errno));
    _exit(CONTAINER_NOT_CHECKED);
}

/* ---- Its signal: a child that has executed something ends with SIGCHLD, whatever clone(2) is told ---- */

struct child_signal {
    struct sigaction action;
    sigset_t mask;
    bool was_pending;
};

static sigset_t child_signal_alone(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return set;
}

static bool loses_children(const struct sigaction *action)
{
    return action->sa_handler == SIG_IGN || action->sa_flags & SA_NOCLDWAIT;
}

/* Where the caller ignores SIGCHLD a child vanishes, and its exit status with it. 0, or -1 with errno. */
static int expect_signal(struct child_signal *before)
{
    sigset_t set = child_signal_alone(), pending;

    if (sigprocmask(SIG_BLOCK, &set, &before->mask) < 0 || sigpending(&pending) < 0 ||
        sigaction(SIGCHLD, NULL, &before->action) < 0)
        return -1;
    before->was_pending = sigismember(&pending, SIGCHLD) == 1;
    return loses_children(&before->action)
               ? sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL)
               : 0;
}

/* The program must not meet the helper's signal, where the caller blocks it. 0, or -1 with errno. */
static int forget_signal(const struct child_signal *before)
{
    sigset_t set = child_signal_alone();

    if (!before->was_pending)
        sigtimedwait(&set, NULL, &(struct timespec){0}); /* fails where there is none */
    if (loses_children(&before->action)) {
        if (sigaction(SIGCHLD, &before->action, NULL) < 0)
            return -1;
        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0) /* the caller's, that ended meanwhile */
            continue;
    }
    return sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* ---- Waiting for it, up to a point in time ---- */

static const char too_slow[] = "did not end in time";

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* NULL when `fd` is readable, or its other side closed; else why it is not waited for any longer. */
static const char *wait_for(int fd, int64_t deadline)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int count;

    do {
        int64_t left = deadline - now_ms();

        count = poll(&poll_fd, 1, left > 0 ? (int)left : 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0)
        return strerror(errno);
    return count ? NULL : too_slow;
}

/* Reads all that the helper writes. NULL, or why it could not be. */
static const char *read_output(int fd, int64_t deadline, struct helper_answer *answer)
{
    enum { PART = 4096 };
    size_t capacity = 0;
    ssize_t count;

    do {
        const char *fault = wait_for(fd, deadline);

        if (fault)
            return fault;
        if (array_reserve(&answer->bytes, &capacity, answer->size + PART, 1) < 0)
            return "out of memory";
        count = read(fd, answer->bytes + answer->size, PART);
        if (count < 0 && errno != EINTR)
            return strerror(errno);
        answer->size += count > 0 ? (size_t)count : 0;
    } while (count && answer->size < MOST_OUTPUT);
    return count ? "says too much" : NULL;
}

static const char *wait_for_end(pid_t child, int handle, int64_t deadline, struct helper_answer *answer)
{
    const char *fault = wait_for(handle, deadline);

    if (fault)
        return fault;
    return waitpid(child, &answer->status, __WALL) == child ? NULL : strerror(errno);
}

/* One that waits for a file system that does not answer may not end even so: it is left to the kernel, and nothing runs. */
static void end_child(pid_t child, int handle)
{
    enum { GRACE_MS = 1000 };

    kill(child, SIGKILL);
    if (handle < 0 || !wait_for(handle, now_ms() + GRACE_MS))
        waitpid(child, NULL, __WALL);
}

/* ---- Together ---- */

/* On one line, without the last newline. */
static void read_complaint(int fd, struct helper_answer *answer)
{
    size_t size = sizeof answer->complaint - 1, length;
    ssize_t count = read(fd, answer->complaint, size);

    answer->complaint[count > 0 ? count : 0] = '\0';
    length = strlen(answer->complaint);
    while (length && answer->complaint[length - 1] == '\n')
        answer->complaint[--length] = '\0';
    for (char *at = answer->complaint; *at; at++)
        if (*at == '\n')
            *at = ' ';
}

static int attend(pid_t child, int output, int complaints, struct helper_answer *answer, struct error *error)
{
    auto_close int handle = (int)syscall(SYS_pidfd_open, child, 0);
    int64_t deadline = now_ms() + HELPER_DEADLINE_MS;
    const char *fault;

    if (handle < 0) {
        error_set(error, LAUNCH_CONTAINER, "container: " CHECK_CONTAINER ": pidfd_open: %s", strerror(errno));
        error_hint(error, "a seccomp profile or an emulator keeps it from being waited for: allow "
                          "pidfd_open");
        end_child(child, handle);
        return -1;
    }
    fault = read_output(output, deadline, answer);
    if (!fault)
        fault = wait_for_end(child, handle, deadline, answer);
    if (fault) {
        say_helper(error, fault);
        if (fault == too_slow)
            error_hint(error, "a mount that does not answer, of a network or of FUSE? leave it out of the "
                              "container");
        end_child(child, handle);
        return -1;
    }
    read_complaint(complaints, answer);
    return 0;
}

/* A pipe, close-on-exec. 0, or -1 with errno. */
static int open_pipe(int *reading, int *writing, int flags)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | flags) < 0)
        return -1;
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

/* The child's ends of the pipes are its alone, once there is one. */
struct pipes {
    int reading, writing, hearing, complaining;
};

static void close_pipes(const struct pipes *pipes)
{
    cleanup_close(&pipes->reading);
    cleanup_close(&pipes->writing);
    cleanup_close(&pipes->hearing);
    cleanup_close(&pipes->complaining);
}

static int run_child(int helper, struct pipes *pipes, char *const *arguments, struct helper_answer *answer,
                     struct error *error)
{
    pid_t child = fork();

    if (child == 0)
        become_helper(helper, pipes->writing, pipes->complaining, arguments);
    if (child < 0)
        return say_errno(error);
    close(take_fd(&pipes->writing));
    close(take_fd(&pipes->complaining));
    return attend(child, pipes->reading, pipes->hearing, answer, error);
}

int run_helper(char *const *arguments, struct helper_answer *answer, struct error *error)
{
    auto_close int helper = open_helper(error);
    __attribute__((cleanup(close_pipes))) struct pipes pipes = {-1, -1, -1, -1};
    struct child_signal before;
    int result;

    if (helper < 0)
        return -1;
    /* what it complains of may get lost, and never blocks it */
    if (open_pipe(&pipes.reading, &pipes.writing, 0) < 0 ||
        open_pipe(&pipes.hearing, &pipes.complaining, O_NONBLOCK) < 0)
        return say_errno(error);
    if (expect_signal(&before) < 0)
        return system_error(error, "container: its helper's signal");
    result = run_child(helper, &pipes, arguments, answer, error);
    if (forget_signal(&before) < 0)
        return system_error(error, "container: its helper's signal");
    return result;
}
