"""Matches as PettingZoo has them, under PettingZoo's own tests."""

import textwrap

import gymnasium
import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils.conversions import aec_to_parallel, parallel_to_aec

import mjgym
from helpers.lanes import mostly_nightly
from helpers.rollouts import equal
from helpers.small_process import run_small
from mjgym import registry

IDS = registry.ids(tag="multi-agent")
ID = "soccer/boxhead-2v2-v0"
AGENTS = ["home_0", "home_1", "away_0", "away_1"]


def make(id=ID, **kwargs):
    return mjgym.parallel_env(id, **kwargs)


def actions_of(env):
    return {agent: env.action_space(agent).sample() for agent in env.agents}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=8))
def test_the_parallel_api(id):
    env = make(id, max_episode_steps=20)
    parallel_api_test(env, num_cycles=30)
    env.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_seeds(observation):
    parallel_seed_test(lambda: make(max_episode_steps=20, observation=observation), num_cycles=30)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_api_of_turns_by_conversion():
    api_test(parallel_to_aec(make(max_episode_steps=20)), num_cycles=60)
    back = aec_to_parallel(parallel_to_aec(make()))
    assert list(back.reset(seed=0)[0]) == AGENTS
    back.close()


def test_agents_are_the_rows_of_the_vector_environment():
    env, envs = make(), gymnasium.make_vec(ID, num_envs=1)
    seen, infos = env.reset(seed=4)
    rows, _ = envs.reset(seed=4)
    assert list(seen) == env.possible_agents == AGENTS
    assert infos["away_1"] == {"match": 0, "team": 1, "number": 1}
    for _ in range(5):
        actions = actions_of(env)
        seen, rewards, terminations, truncations, infos = env.step(actions)
        rows, vector_rewards, *_ = envs.step(np.stack(list(actions.values())))
        assert equal(np.stack(list(seen.values())), rows)
        assert list(rewards.values()) == vector_rewards.tolist()
        assert not any([*terminations.values(), *truncations.values()])
        assert infos["home_0"]["terms/goal"] == 0.0
    env.close()
    envs.close()


def test_a_goal_ends_the_match_for_all_agents():
    env = make()
    env.reset(seed=0)
    matches = env.players.matches
    state = matches.get_state()
    mouth = matches.view.site("field_upper").pos[0, 0]
    state["qpos"][0, :3], state["qvel"][0, :6] = (mouth - 0.02, 0, 0.5), (6, 0, 0, 0, 0, 0)
    matches.set_state({"qpos": state["qpos"], "qvel": state["qvel"]})
    _, rewards, terminations, truncations, _ = env.step(actions_of(env))
    assert rewards == {"home_0": 1.0, "home_1": 1.0, "away_0": -1.0, "away_1": -1.0}
    assert all(terminations.values())
    assert not any(truncations.values())
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})
    env.reset()
    assert env.agents == AGENTS
    env.close()


def test_the_state_is_the_simulators():
    env = make()
    env.reset(seed=0)
    env.step(actions_of(env))
    state, view = env.state(), env.players.view
    assert state in env.state_space
    assert np.array_equal(state, np.concatenate([view.qpos[0], view.qvel[0]]))
    env.close()


@pytest.mark.gl
def test_pictures():
    env = make(render_mode="rgb_array", width=40, height=30)
    env.reset(seed=0)
    assert env.render().shape == (30, 40, 3)
    env.close()


def test_what_is_wrong_is_said():
    env = make()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({})
    env.reset(seed=0)
    actions = actions_of(env)
    with pytest.raises(ValueError, match="none for 'away_1'"):
        env.step({agent: actions[agent] for agent in AGENTS[:3]})
    with pytest.raises(ValueError, match="no agent 'referee'"):
        env.step({**actions, "referee": actions["home_0"]})
    with pytest.raises(ValueError, match=r"'away_0'.*nan at index 0"):
        env.step({**actions, "away_0": np.full(3, np.nan)})
    with pytest.raises(ValueError, match=r"'home_1'.*expected shape \(3,\), got \(2,\)"):
        env.step({**actions, "home_1": np.zeros(2)})
    with pytest.raises(ValueError, match=r"'home_0'.*not an array of numbers"):
        env.step({**actions, "home_0": ["a", "b", "c"]})
    env.close()
    with pytest.raises(gymnasium.error.NameNotFound, match=r"soccer/ant-1v1-v0"):
        make("soccer/ant-1v1-v1")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'team_sise'.*team_size"):
        make(team_sise=3)
    with pytest.raises(ValueError, match="Walker has no players"):
        make("dmc/walker-walk-v0")
    with pytest.raises(ValueError, match="Soccer has no players"):
        make(opponent="random")


def test_without_pettingzoo_it_says_what_to_install():
    program = """
    import sys
    sys.modules["pettingzoo"] = None
    import mjgym
    try:
        mjgym.parallel_env("soccer/boxhead-1v1-v0")
    except ImportError as error:
        print(error)
    """
    assert 'pip install -e ".[pettingzoo]"' in run_small(textwrap.dedent(program))
