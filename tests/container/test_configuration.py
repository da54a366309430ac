"""The supplied configuration, and what administrators may vary of it, is what the policy describes: the container is checked and found
fine. docker-compose.yml and the manual say the same as the tests use."""

import os
import re
import shlex
import stat
import subprocess
import unittest

from daemon import CACHE, CLIENT
from harness import POLICY, SOURCE, SUPPLIED, ContainerTest, supplied, text, together

CODE = "open('/sandbox/written', 'w').write('ran'); print('ran')"

VARIATIONS = {
    "as it is": {},
    "no init": {"init": ""},
    "a larger /dev/shm": {"shm": "--shm-size 128m"},
    "the image's own script": {"script": ""},
    "-v in place of --mount": {"sandbox": "-v {chat}:/sandbox", "script": "-v {script}:/opt/main.py:ro"},
    "a group of its own": {"user": "--user 1000:4000"},
    "another time zone": {"zone": "-v /usr/share/zoneinfo/Asia/Tokyo:/etc/localtime:ro"},
    "the host's network": {"network": "--network host"},
}
CHECKS = {"own ABI": {}, "ABI 2": {"max_abi": 2}, "ABI 1": {"max_abi": 1}, "always": {"policy": "container check always"}}


class Passes:
    """Each variation under each reason for a check, and with a terminal."""

    def test_variations(self):
        cases = [(variation, check) for variation in self.variations for check in CHECKS]
        outcomes = together(lambda case: self.launch(CODE, **self.variations[case[0]], **CHECKS[case[1]]), cases)
        for case, outcome in zip(cases, outcomes, strict=True):
            with self.subTest(case):
                self.assert_ran(outcome, "ran\n")
                self.assertEqual(outcome.status["container"], "not-needed" if case[1] == "own ABI" else "checked")
                self.assertEqual(outcome.findings, [])
                self.assertEqual((outcome.chat / "written").read_text(), "ran")

    def test_terminal(self):
        """With -t the code cannot come on standard input: the client wants a terminal there, too."""
        for options in ([], ["--max-abi", "2"], ["--max-abi", "1"]):
            with self.subTest(options):
                chat = self.folder()
                done = self.docker.docker("run", "--rm", "--tty", *supplied(chat), "--entrypoint", "landlock-exec", "mypy", "--policy",
                                          POLICY, *options, "--", "python3", "-c", f"import os; {CODE}; print(os.isatty(0))",
                                          check=False)
                self.assertEqual(done.returncode, 0, done)
                self.assertEqual(text(done.stdout).split()[-2:], ["ran", "True"])
                self.assertEqual((chat / "written").read_text(), "ran")


class SuppliedTest(Passes, ContainerTest):
    variations = VARIATIONS

    # ---- What is written of it ----

    def test_manual_and_compose_file_say_the_same(self):
        chat = self.folder()
        script = SOURCE / "policy/main.py"  # as the compose file has it
        ours, = self.docker.words("create", "--interactive", *supplied(chat, script=SUPPLIED["script"].format(script=script)), "mypy")
        wanted = configuration(self.docker.inspect(ours))
        self.assertEqual(wanted["CapDrop"], ["ALL"])  # it is the configuration that is compared, not nothing

        manuals, = self.docker.words("create", *manual_options(chat, script))
        self.assertEqual(configuration(self.docker.inspect(manuals)), {**wanted, "AutoRemove": True})

        self.compose(chat, "--profile", "run", "create")
        composed, = self.docker.words("ps", "--all", "--quiet", "--filter", "label=com.docker.compose.service=mypy")
        self.assertEqual(configuration(self.docker.inspect(composed)), wanted)
        self.docker.docker("rm", ours, manuals, composed)

    def test_compose_run(self):
        chat = self.folder()
        done = self.compose(chat, "run", "--rm", "--no-TTY", "mypy", input=CODE.encode())
        self.assertEqual((done.returncode, done.stdout, (chat / "written").read_text()), (0, b"ran\n", "ran"), done)

    def test_compose_wants_a_folder_that_is_there(self):
        done = self.compose("", "config", check=False)
        self.assertIn(b"set it to the chat's directory", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        missing = self.folder() / "missing"
        done = self.compose(missing, "run", "--rm", "--no-TTY", "mypy", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(missing.exists())

    def compose(self, chat, *words, check=True, input=b""):
        plug_in(self.docker)
        done = subprocess.run([CLIENT, "compose", "--file", SOURCE / "docker-compose.yml", *words], input=input, capture_output=True,
                              env={**self.docker.environment, "CHAT_DIRECTORY": str(chat)}, timeout=60)
        if check:
            self.assertEqual(done.returncode, 0, done)
        return done

    # ---- The image ----

    def test_image_is_safe(self):
        image = self.docker.inspect("mypy")
        self.assertEqual(image["Config"]["Entrypoint"], ["landlock-exec", "--policy", POLICY, "--"])
        self.assertEqual((image["Config"]["Cmd"], image["Config"]["User"]), (["python3", "/opt/main.py"], "1000:1000"))
        self.assertFalse(image["Config"].get("Volumes"))
        self.assertFalse(image["Config"].get("OnBuild"))
        with self.docker.started("--entrypoint", "sleep", "mypy", "60") as container:
            root = self.docker.rootfs_of(container)
            self.assertEqual(writable_by_others(root), [])
            self.assertEqual(list((root / "var/lib/apt/lists").glob("*Packages*")), [])
            self.assertEqual([path for path in ("source", "build", "stage") if (root / path).exists()], [])
            for path in ("etc/landlock-exec/interpreter.policy", "opt/main.py", "usr/libexec/landlock-exec/check-container",
                         "usr/bin/landlock-exec"):
                status = (root / path).stat()
                self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o022), (0, 0, 0), path)
            self.assertEqual((root / "opt/main.py").read_bytes(), (SOURCE / "policy/main.py").read_bytes())


class OtherUsersOutside(Passes):
    """Where user 0 of the container is nobody outside, devices are bind-mounted."""

    variations = {name: VARIATIONS[name] for name in ("as it is", "no init", "the image's own script")}

    def test_user_is_another_one_outside(self):
        outcome = self.launch(CODE)
        self.assert_ran(outcome)
        self.assertGreater((outcome.chat / "written").stat().st_uid, 100000)

    def test_a_departure_is_refused_here_too(self):
        outcome = self.launch(CODE, max_abi=2, more="-v {other}:/data --cap-add NET_RAW")
        self.assert_refused(outcome, "container")
        self.assertEqual([re.search("/data|bounding", finding["message"])[0] for finding in outcome.findings], ["bounding", "/data"])


class RemappedTest(OtherUsersOutside, ContainerTest):
    kind = "remapped"


class RootlessTest(OtherUsersOutside, ContainerTest):
    kind = "rootless"


# ---- What is compared ----

def configuration(container):
    """What Docker was told of a container, without what is empty: clients write that differently."""
    told = {**container["HostConfig"], **{key: container["Config"][key] for key in ("User", "OpenStdin", "Entrypoint", "Cmd", "Image")}}
    told["RestartPolicy"] = told["RestartPolicy"]["Name"].removeprefix("no")
    told["Mounts"] = sorted(({key: value for key, value in mount.items() if value} for mount in told["Mounts"]), key=str)
    return {key: value for key, value in told.items() if value}


def manual_options(chat, script):
    """The command of the manual, for this chat and this script: the words behind `docker run`."""
    page = (SOURCE / "man/landlock-exec.1").read_text().replace("\\-", "-").replace("\\e\n", "")
    command = re.search(r"^docker run (--rm .*?) < code\.py$", page, re.MULTILINE)[1]
    return [word.replace("/srv/chats/1", str(chat)).replace("/srv/main.py", str(script)) for word in shlex.split(command)]


def writable_by_others(root):
    """Files and folders of an image that its user, 1000, could write, without those that are everybody's by purpose."""
    everybodys = {"tmp", "var/tmp", "run/lock", "sandbox", "dev/shm", "dev/mqueue"}
    found = []
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            is_file = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
            if is_file and os.path.relpath(path, root) not in everybodys and (
                    status.st_mode & 0o002 or 1000 in (status.st_uid, status.st_gid)):
                found.append(path)
    return found


def plug_in(docker):
    """Puts Compose where the client looks for plug-ins: Debian's, which is one static executable, out of a package of trixie's."""
    file = CACHE / "client/cli-plugins/docker-compose"
    if file.exists() or docker.docker("compose", "version", check=False).returncode == 0:
        return
    context = CACHE / "client/compose"
    os.makedirs(context, exist_ok=True)
    (context / "Dockerfile").write_text(f"""FROM {docker.import_base("trixie")}
RUN apt-get update && cd /tmp && apt-get download docker-compose && dpkg-deb -x docker-compose_*.deb /compose
""")
    docker.build(context, "landlock-exec/compose")
    container, = docker.words("create", "landlock-exec/compose", "true")
    os.makedirs(file.parent, exist_ok=True)
    docker.docker("cp", f"{container}:/compose/usr/libexec/docker/cli-plugins/docker-compose", f"{file}.new")
    os.rename(f"{file}.new", file)
    docker.docker("rm", container)


if __name__ == "__main__":
    unittest.main()
