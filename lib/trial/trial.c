#include "trial/internal.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum {
    DEADLINE_S = 60,   /* of one batch: one may wait for a file system that does not answer */
    MOST_PATHS = 64,   /* in a batch, where there are descriptors for it */
    PATHS_NEED = 4,    /* descriptors each */
    OTHERS_NEED = 16,  /* descriptors, beside those of the batch */
    MOST_PORTS = 65536 /* in a batch: they hold none */
};

/* Signals that end a process, and may be held back until all is clean; those that stop one are not. */
static const int ending_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,   SIGUSR2, SIGALRM,
                                     SIGPIPE, SIGPROF, SIGIO,   SIGXCPU, SIGVTALRM, SIGPWR,  SIGSTKFLT};

/* Of one attempt, in memory that is shared with the children. */
struct result {
    int outside, inside;
};

/* All trials of one run, taken in batches. */
struct run {
    struct launch *launch;
    struct trial *trials;
    struct scene *scenes; /* of the batch */
    struct result *results;
    size_t first, count; /* the batch */
    size_t most_paths;   /* in a batch: asked once, since the limit may change */
    int udp;
    sigset_t held, before; /* the signals that are held back, and SIGCHLD; the mask as it was */
};

static const struct attempt *attempt_of(policy_rights right)
{
    for (size_t i = 0; i < attempt_count; i++)
        if (attempt_table[i].right == right)
            return &attempt_table[i];
    return NULL;
}

static struct trial *trial_at(const struct run *run, size_t i)
{
    return &run->trials[run->first + i];
}

/* ---- Making and removing, by this process ---- */

static void prepare(struct run *run, size_t i)
{
    struct trial *trial = trial_at(run, i);
    const struct attempt *attempt = attempt_of(trial->right);
    int failure = 0;

    if (!attempt)
        trial->untried = "there is no way to try it";
    else if (attempt->prepare && !trial->untried)
        trial->untried = attempt->prepare(&run->scenes[i], &failure);
    if (trial->untried)
        trial->outside = trial->inside = failure;
}

static void prepare_batch(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        run->scenes[i] = empty_scene(run->launch, trial_at(run, i), run->udp);
        if (!trial_at(run, i)->untried)
            prepare(run, i);
    }
}

static void clean_batch(struct run *run)
{
    for (size_t i = 0; i < run->count; i++)
        clean_scene(&run->scenes[i]);
}

/* ---- Attempting, by a child ---- */

static void __attribute__((noreturn)) attempt_batch(struct run *run, bool is_inside)
{
    struct error error = {0};

    if (is_inside && launch_restrict(run->launch, &error) < 0) {
        text_write_line(STDERR_FILENO, "landlock-policy: ", error.message);
        if (error.hint[0])
            text_write_line(STDERR_FILENO, "landlock-policy: hint: ", error.hint);
        _exit(1);
    }
    for (size_t i = 0; i < run->count; i++)
        if (!trial_at(run, i)->untried)
            *(is_inside ? &run->results[i].inside : &run->results[i].outside) =
                attempt_of(trial_at(run, i)->right)->try(&run->scenes[i]);
    _exit(0);
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* NULL when the child has ended, or why it is not waited for any longer; `signal`: the one that is to end this process, or 0. */
static const char *wait_in_time(const struct run *run, pid_t child, int *status, int *signal)
{
    time_t deadline = seconds() + DEADLINE_S;

    for (*signal = 0;;) {
        struct timespec most = {.tv_sec = deadline - seconds()};
        pid_t ended = waitpid(child, status, WNOHANG);
        int received;

        if (ended)
            return ended == child ? NULL : strerror(errno);
        if (most.tv_sec <= 0)
            return "it took longer than a minute"; /* DEADLINE_S */
        received = sigtimedwait(&run->held, NULL, &most);
        if (received > 0 && received != SIGCHLD) {
            *signal = received;
            return "ended by a signal";
        }
        if (received < 0 && errno != EINTR && errno != EAGAIN)
            return strerror(errno);
    }
}

/* Waits for the child. One that takes too long is killed; so it is when a signal is to end this process, which is held back until
 * what was made is removed again. NULL, or what was wrong. */
static const char *wait_for(const struct run *run, pid_t child, int *status)
{
    int signal;
    const char *fault = wait_in_time(run, child, status, &signal);

    if (fault) {
        kill(child, SIGKILL);
        waitpid(child, status, 0);
    }
    if (signal)
        raise(signal);
    return fault;
}

static int judge_child(const char *fault, int status, const char *what, struct error *error)
{
    if (fault)
        return error_set(error, LAUNCH_SYSTEM, "%s: %s", what, fault);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return error_set(error, LAUNCH_SYSTEM, "%s: ended by signal %d", what, WTERMSIG(status));
    return error_set(error, LAUNCH_SYSTEM, "%s: the restriction failed", what);
}

static int run_child(struct run *run, bool is_inside, struct error *error)
{
    const char *what = is_inside ? "trying inside the restriction" : "trying outside of the restriction";
    const char *fault;
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child < 0)
        return error_set(error, LAUNCH_SYSTEM, "%s: %s", what, strerror(errno));
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &run->before, NULL);
        attempt_batch(run, is_inside);
    }
    fault = wait_for(run, child, &status);
    return judge_child(fault, status, what, error);
}

/* ---- A batch ---- */

static void take_outside(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct trial *trial = trial_at(run, i);

        if (trial->untried)
            continue;
        trial->outside = run->results[i].outside;
        if (trial->outside == UNTOLD)
            trial->untried = "this system does not let it be tried";
    }
}

static void take_inside(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct trial *trial = trial_at(run, i);

        if (trial->untried)
            continue;
        trial->inside = run->results[i].inside;
        if (trial->inside == UNTOLD)
            trial->untried = trial->right == POLICY_REFER ? "a link needs make_reg, too, which is denied"
                                                          : "inside the restriction it cannot be told";
    }
}

/* Everything is made anew for the attempts inside. */
static int run_batch(struct run *run, struct error *error)
{
    int result;

    for (size_t i = 0; i < run->count; i++)
        run->results[i] = (struct result){UNTOLD, UNTOLD};
    prepare_batch(run);
    result = run_child(run, false, error);
    clean_batch(run);
    if (result < 0)
        return -1;
    take_outside(run);
    prepare_batch(run);
    result = run_child(run, true, error);
    clean_batch(run);
    if (result == 0)
        take_inside(run);
    return result;
}

static size_t most_paths(void)
{
    struct rlimit limit;
    size_t most;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < OTHERS_NEED + PATHS_NEED)
        return 1;
    most = (limit.rlim_cur - OTHERS_NEED) / PATHS_NEED;
    return most < MOST_PATHS ? most : MOST_PATHS;
}

/* How many trials from `first` on make a batch. */
static size_t batch_size(const struct run *run, size_t first, size_t count)
{
    size_t size = 0, paths = 0;

    while (first + size < count && size < MOST_PORTS && paths < run->most_paths)
        paths += run->trials[first + size++].path ? 1 : 0;
    return size;
}

/* 0 to go on, or -1 and `error`. */
static int meet_signals(const struct run *run, struct error *error)
{
    sigset_t pending;

    if (sigpending(&pending) < 0)
        return error_set(error, LAUNCH_SYSTEM, "trying: signals: %s", strerror(errno));
    for (size_t i = 0; i < array_size(ending_signals); i++)
        if (sigismember(&run->held, ending_signals[i]) && sigismember(&pending, ending_signals[i]))
            return error_set(error, LAUNCH_SYSTEM, "trying: ended by a signal");
    return 0;
}

static int run_batches(struct run *run, size_t count, struct error *error)
{
    for (run->first = 0; run->first < count; run->first += run->count) {
        run->count = batch_size(run, run->first, count);
        if (run_batch(run, error) < 0 || meet_signals(run, error) < 0)
            return -1;
    }
    return 0;
}

/* ---- The whole ---- */

/* Those that are ignored stay so. 0, or -1 and errno. */
static int hold_signals(struct run *run)
{
    struct sigaction action;

    sigemptyset(&run->held);
    sigaddset(&run->held, SIGCHLD);
    for (size_t i = 0; i < array_size(ending_signals); i++)
        if (sigaction(ending_signals[i], NULL, &action) < 0)
            return -1;
        else if (action.sa_handler != SIG_IGN)
            sigaddset(&run->held, ending_signals[i]);
    return sigprocmask(SIG_BLOCK, &run->held, &run->before);
}

static int run_held(struct run *run, size_t count, struct error *error)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, before;
    int result;

    /* one that is ignored would let no child be waited for */
    if (sigaction(SIGCHLD, &standard, &before) < 0 || hold_signals(run) < 0)
        return error_set(error, LAUNCH_SYSTEM, "trying: signals: %s", strerror(errno));
    result = run_batches(run, count, error);
    sigprocmask(SIG_SETMASK, &run->before, NULL);
    sigaction(SIGCHLD, &before, NULL);
    return result;
}

static int bound_udp_socket(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return take_fd(&fd);
}

static size_t largest_batch(const struct run *run, size_t count)
{
    size_t largest = 1;

    for (size_t first = 0, size; first < count; first += size) {
        size = batch_size(run, first, count);
        largest = size > largest ? size : largest;
    }
    return largest;
}

int trial_run(struct launch *launch, struct trial *trials, size_t count, struct error *error)
{
    struct run run = {.launch = launch, .trials = trials, .most_paths = most_paths()};
    size_t most = largest_batch(&run, count), size = most * sizeof(struct result);
    auto_free void *scenes = run.scenes = calloc(most, sizeof *run.scenes);
    auto_close int udp = run.udp = bound_udp_socket();
    int result;

    if (faccessat(AT_FDCWD, "/proc/self/fd", X_OK, AT_EACCESS) < 0) {
        error_set(error, LAUNCH_SYSTEM, "trying: /proc/self/fd: %s", strerror(errno));
        return error_hint(error, "mount /proc");
    }
    run.results = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!scenes || run.results == MAP_FAILED) {
        if (run.results != MAP_FAILED)
            munmap(run.results, size);
        return error_set(error, LAUNCH_SYSTEM, "trying: %s", strerror(ENOMEM));
    }
    result = run_held(&run, count, error);
    munmap(run.results, size);
    return result;
}
