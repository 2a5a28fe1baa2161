"""PPO by self-play: one network plays both sides of many matches, one against one.

    python soccer_ppo.py soccer/boxhead-1v1-v0 --steps 4000000 --picture curve.png

Each player is a sub-environment, so this is PPO for one agent, after CleanRL's single file (Huang
et al., 2022). Goals are rare at first: while the share of shaping falls to 0, speed towards the
ball and of the ball towards the goal are rewarded too. Half of the matches are against the
scripted player.
"""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

from mjgym import atomic

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("id", nargs="?", default="soccer/boxhead-1v1-v0")
parser.add_argument("--steps", type=int, default=4_000_000, help="of all players")
parser.add_argument("--matches", type=int, default=32, help="at once, of each of the two kinds")
parser.add_argument("--horizon", type=int, default=128, help="control steps between two updates")
parser.add_argument("--trials", type=int, default=50, help="matches against random play")
parser.add_argument("--picture", help="where the learning curve is drawn")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
torch.manual_seed(options.seed)
GAMMA, LAMBDA, CLIP, EPOCHS, MINIBATCHES, RATE, ENTROPY = 0.995, 0.95, 0.2, 4, 8, 3e-4, 2e-3
TO_BALL, TO_GOAL = 0.002, 0.01  # reward for each m/s, at first


class Agent(nn.Module):
    """Policy and value on observations that are normalised by what has been seen."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()

        def network(out: int, gain: float) -> nn.Sequential:
            layers = [nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh()]
            last = nn.Linear(128, out)
            nn.init.orthogonal_(last.weight, gain)
            return nn.Sequential(*layers, last)

        self.mean, self.value = network(actions, 0.01), network(1, 1.0)
        self.spread = nn.Parameter(torch.full((actions,), -0.5))
        self.register_buffer("seen", torch.tensor([1e-4]))
        self.register_buffer("middle", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))

    def watch(self, batch: torch.Tensor) -> None:
        """Take a batch into the mean and the variance of all that has been seen."""
        share = len(batch) / (self.seen + len(batch))
        away = batch.mean(0) - self.middle
        self.variance += share * (batch.var(0) + (1 - share) * away**2 - self.variance)
        self.middle += share * away
        self.seen += len(batch)

    def normal(self, x: torch.Tensor) -> torch.Tensor:
        return ((x - self.middle) / (self.variance + 1e-8).sqrt()).clamp(-10, 10)

    def policy(self, x: torch.Tensor) -> Normal:
        return Normal(self.mean(self.normal(x)), self.spread.exp())


def wins(agent: Agent, opponent: str, seed: int) -> float:
    """The share of matches that the home team wins against an opponent."""
    one = gym.make_vec(options.id, options.trials, opponent=opponent, autoreset_mode="Disabled")
    seen, over, won = one.reset(seed=seed)[0], np.zeros(options.trials, bool), 0
    while not over.all():
        with torch.no_grad():
            action = agent.policy(torch.as_tensor(seen)).mean.clamp(-1, 1).numpy()
        seen, rewards, terminations, truncations, _ = one.step(action)
        won += int(((rewards > 0) & ~over).sum())
        ended = terminations | truncations
        over |= ended
        if ended.any():
            seen = one.reset(options={"reset_mask": ended})[0]
    one.close()
    return won / options.trials


# SameStep: what comes back after an end is the start of the next match.
own = gym.make_vec(options.id, options.matches, autoreset_mode="SameStep")
against = gym.make_vec(options.id, options.matches, opponent="scripted", autoreset_mode="SameStep")
described = gym.make(options.id, opponent="still").unwrapped.describe()["observation"]
column = {row["entry"].partition("/")[2]: row["index"] for row in described}
envs, n = (own, against), own.num_envs + against.num_envs
size, count = own.single_observation_space.shape[0], own.single_action_space.shape[0]
agent = Agent(size, count)
optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
obs = torch.as_tensor(
    np.concatenate([e.reset(seed=options.seed + 10**6 * i)[0] for i, e in enumerate(envs)])
)
T = options.horizon
updates, curve = max(1, options.steps // (n * T)), []
for update in range(updates):
    share = max(0.0, 1 - 1.5 * update / updates)  # of shaping
    xs, acts = torch.zeros(T, n, size), torch.zeros(T, n, count)
    logs, rewards, values, ends = (torch.zeros(T, n) for _ in range(4))
    for t in range(T):
        with torch.no_grad():
            chosen = agent.policy(obs)
            action = chosen.sample()
            values[t] = agent.value(agent.normal(obs))[:, 0]
        xs[t], acts[t], logs[t] = obs, action, chosen.log_prob(action).sum(-1)
        parts = np.split(action.clamp(-1, 1).numpy(), [own.num_envs])
        seen, got, over, cut, _ = (
            np.concatenate(part) if i < 4 else None
            for i, part in enumerate(
                zip(*(e.step(a) for e, a in zip(envs, parts, strict=True)), strict=True)
            )
        )
        obs, ends[t] = torch.as_tensor(seen), torch.as_tensor(over | cut).float()
        near = seen[:, column["stats_closest_vel_to_ball"]] * TO_BALL
        forth = seen[:, column["stats_vel_ball_to_goal"]] * TO_GOAL
        rewards[t] = torch.as_tensor(got + share * (near + forth) * ~(over | cut)).float()
    agent.watch(xs.reshape(-1, size))
    with torch.no_grad():
        following, gain = agent.value(agent.normal(obs))[:, 0], torch.zeros(n)
        gains = torch.zeros(T, n)
        for t in reversed(range(T)):
            delta = rewards[t] + GAMMA * following * (1 - ends[t]) - values[t]
            gain = delta + GAMMA * LAMBDA * (1 - ends[t]) * gain
            gains[t], following = gain, values[t]
    flat = [x.reshape(T * n, *x.shape[2:]) for x in (xs, acts, logs, gains, gains + values)]
    for _ in range(EPOCHS):
        for rows in torch.randperm(T * n).chunk(MINIBATCHES):
            x, a, before, advantage, target = (part[rows] for part in flat)
            chosen = agent.policy(x)
            ratio = (chosen.log_prob(a).sum(-1) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gained = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
            error = (agent.value(agent.normal(x))[:, 0] - target) ** 2
            loss = -gained.mean() + 0.5 * error.mean() - ENTROPY * chosen.entropy().sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    if update % max(1, updates // 20) == 0 or update == updates - 1:
        curve.append(((update + 1) * n * T, wins(agent, "random", 10**8)))
        print(f"steps {curve[-1][0]:>10,}  wins against random play {curve[-1][1]:.2f}", flush=True)
for e in envs:
    e.close()
if options.picture:
    from matplotlib import pyplot as plt

    plt.figure(figsize=(6, 4), dpi=150)
    plt.plot(*zip(*curve, strict=True), marker=".")
    plt.xlabel("steps of all players")
    plt.ylabel("share of matches won against random play")
    plt.ylim(0, 1)
    with atomic.replacing(options.picture) as part:
        plt.savefig(part)
