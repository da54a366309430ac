/*
 * Tries operations and prints, a line each, OK or the name of the errno:
 *
 *     attempt OPERATION [ARGUMENT...] [, OPERATION [ARGUMENT...]]...
 *
 * Static, so that a policy need allow nothing but this one file. The operations are in the table at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIOCLINUX_REQUEST 0x541C

static int number(const char *text)
{
    return (int)strtol(text, NULL, 0);
}

/* Closes what was opened; the descriptor and errno say how it went. */
static int done(int fd)
{
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

/* Answers of pthread-like functions, which are errno values. */
static int with(int failure)
{
    errno = failure;
    return failure ? -1 : 0;
}

/* ---- Files ---- */

static int try_read(char **a)
{
    return done(open(a[0], O_RDONLY | O_NONBLOCK | O_NOCTTY));
}

static int try_write(char **a)
{
    return done(open(a[0], O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

static int try_append(char **a)
{
    return done(open(a[0], O_WRONLY | O_APPEND));
}

static int try_path(char **a)
{
    return done(open(a[0], O_PATH));
}

static int try_create(char **a)
{
    return done(open(a[0], O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int try_unnamed(char **a)
{
    return done(open(a[0], O_RDWR | O_TMPFILE, 0600));
}

static int try_otrunc(char **a)
{
    return done(open(a[0], O_WRONLY | O_TRUNC));
}

static int try_rtrunc(char **a)
{
    return done(open(a[0], O_RDONLY | O_TRUNC));
}

static int try_truncate(char **a)
{
    return truncate(a[0], 0);
}

static int try_list(char **a)
{
    DIR *directory = opendir(a[0]);

    return directory ? closedir(directory) : -1;
}

static int try_link(char **a)
{
    return link(a[0], a[1]);
}

static int try_rename(char **a)
{
    return rename(a[0], a[1]);
}

static int try_exchange(char **a)
{
    return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE);
}

static int try_symlink(char **a)
{
    return symlink(a[0], a[1]);
}

static int try_mkdir(char **a)
{
    return mkdir(a[0], 0755);
}

static int try_rmdir(char **a)
{
    return rmdir(a[0]);
}

static int try_unlink(char **a)
{
    return unlink(a[0]);
}

static int try_fifo(char **a)
{
    return mkfifo(a[0], 0600);
}

static int try_reg(char **a)
{
    return mknod(a[0], S_IFREG | 0600, 0);
}

static int try_char(char **a)
{
    return mknod(a[0], S_IFCHR | 0600, makedev(1, 3));
}

static int try_execute(char **a)
{
    char *arguments[] = {a[0], NULL};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        execv(a[0], arguments);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    return with(WEXITSTATUS(status));
}

/* ---- Sockets and processes ---- */

static int named(const char *name, int is_abstract, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + is_abstract, sizeof address->sun_path - (size_t)is_abstract, "%s", name);
    return (int)(offsetof(struct sockaddr_un, sun_path) + strlen(name)) + 1;
}

static int with_unix(const char *name, int is_abstract, int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address;
    int length = named(name, is_abstract, &address), fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int result = call(fd, (const struct sockaddr *)&address, (socklen_t)length), failure = errno;

    close(fd);
    return result < 0 ? with(failure) : 0;
}

static int try_sock(char **a)
{
    return with_unix(a[0], 0, bind);
}

static int try_unix(char **a)
{
    return with_unix(a[0], 0, connect);
}

static int try_abstract(char **a)
{
    return with_unix(a[0], 1, connect);
}

static int with_port(const char *port, int type, int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)number(port))};
    int fd = socket(AF_INET, type, 0), result = call(fd, (const struct sockaddr *)&address, sizeof address),
        failure = errno;

    close(fd);
    return result < 0 ? with(failure) : 0;
}

static int send_byte(int fd, const struct sockaddr *address, socklen_t length)
{
    return (int)sendto(fd, "x", 1, 0, address, length);
}

static int try_bind(char **a)
{
    return with_port(a[0], SOCK_STREAM, bind);
}

static int try_connect(char **a)
{
    return with_port(a[0], SOCK_STREAM, connect);
}

static int try_bind_udp(char **a)
{
    return with_port(a[0], SOCK_DGRAM, bind);
}

static int try_connect_udp(char **a)
{
    return with_port(a[0], SOCK_DGRAM, connect);
}

static int try_send_udp(char **a)
{
    return with_port(a[0], SOCK_DGRAM, send_byte);
}

/* ECHILD: there is none, not even one that has ended. */
static int try_child(char **a)
{
    (void)a;
    return waitpid(-1, NULL, WNOHANG | __WALL) < 0 ? -1 : 0;
}

static int try_kill(char **a)
{
    return kill(number(a[0]), number(a[1]));
}

/* ---- Descriptors and terminals ---- */

static int try_fd(char **a)
{
    return fcntl(number(a[0]), F_GETFD) < 0 ? -1 : 0;
}

static int try_dup2(char **a)
{
    return dup2(number(a[0]), number(a[1])) < 0 ? -1 : 0;
}

static int try_sti(char **a)
{
    return ioctl(number(a[0]), TIOCSTI, "x");
}

/* The kernel looks at the lower half of the request only. */
static int try_sti64(char **a)
{
    return (int)syscall(SYS_ioctl, number(a[0]), TIOCSTI | 1L << 32, "x");
}

/* By the 32-bit system calls that a 64-bit x86 program may make; an address above 4 GiB would do nothing. */
static int try_sti32(char **a)
{
#ifdef __x86_64__
    static long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(54L), "b"((long)number(a[0])), "c"((long)TIOCSTI), "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return with((int)-result);
#else
    return try_sti(a);
#endif
}

static int try_linux(char **a)
{
    return ioctl(number(a[0]), TIOCLINUX_REQUEST, "\1");
}

static int try_winsize(char **a)
{
    struct winsize size;

    return ioctl(number(a[0]), TIOCGWINSZ, &size);
}

/* A request that no driver of /dev/null or /dev/zero knows: ENOTTY if Landlock lets it through. */
static int try_ioctl(char **a)
{
    struct winsize size;
    int fd = open(a[0], O_RDONLY | O_NOCTTY), result = ioctl(fd, TIOCGWINSZ, &size), failure = errno;

    done(fd);
    return result < 0 ? with(failure) : 0;
}

static const struct {
    const char *name;
    int count;
    int (*try)(char **arguments);
} operations[] = {
    {"read", 1, try_read},
    {"write", 1, try_write},
    {"append", 1, try_append},
    {"path", 1, try_path},
    {"create", 1, try_create},
    {"unnamed", 1, try_unnamed},
    {"otrunc", 1, try_otrunc},
    {"rtrunc", 1, try_rtrunc},
    {"truncate", 1, try_truncate},
    {"list", 1, try_list},
    {"link", 2, try_link},
    {"rename", 2, try_rename},
    {"exchange", 2, try_exchange},
    {"symlink", 2, try_symlink},
    {"mkdir", 1, try_mkdir},
    {"rmdir", 1, try_rmdir},
    {"unlink", 1, try_unlink},
    {"fifo", 1, try_fifo},
    {"reg", 1, try_reg},
    {"char", 1, try_char},
    {"execute", 1, try_execute},
    {"sock", 1, try_sock},
    {"unix", 1, try_unix},
    {"abstract", 1, try_abstract},
    {"bind", 1, try_bind},
    {"connect", 1, try_connect},
    {"bind_udp", 1, try_bind_udp},
    {"connect_udp", 1, try_connect_udp},
    {"send_udp", 1, try_send_udp},
    {"kill", 2, try_kill},
    {"fd", 1, try_fd},
    {"dup2", 2, try_dup2},
    {"sti", 1, try_sti},
    {"sti64", 1, try_sti64},
    {"sti32", 1, try_sti32},
    {"linux", 1, try_linux},
    {"winsize", 1, try_winsize},
    {"ioctl", 1, try_ioctl},
    {"child", 0, try_child},
};

/* Returns how many arguments were taken; 0: there is no such operation. */
static int attempt(char **arguments, int count)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (!strcmp(operations[i].name, arguments[0]) && operations[i].count < count) {
            puts(operations[i].try(arguments + 1) == 0 ? "OK" : strerrorname_np(errno));
            return operations[i].count + 1;
        }
    return 0;
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count;) {
        int taken = attempt(arguments + i, count - i);

        if (!taken || (i + taken < count && strcmp(arguments[i + taken], ",") != 0)) {
            fprintf(stderr, "attempt: no such operation, or not with so many arguments: %s\n", arguments[i]);
            return 2;
        }
        i += taken + 1;
    }
    return 0;
}
