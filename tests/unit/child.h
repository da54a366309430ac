/* Shared by the tests of the launcher: what is missing here, and children in which something may be restricted or closed. */
#ifndef CHILD_H
#define CHILD_H

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
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
        alarm(30);
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

#endif
