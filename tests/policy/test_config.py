"""landlock-policy import and export: to the kernel the policy, and the configuration made of it again, mean what the configuration does."""

import json
import os
import subprocess
from pathlib import Path

from command import CommandTest, is_safe
from harness import ABI, ORDINARY

APPLY = Path(__file__).with_name("apply_configuration.py")

# Rules beside the one for the helper, with BIN, D and so on replaced.
CORPUS = {
    "nothing but a ruleset": {"ruleset": [{"handledAccessFs": ["write_file", "make_dir"]}]},
    "one right": {"pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["${D}/one"]}]},
    "all of ABI 1": {"abi": 1, "ruleset": [{"handledAccessFs": ["abi.all"]}], "pathBeneath": [{"allowedAccess": ["abi.read_write"], "parent": ["${D}/one"]}]},
    "all of ABI 2": {"abi": 2, "ruleset": [{"handledAccessFs": ["abi.all"]}], "pathBeneath": [{"allowedAccess": ["abi.all"], "parent": ["${D}/one", "${D}/two"]}]},
    "all of ABI 3": {"abi": 3, "ruleset": [{"handledAccessFs": ["abi.all"]}], "pathBeneath": [{"allowedAccess": ["abi.read_execute"], "parent": ["${D}"]}]},
    "network": {"abi": 4, "ruleset": [{"handledAccessNet": ["abi.all"]}], "netPort": [{"allowedAccess": ["connect_tcp"], "port": [9, 10]}]},
    "ports only": {"netPort": [{"allowedAccess": ["bind_tcp"], "port": [0]}]},
    "a range of ports": {"netPort": [{"allowedAccess": ["bind_tcp", "connect_tcp"], "port": [0, 8, 9, 10, 12]}, {"allowedAccess": ["connect_tcp"], "port": [13]}]},
    "everything of ABI 6": {"abi": 6, "ruleset": [{"handledAccessFs": ["abi.all"], "handledAccessNet": ["abi.all"], "scoped": ["abi.all"]}],
                            "pathBeneath": [{"allowedAccess": ["abi.read_write"], "parent": ["${D}/one"]}]},
    "a newer ABI than there is": {"abi": 2147483647, "ruleset": [{"handledAccessFs": ["abi.all"], "scoped": ["abi.all"]}],
                                  "pathBeneath": [{"allowedAccess": ["abi.all"], "parent": ["${D}/two"]}]},
    "scopes": {"ruleset": [{"scoped": ["signal"]}]},
    "no refer": {"ruleset": [{"handledAccessFs": ["read_dir"]}], "pathBeneath": [{"allowedAccess": ["read_dir"], "parent": ["/"]}]},
    "refer": {"pathBeneath": [{"allowedAccess": ["refer"], "parent": ["${D}/one", "${D}/two"]}]},
    "variables": {"abi": 3, "variable": [{"name": "names", "literal": ["one", "two"]}, {"name": "files", "literal": ["file", "none"]},
                                         {"name": "names", "literal": ["one"]}, {"name": "nothing"}],
                  "ruleset": [{"handledAccessFs": ["abi.all"]}],
                  "pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["${D}/${names}/${files}", "${nothing}/etc"]}]},
    "odd names": {"ruleset": [{"handledAccessFs": ["read_file"]}],
                  "pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["${D}/odd/$$x", "${D}/odd/$$$${y}", "${D}/odd/a b", "${D}/odd/файл"]}]},
    "paths written otherwise": {"ruleset": [{"handledAccessFs": ["read_file", "read_dir"]}],
                                "pathBeneath": [{"allowedAccess": ["read_file", "read_dir"], "parent": ["${D}//one/./", "${D}/two/"]}]},
    "the same twice": {"ruleset": [{"handledAccessFs": ["read_file"]}, {"handledAccessFs": ["write_file", "read_file"]}],
                       "pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["${D}/one", "${D}/one"]}, {"allowedAccess": ["write_file"], "parent": ["${D}/one"]}]},
    "missing": {"ruleset": [{"handledAccessFs": ["read_file"]}], "pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["/no/such", "${D}/one"]}]},
    "a file": {"abi": 5, "ruleset": [{"handledAccessFs": ["abi.all"]}], "pathBeneath": [{"allowedAccess": ["read_file", "write_file", "truncate"], "parent": ["${D}/one/file"]}]},
    "nested": {"abi": 3, "ruleset": [{"handledAccessFs": ["abi.all"]}],
               "pathBeneath": [{"allowedAccess": ["abi.read_execute"], "parent": ["${D}"]}, {"allowedAccess": ["abi.read_write"], "parent": ["${D}/two"]}]},
}

FAULTS = {
    "[]": "expected an object", "{": "", "": "", "null": "", '{"abi": 1}': "it says nothing", '{"ruleset": []}': "at least one item", "{}": "it says nothing",
    '{"ruleset": [{}]}': "it is empty", '{"ruleset": [{"handledAccessFs": []}]}': "at least one item", '{"ruleset": {"scoped": ["signal"]}}': "must be an array",
    '{"ruleset": [{"handledAccessFs": ["abi.all"]}]}': "needs the key 'abi'", '{"abi": 0, "ruleset": [{"scoped": ["signal"]}]}': "whole number from 1 to 2147483647",
    '{"abi": 2147483648, "ruleset": [{"scoped": ["signal"]}]}': "whole number from 1 to 2147483647",
    '{"abi": 1.5, "ruleset": [{"scoped": ["signal"]}]}': "whole number", '{"abi": "1", "ruleset": [{"scoped": ["signal"]}]}': "whole number",
    '{"ruleset": [{"scoped": ["bind_tcp"]}]}': "unknown right 'bind_tcp'", '{"ruleset": [{"handledAccessFs": ["read"]}]}': "unknown right 'read'",
    '{"ruleset": [{"handledAccessFs": ["resolve_unix"]}]}': "unknown right", '{"ruleset": [{"handledAccessNet": ["abi.read_write"]}], "abi": 4}': "unknown right",
    '{"pathBeneeth": [], "ruleset": [{"scoped": ["signal"]}]}': "did you mean 'pathBeneath'",
    '{"ruleset": [{"scoped": ["signal"], "x": 1}]}': "unknown key 'x'", '{"ruleset": [{"scoped": ["signal"]}], "ruleset": [{"scoped": ["signal"]}]}': "duplicate",
    '{"pathBeneath": [{"parent": ["/usr"]}]}': "'allowedAccess' is missing", '{"pathBeneath": [{"allowedAccess": ["execute"]}]}': "'parent' is missing",
    '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": []}]}': "at least one item", '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": [3]}]}': "a string",
    '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": ["${x}"]}]}': "a variable that there is not",
    '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": ["/${x"]}]}': "without '}'",
    '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": ["${}"]}]}': "begins with a letter",
    '{"variable": [{"name": "1x"}]}': "begins with a letter", '{"variable": [{"name": "x-y"}]}': "letters, digits", '{"variable": [{"literal": ["x"]}]}': "'name' is missing",
    '{"variable": [{"name": "x", "literal": []}]}': "at least one item", '{"netPort": [{"allowedAccess": ["bind_tcp"], "port": [65536]}]}': "0 to 65535",
    '{"netPort": [{"allowedAccess": ["bind_tcp"], "port": [-1]}]}': "0 to 65535", '{"netPort": [{"allowedAccess": ["bind_tcp"], "port": ["1"]}]}': "0 to 65535",
    '{"pathBeneath": [{"allowedAccess": ["execute"], "parent": ["/a\\u0000b"]}]}': "NUL",
    '{"variable": [{"name": "v", "literal": ["", "x"]}], "pathBeneath": [{"allowedAccess": ["execute"], "parent": ["/' + "${v}" * 20 + '"]}]}': "too many paths",
    # nor where none of them is a path that a policy can have
    '{"variable": [{"name": "v", "literal": ["x", "y"]}], "pathBeneath": [{"allowedAccess": ["execute"], "parent": ["' + "${v}" * 60 + '"]}]}': "too many paths",
    '{"variable": [' + ",".join(f'{{"name": "v{i}"}}' for i in range(1001)) + "]}": "more than 1000 variables",
    '{"ruleset": [{"scoped": ["signal"]}]}\0{': "",
    " " * (8 * 1024 * 1024 + 1): "File too large",
}


class MeaningTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d", owner=ORDINARY)
        self.prepare()

    def prepare(self):
        """The tree that the attempts work on, as it is at first."""
        subprocess.run(["/usr/bin/find", self.d, "-mindepth", "1", "-delete"], check=True)
        for name in ("one", "two", "three", "odd", "one/empty", "two/empty"):
            self.make_folder(f"d/{name}", owner=ORDINARY)
        for name in ("one/file", "two/file", "three/file", "one/old", "two/old", "odd/$x", "odd/$${y}", "odd/a b", "odd/файл", "one/move"):
            self.make(f"d/{name}", owner=ORDINARY)
        self.make("d/one/program", self.attempt.read_bytes(), 0o755, ORDINARY)

    def attempts_in(self):
        d = self.d
        for name in ("one", "two", "three"):
            yield from (f"read {d}/{name}/file", f"write {d}/{name}/file", f"list {d}/{name}", f"create {d}/{name}/new", f"mkdir {d}/{name}/dir",
                        f"symlink x {d}/{name}/sym", f"fifo {d}/{name}/fifo", f"truncate {d}/{name}/file", f"otrunc {d}/{name}/file",
                        f"unlink {d}/{name}/old", f"rmdir {d}/{name}/empty", f"link {d}/{name}/file {d}/{name}/file2")
        yield from (["read", f"{d}/odd/$x"], ["read", f"{d}/odd/$${{y}}"], ["read", f"{d}/odd/a b"], ["read", f"{d}/odd/файл"])
        yield from (f"rename {d}/one/move {d}/two/move", f"link {d}/one/file {d}/three/file3", f"execute {d}/one/program", f"list /etc", "read /etc/passwd",
                    "connect 9", "connect 11", "bind 0", f"kill {os.getpid()} 0", "abstract no-such", "ioctl /dev/null")

    def tried(self, *wrapper):
        self.prepare()
        command = self.operations(*self.attempts_in())
        becomes = (self.bin / "become", f"uid={ORDINARY}", "bounding=all", "--")
        done = subprocess.run([os.fspath(word) for word in (*becomes, *wrapper, *command)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        return dict(zip(map(str, self.attempts_in()), done.stdout.split()))

    def test_it_means_the_same(self):
        """Compared by attempts: the configuration itself, its policy, and the configuration that is made of that."""
        apply = self.make("apply.py", APPLY.read_text())
        for name, text in CORPUS.items():
            with self.subTest(name):
                configuration = json.loads(json.dumps(text))
                configuration.setdefault("variable", []).append({"name": "D", "literal": [str(self.d)]})
                if "pathBeneath" in configuration or "handledAccessFs" in str(configuration):  # else no right on files is handled
                    configuration.setdefault("pathBeneath", []).append({"allowedAccess": ["execute", "read_file"], "parent": [str(self.attempt)]})
                first = self.make("first.json", json.dumps(configuration))
                imported = self.ask("import", first)
                self.assertEqual(imported.code, int("newer" in name), imported)
                policy = self.make("imported.policy", imported.out)
                self.assertEqual([line for line in self.ask("check", policy).lines if ": error: " in line], [])
                exported = self.ask("export", policy)
                self.assertIn(exported.code, (0, 1))
                second = self.make("second.json", exported.out)
                wanted = self.tried("/usr/bin/python3", apply, first)
                self.assertIn("EACCES", wanted.values() if name not in ("scopes", "ports only") else ["EACCES"])
                self.assertEqual(self.tried(self.launcher, "-p", policy, "--"), wanted)
                self.assertEqual(self.tried("/usr/bin/python3", apply, second), wanted)
                # and it stays what it is
                again = self.ask("import", second)
                self.assertEqual(again.out, self.ask("import", self.make("third.json", self.ask("export", self.make("again.policy", again.out)).out)).out)


class FaultTest(CommandTest):
    def test_faults(self):
        for text, message in FAULTS.items():
            with self.subTest(text[:80]):
                answer = self.ask("import", self.make("x.json", text))
                self.assertEqual((answer.code, answer.out), (2, ""), answer)
                self.assertIn(message, answer.err)
                self.assertRegex(answer.err.splitlines()[-1], "x.json: (it is no configuration of landlockconfig|File too large)$")

    def test_all_faults_at_once(self):
        answer = self.ask("import", self.make("x.json", '{"x": 1, "ruleset": [{"scoped": ["a", "b"]}, {}], "netPort": [{"port": [99999]}]}'))
        self.assertEqual(len(answer.err.splitlines()), 7, answer.err)

    def test_not_all_is_told(self):
        answer = self.ask("import", self.make("x.json", json.dumps({"pathBeneath": [1] * 100000})))
        self.assertEqual((answer.code, len(answer.err.splitlines())), (2, 1002))
        self.assertIn("error: 99000 more\n", answer.err)

    def test_names_cannot_forge_a_line(self):
        for name in ("\n", "\x1b[31m", "\u202e", "a\nlandlock-policy: x"):
            answer = self.ask("import", self.make("x.json", json.dumps({name: 1, "pathBeneath": [{"allowedAccess": [name], "parent": [name]}]})))
            self.assertEqual(answer.code, 2)
            self.assertTrue(is_safe(answer.err), answer.err)
            self.assertEqual(len(answer.err.splitlines()), 3, answer.err)
        answer = self.ask("import", self.make("x.json", json.dumps({"pathBeneath": [{"allowedAccess": ["read_file"], "parent": ["/x\nallow write /"]}]})))
        self.assertEqual((answer.code, [line for line in answer.lines if line.startswith("allow")][0]), (0, "allow read_file -/x\\x0aallow\\x20write\\x20"))

    def test_a_file_that_is_not_there(self):
        self.assert_failed(self.ask("import", "no.json"), "no.json: No such file", hint=False)
        self.assert_failed(self.ask("import", "/"), hint=False)


class UnsaidTest(CommandTest):
    """What the other language cannot say is told, and the exit status says that something was."""

    def test_import(self):
        file = self.make("plain")
        text = {"pathBeneath": [{"allowedAccess": ["read_file", "read_dir", "make_reg"], "parent": [".", "usr", "/usr/../etc", str(file), "/usr"]}]}
        answer = self.ask("import", self.make("x.json", json.dumps(text)))
        self.assertEqual(answer.code, 1)
        self.assertEqual([line for line in answer.lines if line.startswith("allow") and line.endswith("/usr") or str(file) in line],
                         ["allow read,make_reg -/usr", f"allow read_file -{file}"])
        for part in ("parent[0]", "parent[1]", "parent[2]", f"{file} is no directory"):
            self.assertIn(part, answer.err)
        self.assertEqual(len(answer.err.splitlines()), 4)

    def test_a_path_that_only_a_directory_has(self):
        """The kernel would not find a file by it."""
        for end in ("/", "/.", "//", "/./"):
            answer = self.ask("import", self.make("x.json", json.dumps({"pathBeneath": [{"allowedAccess": ["read_file"], "parent": [f"{self.make('plain')}{end}", f"/etc{end}"]}]})))
            self.assertEqual((answer.code, [line for line in answer.lines if line.startswith("allow") and not line.endswith(" /")]), (1, ["allow read_file -/etc"]), answer)
            self.assertIn("is no directory", answer.err)

    def test_what_restricts_nothing(self):
        for text in ({"variable": [{"name": "x"}]}, {"abi": 3, "netPort": [{"allowedAccess": ["abi.all"], "port": [1]}]}):
            answer = self.ask("import", self.make("x.json", json.dumps(text)))
            self.assertEqual(answer.code, 1)
            self.assertIn("it restricts nothing", answer.err)

    def test_what_newer_groups_have(self):
        """The policy restricts it, whether landlockconfig does or not."""
        text = {"abi": 9, "ruleset": [{"handledAccessFs": ["abi.all"]}], "pathBeneath": [{"allowedAccess": ["abi.read_write"], "parent": ["/run"]}]}
        answer = self.ask("import", self.make("x.json", json.dumps(text)))
        self.assertEqual(answer.code, 1)
        self.assertIn("ABI 9", answer.err)
        self.assertFalse([line for line in answer.lines if line.startswith("unrestricted") and "resolve_unix" in line])
        self.assertIn("resolve_unix", next(line for line in answer.lines if line.endswith("/run")))

    def test_export_once(self):
        """What stands twice becomes one; what is without effect is not told."""
        policy = self.write("allow read_file -/a -/b\nallow execute -/a\nallow connect_tcp 5 5 4-6\nallow bind_tcp 6\nallow bind_udp 53\nunrestricted bind_udp,connect_send_udp,resolve_unix")
        answer = self.ask("export", policy)
        self.assertEqual((answer.code, answer.err), (0, ""))
        document = json.loads(answer.out)
        self.assertEqual(document["pathBeneath"], [{"allowedAccess": ["execute", "read_file"], "parent": ["/a"]}, {"allowedAccess": ["read_file"], "parent": ["/b"]}])
        self.assertEqual(document["netPort"], [{"allowedAccess": ["connect_tcp"], "port": [4, 5]}, {"allowedAccess": ["bind_tcp", "connect_tcp"], "port": [6]}])

    def test_export(self):
        policy = self.write("run /usr/bin/true\ndirectory /tmp\nprivate -/x\nrequire abi 1\nallow read -/usr\nallow resolve_unix -/run\nallow connect_send_udp 53\n"
                            "allow connect_tcp 8000-8002\naudit on\nenvironment set A=b\nlimit core 0\nexpect denied read_file /etc/passwd\nallow read -/\\xff"
                            .replace("private -/x\n", ""))
        answer = self.ask("export", policy)
        self.assertEqual(answer.code, 1, answer)
        for part in ("run", "directory", "require", "audit", "environment set", "limit", "expect", "resolve_unix,bind_udp,connect_send_udp", "/run", "port 53", "UTF-8"):
            self.assertIn(part, answer.err)
        document = json.loads(answer.out)
        self.assertEqual(document["netPort"], [{"allowedAccess": ["connect_tcp"], "port": [8000, 8001, 8002]}])
        self.assertEqual([rule["parent"] for rule in document["pathBeneath"]], [["/usr"]])

    def test_all_can_be_said(self):
        policy = self.write("allow read -/usr\nunrestricted resolve_unix,bind_udp,connect_send_udp")
        answer = self.ask("export", policy)
        self.assertEqual((answer.code, answer.err), (0, ""))
