"""Compiled control steps of registered ids, beside the same steps with their hooks in NumPy."""

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')

from helpers.lanes import mostly_nightly
from helpers.numpy_hooks import in_numpy
from helpers.registered import packaged_ids, registered_task
from helpers.rollouts import equal
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.task import GoalTask
from mjgym.variation import Uniform

QUICK = ("dmc/walker-walk-v0", "dmc/reacher-easy-v0")
BY_ROUNDING = "l2m/"  # the muscles' sums between physics steps round otherwise
SETTINGS = {
    "flat": {},
    "dict": {"observation": "dict", "dtype": "float64"},
    "goal": {"observation": "goal"},
    "varied": {"vary": {"body_mass": Uniform(0.9, 1.1), "geom_friction": Uniform(0.9, 1.1)}},
}


def played(env, steps, dtype):
    """All that a user sees of some steps, with an end among them, and the states behind them."""
    seen = [env.reset(seed=0)]
    env.action_space.seed(0)
    for _ in range(steps):
        action = np.clip(env.action_space.sample(), -2.0, 2.0).astype(dtype)
        seen.append(env.step(action))
    return seen, env.get_state()


CASES = list(itertools.product(packaged_ids(), SETTINGS))


@pytest.mark.parametrize(
    ("id", "setting"), mostly_nightly(CASES, 20, [case for case in CASES if case[0] in QUICK])
)
def test_the_same_bits(id, setting):
    task, options = registered_task(id), SETTINGS[setting]
    if setting == "goal" and not isinstance(task, GoalTask):
        return
    dtype = options.get("dtype", "float32")
    pairs = [(VectorEnv, {"num_envs": 3, "max_episode_steps": 4})]
    if not task.players:
        pairs.append((Env, {}))
    for make, more in pairs:
        one, other = (make(each, **options, **more) for each in (task, in_numpy(task)))
        ours, theirs = played(one, 6, dtype), played(other, 6, dtype)
        assert one.uncompiled == "", one.uncompiled
        assert setting != "flat" or one._episodes.in_numpy.keys() <= {"initialize"}
        if id.startswith(BY_ROUNDING):
            assert_close(ours[1], theirs[1])
        else:
            assert equal(ours, theirs)
        one.close()
        other.close()


def assert_close(state, expected):
    assert state.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-6, atol=1e-8, err_msg=name)
