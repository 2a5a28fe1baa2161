"""Elements that pictures and viewers show beside the shapes: joints, contacts, forces, frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import mujoco

from mjgym.util.suggestions import or_else

GROUPED = ("geom", "site", "joint", "tendon", "actuator", "flex", "skin")
"""Kinds of elements that have groups, numbered from 0 to 5; 0 to 2 are shown."""

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
_FRAMES = {
    "frames": mujoco.mjtFrame.mjFRAME_BODY,
    "geom_frames": mujoco.mjtFrame.mjFRAME_GEOM,
    "site_frames": mujoco.mjtFrame.mjFRAME_SITE,
    "camera_frames": mujoco.mjtFrame.mjFRAME_CAMERA,
    "light_frames": mujoco.mjtFrame.mjFRAME_LIGHT,
    "contact_frames": mujoco.mjtFrame.mjFRAME_CONTACT,
    "world_frame": mujoco.mjtFrame.mjFRAME_WORLD,
}
_LABELS = {
    "labels": mujoco.mjtLabel.mjLABEL_BODY,
    "joint_labels": mujoco.mjtLabel.mjLABEL_JOINT,
    "geom_labels": mujoco.mjtLabel.mjLABEL_GEOM,
    "site_labels": mujoco.mjtLabel.mjLABEL_SITE,
    "camera_labels": mujoco.mjtLabel.mjLABEL_CAMERA,
    "light_labels": mujoco.mjtLabel.mjLABEL_LIGHT,
    "tendon_labels": mujoco.mjtLabel.mjLABEL_TENDON,
    "actuator_labels": mujoco.mjtLabel.mjLABEL_ACTUATOR,
    "force_labels": mujoco.mjtLabel.mjLABEL_CONTACTFORCE,
}
WORDS = tuple(dict.fromkeys((*_FLAGS, *_FRAMES, *_LABELS)))
"""The words that `show` takes."""

# Words that show the elements of all groups, of their kind.
_OF_KIND = {f"{kind}s": kind for kind in ("geom", "site", "joint", "tendon", "actuator")}
# Flags, frames and labels of what follows from forces and collisions, beyond kinematics.
_OF_FORCES = {
    _VIS.mjVIS_CONTACTPOINT,
    _VIS.mjVIS_CONTACTFORCE,
    _VIS.mjVIS_CONTACTSPLIT,
    _VIS.mjVIS_CONSTRAINT,
    _VIS.mjVIS_ISLAND,
    _VIS.mjVIS_RANGEFINDER,
    _VIS.mjVIS_ACTUATOR,
}
_CONTACT_LABELS = {
    mujoco.mjtLabel.mjLABEL_CONTACTPOINT,
    mujoco.mjtLabel.mjLABEL_CONTACTFORCE,
    mujoco.mjtLabel.mjLABEL_CONSTRAINT,
    mujoco.mjtLabel.mjLABEL_ISLAND,
}


def _plain() -> tuple[int, ...]:
    """The engine's default flags without rays of range finders, as published."""
    flags = [int(flag) for flag in mujoco.MjvOption().flags]
    flags[_VIS.mjVIS_RANGEFINDER] = 0
    return tuple(flags)


@dataclass(frozen=True)
class Overlay:
    """Visual options of a picture or a viewer, as plain numbers.

    Attributes:
        flags: of `mujoco.mjtVisFlag`, by number.
        groups: six numbers for each kind that differs from the default, 1 for a group that is
            shown; by kind, see `GROUPED`.
        frame: of `mujoco.mjtFrame`.
        label: of `mujoco.mjtLabel`.
        depths: of the bounding volumes and of the layers of flexes that are drawn.
    """

    flags: tuple[int, ...] = field(default_factory=_plain)
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    frame: int = 0
    label: int = 0
    depths: tuple[int, int] = (1, 0)

    @classmethod
    def of(cls, show: Any = (), groups: Any = None) -> Self:
        """The options that words ask for.

        Args:
            show: words of `WORDS`, or one of them; or an `MjvOption`, as it is. "geoms", "sites",
                "joints", "tendons" and "actuators" show those of all groups. One kind of frames and
                one kind of labels can be shown at a time.
            groups: the groups that are shown, a number or several from 0 to 5, by kind of element,
                e.g. {"geom": (0, 1, 2, 3)}; other kinds keep theirs.

        Raises:
            TypeError: `show` is no sequence of words, or `groups` no mapping.
            ValueError: there is no such word, kind or group; the message names the nearest ones. Or
                there are two kinds of frames or of labels.
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
            if word not in WORDS:
                raise ValueError(f"show: {word!r} is unknown{or_else(str(word), WORDS)}")
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
        """The same numbers as an `MjvOption` has."""
        return cls(
            tuple(int(flag) for flag in option.flags),
            {kind: tuple(int(n) for n in getattr(option, f"{kind}group")) for kind in GROUPED},
            int(option.frame),
            int(option.label),
            (int(option.bvh_depth), int(option.flex_layer)),
        )

    def write(self, option: mujoco.MjvOption) -> None:
        """Let an `MjvOption` have these numbers."""
        plain = mujoco.MjvOption()
        option.flags[:] = self.flags
        for kind in GROUPED:
            name = f"{kind}group"
            getattr(option, name)[:] = self.groups.get(kind, getattr(plain, name))
        option.frame, option.label = self.frame, self.label
        option.bvh_depth, option.flex_layer = self.depths

    def option(self) -> mujoco.MjvOption:
        """An `MjvOption` with these numbers."""
        option = mujoco.MjvOption()
        self.write(option)
        return option

    @property
    def needs_forces(self) -> bool:
        """Whether collisions, forces or sensors are shown, which follow from more than poses."""
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
    for kind, given in groups.items():
        if kind not in GROUPED:
            raise ValueError(f"groups: {kind!r} is unknown{or_else(str(kind), GROUPED)}")
        numbers = [given] if isinstance(given, int) else list(given)
        for number in numbers:
            if number not in range(_GROUPS):
                raise ValueError(f"groups: {kind}s have groups 0 to 5, not {number!r}")
        shown[kind] = tuple(int(i in numbers) for i in range(_GROUPS))
    return shown


def _only(what: str, words: Sequence[str], known: Mapping[str, Any]) -> int:
    """The number of the one word of a kind, 0 for none."""
    found = sorted({word for word in words if word in known})
    if len(found) > 1:
        raise ValueError(f"show: one kind of {what} at a time, not {' and '.join(found)}")
    return int(known[found[0]]) if found else 0


PLAIN = Overlay()
"""The published look: nothing beside the shapes."""
