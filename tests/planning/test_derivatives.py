"""Derivatives of a control step and of its reward."""

from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers import toys
from helpers.linear_quadratic import IDS, cost_matrices, dynamics, made
from mjgym import planning
from mjgym.planning.tangent import Tangent


@pytest.mark.parametrize("id", IDS)
def test_a_linear_step_is_linearized(id):
    env = made(id)
    A, B = dynamics(env)
    Q, R = cost_matrices(env)
    state, action = env.unwrapped.get_state(), np.full(env.action_space.shape, 0.3)
    found = planning.linearize(env, state, action)
    assert np.allclose(found.A[0], A, atol=1e-9)
    assert np.allclose(found.B[0], B, atol=1e-9)
    x = A @ np.concatenate([state["qpos"], state["qvel"]]) + B @ action
    both = np.concatenate([A, B], 1)
    control = np.zeros((len(R) + len(A), len(R) + len(A)))
    control[len(A) :, len(A) :] = R
    gradient = -both.T @ Q @ x
    gradient[len(A) :] -= R @ action
    assert np.allclose(found.rewards, 1 - (x @ Q @ x + action @ R @ action) / 2, atol=1e-12)
    assert np.allclose(found.gradient[0], gradient, atol=1e-8)
    assert np.allclose(found.curvature[0], -(both.T @ Q @ both + control), atol=1e-6)


def test_many_states_are_linearized_at_once():
    env = made("dmc/cartpole-swingup-v0")
    envs = gymnasium.make_vec("dmc/cartpole-swingup-v0", num_envs=3)
    envs.reset(seed=0)
    states, actions = envs.unwrapped.get_state(), np.array([[0.1], [-0.2], [0.3]])
    together = planning.linearize(envs, states, actions)
    for i in range(3):
        alone = planning.linearize(
            env, {name: value[i] for name, value in states.items()}, actions[i]
        )
        for name in ("A", "B", "rewards", "gradient", "curvature"):
            assert np.array_equal(getattr(together, name)[i], getattr(alone, name)[0]), name


def test_actions_and_states_belong_together():
    env = made(IDS[0])
    state = env.unwrapped.get_state()
    with pytest.raises(ValueError, match="actions: 2 for 1 states"):
        planning.linearize(env, state, np.zeros((2, 1)))
    with pytest.raises(
        ValueError, match=r"actions: expected shape \(1,\) or \(m, 1\), got \(1, 3\)"
    ):
        planning.linearize(env, state, np.zeros(3))
    with pytest.raises(ValueError, match="state: no entry 'qvel'; give a whole state"):
        planning.linearize(env, {"qpos": state["qpos"]}, np.zeros(1))
    with pytest.raises(ValueError, match="step: must be positive"):
        planning.linearize(env, state, np.zeros(1), step=0.0)
    with pytest.raises(TypeError, match=r"PendulumEnv.* has no rollouts"):
        planning.linearize(gymnasium.make("Pendulum-v1"), state, np.zeros(1))


@dataclass(frozen=True)
class Product(toys.Cart):
    """A reward that is a product of two linear terms."""

    def terms(self, v):
        return {"place": v.qpos[..., 0], "speed": v.qvel[..., 0]}

    def reward(self, terms):
        return terms["place"] * terms["speed"]


def test_curvature_through_terms(monkeypatch):
    """Gauss and Newton's is exact where the terms are linear in the state."""
    env = mjgym.Env(Product())
    env.reset(seed=0)
    action = np.full(env.action_space.shape, 0.2)
    exact = planning.linearize(env, env.get_state(), action)
    monkeypatch.setattr(planning.derivatives, "MOST_PAIRS", 0)
    through = planning.linearize(env, env.get_state(), action)
    assert abs(exact.curvature).max() > 0.1
    assert np.allclose(through.curvature, exact.curvature, atol=1e-5)


def test_orientations_are_moved_along_their_tangent():
    env = made("dmc/quadruped-walk-v0").unwrapped
    tangent = Tangent(env.model)
    state = {name: np.repeat(v[None], 4, 0) for name, v in env.get_state().items()}
    by = np.random.default_rng(0).normal(0, 0.1, (4, tangent.size))
    moved = tangent.moved(state, by)
    assert np.allclose(np.linalg.norm(moved["qpos"][:, 3:7], axis=1), 1)
    assert np.allclose(tangent.between(state, moved), by, atol=1e-12)
    assert env.model.na
    assert np.allclose(moved["act"] - state["act"], by[:, -env.model.na :])
