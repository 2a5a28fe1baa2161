"""Props of one geom with a sensor of touch."""

import itertools
from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.entities.props.primitive import Primitive as Geom
from mjgym_compat.dm_control.entities.props.primitive import PrimitiveObservables as Motion

HALF_LENGTHS = (0.05, 0.1, 0.15)  # m
RADIUS, HALF_LENGTH = 0.05, 0.15  # m
TOUCHED = 1.05  # size of the sensor, in that of the geom
CORNER_SIZE = 0.1  # m


class Primitive(Geom):
    """A geom with sensors of its motion and of touch.

    Args:
        geom_type: "sphere", "box", ...
        size: m.
        mass: kg; None for that of water.
    """

    def _build(  # type: ignore[override]
        self, geom_type: str, size: Any, mass: float | None = None, name: str | None = None
    ) -> None:
        sizes = [size] if isinstance(size, float | int) else [*size]
        super()._build(geom_type, sizes, name, mass=mass)
        self.name = name
        site = self._mjcf_root.worldbody.add(
            "site",
            name="touch_sensor",
            type=geom_type,
            size=[TOUCHED * length for length in sizes],
            rgba=[1, 1, 1, 0.1],
            group=composer.SENSOR_SITES_GROUP,
        )
        self.touch = self._mjcf_root.sensor.add("touch", site=site)

    def _build_observables(self) -> "PrimitiveObservables":
        return PrimitiveObservables(self)


class PrimitiveObservables(Motion):
    """Motion and touch of a prop."""

    touch = define.feature("sensordata", "touch")


def _shape(title: str, shape: str, lengths: dict[str, Any]) -> type[Primitive]:
    usual = {**lengths, "mass": None, "name": shape}

    def _build(self: Primitive, *args: Any, **kwargs: Any) -> None:
        given = usual | dict(zip(usual, args, strict=False)) | kwargs
        sizes = [given[name] or usual[name] for name in lengths]
        size = sizes[0] if np.ndim(sizes[0]) else sizes
        Primitive._build(self, shape, size, given["mass"], given["name"])

    own = {"_build": _build, "__doc__": f"A {shape}: {', '.join(usual)}.", "__module__": __name__}
    return type(title, (Primitive,), own)


Sphere = _shape("Sphere", "sphere", {"radius": RADIUS})
Box: Any = _shape("Box", "box", {"half_lengths": HALF_LENGTHS})
Ellipsoid = _shape("Ellipsoid", "ellipsoid", {"radii": HALF_LENGTHS})
Cylinder = _shape("Cylinder", "cylinder", {"radius": RADIUS, "half_length": HALF_LENGTH})
Capsule = _shape("Capsule", "capsule", {"radius": RADIUS, "half_length": HALF_LENGTH})


class BoxWithSites(Box):  # type: ignore[misc]
    """A box with sites at its corners."""

    def _build(self, *args: Any, **kwargs: Any) -> None:
        super()._build(*args, **kwargs)
        corners = itertools.product(*([x, -x] for x in self.geom.size))
        self.corner_sites = tuple(
            self._mjcf_root.worldbody.add(
                "site",
                name=f"corner_{i}",
                type="sphere",
                size=[CORNER_SIZE],
                pos=corner,
                rgba=[1, 0, 0, 1],
                group=composer.SENSOR_SITES_GROUP,
            )
            for i, corner in enumerate(corners)
        )


__path__: list[str] = []  # it answers for modules of others
