"""Time steps and memory of legged robots against the engine, and mjlab where it is installed.

    python benchmarks/legged.py                                # velocity on level and rough ground
    python benchmarks/legged.py legged/go1-velocity-v0 --seconds 5 --num-envs 256
    python benchmarks/legged.py --out benchmarks/records       # and for the table of the guide

Subjects, timed in alternating order, each in a separate process: the batch (`batch`), `mj_step` on
the same models in a loop of C++ on as many threads (`limit`, see `mjgym.checks.benchmark.engine`),
and 64 of mjlab's environments of the same task on the CPU (`mjlab`), which need MuJoCo 3 and have a
virtual environment of their own (`--mjlab`; made if it is missing). The memory of a sub-environment
is the growth of the process by a batch.
"""

import dataclasses
import functools
import json
import sys
from pathlib import Path

from comparison import command, footprint, installation, report, subjects
from comparison.command import RESULTS
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_steps

# mjlab's names of the tasks.
PEERS = {
    "legged/go1-velocity-v0": "Mjlab-Velocity-Flat-Unitree-Go1",
    "legged/go1-velocity-rough-v0": "Mjlab-Velocity-Rough-Unitree-Go1",
    "legged/g1-velocity-v0": "Mjlab-Velocity-Flat-Unitree-G1",
}
NUM_ENVS = 256
MJLAB = ("mjlab==1.6.0",)
MJLAB_ENVS, MJLAB_WARM_UP = 64, 2
PROCESS = Path(__file__).parent / "comparison" / "mjlab_process.py"
NAMES = ("batch", "limit", "mjlab")
RECORD = Path(__file__).parent / "records" / "legged.json"


def mjlab(folder: Path, settings: Settings) -> Subject:
    """mjlab's environments on the CPU, in a process of its virtual environment."""
    python = installation.python_of(folder)
    task, n = PEERS[settings.id], MJLAB_ENVS
    subject = subjects.in_process(
        [python, PROCESS, task, *map(str, (n, settings.threads, settings.seed))], 1
    )
    # Seconds a step: it is timed from standing robots on.
    return dataclasses.replace(subject, simulations=n, warm_up=MJLAB_WARM_UP)


def text(rows: list[report.Result], bytes_per_env: dict[str, float]) -> str:
    """A row for each id."""
    header = (
        "control steps per second",
        "N",
        *NAMES,
        "batch / limit",
        "batch / mjlab",
        "MB an env",
    )
    lines = []
    for row in rows:
        rates = [row["subjects"].get(name, {}).get("rate") for name in NAMES]
        ratios = [row["ratios"].get(f"batch / {name}") for name in ("limit", "mjlab")]
        lines.append(
            (
                row["id"],
                str(row["num_envs"]),
                *("" if rate is None else f"{rate:,.0f}" for rate in rates),
                *("" if ratio is None else f"{ratio['median']:.2f}" for ratio in ratios),
                f"{bytes_per_env[row['id']] / footprint.MEGABYTE:.2f}",
            )
        )
    return report.table(header, lines)


def packaged() -> str:
    """Format the measurements in `benchmarks/records`."""
    content = json.loads(RECORD.read_text(encoding="utf-8"))
    made = report.provenance(content["machine"])
    return f"{text(content['steps'], content['bytes_per_env'])}\n\n{made}"


def main() -> int:
    """Run the command; returns its status."""
    of = command.family_parser(__doc__ or "", NUM_ENVS)
    of.add_argument(
        "--mjlab", type=Path, default=RESULTS / "mjlab", help="virtual environment of mjlab"
    )
    options = command.entered(of, {})
    from mjgym.envs.vector import allowed_cores

    threads = allowed_cores()
    builders: dict[str, Builder] = {
        "batch": subjects.batch,
        "limit": subjects.limit,
        "mjlab": functools.partial(mjlab, options.mjlab.resolve()),
    }
    unavailable = installation.make_apart("mjlab", options.mjlab, MJLAB)
    content = {**report.circumstances(threads, options), "mjlab": MJLAB}
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[report.Result] = []
    memory: dict[str, float] = {}
    for id in command.chosen(options.ids, list(PEERS)):
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        memory[id] = footprint.of_batch(subjects.batch, settings).bytes_per_env
        rows.append(compare_steps(builders, settings, options, unavailable))
        content.update(steps=rows, bytes_per_env=memory)
        report.write_json(options.out / "legged.json", content)
    print(f"\n{text(rows, memory)}\nWritten: {options.out / 'legged.json'}")
    return 0 if all(row["ratios"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
