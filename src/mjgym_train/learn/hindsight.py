"""Hindsight experience replay (Andrychowicz et al., 2017), strategy `future`.

Four out of five sampled transitions get a goal that the same episode achieved later; the task's
`compute_reward` computes their rewards.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mjgym.policies.network import GOAL_ENTRIES
from mjgym.util.goal_entries import ACHIEVED, DESIRED
from mjgym_train.learn.buffer import Batch, ReplayBuffer

K = 4  # relabelled transitions per original one, as in the paper
_GOING = -1  # episode has not ended


@dataclass(frozen=True)
class Relabelling:
    """Locations of the goals in an observation, and the reward for a goal."""

    achieved: slice  # location of the achieved goal
    desired: slice  # location of the desired goal
    compute_reward: Callable[[Any, Any, Any], Any]  # of the environment

    @classmethod
    def for_envs(cls, envs: Any) -> "Relabelling":
        """Relabelling for environments with `observation="goal"`; its entries are concatenated."""
        places, first = {}, 0
        for name in GOAL_ENTRIES:
            (size,) = envs.single_observation_space[name].shape
            places[name] = slice(first, first + size)
            first += size
        return cls(places[ACHIEVED], places[DESIRED], envs.unwrapped.compute_reward)

    def with_goal(self, observation: Tensor, goal: Tensor) -> Tensor:
        """Observations (..., size) with other desired goals (..., k)."""
        changed = observation.clone()
        changed[..., self.desired] = goal
        return changed

    def fulfilled(self, observation: Tensor) -> Tensor:
        """Observations (..., size) with the achieved goal as the desired one."""
        return self.with_goal(observation, observation[..., self.achieved])

    def reward(self, following: Tensor, goal: Tensor) -> Tensor:
        """Rewards (...) of steps to observations (..., size), for goals (..., k)."""
        achieved = following[..., self.achieved].cpu().numpy()
        reward = self.compute_reward(achieved, goal.cpu().numpy(), {})
        return torch.as_tensor(reward, dtype=torch.float32, device=following.device)


class HindsightBuffer(ReplayBuffer):
    """A replay buffer that relabels transitions with goals achieved later in their episodes."""

    def __init__(self, *sizes: Any, relabelling: Relabelling, **drawn: Any) -> None:
        super().__init__(*sizes, **drawn)
        self._relabelling = relabelling
        # Time of the last step of each step's episode.
        self._arrays["last"] = torch.empty(len(self._arrays["age"]), dtype=torch.int64)

    def add(self, **step: Tensor) -> None:
        super().add(**step, last=torch.full((self.num_envs,), _GOING))

    def _keep_ends(self) -> None:
        super()._keep_ends()
        now = self._added - 1
        newest = self._rows(torch.tensor(now), torch.arange(self.num_envs))
        for env in self._arrays["ended"][newest].nonzero().flatten().tolist():
            age = int(self._arrays["age"][newest[env]])
            first = max(now - age, self._added - self._length, 0)
            episode = self._rows(torch.arange(first, now + 1), torch.tensor(env))
            self._arrays["last"][episode] = now

    def sample(self, count: int) -> Batch:
        time, env = self._places(count)
        relabelled = torch.rand(count) < K / (K + 1)
        goal = self._later(time, env, torch.rand(count, dtype=torch.float64))
        batch = self._batch(time, env)
        shorter = (self._relabel(one, time, env, goal, relabelled) for one in batch.shorter)
        longest = self._relabel(batch, time, env, goal, relabelled)
        return replace(longest, shorter=tuple(shorter))

    def _later(self, time: Tensor, env: Tensor, share: Tensor) -> Tensor:
        """Goals that episodes achieve at some steps or later, (B, k)."""
        last = self._arrays["last"][self._rows(time, env)]
        last = torch.where(last == _GOING, self._added - 1, last)
        rows = self._rows(time + (share * (last - time + 1)).long(), env)
        return self._arrays["following"][rows][:, self._relabelling.achieved]

    def _relabel(
        self, batch: Batch, time: Tensor, env: Tensor, goal: Tensor, relabelled: Tensor
    ) -> Batch:
        n, rule = batch.rewards.shape[1], self._relabelling
        counted = torch.arange(n) < batch.steps[:, None]
        step = torch.minimum(torch.arange(n), batch.steps[:, None] - 1)
        led_to = self._arrays["following"][self._rows(time[:, None] + step, env[:, None])]
        goals = goal[:, None]
        rewards = torch.where(counted, rule.reward(led_to, goals.expand(-1, n, -1)), 0.0)
        which = relabelled[:, None, None]
        return replace(
            batch,
            observation=torch.where(
                which, rule.with_goal(batch.observation, goals), batch.observation
            ),
            following=torch.where(which, rule.with_goal(batch.following, goals), batch.following),
            rewards=torch.where(relabelled[:, None], rewards, batch.rewards),
        )
