"""Extra elements that images and viewers show: joints, contacts, forces, frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import mujoco

from mjgym.util.values import one_of

GROUPED = ("geom", "site", "joint", "tendon", "actuator", "flex", "skin")
"""Element kinds with groups, numbered from 0 to 5; 0 to 2 are shown by default."""

_GROUPS = 6
_VIS = mujoco.mjtVisFlag
_FLAGS = {
    "joints": (_VIS.mjVIS_JOINT,),
    "tendons": (_VIS.mjVIS_TENDON,),
    "actuators": (_VIS.mjVIS_ACTUATOR,),
    "activations": (_VIS.mjVIS_ACTIVATION,),
    "contacts": (_VIS.mjVIS_CONTACTPOINT,),
    "forces": (_VIS.mjVIS_CONTACTFORCE,),
    "split_forces": (_VIS.mjVIS_CONTACTFORCE, _VIS.mjVIS_CONTACTSPLIT),
    "constraints": (_VIS.mjVIS_CONSTRAINT,),
    "islands": (_VIS.mjVIS_ISLAND,),
    "rangefinders": (_VIS.mjVIS_RANGEFINDER,),
    "com": (_VIS.mjVIS_COM,),
    "inertia": (_VIS.mjVIS_INERTIA,),
    "scaled_inertia": (_VIS.mjVIS_INERTIA, _VIS.mjVIS_SCLINERTIA),
    "skeleton": (_VIS.mjVIS_AUTOCONNECT,),
    "hulls": (_VIS.mjVIS_CONVEXHULL,),
    "cameras": (_VIS.mjVIS_CAMERA,),
    "lights": (_VIS.mjVIS_LIGHT,),
    "perturbations": (_VIS.mjVIS_PERTFORCE,),
    "transparent": (_VIS.mjVIS_TRANSPARENT,),
    "geoms": (),
    "sites": (),
    # The engine labels only what it draws.
    "joint_labels": (_VIS.mjVIS_JOINT,),
    "camera_labels": (_VIS.mjVIS_CAMERA,),
    "light_labels": (_VIS.mjVIS_LIGHT,),
    "actuator_labels": (_VIS.mjVIS_ACTUATOR,),
    "force_labels": (_VIS.mjVIS_CONTACTFORCE,),
}
_FRAMED = ("geom", "site", "camera", "light", "contact")
_FRAMES = {
    "frames": mujoco.mjtFrame.mjFRAME_BODY,
    **{f"{kind}_frames": getattr(mujoco.mjtFrame, f"mjFRAME_{kind.upper()}") for kind in _FRAMED},
    "world_frame": mujoco.mjtFrame.mjFRAME_WORLD,
}
_LABELED = ("joint", "geom", "site", "camera", "light", "tendon", "actuator")
_LABELS = {
    "labels": mujoco.mjtLabel.mjLABEL_BODY,
    **{f"{kind}_labels": getattr(mujoco.mjtLabel, f"mjLABEL_{kind.upper()}") for kind in _LABELED},
    "force_labels": mujoco.mjtLabel.mjLABEL_CONTACTFORCE,
}
SHOW_WORDS = tuple(dict.fromkeys((*_FLAGS, *_FRAMES, *_LABELS)))
"""Valid words of `show`."""

# Words that show elements of all groups.
_OF_KIND = {f"{kind}s": kind for kind in ("geom", "site", "joint", "tendon", "actuator")}
# Flags and labels that need forces and collisions, not just kinematics.
_OF_FORCES = {
    *(_VIS.mjVIS_CONTACTPOINT, _VIS.mjVIS_CONTACTFORCE, _VIS.mjVIS_CONTACTSPLIT),
    *(_VIS.mjVIS_CONSTRAINT, _VIS.mjVIS_ISLAND, _VIS.mjVIS_RANGEFINDER, _VIS.mjVIS_ACTUATOR),
}
_CONTACT_LABELS = {
    *(mujoco.mjtLabel.mjLABEL_CONTACTPOINT, mujoco.mjtLabel.mjLABEL_CONTACTFORCE),
    *(mujoco.mjtLabel.mjLABEL_CONSTRAINT, mujoco.mjtLabel.mjLABEL_ISLAND),
}


def _plain() -> tuple[int, ...]:
    flags = [int(flag) for flag in mujoco.MjvOption().flags]
    flags[_VIS.mjVIS_RANGEFINDER] = 0
    return tuple(flags)


@dataclass(frozen=True)
class Overlay:
    """Visual options of an image or a viewer, as plain numbers."""

    flags: tuple[int, ...] = field(default_factory=_plain)  # by index of `mujoco.mjtVisFlag`
    # Six numbers, 1 for a visible group, for each kind that differs from the default; see `GROUPED`
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    frame: int = 0
    label: int = 0
    depths: tuple[int, int] = (1, 0)  # depth of bounding volumes and layer of flexes that are drawn

    @classmethod
    def from_words(cls, show: Any = (), groups: Any = None) -> Self:
        """The options for some words.

        Args:
            show: some of `SHOW_WORDS`, or an `MjvOption`. "geoms", "sites", "joints", "tendons"
                and "actuators" show elements of all groups. One kind of frames and one kind of
                labels can be shown at a time.
            groups: visible groups by kind of element, a number or several from 0 to 5, e.g.
                {"geom": (0, 1, 2, 3)}; other kinds keep their defaults.
        """
        if isinstance(show, mujoco.MjvOption):
            if groups:
                raise TypeError("groups: an MjvOption has groups of its own")
            return cls.of_option(show)
        words = [show] if isinstance(show, str) else show
        if not isinstance(words, Sequence):
            raise TypeError(f"show: expected words such as ('joints', 'contacts'), got {show!r}")
        flags, shown = list(_plain()), {}
        for word in words:
            one_of("show", word, SHOW_WORDS)
            for flag in _FLAGS.get(word, ()):
                flags[flag] = 1
            if word in _OF_KIND:
                shown[_OF_KIND[word]] = (1,) * _GROUPS
        return cls(
            tuple(flags),
            shown | _checked(groups),
            _only("frames", words, _FRAMES),
            _only("labels", words, _LABELS),
        )

    @classmethod
    def of_option(cls, option: mujoco.MjvOption) -> Self:
        """The options of an `MjvOption`."""
        return cls(
            tuple(int(flag) for flag in option.flags),
            {kind: tuple(int(n) for n in getattr(option, f"{kind}group")) for kind in GROUPED},
            int(option.frame),
            int(option.label),
            (int(option.bvh_depth), int(option.flex_layer)),
        )

    def write(self, option: mujoco.MjvOption) -> None:
        plain = mujoco.MjvOption()
        option.flags[:] = self.flags
        for kind in GROUPED:
            name = f"{kind}group"
            getattr(option, name)[:] = self.groups.get(kind, getattr(plain, name))
        option.frame, option.label = self.frame, self.label
        option.bvh_depth, option.flex_layer = self.depths

    def option(self) -> mujoco.MjvOption:
        """An `MjvOption` with these options."""
        option = mujoco.MjvOption()
        self.write(option)
        return option

    @property
    def needs_forces(self) -> bool:
        """True if collisions, forces or sensors are shown, which need more than kinematics."""
        return (
            any(self.flags[flag] for flag in _OF_FORCES)
            or self.frame == mujoco.mjtFrame.mjFRAME_CONTACT
            or self.label in _CONTACT_LABELS
        )


def _checked(groups: Any) -> dict[str, tuple[int, ...]]:
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups: expected a dict such as {{'geom': (0, 1, 2, 3)}}, got {groups!r}")
    shown = {}
    for kind, visible in groups.items():
        one_of("groups", kind, GROUPED)
        numbers = [visible] if isinstance(visible, int) else list(visible)
        for number in numbers:
            if number not in range(_GROUPS):
                raise ValueError(f"groups: {kind}s have groups 0 to 5, not {number!r}")
        shown[kind] = tuple(int(i in numbers) for i in range(_GROUPS))
    return shown


def _only(what: str, words: Sequence[str], known: Mapping[str, Any]) -> int:
    matching = sorted({word for word in words if word in known})
    if len(matching) > 1:
        raise ValueError(f"show: one kind of {what} at a time, not {' and '.join(matching)}")
    return int(known[matching[0]]) if matching else 0


PLAIN = Overlay()
"""The published look: no extra elements."""
