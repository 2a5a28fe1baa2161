"""The `dm_env` interface of a soccer match, with a list entry per player."""

from collections.abc import Sequence
from typing import Any

import dm_env
import gymnasium
import numpy as np
from dm_env import specs

from mjgym.loop.episode import DivergenceError
from mjgym_compat.dm_control.mujoco import Physics, PhysicsError


class SoccerEnv(dm_env.Environment):  # type: ignore[misc]
    """A match with the interface of the published soccer.

    Players are ordered home 0, home 1, ..., away 0, ... A time limit ends a match with discount 1,
    a goal with discount 0.

    Args:
        players: one match from `gymnasium.make_vec`, with dict observations and without autoreset.
    """

    def __init__(self, players: Any, seed: int | None = None) -> None:
        self._players = players
        self._seed = seed
        self._ended = True
        self.task = players.task
        self._space: gymnasium.spaces.Dict = players.single_observation_space
        self._physics: Physics | None = None
        self._shown = False  # whether that has the current state

    @property
    def physics(self) -> Physics:
        """A copy of the match's model and current state; the match does not read it."""
        if self._physics is None:
            self._physics = Physics.of_copy(self._players.matches.model, self.task.model)
        if not self._shown:
            self._shown = True
            model, data = self._physics.model.ptr, self._physics.data.ptr
            for name, (value,) in self._players.matches.get_state().items():
                if name in self.task.varies:
                    getattr(model, name)[: len(value)] = value  # volumes of bodies come first
                elif name == "time":
                    data.time = value
                elif hasattr(data, name):
                    getattr(data, name)[...] = value
            self._physics.forward()
        return self._physics

    def reset(self) -> dm_env.TimeStep:
        observations, _ = self._players.reset(seed=self._seed)
        self._seed, self._ended, self._shown = None, False, False
        return dm_env.TimeStep(dm_env.StepType.FIRST, None, None, self._lists(observations))

    def step(self, actions: Sequence[Any]) -> dm_env.TimeStep:
        """Advance by one control step; PhysicsError if the simulation diverges."""
        if self._ended:
            return self.reset()
        count = self._players.num_envs
        if len(actions) != count:
            raise ValueError(f"action: expected a list of {count}, one for each player")
        shape = self._players.single_action_space.shape
        controls = [np.asarray(action, dtype=np.float64) for action in actions]
        for i, action in enumerate(controls):
            if action.shape != shape:
                raise ValueError(f"action: player {i}: expected shape {shape}, got {action.shape}")
        self._shown = False
        try:
            observations, rewards, terminated, truncated, _ = self._players.step(np.stack(controls))
        except DivergenceError as error:
            self._ended = True
            raise PhysicsError(str(error)) from error
        self._ended = bool(terminated[0] or truncated[0])
        return dm_env.TimeStep(
            dm_env.StepType.LAST if self._ended else dm_env.StepType.MID,
            [np.array(reward, np.float32) for reward in rewards],
            np.array(not terminated[0] or truncated[0], np.float32),
            self._lists(observations),
        )

    def _lists(self, observations: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """One dict per player, with entries of leading axis 1, as published."""
        return [
            {name: values[i : i + 1].copy() for name, values in observations.items()}
            for i in range(self._players.num_envs)
        ]

    def observation_spec(self) -> list[dict[str, specs.Array]]:
        """Name, shape and dtype of each player's entries."""
        return [
            {
                name: specs.Array((1, *(box.shape or ())), box.dtype, name)
                for name, box in self._space.spaces.items()
            }
            for _ in range(self._players.num_envs)
        ]

    def action_spec(self) -> list[specs.BoundedArray]:
        """The control ranges of each player, float64."""
        box = self._players.single_action_space
        low, high = box.low.astype(np.float64), box.high.astype(np.float64)
        return [
            specs.BoundedArray(box.shape, np.float64, low, high, f"player{i}")
            for i in range(self._players.num_envs)
        ]

    def reward_spec(self) -> list[specs.Array]:
        return [specs.Array((), np.float32, f"reward{i}") for i in range(self._players.num_envs)]

    def discount_spec(self) -> specs.BoundedArray:
        return specs.BoundedArray((), np.float32, 0.0, 1.0, "discount")

    def control_timestep(self) -> float:
        return float(self.task.control_timestep)

    def close(self) -> None:
        self._players.close()
