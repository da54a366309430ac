"""What code in the supplied configuration cannot do, and what it finds again. Everything else of Landlock is in tests/sandbox."""

import json
import os
import shutil
import unittest

from harness import SOURCE, SUPPLIED, ContainerTest, supplied, text

# What is tried, and what comes of it: on the machine's own ABI, and on ABI 2 where it is different. /opt/main.py here belongs to the
# user of the code.
ATTEMPTS = {
    "list /": "EACCES",
    "list /etc": "EACCES",
    "list /opt": "EACCES",
    "list /home": "EACCES",
    "list /root": "EACCES",
    "list /sandbox": "OK",
    "list /usr/lib": "OK",
    "read /etc/passwd": "EACCES",
    "read /etc/hosts": "EACCES",
    "read /etc/landlock-exec/interpreter.policy": "EACCES",
    "read /opt/main.py": "EACCES",
    "read /usr/libexec/landlock-exec/main.py": "EACCES",
    "read /usr/bin/python3": "OK",
    "read /proc/1/environ": "EACCES",
    "write /sandbox/файл": "OK",
    "write /tmp/a": "OK",
    "write /dev/shm/a": "OK",
    "write /a": "EROFS",
    "write /etc/a": "EROFS",
    "write /usr/lib/a": "EROFS",
    "write /var/tmp/a": "EROFS",
    "write /run/a": "EROFS",
    "write /dev/a": "EACCES",
    "write /dev/full": "EACCES",
    "write /opt/main.py": "EROFS",
    "write /proc/self/oom_score_adj": "EACCES",
    "truncate /opt/main.py": "EROFS",
    "execute /usr/bin/sh": "OK",
    "execute /usr/bin/perl": "EACCES",
    "connect 192.0.2.1": "EACCES",
    "signal 1": "EPERM",
}
ON_ABI_2 = {**ATTEMPTS, "connect 192.0.2.1": "ENETUNREACH", "signal 1": "OK"}  # no network is the container's doing

CODE = f"""
import errno, json, os, socket, subprocess

def connect(address):
    with socket.socket() as outside:
        outside.connect((address, 443))

actions = {{"list": os.listdir, "read": lambda path: open(path).close(), "write": lambda path: open(path, "w").close(),
           "truncate": lambda path: os.truncate(path, 0), "execute": lambda path: subprocess.run([path, "-c", "exit 0"], check=True),
           "connect": connect, "signal": lambda process: os.kill(int(process), 0)}}

def attempt(text):
    action, _, subject = text.partition(" ")
    try:
        actions[action](subject)
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]

print(json.dumps({{text: attempt(text) for text in {list(ATTEMPTS)!r}}}))
"""


class DenialsTest(ContainerTest):
    def run_code(self, code, chat=None, **changes):
        """The image as it is: its ENTRYPOINT, its CMD, the code on standard input."""
        return self.docker.run(*supplied(chat or self.folder(), **changes), "mypy", input=code.encode())

    def said(self, code, chat=None, **changes):
        done = self.run_code(code, chat, **changes)
        self.assertEqual((done.returncode, text(done.stderr)), (0, ""))
        return done.stdout.decode()

    def test_what_is_denied(self):
        for abi, wanted in ((None, ATTEMPTS), (2, ON_ABI_2)):
            with self.subTest(abi=abi):
                chat = self.folder()
                script = chat.with_name(f"{chat.name}.other") / "main.py"
                shutil.copy(SOURCE / "policy/main.py", script)
                os.chown(script, self.uid, self.uid)
                outcome = self.launch(CODE, chat=chat, max_abi=abi, script=SUPPLIED["script"].format(script=script))
                self.assert_ran(outcome)
                self.assertEqual(json.loads(outcome.out), wanted)
                self.assertEqual(script.read_bytes(), (SOURCE / "policy/main.py").read_bytes())

    def test_other_chats_are_not_there(self):
        mine, other = self.folder(), self.folder()
        (other / "тайна.txt").write_text("secret")
        found = self.said('''
import os
for parent in ("/sandbox", "/tmp", "/dev/shm", "/var/lib"):
    for folder, _, files in os.walk(parent):
        for file in files:
            print(os.path.join(folder, file))
print([line.split()[3:5] for line in open("/proc/self/mountinfo") if " /sandbox" in line])
''', mine)
        self.assertNotIn("тайна", found)
        self.assertEqual(found, f"[['{mine}', '/sandbox']]\n")

    def test_files_persist_between_runs_of_a_chat(self):
        chat = self.folder()
        self.said("open('первый.txt', 'w').write('данные'); open('/tmp/gone', 'w'); open('/dev/shm/gone', 'w')", chat)
        self.assertEqual(self.said("import os; print(open('первый.txt').read(), os.listdir('/tmp'), os.listdir('/dev/shm'))", chat),
                         "данные [] []\n")
        self.assertEqual((chat / "первый.txt").read_text(), "данные")
        self.assertEqual((chat / "первый.txt").stat().st_uid, self.uid)

    def test_names_survive(self):
        names = ["Отчёт за год (копия).txt", "ёжик ' \" $HOME.csv", "новая\nстрока", "🙂"]
        chat = self.folder()
        self.said(f"for name in {names!r}:\n    open(name, 'w', encoding='utf-8').write(name)", chat)
        self.assertEqual({path.name: path.read_text() for path in chat.iterdir()}, {name: name for name in names})
        self.assertEqual(self.said("import os; print(sorted(os.listdir('.')))", chat), f"{sorted(names)}\n")

    def test_exit_status_is_the_programs(self):
        for code, wanted in (("raise SystemExit(0)", 0), ("raise SystemExit(3)", 3), ("raise SystemExit(125)", 125), ("1/0", 1),
                             ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137)):
            with self.subTest(code):
                self.assertEqual(self.run_code(code).returncode, wanted)

    def test_a_traceback_is_the_codes(self):
        done = self.run_code("def f():\n    return 1 / 0\nf()\n")
        self.assertEqual(done.stdout, b"")
        self.assertIn('File "<stdin>", line 2, in f\n', text(done.stderr))
        self.assertNotIn("main.py", text(done.stderr))

    def test_environment_is_the_policys(self):
        names = self.said("import os; print(*sorted(os.environ))", more="--env SECRET=1 --env LD_PRELOAD=/x.so --env TZ=Asia/Tokyo").split()
        self.assertIn("TZ", names)
        self.assertEqual({"SECRET", "LD_PRELOAD", "HOSTNAME"} & set(names), set())


if __name__ == "__main__":
    unittest.main()
