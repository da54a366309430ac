"""The users and capability sets that are checked are the launcher's own, and each is told by its name. Of the capabilities, which
become.c takes as numbers, cap_net_raw is 13."""

import subprocess

from harness import AS_ROOT, HELPER_FOLDER, BubblewrapTest

CHECK = f"{HELPER_FOLDER}/check-container"


def found(*sets, names="cap_net_raw"):
    return [f"the {name} capability set is not empty: {names}" for name in sets]


def not_1000(**users):
    return ["the user is not UID 1000 but " + ", ".join(f"{name} UID {uid}" for name, uid in users.items())]


class CredentialsTest(BubblewrapTest):
    def enter(self, **changes):
        """Makes a sandbox of root's that lasts as long as the test, and returns what runs a program in it: with all of root's privileges, and
        without no_new_privs, by which execve(2) would give none."""
        changes = {**AS_ROOT, "namespaces": "--unshare-ipc --unshare-net --cap-add ALL", **changes}
        process = subprocess.Popen([*self.bubblewrap(**changes), "/bin/sh", "-c", "echo $$; exec cat"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.communicate, timeout=10)
        return "/usr/bin/nsenter", f"--mount=/proc/{int(process.stdout.readline())}/ns/mnt"

    def become(self, text, *program):
        return [self.bin / "become", *text.split(), "--", *program]


class Launcher(CredentialsTest):
    def launched(self, caller, wrapper, uid=1000, **keywords):
        """By such a caller, where the policy wants that user."""
        return self.launch(self.describe.replace("uid 1000", f"uid {uid}"), *self.operations("list /"), uid=0, options=("--max-abi", "2"),
                           wrapper=(*wrapper, *self.become(caller)), **keywords)

    def test_what_execution_leaves(self):
        """The launcher's own sets and users are what execve(2) makes of its caller's."""
        wrapper = self.enter()
        for caller, *findings in (
            ("uid=1000",),
            ("uid=1000 permitted=13",),  # gone with the execution
            ("uid=1000 suid=0",),
            ("uid=1000 fsuid=0",),
            ("uid=1000 bounding=13", *found("bounding")),
            ("uid=1000 bounding=13,21", *found("bounding", names="cap_net_raw, cap_sys_admin")),
            ("uid=1000 bounding=40", *found("bounding", names="cap_checkpoint_restore")),
            ("uid=1000 inheritable=13", *found("inheritable")),
            ("uid=1000 permitted=13 inheritable=13", *found("inheritable")),
            ("uid=1000 permitted=13 inheritable=13 ambient=13", *found("effective", "permitted", "inheritable", "ambient")),
            ("uid=1000 permitted=13 inheritable=13 ambient=13 bounding=21", *found("effective", "permitted", "inheritable", "ambient"),
             *found("bounding", names="cap_sys_admin")),
            ("uid=1001", *not_1000(real=1001, effective=1001, saved=1001, filesystem=1001)),
            ("uid=0", *not_1000(real=0, effective=0, saved=0, filesystem=0)),
            ("uid=0 bounding=13", *not_1000(real=0, effective=0, saved=0, filesystem=0), *found("effective", "permitted", "bounding")),
            ("uid=0 inheritable=13", *not_1000(real=0, effective=0, saved=0, filesystem=0), *found("effective", "permitted", "inheritable")),
        ):
            with self.subTest(caller):
                outcome = self.launched(caller, wrapper)
                if findings:
                    self.assert_found(outcome, *findings)
                else:
                    self.assert_checked(outcome, "EACCES\n")

    def test_a_full_bounding_set(self):
        some = "cap_chown, cap_dac_override, cap_dac_read_search, cap_fowner, cap_fsetid, cap_kill, cap_setgid, cap_setuid and "
        root = not_1000(real=0, effective=0, saved=0, filesystem=0)
        for caller, users, sets in (("uid=0 bounding=all", root, ("effective", "permitted", "bounding")),
                                    ("uid=1000 bounding=all", [], ("bounding",))):
            outcome = self.launched(caller, self.enter())
            rest = outcome.findings[-1].removeprefix(*found("bounding", names=some))
            self.assertRegex(rest, "^[0-9]+ more$")
            self.assert_found(outcome, *users, *found(*sets, names=some + rest))

    def test_users_that_differ(self):
        """Such a launcher is a privileged one, whatever else it is."""
        wrapper = self.enter()
        for caller in ("uid=1000 euid=0", "uid=0 euid=1000", "uid=1000 euid=1001", "uid=0 euid=1000 bounding=13"):
            with self.subTest(caller):
                outcome = self.launched(caller, wrapper, in_domain=True)
                if "LeakSanitizer has encountered a fatal error" in outcome.err:
                    outcome.code = 125  # a privileged process takes no options from the environment, and cannot be checked
                self.assert_refused(outcome, "privileged-launcher")

    def test_new_privileges_make_no_difference(self):
        """With no_new_privs, as bubblewrap sets it."""
        for caller, *findings in (("uid=1000",), ("uid=1000 bounding=13", *found("bounding")),
                                  ("uid=1000 permitted=13 inheritable=13 ambient=13", *found("effective", "permitted", "inheritable", "ambient"))):
            outcome = self.contained(self.describe, self.attempt, changes=AS_ROOT, uid=0, inside=self.become(caller))
            if findings:
                self.assert_found(outcome, *findings)
            else:
                self.assert_checked(outcome)

    def test_one_that_may_drop_them(self):
        """What the launcher drops afterwards counts all the same: the container had it."""
        outcome = self.launched("uid=0 bounding=8", self.enter(), uid=0)
        self.assert_found(outcome, *found("effective", "permitted", "bounding", names="cap_setpcap"))

    def test_another_user_is_wanted(self):
        """The number in the policy is what counts."""
        wrapper = self.enter()
        self.assert_checked(self.launched("uid=1", wrapper, uid=1))
        for uid in (0, 1000):
            users = "real UID 1, effective UID 1, saved UID 1, filesystem UID 1"
            self.assert_found(self.launched("uid=1", wrapper, uid=uid), f"the user is not UID {uid} but {users}")


class HelpersParent(CredentialsTest):
    """The helper by hand, a child of a process whose sets and users no execution has changed: what executing the helper would lose or
    gain is its parent's."""

    def findings(self, wrapper, parent):
        helper = [CHECK, "uid=1000", "preset=bubblewrap"]
        done = subprocess.run([str(word) for word in (*wrapper, *self.become(f"{parent} stay", *helper))], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={"ASAN_OPTIONS": "detect_leaks=0"}, check=False)
        texts = [] if done.stdout == b"checked\0" else done.stdout.decode().split("\0")[:-1:2]
        self.assertEqual(done.returncode, 1 if texts else 0, done)
        return texts

    def test_each(self):
        wrapper = self.enter(tmp="", sandbox="")  # no writable mount that would have to be named
        for parent, *findings in (
            ("uid=1000",),
            ("uid=1000 permitted=13", *found("permitted")),
            ("uid=1000 permitted=13 effective=13", *found("effective", "permitted")),
            ("uid=1000 inheritable=13", *found("inheritable")),
            ("uid=1000 permitted=13 inheritable=13", *found("permitted", "inheritable")),
            ("uid=1000 permitted=13 inheritable=13 ambient=13", *found("permitted", "inheritable", "ambient")),
            ("uid=1000 bounding=13", *found("bounding")),
            ("uid=1000 permitted=0,40", *found("permitted", names="cap_chown, cap_checkpoint_restore")),
            ("uid=1000 ruid=0", *not_1000(real=0)),
            ("uid=1000 euid=0", *not_1000(effective=0)),
            ("uid=1000 suid=0", *not_1000(saved=0)),
            ("uid=1000 fsuid=0", *not_1000(filesystem=0)),
            ("uid=1000 ruid=1 euid=2 suid=3 fsuid=4", *not_1000(real=1, effective=2, saved=3, filesystem=4)),
            ("uid=0", *not_1000(real=0, effective=0, saved=0, filesystem=0)),
            ("uid=0 bounding=13", *not_1000(real=0, effective=0, saved=0, filesystem=0), *found("bounding")),
            (f"uid={2**32 - 2}", *not_1000(real=2**32 - 2, effective=2**32 - 2, saved=2**32 - 2, filesystem=2**32 - 2)),
        ):
            with self.subTest(parent):
                self.assertEqual(self.findings(wrapper, parent), list(findings))
