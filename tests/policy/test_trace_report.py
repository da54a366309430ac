"""What landlock-policy trace tells, where it tells it, and what it does when it cannot."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from harness import ORDINARY, PATIENCE, as_user, launcher_environment, need, need_root
from test_trace import BASE, PythonTest

DENIED = """
import os, socket
for path in ("/etc/passwd", "/etc", {path!r}):
    try: os.listdir(path) if os.path.isdir(path) else open(path)
    except OSError: pass
try: socket.create_connection(("127.0.0.1", 9))
except OSError: pass
"""

# Refuses ptrace(2), as a container's seccomp profile may.
WITHOUT_PTRACE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
program = b"".join(struct.pack("=HBBI", *row) for row in ((0x20, 0, 0, 0), (0x15, 0, 1, %d), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)))
text = ctypes.create_string_buffer(program)
filter = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(text)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
""" % {"x86_64": 101, "aarch64": 117, "riscv64": 117}[os.uname().machine]


class WordsTest(PythonTest):
    def test_text_and_json_say_the_same(self):
        code = DENIED.format(path=str(self.make("d/a file", owner=ORDINARY)))
        for end, word in (("", "tolerated"), ("raise SystemExit(3)", "denied")):
            policy = self.write(f"{BASE}expect denied read_dir /etc")
            command = ("/usr/bin/python3", "-I", "-S", "-c", code + end)
            found = self.trace(policy, *command, code=3 if end else 0)
            answer = self.ask("trace", policy, "--", *command)
            self.assertEqual((answer.code, answer.out), (3 if end else 0, ""))
            told = re.findall(r"^(\w+) (\S+) (.+)\n    (\w+): (.+?); (\d+) calls?, the first by (\S+)\n    (.+)$", answer.err, re.MULTILINE)
            self.assertEqual([(word, ",".join(item["rights"]), item["path"] or str(item["port"]), item["call"], item["error"], str(item["count"]), item["program"])
                              for item in found.denials], [item[:7] for item in told], answer.err)
            for item, (*_, advice) in zip(found.denials, told):
                if item["line"]:
                    self.assertEqual(advice, f"to allow it: {item['line']}")
                else:
                    self.assertEqual((item["path"], advice), ("/etc", f"to allow it would contradict {policy}:{item['forbidden_by']['line']}:{item['forbidden_by']['column']}"))
            self.assertIn(f"\nthe program ended with exit status {3 if end else 0}; {len(told)} denied\n", answer.err)
            self.assertEqual("it may meet more behind that" in answer.err, bool(end))
            self.assertEqual({item["tolerated"] for item in found.denials}, {not end})

    def test_the_programs_own_outputs_are_its_own(self):
        """Standard output is the program's alone; what is told comes behind what it says on standard error, or in a file."""
        code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nopen('/etc/passwd')"
        answer = self.ask("trace", self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual((answer.code, answer.out, answer.err[:4]), (1, "out\n", "err\n"))
        self.assertIn("\ndenied read_file /etc/passwd\n", answer.err)
        report = self.reports / "report"
        answer = self.ask("trace", "--report", report, self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertNotIn("/etc/passwd\n", answer.err)
        self.assertEqual(report.read_text().splitlines()[0], "denied read_file /etc/passwd")

    def test_lines_that_succeed_and_those_that_fail_stand_apart(self):
        out = self.reports / "lines.policy"
        code = "import os\ntry: open('/etc/passwd')\nexcept OSError: pass\nopen('/etc/group')"
        answer = self.ask("trace", "--runs", 5, "--output", out, self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual([line for line in out.read_text().splitlines() if "/etc/" in line], ["allow read_file /etc/group", "allow read_file /etc/passwd"])
        answer = self.ask("trace", "--output", out, self.write(f"{BASE}allow read_file /etc/group"), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        text = out.read_text()
        self.assertLess(text.index("\n# The program succeeded without these"), text.index("\nallow read_file /etc/passwd\n"))
        self.assertEqual(self.ask("check", out).code, 0)


class NothingRunsTest(PythonTest):
    """What cannot be done is said before the program runs."""

    def assert_not_run(self, options, *texts, policy=None, **keywords):
        marker = self.d / "marker"
        answer = self.ask("trace", *options, policy or self.write(f"{BASE}allow create,write {self.d}"), "--", "/bin/sh", "-c", f": > {marker}",
                          **keywords)
        self.assertEqual((answer.code, answer.out, marker.exists()), (125, "", False), answer)
        for text in texts:
            self.assertIn(text, answer.err)

    def test_outputs_that_cannot_be_written(self):
        closed = self.make_folder("closed", 0o755, 0)
        for option in ("--output", "--report"):
            self.assert_not_run((option, "/no/such/file"), "landlock-policy: /no/such/file: No such file or directory")
            if os.geteuid() == 0:
                self.assert_not_run((option, closed / "file"), f"{closed}/file: Permission denied")
        (self.d / "link").symlink_to(self.make("d/precious", "precious\n", owner=ORDINARY))
        self.assert_not_run(("--report", self.d / "link"), "link: Too many levels of symbolic links")
        self.assertEqual((self.d / "precious").read_text(), "precious\n")

    def test_watching_is_not_allowed(self):
        self.assert_not_run((), "ptrace: Operation not permitted", "hint: ", "seccomp", wrapper=("/usr/bin/python3", "-c", WITHOUT_PTRACE), in_domain=True)

    def test_faults_of_the_policy(self):
        self.assert_not_run((), "test.policy:2:7: ", policy=self.write("allow reed /usr"))

    def test_numbers_of_runs(self):
        for number in ("0", "-1", "x", "", "1000001", "99999999999999999999"):
            answer = self.ask("trace", "--runs", number, self.write(BASE), "--", "/usr/bin/true")
            self.assertEqual((answer.code, answer.out), (125, ""), answer)
            self.assertIn("--runs", answer.err)


class SignalTest(PythonTest):
    """Signals for landlock-policy are the program's."""

    def start(self, code, *options):
        self.report = self.reports / "report"
        policy = self.write(f"{BASE}allow create,write {self.d}")
        process = subprocess.Popen([self.command, "trace", "--format", "json", "--report", self.report, *options, policy, "--", "/usr/bin/python3", "-I", "-S", "-c", code],
                                   env=launcher_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, **as_user(ORDINARY))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n", process)
        return process

    def end(self, process):
        process.communicate(timeout=PATIENCE)
        return process.returncode, json.loads(self.report.read_text())["runs"]

    CODE = "import signal, sys, time\ntry: open('/etc/passwd')\nexcept OSError: pass\n{handler}\nprint('ready', flush=True)\ntime.sleep(1000)"

    def test_they_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            process = self.start(self.CODE.format(handler="signal.signal(signal.SIGINT, signal.SIG_DFL)"))
            process.send_signal(number)
            code, runs = self.end(process)
            self.assertEqual((code, runs[0]["signal"], runs[0]["exit_status"]), (-number, number, None))
            self.assertEqual([item["path"] for item in runs[0]["denials"] if item["path"] == "/etc/passwd"], ["/etc/passwd"])

    def test_it_handles_them(self):
        process = self.start(self.CODE.format(handler="signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))"), "--runs", "5")
        process.send_signal(signal.SIGTERM)
        code, runs = self.end(process)
        self.assertEqual((code, [run["exit_status"] for run in runs]), (9, [9]))

    def test_nothing_runs_on_when_it_is_killed(self):
        process = self.start(self.CODE.format(handler="import os\nprint('ready', flush=True)\nprint(os.getpid(), flush=True)"))
        program = int(process.stdout.readline())
        process.kill()
        process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{program}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(Path(f"/proc/{program}").exists())


class UnseenTest(PythonTest):
    """What cannot be seen is counted."""

    def test_one_that_hides(self):
        need(os.uname().machine == "x86_64", "x86-64")
        code = f"""
import ctypes, os, signal
child = ctypes.CDLL(None).syscall(56, 0x00800000 | signal.SIGCHLD, 0, 0, 0, 0)  # clone(CLONE_UNTRACED)
if child == 0:
    try: open("{self.make('d/file')}")
    except OSError: os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        found = self.python(code)
        self.assertEqual((found.answer.out, found.counts("unfollowed"), found.denials), ("3\n", [1], []))

    def test_a_chroot_in_a_user_namespace(self):
        """Paths are as the process sees them: told as they are outside."""
        need_root()
        self.make_folder("d/root", owner=ORDINARY)
        self.make("d/root/file", owner=ORDINARY)
        code = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000) or libc.chroot(b"{self.d}/root") or libc.chdir(b"/"))
try: os.open("/file", 0)
except OSError as error: print(error.errno)
"""
        found = self.python(code)
        need(found.answer.out.startswith("0\n"), "user namespaces")
        self.assertEqual((found.answer.out, [item["path"] for item in found.denials if item["path"].endswith("/file")]), ("0\n13\n", [f"{self.d}/root/file"]))


class FilesTest(PythonTest):
    """What must not be written over, and what each run must find."""

    def test_files_of_the_policy(self):
        included = self.make("included.policy", f"policy 1\n{BASE}", owner=ORDINARY)
        text = "include included.policy"
        policy = self.write(text, owner=ORDINARY)
        alias = self.d / "alias"
        os.link(included, alias)
        for option in ("--output", "--report"):
            for file in (policy, included, alias, self.folder / "." / "test.policy"):
                answer = self.ask("trace", option, file, policy, "--", "/usr/bin/true")
                self.assertEqual((answer.code, answer.out), (125, ""), answer)
                self.assertIn("--output or --report would replace it", answer.err)
        self.assertEqual((policy.read_text(), included.read_text()), (f"policy 1\n{text}\n", f"policy 1\n{BASE}"))

    def test_what_trace_has_not_written(self):
        folder = self.make_folder("d/folder", owner=ORDINARY)
        precious = self.make("d/precious", "precious\n", owner=ORDINARY)
        (self.d / "link").symlink_to(precious)
        for file in (precious, folder, self.d / "link", "/dev/null"):
            answer = self.ask("trace", "--output", file, self.write(BASE), "--", "/usr/bin/true")
            self.assertEqual((answer.code, "trace has not written it" in answer.err), (125, True), answer)
        self.assertEqual(precious.read_text(), "precious\n")
        out = self.reports / "out"
        for _ in range(2):
            self.assertEqual(self.ask("trace", "--output", out, self.write(BASE), "--", "/usr/bin/true").code, 0)
        answer = self.ask("trace", "--output", out, "--report", out, self.write(BASE), "--", "/usr/bin/true")
        self.assertEqual((answer.code, "by --report and by --output" in answer.err, bool(out.read_text())), (125, True, True), answer)

    def test_the_mode_is_as_usual(self):
        out = self.reports / "out"
        for mask in (0o022, 0o077, 0o002):
            self.ask("trace", "--output", out, self.write(BASE), "--", "/usr/bin/true", wrapper=("/bin/sh", "-c", f'umask {mask:03o}; exec "$@"', "sh"))
            self.assertEqual(out.stat().st_mode & 0o777, 0o644 & ~mask)

    def test_each_run_reads_the_same_input(self):
        script = self.make("script.py", "first\nprint(1)\nopen('/etc/group')\nopen('/etc/passwd')\n")
        with open(script, "rb") as file:
            file.readline()
            os.lseek(file.fileno(), 6, os.SEEK_SET)
            answer = self.ask("trace", "--runs", 9, self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-", stdin=file)
        self.assertEqual((answer.code, answer.out), (0, "1\n" * 3), answer)
        for line in ("    allow read_file /etc/group\n", "    allow read_file /etc/passwd\n"):
            self.assertIn(line, answer.err)

    def test_input_that_is_no_file(self):
        """It is read once, and each run has it by a pipe."""
        text = "first = 1\nprint(first)\nopen('/etc/group')\nopen('/etc/passwd')\n"
        for more in (0, 60000, 900000):
            answer = self.ask("trace", "--runs", 9, self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-", input=(text + "#" * more + "\n").encode())
            self.assertEqual((answer.code, answer.out), (0, "1\n" * 3), answer)
        answer = self.ask("trace", "--runs", 9, self.write(BASE), "--", "/usr/bin/python3", "-I", "-S", "-", input=b"#" * (1 << 21))
        self.assertEqual((answer.code, answer.out), (125, ""), answer)
        self.assertIn("can be read only once", answer.err)
        answer = self.ask("trace", self.write(BASE), "--", "/usr/bin/wc", "-c", input=b"#" * (1 << 21))
        self.assertEqual((answer.code, answer.out), (0, f"{1 << 21}\n"), answer)

    def test_what_goes_away_between_the_runs(self):
        code = f"import os\ntry: open('{self.d}/file')\nexcept OSError: os.unlink('{self.d}/file')\nopen('/etc/passwd')"
        out = self.reports / "out"
        self.make("d/file", owner=ORDINARY)
        answer = self.ask("trace", "--runs", 9, "--output", out, self.write(f"{BASE}allow remove_file {self.d}"), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual(answer.code, 1, answer)
        self.assertIn(f"\nallow read_file -{self.d}/file\n", out.read_text())
        self.assertEqual(self.ask("show", out).code, 0)

    def test_a_run_that_is_refused_loses_nothing(self):
        """The first takes away what the policy needs."""
        code = f"import os\nos.unlink('{self.d}/file')\nopen('/etc/passwd')"
        self.make("d/file", owner=ORDINARY)
        out, report = self.reports / "out", self.reports / "report"
        answer = self.ask("trace", "--runs", 9, "--output", out, "--report", report, "--format", "json",
                          self.write(f"{BASE}allow remove_file {self.d}\nallow read_file {self.d}/file"), "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual(answer.code, 125, answer)
        self.assertIn("No such file", answer.err)
        self.assertIn("\nallow read_file /etc/passwd\n", out.read_text())
        self.assertEqual((len(json.loads(report.read_text())["runs"]), json.loads(report.read_text())["lines"]), (1, ["allow read_file /etc/passwd"]))

    def test_a_program_that_did_not_start(self):
        policy = self.write("environment set PATH=/usr/bin")
        found = self.trace(policy, "/usr/bin/true", code=126)
        self.assertEqual(found.counts("started"), [False])
        self.assertIn("the program was not started; 1 denied", self.ask("trace", policy, "--", "/usr/bin/true").err)
        self.assertEqual(self.trace(self.write(BASE), "/usr/bin/true").counts("started"), [True])

    def test_root_is_warned(self):
        need_root()
        answer = self.ask("trace", self.write(BASE), "--", "/usr/bin/true", uid=0)
        self.assertEqual((answer.code, answer.err.splitlines()[0]),
                         (0, "landlock-policy: warning: what UID 0 is denied is not what others are: trace it as the user that is to run it"))

    def test_root_without_capabilities_writes_where_it_may(self):
        """Looked at as it will be when the program has ended."""
        need_root()
        other = self.make_folder("other", 0o755, ORDINARY)
        answer = self.ask("trace", "--output", other / "out", self.write(BASE), "--", "/bin/echo", "ran", uid=0)
        self.assertEqual((answer.code, answer.out), (125, ""), answer)
        self.assertIn("without capabilities", answer.err)
