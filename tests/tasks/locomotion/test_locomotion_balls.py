"""The models of the balls with heads against the recorded numbers, and how they move."""

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import ARENA, differences, facts
from helpers.places import ASSETS

WALKERS = ASSETS / "locomotion" / "walkers"
CLASSES = {"rolling_ball": "RollingBallWithHead", "jumping_ball": "JumpingBallWithHead"}
FACTS = {name: facts(f"walker_{recorded}") for name, recorded in CLASSES.items()}
HEADLIGHT = "visual.headlight"  # the arena's: the one these tests use has MuJoCo's own


def on_slides(name, *, floor=False):
    """The walker on a frame that three slides move along the world's axes, in the base arena."""
    arena = mujoco.MjSpec.from_string(ARENA)
    if floor:
        arena.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    frame_body = arena.worldbody.add_body(name="walker/")
    for axis, letter in zip(np.eye(3), "xyz", strict=True):
        frame_body.add_joint(
            name=f"walker/root_{letter}/", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis
        )
    walker = mujoco.MjSpec.from_file(str(WALKERS / f"{name}.xml"))
    arena.attach(walker, prefix="walker/", frame=frame_body.add_frame())
    return arena.compile()


@pytest.fixture(params=CLASSES)
def name(request):
    return request.param


def after(name, seconds, **controls):
    """Model and data after some time on a floor with constant controls."""
    model = on_slides(name, floor=True)
    data = mujoco.MjData(model)
    for actuator, control in controls.items():
        data.actuator(f"walker/{actuator}").ctrl[0] = control
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))
    mujoco.mj_forward(model, data)
    return model, data


def test_model_equals_the_record(name):
    # Cameras are observations and hide groups of geoms, so nothing recorded counts as cosmetic.
    found = differences(on_slides(name), FACTS[name], ignore_cosmetics=False)
    assert [d for d in found if not d.startswith(HEADLIGHT)] == []


def test_upright_pose(name):
    model = on_slides(name, floor=True)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    reset = FACTS[name]["walker"]["after_reset"]
    head = data.body("walker/head_body")
    np.testing.assert_allclose(head.xpos, reset["root_xpos"], atol=1e-12)
    np.testing.assert_allclose(head.xmat, reset["root_xmat"], atol=1e-12)
    # Only the shell touches the floor, in one point.
    bottom = data.geom("walker/shell").xpos[2] - model.geom("walker/shell").size[0]
    np.testing.assert_allclose(bottom, 0, atol=1e-12)
    touching = [{model.geom(g).name for g in pair} for pair in data.contact.geom]
    assert touching == [{"floor", "walker/shell"}]


@pytest.mark.parametrize("control", [-1.0, 1.0])
def test_a_negative_control_rolls_it_forward(name, control):
    model, data = after(name, 1, roll=control)
    x, y = data.body("walker/head_body").xpos[:2]
    assert -control * x > 1
    assert abs(y) < 1e-6
    # It rolls on the ball's radius; starting slips by a little.
    radius = model.geom("walker/shell").size[0]
    turned = abs(data.joint("walker/roll").qpos[0])
    assert 0.9 * turned * radius < abs(x) <= turned * radius


@pytest.mark.parametrize("control", [-1.0, 1.0])
def test_a_positive_control_steers_to_the_right(name, control):
    _, data = after(name, 0.2, steer=control)
    facing = data.body("walker/head_body").xmat.reshape(3, 3)[:, 1]
    assert np.sign(facing[1]) == -control  # y is to the left
    np.testing.assert_allclose(np.linalg.norm(data.body("walker/head_body").xpos[:2]), 0, atol=0.02)
