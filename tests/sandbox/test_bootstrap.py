"""policy/main.py: code from standard input runs as if Python had been started with it."""

import re
import signal
import subprocess
import sys

from harness import ORDINARY, PYTHON, SOURCE, InterpreterTest, as_user


HELPER = "def fail():\n    raise LookupError('from the helper')\n\n\ndef square(x):\n    return x * x\n"


class Bootstrap(InterpreterTest):
    def both(self, code):
        """What comes of the code, and of Python's own way with it: in the same directory, without the launcher."""
        data = code if isinstance(code, bytes) else code.encode()
        chat = self.chat()
        self.make("sandbox/helper.py", HELPER)
        with subprocess.Popen([PYTHON, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=chat["sandbox"],
                              env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"},
                              **as_user(ORDINARY)) as bare:
            bare.stdin.write(data)
            bare.stdin.close()
            outcome = self.python(data, define=chat)
            pythons = bare.stdout.read().decode(), bare.stderr.read().decode()
        return (outcome.code, outcome.out, outcome.err), (bare.returncode, *pythons)

    statuses = (
        "", "pass", "print('x')", "raise SystemExit", "raise SystemExit(0)", "raise SystemExit(3)", "raise SystemExit('text')", "raise SystemExit(None)",
        "raise SystemExit(256)", "raise SystemExit(-1)", "raise SystemExit(3.5)", "raise SystemExit((1, 2))", "raise SystemExit(True)", "import sys; sys.exit()",
        "import sys; sys.exit([])", "import sys; sys.exit(125)", "exit(4)", "quit()", "import os; os._exit(7)", "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "import atexit, sys; atexit.register(print, 'bye'); sys.exit(2)",
        "import sys; sys.stdout.write('no newline')", "import sys; sys.stderr.write('err'); sys.exit(9)", "class E(SystemExit): pass\nraise E(5)",
        "import sys\ntry:\n    sys.exit(1)\nfinally:\n    print('finally')", "import threading; threading.Thread(target=print, args=('t',)).start()",
        "import sys; sys.stdout.close()", "if __name__ == '__main__': print('main')", "import os; os.close(1)", "import os; os.close(2); 1/0",
    )

    failures = (
        "1/0", "x = 1\n\n\ndef f(n):\n    return n / 0\n\n\nf(x)\n", "raise ValueError('text')", "raise KeyError", "assert False, 'no'",
        "try:\n    1/0\nexcept Exception as e:\n    raise ValueError('second') from e", "try:\n    1/0\nexcept Exception:\n    undefined",
        "import helper\nhelper.fail()", "def f(): f()\nf()", "import json\njson.loads('{')", "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])",
        "class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd()", "e = ValueError('noted')\ne.add_note('a note')\nraise e",
        "raise BaseException('base')", "raise GeneratorExit", "exec('1/0')", "eval('1 +')", "import no_such_module", "import nothing.at.all",
        "def g():\n    yield 1/0\nlist(g())", "[\n    1,\n    2 / 0,\n]", "print('a'); 1/0; print('b')", "x = 'ы' + 1", "raise Exception('\\ud800')",
        "del print\n", "async def f(): 1/0\nimport asyncio\nasyncio.run(f())",
        "import sys\nsys.tracebacklimit = 0\n1/0", "raise StopIteration", "raise ImportError('i', name='n')", "(lambda: 1/0)()",
        "raise MemoryError", "import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start(); t.join()", "raise OSError(2, 'no', 'file')",
    )

    syntax = ("def", "x = (1,\n", "  x = 1\n", "if True:\nprint(1)\n", "print 'x'", "x = 'abc\n", "\tx\n  y\n", "return 1", "await x", "1 = x", "f(**a, *b)",
              "x = 1\nfor\n", "ы = = 1", "for x in y:\n\tpass\n        pass", "nonlocal x", "break", "x = 0777", "'\\N{no such name}'",
              b"# -*- coding: no-such-codec -*-\nx\n", b"\xff\n", b"x = '\xd0'\n")

    def test_exit_statuses(self):
        for code in self.statuses:
            with self.subTest(code):
                ours, pythons = self.both(code)
                self.assertEqual(ours, pythons)

    def test_tracebacks(self):
        """The same text: the bootstrap's own frames are absent. Python shows source lines of a file only, so lines shown for <stdin> may be more."""
        for code in self.failures:
            with self.subTest(code):
                ours, pythons = self.both(code)
                self.assertEqual(ours[:2], pythons[:2])
                self.assertEqual(self.without_source(ours[2], code), self.without_source(pythons[2], code))
                for secret in ("/proc/self/fd", "main.py", "exec(code"):
                    self.assertNotIn(secret, ours[2])

    def test_syntax_errors(self):
        for code in self.syntax:
            with self.subTest(code):
                ours, pythons = self.both(code)
                self.assertEqual(ours[:2], pythons[:2])
                last = [text.splitlines()[-1] for text in (ours[2], pythons[2])]
                if isinstance(code, bytes):  # of undecodable bytes Python speaks in other words when it reads them itself
                    last = [line.split(":")[0] for line in last]
                self.assertEqual(*last)
                self.assertNotIn("/proc/self/fd", ours[2])
                self.assertNotIn("compile(", ours[2])

    @staticmethod
    def without_source(text, code):
        """Without the lines that follow `File "<stdin>"`: the source and its marks."""
        kept, skipping = [], False
        for line in text.splitlines():
            if re.match(r'\s*(\| *)*File "<stdin>"', line):
                skipping = True
                kept.append(line)
            elif "[Previous line repeated" in line:
                kept.append("repeated")
            elif not (skipping and re.match(r"(\s*\| )?    \s*", line) and not re.match(r'\s*(\| *)*(File|\[)', line)):
                skipping = False
                kept.append(line)
        return kept

    def test_source_lines_are_shown(self):
        ours, _ = self.both("def f(n):\n    return n / 0  # here\n\n\nf(1)  # there\n")
        self.assertRegex(ours[2], r'^Traceback \(most recent call last\):\n  File "<stdin>", line 5, in <module>\n    f\(1\)  # there\n[ ~^]*\n?'
                                  r'  File "<stdin>", line 2, in f\n    return n / 0  # here\n[ ~^]*\n?ZeroDivisionError: division by zero\n$')

    def test_an_interrupt_ends_it_by_the_signal(self):
        for code in ("raise KeyboardInterrupt", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)",
                     "try:\n    raise KeyboardInterrupt\nfinally:\n    print('end')"):
            with self.subTest(code):
                ours, pythons = self.both(code)
                self.assertEqual(ours[:2], pythons[:2])
                self.assertEqual(ours[0], -signal.SIGINT)
                self.assertEqual(self.without_source(ours[2], code), self.without_source(pythons[2], code))

    def test_an_interrupt_from_outside(self):
        chat = self.chat()
        child = subprocess.Popen([self.launcher, "-p", self.tree / "policy/interpreter.policy", *(word for name, value in chat.items() for word in
                                  ("-D", f"{name}={value}"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={},
                                 **as_user(ORDINARY))
        child.stdin.write(b"import time\nprint('ready', flush=True)\ntime.sleep(20)\n")
        child.stdin.close()
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(10), -signal.SIGINT)
        self.assertIn(b"KeyboardInterrupt", child.stderr.read())
        child.stdout.close()
        child.stderr.close()

    def test_the_codes_own_hook(self):
        for code in ("import sys\ndef hook(kind, error, trace):\n    import traceback\n    print('hook', kind.__name__, error, len(traceback.extract_tb(trace)))\n"
                     "sys.excepthook = hook\n1/0", "import sys\nsys.excepthook = lambda *_: 1/0\nraise ValueError",
                     "import sys\nsys.excepthook = None\n1/0", "import sys\ndel sys.excepthook\n1/0",
                     "import sys\nsys.excepthook = lambda *_: sys.exit(7)\n1/0"):
            with self.subTest(code):
                ours, pythons = self.both(code)
                self.assertEqual(ours[:2], pythons[:2])

    def test_the_namespace(self):
        """Clean: no __file__, and nothing that Python's own has not."""
        code = "print(sorted(globals()), __name__, __doc__, __spec__, __package__, type(__builtins__).__name__, __builtins__.__name__)"
        ours, pythons = self.both(code)
        own_names = re.sub(r"'__(annotations|cached|file)__', ", "", pythons[1])
        self.assertEqual(ours, (0, own_names, ""))
        for code in ("print(__file__)", "run()", "print(own_name)", "print(sys)", "print(source)"):
            self.assertIn("NameError", self.both(code)[0][2])
        self.assertEqual(self.both("import __main__; x = 1; print(__main__.x, __main__.__dict__ is globals())")[0], (0, "1 True\n", ""))
        self.assertEqual(self.both("def f(): return x\nx = 3\nprint(f(), [f() for _ in range(2)])")[0], (0, "3 [3, 3]\n", ""))
        self.assertEqual(self.both("from __future__ import annotations\ndef f(a: undefined): pass\nprint(f.__annotations__)")[0][0], 0)
        self.assertEqual(self.both("def f(a: 1 + 1): pass\nprint(f.__annotations__)")[0][1], "{'a': 2}\n")  # none of the bootstrap's __future__

    def test_surroundings(self):
        chat = self.chat()
        code = ("import sys, os\nprint(sys.path[0] == os.getcwd(), sys.argv, repr(sys.stdin.read()), repr(sys.stdin.buffer.read()))\n"
                "print(sys.flags.dont_write_bytecode, sys.flags.no_user_site, 'traceback' in sys.modules, sys.excepthook is sys.__excepthook__)\n"
                "print([frame.filename for frame in __import__('inspect').stack()][:1])")
        outcome = self.python(code, define=chat)
        self.assert_ran(outcome)
        self.assertEqual(outcome.out.splitlines()[0], "True ['-'] '' b''")
        self.assertEqual(outcome.out.splitlines()[1].split()[:2], ["1", "1"])
        self.assertEqual(outcome.out.splitlines()[2], "['<stdin>']")
        self.assertEqual(self.both("try:\n    input()\nexcept EOFError:\n    print('end')")[0], (0, "end\n", ""))

    def test_own_modules(self):
        self.assertEqual(self.both("import helper; print(helper.square(3))")[0], (0, "9\n", ""))

    def test_encodings(self):
        for code, out in (("print('жé€😀')".encode(), "жé€😀"), (b"\xef\xbb\xbfprint('\xd0\xb6')", "ж"), (b"# -*- coding: koi8-r -*-\nprint('\xd6')", "ж"),
                          (b"#!/usr/bin/python3\n# coding: latin-1\nprint('\xe9')", "é"), (b"print('a')\r\nif 1:\r\n    print('b')\r\n", "a\nb"),
                          (b"print('a')\rprint('b')", "a\nb"), (b"print('''x\r\ny''' == 'x\\ny')", "True"), (b"print(1)\n\x0cprint(2)", "1\n2"),
                          (b"\xef\xbb\xbf# coding: utf-8\r\nprint(1)", "1"), (b"x = 1\n" * 20000 + b"print(x)", "1")):
            with self.subTest(code[:40]):
                self.assertEqual(self.python(code).out, out + "\n")

    def test_it_fits_the_smallest_pipe(self):
        self.assertLess((SOURCE / "policy/main.py").stat().st_size, 8192)

    def test_the_pipe_is_closed(self):
        code = "import os\nprint([fd for fd in range(3, 100) if not os.system('') and os.path.exists(f'/proc/self/fd/{fd}')])"
        self.assert_ran(self.python(code), "[]\n")

    def test_multiprocessing(self):
        """Functions of a module that can be imported, by each start method; those of the code itself by fork."""
        code = """
import multiprocessing, sys
import helper
if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            print(method, pool.map(helper.square, range(4)))
        queue = context.Queue()
        process = context.Process(target=queue.put, args=("put",))
        process.start()
        print(queue.get(timeout=20))
        process.join()
        print(process.exitcode)
    def own(x):
        return -x
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(own, range(3)))
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1) as pool:
        print(pool.submit(helper.square, 5).result())
"""
        chat = self.chat()
        self.make("sandbox/helper.py", HELPER)
        outcome = self.python(code, define=chat)
        expected = "".join(f"{method} [0, 1, 4, 9]\nput\n0\n" for method in ("fork", "spawn", "forkserver")) + "[0, -1, -2]\n25\n"
        self.assertEqual((outcome.code, outcome.out, outcome.err), (0, expected, ""))

    def test_modules_of_the_code_do_not_reach_the_bootstrap(self):
        """A file named like a module of the library, whichever, is the code's, when the bootstrap shows an error too."""
        chat = self.chat()
        for name in sys.stdlib_module_names:
            self.make(f"sandbox/{name}.py", "print('shadow')\n")
        for code, last in (("1/0", "ZeroDivisionError: division by zero"), ("def", "SyntaxError: invalid syntax"),
                           ("undefined", "NameError: name 'undefined' is not defined"), ("(1 +\n 1/0)", "ZeroDivisionError: division by zero"),
                           ("raise ExceptionGroup('g', [ValueError(1)])", "    +------------------------------------")):
            outcome = self.python(code, define=chat)
            self.assertEqual((outcome.code, outcome.out), (1, ""), outcome)
            self.assertTrue(outcome.err.endswith(f"\n{last}\n"), outcome.err)
            self.assertIn('File "<stdin>"', outcome.err)

    def test_the_code_finds_its_modules_after_an_error(self):
        """What it runs at its end, and is not yet imported, too."""
        chat = self.chat()
        self.make("sandbox/helper.py", HELPER)
        outcome = self.python("import atexit\n@atexit.register\ndef end():\n    import helper\n    print(helper.square(3))\n1/0", define=chat)
        self.assertEqual((outcome.code, outcome.out), (1, "9\n"), outcome)

    def test_without_the_launcher(self):
        """Started by its own name, as an administrator may try it."""
        done = subprocess.run([PYTHON, SOURCE / "policy/main.py"], input=b"print(1)", capture_output=True, cwd=self.folder, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"1\n", b""))
