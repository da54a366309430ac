"""Docker Compose reads what we read: random files, and what ensure makes. By the Compose v2 that `fetch` keeps, or the machine's own; what
ensure makes by Debian 12's old one, too."""

import collections
import functools
import json
import os
import random
import shutil
import subprocess

from command import KEY, TokenTest, VALUE
from harness import need, report

KEPT = os.path.join(os.environ.get("CACHE_DIRECTORY", "/var/cache/landlock-exec"), "compose/docker-compose")
SERVICES = f'version: "3"\nservices:\n  one:\n    image: none\n    environment:\n      VALUE: "${{{KEY}-not given}}"\n'
SAME, OTHER, REFUSED, NONE, EXPANDED, INHERITED = range(6)  # value.c
FILES = 400

ATOMS = ("a", "Z", "0", "1", "\\", "\\\\", "\\n", '\\"', "\\'", "\\$", "$$", "$", "$A", "${A}", '"', "'", " ", "\t", "#", " #", "\n", "\\0101", "\\012",
         "\\0200", "\\08", "\\00", "\\c", "=", ":", "é", "\u00a0", "\u2003", "\r", "{", "}")
NAMES = (KEY, KEY, KEY, f"{KEY} ", f"{KEY}\u00a0", "OTHER", "B.C", "x-y", "A[1]", "ключ", "A B", "A\tB", "!", "")


@functools.cache
def version(command):
    try:
        return subprocess.run([*command, "version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]
    except (OSError, IndexError):
        return ""


def composes():
    found = [command for command in ((KEPT,), ("docker", "compose"), ("docker-compose",)) if shutil.which(command[0])]
    return [command for command in found if "ompose version" in version(command).lower() + version(command)]


def is_newer(command):
    """The one in Go, whose way of reading is ours."""
    return version(command).startswith("Docker Compose version")


class Compose(TokenTest):
    def setUp(self):
        super().setUp()
        (self.folder / "docker-compose.yml").write_text(SERVICES)

    def reading(self, command):
        """The value, "not given", or None where it refuses the file."""
        form = ("--format", "json") if is_newer(command) else ()
        done = subprocess.run([*command, "config", *form], cwd=self.folder, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
                              capture_output=True, check=False)
        if done.returncode:
            return None
        if form:
            return json.loads(done.stdout)["services"]["one"]["environment"]["VALUE"].replace("$$", "$")
        found = [line.split(": ", 1)[1] for line in done.stdout.decode().splitlines() if " VALUE: " in line]
        return found[0].strip("'\"")

    def ours(self, expected):
        return subprocess.run([VALUE, self.file, expected or ""], check=False).returncode

    # ---- Random files ----

    def value(self, dice, without=""):
        text = "".join(dice.choice(ATOMS) for _ in range(dice.randrange(9)))
        return "".join(letter for letter in text if letter not in without)

    def statement(self, dice):
        name, before = dice.choice(NAMES), dice.choice(("", "", "", " ", "\t", "export ", "export\t ", "export\n"))
        form, between = dice.randrange(10), dice.choice(("=", "=", ":", " = ", "= ", ": ", "=\t"))
        if form < 3:
            return (f"{before}{name}\n", f"# {self.value(dice, chr(10))}\n", "\n")[form]
        if form < 7:
            quote = "'\""[form % 2]
            text = self.value(dice)
            text = text.replace(quote, f"\\{quote}") if dice.random() < 0.7 else text
            return f"{before}{name}{between}{quote}{text}{quote}" + dice.choice(("\n", " # c\n", " ", ""))
        return f"{before}{name}{between}{self.value(dice, chr(10))}" + dice.choice(("\n", "\r\n", "\n\n"))

    def text(self, dice):
        text = dice.choice(("", "", "\ufeff")) + "".join(self.statement(dice) for _ in range(dice.randrange(1, 4)))
        text = text.replace("${", "${A}") if dice.random() < 0.5 else text.replace("${", "$")  # what it begins in others is Compose's alone to judge
        return text + "\n" * (dice.random() < 0.8)

    def test_every_file_is_read_likewise(self):
        newer = [command for command in composes() if is_newer(command)]
        need(newer, "Docker Compose v2")
        dice, counts = random.Random(11), collections.Counter()
        for _ in range(FILES):
            text = self.text(dice)
            self.file.write_text(text, newline="")
            read = self.reading(newer[0])
            ours = self.ours(read)
            counts[ours] += 1
            if read is None:
                self.assertEqual(ours, REFUSED, text)
            else:
                self.assertIn(ours, (NONE, INHERITED, EXPANDED) if read == "not given" else (SAME, INHERITED, EXPANDED), (text, read))
        self.assertEqual(counts[OTHER], 0)
        self.assertGreater(min(counts[kind] for kind in (SAME, REFUSED, NONE, EXPANDED, INHERITED)), 5, counts)
        report("token.compose", f"{version(newer[0])}: {FILES} files: {counts[SAME]} with the same value, {counts[NONE]} without one, "
                                f"{counts[REFUSED]} refused, {counts[EXPANDED]} expanded, {counts[INHERITED]} inherited")

    # ---- What ensure makes ----

    def test_what_ensure_makes_is_read(self):
        need(composes(), "Docker Compose")
        for text in (None, "", "A=1", "A=1\r\n", "# x", "export A=1\n", f"A='\n{KEY}=x\n'\n", 'A="x"', f"{KEY}2=x\n"):
            self.file.unlink(missing_ok=True)
            if text is not None:
                self.write(text)
            self.assertEqual(self.ensure().code, 0, text)
            made = self.assert_added((text or "").encode())
            self.assertEqual(self.ours(made), SAME)
            self.file.chmod(0o644)
            for command in composes():
                if not is_newer(command) and text and "'" in text:
                    continue  # the old one takes a line within another's value for one of its own
                self.assertEqual(self.reading(command), made, (command, text))
        report("token.compose", f"what ensure makes is read by: {', '.join(map(version, composes()))}")

    def test_all_of_them_are_there(self):
        kinds = {is_newer(command) for command in composes()}
        need(True in kinds, "Docker Compose v2 (tests/token/fetch)")
        need([command for command in composes() if command[0] != KEPT], "this system's own (package docker-compose)")
