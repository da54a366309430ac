"""landlock-policy trace of what Python's libraries need: under the supplied policy without it, the lines name it and nothing else, and with them
the program succeeds and nothing is denied any more."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from harness import ORDINARY, as_user, need
from needs import NEEDS, is_for, take_away
from test_trace import TraceTest


def list_folder(folder):
    return sorted(os.fspath(path) for path in Path(folder).iterdir())


class LibraryTest(TraceTest):
    def setUp(self):
        super().setUp()
        self.sandbox, self.tmp = (self.make_folder(name, 0o700, ORDINARY) for name in ("sandbox", "tmp"))
        self.bring_policies()

    def bring_policies(self):
        self.policies = self.folder / "policy"
        shutil.rmtree(self.policies, ignore_errors=True)
        shutil.copytree(self.tree / "policy", self.policies)
        self.places = [word for name, path in (("sandbox", self.sandbox), ("tmp", self.tmp), ("script", self.policies / "main.py"))
                       for word in ("-D", f"{name}={path}")]

    def run_traced(self, code, site="", options=()):
        """`site`: what the site's own policy says."""
        for folder in (self.sandbox, self.tmp):
            subprocess.run(["/usr/bin/find", folder, "-mindepth", "1", "-delete"], check=True)
        self.make("policy/local.policy", f"policy 1\n{site}\n")
        report, out = self.reports / "report", self.reports / "lines.policy"
        answer = self.ask("trace", "--format", "json", "--report", report, "--output", out, *self.places, *options,
                          self.policies / "interpreter.policy", "--", "/usr/bin/python3", "-c", code)
        return answer, json.loads(report.read_text()), out.read_text()

    def need_modules(self, *modules):
        for module in modules:
            need(subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True, check=False, **as_user(ORDINARY)).returncode == 0,
                 f"Python's {module}")

    def assert_learned(self, code, missing, options=(), extra="", tries=1):
        """`tries`: how often it may be run in the end, of a program that fails now and then by itself."""
        answer, document, text = self.run_traced(code, extra, options)
        lines = document["lines"]
        self.assertTrue(lines, answer)
        self.assertEqual([line for line in lines if not is_for(line, missing)], [], lines)
        self.assertEqual([line for line in text.splitlines() if line.startswith("allow")], lines)
        for _ in range(tries):
            again, second, _ = self.run_traced(code, f"{extra}\ninclude {self.make('learned.policy', text)}")
            self.assertEqual(second["lines"], [], (again, lines))
            if again.code == 0:
                break
        self.assertEqual(again.code, 0, (again, lines))
        return lines

    def test_nothing_is_missing(self):
        """The supplied policy, whole: of the libraries' own starts nothing is denied."""
        modules = ("numpy", "pandas", "matplotlib.pyplot", "openpyxl", "joblib", "zoneinfo", "ssl", "ctypes.util", "multiprocessing")
        self.need_modules(*modules)
        answer, document, _ = self.run_traced(f"import {', '.join(modules)}")
        self.assertEqual((answer.code, document["lines"]), (0, []), document)

    def test_libraries(self):
        for name, item in NEEDS.items():
            with self.subTest(name):
                self.need_modules(*item.modules)
                for file in item.files:
                    need(os.path.exists(file), file)
                self.bring_policies()
                take_away(self.policies, item.taken)
                code = item.code.replace("{sandbox}", str(self.sandbox)).replace("{tmp}", str(self.tmp))
                lines = self.assert_learned(code, item.missing or [*item.taken, "/usr/bin/dash"], item.options, item.extra(list_folder))
                if item.lines:
                    self.assertEqual(lines, list(item.lines))

    def test_matplotlibs_cache(self):
        self.need_modules("matplotlib")
        cache = self.make_folder("cache", 0o700, ORDINARY)
        code = ("import os\nfor name in os.listdir(os.environ['MPLCONFIGDIR']): os.remove(os.environ['MPLCONFIGDIR'] + '/' + name)\n"
                "import matplotlib.pyplot\nassert matplotlib.get_cachedir() == os.environ['MPLCONFIGDIR']")
        lines = self.assert_learned(code, [str(cache)], ("--runs", "20"), f"environment set MPLCONFIGDIR={cache}\nallow remove {cache}")
        self.assertEqual(len(lines), 1)
        self.assertLessEqual({"make_reg", "write_file", "read_dir"}, set(lines[0].split()[1].split(",")))

    def test_libreoffice(self):
        """A program of which the policy knows nothing converts a document."""
        need(shutil.which("soffice"), "LibreOffice")
        code = f"""
import os, signal, subprocess
open('{self.sandbox}/x.txt', 'w').write('text')
def convert():
    child = subprocess.Popen(['soffice', '-env:UserInstallation=file://{self.tmp}/profile', '--headless', '--convert-to', 'pdf', '--outdir', '{self.sandbox}',
                          '{self.sandbox}/x.txt'], start_new_session=True)
    try: child.wait(60)
    except subprocess.TimeoutExpired: os.killpg(child.pid, signal.SIGKILL) # where it is denied something it waits for ever
for _ in range(3): # with a new profile it ends without a document now and then
    if not os.path.exists('{self.sandbox}/x.pdf'): convert()
assert open('{self.sandbox}/x.pdf', 'rb').read(4) == b'%PDF'
"""
        lines = self.assert_learned(code, [""], ("--runs", "50", "--gather"), tries=3)
        programs = {line.split()[2] for line in lines if "execute" in line.split()[1]}
        self.assertIn("/usr/lib/libreoffice/program/soffice.bin", programs)
        self.assertFalse(any(line.split()[2] in ("/", "/etc", "/usr/bin", "/usr") for line in lines), lines)
