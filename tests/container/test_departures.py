"""Each departure from the supplied configuration is refused on Landlock ABI 2, where truncation would reach what it opens: nothing runs,
and the findings name what is amiss, each with the option that restores it; these and no others."""

import os
import unittest

from daemon import RUNTIME
from harness import HELPERS, POLICY, SCRIPT, ContainerTest, supplied, together

CODE = "open('/sandbox/written', 'w').close(); print('ran')"
SOCKET = f"{RUNTIME}/socket"

UNNAMED = r"is a writable mount that the policy does not name \({}"
NOT_OURS = r"is a writable mount, but not the one that the runtime itself makes there \({}"
LEAVE_OUT = r"leave out what mounts it \(-v, --mount, --tmpfs, --volumes-from, a VOLUME of the image\).* read-only \(:ro\)"


def stranger(path, kind=r"\S+, source \S+, root /\S*\)$"):
    return f"^{path} {UNNAMED.format(kind)}", LEAVE_OUT


def not_ours(path, kind):
    return f"^{path} {NOT_OURS.format(kind)}", f"no -v, --mount or --tmpfs on {path}$"


def user(*kinds):
    return f"^the user is not UID 1000 but {', '.join(kinds)}$", "--user 1000:1000$"


def everyone(uid):
    return user(*(f"{kind} UID {uid}" for kind in ("real", "effective", "saved", "filesystem")))


def capability(name, holds="cap_net_raw$"):
    return f"^the {name} capability set is not empty: {holds}", "--cap-drop ALL, and neither --privileged nor --cap-add$"


def shared_memory(kind):
    return f"^/dev/shm {NOT_OURS.format(kind)}", "neither --ipc=host nor a --tmpfs or -v on /dev/shm; --shm-size"


def socket(path):
    return f"^{path} is a socket", f"no -v or --mount on {path}$"


def become(*what):
    """The launcher is started by what tests/sandbox/become.c makes of root: with these user IDs and CAP_NET_RAW, 13, in these sets."""
    return {"before": ("become", *what, "--"), "user": "--user 0", "privileges": "",
            "capabilities": "--cap-drop ALL --cap-add SETUID --cap-add SETGID --cap-add SETPCAP --cap-add NET_RAW",
            "become": f"--mount type=bind,source={HELPERS}/become,target=/usr/bin/become,readonly"}


def more(options):
    return {"more": options}


FORGED = """--mount 'type=bind,source={other},"target=/data/a\nlandlock-exec: fine"'"""  # a line that is not the launcher's

READ_ONLY_ROOT = ("^/ must be read-only, and is mounted writable$", "--read-only$")
READ_ONLY_SCRIPT = ("^/opt/main.py must be read-only, and is mounted writable$", "-v SOURCE:/opt/main.py:ro")

# What departs, the changes of the supplied configuration, and the findings: what each says and what restores it.
DEPARTURES = [
    ("user 0", {"user": "--user 0"}, [everyone(0)]),
    ("another user", {"user": "--user 1001:1001"}, [everyone(1001)]),
    ("a capability", more("--cap-add NET_RAW"), [capability("bounding")]),
    ("a capability of user 0", {"user": "--user 0 --cap-add NET_RAW"},
     [everyone(0), capability("effective"), capability("permitted"), capability("bounding")]),
    ("bounding only", become("uid=1000", "bounding=13"), [capability("bounding")]),
    ("inheritable only", become("uid=1000", "inheritable=13"), [capability("inheritable")]),
    ("ambient, which brings three others", become("uid=1000", "permitted=13", "inheritable=13", "ambient=13"),
     [capability(name) for name in ("effective", "permitted", "inheritable", "ambient")]),
    ("effective and permitted, of the inheritable set", become("uid=0", "inheritable=13"),
     [everyone(0), *(capability(name) for name in ("effective", "permitted", "inheritable"))]),
    ("--privileged", more("--privileged"),
     [capability("bounding", r"cap_chown, .* and \d+ more$"), (f"^/sys {UNNAMED.format('sysfs')}", "--privileged")]),
    ("a writable root", {"root": ""},
     [READ_ONLY_ROOT, *((rf"^/etc/{name}\b.* writable", "--read-only") for name in (r"resolv\.conf", "hostname", "hosts"))]),
    ("a writable script", {"script": "-v {script}:/opt/main.py"}, [READ_ONLY_SCRIPT]),
    ("-v", more("-v {other}:/data"), [stranger("/data")]),
    ("-v of a file", more("-v /etc/hostname:/etc/motd"), [stranger("/etc/motd")]),
    ("-v below /sandbox", more("-v {other}:/sandbox/extra"), [stranger("/sandbox/extra")]),
    ("-v below /tmp", more("-v {other}:/tmp/extra"), [stranger("/tmp/extra")]),
    ("-v below a known mount", more("-v {other}:/dev/shm/extra"), [stranger("/dev/shm/extra")]),
    ("hidden under another", more("-v {other}:/run -v {other}:/var/run:ro"), 
     [(r"^/run is a writable mount, hidden under another one \(", "leave out the option that mounts the one below$")]),
    ("a name of blanks and more", more("-v '{other}:/data/a  b\tc\\d\ne\u202ef'"), [stranger("/data/a  b\tc\\\\d\ne\u202ef")]),
    ("--tmpfs", more("--tmpfs /data"), [stranger("/data", r"tmpfs, source tmpfs, root /\)$")]),
    ("a VOLUME of the image", {"image": "mypy-volume"}, [stranger("/data")]),
    ("the Docker socket", more(f"-v {SOCKET}:/var/run/docker.sock"), [socket("/run/docker.sock")]),
    ("the Docker socket, read-only", more(f"-v {SOCKET}:/var/run/docker.sock:ro"), [socket("/run/docker.sock")]),
    ("--ipc=host", more("--ipc=host"), [shared_memory(r"tmpfs, source tmpfs, root /\)$")]),
    ("a source that is not the preset's", more("--tmpfs /dev/shm"), [shared_memory(r"tmpfs, source tmpfs, root /\)$")]),
    ("a type that is not the preset's", more("-v {other}:/dev/mqueue"), [not_ours("/dev/mqueue", "ext4|overlay|xfs|btrfs")]),
    ("a folder on /dev/shm", more("-v {other}:/dev/shm"), [shared_memory("ext4|overlay|xfs|btrfs")]),
    ("a file on /dev/console", more("-v /etc/hostname:/dev/console"), [not_ours("/dev/console", ".*hostname")]),
    ("a file in /proc", more("-v /etc/hostname:/proc/uptime"), [not_ours("/proc/uptime", ".*hostname")]),
    ("a folder on the control groups", more("-v {other}:/sys/fs/cgroup"), [not_ours("/sys/fs/cgroup", ".*chat")]),
    ("a root that is not the preset's", more("-v /dev/null:/dev/zero"), [not_ours("/dev/zero", r"devtmpfs, source \S+, root /null\)$")]),
    ("the host's /proc", more("-v /proc:/host/proc"), [(f"^/host/proc {UNNAMED.format('proc')}", "nor a -v on it$")]),
    ("several", {**more("-v {other}:/data --cap-add KILL --tmpfs /other"), "user": "--user 1001"},
     [everyone(1001), capability("bounding", "cap_kill$"), stranger("/data"), stranger("/other")]),
]


class DeparturesTest(ContainerTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.derive("mypy-volume", "VOLUME /data")

    def assert_found(self, outcome, wanted):
        self.assert_refused(outcome, "container")
        self.assert_findings(outcome.findings, wanted)

    def test_each_is_refused(self):
        outcomes = together(lambda departure: self.launch(CODE, max_abi=2, **departure[1]), DEPARTURES)
        for (name, _, findings), outcome in zip(DEPARTURES, outcomes, strict=True):
            with self.subTest(name):
                self.assert_found(outcome, findings)

    def test_on_abi_1_and_where_the_policy_always_wants_it(self):
        departure = {"more": "-v {other}:/data"}
        for changes in ({"max_abi": 1}, {"policy": "container check always"}):
            with self.subTest(changes):
                self.assert_found(self.launch(CODE, **changes, **departure), [stranger("/data")])

    def test_on_abi_3_it_is_the_administrators_business(self):
        outcome = self.launch("import os\ntry:\n    os.truncate('/data/file', 0)\nexcept OSError as error: print(error.errno)",
                              more="-v {other}:/data", max_abi=3, chat=self.with_file())
        self.assert_ran(outcome, "13\n")
        self.assertEqual(outcome.status["container"], "not-needed")

    def with_file(self):
        chat = self.folder()
        file = chat.with_name(f"{chat.name}.other") / "file"
        file.write_text("content")
        file.chmod(0o666)
        self.addCleanup(lambda: self.assertEqual(file.read_text(), "content"))
        return chat

    def test_other_user_ids_in_one_place_only(self):
        """execve(2) makes the saved and the filesystem UID the effective one's; where that is not the real one's, the launcher was given
        a privilege, and refuses before it looks at anything else."""
        for change in ("ruid=1001", "euid=1001", "ruid=0", "euid=0"):
            with self.subTest(change):
                outcome = self.launch(CODE, max_abi=2, **become("uid=1000", change))
                self.assert_refused(outcome, "privileged-launcher")

    def test_become_alone_changes_nothing(self):
        self.assert_ran(self.launch(CODE, max_abi=2, **become("uid=1000")), "ran\n")

    def test_the_hidden_mount_is_hidden(self):
        """And the one of the table: what is seen at /run is the later, read-only mount."""
        chat = self.with_file()
        done = self.docker.run(*supplied(chat, more="-v {other}:/run -v {chat}:/var/run:ro"), "--entrypoint", "sh", "mypy", "-c",
                               "cat /proc/self/mountinfo; ls /run")
        lines = [line.split() for line in done.stdout.decode().splitlines()]
        self.assertEqual([(line[3], line[5].split(",")[0]) for line in lines if line[4:5] == ["/run"]],
                         [(f"{chat}.other", "rw"), (str(chat), "ro")])
        self.assertNotIn(["file"], lines)

    def test_as_text(self):
        """Without a status line: the refusal, then each finding and what restores it, whatever is in their names."""
        chat = self.folder()
        done = self.docker.run(*supplied(chat, user="--user 1001", more=FORGED), "--entrypoint",
                               "landlock-exec", "mypy", "--policy", POLICY, "--max-abi", "2", "--", "python3", SCRIPT, input=CODE.encode())
        self.assertEqual((done.returncode, done.stdout, list(chat.iterdir())), (125, b"", []))
        lines = done.stderr.decode().splitlines()
        self.assertEqual([line for line in lines if not line.startswith("landlock-exec: ")], [])
        self.assertNotIn("landlock-exec: fine", lines)
        for text in ("the user is not UID 1000", "docker run: --user 1000:1000", r"/data/a\x0alandlock-exec: fine is a writable mount",
                     "leave out what mounts it"):
            self.assertTrue(any(text in line for line in lines), (text, lines))


class PartsTest(ContainerTest):
    """A mount of which the policy lets the program write only a part: two chats on one mount."""

    def two_chats(self):
        chat = self.folder()
        (chat / "one").mkdir()
        (chat / "two").mkdir()
        (chat / "two" / "file").write_text("content")
        for path in chat.rglob("*"):
            os.chown(path, self.uid, self.uid)
        return chat

    TRUNCATE = '''
import os
def attempt(action):
    try:
        action()
        print("OK")
    except OSError as error:
        print(error.strerror)
attempt(lambda: os.truncate("/sandbox/two/file", 0))
attempt(lambda: open("/sandbox/two/file", "w"))
attempt(lambda: open("/sandbox/two/file"))
attempt(lambda: os.listdir("/sandbox/two"))
attempt(lambda: open("/sandbox/one/mine", "w"))
'''

    def test_refused_below_abi_3(self):
        for policy, message, hint in (
                ("define sandbox /sandbox/one", "^/sandbox is a writable mount, of which /sandbox/one, .*, is only a part$",
                 r"mount /sandbox/one itself \(-v DIRECTORY:/sandbox/one\)"),
                ("define sandbox /sandbox/one\ncontainer writable /sandbox",
                 "^/sandbox is a writable mount that the policy names, but does not let the program write and truncate as a whole$",
                 "mount only what the program may write, or say in the policy: allow write /sandbox$")):
            for abi in (1, 2):
                with self.subTest(policy=policy, abi=abi):
                    chat = self.two_chats()
                    outcome = self.launch(self.TRUNCATE, chat=chat, policy=policy, max_abi=abi)
                    self.assertEqual((outcome.code, outcome.out, outcome.status["reason"]), (125, "", "container"))
                    (finding,) = outcome.findings
                    self.assertRegex(finding["message"], message)
                    self.assertRegex(finding["hint"], hint)
                    self.assertEqual((chat / "two" / "file").read_text(), "content")

    def test_the_other_chat_is_safe_from_abi_3_on(self):
        for abi in (3, None):
            with self.subTest(abi=abi):
                chat = self.two_chats()
                outcome = self.launch(self.TRUNCATE, chat=chat, policy="define sandbox /sandbox/one", max_abi=abi)
                self.assert_ran(outcome, "Permission denied\n" * 4 + "OK\n")
                self.assertEqual((chat / "two" / "file").read_text(), "content")


if __name__ == "__main__":
    unittest.main()
