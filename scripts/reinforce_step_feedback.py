"""Improve the step-to-step feedback of the reflex walker by PPO on the reward of `walk_around-v0`.

    python scripts/reinforce_step_feedback.py runs/around   # goes on where it was stopped
    cp runs/around/steps.npz assets/l2m/steps_spatial-walk.npz

It needs `pip install -e ".[train,fast]" cma`. It begins with the feedback that ships. An action is
the offsets from a foot strike to the next, drawn around the policy's; episodes are those of the
score, from START, with physics steps of 2 ms, and their courses turn at several rates. An iteration
walks with all environments and improves policy and critic by what each strike was followed by: the
published reward, and the critic's value at the next strike. RUN holds `steps.npz`, the state, and
`progress.csv`, a line per iteration.
"""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from fit_step_feedback import BASE, Policy, written
from measure_walkers import write
from search_walker import COARSE
from torch import Tensor, nn

from mjgym.envs.vector import VectorEnv
from mjgym.tasks.l2m.reflex import START, Seen, parameters
from mjgym.tasks.l2m.step_feedback import (
    MIRRORED,
    OFFSETS,
    STATE,
    StepFeedback,
    SteppedReflexes,
    feedback,
)
from mjgym.tasks.l2m.walk import OpenSimWalk
from mjgym.util import atomic

COUNT, STEPS, THREADS = 192, 600, 1  # environments, control steps of an iteration
TURN_RATES = np.deg2rad(np.linspace(10.0, 30.0, COUNT))  # of the courses, rad/s
DEVIATION = 0.13  # of offsets from the policy's
DISCOUNT, TRACE = 0.97, 0.9  # per strike
REWARD = 6.0  # of a usual strike, by which rewards are divided
EPOCHS, BATCH, CRITIC_BATCH, CLIP = 10, 512, 256, 0.2
RATE, CRITIC_RATE, CRITIC_UNITS, LARGEST_NORM = 1e-4, 1e-3, 128, 1.0
LARGEST_DIVERGENCE = 0.03  # from the policy that walked, after which its epochs end
FIRST_CRITIC = 3  # iterations before the policy changes
TARGET = 3  # numbers of the target that the critic sees


class Strikes(NamedTuple):
    """Foot strikes and their outcomes, (n, ...).

    Attributes:
        state: in scales, and the target.
        offset: drawn at the strike.
        log_probability: of the offset.
        advantage: over the critic's value.
        value: return that the critic is fitted to.
    """

    state: Tensor
    offset: Tensor
    log_probability: Tensor
    advantage: Tensor
    value: Tensor


class Explorer(SteppedReflexes):
    """Stepped reflexes with offsets drawn around a policy's.

    Args:
        policy: from states in scales to offsets.
        law: reference and scale of the states.
        count: number of walkers.

    Attributes:
        state: in scales, and the target, at each walker's last strike, (count, state + 3).
        drawn: offsets at that strike.
        log_probability: of these, (count,).
    """

    def __init__(self, policy: Policy, law: StepFeedback, count: int) -> None:
        super().__init__(parameters(BASE), law)
        self.policy, self.turn_rate = policy, TURN_RATES
        self.state = np.zeros((count, len(STATE) + TARGET), np.float32)
        self.drawn = np.zeros((count, len(OFFSETS)), np.float32)
        self.log_probability = np.zeros(count, np.float32)
        self._target = np.zeros((count, 2))

    def act(self, state: Seen) -> np.ndarray:
        """Action for the input of the reflexes."""
        self._target = state.target
        return super().act(state)

    def respond(self, state: np.ndarray, foot: int) -> np.ndarray:
        """Offsets for the state at a strike."""
        struck = self.struck[:, foot]
        speed = np.hypot(*self._target.T) + 1e-9
        ahead, left = self._target.T / speed
        known = np.column_stack(
            [
                (state - self.law.reference) / self.law.scale,
                -MIRRORED[foot] * left,
                ahead,
                speed,
            ]
        ).astype(np.float32)
        with torch.no_grad():
            mean = self.policy(torch.from_numpy(known[:, : len(STATE)]))
        drawn = mean + DEVIATION * torch.randn_like(mean)
        self.state[struck], self.drawn[struck] = known[struck], drawn.numpy()[struck]
        self.log_probability[struck] = log_probability(mean, drawn).numpy()[struck]
        return drawn.numpy().astype(float)


def log_probability(mean: Tensor, offset: Tensor) -> Tensor:
    """Logarithm of the density of offsets, up to a constant."""
    return -0.5 * ((offset - mean) / DEVIATION).square().sum(dim=-1)


class Walkers:
    """Environments that walk on from one iteration to the next.

    Args:
        policy: that walks, and is improved elsewhere.
        critic: from states and targets to values.
        law: reference and scale of the states.
        seed: of the first episodes.
    """

    def __init__(self, policy: Policy, critic: nn.Module, law: StepFeedback, seed: int) -> None:
        task = OpenSimWalk(init_pose=START, seen_field="centre", longest_step=COARSE)
        self.envs = VectorEnv(
            task,
            COUNT,
            threads=THREADS,
            dtype="float64",
            autoreset_mode="SameStep",
            max_episode_steps=round(task.time_limit / task.control_timestep),
        )
        self.critic, self.script = critic, Explorer(policy, law, COUNT)
        self.observation, _ = self.envs.reset(seed=seed)
        self.begun = np.zeros(COUNT, dtype=bool)  # whether there was a strike in the episode
        self.paid, self.score = np.zeros((2, COUNT))  # since the last strike; of the episode
        self._last = tuple(x.copy() for x in self._strike())  # of each walker in its episode

    def _strike(self) -> tuple[np.ndarray, ...]:
        script = self.script
        return script.state, script.drawn, script.log_probability

    def iteration(self) -> tuple[Strikes, list[float], int]:
        """Strikes of an iteration, scores of the episodes that ended, and number of falls."""
        steps: list[list[tuple[Any, ...]]] = [[] for _ in range(COUNT)]
        scores, falls = [], 0
        for _ in range(STEPS):
            action = self.script(self.observation)
            struck = self.script.struck.any(axis=-1)
            for i in np.flatnonzero(struck & self.begun):
                steps[i].append((*(x[i].copy() for x in self._last), self.paid[i], False))
            for kept, new in zip(self._last, self._strike(), strict=True):
                kept[struck] = new[struck]
            self.begun |= struck
            self.paid[struck] = 0
            self.observation, reward, fell, over, _ = self.envs.step(action)
            self.paid += reward
            self.score += reward
            ended = fell | over
            for i in np.flatnonzero(ended):
                if self.begun[i]:  # the time limit alone says nothing of the value
                    paid = self.paid[i] if fell[i] else None
                    steps[i].append((*(x[i].copy() for x in self._last), paid, True))
                scores.append(float(self.score[i]))
            falls += int(fell.sum())
            self.begun &= ~ended
            self.paid[ended] = self.score[ended] = 0
            if ended.any():
                self.script.restart(ended)
        return self._judged(steps), scores, falls

    def _judged(self, steps: list[list[tuple[Any, ...]]]) -> Strikes:
        """Advantages and returns of the strikes, per walker from the last one back."""
        rows = []
        last = self._values(self._last[0])
        for i, walked in enumerate(steps):
            if not walked:
                continue
            values = self._values(np.stack([x[0] for x in walked]))
            after, advantage = last[i], 0.0
            for (*strike, paid, ended), value in zip(walked[::-1], values[::-1], strict=True):
                if paid is None:
                    after, advantage = value, 0.0
                    continue
                if ended:
                    after = advantage = 0.0
                error = paid / REWARD + DISCOUNT * after - value
                advantage = error + DISCOUNT * TRACE * advantage
                after = value
                rows.append((*strike, advantage, advantage + value))
        columns = (np.array(x, dtype=np.float32) for x in zip(*rows, strict=True))
        return Strikes(*map(torch.from_numpy, columns))

    def _values(self, states: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            values: np.ndarray = self.critic(torch.from_numpy(states))[:, 0].numpy()
        return values


def fit(critic: nn.Module, optimizer: torch.optim.Adam, strikes: Strikes) -> None:
    """Fit the critic to the returns."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(strikes.value)).split(CRITIC_BATCH):
            off = critic(strikes.state[rows])[:, 0] - strikes.value[rows]
            optimizer.zero_grad()
            off.square().mean().backward()
            optimizer.step()


def improve(policy: Policy, optimizer: torch.optim.Adam, strikes: Strikes) -> float:
    """Improve the policy; returns its divergence from the one that walked."""
    advantage = strikes.advantage - strikes.advantage.mean()
    advantage /= advantage.std() + 1e-6
    states, divergence = strikes.state[:, : len(STATE)], 0.0
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(states)).split(BATCH):
            mean = policy(states[rows])
            ratio = log_probability(mean, strikes.offset[rows]) - strikes.log_probability[rows]
            ratio, worth = ratio.exp(), advantage[rows]
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            optimizer.zero_grad()
            (-torch.minimum(ratio * worth, clipped * worth).mean()).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), LARGEST_NORM)
            optimizer.step()
        with torch.no_grad():
            mean = policy(states)
            change = log_probability(mean, strikes.offset) - strikes.log_probability
        divergence = float((change.exp() - 1 - change).mean())
        if divergence > LARGEST_DIVERGENCE:
            break
    return divergence


def main() -> None:
    """Train, and write the feedback after each iteration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of its state and of steps.npz")
    parser.add_argument("--cpu-minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    options.run.mkdir(parents=True, exist_ok=True)
    law, policy = feedback(BASE), Policy()
    with torch.no_grad():
        for layer, weight, bias in zip(policy.layers, law.weights, law.biases, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.copy_(torch.from_numpy(bias))
    critic = nn.Sequential(
        nn.Linear(len(STATE) + TARGET, CRITIC_UNITS),
        nn.Tanh(),
        nn.Linear(CRITIC_UNITS, CRITIC_UNITS),
        nn.Tanh(),
        nn.Linear(CRITIC_UNITS, 1),
    )
    optimizers = [
        torch.optim.Adam(policy.parameters(), RATE),
        torch.optim.Adam(critic.parameters(), CRITIC_RATE),
    ]
    file, done, spent = options.run / "state.pt", 0, 0.0
    progress: list[dict[str, float]] = []
    if file.exists():
        kept = torch.load(file, weights_only=True)
        policy.load_state_dict(kept["policy"])
        critic.load_state_dict(kept["critic"])
        for optimizer, state in zip(optimizers, kept["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        progress = kept["progress"]
        done, spent = len(progress), progress[-1]["cpu_s"]
        torch.manual_seed(options.seed + done)
    walkers = Walkers(policy, critic, law, 100_000 * (options.seed + 1) + COUNT * done)
    begun = time.process_time()
    cpu = spent
    while cpu < 60 * options.cpu_minutes:
        strikes, scores, falls = walkers.iteration()
        fit(critic, optimizers[1], strikes)
        divergence = 0.0
        if done >= FIRST_CRITIC:
            divergence = improve(policy, optimizers[0], strikes)
        done += 1
        cpu = spent + time.process_time() - begun
        hundreds = COUNT * STEPS * walkers.envs.control_timestep / 100
        line = {
            "iteration": done, "cpu_s": round(cpu, 1), "episodes": len(scores),
            "score": round(float(np.mean(scores or [0])), 1),
            "falls_in_100_s": round(falls / hundreds, 2), "divergence": round(divergence, 3),
        }  # fmt: skip
        print(*(f"{name} {value}" for name, value in line.items()), flush=True)
        progress.append(line)
        write(options.run / "progress.csv", progress)
        written(policy.law(law.reference, law.scale), options.run / "steps.npz")
        with atomic.replacing(file) as part:
            torch.save(
                {
                    "policy": policy.state_dict(), "critic": critic.state_dict(),
                    "optimizers": [x.state_dict() for x in optimizers], "progress": progress,
                },
                part,
            )  # fmt: skip


if __name__ == "__main__":
    main()
