"""The search for a recipe: its plan, its ranking, its tables, and a small run."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import recipe

from mjgym import registry
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import config

WALK, RUN = recipe.ROUNDS[0]


def row(part: str, name: str, id: str, seed: int = 0, last: float = 0.0, score: str = ""):
    spent = {"cpu_minutes": 1.0, "cpu_s": 60.0, "steps": 1000, "updates": 250}
    words = ("settings", "command", "commit", "versions", "machine", "success")
    about = {**dict.fromkeys(words, ""), "failed": "0.25" if score else "", "curve": "60:5"}
    return recipe.Row(part, name, id, seed, last=last, score=score, **spent, **about)


def cells(table: str, first: str) -> list[str]:
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {first} "))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_candidates_are_ranked_by_the_ids_that_all_have():
    rows = [row("search", "small", id, last=last) for id, last in ((WALK, 500), (RUN, 300))]
    rows += [row("search", "decay", id, last=last) for id, last in ((WALK, 900), (RUN, 100))]
    rows += [row("search", "average", WALK, last=1000), row("goals", "updates", WALK, last=1000)]
    names = list(recipe.CANDIDATES)
    assert recipe.ranked(rows, names, [WALK]) == ["average", "decay", "small"]
    assert recipe.ranked(rows, names, [WALK, RUN]) == ["decay", "small"]


def test_half_of_the_candidates_go_on():
    made = []
    for number, cell in enumerate(recipe.search(lambda: made)):
        made.append(row("search", cell.name, cell.id, last=float(number)))
    rounds = [{one.name for one in made if one.id in ids} for ids in recipe.ROUNDS]
    count = len(recipe.CANDIDATES)
    assert [len(names) for names in rounds] == [count, count // 2, max(2, count // 4)]
    assert rounds[1] == set(list(recipe.CANDIDATES)[-(count // 2) :])


def test_the_tables_have_every_id_once_and_those_of_two_families_three_times():
    made = list(recipe.table_cells((), "together", range(5)))
    keys = [(cell.id, cell.seed) for cell in made]
    count = 51 * 3 + 11 * 3 + 19 + 17 + 10
    assert len(set(keys)) == len(keys) == count
    assert [seed for _, seed in keys] == sorted(seed for _, seed in keys)
    assert set(recipe.GOALS) <= set(registry.ids())


def test_a_goal_is_met_by_the_mean():
    goal = recipe.GOALS[WALK][0]
    rows = [
        row("goals", "together", WALK, s, score=f"{goal + 5 * d}") for s, d in ((0, -1), (1, 1))
    ]
    assert cells(recipe.goals_table(rows), WALK)[2:7] == [
        *("together", "yes", f"{goal:.0f}", f"{goal - 5:.0f}, {goal + 5:.0f}", "2")
    ]
    assert cells(recipe.goals_table(rows[:1]), WALK)[3] == "no"
    assert recipe.goals_table([]) == "Not measured."


def test_a_table_counts_its_runs():
    rows = [row("tables", "together", WALK, s, 90.0, score) for s, score in ((0, "80"), (1, "100"))]
    table = recipe.whole_table(rows)
    own = ["together", "90", "", "80, 100", "2", "0.00", "90", "25%", ""]
    assert cells(table, WALK) == own
    known = sum(map(len, recipe.suites().values()))
    assert table.endswith(f"1 of {known} ids have runs, 2 in all, 0.0 CPU hours.")


def test_a_run_with_a_fault_has_a_line_of_its_own():
    good = row("tables", "together", WALK, score="80")
    bad = dataclasses.replace(good, seed=1, score="10", fault=recipe.SPUN)
    found = [line.split("|") for line in recipe.whole_table([good, bad]).splitlines()]
    own = [[cell.strip() for cell in line[2:4]] for line in found if WALK in "".join(line)]
    assert own == [["together", "80"], [f"together ({recipe.SPUN})", "10"]]


def test_gymnasiums_tasks_stand_beside_what_others_publish():
    id, one_critic = "gymnasium/Humanoid-v5", recipe.RECIPE
    rows = [
        row("tables", one_critic, id, s, score=score) for s, score in ((0, "4000"), (1, "5000"))
    ]
    other = row("tables", "together", id, score="1")
    assert cells(recipe.gymnasium_table([*rows, other]), "`Humanoid-v5`") == [
        *("112", "**4500**", "4000, 5000", "0.0M"),
        *("5567 (2M)", "6232 (2M)", "5035", "4996"),
    ]
    assert cells(recipe.gymnasium_table([]), "`Reacher-v5`")[1:] == ["not measured", *[""] * 6]


def test_each_packaged_score_that_is_far_behind_has_a_reason():
    found = recipe.scores_of(recipe.packaged())
    names = {id.partition("/")[2].removesuffix("-v0") for id in recipe.misses.behind(found)}
    assert names
    assert names <= set(recipe.misses.REASONS)
    walk = {"dmc/walker-walk-v0": [870.0]}, {"dmc/walker-walk-v0": [890.0]}  # the best is 979
    assert [len(recipe.misses.behind(one)) for one in walk] == [1, 0]


def test_runs_from_images_stand_beside_what_others_publish():
    id = "dmc/walker-walk-v0"
    made = dataclasses.replace(row("pixels", "pixels", id, score="500"), steps=650_000)
    table = recipe.pixels_table([made, row("tables", "together", WALK, score="900")])
    curve = {point.frames: point.score for point in recipe.scores.drq_v2()[id]}
    theirs = [f"{curve[frames]:.0f}" for frames in (600_000, 980_000)]
    assert cells(table, id)[1:] == ["**500**", "0.65M", *theirs, "968", "968"]
    assert table.endswith(
        "1 of 10 ids have a run; of 1 beside DrQ-v2, 1 with more than half of its score at 1M."
    )
    assert cells(table, "dmc/point_mass-easy-v0")[1:5] == ["not measured", "", "", ""]


class Made:
    """Cells that a queue has made, instead of runs."""

    def __init__(self, monkeypatch, failing=()):
        self.keys = []

        def make(cell, out):
            self.keys.append((cell.id, cell.seed))
            if cell.id in failing:
                raise subprocess.CalledProcessError(1, "train")

        monkeypatch.setattr(recipe.Cell, "make", make)
        monkeypatch.setattr(recipe.os, "nice", lambda by: by)


def test_a_queue_makes_what_neither_the_package_nor_another_queue_has(monkeypatch, tmp_path):
    has = [row("tables", "one-critic", WALK, score="1")]
    has.append(dataclasses.replace(has[0], seed=1, fault=recipe.SPUN))
    monkeypatch.setattr(recipe, "packaged", lambda: has)
    made = Made(monkeypatch, failing=[RUN])
    cells = list(recipe.table_cells((WALK, RUN), "one-critic", recipe.SEEDS))
    other = cells[-1].job().folder(tmp_path).name
    with atomic.held(tmp_path / "held" / other):
        recipe.queue(cells, tmp_path)
    assert made.keys == [(RUN, 0), (RUN, 1), (WALK, 1), (RUN, 2)]  # a failure holds none up
    made.keys.clear()
    recipe.queue(cells[-1:], tmp_path)
    assert made.keys == [(cells[-1].id, 2)]
    assert not (tmp_path / "held").exists()


SAVING = """
import pathlib, signal, sys, time
def save(*about):
    pathlib.Path(sys.argv[1]).write_text("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("begun", flush=True)
time.sleep(600)
"""
STOPPED = """
import sys
sys.path.insert(0, sys.argv[1])
from training import plan
plan.until_stopped([sys.executable, "-c", sys.argv[2], sys.argv[3]])
print("went on")
"""


@pytest.mark.weekly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_queue_lets_its_run_save_and_begins_no_other(number, tmp_path):
    words = (Path(recipe.__file__).parent, SAVING, tmp_path / "state")
    command = [sys.executable, "-c", STOPPED, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        rest, _ = process.communicate()
    assert process.returncode == 128 + number
    assert rest == ""
    assert (tmp_path / "state").read_text() == "saved"


def test_means_beside_published_ones_are_of_the_last_candidate():
    runs = (("together", WALK, "500"), ("one-critic", WALK, "80"), ("together", RUN, "40"))
    rows = [row("tables", name, id, score=score) for name, id, score in runs]
    rows.append(row("goals", "one-critic", RUN, score="900"))
    found = cells(recipe.common_table(rows), "SimbaV2, 0.5M")
    assert (found[0], found[1], found[4]) == ("2", "60", "2")


@pytest.mark.torch
def test_the_packaged_settings_are_those_of_the_goals():
    from mjgym_train.learn import algorithms

    cls = algorithms.find("td3").Config
    about = {"algorithm": "td3", "id": WALK, "steps": 1}
    packaged = config.read(cls, [assets() / "training" / "fast.yaml"], (), **about)
    settings = (*recipe.CANDIDATES["one-critic"], *recipe.USUAL)
    settings += (f"evaluations={recipe.GOAL_EVALUATIONS}", "tensorboard=true")
    assert packaged == config.read(cls, (), settings, **about)


@pytest.mark.parametrize("name", ["one-critic", "ppo", *recipe.plan.PEERS])
def test_methods_have_the_same_cpu_time_and_evaluations(name, tmp_path):
    train, *evaluate = recipe.Cell("goals", name, WALK, 0, 5.0).job().commands(tmp_path)
    assert train[train.index("--cpu-minutes") + 1] == "5.0"
    names = "evaluations={}", "evaluation_episodes={}"
    if name in recipe.plan.PEERS:
        names = "--evaluations {}", "--episodes {}"
    for said, count in zip(names, (recipe.GOAL_EVALUATIONS, recipe.EPISODES), strict=True):
        assert said.format(count) in " ".join(train)
    assert len(evaluate) == (name not in recipe.plan.PEERS)  # which scores its policy itself


@pytest.mark.torch
@pytest.mark.weekly
def test_a_finished_run_is_a_row_and_is_kept(monkeypatch, tmp_path):
    small = ("hidden=[8]", "batch_size=8", "atoms=5", "learning_starts=40", "num_envs=4")
    monkeypatch.setitem(recipe.METHODS, "small", (*small, "env.max_episode_steps=20"))
    cell = recipe.Cell("goals", "small", "dmc/cartpole-balance-v0", 0, 0.01)
    assert cell.row(tmp_path) is None
    cell.make(tmp_path)
    found = cell.row(tmp_path)
    assert found is not None
    assert 0.6 <= found.cpu_s < 6
    assert 0 < float(found.score) <= 20
    assert "OUT" in found.command
    assert str(tmp_path) not in found.command
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    cell.make(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.torch
@pytest.mark.weekly
@pytest.mark.parametrize(("name", "algorithm"), recipe.plan.PEERS.items())
def test_the_peer_spends_its_cpu_time_on_one_thread(name, algorithm, tmp_path):
    pytest.importorskip("stable_baselines3")
    script = Path(recipe.__file__).parent / "training" / "sb3_peer.py"
    cell = recipe.Cell("goals", name, "dmc/cartpole-balance-v0", 0, 0.02)
    folder = cell.job().folder(tmp_path)
    words = ("--algorithm", algorithm, "--cpu-minutes", "0.02", "--quick", "--out", str(folder))
    subprocess.run([sys.executable, str(script), cell.id, *words], check=True)
    found = cell.row(tmp_path)
    assert found is not None
    assert 1.2 <= found.cpu_s < 12
    assert found.command.startswith("python benchmarks/training/sb3_peer.py dmc/cartpole-balance")
    assert "stable-baselines3" in found.versions
    assert json.loads((folder / "fingerprint.json").read_text())["learner"]["torch_threads"] == 1
