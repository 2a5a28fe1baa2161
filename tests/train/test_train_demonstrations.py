"""Learning from demonstrations: what is drawn, losses, policies in use, runs and refusals."""

import json
import shutil

import gymnasium
import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from helpers import demonstrated, training_runs
from helpers.demonstrated import STEPS, Dataset
from helpers.lanes import lane, mostly_nightly
from helpers.training_runs import interrupted, mjgym_
from mjgym import datasets
from mjgym.cli.policy_option import spaces_complaint
from mjgym.datasets import About, DemonstrationError
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError, RunError
from mjgym_train import config, evaluation, metrics
from mjgym_train.learn import algorithms, demonstrations
from mjgym_train.learn.algorithms.bc import NARROWEST
from mjgym_train.learn.algorithms.iql import IQL
from mjgym_train.learn.algorithms.td3_bc import TD3BC
from mjgym_train.learn.collector import Collector
from mjgym_train.learn.demonstrations import Demonstrations
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

SMALL = ("env.max_episode_steps=60", "log_every=100", "batch_size=32", "evaluations=1")
CLONING = (*SMALL, "chunk=3")


@pytest.fixture(scope="module")
def recorded():
    return demonstrated.episodes()


@pytest.fixture
def known(recorded, monkeypatch):
    """Datasets by name, instead of those on the disk."""
    found = {"cart": Dataset(recorded)}

    def load(name):
        if name not in found:
            raise DemonstrationError(f"there is no dataset {name!r}")
        return found[name]

    monkeypatch.setattr(datasets, "load", load)
    return found


def trainer(folder, *settings, algorithm="bc", steps=200, data="cart", **given):
    own = CLONING if algorithm == "bc" else SMALL
    given = {"id": demonstrated.ID, **given}
    return training_runs.trainer(
        folder, *own, *settings, algorithm=algorithm, steps=steps, data=data, **given
    )


def settings_of(algorithm, *settings, **given):
    cls = algorithms.find(algorithm).Config
    given = {"algorithm": algorithm, "id": demonstrated.ID, "data": "cart", "steps": 10, **given}
    return config.read(cls, (), settings, **given)


def collected(made, *settings):
    """Episodes as tensors, for the toy."""
    collector = Collector(settings_of("bc", *settings))
    found = demonstrations.of_episodes(made, collector)
    collector.close()
    return found


class TestDrawing:
    def test_rows_are_the_steps_in_order(self, recorded):
        found = collected(recorded)
        lengths = [len(episode) for episode in recorded]
        assert len(found) == sum(lengths)
        first = np.cumsum([0, *lengths[:-1]])
        assert found.age[first].tolist() == [0] * len(lengths)
        assert found.ended.sum() == len(lengths)
        for k, start in enumerate(first):
            rows = slice(start, start + lengths[k])
            seen = recorded[k].observations
            np.testing.assert_array_equal(found.observation[rows], seen[:-1])
            np.testing.assert_array_equal(found.following[rows], seen[1:])
            np.testing.assert_allclose(found.action[rows], recorded[k].actions, atol=1e-6)

    def test_a_chunk_ends_with_its_episode_and_a_history_begins_with_it(self, recorded):
        """All that is drawn is compared with the episode that it comes from."""
        found = collected(recorded)
        history, chunk = 4, 5
        drawn = found.chunks(300, history, chunk)
        places = {
            seen[t].tobytes(): (k, t)
            for k, seen in enumerate(episode.observations for episode in recorded)
            for t in range(len(seen) - 1)
        }
        short = 0
        for past, action, there in zip(
            drawn.observation.numpy(), drawn.action.numpy(), drawn.there.numpy(), strict=True
        ):
            k, t = places[past[-1].tobytes()]
            seen, acted = recorded[k].observations, recorded[k].actions
            np.testing.assert_array_equal(past, seen[np.maximum(np.arange(t - 3, t + 1), 0)])
            left = min(chunk, len(acted) - t)
            assert there.tolist() == [True] * left + [False] * (chunk - left)
            np.testing.assert_allclose(action[:left], acted[t : t + left], atol=1e-6)
            short += left < chunk
        assert short

    def test_entries_of_a_dict_are_put_in_order(self, recorded):
        def parts(seen):
            names = ("goal", "position", "velocity")  # as HDF5 sorts them
            return {name: seen[:, [("position", "velocity", "goal").index(name)]] for name in names}

        apart = [
            demonstrated.replace(episode, observations=parts(episode.observations))
            for episode in recorded
        ]
        assert collected(apart).digest == collected(recorded).digest

    def test_sparse_rewards_end_with_the_first_success(self, recorded):
        found = collected(recorded).sparse()
        assert found.reward.sum() == len(recorded)
        assert torch.equal(found.reward.bool(), found.terminated)
        assert torch.equal(found.ended, found.terminated)
        assert len(found) == sum(int(e.successes.argmax()) + 1 for e in recorded)

    def test_a_failure_stays_whole_without_rewards(self, recorded):
        failed = demonstrated.replace(recorded[1], successes=np.zeros(len(recorded[1]), dtype=bool))
        found = collected([recorded[0], failed, recorded[2]]).sparse()
        first = int(recorded[0].successes.argmax()) + 1
        own = slice(first, first + len(failed))
        assert not found.reward[own].any()
        assert not found.terminated[own].any()
        assert found.age[own].tolist() == list(range(len(failed)))
        assert found.reward.sum() == 2

    def test_a_buffer_of_them_gives_the_returns(self, recorded):
        found = collected(recorded)
        buffer = found.replay(n_step=2, history=1)
        assert len(buffer) == len(found)
        batch = buffer.sample(200)
        rows = {row.numpy().tobytes(): k for k, row in enumerate(found.observation)}
        for seen, rewards, steps in zip(batch.observation, batch.rewards, batch.steps, strict=True):
            k = rows[seen[0].numpy().tobytes()]
            left = 1 if found.ended[k] else 2
            assert int(steps) == left
            wanted = [float(found.reward[k]), float(found.reward[k + 1]) if left == 2 else 0.0]
            assert rewards.tolist() == wanted

    def test_extremes_of_returns(self):
        zeros = torch.zeros(4)
        made = Demonstrations(
            *(zeros,) * 3,
            reward=torch.tensor([1.0, 2.0, 3.0, -1.0]),
            success=zeros,
            terminated=zeros,
            ended=zeros,
            age=torch.tensor([0, 1, 0, 1]),
        )
        found = made.returns(0.5)
        assert vars(found) == {
            "lowest_reward": -1.0,
            "highest_reward": 3.0,
            "lowest_return": 0.0,
            "highest_return": 3.0,
        }


class TestLoss:
    @staticmethod
    def agent(*settings):
        return algorithms.find("bc")(settings_of("bc", "chunk=2", *settings), 3, 2)

    @staticmethod
    def chunks(count=6):
        there = torch.tensor([[True, True], [True, False]]).repeat(count // 2, 1)
        return demonstrations.Chunks(
            torch.randn(count, 1, 3), torch.rand(count, 2, 2) * 2 - 1, there
        )

    @pytest.mark.slow
    def test_deterministic_is_the_mean_distance(self):
        agent, drawn = self.agent("output=deterministic"), self.chunks()
        outputs = torch.randn(6, agent.means)
        plan = torch.tanh(outputs).view(6, 2, 2)
        kept = drawn.there[..., None].expand_as(plan)
        wanted = (plan - drawn.action).abs()[kept].mean()
        torch.testing.assert_close(agent.loss(outputs, drawn), wanted)

    def test_densities_are_those_of_a_mixture(self):
        """Against PyTorch's own distributions, of whole chunks."""
        agent, drawn = self.agent("output=mixture", "modes=3"), self.chunks()
        there = torch.ones(6, 2, dtype=torch.bool)
        drawn = demonstrations.Chunks(drawn.observation, drawn.action, there)
        outputs = torch.randn(6, 12 + 3 + 12)
        mean = torch.tanh(outputs[:, :12]).view(6, 3, 4)
        deviation = torch.nn.functional.softplus(outputs[:, 15:]).view(6, 3, 4) + NARROWEST
        mixture = MixtureSameFamily(
            Categorical(logits=outputs[:, 12:15]), Independent(Normal(mean, deviation), 1)
        )
        wanted = -mixture.log_prob(drawn.action.flatten(1)).sum() / 24
        torch.testing.assert_close(agent.loss(outputs, drawn), wanted)

    def test_what_is_behind_the_end_does_not_count(self):
        for output in ("deterministic", "gaussian", "mixture"):
            agent, drawn = self.agent(f"output={output}"), self.chunks()
            outputs = torch.randn(6, agent.body[-1].out_features)
            other = torch.where(drawn.there[..., None], drawn.action, torch.rand(6, 2, 2))
            changed = demonstrations.Chunks(drawn.observation, other, drawn.there)
            assert not torch.equal(other, drawn.action)
            torch.testing.assert_close(agent.loss(outputs, drawn), agent.loss(outputs, changed))

    def test_actions_are_scaled_to_their_range_in_the_data(self):
        agent = self.agent()
        action = torch.stack([torch.linspace(-0.2, 0.4, 7), torch.full((7,), 0.3)], 1)
        rows = {name: torch.zeros(7) for name in Demonstrations.__dataclass_fields__}
        agent.learn_from(Demonstrations(**{**rows, "action": action}))
        scaled = agent.normalized(action)
        torch.testing.assert_close(scaled[:, 0], torch.linspace(-1, 1, 7))
        assert not scaled[:, 1].any()
        made = agent.policy(np.array([-2.0, 0.0]), np.array([2.0, 10.0]))
        np.testing.assert_allclose(made.low, [-0.4, 6.5], rtol=1e-6)
        np.testing.assert_allclose(made.high, [0.8, 6.5], rtol=1e-6)


NETWORKS = {
    "plain": ("chunk=1",),
    "chunks": ("chunk=4", "ensembling=0.3"),
    "history": ("chunk=2", "history=3"),
    "gaussian": ("output=gaussian", "chunk=2"),
    "mixture": ("output=mixture", "modes=3", "chunk=3"),
    "gru": ("network=gru", "history=5", "hidden=[24]", "output=mixture"),
}


class TestPolicy:
    @pytest.mark.parametrize("kind", NETWORKS)
    def test_numpy_acts_as_pytorch(self, kind, tmp_path):
        """Plans are the same; a file gives the same policy, one row the same as many."""
        agent = algorithms.find("bc")(settings_of("bc", *NETWORKS[kind]), 3, 2)
        agent.normalizer.update(torch.randn(50, 3) * 3 + 1)
        low, high = -np.ones(2, np.float32), np.ones(2, np.float32)
        made = agent.policy(low, high)
        made.save(tmp_path / "policy.npz")
        loaded = policy.load(tmp_path / "policy.npz")
        single = policy.load(tmp_path / "policy.npz")
        seen = np.random.default_rng(0).normal(size=(7, 5, 3)).astype(np.float32)
        history = agent.config.history
        for t, now in enumerate(seen):
            rows = np.maximum(np.arange(t - history + 1, t + 1), 0)
            past = torch.from_numpy(seen[rows].swapaxes(0, 1).copy())
            wanted = agent.mean_action(past).numpy()
            np.testing.assert_allclose(made.unscaled(made.encode(now)), wanted, atol=2e-6)
        made.begin()
        for now in seen:
            action = made(now)
            np.testing.assert_array_equal(action, loaded(now))
            np.testing.assert_array_equal(action[2], single(now[2]))
            assert action.shape == (5, 2)

    def test_ensembling_is_the_weighted_mean_of_what_was_meant(self):
        """Of plans for t made at t - 2, t - 1 and t; the oldest weighs the most."""
        made = policy.Policy(
            [{"weight": np.zeros((6, 1), np.float32), "bias": np.zeros(6, np.float32)}],
            *np.zeros((2, 1)), *np.array([[-1.0, -1.0], [1.0, 1.0]]), chunk=3, ensembling=0.5
        )  # fmt: skip
        plans = np.random.default_rng(1).normal(size=(6, 4, 3, 2))
        for _ in range(2):  # the second time after `begin`
            made.begin()
            for t, plan in enumerate(plans):
                ages = range(min(t, 2), -1, -1)
                meant = [plans[t - age][:, age] for age in ages]
                w = np.exp(-0.5 * np.arange(len(meant)))
                wanted = sum(a * b for a, b in zip(w / w.sum(), meant, strict=True))
                np.testing.assert_allclose(made.ensembled(plan.reshape(4, 6)), wanted, atol=1e-6)

    def test_pictures_of_two_cameras(self, tmp_path):
        agent = algorithms.find("bc")(settings_of("bc", "chunk=2", "history=2"), (40, 40, 6), 2)
        agent.policy(-np.ones(2), np.ones(2)).save(tmp_path / "policy.npz")
        made = policy.load(tmp_path / "policy.npz")
        rng = np.random.default_rng(0)
        seen = rng.integers(256, size=(2, 3, 40, 40, 6), dtype=np.uint8)
        made({"a": seen[0, ..., :3], "b": seen[0, ..., 3:]})
        inputs = made.encode(seen[1].astype(np.float32))
        wanted = agent.mean_action(torch.from_numpy(seen.swapaxes(0, 1).copy()))
        np.testing.assert_allclose(made.unscaled(inputs), wanted, atol=1e-5)

    def test_pictures_of_two_cameras_fit_one_environment_and_many(self):
        agent = algorithms.find("bc")(settings_of("bc"), (36, 32, 6), 1)
        made = agent.policy(-np.ones(1), np.ones(1))
        pixels = {"camera": ["fixed", "lookatcart"], "height": 36, "width": 32}
        options = {"observation": "pixels", "pixels": pixels}
        single = gymnasium.make("dmc/cartpole-swingup-v0", **options)
        batch = gymnasium.make_vec("dmc/cartpole-swingup-v0", 2, threads=1, **options)
        assert [spaces_complaint("run", made, envs) for envs in (single, batch)] == ["", ""]
        single.close()
        batch.close()

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("chunk", 0, "chunk must be a whole number from 1 to 10,000, not 0"),
            ("modes", 2, "not"),
            ("memory/weight_hh_l0", np.zeros((9, 3)), "memory"),
        ],
    )
    def test_a_damaged_file_is_refused(self, name, value, said, tmp_path):
        agent = algorithms.find("bc")(settings_of("bc", *NETWORKS["gru"]), 3, 2)
        arrays = agent.policy(-np.ones(2), np.ones(2)).arrays()
        np.savez(tmp_path / "policy.npz", **{**arrays, name: value})
        with pytest.raises(policy.PolicyError, match=said):
            policy.load(tmp_path / "policy.npz")

    @pytest.mark.slow
    def test_an_episode_does_not_depend_on_the_one_before(self, recorded, known, tmp_path):
        made = trainer(tmp_path / "run", "history=2", steps=20)
        made.train()
        envs = gymnasium.make_vec(demonstrated.ID, 2, threads=1)
        found = made.agent.policy(made.low, made.high)
        once = evaluation.evaluate(found, envs, range(4)).returns
        again = evaluation.evaluate(found, envs, [2, 3, 0, 1]).returns
        envs.close()
        np.testing.assert_array_equal(once, again[[2, 3, 0, 1]])


@pytest.mark.slow
class TestRun:
    @lane(3, 5)
    @pytest.mark.parametrize(
        "settings",
        [(), ("network=gru", "history=6", "hidden=[32]", "output=mixture", "modes=2")],
        ids=["deterministic", "mixture of a gru"],
    )
    def test_it_learns_to_succeed(self, settings, known, tmp_path):
        own = ("hidden=[64,64]", "evaluation_episodes=20", "learning_rate=0.003", "batch_size=128")
        made = trainer(tmp_path / "run", *own, *settings, steps=600)
        made.train()
        score = Run(tmp_path / "run").metrics()
        (found,) = [m.value for m in score if m.metric == metrics.SUCCESS]
        assert found >= 0.9

    @pytest.mark.weekly
    @pytest.mark.parametrize("algorithm", ["bc", "iql"])
    def test_resumed_is_as_if_never_stopped(self, algorithm, known, tmp_path):
        interrupted(tmp_path, algorithm=algorithm, at=80, make=trainer)
        files = [Run(tmp_path / name).policy_file.read_bytes() for name in ("whole", "parts")]
        assert files[0] == files[1]

    def test_steps_are_updates(self, known, tmp_path):
        made = trainer(tmp_path / "run", steps=50)
        made.train()
        assert (made.env_step, made.updates) == (50, 50)

    def test_the_first_demonstrations_alone(self, recorded, known, tmp_path):
        made = trainer(tmp_path / "run", "demonstrations=3")
        assert len(made.agent.demonstrations) == sum(map(len, recorded[:3]))
        made.close()

    @pytest.mark.parametrize(
        ("algorithm", "setting"),
        mostly_nightly([("td3_bc", "alpha=0.1"), ("iql", "expectile=0.7")], 2),
    )
    def test_offline_learning_succeeds(self, algorithm, setting, known, tmp_path):
        own = ("hidden=[64,64]", "evaluation_episodes=20", "learning_rate=0.003", "batch_size=128")
        made = trainer(tmp_path / "run", *own, setting, algorithm=algorithm, steps=600)
        made.train()
        score = Run(tmp_path / "run").metrics()
        (found,) = [m.value for m in score if m.metric == metrics.SUCCESS]
        assert found >= 0.5


class TestUpdates:
    @staticmethod
    def batch(found, size=64):
        return found.replay(n_step=1, history=1).sample(size)

    def test_iql_values_are_expectiles_of_recorded_actions(self, recorded):
        """Where tau is 1/2 and returns are 1, the value is the mean of what was recorded."""
        agent = IQL(settings_of("iql", "hidden=[16]", "learning_rate=0.01"), 3, 1)
        batch = agent.preprocess(self.batch(collected(recorded).sparse()))
        with torch.no_grad():
            recorded_value = agent.target_critics(batch.observation, batch.action).min(0).values
        before = agent.value(batch.observation.flatten(1))[:, 0]
        agent.update(batch)
        after = agent.value(batch.observation.flatten(1))[:, 0]
        gap = recorded_value[:, 0, 0]
        assert (gap - after).square().mean() < (gap - before).square().mean()

    def test_td3_bc_without_values_is_cloning(self, recorded):
        agent = TD3BC(settings_of("td3_bc", "hidden=[16]", "alpha=1e-9"), 3, 1)
        batch = agent.preprocess(self.batch(collected(recorded)))
        action = agent.actor(batch.observation)
        value = agent.acting_value(agent.critics(batch.observation, action, count=1))
        wanted = (action - batch.action).square().mean()
        torch.testing.assert_close(agent.actor_loss(batch, action, value), wanted)


@pytest.mark.slow
class TestBesideTheBuffer:
    SETTINGS = ("learning_starts=40", "num_envs=4", "log_every=80", "updates_per_step=0.1")

    def test_half_of_each_batch_is_recorded(self, recorded, known, tmp_path):
        made = trainer(tmp_path / "run", *self.SETTINGS, "batch_size=20", algorithm="sac")
        for _ in range(20):
            made.step()
        rows = {row.tobytes() for episode in recorded for row in episode.observations}
        for batch in made.batches(3):
            seen = [row.numpy().tobytes() in rows for row in batch.observation[:, 0]]
            assert seen == [False] * 10 + [True] * 10
        made.close()

    @pytest.mark.parametrize("share", [0.0, 1.0])
    def test_shares_at_the_ends(self, share, known, tmp_path):
        made = trainer(tmp_path / "run", *self.SETTINGS, f"data_share={share}", algorithm="td3")
        for _ in range(20):
            made.step()
        assert [len(batch.action) for batch in made.batches(2)] == [32, 32]
        made.close()

    @pytest.mark.weekly
    def test_resumed_is_as_if_never_stopped(self, known, tmp_path):
        own = {"algorithm": "sac", "steps": 240}
        interrupted(tmp_path, *self.SETTINGS, **own, at=120, make=trainer)


@pytest.mark.slow
class TestReplayOfARun:
    """`--data RUN`: the replay buffer in its checkpoint."""

    ID = "dmc/cartpole-balance-v0"
    WORDS = ("batch_size=16", "hidden=[8]", "evaluations=1")

    @pytest.fixture
    def run(self, tmp_path):
        """Twelve steps of each sub-environment are left of sixty, in episodes of thirty."""
        settings = (*training_runs.SMALL_REPLAY, "buffer_size=48", "stagger=true", "critic=mean")
        training_runs.trainer(tmp_path / "run", *settings, algorithm="td3").train()
        return tmp_path / "run"

    def offline(self, folder, run, *settings, algorithm="iql"):
        return training_runs.trainer(
            folder, *self.WORDS, *settings, algorithm=algorithm, steps=20, data=str(run)
        )

    def test_its_steps_in_the_order_of_time(self, run, tmp_path):
        made = self.offline(tmp_path / "iql", run, "rewards=recorded")
        buffer = torch.load(run / "checkpoint.pt", weights_only=True)["buffer"]
        found = made.buffer.state_dict()["arrays"]
        assert len(made.buffer) == 48
        oldest = 60 % 12
        for env in range(4):
            for k in range(12):
                row, there = env * 12 + k, (oldest + k) % 12 * 4 + env
                for name in ("observation", "action", "reward", "following", "terminated"):
                    assert found[name][row].equal(buffer["arrays"][name][there]), name
            rows = slice(env * 12, env * 12 + 12)
            ends = [
                buffer["arrays"]["ended"][(oldest + k) % 12 * 4 + env].item() for k in range(11)
            ]
            assert found["ended"][rows].tolist() == [*ends, True]
            ages = found["age"][rows].tolist()
            assert ages[0] == 0
            assert all(
                b == (0 if end else a + 1) for a, b, end in zip(ages, ages[1:], ends, strict=False)
            )
        assert made.train().updates == 20

    @pytest.mark.weekly
    @pytest.mark.parametrize("algorithm", ["td3_bc", "bc", "sac"])
    def test_others_learn_from_it_too(self, algorithm, run, tmp_path):
        own = {"td3_bc": ("rewards=recorded",), "sac": ("learning_starts=4",), "bc": ("chunk=2",)}
        assert (
            self.offline(tmp_path / "x", run, *own[algorithm], algorithm=algorithm).train().updates
        )

    def test_what_does_not_fit_is_named(self, run, tmp_path):
        def refused(*settings, **given):
            with pytest.raises(ConfigError) as caught:
                self.offline(tmp_path / "iql", run, *settings, **given)
            shutil.rmtree(tmp_path / "iql")
            return str(caught.value)

        assert "learn from the task's own reward with rewards=recorded" in refused()
        assert "recorded with" in refused("rewards=recorded", "env.swingup=true")
        assert "is taken whole" in refused("rewards=recorded", "demonstrations=3")
        settings = (*training_runs.SMALL_REPLAY, "keep_buffer=false")
        training_runs.trainer(tmp_path / "none", *settings, algorithm="td3", steps=80).train()
        run = tmp_path / "none"
        assert "has no replay buffer (keep_buffer=true)" in refused("rewards=recorded")


class TestRefusals:
    """A sentence says what differs, and no folder is made."""

    def refused(self, tmp_path, *words, algorithm="bc"):
        folder = tmp_path / "run"
        done = mjgym_(
            "train", algorithm, demonstrated.ID, "tensorboard=false", *words, "--steps", 20,
            "--out", folder, code=2,
        )  # fmt: skip
        assert not folder.exists()
        return " ".join(done.stderr.replace("│", " ").split())

    @pytest.mark.parametrize("algorithm", ["bc", "td3_bc", "iql"])
    def test_no_dataset_is_named(self, algorithm, known, tmp_path):
        assert "name it with --data" in self.refused(tmp_path, algorithm=algorithm)

    def test_there_is_no_such_dataset(self, known, tmp_path):
        assert "there is no dataset 'card'" in self.refused(tmp_path, "--data", "card")

    def test_an_algorithm_that_takes_none(self, known, tmp_path):
        said = self.refused(tmp_path, "--data", "cart", algorithm="ppo")
        assert "ppo learns from its own steps alone" in said

    def test_other_id(self, recorded, known, tmp_path):
        known["cart"] = Dataset(recorded, About("dmc/cartpole-swingup-v0"))
        said = self.refused(tmp_path, "--data", "cart")
        assert f"it is of dmc/cartpole-swingup-v0, not of {demonstrated.ID}" in said

    @pytest.mark.parametrize(
        ("kwargs", "words", "there", "here"),
        [
            ({"farthest": 0.5}, (), "farthest=0.5", "here it is 1.0"),
            ({}, ("env.farthest=0.5",), "farthest=1.0", "here it is 0.5"),
        ],
        ids=["recorded", "given"],
    )
    def test_other_arguments(self, kwargs, words, there, here, recorded, known, tmp_path):
        known["cart"] = Dataset(recorded, About(demonstrated.ID, kwargs))
        said = self.refused(tmp_path, "--data", "cart", *words)
        assert f"it was recorded with {there}, {here}" in said

    def test_equal_arguments_however_they_are_said(self, recorded, known, tmp_path):
        about = About(demonstrated.ID, {"farthest": 1.0, "max_episode_steps": 7})
        known["cart"] = Dataset(recorded, about)
        trainer(tmp_path / "run").close()

    @pytest.mark.parametrize(
        ("column", "change", "words"),
        [
            ("observations", lambda x: x[:, :2], "observes 2 numbers, the task here 3 numbers"),
            (
                "observations",
                lambda x: np.zeros((len(x), 8, 9, 3), np.uint8),
                "observes pictures of 8 x 9 x 3, the task here 3 numbers",
            ),
            ("observations", lambda x: {"speed": x[:, :1]}, "observes entries speed (1,)"),
            ("observations", lambda x: x * np.nan, "has observations that are not finite"),
            ("actions", lambda x: x.repeat(2, 1), "has actions of 2 numbers, the task here of 1"),
            ("actions", lambda x: x * np.nan, "has actions that are not finite"),
        ],
        ids=["fewer", "pictures", "entries", "not finite", "more actions", "no finite actions"],
    )
    def test_other_numbers(self, column, change, words, recorded, known, tmp_path):
        changed = {column: change(getattr(recorded[1], column))}
        known["cart"] = Dataset(recorded).changed(**changed)
        assert f"episode 1 {words}" in self.refused(tmp_path, "--data", "cart")

    def test_no_episodes_or_too_few(self, recorded, known, tmp_path):
        known["cart"] = Dataset([])
        assert "it has no episodes" in self.refused(tmp_path, "--data", "cart")
        known["cart"] = Dataset(recorded)
        said = self.refused(tmp_path, "--data", "cart", "demonstrations=21")
        assert "it has 20 episodes, not 21" in said

    def test_damaged_episodes(self, recorded, known, tmp_path):
        known["cart"] = Dataset(recorded[:10])
        known["cart"].note = "10 of 20 episodes are damaged"
        said = self.refused(tmp_path, "--data", "cart")
        assert "10 of 20 episodes are damaged; to learn from those that are left:" in said
        said = self.refused(tmp_path, "--data", "cart", "demonstrations=20")
        assert "it has 10 episodes, not 20; 10 of 20 episodes are damaged" in said
        assert trainer(tmp_path / "run", "demonstrations=10").agent is not None

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("output=mixture", "modes=1"), "modes: must be at least 2"),
            (("chunk=0",), "chunk: must be at least 1"),
            (("output=mixed",), "output must be"),
        ],
        ids=str,
    )
    def test_wrong_settings(self, words, said, known, tmp_path):
        assert said in self.refused(tmp_path, "--data", "cart", *words)

    @pytest.mark.parametrize("algorithm", mostly_nightly(["bc", "sac"], quick=2))
    def test_a_dataset_that_has_changed_is_not_gone_on_with(
        self, algorithm, recorded, known, tmp_path
    ):
        own = TestBesideTheBuffer.SETTINGS if algorithm == "sac" else ()
        made = trainer(tmp_path / "run", *own, algorithm=algorithm, steps=80)
        made.train()
        kept = {p: p.read_bytes() for p in (tmp_path / "run").iterdir() if p.is_file()}
        known["cart"] = Dataset(recorded).changed(actions=-recorded[1].actions)
        with pytest.raises(RunError, match="cart is not the one that the run began with"):
            trainer(tmp_path / "run", *own, algorithm=algorithm, steps=160, resume=True)
        assert {p: p.read_bytes() for p in (tmp_path / "run").iterdir() if p.is_file()} == kept

    def test_gru_of_pictures(self):
        with pytest.raises(ConfigError, match="gru sees vectors"):
            algorithms.find("bc")(settings_of("bc", "network=gru"), (40, 40, 3), 2)


@pytest.mark.slow
class TestCommands:
    def test_train_then_evaluate(self, known, tmp_path):
        folder = tmp_path / "run"
        small = [*training_runs.SMALL, *CLONING, "num_envs=1"]
        words = ["--data", "cart", "--steps", 50, "--out", folder]
        mjgym_("train", "bc", demonstrated.ID, *small, *words)
        done = mjgym_("evaluate", folder, "--episodes", 3, "--trust")
        assert "success" in done.stdout
        assert f"{STEPS}" in (folder / "config.yaml").read_text()

    def test_train_from_a_file(self, recorded, tmp_path):
        """Written and read by h5py, it is learned from as what is in memory."""
        pytest.importorskip("h5py", reason='needs pip install -e ".[robomimic]"')
        env = gymnasium.make(demonstrated.ID)
        writer = datasets.create(str(tmp_path / "cart.hdf5"), env)
        for episode in recorded:
            writer.add(episode)
        writer.close()
        env.close()
        folder = tmp_path / "run"
        small = [*training_runs.SMALL, *CLONING, "num_envs=1"]
        words = ["--data", tmp_path / "cart.hdf5", "--steps", 20, "--out", folder]
        mjgym_("train", "bc", demonstrated.ID, *small, *words)
        about = json.loads((folder / "fingerprint.json").read_text())["data"]
        assert about["digest"] == collected(recorded).digest
