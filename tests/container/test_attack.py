"""The attacks of tests/attack from within the supplied configuration, on the real Docker: what is attacked lies outside of the container
and belongs to the same user. With the launcher and without it; what comes of it is what the table says."""

import ctypes
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from daemon import CLIENT
from harness import SOURCE, SUPPLIED, ContainerTest, supplied

sys.path.append(str(SOURCE / "tests/attack"))
from expectations import differences, outcomes, table

PROGRAMS = Path(os.environ.get("ATTACK", SOURCE / "build/release/tests/attack"))
ABI = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
MAY_BE_ABSENT = {"sctp", "ping_group_range", "dmesg_restrict", "legacy_tiocsti", "ia32", "vsock", "udplite", "mptcp", "sock_diag",
                 "perf_event_paranoid", "user-xattr", "io_uring", "io_uring-socket", "mqueue", "user-namespace", "core-limit", "fanotify"}
VARIES = {"network.vsock"}  # newer profiles of Docker deny it


class AttackTest(ContainerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.programs = cls.tree / "programs"
        cls.programs.mkdir()
        for file in (PROGRAMS / "attack", PROGRAMS / "attack-payload", SOURCE / "tests/attack/attack.policy"):
            shutil.copy(file, cls.programs)
        (cls.programs / "attack.policy").chmod(0o644)
        cls.attacks = table(cls.programs / "attack")

    def perform(self, name, *words):
        """A stage around a container that runs this."""
        folder = self.tree / name
        mounts = {file: f"--mount type=bind,source={self.programs}/{Path(file).name},target={file},readonly"
                  for file in ("/usr/bin/attack", "/etc/landlock-exec/attack.policy")}
        first, *rest = words
        options = supplied(folder / "work", script=SUPPLIED["script"].format(script=self.tree / "main.py"), **mounts)
        command = [self.programs / "attack", "stage", f"uid={self.uid}", "contained", "work=/sandbox", folder, "--",
                   CLIENT, "run", "--rm", "--interactive", *options, "--entrypoint", first, "mypy", *rest]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                              env=self.docker.environment, check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def assert_as_expected(self, text, abi):
        self.assertEqual(differences(self.attacks, text, abi, contained=True, filtered=True, absent=MAY_BE_ABSENT, either=VARIES), [])
        counts = {}
        for outcome, *_ in outcomes(text).values():
            counts[outcome] = counts.get(outcome, 0) + 1
        print(f"ABI {abi}: {counts}", file=sys.stderr, flush=True)

    def test_the_container_alone(self):
        self.assert_as_expected(self.perform("alone", "/usr/bin/attack", "serve"), None)

    def test_with_the_launcher(self):
        for abi in (ABI, 4, 2):
            with self.subTest(abi=abi):
                text = self.perform(f"with-{abi}", "/usr/bin/landlock-exec", "--policy", "/etc/landlock-exec/attack.policy",
                                    "--max-abi", str(abi), "--", "/usr/bin/attack", "serve")
                self.assert_as_expected(text, abi)


if __name__ == "__main__":
    unittest.main()
