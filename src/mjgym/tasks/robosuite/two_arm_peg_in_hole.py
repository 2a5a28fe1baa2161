"""Put a peg, held by one arm, into the hole of a board that the other arm holds."""

from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from mjgym import mjcf
from mjgym.arrays import Array, total
from mjgym.mjcf import Spec
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import DOWN, UP, frame, rotation_between
from mjgym.rotations import cross, norm, unit
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Viewpoint, register
from mjgym.tasks.robosuite.scripted_policies.tools import (
    CLOSING,
    STRAIGHT,
    Tool,
    rotation_of,
    tools_of,
)
from mjgym.tasks.robosuite.tabletop import BOX_FIELDS, Tabletop, TwoArms, closeness, reward_if, xyzw
from mjgym.util.values import positive

PEG, BOARD = "peg_main", "hole_main"
BOARD_PLACE = (0.11, 0.0, 0.17)  # m, of the board's frame in the second arm's hand
BOARD_TURN = (0.0, 0.0, 1.0, 1.0)  # quaternion
DENSITY = 1000.0  # kg/m^3, of the peg

CENTRE = 0.10  # m along the board's x: the peg's reference point, 1 cm beside the centre
BESIDE = 0.06  # m, largest distance of the peg's axis from that point
BEFORE, BEHIND = -0.12, 0.14  # m along the axis: range of the peg's centre
PARALLEL = 0.95  # least cosine of the angle between the peg's axis and the hole's
SCALE = 1.0  # 1/m, how fast the rewards for being near fall off
INSERTED = 5.0  # raw reward of success, without shaping; shaped, the five parts give 1 each


@register("robosuite/TwoArmPegInHole-v0", tags=("tabletop", "two-arm"))
@dataclass(frozen=True)
class TwoArmPegInHole(TwoArms):
    """Put a peg into a hole: the first arm holds the peg, the second a board with the hole.

    Start: the arms near their published poses; the peg's radius is drawn for each episode.

    Observation: the robots' entries (see `Tabletop`) but for grippers', then `hole_pos` (m) and
    `hole_quat` (x, y, z, w) of the board, `peg_to_hole`, from the peg's middle to the board's frame
    (m) in world axes, `peg_quat`, and how the peg lies to the hole: `angle`, the cosine between
    their axes; `t`, how far the hole is ahead along the peg (m); `d`, the distance from the peg's
    axis (m).

    Reward: of 5, the sum of `insert` 1 for success, `reach` 1 - tanh(r) for a distance of r (m)
    from the peg to the board, `beside` 1 - tanh(d), `along` 1 - tanh(|t|), and `angle`, the cosine;
    a sparse one pays all for success. Success: d below 6 cm, t from -12 to 14 cm, the cosine above
    0.95.

    Raises:
        ValueError: hands cannot hold anything else, or the range is out of order.
    """

    gripper: Any = None
    peg_radius: tuple[float, float] = (0.015, 0.03)  # m, range of its radius, drawn per episode
    peg_length: float = 0.13  # m, half of it

    viewpoint = Viewpoint(azimuth=160, elevation=-15, distance=2.0, lookat=(0.0, 0.0, 1.2))
    agentview = (
        (1.066643212, 0.0, 2.056339497),
        (0.653098055, 0.271040617, 0.271040587, 0.653097936),
    )
    varies = (*BOX_FIELDS, "actuator_acc0")  # of the peg, and what arms that carry it can do
    most = INSERTED

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(manipulator.hand.fingers for manipulator in self.manipulators):
            raise ValueError("gripper: the arms hold peg and board themselves; expected None")
        low, high = self.peg_radius
        if not 0 < low <= high:
            raise ValueError(
                f"peg_radius: expected two numbers above 0 in order, got {self.peg_radius}"
            )
        positive("peg_length", self.peg_length)

    def furnish(self, scene: Spec) -> None:
        first, second = (scene.body(manipulator.link) for manipulator in self.manipulators)
        arms = [self.robots[manipulator.robot].arm for manipulator in self.manipulators]
        peg = mjcf.load("robosuite/peg.xml")
        geom = peg.geom("g0")
        geom.size, geom.density = (self.peg_radius[1], self.peg_length, 0.0), DENSITY
        scene.attach(
            peg, prefix="peg_", frame=first.add_frame(pos=(0, 0, arms[0].ahead * self.peg_length))
        )
        board = mjcf.load("robosuite/hole.xml")
        x, y, z = BOARD_PLACE
        held = second.add_frame(pos=(x, y, arms[1].ahead * z), quat=BOARD_TURN)
        scene.attach(board, prefix="hole_", frame=held)

    def place(self, v: SingleView, rng: Any) -> None:
        resize_peg(v, rng.uniform(*self.peg_radius), self.peg_length)

    def measure(self, v: View) -> tuple[Array, Array, Array]:
        """The peg relative to the hole: t along and d off its axis, m, and the axes' cosine."""
        peg, board = v.body(PEG), v.body(BOARD)
        axis, normal = peg.xmat[..., 2::3], board.xmat[..., 2::3]
        along_board = CENTRE * board.xmat[..., 0::3]
        ahead = board.xpos + along_board - peg.xpos
        cosine = v.xp.abs(total(normal * axis))
        return total(ahead * axis), norm(cross(axis, ahead)), cosine

    def objects(self, v: View) -> Arrays:
        peg, board = v.body(PEG), v.body(BOARD)
        along, beside, cosine = self.measure(v)
        return {
            "hole_pos": board.xpos,
            "hole_quat": xyzw(board.xquat, v),
            "peg_to_hole": board.xpos - peg.xpos,
            "peg_quat": xyzw(peg.xquat, v),
            "angle": cosine,
            "t": along,
            "d": beside,
        }

    def terms(self, v: View) -> Arrays:
        success = self.success(v)
        if self.reward_type == "sparse":
            return {"insert": reward_if(v, success, INSERTED)}
        along, beside, cosine = self.measure(v)
        return {
            "insert": reward_if(v, success, 1.0),
            "reach": closeness(norm(v.body(PEG).xpos - v.body(BOARD).xpos), SCALE),
            "beside": closeness(beside, SCALE),
            "along": closeness(v.xp.abs(along), SCALE),
            "angle": cosine,
        }

    def success(self, v: View) -> Array:
        along, beside, cosine = self.measure(v)
        return (beside < BESIDE) & (along >= BEFORE) & (along <= BEHIND) & (cosine > PARALLEL)

    def scripted_policy(self) -> StagedPolicy:
        return insert_peg(self, self.peg_length)


def resize_peg(v: SingleView, radius: float, half: float) -> None:
    """Resize the peg, with its mass, inertia and derived fields."""
    body = v.body(PEG)
    mass = DENSITY * pi * radius**2 * 2 * half
    across = mass * (radius**2 / 4 + half**2 / 3)
    v.geom("peg_g0").size[:2] = radius, half
    body.mass[:] = mass
    body.inertia[:] = across, across, mass * radius**2 / 2
    v.set_constants()


MEETING = np.array([0.0, 0.0, 1.0])  # m, of the hole's centre
MIDDLE = 0.11  # m, of the hole along the board's x
# m, from the peg's tip to the hole: until both are turned, and before it
FAR, BEFORE_HOLE = 0.2, 0.05
SLOPE = np.pi / 4  # rad, of the peg to the floor, and of the board
SPEED = 0.4  # fraction of the largest displacement at which the peg enters


def insert_peg(task: Tabletop, peg_length: float) -> StagedPolicy:
    """Slope peg and board towards each other, then move the peg along the hole's axis."""

    def stages(observation: Observation, first: Tool, second: Tool) -> list[tuple[Stage, Stage]]:
        towards = unit((second.position - first.position) * np.array([1.0, 1.0, 0.0]))
        axis = np.sin(SLOPE) * towards + np.cos(SLOPE) * DOWN  # in which the peg enters
        board = rotation_of(observation["hole_quat"])
        hole = observation["hole_pos"] + MIDDLE * board[..., 0::3]
        # The board's z along the axis, its y along the second hand.
        y = -np.cos(SLOPE) * towards - np.sin(SLOPE) * UP
        turn_board = rotation_between(board, frame(np.cross(y, axis), axis))
        peg = observation["hole_pos"] - observation["peg_to_hole"]
        peg_z = rotation_of(observation["peg_quat"])[..., 2::3]
        around = cross(peg_z, axis)
        sine = norm(around)
        angle = np.arctan2(sine, (peg_z * axis).sum(axis=-1))
        turn_peg = around * (angle / np.maximum(sine, 1e-9))[..., None]

        def tip_before(distance: float) -> np.ndarray:
            ahead = (peg_length + distance) * axis
            return np.asarray(first.position + hole - ahead - peg)

        def approach(distance: float, near: float) -> Stage:
            target = tip_before(distance)
            return Stage(target, CLOSE, turn_peg, near=near, straight=STRAIGHT, steps=CLOSING)

        enter = Stage(
            tip_before(-peg_length), CLOSE, turn_peg, near=0.02, straight=STRAIGHT, speed=SPEED
        )
        hold = second.position + MEETING - hole
        still = Stage(hold, CLOSE, turn_board, near=0.03, straight=STRAIGHT)
        return [(approach(FAR, 0.05), still), (approach(BEFORE_HOLE, 0.01), still), (enter, still)]

    return StagedPolicy(tools_of(task, 2, hands=False), stages)
