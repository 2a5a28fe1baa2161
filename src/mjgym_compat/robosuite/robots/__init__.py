"""Robots: the available names, and the robots of an environment."""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.actions import Action, bounds
from mjgym.envs.env import Env
from mjgym.robots import arms
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.grippers import GripperModel
from mjgym_compat.robosuite.models.robots import RobotModel
from mjgym_compat.robosuite.models.scene_model import Scene
from mjgym_compat.robosuite.sim_facade import Simulation
from mjgym_compat.robosuite.utils import transform_utils

LIMIT_MARGIN = 0.1  # rad, from a joint limit


class Robot:
    """A robot of an environment; properties of its arms are dicts by "right" and "left".

    Args:
        env: the wrapped environment.
        number: of the robot.
        robot: the task's.
        actions: of the environment.
        scene: of the environment.
        sim: the simulation.
        control_freq: control frequency, Hz.

    Attributes:
        name: e.g. "Panda".
        arms: its arms, "right" and "left".
        prefix: of the names of its entries and elements.
        robot_joints: the joints of its arms.
        robot_arm_joints: the same.
        dof: their number.
        init_qpos: their published initial positions, rad.
        gripper_joints: the joints of each gripper.
        part_controllers: each arm's controller, with its parameters.
        eef_site_id: the site between the fingers of each arm.
        gripper: of each arm.
        robot_model: without its grippers.
        sim: the simulation.
        control_freq: control frequency, Hz.
        action_dim: numbers of an action for this robot.
        action_limits: their lower and upper bounds.
        action_split_indexes: start and end of each part within its part of an action.
    """

    def __init__(
        self,
        env: Env,
        number: int,
        robot: Any,
        actions: Sequence[Action],
        scene: Scene,
        sim: Simulation,
        control_freq: float,
    ) -> None:
        task: Any = env.task
        self._env = env
        self._actions = actions
        self.sim = sim
        asked: Any = task.robot
        self.name: str = asked if isinstance(asked, str) else asked[number]
        self.idn = number
        self.prefix = f"robot{number}_"
        self.control_freq = control_freq
        self.robot_joints: tuple[str, ...] = robot.joints
        self.robot_arm_joints = self.robot_joints
        self.dof = len(self.robot_joints)
        self.init_qpos = np.array(robot.arm.start)
        sides = {each.side: each for each in robot.manipulators}
        self._sides = sides  # arms of the task
        self.arms = tuple(sides)
        self.part_controllers = {side: each.controller for side, each in sides.items()}
        self.robot_model: RobotModel = scene.mujoco_robots[number]
        grippers: list[Any] = list(self.robot_model.models[1:])
        self.gripper: dict[str, GripperModel] = dict(zip(sides, grippers, strict=True))
        self.has_gripper = {side: bool(each.hand.joints) for side, each in sides.items()}
        self.gripper_joints = {side: each.finger_joints for side, each in sides.items()}
        self.eef_site_id = {side: int(env.model.site(m.tool).id) for side, m in sides.items()}
        self._index_joints(env.model)
        self._parts: dict[str, list[int]] = {}
        for i, action in enumerate(actions):
            part, _, what = action.name.partition(" ")
            if part.startswith(self.prefix):
                suffix = "_gripper" if what.startswith("gripper") else ""
                self._parts.setdefault(part.removeprefix(self.prefix) + suffix, []).append(i)

        indices = sorted(i for numbers in self._parts.values() for i in numbers)
        self._first = first = indices[0]
        self.action_dim = len(indices)
        self.action_limits = tuple(bound[indices] for bound in bounds(actions))
        self.action_split_indexes = {
            n: (min(ids) - first, max(ids) + 1 - first) for n, ids in self._parts.items()
        }

    def _index_joints(self, model: mujoco.MjModel) -> None:
        """Indices of its joints in the model, `qpos` and `qvel`, under robosuite's names."""
        self.joint_indexes = [int(model.joint(name).id) for name in self.robot_joints]
        self.arm_joint_indexes = self._ref_joint_indexes = self.joint_indexes
        self._ref_arm_joint_indexes = self.joint_indexes
        self._ref_joint_pos_indexes = model.jnt_qposadr[self.joint_indexes].tolist()
        self._ref_joint_vel_indexes = model.jnt_dofadr[self.joint_indexes].tolist()
        self._ref_arm_joint_pos_indexes = self._ref_joint_pos_indexes
        self._ref_arm_joint_vel_indexes = self._ref_joint_vel_indexes
        fingers = {
            side: [model.joint(name).id for name in names]
            for side, names in self.gripper_joints.items()
        }
        self._ref_gripper_joint_pos_indexes = {
            side: model.jnt_qposadr[ids].tolist() for side, ids in fingers.items()
        }
        self._ref_gripper_joint_vel_indexes = {
            side: model.jnt_dofadr[ids].tolist() for side, ids in fingers.items()
        }

    # Actions.

    def create_action_vector(self, parts: Mapping[str, Any]) -> np.ndarray:
        """The robot's part of an action, from its parts: "right", "right_gripper" and so on.

        Args:
            parts: numbers by part; 0 for missing parts.

        Raises:
            ValueError: there is no such part, or it has a wrong size.
        """
        vector = np.zeros(self.action_dim)
        for name, values in parts.items():
            if name not in self._parts:
                raise ValueError(f"{self.name} has no part {name!r}{or_else(name, self._parts)}")
            numbers = np.array(self._parts[name]) - self._first
            if np.shape(values) != numbers.shape:
                raise ValueError(f"{name}: expected {len(numbers)} numbers, got {values!r}")
            vector[numbers] = values
        return vector

    def print_action_info(self) -> None:
        """Print the meaning of its action entries."""
        for name, numbers in self._parts.items():
            for i in numbers:
                action = self._actions[i]
                limits = f"[{action.low:g}, {action.high:g}] x {action.unit}"
                print(f"{name}: {limits}: {action.meaning}")

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
        ids = [model.actuator(name).id for name in self.robot_model.actuators]
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

    @property
    def _hand_pos(self) -> dict[str, np.ndarray]:
        return {side: pose[:3, 3] for side, pose in self._hand_pose.items()}

    @property
    def _hand_orn(self) -> dict[str, np.ndarray]:
        return {side: pose[:3, :3] for side, pose in self._hand_pose.items()}

    @property
    def _hand_quat(self) -> dict[str, np.ndarray]:
        return {side: transform_utils.mat2quat(axes) for side, axes in self._hand_orn.items()}

    @property
    def _hand_vel(self) -> dict[str, np.ndarray]:
        return {n: self.sim.data.get_body_xvelp(arm.link) for n, arm in self._sides.items()}

    @property
    def _hand_ang_vel(self) -> dict[str, np.ndarray]:
        return {n: self.sim.data.get_body_xvelr(arm.link) for n, arm in self._sides.items()}

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

    def _measured(self, sensor: str) -> dict[str, np.ndarray]:
        names = {side: gripper.important_sensors[sensor] for side, gripper in self.gripper.items()}
        return {side: self.get_sensor_measurement(name) for side, name in names.items()}


ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
ROBOT_CLASS_MAPPING = dict.fromkeys(ALL_ROBOTS, Robot)
