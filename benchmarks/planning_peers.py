"""Time planners against judo and the engine's own rollouts, here.

    python benchmarks/planning_peers.py                     # cartpole and walker, two planners
    python benchmarks/planning_peers.py --seconds 5 --judo FOLDER --venv FOLDER

It makes two virtual environments (or reuses existing ones): one with this checkout, in which it
runs itself, and one with judo on the newest MuJoCo that it works with. The model is that of the
task, in both; candidates (`--num-envs`), horizon and knots are the same, and so are the physics
steps of an improvement. Threads are those that each library takes: judo makes one for each
candidate.

- **planner**: an improvement of `mjgym.planning.Planner`, with the task's rewards;
- **rollouts**: `mujoco.rollout` of as many candidates, on as many threads as the planner has, with
  neither rewards nor a plan;
- **judo**: its `update_action`, with rewards of the same terms in NumPy.

Each has a separate process, stopped while another one is timed. Repeats time all in alternating
order: ratios are taken within a repeat, and their median is shown. Rates are candidates per second.
"""

import dataclasses
import functools
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from comparison import command, installation, report, subjects
from comparison.command import RESULTS
from comparison.subjects import Settings, Subject
from comparison.turns import compare_steps

IDS = ("dmc/cartpole-swingup-v0", "dmc/walker-walk-v0")
METHODS = {"predictive_sampling": "ps", "mppi": "mppi"}  # judo's names
ROLLOUTS, HORIZON, KNOTS = 64, 0.5, 6  # candidates, s, of a spline
AT_ONCE = 5  # improvements per request to judo
PEER = ("judo-rai==0.1.0",)
PROCESS = Path(__file__).parent / "comparison" / "judo_process.py"


def environment(settings: Settings) -> tuple[Any, Any]:
    """The task as a batch of one, whose candidates run on all threads, and its observations."""
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    envs = gymnasium.make_vec(settings.id, num_envs=1, threads=settings.threads)
    return envs, envs.reset(seed=settings.seed)[0]


def planner(method: str, settings: Settings) -> Subject:
    """An improvement of a plan from the same state."""
    from mjgym import planning

    envs, observations = environment(settings)
    shape = {"horizon": HORIZON, "spacing": HORIZON / (KNOTS - 1), "rollouts": settings.num_envs}
    act = planning.Planner(envs, method, **shape)
    return Subject(
        advance=act,
        actions=itertools.repeat(observations),
        simulations=settings.num_envs,
        release=envs.close,
    )


def rollouts(settings: Settings) -> Subject:
    """The engine's rollouts of as many physics steps."""
    import mujoco
    from mujoco import rollout

    model = environment(settings)[0].unwrapped.model
    data = [mujoco.MjData(model) for _ in range(settings.threads)]
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.empty(size)
    mujoco.mj_getState(model, data[0], state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    steps = round(HORIZON / model.opt.timestep)
    controls = np.random.default_rng(0).uniform(-1, 1, (settings.num_envs, steps, model.nu))
    states = np.tile(state, (settings.num_envs, 1))
    pool = rollout.Rollout(nthread=settings.threads)
    return Subject(
        advance=lambda _: pool.rollout(model, data, states, controls),
        actions=itertools.repeat(None),
        simulations=settings.num_envs,
        release=pool.close,
    )


def judo(folder: Path, model: str, method: str, settings: Settings) -> Subject:
    """judo's controller, in a process of its virtual environment."""
    python = installation.python_of(folder)
    numbers = [str(settings.num_envs), str(HORIZON), str(KNOTS)]
    subject = subjects.in_process(
        [python, PROCESS, settings.id, model, METHODS[method], *numbers], AT_ONCE
    )
    return dataclasses.replace(
        subject, simulations=settings.num_envs, restart=None, reset=None, begin=None
    )


def text(results: list[report.Result]) -> str:
    """Rates and ratios by id and method."""
    names, rows = ("planner", "judo", "rollouts"), []
    for result in results:
        rates = (result["subjects"][name].get("rate") for name in names)
        shown = ["" if rate is None else f"{rate:,.0f}" for rate in rates]
        ratios = [
            f"{result['ratios'][name]['median']:.2f}" if name in result["ratios"] else ""
            for name in ("planner / judo", "planner / rollouts")
        ]
        rows.append((f"{result['id']} {result['method']}", *shown, *ratios))
    header = (
        "id and method",
        "planner",
        "judo",
        "rollouts",
        "planner / judo",
        "planner / rollouts",
    )
    return report.table(header, rows)


def main() -> int:
    """Run the command; returns its status."""
    parser = command.family_parser(__doc__ or "", ROLLOUTS)
    parser.add_argument("--judo", type=Path, default=RESULTS / "judo", help="virtual environment")
    options = command.entered(parser, {})
    from mjgym.envs.vector import allowed_cores
    from mjgym.util import atomic

    unavailable = installation.make_apart("judo", options.judo, PEER)
    threads = allowed_cores()
    content = {**report.circumstances(threads, options), "unavailable": unavailable}
    results: list[report.Result] = []
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for id, method in itertools.product(command.chosen(options.ids, IDS), METHODS):
            settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
            file = Path(folder) / "model.xml"
            spec = environment(settings)[0].unwrapped.task.model()
            spec.compile()
            atomic.write_text(file, spec.to_xml())
            builders = {
                "planner": functools.partial(planner, method),
                "rollouts": rollouts,
                "judo": functools.partial(judo, options.judo.resolve(), str(file), method),
            }
            result = compare_steps(builders, settings, options, unavailable, steps=float("inf"))
            results.append({**result, "method": method})
            content["results"] = results
            report.write_json(options.out / "planning_peers.json", content)
            ratios = [f"{name} {r['median']:.2f}" for name, r in result["ratios"].items()]
            print(f"{id} {method}: {', '.join(ratios) or 'nothing'}", flush=True)
    print(f"\n{text(results)}\n\nWritten: {options.out / 'planning_peers.json'}")
    return 0 if all(result["ratios"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
