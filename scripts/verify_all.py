"""Verify all ids: `python scripts/verify_all.py FOLDER`, again after an interruption.

Each id becomes a file of FOLDER; when all are there they become `assets/baselines/verified.json`,
which `scripts/update_tables.py` shows in the fidelity guide. Runs at the lowest priority.
"""

import argparse
import json
import os
import secrets
import time
from pathlib import Path

import mjgym  # noqa: F401  registers the ids
from mjgym.util import atomic
from mjgym_compat import published_environments, verification

TABLE = Path(__file__).parents[1] / "assets" / "baselines" / "verified.json"
MOST_DRAWN = 2**31


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    asked = parser.parse_args()
    os.nice(10)
    asked.folder.mkdir(exist_ok=True, parents=True)
    drawn = asked.folder / "seed.txt"
    if not drawn.exists():
        atomic.write_text(drawn, str(secrets.randbelow(MOST_DRAWN)))
    first = int(drawn.read_text())
    ids = published_environments.ids_of_installed()
    files = {id: asked.folder / f"{id.replace('/', '-')}.json" for id in ids}
    for id, file in files.items():
        if not file.exists():
            began = time.process_time()
            found = verification.verify(id, range(first, first + asked.seeds), asked.steps)
            atomic.write_text(file, json.dumps(found.as_dict()))
            print(id, found.holds, f"{time.process_time() - began:.0f} s", flush=True)
    rows = [json.loads(file.read_text()) for file in files.values()]
    atomic.write_text(TABLE, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
