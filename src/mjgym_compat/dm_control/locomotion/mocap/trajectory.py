"""A clip, or a part of one, with its walkers and props."""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control.locomotion.mocap import mocap_pb2
from mjgym_compat.dm_control.locomotion.mocap.props import Prop
from mjgym_compat.dm_control.locomotion.walkers import rescale

STEP_TIME_TOLERANCE = 1e-4
"""Share of a step by which a time may miss it."""

_MANY = ("end_effectors", "appendages", "body_positions", "body_quaternions")


class Trajectory:
    """A recorded motion."""

    def __init__(
        self,
        proto: Any,
        start_time: float | None = None,
        end_time: float | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        zero_out_velocities: bool = True,
    ) -> None:
        by_time = start_time is not None or end_time is not None
        if by_time and (start_step is not None or end_step is not None):
            raise ValueError("give start and end as times or as steps, not both")
        self._proto = proto
        self._zero_out_velocities = zero_out_velocities
        first, last = 0, len(proto.timesteps) - 1
        if by_time:
            first = first if start_time is None else self._step(start_time)
            last = last if end_time is None else self._step(end_time)
        else:
            first = first if start_step is None else max(start_step, first)
            last = last if end_step is None else min(end_step, last)
        self._first, self._last = first, last

    def _step(self, time: float) -> int:
        steps = time / self.dt
        if abs(steps - round(steps)) > STEP_TIME_TOLERANCE:
            raise ValueError(f"time: {time} is no multiple of the clip's step, {self.dt} s")
        return min(max(round(steps), 0), len(self._proto.timesteps) - 1)

    # Place in the clip.

    @property
    def identifier(self) -> str:
        return str(self._proto.identifier)

    @property
    def dt(self) -> float:
        return float(self._proto.dt)

    @property
    def start_step(self) -> int:
        return self._first

    @property
    def end_step(self) -> int:
        return self._last + 1

    @property
    def start_time(self) -> float:
        return self._first * self.dt

    @start_time.setter
    def start_time(self, new_value: float) -> None:
        self._first = self._step(new_value)

    @property
    def end_time(self) -> float:
        return self._last * self.dt

    @end_time.setter
    def end_time(self, new_value: float) -> None:
        self._last = self._step(new_value)

    @property
    def clip_end_time(self) -> float:
        return (len(self._proto.timesteps) - 1) * self.dt

    @property
    def duration(self) -> float:
        return self.end_time - self.start_time

    @property
    def num_steps(self) -> int:
        return self._last - self._first + 1

    # Content.

    def as_dict(self) -> dict[str, np.ndarray]:
        steps = self._proto.timesteps[self._first : self._last + 1]
        arrays: dict[str, np.ndarray] = {}
        for kind in ("walker", "prop"):
            count = len(getattr(self._proto, f"{kind}s"))
            for k in range(count):
                prefix = kind if count == 1 else f"{kind}_{k}"
                poses = [getattr(step, f"{kind}s")[k] for step in steps]
                for field in poses[0].DESCRIPTOR.fields_by_name:
                    values = np.array([getattr(pose, field) for pose in poses])
                    if values.size:
                        arrays[f"{prefix}/{field}"] = _shaped(field, values)
        return arrays

    def get_timestep_data(self, time: float) -> Any:
        """Message of the step at a time from the start, s; the nearest one beyond the ends."""
        step = min(self._step(self.start_time + time), self._last)
        data = self._proto.timesteps[step]
        if step < self._last or not self._zero_out_velocities:
            return data
        still = mocap_pb2.TimestepData()
        still.CopyFrom(data)
        for pose in (*still.walkers, *still.props):
            for field in pose.DESCRIPTOR.fields_by_name:
                if field.endswith("velocity"):
                    values = getattr(pose, field)
                    values[:] = [0.0] * len(values)
        return still

    def get_modified_trajectory(
        self, proto_modifier: Callable[..., Any] | Iterable[Any], random_state: Any = None
    ) -> "Trajectory":
        modified = copy.copy(self)
        modified._proto = mocap_pb2.FittedTrajectory()
        modified._proto.CopyFrom(self._proto)
        many = proto_modifier if isinstance(proto_modifier, Iterable) else (proto_modifier,)
        for modify in many:
            modify(modified._proto, random_state=random_state)
        return modified

    # Walkers and props.

    def configure_walkers(self, walkers: Sequence[Any]) -> None:
        for walker, recorded in zip(walkers, self._proto.walkers, strict=False):
            for subtree in recorded.scaling.subtree:
                body = walker.mjcf_model.find("body", subtree.body_name)
                rescale.rescale_subtree(
                    body, subtree.parent_length or 1.0, subtree.size_factor or 1.0
                )
            if recorded.mass:
                rescale.rescale_humanoid(walker, 1.0, mass=recorded.mass)

    def create_props(
        self,
        proto_modifier: Any = None,
        priority_friction: bool = False,
        prop_factory: Callable[..., Any] | None = None,
    ) -> tuple[Any, ...]:
        source = self if proto_modifier is None else self.get_modified_trajectory(proto_modifier)
        make = prop_factory or Prop
        return tuple(
            make(prop, priority_friction=priority_friction) for prop in source._proto.props
        )

    def set_walker_poses(self, physics: Any, walkers: Sequence[Any]) -> None:
        data = self.get_timestep_data(physics.time())
        for walker, pose in zip(walkers, data.walkers, strict=True):
            walker.set_pose(physics, pose.position, pose.quaternion)
            physics.bind(walker.mocap_joints).qpos = pose.joints

    def set_prop_poses(self, physics: Any, props: Sequence[Any]) -> None:
        data = self.get_timestep_data(physics.time())
        for prop, pose in zip(props, data.props, strict=True):
            prop.set_pose(physics, pose.position, pose.quaternion)


def _shaped(field: str, values: np.ndarray) -> np.ndarray:
    """Reshape values of several bodies to one row per body."""
    if field not in _MANY:
        return values
    return values.reshape(len(values), -1, 4 if "quaternion" in field else 3)
