"""The training loop of off-policy algorithms: act, store, learn."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn import demonstrations, engines
from mjgym_train.learn.algorithms import members
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.ensemble import Ensemble
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch, ReplayBuffer
from mjgym_train.learn.collector import Collector, Transition
from mjgym_train.learn.critics import ReturnRange
from mjgym_train.learn.hindsight import HindsightBuffer, Relabelling
from mjgym_train.learn.prioritized import PrioritizedBuffer
from mjgym_train.learn.trainer import Trainer


class OffPolicyTrainer(Trainer):
    """A run of an off-policy algorithm; see `Trainer`.

    A run resumed without its buffer (`keep_buffer`) refills it before learning.
    """

    config: OffPolicyConfig
    algorithm: type[OffPolicyAgent]
    agent: OffPolicyAgent | Ensemble

    @functools.cached_property
    def engine(self) -> tuple[str, str]:
        return engines.engine(self.config.engine, self.agent)

    @functools.cached_property
    def update(self) -> Callable[[Batch], Metrics]:
        return engines.update_of(self.engine[0], self.agent)

    def about(self) -> dict[str, Any]:
        about = super().about()
        name, reason = self.engine
        about["learner"] |= {"engine": name} | ({"engine_reason": reason} if reason else {})
        return about

    @property
    def sampling(self) -> dict[str, Any]:
        """History and n-step lengths of sampled transitions, over all agents."""
        configs = [one.config for one in members.for_config(self.config, self.algorithm)]
        longest, *shorter = sorted({config.n_step for config in configs}, reverse=True)
        history = max(config.history for config in configs)
        return {"n_step": longest, "shorter": shorter, "history": history}

    @functools.cached_property
    def relabelling(self) -> Relabelling | None:
        return Relabelling.for_envs(self.collector.envs) if self.config.her else None

    def make_collector(self) -> Collector:
        return Collector(self.config, self.sampling["history"])

    def make_agent(self) -> OffPolicyAgent | Ensemble:
        """Build the networks, of one agent or of an ensemble."""
        sizes = self.collector.observation_size, len(self.low)
        if self.config.ensemble:
            return Ensemble(self.algorithm, self.config, *sizes)
        return self.algorithm(self.config, *sizes)

    def prepare(self) -> None:
        self.buffer = self.make_buffer()
        self.recorded: ReplayBuffer | None = None
        self.digest = ""  # of the demonstrations
        _ = self.engine  # fails early where there is none
        self.owed = 0.0  # updates
        self.range = ReturnRange()
        self.sums: dict[int, Tensor] = {}  # discounted rewards of the episodes, by sampler
        config = self.config
        if config.data:
            dataset = demonstrations.read(config, self.collector)
            self.digest = dataset.digest
            self.recorded = dataset.replay(**self.sampling)
            self.agent.normalizer.update(dataset.observation)
            self.range = dataset.returns(config.discount)

    def make_buffer(self) -> Any:
        return self.replay(self.config.buffer_size)

    def replay(self, size: int) -> ReplayBuffer:
        """A buffer of `size` transitions for the run's sub-environments."""
        collector = self.collector
        sizes = size, self.config.num_envs, collector.observation_size, len(collector.low)
        if self.relabelling is not None:
            return HindsightBuffer(*sizes, relabelling=self.relabelling, **self.sampling)
        config = self.config
        if config.priority_exponent:
            return PrioritizedBuffer(
                *sizes,
                exponent=config.priority_exponent,
                importance=config.importance_exponent,
                eviction=config.eviction_exponent,
                **self.sampling,
            )
        return ReplayBuffer(*sizes, **self.sampling)

    def step(self) -> None:
        config = self.config
        transition = self.interact(self.action())
        self.buffer.add(**vars(transition))
        self._note_returns(transition)
        if len(self.buffer) >= min(config.learning_starts, config.buffer_size):
            ratio = config.updates_per_step
            if config.updates_per_step_end is not None:
                ratio = self.scheduled(ratio, config.updates_per_step_end)
            self.owed += ratio * config.num_envs
            count = int(self.owed)
            self.owed -= count
            if count:
                self._learn(count)

    def interact(self, action: Tensor) -> Transition:
        """One decision in all sub-environments; achieved goals count in the statistics too."""
        transition = super().interact(action)
        if self.relabelling is not None:
            # Constant goals would have no deviation, and hindsight goals would be clipped.
            self.agent.normalizer.update(self.relabelling.fulfilled(self.collector.observation))
        return transition

    def _note_returns(self, transition: Transition) -> None:
        """Track the range of returns; once learning has started, critic supports follow it."""
        key = self.collector.sampler
        sums = self.sums.get(key, 0) * self.config.discount + transition.reward
        self.range.add(transition.reward, torch.as_tensor(sums))
        self.sums[key] = torch.where(transition.ended, 0.0, sums)
        if self.updates:
            self.agent.fit_support(self.range, begun=True)

    def action(self) -> Tensor:
        """Exploratory actions, random at first, (n, action size)."""
        config = self.config
        if self.env_step < config.learning_starts * config.action_repeat:
            return self.agent.random_action(config.num_envs)
        return self.agent.act(self.collector.stack)

    def _learn(self, count: int) -> None:
        if not self.updates:
            self.agent.fit_support(self.range, begun=bool(self.config.start_from))
        for batch in self.batches(count):
            self.note(self.update(self.agent.preprocess(batch)))
            if batch.place is not None:
                assert isinstance(self.agent, OffPolicyAgent)
                self.buffer.prioritize(batch.place, self.agent.losses)
        self.updates += count

    def batches(self, count: int) -> list[Batch]:
        """Training batches with a fixed share of demonstrations (Ball et al., 2023)."""
        size, recorded = self.config.batch_size, self.recorded
        share = 0 if recorded is None else round(self.config.data_share * size)
        own = self.buffer.sample(count * (size - share)).split(size - share) if size > share else []
        if recorded is None or not share:
            return own
        given = recorded.sample(count * share).split(share)
        return [one.beside(other) for one, other in zip(own, given, strict=True)] if own else given

    def state(self) -> dict[str, Any]:
        buffer = self.buffer.state_dict() if self.config.keep_buffer else None
        returns = {"range": vars(self.range).copy(), "sums": self.sums}
        return {
            **super().state(),
            "owed": self.owed,
            "buffer": buffer,
            "returns": returns,
            "data": self.digest,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        demonstrations.require_same(self.config.data, self.digest, state["data"])
        super().load_state(state)
        self.owed = state["owed"]
        self.range = ReturnRange(**state["returns"]["range"])
        self.sums = state["returns"]["sums"]
        if state["buffer"] is not None:
            self.buffer.load_state_dict(state["buffer"])
