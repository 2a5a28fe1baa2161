"""Scripted policies of PickPlace and NutAssembly."""

import numpy as np

from mjgym.tasks.robosuite.nut_assembly import NutAssembly
from mjgym.tasks.robosuite.scripted_policies.motions import (
    CLOSING,
    HALF_TURN,
    QUARTER_TURN,
    grasp,
    heading_of,
    over,
    smallest_angle,
)
from mjgym.tasks.robosuite.scripted_policies.staged_policy import (
    CLOSE,
    OPEN,
    Observation,
    ScriptedPolicy,
    Stage,
)
from mjgym.tasks.robosuite.sorting import ALL, RANDOM, Sorting

CARRY_HEIGHT = 1.1  # m, above the floor: clears the walls of the bins and the pegs
STRAIGHT = 0.06  # rad, the largest turn of a nut that still fits over its peg
# Of each object: the grasp along its x axis and above its frame, and the height of its frame at
# release, m.
GRIPS = {
    "Milk": (0.0, 0.055, 0.89),
    "Bread": (0.0, 0.016, 0.92),
    "Cereal": (0.0, 0.055, 0.904),
    "Can": (0.0, 0.022, 0.915),
    "SquareNut": (0.06, 0.004, 0.9),
    "RoundNut": (0.066, 0.004, 0.9),
}


def sort(task: Sorting) -> ScriptedPolicy:
    """Put the objects away, one after the other."""
    if task.choice == RANDOM:
        return ScriptedPolicy(_put_away(task, task.drawn, task.object_names))
    names = task.object_names if task.choice == ALL else (task.kinds[task.choice],)
    return ScriptedPolicy(
        tuple(stage for name in names for stage in _put_away(task, name, (name,)))
    )


def _put_away(task: Sorting, label: str, names: tuple[str, ...]) -> tuple[Stage, ...]:
    """Stages that put one object away.

    Args:
        task: the task.
        label: the prefix of the object's observation entries.
        names: the objects that may have that prefix; the entry "<label>_id" tells which has it.
    """
    pos, quat = f"{label}_pos", f"{label}_quat"

    aligned = isinstance(task, NutAssembly)  # nuts fit over their pegs only when turned alike
    constants = np.array([[*GRIPS[name], *task.goal(name)] for name in names])

    def constants_of(observation: Observation) -> tuple[np.ndarray, ...]:
        """The object's row of `GRIPS` and the middle of its destination, (..., 1) each."""
        which = np.zeros(observation[pos].shape[:-1], dtype=np.int64)
        if len(names) > 1:
            which = observation[f"{label}_id"].reshape(which.shape).astype(np.int64)
        return tuple(np.moveaxis(constants[which][..., None], -2, 0))

    def grip(observation: Observation) -> np.ndarray:
        along, above, *_ = constants_of(observation)
        heading = heading_of(observation[quat])
        flat = np.zeros_like(heading)
        forward = np.stack([np.cos(heading), np.sin(heading), flat], axis=-1)
        return np.asarray(observation[pos] + along * forward + above * np.array([0.0, 0.0, 1.0]))

    def down(observation: Observation) -> np.ndarray:
        """The tool's position at release."""
        _, _, *frame = (constants_of(observation)[i] for i in (0, 1, 3, 4, 2))
        return np.concatenate(frame, axis=-1) + observation["robot0_eef_pos"] - observation[pos]

    def to_square(observation: Observation) -> np.ndarray:
        """The turn that aligns a square opening with the world's axes."""
        return smallest_angle(-heading_of(observation[quat]), QUARTER_TURN)

    return (
        *grasp(grip, quat, HALF_TURN, steps=3 * CLOSING),
        Stage(lambda observation: over(grip(observation), CARRY_HEIGHT), CLOSE, near=0.03),
        Stage(
            lambda observation: over(down(observation), CARRY_HEIGHT),
            CLOSE,
            near=0.005,
            turn=to_square if aligned else None,
            until=(lambda observation: np.abs(to_square(observation)) < STRAIGHT)
            if aligned
            else None,
        ),
        Stage(down, CLOSE, near=0.008),
        Stage(lambda observation: observation["robot0_eef_pos"], OPEN, steps=CLOSING),
        Stage(
            lambda observation: over(observation["robot0_eef_pos"], CARRY_HEIGHT), OPEN, near=0.03
        ),
    )
