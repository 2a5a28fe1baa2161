"""The benchmarks of planners and rollouts: budgets, rows, tables; no number here is a time."""

import dataclasses
import importlib.util
import sys

import numpy as np
import pytest

from helpers.lanes import lane
from helpers.places import BENCHMARKS


def loaded(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        spec = importlib.util.spec_from_file_location(
            f"{name}_benchmark", BENCHMARKS / f"{name}.py"
        )
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def bench():
    yield from loaded("planning")


@pytest.fixture(scope="module")
def rollouts():
    yield from loaded("rollouts")


def row(bench, **values):
    fields = {"id": "dmc/reacher-easy-v0", "planner": "mppi", "budget": 0.1, "seed": 10000}
    measured = {"total": 5.0, "steps": 10, "spent": 0.1, "rollouts": 32, "horizon": 0.6, "every": 2}
    about = {"command": "python", "commit": "abc", "versions": "mjgym 1", "machine": "x86_64, here"}
    return bench.Row(**{**fields, **measured, **about, **values})


@pytest.mark.parametrize("each", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("budget", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("longest", [1.0, 4.0])
def test_a_budget_is_used_up(bench, longest, budget, each):
    """With known costs: of a step, and of a candidate's control steps."""
    cost, timestep = bench.Cost(alone=2e-5, a=1e-4, b=each), 0.02
    chosen = bench.settings(cost, timestep, budget, longest)
    horizon, count, every = chosen["horizon"], chosen["rollouts"], chosen["every"]
    assert bench.SHORTEST <= horizon <= longest
    assert bench.FEWEST <= count <= bench.MOST
    assert every * timestep >= bench.INTERVAL
    improvement = horizon / timestep * (cost.a + cost.b * count)
    spent = (cost.alone + improvement / every) / timestep
    fewest = (horizon, count, every) == (bench.SHORTEST, bench.FEWEST, 15)
    assert spent <= 1.02 * budget or fewest
    if count < bench.MOST and not fewest:
        assert spent > 0.9 * budget
    assert (count > bench.FEWEST + 1) == (horizon > 1.05 * bench.SHORTEST)


def test_a_name_with_a_prior_plans_with_the_bundled_policy(bench):
    """The policy's actions over the horizon are among the candidates."""
    id = "dmc/cartpole-balance-v0"
    env = bench.environment(id)
    observation, _ = env.reset(seed=0)
    alone, aided = (
        bench.planner_of(id, name, env, rollouts=4) for name in ("mppi", f"mppi{bench.PRIOR}")
    )
    assert (alone(observation) != aided(observation)).any()  # with the same random numbers


@lane(2, 5)
def test_a_name_with_critics_plans_with_a_run(bench, monkeypatch, tmp_path):
    """The run is trained once; its discount and its critics are the planner's."""
    monkeypatch.setattr(bench, "RUNS", tmp_path)
    monkeypatch.setattr(bench, "CRITIC_CPU_MINUTES", 0.02)
    id = "dmc/cartpole-balance-v0"
    env = bench.environment(id)
    planner = bench.planner_of(id, f"mppi{bench.CRITICS}", env, rollouts=4)
    assert planner.problem.discount == 0.99
    assert planner.problem.tail is not None
    observation, _ = env.reset(seed=0)
    assert np.isfinite(planner(observation)).all()
    weights = bench.critic_run(id) / "policy.npz"
    before = weights.stat().st_mtime_ns
    assert (bench.critic_run(id) / "policy.npz").stat().st_mtime_ns == before


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


@pytest.mark.slow
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
        assert bench.SHORTEST <= each.horizon <= bench.FARTHEST


# Rollouts.


@pytest.mark.parametrize("id", ["dmc/reacher-hard-v0", "dmc/walker-walk-v0"])
def test_subjects_try_the_same(rollouts, id):
    """The engine's rollouts, the batch's steps and ours end in the same positions."""
    settings = rollouts.Settings(id, num_envs=3, threads=1)
    env, state, actions = rollouts.start(settings)
    expected = env.rollout(state, actions, snapshots=True).states["qpos"]
    env.close()
    engine, batch = rollouts.engine(settings), rollouts.batch(settings)
    for again in range(2):
        recorded = engine.advance(next(engine.actions))["qpos"]
        substeps = recorded.shape[1] // rollouts.STEPS
        assert np.array_equal(recorded[:, substeps - 1 :: substeps], expected), again
        engine.restart()
    assert batch.advance(next(batch.actions))
    envs = batch.release.__self__
    assert np.array_equal(envs.get_state()["qpos"], expected[:, -1])
    engine.release()
    batch.release()


def test_rollouts_are_compared(rollouts):
    settings = rollouts.Settings("dmc/pendulum-swingup-v0", num_envs=2, threads=1)
    found = rollouts.compared(settings, seconds=1e-3, repeats=2)
    assert set(rollouts.GOALS) <= set(found["ratios"])
    assert all(len(subject["rates"]) == 2 for subject in found["subjects"].values())
