"""Training on real ids: every switch, runs that stop and go on, scores, the commands."""

import csv
import dataclasses
import json
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
import torch

from helpers import training_runs
from helpers.lanes import lane, mostly_nightly
from helpers.small_process import fresh
from helpers.training_runs import ID, assert_equal, mjgym_, weights
from mjgym.policies.run_errors import ConfigError, DivergedError
from mjgym_train import comparison, evaluation, metrics
from mjgym_train.cli.train import _state
from mjgym_train.learn.trainer import Progress
from mjgym_train.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.torch]

SMALL = training_runs.SMALL_REPLAY


def trainer(folder, *settings, algorithm="td3", **given):
    return training_runs.trainer(folder, *SMALL, *settings, algorithm=algorithm, **given)


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    mostly_nightly(
        [
            (
                "td3",
                ("critic=quantile", "discounting=hyperbolic", "heads=3", "n_step=5", "history=4"),
            ),
            ("td3", ("layer_norm=false", "normalize_observations=false", "stagger=false")),
            ("d4pg", ("exploration={gaussian: 1, parameter: 1, none: 1}", "noise_schedule=linear")),
            ("ddpg", ("ensemble=[{history: 1}, {history: 4, critic: quantile}]", "critic=mean")),
            ("sac", ("critic=categorical", "n_step=3", "history=3")),
        ],
        5,
    ),
    ids=str,
)
def test_every_switch_trains(algorithm, settings, tmp_path):
    made = trainer(tmp_path / "run", *settings, algorithm=algorithm)
    before = weights(made)
    end = made.train()
    assert end.env_step == 240
    assert end.updates == 20  # 0.1 of the 200 steps after the first 40
    after = weights(made)
    changed = {part for k in before if not before[k].equal(after[k]) for part in k.split(".")}
    assert {"actor", "critics", "target_critics"} <= changed
    rows = made.run_folder.metrics()
    found = {row.metric.partition(" ")[0] for row in rows}
    assert {"training/critic_loss", metrics.RETURN, metrics.TRAINING_RETURN} <= found
    assert all(np.isfinite(row.value) for row in rows)
    observation = np.zeros((3, made.agent.normalizer.mean.numel()))
    assert made.run_folder.policy()(observation).shape == (3, len(made.low))


@pytest.mark.weekly
@pytest.mark.parametrize(
    "id",
    ["locomotion/ant-go_to_target-v0", "soccer/boxhead-1v1-v0"],  # the home team is the agent
)
def test_every_family_trains(id, tmp_path):
    made = trainer(tmp_path / "run", id=id, steps=160)
    assert made.train().env_step == 160
    envs = evaluation.make(id, 2, 1, max_episode_steps=5)
    result = evaluation.evaluate(made.run_folder.policy(), envs, evaluation.SEEDS[:2])
    envs.close()
    assert np.isfinite(result.returns).all()


@pytest.mark.weekly
@pytest.mark.parametrize(
    "settings",
    [
        ("history=2", "exploration={gaussian: 1, parameter: 1}"),
        ("ensemble=[{}, {history: 3}]", "learning_rate_left=0.5"),
        ("learning_rate_left=0.1", "actor_learning_rate=1e-4", "updates_per_step_end=1"),
    ],
    ids=["history and noisy weights", "ensemble", "schedules"],
)
def test_an_interrupted_run_ends_as_one_that_was_not(settings, tmp_path):
    """Bit for bit: weights, optimisers, statistics, buffer, environments, metrics."""
    settings = (*SMALL, *settings, "evaluations=4")
    whole, second = training_runs.interrupted(tmp_path, *settings, algorithm="td3", at=140)
    for name, value in whole.buffer.state_dict()["arrays"].items():
        assert torch.equal(value, second.buffer.state_dict()["arrays"][name])
    one, other = ([(m.metric, m.env_step, m.value) for m in t.run_folder.metrics()
                   if not m.metric.startswith("speed/")] for t in (whole, second))  # fmt: skip
    assert one == other


@pytest.mark.weekly
def test_schedules_follow_the_budget(tmp_path):
    """Rates fall to what is to be left of them, and updates become more frequent."""
    settings = ("learning_rate=1e-2", "learning_rate_left=0.2", "actor_learning_rate=1e-3")
    constant, falling = (
        trainer(tmp_path / name, *more)
        for name, more in (("constant", ()), ("falling", (*settings, "updates_per_step_end=2")))
    )
    for made in (constant, falling):
        made.train()
    step = falling.config.num_envs / falling.config.steps  # the last but one sets the last rate
    share = 1 - 0.8 * (1 - step)
    rates = [
        o.param_groups[0]["lr"]
        for o in (falling.agent.critic_optimizer, falling.agent.actor_optimizer)
    ]
    assert rates == pytest.approx([1e-2 * share, 1e-3 * share])
    learned = falling.config.steps - falling.config.learning_starts
    begin, end = constant.config.updates_per_step, 2
    assert constant.updates == pytest.approx(begin * learned, rel=0.2)
    assert constant.updates < falling.updates < end * learned


def test_a_budget_of_processor_time(tmp_path):
    made = trainer(tmp_path / "run", "cpu_minutes=0.01", "evaluations=2", steps=None)
    end = made.train()
    assert end.fraction == 1
    logged = [m.value for m in made.run_folder.metrics() if m.metric == metrics.CPU_SECONDS]
    assert logged[-1] >= 0.6
    evaluated = [m for m in made.run_folder.metrics() if m.metric == metrics.RETURN]
    assert 1 <= len(evaluated) <= 2
    with pytest.raises(ConfigError, match="one of steps, minutes, cpu_minutes"):
        trainer(tmp_path / "both", "cpu_minutes=1")


@pytest.mark.weekly
def test_a_run_depends_on_its_seed_alone(tmp_path):
    found = []
    for k, seed in enumerate((1, 1, 2)):
        made = trainer(tmp_path / str(k), "evaluations=1", steps=80, seed=seed)
        made.train()
        found.append(weights(made))
    assert_equal(found[0], found[1])
    assert not found[0]["actor.body.0.weight"].equal(found[2]["actor.body.0.weight"])


def test_an_ensemble_is_evaluated_together_and_each_by_itself(tmp_path):
    """As experiments beside each other, which `mjgym compare` shows."""
    made = trainer(tmp_path / "run", "ensemble=[{history: 1}, {history: 3}]", "name=both")
    made.train()
    curves = comparison.read([tmp_path / "run"])
    assert [curve.experiment for curve in curves] == ["both", "both history=1", "both history=3"]
    assert all(curve.steps.tolist() == [120, 240] for curve in curves)
    seeds = evaluation.TRAINING_SEEDS[:2]
    envs = evaluation.make(ID, 2, 1, max_episode_steps=30)
    policies = [made.run_folder.policy(), *made.run_folder.policy().policies]
    for acting, curve in zip(policies, curves, strict=True):
        mean = evaluation.evaluate(acting, envs, seeds).returns.mean()
        assert mean == pytest.approx(curve.returns[-1])
    envs.close()


def test_without_its_buffer_a_run_collects_anew(tmp_path):
    trainer(tmp_path / "run", "keep_buffer=false").train()
    again = trainer(tmp_path / "run", "keep_buffer=false", steps=300, resume=True)
    assert again.env_step == 240
    assert len(again.buffer) == 0
    updates = again.updates
    for _ in range(9):
        again.step()
    assert again.updates == updates
    again.train()
    assert again.updates > updates


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    made = trainer(tmp_path / "run", "learning_starts=40")
    step = made.step

    def breaks():
        step()
        if made.env_step == 160:  # after the evaluation at half of the budget
            with torch.no_grad():
                made.agent.critics.bodies[0][0].weight[0, 0] = float("nan")

    made.step = breaks
    with pytest.raises(DivergedError, match=r"a loss is nan after 16. steps; the last checkpoint"):
        made.train()
    assert all(np.isfinite(layer["weight"]).all() for layer in made.run_folder.policy().layers)
    again = trainer(tmp_path / "run", resume=True)
    assert again.env_step == 120
    assert again.train().env_step == 240


def test_time_limits_bootstrap_and_first_episodes_do_not_count(tmp_path):
    made = trainer(tmp_path / "run", "stagger=true", "learning_starts=1000")
    finished = 0
    for _ in range(60):
        made.step()
        finished += len(made.collector.returns)
    stored = made.buffer.state_dict()["arrays"]
    assert not stored["terminated"].any()
    ended = stored["ended"].reshape(-1, 4).nonzero().tolist()
    # Four sub-environments begin at steps 0, 7, 15 and 22 of 30.
    assert ended == [[7, 3], [14, 2], [22, 1], [29, 0], [37, 3], [44, 2], [52, 1], [59, 0]]
    assert finished == 5  # of 8, of which three did not begin at their start
    following = stored["following"].reshape(-1, 4, 5)
    observation = stored["observation"].reshape(-1, 4, 5)
    assert torch.equal(following[7, :3], observation[8, :3])
    assert not torch.equal(following[7, 3], observation[8, 3])  # the last, not the next's first
    made.close()


def test_a_terminal_state_has_no_value(tmp_path):
    made = trainer(tmp_path / "run", "critic=mean", "n_step=2")
    batch = made.buffer
    for k in range(3):
        batch.add(
            observation=torch.zeros(4, 5),
            action=torch.zeros(4, 1),
            reward=torch.full((4,), 1.0 + k),
            following=torch.zeros(4, 5),
            terminated=torch.full((4,), k == 2),
            ended=torch.full((4,), k == 2),
            age=torch.full((4,), k, dtype=torch.int32),
        )
    drawn = batch.sample(200)
    target = made.agent.target(drawn)[:, 0, 0]
    last = drawn.rewards[:, 0] == 3
    assert torch.equal(target[last], torch.full((int(last.sum()),), 3.0))
    second = drawn.rewards[:, 0] == 2
    torch.testing.assert_close(target[second], torch.full((int(second.sum()),), 2 + 0.99 * 3))
    rewards, discount = made.agent.returns(drawn)
    first = drawn.rewards[:, 0] == 1
    torch.testing.assert_close(rewards[first], torch.full((int(first.sum()), 1), 1 + 0.99 * 2))
    torch.testing.assert_close(discount[first], torch.full((int(first.sum()), 1), 0.99**2))
    made.close()


class TestMistakes:
    def test_observations_that_are_no_vector(self, tmp_path):
        with pytest.raises(ConfigError, match='observation="flat"'):
            trainer(tmp_path / "run", "env.observation=dict")


class TestEvaluation:
    def policy(self, folder):
        made = trainer(folder)
        made.close()
        return made.agent.policy(made.low, made.high)

    def test_does_not_depend_on_num_envs_or_threads(self, tmp_path):
        policy = self.policy(tmp_path / "run")
        seeds = evaluation.SEEDS[:7]
        found = []
        for n, threads in ((7, 1), (7, 2), (3, 1), (1, 1), (10, 2)):
            envs = evaluation.make(ID, n, threads, max_episode_steps=60)
            found.append(evaluation.evaluate(policy, envs, seeds))
            envs.close()
        for other in found[1:]:
            assert np.array_equal(found[0].returns, other.returns)
            assert np.array_equal(found[0].lengths, other.lengths)
        assert found[0].lengths.tolist() == [60] * 7
        assert len(set(found[0].returns)) > 1

    def test_is_that_of_single_environments(self, tmp_path):
        policy = self.policy(tmp_path / "run")
        envs = evaluation.make(ID, 3, 1, max_episode_steps=40)
        result = evaluation.evaluate(policy, envs, [5, 90, 6])
        for seed, total in zip((5, 90, 6), result.returns, strict=True):
            env = gymnasium.make(ID, max_episode_steps=40)
            observation, _ = env.reset(seed=seed)
            mine = 0.0
            for _ in range(40):
                observation, reward, *_ = env.step(policy(observation))
                mine += float(reward)
            assert mine == total

    def test_the_seeds_are_fixed_and_apart(self):
        assert len(set(evaluation.SEEDS)) == 100
        assert not set(evaluation.SEEDS) & set(evaluation.TRAINING_SEEDS)

    def test_statistics_are_frozen(self, tmp_path):
        made = trainer(tmp_path / "run")
        for _ in range(5):
            made.step()
        before, random = weights(made), torch.get_rng_state()
        made._evaluate()
        assert_equal(before, weights(made))
        assert torch.equal(torch.get_rng_state(), random)  # it draws nothing
        made.close()


def test_progress_says_why_there_is_no_return():
    begun, now = Progress(0, 0, 0.0, 0.0, None, None), Progress(600, 30, 60.0, 0.1, None, None)
    assert _state(begun, now).startswith("no episode has ended yet  600 steps  10 steps/s")
    assert _state(begun, dataclasses.replace(now, training_return=3.0)).startswith("return 3  ")


class TestCommands:
    def train(self, folder, *words, code=0):
        return mjgym_(
            "train", "td3", "cartpole-balance", *SMALL, "--out", folder, *words, code=code
        )

    @pytest.mark.slow
    def test_train_evaluate_compare(self, tmp_path):
        for seed in (0, 1):
            done = self.train(tmp_path / f"s{seed}", "--steps", 160, "--seed", seed)
            assert "160" in done.output
        run = Run(tmp_path / "s0")
        assert {path.name for path in run.path.iterdir()} == training_runs.FILES
        settings = run.settings()
        assert (settings["algorithm"], settings["id"], settings["steps"]) == ("td3", ID, 160)
        about = json.loads(run.fingerprint_file.read_text())
        assert about["id"] == ID
        assert about["versions"]["mujoco"]
        assert about["learner"]["command"]
        spent = [m.value for m in run.metrics() if m.metric == metrics.CPU_SECONDS]
        assert spent == sorted(spent)
        assert spent[0] > 0
        with run.metrics_file.open() as file:
            header = next(csv.reader(file))
        assert header[:6] == ["exp_name", "env_name", "seed", "metric", "env_step", "value"]

        found = json.loads(mjgym_("evaluate", run.path, "--json").stdout)
        again = json.loads(mjgym_("evaluate", run.path, "--num-envs", 30, "--json").stdout)
        assert found["returns"] == again["returns"]
        assert len(found["returns"]) == 100
        assert run.evaluation_file.exists()

        plot = tmp_path / "plot.png"
        paths = [tmp_path / "s0", tmp_path / "s1"]
        table = json.loads(mjgym_("compare", *paths, "--json", "--plot", plot).stdout)
        curves = comparison.read(paths)
        assert table["scores"][0]["runs"] == 2
        assert table["scores"][0]["last"] == pytest.approx(
            np.mean([curve.returns[-1] for curve in curves])
        )
        assert plot.stat().st_size > 5_000
        assert "td3" in mjgym_("compare", *paths).output

    @pytest.mark.weekly
    def test_scores_by_the_script(self, tmp_path):
        """The script starts without the package, unlike these tests."""
        trainer(tmp_path / "run", steps=80).train()
        for command in ("evaluate", "compare"):
            script = "import mjgym_command; mjgym_command.main()"
            assert json.loads(fresh(script, command, str(tmp_path / "run"), "--json"))

    @pytest.mark.weekly
    def test_several_seeds(self, tmp_path):
        words = ("--steps", 80, "--seeds", "3,5", "--jobs", 2)
        done = self.train(tmp_path / "run", *words)
        for seed in (3, 5):
            settings = Run(tmp_path / f"run_{seed}").settings()
            assert (settings["seed"], settings["steps"]) == (seed, 80)
            assert f"seed {seed}: run" in done.stdout
        # Nothing is begun where one of them cannot be.
        self.train(tmp_path / "run", "--steps", 80, "--seeds", "2-3", code=1)
        assert not (tmp_path / "run_2").exists()
        self.train(tmp_path / "run", "--seeds", "1-", code=2)
        self.train(tmp_path / "run", "--jobs", "2", code=2)

    def test_goes_on_with_a_longer_budget(self, tmp_path):
        self.train(tmp_path / "run", "--steps", 80)
        self.train(tmp_path / "run", "--steps", 120, code=1)
        done = self.train(tmp_path / "run", "--steps", 120, "--resume")
        assert "120" in done.output
        assert Run(tmp_path / "run").settings()["steps"] == 120

    @pytest.mark.weekly
    @pytest.mark.parametrize("budget", ["steps", "cpu_minutes"])
    def test_does_not_go_on_with_less_than_is_done(self, budget, tmp_path):
        """The budget itself is no longer one, where a last step has made it a little more."""
        run, option = Run(tmp_path / "run"), f"--{budget.replace('_', '-')}"
        self.train(run.path, "--steps", 800)  # some 0.004 minutes
        before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        less = 40 if budget == "steps" else 0.001
        done = self.train(run.path, option, less, "--resume", code=1)
        assert f"{budget}: the run has made " in " ".join(done.output.split())
        assert f"already, more than {less}" in " ".join(done.output.split())
        assert before == {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        self.train(run.path, "--steps", 800, "--resume")

    def test_a_mistake_names_the_nearest(self, tmp_path):
        done = self.train(tmp_path / "run", "n_steps=4", code=2)
        assert "did you mean n_step" in " ".join(done.stderr.split())
        done = mjgym_("train", "tb3", ID, code=2)
        assert "td3" in done.stderr
        assert not (tmp_path / "run").exists()
        done = mjgym_("evaluate", tmp_path / "none", code=2)
        assert "holds no run" in " ".join(done.stderr.split())

    @pytest.mark.weekly
    def test_a_task_of_ones_own(self, tmp_path):
        file = tmp_path / "own_balance.py"
        file.write_text(
            "from dataclasses import dataclass\n"
            "from mjgym import register\n"
            "from mjgym.tasks.dmc.cartpole import Cartpole\n"
            "@register('own/cartpole-mine-v0')\n"
            "@dataclass(frozen=True)\n"
            "class Mine(Cartpole):\n"
            "    '''Balance.'''\n"
        )
        words = ("--out", tmp_path / "run", "--steps", 80)
        mjgym_("train", "td3", f"{file}:own/cartpole-mine-v0", *SMALL, *words)
        program = "from mjgym.cli.app import main; main()"
        said = fresh(program, "evaluate", str(tmp_path / "run"), "--trust")
        assert "own/cartpole-mine-v0" in said
        kept = tmp_path / "run" / "source" / "own_balance.py"
        assert kept.read_text() == file.read_text()

    @pytest.mark.weekly
    @pytest.mark.gl
    def test_record_a_policy(self, tmp_path):
        self.train(tmp_path / "run", "--steps", 80)
        film = tmp_path / "film.gif"
        mjgym_("record", ID, "--policy", tmp_path / "run", "--steps", 4, "--out", film)
        assert film.exists()
        done = mjgym_("record", "walker-walk", "--policy", tmp_path / "run", "--out", film, code=2)
        assert "was trained with 5" in " ".join(done.stderr.split())


@lane(2, 3)
def test_a_killed_run_goes_on(tmp_path):
    """SIGKILL, which leaves no time to save anything."""
    words = ["train", "td3", ID, *SMALL, "checkpoint_minutes=0.001", "--out", str(tmp_path / "run")]
    program = [sys.executable, "-c", "from mjgym.cli.app import main; main()", *words]
    run = Run(tmp_path / "run")
    process = subprocess.Popen([*program, "--steps", "1000000"])
    try:
        while not (run.policy_file.exists() and run.metrics_file.exists()):
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    kept = torch.load(run.checkpoint_file, weights_only=True)["trainer"]["env_step"]
    assert kept > 0
    mjgym_(*words, "--steps", kept + 400, "--resume")
    steps = [row.env_step for row in run.metrics()]
    assert steps == sorted(steps)
    assert torch.load(run.checkpoint_file, weights_only=True)["trainer"]["env_step"] >= kept + 400
