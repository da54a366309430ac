"""The command line of chat-files, its exit status, its streams, and the line on a terminal."""

import json
import os
import pty
import re
import subprocess
import termios
import time
import unicodedata

from chat import COMMAND, ChatTest
from harness import SOURCE, launcher_environment

HELP_OF = {"put": ("--mode", "--format", "--help", "--version"), "get": ("--format", "--help", "--version"),
           "list": ("--format", "--help", "--version"), "remove": ("--format", "--help", "--version"),
           "import": ("--mode", "--format", "--help", "--version")}
OPERANDS = {"put": ("chat", "x"), "get": ("chat", "x"), "list": ("chat",), "remove": ("chat", "x"), "import": ("chat", "x")}


class Options(ChatTest):
    def assert_usage(self, answer, text):
        self.assertEqual((answer.code, answer.out), (2, b""), answer)
        lines = answer.err.splitlines()
        self.assertEqual([line.startswith("chat-files: ") for line in lines], [True, True], answer)
        self.assertTrue(lines[1].startswith("chat-files: hint: "), answer)
        self.assertIn(text, lines[0])

    def test_usage_errors(self):
        for words, text in (((), "no subcommand"), (("--format=json",), None), (("putt", "x"), "(did you mean 'put'?)"), (("put",), "put: too few operands"),
                            (("put", "chat"), "put: too few operands"), (("put", "chat", "x", "y"), "put: too many operands"),
                            (("get", "chat"), "get: too few operands"), (("list",), "list: too few operands"), (("list", "chat", "x"), "list: too many"),
                            (("remove", "chat"), "too few"), (("import", "chat"), "import: too few operands"),
                            (("get", "--mode=600", "chat", "x"), "--mode: not an option of this subcommand"),
                            (("put", "--format=xml", "chat", "x"), "--format: expected text or json"), (("put", "-x", "chat", "y"), "-x: unknown option"),
                            (("put", "-n", "chat", "x"), "-n: unknown option"), (("put", "chat", "x", "--format=json"), "put: too many operands"), (("--mode=600", "put", "chat", "x"), "--mode: an option of some subcommands")):
            answer = self.ask(*words)
            if text:
                self.assert_usage(answer, text)
            else:
                self.assertEqual((answer.code, json.loads(answer.err)["error"]["code"]), (2, "usage"))
        self.assertEqual(self.entries(), [])

    def test_modes(self):
        for mode in ("", "8", "600x", "-600", "+600", " 600", "1777", "4755", "200", "0", "077", "rw-------", "99999999999999999999999", "u=rw"):
            self.assert_usage(self.ask("put", f"--mode={mode}", "chat", "x", data=b""), "--mode: expected permissions in octal")
        for mode in ("400", "0600", "777"):
            self.assertEqual(self.ask("put", "--mode", mode, "chat", "x", data=b"").code, 0)

    def test_help(self):
        for words in (("--help",), ("-h",), ("--hel",)):
            answer = self.ask(*words)
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertTrue(answer.out.startswith(b"usage: chat-files [OPTION...] SUBCOMMAND "))
            self.assertIn("LLM_MAX_ATTACHMENT_FILES", answer.out.decode())
            self.assertLess(max(map(len, answer.lines)), 110)
        for subcommand, options in HELP_OF.items():
            answer = self.ask(subcommand, "--help")
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertTrue(answer.out.decode().startswith(f"usage: chat-files {subcommand} [OPTION...] "))
            self.assertEqual(tuple(re.findall(r"(?m)^  .{3} (--[a-z-]+)", answer.out.decode())), options)

    def test_version(self):
        version = re.search(r"project\(landlock-exec VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        for words in (("--version",), ("-V",), ("list", "-V"), ("put", "--version")):
            self.assertEqual(self.ask(*words).out.decode(), f"chat-files {version}\n")

    def test_options_stand_before_the_directory(self):
        for words in (("--format=json", "put", "chat", "x"), ("put", "--format", "json", "chat", "x"), ("put", "-m", "600", "--form=json", "--", "chat", "x"),
                      ("--format=text", "put", "--format=json", "chat", "x")):
            self.assertEqual(self.ask(*words, data=b"").json["name"], "x")

    def test_what_stands_behind_it_is_a_name(self):
        """Names are the code's to choose: none of them is an option, least of all one that prints help and succeeds."""
        for name in ("-h", "--help", "-V", "--version", "-m644", "--format=json", "--", "-"):
            self.assertEqual(self.ask("put", "chat", name, data=name.encode()).code, 0)
            self.assertEqual((self.chat / name).read_bytes(), name.encode())
            self.assertEqual(self.ask("get", "chat", name).out, name.encode())
            self.assertEqual(self.ask("import", "chat", name, cwd=self.folder).out.splitlines()[-1], b"0 copied, 0 replaced, 1 skipped")
            self.assertEqual((self.ask("remove", "chat", name).code, self.entries()), (0, []))

    def test_errors_in_text_and_json(self):
        """One line and perhaps a hint; or one document, with the same."""
        for words, code in ((("get", "chat", "none"), 1), (("get", "chat", "a/b"), 1), (("get", "none", "x"), 2), (("list", "none"), 2),
                            (("remove", "chat", "x"), 1), (("put", "chat", ".."), 1), (("import", "none", "x"), 2), (("get", "chat"), 2)):
            text, answer = self.ask(*words), self.ask("--format=json", *words)
            self.assertEqual((text.code, answer.code, text.out, answer.out), (code, code, b"", b""))
            error = json.loads(answer.err)["error"]
            self.assertEqual(set(error), {"code", "message", "hint"})
            self.assertEqual(answer.err.count("\n"), 1)
            self.assertEqual(text.err, "".join(f"chat-files: {line}\n" for line in (f"{error['message']} [{error['code']}]", error["hint"] and f"hint: {error['hint']}") if line))

    def test_names_cannot_forge_a_line(self):
        for name in (b"x\ny", b"\x1b[31m", "\u202e".encode(), b"\xff", "\u2028".encode(), b"\r"):
            for words in (("get", "chat", name), ("put", "chat", name), ("remove", "chat", name), ("get", name, "x"), ("import", "chat", name), (name,)):
                for form in ("text", "json"):
                    answer = self.ask(f"--format={form}", *words, data=b"")
                    said = answer.err + answer.out.decode()
                    if form == "text":
                        self.assertTrue(all(unicodedata.category(letter)[0] != "C" and unicodedata.category(letter) not in ("Zl", "Zp")
                                            for letter in said.replace("\n", "")), said)
                    if answer.err:
                        self.assertLessEqual(answer.err.count("\n"), 2)
            self.remove(name)


class Streams(ChatTest):
    def closed(self, fd, *words):
        """What is said where the caller closed a stream."""
        answer = self.ask(*words, wrapper=("/bin/sh", "-c", f'"$@" {fd}>&-', "sh"), data=b"")
        self.assertEqual(answer.code, 2, words)
        return answer.err

    def test_closed_streams(self):
        """No file is taken for a stream, an empty one for no input, or success for an answer that nobody got."""
        (self.chat / "file").write_bytes(b"old")
        self.assertIn("standard input is closed", self.closed("0", "put", "chat", "file"))
        for words in (("get", "chat", "file"), ("list", "chat"), ("import", "chat", "chat/file"), ("put", "--format=json", "chat", "file"),
                      ("remove", "--format=json", "chat", "file"), ("--help",), ("list", "-V")):
            self.assertIn("standard output is closed", self.closed("1", *words), words)
        self.assertEqual(((self.chat / "file").read_bytes(), self.entries()), (b"old", [b"file"]))
        answer = self.ask("get", "chat", "none", wrapper=("/bin/sh", "-c", '"$@" 2>&-', "sh"))
        self.assertEqual((answer.code, answer.out, answer.err), (1, b"", ""))
        answer = self.ask("put", "chat", "new", wrapper=("/bin/sh", "-c", '"$@" >&- 2>&-', "sh"), data=b"new")
        self.assertEqual((answer.code, self.get("new").out), (0, b"new"))

    def test_output_that_is_full(self):
        self.put("file", b"x" * 100_000)
        for words in (("get", "chat", "file"), ("list", "chat"), ("list", "--format=json", "chat"), ("import", "chat", "chat/file"), ("--help",), ("--version",)):
            with open("/dev/full", "wb") as full:
                answer = self.ask(*words, stdout=full)
            self.assertEqual(answer.code, 2, words)
            self.assertIn("No space left on device", answer.err, words)

    def test_a_reader_that_goes_away(self):
        """As of any program that writes into a pipe: the signal ends it, or an error is told where that is ignored."""
        self.put("file", b"x" * 3_000_000)
        for handled in (True, False):
            out, into = os.pipe()
            with self.start("get", "chat", "file", stdout=into, restore_signals=handled) as process:
                os.close(into)
                os.read(out, 1)
                os.close(out)
                err = process.communicate()[1]
            self.assertEqual(process.returncode, -13 if handled else 2)
            self.assertEqual(b"Broken pipe" in err, not handled)


class Progress(ChatTest):
    def slow_put(self, size, seconds):
        """What a terminal shows as standard error while `size` bytes come in over some time."""
        terminal, end = pty.openpty()
        attributes = termios.tcgetattr(end)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(end, termios.TCSANOW, attributes)
        with self.start("put", self.chat, "file", stdin=subprocess.PIPE, stderr=end) as process:
            for _ in range(20):
                process.stdin.write(b"x" * (size // 20))
                process.stdin.flush()
                time.sleep(seconds / 20)
            process.stdin.close()
        os.close(end)
        shown = b""
        try:
            while part := os.read(terminal, 65536):
                shown += part
        except OSError:
            pass
        os.close(terminal)
        self.assertEqual((process.returncode, os.stat(self.chat / "file").st_size), (0, size // 20 * 20))
        return shown.decode()

    def test_a_line_for_what_takes_long(self):
        """On a terminal; it is gone at the end."""
        shown = self.slow_put(4 << 20, 2.5)
        self.assertRegex(shown, r"^\rput: \d\.\d MiB\x1b\[K(\rput: \d\.\d MiB\x1b\[K)*\r\x1b\[K$")

    def test_none_for_what_does_not(self):
        self.assertEqual(self.slow_put(1 << 20, 0), "")

    def test_none_where_there_is_no_terminal(self):
        with self.start("put", self.chat, "file", stdin=subprocess.PIPE) as process:
            for _ in range(3):
                process.stdin.write(b"x" * 100_000)
                process.stdin.flush()
                time.sleep(0.6)
            self.assertEqual(process.communicate(), (b"", b""))

    def test_the_size_is_told_where_it_is_known(self):
        self.put("file", b"x" * (8 << 20))
        terminal, end = pty.openpty()
        out, into = os.pipe()
        with self.start("get", self.chat, "file", stdout=into, stderr=end) as process:
            os.close(into)
            os.close(end)
            left = 8 << 20
            while left:
                left -= len(os.read(out, 65536))
                time.sleep(0.015)
        os.close(out)
        shown = os.read(terminal, 65536).decode()
        os.close(terminal)
        self.assertRegex(shown, r"\rget: \d\.\d of 8\.0 MiB\x1b\[K")
        self.assertEqual(process.returncode, 0)
