"""dm_control's `dm_env` interface over any environment of this package.

`load` corresponds to `suite.load`, `load_manipulation` and `load_locomotion` load composer tasks by
their published names, `load_soccer` a match, and `Physics` wraps a model.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import dm_env
import gymnasium
import numpy as np
from dm_env import specs

from mjgym import registry
from mjgym.actions import bounds
from mjgym.loop.episode import DivergenceError
from mjgym.observables import Image
from mjgym.task import Registration, Task, steps_in
from mjgym.util import suggestions
from mjgym_compat.dm_control.mujoco import Physics, PhysicsError
from mjgym_compat.dm_soccer import SoccerEnv

Seed = int | np.random.RandomState | None
"""A seed, a generator that draws one, or None for an unpredictable one."""


def _tagged(tag: str | None = None) -> tuple[tuple[str, str], ...]:
    return tuple(_pair(id) for id in registry.ids(namespace="dmc", tag=tag))


def _pair(id: str) -> tuple[str, str]:
    domain, _, task = id.partition("/")[2].removesuffix("-v0").partition("-")
    return domain, task


# The task sets of the published suite, as sorted pairs of domain and task.
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


def _manipulation() -> dict[str, str]:
    ids = registry.ids(namespace="manipulation")
    return {id.partition("/")[2].removesuffix("-v0"): id for id in ids}


def _locomotion() -> dict[str, str]:
    ids = registry.ids(namespace="locomotion")
    return {id.partition("/")[2].removesuffix("-v0").replace("-", "_", 1): id for id in ids}


# Task names of the other families, sorted.
MANIPULATION = tuple(sorted(_manipulation()))
LOCOMOTION = tuple(sorted(_locomotion()))

FLAT, PICTURE = "observations", "pixels"  # names of a single entry
# Aliases from the paper.
_ALIASES = {f"reach_brick_{kind}": f"reach_duplo_{kind}" for kind in ("features", "vision")}
_ALIASES["reach_brick"] = "reach_duplo_features"


class DmEnv(dm_env.Environment):  # type: ignore[misc]
    """A Gymnasium environment of this package as a `dm_env.Environment`.

    Time limits end an episode with discount 1, terminations with discount 0. A step after the end
    of an episode, or before the first one, ignores its action and starts an episode. If the
    simulation diverges, `PhysicsError` is raised, provided that the environment was made with
    `on_divergence="raise"` like all environments loaded here.

    Args:
        buffered: whether each entry has a leading axis of 1 and images come first, as in the
            published manipulation tasks.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, np.ndarray],
        seed: Seed = None,
        *,
        buffered: bool = False,
        visualize_reward: bool = False,
    ) -> None:
        self.env = env
        self._buffered = buffered
        self._seed = _as_seed(seed)
        self._ended = True
        plain: Any = env.unwrapped
        self.physics = Physics.of_env(plain)
        self.task = plain.task
        self._visualize_reward = visualize_reward
        space: Any = env.observation_space
        flat = not isinstance(space, gymnasium.spaces.Dict)
        stacked = plain.frame_stack is not None
        self._shapes = {} if flat or stacked else plain.entry_shapes
        self._alone = FLAT if len(space.shape or ()) < 2 + stacked else PICTURE
        self._reshaped = [
            (name, shape)
            for name, box in ([] if flat else dict(space).items())
            if (shape := self._shape(name, box)) != box.shape
        ]
        actions = plain.task.actions(plain.model)
        self._low, self._high = bounds(actions)
        self._action_names = [action.name or str(i) for i, action in enumerate(actions)]

    def seed(self, seed: int) -> None:
        self._seed = seed

    def reset(self) -> dm_env.TimeStep:
        observation, _ = self.env.reset(seed=self._seed)
        self._seed = None
        self._ended = False
        return dm_env.restart(self._entries(observation))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Advance by one control step; a scalar action is broadcast to all actuators."""
        if self._ended:
            return self.reset()
        action = np.asarray(action, dtype=np.float64)
        if action.size == 1 and action.shape != self._low.shape:
            action = np.broadcast_to(action.ravel(), self._low.shape)
        try:
            observation, reward, terminated, truncated, _ = self.env.step(action)
        except DivergenceError as error:
            self._ended = True
            raise PhysicsError(str(error)) from error
        self._ended = terminated or truncated
        if self._visualize_reward:
            self.physics.reward = float(reward)
        entries = self._entries(observation)
        if truncated:  # on the same step, the time limit wins over a termination
            return dm_env.truncation(float(reward), entries)
        if terminated:
            return dm_env.termination(float(reward), entries)
        return dm_env.transition(float(reward), entries)

    def observation_spec(self) -> OrderedDict[str, specs.Array]:
        """Name, shape and dtype of each entry, in the order of the flat observation."""
        space = self.env.observation_space
        entries: Mapping[str, Any] = (
            space.spaces if isinstance(space, gymnasium.spaces.Dict) else {self._alone: space}
        )
        return OrderedDict(
            (name, specs.Array(self._shape(name, box), box.dtype, name=name))
            for name, box in self._ordered(entries).items()
        )

    def action_spec(self) -> specs.BoundedArray:
        """The ranges of the actions, float64; its name lists theirs, separated by tabs."""
        return specs.BoundedArray(
            self._low.shape, np.float64, self._low, self._high, "\t".join(self._action_names)
        )

    def control_timestep(self) -> float:
        return float(self.task.control_timestep)

    def close(self) -> None:
        self.env.close()

    def _entries(self, observation: Any) -> dict[str, np.ndarray]:
        if not isinstance(observation, dict):
            return OrderedDict([(self._alone, observation)])
        entries = OrderedDict(self._ordered(observation))
        for name, shape in self._reshaped:
            entries[name] = entries[name].reshape(shape)
        return entries

    def _shape(self, name: str, space_or_value: Any) -> tuple[int, ...]:
        """The published shape of an entry; scalars have no axis."""
        shape: tuple[int, ...] = self._shapes.get(name, space_or_value.shape)
        return (1, *shape) if self._buffered else shape

    def _ordered(self, entries: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._buffered:
            return entries
        return dict(sorted(entries.items(), key=lambda entry: entry[1].dtype != np.uint8))


def _as_seed(random: Seed) -> int | None:
    if isinstance(random, np.random.RandomState):
        return int(random.randint(2**31))
    return random


def from_env(env: gymnasium.Env[Any, np.ndarray], seed: Seed = None) -> DmEnv:
    """An environment made by `gymnasium.make` as a `dm_env.Environment`."""
    return DmEnv(env, seed)


def load(
    domain_name: str,
    task_name: str,
    task_kwargs: Mapping[str, Any] | None = None,
    environment_kwargs: Mapping[str, Any] | None = None,
    visualize_reward: bool = False,
    *,
    pixels: Mapping[str, Any] | None = None,
    pixels_only: bool = True,
) -> DmEnv:
    """Load a task of the suite, called like dm_control's: `load("cartpole", "swingup")`.

    Args:
        domain_name: e.g. "cartpole".
        task_name: e.g. "swingup".
        task_kwargs: fields of the task, `random` (a seed, or a `RandomState` that draws one)
            and `time_limit` (s, may be infinite).
        environment_kwargs: `control_timestep` (s) or `n_sub_steps` (physics steps per control
            step), `time_limit` (s) and `flat_observation` (bool).
        visualize_reward: whether the colours of the bodies follow the reward.
        pixels: `render_kwargs` of the published wrapper: `camera_id`, `height`, `width`; adds an
            image, "pixels", to the observation.
        pixels_only: whether the observation is the image alone.

    Raises:
        ValueError: there is no such domain or task (the message names the nearest ones), or
            `visualize_reward` is not a bool.
        TypeError: an argument is unknown; the message names the nearest ones.
    """
    if not isinstance(visualize_reward, bool):
        raise ValueError(f"visualize_reward: must be True or False, got {visualize_reward!r}")
    known = registry.ids(namespace="dmc")
    id = f"dmc/{domain_name}-{task_name}-v0"
    if id not in known:
        shown = ", ".join(repr(_pair(n)) for n in suggestions.close(id, known) or known)
        raise ValueError(f"no task {(domain_name, task_name)!r}; did you mean {shown}?")
    fields = dict(task_kwargs or {})
    seed = fields.pop("random", None)
    options = dict(environment_kwargs or {})
    flat = options.pop("flat_observation", False)
    fields |= _timing(id, fields, options)
    if options:
        valid = ("control_timestep", "flat_observation", "n_sub_steps", "time_limit")
        name = next(iter(options))
        raise TypeError(f"environment_kwargs: unknown {name!r}{suggestions.or_else(name, valid)}")
    mode = "flat" if flat else "dict"
    if pixels is not None:
        mode = "pixels" if pixels_only else f"{mode}+pixels"
        fields["pixels"] = {"camera" if n == "camera_id" else n: v for n, v in pixels.items()}
    env = _make(id, observation=mode, visualize_reward=visualize_reward, **fields)
    return DmEnv(env, seed, visualize_reward=visualize_reward)


def _timing(id: str, fields: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Take the durations out of `load`'s arguments, as keyword arguments of an environment."""
    task = _task(registry.registration(id))
    if "n_sub_steps" in options and "control_timestep" in options:
        raise TypeError("environment_kwargs: control_timestep and n_sub_steps say the same thing")
    if "time_limit" in fields and "time_limit" in options:
        raise TypeError("time_limit: stands in task_kwargs and in environment_kwargs")
    timing: dict[str, Any] = {}
    if "n_sub_steps" in options:
        timestep = task.model().option.timestep
        timing["control_timestep"] = options.pop("n_sub_steps") * timestep
    elif "control_timestep" in options:
        timing["control_timestep"] = options.pop("control_timestep")
    limit = fields.pop("time_limit", options.pop("time_limit", None))
    if limit is not None and not limit > 0:
        raise ValueError(f"time_limit: must be positive, got {limit} s")
    if limit is not None or timing:
        control_timestep = timing.get("control_timestep", task.control_timestep)
        steps = steps_in(task.time_limit if limit is None else limit, control_timestep)
        timing["max_episode_steps"] = -1 if steps is None else steps  # -1: Gymnasium's "no limit"
    return timing


def load_manipulation(name: str, seed: Seed = None) -> DmEnv:
    """Load one of `MANIPULATION`, e.g. `load_manipulation("stack_2_bricks_features")`.

    As published, each entry of an observation has a leading axis of 1.
    """
    id = _known(_ALIASES.get(name, name), _manipulation())
    mode = registry.registration(id).options.get("observation", "dict")
    return DmEnv(_make(id, observation=mode), seed, buffered=True)


def load_locomotion(name: str, seed: Seed = None) -> DmEnv:
    """Load one of `LOCOMOTION`, e.g. `load_locomotion("cmu_humanoid_run_walls")`.

    As published, the observation includes the image of the egocentric camera, if there is one.
    """
    id = _known(name, _locomotion())
    registration = registry.registration(id)
    sees = any(isinstance(o.source, Image) for o in _task(registration).observables.values())
    mode = "dict+pixels" if sees else "dict"
    return DmEnv(_make(id, observation=mode), seed)


def load_soccer(
    team_size: int,
    time_limit: float = 45.0,
    random_state: Seed = None,
    disable_walker_contacts: bool = False,
    enable_field_box: bool = False,
    keep_aspect_ratio: bool = False,
    terminate_on_goal: bool = True,
    walker_type: str = "boxhead",
) -> SoccerEnv:
    """Load a match of the published soccer; actions, observations and rewards are lists.

    Args:
        time_limit: s.
        walker_type: "boxhead", "ant" or "humanoid", or a member of the published enumeration.
    """
    walker = str(getattr(walker_type, "name", walker_type)).lower()
    ids = {id.partition("/")[2].partition("-")[0]: id for id in registry.ids(namespace="soccer")}
    if walker not in ids:
        hint = suggestions.or_else(walker, sorted(ids))
        raise ValueError(f"walker_type: there is no {walker_type!r}{hint}")
    envs = gymnasium.make_vec(
        ids[walker],
        team_size=team_size,
        time_limit=time_limit,
        box=enable_field_box,
        collide=not disable_walker_contacts,
        keep_aspect_ratio=keep_aspect_ratio,
        ends_on_goal=terminate_on_goal,
        observation="dict",
        dtype="float64",
        on_divergence="raise",
        autoreset_mode="Disabled",
    )
    return SoccerEnv(envs, _as_seed(random_state))


def _make(id: str, **options: Any) -> Any:
    return gymnasium.make(id, dtype="float64", on_divergence="raise", **options)


def _task(registration: Registration) -> Task:
    task: Task = registration.task_class(**registration.fields)
    return task


def _known(name: str, ids: Mapping[str, str]) -> str:
    plain = name.removesuffix("-v0")
    if plain not in ids:
        raise ValueError(f"no task {name!r}{suggestions.or_else(name, sorted(ids))}")
    return ids[plain]
