"""What composition offers, where each part of it is tested, and an example that uses most of it."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from helpers.places import BENCHMARKS
from helpers.small_process import fresh

sys.path.insert(0, str(BENCHMARKS))


EXAMPLE = """\
import mujoco

from mjgym import mjcf


def leg():
    spec = mujoco.MjSpec()
    thigh = mjcf.add(spec.worldbody, "body", name="thigh")
    hip = mjcf.add(thigh, "joint", name="hip", type="hinge", axis=[0, 1, 0], range=[-60, 60])
    mjcf.add(thigh, "geom", type="capsule", fromto=[0, 0, 0, 0, 0, -0.2], size=0.04)
    mjcf.add(spec, "actuator", name="hip", type="position", target=hip, kp=20)  # by handle
    return spec, hip


robot = mujoco.MjSpec()
mjcf.add(robot.worldbody, "geom", name="torso", type="box", size=[0.2, 0.1, 0.05])
hips = []
for name, x in {"front": 0.15, "back": -0.15}.items():
    site = mjcf.add(robot.worldbody, "site", name=name, pos=[x, 0, -0.05])
    spec, hip = leg()
    mjcf.attach(robot, spec, at=site, name=name)
    hips.append(hip)

arena = mujoco.MjSpec()
mjcf.add(arena.worldbody, "geom", name="floor", type="plane", size=[5, 5, 0.1])
start = mjcf.add(arena.worldbody, "site", name="start", pos=[0, 0, 0.35])
mjcf.attach(arena, robot, at=start, name="robot", free=True)
print(hips[0].name)  # robot/front/hip: handles survive

model = mjcf.compile(arena)
data = mujoco.MjData(model)
angles = mjcf.bind((model, data), hips)  # or a task's view, or an environment
angles.qpos = [0.3, -0.3]
mujoco.mj_step(model, data, 100)
print(angles.qpos, angles.range.shape)  # live; a batch's have an axis in front

mjcf.export(arena, "robot_in_arena")  # XML and files, for plain MuJoCo
"""


@pytest.mark.slow
def test_the_example_of_the_readme(tmp_path):
    first, second = fresh(EXAMPLE, folder=tmp_path).splitlines()
    assert first == "robot/front/hip"
    assert second.endswith("(2, 2)")
    (written,) = (tmp_path / "robot_in_arena").iterdir()
    model = mujoco.MjModel.from_xml_path(str(written))
    assert (model.nq, model.nu, model.body(1).name) == (7 + 2, 2, "robot/")
    np.testing.assert_allclose(model.joint("robot/back/hip").range, [-np.pi / 3, np.pi / 3])


class TestBenchmark:
    def test_the_scene(self):
        import compose

        result = compose.measure("mjgym", builds=1)
        legs = sum(compose.LEGS)
        sizes = {"nbody": 1 + 6 + 3 * legs, "nq": 6 * 7 + 2 * legs, "nv": 6 * 6 + 2 * legs}
        sizes |= {"ngeom": 1 + 6 + 2 * legs, "nu": 2 * legs}
        assert result["model"] == result["model"] | sizes
        assert set(result["seconds"]) == {"compose", "compile", "both"}

    def test_ratios_are_of_the_same_repeat(self):
        import compose

        taken = iter([4.0, 8.0, 40.0, 2.0, 3.0, 90.0])  # dm_control goes first in the second
        calls = []

        def run(python, subject, builds):
            calls.append(subject)
            seconds = next(taken)
            return {"seconds": dict.fromkeys(compose.PARTS, seconds), "model": {"nq": 1}}

        pythons = {"mjgym": Path(), "dm_control": Path()}
        result = compose.compare(pythons, repeats=3, builds=1, measured_by=run)
        assert calls == ["mjgym", "dm_control", "dm_control", "mjgym", "mjgym", "dm_control"]
        assert result["ratios"]["both"] == 20
        assert result["seconds"]["mjgym"]["both"] == 3
        assert result["seconds"]["dm_control"]["both"] == 40
