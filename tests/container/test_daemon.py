"""The tests' own daemon leaves nothing: no process, mount, network namespace or control group, however the one that uses it ends. And what
it keeps, its data, is whole then."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from daemon import CGROUP, Daemon

# Starts a daemon and a container, says which processes the daemon's first two are, and does as it is told.
USER = """
import signal, sys, time
from daemon import Daemon

signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell starts this test in the background, it is ignored

with Daemon(kind=sys.argv[2]) as docker:
    docker.words("run", "--detach", "--network", "none", docker.import_base("bookworm"), "sleep", "600")
    print(docker.process.pid, docker.first, flush=True)
    if sys.argv[1] == "fail":
        raise AssertionError("a test failed")
    time.sleep(600)
"""


class DaemonTest(unittest.TestCase):
    @contextlib.contextmanager
    def started(self, how, kind="usual"):
        with subprocess.Popen([sys.executable, "-B", "-c", USER, how, kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=Path(__file__).parent) as user:
            try:
                yield user
            finally:
                user.kill()

    def end(self, how, kind):
        """Lets a user of the daemon come to an end, and returns what it had: processes, and the container's network namespace."""
        with self.started(how, kind) as user:
            outer, first = (int(word) for word in user.stdout.readline().split())
            processes = {outer, *descendants(outer)}
            names = {Path(f"/proc/{process}/comm").read_text().strip(): process for process in processes}
            self.assertLessEqual({"unshare", "tini", "dockerd", "containerd", "sleep"}, set(names))
            inner = names["sleep"]
            namespaces = {os.readlink(f"/proc/{inner}/ns/net"), os.readlink(f"/proc/{first}/ns/mnt"), os.readlink(f"/proc/{first}/ns/pid")}
            self.assertEqual(len(namespaces & namespaces_of("self")), 0)
            if how != "fail":
                user.send_signal(signal.Signals[how])
            code = user.wait(60)
            return code, processes, namespaces

    def assert_gone(self, processes, namespaces):
        deadline = time.monotonic() + 20
        while any(os.path.exists(f"/proc/{process}") for process in processes) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([process for process in processes if os.path.exists(f"/proc/{process}")], [])
        left = {name for process in os.listdir("/proc") if process.isdigit() for name in namespaces_of(process)}
        self.assertEqual(namespaces & left, set())  # and a bind mount of one would be in a mount namespace that is gone
        self.assertEqual([line for line in Path("/proc/self/mountinfo").read_text().splitlines() if "/run/containerd" in line], [])

    def test_nothing_is_left(self):
        interrupted, killed = -signal.SIGINT, -signal.SIGKILL
        for how, kind, wanted in (("fail", "usual", 1), ("SIGINT", "usual", interrupted), ("SIGTERM", "usual", interrupted),
                                  ("SIGHUP", "usual", interrupted), ("fail", "rootless", 1), ("SIGKILL", "rootless", killed),
                                  ("SIGKILL", "usual", killed)):
            with self.subTest(how, kind=kind):
                code, processes, namespaces = self.end(how, kind)
                self.assertEqual(code, wanted)
                self.assert_gone(processes, namespaces)
                if how != "SIGKILL":
                    self.assertEqual(control_groups(), [])
        with Daemon() as docker:  # after the kill: it starts, has nothing of before, and its images are whole
            self.assertEqual(docker.words("ps", "--all", "--quiet"), [])
            self.assertEqual(docker.run(docker.import_base("bookworm"), "echo", "whole").stdout, b"whole\n")
        self.assertEqual(control_groups(), [])

    def test_one_at_a_time(self):
        with Daemon() as docker:
            with self.started("fail") as other:
                self.assertRegex(other.stderr.readline(), "^waiting for .*: another run has its Docker daemon$")
                self.assertEqual(docker.run(docker.import_base("bookworm"), "true").returncode, 0)
                self.assertIsNone(other.poll())
                docker.stop()
                out, err = other.communicate(timeout=60)
        self.assertEqual(len(out.split()), 2)
        self.assertIn("AssertionError: a test failed", err)

    def test_a_daemon_that_does_not_start_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "dockerd does not start:(.|\n)*unknown flag: --no-such"), Daemon("--no-such"):
            self.fail("it started")
        with Daemon() as docker:
            self.assertEqual(docker.words("ps", "--quiet"), [])


def descendants(process):
    found = set()
    for task in os.listdir(f"/proc/{process}/task"):
        for child in Path(f"/proc/{process}/task/{task}/children").read_text().split():
            found |= {int(child), *descendants(int(child))}
    return found


def namespaces_of(process):
    try:
        return {os.readlink(f"/proc/{process}/ns/{kind}") for kind in ("net", "mnt", "pid")}
    except OSError:
        return set()


def control_groups():
    return [*Path("/sys/fs/cgroup").glob(CGROUP), *Path("/sys/fs/cgroup").glob(f"*/{CGROUP}")]


if __name__ == "__main__":
    unittest.main()
