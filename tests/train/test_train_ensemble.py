"""Ensembles on one buffer: who acts, what each learns from, what they do together."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
import torch

from helpers.lanes import lane, mostly_nightly
from helpers.stories import Story
from helpers.training_runs import ID, SMALL_REPLAY, interrupted, mjgym_, trainer
from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config, evaluation, metrics
from mjgym_train.learn import algorithms, cluster, critics
from mjgym_train.learn.algorithms import members
from mjgym_train.learn.algorithms.ensemble import Ensemble
from mjgym_train.learn.algorithms.td3 import TD3
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

SIZE, ACTIONS = 3, 2
LOW, HIGH = np.array([-1.0, 0.0], np.float32), np.array([1.0, 5.0], np.float32)


def made(*settings, algorithm="td3"):
    cls = algorithms.find(algorithm)
    plain = ("average_rate=null", "exploration={gaussian: 1}") * (algorithm == "td3")
    read = config.read(
        cls.Config, (), ["hidden=[8]", "atoms=5", "heads=3", "num_envs=6", *plain, *settings]
    )
    made = Ensemble(cls, read, SIZE, ACTIONS) if read.ensemble else cls(read, SIZE, ACTIONS)
    return made, read


def drawn(read, algorithm="td3"):
    """Arguments of the buffer that a run has."""
    made = members.for_config(read, algorithms.find(algorithm))
    longest, *shorter = sorted({own.config.n_step for own in made}, reverse=True)
    history = max(own.config.history for own in made)
    return {"n_step": longest, "shorter": shorter, "history": history}


def batch_of(read, rows=8, algorithm="td3"):
    """Transitions from episodes in as many sub-environments as the run has."""
    buffer = ReplayBuffer(600, read.num_envs, SIZE, 1, **drawn(read, algorithm))
    Story(buffer, read.num_envs, 40, np.random.default_rng(0))
    found = buffer.sample(rows)
    action = found.action.tanh().repeat(1, ACTIONS)
    shorter = tuple(dataclasses.replace(one, action=action) for one in found.shorter)
    return dataclasses.replace(found, action=action, shorter=shorter)


def in_histories(batch):
    """A batch of inputs of networks, (B, history, SIZE) again."""
    apart = {
        name: getattr(batch, name).unflatten(1, (-1, SIZE)) for name in ("observation", "following")
    }
    return dataclasses.replace(batch, **apart)


@torch.no_grad()
def varied(agent):
    """The agents far from their start, where actors all act alike and critics expect the same."""
    for own in agent.members:
        for body in (own.actor_body(), *own.critics.bodies):
            body[-1].weight.add_(torch.randn_like(body[-1].weight))
    agent.normalizer.update(2 * torch.randn(50, SIZE) + 1)


@torch.no_grad()
def proposals(agent, stack):
    """Each agent's proposals, (n, k, ACTIONS), and the mean value of all critics of some."""
    seen = [own.normalizer(stack[:, -own.config.history :]) for own in agent.members]
    pairs = list(zip(agent.members, seen, strict=True))

    @torch.no_grad()
    def values(candidates):
        totals = [
            sum(own.acting_value(own.critics(x, one)).mean(0) for own, x in pairs)
            for one in candidates.unbind(1)
        ]
        return torch.stack(totals, 1) / len(pairs)

    return torch.stack([own.actor(x) for own, x in pairs], 1), values


class TestMembers:
    def test_each_has_its_settings_and_its_share_of_the_slots(self):
        agent, read = made(
            "num_envs=7", "ensemble=[{history: 1}, {history: 4, critic: mean}, {}]", "discount=0.9"
        )
        assert isinstance(agent, Ensemble)
        settings = [own.config for own in agent.members]
        assert [own.history for own in settings] == [1, 4, 1]
        assert [own.critic for own in settings] == ["categorical", "mean", "categorical"]
        assert [own.num_envs for own in settings] == [3, 2, 2]
        assert {own.discount for own in settings} == {0.9}
        assert agent.names == ["history=1", "history=4,critic=mean", "#2"]
        assert drawn(read)["history"] == 4

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ("ensemble=[{historie: 1}]", "ensemble[0]: there is no setting 'historie'; did you"),
            ("ensemble=[{}, {history: 0}]", "ensemble[1]: history: must be at least 1"),
            ("ensemble=[{}, {history: two}]", "ensemble[1]: history must be int"),
            ("ensemble=[{batch_size: 2}]", "ensemble: batch_size is the same for all agents"),
            ("ensemble=[{seed: 2}]", "ensemble: seed is the same for all agents"),
            ("ensemble=[{data_share: 0.2}]", "ensemble: data_share is the same for all agents"),
            ("ensemble=[{}, {n_step: 0}]", "ensemble[1]: n_step: must be at least 1"),
            ("ensemble=[{}, {algorithm: sak}]", "ensemble[1]: algorithm: there is no 'sak'; did"),
            ("ensemble=[{algorithm: ppo}]", "ensemble[0]: ppo does not learn from a buffer that"),
            ("ensemble=[{algorithm: iql}]", "ensemble[0]: iql does not learn from a buffer that"),
            (
                "ensemble=[{algorithm: sac, noise_min: 0}]",
                "ensemble[0]: there is no setting 'noise_min'",
            ),
            ("ensemble=3", "ensemble must be"),
            ("ensemble=[{}, {}, {}, {}, {}, {}, {}, {}]", "8 agents need as many"),
        ],
    )
    def test_mistakes_are_named(self, settings, message):
        with pytest.raises(ConfigError) as caught:
            made(settings)
        assert message in str(caught.value)

    def test_a_critic_that_values_otherwise_is_refused(self):
        with pytest.raises(ConfigError, match="Own has a value of its own"):
            made("ensemble=[{}, {}]", f"critic={__name__}:Own")


class Own(critics.Mean):
    """A critic with a value that the package does not know."""

    def value(self, outputs):
        return outputs[..., 0].square()


class TestActing:
    def test_each_slot_is_its_agents(self):
        """Brute force: the agent of the slot acts, with a history of its length."""
        agent, _ = made("ensemble=[{history: 1}, {history: 3}]", "exploration={none: 1}")
        agent.normalizer.update(torch.randn(50, SIZE))
        stack = torch.randn(6, 3, SIZE)
        action = agent.act(stack)
        for slot in range(6):
            own = agent.members[slot % 2]
            seen = own.normalizer(stack[slot : slot + 1, -own.config.history :])
            with torch.no_grad():
                torch.testing.assert_close(action[slot], own.actor(seen)[0])

    def test_new_episodes_draw_the_noise_of_their_agents(self):
        agent, _ = made("ensemble=[{}, {noise_min: 0.3}]")
        agent.act(torch.randn(6, 1, SIZE))
        before = [own.exploration.scales.clone() for own in agent.members]
        agent.begin(torch.tensor([True, False, False, False, False, True]))
        agent.act(torch.randn(6, 1, SIZE))
        changed = [
            (own.exploration.scales != old)[:, 0].tolist()
            for own, old in zip(agent.members, before, strict=True)
        ]
        assert changed == [[True, False, False], [False, False, True]]

    def test_a_schedule_of_noise_takes_the_steps_of_the_whole_run(self):
        settings = ("noise_schedule=linear", "noise_steps=60", "noise_final=0.5")
        agent, _ = made("num_envs=6", "ensemble=[{}, {noise_steps: 120}, {}, {}]", *settings)
        for _ in range(5):
            agent.act(torch.randn(6, 1, SIZE))
        factors = [own.exploration.factor() for own in agent.members]
        assert factors == pytest.approx([0.75, 0.875, 0.75, 0.75])

    def test_a_row_does_not_depend_on_the_others(self):
        agent, _ = made("ensemble=[{history: 2}, {hidden: [256, 256]}]")
        together = agent.policy(LOW, HIGH)
        rows = np.random.default_rng(0).normal(size=(30, SIZE)).astype(np.float32)
        whole = together(rows)
        together.begin()
        one = together(rows[:11])
        together.begin()
        assert np.array_equal(whole, np.concatenate([one, together(rows[11:])]))
        together.begin()
        assert np.array_equal(whole[0], together(rows[0]))


class TestLearning:
    def test_histories_are_those_of_the_episodes(self):
        """Brute force: what each agent learns from, against the episodes in the one buffer."""
        agent, _ = made(
            "ensemble=[{history: 1}, {history: 4}]", "normalize_observations=false", "n_step=3"
        )
        seen = []
        for own in agent.members:
            own.update = lambda batch: seen.append(batch) or {}
        buffer = ReplayBuffer(600, 6, SIZE, 1, n_step=3, history=4)
        story = Story(buffer, 6, 100, np.random.default_rng(0))
        agent.update(agent.preprocess(buffer.sample(500)))
        short, long = (in_histories(batch) for batch in seen)
        assert short.observation.shape == (500, 1, SIZE)
        assert long.observation.shape == (500, 4, SIZE)
        for row in range(500):
            env, episode, age = short.observation[row, 0].int().tolist()
            rewards, _ = story.episodes[env, episode]
            count = min(3, len(rewards) - age)
            for k in range(4):
                # The first observation is repeated before the beginning of an episode.
                assert long.observation[row, 3 - k].tolist() == [env, episode, max(age - k, 0)]
                last = [env, episode, max(age + count - k, 0)]
                assert long.following[row, 3 - k].tolist() == last
            assert short.following[row, 0].tolist() == [env, episode, age + count]
            np.testing.assert_allclose(
                short.rewards[row, :count].numpy(), rewards[age : age + count], rtol=1e-6
            )
        assert torch.equal(short.rewards, long.rewards)

    def test_each_agent_learns_as_it_would_alone(self):
        agent, read = made("ensemble=[{history: 1}, {history: 4, critic: quantile}]")
        alone = [TD3(own.config, SIZE, ACTIONS) for own in members.for_config(read, TD3)]
        for one, own in zip(alone, agent.members, strict=True):
            one.load_state_dict(own.state_dict())
        batch = batch_of(read)
        torch.manual_seed(3)
        losses = agent.update(agent.preprocess(batch))
        torch.manual_seed(3)
        for one, own in zip(alone, agent.members, strict=True):
            one.update(one.preprocess(batch.recent(one.config.history)))
            for name, value in one.state_dict().items():
                assert torch.equal(value, own.state_dict()[name]), name
        assert {f"critic_loss {name}" for name in agent.names} <= set(losses)

    def test_statistics_of_observations_are_shared(self):
        agent, _ = made("ensemble=[{}, {history: 2}, {normalize_observations: false}]")
        agent.normalizer.update(5 + torch.randn(20, SIZE))
        scales = [own.normalizer.scale()[0] for own in agent.members]
        assert torch.equal(scales[0], scales[1])
        assert scales[0].mean() > 4
        assert scales[2].eq(0).all()

    def test_goes_on_from_its_checkpoint(self):
        settings = ("ensemble=[{history: 1}, {history: 2}]", "exploration={gaussian: 1, none: 1}")
        one, read = made(*settings)
        other, _ = made(*settings)
        one.normalizer.update(torch.randn(9, SIZE))
        for _ in range(3):
            one.update(one.preprocess(batch_of(read)))
        one.act(torch.randn(6, 2, SIZE))
        other.restore(copy.deepcopy(one.checkpoint()))
        found = []
        for agent in (one, other):
            torch.manual_seed(1)
            agent.update(agent.preprocess(batch_of(read)))
            agent.begin(torch.ones(6, dtype=torch.bool))
            found.append((agent.act(torch.ones(6, 2, SIZE)), agent.state_dict()))
        assert torch.equal(found[0][0], found[1][0])
        assert all(torch.equal(v, found[1][1][name]) for name, v in found[0][1].items())


BOTH = "[{}, {history: 2}]"
COMBINED = [  # every value of a setting with every value of each other one
    ("td3", "mean", "hyperbolic", 1, 1, ""),
    ("td3", "categorical", "hyperbolic", 3, 4, ""),
    ("td3", "quantile", "exponential", 3, 1, BOTH),
    ("ddpg", "mean", "exponential", 3, 4, ""),
    ("ddpg", "categorical", "exponential", 3, 1, ""),
    ("ddpg", "quantile", "hyperbolic", 1, 4, BOTH),
    ("d4pg", "mean", "exponential", 3, 1, BOTH),
    ("d4pg", "categorical", "hyperbolic", 3, 1, BOTH),
    ("d4pg", "quantile", "hyperbolic", 1, 4, ""),
    ("sac", "mean", "hyperbolic", 3, 4, ""),
    ("sac", "categorical", "exponential", 1, 1, BOTH),
    ("sac", "quantile", "exponential", 1, 4, BOTH),
]


@pytest.mark.parametrize(
    ("algorithm", "critic", "discounting", "n_step", "history", "ensemble"),
    mostly_nightly(COMBINED, quick=4),
)
def test_combined_settings_learn(algorithm, critic, discounting, n_step, history, ensemble):
    agent, read = made(
        f"critic={critic}",
        f"discounting={discounting}",
        f"n_step={n_step}",
        f"history={history}",
        f"ensemble={ensemble or []}",
        "acting_value=mean",
        algorithm=algorithm,
    )
    before = {name: value.clone() for name, value in agent.state_dict().items()}
    for _ in range(2):
        losses = agent.update(agent.preprocess(batch_of(read, algorithm=algorithm)))
    assert all(torch.isfinite(loss).all() for loss in losses.values())
    after = agent.state_dict()
    networks = [k for k in before if k.endswith("weight") and "normalizer" not in k]
    assert all(not torch.equal(before[name], after[name]) for name in networks)
    acting = agent.policy(LOW, HIGH)
    observation = np.random.default_rng(0).normal(size=(6, SIZE)).astype(np.float32)
    action = acting(observation)
    assert action.shape == (6, ACTIONS)
    assert ((action >= LOW) & (action <= HIGH)).all()
    stack = torch.randn(6, drawn(read, algorithm)["history"], SIZE)
    assert agent.act(stack).abs().max() <= 1


MIXED = (
    "ensemble=[{algorithm: td3, n_step: 3}, {algorithm: sac, hidden: [6, 5], history: 2},"
    " {algorithm: d4pg, activation: elu, noise_max: 0.4}]"
)


class TestOfSeveralAlgorithms:
    def test_each_has_its_class_and_settings(self):
        agent, read = made(MIXED, "learning_rate=0.002", "noise_min=0.01", "discount=0.97")
        kinds = [type(own).__name__ for own in agent.members]
        assert kinds == ["TD3", "SAC", "D4PG"]
        assert agent.names == ["td3,n_step=3", "sac,hidden=[6, 5],history=2", agent.names[2]]
        td3, sac, d4pg = (own.config for own in agent.members)
        # What the run changes is changed for all; the rest is each algorithm's own.
        for own in (td3, sac, d4pg):
            assert (own.learning_rate, own.discount, own.atoms) == (0.002, 0.97, 5)
        assert (td3.n_step, sac.n_step, d4pg.n_step) == (3, 1, 5)
        assert (td3.critic, sac.critic, d4pg.critic) == ("categorical", "mean", "categorical")
        assert (td3.hidden, sac.hidden, d4pg.hidden) == ((8,), (6, 5), (8,))
        assert (td3.noise_min, d4pg.noise_min, d4pg.noise_max) == (0.01, 0.01, 0.4)
        assert (td3.target_rate, sac.target_rate) == (0.04, 0.02)
        assert drawn(read) == {"n_step": 5, "shorter": [3, 1], "history": 2}

    def test_returns_are_each_agents_of_the_same_transitions(self):
        """Brute force, against the episodes in the one buffer."""
        agent, read = made(MIXED, "normalize_observations=false")
        seen = []
        for own in agent.members:
            own.update = lambda batch: seen.append(batch) or {}
        buffer = ReplayBuffer(600, 6, SIZE, 1, **drawn(read))
        story = Story(buffer, 6, 100, np.random.default_rng(0))
        batches = buffer.sample(600).split(200)
        agent.update(agent.preprocess(batches[1]))
        seen = [in_histories(batch) for batch in seen]
        assert [batch.rewards.shape for batch in seen] == [(200, 3), (200, 1), (200, 5)]
        for batch, n in zip(seen, (3, 1, 5), strict=True):
            assert torch.equal(batch.observation[:, -1], seen[0].observation[:, -1])
            for row in range(200):
                env, episode, age = batch.observation[row, -1].int().tolist()
                rewards, _ = story.episodes[env, episode]
                count = min(n, len(rewards) - age)
                assert batch.steps[row] == count
                found = batch.rewards[row].numpy()
                np.testing.assert_allclose(found[:count], rewards[age : age + count], rtol=1e-6)
                assert not found[count:].any()
                assert batch.following[row, -1].tolist() == [env, episode, age + count]

    def test_batches_join_and_are_picked_with_all_their_steps(self):
        _, read = made(MIXED)
        one, other = (batch_of(read, rows=6) for _ in range(2))
        both = one.beside(other).at(torch.tensor([7, 0]))
        for n in (5, 3, 1):
            assert torch.equal(both.over(n).rewards[0], other.over(n).rewards[1])
            assert torch.equal(both.over(n).following[1], one.over(n).following[0])

    def test_a_limit_of_ones_own_beside_shared_statistics(self):
        agent, _ = made("ensemble=[{}, {clip_observations: 0.5}]")
        agent.normalizer.update(torch.randn(50, SIZE))
        first, second = (own.normalizer for own in agent.members)
        assert torch.equal(first.mean, second.mean)
        agent.normalizer.weigh(torch.arange(1.0, SIZE + 1))
        assert torch.equal(first.scale()[1], second.scale()[1])
        agent.normalizer.weigh(torch.ones(SIZE))
        far = torch.full((1, SIZE), 9.0)
        assert first(far).max() > 5
        assert second(far).max() == 0.5

    def test_an_offline_algorithm_has_none(self):
        with pytest.raises(ConfigError, match="ensemble: an algorithm that learns from a dataset"):
            made("ensemble=[{}]", "data=x", algorithm="td3_bc")

    def test_a_mistake_leaves_an_older_run(self, tmp_path):
        trainer(tmp_path / "run", algorithm="td3", steps=80).train()
        words = ("train", "td3", ID, "--out", tmp_path / "run", "--overwrite", "--steps", 80)
        done = mjgym_(*words, "ensemble=[{algorithm: ppo}]", code=2)
        assert "ensemble[0]: ppo does not learn" in " ".join(done.stderr.split())
        assert (tmp_path / "run" / "policy.npz").exists()


class TestMixtures:
    """Who acts in training where agents have no sub-environments of their own."""

    def acted(self, acting, *settings):
        agent, _ = made(
            "ensemble=[{}, {algorithm: ddpg, history: 2}, {hidden: [6]}]",
            f"ensemble_acting={acting}",
            "exploration={none: 1}",
            "num_envs=40",
            *settings,
        )
        varied(agent)
        stack = torch.randn(40, 2, SIZE)
        proposed, values = proposals(agent, stack)
        return agent, stack, proposed, values(proposed)

    def test_all_propose_everywhere(self):
        agent, *_ = self.acted("mean")
        assert [own.config.num_envs for own in agent.members] == [40, 40, 40]

    def test_mixtures_are_proposed_too(self, tmp_path):
        """Brute force: of three proposals and their means in pairs, that of the highest value."""
        agent, *_ = self.acted("mixtures")
        with torch.no_grad():
            for own in agent.members:  # far from linear
                for parameter in own.critics.parameters():
                    parameter.mul_(4).add_(torch.randn_like(parameter))
        agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
        together, mixed = policy.load(tmp_path / "policy.npz"), 0
        for _ in range(3):
            stack = torch.randn(40, 2, SIZE)
            proposed, values = proposals(agent, stack)
            first, second, third = proposed.unbind(1)
            means = (first + second) / 2, (first + third) / 2, (second + third) / 2
            candidates = torch.stack([first, second, third, *means], 1)
            chosen = values(candidates).argmax(1)
            mixed += int(chosen.ge(3).sum())
            wanted = candidates[torch.arange(40), chosen]
            torch.testing.assert_close(agent.act(stack), wanted, atol=1e-4, rtol=1e-3)
            together.begin()
            together(stack[:, 0].numpy())
            scaled = LOW + (wanted.numpy() + 1) / 2 * (HIGH - LOW)
            np.testing.assert_allclose(together(stack[:, 1].numpy()), scaled, atol=1e-3)
        assert mixed > 5

    @pytest.mark.parametrize(
        ("acting", "critic", "discounting"),
        [
            *itertools.product(
                ["critics"], ("mean", "categorical", "quantile"), ("exponential", "hyperbolic")
            ),
            ("mean", "categorical", "exponential"),
            ("softmax", "quantile", "hyperbolic"),
        ],
    )
    def test_together(self, acting, critic, discounting, tmp_path):
        """In training without noise, and as the policy of the run's file."""
        settings = (f"critic={critic}", f"discounting={discounting}", "value_max=5")
        agent, stack, proposed, values = self.acted(
            acting, "ensemble_temperature=0.5", "acting_value=mean", *settings
        )
        best = values.argmax(1)
        assert len(best.unique()) > 1  # no agent's is the best everywhere
        weights_ = {
            "critics": torch.nn.functional.one_hot(best, 3).float(),
            "mean": torch.full((40, 3), 1 / 3),
            "softmax": (values / 0.5).softmax(1),
        }[acting]
        wanted = (weights_[..., None] * proposed).sum(1)
        torch.testing.assert_close(agent.act(stack), wanted, atol=1e-5, rtol=1e-4)
        agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
        together = policy.load(tmp_path / "policy.npz")
        together(stack[:, 0].numpy())
        action = together(stack[:, 1].numpy())
        scaled = LOW + (wanted.numpy() + 1) / 2 * (HIGH - LOW)
        np.testing.assert_allclose(action, scaled, atol=1e-4)

    def test_an_episode_has_one_agent(self):
        agent, stack, proposed, _ = self.acted("episodes")
        rows = torch.arange(40)
        for _ in range(3):
            assert torch.equal(agent.act(stack), proposed[rows, agent.acting])
        before, drawn_ = agent.acting.clone(), set()
        begun = rows < 3
        for _ in range(30):
            agent.begin(begun)
            drawn_ |= set(agent.acting[:3].tolist())
        assert drawn_ == {0, 1, 2}
        assert torch.equal(agent.acting[3:], before[3:])

    @lane(1, 5)
    def test_a_run_goes_on_bit_for_bit(self, tmp_path):
        settings = (*SMALL_REPLAY, MIXED, "ensemble_acting=episodes")
        whole, _ = interrupted(tmp_path, *settings, algorithm="td3", at=120)
        acting = policy.load(tmp_path / "whole" / "policy.npz")
        assert [len(own.layers) for own in acting.policies] == [3, 5, 3]
        names = {line.exp_name for line in whole.run_folder.metrics()}
        assert "td3 sac,hidden=[6, 5],history=2" in names

    def test_samplers_elsewhere_have_no_critics(self, tmp_path):
        read = config.read(
            TD3.Config, (), ["ensemble=[{}, {}]", "ensemble_acting=softmax"], algorithm="td3"
        )
        with pytest.raises(ConfigError, match="ensemble_acting: samplers have no critics"):
            cluster.ClusterTrainer(Run(tmp_path / "run"), read)

    def test_files_that_make_no_sense(self, tmp_path):
        agent, *_ = self.acted("softmax")
        agent.policy(LOW, HIGH).save(tmp_path / "p.npz")
        with np.load(tmp_path / "p.npz") as file:
            arrays = dict(file)
        np.savez(tmp_path / "p.npz", **{**arrays, "temperature": -1.0})
        with pytest.raises(policy.PolicyError, match=r"its temperature is -1\.0"):
            policy.load(tmp_path / "p.npz")
        fewer = {name: value for name, value in arrays.items() if name != "agent1/distribution"}
        np.savez(tmp_path / "p.npz", **fewer)
        with pytest.raises(policy.PolicyError, match="some of its agents have critics"):
            policy.load(tmp_path / "p.npz")


class TestJoined:
    """`mjgym ensemble`: runs of several algorithms as one policy."""

    @pytest.fixture
    def runs(self, tmp_path):
        folders = []
        for name, settings in (("td3", ("critic=mean",)), ("sac", ("hidden=[8, 8]",))):
            folders.append(tmp_path / name)
            trainer(folders[-1], *settings, algorithm=name).train()
        return folders

    @pytest.mark.weekly
    def test_by_critics_and_by_the_mean(self, runs, tmp_path):
        """Brute force: the proposal of highest mean value over all critics, and the mean."""
        members = [policy.load(run / "policy.npz") for run in runs]
        critics = [policy.load_valuation(run / "critics.npz") for run in runs]
        observation = np.random.default_rng(0).normal(size=(5, *members[0].mean.shape))
        proposed = [member(observation) for member in members]
        for by in ("critics", "mixtures", "mean"):
            file = tmp_path / f"{by}.npz"
            mjgym_("ensemble", *runs, "--out", file, "--by", by)
            action = policy.load(file)(observation)
            wanted = np.mean(proposed, 0)
            if by != "mean":
                offered = np.stack([*proposed, wanted] if by == "mixtures" else proposed)
                values = np.zeros((len(offered), 5))
                for k, action_of in enumerate(offered):
                    for member, own in zip(members, critics, strict=True):
                        inputs = np.concatenate([member.encode(observation), action_of], -1)
                        values[k] += own(inputs[:, None].astype(np.float32))[:, 0]
                wanted = offered[values.argmax(0), np.arange(5)]
            np.testing.assert_allclose(action, wanted, atol=1e-5)
        file = tmp_path / "softmax.npz"
        mjgym_("ensemble", *runs, "--out", file, "--by", "softmax", "--temperature", 1e-6)
        weighted = policy.load(file)
        assert weighted.temperature == 1e-6
        np.testing.assert_allclose(
            weighted(observation), policy.load(tmp_path / "critics.npz")(observation), atol=1e-3
        )
        words = ("--out", tmp_path / "no.npz", "--temperature", 2)
        assert "--temperature is for" in mjgym_("ensemble", *runs, *words, code=2).output
        score = mjgym_("evaluate", tmp_path / "mean.npz", "--id", ID, "--episodes", 1)
        assert "return" in score.output

    @pytest.mark.weekly
    def test_the_best_of_the_kept_policies(self, tmp_path):
        """By the mean return over seeds that no score uses, with the critics of the same update."""
        runs = [tmp_path / "one", tmp_path / "two"]
        for seed, folder in enumerate(runs):
            trainer(folder, "keep_policies=true", algorithm="td3", seed=seed).train()
        words = ("--out", tmp_path / "both.npz", "--choose", 8)
        said = mjgym_("ensemble", *runs, *words).output
        envs = evaluation.make(ID, 8, 1, max_episode_steps=30)
        joined = policy.load(tmp_path / "both.npz")
        for k, folder in enumerate(runs):
            kept = Run(folder).policies()
            assert list(kept) == [120, 240]  # the steps of its evaluations
            returns = {
                step: evaluation.evaluate(policy.load(file), envs, range(20_000, 20_008)).returns
                for step, (file, _) in kept.items()
            }
            best = max(returns, key=lambda step: returns[step].mean())
            assert f"of step {best}, {returns[best].mean():.1f}" in said
            arrays = dict(np.load(tmp_path / "both.npz"))
            file, critics = kept[best]
            for part in (np.load(file), np.load(critics)):
                shared = [name for name in part.files if f"agent{k}/{name}" in arrays]
                assert shared
                for name in shared:
                    np.testing.assert_array_equal(arrays[f"agent{k}/{name}"], part[name])
        envs.close()
        assert len(joined.policies) == 2
        trainer(tmp_path / "last", algorithm="td3").train()
        words = ("--out", tmp_path / "no.npz", "--choose", 8)
        said = mjgym_("ensemble", runs[0], tmp_path / "last", *words, code=2).output
        assert "has the last policy alone; keep_policies=true" in " ".join(said.split())
        assert not (tmp_path / "no.npz").exists()
        said = mjgym_("ensemble", *runs, *words[:3], 0, code=2).output
        assert "Invalid value for '--choose'" in said

    @pytest.mark.weekly
    def test_mistakes_are_named(self, runs, tmp_path):
        out = tmp_path / "all.npz"
        assert "two runs or more" in mjgym_("ensemble", runs[0], "--out", out, code=2).output
        trainer(tmp_path / "ppo", algorithm="ppo").train()
        said = mjgym_("ensemble", runs[0], tmp_path / "ppo", "--out", out, code=1).output
        assert "ppo has no critics of actions: join with --by mean" in " ".join(said.split())
        trainer(tmp_path / "other", algorithm="td3", id="dmc/pendulum-swingup-v0").train()
        said = mjgym_("ensemble", runs[0], tmp_path / "other", "--out", out, code=2).output
        assert "dmc/pendulum-swingup-v0" in said
        assert not out.exists()
        out.write_text("mine")
        assert "is there already" in mjgym_("ensemble", *runs, "--out", out, code=1).output
        assert out.read_text() == "mine"


def test_the_best_policy_is_kept_beside_the_last(tmp_path):
    made_ = trainer(tmp_path / "run", "evaluations=4", algorithm="td3")
    made_.train()
    found = [m.value for m in made_.run_folder.metrics() if m.metric == metrics.RETURN]
    count = made_.config.evaluation_episodes
    envs = evaluation.make(ID, count, 1, **made_.config.env)
    best = policy.load(made_.run_folder.best_file)
    returns = evaluation.evaluate(best, envs, evaluation.TRAINING_SEEDS[:count]).returns
    envs.close()
    assert returns.mean() == pytest.approx(max(found))
