"""Base class of both humanoids: standing tall and, where a speed is set, moving that fast."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from mjgym.resets import random_joints, until_free
from mjgym.rewards import ramp, small_control, tolerance
from mjgym.rotations import Z_ROW, norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task
from mjgym.util.values import not_negative

HEAD_HEIGHT = 1.4  # m, above which the body counts as standing
HEAD_MARGIN = HEAD_HEIGHT / 4  # m below that, where `standing` is 0.1
UPRIGHT_COSINE = 0.9  # cosine of the torso's tilt, above which it counts as upright
STILL_MARGIN = 2.0  # m/s, along x and along y, where `still` is 0.1
WALK_SPEED = 1.0  # m/s
RUN_SPEED = 10.0  # m/s

JOINTS = slice(7, None)  # of qpos: all but the root pose


@dataclass(frozen=True)
class Upright(Task):
    """Base class of humanoid tasks: stand upright and, with a `speed`, move at least that fast."""

    speed: float = 0.0  # m/s in any horizontal direction; 0 rewards standing still

    viewpoint = "side"

    torso: ClassVar[str]  # its body
    up: ClassVar[int]  # entry of its rotation: vertical part of the axis to the head
    extremities: ClassVar[tuple[str, ...]]  # left hand, left foot, right hand, right foot

    def __post_init__(self) -> None:
        not_negative("speed", self.speed)

    def initialize(self, v: SingleView, rng: Any) -> None:
        until_free(v, lambda: random_joints(v, rng))

    def velocity(self, v: View) -> Array:
        return v.sensor(f"{self.torso}_subtreelinvel").data

    def observation(self, v: View) -> Arrays:
        torso = v.body(self.torso)
        places = v.xp.stack([v.body(part).xpos for part in self.extremities], axis=-2)
        local = to_local(torso.xmat[..., None, :], places - torso.xpos[..., None, :])
        return {
            "joint_angles": v.qpos[..., JOINTS],
            "head_height": v.body("head").xpos[..., 2],
            "extremities": v.xp.reshape(local, (*v.lead, -1)),
            "torso_vertical": torso.xmat[..., Z_ROW],
            "com_velocity": self.velocity(v),
            "velocity": v.qvel,
        }

    def terms(self, v: View) -> Arrays:
        height, cosine = v.body("head").xpos[..., 2], v.body(self.torso).xmat[..., self.up]
        velocity = self.velocity(v)
        terms = {
            "small_control": small_control(v.ctrl),
            "standing": tolerance(height, (HEAD_HEIGHT, inf), margin=HEAD_MARGIN),
            "upright": ramp(cosine, -1.0, UPRIGHT_COSINE),
        }
        if self.speed:
            return {**terms, "moving": ramp(norm(velocity[..., :2]), 0.0, self.speed)}
        along_x = tolerance(velocity[..., 0], margin=STILL_MARGIN)
        along_y = tolerance(velocity[..., 1], margin=STILL_MARGIN)
        return {**terms, "still": (along_x + along_y) / 2}

    def reward(self, terms: Arrays) -> Array:
        motion = terms["still"] if "still" in terms else (1 + 5 * terms["moving"]) / 6
        return terms["small_control"] * (terms["standing"] * terms["upright"]) * motion
