"""PPO by self-play: one network plays both sides of many matches, one against one.

    python soccer_ppo.py --steps 4000000 --curve curve.csv --picture curve.png

Each player is a sub-environment, so this is PPO for one agent, after CleanRL's single file (Huang
et al., 2022). Of six matches one is against the scripted player and one against random play. Goals
are rare at first: pitches are drawn from small to full size, actions are held for 0.1 s, and
`SHAPING` rewards what leads to goals. Scores are those of the policy's means on full pitches.
"""

import argparse
import time

import gymnasium as gym
import numpy as np
import soccer_curve
import torch
from torch import nn
from torch.distributions import Normal

from mjgym.train import evaluation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("id", nargs="?", default="soccer/boxhead-1v1-v0")
parser.add_argument("--steps", type=int, default=4_000_000, help="of all players")
parser.add_argument("--matches", type=int, default=96, help="at once")
parser.add_argument("--horizon", type=int, default=16, help="control steps between two updates")
parser.add_argument("--scores", type=int, default=16, help="how often it is scored on the way")
parser.add_argument("--trials", type=int, default=100, help="matches of the last score")
parser.add_argument("--curve", help="CSV file of the scores")
parser.add_argument("--picture", help="file of their plot")
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
torch.manual_seed(options.seed)
torch.set_num_threads(1)
GAMMA, LAMBDA, CLIP, EPOCHS, MINIBATCHES, RATE = 0.98, 0.95, 0.2, 6, 4, 7e-4
HELD = {"control_timestep": 0.1, "physics_timestep": 1 / 30}
PITCH = ((12, 9), (48, 36))  # m, half-lengths; the published ones are from (32, 24)
# Reward of a control step beside goals: for the player's speed and for the ball's, in m/s, and for
# the cosine of the angle by which a player faces where it is to go.
SHAPING = {"speed": 0.002, "ball": 0.005, "facing": 0.004}
BEHIND = 2.0  # m, from the ball, where a player is to go who is beside it
# Where each number of an observation is, by entry.
number: dict[str, list[int]] = {}
for row in gym.make(f"mjgym:{options.id}", opponent="still").unwrapped.describe()["observation"]:
    number.setdefault(row["entry"].partition("/")[2], []).append(row["index"])
BALL, GOAL, OWN_GOAL, OTHER, SPEED = (
    number[entry][:2]
    for entry in (
        *("ball_ego_position", "opponent_goal_mid", "team_goal_mid", "opponent_0_ego_position"),
        "sensors_velocimeter",
    )
)
MOTION = [i for name, places in number.items() if name.endswith("velocity") for i in places]


def unit(x: torch.Tensor, least: float = 0.1) -> torch.Tensor:
    """The direction of vectors (..., 2) in m, softly: shorter where they are short."""
    return x / (x.norm(dim=-1, keepdim=True) + least)


def place(seen: torch.Tensor) -> torch.Tensor:
    """Where a player is to go, (..., 2) m: at the ball, the farther behind it the worse it aims."""
    shot = unit(seen[..., GOAL] - seen[..., BALL])
    aim = (unit(seen[..., BALL]) * shot).sum(-1, keepdim=True)
    return seen[..., BALL] - BEHIND * (1 - aim) * shot


def shaping(seen: torch.Tensor) -> torch.Tensor:
    """What is rewarded beside goals, for each player."""
    ahead = unit(place(seen))
    speed, ball = (ahead * seen[..., SPEED]).sum(-1), seen[..., number["stats_vel_ball_to_goal"][0]]
    terms = {"speed": speed, "ball": ball, "facing": ahead[..., 0]}
    return sum(weight * terms[name] for name, weight in SHAPING.items())


def features(seen: torch.Tensor) -> torch.Tensor:
    """What the networks see: directions, near and far, of places, and what moves and how fast."""
    ways = [place(seen), *(seen[..., to] for to in (BALL, GOAL, OWN_GOAL, OTHER))]
    heights = seen[..., [number["ball_ego_position"][2], *number["world_zaxis"]]]
    motion = seen[..., [*number["sensors_velocimeter"], *number["sensors_gyro"], *MOTION]]
    return torch.cat([*(unit(x, 1.0) for x in ways), (motion / 4).asinh(), heights], -1)


def network(out: int, gain: float) -> nn.Sequential:
    last = nn.Linear(64, out)
    nn.init.orthogonal_(last.weight, gain)
    return nn.Sequential(nn.LazyLinear(64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)


def play(seen: np.ndarray) -> np.ndarray:
    """The policy's mean actions."""
    with torch.no_grad():
        return mean(features(torch.as_tensor(seen))).clamp(-1, 1).numpy()


def score(opponent: str, trials: int, **changes: float) -> list[float]:
    """Shares of matches that the home team wins and loses."""
    envs = evaluation.make(options.id, trials, 1, opponent=opponent, **changes)
    returns = evaluation.evaluate(play, envs, range(10**8, 10**8 + trials)).returns
    envs.close()
    return [float((returns > 0).mean()), float((returns < 0).mean())]


# SameStep: what comes back after an end is the start of the next match.
made = {**HELD, "pitch": PITCH, "autoreset_mode": "SameStep", "threads": 1}
part = max(1, options.matches // 6)
envs = [gym.make_vec(options.id, options.matches - 2 * part, **made)] + [
    gym.make_vec(options.id, part, opponent=name, **made) for name in ("scripted", "random")
]
until = np.cumsum([e.num_envs for e in envs])
n, count, T = int(until[-1]), envs[0].single_action_space.shape[0], options.horizon
seen = [e.reset(seed=options.seed + 10**6 * i)[0] for i, e in enumerate(envs)]
obs = torch.as_tensor(np.concatenate(seen))
mean, value, spread = (
    network(count, 0.01),
    network(1, 1.0),
    nn.Parameter(torch.full((count,), -0.8)),
)
mean(features(obs)), value(features(obs))  # which tells them how much they see
weights = [*mean.parameters(), *value.parameters(), spread]
optimizer = torch.optim.Adam(weights, lr=RATE, eps=1e-5)
updates, began, curve = max(1, options.steps // (n * T)), time.perf_counter(), []
for update in range(updates):
    optimizer.param_groups[0]["lr"] = RATE * (1 - update / updates)
    rollout = []
    for _ in range(T):
        x = features(obs)
        with torch.no_grad():
            chosen, worth = Normal(mean(x), spread.exp()), value(x)[:, 0]
            action = chosen.sample()
        parts = np.split(action.clamp(-1, 1).numpy(), until[:-1])
        results = [e.step(part)[:4] for e, part in zip(envs, parts, strict=True)]
        seen, goals, over, cut = (
            torch.as_tensor(np.concatenate(p)) for p in zip(*results, strict=True)
        )
        obs, goes_on = seen, (~(over | cut)).float()
        reward = goals.float() + shaping(obs) * goes_on
        rollout.append((x, action, chosen.log_prob(action).sum(-1), worth, reward, goes_on))
    xs, actions, logs, values, rewards, going = (torch.stack(p) for p in zip(*rollout, strict=True))
    advantages, advantage = torch.zeros(T, n), torch.zeros(n)
    with torch.no_grad():
        following = value(features(obs))[:, 0]
    for t in reversed(range(T)):
        error = rewards[t] + GAMMA * following * going[t] - values[t]
        advantages[t] = advantage = error + GAMMA * LAMBDA * going[t] * advantage
        following = values[t]
    flat = [x.flatten(0, 1) for x in (xs, actions, logs, advantages, advantages + values)]
    for _ in range(EPOCHS):
        for rows in torch.randperm(T * n).chunk(MINIBATCHES):
            x, a, before, gain, wanted = (part[rows] for part in flat)
            ratio = (Normal(mean(x), spread.exp()).log_prob(a).sum(-1) - before).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            gained = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
            loss = 0.5 * (value(x)[:, 0] - wanted).square().mean() - gained
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.5)
            optimizer.step()
    last = update == updates - 1
    if last or update % max(1, updates // options.scores) == 0:
        # On the way with actions held and few matches; at last on the id as it is.
        how = {"trials": options.trials} if last else {"trials": min(20, options.trials), **HELD}
        shares = score("random", **how) + score("scripted", **how)
        curve.append([(update + 1) * n * T, round(time.perf_counter() - began), *shares])
        print(soccer_curve.line(curve[-1]), flush=True)
for e in envs:
    e.close()
soccer_curve.save(curve, options.curve, options.picture)
