"""Time the tabletop family against robosuite and the engine, here.

    python benchmarks/tabletop.py                                # the nine families, 15 minutes
    python benchmarks/tabletop.py robosuite/Lift-v0 --seconds 5
    python benchmarks/tabletop.py --venv FOLDER --robosuite FOLDER   # environments that are there

It makes two virtual environments (or reuses existing ones): one with this
checkout, in which it runs itself, and one with robosuite on the newest MuJoCo that it works with.
Robots are Pandas, the controller is OSC_POSE at 20 Hz, rewards are dense, rendering is off.

- **batch**: `gymnasium.make_vec` with all allowed cores, all else at its defaults;
- **one call**: the same batch of the engine, which makes the 25 physics steps of a control step in
  one call, from states to which random actions have led, each with one torque, and neither
  observation nor reward nor reset; and with all geoms of the model, while **batch** leaves out
  visual geoms;
- **limit**: `mj_step` in a loop of C++ on as many threads, with precomputed torques of the same
  law; a simulation's 150 steps follow one another, and its memory stays in the cache;
- **single**: `gymnasium.make`, one environment as a user has it;
- **robosuite**: its environment of the same name, with hard resets, as it has them by default.

Our resets redraw sizes and places, as robosuite's do. Each subject has a separate process, stopped
while another one is timed. Repeats time all subjects in alternating order: ratios are taken within
a repeat, and their median is shown. Control steps per second are those of all sub-environments
together.
"""

import functools
import itertools
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np
from comparison import command, installation, report, subjects
from comparison.command import RESULTS
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_resets, compare_steps, missing

FAMILIES = (
    *("Lift", "Stack", "PickPlace", "NutAssembly", "Door", "Wipe"),
    *("TwoArmLift", "TwoArmPegInHole", "TwoArmHandover"),
)
IDS = tuple(f"robosuite/{name}-v0" for name in FAMILIES)
NUM_ENVS = 256
MOMENTS = 64  # control steps of a batch, as initial states for the engine alone
AT_ONCE = 20  # control steps per request to robosuite
PEER = ("robosuite==1.5.2", "mujoco==3.9.0")
PROCESS = Path(__file__).parent / "comparison" / "robosuite_process.py"


def robosuite(folder: Path, settings: Settings) -> Subject:
    """robosuite's environment of the same name, in a process of its virtual environment.

    Args:
        folder: virtual environment with robosuite.
        settings: of the subject.
    """
    task = settings.id.partition("/")[2].removesuffix("-v0")
    robots = "Panda,Panda" if task.startswith("TwoArm") else "Panda"
    python = installation.python_of(folder)
    return subjects.in_process([python, PROCESS, task, robots, str(settings.seed)], AT_ONCE)


def one_call(settings: Settings) -> Subject:
    """The engine's batch, cycling through states of a batch with random actions."""
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    envs: Any = gymnasium.make_vec(
        settings.id, num_envs=settings.num_envs, threads=settings.threads
    ).unwrapped
    envs.reset(seed=settings.seed)
    simulations, moving = envs._simulations, subjects.vector(envs, np.float32, settings)
    for action in itertools.islice(moving.actions, subjects.WARM_UP):
        moving.advance(action)  # as for the timed batch: arms are in contact by then
    moments = []
    for action in itertools.islice(moving.actions, MOMENTS):
        before = simulations.batch.state.copy()
        moving.advance(action)
        moments.append((before, simulations.view.ctrl.copy()))  # the last torques in between
    substeps = round(envs.control_timestep / envs.physics_timestep)

    def advance(moment: tuple[np.ndarray, np.ndarray]) -> None:
        simulations.batch.state[...], torques = moment
        simulations.step(torques, substeps)

    return Subject(
        advance=advance,
        actions=itertools.cycle(moments),
        simulations=settings.num_envs,
        release=envs.close,
    )


def text(steps: list[report.Result], resets: list[dict[str, Any]]) -> str:
    """Table, its geometric means, and missing measurements with reasons."""

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    names = ("batch", "one call", "limit", "single", "robosuite")
    ratios = ("batch / robosuite", "batch / one call", "batch / limit", "single / robosuite")
    of_resets = ("robosuite / single", "robosuite / batch")
    rows = []
    for step, reset in zip(steps, resets, strict=True):
        rates = [step["subjects"].get(name, {}).get("rate") for name in names]
        found = [step["ratios"].get(name, {}).get("median") for name in ratios]
        seconds = [reset["seconds"].get(name) for name in ("single", "batch", "robosuite")]
        times = [None if s is None else 1000 * statistics.median(s) for s in seconds]
        anew = [reset["ratios"].get(name, {}).get("median") for name in of_resets]
        rows.append(
            (
                step["id"],
                *(number(rate, ",.0f") for rate in rates),
                *(number(ratio, ".2f") for ratio in found),
                *(number(time, ".2f") for time in times),
                *(number(ratio, ".0f") for ratio in anew),
            )
        )
    header = (
        f"id, N = {steps[0]['num_envs']}",
        *(f"{name} /s" for name in names),
        *ratios,
        *(f"reset ms, {name}" for name in ("single", "batch", "robosuite")),
        *of_resets,
    )
    means = [
        (name, f"{found['geometric_mean']:.2f}", f"{found['minimum']:.2f}", found["minimum_id"])
        for name, found in report.summary(steps).items()
    ]
    parts = [
        report.table(header, rows),
        report.table(("ratio", "geometric mean", "minimum", "of"), means),
        missing(steps, resets),
    ]
    return "\n\n".join(filter(None, parts))


def main() -> int:
    """Run the command; returns its status."""
    of = command.family_parser(__doc__ or "", NUM_ENVS)
    of.add_argument(
        "--robosuite",
        type=Path,
        default=RESULTS / "robosuite",
        help="the virtual environment of robosuite",
    )
    options = command.entered(of)
    from mjgym import registry
    from mjgym.envs.vector import allowed_cores

    ids = options.ids or IDS
    command.chosen(ids, registry.ids(namespace="robosuite"))
    threads = allowed_cores()
    builders: dict[str, Builder] = {
        "robosuite": functools.partial(robosuite, options.robosuite.resolve()),
        "batch": subjects.batch,
        "one call": one_call,
        "limit": subjects.limit,
        "single": subjects.single,
    }
    unavailable = installation.make_apart("robosuite", options.robosuite, PEER)
    reset = {name: builders[name] for name in ("batch", "robosuite", "single")}
    reset = {name: builder for name, builder in reset.items() if name not in unavailable}
    content = {**report.circumstances(threads, options), "robosuite": PEER}
    options.out.mkdir(parents=True, exist_ok=True)
    steps: list[report.Result] = []
    resets: list[dict[str, Any]] = []
    for number, id in enumerate(ids, 1):
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        steps.append(compare_steps(builders, settings, options, unavailable))
        resets.append(compare_resets(reset, settings, options, "robosuite"))
        content.update(steps=steps, resets=resets, summary=report.summary(steps))
        report.write_json(options.out / "robosuite.json", content)
        ratios = {**steps[-1]["ratios"], **resets[-1]["ratios"]}
        shown = [f"{name} {ratio['median']:.2f}" for name, ratio in ratios.items()]
        print(f"{number}/{len(ids)} {id}: {', '.join(shown) or 'nothing'}", flush=True)
    print(f"\n{text(steps, resets)}")
    print(f"\nWritten: {options.out / 'robosuite.json'}")
    return 0 if all(row["ratios"] for row in (*steps, *resets)) else 1


if __name__ == "__main__":
    sys.exit(main())
