/* A folder and a policy for verdict.c and trial.c. */
#ifndef VERDICT_FIXTURE_H
#define VERDICT_FIXTURE_H

#include "child.h"
#include "launch/launch.h"

#include <ftw.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

struct fixture {
    char top[PATH_MAX / 4]; /* a new folder */
    struct launch launch;
    struct launch_request request;
    struct launch_faults faults;
};

/* Good until it is called four times more. */
static inline char *path_in(const struct fixture *fixture, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % array_size(paths)];

    snprintf(path, PATH_MAX, "%s%s%s", fixture->top, name[0] ? "/" : "", name);
    return path;
}

static inline void make_file(const struct fixture *fixture, const char *name, mode_t mode,
                             const char *content)
{
    int fd = open(path_in(fixture, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    must(fd >= 0 && write_all(fd, content, strlen(content)) == 0 && fchmod(fd, mode) == 0);
    close(fd);
}

static inline void make_folder(const struct fixture *fixture, const char *name)
{
    must(mkdir(path_in(fixture, name), 0700) == 0);
}

static inline unsigned newest_abi(void)
{
    struct error error;
    int abi = landlock_abi(&error);

    return abi < 0 ? 0 : (unsigned)abi;
}

static inline void release(struct fixture *fixture)
{
    launch_free(&fixture->launch);
    launch_faults_free(&fixture->faults);
    fixture->launch = (struct launch){0};
}

/* Prepares a policy of these lines after `policy 1`, in which each % is the folder, on an ABI (0: the kernel's). */
static inline void prepare(struct fixture *fixture, unsigned abi, const char *lines)
{
    auto_free char *file = text_of("%s.policy", fixture->top);
    struct error error = {0};
    FILE *out;

    release(fixture);
    unlink(file);
    out = fopen(file, "wxe");
    must(out && fchmod(fileno(out), 0600) == 0);
    fputs("policy 1\n", out);
    for (const char *at = lines; *at; at++)
        if (*at == '%')
            fputs(fixture->top, out);
        else
            putc(*at, out);
    putc('\n', out);
    must(fclose(out) == 0);
    fixture->request = (struct launch_request){
        .policy_file = file, .status_fd = -1, .max_abi = abi, .faults = &fixture->faults};
    if (launch_prepare_domain(&fixture->launch, &fixture->request, &error) < 0)
        fail_msg("%s", error.message);
    fixture->request.policy_file = NULL; /* it goes with this function */
    unlink(file);
}

static inline int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    (void)status;
    (void)flag;
    (void)place;
    return remove(path);
}

static inline int make_fixture(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){.launch = {.ruleset = -1}};
    strcpy(fixture.top, "/tmp/unit-verdict-XXXXXX");
    *state = &fixture;
    return mkdtemp(fixture.top) ? 0 : -1;
}

static inline int remove_fixture(void **state)
{
    struct fixture *fixture = *state;

    release(fixture);
    return nftw(fixture->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* chattr +a, or -a. It takes a capability that a container's root has not, and a file system that knows it. */
static inline bool set_append_only(const char *path, bool is_set)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    int flags;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return false;
    flags = is_set ? flags | FS_APPEND_FL : flags & ~FS_APPEND_FL;
    return ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
}

static inline void make_append_only(const char *path)
{
    if (set_append_only(path, true))
        return;
    print_message("chattr +a: %s\n", strerror(errno));
    skip();
}

#endif
