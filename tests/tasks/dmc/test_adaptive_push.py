"""The script that finds out where the motors of a point mass push."""

import numpy as np

from helpers.scripted import FORM, assert_drives_one_as_many
from mjgym import VectorEnv
from mjgym.tasks.dmc.adaptive_push import SURE, AdaptivePush
from mjgym.tasks.dmc.point_mass import UnknownDirections

GEAR = 0.00625  # m/s, of a control of 1 along its direction
STEPS = 800  # of the 1,000 of an episode


def played(policy, noise=0.0, told=True, seed=0):
    """Last distances from the target, and the batch, in which some actions were perturbed."""
    envs, rng = VectorEnv(UnknownDirections(), 24, **FORM), np.random.default_rng(seed)
    observation, _ = envs.reset(seed=seed)
    for _ in range(STEPS):
        action = policy(observation)
        if noise:
            action = np.clip(action + noise * rng.normal(size=action.shape), -1, 1)
            if told:
                policy.executed(action)
        observation = envs.step(action)[0]
    return np.linalg.norm(observation["position"], axis=-1), envs


def effects(envs):
    """Velocities that a control of 1 adds in a control step, by motor in the last axis."""
    return GEAR * np.swapaxes(envs.view.wrap_prm.reshape(24, 2, 2), 1, 2)


def test_it_stays_in_the_target_whatever_the_directions() -> None:
    distances, envs = played(AdaptivePush())
    assert distances.max() < 0.015
    envs.close()


def test_it_finds_the_columns_of_the_drawn_directions() -> None:
    policy = AdaptivePush()
    _, envs = played(policy)
    assert np.abs(policy._doubt).max((-2, -1)).min() < SURE
    assert np.abs(policy._effect - effects(envs)).max() < 0.02 * GEAR
    envs.close()


def test_noise_that_it_is_told_of_does_not_mislead_it() -> None:
    policy, misled = AdaptivePush(), AdaptivePush()
    errors = []
    for each, told in ((policy, True), (misled, False)):
        _, envs = played(each, noise=0.3, told=told)
        errors.append(np.median(np.abs(each._effect - effects(envs))))
        envs.close()
    assert errors[0] < errors[1] / 5


def test_one_environment_is_driven_as_many_are() -> None:
    assert_drives_one_as_many(UnknownDirections(), 80)


def test_it_forgets_the_motors_of_a_new_episode_alone() -> None:
    policy = AdaptivePush()
    _, envs = played(policy)
    begun = np.arange(24) == 5
    observation, _ = envs.reset(options={"reset_mask": begun})
    known = policy._effect.copy()
    policy.restart(begun)
    policy(observation)
    np.testing.assert_allclose(policy._effect[~begun], known[~begun], rtol=1e-3)
    assert not policy._effect[5].any()
    envs.close()
