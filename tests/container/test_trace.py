"""landlock-policy trace in the mypy image, on the kernel's own ABI and on ABI 2: what a library needs and the policy lacks is named, nothing else,
and with the lines it works and nothing is denied any more."""

import functools
import json
import os
import shutil
import sys

from harness import SOURCE, text
from test_policy import PolicyTest

sys.path.append(str(SOURCE / "tests/policy"))
import schema
from needs import NEEDS, is_for, take_away

ABIS = {"own ABI": [], "ABI 2": ["--max-abi", "2"]}

# The report, and the lines as a policy, behind what the program says.
SCRIPT = """
code=0
landlock-policy trace --format json --report /tmp/report --output /tmp/lines "$@" || code=$?
printf '\\f%s\\f' "$code"
cat /tmp/report
printf '\\f'
cat /tmp/lines
"""


class TraceTest(PolicyTest):
    def trace(self, policies, code, *options):
        """The exit status, the document and the lines as a policy."""
        done = self.script(SCRIPT, *options, "/etc/landlock-exec/lacking/interpreter.policy", "--", "python3", "-c", code,
                           policies=f"--mount type=bind,source={policies},target=/etc/landlock-exec/lacking,readonly")
        self.assertEqual(done.returncode, 0, done)
        out, code, report, lines = text(done.stdout).split("\f")
        document = json.loads(report)
        self.assertEqual(schema.errors("trace", document), [])
        return int(code), document, lines

    @functools.lru_cache(None)
    def list_folder(self, folder):
        return tuple(text(self.script('for path in "$1"/*; do echo "$path"; done', folder).stdout).splitlines())

    def policies(self, taken, site):
        folder = self.folder(0o755, prefix="policies.")
        for file in (SOURCE / "policy").iterdir():
            shutil.copy(file, folder)
        take_away(folder, taken)
        (folder / "local.policy").write_text(f"policy 1\n{site}\n")
        for path in (folder, *folder.iterdir()):
            os.chown(path, self.root, self.root)
            path.chmod(0o755 if path.is_dir() else 0o644)
        return folder

    def test_nothing_is_missing(self):
        code = "import numpy, pandas, matplotlib.pyplot, openpyxl, scipy, sklearn, zoneinfo, ssl, ctypes.util, multiprocessing, docx, reportlab"
        for name, options in ABIS.items():
            with self.subTest(name):
                status, document, _ = self.trace(self.policies((), ""), code, *options)
                self.assertEqual((status, document["lines"]), (0, []), document)

    def test_libraries(self):
        for abi, options in ABIS.items():
            for name, item in NEEDS.items():
                with self.subTest(name, abi=abi):
                    extra = item.extra(self.list_folder) if abi == "own ABI" else "\n".join(
                        line for line in item.extra(self.list_folder).splitlines() if "ioctl_dev" not in line)
                    code = item.code.replace("{sandbox}", "/sandbox").replace("{tmp}", "/tmp")
                    status, document, text_of_lines = self.trace(self.policies(item.taken, extra), code, *options, *item.options)
                    lines = document["lines"]
                    missing = item.missing or [*item.taken, "/usr/bin/dash"]
                    self.assertTrue(lines or name == "certificates", document)
                    self.assertEqual([line for line in lines if not is_for(line, missing)], [])
                    learned = "\n".join(line for line in text_of_lines.splitlines() if line.startswith("allow"))
                    status, second, _ = self.trace(self.policies(item.taken, f"{extra}\n{learned}"), code, *options)
                    self.assertEqual((status, second["lines"]), (0, []), (lines, second))
