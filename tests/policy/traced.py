"""What the tests of trace run: python3 traced.py WORD. It prints what a program can see of its own threads, children and signals."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_EXIT, WALL = {"x86_64": 60}.get(os.uname().machine, 93), 0x40000000
PTRACE_TRACEME, PTRACE_CONT, PTRACE_DETACH, PTRACE_ATTACH = 0, 7, 17, 16


def denied():
    try:
        os.close(os.open("/etc/passwd", os.O_RDONLY))
        return "opened"
    except PermissionError:
        return "denied"


def threads():
    answers = []
    all_threads = [threading.Thread(target=lambda: answers.extend(denied() for _ in range(100))) for _ in range(8)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    return len(answers), set(answers)


def processes():
    """Thousands of them, many at a time, some with children of their own."""
    for i in range(2000):
        if os.fork() == 0:
            if i % 10 == 0 and os.fork():
                os.wait()
            os._exit(i % 7)
        if i % 100 == 99:
            for _ in range(100):
                os.wait()
    try:
        os.wait()
    except ChildProcessError:
        return "all have ended"


def vfork():
    """subprocess starts programs by vfork(2)."""
    done = [subprocess.run(["/bin/sh", "-c", f"cat /etc/passwd; exit {i}"], capture_output=True, check=False) for i in range(20)]
    return [item.returncode for item in done], {item.stderr for item in done}


def thread_exec():
    child = os.fork()
    if child == 0:
        thread = threading.Thread(target=os.execv, args=("/bin/sh", ["sh", "-c", "cat /etc/passwd; exit 5"]))
        thread.start()
        thread.join()
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def signals():
    """Without SA_RESTART, as fast as they come: a call that waits is interrupted, open(2) of a file never."""
    count = [0]

    def handle(*_):
        count[0] += 1

    signal.signal(signal.SIGALRM, handle)
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    failures = set()
    for _ in range(20000):
        fd = LIBC.open(b"/usr/bin/env", os.O_RDONLY)
        if fd < 0:
            failures.add(ctypes.get_errno())
        else:
            os.close(fd)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGUSR1, handle)
    before = count[0]
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    os.kill(os.getpid(), signal.SIGUSR2)
    info = signal.sigtimedwait({signal.SIGUSR2}, 10)
    return failures, before > 0, count[0] - before, (info.si_signo, info.si_pid == os.getpid())


def stops():
    child = subprocess.Popen(["sleep", "100"], process_group=0)  # an orphaned one is not stopped by SIGTSTP
    answers = []
    for number, flags in ((signal.SIGSTOP, os.WUNTRACED), (signal.SIGCONT, os.WCONTINUED), (signal.SIGTSTP, os.WUNTRACED), (signal.SIGCONT, os.WCONTINUED)):
        os.kill(child.pid, number)
        status = os.waitpid(child.pid, flags)[1]
        answers.append((os.WIFSTOPPED(status) and os.WSTOPSIG(status), os.WIFCONTINUED(status)))
    os.kill(child.pid, signal.SIGTERM)
    return answers, os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])


def killed():
    """Children that are killed while they open files, and ones that kill themselves."""
    answers = set()
    for _ in range(50):
        child = os.fork()
        if child == 0:
            while True:
                denied()
        time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        answers.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        answers.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return answers


def traces():
    """One child asks to be traced, another one is attached to: each is stopped, looked at and let go."""
    answers = []
    child = os.fork()
    if child == 0:
        answer = LIBC.ptrace(PTRACE_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        denied()
        os._exit(20 + answer)
    answers.append(os.WSTOPSIG(os.waitpid(child, 0)[1]))
    answers.append(LIBC.ptrace(PTRACE_CONT, child, None, None))
    answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    copier = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    copier.stdin.write(b"\n")
    copier.stdin.flush()
    copier.stdout.readline() # its execution is over: a SIGTRAP would come of it
    child = copier.pid
    answers.append(LIBC.ptrace(PTRACE_ATTACH, child, None, None))
    answers.append(os.WSTOPSIG(os.waitpid(child, 0)[1]))
    answers.append(LIBC.ptrace(PTRACE_DETACH, child, None, None))
    os.kill(child, signal.SIGTERM)
    answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return answers


def attaches_at_once():
    """To a child that has just been made."""
    failures = 0
    for _ in range(200):
        child = os.fork()
        if child == 0:
            signal.pause()
        failures += LIBC.ptrace(PTRACE_ATTACH, child, None, None) != 0
        os.kill(child, signal.SIGKILL)
        while os.waitpid(child, WALL)[0] == child and os.path.exists(f"/proc/{child}"):
            pass
    return failures


def attaches_to_the_dead():
    """To the first thread of a process, which has ended before the others: it never stops."""
    child = os.fork()
    if child == 0:
        threading.Thread(target=time.sleep, args=(100,)).start()
        LIBC.syscall(SYS_EXIT, 0)
    while open(f"/proc/{child}/stat").read().split()[2] != "Z":
        time.sleep(0.01)
    answer = LIBC.ptrace(PTRACE_ATTACH, child, None, None), ctypes.get_errno()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return answer


def spinners():
    """Twenty that call the kernel without an end, and an older process that sleeps meanwhile."""
    worker = os.fork()
    if worker:
        return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    children = []
    for _ in range(20):
        children.append(os.fork())
        while not children[-1]:
            os.getppid()
    for _ in range(10):
        time.sleep(0.05)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os._exit(9)


def end(word):
    """exit_N, or the name of a signal."""
    if word.startswith("exit_"):
        os._exit(int(word[5:]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = getattr(signal, word.upper())
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


ROLES = {role.__name__: role for role in (threads, processes, vfork, thread_exec, signals, stops, killed, traces,
                                          attaches_at_once, attaches_to_the_dead, spinners)}
print(ROLES[sys.argv[1]]() if sys.argv[1] in ROLES else end(sys.argv[1]), flush=True)
