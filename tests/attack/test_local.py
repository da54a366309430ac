"""Every attack on this machine, out of any container: on its own Landlock ABI and on each lower one, by the supervisor; and without the
launcher, where each must succeed that an ordinary user may try. What comes of it is what the table says.

On ABI 1 and 2 nothing runs there: the container is not what the policy describes.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "sandbox")]
from expectations import differences, outcomes, table
from harness import ABI, IS_ROOT, ORDINARY, SandboxTest, launcher_environment, report

PROGRAMS = Path(os.environ["ATTACK"])
PASSED = [f"--pass-fd={fd}" for fd in range(50, 55)]

# What a system may be without; at least so many attacks are there all the same.
MAY_BE_ABSENT = {"sctp", "ping_group_range", "dmesg_restrict", "legacy_tiocsti", "ia32", "vsock", "udplite", "mptcp", "sock_diag",
                 "perf_event_paranoid", "user-xattr", "io_uring", "io_uring-socket", "mqueue", "user-namespace", "core-limit", "fanotify"}
LEAST = 170


class LocalTest(SandboxTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("attack", "attack-payload"):
            shutil.copy(PROGRAMS / name, cls.bin)
        shutil.copy(HERE / "attack.policy", cls.tree)
        (cls.tree / "attack.policy").chmod(0o644)
        cls.attacks = table(cls.bin / "attack")

    def perform(self, *command):
        """A stage with this command: the exit status and what it says."""
        self.stages = getattr(self, "stages", 0) + 1
        folder = self.folder / str(self.stages)
        words = [self.bin / "attack", "stage", *([f"uid={ORDINARY}"] if IS_ROOT else []), folder, "--", *command]
        return subprocess.run([str(word).replace("{}", str(folder)) for word in words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=250, env=launcher_environment(in_domain=True), check=False)

    def restricted(self, abi):
        supervisor = [self.bin / "abi_supervisor", abi, "--"] if abi != ABI else []
        return [*supervisor, self.launcher, "--policy", self.tree / "attack.policy", "--define=work={}/work", "--define=shared={}/shared",
                f"--define=program={self.bin}/attack", *PASSED, "--", self.bin / "attack", "serve"]

    def assert_as_expected(self, done, abi):
        self.assertEqual(done.returncode, 0, done)
        absent = {*MAY_BE_ABSENT, *([] if IS_ROOT else ["set-user-id"])}
        self.assertEqual(differences(self.attacks, done.stdout, abi, absent=absent), [])
        counts = {}
        for outcome, *_ in outcomes(done.stdout).values():
            counts[outcome] = counts.get(outcome, 0) + 1
        report("attack.local", f"ABI {abi}: {counts}")
        self.assertGreaterEqual(len(self.attacks) - counts.get("ABSENT", 0), LEAST)

    def test_without_the_launcher(self):
        done = self.perform(self.bin / "attack", "serve")
        self.assert_as_expected(done, None)
        self.assertGreater(sum(words[0] == "OPEN" for words in outcomes(done.stdout).values()), LEAST - 40)

    def test_with_the_launcher(self):
        for abi in range(3, ABI + 1):
            with self.subTest(abi=abi):
                self.assert_as_expected(self.perform(*self.restricted(abi)), abi)

    def test_nothing_runs(self):
        """Where the container would have to be checked, and is none."""
        for abi in (1, 2):
            with self.subTest(abi=abi):
                done = self.perform(*self.restricted(abi))
                self.assertEqual((done.returncode, done.stdout.splitlines()[1:]), (3, ["ENDED 125"]), done)
                self.assertIn("landlock-exec: ", done.stderr)  # there is no /sandbox, or what is there is not a container's
