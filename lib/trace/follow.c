#include "base/architecture.h"
#include "trace/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
              PTRACE_O_TRACEEXEC |
              PTRACE_O_EXITKILL, /* nothing runs on, half watched, if this process is killed */
    GRACE_S = 5,                 /* for what the program leaves behind */
    RELEASE_S = 1,               /* for the rest to stop, so that it can be let go */
    SYSCALL_STOP = SIGTRAP | 0x80
};

/* A thread that is watched. */
struct tracee {
    pid_t tid; /* 0: a free place */
    bool is_in_call, is_foreign;
    bool is_released;  /* is to be let go when it stops */
    pid_t waits_to_be; /* the thread that is held until then, since it will watch this one; 0: none */
    uint64_t number, arguments[ARGUMENTS];
};

/* A hash table of them, open addressing. */
struct tracees {
    struct tracee *items;
    size_t count, capacity; /* a power of two */
};

struct tracer {
    struct launch *launch;
    struct trace_report *report;
    struct tracees tracees;
    pid_t program;
    bool has_begun; /* the program is being executed: what went before was the launch */
    bool has_ended;
    bool is_letting_go;
    time_t deadline; /* once the program has ended */
    sigset_t held, before;
    struct sigaction children; /* what the caller does about SIGCHLD */
    unsigned long calls;       /* that have failed as Landlock lets them fail */
    bool is_out_of_memory;
};

/* ---- Who is watched ---- */

static struct tracee *place_of_tracee(const struct tracees *tracees, pid_t tid)
{
    size_t at = (size_t)tid * 2654435761U & (tracees->capacity - 1);

    while (tracees->items[at].tid && tracees->items[at].tid != tid)
        at = (at + 1) & (tracees->capacity - 1);
    return &tracees->items[at];
}

static bool grow(struct tracees *tracees)
{
    enum { FIRST = 64 };
    struct tracees grown = {.capacity = tracees->capacity ? tracees->capacity * 2 : FIRST};

    grown.items = calloc(grown.capacity, sizeof *grown.items);
    if (!grown.items)
        return false;
    for (size_t i = 0; i < tracees->capacity; i++)
        if (tracees->items[i].tid)
            *place_of_tracee(&grown, tracees->items[i].tid) = tracees->items[i];
    grown.count = tracees->count;
    free(tracees->items);
    *tracees = grown;
    return true;
}

/* NULL: it is not watched. */
static struct tracee *find_tracee(const struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee = tracees->capacity ? place_of_tracee(tracees, tid) : NULL;

    return tracee && tracee->tid ? tracee : NULL;
}

/* NULL: memory ran out. */
static struct tracee *take_tracee(struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee;

    if (tracees->count * 2 >= tracees->capacity && !grow(tracees))
        return NULL;
    tracee = place_of_tracee(tracees, tid);
    if (!tracee->tid) {
        *tracee = (struct tracee){.tid = tid};
        tracees->count++;
    }
    return tracee;
}

/* Those behind it move up, so that they are found. */
static void drop_tracee(struct tracees *tracees, struct tracee *tracee)
{
    size_t at = (size_t)(tracee - tracees->items);

    tracee->tid = 0;
    tracees->count--;
    for (;;) {
        struct tracee moved;

        at = (at + 1) & (tracees->capacity - 1);
        moved = tracees->items[at];
        if (!moved.tid)
            return;
        tracees->items[at].tid = 0;
        *place_of_tracee(tracees, moved.tid) = moved;
    }
}

/* ---- Going on ---- */

/* Whatever fails here, the tracee is gone: its end is told by waitpid(2). */
static void go_on(pid_t tid, int signal)
{
    ptrace_call(PTRACE_SYSCALL, tid, 0, (uintptr_t)signal);
}

/* Of one that is not watched any more; the thread that has waited for that goes on. */
static void forget(struct tracer *tracer, pid_t tid)
{
    struct tracee *tracee = find_tracee(&tracer->tracees, tid);
    pid_t waiting = tracee ? tracee->waits_to_be : 0;

    if (tracee)
        drop_tracee(&tracer->tracees, tracee);
    if (waiting)
        go_on(waiting, 0);
}

/* Lets go of a stopped tracee. */
static void release(struct tracer *tracer, pid_t tid, int signal)
{
    ptrace_call(PTRACE_DETACH, tid, 0, (uintptr_t)signal);
    forget(tracer, tid);
}

/* ---- Calls ---- */

static void examine(struct tracer *tracer, const struct tracee *tracee, int failure)
{
    struct failed_call call = {
        .launch = tracer->launch, .report = tracer->report, .tid = tracee->tid, .failure = failure};

    memcpy(call.arguments, tracee->arguments, sizeof call.arguments);
    call.serial = ++tracer->calls;
    examine_call(&call, tracee->number);
    tracer->report->unread += call.is_unread;
    tracer->report->dropped += call.is_dropped;
    tracer->is_out_of_memory |= call.is_out_of_memory;
}

static bool may_be_landlocks(int failure)
{
    return failure == EACCES || failure == EXDEV || failure == EPERM;
}

static void leave_call(struct tracer *tracer, struct tracee *tracee, const struct ptrace_syscall_info *info)
{
    int failure = info->exit.is_error ? (int)-info->exit.rval : 0;

    if (!tracee->is_in_call)
        return;
    tracee->is_in_call = false;
    if (!tracer->has_begun || !may_be_landlocks(failure))
        return;
    if (tracee->is_foreign)
        tracer->report->foreign++;
    else
        examine(tracer, tracee, failure);
}

/* Whether a call makes a thread that is not watched. */
static bool hides(const struct tracee *tracee)
{
    uint64_t flags = 0;

    if (tracee->number == SYS_clone)
        flags = tracee->arguments[0];
    else if (tracee->number == SYS_clone3)
        read_memory(tracee->tid, tracee->arguments[0], &flags, sizeof flags);
    return flags & CLONE_UNTRACED;
}

/* A process that is to be watched by another of them cannot be by this one: it is let go. True: the call waits for that. */
static bool makes_way(struct tracer *tracer, struct tracee *tracee)
{
    uint64_t request = tracee->arguments[0];
    struct tracee *target;

    if (request == PTRACE_TRACEME && tracee->tid != tracer->program) {
        tracer->report->unfollowed++;
        release(tracer, tracee->tid, 0);
        return true;
    }
    if (request != PTRACE_ATTACH && request != PTRACE_SEIZE)
        return false;
    target = find_tracee(&tracer->tracees, (pid_t)tracee->arguments[1]);
    if (!target || target == tracee || target->is_released ||
        ptrace_call(PTRACE_INTERRUPT, target->tid, 0, 0) < 0)
        return false;
    tracer->report->unfollowed++;
    target->is_released = true;
    target->waits_to_be = tracee->tid;
    return true;
}

/* True: it does not go on yet. */
static bool enter_call(struct tracer *tracer, struct tracee *tracee, const struct ptrace_syscall_info *info)
{
    tracee->is_in_call = true;
    tracee->is_foreign = !is_own_call(info->arch, info->entry.nr);
    tracee->number = info->entry.nr;
    memcpy(tracee->arguments, info->entry.args, sizeof tracee->arguments);
    if (tracee->is_foreign)
        return false;
    if (tracee->tid == tracer->program && (tracee->number == SYS_execve || tracee->number == SYS_execveat))
        tracer->has_begun = true;
    if (!tracer->has_begun)
        return false;
    tracer->report->unfollowed += hides(tracee);
    return tracee->number == SYS_ptrace && makes_way(tracer, tracee);
}

/* True: it does not go on yet. */
static bool meet_call(struct tracer *tracer, struct tracee *tracee)
{
    struct ptrace_syscall_info info = {0};

    if (ptrace_call(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof info, (uintptr_t)&info) < 0)
        return false;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        return enter_call(tracer, tracee, &info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        leave_call(tracer, tracee, &info);
    return false;
}

/* ---- Stops ---- */

static bool stops_processes(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A thread that executes a program takes the name of its process, which it had not before. */
static void meet_execution(struct tracer *tracer, pid_t tid)
{
    unsigned long former = 0;

    if (ptrace_call(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)&former) == 0 && (pid_t)former != tid)
        forget(tracer, (pid_t)former);
}

/* What becomes of a stop: the signal that is given to the tracee, or one of these. */
enum { STAY = -1, LISTEN = -2 };

static int meet_event(struct tracer *tracer, pid_t tid, int signal, int event)
{
    if (event == PTRACE_EVENT_STOP)
        return stops_processes(signal) ? LISTEN : 0;
    if (event == PTRACE_EVENT_EXEC)
        meet_execution(tracer, tid);
    return 0;
}

static int meet(struct tracer *tracer, pid_t tid, int status)
{
    struct tracee *tracee = take_tracee(&tracer->tracees, tid);
    int signal = WSTOPSIG(status), event = status >> 16;

    if (!tracee) {
        tracer->is_out_of_memory = true;
        return 0;
    }
    if (tracee->is_released || tracer->is_letting_go) {
        release(tracer, tid, event || signal == SYSCALL_STOP ? 0 : signal);
        return STAY;
    }
    if (signal == SYSCALL_STOP)
        return meet_call(tracer, tracee) ? STAY : 0;
    return event ? meet_event(tracer, tid, signal, event) : signal;
}

static void meet_stop(struct tracer *tracer, pid_t tid, int status)
{
    int next = meet(tracer, tid, status);

    if (next == LISTEN)
        ptrace_call(PTRACE_LISTEN, tid, 0, 0);
    else if (next != STAY)
        go_on(tid, next);
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void meet_end(struct tracer *tracer, pid_t tid, int status)
{
    forget(tracer, tid);
    if (tid != tracer->program)
        return;
    tracer->has_ended = true;
    tracer->report->status = status;
    tracer->deadline = seconds() + GRACE_S;
}

/* ---- Waiting ---- */

/* What came to this process is the program's: a terminal sends to both of its own. */
static void pass_signal(struct tracer *tracer, const siginfo_t *info)
{
    tracer->report->was_signalled = true;
    if (tracer->has_ended)
        tracer->deadline = 0;
    else if (info->si_code != SI_KERNEL)
        kill(tracer->program, info->si_signo);
}

/* Waits for a child or a signal, to the deadline at most. */
static void wait_for_signal(struct tracer *tracer)
{
    time_t left = tracer->has_ended ? tracer->deadline - seconds() : GRACE_S;
    siginfo_t info;

    if (left > 0 && sigtimedwait(&tracer->held, &info, &(struct timespec){.tv_sec = left}) > 0 &&
        info.si_signo != SIGCHLD)
        pass_signal(tracer, &info);
}

static bool is_late(const struct tracer *tracer)
{
    return tracer->has_ended && seconds() >= tracer->deadline;
}

/* Attends to what has happened. False: nobody is left. */
static bool attend(struct tracer *tracer)
{
    int status;
    pid_t tid;

    while ((tid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
        if (WIFSTOPPED(status))
            meet_stop(tracer, tid, status);
        else
            meet_end(tracer, tid, status);
        if (is_late(tracer))
            return true;
    }
    return tid == 0 || errno == EINTR;
}

/* Attends until nobody is left, or for so many seconds more. */
static void attend_for(struct tracer *tracer, time_t most)
{
    tracer->deadline = seconds() + most;
    while (attend(tracer) && !is_late(tracer))
        wait_for_signal(tracer);
}

static void each_tracee(const struct tracees *tracees, void (*act)(pid_t tid))
{
    for (size_t i = 0; i < tracees->capacity; i++)
        if (tracees->items[i].tid)
            act(tracees->items[i].tid);
}

static void interrupt(pid_t tid)
{
    ptrace_call(PTRACE_INTERRUPT, tid, 0, 0);
}

/* By its thread, whose process it is: one that waits in the kernel, for its child of vfork(2). */
static void end(pid_t tid)
{
    kill(tid, SIGKILL);
}

/* Lets go of all that are there. What does not stop is ended, as it would be when this process ends. */
static void let_go(struct tracer *tracer)
{
    tracer->is_letting_go = true;
    tracer->report->left = tracer->tracees.count;
    each_tracee(&tracer->tracees, interrupt);
    attend_for(tracer, RELEASE_S);
    each_tracee(&tracer->tracees, end);
    while (tracer->tracees.count && attend(tracer) && !is_late(tracer))
        wait_for_signal(tracer);
}

/* 0, or -1: how the program ended was not seen. */
static int follow(struct tracer *tracer)
{
    while (attend(tracer) && !is_late(tracer))
        wait_for_signal(tracer);
    if (tracer->tracees.count)
        let_go(tracer);
    return tracer->has_ended ? 0 : -1;
}

/* ---- The beginning ---- */

/* In the child, once it is watched. Returns only when the launch is refused: the exit status. */
static int launch_program(struct launch *launch)
{
    struct error error = {0};
    struct write_signals before;

    if (launch_restrict(launch, &error) == 0 && launch_enter(launch, &error) == 0)
        launch_execute(launch, &error);
    hold_off_signals(&before); /* what failed is yet to be told */
    text_write_line(STDERR_FILENO, "landlock-policy: ", error.message);
    if (error.hint[0])
        text_write_line(STDERR_FILENO, "landlock-policy: hint: ", error.hint);
    return launch_reason(error.code)->exit_status;
}

static void __attribute__((noreturn)) be_program(struct tracer *tracer, int gate)
{
    char byte;

    if (read(gate, &byte, 1) != 1)
        _exit(launch_reason(LAUNCH_SYSTEM)->exit_status);
    close(gate);
    sigaction(SIGCHLD, &tracer->children, NULL);
    sigprocmask(SIG_SETMASK, &tracer->before, NULL);
    _exit(launch_program(tracer->launch));
}

static int say_unwatched(struct error *error, const char *what)
{
    int failure = errno;

    error_set(error, LAUNCH_SYSTEM, "watching the program: %s: %s", what, strerror(failure));
    return failure == EPERM || failure == EACCES || failure == ENOSYS
               ? error_hint(error, "a process must be allowed to watch its children with ptrace(2): look at "
                                   "/proc/sys/kernel/yama/ptrace_scope (1 or 0) and at the seccomp profile "
                                   "(Docker's "
                                   "default allows it)")
               : -1;
}

/* The child waits at the gate meanwhile. */
static int begin_watching(struct tracer *tracer, struct error *error)
{
    int status = 0;

    if (ptrace_call(PTRACE_SEIZE, tracer->program, 0, OPTIONS) < 0 ||
        ptrace_call(PTRACE_INTERRUPT, tracer->program, 0, 0) < 0)
        return say_unwatched(error, "ptrace");
    if (waitpid(tracer->program, &status, __WALL) != tracer->program || !WIFSTOPPED(status))
        return error_set(error, LAUNCH_SYSTEM, "watching the program: it has ended before it began");
    if (!take_tracee(&tracer->tracees, tracer->program))
        return error_set(error, LAUNCH_SYSTEM, "watching the program: out of memory");
    go_on(tracer->program, 0);
    return 0;
}

static int start_program(struct tracer *tracer, struct error *error)
{
    auto_close int inner = -1, outer = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return say_unwatched(error, "pipe");
    inner = ends[0];
    outer = ends[1];
    fflush(NULL);
    tracer->program = fork();
    if (tracer->program < 0)
        return say_unwatched(error, "fork");
    if (tracer->program == 0) {
        close(take_fd(&outer));
        be_program(tracer, inner);
    }
    if (begin_watching(tracer, error) == 0 && write(outer, "", 1) == 1)
        return 0;
    kill(tracer->program, SIGKILL);
    waitpid(tracer->program, NULL, __WALL);
    return error->code ? -1 : say_unwatched(error, "write");
}

/* Signals that end a process, and SIGCHLD. Those that are ignored stay so. 0, or -1 and errno. */
static int hold_signals(struct tracer *tracer)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    struct sigaction action;

    sigemptyset(&tracer->held);
    sigaddset(&tracer->held, SIGCHLD);
    for (size_t i = 0; i < array_size(signals); i++)
        if (sigaction(signals[i], NULL, &action) < 0)
            return -1;
        else if (action.sa_handler != SIG_IGN)
            sigaddset(&tracer->held, signals[i]);
    return sigprocmask(SIG_BLOCK, &tracer->held, &tracer->before);
}

int trace_run(struct launch *launch, struct trace_report *report, struct error *error)
{
    struct tracer tracer = {.launch = launch, .report = report};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    int result;

    if (sigaction(SIGCHLD, &standard, &tracer.children) < 0 || hold_signals(&tracer) < 0)
        return error_set(error, LAUNCH_SYSTEM, "watching the program: signals: %s", strerror(errno));
    result = start_program(&tracer, error);
    if (result == 0 && follow(&tracer) < 0)
        result = error_set(error, LAUNCH_SYSTEM, "watching the program: its end was not seen");
    sigprocmask(SIG_SETMASK, &tracer.before, NULL);
    sigaction(SIGCHLD, &tracer.children, NULL);
    free(tracer.tracees.items);
    if (result == 0 && tracer.is_out_of_memory)
        return error_set(error, LAUNCH_SYSTEM, "watching the program: out of memory");
    return result;
}
