"""Write assets/baselines/engines.csv: ids with different dynamics in two engine versions.

    mjgym fingerprint --write there.npz                          # in one environment
    mjgym fingerprint --against there.npz --json > compared.json # in the other
    python scripts/compare_engines.py compared.json
    python scripts/update_tables.py                              # then, for the guide's table

A row is a trajectory of an id, with the versions of both sides, commit and machine.
"""

import argparse
import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measure_scripted_policies import ROOT, commit

from mjgym.util import atomic

FILE = ROOT / "assets/baselines/engines.csv"
COLUMNS = ("id", "actions", "steps", "first", "largest", "at", "here", "there", "commit", "machine")


def _versions(about: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in about["versions"].items())


def rows(compared: Mapping[str, Any], commit: str) -> list[dict[str, Any]]:
    """Rows of the output of `mjgym fingerprint --against FILE --json`."""
    machine = compared["here"]["machine"]
    common = {
        "here": _versions(compared["here"]),
        "there": _versions(compared["there"]),
        "commit": commit,
        "machine": f"{machine['processor']}, {machine['architecture']}",
    }
    return [
        {
            **row,
            "first": "" if row["first"] is None else row["first"],
            "largest": f"{row['largest']:.2g}" if row["largest"] is not None else "inf",
            "at": "" if row["at"] is None else row["at"],
            **common,
        }
        for row in compared["trajectories"]
    ]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("compared", type=Path, help="output of mjgym fingerprint --against --json")
    parser.add_argument("--commit", default=commit(), help="that was compared; default: this one")
    options = parser.parse_args()
    with atomic.replacing(FILE) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(json.loads(options.compared.read_text()), options.commit))


if __name__ == "__main__":
    main()
