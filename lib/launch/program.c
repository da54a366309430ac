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

/* 0 if `path`, seen from the program's working directory, is a file that this user may execute; else the errno. */
static int executability(const struct launch *launch, const char *path, struct stat *status)
{
    if (fstatat(launch->directory, path, status, 0) < 0)
        return errno;
    if (!S_ISREG(status->st_mode))
        return S_ISDIR(status->st_mode) ? EISDIR : EACCES;
    return faccessat(launch->directory, path, X_OK, 0) < 0 ? errno : 0;
}

/* `role`: "the program", or what stands between it and the kernel. */
static int say_unusable(const struct launch *launch, const char *name, const char *role, int failure,
                        struct error *error)
{
    bool is_missing = failure == ENOENT || failure == ENOTDIR;

    error_set(error, is_missing ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE, "%s: %s: %s", name,
              is_missing ? "not found" : "cannot execute", strerror(failure));
    if (launch->program && strcmp(name, launch->program) != 0)
        error_hint(error, "it is %s of %s", role, launch->program);
    else if (failure == EACCES)
        error_hint(error, "its mode or a noexec mount forbids it, not the policy: chmod +x it, or name its "
                          "interpreter (python3 FILE)");
    return -1;
}

/* Takes `name` for the program, if it can be executed; *status is what fstatat(2) gives of it. */
static int use(struct launch *launch, const char *name, struct stat *status, struct error *error)
{
    int failure = executability(launch, name, status);

    if (failure)
        return say_unusable(launch, name, "the program", failure, error);
    launch->program = strdup(name);
    return launch->program ? 0 : system_error(error, "looking for the program");
}

/* The first executable file of that name in PATH; entries that are not absolute are passed over. */
static int search(struct launch *launch, const char *name, struct stat *status, struct error *error)
{
    const char *path = search_path(launch);
    auto_free char *found = malloc(strlen(path) + strlen(name) + 2);
    int failure = ENOENT;

    if (!found) {
        system_error(error, "looking for the program");
        return -1;
    }
    for (const char *entry = path; *entry; entry += *entry == ':') {
        int length = (int)strcspn(entry, ":"), result;

        sprintf(found, "%.*s/%s", length, entry, name);
        result = entry[0] == '/' ? executability(launch, found, status) : ENOENT;
        if (!result) {
            launch->program = found;
            found = NULL;
            return 0;
        }
        if (result != ENOENT && result != ENOTDIR)
            failure = result;
        entry += length;
    }
    say_unusable(launch, name, "the program", failure, error);
    if (failure == ENOENT)
        error_hint(error,
                   "it was looked for in %s (PATH as the policy sets it): write its whole path, or set PATH "
                   "in the policy",
                   path);
    return -1;
}

/* Tells beforehand what execve(2) would answer inside the restriction. */
static int check_grants(const struct launch *launch, const char *path, const char *role,
                        const struct stat *status, struct error *error)
{
    policy_rights needed = (POLICY_EXECUTE | POLICY_READ_FILE) & launch->handled;
    auto_free char *real = NULL, *word = NULL;
    auto_close int fd = -1;

    if (!(needed & ~granted_on(launch, status->st_dev, status->st_ino)))
        return 0;
    fd = openat(launch->directory, path, O_PATH | O_CLOEXEC);
    real = fd < 0 ? NULL : path_of_fd(fd);
    if (!real || launch_grants(launch, real, needed))
        return 0;
    error_set(error, LAUNCH_NOT_EXECUTABLE, "%s: cannot execute: the policy does not allow it (%s)", path,
              strerror(EACCES));
    word = text_as_word(real);
    return error_hint(error, "it is %s; add to the policy: allow execute,read_file %s", role,
                      word ? word : "PATH");
}

int check_executable(const struct launch *launch, const char *path, const char *role, struct error *error)
{
    struct stat status;
    int failure = executability(launch, path, &status);

    if (failure)
        return say_unusable(launch, path, role, failure, error);
    return check_grants(launch, path, role, &status, error);
}

int prepare_program(struct launch *launch, struct error *error)
{
    const char *name = launch->arguments[0];
    struct stat status;
    int result;

    if (!name[0])
        return error_set(error, LAUNCH_NOT_FOUND, "'': not found: the program's name is empty");
    if (strchr(name, '/'))
        result = use(launch, name, &status, error);
    else
        result = search(launch, name, &status, error);
    if (result < 0 || check_grants(launch, launch->program, "the program", &status, error) < 0)
        return -1;
    return check_interpreters(launch, error);
}

int say_directory(const struct launch *launch, struct error *error)
{
    int failure = errno;

    error_set(error, LAUNCH_PATH, "directory %s: %s", launch->policy->directory.path, strerror(failure));
    return failure == EACCES
               ? error_hint(error, "UID %u may not enter it: its owner can change that (chmod u+rwx)",
                            getuid())
               : -1;
}

static int check_directory(const struct launch *launch, struct error *error)
{
    if (launch->directory == AT_FDCWD || faccessat(launch->directory, ".", X_OK, AT_EACCESS) == 0)
        return 0;
    return say_directory(launch, error);
}

int launch_check_unprivileged(struct launch *launch, struct error *error)
{
    if (launch_drop_capabilities(error) < 0)
        return -1;
    if (check_directory(launch, error) < 0 && fault(launch, &launch->policy->directory.position, error) < 0)
        return -1;
    if (!launch->program || (check_executable(launch, launch->program, "the program", error) == 0 &&
                             check_interpreters(launch, error) == 0))
        return 0;
    return fault(launch, &launch->policy->run_position, error);
}
