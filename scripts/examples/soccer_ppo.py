"""PPO by self-play: one network plays both sides of many matches, one against one.

    python soccer_ppo.py --steps 4000000 --curve curve.csv --picture curve.png

Each player is a sub-environment, so this is PPO for one agent, after CleanRL's single file (Huang
et al., 2022). A fourth of the matches are against the scripted player. What makes goals less rare:
pitches are drawn from small to full size, actions are held for 0.1 s, and at first speed is
rewarded beside goals, both that of the player towards a place behind the ball and, near it, that of
the ball towards the goal. Scores are those of the policy's means on full pitches.
"""

import argparse
import csv
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

import mjgym  # noqa: F401  (registers the ids)
from mjgym import atomic

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("id", nargs="?", default="soccer/boxhead-1v1-v0")
parser.add_argument("--steps", type=int, default=4_000_000, help="of all players")
parser.add_argument("--matches", type=int, default=96, help="at once")
parser.add_argument("--horizon", type=int, default=32, help="control steps between two updates")
parser.add_argument("--scores", type=int, default=16, help="how often it is scored on the way")
parser.add_argument("--trials", type=int, default=100, help="matches of the last score")
parser.add_argument("--curve", help="CSV file of the scores")
parser.add_argument("--picture", help="file of their plot")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
torch.manual_seed(options.seed)
GAMMA, LAMBDA, CLIP, EPOCHS, MINIBATCHES, RATE, ENTROPY = 0.98, 0.95, 0.2, 4, 8, 5e-4, 1e-3
HELD = {"control_timestep": 0.1, "physics_timestep": 0.02}
PITCH = ((12, 9), (48, 36))  # m, half-lengths; the published ones are from (32, 24)
TO_BALL, TO_GOAL = 0.004, 0.008  # reward for each m/s, at first
BEHIND = 0.8  # m, from the ball on the line of the shot, where players are to go
NEAR = 2.0  # m, from the ball, within which its speed is a player's doing


class Agent(nn.Module):
    """Policy and value on observations that are normalised by what has been seen."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()

        def network(out: int, gain: float) -> nn.Sequential:
            layers = [nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()]
            last = nn.Linear(64, out)
            nn.init.orthogonal_(last.weight, gain)
            return nn.Sequential(*layers, last)

        self.mean, self.value = network(actions, 0.01), network(1, 1.0)
        self.spread = nn.Parameter(torch.full((actions,), -0.5))
        self.register_buffer("seen", torch.tensor([1e-4]))
        self.register_buffer("middle", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))

    def watch(self, batch: torch.Tensor) -> None:
        """Take a batch into the mean and the variance of all that has been seen."""
        batch = batch.asinh()
        share = len(batch) / (self.seen + len(batch))
        away = batch.mean(0) - self.middle
        self.variance += share * (batch.var(0) + (1 - share) * away**2 - self.variance)
        self.middle += share * away
        self.seen += len(batch)

    def normal(self, x: torch.Tensor) -> torch.Tensor:
        """As the networks see it: what is near counts metre by metre, what is far by its order."""
        return ((x.asinh() - self.middle) / (self.variance + 1e-8).sqrt()).clamp(-5, 5)

    def policy(self, x: torch.Tensor) -> Normal:
        return Normal(self.mean(self.normal(x)), self.spread.exp())


def played(agent: Agent, opponent: str, trials: int, **changes: float) -> tuple[float, float]:
    """Shares of matches that the home team wins and loses against an opponent."""
    made = {"opponent": opponent, "autoreset_mode": "Disabled", "threads": 1, **changes}
    envs = gym.make_vec(options.id, trials, **made)
    seen, score, over = envs.reset(seed=10**8)[0], np.zeros(trials), np.zeros(trials, dtype=bool)
    while not over.all():
        with torch.no_grad():
            action = agent.policy(torch.as_tensor(seen)).mean.clamp(-1, 1).numpy()
        seen, rewards, terminations, truncations, _ = envs.step(action)
        score += np.where(over, 0.0, rewards)
        ended = terminations | truncations
        over |= ended
        if ended.any():
            seen = envs.reset(options={"reset_mask": ended})[0]
    envs.close()
    return float((score > 0).mean()), float((score < 0).mean())


# SameStep: what comes back after an end is the start of the next match.
made = {**HELD, "pitch": PITCH, "autoreset_mode": "SameStep", "threads": 1}
fourth = options.matches // 4
own = gym.make_vec(options.id, options.matches - fourth, **made)
against = gym.make_vec(options.id, fourth, opponent="scripted", **made)
envs, n = (own, against), own.num_envs + against.num_envs
size, count = own.single_observation_space.shape[0], own.single_action_space.shape[0]
described = gym.make(options.id, opponent="still").unwrapped.describe()["observation"]
columns: dict[str, list[int]] = {}
for row in described:
    columns.setdefault(row["entry"].partition("/")[2], []).append(row["index"])
BALL, GOAL, SPEED = (
    columns[name][:2] for name in ("ball_ego_position", "opponent_goal_mid", "sensors_velocimeter")
)


def shaping(seen: np.ndarray) -> np.ndarray:
    """What is rewarded beside goals, for each player."""
    shot = seen[:, GOAL] - seen[:, BALL]
    place = seen[:, BALL] - BEHIND * shot / np.linalg.norm(shot, axis=1, keepdims=True)
    ahead = place / (np.linalg.norm(place, axis=1, keepdims=True) + 1e-6)
    to_ball = (ahead * seen[:, SPEED]).sum(1)
    near = np.linalg.norm(seen[:, BALL], axis=1) < NEAR
    return TO_BALL * to_ball + TO_GOAL * seen[:, columns["stats_vel_ball_to_goal"][0]] * near


agent = Agent(size, count)
optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
obs = torch.as_tensor(
    np.concatenate([e.reset(seed=options.seed + 10**6 * i)[0] for i, e in enumerate(envs)])
)
agent.watch(obs)
T, began = options.horizon, time.perf_counter()
updates, curve = max(1, options.steps // (n * T)), []
for update in range(updates):
    optimizer.param_groups[0]["lr"] = RATE * (1 - update / updates)
    share = max(0.0, 1 - 1.25 * update / updates)  # of shaping
    xs, acts = torch.zeros(T, n, size), torch.zeros(T, n, count)
    logs, rewards, values, ends = (torch.zeros(T, n) for _ in range(4))
    for t in range(T):
        with torch.no_grad():
            chosen = agent.policy(obs)
            action = chosen.sample()
            values[t] = agent.value(agent.normal(obs))[:, 0]
        xs[t], acts[t], logs[t] = obs, action, chosen.log_prob(action).sum(-1)
        parts = np.split(action.clamp(-1, 1).numpy(), [own.num_envs])
        results = [e.step(part)[:4] for e, part in zip(envs, parts, strict=True)]
        seen, got, over, cut = (np.concatenate(parts) for parts in zip(*results, strict=True))
        obs, ends[t] = torch.as_tensor(seen), torch.as_tensor(over | cut).float()
        rewards[t] = torch.as_tensor(got + share * shaping(seen) * ~(over | cut)).float()
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
    last = update == updates - 1
    if last or update % max(1, updates // options.scores) == 0:
        # On the way with actions held and few matches; at last on the id as it is.
        how = {"trials": options.trials} if last else {"trials": min(20, options.trials), **HELD}
        row = [(update + 1) * n * T, round(time.perf_counter() - began)]
        for opponent in ("random", "scripted"):
            row += played(agent, opponent, **how)
        curve.append(row)
        print(
            f"steps {row[0]:>10,}  seconds {row[1]:>6}  won and lost against random play"
            f" {row[2]:.2f} {row[3]:.2f}, the scripted player {row[4]:.2f} {row[5]:.2f}",
            flush=True,
        )
for e in envs:
    e.close()
HEADER = ("steps", "seconds", "random_won", "random_lost", "scripted_won", "scripted_lost")
if options.curve:
    with atomic.replacing(options.curve) as part, open(part, "w", newline="") as file:
        csv.writer(file).writerows([HEADER, *curve])
if options.picture:
    from matplotlib import pyplot as plt

    plt.figure(figsize=(6, 3.6), dpi=110)
    steps, _, *shares = np.transpose(curve)
    for name, won, lost in (
        ("random play", shares[0], shares[1]),
        ("the scripted player", shares[2], shares[3]),
    ):
        (line,) = plt.plot(steps / 1e6, won, marker=".", label=f"won against {name}")
        plt.plot(steps / 1e6, lost, "--", color=line.get_color(), label=f"lost against {name}")
    plt.xlabel("million steps of all players")
    plt.ylabel("share of matches")
    plt.ylim(0, 1)
    plt.legend(fontsize=8, ncols=2, loc="upper center")
    plt.tight_layout()
    with atomic.replacing(options.picture) as part:
        plt.savefig(part)
