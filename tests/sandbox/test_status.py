"""The status line: valid JSON in one line whatever is named, and all that the launcher says where it is on standard error."""

import json
import shutil
import subprocess

from harness import ABI, ORDINARY, OTHER, USERS, SandboxTest, as_user, launcher_environment, need_root, said

KEYS = {"event", "reason", "message", "hint", "abi", "max_abi", "kernel_abi", "uid", "not_enforced", "not_granted", "unrestricted",
        "container", "findings", "proof", "warnings"}

HOSTILE = {
    "newline": b"a\nlandlock-exec: forged", "return": b"a\rforged", "quote": b'a"b', "backslash": b"a\\b", "escape": b"\x1b[31mred\x1b]0;title\x07",
    "not UTF-8": b"\xff\xfe\x80", "cut off": b"\xe2\x82", "overlong": b"\xc0\xaf", "surrogate": b"\xed\xa0\x80", "C1": "\x9b31m".encode(),
    "bidi": "\u202eevil\u2066".encode(), "separators": "\u2028\u2029".encode(), "wide": "\U0001f600\u0416".encode(), "DEL": b"\x7f",
    "JSON": b'","event":"starting","x":"', "percent": b"%s%n%d", "long": b"x" * 255,
}


class StatusLine(SandboxTest):
    def raw(self, *words, uid=ORDINARY):
        """The launch itself, its status line as bytes."""
        done = subprocess.run([self.launcher, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=launcher_environment(True),
                              **as_user(uid))
        return done.returncode, done.stdout, said(done.stderr)

    def one_line(self, stderr):
        self.assertEqual((stderr.count(b"\n"), stderr[-1:]), (1, b"\n"), stderr)
        self.assertTrue(all(byte >= 0x20 and byte != 0x7f for byte in stderr[:-1]), stderr)
        line = json.loads(stderr.decode("utf-8"))
        self.assertEqual(set(line), KEYS)
        return line

    def test_contents(self):
        for uid in USERS:
            outcome = self.launch("unrestricted connect_tcp", self.attempt, uid=uid)
            self.assert_ran(outcome)
            status = outcome.status
            self.assertEqual(set(status), KEYS)
            self.assertEqual((status["event"], status["reason"], status["message"], status["kernel_abi"], status["uid"], status["unrestricted"],
                              status["container"], status["findings"], status["proof"], status["not_granted"]),
                             ("starting", None, None, ABI, uid, ["connect_tcp"], "not-needed", [], "read_dir /", []))
            self.assertEqual(any("UID 0" in text for text in status["warnings"]), uid == 0)

    def test_hostile_names(self):
        """As a program, a policy, a path of the policy, a definition, an option: one line of JSON, and one line for people."""
        policy = self.policy("define path /usr\nallow read ${path}")
        for name, text in HOSTILE.items():
            path = b"/nowhere/" + text
            uses = {
                "program": ("-p", policy, "--", path), "program in PATH": ("-p", policy, "--", text), "policy": ("-p", path, "--", "x"),
                "path": ("-p", policy, "-D", b"path=" + path, "--", "x"), "not a path": ("-p", policy, "-D", b"path=" + text, "--", "x"),
                "definition": ("-p", policy, "-D", text + b"=1", "--", "x"), "option": (b"--" + text, "-p", policy),
                "number": ("--max-abi", text, "-p", policy),
            }
            for use, words in uses.items():
                with self.subTest(name, use=use):
                    code, out, err = self.raw("--status-fd", "2", *words, uid=USERS[0])
                    self.assertIn(code, (125, 127))
                    self.assertEqual((out, self.one_line(err)["event"]), (b"", "refused"))
                    code, out, err = self.raw(*words, uid=USERS[0])
                    lines = err.decode("utf-8").split("\n")
                    self.assertTrue(all(line.startswith(("landlock-exec: ", "command line: error: ", "/nowhere/", f"{policy}:")) for line in lines[:-1]), err)
                    self.assertTrue(all(ord(char) >= 0x20 and not 0x7f <= ord(char) < 0xa0 and char not in "\u202e\u2066\u2028\u2029"
                                        for line in lines for char in line), err)
                    self.assertFalse(any("forged" == line[-6:] and "\\x0" not in line and "\\n" not in line for line in lines[:-1]), err)

    def test_hostile_names_that_exist(self):
        for name, text in HOSTILE.items():
            if b"/" in text:
                continue
            folder = self.folder / text.decode("utf-8", "surrogateescape")
            folder.mkdir()
            with self.subTest(name):
                outcome = self.launch("define path /usr\nallow read ${path}", *self.operations(["list", folder], "list /"),
                                      define={"path": folder}, options=["--verbose"])
                self.assert_ran(outcome, "OK\nEACCES\n")
                self.assertTrue(all(line.startswith("landlock-exec: ") for line in outcome.err.splitlines()), outcome.err)
                dry = self.launch("define path /usr\nallow read ${path}", self.attempt, define={"path": folder}, options=["--dry-run"])
                self.assertEqual((dry.code, dry.status["event"]), (0, "would-start"))
                self.assertEqual(sum("read_file,read_dir" in line for line in dry.out.splitlines()), 1 + 1)  # the rule, and what is restricted

    def test_on_standard_error_there_is_one_line_only(self):
        """Warnings, faults of the policy and hints are in it; what follows is the program's."""
        shell = "allow execute,read /usr /bin /lib -/lib64\n"
        cases = (  # policy, options, program, exit status, event
            (shell, (), ("/bin/sh", "-c", "echo mine >&2; exit 125"), 125, "starting", b"mine\n"),
            (shell, ("--max-abi", "3"), ("/bin/sh", "-c", "exit 3"), 3, "starting", b""),
            ("alow\nallow raed /usr", (), (self.attempt,), 125, "refused", b""),
            ("", ("--nonsense",), (self.attempt,), 125, "refused", b""),
            ("", (), ("/nowhere",), 127, "refused", b""),
            ("", (), (), 125, "refused", b""),
            ("", ("--policy", "/nowhere"), (self.attempt,), 125, "refused", b""),
            ("", ("--pass-fd", "77"), (self.attempt,), 125, "refused", b""),
        )
        for text, options, program, code, event, rest in cases:
            for uid in USERS:
                with self.subTest(text, program=program, options=options, uid=uid):
                    got = self.raw("--status-fd", "2", "-p", self.policy(text), *options, "--", *program, uid=uid)
                    first, _, others = got[2].partition(b"\n")
                    self.assertEqual((got[0], others), (code, rest))
                    self.assertEqual(self.one_line(first + b"\n")["event"], event)

    def test_a_missing_interpreter_is_seen_beforehand(self):
        self.make("lost", "#!/nowhere/interpreter\n", 0o755)
        policy = f"allow execute,read {self.folder}"
        outcome = self.launch(policy, self.folder / "lost")
        self.assertEqual((outcome.code, [line["event"] for line in outcome.lines]), (127, ["refused"]))
        code, _, err = self.raw("--status-fd", "2", "-p", self.policy(policy), "--", self.folder / "lost")
        self.assertEqual((code, self.one_line(err)["reason"]), (127, "program-not-found"))

    def test_what_only_capabilities_reach_is_seen_beforehand(self):
        """The program has none: its interpreter in a folder of another user's cannot be found by it, and --dry-run tells."""
        need_root()
        self.make_folder("private", 0o700, OTHER)
        shutil.copy("/usr/bin/env", self.folder / "private" / "interpreter")
        script = self.make("script", f"#!{self.folder}/private/interpreter\n", 0o755)
        for options, text in (((), "and UID 0 must be able to reach and execute them"), (("--dry-run",), f"{self.folder}/private/interpreter")):
            outcome = self.launch(f"allow execute,read {self.folder} /usr /lib -/lib64", script, uid=0, options=options, in_domain=True)
            self.assert_refused(outcome, "program-not-executable", "Permission denied", text, code=126)
            self.assertNotIn("the policy does not allow it", outcome.err)

    def test_a_failing_execution(self):
        """What only execve(2) can tell comes after the first line, as a second one."""
        self.make("garbage", b"\x01\x02\x03\x04" * 10, 0o755)
        policy = f"allow execute,read {self.folder}"
        outcome = self.launch(policy, self.folder / "garbage", in_domain=True)
        self.assertEqual((outcome.code, [line["event"] for line in outcome.lines]), (126, ["starting", "refused"]))
        code, _, err = self.raw("--status-fd", "2", "-p", self.policy(policy), "--", self.folder / "garbage")
        self.assertEqual((code, [json.loads(line)["event"] for line in err.splitlines()]), (126, ["starting", "refused"]))

    def test_verbose_and_standard_error_exclude_each_other(self):
        code, _, err = self.raw("--status-fd", "2", "--verbose", "-p", self.policy(""), "--", self.attempt)
        self.assertEqual((code, self.one_line(err)["reason"]), (125, "usage"))

    def test_a_long_message_is_cut(self):
        code, _, err = self.raw("--status-fd", "2", "-p", self.policy(""), "--", "/" + "x" * 100000)
        self.assertEqual(code, 126)  # ENAMETOOLONG
        line = self.one_line(err)
        self.assertLess(len(line["message"]), 3 * 4096 + 512)
        self.assertTrue(line["message"].endswith("..."))

    def test_the_options_before_a_fault_are_heard(self):
        """Wherever the status descriptor stands, a refusal of the command line is told on it."""
        for words in (("--nonsense", "--status-fd", "2"), ("--status-fd", "2", "--max-abi"), ("-D", "x", "--status-fd=2", "--", "y")):
            code, _, err = self.raw(*words)
            self.assertEqual((code, self.one_line(err)["reason"]), (125, "usage"))

    def test_help_and_version(self):
        for option in ("--help", "-h", "--version", "-V"):
            code, out, err = self.raw(option)
            self.assertEqual((code, err), (0, b""))
            self.assertIn(b"landlock-exec", out)
        with open("/dev/full", "wb") as full:
            self.assertEqual(subprocess.run([self.launcher, "--help"], stdout=full, check=False).returncode, 125)

    def test_limits_do_not_hold_for_the_status_line(self):
        log = self.make("status", "", 0o666)
        with open(log, "ab") as status:
            outcome = self.launch("limit fsize 0", self.attempt, options=["--status-fd", str(status.fileno())], status=False,
                                  pass_fds=[status.fileno()])
        self.assertEqual((outcome.code, json.loads(log.read_text())["event"]), (0, "starting"))

    def test_a_dry_run_stays_within_its_lines(self):
        """Names of kept variables are the caller's to choose."""
        name = "LC_\x1b[31m\nproof         forged"
        dry = self.launch("environment keep LC_*", self.attempt, options=["--dry-run"], env={name: "1"})
        self.assertEqual(dry.code, 0)
        self.assertNotIn("\x1b", dry.out)
        self.assertEqual(sum(line.startswith("proof") for line in dry.out.splitlines()), 1)
        self.assertIn("LC_\\x1b[31m\\x0aproof", dry.out)

    def test_a_dry_run_runs_and_restricts_nothing(self):
        marker = self.folder / "marker"
        outcome = self.launch(f"allow execute,read /usr /bin /lib\nallow create,write {self.folder}\nallow read_file -/not/there", "/bin/sh", "-c",
                              f": > {marker}", options=["--dry-run"])
        self.assertEqual((outcome.code, outcome.status["event"], marker.exists()), (0, "would-start", False))
        for text in (f"landlock abi  {ABI} (kernel {ABI}, this build 11)", "missing       read_file /not/there", "proof         read_dir /"):
            self.assertIn(text, outcome.out)
