"""In the container, under the supplied policy, every library of the image does a piece of its real work (work.py), on each Landlock ABI
that changes what code can do with files. What it made is looked at here, without those libraries."""

import base64
import json
import math
import re
import sqlite3
import struct
import unittest
import zipfile
import zlib
from pathlib import Path
from xml.etree import ElementTree

from harness import ContainerTest, together

ABIS = (1, 2, 3, None)  # None: the machine's own
CODE = Path(__file__).with_name("work.py").read_text()


def on_each_abi(check):
    """A test that gets what the piece of that name gave, the chat's folder and the ABI, for each."""

    def test(self):
        for abi, outcome in zip(ABIS, self.outcomes):
            with self.subTest(abi=abi):
                self.assert_ran(outcome)
                result = json.loads(outcome.out)[check.__name__.removeprefix("test_")]
                if isinstance(result, dict) and "error" in result:
                    self.fail(result["error"])
                check(self, result, outcome.chat, outcome.status["abi"])

    return test


class WorkTest(ContainerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.outcomes = together(lambda abi: cls.launch(CODE, max_abi=abi, zone="--env TZ=Europe/Moscow"), ABIS)

    def test_container_is_checked_where_it_must_be(self):
        self.assertEqual([outcome.status and outcome.status["container"] for outcome in self.outcomes],
                         ["checked", "checked", "not-needed", "not-needed"])

    @on_each_abi
    def test_plot(self, _, chat, __):
        width, height, rows = png((chat / "график.png").read_bytes())
        self.assertEqual((width, height), (600, 400))
        drawn = [row for row in rows[:48] if len(set(row)) > 2]  # above the axes there is nothing but the title
        self.assertGreater(len(drawn), 8)
        self.assertGreater(len(set(rows)), 100)

    @on_each_abi
    def test_spreadsheet(self, result, chat, _):
        self.assertEqual(result, {"sum": 4000.5, "months": ["январь", "февраль", "март"]})
        with zipfile.ZipFile(chat / "продажи.xlsx") as book:
            sheet, = parts(book, "xl/workbook.xml", "sheet")
            numbers = [float(cell.text) for cell in parts(book, "xl/worksheets/sheet1.xml", "v")]
            shared = "xl/sharedStrings.xml" if "xl/sharedStrings.xml" in book.namelist() else "xl/worksheets/sheet1.xml"
            texts = [text.text for text in parts(book, shared, "t")]
        self.assertEqual(sheet.get("name"), "Продажи")
        self.assertLessEqual({1200, 850, 1950.5}, set(numbers))
        self.assertIn("февраль", texts)

    @on_each_abi
    def test_openpyxl(self, result, chat, _):
        self.assertEqual(result, "=SUM(A1:A2)")
        with zipfile.ZipFile(chat / "формула.xlsx") as book:
            formula, = parts(book, "xl/worksheets/sheet1.xml", "f")
        self.assertEqual(formula.text, "SUM(A1:A2)")

    @on_each_abi
    def test_pdf(self, _, chat, __):
        data = (chat / "отчёт.pdf").read_bytes()
        self.assertTrue(data.startswith(b"%PDF-1.") and data.rstrip().endswith(b"%%EOF"))
        table = int(re.search(rb"startxref\s+(\d+)", data)[1])
        self.assertTrue(data[table:].startswith(b"xref"))
        self.assertEqual(len(re.findall(rb"/Type /Page\b", data)), 2)
        self.assertIn(b"DejaVuSans", data)
        meanings = b"".join(stream for stream in streams(data) if b"begincmap" in stream)  # which character each glyph stands for
        missing = [letter for letter in "ОтчёИг" if f"<{ord(letter):04X}>".encode() not in meanings]
        self.assertEqual(missing, [])

    @on_each_abi
    def test_document(self, result, chat, _):
        self.assertEqual(result, ["Договор", "Стороны согласились."])
        with zipfile.ZipFile(chat / "договор.docx") as document:
            self.assertEqual(len(parts(document, "word/document.xml", "tc")), 6)
            texts = [text.text for text in parts(document, "word/document.xml", "t")]
        self.assertEqual(texts, ["Договор", "Стороны согласились.", "подпись"])

    @on_each_abi
    def test_numbers(self, result, *_):
        for got, wanted in ((result["solved"], [0.8, 1.4]), ([result["gauss"]], [math.sqrt(math.pi)]), ([result["determinant"]], [-2]),
                            ([result["normal"]], [0.5 * (1 + math.erf(1.96 / math.sqrt(2)))])):
            for one, other in zip(got, wanted, strict=True):
                self.assertAlmostEqual(one, other, places=9)
        self.assertEqual([round(number, 3) for number in result["minimum"]], [1, 1])
        self.assertEqual(result["grouped"], {"a": 4, "b": 2})

    @on_each_abi
    def test_model(self, result, chat, _):
        self.assertGreater(result["score"], 0.9)
        self.assertGreater(result["again"], 0.95)
        self.assertEqual([round(number, 9) for number in result["line"]], [3, 2])
        self.assertEqual((result["squares"], result["sums"]), ([number * number for number in range(8)], [2e6, 2e6]))
        self.assertTrue(result["processes"])
        self.assertGreater((chat / "модель.joblib").stat().st_size, 1000)

    @on_each_abi
    def test_time_zones(self, result, *_):
        self.assertEqual(result, {"zoneinfo": ["2024-07-01T15:00:00+03:00", "2024-07-01T08:00:00-04:00"],
                                  "pandas": "2024-01-01T22:00:00+10:00", "local": "15 MSK", "zones": True})

    @on_each_abi
    def test_locales(self, result, *_):
        self.assertEqual(result, {"given": "C.UTF-8", "month": "мая", "sorted": ["ё", "ж", "я"], "files": "utf-8"})

    @on_each_abi
    def test_temporary_files(self, result, _, abi):
        self.assertEqual((result["text"], result["folder"]), ("данные", "/tmp"))
        self.assertEqual(result["elsewhere"], "EXDEV" if abi == 1 else "OK")  # refer cannot be granted on ABI 1

    @on_each_abi
    def test_commands(self, result, *_):
        self.assertEqual(result, {
            "shell": ["а б ", 3], "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "fonts": True, "said": "",
            "python": [0, ""], "built": False})  # built: fontconfig found its cache stale

    @on_each_abi
    def test_database(self, _, chat, __):
        with sqlite3.connect(f"file:{chat}/база.db?mode=ro", uri=True) as connection:
            self.assertEqual(connection.execute("SELECT count(*), sum(значение) FROM числа").fetchone(), (1000, 499500))
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        connection.close()

    @on_each_abi
    def test_processes(self, result, *_):
        cubes = [[number ** 3 for number in range(6)], True]
        self.assertEqual(result, {"fork": [[number ** 2 for number in range(6)], True], "spawn": cubes, "forkserver": cubes,
                                  "executor": [0, 1, 4, 9]})

    @on_each_abi
    def test_shared_memory(self, result, *_):
        self.assertEqual(result, {"sum": 499500, "exit": 0})

    @on_each_abi
    def test_pictures(self, result, chat, _):
        data = (chat / "привет.jpg").read_bytes()
        self.assertTrue(data.startswith(b"\xff\xd8\xff") and data.endswith(b"\xff\xd9"))
        frame = data.index(b"\xff\xc0")
        self.assertEqual(struct.unpack(">HH", data[frame + 5:frame + 9]), (200, 320))
        self.assertGreater(result["dark"], 500)
        self.assertEqual(result["thumbnail"], [32, 20])

    @on_each_abi
    def test_xml(self, result, *_):
        self.assertEqual(result, {"prices": ["5", "7"], "total": "12"})


# ---- Formats ----

def png(data):
    """Width, height and the rows of pixels, from a picture of 8-bit RGBA. Every checksum is compared."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        content, checksum = data[at + 8:at + 8 + length], data[at + 8 + length:at + 12 + length]
        assert zlib.crc32(kind + content) == int.from_bytes(checksum, "big"), kind
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", content)
            assert form == [8, 6, 0, 0, 0], form
        elif kind == b"IDAT":
            packed += content
        at += 12 + length
    assert kind == b"IEND"
    return width, height, unfilter(zlib.decompress(packed), width * 4)


def unfilter(data, size):
    """The rows of a PNG picture, each a tuple of pixels."""
    rows, above = [], bytearray(size)
    for start in range(0, len(data), size + 1):
        kind, row = data[start], bytearray(data[start + 1:start + 1 + size])
        for at in range(size):
            left, over, corner = (row[at - 4], above[at], above[at - 4]) if at >= 4 else (0, above[at], 0)
            row[at] = (row[at] + (0, left, over, (left + over) // 2, paeth(left, over, corner))[kind]) & 255
        rows.append(tuple(bytes(row[at:at + 4]) for at in range(0, size, 4)))
        above = row
    return rows


def paeth(left, over, corner):
    guess = left + over - corner
    return min((left, over, corner), key=lambda value: abs(guess - value))


def parts(archive, name, tag):
    """The elements of that name, whatever namespace, of an XML file in an archive whose checksums hold."""
    assert archive.testzip() is None
    return [element for element in ElementTree.fromstring(archive.read(name)).iter() if element.tag.rpartition("}")[2] == tag]


def streams(data):
    """What the streams of a PDF hold."""
    for header, content in re.findall(rb"<<([^<>]*(?:<<[^<>]*>>[^<>]*)*)>>\s*stream\r?\n(.*?)\r?\n?endstream", data, re.DOTALL):
        content = content.strip()
        if b"ASCII85Decode" in header:
            content = base64.a85decode(content.removesuffix(b"~>"))
        if b"FlateDecode" in header:
            content = zlib.decompress(content)
        yield content


if __name__ == "__main__":
    unittest.main()
