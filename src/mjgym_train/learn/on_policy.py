"""The training loop of on-policy algorithms."""

import math
from collections.abc import Iterator
from typing import Any

import gymnasium
import torch
from torch import Tensor

from mjgym import registry
from mjgym.policies.run_errors import ConfigError
from mjgym_train import evaluation
from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.algorithms.agent import Agent
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.algorithms.ppo import PPO
from mjgym_train.learn.collector import Transition
from mjgym_train.learn.mirror import Mirror, mirrors
from mjgym_train.learn.rollout import Rollout
from mjgym_train.learn.trainer import Trainer


class OnPolicyTrainer(Trainer):
    """A run of an on-policy algorithm; see `Trainer`."""

    config: OnPolicyConfig
    agent: OnPolicyAgent

    def make_agent(self) -> Agent:
        """Build the networks, with the mirrors of the task for a symmetric policy."""
        algorithm: Any = self.algorithm
        unseen = [count] if (count := self._unseen()) else []
        sizes = self.collector.observation_size, len(self.low), *unseen
        agent: Agent = algorithm(self.config, *sizes)
        if isinstance(agent, PPO) and agent.config.symmetry:
            agent.reflect(*self._mirrors())
        return agent

    def _mirrors(self) -> Iterator[Mirror]:
        config = self.config
        env: Any = gymnasium.make(config.id, **registry.on_mujoco(dict(config.env)))
        try:
            found = mirrors(env.unwrapped.describe(), env.unwrapped.model)
        except ValueError as error:
            raise ConfigError(f"symmetry: {error}") from None
        finally:
            env.close()
        for mirror in found:
            yield Mirror(torch.as_tensor(mirror.order), torch.as_tensor(mirror.sign))

    def _unseen(self) -> int:
        """Count of an observation's last numbers that only the critic sees."""
        config, names = self.config, self.config.critic_entries
        if not names:
            return 0
        shapes = self.collector.envs.unwrapped.entry_shapes
        if tuple(shapes)[-len(names) :] != names:
            raise ConfigError(
                f"critic_entries: must be the last of the entries, {', '.join(shapes)};"
                f" got {', '.join(names)}"
            )
        envs = evaluation.make(config.id, 1, 1, **{**config.env, **config.evaluation_env})
        evaluated = tuple(envs.unwrapped.entry_shapes)
        envs.close()
        if evaluated != tuple(shapes)[: -len(names)]:
            raise ConfigError(
                "evaluation_env: must leave out the critic_entries, as privileged=false of some"
                f" tasks does; got {', '.join(evaluated)}"
            )
        return sum(math.prod(shapes[name]) for name in names)

    def prepare(self) -> None:
        self.rollout: list[dict[str, Tensor]] = []  # its steps so far

    def step(self) -> None:
        self.act()
        if len(self.rollout) == self.config.rollout_steps:
            for losses in self.agent.update(self.taken()):
                self.note(losses)
                self.updates += 1

    def taken(self) -> Rollout:
        """The steps so far; the next one begins another rollout."""
        names = self.rollout[0]
        steps = {name: torch.stack([step[name] for step in self.rollout]) for name in names}
        self.rollout = []
        return Rollout(**steps)

    def act(self) -> Transition:
        """One decision in all sub-environments, as a step of the rollout."""
        agent, stack = self.agent, self.collector.stack
        observation = agent.normalizer(stack)
        latent, log_density = agent.draw(observation)
        transition = self.interact(agent.action(latent))
        following = torch.cat([stack[:, 1:], transition.following[:, None]], 1)
        self.rollout.append(
            {
                "observation": observation,
                "latent": latent,
                "log_density": log_density,
                "reward": transition.reward,
                "following": agent.normalizer(following),
                "terminated": transition.terminated,
                "ended": transition.ended,
            }
        )
        return transition

    def state(self) -> dict[str, Any]:
        return {**super().state(), "rollout": self.rollout}

    def load_state(self, state: dict[str, Any]) -> None:
        super().load_state(state)
        self.rollout = state["rollout"]
