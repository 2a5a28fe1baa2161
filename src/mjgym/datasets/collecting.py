"""Collects episodes of a policy from a batch of environments."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mjgym.datasets.recorder import SUCCESS
from mjgym.datasets.recording import Episode, Recording
from mjgym.envs.observations import take
from mjgym.policies.network import begin, tell


@dataclass(frozen=True)
class Attempt:
    """An episode of a policy."""

    success: bool
    episode: Episode


def attempts(
    envs: Any,
    policy: Callable[[Any], Any],
    *,
    seed: int = 0,
    after: int = 5,
    noise: float = 0.0,
    actions: Literal["executed", "expert"] = "executed",
) -> Generator[Attempt, None, None]:
    """Endless episodes of a policy, in the order of their seeds: seed, seed + 1, ...

    They do not depend on the batch size. Each ends once its goal has been reached for `after`
    further control steps, or as the task ends it.

    With noise, the "executed" actions reproduce an episode, and their errors average to zero for a
    policy trained on them. The "expert" actions, before the noise, are exact labels in the states
    that the noise leads to (DART, Laskey et al., 2017), but do not lead to the next state.

    Args:
        envs: a vector environment of this package with `autoreset_mode="Disabled"`.
        policy: from the observation's entries by name, in double precision, to actions; it may have
            `restart(where)`, called with a mask of new episodes, and `executed(action)`.
        after: control steps after success.
        noise: standard deviation of the action noise, relative to half the range; drawn from the
            seed of each episode.
        actions: to record: those executed or the policy's.
    """
    plain = envs.unwrapped
    space = envs.single_action_space
    count = envs.num_envs
    seeds = seed + np.arange(count)
    following, due = seed + count, seed
    observation, _ = envs.reset(seed=seeds.tolist())
    recordings = [Recording(take(observation, i), int(seeds[i])) for i in range(count)]
    generators = [_generator(each) for each in seeds]
    held = np.zeros(count, dtype=np.int64)  # control steps at the goal
    finished: dict[int, Attempt] = {}
    while True:
        states = plain.get_state()
        intended = np.asarray(policy(plain.observe()))
        perturbed = intended
        if noise:
            draws = np.stack([each.normal(size=space.shape) for each in generators])
            perturbed = intended + noise * (space.high - space.low) / 2 * draws
        executed = _within(space, perturbed)
        tell(policy, executed)
        labels = executed if actions == "executed" else _within(space, intended)
        observation, rewards, terminations, truncations, infos = envs.step(executed)
        successes = np.asarray(infos.get(SUCCESS, np.zeros(count, dtype=bool)))
        for i, recording in enumerate(recordings):
            recording.add(
                take(states, i),
                labels[i],
                take(observation, i),
                rewards[i],
                terminations[i],
                truncations[i],
                successes[i],
            )
        held = np.where(successes, held + 1, 0)
        ended = terminations | truncations | (held > after)
        if not ended.any():
            continue
        states = plain.get_state()
        for i in np.flatnonzero(ended).tolist():
            episode = recordings[i].episode(take(states, i))
            finished[int(seeds[i])] = Attempt(bool(successes[i]), episode)
            seeds[i] = following
            following += 1
        observation, _ = envs.reset(seed=seeds.tolist(), options={"reset_mask": ended})
        for i in np.flatnonzero(ended).tolist():
            recordings[i] = Recording(take(observation, i), int(seeds[i]))
            generators[i] = _generator(seeds[i])
        held[ended] = 0
        begin(policy, ended)
        while due in finished:
            yield finished.pop(due)
            due += 1


def _within(space: Any, actions: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(actions, space.low, space.high).astype(space.dtype))


def _generator(seed: Any) -> np.random.Generator:
    return np.random.default_rng([int(seed), 1])
