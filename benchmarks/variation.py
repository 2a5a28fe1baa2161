"""Cost of varying mass, friction and size at every reset.

    python benchmarks/variation.py                     # dmc/walker-run-v0, 256 sub-environments
    python benchmarks/variation.py --quick             # a smoke test
    python benchmarks/variation.py dmc/humanoid-run-v0 --num-envs 64

Two batches, one of which varies, take turns: each plays whole episodes including the reset, with
random actions drawn beforehand. The result is the median over all pairs. The reset is also timed
separately, as the varied bodies' contacts change the cost of steps, too. For ids whose episodes do
not end before their limit.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

import mjgym  # noqa: F401  (registers the ids)
from mjgym.checks.benchmark import random_actions
from mjgym.variation import LogNormal, Uniform, factor

VARY = {
    "body_mass": factor(LogNormal(0, 0.1)),
    "geom_friction[*, 0]": factor(Uniform(0.8, 1.2)),
    "geom_size": factor(Uniform(0.95, 1.05)),
}
ACTIONS = 16  # distinct ones, in turn
WARM_UP = 20  # control steps


@dataclass
class Times:
    """Seconds of an episode: of its reset, and with all steps."""

    reset: float
    whole: float


def play(envs: Any, actions: Iterator[np.ndarray], steps: int) -> Times:
    """One episode in every sub-environment."""
    started = time.perf_counter()
    envs.reset()
    reset = time.perf_counter() - started
    for action in itertools.islice(actions, steps):
        envs.step(action)
    return Times(reset, time.perf_counter() - started)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/walker-run-v0")
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=7, help="pairs of episodes")
    parser.add_argument("--quick", action="store_true", help="2 pairs of 20 steps, 8 environments")
    given = parser.parse_args()
    n, repeats = (8, 2) if given.quick else (given.num_envs, given.repeats)
    # Without autoreset: an episode here is one reset and all of its steps.
    make = {"num_envs": n, "autoreset_mode": "Disabled"}
    plain = gymnasium.make_vec(given.id, **make)
    varied = gymnasium.make_vec(given.id, vary=VARY, **make)
    limit = plain.spec.max_episode_steps if plain.spec else None
    steps = 20 if given.quick else (limit or 1000) - 1
    low, high = plain.single_action_space.low, plain.single_action_space.high
    actions = random_actions(low, high, (n,), np.float32, count=ACTIONS, seed=0)
    for envs in (plain, varied):
        envs.reset(seed=0)
        play(envs, actions, min(WARM_UP, steps))
    pairs = []
    for repeat in range(repeats):
        # Each goes first in turn.
        order = (plain, varied) if repeat % 2 == 0 else (varied, plain)
        times = {id(envs): play(envs, actions, steps) for envs in order}
        pairs.append((times[id(plain)], times[id(varied)]))
    episode = statistics.median(a.whole for a, _ in pairs)
    added = statistics.median(b.whole / a.whole for a, b in pairs) - 1
    by_reset = statistics.median((b.reset - a.reset) / a.whole for a, b in pairs)
    print(
        f"{given.id}, {n} sub-environments, {steps} steps, {repeats} pairs, {plain.threads} threads"
    )
    print(f"  an episode without variation   {episode:.3f} s")
    print(f"  its reset, without and with    {_median(pairs, 0):.4f} s, {_median(pairs, 1):.4f} s")
    print(f"  added by the resets            {by_reset:+.2%} of an episode")
    print(f"  added altogether               {added:+.2%} of an episode")
    for envs in (plain, varied):
        envs.close()


def _median(pairs: list[tuple[Times, Times]], which: int) -> float:
    return statistics.median(pair[which].reset for pair in pairs)


if __name__ == "__main__":
    main()
