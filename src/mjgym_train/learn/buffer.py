"""Replay buffer; n-step returns and histories are assembled when sampling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mjgym_train.learn.collector import Size


@dataclass(frozen=True)
class Batch:
    """Transitions over n steps, with a leading batch axis."""

    # (B, history, size), the current one last; for images (B, history, height, width, channels),
    # uint8.
    observation: Tensor
    action: Tensor  # (B, size), within -1 and 1
    rewards: Tensor  # (B, n), 0 after the end of the episode or of the stored steps
    steps: Tensor  # (B,), number of valid rewards, at least 1
    following: Tensor  # observation after those steps, with the shape of `observation`
    # (B,) bool, whether the episode terminated there, so that nothing follows. After a truncation,
    # e.g. by a time limit, the following observation has a value.
    terminated: Tensor
    shorter: "tuple[Batch, ...]" = ()  # the same transitions over fewer steps, if requested
    # Of prioritised replay, (B,) each: importance weights, and places in the buffer.
    weight: Tensor | None = None
    place: Tensor | None = None
    # Images of `observation` and `following`, where the actor sees them anew.
    pictures: tuple[Tensor, Tensor] | None = None

    def over(self, n_step: int) -> "Batch":
        """The transitions whose rewards span `n_step` steps."""
        return next(one for one in (self, *self.shorter) if one.rewards.shape[1] == n_step)

    def recent(self, history: int) -> "Batch":
        """The same transitions with only the last observations of each history."""
        return replace(
            self,
            observation=self.observation[:, -history:],
            following=self.following[:, -history:],
            shorter=(),
        )

    def at(self, rows: Tensor | slice) -> "Batch":
        return self._mapped(lambda value: value[rows])

    def beside(self, other: "Batch") -> "Batch":
        return self._mapped(lambda *values: torch.cat(values), other)

    def split(self, size: int) -> "list[Batch]":
        starts = range(0, len(self.action), size)
        return [self.at(slice(k, k + size)) for k in starts]

    def _mapped(self, function: Callable[..., Tensor], *others: "Batch") -> "Batch":
        """Apply a function to the tensors of some batches, name by name."""
        made: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                made[name] = function(value, *(getattr(other, name) for other in others))
        shorter = zip(self.shorter, *(other.shorter for other in others), strict=True)
        return Batch(**made, shorter=tuple(one._mapped(function, *rest) for one, *rest in shorter))


class ReplayBuffer:
    """A ring buffer of the last transitions of several sub-environments.

    Images are stored once: the one that follows is that of the next step, and is kept beside it
    only at the end of an episode and for the newest step.

    Args:
        size: capacity in transitions, over all sub-environments.
        shorter: lengths below `n_step` over which the same transitions are returned as well.
    """

    def __init__(
        self,
        size: int,
        num_envs: int,
        observation_size: Size,
        action_size: int,
        *,
        n_step: int = 1,
        shorter: Sequence[int] = (),
        history: int = 1,
    ) -> None:
        self.num_envs = num_envs
        self._length = max(size // num_envs, n_step, history)
        self._n_steps, self._history = (n_step, *shorter), history
        rows = self._length * num_envs
        vector = isinstance(observation_size, int)
        shape = (observation_size,) if isinstance(observation_size, int) else observation_size
        kind = torch.float32 if vector else torch.uint8
        self._latest: Tensor | None = None if vector else torch.empty(num_envs, *shape, dtype=kind)
        # Untouched memory is not allocated: a buffer grows with its contents, and where images
        # follow that are stored as observations there is none.
        self._arrays = {
            "observation": torch.empty(rows, *shape, dtype=kind),
            "action": torch.empty(rows, action_size),
            "reward": torch.empty(rows),
            "following": torch.empty(rows, *shape, dtype=kind),
            "terminated": torch.empty(rows, dtype=torch.bool),
            "ended": torch.empty(rows, dtype=torch.bool),
            "age": torch.empty(rows, dtype=torch.int32),  # step of the episode
        }
        self._added = 0  # total steps per sub-environment

    def __len__(self) -> int:
        return min(self._added, self._length) * self.num_envs

    def add(self, **step: Tensor) -> None:
        """Store a step of every sub-environment, the entries of a `Transition`."""
        first = self._added % self._length * self.num_envs
        for name, array in self._arrays.items():
            if name != "following" or self._latest is None:
                array[first : first + self.num_envs] = step[name]
        self._added += 1
        if self._latest is not None:
            self._latest = step["following"].clone()
        self._keep_ends()

    def cut(self) -> None:
        """End the stored episodes: the next steps do not continue them."""
        if self._added:
            last = (self._added - 1) % self._length * self.num_envs
            self._arrays["ended"][last : last + self.num_envs] = True
            self._keep_ends()

    def _keep_ends(self) -> None:
        """Note the episodes that the newest steps have ended, by the images that they led to."""
        if self._latest is not None:
            last = (self._added - 1) % self._length * self.num_envs
            ended = self._arrays["ended"][last : last + self.num_envs].nonzero()[:, 0]
            self._arrays["following"][last + ended] = self._latest[ended]

    def sample(self, count: int) -> Batch:
        """Transitions drawn uniformly, with replacement.

        A return ends with its episode and with the stored steps: the newest transitions have fewer
        than n rewards. A history is padded with the first observation of its episode.
        """
        return self._batch(*self._places(count))

    def prioritize(self, places: Tensor, losses: Tensor) -> None:
        raise NotImplementedError("all transitions are drawn alike")

    def _places(self, count: int) -> tuple[Tensor, Tensor]:
        """Time and sub-environment of uniformly drawn steps, (count,) each."""
        stored = min(self._added, self._length)
        time = torch.randint(stored, (count,)) + self._added - stored
        return time, torch.randint(self.num_envs, (count,))

    def _batch(self, time: Tensor, env: Tensor) -> Batch:
        oldest = self._added - min(self._added, self._length)
        observation = self._past(time, env, oldest, self._history)
        action = self._arrays["action"][self._rows(time, env)]
        longest, *shorter = (
            Batch(observation, action, *self._steps(time, env, oldest, n)) for n in self._n_steps
        )
        return replace(longest, shorter=tuple(shorter))

    def _steps(
        self, time: Tensor, env: Tensor, oldest: int, n_step: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rewards, their number, the following observations and terminations."""
        count = len(time)
        going = torch.ones(count, dtype=torch.bool)
        rewards, last = [], time
        for k in range(n_step):
            here = self._rows(time + k, env)
            going = going & (time + k < self._added)
            rewards.append(torch.where(going, self._arrays["reward"][here], 0.0))
            last = torch.where(going, time + k, last)
            going = going & ~self._arrays["ended"][here]
        end = self._rows(last, env)
        following = self._following(last, env, end)[:, None]
        if self._history > 1:
            # The history before the last observation: those before its step and earlier ones.
            before = self._past(last, env, oldest, self._history - 1)
            following = torch.cat([before, following], 1)
        terminated = self._arrays["terminated"][end]
        return torch.stack(rewards, 1), last - time + 1, following, terminated

    def _following(self, time: Tensor, env: Tensor, rows: Tensor) -> Tensor:
        """Next observations of the steps in the given rows."""
        if self._latest is None:
            return self._arrays["following"][rows]
        found = self._arrays["observation"].index_select(0, self._rows(time + 1, env))
        ended = self._arrays["ended"][rows]
        found[ended] = self._arrays["following"][rows[ended]]
        newest = ~ended & (time == self._added - 1)
        found[newest] = self._latest[env[newest]]
        return found

    def _rows(self, time: Tensor, env: Tensor) -> Tensor:
        return time % self._length * self.num_envs + env

    def _past(self, time: Tensor, env: Tensor, oldest: int, count: int) -> Tensor:
        age = self._arrays["age"][self._rows(time, env)]
        back = torch.arange(count - 1, -1, -1)[None]
        reach = torch.minimum(age, time - oldest)[:, None]
        rows = self._rows(time[:, None] - torch.minimum(back, reach), env[:, None])
        # A row at a time: a twentieth of the time of an index for pictures.
        drawn = self._arrays["observation"].index_select(0, rows.flatten())
        return drawn.view(*rows.shape, *drawn.shape[1:])

    def state_dict(self) -> dict[str, Any]:
        """Contents, for a checkpoint."""
        stored = min(self._added, self._length) * self.num_envs
        arrays = {name: array[:stored].clone() for name, array in self._arrays.items()
                  if name != "following" or self._latest is None}  # fmt: skip
        if self._latest is None:
            return {"added": self._added, "arrays": arrays}
        ends = self._arrays["following"][:stored][arrays["ended"]]
        return {"added": self._added, "arrays": arrays, "latest": self._latest, "ends": ends}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore contents of `state_dict`."""
        self._added = state["added"]
        for name, array in state["arrays"].items():
            self._arrays[name][: len(array)] = array
        if "latest" in state:
            self._latest = state["latest"].clone()
            ended = self._arrays["ended"][: len(state["arrays"]["ended"])].nonzero()[:, 0]
            self._arrays["following"][ended] = state["ends"]
