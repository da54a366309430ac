"""Files on their way to code in a container and back, by chat-files on the host: what the code owns, it may have prepared."""

import io
import json
import os
import subprocess
import threading
import zipfile
from pathlib import Path

from harness import ContainerTest

COMMAND = Path(os.environ["CHAT_FILES"])
SALES = "месяц,сумма\nянварь,1200\nфевраль,850\nмарт,1950\n"

SUM = """
import csv, openpyxl, os
with open("данные/продажи.csv", encoding="utf-8") as file:
    total = sum(int(row["сумма"]) for row in csv.DictReader(file))
book = openpyxl.Workbook()
book.active["A1"] = total
book.save("итог.xlsx")
os.symlink("/etc/passwd", "link")
os.symlink("итог.xlsx", "link to a file")
os.mkfifo("fifo")
os.link("итог.xlsx", "hard-link")
os.mkdir("folder")
print(total)
"""
LOOK = """
import os
print(sorted(os.listdir(".")))
print(open("заметка.txt", encoding="utf-8").read() if os.path.exists("заметка.txt") else None)
"""
ATTACK = """
import contextlib, os, random
os.mkdir("stash")
while not os.path.exists("stop"):
    with contextlib.suppress(OSError):
        kind = random.randrange(5)
        if kind == 0:
            os.symlink("/etc/passwd", "stash/x")
        elif kind == 1:
            os.mkfifo("stash/x")
        elif kind == 2:
            open("stash/x", "w").write("A" * 100000)
        elif kind == 3:
            open("stash/x", "w").write("B" * 200000)
        else:
            os.symlink("/proc/1/environ", "stash/x")
        os.rename("stash/x", "file")
"""


class FilesTest(ContainerTest):
    def ask(self, *words, data=b"", user=0):
        answer = subprocess.run([COMMAND, "--format=json", *map(str, words)], input=data, capture_output=True, check=False,
                                **({"user": user, "group": user, "extra_groups": []} if user else {}))
        return answer.returncode, answer.stdout, answer.stderr

    def refusal(self, *words, **keywords):
        code, out, err = self.ask(*words, **keywords)
        self.assertEqual((code, out), (1, b""))
        return json.loads(err)["error"]["code"]

    def names(self, chat):
        return [file["name"] for file in json.loads(self.ask("list", chat)[1])["files"]]

    def test_a_chat(self):
        """Attachments go in, the code works on them, what it made comes out; another request sees it, another chat does not."""
        chat, source, another = self.folder(), self.folder(), self.folder()
        (source / "данные").mkdir()
        (source / "данные/продажи.csv").write_text(SALES, encoding="utf-8")
        self.assertEqual(self.ask("import", chat, source)[0], 0)
        self.assert_ran(self.launch(SUM, chat=chat), "4000\n")
        self.assertEqual(self.names(chat), [])  # the result has two names
        self.assertEqual(self.refusal("get", chat, "итог.xlsx"), "hard-link")
        self.assertEqual(self.ask("remove", chat, "hard-link")[0], 0)
        self.assertEqual(self.names(chat), ["итог.xlsx"])
        code, out, _ = self.ask("get", chat, "итог.xlsx")
        with zipfile.ZipFile(io.BytesIO(out)) as book:
            self.assertIn(b"<v>4000</v>", book.read("xl/worksheets/sheet1.xml"))
        self.assertEqual(code, 0)
        self.assertEqual([self.refusal("get", chat, name) for name in ("link", "link to a file", "fifo", "folder")], ["link", "link", "special", "folder"])
        for data in ("первая", "вторая"):
            self.assertEqual(self.ask("put", chat, "заметка.txt", data=data.encode())[0], 0)
        self.assert_ran(self.launch(LOOK, chat=chat), "['fifo', 'folder', 'link', 'link to a file', 'данные', 'заметка.txt', 'итог.xlsx']\nвторая\n")
        self.assert_ran(self.launch(LOOK, chat=another), "[]\nNone\n")

    def test_code_that_attacks_meanwhile(self):
        """By root and by the chat's user; what the links lead to in the container and on the host never comes out, or goes in."""
        chat = self.folder()
        passwd = Path("/etc/passwd").read_bytes()
        running = threading.Thread(target=lambda: outcomes.append(self.launch(ATTACK, chat=chat)))
        outcomes, met = [], set()
        running.start()
        self.addCleanup((chat / "stop").touch)
        for turn in range(100_000):
            if {"link", "special", "read", "stored"} <= met and turn > 1000:
                break
            for user in (0, self.uid):
                code, out, err = self.ask("get", chat, "file", user=user)
                self.assertIn((code, out and set(out)), [(0, {65}), (0, {66}), (0, {67}), (1, b"")])
                met.add("read" if code == 0 else json.loads(err)["error"]["code"])
                code, out, err = self.ask("put", chat, "file", data=b"C" * 50_000, user=user)
                met.add("stored" if code == 0 else "kept: " + json.loads(err)["error"]["code"])
                self.assertIn(code, (0, 1))
        (chat / "stop").touch()
        running.join()
        self.assert_ran(outcomes[0], "")
        self.assertEqual(Path("/etc/passwd").read_bytes(), passwd)
        self.assertLessEqual({"link", "special", "read", "stored"}, met)
        self.assertLessEqual(met, {"read", "stored", "link", "special", "missing", "changed", "kept: special", "kept: changed"})
