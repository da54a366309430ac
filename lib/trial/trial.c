#include "trial/internal.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { DEADLINE_S = 120 }; /* for all attempts inside: one may wait for a file system that does not answer */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* All trials of one run. `results`: shared with the child. */
struct run {
    struct launch *launch;
    struct trial *trials;
    struct scene *scenes;
    int *results;
    size_t count;
    int udp;
    sigset_t before; /* the signal mask, as it was */
};

static const struct attempt *attempt_of(policy_rights right)
{
    for (size_t i = 0; i < attempt_count; i++)
        if (attempt_table[i].right == right)
            return &attempt_table[i];
    return NULL;
}

/* ---- Outside ---- */

static int bound_udp_socket(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return take_fd(&fd);
}

static void prepare(const struct attempt *attempt, struct scene *scene, struct trial *trial)
{
    int failure = 0;

    trial->untried = attempt->prepare ? attempt->prepare(scene, &failure) : NULL;
    if (trial->untried)
        trial->outside = trial->inside = failure;
}

/* The attempt as this process is, then everything anew for the one inside. */
static void try_outside(struct run *run, size_t i)
{
    struct trial *trial = &run->trials[i];
    const struct attempt *attempt = attempt_of(trial->right);
    struct scene *scene = &run->scenes[i];

    *scene = (struct scene){
        .launch = run->launch, .trial = trial, .socket = -1, .udp = run->udp, .number = (unsigned)i};
    if (!attempt) {
        trial->untried = "there is no way to try it";
        return;
    }
    prepare(attempt, scene, trial);
    if (trial->untried)
        return;
    trial->outside = attempt->try(scene);
    if (trial->outside == UNTOLD)
        trial->untried = "this system does not let it be tried";
    clean_scene(scene);
    if (!trial->untried)
        prepare(attempt, scene, trial);
}

/* ---- Inside ---- */

static void __attribute__((noreturn)) try_inside(struct run *run)
{
    struct error error = {0};

    if (launch_restrict(run->launch, &error) < 0) {
        text_write_line(STDERR_FILENO, "landlock-policy: ", error.message);
        if (error.hint[0])
            text_write_line(STDERR_FILENO, "landlock-policy: hint: ", error.hint);
        _exit(1);
    }
    for (size_t i = 0; i < run->count; i++)
        if (!run->trials[i].untried)
            run->results[i] = attempt_of(run->trials[i].right)->try(&run->scenes[i]);
    _exit(0);
}

static void take_results(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct trial *trial = &run->trials[i];

        if (trial->untried)
            continue;
        trial->inside = run->results[i];
        if (trial->inside == UNTOLD)
            trial->untried = trial->right == POLICY_REFER ? "a link needs make_reg, too, which is denied"
                                                          : "inside the restriction it cannot be told";
    }
}

/* Waits for the child. One that takes too long is killed; so it is when a signal is to end this process, which is held back until
 * what was made is removed again. */
static int wait_for(pid_t child, const sigset_t *awaited, int *status)
{
    time_t deadline = time(NULL) + DEADLINE_S;
    int signal = SIGCHLD;

    while (signal == SIGCHLD || (signal < 0 && errno == EINTR)) {
        struct timespec most = {.tv_sec = deadline - time(NULL)};

        if (waitpid(child, status, WNOHANG) == child)
            return 0;
        if (most.tv_sec <= 0)
            break;
        signal = sigtimedwait(awaited, NULL, &most);
    }
    kill(child, SIGKILL);
    waitpid(child, status, 0);
    if (signal > 0 && signal != SIGCHLD)
        raise(signal);
    return -1;
}

static int judge_child(int waited, int status, struct error *error)
{
    if (waited == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (waited < 0)
        return error_set(error, LAUNCH_SYSTEM,
                         "trying inside the restriction: it was ended, or took longer than %d s", DEADLINE_S);
    if (WIFSIGNALED(status))
        return error_set(error, LAUNCH_SYSTEM, "trying inside the restriction: ended by signal %d",
                         WTERMSIG(status));
    return error_set(error, LAUNCH_SYSTEM, "trying inside the restriction: the restriction failed");
}

static int run_inside(struct run *run, const sigset_t *awaited, struct error *error)
{
    pid_t child;
    int status = 0, waited;

    fflush(NULL);
    child = fork();
    if (child < 0)
        return error_set(error, LAUNCH_SYSTEM, "trying inside the restriction: %s", strerror(errno));
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &run->before, NULL);
        try_inside(run);
    }
    waited = wait_for(child, awaited, &status);
    return judge_child(waited, status, error);
}

/* ---- The whole ---- */

static int run_trials(struct run *run, struct error *error)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    sigset_t held;
    int result;

    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    for (size_t i = 0; i < array_size(ending_signals); i++)
        sigaddset(&held, ending_signals[i]);
    sigaction(SIGCHLD, &standard, &before); /* one that is ignored would let no child be waited for */
    sigprocmask(SIG_BLOCK, &held, &run->before);
    for (size_t i = 0; i < run->count; i++)
        try_outside(run, i);
    result = run_inside(run, &held, error);
    for (size_t i = 0; i < run->count; i++)
        clean_scene(&run->scenes[i]);
    sigprocmask(SIG_SETMASK, &run->before, NULL);
    sigaction(SIGCHLD, &before, NULL);
    if (result == 0)
        take_results(run);
    return result;
}

int trial_run(struct launch *launch, struct trial *trials, size_t count, struct error *error)
{
    size_t size = (count + 1) * sizeof(int);
    struct run run = {.launch = launch, .trials = trials, .count = count};
    auto_free void *scenes = run.scenes = calloc(count + 1, sizeof *run.scenes);
    auto_close int udp = run.udp = bound_udp_socket();
    int result;

    run.results = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!scenes || run.results == MAP_FAILED) {
        if (run.results != MAP_FAILED)
            munmap(run.results, size);
        return error_set(error, LAUNCH_SYSTEM, "trying: %s", strerror(ENOMEM));
    }
    for (size_t i = 0; i < count; i++)
        run.results[i] = UNTOLD;
    result = run_trials(&run, error);
    munmap(run.results, size);
    return result;
}
