"""Minari datasets of driven episodes with states.

Each episode's `infos` hold `success` (where the task has a goal) and `state`: at each time
everything that the future depends on, as `mjgym.Env.get_state` gives it, just before the action, so
that what a mouse has moved is in it. Entries that never change within an episode have one row.
"""

import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets.demonstration import DemonstrationError, Replayed

SUCCESS, STATE = "success", "state"
INSTALL = 'pip install "mjgym[minari]"'
_SITE = "https://github.com/mjgym/mjgym"


def _minari() -> Any:
    if importlib.util.find_spec("minari") is None or importlib.util.find_spec("h5py") is None:
        raise DemonstrationError(f"demonstrations need Minari: {INSTALL}")
    return importlib.import_module("minari")


def versioned(name: str) -> str:
    """A dataset's name with a version: "demos" is "demos-v0"."""
    return name if re.search(r"-v\d+$", name) else f"{name}-v0"


@dataclass
class _Episode:
    """An episode under recording."""

    seed: int | None
    observations: list[Any]
    actions: list[np.ndarray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)
    states: list[dict[str, np.ndarray]] = field(default_factory=list)


class MinariRecorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Writes the episodes of an environment that are to be kept, each as soon as it is.

    Args:
        env: a single environment of this package, as `gymnasium.make` gives it.
        name: of the dataset: "demos", "lift/demos-v0"; see `versioned`.

    Attributes:
        kept: how many episodes are in the dataset.

    Raises:
        DemonstrationError: Minari is not installed, there is such a dataset, or the name is none.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        minari, name = _minari(), versioned(name)
        try:
            there = minari.list_local_datasets()
            minari.dataset.minari_dataset.parse_dataset_id(name)
        except ValueError as error:
            raise DemonstrationError(f"{name!r} can be no dataset's name: {error}") from None
        if name in there:
            raise DemonstrationError(
                f"there is a dataset {name!r}: take another name, or `minari delete {name}`"
            )
        self.name = name
        self.kept = 0
        self._dataset: Any = None
        self._episode: _Episode | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; what has been recorded of one that is not kept is gone."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._episode = _Episode(seed, [observation])
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance, and record it."""
        episode = self._episode
        if episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        space = self.env.action_space
        action = np.asarray(action, dtype=space.dtype)  # as it is written
        episode.states.append(self._state())  # one more than all else if the step is interrupted
        observation, reward, terminated, truncated, info = self.env.step(action)
        episode.observations.append(observation)
        episode.actions.append(action)
        episode.rewards.append(float(reward))
        episode.terminations.append(bool(terminated))
        episode.truncations.append(bool(truncated))
        episode.successes.append(bool(info.get(SUCCESS, False)))
        return observation, float(reward), terminated, truncated, info

    def _state(self) -> dict[str, np.ndarray]:
        plain: Any = self.env.unwrapped
        state: dict[str, np.ndarray] = plain.get_state()
        return state

    def keep(self) -> None:
        """Write the episode as far as it is, if it has any steps; an interrupted step is none."""
        episode, self._episode = self._episode, None
        if episode is None or not episode.successes:
            return
        steps = len(episode.successes)
        if len(episode.states) == steps:
            episode.states.append(self._state())
        del episode.observations[steps + 1 :]
        for rows in (episode.actions, episode.rewards, episode.terminations, episode.truncations):
            del rows[steps:]
        episode.truncations[-1] = episode.truncations[-1] or not episode.terminations[-1]
        from minari.data_collector import EpisodeBuffer

        buffer = EpisodeBuffer(
            seed=episode.seed,
            observations=_stacked(episode.observations),
            actions=np.stack(episode.actions),
            rewards=episode.rewards,
            terminations=episode.terminations,
            truncations=episode.truncations,
            infos={
                SUCCESS: np.array([False, *episode.successes]),
                STATE: {
                    name: _rows([state[name] for state in episode.states])
                    for name in episode.states[0]
                },
            },
        )
        if self._dataset is None:
            self._dataset = self._create(buffer)
        else:
            self._dataset.storage.update_episodes([buffer])
        self.kept += 1

    def _create(self, buffer: Any) -> Any:
        spec = self.env.spec
        id = "" if spec is None else spec.id
        return _minari().create_dataset_from_buffers(
            self.name,
            [buffer],
            env=self.env,
            eval_env=self.env,
            algorithm_name="teleoperation",
            author="unknown",
            author_email="unknown",
            code_permalink=_SITE,
            description=f"{id}, driven by hand with mjgym {importlib.metadata.version('mjgym')}",
            jpeg_encoding=False,
        )


def _stacked(observations: list[Any]) -> Any:
    if isinstance(observations[0], dict):
        return {name: np.stack([o[name] for o in observations]) for name in observations[0]}
    return np.stack(observations)


def _rows(values: list[np.ndarray]) -> np.ndarray:
    """All values, (times, ...), or one row of what never changes."""
    rows = np.stack(values)
    return rows[:1] if (rows == rows[:1]).all() else rows


class MinariDemonstrations:
    """A dataset of driven episodes.

    Args:
        name: of the dataset; see `versioned`.

    Attributes:
        count: of episodes.

    Raises:
        DemonstrationError: Minari is not installed, there is no such dataset, or it has no states.
    """

    def __init__(self, name: str) -> None:
        minari, name = _minari(), versioned(name)
        try:
            self._dataset = minari.load_dataset(name)
        except (ValueError, FileNotFoundError) as error:
            from mjgym.util.suggestions import or_else

            hint = or_else(name, minari.list_local_datasets())
            raise DemonstrationError(f"there is no dataset {name!r}{hint}") from error
        self.count = int(self._dataset.total_episodes)
        first = next(iter(self._dataset.iterate_episodes([0])), None)
        if first is None or STATE not in (first.infos or {}):
            raise DemonstrationError(
                f"{name!r} has no states: `mjgym teleop ID --record` writes some"
            )

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """The environment that the dataset was recorded in, made anew."""
        env: gymnasium.Env[Any, Any] = self._dataset.recover_environment(**kwargs)
        return env

    def episode(self, number: int) -> "MinariDemonstration":
        """An episode, by its number from 0."""
        (found,) = self._dataset.iterate_episodes([number])
        (about,) = self._dataset.storage.get_episode_metadata([number])
        return MinariDemonstration(found, about.get("seed"))


class MinariDemonstration:
    """A driven episode.

    Args:
        episode: Minari's.
        seed: of its start, None where none was given.

    Attributes:
        actions: (steps, numbers).
        rewards: (steps,).
        seed: of its start; 0 where none was given.
    """

    def __init__(self, episode: Any, seed: int | None) -> None:
        self._episode = episode
        self._states = dict(_flat(episode.infos[STATE]))
        self.actions: np.ndarray = episode.actions
        self.rewards: np.ndarray = episode.rewards
        self.seed = seed or 0

    def __len__(self) -> int:
        return len(self.actions)

    def state(self, t: int) -> dict[str, np.ndarray]:
        """The state just before the action of a time, or after the last one."""
        return {name: rows[min(t, len(rows) - 1)] for name, rows in self._states.items()}

    def observation(self, t: int) -> Any:
        """The observation that the action of a time followed."""
        seen = self._episode.observations
        return {n: x[t] for n, x in seen.items()} if isinstance(seen, dict) else seen[t]

    def check(self, env: gymnasium.Env[Any, Any]) -> Replayed:
        """Play it again from its first state, in an environment that is like its own."""
        plain: Any = env.unwrapped
        env.reset(seed=self.seed)
        touched = 0
        plain.set_state(self.state(0))
        for t, action in enumerate(self.actions):
            if not _same(plain.get_state(), self.state(t)):  # somebody has moved or pushed it
                plain.set_state(self.state(t))
                touched += 1
            observation, reward, terminated, truncated, _ = env.step(action)
            ended = (bool(terminated), bool(truncated))
            recorded = (bool(self._episode.terminations[t]), bool(self._episode.truncations[t]))
            same_end = ended == recorded or t == len(self) - 1  # where a person ended it
            if not (_same(observation, self.observation(t + 1)) and reward == self.rewards[t]):
                return Replayed(t, touched, t)
            if not same_end:
                return Replayed(t, touched, t)
        return Replayed(len(self), touched, None)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)
    return np.array_equal(one, other)


def _flat(states: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Entries of a state by name: HDF5 has made groups of those that have a "/"."""
    for name, value in states.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}/")
        else:
            yield f"{before}{name}", np.asarray(value)
