/*
 * Tells what it sees, a word for each QUESTION ARGUMENT, or QUESTION=ARGUMENT, in which the launcher sees no path:
 *
 *     read PATH      the first line of it          write PATH      OK if it can be opened for that
 *     whole PATH     of what letter it is, and how many of them, or "torn"
 *     list PATH      OK if it can be listed        create PATH     OK if a file could be made there; it is removed
 *     env NAME       the value                     limit -         of open files
 *     at -           the working directory         self -          the file that runs
 *     open -         how many descriptors are open
 *
 * or the name of the errno. Static, so that a policy need allow nothing but this one file.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 17, MOST_DESCRIPTORS = 1024 };

static ssize_t bytes_of(const char *path, char *bytes, size_t size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = -1;

    while (fd >= 0 && length < size && (count = read(fd, bytes + length, size - length)) > 0)
        length += (size_t)count;
    if (fd >= 0)
        close(fd);
    return fd < 0 || count < 0 ? -1 : (ssize_t)length;
}

static void tell_result(int result)
{
    fputs(result < 0 ? strerrorname_np(errno) : "OK", stdout);
}

static void tell_first_line(const char *path)
{
    char text[128];
    ssize_t length = bytes_of(path, text, sizeof text - 1);

    if (length < 0) {
        tell_result(-1);
        return;
    }
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fputs(text, stdout);
}

static void tell_whole(const char *path)
{
    static char bytes[MOST_BYTES];
    ssize_t length = bytes_of(path, bytes, sizeof bytes);

    if (length < 0)
        tell_result(-1);
    else if (length && memcmp(bytes, bytes + 1, (size_t)length - 1) != 0)
        fputs("torn", stdout);
    else
        printf("%c%zd", length ? bytes[0] : '-', length);
}

static void tell_written(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    tell_result(fd);
    if (fd >= 0)
        close(fd);
}

static void tell_listed(const char *path)
{
    DIR *directory = opendir(path);

    tell_result(directory ? 0 : -1);
    if (directory)
        closedir(directory);
}

static void tell_created(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* two may do so at once */

    tell_result(fd);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
}

static void tell_variable(const char *name)
{
    const char *value = getenv(name);

    fputs(value ? value : "none", stdout);
}

static void tell_limit(const char *unused)
{
    struct rlimit limit;

    (void)unused;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("%lu", (unsigned long)limit.rlim_max);
}

static void tell_place(const char *unused)
{
    char path[PATH_MAX];

    (void)unused;
    if (getcwd(path, sizeof path))
        fputs(path, stdout);
    else
        tell_result(-1);
}

static void tell_self(const char *unused)
{
    char path[PATH_MAX] = "";

    (void)unused;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
        tell_result(-1);
    fputs(path, stdout);
}

static void tell_open(const char *unused)
{
    int count = 0;

    (void)unused;
    for (int fd = 0; fd < MOST_DESCRIPTORS; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    printf("%d", count);
}

static const struct {
    const char *name;
    void (*tell)(const char *argument);
} questions[] = {
    {"read", tell_first_line}, {"whole", tell_whole},  {"write", tell_written}, {"list", tell_listed},
    {"create", tell_created},  {"env", tell_variable}, {"limit", tell_limit},   {"at", tell_place},
    {"self", tell_self},       {"open", tell_open},
};

static void answer(const char *question, size_t length, const char *argument)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        if (strlen(questions[i].name) == length && !memcmp(questions[i].name, question, length)) {
            questions[i].tell(argument);
            putchar(' ');
            return;
        }
    errx(2, "no such question: %s", question);
}

int main(int count, char **arguments)
{
    int first = count > 1 && arguments[1][0] == '/' ? 2 : 1; /* of a script it is the interpreter */

    for (int i = first; i < count; i++) {
        char *equals = strchr(arguments[i], '=');

        if (!equals && i + 1 == count)
            errx(2, "a question without an argument: %s", arguments[i]);
        if (equals)
            answer(arguments[i], (size_t)(equals - arguments[i]), equals + 1);
        else
            answer(arguments[i], strlen(arguments[i]), arguments[i + 1]);
        i += !equals;
    }
    putchar('\n');
    return 0;
}
