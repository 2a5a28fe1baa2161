"""Trajectories of ids under fixed actions, to compare two engines.

They show every difference in the results of another version of MuJoCo, another processor or another
law, from the last bit on.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import mjgym
from mjgym.actions import drawable
from mjgym.policies.network import begin
from mjgym.util import atomic, bounded, npz
from mjgym.util.bounded import UserError

STEPS = 200  # of each trajectory, across episodes
RANDOM, SCRIPTED, SINUSOIDAL = "random", "scripted", "sinusoidal"
PERIOD = 50  # control steps, of sinusoidal actions

_ABOUT = "about"
_LARGEST_ABOUT = 1 << 20  # bytes
_STATE = ("qpos", "qvel", "act")


class TrajectoryError(UserError, ValueError):
    """A file holds no trajectories, or lacks the requested ones."""


@dataclass(frozen=True)
class Difference:
    """Comparison of two trajectories of an id."""

    id: str
    # "random" within the bounds; "scripted", by the task's scripted policy; or, without one,
    # "sinusoidal"
    actions: str
    steps: int
    # The step after which the states first differ, 0 for the start; None if all are equal to the
    # bit
    first: int | None
    # Absolute difference of a position, velocity or activation; infinite if one engine has another
    # number of them, or one that is not finite
    largest: float
    at: int | None  # the step of the largest difference; None if all are equal


def trajectories(id: str) -> Iterator[tuple[str, np.ndarray]]:
    """The trajectories of an id: the kind of its actions, and states, (STEPS + 1, n)."""
    # Scripted policies read entries; images would not be used.
    options: dict[str, Any] = {"observation": "dict", "dtype": "float64"}
    env = gymnasium.make(id, **options)
    try:
        script: Callable[[Any], Any] | None = env.unwrapped.task.scripted_policy()  # type: ignore[attr-defined]
    except ValueError:  # the task lacks an entry of its script
        script = None
    kinds = {RANDOM: _random(env)}
    kinds |= {SINUSOIDAL: Sinusoidal(env)} if script is None else {SCRIPTED: script}
    for kind, policy in kinds.items():
        yield kind, _states(env, policy)
    env.close()


def _states(env: Any, policy: Callable[[Any], Any]) -> np.ndarray:
    rows = []
    observation, _ = env.reset(seed=0)
    begin(policy)
    rows.append(_state(env))
    for step in range(1, STEPS + 1):
        observation, _, terminated, truncated, _ = env.step(policy(observation))
        if terminated or truncated:
            observation, _ = env.reset(seed=step)
            begin(policy)
        rows.append(_state(env))
    return np.array(rows)


def _state(env: Any) -> np.ndarray:
    state = env.unwrapped.get_state()
    return np.asarray(np.concatenate([np.ravel(state[n]) for n in _STATE if n in state]))


def _random(env: Any) -> Callable[[Any], np.ndarray]:
    low, high = drawable(env.action_space.low, env.action_space.high)
    rng = np.random.default_rng(0)
    return lambda observation: np.asarray(rng.uniform(low, high))


class Sinusoidal:
    """Sinusoidal actions within their bounds, each with a different phase and period."""

    def __init__(self, env: Any) -> None:
        space = env.action_space
        low, high = drawable(space.low.astype(float), space.high.astype(float))
        self._middle, self._reach = (low + high) / 2, (high - low) / 2
        self._number = np.arange(low.size)
        self._step = 0

    def __call__(self, observation: Any) -> np.ndarray:
        """The next action, whatever is observed."""
        turns = self._step / PERIOD * (1 + self._number / self._number.size)
        self._step += 1
        return np.asarray(self._middle + self._reach * np.sin(2 * np.pi * turns + self._number))


def write(path: str | Path, ids: Sequence[str]) -> Iterator[str]:
    """Record the trajectories of ids to a file, with a fingerprint; yields each id when done."""
    arrays = {_ABOUT: np.array(json.dumps(mjgym.fingerprint()))}
    with atomic.replacing(path) as part, part.open("wb") as file:
        for id in ids:
            arrays |= {f"{id}/{kind}": states for kind, states in trajectories(id)}
            yield id
        np.savez_compressed(file, allow_pickle=False, **arrays)


class Recorded:
    """A file written by `write`; TrajectoryError if it is none, or damaged."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        try:
            names = npz.names(path)
        except (OSError, ValueError) as error:
            raise TrajectoryError(f"{path} holds no trajectories: {error}") from None
        self.ids = sorted({name.rpartition("/")[0] for name in names if "/" in name})
        try:
            about = bounded.json_of(str(self._array(_ABOUT, _LARGEST_ABOUT)), str(path))
            versions = about["versions"]
            self.about: dict[str, Any] = {**about, "versions": {**versions}}
        except (ValueError, TypeError, KeyError):
            raise TrajectoryError(f"{path} does not say what has computed it") from None

    def compare(self, ids: Sequence[str]) -> Iterator[Difference]:
        """Compute trajectories here and compare them with the file's."""
        if missing := sorted(set(ids) - set(self.ids)):
            raise TrajectoryError(f"{self._path} has no trajectory of {', '.join(missing)}")
        for id in ids:
            for kind, states in trajectories(id):
                recorded = self._array(f"{id}/{kind}", 2 * states.nbytes)
                yield _difference(id, kind, states, recorded)

    def _array(self, name: str, most: int) -> np.ndarray:
        try:
            return npz.read(self._path, name.__eq__, most)[name]
        except KeyError:
            raise TrajectoryError(f"{self._path} has no {name!r}") from None
        except (OSError, ValueError) as error:
            raise TrajectoryError(f"{self._path}: {name!r} is damaged: {error}") from None


def _difference(id: str, kind: str, here: np.ndarray, there: np.ndarray) -> Difference:
    if here.shape != there.shape or there.dtype != here.dtype:
        return Difference(id, kind, STEPS, 0, float("inf"), 0)
    equal = (here == there) | (np.isnan(here) & np.isnan(there))
    if equal.all():
        return Difference(id, kind, STEPS, None, 0.0, None)
    with np.errstate(invalid="ignore"):
        apart = np.where(equal, 0.0, np.abs(here - there)).max(axis=1, initial=0.0)
    apart = np.where(np.isnan(apart), np.inf, apart)
    at = int(apart.argmax())
    return Difference(id, kind, STEPS, int(np.argmin(equal.all(axis=1))), float(apart[at]), at)
