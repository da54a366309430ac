"""The command line of landlock-policy, its exit status and its streams."""

import os
import pty
import re
import subprocess

import schema
from command import SUBCOMMANDS, CommandTest, is_safe
from harness import PATIENCE, SOURCE, launcher_environment

HELP_OF = {"check": ("--define", "--format", "--ignore", "--help", "--version"), "show": ("--define", "--max-abi", "--format", "--help", "--version"),
           "why": ("--define", "--max-abi", "--format", "--help", "--version"), "test": ("--define", "--max-abi", "--format", "--help", "--version"),
           "probe": ("--define", "--max-abi", "--format", "--help", "--version"),
           "trace": ("--define", "--max-abi", "--format", "--output", "--gather", "--runs", "--report", "--help", "--version"),
           "import": ("--define", "--format", "--help", "--version"), "export": ("--define", "--format", "--help", "--version")}


class Options(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("define where /usr\nallow read ${where}\nexpect denied write_file /usr")
        self.operands = {"check": ["test.policy"], "show": ["test.policy"], "why": ["test.policy", "read_file", "/usr"], "test": ["test.policy"],
                         "probe": ["test.policy"]}

    def test_usage_errors(self):
        """One line, and a hint; nothing is done."""
        cases = (
            ([], "no subcommand"), (["--"], "no subcommand"), (["--format", "json"], "no subcommand"),
            (["chek", "x"], "unknown subcommand 'chek' (did you mean 'check'?)"),
            (["Check", "x"], "unknown subcommand"), (["shwo", "x"], "(did you mean 'show'?)"), (["zzzzzz"], "unknown subcommand 'zzzzzz'"),
            ([""], "unknown subcommand ''"),
            (["test.policy"], "unknown subcommand 'test.policy'"), (["check"], "check: too few operands"), (["show"], "show: too few operands"),
            (["why", "x", "read"], "why: too few operands"), (["test"], "test: too few operands"), (["show", "a", "b"], "show: too many operands"),
            (["test", "a", "b"], "test: too many operands"), (["probe", "a", "b"], "probe: too many operands"),
            (["check", "--no-such", "x"], "--no-such: unknown option"),
            (["check", "-x", "y"], "-x: unknown option"), (["--no-such", "check", "x"], "--no-such: unknown option"),
            (["check", "--max-abi", "3", "x"], "--max-abi: not an option of this subcommand"),
            (["show", "--ignore", "W101", "x"], "--ignore: not an option of this subcommand"),
            (["probe", "--ignore=W101"], "--ignore: not an option of this subcommand"),
            (["--max-abi", "3", "show", "x"], "--max-abi: an option of some subcommands"),
            (["--ignore=W101", "check", "x"], "--ignore: an option of some subcommands"),
            (["check", "--format", "xml", "x"], "--format: expected text or json"),
            (["check", "--format", "", "x"], "--format: expected text or json"),
            (["check", "--format=JSON", "x"], "--format: expected text or json"), (["check", "x", "--format"], "--format: its argument is missing"),
            (["check", "x", "-D"], "-D: its argument is missing"), (["check", "-D", "x", "y"], "--define: expected NAME=VALUE"),
            (["check", "-D=x", "y"], "--define: expected NAME=VALUE"),
            (["check", "--define==x", "y"], "--define: expected NAME=VALUE"),
            (["check", "--help=x", "y"], "--help=x: unknown option, or one that takes no argument"),
            (["check", "--", "--format"], None), (["check", "-Vx"], "-Vx: unknown option"),
        )
        for words, text in cases:
            with self.subTest(words):
                answer = self.ask(*words)
                if text:
                    self.assert_failed(answer, text)
                else:
                    self.assertEqual(answer.code, 2)
        for value in ("0", "12", "x", "", "-1", "3x", " 3", "03x", "99999999999999999999"):
            for subcommand in ("show", "why", "test", "probe"):
                self.assert_failed(self.ask(subcommand, f"--max-abi={value}", *self.operands[subcommand]),
                                   "--max-abi: expected a Landlock ABI that this build knows, 1 to 11")

    def test_names_in_messages_cannot_forge_a_line(self):
        for word in ("x\ny", "\x1b[31m", "\u202e", "\udcff"):
            for words in ([word], ["check", f"--{word}", "x"], ["why", "test.policy", word, "/usr"], ["why", "test.policy", "read", word],
                          ["check", f"--ignore={word}", "x"],
                          ["show", word], ["test", word], ["why", "test.policy", "connect_tcp", word]):
                answer = self.ask(*words)
                self.assertEqual((answer.code, answer.out), (2, ""))
                self.assertTrue(is_safe(answer.err), answer.err)
                self.assertLessEqual(len(answer.err.splitlines()), 3)

    def test_help(self):
        for word in ("--help", "-h", "--hel"):
            answer = self.ask(word)
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertTrue(answer.out.startswith("usage: landlock-policy [OPTION...] SUBCOMMAND "), answer.out)
            for subcommand in SUBCOMMANDS:
                self.assertRegex(answer.out, rf"(?m)^  {subcommand}\b")
            self.assertEqual(max(map(len, answer.lines)) < 100, True)
        for subcommand, options in HELP_OF.items():
            for words in ((subcommand, "--help"), (subcommand, "-h"), (subcommand, "x", "--help", "y", "z", "t"),
                          (subcommand, "--format=json", "-h")):
                answer = self.ask(*words)
                self.assertEqual((answer.code, answer.err), (0, ""), words)
                self.assertTrue(answer.out.startswith(f"usage: landlock-policy {subcommand} [OPTION...] "), answer.out)
                self.assertEqual(tuple(re.findall(r"(?m)^  .{3} (--[a-z-]+)", answer.out)), options)
        for answer in (self.ask("--help", "no-such"), self.ask("--help", "check")):
            self.assertEqual(answer.code, 0)

    def test_version(self):
        version = re.search(r"project\(landlock-exec VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        for words in (("--version",), ("-V",), ("check", "--version"), ("probe", "-V"), ("why", "-V", "x")):
            answer = self.ask(*words)
            self.assertEqual((answer.code, answer.out, answer.err), (0, f"landlock-policy {version}\n", ""))

    def test_options_may_stand_anywhere(self):
        for subcommand, operands in self.operands.items():
            usual = self.ask(subcommand, "--format=json", "-D", "where=/bin", *operands)
            self.assertIn("{", usual.out)
            for words in (["--format=json", "-D", "where=/bin", subcommand, *operands], ["-Dwhere=/bin", subcommand, "--format", "json", *operands],
                          [subcommand, *operands, "--format=json", "--define=where=/bin"],
                          [subcommand, "--format", "text", operands[0], "--form=json", *operands[1:], "-Dwhere=/bin"],
                          [subcommand, "--format=json", "-D", "where=/bin", "--", *operands],
                          ["--format=text", "-Dwhere=/bin", "--", subcommand, "--format=json", *operands]):
                with self.subTest(words):
                    answer = self.ask(*words)
                    self.assertEqual((answer.code, answer.out, answer.err), (usual.code, usual.out, usual.err))

    def test_operands_that_look_like_options(self):
        self.write("allow read /usr", "--format")
        self.write("allow read /usr", "-h")
        answer = self.ask("check", "--", "--format", "-h")
        self.assertEqual((answer.code, answer.lines[-1]), (0, "2 policies checked: 0 errors, 0 warnings"))
        self.assertEqual(self.ask("check", "./--format").code, 0)

    def test_exit_status(self):
        self.write("allow read /", "wide.policy")
        self.write("allow", "faulty.policy")
        self.write("allow read /nowhere\nexpect allowed read_file /usr", "unfit.policy")
        self.write("expect allowed read_dir /usr", "failing.policy")
        for words, code in ((["check", "test.policy"], 0), (["check", "wide.policy"], 1), (["check", "none.policy"], 2), (["show", "test.policy"], 0),
                            (["show", "unfit.policy"], 0),
                            (["show", "faulty.policy"], 2), (["why", "test.policy", "read_file", "/usr"], 0),
                            (["why", "test.policy", "write_file", "/usr"], 1),
                            (["why", "faulty.policy", "write_file", "/usr"], 2), (["test", "test.policy"], 0), (["test", "failing.policy"], 1),
                            (["test", "unfit.policy"], 2),
                            (["probe"], 0), (["probe", "test.policy"], 0), (["probe", "unfit.policy"], 1), (["probe", "faulty.policy"], 2)):
            for form in ("text", "json"):
                answer = self.ask(*words, f"--format={form}")
                self.assertEqual(answer.code, code, words)
                self.assertEqual(bool(answer.out), code < 2 or words[0] == "check", words)
                self.assertEqual(bool(answer.err), code == 2 and words[0] != "check" or words == ["why", "unfit.policy"], answer)


class Streams(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("allow read /usr\nexpect denied write_file /usr")
        self.commands = (["check", "test.policy"], ["show", "test.policy"], ["why", "test.policy", "read_file", "/usr"], ["test", "test.policy"],
                         ["probe"],
                         ["probe", "test.policy"], ["--help"], ["check", "--help"], ["--version"])

    def test_a_full_disk(self):
        for words in self.commands:
            for form in ((), ("--format=json",)) if words[0][0] != "-" else ((),):
                with self.subTest(words, form=form), open("/dev/full", "wb") as full:
                    answer = self.ask(*words, *form, stdout=full)
                    self.assertEqual((answer.code, answer.err), (2, "landlock-policy: standard output: No space left on device\n"))

    def test_a_closed_standard_output(self):
        for words in self.commands:
            answer = self.ask(*words, wrapper=("/bin/sh", "-c", 'exec "$@" >&-', "sh"))
            self.assertEqual(answer.out, "")
            self.assertEqual((answer.code, answer.err.splitlines()[:1]), (2, ["landlock-policy: standard output: Bad file descriptor"]),
                             (words, answer))

    def test_a_reader_that_has_gone_away(self):
        """As with any command: by the signal, or where that is ignored, an error."""
        for words in self.commands:
            for wrapper in ((), ("/bin/sh", "-c", "trap '' PIPE; exec \"$@\"", "sh")):
                reading, writing = os.pipe()
                os.close(reading)
                answer = self.ask(*words, wrapper=wrapper, stdout=writing, restore_signals=True)
                os.close(writing)
                self.assertIn((answer.code, answer.err), [(-13, "")] if not wrapper else [(2, "landlock-policy: standard output: Broken pipe\n")],
                              words)

    def test_closed_input_and_error(self):
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            for words in self.commands:
                usual = self.ask(*words)
                answer = self.ask(*words, wrapper=("/bin/sh", "-c", f'exec "$@" {closed}', "sh"))
                self.assertEqual((answer.code, answer.out), (usual.code, usual.out))
        answer = self.ask("check", wrapper=("/bin/sh", "-c", 'exec "$@" 2>&-', "sh"))
        self.assertEqual((answer.code, answer.out, answer.err), (2, "", ""))

    def test_standard_input_is_left_alone(self):
        for words in self.commands:
            answer = self.ask(*words, wrapper=("/bin/sh", "-c", '"$@" >/dev/null; cat', "sh"), input=b"untouched")
            self.assertEqual(answer.out, "untouched")

    def test_no_descriptor_is_needed(self):
        """What the caller has open stays the caller's."""
        usual = self.ask("test", "test.policy")
        answer = self.ask("test", "test.policy", wrapper=("/bin/sh", "-c", 'exec 3</dev/null 4</dev/null 5>/dev/null; exec "$@"', "sh"))
        self.assertEqual((answer.code, answer.out), (usual.code, usual.out))

    def test_colours(self):
        """On a terminal only, and not where NO_COLOR is set."""
        coloured = {"check": "\x1b[33mwarning\x1b[0m", "why": "\x1b[32mallowed\x1b[0m", "probe": "\x1b[32menforced\x1b[0m"}
        self.write("allow read / /usr")
        for words in (["check", "test.policy"], ["why", "test.policy", "read_file", "/usr"], ["probe"]):
            self.assertNotIn("\x1b", self.ask(*words).out)
            for no_color, expected in ((None, True), ("", True), ("1", False)):
                shown = self.on_terminal(*words, env={} if no_color is None else {"NO_COLOR": no_color})
                self.assertEqual(coloured[words[0]] in shown, expected, (words, no_color, shown))
                self.assertEqual("\x1b" in shown, expected)
            self.assertNotIn("\x1b", self.on_terminal(*words, "--format=json"))
        self.assertNotIn("\x1b", self.on_terminal("test", "test.policy"))

    def on_terminal(self, *words, env=None):
        master, slave = pty.openpty()
        environment = {**launcher_environment(), "TERM": "xterm", **(env or {})}
        process = subprocess.Popen([self.command, *words], cwd=self.folder, env=environment, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # nobody has the other end any more
                break
            if not part:
                break
            shown += part
        process.wait(timeout=PATIENCE)
        os.close(master)
        return shown.decode()


class Schemas(CommandTest):
    """The manual's schemas say something."""

    def test_each_subcommand_has_one(self):
        self.assertEqual(tuple(schema.schemas()), SUBCOMMANDS)

    def test_they_are_strict(self):
        """Of what the command writes nothing may be missing, and nothing added."""
        self.write("allow read / -/nowhere\nallow connect_tcp 443\nexpect denied write_file /usr")
        for words in (["check", "test.policy"], ["show", "test.policy"], ["why", "test.policy", "read_file", "/usr"], ["test", "test.policy"],
                      ["probe", "test.policy"]):
            document = self.ask_json(*words).json
            for path, part in self.objects(document):
                for key in list(part):
                    if path.endswith("limits"):
                        continue
                    value = part.pop(key)
                    self.assertNotEqual(schema.errors(words[0], document), [], (words[0], path, key))
                    part[key] = value
                part["never heard of"] = 1
                self.assertNotEqual(schema.errors(words[0], document), [], (words[0], path))
                del part["never heard of"]
            self.assertEqual(schema.errors(words[0], document), [])

    def objects(self, value, path=""):
        if isinstance(value, dict):
            yield path, value
            for key, part in value.items():
                yield from self.objects(part, f"{path}.{key}")
        elif isinstance(value, list):
            for part in value:
                yield from self.objects(part, path)
