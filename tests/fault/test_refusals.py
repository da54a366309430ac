"""Every system call of launches that are refused, failed one by one: no fault turns a refusal into a start, and none silences it; and of
those that run nothing."""

import os
import shutil
import subprocess

from harness import IS_ROOT, ORDINARY, need, need_root
from injection import FaultTest, Scene


class Refusals(FaultTest):
    kinds = ("errno", "short", "lie")

    def disturb(self, reason, text="", options=(), program=None, launcher=None, more=None, **keywords):
        if not (self.folder / "outside").exists():
            self.make_places()
        command = self.command(self.write_policy(text, more=more), *options, program=program)
        if launcher:
            command[0] = launcher
        scene = Scene(self, command, **keywords)
        self.assertFalse(scene.record.ran)
        self.assertEqual((scene.record.lines[-1]["event"], scene.record.lines[-1]["reason"]), ("refused", reason))
        self.finish(scene, scene.disturb(scene.plans(0, self.kinds)))

    def test_missing_path(self):
        self.disturb("path", "allow read /missing/path\n")

    def test_unsafe_link(self):
        self.make_places()
        (self.folder / "inside" / "link").symlink_to("/usr/lib")
        self.disturb("path", "allow read {inside}/link\n")

    def test_unsafe_link_by_another_mount_path(self):
        """Found only when all paths are open: root's link in a directory in which the program may create."""
        need_root()
        self.make_places()
        self.make_folder("roots")
        (self.folder / "roots" / "link").symlink_to("/usr/lib")
        self.disturb("path", "allow read {folder}/roots/link\nallow create {folder}/roots\n")

    def test_policy(self):
        self.disturb("policy", "allow red /etc\n")

    def test_policy_of_others(self):
        """An included file that others may write."""
        self.make_places()
        self.make("loose.policy", "policy 1\n", mode=0o666)
        self.disturb("policy", "include loose.policy\n")

    def test_private_file_that_is_open(self):
        self.disturb("private", "allow read {outside}\n")

    def test_private_file_with_two_names(self):
        self.make_places()
        os.link(self.folder / "outside" / "secret", self.folder / "outside" / "other")
        self.disturb("private")

    def test_requirement(self):
        self.disturb("requirement", "require resolve_unix\n", options=["--max-abi", "7"])

    def test_container_is_not_described(self):
        self.disturb("container", options=["--max-abi", "2"])

    def test_not_found(self):
        self.disturb("program-not-found", program=["no-such-program"])

    def test_not_executable(self):
        self.disturb("program-not-executable", program=["/usr/bin/true"])

    def test_set_uid(self):
        """The kernel tells (AT_SECURE)."""
        self.privileged(lambda path: path.chmod(0o4755), ORDINARY)

    def test_set_uid_for_root(self):
        """It gives root nothing: only the file's mode tells."""
        need_root()
        self.privileged(lambda path: path.chmod(0o4755), 0)

    def test_file_capabilities(self):
        need_root()
        need(shutil.which("setcap"), "setcap (libcap2-bin)")
        for uid in (ORDINARY, 0):
            self.privileged(lambda path: subprocess.run(["setcap", "cap_net_raw=ep", path], check=True), uid)

    def privileged(self, make, uid):
        path = self.folder / "landlock-exec"
        path.unlink(missing_ok=True)
        shutil.copy(self.launcher, path)
        path.chmod(0o755)
        make(path)
        self.disturb("privileged-launcher", launcher=path, uid=uid)

    def test_descriptor(self):
        self.disturb("descriptor", options=["--pass-fd", "77"])


class DryRun(FaultTest):
    def disturb(self, *options, uid=ORDINARY):
        self.make_places(uid)
        program = [self.bin / "witness", "word", self.folder / "outside" / "secret"]
        command = self.command(self.write_policy(), "--dry-run", *options, program=program)
        scene = Scene(self, command, uid=uid)
        self.assertEqual((scene.record.ran, scene.record.code, scene.record.lines[0]["event"]), (False, 0, "would-start"))
        self.assertIn("proof         read_dir /\n", scene.record.out)
        self.finish(scene, scene.disturb(scene.plans(0, ("errno", "short"))))

    def test_dry_run(self):
        self.disturb()

    def test_root(self):
        need(IS_ROOT, "root")
        self.disturb(uid=0)
