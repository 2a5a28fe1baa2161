"""The leaderboard: scores from weights, on seeds drawn then; what is refused; every row again."""

import dataclasses
import hashlib
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from training import scores

from helpers.lanes import mostly_nightly
from helpers.training_runs import ID, SMALL_REPLAY, mjgym_
from mjgym.policies.network import load
from mjgym.policies.run_errors import RunError
from mjgym_train import baselines, leaderboard, score_table
from mjgym_train.leaderboard import SEEDS
from mjgym_train.run import Run

pytestmark = [pytest.mark.torch, pytest.mark.slow]

ROWS = leaderboard.read()  # of the package
IMAGES = {
    "observation": "pixels",
    "pixels": {"width": 32, "height": 32},
    "render_quality": "fast",
}


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


@pytest.mark.weekly
def test_a_policy_is_taken_once(folder, submitted):
    before = {file.name: file.read_bytes() for file in submitted.iterdir()}
    done = mjgym_("submit", folder, "--leaderboard", "--table", submitted, code=1)
    assert "has this policy on" in done.stderr
    assert {file.name: file.read_bytes() for file in submitted.iterdir()} == before


@pytest.mark.weekly
@pytest.mark.gl
def test_a_run_from_images_is_scored_from_images(tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "EPISODES", 1)
    words = [*SMALL_REPLAY, "channels=4", "evaluations=0", "--out", tmp_path / "run"]
    words += [f"env.{name}={value}" for name, value in IMAGES.items()]
    mjgym_("train", "td3", ID, *words, "--steps", 80)
    mjgym_("submit", tmp_path / "run", "--leaderboard", "--table", tmp_path / "board")
    (row,) = leaderboard.read(tmp_path / "board")
    assert json.loads(row.images) == IMAGES
    assert leaderboard.complaint(row, tmp_path / "board") == ""


@pytest.mark.weekly
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
    by_images = dataclasses.replace(row, images=json.dumps(IMAGES), score=1000.0)
    *lines, last = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in scores.leaderboard_table([row, by_images], planned).splitlines()[2:]
    ]
    assert last[:4] == [ID, "images", "mine", "1000"]
    found = {method: float(score) for _, source, method, score, *_ in lines if source == "state"}
    assert set(found) == {"mine", "mppi, 1 s"}
    assert found["mppi, 1 s"] == 500
    untrained = [f"{baselines.recorded(ID)[name].mean:.0f}" for name in ("random", "zero")]
    assert [line[4:6] for line in lines] == [untrained, untrained]
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert scores.leaderboard_table([], {}).startswith("No run")


def test_methods_are_ranked_over_the_ids_they_share(submitted):
    (row,) = leaderboard.read(submitted)
    rows = [
        dataclasses.replace(row, id=id, method=method, score=score, cpu_minutes="2")
        for id, method, score in (
            ("a/x-v0", "one", 100.0), ("a/y-v0", "one", 300.0), ("a/x-v0", "two", 50.0),
            ("a/y-v0", "two", 70.0), ("a/z-v0", "two", 900.0), ("a/y-v0", "three", 1000.0),
        )
    ]  # fmt: skip
    rows.append(dataclasses.replace(rows[0], images=json.dumps(IMAGES), score=9000.0))
    planned = {id: [scores.Unlearned("plan", 500.0, None, "", "")] for id in ("a/x-v0", "a/y-v0")}
    table = scores.ranking(rows, planned).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:5]]
    assert cells == [
        ["plan", "500", "500", "plans"], ["one", "200", "200", "2.0"], ["two", "60", "60", "2.0"],
    ]  # fmt: skip
    assert table[-1] == "Over 2 ids: a/x-v0, a/y-v0."


STATES = [row for row in ROWS if not row.images]


@pytest.mark.parametrize(
    "row", mostly_nightly(STATES, len(STATES)), ids=lambda row: f"{row.id} {row.method}"
)
def test_the_packaged_rows_are_their_policies(row):
    assert leaderboard.complaint(row) == ""


@pytest.mark.gl
@pytest.mark.nightly
@pytest.mark.parametrize("row", [row for row in ROWS if row.images], ids=lambda row: row.id)
def test_the_packaged_rows_by_images_are_their_policies(row):
    assert leaderboard.complaint(row) == ""


def test_each_packaged_row_has_its_policy():
    for row in ROWS:
        content = score_table.packed(load(leaderboard.policy_file(row)))
        assert hashlib.sha256(content).hexdigest() == row.policy_sha256
