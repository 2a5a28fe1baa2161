"""Trained policies that come with the package: what they score, what they refuse, how they are
written."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
import typer
import yaml

from helpers import training_runs
from helpers.registered import packaged_ids
from helpers.training_runs import ID, mjgym_

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import bundle_policy
from bundle_policy import Beside, RefusedError, TorchPolicy

from helpers.lanes import lane, mostly_nightly
from mjgym.cli import task_arguments
from mjgym.cli.policy_option import arguments_for, load_policy, spaces_complaint
from mjgym.policies import trained
from mjgym.policies.network import Policy
from mjgym_train import evaluation, score_table
from mjgym_train.cli.subjects import subject_of
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

IDS = trained.ids()
BY_IMAGES = trained.ids(pixels=True)
SEEDS = 2  # of the short check


def replayed(id: str, count: int, pixels: bool) -> np.ndarray:
    """Returns of the first seeds that a policy of the package was scored with."""
    subject = subject_of(id, None, None, trust=False, pixels=pixels)
    envs = evaluation.make(id, count, 1, **subject.env)
    found = evaluation.evaluate(subject.policy, envs, evaluation.SEEDS[:count])
    envs.close()
    return found.returns


def assert_scores(id: str, count: int, *, pixels: bool = False) -> None:
    """It earns what its file says, within the spread of its own episodes."""
    about = trained.bundled(id, pixels=pixels).about
    found, stated = replayed(id, count, pixels).mean(), np.mean(about.returns[:count])
    # Another processor rounds otherwise, and an episode may take another way from there.
    assert abs(found - stated) <= 3 * about.std / np.sqrt(count) + 1e-3 * stated


class TestOfThePackage:
    @pytest.mark.parametrize(
        ("id", "pixels"),
        [
            pytest.param(id, pixels, marks=[pytest.mark.gl] * pixels + [lane(i)] * (i % 6 > 0))
            for i, (id, pixels) in enumerate(trained.every())
        ],
    )
    def test_says_what_it_is(self, id, pixels):
        found = trained.bundled(id, pixels=pixels)
        assert found.about.pixels == pixels
        assert id in packaged_ids()
        assert (found.about.id, found.about.fingerprint["id"]) == (id, id)
        assert len(found.about.returns) == len(evaluation.SEEDS)
        assert found.about.env_step >= found.about.updates > 0
        assert trained.file(id, pixels=pixels).stat().st_size <= trained.LIMIT
        assert {"algorithm", "seed", "env"} <= set(found.about.settings)
        command = found.about.fingerprint.get("learner", {}).get("command", "")
        assert not re.search(r"(^|[ =])/", command)  # a folder of the machine that trained it
        env = gymnasium.make(id, **found.about.arguments)
        found.about.check(env)
        assert env.action_space.contains(found.policy(env.reset(seed=0)[0]).astype(np.float32))

    @pytest.mark.parametrize("id", mostly_nightly(IDS, quick=5))
    def test_sees_what_its_commands_show_it(self, id):
        subject = subject_of(id, None, None, trust=False)
        env = gymnasium.make(id, **subject.env)
        assert spaces_complaint(subject.name, subject.policy, env) == ""

    @pytest.mark.weekly
    def test_acts_in_what_a_command_makes_for_it(self):
        """With the arguments that it was scored with, unless the user sets others."""
        id = "l2m/walk_around-v0"
        assert arguments_for("random", id) == {}
        env = task_arguments.make(id, None, **arguments_for("trained", id))
        assert env.unwrapped.task.seen_field == "sink"
        action = load_policy("trained", env)(env.reset(seed=0)[0])
        assert env.action_space.contains(action.astype(np.float32))
        other = task_arguments.make(id, ["seen_field=map"], **arguments_for("trained", id))
        with pytest.raises(typer.BadParameter, match="it was trained with seen_field='sink'"):
            load_policy("trained", other)

    @lane(3, 5)
    @pytest.mark.gl
    @pytest.mark.parametrize("id", BY_IMAGES)
    def test_one_by_images_acts_where_these_are_observed(self, id):
        """By the words of a command and by their score, images included."""
        env = task_arguments.make(
            id, seen := ["observation=pixels"], **arguments_for("trained", id, seen)
        )
        action = load_policy("trained", env)(env.reset(seed=0)[0])
        assert env.action_space.contains(action.astype(np.float32))
        env.close()
        about = trained.bundled(id, pixels=True).about
        assert "from images" in about.text()
        done = mjgym_("evaluate", id, "--pixels", "--seeds", evaluation.SEEDS[0], "--json")
        found = json.loads(done.stdout)
        assert found["baselines"].keys() == {"random", "zero"}
        assert 0.0 <= found["mean"] <= 1000.0

    @lane(2, 5)
    @pytest.mark.gl
    @pytest.mark.parametrize("id", BY_IMAGES)
    def test_one_by_images_earns_what_it_says(self, id):
        assert_scores(id, SEEDS, pixels=True)

    @pytest.mark.parametrize("id", mostly_nightly(IDS, 7, IDS[:1]))
    def test_earns_what_it_says(self, id):
        assert_scores(id, SEEDS)


@lane(1, 5)
def test_one_earns_what_it_says_with_all_seeds():
    assert_scores("dmc/cheetah-run-v0", len(evaluation.SEEDS))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return short_run(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a short run, to be changed."""
    return Run(shutil.copytree(finished.path, tmp_path / "run"))


def short_run(folder: Path, *settings: str, algorithm: str = "td3", **given) -> Run:
    small = training_runs.SMALL if algorithm == "ppo" else training_runs.SMALL_REPLAY
    torch.set_num_threads(1)
    made = training_runs.trainer(folder, *small, *settings, algorithm=algorithm, **given)
    made.train()
    return made.run_folder


def shelf(monkeypatch, folder: Path, run: Run, **changed) -> trained.About:
    """Make a run's policy, with a made-up score, the only one that the package has."""
    about = trained.About(
        settings=run.settings(),
        env_step=240,
        updates=20,
        minutes=0.1,
        returns=(100.0,) * 100,
        fingerprint={**json.loads(run.fingerprint_file.read_text()), **changed},
    )
    monkeypatch.setattr(trained, "FOLDER", folder)
    trained.file(ID).parent.mkdir(parents=True)
    trained.file(ID).write_bytes(trained.Trained(run.policy(), about).packed())
    return about


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("td3", ()),
        pytest.param("ddpg", ("history=3", "normalize_observations=false"), marks=pytest.mark.slow),
        pytest.param("sac", ("hidden=[32, 8, 16]", "layer_norm=false"), marks=pytest.mark.slow),
        pytest.param("ppo", ("history=2",), marks=pytest.mark.slow),
    ],
)
def test_numpy_computes_what_torch_does(algorithm, settings, tmp_path):
    """On the observations of three episodes, to the rounding of single precision."""
    run = short_run(tmp_path / "run", *settings, algorithm=algorithm)
    policy = run.policy()
    beside = Beside(policy, TorchPolicy(run, policy))
    envs = evaluation.make(ID, 3, 1, max_episode_steps=80)
    evaluation.evaluate(beside, envs, evaluation.SEEDS[:3])
    envs.close()
    assert beside.distance < 1e-5
    policy.layers[-1]["bias"] = policy.layers[-1]["bias"] + 0.1
    changed = Beside(policy, TorchPolicy(run, policy))
    changed(np.zeros((3, len(policy.mean)), np.float32))
    assert changed.distance > 1e-2


@pytest.mark.slow
class TestBundling:
    @pytest.mark.weekly
    def test_a_run_becomes_a_file(self, run, tmp_path):
        found = bundle_policy.bundled(run.path)
        said = bundle_policy.put(found, tmp_path / "policies")
        path = tmp_path / "policies" / f"{ID}.npz"
        assert f"after 240 steps of TD3: {path}" in said
        again = trained.read(path)
        assert again.about == found.about
        assert again.about.settings == run.settings()
        envs = evaluation.make(ID, 100, **run.settings()["env"])
        scored = evaluation.evaluate(again.policy, envs)
        envs.close()
        assert again.about.mean == pytest.approx(scored.returns.mean(), rel=1e-5)
        observation = np.random.default_rng(0).normal(size=(5, 5))
        assert np.array_equal(again.policy(observation), run.policy()(observation))

    def test_the_better_one_on_other_seeds_is_kept(self, run, tmp_path):
        found = bundle_policy.bundled(run.path)
        envs = evaluation.make(ID, 100, **run.settings()["env"])
        scored = evaluation.evaluate(found.policy, envs, evaluation.TRAINING_SEEDS)
        envs.close()
        assert found.about.validation == pytest.approx(scored.returns.mean(), rel=1e-5)
        assert found.about.validation_success is None

        def changed(**about) -> trained.Trained:
            return trained.Trained(found.policy, trained.About(**{**vars(found.about), **about}))

        better = changed(validation=900.0, returns=(5.0,) * 100)
        said = "stays, with 5 ± 0"
        bundle_policy.put(better, tmp_path)
        assert said in bundle_policy.put(changed(returns=(950.0,) * 100), tmp_path)
        assert trained.read(tmp_path / f"{ID}.npz").about.validation == 900.0
        assert bundle_policy.share(better.about) == 0.9
        settings = {**found.about.settings, "id": "robosuite/Lift-v0"}
        goal = changed(validation=900.0, validation_success=0.25, settings=settings)
        assert bundle_policy.share(goal.about) == 0.25

    def test_one_that_reaches_too_little_is_refused(self, run, tmp_path, capsys):
        words = [str(run.path), "--out", str(tmp_path / "policies"), "--least", "0.9"]
        assert bundle_policy.main(words) == 1
        assert "and 90% is asked for" in capsys.readouterr().err
        assert not (tmp_path / "policies").exists()

    def test_half_the_bytes(self, run, tmp_path):
        found = bundle_policy.bundled(run.path, half=True)
        bundle_policy.put(found, tmp_path)
        again = trained.read(tmp_path / f"{ID}.npz")
        with np.load(tmp_path / f"{ID}.npz") as file:
            assert {file[name].dtype.name for name in file.files if "." in name} == {"float16"}
        assert again.about == found.about
        assert {x.dtype for layer in again.policy.layers for x in layer.values()} == {
            np.dtype(np.float32)
        }
        observation = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float32)
        acted = again.policy(observation)
        assert np.array_equal(acted, found.policy(observation))
        np.testing.assert_allclose(acted, run.policy()(observation), atol=1e-2)

    def test_another_score_is_refused(self, run):
        run.write_json(run.evaluation_file, {"returns": [900.0] * 100})
        with pytest.raises(RefusedError, match=r"by NumPy, and 900.0 in the run's evaluation"):
            bundle_policy.bundled(run.path)

    def test_another_policy_than_the_checkpoints_is_refused(self, run):
        policy = run.policy()
        policy.layers[0]["weight"] = policy.layers[0]["weight"] * 1.5
        policy.save(run.policy_file)
        with pytest.raises(RefusedError, match="its actions differ by"):
            bundle_policy.bundled(run.path)

    def test_another_task_is_refused(self, tmp_path):
        run = short_run(tmp_path / "run", "env.swingup=true", steps=80)
        with pytest.raises(RefusedError, match="trained with swingup=True, here swingup=False"):
            bundle_policy.bundled(run.path)

    @pytest.mark.weekly
    @pytest.mark.gl
    def test_one_that_acts_by_images_has_a_place_beside(self, tmp_path, monkeypatch):
        score = bundle_policy._score
        monkeypatch.setattr(
            bundle_policy, "_score", lambda *given: score(*given[:2], evaluation.SEEDS[:2])
        )
        seen = ("env.observation=pixels", "env.pixels={width: 32, height: 32}", "channels=4")
        run = short_run(tmp_path / "run", *seen, "history=2", "evaluations=0", steps=80)
        found = bundle_policy.bundled(run.path, half=True)
        bundle_policy.put(found, tmp_path / "policies")
        path = tmp_path / "policies" / "pixels" / f"{ID}.npz"
        again = trained.read(path)
        assert again.about.pixels
        assert again.about.env_step == 80
        observation = np.random.default_rng(0).integers(256, size=(3, 32, 32, 3))
        acted = again.policy(observation)
        assert np.array_equal(acted, found.policy(observation))
        np.testing.assert_allclose(acted, run.policy()(observation), atol=1e-2)

    def test_ensembles_are_refused(self, tmp_path, capsys):
        whole = short_run(tmp_path / "whole", "ensemble=[{}, {history: 2}]", steps=80)
        words = [str(whole.path), str(tmp_path / "none")]
        assert bundle_policy.main([*words, "--out", str(tmp_path / "policies")]) == 1
        said = capsys.readouterr().err.splitlines()
        assert said[0] == f"{whole.path}: it is the policy of an ensemble: train one agent alone"
        assert "holds no run" in said[1]
        assert not (tmp_path / "policies").exists()

    @lane(0, 3)
    def test_the_score_tables_policies_are_bundled(self, tmp_path, capsys, monkeypatch):
        """With the score and origin of the table; not those that score another return."""
        scores, score = [], bundle_policy._score

        def once(*given):  # of a hundred episodes
            scores[:] = scores or [score(*given)]
            return scores[0]

        monkeypatch.setattr(bundle_policy, "_score", once)
        name = "dmc/ball_in_cup-catch-v0_0.yaml"
        file = score_table.FOLDER / "td3" / name
        entry = yaml.safe_load(file.read_text())
        assert bundle_policy.main([str(file), "--out", str(tmp_path)]) == 0
        about = trained.about_of(tmp_path / "dmc" / "ball_in_cup-catch-v0.npz")
        assert about.mean == pytest.approx(entry["score"], rel=1e-2)
        assert (about.env_step, about.settings["seed"]) == (entry["env_step"], entry["seed"])

        other = tmp_path / "td3" / name
        other.parent.mkdir(parents=True)
        other.with_suffix(".npz").write_bytes(file.with_suffix(".npz").read_bytes())
        (tmp_path / "td3.yaml").write_bytes(score_table.method_file("td3").read_bytes())
        other.write_text(yaml.safe_dump({**entry, "score": 800.0}))
        assert bundle_policy.main([str(other), "--out", str(tmp_path)]) == 1
        assert "and 800.0 in the table" in capsys.readouterr().err

    def test_a_damaged_file_of_the_score_table_is_refused(self, tmp_path, capsys):
        file = tmp_path / "mine" / "dmc" / "ball_in_cup-catch-v0_0.yaml"
        file.parent.mkdir(parents=True)
        source = score_table.FOLDER / "td3" / "dmc" / file.name
        file.write_bytes(source.read_bytes())
        assert bundle_policy.main([str(file)]) == 1  # has no policy beside
        file.with_suffix(".npz").write_bytes(source.with_suffix(".npz").read_bytes())
        assert bundle_policy.main([str(file)]) == 1
        errors = capsys.readouterr().err.splitlines()
        assert f"{file} is damaged: " in errors[0]
        assert "mine is no method of" in errors[1]

    def test_a_large_one_is_refused(self, run, tmp_path):
        layers = [{"weight": np.random.default_rng(0).normal(size=(500, 500)), "bias": np.zeros(5)}]
        about = trained.About(run.settings(), 1, 1, 1.0, (1.0,), {})
        large = trained.Trained(Policy(layers, *[np.zeros(5)] * 4), about)
        with pytest.raises(RefusedError, match="of 300,000 at most"):
            bundle_policy.put(large, tmp_path)


class TestPlaying:
    def refused(self, *words) -> str:
        done = mjgym_("record", *words, "--policy", "trained", "--out", "x.png", code=2)
        return " ".join(done.stderr.replace("│", " ").split())

    def test_what_is_refused(self, run, tmp_path, monkeypatch):
        """Another id, other arguments, other spaces; each says why."""
        shelf(monkeypatch, tmp_path / "policies", run)
        monkeypatch.chdir(tmp_path)
        said = self.refused("walker-walk")
        assert f"dmc/walker-walk-v0 has no trained policy; there are {ID}" in said
        said = self.refused(ID, "--set", "poles=2")
        assert "it was trained with poles=1, here poles=2" in said
        said = self.refused(ID, "--set", "observation=dict")
        assert "was trained with 5 observed numbers and 1 actions; here there are no and 1" in said
        assert not (tmp_path / "x.png").exists()

    def test_a_fixed_command_is_followed(self):
        about = trained.bundled("legged/go1-velocity-v0").about
        about.check(gymnasium.make(about.id, command=(0.5, 0.0, 0.2)))
        with pytest.raises(trained.TrainedError, match="lin_vel_x"):
            about.check(gymnasium.make(about.id, lin_vel_x=(0.0, 1.0)))

    def test_another_model_is_refused_where_hashes_can_be_compared(
        self, run, tmp_path, monkeypatch
    ):
        about = shelf(monkeypatch, tmp_path / "policies", run, model_sha256="other")
        assert "on another model" in self.refused(ID)
        versions = {**about.fingerprint["versions"], "mujoco": "3.0.0"}
        elsewhere = {**about.fingerprint, "versions": versions}
        trained.About(**{**vars(about), "fingerprint": elsewhere}).check(gymnasium.make(ID))

    def test_another_task_of_the_same_name_is_refused(self, run, tmp_path, monkeypatch):
        shelf(monkeypatch, tmp_path / "policies", run, task="mine:Cartpole")
        assert f"it was trained on {ID} (mine:Cartpole), here is {ID}" in self.refused(ID)

    @pytest.mark.slow
    def test_it_acts_in_one_environment_and_in_a_batch(self, run, tmp_path, monkeypatch):
        from mjgym.cli.policy_option import load_policy

        shelf(monkeypatch, tmp_path / "policies", run)
        env, envs = gymnasium.make(ID), gymnasium.make_vec(ID, 3, dtype="float64")
        one, several = load_policy("trained", env), load_policy("trained", envs)
        observations, _ = envs.reset(seed=5)
        actions = several(observations)
        assert np.array_equal(actions, run.policy()(observations))
        assert np.array_equal(actions[0], one(env.reset(seed=5)[0]))

    @lane(4, 5)
    @pytest.mark.gl
    def test_it_is_filmed_without_torch_and_yaml(self, run, tmp_path, monkeypatch):
        shelf(monkeypatch, tmp_path / "policies", run)
        program = f"""
            import sys
            from pathlib import Path
            sys.modules.update(dict.fromkeys(("torch", "yaml", "matplotlib", "tensorboard")))
            from mjgym.policies import trained
            trained.FOLDER = Path({str(tmp_path / "policies")!r})
            from mjgym.cli.app import main
            sys.argv = ["mjgym", "record", {ID!r}, "--policy", "trained", "--steps", "3"]
            sys.argv += ["--out", {str(tmp_path / "film.gif")!r}]
            main()
        """
        subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)
        assert (tmp_path / "film.gif").stat().st_size > 1000
