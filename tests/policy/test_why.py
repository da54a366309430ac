"""landlock-policy why: what would come of an access, by which line, and the line that would allow it, which then does."""

import os
import socket
from pathlib import Path

from command import CommandTest, is_safe, place
from harness import ABI, IS_ROOT, ORDINARY, OTHER, USERS, need_root

# How the helper `attempt` does what a right is about, {} being the path, and what it says if that is allowed.
ATTEMPTS = {
    "read_file": ["read", "{}"], "write_file": ["write", "{}"], "read_dir": ["list", "{}"], "make_reg": ["reg", "{}/new"],
    "make_dir": ["mkdir", "{}/new"],
    "make_fifo": ["fifo", "{}/new"], "make_sock": ["sock", "{}/new"], "make_sym": ["symlink", "x", "{}/new"], "remove_file": ["unlink", "{}/old"],
    "remove_dir": ["rmdir", "{}/empty"], "truncate": ["truncate", "{}"], "execute": ["execute", "{}"],
}


class WhyTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.d = self.make_folder("d", owner=ORDINARY)
        self.file = self.make("d/file", owner=ORDINARY)
        self.program = self.make("d/program", self.attempt.read_bytes(), 0o755, ORDINARY)

    def why(self, *words, stderr="", **keywords):
        """The answers; that the text says the same is seen to."""
        answer = self.ask_json("why", *words, **keywords)
        text = self.ask("why", *words, **keywords)
        answers = answer.json["answers"]
        self.assertEqual((text.code, text.err, answer.err), (answer.code, stderr, stderr))
        self.assertEqual(answer.code, 0 if all(item["allowed"] for item in answers) else 1)
        self.assert_text(text.lines, answers)
        return answers

    def assert_text(self, lines, answers):
        blocks = []
        for line in lines:
            if line.startswith("    "):
                blocks[-1].append(line[4:])
            else:
                blocks.append([line])
        self.assertEqual(len(blocks), len(answers), lines)
        for block, item in zip(blocks, answers):
            subject = item["path"] if item["path"] is not None else item["port"]
            self.assertEqual(block[0], f"{'allowed' if item['allowed'] else 'denied'} {item['right']} {subject}")
            if item["suggestion"]:
                self.assertIn(f"to allow it: {item['suggestion']}", block)
            self.assertEqual(any(line.startswith("to allow it: ") for line in block), item["suggestion"] is not None)
            for key, start in (("given_by", ""), ("forbidden_by", "to allow it would contradict ")):
                if item[key]:
                    where = "{file}:{line}:{column}".format(**item[key])
                    self.assertTrue(any(line.startswith(start) and line.endswith(where) for line in block), (where, block))
            if item["missing"] and item["landlock_denies"]:
                self.assertTrue(any(line.startswith("Landlock") for line in block), block)
            if item["system"] == "missing":
                self.assertIn(f"there is no such file; what is there of it: {item['leads_to']}", block)
            elif item["path"] is not None and item["leads_to"] != item["path"]:
                self.assertIn(f"it leads to {item['leads_to']}", block)

    def one(self, text, rights, subject, *words, **keywords):
        self.write(text.format(f=self.folder, d=self.d, file=self.file, program=self.program))
        answers = self.why(*words, "test.policy", rights, subject, **keywords)
        self.assertEqual(len(answers), 1, answers)
        return answers[0]

    def assert_answer(self, answer, allowed, obstacle="nothing", system=None, **others):
        self.assertEqual((answer["allowed"], answer["obstacle"]), (allowed, obstacle), answer)
        self.assertEqual(answer["system"], system or ("nothing" if obstacle == "landlock" else obstacle), answer)
        for key, value in others.items():
            self.assertEqual(answer[key], value, answer)


class Files(WhyTest):
    def test_allowed(self):
        text = "allow read {d}\nallow write {file}"
        for uid in USERS:
            if IS_ROOT:
                for path in (self.d, self.file):
                    os.chown(path, uid, uid)
            for right, path, line, word in (("read_file", self.file, 2, "{d}"), ("read_dir", self.d, 2, "{d}"),
                                            ("write_file", self.file, 3, "{file}"),
                                            ("truncate", self.file, 3, "{file}")):
                answer = self.one(text, right, path, uid=uid)
                name, line, column = place((self.folder / "test.policy").read_text().split("\n", 1)[1], line, word.format(d=self.d, file=self.file))
                self.assert_answer(answer, True, given_by={"file": name, "line": line, "column": column}, restricted=True, missing=[],
                                   suggestion=None,
                                   forbidden_by=None, leads_to=str(path), system_error=None)
            out = self.ask("why", "test.policy", "read_file", self.file, uid=uid).lines
            self.assertEqual(out, [f"allowed read_file {self.file}", f"    given by the rule for {self.d}, test.policy:2:12"])

    def test_the_nearest_rule_is_named(self):
        answer = self.one("allow read {f}\nallow read_file {d}\nallow read_file -/nowhere", "read_file", self.file)
        self.assertEqual(answer["given_by"]["line"], 3)
        answer = self.one("allow read_file {d}\nallow read_dir {f}", "read_dir", self.d)
        self.assertEqual(answer["given_by"]["line"], 3)

    def test_in_included_files(self):
        self.write(f"define where {self.d}\nallow read ${{where}}", "part.policy")
        self.assert_answer(self.one("include part.policy", "read_file", self.file), True, given_by={"file": "part.policy", "line": 3, "column": 12})
        answer = self.one("define where /usr\ninclude part.policy", "read_file", self.file)
        self.assert_answer(answer, False, "landlock")
        answer = self.one("define where /usr\ninclude part.policy", "read_file", self.file, "-D", f"where={self.folder}")
        self.assert_answer(answer, True)

    def fresh(self):
        """What the attempts make is gone, what they remove is there."""
        for name in ("new", "old", "empty"):
            path = self.d / name
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        self.make("d/old", owner=ORDINARY)
        self.make_folder("d/empty", owner=ORDINARY)

    def test_suggestions_do_what_they_say(self):
        """Pasted into the policy, the line lets a launched program do just that."""
        for right, words in ATTEMPTS.items():
            subject = {"write_file": self.file, "read_file": self.file, "truncate": self.file, "execute": self.program}.get(right, self.d)
            operation = [word.format(subject) for word in words]
            if right == "truncate" and ABI < 3:
                continue
            with self.subTest(right):
                self.fresh()
                base = f"allow execute,read_file {self.attempt}"
                answer = self.one(base, right, subject)
                missing = ["execute", "read_file"] if right == "execute" else [right]
                self.assert_answer(answer, False, "landlock", missing=missing, suggestion=f"allow {','.join(missing)} {subject}", given_by=None,
                                   restricted=True)
                self.assertEqual(self.launch(self.folder / "test.policy", *self.operations(operation)).out, "EACCES\n")
                more = answer["suggestion"]
                self.assert_answer(self.one(f"{base}\n{more}", right, subject), True)
                launched = self.launch(self.folder / "test.policy", *self.operations(operation))
                self.assertEqual((launched.code, launched.out), (0, "OK\n"), launched)

    def test_suggestions_for_odd_names(self):
        """However a file is called: the line is one of the language, and is for that file."""
        names = ["a b", "#x", "x#y", "-x", '"', "'", "\\", "a\\", "$x", "${x}", "*", "tab\t", "new\nline", "\x1b[31m", "ж", "\u202e", "\u00a0",
                 "not\udcffutf8", " ", "x ",
                 " x", "%s", "a,b", "a\\ b", "~", "[x]", "\u0085", "\x7f", "\u200b", "=", "a=b c"]
        for name in names:
            with self.subTest(name):
                path = self.make(f"d/{name}", owner=ORDINARY)
                self.write(f"allow execute,read_file {self.attempt}")
                answer = self.ask_json("why", "test.policy", "read_file", path).json["answers"][0]
                text = self.ask("why", "test.policy", "read_file", path).out
                self.assertTrue(is_safe(text), text)
                line = [line.split(": ", 1)[1] for line in text.splitlines() if line.strip().startswith("to allow it: ")]
                self.assertEqual(line, [answer["suggestion"]])
                self.write(f"allow execute,read_file {self.attempt}\n{line[0]}")
                self.assertEqual(self.ask("check", "--ignore=W101,W103", "test.policy").lines[-1], "1 policy checked: 0 errors, 0 warnings")
                self.assertTrue(self.ask_json("why", "test.policy", "read_file", path).json["answers"][0]["allowed"])
                other = self.make(f"d/{name}x", owner=ORDINARY)
                launched = self.launch(self.folder / "test.policy", *self.operations(["read", path], ["read", other]))
                self.assertEqual((launched.code, launched.out), (0, "OK\nEACCES\n"), launched)

    def test_contradictions_are_not_suggested(self):
        for text, path, line in (("expect denied read_file {file}", self.file, 2), ("expect denied read_file {file}", self.d, 2),
                                 ("expect denied read {d}", self.d, 2), ("private {file}", self.file, 2),
                                 ("allow read /usr\nprivate {file}", self.d, 3),
                                 ("private {file}", self.folder, 2)):
            with self.subTest(text, path=path):
                answer = self.one(text, "read_file", path)
                self.assert_answer(answer, False, "landlock", suggestion=None)
                self.assertEqual(answer["forbidden_by"]["line"], line)
        (self.folder / "link").symlink_to("d")
        self.assertEqual(self.one("expect denied read_file {f}/link/file", "read_file", self.file)["forbidden_by"]["line"], 2)
        self.assertEqual(self.one("expect denied read_file {file}", "read_file", f"{self.folder}/link/file")["forbidden_by"]["line"], 2)
        for text, right, path in (("expect denied write_file {file}", "read_file", self.file),
                                  ("expect denied read_dir {file}", "read_file", self.file),
                                  ("private {file}", "read_dir", self.d), ("expect denied read_dir {f}", "read_dir", self.d),
                                  ("expect allowed read_file {file}", "read_file", self.file), ("private {program}", "read_file", self.file)):
            answer = self.one(text, right, path)
            self.assert_answer(answer, False, "landlock", suggestion=f"allow {right} {path}", forbidden_by=None)

    def test_permissions(self):
        need_root()
        closed = self.make_folder("closed", 0o700, OTHER)
        self.make("closed/file", owner=OTHER)
        secret = self.make("secret", mode=0o600, owner=OTHER)
        for uid in USERS:
            for path, right in ((secret, "read_file"), (secret, "write_file"), (secret, "truncate"), (closed, "read_dir"), (closed, "make_reg"),
                                (closed, "remove_file"), (closed / "file", "read_file"), (self.file, "execute")):
                with self.subTest(path.name, right=right, uid=uid):
                    answer = self.one("allow execute,read,write,create,remove {f}", right, path, uid=uid)
                    self.assert_answer(answer, False, "permissions", system_error="Permission denied", landlock_denies=False, suggestion=None)
                    text = self.ask("why", "test.policy", right, path, uid=uid).out
                    self.assertIn("    not Landlock: Permission denied\n", text)
                    answer = self.one("allow read /usr", right, path, uid=uid)
                    self.assert_answer(answer, False, "landlock", "permissions", system_error="Permission denied", landlock_denies=True)
                    text = self.ask("why", "test.policy", right, path, uid=uid).out
                    self.assertIn("    without Landlock, too: Permission denied\n", text)
        self.assert_answer(self.one("allow make_char {d}", "make_char", self.d, uid=ORDINARY), False, "permissions",
                           system_error="Operation not permitted")

    def test_read_only_mounts(self):
        need_root()
        self.d.chmod(0o777)
        self.file.chmod(0o666)
        mounts = (f"mount --bind {self.d} {self.d}; mount -o remount,bind,ro {self.d}; "
                  f'exec setpriv --reuid {ORDINARY} --regid {ORDINARY} --clear-groups "$@"')
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", mounts, "sh")
        for right, path in (("write_file", self.file), ("truncate", self.file), ("make_reg", self.d), ("remove_dir", self.d)):
            answer = self.one("allow read,write,create,remove {f}", right, path, uid=0, wrapper=wrapper)
            self.assert_answer(answer, False, "read-only", system_error="Read-only file system", landlock_denies=False, suggestion=None)
            self.assertIn("    not Landlock: a read-only mount\n", self.ask("why", "test.policy", right, path, uid=0, wrapper=wrapper).out)
            answer = self.one("allow read {f}", right, path, uid=0, wrapper=wrapper)
            self.assert_answer(answer, False, "landlock", "read-only")
        self.assert_answer(self.one("allow read {f}", "read_file", self.file, uid=0, wrapper=wrapper), True)

    def test_missing(self):
        for path, there in ((self.d / "none", self.d), (self.d / "none/below/it", self.d), (self.folder / "none", self.folder),
                            (Path("/nowhere/x"), Path("/"))):
            answer = self.one("allow read {f}", "read_file", path)
            obstacle = "landlock" if there == Path("/") else "missing"
            self.assert_answer(answer, False, obstacle, "missing", system_error="No such file or directory", leads_to=str(there), suggestion=None)
            self.assert_answer(self.one("allow write {f}", "read_file", path), False, "landlock", "missing", suggestion=None)
        answer = self.one("allow read {f}", "read_file", self.file / "below")
        self.assert_answer(answer, False, "missing", system_error="Not a directory")
        (self.folder / "dangling").symlink_to("none")
        self.assert_answer(self.one("allow read {f}", "read_file", self.folder / "dangling"), False, "missing",
                           system_error="No such file or directory")

    def test_of_another_kind(self):
        os.mkfifo(self.d / "fifo")
        for right, path in (("read_dir", self.file), ("make_reg", self.file), ("truncate", "/dev/null"), ("execute", "/dev/null"),
                            ("ioctl_dev", self.file),
                            ("resolve_unix", self.file), ("truncate", self.d / "fifo")):
            with self.subTest(right, path=path):
                answer = self.one("allow read {d}", right, path)
                self.assertEqual((answer["allowed"], answer["system"], answer["suggestion"]), (False, "kind", None))
                self.assertIn("    it is not the kind of file that this right is about\n", self.ask("why", "test.policy", right, path).out)

    def test_groups_keep_what_fits(self):
        """As in an allow statement."""
        self.write(f"allow read,write {self.d}")
        for group, path, rights in (("read", self.file, ["read_file"]), ("read", self.d, ["read_file", "read_dir"]),
                                    ("write", self.file, ["write_file", "truncate"]),
                                    ("read,write", "/dev/null", ["write_file", "read_file"]),
                                    ("read,execute", self.d, ["execute", "read_file", "read_dir"])):
            answers = self.why("test.policy", group, path)
            self.assertEqual([answer["right"] for answer in answers], rights)
        self.assertEqual(self.ask("why", "test.policy", "read,write", self.file).code, 0)

    def test_files_in_a_directory(self):
        answer = self.one("allow read {d}", "read_file", self.d)
        self.assert_answer(answer, True, undecided=True)
        self.assertIn("    of files in it; their own permissions decide, too\n", self.ask("why", "test.policy", "read_file", self.d).out)
        self.assertFalse(self.one("allow read {d}", "read_dir", self.d)["undecided"])
        self.assertFalse(self.one("allow read {d}", "read_file", self.file)["undecided"])

    def test_links(self):
        need_root()  # below an ordinary user's own folders the launcher follows none
        (self.folder / "link").symlink_to("d")
        answer = self.one("allow read {f}/link", "read_file", self.file)
        self.assert_answer(answer, True, given_by={"file": "test.policy", "line": 2, "column": 12}, leads_to=str(self.file))
        answer = self.one("allow read {d}", "read_file", self.folder / "link/file")
        self.assert_answer(answer, True, leads_to=str(self.file))
        answer = self.one("allow write {d}", "read_file", self.folder / "link/file")
        self.assert_answer(answer, False, "landlock", suggestion=f"allow read_file {self.file}", leads_to=str(self.file))
        self.assertIn(f"    it leads to {self.file}\n", self.ask("why", "test.policy", "read_file", self.folder / "link/file").out)
        other = self.make_folder("other")
        (other / "out").symlink_to(self.file)  # a rule for the folder that the link is in says nothing of where it leads
        self.assert_answer(self.one("allow read {f}/other", "read_file", other / "out"), False, "landlock", leads_to=str(self.file))

    def test_bind_mounts(self):
        """Landlock walks up through mount points."""
        need_root()
        other = self.make_folder("other")
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", f'mount --bind {self.d} {other}; exec "$@"', "sh")
        self.assert_answer(self.one("allow read {d}", "read_file", other / "file", uid=0, wrapper=wrapper), True)
        self.assert_answer(self.one("allow read {f}/other", "read_file", self.file, uid=0, wrapper=wrapper), True)
        text = self.one("allow read {f}/other", "write_file", self.file, uid=0, wrapper=wrapper)
        self.assert_answer(text, False, "landlock", text["system"])

    def test_execute_needs_reading(self):
        answer = self.one("allow execute {d}", "execute", self.program)
        self.assert_answer(answer, False, "landlock", missing=["read_file"], suggestion=f"allow read_file {self.program}")
        self.assertEqual(answer["given_by"]["line"], 2)
        self.assert_answer(self.one("allow execute,read_file {d}", "execute", self.program), True)

    def test_several_paths_and_rights(self):
        self.write(f"allow read {self.d}")
        answers = self.why("test.policy", "read_dir,write_file,read_file", self.d, self.file, "/usr")
        self.assertEqual([(a["right"], a["path"], a["allowed"]) for a in answers], [
            ("write_file", str(self.d), False), ("read_file", str(self.d), True), ("read_dir", str(self.d), True),
            ("write_file", str(self.file), False),
            ("read_file", str(self.file), True), ("write_file", "/usr", False), ("read_file", "/usr", False), ("read_dir", "/usr", False)])
        self.assertEqual(self.ask("why", "test.policy", "read_file", self.d, self.file).code, 0)
        self.assertEqual(self.ask("why", "test.policy", "read_file", self.d, "/usr").code, 1)


class Ports(WhyTest):
    def test_ports(self):
        text = "allow connect_tcp 443 8000-8010\nexpect denied bind_tcp 80-90\nexpect denied connect_tcp 22"
        for port, allowed, column in ((443, True, 19), (8000, True, 23), (8005, True, 23), (8010, True, 23), (8011, False, None), (442, False, None),
                                      (0, False, None),
                                      (65535, False, None)):
            answer = self.one(text, "connect_tcp", port)
            self.assert_answer(answer, allowed, "nothing" if allowed else "landlock", "nothing", path=None, port=port, leads_to=None,
                               given_by={"file": "test.policy", "line": 2, "column": column} if allowed else None,
                               suggestion=None if allowed else f"allow connect_tcp {port}", missing=[] if allowed else ["connect_tcp"])
        for right, port, line in (("bind_tcp", 80, 3), ("bind_tcp", 85, 3), ("connect_tcp", 22, 4)):
            answer = self.one(text, right, port)
            self.assert_answer(answer, False, "landlock", suggestion=None)
            self.assertEqual(answer["forbidden_by"]["line"], line)
        self.assertEqual(self.ask("why", "test.policy", "connect_tcp", "443").lines, ["allowed connect_tcp 443", "    test.policy:2:19"])

    def test_the_suggestion_does_what_it_says(self):
        base = f"allow execute,read_file {self.attempt}\n"
        for port in (41230, 41231):
            suggestion = self.one(base, "bind_tcp", port)["suggestion"]
            self.write(base)
            self.assertEqual(self.launch(self.folder / "test.policy", *self.operations(f"bind {port}")).out, "EACCES\n")
            self.write(base + suggestion)
            self.assertEqual(self.launch(self.folder / "test.policy", *self.operations(f"bind {port}", "bind 41232")).out, "OK\nEACCES\n")

    def test_what_is_not_restricted(self):
        answer = self.one("unrestricted connect_tcp", "connect_tcp", 443)
        self.assert_answer(answer, True, restricted=False, given_by={"file": "test.policy", "line": 2, "column": 14})
        self.assertIn("    Landlock: the policy leaves it unrestricted\n", self.ask("why", "test.policy", "connect_tcp", "443").out)
        answer = self.one("allow read /usr", "connect_tcp", 443, "--max-abi", "3")
        self.assert_answer(answer, True, restricted=False, given_by=None)
        self.assertIn("    Landlock ABI 3 cannot restrict it: nothing denies it\n",
                      self.ask("why", "--max-abi=3", "test.policy", "connect_tcp", "443").out)

    def test_words_that_are_no_ports(self):
        self.write("allow connect_tcp 443")
        for word in ("65536", "-1", "https", "", "80-90", "4x", "0x50", " 80", "80 ", "+80", "99999999999999999999", "/usr"):
            answer = self.ask("why", "--", "test.policy", "connect_tcp", word)
            self.assert_failed(answer, f"'{word}' is not a port; expected 0 to 65535", hint=None)


class Abis(WhyTest):
    def test_max_abi(self):
        for right, path, first in (("truncate", self.file, 3), ("read_file", self.file, 1), ("ioctl_dev", "/dev/null", 5), ("resolve_unix", None, 9)):
            if path is None:
                with socket.socket(socket.AF_UNIX) as server:
                    os.chdir(self.d)  # an address has 107 bytes
                    self.addCleanup(os.chdir, "/")
                    server.bind("socket")
                os.chmod("socket", 0o666)
                path = self.d / "socket"
            for abi in range(1, 12):
                self.write(f"allow read_file /dev/null\nexpect denied read_dir {self.d}")
                answer = self.ask_json("why", "--max-abi", abi, "test.policy", right, path)
                used = min(abi, ABI)
                self.assertEqual(answer.json["abi"], {"kernel": ABI, "used": used})
                item = answer.json["answers"][0]
                self.assertEqual((item["allowed"], item["restricted"]), (used < first, used >= first), (right, abi, item))

    def test_rename_on_abi_1(self):
        """Denied there, whatever the policy says: no line is suggested."""
        answer = self.ask_json("why", "--max-abi", "1", self.write("allow rename,create {0}".format(self.d)), "rename", self.d)
        item = answer.json["answers"][0]
        self.assertEqual((answer.code, item["allowed"], item["obstacle"], item["suggestion"], item["missing"]),
                         (1, False, "landlock", None, ["refer"]))
        text = self.ask("why", "--max-abi", "1", "test.policy", "rename", self.d).out
        self.assertIn("    Landlock ABI 1 denies it, whatever the policy says\n", text)
        self.assertEqual(self.ask("why", "--max-abi", "2", "test.policy", "rename", self.d).code, 0)

    def test_without_landlock(self):
        """The answer is for a kernel that has it; that this one has not is noted."""
        self.write(f"allow read {self.d}")
        for words in ("all=38", "all=95", "all=1"):
            for right, code in (("read_file", 0), ("write_file", 1)):
                answer = self.ask_json("why", "test.policy", right, self.file, wrapper=(self.bin / "answer", words, "--"))
                self.assertEqual((answer.code, answer.json["abi"]), (code, {"kernel": None, "used": 11}))
                self.assertTrue(answer.err.startswith("landlock-policy: note: a launch would be refused here: Sandbox requires enabled Landlock"),
                                answer.err)


class Notes(WhyTest):
    def test_a_launch_that_would_be_refused(self):
        """The question is answered all the same."""
        gone = self.folder / "gone"
        note = "landlock-policy: note: a launch would be refused here: "
        missing = f"{gone}: No such file or directory\n"
        for text, stderr in ((f"allow read {gone}\nallow read {{d}}", f"{note}test.policy:2:12: {missing}"),
                             (f"private {gone}\nallow read {{d}}\ndirectory {gone}",
                              f"{note}test.policy:4:11: {missing}{note}test.policy:2:9: {missing}"),
                             ("private {file}\nallow read {d}",
                              f"{note}test.policy:2:9: {self.file} is private, but a rule lets the program open it as {self.file}\n")):
            answer = self.one(text, "read_file", self.file, stderr=stderr)
            self.assert_answer(answer, True)

    def test_faulty_policies(self):
        self.write("allow raed /usr")
        for words in ((), ("--format=json",)):
            answer = self.ask("why", *words, "test.policy", "read_file", "/usr")
            self.assertEqual((answer.code, answer.out), (2, ""))
            self.assertTrue(answer.err.startswith("test.policy:2:7: error: unknown right 'raed'"), answer.err)
        self.assertEqual(self.ask("why", "none.policy", "read_file", "/usr").code, 2)

    def test_unknown_rights(self):
        self.write("allow read /usr")
        for word, suggestion in (("read_fil", "read_file"), ("raed", "read"), ("conect_tcp", "connect_tcp"), ("read,wirte", "write"), ("zzz", None),
                                 ("", None),
                                 ("read,", None), ("READ", None), ("read_file ", "read_file"), ("new\nline", None)):
            answer = self.ask("why", "test.policy", word, "/usr")
            self.assert_failed(answer, "unknown right '", hint=True)
            if suggestion:
                self.assertIn(f"(did you mean '{suggestion}'?)", answer.err)
        for word, text in (("signal", "a scope has no path or port"), ("read,abstract_unix_socket", "a scope has no path or port"),
                           ("read,connect_tcp", "file rights and network rights at once"),
                           ("read,network", "file rights and network rights at once")):
            self.assert_failed(self.ask("why", "test.policy", word, "/usr"), text, hint=None)

    def test_words_that_are_no_paths(self):
        self.write("allow read /usr")
        for word, text in (("usr", "is not absolute"), ("", "is not absolute"), ("/usr/../etc", "'..'"), ("/usr/./x", "'.'"), ("/usr//x", "empty"),
                           ("80", "is not absolute"),
                           ("/usr/", "ends in '/'"), ("/" + "x" * 5000, "")):
            answer = self.ask("why", "test.policy", "read_file", word)
            self.assert_failed(answer, "path '", text, hint=None)

    def test_nothing_on_standard_output_when_one_path_is_wrong(self):
        """Answers that were given before are no whole answer: a caller goes by the exit status."""
        self.write("allow read /usr")
        answer = self.ask("why", "--format", "json", "test.policy", "read_file", "/usr", "relative")
        self.assertEqual((answer.code, answer.out), (2, ""))
