"""chat-files on this kernel: `files.py CHAT`. Each line is what was tried, and what came of it; on every kernel they are the same.

It runs with Debian's minimal Python, in the container's chat as its user, or as root in a directory that it makes.
"""

import os
import re
import socket
import subprocess
import sys

CHAT = sys.argv[1]
OWNER = 1000
PARTS = 300_000  # bytes of a file that the kernel copies in several parts


def ask(*words, data=b"", **keywords):
    return subprocess.run(["chat-files", "--format=json", *words], capture_output=True, check=False,
                          **keywords or {"input": data})


def outcome(answer):
    """"ok", and what was done; or the code of the refusal."""
    found = re.search(r'"(?:code|outcome)": ?"([\w-]+)"', (answer.stderr or answer.stdout).decode())
    return f"{answer.returncode} {found[1] if found else 'ok'}"


def tell(what, result):
    print(f"{what}: {result}")


def through_pipe(subcommand, content):
    """The whole of what a pipe delivers, or takes."""
    answer = ask(subcommand, CHAT, "piped", data=content if subcommand == "put" else b"")
    return outcome(answer) if subcommand == "put" else answer.stdout == content


def through_files(content):
    """From a file and to one: the kernel copies."""
    place = os.path.join(CHAT, "..", "content") if os.geteuid() == 0 else "/tmp/content"
    with open(place, "wb+") as file:
        file.write(content)
        file.seek(0)
        tell("put a file", outcome(subprocess.run(["chat-files", "--format=json", "put", CHAT, "отчёт.txt"], stdin=file, capture_output=True, check=False)))
    with open(place + ".back", "wb+") as file:
        subprocess.run(["chat-files", "get", CHAT, "отчёт.txt"], stdout=file, check=True)
        file.seek(0)
        tell("get a file", file.read() == content)


def make_kinds():
    os.symlink("/etc/passwd", os.path.join(CHAT, "link"))
    os.mkfifo(os.path.join(CHAT, "fifo"))
    os.mkdir(os.path.join(CHAT, "folder"))
    os.link(os.path.join(CHAT, "piped"), os.path.join(CHAT, "hard-link"))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.join(CHAT, "socket"))
    with open(os.path.join(CHAT, "sparse"), "wb") as file:
        file.truncate(1 << 30)
    return "link", "fifo", "folder", "hard-link", "socket", "sparse", "none", "../kept", "a\nb"


def import_folder():
    source = os.path.join(CHAT, "..", "source") if os.geteuid() == 0 else "/tmp/source"
    os.makedirs(source + "/sub/папка")
    for name in ("b", "a", "sub/c", "sub/папка/d"):
        with open(f"{source}/{name}", "w", encoding="utf-8") as file:
            file.write(name * 5000)
    os.symlink("..", source + "/sub/loop")
    answer = ask("import", CHAT, source, source + "/none", source + "/a")
    for path, result in re.findall(r'"path": ("[^"]*"|null),\s*"outcome": "(\w+)"', answer.stdout.decode()):
        tell(f"import {path}", result)
    for name in ("a", "sub/папка/d"):
        with open(os.path.join(CHAT, name), encoding="utf-8") as file:
            tell(f"imported {name}", file.read() == name * 5000)


def main():
    content = os.urandom(PARTS)
    if os.geteuid() == 0:
        os.makedirs(CHAT, 0o700)
        os.chown(CHAT, OWNER, OWNER)
    tell("put", outcome(ask("put", CHAT, "piped", data=b"old")))
    tell("replace", through_pipe("put", content))
    tell("get", through_pipe("get", content))
    through_files(content)
    for name in make_kinds():
        tell(f"get {name!r}", outcome(ask("get", CHAT, name)))
        tell(f"put {name!r}", outcome(ask("put", CHAT, name, data=b"new")))
    import_folder()
    tell("remove", outcome(ask("remove", CHAT, "отчёт.txt")))
    tell("list", re.findall(r'"name": "([^"]*)"', ask("list", CHAT).stdout.decode()))
    tell("owners", sorted({os.lstat(os.path.join(CHAT, name)).st_uid for name in ("a", "sub", "sub/папка/d", "piped")}))
    tell("nothing is left", not any(name < " " for name in os.listdir(CHAT)))
    tell("the link's target", os.path.getsize("/etc/passwd") > 0)


main()
