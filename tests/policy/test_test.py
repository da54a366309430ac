"""landlock-policy test: what is expected is tried for real, told apart from everything else that denies, and nothing is left behind."""

import ast
import hashlib
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

from command import COMMAND, CommandTest, is_safe, place
from harness import (ABI, IS_ROOT, ORDINARY, OTHER, PATIENCE, USERS, BubblewrapTest, as_user, launcher_environment, need, need_root,
                     wait_until)

FILE_RIGHTS = ("execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir", "make_reg", "make_sock",
               "make_fifo",
               "make_block", "make_sym", "refer", "truncate", "ioctl_dev", "resolve_unix")
FIRST_ABI = {"refer": 2, "truncate": 3, "bind_tcp": 4, "connect_tcp": 4, "ioctl_dev": 5, "resolve_unix": 9, "bind_udp": 10, "connect_send_udp": 10}
POINT = re.compile(r"^(not )?ok (\d+) - (allowed|denied) (\w+) ((?:[^\\#(]|\\.)*?)(?: \((.*)\))?(?: # SKIP (.*))?$")
UNPRIVILEGED_PORTS = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())


def snapshot(*folders):
    """All that a trial could change: of directories not their times."""
    found = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            found[path] = [status.st_ino, status.st_mode, status.st_uid, status.st_gid]
            if kind != stat.S_IFDIR:
                found[path] += [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink]
            if kind == stat.S_IFREG:
                found[path].append(hashlib.sha256(path.read_bytes()).hexdigest())
            if kind == stat.S_IFLNK:
                found[path].append(os.readlink(path))
    return found


def lives(group):
    """Whether a process of the group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class TapError(AssertionError):
    pass


def parse_tap(text):
    """The points of TAP version 14, a dictionary each; YAML is of the simplest kind: keys with strings in JSON's quotes, or numbers."""
    lines = text.splitlines()
    if lines[0] not in ("TAP version 14", "TAP version 13"):
        raise TapError(lines[0])
    plan = re.match(r"^1\.\.(\d+)( # SKIP .+)?$", lines[1])
    if not plan:
        raise TapError(lines[1])
    points, yaml = [], None
    for line in lines[2:]:
        if yaml is not None:
            if line == "  ...":
                points[-1].update(yaml)
                yaml = None
                continue
            match = re.match(r'^  (\w+): (".*"|\d+)$', line)
            if not match or match[1] in yaml:
                raise TapError(line)
            yaml[match[1]] = ast.literal_eval(match[2].replace("\\/", "/"))
        elif line == "  ---":
            yaml = {}
        else:
            match = POINT.match(line)
            if not match or int(match[2]) != len(points) + 1:
                raise TapError(line)
            outcome = "skipped" if match[7] is not None else "not ok" if match[1] else "ok"
            subject = re.sub(r"\\(.)", r"\1", match[5])
            points.append({"outcome": outcome, "expected": match[3], "right": match[4], "subject": subject, "note": match[6] or match[7]})
    if yaml is not None or len(points) != int(plan[1]):
        raise TapError(text)
    return points


class TestTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d")
        self.file = self.make("d/file")

    def try_it(self, *words, **keywords):
        """The tests in JSON; that TAP says the same is seen to, and that both leave nothing behind."""
        before = snapshot(self.folder)
        answer = self.ask_json("test", *words, **keywords)
        tap = self.ask("test", *words, **keywords)
        self.assertEqual(snapshot(self.folder), before)
        self.assertEqual((tap.code, answer.err), (answer.code, tap.err))
        tests = answer.json["tests"]
        points = parse_tap(tap.out)
        self.assertEqual([(p["outcome"], p["expected"], p["right"]) for p in points], [(t["outcome"], t["expected"], t["right"]) for t in tests])
        for point, test in zip(points, tests):
            if test["path"] is not None:
                self.assertEqual((point["subject"], test["ports"], test["port"]), (test["path"], None, None))
            else:
                first, last = test["ports"]["first"], test["ports"]["last"]
                self.assertEqual(point["subject"], f"{first}-{last}" if first != last else str(first))
                self.assertTrue(first <= test["port"] <= last)
            if test["outcome"] == "not ok":
                self.assertEqual((point["message"], point.get("outside"), point.get("inside"), point.get("hint")),
                                 tuple(test[key] for key in ("message", "outside", "inside", "hint")))
                self.assertEqual(point["at"], f"{test['file']}:{test['line']}:{test['column']}")
            else:
                self.assertEqual(point["note"], test["message"])
        counts = [sum(test["outcome"] == outcome for test in tests) for outcome in ("ok", "not ok", "skipped")]
        self.assertEqual(counts, [answer.json[key] for key in ("passed", "failed", "skipped")])
        self.assertEqual(answer.code, 1 if counts[1] else 0)
        return tests

    def results_of(self, text, *words, **keywords):
        self.write(text.format(f=self.folder, d=self.d, file=self.file))
        return self.try_it(*words, "test.policy", **keywords)

    def one(self, text, *words, **keywords):
        tests = self.results_of(text, *words, **keywords)
        self.assertEqual(len(tests), 1, tests)
        return tests[0]

    def assert_test(self, test, outcome, *texts, hint=None):
        """`texts`: parts of the message; none: it has none. `hint`: a part of it."""
        self.assertEqual(test["outcome"], outcome, test)
        if not texts:
            self.assertIsNone(test["message"], test)
        for text in texts:
            self.assertIn(text, test["message"] or "")
        if hint is None:
            self.assertIsNone(test["hint"], test)
        else:
            self.assertIn(hint, test["hint"] or "")


class Tap(TestTest):
    def test_what_it_looks_like(self):
        text = f"allow read {self.d}\nexpect allowed read_file {self.d}\nexpect allowed write_file {self.file}\nexpect denied execute {self.d}/none"
        self.write(text)
        answer = self.ask("test", "test.policy", uid=0 if IS_ROOT else ORDINARY)
        _, line, column = place(text, 4, str(self.file))
        self.assertEqual((answer.code, answer.err, answer.lines), (1, "", [
            "TAP version 14", "1..3", f"ok 1 - allowed read_file {self.d}", f"not ok 2 - allowed write_file {self.file}", "  ---",
            '  message: "denied by Landlock: Permission denied"', f'  at: "test.policy:{line}:{column}"', '  outside: "it succeeds"',
            '  inside: "Permission denied"', f'  hint: "allow write_file {self.file}"', "  ...",
            f"ok 3 - denied execute {self.d}/none # SKIP there is no such file"]))

    def test_versions(self):
        """Perl's harness says which it knows, if that is old."""
        self.write(f"expect denied read_dir {self.d}")
        for known, version in ((None, "14"), ("14", "14"), ("13", "13"), ("", "14"), ("12", "14"), ("15", "14"), ("13\n1..0", "14")):
            answer = self.ask("test", "test.policy", env={} if known is None else {"TAP_VERSION": known})
            self.assertEqual(answer.lines, [f"TAP version {version}", "1..1", f"ok 1 - denied read_dir {self.d}"])

    def test_prove(self):
        prove = shutil.which("prove")
        need(prove, "prove")
        self.write(f"expect denied read_dir {self.d}\nexpect denied read_file {self.d}/none", "good.policy")
        self.write(f"expect allowed read_file {self.d} {self.d}/none", "bad.policy")
        self.write("", "empty.policy")
        self.write("allow", "faulty.policy")
        for name in ("good", "bad", "empty", "faulty"):
            script = self.make(f"{name}.t", f"#!/bin/sh\nexec {self.command} test {name}.policy\n", 0o755)
            for words in ((f"-e{self.command} test", f"{name}.policy"), ("-e", "", script),
                          ("-v", f"-e{self.command} test --define=x=1", f"{name}.policy")):
                if "--define=x=1" in words[1]:
                    continue
                with self.subTest(name, words=words):
                    done = subprocess.run([prove, *map(os.fspath, words)], cwd=self.folder,
                                          env={**launcher_environment(), "PATH": os.environ["PATH"]},
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                    text = done.stdout.decode()
                    self.assertEqual(done.returncode == 0, name in ("good", "empty"), text)
                    self.assertNotIn("Parse errors" if name != "faulty" else "nothing", text)
                    if name == "good":
                        self.assertIn("Result: PASS", text)
                        self.assertIn("Tests=2", text)
                    if name == "bad":
                        self.assertRegex(text, r"Failed tests?:  1-2|Failed 2/2 subtests")
                    if name == "empty":
                        self.assertRegex(text, r"skipped|NOTESTS")

    def test_no_expectations(self):
        self.write(f"allow read {self.d}")
        for uid in USERS:
            answer = self.ask("test", "test.policy", uid=uid)
            self.assertEqual((answer.code, answer.err), (0, ""))
            self.assertEqual(answer.lines, ["TAP version 14", "1..0 # SKIP the policy expects nothing: it has no expect statement"])
            answer = self.ask_json("test", "test.policy", uid=uid)
            self.assertEqual((answer.code, answer.json), (0, {"policy": "test.policy", "abi": {"kernel": ABI, "used": min(ABI, 11)}, "tests": [],
                                                              "passed": 0,
                                                              "failed": 0, "skipped": 0}))

    NAMES = ("a#b", "a # TODO not a directive", "a # SKIP x", "back\\slash", "trailing\\", "\\# both", "a b", 'quo"te', "it's", "$x", "ж 中",
             "new\nline", "tab\t",
             "\x1b[31m", "\u202ex", "not\udcffutf8", "\u0085", "ok 1 - denied", ": {[", "-", "%s%n", "\x7f")

    def test_odd_names(self):
        for name in self.NAMES:
            with self.subTest(name):
                path = self.make(f"d/{name}")
                word = "".join(f"\\x{byte:02x}" for byte in os.fsencode(path))
                self.write(f"allow read_file {word}\nexpect allowed read_file,write_file {word}\nexpect denied read_dir,read_file {word}")
                answer = self.ask("test", "test.policy")
                self.assertEqual(answer.code, 1)
                self.assertTrue(is_safe(answer.out), answer.out)
                points = parse_tap(answer.out)
                self.assertEqual([p["outcome"] for p in points], ["not ok", "ok", "not ok"])
                shown = re.sub(r"\\x..", "?", points[0]["subject"])
                if name.isprintable() and "\udcff" not in name:
                    self.assertEqual(shown, str(path))
                tests = self.ask_json("test", "test.policy").json["tests"]
                self.assertEqual(tests[0]["path"], os.fsencode(path).decode("utf-8", "replace"))
                path.unlink()

    def test_yaml_by_a_whole_parser(self):
        try:
            import yaml
        except ImportError:
            return  # parse_tap() reads the little of it that is used
        for name in ("plain", "a#b: x", "quo\"te'", "back\\slash\\", "ж", "new\nline\x1b"):
            path = self.make(f"d/{name}")
            word = "".join(f"\\x{byte:02x}" for byte in os.fsencode(path))
            self.write(f"expect allowed read_file {word}")
            lines = self.ask("test", "test.policy").lines
            block = lines[lines.index("  ---") + 1:lines.index("  ...")]
            read = yaml.safe_load("\n".join(block))
            self.assertEqual((read["message"], read["inside"]), ("denied by Landlock: Permission denied", "Permission denied"))
            self.assertTrue(read["hint"].startswith("allow read_file "))


class Verdicts(TestTest):
    def test_allowed(self):
        for uid in USERS:
            self.d.chmod(0o755)
            if IS_ROOT:
                os.chown(self.d, uid, uid)
                os.chown(self.file, uid, uid)
            # a device, a FIFO and a socket are there to be opened, too
            rights = ",".join(right for right in FILE_RIGHTS if right not in ("make_char", "make_block", "ioctl_dev"))
            for line in (f"allow {rights} {self.d}", f"allow {rights} {self.folder}"):
                tests = self.results_of(f"{line}\nexpect allowed {rights} {self.d}", uid=uid)
                self.assertEqual([t["right"] for t in tests], rights.split(","))
                for test in tests:
                    with self.subTest(test["right"], uid=uid):
                        self.assert_test(test, "ok")
                        self.assertEqual((test["tried"], test["outside"], test["inside"]), (True, "it succeeds", "it succeeds"))

    def test_denied_by_landlock(self):
        rights = ",".join(right for right in FILE_RIGHTS if FIRST_ABI.get(right, 1) <= ABI and right not in ("make_char", "make_block", "ioctl_dev"))
        for uid in USERS:
            if IS_ROOT:
                os.chown(self.d, uid, uid)
                os.chown(self.file, uid, uid)
            program = self.make("d/program", "#!/bin/sh\ntouch executed\n", 0o755, uid)
            for where in (self.d, self.file, program):
                wanted = rights if where == self.d else "read_file,write_file,truncate,execute"
                for test in self.results_of(f"allow read_dir /usr\nexpect denied {wanted} {where}", uid=uid):
                    with self.subTest(test["right"], where=where, uid=uid):
                        if test["right"] == "refer":
                            self.assert_test(test, "ok", "a link needs make_reg, too, which is denied")
                        elif where == self.file and test["right"] == "execute":
                            self.assert_test(test, "ok", "not only by Landlock: Permission denied")
                        else:
                            self.assert_test(test, "ok")
                            self.assertEqual((test["tried"], test["outside"]), (True, "it succeeds"))
                            self.assertIn(test["inside"], ("Permission denied", "Invalid cross-device link"))

    def test_devices(self):
        node = "/dev/null"
        tests = self.results_of(f"allow read_file {node}\nexpect allowed read_file {node}\nexpect denied write_file,ioctl_dev {node}")
        self.assertEqual([t["outcome"] for t in tests], ["ok", "ok", "ok" if ABI >= 5 else "not ok"])
        tests = self.results_of(f"allow read,write,ioctl_dev {node}\nexpect allowed read,write,ioctl_dev {node}")
        self.assertEqual({t["outcome"] for t in tests}, {"ok"}, tests)
        tests = self.results_of(f"expect denied read,write,execute {node}")
        self.assertEqual([(t["right"], t["outcome"]) for t in tests], [("write_file", "ok"), ("read_file", "ok")])
        need_root()
        self.assert_test(self.one("allow make_char {d}\nexpect allowed make_char {d}", uid=0), "not ok",
                         "denied, and not by Landlock: Operation not permitted",
                         hint="UID 0 may not, without capabilities")

    def test_fifos_and_sockets(self):
        os.mkfifo(self.d / "fifo")
        os.chmod(self.d / "fifo", 0o666)
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(self.d)  # an address has 107 bytes
            self.addCleanup(os.chdir, "/")
            server.bind("socket")
            server.listen(1)
            os.chmod("socket", 0o666)
            tests = self.results_of("allow read_file {d}/fifo\nexpect allowed read_file {d}/fifo\nexpect denied write_file {d}/fifo\n"
                                    "expect allowed resolve_unix {d}/socket")
        self.assertEqual([t["outcome"] for t in tests], ["ok", "ok", "ok" if ABI < 9 else "not ok"])

    def test_denied_by_permissions_too(self):
        """It holds, and is said: Landlock denies it whatever the modes are."""
        need_root()
        closed = self.make_folder("closed", 0o700, OTHER)
        self.make("closed/file", mode=0o600, owner=OTHER)
        for uid in USERS:
            tests = self.results_of("expect denied read_file,write_file,execute {f}/closed/file\n"
                                    "expect denied read_dir,make_reg,remove_file {f}/closed\nexpect denied write_file {file}", uid=uid)
            for test in tests[:-1]:
                self.assert_test(test, "ok", "not only by Landlock: Permission denied")
            self.assert_test(tests[-1], "ok", *(["not only by Landlock: Permission denied"] if uid else []))

    def test_denied_by_permissions_only(self):
        """Denial by the modes alone is none: a program of another user, or a mode that changes, undoes it."""
        need_root()
        self.make_folder("closed", 0o700, OTHER)
        for uid in USERS:
            tests = self.results_of("allow read {f}\nallow make_reg {f}/closed\nexpect denied read_dir,make_reg {f}/closed", uid=uid)
            for test, line in zip(tests, (2, 3)):
                self.assert_test(test, "not ok", f"Landlock does not deny it: test.policy:{line}:", "allows it; Permission denied",
                                 hint="take one of the two lines out")

    def test_denied_by_a_read_only_mount(self):
        need_root()
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", f'mount --bind {self.d} {self.d}; '
                   f'mount -o remount,bind,ro {self.d}; exec "$@"', "sh")
        os.chown(self.d, 0, 0)
        self.make("d/open", mode=0o666)
        tests = self.results_of("allow read {d}\nexpect denied make_reg {d}\nexpect denied write_file {d}/open\nexpect allowed read_file {d}/open",
                                uid=0,
                              wrapper=wrapper)
        for test in tests[:2]:
            self.assert_test(test, "ok", "not only by Landlock: Read-only file system")
        self.assert_test(tests[2], "ok")
        tests = self.results_of("allow read,write,create {d}\nexpect denied make_reg {d}\nexpect allowed make_reg {d}\n"
                                "expect allowed write_file {d}/open",
                              uid=0, wrapper=wrapper)
        self.assert_test(tests[0], "not ok", "Landlock does not deny it: ", "Read-only file system", hint="take one of the two lines out")
        for test in tests[1:]:
            self.assert_test(test, "not ok", "denied, and not by Landlock: Read-only file system")

    def test_denied_but_a_line_allows_it(self):
        for text, position in (("allow read {d}\nexpect denied read_file {file}", (2, 12)), ("expect denied read_dir {d}\nallow read {f}", (3, 12))):
            test = self.one(text)
            self.assert_test(test, "not ok", "Landlock does not deny it: test.policy:{}:{} allows it".format(*position),
                             hint="take one of the two lines out")
            self.assertEqual((test["outside"], test["inside"]), ("it succeeds", "it succeeds"))

    def test_links(self):
        need_root()  # below an ordinary user's own folders the launcher follows none
        (self.folder / "link").symlink_to("d")
        self.assert_test(self.one("allow read {d}\nexpect denied read_dir {f}/link"), "not ok", "test.policy:2:12 allows it", hint="take one")
        self.assert_test(self.one("allow read {f}/link\nexpect denied read_dir {d}"), "not ok", "test.policy:2:12 allows it", hint="take one")

    def test_open_on_this_abi(self):
        for right, where, abi in (("truncate", self.file, 2), ("connect_tcp", 80, 3), ("bind_tcp", 8080, 3), ("ioctl_dev", "/dev/null", 4)):
            if abi < 3:
                continue  # where the container is checked: below
            test = self.one(f"allow read_file -{self.file} /dev/null\nexpect denied {right} {where}", "--max-abi", str(abi))
            self.assert_test(test, "not ok", f"Landlock ABI {abi} cannot restrict it", hint=f"refuse to run on such a kernel: require {right}")
            self.assertEqual(test["inside"], "it succeeds")
            if ABI > abi:
                self.assert_test(self.one(f"expect denied {right} {where}", uid=0 if IS_ROOT else ORDINARY), "ok")
        if ABI < 10:
            test = self.one("expect denied bind_udp 5353")
            self.assert_test(test, "not ok", f"Landlock ABI {ABI} cannot restrict it", hint="require bind_udp")
        test = self.one("unrestricted connect_tcp\nexpect denied connect_tcp 80")
        self.assert_test(test, "not ok", "Landlock does not deny it: test.policy:2:14 allows it", hint="take one of the two lines out")

    def test_allowed_for_want_of_a_line(self):
        for right in ("read_file", "write_file", "read_dir", "make_reg", "make_dir", "make_fifo", "make_sym", "make_sock", "remove_file",
                      "remove_dir"):
            if IS_ROOT:
                os.chown(self.d, ORDINARY, ORDINARY)
            test = self.one(f"expect allowed {right} {{d}}")
            self.assert_test(test, "not ok", "denied by Landlock: Permission denied", hint=f"allow {right} {self.d}")
            self.assert_test(self.one(f"{test['hint']}\nexpect allowed {right} {{d}}"), "ok")
        test = self.one("expect allowed execute /usr/bin/env")
        self.assert_test(test, "not ok", "denied by Landlock: Permission denied", hint="allow execute,read_file /usr/bin/env")
        tests = self.results_of("allow read_file {d}\nexpect allowed read {d}\nexpect allowed bind_tcp 8080")
        self.assertEqual([t["outcome"] for t in tests], ["ok", "not ok", "not ok"])
        self.assertEqual([t["hint"] for t in tests], [None, f"allow read_dir {self.d}", "allow bind_tcp 8080"])

    def test_a_line_that_would_contradict_another_is_not_named(self):
        test = self.results_of("expect denied read_file {file}\nexpect allowed read_file {file}")[1]
        self.assert_test(test, "not ok", "denied by Landlock: Permission denied")
        test = self.one("private {file}\nexpect allowed read_file {file}")
        self.assert_test(test, "not ok", "denied by Landlock: Permission denied")

    def test_allowed_for_want_of_permissions(self):
        need_root()
        self.make_folder("closed", 0o700, OTHER)
        self.make("closed/file", owner=OTHER)
        self.make("secret", mode=0o600, owner=OTHER)
        for uid in USERS:
            hint = f"UID {uid} may not, without capabilities: run this as the user that the program runs as"
            tests = self.results_of("allow read,create {f}\nexpect allowed read_dir,make_reg {f}/closed\nexpect allowed read_file {f}/secret",
                                    uid=uid)
            for test in tests:
                self.assert_test(test, "not ok", "denied, and not by Landlock: Permission denied", hint=hint)
            test = self.one("allow read {f}\nexpect allowed read_file {f}/closed/file", uid=uid)
            self.assert_test(test, "not ok", "Permission denied", hint=hint)

    def test_allowed_for_want_of_the_file(self):
        for path in ("{d}/none", "{d}/none/below", "{file}/below"):
            test = self.one(f"allow read {{d}}\nexpect allowed read_file {path}")
            self.assert_test(test, "not ok", "it cannot be tried: it cannot be reached: "
                             + ("Not a directory" if "file" in path else "No such file or directory"))
            self.assertEqual((test["tried"], test["outside"], test["inside"]), (False, None, None))

    def test_of_another_kind(self):
        for text in ("expect allowed read_dir {file}", "expect denied make_reg {file}", "expect denied resolve_unix {file}",
                     "expect denied ioctl_dev {file}"):
            self.assert_test(self.one(text), "not ok", "it is not the kind of file that this right is about", hint="name a path that it fits")
        tests = self.results_of("allow read {file}\nexpect allowed read {file}\nexpect denied write,create,remove {file}")
        self.assertEqual([(t["right"], t["outcome"]) for t in tests], [("read_file", "ok"), ("write_file", "ok"), ("truncate", "ok")])

    def test_skipped(self):
        for text in ("expect denied read_file {d}/none", "expect denied read_dir {d}/none/below", "expect denied write_file {file}/below"):
            self.assert_test(self.one(text), "skipped", "there is no such file")
        empty = self.make_folder("empty")
        test = self.one(f"expect denied ioctl_dev {empty}")
        self.assert_test(test, "skipped" if ABI >= 5 else "not ok", "no device in it can be opened")

    def test_ports(self):
        base = 41000
        tests = self.results_of(f"allow bind_tcp {base}-{base + 9}\nallow connect_tcp {base}\nexpect allowed bind_tcp {base}-{base + 9}\n"
                                f"expect denied bind_tcp {base + 10}-{base + 20}\nexpect allowed connect_tcp {base}\n"
                                "expect denied connect_tcp 1-65535")
        self.assertEqual([t["outcome"] for t in tests], ["ok", "ok", "ok", "not ok"])
        self.assertEqual([t["port"] for t in tests], [base, base + 10, base, base])
        self.assert_test(tests[3], "not ok", "Landlock does not deny it: test.policy:3:19 allows it", hint="take one of the two lines out")

    def test_the_first_port_that_is_not_as_expected_is_named(self):
        allowed = "allow bind_tcp 41000-41005 41007-41010\n"
        for text, ports, port, message, hint in (
                ("expect allowed bind_tcp 41000-41010", "41000-41010", 41006, "denied by Landlock: Permission denied", "allow bind_tcp 41006"),
                ("expect denied bind_tcp 40990-41010", "40990-41010", 41000, "Landlock does not deny it: test.policy:2:16 allows it",
                 "take one of the two lines out")):
            self.write(allowed + text)
            points = parse_tap(self.ask("test", "test.policy").out)
            self.assertEqual([(p["outcome"], p["subject"], p["port"], p["message"], p["hint"]) for p in points],
                             [("not ok", ports, port, message, hint)])
            self.assertEqual([(test["port"], test["message"]) for test in self.try_it("test.policy")], [(port, message)])

    def test_low_ports(self):
        """They need a capability, which the program does not have."""
        need(UNPRIVILEGED_PORTS > 1, "ports that need privilege")
        for uid in USERS:
            test = self.one("allow bind_tcp 1\nexpect allowed bind_tcp 1", uid=uid)
            self.assert_test(test, "not ok", "denied, and not by Landlock: Permission denied", hint=f"UID {uid} may not, without capabilities")
            self.assert_test(self.one("expect denied bind_tcp 1", uid=uid), "ok", "not only by Landlock: Permission denied")

    def test_a_port_in_use(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            port = server.getsockname()[1]
            tests = self.results_of(f"allow bind_tcp,connect_tcp {port}\nexpect allowed bind_tcp,connect_tcp {port}")
            self.assertEqual([t["outcome"] for t in tests], ["ok", "ok"])
            tests = self.results_of(f"expect denied bind_tcp,connect_tcp {port}")
            self.assertEqual([t["outcome"] for t in tests], ["ok", "ok"])
            server.settimeout(0)
            self.assertRaises(BlockingIOError, server.accept)  # nobody has connected

    def test_more_expectations_than_descriptors(self):
        """What a trial holds open is not held for all of them at once."""
        if IS_ROOT:
            os.chown(self.d, ORDINARY, ORDINARY)
        rights = "read_file,make_reg,make_dir,remove_file,refer"
        folders = [self.make_folder(f"d/{number}", owner=ORDINARY) for number in range(150)]
        text = f"allow {rights} {self.d}\n" + "".join(f"expect allowed {rights} {folder}\n" for folder in folders)
        tests = self.results_of(text, wrapper=("/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh"))
        self.assertEqual((len(tests), {test["outcome"] for test in tests}), (750, {"ok"}), [test for test in tests if test["outcome"] != "ok"][:3])

    def test_definitions_and_includes(self):
        self.write("expect denied read_dir ${where}", "part.policy")
        self.write(f"define where {self.d}\ninclude part.policy\n")
        for words, path in ((), str(self.d)), (("-D", f"where={self.folder}"), str(self.folder)):
            tests = self.try_it(*words, "test.policy")
            self.assertEqual([(t["path"], t["file"], t["line"], t["column"]) for t in tests], [(path, "part.policy", 2, 24)])

    def test_a_kernel_without_effect_is_found_out(self):
        self.write("allow read_dir /\nallow read_file /etc /proc\nallow write_file /dev\nallow bind_tcp 0\n"
                   f"expect denied read_dir {self.d}\nexpect denied read_file {self.file}")
        wrapper = (self.bin / "abi_supervisor", "7", "no-effect", "--")
        answer = self.ask("test", "test.policy", wrapper=wrapper)
        tests = parse_tap(answer.out)
        self.assertEqual((answer.code, [t["outcome"] for t in tests]), (1, ["not ok", "not ok"]))
        self.assertIn("allows it", tests[0]["message"])
        self.assertEqual((tests[1]["message"], tests[1]["hint"]), ("it succeeds, although the policy denies it",
                                                                   "this kernel does not enforce it: landlock-policy probe"))
        self.write(f"expect denied read_file {self.file}")
        for form in ("text", "json"):
            answer = self.ask("test", f"--format={form}", "test.policy", wrapper=wrapper)
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertIn("enforce nothing", answer.err)


class Traces(TestTest):
    """What is there stays as it is, whatever is tried on it, and whenever that ends."""

    def fill(self, uid):
        owner = uid if IS_ROOT else None
        folder = self.make_folder("full", 0o777, owner)
        for name in ("a", "b", ".hidden", "empty", "big", "executable", "read-only", "shared"):
            self.make(f"full/{name}", {"empty": "", "big": "x" * 300000, "executable": "#!/bin/sh\ntouch executed\n"}.get(name, "content"),
                      {"executable": 0o755, "read-only": 0o444, "shared": 0o666}.get(name, 0o644), owner)
        shutil.copy("/bin/true", folder / "true")
        os.link(folder / "a", folder / "second-name")
        (folder / "link").symlink_to("a")
        (folder / "dangling").symlink_to("/nowhere")
        os.mkfifo(folder / "fifo")
        for name in ("sub", "sub/below"):
            self.make_folder(f"full/{name}", 0o755, owner)
        self.make("full/sub/file", "content", 0o644, owner)
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(folder)
            self.addCleanup(os.chdir, "/")
            server.bind("socket")
        return folder

    def test_nothing_is_left_behind(self):
        for uid in USERS:
            folder = self.fill(uid)
            rights = ",".join(FILE_RIGHTS)
            paths = [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]
            expectations = "".join(f"expect {outcome} {rights} {path}\n" for outcome in ("allowed", "denied") for path in paths)
            before = snapshot(self.folder)
            for rule in (f"allow {rights} {folder}\n", "", f"allow read,write,remove {folder}\n", f"allow create,remove,rename {folder}\n",
                         f"allow {rights} {folder}/sub\n"):
                self.write(rule + expectations, "all.policy")
                before[self.folder / "all.policy"] = snapshot(self.folder)[self.folder / "all.policy"]
                for words in ((), ("--max-abi", "3")) if rule else ((),):
                    with self.subTest(rule, uid=uid, words=words):
                        answer = self.ask("test", *words, "all.policy", uid=uid)
                        self.assertEqual((answer.code, answer.err), (1, ""))
                        self.assertGreater(len(parse_tap(answer.out)), 100)
                        self.assertEqual(snapshot(self.folder), before)
            shutil.rmtree(folder)

    def test_a_program_is_not_run(self):
        """It is stopped before its first instruction."""
        folder = self.make_folder("programs", 0o777)
        self.make("programs/script", f"#!/bin/sh\ntouch {folder}/executed\n", 0o755)
        for text in ("allow execute,read /\nexpect allowed execute {f}/programs/script\nexpect allowed execute {f}/programs",
                     "allow execute,read /\nexpect denied execute {f}/programs/script"):
            for uid in USERS:
                self.results_of(text, uid=uid)
                self.assertFalse((folder / "executed").exists())

    def test_names_that_are_taken(self):
        """Whatever bears a name of the trial's own stays."""
        if IS_ROOT:
            os.chown(self.d, ORDINARY, ORDINARY)
        process = subprocess.Popen(["/bin/sh", "-c", f"read x; exec {self.command} test test.policy"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=launcher_environment(), **as_user(ORDINARY))
        self.write(f"allow create,remove,write,read,rename {self.d}\n"
                   + f"expect allowed make_reg,make_dir,remove_file,make_fifo,make_sym,refer {self.d}\n")
        for number in range(6):
            taken = self.make(f"d/.landlock-policy.{process.pid}.{number}", "another's", owner=ORDINARY)
            self.assertTrue(taken.exists())
        before = snapshot(self.d)
        out, _ = process.communicate(b"\n", timeout=PATIENCE)
        self.assertEqual(snapshot(self.d), before, out)

    def test_signals(self):
        """What ends the command, at whatever moment, alone or with its whole process group, leaves nothing."""
        if IS_ROOT:
            os.chown(self.d, ORDINARY, ORDINARY)
        folders = [self.make_folder(f"d/{number}", owner=ORDINARY) for number in range(25)]
        rights = "make_reg,make_dir,make_fifo,make_sym,make_sock,remove_file,remove_dir,refer,write_file,truncate,execute"
        self.write(f"allow execute,read,write,create,remove,rename {self.d}\n" + "".join(f"expect allowed {rights} {folder}\n" for folder in folders))
        started = time.monotonic()
        self.assertEqual(self.ask("test", "test.policy").code, 0)
        whole = time.monotonic() - started
        before = snapshot(self.folder)
        cut_off = 0
        for number, when in enumerate((0.2, 0.35, 0.5, 0.65, 0.8)):
            ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)[number % 4]
            for sends in (os.kill, os.killpg):
                process = subprocess.Popen([self.command, "test", "test.policy"], cwd=self.folder, env=launcher_environment(), start_new_session=True,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user(ORDINARY))
                time.sleep(whole * when)
                sends(process.pid, ending)
                status = process.wait(timeout=PATIENCE)
                self.assertIn(status, (0, -ending))
                cut_off += status == -ending
                self.assertEqual(snapshot(self.folder), before, (when, ending))
                wait_until(lambda group=process.pid: not lives(group))  # no child is left either
        self.assertGreater(cut_off, 2)

    def test_ignored_signals_stay_ignored(self):
        self.write(f"allow read {self.d}\nexpect allowed read_file,read_dir {self.d}")
        for ignored in ("CHLD", "PIPE", "XFSZ", "INT TERM"):
            answer = self.ask("test", "test.policy", wrapper=("/bin/sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh"))
            self.assertEqual((answer.code, len(parse_tap(answer.out))), (0, 2))


class Refused(TestTest):
    """What the launcher refuses is not tried: as it says itself, with the same words."""

    def assert_refused_as_by_the_launcher(self, text, *words, uid=ORDINARY, wrapper=()):
        self.write(text.format(f=self.folder, d=self.d, file=self.file))
        answer = self.ask("test", *words, "test.policy", uid=uid, wrapper=wrapper)
        launched = self.launch(Path("test.policy"), "/bin/true", uid=uid, options=words, status=False, cwd=self.folder, wrapper=wrapper)
        self.assertEqual((answer.code, answer.out, launched.code), (2, "", 125), (answer, launched))
        own = [line for line in launched.err.splitlines() if not line.startswith("landlock-exec: warning:")]
        self.assertEqual(answer.err.splitlines(), [line.replace("landlock-exec: ", "landlock-policy: ", 1) for line in own])
        json = self.ask("test", "--format=json", *words, "test.policy", uid=uid, wrapper=wrapper)
        self.assertEqual((json.code, json.out, json.err), (2, "", answer.err))

    def test_each_reason(self):
        for text in ("allow read {f}/none", "allow", "allow raed {d}\nfoo", "allow read_dir {file}", "require abi 11\nrequire resolve_unix",
                     "directory {file}",
                     "private {file}\nallow read {d}", "container check always", "include none.policy"):
            if "abi 11" in text and ABI >= 11:
                continue
            with self.subTest(text):
                self.assert_refused_as_by_the_launcher(text + "\nexpect denied read_dir {d}")

    def test_without_landlock(self):
        for words in ("all=38", "all=95", "all=1", "all=22", "all=0"):
            with self.subTest(words):
                self.assert_refused_as_by_the_launcher("expect denied read_dir {d}", wrapper=(self.bin / "answer", words, "--"))

    def test_a_policy_that_cannot_be_read(self):
        for name in ("none.policy", "d"):
            answer = self.ask("test", name)
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertIn(name, answer.err)

    def test_the_container_on_old_abis(self):
        for abi in ("1", "2"):
            self.assert_refused_as_by_the_launcher("expect denied read_dir {d}", "--max-abi", abi)
        described = "container uid 1000\ncontainer capabilities none\ncontainer read-only /\ncontainer writable docker {d}\nallow write {d}\n"
        for abi in ("1", "2"):
            self.write((described + "expect denied read_dir {d}").format(d=self.d))
            answer = self.ask("test", "--max-abi", abi, "test.policy")
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertIn("landlock-policy: container: ", answer.err)
            self.assertIn("landlock-policy: hint: ", answer.err)


class Container(BubblewrapTest, TestTest):
    """On old ABIs, in a container that is what the policy describes."""

    def test_old_abis(self):
        shutil.copy(COMMAND, self.helper / "landlock-policy")
        self.make("policies", mode=0o644)
        text = (self.describe + "allow read /usr\nexpect denied truncate /usr/lib\nexpect denied refer /sandbox\n"
                "expect denied write_file,read_dir /etc\nexpect allowed read,write,create,remove /sandbox\nexpect denied connect_tcp 80\n")
        policy = self.write(text, "in.policy")
        for abi in ("1", "2"):
            for wrapper in (self.bubblewrap(),):
                answer = self.ask("test", "--max-abi", abi, policy, wrapper=wrapper, uid=ORDINARY, cwd="/")
                self.assertEqual((answer.code, answer.err), (1, ""), answer)
                points = {(p["expected"], p["right"], p["subject"]): p for p in parse_tap(answer.out)}
                truncate = points["denied", "truncate", "/usr/lib"]
                self.assertEqual((truncate["outcome"], truncate["note"]), (
                    "skipped", f"Landlock ABI {abi} cannot restrict it; the container, which was checked, does: Read-only file system"))
                self.assertEqual({p["outcome"] for (expected, right, _), p in points.items() if expected == "allowed"}, {"ok"})
                self.assertEqual(points["denied", "refer", "/sandbox"]["outcome"], "ok")
                self.assertEqual(points["denied", "connect_tcp", "80"]["outcome"], "not ok")
        answer = self.ask("test", "--max-abi", "2", policy, wrapper=self.bubblewrap(extra="--tmpfs /mnt/folder --tmpfs /run"), uid=ORDINARY, cwd="/")
        self.assertEqual((answer.code, answer.out), (2, ""))
        self.assertEqual([line.split(" (")[0] for line in answer.err.splitlines()][:1],
                         ["landlock-policy: container: /mnt/folder is a writable mount that the policy does not name"])
        self.assertIn("landlock-policy: container: 2 findings (checked because Landlock ABI 2 cannot stop truncation)", answer.err)
