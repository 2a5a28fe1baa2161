"""Recorded transitions of the published locomotion tasks, replayed by single and vector env."""

import copy

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.locomotion_records import (
    CAMERA,
    MAZES,
    NAMES,
    make,
    make_vec,
    other_digits,
    scene,
    states,
    transitions,
)
from helpers.suite import relative_error, relative_errors

TOLERANCE = 1e-9

# Transitions that magnify rounding, by contacts that come and go or by the grid of the terrain: to
# change the model's numbers behind their 12th digit, which is all that the records have of them,
# moves these by up to the bound given here. A test below shows that it does.
SENSITIVE = {
    "cmu_humanoid_run_gaps": {10: 1e-7},
    "rodent_run_gaps": {0: 1e-8, 4: 1e-8, 6: 5e-6},
    "rodent_escape_bowl": {4: 1e-3, 5: 1e-4},
    "rodent_maze_forage": {5: 1e-8},
    "rodent_two_touch": {0: 1e-8, 3: 1e-8, 4: 5e-6},
}
# What the tasks remember, by the names that it has in the records.
TOUCHES = {
    "memory.state": "state",
    "memory.first": "first_touch_time",
    "memory.second": "second_touch_time",
    "memory.paused": "time_out",
    "memory.touches": "target_touched",
}


def bounds(name):
    found = np.full(len(transitions(name)["action"]), TOLERANCE)
    for row, bound in SENSITIVE.get(name, {}).items():
        found[row] = bound
    return found


def ended(name):
    """Whether each recorded step was its episode's last."""
    record = transitions(name)
    if name in MAZES:  # the published tasks keep a discount of 1 there
        assert (record["discount"] == 1).all()
    else:
        assert ((record["discount"] == 0) == record["last"]).all()
    return record["last"]


def memory_after(name):
    """What the task remembers after each recorded step, by its name in a state."""
    rows = [row["after"] for row in scene(name).get("memory", [])]
    if name in MAZES:
        return {"memory.counted": rows}
    if not rows:
        return {}
    return {ours: [float(np.sum(row[key] or 0)) for row in rows] for ours, key in TOUCHES.items()}


def assert_remembered(value, recorded, label):
    recorded = np.asarray(recorded, dtype=float)
    np.testing.assert_allclose(value[: recorded.size], recorded, atol=1e-12, err_msg=label)
    assert not value[recorded.size :].any(), label


@pytest.mark.parametrize("name", mostly_slow(NAMES, 6))
def test_single_env_reproduces_transitions(name):
    record = transitions(name)
    env = make(name)
    keys = [entry["key"] for entry in scene(name)["observation"]]
    assert list(env.observation_space) == [key for key in keys if key != CAMERA]
    before, after = states(env, name), memory_after(name)
    for i, (action, bound, last) in enumerate(
        zip(record["action"], bounds(name), ended(name), strict=True)
    ):
        env.set_state({field: rows[i] for field, rows in before.items()})
        observation, reward, terminated, truncated, info = env.step(action)
        for key, value in observation.items():
            assert relative_error(value, record[f"obs_{key}"][i]) <= bound, (i, key)
        assert relative_error(reward, record["reward"][i]) <= bound, i
        for field in ("time", "qpos", "qvel", "act"):
            value = getattr(env.data, field)
            assert relative_error(value, record[f"after_{field}"][i]) <= bound, (i, field)
        assert terminated == last, i
        assert not truncated
        assert not info["diverged"]
        state = env.get_state()
        for field, rows in after.items():
            assert_remembered(np.atleast_1d(state[field]), rows[i], (i, field))
    env.close()


@pytest.mark.parametrize("name", mostly_slow(NAMES, 8))
def test_batch_reproduces_transitions(name):
    record = transitions(name)
    envs = make_vec(name, len(record["action"]))
    envs.set_state(states(envs, name))
    observation, reward, terminated, truncated, info = envs.step(record["action"])
    for key, value in observation.items():
        assert (relative_errors(value, record[f"obs_{key}"]) <= bounds(name)).all(), key
    assert (relative_errors(reward, record["reward"]) <= bounds(name)).all()
    state = envs.get_state()
    for field in ("time", "qpos", "qvel", *(("act",) if "act" in state else ())):
        errors = relative_errors(state[field], record[f"after_{field}"])
        assert (errors <= bounds(name)).all(), field
    assert (terminated == ended(name)).all()
    assert not truncated.any()
    assert not info["diverged"].any()
    for field, rows in memory_after(name).items():
        for i, row in enumerate(rows):
            assert_remembered(np.atleast_1d(state[field][i]), row, (i, field))
    envs.close()


@pytest.mark.parametrize(
    ("name", "row"),
    mostly_slow([(name, row) for name, rows in SENSITIVE.items() for row in rows], 12),
)
def test_rows_with_looser_bounds_magnify_rounding(name, row):
    env = make(name)
    state = {field: rows[row] for field, rows in states(env, name).items()}
    rest = {field: value for field, value in state.items() if not hasattr(env.model, field)}
    env.set_state(state)
    exact = copy.copy(env.model)
    unmoved = env.step(transitions(name)["action"][row])[0]
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(8):
        other_digits(exact, env.model, rng)
        env.set_state(rest)
        moved = env.step(transitions(name)["action"][row])[0]
        errors += [relative_error(value, unmoved[key]) for key, value in moved.items()]
    assert max(errors) > SENSITIVE[name][row] / 100
    env.close()
