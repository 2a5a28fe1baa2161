"""Recorded episodes as tensors: checked against the task and sampled."""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
import torch
from torch import Tensor

from mjgym import datasets
from mjgym.datasets import DemonstrationError, Episode
from mjgym.policies.run_errors import ConfigError, RunError
from mjgym.util.values import plain
from mjgym_train.config import Config, DataSettings, defaults
from mjgym_train.learn import checkpoints
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.learn.collector import Collector
from mjgym_train.learn.critics import ReturnRange
from mjgym_train.run import Run

_TO_LOOK_AT = {"observation", "dtype", "pixels", "observables"}  # compared by what they show


@dataclass(frozen=True)
class Chunks:
    """Observations and the actions that followed them, with a leading batch axis."""

    # (B, history, ...), the current one last, padded with the first observation of the episode.
    observation: Tensor
    action: Tensor  # (B, chunk, action size), within -1 and 1, from the current one on
    there: Tensor  # (B, chunk) bool, whether the episode extends so far


class Chunked(Protocol):
    """A source of the batches of behaviour cloning."""

    def chunks(self, count: int, history: int, chunk: int) -> Chunks:
        """Chunks at uniformly drawn steps, with replacement."""


@dataclass(frozen=True)
class Demonstrations:
    """Recorded episodes, concatenated along a leading axis of steps."""

    observation: Tensor  # before each step, (N, size), or (N, height, width, channels) uint8
    following: Tensor  # after each step, with the same shape
    action: Tensor  # (N, action size), within -1 and 1
    reward: Tensor  # (N,)
    success: Tensor  # (N,) bool, of the state after the step
    terminated: Tensor  # (N,) bool
    ended: Tensor  # (N,) bool, whether it is the last step of its episode
    age: Tensor  # (N,) int32, step of the episode

    def __len__(self) -> int:
        return len(self.action)

    @property
    def digest(self) -> str:
        """A hexadecimal hash of all data."""
        found = hashlib.sha256()
        for name, value in vars(self).items():
            found.update(f"{name} {tuple(value.shape)} ".encode())
            found.update(value.numpy().tobytes())
        return found.hexdigest()[:16]

    def chunks(self, count: int, history: int, chunk: int) -> Chunks:
        """Chunks at uniformly drawn steps, with replacement."""
        rows = torch.randint(len(self), (count,))
        back = torch.arange(history - 1, -1, -1)
        before = rows[:, None] - torch.minimum(back[None], self.age[rows, None])
        ahead = (rows[:, None] + torch.arange(chunk)).clamp_max(len(self) - 1)
        there = self.age[ahead] == self.age[rows, None] + torch.arange(chunk)
        return Chunks(self.observation[before], self.action[ahead], there)

    def replay(self, **lengths: Any) -> ReplayBuffer:
        """A replay buffer with all steps; for `n_step`, `shorter` and `history` see there."""
        size: Any = tuple(self.observation.shape[1:])
        sizes = size[0] if len(size) == 1 else size, self.action.shape[1]
        buffer = ReplayBuffer(len(self), 1, *sizes, **lengths)
        arrays = {name: value for name, value in vars(self).items() if name != "success"}
        state: dict[str, Any] = {"added": len(self), "arrays": arrays}
        if len(size) > 1:  # images are stored once
            following = arrays.pop("following")
            state |= {"latest": following[-1:], "ends": following[self.ended]}
        buffer.load_state_dict(state)
        return buffer

    def returns(self, discount: float) -> ReturnRange:
        """Extremes of the rewards and of their discounted sums so far in each episode."""
        found, total, sums = ReturnRange(), 0.0, []
        for reward, age in zip(self.reward.tolist(), self.age.tolist(), strict=True):
            total = reward + (discount * total if age else 0.0)
            sums.append(total)
        found.add(self.reward, torch.tensor(sums))
        return found

    def sparse(self) -> "Demonstrations":
        """Sparse version: reward 1 and the end of the episode at the first success, 0 before."""
        episode = torch.cumsum(self.age == 0, 0)
        before = torch.cumsum(self.success, 0) - self.success.long()
        since = before - before[(self.age == 0).nonzero()[:, 0]][episode - 1]
        kept = since == 0
        cut = {name: value[kept] for name, value in vars(self).items()}
        cut["reward"] = cut["success"].float()
        cut["terminated"] = cut["terminated"] | cut["success"]
        cut["ended"] = cut["ended"] | cut["success"]
        return Demonstrations(**cut)


def read(config: Config, collector: Collector) -> Demonstrations:
    """The demonstrations that the settings name, checked against the task of a run."""
    assert isinstance(config, DataSettings)
    try:
        if (run := Run(config.data)).checkpoint_file.is_file():
            return _of_replay(run, config, collector)
        found = datasets.load(config.data)
        count = found.count if config.demonstrations is None else config.demonstrations
        why = f"; {found.note}" if found.note else ""
        if count > found.count:
            raise DemonstrationError(f"it has {found.count} episodes, not {count}{why}")
        if not count:
            raise DemonstrationError(f"it has no episodes{why}")
        if found.note and config.demonstrations is None:
            raise DemonstrationError(
                f"{found.note}; to learn from those that are left: demonstrations={count}"
            )
        check(found.about, config, collector)
        return of_episodes((found.episode(k) for k in range(count)), collector)
    except (DemonstrationError, RunError) as error:
        raise ConfigError(f"data: {config.data}: {error}") from None


def _of_replay(run: Run, config: Config, collector: Collector) -> Demonstrations:
    """The replay buffer of a run's checkpoint, the steps of each sub-environment in a row."""
    settings = run.settings()
    if settings.get("action_repeat", 1) > 1 or getattr(config, "demonstrations", None):
        raise DemonstrationError("a replay buffer is taken whole, of a run with action_repeat=1")
    check(datasets.About(str(settings["id"]), settings["env"]), config, collector)
    content = checkpoints.load(run.checkpoint_file, lambda state: state.get("buffer"))
    if content is None:
        raise DemonstrationError("its checkpoint has no replay buffer (keep_buffer=true)")
    envs = int(settings["num_envs"])
    parts = [_in_order(shard, envs) for shard in content.get("shards", [content])]
    found = Demonstrations(**{name: torch.cat([part[name] for part in parts]) for name in parts[0]})
    size = collector.observation_size
    sizes = (size,) if isinstance(size, int) else size
    if tuple(found.observation.shape[1:]) != tuple(sizes):
        raise DemonstrationError(f"it observes {tuple(found.observation.shape[1:])}, not {sizes}")
    return found


def _in_order(buffer: Mapping[str, Any], envs: int) -> dict[str, Tensor]:
    """Columns of a replay buffer by sub-environment and time; each one's last step is an end."""
    arrays = buffer["arrays"]
    stored = len(arrays["age"]) // envs
    times = torch.arange(buffer["added"] - stored, buffer["added"]) % stored
    rows = (times[:, None] * envs + torch.arange(envs)).T.flatten()
    if "latest" in buffer:
        raise DemonstrationError("it has pictures, which are read from datasets alone")
    columns = {name: arrays[name][rows] for name in _REPLAYED}
    first = torch.arange(len(rows)) % stored == 0
    begun = torch.where(first | (columns["age"] == 0), torch.arange(len(rows)), 0)
    columns["age"] = (torch.arange(len(rows)) - begun.cummax(0).values).int()
    columns["ended"] = columns["ended"] | (torch.arange(len(rows)) % stored == stored - 1)
    return columns | {"success": torch.zeros(len(rows), dtype=torch.bool)}


_REPLAYED = ("observation", "following", "action", "reward", "terminated", "ended", "age")


def check(about: datasets.About, config: Config, collector: Collector) -> None:
    """Raise DemonstrationError unless a dataset has the task of a run, with its arguments."""
    if not about.id:
        return  # spaces alone can be compared
    if about.id != config.id:
        raise DemonstrationError(f"it is of {about.id}, not of {config.id}")
    task = collector.envs.unwrapped.task
    fields = {field.name for field in dataclasses.fields(task)} - _TO_LOOK_AT
    recorded = defaults(task) | gymnasium.spec(config.id).kwargs | dict(about.kwargs)
    for name in sorted(fields & ({*about.kwargs} | {*config.env})):
        there, here = recorded[name], getattr(task, name)
        if plain(there) != plain(here):
            raise DemonstrationError(f"it was recorded with {name}={there!r}, here it is {here!r}")


def of_episodes(episodes: Iterable[Episode], collector: Collector) -> Demonstrations:
    """Episodes as tensors, for the observations and actions of a collector."""
    columns: dict[str, list[np.ndarray]] = {}
    numbers = len(collector.low)
    for k, episode in enumerate(episodes):
        steps = len(episode)
        seen = collector.observed(episode.observations)
        if seen is None or seen.shape[0] != steps + 1:
            raise DemonstrationError(
                f"episode {k} observes {_described(episode.observations, 1)}, the task here"
                f" {_described(collector.envs.single_observation_space)}"
            )
        actions = np.asarray(episode.actions)
        if actions.shape != (steps, numbers):
            raise DemonstrationError(
                f"episode {k} has actions of {actions.shape[-1]} numbers, the task here of"
                f" {numbers}"
            )
        for name, values in (("observations", seen), ("actions", actions)):
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise DemonstrationError(f"episode {k} has {name} that are not finite")
        step = {
            "observation": seen[:-1],
            "following": seen[1:],
            "action": collector.within(actions).numpy(),
            "reward": np.asarray(episode.rewards, np.float32),
            "success": np.asarray(episode.successes, bool),
            "terminated": np.asarray(episode.terminations, bool),
            "ended": np.arange(steps) == steps - 1,
            "age": np.arange(steps, dtype=np.int32),
        }
        for name, values in step.items():
            columns.setdefault(name, []).append(values)
    joined = {name: torch.from_numpy(np.concatenate(parts)) for name, parts in columns.items()}
    return Demonstrations(**joined)


def _described(observation: Any, lead: int = 0) -> str:
    """A space in words, or arrays with some leading axes."""
    entries = getattr(observation, "spaces", observation)
    if isinstance(entries, Mapping):
        parts = (f"{name} {part.shape[lead:]}" for name, part in entries.items())
        return f"entries {', '.join(parts)}"
    shape = observation.shape[lead:]
    if len(shape) == 1:
        return f"{shape[0]} numbers"
    kind = "pictures" if observation.dtype == np.uint8 else "arrays"
    return f"{kind} of {' x '.join(map(str, shape))}"


def require_same(name: str, digest: str, before: str) -> None:
    if digest != before:
        raise RunError(f"the dataset {name} is not the one that the run began with: it has changed")
