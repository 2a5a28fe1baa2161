"""Controllers of whole robots: one for each part, driven together."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.controllers import configs
from mjgym_compat.robosuite.controllers.configs import SPECIFIC, WHOLE_BODY_PARAMETERS
from mjgym_compat.robosuite.controllers.parts import controller_factory
from mjgym_compat.robosuite.utils.ik_utils import IKSolver, IKSolverMink, get_nullspace_gains
from mjgym_compat.robosuite.utils.log_utils import ROBOSUITE_DEFAULT_LOGGER

ALL_COMPOSITE_CONTROLLERS = configs.ALL_COMPOSITE_CONTROLLERS
is_part_controller_config = configs.is_part_controller_config
load_composite_controller_config = configs.load_composite_controller_config
refactor_composite_controller_config = configs.refactor_composite_controller_config
MODE = "base_mode"  # part of an action
# Arguments of `IKSolver`, by their names in configurations, and defaults.
SOLVER = {
    **WHOLE_BODY_PARAMETERS,
    "ik_max_dq_torso": "max_dq_torso",
    "ik_input_rotation_repr": "input_rotation_repr",
}
DEFAULTS = {"damping": 0.05, "integration_dt": 0.1, "max_dq": 4.0, "max_dq_torso": 0.2}
# The same of `IKSolverMink`.
MINK_SOLVER = {
    "ik_input_action_repr": "input_action_repr",
    "ik_input_rotation_repr": "input_rotation_repr",
    "ik_input_ref_frame": "input_ref_frame",
    "ik_posture_weights": "posture_weights",
    "ik_hand_pos_cost": "hand_pos_cost",
    "ik_hand_ori_cost": "hand_ori_cost",
}
REGISTERED_COMPOSITE_CONTROLLERS_DICT: dict[str, type["CompositeController"]] = configs.REGISTERED


def register_composite_controller(
    target_class: type["CompositeController"],
) -> type["CompositeController"]:
    """Register a class by its `name`, or by that of the class: `MyIK` as "MY_I_K"."""
    words = re.sub(r"(?<!^)(?=[A-Z0-9])", "_", target_class.__name__).upper()
    REGISTERED_COMPOSITE_CONTROLLERS_DICT[vars(target_class).get("name", words)] = target_class
    return target_class


def validate_composite_controller_config(config: Mapping[str, Any]) -> None:
    """Raise a ValueError unless a configuration is that of a whole robot."""
    for key in ("type", "body_parts"):
        if key not in config:
            raise ValueError(f"config: no {key!r}")


def composite_controller_factory(
    type: str, sim: Any, robot_model: Any, grippers: Mapping[str, Any]
) -> "CompositeController":
    """A registered controller by its name.

    Raises:
        ValueError: there is no such controller; the message names the nearest.
    """
    if type not in REGISTERED_COMPOSITE_CONTROLLERS_DICT:
        raise ValueError(
            f"type: no {type!r}{or_else(type, REGISTERED_COMPOSITE_CONTROLLERS_DICT)}; see"
            " register_composite_controller"
        )
    return REGISTERED_COMPOSITE_CONTROLLERS_DICT[type](sim, robot_model, grippers)


@register_composite_controller
class CompositeController:
    """The controllers of a robot's parts, and their shares of its action.

    Args:
        sim: see `utils.binding_utils.MjSim`.
        robot_model: the robot, with its `arms`.
        grippers: by "right_gripper" and "left_gripper".

    Attributes:
        part_controllers: controllers by part.
    """

    name: ClassVar[str] = "BASIC"
    finds_joints = False  # whether it turns actions into positions of joints, by this:
    joint_action_policy: Any = None

    def __init__(self, sim: Any, robot_model: Any, grippers: Mapping[str, Any]) -> None:
        self.sim, self.robot_model, self.grippers = sim, robot_model, grippers
        self.arms = getattr(robot_model, "arms", ())
        self.part_controllers: dict[str, Any] = {}
        self.composite_controller_specific_config: dict[str, Any] = {}
        self._action_split_indexes: dict[str, tuple[int, int]] = {}
        self._limits: Any = None

    def drives(
        self,
        arms: Any,
        parts: dict[str, Any],
        splits: dict[str, tuple[int, int]],
        limits: Any,
        specific: Mapping[str, Any],
    ) -> None:
        """Take over a robot of an environment, which its task drives.

        Args:
            splits: start and end of each part in an action of the task.
            limits: lower and upper bounds of an action of the task.
            specific: see `load_controller_config`.
        """
        self.arms, self.part_controllers = arms, parts
        self._action_split_indexes, self._limits = splits, limits
        self.composite_controller_specific_config = dict(specific)
        self._find_joints(splits)

    def _find_joints(self, splits: Mapping[str, tuple[int, int]]) -> None:
        """Prepare to find joints for the task; a hook."""

    def of_task(self, action: Any) -> Any:
        """The task's action for an action of the robot."""
        return action

    def load_controller_config(
        self,
        part_controller_config: Mapping[str, Mapping[str, Any]],
        composite_controller_specific_config: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the controllers of the parts.

        Args:
            part_controller_config: by part, see `controller_factory`.
            composite_controller_specific_config: "body_part_ordering" is the order of the parts;
                the rest is for subclasses.
        """
        specific = dict(composite_controller_specific_config or {})
        self.composite_controller_specific_config = specific
        order = specific.get("body_part_ordering") or part_controller_config
        self.part_controller_config = {name: part_controller_config[name] for name in order}
        self._init_controllers()
        self._validate_composite_controller_specific_config()
        self._action_split_indexes = {}
        self.setup_action_split_idx()

    def _init_controllers(self) -> None:
        self.part_controllers = {
            name: controller_factory(name, config["type"], config)
            for name, config in self.part_controller_config.items()
        }

    def _validate_composite_controller_specific_config(self) -> None:
        """Check the configuration once there are controllers; a hook for subclasses."""

    def setup_action_split_idx(self) -> None:
        self._action_split_indexes = self._split(self.part_controllers)

    def _split(self, parts: Any, start: int = 0) -> dict[str, tuple[int, int]]:
        splits = {}
        for name in parts:
            end = start + self._width(name)
            splits[name] = start, end
            start = end
        return splits

    def _width(self, name: str) -> int:
        if self._limits is not None:
            start, end = self._action_split_indexes[name]
            return end - start
        gripper = self.grippers.get(name)
        return int(self.part_controllers[name].control_dim if gripper is None else gripper.dof)

    def set_goal(self, all_action: Any) -> None:
        """Set the goals of all parts, from an action of the robot."""
        vector = np.asarray(all_action, float)
        for name, controller in self.part_controllers.items():
            start, end = self._action_split_indexes[name]
            gripper, action = self.grippers.get(name), vector[start:end]
            if gripper is not None and controller._env is not None:
                action = controller.law.next(controller.goal_qvel, action)
            elif gripper is not None:
                action = gripper.format_action(action)
            controller.set_goal(action)

    def reset(self) -> None:
        """Let all parts hold still."""
        for controller in self.part_controllers.values():
            controller.reset_goal()

    def run_controller(self, enabled_parts: Mapping[str, bool]) -> dict[str, np.ndarray]:
        """Torques or targets of the actuators of each enabled part."""
        self.update_state()
        enabled = {n: each for n, each in self.part_controllers.items() if enabled_parts.get(n)}
        return {name: each.run_controller() for name, each in enabled.items()}

    def update_state(self) -> None:
        for arm in self.arms:
            self.part_controllers[arm].update_origin(*self.get_controller_base_pose(arm))

    def get_controller(self, part_name: str) -> Any:
        return self.part_controllers[part_name]

    def get_control_dim(self, part_name: str) -> int:
        """Number of action dimensions of a part; 0 without it."""
        start, end = self._parts.get(part_name, (0, 0))
        return end - start

    def get_controller_base_pose(self, controller_name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) m and rotation (3, 3) of an arm's frame of actions in the world."""
        part = self.part_controllers[controller_name]
        own = part.part and part.part.origin
        site = self.sim.data._data.site(own or f"{part.naming_prefix}{part.part_name}_center")
        return site.xpos.copy(), site.xmat.reshape(3, 3).copy()

    # Actions.

    @property
    def action_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of an action."""
        if self._limits is not None:
            low, high = self._limits
            return low, high
        return self._bounds(self.part_controllers)

    def _bounds(self, parts: Any) -> tuple[np.ndarray, np.ndarray]:
        ends: tuple[list[Any], list[Any]] = [], []
        for name in parts:
            ones = np.ones(self._width(name))
            arm = name in self.arms
            pair = self.part_controllers[name].control_limits if arm else (-ones, ones)
            for end, values in zip(ends, pair, strict=True):
                end.extend(values)
        return np.array(ends[0]), np.array(ends[1])

    @property
    def _parts(self) -> Mapping[str, tuple[int, int]]:
        return self._action_split_indexes

    def create_action_vector(self, action_dict: Mapping[str, Any]) -> np.ndarray:
        """An action of the robot, 0 for missing parts; unknown parts are ignored.

        Raises:
            ValueError: a part has a wrong size.
        """
        vector = np.zeros(len(self.action_limits[0]))
        for name, values in action_dict.items():
            start, end = self._parts.get(name, (0, 0))
            if end > start:
                if len(values) != end - start:
                    raise ValueError(f"{name}: expected {end - start} numbers, got {values!r}")
                vector[start:end] = values
        return vector

    def create_action_dict_from_action_vector(self, action_vector: Any) -> dict[str, np.ndarray]:
        """Split an action of the robot by parts."""
        vector = np.asarray(action_vector)
        return {part: vector[start:end] for part, (start, end) in self._parts.items()}

    def get_action_info(self) -> tuple[list[str], list[str]]:
        """Texts of each part's indices, and of its number of dimensions."""
        indices = [f"{part}: {start}:{end}" for part, (start, end) in self._parts.items()]
        return indices, [f"{part}: {end - start} dim" for part, (start, end) in self._parts.items()]

    def get_action_info_dict(self) -> dict[str, Any]:
        """The shape of an action, and start and end index of each part."""
        return {"Action Dimension": self.action_limits[0].shape, **self._parts}

    def print_action_info(self) -> None:
        for texts in self.get_action_info():
            ROBOSUITE_DEFAULT_LOGGER.info(", ".join(texts))

    def print_action_info_dict(self, name: str = "") -> None:
        ROBOSUITE_DEFAULT_LOGGER.info(f"{name}: {self.get_action_info_dict()}")


@register_composite_controller
class HybridMobileBase(CompositeController):
    """A robot on a base that drives; the last number of an action selects its mode.

    Above 0 arms start from their last goals, which follow the base, else from where they are.
    """

    name = "HYBRID_MOBILE_BASE"

    def set_goal(self, all_action: Any) -> None:
        mode = "desired" if all_action[-1] > 0 else "achieved"
        for arm in self.arms:
            if hasattr(self.part_controllers[arm], "set_goal_update_mode"):
                self.part_controllers[arm].set_goal_update_mode(mode)
        super().set_goal(all_action)

    def _bounds(self, parts: Any) -> tuple[np.ndarray, np.ndarray]:
        low, high = super()._bounds(parts)
        return np.append(low, -1.0), np.append(high, 1.0)

    def create_action_vector(self, action_dict: Mapping[str, Any]) -> np.ndarray:
        vector = super().create_action_vector({k: v for k, v in action_dict.items() if k != MODE})
        vector[-1] = np.ravel(action_dict.get(MODE, -1.0))[0]
        return vector


@register_composite_controller
class WholeBody(CompositeController):
    """A robot whose first parts follow positions of joints that a policy finds together.

    Subclasses make `joint_action_policy` in `_init_joint_action_policy`: `solve(action)` returns
    these positions, and `control_dim`, `control_limits` and `action_split_indexes()` describe its
    action.
    """

    name = "WHOLE_BODY_COMPOSITE"
    finds_joints = True

    def _find_joints(self, splits: Mapping[str, tuple[int, int]]) -> None:
        native = [configs.REGISTERED[name] for name in configs.ALL_COMPOSITE_CONTROLLERS]
        if type(self) in native:
            return
        self._validate_composite_controller_specific_config()
        self._init_joint_action_policy()
        policy, rest = self.joint_action_policy, [n for n in splits if n not in self._actuated]
        self._whole = dict(policy.action_split_indexes()) | self._split(rest, policy.control_dim)
        if not self._skips:
            shares = [slice(*splits[name]) for name in rest]
            self._limits = tuple(
                np.concatenate([own, *(end[share] for share in shares)])
                for own, end in zip(policy.control_limits, self._limits, strict=True)
            )

    def of_task(self, action: Any) -> Any:
        if self.joint_action_policy is None or self._skips:
            return action
        count, vector = self.joint_action_policy.control_dim, np.asarray(action, float)
        joints, start = self.joint_action_policy.solve(vector[:count].copy()), 0
        shares = {
            name: vector[slice(*span)] for name, span in self._whole.items() if span[0] >= count
        }
        for name in self._actuated:
            shares[name] = joints[start : (start := start + self._width(name))]
        wanted = np.empty(sum(map(len, shares.values())))
        for name, values in shares.items():
            wanted[slice(*self._action_split_indexes[name])] = values
        return wanted

    def _init_controllers(self) -> None:
        super()._init_controllers()
        self._validate_composite_controller_specific_config()
        self._init_joint_action_policy()

    def _init_joint_action_policy(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _init_joint_action_policy()")

    @property
    def _skips(self) -> bool:
        return bool(self.composite_controller_specific_config.get("skip_wbc_action", False))

    @property
    def _actuated(self) -> list[str]:
        return list(self.composite_controller_specific_config.get("actuation_part_names", ()))

    @property
    def _joint_names(self) -> list[str]:
        return [j for part in self._actuated for j in self.part_controllers[part].joint_names]

    @property
    def _rest(self) -> list[str]:
        return [name for name in self.part_controllers if name not in self._actuated]

    def setup_action_split_idx(self) -> None:
        self._action_split_indexes = self._split([*self._actuated, *self._rest])
        self._whole = dict(self.joint_action_policy.action_split_indexes())
        self._whole |= self._split(self._rest, self.joint_action_policy.control_dim)

    def set_goal(self, all_action: Any) -> None:
        if self.joint_action_policy is None:
            raise ValueError("set_goal: the task finds the joints of this robot; see env.step")
        super().set_goal(self.of_task(all_action))

    def update_state(self) -> None:
        """Do nothing, as positions of joints have no frame."""

    @property
    def _parts(self) -> Mapping[str, tuple[int, int]]:
        own = self.joint_action_policy is None or self._skips
        return self._action_split_indexes if own else self._whole

    def _bounds(self, parts: Any) -> tuple[np.ndarray, np.ndarray]:
        if self._skips:
            return super()._bounds(parts)
        pairs = zip(
            self.joint_action_policy.control_limits, super()._bounds(self._rest), strict=True
        )
        low, high = (np.concatenate(pair) for pair in pairs)
        return low, high


@register_composite_controller
class WholeBodyIK(WholeBody):
    """A robot whose arms, and torso if it has one, follow poses of its tools; see `IKSolver`."""

    name = "WHOLE_BODY_IK"

    def _validate_composite_controller_specific_config(self) -> None:
        specific = self.composite_controller_specific_config
        if "ref_name" not in specific:
            raise ValueError(f"{SPECIFIC}: no 'ref_name', the sites of the tools")
        for key, known in (
            ("actuation_part_names", self.part_controllers),
            ("ref_name", self.sim.model.site_names),
        ):
            for name in (missing := [name for name in specific[key] if name not in known]):
                ROBOSUITE_DEFAULT_LOGGER.warning(f"{key}: no {name!r}{or_else(name, known)}")
            specific[key] = [name for name in specific[key] if name not in missing]

    def _init_joint_action_policy(self) -> None:
        specific = self.composite_controller_specific_config
        joints = self._joint_names
        weights = specific.get("nullspace_joint_weights") or {}
        given = {ours: specific[key] for key, ours in SOLVER.items() if key in specific}
        self.joint_action_policy = IKSolver(
            self.sim.model._model,
            self.sim.data._data,
            {
                "end_effector_sites": specific["ref_name"],
                "joint_names": joints,
                "nullspace_gains": get_nullspace_gains(joints, weights),
            },
            **{**DEFAULTS, **given},
        )


@register_composite_controller
class WholeBodyMinkIK(WholeBodyIK):
    """A robot whose parts follow poses of its tools; see `IKSolverMink`."""

    name = "WHOLE_BODY_MINK_IK"

    def _init_joint_action_policy(self) -> None:
        specific = self.composite_controller_specific_config
        self.joint_action_policy = IKSolverMink(
            self.sim.model._model,
            self.sim.data._data,
            specific["ref_name"],
            robot_joint_names=self._joint_names,
            **{ours: specific[key] for key, ours in MINK_SOLVER.items() if key in specific},
        )


__path__: list[str] = []  # it answers for modules of others
