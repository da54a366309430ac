"""Every system call of a launch on the newest ABI that the kernel has, failed one by one."""

from harness import ORDINARY, need_root
from injection import EVERY, FaultTest, Scene


class Launch(FaultTest):
    def disturb(self, options=(), uid=ORDINARY, kinds=("errno", "short", "lie"), **keywords):
        self.make_places(uid)
        scene = Scene(self, self.command(self.write_policy(), *options), uid=uid, **keywords)
        self.assert_whole(scene.record, container="not-needed", proof="read_dir /")
        self.finish(scene, scene.disturb(scene.plans(0, kinds)))

    def test_pipes(self):
        self.disturb(kinds=EVERY)

    def test_terminal(self):
        self.disturb(terminal=3)

    def test_one_descriptor_is_a_terminal(self):
        self.disturb(terminal=1)

    def test_verbose(self):
        self.disturb(options=["--verbose"])

    def test_root(self):
        need_root()
        self.disturb(uid=0, kinds=EVERY)
