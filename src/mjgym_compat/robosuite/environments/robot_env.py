"""User-defined environments with robots."""

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mjgym import registry
from mjgym_compat.robosuite.arguments import bases_of, composed, noises, robot_fields
from mjgym_compat.robosuite.environments.base import MujocoEnv
from mjgym_compat.robosuite.robots import ROBOT_CLASS_MAPPING, FixedBaseRobot, Robot
from mjgym_compat.robosuite.utils.observables import Observable, sensor

DRIVERS = ("robosuite/Lift-v0", "robosuite/TwoArmLift-v0")


class RobotEnv(MujocoEnv):
    """Base class of user-defined environments with robots.

    Args:
        robots: a name, or one for each robot.
        env_configuration: how robots stand to each other, for subclasses.
        base_types: of all robots or each, "default" for their own.
        controller_configs: of all robots or each, None for their own.
        initialization_noise: of all robots' starts or each, as of the tasks.
        robot_configs: of each robot; "gripper_type" is of all its arms.
        **options: see `MujocoEnv`, and pictures of `Episodes`.

    Attributes:
        robots: see `Robot`.
    """

    robots: list[Robot]  # type: ignore[misc]  # of instances here

    def __init__(
        self,
        robots: Any,
        env_configuration: str = "default",
        base_types: Any = "default",
        controller_configs: Any = None,
        initialization_noise: Any = None,
        use_camera_obs: bool = True,
        robot_configs: Any = None,
        **options: Any,
    ) -> None:
        given = {"robots": robots, "base_types": base_types}
        if robot_configs:
            given["gripper_types"] = [each.get("gripper_type", "default") for each in robot_configs]
        asked = composed(given)
        base_types = asked["base_types"]
        self.robot_names = list(asked["robots"])
        self.num_robots = count = len(self.robot_names)
        self.env_configuration = env_configuration
        self._noises = noises(initialization_noise, count)
        fields = robot_fields({**asked, "controller_configs": controller_configs})
        hands = self._input2list(asked.get("gripper_types", "default"), count)
        self._hands = hands
        self._configs = self._input2list(controller_configs, count)
        self._bases = self._input2list(base_types, count)
        self._driven_by = {
            "robot": fields["robot"],
            "gripper": tuple(hands),
            "base": tuple(bases_of(self._bases)),
            **({"controller": fields["controller"]} if "controller" in fields else {}),
        }
        self._check_robot_configuration(self.robot_names)
        super().__init__(use_camera_obs=use_camera_obs, **options)

    @staticmethod
    def _input2list(inp: Any, length: int) -> list[Any]:
        return list(inp) if isinstance(inp, list | tuple) else [inp] * length

    def _check_robot_configuration(self, robots: Any) -> None:
        """Check the robots; a hook for subclasses."""

    def _load_model(self) -> None:
        super()._load_model()
        self._load_robots()

    def _load_robots(self) -> None:
        # A task of as many robots drives them, whatever else is in the scene.
        id = DRIVERS[min(self.num_robots, len(DRIVERS)) - 1]
        frequency = 1 / (self._substeps * self.model_timestep)
        task_class: Any = registry.registration(id).task_class
        self._driver = task_class(**self._driven_by, control_frequency=frequency)
        self.robots = []
        parts = zip(self.robot_names, self._driver.robots, self._bases, strict=True)
        for name, part, base in parts:
            kind = ROBOT_CLASS_MAPPING.get(name, FixedBaseRobot)
            config = self._configs[part.number]
            robot = kind(
                name, part.number, base, self._hands[part.number], self.control_freq, config
            )
            robot.load_model()
            robot.use(part)
            self.robots.append(robot)

    def _setup_references(self) -> None:
        super()._setup_references()
        self.actions = self._driver.actions(self.env.model)
        driven = [name for r in self._driver.robots for part in r.parts for name in part.motors]
        driven += [name for each in self._driver.manipulators for name in each.finger_actuators]
        self._driven = sorted(self.sim.model.actuator_name2id(name) for name in driven)
        for robot in self.robots:
            robot.reset_sim(self.sim, self.env, self.actions)

    def _setup_observables(self) -> "OrderedDict[str, Observable]":
        entries: OrderedDict[str, Observable] = OrderedDict()
        for robot in self.robots:
            for name in self._driver.robot_entries(self.env.view, robot.part):
                read = sensor(f"{robot.prefix}proprio")(partial(self._entry, robot.part, name))
                entries[name] = Observable(name, read, sampling_rate=self.control_freq)
        entries.update(super()._setup_observables())
        return entries

    def _entry(self, part: Any, name: str, readings: Any) -> np.ndarray:
        return np.array(self._driver.robot_entries(self.env.view, part)[name])

    def _reset_internal(self) -> None:
        super()._reset_internal()
        for robot, noise in zip(self.robots, self._noises, strict=True):
            robot.begin(self.rng, noise, self.deterministic_reset)
        self.sim.forward()
        self._keep(self._driver.memory(self.env.view))

    def _pre_action(self, action: Any, policy_step: bool = False) -> None:
        """Set the torques of all robots.

        Raises:
            ValueError: the action has a wrong length.
        """
        if policy_step and np.shape(action) != (self.action_dim,):
            raise ValueError(f"action: expected {self.action_dim} numbers, got {np.shape(action)}")
        if policy_step:
            start = 0
            for robot in self.robots:
                robot.remember(action[start : (start := start + robot.action_dim)])
        self._drive(self._driver, action, policy_step, self._driven)

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        return self._action_limits(self.robots)

    def _get_arm_prefixes(self, robot: Robot, include_robot_name: bool = True) -> list[str]:
        """Observation prefixes of a robot's arms, with or without the robot's own."""
        own = robot.prefix if include_robot_name else ""
        sides = [""] if len(robot.arms) == 1 else [f"{side}_" for side in robot.arms]
        return [f"{own}{side}" for side in sides]

    @property
    def _visualizations(self) -> set[str]:
        return super()._visualizations | {"robots"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        super().visualize(vis_settings)
        for robot in self.robots:
            robot.robot_model.set_sites_visibility(self.sim, vis_settings["robots"])
