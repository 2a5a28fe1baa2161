"""dm_control's soccer: matches by its loader, and its parts on Composer."""

import pytest

pytest.importorskip("dm_env")

from mjgym_compat.dm_control.locomotion import soccer


@pytest.mark.parametrize("kind", soccer.WalkerType)
def test_matches_of_all_walkers_are_loaded(kind):
    env = soccer.load(1, time_limit=0.1, random_state=3, walker_type=kind)
    step = env.reset()
    while not step.last():
        step = env.step([spec.generate_value() for spec in env.action_spec()])
    assert len(step.observation) == 2
    assert step.discount == 1.0
