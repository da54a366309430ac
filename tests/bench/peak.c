/*
 * The peak memory of a launcher. ru_maxrss does not tell it: it takes in the driver's own memory, which a vfork(2) child shares, and
 * since Linux 6.2 misses up to 32 pages a processor and kind. So the launcher is stopped at its execve(2), where /proc counts exactly.
 */
#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PTRACE_GET_SYSCALL_INFO_REQUEST 0x420e

struct syscall_info { /* the beginning of struct ptrace_syscall_info, which C libraries declare differently */
    uint8_t op;
    uint8_t pad[3];
    uint32_t arch;
    uint64_t instruction_pointer, stack_pointer;
    uint64_t nr;
};

static bool is_at_execve(pid_t child)
{
    enum { ENTRY = 1 };
    struct syscall_info info = {0};

    return syscall(SYS_ptrace, PTRACE_GET_SYSCALL_INFO_REQUEST, child, sizeof info, &info) > 0 &&
           info.op == ENTRY && info.nr == SYS_execve;
}

static long read_peak(pid_t child)
{
    char path[64], line[256];
    long peak = 0;
    FILE *status;

    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "VmHWM:", 6))
            peak = strtol(line + 6, NULL, 10);
    if (status)
        fclose(status);
    return peak;
}

static pid_t start_traced(const struct command *command)
{
    static char *no_environment[] = {NULL};
    pid_t child = fork();

    if (child)
        return child;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execve(command->arguments[0], command->arguments, no_environment);
    _exit(127);
}

long measure_peak(const struct command *command)
{
    pid_t child = start_traced(command);
    int status;
    long peak = 0;

    if (child < 0)
        return 0;
    /* the first stop is after the execve(2) of start_traced(), those that follow at the entry and the end of each call */
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
        if (is_at_execve(child)) {
            peak = read_peak(child);
            kill(child, SIGKILL);
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    return peak;
}

/* ---- To the end ---- */

static void redirect(int fd, const char *name, int flags)
{
    int opened = name ? open(name, flags | O_CLOEXEC, 0600) : -1;

    if (opened >= 0)
        dup2(opened, fd);
}

static pid_t start_redirected(const struct command *command)
{
    char *environment[] = {(char *)command->variable, NULL};
    pid_t child = fork();

    if (child)
        return child;
    redirect(STDIN_FILENO, command->input, O_RDONLY);
    redirect(STDOUT_FILENO, command->output ? command->output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execve(command->arguments[0], command->arguments, environment);
    _exit(127);
}

long measure_peak_to_end(const struct command *command)
{
    pid_t child;
    int status;
    long peak = 0;

    if (command->prepare)
        command->prepare(command);
    child = start_redirected(command);
    if (child < 0)
        return 0;
    /* the first stop is after its execve(2), the next before its memory is released */
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACEEXIT);
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
            peak = read_peak(child);
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? peak : 0;
}
