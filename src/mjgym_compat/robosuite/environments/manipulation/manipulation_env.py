"""Base class of environments in which robots manipulate objects."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mjgym_compat.robosuite.environments.robot_env import RobotEnv
from mjgym_compat.robosuite.utils import transform_utils
from mjgym_compat.robosuite.utils.observables import sensor

NEAR, FAR = 0.02, 0.2  # m between gripper and target, where the tool is green and red


class ManipulationEnv(RobotEnv):
    """Base class of user-defined environments with robots that have grippers.

    Args:
        robots: a name, or one for each robot.
        gripper_types: of all robots or each, "default" for their own, None for none.
        **options: see `RobotEnv`.
    """

    def __init__(self, robots: Any, gripper_types: Any = "default", **options: Any) -> None:
        count = 1 if isinstance(robots, str) else len(robots)
        configs = [{"gripper_type": each} for each in self._input2list(gripper_types, count)]
        super().__init__(robots, robot_configs=configs, **options)

    def _sensor(self, name: str, modality: str, read: Callable[[Any], Any]) -> Any:
        named = sensor(modality)(read)
        named.__name__ = name
        return named

    def _get_obj_eef_sensor(self, prefix: str, obj_key: str, fn_name: str, modality: str) -> Any:
        """A sensor of the way from an arm's tool to an object, (3,) m.

        Args:
            prefix: of the arm's entries.
            obj_key: the entry of the object's position.
        """

        def read(seen: Mapping[str, Any]) -> Any:
            tool = f"{prefix}eef_pos"
            return seen[obj_key] - seen[tool] if {obj_key, tool} <= seen.keys() else np.zeros(3)

        return self._sensor(fn_name, modality, read)

    def _get_world_pose_in_gripper_sensor(self, prefix: str, fn_name: str, modality: str) -> Any:
        """A sensor of the world's pose in the frame of an arm's tool, (4, 4)."""

        def read(seen: Mapping[str, Any]) -> Any:
            names = f"{prefix}eef_pos", f"{prefix}eef_quat"
            if not all(name in seen for name in names):
                return np.eye(4)
            pose = transform_utils.pose2mat([seen[name] for name in names])
            return transform_utils.pose_inv(pose)

        return self._sensor(fn_name, modality, read)

    def _get_rel_obj_eef_sensor(
        self, prefix: str, obj_key: str, fn_name: str, new_key_prefix: str, modality: str
    ) -> Any:
        """A sensor of an object's position in the frame of an arm's tool, (3,) m.

        It also notes the object's orientation there, which `_get_obj_eef_rel_quat_sensor` reads.
        """

        def read(seen: Any) -> Any:
            parts = (f"{obj_key}_pos", f"{obj_key}_quat", f"world_pose_in_{prefix}gripper")
            if not all(name in seen for name in parts):
                return np.zeros(3)
            pose = transform_utils.pose2mat([seen[name] for name in parts[:2]])
            there = transform_utils.pose_in_A_to_pose_in_B(pose, seen[parts[2]])
            position, quat = transform_utils.mat2pose(there)
            seen[f"{obj_key}_to_{new_key_prefix}eef_quat"] = quat
            return position

        return self._sensor(fn_name, modality, read)

    def _get_obj_eef_rel_quat_sensor(
        self, prefix: str, obj_key: str, fn_name: str, modality: str
    ) -> Any:
        """A sensor of an object's orientation in the frame of an arm's tool, x, y, z, w."""
        name = f"{obj_key}_to_{prefix}eef_quat"
        return self._sensor(fn_name, modality, lambda seen: seen.get(name, np.zeros(4)))

    @property
    def _visualizations(self) -> set[str]:
        return super()._visualizations | {"grippers"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        super().visualize(vis_settings)
        for robot in self.robots:
            for gripper in robot.gripper.values():
                gripper.set_sites_visibility(self.sim, vis_settings["grippers"])

    def _visualize_gripper_to_target(
        self, gripper: Any, target: Any, target_type: str = "body"
    ) -> None:
        """Colour a gripper's tool from red to green by its distance to a target.

        Args:
            gripper: of `robots[i].gripper`, or the whole dict.
            target: an object, or an element's name.
            target_type: "body", "site" or "geom".
        """
        for each in gripper.values() if isinstance(gripper, dict) else [gripper]:
            way = self._gripper_to_target(each, target, target_type, return_distance=True)
            share = float(np.clip((way - NEAR) / (FAR - NEAR), 0, 1))
            model = self.sim.model
            site = model.site_name2id(each.important_sites["grip_site"])
            model.site_rgba[site][:3] = (share, 1 - share, 0)
