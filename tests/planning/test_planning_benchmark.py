"""The benchmark of planners: budgets, rows, the table; nothing here is timed."""

import dataclasses
import importlib.util
import sys

import numpy as np
import pytest

from helpers.places import BENCHMARKS
from mjgym import registry


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        place = BENCHMARKS / "planning.py"
        spec = importlib.util.spec_from_file_location("planning_benchmark", place)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "planning_benchmark", module)
        spec.loader.exec_module(module)
        yield module


def row(bench, **values):
    fields = {"id": "dmc/reacher-easy-v0", "planner": "mppi", "budget": 0.1, "seed": 10000}
    measured = {"total": 5.0, "steps": 10, "spent": 0.1, "rollouts": 32, "horizon": 0.6, "every": 2}
    about = {"command": "python", "commit": "abc", "versions": "mjgym 1", "machine": "x86_64, here"}
    return bench.Row(**{**fields, **measured, **about, **values})


@pytest.mark.parametrize("each", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("budget", [0.1, 1.0, 10.0])
def test_a_budget_is_used_up(bench, budget, each):
    """With known costs: of a step, and of a candidate's control steps."""
    cost, timestep = bench.Cost(alone=2e-5, a=1e-4, b=each), 0.02
    chosen = bench.settings(cost, timestep, budget)
    horizon, count, every = chosen["horizon"], chosen["rollouts"], chosen["every"]
    assert bench.SHORTEST <= horizon <= bench.LONGEST
    assert bench.FEWEST <= count <= bench.MOST
    assert every * timestep >= bench.INTERVAL
    improvement = horizon / timestep * (cost.a + cost.b * count)
    spent = (cost.alone + improvement / every) / timestep
    fewest = (horizon, count, every) == (bench.SHORTEST, bench.FEWEST, bench.EVERY[-1])
    assert spent <= 1.02 * budget or fewest
    if count < bench.MOST and not fewest:
        assert spent > 0.9 * budget
    assert (count == bench.FEWEST) == (horizon == bench.SHORTEST)


def test_a_cost_is_that_of_steps(bench):
    """The environment's own step and a candidate's are told apart."""
    alone, a, b, steps = 2e-5, 1e-4, 1e-6, 30

    def seconds(env, policy):
        found = getattr(getattr(policy, "method", None), "rollouts", 0)
        return alone + (steps * (a + b * found) if found else 0.0)

    found = bench.cost("dmc/reacher-easy-v0", "mppi", seconds)
    assert dataclasses.astuple(found) == pytest.approx((alone, a, b))


def test_rows_are_read_as_they_were_written(bench, tmp_path):
    file = tmp_path / "planning.csv"
    rows = [row(bench), row(bench, seed=10001, total=7.25)]
    assert bench.read(file) == []
    for each in rows:
        bench.append(each, file)
    assert bench.read(file) == rows


def test_what_is_there_is_not_measured_again(bench, tmp_path):
    file = tmp_path / "planning.csv"
    for seed in (10000, 10001):
        bench.append(row(bench, seed=seed), file)
    jobs = [bench.Job("dmc/reacher-easy-v0", "mppi", 0.1, 10000 + i) for i in range(3)]
    assert bench.missing(jobs, bench.read(file)) == jobs[2:]
    others = [dataclasses.replace(jobs[0], budget=1.0), dataclasses.replace(jobs[0], planner="cem")]
    assert bench.missing(others, bench.read(file)) == others


def test_the_table_counts_episodes(bench):
    rows = [row(bench), row(bench, seed=10001, total=7.0), row(bench, budget=1.0)]
    lines = bench.table(rows, ({}, {})).splitlines()
    assert lines[0] == "| id | planner | 0.1 s | 1 s | learned | best published |"
    assert lines[2].startswith(
        "| `dmc/reacher-easy-v0` | mppi | 6.0 (2 episodes) | 5.0 (1 episode) |"
    )
    other = bench.table([*rows, row(bench, id="dmc/dog-run-v0")], ({}, {}))
    assert "| not measured |" in other.splitlines()[2]


def test_the_table_has_learned_and_published_scores(bench):
    known = {"dmc/reacher-easy-v0": 970.4}, {"dmc/reacher-easy-v0": "991, SimbaV2"}
    rows = [row(bench), row(bench, seed=10001, total=7.0, spent=1.5), row(bench, budget=1.0)]
    assert bench.table(rows, known).splitlines()[2].endswith("| 970 | 991, SimbaV2 |")
    assert bench.summary(rows, known).split(". ") == [
        "At 0.1 s the mean over 1 ids of the suite is 6, where learning has 970; on 0 of them one"
        " core plans in real time",
        "At 1 s the mean over 1 ids of the suite is 5, where learning has 970; on 1 of them one"
        " core plans in real time.",
    ]


def test_hard_ids_are_counted(bench):
    first, second = bench.HARD[:2]
    known = {first: 100.0, second: 100.0}, {second: "500, SAC"}
    rows = [row(bench, id=first, total=60.0), row(bench, id=second, total=299.0)]
    assert bench.summary(rows, known).endswith(
        "Of 2 hard ids, 1 reach 60% of the best other score."
    )


def test_scores_of_others_are_those_of_the_package(bench):
    learned, published = bench.others()
    assert learned["dmc/walker-walk-v0"] > 900
    assert published["dmc/walker-walk-v0"].split(", ")[1]


def test_an_episode_is_measured(bench):
    job = bench.Job("dmc/lqr-lqr_2_1-v0", "random_shooting", 0.1, 10000)
    found = bench.measure(job, {"horizon": 0.1, "rollouts": 2, "every": 8})
    assert found.steps == bench.UNLIMITED
    assert np.isfinite(found.total)
    assert found.spent > 0


def test_the_published_rows_are_of_the_protocol(bench):
    rows = bench.read()
    assert rows
    jobs = [tuple(getattr(r, f.name) for f in dataclasses.fields(bench.Job)) for r in rows]
    assert len(set(jobs)) == len(jobs)
    for each in rows:
        assert each.id in bench.ids()
        assert each.budget in bench.BUDGETS
        assert 0 <= each.seed - bench.FIRST_SEED < bench.SEEDS
        assert each.commit
        assert not each.commit.endswith("+")
        assert bench.FEWEST <= each.rollouts <= bench.MOST
        assert bench.SHORTEST <= each.horizon <= bench.LONGEST


def test_the_ids_are_registered(bench):
    assert set(bench.ids()) <= set(registry.ids())
    assert len(set(bench.ids())) == len(bench.ids()) == 79
