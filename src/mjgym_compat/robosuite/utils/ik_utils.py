"""Inverse kinematics of several tools at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym import rotations
from mjgym.controllers import InverseKinematicsWholeBody, State
from mjgym.controllers.inverse_kinematics import GAIN
from mjgym.planning.bounded import bounded_minimum
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.controllers.parts import site_jacobian
from mjgym_compat.robosuite.utils import transform_utils
from mjgym_compat.robosuite.utils.log_utils import ROBOSUITE_DEFAULT_LOGGER

REPRESENTATIONS = {"axis_angle": 3, "quat_wxyz": 4}
ACTIONS = ("absolute", "relative", "relative_pose")
INPUTS = ("keyboard", "mocap", "pkl")
BASE = "robot0_base"  # body of the frame "base"
RECORDED_SIDES = ("left", "right")  # order of sites whose poses come from a file
FRAMES_PER_READING = 0.1  # of such a file
# Of `IKSolverMink`.
POSTURE_COST = 0.01
POSTURE_DAMPING, TOOL_DAMPING, DAMPING = 2.0, 1.0, 1e-5
LIMIT_GAIN = 0.95  # share of the way to a joint's limit in one step
TERMS = 30  # of an exponential series, for angles up to pi


def get_nullspace_gains(joint_names: Sequence[str], weight_dict: Mapping[str, float]) -> np.ndarray:
    """Gain of each joint towards zero, 1/s; 1 for joints without a weight."""
    return np.array([weight_dict.get(name, 1.0) for name in joint_names])


class _Tool(State):
    def jacobian_by(self, part: State) -> Any:
        return self.rows[:, part.dofs]


class _Law(InverseKinematicsWholeBody):
    def error(self, state: State, action: Any) -> Any:
        return action


class _Solver:
    input_ref_frame = "world"

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        sites: Sequence[str],
        joints: Sequence[str],
        input_action_repr: str,
        input_rotation_repr: str,
    ) -> None:
        for name, value, known in (
            ("input_action_repr", input_action_repr, ACTIONS),
            ("input_rotation_repr", input_rotation_repr, REPRESENTATIONS),
        ):
            if value not in known:
                raise ValueError(f"{name}: no {value!r}{or_else(value, known)}")
        self.full_model, self.full_model_data = model, data
        self.site_names, self.joint_names = list(sites), list(joints)
        self.site_ids = [model.site(name).id for name in self.site_names]
        ids = [model.joint(name).id for name in self.joint_names]
        self.dof_ids, self._qpos = model.jnt_dofadr[ids], model.jnt_qposadr[ids]
        self._range, self._limited = model.jnt_range[ids].T, model.jnt_limited[ids].astype(bool)
        self.input_action_repr, self.input_rotation_repr = input_action_repr, input_rotation_repr
        self.pos_dim, self.rot_dim = 3, REPRESENTATIONS[input_rotation_repr]
        self.control_dim = len(self.site_names) * (self.pos_dim + self.rot_dim)
        ends = np.full(self.control_dim, np.inf)
        self.control_limits = -ends, ends

    def action_split_indexes(self) -> dict[str, tuple[int, int]]:
        """Start and end of the action of each site, by "left" and "right"."""
        width = self.pos_dim + self.rot_dim
        sides = ["left" if "left" in name else "right" for name in self.site_names]
        return {side: (i * width, (i + 1) * width) for i, side in enumerate(sides)}

    def forward_kinematics(self, qpos: Any) -> dict[str, np.ndarray]:
        """Place of each site, (3,) m, with given positions of the joints, rad."""
        data = mujoco.MjData(self.full_model)
        data.qpos[self._qpos] = qpos
        mujoco.mj_kinematics(self.full_model, data)
        return {name: data.site(name).xpos.copy() for name in self.site_names}

    def get_controller_base_pose(self) -> np.ndarray:
        """Pose of the frame of actions in the world, (4, 4)."""
        return self._frame(self.input_ref_frame)

    def _frame(self, name: str) -> np.ndarray:
        body = self.full_model_data.body(BASE if name == "base" else name)
        return transform_utils.make_pose(body.xpos, body.xmat.reshape(3, 3))

    def _targets(self, action: Any) -> np.ndarray:
        """Poses of the sites in the world, (sites, 4, 4), that an action asks for."""
        if np.size(action) != self.control_dim:
            raise ValueError(f"target_action: expected {self.control_dim} numbers")
        rows = np.reshape(np.asarray(action, float), (len(self.site_ids), -1))
        poses = np.tile(np.eye(4), (len(rows), 1, 1))
        vectors = self.input_rotation_repr == "axis_angle"
        turn = rotations.from_rotation_vector if vectors else rotations.from_quaternion
        for pose, row, number in zip(poses, rows, self.site_ids, strict=True):
            site = self.full_model_data.site(number)
            axes = site.xmat.reshape(3, 3)
            pose[:3, 3], pose[:3, :3] = row[:3], turn(row[3:]).reshape(3, 3)
            if self.input_action_repr != "absolute":
                way = axes @ row[:3] if self.input_action_repr == "relative_pose" else row[:3]
                pose[:3, 3], pose[:3, :3] = site.xpos + way, axes @ pose[:3, :3]
        return self.get_controller_base_pose() @ poses

    def _jacobian(self, site: int) -> np.ndarray:
        return site_jacobian(self.full_model, self.full_model_data, site)


class IKSolver(_Solver):
    """Positions of joints that bring sites towards poses; see `InverseKinematicsWholeBody`.

    Args:
        robot_config: "end_effector_sites", "joint_names" and "nullspace_gains" (1/s); may have
            "initial_keyframe", and "mocap_bodies", one for each site.
        damping: of least squares.
        integration_dt: s, time scale of the joint velocities.
        max_dq: rad/s, joint speed limit; 0: unlimited.
        max_dq_torso: rad/s, of joints with "torso" in their names.
        input_type: where `get_targets` reads: "mocap" the mocap bodies, "pkl" the file.
        debug: whether to log how far the sites will be from their targets.
        input_action_repr: "absolute"; "relative" to each site's place and, apart from it, its
            rotation; or "relative_pose", in the site's frame.
        input_file: `.npz` with "left_eef_pos", "left_eef_quat_wxyz", "right_eef_pos" and
            "right_eef_quat_wxyz", a row per frame.
        input_rotation_repr: "axis_angle" or "quat_wxyz".
        input_ref_frame: "world", "base" for the body `robot0_base`, or the name of a body.

    Attributes:
        control_dim: numbers of an action, 6 or 7 per site.
        control_limits: their bounds, infinite.

    Raises:
        KeyError: the model has no such site, joint or body.
        ValueError: an argument is not supported.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        robot_config: Mapping[str, Any],
        damping: float,
        integration_dt: float,
        max_dq: float,
        max_dq_torso: float = 0.3,
        input_type: str = "keyboard",
        debug: bool = False,
        input_action_repr: str = "absolute",
        input_file: str | None = None,
        input_rotation_repr: str = "axis_angle",
        input_ref_frame: str = "world",
    ) -> None:
        config = robot_config
        names = config["end_effector_sites"], config["joint_names"]
        super().__init__(model, data, *names, input_action_repr, input_rotation_repr)
        if input_type not in INPUTS:
            raise ValueError(f"input_type: no {input_type!r}{or_else(input_type, INPUTS)}")
        self.damping, self.integration_dt, self.max_dq = damping, integration_dt, max_dq
        self.max_dq_torso, self.input_type, self.debug = max_dq_torso, input_type, debug
        self.input_ref_frame = input_ref_frame
        key = config.get("initial_keyframe")
        self.key_id = None if key is None else model.key(key).id
        bodies = config["mocap_bodies"] if input_type != "keyboard" else ()
        self.mocap_ids = [int(model.body(name).mocapid[0]) for name in bodies]
        if input_type == "pkl":
            self.history, self.pkl_t = _recorded(input_file), 0.0
        # A share of the joints for each site, and one for those of a torso, which have a limit.
        torso = np.array(["torso" in name for name in self.joint_names], bool)
        shares = np.array_split(np.flatnonzero(~torso), len(self.site_names))
        groups = [(share, max_dq, True) for share in shares]
        groups += [(np.flatnonzero(torso), max_dq_torso, False)] if torso.any() else []
        self.Kn = np.array(config["nullspace_gains"], float)
        of_all: dict[str, Any] = {"damping": damping, "integration_dt": integration_dt}
        self._parts = [
            (share, _Law(max_dq=limit, posture_gain=tuple(self.Kn[share]), tool=tool, **of_all))
            for share, limit, tool in groups
        ]

    def solve(self, target_action: Any, Kpos: float = GAIN, Kori: float = GAIN) -> np.ndarray:
        """Positions of the joints after one integration step, (n,) rad, within their ranges.

        Args:
            target_action: position (m) and rotation of each site, (control_dim,).
            Kpos: fraction of the error of positions that is corrected.
            Kori: of that of rotations.

        Raises:
            ValueError: the action has another length.
        """
        targets, data = self._targets(target_action), self.full_model_data
        parts = []
        for i, (share, law) in enumerate(self._parts):
            low, high = self._range[:, share]
            state = _Tool(qpos=data.qpos[self._qpos[share]], qpos_low=low, qpos_high=high)
            state.__dict__["dofs"] = self.dof_ids[share]
            error = np.zeros(0)
            if law.tool:
                site, pose = data.site(self.site_ids[i]), targets[i]
                state.__dict__["rows"] = self._jacobian(site.id)
                turn = rotations.to_rotation_vector(
                    (pose[:3, :3] @ site.xmat.reshape(3, 3).T).ravel()
                )
                way = pose[:3, 3] - site.xpos
                error = np.concatenate([way * (Kpos / GAIN), turn * (Kori / GAIN)])
            parts.append((law, state, error, law.memory(state)))
        positions = np.empty(len(self.joint_names))
        goals = InverseKinematicsWholeBody.coupled_goals(parts)
        for (share, _), goal in zip(self._parts, goals, strict=True):
            positions[share] = goal["qpos"]
        if self.debug:
            places = np.array([*self.forward_kinematics(positions).values()])
            far = np.linalg.norm(targets[:, :3, 3] - places)
            ROBOSUITE_DEFAULT_LOGGER.info(f"IK error after clipping based on joint ranges: {far}")
        self.q_des = positions
        return positions

    def transform_pose(self, src_frame_pose: Any, src_frame: str, dst_frame: str) -> np.ndarray:
        """A pose, (4, 4), in a frame in place of another; frames are those of `input_ref_frame`."""
        there = np.linalg.inv(self._frame(dst_frame)) @ self._frame(src_frame)
        return np.asarray(there @ np.asarray(src_frame_pose))

    def reset_to_initial_state(self) -> None:
        """Go to the initial keyframe, if there is one."""
        if self.key_id is not None:
            mujoco.mj_resetDataKeyframe(self.full_model, self.full_model_data, self.key_id)

    def set_target_positions(self, target_positions: Any) -> None:
        """Move the mocap bodies, (sites, 3) m."""
        self.full_model_data.mocap_pos[self.mocap_ids] = target_positions

    def set_target_rotations(self, target_rotations: Any) -> None:
        """Turn the mocap bodies, (sites, 4), w, x, y, z."""
        self.full_model_data.mocap_quat[self.mocap_ids] = target_rotations

    def get_targets(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (sites, 3) m and quaternions (sites, 4), w, x, y, z, of the mocap bodies.

        With a file, every tenth call moves them to its next frame, the left one first.

        Raises:
            ValueError: targets come from the keyboard.
            IndexError: the file has ended.
        """
        if self.input_type == "keyboard":
            raise ValueError("get_targets: needs input_type='mocap' or 'pkl'")
        if self.input_type == "pkl":
            self.pkl_t += FRAMES_PER_READING
            for key, move in (
                ("pos", self.set_target_positions),
                ("quat_wxyz", self.set_target_rotations),
            ):
                rows = [self.history[f"{side}_eef_{key}"] for side in RECORDED_SIDES]
                move([row[int(self.pkl_t)] for row in rows])
        data = self.full_model_data
        return data.mocap_pos[self.mocap_ids], data.mocap_quat[self.mocap_ids]


def _recorded(file: str | None) -> dict[str, np.ndarray]:
    if file is None or Path(file).suffix != ".npz":
        raise ValueError(
            f"input_file: expected an .npz, not {file!r}, as a pickle runs code; write"
            " numpy.savez(file, **pickle.load(...)) once"
        )
    with np.load(file) as arrays:
        return dict(arrays)


class IKSolverMink(_Solver):
    """Positions of joints by a quadratic program, with the tasks of robosuite's solver on mink.

    Each step minimizes the weighted errors of the sites' poses, as logarithms in their frames, and
    of a posture, with Levenberg-Marquardt damping; joints go at most 95 % of the way to a limit.
    J. Solà, J. Deray and D. Atchuthan, "A micro Lie theory for state estimation in robotics"
    (2018), has the logarithm and its Jacobian.

    Args:
        robot_model: names the joints, where `robot_joint_names` does not.
        debug: ignored, as are `solve_freq` and the joint speed derived from it.
        input_action_repr: as of `IKSolver`, as are `input_rotation_repr` and `input_ref_frame`.
        posture_weights: pull of joints towards the posture, by name; 1 for others.
        hand_pos_cost: per m.
        hand_ori_cost: per rad.

    Raises:
        KeyError: the model has no such site or joint.
        ValueError: an argument is not supported.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        site_names: Sequence[str],
        robot_model: mujoco.MjModel | None = None,
        robot_joint_names: Sequence[str] | None = None,
        debug: bool = False,
        input_action_repr: str = "absolute",
        input_rotation_repr: str = "axis_angle",
        posture_weights: Mapping[str, float] | None = None,
        solve_freq: float = 20.0,
        hand_pos_cost: float = 1.0,
        hand_ori_cost: float = 0.5,
        input_ref_frame: str = "world",
    ) -> None:
        if robot_joint_names is None:
            own = model if robot_model is None else robot_model
            free = mujoco.mjtJoint.mjJNT_FREE
            numbers = np.flatnonzero(own.jnt_type != free).tolist()
            robot_joint_names = [own.joint(i).name for i in numbers]
        reprs = input_action_repr, input_rotation_repr
        super().__init__(model, data, site_names, robot_joint_names, *reprs)
        self.input_ref_frame = input_ref_frame
        self._weights = get_nullspace_gains(self.joint_names, posture_weights or {})
        self._costs = np.repeat([hand_pos_cost, hand_ori_cost], 3)
        self._poses: Any = None
        self.set_posture_target(np.zeros(len(self.joint_names)))

    def set_target_poses(self, target_poses: Any) -> None:
        """Set the poses of the sites in the world, (sites, 4, 4)."""
        self._poses = np.array(target_poses, float)

    def set_posture_target(self, posture_target: Any) -> None:
        """Set the posture, (n,) rad."""
        self._posture = np.array(posture_target, float)

    def solve(self, target_action: Any = None) -> np.ndarray:
        """Positions of the joints after one step, (n,) rad.

        Args:
            target_action: position (m) and rotation of each site; None for the last targets.

        Raises:
            ValueError: the action has another length, or there is no target.
        """
        if target_action is not None:
            self.set_target_poses(self._targets(target_action))
        if self._poses is None:
            raise ValueError("target_action: None needs set_target_poses before")
        qpos = self.full_model_data.qpos[self._qpos]
        identity = np.eye(len(qpos))
        pull = POSTURE_COST * self._weights
        tasks = [(pull * (self._posture - qpos), np.diag(pull), POSTURE_DAMPING)]
        for number, pose in zip(self.site_ids, self._poses, strict=True):
            site = self.full_model_data.site(number)
            axes = site.xmat.reshape(3, 3)
            rows = np.vstack([axes.T @ part for part in np.split(self._jacobian(number), 2)])
            error = _logarithm(axes.T @ pose[:3, :3], axes.T @ (pose[:3, 3] - site.xpos))
            moved = np.linalg.solve(_left_jacobian(_adjoint(error)), rows[:, self.dof_ids])
            tasks.append((self._costs * error, self._costs[:, None] * moved, TOOL_DAMPING))
        curvature = DAMPING * identity
        slope = np.zeros(len(qpos))
        for error, jacobian, damping in tasks:
            curvature += jacobian.T @ jacobian + damping * (error @ error) * identity
            slope -= jacobian.T @ error
        ends = np.where(self._limited, LIMIT_GAIN * (self._range - qpos), [[-np.inf], [np.inf]])
        return np.asarray(qpos + bounded_minimum(curvature, slope, *ends)[0])


def _skew(v: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3), v)


def _adjoint(twist: np.ndarray) -> np.ndarray:
    """Matrix of the Lie bracket with a twist, of displacement and rotation, (6, 6)."""
    way, turn = _skew(twist[:3]), _skew(twist[3:])
    return np.block([[turn, way], [np.zeros((3, 3)), turn]])


def _left_jacobian(bracket: np.ndarray) -> np.ndarray:
    term = total = np.eye(len(bracket))
    for n in range(2, TERMS):
        term = term @ bracket / n
        total = total + term
    return total


def _logarithm(rotation: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Twist, (6,), of a pose."""
    turn = np.asarray(rotations.to_rotation_vector(rotation.ravel()))
    return np.concatenate([np.linalg.solve(_left_jacobian(_skew(turn)), place), turn])
