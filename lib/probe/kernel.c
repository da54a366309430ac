#include "probe/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>

const struct name_row probe_landlock_table[] = {
    {PROBE_ENFORCED, "enforced", "it is enforced: an access was denied that had succeeded before"},
    {PROBE_UNPROVEN, "unproven", "its calls succeed, but no access could be tried that would prove it"},
    {PROBE_NOT_BUILT, "not-built", "the kernel is not built with it, or is emulated by what hides it"},
    {PROBE_EMULATED, "emulated", "this program is of another architecture and is emulated"},
    {PROBE_OLD_SECCOMP, "old-seccomp", "a seccomp profile that is too old to know its calls hides it"},
    {PROBE_DISABLED, "disabled", "the kernel has it, but it is not enabled at boot"},
    {PROBE_BLOCKED, "blocked", "a seccomp profile blocks its calls"},
    {PROBE_NOT_ENFORCED, "not-enforced", "its calls succeed and nothing is denied"},
    {PROBE_FAILED, "failed", "its calls fail in another way"},
};
const size_t probe_landlock_count = array_size(probe_landlock_table);

static enum probe_landlock state_of(int fault)
{
    char by[PATH_MAX];

    switch (fault) {
    case LANDLOCK_MISSING:
        return landlock_is_emulated(by) ? PROBE_EMULATED : PROBE_NOT_BUILT;
    case LANDLOCK_OLD_SECCOMP:
        return PROBE_OLD_SECCOMP;
    case LANDLOCK_DISABLED:
        return PROBE_DISABLED;
    case LANDLOCK_BLOCKED:
        return PROBE_BLOCKED;
    case LANDLOCK_NOT_ENFORCED:
        return PROBE_NOT_ENFORCED;
    default:
        return PROBE_FAILED;
    }
}

/* ---- A restriction, made in a child ---- */

/* What the child says: a state, whether scopes are refused, and the error. */
struct answer {
    enum probe_landlock state;
    bool has_broken_scopes;
    struct error error;
};

static int restrict_all(unsigned abi, struct answer *answer)
{
    policy_rights rights = policy_rights_of_abi(abi);
    struct landlock_access handled = {policy_rights_fs(rights), policy_rights_net(rights),
                                      policy_rights_scoped(rights)};
    auto_close int ruleset = landlock_create(&handled, &answer->error);

    if (ruleset < 0)
        return -1;
    answer->has_broken_scopes = rights & POLICY_ALL_SCOPES && !handled.scoped;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_set(&answer->error, LANDLOCK_FAILED, "setting no_new_privs: %s", strerror(errno));
    return landlock_restrict(ruleset, abi, false, &answer->error);
}

/* What succeeds without the restriction and needs what this ABI can deny. */
static const struct landlock_attempt *working_attempt(unsigned abi)
{
    policy_rights rights = policy_rights_of_abi(abi);

    for (size_t i = 0; i < landlock_attempt_count; i++) {
        const struct landlock_attempt *attempt = &landlock_attempts[i];

        if ((policy_rights_fs(rights) & attempt->of.fs || policy_rights_net(rights) & attempt->of.net) &&
            attempt->try(attempt->path) == 0)
            return attempt;
    }
    return NULL;
}

static void try_it(unsigned abi, struct answer *answer)
{
    const struct landlock_attempt *attempt;

    if (launch_drop_capabilities(&answer->error) < 0) {
        answer->state = PROBE_FAILED;
        return;
    }
    attempt = working_attempt(abi);
    if (restrict_all(abi, answer) < 0 || (attempt && landlock_prove(attempt, &answer->error) < 0))
        answer->state = state_of(answer->error.code);
    else
        answer->state = attempt ? PROBE_ENFORCED : PROBE_UNPROVEN;
}

static int read_answer(int fd, struct answer *answer)
{
    char *at = (char *)answer;
    size_t left = sizeof *answer;

    while (left) {
        ssize_t count = read(fd, at, left);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        at += count;
        left -= (size_t)count;
    }
    return 0;
}

static int ask_child(unsigned abi, struct answer *answer, struct error *error)
{
    int ends[2];
    auto_close int in = -1, out = -1;
    pid_t child;

    if (pipe(ends) < 0)
        return error_set(error, LAUNCH_SYSTEM, "trying a restriction: %s", strerror(errno));
    in = ends[0];
    out = ends[1];
    fflush(NULL);
    child = fork();
    if (child < 0)
        return error_set(error, LAUNCH_SYSTEM, "trying a restriction: %s", strerror(errno));
    if (child == 0) {
        *answer = (struct answer){0};
        try_it(abi, answer);
        _exit(write_all(out, (const char *)answer, sizeof *answer) < 0);
    }
    close(take_fd(&out));
    if (read_answer(in, answer) < 0)
        *answer = (struct answer){.state = PROBE_FAILED,
                                  .error = {.code = LANDLOCK_FAILED,
                                            .message = "a child that restricts itself ends without an "
                                                       "answer"}};
    waitpid(child, NULL, 0);
    return 0;
}

/* ---- The whole ---- */

static int keep_reason(struct probe_kernel *kernel, const struct error *reason, struct error *error)
{
    kernel->message = strdup(reason->message);
    kernel->hint = strdup(reason->hint);
    return kernel->message && kernel->hint ? 0 : error_set(error, LAUNCH_SYSTEM, "out of memory");
}

int probe_kernel(struct probe_kernel *kernel, struct error *error)
{
    struct utsname name = {0};
    struct answer answer = {0};
    int abi = landlock_abi(&answer.error);

    uname(&name);
    *kernel = (struct probe_kernel){.is_filtered = landlock_is_filtered()};
    snprintf(kernel->release, sizeof kernel->release, "%s", name.release);
    snprintf(kernel->machine, sizeof kernel->machine, "%s", name.machine);
    if (abi < 0) {
        kernel->landlock = state_of(answer.error.code);
        return keep_reason(kernel, &answer.error, error);
    }
    kernel->abi = (unsigned)abi;
    kernel->errata = landlock_errata();
    if (ask_child(kernel->abi < POLICY_NEWEST_ABI ? kernel->abi : POLICY_NEWEST_ABI, &answer, error) < 0)
        return -1;
    kernel->landlock = answer.state;
    kernel->has_broken_scopes = answer.has_broken_scopes;
    return answer.state == PROBE_ENFORCED || answer.state == PROBE_UNPROVEN
               ? 0
               : keep_reason(kernel, &answer.error, error);
}

void probe_kernel_free(struct probe_kernel *kernel)
{
    free(kernel->message);
    free(kernel->hint);
    *kernel = (struct probe_kernel){0};
}
