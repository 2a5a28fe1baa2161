"""Walkers with a pose in which they stand, and the observables of the published tasks."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.walkers import base
from mjgym_compat.dm_control.locomotion.walkers.initializers import UprightInitializer

TORQUE_SCALE = 60.0 / 2  # N m; torques are squashed by tanh(torque / scale)
TOUCHED = 1e-3  # N; touch sensors above it are on
RANGE = 10.0  # m, saturation scale of rangefinders
EYE = 64  # pixels, each way, of the egocentric camera's images


class Walker(base.Walker):
    """A walker that starts upright, or in the pose of an initializer."""

    def _build(self, initializer: Any = None) -> None:
        many = isinstance(initializer, Iterable)
        self._initializers = tuple(initializer) if many else (initializer or UprightInitializer(),)
        self._prev_action: Any = None

    @property
    def upright_pose(self) -> base.WalkerPose:
        return base.WalkerPose()

    def _build_observables(self) -> "WalkerObservables":
        return WalkerObservables(self)

    def reinitialize_pose(self, physics: Any, random_state: Any) -> None:
        for initializer in self._initializers:
            initializer.initialize_pose(physics, self, random_state)

    def aliveness(self, physics: Any) -> float:
        return 0.0

    ground_contact_geoms = define.required()
    end_effectors = define.required()
    egocentric_camera = define.required()
    mocap_joints = define.required()

    @property
    def touch_sensors(self) -> Sequence[mjcf.Element]:
        return self.mjcf_model.sensor.touch

    @property
    def obs_on_other(self) -> Sequence[str]:
        return ()

    @property
    def prev_action(self) -> Any:
        if self._prev_action is None:
            self._prev_action = np.zeros(len(self.actuators))
        return self._prev_action

    def initialize_episode(self, physics: Any, random_state: Any) -> None:
        self._prev_action = None

    def apply_action(self, physics: Any, action: Any, random_state: Any) -> None:
        super().apply_action(physics, action, random_state)
        self._prev_action = np.array(action)

    # Contacts.

    def after_compile(self, physics: Any, random_state: Any) -> None:
        ends = [geom for body in self.end_effectors for geom in body.find_all("geom")]
        everything = physics.bind(self.mjcf_model.find_all("geom")).element_id
        self.end_effector_geom_ids = frozenset(
            np.ravel(physics.bind(ends).element_id) if ends else ()
        )
        self.body_geom_ids = frozenset(np.ravel(everything)) - self.end_effector_geom_ids

    def end_effector_contacts(self, physics: Any) -> dict[tuple[int, int], float]:
        return self.collect_contacts(physics, self.end_effector_geom_ids)

    def body_contacts(self, physics: Any) -> dict[tuple[int, int], float]:
        return self.collect_contacts(physics, self.body_geom_ids)

    def collect_contacts(
        self, physics: Any, geom_ids: Iterable[int]
    ) -> dict[tuple[int, int], float]:
        own = set(geom_ids)
        forces: dict[tuple[int, int], float] = {}
        for k, contact in enumerate(physics.data.contact):
            pair = int(contact.geom1), int(contact.geom2)
            if contact.dist <= contact.includemargin and own.intersection(pair):
                wrench = np.zeros(6)
                mujoco.mj_contactForce(physics.model.ptr, physics.data.ptr, k, wrench)
                forces[pair] = forces.get(pair, 0.0) + float(np.linalg.norm(wrench[:3]))
        return forces

    def actuator_force(self, physics: Any) -> np.ndarray:
        return np.array(physics.bind(self.actuators).force)

    # Order of joints.

    @functools.cached_property
    def mocap_to_observable_joint_order(self) -> list[int]:
        return [self.mocap_joints.index(joint) for joint in self.observable_joints]

    @functools.cached_property
    def observable_to_mocap_joint_order(self) -> list[int]:
        return [self.observable_joints.index(joint) for joint in self.mocap_joints]

    def places(self, physics: Any, bodies: Any) -> np.ndarray:
        root = physics.bind(self.root_body)
        away = np.array(physics.bind(bodies).xpos) - np.array(root.xpos)
        local: np.ndarray = away @ np.array(root.xmat).reshape(3, 3)
        return local.ravel()


def _part(name: str, i: int) -> Any:
    return define.observable(lambda observables: getattr(observables, name)[i])


def _centre_velocity(axis: int) -> Any:
    def reading(observables: Any) -> Any:
        root = observables._entity.root_body
        return observable.Generic(lambda physics: base.centre_velocity(physics, root)[axis])

    return define.observable(reading)


def _squashed(distance: Any, random_state: Any) -> np.ndarray:
    far = np.where(np.asarray(distance) < 0, np.inf, distance)
    return np.asarray(RANGE * np.tanh(far / RANGE))


class WalkerObservables(base.WalkerObservables):
    """Observables of the published walkers."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "proprioception": (
            "joints_pos", "joints_vel", "body_height", "end_effectors_pos", "world_zaxis",
        ),
        "kinematic_sensors": ("sensors_gyro", "sensors_velocimeter", "sensors_accelerometer"),
        "dynamic_sensors": ("sensors_force", "sensors_torque", "sensors_touch"),
    }  # fmt: skip

    joints_vel = define.feature("qvel", "observable_joints")
    body_height = define.feature("xpos", "root_body", index=2)

    @composer.observable
    def end_effectors_pos(self) -> Any:
        return self._places(self._entity.end_effectors)

    def _places(self, bodies: Any) -> Any:
        return observable.Generic(lambda physics: self._entity.places(physics, bodies))

    # The world's vertical as the root body sees it.
    world_zaxis = define.feature("xmat", "root_body", index=slice(6, None))

    sensors_velocimeter = base.sensors("velocimeter")
    sensors_force = base.sensors("force")
    sensors_torque = base.sensors(
        "torque", corruptor=lambda torque, random_state: np.tanh(torque / TORQUE_SCALE)
    )
    sensors_touch = base.sensors(
        "touch", corruptor=lambda force, random_state: np.array(force > TOUCHED, np.float64)
    )
    sensors_rangefinder = base.sensors("rangefinder", corruptor=_squashed)

    @composer.observable
    def egocentric_camera(self) -> Any:
        return observable.MJCFCamera(self._entity.egocentric_camera, width=EYE, height=EYE)

    position = define.feature("xpos", "root_body")
    orientation = define.feature("xmat", "root_body")

    @composer.observable
    def prev_action(self) -> Any:
        return observable.Generic(lambda physics: self._entity.prev_action)

    # Single components of the sensors.

    veloc_forward, veloc_strafe, veloc_up = (_part("sensors_velocimeter", i) for i in range(3))
    gyro_backward_roll, gyro_rightward_roll, gyro_anticlockwise_spin = (
        _part("sensors_gyro", i) for i in range(3)
    )

    torso_xvel, torso_yvel = (_centre_velocity(axis) for axis in range(2))

    # What tasks add.

    def add_egocentric_vector(
        self,
        name: str,
        world_frame_observable: Any,
        enabled: bool = True,
        origin_callable: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        def seen(physics: Any) -> np.ndarray:
            vector = world_frame_observable.observation_callable(physics)()
            origin = 0.0 if origin_callable is None else origin_callable(physics)
            return self._entity.transform_vec_to_egocentric_frame(physics, vector - origin)

        self.add_observable(name, observable.Generic(seen, **kwargs), enabled)

    def add_egocentric_xmat(
        self, name: str, xmat_observable: Any, enabled: bool = True, **kwargs: Any
    ) -> None:
        def seen(physics: Any) -> np.ndarray:
            xmat = xmat_observable.observation_callable(physics)()
            return self._entity.transform_xmat_to_egocentric_frame(physics, xmat)

        self.add_observable(name, observable.Generic(seen, **kwargs), enabled)
