"""What the file says: which token is good, and that all else stays as it is."""

import random

from command import GOOD, KEY, TokenTest, state

HEX = "0123456789abcdef" * 4

# Another variable's value, in which our line is no line of ours.
INSIDE = f"OTHER='\n{KEY}={GOOD}\n'\n"

KEPT = {
    "plain": f"{KEY}={GOOD}\n", "no final newline": f"{KEY}={GOOD}", "made here": f"{KEY}={HEX}\n", "32": f"{KEY}={'x' * 32}\n",
    "CRLF": f"A=1\r\n{KEY}={GOOD}\r\nB=2\r\n", "comment": f"{KEY}={GOOD} # ours\n", "hash": f"{KEY}={GOOD}#more\n",
    "single quotes": f"{KEY}='{GOOD}'\n", "double quotes": f'{KEY}="{GOOD}"\n', "export": f"export {KEY}={GOOD}\n",
    "export, blanks": f" \texport \t{KEY} = {GOOD} \t\n", "colon": f"{KEY}: {GOOD}\n", "BOM": f"\ufeff{KEY}={GOOD}\n",
    "behind a quote": f"A='x' {KEY}={GOOD}\n", "dollars": f"{KEY}={GOOD}$$x\n", "escaped dollar": f'{KEY}="{GOOD}\\$x"\n',
    "dollar in single quotes": f"{KEY}='{GOOD}$x${{y}}'\n", "a dollar alone": f"{KEY}={GOOD}$1$\n", "octal": f'{KEY}="{"x" * 31}\\0101"\n',
    "quote within": f"{KEY}={GOOD}'\"\n", "blank lines": f"\n \n\t\n# x\n  # y\n{KEY}={GOOD}\n\n", "inherited others": f"A\nB \n{KEY}={GOOD}\n",
    "over lines": f"A=\"x\ny='\n\" {KEY}={GOOD}\n", "behind a look-alike": f"{INSIDE}{KEY}={'y' * 40}\n", "names": f"A.B=1\nC-D=2\nE[0]=3\n{KEY}={GOOD}\n",
    "all of ASCII": f"{KEY}='" + "".join(map(chr, range(0x21, 0x7f))).replace("\\", "").replace("'", "") + "'\n",
}

ADDED = {
    "empty": "", "newline": "\n", "others": "A=1\nB=2\n", "no final newline": "A=1", "CRLF": "A=1\r\n\r\n", "CR at the end": "A=1\r",
    "commented": f"#{KEY}={GOOD}\n", "comment at the end": f"A=1 # {KEY}={GOOD}", "inside": INSIDE, "inside double": INSIDE.replace("'", '"'),
    "inside, escaped": f"OTHER='\\'\n{KEY}={GOOD}\n'\n", "longer name": f"{KEY}2={GOOD}\nX{KEY}={GOOD}\n", "small": f"{KEY.lower()}={GOOD}\n",
    "BOM": "\ufeff", "BOM and more": "\ufeffA=1", "in a value": f"A={KEY}={GOOD}\n", "blanks": " \t", "export alone": "export\nA=1\n",
    "not UTF-8": b"A=\xff\xfe\n", "Russian": "# токен\nключ=значение\n", "many": "A=1\n" * 100000, "exported look-alike": f"exported{KEY}={GOOD}\n",
}

REFUSED = {
    "short": [f"{KEY}=\n", f"{KEY}=", f"{KEY}=''\n", f"{KEY}= # {GOOD}\n"[:len(KEY) + 2] + "\n", f"{KEY}={'x' * 31}\n", f'{KEY}="{"x" * 31}"\n',
              f"{KEY}={GOOD}\n{KEY}=x\n", f"{KEY}={'x' * 31} #{'y' * 40}\n", f'{KEY}="{"x" * 30}\\""\n', f"{KEY}={'x' * 30}$$\n"],
    "unusable": [f"{KEY}={GOOD} {GOOD}\n", f"{KEY}='{GOOD}\n'\n", f"{KEY}={GOOD}é\n", f'{KEY}="{GOOD}\\n"\n', f"{KEY}={GOOD}\x7f\n",
                 f"{KEY}='{GOOD}\t'\n", f'{KEY}="{GOOD}\\0000"\n', f'{KEY}="{GOOD}\\0200"\n', f"{KEY}={GOOD}\x01\n", f"{KEY}={GOOD}\udcff\n",
                 f"{KEY}=' {GOOD}'\n", f"{KEY}='{GOOD} '\n", f"{KEY}=# {GOOD}\n"],
    "variable": [f"{KEY}=$OTHER\n", f"{KEY}={GOOD}${{OTHER}}\n", f'{KEY}="{GOOD}$x"\n', f"{KEY}={GOOD}$$$x\n", f'{KEY}="\\\\$x{GOOD}"\n',
                 f"{KEY}=${{\n", f"{KEY}=${{A:-{GOOD}}}\n", f"{KEY}=$_\n", f'{KEY}="\\0044A{GOOD}"\n'],
    "inherited": [f"{KEY}\n", f"export {KEY}\n", f"{KEY}={GOOD}\n{KEY} \nA=1\n"],
    "syntax": ["A='x\n", f'A="{GOOD}\n', f"A='\\'\n{KEY}={GOOD}\n", "A B=1\n", "A!=1\n", "/x\n", "A\0=1\n", f"{KEY}={GOOD}\0\n", "A=1\n\udcff=1\n",
               "A", f"{KEY}", "export ", "=x\n", f"{KEY}={GOOD}\nA='1' 'x'\n", f"{KEY}='{GOOD}\n", f"{KEY}={GOOD}\n\u2003\u2003A\u2003=1\n"],
    "size": ["#" * (1 << 20) + "\n"],
}


def data(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


class Values(TokenTest):
    def test_a_good_token_is_kept(self):
        """Nothing is written: it is the same file, with the same times."""
        for name, text in KEPT.items():
            with self.subTest(name):
                self.write(text)
                before = state(self.file)
                self.assert_done(self.ensure(), "kept")
                self.assertEqual((state(self.file), self.file.read_bytes()), (before, data(text)))
                answer = self.check()
                self.assertEqual((answer.code, answer.err), (0, ""))
                self.assertRegex(answer.out, rf"\A\.env: {KEY} is there, \d+ characters, private\n\Z")

    def test_a_token_is_added(self):
        for name, text in ADDED.items():
            with self.subTest(name):
                self.write(text)
                self.assert_refused(self.check(), "missing")
                self.assert_done(self.ensure(), "added")
                self.assert_added(data(text))
                self.assert_done(self.check(), "is there, 64 characters, private")
                self.assert_done(self.ensure(), "kept")

    def test_a_bad_one_is_told_and_not_replaced(self):
        for code, texts in REFUSED.items():
            for text in texts:
                with self.subTest(code, text=text[:200]):
                    self.write(text, mode=0o644)
                    before = state(self.file)
                    for answer in (self.ensure(), self.check()):
                        self.assert_refused(answer, code)
                        self.assertNotIn(GOOD, answer.err)
                    self.assertEqual((state(self.file), self.file.read_bytes()), (before, data(text)))
                    self.assertEqual(self.left_over(), [])

    def test_what_to_do_is_told(self):
        self.write(f"A=1\n\n{KEY}=x\n")
        answer = self.ensure()
        self.assert_refused(answer, "short", f".env:3: {KEY}: it has 1 of at least 32 characters", "remove every line",
                            "docker compose up -d --no-deps --force-recreate aiserver aiserver-code-interpreter")
        self.file.write_text("A=1\n\n")
        self.assert_done(self.ensure(), "added")

    def test_lines_of_errors(self):
        for text, line in (("\n\nA='x\n\n\n", 3), ("A='1\n2\n3'\nB C=1\n", 4), ("A=1\n# x\n\n\0", 4), ("A=1\nB=2\nC", 3),
                           (f"A='\n\n' {KEY}=x\n", 3), (f"export\n{KEY}=x\n", 2), (f"A\n\nB=\n{KEY}\n", 4)):
            self.write(text)
            answer = self.check()
            self.assertIn(f".env:{line}: ", answer.err, (text, answer))

    def test_duplicates(self):
        """The last counts, whichever is good."""
        self.write(f"{KEY}=x\nA=1\n{KEY}={GOOD}\n")
        warning = f"service-token: .env: {KEY} stands on lines 1 and 3: the last counts\n"
        self.assert_done(self.ensure(), "kept", warning)
        self.assert_done(self.check(), f"is there, {len(GOOD)} characters, private", warning)
        self.write(f"{KEY}={GOOD}\nA='\n{KEY}=x\n'\n{KEY}={GOOD}\nexport {KEY}=x\n")
        answer = self.ensure()
        self.assert_refused(answer, "short", ".env:6: ", f"{KEY} stands 3 times, on lines 1 to 6: the last counts")

    def test_every_other_line_is_kept(self):
        """Random files: where a token is added, all of what was there is there."""
        dice = random.Random(7)
        parts = ("A=1", "#", "x", "\n", "\r\n", " ", "'", '"', "=", "\\", "\t", "é", "\ufeff", "$", "B: 2\n", "C='\n'\n", "export D=4\n")
        counts = {"added": 0, "refused": 0}
        for _ in range(300):
            text = "".join(dice.choice(parts) for _ in range(dice.randrange(12))).encode()
            self.write(text)
            answer = self.ensure()
            if answer.code:
                self.assert_refused(answer, "syntax")
                self.assertEqual(self.file.read_bytes(), text)
                counts["refused"] += 1
            else:
                self.assert_added(text)
                counts["added"] += 1
        self.assertGreater(min(counts.values()), 30, counts)

    def test_each_token_is_another(self):
        tokens = set()
        for _ in range(20):
            self.write("")
            self.ensure()
            tokens.add(self.assert_added(b""))
        self.assertEqual(len(tokens), 20)
