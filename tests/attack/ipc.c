/* System V and POSIX IPC, and keys. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int try_shm(const struct scene *scene)
{
    const char *text = shmat(scene->shm, NULL, SHM_RDONLY);

    return text == (const char *)-1 ? -1 : equals_secret(scene, text);
}

static int try_semaphore(const struct scene *scene)
{
    return semctl(scene->semaphore, 0, SETVAL, 7);
}

static bool semaphore_is_set(const struct stage *stage)
{
    return semctl(stage->scene.semaphore, 0, GETVAL) == 7;
}

static int try_message(const struct scene *scene)
{
    struct {
        long type;
        char text[SECRET_SIZE];
    } message = {.type = 0};

    return msgrcv(scene->messages, &message, SECRET_SIZE, 0, IPC_NOWAIT) < 0
               ? -1
               : equals_secret(scene, message.text);
}

static int try_queue(const struct scene *scene)
{
    char text[8192] = "";
    mqd_t queue = mq_open(scene->queue, O_RDONLY | O_NONBLOCK);

    return queue < 0 || mq_receive(queue, text, sizeof text, NULL) < 0 ? -1 : equals_secret(scene, text);
}

static int try_queue_unlink(const struct scene *scene)
{
    return mq_unlink(scene->queue);
}

static bool queue_is_gone(const struct stage *stage)
{
    mqd_t queue = mq_open(stage->scene.queue, O_RDONLY);

    return opened(queue) < 0;
}

static int reads_key(const struct scene *scene, int ring)
{
    char text[SECRET_SIZE] = "";
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, ring, "user", scene->abstract, KEY_SPEC_PROCESS_KEYRING);

    if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text - 1) < 0)
        return -1;
    return equals_secret(scene, text);
}

static int try_session_key(const struct scene *scene)
{
    return reads_key(scene, KEY_SPEC_SESSION_KEYRING);
}

static int try_user_key(const struct scene *scene)
{
    return reads_key(scene, KEY_SPEC_USER_KEYRING);
}

static const struct attack rows[] = {
    {"shm", "System V: shared memory", try_shm, CONTAINER(IPC)},
    {"semaphore", "System V: a semaphore", try_semaphore, semaphore_is_set, CONTAINER(IPC)},
    {"message", "System V: a message queue", try_message, CONTAINER(IPC)},
    {"queue", "POSIX: reading a message queue", try_queue, .need = NEEDS_QUEUE, LANDLOCK(1, EACCES),
     CONTAINER(IPC)},
    {"queue-unlink", "POSIX: removing a message queue", try_queue_unlink, queue_is_gone, NEEDS_QUEUE,
     CONTAINER(IPC)},
    {"session-key", "keys of the session (keyrings(7))", try_session_key, CONTAINER(SECCOMP), FILTERED},
    {"user-key", "keys of the user", try_user_key, CONTAINER(SECCOMP), FILTERED},
};

const struct attack_group ipc_group = {
    .name = "ipc", .title = "System V and POSIX objects, and keys, of the same user", ROWS(rows)};
