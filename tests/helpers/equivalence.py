"""One environment, a batch of them and Gymnasium's own batch, held against each other."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from helpers.rollouts import actions_for, equal, row
from mjgym import registry

EXACT = {"observation": "dict", "dtype": "float64"}


def make_vec(id, **kwargs):
    """As many environments like that of `make`: `test_players` has those of each player's own."""
    if id in registry.ids():
        kwargs = registry.one_agent(id, **kwargs)
    return gymnasium.make_vec(id, **kwargs)


def assert_every_slot_equals_a_single_env(id, count=3, steps=6, **fields):
    envs = make_vec(id, num_envs=count, **EXACT, **fields)
    singles = [gymnasium.make(id, **EXACT, **fields) for _ in range(count)]
    starts, infos = envs.reset(seed=100)
    assert envs.observation_space.contains(starts)
    for i, env in enumerate(singles):
        start, info = env.reset(seed=100 + i)
        assert equal(row(starts, i), start)
        assert_info_of_slot(infos, i, info)
    over = np.zeros(count, dtype=bool)
    for actions in actions_for(envs, steps):
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        assert np.isfinite(rewards).all()
        for i, env in enumerate(singles):
            if over[i]:
                assert equal(row(observations, i), env.reset()[0])
                continue
            single = env.step(actions[i])
            assert equal(row(observations, i), single[0])
            assert (rewards[i], terminations[i], truncations[i]) == single[1:4]
            assert_info_of_slot(infos, i, single[4])
        over = terminations | truncations
    for one in (envs, *singles):
        one.close()


def assert_info_of_slot(infos, i, info):
    """The i-th values of a batch's infos are those of the info, and there are no others."""
    for name, value in info.items():
        assert np.array_equal(infos[name][i], value), name
        assert infos[f"_{name}"][i], name
    others = {name for name in infos if not name.startswith("_")} - set(info)
    assert not [name for name in others if infos[f"_{name}"][i]]


def assert_autoreset_equals_sync_vector_env(id, observation, mode):
    """Transition by transition, infos included, over episodes that end at different times."""
    kwargs = {"observation": observation, "max_episode_steps": 2}
    ours = make_vec(id, num_envs=2, autoreset_mode=mode, **kwargs)
    sync = SyncVectorEnv([lambda: gymnasium.make(id, **kwargs)] * 2, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == sync.metadata["autoreset_mode"] == mode
    assert ours.single_observation_space == sync.single_observation_space
    assert ours.action_space == sync.action_space
    assert equal(ours.reset(seed=7), sync.reset(seed=7))
    # Start one episode anew, so that they do not end in the same step.
    again, ended = np.array([True, False]), np.zeros(2, dtype=bool)
    for k, actions in enumerate(np.float32(actions_for(ours, 6))):
        mask = again if k == 1 else ended if mode == AutoresetMode.DISABLED else ended & False
        if mask.any():
            a, b = (envs.reset(options={"reset_mask": mask.copy()}) for envs in (ours, sync))
            assert equal(a, b), k
        a, b = ours.step(actions), sync.step(actions)
        assert equal(a[:4], b[:4]), k
        assert equal(_sorted(a[4]), _sorted(b[4])), (k, a[4], b[4])
        ended = a[2] | a[3]
    ours.close()
    sync.close()


def _sorted(info):
    return {k: _sorted(v) if isinstance(v, dict) else v for k, v in sorted(info.items())}


def assert_threads_do_not_matter(id):
    results = []
    for threads in (1, 2, 3):
        envs = gymnasium.make_vec(id, num_envs=4, threads=threads, max_episode_steps=5)
        envs.reset(seed=1)
        results.append([envs.step(a)[:4] for a in actions_for(envs, 8)])
        envs.close()
    assert all(equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))
