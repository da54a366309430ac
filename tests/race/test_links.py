"""The user swaps what is his own on the way of a policy's path for a symbolic link, and the owner or the mode of a folder changes."""

import shutil

from harness import OTHER, need_root
from race import RaceTest

CROSSES = "path: .* crosses a symbolic link in .*, which the program could have written"
MISSING = "path: .*: No such file or directory"
NOT_ALLOWED = "program-not-executable: .*: cannot execute.*"
HERE = "mine 3 open"
GONE = "(EACCES|ENOENT) 3 open"


class Links(RaceTest):
    def make_data(self, name="chat/data", owner=None):
        folder = self.make_folder(name, 0o700, owner if owner is not None else self.chat.stat().st_uid)
        self.make(f"{name}/file", "mine\n", 0o600, self.chat.stat().st_uid)
        return folder

    def link(self, name, target):
        path = self.folder / name
        path.symlink_to(target)
        return path

    def test_rule(self):
        data, spare = self.make_data(), self.link("chat/spare", self.secret)
        self.race(("exchange", data, spare), f"allow read,write,create,remove {data}", "read", data / "file",
                  ran=(HERE, GONE), refused=(CROSSES,))

    def test_rule_on_a_file(self):
        data, spare = self.make_data() / "file", self.link("chat/spare", self.secret / "file")
        self.race(("exchange", data, spare), f"allow read_file,write_file {data}", "read", data, ran=(HERE, GONE), refused=(CROSSES,))

    def test_component(self):
        data = self.make_data("chat/a/b/data")
        (self.secret / "b").mkdir()
        shutil.copytree(self.secret, self.secret / "b/data", ignore=shutil.ignore_patterns("b"))
        spare = self.link("chat/spare", self.secret)
        self.race(("exchange", self.chat / "a", spare), f"allow read,write,create {data}", "read", data / "file",
                  f"read={self.secret}/b/data/file", ran=("mine EACCES 3 open", "(EACCES|ENOENT) EACCES 3 open"), refused=(CROSSES,))

    def test_optional_rule(self):
        """To a secret, to another chat, and to nothing for a moment: then the rule is left out."""
        data = self.link("chat/data", self.secret)
        self.race(("relink", data, self.secret, self.folder / "other"), f"allow read,write -{data}", "read", data / "file",
                  ran=(GONE,), refused=(CROSSES,))

    def test_directory(self):
        data, spare = self.make_data(), self.link("chat/spare", self.secret)
        self.race(("exchange", data, spare), f"directory {data}", "at", "-", ran=(f"{data} 3 open", f"{spare} 3 open"), refused=(CROSSES,))

    def test_private(self):
        data, spare = self.make_data(), self.link("chat/spare", self.secret)
        self.race(("exchange", data, spare), f"private {data}/file", "read", data / "file", ran=("mine 4 open",), may=("EACCES 3 open",),
                  refused=(CROSSES,))

    def test_kinds(self):
        """What a rule is on becomes a file, a FIFO, a socket, a folder, nothing."""
        data, others = self.make_data(), self.chat / "others"
        self.make_kinds(others)
        self.race(("exchange", data, *others.iterdir()), f"allow read,write {data}", "read", data / "file",
                  ran=(HERE, "(ENOENT|ENOTDIR|EACCES) 3 open"), refused=(CROSSES,))

    def test_program(self):
        """A link to the program, to one that is not allowed, and to what is none."""
        forbidden = shutil.copy(self.witness, self.secret / "witness")
        program = self.link("chat/program", self.witness)
        others = [self.link(f"chat/{number}", target) for number, target in enumerate((forbidden, self.secret, "/dev/null", "nowhere"))]
        self.race(("exchange", program, *others), "", "self", "-", program=program, ran=(f"{self.witness} 3 open",),
                  refused=(NOT_ALLOWED, "program-not-found: .*"))

    def test_interpreter(self):
        """Of a script."""
        forbidden = shutil.copy(self.witness, self.secret / "witness")
        interpreter, spare = self.link("chat/interpreter", self.witness), self.link("chat/spare", forbidden)
        script = self.make("script", f"#!{interpreter}\n", 0o755)
        self.race(("exchange", interpreter, spare), f"allow execute,read_file {script}", "self", "-", program=script,
                  ran=(f"{self.witness} 3 open",), refused=(NOT_ALLOWED,))


class Trust(RaceTest):
    """A link of root's, whose folder others may write from time to time."""

    def setUp(self):
        need_root()
        super().setUp()
        self.make_folder("granted")
        self.make("granted/file", "mine\n")
        self.trusted = self.make_folder("trusted")
        (self.trusted / "link").symlink_to(self.folder / "granted")

    def race_trust(self, *swap):
        link = self.trusted / "link"
        self.race(swap, f"allow read {link}", "read", link / "file", swapper=0, ran=(HERE,), refused=(CROSSES,))

    def test_owner(self):
        self.race_trust("owner", self.trusted, 0, OTHER)

    def test_mode(self):
        self.race_trust("mode", self.trusted, "755", "777", "775")
