"""Attachments and folders on their way into a chat."""

import json
import os
import stat
import subprocess
import threading
import unicodedata
import unittest
from pathlib import Path

from chat import MOST, ChatTest
from harness import IS_ROOT, IS_SANITIZED, ORDINARY, OTHER, USERS, need, need_root, wait_until


class ImportTest(ChatTest):
    def setUp(self):
        super().setUp()
        self.source = self.make_folder("source", 0o755)

    def write(self, path, content=None):
        """A file below the source; its content is its path, if not another one."""
        path = self.source / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.fsencode(path) if content is None else content)
        return path

    def tree(self):
        """Each file in the chat, by its path, and its content."""
        return {str(path.relative_to(self.chat)): path.read_bytes() for path in self.chat.rglob("*") if path.is_file() and not path.is_symlink()}

    @staticmethod
    def outcomes(files):
        return [(file["path"], file["outcome"], file["code"]) for file in files]


class Paths(ImportTest):
    def test_files_and_folders(self):
        """A file under its name, what is in a folder under its path below it; in order, folders sorted."""
        single = self.write("single.txt")
        for path in ("folder/б", "folder/a/z", "folder/a/b/c/глубоко.txt", "folder/B", "folder/.hidden", "folder/-x", "folder/a b"):
            self.write(path)
        files = self.imported(single, self.source / "folder", single)
        self.assertEqual([file["path"] for file in files], ["single.txt", "-x", ".hidden", "B", "a/b/c/глубоко.txt", "a/z", "a b", "б", "single.txt"])
        self.assertEqual([file["outcome"] for file in files], ["copied"] * 8 + ["replaced"])
        for file in files:
            self.assertEqual((self.chat / file["path"]).read_bytes(), Path(file["source"]).read_bytes())
            self.assertEqual((file["size"], file["code"], file["message"]), (os.stat(file["source"]).st_size, None, None))
        self.assertEqual(set(self.listed()), {"single.txt", "-x", ".hidden", "B", "a b", "б"})

    def test_however_a_source_is_written(self):
        self.write("folder/x")
        for name in ("source/folder", "source/folder/", "source//folder///", "./source/../source/folder", "source/folder/."):
            self.assertEqual(self.outcomes(self.imported(name))[0][0], "x")
        self.assertEqual(self.outcomes(self.imported(".", cwd=self.source / "folder")), [("x", "replaced", None)])
        self.assertEqual(self.outcomes(self.imported("../folder/x", cwd=self.source / "folder")), [("x", "replaced", None)])

    def test_two_folders_with_the_same_path(self):
        """The later stays."""
        self.write("a/data/x.csv", b"first")
        self.write("a/data/y.csv", b"only")
        self.write("b/data/x.csv", b"second")
        files = self.imported(self.source / "a", self.source / "b")
        self.assertEqual(self.outcomes(files), [("data/x.csv", "copied", None), ("data/y.csv", "copied", None), ("data/x.csv", "replaced", None)])
        self.assertEqual(self.tree(), {"data/x.csv": b"second", "data/y.csv": b"only"})

    def test_what_was_there_is_replaced_and_the_rest_stays(self):
        self.put("report.txt", b"old")
        self.put("other.txt", b"other")
        self.assertEqual(self.outcomes(self.imported(self.write("report.txt", b"new"))), [("report.txt", "replaced", None)])
        self.assertEqual(self.tree(), {"report.txt": b"new", "other.txt": b"other"})

    def test_names(self):
        """Kept byte for byte, or skipped."""
        names = [unicodedata.normalize("NFC", "ёлка"), unicodedata.normalize("NFD", "ёлка"), "x" * 255, " ", "😀", "‮x"]
        for name in names:
            self.write(f"folder/{name}", b"x")
        bad = [b"\xff", b"a\nb", b"\x01upload.0"]
        for name in bad:
            with open(os.fsencode(self.source) + b"/folder/" + name, "wb"):
                pass
        os.mkdir(os.fsencode(self.source) + b"/folder/\xfe")
        with open(os.fsencode(self.source) + b"/folder/\xfe/x", "wb"):
            pass
        files = self.imported(self.source / "folder", code=1)
        self.assertEqual(self.entries(), sorted(map(str.encode, names)))
        self.assertEqual(sorted(file["code"] or "" for file in files), [""] * 6 + ["name"] * 4)

    def test_permissions(self):
        """Files and folders belong to the directory's owner; a folder can be searched by who can read its files."""
        self.write("folder/a/x")
        for uid in USERS:
            for mode, folder_mode in (("600", 0o700), ("640", 0o750), ("644", 0o755), ("666", 0o777), ("400", 0o700), ("440", 0o750)):
                subprocess.run(["rm", "-rf", self.chat], check=True)
                self.make_folder("chat")
                answer = self.ask("import", "--mode", mode, self.chat, self.source / "folder", uid=uid)
                self.assertEqual(answer.code, 0, answer)
                for path, expected in ((self.chat / "a", folder_mode), (self.chat / "a/x", int(mode, 8))):
                    status = os.stat(path)
                    self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid), (expected, ORDINARY))
                    self.assertEqual(status.st_gid, os.stat(self.chat).st_gid)

    def test_a_folder_that_is_in_the_way(self):
        """And what else is no folder, or no file, where one should be."""
        self.write("folder/a/x")
        self.write("folder/b")
        target = self.make_folder("target")
        for make, code in ((lambda path: path.write_bytes(b"kept"), "not-folder"), (lambda path: path.symlink_to(target), "link"),
                           (os.mkfifo, "not-folder"), (lambda path: path.symlink_to("nowhere"), "link")):
            make(self.chat / "a")
            (self.chat / "b").mkdir()
            files = self.imported(self.source / "folder", code=1)
            self.assertEqual(self.outcomes(files), [("a/x", "skipped", code), ("b", "skipped", "folder")])
            (self.chat / "b").rmdir()
            self.assertEqual(self.outcomes(self.imported(self.source / "folder", code=1)), [("a/x", "skipped", code), ("b", "copied", None)])
            (self.chat / "a").unlink()
            (self.chat / "b").unlink()
        self.assertEqual(self.entries(target), [])
        os.mkfifo(self.chat / "b")
        self.assertEqual(self.outcomes(self.imported(self.source / "folder", code=1)), [("a/x", "copied", None), ("b", "skipped", "special")])

    def test_an_empty_folder(self):
        (self.source / "folder/empty").mkdir(parents=True)
        self.assertEqual((self.imported(self.source / "folder"), self.entries()), ([], []))


class Skipping(ImportTest):
    def test_what_is_missing_or_no_file_is_skipped(self):
        """It is told, and is no failure."""
        good = self.write("good")
        kinds = self.make_kinds(self.source)
        (self.source / "loop").symlink_to(".")
        (self.source / "self").symlink_to("self")
        kinds.update({"loop": "link", "self": "link"})
        del kinds["folder"], kinds["hard-link"]
        files = self.imported(*(self.source / name for name in kinds), self.source / "none", good)
        self.assertEqual([file["code"] for file in files], [*kinds.values(), "missing", None])
        for name, code in (("good/none", "not-folder"), ("good/", "copied"), ("", "name")):
            files = self.imported(f"{self.source}/{name}" if name else "", code=code != "copied")
            self.assertEqual([file["code"] or file["outcome"] for file in files], [code if code != "copied" else "replaced"])
        (self.source / "hard-link").unlink()
        files = self.imported(self.source)
        self.assertEqual({Path(file["source"]).name: file["code"] for file in files}, {**kinds, "good": None})
        self.assertEqual(self.tree(), {"good": good.read_bytes()})

    def test_a_link_with_a_slash_behind_it(self):
        self.write("folder/x")
        (self.source / "link").symlink_to("folder")
        for name in ("link", "link/", "link//", "link/.", "link/./"):
            self.assertEqual(self.outcomes(self.imported(f"{self.source}/{name}")), [(None, "skipped", "link")])

    def test_other_reasons_are_told_by_the_exit_status(self):
        """Each leaves the rest as it would be without it."""
        self.write("a")
        large, linked, z = self.write("large"), self.write("linked"), self.write("z")
        os.truncate(large, MOST + 1)
        os.link(linked, self.folder / "another name")
        files = self.imported(self.source, code=1)
        self.assertEqual(self.outcomes(files), [("a", "copied", None), ("large", "skipped", "too-large"), ("linked", "skipped", "hard-link"),
                                                ("z", "copied", None)])
        for file, texts in zip(files, ((), ("104857601", "104857600"), ("2 names",), ())):
            for text in texts:
                self.assertIn(text, file["message"])
        self.assertTrue(z.exists())

    def test_what_cannot_be_read(self):
        self.write("folder/closed/x")
        self.write("folder/file")
        self.write("folder/readable")
        (self.source / "folder/closed").chmod(0)
        (self.source / "folder/file").chmod(0)
        if IS_ROOT:
            for path in (self.source / "folder/closed", self.source / "folder/file"):
                os.chown(path, OTHER, OTHER)
        files = self.imported(self.source / "folder", code=1, uid=ORDINARY)
        self.assertEqual(self.outcomes(files), [("closed", "skipped", "permission"), ("file", "skipped", "permission"), ("readable", "copied", None)])
        (self.source / "folder/closed").chmod(0o700)

    def test_a_file_that_has_more_than_it_says(self):
        """As those of /proc do: it is not taken for an empty one."""
        files = self.imported("/proc/self/status", self.write("good"), code=1)
        self.assertEqual(self.outcomes(files), [("status", "skipped", "changed"), ("good", "copied", None)])
        self.assertEqual(self.entries(), [b"good"])

    def test_the_chats_own_directory(self):
        """It is not copied into itself, from above or by name; what is in it can be copied within it."""
        self.put("x", b"x")
        (self.chat / "sub").mkdir()
        (self.chat / "sub/y").write_bytes(b"y")
        self.assertEqual(self.outcomes(self.imported(self.chat, code=1)), [(None, "skipped", "itself")])
        self.assertEqual(self.outcomes(self.imported(self.folder, code=1, cwd="/")), [("chat", "skipped", "itself")])
        self.assertEqual(self.outcomes(self.imported(self.chat / "sub")), [("y", "copied", None)])
        self.assertEqual(self.tree(), {"x": b"x", "y": b"y", "sub/y": b"y"})

    def test_how_deep(self):
        """A hundred folders in each other; no more, and however long the path is."""
        path = self.source
        for i in range(105):
            path = path / f"{i:03}"
            path.mkdir()
            (path / "file").write_bytes(b"x")
        files = self.imported(self.source, limit=1000, code=1)
        self.assertEqual([file["code"] for file in files].count(None), 99)
        self.assertEqual(sorted(file["code"] for file in files if file["code"]), ["depth"])
        directory = os.open(self.make_folder("long", 0o755), os.O_RDONLY)
        for i in range(20):
            os.mkdir("n" * 250, dir_fd=directory)
            below = os.open("n" * 250, os.O_RDONLY, dir_fd=directory)
            os.close(os.open("f", os.O_CREAT, 0o644, dir_fd=below))
            os.close(directory)
            directory = below
        os.close(directory)
        answer = self.ask("import", "--format=json", self.chat, self.folder / "long")
        codes = [file["code"] for file in answer.json["files"]]
        self.assertEqual((answer.code, codes.count("name"), codes.count(None)), (1, 1, 16), codes)


class Limit(ImportTest):
    def make_files(self, count):
        for i in range(count):
            self.write(f"files/{i:05}", b"x")
        return self.source / "files"

    def test_39_40_and_41_files(self):
        for count in (39, 40, 41):
            self.setUp()
            files = self.imported(self.make_files(count), code=count > 40)
            self.assertEqual([file["outcome"] for file in files], ["copied"] * min(count, 40) + ["skipped"] * (count - 40))
            self.assertEqual({file["code"] for file in files[40:]} - {"limit"}, set())
            self.assertEqual(len(self.entries()), min(count, 40))

    def test_the_limit_over_all_sources(self):
        """In the order given. What is skipped does not count, what is replaced does."""
        folder = self.make_files(3)
        single = self.write("single", b"x")
        self.put("00001", b"old")
        (self.source / "link").symlink_to("single")
        sources = (self.source / "none", self.source / "link", single, folder, self.source / "none", self.source / "link", single)
        files = self.imported(*sources, limit=3, code=1)
        self.assertEqual([file["code"] for file in files], ["missing", "link", None, None, None, "limit", "missing", "link", "limit"])
        self.assertEqual((self.chat / "00001").read_bytes(), b"x")
        self.assertFalse((self.chat / "00002").exists())

    def test_values(self):
        folder = self.make_files(45)
        for value, copied in (("1", 1), ("45", 45), ("44", 44), ("1000000000", 45), ("007", 7), ("9" * 30, 45)):
            self.setUp()
            files = self.imported(folder, limit=value, code=copied < 45) if folder.exists() else None
            self.assertEqual(sum(file["outcome"] == "copied" for file in files), copied, value)
        for value in ("0", "-1", "1e9", "x", "", " 1", "1 ", "+1", "1.5", "0x10", "00"):
            answer = self.ask("import", "--format=json", self.chat, folder, env={"LLM_MAX_ATTACHMENT_FILES": value})
            self.assertEqual((answer.code, answer.out, answer.refusal), (2, b"", "usage"), value)
            self.assertIn("LLM_MAX_ATTACHMENT_FILES", answer.err)
        self.assertEqual(self.ask("list", self.chat, env={"LLM_MAX_ATTACHMENT_FILES": "x"}).code, 0)

    def test_ten_thousand_files(self):
        """The report is complete, and each file is what it was."""
        paths = [f"folder/{i % 7}/{i % 11}/{i:05}" for i in range(10_000)]
        for path in paths:
            self.write(path, path.encode() * (int(path[-3:]) % 50))
        files = self.imported(self.source / "folder", limit=9_999, code=1)
        self.assertEqual([file["path"] for file in files], sorted(path[7:] for path in paths))
        self.assertEqual([file["outcome"] for file in files], ["copied"] * 9_999 + ["skipped"])
        for file in files[:-1]:
            self.assertEqual((self.chat / file["path"]).read_bytes(), Path(file["source"]).read_bytes())


@unittest.skipIf(IS_SANITIZED, "strace and the sanitizers' runtime do not go together")
class Meanwhile(ImportTest):
    """What is done in the moment after a folder was made, in which root's command is held up."""

    def import_held_up(self, meanwhile, code):
        need(os.access("/usr/bin/strace", os.X_OK), "strace")
        self.write("folder/made/x")
        wrapper = ("/usr/bin/strace", "-qqo", "/dev/null", "-einject=mkdirat:delay_exit=1000000")
        with self.start("import", "--format=json", self.chat, self.source / "folder", wrapper=wrapper) as process:
            wait_until((self.chat / "made").exists)
            (self.chat / "made").rename(self.chat / "moved")
            meanwhile(self.chat / "made")
            out, err = process.communicate()
        self.assertEqual((process.returncode, err), (code, b""))
        return json.loads(out)["files"]

    def test_another_users_folder_is_not_given_away(self):
        need_root()
        foreign = self.make_folder("chat/foreign", 0o700, uid=0)
        files = self.import_held_up(foreign.rename, 0)
        self.assertEqual(self.outcomes(files), [("made/x", "copied", None)])
        self.assertEqual((os.stat(self.chat / "made").st_uid, stat.S_IMODE(os.stat(self.chat / "made").st_mode)), (0, 0o700))
        self.assertEqual(os.stat(self.chat / "moved").st_uid, ORDINARY)

    def test_a_link_is_not_followed(self):
        outside = self.make_folder("outside", 0o700, uid=0)
        files = self.import_held_up(lambda path: path.symlink_to(outside), 1)
        self.assertEqual(self.outcomes(files), [("made/x", "skipped", "link")])
        self.assertEqual((os.stat(outside).st_uid, os.listdir(outside)), (os.stat(self.folder).st_uid, []))

    def test_it_is_made_again(self):
        files = self.import_held_up(lambda path: None, 0)
        self.assertEqual(self.outcomes(files), [("made/x", "copied", None)])
        self.assertTrue((self.chat / "made/x").exists())


class Report(ImportTest):
    def test_text(self):
        self.write("folder/‮a", b"x")
        self.write("folder/b", b"x")
        (self.source / "folder/c").symlink_to("b")
        self.put("b")
        answer = self.ask("import", "chat", "source/folder", "source/none")
        self.assertEqual(answer.lines, ["replaced  b from source/folder/b", "skipped   source/folder/c: it is a symbolic link, or lies behind one",
                                        "copied    \\xe2\\x80\\xaea from source/folder/\\xe2\\x80\\xaea",
                                        "skipped   source/none: there is no such file", "1 copied, 1 replaced, 2 skipped"])
        self.assertEqual((answer.code, answer.err), (0, ""))

    def test_a_source_whose_name_is_no_utf8(self):
        answer = self.ask("import", "--format=json", self.chat, b"source/\xff\n")
        self.assertEqual(answer.json["files"][0]["source"], "source/\ufffd\n")

    def test_a_folder_that_grows_while_it_is_copied(self):
        """It comes to an end: files and folders that are made meanwhile are met, but no more names than are listed."""
        self.write("folder/a")
        stop = threading.Event()

        def grow():
            for i in range(20_000):
                if stop.is_set():
                    return
                self.write(f"folder/sub/{i % 50}/{i}", b"x")

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            for _ in range(3):
                self.assertIn(self.ask("import", self.chat, self.source / "folder", env={"LLM_MAX_ATTACHMENT_FILES": "1000000"}).code, (0, 1))
        finally:
            stop.set()
            thread.join()

    def test_more_names_than_are_looked_at(self):
        """In a folder, or over all: what was met before is copied, and the report says where it ended."""
        directory = os.open(self.make_folder("source/b", 0o755), os.O_RDONLY)
        for i in range(100_000):
            os.symlink("nowhere", str(i), dir_fd=directory)
        os.close(directory)
        self.write("a")
        files = self.imported(self.source, code=1)
        self.assertEqual(self.outcomes(files), [("a", "copied", None), ("b", "skipped", "too-many")])
        (self.source / "b/0").unlink()
        (self.source / "b/1").unlink()
        self.assertEqual(len(self.imported(self.source)), 99_999)

    def test_as_another_user(self):
        need_root()
        self.write("folder/a")
        self.chat.chmod(0o777)
        self.assertEqual(self.outcomes(self.imported(self.source / "folder", code=1, uid=OTHER)), [("a", "skipped", "permission")])
        self.assertEqual(self.entries(), [])
