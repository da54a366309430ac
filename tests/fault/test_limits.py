"""Every resource limit at its least: a launch runs with the whole of its restriction, or refuses and says so, or the kernel does not let it
begin."""

import resource

from injection import ContainerFaultTest, FaultTest, Scene
from judge import Plan

PAGE = 4096
SIZES = [0, 1, *(PAGE << shift for shift in range(13))]

LIMITS = {  # 3 and 9 (stack and address space) may leave the kernel no room to execute anything
    resource.RLIMIT_CPU: (0, 1),
    resource.RLIMIT_FSIZE: (0, 1, 100),
    resource.RLIMIT_DATA: SIZES,
    resource.RLIMIT_STACK: SIZES,
    resource.RLIMIT_CORE: (0,),
    resource.RLIMIT_RSS: (0,),
    resource.RLIMIT_NPROC: (0, 1, 2, 3),
    resource.RLIMIT_NOFILE: range(24),
    resource.RLIMIT_MEMLOCK: (0,),
    resource.RLIMIT_AS: [*SIZES, *range(40 * PAGE, 120 * PAGE, PAGE)],
    10: (0,),  # locks
    resource.RLIMIT_SIGPENDING: (0, 1),
    resource.RLIMIT_MSGQUEUE: (0,),
    resource.RLIMIT_NICE: (0,),
    resource.RLIMIT_RTPRIO: (0,),
    resource.RLIMIT_RTTIME: (0, 1),
}


def plans():
    return [Plan(0, "", limit, "limit", value) for limit, values in LIMITS.items() for value in values]


class Limits(FaultTest):
    def test_launch(self):
        self.make_places()
        scene = Scene(self, self.command(self.write_policy()))
        self.assert_whole(scene.record)
        self.finish(scene, scene.disturb(plans()))
        self.assertGreater(scene.counts["ran whole"], 40)
        self.assertGreater(scene.counts["refused"], 10)

    def test_terminal(self):
        self.make_places()
        scene = Scene(self, self.command(self.write_policy()), terminal=3)
        self.assert_whole(scene.record)
        self.finish(scene, scene.disturb(plans()))


class ContainerLimits(ContainerFaultTest):
    def test_container(self):
        scene = self.fit()
        self.finish(scene, scene.disturb(plans()))
        self.assertGreater(scene.counts["ran whole"], 20)

    def test_unfit_container(self):
        scene = self.unfit()
        self.finish(scene, scene.disturb(plans()))
        self.assertEqual(scene.counts["ran whole"], 0)
