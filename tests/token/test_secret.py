"""The value is in no output, argument, environment or core, and in memory only as long as it is needed."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from command import KEY, TokenTest
from harness import ORDINARY, PATIENCE, as_user, launcher_environment, need, need_root, wait_until

VALUE = "a-value-that-is-nowhere-else:" + "z" * 20
OTHER = "what-another-variable-has"


class Secret(TokenTest):
    @classmethod
    def setUpClass(cls):
        need(shutil.which("strace"), "strace")
        super().setUpClass()

    def test_no_answer_has_it(self):
        """Nor any other text of the file."""
        for text in (f"{KEY}={VALUE}", f"{KEY}={VALUE}\n{OTHER}={OTHER}\n", f"{KEY}={VALUE[:31]}\n{OTHER}: '{OTHER}'\n", f"{KEY}={VALUE} {OTHER}\n",
                     f"{KEY}={VALUE}$x\n", f"{KEY}={VALUE}\n{OTHER}='{OTHER}\n", f"{OTHER} {OTHER}=1\n", f"{OTHER}!{OTHER}\n", f"{OTHER}=1\n",
                     f"{KEY}={VALUE}\n{KEY}={VALUE}\n", f"{OTHER}\n{KEY}={VALUE}", f"{OTHER}"):
            for subcommand in ("check", "ensure"):
                self.write(text, 0o644)
                answer = self.ask(subcommand, ".env")
                for part in (VALUE[:8], OTHER[:8]):
                    self.assertNotIn(part, answer.out + answer.err, (text, answer))
                made = re.findall(rf"{KEY}=([0-9a-f]{{64}})\n", self.file.read_text())
                for value in made:
                    self.assertFalse(any(value[i:i + 8] in answer.out + answer.err for i in range(57)))

    def stopped(self, *words, at):
        """The command, stopped where it writes for the `at`th time; with strace, which holds it."""
        log = self.folder / "log"
        log.write_text("")
        log.chmod(0o666)
        tracer = subprocess.Popen(["strace", "-f", "-o", log, "-e", "trace=write", "-e", f"inject=write:signal=STOP:when={at}", self.command, *words],
                                  cwd=self.folder, env=launcher_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **as_user(ORDINARY))
        wait_until(lambda: "stopped by SIGSTOP" in log.read_text())
        return tracer, int(log.read_text().split()[0])

    def memory(self, pid):
        """All that can be written to of a process, and so may have been."""
        found = []
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
                if "w" in rights and "[v" not in line:
                    memory.seek(int(begin, 16))
                    found.append(memory.read(int(end, 16) - int(begin, 16)))
        return b"".join(found)

    def let_go(self, tracer, pid):
        os.kill(pid, signal.SIGCONT)
        out, err = tracer.communicate(timeout=PATIENCE)
        return tracer.returncode, out.decode(), err.decode()

    def test_it_is_wiped_from_memory(self):
        """When the answer is written, nothing is there of it; before, it was: so it would be found."""
        need_root()
        self.write(f"A={OTHER}\n{KEY}={VALUE}\n")
        tracer, pid = self.stopped("check", ".env", at=1)
        memory = self.memory(pid)
        self.let_go(tracer, pid)
        self.assertIn(KEY.encode(), memory)
        for text in (VALUE, OTHER):
            self.assertNotIn(text.encode(), memory)
        for at, found in ((1, True), (3, False)):
            self.write(f"A={OTHER}\n")
            tracer, pid = self.stopped("ensure", ".env", at=at)
            memory = self.memory(pid)
            self.assertEqual(self.let_go(tracer, pid)[0], 0)
            made = self.file.read_text().split("=")[-1].strip().encode()
            self.assertEqual(OTHER.encode() in memory, found, at)
            self.assertFalse(made in memory, at)

    def test_others_of_the_user_cannot_look(self):
        """Nor does a core file have anything: it is not dumpable, and the limit is 0."""
        need_root()
        self.write(f"{KEY}={VALUE}\n")
        tracer, pid = self.stopped("check", ".env", at=1)
        look = f"open('/proc/{pid}/mem', 'rb')"
        done = subprocess.run(["/usr/bin/python3", "-c", look], capture_output=True, check=False, **as_user(ORDINARY))
        limits = Path(f"/proc/{pid}/limits").read_text()
        words = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        owner = os.stat(f"/proc/{pid}/mem").st_uid
        self.let_go(tracer, pid)
        self.assertIn(b"PermissionError", done.stderr)
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertEqual(owner, 0)  # proc(5): not dumpable
        self.assertNotIn(VALUE.encode(), words)

    def test_there_is_no_core_file(self):
        self.write(f"{KEY}={VALUE}\n")
        tracer, pid = self.stopped("check", ".env", at=1)
        os.kill(pid, signal.SIGABRT)
        os.kill(pid, signal.SIGCONT)
        tracer.communicate(timeout=PATIENCE)
        self.assertEqual({name for name in os.listdir(self.folder) if "core" in name}, set())

    def test_memory_is_guarded_before_the_file_is_opened(self):
        self.write(f"{KEY}={VALUE}\n")
        done = subprocess.run(["strace", "-e", "trace=prctl,setrlimit,prlimit64,openat", self.command, "check", ".env"], cwd=self.folder,
                              capture_output=True, text=True, check=True)
        order = [done.stderr.index(text) for text in ("PR_SET_DUMPABLE, SUID_DUMP_DISABLE", "RLIMIT_CORE, {rlim_cur=0, rlim_max=0}", '".env"')]
        self.assertEqual(order, sorted(order))
        self.assertIn('".env", O_RDONLY|O_NOCTTY|O_NONBLOCK|O_NOFOLLOW|O_CLOEXEC', done.stderr)
