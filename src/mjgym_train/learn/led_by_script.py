"""The training loop of DAgger: act, ask the script, learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mjgym.policies.network import begin, tell
from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import DAggerConfig
from mjgym_train.learn.algorithms.dagger import DAgger
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.learn.demonstrations import Chunks
from mjgym_train.learn.trainer import Trainer


class Labels(ReplayBuffer):
    """Steps of the learner with the script's actions in place of its own."""

    def chunks(self, count: int, history: int, chunk: int) -> Chunks:
        """Chunks at uniformly drawn steps, with replacement."""
        time, env = self._places(count)
        oldest = self._added - min(self._added, self._length)
        ahead = torch.arange(chunk)
        rows = self._rows((time[:, None] + ahead).clamp_max(self._added - 1), env[:, None])
        age = self._arrays["age"]
        there = age[rows] == age[rows[:, :1]] + ahead
        observation = self._past(time, env, oldest, history)
        return Chunks(observation, self._arrays["action"][rows], there)


class DAggerTrainer(Trainer):
    """A run of DAgger; see `Trainer`.

    The script leads all first episodes, and some of the later ones.

    Raises:
        ConfigError: the task has no scripted policy, or runs on another device.
    """

    config: DAggerConfig
    agent: DAgger

    def prepare(self) -> None:
        config, collector = self.config, self.collector
        self.envs: Any = collector.envs.unwrapped
        if hasattr(self.envs, "device"):
            raise ConfigError("env: backend: scripts act on NumPy's arrays; leave it out")
        try:
            task = getattr(self.envs, "task", None)  # those of other packages have none
            self.script: Any = None if task is None else task.scripted_policy()
        except ValueError as error:
            raise ConfigError(f"id: {config.id}: {error}") from None
        if self.script is None:
            raise ConfigError(f"id: {config.id} has no scripted policy to learn from")
        sizes = config.num_envs, collector.observation_size, len(collector.low)
        self.buffer = Labels(config.buffer_size, *sizes, history=config.history)
        self.agent.demonstrations = self.buffer
        self.led = torch.ones(config.num_envs, dtype=torch.bool)
        self.owed = 0.0  # updates

    def begin(self) -> None:
        super().begin()
        self.label = self._labels()

    def _labels(self) -> Tensor:
        """The script's actions, (n, action size) within -1 and 1."""
        return self.collector.within(np.asarray(self.script(self.envs.observe())))

    def step(self) -> None:
        config, collector, label = self.config, self.collector, self.label
        action = label + config.noise * torch.randn_like(label)
        if not self.led.all():
            action = torch.where(self.led[:, None], action, self.agent.act(collector.stack))
        action = action.clamp(-1, 1)
        tell(self.script, collector.scaled(action).numpy())
        transition = self.interact(action)
        self.buffer.add(**{**vars(transition), "action": label})
        starts = self.env_step >= config.learning_starts
        if transition.ended.any():
            begin(self.script, transition.ended.numpy())
            drawn = torch.rand(config.num_envs) < (config.led if starts else 1.0)
            self.led = torch.where(transition.ended, drawn, self.led)
        self.label = self._labels()  # kept in checkpoints: a loaded state has other contact forces
        if not starts:
            return
        self.owed += config.updates_per_step * config.num_envs
        count = int(self.owed)
        self.owed -= count
        for _ in range(count):
            self.note(self.agent.update())
        self.updates += count

    def state(self) -> dict[str, Any]:
        buffer = self.buffer.state_dict() if self.config.keep_buffer else None
        memory = _noted(vars(self.script), np.ndarray, torch.as_tensor)
        own = {"led": self.led, "label": self.label, "owed": self.owed, "buffer": buffer}
        return {**super().state(), **own, "script": memory}

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.led, self.label, self.owed = (state[name] for name in ("led", "label", "owed"))
        if state["buffer"] is not None:
            self.buffer.load_state_dict(state["buffer"])
        for name, value in _noted(state["script"], torch.Tensor, Tensor.numpy).items():
            setattr(self.script, name, value)


def _noted(memory: dict[str, Any], kind: type, convert: Callable[[Any], Any]) -> dict[str, Any]:
    """The arrays, and dicts of arrays, among a script's attributes, converted."""
    found = {}
    for name, x in memory.items():
        if isinstance(x, kind):
            found[name] = convert(x)
        elif isinstance(x, dict) and x and all(isinstance(y, kind) for y in x.values()):
            found[name] = {key: convert(y) for key, y in x.items()}
    return found
