"""Model numbers and forces that a user varies, and the fields derived from them."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS

from mjgym.rotations import product
from mjgym.sim.engine import get_field, set_constants, set_field
from mjgym.variation.distributions import Constant
from mjgym.variation.model_fields import FORCES, QUATERNIONS, RANGES, UNIT, Part, find
from mjgym.variation.relative import Variation, variation

# Fields that must be positive for the compiler, or are meaningless below zero.
_POSITIVE = frozenset(
    {"body_mass", "body_inertia", "geom_size", "site_size", "cam_fovy", "opt.timestep",
     "opt.impratio"}
)  # fmt: skip
_NOT_NEGATIVE = _POSITIVE | {
    "geom_friction", "pair_friction", "dof_armature", "dof_frictionloss", "tendon_armature",
    "tendon_frictionloss", "actuator_armature", "tendon_width", "opt.density", "opt.viscosity",
    "hfield_data",
}  # fmt: skip

_NO_LENGTH = 1e-12  # of a vector without direction
_PROBES = ((1.1, 0.01), (7.0, 3.0), (0.0, 0.0))
"""Factors and offsets to probe which fields depend on a number: a small change, one larger than
all others (the engine may take a maximum), and zero.
"""

FRAMES = {
    "body": frozenset({"body_ipos", "body_iquat"}),
    "geom": frozenset({"body_ipos", "body_iquat", "geom_pos", "geom_quat"}),
    "site": frozenset({"body_ipos", "body_iquat", "site_pos", "site_quat"}),
}
"""Fields that decide whether frames of elements coincide with those of their bodies, by kind."""


@dataclass(frozen=True)
class Target:
    """A part of a model or of the applied forces, and how it varies."""

    part: Part
    how: Variation

    def draw(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Values to write; raises ValueError for those that the engine cannot take."""
        key, field, numbers = self.part.key, self.part.field, self.part.numbers
        drawn = self.how.distribution(rng, None if self.how.shared else numbers.shape, number)
        values = np.array(np.broadcast_to(self._absolute(drawn), numbers.shape), dtype=float)
        if not np.isfinite(values).all():
            raise ValueError(f"vary: {key!r} drew what is not finite")
        if field in UNIT:
            lengths = np.sqrt((values * values).sum(axis=-1, keepdims=True))
            if (lengths < _NO_LENGTH).any():
                raise ValueError(f"vary: {key!r} drew zeros, which have no direction")
            values /= lengths
        if field in _NOT_NEGATIVE:
            self._check_least(values, "drew")
        if field == "hfield_data" and (values > 1).any():
            raise ValueError(
                f"vary: {key!r} drew {values.max():g}; elevations are fractions of the hfield's"
                " height, from 0 to 1"
            )
        return values

    def check_ranges(self, model: mujoco.MjModel) -> None:
        """Raise a ValueError if a range in a model ends below its start."""
        if self.part.field in RANGES:
            ranges = get_field(model, self.part.field)[self.part.index[0]]
            for low, high in ranges[ranges[..., 0] >= ranges[..., 1]]:
                raise ValueError(f"vary: {self.part.key!r} drew a range from {low:g} to {high:g}")

    def check_support(self) -> None:
        """Raise a ValueError if the bounds of a distribution allow invalid numbers."""
        ends = self.how.distribution.support
        if self.part.field not in _NOT_NEGATIVE or not np.isfinite(ends).all():
            return
        low, high = (self._absolute(np.asarray(end)) for end in ends)
        least = np.broadcast_to(np.minimum(low, high), self.part.numbers.shape)
        # A bound itself may never be drawn, so zero is refused only when drawn.
        self._check_least(least, "can draw", zero=True)

    def _absolute(self, drawn: np.ndarray) -> np.ndarray:
        numbers = self.part.numbers
        if self.how.relative == "factor":
            turned = self.part.field in QUATERNIONS
            return np.asarray(product(numbers, drawn)) if turned else numbers * drawn
        return numbers + drawn if self.how.relative == "offset" else drawn

    def _check_least(self, values: np.ndarray, verb: str, *, zero: bool = False) -> None:
        # Zeros in the model itself are unused numbers: the third size of a capsule, ...
        positive = self.part.field in _POSITIVE and not zero
        wrong = values[(values < 0) | (positive & (values == 0) & (self.part.numbers != 0))]
        if wrong.size:
            bound = "must be positive" if positive else "cannot be negative"
            raise ValueError(
                f"vary: {self.part.key!r} {verb} {wrong.min():g}, which {bound};"
                " .clip(low, high) bounds a distribution"
            )


class Varying:
    """The model numbers, and the applied forces, that a user varies.

    A key names a field of MjModel, with rows in brackets, by a pattern of the elements' names, and
    columns: "body_mass[torso]", "geom_friction[*foot*, 0]", "dof_damping" (all joints),
    "opt.gravity[2]". Without a pattern, or with "*", elements that cannot vary (the size of a
    plane, the limits of an unlimited joint) are left out; naming them by a pattern is an error. If
    two keys name the same number, the later one counts.

    A value is a distribution or a number to write; `factor` and `offset` of `mjgym.variation` make
    it relative to the model's value. Each number is drawn separately; `shared` draws one for all.
    Directions and quaternions are normalized.

    "xfrc_applied[torso, 0]" is a force (N, then torques in N m) on a body in world axes, and
    "qfrc_applied[knee]" one in a joint. It is constant over the episode, or `redrawn` within it. A
    task that writes such forces itself overwrites the user's.

    Mass, inertia and size vary independently of each other. Fields that the engine derives from
    them (`mj_setConst`), bounding volumes included, and rest lengths of springs follow, as if the
    model had been compiled with the varied numbers; except `stat`, which all simulations share.
    Fields that only the compiler derives do not follow: damping from `dampratio`, the length range
    of a muscle, the friction of a contact pair.

    Attributes:
        derived: names of the model's fields that follow from them.
        intervals: seconds between two draws within an episode, by key.

    Raises:
        TypeError: `vary` is not a dict by key, or a value is neither a distribution nor a number.
        ValueError: a key names no field or element, or a field that cannot vary, or a distribution
            does not fit; the message names the key and the nearest valid names.
    """

    def __init__(self, vary: Mapping[str, Any], model: mujoco.MjModel) -> None:
        if not isinstance(vary, Mapping):
            raise TypeError(f'vary: expected a dict by field, or "published", got {vary!r}')
        self.targets = {key: _target(key, value, model) for key, value in vary.items()}
        fields = dict.fromkeys(t.part.field for t in self.targets.values())
        self._of_model = {k: t for k, t in self.targets.items() if t.part.field not in FORCES}
        self.fields = tuple(f for f in fields if f not in FORCES)
        self.forces = tuple(f for f in fields if f in FORCES)
        self.intervals = {k: t.how.every for k, t in self.targets.items() if t.how.every}
        rng, drawn = np.random.default_rng(0), {}
        for key, target in self.targets.items():
            try:
                target.check_support()
                drawn[key] = target.draw(rng, 0)
            except (ValueError, TypeError) as error:
                if str(error).startswith("vary"):
                    raise
                raise ValueError(_misfit(target, error)) from None
        self._write_draws(copy.copy(model), drawn)
        self._data = mujoco.MjData(model)
        self._springs = self._unstated_springs(model)
        self._freed = self._freed_frames(model)
        self._constant = True  # whether anything follows
        self.derived = self._what_follows(model)

    def _freed_frames(self, model: mujoco.MjModel) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Frames that must differ from the engine's notes, because episodes write poses:
        elements and values, by field.
        """
        noted = copy.copy(model)
        set_constants(noted, self._data)
        freed = {}
        for name in (f"{kind}_sameframe" for kind in FRAMES):
            frames = getattr(model, name)
            rows = np.flatnonzero(frames != getattr(noted, name))
            if rows.size:
                freed[name] = rows, frames[rows]
        return freed

    def _unstated_springs(self, model: mujoco.MjModel) -> np.ndarray:
        """Tendons with spring lengths that the compiler took from the model's pose."""
        if "tendon_lengthspring" in self.fields:
            return np.zeros(0, dtype=np.int64)
        lengths = self._spring_lengths(model)
        return np.flatnonzero((model.tendon_lengthspring == lengths[:, None]).all(axis=1))

    def _spring_lengths(self, model: mujoco.MjModel) -> np.ndarray:
        """Lengths of the tendons with the joints at their springs' rest, (ntendon,) m or rad."""
        data = self._data
        data.qpos[:] = model.qpos_spring
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        return np.array(data.ten_length)

    def _what_follows(self, model: mujoco.MjModel) -> tuple[str, ...]:
        """Find the fields that change with the varied ones by probing the engine."""
        changed: set[str] = set()
        for factor, offset in _PROBES:
            probe = copy.copy(model)
            for target in self._of_model.values():
                _write(probe, target.part, _probed(target.part, factor, offset))
            written = _numbers(probe)
            try:
                self.follow(probe)
            except mujoco.FatalError as error:
                names = ", ".join(self.fields)
                raise ValueError(f"vary: the engine refuses other {names}: {error}") from None
            followed = _numbers(probe)
            changed |= {n for n in written if not np.array_equal(written[n], followed[n])}
        # The engine notes which frames coincide; any draw may make or undo that.
        for kind, fields in FRAMES.items():
            if not fields.isdisjoint(self.fields):
                changed.add(f"{kind}_sameframe")
        if "tendon_lengthspring" not in changed:
            self._springs = np.zeros(0, dtype=np.int64)
        self._constant = bool(changed)
        return tuple(sorted(changed.difference(self.fields)))

    def draw(self, rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
        return {key: target.draw(rng, number) for key, target in self.targets.items()}

    def write(self, model: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> None:
        self._write_draws(model, values)
        self.follow(model)

    def _write_draws(self, model: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> None:
        for key, target in self._of_model.items():
            _write(model, target.part, values[key])
        for target in self._of_model.values():  # the ends of a range may have separate keys
            target.check_ranges(model)

    def push(self, forces: Mapping[str, np.ndarray], values: Mapping[str, np.ndarray]) -> None:
        """Write an episode's forces to fields of MjData, arrays by name."""
        for key, target in self.targets.items():
            if target.part.field in self.forces:
                forces[target.part.field][target.part.index] = values[key]

    def follow(self, model: mujoco.MjModel) -> None:
        """Recompute the fields derived from the varied ones, as the compiler does."""
        if not self._constant:
            return
        set_constants(model, self._data)
        for name, (rows, values) in self._freed.items():
            getattr(model, name)[rows] = values
        if self._springs.size:
            lengths = self._spring_lengths(model)[self._springs]
            model.tendon_lengthspring[self._springs] = lengths[:, None]


def _target(key: str, value: Any, model: mujoco.MjModel) -> Target:
    part = find(key, model)
    try:
        how = variation(value)
    except ValueError:
        raise TypeError(
            f"vary: {key!r}: expected a distribution, factor(...), offset(...) or a number,"
            f" got {value!r}"
        ) from None
    if how.every is not None and part.field not in FORCES:
        raise ValueError(
            f"vary: {key!r}: only {' and '.join(sorted(FORCES))} are redrawn within an episode"
        )
    turns = how.relative == "factor" and how.distribution.shape[-1:] == (4,)
    if part.field in QUATERNIONS and how.relative != "absolute" and not turns:
        raise ValueError(
            f"vary: {key!r}: a rotation turns an orientation, about its own axes:"
            " factor(rotations.About((0, 0, 1), angle))"
        )
    if part.field in FORCES and how.relative == "factor":
        raise ValueError(f"vary: {key!r}: a factor of a force that is 0; give the force itself")
    return Target(part, how)


def _misfit(target: Target, error: Exception) -> str:
    part, distribution = target.part, target.how.distribution
    message = str(error)
    if isinstance(distribution, Constant):  # NumPy's error is about broadcasting
        message = f"{distribution.value!r} has shape {distribution.shape}"
        if distribution.shape == (2,):
            low, high = distribution.value
            message += f"; a range is a distribution: Uniform({low:g}, {high:g})"
    return f"vary: {part.key!r}, of shape {part.numbers.shape}: {message}"


def _probed(part: Part, factor: float, offset: float) -> np.ndarray:
    """Probe values of a part, different from the model's and valid for the engine."""
    if not factor and part.field in _POSITIVE | UNIT:
        return part.numbers
    values = factor * part.numbers + offset
    if part.field in UNIT:
        values /= np.sqrt((values * values).sum(axis=-1, keepdims=True))
    return values


def _write(model: mujoco.MjModel, part: Part, values: np.ndarray) -> None:
    whole = get_field(model, part.field)
    if isinstance(whole, np.ndarray):
        whole[part.index] = values
    else:
        set_field(model, part.field, values)


def _numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    arrays = {name: np.array(get_field(model, name)) for name in MODEL_FIELDS}
    return {name: values for name, values in arrays.items() if values.size}
