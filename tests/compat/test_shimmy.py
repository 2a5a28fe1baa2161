"""The order of Shimmy's flat observations, as Gymnasium itself makes it of a plain dict."""

import gymnasium
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from mjgym import registry
from mjgym_compat.shimmy import flat_order


@pytest.mark.parametrize("id", mostly_nightly(registry.ids(namespace="dmc"), 7, 24))
def test_is_that_of_a_flattened_dict(id):
    kept = gymnasium.make(id, observation="dict", dtype="float64")
    entries, _ = kept.reset(seed=0)
    flat, _ = gymnasium.make(id, dtype="float64").reset(seed=0)
    # Shimmy hands Gymnasium a plain dict of spaces, which Gymnasium sorts.
    space = gymnasium.spaces.Dict(dict(kept.observation_space.spaces))
    assert list(space.spaces) == sorted(entries)
    order = flat_order(kept)
    assert np.array_equal(flat[order], gymnasium.spaces.flatten(space, entries))
    assert sorted(order) == list(range(flat.size))


def test_is_the_same_for_a_batch():
    envs = gymnasium.make_vec("dmc/walker-walk-v0", num_envs=3)
    observations, _ = envs.reset(seed=0)
    env = gymnasium.make("dmc/walker-walk-v0")
    assert np.array_equal(flat_order(envs), flat_order(env))
    shown = observations[..., flat_order(envs)]
    assert np.array_equal(shown[1], env.reset(seed=1)[0][flat_order(env)])
    assert not np.array_equal(shown, observations)


def test_is_of_this_package_alone():
    with pytest.raises(TypeError, match="no environment of mjgym"):
        flat_order(gymnasium.make("CartPole-v1"))
