"""What a system call can fail with: the section ERRORS of its manual page (manpages-dev), and a table for what those leave out."""

import errno
import functools
import gzip
import os
import re
import subprocess
from pathlib import Path

MANUALS = Path("/usr/share/man/man2")
COMPILER = os.environ.get("COMPILER", "cc")

# What the kernel calls otherwise than its manual page, and pages that lean on another.
PAGES = {
    "execveat": ("execveat", "execve"), "openat2": ("openat2", "open"), "newfstatat": ("stat",), "rt_sigaction": ("sigaction",),
    "rt_sigprocmask": ("sigprocmask",), "rt_sigpending": ("sigpending",), "rt_sigtimedwait": ("sigwaitinfo",), "prlimit64": ("getrlimit",),
    "pread64": ("read", "lseek"), "faccessat2": ("access",), "getdents64": ("getdents",), "wait4": ("waitpid",), "clone3": ("clone",),
    "ppoll": ("poll",),
}

# Of those whose pages have no such section, or which have no page.
OWN = {"brk": {errno.ENOMEM}, "rseq": {errno.EINVAL, errno.EFAULT, errno.EBUSY, errno.EPERM}}

# What any call gives where a seccomp profile, an emulator, a signal, a broken disk or a lack of memory comes in between.
ANY = {errno.EPERM, errno.ENOSYS, errno.EINTR, errno.EIO, errno.ENOMEM, errno.EAGAIN}

# They always succeed, their pages say, and what they return is no errno.
WITHOUT_ERRORS = {"set_tid_address", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "umask", "gettid"}

# They do not return.
ENDLESS = {"exit", "exit_group", "rt_sigreturn"}


@functools.cache
def names():
    """The numbers of this machine's system calls and their names."""
    text = subprocess.run([COMPILER, "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    return {int(number): name for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.MULTILINE)}


def text_of(page):
    text = gzip.open(MANUALS / f"{page}.2.gz", "rt", encoding="utf-8").read()
    link = re.search(r"^\.so man2/(\w+)\.2", text, re.MULTILINE)
    return text_of(link[1]) if link else text


def listed_on(page):
    section = re.search(r"^\.SH ERRORS\n(.*?)(?=^\.SH )", text_of(page), re.MULTILINE | re.DOTALL)
    words = re.findall(r"^\.BR? (E[A-Z0-9]+)\b", section[1] if section else "", re.MULTILINE)
    found = {getattr(errno, word) for word in words if hasattr(errno, word)}
    if not found:
        raise AssertionError(f"the manual page {page}(2) lists no errno")
    return found


@functools.cache
def listed(name):
    """The errnos that its pages list."""
    return frozenset(OWN[name] if name in OWN else set.union(*map(listed_on, PAGES.get(name, (name,)))))


def of(name):
    """All that are to be tried."""
    return [] if name in WITHOUT_ERRORS else sorted(listed(name) | ANY)
