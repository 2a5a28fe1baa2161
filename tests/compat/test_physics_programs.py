"""Programs on a single model, as in dm_control's tutorial: names, a top, chaos, contacts."""

import contextlib
import threading

import numpy as np
import pytest

pytest.importorskip("dm_env", reason='needs pip install -e ".[dm_env]"')

from mjgym_compat.dm_control.mujoco.wrapper.mjbindings import enums, mjlib

from helpers.mjcf_models import swinging
from mjgym_compat.dm_control import mujoco
from mjgym_compat.dm_control.mujoco import gl

BOX = swinging("box_and_sphere", "red_box", "green_sphere", """<light name="top" pos="0 0 1"/>""")

TOP = """<mujoco model="tippe top">
  <option integrator="RK4"/>
  <worldbody>
    <geom size=".2 .2 .01" type="plane"/>
    <camera name="closeup" pos="0 -.1 .07" xyaxes="1 0 0 0 1 2"/>
    <body name="top" pos="0 0 .02">
      <freejoint/>
      <geom name="ball" type="sphere" size=".02"/>
      <geom name="stem" type="cylinder" pos="0 0 .02" size="0.004 .008"/>
      <geom name="ballast" type="box" size=".023 .023 0.005" pos="0 0 -.015" contype="0"
        conaffinity="0" group="3"/>
    </body>
  </worldbody>
  <keyframe><key name="spinning" qpos="0 0 0.02 1 0 0 0" qvel="0 0 0 0 1 200"/></keyframe>
</mujoco>"""

PENDULUM = """<mujoco>
  <option timestep=".001"><flag energy="enable" contact="disable"/></option>
  <default><joint type="hinge" axis="0 -1 0"/><geom type="capsule" size=".02"/></default>
  <worldbody>
    <body name="0" pos="0 0 .2">
      <joint name="root"/>
      <geom fromto="-.2 0 0 .2 0 0"/>
      <body name="1" pos="-.2 0 0"><joint name="elbow"/><geom fromto="0 0 0 0 0 -.25"/></body>
      <body name="2" pos=".2 0 0"><joint/><geom fromto="0 0 0 0 0 -.2"/></body>
    </body>
  </worldbody>
</mujoco>"""

FALLING = """<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="box" pos="0 0 .3">
      <freejoint/>
      <geom name="box" type="box" size=".03 .05 .07"/>
      <geom name="ball" size=".06" pos=".05 .05 .05"/>
    </body>
  </worldbody>
</mujoco>"""


def test_fields_by_name():
    physics = mujoco.Physics.from_xml_string(BOX)
    places = physics.named.data.geom_xpos
    np.testing.assert_array_equal(places["green_sphere"], physics.data.geom_xpos[1])
    assert physics.named.data.geom_xpos["green_sphere", "z"] == places["green_sphere"][2]
    physics.named.model.geom_rgba["red_box", :3] = 0.5
    assert list(physics.model.geom_rgba[0]) == [0.5, 0.5, 0.5, 1]
    physics.named.data.qpos["swing"] = np.pi
    with physics.reset_context():
        physics.named.data.qpos["swing"] = np.pi
    assert places["green_sphere", "z"] == pytest.approx(-0.6)


def test_a_top_turns_over():
    physics = mujoco.Physics.from_xml_string(TOP)
    physics.reset(0)
    stem = []
    while physics.time() < 7:
        physics.step()
        stem.append(physics.named.data.geom_xpos["stem", "z"])
    assert physics.named.data.qvel.shape == (6,)
    assert max(stem) > 0.035  # upright at first
    assert min(stem) < 0.015  # the stem below the ball's centre


def test_neighbours_of_a_chaotic_pendulum_part_while_energy_stays():
    ends = []
    for shift in (0.0, 1e-5):
        physics = mujoco.Physics.from_xml_string(PENDULUM)
        with physics.reset_context():
            physics.named.data.qpos["root"] = 1.0 + shift
            physics.named.data.qvel["root"] = 10
        before = physics.data.energy.sum()
        while physics.time() < 4:
            physics.step()
        ends.append(physics.named.data.qpos["root"].item())
        assert physics.data.energy.sum() == pytest.approx(before, rel=0.1)
    assert abs(ends[0] - ends[1]) > 1e-3


def test_steps_of_time_converge():
    """The error of Euler's method falls with the time step."""

    def after_half_a_second(timestep):
        physics = mujoco.Physics.from_xml_string(PENDULUM)
        physics.model.opt.timestep = timestep
        with physics.reset_context():
            physics.named.data.qpos["root"] = 0.5
        physics.step(round(0.5 / timestep))
        return physics.named.data.qpos["root"].item()

    exact = after_half_a_second(5e-5)
    errors = [abs(after_half_a_second(step) - exact) for step in (1e-2, 1e-3, 2e-4)]
    assert errors[0] > errors[1] > errors[2]


def test_contacts_while_a_box_falls():
    physics = mujoco.Physics.from_xml_string(FALLING)
    with physics.reset_context():
        physics.data.qvel[3:] = 5, -3, 4
    counts, forces = [], []
    while physics.time() < 1:
        physics.step()
        counts.append(physics.data.ncon)
        total = 0.0
        for number in range(physics.data.ncon):
            wrench = np.zeros(6)
            mjlib.mj_contactForce(physics.model.ptr, physics.data.ptr, number, wrench)
            total += wrench[0]
        forces.append(total)
    assert counts[0] == 0
    assert max(counts) >= 2
    assert max(forces) > 5
    names = {physics.model.id2name(i, "geom") for i in physics.data.contact.geom1}
    assert names <= {"floor"}


def test_gravity_is_off_in_a_block():
    physics = mujoco.Physics.from_xml_string(FALLING)
    with physics.model.disable("gravity"):
        physics.step()  # its forces were computed before
        falling = physics.data.qvel.copy()
        physics.step(10)
        np.testing.assert_allclose(physics.data.qvel, falling, atol=1e-12)
    with contextlib.ExitStack() as stack:
        stack.enter_context(physics.model.disable(enums.mjtDisableBit.mjDSBL_CONTACT))
        physics.step(200)
    assert physics.named.data.xpos["box", "z"] < 0


@pytest.mark.gl
class TestPictures:
    def test_kinds(self):
        physics = mujoco.Physics.from_xml_string(BOX)
        assert physics.render(height=24, width=32).shape == (24, 32, 3)
        assert physics.render(height=24, width=32, depth=True).min() > 0
        ids = physics.render(height=24, width=32, segmentation=True)
        assert set(np.unique(ids[..., 0])) >= {0}
        option = mujoco.wrapper.MjvOption()
        option.frame = enums.mjtFrame.mjFRAME_GEOM
        option.flags[enums.mjtVisFlag.mjVIS_TRANSPARENT] = True
        plain = physics.render(height=24, width=32)
        assert (physics.render(height=24, width=32, scene_option=option) != plain).any()

    def test_a_place_is_projected_into_a_picture(self):
        physics = mujoco.Physics.from_xml_string(TOP)
        camera = mujoco.Camera(physics, height=64, width=64, camera_id="closeup")
        place = physics.named.data.geom_xpos["ball"]
        x, y, depth = camera.matrix @ np.append(place, 1)
        column, row = int(x / depth), int(y / depth)
        ids = camera.render(segmentation=True)
        ball = physics.model.name2id("ball", "geom")
        assert (ids[row - 3 : row + 4, column - 3 : column + 4, 0] == ball).any()


@pytest.mark.gl
def test_contexts_are_released_while_the_drawing_thread_is_asked():
    """As when the garbage collector runs a finalizer within the executor's `submit`."""
    physics = mujoco.Physics.from_xml_string(
        "<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>"
    )
    physics.render(16, 16, camera_id=-1)
    with gl._threads.drawing._shutdown_lock:
        releasing = threading.Thread(target=physics.free, daemon=True)
        releasing.start()
        releasing.join(20)
        assert not releasing.is_alive()
    other = mujoco.Physics.from_xml_string("<mujoco/>")
    assert other.render(16, 16, camera_id=-1).shape == (16, 16, 3)
    assert not gl._threads.garbage
