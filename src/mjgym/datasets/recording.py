"""Recorded episodes: their data, recording and replay."""

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from mjgym.loop.states import check_state
from mjgym.util.bounded import UserError

State = dict[str, np.ndarray]


MOST_BYTES = 2**32
"""Maximum total size of an episode's arrays, checked before they are read."""

DAMAGE = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors of libraries that read a damaged file."""


class DemonstrationError(UserError, RuntimeError):
    """A dataset cannot be written or read; the message says why and what to do."""


@dataclass(frozen=True)
class Replayed:
    """The result of replaying an episode."""

    steps: int  # number of steps that were equal, bit for bit
    touched: int  # number of steps before which something had been moved or pushed by hand
    differs: int | None  # the time of the first different step; None if all were equal


@dataclass(frozen=True, eq=False)
class Episode:
    """A recorded episode; row `t` of arrays with `steps` rows belongs to the action at time `t`."""

    observations: Any  # (steps + 1, ...), or a dict of such by name; row `t` precedes action `t`
    actions: np.ndarray  # (steps, numbers)
    rewards: np.ndarray  # (steps,)
    terminations: np.ndarray  # (steps,), bool
    truncations: np.ndarray  # (steps,), bool
    # (steps,), bool: the task's goal is reached after this action; False if the task has no goal
    successes: np.ndarray
    # Of `mjgym.Env.get_state` just before each action and after the last one, by name, (steps + 1,
    # ...); one row if constant. Partial or empty if the dataset has no more
    states: Mapping[str, np.ndarray] = field(default_factory=dict)
    seed: int | None = None  # of the initial state, or None

    def __len__(self) -> int:
        return len(self.actions)

    def observation(self, t: int) -> Any:
        """The observation before the action at time `t`, or the last one."""
        if isinstance(self.observations, dict):
            return {name: rows[t] for name, rows in self.observations.items()}
        return self.observations[t]

    def state(self, t: int) -> State:
        """The state just before the action at time `t`, or after the last one; empty if unknown."""
        return {name: rows[min(t, len(rows) - 1)] for name, rows in self.states.items()}

    def validated(self) -> "Episode":
        """The episode with flags as bool, after checking its arrays.

        Raises:
            DemonstrationError: a number is not finite, or an array does not match the number of
                steps; the message names it.
        """
        actions, steps = np.asarray(self.actions), len(np.atleast_1d(self.actions))
        if actions.ndim != 2 or not steps:
            raise DemonstrationError(f"actions have the shape {actions.shape}, not (steps, size)")
        _require_numbers("actions", actions)
        columns = ("rewards", "terminations", "truncations", "successes")
        for name in columns:
            values = np.asarray(getattr(self, name))
            if values.shape != (steps,):
                raise DemonstrationError(f"{name} have the shape {values.shape}, not ({steps},)")
            _require_numbers(name, values)
        observed = self.observations
        rows = observed if isinstance(observed, Mapping) else {"observations": observed}
        for name, values in rows.items():
            if np.shape(values)[:1] != (steps + 1,):
                raise DemonstrationError(
                    f"{name} has the shape {np.shape(values)}, not {steps + 1} rows"
                )
            _require_numbers(name, np.asarray(values))
        for name, values in self.states.items():
            if np.shape(values)[:1] not in ((1,), (steps + 1,)):
                raise DemonstrationError(
                    f"the state {name} has the shape {np.shape(values)}, not 1 or {steps + 1} rows"
                )
            if np.asarray(values).dtype.kind not in "biuf":
                raise DemonstrationError(f"the state {name} holds no numbers")
        if self.seed is not None and self.seed < 0:
            raise DemonstrationError(f"the seed is {self.seed}")
        return dataclasses.replace(
            self,
            terminations=np.asarray(self.terminations, dtype=bool),
            truncations=np.asarray(self.truncations, dtype=bool),
            successes=np.asarray(self.successes, dtype=bool),
        )

    def require_actions_of(self, env: gymnasium.Env[Any, Any]) -> None:
        """Raise DemonstrationError unless the actions have the size of an environment's."""
        if self.actions.shape[1:] != env.action_space.shape:
            raise DemonstrationError(
                f"the dataset's actions have the shape {self.actions.shape[1:]}, those of"
                f" {_name(env)} {env.action_space.shape}"
            )

    def check(self, env: gymnasium.Env[Any, Any]) -> Replayed:
        """Replay the episode from its first state, in an environment like the recorded one.

        Raises:
            DemonstrationError: it has no states, or states or actions of another model.
        """
        self.require_actions_of(env)
        plain: Any = env.unwrapped
        env.reset(seed=self.seed)
        touched = 0
        place(plain, self.state(0))
        for t, action in enumerate(self.actions):
            state = self.state(t)
            now = plain.get_state()
            if not _same({name: now[name] for name in state}, state):  # moved or pushed by hand
                place(plain, state)
                touched += 1
            observation, reward, terminated, truncated, _ = env.step(action)
            ended = (bool(terminated), bool(truncated))
            recorded = (bool(self.terminations[t]), bool(self.truncations[t]))
            same_end = ended == recorded or t == len(self) - 1  # ended by hand
            same = _same(observation, self.observation(t + 1)) and reward == self.rewards[t]
            if not (same and same_end):
                return Replayed(t, touched, t)
        return Replayed(len(self), touched, None)


class Shapes:
    """Shapes of the actions, observations and states of an environment's episodes."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self._name = _name(env)
        space = env.observation_space
        entries = space.spaces if isinstance(space, gymnasium.spaces.Dict) else {_ONE: space}
        self._expected = {"actions": env.action_space.shape}
        self._expected |= {name: entry.shape for name, entry in entries.items()}
        plain: Any = env.unwrapped
        self._state: State | None = None  # unknown of other environments, and of closed ones
        with contextlib.suppress(AttributeError, gymnasium.error.ClosedEnvironmentError):
            self._state = plain.get_state()

    def require(self, episode: Episode) -> None:
        """Raise DemonstrationError unless an episode has these shapes; it may lack states."""
        rows = episode.observations
        arrays = {"actions": episode.actions}
        arrays |= rows if isinstance(rows, Mapping) else {_ONE: rows}
        found = {name: np.shape(values)[1:] for name, values in arrays.items()}
        for name in {**found, **self._expected}:
            given, expected = found.get(name), self._expected.get(name)
            if given != expected:
                raise DemonstrationError(
                    f"the episode is not of {self._name}: {name}: expected"
                    f" {_of_shape(expected)}, got {_of_shape(given)}"
                )
        if self._state is None:
            return
        try:
            check_state(episode.state(0), self._state)
        except ValueError as error:
            raise DemonstrationError(f"the episode is not of {self._name}: {error}") from None


_ONE = "observations"  # of which there is one array


def _of_shape(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else f"the shape {shape}"


class Recording:
    """An episode being recorded."""

    def __init__(self, observation: Any, seed: int | None = None) -> None:
        self.seed = seed
        self._observations = [observation]
        # A step is one entry, so that an interruption leaves whole steps.
        self._steps: list[tuple[Any, float, bool, bool, bool, State]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(
        self,
        state: State,
        action: np.ndarray,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        success: bool = False,
    ) -> None:
        """Add a step."""
        del self._observations[len(self._steps) + 1 :]
        self._observations.append(observation)
        ends = (bool(terminated), bool(truncated), bool(success))
        self._steps.append((np.asarray(action), float(reward), *ends, state))

    def episode(self, state: State) -> Episode:
        """The episode so far; its last step is truncated unless terminated.

        Raises:
            ValueError: there are no steps.
        """
        if not self._steps:
            raise ValueError("an episode has at least one step")
        columns = list(zip(*self._steps, strict=True))
        actions, rewards, terminations, truncations, successes, states = columns
        truncated = np.array(truncations)
        truncated[-1] |= not terminations[-1]
        return Episode(
            observations=_stacked(self._observations[: len(self._steps) + 1]),
            actions=np.stack(actions),
            rewards=np.array(rewards),
            terminations=np.array(terminations),
            truncations=truncated,
            successes=np.array(successes),
            states={name: _rows([s[name] for s in (*states, state)]) for name in state},
            seed=self.seed,
        )


def place(env: Any, state: Mapping[str, np.ndarray]) -> Any:
    """Set an environment to a recorded state; returns the observation there."""
    if not state:
        raise DemonstrationError("the dataset has no states: its episodes cannot be played again")
    try:
        return env.set_state(state)
    except (TypeError, ValueError) as error:
        raise DemonstrationError(
            f"the dataset's states are of another model than {_name(env)}: {error}"
        ) from None


def _require_numbers(name: str, values: np.ndarray) -> None:
    if values.dtype.kind not in "biuf":
        raise DemonstrationError(f"{name} holds no numbers")
    if not np.isfinite(values).all():
        raise DemonstrationError(f"{name} has numbers that are not finite")


def _name(env: Any) -> str:
    return env.spec.id if env.spec is not None else "this environment"


def _stacked(observations: list[Any]) -> Any:
    if isinstance(observations[0], dict):
        return {name: np.stack([o[name] for o in observations]) for name in observations[0]}
    return np.stack(observations)


def _rows(values: list[np.ndarray]) -> np.ndarray:
    rows = np.stack(values)
    return rows[:1] if (rows == rows[:1]).all() else rows


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)
    return np.array_equal(one, other)
