"""One name for one thing on the command line, and its completions."""

import csv
import os
import re
import shlex
import subprocess
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from helpers import commands
from helpers.lanes import mostly_nightly
from helpers.training_runs import SMALL_REPLAY
from mjgym.cli.app import app
from mjgym.cli.bench import measure
from mjgym.cli.policy_option import load_policy
from mjgym.tasks.locomotion.soccer import scripted
from mjgym_train import comparison
from mjgym_train.run import Run

ID = "dmc/cartpole-balance-v0"


def run(*arguments):
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, [str(a) for a in arguments])


def completed(*words):
    """The values that bash shows for the last word."""
    line = {
        "_MJGYM_COMPLETE": "complete_bash",
        "COMP_WORDS": shlex.join(["mjgym", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner(env=line).invoke(app, [], prog_name="mjgym").output.split()


class TestCompletion:
    def test_algorithms_ids_and_settings_of_train(self):
        assert completed("train", "pp") == ["ppo"]
        assert "dmc/walker-walk-v0" in completed("train", "td3", "dmc/walker-w")
        assert completed("train", "td3", "walker-walk", "n_st") == ["n_step="]

    def test_policies(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "runs" / "td3_walker-walk_0"
        folder.mkdir(parents=True)
        (folder / "config.yaml").touch()
        assert completed("view", "walker-walk", "--policy", "r") == [
            "random",
            "random_shooting",
            "runs/td3_walker-walk_0",
        ]
        assert completed("record", "walker-walk", "--policy", "random,s") == ["random,scripted"]

    @pytest.mark.parametrize("command", ["view", "record", "teleop"])
    def test_cameras_of_the_task(self, command):
        assert completed(command, "walker-walk", "--camera", "") == ["side", "back", "-1"]

    @pytest.mark.parametrize("command", ["view", "record", "teleop", "info", "check"])
    def test_arguments_of_the_task(self, command):
        assert completed(command, "walker-walk", "--set", "sp") == ["speed="]


class TestOneName:
    @pytest.mark.parametrize("command", ["view", "record"])
    def test_num_envs(self, command):
        assert "--num-envs" in run(command, "--help").output
        assert run(command, ID, "--envs", 2).exit_code == 2

    @pytest.mark.slow
    def test_set_in_train(self, tmp_path):
        out = tmp_path / "run"
        words = ("train", "td3", ID, *SMALL_REPLAY, "--steps", 40, "--out", out)
        done = run(*words, "--set", "time_limit=0.2")
        assert done.exit_code == 0, done.output
        assert Run(out).settings()["env"] == {"max_episode_steps": 30, "time_limit": 0.2}
        assert "env." not in run("train", "--help").output

    def test_set_without_a_value(self):
        done = run("train", "td3", ID, "--set", "speed")
        assert done.exit_code == 2
        assert "'speed' is not of the form name=value" in done.output


class TestOverwrite:
    def words(self, out, *more):
        return ("train", "td3", ID, *SMALL_REPLAY, "--steps", 80, "--out", out, *more)

    @pytest.mark.weekly
    def test_replaces_a_run_and_nothing_else(self, tmp_path):
        out = tmp_path / "run"
        assert run(*self.words(out, "--seed", 1)).exit_code == 0
        (out / "notes.txt").write_text("mine")
        (out / "evaluation.json").write_text("{}")
        refused = run(*self.words(out))
        assert refused.exit_code == 1
        assert "or replace it with --overwrite" in " ".join(refused.output.split())
        done = run(*self.words(out, "--seed", 2, "--overwrite"))
        assert done.exit_code == 0, done.output
        assert Run(out).settings()["seed"] == 2
        assert not (out / "evaluation.json").exists()
        assert (out / "notes.txt").read_text() == "mine"
        rows = list(csv.DictReader((out / "metrics.csv").open()))
        assert {float(row["seed"]) for row in rows} == {2}

    @pytest.mark.weekly
    def test_keeps_the_old_run_where_the_new_one_cannot_begin(self, tmp_path):
        out = tmp_path / "run"
        assert run(*self.words(out)).exit_code == 0
        before = (out / "config.yaml").read_bytes()
        assert run(*self.words(out, "--overwrite", "--set", "speeed=1")).exit_code != 0
        assert (out / "config.yaml").read_bytes() == before
        assert (out / "policy.npz").exists()

    def test_goes_not_with_resume(self, tmp_path):
        done = run(*self.words(tmp_path / "run", "--overwrite", "--resume"))
        assert "give either --resume or --overwrite" in " ".join(done.output.split())


@pytest.mark.weekly
def test_the_ratio_of_bench_is_that_of_the_rates_beside_it():
    (result,) = measure(["dmc/pendulum-swingup-v0"], [1], 0.01, 1, None)["results"]
    rates = result["steps_per_second"], result["limit_steps_per_second"]
    assert result["ratio_to_limit"] == rates[0] / rates[1]
    shown = run("bench", "pendulum-swingup", "--num-envs", "1", "--seconds", "0.01").output
    assert re.search(r"\d\.\d{3}\b", shown)


def test_a_plot_shows_all_time_of_each_run():
    """Two seeds of one experiment, one of which goes on for three times as long."""
    curves = [
        comparison.Curve(
            "a",
            ID,
            seed,
            steps=np.arange(0.0, last + 1, 50),
            seconds=np.arange(0.0, last + 1, 50) / 10,
            returns=np.arange(0.0, last + 1, 50) + seed,
            updates=np.arange(0.0, last + 1, 50),
        )
        for seed, last in enumerate((100, 300))
    ]
    for by, end in (("steps", 0.3), ("seconds", 0.5)):
        axis = Figure().subplots()
        comparison.panel(axis, curves, ID, by)
        mean, longer = axis.get_lines()
        assert mean.get_xdata()[-1] == pytest.approx(end / 3)
        assert longer.get_xdata()[0] == pytest.approx(end / 3)
        assert longer.get_xdata()[-1] == pytest.approx(end)
        assert longer.get_ydata()[-1] == 301


class TestScripted:
    @pytest.mark.parametrize(
        "policy", mostly_nightly(["scripted,random", "scripted,scripted", "random,scripted"], 3)
    )
    def test_either_team(self, policy, tmp_path):
        out = tmp_path / "match.png"
        words = ("record", "soccer/boxhead-2v2-v0", "--policy", policy, "--steps", 3, "--out", out)
        done = run(*words, "--width", 32, "--height", 24)
        assert done.exit_code == 0, done.output
        assert out.exists()

    def test_the_home_team_does_as_its_function(self):
        id = "soccer/boxhead-2v2-v0"
        flat, named = gym.make(id), gym.make(id, observation="dict")
        act = load_policy("scripted", flat)
        seen, entries = flat.reset(seed=0)[0], named.reset(seed=0)[0]
        for _ in range(5):
            action = scripted.team(entries)
            assert np.allclose(act(seen), action, atol=1e-5)
            seen, entries = flat.step(action)[0], named.step(action)[0]

    def test_what_else_there_is_is_named(self):
        said = run("demos", "walker-walk", "--out", "x.hdf5").output.replace("│", " ")
        said = " ".join(said.split())
        assert "There is no scripted policy for dmc/walker-walk-v0" in said
        assert "--expert mppi" in said
        assert "Walker the method scripted_policy" in said


def test_a_name_that_is_not_utf8_is_refused_by_a_sentence(tmp_path):
    name = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.xml")
    Path(name).write_text("<mujoco/>")
    done = commands.run_alone([str(commands.SCRIPT), "mjcf", "check", name], tmp_path, os.environ)
    assert done.returncode == 1
    assert "not UTF-8; rename the file" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("where", "status", "said"),
    [
        (">/dev/full", 1, "No space left on device"),
        (">&-", 0, ""),
        ("| head -n 1 >/dev/null", 0, ""),
    ],
)
def test_what_is_printed_may_have_no_place(where, status, said, tmp_path):
    """Full, closed, or with a reader that has gone."""
    command = f"set -o pipefail; {commands.SCRIPT} guide tasks {where}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode in (status, 1 if "head" in where else status), done.stderr
    assert done.stderr.strip() == said


def test_a_windows_path_is_a_path():
    done = run("check", "C:\\tasks\\rail.py")
    assert done.exit_code == 2
    assert "there is no file C:\\tasks\\rail.py" in " ".join(done.output.split())
