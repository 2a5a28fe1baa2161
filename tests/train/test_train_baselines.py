"""Scores of random and zero actions: the file has every id, and is what is measured."""

import csv
import dataclasses
import importlib
import json
import sys
from pathlib import Path

import pytest

from helpers.lanes import lane
from helpers.registered import packaged_ids
from helpers.training_runs import ID, mjgym_
from mjgym.policies import trained
from mjgym_train import baselines, evaluation, metrics
from mjgym_train.run import Run

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from training import random_and_zero

pytestmark = pytest.mark.torch

SCRIPTS = Path(__file__).parents[2] / "scripts"
SWINGUP = "dmc/cartpole-swingup-v0"


def test_every_id_has_both():
    assert set(baselines.read()) == {
        (id, policy) for id in packaged_ids() for policy in baselines.POLICIES
    }


def test_numbers_fit_together():
    for row in baselines.read().values():
        assert row.lowest <= row.mean <= row.highest
        rounding = 1e-4 * max(abs(row.lowest), abs(row.highest))  # five digits are kept
        assert row.std <= (row.highest - row.lowest) / 2 + rounding
        assert row.episodes == len(evaluation.SEEDS)
        assert row.steps > 0


@pytest.mark.weekly
@pytest.mark.parametrize("policy", baselines.POLICIES)
def test_the_file_is_what_is_measured(policy):
    """On a task without contacts, whose numbers do not swing with the processor."""
    kept = baselines.recorded(ID)[policy]
    found = random_and_zero.measure(ID, policy)
    assert (found.episodes, found.steps) == (kept.episodes, kept.steps)
    assert found.mean == pytest.approx(kept.mean, rel=1e-3)
    assert found.std == pytest.approx(kept.std, rel=1e-2)


@pytest.mark.weekly
def test_ids_that_differ_in_what_they_observe_have_the_same_episodes():
    ids = [f"manipulation/reach_site_{kind}-v0" for kind in ("features", "vision")]
    assert random_and_zero.alike(ids[0]) == ids
    assert random_and_zero.alike(ID) == [ID]
    first, other = (random_and_zero.measure(id, "random", evaluation.SEEDS[:2]) for id in ids)
    assert dataclasses.replace(other, id=ids[0]) == first


def test_what_is_written_is_read_again(tmp_path):
    row = baselines.Baseline("dmc/x-v0", "random", 20, 1000, 1.5, 0.25, 1.0, 2.0, "4.0.1")
    other = baselines.Baseline("dmc/x-v0", "zero", 20, 1000, 0.0, 0.0, 0.0, 0.0, "4.0.0")
    random_and_zero.write([other, row], tmp_path / "b.csv")
    found = baselines.read(tmp_path / "b.csv")
    assert list(found.values()) == [row, other]
    assert baselines.read(tmp_path / "none.csv") == {}


def test_compare_shows_them(tmp_path):
    file = tmp_path / "metrics.csv"
    metrics.append(file, [metrics.Metric("a", ID, 0, metrics.RETURN, 100, 900.0)])
    metrics.append(file, [metrics.Metric("a", "own/task-v0", 0, metrics.RETURN, 100, 3.0)])
    wanted = baselines.recorded(ID)["random"].mean
    found = json.loads(mjgym_("compare", file, "--json").stdout)["scores"]
    assert {score["id"]: score["random"] for score in found} == {ID: wanted, "own/task-v0": None}
    assert f"{wanted:.1f}" in mjgym_("compare", file).output


@pytest.mark.slow
def test_scores_are_normalised_by_random_actions_and_the_bundled_policy():
    """As D4RL does: 0 and 100."""
    low, high = baselines.recorded(ID)["random"].mean, trained.bundled(ID).about.mean
    assert baselines.normalized(ID, low) == 0
    assert baselines.normalized(ID, high) == pytest.approx(100)
    assert baselines.normalized(ID, (low + high) / 2) == pytest.approx(50)
    assert baselines.normalized("dmc/manipulator-insert_peg-v0", 1.0) is None  # no policy
    assert baselines.normalized("own/task-v0", 1.0) is None
    found = json.loads(mjgym_("evaluate", ID, "--episodes", 1, "--json").stdout)
    assert found["normalized"] == pytest.approx(baselines.normalized(ID, found["mean"]))


@lane(1, 5)
def test_offline_sets_of_a_task_and_what_is_learned_from_them(tmp_path, monkeypatch):
    """By the script, whose commands run here, with tiny budgets; nothing is made again."""
    pytest.importorskip("h5py")
    monkeypatch.syspath_prepend(SCRIPTS)
    script = importlib.import_module("make_offline_data")

    def small(command, *words):
        brief = ("evaluations=1", "evaluation_episodes=1") if command == "train" else ()
        mjgym_(command, *words, *brief)

    monkeypatch.setattr(script, "mjgym", small)
    words = ("--episodes", 2, "--chunk", 2_500, "--most", 2_500, "--out", tmp_path, SWINGUP)
    monkeypatch.setattr(sys, "argv", ["make_offline_data.py", *map(str, words)])
    script.main()
    with (tmp_path / "scores.csv").open() as file:
        rows = {row["set"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["expert", "replay", "medium"]
    assert float(rows["expert"]["normalized"]) > 90
    assert float(rows["expert"]["normalized"]) > float(rows["medium"]["normalized"])
    assert (rows["expert"]["episodes"], rows["expert"]["steps"]) == ("2", "2000")
    folder = tmp_path / "cartpole-swingup-v0"
    for data in (folder / "expert.hdf5", folder / "replay"):
        place = folder / f"td3_bc_{data.stem}"
        about = script.learned(SWINGUP, "td3_bc", data, place, 20)
        assert (about["episodes"], about["steps"]) == (100, 20)
        assert Run(place).settings()["rewards"] == "recorded"  # the task's own
    reached = script.demonstrations("dmc/reacher-easy-v0", "trained", tmp_path / "reach.hdf5", 2)
    assert reached["steps"] == 2_000  # success does not end them
    monkeypatch.setattr(script, "mjgym", lambda *words: pytest.fail(f"made again: {words}"))
    script.main()
