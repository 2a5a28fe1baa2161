"""Time this checkout against another commit, on this machine.

    python benchmarks/commits.py                       # against the commit before, a handful of ids
    python benchmarks/commits.py v0.1.0 dmc/walker-walk-v0 --num-envs 1 256

The other commit is checked out into a temporary folder. For each id and number of environments (1
is `gymnasium.make`), each side has a separate process, which is stopped while the other one is
timed; they alternate, and the shortest time of each side is shown, since other load can only add to
it. Control steps cycle through pre-drawn random actions, in mid-episode, without resets.
"""

import argparse
import contextlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from comparison import report, subjects
from comparison.names import QUICK, envs_for
from comparison.subjects import Builder, Settings
from comparison.turns import time_resets
from comparison.worker import BUILD_TIMEOUT, Worker, WorkerError, time_subject

ROOT = Path(__file__).resolve().parents[1]
THREADS = 2
HEADER = ("id", "environments", "other, us", "this, us", "this / other")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    summary, _, description = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("commit", nargs="?", default="HEAD~1", help="default: the one before")
    parser.add_argument("ids", nargs="*", default=QUICK, help="default: a handful")
    parser.add_argument("--num-envs", type=int, nargs="+", default=[1, 64], help="default: 1 64")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each turn")
    parser.add_argument("--repeats", type=int, default=10, help="turns of either side")
    options = parser.parse_args(arguments)
    for name, least in (("seconds", 0.001), ("repeats", 1), ("num_envs", 1)):
        given = getattr(options, name)
        if (min(given) if isinstance(given, list) else given) < least:
            parser.error(f"--{name.replace('_', '-')}: must be at least {least}, got {given}")
    return options


@contextlib.contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out another commit into a temporary folder.

    Raises:
        SystemExit: there is no such commit.
    """
    with tempfile.TemporaryDirectory(prefix="mjgym-commit-") as folder:
        add = ["git", "worktree", "add", "--quiet", "--detach", folder, commit]
        done = subprocess.run(add, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{commit}: {done.stderr.strip()}")
        try:
            yield Path(folder)
        finally:
            remove = ["git", "worktree", "remove", "--force", folder]
            subprocess.run(remove, cwd=ROOT, capture_output=True, check=False)


def time_checkout(
    connection: Connection, root: str, kind: str, builder: Builder, settings: Settings
) -> None:
    """Target of a worker: `time_subject` or `time_resets` with the package of a checkout."""
    sys.path.insert(0, str(Path(root) / "src"))
    import mjgym

    assert Path(mjgym.__file__).is_relative_to(root), mjgym.__file__
    if importlib.util.find_spec("mjgym.checks") is None:  # a commit with an older layout
        package = "mjgym.inspect" if importlib.util.find_spec("mjgym.inspect") else "mjgym"
        sys.modules["mjgym.checks"] = importlib.import_module(package)
        sys.modules["mjgym.checks.benchmark"] = importlib.import_module(f"{package}.benchmark")
    targets = {"steps": time_subject, "resets": time_resets}
    targets[kind](connection, builder, settings)


def by_turns(
    settings: Settings,
    roots: Sequence[Path],
    seconds: float,
    repeats: int,
    kind: str = "steps",
) -> list[list[float]]:
    """Time control steps of all environments together, or resets of one of them, in s.

    Args:
        settings: of the subject; one environment is `gymnasium.make`.
        roots: of the checkouts.
        seconds: of each turn.
        repeats: turns of each.
        kind: "steps" or "resets".

    Returns:
        Seconds of each turn, for each checkout.

    Raises:
        WorkerError: a side cannot be built or timed.
    """
    builder = subjects.single if settings.num_envs == 1 else subjects.batch
    durations: list[list[float]] = [[] for _ in roots]
    with contextlib.ExitStack() as stack:
        sides = [
            stack.enter_context(Worker(time_checkout, str(root), kind, builder, settings))
            for root in roots
        ]
        for side in sides:
            side.ask("prepare", BUILD_TIMEOUT)
        for repeat in range(repeats):
            for k, side in list(enumerate(sides))[:: -1 if repeat % 2 else 1]:
                answer = side.ask(seconds, BUILD_TIMEOUT)
                durations[k].append(answer if kind == "resets" else answer.seconds / answer.calls)
    return durations


def compare(
    id: str, num_envs: int, roots: Sequence[Path], options: argparse.Namespace
) -> tuple[str, ...]:
    """Row of both sides' control steps of all environments together, in microseconds."""
    settings = Settings(id, num_envs, THREADS)
    turns = by_turns(settings, roots, options.seconds, options.repeats)
    other, this = (1e6 * min(seconds) for seconds in turns)
    return id, str(num_envs), f"{other:,.1f}", f"{this:,.1f}", f"{this / other:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare on all ids; returns the exit status."""
    options = parse(arguments)
    rows = []
    with checked_out(options.commit) as other:
        for id in options.ids:
            for num_envs in options.num_envs:
                try:
                    row = compare(id, envs_for(id, num_envs), (other, ROOT), options)
                except WorkerError as error:
                    row = (id, str(num_envs), str(error), "", "")
                rows.append(row)
                print(" ".join(row), file=sys.stderr, flush=True)
    print(report.table(HEADER, rows))
    return 0 if all(row[-1] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
