"""Where Landlock cannot be had, nothing runs and the launcher says why."""

import os
import struct

from harness import ABI, IS_SANITIZED, USERS, SandboxTest, in_many_groups, need_root

REQUIREMENT = "Sandbox requires enabled Landlock ABI 1 or newer"
NEWEST = 11  # the newest ABI that this build knows


class WithoutLandlock(SandboxTest):
    #     what the filter answers                 reason                   text
    cases = (
        ("all=38", "landlock-old-seccomp", "a seccomp profile that is too old to know Landlock hides it"),
        ("all=95", "landlock-disabled", "it is not enabled at boot (EOPNOTSUPP)"),
        ("all=1", "landlock-blocked", "a seccomp profile blocks its system calls (EPERM)"),
        ("all=22", "landlock-failed", "the kernel answers Invalid argument"),
        ("all=0", "landlock-not-enforced", "the system calls are accepted but enforce nothing (the ABI is 0)"),
        ("restrict=0", "landlock-not-enforced", "enforce nothing (read_dir /: allowed instead of Permission denied)"),
        ("add=0 restrict=0", "landlock-not-enforced", "enforce nothing (read_dir /: allowed instead of Permission denied)"),
        ("restrict=1", "landlock-blocked", "(EPERM)"),
        ("restrict=38", "landlock-old-seccomp", "(ENOSYS)"),
    )

    def test_reasons(self):
        for uid in USERS:
            for answers, reason, text in self.cases:
                with self.subTest(answers, uid=uid):
                    outcome = self.launch("", *self.operations("list /"), uid=uid,
                                          wrapper=(self.bin / "answer", *answers.split(), "--"))
                    self.assert_refused(outcome, reason, f"landlock-exec: {REQUIREMENT}: ", text, "\nlandlock-exec: hint: " * (
                        reason != "landlock-failed"))
                    self.assertTrue(outcome.status["message"].startswith(REQUIREMENT))

    def test_a_user_of_many_groups(self):
        """They stand before what is looked for in /proc/self/status."""
        need_root()
        outcome = self.launch("", *self.operations("list /"), uid=0, wrapper=(*in_many_groups(), self.bin / "answer", "all=38", "--"))
        self.assert_refused(outcome, "landlock-old-seccomp")

    def test_refused_rules(self):
        for number in (1, 38, 22):
            outcome = self.launch("", *self.operations("list /"), wrapper=(self.bin / "answer", f"add={number}", "--"))
            self.assert_refused(outcome, "path", "the kernel takes no rule for it")

    def test_unheard_rules_deny(self):
        """A kernel that takes rules and forgets them denies more, not less."""
        outcome = self.launch("", *self.operations("list /"), wrapper=(self.bin / "answer", "add=0", "--"), in_domain=True)
        self.assert_refused(outcome, "program-not-executable", code=126)

    def test_an_emulator_that_agrees_to_everything(self):
        for uid in USERS:
            outcome = self.launch("allow read /usr", *self.operations("list /"), uid=uid,
                                  wrapper=(self.bin / "abi_supervisor", "7", "no-effect", "--"))
            self.assert_refused(outcome, "landlock-not-enforced", REQUIREMENT, "read_dir /: allowed instead of")

    def test_proofs_of_permissive_policies(self):
        """Where reading / is allowed something else proves; and a fake kernel is found out by that too."""
        rules = ["allow read_dir /", "allow read_file /etc", "allow read_file /proc", "allow write_file /dev", "allow bind_tcp 0"]
        proofs = ["read_dir /", "read_file /etc/passwd", "read_file /proc/version", "write_file /dev/full", "bind_tcp 0", "none"]
        if ABI < 4:
            proofs[4] = "none"
        for count, proof in enumerate(proofs):
            with self.subTest(proof):
                policy = self.policy("\n".join(rules[:count]))
                outcome = self.launch(policy, self.attempt)
                self.assert_ran(outcome)
                self.assertEqual(outcome.status["proof"], proof)
                if proof != "none":
                    fake = self.launch(policy, self.attempt, wrapper=(self.bin / "abi_supervisor", "7", "no-effect", "--"))
                    self.assert_refused(fake, "landlock-not-enforced", f"({proof}: allowed instead of")


class Layers(SandboxTest):
    def test_the_seventeenth_layer_is_refused(self):
        policy = self.policy("allow execute,read /\nallow write_file /dev/null")
        nest = [self.launcher, "--policy", policy, "--"]
        command = []
        for _ in range(15):
            command += nest
        self.assert_ran(self.launch(policy, *command, *self.operations("read /etc/hostname"), in_domain=True), "OK\n")
        outcome = self.launch(policy, *command, *nest, self.attempt, in_domain=True)
        self.assertEqual((outcome.code, outcome.out), (125, ""))
        self.assertIn("16 layers of rules already (E2BIG)", outcome.err)


class OtherAbis(SandboxTest):
    """A supervisor makes the kernel seem to have another ABI."""

    # from which ABI on the attempt is denied
    denied_from = (("ioctl /dev/null", 5, "ENOTTY"), ("bind 0", 4, "OK"), ("abstract landlock-exec-nobody", 6, "ECONNREFUSED"))

    def supervised(self, policy, *command, abi, mode="plain", **keywords):
        return self.launch(policy, *command, wrapper=(self.bin / "abi_supervisor", str(abi), mode, "--"), **keywords)

    def test_each_abi(self):
        for uid in USERS:
            for abi in range(3, NEWEST + 1):
                if abi >= 7 > ABI:
                    continue  # its flags cannot be taken out of a call
                with self.subTest(abi=abi, uid=uid):
                    outcome = self.supervised("allow read_file /dev/null", *self.operations(*(o for o, *_ in self.denied_from), "list /"),
                                              abi=abi, uid=uid)
                    self.assert_ran(outcome)
                    self.assertEqual((outcome.status["kernel_abi"], outcome.status["abi"]), (abi, abi))
                    expected = ["EACCES" if min(abi, ABI) >= first and name.split()[0] != "abstract" else free
                                for name, first, free in self.denied_from]
                    self.assertEqual(outcome.out.split(), [*expected, "EACCES"])
                    for right, first in (("truncate", 3), ("bind_tcp", 4), ("ioctl_dev", 5), ("signal", 6), ("resolve_unix", 9),
                                         ("bind_udp", 10)):
                        self.assertEqual(right in outcome.status["not_enforced"], abi < first, right)

    def test_newer_than_this_build(self):
        if ABI < 7:
            self.skipTest("the flags that ABI 7 brought cannot be taken out of a call")
        for abi in (12, 30):
            outcome = self.supervised("allow read /usr", *self.operations("list /", "list /usr"), abi=abi, options=["--verbose"])
            self.assert_ran(outcome, "EACCES\nOK\n")
            self.assertEqual((outcome.status["kernel_abi"], outcome.status["abi"]), (abi, NEWEST))
            self.assertIn(f"what ABI {abi} adds to {NEWEST} is not restricted", outcome.err)

    def test_old_abis_are_refused(self):
        """They cannot stop truncation, and this policy says of no container that it does (test_container.py)."""
        text = "and the policy does not describe the container that would be checked"
        for abi in (1, 2):
            for outcome in (self.supervised("", self.attempt, abi=abi), self.launch("", self.attempt, options=["--max-abi", str(abi)])):
                self.assert_refused(outcome, "container", f"container: Landlock ABI {abi} cannot stop truncation, {text}")
                self.assertIn("or use a kernel of Linux 6.2 or newer\n", outcome.err)
        outcome = self.launch("container check always", self.attempt)
        self.assert_refused(outcome, "container", f"the policy says 'container check always', {text}")
        self.assertIn("or leave 'container check always' out\n", outcome.err)

    def test_broken_scopes(self):
        """RHEL 9.6 announces ABI 6 and answers EINVAL to scopes."""
        outcome = self.supervised("allow read /usr", *self.operations("list /", "list /usr"), abi=6, mode="broken-scopes",
                                  options=["--verbose"])
        self.assert_ran(outcome, "EACCES\nOK\n")
        self.assertLessEqual({"signal", "abstract_unix_socket"}, set(outcome.status["not_enforced"]))
        self.assertIn("announces scopes and refuses them", outcome.err)
        for scope in ("signal", "abstract_unix_socket"):
            outcome = self.supervised(f"require {scope}", self.attempt, abi=6, mode="broken-scopes")
            self.assert_refused(outcome, "requirement", scope)

    def test_requirements(self):
        self.assert_refused(self.launch("require abi 99", self.attempt), "policy", "'99' is not a Landlock ABI that this build knows")
        self.assert_refused(self.supervised("require abi 9", self.attempt, abi=6), "requirement",
                            "test.policy:2:13: the policy requires Landlock ABI 9, and ABI 6 is the one that is used")
        self.assert_refused(self.supervised("require resolve_unix", self.attempt, abi=6), "requirement",
                            "test.policy:2:9: the policy requires what Landlock ABI 6, the one that is used, cannot restrict: resolve_unix")
        if ABI < 9:
            self.assert_refused(self.launch("require resolve_unix", self.attempt), "requirement", "resolve_unix")
        if ABI < NEWEST:
            self.assert_refused(self.launch(f"require abi {ABI + 1}", self.attempt), "requirement")
        self.assert_ran(self.launch("require abi 3\nrequire truncate,refer", self.attempt))
        self.assert_refused(self.launch("require network", self.attempt, options=["--max-abi", "3"]), "requirement", "bind_tcp,connect_tcp")

    def test_max_abi_warns_and_restricts_less(self):
        outcome = self.launch("", *self.operations("bind 0", "list /"), options=["--max-abi", "3"])
        self.assert_ran(outcome, "OK\nEACCES\n")
        self.assertIn("landlock-exec: warning: --max-abi is for trying a policy", outcome.err)
        self.assertEqual((outcome.status["abi"], outcome.status["max_abi"]), (3, 3))
        self.assertTrue(any("--max-abi" in text for text in outcome.status["warnings"]))
        for value in ("0", "12", "x", "", "-1", "3x"):
            self.assert_refused(self.launch("", self.attempt, options=["--max-abi", value]), "usage")


class PrivilegedLauncher(SandboxTest):
    """A launcher that gives privilege refuses to work, whoever calls it."""

    def setUp(self):
        super().setUp()
        need_root()

    def copy(self, mode):
        return self.make("launcher", self.launcher.read_bytes(), mode, 0)

    def test_bits_and_capabilities(self):
        capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)  # VFS_CAP_REVISION_2, effective: cap_net_bind_service
        for name, mode, attribute in (("set-uid", 0o4755, None), ("set-gid", 0o2755, None), ("file capabilities", 0o755, capability)):
            path = self.copy(mode)
            if attribute:
                os.setxattr(path, "security.capability", attribute)
            for uid in USERS:
                with self.subTest(name, uid=uid):
                    outcome = self.launch("", self.attempt, uid=uid, launcher=path, in_domain=True)
                    if IS_SANITIZED and "LeakSanitizer has encountered a fatal error" in outcome.err:
                        outcome.code = 125  # a privileged process takes no options from the environment, and cannot be checked
                    self.assert_refused(outcome, "privileged-launcher", "it needs no privilege and refuses to have one")
        path = self.copy(0o755)
        self.assert_ran(self.launch("", self.attempt, launcher=path))
