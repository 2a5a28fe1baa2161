"""Controllers of a robot's parts: laws of `mjgym.controllers` on joints of a simulation."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjgym.actions import bounds
from mjgym.controllers import Controller as Law
from mjgym.controllers import (
    InverseKinematicsPose,
    InverseKinematicsWholeBody,
    JointPosition,
    JointTorque,
    JointVelocity,
    OperationalSpacePose,
    OperationalSpacePosition,
    State,
    controllers,
    make,
)
from mjgym.controllers.gripper import GripperLaw
from mjgym.controllers.joint import MobileBase
from mjgym.controllers.scaled import IMPEDANCE
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.controllers import configs

load_part_controller_config = configs.load_part_controller_config
IMPEDANCE_MODES = set(IMPEDANCE)
SUPPORTED_IK_ROBOTS = {"Baxter", "GR1", "GR1FixedLowerBody", "IIWA", "Panda", "Sawyer", "UR5e"}
# Readings of a controller, from the state of its law.
READINGS: dict[str, Callable[[State], Any]] = {
    "joint_pos": lambda state: state.qpos,
    "joint_vel": lambda state: state.qvel,
    "mass_matrix": lambda state: state.inertia,
    "torque_compensation": lambda state: state.bias,
    "ref_pos": lambda state: state.position,
    "ref_ori_mat": lambda state: state.rotation.reshape(3, 3),
    "ref_pos_vel": lambda state: state.velocity[:3],
    "ref_ori_vel": lambda state: state.velocity[3:],
    "J_full": lambda state: state.jacobian,
    "J_pos": lambda state: state.jacobian[:3],
    "J_ori": lambda state: state.jacobian[3:],
    "origin_pos": lambda state: state.origin_position,
    "origin_ori": lambda state: state.origin_rotation.reshape(3, 3),
}
# Its goals, by their names in the memory of its law.
GOALS = {
    "goal_pos": "position",
    "goal_ori": "rotation",
    "goal_qpos": "qpos",
    "goal_vel": "velocity",
    "goal_torque": "torque",
    "goal_qvel": "speed",
    "initial_joint": "start",
}
RANGES = ("input_min", "input_max", "output_min", "output_max")
# Arguments that robosuite hands to every controller and no law reads.
UNREAD = (
    *("type", "policy_freq", "lite_physics", "ndim", "robot_name", "eef_name", "gripper", "kv"),
    *("interpolator", "interpolator_pos", "interpolator_ori", "control_ori", "orientation_limits"),
    *("use_action_scaling", "damping_limits", "control_delta", "load_urdf", "converge_steps"),
)


class Controller:
    """A law on joints of a simulation.

    Call `set_goal` once per control step, and `run_controller` before each physics step.

    Args:
        sim: see `utils.binding_utils.MjSim`.
        joint_indexes: "joints": indices in the model.
        actuator_range: lower and upper limit of each motor, N m.
        ref_name: the tool's site.
        part_name: e.g. "right"; `{naming_prefix}{part_name}_center` is the site of the frame of an
            arm's actions. Without such a site, see `update_origin`.
        **parameters: of the law; those of other laws are ignored.

    Attributes:
        law: of `mjgym.controllers`.
        torques: the last ones, N m.

    Raises:
        TypeError: no law has a parameter; the message names the nearest.
        ValueError: a parameter is invalid.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}  # where a class of robosuite has others than its law
    law: Any
    part: Any = None
    _env: Any = None  # of a robot that it belongs to, and remembers its goal
    _asked = False
    _frame: Any = None

    def __init__(
        self,
        sim: Any,
        joint_indexes: Mapping[str, Any],
        actuator_range: Any,
        ref_name: str | None = None,
        part_name: str | None = None,
        naming_prefix: str | None = None,
        **parameters: Any,
    ) -> None:
        self._set_law(self._law(sim, parameters))
        self.part_name, self.naming_prefix = part_name, naming_prefix
        place = f"{naming_prefix}{part_name}_center"
        origin = place if place in sim.model.site_names else None
        self._place(sim, joint_indexes["joints"], actuator_range, ref_name, origin)
        sim.forward()
        self._memory = self.law.memory(self._state())

    @staticmethod
    def of(part: Any, sim: Any, env: Any) -> "Controller":
        """The controller of a part of an environment's robot."""
        whole = part.controller
        law = whole.joints if isinstance(whole, InverseKinematicsWholeBody) else whole
        made: Controller = object.__new__(TYPES.get(type(law), Controller))
        made._set_law(law)
        made.naming_prefix, _, made.part_name = part.name.rpartition("_")
        made.naming_prefix += "_"
        joints = [env.model.joint(name).id for name in part.joints]
        motors = [env.model.actuator(name).id for name in part.motors]
        made._place(sim, joints, env.model.actuator_ctrlrange[motors].T, part.tool, part.origin)
        made.part, made._env, made._motors = part, env, motors
        return made

    def _law(self, sim: Any, parameters: Mapping[str, Any]) -> Law:
        kind = self._kind(parameters)
        known = {field.name for name in controllers.names() for field in _fields(name)}
        for name in parameters:
            if name not in known and name not in UNREAD:
                raise TypeError(
                    f"{type(self).__name__}: no parameter {name!r}{or_else(name, known)}"
                )
        own = {f.name: parameters[f.name] for f in _fields(kind) if f.name in parameters}
        ramp = parameters.get("interpolator") or parameters.get("interpolator_pos")
        if ramp is not None:
            own |= {"interpolation": "linear", "ramp_ratio": 1.0, "substeps": ramp.total_steps}
        elif own.get("interpolation"):
            rate = parameters.get("policy_freq", 20)
            own["substeps"] = round(1 / (sim.model.opt.timestep * rate))
        return make(kind, **{n: _plain(x) for n, x in {**self.defaults, **own}.items()})

    def _kind(self, parameters: Mapping[str, Any]) -> str:
        return next(name for name in controllers.names() if TYPES[type_of(name)] is type(self))

    def _set_law(self, law: Law | GripperLaw) -> None:
        self.__dict__["law"] = law

    def _place(
        self, sim: Any, joints: Any, limits: Any, tool: str | None, origin: str | None
    ) -> None:
        model = sim.model._model
        self.sim, self.joint_index, self.ref_name = sim, list(joints), tool
        self.qpos_index, self.qvel_index = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self.joint_names = [model.joint(i).name for i in joints]
        self.joint_dim = len(self.joint_index)
        self.actuator_min, self.actuator_max = (np.array(limit, float) for limit in limits)
        ends = np.where(model.jnt_limited[joints, None], model.jnt_range[joints], [-np.inf, np.inf])
        self._fixed = dict(zip(("qpos_low", "qpos_high"), ends.T.copy(), strict=True))
        self._fixed |= {"torque_low": self.actuator_min, "torque_high": self.actuator_max}
        self._origin = origin

    def _state(self) -> State:
        model, data = self.sim.model._model, self.sim.data._data
        readings: dict[str, Any] = {
            **self._fixed,
            "qpos": data.qpos[self.qpos_index],
            "qvel": data.qvel[self.qvel_index],
            "bias": data.qfrc_bias[self.qvel_index],
            "inertia": lambda state: self._inertia(),
            "origin_velocity": 0.0,
        }
        if self.ref_name is not None:
            site = data.site(self.ref_name)
            rows = site_jacobian(model, data, site.id)
            readings |= {"position": site.xpos.copy(), "rotation": site.xmat.copy()}
            readings |= {"jacobian": rows[:, self.qvel_index], "velocity": rows @ data.qvel}
        if self._origin is not None:
            site = data.site(self._origin)
            readings["origin_position"] = site.xpos.copy()
            readings["origin_rotation"] = site.xmat.copy()
            if model.body_weldid[model.site_bodyid[site.id]]:
                readings["origin_velocity"] = site_jacobian(model, data, site.id) @ data.qvel
        elif self._frame is not None:
            readings["origin_position"], readings["origin_rotation"] = self._frame
            readings["origin_velocity"] = np.zeros(6)
        return State(**readings)

    def _inertia(self) -> np.ndarray:
        model, data = self.sim.model._model, self.sim.data._data
        whole = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, whole)
        return whole[np.ix_(self.qvel_index, self.qvel_index)]

    def update_origin(self, origin_pos: Any, origin_ori: Any) -> None:
        """Set the frame of an arm's actions: position (3,) m and rotation matrix (3, 3).

        Where a site has this frame, it is read from there, with its velocity.
        """
        self._frame = np.array(origin_pos, float), np.ravel(origin_ori).astype(float)

    # The memory of its law: its own, or the environment's.

    def _recall(self) -> dict[str, Any]:
        if self._env is None:
            return dict(self._memory)
        prefix, memory = f"{self.part.name}/", self._env.view.memory
        return {n.removeprefix(prefix): x for n, x in memory.items() if n.startswith(prefix)}

    def _remember(self, memory: Mapping[str, Any]) -> None:
        if self._env is None:
            self._memory = dict(memory)
        else:
            view = self._env.view
            own = {f"{self.part.name}/{name}": x for name, x in memory.items()}
            view.memory = {**view.memory, **view.owned(own)}

    # Control.

    def set_goal(self, action: Any) -> None:
        """Set the goal of an action, (control_dim,).

        Raises:
            ValueError: it has another length.
        """
        action, state = np.asarray(action, float), self._state()
        if action.shape != (self.control_dim,):
            raise ValueError(f"action: expected {self.control_dim} numbers, got {action.shape}")
        self._begin(state)
        memory = self.law.goal(state, action, self._recall())
        if "since" in memory:  # `run_controller` counts a physics step before its torques
            memory["since"] = memory["since"] - 1
        self._remember(memory)
        self._asked = True

    def _begin(self, state: State) -> None:
        """Change the state that a goal starts from; a hook for subclasses."""

    def run_controller(self) -> np.ndarray:
        """Torques towards the goal, N m; without a goal, that of zeros."""
        if not self._asked and self._env is None:
            self.set_goal(np.zeros(self.control_dim))
        state = self._state()
        memory = self.law.substep(state, self._recall())
        self._remember(memory)
        self._torques = np.asarray(self.law.torque(state, memory))
        return self._torques

    def reset_goal(self) -> None:
        """Hold the current pose; the preferred posture stays."""
        start = {name: x for name, x in self._recall().items() if name == "start"}
        self._remember({**self.law.memory(self._state()), **start})
        self._asked = True

    def update_initial_joints(self, initial_joints: Any) -> None:
        """Hold the current pose, with a preferred posture of the joints, rad."""
        memory = self.law.memory(self._state())
        if "start" in memory:
            memory["start"] = np.array(initial_joints, float)
        self._remember(memory)

    def update(self, force: bool = False) -> None:
        """Do nothing, as readings are those of the present."""

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "law":
            raise AttributeError(name)
        if name in READINGS:
            return np.array(READINGS[name](self._state()))
        if name in GOALS and GOALS[name] in (memory := self._recall()):
            goal = np.array(memory[GOALS[name]])
            return goal.reshape(3, 3) if name == "goal_ori" else goal
        if name in RANGES and hasattr(self.law, name):
            low, _ = bounds(self.law.actions(tuple(self.joint_names)))
            extra = len(getattr(self.law, "impedance_actions", lambda axes: ())(self._axes))
            return self.nums2array(getattr(self.law, name), len(low) - extra)
        for law in (self.law, self.part and self.part.controller):
            if any(field.name == name for field in dataclasses.fields(law or self.law)):
                return getattr(law, name)
        known = [
            *READINGS,
            *GOALS,
            *RANGES,
            *(field.name for field in dataclasses.fields(self.law)),
        ]
        raise AttributeError(f"{type(self).__name__} has no {name!r}{or_else(name, known)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not any(field.name == name for field in dataclasses.fields(self.law)):
            super().__setattr__(name, value)
        elif self._env is not None:
            raise AttributeError(f"{name}: of an environment's robot; see controller_configs")
        else:
            self._set_law(make(self.law, **{name: _plain(value)}))

    @property
    def _axes(self) -> tuple[str, ...]:
        whole = isinstance(self.law, OperationalSpacePose)
        return tuple("xyzabc") if whole else tuple(self.joint_names)

    @property
    def kp(self) -> np.ndarray:
        """Gains on positions, 1/s^2, one per joint or axis; of velocities N m s/rad."""
        return self._gains()[0]

    @property
    def kd(self) -> np.ndarray:
        """Gains on velocities, 1/s, one per joint or axis."""
        return self._gains()[1]

    def _gains(self) -> tuple[np.ndarray, np.ndarray]:
        law, memory = getattr(self.law, "joints", self.law), self._recall()
        if isinstance(law, JointVelocity):
            gain = law.gain(self.actuator_min, self.actuator_max)
            return gain, np.zeros_like(gain)
        kp, kd = law.gains(memory, np.zeros(len(self._axes)))
        kd = kd if getattr(law, "kd", None) is None else law.kd
        return tuple(self.nums2array(gain, len(self._axes)) for gain in (kp, kd))  # type: ignore[return-value]

    @property
    def torques(self) -> np.ndarray:
        own = self._torques if self._env is None else self._env.data.ctrl[self._motors]
        return np.array(own)

    @property
    def name(self) -> str:
        return next((n for n in controllers.names() if type_of(n) is type(self.law)), "")

    @property
    def control_dim(self) -> int:
        return len(self.law.actions(tuple(self.joint_names)))

    @property
    def control_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of an action; of an absolute one as of displacements."""
        low, high = bounds(self.law.actions(tuple(self.joint_names)))
        if getattr(self.law, "input_type", "delta") == "absolute":
            low[-len(self.input_min) :], high[-len(self.input_max) :] = (
                self.input_min,
                self.input_max,
            )
        return low, high

    @property
    def actuator_limits(self) -> tuple[np.ndarray, np.ndarray]:
        return self.actuator_min, self.actuator_max

    def clip_torques(self, torques: Any) -> np.ndarray:
        return np.asarray(np.clip(torques, *self.actuator_limits))

    def scale_action(self, action: Any) -> np.ndarray:
        """Clip to the range of inputs, and map it to that of outputs."""
        return np.asarray(self.law.scaled(np.asarray(action, float)))

    @staticmethod
    def nums2array(nums: Any, dim: int) -> np.ndarray:
        """A number for each of `dim`, or the given numbers."""
        return np.array(nums, float) if np.ndim(nums) else np.full(dim, float(nums))


class OperationalSpaceController(Controller):
    """The tool's pose, or its position alone with `control_ori=False`."""

    defaults: ClassVar[Mapping[str, Any]] = {"damping_ratio_limits": (0, 100)}
    _goal_update_mode = "achieved"

    def _kind(self, parameters: Mapping[str, Any]) -> str:
        return "OSC_POSE" if parameters.get("control_ori", True) else "OSC_POSITION"

    def set_goal_update_mode(self, goal_update_mode: str) -> None:
        """Let goals start from where the tool is, "achieved", or from the last one, "desired".

        Raises:
            ValueError: it is neither.
        """
        if goal_update_mode not in (modes := ("achieved", "desired")):
            raise ValueError(
                f"goal_update_mode: no {goal_update_mode!r}{or_else(goal_update_mode, modes)}"
            )
        self._goal_update_mode = goal_update_mode

    def _begin(self, state: State) -> None:
        if self._goal_update_mode == "desired":
            self.law.start_from_goal(state, self._recall(), np.array(True))


class JointPositionController(Controller):
    """Positions of joints."""

    defaults: ClassVar[Mapping[str, Any]] = {"damping_ratio_limits": (0, 100)}


class JointVelocityController(Controller):
    """Velocities of joints."""

    defaults: ClassVar[Mapping[str, Any]] = {
        **{"kp": 0.25, "output_max": 1, "output_min": -1, "velocity_limits": None}
    }


class JointTorqueController(Controller):
    """Torques of joints."""

    defaults: ClassVar[Mapping[str, Any]] = {"output_max": 0.05, "output_min": -0.05}


class InverseKinematicsController(Controller):
    """The tool's displacement and rotation, tracked by positions of joints."""

    input_max = property(lambda self: np.ones(self.joint_dim))
    input_min = property(lambda self: -np.ones(self.joint_dim))


class MobileBaseJointVelocityController(Controller):
    """The drive of a base: forward, sideways, turn, as parts of its top speeds."""

    name = "JOINT_VELOCITY"

    def _law(self, sim: Any, parameters: Mapping[str, Any]) -> Law:
        return MobileBase()


class SimpleGripController(Controller):
    """Targets of a gripper's fingers, from commands of its actuators within -1 and 1.

    Args:
        sim: the simulation.
        joint_indexes: "actuators": one per command; "joints" are those of its readings.
        actuator_range: lower and upper ends of their control ranges.
        use_action_scaling: whether commands span these ranges, or are targets.
        part_name: e.g. "right_gripper".
        naming_prefix: of its robot.
        **unused: other arguments of robosuite.

    Attributes:
        goal_qvel: the commands.
    """

    name = "JOINT_VELOCITY"
    control_dim = 0

    def __init__(
        self,
        sim: Any,
        joint_indexes: Mapping[str, Any],
        actuator_range: Any,
        use_action_scaling: bool = True,
        part_name: str | None = None,
        naming_prefix: str | None = None,
        **unused: Any,
    ) -> None:
        count = len(joint_indexes["actuators"])
        self._set_law(
            GripperLaw(
                (1.0,) * count, (*range(count),), incremental=False, scaled=use_action_scaling
            )
        )
        self.control_dim, self._motors = count, list(joint_indexes["actuators"])
        self._place(sim, list(joint_indexes.get("joints", ())), actuator_range, None, None)
        self.part_name, self.naming_prefix = part_name, naming_prefix
        self.use_action_scaling = use_action_scaling
        self.input_max = self.output_max = np.ones(count)
        self.input_min = self.output_min = -np.ones(count)
        self._torques = np.zeros(count)
        self.reset_goal()

    @staticmethod
    def of_hand(manipulator: Any, sim: Any, env: Any) -> "SimpleGripController":
        """The controller of an arm's gripper of an environment."""
        model, law = env.model, manipulator.hand.law
        joints = [model.joint(name).id for name in manipulator.finger_joints]
        motors = [model.actuator(name).id for name in manipulator.finger_actuators]
        made = SimpleGripController(
            sim,
            {"joints": joints, "actuators": motors},
            model.actuator_ctrlrange[motors].T,
            law.incremental or law.scaled,
            f"{manipulator.side}_gripper",
            f"robot{manipulator.robot}_",
        )
        made._set_law(law)
        made._entry, made._env = f"{manipulator.name} gripper", env
        return made

    @property
    def goal_qvel(self) -> np.ndarray:
        return np.array(self._memory if self._env is None else self._env.view.memory[self._entry])

    def _command(self, command: Any) -> None:
        if self._env is None:
            self._memory = command
        else:
            view = self._env.view
            view.memory = {**view.memory, **view.owned({self._entry: command})}

    @property
    def control_limits(self) -> tuple[np.ndarray, np.ndarray]:
        return self.input_min, self.input_max

    def set_goal(self, action: Any) -> None:
        """Set the commands.

        Raises:
            ValueError: they are fewer or more than actuators.
        """
        action = np.asarray(action, float)
        if action.shape != (self.control_dim,):
            raise ValueError(f"action: expected {self.control_dim} numbers, got {action.shape}")
        self._command(np.clip(action, -1, 1) if self.use_action_scaling else action)

    def run_controller(self) -> np.ndarray:
        """Targets of the actuators, in their units."""
        centre = (self.actuator_min + self.actuator_max) / 2
        reach = (self.actuator_max - self.actuator_min) / 2
        self._torques = np.asarray(self.law.control(self.goal_qvel, centre, reach))
        return self._torques

    def reset_goal(self) -> None:
        self._command(np.zeros(self.control_dim))


GripperController, MobileBaseController = SimpleGripController, MobileBaseJointVelocityController


def site_jacobian(model: mujoco.MjModel, data: mujoco.MjData, site: int) -> np.ndarray:
    """Jacobian of a site's position and rotation, (6, nv)."""
    rows = np.zeros((6, model.nv))
    mujoco.mj_jacSite(model, data, rows[:3], rows[3:], site)
    return rows


def _fields(kind: str) -> tuple[Any, ...]:
    return dataclasses.fields(controllers.find(kind))


def type_of(kind: str) -> type[Law]:
    """Class of a law by its name."""
    return type(controllers.find(kind))


def _plain(value: Any) -> Any:
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | tuple) else value


TYPES: dict[type[Law], type[Controller]] = {
    OperationalSpacePose: OperationalSpaceController,
    OperationalSpacePosition: OperationalSpaceController,
    InverseKinematicsPose: InverseKinematicsController,
    InverseKinematicsWholeBody: Controller,
    JointPosition: JointPositionController,
    JointVelocity: JointVelocityController,
    JointTorque: JointTorqueController,
    MobileBase: MobileBaseJointVelocityController,
}

# Parts, and the controllers that they can have.
ARM = {
    name: TYPES[type_of(name)]
    for name in controllers.names()
    if TYPES[type_of(name)] is not Controller
}
_JOINTS = {name: ARM[name] for name in ("JOINT_POSITION", "JOINT_VELOCITY", "JOINT_TORQUE")}
_GRIPPER = {"GRIP": SimpleGripController, "JOINT_POSITION": JointPositionController}
PARTS: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(("right", "left"), ARM),
    **dict.fromkeys(("right_gripper", "left_gripper"), _GRIPPER),
    **dict.fromkeys(("torso", "head", "legs"), _JOINTS),
    "base": {"JOINT_VELOCITY": MobileBaseJointVelocityController},
}


def controller_factory(
    part_name: str, controller_type: str, controller_params: Mapping[str, Any]
) -> Any:
    """The controller of a part.

    Args:
        part_name: "right", "right_gripper", "torso" and so on.
        controller_type: "OSC_POSE", "GRIP" and so on.
        controller_params: arguments of its class, which takes what it needs.

    Raises:
        ValueError: there is no such part, or no such controller of it.
    """
    if part_name not in PARTS:
        raise ValueError(f"part_name: no {part_name!r}{or_else(part_name, PARTS)}")
    kinds = PARTS[part_name]
    if controller_type not in kinds:
        raise ValueError(
            f"controller_type: no {controller_type!r} of {part_name}"
            f"{or_else(controller_type, kinds)}"
        )
    given = {**controller_params, "control_ori": controller_type != "OSC_POSITION"}
    return kinds[controller_type](**given)


arm_controller_factory = partial(controller_factory, "right")
gripper_controller_factory = partial(controller_factory, "right_gripper")
mobile_base_controller_factory = partial(controller_factory, "base")
torso_controller_factory = partial(controller_factory, "torso")
head_controller_factory = partial(controller_factory, "head")
legs_controller_factory = partial(controller_factory, "legs")

__path__: list[str] = []  # it answers for modules of others
