"""Time the Learn to Move family, with OpenSim's forces and with MuJoCo's, against OpenSim.

    python benchmarks/learn_to_move.py                             # a quarter of an hour
    python benchmarks/learn_to_move.py l2m/walk_planar-v0 --seconds 5
    python benchmarks/learn_to_move.py --venv FOLDER --opensim FOLDER  # environments that are there

It makes two virtual environments (or reuses existing ones): one with this
checkout and llvmlite (the extra `fast`; MJGYM_DISABLE_COMPILED=1 times the array code), in which
it runs
itself, and one with osim-rl on OpenSim. Where OpenSim has no wheel, its
column stays empty, and the reason is written below the table.

- **batch**: `gymnasium.make_vec` with all allowed cores, all else at its defaults;
- **single**: `gymnasium.make`, one environment as a user has it;
- **OpenSim**: osim-rl's L2M2019Env of the same difficulty, on one core, as it has it.

Actions are uniform in [0, 1], so that episodes end by a fall within a second; resets count. Memory
is the growth of a fresh process per sub-environment of a batch. Each subject has a separate
process, stopped while another one is timed; repeats time all subjects in alternating order, and
ratios are taken within a repeat.
"""

import functools
import sys
from pathlib import Path
from typing import Any

from comparison import command, installation, report, subjects
from comparison.command import RESULTS
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_steps, missing

IDS = tuple(f"l2m/walk_{name}{kind}-v0" for name in ("around", "planar") for kind in ("", "-fast"))
BATCHES = (64, 256)
AT_ONCE = 5  # control steps per request to OpenSim: a second or less
FAST = {"llvmlite": "llvmlite>=0.46"}  # extra of this checkout, which compiles OpenSim's forces
PEER = ("opensim==4.6", "osim-rl==3.0.11", "scipy==1.13.1")
PROCESS = Path(__file__).parent / "comparison" / "opensim_process.py"
GOALS = {"": 2000, "-fast": 6000}  # steps/s of a batch on two cores
MOST_MEMORY = 0.5e6  # bytes per sub-environment


def opensim(folder: Path, settings: Settings) -> Subject:
    """osim-rl's environment, in a process of its virtual environment.

    Args:
        folder: virtual environment with osim-rl.
        settings: of the subject.
    """
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    task: Any = gymnasium.make(settings.id).unwrapped
    mode = "2D" if task.task.planar else "3D"
    arguments = [str(task.task.difficulty), mode, str(settings.seed)]
    python = installation.python_of(folder)
    return subjects.in_process([python, PROCESS, *arguments], AT_ONCE)


def text(steps: list[report.Result], memory: dict[str, float]) -> str:
    """Table, goals, and missing measurements with reasons."""
    names = ("batch", "single", "opensim")
    ratios = ("batch / OpenSim", "single / OpenSim")
    rows = []
    for step in steps:
        rates = [step["subjects"].get(name, {}).get("rate") for name in names]
        found = [step["ratios"].get(name, {}).get("median") for name in ratios]
        kind = "-fast" if "-fast" in step["id"] else ""
        rows.append(
            (
                step["id"],
                str(step["num_envs"]),
                *("" if rate is None else f"{rate:,.0f}" for rate in rates),
                *("" if ratio is None else f"{ratio:,.0f}" for ratio in found),
                f"{memory[step['id']] / 1e6:.2f}",
                f"{GOALS[kind]:,}",
            )
        )
    header = ("id", "N", "batch /s", "single /s", "OpenSim /s", *ratios, "MB each", "goal /s")
    return "\n\n".join(filter(None, [report.table(header, rows), missing(steps, [])]))


def main() -> int:
    """Run the command; returns its status."""
    of = command.parser(__doc__ or "")
    of.add_argument("ids", nargs="*", help="what is timed; default: all of the family")
    of.add_argument(
        "--opensim",
        type=Path,
        default=RESULTS / "opensim",
        help="the virtual environment of osim-rl",
    )
    options = of.parse_args()
    options.num_envs = max(BATCHES)
    command.check(of, options)
    status = command.begin(options.venv, options.python, FAST)
    if status is not None:
        return status
    from mjgym import registry
    from mjgym.checks.benchmark import memory as grown
    from mjgym.envs.vector import allowed_cores

    ids = options.ids or IDS
    command.chosen(ids, registry.ids(namespace="l2m"))
    threads = allowed_cores()
    builders: dict[str, Builder] = {
        "batch": subjects.batch,
        "opensim": functools.partial(opensim, options.opensim.resolve()),
        "single": subjects.single,
    }
    unavailable = installation.make_apart("opensim", options.opensim, PEER)
    content = {**report.circumstances(threads, options), "opensim": PEER}
    options.out.mkdir(parents=True, exist_ok=True)
    steps: list[report.Result] = []
    memory: dict[str, float] = {}
    for id in ids:
        memory[id] = grown(id, BATCHES[0], threads=threads)
        for num_envs in BATCHES:
            settings = Settings(id, num_envs, threads, cpu=options.cpu)
            own = dict(builders)
            if num_envs != BATCHES[0]:  # single subjects are timed once
                own = {"batch": subjects.batch}
            steps.append(compare_steps(own, settings, options, unavailable))
            content.update(steps=steps, memory=memory, most_memory=MOST_MEMORY)
            report.write_json(options.out / "learn_to_move.json", content)
            rates = steps[-1]["subjects"].items()
            shown = [f"{name} {row['rate']:,.0f}/s" for name, row in rates if "rate" in row]
            print(f"{id}, {num_envs}: {', '.join(shown) or 'nothing'}", flush=True)
    print(f"\n{text(steps, memory)}")
    print(f"\nWritten: {options.out / 'learn_to_move.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
