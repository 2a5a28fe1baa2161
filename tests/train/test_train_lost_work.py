"""Folders of runs: one trainer at a time, and starts that fail are not in the way."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from helpers.training_runs import ID, SMALL, SMALL_REPLAY, mjgym_, trainer
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym_train import metrics
from mjgym_train.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.torch]

HOLDER = """
import sys, time
from mjgym.util import atomic
with atomic.held(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that works in `tmp_path / "run"`."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    yield other
    other.kill()
    other.wait()
    other.stdout.close()


def train(folder, *words, code=0):
    budget = ("--steps", 80, "--out", folder)
    return mjgym_("train", "td3", ID, *SMALL_REPLAY, *budget, *words, code=code)


@pytest.mark.weekly
@pytest.mark.parametrize("words", [(), ("--overwrite",)], ids=str)
def test_a_folder_in_use_is_refused_with_its_holder(tmp_path, holder, words):
    said = " ".join(train(tmp_path / "run", *words, code=1).stderr.split())
    assert f"is in use by process {holder.pid} on" in said
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]


def test_two_that_resume(tmp_path):
    trainer(tmp_path / "run", *SMALL_REPLAY, algorithm="td3", steps=80).train()
    before = Run(tmp_path / "run").metrics_file.read_bytes()
    with atomic.held(tmp_path / "run"):
        said = train(tmp_path / "run", "--resume", "--steps", 160, code=1).stderr
        assert f"is in use by process {os.getpid()}" in " ".join(said.split())
        again = trainer(tmp_path / "run", *SMALL_REPLAY, algorithm="td3", steps=160, resume=True)
        with pytest.raises(RunError, match="is in use by"):
            again.train()
    assert Run(tmp_path / "run").metrics_file.read_bytes() == before


def test_a_score_is_of_the_policy_beside_it(tmp_path):
    run = Run(tmp_path / "run")
    trainer(run.path, *SMALL_REPLAY, algorithm="td3", steps=80).train()
    run.write_json(run.evaluation_file, {"mean": 1.0})
    trainer(run.path, *SMALL_REPLAY, algorithm="td3", steps=80, resume=True).train()
    assert run.evaluation_file.exists()  # the same policy
    trainer(run.path, *SMALL_REPLAY, algorithm="td3", steps=160, resume=True).train()
    assert not run.evaluation_file.exists()


def test_a_killed_process_holds_nobody_up(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run" / ".lock").exists()
    train(tmp_path / "run")
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_start_without_the_package_of_a_writer_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    said = train(tmp_path / "run", "wandb=mine", code=1).stderr
    assert "Weights & Biases is not installed" in said
    assert not (tmp_path / "run").exists()


def test_a_late_failure_is_not_in_the_way(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mjgym_train.learn.source.keep", fail)
        assert "No space left" in train(tmp_path / "run", code=1).stderr
    assert not (tmp_path / "run").exists()
    train(tmp_path / "run")


TASK = """
import mjgym
from mjgym.tasks.dmc.cartpole import Cartpole


@mjgym.register("own/pole-v0")
class Pole(Cartpole):
    "A pole."
"""


@pytest.mark.usefixtures("own_ids")
def test_the_next_command_has_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--trust" not in train("plain").stdout
    Path("mine.py").write_text(TASK)
    words = (*SMALL_REPLAY, "--steps", 80, "--out", "own")
    said = mjgym_("train", "td3", "mine.py", *words).stdout
    assert "next: mjgym evaluate own --trust" in said


def test_compare_leaves_out_a_run_without_an_evaluation(tmp_path):
    train(tmp_path / "whole")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_text("seed: 0\n")
    done = mjgym_("compare", *sorted(tmp_path.iterdir()))
    assert f"left out: {tmp_path / 'begun'} has no metrics yet" in done.stderr
    assert ID in done.stdout


NAN = """
import mjgym
from mjgym.tasks.dmc.cartpole import Cartpole


@mjgym.register("own/nan-v0")
class Nan(Cartpole):
    "A reward that is not finite after some steps, or in some episodes."

    def terms(self, v):
        past = (v.time > 0.055) & ((v.ctrl[..., 0] > 0) | (True if ALWAYS else False))
        return {"bad": v.xp.where(past, float("nan"), 1.0)}
"""


@pytest.mark.usefixtures("own_ids")
@pytest.mark.parametrize("algorithm", ["td3", "ppo"])
def test_a_run_whose_episodes_all_diverge_ends(algorithm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nan.py").write_text(NAN.replace("ALWAYS", "True"))
    small = SMALL_REPLAY if algorithm == "td3" else SMALL
    words = (*small, "stagger=false", "--steps", 4000, "--out", "own")
    with pytest.warns(UserWarning, match="100% of the episodes diverged"):
        done = mjgym_("train", algorithm, "nan.py", *words, code=1)
    said = " ".join(done.stderr.split())
    assert "the last 10 episodes of every sub-environment diverged" in said
    assert "`mjgym check own/nan-v0` looks for the cause" in said
    shares = [m for m in Run(tmp_path / "own").metrics() if m.metric == metrics.DIVERGED]
    assert shares
    assert {m.value for m in shares} == {1.0}
    assert max(m.env_step for m in shares) < 1000


@pytest.mark.weekly
@pytest.mark.usefixtures("own_ids")
def test_some_episodes_that_diverge_are_a_share_and_one_warning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nan.py").write_text(NAN.replace("ALWAYS", "False").replace("0.055", "0.255"))
    words = (*SMALL_REPLAY, "--steps", 800, "--out", "own")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mjgym_("train", "td3", "nan.py", *words)
    told = [str(w.message) for w in caught if "episodes diverged" in str(w.message)]
    assert len(told) == 1
    shares = [m.value for m in Run(tmp_path / "own").metrics() if m.metric == metrics.DIVERGED]
    assert max(shares) > 0
