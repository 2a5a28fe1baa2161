"""The published suite's tasks, and user-defined ones, on `mujoco.Physics`."""

import collections
from collections.abc import Mapping
from typing import Any

import numpy as np
from dm_env import specs

import mjgym
from mjgym.actions import bounds
from mjgym.rendering.looks import colour_by_reward
from mjgym.sim.single import SingleView
from mjgym_compat.dm_control import mujoco
from mjgym_compat.dm_control.rl import control


class Task(control.Task):
    """A task with controls as actions.

    Attributes:
        visualize_reward: whether the colours of the bodies follow the reward.
    """

    def __init__(self, random: int | np.random.RandomState | None = None) -> None:
        if not isinstance(random, np.random.RandomState):
            random = np.random.RandomState(random)
        self._random = random
        self.visualize_reward = False

    @property
    def random(self) -> Any:
        return self._random

    def action_spec(self, physics: Any) -> specs.BoundedArray:
        return mujoco.action_spec(physics)

    def initialize_episode(self, physics: Any) -> None:
        self.after_step(physics)

    def before_step(self, action: Any, physics: Any) -> None:
        physics.set_control(getattr(action, "continuous_actions", action))

    def after_step(self, physics: Any) -> None:
        if self.visualize_reward:
            colour_by_reward(physics.model.ptr, self.get_reward(physics))


class PublishedTask(Task):
    """A task of this package.

    Its attributes are those of the task, which is `task`.
    """

    def __init__(self, task: mjgym.Task, random: int | np.random.RandomState | None = None) -> None:
        super().__init__(random)
        self.task = task

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "task" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["task"], name)

    def _view(self, physics: Any) -> SingleView:
        if physics.env is not None:
            return physics.env.view  # type: ignore[no-any-return]
        view: SingleView | None = physics.__dict__.get("_view")
        if view is None:
            view = physics._view = SingleView(physics.model.ptr, physics.data.ptr)
        return view

    def action_spec(self, physics: Any) -> specs.BoundedArray:
        low, high = bounds(self.task.actions(physics.model.ptr))
        return specs.BoundedArray(low.shape, np.float64, low, high, "action")

    def initialize_episode(self, physics: Any) -> None:
        view = self._view(physics)
        model = view.model
        defaults = physics.__dict__.setdefault(
            "_defaults", {name: getattr(model, name).copy() for name in self.task.varies}
        )
        for name, value in defaults.items():
            getattr(model, name)[...] = value
        self.task.initialize(view, np.random.default_rng(self.random.randint(2**31)))
        view.memory = view.owned(self.task.memory(view))
        super().initialize_episode(physics)

    def before_step(self, action: Any, physics: Any) -> None:
        view = self._view(physics)
        values = np.asarray(action, dtype=np.float64)
        action = np.broadcast_to(values, self.action_spec(physics).shape)
        view.memory = {**view.memory, **view.owned(self.task.before_step(view, action))}
        physics.set_control(self.task.control(view, action))

    def after_step(self, physics: Any) -> None:
        view = self._view(physics)
        if physics.env is None:
            view.memory = {**view.memory, **view.owned(self.task.update(view))}
        super().after_step(physics)

    def get_observation(self, physics: Any) -> Mapping[str, np.ndarray]:
        view = self._view(physics)
        return collections.OrderedDict(view.owned(self.task.observation(view)))

    def get_reward(self, physics: Any) -> float:
        return float(self.task.reward(self.task.terms(self._view(physics))))

    def get_termination(self, physics: Any) -> float | None:
        return 0.0 if bool(self.task.terminated(self._view(physics))) else None
