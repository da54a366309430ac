"""A Docker daemon of the test's own: Debian's dockerd (package docker.io) that nothing outlives.

    from daemon import Daemon

    with Daemon() as docker:                            # as root; waits while another run has it
        base = docker.import_base("bookworm")           # debootstrap's minimal Debian; its tag
        docker.build(source, "mypy", f"BASE={base}")    # the folder of a Dockerfile
        done = docker.run("--read-only", "mypy", input=b"print(1)")    # docker run --rm -i: returncode, stdout, stderr as bytes
        with docker.started("--read-only", "--entrypoint", "sleep", "mypy", "60") as container:
            docker.config_of(container)                 # the OCI config.json that dockerd wrote for runc, as a dict
            docker.rootfs_of(container)                 # the mounted root as a Path, readable while the container lives

The daemon lives in a PID and a mount namespace, and the kernel kills its first process when this one dies, however it dies: with it go
containerd, the shims, the containers, all mounts and network namespaces. What it has beside its data lies on tmpfs of that mount namespace.
Only the data folder stays, in the cache (CACHE_DIRECTORY), so that layers are built once; one daemon at a time has it. An empty cgroup
may be left by kill -9: the next daemon removes it.
"""

import atexit
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CACHE = Path(os.environ.get("CACHE_DIRECTORY", "/var/cache/landlock-exec"))
CLIENT = next((path for path in ("/usr/bin/docker", "/usr/local/bin/docker") if os.path.exists(path)), "docker")
CGROUP = "landlock-exec-test"
# The users outside that a container's users 0 and 1000 are, by the kind of daemon. The rootless one runs as Debian's user `daemon`, who is
# user 0 of its containers; the others follow from the first of its subordinate IDs on.
KINDS = {"usual": (0, 1000), "remapped": (100000, 101000), "rootless": (1, 200999)}

# Inside the namespaces. Shims keep their sockets in /run/containerd whatever the daemon is told. Subordinate IDs are read from /etc: there
# are some for these kinds. tini reaps the shims, which dockerd as the first process would not.
START = """
mkdir -p /run/containerd
mount -t tmpfs tmpfs /run/containerd
mount -t tmpfs -o mode=755 tmpfs /media
for name in subuid subgid; do
    printf '%s:65536\\n' nobody:100000 nogroup:100000 daemon:200000 >/media/$name
    mount --bind /media/$name /etc/$name
done
install --directory --mode=710 --owner="$1" /media/docker "$2"
shift 2
exec tini -- "$@"
"""
RUNTIME = "/media/docker"
ROOTLESS = ["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "env", f"HOME={RUNTIME}", f"XDG_RUNTIME_DIR={RUNTIME}",
            "rootlesskit", "--net=host", "--copy-up=/etc", "--copy-up=/run", f"--state-dir={RUNTIME}/rootlesskit",
            "sh", "-euc", 'rm -f /run/docker /run/containerd /run/xtables.lock; exec "$@"', "rootless"]


class Daemon(contextlib.AbstractContextManager):
    """`options` go to dockerd. Each kind, of KINDS, has images of its own."""

    def __init__(self, *options, kind="usual"):
        data = CACHE / ("rootless" if kind == "rootless" else "docker")
        dockerd = ["/usr/sbin/dockerd", f"--data-root={data}", f"--exec-root={RUNTIME}", f"--pidfile={RUNTIME}/pid",
                   f"--host=unix://{RUNTIME}/socket", "--bridge=none", "--iptables=false", "--ip6tables=false", *options]
        if kind == "rootless":
            dockerd = [*ROOTLESS, *dockerd, "--rootless"]
        else:  # without them, a rootless daemon on cgroup v1 has no control groups
            dockerd += [f"--cgroup-parent=/{CGROUP}", "--exec-opt=native.cgroupdriver=cgroupfs"]
        if kind == "remapped":
            dockerd.append("--userns-remap=nobody:nogroup")
        self.command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                        "sh", "-euc", START, "daemon", "daemon" if kind == "rootless" else "root", str(data), *dockerd]
        self.process = None

    # ---- From start to end ----

    def __enter__(self):
        os.makedirs(CACHE, exist_ok=True)
        self.lock = lock(CACHE / "docker.lock")
        self.log = tempfile.TemporaryFile()
        remove_cgroups()
        # The daemon and its children have the lock, too: while one of them lives, no other daemon starts on the same data.
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=[self.lock],
                                        start_new_session=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        os.close(self.lock)
        atexit.register(self.stop)  # unittest ends at Ctrl-C without a word to its fixtures
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, leave)
        try:
            self.wait_until_it_answers()
            self.remove_containers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error):
        self.stop()

    def wait_until_it_answers(self):
        deadline = time.monotonic() + 60
        while True:
            self.first = first_child(self.process.pid)
            if self.first and self.docker("version", check=False).returncode == 0:
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                raise RuntimeError("dockerd does not start:\n" + self.log.read().decode(errors="replace")[-4000:])
            time.sleep(0.05)

    def stop(self):
        """Containers first, so that dockerd has nothing to wait for; what does not end in time is killed."""
        if self.process is None:
            return
        process, self.process = self.process, None
        atexit.unregister(self.stop)
        try:
            if process.poll() is None and self.first:
                self.remove_containers()
                os.kill(self.first, signal.SIGTERM)
                process.wait(20)
        except (subprocess.SubprocessError, ProcessLookupError):
            pass
        finally:
            process.kill()
            process.wait()
            self.log.close()
            remove_cgroups()

    # ---- The client ----

    @property
    def environment(self):
        """DOCKER_BUILDKIT: the builder that needs no plug-in of the client. The plug-ins of DOCKER_CONFIG are the tests'."""
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "DOCKER_BUILDKIT": "0", "LANG": "C.UTF-8",
                "DOCKER_HOST": f"unix:///proc/{self.first}/root{RUNTIME}/socket", "DOCKER_CONFIG": str(CACHE / "client")}

    def docker(self, *arguments, check=True, input=b"", timeout=120, env=None):
        """A command of the client. `check`: one that fails raises, and its error says why."""
        done = subprocess.run([CLIENT, *map(os.fspath, arguments)], input=input, capture_output=True, timeout=timeout,
                              env={**self.environment, **(env or {})})
        if check and done.returncode:
            raise RuntimeError(f"docker {' '.join(map(str, arguments))}: {(done.stderr + done.stdout).decode(errors='replace')[-4000:]}")
        return done

    def words(self, *arguments):
        return self.docker(*arguments).stdout.decode().split()

    def run(self, *arguments, input=b"", timeout=120):
        """docker run: the options, the image, what it is given. Its end is the container's, whatever that is."""
        return self.docker("run", "--rm", "--interactive", *arguments, check=False, input=input, timeout=timeout)

    @contextlib.contextmanager
    def started(self, *arguments):
        """A container that lives for a `with` statement: its ID."""
        container, = self.words("run", "--detach", *arguments)
        try:
            yield container
        finally:
            self.docker("rm", "--force", container)

    def inspect(self, name):
        return json.loads(self.docker("inspect", name).stdout)[0]

    def config_of(self, container):
        """The OCI configuration of a running container, as dockerd wrote it for runc."""
        bundle = f"containerd/daemon/io.containerd.runtime.v2.task/moby/{self.inspect(container)['Id']}"
        return json.loads(self.inside(f"{RUNTIME}/{bundle}/config.json").read_text())

    def rootfs_of(self, container):
        """The root of a running container as the daemon mounted it: the image's files, without the container's mounts."""
        return self.inside(self.inspect(container)["GraphDriver"]["Data"]["MergedDir"])

    def inside(self, path):
        """A path as the daemon sees it."""
        return Path(f"/proc/{self.first}/root{path}")

    def remove_containers(self):
        containers = self.words("ps", "--all", "--quiet")
        if containers:
            self.docker("rm", "--force", "--volumes", *containers)

    # ---- Images ----

    def import_base(self, suite):
        """A bare Debian, made as tests/distribution/try makes it and kept in the same file: its tag."""
        file = base_system(suite)
        tag = f"landlock-exec/base:{suite}-{int(file.stat().st_mtime)}"
        if not self.words("images", "--quiet", tag):
            self.docker("import", file, tag, timeout=300)
        return tag

    def build(self, source, tag, *arguments, target=None):
        """docker build of a folder with a Dockerfile, with build arguments NAME=VALUE."""
        options = [word for argument in arguments for word in ("--build-arg", argument)]
        self.docker("build", "--network", "host", "--tag", tag, *(["--target", target] if target else []), *options, source, timeout=1800)
        return tag


def leave(*_):
    raise KeyboardInterrupt  # which unittest lets pass: it takes SystemExit for a test's failure


def lock(path):
    """A descriptor that holds the lock, once nobody else does."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for {path}: another run has its Docker daemon", file=sys.stderr, flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def first_child(process):
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except FileNotFoundError:
        return None
    return int(children[0]) if children else None


def remove_cgroups():
    """Those of the daemon's containers. One that is in use stays."""
    for parent in (*Path("/sys/fs/cgroup").glob(CGROUP), *Path("/sys/fs/cgroup").glob(f"*/{CGROUP}")):
        for folder, _, _ in os.walk(parent, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def base_system(suite):
    file = CACHE / f"base-{suite}.tar"
    if file.exists():
        return file
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="landlock-exec-base.") as work:
        done = subprocess.run(["debootstrap", "--variant=minbase", suite, f"{work}/base"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"debootstrap {suite}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        new = file.with_name(f"{file.name}.new.{os.getpid()}")
        subprocess.run(["tar", "-C", f"{work}/base", "-cf", new, "."], check=True)
        new.rename(file)
    return file
