"""Steps per second of a batch with image observations, against EnvPool's.

    python benchmarks/picture_batches.py --python python3.12
    python benchmarks/picture_batches.py --num-envs 16 --repeats 3

Both step as many CMU humanoids between walls, with 64 x 64 pixels from the egocentric camera at the
published quality, on as many threads, alternating on the same machine. EnvPool renders these images
from 1.2.7 on, which needs Python 3.12 or newer: `--python` makes the virtual environment.
"""

import dataclasses
import importlib
import itertools
import sys
from typing import Any

import numpy as np
from comparison import command, installation, report, subjects
from comparison.subjects import Settings, Subject
from comparison.turns import compare_steps, missing

ID, NAME = "locomotion/cmu_humanoid-run_walls-v0", "DmcCmuHumanoidRunWalls-v1"
PEERS = {"envpool": "envpool==1.2.7"}
WARM_UP = 3  # control steps: slow images use more processes from the second on


def batch(settings: Settings) -> Subject:
    """Ours, with the published observation."""
    subject = subjects.batch(settings, observation="dict+pixels")
    return dataclasses.replace(subject, warm_up=WARM_UP)


def envpool(settings: Settings) -> Subject:
    """EnvPool's, always with image observations.

    Raises:
        ModuleNotFoundError: EnvPool is not installed.
    """
    from mjgym.checks.benchmark import CYCLE

    envs: Any = importlib.import_module("envpool").make_gymnasium(
        NAME, num_envs=settings.num_envs, num_threads=settings.threads, seed=settings.seed
    )
    envs.reset()
    rng = np.random.default_rng(settings.seed)
    rows = (settings.num_envs, *envs.action_space.shape)
    return Subject(
        advance=envs.step,
        actions=itertools.cycle([rng.uniform(-1, 1, rows) for _ in range(CYCLE)]),
        simulations=settings.num_envs,
        reset=envs.reset,
        release=envs.close,
        warm_up=WARM_UP,
    )


def main() -> int:
    """Run the command; returns its status."""
    of = command.parser(__doc__ or "")
    of.add_argument("--num-envs", type=int, default=64, help="of a batch, default 64")
    command.own_environment(of, "venv-pictures")
    options = command.entered(of, PEERS)
    from mjgym.envs.vector import allowed_cores

    threads, unavailable = allowed_cores(), installation.refusals(options.venv)
    settings = Settings(ID, options.num_envs, threads, cpu=options.cpu)
    steps = compare_steps({"batch": batch, "envpool": envpool}, settings, options, unavailable)
    options.out.mkdir(parents=True, exist_ok=True)
    content = {**report.circumstances(threads, options), "steps": [steps]}
    report.write_json(options.out / "picture_batches.json", content)
    rows = [(name, f"{found['rate']:.1f}") for name, found in steps["subjects"].items()
            if "rate" in found]  # fmt: skip
    rows += [(name, f"{found['median']:.2f}") for name, found in steps["ratios"].items()]
    print(report.table(("environment steps per second, and their ratio", ""), rows))
    print(missing([steps], []), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
