/*
 * Stands in for check-container and does what the file `behaviour` beside it says, a command a line:
 *
 *     say TEXT       to standard output, as it is          finding TEXT   to standard output, as a finding is written
 *     complain TEXT  to standard error                     describe       what it was given: a finding for each
 *     flood FD       without an end                        close FD
 *     raise SIGNAL                                         wait           for ever
 *     checked        as where nothing is found
 *     exit STATUS
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEHAVIOUR "/usr/libexec/landlock-exec/behaviour"

static char **arguments, **environment;

static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static void put(int fd, const char *text, size_t size)
{
    if (write(fd, text, size) != (ssize_t)size)
        _exit(99);
}

static void finding(const char *text)
{
    put(STDOUT_FILENO, text, strlen(text) + 1);
    put(STDOUT_FILENO, "hint", sizeof "hint");
}

static void say(const char *text)
{
    put(STDOUT_FILENO, text, strlen(text));
}

static void checked(const char *nothing)
{
    (void)nothing;
    put(STDOUT_FILENO, "checked", sizeof "checked");
}

static void complain(const char *text)
{
    put(STDERR_FILENO, text, strlen(text));
}

/* Ends where nobody reads; where it cannot be written, goes on all the same. */
static void flood(const char *fd)
{
    static char block[65536];

    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1024; i++)
        if (write(number(fd), block, sizeof block) < 0)
            return;
}

static void describe_open(int fd)
{
    char link[32], text[4096] = "", line[5000];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (fcntl(fd, F_GETFD) < 0)
        return;
    if (readlink(link, text, sizeof text - 1) < 0)
        strcpy(text, "?");
    text[strcspn(text, ":")] = '\0'; /* the number of a pipe, the name of a memfd */
    snprintf(line, sizeof line, "fd %d %s", fd, text);
    finding(line);
}

static void describe(const char *nothing)
{
    char line[8192];

    (void)nothing;
    for (int fd = 0; fd < 1024; fd++)
        describe_open(fd);
    for (char **at = arguments; *at; at++) {
        snprintf(line, sizeof line, "argument %s", *at);
        finding(line);
    }
    for (char **at = environment; *at; at++) {
        snprintf(line, sizeof line, "environment %s", *at);
        finding(line);
    }
}

static void close_one(const char *fd)
{
    close(number(fd));
}

static void die(const char *signal_number)
{
    raise(number(signal_number));
}

static void wait_for_ever(const char *nothing)
{
    (void)nothing;
    for (;;)
        pause();
}

static void leave(const char *status)
{
    _exit(number(status));
}

static const struct {
    const char *name;
    void (*act)(const char *rest);
} acts[] = {{"checked", checked},    {"say", say},     {"finding", finding}, {"complain", complain},
            {"describe", describe},  {"flood", flood}, {"close", close_one}, {"raise", die},
            {"wait", wait_for_ever}, {"exit", leave}};

static void act(char *line)
{
    char *rest = line + strcspn(line, " ");

    if (*rest)
        *rest++ = '\0';
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (!strcmp(acts[i].name, line))
            acts[i].act(rest);
}

int main(int count, char **given, char **surroundings)
{
    static char text[4096];
    int file = open(BEHAVIOUR, O_RDONLY | O_CLOEXEC);
    char *rest = text, *line;

    (void)count;
    if (file < 0 || read(file, text, sizeof text - 1) < 0)
        return 98;
    close(file);
    arguments = given;
    environment = surroundings;
    signal(SIGPIPE, SIG_IGN);
    while ((line = strsep(&rest, "\n")))
        act(line);
    return 97;
}
