"""Training on ids that other packages register with Gymnasium."""

import gymnasium
import numpy as np
import pytest
import torch

from helpers import gymnasium_toys
from helpers.training_runs import SMALL, interrupted, mjgym_, trainer
from mjgym.policies.run_errors import ConfigError
from mjgym_train import evaluation
from mjgym_train.gymnasium_envs import make_envs

pytestmark = pytest.mark.torch

REPLAY = ("learning_starts=40", "batch_size=16", "atoms=21", "updates_per_step=0.25")


@pytest.fixture(scope="module", autouse=True)
def _toys():
    before = dict(gymnasium.registry)
    gymnasium_toys.register()
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


class TestEpisodes:
    def test_are_those_of_gymnasium(self):
        """Seeds, observations, rewards and the time limit are the environment's own."""
        envs = make_envs("Pendulum-v1", 2, max_episode_steps=5)
        seen, _ = envs.reset(seed=[3, 8])
        for i, seed in enumerate((3, 8)):
            alone = gymnasium.make("Pendulum-v1")
            np.testing.assert_array_equal(alone.reset(seed=seed)[0], seen[i])
        rng = np.random.default_rng(0)
        for step in range(5):
            action = rng.uniform(-2, 2, (2, 1)).astype(np.float32)
            seen, reward, terminated, truncated, info = envs.step(action)
            own, own_reward, *_ = alone.step(action[1])
            assert reward[1] == own_reward
            assert truncated.tolist() == [step == 4] * 2
            assert not terminated.any()
        np.testing.assert_array_equal(info["final_obs"][1], own)
        assert not np.array_equal(seen[1], own)  # of the next episode

    @pytest.mark.parametrize("id", ["Pendulum-v1", "toys/Reach-v0"])
    def test_go_on_from_their_state(self, id):
        options = {"observation": "goal"} if "Reach" in id else {}
        envs, other = make_envs(id, 3, **options), make_envs(id, 3, **options)
        envs.reset(seed=1)
        other.reset(seed=2)
        rng = np.random.default_rng(0)
        actions = rng.uniform(-1, 1, (47, 3, 1)).astype(np.float32)
        for action in actions[:27]:
            envs.step(action)
        other.set_state(envs.get_state())
        for action in actions[27:]:
            one, two = envs.step(action), other.step(action)
            for name, a, b in zip("orTt", one[:4], two[:4], strict=True):
                assert str(a) == str(b), name

    def test_a_state_that_is_not_repeated_is_said(self):
        envs = make_envs("toys/Whims-v0", 1)
        envs.reset(seed=0)
        state = envs.get_state()
        state["observation"] = 1 - state["observation"]
        with pytest.warns(UserWarning, match="toys/Whims-v0 does not repeat an episode"):
            envs.set_state(state)

    def test_discrete_actions_are_a_vector(self):
        envs = make_envs("toys/Switches-v0", 2)
        assert envs.choices == 3
        assert envs.single_action_space == gymnasium.spaces.Box(0, 2, (2,), np.float32)
        seen, _ = envs.reset(seed=0)
        wanted = seen.reshape(2, 2, 3).argmax(-1)  # one-hot
        _, reward, *_ = envs.step(wanted.astype(np.float32) + 0.3)
        assert reward.tolist() == [1, 1]


@pytest.mark.slow
class TestRuns:
    @pytest.mark.weekly
    @pytest.mark.parametrize(
        "more", [pytest.param((), marks=pytest.mark.slow), ("action_repeat=3",)]
    )
    def test_are_resumed_bit_for_bit(self, more, tmp_path):
        settings = {"algorithm": "td3", "id": "Pendulum-v1", "at": 120, "steps": 360}
        whole, _ = interrupted(tmp_path, *REPLAY, *more, **settings)
        assert whole.updates > 20
        found = evaluation.evaluate(
            whole.run_folder.policy(), make_envs("Pendulum-v1", 2, max_episode_steps=30), (1, 2)
        )
        assert (found.returns < 0).all()

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        "algorithm",
        ["ppo", "rainbow", "reinforce"],
    )
    def test_discrete_ones_are_resumed_and_act_as_they_learn(self, algorithm, tmp_path):
        more = REPLAY if algorithm in ("dqn", "rainbow") else ("rollout_steps=20",)
        settings = {"id": "CartPole-v1", "at": 80, "steps": 240}
        whole, _ = interrupted(tmp_path, *more, algorithm=algorithm, **settings)
        assert whole.updates
        stack = torch.randn(200, 1, 4)
        index = (whole.agent.mean_action(stack)[:, 0] + 1) / 2
        acted = whole.run_folder.policy()(stack[:, 0].numpy())
        np.testing.assert_array_equal(index.numpy(), acted[:, 0])

    def test_hindsight_relabels_their_goals(self, tmp_path):
        made = trainer(tmp_path, *REPLAY, "her=true", algorithm="td3", id="toys/Reach-v0")
        made.train()
        batch = made.buffer.sample(500)
        observed, achieved, desired = batch.observation[:, 0].T
        assert torch.equal(observed, achieved)
        rewards = batch.rewards[batch.steps == 1, 0]
        near = ((batch.following[:, 0, 1] - desired).abs() <= 0.1)[batch.steps == 1]
        assert torch.equal(rewards == 0, near)
        assert any(m.metric == "evaluation/success" for m in made.run_folder.metrics())

    @pytest.mark.parametrize(
        ("id", "algorithm", "message"),
        [
            (
                "CartPole-v1",
                "td3",
                "has discrete actions, which td3 cannot choose; dqn",
            ),
            ("toys/Lists-v0", "dqn", "toys/Lists-v0 observes Sequence, which has no fixed number"),
            ("toys/Uneven-v0", "dqn", r"acts in MultiDiscrete\(\[2 3\]\)"),
            ("Pendulum-v1", "td3 her=true", "her: Pendulum-v1 has no goals"),
            ("CartPole-v1", "dqn bins=5", "bins: CartPole-v1 has 2 choices"),
            ("Pendulum-v1", "td3 env.gravity=1", "env: .*gravity"),
        ],
    )
    def test_what_cannot_be_learned_is_said(self, id, algorithm, message, tmp_path):
        name, *more = algorithm.split()
        with pytest.raises(ConfigError, match=message):
            trainer(tmp_path, *more, algorithm=name, id=id)


@pytest.mark.slow
class TestCommands:
    @pytest.mark.weekly
    def test_train_and_evaluate(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        settings = [s for s in (*SMALL, *REPLAY) if not s.startswith("env.")]
        said = mjgym_("train", "td3", "Pendulum-v1", *settings, "--steps", 400).output
        assert "runs/td3_Pendulum_0" in said
        assert "episodes  3" in mjgym_("evaluate", "runs/td3_Pendulum_0", "--episodes", 3).output
        mjgym_("train", "td3", "Pendulum-v1", "--resume", "--steps", 480)

    def test_an_id_of_ones_own_needs_trust(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "own_pendulum.py").write_text(
            "import gymnasium\n"
            "from gymnasium.envs.classic_control import PendulumEnv\n"
            "gymnasium.register('OwnPendulum-v0', entry_point=PendulumEnv, max_episode_steps=9)\n"
        )
        settings = [s for s in (*SMALL, *REPLAY) if not s.startswith("env.")]
        mjgym_("train", "td3", "own_pendulum.py:OwnPendulum-v0", *settings, "--steps", 160)
        run = ("evaluate", "runs/td3_OwnPendulum_0", "--episodes", 2)
        assert "names code outside this package" in mjgym_(*run, code=2).stderr
        mjgym_(*run, "--trust")

    def test_an_unknown_id_names_the_nearest(self):
        assert "Did you mean Pendulum-v1" in mjgym_("train", "td3", "Pendulm-v1", code=2).stderr


@pytest.mark.nightly
def test_dqn_balances_the_pole(tmp_path):
    """A random policy keeps it up for 22 steps."""
    made = trainer(
        tmp_path,
        *("num_envs=4", "hidden=[64,64]", "learning_starts=500", "batch_size=64"),
        *("updates_per_step=0.5", "evaluation_episodes=10", "env.max_episode_steps=200"),
        algorithm="dqn",
        id="CartPole-v1",
        steps=8_000,
    )
    assert made.train().score > 100
