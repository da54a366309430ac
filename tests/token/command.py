"""What the tests of service-token share: the command, files to call it on, and its answers.

The environment is that of tests/sandbox/harness.py, whose folder is in PYTHONPATH, and SERVICE_TOKEN: the command; TOKEN_VALUE: value.c.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import IS_ROOT, ORDINARY, PATIENCE, SOURCE, as_user, launcher_environment, said

COMMAND = Path(os.environ["SERVICE_TOKEN"])
VALUE = Path(os.environ["TOKEN_VALUE"])
KEY = "AI_INTERPRETER_SERVICE_TOKEN"
GOOD = "a-token-of-forty-characters.0123456789/+"
MADE = re.compile(rb"(?:^|\n)" + KEY.encode() + rb"=([0-9a-f]{64})\n\Z")


def codes():
    """The exit status of each code."""
    rows = re.findall(r'\{\w+, "([\w-]+)", (\d), "', (SOURCE / "lib/token/table.c").read_text())
    return {name: int(status) for name, status in rows}


CODES = codes()


@dataclasses.dataclass
class Answer:
    """The exit status (negative: the signal) and both outputs."""

    code: int
    out: str
    err: str

    @property
    def refusal(self):
        found = re.findall(r"(?m)^service-token: .*: .* \[([\w-]+)\]$|^service-token: .* \[(usage)\]$", self.err)
        return (found[0][0] or found[0][1]) if len(found) == 1 else None


class TokenTest(unittest.TestCase):
    """A test has a folder of its own, of the user who calls the command, in which it runs, and the file .env (self.file)."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Path(tempfile.mkdtemp(prefix="service-token-test.", dir="/var/lib" if IS_ROOT else "/var/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.tree, ignore_errors=True)
        cls.tree.chmod(0o755)
        cls.command = cls.tree / COMMAND.name
        shutil.copy(COMMAND, cls.command)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="case.", dir=self.tree))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        if IS_ROOT:
            os.chown(self.folder, ORDINARY, ORDINARY)
        self.file = self.folder / ".env"

    def write(self, text, mode=0o600, owner=ORDINARY, group=None):
        """The file, anew."""
        self.file.unlink(missing_ok=True)
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        if IS_ROOT:
            os.chown(self.file, owner, owner if group is None else group)
        self.file.chmod(mode)
        return self.file

    def ask(self, *words, uid=ORDINARY, wrapper=(), env=None, **keywords):
        keywords = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.folder, "timeout": PATIENCE,
                    **as_user(uid), **keywords}
        done = subprocess.run([os.fspath(word) for word in (*wrapper, self.command, *words)], check=False,
                              env={**launcher_environment(), **(env or {})}, **keywords)
        text = [(part or b"").decode("utf-8", "surrogateescape") for part in (done.stdout, said(done.stderr or b""))]
        return Answer(done.returncode, *text)

    def ensure(self, **keywords):
        return self.ask("ensure", ".env", **keywords)

    def check(self, **keywords):
        return self.ask("check", ".env", **keywords)

    # ---- Assertions ----

    def assert_done(self, answer, out, err=""):
        self.assertEqual((answer.code, answer.out, answer.err), (0, f".env: {KEY} {out}\n", err))

    def assert_refused(self, answer, code, *texts):
        """Nothing on standard output, one line with that code on standard error, perhaps a hint, and its exit status."""
        self.assertEqual((answer.code, answer.out, answer.refusal), (CODES[code], "", code), answer)
        self.assertTrue(all(line.startswith("service-token: ") for line in answer.err.splitlines()), answer)
        for text in texts:
            self.assertIn(text, answer.err)

    def assert_added(self, before):
        """The file is what it was, with a new token behind it; it is private, and nothing is left beside it."""
        after = self.file.read_bytes()
        newline = b"\n" if before and not before.endswith(b"\n") else b""
        self.assertTrue(after.startswith(before + newline + KEY.encode() + b"="), "what was there is not what it was")
        self.assertRegex(after[len(before):], rb"\A" + newline + KEY.encode() + rb"=[0-9a-f]{64}\n\Z")
        self.assertEqual(self.file.stat().st_mode & 0o7777, 0o600)
        self.assertEqual(self.left_over(), [])
        return after[-65:-1].decode()

    def left_over(self):
        return sorted(name for name in os.listdir(self.folder) if name.startswith(".service-token-"))


def state(path):
    """By which it is known whether anything was done to a file."""
    status = os.lstat(path)
    return (status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
