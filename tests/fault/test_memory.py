"""Every allocation of the launcher and of its helper, failed one by one, and from each one on all."""

import re
import subprocess
from pathlib import Path

from harness import CHECK_CONTAINER, LAUNCHER
from injection import ContainerFaultTest, FaultTest, Scene
from judge import Plan


def allocators(file, *options):
    """Where they are, as the injector wants it told."""
    text = subprocess.run(["nm", *options, file], stdout=subprocess.PIPE, check=True, text=True).stdout
    found = {name: address for address, name in re.findall(r"^([0-9a-f]+) [TW] (malloc|calloc|realloc)(?:@@\S+)?$", text, re.MULTILINE)}
    return ",".join([Path(file).name, found["malloc"], found["calloc"], found["realloc"]])


def c_library(program):
    text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, check=True, text=True).stdout
    return re.search(r"libc\.so\.6 => (\S+)", text)[1]


def disturb(test, scene, process=0):
    count = scene.launches([Plan(process, "", 1000000, "memory", 0)])[0].allocations
    test.assertGreater(count, 5)
    plans = [Plan(process, "", number, "memory", stays) for number in range(count) for stays in (0, 1)]
    test.finish(scene, scene.disturb(plans))


class Memory(FaultTest):
    def scene(self, *options, text="", program=None, **keywords):
        self.make_places()
        return Scene(self, self.command(self.write_policy(text), *options, program=program), allocators=allocators(LAUNCHER), **keywords)

    def test_launch(self):
        scene = self.scene()
        self.assert_whole(scene.record)
        disturb(self, scene)

    def test_verbose(self):
        disturb(self, self.scene("--verbose"))

    def test_refusal(self):
        scene = self.scene(text="allow read /missing\n")
        self.assertFalse(scene.record.ran)
        disturb(self, scene)

    def test_faults_of_the_policy(self):
        scene = self.scene(text="allow red /\nallow read relative\n")
        self.assertFalse(scene.record.ran)
        disturb(self, scene)

    def test_dry_run(self):
        scene = self.scene("--dry-run", program=[self.bin / "witness", "word", self.folder / "outside" / "secret"])
        self.assertEqual(scene.record.code, 0)
        disturb(self, scene)


class ContainerMemory(ContainerFaultTest):
    """Of the launcher, and of its helper, whose memory is the C library's."""

    def test_launcher(self):
        disturb(self, self.fit(allocators=allocators(LAUNCHER)))

    def test_launcher_in_unfit_container(self):
        disturb(self, self.unfit(allocators=allocators(LAUNCHER)))

    def test_helper(self):
        disturb(self, self.fit(allocators=allocators(c_library(CHECK_CONTAINER), "-D")), process=1)

    def test_helper_in_unfit_container(self):
        disturb(self, self.unfit(allocators=allocators(c_library(CHECK_CONTAINER), "-D")), process=1)
