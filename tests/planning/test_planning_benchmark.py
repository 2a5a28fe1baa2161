"""The benchmarks of planners and rollouts: budgets, rows, tables; no number here is a time."""

import dataclasses
import importlib.util
import sys

import numpy as np
import pytest

from helpers.places import BENCHMARKS
from mjgym import registry


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


def test_a_cost_is_that_of_steps(bench):
    """The environment's own step and a candidate's are told apart."""
    alone, a, b, steps = 2e-5, 1e-4, 1e-6, 30

    def seconds(env, policy):
        found = getattr(getattr(policy, "method", None), "rollouts", 0)
        return alone + (steps * (a + b * found) if found else 0.0)

    found = bench.cost("dmc/reacher-easy-v0", "mppi", seconds)
    assert dataclasses.astuple(found) == pytest.approx((alone, a, b))


def test_the_horizon_is_long_where_no_candidate_earns_more(bench):
    assert bench.longest_horizon("dmc/cartpole-swingup_sparse-v0") == bench.FARTHEST
    assert bench.longest_horizon("dmc/cartpole-swingup-v0") == bench.LONGEST


def test_a_name_with_a_prior_plans_with_the_bundled_policy(bench):
    """The policy's actions over the horizon are among the candidates."""
    id = "dmc/cartpole-balance-v0"
    env = bench.environment(id)
    observation, _ = env.reset(seed=0)
    alone, aided = (
        bench.planner_of(id, name, env, rollouts=4) for name in ("mppi", f"mppi{bench.PRIOR}")
    )
    assert (alone(observation) != aided(observation)).any()  # with the same random numbers


@pytest.mark.slow
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


def test_means_with_a_prior_are_over_ids_with_both(bench):
    ids = ("dmc/reacher-easy-v0", "dmc/reacher-hard-v0", "dmc/walker-run-v0")
    rows = [row(bench, id=id, total=10.0) for id in ids]
    rows += [row(bench, id=id, planner=f"mppi{bench.PRIOR}", total=30.0) for id in ids[:2]]
    said = bench.with_prior(rows, (dict.fromkeys(ids, 20.0), {}))
    assert "over 2 ids is 30; without it 10, of learning 20" in said


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


def test_lines_of_the_leaderboard_are_means_by_budget(bench):
    about = {"versions": "mjgym 1, mujoco 4.0.0"}
    rows = [row(bench, **about), row(bench, seed=10001, total=7.0, **about)]
    rows += [row(bench, budget=1.0, **about), row(bench, planner=f"mppi{bench.PRIOR}", **about)]
    several, one = bench.entries(rows)["dmc/reacher-easy-v0"]
    expected = "mppi, 0.1 s", 6.0, pytest.approx(1.0), "MuJoCo 4.0.0", "10000 to 10001"
    assert dataclasses.astuple(several) == expected
    assert dataclasses.astuple(one) == ("mppi, 1 s", 5.0, None, "MuJoCo 4.0.0", "10000")


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


def test_the_ids_are_registered(bench):
    assert set(bench.ids()) <= set(registry.ids())
    assert len(set(bench.ids())) == len(bench.ids()) == 79


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


def test_engine_rollouts_need_the_engines_controls(rollouts):
    settings = rollouts.Settings("legged/go1-velocity-v0", num_envs=2, threads=1)
    with pytest.raises(ValueError, match="controls"):
        rollouts.engine(settings)


def test_the_lowest_ratios_are_shown(rollouts):
    def result(id, engine, batch):
        ratios = {"rollouts / batch": {"median": batch}}
        ratios |= {"rollouts / engine": {"median": engine}} if engine else {}
        return {
            "id": id,
            "num_envs": 2,
            "subjects": {n: {} for n in rollouts.BUILDERS},
            "ratios": ratios,
        }

    results = [result(f"dmc/{i}-v0", 0.5 + 0.1 * i, 1.2) for i in range(5)]
    results.append(result(rollouts.OTHERS[0], None, 0.9))
    lines = rollouts.text(results, 2).splitlines()
    assert lines[0] == (
        "rollouts / engine: 0.70 in the median of 5 ids of the suite (goal 0.85),"
        " lowest 0.50 (`dmc/0-v0`)."
    )
    assert "1.20 in the median of 5 ids" in lines[1]
    assert [line.split("`")[1] for line in lines if line.startswith("| `")] == [
        "dmc/0-v0",
        "dmc/1-v0",
    ]
