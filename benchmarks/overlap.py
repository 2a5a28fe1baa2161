"""Time groups of sub-environments that step while a policy acts, against the plain loop.

    python benchmarks/overlap.py                                  # two ids, 3 minutes
    python benchmarks/overlap.py dmc/humanoid-run-v0 --seconds 5

It makes a separate virtual environment (or reuses an existing one) with this checkout, and runs
itself there. The policy is a perceptron on one core, with a depth that takes as long for half of
the batch as half of the batch's step on one core. Four subjects are timed alternately:

- **plain**: `observations = envs.step(policy(observations))`, physics on one thread;
- **overlap**: `make_vec(..., overlap=2)` with `send` and `recv`, physics on one thread as well: the
  policy acts for one group while the other one steps;
- **plain, alone** and **overlap, alone**: `step` of both without a policy, on all allowed cores.
"""

import dataclasses
import functools
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from comparison import command, report, subjects
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_steps, missing

IDS = ("dmc/walker-walk-v0", "dmc/humanoid-run-v0")
NUM_ENVS = 256
WIDTH = 256  # of the perceptron's layers
TRIALS = 50  # timings to choose the depth
FEW, MANY = 2, 22  # layers to measure a layer's time


def perceptron(inputs: int, outputs: int, depth: int) -> Callable[[np.ndarray], np.ndarray]:
    """Policy of NumPy matrix products, which release the GIL."""
    rng = np.random.default_rng(0)
    widths = [inputs, *[WIDTH] * depth, outputs]
    layers = [
        rng.standard_normal(shape, dtype=np.float32) / np.sqrt(shape[0], dtype=np.float32)
        for shape in itertools.pairwise(widths)
    ]

    def act(observation: np.ndarray) -> np.ndarray:
        for layer in layers:
            observation = np.tanh(observation @ layer)
        return observation

    return act


def made(settings: Settings, **options: Any) -> tuple[Any, np.ndarray]:
    """Environments of a subject, and their first observations."""
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    envs = gymnasium.make_vec(settings.id, num_envs=settings.num_envs, **options)
    observation, _ = envs.reset(seed=settings.seed)
    return envs, observation


def policy_of(envs: Any, depth: int) -> Callable[[np.ndarray], np.ndarray]:
    """Perceptron policy for environments."""
    (inputs,), (outputs,) = envs.single_observation_space.shape, envs.single_action_space.shape
    return perceptron(inputs, outputs, depth)


def plain(settings: Settings, depth: int) -> Subject:
    """The plain loop."""
    envs, first = made(settings, threads=1)
    policy, latest = policy_of(envs, depth), [first]

    def advance(action: None) -> None:
        latest[0] = envs.step(policy(latest[0]))[0]

    return Subject(advance, itertools.repeat(None), settings.num_envs, release=envs.close)


def overlap(settings: Settings, depth: int) -> Subject:
    """The loop with two groups; a call receives both and sends both."""
    envs, first = made(settings, threads=1, overlap=2)
    policy = policy_of(envs, depth)
    for ids in envs.groups:
        envs.send(policy(first[ids]), ids)

    def advance(action: None) -> None:
        for _ in envs.groups:
            observation, *_, info = envs.recv()
            envs.send(policy(observation), info["env_id"])

    return Subject(advance, itertools.repeat(None), settings.num_envs, release=envs.close)


def alone(settings: Settings, **options: Any) -> Subject:
    """`step` without a policy."""
    return subjects.batch(settings, **options)


def depth_for(settings: Settings) -> int:
    """Policy depth that takes as long for a group as the group's step on one thread."""
    group = dataclasses.replace(settings, num_envs=settings.num_envs // 2)
    envs, observation = made(group, threads=1)
    subject = subjects.vector(envs, np.float32, group)
    for action in itertools.islice(subject.actions, subjects.WARM_UP):
        envs.step(action)

    def seconds(act: Callable[[Any], Any]) -> float:
        durations = []
        for action in itertools.islice(subject.actions, TRIALS):
            started = time.perf_counter()
            act(action)
            durations.append(time.perf_counter() - started)
        return float(np.median(durations))

    step = seconds(envs.step)
    shallow, deep = policy_of(envs, FEW), policy_of(envs, MANY)
    few, many = (seconds(lambda _, act=act: act(observation)) for act in (shallow, deep))
    envs.close()
    return max(FEW, FEW + round((step - few) * (MANY - FEW) / (many - few)))


def main() -> int:
    """Run the command; returns its status."""
    options = command.entered(command.family_parser(__doc__ or "", NUM_ENVS), {})
    from mjgym import registry
    from mjgym.envs.vector import allowed_cores

    ids = options.ids or IDS
    command.chosen(ids, registry.ids())
    threads = allowed_cores()
    content: dict[str, Any] = report.circumstances(threads, options)
    content.update(steps=[], depths={})
    options.out.mkdir(parents=True, exist_ok=True)
    for id in ids:
        settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
        depth = depth_for(settings)
        builders: dict[str, Builder] = {
            "plain": functools.partial(plain, depth=depth),
            "overlap": functools.partial(overlap, depth=depth),
            "plain, alone": alone,
            "overlap, alone": functools.partial(alone, overlap=2),
        }
        content["depths"][id] = depth
        content["steps"].append(compare_steps(builders, settings, options))
        report.write_json(options.out / "overlap.json", content)
    names = ("overlap / plain", "overlap / plain, alone")
    rows = [
        (
            step["id"],
            str(content["depths"][step["id"]]),
            *(f"{step['subjects'][name].get('rate', 0):,.0f}" for name in builders),
            *(f"{step['ratios'][name]['median']:.2f}" for name in names if name in step["ratios"]),
        )
        for step in content["steps"]
    ]
    header = ("id", "layers", *(f"{name} /s" for name in builders), *names)
    print("\n\n".join(filter(None, [report.table(header, rows), missing(content["steps"], [])])))
    print(f"\nWritten: {options.out / 'overlap.json'}")
    return 0 if all(len(step["ratios"]) == len(names) for step in content["steps"]) else 1


if __name__ == "__main__":
    sys.exit(main())
