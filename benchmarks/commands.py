"""Check that a policy follows velocity commands, for the table of the guide to legged robots.

    python benchmarks/commands.py legged/go1-velocity-v0           # the bundled policy
    python benchmarks/commands.py legged/go1-velocity-v0 zero runs/go1

Each of 100 commands, drawn uniformly from the task's ranges, is held for an episode of 20 s from a
reset. The error is the mean over the episode, without its first second, of the distance between
the trunk's momentary and its commanded velocity in the plane. A command is followed if that is
below 0.2 m/s and the robot does not fall. Rows go to assets/baselines/legged_commands.csv.
"""

import dataclasses
import json
import operator
import re
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from comparison import report
from comparison.command import described

from mjgym.cli.policy_option import NAMES, TRAINED, load_policy
from mjgym.describe.fingerprint import versions
from mjgym.policies.network import begin
from mjgym.tasks.legged.velocity import VELOCITY, Velocity
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import metrics, tables
from mjgym_train.run import Run
from mjgym_train.statistics import mean_interval

WIDTH = 95  # of commands in the guide
FILE = assets() / "baselines" / "legged_commands.csv"
COMMANDS, SEED = 100, 2026
RUN = re.compile(r"(.+), seed (\d+), ([\d.]+) CPU min")  # names of policies of runs
SECONDS, SETTLING = 20.0, 1.0  # s, of an episode, and at its start without a count
FOLLOWED = 0.2  # m/s


@dataclasses.dataclass(frozen=True)
class Row:
    """One policy over all commands."""

    id: str
    policy: str  # "zero", "trained", or algorithm, seed and CPU minutes of a run
    commands: int
    followed: int
    fell: int
    median: float  # m/s, of the errors
    worst: float  # m/s
    cpu_s: float
    training: str  # command of the run
    command: str
    commit: str
    versions: str
    machine: str


def episode(policy: Any, id: str, command: np.ndarray, seconds: float) -> tuple[float, bool]:
    """The error of an episode, m/s, and whether the robot fell."""
    env: Any = gymnasium.make(id, command=tuple(command))
    observation, _ = env.reset(seed=SEED)
    begin(policy)
    errors, fell = [], False
    for _ in range(round(seconds / env.unwrapped.control_timestep)):
        observation, _, fell, _, _ = env.step(policy(observation))
        velocity = env.unwrapped.view.sensor(VELOCITY).data[:2]
        errors.append(float(np.linalg.norm(velocity - command[:2])))
        if fell:
            break
    settled = errors[round(SETTLING / env.unwrapped.control_timestep) :]
    env.close()
    return float(np.mean(settled or errors)), bool(fell)


def measure(id: str, name: str, count: int = COMMANDS, seconds: float = SECONDS) -> Row:
    """Hold each command for an episode.

    Raises:
        ValueError: the id has no velocity commands.
    """
    env: Any = gymnasium.make(id)
    task = env.unwrapped.task
    if not isinstance(task, Velocity):
        raise ValueError(f"{id} has no velocity commands as legged/go1-velocity-v0 has")
    ranges = np.array((task.lin_vel_x, task.lin_vel_y, task.ang_vel_z))
    commands = np.random.default_rng(SEED).uniform(*ranges.T, (count, len(ranges)))
    began, policy = time.process_time(), load_policy(name, env)
    found = [episode(policy, id, command, seconds) for command in commands]
    errors, fell = (np.array(column) for column in zip(*found, strict=True))
    env.close()
    about, plain = report.machine(1), name in NAMES
    policy_name, training = (name, "") if plain else _described(name)
    return Row(
        id=id,
        policy=policy_name,
        commands=count,
        followed=int(((errors < FOLLOWED) & ~fell).sum()),
        fell=int(fell.sum()),
        median=round(float(np.median(errors)), 3),
        worst=round(float(errors.max()), 3),
        cpu_s=round(time.process_time() - began, 1),
        training=training,
        command=f"python benchmarks/commands.py {id} {name if plain else 'RUN'}",
        commit=report.commit() or "",
        versions=", ".join(f"{package} {version}" for package, version in versions().items()),
        machine=f"{about['cpu']}, {about['cores']} cores",
    )


def _described(folder: str) -> tuple[str, str]:
    run = Run(folder)
    settings = run.settings()
    last = [line.value for line in run.metrics() if line.metric == metrics.CPU_SECONDS][-1]
    how = " with symmetry" if settings.get("symmetry") else ""
    name = f"{settings['algorithm']}{how}, seed {settings['seed']}, {last / 60:.1f} CPU min"
    command = json.loads(run.fingerprint_file.read_text())["learner"]["command"]
    return name, f"mjgym {command.partition(' ')[2]}".replace(folder, "RUN")


def packaged() -> list[Row]:
    """Rows that come with the package."""
    return tables.read(FILE, Row) if FILE.exists() else []


def table(rows: Sequence[Row] | None = None) -> str:
    """Format a line for the runs that differ by their seed alone, then a command of each line."""
    groups: dict[tuple[str, str, str], list[tuple[int, Row]]] = {}
    for row in packaged() if rows is None else rows:
        parts = RUN.fullmatch(row.policy)
        name, seed, minutes = parts.groups() if parts else (row.policy, "0", "0")
        budget = f"{float(minutes):.0f}" if parts else ""
        groups.setdefault((row.id, name, budget), []).append((int(seed), row))
    lines, commands = [], []
    for (id, name, budget), seeded in sorted(groups.items()):
        runs = [row for _, row in sorted(seeded, key=operator.itemgetter(0))]
        followed = np.array([row.followed for row in runs], float)
        lines.append(
            (
                *(f"`{id}`", name, budget, " ".join(f"{row.followed}" for row in runs)),
                _mean(followed),
                str(sum(row.fell for row in runs)),
                f"{np.mean([row.median for row in runs]):.2f}",
                f"{max(row.worst for row in runs):.2f}",
            )
        )
        if runs[-1].training:
            wrapped = textwrap.wrap(runs[-1].training, WIDTH, break_on_hyphens=False)
            title = f"# {id}, {runs[-1].policy}"
            commands.append("\n".join([title, " \\\n    ".join(wrapped)]))
    header = (
        *("id", "policy", "CPU min", "followed of 100, by seed", "mean"),
        *("falls", "median error, m/s", "worst, m/s"),
    )
    return report.table(header, lines) + "\n\n```text\n" + "\n".join(commands) + "\n```"


def _mean(followed: np.ndarray) -> str:
    """The mean over seeds with its 95 % interval, cut at what is possible."""
    interval = mean_interval(followed)
    mean = f"{followed.mean():.0f}"
    if interval is None:
        return mean
    low, high = np.clip(interval, 0, COMMANDS)
    return f"{mean} ({low:.0f} to {high:.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and add the rows to the package's."""
    parser = described(__doc__ or "")
    parser.add_argument("id")
    parser.add_argument(
        "policies", nargs="*", default=[TRAINED], help="zero, trained (the bundled one), or folders"
    )
    given = parser.parse_args(arguments)
    rows = {(row.id, row.policy): row for row in packaged()}
    for name in given.policies:
        row = measure(given.id, name)
        print(f"{row.followed} of {row.commands}, {row.fell} falls, median {row.median} m/s")
        rows[row.id, row.policy] = row
        atomic.write_text(FILE, tables.text(rows.values(), Row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
