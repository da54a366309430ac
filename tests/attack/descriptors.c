/* Descriptors that the program has without opening anything. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct path link_of(int fd)
{
    struct path path;

    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

static int lists(int fd)
{
    char entries[4096];

    return fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || syscall(SYS_getdents64, fd, entries, sizeof entries) <= 0
               ? -1
               : 0;
}

static int try_inherited_file(const struct scene *scene)
{
    return reads_secret(scene, INHERITED_FILE);
}

static int try_inherited_directory(const struct scene *scene)
{
    (void)scene;
    return lists(INHERITED_DIRECTORY);
}

static int try_inherited_socket(const struct scene *scene)
{
    (void)scene;
    return send(INHERITED_SOCKET, "x", 1, 0) == 1 ? 0 : -1;
}

static bool datagram_came(const struct stage *stage)
{
    return is_sent(stage->datagram);
}

static int try_passed_file(const struct scene *scene)
{
    return reads_secret(scene, PASSED_FILE);
}

static int try_write(const struct scene *scene)
{
    int fd = open(link_of(PASSED_FILE).text, O_WRONLY);

    (void)scene;
    return fd < 0 || write(fd, "x", 1) != 1 ? -1 : 0;
}

static int try_truncate(const struct scene *scene)
{
    (void)scene;
    return truncate(link_of(PASSED_FILE).text, 0);
}

static int try_ftruncate(const struct scene *scene)
{
    (void)scene;
    return ftruncate(PASSED_WRITABLE, 0);
}

static bool passed_is_empty(const struct stage *stage)
{
    struct stat state;

    return stat(in(stage->scene.other, "passed").text, &state) == 0 && state.st_size == 0;
}

static int try_fchmod(const struct scene *scene)
{
    (void)scene;
    return fchmod(PASSED_FILE, 0666);
}

static bool kept_is_open_to_all(const struct stage *stage)
{
    struct stat state;

    return stat(in(stage->scene.other, "kept").text, &state) == 0 && (state.st_mode & 0777) == 0666;
}

static int try_list(const struct scene *scene)
{
    (void)scene;
    return lists(PASSED_DIRECTORY);
}

static int try_below(const struct scene *scene)
{
    return reads_secret(scene, openat(PASSED_DIRECTORY, "secret", O_RDONLY));
}

static int try_create_below(const struct scene *scene)
{
    (void)scene;
    return opened(openat(PASSED_DIRECTORY, "new", O_WRONLY | O_CREAT, 0600));
}

static int try_list_again(const struct scene *scene)
{
    (void)scene;
    return opened(open(link_of(PASSED_DIRECTORY).text, O_RDONLY | O_DIRECTORY));
}

/* The victim sends two descriptors for each byte. */
static int receive(int which)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control;
    char byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fds[2];

    if (send(PASSED_SOCKET, "x", 1, 0) < 0 || recvmsg(PASSED_SOCKET, &message, MSG_CMSG_CLOEXEC) < 0)
        return -1;
    if (message.msg_controllen < CMSG_LEN(sizeof fds))
        return failed(ENODATA);
    memcpy(fds, CMSG_DATA(&control.header), sizeof fds);
    return fds[which];
}

static int try_received_file(const struct scene *scene)
{
    return reads_secret(scene, receive(0));
}

static int try_received_directory(const struct scene *scene)
{
    int fd = receive(1);

    return fd < 0 ? -1 : reads_secret(scene, openat(fd, "secret", O_RDONLY));
}

static int try_pidfd_signal(const struct scene *scene)
{
    (void)scene;
    return (int)syscall(SYS_pidfd_send_signal, PASSED_PROCESS, SIGURG, NULL, 0);
}

static bool victim_was_signalled(const struct stage *stage)
{
    return ask_victim(stage, ASK_SIGNALS) > 0;
}

static int try_pidfd_get(const struct scene *scene)
{
    return reads_secret(scene, (int)syscall(SYS_pidfd_getfd, PASSED_PROCESS, VICTIMS_FILE, 0));
}

static const struct attack rows[] = {
    {"inherited-file", "reading one that is not passed", try_inherited_file, LAUNCHER(DESCRIPTORS, EBADF),
     CONTAINER(DESCRIPTORS)},
    {"inherited-directory", "listing one that is not passed", try_inherited_directory,
     LAUNCHER(DESCRIPTORS, EBADF), CONTAINER(DESCRIPTORS)},
    {"inherited-socket", "sending by one that is not passed", try_inherited_socket, datagram_came,
     LAUNCHER(DESCRIPTORS, EBADF), CONTAINER(DESCRIPTORS)},
    {"read", "reading a file that is passed", try_passed_file, CONTAINER(DESCRIPTORS)},
    {"reopen", "re-opening it for writing, by /proc/self/fd", try_write, kept_is_changed, LANDLOCK(1, EACCES),
     CONTAINER(DESCRIPTORS)},
    {"truncate", "truncating it by /proc/self/fd, where it is open for reading", try_truncate,
     kept_is_changed, LANDLOCK(3, EACCES), CONTAINER(DESCRIPTORS)},
    {"ftruncate", "truncating it where it is open for writing", try_ftruncate, passed_is_empty,
     CONTAINER(DESCRIPTORS)},
    {"fchmod", "changing its mode", try_fchmod, kept_is_open_to_all, CONTAINER(DESCRIPTORS)},
    {"list", "listing a directory that is passed", try_list, CONTAINER(DESCRIPTORS)},
    {"list-again", "re-opening it, by /proc/self/fd", try_list_again, LANDLOCK(1, EACCES),
     CONTAINER(DESCRIPTORS)},
    {"below", "opening a file in it", try_below, LANDLOCK(1, EACCES), CONTAINER(DESCRIPTORS)},
    {"create-below", "creating a file in it", try_create_below, new_is_there, LANDLOCK(1, EACCES),
     CONTAINER(DESCRIPTORS)},
    {"received-file", "reading a file that comes by a socket (SCM_RIGHTS)", try_received_file,
     CONTAINER(DESCRIPTORS)},
    {"received-directory", "opening a file in a directory that comes by it", try_received_directory,
     LANDLOCK(1, EACCES), CONTAINER(DESCRIPTORS)},
    {"process-signal", "signalling a process by a pidfd that is passed", try_pidfd_signal,
     victim_was_signalled, LANDLOCK(6, EPERM), CONTAINER(DESCRIPTORS)},
    {"process-descriptor", "taking a descriptor of that process", try_pidfd_get, LANDLOCK(1, EPERM),
     CONTAINER(DESCRIPTORS), FILTERED},
};

const struct attack_group descriptor_group = {
    .name = "descriptors", .title = "Descriptors of the caller's", ROWS(rows)};
