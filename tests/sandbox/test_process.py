"""What the program inherits: descriptors, environment, privileges, terminal, signals, limits, exit status."""

import fcntl
import os
import pty
import resource
import signal
import subprocess
import termios

from harness import ABI, ORDINARY, PATIENCE, PYTHON, USERS, SandboxTest, as_user, launcher_environment, need_root, said

SHELL = "allow execute,read /usr /bin /lib -/lib64\nallow read /proc\nallow read_file,write_file,truncate /dev/null\n"


class Descriptors(SandboxTest):
    def test_only_those_passed(self):
        fds = [os.dup(0) for _ in range(4)]
        self.addCleanup(lambda: [os.close(fd) for fd in fds])
        kept = fds[1], fds[3]
        operations = [f"fd {fd}" for fd in range(256)]
        for uid in USERS:
            outcome = self.launch("", *self.operations(*operations), uid=uid, pass_fds=fds,
                                  options=[word for fd in kept for word in ("--pass-fd", str(fd))])
            self.assert_ran(outcome)
            is_open = [fd for fd, answer in enumerate(outcome.out.split()) if answer == "OK"]
            self.assertEqual(is_open, sorted({0, 1, 2, *kept}))

    def test_passing_one_that_is_not_open(self):
        self.assert_refused(self.launch("", self.attempt, options=["--pass-fd", "200"]), "descriptor", "--pass-fd 200: it is not open")
        for value in ("x", "-1", "", "99999999999", "3,4"):
            self.assert_refused(self.launch("", self.attempt, options=["--pass-fd", value]), "usage")

    def test_the_status_descriptor_is_not_passed(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        outcome = self.launch("", self.attempt, status=False, pass_fds=[writing],
                              options=["--pass-fd", str(writing), "--status-fd", str(writing)])
        self.assert_refused(outcome, "descriptor", "it is the status descriptor")

    def test_unusable_status_descriptors(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, writing)
        for fd, text in ((200, "not open for writing"), (reading, "not open for writing"), (0, "belong to the program"), (1, "belong")):
            outcome = self.launch("", self.attempt, status=False, pass_fds=[reading], options=["--status-fd", str(fd)])
            self.assert_refused(outcome, None, text)
        os.close(reading)
        outcome = self.launch("", self.attempt, status=False, pass_fds=[writing], options=["--status-fd", str(writing)], in_domain=True)
        self.assert_refused(outcome, None, "the status line cannot be written: Broken pipe")
        with open("/dev/full", "wb") as full:
            outcome = self.launch("", self.attempt, status=False, pass_fds=[full.fileno()], in_domain=True,
                                  options=["--status-fd", str(full.fileno())])
        self.assert_refused(outcome, None, "No space left on device")

    def test_directories_on_standard_streams(self):
        for flags in (os.O_RDONLY, os.O_PATH):
            for number in (0, 1, 2):
                fd = os.open("/etc", flags | os.O_DIRECTORY)
                with self.subTest(number, flags=flags):
                    outcome = self.launch("allow read /etc", self.attempt, **{("stdin", "stdout", "stderr")[number]: fd})
                    self.assertEqual((outcome.code, outcome.reason), (125, "descriptor"))
                    self.assertIn(f"descriptor {number} is a directory", outcome.status["message"])
                os.close(fd)

    def test_closed_standard_streams(self):
        """They lead to /dev/null, so that no file the program opens takes their place."""
        for closed in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            out = self.make("out", "", 0o666)
            words = " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" for fd in closed)
            report = f"for fd in 0 1 2; do readlink /proc/self/fd/$fd; done > {out}"
            policy = self.policy(f"{SHELL}\nallow write {out}")
            done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {words}', "sh", self.launcher, "-p", policy, "--", "/bin/sh", "-c", report],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
            links = out.read_text().split()
            self.assertEqual((done.returncode, [fd for fd, link in enumerate(links) if link == "/dev/null" and fd != 1]),
                             (0, [fd for fd in closed if fd != 1]), (closed, done, links))

    def test_a_false_dev_null(self):
        """A file in its place is not written to: nothing is started."""
        need_root()
        false = self.make("false", "", 0o666)
        done = subprocess.run(["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                               f'mount --bind {false} /dev/null; exec "$@" >&-', "sh", self.launcher, "-p", self.policy(""), "--",
                               self.attempt], stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, false.read_text()), (125, ""), done)
        self.assertIn(b"descriptor 1 is closed and /dev/null cannot stand in for it", done.stderr)

    def test_too_few_descriptors_are_no_excuse(self):
        """Where the proof cannot be made for want of descriptors, nothing runs; a program that runs has been proven."""
        for limit in range(3, 12):
            outcome = self.launch("", self.attempt, wrapper=("/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"), status=False,
                                  options=("--verbose",))
            if outcome.code == 125 or "error while loading shared libraries" in outcome.err:  # the latter: a dynamic launcher
                continue
            self.assertEqual(outcome.code, 0, outcome)
            self.assertIn("proof: read_dir /", outcome.err, limit)

    def test_refusals_with_nowhere_to_write(self):
        """The exit status stays 125 where standard error is closed or nobody reads it."""
        broken = "\n".join(["alow read /usr"] * 500)
        for text in (broken, "allow read /nowhere"):
            policy = self.policy(text)
            for redirect in ("2>&-", ">&- 2>&- <&-", "2>/dev/full"):
                done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", self.launcher, "-p", policy, "--", self.attempt], check=False)
                self.assertEqual(done.returncode, 125, redirect)
            reading, writing = os.pipe()
            os.close(reading)
            done = subprocess.run([self.launcher, "-p", policy, "--", self.attempt], stderr=writing)
            os.close(writing)
            self.assertEqual(done.returncode, 125)


class Environment(SandboxTest):
    def run_env(self, policy, env, **keywords):
        outcome = self.launch(SHELL + policy, "/bin/sh", "-c", "tr '\\0' '\\n' < /proc/self/environ", env=env, **keywords)
        self.assert_ran(outcome)
        return sorted(outcome.out.splitlines())

    def test_nothing_but_what_the_policy_makes(self):
        secrets = {"AI_INTERPRETER_SERVICE_TOKEN": "s3cret", "LD_PRELOAD": "/nowhere.so", "TZ": "UTC", "LC_ALL": "C", "EMPTY": "",
                   "TOKEN_A": "1", "TOKEN_B": "2", "XTOKEN_A": "3"}
        for policy, expected in (
            ("", []),
            ("environment keep TZ", ["TZ=UTC"]),
            ("environment keep LC_*", ["LC_ALL=C"]),
            ("environment keep TOKEN_*\nenvironment set TOKEN_B=mine", ["TOKEN_A=1", "TOKEN_B=mine"]),
            ("environment keep EMPTY NOT_THERE TZZ T", ["EMPTY="]),
            ('environment set A="x y" B= C=a=b D=${d}\ndefine d "1 2"', ["A=x y", "B=", "C=a=b", "D=1 2"]),
            ("environment set A=1\nenvironment set A=2", ["A=2"]),
        ):
            for uid in USERS:
                with self.subTest(policy, uid=uid):
                    self.assertEqual(self.run_env(policy, secrets, uid=uid), expected)

    def test_the_program_is_sought_in_the_policys_path(self):
        for name, folder in (("one", "first"), ("two", "second")):
            self.make_folder(folder)
            self.make(f"{folder}/tool", f"#!/bin/sh\necho {name}\n", 0o755)
        allow = SHELL + f"allow execute,read {self.folder}\n"
        path = {"PATH": f"{self.folder}/second:{self.folder}/first"}
        self.assert_ran(self.launch(allow + f"environment set PATH={self.folder}/first:{self.folder}/second", "tool", env=path), "one\n")
        self.assert_ran(self.launch(allow + "environment keep PATH", "tool", env=path), "two\n")
        self.assert_refused(self.launch(allow, "tool", env=path), "program-not-found", "it was looked for in /usr/local/bin:", code=127)
        self.assert_refused(self.launch(allow + "environment set PATH=second:.::", "tool", cwd=self.folder), "program-not-found", code=127)
        self.make("first/tool", "", 0o644)
        self.assert_ran(self.launch(allow + f"environment set PATH={self.folder}/first:{self.folder}/second", "tool"), "two\n")


class Privileges(SandboxTest):
    def state(self, **keywords):
        outcome = self.launch("allow execute,read /usr /lib -/lib64\nallow read /proc", "/usr/bin/cat", "/proc/self/status", **keywords)
        self.assert_ran(outcome)
        return dict(line.split(":\t", 1) for line in outcome.out.splitlines() if ":\t" in line)

    def test_capabilities_and_no_new_privs(self):
        none = "0" * 16
        for uid in USERS:
            state = self.state(uid=uid)
            self.assertEqual([state[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Amb")], [none] * 4)
            self.assertEqual((state["NoNewPrivs"], state["Seccomp"]), ("1", "2" if ABI >= 4 else "0"))  # the filter, from the first network right on
            if uid == 0:
                self.assertEqual(state["CapBnd"], none)

    def test_ambient_capabilities(self):
        need_root()
        state = self.state(uid=0, wrapper=("/usr/bin/setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups",
                                           "--inh-caps", "+net_raw,+chown", "--ambient-caps", "+net_raw,+chown"), in_domain=True)
        self.assertEqual({state[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Amb")}, {"0" * 16})

    def test_limits(self):
        cases = (  # the policy, the caller's soft and hard limit, what holds
            ("limit nofile 100", (200, 300), (100, 100)), ("limit nofile 250", (200, 300), (200, 250)),
            ("limit nofile 400", (200, 300), (200, 300)), ("", (200, 300), (200, 300)))
        code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))"
        for text, before, after in cases:
            for uid in USERS:
                with self.subTest(text, uid=uid):
                    outcome = self.launch(f"{SHELL}allow read /etc\n{text}", PYTHON, "-ISc", code, uid=uid,
                                          preexec_fn=lambda before=before: resource.setrlimit(resource.RLIMIT_NOFILE, before))
                    self.assert_ran(outcome, f"{after} (0, 0)\n")

    def test_core_dumps_stay_off(self):
        outcome = self.launch(SHELL + "limit core 1G\nlimit fsize 1K\nlimit cpu 60", "/usr/bin/cat", "/proc/self/limits")
        self.assert_ran(outcome)
        rows = {line[:25].strip(): line[25:].split()[:2] for line in outcome.out.splitlines()}
        self.assertEqual((rows["Max core file size"], rows["Max file size"], rows["Max cpu time"]),
                         (["0", "0"], ["1024", "1024"], ["60", "60"]))

    def test_limits_hold(self):
        out = self.make("out", "", 0o666)
        outcome = self.launch(f"{SHELL}allow write {out}\nlimit fsize 1K", "/bin/sh", "-c", f"head -c 4096 /proc/self/maps /bin/sh > {out}")
        self.assertNotEqual(outcome.code, 0)
        self.assertEqual(out.stat().st_size, 1024)


class Terminals(SandboxTest):
    """TIOCSTI would type into the caller's shell."""

    def on_terminal(self, command, streams=(0, 1, 2)):
        """Runs a command with a terminal of its own on those streams: the exit status, and what was written to it or a pipe."""
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        out = self.make("terminal-out", "", 0o666).open("r+b")
        files = [slave if fd in streams else out.fileno() for fd in range(3)]

        def control():
            os.setsid()
            fcntl.ioctl(files[0] if 0 in streams else slave, termios.TIOCSCTTY, 0)
        try:
            done = subprocess.run([os.fspath(word) for word in command], stdin=files[0], stdout=files[1], stderr=files[2],
                                  preexec_fn=control, timeout=PATIENCE, **as_user(ORDINARY))
            written = b""
            fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
            try:
                while part := os.read(master, 65536):  # a page at most at a time
                    written += part
            except BlockingIOError:
                pass
            out.seek(0)
            return done.returncode, said(written + out.read()).decode().split()
        finally:
            os.close(master)
            os.close(slave)
            out.close()

    typing = ("sti {}", "linux {}", "sti64 {}", "winsize {}")

    def launch_on(self, fd, operations, streams=(0, 1, 2)):
        words = self.operations(*(operation.format(fd) for operation in operations))
        return self.on_terminal([self.launcher, "-p", self.policy(""), "--", *words], streams)

    def test_typing_is_refused(self):
        bare = self.on_terminal(self.operations(*(operation.format(0) for operation in self.typing)))
        self.assertIn(bare[1][0], ("OK", "EIO"))  # EIO: dev.tty.legacy_tiocsti is 0
        self.assertEqual(bare[1][1], "ENOTTY")
        for streams in ((0, 1, 2), (0,), (1,), (2,)):
            for fd in streams:
                with self.subTest(fd, streams=streams):
                    code, answers = self.launch_on(fd, self.typing, streams)
                    self.assertEqual((code, answers[-4:]), (0, ["EPERM", "EPERM", "EPERM", "OK"]))

    def test_calls_of_other_architectures(self):
        code, answers = self.launch_on(0, ["sti32 {}"])
        if code == -signal.SIGSEGV:
            self.skipTest("the kernel has no 32-bit system calls")
        self.assertEqual((code, answers[-1]), (0, "ENOSYS"))

    def test_a_terminal_that_is_passed(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        outcome = self.launch("", *self.operations(f"linux {slave}", f"winsize {slave}"), pass_fds=[slave], options=["--pass-fd", str(slave)])
        self.assert_ran(outcome, "EPERM\nOK\n")

    def test_nothing_else_is_refused(self):
        """The filter looks at ioctl(2) only: other calls may have any second argument."""
        numbers = range(3, 600)
        code, answers = self.launch_on(0, [f"dup2 0 {number}" for number in numbers], streams=(0,))
        self.assertEqual((code, [n for n, answer in zip(numbers, answers[-len(numbers):]) if answer != "OK"]), (0, []))


class Signals(SandboxTest):
    def test_dispositions_and_mask_pass_through(self):
        def change():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])

        def mask(*signals):
            return sum(1 << number - 1 for number in signals)
        for prepare, ignored, blocked in ((change, (signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE), (signal.SIGUSR2, signal.SIGTERM)),
                                          (lambda: None, (), ())):
            outcome = self.launch(SHELL, "/usr/bin/cat", "/proc/self/status", preexec_fn=prepare)
            state = dict(line.split(":\t", 1) for line in outcome.out.splitlines() if ":\t" in line)
            self.assertEqual((int(state["SigIgn"], 16), int(state["SigBlk"], 16)), (mask(*ignored), mask(*blocked)))

    def test_the_program_has_the_launchers_pid(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            child = subprocess.Popen([self.launcher, "-p", self.policy(SHELL), "--", "/bin/sh", "-c", "echo $$; exec sleep 30"],
                                     stdout=subprocess.PIPE, env={})
            self.assertEqual(int(child.stdout.readline()), child.pid)
            child.send_signal(number)
            self.assertEqual(child.wait(10), -number)
            child.stdout.close()

    def test_the_programs_death_is_its_own(self):
        for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGPIPE, signal.SIGUSR1):
            self.assertEqual(self.launch(SHELL, "/bin/sh", "-c", f"kill -{int(number)} $$").code, -number)


class WorkingDirectory(SandboxTest):
    # A child that shares the working directory and the umask: clone(2) with CLONE_FS.
    sharing = """if True:
        import ctypes, os, signal, sys
        CLONE_FS, NUMBER = 0x200, {"x86_64": 56, "aarch64": 220}[os.uname().machine]
        child = ctypes.CDLL(None).syscall(NUMBER, CLONE_FS | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os.execv(sys.argv[1], sys.argv[1:])
        status = os.waitpid(child, 0)[1]
        print(status, os.getcwd(), os.umask(0))
        """

    def test_one_that_is_shared(self):
        """The program changes its own alone."""
        program = ["/bin/sh", "-c", "cd /usr; umask 0"]
        command = [PYTHON, "-ISc", self.sharing]
        answers = [subprocess.run([os.fspath(word) for word in (*command, *launcher, *program)], stdout=subprocess.PIPE, check=True, cwd="/",
                                  umask=0o27, env=launcher_environment()).stdout
                   for launcher in ((), (self.launcher, "--policy", self.policy(SHELL), "--"))]
        self.assertEqual(answers, [b"0 /usr 0\n", b"0 / 23\n"])


class ExitStatus(SandboxTest):
    def test_the_programs_own(self):
        """125 to 127 too: the status line tells them from the launcher's."""
        for code in (0, 1, 2, 64, 124, 125, 126, 127, 128, 255):
            for uid in USERS:
                outcome = self.launch(SHELL, "/bin/sh", "-c", f"exit {code}", uid=uid)
                self.assertEqual((outcome.code, outcome.status["event"], len(outcome.lines)), (code, "starting", 1))

    def test_programs_that_cannot_be_executed(self):
        self.make("plain", "#!/bin/sh\n", 0o644)
        self.make("empty", "", 0o755)
        self.make("garbage", b"\x01\x02\x03\x04" * 10, 0o755)
        self.make("lost", "#!/nowhere/interpreter\n", 0o755)
        self.make("script", "#!/bin/sh\nexit 3\n", 0o755)
        self.make("truncated", b"\x7fELF\x02\x01\x01", 0o755)
        self.make_folder("folder")
        os.mkfifo(self.folder / "fifo", 0o755)
        allow = f"allow execute,read {self.folder}\n"
        cases = (  # program, exit status, reason, message
            ("/nowhere/program", 127, "program-not-found", "not found: No such file or directory"),
            (f"{self.folder}/missing", 127, "program-not-found", "not found"),
            (f"{self.folder}/plain/x", 127, "program-not-found", "not found: Not a directory"),
            ("no-such-program", 127, "program-not-found", "not found"),
            (f"{self.folder}/lost", 127, "program-not-found", "No such file or directory"),
            (f"{self.folder}/plain", 126, "program-not-executable", "cannot execute: Permission denied"),
            (f"{self.folder}/folder", 126, "program-not-executable", "cannot execute: Is a directory"),
            (f"{self.folder}/fifo", 126, "program-not-executable", "cannot execute"),
            (f"{self.folder}/empty", 126, "program-not-executable", "Exec format error"),
            (f"{self.folder}/garbage", 126, "program-not-executable", "Exec format error"),
            (f"{self.folder}/truncated", 126, "program-not-executable", ""),
            (f"{self.folder}/script", 126, "program-not-executable", "/bin/sh: cannot execute: the policy does not allow it"),
            ("/usr/bin/cat", 126, "program-not-executable", "the policy does not allow it"),
            ("", 127, "program-not-found", "not found"),
        )
        for program, code, reason, text in cases:
            for uid in USERS:
                with self.subTest(program, uid=uid):
                    outcome = self.launch(allow, program, uid=uid, in_domain=True)
                    self.assert_refused(outcome, reason, text, code=code)
        self.assertEqual(self.launch(SHELL + allow, f"{self.folder}/script").code, 3)
        self.assertEqual(self.launch(SHELL + allow + "directory " + str(self.folder), "./script").code, 3)

    def test_no_program(self):
        self.assert_refused(self.launch("", ), "usage", "no program: neither the command line nor the policy (run) names one")
        self.assert_ran(self.launch(f"run {self.attempt} list /"), "EACCES\n")
        self.assert_ran(self.launch(f"run {self.attempt} list /", self.attempt, "path", "/"), "OK\n")

    def test_streams_pass_unchanged(self):
        data = os.urandom(1 << 20)
        with self.make("out", "").open("wb") as out:
            self.assertEqual(self.launch(SHELL, "/usr/bin/cat", input=data, stdout=out).code, 0)
        self.assertEqual((self.folder / "out").read_bytes(), data)
        outcome = self.launch(SHELL, "/bin/sh", "-c", "cat >&2; echo out", input=b"err\n")
        self.assertEqual((outcome.out, outcome.err), ("out\n", "err\n"))
        with self.make("seek", "0123456789").open("rb") as file:
            file.seek(5)
            fcntl.fcntl(file, fcntl.F_SETFL, os.O_NONBLOCK)
            outcome = self.launch(SHELL, "/usr/bin/cat", stdin=file)
            self.assertTrue(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK)
        self.assertEqual(outcome.out, "56789")

    def test_working_directory(self):
        self.make_folder("work")
        for policy, cwd, expected in (("", self.folder, self.folder), (f"directory {self.folder}/work", "/", self.folder / "work")):
            self.assert_ran(self.launch(SHELL + policy, "/bin/sh", "-c", "pwd -P", cwd=cwd), f"{expected}\n")
        self.assert_refused(self.launch(f"directory {self.make('file')}", self.attempt), "path", "is not a directory")
        self.assert_refused(self.launch("directory /nowhere", self.attempt), "path", "No such file or directory")
