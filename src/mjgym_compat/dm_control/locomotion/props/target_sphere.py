"""Spheres that notice when they are touched, and stop nobody."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mjgym_compat.dm_control import composer, mjcf

GREENS = (0, 0.4, 0), (0, 0.7, 0)
YELLOWS = (1.0, 1.0, 0.4), (0.7, 0.7, 0.0)
BLUES = (0.4, 0.7, 1.0), (0, 0.4, 0.7)


class _Sphere(composer.Entity):
    geom: mjcf.Element

    def _make(
        self, name: str, radius: float, height: float, colours: Any, ids: Iterable[int] | None
    ) -> None:
        self._mjcf_root = mjcf.RootElement(model=name)
        self._materials = []
        for k, (rgb1, rgb2) in enumerate(colours):
            own = "target_sphere" if k == 0 else f"target_sphere_{k}"
            texture = self._mjcf_root.asset.add(
                "texture", name=own, type="cube", builtin="checker", rgb1=rgb1, rgb2=rgb2,
                width=100, height=100,
            )  # fmt: skip
            self._materials.append(self._mjcf_root.asset.add("material", name=own, texture=texture))
        # A margin with an equal gap lists contacts without a force.
        self.geom = self._mjcf_root.worldbody.add(
            "geom", name="geom", type="sphere", size=(radius,), pos=(0, 0, height),
            material=self._materials[0], margin=-2 * radius, gap=2 * radius,
        )  # fmt: skip
        self.touching_ids = None if ids is None else frozenset(ids)

    @property
    def material(self) -> mjcf.Element:
        return self._materials[0]

    def touched(self, physics: Any) -> bool:
        """Whether any of `touching_ids` (any geom if None) touches the sphere."""
        if not physics.data.ncon:
            return False
        geoms = physics.data.contact.geom[physics.data.contact.dist <= 0]
        own = geoms == physics.bind(self.geom).element_id
        others = geoms[own[:, ::-1]]
        return bool(len(others)) and (
            self.touching_ids is None or not self.touching_ids.isdisjoint(others)
        )

    def reset(self, physics: Any) -> None:
        raise NotImplementedError

    def _update_activation(self, physics: Any) -> None:
        raise NotImplementedError

    def initialize_episode(self, physics: Any, random_state: np.random.RandomState) -> None:
        self.reset(physics)
        self._update_activation(physics)

    def after_substep(self, physics: Any, random_state: np.random.RandomState) -> None:
        self._update_activation(physics)


class TargetSphere(_Sphere):
    """A sphere that vanishes when it is touched."""

    def _build(
        self,
        radius: float = 0.6,
        height_above_ground: float = 1,
        rgb1: Any = GREENS[0],
        rgb2: Any = GREENS[1],
        specific_collision_geom_ids: Iterable[int] | None = None,
        name: str = "target",
    ) -> None:
        colours = ((rgb1, rgb2),)
        self._make(name, radius, height_above_ground, colours, specific_collision_geom_ids)
        self.activated = False

    def reset(self, physics: Any) -> None:
        self.activated = False
        physics.bind(self.material).rgba[-1] = 1

    def _update_activation(self, physics: Any) -> None:
        if not self.activated and self.touched(physics):
            self.activated = True
            physics.bind(self.material).rgba[-1] = 0


class TargetSphereTwoTouch(_Sphere):
    """A sphere that detects two touches and shows their number by its colours."""

    def _build(
        self,
        radius: float = 0.6,
        height_above_ground: float = 1,
        rgb_initial: Any = GREENS,
        rgb_interval: Any = YELLOWS,
        rgb_final: Any = BLUES,
        touch_debounce: float = 0.2,
        specific_collision_geom_ids: Iterable[int] | None = None,
        name: str = "target",
    ) -> None:
        colours = (rgb_initial, rgb_interval, rgb_final)
        self._make(name, radius, height_above_ground, colours, specific_collision_geom_ids)
        self._debounce = touch_debounce
        self._first: float | None = None
        self._twice = False

    @property
    def activated(self) -> tuple[bool, bool]:
        return self._first is not None, self._twice

    def reset(self, physics: Any) -> None:
        self._first, self._twice = None, False
        self._show(physics, 0)

    def _show(self, physics: Any, which: int) -> None:
        physics.bind(self.geom).matid = physics.bind(self._materials[which]).element_id

    def _update_activation(self, physics: Any) -> None:
        if self._twice or not self.touched(physics):
            return
        if self._first is None:
            self._first = physics.time()
            self._show(physics, 1)
        elif physics.time() > self._first + self._debounce:
            self._twice = True
            self._show(physics, 2)
