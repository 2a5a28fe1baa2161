"""One environment, a batch of them and Gymnasium's own batch, held against each other."""

import pickle

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from helpers.rollouts import COPIES, actions_for, equal, rollout, row
from mjgym import registry

EXACT = {"observation": "dict", "dtype": "float64"}


def make_vec(id, **kwargs):
    """As many environments like that of `make`: `test_players` has those of each player's own."""
    if id in registry.ids():
        kwargs = registry.one_agent(id, **kwargs)
    return gymnasium.make_vec(id, **kwargs)


def assert_every_slot_equals_a_single_env(
    id, count=3, steps=6, mode=AutoresetMode.NEXT_STEP, **fields
):
    """A batch, beside Gymnasium's of single environments; our infos, see below."""
    fields = {**EXACT, **fields}
    ours = make_vec(id, num_envs=count, autoreset_mode=mode, **fields)
    sync = SyncVectorEnv([lambda: gymnasium.make(id, **fields)] * count, autoreset_mode=mode)
    return assert_same_episodes(ours, sync, steps)


def assert_info_of_slot(infos, i, info):
    """The i-th values of a batch's infos are those of the info, and there are no others."""
    for name, value in info.items():
        assert np.array_equal(infos[name][i], value), name
        assert infos[f"_{name}"][i], name
    others = {name for name in infos if not name.startswith("_")} - set(info)
    assert not [name for name in others if infos[f"_{name}"][i]]


def assert_same_episodes(ours, others, steps):
    """Transition by transition, infos included, over episodes that end at different times.

    Returns:
        Our infos, of later resets too.
    """
    assert ours.single_observation_space == others.single_observation_space
    assert ours.action_space == others.action_space
    mode = ours.metadata["autoreset_mode"]
    assert mode == others.metadata["autoreset_mode"]
    assert equal(ours.reset(seed=7), others.reset(seed=7))
    # Start one episode anew, so that they do not end in the same step.
    again, ended = np.arange(ours.num_envs) == 0, np.zeros(ours.num_envs, dtype=bool)
    infos = []
    for k, actions in enumerate(np.float32(actions_for(ours, steps))):
        mask = again if k == 1 else ended & (mode == AutoresetMode.DISABLED)
        if mask.any():
            a, b = (envs.reset(options={"reset_mask": mask.copy()}) for envs in (ours, others))
            assert equal(a, b), k
            infos.append(a[1])
        a, b = ours.step(actions), others.step(actions)
        assert equal(a[:4], b[:4]), k
        assert equal(_sorted(a[4]), _sorted(b[4])), (k, a[4], b[4])
        infos.append(a[4])
        ended = a[2] | a[3]
    ours.close()
    others.close()
    return infos


def _sorted(info):
    return {k: _sorted(v) if isinstance(v, dict) else v for k, v in sorted(info.items())}


def assert_states_go_on(id, before=3, **options):
    """A batch's state restores it; one slot's goes on in another, alone, and in copies of both."""
    envs = make_vec(id, num_envs=3, max_episode_steps=6, **options)
    envs.reset(seed=0)
    seen = rollout(envs, before)[-1][0]
    state = envs.get_state()
    later = rollout(envs, 6, seed=3)  # into the next episodes
    envs.reset(seed=50)
    assert equal(envs.set_state(state), seen)
    assert equal(rollout(envs, 6, seed=3), later)
    envs.set_state(state)
    part = envs.get_state(ids=[2])
    envs.reset(seed=60)
    envs.set_state(part, ids=[1])
    single = gymnasium.make(id, **options)
    single.reset(seed=0)
    envs, single = pickle.loads(pickle.dumps(envs)), pickle.loads(pickle.dumps(single)).unwrapped
    single.set_state({name: value[0] for name, value in part.items()})
    ended = False
    for old, actions in zip(later, actions_for(envs, 6, seed=3), strict=True):
        actions[1] = actions[2]
        now = envs.step(actions)
        assert equal(row(now[0], 1), row(old[0], 2))
        assert now[1][1] == old[1][2]
        if ended:
            alone, info = single.reset()
            assert_info_of_slot(old[4], 2, info)
        else:
            alone, reward, *_ = single.step(actions[2])
            assert reward == old[1][2]
        assert equal(alone, row(old[0], 2))
        ended = old[2][2] | old[3][2]
    envs.close()
    single.close()


def assert_copies_go_on(env, steps=2):
    """Of an environment or a batch, pickled or copied, into the next episode; it is closed then."""
    twins = [duplicate(env) for duplicate in COPIES.values()]
    assert all(twin.spec == env.spec for twin in twins)
    continued = [[*rollout(each, steps, seed=2), each.reset()] for each in (env, *twins)]
    for each, seen in zip((env, *twins), continued, strict=True):
        assert equal(seen, continued[0])
        each.close()


def assert_threads_do_not_matter(id):
    results = []
    for threads in (1, 2, 3):
        envs = gymnasium.make_vec(id, num_envs=4, threads=threads, max_episode_steps=5)
        envs.reset(seed=1)
        results.append([envs.step(a)[:4] for a in actions_for(envs, 8)])
        envs.close()
    assert all(equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))
