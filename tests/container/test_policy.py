"""landlock-policy in the mypy image: the shipped policies are fine there, what they expect is so, and what is short of them in a container
is told to whoever started it. The README's recipe for CI does as it says."""

import json
import os
import re
import subprocess
import sys
import unittest

from harness import POLICY, SOURCE, ContainerTest, supplied, text, together
from test_configuration import plug_in
from test_departures import DEPARTURES
from test_seccomp import CAUSES, Profiles

sys.path.append(str(SOURCE / "tests/policy"))
import schema

FOLDER = os.path.dirname(POLICY)
LOCAL = f"{FOLDER}/local.policy"
README = (SOURCE / "README.md").read_text()
ABIS = {"own ABI": [], "ABI 2": ["--max-abi", "2"], "ABI 1": ["--max-abi", "1"]}

# What is expected to be denied and only the container denies, on Landlock ABI 1 and 2.
LEFT_TO_THE_CONTAINER = [f"denied truncate {path}" for path in ("/", "/etc", "/usr/lib")]

SITE = {
    "fine": "allow read /opt/models\n",
    "mistake": "allow raed /opt/models\nallow read_file etc/hostname\n",
    "contradiction": "allow read_file /etc/passwd\n",
    "private": "allow read /opt\n",
    "missing": "allow read /opt/models /opt/more\n",
    "shadow": "allow read_file /etc/shadow\nexpect allowed read_file /etc/shadow\n",  # which the user may not read
}


def safe(words):
    """What a message is for people: characters that would disturb the line are not shown as they are."""
    return "".join(character if character.isprintable() else "".join(f"\\x{byte:02x}" for byte in character.encode()) for character in words)


class PolicyTest(ContainerTest):
    """Without tests of its own."""

    def ask(self, *words, chat=None, image="mypy", **changes):
        """Runs the command in the supplied configuration, or in one that departs from it: exit status, both outputs."""
        done = self.docker.run(*supplied(chat or self.folder(), **changes), "--entrypoint", "landlock-policy", image, *words)
        return done.returncode, text(done.stdout), text(done.stderr)

    def document(self, subcommand, *words, code=0, **keywords):
        """The answer in JSON, which is as the manual says."""
        found, out, err = self.ask(subcommand, "--format", "json", *words, **keywords)
        self.assertEqual((found, err), (code, ""), out)
        document = json.loads(out)
        self.assertEqual(schema.errors(subcommand, document), [], out)
        return document

    def script(self, script, /, *words, before=(), image="mypy", chat=None, **changes):
        """A script of sh in the container."""
        first, *rest = [*before, "/bin/sh", "-euc", script, "script", *words]
        return self.docker.run(*supplied(chat or self.folder(), **changes), "--entrypoint", first, image, *rest)

    def both_probes(self, *options, **keywords):
        """The document, its exit status, and the text with its own, of one container."""
        done = self.script('for format in json text; do code=0; landlock-policy probe --format $format "$@" || code=$?; '
                           "printf '\\f%s\\f' $code; done", *options, POLICY, **keywords)
        self.assertEqual((done.returncode, text(done.stderr)), (0, ""))
        document, code, answer, same, _ = text(done.stdout).split("\f")
        self.assertEqual(code, same)
        document = json.loads(document)
        self.assertEqual(schema.errors("probe", document), [])
        return int(code), document, answer.splitlines()

    def assert_to_do(self, document, lines, advice):
        """It is the last line, and whether a launch would start goes with it."""
        self.assertEqual((document["fit"], document["advice"]), (advice is None, advice))
        self.assertRegex(lines[-1], f"^to do +{re.escape(safe(advice or 'nothing: a launch would start'))}$")


class ShippedPoliciesTest(PolicyTest):
    def test_check_finds_nothing(self):
        files = [f"{FOLDER}/{path.name}" for path in (SOURCE / "policy").glob("*.policy")] + [f"{FOLDER}/default.policy"]
        self.assertIn(POLICY, files)
        document = self.document("check", *files)
        self.assertEqual([(policy["policy"], policy["diagnostics"]) for policy in document["policies"]], [(file, []) for file in files])

    def test_every_expectation_holds(self):
        """Nothing is left behind, and the chat's files are as they were."""
        for name, options in ABIS.items():
            with self.subTest(name):
                chat = self.chat_with_files()
                before = state(chat)
                done = self.script('landlock-policy test "$@"; find /tmp /dev/shm -mindepth 1', *options, POLICY, chat=chat)
                self.assertEqual((done.returncode, text(done.stderr)), (0, ""))
                self.assertEqual(state(chat), before)
                results = tap(self, text(done.stdout))
                self.assertGreater(len(results), 50)
                self.assertEqual({what for what, (is_ok, _) in results.items() if not is_ok}, set())
                skipped = {what: why for what, (_, why) in results.items() if why}
                self.assertEqual(list(skipped), LEFT_TO_THE_CONTAINER if options else [])
                for why in skipped.values():
                    self.assertEqual(why, f"Landlock {name} cannot restrict it; the container, which was checked, does: Read-only file system")

    def chat_with_files(self):
        """Of what a person's code may leave there, nothing is in the way."""
        chat = self.folder()
        (chat / "отчёт.txt").write_text("Готово")
        (chat / "folder").mkdir()
        (chat / "folder" / ".landlock-policy.1.1").write_text("a name like the command's own")
        (chat / "link").symlink_to("/etc/passwd")
        os.mkfifo(chat / "pipe")
        for path in (chat, *chat.rglob("*")):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)
            os.utime(path, (1, 1), follow_symlinks=False)
        return chat

    def test_expectations_as_json(self):
        document = self.document("test", "--max-abi", "2", POLICY)
        self.assertEqual((document["failed"], document["skipped"]), (0, len(LEFT_TO_THE_CONTAINER)))
        self.assertEqual(document["passed"] + document["skipped"], len(document["tests"]))

    def test_as_another_user(self):
        """Root without capabilities may not write what is the chat's: that is told, and not taken for Landlock's doing. Where the
        container must be checked, nothing is tried."""
        code, out, err = self.ask("test", POLICY, user="--user 0")
        self.assertEqual((code, err), (1, ""))
        failed = {what for what, (is_ok, _) in tap(self, out).items() if not is_ok}
        self.assertTrue(failed and all(what.startswith("allowed ") and what.endswith(" /sandbox") for what in failed), failed)
        self.assertEqual(out.count('hint: "UID 0 may not, without capabilities: run this as the user that the program runs as"'), len(failed))
        code, out, err = self.ask("test", "--max-abi", "2", POLICY, user="--user 0", more="--cap-add KILL")
        self.assertEqual((code, out), (2, ""))
        for words in ("the user is not UID 1000", "hint: docker run: --user 1000:1000", "bounding capability set is not empty: cap_kill",
                      "hint: docker run: --cap-drop ALL"):
            self.assertIn(words, err)

    def test_show(self):
        document = self.document("show", POLICY)
        self.assertEqual(document["files"], [POLICY, *(f"{FOLDER}/{name}.policy" for name in ("python", "libraries", "fonts", "utilities"))])
        self.assertEqual((document["run"], document["directory"], document["unrestricted"], document["container"]["uid"]),
                         (["python3", "/opt/main.py"], "/sandbox", [], 1000))
        rules = {rule["path"]: rule for rule in document["rules"]}
        for path, state in (("/usr/lib", "allow"), ("/usr/bin/python3", "allow"), ("/sandbox", "allow"), ("/etc/python3.14", "missing")):
            self.assertEqual(rules[path]["state"], state, path)
        self.assertEqual({rule["state"] for rule in rules.values()}, {"allow", "missing"})
        code, out, err = self.ask("show", "--max-abi", "2", POLICY)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^not enforced  truncate,ioctl_dev,resolve_unix,bind_tcp,connect_tcp,bind_udp,connect_send_udp,"
                              r"abstract_unix_socket,signal$")


class WhyTest(PolicyTest):
    def answers(self, *words, code, **keywords):
        document = self.document("why", POLICY, *words, code=code, **keywords)
        return {answer["path"]: answer for answer in document["answers"]}

    def test_reading(self):
        chat = self.folder()
        (chat / "x").write_text("")
        os.chown(chat / "x", self.uid, self.uid)
        answers = self.answers("read_file", "/etc/passwd", "/opt/main.py", "/usr/lib", "/sandbox/x", "/sandbox/y", "/etc/hostname",
                               "/etc/shadow", chat=chat, code=1)
        told = {path: (answer["allowed"], answer["obstacle"], answer["suggestion"], line(answer["given_by"]), line(answer["forbidden_by"]))
                for path, answer in answers.items()}
        self.assertEqual(told, {
            "/etc/passwd": (False, "landlock", None, None, line_of("expect denied  read_file", "/etc/passwd")),
            "/opt/main.py": (False, "landlock", None, None, line_of("expect denied  read_file", "${script}")),
            "/usr/lib": (True, "nothing", None, line_of("allow read /usr/lib", "/usr/lib", "libraries.policy"), None),
            "/sandbox/x": (True, "nothing", None, line_of("allow read,write,create,remove,rename ${sandbox}", "${sandbox}"), None),
            "/sandbox/y": (False, "missing", None, line_of("allow read,write,create,remove,rename ${sandbox}", "${sandbox}"), None),
            "/etc/hostname": (False, "landlock", "allow read_file /etc/hostname", None, None),
            "/etc/shadow": (False, "landlock", "allow read_file /etc/shadow", None, None),
        })
        self.assertEqual((answers["/etc/shadow"]["system"], answers["/etc/shadow"]["system_error"]), ("permissions", "Permission denied"))

    def test_writing(self):
        for right, wanted in (
                ("make_reg", {"/usr/lib": (False, True, "read-only"), "/sandbox": (True, False, "nothing"), "/tmp": (True, False, "nothing")}),
                ("write_file", {"/opt/main.py": (False, True, "permissions"), "/dev/null": (True, False, "nothing")})):
            answers = self.answers(right, *wanted, code=1)
            self.assertEqual({path: (answer["allowed"], answer["landlock_denies"], answer["system"]) for path, answer in answers.items()}, wanted)

    def test_the_suggestion_helps(self):
        """It goes in local.policy as it is: then code can do it, why says so, and check and test still find nothing."""
        suggestion = self.answers("read_file", "/etc/hostname", code=1)["/etc/hostname"]["suggestion"]
        file = self.folder(0o755, prefix="policy.") / "local.policy"
        file.write_text(f"policy 1\n{suggestion}\n")
        os.chown(file, self.root, self.root)
        local = f"--mount type=bind,source={file},target={LOCAL},readonly"
        code = "print(len(open('/etc/hostname').read()))"
        self.assertNotEqual(self.launch(code).code, 0)
        self.assert_ran(self.launch(code, local=local), "13\n")
        answer = self.answers("read_file", "/etc/hostname", code=0, local=local)["/etc/hostname"]
        self.assertEqual(answer["given_by"], {"file": LOCAL, "line": 2, "column": suggestion.index("/etc") + 1})
        for subcommand in ("check", "test", "probe"):
            self.assertEqual(self.ask(subcommand, POLICY, local=local)[0], 0, subcommand)


class ProbeTest(Profiles, PolicyTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.derive("mypy-volume", "VOLUME /data")

    def test_supplied_configuration(self):
        for name, options in ABIS.items():
            with self.subTest(name):
                code, document, lines = self.both_probes(*options)
                self.assertEqual((code, document["refusals"], document["container"]), (0, [], {"state": "checked", "findings": []}))
                self.assertEqual((document["kernel"]["landlock"], document["kernel"]["seccomp"]), ("enforced", True))
                self.assertEqual("truncate" in document["kernel"]["open"], bool(options))
                self.assertEqual({statement["effect"] for statement in document["statements"]},
                                 {"full", "none", *(["part"] if options else [])})
                self.assertIn("container     it is what the policy describes", lines)
                self.assert_to_do(document, lines, None)

    def test_departures(self):
        """Where the container must be checked, all that is amiss is told, each with what restores it, and the first is what to do.
        Elsewhere it is told, too, and a launch would start, unless another user may not enter the chat's directory."""
        cases = [(changes, options) for _, changes, _ in DEPARTURES for options in (["--max-abi", "2"], [])]
        answers = iter(together(lambda case: self.both_probes(*case[1], **case[0]), cases))
        for name, _, findings in DEPARTURES:
            for is_checked in (True, False):
                code, document, lines = next(answers)
                is_another = any(message.startswith("^the user is not UID 1000 but real UID") for message, _ in findings)
                with self.subTest(name, is_checked=is_checked):
                    self.assertEqual(code, int(is_checked or is_another))
                    self.assert_container_told(document, lines, findings)
                    told = document["container"]["findings"]
                    self.assertEqual([refusal["reason"] for refusal in document["refusals"]],
                                     ["container"] * is_checked + ["path"] * is_another)
                    self.assert_to_do(document, lines, told[0]["hint"] if is_checked else
                                      document["refusals"][0]["hint"] if is_another else None)
                    self.assertEqual(sum(line.startswith("refused       container: ") for line in lines), is_checked)
                    self.assertEqual(sum(line.startswith("not needed    container: ") for line in lines), not is_checked)
                    self.assertEqual({statement["effect"] for statement in document["statements"]
                                      if statement["statement"].startswith("container ")}, {"refused" if is_checked else "none"})

    def test_the_launcher_refuses_another_user_as_it_was_told(self):
        for user in ("0", "1001"):
            outcome = self.launch("print('ran')", user=f"--user {user}")
            self.assert_refused(outcome, "path")
            self.assertIn("directory /sandbox: Permission denied", outcome.status["message"])

    def assert_container_told(self, document, lines, findings):
        told = document["container"]["findings"]
        self.assert_findings(told, findings)
        at = lines.index("container     it is not what the policy describes:") + 1
        self.assertEqual([line.strip() for line in lines[at:at + 2 * len(told)]],
                         [safe(finding[key]) for finding in told for key in ("message", "hint")])

    def test_seccomp_profiles(self):
        """It ends in what is to be done to the profile, whatever else there is."""
        for name, options, reason in self.hiding():
            with self.subTest(name):
                code, document, lines = self.both_probes(**options)
                kernel = document["kernel"]
                self.assertEqual((code, kernel["landlock"], kernel["abi"], kernel["seccomp"], kernel["restricted"]),
                                 (1, reason.removeprefix("landlock-"), None, True, []))
                self.assertRegex(kernel["message"], CAUSES[reason])
                self.assertRegex(kernel["hint"], {"landlock-old-seccomp": "^update Docker to 20.10.18 or newer",
                                                  "landlock-blocked": "^allow landlock_create_ruleset, .* in the container's seccomp profile"
                                                  }[reason])
                self.assertIn(reason, [refusal["reason"] for refusal in document["refusals"]])
                self.assertIn("restricted    nothing", lines)
                self.assert_to_do(document, lines, kernel["hint"])

    def test_without_a_profile(self):
        code, document, _ = self.both_probes(seccomp="--security-opt seccomp=unconfined")
        self.assertEqual((code, document["kernel"]["landlock"], document["kernel"]["seccomp"]), (0, "enforced", False))

    def test_without_a_policy(self):
        document = self.document("probe")
        self.assertEqual((document["policy"], document["statements"], document["container"], document["fit"]), (None, None, None, True))


class SiteTest(PolicyTest):
    """Images that a site derives, with a local.policy as the README has it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, lines in SITE.items():
            cls.derive(f"mypy-{name}", "USER 0", "COPY model /opt/models/model", f"COPY local {LOCAL}", "USER 1000:1000", model="",
                       local=f"policy 1\n{lines}")

    def remarks(self, image, *words, code=1):
        document = self.document("check", *words, POLICY, image=image, code=code)
        return {(remark["line"], remark["column"]): (remark["code"], remark["message"], remark["hint"])
                for policy in document["policies"] for remark in policy["diagnostics"] if remark["file"] == LOCAL}

    def test_what_is_needed(self):
        self.assertEqual(self.remarks("mypy-fine", code=0), {})
        code, out, _ = self.ask("test", POLICY, image="mypy-fine")
        self.assertEqual((code, "not ok" in out), (0, False))

    def test_a_mistake(self):
        remarks = self.remarks("mypy-mistake")
        self.assertEqual(list(remarks), [(2, 7), (3, 17)])
        self.assertRegex(remarks[2, 7][1], "'raed' .*did you mean 'read'")
        self.assertTrue(all(code.startswith("E") for code, _, _ in remarks.values()), remarks)
        for subcommand in ("test", "show", "probe"):
            code, out, err = self.ask(subcommand, POLICY, image="mypy-mistake")
            self.assertEqual((code, out), (2, ""), subcommand)
            self.assertIn(f"{LOCAL}:2:7: error: ", err)

    def test_a_contradiction(self):
        remarks = self.remarks("mypy-contradiction")
        self.assertEqual({place: code for place, (code, _, _) in remarks.items()}, {(2, 17): "W104"})
        code, out, _ = self.ask("test", POLICY, image="mypy-contradiction")
        failed = [what for what, (is_ok, _) in tap(self, out).items() if not is_ok]
        self.assertEqual((code, failed), (1, ["denied read_file /etc/passwd"]))

    def test_a_private_file_that_can_be_read(self):
        """Nothing starts: so nothing is tried."""
        remarks = self.remarks("mypy-private")
        self.assertEqual({place: code for place, (code, _, _) in remarks.items()}, {(2, 12): "W105"})
        code, out, err = self.ask("test", POLICY, image="mypy-private")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("/opt/main.py", err)

    def test_a_missing_path(self):
        remarks = self.remarks("mypy-missing")
        self.assertEqual({place: code for place, (code, _, _) in remarks.items()}, {(2, 24): "W108"})
        self.assertIn("-/opt/more", remarks[2, 24][2])
        self.assertEqual(self.remarks("mypy-missing", "--ignore", "W108", code=0), {})

    def test_what_only_a_real_attempt_finds(self):
        self.assertEqual(self.remarks("mypy-shadow", code=0), {})
        code, out, _ = self.ask("test", POLICY, image="mypy-shadow")
        self.assertEqual(code, 1)
        self.assertIn('not ok', out)
        self.assertIn('message: "denied, and not by Landlock: Permission denied"', out)

    # ---- What the README says, word for word ----

    def test_compose(self):
        plug_in(self.docker)
        command, = re.findall(r"^    (CHAT_DIRECTORY=/srv/chats/1 docker compose .* landlock-policy .*)$", README, re.MULTILINE)
        done = self.job(SOURCE, command.replace("/srv/chats/1", str(self.folder())))
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("\ncontainer     it is what the policy describes\n", done.stdout)
        self.assertRegex(done.stdout, r"\nto do +nothing: a launch would start\n$")

    def recipe(self, image):
        """The script for CI, for an image, and what a job and a harness are to run, in its folder."""
        script = re.search(r"^    \$ cat check-policy\n((?:    .*\n)+)", README, re.MULTILINE)[1]
        folder = self.folder(owner=0, prefix="job.")
        lines = [line.removeprefix("    ") for line in script.splitlines()]
        (folder / "check-policy").write_text("\n".join(lines).replace(" mypy ", f" {image} ") + "\n")
        step, = re.findall(r"^    - name: .*\n      run: (.*)$", README, re.MULTILINE)
        harness, = re.findall(r"`(prove .*)`", README)
        return folder, step, harness

    def job(self, folder, command):
        return subprocess.run(["sh", "-c", command], cwd=folder, env=self.docker.environment, capture_output=True, text=True, timeout=120)

    def test_ci_passes(self):
        folder, step, harness = self.recipe("mypy")
        done = self.job(folder, step)
        self.assertEqual(done.returncode, 0, done)
        self.assertGreater(len(tap(self, done.stdout)), 50)
        self.assertIn("1 policy checked: 0 errors, 0 warnings\n", done.stderr)
        done = self.job(folder, harness)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, r"(?s)check-policy \.* ok\nAll tests successful\.\n.*Result: PASS\n$")

    def test_ci_fails_on_findings(self):
        for image, code, words in (("mypy-contradiction", 1, "[W104]"), ("mypy-mistake", 1, "did you mean 'read'"), ("mypy-shadow", 1, None)):
            with self.subTest(image):
                folder, step, harness = self.recipe(image)
                done = self.job(folder, step)
                self.assertEqual(done.returncode, code, done)
                self.assertEqual("not ok" in done.stdout, words is None)
                self.assertIn(words or "0 errors, 0 warnings", done.stderr)
                done = self.job(folder, harness)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stdout, r"Result: FAIL\n$")


class OtherUsersOutside:
    def test_expectations_hold_and_the_container_passes(self):
        for name, options in ABIS.items():
            with self.subTest(name):
                self.assertEqual(self.document("test", *options, POLICY)["failed"], 0)
                document = self.document("probe", *options, POLICY)
                self.assertEqual((document["container"]["state"], document["fit"]), ("checked", True))


class RemappedTest(OtherUsersOutside, PolicyTest):
    kind = "remapped"


class RootlessTest(OtherUsersOutside, PolicyTest):
    kind = "rootless"


# ---- What is compared ----

def tap(test, output):
    """By description, whether it is ok, and why it was skipped. The plan is kept, and nothing else is said but what went wrong."""
    first, plan, *lines = output.splitlines()
    test.assertIn(first, ("TAP version 14", "TAP version 13"))
    results = {}
    for number, (state, told, what, skip) in enumerate(
            re.findall(r"^(ok|not ok) (\d+) - (.*?)(?: \(.*\))?(?: # SKIP (.*))?$", "\n".join(lines), re.MULTILINE), 1):
        test.assertEqual(int(told), number)
        results[what] = (state == "ok", skip)
    test.assertEqual(plan, f"1..{len(results)}")
    test.assertEqual([line for line in lines if not re.match(r"ok|not ok|  ", line)], [])
    return results


def state(folder):
    """Of a folder and all in it, what can change."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        changed = status.st_mtime if path != folder else None  # things were made in it, and removed
        found[path] = (status.st_mode, status.st_uid, status.st_size if content is not None else None, changed, content)
    return found


def line(position):
    """FILE:LINE:COLUMN of an answer's position."""
    return position and f"{position['file']}:{position['line']}:{position['column']}"


def line_of(begin, word, name="interpreter.policy"):
    """That of a word in the line of a shipped policy that begins so."""
    lines = (SOURCE / "policy" / name).read_text().splitlines()
    number, = (number for number, line in enumerate(lines) if line.startswith(begin))
    return f"{FOLDER}/{name}:{number + 1}:{lines[number].index(word) + 1}"


if __name__ == "__main__":
    unittest.main()
