"""Which files are taken for a policy, and what the launcher says of faults in one."""

import os
from pathlib import Path

from harness import IS_SANITIZED, ORDINARY, OTHER, USERS, SandboxTest, need_root


class Files(SandboxTest):
    def bad_files(self):
        """Name, what makes it, what the launcher says of it. A FIFO must not make the launcher wait."""
        text = "policy 1\n"
        yield "group-writable", self.make("group", text, 0o664), "others may write it"
        yield "world-writable", self.make("world", text, 0o646), "others may write it"
        yield "directory", self.make_folder("folder"), "it is a directory, not a regular file"
        os.mkfifo(self.folder / "fifo")
        yield "FIFO", self.folder / "fifo", "it is not a regular file"
        yield "device", Path("/dev/null"), "it is not a regular file"
        yield "terminal", Path("/dev/tty"), ""
        yield "missing", self.folder / "missing", "No such file or directory"
        yield "below a file", self.folder / "group/x", "Not a directory"
        with (self.folder / "huge").open("wb") as huge:
            huge.truncate((8 << 20) + 1)
        yield "too large", self.folder / "huge", "it is larger than 8 MiB"
        yield "empty", self.make("empty", ""), "no statement; a policy begins with: policy 1"

    def test_named_and_included(self):
        for name, path, text in self.bad_files():
            for uid in USERS:
                with self.subTest(name, uid=uid):
                    self.assert_refused(self.launch(path, self.attempt, uid=uid), "policy", text)
                    for form in ("include {}", "include -{}"):
                        outcome = self.launch(form.format(path), self.attempt, uid=uid)
                        if form.startswith("include -") and name in ("missing", "below a file"):
                            self.assert_ran(outcome)
                        else:
                            self.assert_refused(outcome, "policy", text)

    def test_owners(self):
        """Root's and the caller's own are taken, another user's is not; by what name does not matter."""
        need_root()
        for owner, caller, is_good in ((0, 0, True), (0, ORDINARY, True), (ORDINARY, ORDINARY, True), (OTHER, ORDINARY, False),
                                       (ORDINARY, 0, False), (OTHER, 0, False)):
            path = self.policy("", "owned.policy", owner=owner)
            link = self.folder / "link.policy"
            link.unlink(missing_ok=True)
            link.symlink_to(path)
            included = self.policy(f"include {path}", "including.policy")
            for policy in (path, link, included):
                with self.subTest(owner=owner, caller=caller, policy=policy.name):
                    outcome = self.launch(policy, self.attempt, uid=caller)
                    if is_good:
                        self.assert_ran(outcome)
                    else:
                        self.assert_refused(outcome, "policy", "it belongs to another user")

    def test_an_owner_that_cannot_be_told(self):
        """Without /proc nobody but root itself and the caller is known."""
        need_root()
        hide = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", 'mount -t tmpfs none /proc; exec "$@"', "sh")
        for owner in () if IS_SANITIZED else (OTHER, 65534):  # the sanitizers themselves need it
            outcome = self.launch(self.policy("", owner=owner), self.attempt, uid=0, wrapper=hide)
            self.assert_refused(outcome, "policy", "whether it is root's cannot be told: /proc: No such file or directory (mount /proc)")

    def test_unreadable(self):
        need_root()
        self.assert_refused(self.launch(self.policy("", mode=0o600, owner=0), self.attempt), "policy", "Permission denied")

    def test_includes(self):
        """Relative to the including file, whatever the caller's directory; not twice, not in a circle."""
        self.make_folder("sub")
        self.make("sub/a.policy", "policy 1\ninclude b.policy\ninclude b.policy\ninclude ../c.policy\n")
        self.make("sub/b.policy", "policy 1\nallow read /usr\n")
        self.make("c.policy", "policy 1\nallow read_file /etc/hostname\n")
        self.assert_table(self.policy("include sub/a.policy"), [("list /usr", "OK"), ("list /etc", "EACCES")], cwd="/")
        self.make("loop.policy", "policy 1\ninclude test.policy\n")
        self.assert_refused(self.launch("include loop.policy", self.attempt), "policy", "loop.policy:2:9: error: cannot include",
                            "it includes itself")
        outcome = self.launch("include nowhere.policy", self.attempt)
        self.assert_refused(outcome, "policy", "test.policy:2:9: error: cannot include", "nowhere.policy: No such file or directory")
        self.assert_ran(self.launch("include -nowhere.policy", self.attempt))

    def test_the_default_policy(self):
        outcome = self.launch(None, self.attempt)
        self.assertIn(outcome.code, (0, 125, 126))  # there is one, or there is none
        if outcome.code == 125:
            self.assertIn("landlock-exec/default.policy", outcome.status["message"])


class Faults(SandboxTest):
    cases = (  # the policy's second line, the column, parts of the message
        ("alow read /usr", 1, "unknown statement 'alow' (did you mean 'allow'?)"),
        ("allow raed /usr", 7, "unknown right 'raed' (did you mean 'read'?)"),
        ("allow read,wirte /usr", 12, "unknown right 'wirte' (did you mean 'write'?)"),
        ("require singal", 9, "unknown right 'singal' (did you mean 'signal'?)"),
        ("limit nofiel 5", 7, "did you mean 'nofile'?"),
        ("container writable dokcer", 20, "unknown preset 'dokcer' (did you mean 'docker'?)"),
        ("allow read ${sandbx}\ndefine sandbox /usr", 12, "'sandbx' is not defined (did you mean 'sandbox'?)"),
        ("audit maybe", 7, "unknown word 'maybe'; expected on or off"),
        ("environment clear A", 13, "unknown word 'clear'"),
        ("expect forbidden read /", 8, "unknown word 'forbidden'; expected allowed or denied"),
        ("container check sometimes", 17, "expected old-abi or always"),
        ("unrestricted read", 14, "read"),
        ("unrestricted execute", 14, "execute"),
        ("allow signal /usr", 7, "signal is a scope and has no path or port"),
        ("allow read,bind_tcp /usr", 7, "file rights and network rights in one line"),
        ("allow bind_tcp 80-79", 16, "not a port or a range of ports"),
        ("allow bind_tcp 65536", 16, "not a port"),
        ("allow bind_tcp /usr", 16, "not a port"),
        ("allow read 80", 12, "is not absolute"),
        ("allow read", 1, "too few words; expected: allow RIGHTS"),
        ("directory /a /b", 14, "too many words"),
        ("audit on\naudit off", None, "'audit' given twice"),
        ("limit nofile 1\nlimit nofile 2", None, "given twice; a file gives it once"),
        ("limit core x", 12, ""),
        ("limit nofile -1", 14, ""),
        ("require abi 0", 13, "is not a Landlock ABI"),
        ("require bind_tcp\nunrestricted bind_tcp", None, "bind_tcp is required and unrestricted at once"),
        ("container uid 1000", 1, "the container is described in part (missing: capabilities read-only writable)"),
        ("policy 1", 1, "'policy' in the middle of a file"),
        ('allow read "/usr', 12, ""),
        ("allow read /us\x01r", None, ""),
    )

    def test_positions_and_suggestions(self):
        for text, column, message in self.cases:
            with self.subTest(text):
                outcome = self.launch(text, self.attempt)
                self.assert_refused(outcome, "policy", f"test.policy:{'2:' if column else ''}{column or ''}", ": error: ", message)

    def test_all_faults_at_once(self):
        outcome = self.launch("alow read /usr\nallow raed /usr\nlimit nofile x", self.attempt)
        self.assert_refused(outcome, "policy", "test.policy:2:1: error:", "test.policy:3:7: error:", "test.policy:4:14: error:", "policy: 3 faults, the first in ")

    def test_versions_and_bytes(self):
        for text, message in (("allow read /usr\n", "the file does not begin with a version"), ("policy 2\n", "unknown version '2'"),
                              (b"policy 1\nallow read /\xff\n", "UTF-8"), (b"policy 1\nallow read /a\0b\n", "NUL"),
                              (b"\xef\xbb\xbfpolicy 1\n", "byte order mark"), (b"policy 1\nallow read \"/a\\x00b\"\n", "")):
            with self.subTest(text):
                self.assert_refused(self.launch(self.make("raw.policy", text), self.attempt), "policy", message)

    def test_definitions_of_the_command_line(self):
        policy = self.policy("define sandbox /usr\nallow read ${sandbox}")
        self.assert_refused(self.launch(policy, self.attempt, define={"sandbx": "/"}), "policy",
                            "--define sandbx: the policy has no such definition (did you mean 'sandbox'?)")
        self.assert_refused(self.launch(policy, self.attempt, define={"sandbox": "/usr"}, options=["-D", "sandbox=/etc"]), "policy",
                            "--define sandbox given twice")
        for word in ("sandbox", "=x", ""):
            self.assert_refused(self.launch(policy, self.attempt, options=["-D", word]), "usage", "expected NAME=VALUE")
        self.assert_table(policy, [("list /usr", "EACCES"), ("list /opt", "OK")], define={"sandbox": "/opt"})


class Shipped(SandboxTest):
    def test_each_policy_is_read(self):
        """All but the interpreter's are to be included: they name no program and allow what they can."""
        for path in sorted((self.tree / "policy").glob("*.policy")):
            text = f"include {path}"
            if path.name == "interpreter.policy":
                text += f"\ndefine sandbox {self.folder}\ndefine tmp {self.folder}\ndefine script /etc/hostname"
            for uid in USERS:
                with self.subTest(path.name, uid=uid):
                    outcome = self.launch(text, *self.operations("list /", "list /etc", "read /etc/shadow", "create /etc/x"), uid=uid)
                    self.assert_ran(outcome)
                    self.assertEqual(set(outcome.out.split()), {"EACCES"})
