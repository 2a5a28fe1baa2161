"""Time rollouts of candidates against the engine's own, and against steps of a batch, here.

    python benchmarks/rollouts.py                           # the suite and others, some minutes
    python benchmarks/rollouts.py dmc/walker-walk-v0 --seconds 2
    python benchmarks/rollouts.py --out benchmarks/records  # and for the table of the guide

Subjects are timed in alternating order, on all threads. All try the same actions (`--num-envs`
candidates, 16 where a step takes more than half a millisecond) over 20 control steps, from the
state of an episode after 20 random actions:

- **rollouts**: `env.unwrapped.rollout`, with the state that it sets, rewards and flags;
- **engine**: `rollout` of the engine's batch of the same models, with as many physics steps and
  threads, each candidate to its end alone. It records positions; the state is set before, untimed.
  It is left out where the task computes the controls;
- **batch**: steps of `gymnasium.make_vec`, with observations and infos; going back to the state is
  not timed.

Repeats time all: ratios are taken within a repeat, and their median is shown. Rates are control
steps per second of all candidates.
"""

import contextlib
import dataclasses
import itertools
import json
import shlex
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from comparison import command, report
from comparison.subjects import Builder, Settings, Subject, built, measure, prepare

CANDIDATES, STEPS = 64, 20  # control steps of each
HEAVY, FEWER = ("dmc/dog-", "dmc/humanoid_CMU-", "dmc/quadruped-escape"), 16
BEGUN = 20  # control steps before the state
OTHERS = ("robosuite/Lift-v0", "robosuite/Door-v0", "l2m/walk_planar-v0", "legged/go1-velocity-v0")
GOALS = {"rollouts / engine": 0.85, "rollouts / batch": 0.95}  # medians over the suite
SHOWN = 8  # ids in the guide
RECORD = Path(__file__).parent / "records" / "rollouts.json"


def start(settings: Settings) -> tuple[Any, dict[str, np.ndarray], np.ndarray]:
    """An environment, a state of it, and the candidates' actions (n, T, nu)."""
    import mjgym  # noqa: F401  (registers the ids)
    from mjgym.checks.benchmark import random_actions

    env: Any = gymnasium.make_vec(settings.id, num_envs=1, threads=settings.threads)
    env.reset(seed=settings.seed)
    space, size, seed = env.single_action_space, (settings.num_envs,), settings.seed
    count = BEGUN + STEPS
    drawn = random_actions(space.low, space.high, size, np.float32, count=count, seed=seed)
    for actions in itertools.islice(drawn, BEGUN):
        env.step(actions[:1])
    state = {name: value[0] for name, value in env.unwrapped.get_state().items()}
    return env.unwrapped, state, np.stack(list(itertools.islice(drawn, STEPS)), axis=1)


def several(settings: Settings) -> tuple[Any, dict[str, np.ndarray], np.ndarray]:
    """`start` with a batch in the state."""
    env, state, actions = start(settings)
    env.close()
    envs: Any = gymnasium.make_vec(
        settings.id, num_envs=settings.num_envs, threads=settings.threads
    ).unwrapped
    envs.set_state(state)
    return envs, state, actions


def rollouts(settings: Settings) -> Subject:
    """Rollouts of an environment."""
    env, state, actions = start(settings)
    return Subject(
        advance=lambda tried: env.rollout(state, tried),
        actions=itertools.repeat(actions),
        simulations=settings.num_envs,
        control_steps=STEPS,
        release=env.close,
        warm_up=0,
    )


def engine(settings: Settings) -> Subject:
    """The engine's rollouts, from the batch's own arrays."""
    from mjgym.task import Task

    envs, _, actions = several(settings)
    if type(envs.task).control is not Task.control:
        envs.close()
        raise ValueError("its controls are the task's")
    batch, substeps = envs._simulations.batch, round(envs.control_timestep / envs.physics_timestep)
    begun = batch.state.copy()
    controls = np.repeat(actions.astype(np.float64), substeps, axis=1)

    def restart() -> None:
        batch.state[...] = begun

    return Subject(
        advance=lambda tried: batch.rollout(tried.shape[1], control=tried),
        actions=itertools.repeat(controls),
        simulations=settings.num_envs,
        control_steps=STEPS,
        ended=lambda recorded: True,
        restart=restart,
        release=envs.close,
        warm_up=0,
    )


def batch(settings: Settings) -> Subject:
    """Steps of a batch, which goes back to the state."""
    envs, state, actions = several(settings)

    def advance(tried: np.ndarray) -> bool:
        for t in range(STEPS):
            envs.step(tried[:, t])
        return True

    return Subject(
        advance=advance,
        actions=itertools.repeat(actions),
        simulations=settings.num_envs,
        control_steps=STEPS,
        ended=bool,
        restart=lambda: envs.set_state(state),
        release=envs.close,
        warm_up=0,
    )


BUILDERS: dict[str, Builder] = {"rollouts": rollouts, "engine": engine, "batch": batch}


def compared(settings: Settings, seconds: float, repeats: int) -> report.Result:
    """Measure an id in this process, whose threads sleep while others' run."""
    measured: dict[str, dict[str, Any]] = {}
    with contextlib.ExitStack() as ends:
        made: dict[str, Subject] = {}
        for name, builder in BUILDERS.items():
            try:
                made[name] = ends.enter_context(built(builder, settings))
            except ValueError as error:
                measured[name] = {"error": str(error)}
        for name, subject in made.items():
            prepare(subject, cpu=settings.cpu)
            about = {"simulations": subject.simulations, "control_steps": subject.control_steps}
            measured[name] = {**about, "resets": [], "windows": []}
        for repeat in range(repeats):
            for name in [*made][:: -1 if repeat % 2 else 1]:
                window = measure(made[name], seconds, cpu=settings.cpu)
                measured[name]["windows"].append({**dataclasses.asdict(window), "restarts": []})
    return report.result(settings.id, settings.num_envs, float("inf"), measured)


def text(results: Sequence[report.Result], shown: int | None = None) -> str:
    """Medians over the suite beside the goals, and the ids with the lowest ratios, or all."""
    lines = []
    for name, goal in GOALS.items():
        found = {
            result["id"]: result["ratios"][name]["median"]
            for result in results
            if name in result["ratios"] and result["id"] not in OTHERS
        }
        if found:
            lowest = min(found, key=found.__getitem__)
            lines.append(
                f"{name}: {statistics.median(found.values()):.2f} in the median of {len(found)} ids"
                f" of the suite (goal {goal:.2f}), lowest {found[lowest]:.2f} (`{lowest}`)."
            )
    header = ("control steps per second", "candidates", *BUILDERS, *GOALS)
    rows = []
    for result in sorted(results, key=_lowest)[:shown]:
        rates = [result["subjects"][name].get("rate") for name in BUILDERS]
        ratios = [result["ratios"].get(name) for name in GOALS]
        rows.append(
            (
                f"`{result['id']}`",
                str(result["num_envs"]),
                *("" if rate is None else f"{rate:,.0f}" for rate in rates),
                *("" if ratio is None else f"{ratio['median']:.2f}" for ratio in ratios),
            )
        )
    return "\n\n".join(["\n".join(lines), report.table(header, rows)])


def _lowest(result: report.Result) -> float:
    return min(result["ratios"][name]["median"] for name in GOALS if name in result["ratios"])


def packaged() -> str:
    """Format the measurements in `benchmarks/records`, or name the command that makes them."""
    if not RECORD.exists():
        return "Not measured yet: `python benchmarks/rollouts.py --out benchmarks/records`."
    content = json.loads(RECORD.read_text(encoding="utf-8"))
    return f"{text(content['results'], SHOWN)}\n\n{report.provenance(content['machine'])}"


def main() -> int:
    """Run the command; returns its status."""
    parser = command.family_parser(__doc__ or "", CANDIDATES)
    parser.set_defaults(seconds=0.2)
    options = command.entered(parser, {})
    from mjgym import registry
    from mjgym.envs.vector import allowed_cores

    threads = allowed_cores()
    words = shlex.join(["python", "benchmarks/rollouts.py", *sys.argv[1:]])
    content = {**report.circumstances(threads, options), "command": words}
    known = [*registry.ids(namespace="dmc"), *OTHERS]
    results: list[report.Result] = []
    options.out.mkdir(parents=True, exist_ok=True)
    for id in command.chosen(options.ids, known):
        count = min(options.num_envs, FEWER) if id.startswith(HEAVY) else options.num_envs
        settings = Settings(id, count, threads, cpu=options.cpu)
        results.append(compared(settings, options.seconds, options.repeats))
        content["results"] = results
        report.write_json(options.out / "rollouts.json", content)
        ratios = [f"{name} {ratio['median']:.2f}" for name, ratio in results[-1]["ratios"].items()]
        print(f"{id}: {', '.join(ratios)}", flush=True)
    print(f"\n{text(results)}\n\nWritten: {options.out / 'rollouts.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
