/*
 * check-container: what landlock-exec runs as its child where the container must be checked. It looks at its parent and at the
 * mounts they share, writes what is amiss to standard output, and ends with CONTAINER_FINE only where nothing is.
 */
#include "container/container.h"

#include <errno.h>
#include <string.h>

/* On one line: the launcher makes it part of its own. */
static int say(const struct error *error)
{
    auto_free char *text = text_of("%s%s%s", error->message, error->hint[0] ? "; " : "", error->hint);

    text_write_line(STDERR_FILENO, "", text ? text : "out of memory");
    return CONTAINER_NOT_CHECKED;
}

static int check(char *const *arguments, struct container_expectation *expectation,
                 struct container_findings *findings, struct error *error)
{
    pid_t parent = getppid();

    if (container_read_arguments(arguments, expectation, error) < 0 ||
        container_check(expectation, parent, findings, error) < 0)
        return say(error);
    if (getppid() != parent) {
        error_set(error, 1, "the process to be checked has ended");
        return say(error);
    }
    if (container_write_findings(STDOUT_FILENO, findings) < 0 ||
        (!findings->count && write_all(STDOUT_FILENO, CONTAINER_CHECKED, sizeof CONTAINER_CHECKED) < 0)) {
        error_set(error, 1, "standard output: %s", strerror(errno));
        return say(error);
    }
    return findings->count ? CONTAINER_HAS_FINDINGS : CONTAINER_FINE;
}

int main(int count, char **arguments)
{
    struct container_expectation expectation = {0};
    struct container_findings findings = {0};
    struct error error = {0};
    int status;

    (void)count;
    status = check(arguments, &expectation, &findings, &error);
    container_findings_free(&findings);
    container_expectation_free(&expectation);
    return status;
}
