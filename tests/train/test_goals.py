"""The benchmark of training: its plan, its tables, mistakes; nothing here is timed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.suite import IDS

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import goals
from training import plan, rates, results, tables

from mjgym_train import comparison, metrics
from mjgym_train.comparison import Curve

WALK, STAND = "dmc/walker-walk-v0", "dmc/walker-stand-v0"
SWING = "dmc/cartpole-swingup-v0"


def test_ids_are_registered() -> None:
    assert set(plan.GOALS) <= set(IDS)
    assert set(plan.METHOD_IDS) <= set(plan.GOALS)


def test_runs_that_are_named() -> None:
    jobs = plan.jobs(["methods"], ids=[WALK], methods=["ensemble"], seeds=[4], minutes=2.0)
    (job,) = jobs
    assert (job.name, job.id, job.seed, job.minutes) == ("ensemble", WALK, 4, None)
    assert {job.minutes for job in plan.jobs(["recipe", "peer"], minutes=2.0)} == {2.0}
    assert "ensemble=[{history: 1}, {history: 4}]" in job.settings
    assert len({job.id for job in plan.jobs(plan.PARTS, quick=True)}) == 2
    alone, with_ray = plan.jobs(["ray"], seeds=[0])
    assert alone.steps == with_ray.steps == plan.RAY_STEPS
    assert plan.jobs(["ray"], ids=[STAND]) == []


@pytest.mark.weekly
def test_methods_are_settings_of_td3() -> None:
    config = pytest.importorskip("mjgym_train.config", exc_type=ImportError)
    algorithms = pytest.importorskip("mjgym_train.learn.algorithms", exc_type=ImportError)
    for job in plan.jobs(["methods", "walk", "candidates"]):
        files = [option.removeprefix("--config=") for option in job.options]
        read = config.read(algorithms.find("td3").Config, files, job.settings)
        if job.part == "walk":
            assert read.action_repeat == 4
            assert read.evaluation_env["dense_reward"] == 0
            assert (read.critic == "quantile") == (job.name == "published")


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


def curve(name: str, id: str, seed: int, returns: list[float], final: float | None) -> Curve:
    """A run with an evaluation every minute, and every thousand steps."""
    count = np.arange(1, len(returns) + 1)
    machine = "" if final is None else "A processor, 2 cores"
    return Curve(
        name, id, seed, 1000 * count, 60.0 * count, np.array(returns, float), count, final, machine
    )


def folder_of(out: Path, part: str, made: Curve, *others: Curve) -> Path:
    """The folder of a run, whose metrics may have those of the agents of its ensemble."""
    folder = plan.Job(part, made.experiment, made.id, made.seed, 1.0).folder(out)
    folder.mkdir(parents=True)
    lines = [
        metrics.Metric(c.experiment, c.id, c.seed, metrics.RETURN, *map(float, values))
        for c in (made, *others)
        for values in zip(c.steps, c.returns, c.updates, c.seconds, strict=True)
    ]
    metrics.append(folder / "metrics.csv", lines)
    machine = {"processor": "A processor", "allowed_cores": 2}
    (folder / "fingerprint.json").write_text(json.dumps({"machine": machine}))
    if made.final is not None:
        (folder / "evaluation.json").write_text(json.dumps({"mean": made.final}))
    return folder


def rows(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines()[2:] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_goals_are_met_or_not_or_not_measured() -> None:
    curves = [
        curve("recipe", WALK, 0, [100, 900, 930], 940.0),
        curve("recipe", WALK, 1, [200, 800, 960], 970.0),
        curve("recipe", STAND, 0, [500], 500.0),
        curve("other", STAND, 0, [990], 990.0),
    ]
    table = tables.goals(curves)
    walk, stand, *rest = rows(table)
    assert walk == [WALK, "950", "10", "yes", "955", "940, 970", "2", "3", "3.0"]
    assert stand == [STAND, "950", "30", "no", "500", "500", "1", "1", "1.0"]
    assert {row[4] for row in rest} == {"not measured"}
    assert len(rest) == len(plan.GOALS) - 2
    assert table.endswith("\n\nA processor, 2 cores.")


def test_times() -> None:
    ours = [
        curve("recipe", WALK, 0, [100, 860, 930], None),
        curve("recipe", STAND, 0, [900], None),
    ]
    peers = [
        curve(plan.PEER, WALK, seed, returns, None)
        for seed, returns in enumerate([[0] * 5 + [856], [0] * 7 + [900], [0] * 9])
    ]
    peers.append(curve(plan.PEER, STAND, 0, [0] * 4, None))
    found = rows(tables.times(ours, peers))
    assert found[0] == [WALK, "855", "2.0", "8.0", "4.0"]
    assert found[1] == [STAND, "855", "1.0", "> 4.0", "> 4.0"]
    assert found[2][2:] == ["not measured", "not measured", ""]
    assert rows(tables.times([], peers))[0] == [WALK, "855", "not measured", "8.0", ""]


def test_variants_stand_beside_the_recipe() -> None:
    found = {
        "recipe": [curve("recipe", SWING, 0, [900], 900.0)],  # which had other steps
        "methods": [
            *(curve("recipe", WALK, seed, [800], 800.0 + seed) for seed in (0, 1)),
            curve("mean", WALK, 0, [700], 801.0),
            curve("mean", SWING, 0, [700], 700.0),
            curve("ensemble history=1", WALK, 0, [1], None),
        ],
    }
    table = {(row[0], row[1]): row[2:] for row in rows(tables.methods(results.variants(found)))}
    assert len(table) == len(plan.METHODS) * len(plan.METHOD_IDS)
    reached = ["801", "801", "1", "1", "1.0"]
    assert table[WALK, "mean"] == ["`critic=mean`", *reached, "+0", "75%"]  # one of two is alike
    assert table[WALK, "recipe"][1:3] == ["800", "800, 801"]
    assert table[SWING, "recipe"][1] == "not measured"
    assert table[SWING, "mean"][1:] == ["700", "700", "1", "1", "1.0", "", ""]


class TestCollecting:
    @pytest.mark.weekly
    def test_finished_runs_become_small_files(self, tmp_path: Path) -> None:
        out, kept = tmp_path / "runs", tmp_path / "kept"
        kept.mkdir()
        whole = curve("ensemble", WALK, 0, [1.234567] * 90, 3.0)
        folder_of(out, "methods", whole, curve("ensemble history=1", WALK, 0, [7], None))
        folder_of(out, "recipe", curve("recipe", WALK, 0, [900, 950], 940.0))
        folder_of(out, "recipe", curve("recipe", WALK, 1, [900], None))  # still learns
        (out / "recipe" / "recipe_walker-walk_2").mkdir()
        written = results.collect(out, kept)
        names = ["recipe", "methods"]
        assert [path.stem for path in written] == [
            *(f"training_{name}" for name in names),
            *(f"training_{name}" for name in names),
        ]
        found = results.packaged(kept)
        (recipe,) = found["recipe"]
        assert (recipe.final, recipe.machine) == (940.0, "A processor, 2 cores")
        assert recipe.returns.tolist() == [900.0, 950.0]
        ensemble = {c.experiment: c for c in found["methods"]}
        assert set(ensemble) == {"ensemble", "ensemble history=1"}
        assert len(ensemble["ensemble"].steps) == comparison.KEPT
        assert ensemble["ensemble"].steps[-1] == 90_000
        assert ensemble["ensemble"].returns[0] == 1.2346
        assert tables.every(found, kept)["goals"] == tables.goals([recipe])

        later = tmp_path / "later"
        folder_of(later, "recipe", curve("recipe", WALK, 1, [950], 960.0))
        folder_of(later, "recipe", curve("recipe", WALK, 0, [910], 930.0))
        results.collect(later, kept)
        finals = {c.seed: c.final for c in results.packaged(kept)["recipe"]}
        assert finals == {0: 930.0, 1: 960.0}  # the new run in place of the old one
        assert results.collect(tmp_path / "nothing", kept) == []

    @pytest.mark.weekly
    def test_pictures_show_what_there_is(self, tmp_path: Path) -> None:
        found = {
            "recipe": [curve("recipe", WALK, seed, [100, 900], 900.0) for seed in (0, 1)],
            "methods": [curve("mean", id, 0, [100, 200], 200.0) for id in (WALK, SWING)],
        }
        for path, tall in zip(results.draw(found, tmp_path), (1, 2), strict=True):
            with Image.open(path) as picture:
                assert picture.size == (1000, 280 * tall)
                shown = np.asarray(picture.convert("RGB"))
            assert (shown == 255).all(-1).mean() > 0.5  # on white, in light and dark pages
            coloured = np.ptp(shown.astype(int), axis=-1) > 60
            assert coloured.sum() > 200  # a curve

    @pytest.mark.torch
    def test_compare_reads_them(self, tmp_path: Path) -> None:
        mjgym_ = pytest.importorskip("helpers.training_runs", exc_type=ImportError).mjgym_
        comparison.write([curve("recipe", WALK, 0, [900], 940.0)], tmp_path / "one.csv")
        table = json.loads(mjgym_("compare", tmp_path / "one.csv", "--json").stdout)
        assert table["scores"][0]["final"] == 940.0
        again = tmp_path / "again.csv"
        done = mjgym_("compare", tmp_path / "one.csv", "--csv", again)
        assert "940.0" in done.output
        assert again.read_text() == (tmp_path / "one.csv").read_text()
        done = mjgym_("compare", tmp_path / "one.csv", again, code=2)
        assert "recipe, seed 0, on dmc/walker-walk-v0 as another one" in " ".join(
            done.stderr.replace("│", " ").split()
        )

    def test_rates(self, tmp_path: Path) -> None:
        measured = {"recipe": [30.0, 40.0], "sb3, 1 threads": [10.0, 20.0]}
        measured |= {"recipe, bfloat16": [20.0, 20.0], "plain": [10.0, 10.0]}
        results.keep_rates(measured, WALK, "A processor, 2 cores", tmp_path / "runs")
        results.collect(tmp_path / "runs", tmp_path)
        found, machine = results.rates(tmp_path)
        assert (found, machine) == (measured, "A processor, 2 cores")
        table = tables.rates(found, machine)
        assert rows(table)[0] == ["recipe", "35", "2.5"]
        assert table.endswith("A processor, 2 cores.")
        assert rows(tables.rates({}, ""))[0] == ["recipe", "not measured", ""]


def test_rates_are_compared_within_a_turn_with_the_best() -> None:
    measured = {
        "recipe": [10.0, 20.0, 30.0],
        "recipe, bfloat16": [40.0, 40.0, 40.0],
        "plain": [20.0, 20.0, 20.0],
        "sb3, 1 threads": [5.0, 5.0, 10.0],
        "sb3, 2 threads": [2.0, 10.0, 5.0],
    }
    assert rates.ratios(measured) == {"recipe": 2.0, "recipe, bfloat16": 4.0, "plain": 2.0}


@pytest.mark.weekly
@pytest.mark.torch
def test_quick_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stable_baselines3")
    arguments = ["recipe", "peer", "rate", "--quick", "--out", str(tmp_path)]
    assert goals.main(arguments) == 0
    folders = sorted(path.name for path in tmp_path.glob("*/*"))
    assert folders == ["recipe_walker-walk_0", "sb3-sac_walker-walk_0"]
    printed = capfd.readouterr().out
    found = {cells[0]: cells for cells in rows(printed)}
    assert found["sb3, 1 threads"][1] != "not measured"
    runs = results.of_runs(tmp_path)
    assert {part: len(curves) for part, curves in runs.items()} == {"recipe": 1, "peer": 1}
    assert all(c.final is not None and c.machine for (c,) in runs.values())
    assert goals.main(["recipe", "--quick", "--out", str(tmp_path)]) == 0  # is done
    assert "next: mjgym evaluate" not in capfd.readouterr().out


@pytest.mark.weekly
@pytest.mark.torch
def test_a_run_that_fails_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["recipe", "--quick", "--set", "nothing=1", "--out", str(tmp_path)]
    assert goals.main(arguments) == 1
    assert "recipe_walker-walk_0: status 2" in capfd.readouterr().err
