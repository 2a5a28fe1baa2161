"""Runs with samplers and a trainer: what they say to each other, and as actors of Ray."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from helpers.lanes import lane
from helpers.stories import assert_same_batch, samples
from helpers.training_runs import FILES, ID, SMALL, SMALL_REPLAY, mjgym_
from mjgym.policies.run_errors import ConfigError, DivergedError, RunError
from mjgym_train import config, evaluation, metrics
from mjgym_train.learn import algorithms, cluster
from mjgym_train.learn.actors import (
    FRAGMENT_STEPS,
    AsynchronousLearner,
    Learner,
    Report,
    Sampler,
    Shards,
    Worker,
    weights,
)
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.learn.cluster import ATTEMPTS, TRAINER, ClusterTrainer
from mjgym_train.learn.collector import Collector
from mjgym_train.learn.trainer import Progress
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.torch]


def read(*settings, algorithm="td3", steps=240, **given):
    cls = algorithms.find(algorithm).Config
    given |= {"algorithm": algorithm, "id": ID, "steps": steps}
    return config.read(cls, (), [*SMALL_REPLAY, "evaluations=4", *settings], **given)


def created(folder, settings):
    run = Run(folder)
    run.create(settings)
    return run


class TestShards:
    def shards(self, *counts, n_step=2):
        made = Shards([ReplayBuffer(40, 2, 1, 1, n_step=n_step) for _ in counts])
        for k, count in enumerate(counts):
            made.choose(k, begun=True)
            for step in range(count):
                self.add(made, 100 * k + step)
        return made

    def add(self, shards, value):
        column = torch.full((2, 1), float(value))
        ended = torch.zeros(2, dtype=torch.bool)
        shards.add(
            observation=column,
            action=column,
            reward=column[:, 0],
            following=column + 1,
            terminated=ended,
            ended=ended,
            age=torch.zeros(2, dtype=torch.int32),
        )

    def test_each_transition_is_as_likely_as_another(self):
        torch.manual_seed(0)
        shards = self.shards(3, 0, 12)
        assert len(shards) == 30
        drawn = shards.sample(30_000).observation[:, 0, 0]
        values, counts = drawn.unique(return_counts=True)
        assert values.tolist() == [0, 1, 2, *range(200, 212)]
        assert (counts / 2_000 - 1).abs().max() < 0.1  # some 4.6 standard deviations

    def test_batches_are_mixed(self):
        torch.manual_seed(0)
        first, *_ = self.shards(10, 10).sample(512).split(64)
        share = (first.observation < 100).float().mean()
        assert 0.25 < share < 0.75

    def test_a_new_life_does_not_follow_on_the_old(self):
        shards = self.shards(3)
        shards.choose(0, begun=True)
        self.add(shards, 50)
        drawn = shards.sample(200)
        last = drawn.observation[:, 0, 0] == 2
        assert drawn.steps[last].unique().tolist() == [1]
        assert drawn.following[last].unique().tolist() == [3]
        assert not drawn.terminated.any()  # what follows has a value
        before = drawn.observation[:, 0, 0] == 1
        assert drawn.rewards[before].unique(dim=0).tolist() == [[1, 2]]

    def test_are_kept_whole(self):
        shards, again = self.shards(3, 5), self.shards(0, 0)
        again.load_state_dict(shards.state_dict())
        assert_same_batch(*samples(50, shards, again))
        with pytest.raises(RunError, match="of 2 samplers, not of 1"):
            self.shards(0).load_state_dict(shards.state_dict())


class TestWithoutRay:
    """Samplers and the trainer in one process, which take turns."""

    def learner(self, folder, settings, samplers=2, resume=False):
        actors = [Sampler(settings, k, None) for k in range(samplers)]
        turn = iter(range(10**6))

        def take():
            index = next(turn) % samplers
            fragment, _ = actors[index].collect(weights(made.agent), made.env_step)
            return index, fragment

        run = Run(folder)
        if not resume:
            run.create(settings)
        made = Learner(run, settings, samplers=samplers, take=take, resume=resume)
        made.actors = actors
        return made

    @pytest.mark.weekly
    @pytest.mark.parametrize(
        ("algorithm", "more"),
        [
            ("sac", ("history=3",)),
            ("ddpg", ("ensemble=[{history: 1}, {history: 4}]", "exploration={parameter: 1}")),
        ],
    )
    def test_learns_as_often_as_one_process(self, algorithm, more, tmp_path):
        settings = read(*more, algorithm=algorithm)
        made = self.learner(tmp_path / "run", settings)
        end = made.train()
        assert (end.env_step, end.updates) == (240, 20)  # as a run in one process
        rows = made.run_folder.metrics()
        named = {row.metric.partition(" ")[0] for row in rows}  # without an ensemble's agents
        assert {"training/critic_loss", metrics.RETURN, metrics.TRAINING_RETURN} <= named
        assert all(np.isfinite(row.value) for row in rows)
        assert len(made.buffer) == 240

    @pytest.mark.weekly
    def test_what_is_stored_is_what_samplers_did(self, tmp_path):
        made = self.learner(tmp_path / "run", read(steps=8 * FRAGMENT_STEPS))
        made.train()
        shards = made.buffer.state_dict()["shards"]
        assert [shard["added"] for shard in shards] == [FRAGMENT_STEPS] * 2
        for shard in shards:
            stored = {name: a.unflatten(0, (-1, 4)) for name, a in shard["arrays"].items()}
            going = ~stored["ended"][:-1]
            follows = stored["following"][:-1][going].equal(stored["observation"][1:][going])
            assert follows
            assert not stored["terminated"].any()
            assert stored["ended"].sum() == 4  # each sub-environment's time limit, once
        first, second = (shard["arrays"]["observation"] for shard in shards)
        assert not first.equal(second)

    @pytest.mark.weekly
    def test_the_policy_is_the_trainers(self, tmp_path):
        made = self.learner(tmp_path / "run", read(steps=8 * FRAGMENT_STEPS))
        made.train()
        made._take()
        acting = made.actors[0]._acting.agent
        sent = weights(made.agent)
        kinds = {name.partition(".")[0] for name in sent}
        assert kinds == {"actor", "average_actor", "normalizer", "updates"}
        assert acting.actor.body[0].weight.equal(made.agent.actor.body[0].weight)

    def test_a_schedule_is_the_whole_runs(self):
        settings = read("noise_schedule=linear", "noise_steps=20_000", "noise_final=0.5")
        sampler = Sampler(settings, 0, None)
        sampler.collect({}, 10_000)
        acted = FRAGMENT_STEPS * settings.num_envs
        exploration = sampler._acting.agent.exploration
        assert exploration.factor() == pytest.approx(0.75 - 0.5 * acted / 20_000)

    def test_a_sampler_of_another_life_begins_anew(self, tmp_path):
        settings = read("env.max_episode_steps=1000", "stagger=false", steps=800)
        made = self.learner(tmp_path / "run", settings, samplers=1)
        for _ in range(FRAGMENT_STEPS):
            made.step()
        made.actors[0] = Sampler(settings, 0, None)
        for _ in range(FRAGMENT_STEPS + 1):
            made.step()
        made.close()
        ended = made.buffer.state_dict()["shards"][0]["arrays"]["ended"].unflatten(0, (-1, 4))
        assert ended.nonzero()[:, 0].unique().tolist() == [FRAGMENT_STEPS - 1]

    @pytest.mark.weekly
    def test_goes_on_from_its_checkpoint(self, tmp_path):
        self.learner(tmp_path / "run", read()).train()
        again = self.learner(tmp_path / "run", read(steps=300), resume=True)
        assert (again.env_step, len(again.buffer)) == (240, 240)
        assert again.train().env_step == 300
        shard = again.buffer.state_dict()["shards"][0]["arrays"]
        assert shard["ended"][124:128].all()  # the last of the first life

    @pytest.mark.weekly
    def test_other_ways_of_going_on_are_refused(self, tmp_path):
        self.learner(tmp_path / "run", read()).train()
        with pytest.raises(RunError, match="of 2 samplers, not of 3"):
            self.learner(tmp_path / "run", read(), samplers=3, resume=True)
        with pytest.raises(RunError, match="go on with it with --ray"):
            make_trainer(Run(tmp_path / "run"), read(), resume=True)
        make_trainer(created(tmp_path / "own", read()), read()).train()
        with pytest.raises(RunError, match="without --ray"):
            self.learner(tmp_path / "own", read(), resume=True)

    def test_a_run_without_a_checkpoint_begins_its_metrics_anew(self, tmp_path):
        made = self.learner(tmp_path / "run", read())
        made._write({"training/mark": 1.0})
        made.env_step = 80
        made._write({"training/mark": 1.0})
        made.close()
        self.learner(tmp_path / "run", read(), resume=True).train()
        rows = [r for r in Run(tmp_path / "run").metrics() if r.metric == "training/mark"]
        assert [row.env_step for row in rows] == [0]

    def test_fragments_say_which_episodes_diverged(self, tmp_path, monkeypatch):
        step = Collector.step

        def diverging(collector, action):
            transition = step(collector, action)
            collector.diverged = transition.ended
            return transition

        monkeypatch.setattr(Collector, "step", diverging)
        settings = read("evaluations=2", "env.max_episode_steps=5", steps=8000)
        made = self.learner(tmp_path / "run", settings)
        with (
            pytest.warns(UserWarning, match="100% of the episodes diverged"),
            pytest.raises(DivergedError, match="the last 10 episodes of every sub-environment"),
        ):
            made.train()
        assert made.env_step <= 2 * 4 * 5 * 13

    def test_seeds_follow_from_the_runs_the_index_and_the_steps(self):
        def first(index, env_step, **given):
            fragment, _ = Sampler(read(**given), index, None).collect({}, env_step)
            return fragment.steps["observation"][0]

        assert np.array_equal(first(0, 0), first(0, 0))
        for other in (first(1, 0), first(0, 128), first(0, 0, seed=1)):
            assert not np.array_equal(first(0, 0), other)


class TestA3C:
    """Workers and the trainer in one process."""

    SETTINGS = (*SMALL, "num_envs=2", "rollout_steps=5", "learning_rate_left=1")

    def settings(self, **given):
        cls = algorithms.find("a3c").Config
        given = {"algorithm": "a3c", "id": ID, "steps": 400, **given}
        return config.read(cls, (), self.SETTINGS, **given)

    def test_applies_gradients_of_earlier_weights_one_by_one(self, tmp_path):
        settings = self.settings()
        workers = [Worker(settings, k, None) for k in range(2)]
        unrolls = []
        learner = AsynchronousLearner(
            created(tmp_path / "run", settings), settings, samplers=2,
            take=lambda: (len(unrolls) - 1, unrolls[-1]), resume=False,
        )  # fmt: skip
        sent = weights(learner.agent)
        for worker in workers:  # both act by the first weights
            unrolls.append(worker.collect(sent, 0)[0])
            learner.step()
        parameters = [torch.from_numpy(sent[n]) for n, _ in learner.agent.named_parameters()]
        squares = [torch.zeros_like(p) for p in parameters]
        for unroll in unrolls:
            gradients = [torch.from_numpy(g) for g in unroll.gradients]
            norm = torch.stack([g.norm() for g in gradients]).norm()
            scale = min(1.0, settings.max_gradient_norm / float(norm + 1e-6))
            for p, square, g in zip(parameters, squares, gradients, strict=True):
                square.mul_(0.99).add_(0.01 * (scale * g).square())
                p.sub_(settings.learning_rate * scale * g / (square.sqrt() + 1e-5))
        for p, (name, found) in zip(parameters, learner.agent.named_parameters(), strict=True):
            torch.testing.assert_close(found.detach(), p, msg=name)
        assert (learner.env_step, learner.updates) == (20, 2)
        assert learner.agent.normalizer.count == 1 + 20
        learner.close()

    def test_its_gradient_is_that_of_a2c(self, tmp_path):
        settings = self.settings()
        worker = Worker(settings, 0, None)
        agent = make_trainer(created(tmp_path / "run", settings), settings).agent
        taken = []
        sent = weights(agent)
        worker.collect(sent, 0)
        acting = worker._acting
        whole = acting.taken
        acting.taken = lambda: taken.append(whole()) or taken[0]
        unroll, _ = worker.collect(sent, 0)
        before = [p.clone() for p in agent.parameters()]
        (losses,) = agent.update(taken[0])
        assert unroll.losses["loss"] == pytest.approx(float(losses["loss"]))
        norm = np.sqrt(sum(np.square(g).sum() for g in unroll.gradients))
        scale = min(1.0, settings.max_gradient_norm / (norm + 1e-6))
        for p, old, g in zip(agent.parameters(), before, unroll.gradients, strict=True):
            np.testing.assert_allclose(p.grad.numpy(), scale * g, atol=1e-6)
            assert g.any() == (p != old).any()

    @lane(1, 3)
    def test_with_ray_workers_and_trainer_may_die(self, ray, tmp_path):
        settings, killed = self.settings(steps=1_500), []
        run = created(tmp_path / "run", settings)

        def show(progress):
            steps = progress.env_step
            if (not killed and steps > 200) or (
                len(killed) == 1 and steps > 500 and run.checkpoint_file.exists()
            ):
                actor = made.trainers[0].actor if killed else made.samplers[0]
                killed.append(ray.get(actor.__ray_call__.remote(lambda self: os.getpid())))
                os.kill(killed[-1], signal.SIGKILL)

        made = ClusterTrainer(run, settings, samplers=2, show=show)
        assert made.train()[0].env_step >= 1_500
        assert len(set(killed)) == 2
        assert [m.env_step for m in run.metrics() if m.metric == metrics.RETURN][-1] >= 1_500


class TestMistakes:
    def test_without_ray_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(RunError, match=r'pip install -e "\.\[ray\]"'):
            ClusterTrainer(Run(tmp_path / "run"), read())
        words = ("--ray", "--steps", 80, "--out", tmp_path / "run")
        done = mjgym_("train", "td3", ID, *words, code=1)
        assert 'ray is not installed: pip install -e ".[ray]"' in done.stderr
        assert not (tmp_path / "run").exists()

    def test_more_samplers_than_this_machine_has_cores(self, tmp_path, monkeypatch):
        ray = pytest.importorskip("ray")
        monkeypatch.setattr(ray, "is_initialized", lambda: False)  # by another test
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        monkeypatch.setattr(cluster, "allowed_cores", lambda: 2)
        words = ("--ray", "--samplers", 8, "--steps", 80, "--out", tmp_path / "run")
        done = mjgym_("train", "td3", ID, *words, code=1)
        assert "8 samplers take 8 cores, and this machine has 2" in done.stderr
        assert not (tmp_path / "run" / "config.yaml").exists()

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"algorithm": "ppo"}, "ppo learns from its own latest steps"),
            ({"algorithm": "iql", "data": "some-v0"}, "iql learns from a dataset alone, without"),
            ({"algorithm": "dagger"}, "dagger learns from a script, which it asks in one process"),
        ],
        ids=str,
    )
    def test_algorithms_without_samplers(self, given, message, tmp_path):
        settings = config.read(algorithms.find(given["algorithm"]).Config, id=ID, steps=80, **given)
        with pytest.raises(ConfigError, match=message):
            ClusterTrainer(Run(tmp_path / "run"), settings)

    @pytest.mark.parametrize(
        ("algorithm", "words", "message"),
        [
            ("td3", ("--samplers", 3), "--samplers is for --ray"),
            ("td3", ("--address", 3), "--address is for --ray"),
            ("td3", ("--trainers", 2), "--trainers is for --ray"),
            ("td3", ("--ray", "--trainers", 0), "Invalid value for '--trainers'"),
            ("td3", ("--ray", "--trainers", 3, "--samplers", 2), "3 need as many samplers"),
            ("a3c", ("--ray", "--trainers", 2), "workers are of one trainer's weights"),
            ("ppo", ("--ray", "--trainers", 2), "ppo learns from its own latest steps"),
            ("td3", ("--ray", "--trainers", 2, "--seeds", "0-1"), "--seeds goes with neither"),
            ("td3", ("--ray", "--trainers", 2, "ensemble=[{}]"), "1 agents, but 2 trainers"),
            (
                "td3",
                ("--ray", "--trainers", 2, "ensemble=[{}, {algorithm: sac}]"),
                "trainers side by side all learn by td3",
            ),
        ],
    )
    def test_words_that_make_no_sense(self, algorithm, words, message, tmp_path):
        if "--ray" in words:
            pytest.importorskip("ray")
        place = ("--steps", 80, "--out", tmp_path / "run")
        result = mjgym_("train", algorithm, ID, *words, *place, code=None)
        assert result.exit_code in (1, 2)
        assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())
        assert not list(tmp_path.iterdir())


@dataclass
class Life:
    """Events of a run.

    Args:
        run: its folder.
        samplers: pids of those that were killed.
        trainers: the actor that was killed, and the one in its place.
        kept: steps in the checkpoint when the trainer was killed, and after Ctrl-C.
        stopped: how far it was after Ctrl-C.
        printed: by the command that brought it to its end.
    """

    run: Run
    samplers: list[int] = field(default_factory=list)
    trainers: list[Any] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    stopped: Progress | None = None
    printed: str = ""


@pytest.fixture(scope="module")
def life(ray, tmp_path_factory):
    """A run whose sampler and trainer are killed, which is stopped, and goes on to its end."""
    settings = read(steps=4_000)
    run = created(tmp_path_factory.mktemp("cluster") / "run", settings)
    life, stopped = Life(run), []

    def keep():
        content = torch.load(run.checkpoint_file, weights_only=True)
        life.kept.append(content["trainer"]["env_step"])

    def kill(actor):
        pid = ray.get(actor.__ray_call__.remote(lambda self: os.getpid()))
        os.kill(pid, signal.SIGKILL)
        return pid

    def show(progress):
        if not life.samplers:
            if progress.env_step > 500:
                life.samplers.append(kill(made.samplers[0]))
        elif not life.trainers:
            if run.checkpoint_file.exists():
                life.trainers.append(made.trainers[0].actor)
                keep()
                kill(made.trainers[0].actor)
        elif progress.env_step >= 2_000 and not stopped:
            stopped.append(progress)
            os.kill(os.getpid(), signal.SIGINT)

    made = ClusterTrainer(run, settings, samplers=1, show=show)
    (life.stopped,) = made.train()
    life.trainers.append(made.trainers[0].actor)
    keep()
    words = ("--ray", "--samplers", 1, "--resume", "--steps", 4_000, "--out", run.path)
    life.printed = mjgym_("train", "td3", ID, *words).stdout
    return life


@lane(1, 2)  # on the other day than the section of RLlib in the guide to clients
class TestWithRay:
    def test_those_that_are_killed_are_replaced_and_go_on_from_the_checkpoint(self, life):
        assert life.samplers
        assert 1_000 <= life.kept[0] < 4_000  # which no other sampler could have taken
        killed, following = life.trainers
        assert killed is not following
        assert life.stopped.env_step > life.kept[0]

    def test_ctrl_c_ends_a_run_and_keeps_it(self, life):
        assert 2_000 <= life.stopped.env_step < 4_000
        assert life.kept[1] == life.stopped.env_step

    def test_it_goes_on_and_ends_with_the_asked_steps(self, life):
        assert re.search(r"steps +4,000\n *updates +396", life.printed)
        assert {path.name for path in life.run.path.iterdir()} == FILES

    def test_its_metrics_are_those_of_one_run(self, life):
        rows = life.run.metrics()
        assert all(np.isfinite(row.value) for row in rows)
        steps = [row.env_step for row in rows]
        assert steps == sorted(steps)
        seen = [(row.metric, row.env_step) for row in rows]
        assert len(seen) == len(set(seen))
        scored = {row.env_step for row in rows if row.metric == metrics.RETURN}
        assert scored == {1_000, 2_000, 3_000, 4_000}

    def test_the_score_is_that_of_the_policy_that_is_kept(self, life):
        """On the same seeds as ever."""
        rows = life.run.metrics()
        (*_, score) = (row.value for row in rows if row.metric == metrics.RETURN)
        envs = evaluation.make(ID, 2, 1, max_episode_steps=30)
        result = evaluation.evaluate(life.run.policy(), envs, evaluation.TRAINING_SEEDS[:2])
        envs.close()
        assert score == result.returns.mean()

    def test_the_package_does_not_import_ray(self):
        pytest.importorskip("ray")
        program = "import sys, mjgym_train.learn.cluster; sys.exit('ray' in sys.modules)"
        subprocess.run([sys.executable, "-c", program], check=True)

    @pytest.mark.usefixtures("ray")
    def test_a_mistake_is_said_as_in_one_process(self, tmp_path):
        settings = read("env.observation=dict")
        with pytest.raises(ConfigError, match='observation="flat"'):
            ClusterTrainer(created(tmp_path / "run", settings), settings, samplers=1).train()

    @pytest.mark.usefixtures("ray")
    def test_a_cluster_that_is_too_small(self, tmp_path):
        settings = read()
        with pytest.raises(RunError, match="take 10 CPUs, and the cluster has 4"):
            ClusterTrainer(created(tmp_path / "run", settings), settings, samplers=9).train()

    @pytest.mark.usefixtures("ray")
    def test_what_dies_again_and_again_ends_the_run(self, tmp_path, monkeypatch):
        settings = read()
        run = created(tmp_path / "run", settings)
        made = ClusterTrainer(run, settings)
        killed = []
        monkeypatch.setattr(made._ray, "kill", killed.append)
        for _ in range(ATTEMPTS - 1):
            made._died(TRAINER, "one", OSError("gone"))
        kept = Report(Progress(0, 0, 0.0, 0.0, None, None), {run.checkpoint_file.name: b""})
        made._note(made.trainers[0], kept)  # it has got on
        for _ in range(ATTEMPTS - 1):
            made._died(TRAINER, "one", OSError("gone"))
        assert killed == ["one"] * 2 * (ATTEMPTS - 1)
        with pytest.raises(RunError, match=r"the trainer has died 4 times without.*gone"):
            made._died(TRAINER, "one", OSError("gone"))


@lane(2, 3)
@pytest.mark.usefixtures("programs_join_ray")
def test_trainers_learn_side_by_side_from_the_same_steps(tmp_path):
    """Each with the settings of one of the agents, in a folder of its own."""
    words = ("--ray", "--trainers", 2, "--samplers", 2, "--seed", 3, "--steps", 1_200)
    settings = (*SMALL_REPLAY, "ensemble=[{history: 1}, {history: 3}]")
    printed = mjgym_("train", "td3", ID, *words, *settings, "--out", tmp_path / "run").stdout
    assert len(re.findall(r"steps +1,200\n *updates +116\n", printed)) == 2
    found = []
    for seed, history in ((3, 1), (4, 3)):
        run = Run(tmp_path / f"run_{seed}")
        kept = run.settings()
        assert (kept["seed"], kept["history"], kept["ensemble"]) == (seed, history, [])
        assert kept["name"] == f"td3 history={history}"
        state = torch.load(run.checkpoint_file, weights_only=True)
        found.append([shard["arrays"] for shard in state["buffer"]["shards"]])
    for one, other in zip(*found, strict=True):  # the same transitions, sampler by sampler
        for name in ("observation", "action", "reward", "ended"):
            count = min(len(one[name]), len(other[name]))
            assert count
            assert one[name][:count].equal(other[name][:count])
    again = mjgym_(
        *("train", "td3", ID, "--ray", "--trainers", 2, "--seed", 3, "--resume"),
        *("--steps", 1_600, "--out", tmp_path / "run"),
    )
    assert len(re.findall(r"steps +1,600\n", again.stdout)) == 2
    mjgym_("ensemble", tmp_path / "run_3", tmp_path / "run_4", "--out", tmp_path / "both.npz")


@pytest.mark.usefixtures("ray")
def test_a_trainer_of_several_may_die(ray, tmp_path):
    settings, killed = read(steps=2_000), []
    runs = [created(tmp_path / f"run_{k}", settings) for k in range(2)]

    def show(progress):
        if not killed and progress.env_step > 400 and runs[1].checkpoint_file.exists():
            actor = made.trainers[1].actor
            killed.append(ray.get(actor.__ray_call__.remote(lambda self: os.getpid())))
            os.kill(killed[0], signal.SIGKILL)

    made = ClusterTrainer(runs[0], settings, others=[(runs[1], settings)], show=show)
    ends = made.train()
    assert killed
    assert all(end.env_step >= 2_000 for end in ends)
    for run in runs:
        assert [m.env_step for m in run.metrics() if m.metric == metrics.RETURN][-1] >= 2_000
