"""Time steps and memory of legged robots against the engine, and mjlab where it is installed.

    python benchmarks/legged.py                                # velocity on level and rough ground
    python benchmarks/legged.py legged/go1-velocity-v0 --seconds 5 --num-envs 256
    python benchmarks/legged.py --out benchmarks/records       # and for the table of the guide

Subjects, timed in alternating order, each in a separate process: the batch (`batch`), `mj_step` on
the same models in a loop of C++ on as many threads (`limit`, see `mjgym.checks.benchmark.engine`),
and mjlab's environment of the same task on the CPU (`mjlab`). The memory of a sub-environment is
the growth of the process by a batch.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from comparison import command, footprint, report, subjects
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_steps

# mjlab's names of the tasks.
PEERS = {
    "legged/go1-velocity-v0": "Mjlab-Velocity-Flat-Unitree-Go1",
    "legged/go1-velocity-rough-v0": "Mjlab-Velocity-Rough-Unitree-Go1",
    "legged/g1-velocity-v0": "Mjlab-Velocity-Flat-Unitree-G1",
}
NUM_ENVS = 256
RECORD = Path(__file__).parent / "records" / "legged.json"


def mjlab(settings: Settings) -> Subject:
    """mjlab's environment on the CPU."""
    torch: Any = importlib.import_module("torch")
    envs: Any = importlib.import_module("mjlab.envs")
    tasks: Any = importlib.import_module("mjlab.tasks.registry")
    importlib.import_module("mjlab.tasks")
    torch.set_num_threads(settings.threads)
    config = tasks.load_env_cfg(PEERS[settings.id])
    config.scene.num_envs, config.seed = settings.num_envs, settings.seed
    env = envs.ManagerBasedRlEnv(cfg=config, device="cpu")
    env.reset()
    size = env.action_manager.total_action_dim
    drawn = torch.rand(100, settings.num_envs, size) * 2 - 1
    return Subject(env.step, list(drawn), settings.num_envs)


STEPS: dict[str, Builder] = {"batch": subjects.batch, "limit": subjects.limit, "mjlab": mjlab}


def unavailable() -> dict[str, str]:
    """Reasons why subjects are left out."""
    there = importlib.util.find_spec("mjlab") is not None
    return {} if there else {"mjlab": "it is not installed"}


def text(rows: list[report.Result], bytes_per_env: dict[str, float]) -> str:
    """A row for each id."""
    header = (
        "control steps per second",
        "N",
        *STEPS,
        "batch / limit",
        "batch / mjlab",
        "MB an env",
    )
    lines = []
    for row in rows:
        rates = [row["subjects"].get(name, {}).get("rate") for name in STEPS]
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
    options = command.entered(command.family_parser(__doc__ or "", NUM_ENVS), {})
    from mjgym.envs.vector import allowed_cores

    threads = allowed_cores()
    content = report.circumstances(threads, options)
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[report.Result] = []
    memory: dict[str, float] = {}
    for id in command.chosen(options.ids, list(PEERS)):
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        memory[id] = footprint.of_batch(subjects.batch, settings).bytes_per_env
        rows.append(compare_steps(STEPS, settings, options, unavailable()))
        content.update(steps=rows, bytes_per_env=memory)
        report.write_json(options.out / "legged.json", content)
    print(f"\n{text(rows, memory)}\nWritten: {options.out / 'legged.json'}")
    return 0 if all(row["ratios"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
