/* Shared by the tests of the launcher: what is missing here, and children in which something may be restricted or closed. */
#ifndef CHILD_H
#define CHILD_H

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { CHILD_REPORT_FD = 100 }; /* where a child tells what failed, its own streams being part of the test */

/* In a child: what is not so is said, and ends it. */
#define must(condition) ((condition) ? (void)0 : give_up(__FILE__, __LINE__, #condition))

static inline void give_up(const char *file, int line, const char *condition)
{
    dprintf(CHILD_REPORT_FD, "%s:%d: not so: %s (errno: %s)\n", file, line, condition, strerror(errno));
    _exit(1);
}

static inline pid_t start_child(void (*body)(const void *), const void *context)
{
    pid_t child = fork();

    if (child == 0) {
        dup3(STDERR_FILENO, CHILD_REPORT_FD, O_CLOEXEC);
        alarm(120);
        body(context);
        _exit(0);
    }
    assert_int_not_equal(child, -1);
    return child;
}

/* Returns the status of waitpid(2). */
static inline int run_child(void (*body)(const void *), const void *context)
{
    pid_t child = start_child(body, context);
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static inline void in_child(void (*body)(const void *), const void *context)
{
    assert_int_equal(run_child(body, context), 0);
}

/* How many descriptors this process has, and what counting them takes. */
static inline size_t open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

/* ---- Capabilities, in a child ---- */

/* A set ("Eff", "Prm", "Inh", "Amb", "Bnd") as /proc/self/status has it. */
static inline unsigned long long capabilities(const char *set)
{
    char text[8192], name[32];
    const char *line;

    snprintf(name, sizeof name, "\nCap%s:\t", set);
    must(read_small_file("/proc/self/status", text, sizeof text));
    line = strstr(text, name);
    must(line);
    return strtoull(line + strlen(name), NULL, 16);
}

static inline void set_capabilities(unsigned long long effective, unsigned long long permitted,
                                    unsigned long long inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct halves[2];

    for (int i = 0; i < 2; i++)
        halves[i] =
            (struct __user_cap_data_struct){(uint32_t)(effective >> 32 * i), (uint32_t)(permitted >> 32 * i),
                                            (uint32_t)(inheritable >> 32 * i)};
    must(syscall(SYS_capset, &header, halves) == 0);
}

/* Skips a test for which something is missing here; where every test is required that is a failure. */
static inline void need(bool is_there, const char *what)
{
    const char *all = getenv("REQUIRE_ALL");

    if (is_there)
        return;
    if (all && *all)
        fail_msg("there must be %s", what);
    print_message("there is no %s here\n", what);
    skip();
}

/* ---- Terminals, in a child ---- */

/* Becomes the leader of a session whose terminal it returns, so that nothing but a filter forbids TIOCSTI to it. */
static inline int open_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal;
    char name[64];

    must(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    must(ptsname_r(master, name, sizeof name) == 0);
    must(setsid() > 0);
    terminal = open(name, O_RDWR | O_CLOEXEC);
    must(isatty(terminal));
    return terminal;
}

#endif
