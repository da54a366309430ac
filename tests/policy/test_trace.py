"""landlock-policy trace: what a program was denied, with lines that do allow it, and nothing else; the program does not notice."""

import json
import os
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from command import CommandTest, is_safe
from harness import ABI, ORDINARY, as_user, need, need_root, wait_until
import schema

# What nearly every program needs, and no more: where Debian has its programs and libraries.
BASE = "allow execute,read /usr/bin /usr/lib -/usr/lib64 /bin /lib -/lib64\nallow read_file -/etc/ld.so.cache -/etc/locale.alias -/etc/nsswitch.conf -/proc/sys/vm/overcommit_memory\nallow read /usr/share -/usr/local/lib\nenvironment set PATH=/usr/bin:/bin LANG=C.UTF-8 HOME=/nonexistent\n"


class Trace:
    """What came of one: the program's status and outputs, the report's document and the lines found."""

    def __init__(self, answer, document):
        self.answer, self.document = answer, document
        self.lines = document["lines"]
        self.runs = document["runs"]
        self.denials = self.runs[-1]["denials"]

    def counts(self, name):
        return [run[name] for run in self.runs]


class TraceTest(CommandTest):
    BASE = BASE

    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d", owner=ORDINARY)
        self.reports = self.make_folder("reports", owner=ORDINARY)

    def trace(self, policy, *command, options=(), code=0, **keywords):
        """A trace in JSON; its report is as the manual says."""
        report = self.reports / "report"
        answer = self.ask("trace", "--format", "json", "--report", report, *options, policy, "--", *command, **keywords)
        self.assertEqual(answer.code, code, answer)
        document = json.loads(report.read_text())
        self.assertEqual(schema.errors("trace", document), [])
        return Trace(answer, document)

    def helper_policy(self, text=""):
        """A policy that says `text`, and allows the helper `attempt` to run and nothing more."""
        return self.write(f"{text}\nallow execute,read_file {self.attempt}")

    def assert_found(self, operation, lines, text="", **keywords):
        """The operation is denied for want of just these lines, with which it is not, and nothing is missing any more."""
        policy = self.helper_policy(text)
        command = self.operations(operation)
        first = self.trace(policy, *command, **keywords)
        self.assertEqual(first.lines, lines, first.document)
        self.assertNotEqual(first.answer.out, "OK\n")
        second = self.trace(self.helper_policy("\n".join([text, *lines])), *command, **keywords)
        self.assertEqual((second.answer.out, second.lines, second.denials), ("OK\n", [], []), second.document)
        return first


class OneAccessTest(TraceTest):
    """Every kind of access, each by the call that a program makes."""

    def setUp(self):
        super().setUp()
        self.file = self.make("d/file", owner=ORDINARY)
        for name in ("empty", "other", "full"):
            self.make_folder(f"d/{name}", owner=ORDINARY)
        self.make("d/full/file", owner=ORDINARY)

    def test_files(self):
        d = self.d
        program = self.make("d/program", self.attempt.read_bytes(), 0o755, ORDINARY)
        for operation, lines in (
                (f"read {d}/file", [f"allow read_file {d}/file"]),
                (f"write {d}/file", [f"allow write_file {d}/file"]),
                (f"append {d}/file", [f"allow write_file {d}/file"]),
                (f"otrunc {d}/file", [f"allow write_file,truncate {d}/file"]),
                (f"rtrunc {d}/file", [f"allow read_file,truncate {d}/file"]),
                (f"truncate {d}/file", [f"allow truncate {d}/file"]),
                (f"list {d}", [f"allow read_dir {d}"]),
                (f"execute {program}", [f"allow execute,read_file {program}"]),
                (f"unnamed {d}", [f"allow write_file,read_file {d}"])):
            with self.subTest(operation):
                self.assert_found(operation, lines)

    def test_names(self):
        d = self.d
        for operation, lines in (
                (f"create {d}/new", [f"allow write_file,make_reg {d}"]),
                (f"reg {d}/new2", [f"allow make_reg {d}"]),
                (f"mkdir {d}/new3", [f"allow make_dir {d}"]),
                (f"fifo {d}/new4", [f"allow make_fifo {d}"]),
                (f"sock {d}/new5", [f"allow make_sock {d}"]),
                (f"symlink x {d}/new6", [f"allow make_sym {d}"]),
                (f"unlink {d}/full/file", [f"allow remove_file {d}/full"]),
                (f"rmdir {d}/empty", [f"allow remove_dir {d}"]),
                (f"link {d}/file {d}/file2", [f"allow make_reg {d}"]),
                (f"rename {d}/file2 {d}/file3", [f"allow remove_file,make_reg {d}"]),
                (f"rename {d}/file3 {d}/other/file3", [f"allow remove_file,refer {d}", f"allow make_reg {d}/other"]),
                (f"link {d}/file {d}/other/file4", [f"allow refer {d}", f"allow make_reg {d}/other"]),
                (f"exchange {d}/file {d}/other/file4", [f"allow remove_file,make_reg,refer {d}"])):
            with self.subTest(operation):
                self.assert_found(operation, lines)

    def test_a_move_to_where_more_is_allowed(self):
        """The file would gain rights: EXDEV, although all that a move needs is there."""
        d = self.d
        found = self.assert_found(f"rename {d}/file {d}/other/file", [f"allow write_file {d}"],
                                  text=f"allow remove,create,rename {d}\nallow write_file {d}/other")
        self.assertEqual([(item["call"], item["error"]) for item in found.denials], [("rename", "Invalid cross-device link")])

    def test_what_is_made_is_allowed_in_its_directory(self):
        """Where the program may create, files come and go: a line for one of them would hold once."""
        self.make("d/seen", owner=ORDINARY)
        self.assert_found(f"read {self.d}/seen", [f"allow read_file {self.d}"], text=f"allow create {self.d}")
        # the kernel has made the file before it denies that it be written to
        found = self.trace(self.helper_policy(f"allow make_reg {self.d}"), *self.operations(f"create {self.d}/half"))
        self.assertEqual((found.lines, (self.d / "half").read_bytes()), ([f"allow write_file {self.d}"], b""))

    @unittest.skipUnless(ABI >= 4, "network rights")
    def test_ports(self):
        for operation, lines in (("bind 0", ["allow bind_tcp 0"]), ("connect 9", ["allow connect_tcp 9"])):
            with self.subTest(operation):
                policy = self.helper_policy()
                found = self.trace(policy, *self.operations(operation))
                self.assertEqual((found.lines, found.denials[0]["error"]), (lines, "Permission denied"))
                again = self.trace(self.helper_policy(lines[0]), *self.operations(operation))
                self.assertEqual(again.denials, [])

    @unittest.skipUnless(ABI >= 6, "scopes")
    def test_scopes(self):
        """Told, and never suggested: it would open all of that kind."""
        with subprocess.Popen(["/usr/bin/sleep", "100"], **as_user(ORDINARY)) as process, socket.socket(socket.AF_UNIX) as server:
            name = f"landlock-exec-test.{os.getpid()}"
            server.bind(f"\0{name}")
            server.listen()
            found = self.trace(self.helper_policy(), *self.operations(f"kill {process.pid} 0", f"abstract {name}", f"kill {os.getppid()} 0"))
            process.kill()
        self.assertEqual([(item["rights"], item["path"], item["port"], item["call"], item["line"], item["count"]) for item in found.denials],
                         [(["signal"], None, None, "kill", None, 1), (["abstract_unix_socket"], None, None, "connect", None, 1)], found.answer)
        self.assertEqual(found.lines, [])

    @unittest.skipUnless(ABI >= 5, "ioctl_dev")
    def test_devices(self):
        command = self.operations("ioctl /dev/null")
        found = self.trace(self.helper_policy("allow read_file /dev/null"), *command)
        self.assertEqual((found.lines, found.answer.out), (["allow ioctl_dev /dev/null"], "EACCES\n"))
        found = self.trace(self.helper_policy("allow read_file,ioctl_dev /dev/null"), *command)
        self.assertEqual((found.denials, found.answer.out), ([], "ENOTTY\n"))


class NothingElseTest(TraceTest):
    """What Landlock has no part in is not told, or told for what it is."""

    def test_what_is_missing_or_has_failed_otherwise(self):
        self.make("d/file", owner=ORDINARY)
        policy = self.helper_policy(f"allow read,write {self.d}")
        found = self.trace(policy, *self.operations(f"read {self.d}/none", f"read {self.d}/file/below", f"list {self.d}/file", f"read {self.d}/file"))
        self.assertEqual(found.answer.out.split(), ["ENOENT", "ENOTDIR", "ENOTDIR", "OK"])
        self.assertEqual((found.denials, found.lines), ([], []))

    def test_permissions(self):
        """Allowed by the policy: nothing. By neither: told, and no line, since it would not do."""
        self.make("closed", mode=0o600, owner=0)
        need_root()
        closed = self.folder / "closed"
        self.assertEqual(self.trace(self.helper_policy(f"allow read_file {closed}"), *self.operations(f"read {closed}")).denials, [])
        found = self.trace(self.helper_policy(), *self.operations(f"read {closed}"))
        self.assertEqual((found.lines, [(item["path"], item["system"], item["line"]) for item in found.denials]),
                         ([], [(str(closed), "permissions", None)]))

    def test_nothing_is_denied(self):
        self.make("d/file", owner=ORDINARY)
        answer = self.ask("trace", self.helper_policy(f"allow read {self.d}"), "--", *self.operations(f"read {self.d}/file"))
        self.assertEqual((answer.code, answer.out, answer.err), (0, "OK\n", "the program ended with exit status 0; nothing was denied\n"))


class ProgramTest(TraceTest):
    """The execution of the program itself."""

    def test_a_program_that_is_not_allowed(self):
        policy = self.write("environment set PATH=/usr/bin")
        found = self.trace(policy, self.attempt, code=126)
        self.assertEqual(found.lines, [f"allow execute,read_file {self.attempt}"])
        self.assertEqual([item["call"] for item in found.denials], ["execve"])
        self.assertIn("landlock-policy: ", found.answer.err)

    def test_a_loader_that_is_not_allowed(self):
        true = os.path.realpath("/usr/bin/true")
        found = self.trace(self.write(f"allow execute,read_file {true}"), true, code=126)
        self.assertEqual(len(found.lines), 1)
        self.assertRegex(found.lines[0], r"^allow execute,read_file /\S*/ld-linux\S*$")

    def test_lines_run_by_run(self):
        """Each run finds what the one before did not come to; with all of them the program succeeds."""
        found = self.trace(self.write("environment set PATH=/usr/bin"), "/usr/bin/true", options=("--runs", "20"))
        self.assertEqual((found.counts("exit_status")[0], found.counts("exit_status")[-1]), (126, 0))
        self.assertGreater(len(found.runs), 2)
        again = self.trace(self.write("environment set PATH=/usr/bin\n" + "\n".join(found.lines)), "/usr/bin/true")
        self.assertEqual((again.denials, again.lines), ([], []))

    def test_one_that_is_not_there(self):
        answer = self.ask("trace", self.write(""), "--", "/no/such")
        self.assertEqual((answer.code, answer.out), (127, ""))
        self.assertIn("not found", answer.err)

    def test_a_refusal(self):
        answer = self.ask("trace", self.write("allow read /no/such"), "--", "/usr/bin/true")
        self.assertEqual((answer.code, answer.out), (125, ""))
        self.assertIn("test.policy:2:12: ", answer.err)


class AsWithoutTest(TraceTest):
    """The program behaves as without a trace."""

    SCRIPT = Path(__file__).with_name("traced.py")

    def both(self, *words, code=0):
        """What the script prints, alone and traced."""
        text = f"{BASE}\nallow read {self.SCRIPT.parent}\nallow read,write,create,remove {self.d}\nallow read_file,write_file /dev/null\nallow read /proc\ndirectory {self.d}\n"
        policy, script = self.write(text), self.make("traced.py", self.SCRIPT.read_text())
        policy = self.write(text + f"allow read_file {script}\n")
        alone = self.launch(policy, "/usr/bin/python3", script, *words, status=False)
        found = self.trace(policy, "/usr/bin/python3", script, *words, code=code)
        self.assertEqual((found.answer.code, found.answer.out), (alone.code, alone.out), (found.answer, alone))
        return found

    def test_threads(self):
        found = self.both("threads")
        self.assertTrue(any(item["path"] == "/etc/passwd" and item["count"] >= 800 for item in found.denials), found.denials)

    def test_processes(self):
        self.both("processes")

    def test_vfork(self):
        self.both("vfork")

    def test_execution_by_a_thread(self):
        found = self.both("thread_exec")
        self.assertTrue(any(item["path"] == "/etc/passwd" for item in found.denials))

    def test_signals(self):
        self.both("signals")

    def test_stops(self):
        self.both("stops")

    def test_killed(self):
        self.both("killed")

    def test_one_that_traces(self):
        found = self.both("traces")
        self.assertEqual(found.counts("unfollowed"), [2])

    def test_attaching(self):
        self.both("attaches_at_once")
        self.both("attaches_to_the_dead")

    def test_many_that_never_wait(self):
        self.both("spinners")

    def test_ends(self):
        for word, code in (("exit_0", 0), ("exit_7", 7), ("exit_125", 125), ("sigterm", -signal.SIGTERM), ("sigkill", -signal.SIGKILL),
                           ("sigsegv", -signal.SIGSEGV)):
            with self.subTest(word):
                self.both(word, code=code)


class PythonTest(TraceTest):
    """Traces of Python code."""

    def python(self, code, text="", **keywords):
        policy = self.write(f"{BASE}{text}")
        return self.trace(policy, "/usr/bin/python3", "-I", "-S", "-c", code, **keywords)


class HostileTest(PythonTest):
    """A program that is against it."""

    NAMES = ("new\nline", "allow write /\nallow write /", '"', "\\", "${x}", "$", "#", "a b", "-", "\x1b[2J", "\u202egnp", "\x7f", "\udcff\udcfe",
             "файл", "\\x41", "e\u0301", "*")

    def test_names_cannot_forge_a_line(self):
        for name in self.NAMES:
            with self.subTest(name):
                self.make(f"d/{name.replace('/', '∕')}", owner=ORDINARY)
        names = [name.replace("/", "∕") for name in self.NAMES]
        out = self.reports / "lines.policy"
        code = f"import os\nfor name in os.listdir({os.fspath(self.d).encode()!r}):\n try: open({os.fspath(self.d).encode()!r} + b'/' + name)\n except OSError: pass"
        policy = self.write(f"{BASE}allow read_dir {self.d}")
        answer = self.ask("trace", "--output", out, policy, "--", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual(answer.code, 0, answer)
        self.assertTrue(is_safe(answer.err), answer.err)
        text = out.read_bytes().decode()
        self.assertTrue(is_safe(text), text)
        mentioned = [line for line in text.splitlines() if str(self.d) in line]
        self.assertEqual(len(mentioned), len(names))
        self.assertTrue(all(line.startswith(f"allow read_file {self.d}/") for line in mentioned), mentioned)
        # read again, they are these files and nothing else
        shown = self.ask_json("show", out)
        paths = {rule["path"] for rule in shown.json["rules"] if rule["path"].startswith(f"{self.d}/")}
        self.assertEqual(paths, {f"{self.d}/{name}".encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names})
        self.write(f"{BASE}allow read_dir {self.d}\ninclude {out}")
        again = self.trace(self.folder / "test.policy", "/usr/bin/python3", "-I", "-S", "-c", code)
        self.assertEqual([item["path"] for item in again.denials if str(self.d) in item["path"]], [])

    def test_what_the_policy_expects_to_be_denied_is_never_suggested(self):
        for name in ("secret", "private", "other"):
            self.make(f"d/{name}", owner=ORDINARY)
        (self.d / "link").symlink_to("secret")
        code = f"""
import os
os.chdir({os.fspath(self.d)!r})
d = os.open(".", os.O_PATH)
for path in ("secret", "link", "private", "/proc/self/cwd/secret", "/proc/self/root{self.d}/private", "./../d/secret", "other"):
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC):
        for at in (None, d):
            try: os.open(path, flags, dir_fd=at)
            except OSError: pass
for path in ("/etc/passwd", "/etc", "/"):
    try: os.listdir(path) if os.path.isdir(path) else open(path)
    except OSError: pass
"""
        forbids = (f"expect denied read_file,write_file {self.d}/secret\nprivate {self.d}/private\nexpect denied read_file /etc/passwd\n"
                   "expect denied read_dir /")
        for options in ((), ("--gather",)):
            found = self.python(code, forbids, options=options)
            self.assertFalse(any(name in line for line in found.lines for name in ("secret", "link", "private", "passwd")), found.lines)
            self.assertFalse(any(line.split()[2] in ("/", "/etc", str(self.d)) and "read" in line for line in found.lines
                                 if "read_dir /etc" not in line), found.lines)
            told = {item["path"] for item in found.denials if item["forbidden_by"]}
            self.assertLessEqual({f"{self.d}/secret", f"{self.d}/private", "/etc/passwd"}, told)
            self.assertIn(f"allow write_file,read_file,truncate {self.d}/other" if ABI >= 3 else f"allow write_file,read_file {self.d}/other",
                          found.lines)

    def test_a_name_that_changes_while_it_is_looked_at(self):
        """Whatever is read of a path that another thread changes, a forbidden one is not suggested."""
        for name in ("secret", "public"):
            self.make(f"d/{name}", owner=ORDINARY)
        code = f"""
import ctypes, os, threading
libc = ctypes.CDLL(None)
one, two = {os.fspath(self.d / 'public').encode()!r}, {os.fspath(self.d / 'secret').encode()!r}
path = ctypes.create_string_buffer(max(len(one), len(two)) + 1)
end = False
def change():
    while not end:
        path.value = one
        path.value = two
thread = threading.Thread(target=change)
thread.start()
for _ in range(3000): libc.open(path, os.O_RDONLY)
end = True
thread.join()
"""
        found = self.python(code, f"expect denied read_file {self.d}/secret")
        self.assertFalse(any("secret" in line for line in found.lines), found.lines)
        self.assertGreater(sum(item["count"] for item in found.denials if item["path"].startswith(str(self.d))), 2000)

    def test_it_does_not_grow(self):
        """30,000 names: 10,000 are kept, the others counted; memory is bounded."""
        code = f"import os\nfor i in range(30000):\n try: os.open({os.fspath(self.d)!r} + '/' + 'x' * 200 + str(i), os.O_RDONLY | os.O_CREAT)\n except OSError: pass\nfor i in range(30000):\n try: os.open('/etc/ssl/' + '../ssl/' * (i % 100) + 'openssl.cnf', 0)\n except OSError: pass"
        found = self.python(code)
        self.assertLess(len(found.denials), 100) # the same directory, the same file
        names = self.make_folder("names", 0o777, ORDINARY)
        for i in range(12000):
            (names / f"{i}").touch()
        found = self.python(f"for i in range(12000):\n try: open('{names}/%d' % i)\n except OSError: pass")
        self.assertEqual(len(found.denials), 10000)
        self.assertGreaterEqual(found.counts("dropped")[0], 2000)
        gathered = self.python(f"for i in range(12000):\n try: open('{names}/%d' % i)\n except OSError: pass", options=("--gather",))
        self.assertIn(f"allow read_file {names}", gathered.lines)

    def test_it_does_not_wait_for_what_is_left_behind(self):
        code = "import os, time\nif os.fork() == 0:\n os.setsid()\n os.close(1); os.close(2); os.close(0)\n time.sleep(40)\n os._exit(0)"
        started = time.monotonic()
        found = self.python(code)
        self.assertEqual(found.counts("left"), [1])
        self.assertLess(time.monotonic() - started, 35)

    def test_what_is_left_behind_in_the_kernel_runs_on(self):
        """It waits for a child of vfork(2) and cannot be stopped: it is let go when the command ends."""
        need(os.uname().machine == "x86_64", "x86-64")
        code = f"""
import ctypes, os, signal, time
if os.fork() == 0:
    os.setsid()
    for fd in range(3): os.close(fd)
    if ctypes.CDLL(None).syscall(56, 0x4000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:  # clone(CLONE_VFORK)
        time.sleep(9)
        os._exit(0)
    open('{self.d}/marker', 'w').close()
    os._exit(0)
time.sleep(0.5)
"""
        found = self.python(code, f"allow write,create {self.d}", options=("--runs", "2"))
        self.assertEqual(found.counts("left"), [2])
        self.assertFalse((self.d / "marker").exists())
        wait_until((self.d / "marker").exists)

    def test_processes_that_may_not_be_looked_at(self):
        code = f"import ctypes\nctypes.CDLL(None).prctl(4, 0)\ntry: open('{self.make('d/file')}')\nexcept OSError: pass"
        found = self.python(code)
        self.assertNotIn(f"{self.d}/file", [item["path"] for item in found.denials])
        self.assertEqual(found.counts("unread"), [1])

    def test_it_cannot_reach_the_watcher(self):
        code = ("import os, signal\nfor f in (lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: open('/proc/%d/mem' % os.getppid(), 'r+b')):\n"
                " try: f(); print('done')\n except OSError as e: print(type(e).__name__)")
        found = self.python(code, "allow read,write /proc")
        if ABI >= 6:
            self.assertEqual(found.answer.out, "PermissionError\nPermissionError\n")


class SecretTest(PythonTest):
    def test_a_token_is_nowhere(self):
        token = "s3cr3t-0123456789abcdef0123456789abcdef"
        self.make("d/token", token, owner=ORDINARY)
        out, report = self.reports / "out.policy", self.reports / "text"
        policy = self.write(f"{BASE}environment keep TOKEN\nallow read_file {self.d}/token")
        code = f"import os, sys\nt = open('{self.d}/token').read()\nassert t == os.environ['TOKEN'] == sys.argv[1]\nopen('/etc/passwd')"
        outputs = []
        for options in (("--output", out, "--report", report), ("--format", "json", "--report", report), ()):
            answer = self.ask("trace", *options, policy, "--", "/usr/bin/python3", "-I", "-S", "-c", code, token, env={"TOKEN": token})
            self.assertEqual(answer.code, 1, answer)
            self.assertIn("PermissionError", answer.err)
            outputs += [answer.out, answer.err, report.read_text()]
        self.assertFalse([text for text in (*outputs, out.read_text()) if token in text])
