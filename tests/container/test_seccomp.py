"""Seccomp profiles that do not let Landlock be called, as an old Docker's: the documented refusal, and nothing runs."""

import json
import unittest

from harness import ContainerTest, supplied, text

CODE = "open('/sandbox/written', 'w').close(); print('ran')"
LANDLOCK = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
ENOSYS, EPERM = 38, 1
CAUSES = {"landlock-old-seccomp": r"a seccomp profile that is too old to know Landlock hides it, or the kernel \(.*\) has none \(ENOSYS\)$",
          "landlock-blocked": r"a seccomp profile blocks its system calls \(EPERM\)$"}


class Profiles:
    """Of a container test: profiles made of the daemon's own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.docker.started("--entrypoint", "sleep", "mypy", "60") as container:
            cls.dockers = cls.docker.config_of(container)["linux"]["seccomp"]  # what dockerd made of its default profile

    def without(self, names):
        """Docker's default profile as one that was written before these calls were known."""
        calls = [{**rule, "names": [name for name in rule["names"] if name not in names]} for rule in self.dockers["syscalls"]]
        known = {name for rule in self.dockers["syscalls"] for name in rule["names"]}
        self.assertLessEqual(LANDLOCK, known)
        return {**self.dockers, "syscalls": [rule for rule in calls if rule["names"]]}

    def profile(self, profile):
        file = self.folder(0o755, owner=0, prefix="seccomp.") / "profile.json"
        file.write_text(json.dumps(profile))
        return {"seccomp": f"--security-opt seccomp={file}"}

    def refusing(self, error):
        """A profile that allows everything but Landlock."""
        return {"defaultAction": "SCMP_ACT_ALLOW",
                "syscalls": [{"names": sorted(LANDLOCK), "action": "SCMP_ACT_ERRNO", "errnoRet": error}]}

    def hiding(self):
        """Profiles that keep Landlock from a container: what they are, the options, and the launcher's reason."""
        newer = {"memfd_secret", "process_mrelease", "futex_waitv", "set_mempolicy_home_node"}  # runc answers ENOSYS to what is beyond all
        for name, profile, reason in (("an old Docker's default profile", self.without(LANDLOCK | newer), "landlock-old-seccomp"),
                                      ("a profile that answers ENOSYS", self.refusing(ENOSYS), "landlock-old-seccomp"),
                                      ("a default profile without the calls", self.without(LANDLOCK), "landlock-blocked"),
                                      ("a profile that answers EPERM", self.refusing(EPERM), "landlock-blocked")):
            yield name, self.profile(profile), reason


class SeccompTest(Profiles, ContainerTest):
    def test_landlock_is_kept_from_it(self):
        for name, options, reason in self.hiding():
            with self.subTest(name):
                outcome = self.launch(CODE, **options)
                self.assert_refused(outcome, reason)
                self.assertEqual(outcome.status["abi"], 0)
                chat = self.folder()
                done = self.docker.run(*supplied(chat, **options), "mypy", input=CODE.encode())
                self.assertEqual((done.returncode, done.stdout, list(chat.iterdir())), (125, b"", []))
                refusal, hint = text(done.stderr).splitlines()
                self.assertRegex(refusal, f"^landlock-exec: Sandbox requires enabled Landlock ABI 1 or newer: {CAUSES[reason]}")
                self.assertRegex(hint, "^landlock-exec: hint: ")

    def test_the_profile_as_it_is_does_no_harm(self):
        self.assert_ran(self.launch(CODE, **self.profile(self.without(set()))), "ran\n")

    def test_unconfined(self):
        """No profile at all: Landlock is there, and the container's filter is not what is checked."""
        self.assert_ran(self.launch(CODE, max_abi=2, seccomp="--security-opt seccomp=unconfined"), "ran\n")


if __name__ == "__main__":
    unittest.main()
