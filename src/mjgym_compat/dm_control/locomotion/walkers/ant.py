"""The ant."""

from typing import Any, ClassVar

import numpy as np

from mjgym_compat.dm_control import composer
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.walkers import known, legacy_base


class Ant(known.Known):
    """A four-legged creature with eight motors; see `Known`."""

    file = "ant.xml"
    registered = "ant"
    markers = ("front_left_leg_geom", "front_right_leg_geom")

    def aliveness(self, physics: Any) -> float:
        return float((physics.bind(self.root_body).xmat[-1] - 1.0) / 2)

    def _build_observables(self) -> "AntObservables":
        return AntObservables(self)


class AntObservables(known.KnownObservables):
    """Observables of the ant."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = legacy_base.WalkerObservables._groups | {
        "proprioception": (
            "joints_pos", "joints_vel", "body_height", "end_effectors_pos", "appendages_pos",
            "world_zaxis", "bodies_quats", "bodies_pos",
        ),
    }  # fmt: skip

    @composer.observable
    def appendages_pos(self) -> Any:
        return self._places(self._entity.end_effectors)

    @composer.observable
    def bodies_pos(self) -> Any:
        return self._places(self._entity.bodies)

    @composer.observable
    def bodies_quats(self) -> Any:
        sensors = self._entity.mjcf_model.find_all("sensor")
        turns = [each for each in sensors if each.name.endswith("_ego_body_quat")]
        return observable.Generic(lambda physics: np.ravel(physics.bind(turns).sensordata))
