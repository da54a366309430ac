"""The launcher, its helper, landlock-policy and the shipped policies in Docker's container on real kernels, and on one that seems to be
older.

All machines run first, two at a time; the tests look at what came of it. The environment: BUILD (the build that is installed),
SANDBOX_HELPERS (attempt, abi_supervisor), CACHE_DIRECTORY (kernels, Docker's data).
"""

import dataclasses
import itertools
import json
import re
import sys
import time
import unittest

from image import ATTACKS, SOURCE, make_tree, pack
from machine import boot, work_folder
from scenarios import ATTEMPTS, DEPARTURES, QUESTIONS, RENAME, TRACED, TRIED, TRIED_ON_ANOTHER, add_scenarios, configurations

sys.path.append(str(SOURCE / "tests/attack"))
from expectations import differences, outcomes, table

# Linux, perhaps with a parameter that leaves Landlock out, and its Landlock ABI. The longest first.
DISABLED = "6.12 lsm=yama"
KERNELS = {"7.3": 11, "6.1": 2, "5.10": 0, DISABLED: 0, "6.12": 6, "6.19": 7, "7.0": 8, "7.1": 9, "7.2": 10}
# Where there is no Landlock: the launcher's reason, what landlock-policy probe calls it, and what both say and advise.
WITHOUT = {"5.10": ("landlock-missing", "not-built", r"kernel 5\.10\.\S+ is not built with it, .*\(ENOSYS\)$", "^use a kernel of 5.13 or newer"),
           DISABLED: ("landlock-disabled", "disabled", r"it is not enabled at boot \(EOPNOTSUPP\)$",
                      r"^add landlock to the list in the host's kernel parameter lsm= ")}
OLD = (1, 2)  # ABIs that cannot stop truncation: the container is checked
SUPERVISED = (1, 2, 3, 4, 5)  # ABIs that no Debian kernel has, and 2 for comparison, by the supervisor
SUPERVISOR = "7.3"

# What each ABI began to restrict, in the order of the status line.
ALWAYS_RESTRICTED = 13  # rights of ABI 1; refer is denied by it, too, and can be allowed from ABI 2 on
RESTRICTED_FROM = {"truncate": 3, "ioctl_dev": 5, "resolve_unix": 9, "bind_tcp": 4, "connect_tcp": 4, "bind_udp": 10,
                   "connect_send_udp": 10, "abstract_unix_socket": 6, "signal": 6}

# By departure, what the findings must name: one finding each. Docker mounts the files of /etc as it does the root.
WRITABLE_ROOT = ["/ must be read-only", *(f"/etc/{name} is a writable mount" for name in ("resolv.conf", "hostname", "hosts"))]
USER_0 = ["the user is not UID 1000 but real UID 0, effective UID 0, saved UID 0, filesystem UID 0"]
FINDINGS = {
    "user 0": USER_0,
    "a capability": ["the bounding capability set is not empty: cap_net_raw"],
    "a writable root": WRITABLE_ROOT,
    "a writable main.py": ["/opt/main.py must be read-only"],
    "another chat": ["/another is a writable mount"],
    "several": [*USER_0, *WRITABLE_ROOT, "/another is a writable mount"],
}

# What is not there for the attacks: on all kernels, on single ones, and in the container, whose /dev/shm is noexec.
ABSENT = {"sctp", "sock_diag", "vsock"}
ABSENT_ON = {"6.1": {"user-xattr"}, **dict.fromkeys(("7.1", "7.2", "7.3"), {"udplite"})}
ABSENT_INSIDE = {"execution", "loader", "set-user-id", "user-namespace", "fanotify"}

UNTOUCHED = {"kept": b"content\n"}  # a chat's directory as init makes it


ATTACKED = ("attacks beside", "attacks inside", "attacks contained")


def attacks_of(abi, is_supervised):
    """Under the supervisor those that tell most: without the launcher they are no others, and ABI 2 is there for comparison only."""
    if not abi or (is_supervised and abi == 2):
        return []
    if is_supervised:
        return ["attacks inside" if abi in OLD else "attacks beside", "attacks contained"]
    return [*ATTACKED, *(f"{name} plain" for name in ATTACKED)]


def scenarios_of(abi, is_supervised=False):
    """Each departure is tried on ABI 2, all together on ABI 1; from ABI 3 on they are let pass, and only another chat's files matter."""
    others = {0: ["unrestricted", "probe outside"], 1: ["attempts", "several", "probe several"],
              2: ["attempts", *DEPARTURES, "probe several"]}
    files = [] if is_supervised else ["files", "files of root"]
    return ["python", "answers", *files, *others.get(abi, ["attempts", "another chat"]), *(["trace"] if abi and not is_supervised else []),
            *attacks_of(abi, is_supervised)]


def runs():
    """By kernel, the scenarios by name; SCENARIO@ABI are under the supervisor."""
    runs = {release: scenarios_of(abi) for release, abi in KERNELS.items()}
    runs[SUPERVISOR] += [f"{scenario}@{abi}" for abi in SUPERVISED for scenario in scenarios_of(abi, True)]
    return runs


def systems(booted):
    """By name, the ABI that the launcher finds there and the results by scenario."""
    systems = {}
    for release, results in booted.items():
        for run, result in results.items():
            scenario, _, seeming = run.partition("@")
            name = f"ABI {seeming}, supervised" if seeming else f"Linux {release}"
            systems.setdefault(name, (int(seeming or KERNELS[release]), {}))[1][scenario] = result
    return systems


def setUpModule():
    global SYSTEMS, TABLE
    started = time.monotonic()
    with work_folder() as folder:
        for part in ("tree", "chat"):
            (folder / part).mkdir()
        make_tree(folder / "tree")
        add_scenarios(folder / "tree", configurations(folder / "chat"))
        pack(folder / "tree", folder / "initramfs")
        tell(f"the image and Docker's configurations: {time.monotonic() - started:.1f} s")
        TABLE = table(ATTACKS / "attack")
        SYSTEMS = systems(boot(runs(), folder / "initramfs", folder, lambda done: tell(f"Linux {done.system}: {done.seconds:.1f} s")))
    tell(f"in all: {time.monotonic() - started:.1f} s")


def files_lines(there):
    """What files.py says, where some files are in the chat before."""
    codes = {"'link'": ("link", "replaced"), "'fifo'": ("special",) * 2, "'folder'": ("folder",) * 2, "'hard-link'": ("hard-link", "replaced"),
             "'socket'": ("special",) * 2, "'sparse'": ("too-large", "replaced"), "'none'": ("missing", "copied"), "'../kept'": ("name",) * 2,
             "'a\\nb'": ("name",) * 2}
    kinds = [f"{act} {name}: {0 if code in ('copied', 'replaced') else 1} {code}" for name, pair in codes.items() for act, code in zip(("get", "put"), pair)]
    return ["put: 0 copied", "replace: 0 replaced", "get: True", "put a file: 0 copied", "get a file: True", *kinds,
            'import "a": copied', 'import "b": copied', 'import "sub/c": copied', 'import "sub/loop": skipped', 'import "sub/папка/d": copied',
            "import null: skipped", 'import "a": replaced', "imported a: True", "imported sub/папка/d: True", "remove: 0 removed",
            f"list: {sorted(['piped', 'link', 'hard-link', 'sparse', 'none', 'a', 'b', *there])}",
            "owners: [1000]", "nothing is left: True", "the link's target: True"]


def anonymous(result):
    """Without what a probe tells of the kernel itself: its release, and the errata that it fixes."""
    return dataclasses.replace(result, out=re.sub(r'^    "(release|errata)": .*\n', "", result.out, flags=re.MULTILINE))


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Kernel(unittest.TestCase):
    maxDiff = None

    def of(self, scenario, abis=range(1, 12)):
        """What came of a scenario on each system with these ABIs that has it: names, ABIs, results."""
        found = [(name, abi, results[scenario]) for name, (abi, results) in SYSTEMS.items() if abi in abis and scenario in results]
        self.assertTrue(found)
        return found

    def assert_started(self, abi, result):
        """And that the status line says all of what this ABI enforces, and what not."""
        self.assertEqual(result.status, {
            "event": "starting", "reason": None, "message": None, "hint": None, "abi": abi, "max_abi": 11, "kernel_abi": abi, "uid": 1000,
            "not_enforced": [right for right, first in RESTRICTED_FROM.items() if abi < first],
            "not_granted": ["refer"] if abi == 1 else [], "unrestricted": [], "container": "checked" if abi in OLD else "not-needed",
            "proof": "read_dir /", "warnings": [], "findings": []})
        self.assertEqual((result.code, result.err.count("\n")), (0, 1), result)  # nothing on standard error but that line

    def assert_refused(self, result, reason):
        """And that nothing ran."""
        self.assertIsNotNone(result.status, result)
        self.assertEqual((result.code, result.out, result.status["event"], result.status["reason"]), (125, "", "refused", reason), result)
        self.assertEqual((result.chat, result.another), (UNTOUCHED, UNTOUCHED))

    def test_every_system_is_there(self):
        self.assertEqual(sorted(abi for abi, _ in SYSTEMS.values()), sorted([*KERNELS.values(), *SUPERVISED]))
        for name, (abi, results) in SYSTEMS.items():
            self.assertEqual(sorted(results), sorted(scenarios_of(abi, "supervised" in name)), name)

    def test_without_landlock(self):
        """Nothing runs, nothing is tried, and the launcher says why as landlock-policy does."""
        for release, (reason, _, message, hint) in WITHOUT.items():
            with self.subTest(release):
                _, results = SYSTEMS[f"Linux {release}"]
                self.assert_refused(results["python"], reason)
                told = results["python"].status
                self.assertRegex(told["message"], "Sandbox requires enabled Landlock ABI 1 or newer: .*" + message)
                self.assertRegex(told["hint"], hint)
                (_, refused), other = self.answer(results["answers"], "expectations"), self.answer(results["answers"], "network")
                self.assertEqual((refused, other), ("", (2, "")))
                self.assertEqual(results["answers"].err.splitlines(), [f"landlock-policy: {told['message']}",
                                                                       f"landlock-policy: hint: {told['hint']}"] * 2)

    def test_python(self):
        """Code from standard input runs in /sandbox and leaves its files there; what is not its own is denied."""
        for scenario, tried, abis in (("python", TRIED, range(1, 12)), ("another chat", TRIED_ON_ANOTHER, range(3, 12))):
            for name, abi, result in self.of(scenario, abis):
                with self.subTest(name, scenario=scenario):
                    self.assert_started(abi, result)
                    first, *lines = result.out.splitlines()
                    self.assertIn(first, [f"/sandbox 1000 {root} cgroup2" for root in ("overlay", *([] if abi in OLD else ["tmpfs"]))])
                    self.assertEqual(lines, [f"{line} Permission denied" for line in tried])
                    self.assertEqual((result.chat, result.another), ({**UNTOUCHED, "отчёт.txt": "Готово".encode()}, UNTOUCHED))

    def assert_answers(self, abi, result):
        """Each operation is denied from its ABI on, and possible below."""
        expected = [(operation, now if first and abi >= first else before) for operation, first, now, before in ATTEMPTS]
        expected.append((RENAME, "EXDEV" if abi == 1 else "OK"))
        self.assertEqual(result.code, 0, result)
        self.assertEqual([*itertools.zip_longest((operation for operation, _ in expected), result.out.split())], expected)

    def test_what_each_abi_restricts(self):
        for name, abi, result in self.of("attempts"):
            with self.subTest(name):
                self.assert_started(abi, result)
                self.assert_answers(abi, result)

    def test_trace(self):
        """What is denied is told with the right of each ABI; the program meets what it meets without."""
        for name, abi, result in self.of("trace"):
            with self.subTest(name):
                out, report = result.out.split("\f")
                self.assert_answers(abi, dataclasses.replace(result, out=out))
                (run,) = json.loads(report)["runs"]
                met = {(right, item["port"] if item["port"] is not None else item["path"]) for item in run["denials"] for right in item["rights"]}
                python = {(right, place) for right, place in met if "/python3" in str(place)}  # by its own name
                self.assertEqual({right for right, _ in python}, {"execute", "read_file"})
                self.assertEqual(met - python, {(right, place) for right, place, first in TRACED if abi >= first})
                self.assertEqual([run[count] for count in ("exit_status", "dropped", "unread", "unfollowed", "foreign", "left")], [0] * 6)

    def test_without_the_launcher(self):
        """All of it is possible in the container: what is denied above, Landlock denies."""
        for _, abi, result in self.of("unrestricted", [0]):
            self.assert_answers(abi, result)

    def test_departures(self):
        """Where truncation cannot be stopped, a container that is not as it must be is refused, with all that is wrong with it."""
        for departure, texts in FINDINGS.items():
            for name, _, result in self.of(departure, OLD):
                with self.subTest(name, departure=departure):
                    self.assert_refused(result, "container")
                    findings = result.status["findings"]
                    self.assertEqual(len(findings), len(texts), findings)
                    for text in texts:
                        self.assertTrue(any(text in finding["message"] for finding in findings), (text, findings))
                    self.assertTrue(all("docker run: " in finding["hint"] for finding in findings), findings)

    def test_the_supervisor_is_like_the_real_kernel(self):
        """All that came of each scenario is the same, byte for byte: so ABI 1, 3, 4 and 5 are tried, too. Only the probe names the kernel."""
        (_, real), (_, supervised) = SYSTEMS["Linux 6.1"], SYSTEMS["ABI 2, supervised"]
        for name, result in supervised.items():
            with self.subTest(name):
                self.assertEqual(anonymous(real[name]), anonymous(result))

    def test_files(self):
        """chat-files does and refuses the same on every kernel, as the chat's user and as root."""
        for scenario, there in (("files", ["kept"]), ("files of root", [])):
            for name, _, result in self.of(scenario, range(12)):
                with self.subTest(name, scenario=scenario):
                    self.assertEqual((result.code, result.err, result.out.splitlines()), (0, "", files_lines(there)))

    # ---- landlock-policy ----

    def answer(self, result, question):
        """Exit status and output of one of QUESTIONS."""
        self.assertEqual((result.code, result.chat, result.another), (0, UNTOUCHED, UNTOUCHED))
        *words, rest = result.out.split("\f")
        self.assertEqual((len(words), rest), (2 * len(QUESTIONS), ""), result)
        at = 2 * list(QUESTIONS).index(question)
        return int(words[at + 1]), words[at]

    def answers(self, question):
        """On each system with Landlock: its name, ABI, exit status and document."""
        for name, abi, result in self.of("answers"):
            code, out = self.answer(result, question)
            self.assertEqual(result.err, "")
            yield name, abi, code, json.loads(out)

    def test_probe(self):
        """What this ABI restricts, and that the container is what the policy describes; a launch would start, and does: see above."""
        for name, abi, code, document in self.answers("probe"):
            with self.subTest(name):
                kernel = document["kernel"]
                self.assertEqual((kernel["landlock"], kernel["abi"], kernel["seccomp"], kernel["message"]), ("enforced", abi, True, None))
                self.assertEqual(kernel["open"], [right for right, first in RESTRICTED_FROM.items() if abi < first])
                self.assertEqual(len(kernel["restricted"]), ALWAYS_RESTRICTED + (abi > 1) + len(RESTRICTED_FROM) - len(kernel["open"]))
                self.assertEqual((document["container"], document["refusals"]), ({"state": "checked", "findings": []}, []))
                self.assertEqual((code, document["fit"], document["advice"]), (0, True, None))
                self.assertEqual({statement["effect"] for statement in document["statements"]}, {"full", "none", *(["part"] if abi in OLD else [])})

    def probe(self, result, code):
        self.assertEqual((result.code, result.err, result.chat, result.another), (code, "", UNTOUCHED, UNTOUCHED), result)
        return json.loads(result.out)

    def test_probe_without_landlock(self):
        """Why there is none, in the container and out of it, where no seccomp filter can be to blame; and what to do."""
        for release, (reason, state, message, hint) in WITHOUT.items():
            _, results = SYSTEMS[f"Linux {release}"]
            code, out = self.answer(results["answers"], "probe")
            inside, outside = json.loads(out), self.probe(results["probe outside"], 1)
            self.assertEqual((code, [refusal["reason"] for refusal in inside["refusals"]]), (1, [reason]))
            for document, is_filtered in ((inside, True), (outside, False)):
                with self.subTest(release, is_filtered=is_filtered):
                    kernel = document["kernel"]
                    self.assertEqual((kernel["landlock"], kernel["abi"], kernel["seccomp"], kernel["restricted"]), (state, None, is_filtered, []))
                    self.assertRegex(kernel["message"], message)
                    self.assertRegex(kernel["hint"], hint)
                    self.assertEqual((document["fit"], document["advice"]), (False, kernel["hint"]))

    def test_probe_of_a_departure(self):
        """It is refused, with all that is wrong, and the first is what to do."""
        for name, _, result in self.of("probe several", OLD):
            with self.subTest(name):
                document = self.probe(result, 1)
                found = document["container"]["findings"]
                self.assertEqual([any(text in finding["message"] for text in FINDINGS["several"]) for finding in found],
                                 [True] * len(FINDINGS["several"]))
                self.assertEqual((document["container"]["state"], document["fit"], document["advice"]), ("refused", False, found[0]["hint"]))
                # user 0 without capabilities may not enter the chat's directory
                self.assertEqual([refusal["reason"] for refusal in document["refusals"]], ["container", "path"])
                self.assertEqual({statement["effect"] for statement in document["statements"]
                                  if statement["statement"].startswith("container ")}, {"refused"})

    def test_expectations_of_the_shipped_policy(self):
        """All hold, on every ABI. On ABI 1 and 2 truncation is the container's business, which was checked."""
        for name, abi, code, document in self.answers("expectations"):
            with self.subTest(name):
                self.assertEqual([test for test in document["tests"] if test["outcome"] == "not ok"], [])
                self.assertEqual((code, document["abi"], document["failed"]), (0, {"kernel": abi, "used": abi}, 0))
                self.assertGreater(document["passed"], 50)
                skipped = [(test["expected"], test["right"], test["path"]) for test in document["tests"] if test["outcome"] == "skipped"]
                self.assertEqual(skipped, [("denied", "truncate", path) for path in ("/", "/etc", "/usr/lib")] if abi in OLD else [])

    def test_rights_of_newer_abis(self):
        """Each is denied at one place and allowed at another, for real, from its ABI on. Before, what is expected to be denied is not,
        and that is told."""
        for name, abi, code, document in self.answers("network"):
            with self.subTest(name):
                wanted = {}
                for right in ("bind_tcp", "connect_tcp", "bind_udp", "connect_send_udp", "resolve_unix", "ioctl_dev"):
                    is_restricted = abi >= RESTRICTED_FROM[right]
                    wanted["allowed", right] = ("ok", "it succeeds", "it succeeds", None, None)
                    wanted["denied", right] = ("ok", "it succeeds", "Permission denied", None, None) if is_restricted else (
                        "not ok", "it succeeds", "it succeeds", f"Landlock ABI {abi} cannot restrict it",
                        f"refuse to run on such a kernel: require {right}")
                self.assertEqual({(test["expected"], test["right"]): tuple(test[key] for key in ("outcome", "outside", "inside", "message", "hint"))
                                  for test in document["tests"]}, wanted)
                self.assertEqual((code, document["failed"]), (int(abi < 10), sum(outcome == "not ok" for outcome, *_ in wanted.values())))


class Attacks(unittest.TestCase):
    """What comes of each attack of tests/attack, with the launcher and without it: outside of a container, where on ABI 1 and 2 nothing
    runs; in one; and from one on what lies outside of it. It is what the table says, which the manual has, too."""

    def assert_as_expected(self, name, scenario, abi, result):
        contained, beside = "contained" in scenario, "beside" in scenario
        kernel = name.removeprefix("Linux ") if name.startswith("Linux ") else SUPERVISOR
        absent = ABSENT | ABSENT_ON.get(kernel, set()) | (set() if beside or contained else ABSENT_INSIDE)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(differences(TABLE, result.out, abi, contained=contained, filtered=not beside, absent=absent), [])
        found = outcomes(result.out)
        counts = {word: sum(words[0] == word for words in found.values()) for word in ("DENIED", "OPEN", "ABSENT")}
        tell(f"{name}, {scenario}: {counts}")
        self.assertEqual({words[1] for words in found.values() if words[0] == "ABSENT"}, absent)

    def test_all(self):
        tried = 0
        for name, (abi, results) in SYSTEMS.items():
            for scenario, result in results.items():
                if not scenario.startswith("attacks "):
                    continue
                tried += 1
                with self.subTest(name, scenario=scenario):
                    if scenario == "attacks beside" and abi in OLD:
                        self.assertEqual((result.code, result.out.splitlines()[1:]), (3, ["ENDED 125"]), result)
                        self.assertIn("landlock-exec: container: / must be read-only", result.err)
                    else:
                        self.assert_as_expected(name, scenario, None if scenario.endswith("plain") else abi, result)
        self.assertEqual(tried, 6 * sum(abi > 0 for abi in KERNELS.values()) + 2 * (len(SUPERVISED) - 1))


if __name__ == "__main__":
    unittest.main()
