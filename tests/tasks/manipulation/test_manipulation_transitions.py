"""Recorded transitions of the published manipulation tasks, replayed by single and vector env."""

import dataclasses

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.manipulation_records import NAMES, Record, make, make_vec, states
from helpers.suite import relative_error, relative_errors
from mjgym import Env

TOLERANCE = 1e-9
FIELDS = ("time", "qpos", "qvel")


@pytest.mark.parametrize("name", mostly_slow(NAMES, 3))
def test_single_env_reproduces_transitions(name):
    record = Record(name)
    env = make(name)
    assert list(env.observation_space) == list(record.observation(0))
    for i in range(len(record)):
        env.set_state(states(env, record, i))
        observation, reward, terminated, truncated, info = env.step(record.arrays["action"][i])
        for key, recorded in record.observation(i).items():
            assert relative_error(observation[key], recorded) <= TOLERANCE, (i, key)
        assert relative_error(reward, record.arrays["reward"][i]) <= TOLERANCE, i
        for field in FIELDS:
            recorded = record.arrays[f"after_{field}"][i]
            assert relative_error(getattr(env.data, field), recorded) <= TOLERANCE, (i, field)
        assert (terminated, truncated, info["diverged"]) == (False, False, False)
    env.close()


@pytest.mark.parametrize("name", mostly_slow(NAMES, 8))
def test_batch_reproduces_transitions(name):
    record = Record(name)
    envs = make_vec(name, len(record))
    each = [states(envs, record, i) for i in range(len(record))]
    envs.set_state({field: np.stack([one[field] for one in each]) for field in each[0]})
    observation, reward, terminated, truncated, info = envs.step(record.arrays["action"])
    for i in range(len(record)):
        for key, recorded in record.observation(i).items():
            assert relative_error(observation[key][i], recorded) <= TOLERANCE, (i, key)
    assert (relative_errors(reward, record.arrays["reward"]) <= TOLERANCE).all()
    state = envs.get_state()
    for field in FIELDS:
        errors = relative_errors(state[field], record.arrays[f"after_{field}"])
        assert (errors <= TOLERANCE).all(), field
    assert not (terminated | truncated | info["diverged"]).any()
    envs.close()


@pytest.mark.parametrize("name", mostly_slow(NAMES, 4))
def test_a_recorded_start_is_seen_as_recorded(name):
    """The first observation is computed without the actuators' forces."""
    record = Record(name)
    plain, fields = make(name), {}

    class Recorded(type(plain.task)):
        def initialize(self, v, rng):
            for field, value in fields.items():
                getattr(v, field)[...] = value

    given = {f.name: getattr(plain.task, f.name) for f in dataclasses.fields(plain.task) if f.init}
    env = Env(Recorded(**given), observation="dict", dtype="float64")
    first_rows = [list(record.arrays["episode"]).index(episode) for episode in range(4)]
    for episode, row in enumerate(first_rows):
        fields = states(env, record, row)
        for key in ("qpos", "qvel"):
            fields[key] = record.arrays[f"reset_{key}"][episode]
        for key in ("time", "qacc_warmstart"):
            del fields[key]
        if name == "reach_site":  # steps near the target have had it moved to the tool
            fields["site_pos"][env.model.site("target_site").id] = record.episode(row)["target"]

        observation, _ = env.reset()
        for key, recorded in record.observation(episode, start=True).items():
            assert relative_error(observation[key], recorded) <= TOLERANCE, (episode, key)
    env.close()
