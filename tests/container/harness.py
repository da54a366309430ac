"""What the container tests share: the mypy image built from the tree as it is, chats, and containers in the supplied configuration.

The environment tells where things are: SOURCE (the project), SANDBOX_HELPERS (the folder of become); SUITE is the Debian that the image
is built on (default: bookworm). Nothing is passed over: what is missing here fails.
"""

import atexit
import concurrent.futures
import dataclasses
import json
import os
import re
import shlex
import shutil
import tempfile
import unittest
from pathlib import Path

from daemon import CACHE, KINDS, Daemon

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).parents[2]))
HELPERS = Path(os.environ.get("SANDBOX_HELPERS", SOURCE / "build/release/tests/sandbox"))
SUITE = os.environ.get("SUITE", "bookworm")
TREES = "/var/lib"

POLICY = "/etc/landlock-exec/interpreter.policy"
SCRIPT = "/opt/main.py"

# The supplied configuration, as landlock-exec(1) and docker-compose.yml have it; test_configuration.py compares them. The keys are
# for those who leave something out or put something else in its place.
SUPPLIED = {
    "init": "--init",
    "user": "--user 1000:1000",
    "root": "--read-only",
    "capabilities": "--cap-drop ALL",
    "privileges": "--security-opt no-new-privileges",
    "network": "--network none",
    "limits": "--pids-limit 256 --memory 2g --memory-swap 2g --cpus 2",
    "tmp": "--tmpfs /tmp:size=256m,mode=1777",
    "sandbox": "--mount type=bind,source={chat},target=/sandbox",
    "script": "--mount type=bind,source={script},target=/opt/main.py,readonly",
}


def supplied(chat, **changes):
    """The options of docker run. `changes`: other options for a key of SUPPLIED, or for a new one; {other} in them is a folder that
    has nothing to do with the chat."""
    places = {"chat": chat, "other": f"{chat}.other", "script": chat.parent / "main.py"}
    return [word.format(**places) for options in {**SUPPLIED, **changes}.values() for word in shlex.split(options)]


def text(output):
    """What a container said, without what the client says of the host: that it counts no swap, for one."""
    lines = output.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("WARNING: "))


def together(function, items):
    """A list of what `function` gives for each item, a few at a time: most of a container's time is spent waiting."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, items))


@dataclasses.dataclass
class Outcome:
    """Of a container: the exit status, both outputs as text, the status line (None: there was none) and the chat's folder."""

    code: int
    out: str
    err: str
    status: dict
    chat: Path

    @property
    def findings(self):
        return self.status.get("findings") or []


def build_image(docker):
    """Of the tree as it is: its ID."""
    base = docker.import_base(SUITE)
    for tag, target in ((f"landlock-exec/build:{SUITE}", "build"), (f"landlock-exec/mypy:{SUITE}", None)):  # named: not pruned
        docker.build(SOURCE, tag, f"BASE={base}", target=target)
    docker.docker("tag", tag, "mypy")
    docker.docker("image", "prune", "--force")
    return docker.inspect("mypy")["Id"]


def bring_image(kind):
    """To a daemon that cannot build it: not with the host's network."""
    with Daemon() as docker:
        image = build_image(docker)
    with Daemon(kind=kind) as docker:
        if image in docker.words("images", "--quiet", "--no-trunc", "mypy"):
            return
    with tempfile.NamedTemporaryFile(dir=CACHE, prefix="mypy.") as file:
        with Daemon() as docker:
            docker.docker("save", "--output", file.name, "mypy", timeout=300)
        with Daemon(kind=kind) as docker:
            docker.docker("load", "--input", file.name, timeout=600)
            docker.docker("image", "prune", "--force")


class ContainerTest(unittest.TestCase):
    """A class has a daemon, the image in it, and a tree of files."""

    maxDiff = None
    kind = "usual"  # of daemon

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise AssertionError("the container tests need root: they start a Docker daemon")
        if cls.kind != "usual":
            bring_image(cls.kind)
        cls.docker = cls.enterClassContext(Daemon(kind=cls.kind))
        if cls.kind == "usual":
            build_image(cls.docker)
        cls.tree = Path(tempfile.mkdtemp(prefix="landlock-exec-test.", dir=TREES))
        cls.addClassCleanup(shutil.rmtree, cls.tree)
        atexit.register(shutil.rmtree, cls.tree, ignore_errors=True)  # at Ctrl-C there is no clean-up of the class
        cls.tree.chmod(0o755)
        cls.root, cls.uid = KINDS[cls.kind]
        shutil.copy(SOURCE / "policy/main.py", cls.tree)
        (cls.tree / "main.py").chmod(0o644)

    # ---- Files of the host ----

    @classmethod
    def folder(cls, mode=0o700, owner=None, prefix="chat."):
        """An empty folder that belongs to the image's user, a chat's, and beside it a second one."""
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=cls.tree))
        owner = cls.uid if owner is None else owner
        other = path.with_name(f"{path.name}.other")
        other.mkdir()
        for each in (path, other):
            os.chown(each, owner, owner)
            each.chmod(mode)
        return path

    @classmethod
    def derive(cls, tag, *lines, **files):
        """Builds an image on the mypy image: lines of a Dockerfile, and the files that these copy, by name without a dot."""
        folder = cls.folder()
        for name, content in files.items():
            (folder / name).write_text(content)
        (folder / "Dockerfile").write_text("\n".join(("FROM mypy", *lines, "")))
        return cls.docker.build(folder, tag)

    @classmethod
    def policy(cls, text):
        """Options that bring a policy into the container, read-only, and its path there: the supplied one with `text` before it."""
        file = cls.folder(0o755, prefix="policy.") / "test.policy"
        file.write_text(f"policy 1\n{text}\ninclude {POLICY}\n")
        os.chown(file, cls.root, cls.root)
        return f"--mount type=bind,source={file},target=/etc/landlock-exec/test.policy,readonly", "/etc/landlock-exec/test.policy"

    # ---- Containers ----

    @classmethod
    def launch(cls, code, *, chat=None, policy=None, max_abi=None, options=(), image="mypy", before=(), **changes):
        """Runs code as the service does: the image's launcher and policy with a status line. `policy`: the text for cls.policy().
        `options`: the launcher's; `changes`: of the supplied configuration; `before`: a command that starts the launcher."""
        chat = chat or cls.folder()
        if policy is not None:
            changes["policy"], policy = cls.policy(policy)
        first, *rest = [*before, "/usr/bin/landlock-exec", "--policy", policy or POLICY, "--status-fd", "2", *options]
        if max_abi:
            rest += ["--max-abi", str(max_abi)]
        data = code if isinstance(code, bytes) else code.encode()
        done = cls.docker.run(*supplied(chat, **changes), "--entrypoint", first, image, *rest, "--", "python3", SCRIPT,
                               input=data)
        out, err = text(done.stdout), text(done.stderr)
        before, found, after = err.partition('{"event":')
        line, _, after = after.partition("\n")
        status = json.loads(found + line) if found else None
        return Outcome(done.returncode, out, before + after, status, chat)

    # ---- Assertions ----

    def assert_ran(self, outcome, out=None, code=0):
        self.assertEqual(outcome.code, code, outcome)
        self.assertEqual(outcome.status and outcome.status["event"], "starting", outcome)
        if out is not None:
            self.assertEqual((outcome.out, outcome.err), (out, ""))

    def assert_findings(self, findings, wanted):
        """What the message and the hint of each must match: it is there once, and there are no others."""
        left = list(findings)
        for message, hint in wanted:
            matching = [finding for finding in left
                        if re.search(message, finding["message"]) and re.search(hint, finding["hint"], re.DOTALL)]
            self.assertEqual(len(matching), 1, f"of {message!r} with {hint!r} in {findings}")
            left.remove(matching[0])
        self.assertEqual(left, [])

    def assert_refused(self, outcome, reason):
        """Nothing ran: the launcher says so, Docker's own 125 has no status line."""
        self.assertIsNotNone(outcome.status, outcome)
        self.assertEqual((outcome.status["event"], outcome.status["reason"]), ("refused", reason), outcome)
        self.assertEqual((outcome.code, outcome.out), (125, ""), outcome)
        self.assertEqual([path for path in outcome.chat.rglob("*") if not path.is_dir()], [])
