"""Arms of MuJoCo Menagerie, read by its own package from a cache that holds models of ours.

The package's registry says which robots there are and where in the cache each lies; nothing is
downloaded here.
"""

import sys

import mujoco
import pytest

from mjgym.robots import arms, attach
from mjgym.robots.menagerie import menagerie_arm

menagerie = pytest.importorskip("mujoco_menagerie")  # pip install -e ".[menagerie]"

# Servos with forces limited, a motor limited by its control, and a joint limited by itself.
ARM = """
<mujoco model="panda">
  <option integrator="implicitfast"/>
  <worldbody>
    <body name="base">
      <geom size=".05"/>
      <body name="upper" pos="0 0 .2">
        <joint name="shoulder" axis="0 1 0" range="-90 90"/>
        <geom type="capsule" fromto="0 0 0 0 0 .3" size=".03"/>
        <body name="lower" pos="0 0 .3">
          <joint name="elbow" axis="0 1 0" range="30 120"/>
          <geom type="capsule" fromto="0 0 0 0 0 .2" size=".03"/>
          <body name="wrist" pos="0 0 .2">
            <joint name="roll" axis="0 0 1" actuatorfrcrange="-3 3"/>
            <geom size=".03"/>
            {hand}
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="shoulder_servo" joint="shoulder" kp="500" kv="5" gear="2" forcerange="-40 40"/>
    <motor name="elbow_motor" joint="elbow" gear="10" ctrlrange="-1 1"/>
    {actuators}
  </actuator>
  {keys}
</mujoco>
"""
SITE = '<body name="flange" pos="0 0 .05"><site name="attachment_site"/></body>'
FINGERS = """
<body name="palm" pos="0 0 .05">
  <geom size=".02"/>
  <body name="left"><joint name="left" type="slide" axis="0 1 0"/><geom size=".01"/></body>
  <body name="right"><joint name="right" type="slide" axis="0 -1 0"/><geom size=".01"/></body>
</body>
"""
GRIP = '<position name="grip" joint="left" ctrlrange="0 .04"/>'
KEYS = '<keyframe><key name="home" qpos=".1 1 -.2"/></keyframe>'


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A function that publishes models of a robot in the package's cache."""
    monkeypatch.setenv("MENAGERIE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("MENAGERIE_ROOT", raising=False)

    def publish(robot: str, **models: str) -> None:
        folder = menagerie.Cache().model_path(menagerie.get(robot))
        folder.mkdir(parents=True)
        for name, text in models.items():
            (folder / f"{name}.xml").write_text(text)
        (folder / ".complete").write_text("{}")

    return publish


@pytest.fixture
def panda(cache):
    bare = ARM.format(hand=SITE, actuators="", keys=KEYS)
    handed = ARM.format(hand=FINGERS, actuators=GRIP, keys="")
    cache("franka_emika_panda", panda_nohand=bare, panda=handed)


def scene_of(arm) -> mujoco.MjModel:
    scene = mujoco.MjSpec()
    attach(scene, arm, "robot0_", scene.worldbody.add_site(name="place", pos=[1, 0, 0]))
    return scene.compile()


@pytest.mark.usefixtures("panda")
class TestArm:
    def test_the_model_without_a_hand_comes_by_the_robots_name(self):
        arm = arms.find("menagerie:franka_emika_panda")
        assert arm.joints == ("shoulder", "elbow", "roll")
        assert arm.actuators == ("shoulder_servo", "elbow_motor", "roll_motor")
        assert (arm.wrist, arm.link) == ("attachment_site", "flange")
        assert arm.start == (0.1, 1, -0.2)
        assert list(arm.limbs) == ["right"]

    def test_it_stands_in_a_scene_and_its_controls_are_torques(self):
        arm = menagerie_arm("franka_emika_panda")
        model = scene_of(arm)
        data = mujoco.MjData(model)
        assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
        assert model.nkey == 0
        assert [model.actuator(i).name for i in range(model.nu)] == [
            "robot0_shoulder_servo",
            "robot0_elbow_motor",
            "robot0_roll_motor",
        ]
        # The servo's 40 N m act through a gear of 2, the motor's 1 N m through one of 10.
        assert model.actuator_ctrlrange[:, 1] == pytest.approx([80, 10, 3])
        data.qpos, data.qvel, data.ctrl = arm.start, 0.5, [70, -4, 5]
        mujoco.mj_forward(model, data)
        assert data.qfrc_actuator == pytest.approx([70, -4, 3])
        data.qpos = 0
        mujoco.mj_forward(model, data)
        assert data.site("robot0_attachment_site").xpos == pytest.approx([1, 0, 0.75])

    def test_of_a_model_with_a_hand_the_arm_ends_where_the_fingers_branch(self):
        arm = menagerie_arm("franka_emika_panda/panda")
        assert arm.joints == ("shoulder", "elbow", "roll")
        assert arm.link == "wrist"
        assert arm.start == pytest.approx((0, 0.5235987756, 0))  # no keyframe: zeros, within range
        model = scene_of(arm)
        assert model.nu == 4  # the hand keeps its own
        assert model.body(model.site("robot0_attachment_site").bodyid[0]).name == "robot0_wrist"

    def test_limits_can_be_given(self):
        arm = menagerie_arm("franka_emika_panda", torque_limits=(9, 8, 7))
        assert scene_of(arm).actuator_ctrlrange[:, 1] == pytest.approx([9, 8, 7])
        with pytest.raises(ValueError, match="3 joints"):
            menagerie_arm("franka_emika_panda", torque_limits=(9, 8))

    def test_a_robot_is_the_same_thing_every_time(self):
        one, two = (menagerie_arm("franka_emika_panda") for _ in range(2))
        assert one == two
        assert hash(one) == hash(two)


class TestRefusals:
    def test_unknown_names_name_the_nearest(self, panda):
        with pytest.raises(ValueError, match="franka_emika_panda"):
            arms.find("menagerie:franka_emika_pandas")
        with pytest.raises(ValueError, match="panda_nohand"):
            arms.find("menagerie:franka_emika_panda/hans")

    def test_without_the_package_the_message_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "mujoco_menagerie", None)
        with pytest.raises(ModuleNotFoundError, match=r"\[menagerie\]"):
            arms.find("menagerie:franka_emika_panda/other")

    def test_a_joint_without_a_limit_is_refused_until_one_is_given(self, cache):
        text = ARM.format(hand="", actuators="", keys="").replace('actuatorfrcrange="-3 3"', "")
        cache("universal_robots_ur5e", ur5e=text)
        with pytest.raises(ValueError, match=r"'roll'.*torque_limits"):
            menagerie_arm("universal_robots_ur5e")
        assert menagerie_arm("universal_robots_ur5e", (1, 2, 3)).link == "wrist"

    @pytest.mark.parametrize(
        ("bodies", "reason"),
        [
            ('<body name="a"><freejoint name="f"/><geom size=".1"/></body>', "'f' is free"),
            ("<geom size='.1'/>", "0 chains"),
            (
                '<body><joint name="a"/><geom size=".1"/></body>'
                '<body><joint name="b"/><geom size=".1"/></body>',
                "2 chains",
            ),
        ],
    )
    def test_what_is_no_arm_is_refused(self, cache, bodies, reason):
        text = f'<mujoco model="thing"><worldbody>{bodies}</worldbody></mujoco>'
        cache("universal_robots_ur5e", ur5e=text)
        with pytest.raises(ValueError, match=f"'thing' is no arm: .*{reason}"):
            menagerie_arm("universal_robots_ur5e")
