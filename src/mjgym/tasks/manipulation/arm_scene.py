"""Base class of the family: an arm with a hand over the table, its cameras and its start."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.mjcf import Spec, add
from mjgym.observables import Observable, observe
from mjgym.resets import Box
from mjgym.robots import Arm, Hand, arms, assembled, hands, place_tool, robot_contacts
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Signal, Task, TaskType, Viewpoint, register
from mjgym.tasks.manipulation.arena import (
    CONTROL_TIMESTEP,
    TIME_LIMIT,
    add_part,
    add_spawn_area,
    arena,
)
from mjgym.tasks.manipulation.props import SEEN

BASE = (0.0, 0.4, 0.0)  # m, position of the arm
DOWN = (0.0, 0.5**0.5, 0.5**0.5, 0.0)  # orientation of a tool that points down
CAMERA, EYE = "front_close", 84  # camera of vision tasks, pixels each way
AREA_COLOURS = {
    "tcp": (0.2, 0.8, 0.2, 0.3),
    "target": (0.2, 0.4, 0.9, 0.3),
    "prop": (0.2, 0.4, 0.9, 0.3),
    "pedestal": (0.2, 0.8, 0.8, 0.3),
}
Areas = Mapping[str, Box]
COUNT_AND_FORCE = (3, 3, 1)  # contact sensor setting: number of contacts, and their total force


@dataclass(frozen=True)
class Robot:
    """An arm with a hand as an entity of a scene; its names are those of the scene."""

    arm: Arm
    hand: Hand  # the hand on its wrist

    @functools.cached_property
    def name(self) -> str:
        return str(self.arm.model().modelname)

    @functools.cached_property
    def hand_name(self) -> str:
        return f"{self.name}/{self.hand.model().modelname}"

    @functools.cached_property
    def joints(self) -> tuple[str, ...]:
        return tuple(f"{self.name}/{joint}" for joint in self.arm.joints)

    @functools.cached_property
    def finger_joints(self) -> tuple[str, ...]:
        return tuple(f"{self.hand_name}/{joint}" for joint in self.hand.joints)

    @functools.cached_property
    def torques(self) -> tuple[str, ...]:
        """Torque sensors of the arm's joints; empty without sensors."""
        return tuple(f"{self.name}/{sensor}" for sensor in self.arm.torques)

    @functools.cached_property
    def tool(self) -> str:
        return f"{self.hand_name}/{self.hand.tool_centre}"

    @functools.cached_property
    def pads(self) -> tuple[tuple[str, ...], ...]:
        prefix = f"{self.hand_name}/"
        return tuple(tuple(prefix + pad for pad in finger) for finger in self.hand.fingers)


@functools.cache
def find_robot(arm: str, hand: str) -> Robot:
    """Look up the arm and the hand by name or "module:Class"."""
    return Robot(arms.find(arm), hands.find(hand))


@dataclass(frozen=True)
class Scene(Task):
    """An arm with a hand over a work top."""

    arm: str = "jaco_6_joints"  # its name, or "module:Class"
    hand: str = "jaco_3_fingers"  # its name, or "module:Class"
    vision: bool = False  # objects are observed only in the image
    touch: bool = False  # whether contacts of the fingers are observed
    time_limit: float = TIME_LIMIT  # s
    control_timestep: float = CONTROL_TIMESTEP  # s

    viewpoint = Viewpoint(azimuth=60, elevation=-28, distance=1.1, lookat=(0.0, 0.0, 0.27))

    areas: ClassVar[Areas] = {}
    """Where the tool ("tcp") and other things are drawn from at the start of an episode, m."""

    observables: ClassVar[Mapping[str, Observable]] = {
        CAMERA: Observable(observe.image(CAMERA, width=EYE, height=EYE))
    }

    @property
    def robot(self) -> Robot:
        return find_robot(self.arm, self.hand)

    # Model.

    def model(self) -> Spec:
        scene = arena()
        self.mark(scene)
        for name, box in self.areas.items():
            add_spawn_area(scene, f"{name}_spawn_area", box, AREA_COLOURS[name])
        robot = self.robot
        base = scene.worldbody.add_frame(pos=BASE)
        add_part(scene, assembled(robot.arm, robot.hand), robot.name, at=base)
        self.furnish(scene)
        if self.touch:
            self._feel(scene)
        return scene

    def mark(self, scene: Spec) -> None:
        """Add the sites that show the goal."""

    def furnish(self, scene: Spec) -> None:
        """Add the objects on the table."""

    def _feel(self, scene: Spec) -> None:
        for finger in self.robot.pads:
            for pad in finger:
                add(
                    scene, "sensor", name=f"{pad} touch", type="contact", objtype="geom",
                    objname=pad, intprm=COUNT_AND_FORCE,
                )  # fmt: skip

    # Observation.

    def observation(self, v: View) -> Arrays:
        robot = self.observe_robot(v)
        if self.vision:
            return robot
        return {**self.observe_goal(v), **robot, **self.observe_things(v)}

    def observe_goal(self, v: View) -> Arrays:
        return {}

    def observe_things(self, v: View) -> Arrays:
        return {}

    def observe_robot(self, v: View) -> Arrays:
        """Joints, torques, fingers and touch of the arm and its hand."""
        robot, xp = self.robot, v.xp
        arm, hand, tool = robot.name, robot.hand_name, v.site(robot.tool)
        q = v.qpos[..., v.rows("qpos", robot.joints)]
        fingers = robot.finger_joints
        entries = {f"{arm}/joints_pos": xp.stack([xp.sin(q), xp.cos(q)], axis=-1)}
        if robot.torques:
            sensed = v.sensordata[..., v.rows("sensordata", robot.torques)]
            torque = sensed[..., 2::3]  # of three axes; the joint turns about z
            entries[f"{arm}/joints_torque"] = xp.sign(torque) * xp.log1p(xp.abs(torque))
        return {
            **entries,
            f"{arm}/joints_vel": v.qvel[..., v.rows("qvel", robot.joints)],
            f"{hand}/joints_pos": v.qpos[..., v.rows("qpos", fingers)],
            f"{hand}/joints_vel": v.qvel[..., v.rows("qvel", fingers)],
            f"{hand}/pinch_site_pos": tool.xpos,
            f"{hand}/pinch_site_rmat": tool.xmat,
            **(self._observe_touch(v) if self.touch else {}),
        }

    def _observe_touch(self, v: View) -> Arrays:
        """Contacts of each finger: their number, and the total net force of its geoms in N."""
        xp, counts, forces = v.xp, [], []
        for finger in self.robot.pads:
            felt = [v.sensor(f"{pad} touch").data for pad in finger]
            counts.append(sum(data[..., 0] for data in felt))
            forces.append(sum(norm(data[..., 1:]) for data in felt))
        hand = self.robot.hand_name
        return {
            f"{hand}/contacts": xp.stack(counts, axis=-1),
            f"{hand}/touch": xp.stack(forces, axis=-1),
        }

    def labels(self, v: View) -> dict[str, Signal]:
        arm, hand = self.robot.name, self.robot.hand_name
        fingers = tuple(f"finger {i + 1}" for i in range(len(self.robot.pads)))
        signals = {
            f"{arm}/joints_pos": Signal("sine and cosine of the angle of each joint"),
            f"{arm}/joints_torque": Signal(
                "torque x in each joint about its axis, as sign(x) ln(1 + |x|)"
            ),
            f"{arm}/joints_vel": Signal("velocity of each joint"),
            f"{hand}/joints_pos": Signal("angle of each finger, which grows as it closes"),
            f"{hand}/joints_vel": Signal("velocity of each finger"),
            f"{hand}/pinch_site_pos": Signal("the point between the fingers"),
            f"{hand}/pinch_site_rmat": Signal("how the hand is turned"),
            f"{hand}/contacts": Signal("contacts of each finger", fingers, unit="1"),
            f"{hand}/touch": Signal("force on each finger", fingers, unit="N"),
        }
        entries = self.observation(v)
        for entry in entries:
            entity, _, sensor = entry.rpartition("/")
            if sensor in SEEN:
                signals.setdefault(entry, Signal(f"{sensor.replace('_', ' ')} of {entity}"))
        return {entry: signal for entry, signal in signals.items() if entry in entries}

    def tool_position(self, v: View) -> Array:
        """The position of the point between the fingers, (..., 3) m."""
        return v.site(self.robot.tool).xpos

    # Start of an episode.

    def draw_fingers(self, v: SingleView, rng: Any) -> None:
        """Open all fingers equally far, anywhere between closed and open.

        A hand with `start` begins there instead.
        """
        robot = self.robot
        fingers = v.rows("qpos", robot.finger_joints)
        if robot.hand.start:
            v.qpos[fingers] = robot.hand.start
            return
        low, high = v.jnt_range[v.rows("jnt_range", robot.finger_joints)].T
        v.qpos[fingers] = low + rng.uniform() * (high - low)

    def place_hand(self, v: SingleView, rng: Any) -> None:
        """Move the tool, pointing down, to a random position in its area without contacts.

        It may touch the hand itself and objects with free joints.
        """
        robot = self.robot
        if robot.arm.start:
            v.qpos[v.rows("qpos", robot.joints)] = robot.arm.start
        contacts = functools.partial(
            robot_contacts, arm=f"{robot.name}/", hand=f"{robot.hand_name}/"
        )
        place_tool(
            v, rng, robot.tool, robot.joints, *self.areas["tcp"], DOWN, contacts=contacts
        )  # fmt: skip


def features_and_vision(name: str, summary: str, **fields: Any) -> Callable[[TaskType], TaskType]:
    """Register a task under two ids, with and without object state.

    Args:
        name: gives "manipulation/<name>_features-v0" and "manipulation/<name>_vision-v0", which has
            the camera image instead.
        summary: summary of both, a sentence without its full stop.
        **fields: field values of this task.
    """

    def decorate(task: TaskType) -> TaskType:
        id = f"manipulation/{name}"
        numbers = register(
            f"{id}_features-v0",
            tags=("features",),
            summary=f"{summary}; objects observed as numbers.",
            **fields,
        )
        picture = register(
            f"{id}_vision-v0",
            tags=("vision",),
            summary=f"{summary}; objects observed by camera.",
            options={"observation": "dict+pixels"},
            vision=True,
            **fields,
        )
        return picture(numbers(task))

    return decorate
