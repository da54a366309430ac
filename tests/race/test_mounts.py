"""Root mounts and unmounts on the way of a policy's paths. It is trusted: what must hold is that a launch is of one piece, and that an
ordinary user gains nothing by it."""

import ctypes
import subprocess

from harness import BubblewrapTest, need_root
from race import RaceTest
from test_links import CROSSES, GONE, HERE

CLONE_NEWNS = 0x20000


def setUpModule():
    """A mount namespace of this process's own."""
    need_root()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    call("mount", "--make-rprivate", "/")


def call(command, *words):
    subprocess.run(["/usr/bin/" + command, *map(str, words)], check=True)


class Mounts(RaceTest):
    def make_data(self, name, text):
        self.make_folder(name)
        self.make(f"{name}/file", f"{text}\n")
        return self.folder / name

    def test_rule(self):
        lower, upper = self.make_data("lower", "lower"), self.make_data("upper", "upper")
        self.race(("overmount", lower, upper), f"allow read {lower}", "read", lower / "file", swapper=0,
                  ran=("lower 3 open", "upper 3 open"), may=("EACCES 3 open",))

    def test_moved(self):
        lower, upper, elsewhere = self.make_data("lower", "lower"), self.make_data("upper", "upper"), self.make_folder("elsewhere")
        call("mount", "--bind", upper, lower)
        self.addCleanup(call, "umount", lower)
        self.race(("move", lower, elsewhere), f"allow read {lower}", "read", lower / "file", swapper=0,
                  ran=("lower 3 open", "upper 3 open"), may=("EACCES 3 open",))

    def test_policies_folder(self):
        """Each file is of one version; one that is included may be of the other, since files are read one after the other."""
        for version in "ab":
            self.make_folder(f"policies-{version}")
            self.make(f"policies-{version}/main", f"policy 1\ninclude part\nenvironment set MAIN={version} MAIN2={version}\n"
                                                  f"allow execute,read_file {self.witness}\n")
            self.make(f"policies-{version}/part", f"policy 1\nenvironment set PART={version} PART2={version}\n")
        policies = self.folder / "policies-a"
        questions = [word for name in ("MAIN", "MAIN2", "PART", "PART2") for word in ("env", name)]
        self.race(("overmount", policies, self.folder / "policies-b"), policies / "main", *questions, swapper=0,
                  ran=("a a a a 3 open", "b b b b 3 open"), may=("a a b b 3 open", "b b a a 3 open"))

    def test_program(self):
        """Of two programs by the same name only one is allowed."""
        allowed, forbidden = self.make_folder("allowed"), self.make_folder("forbidden")
        for folder in (allowed, forbidden):
            (folder / "witness").write_bytes(self.witness.read_bytes())
            (folder / "witness").chmod(0o755)
        point = self.make_folder("point")
        call("mount", "--bind", allowed, point)
        self.addCleanup(call, "umount", point)
        self.race(("overmount", point, forbidden), f"allow execute,read_file {allowed}/witness", "env", "NONE", program=point / "witness",
                  swapper=0, ran=("none 3 open",), refused=("program-not-executable: .*cannot execute.*",))

    def test_link(self):
        """Over the folder of a link that may be followed the chat is mounted, with a link that the program could have written."""
        granted = self.make_data("granted", "mine")
        trusted = self.make_folder("trusted")
        (trusted / "link").symlink_to(granted)
        (self.chat / "link").symlink_to(self.secret)
        self.race(("overmount", trusted, self.chat), f"allow read {trusted}/link\nallow read,create,remove {self.chat}",
                  "read", granted / "file", swapper=0, ran=(HERE,), refused=(CROSSES,), may=(GONE,))

    def test_private(self):
        """What is mounted before the check is found by it; what is mounted after it is root's own doing (landlock-exec(1), CAVEATS)."""
        hidden, granted = self.make_data("hidden", "private"), self.make_folder("granted/sub").parent
        self.race(("overmount", granted / "sub", hidden), f"private {hidden}/file\nallow read {granted}", "read", hidden / "file",
                  f"read={granted}/sub/file", swapper=0, ran=("private ENOENT 4 open",), refused=("private: .*is private, but.*",),
                  may=("private (private|EACCES) 4 open",))


class Container(RaceTest, BubblewrapTest):
    """The container check, while a writable mount comes and goes in the container: by propagation from outside. It finds what is there
    when it looks."""

    denials = {"EACCES", "EROFS"}
    container = "checked"
    abi = 2

    def test_container(self):
        shared = self.make_folder("shared")
        call("mount", "--bind", shared, shared)
        call("mount", "--make-shared", shared)
        self.addCleanup(call, "umount", "--lazy", shared)
        point = self.make_folder("shared/point")
        policy = self.policy(f"{self.describe}allow execute,read_file {self.witness}")
        self.race(("tmpfs", point), policy, "create", "/run/point/new", "create", "/sandbox/new", swapper=0, options=("--max-abi", "2"),
                  inside=self.bubblewrap(shared=f"--ro-bind {shared} /run"), ran=("(EROFS|EACCES) OK 3 open",),
                  refused=("container: .*/point is a writable mount.*",))
