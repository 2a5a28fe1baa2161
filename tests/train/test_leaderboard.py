"""The leaderboard: scores from weights, on seeds drawn then; what is refused; every row again."""

import dataclasses
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from training import scores

from helpers.training_runs import ID, SMALL_REPLAY, mjgym_
from mjgym.policies.run_errors import RunError
from mjgym_train import baselines, leaderboard
from mjgym_train.leaderboard import SEEDS
from mjgym_train.run import Run

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run that has ended."""
    place = tmp_path_factory.mktemp("runs") / "mine"
    mjgym_("train", "td3", ID, *SMALL_REPLAY, "name=mine", "--steps", 80, "--out", place)
    return place


@pytest.fixture(scope="module")
def submitted(folder, tmp_path_factory):
    table = tmp_path_factory.mktemp("board")
    mjgym_("submit", folder, "--leaderboard", "--table", table)
    return table


def test_a_row_is_scored_from_the_weights(folder, submitted):
    (row,) = leaderboard.read(submitted)
    assert (row.id, row.method, row.steps) == (ID, "mine", "80")
    assert SEEDS[0] <= row.first_seed < SEEDS[1]
    assert leaderboard.complaint(row, submitted) == ""
    assert row.standard_error > 0
    other, content = leaderboard.scored(Run(folder))
    assert leaderboard.policy_file(row, submitted).read_bytes() == content
    assert SEEDS[0] <= other.first_seed < SEEDS[1]
    assert other.first_seed != row.first_seed  # but once in a thousand million


def test_a_policy_is_taken_once(folder, submitted):
    before = {file.name: file.read_bytes() for file in submitted.iterdir()}
    done = mjgym_("submit", folder, "--leaderboard", "--table", submitted, code=1)
    assert "has this policy on" in done.stderr
    assert {file.name: file.read_bytes() for file in submitted.iterdir()} == before


def test_another_policy_or_score_is_noticed(submitted, tmp_path):
    (row,) = leaderboard.read(submitted)
    said = leaderboard.complaint(dataclasses.replace(row, score=row.score + 500), submitted)
    assert "from the weights" in said
    leaderboard.policy_file(row, tmp_path).write_bytes(b"no archive")
    assert leaderboard.complaint(row, tmp_path)


def test_an_id_of_ones_own_is_refused(folder, tmp_path):
    run = Run(tmp_path)
    for file in Path(folder).iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    run.config_file.write_text(run.config_file.read_text().replace(ID, "dmc/cartpole-balanse-v0"))
    with pytest.raises(RunError, match="did you mean"):
        leaderboard.scored(run)


def test_the_page_has_planners_and_random_and_zero_actions(submitted):
    (row,) = leaderboard.read(submitted)
    planned = {ID: [scores.Unlearned("mppi, 1 s", 500.0, None, "MuJoCo 4.0.0", "10000")]}
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in scores.leaderboard_table([row], planned).splitlines()[2:]
    ]
    found = {method: float(score) for _, method, score, *_ in lines}
    assert set(found) == {"mine", "mppi, 1 s", "random", "zero"}
    assert found["mppi, 1 s"] == 500
    assert found["zero"] == round(baselines.of(ID)["zero"].mean)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert scores.leaderboard_table([], {}).startswith("No run")


@pytest.mark.parametrize("row", leaderboard.read(), ids=lambda row: f"{row.id} {row.method}")
def test_the_packaged_rows_are_their_policies(row):
    assert leaderboard.complaint(row) == ""
