"""landlock-policy probe: what this machine would enforce, and the one thing to do."""

import os
import platform
import shutil
import socket
from pathlib import Path

from command import NEWEST, CommandTest, is_safe, place
from harness import (ABI, AS_ROOT, CHECK_CONTAINER, IS_SANITIZED, ORDINARY, USERS, BubblewrapTest, need, need_root)

EVERY_RIGHT = ["execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir", "make_reg", "make_sock",
               "make_fifo",
               "make_block", "make_sym", "refer", "truncate", "ioctl_dev", "resolve_unix", "bind_tcp", "connect_tcp", "bind_udp", "connect_send_udp",
               "abstract_unix_socket", "signal"]
FIRST_ABI = {"refer": 2, "truncate": 3, "bind_tcp": 4, "connect_tcp": 4, "ioctl_dev": 5, "abstract_unix_socket": 6, "signal": 6, "resolve_unix": 9,
             "bind_udp": 10, "connect_send_udp": 10}
SCOPES = ["abstract_unix_socket", "signal"]
LABEL = 14


def restricted_by(abi):
    return [right for right in EVERY_RIGHT if FIRST_ABI.get(right, 1) <= abi]


class ProbeTest(CommandTest):
    def probe(self, *words, **keywords):
        """The document; that the text says the same is seen to."""
        answer = self.ask_json("probe", *words, **keywords)
        text = self.ask("probe", *words, **keywords)
        document, kernel = answer.json, answer.json["kernel"]
        self.assertEqual((text.code, text.err, answer.err), (answer.code, "", ""), text)
        self.assertEqual(answer.code, 0 if document["fit"] else 1)
        self.assertEqual(document["advice"] is None, document["fit"])
        self.assertEqual(kernel["restricted"], [right for right in EVERY_RIGHT if right in kernel["restricted"]])
        self.assertEqual(kernel["open"], [right for right in EVERY_RIGHT if right not in kernel["restricted"] and
                                          not (right == "refer" and kernel["restricted"])])  # which every ABI denies
        self.assertEqual(document["policy"] is None, document["statements"] is None)
        self.assert_text(text.lines, document)
        return document

    def assert_text(self, lines, document):
        kernel = document["kernel"]
        facts = {line[:LABEL].rstrip(): line[LABEL:] for line in reversed(lines)}
        self.assertEqual(lines[0], f"{'kernel':{LABEL}}{kernel['release']} {kernel['machine']}")
        self.assertEqual(facts["seccomp"], "a filter is on this process" if kernel["seccomp"] else "no filter")
        abi = f", ABI {kernel['abi']} (this build knows up to {NEWEST})" if kernel["abi"] else ""
        self.assertEqual(facts["landlock"], kernel["landlock"] + abi)
        if kernel["message"]:
            self.assertIn(" " * LABEL + kernel["message"], lines)
        if kernel["restricted"]:
            opened = [f"{right} (ABI {FIRST_ABI[right]})" for right in kernel["open"]]
            self.assertEqual(facts["open"], ", ".join(opened) or "-")
        else:
            self.assertEqual(facts["restricted"], "nothing")
        self.assertEqual("scopes" in facts, kernel["broken_scopes"])
        nothing = "nothing: a launch would start" if document["policy"] else "nothing: Landlock can be used here"
        self.assertEqual(lines[-1], f"{'to do':{LABEL}}{document['advice'] or nothing}")
        self.assertEqual(sum(line.startswith("to do") for line in lines), 1)
        for statement in document["statements"] or ():
            shown = f"{statement['statement']}{': ' + statement['detail'] if statement['effect'] != 'full' else ''}"
            where = f"{statement['file']}:{statement['line']}:{statement['column']}"
            self.assertIn((statement["effect"], where, shown), [(line[:9].rstrip(), line[9:].split()[0], line[9:].split(None, 1)[-1].strip())
                                                               for line in lines if line.startswith(statement["effect"])])
        for finding in (document["container"] or {"findings": ()})["findings"]:
            self.assertIn(" " * LABEL + finding["message"], lines)
            self.assertIn(" " * LABEL + finding["hint"], lines)
        for refusal in document["refusals"] or ():
            where = f"{refusal['file']}:{refusal['line']}:{refusal['column']}: " if refusal["file"] else ""
            self.assertIn(f"{'refused':{LABEL}}{where}{refusal['message']}", lines)


class Kernel(ProbeTest):
    def assert_state(self, document, state, text, hint):
        kernel = document["kernel"]
        self.assertEqual((kernel["landlock"], kernel["restricted"], document["fit"]), (state, [], False), kernel)
        self.assertTrue(kernel["message"].startswith("Sandbox requires enabled Landlock ABI 1 or newer: "), kernel)
        self.assertIn(text, kernel["message"])
        self.assertIn(hint, kernel["hint"])
        self.assertEqual(document["advice"], kernel["hint"])

    def test_enforced(self):
        uname = platform.uname()
        filtered = "\nSeccomp:\t2" in Path("/proc/self/status").read_text()
        for uid in USERS:
            document = self.probe(uid=uid)
            kernel = document["kernel"]
            self.assertEqual((kernel["release"], kernel["machine"], kernel["seccomp"]), (uname.release, uname.machine, filtered))
            self.assertEqual((kernel["landlock"], kernel["abi"], kernel["restricted"], kernel["broken_scopes"], kernel["message"], kernel["hint"]),
                             ("enforced", ABI, restricted_by(ABI), False, None, None))
            self.assertEqual((document["policy"], document["statements"], document["container"], document["refusals"]), (None,) * 4)

    def test_errata(self):
        """As the kernel tells them: landlock_create_ruleset(2)."""
        from harness import system_call
        errata = max(0, system_call(444, None, 0, 2))
        self.assertEqual(self.probe()["kernel"]["errata"], errata)
        line = [line[LABEL:] for line in self.ask("probe").lines if line.startswith("errata fixed")]
        self.assertEqual(line, [" ".join(str(bit + 1) for bit in range(32) if errata >> bit & 1)] if errata else [])

    #     what the filter answers                     state             text                                                hint
    FILTERS = (
        ("all=38", "old-seccomp", "a seccomp profile that is too old to know Landlock hides it", "update Docker to 20.10.18 or newer"),
        ("all=95", "disabled", "it is not enabled at boot (EOPNOTSUPP)", "add landlock to the list in the host's kernel parameter lsm="),
        ("all=1", "blocked", "a seccomp profile blocks its system calls (EPERM)", "or use Docker's default profile"),
        ("all=22", "failed", "the kernel answers Invalid argument", "a seccomp profile, an emulator or a security module may answer so"),
        ("all=0", "not-enforced", "the system calls are accepted but enforce nothing (the ABI is 0)", "run on a real Linux kernel"),
        ("restrict=0", "not-enforced", "enforce nothing (read_dir /: allowed instead of Permission denied)", "run on a real Linux kernel"),
        ("restrict=1", "blocked", "(EPERM)", "or use Docker's default profile"),
        ("restrict=38", "old-seccomp", "(ENOSYS)", "update Docker"),
        ("restrict=22", "failed", "the kernel answers Invalid argument", "a seccomp profile, an emulator or a security module may answer so"),
    )

    def test_filters(self):
        for uid in USERS:
            for answers, state, text, hint in self.FILTERS:
                with self.subTest(answers, uid=uid):
                    wrapper = (self.bin / "answer", answers, "--")
                    document = self.probe(wrapper=wrapper, uid=uid)
                    self.assert_state(document, state, text, hint)
                    self.assertEqual((document["kernel"]["abi"], document["kernel"]["seccomp"]), (None if answers.startswith("all") else ABI, True))
                    launched = self.launch("", self.attempt, wrapper=wrapper, uid=uid)  # which says the same
                    self.assertEqual((launched.status["message"], launched.status["hint"]),
                                     (document["kernel"]["message"], document["kernel"]["hint"]))

    def test_not_built(self):
        """ENOSYS without a seccomp filter, here by one that cannot be seen; on a kernel that is really without: tests/kernel."""
        old = shutil.which("setarch")
        need(old, "setarch")
        document = self.probe(wrapper=(old, "--uname-2.6", self.bin / "answer", "all=38", "--"))  # too old a kernel for Landlock
        self.assert_state(document, "not-built", "is not built with it", "use a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y")
        need_root()
        self.make("status", "Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n")
        wrapper = ("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
                   f'mount --bind {self.folder}/status /proc/$$/status; exec "$@"',
                   "sh", self.bin / "answer", "all=38", "--")
        document = self.probe(wrapper=wrapper, uid=0, in_domain=True)
        self.assert_state(document, "not-built", f"kernel {platform.release()} is not built with it", "use a kernel of 5.13 or newer")
        self.assertFalse(document["kernel"]["seccomp"])

    def test_emulated(self):
        emulator = shutil.which(f"qemu-{platform.machine()}-static") or shutil.which(f"qemu-{platform.machine()}")
        need(emulator, "qemu-user")
        if IS_SANITIZED:
            return  # an emulator has no room for the sanitizers' shadow of the memory
        document = self.probe(wrapper=(emulator,))
        self.assert_state(document, "emulated", f"the program is emulated by {os.path.realpath(emulator)}, which does not pass its system calls on",
                          "use an image of the host's own architecture")
        self.assertEqual(document["kernel"]["abi"], None)

    def test_an_emulator_that_agrees_to_everything(self):
        for uid in USERS:
            document = self.probe(wrapper=(self.bin / "abi_supervisor", "7", "no-effect", "--"), uid=uid)
            self.assert_state(document, "not-enforced", "enforce nothing (read_dir /: allowed instead of Permission denied)",
                              "run on a real Linux kernel")
            self.assertEqual(document["kernel"]["abi"], 7)

    def test_other_abis(self):
        for abi in (*range(1, NEWEST + 1), 12, 30):
            if abi >= 7 > ABI:
                continue  # its flags cannot be taken out of a call
            with self.subTest(abi):
                kernel = self.probe(wrapper=(self.bin / "abi_supervisor", str(abi), "plain", "--"))["kernel"]
                self.assertEqual((kernel["landlock"], kernel["abi"], kernel["restricted"]), ("enforced", abi, restricted_by(abi)))

    def test_broken_scopes(self):
        """RHEL 9.6 announces ABI 6 and refuses scopes."""
        document = self.probe(wrapper=(self.bin / "abi_supervisor", "6", "broken-scopes", "--"))
        kernel = document["kernel"]
        self.assertEqual((kernel["landlock"], kernel["abi"], kernel["broken_scopes"]), ("enforced", 6, True))
        self.assertEqual(kernel["restricted"], [right for right in restricted_by(6) if right not in SCOPES])
        self.assertTrue(document["fit"])

    def test_max_abi(self):
        for most in range(1, NEWEST + 1):
            document = self.probe("--max-abi", str(most))
            self.assertEqual((document["kernel"]["abi"], document["kernel"]["restricted"]), (ABI, restricted_by(min(most, ABI))))

    def test_where_nothing_proves(self):
        """No access succeeds here that a restriction could deny."""
        need_root()
        if IS_SANITIZED:
            return  # the sanitizers need /proc
        root = self.make_folder("root", 0o711)
        for name in ("usr", self.tree.relative_to("/")):
            (root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            if os.path.islink(f"/{name}"):
                (root / name).symlink_to(os.readlink(f"/{name}"))
        enter = 'mount --bind /usr "$0/usr" && mount --bind "$1" "$0$1" && shift && exec /usr/sbin/chroot --userspec=1000:1000 "$0" "$@"'
        wrapper = ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", enter, root, self.tree, self.bin / "abi_supervisor", "3", "plain", "--")
        document = self.probe(wrapper=wrapper, uid=0)
        self.assertEqual((document["kernel"]["landlock"], document["fit"], document["kernel"]["restricted"]), ("unproven", True, restricted_by(3)))


class Statements(ProbeTest):
    def statements(self, text, *words, **keywords):
        """By what they say: (effect, detail)."""
        self.write(text)
        document = self.probe(*words, "test.policy", **keywords)
        return {s["statement"]: (s["effect"], s["detail"]) for s in document["statements"]}, document

    def test_fit(self):
        text = (f"allow read {self.folder}\nallow execute,read_file {self.attempt}\nrun {self.attempt}\nenvironment keep TZ LC_*\n"
                "environment set A=secret\nlimit nofile 64\naudit on\nunrestricted signal\nrequire abi 1\nrequire truncate\n"
                f"directory {self.folder}\nallow connect_tcp 443 1-2\nexpect allowed read_dir {self.folder}\n"
                f"expect denied write_file {self.folder}\nexpect denied bind_tcp 80 90-100\ncontainer check old-abi\n")
        for uid in USERS:
            found, document = self.statements(text, uid=uid)
            self.assertEqual((document["fit"], document["refusals"], document["container"]), (True, [], {"state": "not-needed", "findings": []}))
            self.assertEqual(list(found), [
                f"allow read {self.folder}", f"allow execute,read_file {self.attempt}", f"run {self.attempt}", "environment keep TZ",
                "environment keep LC_*",
                "environment set A=...", "limit nofile 64", "audit on", "unrestricted signal", "require abi 1", "require truncate",
                f"directory {self.folder}",
                "allow connect_tcp 443", "allow connect_tcp 1-2", f"expect allowed read_dir {self.folder}", f"expect denied write_file {self.folder}",
                "expect denied bind_tcp 80", "expect denied bind_tcp 90-100", "container check old-abi"])
            self.assertEqual({effect for effect, _ in found.values()}, {"full"}, found)
            self.assertNotIn("secret", str(document))
            self.assertEqual(found[f"run {self.attempt}"][1], f"it is {self.attempt}")

    def test_positions(self):
        text = f"include part.policy\nallow read_file,write_file  {self.folder}"
        self.write("# a comment\nenvironment keep TZ", "part.policy")
        self.write(text)
        statements = self.probe("test.policy")["statements"]
        self.assertEqual([(s["file"], s["line"], s["column"]) for s in statements], [place(text, 3, str(self.folder)), ("part.policy", 3, 18)])

    def test_partly(self):
        found, document = self.statements(f"allow write {self.folder}\nexpect denied bind_tcp,connect_tcp,bind_udp 80\nallow bind_udp,bind_tcp 53",
                                          "--max-abi", "4")
        self.assertEqual(found["expect denied bind_tcp,connect_tcp,bind_udp 80"], ("part", "Landlock ABI 4 cannot restrict: bind_udp"))
        self.assertEqual(found["allow bind_tcp,bind_udp 53"], ("part", "Landlock ABI 4 cannot restrict: bind_udp"))
        self.assertTrue(document["fit"])
        found, _ = self.statements(f"unrestricted bind_tcp\nexpect denied bind_tcp,connect_tcp 80")
        self.assertEqual(found["expect denied bind_tcp,connect_tcp 80"], ("part", "left unrestricted by the policy: bind_tcp"))

    def test_without_effect(self):
        gone = self.folder / "gone"
        found, document = self.statements(f"allow read -{gone}\nallow bind_udp 53\nexpect denied resolve_unix {self.folder}\naudit on\n"
                                          "limit nofile 400", "--max-abi", "4",
                                          wrapper=("/bin/sh", "-c", 'ulimit -n 300; exec "$@"', "sh"))
        self.assertEqual(found, {
            f"allow read {gone}": ("none", "it is missing, and may be"), "allow bind_udp 53": ("none", "Landlock ABI 4 cannot restrict: bind_udp"),
            f"expect denied resolve_unix {self.folder}": ("none", "Landlock ABI 4 cannot restrict: resolve_unix"),
            "audit on": ("none", "Landlock ABI 4 logs nothing"), "limit nofile 400": ("none", "the caller's is lower: 300")})
        self.assertTrue(document["fit"])
        found, _ = self.statements("audit off", "--max-abi", "4")
        self.assertEqual(found["audit off"][0], "full")

    def test_refused(self):
        gone, file = self.folder / "gone", self.make("file")
        private = self.make("private")
        text = (f"require abi 11\nrequire resolve_unix\nallow read {gone}\nallow read_dir {file}\ndirectory {gone}\nprivate {private}\n"
                f"allow read_file {private}\nrun {gone}/program\nenvironment set PATH=/nowhere\n")
        found, document = self.statements(text, "--max-abi", "7")
        for statement, detail in (("require abi 11", "requires Landlock ABI 11"), ("require resolve_unix", "cannot restrict: resolve_unix"),
                                  (f"allow read {gone}", "No such file or directory"), (f"allow read_dir {file}", "is not a directory"),
                                  (f"directory {gone}", "No such file or directory"), (f"private {private}", "a rule lets the program open it"),
                                  (f"run {gone}/program", "No such file")):
            self.assertEqual(found[statement][0], "refused", statement)
            self.assertIn(detail, found[statement][1])
        self.assertEqual([r["reason"] for r in document["refusals"]], ["requirement", "requirement", "path", "path", "path", "private",
                                                                       "program-not-found"])
        self.assertEqual((document["fit"], document["advice"]), (False, document["refusals"][0]["hint"]))
        self.assertIn("use a newer kernel", document["advice"])
        for refusal in document["refusals"]:
            self.assertNotIn("test.policy:", refusal["message"])  # it has its place beside it

    def test_advice_is_the_launchers_first(self):
        """What a launch says first, and so one thing after the other."""
        file = self.make("file")
        private = self.make("private")
        lines = [("require abi 11" if ABI < 11 else "allow read /none"), f"allow read {self.folder}/gone", f"allow read_dir {file}",
                 f"directory {self.folder}/gone",
                 f"private {private}\nallow read_file {private}", "run no-such-program", "container check always"]
        rest = f"\nallow execute,read_file {self.attempt}"
        while lines:
            self.write("\n".join(lines) + rest)
            launched = self.launch(self.folder / "test.policy", *(() if any(line.startswith("run") for line in lines) else (self.attempt,)),
                                   cwd=self.folder)
            document = self.probe("test.policy")
            self.assertEqual((launched.code != 0, document["fit"]), (True, False))
            with self.subTest(launched.status["message"]):
                self.assertEqual(document["advice"], launched.status["hint"] or document["advice"])
                first = document["refusals"][0]
                self.assertEqual((first["reason"], first["hint"]), (launched.reason, launched.status["hint"]))
                self.assertTrue(launched.status["message"].endswith(first["message"]))
                lines = [line for line in lines if not self.is_of(line, first)]
        self.write("# nothing" + rest)
        self.assertEqual(self.probe("test.policy")["advice"], None)

    def is_of(self, line, refusal):
        """Whether the refusal is about that line."""
        if refusal["file"] is None:
            return line.startswith("container")
        return (self.folder / refusal["file"]).read_text().splitlines()[refusal["line"] - 1] in line.split("\n")

    def test_the_kernel_comes_first(self):
        self.write(f"allow read {self.folder}/gone\nrequire abi 3")
        for answers, state, hint in (("all=38", "old-seccomp", "update Docker"), ("all=95", "disabled", "lsm="),
                                     ("all=1", "blocked", "seccomp profile")):
            document = self.probe("test.policy", wrapper=(self.bin / "answer", answers, "--"))
            self.assertEqual(document["kernel"]["landlock"], state)
            self.assertIn(hint, document["advice"])
            self.assertEqual({r["reason"] for r in document["refusals"]}, {f"landlock-{state}", "path"})

    def test_a_faulty_policy(self):
        self.write("allow raed /usr\nfoo")
        for words in ((), ("--format=json",)):
            answer = self.ask("probe", *words, "test.policy")
            self.assertEqual((answer.code, answer.out), (2, ""))
            lines = answer.err.splitlines()
            self.assertTrue(lines[0].startswith("test.policy:2:7: error: unknown right 'raed'"), lines)
            self.assertTrue(lines[1].startswith("test.policy:3:1: error: "), lines)
            self.assertEqual(lines[2:], ["landlock-policy: policy: 2 faults, the first in test.policy:2:7: " + lines[0].split("error: ")[1],
                                         "landlock-policy: hint: the language is described in landlock-exec.policy(5)"])
        answer = self.ask("probe", "none.policy")
        self.assertEqual((answer.code, answer.out), (2, ""))
        self.assertIn("none.policy", answer.err)

    def test_definitions(self):
        found, _ = self.statements("define where /usr\nallow read ${where}", "-D", f"where={self.folder}")
        self.assertEqual(list(found), [f"allow read {self.folder}"])

    def test_without_a_helper(self):
        """The check is made here by nobody: on this ABI that is no reason to refuse, on an old one it is."""
        need(not Path("/usr/libexec/landlock-exec/check-container").exists(), "a machine where landlock-exec is not installed")
        text = (f"container uid {ORDINARY}\ncontainer capabilities none\ncontainer read-only /usr\ncontainer writable docker {self.folder}\n"
                f"allow write {self.folder}")
        self.write(text)
        document = self.probe("test.policy")
        self.assertEqual((document["container"], document["fit"], document["refusals"]), ({"state": "not-checked", "findings": []}, True, []))
        self.assertEqual({s["effect"] for s in document["statements"] if s["statement"].startswith("container")}, {"none"})
        for words, addition in ((("--max-abi", "2"), ""), ((), "\ncontainer check always")):
            self.write(text + addition)
            document = self.probe(*words, "test.policy")
            self.assertEqual((document["container"]["state"], document["fit"], document["refusals"][0]["reason"]),
                             ("not-checked", False, "container"))
            self.assertIn("install landlock-exec whole", document["advice"])
            self.assertEqual({s["effect"] for s in document["statements"] if s["statement"].startswith("container") and "check" not
                              in s["statement"]}, {"refused"})


class Container(BubblewrapTest, ProbeTest):
    """In bubblewrap, with what the launcher would find there beside it."""

    def described(self, addition="", owner=ORDINARY):
        """Where /proc is missing, root's files have no owner that is known."""
        return self.write(self.describe + f"allow execute,read_file {self.attempt}\nrun {self.attempt}\n" + addition, "in.policy", owner=owner)

    def inside(self, *words, policy=None, changes=None, before=(), **keywords):
        wrapper = (*self.bubblewrap(**(changes or {})), *before)
        return self.probe(*words, policy or self.described(), wrapper=wrapper, cwd="/", **keywords)

    def test_it_passes(self):
        for words in ((), ("--max-abi", "1"), ("--max-abi", "2")):
            document = self.inside(*words)
            self.assertEqual((document["container"], document["fit"], document["refusals"]), ({"state": "checked", "findings": []}, True, []))
            effects = {s["statement"]: (s["effect"], s["detail"]) for s in document["statements"] if s["statement"].startswith("container")}
            self.assertEqual(set(effects), {"container uid 1000", "container capabilities none", "container read-only /",
                                            "container writable bubblewrap",
                                            "container writable /sandbox", "container writable /tmp"})
            self.assertEqual(set(effects.values()), {("full", "this container passes the check")})

    def test_every_finding_of_the_launcher(self):
        """With its hint; told as a reason to refuse where the ABI needs it, else beside."""
        self.make_folder("named/part")
        self.make("a-file")
        with socket.socket(socket.AF_UNIX) as server:
            os.chdir(self.folder)  # an address has 107 bytes
            self.addCleanup(os.chdir, "/")
            server.bind("socket")
        closed = ("/bin/sh", "-c", 'chmod 0 /sandbox/closed; exec "$@"', "sh")
        folder = self.make_folder("chat/closed", 0o700, ORDINARY)
        mount = "--bind {folder}/named /mnt/folder"
        cases = (
            ("user", {"user": "--uid 7 --gid 7"}, "", "the user is not UID 1000 but real UID 7"),
            ("capabilities", {"extra": "--cap-add CAP_KILL"}, "", "the bounding capability set is not empty: cap_kill"),
            ("writable root", {"root": "--bind {root} /"}, "", "/ must be read-only, and is mounted writable"),
            ("lies on", {"script": "--tmpfs /opt --dir /opt/below"}, "container read-only /opt/below\n",
             "/opt/below must be read-only, and lies on /opt"),
            ("writable", {"extra": "--bind {folder} /mnt/folder"}, "", "/mnt/folder is a writable mount that the policy does not name ("),
            ("tmpfs", {"extra": "--tmpfs /mnt/folder"}, "", "/mnt/folder is a writable mount that the policy does not name (tmpfs"),
            ("hidden", {"extra": "--bind {folder} /mnt/folder --ro-bind {folder} /mnt/folder"}, "", "/mnt/folder is a writable mount, hidden"),
            ("a preset's", {"extra": "--tmpfs /dev/pts"}, "", "/dev/pts is a writable mount, but not the one that the runtime itself makes there ("),
            ("shared memory", {"extra": "--tmpfs /dev/shm"}, "", "/dev/shm is a writable mount that the policy does not name ("),
            ("processes", {"extra": "--proc /mnt/folder"}, "", "/mnt/folder is a writable mount that the policy does not name (proc"),
            ("named, not allowed", {"extra": mount}, "container writable /mnt/folder\n",
             "/mnt/folder is a writable mount that the policy names, but does not let"),
            ("named in part", {"extra": mount}, "container writable /mnt/folder/part\nallow write /mnt/folder\n",
             "/mnt/folder is a writable mount, of which /mnt/folder/part, which the policy names, is only a part"),
            ("socket", {"extra": "--ro-bind {folder}/socket /mnt/file"}, "", "/mnt/file is a socket: it could be connected to"),
            ("odd name", {"extra": ["--bind", self.folder, "/sandbox/new\nline"]}, "", "/sandbox/new\nline is a writable mount"),
        )
        for name, changes, addition, start in cases:
            policy = self.described(addition)
            with self.subTest(name):
                launched = self.contained(policy, changes=changes, options=("--max-abi", "2"), cwd="/")
                self.assertEqual((launched.code, launched.reason), (125, "container"), launched)
                for words, refuses in ((("--max-abi", "2"), True), ((), False)):
                    wrapper = self.bubblewrap(**changes)
                    answer = self.ask_json("probe", *words, policy, wrapper=wrapper, cwd="/")
                    document = answer.json
                    self.assertEqual(document["container"], {"state": "refused", "findings": launched.status["findings"]})
                    self.assertTrue(any(finding["message"].startswith(start) for finding in document["container"]["findings"]), document["container"])
                    self.assertEqual((answer.code, document["fit"], document["advice"]),
                                     (1, False, launched.status["findings"][0]["hint"]) if refuses else
                                     (0, True, None))
                    self.assertEqual([r["reason"] for r in document["refusals"]], ["container"] * refuses)
                    effects = {s["effect"] for s in document["statements"] if s["statement"].startswith("container")}
                    self.assertEqual(effects, {"refused"} if refuses else {"none"})
                    if not refuses:
                        continue
                    text = self.ask("probe", *words, policy, wrapper=wrapper, cwd="/")
                    self.assertTrue(is_safe(text.out))
                    if "\n" not in start:
                        self.assert_text(text.lines, document)
        folder.chmod(0o700)
        document = self.inside(policy=self.described(), changes={"extra": "--bind {folder} /sandbox/closed/mount"}, before=closed)
        self.assertEqual([f["message"].split(" is a ")[0] for f in document["container"]["findings"]], ["/sandbox/closed/mount"])

    def test_several_findings(self):
        changes = {"extra": "--tmpfs /mnt/folder --tmpfs /run", "user": "--uid 7 --gid 7"}
        document = self.inside("--max-abi", "2", changes=changes)
        self.assertEqual(len(document["container"]["findings"]), 3)
        self.assertEqual(document["advice"], document["container"]["findings"][0]["hint"])
        self.assertEqual([r["message"] for r in document["refusals"]],
                         ["container: 3 findings (checked because Landlock ABI 2 cannot stop truncation)"])

    def test_always(self):
        policy = self.described("container check always\n")
        document = self.inside(policy=policy, changes={"extra": "--tmpfs /mnt/folder"})
        self.assertEqual((document["container"]["state"], document["fit"]), ("refused", False))
        self.assertEqual({s["statement"]: s["effect"] for s in document["statements"]}["container check always"], "full")
        self.assertTrue(self.inside(policy=policy)["fit"])

    def test_without_the_helper_or_proc(self):
        (self.helper / "check-container").unlink()
        for words, fit in (((), True), (("--max-abi", "2"), False)):
            document = self.inside(*words)
            self.assertEqual((document["container"], document["fit"]), ({"state": "not-checked", "findings": []}, fit))
        self.assertIn("install landlock-exec whole", document["advice"])
        shutil.copy(CHECK_CONTAINER, self.helper / "check-container")
        if IS_SANITIZED:
            return  # the sanitizers need /proc
        for words, fit in (((), True), (("--max-abi", "2"), False)):
            document = self.inside(*words, changes={"kernel": "--dev /dev --tmpfs /proc"})
            self.assertEqual((document["container"]["state"], document["fit"]), ("not-checked", fit))
            self.assertEqual({s["effect"] for s in document["statements"] if s["statement"].startswith("container")}, {"none" if fit else "refused"})

    def test_a_container_that_is_not_described(self):
        policy = self.write(f"allow execute,read_file {self.attempt}\nrun {self.attempt}\n", "in.policy")
        self.assertEqual(self.inside(policy=policy)["container"], {"state": "not-needed", "findings": []})
        document = self.inside("--max-abi", "2", policy=policy)
        self.assertEqual((document["container"]["state"], document["fit"], [r["reason"] for r in document["refusals"]]),
                         ("not-checked", False, ["container"]))
        self.assertIn("describe it (container uid, capabilities, read-only and writable", document["advice"])

    def test_the_shipped_policy(self):
        """As a site has it with bubblewrap, on an ABI that needs the container and on this one."""
        site = self.tree / "policy/bubblewrap.policy"
        site.write_text("policy 1\ncontainer writable bubblewrap\ninclude interpreter.policy\n", encoding="utf-8")
        for words in ((), ("--max-abi", "2")):
            document = self.inside(*words, policy=site)
            self.assertEqual((document["fit"], document["refusals"], document["container"]["state"]), (True, [], "checked"), document["refusals"])
            self.assertNotIn("refused", {s["effect"] for s in document["statements"]})

    def test_as_root(self):
        document = self.inside(policy=self.described(owner=0), changes=AS_ROOT, uid=0)
        self.assertEqual((document["container"]["state"], document["fit"]), ("refused", True))
        messages = [finding["message"] for finding in document["container"]["findings"]]
        self.assertTrue(messages[0].startswith("the user is not UID 1000"), messages)
