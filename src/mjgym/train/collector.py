"""Sub-environments that an algorithm acts in, and the transitions that come of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mjgym.actions import UNLIMITED
from mjgym.train import evaluation
from mjgym.train.config import Config
from mjgym.train.errors import ConfigError, RunError

Size = int | tuple[int, int, int]
"""Of an observation: numbers in a vector, or height, width and channels of a picture."""


@dataclass(frozen=True)
class Transition:
    """A step of every sub-environment; the leading axis, of length n, is theirs.

    Args:
        observation: before the step, (n, size), or (n, height, width, channels) uint8.
        action: (n, action size), within -1 and 1.
        reward: (n,).
        following: the observation after the step, also where that ended the episode.
        terminated: (n,) bool.
        ended: (n,) bool, terminated or truncated.
        age: (n,) int32, steps since the episode began, before the step.
    """

    observation: Tensor
    action: Tensor
    reward: Tensor
    following: Tensor
    terminated: Tensor
    ended: Tensor
    age: Tensor


class Collector:
    """A batch of sub-environments, the histories of their observations and their returns.

    Args:
        config: settings of the run.

    Attributes:
        envs: the vector environment.
        low: bounds of an action, (action size,).
        high: the same.
        observation_size: of an observation.
        stack: the last observations, (n, history, ...), the present one last.
        returns: of the episodes that have ended with the last step, from their start.

    Raises:
        ConfigError: observations are neither vectors nor coloured pictures.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        n = config.num_envs
        self.envs = evaluation.make(config.id, n, config.threads, **config.env)
        self.observation_size = _size(self.envs.single_observation_space)
        self.low, self.high = _bounds(self.envs.single_action_space)
        self.returns: list[float] = []
        self._sums = torch.zeros(n, dtype=torch.float64)  # of rewards
        self._age = torch.zeros(n, dtype=torch.int32)
        self._whole = torch.ones(n, dtype=torch.bool)  # whether the episodes began at their start
        self.stack: Tensor

    def begin(self) -> Tensor:
        """Begin all episodes; returns the first observations, (n, ...)."""
        config = self._config
        seeds = np.random.SeedSequence(config.seed).generate_state(config.num_envs)
        observation, _ = self.envs.reset(seed=seeds.tolist())
        limit = self.envs.unwrapped.max_episode_steps
        if config.stagger and limit is not None:
            steps = np.arange(config.num_envs) * limit // config.num_envs
            observation = self.envs.unwrapped.set_state({"steps": steps})
            self._whole = torch.from_numpy(steps == 0)
        start = self._tensor(observation)
        self.stack = start[:, None].repeat_interleave(config.longest_history, 1)
        return start

    def _tensor(self, observation: np.ndarray) -> Tensor:
        """Observations in the kind of numbers that they are kept in."""
        kind = np.float32 if isinstance(self.observation_size, int) else np.uint8
        return torch.from_numpy(np.array(observation, kind))

    @property
    def observation(self) -> Tensor:
        """The present observations, (n, ...)."""
        return self.stack[:, -1]

    def step(self, action: Tensor) -> Transition:
        """One step of all sub-environments; what has ended begins anew.

        Args:
            action: (n, action size), within -1 and 1, for the bounds.
        """
        scaled = self.low + (action.numpy() + 1) / 2 * (self.high - self.low)
        observation, reward, terminated, truncated, info = self.envs.step(scaled)
        now = self._tensor(observation)
        ended = torch.from_numpy(terminated | truncated)
        following = now
        if ended.any():
            following = now.clone()
            following[ended] = self._tensor(np.stack(info["final_obs"][ended.numpy()]))
        rewards = torch.from_numpy(reward)
        transition = Transition(
            observation=self.observation,
            action=action,
            reward=rewards.float(),
            following=following,
            terminated=torch.from_numpy(terminated),
            ended=ended,
            age=self._age,
        )
        self._sums += rewards
        self._age = torch.where(ended, 0, self._age + 1)
        self.stack = torch.cat([self.stack[:, 1:], now[:, None]], 1)
        self.returns = self._sums[ended & self._whole].tolist()
        if ended.any():
            self._sums[ended] = 0
            self._whole = self._whole | ended
            self.stack[ended] = now[ended][:, None]
        return transition

    def state_dict(self) -> dict[str, Any]:
        """All that the next steps depend on."""
        envs = {name: torch.as_tensor(v) for name, v in self.envs.unwrapped.get_state().items()}
        return {"envs": envs, "own": {name: getattr(self, name) for name in _KEPT}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave, with the same settings.

        Raises:
            RunError: it is that of a run with samplers elsewhere.
        """
        if "envs" not in state:
            raise RunError("the run has samplers: go on with it with --ray")
        for name, value in state["own"].items():
            setattr(self, name, value)
        self.envs.unwrapped.set_state({k: v.numpy() for k, v in state["envs"].items()})

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()


_KEPT = ("stack", "_sums", "_age", "_whole")


def _size(space: Any) -> Size:
    """The size of an observation.

    Raises:
        ConfigError: it is neither a vector nor a coloured picture.
    """
    shape: tuple[int, ...] = space.shape or ()
    if len(shape) == 1:
        return shape[0]
    if len(shape) == 3 and space.dtype == np.uint8:
        return shape[0], shape[1], shape[2]
    raise ConfigError(
        'env: observations must be one vector, observation="flat", or one coloured picture,'
        ' observation="pixels"'
    )


def _bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of an action; -1 and 1 where there are none."""
    low = np.where(space.low > -UNLIMITED, space.low, -1.0).astype(np.float32)
    high = np.where(space.high < UNLIMITED, space.high, 1.0).astype(np.float32)
    return low, high
