"""Measure planners: returns on fixed seeds by processor time per simulated second, a row each.

    python benchmarks/planning.py                               # all rows that are missing
    python benchmarks/planning.py dmc/walker-walk-v0 --budgets 0.1 --seeds 2
    python benchmarks/planning.py --budgets 1 --seeds 1 --planner mppi+trained  # or mppi+critics
    python benchmarks/planning.py --table                       # in Markdown, from the rows

Protocol, fixed before the runs:

- **Budgets**: 0.1, 1 and 10 CPU seconds per simulated second, on one thread, with the
  environment's own steps. The row has the time that was spent in the end, which is more where the
  fewest candidates are too many even with half a horizon between improvements, or the machine has
  other load.
- **Planner**: MPPI with the defaults of `planning.Planner`. Horizon, candidates (8 or more) and
  steps between improvements (40 ms or more) follow from the budget and the measured cost of a
  candidate's control step, by `settings`, for all ids alike. The horizon is 0.6 to 1 s; up to 4 s
  where 64 random candidates earn the same over 1 s. Defaults and numbers were chosen
  on beginnings of episodes of seven ids, at 0.1 s, with seeds 9000 to 9002, which are not in the
  table: cartpole-balance, walker-walk, finger-spin, cheetah-run, quadruped-walk, reacher-hard,
  hopper-stand.
  Kept for 1 s after trials there on beginnings of 3 s of nine ids, seed 9000: mean reward per step
  0.399 at 0.97 CPU s; 0.407 at 1.25 with 32 candidates over 0.75 s and as many steps between
  improvements as that takes; 0.342 at 1.30 with that and a noise from a half to four half ranges.
- **Prior**: `mppi+trained` has the actions of the bundled policy among its candidates, for ids of
  the suite that have one. `mppi+critics` has those of a run's policy, and its critics' value at the
  horizon's end, on ids where the return of a second misleads; the run, of
  `mjgym train td3 --config large` and seed 0 for 10 CPU minutes, is made first.
- **Score**: the return of a whole episode, from the first seeds of `mjgym evaluate` (10000, ...);
  1000 control steps where a task has no limit.

A row has the command, commit, versions and machine. A row that is there is not measured again.
"""

import argparse
import dataclasses
import functools
import itertools
import re
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from comparison import report
from comparison.command import described
from training import plan, scores

from mjgym import planning, registry
from mjgym.planning.learned import learned
from mjgym.policies import trained
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import score_table, tables

FILE = assets() / "baselines" / "planning.csv"
BUDGETS = (0.1, 1.0, 10.0)  # CPU seconds per simulated second
FIRST_SEED, SEEDS = 10_000, 10
SHORTEST, LONGEST = 0.6, 1.0  # s, of the horizon
FARTHEST = 4.0  # s, where candidates earn the same over the longest
FEWEST, MOST = 8, 4096  # candidates
INTERVAL = 0.04  # s between improvements, at least
HARD = tuple(
    f"dmc/{name}-v0"
    for name in (
        *("acrobot-swingup_sparse", "pendulum-swingup", "cartpole-three_poles"),
        *("swimmer-swimmer15", "stacker-stack_2", "manipulator-bring_ball", "humanoid-stand"),
    )
)
NEAR = 0.6  # of the best other score
PRIOR = "+trained"  # ends the name of a planner whose prior is the bundled policy
CRITICS = "+critics"  # and of one that has a run's policy, and its critics at the horizon's end
CRITIC_IDS = ("dmc/cartpole-swingup-v0", "dmc/hopper-stand-v0", "dmc/swimmer-swimmer6-v0")
CRITIC_CPU_MINUTES = 10.0  # of a run
RUNS = Path(__file__).parent / "results" / "training"
PATHS = "go_to_target|run_gaps|run_walls"  # in the names of locomotion's ids
UNLIMITED = 1000  # control steps of an episode without limit
TRIED = 16, 64  # candidates that are timed
MEASURED = 0.5  # CPU seconds of timing, each
OTHERS = (
    *("robosuite/Lift-v0", "robosuite/Stack-v0", "robosuite/Door-v0", "robosuite/PickPlaceCan-v0"),
    "l2m/walk_planar-v0",
)

Others = tuple[dict[str, float], dict[str, str]]
"""Learned scores by id, and the best published ones with their method."""


@dataclass(frozen=True)
class Job:
    """An episode to measure."""

    id: str
    planner: str
    budget: float
    seed: int


@dataclass(frozen=True)
class Row(Job):
    """A measured episode; see the module."""

    total: float  # the return
    steps: int
    spent: float  # CPU seconds per simulated second
    rollouts: int
    horizon: float
    every: int
    command: str
    commit: str
    versions: str
    machine: str


RowsById = dict[str, list[Row]]


def ids() -> list[str]:
    """The ids of the table."""
    suite = registry.ids(namespace="dmc")
    bricks = [id for id in registry.ids(namespace="manipulation") if "_features" in id]
    paths = [id for id in registry.ids(namespace="locomotion") if re.search(PATHS, id)]
    return [*suite, *bricks, *paths, *OTHERS]


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """All episodes, the cheapest first."""
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    known: Sequence[str] = ids()
    if options.planner.endswith(PRIOR):
        known = sorted({*registry.ids(namespace="dmc")} & {*trained.ids()})
    elif options.planner.endswith(CRITICS):
        known = CRITIC_IDS
    for budget, seed, id in itertools.product(options.budgets, seeds, options.ids or known):
        yield Job(id, options.planner, budget, seed)


@dataclass(frozen=True)
class Cost:
    """CPU seconds of the environment's step, and of a control step of n candidates: a + b n."""

    alone: float
    a: float
    b: float


def seconds_per_step(env: Any, policy: Callable[[Any], np.ndarray]) -> float:
    """CPU seconds of a control step under a policy."""
    observation, _ = env.reset(seed=FIRST_SEED - 1)
    env.step(policy(observation))  # makes the batch of candidates
    begun, made = time.process_time(), 0
    while time.process_time() - begun < MEASURED:
        observation, *_ = env.step(policy(observation).astype(np.float32))
        made += 1
    return (time.process_time() - begun) / made


def cost(id: str, planner: str, timed: Callable[..., float] = seconds_per_step) -> Cost:
    """Time some steps alone, with few candidates and with many."""
    env, (few, many) = environment(id), TRIED
    steps = max(1, round(SHORTEST / env.unwrapped.control_timestep))
    alone = timed(env, lambda _: np.zeros(env.action_space.shape, np.float32))
    less, more = (
        (timed(env, planner_of(id, planner, env, horizon=SHORTEST, rollouts=n)) - alone) / steps
        for n in TRIED
    )
    env.close()
    b = max((more - less) / (many - few), 1e-8)
    return Cost(alone, max(less - few * b, 0.0), b)


def longest_horizon(id: str) -> float:
    """Longest horizon in seconds: further where random candidates earn the same at a start."""
    env = environment(id).unwrapped
    env.reset(seed=FIRST_SEED - 1)
    state = {name: value[0] for name, value in env.get_state().items()}
    problem = planning.Planner(env, horizon=LONGEST).problem
    shape = TRIED[1], problem.knots, len(problem.low)
    knots = np.random.default_rng(FIRST_SEED - 1).uniform(-1, 1, shape)
    returns = problem.returns(state, problem.actions(knots))
    env.close()
    return LONGEST if np.ptp(returns) > 0 else FARTHEST


def settings(cost: Cost, timestep: float, budget: float, longest: float) -> dict[str, Any]:
    """Candidates, horizon and steps between improvements that use up a budget.

    Improvements are as frequent as the fewest candidates over the shortest horizon allow. What is
    left makes the horizon longer by a factor and adds candidates by its square, up to the longest
    horizon; then it adds candidates alone.
    """
    share = budget * timestep - cost.alone
    shortest = SHORTEST / timestep  # control steps
    most = max(1, int(shortest / 2))
    possible = (
        n
        for n in range(1, most)
        if n * timestep >= INTERVAL and n * share >= shortest * (cost.a + FEWEST * cost.b)
    )
    every = next(possible, most)
    room = every * share / shortest
    factors = np.linspace(1, longest / SHORTEST, 500)
    needed = factors * (cost.a + FEWEST * factors**2 * cost.b)
    longer = factors[max(np.searchsorted(needed, room) - 1, 0)]
    count = (room / longer - cost.a) / cost.b
    return {
        "horizon": round(float(SHORTEST * longer), 2),
        "rollouts": int(np.clip(count, FEWEST, MOST)),
        "every": every,
    }


@functools.cache
def measured(id: str, planner: str) -> tuple[Cost, float]:
    """`cost` and `longest_horizon`, measured once."""
    return cost(id, planner), longest_horizon(id)


def planner_of(id: str, name: str, env: Any, **settings: Any) -> planning.Planner:
    """A planner by its name in the table."""
    aids: dict[str, Any] = {}
    if name.endswith(PRIOR):
        aids["prior"] = trained.bundled(id).policy
    elif name.endswith(CRITICS):
        aids |= learned(critic_run(id))
    return planning.Planner(env, name.partition("+")[0], **aids, **settings)


def critic_run(id: str) -> Path:
    """Folder of a task's run with critics, which is trained if it is missing or unfinished."""
    settings = ("threads=1", "tensorboard=false", "keep_buffer=false")
    of = ("planning", "td3", id, 0, None, settings, (plan.LARGE,))
    job = plan.Job(*of, cpu_minutes=CRITIC_CPU_MINUTES)
    plan.run(job, RUNS)
    return job.folder(RUNS)


def environment(id: str) -> Any:
    """One environment on one thread."""
    return gymnasium.make_vec(id, num_envs=1, **registry.one_agent(id, threads=1))


def measure(job: Job, chosen: dict[str, Any] | None = None) -> Row:
    """Play an episode, by default with the settings that use up the budget."""
    env = environment(job.id)
    if chosen is None:
        costs, longest = measured(job.id, job.planner)
        chosen = settings(costs, env.unwrapped.control_timestep, job.budget, longest)
    planner = planner_of(job.id, job.planner, env, seed=job.seed, **chosen)
    observation, _ = env.reset(seed=job.seed)
    limit = env.spec.max_episode_steps or UNLIMITED
    begun, total, steps, ended = time.process_time(), 0.0, 0, False
    while not ended and steps < limit:
        action = planner(observation).astype(np.float32)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, steps, ended = total + float(reward[0]), steps + 1, (terminated | truncated)[0]
    simulated = steps * env.unwrapped.control_timestep
    spent = (time.process_time() - begun) / simulated
    env.close()
    return Row(
        **dataclasses.asdict(job),
        total=round(total, 3),
        steps=steps,
        spent=round(spent, 4),
        **chosen,
        command=shlex.join(["python", "benchmarks/planning.py", job.id, "--budgets",
                            f"{job.budget:g}", "--planner", job.planner]),
        **report.origin(),
    )  # fmt: skip


def read(file: Path = FILE) -> list[Row]:
    """Read the rows so far."""
    return tables.read(file, Row) if file.exists() else []


def append(row: Row, file: Path = FILE) -> None:
    """Add a row."""
    atomic.write_text(file, tables.text([*read(file), row], Row))


def missing(wanted: Iterable[Job], rows: Sequence[Row]) -> list[Job]:
    """Jobs that have no row."""
    names = tables.columns(Job)
    done = {tuple(getattr(row, name) for name in names) for row in rows}
    return [job for job in wanted if dataclasses.astuple(job) not in done]


def text(rows: Sequence[Row]) -> str:
    """The table, how much of it there is, and the means over the suite."""
    count, known = len({row.id for row in rows}), others()
    means = f"{summary(rows, known)} {with_prior(rows, known)}".rstrip()
    return f"{table(rows, known)}\n\n{count} of {len(ids())} ids have rows. {means}"


def table(rows: Sequence[Row], known: Others) -> str:
    """Mean returns by id and budget, with episodes, beside the learned and the best published."""
    budgets = sorted({row.budget for row in rows})
    spent = [f"{budget:g} s" for budget in budgets]
    header = ["id", "planner", *spent, "learned", "best published"]
    learned, published = known
    lines = [header, ["---"] * len(header)]
    for id, planner in sorted({(row.id, row.planner) for row in rows}):
        cells = []
        for budget in budgets:
            returns = [
                r.total for r in rows if (r.id, r.planner, r.budget) == (id, planner, budget)
            ]
            episodes = f"{len(returns)} episode{'s' * (len(returns) > 1)}"
            mean = f"{statistics.mean(returns):.1f} ({episodes})" if returns else "not measured"
            cells.append(mean)
        own = f"{learned[id]:.0f}" if id in learned else ""
        lines.append([f"`{id}`", planner, *cells, own, published.get(id, "")])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def by_id(rows: Sequence[Row], planner: str, budget: float, ids: Collection[str]) -> RowsById:
    """Rows of a planner at a budget, by id, of some ids."""
    found: RowsById = {}
    for row in rows:
        if (row.planner, row.budget) == (planner, budget) and row.id in ids:
            found.setdefault(row.id, []).append(row)
    return found


def mean_return(rows: RowsById) -> float:
    """Mean over ids of their mean returns."""
    return statistics.mean(statistics.mean(row.total for row in each) for each in rows.values())


def summary(rows: Sequence[Row], known: Others, planner: str = "mppi") -> str:
    """Mean over the suite's ids of each budget, beside the learned score of the same ids."""
    learned, _ = known
    sentences = []
    for budget in sorted({row.budget for row in rows}):
        of_ids = by_id(rows, planner, budget, learned)
        if not of_ids:
            continue
        in_time = sum(max(r.spent for r in each) <= 1 for each in of_ids.values())
        sentences.append(
            f"At {budget:g} s the mean over {len(of_ids)} ids of the suite is"
            f" {mean_return(of_ids):.0f}, where"
            f" learning has {statistics.mean(learned[id] for id in of_ids):.0f}; on"
            f" {in_time} of them one core plans in real time."
        )
        if any(id in of_ids for id in HARD):
            sentences.append(_of_hard_ids(of_ids, known))
    return " ".join(sentences)


def with_prior(rows: Sequence[Row], known: Others, planner: str = "mppi") -> str:
    """Means of the ids that have rows with a prior, beside those without it."""
    of_learning, _ = known
    sentences = []
    priors = {PRIOR: "the trained policy as prior", CRITICS: "a run's policy and critics"}
    for budget, name in itertools.product(sorted({row.budget for row in rows}), priors):
        aided = by_id(rows, planner + name, budget, of_learning)
        alone = by_id(rows, planner, budget, aided)
        aided = {id: each for id, each in aided.items() if id in alone}
        if aided:
            sentences.append(
                f"With {priors[name]} the mean at {budget:g} s over {len(aided)} ids"
                f" is {mean_return(aided):.0f}; without it {mean_return(alone):.0f}, of learning"
                f" {statistics.mean(of_learning[id] for id in aided):.0f}."
            )
    return " ".join(sentences)


def _of_hard_ids(of_ids: RowsById, known: Others) -> str:
    """Count the ids of `HARD` near the best other score."""
    learned, published = known
    near = []
    for id in (id for id in HARD if id in of_ids):
        best = max(learned[id], float(published.get(id, "0").split(",")[0]))
        near.append(statistics.mean(row.total for row in of_ids[id]) >= NEAR * best)
    return f"Of {len(near)} hard ids, {sum(near)} reach {NEAR:.0%} of the best other score."


def entries(rows: Sequence[Row], planner: str = "mppi") -> dict[str, list[scores.Unlearned]]:
    """A planner's lines of the leaderboard by id, one for each budget."""
    found: dict[str, list[scores.Unlearned]] = {}
    ids = {row.id for row in rows}
    for budget in sorted({row.budget for row in rows}):
        for id, own in by_id(rows, planner, budget, ids).items():
            returns, seeds = [row.total for row in own], sorted({row.seed for row in own})
            error = statistics.stdev(returns) / len(own) ** 0.5 if len(own) > 1 else None
            line = scores.Unlearned(
                f"{planner}, {budget:g} s",
                statistics.mean(returns),
                error,
                ", ".join(sorted({_engine(row) for row in own})),
                f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0]),
            )
            found.setdefault(id, []).append(line)
    return found


def _engine(row: Row) -> str:
    """The engine of a row's versions, as the leaderboard writes it."""
    found = dict(one.split(" ") for one in row.versions.split(", "))
    return f"MuJoCo {found['mujoco']}"


def others() -> Others:
    """Learned scores by id, and the best published ones with their method."""
    rows = score_table.read()
    lines = {id: scores.line_of(rows, scores.RECIPE, id).scores for id in ids()}
    best = {found.id: found for found in sorted(scores.published(), key=lambda found: found.score)}
    return (
        {id: statistics.mean(values) for id, values in lines.items() if values},
        {id: f"{found.score:.0f}, {found.method}" for id, found in best.items()},
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the missing rows, or print the table."""
    parser = described(__doc__ or "")
    parser.add_argument("ids", nargs="*", help="default: all of the table")
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS)
    names = sorted(planning.METHODS)
    names += [
        name + aid for name in names if planning.METHODS[name].spline for aid in (PRIOR, CRITICS)
    ]
    parser.add_argument("--planner", choices=names, default="mppi")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="episodes of each")
    parser.add_argument("--table", action="store_true", help="print the table, and measure nothing")
    options = parser.parse_args(arguments)
    if options.table:
        print(text(read()))
        return
    for job in missing(jobs(options), read()):
        row = measure(job)
        append(row)
        print(f"{row.id} seed {row.seed}: {row.total:.1f}, {row.spent:.2g} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
