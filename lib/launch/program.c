#include "launch/internal.h"

#include <errno.h>
#include <string.h>

static const char *search_path(const struct launch *launch)
{
    for (char **variable = launch->environment; *variable; variable++)
        if (!strncmp(*variable, "PATH=", 5))
            return *variable + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

/* 0 if `path`, seen from the program's working directory, is a file that this user may execute; else the
 * errno. */
static int executability(const struct launch *launch, const char *path)
{
    struct stat status;

    if (fstatat(launch->directory, path, &status, 0) < 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : EACCES;
    return faccessat(launch->directory, path, X_OK, 0) < 0 ? errno : 0;
}

static int use(struct launch *launch, const char *path, struct error *error)
{
    launch->program = strdup(path);
    return launch->program ? 0 : system_error(error, "looking for the program");
}

static int say_unusable(const char *name, int failure, struct error *error)
{
    bool is_missing = failure == ENOENT || failure == ENOTDIR;

    return error_set(error, is_missing ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE, "%s: %s: %s", name,
                     is_missing ? "not found" : "cannot execute", strerror(failure));
}

/* The first executable file of that name in PATH; entries that are not absolute are passed over. */
static int search(struct launch *launch, const char *name, struct error *error)
{
    int failure = ENOENT;
    char path[PATH_MAX];

    for (const char *entry = search_path(launch); *entry; entry += *entry == ':') {
        size_t length = strcspn(entry, ":");

        if (entry[0] == '/' && length + strlen(name) + 2 <= sizeof path) {
            int result;

            snprintf(path, sizeof path, "%.*s/%s", (int)length, entry, name);
            result = executability(launch, path);
            if (!result)
                return use(launch, path, error);
            if (result != ENOENT && result != ENOTDIR)
                failure = result;
        }
        entry += length;
    }
    say_unusable(name, failure, error);
    if (failure == ENOENT)
        error_hint(error,
                   "it was looked for in %s (PATH as the policy sets it): write its whole path, or set PATH "
                   "in the policy",
                   search_path(launch));
    return -1;
}

/* Tells beforehand what execve(2) would answer inside the restriction. */
static int predict_permission(const struct launch *launch, struct error *error)
{
    auto_close int fd = openat(launch->directory, launch->program, O_PATH | O_CLOEXEC);
    char real[PATH_MAX];

    if (fd < 0 || path_of_fd(fd, real) < 0 || launch_grants(launch, real, POLICY_EXECUTE | POLICY_READ_FILE))
        return 0;
    error_set(error, LAUNCH_NOT_EXECUTABLE, "%s: cannot execute: the policy does not allow it (%s)",
              launch->program, strerror(EACCES));
    return error_hint(error, "add to the policy: allow execute,read_file %s", real);
}

int prepare_program(struct launch *launch, struct error *error)
{
    const char *name = launch->arguments[0];
    int failure;

    if (!name[0])
        return error_set(error, LAUNCH_NOT_FOUND, "'': not found: the program's name is empty");
    if (!strchr(name, '/'))
        return search(launch, name, error) < 0 ? -1 : predict_permission(launch, error);
    failure = executability(launch, name);
    if (failure)
        return say_unusable(name, failure, error);
    return use(launch, name, error) < 0 ? -1 : predict_permission(launch, error);
}
