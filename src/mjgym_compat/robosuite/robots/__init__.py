"""Robots: the available names, and the robots of an environment."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.actions import Action, bounds
from mjgym.envs.env import Env
from mjgym.robots import arms, bases
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.controllers.composite import composite_controller_factory
from mjgym_compat.robosuite.controllers.configs import (
    ALL_COMPOSITE_CONTROLLERS,
    BASIC,
    HYBRID,
    REGISTERED,
    SPECIFIC,
    WHOLE_BODY,
    load_composite_controller_config,
)
from mjgym_compat.robosuite.controllers.parts import Controller, SimpleGripController
from mjgym_compat.robosuite.models.bases import robot_base_factory
from mjgym_compat.robosuite.models.grippers import gripper_factory
from mjgym_compat.robosuite.models.robots import REGISTERED_ROBOTS as REGISTERED_ROBOTS
from mjgym_compat.robosuite.models.robots import create_robot
from mjgym_compat.robosuite.utils import transform_utils
from mjgym_compat.robosuite.utils.binding_utils import Simulation
from mjgym_compat.robosuite.utils.buffers import DeltaBuffer

SMOOTHED = 10  # control steps, of accelerations
LIMIT_MARGIN = 0.1  # rad, from a joint limit


def _each(source: str, of_one: Callable[[np.ndarray], np.ndarray]) -> Any:
    def values(robot: Any) -> dict[str, np.ndarray]:
        return {side: of_one(value) for side, value in getattr(robot, source).items()}

    return property(values)


class Robot:
    """A robot of an environment; properties of its arms are dicts by "right" and "left".

    Args:
        robot_type: its name, e.g. "Panda".
        base_type: name of its base, "default" for its own, None for none.
        gripper_type: name of its grippers, "default" for its own, None for none.
        control_freq: control frequency, Hz.
        composite_controller_config: of the whole robot; None for its default.

    Attributes:
        robot_model: its model, of `load_model`.
        arms: its arms, "right" and "left".
        prefix: of the names of its entries and elements.
        robot_joints: its joints without those of its base and its fingers.
        dof: the number of `robot_joints`.
        init_qpos: their published initial positions, rad or m.
        part_controllers: controllers of its arms, torso, head, legs, base and grippers, see
            `Controller`.
        composite_controller: see `CompositeController`.
        eef_site_id: the site between the fingers of each arm.
        action_dim: numbers of an action for this robot.
        action_limits: their lower and upper bounds.
        action_split_indexes: start and end of each part within its part of an action.
        recent_qpos: joint positions at the last two actions, see `DeltaBuffer`.
        recent_torques: torques of the arms' motors at the last two actions, N m.
        recent_ee_forcetorques: force and torque at each hand, at the last two actions.
        recent_ee_pose: position and orientation (x, y, z, w) of each hand, likewise.
        recent_ee_vel: velocity and angular velocity of each hand, likewise.
        recent_ee_acc: means of their changes (per s) over ten control steps, likewise.
    """

    def __init__(
        self,
        robot_type: str,
        idn: int = 0,
        base_type: str | None = "default",
        gripper_type: str | None = "default",
        control_freq: float = 20,
        composite_controller_config: Any = None,
    ) -> None:
        self.name, self.idn, self.control_freq = robot_type, idn, control_freq
        config = composite_controller_config
        if config is None and robot_type in arms.names():
            config = load_composite_controller_config(robot=robot_type)
        self.composite_controller_config: Mapping[str, Any] = (
            config if isinstance(config, Mapping) else {}
        )
        self.prefix = f"robot{idn}_"
        self.base_type, self.gripper_type = base_type, gripper_type
        self.robot_model: Any = None
        # Actuators of disabled parts, with their control ranges before, and the model.
        self._held: tuple[Any, ...] = [], [], [], None

    def load_model(self) -> None:
        self.robot_model = model = create_robot(self.name, idn=self.idn)
        base = model.default_base if self.base_type == "default" else self.base_type
        model.add_base(robot_base_factory(base, self.idn))
        for side, link in model.eef_name.items():
            name = self.gripper_type
            name = model.default_gripper[side] if name == "default" else name
            model.add_gripper(gripper_factory(name, idn=f"{self.idn}_{side}"), link)

    def use(self, part: Any) -> None:
        """Take over a robot of a tabletop task, with its arms, hands and base."""
        self.part = part
        self.robot_joints = [*part.joints]
        self.robot_arm_joints = [name for each in part.manipulators for name in each.joints]
        self.dof = len(self.robot_joints)
        self.init_qpos = np.array(part.arm.start)
        sides = {each.side: each for each in part.manipulators}
        self._sides = sides  # arms of the task
        self.arms = tuple(sides)
        grippers: list[Any] = list(self.robot_model.models[1:])
        self.gripper: dict[str, Any] = dict(zip(sides, grippers, strict=True))
        self.has_gripper = {side: bool(each.hand.joints) for side, each in sides.items()}
        self.gripper_joints = {side: [*each.finger_joints] for side, each in sides.items()}
        self._motors_of = {each.name.removeprefix(self.prefix): each.motors for each in part.parts}
        self._motors_of |= {f"{s}_gripper": each.finger_actuators for s, each in sides.items()}

    def reset_sim(self, sim: Simulation, env: Env, actions: Sequence[Action]) -> None:
        """Use a simulation, which an environment of this package runs."""
        self.sim, self._env, self._actions = sim, env, actions
        model = env.model
        self.eef_site_id = {side: int(model.site(m.tool).id) for side, m in self._sides.items()}
        self._index_joints(model)
        self._parts: dict[str, list[int]] = {}
        for i, action in enumerate(actions):
            part, _, what = action.name.partition(" ")
            if part.startswith(self.prefix):
                suffix = "_gripper" if what.startswith("gripper") else ""
                self._parts.setdefault(part.removeprefix(self.prefix) + suffix, []).append(i)

        indices = sorted(i for numbers in self._parts.values() for i in numbers)
        first = indices[0]
        self.action_dim = len(indices)
        limits: Any = tuple(bound[indices] for bound in bounds(actions))
        self.action_split_indexes = {
            n: (min(ids) - first, max(ids) + 1 - first) for n, ids in self._parts.items()
        }
        self.part_controllers = {
            each.name.removeprefix(self.prefix): Controller.of(each, sim, env)
            for each in self.part.parts
        }
        self.part_controllers |= {
            f"{side}_gripper": SimpleGripController.of_hand(each, sim, env)
            for side, each in self._sides.items()
            if f"{side}_gripper" in self._parts
        }
        couples = any(each.controller.couples for each in self.part.manipulators)
        splits = self.action_split_indexes
        for each in () if couples else self.part.parts:
            name = each.name.removeprefix(self.prefix)
            for bound, own in zip(limits, self.part_controllers[name].control_limits, strict=True):
                bound[slice(*splits[name])] = own
        kind = HYBRID if self.part.hybrid else WHOLE_BODY if couples else BASIC
        config = self.composite_controller_config
        if config.get("type") in REGISTERED.keys() - ALL_COMPOSITE_CONTROLLERS:
            kind = config["type"]
        grippers = {f"{side}_gripper": each for side, each in self.gripper.items()}
        whole = composite_controller_factory(kind, sim, self.robot_model, grippers)
        whole.drives(self.arms, self.part_controllers, splits, limits, config.get(SPECIFIC, {}))
        self.composite_controller, self.action_limits = whole, whole.action_limits
        self.action_dim = len(whole.action_limits[0])
        self.forget()

    def forget(self) -> None:
        """Clear its buffers of the last actions, and enable all its parts."""
        self.recent_qpos, self.recent_torques = DeltaBuffer(self.dof), DeltaBuffer(self.dof)
        self.recent_actions = DeltaBuffer(self.action_dim)
        self.recent_ee_forcetorques = {side: DeltaBuffer(6) for side in self.arms}
        self.recent_ee_pose = {side: DeltaBuffer(7) for side in self.arms}
        self.recent_ee_vel = {side: DeltaBuffer(6) for side in self.arms}
        self.recent_ee_acc = {side: DeltaBuffer(6) for side in self.arms}
        self._changes = {side: deque([np.zeros(6)] * SMOOTHED, SMOOTHED) for side in self.arms}
        self.enable_parts()

    def remember(self, action: np.ndarray) -> None:
        """Record its action with the current positions, torques and forces."""
        self.recent_qpos.push(self._joint_positions)
        self.recent_actions.push(action)
        self.recent_torques.push(self.torques)
        force, torque, hand = self.ee_force, self.ee_torque, self._hand_quat
        for side in self.arms:
            self.recent_ee_forcetorques[side].push([*force[side], *torque[side]])
            self.recent_ee_pose[side].push([*self._hand_pos[side], *hand[side]])
            self.recent_ee_vel[side].push([*self._hand_vel[side], *self._hand_ang_vel[side]])
            self._changes[side].append(self.recent_ee_vel[side].delta * self.control_freq)
            self.recent_ee_acc[side].push(np.mean(self._changes[side], axis=0))

    @property
    def torques(self) -> np.ndarray:
        """Controls of the arms' motors, N m."""
        return np.array(self._env.data.ctrl[self._motor_indexes])

    def begin(self, rng: Any, noise: tuple[float, str], deterministic: bool = False) -> None:
        """Go to the start of an episode.

        Args:
            noise: size (rad) and type, "gaussian" or "uniform", of its joints' starts.
            deterministic: whether there is none, and grippers stay where they are.
        """
        size, kind = (0.0, "gaussian") if deterministic else noise
        draw = rng.standard_normal if kind == "gaussian" else lambda n: rng.uniform(-1, 1, n)
        data = self._env.data
        data.qpos[self._ref_joint_pos_indexes] = self.init_qpos + size * draw(self.dof)
        for each in self.part.groups:
            for name, place in zip(each.joints, each.group.start, strict=False):
                data.joint(name).qpos[:] = place
        for joint, place in self.part.arm.base_start:
            data.joint(self.part.base_prefix + joint).qpos[:] = place
        for side, gripper in self.gripper.items():
            if self.has_gripper[side] and not deterministic:
                data.qpos[self._ref_gripper_joint_pos_indexes[side]] = gripper.init_qpos
        self.forget()

    # Indices.

    def _index_joints(self, model: mujoco.MjModel) -> None:
        def indices(names: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
            ids = [int(model.joint(name).id) for name in names]
            return ids, model.jnt_qposadr[ids].tolist(), model.jnt_dofadr[ids].tolist()

        own, arm = indices(self.robot_joints), indices(self.robot_arm_joints)
        self.joint_indexes, self._ref_joint_pos_indexes, self._ref_joint_vel_indexes = own
        self.arm_joint_indexes = arm[0]
        self._ref_arm_joint_pos_indexes, self._ref_arm_joint_vel_indexes = arm[1:]
        self._ref_joint_indexes = self.joint_indexes
        self._ref_arm_joint_indexes = self.arm_joint_indexes
        motors = [name for each in self.part.manipulators for name in each.motors]
        self._motor_indexes = [int(model.actuator(name).id) for name in motors]
        self._ref_arm_joint_actuator_indexes = self._motor_indexes
        fingers = {side: indices(names) for side, names in self.gripper_joints.items()}
        self._ref_gripper_joint_pos_indexes = {side: each[1] for side, each in fingers.items()}
        self._ref_gripper_joint_vel_indexes = {side: each[2] for side, each in fingers.items()}

    # Actions.

    def create_action_vector(self, parts: Mapping[str, Any]) -> np.ndarray:
        """The robot's part of an action, from its parts: "right", "right_gripper" and so on.

        Args:
            parts: numbers by part; 0 for missing parts, and -1 for "base_mode". Those of devices
                that end in "_delta" and "_abs" are ignored.

        Raises:
            ValueError: there is no such part, or it has a wrong size.
        """
        asked = {name: x for name, x in parts.items() if not name.endswith(("_delta", "_abs"))}
        for name in asked:
            if name not in self._parts and not self.composite_controller.get_control_dim(name):
                raise ValueError(f"{self.name} has no part {name!r}{or_else(name, self._parts)}")
        return self.composite_controller.create_action_vector(asked)

    def print_action_info_dict(self) -> None:
        self.composite_controller.print_action_info_dict(self.name)

    def print_action_info(self) -> None:
        for name, numbers in self._parts.items():
            for i in numbers:
                action = self._actions[i]
                limits = f"[{action.low:g}, {action.high:g}] x {action.unit}"
                print(f"{name}: {limits}: {action.meaning}")

    @property
    def is_mobile(self) -> bool:
        """Whether its base moves or has legs."""
        return isinstance(self, MobileRobot) or bool(self.part.groups)

    def has_part(self, part_name: str) -> bool:
        """Whether it has a part, e.g. "right", "right_gripper" or "base"."""
        return part_name in self._parts

    def get_gripper_name(self, arm: str) -> str:
        return f"{arm}_gripper"

    # Joints.

    @property
    def torque_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper torque limits of the joints, N m."""
        model = self._env.model
        ids = self._motor_indexes
        return model.actuator_ctrlrange[ids, 0].copy(), model.actuator_ctrlrange[ids, 1].copy()

    @property
    def _joint_positions(self) -> np.ndarray:
        return np.array(self._env.data.qpos[self._ref_joint_pos_indexes])

    @property
    def _joint_velocities(self) -> np.ndarray:
        return np.array(self._env.data.qvel[self._ref_joint_vel_indexes])

    def get_robot_joint_positions(self) -> np.ndarray:
        """Positions of its arms' joints, rad."""
        return self._joint_positions

    def set_robot_joint_positions(self, jpos: Any) -> None:
        """Set the positions of its arms' joints, rad, and update dependent quantities."""
        self._env.data.qpos[self._ref_joint_pos_indexes] = jpos
        self.sim.forward()

    def get_all_robot_joint_positions(self) -> dict[str, float]:
        """Positions of its joints and of its grippers' by their names, rad or m."""
        names = [name for part in self.part.parts for name in part.joints]
        names += [name for names in self.gripper_joints.values() for name in names]
        return {name: float(self._env.data.joint(name).qpos[0]) for name in names}

    def set_all_robot_joint_positions(self, joint_positions: Mapping[str, float]) -> None:
        """Set positions of joints by their names, rad or m, and update dependent quantities."""
        for name, position in joint_positions.items():
            self._env.data.joint(name).qpos[:] = position
        self.sim.forward()

    def get_gripper_joint_positions(self, gripper_arm: str | None = None) -> np.ndarray:
        """Positions of a gripper's joints, m or rad; by default the first arm's."""
        side = gripper_arm or self.arms[0]
        return np.array(self._env.data.qpos[self._ref_gripper_joint_pos_indexes[side]])

    def set_gripper_joint_positions(self, jpos: Any, gripper_arm: str | None = None) -> None:
        """Set the positions of a gripper's joints, and update dependent quantities."""
        side = gripper_arm or self.arms[0]
        self._env.data.qpos[self._ref_gripper_joint_pos_indexes[side]] = jpos
        self.sim.forward()

    def check_q_limits(self) -> bool:
        """Whether a joint is within 0.1 rad of a limit."""
        model, ids = self._env.model, self.joint_indexes
        low, high = model.jnt_range[ids].T
        angles = self._joint_positions
        inside = (low + LIMIT_MARGIN < angles) & (angles < high - LIMIT_MARGIN)
        return bool((model.jnt_limited[ids].astype(bool) & ~inside).any())

    # Hands, in the robot's frame.

    @property
    def origins(self) -> dict[str, str]:
        """The site that defines each arm's frame of actions."""
        return {side: each.origin for side, each in self._sides.items()}

    @property
    def base_pos(self) -> np.ndarray:
        """Position of its frame in the world, m."""
        return np.array(self._env.data.body(self.robot_model.root_body).xpos)

    @property
    def base_ori(self) -> np.ndarray:
        """Rotation matrix of its frame in the world, (3, 3)."""
        return np.array(self._env.data.body(self.robot_model.root_body).xmat).reshape(3, 3)

    def pose_in_base_from_name(self, name: str) -> np.ndarray:
        """A body's pose in the robot's frame, (4, 4)."""
        body = self._env.data.body(name)
        world = transform_utils.make_pose(body.xpos, body.xmat.reshape(3, 3))
        base = transform_utils.make_pose(self.base_pos, self.base_ori)
        return np.asarray(transform_utils.pose_inv(base) @ world)

    @property
    def _hand_pose(self) -> dict[str, np.ndarray]:
        return {n: self.pose_in_base_from_name(arm.link) for n, arm in self._sides.items()}

    _hand_pos = _each("_hand_pose", lambda pose: pose[:3, 3])
    _hand_orn = _each("_hand_pose", lambda pose: pose[:3, :3])
    _hand_quat = _each("_hand_pose", transform_utils.mat2quat)

    @property
    def _hand_total_velocity(self) -> dict[str, np.ndarray]:
        """Velocity and angular velocity by the arm's joints, (6,), m/s and rad/s."""
        model, data, velocities = self._env.model, self._env.data, {}
        for side, arm in self._sides.items():
            rows = np.zeros((6, model.nv))
            mujoco.mj_jacBody(model, data, rows[:3], rows[3:], model.body(arm.link).id)
            own = model.jnt_dofadr[[model.joint(name).id for name in arm.joints]]
            velocities[side] = rows[:, own] @ data.qvel[own]
        return velocities

    _hand_vel = _each("_hand_total_velocity", lambda velocity: velocity[:3])
    _hand_ang_vel = _each("_hand_total_velocity", lambda velocity: velocity[3:])

    # Sensors.

    def get_sensor_measurement(self, sensor_name: str) -> np.ndarray:
        return np.array(self._env.data.sensor(sensor_name).data)

    @property
    def ee_force(self) -> dict[str, np.ndarray]:
        """The measured force (N) at each hand, (3,)."""
        return self._measured("force_ee")

    @property
    def ee_torque(self) -> dict[str, np.ndarray]:
        """The measured torque (N m) at each hand, (3,)."""
        return self._measured("torque_ee")

    @property
    def js_energy(self) -> np.ndarray:
        """Torques of the arms' motors, N m, times the control step, s."""
        return np.abs(self.recent_torques.average / self.control_freq)

    @property
    def ee_ft_integral(self) -> dict[str, np.ndarray]:
        """Force and torque at each hand, (6,), times the control step, s."""
        recent = self.recent_ee_forcetorques.items()
        return {side: np.abs(each.average / self.control_freq) for side, each in recent}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        """Show or hide sites: of the "robots" and the "grippers"."""
        self.robot_model.set_sites_visibility(self.sim, vis_settings["robots"])
        for gripper in self.gripper.values():
            gripper.set_sites_visibility(self.sim, vis_settings["grippers"])

    def _measured(self, sensor: str) -> dict[str, np.ndarray]:
        names = {side: gripper.important_sensors[sensor] for side, gripper in self.gripper.items()}
        return {side: self.get_sensor_measurement(name) for side, name in names.items()}

    # Parts that hold still.

    def enable_parts(self, right: bool = True, left: bool = True) -> None:
        """Let its arms with their grippers follow actions, or keep their last controls.

        A reset enables all.
        """
        self._enable({"right": right, "left": left})

    def enabled(self, part_name: str) -> bool:
        return self._enabled_parts[part_name]

    def _enable(self, parts: Mapping[str, bool]) -> None:
        grippers = {f"{side}_gripper": parts[side] for side in ("right", "left")}
        self._enabled_parts = {**parts, **grippers}
        model, control = self._env.model, self._env.data.ctrl
        held, ranges, limited, holder = self._held
        if holder is model:
            model.actuator_ctrlrange[held], model.actuator_ctrllimited[held] = ranges, limited
        off = [name for name, on in self._enabled_parts.items() if not on]
        names = [name for part in off for name in self._motors_of.get(part, ())]
        ids = np.array([model.actuator(name).id for name in names], dtype=np.int64)
        ranges, limited = model.actuator_ctrlrange[ids], model.actuator_ctrllimited[ids]
        self._held = ids, ranges, limited, model
        # The engine clamps what the task's laws ask for.
        model.actuator_ctrlrange[ids], model.actuator_ctrllimited[ids] = control[ids, None], 1
        self._controls = control[ids]

    def hold(self) -> None:
        """Show the controls that disabled parts keep."""
        self._env.data.ctrl[self._held[0]] = self._controls


class FixedBaseRobot(Robot):
    """A robot with a fixed base."""


class MobileRobot(Robot):
    """A robot with a moving base."""

    base, torso, head, legs = "base", "torso", "head", "legs"  # names of its parts

    def enable_parts(
        self,
        right: bool = True,
        left: bool = True,
        torso: bool = True,
        head: bool = True,
        base: bool = True,
        legs: bool = True,
    ) -> None:
        """Let its parts follow actions, or keep their last controls; see `Robot.enable_parts`."""
        arms = {"right": right, "left": left}
        self._enable({**arms, "torso": torso, "head": head, "base": base, "legs": legs})


class WheeledRobot(MobileRobot):
    """A robot on wheels."""


class LeggedRobot(MobileRobot):
    """A robot with legs, moving or fixed."""


target_type_mapping = CLASSES = {
    each.__name__: each for each in (FixedBaseRobot, MobileRobot, WheeledRobot, LeggedRobot)
}


ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
LEGGED = ("GR1", "SpotWithArm")  # beginnings of the names of robots with legs


def _class_of(name: str) -> type[Robot]:
    if name.startswith(LEGGED):
        return LeggedRobot
    return WheeledRobot if bases.find(arms.find(name).base).groups else FixedBaseRobot


ROBOT_CLASS_MAPPING: dict[str, type[Robot]] = {name: _class_of(name) for name in ALL_ROBOTS}


def register_robot_class(target_type: str) -> Callable[[type], type]:
    """A decorator of robot models that makes their robots of a class here, by its name.

    Raises:
        ValueError: there is no such class.
    """
    if target_type not in CLASSES:
        raise ValueError(f"target_type: no {target_type!r}{or_else(target_type, CLASSES)}")

    def decorate(target_class: type) -> type:
        ROBOT_CLASS_MAPPING[target_class.__name__] = CLASSES[target_type]
        return target_class

    return decorate
