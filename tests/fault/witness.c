/*
 * The program of a disturbed launch: tells on descriptor 5 all that a launcher could have left open or taken away.
 *
 *     witness OUTSIDE INSIDE ARGUMENT PORT ABSTRACT PID
 *
 * OUTSIDE is a folder that the user owns and the policy does not name, INSIDE one in which it lets the program do
 * much, ARGUMENT stands for OUTSIDE/secret, the private file, PORT, ABSTRACT and PID are a listener's and a
 * process's outside. A line is `NAME: VALUE`; that of a right, `right NAME: ERRNO`, tells what its use outside gives
 * (0: it was possible). No attempt changes anything where it succeeds. Without arguments it prints how the C library
 * calls the errors 1 to 133.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPORT = 5, TIOCLINUX_REQUEST = 0x541C };

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static int result_of(int result)
{
    return result < 0 ? errno : 0;
}

static int try_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC), result = result_of(fd);

    if (fd >= 0)
        close(fd);
    return result;
}

static int undone(int result, int (*undo)(const char *), const char *path)
{
    int failure = result_of(result);

    if (!failure)
        undo(path);
    return failure;
}

/* A name that nobody else uses: the witnesses of two containers in one chat have the same PID. */
static void own_path(char path[4096], const char *inside, const char *folder)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, 4096, "%s/%s/%jd.%09ld.%d", inside, folder, (intmax_t)now.tv_sec, now.tv_nsec, getpid());
}

/* ---- Rights on files. The working directory is OUTSIDE. ---- */

static int try_execute(char **a)
{
    char name[] = "program", *arguments[] = {name, NULL};

    (void)a;
    return result_of(execv(name, arguments)); /* of no format that could be executed */
}

static int try_write_file(char **a)
{
    (void)a;
    return try_open("file", O_WRONLY);
}

static int try_read_file(char **a)
{
    (void)a;
    return try_open("file", O_RDONLY);
}

static int try_read_dir(char **a)
{
    (void)a;
    return try_open("folder", O_RDONLY | O_DIRECTORY);
}

static int try_remove_dir(char **a)
{
    (void)a;
    return result_of(rmdir("folder")); /* it is not empty */
}

static int try_remove_file(char **a)
{
    (void)a;
    return result_of(unlink("folder")); /* it is no file */
}

static int try_mknod(mode_t mode, dev_t device)
{
    return undone(mknod("new", mode | 0600, device), unlink, "new");
}

static int try_make_char(char **a)
{
    (void)a;
    return try_mknod(S_IFCHR, makedev(0, 0));
}

static int try_make_block(char **a)
{
    (void)a;
    return try_mknod(S_IFBLK, makedev(0, 0));
}

static int try_make_reg(char **a)
{
    (void)a;
    return try_mknod(S_IFREG, 0);
}

static int try_make_sock(char **a)
{
    (void)a;
    return try_mknod(S_IFSOCK, 0);
}

static int try_make_fifo(char **a)
{
    (void)a;
    return try_mknod(S_IFIFO, 0);
}

static int try_make_dir(char **a)
{
    (void)a;
    return undone(mkdir("new", 0700), rmdir, "new");
}

static int try_make_sym(char **a)
{
    (void)a;
    return undone(symlink("file", "new"), unlink, "new");
}

static int try_truncate(char **a)
{
    struct stat status = {0};

    (void)a;
    stat("file", &status);
    return result_of(truncate("file", status.st_size));
}

static int try_refer(char **a)
{
    char from[4096], to[4096];

    snprintf(from, sizeof from, "%s/a/file", a[1]);
    own_path(to, a[1], "b");
    return undone(link(from, to), unlink, to);
}

static int try_ioctl_dev(char **a)
{
    struct winsize size;
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), result = result_of(ioctl(fd, TIOCGWINSZ, &size));

    (void)a;
    close(fd);
    return result;
}

/* ---- Sockets and signals ---- */

static int with_socket(int family, int type, const void *address, size_t size,
                       int (*call)(int, const struct sockaddr *, socklen_t))
{
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        result = result_of(call(fd, address, (socklen_t)size));

    if (fd >= 0)
        close(fd);
    return result == EINPROGRESS ? 0 : result;
}

static int with_port(int type, int port, int (*call)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};

    return with_socket(AF_INET, type, &address, sizeof address, call);
}

static int with_name(const char *name, size_t start)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path + start, sizeof address.sun_path - start, "%s", name);
    return with_socket(AF_UNIX, SOCK_STREAM, &address,
                       offsetof(struct sockaddr_un, sun_path) + start + strlen(name), connect);
}

static int try_bind_tcp(char **a)
{
    (void)a;
    return with_port(SOCK_STREAM, 0, bind);
}

static int try_connect_tcp(char **a)
{
    return with_port(SOCK_STREAM, number(a[3]), connect);
}

static int try_bind_udp(char **a)
{
    (void)a;
    return with_port(SOCK_DGRAM, 0, bind);
}

static int try_connect_udp(char **a)
{
    return with_port(SOCK_DGRAM, number(a[3]), connect);
}

static int try_unix(char **a)
{
    (void)a;
    return with_name("socket", 0);
}

static int try_abstract(char **a)
{
    return with_name(a[4], 1);
}

static int try_signal(char **a)
{
    return result_of(kill(number(a[5]), 0));
}

static const struct {
    const char *name;
    int (*try)(char **arguments);
} rights[] = {
    {"execute", try_execute},
    {"write_file", try_write_file},
    {"read_file", try_read_file},
    {"read_dir", try_read_dir},
    {"remove_dir", try_remove_dir},
    {"remove_file", try_remove_file},
    {"make_char", try_make_char},
    {"make_dir", try_make_dir},
    {"make_reg", try_make_reg},
    {"make_sock", try_make_sock},
    {"make_fifo", try_make_fifo},
    {"make_block", try_make_block},
    {"make_sym", try_make_sym},
    {"refer", try_refer},
    {"truncate", try_truncate},
    {"ioctl_dev", try_ioctl_dev},
    {"resolve_unix", try_unix},
    {"bind_tcp", try_bind_tcp},
    {"connect_tcp", try_connect_tcp},
    {"bind_udp", try_bind_udp},
    {"connect_send_udp", try_connect_udp},
    {"abstract_unix_socket", try_abstract},
    {"signal", try_signal},
};

/* ---- What else a process has ---- */

static void tell_files(FILE *out, char **a)
{
    char path[4096], bytes[256] = "";
    int fd;

    snprintf(path, sizeof path, "%s/a/file", a[1]);
    fprintf(out, "inside read: %d\n", try_open(path, O_RDONLY));
    fprintf(out, "inside write: %d\n", try_open(path, O_WRONLY));
    fprintf(out, "inside list: %d\n", try_open(a[1], O_RDONLY | O_DIRECTORY));
    own_path(path, a[1], "a");
    fprintf(out, "inside make: %d\n", undone(mkdir(path, 0700), rmdir, path));
    fprintf(out, "device: %d\n", try_open("/dev/zero", O_RDONLY));
    fprintf(out, "library: %d\n", try_open("/lib", O_RDONLY | O_DIRECTORY));
    snprintf(path, sizeof path, "%s/secret", a[0]);
    fprintf(out, "secret: %d\n", try_open(path, O_RDONLY));
    fd = open(a[2], O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, bytes, sizeof bytes - 1) >= 0)
        close(fd);
    fprintf(out, "argument: %s\n", bytes);
}

/* Those above 2; one that stands for the private file has whatever number was free. */
static void tell_descriptors(FILE *out, char **a)
{
    char path[32];

    fprintf(out, "descriptors:");
    for (int fd = 0; fd < 256; fd++) {
        struct stat status;

        if (fcntl(fd, F_GETFD) < 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (!strcmp(path, a[2]))
            fprintf(out, " argument%s", fcntl(fd, F_GETFL) & O_NONBLOCK ? "(nonblocking)" : "");
        else if (fstat(fd, &status) == 0)
            fprintf(out, " %d(%o)", fd, status.st_mode & S_IFMT);
    }
    fprintf(out, "\n");
}

static void tell_capabilities(FILE *out)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    unsigned long long bounding = 0, ambient = 0;

    memset(sets, 0xff, sizeof sets);
    syscall(SYS_capget, &header, sets);
    for (unsigned long i = 0; i < 64; i++) {
        bounding |= (unsigned long long)(prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1) << i;
        ambient |= (unsigned long long)(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1) << i;
    }
    fprintf(out, "effective: %x %x\npermitted: %x %x\ninheritable: %x %x\n", sets[0].effective,
            sets[1].effective, sets[0].permitted, sets[1].permitted, sets[0].inheritable,
            sets[1].inheritable);
    fprintf(out, "ambient: %llx\nbounding: %llx\n", ambient, bounding);
}

static void tell_limits(FILE *out)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit = {1, 1};

        getrlimit((unsigned)resource, &limit);
        fprintf(out, "limit %d: %llx %llx\n", resource, (unsigned long long)limit.rlim_cur,
                (unsigned long long)limit.rlim_max);
    }
}

static void tell_signals(FILE *out)
{
    sigset_t blocked, pending;

    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigpending(&pending);
    fprintf(out, "signals:");
    for (int signal = 1; signal < 65; signal++) {
        struct sigaction action = {.sa_handler = SIG_DFL};

        sigaction(signal, NULL, &action);
        if (action.sa_handler != SIG_DFL || sigismember(&blocked, signal) == 1 ||
            sigismember(&pending, signal) == 1)
            fprintf(out, " %d", signal);
    }
    fprintf(out, "\n");
}

static void tell_process(FILE *out, char **environment)
{
    char folder[4096] = "";
    uid_t real, effective, saved;
    int death = -1;

    getresuid(&real, &effective, &saved);
    prctl(PR_GET_PDEATHSIG, &death);
    fprintf(out, "no_new_privs: %d\nseccomp: %d\ndeath: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
            prctl(PR_GET_SECCOMP), death);
    fprintf(out, "users: %u %u %u\nchild: %d\n", real, effective, saved,
            result_of(waitpid(-1, NULL, WNOHANG | __WALL)));
    fprintf(out, "directory: %s\n", getcwd(folder, sizeof folder));
    for (char **variable = environment; *variable; variable++)
        fprintf(out, "environment: %s\n", *variable);
}

/* What failures are called here: as in the launcher, which has the same C library. */
static int tell_errors(void)
{
    for (int failure = 1; failure < 134; failure++)
        printf("%s\n", strerror(failure));
    return fflush(stdout) == 0 ? 0 : 3;
}

/* The terminal filter's EPERM stands before what the terminal itself says. */
static void tell_terminal(FILE *out)
{
    int result = result_of(ioctl(0, TIOCLINUX_REQUEST, "\1"));

    fprintf(out, "terminal: %d%d%d %s\n", isatty(0), isatty(1), isatty(2),
            result == EPERM ? "filtered" : "free");
}

int main(int count, char **arguments, char **environment)
{
    char **a = arguments + 1;
    FILE *out = fdopen(REPORT, "w");

    if (count == 1)
        return tell_errors();
    if (count != 7 || !out)
        return 3;
    tell_descriptors(out, a);
    tell_files(out, a);
    tell_process(out, environment);
    tell_terminal(out);
    tell_capabilities(out);
    tell_limits(out);
    tell_signals(out);
    fprintf(out, "enter: %d\n", result_of(chdir(a[0])));
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++)
        fprintf(out, "right %s: %d\n", rights[i].name, rights[i].try(a));
    fprintf(out, "end: 0\n");
    return fclose(out) == 0 ? 0 : 3;
}
