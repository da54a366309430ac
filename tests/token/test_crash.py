"""Whatever ends ensure or fails within it, the file is the old one or the new one, whole. By strace, which does both at each system call."""

import collections
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from command import KEY, MADE, TokenTest
from harness import ORDINARY, as_user, need, need_root, report

OLD = b"A=1\nSECRET='of another\nvariable'" + b"\n# a line" * 500
WORKERS = 4
ERRORS = ("EIO", "ENOSPC", "EACCES", "ENOMEM", "EINTR")


class Crash(TokenTest):
    @classmethod
    def setUpClass(cls):
        need(shutil.which("strace"), "strace")
        super().setUpClass()

    def place(self, name, text):
        """A folder of its own for one run, and the file in it."""
        folder = self.folder / name
        folder.mkdir()
        file = folder / ".env"
        if text is not None:
            file.write_bytes(text)
            file.chmod(0o644)
        for path in (folder, *folder.iterdir()):
            os.chown(path, ORDINARY, ORDINARY)
        return folder

    def run_in(self, folder, *options):
        log = self.folder / f"{folder.name}.log"
        log.touch()
        log.chmod(0o666)
        return log, self.ask("ensure", ".env", cwd=folder, wrapper=("/usr/bin/strace", "-o", log, *options))

    def calls(self, text):
        """Each call of an undisturbed run: its name, and which of that name it is. The first is what starts the command."""
        log, answer = self.run_in(self.place("record", text))
        self.assertEqual(answer.code, 0, answer)
        seen, found = collections.Counter(), []
        for name in re.findall(r"(?m)^(\w+)\(", log.read_text()):
            seen[name] += 1
            found.append((name, seen[name]))
        for needed in ("flock", "fsync", "renameat" if text else "write", "getrandom", "prctl"):
            self.assertIn(needed, seen)
        return found[1:]

    def whole(self, folder, text):
        """"old" or "new"; nothing else is there but what is left for the next call, and is private."""
        file = folder / ".env"
        for path in folder.iterdir():
            if path != file:
                self.assertRegex(path.name, r"\A\.service-token-[0-9a-f]{32}\Z")
                self.assertEqual(path.stat().st_mode & 0o177, 0, path)
                self.assertEqual(path.stat().st_uid, ORDINARY)
        if not file.exists():
            self.assertIsNone(text)
            return "old"
        after = file.read_bytes()
        if after == text:
            return "old"
        self.assertTrue(after.startswith(text or b""), "the file is neither")
        self.assertRegex(after, MADE)
        self.assertEqual(len(after), len(text or b"") + bool(text) + len(KEY) + 66)
        self.assertEqual((file.stat().st_mode & 0o7777, file.stat().st_uid), (0o600, ORDINARY))
        return "new"

    def recovered(self, folder, text):
        """The next call does it all."""
        answer = self.ask("ensure", ".env", cwd=folder)
        self.assertEqual((answer.code, answer.err), (0, ""))
        self.assertEqual(self.whole(folder, text), "new")
        self.assertEqual(os.listdir(folder), [".env"])

    def each(self, text, disturbances, judge):
        counts = collections.Counter()

        def one(numbered):
            number, (name, at, what) = numbered
            folder = self.place(str(number), text)
            _, answer = self.run_in(folder, "-e", f"trace={name}", "-e", f"inject={name}:{what}:when={at}")
            try:
                judge(answer, folder, counts)
                self.recovered(folder, text)
            except AssertionError as error:
                raise AssertionError(f"{name} {at}: {what}: {error}; {answer}") from None
            shutil.rmtree(folder)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(one, enumerate(disturbances)))
        return counts

    def test_killed_at_every_call(self):
        for text in (OLD, None):
            def judge(answer, folder, counts, text=text):
                self.assertEqual((answer.code, answer.err), (-9, ""))
                counts[self.whole(folder, text)] += 1
                counts["left over"] += len(os.listdir(folder)) > (folder / ".env").exists()

            calls = self.calls(text)
            counts = self.each(text, [(*call, "signal=KILL") for call in calls], judge)
            self.assertEqual(counts["old"] + counts["new"], len(calls))
            self.assertGreater(min(counts["old"], counts["new"], counts["left over"]), 0)
            report("token.crash", f"killed at each of {len(calls)} calls: {counts['old']} old, {counts['new']} new, {counts['left over']} with "
                                  "a file left over")
            shutil.rmtree(self.folder / "record")

    def test_every_call_fails(self):
        def judge(answer, folder, counts):
            found = self.whole(folder, OLD)
            counts[found, answer.code] += 1
            if answer.code == 0:
                self.assertEqual(found, "new")
            else:
                self.assertIn(answer.code, (1, 2, 126, 127, -11, -6))  # where the C library cannot start: by its own means
            self.assertNotIn("of another", answer.err)
            for line in answer.err.splitlines():
                self.assertNotRegex(line, r"[0-9a-f]{33}")

        calls = self.calls(OLD)
        counts = self.each(OLD, [(*call, f"error={error}") for call in calls for error in ERRORS], judge)
        self.assertGreater(counts["old", 2], 50, counts)
        self.assertGreater(counts["new", 0], 0, counts)
        report("token.crash", f"each of {len(calls)} calls failed in {len(ERRORS)} ways: {dict(counts)}")

    def test_the_order(self):
        """The owner before the content, and the disk before the place. By root: who is not dumpable hides its descriptors from strace."""
        need_root()
        folder, log = self.place("order", OLD), self.folder / "order.log"
        answer = self.ask("ensure", ".env", cwd=folder, uid=0, wrapper=("/usr/bin/strace", "-yy", "-o", log))
        self.assertEqual(answer.code, 0, answer)
        steps = re.findall(r"(?m)^(fchown|fchmod|write|fsync|renameat)\(\d+<(.*?)>", log.read_text())
        names = [(name, Path(path).name[:15]) for name, path in steps if "order" in path]
        new, old = ".service-token-", "order"
        self.assertEqual(names, [("fchmod", new), ("fchown", new), ("write", new), ("write", new), ("fsync", new), ("renameat", old), ("fsync", old)])

    def test_a_write_that_takes_a_part(self):
        """strace does not shorten writes; a limit does, and the rest fails."""
        folder = self.place("short", OLD)
        done = subprocess.run(["/usr/bin/prlimit", "--fsize=1000", self.command, "ensure", ".env"], cwd=folder, capture_output=True, check=False,
                              **as_user(ORDINARY))
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(self.whole(folder, OLD), "old")
        self.assertEqual(os.listdir(folder), [".env"])
