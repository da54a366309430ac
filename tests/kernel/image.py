"""The initramfs that a virtual machine boots: busybox, runc, the image of the container, and the scenarios.

The image is what the commands, the launcher's helper and Python need, taken from this machine, and what `cmake --install` installs.
"""

import os
import shutil
import subprocess
from importlib.util import cache_from_source
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = Path(os.environ.get("SOURCE", HERE.parents[1]))
BUILD = Path(os.environ.get("BUILD", SOURCE / "build/release"))
HELPERS = Path(os.environ.get("SANDBOX_HELPERS", BUILD / "tests/sandbox"))
ATTACKS = BUILD / "tests/attack"

PYTHON = os.path.realpath("/usr/bin/python3")
APPLETS = ("chown", "chroot", "cp", "ifconfig", "insmod", "ln", "mkdir", "mount", "poweroff", "sh", "stty", "tar", "umount")
POLICIES = "etc/landlock-exec"


def add(root, path, source=None):
    """A file of this machine, here or somewhere else in the tree; its directory may be a link in the tree."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source or path, target)


def add_libraries(root, program):
    """The shared libraries that a program loads, if it loads any."""
    for word in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.split():
        if word.startswith("/"):
            add(root, word)


def add_program(root, path, source=None):
    add(root, path, source)
    add_libraries(root, source or path)


def add_directories(root, *names):
    """With /bin, /sbin, /lib and /lib64 as links, as Debian has them."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in names:
        (root / name).mkdir(parents=True)


def add_python(root):
    """Debian's minimal Python, with its modules in their compiled form, too: compiling them would take most of a scenario's time."""
    add_program(root, PYTHON)
    (root / "usr/bin/python3").symlink_to(PYTHON)
    package = f"lib{os.path.basename(PYTHON)}-minimal"
    listed = subprocess.run(["dpkg", "-L", package], stdout=subprocess.PIPE, text=True, check=True).stdout
    for path in listed.split("\n"):
        if path.startswith("/usr/lib/") and os.path.isfile(path):
            add(root, path)
            if path.endswith(".py") and os.path.exists(cache_from_source(path)):
                add(root, cache_from_source(path))


def add_attacks(root):
    for name in ("attack", "attack-payload"):
        add(root, f"/usr/bin/{name}", ATTACKS / name)


def make_image(root):
    """The root of the container."""
    add_directories(root, "dev", "etc", "home", "opt", "proc", "sandbox", "sys", "tmp", "usr/share")
    (root / "tmp").chmod(0o1777)  # a tmpfs on it takes that over
    add_python(root)
    subprocess.run(["cmake", "--install", BUILD], env={**os.environ, "DESTDIR": os.fspath(root)}, stdout=subprocess.DEVNULL, check=True)
    for program in ("usr/libexec/landlock-exec/check-container", "usr/bin/landlock-policy", "usr/bin/chat-files"):
        add_libraries(root, root / program)
    add_program(root, "/usr/bin/attempt", HELPERS / "attempt")
    add_attacks(root)
    add(root, "/usr/share/tests/files.py", HERE / "files.py")
    add_program(root, "/usr/bin/sh", "/bin/busybox")
    add(root, "/usr/lib/os-release")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    for policy in (*HERE.glob("*.policy"), SOURCE / "tests/attack/attack.policy"):
        shutil.copy(policy, root / POLICIES)


def make_tree(root):
    """The virtual machine's own root, without scenarios."""
    add_directories(root, "container", "dev", "host", "mnt", "proc", "run", "sandbox", "scenarios", "sys", "tmp")
    add(root, "/init", HERE / "init")
    add(root, "/usr/bin/busybox", "/bin/busybox")
    for name in APPLETS:
        (root / "usr/bin" / name).symlink_to("busybox")
    add_program(root, "/usr/sbin/runc")
    add_attacks(root)
    add_program(root, "/usr/bin/abi_supervisor", HELPERS / "abi_supervisor")
    make_image(root / "image")
    helper = "/usr/libexec/landlock-exec/check-container"  # for the launcher where there is no container, which is to be found out
    add_program(root, helper, f"{root}/image{helper}")


def pack(tree, file):
    """Adds a tree to an initramfs, everything owned by root. It is not compressed: under emulation that would take longer."""
    names = subprocess.run(["find", "."], cwd=tree, stdout=subprocess.PIPE, check=True).stdout
    with open(file, "ab") as output:
        subprocess.run(["busybox", "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=tree, input=names, stdout=output,
                       stderr=subprocess.DEVNULL, check=True)
