"""Walkers: robots that move about."""

from typing import Any, ClassVar, NamedTuple, Self

import mujoco
import numpy as np
from dm_env import specs

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define


class _Pose(NamedTuple):
    qpos: Any
    xpos: Any
    xquat: Any


class WalkerPose(_Pose):
    """Joint positions, place and orientation of a walker, read-only."""

    def __new__(cls, qpos: Any = None, xpos: Any = (0, 0, 0), xquat: Any = (1, 0, 0, 0)) -> Self:
        return super().__new__(
            cls, None if qpos is None else _frozen(qpos), _frozen(xpos), _frozen(xquat)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WalkerPose) and all(
            np.array_equal(mine, its) for mine, its in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


def _frozen(values: Any) -> np.ndarray:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def centre_velocity(physics: Any, body: mjcf.Element) -> np.ndarray:
    """World velocity of the centre of mass of a body's subtree, (3,) m/s."""
    mujoco.mj_subtreeVel(physics.model.ptr, physics.data.ptr)  # no step computes it
    return np.array(physics.bind(body).subtree_linvel)


class Walker(composer.Robot):
    """A robot with a root body and observed joints."""

    def create_root_joints(self, attachment_frame: Any) -> None:
        attachment_frame.add("freejoint")

    def _build_observables(self) -> "WalkerObservables":
        return WalkerObservables(self)

    def transform_vec_to_egocentric_frame(
        self, physics: Any, vec_in_world_frame: Any
    ) -> np.ndarray:
        return self.global_vector_to_local_frame(physics, vec_in_world_frame)

    def transform_xmat_to_egocentric_frame(self, physics: Any, xmat: Any) -> np.ndarray:
        return self.global_xmat_to_local_frame(physics, xmat)

    observable_joints = define.required()

    @property
    def action_spec(self) -> specs.BoundedArray:
        ranges = [(-1.0, 1.0) if a.ctrlrange is None else a.ctrlrange for a in self.actuators]
        low, high = np.reshape(ranges, (-1, 2)).T
        name = "\t".join(actuator.name for actuator in self.actuators)
        return specs.BoundedArray((len(ranges),), float, low, high, name)

    def apply_action(self, physics: Any, action: Any, random_state: Any) -> None:
        del random_state
        physics.bind(self.actuators).ctrl = action


def sensors(tag: str, **options: Any) -> define.observable:
    """An observable of all sensors of a type in a walker's model."""
    return define.feature("sensordata", f"mjcf_model.sensor.{tag}", **options)


def _group(name: str) -> Any:
    """Observables of a group, of the walker and of the entities attached to it."""

    def listed(observables: Any) -> list[Any]:
        own = [getattr(observables, each) for each in observables._groups[name]]
        for entity in observables._entity.iter_entities(exclude_self=True):
            own += getattr(entity.observables, name, [])
        return own

    return property(listed)


class WalkerObservables(composer.Observables):
    """Observables of any walker."""

    _entity: Any
    _groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "proprioception": ("joints_pos",),
        "kinematic_sensors": ("sensors_gyro", "sensors_accelerometer", "sensors_framequat"),
        "dynamic_sensors": (),
    }

    joints_pos = define.feature("qpos", "observable_joints")
    sensors_gyro = sensors("gyro")
    sensors_accelerometer = sensors("accelerometer")
    sensors_framequat = sensors("framequat")

    proprioception = _group("proprioception")
    kinematic_sensors = _group("kinematic_sensors")
    dynamic_sensors = _group("dynamic_sensors")
