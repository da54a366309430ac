"""The policy, what it includes and private files are replaced, rewritten, and given to others while they are read."""

import os
import stat

from harness import IS_ROOT, ORDINARY, OTHER, need_root
from race import RaceTest

FAULTY = "policy: .*"
OF_A = "A 101 A EACCES 3 open"
OF_B = "B 102 EACCES B 3 open"


class Versions(RaceTest):
    """Two versions of a policy, each of which says of itself which it is: by the environment, by a limit, and by what may be read."""

    def setUp(self):
        super().setUp()
        for version in "AB":
            self.make(f"of{version}", f"{version}\n")

    def text(self, version, filling=""):
        number = {"A": 101, "B": 102}[version]
        return (f"policy 1\nenvironment set V={version}\n{filling}limit nofile {number}\nallow read_file {self.folder}/of{version}\n"
                f"allow execute,read_file {self.witness}\n")

    def version(self, name, version, filling=""):
        return self.make(self.chat / name, self.text(version, filling), 0o600, ORDINARY)

    def race_versions(self, *swap, policy=None, **keywords):
        questions = ["env", "V", "limit", "-", "read", self.folder / "ofA", "read", self.folder / "ofB"]
        self.race(swap, policy or self.chat / "a", *questions, **keywords)

    def test_policy_exchanged(self):
        """Files of several pages, and of different sizes."""
        self.race_versions("exchange", self.version("a", "A", "# A\n" * 3000), self.version("b", "B", "# B\n" * 9000), ran=(OF_A, OF_B))

    def test_include_exchanged(self):
        policy = self.make("chat/policy", "policy 1\ninclude a\n", 0o600, ORDINARY)
        self.race_versions("exchange", self.version("a", "A"), self.version("b", "B"), policy=policy, ran=(OF_A, OF_B))

    def test_include_twice(self):
        """By two names that are exchanged: one may be included twice, and once, but each is the whole of it."""
        self.make("chat/a", self.text("A"), 0o600, ORDINARY)
        self.make("chat/b", self.text("B"), 0o600, ORDINARY)
        policy = self.make("chat/policy", f"policy 1\ninclude a\ninclude b\nenvironment set V=C\nlimit nofile 103\n", 0o600, ORDINARY)
        self.race_versions("exchange", self.chat / "a", self.chat / "b", policy=policy, ran=("C 103 A B 3 open",),
                           may=("C 103 A EACCES 3 open", "C 103 EACCES B 3 open"))

    def test_policy_replaced_by_a_link(self):
        """To the other version, and to nothing for a moment."""
        self.version("a1", "A")
        self.version("b1", "B")
        policy = self.chat / "a"
        policy.symlink_to("a1")
        self.race_versions("relink", policy, "a1", "b1", ran=(OF_A, OF_B), may=("policy: .*: No such file or directory",))

    def test_policy_rewritten(self):
        """In its place: what is read is the whole of one of the two, or none."""
        self.chat = self.make_fast_folder()
        self.race_versions("rewrite", self.version("a", "A"), self.version("a1", "A"), self.version("b1", "B", "#\n" * 500),
                           policy=self.chat / "a", ran=(OF_A, OF_B), may=(FAULTY,))

    def test_policy_of_another_kind(self):
        policy, others = self.version("a", "A"), self.chat / "others"
        self.make_kinds(others)
        foreign = self.make("chat/others/foreign", self.text("B"), 0o644, OTHER)
        if IS_ROOT:
            os.mknod(others / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        else:
            foreign.chmod(0o666)
        self.race_versions("exchange", policy, *others.iterdir(), ran=(OF_A,),
                           refused=("policy: .*: it is not a regular file", FAULTY))

    def test_policy_mode(self):
        policy = self.version("a", "A")
        self.race_versions("mode", policy, "600", "666", "620", "644", ran=(OF_A,), refused=("policy: .*others may write it.*",))

    def test_policy_owner(self):
        need_root()
        policy = self.version("a", "A")
        policy.chmod(0o644)
        self.race_versions("owner", policy, ORDINARY, OTHER, 0, OTHER, swapper=0, ran=(OF_A,),
                           refused=("policy: .*it belongs to another user.*",))


SIZES = {"A": 4000, "B": 7900}  # below 8 KiB, which every pipe holds


class Private(RaceTest):
    """The program is given the bytes of one version, and can open neither."""

    def setUp(self):
        super().setUp()
        self.hidden = self.make_folder("chat/hidden", 0o700, ORDINARY)
        self.names = [self.make(f"chat/hidden/{version}", version * size, 0o600, ORDINARY) for version, size in SIZES.items()]
        self.script = self.make("chat/hidden/script", "A" * SIZES["A"], 0o600, ORDINARY)

    def race_private(self, *swap, **keywords):
        questions = ["whole", self.script]
        for name in (*self.names, "/proc/self/root/" + str(self.names[0])[1:]):
            questions += [f"read={name}", f"write={name}"]
        self.race(swap, f"private {self.script}", *questions, **keywords)

    @staticmethod
    def given(*contents, fds=4):
        return [f"{content}{' EACCES' * 6} {fds} open" for content in contents]

    def test_exchanged(self):
        """Where the argument led to the other file when it was looked at, it was left as it is, and the program cannot open it."""
        self.race_private("exchange", self.script, self.names[1], ran=self.given("A4000", "B7900"), may=self.given("EACCES", fds=3))

    def test_rewritten(self):
        self.script = self.make(self.make_fast_folder() / "script", "A" * SIZES["A"], 0o600, ORDINARY)
        self.race_private("rewrite", self.script, *self.names, ran=self.given("A4000", "B7900"),
                          may=(*self.given("-0", "[AB][0-9]+"), "private: .*: it changed while it was read; start again"))

    def test_second_name(self):
        """What has two names could be opened by the other one."""
        self.race_private("name", self.script, self.hidden / "second", ran=self.given("A4000"), refused=("private: .*has 2 names.*",))

    def test_other_kinds(self):
        others = self.chat / "others"
        self.make_kinds(others)
        self.race_private("exchange", self.script, *others.iterdir(), ran=self.given("A4000"),
                          refused=("private: .*is not a regular file, so it cannot be private", "path: .* crosses a symbolic link in .*"),
                          may=self.given("EACCES", "ENOENT", "ENXIO", fds=3))
