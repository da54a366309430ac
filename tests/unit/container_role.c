/*
 * What stands in for the helper where run_helper() is tested: its first argument says what it does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_SAID = 95, NO_SUCH_ROLE, HAS_GROWN, CANNOT_WRITE };

static void say(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(CANNOT_WRITE);
}

static void wait_for_ever(void)
{
    for (;;)
        poll(NULL, 0, 1000);
}

/* ---- The roles: each returns the exit status ---- */

/* A line for each thing that it got from its caller. */
static int tell_what_it_got(char **arguments)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    char byte;

    for (; *arguments; arguments++)
        printf("argument %s\n", *arguments);
    for (char **variable = environ; *variable; variable++)
        printf("variable %s\n", *variable);
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != dirfd(directory))
            printf("descriptor %s\n", entry->d_name);
    if (directory)
        closedir(directory);
    printf("input %zd\n", read(STDIN_FILENO, &byte, 1));
    return fflush(stdout) == 0 ? 0 : CANNOT_WRITE;
}

/* OUTPUT COMPLAINT STATUS */
static int say_and_exit(char **arguments)
{
    say(STDOUT_FILENO, arguments[0]);
    say(STDERR_FILENO, arguments[1]);
    return (int)strtol(arguments[2], NULL, 10);
}

/* SIGNAL */
static int end_by_signal(char **arguments)
{
    raise((int)strtol(arguments[0], NULL, 10));
    return 0;
}

/* COUNT */
static int write_bytes(char **arguments)
{
    for (long left = strtol(arguments[0], NULL, 10); left > 0; left--)
        putchar(left & 1 ? 'x' : '\0');
    return fflush(stdout) == 0 ? 0 : CANNOT_WRITE;
}

/* MILLISECONDS */
static int sleep_and_exit(char **arguments)
{
    poll(NULL, 0, (int)strtol(arguments[0], NULL, 10));
    return 0;
}

/* FILE: made once it waits */
static int tell_and_wait(char **arguments)
{
    if (open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
        return CANNOT_WRITE;
    wait_for_ever();
    return 0;
}

static int close_and_sleep(char **arguments)
{
    (void)arguments;
    close(STDOUT_FILENO);
    wait_for_ever();
    return 0;
}

static int write_for_ever(char **arguments)
{
    static const char block[4096] = "flood";

    (void)arguments;
    while (write(STDOUT_FILENO, block, sizeof block) > 0)
        continue;
    return CANNOT_WRITE;
}

static int complain_for_ever(char **arguments)
{
    (void)arguments;
    while (write(STDERR_FILENO, "complaint\n", 10) > 0 || errno == EAGAIN)
        continue;
    return CANNOT_WRITE;
}

/* More than is kept; what does not fit is lost. */
static int complain_much(char **arguments)
{
    (void)arguments;
    say(STDERR_FILENO, "the first line\n");
    for (int i = 0; i < 100000; i++)
        if (write(STDERR_FILENO, "more\n", 5) < 0 && errno != EAGAIN)
            return CANNOT_WRITE;
    return ftruncate(STDERR_FILENO, 1 << 20) < 0 ? 0 : HAS_GROWN;
}

static int leave_a_grandchild(char **arguments)
{
    (void)arguments;
    if (fork() == 0) {
        alarm(20);
        wait_for_ever();
    }
    return 0;
}

static const struct {
    const char *name;
    int (*play)(char **arguments);
} roles[] = {
    {"got", tell_what_it_got},
    {"say", say_and_exit},
    {"signal", end_by_signal},
    {"bytes", write_bytes},
    {"sleep", sleep_and_exit},
    {"tell", tell_and_wait},
    {"close", close_and_sleep},
    {"flood", write_for_ever},
    {"complain-for-ever", complain_for_ever},
    {"complain-much", complain_much},
    {"grandchild", leave_a_grandchild},
};

int main(int count, char **arguments)
{
    if (count < 2)
        return NOT_SAID;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (!strcmp(arguments[1], roles[i].name))
            return roles[i].play(arguments + 2);
    return NO_SUCH_ROLE;
}
