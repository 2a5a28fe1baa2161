"""Turn a handle and open a door."""

from dataclasses import dataclass
from math import pi

import numpy as np

from mjgym import mjcf
from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec
from mjgym.placements import Extent, Placement, Uniform
from mjgym.robots import Arm
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.robots.tool_poses import DOWN, level
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Viewpoint, register
from mjgym.tasks.robosuite.scripted_policies.tools import CLOSING, Tool, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop, add_table, closeness, reward_if

TABLE_SIZE, TABLE_TOP = (0.8, 0.3, 0.05), (-0.2, -0.35, 0.8)  # m
ROOT, PANEL, HANDLE = "Door_main", "Door_door", "Door_handle"
EXTENT = Extent(radius=0.3, bottom=-0.3, top=0.3)  # m
AWAY, ASIDE = (0.07, 0.09), (-0.01, 0.01)  # m, where the door stands on the table, along x and y
TURNED = (-pi / 2 - 0.25, -pi / 2)  # rad, about the vertical

OPEN = 0.3  # rad of the hinge; its limit is 0.4
REACH, TURN, OPENED = 0.25, 0.25, 1.0  # rewards
FULL_TURN = pi / 2  # rad of the handle, for the full TURN reward


@register("robosuite/Door-v0", tags=("tabletop", "one-arm"))
@dataclass(frozen=True)
class Door(Tabletop):
    """Turn the handle of a door and pull the door open.

    Start: the arm near its published pose; the door shut, beside the arm, at a place and an angle
    that are drawn for each episode.

    Observation: the robot's entries (see `Tabletop`), then `door_pos`, the middle
    of the door, and `handle_pos` (m), `hinge_qpos` (rad), `door_to_eef_pos` and
    `handle_to_eef_pos`, from the tool (m), in world axes, and with a latch `handle_qpos` (rad).

    Reward: of 1, `open` pays all once the hinge is past 0.3 rad; until then `reach` pays
    0.25 (1 - tanh(10 d)) for a distance of d (m) between tool and handle, and `turn` up to 0.25
    for the angle of the handle, all of it at 90 degrees. Success: past 0.3 rad.
    """

    latch: bool = True  # the handle has to be turned; else it is fixed, and pulling opens the door

    agentview = (
        (0.598613175, 0.0, 1.590350024),
        (0.638017721, 0.304849719, 0.304849838, 0.638017721),
    )
    viewpoint = Viewpoint(azimuth=205, elevation=-15, distance=1.6, lookat=(-0.25, -0.1, 1.05))
    varies = ("body_pos", "body_quat")  # of the door
    most = OPENED
    object_names = ("Door",)

    @property
    def default_placement(self) -> Placement:
        return Uniform(("Door",), AWAY, ASIDE, rotation=TURNED, reference=TABLE_TOP)

    def robot_place(self, arm: Arm) -> tuple[float, float]:
        return -arm.table_distance - TABLE_SIZE[0] / 2, 0.0

    def furnish(self, scene: Spec) -> None:
        add_table(scene, TABLE_SIZE, TABLE_TOP)
        door = mjcf.load("robosuite/door.xml")
        if not self.latch:
            mjcf.remove(door, "joint", "latch_joint")
            mjcf.remove(door, "geom", "latch", "latch_tip")
        scene.attach(door, prefix="Door_", frame=scene.worldbody.add_frame())

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {"Door": EXTENT}

    def hinge(self, v: View) -> Array:
        return v.joint("Door_hinge").qpos[..., 0]

    def turn(self, v: View) -> Array:
        return v.joint("Door_latch_joint").qpos[..., 0]

    def objects(self, v: View) -> Arrays:
        door, handle = v.body(PANEL).xpos, v.site(HANDLE).xpos
        return {
            "door_pos": door,
            "handle_pos": handle,
            "hinge_qpos": self.hinge(v),
            **self.from_tools(v, {"door_to_eef_pos": door, "handle_to_eef_pos": handle}),
            **({"handle_qpos": self.turn(v)} if self.latch else {}),
        }

    def terms(self, v: View) -> Arrays:
        opened = {"open": reward_if(v, self.success(v), OPENED)}
        if self.reward_type == "sparse":
            return opened
        reach = {"reach": REACH * closeness(self.distance(v, v.site(HANDLE).xpos))}
        if not self.latch:
            return {**reach, **opened}
        share = v.xp.abs(self.turn(v)) / FULL_TURN
        return {**reach, "turn": TURN * v.xp.clip(share, 0.0, 1.0), **opened}

    def stages(self, terms: Arrays) -> Array:
        opened = terms["open"]
        on_the_way = sum(value for name, value in terms.items() if name != "open")
        return namespace(opened).where(opened > 0, opened, on_the_way)

    def success(self, v: View) -> Array:
        return self.hinge(v) > OPEN

    def scripted_policy(self) -> StagedPolicy:
        return open_door(self)


HANDLE_LENGTH, HANDLE_ASIDE, HANDLE_OUT = 0.125, -0.175, 0.1  # m, of the door's handle
OUTER_HALF = 0.03  # m, from the centre of the handle to the fingers that press on it
FREE = 1.25  # rad, rotation of the handle: the latch releases at 1.16


def open_door(task: Tabletop) -> StagedPolicy:
    """Push the handle's end down its arc with closed fingers, then draw it away by friction.

    The hand is wider than there is room behind the handle: the fingers press on its outer half.
    """

    def stages(observation: Observation, tool: Tool) -> list[Stage]:
        handle = observation["handle_pos"]
        angle = observation["handle_qpos"].reshape(handle.shape[:-1])
        to_handle = np.arctan2(-HANDLE_OUT, HANDLE_ASIDE + HANDLE_LENGTH * np.cos(angle))
        offset = handle - observation["door_pos"]
        yaw = np.arctan2(offset[..., 1], offset[..., 0]) - to_handle
        along = level(yaw)
        out = np.stack([np.sin(yaw), -np.cos(yaw), np.zeros_like(yaw)], axis=-1)
        # Direction in which the handle's end moves.
        ahead = np.cos(angle)[..., None] * DOWN - np.sin(angle)[..., None] * along
        turned = angle > FREE

        def press(forward: float, away: float) -> np.ndarray:
            return np.asarray(handle + forward * ahead + (OUTER_HALF + away) * out)

        return [
            Stage(press(-0.08, 0.05), CLOSE, near=0.02, steps=CLOSING),
            Stage(press(-0.06, 0.0), CLOSE, near=0.01),
            Stage(press(0.05, 0.0), CLOSE, near=1.0, until=turned),
            Stage(press(0.08, 0.2), CLOSE),
        ]

    return StagedPolicy(tools_of(task, 1), stages)
