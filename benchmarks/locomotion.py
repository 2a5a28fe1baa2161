"""Time resets and steps of the locomotion family against dm_control and the engine, here.

    python benchmarks/locomotion.py                                 # all ids that dm_control has
    python benchmarks/locomotion.py locomotion/rodent-run_gaps-v0 --seconds 5
    python benchmarks/locomotion.py --venv FOLDER                   # an environment that is there

It makes a separate virtual environment (or reuses an existing one), installs this checkout
and dm_control into it, and runs itself there. Two things are timed:

- **resets**: cost of starting an episode in a new random scene, for one environment
  (`single`), for each sub-environment of a batch (`batch`), and in dm_control's example of the same
  task (`dm_control`), which recompiles its model. Rendering is off: dm_control's egocentric
  camera is disabled (after a first image, so that OpenGL must work here).
- **steps**: a batch of humanoids in corridors with walls, against `mj_step` on the same models in a
  loop of C++ on as many threads (see `mjgym.checks.benchmark.engine`). Random actions make a
  humanoid fall soon. The published id begins a new episode then, which costs a reset that the loop
  does not make; the second row goes on with the fallen, as the loop does.

Each subject has a separate process, stopped while another one is timed. Repeats time all subjects
in alternating order: ratios are taken within a repeat, and their median is shown.
"""

import functools
import importlib
import os
import statistics
import sys
from typing import Any

from comparison import command, report, subjects
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_resets, compare_steps, episode_steps, missing

# dm_control's examples by module; a task is a function with the id's name there.
EXAMPLES = {
    "basic_cmu_2019": (
        "cmu_humanoid-run_walls",
        "cmu_humanoid-run_gaps",
        "cmu_humanoid-go_to_target",
        "cmu_humanoid-maze_forage",
        "cmu_humanoid-heterogeneous_forage",
    ),
    "basic_rodent_2020": (
        "rodent-escape_bowl",
        "rodent-run_gaps",
        "rodent-maze_forage",
        "rodent-two_touch",
    ),
}
MODULES = {f"locomotion/{n}-v0": module for module, names in EXAMPLES.items() for n in names}
STEPPED = "locomotion/cmu_humanoid-run_walls-v0"
GOING_ON = "benchmark/cmu_humanoid-run_walls_without_end-v0"  # the same, without ends on falls
NUM_ENVS = 64
ORDER = ("single", "batch", "dm_control")


def dm_control(settings: Settings) -> Subject:
    """dm_control's example of the same task, without its camera."""
    from comparison.other_suites import drop_stale_fields

    os.environ.setdefault("MUJOCO_GL", "egl")
    drop_stale_fields()
    module = importlib.import_module(f"dm_control.locomotion.examples.{MODULES[settings.id]}")
    name = settings.id.partition("/")[2].removesuffix("-v0").replace("-", "_")
    env = getattr(module, name)(random_state=settings.seed)
    for entity in env.task.root_entity.iter_entities():
        for key, observable in entity.observables.as_dict().items():
            if key.endswith("camera"):
                observable.enabled = False
    # A terrain is sent to the renderer at each reset, if there is one.
    physics: Any = importlib.import_module("dm_control.mujoco").Physics
    physics.contexts = None
    return subjects.with_time_steps(env, env.action_spec().dtype, settings)


RESET: dict[str, Builder] = {
    "single": subjects.single,
    "batch": subjects.batch,
    "dm_control": dm_control,
}
STEPS: dict[str, Builder] = {"batch": subjects.batch, "limit": subjects.limit}


def going_on(builder: Builder, settings: Settings) -> Subject:
    """A subject of the id without an end, which is registered first."""
    import mjgym
    from mjgym.tasks.locomotion.run_through_corridor import HUMAN, RunThroughCorridor

    fields = {**HUMAN, "arena": "walls", "ends_on_fall": False}
    mjgym.register(GOING_ON, **fields)(RunThroughCorridor)
    return builder(settings)


STEPS_GOING_ON: dict[str, Builder] = {
    name: functools.partial(going_on, builder) for name, builder in STEPS.items()
}


def text(resets: list[dict[str, Any]], steps: list[report.Result]) -> str:
    """Both tables, and missing measurements with reasons."""

    def milliseconds(row: dict[str, Any], name: str) -> str:
        times = row["seconds"].get(name)
        return "" if times is None else f"{1000 * statistics.median(times):.3f}"

    def ratio(row: dict[str, Any], name: str) -> str:
        found = row["ratios"].get(name)
        return "" if found is None else f"{found['median']:.2f}"

    header = ("reset of one simulation, ms", *RESET, "dm_control / single", "dm_control / batch")
    rows = [
        (
            row["id"],
            *(milliseconds(row, name) for name in RESET),
            *(ratio(row, f"dm_control / {name}") for name in ("single", "batch")),
        )
        for row in resets
    ]
    parts = [report.table(header, rows)] if rows else []
    header = ("control steps per second", "N", "batch", "limit", "batch / limit")
    rows = []
    for row in steps:
        rates = [row["subjects"].get(name, {}).get("rate") for name in ("batch", "limit")]
        shown = ["" if rate is None else f"{rate:,.0f}" for rate in rates]
        rows.append((row["id"], str(row["num_envs"]), *shown, ratio(row, "batch / limit")))
    parts.append(report.table(header, rows))
    return "\n\n".join([*parts, *filter(None, [missing(steps, resets)])])


def main() -> int:
    """Run the command; returns its status."""
    options = command.entered(command.family_parser(__doc__ or "", NUM_ENVS))
    from mjgym.envs.vector import allowed_cores

    ids = command.chosen(options.ids, list(MODULES))
    threads = allowed_cores()
    content = report.circumstances(threads, options)
    options.out.mkdir(parents=True, exist_ok=True)
    steps: list[report.Result] = []
    resets: list[dict[str, Any]] = []

    def write() -> None:
        """Rewrite the file after each id, so that an interruption loses nothing."""
        content.update(steps=steps, resets=resets)
        report.write_json(options.out / "locomotion.json", content)

    limit = episode_steps(STEPPED)
    for id, builders in ((STEPPED, STEPS), (GOING_ON, STEPS_GOING_ON)):
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        steps.append(compare_steps(builders, settings, options, steps=limit))
        write()
    for number, id in enumerate(ids, 1):
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        resets.append(compare_resets(RESET, settings, options, "dm_control"))
        ratios = [f"{name} {r['median']:.2f}" for name, r in resets[-1]["ratios"].items()]
        print(f"{number}/{len(ids)} {id}: {', '.join(ratios) or 'nothing'}", flush=True)
        write()
    print(f"\n{text(resets, steps)}")
    print(f"\nWritten: {options.out / 'locomotion.json'}")
    return 0 if all(row["ratios"] for row in (*steps, *resets)) else 1


if __name__ == "__main__":
    sys.exit(main())
