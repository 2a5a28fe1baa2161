"""Hindsight experience replay (Andrychowicz et al., 2017), its strategy `future`.

A transition that is drawn is learned from, four times in five, as if its goal had been what the
same episode achieved later: rewards are computed again, by the task's `compute_reward`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import torch
from torch import Tensor

from mjgym.util.goal_entries import ACHIEVED, DESIRED
from mjgym_train.learn.buffer import Batch, ReplayBuffer

K = 4  # transitions with another goal for each with its own, as the paper has it
_GOING = -1  # of an episode that has not ended


@dataclass(frozen=True)
class Relabelling:
    """Places of the goals in an observation, and their reward.

    Args:
        achieved: place of the goal that is achieved.
        desired: of the goal that is desired.
        compute_reward: the environment's.
    """

    achieved: slice
    desired: slice
    compute_reward: Callable[[Any, Any, Any], Any]

    @classmethod
    def of(cls, envs: Any) -> "Relabelling":
        """Of environments with `observation="goal"`, whose entries an observation here joins."""
        space: gymnasium.spaces.Dict = envs.single_observation_space
        places, first = {}, 0
        for name, part in space.spaces.items():
            assert part.shape is not None
            places[name] = slice(first, first + part.shape[0])
            first += part.shape[0]
        return cls(places[ACHIEVED], places[DESIRED], envs.unwrapped.compute_reward)

    def with_goal(self, observation: Tensor, goal: Tensor) -> Tensor:
        """Observations (..., size) as if other goals (..., k) were desired."""
        changed = observation.clone()
        changed[..., self.desired] = goal
        return changed

    def fulfilled(self, observation: Tensor) -> Tensor:
        """Observations (..., size) as if what they achieve were desired."""
        return self.with_goal(observation, observation[..., self.achieved])

    def reward(self, following: Tensor, goal: Tensor) -> Tensor:
        """Rewards (...) of steps that led to observations (..., size), for goals (..., k)."""
        achieved = following[..., self.achieved].cpu().numpy()
        reward = self.compute_reward(achieved, goal.cpu().numpy(), {})
        return torch.as_tensor(reward, dtype=torch.float32, device=following.device)


class HindsightBuffer(ReplayBuffer):
    """A replay buffer that draws transitions with goals that their episodes achieved later.

    Args:
        *sizes: of `ReplayBuffer`.
        relabelling: of the observations.
        **drawn: of `ReplayBuffer`.
    """

    def __init__(self, *sizes: Any, relabelling: Relabelling, **drawn: Any) -> None:
        super().__init__(*sizes, **drawn)
        self._relabelling = relabelling
        # The time of the last step of each step's episode.
        self._arrays["last"] = torch.empty(len(self._arrays["age"]), dtype=torch.int64)

    def add(self, **step: Tensor) -> None:
        """Store a step of every sub-environment; see `ReplayBuffer.add`."""
        super().add(**step, last=torch.full((self.num_envs,), _GOING))
        self._note_ends()

    def cut(self) -> None:
        """End the episodes that are stored."""
        super().cut()
        if self._added:
            self._note_ends()

    def _note_ends(self) -> None:
        """Tell the steps of the episodes that end with the newest step where they end."""
        now = self._added - 1
        newest = self._rows(torch.tensor(now), torch.arange(self.num_envs))
        for env in self._arrays["ended"][newest].nonzero().flatten().tolist():
            age = int(self._arrays["age"][newest[env]])
            first = max(now - age, self._added - self._length, 0)
            episode = self._rows(torch.arange(first, now + 1), torch.tensor(env))
            self._arrays["last"][episode] = now

    def sample(self, count: int, generator: torch.Generator | None = None) -> Batch:
        """Transitions drawn uniformly, with replacement, most of them with other goals.

        Args:
            count: number of transitions.
            generator: that draws them and their goals.
        """
        time, env = self._places(count, generator)
        relabelled = torch.rand(count, generator=generator) < K / (K + 1)
        goal = self._later(time, env, torch.rand(count, generator=generator, dtype=torch.float64))
        batch = self._batch(time, env)
        shorter = (self._relabel(one, time, env, goal, relabelled) for one in batch.shorter)
        longest = self._relabel(batch, time, env, goal, relabelled)
        return replace(longest, shorter=tuple(shorter))

    def _later(self, time: Tensor, env: Tensor, share: Tensor) -> Tensor:
        """Goals that episodes achieve by some steps or by later ones, (B, k).

        Args:
            time: of the steps.
            env: their sub-environments.
            share: of the way from there to the end of the episode or of what is stored of it.
        """
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
