#include "launch/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

const struct launch_reason_name launch_reason_table[] = {
    {LAUNCH_USAGE, "usage", 125, "the command line is wrong"},
    {LAUNCH_SYSTEM, "system", 125, "a system call failed that should not"},
    {LAUNCH_DESCRIPTOR, "descriptor", 125, "a descriptor is not what it must be"},
    {LAUNCH_PRIVILEGED, "privileged-launcher", 125,
     "landlock-exec is set-uid, set-gid or has file capabilities"},
    {LAUNCH_POLICY, "policy", 125, "the policy has faults or may be written by others"},
    {LAUNCH_LANDLOCK_MISSING, "landlock-missing", 125, "the kernel has no Landlock, or is emulated"},
    {LAUNCH_LANDLOCK_OLD_SECCOMP, "landlock-old-seccomp", 125,
     "a seccomp profile is too old to know Landlock"},
    {LAUNCH_LANDLOCK_DISABLED, "landlock-disabled", 125, "Landlock is not enabled at boot"},
    {LAUNCH_LANDLOCK_BLOCKED, "landlock-blocked", 125, "a seccomp profile blocks Landlock"},
    {LAUNCH_LANDLOCK_NOT_ENFORCED, "landlock-not-enforced", 125, "Landlock's calls succeed without effect"},
    {LAUNCH_LANDLOCK_FAILED, "landlock-failed", 125, "Landlock's calls fail in another way"},
    {LAUNCH_REQUIREMENT, "requirement", 125, "the kernel cannot do what the policy requires"},
    {LAUNCH_PATH, "path", 125,
     "a path of the policy is missing, of the wrong kind or crosses an unsafe link"},
    {LAUNCH_PRIVATE, "private", 125,
     "a private file could be opened by the program, or cannot be given to it"},
    {LAUNCH_CONTAINER, "container", 125, "the container is not what the policy describes"},
    {LAUNCH_NOT_EXECUTABLE, "program-not-executable", 126, "the program cannot be executed"},
    {LAUNCH_NOT_FOUND, "program-not-found", 127, "the program does not exist"},
};
const size_t launch_reason_count = array_size(launch_reason_table);

const struct launch_reason_name *launch_reason(int code)
{
    for (size_t i = 0; i < launch_reason_count; i++)
        if ((int)launch_reason_table[i].reason == code)
            return &launch_reason_table[i];
    return &launch_reason_table[1];
}

int system_error(struct error *error, const char *what)
{
    return error_set(error, LAUNCH_SYSTEM, "%s: %s", what, strerror(errno));
}

int hint_at_descriptors(struct error *error, int failure)
{
    return failure == EMFILE || failure == ENFILE ? error_hint(error, "allow more open files (ulimit -n, "
                                                                      "docker run --ulimit nofile=N)")
                                                  : -1;
}

int policy_error(struct error *error, int code, const struct launch *launch,
                 const struct policy_position *position, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list arguments;
    size_t line, column;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    policy_locate(launch->policy, position, &line, &column);
    return error_set(error, code, "%s:%zu:%zu: %s", launch->policy->files[position->file].name, line, column,
                     text);
}

char *path_of_fd(int fd)
{
    char link[64], *path = malloc(PATH_MAX);
    ssize_t length;

    if (!path)
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX);
    if (length > 0 && length < PATH_MAX && path[0] == '/') {
        path[length] = '\0';
        return path;
    }
    if (length >= 0)
        errno = ENAMETOOLONG;
    free(path);
    return NULL;
}

static int load_policy(struct launch *launch, struct error *error)
{
    const struct launch_request *request = launch->request;
    const struct policy_diagnostic *first;
    char place[64] = "";

    launch->policy = policy_load(request->policy_file, request->definitions, request->definition_count,
                                 request->read, request->read_context, &launch->diagnostics);
    if (launch->policy)
        return 0;
    if (!launch->diagnostics.count)
        return error_set(error, LAUNCH_POLICY, "policy: out of memory");
    first = &launch->diagnostics.items[0];
    if (first->line)
        snprintf(place, sizeof place, ":%zu:%zu", first->line, first->column);
    error_set(error, LAUNCH_POLICY, "policy: %zu fault%s, the first in %s%s: %s",
              launch->diagnostics.count + launch->diagnostics.dropped,
              launch->diagnostics.count > 1 ? "s" : "", first->file ? first->file : "the command line", place,
              first->message);
    if (!first->file)
        return error_hint(error, "the policy's define statements name what can be given");
    if (!first->line)
        return error_hint(error, "a policy is a regular file of root's or the caller's own, writable by "
                                 "nobody "
                                 "else; another one can be named");
    return error_hint(error, "the language is described in landlock-exec.policy(5)");
}

static int check_links(struct launch *launch, struct walker *walker, struct error *error)
{
    while (walk_check(walker, error) < 0)
        if (fault(launch, walker->position, error) < 0)
            return -1;
    return 0;
}

int launch_prepare_domain(struct launch *launch, const struct launch_request *request, struct error *error)
{
    struct walker walker = {0};
    int result;

    launch->request = request;
    launch->ruleset = -1;
    launch->directory = AT_FDCWD;
    result = load_policy(launch, error) < 0 || prepare_landlock(launch, error) < 0 ||
                     prepare_rules(launch, &walker, error) < 0 ||
                     prepare_directory(launch, &walker, error) < 0 ||
                     prepare_privates(launch, &walker, error) < 0 ||
                     prepare_container(launch, &walker, error) < 0 || check_links(launch, &walker, error) < 0
                 ? -1
                 : 0;
    walk_free(&walker);
    launch->is_terminal = has_terminal(request);
    launch->is_root = is_root_of_the_initial_namespace();
    return result;
}

int launch_prepare_program(struct launch *launch, struct error *error)
{
    if (prepare_environment(launch, error) == 0 && prepare_arguments(launch, error) == 0 &&
        prepare_program(launch, error) == 0)
        return 0;
    return fault(launch, &launch->policy->run_position, error);
}

int launch_prepare(struct launch *launch, const struct launch_request *request, struct error *error)
{
    return launch_prepare_domain(launch, request, error) < 0 || launch_prepare_program(launch, error) < 0 ||
                   launch_check_container(launch, error) < 0
               ? -1
               : 0;
}

/* The launcher's reasons for a fault of lib/landlock. */
static int as_reason(struct error *error)
{
    static const enum launch_reason reasons[] = {
        [LANDLOCK_MISSING] = LAUNCH_LANDLOCK_MISSING,
        [LANDLOCK_OLD_SECCOMP] = LAUNCH_LANDLOCK_OLD_SECCOMP,
        [LANDLOCK_DISABLED] = LAUNCH_LANDLOCK_DISABLED,
        [LANDLOCK_BLOCKED] = LAUNCH_LANDLOCK_BLOCKED,
        [LANDLOCK_NOT_ENFORCED] = LAUNCH_LANDLOCK_NOT_ENFORCED,
        [LANDLOCK_FAILED] = LAUNCH_LANDLOCK_FAILED,
    };

    error->code = (int)reasons[error->code];
    return -1;
}

static int check_requirement(const struct launch *launch, const struct policy_requirement *requirement,
                             struct error *error)
{
    policy_rights short_of = requirement->rights & ~launch->handled & ~POLICY_REFER; /* denied by every ABI */
    char names[POLICY_RIGHTS_TEXT];

    if (requirement->abi > launch->abi)
        policy_error(error, LAUNCH_REQUIREMENT, launch, &requirement->position,
                     "the policy requires Landlock ABI %u, and ABI %u is the one that is used",
                     requirement->abi, launch->abi);
    else if (short_of)
        policy_error(error, LAUNCH_REQUIREMENT, launch, &requirement->position,
                     "the policy requires what Landlock ABI %u, the one that is used, cannot restrict: %s",
                     launch->abi, policy_rights_text(short_of, names));
    else
        return 0;
    return error_hint(error, "use a newer kernel (or a higher --max-abi), or take the requirement out of the "
                             "policy");
}

static int check_requirements(const struct launch *launch, struct error *error)
{
    for (size_t i = 0; i < launch->policy->requirement_count; i++) {
        const struct policy_requirement *requirement = &launch->policy->requirements[i];

        if (check_requirement(launch, requirement, error) < 0 &&
            fault(launch, &requirement->position, error) < 0)
            return -1;
    }
    return 0;
}

/* One that handles launch->handled, from which scopes are taken where the kernel refuses them. */
static int create_ruleset(struct launch *launch, struct error *error)
{
    struct landlock_access handled = {policy_rights_fs(launch->handled), policy_rights_net(launch->handled),
                                      policy_rights_scoped(launch->handled)};

    launch->ruleset = landlock_create(&handled, error);
    if (launch->ruleset < 0)
        return -1;
    if (!handled.scoped && launch->handled & POLICY_ALL_SCOPES) {
        launch->scopes_are_broken = true;
        launch->handled &= ~POLICY_ALL_SCOPES;
    }
    return 0;
}

/* Asks for the ABI and makes a ruleset that handles all that is known. */
int prepare_landlock(struct launch *launch, struct error *error)
{
    unsigned most = launch->request->max_abi ? launch->request->max_abi : POLICY_NEWEST_ABI;
    policy_rights known = policy_rights_of_abi(POLICY_NEWEST_ABI) & ~launch->policy->unrestricted;
    int abi = landlock_abi(error);

    if (abi < 0 && (as_reason(error), fault(launch, NULL, error) < 0))
        return -1;
    launch->kernel_abi = abi < 0 ? 0 : (unsigned)abi;
    launch->abi = abi > 0 && launch->kernel_abi < most ? launch->kernel_abi : most;
    launch->handled = policy_rights_of_abi(launch->abi) & known;
    if (abi > 0 && create_ruleset(launch, error) < 0 && (as_reason(error), fault(launch, NULL, error) < 0))
        return -1;
    /* denied by every ABI, even where it cannot be handled */
    launch->not_enforced = known & ~launch->handled & ~POLICY_REFER;
    return check_requirements(launch, error);
}

int launch_restrict(struct launch *launch, struct error *error)
{
    if (launch_drop_capabilities(error) < 0)
        return -1;
    /* without capabilities: what they alone open proves nothing */
    if (launch_choose_proof(launch, error) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return system_error(error, "setting no_new_privs");
    if (needs_filter(launch) && set_filter(launch, error) < 0)
        return -1;
    if (landlock_restrict(launch->ruleset, launch->abi, launch->policy->audit, error) < 0 ||
        (launch->proof && landlock_prove(launch->proof, error) < 0))
        return as_reason(error);
    return check_privates(launch, error);
}

int launch_enter(struct launch *launch, struct error *error)
{
    if (launch->directory != AT_FDCWD && fchdir(launch->directory) < 0)
        return say_directory(launch, error);
    return pass_descriptors(launch, error);
}

int launch_execute(struct launch *launch, struct error *error)
{
    int failure;

    /* as late as this: a limit on the size of files would hold for the status line, too */
    if (set_limits(launch->policy, error) < 0)
        return -1;
    execve(launch->program, launch->arguments, launch->environment);
    failure = errno;
    error_set(error, failure == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE, "%s: cannot execute: %s",
              launch->program, strerror(failure));
    if (failure == EACCES)
        error_hint(error,
                   "the policy must allow execute,read_file on the program, its ELF loader and, for a "
                   "script, its interpreter, and UID %u must be able to reach and execute them",
                   getuid());
    else if (failure == ENOENT)
        error_hint(error, "the program is there, but its interpreter or ELF loader is missing");
    else if (failure == ENOEXEC)
        error_hint(error, "a script begins with a line such as #!/usr/bin/python3; a program must be of this "
                          "architecture");
    return -1;
}

void launch_free(struct launch *launch)
{
    for (size_t i = 0; i < launch->private_count; i++)
        cleanup_close(&launch->privates[i].fd);
    if (launch->ruleset > STDERR_FILENO)
        close(launch->ruleset);
    if (launch->directory > STDERR_FILENO)
        close(launch->directory);
    for (size_t i = 0; i < launch->pipe_count; i++)
        close(launch->pipes[i].fd);
    free(launch->pipes);
    free(launch->privates);
    container_expectation_free(&launch->expectation);
    container_findings_free(&launch->findings);
    free(launch->grants);
    free(launch->skipped);
    free(launch->arguments);
    free(launch->environment);
    free(launch->program);
    policy_free(launch->policy);
    policy_diagnostics_free(&launch->diagnostics);
}
