"""Starts of episodes against the recorded ones: exactly, and in distribution."""

import gymnasium
import numpy as np
import pytest

from helpers.lanes import mostly_nightly, mostly_slow
from helpers.suite import (
    COUNTED,
    IDS,
    SEED,
    UNCOUNTED,
    LegacyGenerator,
    begin,
    relative_error,
    task,
    transitions,
)
from mjgym.sim import Single
from mjgym.task.models import compile_model

LQR_DRAWS = {"lqr-lqr_2_1": 4, "lqr-lqr_6_2": 12}  # of stiffness and damping, before any episode


def _flat(entries):
    return np.concatenate([np.ravel(value) for value in entries.values()])


@pytest.mark.parametrize("id", mostly_slow(IDS, 12))
def test_starts_equal_the_recorded_ones(id):
    """With the recorder's generator, every draw, order and loop gives its 200 starts."""
    name = id.removeprefix("dmc/").removesuffix("-v0")
    record = transitions(name, "random")
    one = task(name)
    simulation = Single(compile_model(one), one.varies)
    rng = LegacyGenerator(SEED)
    rng.random(LQR_DRAWS.get(name, 0))
    rows = {"qpos": [], "qvel": [], "obs": []}
    for k in range(UNCOUNTED + COUNTED):
        begin(simulation, one.initialize, lambda i: rng)
        if k >= UNCOUNTED:
            rows["qpos"].append(simulation.data.qpos.copy())
            rows["qvel"].append(simulation.data.qvel.copy())
            rows["obs"].append(_flat(one.observation(simulation.view)))
    for field, values in rows.items():
        for statistic in ("mean", "std", "min", "max"):
            ours = getattr(np.array(values), statistic)(axis=0)
            recorded = record[f"start_{field}_{statistic}"]
            assert relative_error(ours, recorded) <= 1e-9, (field, statistic)


@pytest.mark.parametrize("id", mostly_nightly(IDS, 7))
def test_starts_are_distributed_as_the_recorded_ones(id):
    """With Gymnasium's generator, mean and spread agree within sampling error."""
    record = transitions(id.removeprefix("dmc/").removesuffix("-v0"), "random")
    envs = gymnasium.make_vec(id, num_envs=COUNTED, dtype="float64")
    observations, _ = envs.reset(seed=0)
    state = envs.get_state()
    for field, values in (
        ("qpos", state["qpos"]),
        ("qvel", state["qvel"]),
        ("obs", observations),
    ):
        mean, std = record[f"start_{field}_mean"], record[f"start_{field}_std"]
        # Five standard errors of the difference of two means of 200.
        error = 5 * np.sqrt((std**2 + values.std(axis=0) ** 2) / COUNTED)
        assert (np.abs(values.mean(axis=0) - mean) <= error + 1e-9).all(), field
        # The spread of 200 draws: a factor of two holds even for heavy tails.
        spread = values.std(axis=0)
        lowest, highest = record[f"start_{field}_min"], record[f"start_{field}_max"]
        still = std <= 1e-6
        # A touch in one start of 200 says nothing of how often it happens.
        rare = np.maximum(highest - mean, mean - lowest) > 10 * std
        moving = ~still & ~rare
        assert (spread[still] <= 1e-5).all(), field
        assert (spread[moving] <= 2 * std[moving] + 1e-9).all(), field
        assert (spread[moving] >= std[moving] / 2 - 1e-9).all(), field
    envs.close()
