"""Props that were recorded with a motion."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.locomotion.mocap import mocap_pb2

_SHAPES = {mocap_pb2.Prop.SPHERE: "sphere", mocap_pb2.Prop.BOX: "box"}
LIGHT, HEAVY = np.array([0.77, 0.64, 0.21, 1.0]), np.array([0.77, 0.34, 0.21, 1.0])
MASSES = 3.0, 10.0  # kg, of the light and of the heavy colour
SLIDING = 0.7  # friction
TORSION, ROLLING = 0.25, 0.5  # friction, shares of the first half size
_COPIED = ("type", "size", "mass", "rgba", "friction", "condim", "priority")


class Prop(composer.Entity):
    """A box or a sphere."""

    def _build(self, prop_proto: Any, rgba: Any = None, priority_friction: bool = False) -> None:
        if prop_proto.shape not in _SHAPES:
            raise ValueError(f"prop {prop_proto.name!r} has neither the shape SPHERE nor BOX")
        self._mjcf_root = mjcf.RootElement(model=prop_proto.name or None)
        size, mass = tuple(prop_proto.size), prop_proto.mass
        share = np.interp(mass, MASSES, (0.0, 1.0))
        friction: dict[str, Any] = {}
        if priority_friction:
            friction = {
                "condim": 6,
                "priority": 1,
                "friction": (SLIDING, TORSION * size[0], ROLLING * size[0]),
            }
        self.geom = self._mjcf_root.worldbody.add(
            "geom",
            type=_SHAPES[prop_proto.shape],
            size=size,
            mass=mass,
            rgba=(1 - share) * LIGHT + share * HEAVY if rgba is None else rgba,
            **friction,
        )
        self.position, self.orientation = (
            self._mjcf_root.sensor.add(kind, name=name, objtype="geom", objname=self.geom)
            for name, kind in (("position", "framepos"), ("orientation", "framequat"))
        )
        self.body_geom_ids: tuple[int, ...] = ()

    def _build_observables(self) -> "Observables":
        return Observables(self)

    def update_with_new_prop(self, prop: "Prop") -> None:
        for name in _COPIED:
            setattr(self.geom, name, getattr(prop.geom, name))

    def after_compile(self, physics: Any, random_state: Any) -> None:
        self.body_geom_ids = (int(physics.bind(self.geom).element_id),)


class Observables(composer.Observables):
    """Pose of a prop."""

    position = define.feature("sensordata", "position")
    orientation = define.feature("sensordata", "orientation")
