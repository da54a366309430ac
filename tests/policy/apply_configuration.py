"""apply_configuration.py FILE PROGRAM [ARGUMENT...]: applies a configuration of landlockconfig to itself with the kernel's calls and becomes the
program. It follows the format's specification, not lib/config: the tests compare the two."""

import ctypes
import itertools
import json
import os
import re
import stat
import struct
import sys

FS = ("execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file", "make_char", "make_dir", "make_reg", "make_sock", "make_fifo",
      "make_block", "make_sym", "refer", "truncate", "ioctl_dev")
NET, SCOPES = ("bind_tcp", "connect_tcp"), ("abstract_unix_socket", "signal")
FS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16}  # how many of them an ABI has
FOR_FILES = {"execute", "write_file", "read_file", "truncate", "ioctl_dev"}
LIBC = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = LIBC.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return result


def names_of_abi(kind, abi):
    abi = min(abi, 6)
    if kind is FS:
        return set(FS[:FS_OF_ABI[abi]])
    return set(kind) if abi >= (4 if kind is NET else 6) else set()


def rights(kind, names, abi):
    found = set()
    for name in names:
        if not name.startswith("abi."):
            found.add(name)
            continue
        every = names_of_abi(kind, abi)
        found |= {"abi.all": every, "abi.read_execute": every & {"execute", "read_file", "read_dir", "refer"}, "abi.read_write": every - {"execute"}}[name]
    return found


def expand(text, variables):
    parts = [["$"] if part == "$$" else variables[part[2:-1]] if part.startswith("${") else [part]
             for part in re.split(r"(\$\$|\$\{[^}]*\})", text) if part]
    return ["".join(choice) for choice in itertools.product(*parts)]


def bits(kind, names):
    return sum(1 << kind.index(name) for name in names)


def apply(configuration):
    kernel, abi = call(444, None, 0, 1), configuration.get("abi", 0)
    variables = {}
    for variable in configuration.get("variable", []):
        variables.setdefault(variable["name"], []).extend(variable.get("literal", []))
    handled = {FS: set(), NET: set(), SCOPES: set()}
    for ruleset in configuration.get("ruleset", []):
        for kind, key in ((FS, "handledAccessFs"), (NET, "handledAccessNet"), (SCOPES, "scoped")):
            handled[kind] |= rights(kind, ruleset.get(key, []), abi)
    paths, ports = {}, {}
    for rule in configuration.get("pathBeneath", []):
        access = rights(FS, rule["allowedAccess"], abi)
        handled[FS] |= access
        for parent in rule["parent"]:
            for path in expand(parent, variables):
                paths.setdefault(path, set()).update(access)
    for rule in configuration.get("netPort", []):
        access = rights(NET, rule["allowedAccess"], abi)
        handled[NET] |= access
        for port in rule["port"]:
            ports.setdefault(port, set()).update(access)
    for kind in handled:
        handled[kind] &= names_of_abi(kind, kernel)
    attribute = struct.pack("=QQQ", *(bits(kind, handled[kind]) for kind in (FS, NET, SCOPES)))[:8 if kernel < 4 else 16 if kernel < 6 else 24]
    ruleset = call(444, attribute, len(attribute), 0)
    for path, access in paths.items():
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        access = access & handled[FS] & (set(FS) if stat.S_ISDIR(os.fstat(parent).st_mode) else FOR_FILES)
        if access:
            call(445, ruleset, 1, struct.pack("=Qi", bits(FS, access), parent), 0)
    for port, access in ports.items():
        if access & handled[NET]:
            call(445, ruleset, 2, struct.pack("=QQ", bits(NET, access & handled[NET]), port), 0)
    LIBC.prctl(38, 1, 0, 0, 0)
    call(446, ruleset, 0)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        apply(json.load(file))
    os.execv(sys.argv[2], sys.argv[2:])
