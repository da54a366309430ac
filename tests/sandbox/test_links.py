"""A symbolic link that the program, an earlier one or another user could have planted widens nothing."""

import os

from harness import ORDINARY, OTHER, USERS, SandboxTest, need_root

CROSSES = "crosses a symbolic link in"


class PlantedLinks(SandboxTest):
    def setUp(self):
        super().setUp()
        self.secret = self.make_folder("secret", 0o777)
        self.make("secret/file", mode=0o666)
        self.sandbox = self.make_folder("sandbox", 0o700, ORDINARY)

    def assert_crosses(self, policy, where, **keywords):
        outcome = self.launch(policy, *self.operations(["list", self.secret]), **keywords)
        self.assert_refused(outcome, "path", f"{CROSSES} {where}, which the program could have written")

    def statements(self, path):
        """Every statement of a policy that opens a path."""
        return (f"allow read {path}", f"allow read -{path}", f"allow execute,read,write,create {path}", f"directory {path}",
                f"private {path}/file", f"allow read {path}/file", f"allow read_file -{path}/file")

    def test_untrusted_directories(self):
        """Folders in which somebody else than root can plant a link."""
        need_root()
        folders = {
            "owned by the user": self.make_folder("own", 0o755, ORDINARY),
            "owned by another user": self.make_folder("others", 0o755, OTHER),
            "writable by the group": self.make_folder("group", 0o775, 0),
            "writable by all": self.make_folder("world", 0o777, 0),
            "sticky": self.make_folder("sticky", 0o1777, 0),
            "below a user's": self.make_folder("own/below", 0o755, 0),
            "below a sticky one": self.make_folder("sticky/below", 0o755, 0),
        }
        for name, folder in folders.items():
            (folder / "link").symlink_to(self.secret)
            for statement in self.statements(folder / "link"):
                for uid in USERS:
                    with self.subTest(name, statement=statement, uid=uid):
                        self.assert_crosses(statement, folder, uid=uid)

    def test_kinds_of_links(self):
        """Absolute, relative, by way of others, dangling, to itself, to the root, in a folder that leads there."""
        need_root()
        own = self.make_folder("own", 0o755, ORDINARY)
        trusted = self.make_folder("trusted")
        targets = {"absolute": self.secret, "relative": "../secret", "up": "../../..", "root": "/", "dangling": "nowhere", "self": "self",
                   "proc": "/proc/self/root"}
        for name, target in targets.items():
            (own / name).symlink_to(target)
            for statement in (f"allow read {own}/{name}", f"allow read -{own}/{name}"):
                with self.subTest(name, statement=statement):
                    self.assert_crosses(statement, own)
        (trusted / "to-own").symlink_to(own / "absolute")
        self.assert_crosses(f"allow read {trusted}/to-own", own)
        (trusted / "to-folder").symlink_to(own)
        self.assert_crosses(f"allow read {trusted}/to-folder/absolute", own)
        (trusted / "by-own").symlink_to("../own/../trusted/back")
        (trusted / "back").symlink_to(self.secret)
        self.assert_crosses(f"allow read {trusted}/by-own", trusted)

    def test_where_the_policy_lets_the_program_create(self):
        """Root's folders are not trusted if this very policy opens them: a program that ran as root could have planted the link."""
        need_root()
        below = self.make_folder("roots/below/deep")
        roots = self.folder / "roots"
        for rights in ("create", "make_sym", "make_reg,remove_file", "rename", "make_char"):
            for opened, planted in ((roots, roots), (roots, below), (below, below), (roots / "below", below)):
                rule = f"allow {rights} {opened}\n"
                (planted / "link").unlink(missing_ok=True)
                if rights == "create":
                    self.assertEqual(self.attempts(rule, ["symlink", self.secret, planted / "link"], uid=0), ["OK"])
                else:
                    (planted / "link").symlink_to(self.secret)
                for statement in self.statements(planted / "link"):
                    with self.subTest(rights, statement=statement, opened=opened):
                        self.assert_crosses(rule + statement, planted, uid=0)
                        self.assert_crosses(statement + "\n" + rule, planted, uid=0)
        self.assertEqual(self.attempts(f"allow read,write,remove {roots}\nallow read {below}/link", ["list", self.secret], uid=0), ["OK"])

    def test_another_name_for_what_the_policy_opens(self):
        """A folder in which the program can create, mounted at a second place."""
        need_root()
        sandbox = self.make_folder("root-sandbox")
        sub = self.make_folder("root-sandbox/sub")
        mounted = self.make_folder("mounted")
        (sub / "link").symlink_to(self.secret)
        for source in (sandbox, sub):
            path = mounted / (sub / "link").relative_to(source)
            with self.subTest(source.name):
                self.assert_crosses(f"allow create,write {sandbox}\nallow read {path}", path.parent, uid=0,
                                    wrapper=self.namespace(f"mount --bind {source} {mounted}"))

    def test_a_mount_below_another_name_for_what_the_policy_opens(self):
        """By that name the program can create in what is mounted there, too."""
        need_root()
        sandbox = self.make_folder("root-sandbox")
        self.make_folder("root-sandbox/sub")
        mounted, inner, deeper = (self.make_folder(name) for name in ("mounted", "inner", "inner/deeper"))
        for folder in (inner, deeper):
            (folder / "link").symlink_to(self.secret)
            policy = f"allow create,write {sandbox}\nallow read {folder}/link"
            mounts = f"mount --bind {sandbox} {mounted}"
            with self.subTest(folder.name):
                self.assertEqual(self.attempts(policy, ["list", self.secret], uid=0, wrapper=self.namespace(mounts)), ["OK"])
                self.assert_crosses(policy, folder, uid=0, wrapper=self.namespace(f"{mounts}; mount --bind {inner} {mounted}/sub"))

    @staticmethod
    def namespace(commands):
        """In a mount namespace of its own, where what is mounted goes with it."""
        return "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", commands + '; exec "$@"', "sh"

    def test_a_mount_that_is_read_only_now(self):
        """It may have been writable where it was filled."""
        need_root()
        (self.sandbox / "link").symlink_to(self.secret)
        mounted = self.make_folder("mounted")
        switch = f"mount --bind {self.sandbox} {mounted}; mount -o remount,bind,ro {mounted}; ! touch {mounted}/x 2>/dev/null"
        for uid in USERS:
            change = f'; exec setpriv --reuid {uid} --regid {uid} --clear-groups "$@"'
            for statement in self.statements(mounted / "link"):
                with self.subTest(statement, uid=uid):
                    self.assert_crosses(statement, mounted, uid=0, wrapper=self.namespace(switch + change))

    def test_a_run_plants_and_the_next_is_refused(self):
        """As the user: one run puts a link where the next run's policy looks."""
        policy = self.policy(f"allow read,write,create,remove,rename {self.sandbox}\nallow read -{self.sandbox}/data")
        self.assertEqual(self.attempts(policy, ["list", self.secret], ["symlink", self.secret, self.sandbox / "data"]), ["EACCES", "OK"])
        self.assert_crosses(policy, self.sandbox)

    def test_shipped_policy(self):
        """The definitions of interpreter.policy, each leading through a link."""
        need_root()
        names = {"sandbox": self.sandbox, "tmp": self.make_folder("tmp", 0o700, ORDINARY), "script": self.make("main.py", "print(1)")}
        own = self.make_folder("own", 0o755, ORDINARY)
        for name, target in names.items():
            (own / name).symlink_to(target)
            with self.subTest(name):
                outcome = self.launch(self.tree / "policy/interpreter.policy", define={**names, name: own / name})
                self.assert_refused(outcome, "path", f"{CROSSES} {own}, ")


class TrustedLinks(SandboxTest):
    def test_roots_links(self):
        """/usr/bin/python3 and, on a merged system, /lib and /lib64 are links in root's folders."""
        need_root()
        trusted = self.make_folder("trusted/folder")
        data = self.make_folder("data")
        self.make("data/file")
        (trusted / "absolute").symlink_to(data)
        (trusted / "relative").symlink_to("../../data/../data/./")
        (trusted / "chain").symlink_to("relative")
        (self.folder / "way").symlink_to(trusted)
        for uid in USERS:
            for path in (trusted / "absolute", trusted / "relative", trusted / "chain", self.folder / "way/chain", trusted / "absolute/file"):
                with self.subTest(path, uid=uid):
                    self.assert_table(f"allow read {path}", [(f"read {data}/file", "OK"), (f"list {self.folder}", "EACCES")], uid=uid)
            self.assert_table("allow read /lib\nallow execute,read /usr/bin/python3", [
                ("list /lib", "OK"), (f"list {os.path.realpath('/lib')}", "OK"), (f"read {os.path.realpath('/usr/bin/python3')}", "OK"),
                ("list /usr/bin", "EACCES")], uid=uid)

    def test_loops(self):
        """Forty links are followed, as by the kernel."""
        need_root()
        (self.folder / "0").symlink_to(self.make_folder("end"))
        for i in range(1, 42):
            (self.folder / str(i)).symlink_to(str(i - 1))
        self.assert_ran(self.launch(f"allow read {self.folder}/39", self.attempt))
        self.assert_refused(self.launch(f"allow read {self.folder}/40", self.attempt), "path", "crosses more than 40 symbolic links")
        (self.folder / "loop").symlink_to("loop")
        self.assert_refused(self.launch(f"allow read -{self.folder}/loop", self.attempt), "path", "crosses more than 40 symbolic links")

    def test_dangling(self):
        need_root()
        (self.folder / "dangling").symlink_to("nowhere")
        self.assert_refused(self.launch(f"allow read {self.folder}/dangling", self.attempt), "path", "dangling: No such file or directory")
        self.assert_ran(self.launch(f"allow read -{self.folder}/dangling", self.attempt))

    def test_folders_of_the_program_without_links(self):
        """Where no link is met, whose folders they are does not matter."""
        deep = self.make_folder("own/deep", 0o755, ORDINARY)
        self.assert_table(f"allow read,create {self.folder}/own\nallow read {deep}", [(f"list {deep}", "OK")])


class Paths(SandboxTest):
    """Forms of paths that are errors, in the policy and by --define."""

    faults = (("/usr/../etc", "has a '..' component"), ("/..", "has a '..' component"), ("/usr/./lib", "has a '.' component"),
              ("/usr/lib/.", "has a '.' component"), ("/usr//lib", "has an empty component"), ("//usr", "has an empty component"),
              ("/usr/", "ends in '/'"), ("usr", "is not absolute"), ("./usr", "is not absolute"), ("..", "is not absolute"),
              ("", "is not absolute"), ("~", "is not absolute"), ("-/usr", "is not absolute"), ("/" + "x/" * 2100 + "x", "is longer than"))
    statements = ("allow read {}", "directory {}", "private {}", "expect denied read {}", "container read-only {}")

    def test_literal(self):
        for statement in self.statements:
            for path, fault in self.faults:
                if path.startswith("-") and statement.startswith("allow"):
                    continue
                with self.subTest(statement, path=path[:20]):
                    self.assert_refused(self.launch(statement.format(f'"{path}"'), self.attempt), "policy", fault)

    def test_defined(self):
        """A value is never looked into: it is no list, no optional path and no way out."""
        for statement in (*self.statements, "allow read -{}"):
            policy = self.policy("define path /usr\n" + statement.format("${path}"))
            for path, fault in (*self.faults, ("/usr /etc", None), ("/usr,/etc", None)):
                with self.subTest(statement, path=path[:20]):
                    outcome = self.launch(policy, self.attempt, define={"path": path})
                    if fault:
                        self.assert_refused(outcome, "policy", fault)
                    elif statement.startswith(("allow read {", "directory", "private")):
                        self.assert_refused(outcome, "path", "No such file or directory")
        self.assert_refused(self.launch("define name x\nallow read /usr/${name}/lib", self.attempt, define={"name": ".."}), "policy", "'..'")
        self.assert_refused(self.launch("define name x\nallow read /usr/${name}/lib", self.attempt, define={"name": ""}), "policy", "empty")
