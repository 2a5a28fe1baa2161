"""Tasks: rewards and ends of episodes, on entities."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from dm_env import specs

from mjgym_compat.dm_control import mujoco
from mjgym_compat.dm_control.composer.entity import Callbacks, Entity
from mjgym_compat.dm_control.composer.observation.observable import Observable

DEFAULT_TIMESTEP = 0.002  # s, MuJoCo's


class Task(Callbacks):
    """Base class of tasks: subclasses define `root_entity`, `get_reward` and any callbacks."""

    _control_timestep: float | None = None

    @property
    def root_entity(self) -> Entity:
        raise NotImplementedError

    def get_reward(self, physics: Any) -> Any:
        raise NotImplementedError

    def iter_entities(self) -> Iterator[Entity]:
        return self.root_entity.iter_entities()

    @property
    def observables(self) -> dict[str, Observable]:
        observables = dict(self.task_observables)
        for entity in self.iter_entities():
            observables.update(entity.observables.as_dict())
        return observables

    @property
    def task_observables(self) -> dict[str, Observable]:
        return {}

    # Time.

    @property
    def physics_timestep(self) -> float:
        timestep = self.root_entity.mjcf_model.option.timestep
        return DEFAULT_TIMESTEP if timestep is None else float(timestep)

    @physics_timestep.setter
    def physics_timestep(self, value: float) -> None:
        self.set_timesteps(self.control_timestep, value)

    @property
    def control_timestep(self) -> float:
        own = self._control_timestep
        return self.physics_timestep if own is None else own

    @control_timestep.setter
    def control_timestep(self, value: float) -> None:
        self.set_timesteps(value, self.physics_timestep)

    def set_timesteps(self, control_timestep: float, physics_timestep: float) -> None:
        """Set both time steps, s."""
        _ratio(control_timestep, physics_timestep)
        self.root_entity.mjcf_model.option.timestep = physics_timestep
        self._control_timestep = control_timestep

    @property
    def physics_steps_per_control_step(self) -> int:
        return _ratio(self.control_timestep, self.physics_timestep)

    # Callbacks with an action.

    def before_step(  # type: ignore[override]
        self, physics: Any, action: Any, random_state: np.random.RandomState
    ) -> None:
        physics.set_control(action)

    def before_substep(  # type: ignore[override]
        self, physics: Any, action: Any, random_state: np.random.RandomState
    ) -> None:
        """Do something before a physics step."""

    # Outcome.

    def get_discount(self, physics: Any) -> float:
        return 1.0

    def should_terminate_episode(self, physics: Any) -> bool:
        return False

    def get_reward_spec(self) -> Any:
        return None

    def get_discount_spec(self) -> Any:
        return None

    def action_spec(self, physics: Any) -> specs.BoundedArray:
        names = [physics.model.id2name(i, "actuator") or str(i) for i in range(physics.model.nu)]
        return mujoco.action_spec(physics).replace(name="\t".join(names))


def _ratio(control: float, physics: float) -> int:
    steps = round(control / physics)
    if steps < 1 or abs(control - steps * physics) > 1e-8:
        raise ValueError(
            f"the control time step, {control} s, is no multiple of the physics time step,"
            f" {physics} s"
        )
    return steps


class NullTask(Task):
    """A task without reward."""

    def __init__(self, root_entity: Entity) -> None:
        self._root_entity = root_entity

    @property
    def root_entity(self) -> Entity:
        return self._root_entity

    def get_reward(self, physics: Any) -> float:
        return 0.0
