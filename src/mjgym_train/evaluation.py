"""Evaluation of policies on fixed seeds, independent of the number of sub-environments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym import registry
from mjgym.policies.network import Policy, begin
from mjgym_train.gymnasium_envs import make_envs

SEEDS = tuple(range(10_000, 10_100))
"""Seeds of the episodes in reported scores."""

TRAINING_SEEDS = tuple(range(20_000, 20_100))
"""Seeds of evaluations during training, disjoint from `SEEDS`."""

ENDLESS = 1_000  # steps of an episode without a time limit


@dataclass(frozen=True)
class Evaluation:
    """Episodes of a policy."""

    seeds: tuple[int, ...]  # of the episodes
    returns: np.ndarray  # undiscounted returns
    lengths: np.ndarray  # in steps
    successes: np.ndarray | None = None  # at any time; None for a task without success

    def about(self) -> dict[str, Any]:
        """A JSON-serialisable summary."""
        about = {
            "episodes": len(self.seeds),
            "mean": float(self.returns.mean()),
            "std": float(self.returns.std()),
            "lowest": float(self.returns.min()),
            "highest": float(self.returns.max()),
            "seeds": list(self.seeds),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
        }
        if self.successes is not None:
            about["success"] = float(self.successes.mean())
        return about


def make(id: str, num_envs: int, threads: int | None = None, **kwargs: Any) -> Any:
    return make_envs(id, num_envs, threads, **registry.on_mujoco(kwargs))


def evaluate(
    policy: Policy | Callable[[np.ndarray], np.ndarray], envs: Any, seeds: Sequence[int] = SEEDS
) -> Evaluation:
    """Run one episode per seed, on which alone it depends, `envs.num_envs` at a time."""
    parts = [
        _episodes(policy, envs, list(seeds[first : first + envs.num_envs]))
        for first in range(0, len(seeds), envs.num_envs)
    ]
    returns, lengths, *successes = (
        np.concatenate(part) for part in zip(*parts, strict=True) if part[0] is not None
    )
    return Evaluation(tuple(seeds), returns, lengths, successes[0] if successes else None)


def _episodes(policy: Any, envs: Any, seeds: list[int]) -> tuple[Any, Any, Any]:
    n, wanted = envs.num_envs, len(seeds)
    begin(policy)
    observation, _ = envs.reset(seed=seeds + seeds[:1] * (n - wanted))
    returns, lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
    successes: np.ndarray | None = None
    going = np.arange(n) < wanted
    limit = envs.unwrapped.max_episode_steps or ENDLESS
    while going.any():
        observation, reward, terminated, truncated, info = envs.step(policy(observation))
        returns += np.where(going, reward, 0.0)
        lengths += going
        for said in (info, info.get("final_info", {})):
            if "success_once" in said:
                successes = np.zeros(n, dtype=bool) if successes is None else successes
                successes |= said["success_once"] & going
        going &= ~(terminated | truncated) & (lengths < limit)
    return returns[:wanted], lengths[:wanted], None if successes is None else successes[:wanted]
