"""The reward of both humanoids: standing tall and, where a speed is set, moving that fast."""

from math import inf

from mjgym.rewards import ramp, small_control, tolerance
from mjgym.rotations import norm, to_local
from mjgym.sim import View
from mjgym.task import Array, Arrays

HEAD_HEIGHT = 1.4  # m, above which the body counts as standing
HEAD_MARGIN = HEAD_HEIGHT / 4  # m below that, where `standing` is 0.1
UPRIGHT_COSINE = 0.9  # cosine of the torso's tilt, above which it counts as upright
STILL_MARGIN = 2.0  # m/s, along x and along y, where `still` is 0.1
WALK_SPEED = 1.0  # m/s
RUN_SPEED = 10.0  # m/s


def terms(v: View, head_height: Array, cosine: Array, velocity: Array, speed: float) -> Arrays:
    """Reward terms, each between 0 and 1.

    Args:
        v: view, for its controls.
        head_height: above the floor (m), of shape `v.lead`.
        cosine: of the torso's tilt from upright, of shape `v.lead`.
        velocity: of the centre of mass, in world axes (m/s), (..., 3).
        speed: target horizontal speed in any direction (m/s); 0 asks for standing still.

    Returns:
        `small_control`, `standing`, `upright` and, with a speed, `moving`, otherwise `still`.
    """
    result = {
        "small_control": small_control(v.ctrl),
        "standing": tolerance(head_height, (HEAD_HEIGHT, inf), margin=HEAD_MARGIN),
        "upright": ramp(cosine, -1.0, UPRIGHT_COSINE),
    }
    if speed:
        result["moving"] = ramp(norm(velocity[..., :2]), 0.0, speed)
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
    """Positions of the bodies `parts` in the axes of the body `torso` (m): (..., 3 * parts)."""
    frame = v.body(torso)
    places = v.xp.stack([v.body(part).xpos for part in parts], axis=-2)
    local = to_local(frame.xmat[..., None, :], places - frame.xpos[..., None, :])
    return v.xp.reshape(local, (*v.lead, -1))
