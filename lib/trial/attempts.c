#include "trial/internal.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

/* ---- Opening ---- */

/* What a device, FIFO or socket answers is said after Landlock was asked: security_file_open comes before the file's own open. */
static int try_open(const char *path, int flags)
{
    auto_close int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return fd >= 0 || errno == ENXIO || errno == ENODEV || errno == EBUSY ? 0 : errno;
}

static int try_read(const struct scene *scene)
{
    return try_open(scene->subject, O_RDONLY);
}

/* To append, which is all that some files are open for. */
static int try_write(const struct scene *scene)
{
    return try_open(scene->subject, O_WRONLY | O_APPEND);
}

static int try_list(const struct scene *scene)
{
    return try_open(scene->subject, O_RDONLY | O_DIRECTORY);
}

/* ---- Truncating ---- */

/* To a size that no file has, beyond the limit on a file's size: Landlock is asked before the limit is looked at (truncate(2):
 * security_path_truncate, then notify_change), and the file stays as it is. */
static int try_truncate(const struct scene *scene)
{
    struct rlimit old, none;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int failure;

    if (getrlimit(RLIMIT_FSIZE, &old) < 0)
        return UNTOLD;
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    sigaction(SIGXFSZ, &ignore, &before);
    if (setrlimit(RLIMIT_FSIZE, &none) < 0)
        return UNTOLD;
    failure = truncate(scene->subject, INT64_MAX) < 0 ? errno : 0;
    setrlimit(RLIMIT_FSIZE, &old);
    sigaction(SIGXFSZ, &before, NULL);
    return failure == EFBIG ? 0 : failure;
}

/* ---- Executing ---- */

enum { NO_PTRACE = 255 };

/* Whatever becomes of the process that traces it: the program does not run. */
static void __attribute__((noreturn)) execute_stopped(const char *path, pid_t tracer)
{
    char *const arguments[] = {(char *)path, NULL}, *const environment[] = {NULL};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != tracer ||
        ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
        _exit(NO_PTRACE);
    execve(path, arguments, environment);
    _exit(errno);
}

/* Waits until the traced child has ended, or stops. */
static bool stops(pid_t child, int *status)
{
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFSTOPPED(*status);
}

/* From its first stop on, until its execve(2) has succeeded, before the program's first instruction, or it has ended. Signals that
 * are sent to it are left out. */
static bool is_executed(pid_t child, int *status)
{
    if (!stops(child, status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)) < 0)
        return false;
    while (ptrace(PTRACE_CONT, child, NULL, NULL) == 0 && stops(child, status))
        if (*status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            return true;
    return false;
}

static int try_execute(const struct scene *scene)
{
    pid_t tracer = getpid(), child = fork();
    int status = 0;

    if (child < 0)
        return UNTOLD;
    if (child == 0)
        execute_stopped(scene->subject, tracer);
    if (is_executed(child, &status)) {
        kill(child, SIGKILL);
        stops(child, &status);
        return 0;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != NO_PTRACE)
        return WEXITSTATUS(status) == ENOEXEC ? 0 : WEXITSTATUS(status);
    kill(child, SIGKILL);
    stops(child, &status);
    return UNTOLD;
}

/* ---- Devices ---- */

/* A request that only reads, of which Landlock takes no exception: what is no terminal answers ENOTTY. */
static int try_ioctl(const struct scene *scene)
{
    const int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    char settings[256];
    auto_close int fd = open(scene->subject, O_RDONLY | flags);

    if (fd < 0)
        fd = open(scene->subject, O_WRONLY | flags);
    if (fd < 0)
        return errno;
    return ioctl(fd, TCGETS, settings) < 0 && errno == EACCES ? EACCES : 0;
}

/* ---- Sockets in directories ---- */

/* 0, or the errno; EPROTOTYPE: the socket is of another type. */
static int connect_as(const struct sockaddr_un *address, int type)
{
    auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return errno;
    return connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? errno : 0;
}

/* That too many wait is said after Landlock was asked; that nobody listens (ECONNREFUSED), before. */
static int try_connect(const struct scene *scene)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int failure = EPROTOTYPE;

    strcpy(address.sun_path, scene->subject);
    for (size_t i = 0; failure == EPROTOTYPE && i < array_size(types); i++)
        failure = connect_as(&address, types[i]);
    return failure == EAGAIN ? 0 : failure;
}

/* ---- Making, removing, linking ---- */

static int try_node(const struct scene *scene, mode_t type, dev_t device)
{
    return mknodat(scene->directory, scene->name, type | 0600, device) < 0 ? errno : 0;
}

static int try_make_file(const struct scene *scene)
{
    return try_node(scene, S_IFREG, 0);
}

static int try_make_fifo(const struct scene *scene)
{
    return try_node(scene, S_IFIFO, 0);
}

static int try_make_socket(const struct scene *scene)
{
    return try_node(scene, S_IFSOCK, 0);
}

/* /dev/null's numbers, and a block device's that are nobody's. */
static int try_make_char(const struct scene *scene)
{
    return try_node(scene, S_IFCHR, makedev(1, 3));
}

static int try_make_block(const struct scene *scene)
{
    return try_node(scene, S_IFBLK, makedev(0, 0));
}

static int try_make_folder(const struct scene *scene)
{
    return mkdirat(scene->directory, scene->name, 0700) < 0 ? errno : 0;
}

static int try_make_link(const struct scene *scene)
{
    return symlinkat("nowhere", scene->directory, scene->name) < 0 ? errno : 0;
}

static int try_remove_file(const struct scene *scene)
{
    return unlinkat(scene->directory, scene->name, 0) < 0 ? errno : 0;
}

static int try_remove_folder(const struct scene *scene)
{
    return unlinkat(scene->directory, scene->name, AT_REMOVEDIR) < 0 ? errno : 0;
}

/* EXDEV where refer is missing; EACCES where it is make_reg, which tells nothing. */
static int try_link(const struct scene *scene)
{
    int failure = linkat(scene->directory, scene->name, scene->folder, "link", 0) < 0 ? errno : 0;

    return failure == EACCES ? UNTOLD : failure;
}

/* ---- Ports ---- */

static struct sockaddr_in address_of(const struct scene *scene, in_addr_t host)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(scene->trial->port), .sin_addr.s_addr = htonl(host)};
}

/* Whatever else the kernel answers is said after Landlock was asked: security_socket_bind and _connect come first. */
static int denial(int result)
{
    return result < 0 && (errno == EACCES || errno == EPERM) ? errno : 0;
}

static int try_bind(const struct scene *scene, int type)
{
    struct sockaddr_in address = address_of(scene, INADDR_LOOPBACK);
    auto_close int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    return fd < 0 ? UNTOLD : denial(bind(fd, (const struct sockaddr *)&address, sizeof address));
}

static int try_bind_tcp(const struct scene *scene)
{
    return try_bind(scene, SOCK_STREAM);
}

static int try_bind_udp(const struct scene *scene)
{
    return try_bind(scene, SOCK_DGRAM);
}

/* To a broadcast address, to which TCP cannot connect: no packet is sent and no service reached. */
static int try_connect_tcp(const struct scene *scene)
{
    struct sockaddr_in address = address_of(scene, 0x7fffffff);
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    return fd < 0 ? UNTOLD : denial(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

/* Connecting a UDP socket sends nothing; one that is bound needs no bind_udp for it. */
static int try_connect_udp(const struct scene *scene)
{
    struct sockaddr_in address = address_of(scene, INADDR_LOOPBACK);

    return scene->udp < 0 ? UNTOLD
                          : denial(connect(scene->udp, (const struct sockaddr *)&address, sizeof address));
}

const struct attempt attempt_table[] = {
    {POLICY_EXECUTE, have_program, try_execute},
    {POLICY_WRITE_FILE, have_file_to_write, try_write},
    {POLICY_READ_FILE, have_file_to_read, try_read},
    {POLICY_READ_DIR, have_directory, try_list},
    {POLICY_REMOVE_DIR, have_folder_to_remove, try_remove_folder},
    {POLICY_REMOVE_FILE, have_file_to_remove, try_remove_file},
    {POLICY_MAKE_CHAR, have_name, try_make_char},
    {POLICY_MAKE_DIR, have_name, try_make_folder},
    {POLICY_MAKE_REG, have_name, try_make_file},
    {POLICY_MAKE_SOCK, have_name, try_make_socket},
    {POLICY_MAKE_FIFO, have_name, try_make_fifo},
    {POLICY_MAKE_BLOCK, have_name, try_make_block},
    {POLICY_MAKE_SYM, have_name, try_make_link},
    {POLICY_REFER, have_file_to_link, try_link},
    {POLICY_TRUNCATE, have_file_to_write, try_truncate},
    {POLICY_IOCTL_DEV, have_device, try_ioctl},
    {POLICY_RESOLVE_UNIX, have_socket, try_connect},
    {POLICY_BIND_TCP, NULL, try_bind_tcp},
    {POLICY_CONNECT_TCP, NULL, try_connect_tcp},
    {POLICY_BIND_UDP, NULL, try_bind_udp},
    {POLICY_CONNECT_SEND_UDP, NULL, try_connect_udp},
};
const size_t attempt_count = array_size(attempt_table);
