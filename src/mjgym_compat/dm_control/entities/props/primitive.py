"""A prop of one geom."""

from collections.abc import Sequence
from typing import Any

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define

SENSORS = {
    "position": "framepos",
    "orientation": "framequat",
    "linear_velocity": "framelinvel",
    "angular_velocity": "frameangvel",
}


class Primitive(composer.Entity):
    """A geom with sensors of its motion."""

    def _build(
        self, geom_type: str, size: Sequence[float], name: str | None = None, **kwargs: Any
    ) -> None:
        self._mjcf_root = mjcf.RootElement(model=name)
        self.geom = self._mjcf_root.worldbody.add(
            "geom", name="body_geom", type=geom_type, size=size, **kwargs
        )
        for sensor, kind in SENSORS.items():
            made = self._mjcf_root.sensor.add(kind, name=sensor, objtype="geom", objname=self.geom)
            setattr(self, sensor, made)

    def _build_observables(self) -> "PrimitiveObservables":
        return PrimitiveObservables(self)


class PrimitiveObservables(composer.Observables, composer.FreePropObservableMixin):
    """Motion of a prop."""

    position = define.feature("sensordata", "position")
    orientation = define.feature("sensordata", "orientation")
    linear_velocity = define.feature("sensordata", "linear_velocity")
    angular_velocity = define.feature("sensordata", "angular_velocity")
