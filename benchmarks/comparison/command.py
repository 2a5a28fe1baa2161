"""Command line of the comparisons, and their start in the peers' environment."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from comparison import installation

RESULTS = Path(__file__).resolve().parents[1] / "results"


def described(documentation: str) -> argparse.ArgumentParser:
    """Create a command line parser with a program's docstring as its help.

    Args:
        documentation: the docstring; its first line is the summary.
    """
    summary, _, description = documentation.partition("\n")
    return argparse.ArgumentParser(
        description=summary,
        epilog=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def parser(documentation: str) -> argparse.ArgumentParser:
    """Create a command line parser with the common options: duration, repeats, output.

    Args:
        documentation: the program's docstring; its first line is the summary.
    """
    made = described(documentation)
    made.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    made.add_argument("--repeats", type=int, default=3, help="measurements of each subject")
    made.add_argument("--out", type=Path, default=RESULTS, help="folder for what is written")
    made.add_argument(
        "--venv", type=Path, default=RESULTS / "venv", help="the benchmark's virtual environment"
    )
    made.add_argument("--cpu", action="store_true", help="time by the processor's seconds (Linux)")
    made.set_defaults(python=sys.executable)  # used to create it
    return made


def family_parser(documentation: str, num_envs: int) -> argparse.ArgumentParser:
    """Command line of a family's benchmark: ids, `--num-envs`, and the common options.

    Args:
        documentation: the program's docstring.
        num_envs: default batch size.
    """
    of = parser(documentation)
    of.add_argument("ids", nargs="*", help="what is timed; default: all of the family")
    of.add_argument(
        "--num-envs", type=int, default=num_envs, help=f"of a batch, default {num_envs}"
    )
    return of


def own_environment(of: argparse.ArgumentParser, name: str) -> None:
    """Give a comparison a separate virtual environment, made by any interpreter (`--python`).

    Args:
        of: the command line.
        name: folder of the environment.
    """
    of.add_argument("--python", help="makes the virtual environment")
    of.set_defaults(venv=RESULTS / name)


def entered(
    of: argparse.ArgumentParser, peers: Mapping[str, str] = installation.PEERS
) -> argparse.Namespace:
    """Parse the command line, inside the benchmark's virtual environment.

    `chosen` checks the ids, which are known from then on.

    Args:
        of: the command line.
        peers: packages to install beside this checkout, by name.

    Raises:
        SystemExit: with status 2 for an error in it; outside the environment, with the status of
            the run inside.
    """
    options = of.parse_args()
    check(of, options)
    status = begin(options.venv, options.python, peers)
    if status is not None:
        sys.exit(status)
    return options


def chosen(ids: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Ids on the command line, or all known ones.

    Raises:
        SystemExit: with status 2 for an unknown id.
    """
    for id in ids:
        if id not in known:
            print(f"no {id!r}; there are {', '.join(known)}", file=sys.stderr)
            sys.exit(2)
    return ids or known


def check(of: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with status 2 if a number is invalid."""
    for name in ("num_envs", "repeats"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            of.error(f"--{flag}: must be at least 1, got {getattr(options, name)}")
    if not 0 < options.seconds < float("inf"):
        of.error(f"--seconds: must be more than 0, got {options.seconds}")


def begin(
    venv: Path,
    python: str = sys.executable,
    peers: Mapping[str, str] = installation.PEERS,
) -> int | None:
    """Rerun the command in the benchmark's virtual environment, made on demand.

    Args:
        venv: folder of the environment.
        python: the interpreter that makes it.
        peers: packages to install beside this checkout, by name.

    Returns:
        None inside the environment; otherwise the exit status.
    """
    status = installation.enter(venv, python, peers)
    # Stopped processes must not stay behind: let `finally` end them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return status
