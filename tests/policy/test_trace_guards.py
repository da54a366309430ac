"""A program that wants trace to open what the policy expects to be denied, or keeps private: by other names, run by run."""

import os

from harness import ORDINARY
from test_trace import PythonTest

PRELUDE = """
import os
os.chdir({d!r})
def attempt(function, *arguments):
    try: return function(*arguments)
    except OSError: return None
def read(path): print(attempt(lambda: open(path).read()))
"""

# What the program does in a folder with `secret`, `other`, `inner/secret` and a folder `e` beside it.
WAYS = {
    "another name": "attempt(os.rename, 'secret', 'x')\nread('x')",
    "into another folder": "attempt(os.rename, 'secret', '../e/x')\nread('../e/x')",
    "the folder above": "attempt(os.rename, 'inner', 'q')\nread('q/secret')",
    "a second name": "attempt(os.link, 'secret', 'x')\nread('x')",
    "a second name elsewhere": "attempt(os.link, 'secret', '../e/x')\nread('../e/x')",
    "a file that was denied becomes it": "read('other')\nattempt(os.unlink, 'other')\nattempt(os.link, 'secret', 'other')",
    "a link to it": "read('other')\nattempt(os.unlink, 'other')\nattempt(os.symlink, 'secret', 'other')",
    "another file in its place": "attempt(os.rename, 'secret', 'x')\nattempt(os.mknod, 'secret')\nread('x')",
    "exchanged": "import ctypes\nctypes.CDLL(None).renameat2(-100, b'secret', -100, b'other', 2)\nread('other')",
    "below a new mount": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.unshare(0x10020000)\nlibc.mount(b'inner', b'../e', None, 4096, None)\nread('../e/secret')",
}

RIGHTS = {"nothing": "", "names": "allow create,remove,rename {d}", "names in both": "allow create,remove,rename {d} {e}", "all but reading": "allow write_file,create,remove,rename,truncate {d}\nallow create,rename {e}"}
FORBIDS = {"expected": "expect denied read_file {d}/secret {d}/inner/secret", "private": "private {d}/secret {d}/inner/secret"}


class GuardTest(PythonTest):
    def prepare(self):
        for name in ("d", "e"):
            folder = self.folder / name
            for path in sorted(folder.rglob("*"), reverse=True) if folder.exists() else ():
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            if not folder.exists():
                self.make_folder(name, owner=ORDINARY)
        self.make_folder("d/inner", owner=ORDINARY)
        for name in ("secret", "inner/secret"):
            self.make(f"d/{name}", "TOPSECRET", owner=ORDINARY)
        self.make("d/other", "public", owner=ORDINARY)
        return {"d": str(self.folder / "d"), "e": str(self.folder / "e")}

    def test_no_run_reads_it(self):
        for forbids, statement in FORBIDS.items():
            for rights, allowed in RIGHTS.items():
                for way, code in WAYS.items():
                    with self.subTest(way, rights=rights, forbids=forbids):
                        places = self.prepare()
                        out = self.reports / "out"
                        policy = self.write(f"{self.BASE}{statement}\n{allowed}".format(**places))
                        answer = self.ask("trace", "--runs", 6, "--gather", "--output", out, policy, "--", "/usr/bin/python3", "-I", "-S", "-c",
                                          PRELUDE.format(**places) + code)
                        self.assertNotIn("TOPSECRET", answer.out, answer.err)
                        self.assert_harmless(out.read_text() if out.exists() else "", places, answer)
                        out.unlink(missing_ok=True)

    def assert_harmless(self, text, places, answer):
        """No line opens either secret, wherever it is now."""
        secret = {(path.stat().st_dev, path.stat().st_ino) for name in ("d", "e") for path in (self.folder / name).rglob("*")
                  if path.is_file() and path.read_text() == "TOPSECRET"}
        for line in text.splitlines():
            word = line.split()
            if not line.startswith("allow") or "read_file" not in word[1]:
                continue
            path = word[2].removeprefix("-")
            opened = {(found.stat().st_dev, found.stat().st_ino) for name in ("d", "e") for found in (self.folder / name).rglob("*")
                      if found.exists() and (str(found) == path or str(found).startswith(f"{path}/"))}
            self.assertFalse(opened & secret, (line, answer))

    def test_it_says_so(self):
        places = self.prepare()
        policy = self.write(f"{self.BASE}expect denied read_file {places['d']}/secret\nallow create,remove,rename {places['d']}")
        command = ("/usr/bin/python3", "-I", "-S", "-c", PRELUDE.format(**places) + WAYS["another name"])
        found = self.trace(policy, *command, options=("--runs", "6"))
        self.assertEqual((found.counts("disturbed"), found.lines, [item["line"] for item in found.denials]), ([True], [], [None]))
        self.prepare()
        self.assertIn("\nthe program has moved or linked a file that the policy expects to be denied", self.ask("trace", policy, "--", *command).err)

    def test_names_are_not_proposed_around_it(self):
        """Nor what would let it be moved."""
        places = self.prepare()
        policy = self.write(f"{self.BASE}expect denied read_file {places['d']}/inner/secret")
        found = self.trace(policy, "/usr/bin/python3", "-I", "-S", "-c", PRELUDE.format(**places) + "attempt(os.mkdir, 'new')\nattempt(os.mkdir, '../e/new')\nattempt(os.mkdir, 'inner/new')")
        self.assertEqual(found.lines, [f"allow make_dir {places['e']}"])
        self.assertEqual([bool(item["forbidden_by"]) for item in found.denials], [True, False, True])
