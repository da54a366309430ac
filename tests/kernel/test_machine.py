"""No virtual machine outlives its test, however that ends, and nothing but kill -9 leaves files behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

# Two machines at once, and a third that waits. Their initramfs holds no program, so the kernel gives up after some seconds.
START = """
import machine, sys
with machine.work_folder() as folder:
    print(folder, flush=True)
    machine.DEADLINE = float(sys.argv[1])
    (folder / "initramfs").write_bytes(b"")
    machine.boot({release: [] for release in ("6.1", "7.3", "6.12")}, folder / "initramfs", folder)
"""


def machines(folder):
    """The processes that have the folder in their command lines."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if folder.encode() in file.read_bytes():
                found.append(int(file.parent.name))
        except OSError:
            pass  # it has just ended
    return found


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.02)


class Endings(unittest.TestCase):
    def start(self, deadline):
        child = subprocess.Popen([sys.executable, "-B", "-c", START, str(deadline)], cwd=Path(__file__).parent, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        folder = child.stdout.readline().strip()
        self.assertTrue(folder)
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return child, folder

    def assert_nothing_left(self, child, folder, code, text="", files=False):
        _, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, code, err)
        self.assertIn(text, err)
        wait_for(lambda: not machines(folder))  # the kernel's kill takes its moment
        self.assertEqual(os.path.exists(folder), files)

    def test_signals(self):
        for number, code in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(number.name):
                child, folder = self.start(60)
                wait_for(lambda: len(machines(folder)) == 2)
                child.send_signal(number)
                self.assert_nothing_left(child, folder, code, files=number == signal.SIGKILL)

    def test_deadline(self):
        child, folder = self.start(0.5)
        self.assert_nothing_left(child, folder, 1, "does not end in 0.5 seconds")

    def test_failure(self):
        """A kernel that stops before it has handed over its results: its last words are in the error."""
        child, folder = self.start(60)
        self.assert_nothing_left(child, folder, 1, "Kernel panic")


if __name__ == "__main__":
    unittest.main()
