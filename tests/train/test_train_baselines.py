"""Scores of random and zero actions: the file has every id, and is what is measured."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from helpers.suite import packaged_ids
from helpers.training_runs import ID, mjgym_
from mjgym_train import baselines, evaluation, metrics

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from training import random_and_zero

from helpers.lanes import mostly_slow

pytestmark = pytest.mark.torch


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


@pytest.mark.slow
@pytest.mark.parametrize("policy", mostly_slow(baselines.POLICIES, ["random"]))
def test_the_file_is_what_is_measured(policy):
    """On a task without contacts, whose numbers do not swing with the processor."""
    kept = baselines.of(ID)[policy]
    found = random_and_zero.measure(ID, policy)
    assert (found.episodes, found.steps) == (kept.episodes, kept.steps)
    assert found.mean == pytest.approx(kept.mean, rel=1e-3)
    assert found.std == pytest.approx(kept.std, rel=1e-2)


@pytest.mark.slow
def test_ids_that_differ_in_what_they_observe_have_the_same_episodes():
    ids = [f"manipulation/reach_site_{kind}-v0" for kind in ("features", "vision")]
    assert random_and_zero.alike(ids[0]) == ids
    assert random_and_zero.alike(ID) == [ID]
    first, other = (random_and_zero.measure(id, "random", evaluation.SEEDS[:2]) for id in ids)
    assert dataclasses.replace(other, id=ids[0]) == first


def test_what_is_written_is_read_again(tmp_path):
    row = baselines.Baseline("dmc/x-v0", "random", 20, 1000, 1.5, 0.25, 1.0, 2.0, "4.0.1")
    other = baselines.Baseline("dmc/x-v0", "zero", 20, 1000, 0.0, 0.0, 0.0, 0.0, "4.0.0")
    baselines.write([other, row], tmp_path / "b.csv")
    found = baselines.read(tmp_path / "b.csv")
    assert list(found.values()) == [row, other]
    assert baselines.read(tmp_path / "none.csv") == {}


def test_compare_shows_them(tmp_path):
    file = tmp_path / "metrics.csv"
    metrics.append(file, [metrics.Metric("a", ID, 0, metrics.RETURN, 100, 900.0)])
    metrics.append(file, [metrics.Metric("a", "own/task-v0", 0, metrics.RETURN, 100, 3.0)])
    wanted = baselines.of(ID)["random"].mean
    found = json.loads(mjgym_("compare", file, "--json").stdout)["scores"]
    assert {score["id"]: score["random"] for score in found} == {ID: wanted, "own/task-v0": None}
    assert f"{wanted:.1f}" in mjgym_("compare", file).output
