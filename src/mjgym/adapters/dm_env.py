"""The `dm_env` interface, as the published suite has it, over any of the environments."""

from collections.abc import Mapping
from typing import Any

import dm_env
import gymnasium
import numpy as np
from dm_env import specs

from mjgym import registry
from mjgym.actions import bounds
from mjgym.adapters.dm_physics import Physics
from mjgym.observables import Image
from mjgym.task import Registration, Task, steps_in
from mjgym.util import suggestions


def _tagged(tag: str | None = None) -> tuple[tuple[str, str], ...]:
    return tuple(_pair(id) for id in registry.ids(namespace="dmc", tag=tag))


def _pair(id: str) -> tuple[str, str]:
    domain, _, task = id.partition("/")[2].removesuffix("-v0").partition("-")
    return domain, task


# The sets of the published suite, as pairs of domain and task, sorted.
ALL_TASKS = _tagged()
BENCHMARKING = _tagged("benchmarking")
EXTRA = _tagged("extra")
EASY = _tagged("easy")
HARD = _tagged("hard")
REWARD_VIZ = _tagged("reward_viz")
NO_REWARD_VIZ = _tagged("no_reward_viz")
TASKS_BY_DOMAIN = {
    domain: tuple(task for d, task in ALL_TASKS if d == domain) for domain, _ in ALL_TASKS
}

FLAT = "observations"  # name of the one entry of a flat observation


class DmEnv(dm_env.Environment):  # type: ignore[misc]
    """A Gymnasium environment of ours as a `dm_env.Environment`.

    Time limits end an episode with discount 1, terminations with discount 0. A step after the end
    of an episode, or before the first one, ignores its action and starts an episode.

    Args:
        env: an environment of this package, with Gymnasium's wrappers (such as `TimeLimit`).
        seed: of the first episode; None for an unpredictable one.
        buffered: whether each entry has a leading axis of 1 and pictures come first, as in the
            published manipulation tasks.

    Attributes:
        physics: the model and the state under dm_control's names.
        task: the task.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, np.ndarray],
        seed: int | None = None,
        *,
        buffered: bool = False,
    ) -> None:
        self._env = env
        self._buffered = buffered
        self._seed = seed
        self._ended = True
        plain: Any = env.unwrapped
        self.physics = Physics(plain)
        self.task: Task = plain.task
        flat = not isinstance(env.observation_space, gymnasium.spaces.Dict)
        self._shapes = {} if flat else plain.entry_shapes
        self._low, self._high = bounds(self.task.actions(plain.model))

    @property
    def env(self) -> gymnasium.Env[Any, np.ndarray]:
        """The environment below."""
        return self._env

    def reset(self) -> dm_env.TimeStep:
        """Start an episode."""
        observation, _ = self._env.reset(seed=self._seed)
        self._seed = None
        self._ended = False
        return dm_env.restart(self._entries(observation))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Advance by one control step; a single number goes to all actuators."""
        if self._ended:
            return self.reset()
        action = np.asarray(action, dtype=np.float64)
        if action.size == 1:
            action = np.broadcast_to(action.ravel(), self._low.shape)
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self._ended = terminated or truncated
        entries = self._entries(observation)
        if truncated:  # on the same step, the time limit wins over a termination
            return dm_env.truncation(float(reward), entries)
        if terminated:
            return dm_env.termination(float(reward), entries)
        return dm_env.transition(float(reward), entries)

    def observation_spec(self) -> dict[str, specs.Array]:
        """Name, shape and dtype of each entry, in the order of the flat observation."""
        space = self._env.observation_space
        entries: Mapping[str, Any] = (
            space.spaces if isinstance(space, gymnasium.spaces.Dict) else {FLAT: space}
        )
        return {
            name: specs.Array(self._shape(name, box), box.dtype, name=name)
            for name, box in self._ordered(entries).items()
        }

    def action_spec(self) -> specs.BoundedArray:
        """The controls' ranges, float64."""
        return specs.BoundedArray(self._low.shape, np.float64, self._low, self._high, "action")

    def control_timestep(self) -> float:
        """The time between two actions, s."""
        return self.task.control_timestep

    def close(self) -> None:
        """Close the environment below."""
        self._env.close()

    def _entries(self, observation: Any) -> dict[str, np.ndarray]:
        if not isinstance(observation, dict):
            return {FLAT: observation}
        return {
            name: np.reshape(value, self._shape(name, value))
            for name, value in self._ordered(observation).items()
        }

    def _shape(self, name: str, space_or_value: Any) -> tuple[int, ...]:
        """The published shape of an entry: a single number has no axis there."""
        shape: tuple[int, ...] = self._shapes.get(name, space_or_value.shape)
        return (1, *shape) if self._buffered else shape

    def _ordered(self, entries: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pictures first, where the published tasks have them first."""
        if not self._buffered:
            return entries
        return dict(sorted(entries.items(), key=lambda entry: entry[1].dtype != np.uint8))


def from_env(env: gymnasium.Env[Any, np.ndarray], seed: int | None = None) -> DmEnv:
    """An environment made by `gymnasium.make` as a `dm_env.Environment`."""
    return DmEnv(env, seed)


def load(
    domain: str,
    task: str,
    task_kwargs: Mapping[str, Any] | None = None,
    environment_kwargs: Mapping[str, Any] | None = None,
    visualize_reward: bool = False,
) -> DmEnv:
    """A task of the suite, called as in the published suite: `load("cartpole", "swingup")`.

    Args:
        domain: e.g. "cartpole".
        task: e.g. "swingup".
        task_kwargs: fields of the task, `random` (a seed) and `time_limit` (s, may be infinite).
        environment_kwargs: `flat_observation` (bool).
        visualize_reward: let the colours of the bodies follow the reward.

    Raises:
        ValueError: there is no such domain or task, where the message names the nearest ones, or
            `visualize_reward` is no bool.
        TypeError: an argument is unknown; the message names the nearest ones.
    """
    if not isinstance(visualize_reward, bool):
        raise ValueError(f"visualize_reward: must be True or False, got {visualize_reward!r}")
    known = registry.ids(namespace="dmc")
    id = f"dmc/{domain}-{task}-v0"
    if id not in known:
        shown = ", ".join(repr(_pair(n)) for n in suggestions.close(id, known) or known)
        raise ValueError(f"no task {(domain, task)!r}; did you mean {shown}?")
    fields = dict(task_kwargs or {})
    seed = fields.pop("random", None)
    time_limit = fields.pop("time_limit", None)
    options = dict(environment_kwargs or {})
    flat = options.pop("flat_observation", False)
    if options:
        raise TypeError(f"environment_kwargs: unknown {next(iter(options))!r}; flat_observation?")
    if time_limit is not None:
        steps = steps_in(time_limit, _task(registry.registration(id)).control_timestep)
        fields["max_episode_steps"] = -1 if steps is None else steps  # -1: Gymnasium's "no limit"
    mode = "flat" if flat else "dict"
    env: Any = gymnasium.make(
        id, observation=mode, dtype="float64", visualize_reward=visualize_reward, **fields
    )
    return DmEnv(env, seed)


def load_manipulation(name: str, seed: int | None = None) -> DmEnv:
    """A manipulation task by its published name: `load_manipulation("stack_2_bricks_features")`.

    As published, each entry of an observation has a leading axis of 1.

    Args:
        name: e.g. "reach_site_features" or "reach_site_vision".
        seed: of the first episode; None for an unpredictable one.

    Raises:
        ValueError: there is no such task; the message names the nearest ones.
    """
    id = _known(name, {id.partition("/")[2]: id for id in registry.ids(namespace="manipulation")})
    mode = registry.registration(id).options.get("observation", "dict")
    env: Any = gymnasium.make(id, observation=mode, dtype="float64")
    return DmEnv(env, seed, buffered=True)


def load_locomotion(name: str, seed: int | None = None) -> DmEnv:
    """A locomotion task by its published name: `load_locomotion("cmu_humanoid_run_walls")`.

    As published, its observation has what the egocentric camera sees, where there is such a camera.

    Args:
        name: e.g. "rodent_maze_forage".
        seed: of the first episode; None for an unpredictable one.

    Raises:
        ValueError: there is no such task; the message names the nearest ones.
    """
    ids = registry.ids(namespace="locomotion")
    id = _known(name, {id.partition("/")[2].replace("-", "_", 1): id for id in ids})
    made = registry.registration(id)
    sees = any(isinstance(o.source, Image) for o in _task(made).observables.values())
    mode = "dict+pixels" if sees else "dict"
    return DmEnv(gymnasium.make(id, observation=mode, dtype="float64"), seed)


def _task(made: Registration) -> Task:
    task: Task = made.task_class(**made.fields)
    return task


def _known(name: str, ids: Mapping[str, str]) -> str:
    """The id of a name, with or without its version."""
    by_name = {known.removesuffix("-v0"): id for known, id in ids.items()}
    if name not in by_name:
        raise ValueError(f"no task {name!r}{suggestions.or_else(name, sorted(by_name))}")
    return by_name[name]
