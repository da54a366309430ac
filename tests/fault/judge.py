"""What must hold of a disturbed launch: it runs the program with the whole of what its status line claims, and with nothing less than the
undisturbed launch gives it (witness.c tells from inside); or it refuses, and says so."""

import collections
import errno
import functools
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

HELPERS = Path(os.environ["FAULT_HELPERS"])
NOT_EXECUTED = 97  # the injector's: the kernel does not execute the launcher

DENIALS = {"signal": {errno.EPERM}, "abstract_unix_socket": {errno.EPERM}, "refer": {errno.EXDEV, errno.EACCES}}
EXIT_STATUS = {"program-not-executable": 126, "program-not-found": 127}  # of a reason; else 125

# What no limit and no missing rule changes of what the program tells.
MUST_BE_SAME = ("no_new_privs", "seccomp", "users", "environment", "terminal", "effective", "permitted", "inheritable", "ambient",
                "bounding", "signals")

# They may fail after the status line.
LATE = {"execve", "prlimit64", "getrlimit", "setrlimit", "rt_sigaction"}

# Without these musl goes no further: a thread's own memory, and of a set-uid program descriptors that are open.
BEFORE_MAIN = {"arch_prctl", "poll"}

READS, WRITES = {"read", "pread64"}, {"write", "writev"}
SAYING = {*WRITES, "rt_sigaction"}  # what writing takes: where one of these fails, a line is lost

# Refusals that do not tell the errno, but what it means.
SAID_OTHERWISE = {
    "mmap": ("Out of memory", "cannot allocate TLS"),  # the latter is the dynamic loader's, as is what it says of arch_prctl(2)
    "arch_prctl": ("cannot set up thread-local storage",),
    "fcntl": ("it is not open", "close_range is accepted without effect"),
    "ioctl": ("is accepted but not there",),
    "prctl": ("is accepted but not there",),
}
LOADER = "error while loading shared libraries"  # it tells numbers, and what it could not do

# Answers and no failures: the descriptor is no terminal, the file has no capabilities.
ANSWERS = {("ioctl", errno.ENOTTY), ("ioctl", errno.EINVAL), ("getxattr", errno.ENODATA), ("getxattr", errno.EOPNOTSUPP)}

Plan = collections.namedtuple("Plan", "process name call kind value")


@functools.cache
def error_texts():
    """What the launcher's C library calls an errno."""
    texts = subprocess.run([HELPERS / "witness"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return dict(enumerate(texts, 1))


def is_named(launch):
    """Whether the refusal tells the errno, by its text or, as the messages of Landlock do, its name."""
    value = launch.plan.value
    texts = (error_texts()[value], f"({errno.errorcode[value]})", *SAID_OTHERWISE.get(launch.plan.name, ()), LOADER,
             *(["(EOPNOTSUPP)"] if value == errno.EOPNOTSUPP else []), *(texts_of_helper(launch.plan) if launch.plan.process else []))
    return any(text in launch.err + launch.status for text in texts)


def texts_of_helper(plan):
    """It has this C library, whose statx(3) does without the call where that is missing; its loader dies without its first memory."""
    yield os.strerror(plan.value)
    if (plan.name, plan.value) == ("statx", errno.ENOSYS):
        yield os.strerror(errno.EINVAL)
    if plan.value == errno.ENOENT:
        yield "/proc is missing"
    if (plan.name, plan.call) == ("mmap", 0):
        yield f"killed by signal {int(signal.SIGSEGV)}"


def is_stricter(told, expected):
    """The terminal filter where there is no terminal."""
    return (told, expected) == ("seccomp: 2", "seccomp: 0") or (told.startswith("terminal: ") and told.endswith(" filtered"))


class Launch:
    """What became of one launch."""

    def __init__(self, plan, answer):
        self.plan = plan
        self.__dict__.update(answer)
        self.is_killed = os.WIFSIGNALED(self.wait)
        self.code = -os.WTERMSIG(self.wait) if self.is_killed else os.WEXITSTATUS(self.wait)
        for name in ("out", "err", "status", "report"):
            setattr(self, name, answer[name].encode("latin-1").decode("utf-8", "surrogateescape"))

    @property
    def lines(self):
        return [json.loads(line) for line in self.status.splitlines()]

    def told(self):
        """What the program reported, but for the rights; and what it said of them."""
        lines = self.report.splitlines()
        rights = dict(line.removeprefix("right ").split(": ") for line in lines if line.startswith("right ") and ": " in line)
        return [line for line in lines if not line.startswith("right ")], {name: int(value) for name, value in rights.items() if value}


class Judge:
    """Compares launches with the undisturbed one. `is_refused`: that one refuses, and so must all others."""

    def __init__(self, undisturbed):
        self.undisturbed = undisturbed
        self.is_refused = not undisturbed.ran
        self.is_dry = self.is_refused and undisturbed.code == 0
        self.facts, self.rights = undisturbed.told()

    def faults(self, launch):
        """What is wrong with a launch; nothing: all is well."""
        if launch.late:
            return ["it hangs"]
        if launch.ran and self.is_refused:
            return [] if (launch.plan.name, launch.plan.value) in ANSWERS else ["a refusal became a start"]
        if launch.ran:
            return list(self.faults_of_start(launch))
        if launch.is_killed:
            return [] if self.may_be_killed(launch) else [f"killed by signal {-launch.code}"]
        if launch.code == 0:
            return list(self.faults_of_dry_run(launch)) if self.is_dry else ["nothing was run, with exit status 0"]
        return list(self.faults_of_refusal(launch))

    def faults_of_dry_run(self, launch):
        """It tells what the undisturbed one tells, but for what its status line has otherwise, too."""
        if [line["event"] for line in launch.lines] != ["would-start"]:
            yield f"status: {launch.status!r}"
            return
        yield from self.faults_of_claims(launch.lines[0], self.undisturbed.lines[0])
        may_differ = ("proof", "restricted", "not enforced") if launch.lines[0] != self.undisturbed.lines[0] else ()
        for line, expected in zip(launch.out.splitlines(), self.undisturbed.out.splitlines()):
            if line != expected and not line.startswith(may_differ) and "(out of memory)" not in line:
                yield f"{line!r} instead of {expected!r}"
        if launch.out.count("\n") != self.undisturbed.out.count("\n"):
            yield "its output is not whole"

    @staticmethod
    def may_be_killed(launch):
        """By the signal that was sent; by the kernel, to which a limit leaves no room or, at any moment, no time; by the C library
        before main() (BEFORE_MAIN)."""
        plan, number = launch.plan, -launch.code
        if plan.kind == "signal":
            return number == plan.value
        if (plan.kind, plan.call) == ("limit", resource.RLIMIT_CPU):
            return number in (signal.SIGKILL, signal.SIGXCPU)
        if (plan.kind, plan.call) == ("limit", resource.RLIMIT_STACK) and [line["event"] for line in launch.lines] == ["starting"]:
            return number == signal.SIGSEGV and not launch.err  # the program, which has told nothing yet: where its stack begins is random
        if launch.status:
            return False
        if plan.kind == "limit":
            return number in (signal.SIGKILL, signal.SIGSEGV) and not launch.err
        return plan.name in BEFORE_MAIN and plan.call == 0 and number == signal.SIGSEGV

    def faults_of_start(self, launch):
        facts, rights = launch.told()
        if launch.is_killed and launch.plan.kind == "signal" and launch.code == -launch.plan.value:
            return  # the signal met the program: what it has told by then is all
        if launch.plan.kind in ("lie", "limit"):
            yield from self.faults_of_less(launch, facts, rights)
            return
        if launch.code != 0 or facts[-1:] != ["end: 0"]:
            yield f"the program ended with {launch.code} and {facts[-1:]}"
        if launch.err != self.undisturbed.err and not self.may_say_so(launch):
            yield f"standard error: {launch.err!r}"
        for told, expected in zip(facts, self.facts):
            if told != expected and not is_stricter(told, expected) and not self.is_answer(launch, told):
                yield f"{told!r} instead of {expected!r}"
        if len(facts) != len(self.facts):
            yield f"{len(facts)} facts instead of {len(self.facts)}"
        if [line["event"] for line in launch.lines] != ["starting"]:
            yield f"status: {launch.status!r}"
            return
        yield from self.faults_of_claims(launch.lines[0], self.undisturbed.lines[0])
        yield from self.faults_of_rights(rights, self.claims(launch.lines[0]))

    def faults_of_rights(self, rights, claimed):
        """What the status line claims is denied, and what nobody claims is as in the undisturbed launch."""
        for name in sorted(claimed):
            if rights.get(name) not in DENIALS.get(name, {errno.EACCES}):
                yield f"{name} gives {rights.get(name)}"
        for name in sorted(set(self.rights) - claimed - self.claims(self.undisturbed.lines[0])):
            if rights.get(name) != self.rights[name]:
                yield f"{name}: {rights.get(name)} instead of {self.rights[name]}"

    def may_say_so(self, launch):
        """A line is lost where writing failed; one for which there was no memory says so; --verbose tells what the status line does."""
        lines, expected = launch.err.splitlines(), self.undisturbed.err.splitlines()
        if launch.plan.name in SAYING or (launch.lines != self.undisturbed.lines and len(lines) >= len(expected)):
            return True
        return len(lines) == len(expected) and all(line == other or line.endswith(": out of memory")
                                                   for line, other in zip(lines, expected))

    @staticmethod
    def is_answer(launch, told):
        return (launch.plan.name, launch.plan.value) in ANSWERS and told.startswith(("seccomp", "terminal"))

    def faults_of_less(self, launch, facts, rights):
        """A rule that was not added, or a limit, takes away what the policy allows; what the status line claims is denied all the same."""
        for name in self.claims(launch.lines[0]):
            if rights.get(name) == 0:
                yield f"{name} is possible"
        for fact in facts:
            if fact.startswith(MUST_BE_SAME) and fact not in self.facts:
                yield f"{fact!r} is new"

    def claims(self, status):
        return set(self.rights) - set(status["not_enforced"]) - set(status["unrestricted"])

    @staticmethod
    def faults_of_claims(status, expected):
        """What the status line may have else than that of the undisturbed launch: less, if it says so."""
        for key, value in expected.items():
            if status[key] != value and key not in ("proof", "not_enforced"):
                yield f"status: {key} is {status[key]}"
        if not set(expected["not_enforced"]) <= set(status["not_enforced"]):
            yield "status: it claims more than it can"
        if expected["proof"] != "none" and status["proof"] == "none":
            yield "status: proof is none"

    def faults_of_refusal(self, launch):
        says = [line for line in launch.err.splitlines() if line.startswith("landlock-exec: ") and len(line) > len("landlock-exec: ")]
        if launch.plan.kind == "limit" and launch.code == NOT_EXECUTED:
            return
        if launch.code not in (125, 126, 127):
            yield f"exit status {launch.code}"
        if launch.report or (launch.out and not self.is_dry):
            yield "it wrote what only a program writes"
        if not says and not (launch.plan.name in SAYING and launch.status):
            yield "it says nothing"
        if launch.plan.kind == "errno" and not self.is_refused and launch.plan.name not in SAYING and not is_named(launch):
            yield "it does not tell the errno"
        if (launch.plan.name, launch.plan.kind) == ("landlock_restrict_self", "lie") and "landlock-not-enforced" not in launch.status:
            yield "the lie is not told"
        yield from self.faults_of_refused_status(launch, says)

    def faults_of_refused_status(self, launch, says):
        try:
            lines = launch.lines
        except json.JSONDecodeError:
            lines = []
        events = [line["event"] for line in lines]
        if events == ["starting", "refused"]:
            if launch.plan.name not in LATE and launch.plan.kind != "lie":
                yield "two status lines"
        elif events != ["refused"] and not (self.is_dry and events == ["would-start", "refused"] or self.may_lack_status(launch, says)):
            yield f"status: {launch.status!r}"
        if events[-1:] == ["refused"]:
            yield from self.faults_of_last_line(launch, lines[-1], says)

    @staticmethod
    def faults_of_last_line(launch, status, says):
        if EXIT_STATUS.get(status["reason"], 125) != launch.code:
            yield f"exit status {launch.code} for {status['reason']}"
        may_differ = launch.plan.name in SAYING or launch.plan.kind == "memory" or status["message"] == "out of memory"
        if says and not may_differ and not any(status["message"] in line for line in says):
            yield "status line and message differ"

    @staticmethod
    def may_lack_status(launch, says):
        """Where its own write failed or there is no memory for it, and before the options are read."""
        is_too_early = not launch.status and "/dev/null cannot stand in for it" in launch.err
        is_short_of_memory = launch.plan.kind == "memory" or "landlock-exec: out of memory" in says
        return says and (launch.plan.name in SAYING or is_short_of_memory or is_too_early)
