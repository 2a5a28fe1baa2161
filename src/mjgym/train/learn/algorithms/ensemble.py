"""Several agents of different settings that learn from one buffer."""

from collections import Counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.train.learn.algorithms.agent import Metrics
from mjgym.train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym.train.learn.buffer import Batch
from mjgym.train.learn.collector import Size
from mjgym.train.learn.critics import ReturnRange
from mjgym.train.results.config import OffPolicyConfig
from mjgym.train.results.policy import AnyPolicy, EnsemblePolicy


class Ensemble(nn.Module):
    """Agents of one algorithm that share sub-environments, buffer and statistics of observations.

    Of K agents, agent k acts in the sub-environments k, k + K, k + 2 K and so on, each with its own
    noise. All learn from the same transitions, of whose histories each sees its own length.
    Together they take the action of highest mean Q: each proposes an action, the critics of all
    value every proposal, and the one with the highest mean is taken. (The scale of a value is that
    of its discount: where discounts differ, the far-sighted weigh more.)

    Args:
        algorithm: of the agents.
        config: settings of the run.
        observation_size: of an observation.
        action_size: numbers in an action.

    Attributes:
        members: the agents, by the setting `ensemble`.
        names: what is particular about each.
    """

    def __init__(
        self,
        algorithm: type[OffPolicyAgent],
        config: OffPolicyConfig,
        observation_size: Size,
        action_size: int,
    ) -> None:
        super().__init__()
        self.config = config
        self.names = _names(config.ensemble)
        self.members: list[OffPolicyAgent] = [
            algorithm(own, observation_size, action_size) for own in config.members()
        ]
        normalizers = [agent.normalizer for agent in self.members if agent.normalizer.enabled]
        self.normalizer = normalizers[0] if normalizers else self.members[0].normalizer
        for agent in self.members:
            agent.valuation()  # says what a critic lacks before anything is learned
            if agent.normalizer.enabled:
                agent.normalizer = self.normalizer
        self._registered = nn.ModuleList(self.members)  # what they are made of is in state_dict

    def act(self, observation: Tensor) -> Tensor:
        """Actions to explore with, those of each slot by its agent."""
        action = torch.empty(len(observation), self.members[0].action_size)
        for slots, agent in self._slots():
            action[slots] = agent.act(observation[slots, -agent.config.history :])
        return action

    def begin(self, begun: Tensor) -> None:
        """Note which sub-environments, (n,) bool, begin an episode with the next action."""
        for slots, agent in self._slots():
            agent.begin(begun[slots])

    def _slots(self) -> list[tuple[slice, OffPolicyAgent]]:
        count = len(self.members)
        return [(slice(k, None, count), agent) for k, agent in enumerate(self.members)]

    def preprocess(self, batch: Batch) -> Batch:
        """Transitions as they are: each agent prepares its own."""
        return batch

    def update(self, batch: Batch) -> Metrics:
        """One update of each agent, on the same transitions; losses by agent and name."""
        losses: Metrics = {}
        for name, agent in zip(self.names, self.members, strict=True):
            own = agent.update(agent.preprocess(batch.recent(agent.config.history)))
            losses |= {f"{loss} {name}": value for loss, value in own.items()}
        return losses

    def scale_rates(self, share: float) -> None:
        """Set all learning rates to a share of the settings'."""
        for agent in self.members:
            agent.scale_rates(share)

    def fit_support(self, range_: ReturnRange, *, begun: bool) -> None:
        """Move the bounds of the agents' supports to where returns lie."""
        for agent in self.members:
            agent.fit_support(range_, begun=begun)

    # What is kept.

    def policy(self, low: np.ndarray, high: np.ndarray) -> EnsemblePolicy:
        """Policy of all agents together.

        Args:
            low: bounds of the action, (size,).
            high: the same.
        """
        policies = [agent.policy(low, high) for agent in self.members]
        return EnsemblePolicy(policies, [agent.valuation() for agent in self.members])

    def valuation(self) -> None:
        """None: the policy holds the agents' critics."""

    def policies(self, low: np.ndarray, high: np.ndarray) -> dict[str, AnyPolicy]:
        """Policies to evaluate by name: all agents together (an empty name), and each."""
        alone = [agent.policy(low, high) for agent in self.members]
        return {"": self.policy(low, high), **dict(zip(self.names, alone, strict=True))}

    def checkpoint(self) -> dict[str, Any]:
        """Those of the agents."""
        return {
            "normalizer": self.normalizer.state_dict(),
            "agents": [agent.checkpoint() for agent in self.members],
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint of an ensemble with the same settings."""
        self.normalizer.load_state_dict(checkpoint["normalizer"])
        for agent, own in zip(self.members, checkpoint["agents"], strict=True):
            agent.restore(own)


def _names(settings: tuple[dict[str, Any], ...]) -> list[str]:
    """Names of the agents: their own settings, with a number where several are alike."""
    names = [",".join(f"{name}={value}" for name, value in own.items()) for own in settings]
    counted = Counter(names)
    return [name if name and counted[name] == 1 else f"{name}#{k}" for k, name in enumerate(names)]
