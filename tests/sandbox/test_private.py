"""A private file is given to the program as a pipe and cannot be opened by it, by whatever name."""

import os
import subprocess

from harness import OTHER, PATIENCE, USERS, SandboxTest, as_user, launcher_environment, need_root

CAT = "allow execute,read /usr /bin /lib -/lib64\nallow read /proc\n"
PIPE_SIZE = 65536
BIG = 2 << 20


class Arguments(SandboxTest):
    def setUp(self):
        super().setUp()
        self.hidden = self.make_folder("hidden")
        self.file = self.make("hidden/file", "first\n")
        self.rules = f"{CAT}private {self.file}\n"

    def test_every_name_is_replaced(self):
        for name, cwd in ((self.file, "/"), ("file", self.hidden), ("./file", self.hidden), ("../hidden/file", self.hidden),
                          (f"//{self.file}", "/")):
            for uid in USERS:
                with self.subTest(name, uid=uid):
                    self.assert_ran(self.launch(self.rules, "/usr/bin/cat", name, uid=uid, cwd=cwd), "first\n")

    def test_a_link_is_not_followed(self):
        """The last program could have made it: here one that is named like an option, and one that stands for a file of its own."""
        work = self.make_folder("work", 0o777)
        for name in ("-I", "data.csv"):
            (work / name).symlink_to(self.file)
        (work / "loop").symlink_to("loop")
        (work / "nowhere").symlink_to("/nonexistent")
        for uid in USERS:
            for name in ("-I", "data.csv", work / "data.csv", f"/proc/self/root{self.file}"):
                with self.subTest(name, uid=uid):
                    outcome = self.launch(self.rules, "/bin/echo", name, uid=uid, cwd=work)
                    self.assert_refused(outcome, "private", f"argument {name}: it leads to the private file {self.file} by a symbolic link")
            self.assert_ran(self.launch(self.rules, "/bin/echo", "loop", "nowhere", "-x", uid=uid, cwd=work), "loop nowhere -x\n")

    def test_the_policys_own_name_may_cross_a_link(self):
        (self.folder / "link").symlink_to(self.hidden)
        outcome = self.launch(f"{CAT}private {self.folder}/link/file\n", "/usr/bin/cat", self.folder / "link/file")
        self.assert_ran(outcome, "first\n")

    def test_one_that_may_not_be_read(self):
        need_root()
        self.file.chmod(0o600)
        outcome = self.launch(self.rules, "/usr/bin/cat", self.file)
        self.assert_refused(outcome, "private", "Permission denied", "may not read it")

    def test_relative_to_the_policys_directory(self):
        outcome = self.launch(f"{self.rules}directory {self.hidden}", "/usr/bin/cat", "file", cwd="/")
        self.assert_ran(outcome, "first\n")

    def test_only_arguments_that_name_it(self):
        other = self.make("other")
        outcome = self.launch(self.rules, "/bin/sh", "-c", 'printf "%s\\n" "$@"', "sh", "", "--", "file", f"--in={self.file}", other, self.file)
        words = outcome.out.splitlines()
        self.assertEqual(words[:-1], ["", "--", "file", f"--in={self.file}", str(other)])
        self.assertRegex(words[-1], r"^/proc/self/fd/\d+$")

    def test_several(self):
        """Twice the same, and two files: each has a pipe of its own, and the program no other descriptor."""
        self.make("hidden/second", "second\n")
        rules = f"{self.rules}private {self.hidden}/second\n"
        outcome = self.launch(rules, "/usr/bin/cat", self.file, self.hidden / "second", self.file)
        self.assert_ran(outcome, "first\nsecond\nfirst\n")
        count = self.launch(rules, "/bin/sh", "-c", "ls /proc/self/fd | wc -l", "sh", self.file, self.file)
        self.assertEqual(int(count.out), 3 + 1 + 2)  # ls has its own of the directory

    def test_it_cannot_be_opened(self):
        """Not by its name and not by its pipe, whose file is not there."""
        self.file.chmod(0o666)
        script = f"cat {self.file}; echo >> {self.file}; ls {self.hidden}; readlink /proc/self/fd/*; cat $1"
        for uid in USERS:
            outcome = self.launch(self.rules, "/bin/sh", "-c", script, "sh", self.file, uid=uid)
            self.assertEqual(outcome.err.count("Permission denied"), 3, outcome)
            self.assertNotIn("hidden", outcome.out)
            self.assertEqual(outcome.out.count("first"), 1)

    def test_the_program_reads_it_once(self):
        outcome = self.launch(self.rules, "/bin/sh", "-c", "cat $1; cat $1; echo end", "sh", self.file)
        self.assert_ran(outcome, "first\nend\n")

    def test_sizes(self):
        """A pipe holds 64 KiB, and up to 1 MiB on demand; what does not fit is refused before anything runs."""
        for size in (0, 1, 4096, 8192, PIPE_SIZE - 1, PIPE_SIZE, PIPE_SIZE + 1, 1 << 20):
            data = os.urandom(size // 2 + 1).hex()[:size]
            self.make("hidden/file", data)
            for uid in USERS:
                with self.subTest(size, uid=uid):
                    outcome = self.launch(self.rules, "/usr/bin/cat", self.file, uid=uid)
                    self.assertEqual((outcome.code, outcome.out), (0, data))
        self.make("hidden/file", "x" * BIG)
        self.assert_refused(self.launch(self.rules, "/usr/bin/cat", self.file), "private", "does not fit a pipe", "keep it below 8 KiB")
        need_root()
        outcome = self.launch(self.rules, "/usr/bin/cat", self.file, uid=0)  # has CAP_SYS_RESOURCE: either the whole or nothing
        if outcome.code == 0:
            self.assertEqual(len(outcome.out), BIG)
        else:
            self.assert_refused(outcome, "private", "does not fit a pipe")

    def test_where_the_user_has_no_more_pipes(self):
        """Then a pipe holds 8 KiB (pipe-user-pages-soft): what fits is given, what does not is refused."""
        need_root()
        with open("/proc/sys/fs/pipe-user-pages-soft", encoding="ascii") as limit:
            pages = int(limit.read())
        holder = subprocess.Popen(["/usr/bin/python3", "-c", HOLD_PIPES, str(pages)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  **as_user(OTHER))
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.communicate)
        self.assertEqual(holder.stdout.readline(), b"8192\n")
        for size, fits in ((8192, True), (8193, False), (PIPE_SIZE, False)):
            data = "y" * size
            self.make("hidden/file", data)
            outcome = self.launch(self.rules, "/usr/bin/cat", self.file, uid=OTHER)
            if fits:
                self.assert_ran(outcome, data)
            else:
                self.assert_refused(outcome, "private", "does not fit a pipe")


HOLD_PIPES = """
import fcntl, os, resource, sys
pages = int(sys.argv[1])
pipes = []
while pages > 0:
    pipes.append(os.pipe())
    pages -= fcntl.fcntl(pipes[-1][0], 1031, min(1 << 20, pages * 4096)) // 4096
pipes.append(os.pipe())
print(fcntl.fcntl(pipes[-1][0], 1032), flush=True)
sys.stdin.read()
"""


class Refusals(SandboxTest):
    def setUp(self):
        super().setUp()
        self.hidden = self.make_folder("hidden")
        self.file = self.make("hidden/file", "first\n")
        self.open = self.make_folder("open")

    def assert_open(self, policy, **keywords):
        for uid in USERS if "uid" not in keywords else (keywords.pop("uid"),):
            with self.subTest(policy, uid=uid):
                outcome = self.launch(f"private {self.file}\n{policy}", self.attempt, uid=uid, in_domain=True, **keywords)
                self.assert_refused(outcome, "private", "is private, but")

    def test_rules_that_reach_it(self):
        for rule in ("allow read_file {0}/hidden/file", "allow read {0}/hidden", "allow read_file {0}", "allow read_file /",
                     "allow write_file {0}/hidden", "allow read,write {0}/hidden/file"):
            self.assert_open(rule.format(self.folder))
        (self.folder / "link").symlink_to(self.hidden)
        if USERS[0] == 0:
            self.assert_open(f"allow read {self.folder}/link")

    def test_hard_links(self):
        os.link(self.file, self.open / "same")
        self.assert_open(f"allow read_file {self.open}/same")
        self.assert_open(f"allow read {self.open}")

    def test_bind_mounts(self):
        """The file, its folder and a folder above, mounted where the policy lets the program read."""
        need_root()
        mounted = self.make("open/file", "")
        for source, target in ((self.file, mounted), (self.hidden, self.make_folder("open/folder")),
                               (self.folder, self.make_folder("open/above"))):
            wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                       f'mount --bind {source} {target}; exec "$@"', "sh")
            self.assert_open(f"allow read {self.open}", wrapper=wrapper, uid=0)

    def test_a_root_that_is_not_a_mount(self):
        """In a chroot the mount of the root is not listed, so what it shows once more cannot be told: refused, not let pass."""
        need_root()
        script = """
            mount -t tmpfs -o mode=755 tmpfs "$1"; cd "$1"
            mkdir -p r/usr r/lib r/lib64 r/proc r/private/sub r/data/x
            for folder in usr lib lib64; do mount --bind /$folder r/$folder; done
            mount -t proc proc r/proc; cp "$2" r/launcher; echo secret > r/private/main.py; echo secret > r/private/sub/main.py
            printf 'policy 1\nallow execute,read /usr /lib /lib64 %s\nprivate %s\n' "$4" "$5" > r/test.policy
            mount --bind "r/$3" r/data/x
            exec /usr/sbin/chroot --userspec=1000:1000 r /launcher --status-fd 2 -p /test.policy -- /usr/bin/cat "$6"
        """
        for source, rule, file, other in (("private", "/data", "/private/main.py", "/data/x/main.py"),
                                          ("private/sub", "/private", "/data/x/main.py", "/private/sub/main.py")):
            done = subprocess.run(["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script, "sh", self.open,
                                   self.launcher, source, rule, file, other], capture_output=True, text=True, timeout=PATIENCE, check=False,
                                  env=launcher_environment())
            self.assertEqual((done.returncode, done.stdout), (125, ""), done)
            self.assertIn("the root directory is not a mount", done.stderr)

    def test_what_cannot_be_private(self):
        os.mkfifo(self.folder / "fifo")
        for path, reason, text in ((self.folder, "private", "is not a regular file"), (self.folder / "fifo", "private", "is not a regular"),
                                   ("/dev/null", "private", "is not a regular file"), ("/nowhere", "path", "No such file")):
            self.assert_refused(self.launch(f"private {path}", self.attempt), reason, text)

    def test_unreadable(self):
        """What the caller cannot read it cannot give; where no argument names it nothing is read."""
        need_root()
        secret = self.make("hidden/secret", mode=0o600, owner=0)
        self.assert_refused(self.launch(f"{CAT}private {secret}", "/usr/bin/cat", secret), "private", "Permission denied")
        self.assert_ran(self.launch(f"{CAT}private {secret}", "/usr/bin/true"))
