/* Signals to the victim, which counts them. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_come(const struct stage *stage)
{
    return ask_victim(stage, ASK_SIGNALS) > 0;
}

static int try_kill(const struct scene *scene)
{
    return kill(scene->victim, SIGURG);
}

static int try_existence(const struct scene *scene)
{
    return kill(scene->victim, 0);
}

static int try_group(const struct scene *scene)
{
    return kill(-scene->victim, SIGURG);
}

/* To all that it may: SIGURG is ignored by those who do not ask for it. */
static int try_all(const struct scene *scene)
{
    (void)scene;
    signal(SIGURG, SIG_IGN);
    return kill(-1, SIGURG);
}

static int try_thread(const struct scene *scene)
{
    return (int)syscall(SYS_tgkill, scene->victim, scene->victim, SIGURG);
}

static int try_queue(const struct scene *scene)
{
    return sigqueue(scene->victim, SIGURG, (union sigval){0});
}

static int try_pidfd(const struct scene *scene)
{
    int process = (int)syscall(SYS_pidfd_open, scene->victim, 0);

    return process < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, process, SIGURG, NULL, 0);
}

static int owned_by(pid_t victim, int sockets[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 || fcntl(sockets[0], F_SETOWN, victim) < 0 ? -1
                                                                                                       : 0;
}

static int try_owner(const struct scene *scene)
{
    int sockets[2];

    if (owned_by(scene->victim, sockets) < 0 || fcntl(sockets[0], F_SETSIG, SIGURG) < 0 ||
        fcntl(sockets[0], F_SETFL, O_ASYNC) < 0)
        return -1;
    return write(sockets[1], "x", 1) == 1 ? 0 : -1;
}

static int try_owner_group(const struct scene *scene)
{
    struct f_owner_ex owner = {F_OWNER_PGRP, scene->victim};
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 || fcntl(sockets[0], F_SETOWN_EX, &owner) < 0 ||
        fcntl(sockets[0], F_SETSIG, SIGURG) < 0 || fcntl(sockets[0], F_SETFL, O_ASYNC) < 0)
        return -1;
    return write(sockets[1], "x", 1) == 1 ? 0 : -1;
}

/* The one that urgent data cause. */
static int try_urgent(const struct scene *scene)
{
    int sockets[2];

    return owned_by(scene->victim, sockets) < 0 || send(sockets[1], "x", 1, MSG_OOB) != 1 ? -1 : 0;
}

static const struct attack rows[] = {
    {"kill", "kill(2)", try_kill, has_come, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"existence", "kill(2) with signal 0", try_existence, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"group", "kill(2) of its process group", try_group, has_come, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"all", "kill(2) of all processes", try_all, has_come, LANDLOCK(6, 0), CONTAINER(PROCESSES)},
    {"thread", "tgkill(2)", try_thread, has_come, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"queue", "sigqueue(3)", try_queue, has_come, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"pidfd", "pidfd_send_signal(2)", try_pidfd, has_come, LANDLOCK(6, EPERM), CONTAINER(PROCESSES)},
    {"owner", "by input and output (F_SETOWN, O_ASYNC)", try_owner, has_come, LANDLOCK(6, 0),
     CONTAINER(PROCESSES)},
    {"owner-group", "the same to a process group", try_owner_group, has_come, LANDLOCK(6, 0),
     CONTAINER(PROCESSES)},
    {"urgent", "by urgent data (F_SETOWN, MSG_OOB)", try_urgent, has_come, LANDLOCK(6, 0),
     CONTAINER(PROCESSES)},
};

const struct attack_group signal_group = {.name = "signals",
                                          .title = "Signals to processes of the same user outside of the "
                                                   "restriction",
                                          ROWS(rows)};
