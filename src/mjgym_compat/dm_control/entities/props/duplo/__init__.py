"""A toy brick with two rows of four studs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mjgym.util.packaged import assets
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.entities.props.primitive import SENSORS, PrimitiveObservables


class _StudParams(NamedTuple):
    easy_align: bool
    flanges: bool


class _StudSize(NamedTuple):  # m, of radii drawn with variation 1
    minimum: float
    lower_quartile: float  # the radius without variation
    maximum: float


_STUD_SIZE_PARAMS = {
    _StudParams(False, False): _StudSize(0.004685, 0.004781, 0.004898),
    _StudParams(False, True): _StudSize(0.004609, 0.004647, 0.004716),
    _StudParams(True, False): _StudSize(0.004754, 0.004844, 0.004953),
    _StudParams(True, True): _StudSize(0.004695, 0.004717, 0.004765),
}
_CYLINDER = 0.0047  # m, radius of cylinders, which decides the mass where capsules hold
_COLOR_NOT_BETWEEN_0_AND_1 = "All values in `color` must be between 0 and 1, got {!r}."


class Duplo(composer.Entity):
    """A brick with studs that other bricks hold by friction.

    Args:
        easy_align: whether studs are capsules, which find holes more easily.
        flanges: whether bricks hold each other where they overlap in part; slower.
        variation: of the radius that each episode draws, and with it of the force that separates
            bricks: 1 for that of real bricks, 0 for none.
        color: red, green and blue, 0 to 1.
    """

    def _build(
        self,
        easy_align: bool = False,
        flanges: bool = True,
        variation: float = 0.0,
        color: Sequence[float] = (1.0, 0.0, 0.0),
    ) -> None:
        if not all(0 <= value <= 1 for value in color):
            raise ValueError(_COLOR_NOT_BETWEEN_0_AND_1.format(color))
        self._mjcf_root = mjcf.from_path(assets() / "manipulation" / "duplo.xml")
        find: Any = self._mjcf_root.find
        self._stud = find("default", "stud").geom
        self._stud.size[0] = _CYLINDER
        if easy_align:  # cylinders meet the ground alone, and are not seen
            self._stud.group, self._stud.contype, self._stud.conaffinity = 3, 9, 8
            self._stud = find("default", "studcap").geom
            self._stud.group, self._stud.conaffinity = 0, 4
        if not flanges:
            find("default", "flange").geom.contype = 0
        size = _STUD_SIZE_PARAMS[_StudParams(easy_align, flanges)]
        middle = size.lower_quartile
        self._least = middle + variation * (size.minimum - middle)
        self._largest = middle + variation * (size.maximum - middle)
        self.studs, self.holes = (
            np.array([[find("site", f"{kind}_{i}{j}") for j in range(4)] for i in range(2)], object)
            for kind in ("stud", "hole")
        )
        find("material", "plastic").rgba = (*color, 1.0)
        for sensor in (*SENSORS, "force"):
            setattr(self, sensor, find("sensor", sensor))

    def initialize_episode_mjcf(self, random_state: np.random.RandomState) -> None:
        self._stud.size[0] = random_state.uniform(self._least, self._largest)

    def _build_observables(self) -> "DuploObservables":
        return DuploObservables(self)


class DuploObservables(PrimitiveObservables):
    """Motion of a brick, and the force that holds it, N."""

    force = define.feature("sensordata", "force")
