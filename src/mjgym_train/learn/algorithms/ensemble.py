"""Several agents with different settings that learn from one buffer."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.network import AnyPolicy, EnsemblePolicy, mixtures
from mjgym_train.config import OffPolicyConfig
from mjgym_train.learn.algorithms import members
from mjgym_train.learn.algorithms.agent import Metrics
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.buffer import Batch
from mjgym_train.learn.collector import Size
from mjgym_train.learn.critics import ReturnRange

BY_CRITICS = ("critics", "mixtures", "softmax")  # values of `ensemble_acting`


class Ensemble(nn.Module):
    """Agents that share sub-environments, buffer and observation statistics.

    All learn from the same transitions, each with its history and n-step length. The setting
    `ensemble_acting` selects who acts in training. "slots": of K agents, agent k acts in the
    sub-environments k, k + K, k + 2 K and so on. "episodes": each episode draws its agent.
    Otherwise each agent proposes an action, with its noise, in every sub-environment: "critics"
    takes the proposal of the highest mean Q over all critics, "mixtures" that of all proposals and
    of the means of two of them (Catalyst.RL's action mixtures), "mean" the mean proposal, "softmax"
    the mean weighted by softmax(mean Q / ensemble_temperature). (Values scale with the horizon of
    their discount: with different discounts, far-sighted critics weigh more.)

    The joint policy, without noise, is that of "critics" if agents act separately.
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
        made = members.for_config(config, algorithm)
        self.names = [member.name for member in made]
        self.members: list[OffPolicyAgent] = [
            member.algorithm(member.config, observation_size, action_size) for member in made
        ]
        normalizers = [agent.normalizer for agent in self.members if agent.normalizer.enabled]
        self.normalizer = normalizers[0] if normalizers else self.members[0].normalizer
        for agent in self.members:
            if config.ensemble_acting != "mean":
                agent.valuation()  # reports unsuitable critics before training
            if agent.normalizer.enabled:
                agent.normalizer.share(self.normalizer)
        # Agent of each sub-environment's episode, (n,), where each draws one.
        self.acting: Any = self._drawn_members() if config.ensemble_acting == "episodes" else None
        self._registered = nn.ModuleList(self.members)  # for state_dict

    def random_action(self, count: int) -> Tensor:
        return self.members[0].random_action(count)

    def act(self, observation: Tensor) -> Tensor:
        acting = self.config.ensemble_acting
        if acting == "slots":
            action = torch.empty(len(observation), self.members[0].action_size)
            for slots, agent in self._slots():
                action[slots] = agent.act(observation[slots, -agent.config.history :])
            return action
        proposed = torch.stack(
            [agent.act(observation[:, -agent.config.history :]) for agent in self.members], 1
        )
        if acting == "mean":
            return proposed.mean(1)
        if acting == "softmax":
            values = self._values(observation, proposed) / self.config.ensemble_temperature
            return (values.softmax(1)[..., None] * proposed).sum(1)
        if acting == "mixtures":
            proposed = torch.einsum(
                "mk,nka->nma", torch.tensor(mixtures(proposed.shape[1])), proposed
            )
        if acting in ("critics", "mixtures"):
            chosen = self._values(observation, proposed).argmax(1)
        else:
            chosen = self.acting
        return proposed[torch.arange(len(proposed)), chosen]

    @torch.no_grad()
    def _values(self, observation: Tensor, proposed: Tensor) -> Tensor:
        """Mean values over all critics, (n, k), of k proposals in raw histories."""
        total = torch.zeros(proposed.shape[:2])
        for agent in self.members:
            features = agent.encode(observation[:, -agent.config.history :])
            for k, action in enumerate(proposed.unbind(1)):
                total[:, k] += agent.acting_value(agent.critics(features, action)).mean(0)
        return total / len(self.members)

    def begin(self, begun: Tensor) -> None:
        for slots, agent in self._slots():
            agent.begin(begun[slots])
        if self.config.ensemble_acting == "episodes":
            self.acting = torch.where(begun, self._drawn_members(), self.acting)

    def _drawn_members(self) -> Tensor:
        return torch.randint(len(self.members), (self.config.num_envs,))

    def _slots(self) -> list[tuple[slice, OffPolicyAgent]]:
        if self.config.ensemble_acting != "slots":
            return [(slice(None), agent) for agent in self.members]
        count = len(self.members)
        return [(slice(k, None, count), agent) for k, agent in enumerate(self.members)]

    def preprocess(self, batch: Batch) -> Batch:
        return batch

    def update(self, batch: Batch) -> Metrics:
        """One update of each agent on the same transitions; losses by agent and name."""
        losses: Metrics = {}
        for name, agent in zip(self.names, self.members, strict=True):
            drawn = batch.over(agent.config.n_step).recent(agent.config.history)
            own = agent.update(agent.preprocess(drawn))
            losses |= {f"{loss} {name}": value for loss, value in own.items()}
        return losses

    def scale_rates(self, share: float) -> None:
        for agent in self.members:
            agent.scale_rates(share)

    def begin_schedule(self) -> None:
        for agent in self.members:
            agent.begin_schedule()

    def schedule(self, updates: int) -> None:
        for agent in self.members:
            agent.schedule(updates)

    def fit_support(self, range_: ReturnRange, *, begun: bool) -> None:
        for agent in self.members:
            agent.fit_support(range_, begun=begun)

    # Policies and checkpoints.

    def policy(self, low: np.ndarray, high: np.ndarray) -> EnsemblePolicy:
        """Joint policy of all agents, for action bounds (size,)."""
        config = self.config
        policies = [agent.policy(low, high) for agent in self.members]
        if config.ensemble_acting == "mean":
            return EnsemblePolicy(policies)
        temperature = config.ensemble_temperature if config.ensemble_acting == "softmax" else None
        mixed = config.ensemble_acting == "mixtures"
        return EnsemblePolicy(policies, [m.valuation() for m in self.members], temperature, mixed)

    def valuation(self) -> None:
        """Return None, as the policy contains the agents' critics."""

    def policies(self, low: np.ndarray, high: np.ndarray) -> dict[str, AnyPolicy]:
        alone = [agent.policy(low, high) for agent in self.members]
        return {"": self.policy(low, high), **dict(zip(self.names, alone, strict=True))}

    def checkpoint(self) -> dict[str, Any]:
        return {
            "normalizer": self.normalizer.state_dict(),
            "agents": [agent.checkpoint() for agent in self.members],
            "acting": self.acting,
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        self.normalizer.load_state_dict(checkpoint["normalizer"])
        for agent, own in zip(self.members, checkpoint["agents"], strict=True):
            agent.restore(own)
        self.acting = checkpoint["acting"]

    def start_from(self, checkpoint: dict[str, Any]) -> None:
        """Restore what another run's agents have learned, the shared statistics with them."""
        for agent, own in zip(self.members, checkpoint["agents"], strict=True):
            agent.start_from(own)
