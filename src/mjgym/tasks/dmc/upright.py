"""What the humanoids share: they earn by standing tall and, with a speed, by moving that fast."""

from math import inf

import numpy as np

from mjgym.rewards import small_control, tolerance
from mjgym.rotations import norm, to_local
from mjgym.sim import View
from mjgym.task import Array, Arrays, Signal

HEAD_HEIGHT = 1.4  # m, above which the body counts as standing
HEAD_MARGIN = HEAD_HEIGHT / 4  # m below that, where `standing` has fallen to 0.1
UPRIGHT_COSINE = 0.9  # of the torso's tilt, above which it counts as upright
UPRIGHT_MARGIN = 1.9  # so that `upright` is 0 only for a torso upside down
STILL_MARGIN = 2.0  # m/s, along x and along y, where `still` has fallen to 0.1
WALK_SPEED = 1.0  # m/s
RUN_SPEED = 10.0  # m/s


def terms(v: View, head_height: Array, cosine: Array, velocity: Array, speed: float) -> Arrays:
    """The reward's terms, each between 0 and 1.

    Args:
        v: the simulation, for its controls.
        head_height: above the floor (m), of shape `v.lead`.
        cosine: of the torso's tilt from upright, of shape `v.lead`.
        velocity: of the centre of mass, in world axes (m/s), (..., 3).
        speed: horizontal, to be reached in any direction (m/s); 0 asks for standing still.

    Returns:
        `small_control`, `standing`, `upright` and, with a speed, `moving`, otherwise `still`.
    """
    result = {
        "small_control": small_control(v.ctrl),
        "standing": tolerance(head_height, (HEAD_HEIGHT, inf), margin=HEAD_MARGIN),
        "upright": tolerance(
            cosine,
            (UPRIGHT_COSINE, inf),
            margin=UPRIGHT_MARGIN,
            sigmoid="linear",
            value_at_margin=0,
        ),
    }
    if speed:
        result["moving"] = tolerance(
            norm(velocity[..., :2]), (speed, inf), margin=speed, sigmoid="linear", value_at_margin=0
        )
    else:
        along_x = tolerance(velocity[..., 0], margin=STILL_MARGIN)
        along_y = tolerance(velocity[..., 1], margin=STILL_MARGIN)
        result["still"] = (along_x + along_y) / 2
    return result


def reward(terms: Arrays) -> Array:
    """small_control standing upright still, or with a speed (1 + 5 moving) / 6 for still."""
    motion = terms["still"] if "still" in terms else (1 + 5 * terms["moving"]) / 6
    return terms["small_control"] * (terms["standing"] * terms["upright"]) * motion


def extremities(v: View, torso: str, parts: tuple[str, ...]) -> Array:
    """Where the bodies `parts` are as seen from the body `torso` (m): (..., 3 for each part)."""
    frame = v.body(torso)
    places = np.stack([v.body(part).xpos for part in parts], axis=-2)
    local = to_local(frame.xmat[..., None, :], places - frame.xpos[..., None, :])
    return local.reshape(*v.lead, -1)


def signals(v: View, torso: str, parts: tuple[str, ...]) -> dict[str, Signal]:
    """What the humanoids observe.

    Args:
        v: a simulation, for the names in its model.
        torso: the body that must be upright; the sensor of the velocity bears its name.
        parts: the bodies of `extremities`.
    """
    joints = v.names("joint")[1:]
    root = v.names("body")[1]
    return {
        "joint_angles": Signal(
            meaning="angle of each joint", names=joints, unit="rad", source="qpos"
        ),
        "head_height": Signal(
            meaning="height of the head above the floor",
            names=("head z",),
            unit="m",
            frame="world",
            source="body xpos",
        ),
        "extremities": Signal(
            meaning=f"place of each hand and foot, from the {torso}",
            names=tuple(f"{part} {axis}" for part in parts for axis in "xyz"),
            unit="m",
            frame=torso,
            source=tuple(f"body {part} - body {torso}" for part in parts for _ in "xyz"),
        ),
        "torso_vertical": Signal(
            meaning=f"the world's vertical as the {torso} sees it",
            names=tuple(f"vertical {axis}" for axis in "xyz"),
            unit="1",
            frame=torso,
            source="body xmat",
        ),
        "com_velocity": Signal(
            meaning=f"velocity of the centre of mass of the {torso} and all that hangs on it",
            names=tuple(f"centre of mass {axis}" for axis in "xyz"),
            unit="m/s",
            frame="world",
            source=f"sensor {torso}_subtreelinvel",
        ),
        "velocity": Signal(
            meaning="velocity of the root, linear, then angular, then of each joint",
            names=(
                *(f"root {axis}" for axis in "xyz"),
                *(f"root about {axis}" for axis in "xyz"),
                *joints,
            ),
            unit=(*["m/s"] * 3, *["rad/s"] * (3 + len(joints))),
            frame=(*["world"] * 3, *[root] * 3, *[""] * len(joints)),
            source="qvel",
        ),
    }
