"""Numbers of a model that a user varies from episode to episode, and all that follows from them."""

import copy
import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS

from mjgym.sim.bounds import RESIZABLE
from mjgym.sim.engine import get_field, quiet, set_field
from mjgym.sim.view import nearest
from mjgym.variation.distributions import Constant, Distribution, shape_of
from mjgym.variation.relative import Factor, Offset, Shared
from mjgym.variation.rotations import product

# Where the compiler refuses what is not above zero, and where nothing less than zero has a meaning.
_POSITIVE = frozenset(
    {"body_mass", "body_inertia", "geom_size", "site_size", "cam_fovy", "opt.timestep",
     "opt.impratio"}
)  # fmt: skip
_NOT_NEGATIVE = _POSITIVE | {
    "geom_friction", "pair_friction", "dof_armature", "dof_frictionloss", "tendon_armature",
    "tendon_frictionloss", "actuator_armature", "tendon_width", "opt.density", "opt.viscosity",
    "hfield_data",
}  # fmt: skip
_RANGES = frozenset(
    {"jnt_range", "jnt_actfrcrange", "tendon_range", "tendon_actfrcrange", "actuator_forcerange",
     "actuator_actrange"}
)  # fmt: skip
_QUATERNIONS = frozenset({"body_quat", "body_iquat", "geom_quat", "site_quat", "cam_quat"})
_UNIT = _QUATERNIONS | {"jnt_axis", "light_dir"}
_DOFS = {
    int(mujoco.mjtJoint.mjJNT_FREE): 6,
    int(mujoco.mjtJoint.mjJNT_BALL): 3,
    int(mujoco.mjtJoint.mjJNT_SLIDE): 1,
    int(mujoco.mjtJoint.mjJNT_HINGE): 1,
}
_NEEDS = {
    "body_gravcomp": "flg_gravcomp",
    "geom_surfacevel": "flg_surfacevel",
    "geom_adhesion": "flg_adhesion",
    "pair_adhesion": "flg_adhesion",
}  # what the engine computes only where the model as a whole says so
_LIMITED = {
    "jnt_range": "jnt_limited",
    "jnt_actfrcrange": "jnt_actfrclimited",
    "tendon_range": "tendon_limited",
    "tendon_actfrcrange": "tendon_actfrclimited",
    "actuator_forcerange": "actuator_forcelimited",
    "actuator_actrange": "actuator_actlimited",
}
_SIMPLE = (
    "in a form that needs its centre of mass at its origin and its joints there;"
    " simple='false' of the body in the model makes it vary"
)
_SLIDER_CRANK = int(mujoco.mjtTrn.mjTRN_SLIDERCRANK)
_FLUID_INPUTS = 6  # numbers of geom_fluid that are given; the others follow from the size
_NO_LENGTH = 1e-12  # below which a vector has no direction
_PROBES = ((1.1, 0.01), (7.0, 3.0), (0.0, 0.0))
"""Factors and offsets of numbers with which the engine is asked what follows from them: a little
more, more than any other (of which it may take the largest), and none at all."""
_KEY = re.compile(r"(?P<field>[\w.]+)(?:\[(?P<inside>.*)\])?")


@dataclass(frozen=True)
class _Target:
    """A part of a field, and what is written to it."""

    key: str
    field: str
    rows: np.ndarray  # of the field; empty for a field of one number
    index: Any  # into the field
    own: np.ndarray  # the model's numbers there
    relative: str  # "absolute", "factor" or "offset"
    distribution: Distribution
    shared: bool

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Values to write; ValueError where the engine cannot take them."""
        shape = self.distribution.shape if self.shared else self.own.shape
        drawn = self.distribution(rng, shape, number)
        values = np.array(np.broadcast_to(self._absolute(drawn), self.own.shape), dtype=float)
        if not np.isfinite(values).all():
            raise ValueError(f"vary: {self.key!r} drew what is not finite")
        if self.field in _UNIT:
            lengths = np.sqrt((values * values).sum(axis=-1, keepdims=True))
            if (lengths < _NO_LENGTH).any():
                raise ValueError(f"vary: {self.key!r} drew zeros, which have no direction")
            values /= lengths
        if self.field in _NOT_NEGATIVE:
            self._check_least(values, "drew")
        if self.field == "hfield_data" and (values > 1).any():
            raise ValueError(
                f"vary: {self.key!r} drew {values.max():g}; elevations are fractions of the"
                " hfield's own height, from 0 to 1"
            )
        if self.field in _RANGES and values.shape[-1:] == (2,):
            wrong = values[values[..., 0] >= values[..., 1]]
            if wrong.size:
                raise ValueError(
                    f"vary: {self.key!r} drew a range from {wrong[0, 0]:g} to {wrong[0, 1]:g}"
                )
        return values

    def check_support(self) -> None:
        """Refuse a distribution whose bounds say that it will draw a wrong number one day."""
        low, high = self.distribution.support
        if self.field not in _NOT_NEGATIVE or not np.isfinite([low, high]).all():
            return
        least = np.minimum(self._absolute(np.asarray(low)), self._absolute(np.asarray(high)))
        # A bound itself may never be drawn, so zero is not refused before it is.
        self._check_least(np.broadcast_to(least, self.own.shape), "can draw", zero=True)

    def _absolute(self, drawn: np.ndarray) -> np.ndarray:
        if self.relative == "factor":
            turns = self.field in _QUATERNIONS and drawn.ndim
            return product(self.own, drawn) if turns else self.own * drawn
        return self.own + drawn if self.relative == "offset" else drawn

    def _check_least(self, values: np.ndarray, verb: str, *, zero: bool = False) -> None:
        # What is zero in the model itself means nothing there: the third size of a capsule, ...
        positive = self.field in _POSITIVE and not zero
        wrong = values[(values < 0) | (positive & (values == 0) & (self.own != 0))]
        if wrong.size:
            bound = "must be positive" if positive else "cannot be negative"
            raise ValueError(
                f"vary: {self.key!r} {verb} {wrong.min():g}, which {bound};"
                " .clip(low, high) bounds a distribution"
            )


class Varying:
    """The numbers of a model that a user varies.

    A key names a field of MjModel, and behind it in brackets which rows, by a pattern over the
    elements' names, and which columns: "body_mass[torso]", "geom_friction[*foot*, 0]",
    "dof_damping" (all joints), "opt.gravity[2]". Without a pattern, or with "*", what cannot vary
    (the size of a plane, the limits of a joint that has none) is left out; where a pattern names
    it, that is an error. Where two keys name the same number, the later one counts.

    A value is a distribution, or a number, of what is written; `factor` and `offset` of
    `mjgym.variation` make it relative to the model's own. Each number is drawn by itself; `shared`
    draws one for all. Directions and quaternions are made one long.

    Mass, inertia and size are numbers of their own: what varies one leaves the others as they are.
    What the engine derives from them (`mj_setConst`), bounding volumes and springs' lengths at rest
    follow, as if the model had been compiled with the varied numbers, but for `stat`: all
    simulations share it. What the compiler alone derives stays as it is: the damping that
    `dampratio` gave, the range of lengths of a muscle.

    Args:
        vary: values by key.
        model: the compiled model.

    Attributes:
        fields: names of the fields that are written.
        derived: names of the fields that follow from them.

    Raises:
        TypeError: `vary` is not a dict by key, or a value is neither a distribution nor a number.
        ValueError: a key names no field or element, or a field that cannot vary, or a distribution
            does not fit the shape; the message names the key and the nearest valid names.
    """

    def __init__(self, vary: Mapping[str, Any], model: mujoco.MjModel) -> None:
        if not isinstance(vary, Mapping):
            raise TypeError(f"vary: expected a dict by field, got {type(vary).__name__}")
        self._targets = [_target(key, value, model) for key, value in vary.items()]
        self.fields = tuple(dict.fromkeys(t.field for t in self._targets))
        rng = np.random.default_rng(0)
        for target in self._targets:
            try:
                target.check_support()
                target.draw(rng, 0)
            except (ValueError, TypeError) as error:
                text = str(error)
                if text.startswith("vary"):
                    raise
                raise ValueError(
                    f"vary: {target.key!r}, of shape {target.own.shape}: {text}"
                ) from None
        self._data = mujoco.MjData(model)
        # The statistics are measures of the whole model, which a batch holds once.
        self._statistics = {
            name: np.array(get_field(model, name))
            for name in (f"stat.{n}" for n in dir(model.stat) if not n.startswith("_"))
        }
        self._springs = self._unstated_springs(model)
        self._constant = True  # whether there is anything to compute
        self.derived = self._what_follows(model)

    def _unstated_springs(self, model: mujoco.MjModel) -> np.ndarray:
        """Tendons whose spring's length at rest the compiler has taken from the model's pose."""
        if "tendon_lengthspring" in self.fields:
            return np.zeros(0, dtype=np.int64)
        lengths = self._spring_lengths(model)
        return np.flatnonzero((model.tendon_lengthspring == lengths[:, None]).all(axis=1))

    def _spring_lengths(self, model: mujoco.MjModel) -> np.ndarray:
        """Lengths of the tendons where the joints' springs are at rest, (ntendon,)."""
        data = self._data
        data.qpos[:] = model.qpos_spring
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        return np.array(data.ten_length)

    def _what_follows(self, model: mujoco.MjModel) -> tuple[str, ...]:
        """Names of the fields that change when the varied ones do; asked of the engine itself."""
        changed: set[str] = set()
        for factor, offset in _PROBES:
            probe = copy.copy(model)
            for target in self._targets:
                values = factor * target.own + offset
                if not factor and target.field in _POSITIVE | _UNIT:
                    values = target.own
                elif target.field in _UNIT:
                    values /= np.sqrt((values * values).sum(axis=-1, keepdims=True))
                _write(probe, target, values)
            written = _numbers(probe)
            try:
                self.follow(probe)
            except mujoco.FatalError as error:
                names = ", ".join(self.fields)
                raise ValueError(f"vary: the engine refuses other {names}: {error}") from None
            followed = _numbers(probe)
            changed |= {n for n in written if not np.array_equal(written[n], followed[n])}
        # The engine notes which frames coincide; any draw may make or undo that.
        for kind, fields in _FRAMES.items():
            if not fields.isdisjoint(self.fields):
                changed.add(f"{kind}_sameframe")
        if "tendon_lengthspring" not in changed:
            self._springs = np.zeros(0, dtype=np.int64)
        self._constant = bool(changed)
        return tuple(sorted(changed.difference(self.fields)))

    def draw(self, rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
        """The values of an episode by key.

        Args:
            rng: the generator.
            number: of episodes that have been drawn before.

        Raises:
            ValueError: what has been drawn is nothing that the engine can take.
        """
        return {target.key: target.draw(rng, number) for target in self._targets}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of the values by key."""
        return {target.key: target.own.shape for target in self._targets}

    def write(self, model: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> None:
        """Write an episode's values, and all that follows from them, into a model."""
        for target in self._targets:
            _write(model, target, values[target.key])
        self.follow(model)

    def follow(self, model: mujoco.MjModel) -> None:
        """Compute all that follows from the varied fields, as the compiler does."""
        if not self._constant:
            return
        with quiet():
            mujoco.mj_setConst(model, self._data)
        for name, value in self._statistics.items():
            set_field(model, name, value)
        if self._springs.size:
            lengths = self._spring_lengths(model)[self._springs]
            model.tendon_lengthspring[self._springs] = lengths[:, None]


_FRAMES = {
    "body": frozenset({"body_ipos", "body_iquat"}),
    "geom": frozenset({"body_ipos", "body_iquat", "geom_pos", "geom_quat"}),
    "site": frozenset({"body_ipos", "body_iquat", "site_pos", "site_quat"}),
}  # what decides whether the frames of a kind coincide with those of their bodies


def _target(key: str, value: Any, model: mujoco.MjModel) -> _Target:
    part = find(key, model)
    shared = isinstance(value, Shared)
    inner = value.of if isinstance(value, Shared) else value
    relative = "absolute"
    if isinstance(inner, Factor | Offset):
        relative = "factor" if isinstance(inner, Factor) else "offset"
        inner = inner.distribution
    _check_value(part, relative, inner)
    distribution = inner if isinstance(inner, Distribution) else Constant(inner)
    return _Target(part, relative, distribution, shared)


def _check_value(key: str, field: str, relative: str, value: Any) -> None:
    """Refuse what is neither a distribution nor a number, and what does not turn a quaternion."""
    if not isinstance(value, Distribution):
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"vary: {key!r}: expected a distribution, factor(...), offset(...) or a number,"
                f" got {value!r}"
            ) from None
    turns = relative == "factor" and shape_of(value)[-1:] == (4,)
    if field in _QUATERNIONS and relative != "absolute" and not turns:
        raise ValueError(
            f"vary: {key!r}: an orientation is turned by a rotation, about its own axes:"
            " factor(rotations.About((0, 0, 1), angle))"
        )


def _write(model: mujoco.MjModel, target: _Target, values: np.ndarray) -> None:
    whole = get_field(model, target.field)
    if isinstance(whole, np.ndarray):
        whole[target.index] = values
    else:
        set_field(model, target.field, values)


def _numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Copies of all arrays of a model that a batch can hold for each simulation, by name."""
    found = {name: np.array(get_field(model, name)) for name in MODEL_FIELDS}
    return {name: values for name, values in found.items() if values.size}
