"""kill -9 at every step, uploads at the same time, and kernels and file systems that have not all."""

import itertools
import os
import re
import subprocess
import threading
import unittest
from collections import Counter

from chat import HELPERS, TEMPORARY, ChatTest
from harness import IS_COVERED, IS_SANITIZED, ORDINARY, USERS, need, need_root, wait_until

STRACE = "/usr/bin/strace"


def without(*what):
    return (HELPERS / "without", ",".join(what))


@unittest.skipIf(IS_SANITIZED or IS_COVERED, "sanitizers and counters make calls of their own")
class Kills(ChatTest):
    """The process is ended before each of its system calls, one run a call."""

    @classmethod
    def setUpClass(cls):
        need(os.access(STRACE, os.X_OK), "strace")

    def calls(self, words, **keywords):
        """How often the command makes each call."""
        trace = self.folder / "trace"
        self.assertEqual(self.ask(*words, wrapper=(*keywords.pop("wrapper", ()), STRACE, "-o", trace), **keywords).code, 0)
        return Counter(re.findall(r"(?m)^(\w+)\(", trace.read_text()))

    def kill_everywhere(self, words, check, prepare, **keywords):
        wrapper = keywords.pop("wrapper", ())
        prepare()
        counts = self.calls(words, wrapper=wrapper, **keywords)
        killed = 0
        for call, count in counts.items():
            for at in range(1, count + 1):
                prepare()
                answer = self.ask(*words, wrapper=(*wrapper, STRACE, "-qqo", "/dev/null", f"-einject={call}:signal=KILL:when={at}"), **keywords)
                killed += answer.code == -9
                with self.subTest(call=call, at=at):
                    check(answer.code == 0)
        self.assertGreater(killed, sum(counts.values()) * 3 // 4)
        print(f"{self.id().split('.')[-1]}: killed before {killed} of {sum(counts.values())} calls")

    def assert_whole(self, name, *contents):
        """The file, and nothing of the upload once there is a next one."""
        self.assertIn(self.get(name).out, contents)
        self.assertEqual(list(self.listed()), [name])
        self.assertTrue(all(entry == name.encode() or entry.startswith(TEMPORARY) for entry in self.entries()), self.entries())
        self.assertEqual(self.put("next").code, 0)
        self.assertEqual(self.entries(), sorted([name.encode(), b"next"]))
        self.remove("next")

    def test_put_over_a_file(self):
        for wrapper in ((), without("exchange"), without("tmpfile"), without("tmpfile", "noreplace"), without("emptypath")):
            self.kill_everywhere(("put", self.chat, "file"), lambda done: self.assert_whole("file", b"new" if done else b"old", b"new"),
                                 lambda: (self.chat / "file").write_bytes(b"old"), data=b"new", wrapper=wrapper)

    def test_put_a_new_file(self):
        for wrapper in ((), without("tmpfile"), without("tmpfile", "noreplace")):
            def prepare():
                subprocess.run(["rm", "-rf", self.chat], check=True)
                self.make_folder("chat")

            def check(done):
                if done or b"file" in self.entries():
                    self.assert_whole("file", b"new")
                else:
                    self.assertEqual(self.listed(), {})
                    self.assertEqual(self.put("next").code, 0)
                    self.assertEqual(self.entries(), [b"next"])

            self.kill_everywhere(("put", self.chat, "file"), check, prepare, data=b"new", wrapper=wrapper)

    def test_import(self):
        """Files are old or new, each for itself; what is left is in no folder of the chat's."""
        source = self.make_folder("source", 0o755)
        (source / "folder").mkdir()
        for name in ("a", "folder/b"):
            (source / name).write_bytes(b"new")

        def prepare():
            subprocess.run(["rm", "-rf", self.chat], check=True)
            self.make_folder("chat")
            self.make_folder("chat/folder")
            for name in ("a", "folder/b"):
                self.make(f"chat/{name}", b"old")

        def check(done):
            for name in ("a", "folder/b"):
                self.assertIn((self.chat / name).read_bytes(), (b"new",) if done else (b"old", b"new"))
            self.assertEqual(self.put("next").code, 0)
            self.assertEqual((self.entries(), self.entries(self.chat / "folder")), ([b"a", b"folder", b"next"], [b"b"]))

        for wrapper in ((), without("tmpfile")):
            self.kill_everywhere(("import", self.chat, source), check, prepare, wrapper=wrapper)

    def test_remove(self):
        self.kill_everywhere(("remove", self.chat, "file"), lambda done: self.assertIn(self.entries(), ([],) if done else ([], [b"file"])),
                             lambda: (self.chat / "file").write_bytes(b"old"))


class Left(ChatTest):
    def test_whatever_is_left_is_gone_after_the_next_upload(self):
        """And no folder that the code in the chat called so is."""
        for name in ("0123456789abcdef", "", "x"):
            self.make("chat/" + TEMPORARY.decode() + name, b"x")
        os.mkfifo(self.chat / (TEMPORARY.decode() + "fifo"))
        (self.chat / (TEMPORARY.decode() + "link")).symlink_to(self.make("target", b"kept"))
        (self.chat / (TEMPORARY.decode() + "folder")).mkdir()
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.put("file", b"x").code, 0)
        self.assertEqual(self.entries(), [TEMPORARY + b"folder", b"file"])
        self.assertEqual((self.folder / "target").read_bytes(), b"kept")

    def test_an_upload_that_goes_on_is_not_taken_for_one_that_is_left(self):
        for uid, other in itertools.product(USERS, USERS):
            with self.start("put", self.chat, "slow", stdin=subprocess.PIPE, wrapper=without("tmpfile"), uid=uid) as process:
                process.stdin.write(b"x")
                process.stdin.flush()
                wait_until(lambda: any(name.startswith(TEMPORARY) for name in self.entries()))
                for i in range(20):
                    self.assertEqual(self.put(f"file {i}", b"x", uid=other).code, 0)
                process.communicate(b"y")
            self.assertEqual((process.returncode, self.get("slow").out), (0, b"xy"), (uid, other))
            self.remove("slow")

    def test_more_than_is_swept_at_once(self):
        """The code in the chat may have called any number so: it costs each upload no more than some of them do."""
        for i in range(12_000):
            (self.chat / f"{TEMPORARY.decode()}{i}").touch()
        self.assertEqual(self.put("file", b"x").code, 0)
        self.assertEqual(len(self.entries()), 2001)
        self.assertEqual(self.put("file", b"x").code, 0)
        self.assertEqual(self.entries(), [b"file"])


class Together(ChatTest):
    def run_together(self, jobs):
        threads = [threading.Thread(target=job) for job in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_many_uploads_of_one_name(self):
        """Each succeeds, and a reader sees one of them whole."""
        for wrapper in ((), without("exchange"), without("tmpfile"), without("tmpfile", "noreplace")):
            contents = [bytes([65 + i]) * (100_000 + i) for i in range(12)]
            codes, seen, stop = [], [], threading.Event()

            def put(content):
                for _ in range(8):
                    codes.append(self.put("file", content, wrapper=wrapper).code)

            def get():
                while not stop.is_set():
                    answer = self.get("file")
                    if answer.code == 0:
                        seen.append(answer.out)
                    else:
                        self.assertIn(answer.refusal, ("missing", "changed"))

            reader = threading.Thread(target=get)
            reader.start()
            self.run_together([lambda content=content: put(content) for content in contents])
            stop.set()
            reader.join()
            self.assertEqual(codes, [0] * 96)
            self.assertTrue(seen)
            self.assertEqual(set(seen) - set(contents), set())
            self.assertEqual(self.entries(), [b"file"])

    def test_imports_and_uploads_at_once(self):
        source = self.make_folder("source", 0o755)
        (source / "sub").mkdir()
        for i in range(30):
            (source / f"sub/{i}").write_bytes(b"x" * i)
        codes = []
        self.run_together([lambda: codes.append(self.ask("import", self.chat, source).code) for _ in range(6)] +
                          [lambda i=i: codes.append(self.put(f"file {i}", b"x").code) for i in range(20)])
        self.assertEqual(codes, [0] * 26)
        self.assertEqual(len(self.listed()), 20)
        self.assertEqual({path.name: path.stat().st_size for path in (self.chat / "sub").iterdir()}, {str(i): i for i in range(30)})


class Lacking(ChatTest):
    def test_other_ways_come_to_the_same(self):
        data = os.urandom(5_000_000)
        content = self.make("content", data)
        for what in ("tmpfile", "noreplace", "exchange", "emptypath", "copyrange", "splice"):
            for both in ((what,), (what, "tmpfile"), (what, "copyrange", "splice")):
                for uid in USERS:
                    wrapper = without(*both)
                    with self.subTest(both=both, uid=uid), open(content, "rb") as source:
                        for outcome in ("copied", "replaced"):
                            source.seek(0)
                            answer = self.ask("put", "--format=json", self.chat, "file", stdin=source, wrapper=wrapper, uid=uid)
                            self.assertEqual((answer.code, answer.code or answer.json["outcome"]), (0, outcome), answer)
                        self.assertEqual(self.get("file", wrapper=wrapper, uid=uid).out, data)
                        self.assertEqual(self.put("file", data, wrapper=wrapper, uid=uid).code, 0)
                        with open(self.folder / "back", "wb") as target:
                            self.assertEqual(self.get("file", wrapper=wrapper, uid=uid, stdout=target).code, 0)
                        self.assertEqual((self.folder / "back").read_bytes(), data)
                        os.truncate(self.folder / "back", 0)
                        self.assertEqual(os.stat(self.chat / "file").st_uid, ORDINARY)
                        self.assertEqual(self.entries(), [b"file"])
                        self.remove("file")

    def test_without_openat2(self):
        for words in (("put", self.chat, "x"), ("get", self.chat, "x"), ("list", self.chat), ("remove", self.chat, "x"), ("import", self.chat, "x")):
            answer = self.ask("--format=json", *words, wrapper=without("openat2"))
            self.assertEqual((answer.code, answer.out, answer.refusal), (2, b"", "unsupported"))
            self.assertIn("Linux 5.6", answer.err)

    def test_without_the_right_to_give_files_away(self):
        need_root()
        for wrapper in (without("chown"), without("chown", "tmpfile")):
            answer = self.put("file", b"x", wrapper=wrapper)
            self.assert_refused(answer, "permission")
            self.assertIn(f"UID {ORDINARY}", answer.err)
            self.assertEqual(self.entries(), [])

    @unittest.skipIf(IS_SANITIZED, "the sanitizers need /proc")
    def test_without_proc(self):
        """A user without CAP_DAC_READ_SEARCH needs it to give a file its name, before Linux 6.10."""
        need_root()
        command = 'mount -t tmpfs none /proc && exec "$@"'
        answer = self.put("file", b"x", wrapper=("/usr/bin/unshare", "--mount", "/bin/sh", "-c", command, "sh", *without("emptypath")))
        self.assertEqual((answer.code, answer.refusal), (2, "system"))
        self.assertIn("/proc is not mounted", answer.err)
        self.assertEqual(self.entries(), [])

    def test_without_capabilities(self):
        """Root that has none is an ordinary user, whose directory this is not."""
        need_root()
        self.assertEqual(self.get("file", wrapper=("/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all")).refusal, "directory")
