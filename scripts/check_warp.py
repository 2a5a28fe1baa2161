"""Print how far control steps on MuJoCo Warp are from the recorded ones, for every id.

    python scripts/check_warp.py [ID ...] [--device cpu] [--out table.json]

Kernels are compiled once for each shape of a model: the first run over all ids takes an hour or two
on a processor, later ones minutes.
"""

import argparse
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))


def main() -> None:
    """Check the ids that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", help="default: all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    arguments = parser.parse_args()

    import warp_records  # of the tests

    from mjgym import registry

    head = ("id", "rows", "reference", "state", "(median)", "observation", "reward", "hooks", "s")
    form = "{:55} {:>4} {:9} {:>8} {:>8} {:>11} {:>8} {:>8} {:>5}"
    print(form.format(*head), flush=True)
    table = {}
    for id in arguments.ids or registry.ids():
        started = time.perf_counter()
        try:
            found = warp_records.errors(id, arguments.device)
        except NotImplementedError as error:
            table[id] = {"missing": str(error)}
            print(f"{id:55} {error}", flush=True)
        except Exception as error:
            table[id] = {"failed": f"{type(error).__name__}: {error}"}
            print(f"{id:55} FAILED {type(error).__name__}: {error}", flush=True)
        else:
            numbers = {
                "state": float(found.state.max()),
                "median": float(sorted(found.state)[len(found.state) // 2]),
                "observation": float(found.observation.max()),
                "reward": float(found.reward.max()),
                "hooks": found.hooks,
            }
            table[id] = {"rows": len(found.state), "reference": found.source, **numbers}
            shown = (f"{number:.1e}" for number in numbers.values())
            spent = f"{time.perf_counter() - started:.0f}"
            print(form.format(id, len(found.state), found.source, *shown, spent), flush=True)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
