import dataclasses

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.lqr_solver import linear_dynamics, solve
from helpers.suite import begin
from mjgym.sim import Single
from mjgym.task import registrations
from mjgym.tasks.dmc.lqr import LQR

SIZES = [(1, 1), (2, 1), (6, 2), (9, 3), (4, 4)]  # masses and motors


def compiled(masses: int = 2, actuators: int = 1, **fields):
    return LQR(masses=masses, actuators=actuators, **fields).model().compile()


def damped(masses: int, actuators: int):
    spec = LQR(masses=masses, actuators=actuators).model()
    for i, joint in enumerate(spec.joints):
        joint.damping[0] = 0.5 + i
    return spec.compile()


def costs(q: np.ndarray, u: np.ndarray, control_cost: float) -> float:
    return (q @ q + control_cost * u @ u) / 2


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


@pytest.mark.parametrize(("masses", "actuators"), SIZES)
def test_solution_satisfies_the_riccati_equation(masses, actuators):
    model = compiled(masses, actuators)
    A, B = linear_dynamics(model)
    P, k, beta = solve(model, control_cost=0.3)
    Q = np.diag([1.0] * masses + [0.0] * masses)
    residual = Q + A.T @ P @ (A + B @ k) - P
    assert np.abs(residual).max() <= 1e-11 * np.abs(P).max()
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P).min() > 0
    assert 0 < beta < 1


@pytest.mark.parametrize("build", [compiled, damped])
@pytest.mark.parametrize(("masses", "actuators"), SIZES)
def test_dynamics_are_the_engines(build, masses, actuators):
    model = build(masses, actuators)
    A, B = linear_dynamics(model)
    sim = Single(model)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, u = rng.normal(size=masses), rng.normal(size=masses), rng.normal(size=actuators)
        sim.restore_defaults()
        sim.data.qpos[:], sim.data.qvel[:] = q, v
        sim.forward()
        sim.step(u, 1)
        after = np.concatenate([sim.data.qpos, sim.data.qvel])
        np.testing.assert_allclose(A @ np.concatenate([q, v]) + B @ u, after, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("masses", "actuators"), mostly_slow(SIZES, [(1, 1), (4, 4)]))
def test_measured_cost_to_go_is_the_solvers(masses, actuators):
    model = compiled(masses, actuators)
    A, B = linear_dynamics(model)
    P, k, beta = solve(model)
    rng = np.random.default_rng(1)
    steps = int(np.log(1e-9) / np.log(beta))
    for _ in range(3):
        x = rng.normal(size=2 * masses)
        expected, measured = x @ P @ x / 2, 0.0
        for _ in range(steps):
            u = k @ x
            measured += costs(x[:masses], u, 0.1)
            x = A @ x + B @ u
        assert measured == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_any_other_policy_costs_more():
    model = compiled(2, 1)
    A, B = linear_dynamics(model)
    P, k, _ = solve(model)
    rng = np.random.default_rng(2)
    for _ in range(10):
        start = x = rng.normal(size=4)
        other = k + 0.05 * rng.normal(size=k.shape)
        if np.abs(np.linalg.eigvals(A + B @ other)).max() >= 0.999:
            continue
        total = 0.0
        for _ in range(20_000):
            u = other @ x
            total += costs(x[:2], u, 0.1)
            x = A @ x + B @ u
        assert total > start @ P @ start / 2


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


def test_registered_sizes():
    sizes = {
        id: (r.fields["masses"], r.fields["actuators"])
        for id, r in registrations.items()
        if r.task_class is LQR
    }
    assert sizes == {"dmc/lqr-lqr_2_1-v0": (2, 1), "dmc/lqr-lqr_6_2-v0": (6, 2)}


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


def test_solver_names_what_is_wrong():
    with pytest.raises(ValueError, match=r"^control_cost:"):
        solve(compiled(), control_cost=0.0)
    spec = LQR(masses=1, actuators=1).model()
    spec.delete(spec.actuators[0])
    with pytest.raises(ValueError, match=r"^model:"):
        solve(spec.compile())


def test_solver_refuses_what_no_policy_can_stop():
    model = compiled(2, 1)
    model.jnt_stiffness[1] = 0  # nothing pulls the second ball
    with pytest.raises(RuntimeError, match="no policy"):
        solve(model)
