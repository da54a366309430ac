#include "trace/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>

enum { NONE = -1 };

/* Where a call has what: the numbers of its arguments. */
struct call_row {
    uint64_t number;
    const char *name;
    void (*examine)(struct failed_call *call, const struct call_row *row);
    signed char directory, path; /* NONE: the working directory */
    signed char other;           /* flags, mode or request */
    signed char new_directory, new_path;
    int flags;    /* that the call has by itself */
    int failures; /* Landlock's: some of these */
};

enum { DENIED = 1, MOVED = 2, FORBIDDEN = 4 }; /* EACCES, EXDEV, EPERM */

static int failure_bit(int failure)
{
    return failure == EACCES ? DENIED : failure == EXDEV ? MOVED : failure == EPERM ? FORBIDDEN : 0;
}

static int descriptor(const struct failed_call *call, signed char number)
{
    return number == NONE ? AT_FDCWD : (int)call->arguments[number];
}

static unsigned other(const struct failed_call *call, const struct call_row *row)
{
    return (unsigned)row->flags | (row->other == NONE ? 0 : (unsigned)call->arguments[row->other]);
}

/* ---- Paths ---- */

/* The path of an argument, as the caller wrote it. */
static bool take_text(struct failed_call *call, signed char number, char text[static PATH_MAX])
{
    if (read_path(call->tid, call->arguments[number], text))
        return true;
    call->is_unread = true;
    return false;
}

/* Where a path argument leads; an empty one is the descriptor itself, where the call allows that, if it has a name. */
static bool take_path(struct failed_call *call, signed char directory, signed char number, int how,
                      char real[static PATH_MAX])
{
    char text[PATH_MAX];
    struct stat status;

    if (!take_text(call, number, text))
        return false;
    if (!text[0] && directory != NONE &&
        status_of_descriptor(call->tid, descriptor(call, directory), &status) && status.st_nlink &&
        path_of_descriptor(call->tid, descriptor(call, directory), real))
        return true;
    if (text[0] && resolve_path(call->tid, descriptor(call, directory), text, how, real))
        return true;
    call->is_unread = true;
    return false;
}

/* The directory that a path stands in. */
static void parent_of(const char *path, char parent[static PATH_MAX])
{
    strcpy(parent, path);
    path_to_parent(parent);
}

/* The kind of file there; 0: there is none. */
static mode_t kind_of(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/* The right to make a file of that kind; mknod(2) without one makes a regular file. */
static policy_rights right_to_make(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return POLICY_MAKE_DIR;
    case S_IFLNK:
        return POLICY_MAKE_SYM;
    case S_IFCHR:
        return POLICY_MAKE_CHAR;
    case S_IFBLK:
        return POLICY_MAKE_BLOCK;
    case S_IFIFO:
        return POLICY_MAKE_FIFO;
    case S_IFSOCK:
        return POLICY_MAKE_SOCK;
    default:
        return POLICY_MAKE_REG;
    }
}

static policy_rights right_to_remove(mode_t mode)
{
    return S_ISDIR(mode) ? POLICY_REMOVE_DIR : POLICY_REMOVE_FILE;
}

/* ---- Opening ---- */

/* O_TRUNC is nothing to devices and FIFOs. Nor is it to a file that the call makes, but the next time it is. */
static policy_rights rights_to_open(unsigned flags, mode_t kind)
{
    unsigned mode = flags & O_ACCMODE;
    policy_rights rights = 0;

    if (flags & O_PATH)
        return 0;
    if (mode == O_RDONLY || mode == O_RDWR)
        rights |= S_ISDIR(kind) && (flags & O_TMPFILE) != O_TMPFILE ? POLICY_READ_DIR : POLICY_READ_FILE;
    if (mode == O_WRONLY || mode == O_RDWR)
        rights |= POLICY_WRITE_FILE;
    if (flags & O_TRUNC && S_ISREG(kind))
        rights |= POLICY_TRUNCATE;
    return rights;
}

/* A file that the call has made before it was denied is empty: to be made again another time. */
static bool is_to_be_made(const struct failed_call *call, const char *path, const char *parent)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT;
    return S_ISREG(status.st_mode) && !status.st_size && launch_grants(call->launch, parent, POLICY_MAKE_REG);
}

static void examine_open(struct failed_call *call, const struct call_row *row, unsigned flags, int how)
{
    char path[PATH_MAX], parent[PATH_MAX];
    mode_t kind;

    if (!(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
        how |= FOLLOWS;
    if (!take_path(call, row->directory, row->path, how, path))
        return;
    parent_of(path, parent);
    kind = kind_of(path);
    if (flags & O_CREAT && is_to_be_made(call, path, parent))
        deny_path(call, POLICY_MAKE_REG | rights_to_open(flags, S_IFREG), parent);
    else
        deny_path(call, rights_to_open(flags, kind), path);
}

static void examine_open_flags(struct failed_call *call, const struct call_row *row)
{
    examine_open(call, row, other(call, row), 0);
}

static void examine_open_how(struct failed_call *call, const struct call_row *row)
{
    struct open_how how; /* no less is taken */

    if (read_memory(call->tid, call->arguments[row->other], &how, sizeof how))
        examine_open(call, row, (unsigned)how.flags, how.resolve & RESOLVE_IN_ROOT ? IN_DIRECTORY : 0);
    else
        call->is_unread = true;
}

static void examine_execution(struct failed_call *call, const struct call_row *row)
{
    char path[PATH_MAX];

    if (take_path(call, row->directory, row->path, other(call, row) & AT_SYMLINK_NOFOLLOW ? 0 : FOLLOWS,
                  path))
        deny_path(call, POLICY_EXECUTE, path);
}

static void examine_truncation(struct failed_call *call, const struct call_row *row)
{
    char path[PATH_MAX];

    if (take_path(call, NONE, row->path, FOLLOWS, path))
        deny_path(call, POLICY_TRUNCATE, path);
}

static bool is_on_device(const char *path, dev_t device)
{
    struct stat status;

    return stat(path, &status) == 0 && status.st_dev == device;
}

/* By a descriptor that was opened without the right. A file that has lost its name, or never had one, is subject to the rules of the
 * directory; one of memfd_create(2) to none. */
static void examine_descriptor_truncation(struct failed_call *call, const struct call_row *row)
{
    char path[PATH_MAX], parent[PATH_MAX];
    struct stat status;

    if (!path_of_descriptor(call->tid, descriptor(call, row->directory), path) ||
        !status_of_descriptor(call->tid, descriptor(call, row->directory), &status))
        return;
    parent_of(path, parent);
    if (status.st_nlink)
        deny_path(call, POLICY_TRUNCATE, path);
    else if (is_on_device(parent, status.st_dev))
        deny_path(call, POLICY_TRUNCATE, parent);
}

/* Drivers and file systems say EACCES, too: only devices are Landlock's. */
static void examine_request(struct failed_call *call, const struct call_row *row)
{
    char path[PATH_MAX];
    struct stat status;

    if (path_of_descriptor(call->tid, descriptor(call, row->directory), path) &&
        status_of_descriptor(call->tid, descriptor(call, row->directory), &status) &&
        (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)))
        deny_path(call, POLICY_IOCTL_DEV, path);
}

/* POSIX message queues are files of a file system that need not be mounted: only a rule for where it is can allow them. */
static void examine_queue(struct failed_call *call, const struct call_row *row)
{
    enum { MQUEUE_MAGIC = 0x19800202 };
    static const char queues[] = "/dev/mqueue";
    struct statfs system;

    if (statfs(queues, &system) == 0 && system.f_type == MQUEUE_MAGIC)
        deny_path(call, rights_to_open(other(call, row), 0), queues);
    else
        call->is_unread = true;
}

/* ---- Making and removing ---- */

static void examine_making(struct failed_call *call, const struct call_row *row)
{
    char path[PATH_MAX], parent[PATH_MAX];

    if (!take_path(call, row->directory, row->path, 0, path))
        return;
    parent_of(path, parent);
    deny_path(call, right_to_make(other(call, row)), parent);
}

static void examine_removal(struct failed_call *call, const struct call_row *row)
{
    bool is_directory = row->other == NONE ? row->flags : !!(other(call, row) & AT_REMOVEDIR);
    char path[PATH_MAX], parent[PATH_MAX];

    if (!take_path(call, row->directory, row->path, 0, path))
        return;
    parent_of(path, parent);
    deny_path(call, is_directory ? POLICY_REMOVE_DIR : POLICY_REMOVE_FILE, parent);
}

/* ---- Moving ---- */

/* A name on its way from one directory to another. */
struct move {
    char old[PATH_MAX], new[PATH_MAX], old_parent[PATH_MAX], new_parent[PATH_MAX];
    policy_rights from, to; /* needed in the directories */
};

static bool is_same_directory(const struct move *move)
{
    return !strcmp(move->old_parent, move->new_parent);
}

static policy_rights granted_at(const struct failed_call *call, const char *path)
{
    policy_rights granted = 0;

    if (is_deep(path))
        return 0;
    for (size_t i = 0; i < policy_right_count; i++)
        if (policy_right_table[i].bit & call->launch->handled & POLICY_ALL_FS &&
            launch_grants(call->launch, path, policy_right_table[i].bit))
            granted |= policy_right_table[i].bit;
    return granted;
}

static bool is_same_mount(const struct move *move)
{
    struct statx a, b;

    return statx(AT_FDCWD, move->old_parent, 0, STATX_MNT_ID, &a) == 0 &&
           statx(AT_FDCWD, move->new_parent, 0, STATX_MNT_ID, &b) == 0 && a.stx_mnt_id == b.stx_mnt_id;
}

/* What a file would gain in the other directory it must have had before: else the move fails with EXDEV. */
static policy_rights gained(const struct failed_call *call, const char *from, const char *to, mode_t kind)
{
    policy_rights rights = granted_at(call, to) & ~granted_at(call, from);

    return S_ISDIR(kind) ? rights : rights & policy_rights_of_files();
}

static void deny_move(struct failed_call *call, struct move *move, mode_t kind, mode_t replaced,
                      bool exchanges)
{
    policy_rights refer = is_same_directory(move) ? 0 : POLICY_REFER;

    if (call->failure == EXDEV && !is_same_mount(move))
        return;
    if (call->failure == EXDEV) {
        move->from |= gained(call, move->old, move->new_parent, kind);
        move->to |= exchanges ? gained(call, move->new, move->old_parent, replaced) : 0;
    }
    deny_paths(
        call,
        (const struct want[]){{move->from | refer, move->old_parent}, {move->to | refer, move->new_parent}},
        2);
}

static bool take_move(struct failed_call *call, const struct call_row *row, int how, struct move *move)
{
    if (!take_path(call, row->directory, row->path, how, move->old) ||
        !take_path(call, row->new_directory, row->new_path, 0, move->new))
        return false;
    parent_of(move->old, move->old_parent);
    parent_of(move->new, move->new_parent);
    return true;
}

static void examine_renaming(struct failed_call *call, const struct call_row *row)
{
    enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE */
    bool exchanges = other(call, row) & EXCHANGE;
    struct move move;
    mode_t kind, replaced;

    if (!take_move(call, row, 0, &move))
        return;
    kind = kind_of(move.old);
    replaced = kind_of(move.new);
    move.from = right_to_remove(kind) | (exchanges ? right_to_make(replaced) : 0);
    move.to = right_to_make(kind) | (replaced ? right_to_remove(replaced) : 0);
    deny_move(call, &move, kind, replaced, exchanges);
}

static void examine_linking(struct failed_call *call, const struct call_row *row)
{
    struct move move;
    mode_t kind;

    if (!take_move(call, row, other(call, row) & AT_SYMLINK_FOLLOW ? FOLLOWS : 0, &move))
        return;
    kind = kind_of(move.old);
    move.from = 0;
    move.to = right_to_make(kind);
    deny_move(call, &move, kind, 0, false);
}

/* ---- Sockets ---- */

/* The rights of a call, by the kind of socket. */
struct socket_rights {
    policy_rights stream, datagram, path;
};

static const struct socket_rights to_bind = {POLICY_BIND_TCP, POLICY_BIND_UDP, 0};
static const struct socket_rights to_connect = {POLICY_CONNECT_TCP, POLICY_CONNECT_SEND_UDP,
                                                POLICY_RESOLVE_UNIX};

static void deny_unix(struct failed_call *call, const struct sockaddr_un *address, size_t size, bool binds)
{
    char path[sizeof address->sun_path + 1], real[PATH_MAX], parent[PATH_MAX];

    if (size <= offsetof(struct sockaddr_un, sun_path))
        return;
    if (!address->sun_path[0]) {
        if (!binds && call->failure == EPERM)
            deny_scope(call, POLICY_ABSTRACT_UNIX_SOCKET);
        return;
    }
    if (call->failure != EACCES)
        return;
    snprintf(path, sizeof path, "%.*s", (int)(size - offsetof(struct sockaddr_un, sun_path)),
             address->sun_path);
    if (!resolve_path(call->tid, AT_FDCWD, path, binds ? 0 : FOLLOWS, real))
        return;
    parent_of(real, parent);
    deny_path(call, binds ? POLICY_MAKE_SOCK : POLICY_RESOLVE_UNIX, binds ? parent : real);
}

static void deny_internet(struct failed_call *call, int fd, uint16_t port, const struct socket_rights *rights)
{
    if (call->failure != EACCES)
        return;
    if (is_socket_of(call->tid, fd, SOCK_STREAM))
        deny_port(call, rights->stream, port);
    if (!is_socket_of(call->tid, fd, SOCK_DGRAM))
        return;
    deny_port(call, rights->datagram, port);
    if (rights->datagram != POLICY_BIND_UDP && is_without_port(call->tid, fd))
        deny_port(call, POLICY_BIND_UDP, 0); /* the kernel chooses one first */
}

static void deny_address(struct failed_call *call, int fd, uint64_t at, size_t size,
                         const struct socket_rights *rights)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in; /* the port stands there in sockaddr_in6, too */
        struct sockaddr_un un;
    } address = {0};

    if (!at || !size)
        return;
    if (size > sizeof address)
        size = sizeof address;
    if (!read_memory(call->tid, at, &address, size)) {
        call->is_unread = true;
        return;
    }
    if (address.any.sa_family == AF_UNIX)
        deny_unix(call, &address.un, size, rights == &to_bind);
    else if (address.any.sa_family == AF_INET || address.any.sa_family == AF_INET6 ||
             (address.any.sa_family == AF_UNSPEC && rights == &to_bind)) /* bind(2) takes it for AF_INET */
        deny_internet(call, fd, ntohs(address.in.sin_port), rights);
}

static void examine_address(struct failed_call *call, const struct call_row *row)
{
    deny_address(call, descriptor(call, row->directory), call->arguments[row->path],
                 (unsigned)call->arguments[row->other], row->flags ? &to_bind : &to_connect);
}

/* Of sendmmsg(2) the first: where a later one fails, the call tells how many were sent. */
static void examine_message(struct failed_call *call, const struct call_row *row)
{
    struct msghdr message;

    if (read_memory(call->tid, call->arguments[row->path], &message, sizeof message))
        deny_address(call, descriptor(call, row->directory), (uintptr_t)message.msg_name, message.msg_namelen,
                     &to_connect);
    else
        call->is_unread = true;
}

/* ---- Signals ---- */

/* One that this process, of the same user, might send; to a process or, below 0, to a group. */
static void deny_signal(struct failed_call *call, pid_t process)
{
    if (process && has_our_process_ids(call->tid) && kill(process, 0) == 0)
        deny_scope(call, POLICY_SIGNAL);
}

static void examine_signal(struct failed_call *call, const struct call_row *row)
{
    deny_signal(call, descriptor(call, row->directory));
}

static void examine_pidfd_signal(struct failed_call *call, const struct call_row *row)
{
    deny_signal(call, process_of_pidfd(call->tid, descriptor(call, row->directory)));
}

/* ---- All of them ---- */

#define CALL(call, ...)                \
    {                                  \
        SYS_##call, #call, __VA_ARGS__ \
    }

static const struct call_row call_table[] = {
    CALL(openat, examine_open_flags, 0, 1, 2, NONE, NONE, 0, DENIED),
    CALL(openat2, examine_open_how, 0, 1, 2, NONE, NONE, 0, DENIED),
    CALL(execve, examine_execution, NONE, 0, NONE, NONE, NONE, 0, DENIED),
    CALL(execveat, examine_execution, 0, 1, 4, NONE, NONE, 0, DENIED),
    CALL(truncate, examine_truncation, NONE, 0, NONE, NONE, NONE, 0, DENIED),
    CALL(ftruncate, examine_descriptor_truncation, 0, NONE, NONE, NONE, NONE, 0, DENIED),
    CALL(ioctl, examine_request, 0, NONE, NONE, NONE, NONE, 0, DENIED),
    CALL(mq_open, examine_queue, NONE, 0, 1, NONE, NONE, 0, DENIED),
    CALL(mkdirat, examine_making, 0, 1, NONE, NONE, NONE, S_IFDIR, DENIED),
    CALL(mknodat, examine_making, 0, 1, 2, NONE, NONE, 0, DENIED),
    CALL(symlinkat, examine_making, 1, 2, NONE, NONE, NONE, S_IFLNK, DENIED),
    CALL(unlinkat, examine_removal, 0, 1, 2, NONE, NONE, 0, DENIED),
    CALL(renameat2, examine_renaming, 0, 1, 4, 2, 3, 0, DENIED | MOVED),
    CALL(linkat, examine_linking, 0, 1, 4, 2, 3, 0, DENIED | MOVED),
    CALL(bind, examine_address, 0, 1, 2, NONE, NONE, 1, DENIED),
    CALL(connect, examine_address, 0, 1, 2, NONE, NONE, 0, DENIED | FORBIDDEN),
    CALL(sendto, examine_address, 0, 4, 5, NONE, NONE, 0, DENIED | FORBIDDEN),
    CALL(sendmsg, examine_message, 0, 1, NONE, NONE, NONE, 0, DENIED | FORBIDDEN),
    CALL(sendmmsg, examine_message, 0, 1, NONE, NONE, NONE, 0, DENIED | FORBIDDEN),
    CALL(kill, examine_signal, 0, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
    CALL(tkill, examine_signal, 0, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
    CALL(tgkill, examine_signal, 1, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
    CALL(rt_sigqueueinfo, examine_signal, 0, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
    CALL(rt_tgsigqueueinfo, examine_signal, 1, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
    CALL(pidfd_send_signal, examine_pidfd_signal, 0, NONE, NONE, NONE, NONE, 0, FORBIDDEN),
#ifdef SYS_renameat /* not everywhere */
    CALL(renameat, examine_renaming, 0, 1, NONE, 2, 3, 0, DENIED | MOVED),
#endif
#ifdef SYS_open /* what newer architectures do without */
    CALL(open, examine_open_flags, NONE, 0, 1, NONE, NONE, 0, DENIED),
    CALL(creat, examine_open_flags, NONE, 0, NONE, NONE, NONE, O_CREAT | O_WRONLY | O_TRUNC, DENIED),
    CALL(mkdir, examine_making, NONE, 0, NONE, NONE, NONE, S_IFDIR, DENIED),
    CALL(mknod, examine_making, NONE, 0, 1, NONE, NONE, 0, DENIED),
    CALL(symlink, examine_making, NONE, 1, NONE, NONE, NONE, S_IFLNK, DENIED),
    CALL(unlink, examine_removal, NONE, 0, NONE, NONE, NONE, false, DENIED),
    CALL(rmdir, examine_removal, NONE, 0, NONE, NONE, NONE, true, DENIED),
    CALL(rename, examine_renaming, NONE, 0, NONE, NONE, 1, 0, DENIED | MOVED),
    CALL(link, examine_linking, NONE, 0, NONE, NONE, 1, 0, DENIED | MOVED),
#endif
};

bool may_be_landlocks(int failure)
{
    return failure_bit(failure);
}

void examine_call(struct failed_call *call, uint64_t number)
{
    for (size_t i = 0; i < array_size(call_table); i++)
        if (call_table[i].number == number) {
            call->name = call_table[i].name;
            if (call_table[i].failures & failure_bit(call->failure))
                call_table[i].examine(call, &call_table[i]);
            return;
        }
}
