"""Virtual machines: one boot for each kernel, a few at a time, under QEMU's emulation, which needs nothing of the host.

No machine outlives this process: each is ended at its deadline and on the way out, whatever the reason, and by the kernel if this
process is killed.
"""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import image

KERNELS = Path(os.environ.get("CACHE_DIRECTORY", "/var/cache/landlock-exec")) / "kernels"
DEADLINE = 1800  # seconds that one boot may take; seen on a host with ten times as much to do as it has processors: 1270
AT_ONCE = 2

QEMU = ("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", "tcg", "-smp", "1", "-m", "1024", "-nodefaults",
        "-no-user-config", "-display", "none", "-no-reboot")
# no_timer_check: where the host is busy the emulated timer comes late, and the kernel would take it for broken and panic.
COMMAND_LINE = "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"


@dataclasses.dataclass
class Result:
    """Of a run: the container's exit status, both outputs, and the files of the two chats by name."""

    code: int
    out: str
    err: str
    chat: dict
    another: dict

    @property
    def status(self):
        """The launcher's line of JSON, the first on standard error, or None."""
        try:
            return json.loads(self.err.partition("\n")[0])
        except ValueError:
            return None


class Machine:
    """`system`: the release of a kernel, and what its command line has besides, if anything."""

    def __init__(self, system, runs, initramfs, folder):
        self.system = system
        release, _, parameters = system.partition(" ")
        self.folder = Path(folder) / system
        self.folder.mkdir()
        for name in ("console", "results"):
            (self.folder / name).touch()  # QEMU takes its time, and may not start at all
        self.started = time.monotonic()
        kernel = KERNELS / release
        self.process = subprocess.Popen([*QEMU, "-kernel", kernel / "vmlinuz", "-append", f"{COMMAND_LINE} {parameters}",
                                         "-initrd", self.initramfs(kernel, runs, initramfs),
                                         "-serial", f"file:{self.folder}/console", "-serial", f"file:{self.folder}/results"],
                                        stdin=subprocess.DEVNULL)

    def initramfs(self, kernel, runs, common):
        """The common one, and this machine's part behind it."""
        own = self.folder / "own"
        own.mkdir()
        (own / "runs").write_text("".join(f"{run}\n" for run in runs))
        if (kernel / "overlay.ko").exists():
            shutil.copy(kernel / "overlay.ko", own)
        shutil.copy(common, self.folder / "initramfs")
        image.pack(own, self.folder / "initramfs")
        return self.folder / "initramfs"

    @property
    def seconds(self):
        return time.monotonic() - self.started

    def has_ended(self):
        if self.process.poll() is not None:
            return True
        if self.seconds > DEADLINE:
            raise RuntimeError(f"Linux {self.system} does not end in {DEADLINE} seconds:\n{self.console()}")
        return False

    def console(self):
        return (self.folder / "console").read_text(errors="replace")[-4000:]

    def results(self):
        try:
            with tarfile.open(self.folder / "results") as archive:
                files = {entry.name.removeprefix("./"): archive.extractfile(entry).read() for entry in archive if entry.isfile()}
        except tarfile.TarError as error:
            raise RuntimeError(f"Linux {self.system} hands over no results ({error}):\n{self.console()}") from None
        return {run: self.result(files, run) for run in sorted({name.partition("/")[0] for name in files})}

    @staticmethod
    def result(files, run):
        code, out, err = (files[f"{run}/{name}"].decode("utf-8", "surrogateescape") for name in ("code", "out", "err"))
        chats = [{name.removeprefix(folder): content for name, content in files.items() if name.startswith(folder)}
                 for folder in (f"{run}/chat/", f"{run}/another/")]
        return Result(int(code), out, err, *chats)

    def end(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def work_folder():
    """A folder that is removed on the way out, also when this process is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="landlock-exec-kernel.", dir="/var/tmp") as name:
        yield Path(name)


def boot(machines, initramfs, folder, tell=lambda machine: None):
    """Boots each system, {system: runs}, in this order. Gives {system: {run: Result}}; `tell` hears of each that has ended."""
    waiting, running, results = list(machines.items()), [], {}
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(Machine(*waiting.pop(0), initramfs, folder))
            for machine in [machine for machine in running if machine.has_ended()]:
                results[machine.system] = machine.results()
                running.remove(machine)
                tell(machine)
            time.sleep(0.05)
    finally:
        for machine in running:
            machine.end()
    return results
