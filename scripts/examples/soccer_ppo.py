"""PPO by self-play: one network plays both sides of many matches, one against one.

    python soccer_ppo.py --steps 1000000 --curve curve.csv --picture curve.png

Each player is a sub-environment, so this is single-agent PPO, after CleanRL's single file (Huang et
al., 2022). Of six matches one is against the scripted player and one against random play. Goals are
rare at first: pitches are drawn from small to full size, actions are held for 0.1 s, and
`soccer_player.py` shapes the reward. Scores are those of the policy's means, on full pitches.
"""

import argparse
import time

import gymnasium as gym
import numpy as np
import soccer_curve
import torch
from soccer_player import features, shaping
from torch import nn
from torch.distributions import Normal

from mjgym_train import evaluation

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("id", nargs="?", default="soccer/boxhead-1v1-v0")
parser.add_argument("--steps", type=int, default=1_000_000, help="of all players")
parser.add_argument("--matches", type=int, default=96, help="at once")
parser.add_argument("--horizon", type=int, default=16, help="control steps between two updates")
parser.add_argument("--scores", type=int, default=10, help="how often it is scored on the way")
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


def network(out: int, gain: float) -> nn.Sequential:
    """Network from features to outputs, with an initial gain."""
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


# SameStep: the observation after an end is the start of the next match.
made = {**HELD, "pitch": PITCH, "autoreset_mode": "SameStep", "threads": 1}
part = max(1, options.matches // 6)
envs = [gym.make_vec(options.id, options.matches - 2 * part, **made)] + [
    gym.make_vec(options.id, part, opponent=name, **made) for name in ("scripted", "random")
]
until = np.cumsum([e.num_envs for e in envs])
n, count, T = int(until[-1]), envs[0].single_action_space.shape[0], options.horizon
seen = [e.reset(seed=options.seed + 10**6 * i)[0] for i, e in enumerate(envs)]
obs = torch.as_tensor(np.concatenate(seen))
mean, value = network(count, 0.01), network(1, 1.0)
spread = nn.Parameter(torch.full((count,), -0.8))
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
        # With held actions and few matches during training; finally on the registered id.
        how = {"trials": options.trials} if last else {"trials": min(20, options.trials), **HELD}
        shares = score("random", **how) + score("scripted", **how)
        curve.append([(update + 1) * n * T, round(time.perf_counter() - began), *shares])
        print(soccer_curve.line(curve[-1]), flush=True)
for e in envs:
    e.close()
soccer_curve.write(curve, options.curve, options.picture)
