"""Runs of environments for checks."""

import dataclasses
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.envs.infos import TERMS


@dataclasses.dataclass
class Step:
    """Results of a step or a reset."""

    observation: np.ndarray
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    terms: dict[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Episode:
    """An episode: its start, its steps, whether it diverged, and NumPy's warnings.

    `broken` names what was not finite, "observation" and "reward", if it diverged.
    """

    steps: list[Step]
    diverged: bool
    warned: list[str]
    broken: dict[str, list[str]] = dataclasses.field(default_factory=dict)


def flat(observation: Any) -> np.ndarray:
    """All numbers of an observation, concatenated."""
    if isinstance(observation, dict):
        return np.concatenate([np.ravel(value) for value in observation.values()])
    return np.ravel(observation)


def stepped(env: Any, action: np.ndarray) -> tuple[Step, bool]:
    """Make a step; also returns whether the simulation has diverged."""
    observation, reward, terminated, truncated, info = env.step(action)
    step = Step(flat(observation), float(reward), terminated, truncated, terms_of(info))
    return step, info["diverged"]


def terms_of(info: dict[str, Any]) -> dict[str, Any]:
    return {k.removeprefix(TERMS): v for k, v in info.items() if k.startswith(TERMS)}


def run_steps(env: Any, actions: Iterable[np.ndarray], steps: int, seed: int) -> list[Step]:
    """Reset and make steps; after an episode's end a reset takes the place of a step."""
    run = [Step(flat(env.reset(seed=seed)[0]))]
    for _, action in zip(range(steps), actions, strict=False):
        if run[-1].terminated or run[-1].truncated:
            run.append(Step(flat(env.reset()[0])))
        else:
            run.append(stepped(env, action)[0])
    return run


def play(env: Any, actions: Iterator[np.ndarray], steps: int) -> Episode:
    """One episode, or its beginning."""
    env.unwrapped.run_in_numpy("NumPy's warnings are collected")
    with _warnings_of_numpy() as warned:
        episode = Episode([Step(flat(env.reset(seed=0)[0]))], False, warned)
        for _ in range(steps):
            step, episode.diverged = stepped(env, next(actions))
            episode.steps.append(step)
            if step.terminated or step.truncated:
                break
        if episode.diverged:
            episode.broken = not_finite(env.unwrapped)
    return episode


def not_finite(env: Any) -> dict[str, list[str]]:
    """Entries of the observation, and terms of the reward, that are not finite at present."""
    task, view = env.task, env.view
    with np.errstate(all="ignore"):
        terms = {**task.terms(view)}
        terms["reward()"] = task.reward(terms)
        parts = {"observation": task.observation(view), "reward": terms}
    return {
        part: [f"{name} = {value}" for name, value in items.items() if not np.isfinite(value).all()]
        for part, items in parts.items()
    }


@contextmanager
def _warnings_of_numpy() -> Iterator[list[str]]:
    """Yields a list that holds each different warning with its place when the context has ended."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    for warning in caught:
        text = f"{warning.message} ({Path(warning.filename).name}:{warning.lineno})"
        if issubclass(warning.category, RuntimeWarning) and text not in texts:
            texts.append(text)


def same(a: Any, b: Any) -> bool:
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()
