#include "trace/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/ptrace.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

enum { MOST_LINKS = 40 }; /* path_resolution(7) */

long ptrace_call(int request, pid_t tid, uintptr_t address, uintptr_t data)
{
    return syscall(SYS_ptrace, request, tid, address, data);
}

/* ---- Memory ---- */

/* A word at a time: no other way is open to a process without privilege wherever ptrace(2) is, and little is read. */
static bool peek(pid_t tid, uint64_t address, unsigned char bytes[static sizeof(long)])
{
    long word;

    if (ptrace_call(PTRACE_PEEKDATA, tid, (uintptr_t)address, (uintptr_t)&word) < 0)
        return false;
    memcpy(bytes, &word, sizeof word);
    return true;
}

bool read_memory(pid_t tid, uint64_t address, void *bytes, size_t size)
{
    unsigned char word[sizeof(long)];

    for (size_t done = 0; done < size;) {
        size_t skip = (address + done) % sizeof word, part = sizeof word - skip;

        if (part > size - done)
            part = size - done;
        if (!peek(tid, address + done - skip, word))
            return false;
        memcpy((char *)bytes + done, word + skip, part);
        done += part;
    }
    return true;
}

/* Up to its end only: what is behind may not be mapped. */
bool read_path(pid_t tid, uint64_t address, char path[static PATH_MAX])
{
    size_t length = 0;

    while (length < PATH_MAX) {
        size_t part = sizeof(long) - (address + length) % sizeof(long);

        if (part > PATH_MAX - length)
            part = PATH_MAX - length;
        if (!read_memory(tid, address + length, path + length, part))
            return false;
        if (memchr(path + length, '\0', part))
            return true;
        length += part;
    }
    return false;
}

/* ---- Names in /proc ---- */

static bool read_link(const char *path, char target[static PATH_MAX])
{
    ssize_t length = readlink(path, target, PATH_MAX);

    if (length < 0 || length == PATH_MAX)
        return false;
    target[length] = '\0';
    return true;
}

/* A link such as "cwd" or "fd/3" of the tracee. */
static bool read_own_link(pid_t tid, const char *name, char target[static PATH_MAX])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", tid, name);
    return read_link(path, target);
}

bool path_of_descriptor(pid_t tid, int fd, char real[static PATH_MAX])
{
    char name[32];

    snprintf(name, sizeof name, "fd/%d", fd);
    return read_own_link(tid, name, real) && real[0] == '/';
}

bool program_of(pid_t tid, char path[static PATH_MAX])
{
    return read_own_link(tid, "exe", path);
}

bool status_of_descriptor(pid_t tid, int fd, struct stat *status)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    return stat(path, status) == 0;
}

/* The value of a field in a file of the tracee's directory, to be freed. A user may be in so many groups that what stands behind them
 * is far from the beginning. NULL: it cannot be told. */
static char *field_of(pid_t tid, const char *file, const char *field)
{
    auto_free char *path = text_of("/proc/%d/%s", tid, file), *label = text_of("\n%s:\t", field);
    auto_free char *text = path ? read_text_file(path) : NULL;
    const char *value = text && label ? strstr(text, label) : NULL;

    if (!value)
        return NULL;
    value += strlen(label);
    return text_of("%.*s", (int)strcspn(value, "\n"), value);
}

bool is_dead(pid_t tid)
{
    auto_free char *state = field_of(tid, "status", "State");

    return !state || state[0] == 'Z' || state[0] == 'X';
}

bool has_our_process_ids(pid_t tid)
{
    char its[PATH_MAX], our[PATH_MAX];

    return read_own_link(tid, "ns/pid_for_children", its) && read_own_link(tid, "ns/pid", its) &&
           read_link("/proc/self/ns/pid", our) && !strcmp(its, our);
}

bool is_called(pid_t thread, pid_t tid, pid_t id)
{
    char its[PATH_MAX], other[PATH_MAX];
    auto_free char *ids = NULL;
    const char *innermost;

    if (!read_own_link(tid, "ns/pid", its) || !read_own_link(thread, "ns/pid", other) ||
        strcmp(its, other) != 0)
        return false;
    ids = field_of(thread, "status", "NSpid");
    innermost = ids ? strrchr(ids, '\t') : NULL; /* it stands last */
    return ids && strtol(innermost ? innermost : ids, NULL, 10) == id;
}

/* 0: it cannot be told, or is none: a pidfd's process that is gone is -1. */
static pid_t process_in(pid_t tid, const char *file, const char *field)
{
    auto_free char *value = field_of(tid, file, field);
    long process = value ? strtol(value, NULL, 10) : 0;

    return process > 0 ? (pid_t)process : 0;
}

pid_t process_of(pid_t tid)
{
    return process_in(tid, "status", "Tgid");
}

pid_t process_of_pidfd(pid_t tid, int fd)
{
    char name[32];

    snprintf(name, sizeof name, "fdinfo/%d", fd);
    return process_in(tid, name, "Pid");
}

/* ---- Sockets ---- */

/* By its protocol's name, which needs no more than to read links there: Docker lets nobody copy a descriptor (pidfd_getfd(2)). */
bool is_socket_of(pid_t tid, int fd, int kind)
{
    char path[64], name[64] = "";

    snprintf(path, sizeof path, "/proc/%d/fd/%d", tid, fd);
    if (getxattr(path, "system.sockprotoname", name, sizeof name - 1) < 0)
        return true;
    if (!strncmp(name, "TCP", 3))
        return kind == SOCK_STREAM;
    return !strncmp(name, "UDP", 3) ? kind == SOCK_DGRAM : true;
}

/* Only those that have one are listed. */
bool is_without_port(pid_t tid, int fd)
{
    static const char *const lists[] = {"udp", "udp6"};
    char name[32], target[PATH_MAX], inode[32];
    unsigned long number;
    bool is_listed = false, is_known = false;

    snprintf(name, sizeof name, "fd/%d", fd);
    if (!read_own_link(tid, name, target) || strncmp(target, "socket:[", 8) != 0)
        return false;
    number = strtoul(target + 8, NULL, 10);
    snprintf(inode, sizeof inode, " %lu ", number);
    for (size_t i = 0; i < array_size(lists); i++) {
        auto_free char *path = text_of("/proc/%d/net/%s", tid, lists[i]);
        auto_free char *text = path ? read_text_file(path) : NULL;

        is_known |= text != NULL;
        is_listed |= text && strstr(text, inode);
    }
    return is_known && !is_listed;
}

/* ---- Where a path leads ---- */

/* A path on its way: what is done of it, and what is to be done. */
struct way {
    pid_t tid;
    char root[PATH_MAX]; /* the tracee's; "" for our own */
    char done[PATH_MAX]; /* absolute; "" at the root */
    char rest[PATH_MAX];
    unsigned links;
};

static bool append(char path[static PATH_MAX], const char *component)
{
    size_t length = strlen(path), added = strlen(component);

    if (length + added + 2 > PATH_MAX)
        return false;
    path[length] = '/';
    memcpy(path + length + 1, component, added + 1);
    return true;
}

/* The parent directory, not above the root. */
static void go_up(struct way *way)
{
    char *slash = strrchr(way->done, '/');

    if (slash && strcmp(way->done, way->root) != 0)
        *slash = '\0';
}

/* Takes the next component of what is to be done. False: there is none. */
static bool next_component(struct way *way, char component[static NAME_MAX + 1], bool *is_last)
{
    char *start = way->rest + strspn(way->rest, "/"), *end = start + strcspn(start, "/");
    size_t length = (size_t)(end - start);

    if (!length || length > NAME_MAX)
        return false;
    memcpy(component, start, length);
    component[length] = '\0';
    end += strspn(end, "/");
    *is_last = !*end;
    memmove(way->rest, end, strlen(end) + 1);
    return true;
}

static bool is_in_proc(const char *path)
{
    struct statfs system;

    return statfs(path, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* The target of a link that was appended to what is done, `component`. /proc/self is the tracee's, not ours. */
static bool read_target(const struct way *way, const char *component, char target[static PATH_MAX])
{
    bool is_self = !strcmp(component, "self"), is_thread = !strcmp(component, "thread-self");
    char parent[PATH_MAX];

    if (is_self || is_thread) {
        snprintf(parent, sizeof parent, "%.*s", (int)(strlen(way->done) - strlen(component)), way->done);
        if (is_in_proc(parent)) {
            pid_t process = process_of(way->tid);

            snprintf(target, PATH_MAX, is_self ? "%d" : "%d/task/%d", process, way->tid);
            return process > 0;
        }
    }
    return read_link(way->done, target);
}

/* Follows the link that is at the end of what is done. */
static bool follow(struct way *way, const char *component)
{
    char target[PATH_MAX];
    size_t length;

    if (++way->links > MOST_LINKS || !read_target(way, component, target))
        return false;
    way->done[strlen(way->done) - strlen(component) - 1] = '\0';
    if (target[0] != '/' && is_in_proc(way->done[0] ? way->done : "/") && strchr(target, ':'))
        return false;     /* "pipe:[1]" */
    if (target[0] == '/') /* what /proc/PID/cwd and its like lead to is told as it is for us */
        strcpy(way->done, is_in_proc(way->done[0] ? way->done : "/") ? "" : way->root);
    length = strlen(target);
    if (length + strlen(way->rest) + 2 > PATH_MAX)
        return false;
    memmove(way->rest + length + 1, way->rest, strlen(way->rest) + 1);
    memcpy(way->rest, target, length);
    way->rest[length] = '/';
    return true;
}

static bool is_link(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static bool walk(struct way *way, int how)
{
    char component[NAME_MAX + 1];
    bool is_last;

    while (next_component(way, component, &is_last)) {
        if (!strcmp(component, "."))
            continue;
        if (!strcmp(component, "..")) {
            go_up(way);
            continue;
        }
        if (!append(way->done, component))
            return false;
        if ((!is_last || how & FOLLOWS) && is_link(way->done) && !follow(way, component))
            return false;
    }
    return !way->rest[strspn(way->rest, "/")];
}

/* Where the tracee's paths begin: its root, or the directory. */
static bool start(struct way *way, int directory, bool is_absolute)
{
    if (!read_own_link(way->tid, "root", way->root) || way->root[0] != '/')
        return false;
    if (!way->root[1])
        way->root[0] = '\0';
    if (is_absolute) {
        strcpy(way->done, way->root);
        return true;
    }
    if (directory == AT_FDCWD ? !read_own_link(way->tid, "cwd", way->done)
                              : !path_of_descriptor(way->tid, directory, way->done))
        return false;
    if (way->done[0] != '/')
        return false;
    if (!way->done[1])
        way->done[0] = '\0';
    return true;
}

bool resolve_path(pid_t tid, int directory, const char *path, int how, char real[static PATH_MAX])
{
    struct way way = {.tid = tid};

    if (!start(&way, directory, path[0] == '/' && !(how & IN_DIRECTORY)))
        return false;
    if (how & IN_DIRECTORY)
        strcpy(way.root, way.done);
    strcpy(way.rest, path);
    if (!walk(&way, how))
        return false;
    strcpy(real, way.done[0] ? way.done : "/");
    return true;
}
