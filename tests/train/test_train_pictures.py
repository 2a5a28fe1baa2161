"""Learning from pictures: the shift, the encoder in PyTorch and NumPy, what is kept, updates."""

import itertools

import gymnasium
import numpy as np
import pytest
import torch

from helpers import training_runs
from helpers.lanes import lane
from helpers.stories import Story, samples
from helpers.training_runs import SMALL, interrupted, mjgym_, weights
from mjgym.cli.policy_option import load_policy
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.buffer import Batch, ReplayBuffer
from mjgym_train.learn.pictures import Encoder, random_shift

pytestmark = pytest.mark.torch


def pictures(*shape):
    return torch.randint(256, shape, dtype=torch.uint8)


def transitions(count):
    return Batch(
        observation=pictures(count, 2, 33, 33, 3),
        action=torch.rand(count, 1),
        rewards=torch.rand(count, 1),
        steps=torch.ones(count, dtype=torch.int64),
        following=pictures(count, 2, 33, 33, 3),
        terminated=torch.zeros(count, dtype=torch.bool),
    )


class TestShift:
    def test_moves_each_history_and_repeats_the_edge(self):
        """Every outcome is a crop of the picture with its edge repeated, the same of a history."""
        given, most = pictures(200, 2, 7, 9, 3), 2
        found = random_shift(given, most)
        assert found.dtype == torch.uint8
        assert found.shape == given.shape
        seen = set()
        for one, moved in zip(given.numpy(), found.numpy(), strict=True):
            padded = np.pad(one, ((0, 0), (most, most), (most, most), (0, 0)), mode="edge")
            fits = [
                (top, left)
                for top, left in itertools.product(range(2 * most + 1), repeat=2)
                if np.array_equal(padded[:, top : top + 7, left : left + 9], moved)
            ]
            assert len(fits) == 1
            seen.update(fits)
        assert len(seen) == 25

    def test_all_displacements_are_as_likely(self):
        """A bright pixel in the middle is found everywhere around it, equally often."""
        given = torch.zeros(10_000, 1, 5, 5, 1, dtype=torch.uint8)
        given[:, :, 2, 2] = 1
        counts = random_shift(given, 2).sum((0, 1, 4))
        assert int(counts.sum()) == 10_000
        assert (counts - 400).abs().max() < 5 * 20

    def test_by_nothing_it_changes_nothing(self):
        given = pictures(3, 2, 6, 6, 3)
        assert torch.equal(random_shift(given, 0), given)


class TestReplay:
    @pytest.mark.parametrize("history", [1, 3])
    def test_each_is_stored_once_and_all_that_follows_is_found(self, history):
        """Bytes, against a buffer of vectors of the same numbers, as the ring comes around."""
        shape, size = (2, 1, 3), 40
        settings = {"n_step": 3, "history": history}
        bytes_ = ReplayBuffer(2 * size, 2, shape, 1, **settings)
        again = ReplayBuffer(2 * size, 2, shape, 1, **settings)
        numbers = ReplayBuffer(2 * size, 2, 3, 1, **settings)

        class Both:
            def add(self, observation, following, **step):
                numbers.add(observation=observation, following=following, **step)
                seen, after = (
                    x.byte()[:, None, None].expand(-1, *shape) for x in (observation, following)
                )
                bytes_.add(observation=seen, following=after, **step)

        Story(Both(), 2, 95, np.random.default_rng(0))
        for cut in (False, True):
            if cut:
                bytes_.cut(), numbers.cut()
            again.load_state_dict(bytes_.state_dict())
            for buffer in (bytes_, again):
                found, wanted = samples(900, buffer, numbers)
                for name in ("observation", "following"):
                    one, other = getattr(found, name), getattr(wanted, name).byte()
                    assert torch.equal(one, other[..., None, None, :].expand(one.shape)), name
                assert torch.equal(found.steps, wanted.steps)
        assert bytes_.state_dict()["ends"].shape[0] < size  # of 80 transitions


class TestEncoder:
    @pytest.mark.parametrize("history", [1, 3])
    def test_the_policy_sees_as_the_encoder_does(self, history, tmp_path):
        settings = algorithms.find("td3").Config(hidden=(16,), history=history, features=7)
        agent = algorithms.find("td3")(settings, (33, 40, 3), 2)
        low = np.full(2, -1.0, np.float32)
        agent.policy(low, -low).save(tmp_path / "policy.npz")
        acting = policy.load(tmp_path / "policy.npz")
        seen = [pictures(4, 33, 40, 3) for _ in range(4)]
        for k, now in enumerate(seen):
            stack = torch.stack([seen[max(i, 0)] for i in range(k - history + 1, k + 1)], 1)
            with torch.no_grad():
                action = agent.actor(agent.encode(stack)).numpy()
            np.testing.assert_allclose(acting(now.numpy()), action, atol=1e-5)
        acting.begin()
        whole = acting(seen[0].numpy())
        acting.begin()
        assert np.array_equal(acting(seen[0][2].numpy()), whole[2])  # a row, to the bit

    def test_it_is_trained_by_the_critics_alone(self):
        encoder = Encoder((33, 33, 3), 2, 4, 5)
        assert encoder(pictures(6, 2, 33, 33, 3)).shape == (6, 5)
        settings = algorithms.find("td3").Config(hidden=(8,), history=2, policy_delay=1)
        agent = algorithms.find("td3")(settings, (33, 33, 3), 1)
        trained = {id(p) for p in agent.critic_optimizer.param_groups[0]["params"]}
        assert {id(p) for p in agent.encoder.parameters()} <= trained
        others = {id(p) for p in agent.actor_optimizer.param_groups[0]["params"]}
        assert not others & {id(p) for p in agent.encoder.parameters()}

    @pytest.mark.parametrize("algorithm", ["ddpg", "td3"])
    @pytest.mark.parametrize(
        ("gradient", "by_critics", "by_actor"),
        [
            ("critic", {"encoder"}, set()),
            ("actor", set(), {"encoder"}),
            ("both", {"encoder"}, {"encoder"}),
            ("separate", {"encoder"}, {"own_encoder"}),
        ],
    )
    def test_whose_loss_trains_it(self, algorithm, gradient, by_critics, by_actor):
        """One of the two optimisers moves; an encoder that it does not train stays as it was."""
        cls = algorithms.find(algorithm)
        delay = {"policy_delay": 1} if algorithm == "td3" else {}
        for part, trained in (("critic", by_critics), ("actor", by_actor)):
            settings = cls.Config(hidden=(8,), history=2, encoder_gradient=gradient, **delay)
            agent = cls(settings, (33, 33, 3), 1)
            still = agent.actor_optimizer if part == "critic" else agent.critic_optimizer
            still.param_groups[0].update(lr=0.0, weight_decay=0.0)
            before = {name: x.clone() for name, x in agent.named_parameters()}
            agent.update(agent.preprocess(transitions(6)))
            moved = {k for k, x in agent.named_parameters() if not x.equal(before[k])}
            assert {k.split(".")[0] for k in moved if "encoder" in k} == trained

    def test_an_encoder_of_the_actor_is_that_of_the_policy(self):
        settings = algorithms.find("td3").Config(
            hidden=(8,), history=2, encoder_gradient="separate", policy_delay=1
        )
        agent = algorithms.find("td3")(settings, (33, 33, 3), 1)
        agent.update(agent.preprocess(transitions(6)))
        acting = agent.policy(np.full(1, -1.0), np.full(1, 1.0))
        seen = pictures(4, 2, 33, 33, 3)
        for now in seen.unbind(1):
            action = acting(now.numpy())
        np.testing.assert_allclose(action, agent.mean_action(seen).numpy(), atol=1e-5)

    def test_vectors_have_none(self):
        settings = algorithms.find("td3").Config(encoder_gradient="both")
        with pytest.raises(ConfigError, match="encoder_gradient: vectors have no encoder"):
            algorithms.find("td3")(settings, 5, 1)

    def test_pictures_that_are_too_small_are_refused(self):
        assert Encoder((31, 31, 3), 1, 4, 5)(pictures(1, 1, 31, 31, 3)).shape == (1, 5)
        with pytest.raises(ConfigError, match="at least 31 x 31 pixels, got 30 x 40"):
            Encoder((30, 40, 3), 1, 4, 5)

    def test_on_policy_algorithms_refuse_pictures(self):
        cls = algorithms.find("ppo")
        with pytest.raises(ConfigError, match="ppo learns from vectors"):
            cls(config.read(cls.Config, algorithm="ppo"), (33, 33, 3), 1)


PIXELS = (
    "env.observation=pixels",
    "env.render_quality=fast",
    "env.pixels={width: 32, height: 36}",
    "env.max_episode_steps=12",
    "num_envs=2",
    "history=3",
    "channels=4",
    "learning_starts=16",
    "batch_size=8",
    "updates_per_step=0.25",
    "evaluation_episodes=1",
)


def trainer(folder, *settings, algorithm="td3", **given):
    return training_runs.trainer(folder, *PIXELS, *settings, algorithm=algorithm, **given)


@pytest.mark.gl
class TestRuns:
    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("algorithm", "settings"),
        [
            ("td3", ()),
            ("sac", ()),
            ("td3", ("ensemble=[{}, {history: 1}]", "exploration={parameter: 1}")),
        ],
    )
    def test_trains(self, algorithm, settings, tmp_path):
        made = trainer(tmp_path / "run", *settings, algorithm=algorithm, steps=48)
        before = weights(made)
        assert made.train().updates == 8
        after = weights(made)
        changed = {part for k in before if not before[k].equal(after[k]) for part in k.split(".")}
        assert {"encoder", "actor", "critics"} <= changed
        stored = made.buffer.state_dict()["arrays"]
        assert stored["observation"].dtype == torch.uint8
        assert len(stored["observation"].flatten(1).unique(dim=0)) > 20  # pictures, not a blank

    @lane(0, 3)
    def test_goes_on_as_if_it_had_not_been_stopped(self, tmp_path):
        interrupted(tmp_path, algorithm="td3", steps=48, at=24, make=trainer)

    @lane(1, 3)
    def test_the_commands(self, tmp_path):
        words = [*SMALL, *PIXELS, "--steps", 24, "--out", tmp_path / "run"]
        mjgym_("train", "td3", "cartpole-swingup", *words)
        run = str(tmp_path / "run")
        looks = {"observation": "pixels", "pixels": {"width": 32, "height": 36}}
        env = gymnasium.make("dmc/cartpole-swingup-v0", **looks)
        action = load_policy(run, env)(env.reset(seed=0)[0])
        assert action.shape == (1,)
        env.close()
        film = tmp_path / "film.gif"
        record = ("record", "cartpole-swingup", "--policy", run, "--steps", 4, "--out", film)
        done = mjgym_(*record, "--set", "pixels={'width': 32}", code=2)
        said = " ".join(done.stderr.replace("│", " ").split())
        assert "was trained with 36 x 32 x 3 observed numbers" in said
        mjgym_(*record)  # what the run observes
        assert film.exists()
