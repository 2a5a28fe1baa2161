"""Collects transitions from the sub-environments in which an algorithm acts."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from mjgym.actions import drawable
from mjgym.policies.network import joined
from mjgym.policies.run_errors import ConfigError, RunError
from mjgym.util.goal_entries import DESIRED
from mjgym.util.suggestions import or_else
from mjgym_train.config import Config
from mjgym_train.gymnasium_envs import make_envs

Size = int | tuple[int, int, int]
"""Numbers in a vector, or height, width and channels of an image, those of all cameras together."""


@dataclass(frozen=True)
class Transition:
    """A decision in every sub-environment, with a leading axis of length n."""

    observation: Tensor  # before the decision, (n, size), or (n, height, width, channels) uint8
    action: Tensor  # (n, action size), within -1 and 1
    reward: Tensor  # (n,), the sum over the repeated control steps
    following: Tensor  # the observation after them, also at the end of the episode
    terminated: Tensor  # (n,) bool
    ended: Tensor  # (n,) bool, terminated or truncated
    age: Tensor  # (n,) int32, decisions of the episode before this one


class Collector:
    """A batch of sub-environments, with the histories of their observations and their returns.

    A batch that returns tensors (`env.backend=warp`) is used on its device: all other tensors here
    and the networks are on the same device.

    Raises:
        ConfigError: observations are neither vectors nor colour images of one size.
    """

    def __init__(self, config: Config, history: int | None = None) -> None:
        self._config, self._history = config, history or config.history
        n = config.num_envs
        try:
            self.envs: Any = make_envs(config.id, n, config.threads, **config.env)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"env: {error}") from error
        self.device = torch.device(getattr(self.envs.unwrapped, "device", "cpu"))
        self.observation_size = _size(self.envs.single_observation_space)
        # Vectors are stored in single precision, images unchanged.
        self._kind = torch.float32 if isinstance(self.observation_size, int) else torch.uint8
        self.low, self.high = _bounds(self.envs.single_action_space)
        if config.history_actions:
            if not isinstance(self.observation_size, int):
                raise ConfigError("history_actions: go with vectors, not with pictures")
            self.observation_size += len(self.low)
        # Of each number of a discrete action; None for continuous actions.
        self.choices: int | None = getattr(self.envs.unwrapped, "choices", None)
        self.returns: list[float] = []  # of the complete episodes that ended with the last step
        self.sampler = 0  # that took the last step
        self.stack: Tensor  # the last observations, (n, history, ...), the current one last
        self.weights = self._entry_weights()
        with self.use():
            self._low, self._range = self._tensor(self.low), self._tensor(self.high - self.low)
            self._sums = torch.zeros(n, dtype=torch.float64)  # of rewards
            self._age = torch.zeros(n, dtype=torch.int32)
            self.diverged = torch.zeros(n, dtype=torch.bool)  # episodes, by the last step
            self._whole = torch.ones(n, dtype=torch.bool)  # whether episodes began at their start

    def _entry_weights(self) -> np.ndarray | None:
        """Weights of the observation's numbers, (size,), from the settings of its entries."""
        if not (by_name := self._config.entry_weights):
            return None
        shapes = self.envs.unwrapped.entry_shapes
        for name in by_name:
            if name not in shapes or not isinstance(self.observation_size, int):
                raise ConfigError(f"entry_weights: no entry {name!r}{or_else(name, shapes)}")
        counts = [math.prod(shape) for shape in shapes.values()]
        return np.repeat([by_name.get(name, 1.0) for name in shapes], counts)

    def use(self) -> contextlib.AbstractContextManager[Any]:
        """Make the device PyTorch's default; skipped on the CPU, where it would only cost time."""
        return contextlib.nullcontext() if self.device.type == "cpu" else self.device

    def _tensor(self, values: Any) -> Tensor:
        """Output of the batch as a tensor on its device; tensors are not copied."""
        return torch.as_tensor(values, device=self.device)

    def begin(self) -> Tensor:
        """Start all episodes; returns the first observations, (n, ...)."""
        config = self._config
        seeds = np.random.SeedSequence(config.seed).generate_state(config.num_envs)
        observation, _ = self.envs.reset(seed=seeds.tolist())
        observation = joined(observation)
        self._gives_tensors = isinstance(observation, Tensor)
        limit = self.envs.unwrapped.max_episode_steps
        if config.stagger and limit is not None:
            steps = np.arange(config.num_envs) * limit // config.num_envs
            steps -= steps % config.action_repeat  # whole decisions remain
            observation = joined(self.envs.unwrapped.set_state({"steps": steps}))
            self._whole = self._tensor(steps == 0)
        start = self._tensor(observation).to(self._kind, copy=True)
        if config.history_actions:
            start = torch.cat([start, start.new_zeros(len(start), len(self.low))], 1)
        self.stack = start[:, None].repeat_interleave(self._history, 1)
        return start

    @property
    def observation(self) -> Tensor:
        return self.stack[:, -1]

    def observed(self, recorded: Any) -> np.ndarray | None:
        """Recorded observations as used for learning, (rows, ...); None if they do not match.

        Entries of a dict may have any order, and extra ones are ignored.
        """
        space = self.envs.single_observation_space
        names = list(getattr(space, "spaces", self.envs.unwrapped.entry_shapes))
        if isinstance(recorded, Mapping):
            whole = recorded.get("flat" if isinstance(self.observation_size, int) else "pixels")
            if whole is not None:
                return self.observed(whole)
            if not set(names) <= set(recorded):
                return None
            parts = {name: np.asarray(recorded[name]) for name in names}
            if isinstance(self.observation_size, int):
                rows = np.concatenate([part.reshape(len(part), -1) for part in parts.values()], 1)
            else:
                rows = np.asarray(joined(parts))
        else:
            rows = np.asarray(recorded)
        size = self.observation_size
        shape = (size,) if isinstance(size, int) else size
        if rows.shape[1:] != shape or (len(shape) == 3) != (rows.dtype == np.uint8):
            return None
        return rows if len(shape) == 3 else rows.astype(np.float32)

    def scaled(self, action: Tensor) -> Tensor:
        """Actions of the task for those within -1 and 1."""
        return self._low + (action + 1) / 2 * self._range

    def within(self, actions: np.ndarray) -> Tensor:
        """The task's actions within -1 and 1."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        within = np.clip(2 * (actions - self.low) / width - 1, -1, 1)
        return torch.from_numpy(within.astype(np.float32))

    def step(self, action: Tensor) -> Transition:
        """One decision in all sub-environments, (n, action size); ended episodes are reset."""
        scaled = self.scaled(action)
        batch = scaled if self._gives_tensors else scaled.cpu().numpy()
        now, following, rewards, terminated, self.diverged, ended = self._repeated(batch)
        if self._config.history_actions:
            following = torch.cat([following, action], 1)
            now = torch.cat([now, torch.where(ended[:, None], 0.0, action)], 1)
        transition = Transition(
            self.observation, action, rewards.float(), following, terminated, ended, self._age
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

    def _repeated(self, action: Any) -> tuple[Tensor, ...]:
        """Repeat an action for `action_repeat` control steps or until the episode ends.

        An episode that starts while others still repeat is finally put back to its start.
        """
        whole = self._advance(action)
        left = self._config.action_repeat - 1
        starts: list[tuple[np.ndarray, Any]] = []  # of new episodes, with their mask
        begun = whole[-1]
        while left and not whole[-1].all():
            if begun.any():
                ids = np.flatnonzero(begun.cpu().numpy())
                starts.append((ids, self.envs.unwrapped.get_state(ids)))
            step = self._advance(action)
            whole, begun = _continued(whole, step), step[-1] & ~whole[-1]
            left -= 1
        for ids, state in starts:
            self.envs.unwrapped.set_state(state, ids)
        return whole

    def _advance(self, action: Any) -> tuple[Tensor, ...]:
        """One control step of all sub-environments; ended episodes are reset.

        Returns the current observations, those after the step, rewards, terminations, divergences
        and ends.
        """
        observation, reward, terminated, truncated, info = self.envs.step(action)
        now = self._tensor(joined(observation)).to(self._kind)
        ended = self._tensor(terminated | truncated)
        following, diverged = now, torch.zeros_like(ended)
        if ended.any():
            following = self._following(now, ended, info["final_obs"])
            diverged = ended & self._tensor(info["final_info"].get("diverged", False))
        return now, following, self._tensor(reward), self._tensor(terminated), diverged, ended

    def _following(self, now: Tensor, ended: Tensor, final: Any) -> Tensor:
        if isinstance(final, Tensor):  # a whole batch
            return torch.where(_beside(ended, now), final.to(self._kind), now)
        following = now.clone()
        last = np.stack([joined(seen) for seen in final[ended.cpu().numpy()]])
        following[ended] = self._tensor(last).to(self._kind)
        return following

    def state_dict(self) -> dict[str, Any]:
        """The state that determines all further steps."""
        state = self.envs.unwrapped.get_state()
        envs = {name: torch.from_numpy(np.asarray(value)) for name, value in state.items()}
        return {"envs": envs, "own": {name: getattr(self, name) for name in _KEPT}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from `state_dict`, with the same settings."""
        if "envs" not in state:
            raise RunError("the run has samplers: go on with it with --ray")
        for name, value in state["own"].items():
            setattr(self, name, value)
        self.envs.unwrapped.set_state({k: v.numpy() for k, v in state["envs"].items()})

    def close(self) -> None:
        self.envs.close()


_KEPT = ("stack", "_sums", "_age", "_whole")


def _continued(whole: tuple[Tensor, ...], step: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Add a control step to the accumulated ones, where the episode has not ended."""
    now, following, rewards, terminated, diverged, ended = whole
    over = _beside(ended, now)
    return (
        torch.where(over, now, step[0]),
        torch.where(over, following, step[1]),
        rewards + torch.where(ended, 0.0, step[2]),
        terminated | (step[3] & ~ended),
        diverged | (step[4] & ~ended),
        ended | step[5],
    )


def _beside(mask: Tensor, observation: Tensor) -> Tensor:
    """A mask of sub-environments, (n,), with as many axes as their observations."""
    return mask.view(-1, *(1,) * (observation.ndim - 1))


def _size(space: Any) -> Size:
    """The size of an observation; vectors with goals are counted with their goals."""
    parts = list(space.spaces.values()) if isinstance(space, gymnasium.spaces.Dict) else [space]
    shapes = [part.shape or () for part in parts]
    if len(parts) == 1 and len(shapes[0]) == 1:
        return int(shapes[0][0])
    if DESIRED in getattr(space, "spaces", ()):
        return sum(int(shape[0]) for shape in shapes)
    sides = {shape[:2] for shape in shapes}
    pictures = all(len(s) == 3 and p.dtype == np.uint8 for s, p in zip(shapes, parts, strict=True))
    if pictures and len(sides) == 1:
        ((height, width),) = sides
        return height, width, sum(shape[2] for shape in shapes)
    raise ConfigError(
        'env: observations must be one vector, observation="flat", or with goals, "goal", or'
        ' coloured pictures of one size, observation="pixels", without frame_stack: the setting'
        " history stacks them"
    )


def _bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    """Action bounds; infinite ones become -1 and 1."""
    low, high = drawable(space.low, space.high)
    return low.astype(np.float32), high.astype(np.float32)
