"""PPO in one file, on a batch of environments in one process.

    python scripts/examples/ppo.py dmc/cartpole-swingup-v0 --steps 1000000

The algorithm of Schulman et al. (2017) with the usual details: generalized advantage estimation,
normalized observations and advantages, clipped gradients, a learning rate that falls to zero.
Truncated episodes bootstrap from their last value. The learning curve is saved as an image.
"""

import argparse
import time
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from mjgym.util import atomic  # also registers the ids

GAMMA = 0.99  # discount per control step
LAMBDA = 0.95  # of generalized advantage estimation
CLIP = 0.2  # limit of the ratio of the new policy to the old one
EPOCHS = 8  # passes over a rollout
MINIBATCHES = 8  # of a rollout
ENTROPY_WEIGHT = 0.0
VALUE_WEIGHT = 0.5
MAX_GRADIENT = 0.5  # norm


class Normalizer:
    """The running mean and variance of observations (Chan et al., 1979)."""

    def __init__(self, size: int) -> None:
        self.mean, self.variance, self.count = torch.zeros(size), torch.ones(size), 1e-4

    def update(self, x: torch.Tensor) -> None:
        """Update with a batch (n, size)."""
        n, total = len(x), self.count + len(x)
        delta = x.mean(0) - self.mean
        squares = self.variance * self.count + x.var(0, correction=0) * n
        self.variance = (squares + delta**2 * self.count * n / total) / total
        self.mean = self.mean + delta * n / total
        self.count = total

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize observations, clipped to 10 deviations."""
        return ((x - self.mean) / (self.variance + 1e-8).sqrt()).clamp(-10, 10)


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """Linear layer with orthogonal weights and zero bias."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


class Agent(nn.Module):
    """A Gaussian policy and a value function in separate networks."""

    def __init__(self, observations: int, actions: int, width: int = 128) -> None:
        super().__init__()
        self.mean = nn.Sequential(
            layer(observations, width), nn.Tanh(), layer(width, width), nn.Tanh(),
            layer(width, actions, 0.01),
        )  # fmt: skip
        self.log_deviation = nn.Parameter(torch.full((actions,), -0.5))
        self.value = nn.Sequential(
            layer(observations, width), nn.Tanh(), layer(width, width), nn.Tanh(),
            layer(width, 1, 1.0),
        )  # fmt: skip

    def policy(self, x: torch.Tensor) -> torch.distributions.Distribution:
        """Distribution of actions, with independent components."""
        normal = torch.distributions.Normal(self.mean(x), self.log_deviation.exp())
        return torch.distributions.Independent(normal, 1)


def train(
    id: str,
    steps: int,
    num_envs: int = 32,
    horizon: int = 128,
    learning_rate: float = 3e-4,
    seed: int = 0,
) -> tuple[list[int], list[float]]:
    """Train an agent and print its progress.

    Args:
        id: id of the task.
        steps: control steps, over all environments.
        num_envs: environments in the batch.
        horizon: control steps of each between two updates.
        learning_rate: initial learning rate.
        seed: of the environments and of the networks.

    Returns:
        Control steps so far and return, for every finished episode.
    """
    torch.manual_seed(seed)
    # Actions are fractions of their ranges; the next episode begins in the step that ends one.
    envs = gymnasium.make_vec(id, num_envs, autoreset_mode="SameStep")
    envs = gymnasium.wrappers.vector.RescaleAction(envs, -1.0, 1.0)
    sizes = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
    agent, normalize = Agent(*sizes), Normalizer(sizes[0])
    optimizer = torch.optim.Adam(agent.parameters(), lr=learning_rate, eps=1e-5)

    observations = torch.zeros(horizon, num_envs, sizes[0])
    actions = torch.zeros(horizon, num_envs, sizes[1])
    log_probabilities, values = torch.zeros(2, horizon, num_envs)
    rewards, ends = torch.zeros(2, horizon, num_envs)
    running, ended_at, returns = np.zeros(num_envs), [], []

    start = time.monotonic()
    observation, _ = envs.reset(seed=seed)
    updates = max(steps // (num_envs * horizon), 1)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - update / updates)
        for t in range(horizon):
            raw = torch.from_numpy(observation)
            normalize.update(raw)
            observations[t] = normalize(raw)
            with torch.no_grad():
                policy = agent.policy(observations[t])
                actions[t] = policy.sample()
                log_probabilities[t] = policy.log_prob(actions[t])
                values[t] = agent.value(observations[t])[:, 0]
            observation, reward, terminated, truncated, info = envs.step(
                actions[t].clamp(-1, 1).numpy()
            )
            running += reward
            rewards[t], ends[t] = torch.from_numpy(reward), torch.from_numpy(terminated | truncated)
            for i in np.flatnonzero(terminated | truncated):
                ended_at.append((update * horizon + t + 1) * num_envs)
                returns.append(float(running[i]))
                running[i] = 0.0
                if not terminated[i]:  # truncated: bootstrap
                    final = normalize(torch.from_numpy(info["final_obs"][i]))
                    with torch.no_grad():
                        rewards[t, i] += GAMMA * agent.value(final)[0]

        advantages, advantage = torch.zeros(horizon, num_envs), torch.zeros(num_envs)
        with torch.no_grad():
            following = agent.value(normalize(torch.from_numpy(observation)))[:, 0]
        for t in reversed(range(horizon)):
            goes_on = 1 - ends[t]
            error = rewards[t] + GAMMA * following * goes_on - values[t]
            advantages[t] = advantage = error + GAMMA * LAMBDA * goes_on * advantage
            following = values[t]

        rollout = [observations, actions, log_probabilities, advantages, advantages + values]
        flat = [x.flatten(0, 1) for x in rollout]
        for _ in range(EPOCHS):
            for rows in torch.randperm(num_envs * horizon).chunk(MINIBATCHES):
                improve(agent, optimizer, *(x[rows] for x in flat))

        recent = np.mean(returns[-num_envs:]) if returns else float("nan")
        done = (update + 1) * num_envs * horizon
        print(f"{done:9d} steps  {time.monotonic() - start:6.0f} s  return {recent:7.1f}")
    envs.close()
    return ended_at, returns


def improve(
    agent: Agent,
    optimizer: torch.optim.Optimizer,
    observations: torch.Tensor,
    actions: torch.Tensor,
    log_probabilities: torch.Tensor,
    advantages: torch.Tensor,
    targets: torch.Tensor,
) -> None:
    """Make one optimizer step on a minibatch, with leading axis n throughout."""
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    policy = agent.policy(observations)
    ratio = (policy.log_prob(actions) - log_probabilities).exp()
    gain = torch.min(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
    error = (agent.value(observations)[:, 0] - targets).square().mean()
    loss = -gain + VALUE_WEIGHT * error - ENTROPY_WEIGHT * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), MAX_GRADIENT)
    optimizer.step()


def save_curve(id: str, steps: list[int], returns: list[float], path: Path) -> None:
    """Plot the mean return and its 10th to 90th percentiles."""
    edges = np.linspace(0, max(steps, default=1), 51)
    parts = [np.array(returns)[np.digitize(steps, edges, right=True) == i] for i in range(1, 51)]
    shown = [(edges[i + 1], *np.percentile(p, (10, 90)), p.mean()) for i, p in enumerate(parts)
             if p.size]  # fmt: skip
    at, low, high, mean = np.array(shown).reshape(-1, 4).T
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.fill_between(at, low, high, alpha=0.2, color="tab:blue", linewidth=0)
    axes.plot(at, mean, color="tab:blue")
    axes.set(xlabel="control steps", ylabel="return of an episode", title=f"PPO on {id}")
    axes.grid(alpha=0.3)
    with atomic.replacing(path) as part:
        figure.savefig(part, dpi=150)
    plt.close(figure)


def main() -> None:
    """Read the command line, train, and save the learning curve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/cartpole-swingup-v0")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default=Path("ppo.png"))
    arguments = parser.parse_args()
    steps, returns = train(
        arguments.id,
        arguments.steps,
        arguments.num_envs,
        arguments.horizon,
        seed=arguments.seed,
    )
    save_curve(arguments.id, steps, returns, arguments.picture)


if __name__ == "__main__":
    main()
