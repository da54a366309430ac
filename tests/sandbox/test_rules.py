"""What the statements of a policy allow and deny, tried on files, ports, sockets and processes."""

import os
import shutil
import signal
import socket
import subprocess

from harness import ABI, IS_ROOT, USERS, SandboxTest, as_user


class Files(SandboxTest):
    def setUp(self):
        super().setUp()
        self.inside = self.make_folder("inside", 0o777)
        self.outside = self.make_folder("outside", 0o777)
        for folder in (self.inside, self.outside):
            for name in ("file", "second", "third"):
                self.make(folder / name, mode=0o666)
            self.make_folder(folder / "folder", 0o777)

    def expand(self, operation):
        return operation.replace("IN", str(self.inside)).replace("OUT", str(self.outside))

    def table(self, policy, rows, **keywords):
        self.assert_table(self.expand(policy), [(self.expand(operation), answer) for operation, answer in rows], **keywords)

    # For each right or group, what it makes possible; anything else on the list stays EACCES.
    tried = ("read IN/file", "list IN", "write IN/file", "append IN/file", "otrunc IN/second", "rtrunc IN/second", "truncate IN/second",
             "mkdir IN/new-folder", "symlink x IN/new-link", "fifo IN/new-fifo", "sock IN/new-socket", "reg IN/new-reg",
             "unlink IN/third", "rmdir IN/folder")
    possible = {
        "read_file": "read IN/file", "read_dir": "list IN", "read": "read IN/file, list IN",
        "write_file": "write IN/file, append IN/file", "truncate": "truncate IN/second",
        "write": "write IN/file, append IN/file, otrunc IN/second, truncate IN/second",
        "read_file,truncate": "read IN/file, rtrunc IN/second, truncate IN/second",
        "make_dir": "mkdir IN/new-folder", "make_sym": "symlink x IN/new-link", "make_fifo": "fifo IN/new-fifo",
        "make_sock": "sock IN/new-socket", "make_reg": "reg IN/new-reg", "remove_file": "unlink IN/third", "remove_dir": "rmdir IN/folder",
        "remove": "unlink IN/third, rmdir IN/folder",
        "create": "mkdir IN/new-folder, symlink x IN/new-link, fifo IN/new-fifo, sock IN/new-socket, reg IN/new-reg",
        "rename": "", "execute": "", "make_char": "", "make_block": "",
    }

    def test_each_right(self):
        for uid in USERS:
            for rights, possible in self.possible.items():
                with self.subTest(rights, uid=uid):
                    shutil.rmtree(self.folder, ignore_errors=True)
                    self.folder.mkdir()
                    self.setUp_files()
                    rows = [(operation, "OK" if operation in possible.split(", ") else "EACCES") for operation in self.tried]
                    self.table(f"allow {rights} IN", rows, uid=uid)

    def setUp_files(self):
        self.inside = self.make_folder("inside", 0o777)
        for name in ("file", "second", "third"):
            self.make(self.inside / name, mode=0o666)
        self.make_folder(self.inside / "folder", 0o777)

    def test_outside_is_denied(self):
        """With all rights inside, nothing goes out of it and nothing comes in, by any name."""
        rows = [("read OUT/file", "EACCES"), ("list OUT", "EACCES"), ("list .", "EACCES"), ("list /", "EACCES"), ("write OUT/file", "EACCES"),
                ("truncate OUT/file", "EACCES"), ("otrunc OUT/file", "EACCES"), ("create OUT/new", "EACCES"), ("mkdir OUT/new", "EACCES"),
                ("unnamed OUT", "EACCES"), ("fifo OUT/new", "EACCES"), ("sock OUT/new", "EACCES"), ("symlink x OUT/new", "EACCES"),
                ("unlink OUT/file", "EACCES"), ("rmdir OUT/folder", "EACCES"), ("rename IN/file OUT/new", "EACCES"),
                ("rename OUT/file IN/new", "EACCES"), ("rename OUT/file OUT/new", "EACCES"), ("exchange IN/file OUT/file", "EACCES"),
                ("link IN/file OUT/new", "EACCES"), ("link OUT/file IN/new", "EXDEV"), ("symlink OUT/file IN/way", "OK"),
                ("read IN/way", "EACCES"), ("write IN/way", "EACCES"), ("truncate IN/way", "EACCES"), ("read IN/../outside/file", "EACCES"),
                ("link IN/file IN/folder/new", "OK"), ("rename IN/second IN/folder/second", "OK"), ("exchange IN/file IN/third", "OK"),
                ("create IN/folder/created", "OK"), ("unnamed IN", "OK"), ("char IN/char", "EACCES")]
        for uid in USERS:
            with self.subTest(uid=uid):
                if uid == USERS[-1] and len(USERS) > 1:
                    shutil.rmtree(self.inside)
                    self.setUp_files()
                self.table("allow read,write,create,remove,rename IN", rows, uid=uid, cwd=self.outside)
        for name in ("file", "second", "third"):
            self.assertEqual((self.outside / name).read_text(), "content\n")

    def test_renaming_needs_its_right(self):
        self.table("allow read,write,create,remove IN", [("rename IN/file IN/folder/file", "EXDEV"), ("rename IN/file IN/fourth", "OK"),
                                                         ("link IN/second IN/folder/second", "EXDEV")])

    def test_directory_rights_on_files(self):
        """A group keeps what fits a file; a single right that does not fit is an error that names it."""
        self.table("allow read IN/file\nallow write IN/second\nallow read,write,create,remove IN/third",
                   [("read IN/file", "OK"), ("write IN/file", "EACCES"), ("write IN/second", "OK"), ("truncate IN/second", "OK"),
                    ("read IN/second", "EACCES"), ("read IN/third", "OK"), ("unlink IN/third", "EACCES"), ("list IN", "EACCES")])
        for rights, named in (("read_dir", "read_dir"), ("read,read_dir", "read_dir"), ("read,make_reg", "make_reg"), ("remove", "remove_dir"),
                              ("create", "make_dir"), ("rename", "refer"), ("refer", "refer"), ("create,remove", "remove_dir")):
            for path in (self.inside / "file", "/dev/null"):
                with self.subTest(rights, path=path):
                    self.assert_refused(self.launch(f"allow {rights} {path}", self.attempt), "path",
                                        f"test.policy:2:{8 + len(rights)}: {path} is not a directory, and {named} is a right on directories")

    def test_missing_paths(self):
        for path, text in (("/nowhere/at/all", "No such file or directory"), (f"{self.inside}/file/x", "Not a directory")):
            self.assert_refused(self.launch(f"allow read {path}", self.attempt), "path", f"test.policy:2:12: {path}: {text}",
                                f"landlock-exec: hint: create it, take it out of the policy, or write -{path} if it may be missing")
            outcome = self.launch(f"allow read -{path}", self.attempt, options=["--verbose"])
            self.assert_ran(outcome)
            self.assertIn(f"landlock-exec: skipped, missing: {path}\n", outcome.err)
        if IS_ROOT:
            self.make_folder("closed/inner", owner=0)
            (self.folder / "closed").chmod(0o700)
            for mark in ("", "-"):
                self.assert_refused(self.launch(f"allow read {mark}{self.folder}/closed/inner", self.attempt), "path", "Permission denied")

    def test_kinds_of_files(self):
        """Pipes and the like are no objects of rules; the error says so and nothing runs."""
        os.mkfifo(self.folder / "fifo", 0o666)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.folder / "socket"))
            self.assert_table(f"allow read,write {self.folder}/fifo {self.folder}/socket /dev/null",
                              [(f"read {self.folder}/fifo", "OK"), ("write /dev/null", "OK")])
        self.assert_refused(self.launch("allow read /proc/self/ns/mnt", self.attempt), "path")

    def test_execution(self):
        copy = self.make("tool", self.attempt.read_bytes(), 0o755)
        unreadable = self.make("unreadable", self.attempt.read_bytes(), 0o711)
        rows = (f"execute {copy}", f"execute {unreadable}", f"read {copy}", "execute /usr/bin/true")
        for rights, answers in (("execute,read_file", ("OK", "OK", "OK", "EACCES")), ("execute", ("EACCES", "EACCES", "EACCES", "EACCES")),
                                ("read_file", ("EACCES", "EACCES", "OK", "EACCES"))):  # the kernel opens what it executes for reading
            self.assert_table(f"allow {rights} {copy} {unreadable}", list(zip(rows, answers)))

    def test_audit_is_accepted(self):
        for value in ("on", "off"):
            self.assert_table(f"audit {value}", [("list /", "EACCES")])

    def test_ten_thousand_rules(self):
        many = self.make_folder("many")
        for i in range(10000):
            os.mknod(many / f"{i:05}", 0o644)
        lines = [f"allow read_file {many}/{i:05}" for i in range(10000) if i % 2 == 0] + [f"allow write_file {many}/{i:05}" for i in range(1, 10000, 2)]
        rows = [(f"read {many}/{i:05}", "EACCES" if i % 2 else "OK") for i in (0, 1, 2, 4999, 5000, 9998, 9999)]
        self.assert_table("\n".join(lines), [*rows, (f"list {many}", "EACCES"), (f"write {many}/00002", "EACCES")])


class Devices(SandboxTest):
    def test_ioctl_dev(self):
        if ABI < 5:
            self.skipTest("ioctl_dev came with ABI 5")
        for policy, answers in (("allow read_file /dev/null /dev/zero", ["EACCES", "EACCES"]),
                                ("allow read_file,ioctl_dev /dev/null\nallow read_file /dev/zero", ["ENOTTY", "EACCES"]),
                                ("unrestricted ioctl_dev\nallow read_file /dev/null /dev/zero", ["ENOTTY", "ENOTTY"])):
            self.assertEqual(self.attempts(policy, "ioctl /dev/null", "ioctl /dev/zero"), answers)


class Network(SandboxTest):
    def setUp(self):
        super().setUp()
        if ABI < 4:
            self.skipTest("network rights came with ABI 4")
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.port = self.server.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as other:
            self.free = other.getsockname()[1]

    def test_ports(self):
        port, free = self.port, self.free
        connect, bind = f"connect {port}", f"bind {free}"
        cases = (
            ("", "EACCES", "EACCES"),
            (f"allow connect_tcp {port}", "OK", "EACCES"),
            (f"allow bind_tcp {free}", "EACCES", "OK"),
            (f"allow network {port} {free}", "OK", "OK"),
            (f"allow connect_tcp {port}-{port}\nallow bind_tcp {free}-{free}", "OK", "OK"),
            (f"allow connect_tcp {port - 5}-{port + 5}", "OK", "EACCES"),
            (f"allow connect_tcp {port + 1}-{port + 20} {port - 20}-{port - 1}", "EACCES", "EACCES"),
            (f"allow bind_tcp,connect_tcp 1-{min(port, free) - 1}", "EACCES", "EACCES"),
            ("allow bind_tcp,connect_tcp 0-65535", "OK", "OK"),
            ("unrestricted network", "OK", "OK"),
            ("unrestricted bind_tcp", "EACCES", "OK"),
            ("unrestricted connect_tcp", "OK", "EACCES"),
            (f"define port {port}\nallow connect_tcp ${{port}}", "OK", "EACCES"),
        )
        for uid in USERS:
            for policy, connected, bound in cases:
                with self.subTest(policy, uid=uid):
                    self.assert_table(policy, [(connect, connected), (bind, bound)], uid=uid)


class Scopes(SandboxTest):
    def test_abstract_sockets(self):
        if ABI < 6:
            self.skipTest("scopes came with ABI 6")
        name = f"landlock-exec-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("\0" + name)
            server.listen()
            for uid in USERS:
                self.assert_table("", [(f"abstract {name}", "EPERM")], uid=uid)
                self.assert_table("unrestricted signal", [(f"abstract {name}", "EPERM")], uid=uid)
                self.assert_table("unrestricted abstract_unix_socket", [(f"abstract {name}", "OK")], uid=uid)

    def test_signals(self):
        """To a process of the same user outside; itself the program may signal."""
        if ABI < 6:
            self.skipTest("scopes came with ABI 6")
        for uid in USERS:
            with subprocess.Popen(["/usr/bin/sleep", "30"], **as_user(uid)) as child:
                try:
                    for number in (0, signal.SIGTERM, signal.SIGKILL):
                        self.assert_table("", [(f"kill {child.pid} {int(number)}", "EPERM")], uid=uid)
                    self.assertEqual(self.unrestricted(f"kill {child.pid} 0", uid=uid), ["OK"])
                    self.assert_table("unrestricted abstract_unix_socket", [(f"kill {child.pid} 0", "EPERM")], uid=uid)
                    self.assert_table("unrestricted signal", [(f"kill {child.pid} 0", "OK")], uid=uid)
                    self.assert_table("", [("kill 0 0", "OK")], uid=uid, start_new_session=True)
                finally:
                    child.kill()

    def test_pathname_sockets(self):
        """Reachable below ABI 9, and reported so; denied from there on but for a right on the path."""
        path = self.folder / "socket"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            path.chmod(0o777)
            is_denied = ABI >= 9
            self.assert_table("", [(f"unix {path}", "EACCES" if is_denied else "OK")])
            self.assert_table(f"allow resolve_unix {path}", [(f"unix {path}", "OK")])
            self.assert_table("unrestricted resolve_unix", [(f"unix {path}", "OK")])
            self.assertEqual("resolve_unix" in self.launch("", self.attempt).status["not_enforced"], not is_denied)
