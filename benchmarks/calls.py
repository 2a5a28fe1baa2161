"""Count the Python calls of a control step.

    python benchmarks/calls.py dmc/walker-walk-v0 robosuite/Lift-v0
    python benchmarks/calls.py robosuite/Lift-v0 --where         # by file and function

Calls of Python functions in a step of a single environment in mid-episode: those of this package,
and those of NumPy and others below it. The counts depend on neither the machine nor its load, and
show where a step spends time outside the engine. Hooks run on arrays; `--compiled` counts with the
compiled ones.
"""

import argparse
import collections
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

IDS = ("dmc/walker-walk-v0", "robosuite/Lift-v0")
STEPS = 20  # counted
RAMP = 5  # steps before, in which values are cached


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    summary, _, description = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ids", nargs="*", default=IDS, help=f"default: {' '.join(IDS)}")
    parser.add_argument("--where", action="store_true", help="list functions, most calls first")
    parser.add_argument("--compiled", action="store_true", help="allow compiled steps")
    return parser.parse_args(arguments)


def calls(env: Any) -> "collections.Counter[tuple[str, str]]":
    """Calls in `STEPS` steps of an environment, by file and function."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(RAMP + STEPS)]
    for action in actions[:RAMP]:
        env.step(action)

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            counts[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        for action in actions[RAMP:]:
            env.step(action)
    finally:
        sys.setprofile(None)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the calls per step of each id."""
    options = parse(arguments)
    if not options.compiled:
        os.environ["MJGYM_DISABLE_COMPILED"] = "1"  # read when the package is imported
    import gymnasium

    import mjgym

    package = Path(mjgym.__file__).parent
    print(f"{'id':40}{'package':>8}{'others':>8}")
    for id in options.ids:
        env = gymnasium.make(id, disable_env_checker=True).unwrapped
        counts = calls(env)
        env.close()
        own = sum(count for (file, _), count in counts.items() if file.startswith(str(package)))
        print(f"{id:40}{own / STEPS:8.0f}{(counts.total() - own) / STEPS:8.0f}")
        if options.where:
            for (file, function), count in counts.most_common():
                print(f"  {count / STEPS:8.1f}  {'/'.join(Path(file).parts[-2:])}: {function}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
