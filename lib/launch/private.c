#include "launch/internal.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

static int say_open(const struct launch *launch, const struct policy_path *named, const char *by,
                    struct error *error)
{
    policy_error(error, LAUNCH_PRIVATE, launch, &named->position,
                 "%s is private, but a rule lets the program open it as %s", named->path, by);
    return error_hint(error, "take it, and the directories above it, out of the policy's allow statements, "
                             "or keep the file elsewhere");
}

static bool is_open(const struct launch *launch, const char *path)
{
    return launch_grants(launch, path, POLICY_READ_FILE) || launch_grants(launch, path, POLICY_WRITE_FILE);
}

/* Whether the file shows at this mount, too, where a rule reaches it: bind mounts give a file several paths. */
static int check_mount(const struct launch *launch, const struct policy_path *named,
                       const struct place *place, const struct mount *mount, struct error *error)
{
    auto_free char *path = NULL;
    size_t skipped = strcmp(mount->root, "/") ? strlen(mount->root) : 0;

    if (mount->device != place->device || !is_at_or_below(place->path, mount->root))
        return 0;
    path = text_of("%s%s", strcmp(mount->point, "/") ? mount->point : "", place->path + skipped);
    if (!path)
        return system_error(error, "reading private files");
    return is_open(launch, path) ? say_open(launch, named, path, error) : 0;
}

/* Whether a rule reaches into the file's file system by a mount of which it cannot be told what it shows: in a chroot, the mount
 * of the root is not listed. */
static bool is_hidden_from_us(const struct launch *launch, const struct mounts *mounts,
                              const struct object *object)
{
    for (size_t i = 0; i < launch->grant_count; i++) {
        const struct launch_grant *grant = &launch->grants[i];

        if (grant->rights & (POLICY_READ_FILE | POLICY_WRITE_FILE) && grant->device == object->device &&
            !find_mount(mounts, grant->mount))
            return true;
    }
    return false;
}

static int check_mounts(const struct launch *launch, struct walker *walker, const struct policy_path *named,
                        const struct object *object, const char *real, struct error *error)
{
    const struct mounts *mounts = mounts_of(walker);
    struct place place;
    int result = 0, is_placed;

    if (!mounts)
        return say_no_mounts(error, "reading private files");
    is_placed = place_of(mounts, object->mount, real, &place);
    if (is_placed < 0)
        return system_error(error, "reading private files");
    if (!is_placed || is_hidden_from_us(launch, mounts, object)) {
        free(place.path);
        policy_error(error, LAUNCH_PRIVATE, launch, &named->position,
                     "%s is private, but by which mounts it can be opened cannot be told: the root directory "
                     "is not a mount",
                     named->path);
        return error_hint(error, "make the root a mount (mount --bind DIR DIR) and enter it by "
                                 "pivot_root(2), not by chroot(2)");
    }
    for (size_t i = 0; result == 0 && i < mounts->count; i++)
        result = check_mount(launch, named, &place, &mounts->items[i], error);
    free(place.path);
    return result;
}

/* The file is the program's to start from and not to open: by no name, no rule and no mount. */
static int check_closed(const struct launch *launch, struct walker *walker, const struct policy_path *named,
                        const struct launch_private *private, const struct object *object,
                        struct error *error)
{
    auto_free char *real = path_of_fd(private->fd);

    if (!real)
        return error_set(error, LAUNCH_PRIVATE, "%s: private files need /proc: %s", named->path,
                         strerror(errno));
    if (object->links > 1) {
        policy_error(error, LAUNCH_PRIVATE, launch, &named->position,
                     "%s is private, but has %u names (hard links), by which the program could open it",
                     named->path, object->links);
        return error_hint(error, "give it a single name: copy it, and put the copy in its place");
    }
    if (is_open(launch, real))
        return say_open(launch, named, real, error);
    return check_mounts(launch, walker, named, object, real, error);
}

static int prepare_private(struct launch *launch, struct walker *walker, const struct policy_path *named,
                           struct error *error)
{
    struct launch_private *private = &launch->privates[launch->private_count];
    struct object object;

    *private = (struct launch_private){
        .path = named->path, .fd = open_named(launch, walker, named->path, &named->position, error)};
    if (private->fd < 0)
        return -1;
    launch->private_count++;
    if (object_of(private->fd, &object) < 0)
        return system_error(error, named->path);
    private->device = object.device;
    private->inode = object.inode;
    if (!S_ISREG(object.mode))
        return policy_error(error, LAUNCH_PRIVATE, launch, &named->position,
                            "%s is not a regular file, so it cannot be private", named->path);
    return check_closed(launch, walker, named, private, &object, error);
}

int prepare_privates(struct launch *launch, struct walker *walker, struct error *error)
{
    const struct policy *policy = launch->policy;

    if (!policy->private_count)
        return 0;
    launch->privates = calloc(policy->private_count, sizeof *launch->privates);
    if (!launch->privates)
        return system_error(error, "reading private files");
    for (size_t i = 0; i < policy->private_count; i++)
        if (prepare_private(launch, walker, &policy->privates[i], error) < 0 &&
            fault(launch, &policy->privates[i].position, error) < 0)
            return -1;
    return 0;
}

/* Opens the very file again, without a name that could have been changed. */
static int reopen(int fd, int flags)
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return openat(AT_FDCWD, link, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int check_privates(const struct launch *launch, struct error *error)
{
    for (size_t i = 0; i < launch->private_count; i++) {
        auto_close int fd = reopen(launch->privates[i].fd, O_RDONLY);

        if (fd < 0 && errno == EACCES)
            continue;
        error_set(error, LAUNCH_PRIVATE, "%s is private, but inside the restriction opening it gives: %s",
                  launch->privates[i].path, fd < 0 ? strerror(errno) : "allowed");
        return error_hint(error, "a rule reaches it by another path (a bind mount, a hard link): take that "
                                 "out of the policy, or keep the file elsewhere");
    }
    return 0;
}

/* ---- Arguments: a private file is given as a pipe with its bytes ---- */

static const struct launch_private *private_by_text(const struct launch *launch, const char *argument)
{
    for (size_t i = 0; i < launch->private_count; i++)
        if (!strcmp(launch->privates[i].path, argument))
            return &launch->privates[i];
    return NULL;
}

static const struct launch_private *private_by_object(const struct launch *launch,
                                                      const struct object *object)
{
    for (size_t i = 0; i < launch->private_count; i++)
        if (launch->privates[i].device == object->device && launch->privates[i].inode == object->inode)
            return &launch->privates[i];
    return NULL;
}

/* What an argument leads to from the program's working directory. 1; 0: to nothing that this user can see; -1 with errno. */
static int look_up(const struct launch *launch, const char *argument, struct open_how how,
                   struct object *object)
{
    auto_close int fd = -1;

    how.flags = O_PATH | O_CLOEXEC;
    fd = (int)syscall(SYS_openat2, launch->directory, argument, &how, sizeof how);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ENAMETOOLONG ? 0 : -1;
    return object_of(fd, object) < 0 ? -1 : 1;
}

static int say_argument(const char *argument, const char *why, struct error *error)
{
    return error_set(error, LAUNCH_PRIVATE, "argument %s: whether it is a private file cannot be told: %s",
                     argument, why);
}

/* A symbolic link could be the last program's, made to change what this one is given: it is not followed, and one that leads to a
 * private file is refused. */
static int refuse_link(const struct launch *launch, const char *argument, struct error *error)
{
    const struct launch_private *private;
    struct object object;
    int found = look_up(launch, argument, (struct open_how){0}, &object);

    if (found < 0 && errno != ELOOP)
        return say_argument(argument, strerror(errno), error);
    private = found > 0 ? private_by_object(launch, &object) : NULL;
    if (!private)
        return 0;
    error_set(error, LAUNCH_PRIVATE, "argument %s: it leads to the private file %s by a symbolic link",
              argument, private->path);
    return error_hint(error, "name it as the policy does; or remove the link, which the program may have "
                             "made");
}

/* *private: the one that the argument names, or NULL. 0, or -1 and `error`. */
static int find_private(const struct launch *launch, const char *argument,
                        const struct launch_private **private, struct error *error)
{
    struct object object;
    int found;

    *private = private_by_text(launch, argument);
    if (*private || !argument[0])
        return 0;
    found = look_up(launch, argument, (struct open_how){.resolve = RESOLVE_NO_SYMLINKS}, &object);
    if (found < 0)
        return errno == ELOOP ? refuse_link(launch, argument, error)
                              : say_argument(argument, strerror(errno), error);
    *private = found > 0 ? private_by_object(launch, &object) : NULL;
    return 0;
}

static int say_pipe(const struct launch_private *private, const char *why, struct error *error)
{
    return error_set(error, LAUNCH_PRIVATE, "%s: cannot be given to the program: %s", private->path, why);
}

static int say_errno(const struct launch_private *private, struct error *error)
{
    int failure = errno;

    say_pipe(private, strerror(failure), error);
    if (failure == EACCES)
        return error_hint(error, "UID %u may not read it: its owner can change that (chmod)", getuid());
    return hint_at_descriptors(error, failure);
}

static int say_too_large(const struct launch_private *private, struct error *error)
{
    say_pipe(private, "it does not fit a pipe", error);
    return error_hint(error, "keep it below 8 KiB: that always fits a pipe, larger ones only while the user "
                             "holds few (pipe(7), pipe-user-pages-soft)");
}

/* Copies without blocking: what does not fit the pipe cannot be given. */
static int fill(const struct launch_private *private, int file, int pipe, struct error *error)
{
    enum { DEFAULT_CAPACITY = 65536 };
    enum { PART = 4096 };
    char bytes[PART];
    struct stat status;
    ssize_t count, written;
    off_t size = 0;
    int is_same;

    if (fstat(file, &status) < 0)
        return say_errno(private, error);
    if (status.st_size > DEFAULT_CAPACITY)
        fcntl(pipe, F_SETPIPE_SZ, (int)(status.st_size > INT_MAX / 2 ? INT_MAX / 2 : status.st_size));
    while ((count = read(file, bytes, PART)) != 0) {
        if (count < 0)
            return say_errno(private, error);
        written = write(pipe, bytes, (size_t)count);
        if (written < 0 && errno != EAGAIN)
            return say_errno(private, error);
        if (written != count)
            return say_too_large(private, error);
        size += count;
    }
    is_same = is_as_before(file, &status);
    if (is_same < 0)
        return say_errno(private, error);
    return size == status.st_size && is_same
               ? 0
               : say_pipe(private, "it changed while it was read; start again", error);
}

/* The read end of a pipe with the file's bytes; close-on-exec until pass_descriptors(). */
static int pipe_of(const struct launch_private *private, struct error *error)
{
    auto_close int file = reopen(private->fd, O_RDONLY), reading = -1, writing = -1;
    int ends[2], flags;

    if (file < 0)
        return say_errno(private, error);
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
        return say_errno(private, error);
    reading = ends[0];
    writing = ends[1];
    if (fill(private, file, writing, error) < 0)
        return -1;
    flags = fcntl(reading, F_GETFL);
    if (flags < 0 || fcntl(reading, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return say_errno(private, error);
    return take_fd(&reading);
}

static int copy_arguments(struct launch *launch, char *const *command, struct error *error)
{
    size_t count = 0;

    while (command[count])
        count++;
    launch->arguments = calloc(count + 1, sizeof *launch->arguments);
    launch->pipes = calloc(count + 1, sizeof *launch->pipes);
    if (!launch->arguments || !launch->pipes)
        return system_error(error, "reading arguments");
    memcpy(launch->arguments, command, count * sizeof *command);
    return 0;
}

static int replace_argument(struct launch *launch, char **argument, struct error *error)
{
    const struct launch_private *private;
    struct launch_pipe *pipe = &launch->pipes[launch->pipe_count];

    if (find_private(launch, *argument, &private, error) < 0)
        return -1;
    if (!private)
        return 0;
    pipe->fd = pipe_of(private, error);
    if (pipe->fd < 0)
        return -1;
    snprintf(pipe->path, sizeof pipe->path, "/proc/self/fd/%d", pipe->fd);
    launch->pipe_count++;
    *argument = pipe->path;
    return 0;
}

int prepare_arguments(struct launch *launch, struct error *error)
{
    char *const *command =
        launch->request->command[0] ? launch->request->command : (char *const *)launch->policy->run;

    if (!command) {
        error_set(error, LAUNCH_USAGE, "no program: neither the command line nor the policy (run) names one");
        return error_hint(error, "name it at the end of the command line: -- PROGRAM [ARGUMENT...]");
    }
    if (copy_arguments(launch, command, error) < 0)
        return -1;
    for (char **argument = launch->arguments + 1; launch->private_count && launch->arguments[0] && *argument;
         argument++)
        if (replace_argument(launch, argument, error) < 0)
            return -1;
    return 0;
}
