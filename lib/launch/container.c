#include "launch/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { LAST_ABI_WITHOUT_TRUNCATE = 2 };

bool launch_needs_container(const struct launch *launch)
{
    return launch->abi <= LAST_ABI_WITHOUT_TRUNCATE || launch->policy->container.check == POLICY_CHECK_ALWAYS;
}

static bool must_be_checked(const struct launch *launch)
{
    return launch_needs_container(launch) ||
           (launch->request->always_checks && launch->policy->container.is_described);
}

/* Why, for a message. */
static const char *cause(const struct launch *launch, char text[static 64])
{
    snprintf(text, 64, "Landlock ABI %u cannot stop truncation", launch->abi);
    if (launch->abi <= LAST_ABI_WITHOUT_TRUNCATE)
        return text;
    return launch->policy->container.check == POLICY_CHECK_ALWAYS ? "the policy says 'container check always'"
                                                                  : "that was asked for";
}

/* ---- What the policy describes ---- */

static int look_up(struct launch *launch, struct walker *walker, const struct policy_path *named, int *fd,
                   struct object *object, struct error *error)
{
    *fd = open_named(launch, walker, named->path, &named->position, error);
    if (*fd < 0)
        return -1;
    return object_of(*fd, object) < 0 ? system_error(error, named->path) : 0;
}

static int add_read_only(struct launch *launch, struct walker *walker, const struct policy_path *named,
                         struct error *error)
{
    struct container_expectation *expectation = &launch->expectation;
    auto_close int fd = -1;
    struct object object;
    struct container_place place = {.path = named->path};

    if (look_up(launch, walker, named, &fd, &object, error) < 0)
        return -1;
    place.mount = object.mount;
    if (container_add_place(&expectation->read_only, &expectation->read_only_count,
                            &expectation->read_only_capacity, &place) < 0)
        return system_error(error, named->path);
    return 0;
}

/* Below ABI 3 all of a writable mount can be truncated, so all of it must be the program's to write: the rules that give that
 * must reach the mount's root itself. */
static int add_writable(struct launch *launch, struct walker *walker, const struct policy_path *named,
                        struct error *error)
{
    const policy_rights write = POLICY_WRITE_FILE | POLICY_TRUNCATE;
    struct container_expectation *expectation = &launch->expectation;
    auto_close int fd = -1;
    auto_free char *real = NULL;
    struct object object;
    struct container_place place = {.path = named->path};
    int is_allowed;

    if (look_up(launch, walker, named, &fd, &object, error) < 0)
        return -1;
    real = path_of_fd(fd);
    if (!real)
        return error_set(error, LAUNCH_CONTAINER, "container: %s: its check needs /proc: %s", named->path,
                         strerror(errno));
    place.mount = object.mount;
    place.is_mount_point = object.is_mount_root;
    is_allowed = policy_grants(launch, real, write);
    if (is_allowed < 0)
        return system_error(error, named->path);
    place.is_allowed = is_allowed;
    if (container_add_place(&expectation->writable, &expectation->writable_count,
                            &expectation->writable_capacity, &place) < 0)
        return system_error(error, named->path);
    return 0;
}

/* ---- What the program has without opening it ---- */

static int add_held(struct launch *launch, int fd, const char *what, struct error *error)
{
    struct container_expectation *expectation = &launch->expectation;
    struct container_place place = {.path = what};
    struct object object;

    if (object_of(fd, &object) < 0)
        return system_error(error, what);
    place.mount = object.mount;
    if (container_add_place(&expectation->held, &expectation->held_count, &expectation->held_capacity,
                            &place) < 0)
        return system_error(error, what);
    return 0;
}

static int add_directory(struct launch *launch, const char *path, const char *what, struct error *error)
{
    auto_close int fd = openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        return add_held(launch, fd, what, error);
    system_error(error, what);
    return error_hint(error,
                      "start it from a directory that UID %u may search, or name one in the policy: "
                      "directory PATH",
                      getuid());
}

/* Whether /proc/self/fd leads from a descriptor to what the program could not reach: a file that it could now truncate, a directory
 * and all that is below and above it, a socket that it could connect to. A file that is open for writing can be truncated as it is.
 * 1, 0 (as of one that is not open), or -1 and errno. */
static int must_be_listed(int fd)
{
    struct stat status;
    struct statvfs system;
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fstat(fd, &status) < 0)
        return errno == EBADF ? 0 : -1;
    if (S_ISDIR(status.st_mode))
        return true;
    if (S_ISSOCK(status.st_mode))
        return flags & O_PATH;
    return S_ISREG(status.st_mode) && (flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY) &&
           !(fstatvfs(fd, &system) == 0 && system.f_flag & ST_RDONLY);
}

static int add_descriptor(struct launch *launch, int fd, const char *what, struct error *error)
{
    int must = must_be_listed(fd);

    if (must < 0)
        return system_error(error, what);
    return must ? add_held(launch, fd, what, error) : 0;
}

static int add_descriptors(struct launch *launch, struct error *error)
{
    static const char *const streams[] = {"standard input", "standard output", "standard error"};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (add_descriptor(launch, fd, streams[fd], error) < 0)
            return -1;
    for (size_t i = 0; i < launch->request->pass_fd_count; i++)
        if (add_descriptor(launch, launch->request->pass_fds[i], "a file passed with --pass-fd", error) < 0)
            return -1;
    return 0;
}

static int add_all_held(struct launch *launch, struct error *error)
{
    if (add_directory(launch, "/", "/", error) < 0)
        return -1;
    if (launch->directory == AT_FDCWD && add_directory(launch, ".", "the working directory", error) < 0)
        return -1;
    return add_descriptors(launch, error);
}

static unsigned presets_of(const struct policy_container *container)
{
    unsigned presets = 0;

    for (size_t i = 0; i < policy_preset_count; i++)
        if (container->presets & policy_preset_table[i].bit)
            presets |= container_preset(policy_preset_table[i].name);
    return presets;
}

int prepare_container(struct launch *launch, struct walker *walker, struct error *error)
{
    const struct policy_container *container = &launch->policy->container;
    char text[64];

    if (!must_be_checked(launch))
        return 0;
    if (!container->is_described) {
        error_set(error, LAUNCH_CONTAINER,
                  "container: %s, and the policy does not describe the container that would be checked",
                  cause(launch, text));
        error_hint(error,
                   "describe it (container uid, capabilities, read-only and writable: "
                   "landlock-exec.policy(5)), or %s",
                   launch->abi > LAST_ABI_WITHOUT_TRUNCATE ? "leave 'container check always' out"
                                                           : "use a kernel of Linux 6.2 or newer");
        return fault(launch, NULL, error);
    }
    launch->expectation.uid = container->uid;
    launch->expectation.presets = presets_of(container);
    for (size_t i = 0; i < container->read_only_count; i++)
        if (add_read_only(launch, walker, &container->read_only[i], error) < 0 &&
            fault(launch, &container->read_only[i].position, error) < 0)
            return -1;
    for (size_t i = 0; i < container->writable_count; i++)
        if (add_writable(launch, walker, &container->writable[i], error) < 0 &&
            fault(launch, &container->writable[i].position, error) < 0)
            return -1;
    return add_all_held(launch, error);
}

/* ---- What the helper says ---- */

static int say_failed(const struct helper_answer *answer, struct error *error)
{
    char text[64];

    if (WIFSIGNALED(answer->status))
        snprintf(text, sizeof text, "killed by signal %d", WTERMSIG(answer->status));
    else
        snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(answer->status));
    error_set(error, LAUNCH_CONTAINER, "container: the check failed (%s)%s%s", text,
              answer->complaint[0] ? ": " : "", answer->complaint);
    if (strstr(answer->complaint, "cannot open shared object")) /* as ld.so(8) says it */
        error_hint(error, CHECK_CONTAINER " needs the libraries libcap-ng and libmount (packages libcap-ng0 "
                                          "and libmount1); ldd shows which is missing");
    return -1;
}

static int say_findings(const struct launch *launch, struct error *error)
{
    const struct container_findings *findings = &launch->findings;
    char text[64];

    if (findings->count == 1) {
        error_set(error, LAUNCH_CONTAINER, "container: %s (checked because %s)", findings->items[0].message,
                  cause(launch, text));
        return error_hint(error, "%s", findings->items[0].hint);
    }
    error_set(error, LAUNCH_CONTAINER, "container: %zu findings (checked because %s)", findings->count,
              cause(launch, text));
    return error_hint(error, "each is told with what restores it");
}

static bool has_found_nothing(const struct helper_answer *answer, int status)
{
    return status == CONTAINER_FINE && answer->size == sizeof CONTAINER_CHECKED &&
           !memcmp(answer->bytes, CONTAINER_CHECKED, sizeof CONTAINER_CHECKED);
}

/* Only a helper that ended well and said that it checked has found nothing; only one that says so and says what has found something. */
static int judge(struct launch *launch, const struct helper_answer *answer, struct error *error)
{
    int status = WIFEXITED(answer->status) ? WEXITSTATUS(answer->status) : -1, result;

    if (has_found_nothing(answer, status)) {
        launch->container = LAUNCH_CONTAINER_CHECKED;
        return 0;
    }
    result = container_read_findings(answer->bytes, answer->size, &launch->findings);
    if (result < 0 && errno == ENOMEM)
        system_error(error, "container");
    else if (result == 0 && status == CONTAINER_HAS_FINDINGS && launch->findings.count)
        return say_findings(launch, error);
    else
        say_failed(answer, error);
    container_findings_free(&launch->findings); /* what was read of an answer that is none */
    return -1;
}

static int have_it_checked(struct launch *launch, struct error *error)
{
    struct helper_answer answer = {0};
    char **arguments;
    int result;

    arguments = container_write_arguments(&launch->expectation);
    if (!arguments)
        return system_error(error, "container");
    result = run_helper(arguments, &answer, error);
    if (result == 0)
        result = judge(launch, &answer, error);
    container_free_arguments(arguments);
    free(answer.bytes);
    return result;
}

int launch_check_container(struct launch *launch, struct error *error)
{
    if (!must_be_checked(launch)) {
        launch->container = LAUNCH_CONTAINER_NOT_NEEDED;
        return 0;
    }
    if (!launch->policy->container.is_described) /* told already, and gathered with other faults */
        return 0;
    return have_it_checked(launch, error) == 0 ? 0 : fault(launch, NULL, error);
}
