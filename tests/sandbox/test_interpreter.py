"""interpreter.policy as shipped: Python and all that it starts stay in the chat's directory, the temporary one and /dev/shm."""

import contextlib
import json
import os
import shutil
import subprocess
import time

from harness import IS_COVERED, IS_SANITIZED, ORDINARY, PYTHON, USERS, InterpreterTest, as_user, need_root

# In the sandbox directory, so that children import it. `run` tries everything and gives the errno names.
PROBE = r'''
import errno, os, socket

def name(call, *arguments):
    try:
        result = call(*arguments)
        if isinstance(result, int) and call is os.open:
            os.close(result)
        return "OK"
    except OSError as error:
        return errno.errorcode[error.errno]

def listen(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)

def run(outside, inside):
    """`outside`: a folder with `file`, `folder`, `empty`; `inside`: folders. All must be as before afterwards."""
    got = {}
    file = outside["file"]
    for path in outside["lists"]:
        got["list " + path] = name(os.listdir, path)
    for path in outside["reads"]:
        got["read " + path] = name(os.open, path, os.O_RDONLY)
    for key, call, *arguments in (
        ("write", os.open, file, os.O_WRONLY), ("append", os.open, file, os.O_WRONLY | os.O_APPEND), ("truncate", os.truncate, file, 0),
        ("O_TRUNC", os.open, file, os.O_WRONLY | os.O_TRUNC), ("create", os.open, outside["new"], os.O_WRONLY | os.O_CREAT),
        ("unnamed", os.open, outside["folder"], os.O_RDWR | os.O_TMPFILE), ("mkdir", os.mkdir, outside["new"]),
        ("fifo", os.mkfifo, outside["new"]), ("socket", listen, outside["new"]), ("symlink", os.symlink, "x", outside["new"]),
        ("unlink", os.unlink, file), ("rmdir", os.rmdir, outside["empty"]), ("rename", os.rename, file, outside["new"]),
        ("execute", os.execv, outside["tool"], [outside["tool"]]),
    ):
        got[key] = name(call, *arguments)
    for folder in inside:
        path = f"{folder}/probe-{os.getpid()}"
        os.mkdir(path)
        one, two, sub = path + "/one", path + "/two", path + "/sub"
        for key, call, *arguments in (
            ("create", os.open, one, os.O_WRONLY | os.O_CREAT), ("write", os.open, one, os.O_WRONLY), ("truncate", os.truncate, one, 0),
            ("mkdir", os.mkdir, sub), ("link", os.link, one, two), ("rename", os.rename, two, sub + "/three"), ("read", os.open, one, os.O_RDONLY),
            ("symlink", os.symlink, file, path + "/way"), ("through", os.open, path + "/way", os.O_RDONLY),
            ("fifo", os.mkfifo, path + "/fifo"), ("socket", listen, path + "/socket"), ("list", os.listdir, path),
            ("out", os.rename, one, outside["new"]), ("link out", os.link, one, outside["new"]), ("link in", os.link, file, path + "/in"),
            ("rename in", os.rename, file, path + "/in"),
        ):
            got[f"{folder} {key}"] = name(call, *arguments)
        for left in ("sub/three", "one", "way", "fifo", "socket"):
            os.unlink(f"{path}/{left}")
        os.rmdir(sub)
        os.rmdir(path)
    return got
'''

# Runs the probe in every kind of child, by a function of a module that children can import.
MAIN = r'''
import json, multiprocessing, os, subprocess, sys, threading, concurrent.futures
import probe

arguments = json.load(open("arguments.json"))
results = {"itself": probe.run(*arguments)}

reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, json.dumps(probe.run(*arguments)).encode())
    os._exit(0)
os.close(writing)
with open(reading) as stream:
    results["fork"] = json.load(stream)
os.wait()

with concurrent.futures.ThreadPoolExecutor() as pool:
    results["thread"] = pool.submit(probe.run, *arguments).result()
for method in multiprocessing.get_all_start_methods():
    with multiprocessing.get_context(method).Pool(1) as pool:
        results[method] = pool.apply(probe.run, arguments)

code = "import json, probe, sys; json.dump(probe.run(*json.load(open('arguments.json'))), sys.stdout)"
results["subprocess"] = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
results["shell"] = json.loads(subprocess.run(f'exec {sys.executable} -c "{code}"', shell=True, capture_output=True, check=True).stdout)
results["session"] = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, start_new_session=True).stdout)
json.dump(results, sys.stdout)
'''


class Interpreter(InterpreterTest):
    def fixtures(self, uid):
        """Another chat's directory, which this user may do anything with but for Landlock."""
        other = self.make_folder("other", 0o777, uid)
        self.make("other/file", "the other chat's\n", 0o666, uid)
        self.make("other/tool", "#!/bin/sh\n", 0o777, uid)
        for name in ("folder", "empty"):
            self.make_folder(f"other/{name}", 0o777, uid)
        chat = self.chat(uid)
        outside = {name: f"{other}/{name}" for name in ("file", "folder", "empty", "tool", "new")}
        outside["lists"] = ["/", "/etc", "/opt", "/home", "/root", "/tmp", "/var", "/usr", "/usr/bin", "/dev", str(other), str(self.folder)]
        outside["reads"] = ["/etc/passwd", "/etc/shadow", "/etc/hostname", f"{other}/file", str(chat["script"]), f"{self.tree}/policy/interpreter.policy",
                            "/proc/1/environ", f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/mem", f"/proc/{os.getpid()}/maps"]
        return chat, outside, [str(chat["sandbox"]), str(chat["tmp"]), "/dev/shm"]

    @staticmethod
    def is_denied(key):
        return {"link in": "EXDEV"}.get(key, "EACCES") if key in ("through", "out", "link out", "link in", "rename in") else "OK"

    def expected(self, outside, inside):
        answers = {f"list {path}": "EACCES" for path in outside["lists"]}
        answers |= {f"read {path}": "EACCES" for path in outside["reads"]}
        answers |= {key: "EACCES" for key in ("write", "append", "truncate", "O_TRUNC", "create", "unnamed", "mkdir", "fifo", "socket", "symlink",
                                              "unlink", "rmdir", "rename", "execute")}
        for folder in inside:
            for key in ("create", "write", "truncate", "mkdir", "link", "rename", "read", "symlink", "through", "fifo", "socket", "list", "out",
                        "link out", "link in", "rename in"):
                answer = self.is_denied(key)
                if folder == "/dev/shm" and key in ("out", "link out", "link in", "rename in"):
                    answer = ("EACCES", "EXDEV")  # another file system, usually
                answers[f"{folder} {key}"] = answer
        return answers

    def test_everywhere(self):
        for uid in USERS:
            chat, outside, inside = self.fixtures(uid)
            self.make("sandbox/probe.py", PROBE)
            self.make("sandbox/arguments.json", json.dumps([outside, inside]))
            outcome = self.python(MAIN, uid, define=chat)
            self.assert_ran(outcome)
            results = json.loads(outcome.out)
            self.assertLessEqual({"itself", "fork", "thread", "spawn", "forkserver", "subprocess", "shell", "session"}, set(results))
            expected = self.expected(outside, inside)
            for way, got in results.items():
                with self.subTest(way, uid=uid):
                    wrong = {key: answer for key, answer in got.items() if answer not in (expected[key] if isinstance(expected[key], tuple) else
                                                                                         (expected[key],))}
                    self.assertEqual((wrong, set(got)), ({}, set(expected)))
            self.assertEqual(sorted(os.listdir(self.folder / "other")), ["empty", "file", "folder", "tool"])
            self.assertEqual((self.folder / "other/file").read_text(), "the other chat's\n")
            shutil.rmtree(self.folder / "other")

    def test_utilities(self):
        """The shipped programs run and are bound as Python is; others do not run."""
        code = """
import subprocess
for command in (%s):
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True)
    print(done.returncode != 0, "denied" in done.stderr, repr(done.stdout))
try:
    subprocess.run(["/usr/bin/id"])
except PermissionError as error:
    print(error.errno)
"""
        denied = ["cat /etc/passwd", ["ls", "/"], ["cat", str(self.folder / "main.py")], "echo x > /var/tmp/landlock-exec-x", ["find", "/etc", "-mindepth", "1"],
                  ["tar", "cf", "x.tar", "/etc/passwd"], ["cp", "/etc/hostname", "."], "< /etc/passwd cat", ["mv", "/etc/hostname", "."], "id"]
        for uid in USERS:
            outcome = self.python(code % ",".join(map(repr, denied)), uid)
            self.assertEqual(outcome.out.splitlines()[:-1], ["True True ''"] * len(denied))
            self.assertEqual(outcome.out.splitlines()[-1], "13")
            allowed = self.python("import subprocess\nprint(subprocess.check_output('echo 3 > a; cp a b; cat b; ls; rm a b; uname', shell=True, text=True))", uid)
            self.assert_ran(allowed, "3\na\nb\nLinux\n\n")

    def test_planted_start_up_code_does_not_run(self):
        """What an earlier run left in HOME, in the working directory or by variables of the caller."""
        version = os.path.basename(os.path.realpath(PYTHON))
        for uid in USERS:
            chat = self.chat(uid)
            plant = f"""
import os
for folder in {str(chat["tmp"])!r} + "/.local/lib/{version}/site-packages", {str(chat["sandbox"])!r}, {str(chat["tmp"])!r}:
    os.makedirs(folder, exist_ok=True)
    for name in "usercustomize.py", "sitecustomize.py", ".pythonrc", "python3", "sh", "os.py", "linecache.py", "traceback.py":
        open(folder + "/" + name, "w").write("print('planted')")
    open(folder + "/x.pth", "w").write("import os; print('planted')")
"""
            self.assert_ran(self.python(plant, uid, define=chat))
            folder = str(chat["sandbox"])
            outcome = self.python("print('mine')", uid, define=chat, cwd=chat["sandbox"], env={
                "PYTHONPATH": folder, "PYTHONSTARTUP": folder + "/.pythonrc", "PYTHONHOME": folder, "PATH": folder, "LD_LIBRARY_PATH": folder,
                "PYTHONUSERBASE": folder, "HOME": folder, "BASH_ENV": folder + "/sh", "ENV": folder + "/sh", "PYTHONINSPECT": "1"})
            self.assert_ran(outcome, "mine\n")
            failing = self.python("1/0", uid, define=chat)
            self.assertEqual((failing.code, failing.out), (1, ""))

    def test_environment(self):
        secret = "0123456789abcdef"
        code = "import os, json; print(json.dumps([dict(os.environ), open('/proc/self/environ').read(), open('/proc/self/cmdline').read()]))"
        for uid in USERS:
            chat = self.chat(uid)
            outcome = self.python(code, uid, define=chat, env={"AI_INTERPRETER_SERVICE_TOKEN": secret, "TZ": "Europe/Berlin", "LANGUAGE": "de"})
            self.assert_ran(outcome)
            self.assertNotIn(secret, outcome.out)
            environment, raw, arguments = json.loads(outcome.out)
            self.assertEqual(set(environment) - {"LC_CTYPE"}, {
                "TZ", "PATH", "LANG", "HOME", "TMPDIR", "XDG_CACHE_HOME", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE", "MPLBACKEND",
                "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
            self.assertEqual((environment["TZ"], environment["HOME"]), ("Europe/Berlin", str(chat["tmp"])))
            self.assertEqual(len(raw.strip("\0").split("\0")), len(environment))
            self.assertNotIn(str(chat["script"]), arguments)

    def test_privileges(self):
        code = "print(*(line for line in open('/proc/self/status') if line.startswith(('Cap', 'NoNew'))), sep='', end='')"
        for uid in USERS:
            state = dict(line.split(":\t") for line in self.python(code, uid).out.splitlines())
            sets = ("CapInh", "CapPrm", "CapEff", "CapAmb") + (("CapBnd",) if uid == 0 else ())
            self.assertEqual(({state[name] for name in sets}, state["NoNewPrivs"]), ({"0" * 16}, "1"))

    def test_descriptors(self):
        outcome = self.python("import os; print(sorted(os.listdir('/proc/self/fd')))")
        self.assert_ran(outcome, "['0', '1', '2', '3']\n")  # the third is the listing's own

    def test_what_libraries_need(self):
        code = """
import ctypes.util, mimetypes, multiprocessing, os, socket, ssl, tempfile, zoneinfo, subprocess, shutil, locale, platform
from multiprocessing import shared_memory
tempfile.TemporaryFile().write(b"x")
memory = shared_memory.SharedMemory(create=True, size=10); memory.close(); memory.unlink()
multiprocessing.Lock()
mimetypes.guess_type("a.xlsx")
open(os.devnull, "w").write("x")
open("/dev/urandom", "rb").read(1)
ssl.create_default_context()
subprocess.run(["true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(os.getcwd() == os.environ.get("PWD", os.getcwd()), platform.system(), os.cpu_count() > 0, ctypes.util.find_library("c"))
"""
        for uid in USERS:
            self.assert_ran(self.python(code, uid), "True Linux True libc.so.6\n")

    def test_the_script_is_nowhere(self):
        """Neither by its name nor through what is left of its pipe."""
        chat = self.chat()
        code = f"""
import os, sys, gc
for path in {str(chat["script"])!r}, "/proc/self/fd/3", "/proc/self/fd/4":
    try:
        print(len(open(path).read()))
    except OSError as error:
        print(error.errno)
"""
        self.assert_ran(self.python(code, define=chat), "13\n2\n2\n")

    def test_other_processes_are_closed(self):
        """Signals and /proc of a process of the same user outside."""
        need_root()
        code = f"""
import os
for call in (lambda: os.kill({os.getpid()}, 0), lambda: os.kill(1, 0), lambda: open("/proc/{os.getpid()}/environ").read(),
             lambda: os.listdir("/proc/{os.getpid()}/root/"), lambda: os.listdir("/proc/{os.getpid()}/cwd/"), lambda: os.listdir("/proc/self/root/")):
    try:
        print(call())
    except OSError as error:
        print(error.errno)
"""
        self.assert_ran(self.python(code, 0), "1\n1\n13\n13\n13\n13\n")

    def test_a_launch_takes_little_memory(self):
        """Under the shipped policies the launcher's peak is below 1 MiB: read while it waits for room to write its status line."""
        if IS_SANITIZED or IS_COVERED:
            self.skipTest("sanitizers and coverage take memory of their own")
        chat = self.chat()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x")
        os.set_blocking(writing, True)
        defines = [word for name, value in chat.items() for word in ("--define", f"{name}={value}")]
        launcher = subprocess.Popen([self.launcher, "--policy", self.tree / "policy" / "interpreter.policy", *defines, "--status-fd",
                                     str(writing)], pass_fds=[writing], stdin=subprocess.DEVNULL, **as_user(ORDINARY))
        try:
            lines = {}
            while launcher.poll() is None and not lines.get("State", "").strip().startswith("S"):
                time.sleep(0.05)
                with open(f"/proc/{launcher.pid}/status", encoding="ascii") as status:
                    lines = dict(line.split(":", 1) for line in status)
        finally:
            launcher.kill()
            launcher.wait()
            os.close(reading)
            os.close(writing)
        self.assertEqual(lines["Name"].strip(), "landlock-exec")
        self.assertLess(int(lines["VmHWM"].split()[0]), 1024)

    def test_the_official_images_layout(self):
        """Python in /usr/local, none in /usr/bin: what is here, mounted as the official images have it."""
        need_root()
        script = """
            version=$(readlink -f /usr/bin/python3); version=${version##*/}
            mount -t tmpfs -o mode=755 tmpfs /usr/local
            mkdir -p /usr/local/bin /usr/local/lib/$version
            cp /usr/bin/$version /usr/local/bin/
            ln -s $version /usr/local/bin/python3
            mount --bind /usr/lib/$version /usr/local/lib/$version
            mount -t tmpfs tmpfs /usr/lib/$version
            mount --bind /bin/false /usr/bin/$version
            exec /usr/bin/setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
        """
        code = """
import json, math, multiprocessing, os, subprocess, sys
print(sys.executable, json.__file__.startswith("/usr/local/lib/python3"))
print(multiprocessing.get_context("spawn").Pool(2).map(math.sqrt, [4, 9]))
print(subprocess.run("python3 -c 'print(1)'", shell=True, capture_output=True, text=True).stdout, end="")
try:
    os.listdir("/etc")
except OSError as error:
    print(error.errno)
"""
        outcome = self.python(code, uid=0, define=self.chat(), wrapper=("/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh",
                                                                       "-ec", script, "sh"))
        self.assert_ran(outcome, "/usr/local/bin/python3 True\n[2.0, 3.0]\n1\n13\n")
