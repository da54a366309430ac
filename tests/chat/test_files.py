"""Files in and out: names, sizes, kinds, owners, and what is there when it goes wrong."""

import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
import unicodedata
import unittest
from pathlib import Path

from chat import HELPERS, MOST, TEMPORARY, ChatTest
from harness import IS_COVERED, IS_ROOT, IS_SANITIZED, ORDINARY, OTHER, USERS, as_user, need_root, wait_until

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "ёлка й.txt") for form in ("NFC", "NFD"))
GOOD_NAMES = ("отчёт за март.txt", COMPOSED, DECOMPOSED, "a", "A", "😀👩‍👩‍👧.png", "مرحبا.txt", "‮evil.txt", " ", "  two  ", "-x", "--", "-",
              "--help", ".hidden", "dot.", "...", ".. ", "~", "*", "?", "\\", "\"'`$(x)", "C:", "CON", "Я" * 127 + "x", "x" * 255, "\u00a0",
              "\u2028", "\ufeffbom", "\ufffd", "\U0010ffff", "%2e%2e%2f", "upload.0", "\u00ad")
BAD_NAMES = (b"", b".", b"..", b"a/b", b"/", b"/etc/passwd", b"../x", b"x/", "Я".encode() * 128, b"x" * 256, b"\xff", b"a\xc0\xafb", b"\xc0\x80",
             b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xd0", b"\xd0\x9f\xd1", b"a\nb", b"\x01",
             b"\x1b[31m", b"a\x7f", "\u0080".encode(), "\u009f".encode(), "a\u0085".encode(), b"\t", b"x\r", TEMPORARY + b"0")


class Names(ChatTest):
    def test_good_names_are_kept_byte_for_byte(self):
        for name in GOOD_NAMES:
            answer = self.put(name, name.encode())
            self.assertEqual((answer.code, answer.json), (0, {"name": name, "size": len(name.encode()), "outcome": "copied"}))
        self.assertEqual(self.entries(), sorted(name.encode() for name in GOOD_NAMES))
        self.assertEqual(list(self.listed()), sorted(GOOD_NAMES, key=str.encode))
        for name in GOOD_NAMES:
            self.assertEqual((self.get(name).code, self.get(name).out), (0, name.encode()))
        for left in range(len(GOOD_NAMES), 0, -1):
            self.assertEqual(self.remove(GOOD_NAMES[left - 1]).code, 0)
            self.assertEqual(len(self.entries()), left - 1)

    def test_bad_names_are_refused(self):
        for name in BAD_NAMES:
            for act in (self.put, self.get, self.remove):
                with self.subTest(name=name, act=act.__name__):
                    self.assert_refused(act(name), "name")
        self.assertEqual(self.entries(), [])

    def test_two_names_never_become_one(self):
        for name in (COMPOSED, DECOMPOSED, "straße", "strasse", "İ", "i", "I", "ı", "x", "x ", " x", "x."):
            self.assertEqual(self.put(name, name.encode()).json["outcome"], "copied")
        for name, size in self.listed().items():
            self.assertEqual((self.get(name).out, size), (name.encode(), len(name.encode())))

    def test_a_list_shows_names_safely(self):
        for name in ("‮gpj.exe", "отчёт", "a  b"):
            self.put(name)
        answer = self.ask("list", self.chat)
        self.assertEqual(len(answer.lines), 3)
        self.assertTrue(answer.lines[2].endswith("  \\xe2\\x80\\xaegpj.exe"), answer.lines)
        self.assertRegex(answer.lines[0], r"^ +0  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  a  b$")

    def test_names_that_are_none_are_neither_listed_nor_served(self):
        for name in (TEMPORARY + b"0123456789abcdef", b"\xff", b"a\nb"):
            Path(os.fsdecode(os.fsencode(self.chat) + b"/" + name)).write_bytes(b"x")
        self.assertEqual(self.listed(), {})


class Sizes(ChatTest):
    def content(self, size):
        """A file outside of the chat, no two bytes of which could be exchanged unseen."""
        path = self.folder / "content"
        with open(path, "wb") as file:
            for at in range(0, size, 1 << 20):
                part = f"{at:016x}".encode() * (1 << 16)
                file.write(part[:min(size - at, 1 << 20)])
        return path

    def roundtrip(self, size):
        with open(self.content(size), "rb") as source:
            answer = self.ask("put", "--format=json", self.chat, "file", stdin=source)
        self.assertEqual((answer.code, answer.json["size"]), (0, size))
        with open(self.folder / "back", "wb") as target:
            self.assertEqual(self.ask("get", self.chat, "file", stdout=target).code, 0)
        subprocess.run(["cmp", self.folder / "content", self.folder / "back"], check=True)
        subprocess.run(["cmp", self.folder / "content", self.chat / "file"], check=True)
        self.assertEqual(self.listed(), {"file": size})

    def test_sizes(self):
        for size in (0, 1, 4095, 4096, 131072, 131073, (1 << 22) - 1, 1 << 22, MOST - 1, MOST):
            with self.subTest(size):
                self.roundtrip(size)

    def test_through_pipes_and_sockets(self):
        """Whatever the streams are."""
        data = os.urandom(3_000_001)
        for put_end, get_end in ((os.pipe, os.pipe), (self.socket_pair, self.socket_pair)):
            out, into = put_end()
            threading.Thread(target=self.feed, args=(into, data)).start()
            self.assertEqual(self.ask("put", self.chat, "file", stdin=out).code, 0)
            os.close(out)
            out, into = get_end()
            with self.start("get", self.chat, "file", stdout=into) as process:
                os.close(into)
                with open(out, "rb") as reader:
                    self.assertEqual(reader.read(), data)
            self.assertEqual(process.returncode, 0)

    @staticmethod
    def socket_pair():
        return tuple(end.detach() for end in socket.socketpair())

    @staticmethod
    def feed(fd, data):
        with open(fd, "wb", buffering=0) as pipe:
            while data:
                data = data[pipe.write(data[:70_001]):]

    def peak(self, process):
        """The most memory that a process had, in KiB: as long as it waits."""
        return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())[1])

    @unittest.skipIf(IS_SANITIZED or IS_COVERED, "sanitizers and counters need memory of their own")
    def test_memory(self):
        """100 MiB go through less than 4 MiB, whatever the streams are."""
        for make in (os.pipe, self.socket_pair):
            out, into = make()
            with self.start("put", self.chat, "file", stdin=out) as process:
                os.close(out)
                with open(into, "wb") as pipe:
                    for _ in range(100):
                        pipe.write(bytes(1 << 20))
                    pipe.flush()
                    self.assertLess(self.peak(process), 4096)
            self.assertEqual((process.returncode, os.stat(self.chat / "file").st_size), (0, MOST))
            out, into = make()
            with self.start("get", self.chat, "file", stdout=into) as process:
                os.close(into)
                with open(out, "rb", buffering=0) as pipe:
                    left = MOST - 1_000_000  # the rest does not fit in the pipe, or the socket
                    while left > 0:
                        left -= len(pipe.read(1 << 16))
                    self.assertLess(self.peak(process), 4096)
                    while pipe.read(1 << 20):
                        pass
            self.assertEqual(process.returncode, 0)

    def test_from_where_the_input_stands(self):
        """Of a file, what is behind the place where it was read to; to where the output stands, or its end."""
        content = self.make("content", b"0123456789")
        with open(content, "rb") as source:
            os.lseek(source.fileno(), 4, os.SEEK_SET)
            self.assertEqual(self.ask("put", self.chat, "file", stdin=source).code, 0)
        self.assertEqual((self.chat / "file").read_bytes(), b"456789")
        with open(content, "ab") as target:
            self.assertEqual(self.ask("get", self.chat, "file", stdout=target).code, 0)
        self.assertEqual(content.read_bytes(), b"0123456789456789")

    def assert_put_refused(self, code="too-large", **keywords):
        """With the old file as it was, and nothing else there."""
        (self.chat / "file").write_bytes(b"old")
        for name in ("file", "new"):
            if "stdin" in keywords:
                keywords["stdin"].seek(0)
            answer = self.ask("put", "--format=json", self.chat, name, **keywords)
            self.assert_refused(answer, code)
            self.assertEqual(self.entries(), [b"file"])
            self.assertEqual((self.chat / "file").read_bytes(), b"old")

    def test_a_byte_too_many(self):
        with open(self.content(MOST + 1), "rb") as source:
            self.assert_put_refused(stdin=source)
        with open("/dev/zero", "rb") as source:
            self.assert_put_refused(stdin=source)
        (self.chat / "large").write_bytes(b"")
        os.truncate(self.chat / "large", MOST + 1)
        self.assert_refused(self.get("large"), "too-large")
        self.assertNotIn("large", self.listed())

    def test_a_sparse_file(self):
        """Of 1 TiB: neither read nor stored."""
        sparse = self.make("sparse")
        os.truncate(sparse, 1 << 40)
        with open(sparse, "rb") as source:
            self.assert_put_refused(stdin=source)
        os.rename(sparse, self.chat / "sparse")
        self.assert_refused(self.get("sparse"), "too-large")
        self.assertEqual(self.listed(), {"file": 3})
        self.assertEqual([file["code"] for file in self.imported(self.chat / "sparse", code=1)], ["too-large"])

    def test_a_file_that_grows_while_it_is_read(self):
        """What it had is written, and that it is not whole is told."""
        path = self.make("chat/file", b"x" * 1_000_000)
        stop = threading.Event()

        def grow():
            with open(path, "ab", buffering=0) as file:
                while not stop.is_set():
                    file.write(b"y")
                    time.sleep(0.0005)

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            out, into = os.pipe()
            with self.start("get", "--format=json", self.chat, "file", stdout=into) as process:
                os.close(into)
                time.sleep(0.1)  # it waits for its reader, and the file grows
                with open(out, "rb") as reader:
                    data = reader.read()
                err = process.stderr.read()
        finally:
            stop.set()
            thread.join()
        self.assertEqual((process.returncode, b'"changed"' in err), (1, True), err)
        self.assertGreaterEqual(len(data), 1_000_000)
        self.assertLess(len(data), 1_100_000)

    def test_what_a_pipe_holds_is_not_changed_by_what_is_written_later(self):
        """Whoever is slow to read gets what the file was when it was delivered."""
        for make in (os.pipe, self.socket_pair):
            path = self.make("chat/file", b"A" * 60_000)
            out, into = make()
            self.assertEqual(self.ask("get", self.chat, "file", stdout=into).code, 0)
            os.close(into)
            with open(path, "rb+") as file:
                file.write(b"B" * 60_000)
            with open(out, "rb") as reader:
                self.assertEqual(set(reader.read()), {ord("A")})

    def test_a_file_that_shrinks_while_it_is_read(self):
        path = self.make("chat/file", b"x" * 1_000_000)
        out, into = os.pipe()
        with self.start("get", "--format=json", self.chat, "file", stdout=into) as process:
            os.close(into)
            with open(out, "rb", buffering=0) as reader:
                first = reader.read(1)
                os.truncate(path, 10)
                rest = reader.read()
                while more := reader.read():
                    rest += more
            err = process.stderr.read()
        self.assertEqual((process.returncode, b'"changed"' in err), (1, True), err)
        self.assertLess(len(first + rest), 1_000_000)

    def test_the_limit_on_the_size_of_files(self):
        self.assert_put_refused("no-space", data=b"x" * 100_000,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)))

    def test_an_interrupted_upload(self):
        """By a signal, and by one that nobody can catch: the old file is there."""
        (self.chat / "file").write_bytes(b"old")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            for name in ("file", "new"):
                with self.start("put", self.chat, name, stdin=subprocess.PIPE) as process:
                    process.stdin.write(b"x" * 500_000)
                    process.stdin.flush()
                    wait_until(lambda: Path(f"/proc/{process.pid}/fd/4").exists())
                    process.send_signal(number)
                    process.wait()
                self.assertEqual(process.returncode, -number)
                self.assertEqual((self.entries(), (self.chat / "file").read_bytes()), ([b"file"], b"old"))

    def test_input_that_cannot_be_read(self):
        fd = os.open(self.folder, os.O_RDONLY)
        (self.chat / "file").write_bytes(b"old")
        answer = self.ask("put", "--format=json", self.chat, "file", stdin=fd)
        os.close(fd)
        self.assertEqual((answer.code, answer.refusal), (2, "input"))
        self.assertEqual((self.entries(), (self.chat / "file").read_bytes()), ([b"file"], b"old"))


class Kinds(ChatTest):
    def test_get_refuses_what_is_no_file(self):
        for uid in USERS:
            self.setUp()
            for name, code in self.make_kinds(self.chat).items():
                with self.subTest(name=name, uid=uid):
                    self.assert_refused(self.get(name, uid=uid), code)
            self.assertEqual(self.listed(uid=uid), {})

    def test_put_replaces_files_and_links_alone(self):
        """What a link leads to, and what another name is of, stays as it is."""
        for uid in USERS:
            self.setUp()
            kinds = self.make_kinds(self.chat)
            for name, code in kinds.items():
                with self.subTest(name=name, uid=uid):
                    before = os.lstat(self.chat / name)
                    answer = self.put(name, b"new", uid=uid)
                    if code in ("link", "hard-link"):
                        self.assertEqual((answer.code, answer.json["outcome"]), (0, "replaced"))
                        self.assertEqual((self.get(name).out, os.lstat(self.chat / name).st_nlink), (b"new", 1))
                    else:
                        self.assert_refused(answer, code)
                        self.assertEqual(os.lstat(self.chat / name).st_ino, before.st_ino)
            self.assertEqual((self.folder / "target of chat").read_bytes(), b"kept")
            self.assertEqual(len(self.entries()), len(kinds))

    def test_remove_removes_files_and_links_alone(self):
        for uid in USERS:
            self.setUp()
            kinds = self.make_kinds(self.chat)
            self.put("file")
            for name, code in {**kinds, "file": "link"}.items():
                answer = self.remove(name, uid=uid)
                if code in ("link", "hard-link"):
                    self.assertEqual((answer.code, answer.json), (0, {"name": name, "outcome": "removed"}))
                    self.assert_refused(self.get(name), "missing")
                else:
                    self.assert_refused(answer, code)
            self.assertEqual((self.folder / "target of chat").read_bytes(), b"kept")

    def test_a_file_whose_other_name_is_unlinked_just_then(self):
        """Of a link to a file outside, one name is left, and it is not the one that was asked for."""
        outside = self.make_folder("outside")
        self.make("outside/file", b"OUTSIDE")
        codes = set()
        for uid in USERS:
            with subprocess.Popen([HELPERS / "attacker", "link", outside / "file", self.chat / "file"], stdout=subprocess.PIPE, **as_user(ORDINARY)) as attacker:
                try:
                    attacker.stdout.readline()
                    for _ in range(1500):
                        answer = self.get("file", uid=uid)
                        self.assert_refused(answer, answer.refusal if answer.err else "refused")
                        codes.add(answer.refusal)
                        files = self.ask("import", "--format=json", self.make_or_find("elsewhere"), self.chat, uid=uid).json["files"]
                        self.assertEqual([file for file in files if file["outcome"] != "skipped"], [])
                finally:
                    attacker.terminate()
        self.assertLessEqual({"missing", "hard-link"}, codes)

    def make_or_find(self, name):
        path = self.folder / name
        return path if path.exists() else self.make_folder(name)

    def test_what_is_missing(self):
        self.assert_refused(self.get("none"), "missing")
        self.assert_refused(self.remove("none"), "missing")

    def test_a_fifo_with_a_writer_or_a_reader(self):
        """Nobody is made to wait, or is woken for long."""
        os.mkfifo(self.chat / "fifo")
        fd = os.open(self.chat / "fifo", os.O_RDWR)
        self.assert_refused(self.get("fifo"), "special")
        self.assert_refused(self.put("fifo", b"x"), "special")
        os.set_blocking(fd, False)
        self.assertRaises(BlockingIOError, os.read, fd, 1)
        os.close(fd)

    def test_a_lease_is_not_waited_for(self):
        """fcntl(2), F_SETLEASE: whoever opens the file would wait for /proc/sys/fs/lease-break-time, 45 seconds."""
        import fcntl
        path = self.make("chat/file", b"x", uid=os.geteuid())
        handler = signal.signal(signal.SIGIO, signal.SIG_IGN)
        with open(path, "rb+") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            begin = time.monotonic()
            self.assert_refused(self.get("file"), "busy")
            self.assertEqual(self.listed(), {})
            self.assertEqual(self.put("file", b"new").code, 0)
            self.assertLess(time.monotonic() - begin, 40)
        signal.signal(signal.SIGIO, handler)
        self.assertEqual(self.get("file").out, b"new")

    def test_locks_are_not_waited_for(self):
        import fcntl
        path = self.make("chat/file", b"x")
        with open(path, "rb+") as file:
            directory = os.open(self.chat, os.O_RDONLY)
            fcntl.flock(directory, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
            self.assertEqual((self.get("file").out, self.put("file", b"new").code, self.remove("file").code), (b"x", 0, 0))
            os.close(directory)

    def test_another_chats_file(self):
        """Its name leads there by a link, a hard link and a path alone."""
        other = self.make_folder("other")
        (other / "file").write_bytes(b"theirs")
        (self.chat / "folder").symlink_to(other)
        os.link(other / "file", self.chat / "file")
        self.assert_refused(self.get("file"), "hard-link")
        self.assert_refused(self.get("folder/file"), "name")
        self.assert_refused(self.get("../other/file"), "name")
        self.assert_refused(self.get(other / "file"), "name")


class Owners(ChatTest):
    def test_files_belong_to_the_directorys_owner(self):
        for uid in USERS:
            for mode, words in ((0o600, ()), (0o640, ("--mode", "640")), (0o444, ("-m", "444")), (0o777, ("-m777",))):
                answer = self.ask("put", *words, self.chat, "file", data=b"x", uid=uid)
                self.assertEqual(answer.code, 0, answer)
                status = os.stat(self.chat / "file")
                self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid), (mode, ORDINARY))
                if IS_ROOT:
                    self.assertEqual(status.st_gid, ORDINARY)

    def test_whatever_the_umask(self):
        for mask in (0, 0o077, 0o777):
            self.assertEqual(self.ask("put", "-m", "664", self.chat, "file", umask=mask).code, 0)
            self.assertEqual(stat.S_IMODE(os.stat(self.chat / "file").st_mode), 0o664)

    def test_another_user(self):
        """Who may not: nothing is there then."""
        need_root()
        self.assertEqual(self.get("x", uid=OTHER).code, 2)
        self.assertEqual(self.get("x", uid=OTHER).refusal, "directory")
        self.chat.chmod(0o777)
        self.assert_refused(self.put("file", b"x", uid=OTHER), "permission")
        self.assertEqual(self.entries(), [])
        self.make("chat/file", b"x")
        self.assert_refused(self.get("file", uid=OTHER), "permission")
        self.assertEqual(self.listed(uid=OTHER), {})

    def test_a_file_that_its_owner_may_not_read(self):
        self.make("chat/file", b"x", 0o000)
        self.assert_refused(self.get("file", uid=ORDINARY), "permission")
        self.assertEqual(self.listed(uid=ORDINARY), {})
        if IS_ROOT:
            self.assertEqual(self.get("file").out, b"x")

    def test_a_set_group_directory_and_a_default_acl(self):
        """A file is for its owner alone, whatever the code in the chat made of the directory."""
        need_root()
        self.chat.chmod(0o2711)
        for owner, mode in ((7, 0o600), (4, 0o664), (0, 0o640)):
            self.set_default_acl(owner)
            for uid in USERS:
                self.assertEqual(self.ask("put", f"--mode={mode:o}", self.chat, "file", data=b"x", uid=uid).code, 0)
                status = os.stat(self.chat / "file")
                self.assertEqual((stat.S_IMODE(status.st_mode), os.listxattr(self.chat / "file")), (mode, []))
                seen = subprocess.run(["/usr/bin/cat", self.chat / "file"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **as_user(OTHER))
                self.assertEqual(seen.stdout, b"x" if mode & 0o004 else b"")

    def set_default_acl(self, owner):
        """All others may do all (acl(5)); `owner`: what the owner may."""
        entries = ((1, owner, 0xffffffff), (2, 7, OTHER), (4, 7, 0xffffffff), (16, 7, 0xffffffff), (32, 7, 0xffffffff))
        os.setxattr(self.chat, "system.posix_acl_default", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries))


class Directories(ChatTest):
    def test_what_is_no_directory(self):
        self.make("file")
        (self.folder / "link").symlink_to("chat")
        os.mkfifo(self.folder / "fifo")
        for name in ("file", "link", "link/", "link//", "link/.", "link/././/", "fifo", "none", "none/none", "file/", "chat/none", ""):
            for words in (("get", name, "x"), ("put", name, "x"), ("list", name), ("remove", name, "x"), ("import", name, "x")):
                answer = self.ask("--format=json", *words)
                self.assertEqual((answer.code, answer.out, answer.refusal), (2, b"", "directory"), (name, answer))

    def test_however_it_is_written(self):
        for name in ("chat", "chat/", "./chat//", self.chat, f"{self.folder}/../{self.folder.name}/chat", "chat/."):
            self.assertEqual(self.ask("put", name, "file").code, 0)
        (self.folder / "link").symlink_to(self.folder)
        self.assertEqual(self.ask("get", "link/chat", "file").code, 0)

    def test_a_directory_that_is_gone(self):
        with self.start("put", "--format=json", self.chat, "file", stdin=subprocess.PIPE) as process:
            wait_until(lambda: Path(f"/proc/{process.pid}/fd/4").exists())
            self.chat.rmdir()
            err = process.communicate(b"x")[1]
        self.assertEqual((process.returncode, b'"changed"' in err), (1, True), err)


class Listing(ChatTest):
    def test_sorted_by_bytes(self):
        names = ["z", "a", "Z", "я", "б", "a b", "!", "aa"]
        for name in names:
            self.put(name, b"x" * len(name))
        self.assertEqual(self.listed(), {name: len(name) for name in sorted(names, key=str.encode)})
        self.assertEqual(list(self.listed()), sorted(names, key=str.encode))

    def test_times(self):
        self.make("chat/old")
        os.utime(self.chat / "old", (0, 1_700_000_000.5))
        answer = self.ask("list", "--format=json", self.chat)
        self.assertEqual(answer.json["files"][0]["time"], "2023-11-14T22:13:20Z")
        for time_of in (-(2 ** 40), 2 ** 33):
            os.utime(self.chat / "old", (0, time_of))
            self.assertEqual(self.ask("list", self.chat).code, 0)

    def test_an_empty_chat(self):
        answer = self.ask("list", self.chat)
        self.assertEqual((answer.code, answer.out, answer.err), (0, b"", ""))
        self.assertEqual(self.ask("list", "--format=json", self.chat).json, {"files": []})

    def test_more_than_are_listed(self):
        """A chat with more files than a listing may have says so, and its files are there."""
        directory = os.open(self.chat, os.O_RDONLY)
        for i in range(100_001):
            os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=directory))
        os.close(directory)
        answer = self.ask("list", "--format=json", self.chat)
        self.assert_refused(answer, "too-many")
        self.assertEqual(self.get("7").code, 0)
        self.assertEqual(self.put("7", b"x").code, 0)
        self.remove("0")
        self.assertEqual(len(self.listed()), 100_000)
