"""What the completion tests share: the tables, a shell in a terminal in which lines are completed, and the tests that every shell passes.

The environment tells where things are: COMPLETION (the folder of the generated files), SOURCE (the project), BASH_SHELL and ZSH_SHELL,
DEFAULT_POLICY (what the files were generated with). With REQUIRE_ALL a shell that is missing fails the tests; else they are skipped.
"""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

COMPLETION = Path(os.environ["COMPLETION"])
SOURCE = Path(os.environ["SOURCE"])
DEFAULT_POLICY = os.environ["DEFAULT_POLICY"]
REQUIRE_ALL = os.environ.get("REQUIRE_ALL", "0") not in ("", "0", "OFF", "FALSE")

COMMANDS = ("landlock-exec", "landlock-policy", "chat-files", "service-token")
SECONDS = 20  # a shell that says nothing for so long hangs


# ---- The tables ----


def array(file, declaration):
    """The rows of an array of the sources, each as one line."""
    found = re.search(re.escape(declaration) + r"\[\] = \{\n(.*?)\n\};", (SOURCE / file).read_text(), re.S)
    return [" ".join(row.split()) for row in re.split(r"^    (?=\{)", found[1], flags=re.M)[1:]]


def letters(command):
    """The short forms of the options, by their names in the code."""
    return dict(re.findall(r"(\w+) = '(\w)'", (SOURCE / f"cmd/{command}/table.h").read_text()))


def options(command, subcommand=None):
    """Every form of every option that the subcommand (None: the command itself) takes."""
    found = set()
    for row in array(f"cmd/{command}/table.c", "command_option options"):
        identity, name, takers = re.match(r'\{(\w+), "([\w-]+)", .*, ([\w |]+)\},$', row).groups()
        if takers == "0" or (subcommand and subcommand.upper() in takers.split(" | ")):
            found.add(f"--{name}")
            if identity in letters(command):
                found.add(f"-{letters(command)[identity]}")
    return found


def subcommands(command="landlock-policy"):
    return {re.match(r'\{"([\w-]+)"', row)[1] for row in array(f"cmd/{command}/table.c", "command_subcommand subcommands")}


def rights():
    tables = [array("lib/policy/tables.c", f"policy_{name}_table") for name in ("right", "group")]
    return {re.search(r'"(\w+)"', row)[1] for table in tables for row in table}


def codes():
    return {re.search(r'"(\w+)"', row)[1] for row in array("lib/lint/findings.c", "lint_code_table")}


# ---- A shell ----


class Shell:
    """A shell in a terminal, in a folder of its own. What it is made of says how it is started: `arguments` and `setup`, the text of its
    start file, in which ^T completes with everything that is offered, ^G says the line on descriptor 9."""

    def __init__(self, folder, arguments, environment):
        self.answers, answers = os.pipe()
        self.terminal, terminal = pty.openpty()
        os.dup2(answers, 9)
        self.process = subprocess.Popen(arguments, stdin=terminal, stdout=terminal, stderr=terminal, pass_fds=(9,), cwd=folder,
                                        env=environment, start_new_session=True)
        for fd in (answers, 9, terminal):
            os.close(fd)
        self.said = b""
        self.ask("")  # it has started

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)
        os.close(self.answers)

    def read(self):
        """The next answer; what the terminal shows goes to self.said."""
        answer, deadline = b"", time.monotonic() + SECONDS
        while not answer.endswith(b"\0"):
            ready, _, _ = select.select([self.terminal, self.answers], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"the shell hangs; it said {self.said!r}")
            if self.terminal in ready:
                self.said += os.read(self.terminal, 65536)
            if self.answers in ready:
                answer += os.read(self.answers, 65536)
        return answer[:-1].decode(errors="surrogateescape")

    def ask(self, keys):
        """The line after these keys, ^U having emptied it before."""
        os.write(self.terminal, b"\x15" + keys.encode(errors="surrogateescape") + b"\x07")
        return self.read()

    def completed(self, line):
        """The line after one TAB."""
        return self.ask(line + "\t")

    def offered(self, line):
        """What is offered for the last word of the line, quotes removed."""
        word = re.search(r"(?:\\.|\S)*$", line)[0]
        whole = self.ask(line + "\x14")
        assert whole.startswith(line[:len(line) - len(word)]), (line, whole)
        if whole == line:
            return []
        return shlex.split(whole[len(line) - len(word):])


# ---- The tests ----


class CompletionTests:
    """What holds in every shell. A class that has these has start(folder, environment, files), which gives a Shell."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="completion."))
        self.addCleanup(shutil.rmtree, self.folder)
        self.work = self.folder / "work"
        self.default = self.folder / "default.policy"
        for name in ("work", "files", "home", "bin"):
            (self.folder / name).mkdir()
        for command in COMMANDS:
            text = (COMPLETION / self.shell / self.file(command)).read_text()
            (self.folder / "files" / self.file(command)).write_text(text.replace(DEFAULT_POLICY, str(self.default)))
        self.session = None

    def tearDown(self):
        if self.session:
            self.session.close()

    @property
    def shell_session(self):
        """Started when it is first needed: the files are there then."""
        if not self.session:
            environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder / "home"), "TERM": "dumb", "LANG": "C.UTF-8"}
            self.session = self.start(self.work, environment)
        return self.session

    def offered(self, line):
        """As a set; what may follow a name, and what a list already has, are left out."""
        return {word.rstrip("=/,").rsplit("=", 1)[-1].rsplit(",", 1)[-1] for word in self.shell_session.offered(line)}

    def completed(self, line):
        return self.shell_session.completed(line)

    def write(self, name, text="policy 1\n"):
        file = self.work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    def assert_offered(self, line, *words):
        self.assertEqual(self.offered(line), set(words), line)

    # ---- Options ----

    def test_every_option_is_offered(self):
        self.assert_offered("landlock-exec -", *options("landlock-exec"))
        for command in COMMANDS[1:]:
            self.assert_offered(f"{command} -", *options(command))
            for subcommand in subcommands(command):
                self.assert_offered(f"{command} {subcommand} -", *options(command, subcommand))

    def test_an_option_is_completed(self):
        self.assertEqual(self.completed("landlock-exec --dr"), "landlock-exec --dry-run ")
        self.assertEqual(self.completed("landlock-policy check --ig").rstrip(" ="), "landlock-policy check --ignore")
        self.assertEqual(self.completed("landlock-policy show --ig"), "landlock-policy show --ig")

    def test_options_come_after_values(self):
        self.assert_offered("landlock-exec --max-abi 3 -p x --dr", "--dry-run")
        self.assert_offered("landlock-exec --max-abi=3 -Da=b -vpx --dr", "--dry-run")
        self.assert_offered("landlock-policy --format json check --define a=b x --ig", "--ignore")

    def test_options_end_at_the_program(self):
        self.assert_offered("landlock-exec -- --dr")
        self.assert_offered("landlock-exec no-such-program --dr")
        self.assert_offered("landlock-policy check -- --ig")

    # ---- Values ----

    def test_abis_and_formats(self):
        abis = [str(abi) for abi in range(1, 12)]
        for line in ("landlock-exec --max-abi ", "landlock-exec --max-abi=", "landlock-policy show --max-abi ", "landlock-policy why --max-abi="):
            self.assert_offered(line, *abis)
        self.assert_offered("landlock-exec --max-abi=1", "1", "10", "11")
        for line in ("landlock-policy --format ", "landlock-policy --format=", "landlock-policy check --format ", "landlock-policy probe x --format="):
            self.assert_offered(line, "text", "json")
        self.assertEqual(self.completed("landlock-policy check --format=j"), "landlock-policy check --format=json ")

    def test_descriptors_are_left_to_the_caller(self):
        self.write("a.policy")
        self.assert_offered("landlock-exec --pass-fd ")
        self.assert_offered("landlock-exec --status-fd=")

    def test_subcommands(self):
        self.assert_offered("landlock-policy ", *subcommands())
        self.assert_offered("landlock-policy --format json ", *subcommands())
        self.assertEqual(self.completed("landlock-policy ch"), "landlock-policy check ")

    def test_service_token(self):
        self.write(".env")
        self.assert_offered("service-token ", *subcommands("service-token"))
        self.assert_offered("service-token -", *options("service-token"))
        for subcommand in subcommands("service-token"):
            self.assert_offered(f"service-token {subcommand} -", *options("service-token"))
            self.assertEqual(self.completed(f"service-token {subcommand} .e"), f"service-token {subcommand} .env ")
            self.assertNotIn(".env", self.offered(f"service-token {subcommand} .env "))

    def test_lists_of_rights(self):
        self.assert_offered("landlock-policy why x ", *rights())
        self.assert_offered("landlock-policy why x read,", *rights() - {"read"})
        self.assert_offered("landlock-policy why x read,execute,", *rights() - {"read", "execute"})
        self.assert_offered("landlock-policy why x read,make_b", "make_block")
        self.assertEqual(self.completed("landlock-policy why x read,make_b").rstrip(" ,"), "landlock-policy why x read,make_block")

    def test_lists_of_codes(self):
        self.assert_offered("landlock-policy check --ignore ", *codes())
        self.assert_offered("landlock-policy check --ignore=W101,W102,", *codes() - {"W101", "W102"})

    # ---- Files ----

    def test_files(self):
        self.write("one.policy")
        self.write("two words.policy")
        self.write("folder/three.policy")
        every = ("one.policy", "two words.policy", "folder")
        for line in ("landlock-exec -p ", "landlock-exec --policy ", "landlock-exec --policy=", "landlock-policy check ",
                     "landlock-policy check one.policy ", "landlock-policy show ", "landlock-policy test --format=json ",
                     "landlock-policy probe ", "landlock-policy why x read ", "landlock-policy why x read one.policy "):
            self.assert_offered(line, *every)
        self.assertEqual(shlex.split(self.completed("landlock-exec --policy=tw")), ["landlock-exec", "--policy=two words.policy"])
        self.assertEqual(shlex.split(self.completed("landlock-exec -p 'tw")), ["landlock-exec", "-p", "two words.policy"])
        self.assertEqual(self.completed("landlock-policy show folder/t"), "landlock-policy show folder/three.policy ")

    def test_no_more_operands_than_it_takes(self):
        self.write("one.policy")
        for subcommand in ("show", "test", "probe"):
            self.assertNotIn("one.policy", self.offered(f"landlock-policy {subcommand} one.policy "))

    def test_files_of_a_chat(self):
        """Directories, and then the files in the one that is named: whatever their names are."""
        for name in ("chat/отчёт.txt", "chat/two words", "chat/-x", "two words/x", "file"):
            self.write(name)
        (self.work / "chat/folder").mkdir()
        (self.work / "chat/link").symlink_to("two words")
        for subcommand in ("get", "put", "remove", "list", "import"):
            self.assert_offered(f"chat-files {subcommand} ", "chat", "two words")
        for line in ("chat-files get chat ", "chat-files --format json get chat/ ", "chat-files remove --format=text chat ", "chat-files put -m 640 chat "):
            self.assert_offered(line, "отчёт.txt", "two words", "-x")
        self.assert_offered("chat-files get 'two words' ", "x")
        self.assert_offered("chat-files get chat -", "-x")
        self.assertEqual(self.completed("chat-files get chat tw"), "chat-files get chat two\\ words ")
        self.assert_offered("chat-files get none ")
        self.assert_offered("chat-files import chat ", "chat", "two words", "file")
        self.assertFalse(self.offered("chat-files list chat ") & {"chat", "two words", "file"})
        self.assert_offered("chat-files ", *subcommands("chat-files"))
        self.assert_offered("chat-files get --format ", "text", "json")

    # ---- Definitions ----

    POLICY = "policy 1\ndefine work /srv\n\tdefine\t temp  /tmp # more\n# define no 1\nallow read define\nredefine no 1\ndefine\n"

    def test_definitions_of_the_policy_on_the_line(self):
        self.write("a.policy", self.POLICY)
        self.write("two words.policy", self.POLICY)
        (self.folder / "home" / "b.policy").write_text(self.POLICY)
        for line in ("landlock-exec -p a.policy -D ", "landlock-exec -pa.policy -D ", "landlock-exec -vp a.policy --define=",
                     "landlock-exec --policy=a.policy --define ", "landlock-exec --policy a.policy -D a=b -D ",
                     "landlock-exec -p x -p two\\ words.policy -D ", "landlock-exec -p 'two words.policy' -D ",
                     'landlock-exec --policy="two words".policy -D ', "landlock-exec -p ~/b.policy -D ",
                     "landlock-policy check a.policy -D ", "landlock-policy -D a=b show --define x=y --format json a.policy --define=",
                     "landlock-policy why 'two words.policy' read --define ", "landlock-policy check a.policy b.policy -D "):
            self.assert_offered(line, "work", "temp")
        self.assertEqual(self.completed("landlock-exec -p a.policy -D wo"), "landlock-exec -p a.policy -D work=")
        self.assertEqual(self.completed("landlock-exec -p a.policy --define=wo"), "landlock-exec -p a.policy --define=work=")

    def test_definitions_of_the_default_policy(self):
        self.default.write_text(self.POLICY)
        self.assert_offered("landlock-exec -D ", "work", "temp")
        self.assert_offered("landlock-policy check -D ")

    def test_the_value_of_a_definition_may_be_a_file(self):
        self.write("one.policy")
        self.assertEqual(self.completed("landlock-exec -D work=on"), "landlock-exec -D work=one.policy ")
        self.assertEqual(self.completed("landlock-exec --define=work=on"), "landlock-exec --define=work=one.policy ")

    def test_a_policy_that_cannot_be_read_has_none(self):
        (self.work / "folder").mkdir()
        os.mkfifo(self.work / "fifo")
        self.assert_offered("landlock-exec -D ")
        for name in ("missing", "folder", "fifo", "/dev/tcp/127.0.0.1/9", "-", "''", "/dev/stdin", "'unclosed"):
            self.assert_offered(f"landlock-policy check {name} -D ")
            self.assert_offered(f"landlock-exec -p {name} -D ")
        for complaint in (b"No such", b"no such", b"annot", b"rror", b"irectory", b"sed:", b"not found", b"not currently", b"bad"):
            self.assertNotIn(complaint, self.shell_session.said)

    # ---- Programs ----

    def program(self, name):
        file = self.folder / "bin" / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    def test_programs(self):
        self.program("unheard-of-program")
        self.program("unheard-of-other")
        for line in ("landlock-exec ", "landlock-exec -n -- ", "landlock-exec --policy x -Da=b "):
            self.assert_offered(line + "unheard-of-", "unheard-of-program", "unheard-of-other")
        self.assertEqual(self.completed("landlock-exec unheard-of-p"), "landlock-exec unheard-of-program ")

    def test_a_program_may_be_a_path(self):
        self.program("unheard-of-program")
        self.assertEqual(self.completed("landlock-exec ../bin/unheard-of-p"), "landlock-exec ../bin/unheard-of-program ")

    def test_a_program_has_its_own_completion(self):
        self.program("unheard-of-program")
        for line in ("landlock-exec unheard-of-program ", "landlock-exec --policy=x -D a=b -- unheard-of-program ",
                     "landlock-exec /usr/bin/unheard-of-program "):
            self.assertIn("apple", self.offered(line))
            self.assert_offered(line + "x apple --i", "--its-own")

    def test_a_program_without_one_has_files(self):
        self.write("one.policy")
        self.assert_offered("landlock-exec no-such-program on", "one.policy")

    # ---- Nothing is executed ----

    HOSTILE = ("$(touch executed)", "`touch executed`", "'; touch executed; '", '"; touch executed; "', "a;touch executed", "$'x'\n`touch executed`",
               "|touch executed", "x=$(touch executed)", "-p$(touch executed)", "a]=$(touch executed)", "!touch", "%n$(touch executed)")

    def test_file_names_are_not_executed(self):
        for name in self.HOSTILE:
            self.write(name, self.POLICY)
        for line in ("landlock-exec -p ", "landlock-exec --policy=", "landlock-policy check ", "landlock-policy why x read "):
            self.shell_session.ask(line + "\x14")
            for start in ("\\$", "\\`", "'$", "'`", '"\\$', "\\'", '\\"', "a\\;", "\\|", "x="):
                self.completed(line + start)
        for name in self.HOSTILE:
            if "\n" not in name and "!" not in name:
                self.assert_offered(f"landlock-exec -p {shlex.quote(name)} -D ", "work", "temp")
                self.assert_offered(f"landlock-policy check -- {shlex.quote('./' + name)} ", *self.offered("landlock-policy check "))
        self.assertFalse((self.work / "executed").exists())

    def test_definitions_are_not_executed(self):
        lines = [f"define {name} 1" for name in self.HOSTILE]
        lines += ["define $(touch${IFS}executed) 1", "define `touch${IFS}executed` 1", "define a$(touch${IFS}executed) 1", "define a[$(touch${IFS}executed)] 1"]
        self.write("a.policy", "policy 1\n" + "\n".join(lines) + "\ndefine work 1\n")
        self.default.write_text((self.work / "a.policy").read_text())
        for line in ("landlock-exec -D ", "landlock-exec -p a.policy -D ", "landlock-policy check a.policy --define="):
            self.assert_offered(line, "work")
            for start in ("\\$", "$", "`", "'", "a", "w"):
                self.completed(line + start)
        self.assertFalse((self.work / "executed").exists())

    def test_words_of_the_line_are_not_executed(self):
        self.write("a.policy", self.POLICY)
        for word in ("$(touch executed)", "`touch executed`", "'$(touch executed)", "a[$(touch executed)]", "x]=$(touch executed)", "\"$(touch executed)\"",
                     "${x:=$(touch executed)}", "$((a[$(touch executed)]))"):
            for line in (f"landlock-exec -p {word} -D ", f"landlock-exec --policy={word} -D w", f"landlock-exec -D {word}", f"landlock-exec {word}",
                         f"landlock-exec {word} x ", f"landlock-exec --{word}=x -", f"landlock-exec --max-abi={word}", f"landlock-policy {word} x ",
                         f"landlock-policy {word}", f"landlock-policy check {word} -D ", f"landlock-policy why x {word},", f"landlock-policy why x read,{word}",
                         f"landlock-policy show -{word} -D "):
                self.shell_session.ask(line + "\t\x14")
        self.assertFalse((self.work / "executed").exists())
        self.assert_offered("landlock-exec -p a.policy -D ", "work", "temp")  # it still answers


def shell_or_skip(variable):
    """The path of a shell that the build found."""
    path = os.environ.get(variable, "")
    if path and not path.endswith("NOTFOUND"):
        return path
    if REQUIRE_ALL:
        raise AssertionError(f"REQUIRE_ALL is set, and {variable} is missing")
    raise unittest.SkipTest(f"needs {variable}")
