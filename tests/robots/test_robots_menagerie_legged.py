"""Legged robots of MuJoCo Menagerie, from a folder of our own in its place."""

import numpy as np
import pytest

from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.robots.legged_robots import legged_robots
from mjgym.tasks.legged.rough import RoughVelocity
from mjgym.tasks.legged.servos import servos_of
from mjgym.tasks.legged.velocity import Velocity

menagerie = pytest.importorskip("mujoco_menagerie")  # pip install -e ".[menagerie]"

LEG = """
<body name="{side}_thigh" pos="0 {y} -.1">
  <joint name="{side}_hip" axis="0 1 0" range="-1 1" armature=".01" {limit}/>
  <geom type="capsule" fromto="0 0 -.05 0 0 -.2" size=".04" mass="1"/>
  <body name="{side}_shin" pos="0 0 -.25">
    <joint name="{side}_knee" axis="0 1 0" range="0 2" armature=".01"/>
    <geom type="capsule" fromto="0 0 -.05 0 0 -.2" size=".03" mass="1"/>
    <body name="{side}_sole" pos="0 0 -.25">
      <joint name="{side}_ankle" axis="0 1 0" range="-1 1" armature=".01"/>
      <geom type="box" pos=".03 0 0" size=".09 .05 .02" mass=".5"/>
    </body>
  </body>
</body>
"""
BIPED = """
<mujoco model="h1">
  <compiler angle="radian"/>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="pelvis" pos="0 0 1">
      {root}
      <geom type="box" size=".1 .15 .1" mass="8"/>
      <body name="head" pos="0 0 .3">
        <joint name="neck" axis="0 0 1" range="-1 1" armature="{rotor}"/>
        <geom size=".1" mass="1"/>
      </body>
      {legs}
    </body>
  </worldbody>
  <actuator>
    <motor name="neck" joint="neck" ctrlrange="-5 5"/>
    {motors}
  </actuator>
  <sensor><gyro name="gyro" site="imu"/></sensor>
  <keyframe><key name="home" qpos="0 0 .62 1 0 0 0 .1 -.3 .6 -.3 -.3 .6 -.3"/></keyframe>
</mujoco>
"""
JOINTS = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("hip", "knee", "ankle"))


def text(**changes):
    legs = "".join(
        LEG.format(side=side, y=y, limit='actuatorfrcrange="-60 60"')
        for side, y in (("left", 0.1), ("right", -0.1))
    )
    motors = "".join(
        f'<position name="{joint}" joint="{joint}" kp="50" forcerange="-80 80"/>'
        for joint in JOINTS
    )
    parts = {"root": '<freejoint/><site name="imu"/>', "rotor": ".01", "legs": legs,
             "motors": motors, **changes}  # fmt: skip
    return BIPED.format(**parts)


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """A function that puts a model in the place of the robot's."""
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    monkeypatch.delenv("MENAGERIE_CACHE_DIR", raising=False)
    legged_robots._found.clear()

    def write(model):
        (tmp_path / "unitree_h1").mkdir(exist_ok=True)
        (tmp_path / "unitree_h1" / "h1.xml").write_text(model)

    return write


@pytest.mark.slow
def test_a_biped_walks_in_the_tasks(publish):
    publish(text())
    robot = legged_robots.find("menagerie:unitree_h1")
    assert robot.root == robot.trunk == "pelvis"
    assert robot.imu == "imu"
    assert robot.joints == ("neck", *JOINTS)
    assert robot.pose == (0.1, -0.3, 0.6, -0.3, -0.3, 0.6, -0.3)
    assert robot.soles == ("left_sole", "right_sole")
    assert servos_of(robot).limit.tolist() == [5, *[60, 80, 80] * 2]
    for cls in (Velocity, RoughVelocity):
        env = Env(cls(robot="menagerie:unitree_h1"))
        env.reset(seed=0)
        heights = env.get_state()["memory.heights"]
        assert heights.max() < 0.15
        for _ in range(5):
            _, reward, *_ = env.step(np.zeros(7))
        assert np.isfinite(reward)
    envs = VectorEnv(Velocity(robot="menagerie:unitree_h1"), num_envs=3, vary="published")
    envs.reset(seed=0)
    envs.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": '<site name="imu"/>'}, "it has 0 free joints, not one"),
        ({"rotor": "0"}, "'neck' has no rotor inertia"),
        ({"motors": ""}, "'left_hip' has no torque limit"),
        ({"legs": "", "motors": ""}, "it has 1 feet, not two or more"),
    ],
)
def test_what_is_missing_is_named(publish, changes, message):
    model = text(**changes)
    if changes.keys() & {"root", "legs"}:  # which change the number of coordinates
        model = model.split("<keyframe>")[0] + "</mujoco>"
    publish(model)
    with pytest.raises(ValueError, match=f"menagerie:unitree_h1 is no legged robot .*{message}"):
        legged_robots.find("menagerie:unitree_h1")


def test_an_unknown_robot_is_named(publish):
    with pytest.raises(ValueError, match="unitree_h11"):
        legged_robots.find("menagerie:unitree_h11")
