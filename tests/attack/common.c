#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct path in(const char *folder, const char *name)
{
    struct path path;

    snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
    return path;
}

int failed(int error)
{
    errno = error;
    return -1;
}

int opened(int fd)
{
    return fd < 0 ? -1 : close(fd);
}

int equals_secret(const struct scene *scene, const char *text)
{
    return memcmp(text, scene->secret, SECRET_SIZE - 1) == 0 ? 0 : failed(EBADMSG);
}

int reads_secret(const struct scene *scene, int fd)
{
    char text[SECRET_SIZE] = "";

    if (fd < 0 || pread(fd, text, sizeof text - 1, 0) < 0)
        return -1;
    close(fd);
    return equals_secret(scene, text);
}

int witnessed(const char *program, const char *word, int fd)
{
    char *arguments[] = {(char *)program, (char *)word, NULL}, *environment[] = {NULL};
    int status, pipes[2], failure = 0;
    pid_t child;

    if (pipe2(pipes, O_CLOEXEC) < 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        close(STDERR_FILENO); /* what the ELF loader says is of no interest */
        if (fd >= 0)
            fexecve(fd, arguments, environment);
        else
            execve(program, arguments, environment);
        failure = errno;
        _exit(write(pipes[1], &failure, sizeof failure) > 0);
    }
    close(pipes[1]);
    if (read(pipes[0], &failure, sizeof failure) > 0)
        return failed(failure);
    if (waitpid(child, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == WITNESS ? 0 : failed(EBADMSG);
}

/* ---- Effects ---- */

static bool is_changed(const struct stage *stage, const char *name)
{
    char text[SECRET_SIZE + 1] = "";
    int fd = open(in(stage->scene.other, name).text, O_RDONLY | O_NONBLOCK);
    ssize_t length = read(fd, text, sizeof text);

    close(fd);
    return length != SECRET_SIZE - 1 || memcmp(text, stage->scene.secret, SECRET_SIZE - 1) != 0;
}

bool secret_is_changed(const struct stage *stage)
{
    return is_changed(stage, "secret");
}

bool kept_is_changed(const struct stage *stage)
{
    return is_changed(stage, "kept");
}

static bool is_there(const char *path)
{
    struct stat state;

    return lstat(path, &state) == 0;
}

bool secret_is_gone(const struct stage *stage)
{
    return !is_there(SECRET(&stage->scene));
}

bool new_is_there(const struct stage *stage)
{
    return is_there(in(stage->scene.other, "new").text);
}

static bool is_ready(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, 2000) == 1;
}

bool is_connected(int listener)
{
    int fd = is_ready(listener) ? accept(listener, NULL, NULL) : -1;

    return opened(fd) == 0;
}

bool is_sent(int socket)
{
    char byte;

    return is_ready(socket) && recv(socket, &byte, 1, 0) == 1;
}

/* The echo requests that have come here, of /proc/net/snmp: a line of names, and one of numbers. */
long pings(void)
{
    FILE *file = fopen("/proc/net/snmp", "re");
    char line[1024], names[1024] = "";
    long count = -1;

    while (file && count < 0 && fgets(line, sizeof line, file)) {
        char *name_state, *state, *name = strtok_r(names, " \n", &name_state),
                                  *word = strtok_r(strdupa(line), " \n", &state);

        for (; name && word && !strncmp(line, "Icmp: ", 6);
             name = strtok_r(NULL, " \n", &name_state), word = strtok_r(NULL, " \n", &state))
            if (!strcmp(name, "InEchos"))
                count = strtol(word, NULL, 10);
        memcpy(names, line, sizeof names);
    }
    if (file)
        fclose(file);
    return count;
}

int ask_victim(const struct stage *stage, char question)
{
    int answer = -1;

    if (write(stage->victim, &question, 1) != 1 ||
        read(stage->victim, &answer, sizeof answer) != sizeof answer)
        abort(); /* without the victim nothing can be said */
    return answer;
}
