"""Actions that correct a task's scripted policy."""

import gymnasium
import numpy as np
import pytest

from helpers.lanes import mostly_slow
from mjgym.envs.residual import ResidualAction, VectorResidualAction
from mjgym.policies.network import begin
from mjgym.tasks.l2m.reflex import START

WALKER, WALKING = "l2m/walk_planar-fast-v0", {"init_pose": START, "max_episode_steps": 30}
IDS = [(WALKER, WALKING), ("robosuite/Lift-v0", {"max_episode_steps": 30})]
EPISODES = 3


def scripted(id, **arguments):
    """Rewards of episodes of the scripted policy, which begins anew in each."""
    env = gymnasium.make(id, dtype="float64", observation="dict", **arguments)
    policy = env.unwrapped.task.scripted_policy()
    rewards = []
    for seed in range(EPISODES):
        observation, _ = env.reset(seed=seed)
        begin(policy)
        ended = False
        while not ended:
            observation, reward, terminated, truncated, _ = env.step(policy(observation))
            ended = terminated or truncated
            rewards.append(reward)
    return rewards


@pytest.mark.slow
@pytest.mark.parametrize(("id", "arguments"), IDS)
def test_zero_is_the_scripted_policy(id, arguments):
    env = gymnasium.make(id, residual=0.1, **arguments)
    assert isinstance(env.env.env, ResidualAction)
    rewards = []
    for seed in range(EPISODES):
        env.reset(seed=seed)
        ended = False
        while not ended:
            _, reward, terminated, truncated, _ = env.step(np.zeros(env.action_space.shape))
            ended = terminated or truncated
            rewards.append(reward)
    assert rewards == scripted(id, **arguments)


@pytest.mark.parametrize("mode", mostly_slow(["NextStep", "SameStep", "Disabled"], 3))
def test_a_batch_begins_the_policy_with_each_episode(mode):
    """Of two walkers the second is one step ahead, so that their episodes begin one by one."""
    envs = gymnasium.make_vec(
        WALKER, num_envs=2, residual=0.1, autoreset_mode=mode, dtype="float64", **WALKING
    )
    assert isinstance(envs, VectorResidualAction)
    envs.reset(seed=[0, 0])
    envs.step(np.zeros((2, 22)))
    envs.reset(options={"reset_mask": np.array([True, False])}, seed=[0, None])
    rewards = []
    for _ in range(70):
        _, reward, _, truncated, _ = envs.step(np.zeros((2, 22)))
        rewards.append(reward)
        if mode == "Disabled" and truncated.any():
            envs.reset(options={"reset_mask": truncated})
    once = scripted(WALKER, **WALKING)[:30]
    between = [0.0] if mode == "NextStep" else []
    repeated = (once + between) * 3
    np.testing.assert_array_equal(np.array(rewards)[:, 0], repeated[:70])
    np.testing.assert_array_equal(np.array(rewards)[:, 1], repeated[1:71])


def test_a_correction_is_a_fraction_of_half_the_range_and_stays_in_bounds():
    env = gymnasium.make(WALKER, residual=0.5, **WALKING)
    plain = gymnasium.make(WALKER, **WALKING)
    env.reset(seed=0)
    plain.reset(seed=0)
    base = plain.unwrapped.task.scripted_policy()(plain.unwrapped.observe())
    env.step(np.where(np.arange(22) == 3, 1.0, 0.0))
    plain.step(np.clip(base + 0.25 * (np.arange(22) == 3), 0.0, 1.0))
    np.testing.assert_array_equal(env.unwrapped.data.ctrl, plain.unwrapped.data.ctrl)
    env.step(np.full(22, -1.0))
    assert env.action_space == gymnasium.spaces.Box(-1.0, 1.0, (22,), np.float32)
    assert env.unwrapped.data.ctrl.min() >= 0


def test_a_wrong_action_leaves_the_policy_as_it_was():
    env = gymnasium.make(WALKER, residual=0.1, **WALKING)
    rewards = []
    env.reset(seed=0)
    for _ in range(30):
        with pytest.raises(ValueError, match=r"expected shape \(22,\)"):
            env.step(np.zeros(1))
        rewards.append(env.step(np.zeros(22))[1])
    assert rewards == scripted(WALKER, **WALKING)[:30]


def test_the_spec_recreates_it():
    env = gymnasium.make(WALKER, residual=0.3)
    again = gymnasium.make(env.spec)
    assert str(again) == str(env)
    assert str(env).count("ResidualAction") == 1


@pytest.mark.parametrize(
    ("id", "arguments", "complaint"),
    [
        ("dmc/walker-walk-v0", {"residual": 0.1}, "no scripted policy for Walker"),
        (WALKER, {"residual": 0.0}, "expected a positive number, got 0.0"),
        (WALKER, {"residual": float("nan")}, "expected a positive number, got nan"),
        (WALKER, {"residual": "0.3"}, "expected a positive number, got '0.3'"),
    ],
)
def test_what_cannot_be_corrected(id, arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        gymnasium.make(id, **arguments)
    with pytest.raises(ValueError, match=complaint):
        gymnasium.make_vec(id, num_envs=2, **arguments)


def test_batches_that_cannot_be_corrected():
    with pytest.raises(ValueError, match="residual: only for one agent, without overlap"):
        gymnasium.make_vec(WALKER, num_envs=2, residual=0.1, overlap=2)
    with pytest.raises(TypeError, match="did you mean residual"):
        gymnasium.make(WALKER, residuals=0.1)
