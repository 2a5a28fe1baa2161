import dataclasses

import numpy as np
import pytest

from helpers.lqr_solver import solve
from helpers.suite import begin
from mjgym.sim import Single
from mjgym.tasks.dmc.lqr import LQR


def compiled(masses: int = 2, actuators: int = 1, **fields):
    return LQR(masses=masses, actuators=actuators, **fields).model().compile()


def test_published_policy_of_two_masses():
    best = solve(compiled(2, 1))
    np.testing.assert_allclose(best.k, [[-0.191692, 0.112697, -2.598222, -0.480694]], atol=5e-7)
    assert best.beta == pytest.approx(0.9968444181, abs=5e-11)
    assert np.trace(best.P) == pytest.approx(389.097549, abs=5e-7)


def test_published_policy_of_six_masses():
    best = solve(compiled(6, 2))
    assert best.beta == pytest.approx(0.9989193010, abs=5e-11)
    assert np.trace(best.P) == pytest.approx(3222.601929, abs=5e-7)
    assert best.k.shape == (2, 12)


def test_rewards_of_an_episode_add_up_to_the_cost_to_go():
    task = LQR(masses=2, actuators=1)
    sim = Single(task.model().compile())
    view = sim.view
    best = solve(sim.model, task.control_cost)
    begin(sim, task.initialize, lambda i: np.random.default_rng(3))
    x = np.concatenate([view.qpos, view.qvel])
    assert x[:2] @ x[:2] / 2 == pytest.approx(1, abs=1e-15)  # the cost of the first state
    expected = x @ best.P @ x / 2

    measured, steps, succeeded_at = 1.0, 0, None
    while not task.terminated(view):
        sim.step(best.k @ np.concatenate([view.qpos, view.qvel]), 1)
        measured += 1 - task.reward(task.terms(view))
        steps += 1
        if succeeded_at is None and task.success(view):
            succeeded_at = steps
    assert measured == pytest.approx(expected, rel=1e-9)
    assert succeeded_at is not None
    assert 0 < succeeded_at < steps


def test_seeds_draw_the_springs():
    published = [
        15.763082893739572,
        19.384092314408935,
        24.779895119966028,
        20.01120463659938,
        17.68438980101871,
        21.792299961209405,
    ]
    np.testing.assert_array_equal(compiled(6, 2).jnt_stiffness, published)
    np.testing.assert_array_equal(compiled(6, 2).dof_damping, 0)
    other = compiled(6, 2, stiffness_seed=8).jnt_stiffness
    assert np.all((other >= 15) & (other <= 25))
    assert np.all(other != published)


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"masses": 0}, "masses"),
        ({"actuators": 0}, "actuators"),
        ({"masses": 2, "actuators": 3}, "actuators"),
        ({"control_cost": 0.0}, "control_cost"),
        ({"control_cost": -1.0}, "control_cost"),
        ({"control_cost": float("nan")}, "control_cost"),
    ],
)
def test_impossible_fields_are_named(fields, argument):
    with pytest.raises(ValueError, match=rf"^{argument}:"):
        LQR(**fields)
    with pytest.raises(ValueError, match=rf"^{argument}:"):
        dataclasses.replace(LQR(), **fields)
