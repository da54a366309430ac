"""What the tests of landlock-policy share: the command in the sandbox tests' tree, and its answers.

The environment is that of tests/sandbox/harness.py, whose folder is in PYTHONPATH, and LANDLOCK_POLICY: the command.
"""

import dataclasses
import json
import os
import resource
import shutil
import subprocess
import unicodedata
from pathlib import Path

import schema
from harness import ORDINARY, SandboxTest, as_user, launcher_environment, said

COMMAND = Path(os.environ["LANDLOCK_POLICY"])
NEWEST = 11  # the newest ABI that this build knows
SUBCOMMANDS = ("check", "show", "why", "test", "probe", "trace")


@dataclasses.dataclass
class Answer:
    """The exit status (negative: the signal), both outputs, and the document of an answer in JSON."""

    code: int
    out: str
    err: str
    json: dict = None

    @property
    def lines(self):
        return self.out.splitlines()


class CommandTest(SandboxTest):
    """A test's policies are called by their names in self.folder, the working directory of the command."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.command = cls.bin / COMMAND.name
        shutil.copy(COMMAND, cls.command)

    def write(self, text, name="test.policy", **keywords):
        """A policy that says `text`, from its second line on."""
        return self.make(name, f"policy 1\n{text}\n", **keywords)

    def ask(self, *words, uid=ORDINARY, wrapper=(), env=None, in_domain=False, **keywords):
        """Runs the command. `in_domain`: where a leak check cannot be made. A user is become by a helper: for subprocess to do it
        costs more than all the rest."""
        becomes = (self.bin / "become", f"uid={uid}", "bounding=all", "--") if as_user(uid) else ()
        done = subprocess.run([os.fspath(word) for word in (*becomes, *wrapper, self.command, *map(str, words))],
                              env={**launcher_environment(in_domain), **(env or {})}, timeout=1000,
                              **{"cwd": self.folder, **self.streams(keywords), **keywords}, check=False)
        return Answer(done.returncode, self.text(done.stdout), self.text(said(done.stderr or b"")))

    def ask_json(self, subcommand, *words, **keywords):
        """The answer in JSON, which is as the manual says."""
        answer = self.ask(subcommand, "--format", "json", *words, **keywords)
        self.assertTrue(answer.out, answer)
        answer.json = json.loads(answer.out)
        self.assertEqual(schema.errors(subcommand, answer.json), [], answer.out)
        return answer

    def assert_failed(self, answer, *texts, hint=True):
        """It could not do its work: nothing on standard output, and a line, perhaps with a hint, on standard error."""
        self.assertEqual((answer.code, answer.out), (2, ""), answer)
        lines = answer.err.splitlines()
        self.assertTrue(lines[0].startswith("landlock-policy: "), answer)
        self.assertTrue(len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("landlock-policy: hint: ")), answer)
        if hint is not None:
            self.assertEqual(len(lines) == 2, hint, answer)
        for text in texts:
            self.assertIn(text, answer.err)


def place(text, line, word, name="test.policy", at=1):
    """(file, line, column) of the `at`th `word` in a line of a policy that write() made of `text`."""
    content = text.split("\n")[line - 2]
    column = -1
    for _ in range(at):
        column = content.index(word, column + 1)
    return name, line, column + 1


def is_safe(text):
    """Whether its lines are what they seem: nothing moves the cursor, turns the text round or cannot be seen."""
    return all(unicodedata.category(character)[0] != "C" and unicodedata.category(character) not in ("Zl", "Zp") for character
               in text.replace("\n", ""))


def few_descriptors():
    """For preexec_fn: what leaks descriptors runs out of them."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
