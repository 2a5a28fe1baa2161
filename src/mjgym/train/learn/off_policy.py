"""The loop of the algorithms that learn from a replay buffer: act, store, learn."""

from typing import Any

import torch
from torch import Tensor

from mjgym.train.learn.algorithms.ensemble import Ensemble
from mjgym.train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym.train.learn.buffer import Replay, ReplayBuffer
from mjgym.train.learn.trainer import Trainer
from mjgym.train.results.config import OffPolicyConfig


class OffPolicyTrainer(Trainer):
    """A run of an off-policy algorithm; see `Trainer`.

    A run that is resumed without its buffer (`keep_buffer`) collects anew before it learns.
    """

    config: OffPolicyConfig
    algorithm: type[OffPolicyAgent]
    agent: OffPolicyAgent | Ensemble

    def make_agent(self) -> OffPolicyAgent | Ensemble:
        """One agent, or the ensemble of the settings."""
        sizes = self.collector.observation_size, len(self.low)
        if self.config.ensemble:
            return Ensemble(self.algorithm, self.config, *sizes)
        return self.algorithm(self.config, *sizes)

    def prepare(self) -> None:
        """Make the buffer."""
        self.buffer = self.make_buffer()
        self.owed = 0.0  # updates

    def make_buffer(self) -> Replay:
        """Make the replay buffer."""
        return self.replay(self.config.buffer_size)

    def replay(self, size: int) -> ReplayBuffer:
        """A buffer of the run's sub-environments for so many transitions."""
        config, collector = self.config, self.collector
        return ReplayBuffer(
            size,
            config.num_envs,
            collector.observation_size,
            len(collector.low),
            n_step=config.n_step,
            history=config.longest_history,
        )

    def step(self) -> None:
        """One step of all sub-environments, and the updates that belong to it."""
        config = self.config
        self.buffer.add(**vars(self.interact(self.action())))
        if len(self.buffer) >= min(config.learning_starts, config.buffer_size):
            self.owed += config.updates_per_step * config.num_envs
            count = int(self.owed)
            self.owed -= count
            if count:
                self._learn(count)

    def action(self) -> Tensor:
        """Actions to explore with, at first random ones, (n, action size)."""
        if self.env_step < self.config.learning_starts:
            return torch.rand(self.config.num_envs, len(self.collector.low)) * 2 - 1
        return self.agent.act(self.collector.stack)

    def _learn(self, count: int) -> None:
        drawn = self.buffer.sample(count * self.config.batch_size)
        for batch in drawn.split(self.config.batch_size):
            self.note(self.agent.update(self.agent.preprocess(batch)))
        self.updates += count

    def state(self) -> dict[str, Any]:
        """All that the run goes on from."""
        buffer = self.buffer.state_dict() if self.config.keep_buffer else None
        return {**super().state(), "owed": self.owed, "buffer": buffer}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        super().load_state(state)
        self.owed = state["owed"]
        if state["buffer"] is not None:
            self.buffer.load_state_dict(state["buffer"])
