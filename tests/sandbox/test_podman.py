"""The container check in Podman: its own read-only configuration passes, each departure is refused with the option that restores it.

Root's Podman with runc and everything of its own below the tree: no image of the machine's, no network, nothing left behind."""

import concurrent.futures
import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

from harness import CHECK_CONTAINER, HELPER_FOLDER, IS_SANITIZED, PATIENCE, SandboxTest, need, need_root, wait_until, words

# What makes the container. The keys are for those who leave something out or put something else in its place.
SUPPLIED = {
    "limits": "--ulimit nofile=1024:1024 --ulimit nproc=1000:1000",
    "network": "--network none",
    "root": "--read-only",
    "capabilities": "--cap-drop ALL",
    "user": "--user 1000:1000",
    "sandbox": "-v {chat}:/sandbox",
}
POLICY = ("policy 1\ncontainer uid 1000\ncontainer capabilities none\ncontainer read-only /\ncontainer writable podman /sandbox\n"
          "allow read,write,create,remove /sandbox\nallow execute,read_file /bin/attempt\n")
UNNAMED = "is a writable mount that the policy does not name ("
SETS = "effective", "permitted", "inheritable", "ambient", "bounding"


class Podman(SandboxTest):
    @classmethod
    def setUpClass(cls):
        need_root()
        need(shutil.which("podman") and shutil.which("runc"), "podman and runc")
        need(Path("/usr/bin/busybox").exists(), "busybox-static")
        super().setUpClass()
        cls.podman = ["/usr/bin/podman", *words(
            "--root {tree}/root --runroot {tree}/run --tmpdir {tree}/tmp --runtime {runc} --storage-driver vfs --cgroup-manager cgroupfs "
            "--events-backend none", tree=cls.tree, runc=shutil.which("runc"))]
        cls.configuration = cls.tree / "containers.conf"
        cls.configuration.write_text('[engine]\nlock_type = "file"\n', encoding="utf-8")  # below the tree, and not in /dev/shm
        cls.addClassCleanup(cls.clean)
        cls.make_image()
        done = cls.run_container((), cls.supplied(cls.tree), "/bin/busybox", "true")
        need(done.returncode == 0, f"a Podman that runs containers: {done.stderr.decode()}")

    @classmethod
    def make_image(cls):
        """Nothing but the programs and what the helper's libraries are."""
        image = cls.tree / "image"
        for name in ("bin", "etc", "proc", "sys", "dev", "tmp", "run", "var/tmp", "sandbox", "mnt/folder", HELPER_FOLDER.lstrip("/")):
            (image / name).mkdir(parents=True)
        for program in ("/usr/bin/busybox", cls.launcher, cls.attempt):
            shutil.copy(program, image / "bin")
        helper = image / HELPER_FOLDER.lstrip("/") / "check-container"
        shutil.copy(CHECK_CONTAINER, helper)
        (image / "etc/test.policy").write_text(POLICY, encoding="utf-8")
        for program in (CHECK_CONTAINER, cls.launcher):
            output = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
            for library in re.findall(r"(?:=> |^\s*)(/\S+)", output, re.MULTILINE):
                target = image / library.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, target)
        subprocess.run(["tar", "-C", image, "-cf", cls.tree / "image.tar", "."], check=True)
        done = cls.run_podman("import", cls.tree / "image.tar", "test")
        need(done.returncode == 0, f"Podman: {done.stderr.decode()}")

    @classmethod
    def run_podman(cls, *arguments):
        return subprocess.run([str(word) for word in (*cls.podman, *arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, check=False, env={**os.environ, "CONTAINERS_CONF": str(cls.configuration)})

    @classmethod
    def run_container(cls, options, configuration, *command):
        return cls.run_podman("run", "--rm", "--pull", "never", "--cgroup-parent", cls.tree.name, *options, *configuration, "test", *command)

    @classmethod
    def clean(cls):
        """What Podman leaves mounted below its folders, innermost first, and its control groups."""
        def is_removed(group):  # as soon as the last of Podman's own processes has ended
            for folder, *_ in os.walk(group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    return False
            return True
        for group in [*Path("/sys/fs/cgroup").glob(cls.tree.name), *Path("/sys/fs/cgroup").glob(f"*/{cls.tree.name}")]:
            wait_until(lambda group=group: is_removed(group))
        mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
        for point in sorted((point for point in mounts if point.startswith(f"{cls.tree}/")), reverse=True):
            subprocess.run(["umount", "--lazy", point], check=False)

    @staticmethod
    def supplied(chat, changes=()):
        return [word for options in {**SUPPLIED, **dict(changes)}.values() for word in words(options, chat=chat, folder=chat)]

    def setUp(self):
        super().setUp()
        self.chat = self.make_folder("chat", 0o700, 1000)

    def contained(self, changes=(), options=("--max-abi", "2"), operations="list /sandbox , list /"):
        """The exit status, standard output, the status line and all of standard error."""
        launcher = ["/bin/landlock-exec", "--policy", "/etc/test.policy", "--status-fd", "2", *options, "--", "/bin/attempt", *operations.split()]
        done = self.run_container(["--env", "ASAN_OPTIONS=detect_leaks=0"] if IS_SANITIZED else [], self.supplied(self.chat, changes), *launcher)
        lines = [line for line in done.stderr.decode().splitlines() if line.startswith('{"event":')]
        self.assertEqual(len(lines), 1, done)
        return done.returncode, done.stdout.decode(), json.loads(lines[0])

    def together(self, cases):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return list(pool.map(lambda case: self.contained(**case), cases))

    def test_the_supplied_configuration_passes(self):
        cases = {
            "as it is": {}, "ABI 1": {"options": ("--max-abi", "1")},
            "with a process 1": {"changes": {"init": f"--init --init-path {self.bin}/answer"}},  # as good as another: it becomes the program
            "without its temporary folders": {"changes": {"tmp": "--read-only-tmpfs=false"}},
            "with more shared memory": {"changes": {"shm": "--shm-size 32m"}},
            "with no-new-privileges": {"changes": {"privileges": "--security-opt no-new-privileges"}},
            "another folder, read-only": {"changes": {"extra": "-v {chat}:/mnt/folder:ro"}},
        }
        for name, (code, out, status) in zip(cases, self.together(cases.values())):
            with self.subTest(name):
                self.assertEqual((code, out, status["event"], status["container"], status["findings"]),
                                 (0, "OK\nEACCES\n", "starting", "checked", []))

    def test_departures(self):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{self.chat}/s")
            self.check_departures()

    def check_departures(self):
        cases = {
            "a writable root": ({"root": ""}, ["/ must be read-only, and is mounted writable"], "--read-only"),
            "user 0": ({"user": ""}, ["the user is not UID 1000 but real UID 0, effective UID 0, saved UID 0, filesystem UID 0"], "--user 1000:1000"),
            "another user": ({"user": "--user 1001"}, ["the user is not UID 1000 but real UID 1001"], "--user 1000:1000"),
            "a capability": ({"add": "--cap-add NET_RAW"}, [f"the {name} capability set is not empty: cap_net_raw" for name in SETS],
                             "--cap-drop ALL"),
            "another folder": ({"extra": "-v {chat}:/mnt/folder"}, [f"/mnt/folder {UNNAMED}"], ":ro"),
            "below /sandbox": ({"extra": "-v {chat}:/sandbox/below"}, [f"/sandbox/below {UNNAMED}"], ":ro"),
            "a tmpfs": ({"extra": "--tmpfs /mnt/folder"}, [f"/mnt/folder {UNNAMED}tmpfs, source tmpfs, root /)"], "--tmpfs"),
            "a volume": ({"extra": "-v /mnt/folder"}, [f"/mnt/folder {UNNAMED}"], "a VOLUME of the image"),
            "a socket": ({"extra": "-v {chat}/s:/run/docker.sock"}, ["/run/docker.sock is a socket"], "no -v or --mount on /run/docker.sock"),
            "a socket, read-only": ({"extra": "-v {chat}/s:/mnt/socket:ro"}, ["/mnt/socket is a socket"], "no -v or --mount on /mnt/socket"),
            "shared memory": ({"ipc": "--ipc host"}, ["/dev/shm is a writable mount, but not the one that the runtime itself makes there ("],
                              "neither --ipc=host"),
            "a folder on a preset's path": ({"extra": "-v {chat}:/var/tmp"}, ["/var/tmp is a writable mount, but not the one"], "no -v, --mount"),
        }
        for name, (code, out, status) in zip(cases, self.together([{"changes": changes} for changes, *_ in cases.values()])):
            _, starts, hint = cases[name]
            with self.subTest(name):
                self.assertEqual((code, out, status["event"], status["reason"], status["container"]),
                                 (125, "", "refused", "container", None))
                found = status["findings"]
                if name == "a writable root":
                    found = [f for f in found if not f["message"].startswith(("/etc/", "/run/.containerenv "))]  # Podman's files, writable then
                self.assertEqual([f["message"][:len(start)] for f, start in zip(found, starts)], starts, found)
                self.assertEqual(len(found), len(starts), found)
                self.assertTrue(all(f["hint"].startswith("podman run: ") for f in found), found)
                self.assertIn(hint, " ".join(f["hint"] for f in found))

    def test_a_privileged_one(self):
        code, out, status = self.contained({"extra": "--privileged", "user": ""})
        self.assertEqual((code, out, status["reason"]), (125, "", "container"))
        text = "\n".join(f["message"] for f in status["findings"])
        for part in ("the user is not UID 1000", "the effective capability set", "the bounding capability set", "/sys is a writable mount"):
            self.assertIn(part, text)
