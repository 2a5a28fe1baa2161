"""Cost of reading all observation entries with noise and delay.

    python benchmarks/observables.py                # dmc/walker-run-v0, 256 sub-environments
    python benchmarks/observables.py --quick        # a few seconds, as a smoke test

The subjects take turns, in another order each time, so that other load affects all alike; the
result is the median over the rounds of each round's share of the plain subject's time.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym import Observable
from mjgym.checks.benchmark import random_actions
from mjgym.util import atomic
from mjgym.variation import Integers, Normal, noises

PLAIN = "plain"
WARM_UP = 50  # control steps, after which objects have settled


def subjects(id: str) -> dict[str, dict[str, Any]]:
    """Keyword arguments by measurement; delays are in physics steps."""
    env = gymnasium.make(id, observation="dict").unwrapped
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    entries = list(env.observation_space)
    control_step = round(
        env.get_wrapper_attr("control_timestep") / env.get_wrapper_attr("physics_timestep")
    )
    noise = noises.additive(Normal(0, 0.01))
    ways = {
        "noise": Observable(noise=noise),
        "noise, delay of a control step": Observable(noise=noise, delay=control_step),
        "noise, delay of 2": Observable(noise=noise, delay=2),
        "noise, delay of 2, buffer of 3": Observable(noise=noise, delay=2, buffer_size=3),
        "noise, delay of 0 to 2 control steps at random": Observable(
            noise=noise, update_interval=control_step, delay=Integers(0, 2 * control_step)
        ),
    }
    plain: dict[str, dict[str, Any]] = {PLAIN: {}}
    return plain | {
        name: {"observables": dict.fromkeys(entries, way)} for name, way in ways.items()
    }


def measure(id: str, num_envs: int, rounds: int, steps: int) -> dict[str, list[float]]:
    """Seconds for `steps` control steps of all sub-environments, in each round, by subject."""
    all_envs = {
        name: gymnasium.make_vec(id, num_envs=num_envs, **keywords)
        for name, keywords in subjects(id).items()
    }
    names = list(all_envs)
    space = all_envs[PLAIN].single_action_space
    assert isinstance(space, gymnasium.spaces.Box)
    drawn = random_actions(space.low, space.high, (num_envs,), np.float32, count=steps, seed=0)
    actions = [next(drawn) for _ in range(steps)]
    for envs in all_envs.values():
        envs.reset(seed=0)
        for k in range(WARM_UP):
            envs.step(actions[k % steps])
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for k in range(rounds):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            envs = all_envs[name]
            started = time.perf_counter()
            for action in actions:
                envs.step(action)
            seconds[name].append(time.perf_counter() - started)
    for envs in all_envs.values():
        envs.close()
    return seconds


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/walker-run-v0")
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=20, help="control steps in a round")
    parser.add_argument("--quick", action="store_true", help="3 rounds of 3 steps")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    given = parser.parse_args()
    rounds, steps = (3, 3) if given.quick else (given.rounds, given.steps)
    seconds = measure(given.id, given.num_envs, rounds, steps)
    print(f"{given.id}, {given.num_envs} sub-environments")
    results = {}
    for name, times in seconds.items():
        shares = [own / plain for own, plain in zip(times, seconds[PLAIN], strict=True)]
        result = results[name] = {
            "milliseconds a step": 1000 * statistics.median(times) / steps,
            "more than plain": statistics.median(shares) - 1,
        }
        milliseconds, more = result.values()
        print(f"  {name:48s} {milliseconds:8.2f} ms a step {more:+8.1%}")
    given.out.mkdir(parents=True, exist_ok=True)
    atomic.write_text(given.out / "observables.json", json.dumps({given.id: results}, indent=2))


if __name__ == "__main__":
    main()
