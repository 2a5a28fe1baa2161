"""Scripted policies in environments, for the tests of several families."""

from typing import Any

import numpy as np

from mjgym import Env, VectorEnv
from mjgym.task import Task

FORM: dict[str, Any] = {"observation": "dict", "dtype": "float64"}  # which scripts read


def assert_solves(task: Task, episodes: int, steps: int, least: int) -> np.ndarray:
    """The script solves so many of the episodes within so many control steps.

    Returns the rewards of the last step in the episodes that were successful then.
    """
    envs = VectorEnv(task, episodes, **FORM)
    policy = task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    solved = np.zeros(episodes, dtype=bool)
    for _ in range(steps):
        observation, rewards, _, _, info = envs.step(policy(observation))
        solved |= info["success"]  # which may end an episode
        if solved.sum() >= least:
            break
    envs.close()
    assert solved.sum() >= least
    return rewards[info["success"]]


def assert_drives_one_as_many(task: Task, steps: int) -> None:
    """The script does in a single environment what it does in a batch, bit for bit."""
    envs, env = VectorEnv(task, 2, **FORM), Env(task, **FORM)
    policies = task.scripted_policy(), task.scripted_policy()
    many, _ = envs.reset(seed=3)
    one, _ = env.reset(seed=4)
    for _ in range(steps):
        actions, action = policies[0](many), policies[1](one)
        np.testing.assert_array_equal(actions[1], action)
        many, one = envs.step(actions)[0], env.step(action)[0]
    envs.close()
    env.close()
