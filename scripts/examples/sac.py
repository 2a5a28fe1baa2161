"""SAC in one file, on a batch of environments in one process.

    python scripts/examples/sac.py dmc/cartpole-balance-v0 --steps 20000

Soft actor-critic (Haarnoja et al., 2018b) with a temperature alpha that adapts:

    y = r + gamma (min_i Q'_i(s', a') - alpha log pi(a'|s')),  a' ~ pi(.|s')
    critics:      minimise sum_i (Q_i(s, a) - y)^2
    actor:        minimise alpha log pi(a|s) - min_i Q_i(s, a),  a ~ pi(.|s)
    temperature:  minimise -log(alpha) (log pi(a|s) + target entropy)

Its losses are those of `mjgym train sac`, which adds normalization, n-step returns and resuming.
"""

import argparse
import copy
import math
import time

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import mjgym  # noqa: F401  (registers the ids)

DISCOUNT = 0.99  # gamma, per control step
LEARNING_RATE = 1e-3
TARGET_RATE = 0.02  # of the target critics towards the trained ones, per update
TEMPERATURE = 0.01  # alpha at the start; low, since rewards lie within 0 and 1
TARGET_ENTROPY = -1.0  # nats per number of an action
LOG_STD = (-10.0, 2.0)  # bounds of the actor's log standard deviation
WIDTH = 256  # of both hidden layers
BATCH = 256  # transitions
BUFFER = 1_000_000  # transitions
RANDOM_STEPS = 1_000  # control steps of uniform actions before the first update
UPDATES_PER_STEP = 0.5  # for each control step of each environment

Batch = dict[str, Tensor]
"""Transitions with leading axis B: observation, action, reward, following, terminated."""


def perceptron(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers with ReLUs."""
    first, second = nn.Linear(inputs, WIDTH), nn.Linear(WIDTH, WIDTH)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Linear(WIDTH, outputs))


class Buffer:
    """A ring buffer of transitions; its size is a multiple of the number of environments."""

    def __init__(self, size: int, observations: int, actions: int) -> None:
        self.size, self.added = size, 0
        self.arrays = {
            "observation": torch.empty(size, observations),
            "action": torch.empty(size, actions),
            "reward": torch.empty(size),
            "following": torch.empty(size, observations),
            "terminated": torch.empty(size, dtype=torch.bool),
        }

    def add(self, *step: np.ndarray) -> None:
        """Store a step of all environments, in the order of the arrays."""
        start, n = self.added % self.size, len(step[0])
        for array, values in zip(self.arrays.values(), step, strict=True):
            array[start : start + n] = torch.from_numpy(values)
        self.added += n

    def sample(self) -> Batch:
        """Transitions drawn uniformly, with replacement."""
        rows = torch.randint(min(self.added, self.size), (BATCH,))
        return {name: array[rows] for name, array in self.arrays.items()}


class SAC:
    """Actor, critics, target critics and temperature, with their optimizers."""

    def __init__(self, observations: int, actions: int) -> None:
        self.actor = perceptron(observations, 2 * actions)
        self.critics = nn.ModuleList(perceptron(observations + actions, 1) for _ in range(2))
        self.target_critics = copy.deepcopy(self.critics).requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.tensor(math.log(TEMPERATURE)))
        self.target_entropy = TARGET_ENTROPY * actions
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), LEARNING_RATE)
        self.critic_optimizer = torch.optim.Adam(self.critics.parameters(), LEARNING_RATE)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], LEARNING_RATE)

    def sample(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Actions within -1 and 1, (B, actions), and their log densities, (B,)."""
        mean, log_std = self.actor(observation).chunk(2, -1)
        log_std = log_std.clamp(*LOG_STD)
        noise = torch.randn(mean.shape)
        u = mean + log_std.exp() * noise
        density = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
        squash = 2 * (math.log(2) - u - functional.softplus(-2 * u))  # log(1 - tanh(u)^2)
        return torch.tanh(u), (density - squash).sum(-1)

    @torch.no_grad()
    def act(self, observation: np.ndarray, *, explore: bool = True) -> np.ndarray:
        """Actions sampled from the policy, or else the tanh of its mean."""
        x = torch.from_numpy(observation)
        return (self.sample(x)[0] if explore else self.actor(x).chunk(2, -1)[0].tanh()).numpy()

    def update(self, batch: Batch) -> tuple[float, float, float]:
        """One step each of critics, actor, temperature and targets; returns the three losses."""
        alpha = self.log_alpha.detach().exp()
        with torch.no_grad():
            action, log_density = self.sample(batch["following"])
            value = lowest(self.target_critics, batch["following"], action)
            value = (value - alpha * log_density) * ~batch["terminated"]
            y = batch["reward"] + DISCOUNT * value
        inputs = torch.cat([batch["observation"], batch["action"]], -1)
        errors = [(critic(inputs)[:, 0] - y).square().mean() for critic in self.critics]
        critic_loss = torch.stack(errors).sum()
        minimize(critic_loss, self.critic_optimizer)

        action, log_density = self.sample(batch["observation"])
        value = lowest(self.critics, batch["observation"], action)
        actor_loss = (alpha * log_density - value).mean()
        minimize(actor_loss, self.actor_optimizer)

        alpha_loss = -self.log_alpha * (log_density.detach().mean() + self.target_entropy)
        minimize(alpha_loss, self.alpha_optimizer)

        with torch.no_grad():
            targets = self.target_critics.parameters()
            for target, trained in zip(targets, self.critics.parameters(), strict=True):
                target.lerp_(trained, TARGET_RATE)
        return critic_loss.item(), actor_loss.item(), alpha_loss.item()


def lowest(critics: nn.ModuleList, observation: Tensor, action: Tensor) -> Tensor:
    """The lower of the critics' values, (B,)."""
    inputs = torch.cat([observation, action], -1)
    return torch.stack([critic(inputs)[:, 0] for critic in critics]).amin(0)


def minimize(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Make one gradient step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(id: str, steps: int, num_envs: int = 8, seed: int = 0) -> float:
    """Train an agent for a number of control steps over all environments; its return at the end."""
    torch.manual_seed(seed)
    # Actions are fractions of their ranges; the next episode begins in the step that ends one.
    envs = gymnasium.make_vec(id, num_envs, autoreset_mode="SameStep")
    envs = gymnasium.wrappers.vector.RescaleAction(envs, -1.0, 1.0)
    sizes = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
    agent, random = SAC(*sizes), np.random.default_rng(seed)
    buffer = Buffer(num_envs * (BUFFER // num_envs), *sizes)
    updates = max(round(UPDATES_PER_STEP * num_envs), 1)

    start = time.monotonic()
    observation, _ = envs.reset(seed=seed)
    for step in range(num_envs, steps + 1, num_envs):
        explore = step > RANDOM_STEPS
        action = agent.act(observation) if explore else random.uniform(-1, 1, (num_envs, sizes[1]))
        following, reward, terminated, truncated, info = envs.step(action)
        reached = following.copy()  # where an episode ends, not where the next one starts
        for i in np.flatnonzero(terminated | truncated):
            reached[i] = info["final_obs"][i]
        buffer.add(observation, action, reward, reached, terminated)
        observation = following
        for _ in range(updates if explore else 0):
            losses = agent.update(buffer.sample())
        if explore and step % 2_000 < num_envs:
            shown = "".join(f"{loss:10.3f}" for loss in losses)
            print(f"{step:9d} steps  {time.monotonic() - start:6.0f} s  losses{shown}")
    score = evaluate(envs, agent)
    envs.close()
    return score


def evaluate(envs: gymnasium.vector.VectorEnv, agent: SAC) -> float:
    """Mean return of the deterministic policy, over an episode of each environment."""
    observation, _ = envs.reset(seed=1_000_000)
    returns, going = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool)
    while going.any():
        action = agent.act(observation, explore=False)
        observation, reward, terminated, truncated, _ = envs.step(action)
        returns += reward * going
        going &= ~(terminated | truncated)
    return float(returns.mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train SAC on a task with vector observations.")
    parser.add_argument("id", nargs="?", default="dmc/cartpole-balance-v0")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    score = train(args.id, args.steps, args.num_envs, args.seed)
    print(f"mean return of {args.num_envs} episodes: {score:.1f}")
