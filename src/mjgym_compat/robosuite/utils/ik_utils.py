"""Inverse kinematics of several tools at once, by the law of `mjgym.controllers`."""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym import rotations
from mjgym.controllers import InverseKinematicsWholeBody, State
from mjgym.controllers.inverse_kinematics import GAIN
from mjgym.util.suggestions import or_else

REPRESENTATIONS = {"axis_angle": 3, "quat_wxyz": 4}
ACTIONS = ("absolute", "relative")
BASE = "robot0_base"  # body of the frame "base"


def get_nullspace_gains(joint_names: Sequence[str], weight_dict: Mapping[str, float]) -> np.ndarray:
    """Pull of each joint towards zero, 1/s: its weight, or 1."""
    return np.array([weight_dict.get(name, 1.0) for name in joint_names])


class _Tool(State):
    """State of a tool, and of a share of the joints that all tools have in common."""

    def jacobian_by(self, part: State) -> Any:
        return self.rows[:, part.dofs]


class IKSolver:
    """Positions of joints that bring sites towards poses; see `InverseKinematicsWholeBody`.

    Args:
        robot_config: "end_effector_sites", "joint_names" and "nullspace_gains" (1/s).
        damping: of least squares.
        integration_dt: s, time scale of the joint velocities.
        max_dq: rad/s, joint speed limit; 0: unlimited.
        max_dq_torso: rad/s, of joints with "torso" in their names.
        input_action_repr: "absolute", or "relative" to the present pose of each site.
        input_rotation_repr: "axis_angle" or "quat_wxyz".
        input_ref_frame: "world", "base" for the body `robot0_base`, or the name of a body.
        **unused: other arguments of robosuite, for targets from files and mocap bodies.

    Attributes:
        control_dim: numbers of an action, 6 or 7 per site.
        control_limits: their bounds, infinite.

    Raises:
        KeyError: the model has no such site or joint.
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
        input_action_repr: str = "absolute",
        input_rotation_repr: str = "axis_angle",
        input_ref_frame: str = "world",
        **unused: Any,
    ) -> None:
        for name, value, known in (
            ("input_action_repr", input_action_repr, ACTIONS),
            ("input_rotation_repr", input_rotation_repr, REPRESENTATIONS),
        ):
            if value not in known:
                raise ValueError(f"{name}: no {value!r}{or_else(value, known)}")
        self.full_model, self.full_model_data = model, data
        self.site_names = list(robot_config["end_effector_sites"])
        self.joint_names = list(robot_config["joint_names"])
        self.site_ids = [model.site(name).id for name in self.site_names]
        joints = [model.joint(name).id for name in self.joint_names]
        self.dof_ids, self._qpos = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
        self._range = model.jnt_range[joints].T
        self.damping, self.integration_dt, self.max_dq = damping, integration_dt, max_dq
        self.input_action_repr, self.input_rotation_repr = input_action_repr, input_rotation_repr
        self.input_ref_frame = input_ref_frame
        self.pos_dim, self.rot_dim = 3, REPRESENTATIONS[input_rotation_repr]
        self.control_dim = len(self.site_names) * (self.pos_dim + self.rot_dim)
        ends = np.full(self.control_dim, np.inf)
        self.control_limits = -ends, ends
        # A share of the joints for each site, and one for those of a torso, which have a limit.
        torso = np.array(["torso" in name for name in self.joint_names], bool)
        shares = np.array_split(np.flatnonzero(~torso), len(self.site_names))
        groups = [(share, max_dq, True) for share in shares]
        groups += [(np.flatnonzero(torso), max_dq_torso, False)] if torso.any() else []
        gains = np.array(robot_config["nullspace_gains"], float)
        self._parts = [
            (
                share,
                InverseKinematicsWholeBody(
                    damping=damping,
                    integration_dt=integration_dt,
                    max_dq=limit,
                    posture_gain=tuple(gains[share].tolist()),
                    tool=tool,
                ),
            )
            for share, limit, tool in groups
        ]

    def action_split_indexes(self) -> dict[str, tuple[int, int]]:
        """Start and end of the action of each site, by "left" and "right"."""
        width = self.pos_dim + self.rot_dim
        sides = ["left" if "left" in name else "right" for name in self.site_names]
        return {side: (i * width, (i + 1) * width) for i, side in enumerate(sides)}

    def get_controller_base_pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) m and rotation (9,) of the frame of actions in the world."""
        if self.input_ref_frame == "world":
            return np.zeros(3), np.eye(3).ravel()
        name = BASE if self.input_ref_frame == "base" else self.input_ref_frame
        body = self.full_model_data.body(name)
        return body.xpos.copy(), body.xmat.copy()

    def solve(self, target_action: Any, Kpos: float = GAIN, Kori: float = GAIN) -> np.ndarray:
        """Positions of the joints after one integration step, (n,) rad, within their ranges.

        Args:
            target_action: position (m) and rotation of each site, (control_dim,).
            Kpos: fraction of the error of positions that is corrected, 0.95.
            Kori: of that of rotations, 0.95.

        Raises:
            ValueError: the action has another length, or other fractions are asked for.
        """
        if (Kpos, Kori) != (GAIN, GAIN):
            raise ValueError(f"Kpos, Kori: only {GAIN} here, not {Kpos} and {Kori}")
        if np.size(target_action) != self.control_dim:
            raise ValueError(f"target_action: expected {self.control_dim} numbers")
        targets = np.reshape(np.asarray(target_action, float), (len(self.site_ids), -1))
        data = self.full_model_data
        parts = []
        for i, (share, law) in enumerate(self._parts):
            low, high = self._range[:, share]
            state = _Tool(qpos=data.qpos[self._qpos[share]], qpos_low=low, qpos_high=high)
            state.__dict__["dofs"] = self.dof_ids[share]
            action = np.zeros(0)
            if law.tool:
                site, rows = data.site(self.site_ids[i]), np.zeros((6, self.full_model.nv))
                mujoco.mj_jacSite(self.full_model, data, rows[:3], rows[3:], site.id)
                readings = {"rows": rows, "position": site.xpos, "rotation": site.xmat}
                state.__dict__.update(readings)
                action = self._pose(targets[i], site.xpos, site.xmat)
            parts.append((law, state, action, law.memory(state)))
        positions = np.empty(len(self.joint_names))
        goals = InverseKinematicsWholeBody.coupled_goals(parts)
        for (share, _), goal in zip(self._parts, goals, strict=True):
            positions[share] = goal["qpos"]
        self.q_des = positions
        return positions

    def _pose(self, target: np.ndarray, here: Any, axes: Any) -> np.ndarray:
        """Position and rotation vector of a target in the world, (6,)."""
        place, turn = target[:3], target[3:]
        if self.input_rotation_repr == "axis_angle":
            rotation = rotations.from_rotation_vector(turn)
        else:
            rotation = rotations.from_quaternion(turn)
        if self.input_action_repr == "relative":
            place, rotation = place + here, rotations.compose(np.array(axes), rotation)
        origin, frame = self.get_controller_base_pose()
        place = origin + rotations.to_world(frame, place)
        return np.concatenate(
            [place, rotations.to_rotation_vector(rotations.compose(frame, rotation))]
        )

    def forward_kinematics(self, qpos: Any) -> dict[str, np.ndarray]:
        """Place of each site, (3,) m, with given positions of the joints, rad."""
        data = mujoco.MjData(self.full_model)
        data.qpos[self._qpos] = qpos
        mujoco.mj_kinematics(self.full_model, data)
        return {name: data.site(name).xpos.copy() for name in self.site_names}
