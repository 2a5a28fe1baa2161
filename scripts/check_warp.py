"""Print deviations of control steps on MuJoCo Warp from the recorded ones, for every id.

Errors are the largest of positions, velocities and activations ("state"), of observations and of
rewards, relative to max(1, |recorded|). Steps that begin with penetrations of more than 1 cm are
counted separately ("deep"): their number, and the largest error of their states. "hooks" is the
largest difference between torch and NumPy in a task's results for the same state. Violations of the
bounds of `tests/data/warp.json` are printed after a row; the command then fails.

    python scripts/check_warp.py [ID ...] [--device cpu] [--out bounds.json]

Kernels are compiled once per model shape: on a CPU the first run over all ids takes an hour or two,
later ones minutes.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))


def main() -> None:
    """Check the ids of the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="default: all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--out", type=Path, help="write new bounds of these ids there, for tests/data/warp.json"
    )
    arguments = parser.parse_args()

    from helpers import warp_records  # of the tests
    from mjgym import registry
    from mjgym.util import atomic

    head = (
        "id",
        "rows",
        "reference",
        "state",
        "median",
        "observed",
        "reward",
        "deep",
        "hooks",
        "s",
    )
    form = "{:55} {:>4} {:9} {:>8} {:>8} {:>8} {:>8} {:>12} {:>8} {:>4}"
    print(form.format(*head), flush=True)
    table: dict[str, Any] = {}
    bounds = warp_records.bounds()
    failed = False
    for id in arguments.ids or registry.ids():
        started = time.perf_counter()
        try:
            found = warp_records.errors(id, arguments.device)
        except NotImplementedError as error:
            table[id] = {"missing": str(error)}
            print(f"{id:55} {error}", flush=True)
        except Exception as error:
            failed = True
            print(f"{id:55} FAILED {type(error).__name__}: {error}", flush=True)
        else:
            numbers = {**warp_records.measures(found), "hooks": found.hooks}
            shown = {name: f"{number:.1e}" for name, number in numbers.items()}
            count = int(found.deep.sum())
            shown["deep"] = f"{count}: {shown['deep']}" if count else "0"
            spent = f"{time.perf_counter() - started:.0f}"
            wrong = (
                "; ".join(warp_records.above(found, bounds[id])) if id in bounds else "no bounds"
            )
            rows = len(found.state)
            line = form.format(id, rows, found.source, *shown.values(), spent)
            print(f"{line} {wrong}".rstrip(), flush=True)
            failed = failed or bool(wrong)
            measured = {name: numbers[name] for name in warp_records.measures(found)}
            table[id] = warp_records.bounds_of(id, measured)
        if arguments.out is not None:
            atomic.write_text(arguments.out, json.dumps(table, indent=1) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
