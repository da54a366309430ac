"""check-container, the launcher's helper: only one that can be trusted, that ends well and says nothing lets a program run, and nothing
of the caller's reaches it."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

from harness import (AS_ROOT, CHECK_CONTAINER, HELPER_FOLDER, HELPERS, IS_SANITIZED, ORDINARY, OTHER, PYTHON, BubblewrapTest, as_user,
                     launcher_environment, wait_until)

CHECK = f"{HELPER_FOLDER}/check-container"
MACHINES_PROCESSES = {**AS_ROOT, "namespaces": "--unshare-ipc --unshare-net --cap-add ALL"}  # they can be seen from outside


def processes_of(file):
    """Those that execute this very file."""
    def executes(process):
        try:
            return os.path.samestat(os.stat(process / "exe"), os.stat(file))
        except OSError:
            return False
    return [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and executes(process)]


def libraries_of(program):
    return subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()


class HelperTest(BubblewrapTest):
    def behave(self, *commands):
        """A stand-in for the helper, which does as it is told (stand_in.c)."""
        (self.helper / "check-container").unlink(missing_ok=True)
        shutil.copy(HELPERS / "stand_in", self.helper / "check-container")
        self.make("helper/behaviour", "".join(f"{command}\n" for command in commands))

    def run_it(self, **keywords):
        return self.contained(self.describe, *self.operations("list /"), **keywords)

    def as_root(self, uid=ORDINARY, namespaces=AS_ROOT, inside=(), **keywords):
        """In a sandbox without a user namespace, and there as an ordinary user."""
        return self.run_it(changes=namespaces, uid=0, inside=(self.bin / "become", f"uid={uid}", "--", *inside), **keywords)


class Answers(HelperTest):
    def test_fine(self):
        """It is the trusted word, and says that it checked and nothing else."""
        for commands in (("checked", "exit 0"), ("checked", "complain what nobody reads", "exit 0"), ("checked", "flood 2", "exit 0"),
                         ("checked", "close 1", "close 2", "exit 0")):
            self.behave(*commands)
            with self.subTest(commands):
                outcome = self.run_it()
                self.assert_checked(outcome, "EACCES\n")
                self.assertNotIn("nobody", outcome.err)

    def test_anything_else_is_a_refusal(self):
        for commands, text in (
            (("exit 0",), "exit status 0)"),
            (("close 1", "exit 0"), "exit status 0)"),
            (("checked", "exit 1"), "exit status 1)"),
            (("checked", "checked", "exit 0"), "exit status 0)"),
            (("say x", "exit 0"), "exit status 0)"),
            (("finding x", "exit 0"), "exit status 0)"),
            (("exit 1",), "exit status 1)"),
            (("say not ended", "exit 1"), "exit status 1)"),
            (("finding x", "say not ended", "exit 1"), "exit status 1)"),
            (("exit 2",), "exit status 2)"),
            (("finding x", "exit 2"), "exit status 2)"),
            (("exit 3",), "exit status 3)"),
            (("exit 255",), "exit status 255)"),
            (("complain why", "exit 3"), "exit status 3): why\n"),
            (("complain why", "exit 1"), "exit status 1): why\n"),
            (("complain \x1b[31m\rwhy", "exit 2"), "exit status 2): \\x1b[31m\\x0dwhy\n"),
            (("flood 2", "exit 2"), "exit status 2)"),
            (("raise 9",), "killed by signal 9)"),
            (("raise 11",), "killed by signal 11)"),
            (("raise 15",), "killed by signal 15)"),
            (("finding x", "raise 6"), "killed by signal 6)"),
            (("complain why", "raise 9"), "killed by signal 9): why\n"),
        ):
            self.behave(*commands)
            for options in (("--max-abi", "1"), ("--max-abi", "2", "--dry-run")):
                with self.subTest(commands, options=options):
                    outcome = self.run_it(options=options)
                    self.assert_refused(outcome, "container", f"landlock-exec: container: the check failed ({text}")
                    self.assertEqual((outcome.findings, outcome.status["container"]), ([], None))
                    self.assertTrue(all(line.startswith("landlock-exec: ") for line in outcome.err.splitlines()), outcome.err)

    def test_findings(self):
        self.behave("finding one", "finding \x1b[31mtwo", "exit 1")
        outcome = self.run_it()
        self.assert_found(outcome, "one", "\x1b[31mtwo")
        self.assertIn("landlock-exec: container: \\x1b[31mtwo\n", outcome.err)
        self.assertIn("landlock-exec: container: 2 findings (", outcome.err)

    def test_a_flood(self):
        for commands in (("flood 1", "exit 1"), ("finding x", "flood 1", "wait")):
            self.behave(*commands)
            self.assert_refused(self.as_root(namespaces=MACHINES_PROCESSES), "container", "says too much")
            self.assertEqual(processes_of(self.helper / "check-container"), [])

    def test_one_that_does_not_end(self):
        """With its answer, and without: after ten seconds nothing runs, and it is gone."""
        cases = {"no answer": (("wait",), "did not end in time"), "an answer, and no end": (("close 1", "wait"), "did not end in time")}
        outcomes = {}

        def run(name, folder, helper):
            changes = {**MACHINES_PROCESSES, "helper": f"--tmpfs /usr/libexec --ro-bind {folder} {HELPER_FOLDER} --remount-ro /usr/libexec"}
            start = time.monotonic()
            outcome = self.contained(policy, *self.operations("list /"), changes=changes, uid=0, inside=(self.bin / "become", "uid=1000", "--"))
            outcomes[name] = outcome, time.monotonic() - start, processes_of(helper)

        policy, threads = self.policy(self.describe), []
        for name, (commands, _) in cases.items():
            self.behave(*commands)
            folder = shutil.copytree(self.helper, self.folder / name.replace(" ", "-"))
            threads.append(threading.Thread(target=run, args=(name, folder, folder / "check-container")))
            threads[-1].start()
        for thread in threads:
            thread.join()
        for name, (_, text) in cases.items():
            outcome, seconds, left = outcomes[name]
            with self.subTest(name):
                self.assert_refused(outcome, "container", text)
                self.assertTrue(10 <= seconds < 60, seconds)
                self.assertEqual(left, [])

    def test_no_helper_without_a_launcher(self):
        """One that waits ends with the launcher, however that ends."""
        self.behave("wait")
        helper = self.helper / "check-container"
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with subprocess.Popen([*self.bubblewrap(**MACHINES_PROCESSES), self.bin / "become", "uid=1000", "--", self.launcher, "--max-abi", "2",
                                   "-p", self.policy(self.describe), "--", self.attempt], stderr=subprocess.DEVNULL) as process:
                wait_until(lambda: processes_of(helper))
                for launcher in processes_of(self.launcher):
                    os.kill(launcher, number)
                wait_until(lambda: not processes_of(helper))
                self.assertNotEqual(process.wait(10), 0)


class Trust(HelperTest):
    def test_files(self):
        """What is there in the helper's place."""
        file = self.helper / "check-container"

        def link(target):
            file.unlink()
            file.symlink_to(target)

        def special(make):
            file.unlink()
            make(file)

        for name, change, text in (
            ("missing", file.unlink, ": No such file or directory"),
            ("symbolic link to itself", lambda: link("check-container"), ": is not a regular file"),
            ("symbolic link to the right one", lambda: (shutil.copy(file, self.helper / "real"), link("real")), ": is not a regular file"),
            ("folder", lambda: special(os.mkdir), ": is not a regular file"),
            ("FIFO", lambda: special(os.mkfifo), ": is not a regular file"),
            ("writable by the group", lambda: file.chmod(0o775), ": others may write it"),
            ("writable by others", lambda: file.chmod(0o757), ": others may write it"),
            ("not executable", lambda: file.chmod(0o644), "(exit status 2): executing it: Permission denied"),
            ("empty", lambda: file.write_bytes(b""), "(exit status 2): executing it: Exec format error"),
            ("garbage", lambda: file.write_bytes(b"\1\2\3\4" * 10), "(exit status 2): executing it: Exec format error"),
            ("a script", lambda: file.write_text("#!/bin/sh\nexit 0\n"), "(exit status 2): "),
        ):
            shutil.rmtree(self.helper)
            self.make_folder("helper")
            shutil.copy(CHECK_CONTAINER, file)
            change()
            with self.subTest(name):
                for uid, outcome in ((ORDINARY, self.run_it()), (0, self.as_root())):
                    self.assert_refused(outcome, "container", text)
                    self.assertEqual(outcome.findings, [], uid)

    def test_owners(self):
        """Root's, or the caller's own. Without a user namespace, which would hide whose it is."""
        file = self.helper / "check-container"
        for owner, is_trusted in ((0, True), (ORDINARY, True), (OTHER, False), (65534, False)):
            os.chown(file, owner, owner)
            with self.subTest(owner):
                outcome = self.as_root()
                if is_trusted:
                    self.assert_checked(outcome, "EACCES\n")
                else:
                    self.assert_refused(outcome, "container", f"{CHECK}: belongs to another user")

    def test_no_folder(self):
        for helper in ("", "--tmpfs /usr/libexec --remount-ro /usr/libexec"):
            if helper or not os.path.exists(HELPER_FOLDER):
                self.assert_refused(self.run_it(changes={"helper": helper}), "container", f"{CHECK}: No such file or directory")

    def test_missing_libraries(self):
        """The loader's own words are in the message."""
        libraries = dict(re.findall(r"(\S+) => (\S+)", libraries_of(CHECK_CONTAINER)))
        for name in ("libmount.so.1", "libcap-ng.so.0"):
            hidden = os.path.realpath(libraries[name])
            with self.subTest(name):
                outcome = self.run_it(changes={"hidden": f"--ro-bind /dev/null {hidden}"})
                self.assert_refused(outcome, "container", "container: the check failed (exit status 127): ", "packages libcap-ng0 and libmount1",
                                    f"error while loading shared libraries: {name}: cannot open shared object file")
        if "libc.so.6" not in libraries_of(self.launcher):
            nothing = self.make_folder("nothing")
            outcome = self.run_it(changes={"hidden": f"--ro-bind {nothing} {os.path.dirname(hidden)}"})
            self.assert_refused(outcome, "container", "(exit status 2): executing it: No such file or directory")  # not even the loader


class Surroundings(HelperTest):
    def described(self, **keywords):
        """What a helper says that it was given."""
        self.behave("describe", "exit 1")
        outcome = self.run_it(**keywords)
        self.assert_refused(outcome, "container")
        return outcome.findings

    def test_what_it_is_given(self):
        """Three descriptors, no environment, what it is to look at: the same whatever the caller has open."""
        fds = [os.dup(0) for _ in range(3)]
        self.addCleanup(lambda: [os.close(fd) for fd in fds])
        secrets = {"AI_INTERPRETER_SERVICE_TOKEN": "s3cret", "LD_PRELOAD": "", "PATH": "/tmp"}
        plain = self.described()
        self.assertEqual(plain[:5], ["fd 0 /dev/null", "fd 1 pipe", "fd 2 pipe", "argument check-container", "argument uid=1000"])
        self.assertEqual({line.partition("=")[0] for line in plain[4:]},
                         {f"argument {key}" for key in ("uid", "preset", "read-only", "writable", "held")})
        passed = [word for fd in fds for word in ("--pass-fd", str(fd))]
        findings = self.described(options=("--max-abi", "2", *passed), pass_fds=fds, env=secrets, input=b"secret")
        self.assertEqual([re.sub(r"=\d+:", "=N:", line) for line in findings], [re.sub(r"=\d+:", "=N:", line) for line in plain])  # the mounts

    def test_the_program_inherits_nothing_of_it(self):
        """No child, not even one that has ended; no descriptor; no signal."""
        for inside in ((), ("/usr/bin/env", "--ignore-signal=CHLD"), ("/usr/bin/env", "--block-signal=CHLD"),
                       ("/usr/bin/env", "--block-signal"), ("/usr/bin/env", "--ignore-signal=CHLD,PIPE,USR1", "--block-signal=CHLD")):
            with self.subTest(inside):
                operations = ["child", *(f"fd {fd}" for fd in range(3, 64))]
                self.assert_checked(self.contained(self.describe, *self.operations(*operations), inside=inside), "ECHILD\n" + "EBADF\n" * 61)
                outcome = self.contained(f"{self.describe}allow execute,read /usr /bin /lib -/lib64\nallow read /proc", "/usr/bin/cat",
                                         "/proc/self/status", inside=inside)
                state = dict(line.split(":\t", 1) for line in outcome.out.splitlines() if ":\t" in line)
                chld = 1 << signal.SIGCHLD - 1
                self.assertEqual([state[name] for name in ("SigPnd", "ShdPnd")], ["0" * 16] * 2)
                self.assertEqual([bool(int(state[name], 16) & chld) for name in ("SigIgn", "SigBlk")],
                                 [any(word.startswith("--ignore") for word in inside), any(word.startswith("--block") for word in inside)])

    def test_a_signal_that_was_pending_stays(self):
        code = ("import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); os.kill(os.getpid(), int(sys.argv[1]));"
                "os.execv(sys.argv[2], sys.argv[2:])")
        for number in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM):
            outcome = self.contained(f"{self.describe}allow execute,read /usr /bin /lib -/lib64\nallow read /proc", "/usr/bin/grep", "ShdPnd",
                                     "/proc/self/status", inside=(PYTHON, "-ISc", code, str(int(number))))
            self.assert_checked(outcome, f"ShdPnd:\t{1 << number - 1:016x}\n")

    def test_signals_change_no_answer(self):
        for inside in (("/usr/bin/env", "--ignore-signal=CHLD"), ("/usr/bin/env", "--block-signal"), ("/usr/bin/env", "--ignore-signal")):
            self.behave("finding x", "exit 1")
            self.assert_found(self.run_it(inside=inside), "x")
            self.behave("exit 3")
            self.assert_refused(self.run_it(inside=inside), "container", "(exit status 3)")

    def test_limits(self):
        """Too few processes or descriptors for the helper: nothing runs unless it answered."""
        outcome = self.run_it(inside=("/usr/bin/prlimit", "--nproc=1"), in_domain=True)
        self.assert_refused(outcome, "container", "Resource temporarily unavailable")
        for extra in ("", "--tmpfs /mnt/folder"):
            codes = set()
            for limit in range(3, 16):
                outcome = self.run_it(inside=("/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"), changes={"extra": extra}, in_domain=True)
                if not outcome.lines and (IS_SANITIZED or "error while loading shared libraries" in outcome.err):
                    continue  # a dynamic launcher that did not even start
                codes.add(outcome.code)
                if outcome.code == 0:
                    self.assert_checked(outcome, "EACCES\n")
                else:
                    self.assertEqual((outcome.code, outcome.out, [line["event"] for line in outcome.lines]),
                                     (125, "", ["refused"] * len(outcome.lines)))
            self.assertEqual(codes, {125} if extra else {0, 125})


class CallersEnvironment(HelperTest):
    """Variables that would change the answer if the helper saw them: run by hand it does."""

    def by_hand(self, environment):
        return subprocess.run([*self.bubblewrap(extra="--tmpfs /mnt/folder"), CHECK, "uid=1000", "preset=bubblewrap"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**launcher_environment(), **environment}, check=False, **as_user(ORDINARY))

    def test_nothing_of_it_is_seen(self):
        forge = shutil.copy(HELPERS / "libforge.so", self.folder)
        self.make_folder("libraries")
        for name in ("libmount.so.1", "libcap-ng.so.0"):
            shutil.copy(forge, self.folder / "libraries" / name)
        self.make_folder("path/landlock-exec")
        shutil.copy("/usr/bin/true", self.folder / "path/check-container")
        shutil.copy("/usr/bin/true", self.folder / "path/landlock-exec/check-container")
        honest = self.by_hand({})
        self.assertEqual(honest.returncode, 1, honest)
        for environment, changes in (  # and what they would change
            ({"LD_PRELOAD": forge}, lambda forged: forged.returncode == 0 and not forged.stdout),
            ({"LD_AUDIT": forge}, lambda forged: forged.returncode == 0 and not forged.stdout),
            ({"LD_LIBRARY_PATH": f"{self.folder}/libraries"}, lambda forged: forged.returncode == 127),
            ({"LD_DEBUG": "all"}, lambda forged: b"libmount.so.1" in forged.stderr),
            ({"PATH": f"{self.folder}/path:/usr/bin"}, None),
            ({"GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.perturb=1", "MALLOC_PERTURB_": "1"}, None),
            ({"LIBMOUNT_DEBUG": "all", "LIBMOUNT_MTAB": "/dev/null", "LIBMOUNT_FSTAB": "/dev/null", "LIBMOUNT_UTAB": "/dev/null"}, None),
            ({"CAPNG_DEBUG": "1", "POSIXLY_CORRECT": "1", "LC_ALL": "ru_RU.UTF-8", "LANGUAGE": "ru", "TMPDIR": "/nowhere"}, None),
        ):
            if IS_SANITIZED:
                environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
            with self.subTest(environment):
                if changes:
                    self.assertTrue(changes(self.by_hand(environment)), self.by_hand(environment))
                outcome = self.run_it(changes={"extra": "--tmpfs /mnt/folder"}, env=environment, in_domain=True)
                self.assert_refused(outcome, "container")
                self.assertEqual(outcome.findings, ["/mnt/folder is a writable mount that the policy does not name (tmpfs, source tmpfs, root /)"])
                self.assert_checked(self.run_it(env=environment, in_domain=True), "EACCES\n")
