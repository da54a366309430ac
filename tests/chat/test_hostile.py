"""The code in a chat swaps files, links, folders, FIFOs and mounts as fast as it can, while its directory is used.

Whatever the moment: nothing outside is read or written, nobody waits, and what is delivered is one file. And each thing that it swaps was
met, so that the attack did take effect. CHAT_SECONDS: how long it takes.
"""

import contextlib
import ctypes
import itertools
import os
import stat
import subprocess
import threading
import time
from collections import Counter

from chat import HELPERS, MOST, TEMPORARY, ChatTest
from harness import IS_ROOT, IS_SANITIZED, ORDINARY, REQUIRE_ALL, USERS, as_user, report

CLONE_NEWNS = 0x20000
SECONDS = float(os.environ["CHAT_SECONDS"])
MOST_ROUNDS = 6  # of that long, till all was met
A, B = b"A" * 200_000, b"B" * 300_000
SECRET, OUTSIDE = b"SECRET" * 1000, b"OUTSIDE" * 1000
UPLOADED = b"UPLOADED"


def setUpModule():
    """A mount namespace of this process's own: mounts come and go in it."""
    if IS_ROOT and ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    if IS_ROOT:
        subprocess.run(["/usr/bin/mount", "--make-rprivate", "/"], check=True)


class Hostile(ChatTest):
    def setUp(self):
        super().setUp()
        self.secret = self.make("secret", SECRET, 0o600, uid=0)
        self.outside = self.make_folder("outside")
        self.make("outside/file", OUTSIDE)
        self.stash = self.make_folder("stash")
        self.source = self.make_folder("source")
        self.foreign = self.make_folder("chat/foreign", 0o755, uid=0)
        self.foreign_inode = os.stat(self.foreign).st_ino
        self.inodes = {os.stat(path).st_ino for path in (self.secret, self.outside / "file")}
        self.met, self.faults = Counter(), []

    @contextlib.contextmanager
    def attack(self, *words, uid=ORDINARY):
        with subprocess.Popen([HELPERS / "attacker", *words], stdout=subprocess.PIPE, cwd=self.folder, **as_user(uid)) as attacker:
            try:
                self.assertEqual(attacker.stdout.readline(), b"ready\n")
                yield
                self.assertIsNone(attacker.poll(), "the attacker ended before its time")
            finally:
                attacker.terminate()
                rest = attacker.stdout.read()
        self.assertEqual(attacker.returncode, 0)
        self.met[f"swaps of {words[0]}"] += int(rest)

    def attacks(self, stack):
        names = [str(path) for path in (self.chat, self.stash, self.secret, self.outside, self.source)]
        chat, stash, secret, outside, source = names
        for words in (("swap", chat, "file", stash, secret, f"{outside}/file"), ("swap", chat, "file", stash, secret, f"{outside}/file"),
                      ("swap", source, "file", stash, secret, f"{outside}/file"), ("folder", chat, "folder", stash, outside),
                      ("folder", source, "folder", stash, outside), ("temporary", chat, secret, f"{outside}/linked"), ("foreign", chat, "folder", "foreign"),
                      ("link", f"{outside}/file", f"{source}/linked")):
            stack.enter_context(self.attack(*words))
        if IS_ROOT:
            for name in ("mounted", "folder of another"):
                (self.chat / name).write_bytes(b"") if name == "mounted" else (self.chat / name).mkdir()
            stack.enter_context(self.attack("mount", chat, "mounted", secret, "folder of another", uid=0))

    # ---- What is asked, and what may come of it ----

    def note(self, act, answer, good, codes):
        """An answer is a good one, or a refusal with one of the codes."""
        if answer.code == 0 and good(answer):
            self.met[act, "done"] += 1
        elif answer.code == 1 and answer.refusal in codes:
            self.met[act, answer.refusal] += 1
        else:
            self.faults.append((act, answer.code, answer.out[:200], answer.err[:500]))

    def get_once(self, uid):
        self.note("get", self.get("file", uid=uid), lambda answer: answer.out in (A, B, *self.uploads),
                  ("missing", "link", "special", "folder", "hard-link", "too-large", "changed"))
        self.note("get mounted", self.get("mounted", uid=uid), lambda answer: answer.out == b"", ("mount", "missing"))

    def put_once(self, uid):
        self.note("put", self.put("file", next(self.contents), uid=uid), lambda answer: True, ("special", "folder", "changed"))
        self.note("remove", self.remove("file", uid=uid), lambda answer: True, ("missing", "special", "folder"))

    def list_once(self, uid):
        self.note("list", self.ask("list", "--format=json", self.chat, uid=uid), lambda answer: all(file["size"] <= MOST for file in answer.json["files"]), ())

    def import_once(self, uid):
        answer = self.ask("import", "--format=json", self.chat, self.source, uid=uid)
        if answer.code not in (0, 1) or answer.err:
            self.faults.append(("import", answer.code, answer.out[:200], answer.err[:500]))
            return
        for file in answer.json["files"]:
            self.met["import", file["code"] or "done"] += 1
            if file["code"] in ("system", "input", "directory", "permission"):
                self.faults.append(file)

    def use(self, act, uid, stop):
        while not stop.is_set() and not self.faults:
            try:
                act(uid)
            except BaseException as error:  # of a thread: told by the test
                self.faults.append((act.__name__, repr(error)))

    # ---- What must hold ----

    def assert_nothing_came_in(self):
        """No file of the chat has a byte of what is outside; but for what the attacker itself links there."""
        for folder, _, files in os.walk(self.chat):
            for name in files:
                with contextlib.suppress(OSError), open(os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                    if os.fstat(file.fileno()).st_ino not in self.inodes and name != "mounted":
                        content = file.read(1 << 20)
                        self.assertFalse(b"SECRET" in content or b"OUTSIDE" in content, name)

    def assert_nothing_went_out(self):
        """Outside all is as it was: but for what the attacker itself moved over its own file, `linked`."""
        self.assertEqual(self.secret.read_bytes(), SECRET)
        self.assertEqual((self.outside / "file").read_bytes(), OUTSIDE)
        self.assertEqual(set(os.listdir(self.outside)) - {"linked"}, {"file"})
        self.assertEqual(set(os.listdir(self.folder)), {"chat", "secret", "outside", "stash", "source"})
        foreign = [status for status in map(os.lstat, self.chat.iterdir()) if status.st_ino == self.foreign_inode]  # whatever it is called now
        self.assertEqual([(status.st_uid, stat.S_IMODE(status.st_mode)) for status in foreign], [(0 if IS_ROOT else ORDINARY, 0o755)])

    def assert_usable_afterwards(self):
        """An upload goes in, and takes away what is left of others; but for a folder that the attacker brought in place of an upload."""
        subprocess.run(["rm", "-rf", self.chat / "file", self.chat / "folder"], check=True)
        self.assertEqual(self.put("file", b"x").code, 0)
        left = [self.chat / os.fsdecode(name) for name in self.entries() if name.startswith(TEMPORARY)]
        self.assertEqual([path for path in left if path.is_symlink() or not path.is_dir()], [])
        self.assertEqual(self.get("file").out, b"x")

    def fight(self):
        stop = threading.Event()
        threads = [threading.Thread(target=self.use, args=(act, uid, stop)) for act, uid in
                   zip((self.get_once, self.put_once, self.list_once, self.import_once, self.get_once), itertools.cycle(USERS))]
        with contextlib.ExitStack() as stack:
            self.attacks(stack)
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline and not self.faults:
                time.sleep(0.2)
                self.assert_nothing_came_in()
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(self.faults, [])

    def test_the_directory_is_used_under_attack(self):
        self.uploads = [UPLOADED + bytes([65 + i]) * (50_000 * i) for i in range(8)]
        self.contents = itertools.cycle(self.uploads)
        wanted = {("get", code) for code in ("done", "missing", "link", "special", "folder", "hard-link", "too-large")}
        wanted |= {("put", code) for code in ("done", "special", "folder")} | {("remove", code) for code in ("done", "missing", "special", "folder")}
        wanted |= {("list", "done")} | {("import", code) for code in ("done", "link", "special", "too-large", "hard-link")}
        wanted |= {("get mounted", "mount")} if IS_ROOT else set()
        for _ in range(MOST_ROUNDS):
            self.fight()
            if wanted <= set(self.met) or not REQUIRE_ALL:
                break
        for what in self.met:
            print(f"    {self.met[what]} {what if isinstance(what, str) else ': '.join(what)}")
        self.assert_nothing_came_in()
        self.assert_nothing_went_out()
        self.assert_usable_afterwards()
        if not IS_SANITIZED:
            self.assertEqual(wanted - set(self.met), set(), "never met")
        swaps = sum(count for what, count in self.met.items() if isinstance(what, str))
        report("chat.hostile", f"{swaps} swaps, {sum(self.met.values()) - swaps} answers")
