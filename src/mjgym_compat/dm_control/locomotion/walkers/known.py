"""Walkers of this package as entities: their models, and which elements are which."""

import functools
from typing import Any, ClassVar

from mjgym.tasks.locomotion.walkers import find_walker
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer import define
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.models import read
from mjgym_compat.dm_control.locomotion.walkers import base, legacy_base


def _named(kind: str, fact: str) -> Any:
    """The element, or the elements, named by a fact of the registered walker, once."""

    def found(walker: Any) -> Any:
        names = getattr(walker._facts, fact)
        if isinstance(names, str):
            return walker._find(kind, names)[0]
        return walker._find(kind, *names)

    return functools.cached_property(found)


def every(kind: str) -> Any:
    """All elements of a kind in the walker's model, once."""
    return functools.cached_property(lambda walker: tuple(walker._mjcf_root.find_all(kind)))


class Known(legacy_base.Walker):
    """A walker of this package.

    Args:
        marker_rgba: colour of the geoms that tell players apart; None for that of the model.
        initializer: sets the initial pose; None for upright.
    """

    file: str
    registered: str
    """Its name in the registry of walkers."""
    markers: tuple[str, ...] = ()

    def _build(
        self, name: str = "walker", marker_rgba: Any = None, initializer: Any = None
    ) -> None:
        super()._build(initializer=initializer)
        self._facts = find_walker(self.registered)
        self._mjcf_root = read(f"walkers/{self.file}", name)
        for geom in self.marker_geoms if marker_rgba is not None else ():
            geom.set_attributes(material=None, rgba=marker_rgba)

    def _find(self, kind: str, *names: str) -> tuple[mjcf.Element, ...]:
        return tuple(self._mjcf_root.find(kind, name) for name in names)  # type: ignore[misc]

    @property
    def upright_pose(self) -> base.WalkerPose:
        return base.WalkerPose(xpos=(0, 0, self._facts.height), xquat=self._facts.quaternion)

    root_body = _named("body", "root")
    egocentric_camera = _named("camera", "camera")
    end_effectors = _named("body", "end_effectors")
    hands = _named("body", "hands")
    """Bodies that manipulate objects; empty if those are the end effectors."""
    observable_joints = _named("joint", "observed_joints")
    actuators = every("actuator")
    mocap_joints = every("joint")
    bodies = every("body")

    @property
    def mocap_tracking_bodies(self) -> tuple[mjcf.Element, ...]:
        return self.bodies

    @functools.cached_property
    def marker_geoms(self) -> tuple[mjcf.Element, ...]:
        return self._find("geom", *self.markers)

    @functools.cached_property
    def ground_contact_geoms(self) -> tuple[mjcf.Element, ...]:
        feet = self._find("body", *self._facts.feet)
        return tuple(dict.fromkeys(geom for foot in feet for geom in foot.find_all("geom")))

    def _build_observables(self) -> legacy_base.WalkerObservables:
        return KnownObservables(self)


class KnownObservables(legacy_base.WalkerObservables):
    """Observables of a walker of this package."""

    @composer.observable
    def egocentric_camera(self) -> Any:
        """Image of the egocentric camera, without the geoms that hide its own head."""
        option = _seeing(self._entity._facts.hidden_groups)
        return observable.MJCFCamera(
            self._entity.egocentric_camera,
            width=legacy_base.EYE,
            height=legacy_base.EYE,
            scene_option=option,
        )


class WithHead(Known):
    """A walker with a head and arms."""

    arms: ClassVar[tuple[str, str]]
    """Bodies at the roots of the left and the right arm."""

    head = _named("body", "head")

    @functools.cached_property
    def left_arm_root(self) -> mjcf.Element:
        return self._find("body", self.arms[0])[0]

    @functools.cached_property
    def right_arm_root(self) -> mjcf.Element:
        return self._find("body", self.arms[1])[0]

    def _build_observables(self) -> "HeadObservables":
        return HeadObservables(self)


class HeadObservables(KnownObservables):
    """Observables of a walker with a head."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = legacy_base.WalkerObservables._groups | {
        "proprioception": (
            "joints_pos", "joints_vel", "actuator_activation", "body_height", "end_effectors_pos",
            "appendages_pos", "world_zaxis",
        ),
    }  # fmt: skip

    head_height = define.feature("xpos", "head", index=2)

    @composer.observable
    def actuator_activation(self) -> Any:
        stateful = [a for a in self._entity.actuators if _has_state(a)]
        return observable.MJCFFeature("act", stateful)

    @composer.observable
    def appendages_pos(self) -> Any:
        return self._places((*self._entity.end_effectors, self._entity.head))


def _has_state(actuator: mjcf.Element) -> bool:
    if actuator.tag != "general":
        return False
    mjcf.commit_defaults(actuator, ["dyntype"])
    return actuator.dyntype not in (None, "none")


def _seeing(hidden_groups: tuple[int, ...]) -> Any:
    """Visual options that hide some geom groups; None if none is hidden."""
    if not hidden_groups:
        return None
    import mujoco

    option = mujoco.MjvOption()
    for group in hidden_groups:
        option.geomgroup[group] = 0
    return option
