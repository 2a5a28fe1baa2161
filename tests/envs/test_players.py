"""Matches whose players are sub-environments: as many of them as there are players."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from helpers.equivalence import assert_copies_go_on
from helpers.lanes import mostly_nightly
from helpers.registered import registered_task
from helpers.rollouts import actions_for, equal, rollout
from mjgym import VectorEnv, registry
from mjgym.envs.players import PlayersVectorEnv
from mjgym.tasks.dmc.cartpole import Cartpole

IDS = registry.ids(tag="multi-agent")
ID, MATCHES, PLAYERS = "soccer/boxhead-2v2-v0", 3, 4
MODES = list(AutoresetMode)
KINDS = ["flat", "dict"]


def make(id=ID, matches=MATCHES, **kwargs):
    return gymnasium.make_vec(id, num_envs=matches, **kwargs)


def matches_of(id=ID, matches=MATCHES, **kwargs):
    """The same matches as one batch, whose arrays have an axis of players."""
    task = registered_task(id)
    kwargs.setdefault("max_episode_steps", task.episode_steps())
    return VectorEnv(task, matches, **kwargs)


def folded(value):
    if isinstance(value, dict):
        return {name: folded(part) for name, part in value.items()}
    return value.reshape(-1, *value.shape[2:])


@pytest.mark.parametrize("observation", mostly_nightly(KINDS, quick=4))
@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=12))
def test_spaces_hold_what_players_see_and_do(id, observation):
    envs = make(id, observation=observation)
    count = len(envs.unwrapped.task.players)
    assert envs.num_envs == MATCHES * count
    observations, _ = envs.reset(seed=1)
    assert observations in envs.observation_space
    for actions in actions_for(envs, 3):
        observations, rewards, terminations, truncations, _ = envs.step(np.float32(actions))
        assert observations in envs.observation_space
        for each in (rewards, terminations, truncations):
            assert each.shape == (envs.num_envs,)
    one = gymnasium.make(id, observation=observation)
    if observation == "flat":
        alone, teamed = envs.single_observation_space.shape[0], one.observation_space.shape[0]
        assert teamed == alone * count // 2
    else:
        assert list(one.observation_space)[: len(envs.single_observation_space)] == [
            f"home_0/{entry}" for entry in envs.single_observation_space
        ]
    envs.close()


@pytest.mark.slow
def test_players_see_what_the_home_team_sees_as_one_agent():
    envs, one = make(dtype="float64"), gymnasium.make(ID, dtype="float64")
    start, _ = envs.reset(seed=7)
    alone, _ = one.reset(seed=8)  # as match 1
    size = PLAYERS // 2
    rows = slice(PLAYERS, PLAYERS + size)
    assert np.array_equal(start[rows].ravel(), alone)
    for drawn in actions_for(envs, 5):
        actions = drawn.reshape(MATCHES, PLAYERS, -1)
        actions[1, size:] = 0  # the opponent stands still
        observations, rewards, *_ = envs.step(actions.reshape(envs.num_envs, -1))
        alone, reward, *_ = one.step(actions[1, :size].ravel())
        assert np.array_equal(observations[rows].ravel(), alone)
        assert rewards[PLAYERS] == reward
    envs.close()


def test_infos_say_who_a_row_is():
    envs = make()
    for info in (envs.reset(seed=0)[1], envs.step(envs.action_space.sample())[4]):
        assert info["match"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
        assert info["team"].tolist() == [0, 0, 1, 1] * MATCHES
        assert info["number"].tolist() == [0, 1, 0, 1] * MATCHES
        assert info["_match"].all()
    assert info["terms/goal"].shape == (12,)
    envs.close()


def score(envs, match):
    """Put the ball of a match before the away goal, on its way in."""
    state = envs.get_state([match])
    mouth = envs.view.site("field_upper").pos[match, 0]
    state["qpos"][0, :3] = mouth - 0.02, 0.0, 0.5
    state["qvel"][0, :6] = 6.0, 0, 0, 0, 0, 0
    envs.set_state({"qpos": state["qpos"], "qvel": state["qvel"]}, ids=[match])


@pytest.mark.parametrize("observation", mostly_nightly(KINDS, quick=2))
@pytest.mark.parametrize("mode", MODES)
def test_every_autoreset_mode_is_that_of_whole_matches(mode, observation):
    """Row by row what the batch of matches gives, over matches that end at different times."""
    kwargs = {"autoreset_mode": mode, "observation": observation, "max_episode_steps": 6}
    ours, matches = make(**kwargs), matches_of(**kwargs)
    assert ours.metadata["autoreset_mode"] == mode
    ours.reset(seed=3)
    matches.reset(seed=3)
    ended = np.zeros(MATCHES, dtype=bool)
    seen = set()
    for k, actions in enumerate(np.float32(actions_for(ours, 16))):
        if k == 2:
            score(ours, 1)
            score(matches, 1)
        if mode == AutoresetMode.DISABLED and ended.any():
            mask = np.repeat(ended, PLAYERS)
            a = ours.reset(options={"reset_mask": mask})[0]
            b = matches.reset(options={"reset_mask": ended.copy()})[0]
            assert equal(a, folded(b))
        a = ours.step(actions)
        b = matches.step(actions.reshape(MATCHES, -1))
        assert equal(a[0], folded(b[0]))
        assert equal(a[1], np.broadcast_to(b[1], (MATCHES, PLAYERS)).reshape(-1))
        for flags, of_match in zip(a[2:4], b[2:4], strict=True):
            assert equal(flags, np.repeat(of_match, PLAYERS))
        ended = b[2] | b[3]
        if k == 2:
            assert a[1].tolist() == [0] * 4 + [1, 1, -1, -1] + [0] * 4
            assert b[2].tolist() == [False, True, False]
        if mode == AutoresetMode.SAME_STEP and ended.any():
            rows = np.repeat(ended, PLAYERS)
            assert a[4]["_final_obs"].tolist() == rows.tolist()
            for i in np.flatnonzero(rows):
                match, player = divmod(i, PLAYERS)
                final = b[4]["final_obs"][match]
                assert equal(a[4]["final_obs"][i], player_of(final, player))
                assert a[4]["final_info"]["match"][i] == match
            assert a[4]["final_info"]["_terms/goal"].tolist() == rows.tolist()
        else:
            assert "final_obs" not in a[4]
        seen |= {k} if ended.any() else set()
    assert len(seen) > 2
    ours.close()
    matches.close()


def player_of(observation, player):
    if isinstance(observation, dict):
        return {name: value[player] for name, value in observation.items()}
    return observation[player]


def test_all_matches_may_end_and_begin_together():
    envs = make(max_episode_steps=2)  # by NextStep
    envs.reset(seed=0)
    for k in range(6):
        _, rewards, _, truncations, _ = envs.step(np.zeros(envs.action_space.shape, np.float32))
        assert rewards.shape == (12,)
        assert truncations.all() == (k % 3 == 1)
    envs.close()


def test_players_of_a_match_begin_together_or_not():
    envs = make(autoreset_mode="Disabled")
    envs.reset(seed=0)
    mask = np.zeros(12, dtype=bool)
    mask[5] = True
    with pytest.raises(ValueError, match="players of match 1 begin together"):
        envs.reset(options={"reset_mask": mask})
    with pytest.raises(ValueError, match=r"expected shape \(12,\), got \(3,\)"):
        envs.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    with pytest.raises(TypeError, match="array of bool"):
        envs.reset(options={"reset_mask": [True] * 12})
    with pytest.raises(ValueError, match="3 seeds for 12"):
        envs.reset(seed=[1, 2, 3])
    envs.close()


def test_seeds_are_of_matches():
    envs = make()
    first = envs.reset(seed=[*[20] * 4, *[21] * 4, *[22] * 4])[0]
    assert np.array_equal(first, envs.reset(seed=20)[0])
    assert envs.unwrapped.np_random_seed == (20, 20, 20, 20, 21, 21, 21, 21, 22, 22, 22, 22)
    later = envs.reset()[0]
    assert not np.array_equal(first, later)
    envs.close()


def test_a_bad_action_is_refused_by_the_row_of_its_player():
    envs = make()
    envs.reset(seed=0)
    actions = np.zeros(envs.action_space.shape)
    actions[6, 1] = np.nan
    before = envs.unwrapped.get_state()
    with pytest.raises(ValueError, match="sub-environment 6, index 1"):
        envs.step(actions)
    assert equal(envs.unwrapped.get_state(), before)
    envs.close()


def test_copies_continue_bit_for_bit():
    envs = make(max_episode_steps=4)
    envs.reset(seed=3)
    rollout(envs, 2)
    assert_copies_go_on(envs, 6)


def test_attributes_and_methods_of_each_player():
    envs = make(render_mode=None).unwrapped
    envs.reset(seed=0)
    assert envs.get_attr("task") == (envs.task,) * 12
    assert envs.get_attr("action_space")[5].shape == (3,)
    state = envs.call("get_state", ids=[4, 9])
    assert np.array_equal(state[0]["qpos"], envs.get_state()["qpos"][1])
    assert np.array_equal(state[1]["qpos"], envs.get_state()["qpos"][2])
    with pytest.raises(AttributeError, match=r"matches\.set_attr"):
        envs.set_attr("np_random", None)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = envs.nothing_like_it
    assert envs.control_timestep == 0.025
    envs.close()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"Cartpole has no players"):
        PlayersVectorEnv(Cartpole())
    with pytest.raises(ValueError, match="visualize_reward"):
        make(visualize_reward=True)
    with pytest.raises(TypeError, match=r"team_sise.*team_size"):
        make(team_sise=3)


def test_an_opponent_makes_one_agent_of_each_match():
    envs = make(opponent="random")
    assert isinstance(envs.unwrapped, VectorEnv)
    assert envs.num_envs == MATCHES
    assert registry.one_agent(ID, num_envs=2) == {"num_envs": 2, "opponent": "still"}
    assert registry.one_agent(ID, opponent="random") == {"opponent": "random"}
    assert registry.one_agent("dmc/walker-walk-v0", speed=2.0) == {"speed": 2.0}
    envs.close()


@pytest.mark.weekly
@pytest.mark.gl
def test_pictures_are_those_of_the_match():
    camera = {"camera": "ball_cam", "width": 32, "height": 24}
    envs = make(matches=2, observation="flat+pixels", pixels=camera, render_mode="rgb_array")
    observations, _ = envs.reset(seed=0)
    pictures = observations["pixels"]
    assert pictures.shape == (8, 24, 32, 3)
    assert all(np.array_equal(pictures[0], picture) for picture in pictures[1:4])
    assert not np.array_equal(pictures[0], pictures[4])
    assert len(envs.render()) == 2
    envs.close()


def test_readings_are_taken_of_players():
    from mjgym import Observable

    late = {"ball_ego_position": Observable(delay=5)}
    envs, plain = make(observation="dict", observables=late), make(observation="dict")
    for one in (envs, plain):
        one.reset(seed=0)
    actions = actions_for(envs, 4)
    before = plain.step(actions[0])[0]["ball_ego_position"]
    envs.step(actions[0])
    shown = envs.step(actions[1])[0]["ball_ego_position"]
    assert np.array_equal(shown, before)
    envs.close()
    plain.close()


@pytest.mark.slow
def test_stable_baselines3_trains_on_players():
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO

    from mjgym_compat import sb3

    envs = sb3.make_vec("soccer/boxhead-1v1-v0", 2, max_episode_steps=20)
    assert envs.num_envs == 4
    model = PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, device="cpu")
    model.learn(256)
    assert len(model.ep_info_buffer) >= 8  # matches have ended, each for two players
    envs.close()


def test_a_policy_for_each_team():
    from mjgym.cli.policy_option import of_teams

    id = "soccer/boxhead-1v1-v0"
    assert of_teams("random", id) == ("random", {})
    assert of_teams("zero,scripted", id) == ("zero", {"opponent": "scripted"})
    assert of_teams("random,zero", id) == ("random", {"opponent": "still"})


@pytest.mark.weekly
@pytest.mark.gl
def test_commands_take_a_policy_for_each_team(tmp_path):
    from typer.testing import CliRunner

    from mjgym.cli.app import app

    scripted = "mjgym.tasks.locomotion.soccer.scripted:team"
    for envs in (1, 2):
        out = tmp_path / f"match{envs}.png"
        command = ["record", "soccer/boxhead-1v1-v0", "--policy", f"{scripted},scripted"]
        command += ["--set", "observation=dict", "--steps", "2", "--num-envs", str(envs)]
        done = CliRunner().invoke(app, [*command, "--out", str(out)])
        assert done.exit_code == 0, done.output
        assert out.exists()
