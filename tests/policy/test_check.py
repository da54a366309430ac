"""landlock-policy check: each warning where it belongs and not beside it, faults with their codes, and what it says of many policies."""

import os
import socket

from command import CommandTest, few_descriptors, is_safe, place
from harness import IS_ROOT, ORDINARY, OTHER, SOURCE, USERS, need, need_root

ALL_WARNINGS = [f"W{number}" for number in range(101, 112)]


def rendered(document):
    """What check writes for people, made of what it writes for programs."""
    lines = []
    for remark in (remark for policy in document["policies"] for remark in policy["diagnostics"]):
        where = remark["file"] if remark["file"] is not None else "command line"
        if remark["line"]:
            where += f":{remark['line']}:{remark['column']}"
        lines.append(f"{where}: {remark['severity']}: {remark['message']} [{remark['code']}]")
        if remark["hint"]:
            lines.append(f"    hint: {remark['hint']}")
    count, found, warned = len(document["policies"]), document["errors"], document["warnings"]
    lines.append(f"{count} polic{'y' if count == 1 else 'ies'} checked: {found} error{'s' * (found != 1)}, {warned} warning{'s' * (warned != 1)}")
    return lines


class CheckTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d")  # the folders and files that policies here speak of
        self.sub = self.make_folder("d/sub")
        self.dd = self.make_folder("dd")
        self.file = self.make("d/file")
        self.program = self.make("program", mode=0o755)
        self.link, self.top, self.dangling = (self.folder / name for name in ("link", "top", "dangling"))
        for link, target in ((self.link, "d"), (self.top, "/"), (self.dangling, "none")):
            link.symlink_to(target)

    def cannot(self, text):
        """Below an ordinary user's own folders no link is followed: what needs one is tested by root."""
        return not IS_ROOT and any(name in text for name in ("{link}", "{top}", "{dangling}"))

    def fill(self, text):
        """{d} and the like are the paths above."""
        return text.format(f=self.folder, **{name: getattr(self, name) for name in ("d", "sub", "dd", "file", "program", "link", "top", "dangling")})

    def check(self, *words, **keywords):
        """The remarks; that both formats say the same is seen to."""
        answer = self.ask_json("check", *words, **keywords)
        text = self.ask("check", *words, **keywords)
        self.assertEqual((text.code, text.lines, text.err, answer.err), (answer.code, rendered(answer.json), "", ""))
        remarks = [remark for policy in answer.json["policies"] for remark in policy["diagnostics"]]
        self.assertEqual((answer.json["errors"], answer.json["warnings"]),
                         tuple(sum(remark["severity"] == kind for remark in remarks) for kind in ("error", "warning")))
        return answer.code, remarks

    def remarks_of(self, text, *words, **keywords):
        self.write(self.fill(text))
        code, remarks = self.check(*words, "test.policy", **keywords)
        self.assertEqual(code, 1 if remarks else 0)
        return remarks

    def assert_warns(self, text, *expected, ignore="", **keywords):
        """`expected`: (code, line, word, message, part of the hint). Only these, and in the order of the lines; of `ignore`, codes that
        a case cannot help, nothing is told."""
        if self.cannot(text):
            return
        remarks = self.remarks_of(text, *(["--ignore", ignore] if ignore else []), **keywords)
        content = self.fill(text)
        wanted = []
        for code, line, word, message, _ in expected:
            wanted.append((code, *place(content, line, self.fill(word)), self.fill(message)))
        self.assertEqual([(r["code"], r["file"], r["line"], r["column"], r["message"]) for r in remarks], wanted)
        for remark, (*_, hint) in zip(remarks, expected):
            self.assertEqual((remark["severity"], remark["definition"]), ("warning", None))
            self.assertIn(self.fill(hint), remark["hint"] or "")

    def assert_silent(self, code, *texts, **keywords):
        """Whatever else there is to say."""
        others = ",".join(name for name in ALL_WARNINGS if name != code)
        for text in texts:
            if self.cannot(text):
                continue
            with self.subTest(text, quiet=code):
                self.write(self.fill(text))
                answer = self.ask("check", "--ignore", others, "test.policy", **keywords)
                self.assertEqual((answer.code, answer.lines, answer.err), (0, ["1 policy checked: 0 errors, 0 warnings"], ""))


class Warnings(CheckTest):
    def test_w101_writable_and_executable(self):
        hint = "allow one of the two, and keep programs where it cannot write"
        both = "{d} may be both written and executed"
        self.assert_warns("require abi 3\nallow execute,write_file {d}", ("W101", 3, "{d}", both, hint))
        self.assert_warns("require abi 3\nallow execute,read,write {d}", ("W101", 3, "{d}", both, hint))
        self.assert_warns("require abi 3\nallow execute,write -{d}", ("W101", 3, "-{d}", both, hint))
        self.assert_warns("allow execute {d}\nallow write {d}",
                          ("W101", 3, "{d}", both + ": execute is allowed by test.policy:2", hint))
        self.assert_warns("allow write {d}\nallow execute {d}",
                          ("W101", 3, "{d}", both + ": write_file is allowed by test.policy:2", hint))
        self.assert_warns("allow execute {d}\nallow write {sub}",
                          ("W101", 3, "{sub}", "{sub} may be both written and executed: execute is allowed by test.policy:2", hint))
        self.assert_warns("allow write {d}\nallow execute {file}",
                          ("W101", 3, "{file}", "{file} may be both written and executed: write_file is allowed by test.policy:2", hint))
        self.assert_warns("allow execute,read {link}\nallow write {d}",
                          ("W101", 3, "{d}", both + ": execute is allowed by test.policy:2", hint))
        self.assert_warns("allow write {d}\nallow execute,read {link}",
                          ("W101", 3, "{link}", "{link} may be both written and executed: write_file is allowed by test.policy:2", hint))
        self.assert_silent("W101", "allow execute {d}\nallow write {dd}", "allow execute {sub}\nallow write {dd}\nallow read {d}",
                           "allow execute,read,create {d}", "allow execute,truncate {d}", "allow read,write {d}\nallow execute,read {program}",
                           "allow execute {sub}\nallow write {file}")

    def test_w102_below_what_can_be_created_in(self):
        hint = "the last run may have put something else in its place"
        self.assert_warns("allow create {d}\nallow read {sub}",
                          ("W102", 3, "{sub}", "{sub} lies in {d}, where the program may create (test.policy:2)", hint))
        self.assert_warns("allow read -{d}/none\nallow create {d}",
                          ("W102", 2, "-{d}/none", "{d}/none lies in {d}, where the program may create (test.policy:3)", hint))
        self.assert_warns("allow create {d}\nallow execute,read {link}/sub",
                          ("W102", 3, "{link}", "{link}/sub lies in {d}, where the program may create (test.policy:2)", hint))
        self.assert_warns("allow create {link}\nallow read {d}/sub",
                          ("W102", 3, "{d}", "{sub} lies in {link}, where the program may create (test.policy:2)", hint))
        for right in ("make_reg", "make_dir", "make_sym", "make_fifo", "make_sock", "make_char", "make_block", "rename"):
            with self.subTest(right):
                self.assertEqual([r["code"] for r in self.remarks_of(f"allow {right} {{d}}\nallow read {{sub}}")], ["W102"])
        self.assert_silent("W102", "allow create {d}\nallow read {d}", "allow create {sub}\nallow read {d}", "allow create {d}\nallow read {dd}",
                           "allow read,write,remove,truncate {d}\nallow read {sub}", "allow create -{d}/none\nallow read {sub}")

    def test_w103_covered(self):
        hint = "drop the line, or the word"
        given = "all of its rights are given already, by the rule for"
        self.assert_warns("allow read {d}\nallow read_file {sub}", ("W103", 3, "{sub}", f"{{sub}}: {given} {{d}} (test.policy:2)", hint))
        self.assert_warns("allow read_file {sub}\nallow read {d}", ("W103", 2, "{sub}", f"{{sub}}: {given} {{d}} (test.policy:3)", hint))
        self.assert_warns("allow read {sub}\nallow read {sub}", ("W103", 3, "{sub}", f"{{sub}}: {given} {{sub}} (test.policy:2)", hint))
        self.assert_warns("allow read_dir {sub}\nallow read {sub}", ("W103", 2, "{sub}", f"{{sub}}: {given} {{sub}} (test.policy:3)", hint))
        self.assert_warns("allow read_dir {d}\nallow read_file {d}\nallow read {sub}",
                          ("W103", 4, "{sub}", f"{{sub}}: {given} {{d}} (test.policy:3)", hint))
        self.assert_warns("allow read_file {f}\nallow read_dir {d}\nallow read {sub}",
                          ("W103", 4, "{sub}", f"{{sub}}: {given} {{d}} (test.policy:3)", hint))
        self.assert_warns("allow read -{d}\nallow read -{d}/none", ("W103", 3, "-{d}/none", f"{{d}}/none: {given} {{d}} (test.policy:2)", hint))
        self.assert_silent("W103", "allow read_file {d}\nallow read {sub}", "allow read {d}\nallow read {dd}", "allow read {sub}\nallow read {dd}",
                           "allow read {d}\nallow execute,read {sub}", "allow read_dir {d}\nallow read_file {d}",
                           "allow read {d}\nallow read {link}",  # what a link leads to is not the same on every machine
                           "allow read {sub}\nallow read_file {d}")

    def test_a_word_that_stands_twice(self):
        """It is told of the second one."""
        remarks = self.remarks_of("allow read {d} {d}")
        self.assertEqual([(r["code"], r["column"]) for r in remarks], [("W103", len(self.fill("allow read {d} ")) + 1)])

    def test_w104_contradicts_what_is_expected(self):
        hint = "one of the two lines is wrong: take that one out"
        contradicts = "contradicts what is expected to be denied"
        self.assert_warns("allow read {d}\nexpect denied read_file {file}",
                          ("W104", 2, "{d}", f"allowing read_file on {{d}} {contradicts} on {{file}} (test.policy:3)", hint))
        self.assert_warns("expect denied read_dir,execute {d}\nallow execute,read {d}",
                          ("W104", 3, "{d}", f"allowing execute,read_dir on {{d}} {contradicts} on {{d}} (test.policy:2)", hint))
        self.assert_warns("allow read {link}\nexpect denied read_file {file}",
                          ("W104", 2, "{link}", f"allowing read_file on {{link}} {contradicts} on {{file}} (test.policy:3)", hint))
        self.assert_warns("allow read {d}\nexpect denied read_file {link}/file",
                          ("W104", 2, "{d}", f"allowing read_file on {{d}} {contradicts} on {{link}}/file (test.policy:3)", hint))
        self.assert_warns("allow read -{d}\nexpect denied read_file {d}/none",
                          ("W104", 2, "-{d}", f"allowing read_file on {{d}} {contradicts} on {{d}}/none (test.policy:3)", hint))
        self.assert_warns("require abi 10\nallow connect_tcp 443\nexpect denied connect_tcp 443",
                          ("W104", 3, "443", f"allowing connect_tcp on port 443 {contradicts} (test.policy:4)", hint))
        self.assert_warns("require abi 10\nallow network 80-90\nexpect denied connect_tcp,bind_tcp 90-100",
                          ("W104", 3, "80", f"allowing bind_tcp,connect_tcp on port 80-90 {contradicts} (test.policy:4)", hint))
        self.assert_warns("require abi 10\nunrestricted connect_tcp\nexpect denied connect_tcp 80",
                          ("W104", 3, "connect_tcp", f"leaving connect_tcp unrestricted {contradicts} (test.policy:4)", hint))
        self.assert_silent("W104", "allow read {d}\nexpect denied write_file {file}", "allow read {sub}\nexpect denied read_dir {d}",
                           "allow read {d}\nexpect denied read_file {dd}", "allow read {d}\nexpect allowed read_file {file}",
                           "allow connect_tcp 443\nexpect denied connect_tcp 442 444-500", "allow bind_tcp 443\nexpect denied connect_tcp 443",
                           "unrestricted bind_tcp\nexpect denied connect_tcp 80")

    def test_w105_contradicts_private(self):
        hint = "one of the two lines is wrong: take that one out"
        contradicts = "contradicts {file} being private"
        self.assert_warns("private {file}\nallow read {d}", ("W105", 3, "{d}", f"allowing read_file on {{d}} {contradicts} (test.policy:2)", hint))
        self.assert_warns("private {file}\nallow write_file {file}",
                          ("W105", 3, "{file}", f"allowing write_file on {{file}} {contradicts} (test.policy:2)", hint), ignore="W111")
        self.assert_warns("private {file}\nallow read {link}",
                          ("W105", 3, "{link}", f"allowing read_file on {{link}} {contradicts} (test.policy:2)", hint))
        self.assert_warns("allow read {d}\nprivate {link}/file",
                          ("W105", 2, "{d}", "allowing read_file on {d} contradicts {link}/file being private (test.policy:3)", hint))
        self.assert_silent("W105", "private {file}\nallow read {sub}", "private {file}\nallow read_dir {d}", "private {file}\nallow execute {d}",
                           "private {file}\nallow remove,truncate {d}")

    def test_w106_too_wide(self):
        hint = "name what the program needs; landlock-exec --dry-run tells what a policy amounts to"
        whole = "the rule holds for everything in it"
        self.assert_warns("allow read_dir /", ("W106", 2, "/", f"/ is the root directory: {whole}", hint))
        self.assert_warns("allow read_dir /home", ("W106", 2, "/home", f"/home is a home directory: {whole}", hint))
        self.assert_warns("allow read_dir /root", ("W106", 2, "/root", f"/root is a home directory: {whole}", hint))
        self.assert_warns("allow read_dir -/home/none.of.that.name",
                          ("W106", 2, "-/home/none", f"/home/none.of.that.name is a home directory: {whole}", hint))
        self.assert_warns("allow read_dir {top}", ("W106", 2, "{top}", f"{{top}} is the root directory: {whole}", hint))
        self.assert_silent("W106", "allow read -/home/x/y", "allow read -/homes", "allow read -/root/x", "allow read -/rooted", "allow read {d}")

    def test_w107_secrets(self):
        hint = "untrusted code can print all of its environment: leave it out"
        kept = "has the name of a secret, and the program is given the caller's"
        given = "has the name of a secret, and the program is given its value"
        for name in ("API_TOKEN", "TOKEN", "TOKENS", "client_secret", "SECRET*", "MY_PASSWORD_FILE", "passwords", "SSH_KEY", "api_key", "X_KEY*"):
            with self.subTest(name):
                self.assert_warns(f"environment keep LANG {name}", ("W107", 2, name, f"{name} {kept}", hint))
        for name in ("API_TOKEN", "pg_password", "aws_secret_id", "A_KEY"):
            with self.subTest(name):
                self.assert_warns(f"environment set LANG=C {name}=hidden-value", ("W107", 2, name, f"{name} {given}", hint))
        self.assertNotIn("hidden-value", self.ask("check", "test.policy").out)
        self.assert_silent("W107", "environment keep TZ LANG LC_* KEY MONKEY KEYBOARD _KEYS PASS* TOK*",
                           "environment set LANG=API_TOKEN X=SECRET KEYS=1 MKEY=1 A_KEYRING=x")

    def test_w108_missing(self):
        missing = "No such file or directory"
        rule = "create it, take it out of the policy, or write -{f}/none if it may be missing"
        other = "create it, or take it out of the policy"
        self.assert_warns("allow read {d} {f}/none", ("W108", 2, "{f}/none", f"{{f}}/none: {missing}", rule))
        self.assert_warns("allow read {f}/none/*", ("W108", 2, "{f}/none", f"{{f}}/none/*: {missing}", "; a path has no wildcards"))
        self.assert_warns("allow read {file}/x", ("W108", 2, "{file}/x", "{file}/x: Not a directory", "write -{file}/x if it may be missing"))
        self.assert_warns("directory {f}/none", ("W108", 2, "{f}/none", f"{{f}}/none: {missing}", other))
        self.assert_warns("private {f}/none", ("W108", 2, "{f}/none", f"{{f}}/none: {missing}", other))
        container = "container uid 1000\ncontainer capabilities none\ncontainer read-only / {}\ncontainer writable docker {}"
        self.assert_warns(container.format("{f}/none", "{d}"), ("W108", 4, "{f}/none", f"{{f}}/none: {missing}", other))
        self.assert_warns(container.format("{d}", "{f}/none"), ("W108", 5, "{f}/none", f"{{f}}/none: {missing}", other))
        self.assert_warns("allow read {dangling}", ("W108", 2, "{dangling}", f"{{dangling}}: {missing}", "write -{dangling} if it may be missing"))
        self.assert_silent("W108", "allow read -{f}/none -{file}/x", "allow read -{dangling}", "allow read {link}",
                           "expect denied read_file {f}/none",
                           "run {f}/none", "private {file}\ndirectory {d}", container.format("{d}", "{dd}"))

    def test_w109_refused(self):
        self.assert_warns("allow read_dir {file}", ("W109", 2, "{file}", "{file} is not a directory, and read_dir is a right on directories", ""))
        self.assert_warns("allow read_file,make_reg {program}",
                          ("W109", 2, "{program}", "{program} is not a directory, and make_reg is a right on directories", ""))
        self.assert_warns("allow create {file}", ("W109", 2, "{file}", "{file} is not a directory, and make_dir is a right on directories", ""))
        self.assert_warns("directory {file}", ("W109", 2, "{file}", "{file} is not a directory", ""))
        self.assert_warns("private {d}", ("W109", 2, "{d}", "{d} is not a regular file, so it cannot be private", ""))
        os.link(self.file, self.folder / "second")
        self.assert_warns("private {file}", ("W109", 2, "{file}",
                                             "{file} is private, but has 2 names (hard links), by which the program could open it",
                                             "give it a single name"))
        self.assert_silent("W109", "allow read {program}", "allow read -{f}/none", "directory {d}", "private {program}", "allow create {d}")

    def test_w109_beside_w105(self):
        """That a rule lets the program open a private file is told once; that it has two names, and what is amiss with another one, too."""
        os.link(self.file, self.folder / "second")
        opened = self.make("d/file2")
        text = "private {file} {d}/file2\nallow read_file {d}/file2"
        self.write(self.fill(text))
        _, remarks = self.check("test.policy")
        self.assertEqual([(r["code"], r["line"]) for r in remarks], [("W109", 2), ("W105", 3)])
        self.write(f"private {self.file}\nallow read {self.d}\n")
        self.assertEqual([(r["code"], r["line"]) for r in self.check("test.policy")[1]], [("W109", 2), ("W105", 3)])
        self.write(f"private {opened}\nallow read {self.d}\n")
        self.assertEqual([(r["code"], r["line"]) for r in self.check("test.policy")[1]], [("W105", 3)])

    def test_w109_unsafe_links(self):
        need_root()
        crosses = "crosses a symbolic link in {}, which the program could have written"
        (self.sub / "link").symlink_to(self.dd)
        self.assert_warns("allow create {d}\nallow read {sub}/link",
                          ("W109", 3, "{sub}/link", "{sub}/link " + crosses.format("{sub}"), "do not allow to create there"), ignore="W102")
        (self.sub / "nowhere").symlink_to("/nowhere")
        for path in ("nowhere", "nowhere/below"):
            with self.subTest(path):
                remarks = self.remarks_of(f"allow create {{d}}\nallow read -{{sub}}/{path}", "--ignore", "W102")
                self.assertEqual([r["code"] for r in remarks], ["W109"])
        for name, mode, owner in (("other", 0o755, OTHER), ("group", 0o775, 0), ("all", 0o777, 0)):
            folder = self.make_folder(name, mode, owner)
            for target in (self.dd, "/nowhere"):
                (folder / "link").unlink(missing_ok=True)
                (folder / "link").symlink_to(target)
                for tail in ("", "/x"):
                    with self.subTest(name, target=target, tail=tail):
                        remarks = self.remarks_of(f"allow read {folder}/link{tail}")
                        self.assertEqual([(r["code"], r["line"]) for r in remarks], [("W109", 2)])
                        self.assertIn(f"{folder}/link{tail} crosses a symbolic link in {folder}", remarks[0]["message"])
        self.assert_silent("W109", "allow read {link}")

    def test_w109_closed_folders(self):
        need_root()
        closed = self.make_folder("closed", 0o700)
        self.make("closed/file")
        text = f"allow read {closed}/file"
        self.assert_warns(text, ("W109", 2, str(closed), f"{closed}/file: Permission denied",
                                 f"UID {ORDINARY} may not search a directory on the way"))
        self.assertEqual(self.remarks_of(text, uid=0), [])

    def test_w110_open_on_older_abis(self):
        older = "expected to be denied, but Landlock ABI {} and older cannot restrict all of it: {}"
        for right, abi, where in (("truncate", 2, "{d}"), ("ioctl_dev", 4, "{d}"), ("resolve_unix", 8, "{d}"), ("bind_tcp", 3, "80"),
                                  ("connect_tcp", 3, "80"), ("bind_udp", 9, "80"), ("connect_send_udp", 9, "80")):
            with self.subTest(right):
                self.assert_warns(f"expect denied {right} {where}", ("W110", 2, where, older.format(abi, right),
                                                                     f"refuse to run there: require {right}"))
                self.assert_warns(f"require abi {abi}\nexpect denied {right} {where}",
                                  ("W110", 3, where, older.format(abi, right), f"require {right}"))
                self.assert_silent("W110", f"require abi {abi + 1}\nexpect denied {right} {where}", f"require {right}\nexpect denied {right} {where}",
                                   f"expect allowed {right} {where}")
        self.assert_warns("expect denied write,read {d}", ("W110", 2, "{d}", older.format(2, "truncate"), "require truncate"))
        self.assert_warns("expect denied network 1-65535", ("W110", 2, "1-65535", older.format(9, "bind_tcp,connect_tcp,bind_udp,connect_send_udp"),
                                                            "require bind_tcp,connect_tcp,bind_udp,connect_send_udp"))
        container = "container uid 1000\ncontainer capabilities none\ncontainer read-only /\ncontainer writable docker\n"
        self.assert_silent("W110", f"{container}expect denied truncate {{d}}", "expect denied execute,read,remove,create,rename {d}",
                           "unrestricted ioctl_dev\nexpect denied ioctl_dev {d}")

    def test_w111_denied_by_newer_abis(self):
        newer = "{}: the program may {} up to Landlock ABI {} and no more from ABI {} on"
        emptying = newer.format("{}", 'empty a file, as opening it with "w" does,', 2, 3)
        self.assert_warns("allow write_file {d}", ("W111", 2, "{d}", emptying.format("{d}"),
                                                   "allow truncate, too; or run only where it is denied: require truncate"))
        self.assert_warns("allow write_file {link}/file",
                          ("W111", 2, "{link}", emptying.format("{link}/file"), "require truncate"))
        self.assert_silent("W111", "allow write {d}", "allow write_file {sub}\nallow truncate {d}", "require abi 3\nallow write_file {d}",
                           "require truncate\nallow write_file {d}", "allow write_file {sub}\nexpect denied truncate {d}", "allow read {d}",
                           "allow write_file -{d}/none", "allow write_file {link}\nallow truncate {d}",
                           "allow read_file,write_file,truncate /dev/null",
                           "allow read_file /dev/null /dev/zero", "allow write_file /dev/null")
        self.assert_warns("allow read_file /dev/tty", ("W111", 2, "/dev/tty", newer.format("/dev/tty", "send the device requests", 4, 5),
                                                       "allow ioctl_dev, too"))
        self.assert_silent("W111", "allow read_file,ioctl_dev /dev/tty", "unrestricted ioctl_dev\nallow read_file /dev/tty")
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(self.folder)  # an address has 107 bytes
            self.addCleanup(os.chdir, "/")
            server.bind("socket")
        self.assert_warns("allow read_file {f}/socket", ("W111", 2, "{f}/socket", newer.format("{f}/socket", "connect to the socket", 8, 9),
                                                         "allow resolve_unix, too"))
        self.assert_silent("W111", "allow read_file,resolve_unix {f}/socket", "unrestricted resolve_unix\nallow read_file {f}/socket",
                           "require abi 9\nallow read_file {f}/socket")

    def test_w111_name_lookup(self):
        self.assert_warns("allow bind_tcp 80\nallow connect_tcp 443 80",
                          ("W111", 3, "443", "port 53: the program may look up names by UDP up to Landlock ABI 9 and no more from ABI 10 on",
                           "allow connect_send_udp, too; or run only where it is denied: require connect_send_udp"))
        self.assert_silent("W111", "allow connect_tcp 443\nallow connect_send_udp 53", "allow bind_tcp 80",
                           "unrestricted connect_send_udp\nallow connect_tcp 1",
                           "allow connect_tcp 443\nexpect denied connect_send_udp 53", "require abi 10\nallow connect_tcp 443",
                           "allow connect_tcp 443\nexpect denied connect_send_udp 1-65535", "allow network 443", "allow connect_send_udp 1")

    def test_several_at_once_stand_in_the_order_of_lines(self):
        remarks = self.remarks_of("environment keep A_KEY B_TOKEN\nallow read {f}/none /\nallow read_dir {file}\nallow read {d}\n"
                                  "allow execute,write {dd}")
        lines = [(r["line"], r["column"]) for r in remarks]
        self.assertEqual(lines, sorted(lines))
        self.assertEqual({r["code"] for r in remarks}, {"W107", "W108", "W106", "W109", "W103", "W101"})

    def test_groups_definitions_and_included_files(self):
        self.make_folder("part")
        self.write(f"allow execute,read {self.d}", "part/programs.policy")
        self.write(f"define work {self.sub}\ninclude part/programs.policy\ninclude -none.policy\nallow write ${{work}}")
        code, remarks = self.check("test.policy")
        self.assertEqual((code, [(r["code"], r["file"], r["line"], r["column"], r["message"]) for r in remarks]), (1, [
            ("W101", "test.policy", 5, 13, f"{self.sub} may be both written and executed: execute is allowed by part/programs.policy:2")]))
        code, remarks = self.check("-D", f"work={self.dd}", "test.policy")
        self.assertEqual((code, remarks), (0, []))
        self.write(f"allow write {self.d}", "part/programs.policy")
        self.write(f"allow execute {self.d}\ninclude part/programs.policy")
        code, remarks = self.check("test.policy")
        self.assertEqual([(r["file"], r["line"], r["column"]) for r in remarks], [("part/programs.policy", 2, 13)])

    def test_optional_paths_of_groups(self):
        self.assert_silent("W108", "define gone {f}/none\nallow read,write,create -${{gone}} -{f}/none/x {d}")


class Policies(CheckTest):
    def test_the_shipped_ones(self):
        names = sorted((self.tree / "policy").glob("*.policy"))
        self.assertEqual(len(names), len(list((SOURCE / "policy").glob("*.policy"))))
        for uid in USERS:
            folders = [self.make_folder(f"{name}.{uid}", 0o700, uid) for name in ("sandbox", "tmp")]
            script = self.make(f"main.{uid}.py")
            defined = [f"--define={name}={value}" for name, value in zip(("sandbox", "tmp", "script"), (*folders, script))]
            for name in names:
                with self.subTest(name.name, uid=uid):
                    options = defined if name.name == "interpreter.policy" else ()
                    answer = self.ask_json("check", name, *options, uid=uid)
                    self.assertEqual((answer.code, answer.json["policies"]), (0, [{"policy": str(name), "diagnostics": [], "dropped": 0}]))

    def test_faults(self):
        """All of them in one go; the lint has its turn when there are none."""
        text = ("allow raed /usr\n  limt nofile 1\nallow read usr\nrequire abi 99\nlimit nofile 1x\nenvironment keep 1A\nallow connect_tcp 1,2\n"
                'limit nproc "1')
        self.write(text + "\nallow execute,write /\n")
        code, remarks = self.check("test.policy")
        wanted = (("E301", 2, "raed"), ("E201", 3, "limt"), ("E308", 4, "usr"), ("E307", 5, "99"), ("E312", 6, "1x"), ("E313", 7, "1A"),
                  ("E309", 8, "1,2"),
                  ("E114", 9, '"1'))
        self.assertEqual((code, [(r["code"], r["file"], r["line"], r["column"]) for r in remarks]),
                         (1, [(name, *place(text, line, word)) for name, line, word in wanted]))
        self.assertEqual({(r["severity"], r["hint"], r["definition"]) for r in remarks}, {("error", None, None)})
        self.assertIn("did you mean 'read'", remarks[0]["message"])
        self.assertIn("did you mean 'limit'", remarks[1]["message"])

    def test_faults_of_whole_files(self):
        cases = (("allow read /usr\n", "E108", 1, 1), ("policy 9\n", "E109", 1, 8), (b"\xef\xbb\xbfpolicy 1\n", "E107", 1, 1),
                 (b"policy 1\nrun \xff\n", "E111", 2, 5),
                 ("policy 1\nrun a\x01\n", "E112", 2, 6), ("policy 1\nrun a\u202eb\n", "E113", 2, 6), ("policy 1\npolicy 1\n", "E110", 2, 1),
                 ("policy 1\ninclude test.policy\n", "E103", 2, 9), ("policy 1\ninclude none.policy\n", "E101", 2, 9),
                 ('policy 1\nrun "a\\q"\n', "E115", 2, 7), ("policy 1\ncontainer uid 1000\n", "E317", 2, 1))
        for text, code, line, column in cases:
            with self.subTest(code):
                self.make("test.policy", text)
                status, remarks = self.check("test.policy")
                self.assertEqual((status, [(r["code"], r["file"], r["line"], r["column"]) for r in remarks]),
                                 (1, [(code, "test.policy", line, column)]))

    def test_faults_in_included_files(self):
        self.write("allow read usr", "part.policy")
        self.write("include part.policy\nrun")
        _, remarks = self.check("test.policy")
        self.assertEqual(sorted((r["code"], r["file"], r["line"]) for r in remarks), [("E202", "test.policy", 3), ("E308", "part.policy", 2)])

    def test_faults_of_definitions(self):
        self.write("define known /usr\nallow read ${known}")
        code, remarks = self.check("-D", "unknown=1", "-D", "known=/bin", "--define", "known=/", "--define=a=b", "test.policy")
        self.assertEqual((code, sorted((r["code"], r["file"], r["line"], r["column"], r["definition"]) for r in remarks)), (1, [
            ("E212", None, None, None, "known"), ("E213", None, None, None, "a"), ("E213", None, None, None, "unknown")]))
        code, remarks = self.check("-D", "known=usr", "test.policy")
        self.assertEqual((code, [(r["code"], r["file"], r["line"]) for r in remarks]), (1, [("E308", "test.policy", 3)]))

    def test_thousands_of_faults(self):
        """1,000 are told, the rest is counted."""
        self.write("\n".join(["limt"] * 2500))
        answer = self.ask_json("check", "test.policy")
        policy = answer.json["policies"][0]
        self.assertEqual((answer.code, len(policy["diagnostics"]), policy["dropped"], answer.json["errors"]), (1, 1000, 1500, 2500))
        text = self.ask("check", "test.policy")
        self.assertEqual(text.lines[-2:], ["and 1500 more errors", "1 policy checked: 2500 errors, 0 warnings"])

    def test_unreadable_policies(self):
        """What could not be read at all is no finding: the command could not do its work on it; the others are checked all the same."""
        self.write(f"allow read {self.dd}", "good.policy")
        self.write("allow read /", "wide.policy")
        os.mkfifo(self.folder / "fifo")
        cases = ["none.policy", "d", "fifo", "good.policy/x", "", "x" * 300, "d/none/x.policy"]
        if IS_ROOT:
            self.write("", "secret.policy", mode=0o600)
            cases.append("secret.policy")
        for name in cases:
            with self.subTest(name):
                code, remarks = self.check("good.policy", name, "wide.policy")
                self.assertEqual((code, [(r["code"], r["file"], r["line"]) for r in remarks]),
                                 (2, [("E101", name, None), ("W106", "wide.policy", 2)]))
        code, remarks = self.check("none.policy", "none.policy")
        self.assertEqual((code, [r["code"] for r in remarks]), (2, ["E101", "E101"]))

    def test_unsafe_policies(self):
        need_root()
        for name, mode, owner in (("group", 0o664, 0), ("all", 0o666, 0), ("other", 0o644, OTHER)):
            self.write("", f"{name}.policy", mode=mode, owner=owner)
            code, remarks = self.check(f"{name}.policy")
            self.assertEqual((code, [(r["code"], r["file"], r["line"]) for r in remarks]), (1, [("E102", f"{name}.policy", None)]))
        self.write("", "own.policy", owner=ORDINARY)
        self.assertEqual(self.check("own.policy"), (0, []))
        self.assertEqual([r["code"] for r in self.check("own.policy", uid=0)[1]], ["E102"])

    def test_several_policies(self):
        self.write(f"allow read {self.dd}", "good.policy")
        self.write("allow read /", "wide.policy")
        self.write("allow", "faulty.policy")
        answer = self.ask_json("check", "wide.policy", "good.policy", "faulty.policy", "wide.policy")
        self.assertEqual((answer.code, answer.json["errors"], answer.json["warnings"]), (1, 1, 2))
        self.assertEqual([(p["policy"], [r["code"] for r in p["diagnostics"]]) for p in answer.json["policies"]], [
            ("wide.policy", ["W106"]), ("good.policy", []), ("faulty.policy", ["E202"]), ("wide.policy", ["W106"])])
        self.check("wide.policy", "good.policy", "faulty.policy")
        for names, code, last in ((["good.policy"], 0, "1 policy checked: 0 errors, 0 warnings"),
                                  (["good.policy"] * 2, 0, "2 policies checked: 0 errors, 0 warnings"),
                                  (["wide.policy"], 1, "1 policy checked: 0 errors, 1 warning"),
                                  (["faulty.policy"], 1, "1 policy checked: 1 error, 0 warnings")):
            answer = self.ask("check", *names)
            self.assertEqual((answer.code, answer.lines[-1]), (code, last))

    def test_a_thousand_policies(self):
        """Each is answered, with the descriptors of a few."""
        names = [f"{number}.policy" for number in range(1000)]
        for number, name in enumerate(names):
            self.write(f"allow read {self.dd}\n" + "allow read /\n" * (number % 3 == 0), name)
        answer = self.ask_json("check", *names, preexec_fn=few_descriptors)
        self.assertEqual([p["policy"] for p in answer.json["policies"]], names)
        self.assertEqual([len(p["diagnostics"]) for p in answer.json["policies"]], [int(number % 3 == 0) * 2 for number in range(1000)])
        answer = self.ask("check", *names, preexec_fn=few_descriptors)
        self.assertEqual(answer.lines[-1], "1000 policies checked: 0 errors, 668 warnings")

    def test_names_cannot_forge_a_line(self):
        forged = "x\n1 policy checked: 0 errors, 0 warnings"
        for number, name in enumerate(("a\nb.policy: error", "\x1b[31mred.policy", "turned\u202e.policy", "not\udcffutf8.policy", forged)):
            with self.subTest(name):
                self.write("allow read /", name)
                answer = self.ask("check", name)
                self.assertEqual((answer.code, len(answer.lines)), (1, 3), answer)
                self.assertTrue(answer.lines[0].endswith("[W106]"))
                self.assertTrue(is_safe(answer.out), answer.out)
                shown = self.ask_json("check", name).json["policies"][0]
                self.assertEqual(shown["policy"], name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
                self.assertEqual(shown["diagnostics"][0]["file"], shown["policy"])
                folder = self.make_folder(f"{number}/{name}")
                self.write(f'allow write_file "{self.escaped(folder)}"\nallow read "{self.escaped(folder)}/none"')
                answer = self.ask("check", "test.policy")
                self.assertEqual(len(answer.lines), 5, answer)
                self.assertTrue(is_safe(answer.out), answer.out)

    @staticmethod
    def escaped(path):
        """As a word of a policy."""
        return "".join(f"\\x{byte:02x}" if byte < 32 or byte > 126 or byte in b'"\\$' else chr(byte) for byte in os.fsencode(path))

    def test_more_than_one_user(self):
        for uid in USERS:
            self.write(f"allow read {self.dd}")
            self.assertEqual(self.check("test.policy", uid=uid), (0, []))


class Ignoring(CheckTest):
    POLICY = "environment keep A_KEY\nallow read /\nallow execute,write -/nowhere/at/all\n"

    def codes(self, *words):
        self.write(self.POLICY)
        code, remarks = self.check(*words, "test.policy")
        self.assertEqual(code, 1 if remarks else 0)
        return sorted(r["code"] for r in remarks)

    def test_codes(self):
        everything = self.codes()
        self.assertEqual(everything, ["W101", "W106", "W107"])
        for words, left in ((["--ignore", "W101"], ["W106", "W107"]), (["--ignore=W101,W107"], ["W106"]),
                            (["--ignore=W101", "--ignore", "W107"], ["W106"]),
                            (["--ignore=W101", "--ignore=W101"], ["W106", "W107"]), (["--ignore=W107,W106,W101"], []),
                            (["--ignore=W102"], everything),
                            (["--ignore=" + ",".join(ALL_WARNINGS)], [])):
            with self.subTest(words):
                self.assertEqual(self.codes(*words), left)

    def test_unknown_codes(self):
        self.write(self.POLICY)
        for value in ("W100", "W112", "W1", "W1011", "w101", "", ",", "W101,", ",W101", "W101,,W102", "W101 W102", "E101", "E301", "W101,x\ny"):
            with self.subTest(value):
                for form in ("text", "json"):
                    answer = self.ask("check", f"--ignore={value}", f"--format={form}", "test.policy")
                    self.assert_failed(answer, "--ignore: unknown code '", "W101 to W111")

    def test_errors_stay(self):
        self.write("allow")
        code, remarks = self.check("--ignore", ",".join(ALL_WARNINGS), "test.policy")
        self.assertEqual((code, [r["code"] for r in remarks]), (1, ["E202"]))


class WithoutLandlock(CheckTest):
    """A policy is checked on other machines than the one it is for."""

    POLICY = ("require abi 11\nrequire resolve_unix\ncontainer uid 4\ncontainer capabilities none\ncontainer read-only /\n"
              "container writable docker {d}\nallow execute,write {d}\nallow read {f}/none /\nallow read_dir {file}\n"
              "expect denied read_file {file}\nallow read_file {file}\nrun {f}/none\n")

    def test_the_same_is_found(self):
        self.write(self.fill(self.POLICY))
        here = self.ask("check", "test.policy")
        self.assertEqual((here.code, here.err), (1, ""))
        self.assertLessEqual({"W101", "W104", "W106", "W108", "W109"}, {line[-5:-1] for line in here.lines})
        self.assertNotIn("ABI 11", here.out)
        for uid in USERS:
            for wrapper in (*((self.bin / "answer", words, "--") for words in ("all=38", "all=95", "all=1", "all=22", "all=0")),
                            *((self.bin / "abi_supervisor", str(abi), "plain", "--") for abi in (1, 4, 30)),
                            (self.bin / "abi_supervisor", "6", "broken-scopes", "--"), (self.bin / "abi_supervisor", "7", "no-effect", "--")):
                with self.subTest(wrapper[1:], uid=uid):
                    there = self.ask("check", "test.policy", wrapper=wrapper, uid=uid)
                    self.assertEqual((there.code, there.out, there.err), (here.code, here.out, ""))
        self.write(self.fill("allow read {dd}"))
        self.assertEqual(self.ask("check", "test.policy", wrapper=(self.bin / "answer", "all=38", "--")).code, 0)

    def test_without_proc(self):
        """Links and private files that cannot be looked at are no reason to say nothing."""
        need_root()
        need(os.path.exists("/usr/bin/unshare"), "unshare")
        self.write(self.fill("allow read {link}\nallow read {f}/none"))
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", 'mount -t tmpfs tmpfs /proc; exec "$@"', "sh")
        answer = self.ask("check", "test.policy", uid=0, wrapper=wrapper, in_domain=True)
        self.assertEqual((answer.code, [line[-5:-1] for line in answer.lines if line.endswith("]")]), (1, ["W108"]), answer)
