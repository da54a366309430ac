"""Every system call of `landlock-policy test`, failed one by one: an expectation that does not hold, or was not tried, is never told as
one that does."""

import collections
import errno
import os
import re
import shutil
from pathlib import Path

from harness import ORDINARY
from injection import FaultTest, Scene

COMMAND = Path(os.environ["LANDLOCK_POLICY"])


# Of open(2): what a device or a FIFO says, which is asked only when Landlock has let the call through.
THROUGH = {errno.ENXIO, errno.EBUSY, errno.ENODEV}


LOADER_FAILED = 127
BEFORE_MAIN = {("mmap", 0)}  # the loader has no memory to say it with


class Trial:
    """Compares the answers with the undisturbed one."""

    def __init__(self, undisturbed):
        self.expected = self.results(undisturbed)

    @staticmethod
    def results(launch):
        """By number: whether it held. One that was skipped is not among them."""
        lines = re.findall(r"^(ok|not ok) (\d+)(.*)$", launch.out, re.MULTILINE)
        return {int(number): word == "ok" for word, number, rest in lines if "# SKIP" not in rest}

    def faults(self, launch):
        results = self.results(launch)
        is_answered = launch.plan.name == "openat" and launch.plan.value in THROUGH
        faults = [f"expectation {number} holds" for number, holds in results.items()
                  if holds and not self.expected[number] and not is_answered]
        if launch.late:
            faults.append("it hangs")
        elif launch.is_killed:
            is_before_main = (launch.plan.name, launch.plan.call) in BEFORE_MAIN and not launch.out
            faults += [] if launch.plan.kind == "signal" or is_before_main else [f"killed by signal {-launch.code}"]
        elif launch.code not in (1, 2) and not (launch.code == LOADER_FAILED and launch.err):
            faults.append(f"exit status {launch.code}")
        elif launch.code == 2 and not launch.err and "Bail out!" not in launch.out:
            faults.append("it says nothing")
        return faults


class Test(FaultTest):
    """Two expectations hold and two do not: the exit status is 1."""

    def scene(self):
        self.make_places()
        shutil.copy(COMMAND, self.bin / "landlock-policy")
        policy = self.write_policy("expect denied read_file {outside}/file\nexpect allowed read_file {inside}/a/file\n"
                                   "expect denied read_file {inside}/a/file\nexpect allowed read_file {outside}/file\n")
        scene = Scene(self, [self.bin / "landlock-policy", "test", policy], uid=ORDINARY)
        self.assertEqual(scene.record.code, 1, scene.record.__dict__)
        scene.judge = Trial(scene.record)
        self.assertEqual(collections.Counter(scene.judge.expected.values()), {True: 2, False: 2}, scene.record.out)
        return scene

    def test_command(self):
        scene = self.scene()
        self.finish(scene, scene.disturb(scene.plans(0, ("errno", "short"))))

    def test_children(self):
        """Those that try."""
        scene = self.scene()
        plans = [plan for process in range(1, 8) for plan in scene.plans(process, ("errno", "short", "signal"))]
        self.assertGreater(len(plans), 100)
        self.finish(scene, scene.disturb(plans))
