"""Every system call of a launch and of its helper where the container must be checked, failed one by one."""

from injection import ContainerFaultTest


class Container(ContainerFaultTest):
    def test_launcher(self):
        scene = self.fit()
        self.finish(scene, scene.disturb(scene.plans(0)))

    def test_helper(self):
        scene = self.fit()
        self.finish(scene, scene.disturb(scene.plans(1)))

    def test_launcher_in_unfit_container(self):
        scene = self.unfit()
        self.finish(scene, scene.disturb(scene.plans(0)))

    def test_helper_in_unfit_container(self):
        scene = self.unfit()
        self.finish(scene, scene.disturb(scene.plans(1)))

    def test_launcher_with_terminal(self):
        scene = self.fit(terminal=3)
        self.finish(scene, scene.disturb(scene.plans(0, ("errno", "short", "lie"))))
