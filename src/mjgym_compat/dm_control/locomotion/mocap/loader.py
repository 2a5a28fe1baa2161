"""Clips of an HDF5 file, and changes to them."""

import abc
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mjgym.mocap import fitted
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.composer import variation
from mjgym_compat.dm_control.locomotion.mocap import mocap_pb2, trajectory

_ABOUT = ("year", "month", "day", "dt")


class TrajectoryLoader(abc.ABC):
    """Clips by name."""

    def __init__(
        self,
        trajectory_class: Callable[..., Any] = trajectory.Trajectory,
        proto_modifier: Any = (),
    ) -> None:
        many = proto_modifier if isinstance(proto_modifier, Iterable) else (proto_modifier,)
        self._modifiers = tuple(many)
        for each in self._modifiers:
            if not callable(each):
                raise ValueError(f"proto_modifier: {each} is not callable")
        self._trajectory_class = trajectory_class

    @abc.abstractmethod
    def keys(self) -> Sequence[str]:
        """Names of the clips."""

    @abc.abstractmethod
    def _get_proto_for_key(self, key: str) -> Any:
        """Message of a clip."""

    def get_trajectory(
        self,
        key: str,
        start_time: float | None = None,
        end_time: float | None = None,
        start_step: int | None = None,
        end_step: int | None = None,
        zero_out_velocities: bool = True,
    ) -> Any:
        """A clip, or a part of it; see `Trajectory`."""
        proto = self._get_proto_for_key(key)
        for modify in self._modifiers:
            modify(proto)
        return self._trajectory_class(
            proto, start_time, end_time, start_step, end_step, zero_out_velocities
        )


class HDF5TrajectoryLoader(TrajectoryLoader):
    """Clips of an HDF5 file."""

    def __init__(self, path: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._keys = fitted.clip_names(path)
        self._file = fitted.h5py().File(pathlib.Path(path), "r")

    def keys(self) -> tuple[str, ...]:
        return self._keys

    def _get_proto_for_key(self, key: str | bytes) -> Any:
        name = key.decode() if isinstance(key, bytes) else key
        if name not in self._keys:
            raise KeyError(f"no clip {name!r}{or_else(name, self._keys)}")
        group = self._file[name]
        proto = mocap_pb2.FittedTrajectory(identifier=name)
        _set(proto, {field: group.attrs[field] for field in _ABOUT})
        walkers, props = _numbered(group, "walkers/walker"), _numbered(group, "props/prop")
        for walker in walkers:
            described = proto.walkers.add()
            _set(described, walker.attrs)
            for marker in _numbered(walker, "markers/marker"):
                _set(described.markers.marker.add(), marker.attrs)
            for subtree in _numbered(walker, "scaling/subtree"):
                _set(described.scaling.subtree.add(), subtree.attrs)
        for prop in props:
            _set(proto.props.add(), prop.attrs)
        moving = [[_rows(each) for each in kind] for kind in (walkers, props)]
        for step in range(int(group.attrs["num_steps"])):
            data = proto.timesteps.add()
            for kind, poses in zip(moving, (data.walkers, data.props), strict=True):
                for rows in kind:
                    _set(poses.add(), {field: values[step] for field, values in rows.items()})
        return proto


def _numbered(group: Any, prefix: str) -> list[Any]:
    """Subgroups "prefix_0", "prefix_1", ..."""
    found: list[Any] = []
    while f"{prefix}_{len(found)}" in group:
        found.append(group[f"{prefix}_{len(found)}"])
    return found


def _rows(group: Any) -> dict[str, np.ndarray]:
    return {key: value[:].T for key, value in group.items() if hasattr(value, "shape")}


def _set(message: Any, values: Mapping[str, Any]) -> None:
    for field, value in values.items():
        if field not in message.DESCRIPTOR.fields_by_name:
            continue
        plain = np.asarray(value).tolist()
        if isinstance(plain, list):
            getattr(message, field).extend(_text(each) for each in plain)
        else:
            setattr(message, field, _text(plain))


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


class PropMassLimiter:
    """Limits the mass of each prop."""

    def __init__(self, max_mass: Any) -> None:
        self._max_mass = max_mass

    def __call__(self, proto: Any, random_state: Any = None) -> None:
        for prop in proto.props:
            limit = variation.evaluate(self._max_mass, random_state=random_state)
            prop.mass = min(prop.mass, limit)


class PropResizer:
    """Changes the size and the mass of each prop."""

    def __init__(self, size_factor: Any = None, size_delta: Any = None, mass: Any = None) -> None:
        if size_factor is not None and size_delta is not None:
            raise ValueError("give size_factor or size_delta, not both")
        self._factor, self._delta, self._mass = size_factor, size_delta, mass

    def __call__(self, proto: Any, random_state: Any = None) -> None:
        def drawn(value: Any, otherwise: Any) -> Any:
            return otherwise if value is None else variation.evaluate(value, None, random_state)

        for prop in proto.props:
            size = np.array(prop.size) * drawn(self._factor, 1.0) + drawn(self._delta, 0.0)
            prop.ClearField("size")
            prop.size.extend(size)
            prop.mass = drawn(self._mass, prop.mass)


class ZOffsetter:
    """Lifts a clip."""

    def __init__(self, z_offset: Any = 0.0) -> None:
        self._z_offset = z_offset

    def __call__(self, proto: Any, random_state: Any = None) -> None:
        offset = variation.evaluate(self._z_offset, random_state=random_state)
        for step in proto.timesteps:
            for pose in step.walkers:
                for places in (pose.position, pose.body_positions, pose.center_of_mass):
                    _lift(places, offset)
            for pose in step.props:
                _lift(pose.position, offset)


def _lift(places: Any, offset: float) -> None:
    for k in range(2, len(places), 3):
        places[k] += offset
