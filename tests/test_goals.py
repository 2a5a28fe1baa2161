"""The benchmark of training: its plan, its tables, mistakes; nothing here is timed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from suite import IDS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import goals
from training import plan, rates, tables

from mjgym.train import metrics

WALK, STAND = "dmc/walker-walk-v0", "dmc/walker-stand-v0"


def test_ids_are_registered() -> None:
    assert set(plan.GOALS) <= set(IDS)
    assert set(plan.METHOD_IDS) <= set(plan.GOALS)


def test_all_runs() -> None:
    count = {part: len(plan.jobs([part])) for part in plan.PARTS}
    assert count == {"recipe": 21, "methods": 36, "peer": 21}
    minutes = {job.id: job.minutes for job in plan.jobs(["recipe"])}
    assert minutes == {id: goal[1] for id, goal in plan.GOALS.items()}
    folders = [job.folder(Path("out")) for job in plan.jobs(plan.PARTS)]
    assert len(set(folders)) == len(folders)


def test_runs_that_are_named() -> None:
    jobs = plan.jobs(["methods"], ids=[WALK], methods=["ensemble"], seeds=[4], minutes=2.0)
    (job,) = jobs
    assert (job.name, job.id, job.seed, job.minutes) == ("ensemble", WALK, 4, 2.0)
    assert "ensemble=[{history: 1}, {history: 4}]" in job.settings
    assert len({job.id for job in plan.jobs(plan.PARTS, quick=True)}) == 1


def test_methods_are_settings_of_td3() -> None:
    config = pytest.importorskip("mjgym.train.config", exc_type=ImportError)
    algorithms = pytest.importorskip("mjgym.train.algorithms", exc_type=ImportError)
    for job in plan.jobs(["methods"]):
        config.read(algorithms.find("td3").Config, (), job.settings)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    job = plan.Job("recipe", "recipe", WALK, 1, 10.0)
    train, evaluate = job.commands(tmp_path)
    assert job.folder(tmp_path) == tmp_path / "recipe" / "recipe_walker-walk_1"
    assert "--resume" not in train
    assert evaluate[-2:] == ["evaluate", str(job.folder(tmp_path))]
    job.folder(tmp_path).mkdir(parents=True)
    (job.folder(tmp_path) / "config.yaml").touch()
    assert "--resume" in job.commands(tmp_path)[0]
    assert not job.done(tmp_path)
    (job.folder(tmp_path) / "evaluation.json").write_text('{"mean": 12.5}')
    plan.run(job, tmp_path)  # is done: nothing is run
    assert plan.score(job, tmp_path) == 12.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recipes"], "no 'recipes'; there are recipe"),
        (["--ids", "dmc/walker-run-v0"], "no 'dmc/walker-run-v0'"),
        (["methods", "--methods", "mean,magic"], "no 'magic'; there are recipe, mean"),
        (["--seeds", "a"], "--seeds: must be numbers, got a"),
        (["--minutes", "0"], "--minutes: must be more than 0"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        goals.parse(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def written(job: plan.Job, out: Path, returns: list[float], final: float | None) -> plan.Job:
    """A run's folder with an evaluation every minute."""
    folder = job.folder(out)
    folder.mkdir(parents=True)
    lines = [
        metrics.Metric(job.name, job.id, job.seed, metrics.RETURN, 1000 * k, value, k, 60.0 * k)
        for k, value in enumerate(returns, start=1)
    ]
    metrics.append(folder / "metrics.csv", lines)
    if final is not None:
        (folder / "evaluation.json").write_text(json.dumps({"mean": final}))
    return job


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_scores(tmp_path: Path) -> None:
    jobs = [
        written(plan.Job("recipe", "recipe", WALK, 0, 10), tmp_path, [100, 900, 930], 940.0),
        written(plan.Job("recipe", "recipe", WALK, 1, 10), tmp_path, [200, 800, 960], 970.0),
        written(plan.Job("recipe", "recipe", STAND, 0, 30), tmp_path, [500], None),
        plan.Job("recipe", "recipe", STAND, 1, 30),
    ]
    _, _, stand, walk = rows(tables.scores(jobs, tmp_path, goals=True))
    assert walk == [WALK, "recipe", "2", "955", "940 to 970", "648", "3", "3", "950", "yes"]
    assert stand == [STAND, "recipe", "1", "", "", "500", "1", "1", "950", ""]


def test_members_of_an_ensemble_are_no_runs_of_their_own(tmp_path: Path) -> None:
    job = written(plan.Job("methods", "ensemble", WALK, 0, 10), tmp_path, [1, 2], 3.0)
    alone = metrics.Metric("ensemble history=1", WALK, 0, metrics.RETURN, 1000, 7.0)
    metrics.append(job.folder(tmp_path) / "metrics.csv", [alone])
    (curve,) = tables.curves([job], tmp_path)
    assert curve.returns.tolist() == [1, 2]


def test_times(tmp_path: Path) -> None:
    ours = [
        written(plan.Job("recipe", "recipe", WALK, 0, 10), tmp_path, [100, 860, 930], None),
        written(plan.Job("recipe", "recipe", STAND, 0, 10), tmp_path, [900], None),
    ]
    peers = [
        written(plan.Job("peer", plan.PEER, WALK, seed, 10), tmp_path, returns, None)
        for seed, returns in enumerate([[0] * 5 + [856], [0] * 7 + [900], [0] * 9])
    ]
    peers.append(written(plan.Job("peer", plan.PEER, STAND, 0, 10), tmp_path, [0] * 4, None))
    sides = [tables.curves(jobs, tmp_path) for jobs in (ours, peers)]
    found = rows(tables.times(*sides))[2:]
    assert found == [
        [WALK, "855", "2.0", "8.0", "4.0"],
        [STAND, "855", "1.0", "> 4.0", "> 4.0"],
    ]
    assert rows(tables.times([], sides[1]))[2] == [WALK, "855", "", "8.0", ""]


def test_rates_are_compared_within_a_turn_with_the_best() -> None:
    measured = {
        "recipe": [10.0, 20.0, 30.0],
        "recipe, bfloat16": [40.0, 40.0, 40.0],
        "plain": [20.0, 20.0, 20.0],
        "sb3, 1 threads": [5.0, 5.0, 10.0],
        "sb3, 2 threads": [2.0, 10.0, 5.0],
    }
    assert rates.ratios(measured) == {"recipe": 2.0, "recipe, bfloat16": 4.0, "plain": 2.0}


@pytest.mark.slow
@pytest.mark.torch
def test_quick_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stable_baselines3")
    arguments = ["recipe", "peer", "rate", "--quick", "--out", str(tmp_path)]
    assert goals.main(arguments) == 0
    folders = sorted(path.name for path in tmp_path.glob("*/*"))
    assert folders == ["recipe_walker-walk_0", "sb3-sac_walker-walk_0"]
    printed = capfd.readouterr().out
    assert f"| {WALK} | recipe |" in printed
    assert "sb3, 1 threads" in printed
    assert goals.main(["recipe", "--quick", "--out", str(tmp_path)]) == 0  # is done
    assert "next: mjgym evaluate" not in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.torch
def test_a_run_that_fails_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["recipe", "--quick", "--set", "nothing=1", "--out", str(tmp_path)]
    assert goals.main(arguments) == 1
    assert "recipe_walker-walk_0: status 2" in capfd.readouterr().err
    job = plan.Job("recipe", "recipe", WALK, 0, 0.02, ("nothing=1",))
    with pytest.raises(subprocess.CalledProcessError):
        plan.run(job, tmp_path)
