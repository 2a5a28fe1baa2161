"""Matches of soccer by dm_control's loader."""

import numpy as np
import pytest

pytest.importorskip("dm_env", reason='needs pip install -e ".[dm-env]"')

from helpers.lanes import mostly_nightly
from mjgym_compat.dm_control.locomotion import soccer


@pytest.mark.parametrize("kind", mostly_nightly(soccer.WalkerType, quick=3))
def test_matches_of_all_walkers_are_loaded(kind):
    env = soccer.load(1, time_limit=0.1, random_state=3, walker_type=kind)
    step = env.reset()
    while not step.last():
        step = env.step([spec.generate_value() for spec in env.action_spec()])
    assert len(step.observation) == 2
    assert step.discount == 1.0


def test_the_physics_of_a_loaded_match_is_a_copy_of_its_present_state():
    env = soccer.load(1, random_state=0)
    env.reset()
    start = env.physics.data.qpos.copy()
    size = env.physics.model.geom_size.copy()
    env.physics.data.qpos[:] = 0.0
    env.step([spec.generate_value() for spec in env.action_spec()])
    assert env.physics.time() == pytest.approx(env.control_timestep())
    np.testing.assert_allclose(env.physics.data.qpos, start, atol=0.1)
    env.reset()
    assert env.physics.time() == 0.0
    assert env.physics.model.ncam > 1
    assert not np.array_equal(env.physics.model.geom_size, size)  # another pitch
