"""Base class of environments for two arms."""

from typing import Any

import numpy as np

from mjgym.robots import arms
from mjgym_compat.robosuite.environments.manipulation.manipulation_env import ManipulationEnv
from mjgym_compat.robosuite.utils import transform_utils

ONE_ROBOT = ("bimanual", "single-robot")
CONFIGURATIONS = ("default", *ONE_ROBOT, "opposed", "parallel")


class TwoArmEnv(ManipulationEnv):
    """Base class of user-defined environments for one robot with two arms, or two with one each."""

    def _check_robot_configuration(self, robots: Any) -> None:
        """Choose "single-robot" or "opposed" by default, and check the robots.

        Raises:
            ValueError: there is no such configuration, or the robots do not have two arms together.
        """
        super()._check_robot_configuration(robots)
        if self.env_configuration == "default":
            self.env_configuration = "single-robot" if len(robots) == 1 else "opposed"
        where = self.env_configuration.removeprefix("single-arm-")
        if where not in CONFIGURATIONS:
            raise ValueError(f"env_configuration: no {where!r}, only {', '.join(CONFIGURATIONS)}")
        wanted = 1 if where in ONE_ROBOT else 2
        if len(robots) != wanted:
            raise ValueError(f"robots: {where!r} is of {wanted}, not {len(robots)}")
        count = sum(len(arms.find(name).limbs) for name in robots)
        if count != 2:
            raise ValueError(f"robots: expected two arms together, not {count}")

    def _hand(self, number: int) -> tuple[Any, str]:
        if len(self.robots) == 1:
            return self.robots[0], ("right", "left")[number]
        return self.robots[number], "right"

    def __getattr__(self, name: str) -> Any:
        """`_eef0_xpos`, `_eef0_xmat` and `_eef0_xquat` of the first arm's tool, `_eef1_...` of the
        second's, and `_gripper0_to_target` and `_gripper1_to_target`, see `_gripper_to_target`."""
        what, _, rest = name.lstrip("_").partition("_")
        if rest == "to_target" and what in ("gripper0", "gripper1"):
            robot, side = self._hand(int(what[-1]))
            gripper = robot.gripper[side]
            return lambda target, *args, **options: self._gripper_to_target(
                gripper, target, *args, **options
            )
        if what in ("eef0", "eef1") and rest in ("xpos", "xmat", "xquat"):
            robot, side = self._hand(int(what[-1]))
            site = robot.eef_site_id[side]
            axes = self.sim.data.site_xmat[site]
            if rest == "xpos":
                return np.array(self.sim.data.site_xpos[site])
            return np.array(axes) if rest == "xmat" else transform_utils.mat2quat(axes)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")
