/* The victim, and the server that tries the attacks. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUESTIONS = 3, REQUESTS = 4, PATIENCE = 20000 };

char victim_secret[SECRET_SIZE];

static volatile sig_atomic_t signals;

static void count(int number)
{
    (void)number;
    signals = signals + 1;
}

static void answer(void)
{
    char question;
    int value;

    if (read(QUESTIONS, &question, 1) != 1)
        exit(0); /* the stage is gone */
    value = signals;
    signals = 0;
    if (write(QUESTIONS, &value, sizeof value) != sizeof value)
        exit(1);
}

/* What it was asked for: the secret's descriptor, and its directory's. */
static void hand_over(void)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(2 * sizeof(int))];
    } control = {
        .header = {.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char byte;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fds[] = {VICTIMS_FILE, open(".", O_PATH | O_CLOEXEC)};

    if (recv(REQUESTS, &byte, 1, MSG_DONTWAIT) != 1)
        return;
    memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
    if (sendmsg(REQUESTS, &message, MSG_NOSIGNAL) < 0)
        perror("victim");
    close(fds[1]);
}

int be_victim(void)
{
    const char *secret = getenv("SECRET");
    struct pollfd ready[] = {{.fd = QUESTIONS, .events = POLLIN}, {.fd = REQUESTS, .events = POLLIN}};

    if (!secret)
        return 2;
    strncpy(victim_secret, secret, sizeof victim_secret - 1);
    signal(SIGURG, count);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where there is Yama */
    for (;;) {
        int result = poll(ready, 2, 20);

        if (result > 0 && ready[0].revents)
            answer();
        if (result > 0 && ready[1].revents & POLLIN)
            hand_over();
        else if (result > 0 && ready[1].revents)
            ready[1].fd = -1;                                 /* nobody has the other end */
        (void)!opened(open("secret", O_RDONLY | O_NONBLOCK)); /* for those who look on */
    }
}

/* ---- The server ---- */

struct reply {
    int result, error;
};

static const struct attack *attack_of(int number)
{
    for (size_t i = 0; i < group_count; i++) {
        if (number < (int)groups[i]->count)
            return &groups[i]->attacks[number];
        number -= (int)groups[i]->count;
    }
    exit(2);
}

/* Tells what came of it, and stays until it is ended: what it holds can be looked at. */
static void attempt(const struct scene *scene, int number, int out)
{
    struct reply reply;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    errno = 0;
    reply.result = attack_of(number)->attempt(scene);
    reply.error = errno;
    if (write(out, &reply, sizeof reply) == sizeof reply)
        for (;;)
            pause();
    _exit(1);
}

static bool has_all(int fd, void *bytes, size_t size)
{
    for (ssize_t length; size; size -= (size_t)length, bytes = (char *)bytes + length)
        if ((length = read(fd, bytes, size)) <= 0)
            return false;
    return true;
}

static struct reply serve(const struct scene *scene, int number, pid_t *child)
{
    struct reply reply = {-2, 0};
    int pipes[2];
    struct pollfd ready;

    if (pipe2(pipes, O_CLOEXEC) < 0 || (*child = fork()) < 0)
        exit(1);
    if (*child == 0)
        attempt(scene, number, pipes[1]);
    close(pipes[1]);
    ready = (struct pollfd){.fd = pipes[0], .events = POLLIN};
    if (poll(&ready, 1, PATIENCE) != 1)
        reply.result = -3;
    else if (!has_all(pipes[0], &reply, sizeof reply))
        reply = (struct reply){-2, 0};
    close(pipes[0]);
    return reply;
}

int be_server(void)
{
    struct scene scene;
    int number;

    if (!has_all(STDIN_FILENO, &scene, sizeof scene))
        return 1;
    scene.parent = getppid();
    while (has_all(STDIN_FILENO, &number, sizeof number)) {
        pid_t child;
        struct reply reply = serve(&scene, number, &child);
        char byte;

        if (write(STDOUT_FILENO, &reply, sizeof reply) != sizeof reply || !has_all(STDIN_FILENO, &byte, 1))
            return 1;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return 0;
}
