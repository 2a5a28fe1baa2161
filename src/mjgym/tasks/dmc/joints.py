"""What the tasks share that show the positions and velocities of their joints as they are."""

from mjgym.sim import View
from mjgym.task import Signal


def joint_signals(
    v: View,
    *,
    position: str,
    velocity: str,
    unit: str | tuple[str, ...],
    frame: str | tuple[str, ...] = "",
    hidden: int = 0,
) -> dict[str, Signal]:
    """`position` and `velocity` of joints with one number each.

    Args:
        v: the simulation, for the joints' names.
        position: what the positions mean.
        velocity: what the velocities mean.
        unit: of the positions, "m" or "rad"; of all joints or one for each.
        frame: as in `Signal`; of all joints or one for each.
        hidden: how many of the first joints have a velocity that is shown, but no position.
    """
    joints = v.names("joint")
    per_second = f"{unit}/s" if isinstance(unit, str) else tuple(f"{each}/s" for each in unit)
    return {
        "position": Signal(
            meaning=position,
            names=joints[hidden:],
            unit=unit if isinstance(unit, str) else unit[hidden:],
            frame=frame if isinstance(frame, str) else frame[hidden:],
            source="qpos",
        ),
        "velocity": Signal(
            meaning=velocity, names=joints, unit=per_second, frame=frame, source="qvel"
        ),
    }


def runner_signals(v: View, *, height: float) -> dict[str, Signal]:
    """`position` and `velocity` of a planar robot: its torso's, then those of its hinges.

    The torso slides forward and up and pitches; how far forward it is, is not shown.

    Args:
        v: the simulation, for the joints' names.
        height: from which that of the torso counts, m.
    """
    hinges = len(v.names("joint")) - 2
    return joint_signals(
        v,
        position=f"height of the torso, counted from {height:g} m, its pitch, each joint's angle",
        velocity="velocity of the torso, forward, up and in pitch, then of each joint",
        unit=("m", "m", *["rad"] * hinges),
        frame=("world", "world", *[""] * hinges),
        hidden=1,
    )
