"""Wipe dirt off a table."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.rotations import norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register
from mjgym.tasks.robosuite import tabletop
from mjgym.tasks.robosuite.scripted_policies.tools import WHOLE_TURN, Tool, tools_of
from mjgym.tasks.robosuite.team import Robot
from mjgym.util.values import whole_number

TABLE_TOP = (0.15, 0.0, 0.9)  # m
SPONGE = "WipingGripper"

# Spots of dirt lie along a randomly winding line.
THICKNESS = 0.0015  # m, half a visual spot's
STEP = 0.005  # m, between spots
MOST_MARKERS = 1000
TURNS, TURN = 0.3, 0.5  # probability of a turn per spot, and the standard deviation of turns, rad
DIRT = (0.36, 0.25, 0.15, 1.0)
CLEAN = (0.36, 0.25, 0.15, 0.0)

# A spot is wiped once it is under the sponge: in the rectangle between its corners, and at most as
# deep in it as that.
SPONGE_HALF = (0.06, 0.025)  # m
DEPTH = 0.02  # m

NEAR_LIMIT = 0.1  # rad: a joint that near to a limit is at it
PRESSING, TOUCHING, TOO_HARD = 0.5, 1.0, 60.0  # N
MANY = 50  # contacts
FAULT = -10.0  # rewards: for an arm collision or a joint at its limit,
WIPED, NEAR, NEAR_SCALE = 50.0, 5.0, 5.0  # per spot; for being near the others, at 1/m,
TOUCH, PRESS, MANY_TOUCH = 0.01, 0.01, 0.1  # for contact, per N, for many contacts,
STRAIN = -0.05  # per N of excessive force,
CLEANED = 25.5  # and per step with a clean table


@register("robosuite/Wipe-v0", tags=("tabletop", "one-arm"))
@dataclass(frozen=True)
class Wipe(tabletop.OneTable):
    """Wipe spots of dirt off a table with a sponge, neither too lightly nor too hard.

    Start: the arm near its published pose, with a sponge instead of a gripper; a line of spots that
    winds at random over the table, drawn for each episode.

    Observation: the robot's entries (see `Tabletop`), and `robot0_contact`, 1 where the force on
    the sponge (N) has changed by more than 1 since the first step; then of the spots that are left
    `proportion_wiped`, the share of those that are not, `wipe_radius`, the distance of the farthest
    from their centroid (m), `wipe_centroid` (m), and `gripper_to_wipe_centroid`, from the tool (m),
    in world axes. With `condensed=False` there are `marker<i>_pos` (m), `marker<i>_wiped` and
    `gripper_to_marker<i>` (m) of each spot instead.

    Reward: `fault` -10, and nothing else, where the arm (not the sponge) touches anything or a
    joint is within 0.1 rad of a limit. Otherwise `wipe` pays 50 for each spot that is wiped now,
    `near` 5 (1 - tanh(5 d)) for a distance of d (m) between tool and the other spots' centroid,
    `touch` 0.01 for contact, and `press` 0.01 + 0.01 F for a force of F (N) on the sponge above
    0.5, with 0.1 for more than 50 contacts, but -0.05 F above 60; `clean` 25.5 while no spot is
    left. A sparse one pays `clean` alone. The sum is divided by its greatest mean over an episode,
    30.5. The force is that of the same instant, not of the control step's start as in the published
    task. Success: no spot is left. Termination: success and faults.

    Raises:
        ValueError: there is no spot, the line has no room, or the gripper is no sponge.
    """

    gripper: Any = SPONGE
    table_size: tuple[float, float, float] = (0.5, 0.8, 0.05)  # m
    table_friction: tuple[float, float, float] = (0.03, 0.005, 0.0001)
    num_markers: int = 100  # number of spots
    line_width: float = 0.04  # of the line of spots, m: a spot's diameter
    coverage_factor: float = 0.6  # share of the table, along x and y, that the line stays within
    two_clusters: bool = False  # whether there are two lines, of half the spots each
    table_height: float = 0.0  # of the table over 0.9 m, m
    early_terminations: bool = True  # whether success and faults end the episode
    condensed: bool = True  # whether the observation has the spots' centroid instead of each spot

    varies: ClassVar = ("site_pos",)  # of the spots

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gripper != SPONGE:
            raise ValueError(f"gripper: wiping takes {SPONGE}, not {self.gripper!r}")
        whole_number("num_markers", self.num_markers, most=MOST_MARKERS)
        if min(self.room) <= 0:
            raise ValueError(
                f"coverage_factor: no room for a line {self.line_width} m wide on"
                f" {self.coverage_factor} of a table of {self.table_size[:2]} m"
            )

    @property
    def room(self) -> tuple[float, float]:
        """Half-extents of the area of the spots around the table's middle, along x and y, m."""
        x, y, _ = self.table_size
        aside = self.line_width / 2
        return self.coverage_factor * x / 2 - aside, self.coverage_factor * y / 2 - aside

    @property
    def spots(self) -> tuple[str, ...]:
        return tuple(f"contact{i}" for i in range(self.num_markers))

    @functools.cached_property
    def arm_bodies(self) -> tuple[str, ...]:
        """The bodies of the arm and its mount that can touch anything; the sponge is none."""
        robot = self.robots[0]
        parts = (("robot0_", robot.arm), (robot.base_prefix, robot.base))
        return tuple(
            prefix + body.name
            for prefix, part in parts
            for body in part.model().worldbody.find_all("body")
            if any(geom.contype or geom.conaffinity for geom in body.geoms)
        )

    @property
    def middle(self) -> tuple[float, float, float]:
        """The middle of the table's upper face, m."""
        x, y, z = TABLE_TOP
        return x, y, z + self.table_height

    def furnish(self, scene: Spec) -> None:
        tabletop.add_table(scene, self.table_size, self.middle, friction=self.table_friction)
        table = scene.body("table")
        half = self.line_width / 2
        for spot in self.spots:
            add(
                table, "site", name=spot, type="ellipsoid", rgba=DIRT,
                size=(half, half, THICKNESS), pos=(0, 0, self.table_size[2] / 2),
            )  # fmt: skip
        tabletop.watch_touches(scene, self.arm_bodies)
        tabletop.watch_touches(scene)

    def place(self, v: SingleView, rng: Any) -> None:
        half = self.num_markers // 2 if self.two_clusters else 0
        lines = [self._line(rng, half), self._line(rng, self.num_markers - half)]
        v.site_pos[v.rows("site_pos", self.spots), 0:2] = np.concatenate(lines)

    def _line(self, rng: Any, count: int) -> np.ndarray:
        """Positions of spots on the table, (count, 2) m, a step apart."""
        room = np.array(self.room)
        places = np.zeros((count, 2))
        angle = rng.uniform(-math.pi, math.pi)
        for i in range(count):
            if i == 0:
                places[i] = rng.uniform(-room, room)
                continue
            if rng.uniform() < TURNS:
                angle += rng.normal(0, TURN)
            while True:
                places[i] = places[i - 1] + STEP * np.array([math.sin(angle), math.cos(angle)])
                if (np.abs(places[i]) <= room).all():
                    break
                angle += rng.normal(0, TURN)
        return places

    # Memory: wiped spots, and the force on the sponge after the first step.

    def memory(self, v: View) -> Arrays:
        xp = v.xp
        return {
            **super().memory(v),
            "wiped": xp.zeros((*v.lead, self.num_markers), dtype=xp.bool),
            "force at first": xp.zeros((*v.lead, 3), dtype=xp.float64),
        }

    def update(self, v: View) -> Arrays:
        first = v.memory["force at first"]
        felt = v.xp.any(first != 0, axis=-1)
        return {
            "wiped": self.wiped(v),
            "force at first": v.xp.where(felt[..., None], first, self.force(v)),
        }

    def force(self, v: View) -> Array:
        """The force on the sponge, in its frame, (..., 3) N."""
        return v.sensor(f"{self.manipulators[0].hand_prefix}force_ee").data

    def tool(self, v: View) -> Array:
        return v.site(self.manipulators[0].tool).xpos

    def places(self, v: View) -> Array:
        """Positions of the spots, (..., spots, 3) m."""
        return v.site_xpos[..., v.rows("site_xpos", self.spots), :]

    def wiped(self, v: View) -> Array:
        """Spots that have been wiped, now or before, (..., spots) bool."""
        site, xp = v.site(self.manipulators[0].tool), v.xp
        local = to_local(site.xmat[..., None, :], self.places(v) - site.xpos[..., None, :])
        depth = -local[..., 2]  # the sponge's z points out of its face
        x, y = SPONGE_HALF
        under = (xp.abs(local[..., 0]) < x) & (xp.abs(local[..., 1]) < y)
        under = under & (depth > 0) & (depth < DEPTH) & (tabletop.touches(v) > 0)[..., None]
        return v.memory["wiped"] | under

    def centroid(self, v: View, wiped: Array) -> tuple[Array, Array]:
        """Mean position (..., 3) m and number (...) of the remaining spots.

        With none left it is the origin.
        """
        left = tabletop.reward_if(v, ~wiped, 1.0)
        count = total(left)
        middle = v.xp.sum(left[..., None] * self.places(v), axis=-2)
        return middle / v.xp.maximum(count, v.xp.ones_like(count))[..., None], count

    def in_contact(self, v: View) -> Array:
        """Tell whether the force on the sponge has changed since the first step, bool."""
        return norm(self.force(v) - v.memory["force at first"]) > TOUCHING

    def at_fault(self, v: View) -> Array:
        """Tell whether the arm touches anything or a joint is at its limit, bool."""
        joints = self.robots[0].joints
        limits = v.jnt_range[..., v.rows("jnt_range", joints), :]
        qpos = v.qpos[..., v.rows("qpos", joints)]
        near = (qpos < limits[..., 0] + NEAR_LIMIT) | (qpos > limits[..., 1] - NEAR_LIMIT)
        return v.xp.any(near, axis=-1) | (tabletop.touches(v, self.arm_bodies) > 0)

    def robot_entries(self, v: View, robot: Robot) -> Arrays:
        return {
            **super().robot_entries(v, robot),
            "robot0_contact": tabletop.reward_if(v, self.in_contact(v), 1.0),
        }

    def objects(self, v: View) -> Arrays:
        wiped, places, tool = v.memory["wiped"], self.places(v), self.tool(v)
        if not self.condensed:
            entries = {}
            for i in range(self.num_markers):
                entries[f"marker{i}_pos"] = places[..., i, :]
                entries[f"marker{i}_wiped"] = tabletop.reward_if(v, wiped[..., i], 1.0)
                entries[f"gripper_to_marker{i}"] = places[..., i, :] - tool
            return entries
        centroid, count = self.centroid(v, wiped)
        distances = tabletop.reward_if(v, ~wiped, 1.0) * norm(places - centroid[..., None, :])
        some = tabletop.reward_if(v, count > 0, 1.0)
        return {
            "proportion_wiped": 1 - count / self.num_markers,
            "wipe_radius": v.xp.max(distances, axis=-1),
            "wipe_centroid": centroid,
            "gripper_to_wipe_centroid": some[..., None] * (centroid - tool),
        }

    def terms(self, v: View) -> Arrays:
        wiped, at_fault = self.wiped(v), self.at_fault(v)
        allowed = tabletop.reward_if(v, ~at_fault, 1.0)
        clean = {"clean": CLEANED * allowed * tabletop.reward_if(v, v.xp.all(wiped, axis=-1), 1.0)}
        if self.reward_type == "sparse":
            return clean
        centroid, count = self.centroid(v, wiped)
        contacts = tabletop.touches(v)
        force = norm(self.force(v))
        too_hard = tabletop.reward_if(v, force > TOO_HARD, 1.0)
        pressed = (1 - too_hard) * tabletop.reward_if(v, (force > PRESSING) & (contacts > 1), 1.0)
        many = tabletop.reward_if(v, contacts > MANY, MANY_TOUCH)
        new = total(tabletop.reward_if(v, wiped & ~v.memory["wiped"], WIPED))
        near = tabletop.closeness(norm(centroid - self.tool(v)), NEAR_SCALE)
        return {
            "fault": tabletop.reward_if(v, at_fault, FAULT),
            "wipe": allowed * new,
            "near": allowed * tabletop.reward_if(v, count > 0, NEAR) * near,
            "touch": allowed * tabletop.reward_if(v, self.in_contact(v) & (contacts > 0), TOUCH),
            "press": allowed
            * (too_hard * STRAIN * force + pressed * (TOUCH + PRESS * force + many)),
            **clean,
        }

    def reward(self, terms: Arrays) -> Array:
        raw = self.stages(terms)
        if self.reward_scale is None:
            return raw
        steps = self.time_limit / self.control_timestep
        return raw * (self.reward_scale / (self.num_markers * WIPED / steps + CLEANED + TOUCH))

    def success(self, v: View) -> Array:
        return v.xp.all(self.wiped(v), axis=-1)

    def terminated(self, v: View) -> Array:
        if not self.early_terminations:
            return False
        return self.success(v) | self.at_fault(v)

    def colours(self, v: View) -> Arrays:
        dirt, clean = v.xp.asarray(DIRT), v.xp.asarray(CLEAN)
        wiped = v.memory["wiped"]
        return {
            f"site {spot}": v.xp.where(wiped[..., i, None], clean, dirt)
            for i, spot in enumerate(self.spots)
        }

    def scripted_policy(self) -> StagedPolicy:
        return wipe_table(self, self.middle, self.room, self.condensed)


SPONGE_SIDES = np.array([0.12, 0.05])  # m, sides of the wiped area, along the table's x and y
OVERLAP = np.array([0.03, 0.015])  # m, overlap of neighbouring press positions
HEADING = np.array(np.pi)  # rad, of the sponge: the opposite heading is near a joint's limit
MARGIN = np.array([0.03, 0.02])  # m, beyond the farthest spots, since a pressed arm lags
ABOVE = 0.05  # m, of the sponge over the table before it descends
PRESS_DEPTH = 0.01  # m, goal of the sponge below the table's face: some 40 N
PRESSED = 0.015  # m, from the sponge to that goal


def wipe_table(
    task: tabletop.Tabletop, middle: Sequence[float], room: Sequence[float], condensed: bool
) -> StagedPolicy:
    """Slide the sponge along lanes, stopping on each place until it is pressed into the table.

    A sliding sponge skips, and wipes little; a resting one wipes everything under it. The lanes lie
    along y, clipped to the observed circle of the remaining spots.
    """
    if not condensed:
        raise ValueError("condensed: the script reads the circle of the spots that are left")
    places = np.array(middle)[0:2] + np.array(winding(np.array(room)))

    def near_spots(observation: Observation, places: np.ndarray, height: float) -> np.ndarray:
        """Places moved into the square of the spots' circle, (n, ..., 3) m."""
        centre = observation["wipe_centroid"][..., 0:2]
        radius = observation["wipe_radius"].reshape((*centre.shape[:-1], 1))
        goals = places.reshape(-1, *(1,) * (centre.ndim - 1), 2)
        near = np.clip(goals, centre - radius, centre + radius)
        return np.concatenate([near, np.full_like(near[..., 0:1], middle[2] + height)], axis=-1)

    def descend(observation: Observation, tool: Tool) -> list[Stage]:
        turn = tool.facing(HEADING, WHOLE_TURN)
        (above,) = near_spots(observation, places[:1], ABOVE)
        return [Stage(above, CLOSE, turn, near=0.03, straight=0.2)]

    def press(observation: Observation, tool: Tool) -> list[Stage]:
        turn = tool.facing(HEADING, WHOLE_TURN)
        pressed = tool.position[..., 2] < middle[2]
        return [
            *(
                Stage(place, CLOSE, turn, near=PRESSED, until=pressed)
                for place in near_spots(observation, places, -PRESS_DEPTH)
            ),
            Stage(tool.position, CLOSE, lost=np.array(True)),  # to the first place again
        ]

    return StagedPolicy(tools_of(task, 1, hands=False), descend, press)


def winding(room: np.ndarray) -> list[tuple[float, float]]:
    """Places of the sponge that cover an area in a zigzag of lanes."""
    farthest = np.maximum(room + MARGIN - SPONGE_SIDES / 2, 0.0)
    counts = np.ceil(2 * farthest / (SPONGE_SIDES - OVERLAP)).astype(int) + 1
    lanes, along = (
        np.linspace(-end, end, count) for end, count in zip(farthest, counts, strict=True)
    )
    return [
        (float(x), float(y))
        for i, x in enumerate(lanes)
        for y in (along if i % 2 == 0 else along[::-1])
    ]
