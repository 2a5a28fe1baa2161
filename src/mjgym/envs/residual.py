"""Actions that correct the scripted policy of a task."""

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from mjgym.envs.options import RESET_MASK
from mjgym.envs.spaces import check_action

if TYPE_CHECKING:
    _VectorWrapper = gymnasium.vector.VectorWrapper[Any, Any, Any]
else:
    _VectorWrapper = gymnasium.vector.VectorWrapper  # not generic before Gymnasium 1.3


class _Residual:
    """The scripted policy of a task, with corrections by an action within -1 and 1."""

    def __init__(self, task: Any, space: Any, scale: float) -> None:
        if not (isinstance(scale, int | float | np.number) and 0 < scale < np.inf):
            raise ValueError(f"residual: expected a positive number, got {scale!r}")
        if not np.isfinite([space.low, space.high]).all():
            raise ValueError("residual: the action space is unbounded")
        self._script = task.scripted_policy()
        if self._script is None:
            raise ValueError(f"residual: there is no scripted policy for {type(task).__name__}")
        self._low, self._high = space.low, space.high
        self._scale = scale * (space.high.astype(float) - space.low) / 2
        self.space = Box(-1.0, 1.0, space.shape, np.float32)

    def restart(self, where: np.ndarray | None = None) -> None:
        if hasattr(self._script, "restart"):
            self._script.restart(where)

    def corrected(self, entries: Any, action: Any) -> np.ndarray:
        scripted = np.asarray(self._script(entries))
        moved = scripted + (self._scale * action).astype(scripted.dtype)
        return np.asarray(np.clip(moved, self._low, self._high))


class ResidualAction(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds actions from -1 to 1 to those of the task's scripted policy; 0 leaves it as it is.

    `gymnasium.make(id, residual=scale)` makes it. The scripted policy sees the whole observation,
    whatever the environment shows. Its memory is no part of `get_state`.

    Args:
        residual: the largest correction, as a fraction of half the range of each action.

    Raises:
        ValueError: the task has no scripted policy, its action space is unbounded, or `residual` is
            not positive.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], residual: float = 0.2) -> None:
        RecordConstructorArgs.__init__(self, residual=residual)
        super().__init__(env)
        bare: Any = env.unwrapped
        self._residual = _Residual(bare.task, env.action_space, residual)
        self.action_space = self._residual.space

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        result = self.env.reset(**arguments)
        self._residual.restart()
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        action = check_action(action, self._residual.space.shape)
        bare: Any = self.unwrapped
        return self.env.step(self._residual.corrected(bare.observe(), action))


class VectorResidualAction(_VectorWrapper, RecordConstructorArgs):
    """`ResidualAction` for a vector environment of this package on the CPU."""

    def __init__(
        self, env: gymnasium.vector.VectorEnv[Any, Any, Any], residual: float = 0.2
    ) -> None:
        RecordConstructorArgs.__init__(self, residual=residual)
        super().__init__(env)
        bare: Any = env.unwrapped
        self._residual = _Residual(bare.task, env.single_action_space, residual)
        self.single_action_space = self._residual.space
        self.action_space = batch_space(self.single_action_space, env.num_envs)
        self._due = np.zeros(env.num_envs, dtype=bool)  # episodes that begin in the next step

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        result = self.env.reset(seed=seed, options=options)
        begun = (options or {}).get(RESET_MASK)
        self._residual.restart(begun)
        self._due = np.zeros_like(self._due) if begun is None else self._due & ~begun
        return result

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        actions = check_action(actions, (self.num_envs, *self._residual.space.shape))
        bare: Any = self.unwrapped
        result = self.env.step(self._residual.corrected(bare.observe(), actions))
        ended = result[2] | result[3]
        mode = self.metadata["autoreset_mode"]
        begun = {AutoresetMode.NEXT_STEP: self._due, AutoresetMode.SAME_STEP: ended}.get(mode)
        if begun is not None and begun.any():
            self._residual.restart(begun)
        self._due = ended
        return result
