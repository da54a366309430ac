"""File systems that are full, read-only, or have a quota, in a mount namespace of the test's own."""

import ctypes
import os
import subprocess

from chat import ChatTest
from harness import ORDINARY, USERS, need, need_root

CLONE_NEWNS = 0x20000


def setUpModule():
    need_root()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["/usr/bin/mount", "--make-rprivate", "/"], check=True)


class Space(ChatTest):
    def mount(self, *words):
        subprocess.run(["/usr/bin/mount", *words, self.chat], check=True)
        self.addCleanup(subprocess.run, ["/usr/bin/umount", "--lazy", self.chat], check=True)
        self.dress(self.chat, 0o700, ORDINARY)

    def mount_image(self):
        """A disk of 16 MiB."""
        need(os.path.exists("/dev/loop-control") and os.access("/usr/sbin/mkfs.ext4", os.X_OK), "loop devices and e2fsprogs")
        image = self.folder / "image"
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        subprocess.run(["/usr/sbin/mkfs.ext4", "-qFm0", "-E", f"root_owner={ORDINARY}:{ORDINARY}", image], check=True)
        self.mount("-o", "loop", image)
        (self.chat / "lost+found").rmdir()

    def assert_refused_when_full(self):
        """The old file is intact, and what does fit can be stored."""
        for uid in USERS:
            self.put("file", b"old", uid=uid)
            for name in ("file", "new"):
                for data in (None, b"x" * (20 << 20)):
                    with open("/dev/zero", "rb") as zero:
                        answer = self.put(name, data, uid=uid) if data else self.ask("put", "--format=json", self.chat, name, stdin=zero, uid=uid)
                    self.assert_refused(answer, "no-space")
                    self.assertEqual((self.entries(), self.get("file").out), ([b"file"], b"old"))
            self.assertEqual(self.put("file", b"x" * 100_000, uid=uid).json["outcome"], "replaced")

    def test_a_full_file_system_in_memory(self):
        self.mount("-t", "tmpfs", "-o", "size=8m", "none")
        self.assert_refused_when_full()

    def test_a_full_disk(self):
        self.mount_image()
        self.assert_refused_when_full()

    def test_no_more_inodes(self):
        self.mount("-t", "tmpfs", "-o", "nr_inodes=4", "none")
        names = [name for name in "abcdef" if self.put(name, b"x").code == 0]
        self.assertEqual(names, ["a", "b", "c"])
        self.assert_refused(self.put("d", b"x"), "no-space")
        self.assertEqual(self.entries(), [b"a", b"b", b"c"])

    def test_an_import_onto_a_full_disk(self):
        """What does not fit is told, and what does is there."""
        self.mount("-t", "tmpfs", "-o", "size=1m", "none")
        source = self.make_folder("source", 0o755)
        for name, size in (("a", 500_000), ("b", 900_000), ("c", 100_000)):
            (source / name).write_bytes(name.encode() * size)
        files = self.imported(source, code=1)
        self.assertEqual([(file["path"], file["outcome"], file["code"]) for file in files],
                         [("a", "copied", None), ("b", "skipped", "no-space"), ("c", "copied", None)])
        self.assertEqual(self.listed(), {"a": 500_000, "c": 100_000})

    def test_a_read_only_mount(self):
        self.put("file", b"old")
        self.mount("--bind", self.chat)
        subprocess.run(["/usr/bin/mount", "-o", "remount,bind,ro", self.chat], check=True)
        for uid in USERS:
            for answer in (self.put("file", b"x", uid=uid), self.put("new", b"x", uid=uid), self.remove("file", uid=uid)):
                self.assert_refused(answer, "permission")
            self.assertEqual(self.get("file", uid=uid).out, b"old")

    def test_other_file_systems_in_the_chat(self):
        """Neither served nor replaced, however they came there."""
        other = self.make("other", b"other")
        for name in ("file", "folder", "bound"):
            (self.chat / name).write_bytes(b"") if name != "folder" else (self.chat / name).mkdir()
        for words in (["--bind", other, self.chat / "file"], ["-t", "tmpfs", "none", self.chat / "folder"], ["--bind", "/etc/passwd", self.chat / "bound"]):
            subprocess.run(["/usr/bin/mount", *words], check=True)
            self.addCleanup(subprocess.run, ["/usr/bin/umount", words[-1]], check=True)
        (self.chat / "folder/inside").write_bytes(b"inside")
        source = self.make_folder("source", 0o755)
        (source / "folder").mkdir()
        (source / "folder/inside").write_bytes(b"new")
        (source / "file").write_bytes(b"new")
        for uid in USERS:
            self.assertEqual(self.listed(uid=uid), {})
            for name in ("file", "bound"):
                for answer in (self.get(name, uid=uid), self.put(name, b"x", uid=uid), self.remove(name, uid=uid)):
                    self.assert_refused(answer, "mount")
            files = self.imported(source, code=1, uid=uid)
            self.assertEqual([(file["path"], file["code"]) for file in files], [("file", "mount"), ("folder/inside", "mount")])
        self.assertEqual(((self.chat / "folder/inside").read_bytes(), other.read_bytes()), (b"inside", b"other"))

    def test_a_mount_in_a_source(self):
        source = self.make_folder("source", 0o755)
        (source / "inside").mkdir()
        (source / "file").write_bytes(b"x")
        subprocess.run(["/usr/bin/mount", "-t", "tmpfs", "none", source / "inside"], check=True)
        self.addCleanup(subprocess.run, ["/usr/bin/umount", source / "inside"], check=True)
        (source / "inside/x").write_bytes(b"x")
        files = self.imported(source, code=1)
        self.assertEqual([(file["path"], file["code"]) for file in files], [("file", None), ("inside", "mount")])
