/*
 * Launches a command again and again, each time with one fault put into it by ptrace(2):
 *
 *     injector [-t COUNT] [-s SECONDS] [-m FILE,MALLOC,CALLOC,REALLOC] -- COMMAND [ARGUMENT...]
 *
 * Each line of standard input asks for one launch, `PROCESS NUMBER CALL KIND VALUE`: PROCESS is 0 for the command
 * and 1 for its first child, CALL tells which of its system calls of that NUMBER (0: the first), and KIND
 *
 *     none     nothing is disturbed
 *     record   likewise, and every system call is told
 *     errno    the call is not made and fails with the errno VALUE (close(2) is made all the same, as in the kernel)
 *     lie      the call is not made and returns VALUE
 *     short    the call, a read or write, is made for no more than VALUE bytes
 *     signal   the signal VALUE arrives just before the call
 *     limit    the resource limit number CALL is VALUE from the start, soft and hard
 *     memory   allocation number CALL finds no memory, and with VALUE all that follow (-m: where to find them)
 *
 * Each answer is a line of JSON on standard output. The command has nothing on descriptor 0, pipes on 1 and 2
 * (-t: a new terminal of its own on the first COUNT of these), pipes on 3 (the status line) and 5 (what the program
 * reports), and the root directory, which it must not pass on, on 4. {port}, {abstract} and {pid} in its arguments
 * are what the injector itself has: a TCP port and an abstract socket on which it listens, and its process. What
 * becomes of the program that the command executes is not watched.
 */
#include "injector.h"
#include "registers.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "injector: %s: %s\n", what, strerror(errno));
    exit(2);
}

static int sure(int result, const char *what)
{
    if (result < 0)
        fail(what);
    return result;
}

/* ---- What the launches share ---- */

static void open_pipes(struct scene *scene)
{
    for (size_t i = 0; i < STREAMS; i++) {
        int ends[2];

        sure(pipe2(ends, O_CLOEXEC), "pipe");
        scene->reading[i] = sure(fcntl(ends[0], F_DUPFD_CLOEXEC, FIRST_OWN), "fcntl");
        scene->writing[i] = sure(fcntl(ends[1], F_DUPFD_CLOEXEC, FIRST_OWN), "fcntl");
        sure(fcntl(scene->reading[i], F_SETFL, O_NONBLOCK), "fcntl");
        close(ends[0]);
        close(ends[1]);
    }
}

static int listen_on(int family, const struct sockaddr *address, socklen_t length)
{
    int fd = sure(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    int moved = sure(fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN), "fcntl");

    close(fd);
    sure(bind(moved, address, length), "bind");
    sure(listen(moved, 100000), "listen");
    return moved;
}

static void open_sockets(struct scene *scene)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;

    scene->tcp = listen_on(AF_INET, (struct sockaddr *)&address, sizeof address);
    sure(getsockname(scene->tcp, (struct sockaddr *)&address, &length), "getsockname");
    snprintf(scene->port, sizeof scene->port, "%d", ntohs(address.sin_port));
    snprintf(scene->pid, sizeof scene->pid, "%d", getpid());
    snprintf(scene->abstract, sizeof scene->abstract, "landlock-exec-fault-%d", getpid());
    strcpy(name.sun_path + 1, scene->abstract);
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(scene->abstract));
    scene->local = listen_on(AF_UNIX, (struct sockaddr *)&name, length);
}

static char *replaced(char *argument, const struct scene *scene)
{
    return !strcmp(argument, "{port}")       ? (char *)scene->port
           : !strcmp(argument, "{abstract}") ? (char *)scene->abstract
           : !strcmp(argument, "{pid}")      ? (char *)scene->pid
                                             : argument;
}

/* ---- The child, up to its execve(2) ---- */

static void take_terminal(const char *terminal, int count)
{
    int opened;

    setsid();
    opened = open(terminal, O_RDWR);
    for (int fd = 0; fd < count; fd++)
        if (opened < 0 || dup2(opened, fd) < 0)
            _exit(99);
    close(opened);
}

static void take(int fd, int as)
{
    if (fd < 0 || dup2(fd, as) < 0)
        _exit(99);
    if (fd != as && fd < FIRST_OWN)
        close(fd);
}

static void take_streams(const struct scene *scene, const struct run *run)
{
    take(open("/dev/null", O_RDONLY), STDIN_FILENO);
    take(scene->writing[OUT], STDOUT_FILENO);
    take(scene->writing[ERROR], STDERR_FILENO);
    take(scene->writing[STATUS], 3);
    take(scene->writing[REPORT], 5);
    take(open("/", O_RDONLY | O_DIRECTORY), 4);
    if (scene->terminal_count)
        take_terminal(run->terminal_name, scene->terminal_count);
}

/* Whatever the tests were started by, in the background or by nohup(1), ignores. */
static void take_no_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_command(const struct scene *scene, const struct run *run)
{
    const struct plan *plan = &run->plan;

    take_streams(scene, run);
    take_no_signals();
    trace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    if (plan->kind == LIMIT &&
        setrlimit((int)plan->call, &(struct rlimit){(rlim_t)plan->value, (rlim_t)plan->value}) < 0)
        _exit(98);
    execve(scene->command[0], scene->command, scene->environment);
    _exit(97);
}

/* ---- What a stop means ---- */

static struct process *process_of(struct run *run, pid_t pid)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].pid == pid)
            return &run->processes[i];
    return NULL;
}

static struct process *add_process(struct run *run, pid_t pid)
{
    if (run->process_count == MOST_PROCESSES) {
        errno = EAGAIN;
        fail("too many processes");
    }
    run->processes[run->process_count] = (struct process){.pid = pid};
    return &run->processes[run->process_count++];
}

static bool is_target(const struct run *run, const struct process *process)
{
    return process - run->processes == run->plan.process;
}

/* Only the calls of one process are counted, up to the fault: a stop at each costs. */
static int way_on(const struct run *run, const struct process *process)
{
    if (run->plan.kind == RECORD)
        return PTRACE_SYSCALL;
    if (process->stepped_over)
        return PTRACE_SINGLESTEP;
    return run->plan.kind > RECORD && run->plan.kind <= LAST_OF_CALLS && is_target(run, process) &&
                   process->step != DONE
               ? PTRACE_SYSCALL
               : PTRACE_CONT;
}

static void at_entry(struct run *run, struct process *process, const struct ptrace_syscall_info *info)
{
    process->in_call = true;
    process->number = info->entry.nr;
    memcpy(process->arguments, info->entry.args, sizeof process->arguments);
    if (!is_target(run, process) || process->step == DONE || run->plan.kind > LAST_OF_CALLS ||
        (long)process->number != run->plan.number || process->calls++ != run->plan.call)
        return;
    run->hit = (long)process->number;
    process->step = inject_at_entry(run, process) ? AT_EXIT : DONE;
}

static void at_exit(struct run *run, struct process *process, const struct ptrace_syscall_info *info)
{
    if (!process->in_call)
        return;
    process->in_call = false;
    if (run->plan.kind == RECORD)
        record_call(run, process, (long)info->exit.rval);
    if (process->step == AT_EXIT) {
        inject_at_exit(run, process);
        process->step = DONE;
    }
}

static void at_call(struct run *run, struct process *process)
{
    struct ptrace_syscall_info info;

    if (trace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof info, (uintptr_t)&info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        at_entry(run, process, &info);
    else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        at_exit(run, process, &info);
}

/* The command's own first execve(2) begins it, the next one ends what is watched of it. */
static bool at_exec(struct run *run, struct process *process)
{
    process->execs++;
    if (process->execs == 1 && run->plan.kind == MEMORY && is_target(run, process))
        watch_memory(process);
    if (process != &run->processes[0])
        return false;
    if (process->execs == 1) {
        process->calls = 0;
        process->in_call = false;
        return false;
    }
    if (run->plan.kind == RECORD)
        record_call(run, process, 0);
    run->has_run = true;
    return true;
}

static void at_event(struct run *run, struct process *process, int event)
{
    unsigned long message = 0;

    if (event == PTRACE_EVENT_EXEC) {
        if (at_exec(run, process)) {
            trace(PTRACE_DETACH, process->pid, 0, 0);
            process->is_program = true;
        }
        return;
    }
    trace(PTRACE_GETEVENTMSG, process->pid, 0, (uintptr_t)&message);
    if (!process_of(run, (pid_t)message))
        add_process(run, (pid_t)message);
}

/* Returns the signal to be delivered. */
static int at_stop(const struct scene *scene, struct run *run, struct process *process, int status)
{
    int signal = WSTOPSIG(status);

    if (signal == (SIGTRAP | 0x80))
        at_call(run, process);
    else if (status >> 16)
        at_event(run, process, status >> 16);
    else if (signal == SIGTRAP && at_memory_stop(&scene->allocators, run, process))
        return 0;
    else if (signal == SIGSTOP && !process->is_started)
        process->is_started = true;
    else
        return signal;
    return 0;
}

static void note_end(struct run *run, const struct process *process, int status)
{
    if (process == &run->processes[0])
        run->status = status;
    else if (process == &run->processes[1])
        run->helper_status = status;
}

static void at_news(const struct scene *scene, struct run *run, pid_t pid, int status)
{
    struct process *process = process_of(run, pid);
    int signal;

    if (!process)
        process = add_process(run, pid); /* a child may stop before its parent tells of it */
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
        note_end(run, process, status);
        return;
    }
    signal = at_stop(scene, run, process, status);
    if (!process->is_program)
        trace(way_on(run, process), pid, 0, (uintptr_t)signal);
}

/* ---- A launch ---- */

static void end_all(const struct run *run)
{
    for (size_t i = 0; i < run->process_count; i++)
        kill(run->processes[i].pid, SIGKILL);
}

/* Until all have ended, children of children too: PR_SET_CHILD_SUBREAPER. */
static void watch(const struct scene *scene, struct run *run)
{
    struct itimerval time = {.it_value.tv_sec = scene->seconds, .it_interval.tv_usec = 100000}, none = {0};
    int status;

    setitimer(ITIMER_REAL, &time, NULL);
    for (;;) {
        pid_t pid = waitpid(-1, &status, __WALL);

        if (pid > 0) {
            at_news(scene, run, pid, status);
            continue;
        }
        if (errno == ECHILD)
            break;
        if (errno != EINTR)
            fail("waitpid");
        run->is_late = true;
        end_all(run);
    }
    setitimer(ITIMER_REAL, &none, NULL);
}

static void start(const struct scene *scene, struct run *run)
{
    uintptr_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    pid_t child = sure(fork(), "fork");
    int status;

    if (child == 0)
        become_command(scene, run);
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        fail("the command does not stop");
    if (trace(PTRACE_SETOPTIONS, child, 0, options) < 0)
        fail("ptrace");
    add_process(run, child)->is_started = true;
    trace(PTRACE_CONT, child, 0, 0);
}

static void open_terminal(const struct scene *scene, struct run *run)
{
    run->terminal = -1;
    if (!scene->terminal_count)
        return;
    run->terminal = sure(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), "posix_openpt");
    if (grantpt(run->terminal) < 0 || unlockpt(run->terminal) < 0 ||
        ptsname_r(run->terminal, run->terminal_name, sizeof run->terminal_name) != 0)
        fail("terminal");
    run->slave = sure(open(run->terminal_name, O_RDWR | O_NOCTTY | O_CLOEXEC), "terminal");
}

static void print_stream(const char *name, int fd)
{
    unsigned char bytes[4096];
    ssize_t count;

    printf(",\"%s\":\"", name);
    while (fd >= 0 && (count = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < count; i++)
            if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
                printf("\\u%04x", bytes[i]);
            else
                putchar(bytes[i]);
    putchar('"');
}

static void print_run(const struct scene *scene, const struct run *run)
{
    static const char *const names[STREAMS] = {"out", "err", "status", "report"};

    printf("{\"hit\":%ld,\"ran\":%s,\"late\":%s,\"wait\":%d,\"helper_wait\":%d,\"allocations\":%u", run->hit,
           run->has_run ? "true" : "false", run->is_late ? "true" : "false", run->status, run->helper_status,
           run->allocations);
    for (size_t i = 0; i < STREAMS; i++)
        print_stream(names[i],
                     i == ERROR && scene->terminal_count > STDERR_FILENO ? run->terminal : scene->reading[i]);
    if (run->plan.kind == RECORD)
        print_record(run);
    puts("}");
}

static void launch(const struct scene *scene, const struct plan *plan)
{
    struct run run = {.plan = *plan, .hit = -1, .helper_status = -1};

    open_terminal(scene, &run);
    start(scene, &run);
    watch(scene, &run);
    print_run(scene, &run);
    free(run.record);
    if (run.terminal >= 0) {
        close(run.slave);
        close(run.terminal);
    }
    while (accept4(scene->tcp, NULL, NULL, SOCK_CLOEXEC) >= 0)
        continue;
}

/* ---- The plan ---- */

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end) {
        fprintf(stderr, "injector: not a number: %s\n", text);
        exit(2);
    }
    return value;
}

static enum kind kind_of(const char *word)
{
    static const char *const kinds[] = {
        [NONE] = "none",   [RECORD] = "record", [ERRNO] = "errno", [LIE] = "lie",
        [SHORT] = "short", [SIGNAL] = "signal", [LIMIT] = "limit", [MEMORY] = "memory",
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i] && !strcmp(kinds[i], word))
            return (enum kind)i;
    fprintf(stderr, "injector: no such kind: %s\n", word);
    exit(2);
}

static bool read_plan(struct plan *plan)
{
    enum { WORDS = 5 };
    char line[256], *rest = line, *words[WORDS];

    if (!fgets(line, sizeof line, stdin))
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = strsep(&rest, " \n");
        if (!rest) {
            fprintf(stderr, "injector: too few words\n");
            exit(2);
        }
    }
    *plan = (struct plan){.process = (int)number(words[0]),
                          .number = number(words[1]),
                          .call = (unsigned)number(words[2]),
                          .kind = kind_of(words[3]),
                          .value = number(words[4])};
    return true;
}

static void read_allocators(char *text, struct allocators *allocators)
{
    allocators->file = strsep(&text, ",");
    for (size_t i = 0; i < ALLOCATORS && text; i++)
        allocators->offsets[i] = strtoull(strsep(&text, ","), NULL, 16);
}

static void wake_up(int signal)
{
    (void)signal;
}

int main(int count, char **arguments, char **environment)
{
    struct scene scene = {.environment = environment, .seconds = 20};
    struct plan plan;
    int option;

    while ((option = getopt(count, arguments, "+t:s:m:")) >= 0)
        if (option == 't')
            scene.terminal_count = (int)number(optarg);
        else if (option == 's')
            scene.seconds = (unsigned)number(optarg);
        else if (option == 'm')
            read_allocators(optarg, &scene.allocators);
        else
            return 2;
    open_pipes(&scene);
    open_sockets(&scene);
    sure(fcntl(scene.tcp, F_SETFL, O_NONBLOCK), "fcntl");
    sure(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl");
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = wake_up}, NULL);
    scene.command = arguments + optind;
    for (char **argument = scene.command; *argument; argument++)
        *argument = replaced(*argument, &scene);
    while (read_plan(&plan))
        launch(&scene, &plan);
    return fflush(stdout) == 0 ? 0 : 2;
}
