"""What Python's libraries need, for tests that take it away from the supplied policy and let landlock-policy trace name it.

{sandbox} and {tmp} in code are the folders of the policy; `list_folder` gives the paths in a folder where the program runs.
"""

import dataclasses
import re
from typing import Callable, Sequence

PACKAGES = "/usr/lib/python3/dist-packages"


@dataclasses.dataclass(frozen=True)
class Need:
    code: str
    taken: Sequence[str]  # paths that are taken out of the policy
    missing: Sequence[str]  # each line is for one of these or what is below it; (): the same
    options: Sequence[str] = ()  # of trace
    extra: Callable = lambda list_folder: ""  # lines that the policy has beside
    modules: Sequence[str] = ()
    files: Sequence[str] = ()  # that a machine must have
    lines: Sequence[str] = None  # just these; None: whatever `missing` says


def all_but(*left, below):
    """A policy that allows what is in folders but for some names, and to list the folders."""
    def lines(list_folder):
        others = [path for folder in below for path in list_folder(folder) if path not in left and path not in (*below, *(one.rsplit("/", 1)[0] for one in below))]
        return f"allow read_dir {below[0]}\nallow read {' '.join(others)}"

    return lines


def unwanted(*programs):
    """That programs are not to be executed, of which a machine may have more than the image."""
    return lambda list_folder: "\n".join(f"expect denied execute {path}" for path in list_folder("/usr/bin")
                                         if re.fullmatch(rf"/usr/bin/({'|'.join(programs)})", path))


NEEDS = {
    "numpy": Need("import numpy; print(numpy.arange(5).sum())", ("/usr/lib", "/lib"), (f"{PACKAGES}/numpy",), ("--gather", "--runs", "100"),
                  all_but(f"{PACKAGES}/numpy", below=("/usr/lib", PACKAGES)), ("numpy",)),
    "pandas": Need("import pandas\nprint(pandas.Timestamp('2026-07-01 12:00', tz='Europe/Moscow').tz_convert('UTC'))", ("/usr/lib", "/lib"),
                   (f"{PACKAGES}/dateutil",), ("--gather", "--runs", "100"), all_but(f"{PACKAGES}/dateutil", below=("/usr/lib", PACKAGES)), ("pandas",)),
    "matplotlib": Need("""
import shutil
for name in ("matplotlib", "cache"): shutil.rmtree("{tmp}/" + name, True) # what an earlier run has found out about fonts
import matplotlib.pyplot as plot
plot.title("цена")
plot.plot([1, 2])
plot.savefig("{sandbox}/x.png")
""", ("/etc/matplotlibrc", "/etc/fonts", "/var/cache/fontconfig"), (), ("--runs", "20"), modules=("matplotlib",)),
    "openpyxl": Need("import openpyxl; openpyxl.Workbook().save('{sandbox}/x.xlsx')", ("/etc/mime.types",), (), modules=("openpyxl",),
                     lines=("allow read_file /etc/mime.types",)),
    "zoneinfo": Need("import zoneinfo; print(zoneinfo.ZoneInfo('Europe/Moscow'))", ("/usr/share",), ("/usr/share/zoneinfo",),
                     extra=all_but("/usr/share/zoneinfo", below=("/usr/share",)), lines=("allow read_file /usr/share/zoneinfo/Europe/Moscow",)),
    "certificates": Need("import ssl; ssl.create_default_context()", ("/etc/ssl",), (), ("--runs", "5"), files=("/etc/ssl/openssl.cnf",)),
    "find_library": Need("import ctypes.util; assert ctypes.util.find_library('c') == 'libc.so.6'", ("/usr/sbin/ldconfig",), (), ("--runs", "5"),
                         unwanted(r"[\w-]*gcc(-\d+)?", r"[\w-]*ld(\.\w+)?", "cc", "objdump"), lines=("allow execute,read_file /usr/sbin/ldconfig",)),
    "joblib": Need("import joblib\nprint(joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(i) for i in (-1, -2)))", ("/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup"),
                   (), ("--runs", "30"), unwanted("pgrep"), ("joblib",)),
    "semaphores": Need("import multiprocessing; print(multiprocessing.Semaphore(2).acquire())", ("/dev/shm",), (), ("--runs", "20")),
    "a utility": Need("import subprocess\nsubprocess.run('echo b | sort', shell=True, check=True)\nsubprocess.run(['sort', '/dev/null'], check=True)",
                      ("/usr/bin/sort", "/usr/bin/sh", "/usr/bin/dash"), (), ("--runs", "5"), lambda _: "allow ioctl_dev /dev/null",
                      lines=("allow execute,read_file /usr/bin/dash", "allow execute,read_file /usr/bin/sort")),
}


def take_away(folder, paths):
    """Takes paths out of the allow lines of the policies in a folder."""
    for policy in folder.glob("*.policy"):
        lines = policy.read_text().splitlines()
        for i, line in enumerate(lines):
            for path in paths if line.startswith("allow") else ():
                line = re.sub(rf" -?{re.escape(path)}(?=\s|$)", "", line)
            lines[i] = "" if line.startswith("allow") and len(line.split("#")[0].split()) < 3 else line
        policy.write_text("\n".join(lines) + "\n")


def is_for(line, paths):
    """Whether an allow line is for one of the paths, or for what is below it."""
    path = line.split()[2]
    return any(path == one or path.startswith(f"{one}/") for one in paths)
