"""Ways around the check of the container: files from outside that the program has without opening them, mounts out of sight, and a /proc, a
helper or limits that a caller has prepared. Each is refused, nothing has run, and the counterpart runs."""

import json
import os
import socket
import platform
import shutil

from harness import AS_ROOT, BUBBLEWRAP, IS_COVERED, IS_SANITIZED, ORDINARY, PYTHON, BubblewrapTest, need, words

OLD = ("--max-abi", "2")
BARE = "container uid 1000\ncontainer capabilities none\ncontainer writable bubblewrap\n"
ROOTLESS = f"{BARE}container read-only /usr\ndirectory /usr\n"  # nothing of the root
HELD = "lies on a mount that is not the container's, and could be truncated or connected to there"
UNLISTED = "/ lies on a mount that /proc/self/mountinfo does not list"
STRANGER = "is a writable mount that the policy does not name (tmpfs, source tmpfs, root /)"

# What root does in the sandbox before it becomes the caller.
PREPARE = """
import ctypes, os, sys
libc, pid = ctypes.CDLL(None, use_errno=True), os.getpid()

def call(name, *arguments):
    arguments = [os.fsencode(word) if isinstance(word, str) else ctypes.c_long(word or 0) for word in arguments]
    result = getattr(libc, name)(*arguments)
    assert result >= 0, (name, os.strerror(ctypes.get_errno()))
    return result

def mount(source, point, kind=None, flags=0, data=None):
    call("mount", source, point, kind, flags, data)

def bind(source, point):
    mount(source, point, None, 4096)
    mount(None, point, None, 4096 | 32 | 1)

def fake(path, text):
    open(path, "w").write(text)
    os.chmod(path, 0o644)
    return path

def fill(count, name):
    os.chdir("/tmp")
    for number in range(count):
        os.mkdir(name(number))
        mount("tmpfs", name(number), "tmpfs")

def go_down(length):
    os.chdir("/tmp")
    for _ in range(length // 250 + 1):
        os.mkdir("x" * 249)
        os.chdir("x" * 249)

{}
os.chdir("/")
os.execv(sys.argv[1], sys.argv[1:])
"""

# A file system of FUSE with a folder `sub`, on which something is mounted; then it answers no more.
SILENT = """
import struct
attributes = lambda node: struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
ANSWERS = {26: lambda node: struct.pack("<4I2HI", 7, 31, 0, 0, 0, 0, 65536).ljust(64, bytes(1)),  # INIT
           1: lambda node: struct.pack("<4Q2I", 2, 0, 0, 0, 0, 0) + attributes(2),                # LOOKUP
           3: lambda node: struct.pack("<QII", 0, 0, 0) + attributes(node)}                       # GETATTR

def serve(fuse):
    while True:
        _, operation, unique, node = struct.unpack_from("<IIQQ", os.read(fuse, 1 << 17))
        if operation in ANSWERS and not os.path.exists("/tmp/silent"):
            answer = ANSWERS[operation](node)
            os.write(fuse, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)

fuse = os.open("/dev/fuse", os.O_RDWR)
os.mkdir("/tmp/fuse")
mount("fuse", "/tmp/fuse", "fuse", 1, f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other")
if os.fork() == 0:
    serve(fuse)
bind("/etc", "/tmp/fuse/sub")
os.close(fuse)
open("/tmp/silent", "w")
"""

# A program that fails prctl(PR_CAPBSET_READ, …), with {1}, before it executes another one; {0} is the number of prctl(2).
FILTER = """
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, {0}), (0x20, 0, 0, 16), (0x15, 0, 1, 23), (6, 0, 0, 0x50000 | {1}), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
assert libc.prctl(23, 21, 0, 0, 0) == -1
os.execv(sys.argv[1], sys.argv[1:])
"""


class EscapesTest(BubblewrapTest):
    """With a file outside the container that the caller could truncate."""

    changes = AS_ROOT

    def setUp(self):
        super().setUp()
        self.victim = self.make("victim", "precious", 0o600, ORDINARY)

    def run_it(self, *operations, policy="", **keywords):
        return self.contained(self.describe + policy, *self.operations(*(operations or ("list /",))), **keywords)

    def prepared(self, code, caller="uid=1000", inside=(), extra="", **keywords):
        """As an ordinary user, after root has prepared the container."""
        become = (self.bin / "become", *caller.split(), "--")
        return self.run_it(changes={**self.changes, "extra": extra}, uid=0, inside=(PYTHON, "-ISc", PREPARE.replace("{}", code), *become, *inside), **keywords)

    def assert_nothing_ran(self, outcome, *findings):
        self.assert_found(outcome, *findings)
        self.assertEqual(self.victim.read_text(), "precious")

    def assert_check_failed(self, outcome, *texts):
        self.assert_refused(outcome, "container", *texts)
        self.assertEqual((outcome.findings, outcome.status["container"]), ([], None))


class HandedOver(EscapesTest):
    """What the program would have without opening it."""

    def open(self, path, flags):
        fd = os.open(path, flags)
        self.addCleanup(os.close, fd)
        return fd

    def test_streams(self):
        for name, fd in (("stdin", 0), ("stdout", 1)):
            stream = {"stdin": "standard input", "stdout": "standard output"}[name]
            for flags in (os.O_RDONLY, os.O_PATH):
                with self.subTest(stream, flags=flags):
                    outcome = self.run_it(f"truncate /proc/self/fd/{fd}", **{name: self.open(self.victim, flags)})
                    self.assert_nothing_ran(outcome, f"{stream} {HELD}")
                    self.assertIn("hint: bwrap: hand over a pipe in its place: cat FILE | ...", outcome.err)

    def test_streams_that_give_nothing_more(self):
        self.assert_checked(self.run_it("truncate /proc/self/fd/0", input=b"precious"), "EINVAL\n")
        for flags in (os.O_WRONLY, os.O_RDWR | os.O_APPEND):
            output = self.make("output", "", 0o600, ORDINARY)
            self.assert_checked(self.run_it(stdout=self.open(output, flags)))
            self.assertEqual(output.read_text(), "EACCES\n")

    def test_where_landlock_stops_it(self):
        outcome = self.run_it("truncate /proc/self/fd/0", options=(), stdin=self.open(self.victim, os.O_RDONLY))
        self.assert_ran(outcome, "EACCES\n")
        self.assertEqual((outcome.status["container"], self.victim.read_text()), ("not-needed", "precious"))

    def test_descriptors(self):
        """A folder leads to all that is beside it."""
        below = f"/{self.victim.name}"
        for path, flags, way in ((self.victim, os.O_RDONLY, ""), (self.victim, os.O_PATH, ""), (self.folder, os.O_RDONLY, below),
                                 (self.folder, os.O_PATH, below), (self.chat, os.O_RDONLY, f"/..{below}")):
            fd = self.open(path, flags)
            with self.subTest(path, flags=flags):
                outcome = self.run_it(f"truncate /proc/self/fd/{fd}{way}", options=(*OLD, "--pass-fd", str(fd)), pass_fds=(fd,))
                self.assert_nothing_ran(outcome, f"a file passed with --pass-fd {HELD}")

    def test_a_socket(self):
        """Open with O_PATH it is a way to whoever listens there."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.folder / "socket"))
            (self.folder / "socket").chmod(0o666)
            listener.listen()
            outcome = self.run_it("unix /proc/self/fd/0", stdin=self.open(self.folder / "socket", os.O_PATH))
        self.assert_nothing_ran(outcome, f"standard input {HELD}")

    def outside_read_only(self, path, way=""):
        """Descriptor 9 is open there on a mount that is read-only, outside the container."""
        ordinary = f"setpriv --reuid {ORDINARY} --regid {ORDINARY} --clear-groups"
        commands = f'mount --bind -o ro {self.chat} {self.chat}; exec {ordinary} "$@" 9< {path}'
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", commands, "sh",
                   *self.bubblewrap(sandbox="--tmpfs /sandbox"))
        return self.launch(self.describe, *self.operations(f"truncate /proc/self/fd/9{way}"), uid=0, options=(*OLD, "--pass-fd", "9"),
                           wrapper=wrapper)

    def test_a_read_only_mount_outside(self):
        """Its files are safe; from a folder there is a way to the others."""
        file = self.make("chat/file", "precious", 0o600, ORDINARY)
        self.assert_checked(self.outside_read_only(file), "EROFS\n")
        self.assertEqual(file.read_text(), "precious")
        self.assert_nothing_ran(self.outside_read_only(self.chat, f"/../{self.victim.name}"), f"a file passed with --pass-fd {HELD}")

    def test_files_of_the_container(self):
        self.make("chat/own", "lost", 0o600, ORDINARY)
        for path, result in (("/sandbox/own", "OK"), ("/etc/passwd", "EACCES"), (self.helper.parent / "victim", "EROFS")):
            with self.subTest(path):
                outcome = self.run_it("truncate /proc/self/fd/0", inside=("/bin/sh", "-c", f'exec "$@" < {path}', "sh"))
                self.assert_checked(outcome, f"{result}\n")

    def test_working_directory(self):
        """Where the policy names none, it is the caller's."""
        fd = self.open(self.folder, os.O_RDONLY)
        outside = {"inside": ("/usr/bin/env", "-C", f"/proc/self/fd/{fd}"), "pass_fds": (fd,)}
        self.assert_nothing_ran(self.run_it("truncate victim", **outside), f"the working directory {HELD}")
        self.make("chat/own", "lost", 0o600, ORDINARY)
        self.assert_checked(self.run_it("truncate own", policy="directory /sandbox", **outside), "OK\n")
        self.assert_checked(self.run_it("truncate own", inside=("/usr/bin/env", "-C", "/sandbox")), "OK\n")
        self.assert_ran(self.run_it("truncate victim", options=(), **outside), "EACCES\n")
        self.assertEqual(self.victim.read_text(), "precious")


class Root(EscapesTest):
    def changed(self, jail):
        """Runs in a root directory in the container: `jail` is where it is there, made of the folder `chat`."""
        inner = {"root": f"--ro-bind {self.chat} {jail}" if jail == "/mnt/folder" else f"--bind {self.folder} /mnt/folder",
                 "system": f"--ro-bind /usr {jail}/usr", "kernel": f"--proc {jail}/proc --dev {jail}/dev",
                 "helper": BUBBLEWRAP["helper"].replace("/usr/libexec", f"{jail}/usr/libexec"),
                 "tree": f"--ro-bind {{tree}} {jail}{{tree}}"}
        changes = {**AS_ROOT, "tmp": "", "script": "", "sandbox": "", **{f"inner {key}": option for key, option in inner.items()}}
        return {"changes": changes, "uid": 0, "inside": ("/usr/sbin/chroot", jail, self.bin / "become", "uid=1000", "--")}

    def test_a_folder(self):
        """The mount that holds it is not listed."""
        shutil.copytree(self.root, self.chat, symlinks=True, dirs_exist_ok=True)
        victim = self.make("chat/victim", "precious", 0o600, ORDINARY)
        command = self.operations("truncate /victim")
        for policy in (ROOTLESS, f"{ROOTLESS}container read-only /\n"):
            with self.subTest(policy):
                self.assert_nothing_ran(self.contained(policy, *command, **self.changed("/mnt/folder/chat")), UNLISTED)
                self.assertEqual(victim.read_text(), "precious")
            self.assert_checked(self.contained(policy, *command, **self.changed("/mnt/folder")), "EROFS\n")

    def test_two(self):
        """What is mounted over the root of a process is reached by /.. only."""
        twice = "/ is mounted 2 times: the one below is reached by /.."
        self.assert_nothing_ran(self.prepared('mount("over", "/", "tmpfs", 1)'), twice)
        outcome = self.prepared('mount("over", "/", "tmpfs")')
        self.assert_refused(outcome, "container", twice)
        self.assertIn("/ is a writable mount", " ".join(outcome.findings))


class Faked(EscapesTest):
    """What is mounted, read-only, on the files of /proc that the check reads, and what keeps it from asking."""

    describe = f"{BARE}container read-only /\n"
    changes = {**AS_ROOT, "tmp": "", "sandbox": ""}

    def test_files(self):
        state = "Name:\\tx\\nUid:\\t1000 1000 1000 1000\\n" + "".join(f"Cap{name}:\\t0\\n" for name in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
        hint = "cannot be read: Invalid cross-device link; something is mounted on it: leave that out"
        missing = ": /proc is missing, or is not that of this PID namespace"
        cases = (
            ("status", f'bind(fake("/dev/fake", "{state}"), f"/proc/{{pid}}/status")', hint),
            ("status of another", 'bind("/proc/1/status", f"/proc/{pid}/status")', hint),
            ("a process", 'bind("/proc/1", f"/proc/{pid}")', hint),
            ("a process, a folder", f'os.mkdir("/dev/a"); fake("/dev/a/status", "{state}"); bind("/dev/a", f"/proc/{{pid}}")', hint),
            ("all, a folder",
             f'os.makedirs(f"/dev/a/{{pid}}"); fake(f"/dev/a/{{pid}}/status", "{state}"); bind("/dev/a", "/proc")', missing),
        )
        for name, code, text in cases[:2] if IS_SANITIZED else cases:  # the sanitizers themselves need /proc/self
            for caller in ("uid=1000", "uid=1001", "uid=1000 bounding=21"):
                with self.subTest(name, caller=caller):
                    self.assert_check_failed(self.prepared(code, caller), "container: the check failed (exit status 2): /proc", text)

    def test_self(self):
        """A symbolic link on the symbolic link, by open_tree(2) and move_mount(2)."""
        code = """
os.mkdir("/dev/a")
fake("/dev/a/mountinfo", next(line for line in open("/proc/self/mountinfo") if line.split()[4] == "/"))
os.symlink({!r}, "/dev/link")
call("syscall", 429, call("syscall", 428, -100, "/dev/link", 0x101), "", os.open("/proc/self", os.O_PATH | os.O_NOFOLLOW), "", 0x44)
mount("tmpfs", "/run", "tmpfs")
"""
        for target in ("/dev/a", "../dev/a", "1", *(f"{pid}{way}" for pid in range(2, 8) for way in ("", "/../../dev/a"))):
            with self.subTest(target):
                outcome = self.prepared(code.format(target))
                self.assert_refused(outcome, "container")
                if outcome.findings:  # by luck it named the helper, and made no difference
                    self.assertIn(f"/run {STRANGER}", outcome.findings)

    def test_mountinfo(self):
        """That of the launcher is not the one that the helper reads."""
        for code in ('bind("/etc/passwd", f"/proc/{pid}/mountinfo")', 'bind(fake("/dev/fake", ""), f"/proc/{pid}/mountinfo")'):
            self.assert_nothing_ran(self.prepared(f'{code}\nmount("tmpfs", "/run", "tmpfs")'), f"/run {STRANGER}")

    def test_the_last_capability(self):
        """What the kernel says is the last one: a file that says another, the kernel's or not."""
        for source in ("/dev/fake", "/proc/sys/kernel/randomize_va_space", "/etc/passwd"):
            code = f'fake("/dev/fake", "0\\n"); bind("{source}", "/proc/sys/kernel/cap_last_cap")'
            with self.subTest(source):
                outcome = self.prepared(code, "uid=1000 bounding=21")
                self.assert_refused(outcome, "container")  # the capability's name may be unknown then
                self.assertRegex("\n".join(outcome.findings), "^the bounding capability set is not empty: (cap_sys_admin|capability 21)$")

    def test_a_filter(self):
        """The bounding set cannot be asked for."""
        need(platform.machine() in ("x86_64", "aarch64"), "the number of prctl(2)")
        number = {"x86_64": 157, "aarch64": 167}[platform.machine()]
        for failure in (1, 22):
            for caller, *findings in (("uid=1000",), ("uid=1000 bounding=21", "the bounding capability set is not empty: cap_sys_admin")):
                with self.subTest(caller, failure=failure):
                    outcome = self.prepared("", caller, inside=(PYTHON, "-ISc", FILTER.format(number, failure)))
                    if findings:
                        self.assert_nothing_ran(outcome, *findings)
                    else:
                        self.assert_checked(outcome)
        outcome = self.prepared("", "uid=1000 bounding=all", inside=(PYTHON, "-ISc", FILTER.format(number, 1)))
        self.assert_refused(outcome, "container", "the bounding capability set is not empty: cap_chown, ")


class Others(EscapesTest):
    def test_nobody(self):
        """A number for all the users that have none in this user namespace, root among them."""
        enter = words("/usr/bin/unshare --user --keep-caps /usr/bin/setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --")
        policy = self.describe.replace("uid 1000", "uid 65534")
        command = self.operations("truncate /sandbox/root")
        nobody = "UID 65534 stands for any user that this user namespace does not map"
        for keywords in ({}, {"changes": {**AS_ROOT, "namespaces": "--unshare-ipc --unshare-pid --unshare-net --cap-add ALL"}, "uid": 0}):
            file = self.make("chat/root", "precious", 0o600, 0)
            with self.subTest(keywords):
                self.assert_nothing_ran(self.contained(policy, *command, inside=enter, **keywords), nobody)
                self.assertEqual(file.read_text(), "precious")
        outcome = self.contained(policy, *command, changes={"user": "--uid 65534 --gid 65534"})  # a user, if of this number
        self.assert_checked(outcome, "EACCES\n")

    def test_a_helper_that_says_nothing(self):
        for program in ("true", "echo"):
            shutil.copy(f"/usr/bin/{program}", self.helper / "check-container")
            with self.subTest(program):
                self.assert_check_failed(self.run_it(), "landlock-exec: container: the check failed (exit status 0)")

    def test_file_size_limit(self):
        """What is said goes through pipes, which have no size."""
        if IS_COVERED:
            self.skipTest("the counts of coverage go to files")
        for limit in ("0", "1"):
            inside = ("/usr/bin/prlimit", f"--fsize={limit}")
            with self.subTest(limit):
                self.assert_checked(self.run_it(inside=inside), "EACCES\n")
                self.assert_found(self.run_it(inside=inside, changes={"extra": "--tmpfs /run"}), f"/run {STRANGER}")
        (self.helper / "check-container").write_bytes(b"\1\2\3\4")
        self.assert_check_failed(self.run_it(inside=("/usr/bin/prlimit", "--fsize=0")), "(exit status 2): executing it: Exec format error")

    def test_a_file_system_that_does_not_answer(self):
        """Who waits for it cannot even be killed: the helper is left to the kernel, and nothing runs."""
        need(os.path.exists("/dev/fuse"), "FUSE")
        outcome = self.prepared(SILENT, extra="--dev-bind /dev/fuse /dev/fuse")
        self.assert_refused(outcome, "container", "check-container: did not end in time", "hint: a mount that does not answer")

    def test_many_mounts(self):
        """As many are told as can be."""
        for name in ("str", "lambda number: f'{number}' * 40", "lambda number: f'{number:0240}'"):
            with self.subTest(name):
                outcome = self.prepared(f"fill(3000, {name})", options=(*OLD, "--status-fd", "2"), status=False)  # more than a pipe holds
                self.assert_refused(outcome, "container")
                status = json.loads(outcome.err)
                self.assertEqual((status["event"], status["reason"]), ("refused", "container"))
                self.assertTrue(20 <= len(status["findings"]) <= 100 and len(outcome.err) < 65536, len(outcome.err))
                *findings, last = status["findings"]
                self.assertEqual(last["message"], "there is more, which is not told")
                for finding in findings:
                    self.assertTrue(finding["message"].startswith("/tmp/") and finding["message"].endswith(STRANGER), finding)

    def test_a_long_name(self):
        """Longer than a path may be: it cannot be looked at, and is a finding all the same."""
        for length in (4000, 4096, 9000):
            with self.subTest(length):
                outcome = self.prepared(f'go_down({length}); mount("tmpfs", ".", "tmpfs")\nmount("tmpfs", "/run", "tmpfs")')
                point = "/tmp" + f"/{'x' * 249}" * (length // 250 + 1)
                self.assert_nothing_ran(outcome, f"{point} {STRANGER}", f"/run {STRANGER}")
