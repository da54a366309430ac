"""Descriptors to which nothing can be written: full, closed, without a reader. No program runs whose status line could not be written,
and no refusal is silent where there is anything to say it on."""

import fcntl
import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from harness import ORDINARY, as_user, launcher_environment, report, said, wait_until
from injection import FaultTest, numbers


def full_pipe(blocks):
    """Its ends; nothing more can be written to it."""
    reading, writing = map(high, os.pipe())
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writing, blocks)
    return reading, writing


def high(fd):
    """Out of the way of those that the program has."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return moved


def pipe_without_reader():
    reading, writing = map(high, os.pipe())
    os.close(reading)
    return writing


def drained(reading):
    os.set_blocking(reading, False)
    parts = []
    try:
        while part := os.read(reading, 65536):
            parts.append(part)
    except BlockingIOError:
        pass
    return b"".join(parts)


class Streams(FaultTest):
    def setUp(self):
        super().setUp()
        self.make_places()
        self.good = self.write_policy()
        self.bad = self.make("bad.policy", self.good.read_text() + "allow read /missing\n")
        self.count = 0

    def tearDown(self):
        report("fault.streams", f"{self.id().split('.', 1)[1]}: {self.count} launches")
        super().tearDown()

    def start(self, policy, *options, status=None, err=None, out=None, closed=(), ignored=()):
        """The program writes to a file when it runs. `status`: a descriptor; `closed`: those that are, from the start."""
        self.count += 1
        self.report = self.folder / f"report.{self.count}"
        report = high(os.open(self.report, os.O_WRONLY | os.O_CREAT, 0o600))
        passed = [report] if status is None else [report, status]

        def prepare():
            os.dup2(report, 5)
            for number in closed:
                os.close(number)
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)

        options = [*options, *(["--status-fd", str(status)] if status is not None else []), "--pass-fd", "5"]
        outside, inside = self.folder / "outside", self.folder / "inside"
        program = [self.bin / "witness", outside, inside, outside / "secret", "1", "none", "1"]
        command = [self.launcher, "--policy", policy, *options, "--", *program]
        try:
            return subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL, stdout=out or subprocess.DEVNULL,
                                    stderr=err, env=launcher_environment(), pass_fds=(5, *passed), preexec_fn=prepare,
                                    **as_user(ORDINARY))
        finally:
            os.close(report)

    def run_it(self, *arguments, **keywords):
        """The exit status, and standard error where it is a pipe."""
        with self.start(*arguments, **keywords) as process:
            _, err = process.communicate(timeout=30)
        return process.returncode, said(err or b"").decode()

    def has_run(self):
        return self.report.stat().st_size > 0

    def assert_refused(self, result, text):
        self.assertEqual(result[0], 125, result)
        self.assertIn(text, result[1])
        self.assertFalse(self.has_run())

    def test_status_line_that_cannot_be_written(self):
        """Above 2, and for a launch and a refusal; the signals of it ignored or not."""
        no_reader, (reading, full) = pipe_without_reader(), full_pipe(blocks=False)
        device = high(os.open("/dev/full", os.O_WRONLY))
        read_only = high(os.open("/dev/null", os.O_RDONLY))
        path_only = high(os.open("/dev/null", os.O_PATH))
        cases = ((no_reader, "Broken pipe"), (full, "Resource temporarily unavailable"), (device, "No space left on device"),
                 (read_only, "it is not open for writing"), (path_only, "it is not open for writing"))
        for (status, text), ignored in itertools.product(cases, ((), (signal.SIGPIPE,))):
            with self.subTest(text, ignored=ignored):
                self.assert_refused(self.run_it(self.good, status=status, err=subprocess.PIPE, ignored=ignored), text)
                result = self.run_it(self.bad, status=status, err=subprocess.PIPE, ignored=ignored)
                self.assert_refused(result, "not open for writing" if status in (read_only, path_only) else "/missing")
        for fd in (no_reader, reading, full, device, read_only, path_only):
            os.close(fd)

    def test_closed_status_descriptor(self):
        status = high(os.open("/dev/null", os.O_WRONLY))
        self.assert_refused(self.run_it(self.good, status=status, err=subprocess.PIPE, closed=(status,)), "it is not open")
        os.close(status)

    def test_blocking_status_descriptor(self):
        """What blocks waits for its reader, as everywhere; until then no program runs."""
        reading, writing = full_pipe(blocks=True)
        with self.start(self.good, status=writing, err=subprocess.PIPE) as process:
            self.assert_waits(process)
            said_by_then = drained(reading)
            self.assertEqual(process.wait(30), 0)
        self.assertTrue(self.has_run())
        self.assertEqual(json.loads((said_by_then + drained(reading)).lstrip(b"x"))["event"], "starting")
        for fd in (reading, writing):
            os.close(fd)

    def assert_waits(self, process):
        """In write(2), and stays there."""
        wait_until(lambda: self.waits_in_write(process.pid))
        time.sleep(0.1)
        self.assertIsNone(process.poll())
        self.assertTrue(self.waits_in_write(process.pid))
        self.assertFalse(self.has_run())

    @staticmethod
    def waits_in_write(pid):
        return Path(f"/proc/{pid}/syscall").read_text(encoding="utf-8").split()[0] == str(numbers()["write"])

    def test_standard_error_full_and_blocking(self):
        """A warning waits; killed meanwhile, nothing has run."""
        for end in ("drained", signal.SIGTERM, signal.SIGKILL):
            with self.subTest(end):
                reading, writing = full_pipe(blocks=True)
                with self.start(self.good, "--max-abi", "7", err=writing) as process:
                    self.assert_waits(process)
                    if end == "drained":
                        said_by_then = drained(reading)
                        self.assertEqual(process.wait(30), 0)
                        self.assertTrue((said_by_then + drained(reading)).lstrip(b"x").startswith(b"landlock-exec: warning: "))
                    else:
                        process.send_signal(end)
                        self.assertEqual(process.wait(30), -end)
                self.assertEqual(self.has_run(), end == "drained")
                os.close(reading)
                os.close(writing)

    def test_standard_error_that_cannot_be_written(self):
        """A warning is lost and the program runs; a refusal has its exit status, and the status line where there is one."""
        no_reader, (reading, full) = pipe_without_reader(), full_pipe(blocks=False)
        device = high(os.open("/dev/full", os.O_WRONLY))
        for err, ignored in itertools.product((no_reader, full, device), ((), (signal.SIGPIPE,))):
            with self.subTest(err, ignored=ignored):
                self.assertEqual(self.run_it(self.good, "--max-abi", "7", err=err, ignored=ignored)[0], 0)
                self.assertTrue(self.has_run())
                status = [high(fd) for fd in os.pipe()]
                self.assertEqual(self.run_it(self.bad, err=err, status=status[1], ignored=ignored)[0], 125)
                self.assertFalse(self.has_run())
                line = json.loads(drained(status[0]))
                self.assertEqual((line["event"], line["reason"]), ("refused", "path"))
                for fd in status:
                    os.close(fd)
        for fd in (no_reader, reading, full, device):
            os.close(fd)

    def test_standard_error_is_the_status_descriptor(self):
        """And cannot be written: there is nothing to say it on but the exit status, and no program."""
        no_reader, (reading, full) = pipe_without_reader(), full_pipe(blocks=False)
        device = high(os.open("/dev/full", os.O_WRONLY))
        for err, policy in itertools.product((no_reader, full, device), (self.good, self.bad)):
            with self.subTest(err, policy=policy.name):
                self.assertEqual(self.run_it(policy, "--status-fd", "2", err=err)[0], 125)
                self.assertFalse(self.has_run())
        for fd in (no_reader, reading, full, device):
            os.close(fd)

    def test_closed_streams(self):
        """All combinations: /dev/null stands in, the program has it, and what is said is lost; the exit status is not."""
        for closed in itertools.chain.from_iterable(itertools.combinations((0, 1, 2), count) for count in (1, 2, 3)):
            with self.subTest(closed):
                status = [high(fd) for fd in os.pipe()]
                self.assertEqual(self.run_it(self.good, status=status[1], closed=closed, err=subprocess.DEVNULL)[0], 0)
                self.assertIn("end: 0", self.report.read_text())
                self.assertIn("descriptors: 0(20000) 1(20000) 2(20000)", self.report.read_text())
                self.assertEqual(json.loads(drained(status[0]))["event"], "starting")
                self.assertEqual(self.run_it(self.bad, status=status[1], closed=closed, err=subprocess.DEVNULL)[0], 125)
                self.assertFalse(self.has_run())
                self.assertEqual(json.loads(drained(status[0]))["event"], "refused")
                for fd in status:
                    os.close(fd)

    def test_dry_run_that_cannot_be_written(self):
        no_reader, (reading, full) = pipe_without_reader(), full_pipe(blocks=False)
        device = high(os.open("/dev/full", os.O_WRONLY))
        for out, text in ((full, "Resource temporarily unavailable"), (device, "No space left on device")):
            with self.subTest(text):
                self.assert_refused(self.run_it(self.good, "--dry-run", out=out, err=subprocess.PIPE), text)
        for ignored in ((), (signal.SIGPIPE,)):
            self.assert_refused(self.run_it(self.good, "--dry-run", out=no_reader, err=subprocess.PIPE, ignored=ignored), "Broken pipe")
        self.assertFalse(self.has_run())
        for fd in (no_reader, reading, full, device):
            os.close(fd)
