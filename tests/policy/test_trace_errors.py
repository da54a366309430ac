"""Errors that are Landlock's and do not look so, and those that look so and are not."""

import os
import signal
import subprocess
from pathlib import Path

from harness import ABI, ORDINARY, as_user, need_root
from test_trace import PythonTest

# System calls by number: what Python has no function for.
PRELUDE = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    result = libc.syscall(*arguments)
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
def attempt(function, *arguments):
    try: return function(*arguments)
    except OSError as error: return errno.errorcode[error.errno]
def openat2(directory, path, flags, resolve):
    return call(437, directory, path, struct.pack("=QQQ", flags, 0, resolve), 24)
"""


class ErrorTest(PythonTest):
    def assert_met(self, code, printed, lines, text="", **keywords):
        """What the code prints, and the lines for it."""
        found = self.python(PRELUDE + code, text, **keywords)
        self.assertEqual((found.answer.out, found.lines), (printed, lines), found.document)
        return found


class NotLandlocksTest(ErrorTest):
    """Nothing is told of these."""

    def assert_nothing(self, code, printed, text="", **keywords):
        found = self.assert_met(code, printed, [], text, **keywords)
        self.assertEqual(found.denials, [], found.document)

    def test_beneath(self):
        """RESOLVE_BENEATH gives EXDEV, RESOLVE_NO_XDEV, too."""
        self.assert_nothing(f"d = os.open('{self.d}', os.O_PATH)\nprint(openat2(d, b'../../../etc/shadow', 0, 8), openat2(d, b'/proc/version', 0, 1))", "EXDEV EXDEV\n")

    def test_requests_that_file_systems_refuse(self):
        self.assert_nothing("import fcntl\nfd = os.open('/usr/bin/env', 0)\nprint(attempt(fcntl.ioctl, fd, 0x40086602, struct.pack('=Q', 16)))",
                            "EPERM\n")

    def test_a_terminal_that_was_open(self):
        """The launcher's filter refuses TIOCSTI; a line for the terminal would not help."""
        master, terminal = os.openpty()
        try:
            self.assert_nothing("import fcntl\nprint(attempt(fcntl.ioctl, 0, 0x5412, b'x'))", "EPERM\n" if ABI >= 4 else "EIO\n", stdin=terminal)
        finally:
            os.close(master)
            os.close(terminal)

    def test_sealed_memory(self):
        self.assert_nothing("import fcntl\nfd = os.memfd_create('x', 2)\nos.write(fd, b'xx')\nfcntl.fcntl(fd, 1033, 2)\nprint(attempt(os.ftruncate, fd, 1))", "EPERM\n")

    def test_memory_that_is_not_to_be_executed(self):
        """It has no name to tell: that the call could not be looked at, is told."""
        found = self.python(PRELUDE + "fd = os.memfd_create('x', 8)\nprint(attempt(os.execve, fd, ['x'], {}))")
        self.assertEqual((found.answer.out, found.denials), ("EACCES\n", []))
        self.assertEqual(found.counts("unread"), [1])

    def test_protected_links(self):
        need_root()
        self.make("d/other", owner=54321, mode=0o600)
        self.assert_nothing(f"print(attempt(os.link, '{self.d}/other', '{self.d}/link'))", "EPERM\n", f"allow read_dir {self.d}")

    def test_emptying_what_cannot_be_emptied(self):
        """O_TRUNC is nothing to a device or a FIFO."""
        os.mkfifo(self.d / "fifo")
        os.chown(self.d / "fifo", ORDINARY, ORDINARY)
        text = f"allow read_file,write_file /dev/null {self.d}/fifo"
        self.assert_nothing(f"print(attempt(os.open, '/dev/null', os.O_WRONLY | os.O_TRUNC) > 2, attempt(os.open, '{self.d}/fifo', os.O_RDWR | os.O_TRUNC) > 2)", "True True\n", text)
        self.assert_met("print(attempt(os.open, '/dev/full', os.O_WRONLY | os.O_TRUNC))", "EACCES\n", ["allow write_file /dev/full"])


class LandlocksTest(ErrorTest):
    def test_in_a_root_of_its_own(self):
        """RESOLVE_IN_ROOT: /etc/passwd there is another file."""
        self.make_folder("d/etc", owner=ORDINARY)
        path = self.make("d/etc/passwd", owner=ORDINARY)
        (self.d / "link").symlink_to("/etc/passwd")
        code = f"d = os.open('{self.d}', os.O_PATH)\nprint(*(openat2(d, path, 0, 16) for path in (b'/etc/passwd', b'../../etc/passwd', b'link')))"
        found = self.assert_met(code, "EACCES EACCES EACCES\n", [f"allow read_file {path}"])
        self.assertEqual(found.denials[0]["count"], 3)

    def test_files_without_a_name(self):
        code = (f"one = os.open('{self.d}', os.O_TMPFILE | os.O_RDWR)\ntwo = os.open('{self.d}/two', os.O_CREAT | os.O_RDWR)\nos.unlink('{self.d}/two')\n"
                "print(attempt(os.ftruncate, one, 9), attempt(os.ftruncate, two, 9))")
        text = f"allow read_file,write_file,make_reg,remove_file {self.d}"
        if ABI >= 3:
            self.assert_met(code, "EACCES EACCES\n", [f"allow truncate {self.d}"], text)
            self.assert_met(code, "None None\n", [], f"{text}\nallow truncate {self.d}")

    def test_a_call_counts_once(self):
        """Whatever it needs."""
        found = self.python(f"try: open('{self.d}/new', 'w')\nexcept OSError: pass")
        self.assertEqual([(item["count"], len(item["rights"])) for item in found.denials], [(1, 3 if ABI >= 3 else 2)])

    def test_signals(self):
        """By a pidfd, to a group, to a process that may not be looked at."""
        if ABI < 6:
            return
        with subprocess.Popen(["/usr/bin/sleep", "100"], process_group=0, **as_user(ORDINARY)) as process:
            code = (f"pid = {process.pid}\nfd = os.pidfd_open(pid)\nprint(attempt(signal.pidfd_send_signal, fd, 0), attempt(os.kill, -pid, 0), call(297, pid, pid, 0, None))\n"
                    "print(attempt(os.kill, 1, 0))")
            found = self.python(PRELUDE + "import signal\n" + code)
            process.kill()
        self.assertEqual(found.answer.out.split()[:2], ["EPERM", "EPERM"])
        self.assertEqual([(item["rights"], item["line"]) for item in found.denials], [(["signal"], None)])
        self.assertIn(found.denials[0]["count"], (2, 3))

    def test_message_queues(self):
        """They are files of a file system of its own, mounted or not; here of an IPC namespace that goes with them."""
        need_root()
        self.reports.chmod(0o777)  # root has no capabilities
        name = f"/landlock-exec-test.{os.getpid()}"
        mounts = self.make("mounts.py", f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x08020000) == 0 and libc.mount(None, b"/", None, 0x44000, None) == 0
os.makedirs("/dev/mqueue", exist_ok=True)
if sys.argv[1] == "mounted": assert libc.mount(b"mqueue", b"/dev/mqueue", b"mqueue", 0, None) == 0
os.execv(sys.argv[2], sys.argv[2:])
""")
        code = f"print(call(240, b'{name[1:]}', os.O_RDWR | os.O_CREAT, 0o600, None))"
        for state, lines, unread in (("mounted", ["allow write_file,read_file /dev/mqueue"], 0), ("missing", [], 1)):
            with self.subTest(state):
                wrapper = ("/usr/bin/python3", mounts, state)
                is_mounted = "/dev/mqueue" in Path("/proc/mounts").read_text()
                if state == "missing" and is_mounted:
                    continue
                found = self.python(PRELUDE + code, uid=0, wrapper=wrapper)
                self.assertEqual((found.answer.out, found.lines, found.counts("unread")), ("EACCES\n", lines, [unread]), found.document)
                if lines:
                    found = self.python(PRELUDE + code, "\n".join(lines), uid=0, wrapper=wrapper)
                    self.assertNotEqual(found.answer.out, "EACCES\n")
                    self.assertEqual(found.denials, [])


class WatchedTest(ErrorTest):
    def test_a_thread_that_is_attached_to_while_it_executes(self):
        """Whoever attaches is not held: its call goes on, whatever has become of the thread."""
        code = """
import signal, threading, time
def child():
    def execute():
        time.sleep(0.001)
        os.execv("/bin/true", ["true"])
    thread = threading.Thread(target=execute)
    thread.start()
    time.sleep(10)
for _ in range(100):
    pid = os.fork()
    if pid == 0:
        child()
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        for tid in attempt(os.listdir, f"/proc/{pid}/task"):
            if tid.isdigit(): libc.ptrace(0x4206, int(tid), None, None)
    os.kill(pid, signal.SIGKILL)
    while os.waitpid(-1, 0x40000000)[0] != pid: pass  # __WALL: its threads are ours, too
print("ended")
"""
        found = self.python(PRELUDE + code, "allow read /proc")
        self.assertEqual(found.answer.out, "ended\n")
