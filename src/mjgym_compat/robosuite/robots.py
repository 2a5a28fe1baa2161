"""The robots of an environment: their parts of an action, and their joints."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.actions import Action, bounds
from mjgym.envs.env import Env
from mjgym.robots import arms
from mjgym.sim.fields import QPOS, QVEL, rows
from mjgym.util.suggestions import or_else

ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
MODE, STILL = "base_mode", -1.0  # a part of an action, and its value while a base stands


class Robot:
    """A robot of an environment; per-arm attributes are dicts by "right" and "left".

    `robot_joints` are without those of its base and its fingers. `action_split_indexes` are start
    and end of each part, "right", "right_gripper", "base" and so on, within its part of an action.
    """

    def __init__(self, name: str, part: Any, env: Env, actions: Sequence[Action]) -> None:
        self.name, self.idn, self.prefix = name, part.number, f"robot{part.number}_"
        self._env, self.part = env, part
        model, hands = env.model, {each.side: each for each in part.manipulators}
        self.arms = tuple(hands)
        self.has_gripper = {side: bool(each.hand.joints) for side, each in hands.items()}
        self.robot_joints = [*part.joints]
        self.gripper_joints = {side: [*each.finger_joints] for side, each in hands.items()}
        self.dof, self.init_qpos = len(self.robot_joints), np.array(part.arm.start)
        self.eef_site_id = {side: int(model.site(each.tool).id) for side, each in hands.items()}
        ids = np.array([model.joint(joint).id for joint in self.robot_joints])
        self._positions, self._velocities = (rows(model, size, ids) for size in (QPOS, QVEL))
        self._fingers = {
            side: rows(model, QPOS, np.array([model.joint(joint).id for joint in joints], int))
            for side, joints in self.gripper_joints.items()
        }
        parts: dict[str, list[int]] = {}
        for i, action in enumerate(actions):
            owner, _, what = action.name.partition(" ")
            if owner.startswith(self.prefix):
                suffix = "_gripper" if what.startswith("gripper") else ""
                parts.setdefault(owner.removeprefix(self.prefix) + suffix, []).append(i)
        indices = sorted(i for numbers in parts.values() for i in numbers)
        self._actions = [actions[i] for i in indices]
        self.action_dim, self.action_limits = len(indices), bounds(self._actions)
        self.action_split_indexes = {
            part: (ids[0] - indices[0], ids[-1] + 1 - indices[0]) for part, ids in parts.items()
        }

    def create_action_vector(self, parts: Mapping[str, Any]) -> np.ndarray:
        """The robot's part of an action, from its parts.

        Missing parts are 0, and "base_mode" -1. Those of devices that end in "_delta" and "_abs"
        are ignored.
        """
        vector, splits = np.zeros(self.action_dim), self.action_split_indexes
        asked = {MODE: [STILL]} if MODE in splits else {}
        asked |= {name: x for name, x in parts.items() if not name.endswith(("_delta", "_abs"))}
        for name, numbers in asked.items():
            if name not in splits:
                raise ValueError(f"{self.name} has no part {name!r}{or_else(name, splits)}")
            start, end = splits[name]
            if np.size(numbers) != end - start:
                raise ValueError(f"{name}: expected {end - start} numbers, got {numbers!r}")
            vector[start:end] = numbers
        return vector

    def print_action_info(self) -> None:
        for name, (start, end) in self.action_split_indexes.items():
            for action in self._actions[start:end]:
                limits = f"[{action.low:g}, {action.high:g}] x {action.unit}"
                print(f"{name}: {limits}: {action.meaning}")

    def has_part(self, part_name: str) -> bool:
        return part_name in self.action_split_indexes

    @property
    def _joint_positions(self) -> np.ndarray:
        return np.array(self._env.data.qpos[self._positions])

    @property
    def _joint_velocities(self) -> np.ndarray:
        return np.array(self._env.data.qvel[self._velocities])

    def get_robot_joint_positions(self) -> np.ndarray:
        return self._joint_positions

    def set_robot_joint_positions(self, jpos: Any) -> None:
        self._env.data.qpos[self._positions] = jpos

    def get_gripper_joint_positions(self, gripper_arm: str | None = None) -> np.ndarray:
        return np.array(self._env.data.qpos[self._fingers[gripper_arm or self.arms[0]]])

    def set_gripper_joint_positions(self, jpos: Any, gripper_arm: str | None = None) -> None:
        self._env.data.qpos[self._fingers[gripper_arm or self.arms[0]]] = jpos
