"""Fit the step-to-step feedback of the reflex walker in space.

    python scripts/fit_step_feedback.py steps_spatial-walk.npz

It needs `pip install -e ".[fast]" cma`. Each round walks from perturbed starts on
`walk_forward-v0`, with and without noise on the offsets, fits over all rounds so far how states and
offsets at a strike lead to the state at the next (ridge regression, for each foot), and makes the
gains of a linear-quadratic regulator. The first round has no feedback. The reference is the median
state of the walk without feedback, late in its first round. The heading enters no other state, and
only integrates. Of all rounds, the gains that walk longest from other starts are written.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from search_walker import Walks

from mjgym.tasks.l2m.reflex import looked_at, parameters
from mjgym.tasks.l2m.step_feedback import (
    HEADING,
    MIRRORED,
    OFFSETS,
    STATE,
    StepFeedback,
    SteppedReflexes,
    strike_state,
)
from mjgym.tasks.l2m.walk import ROTATION, Walk
from mjgym.util import atomic

ID = "l2m/walk_forward-v0"
COUNT = 96  # walks of a batch
NOISE = 0.4  # of offsets
SECONDS = 10.0
LATE = 2.0  # s, from which on states make the reference
SEED, CHOICE_SEED = 100, 77
RIDGE, OUTLIER = 3.0, 6.0  # OUTLIER in scales
HEADINGS = 0.1  # rad, largest at a start
# Costs of squared deviations in scales, beside 1 of those that COSTS does not name, and of offsets.
COSTS = {"heading": 0.1}
OFFSET_COST = 4.0
HORIZON = 300  # strikes, of the regulator
OTHERS = [i for i in range(len(STATE)) if i != HEADING]


class Strides(NamedTuple):
    """From strike to strike: (n, ...) each.

    Attributes:
        foot: that struck first.
        state: then.
        offset: from then on.
        after: state at the next strike, of the other foot.
        turn: change of the heading, in the mirror of the first.
        late: whether the first was late in the walk.
    """

    foot: np.ndarray
    state: np.ndarray
    offset: np.ndarray
    after: np.ndarray
    turn: np.ndarray
    late: np.ndarray


class Noisy(SteppedReflexes):
    """Stepped reflexes with noise on their offsets; without a law all offsets are noise."""

    def __init__(
        self, base: str, law: StepFeedback | None, noise: float, rng: np.random.Generator
    ) -> None:
        nothing = StepFeedback(*np.zeros((3, 2, 1)))
        super().__init__(parameters(base), nothing if law is None else law)
        self.fitted, self.noise, self.rng = law is not None, noise, rng

    def respond(self, state: np.ndarray, foot: int) -> np.ndarray:
        """Offsets for the state at a strike."""
        shape = (*state.shape[:-1], len(OFFSETS))
        known = super().respond(state, foot) if self.fitted else np.zeros(shape)
        return known + self.noise * self.rng.standard_normal(shape)


def walk(walks: Walks, script: Noisy, spread: np.ndarray, seed: int) -> tuple[Strides, np.ndarray]:
    """Strides of many walks, and their times without a fall (s)."""
    observation = walks.start(np.random.default_rng(seed), 1, seed, tuple(spread))
    envs = walks.batches[0]
    task, n = envs.task, envs.num_envs
    assert isinstance(task, Walk)
    alive, seconds = np.ones(n, dtype=bool), np.zeros(n)
    foot = np.full(n, -1)  # of the last strike
    state, offset = np.zeros((n, len(STATE))), np.zeros((n, len(OFFSETS)))
    heading, since = np.zeros((2, n))
    parts: list[Strides] = []
    for _ in range(round(SECONDS / walks.timestep)):
        seen = looked_at(observation)
        action = script(observation)
        here = np.asarray(task.body.positions(envs.view))[:, ROTATION]
        for side in (0, 1):
            struck = script.struck[:, side] & alive
            after = strike_state(seen, side)
            some = struck & (foot == 1 - side)
            turn = MIRRORED[1 - side] * (here - heading)
            columns = (foot, state, offset, after, turn, since >= LATE)
            parts.append(Strides(*(x[some] for x in columns)))
            foot[struck], state[struck], offset[struck] = side, after[struck], script.offset[struck]
            heading[struck], since[struck] = here[struck], seconds[struck]
        observation, _, fell, _, _ = envs.step(action)
        alive &= ~fell
        seconds += walks.timestep * alive
        if not alive.any():
            break
    return joined(parts), seconds


def joined(parts: Sequence[Strides]) -> Strides:
    """Concatenate strides."""
    return Strides(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def spread_of(strides: Strides, reference: np.ndarray) -> np.ndarray:
    """Median distance of each state from the reference, as a standard deviation."""
    spread: np.ndarray = 1.48 * np.median(np.abs(strides.state - reference[strides.foot]), axis=0)
    return spread + 1e-6


def fitted(
    strides: Strides, reference: np.ndarray, scale: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """A and B of x' = A x + B u, in scales, for strikes of the right foot and of the left."""
    models = []
    for foot in (0, 1):
        some = strides.foot == foot
        before = (strides.state[some] - reference[foot]) / scale
        after = (strides.after[some] - reference[1 - foot]) / scale
        after[:, HEADING] = strides.turn[some] / scale[HEADING]
        near = np.all(np.abs([before, after])[..., OTHERS] < OUTLIER, axis=(0, 2))
        known = np.hstack([before[:, OTHERS], strides.offset[some], np.ones((some.sum(), 1))])[near]
        ridge = RIDGE * np.eye(known.shape[1])
        ridge[-1, -1] = 1e-2
        rows = np.linalg.solve(known.T @ known + ridge, known.T @ after[near]).T
        a = np.zeros((len(STATE), len(STATE)))
        a[:, OTHERS], b = rows[:, : len(OTHERS)], rows[:, len(OTHERS) : -1].copy()
        # The next strike is seen in the other mirror.
        a[HEADING], b[HEADING] = -a[HEADING], -b[HEADING]
        a[HEADING, HEADING] = -1.0
        models.append((a, b))
    return models


def regulator(models: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Gains of the periodic linear-quadratic regulator, (2, offsets, state)."""
    own = np.diag([COSTS.get(name, 1.0) for name in STATE])
    effort = OFFSET_COST * np.eye(len(OFFSETS))
    cost = [own, own]
    gains = np.zeros((2, len(OFFSETS), len(STATE)))
    for _ in range(HORIZON):
        for foot, (a, b) in enumerate(models):
            later = cost[1 - foot]
            gains[foot] = np.linalg.solve(effort + b.T @ later @ b, b.T @ later @ a)
            total = own + a.T @ later @ (a - b @ gains[foot])
            cost[foot] = (total + total.T) / 2
    return gains


def main() -> None:
    """Fit, choose and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="written, .npz")
    parser.add_argument("--base", default="spatial-walk", help="parameters of the reflexes")
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    walks = Walks(ID, COUNT, fine=True, heading=HEADINGS)
    rng, seed = np.random.default_rng(SEED), SEED
    graded = np.linspace(0, 1, COUNT)
    law, longest = None, 0.0
    parts: list[Strides] = []
    for number in range(options.rounds):
        for noise, spread in ((0.0, np.ones(COUNT) if law else graded), (NOISE, graded)):
            seed += 1
            script = Noisy(options.base, law, noise, rng)
            strides, seconds = walk(walks, script, spread, seed)
            parts.append(strides)
            print(f"noise {noise}: {seconds.mean():.2f} s, {len(strides.foot)}", flush=True)
        if not number:
            late = Strides(*(x[parts[0].late] for x in parts[0]))
            reference = np.array(
                [np.median(late.state[late.foot == foot], axis=0) for foot in (0, 1)]
            )
            reference[:, HEADING] = 0.0
        known = joined(parts)
        scale = np.maximum(spread_of(late, reference), 0.5 * spread_of(known, reference))
        law = StepFeedback(regulator(fitted(known, reference, scale)), reference, scale)
        script = Noisy(options.base, law, 0.0, rng)
        _, seconds = walk(walks, script, np.ones(COUNT), CHOICE_SEED)
        print(
            f"round {number}: {len(known.foot)} strides, {seconds.mean():.2f} s from other starts,"
            f" {time.process_time():.0f} CPU s",
            flush=True,
        )
        if seconds.mean() > longest:
            longest = float(seconds.mean())
            with atomic.replacing(options.file) as part, part.open("wb") as out:
                np.savez(out, **law._asdict())


if __name__ == "__main__":
    main()
