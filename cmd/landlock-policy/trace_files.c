#include "tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* By which what was written here is known. */
static const char first_line[] = "# Written by landlock-policy trace: what would allow what a program was "
                                 "denied.\n";

static int say_file(const char *file, struct error *error)
{
    return error_set(error, LAUNCH_SYSTEM, "%s: %s", file, strerror(errno));
}

/* ---- Files that must not be written over ---- */

static bool is_file(const char *name, uint64_t device, uint64_t inode)
{
    struct stat status;

    return name && stat(name, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

bool is_output(const struct outputs *outputs, uint64_t device, uint64_t inode)
{
    return is_file(outputs->policy, device, inode) || is_file(outputs->report, device, inode);
}

static bool was_written_here(const char *file)
{
    auto_close int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[sizeof first_line] = "";

    return fd >= 0 && read(fd, text, sizeof text - 1) >= 0 && !strcmp(text, first_line);
}

static int check_replaced(const char *file, struct error *error)
{
    struct stat status;

    if (lstat(file, &status) < 0)
        return errno == ENOENT ? 0 : say_file(file, error);
    if (S_ISREG(status.st_mode) && was_written_here(file))
        return 0;
    error_set(error, LAUNCH_SYSTEM, "%s: it is there, and trace has not written it", file);
    return error_hint(error, "name another file, and include it, or copy the lines that are right");
}

/* ---- The policy ---- */

/* A new file beside `file`, with the mode that open(2) would give it. */
static int open_beside(const char *file, struct replacement *replacement, const char **name)
{
    auto_close int directory = open_parent(file, name);
    mode_t mask = umask(0);

    umask(mask);
    *replacement = (struct replacement){.fd = -1, .directory = -1};
    if (directory < 0 || replacement_open(replacement, directory, ".landlock-policy-") < 0)
        return -1;
    if (fchmod(replacement->fd, 0644 & ~mask) < 0) {
        replacement_drop(replacement);
        return -1;
    }
    take_fd(&directory);
    return 0;
}

static void drop(struct replacement *replacement)
{
    replacement_drop(replacement);
    cleanup_close(&replacement->directory);
}

/* Before anything runs: whether it can be written. */
static int check_output(const char *file, struct error *error)
{
    struct replacement replacement;
    const char *name;

    if (check_replaced(file, error) < 0)
        return -1;
    if (open_beside(file, &replacement, &name) == 0) {
        drop(&replacement);
        return 0;
    }
    say_file(file, error);
    return errno == EACCES ? error_hint(error, "the directory must be one in which this user may write "
                                               "without "
                                               "capabilities, which are given up")
                           : -1;
}

/* Nothing in it but the lines comes from the program. */
static int write_policy(FILE *out, const struct found *found)
{
    fprintf(out, "%s# Read it; then let the policy include it, or copy what is right.\npolicy 1\n%s",
            first_line, found->needed.count ? "\n" : "");
    if (write_lines(out, "", &found->needed) < 0)
        return -1;
    if (found->tolerated.count)
        fputs("\n# The program succeeded without these: leave out what it should not have.\n", out);
    return write_lines(out, "", &found->tolerated);
}

/* The stream has a descriptor of its own. */
static int fill(int fd, const struct found *found)
{
    auto_close int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
    int result;

    if (!out)
        return -1;
    take_fd(&copy);
    result = write_policy(out, found) < 0 || fflush(out) < 0 || ferror(out) ? -1 : 0;
    return fclose(out) < 0 ? -1 : result;
}

int write_output(const char *file, const struct found *found, struct error *error)
{
    struct replacement replacement;
    const char *name;
    int result;

    if (open_beside(file, &replacement, &name) < 0)
        return say_file(file, error);
    result = fill(replacement.fd, found);
    if (result == 0)
        result = replacement_place(&replacement, name);
    if (result < 0)
        say_file(file, error);
    drop(&replacement);
    return result;
}

/* ---- The report ---- */

/* The file is emptied only when it is known to be no other that is needed. */
static int open_report(const struct outputs *outputs, struct error *error)
{
    const char *file = outputs->report;
    auto_close int fd = file ? open(file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)
                             : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return say_file(file ? file : "standard error", error);
    if (file && is_file(outputs->policy, status.st_dev, status.st_ino))
        return error_set(error, LAUNCH_USAGE, "%s: it is named by --report and by --output", file);
    if (file && S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0)
        return say_file(file, error);
    return take_fd(&fd);
}

int open_outputs(struct outputs *outputs, struct error *error)
{
    if (outputs->report_fd)
        return 0;
    if (outputs->policy && check_output(outputs->policy, error) < 0)
        return -1;
    outputs->programs_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (outputs->programs_fd < 0)
        return say_file("standard output", error);
    outputs->report_fd = open_report(outputs, error);
    return outputs->report_fd < 0 ? -1 : 0;
}

void close_outputs(const struct outputs *outputs)
{
    if (outputs->report_fd > 0)
        close(outputs->report_fd);
    if (outputs->programs_fd > 0)
        close(outputs->programs_fd);
}

static int direct(int to, struct error *error)
{
    return flush_output() < 0 || dup2(to, STDOUT_FILENO) < 0 ? say_file("the report", error) : 0;
}

int direct_to_report(const struct outputs *outputs, struct error *error)
{
    return direct(outputs->report_fd, error);
}

int direct_to_program(const struct outputs *outputs, struct error *error)
{
    return direct(outputs->programs_fd, error);
}
