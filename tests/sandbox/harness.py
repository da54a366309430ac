"""What the sandbox tests share: a tree of files outside /tmp, the launcher and the helpers in it, users, and launches.

The environment tells where things are: LANDLOCK_EXEC (the launcher), CHECK_CONTAINER (its helper), SANDBOX_HELPERS (the folder of the
tests' own helpers), SOURCE (the project). SANDBOX_FOLDER: where the tree is made, if not in /var/lib. With REQUIRE_ALL a test that
this machine cannot do fails; else it is skipped.
"""

import ctypes
import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

LAUNCHER = Path(os.environ["LANDLOCK_EXEC"])
CHECK_CONTAINER = Path(os.environ["CHECK_CONTAINER"])
HELPERS = Path(os.environ["SANDBOX_HELPERS"])
SOURCE = Path(os.environ["SOURCE"])
IS_SANITIZED = os.environ.get("SANITIZED", "0") in ("1", "ON", "TRUE")
IS_COVERED = os.environ.get("COVERED", "0") in ("1", "ON", "TRUE")
REQUIRE_ALL = os.environ.get("REQUIRE_ALL", "0") not in ("", "0", "OFF", "FALSE")

IS_ROOT = os.geteuid() == 0
ORDINARY = 1000 if IS_ROOT else os.geteuid()
USERS = (0, ORDINARY) if IS_ROOT else (ORDINARY,)
OTHER = 54321  # a user who has nothing to do with it
PATIENCE = 120  # seconds for one process: a busy machine needs a part of it

PYTHON = "/usr/bin/python3"


def system_call(*arguments):
    result = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    return result if result >= 0 else -ctypes.get_errno()


ABI = system_call(444, None, ctypes.c_size_t(0), 1)  # the kernel's, by landlock_create_ruleset(2)


def need(condition, what):
    """Passes over a test that this machine cannot do, or fails it where nothing may be passed over."""
    if condition:
        return
    if REQUIRE_ALL:
        raise AssertionError(f"REQUIRE_ALL is set, and this test needs {what}")
    raise unittest.SkipTest(f"needs {what}")


def report(name, line):
    """What a test has to tell of a run: its counts, above all. Printed, and where REPORTS names a folder kept in a file of that name there."""
    print(f"\n{line}", flush=True)
    if os.environ.get("REPORTS"):
        with open(Path(os.environ["REPORTS"], f"{name}.txt"), "a", encoding="utf-8") as file:
            print(line, file=file)


def need_root():
    need(IS_ROOT, "root")


def as_user(uid):
    """What subprocess needs to start something as that user."""
    return {"user": uid, "group": uid, "extra_groups": []} if IS_ROOT and uid else {}


def in_many_groups():
    """What makes root an ordinary user of 10,000 groups, and runs a command."""
    return ("/usr/bin/setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--groups", ",".join(map(str, range(1, 10001))))


def wait_until(condition):
    """A moment, or a minute on a busy machine."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not come to pass")
        time.sleep(0.002)


def launcher_environment(in_domain=False):
    """The caller's environment. A leak check cannot be made inside the restriction, where the launcher may end (in_domain)."""
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    if IS_SANITIZED:
        environment["ASAN_OPTIONS"] = f"detect_leaks={0 if in_domain else 1}"
    return environment


def said(stderr):
    """Standard error without what gcov says where it cannot write its counts: inside the restriction, and as another user."""
    if not IS_COVERED:
        return stderr
    return b"".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(b"profiling:"))


def words(options, **places):
    """The words of options that are given as a text, with places filled in, or of a list as it is."""
    return [word.format(**places) for word in shlex.split(options)] if isinstance(options, str) else [os.fspath(word) for word in options]


@dataclasses.dataclass
class Outcome:
    """Of a launch: the exit status (negative: the signal), both outputs as text, and the status lines."""

    code: int
    out: str
    err: str
    lines: list

    @property
    def status(self):
        return self.lines[-1] if self.lines else None

    @property
    def reason(self):
        return self.status and self.status["reason"]

    @property
    def findings(self):
        """What is amiss with the container."""
        return [finding["message"] for finding in self.status["findings"]]


class SandboxTest(unittest.TestCase):
    """A class has a tree (self.tree: bin and the shipped policies), a test a folder in it (self.folder)."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        need(ABI > 0, "Landlock")
        parent = os.environ.get("SANDBOX_FOLDER", "/var/lib" if IS_ROOT else "/var/tmp")
        cls.tree = Path(tempfile.mkdtemp(prefix="landlock-exec-test.", dir=parent))
        cls.addClassCleanup(shutil.rmtree, cls.tree)
        cls.tree.chmod(0o755)
        cls.bin = cls.tree / "bin"
        cls.bin.mkdir()
        for file in (LAUNCHER, *(HELPERS / name for name in ("attempt", "answer", "abi_supervisor", "become"))):
            shutil.copy(file, cls.bin / file.name)
        cls.launcher = cls.bin / LAUNCHER.name
        cls.attempt = cls.bin / "attempt"
        shutil.copytree(SOURCE / "policy", cls.tree / "policy")
        for path in (cls.tree / "policy").iterdir():
            path.chmod(0o644)
        (cls.tree / "policy").chmod(0o755)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="case.", dir=self.tree))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    # ---- Files ----

    def make(self, name, text="content\n", mode=0o644, owner=None):
        """A file below the test's folder; `name` may be an absolute path."""
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        return self.dress(path, mode, owner)

    def make_folder(self, name, mode=0o755, owner=None):
        path = self.folder / name
        path.mkdir(parents=True)
        return self.dress(path, mode, owner)

    def dress(self, path, mode, owner):
        if owner is not None and IS_ROOT:
            os.chown(path, owner, owner)
        path.chmod(mode)
        return path

    def policy(self, text, name="test.policy", mode=0o644, owner=None):
        """A policy file that says `text` from its second line on, and allows the helper `attempt`."""
        return self.make(name, f"policy 1\n{text}\nallow execute,read_file {self.attempt}\n", mode, owner)

    # ---- Launches ----

    def launch(self, policy, *command, uid=ORDINARY, options=(), define=None, status=True, wrapper=(), launcher=None, env=None,
               in_domain=False, pass_fds=(), **keywords):
        """Runs the launcher. `policy`: the text for self.policy(), a file, or None. `status`: by a descriptor of its own; False: none."""
        if isinstance(policy, str):
            policy = self.policy(policy)
        reading, writing = os.pipe()
        arguments = [*wrapper, launcher or self.launcher, *(["--policy", policy] if policy else []), *options]
        if status:
            arguments += ["--status-fd", str(writing)]
        for name, value in (define or {}).items():
            arguments += ["--define", f"{name}={value}"]
        try:
            done = subprocess.run([os.fspath(word) for word in (*arguments, "--", *command)],
                                  env={**launcher_environment(in_domain), **(env or {})},
                                  pass_fds=(*pass_fds, writing) if status else pass_fds, timeout=PATIENCE, **as_user(uid),
                                  **self.streams(keywords), **keywords)
        finally:
            os.close(writing)
        with open(reading, encoding="utf-8") as stream:
            lines = [json.loads(line) for line in stream]
        return Outcome(done.returncode, self.text(done.stdout), self.text(said(done.stderr or b"")), lines)

    @staticmethod
    def streams(keywords):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if "input" not in keywords:
            streams["stdin"] = subprocess.DEVNULL
        return {key: value for key, value in streams.items() if key not in keywords}

    @staticmethod
    def text(output):
        return (output or b"").decode("utf-8", "surrogateescape")

    def operations(self, *operations):
        """The command line of `attempt` for operations, each a text to be split at blanks, or a list."""
        command = [self.attempt]
        for operation in operations:
            words = operation.split() if isinstance(operation, str) else [os.fspath(word) for word in operation]
            command += [","] * (len(command) > 1) + words
        return command

    def attempts(self, policy, *operations, **keywords):
        """What the operations give inside the policy: a list of "OK" and errno names."""
        outcome = self.launch(policy, *self.operations(*operations), **keywords)
        self.assertEqual(outcome.code, 0, outcome)
        return outcome.out.split()

    def unrestricted(self, *operations, uid=ORDINARY):
        """The same without the launcher, for comparison."""
        return subprocess.run([os.fspath(word) for word in self.operations(*operations)], stdout=subprocess.PIPE, check=True,
                              **as_user(uid)).stdout.decode().split()

    # ---- Assertions ----

    def assert_table(self, policy, table, **keywords):
        """`table`: operations and what each must give."""
        got = self.attempts(policy, *(operation for operation, _ in table), **keywords)
        self.assertEqual(list(zip((o for o, _ in table), got)), table)

    def assert_refused(self, outcome, reason, *texts, code=125):
        self.assertEqual((outcome.code, outcome.out), (code, ""), outcome)
        if outcome.lines:
            self.assertEqual((outcome.status["event"], outcome.reason), ("refused", reason), outcome)
        for text in texts:
            self.assertIn(text, outcome.err)

    def assert_ran(self, outcome, out=None, code=0):
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.status["event"], "starting")
        if out is not None:
            self.assertEqual(outcome.out, out)


class InterpreterTest(SandboxTest):
    """With what interpreter.policy needs: a chat's directory, a temporary one and the bootstrap, for one user at a time."""

    def chat(self, uid=ORDINARY):
        for name in ("sandbox", "tmp"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            self.make_folder(name, 0o700, uid)
        script = self.folder / "main.py"
        shutil.copy(SOURCE / "policy" / "main.py", script)
        script.chmod(0o644)
        return {"sandbox": self.folder / "sandbox", "tmp": self.folder / "tmp", "script": script}

    def python(self, code, uid=ORDINARY, command=(), define=None, **keywords):
        """Runs code as the service does: the policy's `run`, the code on standard input."""
        data = code if isinstance(code, bytes) else code.encode()
        return self.launch(self.tree / "policy" / "interpreter.policy", *command, uid=uid, define=define or self.chat(uid), input=data,
                           **keywords)


HELPER_FOLDER = "/usr/libexec/landlock-exec"

# What makes a container with bubblewrap. The keys are for those who leave something out or put something else in its place.
BUBBLEWRAP = {
    "namespaces": "--unshare-all --die-with-parent --new-session",
    "user": "--uid 1000 --gid 1000",
    "root": "--ro-bind {root} /",
    "system": "--ro-bind /usr /usr --ro-bind /etc /etc",
    "kernel": "--proc /proc --dev /dev",
    "helper": "--tmpfs /usr/libexec --ro-bind {helper} /usr/libexec/landlock-exec --remount-ro /usr/libexec",
    "tree": "--ro-bind {tree} {tree}",
    "tmp": "--tmpfs /tmp",
    "script": "--ro-bind {tree}/policy/main.py /opt/main.py",
    "sandbox": "--bind {chat} /sandbox",
}
AS_ROOT = {"namespaces": "--unshare-ipc --unshare-pid --unshare-net --die-with-parent --cap-add ALL", "user": ""}  # and of the same users


class BubblewrapTest(SandboxTest):
    """In a container that bubblewrap makes: by an ordinary user, or by root for the test to choose what remains of it (AS_ROOT). The
    root directory is a folder of root's, the tree is where it is outside, the helper where the launcher seeks it. A test has a
    chat (self.chat), which is on /sandbox, and the helper's folder (self.helper)."""

    describe = ("container uid 1000\ncontainer capabilities none\ncontainer read-only /\ncontainer writable bubblewrap /sandbox /tmp\n"
                "allow read,write,create,remove /sandbox /tmp\n")

    @classmethod
    def setUpClass(cls):
        need_root()
        need(shutil.which("bwrap"), "bubblewrap")
        super().setUpClass()
        cls.root = cls.tree / "root"
        for name in ("usr", "etc", "proc", "dev", "tmp", "opt", "sandbox", "mnt/odd", "mnt/folder", "run", cls.tree.relative_to("/")):
            (cls.root / name).mkdir(parents=True)
        for name in ("opt/main.py", "mnt/file"):
            (cls.root / name).touch()
        for name in ("bin", "lib", "lib64", "sbin"):
            if os.path.islink(f"/{name}"):
                (cls.root / name).symlink_to(os.readlink(f"/{name}"))
        done = subprocess.run(["/usr/bin/bwrap", *words("--unshare-all --ro-bind / /"), "/usr/bin/true"], stderr=subprocess.PIPE, check=False,
                              **as_user(ORDINARY))
        need(done.returncode == 0, f"user namespaces: {done.stderr.decode()}")

    def setUp(self):
        super().setUp()
        self.chat = self.make_folder("chat", 0o700, ORDINARY)
        self.helper = self.make_folder("helper")
        shutil.copy(CHECK_CONTAINER, self.helper / "check-container")

    def bubblewrap(self, **changes):
        """The command line before the program's. `changes`: other options for a key of BUBBLEWRAP, or for a new one."""
        places = {"root": self.root, "tree": self.tree, "folder": self.folder, "helper": self.helper, "chat": self.chat}
        return ["/usr/bin/bwrap", *(word for options in {**BUBBLEWRAP, **changes}.values() for word in words(options, **places))]

    def contained(self, policy, *command, changes=None, inside=(), options=("--max-abi", "2"), **keywords):
        """A launch in the container. `inside`: what runs the launcher there."""
        return self.launch(policy, *command, wrapper=(*self.bubblewrap(**(changes or {})), *inside), options=options, **keywords)

    def assert_checked(self, outcome, out=None):
        self.assert_ran(outcome, out)
        self.assertEqual((outcome.status["container"], outcome.findings), ("checked", []))

    def assert_found(self, outcome, *findings):
        """Refused for just these, in whatever order."""
        self.assert_refused(outcome, "container")
        self.assertEqual((sorted(outcome.findings), outcome.status["container"]), (sorted(findings), None))
