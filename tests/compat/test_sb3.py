"""stable-baselines3: single environments, and a batch with the transitions of its DummyVecEnv."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO, SAC, HerReplayBuffer
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from helpers.lanes import lane, mostly_nightly
from mjgym.variation import Uniform
from mjgym_compat import sb3

pytestmark = pytest.mark.torch

N = 3


@pytest.fixture(autouse=True)
def _few_threads():
    torch.set_num_threads(1)


def dummy(id, **kwargs):
    return DummyVecEnv([lambda: gymnasium.make(id, **kwargs)] * N)


def assert_same(one, other):
    """Equal to the bit and of the same kind: numbers, arrays, and dicts and lists of them."""
    if isinstance(other, dict):
        assert set(one) == set(other)
        for name, value in other.items():
            assert_same(one[name], value)
    elif isinstance(other, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert type(one) is type(other)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("id", "kwargs"),
    mostly_nightly(
        [
            ("dmc/walker-walk-v0", {"max_episode_steps": 7}),
            ("dmc/walker-walk-v0", {"max_episode_steps": 7, "observation": "dict"}),
            ("dmc/reacher-easy-v0", {"max_episode_steps": 5, "dtype": "float64"}),
            ("dmc/reacher-easy-v0", {"max_episode_steps": 5, "observation": "goal"}),
            ("dmc/lqr-lqr_2_1-v0", {}),  # terminates
            ("locomotion/ant-run_walls-v0", {"max_episode_steps": 4}),  # a new scene each time
            (
                "dmc/cartpole-swingup-v0",
                {"max_episode_steps": 4, "vary": {"body_mass[cart]": Uniform(0.5, 2.0)}},
            ),
        ],
        quick=3,
    ),
    ids=["flat", "dict", "float64", "goal", "termination", "scenes", "variation"],
)
def test_transitions_are_those_of_dummy_vec_env(id, kwargs):
    ours, theirs = sb3.make_vec(id, N, threads=1, **kwargs).venv, dummy(id, **kwargs)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.seed(3) == theirs.seed(3)
    assert_same(ours.reset(), theirs.reset())
    assert_same(ours.reset_infos, theirs.reset_infos)
    rng = np.random.default_rng(0)
    ends = 0
    for k in range(23):
        if "lqr" in id and k % 7 == 3:  # at rest in the middle, which ends an episode
            for envs in (ours, theirs):
                envs.env_method("set_state", {"qpos": np.zeros(2), "qvel": np.zeros(2)}, indices=1)
            actions = np.zeros((N, 1), np.float32)
        else:
            shape = (N, *ours.action_space.shape)
            actions = rng.uniform(-1, 1, shape).astype(np.float32)
        got, wanted = ours.step(actions), theirs.step(actions)
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
        assert_same(ours.reset_infos, theirs.reset_infos)
        ends += got[2].sum()
        assert all(("terminal_observation" in i) == d for i, d in zip(got[3], got[2], strict=True))
    assert ends >= 3
    assert_same(ours.reset(), theirs.reset())
    ours.close()
    theirs.close()


def test_a_diverged_simulation_is_a_truncation_in_both():
    id, kwargs = "dmc/cartpole-swingup-v0", {}
    ours, theirs = sb3.make_vec(id, N, threads=1, **kwargs).venv, dummy(id, **kwargs)
    for envs in (ours, theirs):
        envs.seed(0)
        envs.reset()
        with np.errstate(all="ignore"):
            envs.env_method("set_state", {"qvel": np.full(2, 9e9)}, indices=[1])
    actions = np.zeros((N, 1), np.float32)
    got, wanted = ours.step(actions), theirs.step(actions)
    for one, other in zip(got, wanted, strict=True):
        assert_same(one, other)
    assert got[3][1]["diverged"]
    assert got[3][1]["TimeLimit.truncated"]
    assert not got[3][0]["diverged"]


def test_wrappers_give_the_same_on_both():
    id, kwargs = "dmc/walker-walk-v0", {"max_episode_steps": 6}

    def wrapped(envs):
        return VecFrameStack(VecNormalize(VecMonitor(envs, info_keywords=("diverged",))), 3)

    ours, theirs = (
        wrapped(sb3.make_vec(id, N, threads=1, **kwargs).venv),
        wrapped(dummy(id, **kwargs)),
    )
    for envs in (ours, theirs):
        envs.seed(0)
    assert_same(ours.reset(), theirs.reset())
    episodes = 0
    for k in range(14):
        actions = np.random.default_rng(k).uniform(-1, 1, (N, 6)).astype(np.float32)
        got, wanted = ours.step(actions), theirs.step(actions)
        for info in (*got[3], *wanted[3]):
            if "episode" in info:
                assert info["episode"].pop("t") >= 0  # a clock's
                episodes += 1
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
    assert episodes == 2 * 2 * N


def test_attributes_and_methods_are_those_of_dummy_vec_env():
    id = "dmc/walker-walk-v0"
    ours, theirs = sb3.make_vec(id, N, threads=1).venv, dummy(id)
    for envs in (ours, theirs):
        envs.seed(0)
        envs.reset()
    for name in ("task", "control_timestep", "action_space", "render_mode"):
        assert ours.get_attr(name) == theirs.get_attr(name)
        assert ours.get_attr(name, [2]) == theirs.get_attr(name, [2])
        assert ours.has_attr(name)
    assert not ours.has_attr("speeed")
    with pytest.raises(AttributeError, match="did you mean"):
        ours.get_attr("contrl_timestep")
    with pytest.raises(AttributeError, match=r"envs\.step"):
        ours.env_method("step", np.zeros(6))
    assert_same(ours.env_method("get_state"), theirs.env_method("get_state"))
    assert_same(
        ours.env_method("observe", indices=[2, 0]), theirs.env_method("observe", indices=[2, 0])
    )
    ours.set_attr("np_random", np.random.default_rng(4), indices=1)
    theirs.envs[1].unwrapped.np_random = np.random.default_rng(4)
    assert_same(ours.reset(), theirs.reset())
    assert ours.env_is_wrapped(Monitor, indices=[0, 1]) == [False, False]
    assert len(ours.env_is_wrapped(Monitor)) == N


@pytest.mark.weekly
@pytest.mark.gl
def test_pictures_stand_side_by_side():
    kwargs = {"render_mode": "rgb_array", "width": 20, "height": 16}
    ours = sb3.make_vec("dmc/walker-walk-v0", N, **kwargs)
    theirs = dummy("dmc/walker-walk-v0", **kwargs)
    for envs in (ours, theirs):
        envs.seed(0)
        envs.reset()
    assert ours.render().shape == (32, 40, 3)
    assert_same(ours.render(), theirs.render())


def test_another_autoreset_mode_is_refused():
    with pytest.raises(ValueError, match="SameStep"):
        sb3.VecEnv(gymnasium.make_vec("dmc/walker-walk-v0", num_envs=2))


def test_episodes_are_monitored_and_written(tmp_path):
    file = tmp_path / "swingup"
    envs = sb3.make_vec(
        "dmc/cartpole-swingup-v0", N, threads=1, max_episode_steps=5, monitor=str(file)
    )
    envs.seed(0)
    envs.reset()
    total = np.zeros(N, np.float32)
    for _ in range(5):
        _, rewards, _, infos = envs.step(np.ones((N, 1), np.float32))
        total += rewards
    envs.close()
    np.testing.assert_allclose([info["episode"]["r"] for info in infos], total, atol=1e-5)
    written = np.loadtxt(tmp_path / "swingup.monitor.csv", delimiter=",", skiprows=2)
    np.testing.assert_allclose(written[:, 0], total, atol=1e-5)
    assert list(written[:, 1]) == [5] * N
    header = (tmp_path / "swingup.monitor.csv").read_text().splitlines()[0]
    assert '"env_id": "dmc/cartpole-swingup-v0"' in header


def test_closing_closes_the_batch():
    envs = sb3.make_vec("dmc/walker-walk-v0", 2, threads=1)
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.reset()


@pytest.mark.weekly
def test_ppo_and_evaluation_run_on_a_batch():
    envs = VecNormalize(sb3.make_vec("dmc/pendulum-swingup-v0", 8, threads=1))
    model = PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=1, seed=0)
    before = [p.clone() for p in model.policy.parameters()]
    model.learn(512)
    assert model.num_timesteps == 512
    changed = zip(before, model.policy.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in changed)
    short = sb3.make_vec("dmc/pendulum-swingup-v0", 4, threads=1, max_episode_steps=20)
    mean, _ = evaluate_policy(model, short, n_eval_episodes=4)
    assert 0 <= mean <= 20


@pytest.mark.slow
def test_multi_input_policy_on_a_dict_with_single_numbers():
    envs = sb3.make_vec("dmc/walker-walk-v0", 4, observation="dict", threads=1)
    assert envs.observation_space["height"].shape == (1,)
    model = SAC("MultiInputPolicy", envs, learning_starts=20, batch_size=16, seed=0)
    model.learn(60)
    assert model.num_timesteps == 60
    single = gymnasium.make("dmc/walker-walk-v0", observation="dict")
    action, _ = model.predict(single.reset(seed=0)[0], deterministic=True)
    assert single.action_space.contains(action)


@pytest.mark.weekly
def test_stable_baselines3_learns_on_a_single_env():
    """A few hundred steps of SAC run, and what comes out is a policy for our spaces."""
    env = gymnasium.make("dmc/pendulum-swingup-v0", max_episode_steps=50)
    model = SAC("MlpPolicy", env, learning_starts=50, batch_size=32, seed=0)
    before = [p.clone() for p in model.actor.parameters()]
    model.learn(200)
    assert model.num_timesteps == 200
    assert any(not torch.equal(a, b) for a, b in zip(before, model.actor.parameters(), strict=True))
    observation, _ = env.reset(seed=0)
    action, _ = model.predict(observation, deterministic=True)
    assert env.action_space.contains(action)


@pytest.mark.weekly
def test_stable_baselines3_on_its_own_vec_env():
    envs = make_vec_env("dmc/walker-walk-v0", n_envs=4, seed=0)
    model = SAC("MlpPolicy", envs, learning_starts=40, batch_size=32, seed=0)
    model.learn(240)
    assert model.num_timesteps == 240
    envs.close()


@pytest.mark.slow
def test_stable_baselines3_accepts_dict_observations():
    env = gymnasium.make("dmc/reacher-easy-v0", observation="dict", max_episode_steps=25)
    check_env(env.unwrapped, warn=False)
    SAC("MultiInputPolicy", env, learning_starts=20, batch_size=16, seed=0).learn(60)


@pytest.mark.parametrize("id", ["dmc/reacher-easy-v0", "dmc/point_mass-easy-v0"])
def test_its_checker_takes_environments_with_goals_for_such(id, capsys):
    check_env(gymnasium.make(id, observation="goal").unwrapped, warn=False)
    assert "GoalEnv" in capsys.readouterr().out
    check_env(gymnasium.make(id).unwrapped, warn=False)
    assert "GoalEnv" not in capsys.readouterr().out


@lane(2, 5)
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_hindsight_replay_relabels_on_a_batch(n):
    envs = sb3.make_vec(
        "dmc/reacher-easy-v0", n, observation="goal", max_episode_steps=8, threads=1
    )
    model = SAC(
        "MultiInputPolicy", envs, replay_buffer_class=HerReplayBuffer, learning_starts=30,
        batch_size=16, seed=0, policy_kwargs={"net_arch": [8]},
    )  # fmt: skip
    model.learn(60)
    batch = model.replay_buffer.sample(400)
    goals = (batch.next_observations[name].numpy() for name in ("achieved_goal", "desired_goal"))
    (wanted,) = envs.env_method("compute_reward", *goals, [{}] * 400, indices=[0])
    np.testing.assert_array_equal(batch.rewards[:, 0].numpy(), wanted)
    assert (wanted == 0).mean() > 0.2


@pytest.mark.gl
@pytest.mark.parametrize(
    ("observation", "policy"),
    mostly_nightly([("pixels", "CnnPolicy"), ("dict+pixels", "MultiInputPolicy")], 5),
)
def test_stacked_pictures_have_their_frames_among_the_channels(observation, policy):
    arguments = {
        "observation": observation,
        "pixels": {"height": 36, "width": 40},
        "frame_stack": 3,
        "max_episode_steps": 5,
    }
    batch = sb3.make_vec("dmc/cartpole-swingup-v0", 2, **arguments)
    plain = gymnasium.make_vec("dmc/cartpole-swingup-v0", 2, autoreset_mode="SameStep", **arguments)

    def pictures(of):
        return of["pixels"] if observation == "dict+pixels" else of

    assert pictures(batch.observation_space).shape == (36, 40, 9)
    batch.seed(0)
    observations, (expected, _) = batch.reset(), plain.reset(seed=[0, 1])
    for _ in range(5):
        for k in range(3):
            shown = pictures(observations)[..., 3 * k : 3 * k + 3]
            np.testing.assert_array_equal(shown, pictures(expected)[:, k])
        action = np.full((2, 1), 0.5, np.float32)
        observations, _, dones, infos = batch.step(action)
        expected, *_, info = plain.step(action)
    assert dones.all()
    last, final = (pictures(of) for of in (infos[1]["terminal_observation"], info["final_obs"][1]))
    np.testing.assert_array_equal(last[..., 6:], final[2])
    PPO(policy, batch, n_steps=4, batch_size=8, n_epochs=1).learn(8)
    batch.close()
    plain.close()


def test_a_batch_without_the_adapter_is_refused_by_sb3():
    """Which is why the guides say `sb3.make_vec`."""
    with pytest.raises(ValueError, match="not a Gymnasium environment"):
        PPO("MlpPolicy", gymnasium.make_vec("dmc/cartpole-swingup-v0", 2))
