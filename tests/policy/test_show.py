"""landlock-policy show: the policy as the launcher takes it, which says the same."""

import re
from pathlib import Path

from command import NEWEST, CommandTest, is_safe, place
from harness import ABI, ORDINARY, OTHER, USERS, need_root

GROUPS = {"read": {"read_file", "read_dir"}, "write": {"write_file", "truncate"},
          "create": {"make_reg", "make_dir", "make_sym", "make_fifo", "make_sock"}, "remove": {"remove_file", "remove_dir"}, "rename": {"refer"},
          "network": {"bind_tcp", "connect_tcp", "bind_udp", "connect_send_udp"}}
LABEL, STATE, RIGHTS, SUBJECT = 14, 12, 36, 32


def short(rights):
    """With groups for all of theirs."""
    left, names = list(rights), []
    for group, members in GROUPS.items():
        if members <= set(left):
            names.append(group)
            left = [right for right in left if right not in members]
    return ",".join(names + left)


def column(text, width):
    return text.ljust(width) if len(text) < width else text + " "


class ShowTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d")
        self.file = self.make("d/file")

    def show(self, *words, **keywords):
        """The document; that the text says the same is seen to."""
        answer = self.ask_json("show", *words, **keywords)
        text = self.ask("show", *words, **keywords)
        self.assertEqual((text.code, text.err, answer.code, answer.err), (0, "", 0, ""))
        self.assert_text(text.lines, answer.json)
        return answer.json

    def assert_text(self, lines, document):
        names = lambda rights: ",".join(rights) or "-"
        kernel, used = document["abi"]["kernel"], document["abi"]["used"]
        facts = [("policy", name) for name in document["files"]]
        facts.append(("landlock abi", f"{used} (kernel {kernel}, this build {NEWEST})" if kernel else
                      f"{used}, though this kernel has no Landlock: landlock-policy probe tells why"))
        facts += [(key.replace("_", " "), names(document[key])) for key in ("restricted", "not_enforced", "not_granted", "unrestricted")]
        if document["run"]:
            facts.append(("run", " ".join(document["run"])))
        facts.append(("directory", document["directory"] or "(the caller's)"))
        keep, given = document["environment"]["keep"], document["environment"]["set"]
        facts.append(("environment", "; ".join(([f"keep {' '.join(keep)}"] if keep else []) + ([f"set {' '.join(given)}"] if given else [])) or "-"))
        facts += [("limit", f"{name} {value}") for name, value in document["limits"].items()]
        facts.append(("audit", "on" if document["audit"] else "off"))
        facts += [("require", f"abi {r['abi']}" if r["abi"] else ",".join(r["rights"])) for r in document["requirements"]]
        facts.append(("container", self.container_text(document["container"])))
        ports = lambda ports: f"{ports['first']}-{ports['last']}" if ports["first"] != ports["last"] else str(ports["first"])
        wanted = [f"{label:{LABEL}}{text}" for label, text in facts] + [""]
        where = "{file}:{line}:{column}".format
        for rule in document["rules"]:
            wanted.append(column(rule["state"], STATE) + column(short(rule["effective"] or rule["rights"]), RIGHTS) + column(rule["path"], SUBJECT)
                          + where(**rule) + (f"  {rule['detail']}" if rule["detail"] else ""))
        for rule in document["ports"]:
            wanted.append(column("allow" if rule["effective"] else "no effect", STATE) + column(short(rule["effective"] or rule["rights"]), RIGHTS)
                          + column(ports(rule), SUBJECT) + where(**rule))
        for path in document["private"]:
            wanted.append(column(path["state"], STATE) + column("", RIGHTS) + column(path["path"], SUBJECT) + where(**path)
                          + (f"  {path['detail']}" if path["detail"] else ""))
        for expectation in document["expectations"]:
            wanted.append(column("must allow" if expectation["expected"] == "allowed" else "must deny", STATE)
                          + column(short(expectation["rights"]), RIGHTS)
                          + column(expectation["path"] or ports(expectation["ports"]), SUBJECT) + where(**expectation))
        self.assertEqual(lines, wanted)

    @staticmethod
    def container_text(container):
        if container is None:
            return "not described"
        paths = lambda key: "".join(f" {path['path']}" for path in container[key])
        return (f"checked {'always' if container['check'] == 'always' else 'on Landlock ABI 1 and 2'}: uid {container['uid']}, no capabilities, "
                f"read-only{paths('read_only')}, writable{''.join(' ' + name for name in container['presets'])}{paths('writable')}")


class Documents(ShowTest):
    def test_everything(self):
        text = (f"allow read,execute {self.d}\nallow write -{self.folder}/gone {self.file}\nallow connect_tcp 443 8000-8010\n"
                f"unrestricted signal,bind_tcp\nrun prog a \"b c\"\ndirectory {self.folder}\nenvironment keep TZ LC_*\n"
                "environment set TOKEN_X=hidden-value B=\nlimit nofile 64\nlimit fsize 2K\naudit on\nrequire abi 1\ncontainer uid 1000\n"
                f"container capabilities none\ncontainer read-only / /usr\ncontainer writable docker podman {self.d}\n"
                f"require truncate,refer\nexpect allowed read {self.d}\nexpect denied bind_tcp 80 90-100\n")
        self.write(text)
        private = self.make("private")
        self.write(text + f"private {private}\n")
        for uid in USERS:
            document = self.show("test.policy", uid=uid)
            self.assertNotIn("hidden-value", str(document) + self.ask("show", "test.policy").out)
            self.assertEqual((document["policy"], document["files"], document["abi"]),
                             ("test.policy", ["test.policy"], {"kernel": ABI, "used": min(ABI, NEWEST)}))
            self.assertEqual([(r["path"], r["rights"], r["state"], r["optional"], r["detail"]) for r in document["rules"]], [
                (str(self.d), ["execute", "read_file", "read_dir"], "allow", False, None),
                (f"{self.folder}/gone", ["write_file", "truncate"], "missing", True, None),
                (str(self.file), ["write_file", "truncate"], "allow", False, None)])
            self.assertEqual([r["effective"] for r in document["rules"]][:2], [["execute", "read_file", "read_dir"], []])
            self.assertEqual([(r["first"], r["last"], r["rights"]) for r in document["ports"]],
                             [(443, 443, ["connect_tcp"]), (8000, 8010, ["connect_tcp"])])
            positions = [(r["file"], r["line"], r["column"]) for r in document["rules"] + document["ports"]]
            self.assertEqual(positions, [place(text, 2, str(self.d)), place(text, 3, f"-{self.folder}/gone"), place(text, 3, str(self.file)),
                                         place(text, 4, "443"),
                                         place(text, 4, "8000")])
            self.assertEqual((document["run"], document["directory"], document["audit"]), (["prog", "a", "b c"], str(self.folder), True))
            self.assertEqual(document["environment"], {"keep": ["TZ", "LC_*"], "set": ["TOKEN_X", "B"]})
            self.assertEqual(document["limits"], {"nofile": 64, "fsize": 2048})
            self.assertEqual(document["unrestricted"], ["bind_tcp", "signal"])
            container = document["container"]
            self.assertEqual((container["check"], container["uid"], container["presets"]), ("old-abi", 1000, ["docker", "podman"]))
            self.assertEqual(([p["path"] for p in container["read_only"]], [p["path"] for p in container["writable"]]),
                             (["/", "/usr"], [str(self.d)]))
            self.assertEqual([p["path"] for p in document["private"]], [str(private)])
            self.assertEqual({key: document["private"][0][key] for key in ("line", "column", "state", "detail")},
                             {"line": 21, "column": 9, "state": "private", "detail": None})
            self.assertEqual([(r["abi"], r["rights"], r["line"], r["column"]) for r in document["requirements"]],
                             [(1, [], 13, 13), (None, ["refer", "truncate"], 18, 9)])
            self.assertEqual([(e["expected"], e["rights"], e["path"], e["ports"], e["line"]) for e in document["expectations"]], [
                ("allowed", ["read_file", "read_dir"], str(self.d), None, 19), ("denied", ["bind_tcp"], None, {"first": 80, "last": 80}, 20),
                ("denied", ["bind_tcp"], None, {"first": 90, "last": 100}, 20)])

    def test_nothing(self):
        self.write("")
        document = self.show("test.policy")
        self.assertEqual({key: document[key] for key in ("rules", "ports", "private", "run", "directory", "environment", "limits", "audit",
                                                         "container")}, {
            "rules": [], "ports": [], "private": [], "run": None, "directory": None, "environment": {"keep": [], "set": []}, "limits": {},
            "audit": False,
            "container": None})

    def test_includes_and_definitions(self):
        self.make_folder("part")
        self.write("define where /usr\ninclude deeper.policy\nallow read ${where}", "part/one.policy")
        self.write("# comment\nallow  read_file ${where}", "part/deeper.policy")
        self.write(f"include -none.policy\ninclude part/one.policy\nallow execute {self.d}")
        document = self.show("test.policy")
        self.assertEqual(document["files"], ["test.policy", "part/one.policy", "part/deeper.policy"])
        self.assertEqual([(r["path"], r["file"], r["line"], r["column"]) for r in document["rules"]], [
            ("/usr", "part/deeper.policy", 3, 18), ("/usr", "part/one.policy", 4, 12), (str(self.d), "test.policy", 4, 15)])
        document = self.show("--define", f"where={self.d}", "test.policy")
        self.assertEqual([r["path"] for r in document["rules"]], [str(self.d)] * 3)

    def test_refused(self):
        """What a launch would be refused for stands beside its line; the rest is shown all the same."""
        gone = self.folder / "gone"
        self.write(f"allow read {gone} {self.d}\nallow read_dir {self.file}\nrequire abi 11\ndirectory {gone}")
        document = self.show("test.policy")
        self.assertEqual([(r["path"], r["state"], r["detail"], r["effective"]) for r in document["rules"]], [
            (str(gone), "refused", f"{gone}: No such file or directory", []), (str(self.d), "allow", None, ["read_file", "read_dir"]),
            (str(self.file), "refused", f"{self.file} is not a directory, and read_dir is a right on directories", [])])
        self.write(f"private {self.file}\nallow read {self.d}")
        self.assertEqual([(p["path"], p["state"], p["detail"]) for p in self.show("test.policy")["private"]], [
            (str(self.file), "refused", f"{self.file} is private, but a rule lets the program open it as {self.file}")])
        need_root()
        other = self.make_folder("other", 0o755, OTHER)
        (other / "link").symlink_to(self.d)
        self.write(f"allow read {other}/link")
        self.assertEqual([(r["state"], r["detail"]) for r in self.show("test.policy")["rules"]], [
            ("refused", f"{other}/link crosses a symbolic link in {other}, which the program could have written")])

    def test_no_effect(self):
        self.write(f"allow bind_tcp,connect_tcp 80\nallow truncate {self.file}\nallow ioctl_dev,read_file /dev/null\nallow bind_udp 53")
        document = self.show("--max-abi", "2", "test.policy")
        self.assertEqual([(r["state"], r["rights"], r["effective"]) for r in document["rules"]], [
            ("no effect", ["truncate"], []), ("allow", ["read_file", "ioctl_dev"], ["read_file"])])
        self.assertEqual([r["effective"] for r in document["ports"]], [[], []])
        document = self.show("--max-abi", "4", "test.policy")
        self.assertEqual([r["effective"] for r in document["ports"]], [["bind_tcp", "connect_tcp"], []])

    def test_rights_of_a_file_are_those_that_fit(self):
        self.write(f"allow read,write {self.file} {self.d}")
        self.assertEqual([r["rights"] for r in self.show("test.policy")["rules"]], [["write_file", "read_file", "truncate"],
                                                                                   ["write_file", "read_file", "read_dir", "truncate"]])

    def test_without_landlock(self):
        self.write(f"allow read,write {self.d}\nallow bind_udp 53")
        for words in ("all=38", "all=95", "all=1", "all=22"):
            document = self.show("test.policy", wrapper=(self.bin / "answer", words, "--"))
            self.assertEqual((document["abi"], document["not_enforced"]), ({"kernel": None, "used": 11}, []))
            document = self.show("--max-abi=3", "test.policy", wrapper=(self.bin / "answer", words, "--"))
            self.assertEqual(document["abi"], {"kernel": None, "used": 3})
            self.assertIn("bind_tcp", document["not_enforced"])

    def test_broken_scopes(self):
        self.write(f"allow read {self.d}")
        document = self.show("test.policy", wrapper=(self.bin / "abi_supervisor", "6", "broken-scopes", "--"))
        self.assertLessEqual({"signal", "abstract_unix_socket"}, set(document["not_enforced"]))

    def test_faulty(self):
        self.write("allow raed /usr\nfoo")
        for words in ((), ("--format=json",)):
            answer = self.ask("show", *words, "test.policy")
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertEqual(len(answer.err.splitlines()), 4)
            self.assertTrue(answer.err.startswith("test.policy:2:7: error: unknown right 'raed'"))
        for name in ("none.policy", "d"):
            answer = self.ask("show", name)
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertIn(f"{name}: error: ", answer.err)
        self.write("define a /usr\nallow read ${a}")
        answer = self.ask("show", "-D", "b=1", "test.policy")
        self.assertEqual((answer.code, answer.out), (2, ""))
        self.assertIn("landlock-policy: hint: the policy's define statements name what can be given", answer.err)

    def test_names_cannot_forge_a_line(self):
        for name in ("new\nline", "\x1b[31m", "\u202ex", "not\udcffutf8"):
            self.write("allow read_file " + "".join(f"\\x{byte:02x}" for byte in bytes(self.make(f"d/{name}"))))
            answer = self.ask("show", "test.policy")
            self.assertTrue(is_safe(answer.out), answer.out)
            self.ask_json("show", "test.policy")


class AsTheLauncher(ShowTest):
    def test_dry_run(self):
        """For each ABI: what is restricted and granted."""
        text = (f"allow read,write,create,remove,rename {self.d}\nallow read -{self.folder}/gone\nallow ioctl_dev,read_file /dev/null\n"
                f"allow network 443\nunrestricted resolve_unix\nallow execute,read_file {self.attempt}\nrun {self.attempt}\n")
        self.write(text)
        for uid in USERS:
            for abi in range(1, NEWEST + 1):
                document = self.show("--max-abi", str(abi), "test.policy", uid=uid)
                launched = self.launch(Path("test.policy"), options=("--max-abi", str(abi), "--dry-run"), uid=uid, cwd=self.folder)
                with self.subTest(abi, uid=uid):
                    status = launched.status
                    self.assertEqual(document["abi"], {"kernel": status["kernel_abi"], "used": status["abi"]})
                    for key in ("not_enforced", "not_granted", "unrestricted"):
                        self.assertEqual(document[key], status[key])
                    if abi < 3:  # refused, for want of a container
                        continue
                    shown = self.ask("show", "--max-abi", str(abi), "test.policy", uid=uid).lines
                    for label in ("landlock abi", "restricted", "not enforced", "not granted", "unrestricted", "audit", "directory"):
                        line = [line for line in launched.out.splitlines() if line.startswith(f"{label:{LABEL}}")]
                        self.assertEqual(line, [line for line in shown if line.startswith(f"{label:{LABEL}}")])
                    rules = [f"{r['state']:{LABEL}}{','.join(r['effective'] or r['rights'])} {r['path']}" for r in document["rules"]]
                    rules += [f"{'allow' if r['effective'] else 'no effect':{LABEL}}{','.join(r['effective'] or r['rights'])} "
                              f"{r['first']}-{r['last']}" for r in document["ports"]]
                    self.assertEqual([line for line in launched.out.splitlines() if re.match("(allow|missing|no effect) ", line)], rules)

    def test_the_shipped_policies(self):
        folders = [self.make_folder(name, 0o700, ORDINARY) for name in ("sandbox", "tmp")]
        script = self.make("main.py")
        defined = {"sandbox": folders[0], "tmp": folders[1], "script": script}
        options = [f"--define={name}={value}" for name, value in defined.items()]
        document = self.show(*options, self.tree / "policy/interpreter.policy")
        launched = self.launch(self.tree / "policy/interpreter.policy", define=defined, options=["--dry-run"])
        self.assertEqual(launched.code, 0, launched)
        self.assertEqual([line[LABEL:] for line in launched.out.splitlines() if line.startswith("policy ")], document["files"])
        self.assertEqual([line.split()[0] if line[:9] != "no effect" else "no effect" for line in launched.out.splitlines()
                          if re.match("(allow|missing|no effect) ", line)], [rule["state"] for rule in document["rules"]])
