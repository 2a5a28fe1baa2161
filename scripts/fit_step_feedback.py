"""Train the step-to-step feedback of the reflex walker in space.

    python scripts/fit_step_feedback.py runs/steps                # goes on where it was stopped
    cp runs/steps/steps.npz assets/l2m/steps_spatial-walk.npz

It needs `pip install -e ".[train,fast]" cma`. A round

1. walks on `walk_forward-v0` from perturbed starts, towards directions that change, with and
   without noise on the offsets;
2. fits an ensemble of networks to all strides so far: how state and offset at a strike lead to the
   state at the next one, and whether the walker falls instead;
3. improves the feedback, a network from states to offsets, by gradient descent through the
   ensemble, over 12 strikes from states of the last three rounds.

The first round has no feedback, and its late strikes make the reference. A strike of the left foot
is seen in a mirror, so that one network serves both feet. Of all rounds, the feedback that walks
longest straight ahead from other starts is kept.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from search_walker import Walks
from torch import Tensor, nn

from mjgym.rotations import smallest_angle
from mjgym.tasks.l2m.reflex import looked_at, parameters
from mjgym.tasks.l2m.step_feedback import (
    HEADING,
    LARGEST_DEVIATION,
    LARGEST_HEADING,
    LARGEST_OFFSET,
    MIRRORED,
    OFFSETS,
    STATE,
    StepFeedback,
    SteppedReflexes,
    strike_state,
)
from mjgym.tasks.l2m.walk import ROTATION, Walk
from mjgym.util import atomic

ID, BASE = "l2m/walk_forward-v0", "spatial-walk"
COUNT = 96  # walks of a batch
SECONDS, CHOICE_SECONDS = 15.0, 10.0
LATE = 2.0  # s, from which on states of the first round make the reference
FARTHEST = 1.2  # of the largest perturbation, in a round
HEADINGS = 0.1  # rad, largest at a start
TURNED, LARGEST_TURN, EVERY = 0.7, 1.5, 4.0  # share with a new direction, rad, each so many s
# Noise on offsets, of the walks in each batch of the first round and of the others.
FIRST_NOISES, NOISES = ((0.0,), (0.4,)), ((0.0, 0.2), (0.0, 0.5, 0.9))
HEADING_SCALE = 0.07  # rad
FARTHEST_STATE = 8.0  # in scales
OTHERS = [i for i in range(len(STATE)) if i != HEADING]  # the heading changes no other number

MEMBERS, UNITS, RATE, BATCH = 3, 192, 1e-3, 256
FIRST_EPOCHS, EPOCHS = 40, 10
STRIKES, ROLLOUTS, FIRST_STEPS, STEPS, RECENT = 12, 384, 800, 500, 6  # RECENT batches of walks
POLICY_UNITS, POLICY_RATE, POLICY_NOISE, LARGEST_NORM = 64, 6e-4, 0.15, 1.0
# Cost at a strike: of a fall, of deviations (mean Huber loss), of the heading, of squared offsets.
FALL, DEVIATION, TURNING, EFFORT = 150.0, 1.5, 0.25, 0.02
AHEAD, ASIDE = 1.0, 12.0  # initial headings in scales: deviation of all, and range of half of them

CHOICE_SEED = 77

NO_FEEDBACK = StepFeedback(
    np.zeros(len(STATE)),
    np.ones(len(STATE)),
    (np.zeros((len(OFFSETS), len(STATE))),),
    (np.zeros(len(OFFSETS)),),
)


class Strides(NamedTuple):
    """From strike to strike, in the mirror of the first: (n, ...) each.

    Attributes:
        state: at a strike.
        offset: from then on.
        after: state at the next strike, of the other foot.
        turn: change of the heading, rad.
        fell: whether the walker fell instead; `after` and `turn` mean nothing then.
        late: whether the first strike was late in the walk.
    """

    state: np.ndarray
    offset: np.ndarray
    after: np.ndarray
    turn: np.ndarray
    fell: np.ndarray
    late: np.ndarray


class Trained(SteppedReflexes):
    """Stepped reflexes towards any direction, with noise on their offsets.

    Args:
        law: the feedback.
        noise: standard deviation of each walker's offsets, (n,).
        rng: draws the noise.
    """

    def __init__(self, law: StepFeedback, noise: np.ndarray, rng: np.random.Generator) -> None:
        super().__init__(parameters(BASE), law)
        self.noise, self.rng = noise, rng
        self.error = np.zeros(len(noise))  # of the heading, rad

    def respond(self, state: np.ndarray, foot: int) -> np.ndarray:
        """Offsets for the state at a strike."""
        state = state.copy()
        state[:, HEADING] = MIRRORED[foot] * np.clip(self.error, -LARGEST_HEADING, LARGEST_HEADING)
        known = super().respond(state, foot)
        return known + self.noise[:, None] * self.rng.standard_normal(known.shape)


class Rounds:
    """Strides of many walks.

    Args:
        seed: of the noise and of the directions.
    """

    def __init__(self, seed: int) -> None:
        self.walks = Walks(ID, COUNT, fine=True, heading=HEADINGS)
        self.rng = np.random.default_rng(seed)

    def wander(self) -> np.ndarray:
        """Directions that most walkers turn to, rad."""
        turned = self.rng.random(COUNT) < TURNED
        return np.where(turned, self.rng.uniform(-LARGEST_TURN, LARGEST_TURN, COUNT), 0.0)

    def walk(
        self,
        script: Trained,
        spread: np.ndarray,
        seed: int,
        directions: np.ndarray | None = None,
        longest: float = SECONDS,
    ) -> tuple[Strides, np.ndarray]:
        """Strides of walks, and their times without a fall (s).

        Args:
            script: the walker.
            spread: share of the largest perturbation, of each.
            seed: of the starts.
            directions: that they keep to; by default they change.
            longest: time of a walk, s.
        """
        observation = self.walks.start(np.random.default_rng(seed), 1, seed, tuple(spread))
        envs = self.walks.batches[0]
        task, n = envs.task, envs.num_envs
        assert isinstance(task, Walk)
        target = self.wander() if directions is None else directions
        alive, standing, seconds = np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n)
        foot = np.full(n, -1)  # of the last strike
        state, offset = np.zeros((n, len(STATE))), np.zeros((n, len(OFFSETS)))
        heading, since = np.zeros((2, n))
        parts: list[Strides] = []
        for step in range(round(longest / self.walks.timestep)):
            seen = looked_at(observation)
            here = np.array(task.body.positions(envs.view))[:, ROTATION]
            script.error = smallest_angle(here - target, 2 * np.pi)
            action = script(observation)
            for side in (0, 1):
                struck = script.struck[:, side] & alive
                after = strike_state(seen, side)
                some = struck & (foot == 1 - side)
                turn = MIRRORED[1 - side] * (here - heading)
                columns = (state, offset, after, turn, standing, since >= LATE)
                parts.append(Strides(*(x[some] for x in columns)))
                foot[struck], state[struck] = side, after[struck]
                offset[struck], heading[struck] = script.offset[struck], here[struck]
                since[struck] = seconds[struck]
            observation, _, fell, _, _ = envs.step(action)
            some = alive & fell & (foot >= 0)
            columns = (state, offset, state, 0 * heading, fell, since >= LATE)
            parts.append(Strides(*(x[some] for x in columns)))
            alive &= ~fell
            seconds += self.walks.timestep * alive
            if directions is None and (step + 1) % round(EVERY / self.walks.timestep) == 0:
                target = self.wander()
            if not alive.any():
                break
        return joined(parts), seconds


def joined(parts: Sequence[Strides]) -> Strides:
    """Concatenate strides."""
    return Strides(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def reference_of(strides: Strides) -> tuple[np.ndarray, np.ndarray]:
    """Median of late states, and their spread around it as a standard deviation."""
    late = strides.state[strides.late]
    reference = np.median(late, axis=0)
    scale = 1.48 * np.median(np.abs(late - reference), axis=0) + 1e-6
    reference[HEADING], scale[HEADING] = 0.0, HEADING_SCALE
    return reference, scale


class StrideModel(nn.Module):
    """Network from a state and an offset to the next state, the turn and the logit of a fall."""

    def __init__(self) -> None:
        super().__init__()
        size = len(OTHERS) + len(OFFSETS)
        self.hidden = nn.Sequential(
            nn.Linear(size, UNITS), nn.SiLU(), nn.Linear(UNITS, UNITS), nn.SiLU()
        )
        self.out, self.linear = nn.Linear(UNITS, len(STATE) + 1), nn.Linear(size, len(STATE) + 1)

    def forward(self, state: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """State at the next strike, with the turn as its heading, and the logit of a fall."""
        x = torch.cat([state[:, OTHERS], offset], dim=-1)
        y = self.out(self.hidden(x)) + self.linear(x)
        return y[:, :-1], y[:, -1]


class Policy(nn.Module):
    """Network from the state at a strike to offsets."""

    def __init__(self) -> None:
        super().__init__()
        sizes = (len(STATE), POLICY_UNITS, POLICY_UNITS, len(OFFSETS))
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(sizes))
        with torch.no_grad():  # small offsets at first
            self.layers[-1].weight.mul_(0.1)
            self.layers[-1].bias.zero_()

    def forward(self, state: Tensor) -> Tensor:
        """Offsets for states in scales."""
        x = state.clamp(-LARGEST_DEVIATION, LARGEST_DEVIATION)
        for layer in self.layers[:-1]:
            x = torch.tanh(layer(x))
        offset: Tensor = LARGEST_OFFSET * torch.tanh(self.layers[-1](x) / LARGEST_OFFSET)
        return offset

    def law(self, reference: np.ndarray, scale: np.ndarray) -> StepFeedback:
        """The policy as what ships."""
        weights = tuple(layer.weight.detach().numpy().copy() for layer in self.layers)
        biases = tuple(layer.bias.detach().numpy().copy() for layer in self.layers)
        return StepFeedback(reference, scale, weights, biases)


class Known(NamedTuple):
    """Strides in scales, as tensors."""

    state: Tensor
    offset: Tensor
    after: Tensor  # with the turn as its heading
    fell: Tensor


def scaled(strides: Strides, reference: np.ndarray, scale: np.ndarray) -> Known:
    """Strides as the networks see them."""
    state, after = (
        np.clip((x - reference) / scale, -FARTHEST_STATE, FARTHEST_STATE)
        for x in (strides.state, strides.after)
    )
    after[:, HEADING] = strides.turn / scale[HEADING]
    return Known(
        *(
            torch.tensor(x, dtype=torch.float32)
            for x in (state, strides.offset, after, strides.fell)
        )
    )


def fit(models: Sequence[StrideModel], known: Known, epochs: int) -> None:
    """Fit the ensemble, each member to nine tenths of the strides."""
    for model in models:
        optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        some = torch.nonzero(torch.rand(len(known.fell)) < 0.9)[:, 0]
        for _ in range(epochs):
            for rows in some[torch.randperm(len(some))].split(BATCH):
                after, fall = model(known.state[rows], known.offset[rows])
                fell = known.fell[rows]
                off = nn.functional.huber_loss(after, known.after[rows], reduction="none")
                loss = (off.mean(dim=-1) * (1 - fell)).mean()
                loss = loss + 0.1 * nn.functional.binary_cross_entropy_with_logits(fall, fell)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            schedule.step()


def improve(policy: Policy, models: Sequence[StrideModel], states: Tensor, steps: int) -> float:
    """Improve the policy on walks through the ensemble; mean cost of a strike in the last steps."""
    optimizer = torch.optim.Adam(policy.parameters(), POLICY_RATE)
    for model in models:
        model.requires_grad_(False)
    costs = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = POLICY_RATE * (1 - 0.9 * step / steps)
        state = states[torch.randint(len(states), (ROLLOUTS,))]
        aside = ASIDE * (2 * torch.rand(ROLLOUTS) - 1) * (torch.rand(ROLLOUTS) < 0.5)
        heading = aside + AHEAD * torch.randn(ROLLOUTS)
        total = torch.zeros(())
        for _ in range(STRIKES):
            seen = heading.clamp(*(x * LARGEST_HEADING / HEADING_SCALE for x in (-1, 1)))
            offset = policy(with_heading(state, seen))
            model = models[int(torch.randint(len(models), ()))]
            after, fall = model(state, offset + POLICY_NOISE * torch.randn_like(offset))
            heading = -(heading + after[:, HEADING])  # the next strike is seen in the other mirror
            state = after.clamp(-FARTHEST_STATE, FARTHEST_STATE)
            off = with_heading(state, torch.zeros(ROLLOUTS))
            cost = (
                FALL * torch.sigmoid(fall)
                + DEVIATION * nn.functional.huber_loss(off, 0 * off, reduction="none").mean(dim=-1)
                + TURNING * ((1 + (heading / 2) ** 2).sqrt() - 1)
                + EFFORT * offset.square().mean(dim=-1)
            )
            total = total + cost.mean() / STRIKES
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), LARGEST_NORM)
        optimizer.step()
        costs.append(float(total.detach()))
    for model in models:
        model.requires_grad_(True)
    return float(np.mean(costs[-100:]))


def with_heading(state: Tensor, heading: Tensor) -> Tensor:
    """States with another heading."""
    return torch.cat([state[:, :HEADING], heading[:, None], state[:, HEADING + 1 :]], dim=-1)


def written(law: StepFeedback, file: Path) -> None:
    """Write a law as `feedback` reads it."""
    layers = {f"weight_{i}": x for i, x in enumerate(law.weights)}
    layers |= {f"bias_{i}": x for i, x in enumerate(law.biases)}
    content = {"reference": law.reference, "scale": law.scale, **layers}
    with atomic.replacing(file) as part, part.open("wb") as out:
        np.savez(out, **{name: np.float32(x) for name, x in content.items()})


def main() -> None:
    """Train, choose and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of its state and of steps.npz")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    options.run.mkdir(parents=True, exist_ok=True)
    state_file = options.run / "state.pt"
    policy, models = Policy(), [StrideModel() for _ in range(MEMBERS)]
    networks = nn.ModuleList([policy, *models])
    parts: list[Strides] = []
    done, longest, spent = 0, 0.0, 0.0
    if state_file.exists():
        kept = torch.load(state_file, weights_only=True)
        networks.load_state_dict(kept["networks"])
        parts = [Strides(*(x.numpy() for x in part)) for part in kept["strides"]]
        done, longest, spent = kept["rounds"], kept["longest"], kept["cpu"]
        torch.manual_seed(options.seed + done)
    rounds = Rounds(options.seed + done)
    graded, whole = np.linspace(0, FARTHEST, COUNT), np.ones(COUNT)
    silent = np.zeros(COUNT)
    law = policy.law(*reference_of(parts[0])) if parts else NO_FEEDBACK
    for number in range(done, options.rounds):
        for k, noises in enumerate(NOISES if number else FIRST_NOISES):
            noise = rounds.rng.permutation(np.resize(noises, COUNT))
            script, seed = Trained(law, noise, rounds.rng), 1_000 + 2 * number + k
            found, seconds = rounds.walk(script, graded, seed, None if number else silent)
            parts.append(found)
            print(f"noise {noises}: {seconds.mean():.2f} s, {len(found.fell)} strides", flush=True)
        reference, scale = reference_of(parts[0])  # late strides without feedback and noise
        known = scaled(joined(parts), reference, scale)
        fit(models, known, EPOCHS if number else FIRST_EPOCHS)
        recent = sum(len(part.fell) for part in parts[-RECENT:])
        states = known.state[-recent:]
        cost = improve(policy, models, states, STEPS if number else FIRST_STEPS)
        law = policy.law(reference, scale)
        script = Trained(law, silent, rounds.rng)
        _, seconds = rounds.walk(script, whole, CHOICE_SEED, silent, CHOICE_SECONDS)
        cpu = spent + time.process_time()
        print(
            f"round {number}: {len(known.fell)} strides, cost {cost:.2f}, {seconds.mean():.2f} s"
            f" from other starts, {cpu:.0f} CPU s",
            flush=True,
        )
        if seconds.mean() > longest:
            longest = float(seconds.mean())
            written(law, options.run / "steps.npz")
        with atomic.replacing(state_file) as part:
            torch.save(
                {
                    "networks": networks.state_dict(), "rounds": number + 1, "longest": longest,
                    "cpu": cpu, "strides": [tuple(map(torch.from_numpy, part)) for part in parts],
                },
                part,
            )  # fmt: skip


if __name__ == "__main__":
    main()
