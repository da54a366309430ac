/* The caller's terminal, which is the standard error, and the controlling terminal. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static int try_type(const struct scene *scene)
{
    (void)scene;
    return ioctl(STDERR_FILENO, TIOCSTI, "x");
}

/* The kernel looks at the lower half of the request only. */
static int try_type_64(const struct scene *scene)
{
    (void)scene;
    return (int)syscall(SYS_ioctl, STDERR_FILENO, TIOCSTI | 1L << 32, "x");
}

#ifdef __x86_64__
/* The 32-bit system calls know addresses below 4 GiB only: this one is, in a static executable. */
static int try_type_32(const struct scene *scene)
{
    static const char byte[] = "x";
    long result;

    (void)scene;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(54L), "b"((long)STDERR_FILENO), "c"((long)TIOCSTI), "d"(byte)
                     : "memory", "r8", "r9", "r10", "r11");
    return result < 0 ? failed((int)-result) : 0;
}

#endif

static int try_again(const struct scene *scene)
{
    int fd = open("/dev/tty", O_RDWR);

    (void)scene;
    return fd < 0 ? -1 : ioctl(fd, TIOCSTI, "x");
}

static bool is_typed(const struct stage *stage)
{
    struct pollfd ready = {.fd = stage->slave, .events = POLLIN};
    char byte;

    return poll(&ready, 1, 100) == 1 && read(stage->slave, &byte, 1) == 1;
}

static int try_write(const struct scene *scene)
{
    (void)scene;
    return write(STDERR_FILENO, "x", 1) == 1 ? 0 : -1;
}

static bool is_written(const struct stage *stage)
{
    struct pollfd ready = {.fd = stage->master, .events = POLLIN};
    char byte;

    return poll(&ready, 1, 1000) == 1 && read(stage->master, &byte, 1) == 1;
}

static int try_settings(const struct scene *scene)
{
    struct termios settings;

    (void)scene;
    if (tcgetattr(STDERR_FILENO, &settings) < 0)
        return -1;
    settings.c_cc[VEOL2] = 7;
    return tcsetattr(STDERR_FILENO, TCSANOW, &settings);
}

static bool is_set(const struct stage *stage)
{
    struct termios settings;

    return tcgetattr(stage->slave, &settings) == 0 && settings.c_cc[VEOL2] == 7;
}

static const struct attack rows[] = {
    {"type", "typing into it (TIOCSTI)", try_type, is_typed, NEEDS_TIOCSTI, LAUNCHER(TERMINAL, EPERM),
     CONTAINER(DESCRIPTORS)},
    {"type-high-bits", "the same with more bits in the request", try_type_64, is_typed, NEEDS_TIOCSTI,
     LAUNCHER(TERMINAL, EPERM), CONTAINER(DESCRIPTORS)},
#ifdef __x86_64__
    {"type-32", "the same by the 32-bit system calls", try_type_32, is_typed, NEEDS_IA32,
     LAUNCHER(TERMINAL, ENOSYS), CONTAINER(DESCRIPTORS)},
#endif
    {"reopen", "opening /dev/tty", try_again, is_typed, NEEDS_TIOCSTI, LANDLOCK(1, EACCES),
     CONTAINER(DESCRIPTORS)},
    {"write", "writing to it", try_write, is_written, CONTAINER(DESCRIPTORS)},
    {"settings", "changing its settings", try_settings, is_set, CONTAINER(DESCRIPTORS)},
};

const struct attack_group terminal_group = {
    .name = "terminal", .title = "The caller's terminal, where it is passed", ROWS(rows)};
