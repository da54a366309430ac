"""The container is checked where Landlock cannot stop truncation, and wherever the policy wants it: in bubblewrap, by a real ordinary
user. The standard configuration passes; each departure from it is refused with all that is amiss and what restores it."""

import json
import os
import pty
import socket
from pathlib import Path

from harness import ABI, IS_SANITIZED, ORDINARY, BubblewrapTest, in_many_groups, need

OLD = (("--max-abi", "1"), ("--max-abi", "2"))
UNNAMED = "is a writable mount that the policy does not name ("
ANOTHER = "is a writable mount, but not the one that the runtime itself makes there ("
TMPFS = "tmpfs, source tmpfs, root /)"


class StandardConfiguration(BubblewrapTest):
    """policy/interpreter.policy with bubblewrap's mounts."""

    def setUp(self):
        super().setUp()
        self.standard = self.site_policy("")

    def site_policy(self, text):
        """What a site would write beside interpreter.policy."""
        path = self.tree / "policy/bubblewrap.policy"
        path.write_text(f"policy 1\n{text}container writable bubblewrap\ninclude interpreter.policy\n", encoding="utf-8")
        return path

    def assert_python_runs(self, **keywords):
        code = b"import sqlite3, subprocess; open('x', 'w').write('1'); print(subprocess.run(['true']).returncode + len(open('x').read()))"
        outcome = self.contained(self.standard, input=code, **keywords)
        self.assert_checked(outcome, "1\n")
        self.assertEqual((self.chat / "x").read_text(), "1")
        return outcome

    def test_it_passes(self):
        for options in OLD:
            for inside in ((), ("/usr/bin/env", "-i")):
                with self.subTest(options, inside=inside):
                    self.assertEqual(self.assert_python_runs(options=options, inside=inside).status["abi"], int(options[1]))

    def test_it_passes_on_old_kernels(self):
        for abi in (1, 2):
            with self.subTest(abi=abi):
                outcome = self.assert_python_runs(options=(), inside=(self.bin / "abi_supervisor", str(abi), "plain", "--"))
                self.assertEqual((outcome.status["kernel_abi"], outcome.err), (abi, ""))

    def test_it_is_checked_always_or_only_where_needed(self):
        self.standard = self.site_policy("container check always\n")
        self.assertEqual(self.assert_python_runs(options=()).status["abi"], min(ABI, 11))
        need(ABI > 2, "Landlock ABI 3")
        (self.helper / "check-container").unlink()
        outcome = self.contained(self.site_policy(""), options=(), input=b"print(2)")
        self.assert_ran(outcome, "2\n")
        self.assertEqual((outcome.status["container"], outcome.findings), ("not-needed", []))

    def test_it_passes_on_a_terminal(self):
        """bubblewrap makes a /dev/console of it."""
        for streams in ((0, 1, 2), (1,)):
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)
            self.addCleanup(os.close, slave)
            on = {("stdin", "stdout", "stderr")[fd]: slave for fd in streams}
            mounts = "cut -d' ' -f5 /proc/self/mountinfo | grep -c console > /sandbox/consoles"
            with self.subTest(streams):
                self.assert_checked(self.contained(self.standard, "/bin/sh", "-c", mounts, **on))
                self.assertEqual((self.chat / "consoles").read_text(), "1\n")

    def test_mounts_that_change_nothing(self):
        for name, options in (("another folder, read-only", "--ro-bind {folder} /mnt/folder"), ("a file", "--ro-bind {helper} /mnt/folder"),
                              ("twice", "--ro-bind {folder} /mnt/folder --ro-bind {folder} /mnt/folder"), ("queues", "--mqueue /dev/mqueue"),
                              ("a blank", "--ro-bind {folder} '/sandbox/a b'"), ("emptied", "--tmpfs /mnt/folder --remount-ro /mnt/folder")):
            with self.subTest(name):
                self.assert_python_runs(changes={"extra": options})

    def test_what_can_be_truncated(self):
        """The container stops it wherever the policy allows no writing, and there only."""
        self.make_folder("another", 0o700, ORDINARY)
        files = [self.make(f"another/{name}", "kept", 0o600, ORDINARY) for name in "abcd"]
        own = self.make("chat/own", "lost", 0o600, ORDINARY)
        for options in OLD:
            own.write_text("lost")
            with self.subTest(options):
                self.assert_table(self.describe, [
                    ("truncate /mnt/folder/a", "EROFS"), ("otrunc /mnt/folder/b", "EROFS"), ("rtrunc /mnt/folder/c", "EROFS"),
                    (f"truncate {files[3]}", "EROFS"), ("create /mnt/folder/x", "EROFS"), ("create /dev/x", "EACCES"),
                    ("create /dev/shm/x", "EACCES"), ("truncate /sandbox/own", "OK"), ("create /tmp/x", "OK"), ("truncate /tmp/x", "OK")],
                    wrapper=self.bubblewrap(extra="--ro-bind {folder}/another /mnt/folder"), options=options)
                self.assertEqual(([file.read_text() for file in files], own.read_text()), (["kept"] * 4, ""))
        self.assertEqual(self.unrestricted(f"truncate {files[0]}"), ["OK"])  # not so without a container: they are the same user's


class Departures(BubblewrapTest):
    """One at a time: each finding begins with the text given, and its hint holds the other one."""

    def assert_departs(self, changes, *findings, policy="", hint="bwrap: ", **keywords):
        outcome = self.contained(self.describe + policy, *self.operations("list /"), changes=changes, **keywords)
        self.assert_refused(outcome, "container", "landlock-exec: container: ", "\nlandlock-exec: hint: bwrap: ")
        messages = sorted(outcome.findings)
        self.assertEqual(len(messages), len(findings), outcome)
        for message, start in zip(messages, sorted(findings)):
            self.assertTrue(message.startswith(start), (message, start))
        self.assertTrue(all(finding["hint"].startswith("bwrap: ") for finding in outcome.status["findings"]), outcome)
        self.assertIn(hint, " ".join(finding["hint"] for finding in outcome.status["findings"]))
        self.assertTrue(all(line.startswith("landlock-exec: ") for line in outcome.err.splitlines()), outcome.err)
        return outcome

    def test_read_only_paths(self):
        """One finding a path: that its mount is writable is not told once more."""
        script = "--bind {tree}/policy/main.py /opt/main.py"
        for changes, path, finding, hint in (
            ({"root": "--bind {root} /"}, "/", "/ must be read-only, and is mounted writable", "--remount-ro / (or --ro-bind in place of --bind)"),
            ({"script": script}, "/opt/main.py", "/opt/main.py must be read-only, and is mounted writable", "--ro-bind SOURCE /opt/main.py"),
            ({"script": "--tmpfs /opt --dir /opt/below"}, "/opt/below",
             "/opt/below must be read-only, and lies on /opt, which is mounted writable", "--ro-bind SOURCE /opt/below"),
        ):
            with self.subTest(path):
                self.assert_departs(changes, finding, policy=f"container read-only {path}" * (path != "/"), hint=hint)
        self.assert_departs({"root": "--bind {root} /", "script": script}, "/ must", "/opt/main.py must",
                            policy="container read-only /opt/main.py")
        self.assert_departs({"script": script}, f"/opt/main.py {UNNAMED}")
        self.assert_checked(self.contained(self.describe, self.attempt, changes={"root": "--bind {root} /", "end": "--remount-ro /"}))

    def test_writable_mounts(self):
        hidden = "is a writable mount, hidden under another one ("
        for name, options, *findings in (
            ("folder", "--bind {folder} /mnt/folder", f"/mnt/folder {UNNAMED}"),
            ("file", "--bind {folder}/test.policy /mnt/file", f"/mnt/file {UNNAMED}"),
            ("with devices", "--dev-bind {folder} /mnt/folder", f"/mnt/folder {UNNAMED}"),
            ("tmpfs", "--tmpfs /mnt/folder", f"/mnt/folder {UNNAMED}{TMPFS}"),
            ("tmpfs on a read-only one", "--ro-bind {folder} /mnt/folder --tmpfs /mnt/folder/chat", f"/mnt/folder/chat {UNNAMED}{TMPFS}"),
            ("below /sandbox", "--bind {folder} /sandbox/below", f"/sandbox/below {UNNAMED}"),
            ("the same once more", "--bind {chat} /sandbox", f"/sandbox {hidden}"),
            ("the same elsewhere", "--bind {chat} /mnt/folder", f"/mnt/folder {UNNAMED}"),
            ("two", "--tmpfs /mnt/folder --tmpfs /run", f"/mnt/folder {UNNAMED}{TMPFS}", f"/run {UNNAMED}{TMPFS}"),
            ("hidden", "--bind {folder} /mnt/folder --ro-bind {folder} /mnt/folder", f"/mnt/folder {hidden}"),
            ("hidden tmpfs", "--tmpfs /tmp", f"/tmp {hidden}{TMPFS}"),
            ("hidden below", "--bind {folder} /mnt/folder --ro-bind {helper} /mnt", f"/mnt/folder {hidden}"),
            ("processes", "--proc /mnt/folder", f"/mnt/folder {UNNAMED}proc, source proc, root /)"),
            ("devices", "--dev-bind /dev/null /mnt/file", f"/mnt/file {UNNAMED}"),
        ):
            with self.subTest(name):
                self.policy("")
                self.assert_departs({"extra": options}, *findings)
        before = {"script": "--tmpfs /sandbox --bind {folder} /sandbox/below"}
        self.assert_departs(before, f"/sandbox {hidden}{TMPFS}", "/sandbox/below")

    def test_odd_names(self):
        """Byte for byte in the status line, and unable to forge a line for people."""
        for name in ("a b", " ", "\t", "back\\slash", "\\040", "\\", "new\nline", "\nlandlock-exec: fine", "#", "x (deleted)", "x//deleted",
                     "ж", "\x1b[31m", "\u202e", "'", '"', ",ro,", "%s%n"):
            point = f"/sandbox/{name}".replace("//", "/")
            with self.subTest(name):
                self.assert_departs({"extra": ["--bind", self.folder, point]}, f"{point} {UNNAMED}")
                self.assert_checked(self.contained(self.describe, self.attempt, changes={"extra": ["--ro-bind", self.folder, point]}))

    def test_names_that_resemble_a_presets(self):
        for name in ("dev ", "dev (deleted)", "dev\\040(deleted)", "dev\n"):
            folder = self.root / name
            folder.mkdir()
            self.addCleanup(folder.rmdir)
            with self.subTest(name):
                self.assert_departs({"extra": ["--tmpfs", f"/{name}"]}, f"/{name} {UNNAMED}{TMPFS}")

    def test_presets_by_type_root_and_source(self):
        for name, options, *findings in (
            ("tmpfs on /dev/pts", "--tmpfs /dev/pts", f"/dev/pts {ANOTHER}{TMPFS}"),
            ("folder on /dev/pts", "--bind {folder} /dev/pts", f"/dev/pts {ANOTHER}"),
            ("folder on /dev/mqueue", "--bind {folder} /dev/mqueue", f"/dev/mqueue {ANOTHER}"),
            ("tmpfs on /dev/mqueue", "--tmpfs /dev/mqueue", f"/dev/mqueue {ANOTHER}{TMPFS}"),
            ("file on /dev/null", "--bind {folder}/test.policy /dev/null", f"/dev/null {ANOTHER}"),
            ("another device", "--dev-bind /dev/zero /dev/null", f"/dev/null {ANOTHER}"),
            ("file on /dev/console", "--bind {folder}/test.policy /dev/console", f"/dev/console {ANOTHER}"),
            ("folder on /dev", "--bind {folder} /dev/below", f"/dev/below {UNNAMED}"),
            ("tmpfs on /dev/shm", "--tmpfs /dev/shm", f"/dev/shm {UNNAMED}{TMPFS}"),
        ):
            with self.subTest(name):
                self.policy("")
                self.assert_departs({"extra": options}, *findings)

    def test_mounts_made_beforehand(self):
        """Two of the three as the preset has them."""
        source = self.make_folder("source")
        for kind, source_name, point in (("tmpfs", "devpts", "/dev/pts"), ("tmpfs", "mqueue", "/dev/mqueue"), ("mqueue", "other", "/dev/mqueue")):
            commands = f'mount -t {kind} {source_name} {source}; exec setpriv --reuid {ORDINARY} --regid {ORDINARY} --clear-groups "$@"'
            wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", commands, "sh",
                       *self.bubblewrap(extra=f"--bind {source} {point}"))
            with self.subTest(kind, source=source_name):
                outcome = self.launch(self.describe, *self.operations("list /"), uid=0, options=OLD[1], wrapper=wrapper)
                self.assert_found(outcome, f"{point} {ANOTHER}{kind}, source {source_name}, root /)")

    def test_a_user_of_many_groups(self):
        """The capabilities stand behind them in /proc/PID/status."""
        outcome = self.launch(self.describe, *self.operations("list /"), uid=0, options=OLD[1],
                              wrapper=(*in_many_groups(), *self.bubblewrap()))
        self.assert_checked(outcome, "EACCES\n")

    def test_dev_of_another_kind(self):
        self.make_folder("dev")
        for name in ("null", "zero", "urandom"):
            self.make(f"dev/{name}", "", 0o666)
        for options in ("--proc /proc --bind {folder}/dev /dev", "--proc /proc --dev-bind {folder}/dev /dev"):
            self.assert_departs({"kernel": options}, f"/dev {ANOTHER}")
        kinds = [line.split(" - ")[1].split()[0] for line in Path("/proc/self/mountinfo").read_text().splitlines()
                 if line.split()[4] == "/dev"]
        if kinds and kinds[-1] == "devtmpfs":  # a container's own looks like the one that the runtime makes
            outcome = self.contained(self.describe, self.attempt, changes={"kernel": "--proc /proc --dev-bind /dev /dev"})
            self.assert_refused(outcome, "container", "/dev is a writable mount, but not the one")

    def test_named_mounts(self):
        self.make_folder("named/part")
        mount, part = "/mnt/folder", "/mnt/folder/part"
        short = f"{mount} is a writable mount that the policy names, but does not let the program write and truncate as a whole"
        only = f"{mount} is a writable mount, of which {part}, which the policy names, is only a part"
        for named, allowed, finding in (
            (mount, f"allow write {mount}", None), (mount, f"allow write_file,truncate {mount}", None),
            (mount, f"allow write /mnt {part}", None), (mount, f"allow write_file {mount}\nallow truncate {mount}", None),
            (f"{part} {mount}", f"allow write {mount}", None),
            (mount, f"allow write {part}", short), (mount, f"allow read {mount}", short), (mount, "", short),
            (mount, f"allow write_file {mount}", short), (mount, f"allow truncate {mount}", short),
            (part, f"allow write {mount}", only), (part, f"allow write {part}", only), (f"{part} {mount}", f"allow write {part}", short),
        ):
            policy = f"container writable {named}\n{allowed}"
            with self.subTest(policy):
                extra = {"extra": "--bind {folder}/named /mnt/folder"}
                if finding:
                    self.assert_departs(extra, finding, policy=policy, hint="bwrap: bind ")
                else:
                    self.assert_checked(self.contained(self.describe + policy, self.attempt, changes=extra))

    def test_named_paths_that_are_no_mounts(self):
        """What is named and is not writable needs no permission."""
        for path in ("/mnt", "/usr/lib", "/opt/main.py"):
            self.assert_checked(self.contained(f"{self.describe}container writable {path}", self.attempt))

    def test_sockets(self):
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(self.folder)  # an address has 107 bytes
            self.addCleanup(os.chdir, "/")
            server.bind("socket")
            for option in ("--bind", "--ro-bind", "--dev-bind"):
                for point in ("/mnt/file", "/sandbox/socket", "/tmp/docker.sock"):
                    with self.subTest(option, point=point):
                        self.assert_departs({"extra": f"{option} {{folder}}/socket {point}"}, f"{point} is a socket: it could be connected to",
                                            hint=f"no --bind or --ro-bind on {point}")

    def test_a_mount_that_cannot_be_looked_at(self):
        """It could be a socket, in a folder that the program can open again: it is its user's."""
        closed = ("/bin/sh", "-c", 'chmod 0 /sandbox/closed; exec "$@"', "sh")
        folder = self.make_folder("chat/closed", 0o700, ORDINARY)
        for option in ("--bind", "--ro-bind"):
            folder.chmod(0o700)
            with self.subTest(option):
                self.assert_departs({"extra": f"{option} {{folder}} /sandbox/closed/mount"}, "/sandbox/closed/mount is a ", inside=closed)

    def test_capabilities(self):
        sets = [f"the {name} capability set is not empty: {{}}" for name in ("effective", "permitted", "inheritable", "ambient", "bounding")]
        for options, names in (("--cap-add CAP_NET_RAW", "cap_net_raw"),
                               ("--cap-add CAP_CHOWN --cap-add CAP_SYS_ADMIN", "cap_chown, cap_sys_admin"),
                               ("--cap-drop ALL --cap-add CAP_KILL", "cap_kill")):
            with self.subTest(options):
                outcome = self.assert_departs({"extra": options}, *(text.format(names) for text in sets), hint="--cap-drop ALL")
                self.assertEqual(outcome.findings, [text.format(names) for text in sets])
        self.assert_checked(self.contained(self.describe, self.attempt, changes={"extra": "--cap-drop ALL"}))

    def test_users(self):
        for uid in (0, 1001, 65534):
            with self.subTest(uid):
                text = ", ".join(f"{name} UID {uid}" for name in ("real", "effective", "saved", "filesystem"))
                self.assert_departs({"user": f"--uid {uid} --gid 1000"}, f"the user is not UID 1000 but {text}", hint="--uid 1000 --gid 1000")
        policy = self.describe.replace("uid 1000", "uid 1001")
        self.assert_checked(self.contained(policy, self.attempt, changes={"user": "--uid 1001 --gid 5"}))

    def test_all_at_once(self):
        changes = {"user": "--uid 7 --gid 7", "root": "--bind {root} /", "extra": "--cap-add CAP_KILL --tmpfs /mnt/folder"}
        for options in (*OLD, ("--max-abi", "2", "--dry-run")):
            outcome = self.assert_departs(changes, "/ must be", "/mnt/folder is", "the ambient", "the bounding", "the effective",
                                          "the inheritable", "the permitted", "the user is not", options=options)
            lines = outcome.err.splitlines()
            for message in outcome.findings:
                self.assertIn(f"landlock-exec: container: {message}", lines)
            self.assertIn(f"landlock-exec: container: 8 findings (checked because Landlock ABI {options[1]} cannot stop truncation)", lines)

    def test_on_standard_error_there_is_one_line_only(self):
        changes = {"extra": ["--tmpfs", "/mnt/folder", "--bind", self.folder, "/sandbox/\n\"x"]}
        outcome = self.contained(self.describe, self.attempt, options=("--max-abi", "2", "--status-fd", "2"), status=False, changes=changes)
        self.assertEqual((outcome.code, outcome.err.count("\n")), (125, 1))
        self.assertEqual({finding["message"][:12] for finding in json.loads(outcome.err)["findings"]}, {"/mnt/folder ", '/sandbox/\n"x'})

    def test_one_is_told_once(self):
        outcome = self.assert_departs({"extra": "--tmpfs /mnt/folder"}, f"/mnt/folder {UNNAMED}{TMPFS}", options=(),
                                      policy="container check always")
        self.assertEqual(outcome.err.splitlines(), [
            f"landlock-exec: container: {outcome.findings[0]} (checked because the policy says 'container check always')",
            f"landlock-exec: hint: {outcome.status['findings'][0]['hint']}"])

    def test_without_proc(self):
        """Nothing can be told then: refused, whatever the container is."""
        self.make_folder("none")
        policy = self.policy(self.describe, owner=ORDINARY)
        missing = ("", "--ro-bind {folder}/none /proc", "--tmpfs /proc") if not IS_SANITIZED else ()  # the sanitizers themselves need it
        for kernel in ("--ro-bind /proc /proc", *missing):
            with self.subTest(kernel):
                outcome = self.contained(policy, *self.operations("list /"), changes={"kernel": f"--dev /dev {kernel}"})
                self.assert_refused(outcome, "container", "/proc")
                self.assertEqual(outcome.findings, [])


class Policies(BubblewrapTest):
    def test_none_that_describes_the_container(self):
        text = "and the policy does not describe the container that would be checked"
        hint = "\nlandlock-exec: hint: describe it (container uid, capabilities, read-only and writable: landlock-exec.policy(5))"
        for abi in (1, 2):
            cause = f"landlock-exec: container: Landlock ABI {abi} cannot stop truncation, {text}"
            supervisor = (self.bin / "abi_supervisor", str(abi), "plain", "--")
            for keywords in ({"options": ("--max-abi", str(abi))}, {"options": (), "inside": supervisor}):
                self.assert_refused(self.contained("", *self.operations("list /"), **keywords), "container", cause, hint)
        for options in ((), *OLD):
            outcome = self.contained("container check always", *self.operations("list /"), options=options)
            self.assert_refused(outcome, "container", text, hint)
            self.assertEqual("the policy says 'container check always', and" in outcome.err, not options)

    def test_paths_are_looked_at_before_the_container(self):
        (self.chat / "link").symlink_to("/usr")
        for statement, text in (
            ("container read-only /nowhere", "/nowhere: No such file or directory"), ("container writable /nowhere", "/nowhere: No such file"),
            ("container read-only /usr/bin/env/x", "Not a directory"),
            ("container read-only /sandbox/link", "/sandbox/link crosses a symbolic link in /sandbox, which the program could have written"),
            ("container read-only /sandbox/link/lib", "/sandbox/link/lib crosses a symbolic link in /sandbox"),
            ("container writable /sandbox/link", "crosses a symbolic link in /sandbox"),
        ):
            with self.subTest(statement):
                self.assert_refused(self.contained(self.describe + statement, self.attempt), "path", text)
        self.assert_checked(self.contained(f"{self.describe}container read-only /lib /bin/env", self.attempt))  # by root's links

    def test_a_dry_run_checks(self):
        for options, policy, container in ((OLD[1], "", "checked"), ((), "container check always", "checked"), ((), "", "not-needed")):
            outcome = self.contained(f"{self.describe}{policy}", *self.operations("list /"), options=(*options, "--dry-run"))
            self.assertEqual((outcome.code, outcome.status["event"], outcome.status["container"]), (0, "would-start", container), outcome)
            self.assertIn(f"\ncontainer     {container}\n", outcome.out)
        outcome = self.contained(self.describe, self.attempt, options=("--max-abi", "2", "--dry-run"), changes={"extra": "--tmpfs /run"})
        self.assert_refused(outcome, "container", "/run is a writable mount")

    def test_verbose_says_so(self):
        for options, container in ((("--max-abi", "1"), "checked"), ((), "not-needed")):
            outcome = self.contained(self.describe, self.attempt, options=(*options, "--verbose"))
            self.assertIn(f"landlock-exec: container: {container}\n", outcome.err)
