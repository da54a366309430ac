"""What the fault tests share: scenes, in which a launch is repeated with one fault each (injector.c), and judged (judge.py).

The environment is that of tests/sandbox/harness.py, whose folder is in PYTHONPATH, and FAULT_HELPERS: the folder of injector and witness;
COMPILER: one that knows the system calls' numbers.
"""

import collections
import concurrent.futures
import errno
import functools
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import errnos
from harness import ORDINARY, BubblewrapTest, SandboxTest, as_user, launcher_environment, need, report
from judge import DENIALS, HELPERS, READS, WRITES, Judge, Launch, Plan

WORKERS = 2
TRIES = 20
RECORDS = 5

EVERY = ("errno", "short", "signal", "lie")  # kinds of faults
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)
LIES = {"landlock_restrict_self", "landlock_add_rule", "capset"}  # where an emulator only says that it is done

# What the program tells of the undisturbed launch, among others.
WHOLE = ("no_new_privs: 1", "effective: 0 0", "permitted: 0 0", "inheritable: 0 0", "ambient: 0", "limit 4: 0 0", "limit 7: 40 40",
         "secret: 13", "argument: content", "environment: SET=set", "environment: KEPT=kept", "signals:", "child: 10", "end: 0",
         "inside read: 0", "inside write: 0", "inside list: 0", "inside make: 0", "device: 0", "library: 0")

Call = collections.namedtuple("Call", "name result")


@functools.cache
def numbers():
    return {name: number for number, name in errnos.names().items()}


def text_of(plan):
    return f"{plan.process} {numbers().get(plan.name, -1)} {plan.call} {plan.kind} {plan.value}\n"


def described(plan):
    value = errno.errorcode.get(plan.value, plan.value) if plan.kind == "errno" else plan.value
    return f"process {plan.process}, {plan.name} {plan.call}: {plan.kind} {value}"


class Scene:
    """A launch that can be disturbed, and what came of it. `place`: the words that run a command in the place of the scene."""

    def __init__(self, test, command, place=(), uid=ORDINARY, terminal=0, allocators=None):
        options = [*(["-m", allocators] if allocators else []), *(["-t", str(terminal)] if terminal else [])]
        self.injector = [*place, test.bin / "injector", *options, "--", *command]
        self.uid = uid
        # how often a process waits for another is not always the same: what is common is disturbed
        self.record = min(self.launches([Plan(0, "", 0, "record", 0)] * RECORDS), key=lambda launch: len(launch.calls))
        self.judge = Judge(self.record)
        self.counts = collections.Counter()
        self.exceptions = []

    def launches(self, plans):
        environment = {**launcher_environment(), "KEPT": "kept", "SECRET": "secret"}
        done = subprocess.run([os.fspath(word) for word in self.injector], input="".join(map(text_of, plans)), stdout=subprocess.PIPE,
                              env=environment, text=True, check=True, **as_user(self.uid))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(plans):
            raise AssertionError(f"{len(answers)} of {len(plans)} launches")
        return [Launch(plan, answer) for plan, answer in zip(plans, answers)]

    def calls(self, process):
        return [Call(errnos.names()[number], result) for of, number, result in self.record.calls if of == process]

    def plans(self, process, kinds=EVERY):
        """Every fault of these kinds in every call of a process."""
        seen = collections.Counter()
        for call in self.calls(process):
            if call.name not in errnos.ENDLESS:
                yield from (Plan(process, call.name, seen[call.name], kind, value) for kind in kinds for value in self.values(kind, call))
            seen[call.name] += 1

    @staticmethod
    def values(kind, call):
        if kind == "errno":
            return errnos.of(call.name)
        if kind == "signal":
            return SIGNALS
        if kind == "lie":
            return [0] if call.name in LIES else []
        return sorted({1, call.result // 2}) if call.name in READS | WRITES and call.result > 1 else []

    def disturb(self, plans):
        """Launches with each fault, and judges. A call that was not reached may be the next time."""
        left = list(plans)
        count = len(left)
        for _ in range(TRIES):
            left = self.disturb_once(left)
        for plan in left:
            self.counts["exceptions"] += 1
            self.exceptions.append(f"{described(plan)}: was never reached")
        return count

    def disturb_once(self, plans):
        """Returns those that were not reached; they are judged all the same."""
        parts = [plans[i::WORKERS] for i in range(WORKERS)]
        missed = []
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for launches in pool.map(self.launches, parts):
                for launch in launches:
                    faults = self.judge.faults(launch)
                    if launch.hit < 0 and launch.plan.kind != "limit":
                        missed.append(launch.plan)
                        if not faults:
                            continue
                    self.note(launch, faults)
        return missed

    def note(self, launch, faults):
        self.counts["exceptions" if faults else "ran whole" if launch.ran else "killed" if launch.is_killed else "refused"] += 1
        if faults:
            self.exceptions.append(f"{described(launch.plan)}: {'; '.join(faults)}\n    {launch.err!r} {launch.status[:300]!r}")

    def summary(self):
        return f"{sum(self.counts.values())} injections: " + ", ".join(f"{self.counts[key]} {key}" for key in
                                                                      ("refused", "ran whole", "killed", "exceptions"))


class FaultTest(SandboxTest):
    """A test has what a launch needs: OUTSIDE, INSIDE, the policy."""

    policy_text = """include more.policy
allow execute,read_file {bin}/witness
allow read_file /dev/zero
private {outside}/secret
directory {folder}/work
environment set SET=set
environment keep KEPT
limit nofile 64
limit fsize 1M
"""
    more = "policy 1\nallow read,write,create,remove {inside}\nallow read /lib\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        need(errnos.MANUALS.is_dir() and any(errnos.MANUALS.iterdir()), "the manual pages of system calls (manpages-dev)")
        for name in ("injector", "witness"):
            shutil.copy(HELPERS / name, cls.bin / name)

    def places(self, **others):
        return {"bin": self.bin, "folder": self.folder, "outside": self.folder / "outside", "inside": self.folder / "inside", **others}

    def make_outside(self, folder, owner):
        self.make_folder(folder / "folder" / "entry", owner=owner)
        for name in ("file", "secret", "program"):
            self.make(folder / name, owner=owner, mode=0o755 if name == "program" else 0o644)
        for path in (folder, folder / "folder", folder / "folder" / "entry"):
            self.dress(path, 0o755, owner)

    def make_inside(self, folder, owner):
        for name in ("a", "b"):
            self.make_folder(folder / name, owner=owner)
        self.make(folder / "a" / "file", owner=owner)
        self.dress(folder, 0o755, owner)

    def make_places(self, owner=ORDINARY):
        self.make_outside(self.folder / "outside", owner)
        self.make_inside(self.folder / "inside", owner)
        self.make_folder("work")

    def command(self, policy, *options, places=None, program=None):
        """The launcher's command line."""
        places = places or self.places()
        program = program or [self.bin / "witness", places["outside"], places["inside"], Path(places["outside"]) / "secret", "{port}",
                              "{abstract}", "{pid}"]
        return [self.launcher, "--policy", policy, *options, "--status-fd", "3", "--pass-fd", "5", "--", *program]

    def write_policy(self, text="", places=None, more=None):
        places = places or self.places()
        self.make("more.policy", (more or self.more).format(**places))
        return self.make("test.policy", "policy 1\n" + (self.policy_text + text).format(**places))

    def finish(self, scene, count):
        """What must hold after all."""
        report(self.__module__.replace("test_", "fault."), f"{self.id().split('.', 1)[1]}: {scene.summary()}")
        self.assertGreaterEqual(sum(scene.counts.values()), count)
        self.assertEqual(scene.exceptions, [], "\n".join([f"{len(scene.exceptions)} exceptions", *scene.exceptions[:200]]))

    def assert_whole(self, launch, **expected):
        """The undisturbed launch ran, with all that is expected of it."""
        self.assertTrue(launch.ran, launch.__dict__)
        facts, rights = launch.told()
        status = launch.lines[0]
        for line in WHOLE:
            self.assertIn(line, facts)
        self.assertEqual(sum(line.startswith("environment: ") for line in facts), 2)
        self.assertEqual(len(rights), 23)
        for name in set(rights) - set(status["not_enforced"]):
            self.assertIn(rights[name], DENIALS.get(name, {errno.EACCES}), name)
        for key, value in expected.items():
            self.assertEqual(status[key], value)


class ContainerFaultTest(FaultTest, BubblewrapTest):
    """In a container of bubblewrap, where the helper checks. What is outside the policy and can be written is in /dev/shm."""

    def container(self, **changes):
        """The words that run a command in the container."""
        prepare = ("umask 022; mkdir -p /dev/shm/outside/folder/entry; cd /dev/shm/outside; "
                   "for f in file secret program; do echo content >$f; done; chmod 755 program; cd /; exec \"$@\"")
        return [*self.bubblewrap(**changes), "/bin/sh", "-c", prepare, "sh"]

    def container_places(self):
        return self.places(outside="/dev/shm/outside", inside="/sandbox")

    described = ("container uid 1000\ncontainer capabilities none\ncontainer read-only /\n"
                 "container writable bubblewrap /sandbox /tmp\nallow read,write,create,remove /tmp\n")

    def scene(self, changes=None, **keywords):
        self.make_inside(self.chat, 1000)
        self.make_folder("work")
        places = self.container_places()
        policy = self.write_policy(self.described, places)
        command = self.command(policy, "--max-abi", "2", places=places)
        return Scene(self, command, place=self.container(**(changes or {})), **keywords)

    def fit(self, **keywords):
        scene = self.scene(**keywords)
        self.assert_whole(scene.record, container="checked", proof="read_dir /", abi=2)
        return scene

    def unfit(self, **keywords):
        """A mount that nobody named: there is one finding, and no fault may lose it."""
        scene = self.scene({"odd": "--tmpfs /mnt/odd"}, **keywords)
        self.assertFalse(scene.record.ran)
        self.assertEqual(len(scene.record.lines[0]["findings"]), 1, scene.record.status)
        return scene
