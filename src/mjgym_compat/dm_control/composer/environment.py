"""Composer's environment: a task of entities as a `dm_env.Environment`."""

import enum
import logging
from collections.abc import Callable
from typing import Any

import dm_env
import numpy as np

from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.composer.entity import Callbacks
from mjgym_compat.dm_control.composer.observation.updater import Updater
from mjgym_compat.dm_control.composer.task import Task
from mjgym_compat.dm_control.rl.simulation import PhysicsError

HOOK_NAMES = (
    "initialize_episode_mjcf",
    "after_compile",
    "initialize_episode",
    "before_step",
    "before_substep",
    "after_substep",
    "after_step",
)
_WITH_ACTION = ("before_step", "before_substep")  # for tasks


class EpisodeInitializationError(RuntimeError):
    """An initial state was rejected; another one may be drawn."""


class ObservationPadding(enum.Enum):
    """Fill values of a buffer until the first readings arrive."""

    INITIAL_VALUE = -1
    ZERO = 0


class Environment(dm_env.Environment):  # type: ignore[misc]
    """A task as an environment.

    Args:
        n_sub_steps: ignored; the task says how many physics steps a control step has.
    """

    def __init__(
        self,
        task: Task,
        time_limit: float = float("inf"),
        random_state: Any = None,
        n_sub_steps: int | None = None,
        raise_exception_on_physics_error: bool = True,
        strip_singleton_obs_buffer_dim: bool = False,
        max_reset_attempts: int = 1,
        recompile_mjcf_every_episode: bool = True,
        fixed_initial_state: bool = False,
        delayed_observation_padding: ObservationPadding = ObservationPadding.ZERO,
        legacy_step: bool = True,
    ) -> None:
        del n_sub_steps
        self.task, self._time_limit = task, time_limit
        given = isinstance(random_state, np.random.RandomState)
        self.random_state = random_state if given else np.random.RandomState(random_state)
        self._raises = raise_exception_on_physics_error
        self._attempts = max_reset_attempts
        self._legacy_step = legacy_step
        self._recompiles = recompile_mjcf_every_episode
        self._strip = strip_singleton_obs_buffer_dim
        self._pad = delayed_observation_padding is ObservationPadding.INITIAL_VALUE
        self._extra: dict[str, list[Callable[..., None]]] = {name: [] for name in HOOK_NAMES}
        self._compiled = False  # since the first reset
        self._reset_next_step = True
        self._compile()
        self._initial = self.random_state.get_state() if fixed_initial_state else None

    def control_timestep(self) -> float:
        return self.task.control_timestep

    def add_extra_hook(self, hook_name: str, hook_callable: Callable[..., None]) -> None:
        """Call a function after the callbacks of task and entities."""
        if hook_name not in HOOK_NAMES:
            raise ValueError(
                f"{hook_name!r} is not a valid hook name{or_else(hook_name, HOOK_NAMES)}"
            )
        self._extra[hook_name].append(hook_callable)

    def _call(self, name: str, *arguments: Any, action: Any = None) -> None:
        with_action = (*arguments, action) if name in _WITH_ACTION else arguments
        getattr(self.task, name)(*with_action, self.random_state)
        for callback in self._callbacks[name]:
            callback(*arguments, self.random_state)
        for hook in self._extra[name]:
            hook(*with_action, self.random_state)

    def _compile(self) -> None:
        self.physics = mjcf.Physics.from_mjcf_model(self.task.root_entity.mjcf_model)
        self.physics.legacy_step = self._legacy_step
        self._updater = Updater(
            self.task.observables,
            self.task.physics_steps_per_control_step,
            self._strip,
            self._pad,
        )
        # Looked up once a model: most entities leave most callbacks as they are.
        self._callbacks = {
            name: [
                getattr(entity, name)
                for entity in self.task.iter_entities()
                if getattr(getattr(entity, name), "__func__", None) is not getattr(Callbacks, name)
            ]
            for name in HOOK_NAMES
        }
        self._call("after_compile", self.physics)
        self._updater.reset(self.physics, self.random_state)

    def reset(self) -> dm_env.TimeStep:
        """Begin an episode."""
        for attempt in range(self._attempts):
            try:
                return self._try_reset()
            except EpisodeInitializationError as error:
                if attempt == self._attempts - 1:
                    raise
                logging.getLogger(__name__).info("start %d was refused: %s", attempt, error)
        raise AssertionError("max_reset_attempts is at least 1")

    def _try_reset(self) -> dm_env.TimeStep:
        if self._recompiles or not self._compiled:
            self._rewind()
            self._call("initialize_episode_mjcf")
            self._compile()
            self._compiled = True
        self._rewind()
        with self.physics.reset_context():
            self._call("initialize_episode", self.physics)
        self._updater.reset(self.physics, self.random_state)
        self._reset_next_step = False
        observation = self._updater.get_observation()
        return dm_env.TimeStep(dm_env.StepType.FIRST, None, None, observation)

    def _rewind(self) -> None:
        if self._initial is not None:
            self.random_state.set_state(self._initial)

    def step(self, action: Any) -> dm_env.TimeStep:
        """A control step; after the end of an episode, the next one begins."""
        if self._reset_next_step:
            return self.reset()
        failed = False
        self._call("before_step", self.physics, action=action)
        self._updater.prepare_for_next_control_step()
        try:
            self._substeps(action)
        except PhysicsError as error:
            if self._raises:
                raise
            logging.getLogger(__name__).warning("%s", error)
            failed = True
        self._call("after_step", self.physics)
        self._updater.update()
        task, physics = self.task, self.physics
        reward = 0.0 if failed else task.get_reward(physics)
        discount = 0.0 if failed else task.get_discount(physics)
        ends = failed or task.should_terminate_episode(physics)
        ends = ends or physics.time() >= self._time_limit
        self._reset_next_step = bool(ends)
        kind = dm_env.StepType.LAST if ends else dm_env.StepType.MID
        return dm_env.TimeStep(kind, reward, discount, self._updater.get_observation())

    def _substeps(self, action: Any) -> None:
        physics = self.physics
        steps = self.task.physics_steps_per_control_step
        for k in range(steps):
            self._call("before_substep", physics, action=action)
            physics.step()
            self._call("after_substep", physics)
            if k < steps - 1:
                self._updater.update()

    def action_spec(self) -> Any:
        return self.task.action_spec(self.physics)

    def observation_spec(self) -> Any:
        return self._updater.observation_spec()

    def reward_spec(self) -> Any:
        spec = self.task.get_reward_spec()
        return super().reward_spec() if spec is None else spec

    def discount_spec(self) -> Any:
        spec = self.task.get_discount_spec()
        return super().discount_spec() if spec is None else spec
