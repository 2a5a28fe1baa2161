"""The three CMU humanoids: equal to their records, complete, and standing as they should."""

import re

import mujoco
import numpy as np
import pytest

from helpers.locomotion_facts import facts, scene
from helpers.model_facts import compare
from mjgym.tasks.locomotion.walkers.cmu_humanoid import model

RECORDS = {
    "2019_torque": "walker_CMUHumanoid",
    "2019_position": "walker_CMUHumanoidPositionControlled",
    "2020_position": "walker_CMUHumanoidPositionControlledV2020",
}

every = pytest.mark.parametrize("version", RECORDS)


def record(version):
    return facts(RECORDS[version])


def standing(version):
    """The humanoid upright on a floor, with nothing computed but kinematics and contacts."""
    pose = record(version)["walker"]["upright_pose"]
    arena = mujoco.MjSpec()
    arena.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1])
    frame_body = arena.worldbody.add_body(name="walker/")
    frame_body.add_freejoint()
    arena.attach(model(version), prefix="walker/", frame=frame_body.add_frame())
    compiled = arena.compile()
    data = mujoco.MjData(compiled)
    quaternion = np.array(pose["xquat"])
    data.qpos[:7] = [*pose["xpos"], *(quaternion / np.linalg.norm(quaternion))]
    mujoco.mj_forward(compiled, data)
    return compiled, data


def sole(compiled, data, side):
    """The lowest point of a foot and its toes."""
    heights = []
    for part in ("foot", "foot_ch", "toes0", "toes1", "toes2"):
        geom = compiled.geom(f"walker/{side}{part}").id
        half_length = compiled.geom_size[geom, 1]  # of a capsule; 0 of a sphere
        tilt = abs(data.geom_xmat[geom, 8])
        heights.append(data.geom_xpos[geom, 2] - half_length * tilt - compiled.geom_size[geom, 0])
    return min(heights)


@every
def test_model_equals_the_record(version):
    found = compare(scene(model(version)), record(version)["model"])
    # How a scene is lit and drawn is the arena's.
    assert [line for line in found if not line.startswith("visual.")] == []


@every
def test_stands_upright_without_touching_the_floor(version):
    compiled, data = standing(version)
    assert data.ncon == 0
    for side in "lr":
        assert 0 < sole(compiled, data, side) < 0.03
    reset = record(version)["walker"]["after_reset"]
    root = data.body("walker/root")
    np.testing.assert_allclose(root.xmat, reset["root_xmat"], atol=1e-12)
    np.testing.assert_allclose(root.xpos, reset["root_xpos"], atol=1e-12)
    assert data.body("walker/head").xpos[2] > 0.9 * record(version)["walker"]["standing_height"]
    assert data.body("walker/lfoot").xpos[1] > data.body("walker/rfoot").xpos[1]  # left is left


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        ("2019_positions", "did you mean 2019_position"),
        ("2020_torque", "did you mean 2019_torque"),
        ("x", "2020_position"),
    ],
)
def test_unknown_versions_are_named_with_the_nearest(version, hint):
    with pytest.raises(ValueError, match=f"{re.escape(repr(version))} is none of .*{hint}"):
        model(version)
