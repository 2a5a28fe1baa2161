"""Search for settings that learn most within a few CPU minutes of one core, and check them.

    python benchmarks/recipe.py queue             # missing runs of the tables, one after another
    python benchmarks/recipe.py pixels            # likewise those from images
    python benchmarks/recipe.py goals             # the recipe on tasks with a goal
    python benchmarks/recipe.py goals --settings ppo  # or sb3-sac, sb3-ppo, in the same CPU time
    python benchmarks/recipe.py search            # successive halving, then a table
    python benchmarks/recipe.py table             # results so far
    python benchmarks/recipe.py collect draw      # add finished runs to assets/baselines, and draw

Declared before the first run: the search has at most 110 CPU minutes, one seed a cell. All
candidates train for 0.6 CPU minutes on the first two ids; the better half goes on to the next ids,
and so on (`ROUNDS`). They are ranked by the mean over all ids so far of the last two of four
evaluations, 10 episodes each. One seed shows large differences only.

Goals are scored by the 100 episodes of `mjgym evaluate`, three seeds each; no run is repeated. The
tables have ten CPU minutes a run: three seeds of the suite's and Gymnasium's ids, one of all
others. Runs from images have 60 CPU minutes and one seed. Each run has one thread, and budgets are
CPU time of the process, evaluations included. Several queues share a folder: each holds the run
that it makes. All of them can be stopped at any time, by Ctrl-C, `kill` or with the machine; a
stopped run continues from its last checkpoint.
"""

import argparse
import contextlib
import dataclasses
import functools
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from comparison import report
from comparison.command import RESULTS, described
from training import misses, plan, scores
from training.tables import MISSING

from mjgym import registry
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import baselines, metrics, tables
from mjgym_train.comparison import machine_of
from mjgym_train.run import Run
from mjgym_train.statistics import mean_interval

PARTS = ("search", "goals", "queue", "pixels", "table", "collect", "draw")
FILE = assets() / "baselines" / "recipe.csv"
SMALL = ("hidden=[128,128]", "batch_size=128", "atoms=51")
TOGETHER = (*SMALL, "n_step=5", "average_rate=0.005")
ONE_CRITIC = (
    *(*TOGETHER, "critics=1", "num_envs=32", "updates_per_step=0.125"),
    *("exploration={gaussian: 0.7, ornstein_uhlenbeck: 0.3}", "ou_scale=0.4"),
)
CANDIDATES: dict[str, tuple[str, ...]] = {
    "small": SMALL,
    "updates": (*SMALL, "updates_per_step=0.5"),
    "growing": (*SMALL, "updates_per_step=0.1", "updates_per_step_end=0.5"),
    "decay": (*SMALL, "learning_rate_left=0.1"),
    "n-step-5": (*SMALL, "n_step=5"),
    "average": (*SMALL, "average_rate=0.005"),
    "together": TOGETHER,
    "noise": (*TOGETHER, "noise_min=0.2", "noise_max=1.0"),
    "one-critic": ONE_CRITIC,
    "heavy": (*ONE_CRITIC, "hidden=[256,256]", "updates_per_step=0.5"),
    "dqn": (*SMALL[:2], "n_step=5", "num_envs=32", "updates_per_step=0.125"),
}
"""Changes to the settings `plan.LARGE` of TD3, or of another algorithm."""

RECIPE = "one-critic"
"""The candidate that TD3 has as its defaults."""

WITHOUT_FILE = (RECIPE, "heavy")
"""Candidates whose changes are to TD3's defaults."""

PIXELS = "pixels"
"""A part, and the packaged configuration of its runs."""

METHODS: dict[str, tuple[str, ...]] = {
    **CANDIDATES,
    **dict.fromkeys(("ppo", *plan.PEERS, PIXELS), ()),
}
"""The candidates, what they are compared with at equal CPU time, and learning from images."""

ALGORITHMS = {name: name for name in ("dqn", "ppo", *plan.PEERS)}
"""Algorithms of the methods; the others are TD3's."""

ROUNDS = (
    ("dmc/walker-walk-v0", "dmc/cheetah-run-v0"),
    ("dmc/finger-spin-v0", "dmc/hopper-stand-v0"),
    ("dmc/reacher-hard-v0", "dmc/humanoid-walk-v0"),
)
SEARCH_CPU_MINUTES = 0.6
TENTH = {
    "dmc/walker-stand-v0": 0.4,
    "dmc/reacher-hard-v0": 0.93,
    "dmc/finger-spin-v0": 0.8,
    "dmc/cartpole-swingup-v0": 0.53,
    "dmc/ball_in_cup-catch-v0": 0.4,
}
"""A tenth of the minutes in which the default recipe reaches its goals."""

LONG_CPU_MINUTES = 30.0
LONG = {
    "dmc/dog-walk-v0": 500.0,
    "dmc/dog-run-v0": 250.0,
    "dmc/humanoid-run-v0": 120.0,
    "dmc/quadruped-run-v0": 800.0,
    "dmc/pendulum-swingup-v0": 750.0,
}
"""Scores of the tasks that need longer."""

GOALS = {
    "dmc/walker-walk-v0": (950.0, 1.0),
    "dmc/cheetah-run-v0": (850.0, 4.0),
    "dmc/hopper-stand-v0": (503.0, 5.0),
    "dmc/humanoid-walk-v0": (266.0, 5.0),
    **{id: (plan.GOALS[id][0], minutes) for id, minutes in TENTH.items()},
    **{id: (score, LONG_CPU_MINUTES) for id, score in LONG.items()},
}
"""Scores and CPU minutes.

The scores of hopper-stand and humanoid-walk are the default recipe's after five CPU minutes.
"""

EPISODES = 10  # of an evaluation
WITHOUT_REPLAY = ("threads=1", "tensorboard=false", f"evaluation_episodes={EPISODES}")
USUAL = (*WITHOUT_REPLAY, "keep_buffer=false")
SEARCH_EVALUATIONS, GOAL_EVALUATIONS = 4, 10
LAST = 2  # evaluations that rank a candidate
SEEDS = (0, 1, 2)
TABLE_CPU_MINUTES = 10.0
PIXEL_CPU_MINUTES = 60.0
PIXEL_IDS = tuple(
    f"dmc/{task}-v0"
    for task in (
        *("cartpole-balance", "cartpole-swingup", "ball_in_cup-catch", "finger-spin"),
        *("reacher-easy", "walker-stand", "walker-walk", "cheetah-run", "point_mass-easy"),
        "pendulum-swingup",
    )
)
TABLE_SEEDS = {"suite": 3, "locomotion": 1, "tabletop": 1, "legged": 1, "gymnasium": 3}
"""Runs of each id of the tables."""

OF_GYMNASIUM = ("TD3 of SB3", "SAC of SB3", "TD3 of CleanRL", "SAC of CleanRL")
"""Published methods with a column beside ours on Gymnasium's tasks."""
USUAL_STEPS = "1M"  # of theirs

SPUN = "BLAS threads spun"
"""Fault of runs that shared cores while BLAS had a thread for each: few updates per CPU second."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One finished run."""

    part: str
    name: str  # of the settings
    id: str  # of the task
    seed: int
    cpu_minutes: float  # budget
    cpu_s: float  # spent
    steps: int  # control steps
    updates: int
    last: float  # mean return of the last two evaluations
    score: str  # mean return of 100 episodes with other seeds; empty in the search
    failed: str  # share of these episodes below half of the highest
    success: str  # share of these that succeeded, for a task with success
    curve: str  # "CPU s:return" of every evaluation
    settings: str
    command: str
    commit: str
    versions: str
    machine: str
    fault: str = ""  # for which the run does not show what its settings reach


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of the plan."""

    part: str
    name: str
    id: str
    seed: int
    cpu_minutes: float

    def job(self) -> plan.Job:
        """The run as `goals.py` makes it."""
        short = self.part == "search" or self.cpu_minutes < 1
        count = SEARCH_EVALUATIONS if short else GOAL_EVALUATIONS
        algorithm = ALGORITHMS.get(self.name, "td3")
        if algorithm in plan.PEERS:
            settings: tuple[str, ...] = ("--evaluations", str(count), "--episodes", str(EPISODES))
        else:
            usual = WITHOUT_REPLAY if algorithm == "ppo" else USUAL
            settings = (*METHODS[self.name], *usual, f"evaluations={count}")
        options: tuple[str, ...] = ()
        if self.name == PIXELS:
            options = (f"--config={PIXELS}",)
        elif algorithm == "td3" and self.name not in WITHOUT_FILE:
            options = (plan.LARGE,)
        of = (self.part, self.name, self.id, self.seed, None, settings, options)
        return plan.Job(*of, cpu_minutes=self.cpu_minutes, algorithm=algorithm)

    def row(self, out: Path) -> Row | None:
        """The result; None for a run that has not ended."""
        folder = self.job().folder(out)
        run = Run(folder)
        try:
            lines = run.metrics()
        except RunError:
            return None
        spent = {line.env_step: line.value for line in lines if line.metric == metrics.CPU_SECONDS}
        found = [line for line in lines if line.metric == metrics.RETURN]
        if not found or spent[found[-1].env_step] < 60 * self.cpu_minutes:
            return None
        if self.part != "search" and not run.evaluation_file.exists():
            return None
        about = json.loads(run.fingerprint_file.read_text())
        returns = [line.value for line in found]
        settings = METHODS[self.name]
        return Row(
            **dataclasses.asdict(self),
            cpu_s=round(spent[found[-1].env_step], 1),
            steps=found[-1].env_step,
            updates=found[-1].updates,
            last=round(statistics.mean(returns[-LAST:]), 1),
            **_score(run.evaluation_file),
            curve=" ".join(f"{spent[line.env_step]:.0f}:{line.value:.0f}" for line in found),
            settings=" ".join(settings),
            command=_typed(about["learner"]["command"]).replace(str(folder), "OUT"),
            commit=about["learner"]["source"],
            versions=", ".join(f"{name} {what}" for name, what in about["versions"].items()),
            machine=f"{machine_of(folder)}, shared with other work",
        )

    def make(self, out: Path) -> None:
        """Train, and score outside the search; finished runs are kept.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        if self.row(out) is None:
            if self.part == "search":
                plan.until_stopped(self.job().commands(out)[0])
            else:
                plan.run(self.job(), out)


def _typed(command: str) -> str:
    """A run's command as a person types it; `plan.Job` runs that of `mjgym` by `python -c`."""
    ours = command.removeprefix("-c ")
    return f"python {command}" if ours == command else f"mjgym {ours}"


def _score(file: Path) -> dict[str, str]:
    if not file.exists():
        return {"score": "", "failed": "", "success": ""}
    about = json.loads(file.read_text())
    returns = about["returns"]
    failed = sum(one < max(returns) / 2 for one in returns) / len(returns)
    success = f"{about['success']:.2f}" if "success" in about else ""
    return {"score": f"{about['mean']:.1f}", "failed": f"{failed:.2f}", "success": success}


def ranked(rows: Sequence[Row], names: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Candidates with a run on all of these ids, best first."""
    last = {(row.name, row.id): row.last for row in rows if row.part == "search"}
    means = {
        name: statistics.mean(last[name, id] for id in ids)
        for name in names
        if all((name, id) in last for id in ids)
    }
    return sorted(means, key=lambda name: -means[name])


def search(finished: Callable[[], Sequence[Row]]) -> Iterator[Cell]:
    """Cells of the search; each is to be made, and `finished` then, before the next is drawn."""
    names, seen = list(CANDIDATES), list[str]()
    for ids in ROUNDS:
        yield from (Cell("search", n, id, 0, SEARCH_CPU_MINUTES) for id in ids for n in names)
        seen += ids
        names = ranked(finished(), names, seen)[: max(2, len(names) // 2)]


def goals(ids: Sequence[str], name: str, seeds: Sequence[int]) -> Iterator[Cell]:
    """Runs of the chosen settings on the tasks with a goal, seed by seed."""
    yield from (
        Cell("goals", name, id, seed, minutes)
        for seed in seeds
        for id, (_, minutes) in GOALS.items()
        if not ids or id in ids
    )


def suites() -> dict[str, list[str]]:
    """Ids of the tables, by name."""
    others = ("legged", "gymnasium")
    of = {name: [id for id in registry.ids() if id.startswith(f"{name}/")] for name in others}
    return {**scores.suites(), **of}


def table_cells(ids: Sequence[str], name: str, seeds: Sequence[int]) -> Iterator[Cell]:
    """Runs of the tables, one seed after the other."""
    tables_of = suites()
    for seed in range(max(TABLE_SEEDS.values())):
        known = [
            id for table, count in TABLE_SEEDS.items() for id in tables_of[table] if seed < count
        ]
        for id in known:
            if seed in seeds and (not ids or id in ids):
                yield Cell("tables", name, id, seed, TABLE_CPU_MINUTES)


def pixel_cells(ids: Sequence[str]) -> Iterator[Cell]:
    """Runs from images."""
    wanted = [id for id in PIXEL_IDS if not ids or id in ids]
    yield from (Cell(PIXELS, PIXELS, id, 0, PIXEL_CPU_MINUTES) for id in wanted)


def queue(cells: Iterable[Cell], out: Path) -> None:
    """Make each run that is missing here and in the package, unless another queue makes it."""
    os.nice(19)
    known = {(row.part, row.name, row.id, row.seed) for row in packaged() if not row.fault}
    for cell in cells:
        if (cell.part, cell.name, cell.id, cell.seed) in known:
            continue
        folder = cell.job().folder(out)
        with contextlib.suppress(atomic.HeldError), atomic.held(out / "held" / folder.name):
            try:
                cell.make(out)
            except subprocess.CalledProcessError as error:  # the others do not wait for it
                print(f"{cell.id}, seed {cell.seed}: {error}", file=sys.stderr, flush=True)


def of_runs(out: Path) -> list[Row]:
    """Results of the finished runs in folders."""
    every = [id for ids in ROUNDS for id in ids]
    cells = [Cell("search", n, id, 0, SEARCH_CPU_MINUTES) for n in CANDIDATES for id in every]
    for name in METHODS:
        cells += goals((), name, SEEDS)
        cells += table_cells((), name, range(max(TABLE_SEEDS.values())))
    cells += pixel_cells(())
    return [row for cell in cells if (row := cell.row(out)) is not None]


def packaged() -> list[Row]:
    """Results that come with the package."""
    return tables.read(FILE, Row) if FILE.exists() else []


def collect(out: Path) -> None:
    """Add finished runs to the package's."""
    rows = {(row.part, row.name, row.id, row.seed): row for row in [*packaged(), *of_runs(out)]}
    atomic.write_text(FILE, tables.text(rows.values(), Row))


def search_table(rows: Sequence[Row]) -> str:
    """A row for each candidate: runs, and the mean of its last evaluations by task."""
    last = {(row.name, row.id): row.last for row in rows if row.part == "search"}
    ids = [id for ids in ROUNDS for id in ids if any(id == one for _, one in last)]
    lines = []
    for name, settings in CANDIDATES.items():
        if not any(name == one for one, _ in last):
            continue
        own = [f"{last[name, id]:.0f}" if (name, id) in last else "" for id in ids]
        words = " ".join(f"`{word}`" for word in settings)
        lines.append([name, words, str(len(own) - own.count("")), *own])
    return report.table(("settings", "beside the defaults", "runs", *map(scores.short, ids)), lines)


def goals_table(rows: Sequence[Row], *, curves: bool = True) -> str:
    """A row for each task with a goal and settings that were tried on it."""
    lines = []
    for id, (goal, minutes) in GOALS.items():
        for name in METHODS:
            own = [row for row in rows if (row.part, row.name, row.id) == ("goals", name, id)]
            if not own:
                continue
            scores = [float(row.score) for row in own]
            met = "yes" if statistics.mean(scores) >= goal else "no"
            of_seeds = ", ".join(f"{score:.0f}" for score in scores)
            steps = f"{statistics.mean(row.steps for row in own) / 1000:.0f}"
            mean = f"{statistics.mean(scores):.0f}"
            runs = str(len(own))
            cells = [id, f"{goal:.0f}", f"{minutes:g}", name, met, mean, of_seeds, runs, steps]
            updates = f"{statistics.mean(row.updates for row in own) / 1000:.0f}"
            cells += ["; ".join(row.curve for row in own) if curves else updates]
            lines.append(cells)
    header = ("id", "goal", "CPU min", "settings", "met", "score", "of the seeds", "runs")
    last = "curves, CPU s:return" if curves else "thousand updates"
    columns = (*header, "thousand steps", last)
    return report.table(columns, lines) if lines else f"{MISSING.capitalize()}."


def peers_table(rows: Sequence[Row]) -> str:
    """A row for each task with a goal: mean scores of others' learners in the same CPU time."""
    names = RECIPE, "ppo", *plan.PEERS
    lines = []
    for id, (_, minutes) in GOALS.items():
        own = {
            name: [float(r.score) for r in rows if (r.part, r.name, r.id) == ("goals", name, id)]
            for name in names
        }
        if any(own[name] for name in plan.PEERS):
            means = (f"{statistics.mean(x):.0f}" if x else MISSING for x in own.values())
            lines.append([id, f"{minutes:g}", *means])
    titles = "recipe", "PPO", "SAC of stable-baselines3", "PPO of stable-baselines3"
    return report.table(("id", "CPU min", *titles), lines)


def whole_table(rows: Sequence[Row]) -> str:
    """A row for each id with runs of ten CPU minutes."""
    lines, own = [], [row for row in rows if row.part == "tables"]
    known = [id for ids in suites().values() for id in ids]
    for name, id, fault in sorted({(row.name, row.id, row.fault) for row in own}):
        runs = [row for row in own if (row.name, row.id, row.fault) == (name, id, fault)]
        found = np.array([float(row.score) for row in runs])
        interval = mean_interval(found)
        shares = [
            f"{statistics.mean(float(getattr(row, field)) for row in runs):.0%}"
            if getattr(runs[0], field)
            else ""
            for field in ("failed", "success")
        ]
        cells = (
            *(id, f"{name} ({fault})" if fault else name, f"{found.mean():.0f}"),
            "" if interval is None else f"{interval[0]:.0f} to {interval[1]:.0f}",
            ", ".join(f"{score:.0f}" for score in found),
            *(str(len(runs)), f"{statistics.mean(row.steps for row in runs) / 1e6:.2f}"),
            *(f"{statistics.mean(row.last for row in runs):.0f}", *shares),
        )
        lines.append(cells)
    header = ("id", "settings", "score", "95 %", "of the seeds", "runs", "million steps")
    measured = len({line[0] for line in lines})
    hours = sum(row.cpu_s for row in own) / 3600
    count = f"{measured} of {len(known)} ids have runs, {len(own)} in all, {hours:.1f} CPU hours."
    if not lines:
        return count
    columns = (*header, "last evaluations", "failed", "success")
    return f"{report.table(columns, lines)}\n\n{count}"


def latest(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The tables' runs of each id, by the last candidate that was run on it."""
    found: dict[str, list[Row]] = {}
    for name in CANDIDATES:
        own = [row for row in rows if (row.part, row.name) == ("tables", name)]
        found |= {id: [row for row in own if row.id == id] for id in {row.id for row in own}}
    return found


def scores_of(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Scores of the runs of `latest`, by id."""
    return {id: [float(row.score) for row in own] for id, own in latest(rows).items()}


def common_table(rows: Sequence[Row]) -> str:
    """Means beside published ones."""
    return scores.common(scores_of(rows))


def misses_table(rows: Sequence[Row]) -> str:
    """A row for each id that is far behind published scores."""
    return misses.table(scores_of(rows))


def gymnasium_table(rows: Sequence[Row]) -> str:
    """A row for each of Gymnasium's tasks: its runs, and what others publish after more steps."""
    theirs = {(one.id, one.method): one for one in scores.published()}
    lines = []
    for id in suites()["gymnasium"]:
        runs = [row for row in rows if (row.part, row.name, row.id) == ("tables", RECIPE, id)]
        found = [float(row.score) for row in runs]
        cells = [f"`{id.partition('/')[2]}`", f"{baselines.recorded(id)['random'].mean:.0f}"]
        cells.append(f"**{statistics.mean(found):.0f}**" if found else MISSING)
        cells.append(", ".join(f"{score:.0f}" for score in found))
        cells.append(f"{statistics.mean(row.steps for row in runs) / 1e6:.1f}M" if runs else "")
        for method in OF_GYMNASIUM:
            other = theirs.get((id, method))
            steps = "" if other is None else scores.millions(other.steps)
            more = f" ({steps})" if steps not in ("", USUAL_STEPS) else ""
            cells.append("" if other is None else f"{other.score:.0f}{more}")
        lines.append(cells)
    columns = ("id", "random", "ten CPU minutes", "of the seeds", "control steps")
    return report.table((*columns, *(f"{name}, {USUAL_STEPS}" for name in OF_GYMNASIUM)), lines)


def pixels_table(rows: Sequence[Row]) -> str:
    """A row for each id with runs from images, and what others have published."""
    found = {row.id: row for row in rows if row.part == PIXELS}
    theirs, reported = scores.drq_v2(), scores.reported()
    lines, reached, known = [], 0, 0
    for id in PIXEL_IDS:
        own, curve = found.get(id), theirs.get(id, [])
        cells = [id, f"{baselines.recorded(id)['random'].mean:.0f}"]
        cells.append(f"**{float(own.score):.0f}**" if own else MISSING)
        cells.append(f"{own.steps / 1e6:.2f}M" if own else "")
        same = [point for point in curve if own and point.frames <= own.steps]
        cells += [f"{points[-1].score:.0f}" if points else "" for points in (same, curve)]
        cells += [
            f"{one.score:.0f}"
            for one in reported
            if (one.id, one.method) == (id, "D4PG from pixels")
        ]
        lines.append(cells)
        if own and curve:
            known += 1
            reached += float(own.score) > curve[-1].score / 2
    header = ("id", "random", "60 CPU minutes", "control steps", "DrQ-v2, as many", "DrQ-v2, 1M")
    budgets = (f"D4PG, {budget}" for budget in dict.fromkeys(one.budget for one in reported))
    count = f"{len(found)} of {len(PIXEL_IDS)} ids have a run"
    if known:
        count += f"; of {known} beside DrQ-v2, {reached} with more than half of its score at 1M"
    return f"{report.table((*header, *budgets), lines)}\n\n{count}."


def every() -> dict[str, Callable[[], str]]:
    """All tables, by name."""
    rows = packaged()
    of_recipe = [row for row in rows if row.name == RECIPE]
    return {
        "recipe": functools.partial(goals_table, of_recipe, curves=False),
        "recipe-search": functools.partial(search_table, rows),
        "recipe-peers": functools.partial(peers_table, rows),
        "recipe-goals": functools.partial(goals_table, rows),
        "recipe-tables": functools.partial(whole_table, rows),
        "recipe-misses": functools.partial(misses_table, rows),
        "recipe-common": functools.partial(common_table, rows),
        "learning": functools.partial(gymnasium_table, rows),
        "pixels": functools.partial(pixels_table, rows),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables so far."""
    parser = described(__doc__ or "")
    parser.add_argument("parts", nargs="+", choices=PARTS)
    known = [id for ids in suites().values() for id in ids]
    parser.add_argument("--ids", nargs="+", default=[], choices=known, metavar="ID")
    parser.add_argument(
        "--settings", default=RECIPE, choices=list(METHODS), help="of goals and queue"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--out", type=Path, default=RESULTS / "recipe", help="of the runs")
    given: argparse.Namespace = parser.parse_args(arguments)
    of = (given.ids, given.settings, given.seeds)
    for part in given.parts:
        cells = {"search": search(lambda: of_runs(given.out)), "goals": goals(*of)}
        for cell in cells.get(part, ()):
            cell.make(given.out)
        if part == "queue":
            queue(table_cells(*of), given.out)
        if part == PIXELS:
            queue(pixel_cells(given.ids), given.out)
    if "collect" in given.parts:
        collect(given.out)
    if "draw" in given.parts:
        curves = {id: [row.curve for row in own] for id, own in latest(packaged()).items()}
        misses.draw(curves, scores_of(packaged()))
    rows = of_runs(given.out)
    print(
        "\n\n".join(table(rows) for table in (search_table, goals_table, whole_table, pixels_table))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
