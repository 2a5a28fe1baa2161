"""Time the compilation of control steps, and list the hooks that stay in NumPy, id by id.

    python benchmarks/compiling.py                           # all ids, 2 minutes
    python benchmarks/compiling.py l2m/walk_sinks-v0
    python benchmarks/compiling.py --out benchmarks/records  # and for the table of the data page

CPU time of this process, apart from imports: "cold" with an empty cache of object code, "kept" with
the code there; both record the hooks and compare them with NumPy's.
"""

import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparison import command, report

RECORD = Path(__file__).parent / "records" / "compiling.json"
SLOW = 0.5  # CPU s, the goal of a cold start


@dataclass(frozen=True)
class Row:
    """An id with its compiled hooks, and the time that compiling took."""

    id: str
    reason: str  # why nothing is; empty otherwise
    hooks: list[str]
    in_numpy: dict[str, str]  # hooks that are not, with the reason
    operations: int  # of LLVM, loads and stores included
    cold: float  # CPU s
    kept: float  # CPU s


def measured(id: str) -> Row:
    """Compile an id twice."""
    import gymnasium

    from mjgym.registry import one_agent
    from mjgym_fast import object_cache
    from mjgym_fast.compiling import compiled

    envs: Any = gymnasium.make_vec(id, num_envs=1, **one_agent(id)).unwrapped
    compile: Callable[[], Any] = functools.partial(
        compiled.__wrapped__, envs.task, "float32", None, envs.varied
    )
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        object_cache.folder = functools.partial(Path, folder)
        for _ in range(2):
            begun = time.process_time()
            step = compile()
            seconds.append(round(time.process_time() - begun, 3))
    envs.close()
    if isinstance(step, str):
        return Row(id, step, [], {}, 0, *seconds)
    operations = sum(x.size for x in step.recording.functions.values())
    return Row(id, "", sorted(step.hooks), dict(step.reasons), operations, *seconds)


def text(rows: list[Row]) -> str:
    """A row for each id, and how many are compiled whole."""
    lines = [
        (
            row.id,
            row.reason or ", ".join(f"{k}: {v}" for k, v in row.in_numpy.items()) or "none",
            *(f"{row.operations:,}", f"{row.cold * 1000:.0f}", f"{row.kept * 1000:.0f}"),
        )
        for row in rows
    ]
    whole = sum(not (row.reason or row.in_numpy) for row in rows)
    steps = sum(not row.reason and row.in_numpy.keys() <= {"initialize"} for row in rows)
    slow = sum(row.cold > SLOW for row in rows)
    header = ("id", "hooks in NumPy, and why", "operations", "cold, CPU ms", "kept, CPU ms")
    count = (
        f"Of {len(rows)} ids, {steps} have all hooks of a control step compiled, and {whole} the"
        f" starts of episodes, too. {slow} take more than {SLOW:g} CPU s cold."
    )
    return f"{report.table(header, lines)}\n\n{count}"


def packaged() -> str:
    """Format the measurements in `benchmarks/records`."""
    content = json.loads(RECORD.read_text(encoding="utf-8"))
    rows = [Row(**row) for row in content["rows"]]
    return f"{text(rows)}\n\n{report.provenance(content['machine'])}"


def main() -> int:
    """Run the command; returns its status."""
    of = command.described(__doc__ or "")
    of.add_argument("ids", nargs="*", help="default: all")
    of.add_argument("--out", type=Path, default=command.RESULTS, help="folder for the record")
    options = of.parse_args()
    from mjgym import registry

    rows = [measured(id) for id in command.chosen(options.ids, registry.ids())]
    options.out.mkdir(parents=True, exist_ok=True)
    content = {"machine": report.machine(1), "rows": [asdict(row) for row in rows]}
    report.write_json(options.out / RECORD.name, content)
    print(f"{text(rows)}\nWritten: {options.out / RECORD.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
