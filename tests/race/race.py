"""What the races share: something is swapped for something else (swapper.c), while the launcher is started over and over (starter.c)
with a program that tells what it sees (witness.c). Whatever the moment, each launch is one of those that the test names; and each that it
names was seen, so that the swap did take effect.

The environment, beside that of the sandbox tests: RACE_HELPERS, the folder of the three; RACE_SECONDS, how long all races take together;
REPORTS, a folder for the counts.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from harness import ABI, IS_ROOT, ORDINARY, SandboxTest, as_user, launcher_environment, said

HELPERS = Path(os.environ["RACE_HELPERS"])
RACES = 24  # about how many there are
SECONDS = float(os.environ.get("RACE_SECONDS", "60")) / RACES
MOST_ROUNDS = 40  # of that long, till all was seen
STARTERS = 2

EXIT_STATUS = {"program-not-executable": 126, "program-not-found": 127}  # of other reasons: 125


def parse(data):
    """The outcomes that a starter tells, each (status, out, err, lines) with its count."""
    outcomes = Counter()
    while data:
        head, data = data.split(b"\n", 1)
        count, status, *lengths = (int(word) for word in head.split())
        texts = []
        for length in lengths:
            texts.append(data[:length])
            data = data[length:]
        outcomes[status, *texts] += count
    return outcomes


class RaceTest(SandboxTest):
    """A test has a folder of root's with what is never the program's: secret, to which all users have every permission, and other, another
    chat of the same user; and with its chat."""

    report = []
    denials = {"EACCES"}  # of what is forbidden
    container = "not-needed"  # what the status line says of it
    abi = ABI

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.witness, cls.starter = (cls.bin / name for name in ("witness", "starter"))
        for path in (cls.witness, cls.starter):
            shutil.copy(HELPERS / path.name, path)

    @classmethod
    def tearDownClass(cls):
        if os.environ.get("REPORTS"):
            name = cls.__module__.replace("test_", "race.")
            Path(os.environ["REPORTS"], f"{name}.txt").write_text("".join(cls.report), encoding="utf-8")
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.secret = self.make_folder("secret", 0o777)
        self.make("secret/file", "secret\n", 0o666)
        self.make_folder("other", 0o700, ORDINARY)
        self.make("other/file", "other\n", 0o600, ORDINARY)
        self.chat = self.folder / "chat"
        if not self.chat.exists():
            self.make_folder("chat", 0o700, ORDINARY)

    def make_kinds(self, folder):
        """All that is not what a launch expects, and nothing of it may make it wait."""
        folder.mkdir(mode=0o700)
        os.mkfifo(folder / "fifo", 0o600)
        (folder / "folder").mkdir(mode=0o700)
        (folder / "link").symlink_to(self.secret / "file")
        (folder / "dangling").symlink_to("nowhere")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder / "socket"))
        for path in (folder, *folder.iterdir()):
            if IS_ROOT:
                os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)

    def make_fast_folder(self):
        """In memory: where a file can be rewritten often."""
        folder = Path(tempfile.mkdtemp(prefix="landlock-exec-test.", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, folder)
        return self.dress(folder, 0o700, ORDINARY)

    def forbidden(self):
        """Questions of which each must be answered EACCES."""
        return [f"{question}={self.folder}/{name}" for name in ("secret", "other")
                for question, name in (("read", f"{name}/file"), ("write", f"{name}/file"), ("list", name), ("create", f"{name}/new"))]

    @contextlib.contextmanager
    def swapping(self, swap, uid, swaps):
        """While `swap`, words of the swapper's, goes on; its count is added to `swaps`."""
        with subprocess.Popen([HELPERS / "swapper", *map(str, swap)], stdout=subprocess.PIPE, **as_user(uid)) as swapper:
            try:
                self.assertEqual(swapper.stdout.readline(), b"ready\n")
                yield
                self.assertIsNone(swapper.poll(), "the swapper ended before its time")
            finally:
                swapper.terminate()
                rest = swapper.stdout.read()
        self.assertEqual(swapper.returncode, 0)
        swaps.append(int(rest))

    def start(self, command, inside):
        """Some launches: their outcomes, counted. `inside`: what makes the container that they are in."""
        starters = [subprocess.Popen([*inside, self.starter, str(SECONDS), *map(str, command)], stdout=subprocess.PIPE, cwd="/",
                                     env=launcher_environment(in_domain=True), **as_user(ORDINARY)) for _ in range(STARTERS)]
        outcomes = Counter()
        for starter in starters:
            told = starter.communicate()[0]
            if inside and starter.returncode and not told:
                continue  # the container could not be made, amid the swaps
            self.assertEqual(starter.returncode, 0)
            outcomes += parse(told)
        return outcomes

    def refusal(self, code, out, err, status):
        """The name of a launch that was refused: "REASON: MESSAGE"."""
        self.assertEqual((code, out), (EXIT_STATUS.get(status["reason"], 125), ""), (err, status))
        self.assertTrue(status["message"])
        self.assertIn(f"landlock-exec: {status['message']}\n", err)
        findings = [finding["message"] for finding in status["findings"]]
        return f"{status['reason']}: {' + '.join(findings) or status['message']}"

    def answer(self, code, out, err, lines):
        """What a program said that ran: without what is forbidden, which it may not have seen."""
        self.assertEqual((code, len(lines)), (0, 1), (out, err, lines))
        line = lines[0]
        self.assertEqual(err, "".join(f"landlock-exec: warning: {warning}\n" for warning in line["warnings"]))
        self.assertEqual((line["event"], line["reason"], line["abi"], line["container"]), ("starting", None, self.abi, self.container))
        self.assertNotEqual(line["proof"], "none")
        words = out.split()
        self.assertEqual((len(words) >= 9, set(words[-9:-1]) - self.denials), (True, set()), out)
        return " ".join(words[:-9] + [f"{words[-1]} open"])

    def judge(self, status, out, err, lines):
        """The name of what came of a launch."""
        self.assertTrue(os.WIFEXITED(status) and status >= 0, (status, out, err, lines))
        code, out, err = os.WEXITSTATUS(status), out.decode(), said(err).decode()
        lines = [json.loads(line) for line in lines.splitlines()]
        self.assertTrue(lines, ("no status line", code, out, err))
        if lines[-1]["event"] == "refused":
            return "refused", self.refusal(code, out, err, lines[-1])
        return "ran", self.answer(code, out, err, lines)

    def race(self, swap, policy, *questions, ran=(), refused=(), may=(), program=None, swapper=ORDINARY, options=(), inside=()):
        """`ran`: what the program said, with how many descriptors were open; `refused`: "REASON: MESSAGE"; both regular expressions, of
        which each launch must match one and each must be matched. `may`: of either, those that need not be. `policy`: as of launch()."""
        if isinstance(policy, str):
            policy = self.policy(f"{policy}\nallow execute,read_file {self.witness}\nallow read /proc")
        command = [self.launcher, "--policy", policy, "--status-fd", "3", *options, "--", program or self.witness,
                   *questions, *self.forbidden(), "open", "-"]
        wanted = [("ran", text) for text in ran] + [("refused", text) for text in refused]
        allowed = wanted + [(kind, text) for kind in ("ran", "refused") for text in may]
        seen, swaps = Counter(), []
        for _ in range(MOST_ROUNDS):
            with self.swapping(swap, swapper, swaps):
                outcomes = self.start(command, inside)
            for outcome, count in outcomes.items():
                kind, said_there = self.judge(*outcome)
                matched = [row for row in allowed if row[0] == kind and re.fullmatch(row[1], said_there)]
                self.assertTrue(matched, f"{kind}: {said_there}")
                seen[matched[0]] += count
            if all(seen[row] for row in wanted):
                break
        self.tell(swaps, seen)
        self.assertEqual([row for row in wanted if not seen[row]], [], "never seen")

    def tell(self, swaps, seen):
        sums = Counter()
        for (kind, _), count in seen.items():
            sums[kind] += count
        line = f"{self.id().split('.')[-1][5:]}: {sum(swaps)} swaps, {sums['ran']} launches ran, {sums['refused']} were refused"
        print(line)
        for (kind, text), count in sorted(seen.items()):
            print(f"    {count} {kind}: {text.replace(str(self.folder), '')}")
        self.report.append(f"{line}\n")
