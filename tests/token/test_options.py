"""The command line of service-token, its exit status and its streams."""

import os
import re
import unicodedata

from command import CODES, GOOD, KEY, TokenTest
from harness import SOURCE

LINE = f"{KEY}={GOOD}\n"


class Options(TokenTest):
    def test_usage_errors(self):
        for words, text in (([], "no subcommand"), (["--"], "no subcommand"), (["ensur", "x"], "(did you mean 'ensure'?)"), ([".env"], "unknown subcommand"),
                            (["ensure"], "ensure: too few operands"), (["check"], "check: too few operands"), (["ensure", "a", "b"], "too many operands"),
                            (["check", "a", "b"], "too many operands"), (["-x"], "-x: unknown option"), (["ensure", "--force", ".env"], "--force: unknown option"),
                            (["check", "--help=x", "y"], "--help=x: unknown option"), (["ensure", "-Vx", "y"], "-Vx: unknown option"),
                            (["ensure", ""], "the name of the file is empty")):
            with self.subTest(words):
                self.assert_refused(self.ask(*words), "usage", text)
        self.assertEqual(os.listdir(self.folder), [])

    def test_help_and_version(self):
        version = re.search(r"project\(landlock-exec VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        for words in (["--help"], ["-h"], ["ensure", "--help"], ["check", "-h", "x"], ["--he"]):
            answer = self.ask(*words)
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertTrue(answer.out.startswith("usage: service-token "), answer.out)
        for words in (["--version"], ["-V"], ["ensure", "-V"], ["check", "--version", "x", "y"]):
            answer = self.ask(*words)
            self.assertEqual((answer.code, answer.out, answer.err), (0, f"service-token {version}\n", ""))
        self.assertEqual(os.listdir(self.folder), [])

    def test_names_that_look_like_options(self):
        self.assertEqual(self.ask("ensure", "--", "--help").code, 0)
        self.assertEqual(os.listdir(self.folder), ["--help"])

    def test_names_cannot_forge_a_line(self):
        for name in ("x\ny", "\x1b[31m", "\u202e", "\udcff"):
            for words in (["ensure", name], ["check", name], ["check", f"{name}2"], ["ensure", f"{name}/x"], [name], [f"--{name}"]):
                answer = self.ask(*words)
                for text in (answer.out, answer.err):
                    self.assertTrue(all(unicodedata.category(letter)[0] != "C" for letter in text.replace("\n", "")), answer)
                self.assertLessEqual(len(answer.out.splitlines() + answer.err.splitlines()), 2)

    def test_every_code_has_an_exit_status(self):
        self.assertEqual(set(CODES.values()), {1, 2})


class Streams(TokenTest):
    COMMANDS = (["ensure", ".env"], ["check", ".env"], ["--help"], ["ensure", "--help"], ["--version"])

    def test_what_cannot_be_written_is_told(self):
        """The work was done all the same."""
        self.write(LINE)
        for words in self.COMMANDS:
            with open("/dev/full", "wb") as full:
                answer = self.ask(*words, stdout=full)
            self.assertEqual((answer.code, answer.err), (2, "service-token: standard output: No space left on device [system]\n"))

    def test_a_closed_standard_output(self):
        """Then nothing is done."""
        for words in self.COMMANDS:
            answer = self.ask(*words, wrapper=("/bin/sh", "-c", 'exec "$@" >&-', "sh"))
            self.assertEqual((answer.code, answer.err), (2, "service-token: standard output: Bad file descriptor [system]\n"), words)
        self.assertEqual(os.listdir(self.folder), [])

    def test_other_closed_streams(self):
        """What is opened in their place is not written into."""
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            for text in ("A=1\n", LINE, f"{KEY}=x\n", f"{LINE}{LINE}"):
                self.write(text)
                usual = self.ensure()
                self.write(text)
                answer = self.ensure(wrapper=("/bin/sh", "-c", f'exec "$@" {closed}', "sh"))
                self.assertEqual((answer.code, answer.out), (usual.code, usual.out))
                if text == "A=1\n":
                    self.assert_added(b"A=1\n")

    def test_standard_input_is_left_alone(self):
        self.write(LINE)
        for words in self.COMMANDS:
            answer = self.ask(*words, wrapper=("/bin/sh", "-c", '"$@" >/dev/null; cat', "sh"), input=b"untouched", stdin=None)
            self.assertEqual(answer.out, "untouched")
