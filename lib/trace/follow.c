#include "base/architecture.h"
#include "trace/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
              PTRACE_O_TRACEEXEC,
    GRACE_S = 5,   /* for what the program leaves behind */
    RELEASE_S = 1, /* for the rest to stop, so that it can be let go */
    HOLD_S =
        10, /* for a thread to stop that another is to watch: on a busy machine it may take long to run */
    SYSCALL_STOP = SIGTRAP | 0x80
};

/* What waitpid(2) has told. */
struct event {
    pid_t tid;
    int status;
};

struct tracer {
    struct launch *launch;
    const struct trace_guards *guards;
    struct trace_report *report;
    struct tracees tracees;
    struct event *events; /* that are not attended to yet */
    size_t event_count, event_capacity;
    size_t held; /* threads that wait for another to be let go */
    pid_t program;
    bool has_begun; /* the program is being executed: what went before was the launch */
    bool has_ended;
    bool is_letting_go;
    time_t deadline; /* once the program has ended */
    sigset_t blocked, before;
    struct sigaction children; /* what the caller does about SIGCHLD */
    unsigned long calls;       /* that have failed as Landlock lets them fail */
    bool is_out_of_memory;
};

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
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
    if (waiting) {
        tracer->held--;
        go_on(waiting, 0);
    }
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
    struct failed_call call = {.launch = tracer->launch,
                               .guards = tracer->guards,
                               .report = tracer->report,
                               .tid = tracee->tid,
                               .failure = failure};

    memcpy(call.arguments, tracee->arguments, sizeof call.arguments);
    call.serial = ++tracer->calls;
    examine_call(&call, tracee->number);
    tracer->report->unread += call.is_unread;
    tracer->report->dropped += call.is_dropped;
    tracer->is_out_of_memory |= call.is_out_of_memory;
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

/* The thread that a tracee calls so. NULL: it is none that is watched. */
static struct tracee *tracee_called(const struct tracer *tracer, pid_t caller, pid_t id)
{
    if (has_our_process_ids(caller))
        return find_tracee(&tracer->tracees, id);
    for (size_t i = 0; i < tracer->tracees.capacity; i++)
        if (tracer->tracees.items[i].tid && is_called(tracer->tracees.items[i].tid, caller, id))
            return &tracer->tracees.items[i];
    return NULL;
}

/* Whether another may watch it: not one of its own process, and it stops no more when it is dead. */
static bool may_be_watched(pid_t tid, pid_t by)
{
    return process_of(tid) != process_of(by) && !is_dead(tid);
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
    target = tracee_called(tracer, tracee->tid, (pid_t)tracee->arguments[1]);
    if (!target || target->is_released || !may_be_watched(target->tid, tracee->tid) ||
        ptrace_call(PTRACE_INTERRUPT, target->tid, 0, 0) < 0)
        return false;
    tracer->report->unfollowed++;
    tracer->held++;
    target->is_released = true;
    target->waits_to_be = tracee->tid;
    target->held = seconds();
    return true;
}

/* One that does not stop in time, since it waits in the kernel: the other is told that it may not be watched. */
static void end_holds(struct tracer *tracer)
{
    time_t now = tracer->held ? seconds() : 0;

    for (size_t i = 0; tracer->held && i < tracer->tracees.capacity; i++) {
        struct tracee *tracee = &tracer->tracees.items[i];

        if (!tracee->tid || !tracee->waits_to_be || now - tracee->held <= HOLD_S)
            continue;
        go_on(tracee->waits_to_be, 0);
        tracee->waits_to_be = 0;
        tracee->is_released = false;
        tracer->held--;
    }
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
    tracer->report->has_started |= tid == tracer->program;
}

/* A thread that was made is known before it has stopped: others may name it already. */
static void meet_birth(struct tracer *tracer, pid_t tid)
{
    unsigned long child = 0;

    if (ptrace_call(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)&child) == 0 && child)
        tracer->is_out_of_memory |= !take_tracee(&tracer->tracees, (pid_t)child);
}

/* What becomes of a stop: the signal that is given to the tracee, or one of these. */
enum { STAY = -1, LISTEN = -2 };

static int meet_event(struct tracer *tracer, pid_t tid, int signal, int event)
{
    if (event == PTRACE_EVENT_STOP)
        return stops_processes(signal) ? LISTEN : 0;
    if (event == PTRACE_EVENT_EXEC)
        meet_execution(tracer, tid);
    else
        meet_birth(tracer, tid);
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

/* What came to this process is the program's, but for what a terminal sends to both of its own. */
static void pass_signal(struct tracer *tracer, const siginfo_t *info)
{
    bool is_terminals = info->si_code == SI_KERNEL &&
                        (info->si_signo == SIGINT || info->si_signo == SIGQUIT || info->si_signo == SIGHUP);

    tracer->report->was_signalled = true;
    if (tracer->has_ended)
        tracer->deadline = 0;
    else if (!is_terminals)
        kill(tracer->program, info->si_signo);
}

static bool is_late(const struct tracer *tracer)
{
    return tracer->has_ended && seconds() >= tracer->deadline;
}

/* Waits so many seconds at most, if none has come already, and passes on those that have. */
static void wait_for_signals(struct tracer *tracer, time_t most)
{
    siginfo_t info;

    for (; sigtimedwait(&tracer->blocked, &info, &(struct timespec){.tv_sec = most}) > 0; most = 0)
        if (info.si_signo != SIGCHLD)
            pass_signal(tracer, &info);
}

/* Takes what has happened to all of them before any goes on: the newest is told first, and would be again and again. False: nobody is
 * left. */
static bool take_events(struct tracer *tracer)
{
    struct event event;

    for (;;) {
        event.tid = waitpid(-1, &event.status, WNOHANG | __WALL);
        if (event.tid <= 0)
            return event.tid == 0 || errno == EINTR || tracer->event_count;
        if (array_reserve(&tracer->events, &tracer->event_capacity, tracer->event_count,
                          sizeof *tracer->events) < 0) {
            tracer->is_out_of_memory = true;
            go_on(event.tid, 0);
            return true;
        }
        tracer->events[tracer->event_count++] = event;
    }
}

/* Attends to what has happened, or waits a second at most. False: nobody is left. */
static bool attend(struct tracer *tracer)
{
    if (!take_events(tracer))
        return false;
    wait_for_signals(tracer, tracer->event_count ? 0 : 1);
    for (size_t i = 0; i < tracer->event_count; i++) {
        const struct event *event = &tracer->events[i];

        if (WIFSTOPPED(event->status))
            meet_stop(tracer, event->tid, event->status);
        else
            meet_end(tracer, event->tid, event->status);
    }
    tracer->event_count = 0;
    end_holds(tracer);
    return true;
}

/* Interrupts all that are there; returns how many they are. */
static size_t interrupt_all(const struct tracees *tracees)
{
    size_t count = 0;

    for (size_t i = 0; i < tracees->capacity; i++)
        count += tracees->items[i].tid && ptrace_call(PTRACE_INTERRUPT, tracees->items[i].tid, 0, 0) == 0;
    return count;
}

/* Lets go of all that are there. What does not stop for it, since it waits in the kernel, is let go when this process ends. */
static void let_go(struct tracer *tracer)
{
    tracer->is_letting_go = true;
    tracer->report->left = interrupt_all(&tracer->tracees);
    tracer->deadline = seconds() + RELEASE_S + 1;
    while (tracer->tracees.count && attend(tracer) && !is_late(tracer))
        ;
    tracer->report->stuck = interrupt_all(&tracer->tracees);
}

/* 0, or -1: how the program ended was not seen. */
static int follow(struct tracer *tracer)
{
    while (attend(tracer) && !is_late(tracer))
        ;
    if (tracer->tracees.count)
        let_go(tracer);
    tracer->report->is_disturbed |= disturbed_guard(tracer->guards) != NULL;
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
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* what ends this command ends the program, as it would the launcher */
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
                                   "/proc/sys/kernel/yama/ptrace_scope (1 or 0), at the seccomp profile "
                                   "(Docker's default allows it), and that nothing watches this one "
                                   "(strace, gdb)")
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

/* Signals that end a process, but for those that its own faults bring, and SIGCHLD. Those that are ignored stay so. 0, or -1 and errno. */
static int hold_signals(struct tracer *tracer)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH, SIGURG,
                                 SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,  SIGABRT};
    struct sigaction action;

    sigfillset(&tracer->blocked);
    for (size_t i = 0; i < array_size(others); i++)
        sigdelset(&tracer->blocked, others[i]);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGCHLD && sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigdelset(&tracer->blocked, number);
    return sigprocmask(SIG_BLOCK, &tracer->blocked, &tracer->before);
}

int trace_run(struct launch *launch, const struct trace_guards *guards, struct trace_report *report,
              struct error *error)
{
    struct tracer tracer = {.launch = launch, .guards = guards, .report = report};
    struct sigaction standard = {.sa_handler = SIG_DFL};
    int result;

    if (sigaction(SIGCHLD, &standard, &tracer.children) < 0 || hold_signals(&tracer) < 0)
        return error_set(error, LAUNCH_SYSTEM, "watching the program: signals: %s", strerror(errno));
    report->has_started = false;
    result = start_program(&tracer, error);
    if (result == 0 && follow(&tracer) < 0)
        result = error_set(error, LAUNCH_SYSTEM, "watching the program: its end was not seen");
    sigprocmask(SIG_SETMASK, &tracer.before, NULL);
    sigaction(SIGCHLD, &tracer.children, NULL);
    free(tracer.tracees.items);
    free(tracer.events);
    if (result == 0 && tracer.is_out_of_memory)
        return error_set(error, LAUNCH_SYSTEM, "watching the program: out of memory");
    return result;
}
