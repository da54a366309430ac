"""What the tests of chat-files share: a chat's directory, the command, and its answers.

The environment is that of tests/sandbox/harness.py, whose folder is in PYTHONPATH with that of tests/policy, and CHAT_FILES: the command; CHAT_HELPERS: the folder
of the tests' own helpers.
"""

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import schema
from harness import IS_ROOT, ORDINARY, PATIENCE, as_user, launcher_environment, said

COMMAND = Path(os.environ["CHAT_FILES"])
HELPERS = Path(os.environ["CHAT_HELPERS"])
SUBCOMMANDS = ("put", "get", "list", "remove", "import")
MOST = 100 * 1024 * 1024  # bytes of a file
TEMPORARY = b"\x01upload."  # what begins the name of an upload that needs one


@dataclasses.dataclass
class Answer:
    """The exit status (negative: the signal) and both outputs."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self):
        return self.out.decode().splitlines()

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def refusal(self):
        """The code of an error in JSON."""
        return json.loads(self.err)["error"]["code"]


class ChatTest(unittest.TestCase):
    """A test has a folder of root's, and in it the directory of a chat, which an ordinary user owns."""

    place = "/var/tmp"

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="chat-files-test.", dir=self.place))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.chat = self.make_folder("chat")

    def make_folder(self, name, mode=0o700, uid=ORDINARY):
        path = self.folder / name
        path.mkdir()
        return self.dress(path, mode, uid)

    def make(self, name, content=b"", mode=0o600, uid=ORDINARY):
        path = self.folder / name
        path.write_bytes(content)
        return self.dress(path, mode, uid)

    @staticmethod
    def dress(path, mode, uid):
        if IS_ROOT:
            os.chown(path, uid, uid)
        path.chmod(mode)
        return path

    def make_kinds(self, folder):
        """One of each that is no file, by the code for it; what they lead to is not to be touched."""
        folder = Path(folder)
        target = self.make(f"target of {folder.name}", b"kept")
        (folder / "link").symlink_to(target)
        (folder / "dangling").symlink_to("nowhere")
        os.mkfifo(folder / "fifo")
        with socket.socket(socket.AF_UNIX) as listening:
            os.chdir(folder)  # a path of a socket is short
            listening.bind("socket")
            os.chdir("/")
        (folder / "folder").mkdir()
        os.link(target, folder / "hard-link")
        kinds = {"link": "link", "dangling": "link", "fifo": "special", "socket": "special", "folder": "folder", "hard-link": "hard-link"}
        if IS_ROOT:
            os.mknod(folder / "device", 0o20600, os.makedev(1, 5))  # /dev/zero
            os.mknod(folder / "block", 0o60600, os.makedev(7, 200))
            kinds.update(device="special", block="special")
            for name in kinds:
                os.chown(folder / name, ORDINARY, ORDINARY, follow_symlinks=False)
        return kinds

    def start(self, *words, uid=None, env=None, wrapper=(), **keywords):
        """`uid` None: this process's user."""
        keywords = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.folder, **keywords}
        return subprocess.Popen([os.fsencode(word) for word in (*wrapper, COMMAND, *words)], env={**launcher_environment(), **(env or {})},
                                **as_user(uid), **keywords)

    def ask(self, *words, data=None, timeout=PATIENCE, **keywords):
        if data is not None:
            keywords["stdin"] = subprocess.PIPE
        with self.start(*words, **keywords) as process:
            try:
                out, err = process.communicate(data, timeout)
            except BaseException:
                process.kill()
                raise
        answer = Answer(process.returncode, out or b"", said(err or b"").decode())
        self.assert_as_documented(words, answer)
        return answer

    def assert_as_documented(self, words, answer):
        """What is JSON is as the manual says."""
        subcommand = [word for word in words if word in SUBCOMMANDS]
        documents = [("error", answer.err)] if answer.err.startswith("{") else []
        if subcommand and subcommand[0] != "get" and answer.out.startswith(b"{"):
            documents.append((subcommand[0], answer.out))
        for name, text in documents:
            self.assertEqual(schema.errors(name, json.loads(text), "chat-files.1"), [], text)

    def put(self, name, data=b"", **keywords):
        return self.ask("put", "--format=json", "--", self.chat, name, data=data, **keywords)

    def get(self, name, **keywords):
        return self.ask("get", "--format=json", "--", self.chat, name, **keywords)

    def listed(self, **keywords):
        """The names that are listed, and their sizes."""
        answer = self.ask("list", "--format=json", self.chat, **keywords)
        self.assertEqual((answer.code, answer.err), (0, ""))
        return {file["name"]: file["size"] for file in answer.json["files"]}

    def remove(self, name, **keywords):
        return self.ask("remove", "--format=json", "--", self.chat, name, **keywords)

    def imported(self, *sources, limit=None, code=0, **keywords):
        """The report: what became of each file, by its source."""
        env = {} if limit is None else {"LLM_MAX_ATTACHMENT_FILES": str(limit)}
        answer = self.ask("import", "--format=json", "--", self.chat, *sources, env=env, **keywords)
        self.assertEqual((answer.code, answer.err), (code, ""), answer)
        report = answer.json
        for outcome in ("copied", "replaced", "skipped"):
            self.assertEqual(report[outcome], sum(file["outcome"] == outcome for file in report["files"]))
        return report["files"]

    def assert_refused(self, answer, code):
        """With nothing on standard output, a code, a message, and the exit status of a refusal."""
        self.assertEqual((answer.code, answer.out), (1, b""), answer)
        self.assertEqual(answer.refusal, code, answer)

    def entries(self, folder=None):
        """All that is in a folder, the names as bytes."""
        return sorted(os.listdir(os.fsencode(folder or self.chat)))
