"""What runs in the containers: each scenario is Docker's OCI configuration, a command line and what the container reads. One runs outside.

The configuration is the one that dockerd wrote for a real `docker run` with the supplied options, or with one of the departures; only
the command line, where things lie, and the hook that belongs to the daemon are others.
"""

import io
import json
import shutil
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "container"))
from daemon import Daemon
from harness import POLICY, SCRIPT, SOURCE, SUPPLIED, supplied

# Other options of docker run for a key of the supplied ones, each what the container check is there to find.
DEPARTURES = {
    "user 0": {"user": "--user 0:0"},
    "a capability": {"capabilities": "--cap-drop ALL --cap-add NET_RAW"},
    "a writable root": {"root": ""},
    "a writable main.py": {"script": SUPPLIED["script"].removesuffix(",readonly")},
    "another chat": {"another": "--mount type=bind,source={chat}/another,target=/another"},
    "several": {"user": "--user 0:0", "root": "", "another": "--mount type=bind,source={chat}/another,target=/another"},
}

PROBE = ("landlock-policy", "probe", "--format", "json")
LAUNCHER = ("landlock-exec", "--status-fd", "2", "--policy")
PYTHON = (*LAUNCHER, POLICY, "--", "python3", SCRIPT)

# What a person's code does: it works on its own files, and tries what is not its own.
CODE = """
import os

def attempt(function, *arguments):
    try:
        function(*arguments)
        return "OK"
    except OSError as error:
        return os.strerror(error.errno)

mounts = {fields[4]: fields[fields.index("-") + 1] for fields in map(str.split, open("/proc/self/mountinfo"))}
print(os.getcwd(), os.getuid(), mounts["/"], mounts["/sys/fs/cgroup"])
with open("отчёт.txt", "w", encoding="utf-8") as file:
    file.write("Готово")
for path in ("/etc/passwd", "/opt/main.py", "/etc/landlock-exec/interpreter.policy"):
    print("read", path, attempt(open, path))
for path in ("/", "/etc", "/opt", "/home"):
    print("list", path, attempt(os.listdir, path))
"""
TRIED = ("read /etc/passwd", "read /opt/main.py", "read /etc/landlock-exec/interpreter.policy",
         "list /", "list /etc", "list /opt", "list /home")

# What it tries on the files of another chat, which belong to its own user.
CODE_ON_ANOTHER = CODE + """
print("list", "/another", attempt(os.listdir, "/another"))
print("read", "/another/kept", attempt(open, "/another/kept"))
print("append", "/another/kept", attempt(open, "/another/kept", "a"))
print("truncate", "/another/kept", attempt(os.truncate, "/another/kept", 0))
print("create", "/another/new", attempt(open, "/another/new", "x"))
print("remove", "/another/kept", attempt(os.remove, "/another/kept"))
"""
TRIED_ON_ANOTHER = (*TRIED, "list /another", "read /another/kept", "append /another/kept", "truncate /another/kept", "create /another/new",
                    "remove /another/kept")

# A process of the same user, outside of the restriction: it has a file, and listens on two sockets.
NEIGHBOUR = """
import os, socket, sys

with open("/dev/shm/file", "w") as file:
    file.write("content")
for name in ("/dev/shm/socket", "\\0neighbour"):
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    server.detach()  # it stays open
child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

# Operations of tests/sandbox/attempt.c in their order; the Landlock ABI that first restricts them (None: they are the program's own), and
# what they give from there on and before. The first process of the container is the same user's, too.
ATTEMPTS = (
    ("read /etc/passwd", 1, "EACCES", "OK"),
    ("list /", 1, "EACCES", "OK"),
    ("write /dev/shm/file", 1, "EACCES", "OK"),
    ("create /dev/shm/new", 1, "EACCES", "OK"),
    ("execute /usr/bin/python3", 1, "EACCES", "OK"),
    ("truncate /dev/shm/file", 3, "EACCES", "OK"),
    ("unlink /dev/shm/file", 1, "EACCES", "OK"),
    ("bind 5000", 4, "EACCES", "OK"),
    ("connect 5001", 4, "EACCES", "ECONNREFUSED"),
    ("ioctl /dev/zero", 5, "EACCES", "ENOTTY"),
    ("abstract neighbour", 6, "EPERM", "OK"),
    ("kill 1 0", 6, "EPERM", "OK"),
    ("unix /dev/shm/socket", 9, "EACCES", "OK"),
    ("bind_udp 5000", 10, "EACCES", "OK"),
    ("connect_udp 5001", 10, "EACCES", "OK"),
    ("send_udp 5001", 10, "EACCES", "OK"),
    ("create /sandbox/new", None, None, "OK"),
    ("truncate /sandbox/kept", None, None, "OK"),
    ("mkdir /sandbox/folder", None, None, "OK"),
    ("mkdir /tmp/folder", None, None, "OK"),
    ("kill 0 0", None, None, "OK"),
)
RENAME = "rename /sandbox/new /sandbox/folder/new"  # the last: what ABI 1 always denies (EXDEV), and later ones can allow

# What landlock-policy is asked: subcommand and policy, by name. All in one container, for most of a scenario's time is the container's;
# behind each answer its exit status.
QUESTIONS = {"probe": ("probe", POLICY), "expectations": ("test", POLICY), "network": ("test", "/etc/landlock-exec/network.policy")}
ASK = "; ".join(f"landlock-policy {subcommand} --format json {policy}; printf '\\f%s\\f' $?" for subcommand, policy in QUESTIONS.values())

ATTEMPT = ("/usr/bin/attempt", *" , ".join([*(row[0] for row in ATTEMPTS), RENAME]).split())
BESIDE_NEIGHBOUR = ("python3", "-c", NEIGHBOUR)

# The same under landlock-policy trace, its report behind what the program says; and what is denied: the right, the path or port, and the
# Landlock ABI from which on it is.
TRACE = ("sh", "-c", "landlock-policy trace --format json --report /tmp/report /etc/landlock-exec/attempts.policy -- \"$@\"; printf '\\f'; cat /tmp/report", "sh")
TRACED = (
    ("read_file", "/etc/passwd", 1), ("read_dir", "/", 1), ("write_file", "/dev/shm/file", 1), ("write_file", "/dev/shm", 1), ("make_reg", "/dev/shm", 1),
    ("remove_file", "/dev/shm", 1), ("truncate", "/dev/shm/file", 3), ("bind_tcp", 5000, 4), ("connect_tcp", 5001, 4), ("ioctl_dev", "/dev/zero", 5),
    ("abstract_unix_socket", None, 6), ("signal", None, 6), ("resolve_unix", "/dev/shm/socket", 9), ("bind_udp", 5000, 10), ("connect_send_udp", 5001, 10),
    ("bind_udp", 0, 10),  # the kernel chooses a port for a socket that has none
)

# What tests/attack does, by name: in and out of a container, with its victims beside it, or outside of its container ("contained").
# "plain": without the launcher, for comparison.
STAGE = "/container/attack"
PASSED = tuple(f"--pass-fd={fd}" for fd in range(50, 55))
SERVE = ("/usr/bin/attack", "serve")


def restricted(root=""):
    return (f"{root}/usr/bin/landlock-exec", "--policy", f"{root}/etc/landlock-exec/attack.policy")


def staged(folder, *options, root=""):
    """A stage in a folder, with and without the launcher in it. `root`: where the image is."""
    defines = (f"--define=work={folder}/work", f"--define=shared={folder}/shared")
    stage = ("/usr/bin/attack", "stage", *options, folder, "--")
    return {"": (*stage, *restricted(root), *PASSED, *defines, "--", *SERVE), " plain": (*stage, *SERVE)}


ATTACKS = {
    **{f"attacks inside{kind}": (None, words, "") for kind, words in staged("/dev/shm/attack").items()},
    "attacks contained": (None, (*restricted(), "--", *SERVE), ""),
    "attacks contained plain": (None, SERVE, ""),
}
AROUND = {name: f"/usr/bin/attack stage uid=1000 contained work=/sandbox {STAGE} --" for name in ATTACKS if "contained" in name}
OUTSIDE = {f"attacks beside{kind}": " ".join(words) for kind, words in staged(STAGE, "uid=1000", root="/image").items()}

# chat-files as the chat's user in a container, and as root in none.
FILES = ("python3", "/usr/share/tests/files.py")

# By name: the departure (None: the supplied configuration), the command line, and what it reads (None: it runs in no container).
SCENARIOS = {
    "python": (None, PYTHON, CODE),
    "attempts": (None, (*BESIDE_NEIGHBOUR, *LAUNCHER, "/etc/landlock-exec/attempts.policy", "--", *ATTEMPT), ""),
    "trace": (None, (*BESIDE_NEIGHBOUR, *TRACE, *ATTEMPT), ""),
    "unrestricted": (None, (*BESIDE_NEIGHBOUR, *ATTEMPT), ""),  # for comparison, without the launcher
    **{departure: (departure, PYTHON, CODE) for departure in DEPARTURES},
    "another chat": ("another chat", PYTHON, CODE_ON_ANOTHER),
    "answers": (None, ("sh", "-c", ASK), ""),
    "probe several": ("several", (*PROBE, POLICY), ""),
    "probe outside": (None, PROBE, None),
    "files": (None, (*FILES, "/sandbox"), ""),  # without the launcher: chat-files is the host's
    "files of root": (None, (*FILES, "/tmp/chats/chat"), None),
    **ATTACKS,
}


# ---- Docker's configurations ----

def import_sleeper(docker):
    """The smallest image that a container can live in while its configuration is read."""
    tag = "landlock-exec/sleeper"
    if not docker.words("images", "--quiet", tag):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            archive.add("/bin/busybox", "bin/sleep")
        docker.docker("import", "-", tag, input=buffer.getvalue())
    return tag


def configurations(folder):
    """What dockerd makes of the supplied options (None) and of each departure."""
    (folder / "another").mkdir()
    shutil.copy(SOURCE / "policy/main.py", folder.parent)
    with Daemon() as docker:
        image = import_sleeper(docker)
        configurations = {}
        for name, changes in {None: {}, **DEPARTURES}.items():
            # On cgroup v1 a namespace of its own must be asked for; on v2, which the virtual machines have, it is the default.
            options = supplied(folder, **changes, cgroups="--cgroupns private")
            with docker.started(*options, "--entrypoint", "/bin/sleep", image, "600") as container:
                configurations[name] = docker.config_of(container)
    return configurations


PLACES = {"/sandbox": "/container/chat", "/another": "/container/another"}  # what else is bound is in /host


def is_bound(mount):
    return "bind" in mount["options"] or "rbind" in mount["options"]


def place_of(mount):
    return PLACES.get(mount["destination"], f"/host/{Path(mount['destination']).name}")


def settle(configuration, command, places):
    """A configuration in the virtual machine, for another program. The hook is the daemon's: it would connect the network."""
    settled = {key: value for key, value in configuration.items() if key != "hooks"}
    arguments = configuration["process"]["args"]
    settled["process"] = {**configuration["process"], "args": [*arguments[:arguments.index("/bin/sleep")], *command]}
    settled["root"] = {**configuration["root"], "path": "/container/root"}
    settled["mounts"] = [{**mount, "source": places.get(mount["destination"], place_of(mount))} if is_bound(mount) else mount
                         for mount in configuration["mounts"]]
    return settled


def add_host_files(tree, configuration):
    """The files that are bound: this machine's, or empty ones for those of /etc, which the daemon has removed with its container."""
    for mount in filter(is_bound, configuration["mounts"]):
        if mount["destination"] not in PLACES:
            target = tree / place_of(mount).lstrip("/")
            if Path(mount["source"]).exists():
                shutil.copy(mount["source"], target)
            else:
                target.touch()


def add_scenarios(tree, configurations):
    """Each as the virtual machine's init finds it."""
    add_host_files(tree, configurations[None])
    for name, command in OUTSIDE.items():
        (tree / "scenarios" / name).mkdir()
        (tree / "scenarios" / name / "outside").write_text(command)
    for name, (departure, command, data) in SCENARIOS.items():
        folder = tree / "scenarios" / name
        folder.mkdir()
        places = {"/sandbox": f"{STAGE}/work"} if name in AROUND else {}
        if data is None:
            (folder / "command").write_text(" ".join(command))
            continue
        (folder / "config.json").write_text(json.dumps(settle(configurations[departure], command, places)))
        if name in AROUND:
            (folder / "around").write_text(AROUND[name])
        (folder / "input").write_text(data, encoding="utf-8")
