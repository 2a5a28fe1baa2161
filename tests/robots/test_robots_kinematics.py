"""Kinematics of an arm from its model's numbers, against the engine's own."""

import numpy as np
import pytest

from helpers.jaco_facts import FINGERS, JOINTS, TOOL, over_floor
from mjgym.robots.inverse_kinematics import ranges
from mjgym.robots.kinematics import Kinematics
from mjgym.rotations import compose, norm, to_rotation_vector, transposed
from mjgym.sim.single import Single


@pytest.fixture(scope="module")
def single():
    return Single(over_floor().compile())


def drawn(view, n):
    low, high = ranges(view, JOINTS)
    return np.random.default_rng(0).uniform(low, high, (n, len(JOINTS)))


def test_pose_and_jacobian_are_the_engines(single):
    view = single.view
    kinematics = Kinematics(single.model, JOINTS, TOOL)
    many = drawn(view, 20)
    positions, rotations, jacobians = kinematics.pose(many)
    for i, q in enumerate(many):
        view.qpos[view.rows("qpos", JOINTS)] = q
        view.kinematics()
        np.testing.assert_allclose(positions[i], view.site(TOOL).xpos, atol=1e-12)
        np.testing.assert_allclose(rotations[i], view.site(TOOL).xmat.reshape(9), atol=1e-12)
        np.testing.assert_allclose(jacobians[i], view.jacobian("site", TOOL, JOINTS), atol=1e-12)
        one = kinematics.pose(q)
        np.testing.assert_array_equal(one[2], jacobians[i])


def test_solution_brings_the_site_to_the_pose(single):
    kinematics = Kinematics(single.model, JOINTS, TOOL)
    start = drawn(single.view, 50)
    wanted = start + np.random.default_rng(1).uniform(-0.1, 0.1, start.shape)
    position, rotation, _ = kinematics.pose(wanted)
    found = kinematics.solve(start, position, rotation, steps=20)
    reached, turned, _ = kinematics.pose(found)
    assert norm(reached - position).max() < 1e-3
    assert norm(to_rotation_vector(compose(rotation, transposed(turned)))).max() < 0.02


@pytest.mark.parametrize("joints", [JOINTS[:5], (*JOINTS, FINGERS[0])], ids=["too few", "too many"])
def test_other_joints_are_refused(single, joints):
    with pytest.raises(ValueError, match="move it"):
        Kinematics(single.model, joints, TOOL)
