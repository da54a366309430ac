"""What the file is: links, special files, modes, owners, directories, and others who call at the same time."""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import unittest

from command import GOOD, KEY, TokenTest, state
from harness import IS_SANITIZED, ORDINARY, OTHER, USERS, as_user, launcher_environment, need, need_root

LINE = f"{KEY}={GOOD}\n"


class Kinds(TokenTest):
    def test_a_missing_file_is_made(self):
        self.assert_refused(self.check(), "missing", "there is no such file")
        for mask in (0o022, 0, 0o777):
            self.assert_done(self.ensure(umask=mask), "added")
            self.assert_added(b"")
            self.file.unlink()

    def test_a_symbolic_link_is_refused(self):
        target = self.folder / "target"
        for text in (LINE, "", None):
            if text is not None:
                target.write_text(text)
            self.file.symlink_to("target")
            for answer in (self.ensure(), self.check()):
                self.assert_refused(answer, "link", "name the file that it leads to")
            self.assertTrue(self.file.is_symlink())
            self.assertEqual(target.exists() and target.read_text(), text if text is not None else False)
            self.file.unlink()
            target.unlink(missing_ok=True)

    def test_a_directory_may_be_a_link(self):
        """Only the file itself must not be one."""
        (self.folder / "real").mkdir()
        os.chown(self.folder / "real", ORDINARY, ORDINARY)
        (self.folder / "link").symlink_to("real")
        self.assertEqual(self.ask("ensure", "link/.env").code, 0)
        self.assertRegex((self.folder / "real/.env").read_text(), rf"\A{KEY}=[0-9a-f]{{64}}\n\Z")

    def test_what_is_no_regular_file_is_refused_at_once(self):
        """Nobody opens the other end of the FIFO, and the time-out is a failure."""
        os.mkfifo(self.folder / "fifo", 0o666)
        (self.folder / "folder").mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.fspath(self.folder / "socket"))
            for name, kind in (("fifo", "a FIFO"), ("folder", "a directory"), ("socket", "a socket"), ("/dev/null", "a device"), ("/dev/tty", "a device"),
                               (".", "a directory"), ("..", "a directory")):
                for subcommand in ("ensure", "check"):
                    self.assert_refused(self.ask(subcommand, name), "kind", kind)
        for name in ("folder/", "./", "/"):
            self.assert_refused(self.ask("ensure", name), "kind", "a directory")
            self.assert_refused(self.ask("check", name), "kind", "a directory")

    def test_a_wrong_path(self):
        self.write(LINE)
        for subcommand in ("ensure", "check"):
            self.assert_refused(self.ask(subcommand, "none/.env"), "missing")
            self.assert_refused(self.ask(subcommand, ".env/x"), "missing")
            self.assert_refused(self.ask(subcommand, ".env/"), "missing")
            self.assert_refused(self.ask(subcommand, ""), "usage")
            self.assert_refused(self.ask(subcommand, "x" * 256), "system", "File name too long")
            self.assert_refused(self.ask(subcommand, "x/" * 3000), "system", "File name too long")
        self.assertEqual(self.file.read_text(), LINE)


class Modes(TokenTest):
    def test_the_mode_becomes_600(self):
        for uid in USERS:
            for mode in (0o644, 0o640, 0o400, 0o700, 0o666, 0o601, 0o4600):
                was = f"mode 600 (was {mode:03o})"
                with self.subTest(uid=uid, mode=f"{mode:o}"):
                    self.write("A=1\n", mode)
                    self.assert_done(self.ensure(uid=uid), f"added, {was}")
                    self.assert_added(b"A=1\n")
                    self.write(LINE, mode)
                    before = state(self.file)
                    self.assert_done(self.ensure(uid=uid), f"kept, {was}")
                    after = state(self.file)
                    self.assertEqual((after[0], after[2:6]), (before[0], before[2:6]), "more than the mode has changed")
                    self.assertEqual(self.file.stat().st_mode & 0o7777, 0o600)

    def test_private_is_what_group_and_others_cannot_touch(self):
        for mode in (0o600, 0o400, 0o700):
            self.write(LINE, mode)
            self.assertEqual(self.check().code, 0, oct(mode))
        for mode in (0o644, 0o640, 0o604, 0o610, 0o602, 0o666):
            self.write(LINE, mode)
            self.assert_refused(self.check(), "exposed", f"{mode:o}", "service-token ensure .env")

    def test_a_file_that_may_not_be_read(self):
        for mode in (0o200, 0):
            self.write(LINE, mode)
            for answer in (self.ensure(), self.check()):
                self.assert_refused(answer, "permission", "Permission denied")

    def test_owner_and_group_are_kept(self):
        need_root()
        for owner, group in ((ORDINARY, ORDINARY), (ORDINARY, OTHER), (0, 0), (OTHER, ORDINARY)):
            self.write("A=1\n", 0o644, owner, group)
            self.assert_done(self.ensure(uid=0), "added, mode 600 (was 644)")
            status = self.file.stat()
            self.assertEqual((status.st_uid, status.st_gid), (owner, group))
        self.write("A=1\n", 0o644, ORDINARY, OTHER)
        self.assert_done(self.ensure(group=ORDINARY, extra_groups=[OTHER]), "added, mode 600 (was 644)")
        self.assertEqual((self.file.stat().st_uid, self.file.stat().st_gid), (ORDINARY, OTHER))

    def test_where_they_cannot_be_kept_nothing_is_done(self):
        need_root()
        for owner, group, mode in ((OTHER, OTHER, 0o644), (ORDINARY, OTHER, 0o644), (0, ORDINARY, 0o640)):
            self.write("A=1\n", mode, owner, group)
            before = state(self.file)
            self.assert_refused(self.ensure(), "permission", "its owner and group cannot be kept")
            self.assertEqual((state(self.file), self.left_over()), (before, []))
        self.write(LINE, 0o644, OTHER)
        self.assert_refused(self.ensure(), "permission", "its mode")


class Directories(TokenTest):
    def test_a_directory_that_may_not_be_written_to(self):
        self.write("A=1\n")
        self.folder.chmod(0o555)
        self.assert_refused(self.ensure(), "permission", "no file can be made beside it", "it takes the owner")
        self.assertEqual(self.file.read_text(), "A=1\n")
        self.file.write_text(LINE)
        self.assert_done(self.ensure(), "kept")

    def test_a_directory_that_may_not_be_listed(self):
        self.write(LINE)
        self.folder.chmod(0o311)
        self.assert_refused(self.ensure(), "permission", "its directory")
        self.assertEqual(self.check().code, 0)

    def test_a_read_only_file_system(self):
        need_root()
        script = 'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" && exec "$@"'
        wrapper = ("unshare", "--mount", "sh", "-ec", script, "sh")
        self.write("A=1\n")
        self.assert_refused(self.ensure(uid=0, wrapper=wrapper), "permission", "Read-only file system")
        self.file.unlink()
        self.assert_refused(self.ensure(uid=0, wrapper=wrapper), "permission", "Read-only file system")
        self.write(LINE)
        self.assert_done(self.ensure(uid=0, wrapper=wrapper), "kept")
        self.write(LINE, 0o644)
        self.assert_refused(self.ensure(uid=0, wrapper=wrapper), "permission", "Read-only file system")

    def test_a_full_disk(self):
        need_root()
        script = ('mkdir disk && mount -t tmpfs -o size=64k tmpfs disk && cd disk && printf "A=1\\n" >.env && chmod 644 .env && '
                  'dd if=/dev/zero of=fill bs=4096 2>/dev/null || true; "$@"; status=$?; ls -A; cat .env; exit $status')
        answer = self.ensure(uid=0, wrapper=("unshare", "--mount", "sh", "-c", script, "sh"))
        self.assertEqual((answer.code, answer.refusal, answer.out), (2, "space", ".env\nfill\nA=1\n"), answer)

    def test_a_limit_on_the_size_of_files(self):
        self.write("A=1\n" * 1000)
        answer = self.ensure(wrapper=("sh", "-c", 'ulimit -f 1; exec "$@"', "sh"))
        self.assert_refused(answer, "space", "File too large")
        self.assertEqual((self.file.read_text(), self.left_over()), ("A=1\n" * 1000, []))

    def test_what_others_left_is_removed(self):
        names = [f".service-token-{digit * 32}" for digit in "0af"]
        others = [".service-token-", ".service-token-x", ".service-token-" + "0" * 31, ".service-token-" + "G" * 32, ".service-token-" + "0" * 33]
        for name in (*names, *others):
            (self.folder / name).write_text("x")
        link = self.folder / (".service-token-" + "b" * 32)
        link.symlink_to(".env")
        self.write(LINE)
        self.assertEqual(self.check().code, 0)
        self.assertEqual(len(self.left_over()), 9)
        self.assert_done(self.ensure(), "kept")
        self.assertEqual(self.left_over(), sorted([*others, link.name]))
        self.assertEqual(self.file.read_text(), LINE)


class Together(TokenTest):
    def start(self):
        return subprocess.Popen([self.command, "ensure", ".env"], cwd=self.folder, env=launcher_environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **as_user(ORDINARY))

    def test_fifty_at_once_make_one_token(self):
        for text in ("A=1\n", None):
            self.file.unlink(missing_ok=True)
            if text:
                self.write(text)
            processes = [self.start() for _ in range(50)]
            done = [(*process.communicate(timeout=600), process.returncode) for process in processes]
            self.assertEqual({code for _, _, code in done}, {0}, done)
            self.assertEqual(sorted(out.decode().split()[-1] for out, _, _ in done), ["added"] + ["kept"] * 49)
            self.assert_added((text or "").encode())

    @contextlib.contextmanager
    def locked(self, operation=fcntl.LOCK_EX):
        directory = os.open(self.folder, os.O_RDONLY)
        fcntl.flock(directory, operation)
        try:
            yield
        finally:
            os.close(directory)

    def test_a_lock_that_stays_is_told(self):
        self.write("A=1\n")
        for operation in (fcntl.LOCK_EX, fcntl.LOCK_SH):
            with self.locked(operation):
                self.assert_refused(self.ensure(), "busy", "another holds the lock")
                self.assert_refused(self.check(), "missing")
        self.assertEqual(self.file.read_text(), "A=1\n")

    def test_a_lock_that_ends_is_waited_for(self):
        self.write("A=1\n")
        with self.locked():
            process = self.start()
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=1)
        process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0)
        self.assert_added(b"A=1\n")

    @unittest.skipIf(IS_SANITIZED, "strace and the sanitizers' runtime do not go together")
    def test_what_others_change_meanwhile_is_not_lost(self):
        """An editor that saves between reading and replacing."""
        need(shutil.which("strace"), "strace")
        self.write("A=1\n")
        script = "exec strace -o /dev/null -e trace=fchmod -e inject=fchmod:delay_enter=2000000:when=1 \"$@\""
        process = subprocess.Popen(["sh", "-c", script, "sh", self.command, "ensure", ".env"], cwd=self.folder, env=launcher_environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_user(ORDINARY))
        while not self.left_over():
            pass
        self.file.write_text("A=1\nB=2\n")
        out, err = process.communicate(timeout=600)
        self.assertEqual((process.returncode, out), (2, b""), err)
        self.assertIn(b"it was changed meanwhile [busy]", err)
        self.assertEqual((self.file.read_text(), self.left_over()), ("A=1\nB=2\n", []))
