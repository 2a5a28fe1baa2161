"""Numbers of a model that a user varies from episode to episode, and all that follows from them."""

import copy
import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym.sim.bounds import RESIZABLE, Bounds
from mjgym.sim.engine import get_field, set_field
from mjgym.sim.view import nearest
from mjgym.variation.distributions import Constant, Distribution
from mjgym.variation.relative import Factor, Offset, Shared

# Fields that a simulation takes as they are at any time, by what their rows belong to.
_FIELDS: dict[str, tuple[str, ...]] = {
    "body": ("mass", "inertia", "pos", "quat", "ipos", "iquat", "gravcomp"),
    "jnt": ("pos", "axis", "stiffness", "range", "solref", "solimp", "margin", "actfrcrange"),
    "dof": ("armature", "damping", "frictionloss", "solref", "solimp"),
    "geom": (
        "size", "pos", "quat", "friction", "solref", "solimp", "solmix", "margin", "gap", "rgba",
        "fluid",
    ),
    "site": ("size", "pos", "quat", "rgba"),
    "cam": ("pos", "quat", "fovy"),
    "light": ("pos", "dir", "ambient", "diffuse", "specular", "attenuation"),
    "mat": ("rgba", "emission", "specular", "shininess", "reflectance"),
    "actuator": ("gear", "gainprm", "biasprm", "dynprm", "forcerange", "cranklength"),
    "tendon": ("stiffness", "damping", "frictionloss", "armature", "range", "lengthspring", "rgba"),
    "eq": ("data", "solref", "solimp"),
    "pair": ("friction", "solref", "solimp", "margin", "gap"),
    "hfield": ("data",),
    "opt": ("timestep", "gravity", "wind", "density", "viscosity", "magnetic", "impratio"),
}  # fmt: skip

_OBJECT = mujoco.mjtObj
_KINDS: dict[str, tuple[Any, str]] = {
    "body": (_OBJECT.mjOBJ_BODY, "nbody"),
    "jnt": (_OBJECT.mjOBJ_JOINT, "njnt"),
    "dof": (_OBJECT.mjOBJ_JOINT, "njnt"),
    "geom": (_OBJECT.mjOBJ_GEOM, "ngeom"),
    "site": (_OBJECT.mjOBJ_SITE, "nsite"),
    "cam": (_OBJECT.mjOBJ_CAMERA, "ncam"),
    "light": (_OBJECT.mjOBJ_LIGHT, "nlight"),
    "mat": (_OBJECT.mjOBJ_MATERIAL, "nmat"),
    "actuator": (_OBJECT.mjOBJ_ACTUATOR, "nu"),
    "tendon": (_OBJECT.mjOBJ_TENDON, "ntendon"),
    "eq": (_OBJECT.mjOBJ_EQUALITY, "neq"),
    "pair": (_OBJECT.mjOBJ_PAIR, "npair"),
    "hfield": (_OBJECT.mjOBJ_HFIELD, "nhfield"),
}

# Why the other fields cannot vary, by a pattern of their names; the first that fits counts.
_REASONS = (
    (r"actuator_ctrl(range|limited)", "it makes the action space"),
    (r"qpos0|qpos_spring|key_\w+", "it belongs to the start, which initialize() writes"),
    (
        r"\w*(invweight0|subtreemass|_M0|length0|acc0|rbound|aabb|pos0|poscom0|mat0|dir0)"
        r"|actuator_lengthrange|stat\.\w+|bvh_\w+",
        "it follows from other fields; vary those",
    ),
    (r"(mesh|tex|skin|flex|oct|text|tuple|numeric|plugin|hfield)_\w+", "all simulations share it"),
    (r"opt\.\w+", "it chooses how the engine computes"),
)
_STRUCTURE = "it is part of the model's structure, which is compiled once"

_NOT_NEGATIVE = frozenset(
    {"body_mass", "body_inertia", "geom_size", "site_size", "geom_friction", "dof_armature"}
)
_UNIT = frozenset({"body_quat", "body_iquat", "geom_quat", "site_quat", "cam_quat", "jnt_axis",
                   "light_dir"})  # fmt: skip
_DOFS = {
    int(mujoco.mjtJoint.mjJNT_FREE): 6,
    int(mujoco.mjtJoint.mjJNT_BALL): 3,
    int(mujoco.mjtJoint.mjJNT_SLIDE): 1,
    int(mujoco.mjtJoint.mjJNT_HINGE): 1,
}
_KEY = re.compile(r"(?P<field>[\w.]+)(?:\[(?P<inside>.*)\])?")


@dataclass(frozen=True)
class _Target:
    """A part of a field, and what is written to it."""

    key: str
    field: str
    rows: np.ndarray  # of the field; empty shape for a field of one number
    index: Any  # into the field
    shape: tuple[int, ...]
    relative: str  # "absolute", "factor" or "offset"
    distribution: Distribution
    shared: bool

    def draw(self, own: np.ndarray, rng: np.random.Generator, number: int) -> np.ndarray:
        shape = self.distribution.shape if self.shared else self.shape
        drawn = self.distribution(rng, shape, number)
        if self.relative == "factor":
            drawn = own * drawn
        elif self.relative == "offset":
            drawn = own + drawn
        values = np.array(np.broadcast_to(drawn, self.shape), dtype=float)
        if self.field in _UNIT:
            values /= np.sqrt((values * values).sum(axis=-1, keepdims=True))
        if self.field in _NOT_NEGATIVE and (values < 0).any():
            raise ValueError(
                f"vary: {self.key!r} drew {values.min():g}, which cannot be negative;"
                " .clip(0, ...) bounds a distribution"
            )
        if self.field == "opt.timestep" and not (values > 0).all():
            raise ValueError(f"vary: {self.key!r} drew {values.min():g}; it must be positive")
        return values


class Varying:
    """The numbers of a model that a user varies.

    A key names a field of MjModel, and behind it in brackets which rows, by a pattern over the
    elements' names, and which columns: "body_mass[torso]", "geom_friction[*foot*, 0]",
    "dof_damping" (all joints), "opt.gravity[2]". A value is a distribution, or a number, of what
    is written; `factor` and `offset` of `mjgym.variation` make it relative to the model's own.
    Each number is drawn by itself; `shared` draws one for all.

    Mass, inertia and size are numbers of their own: what varies one leaves the others as they are.

    Args:
        vary: values by key.
        model: the compiled model; flags by which the engine takes short cuts that a varied model
            must not take are cleared in it.

    Attributes:
        fields: names of the fields that are written.
        derived: names of the fields that follow from them.

    Raises:
        TypeError: `vary` is not a dict by key.
        ValueError: a key names no field or element, or a field that cannot vary, or a distribution
            does not fit the shape; the message names the key and the nearest valid names.
    """

    def __init__(self, vary: Mapping[str, Any], model: mujoco.MjModel) -> None:
        if not isinstance(vary, Mapping):
            raise TypeError(f"vary: expected a dict by field, got {type(vary).__name__}")
        self._targets = [_target(key, value, model) for key, value in vary.items()]
        self.fields = tuple(dict.fromkeys(t.field for t in self._targets))
        self._own = {t.key: np.array(_part(model, t)) for t in self._targets}
        rng = np.random.default_rng(0)
        for target in self._targets:
            try:
                target.draw(self._own[target.key], rng, 0)
            except (ValueError, TypeError) as error:
                text = str(error)
                raise ValueError(
                    text if text.startswith("vary") else f"vary: {target.key!r}: {text}"
                ) from None
        self._bounds = self._changed_bounds(model)
        self._loosen(model)
        self._data = mujoco.MjData(model)
        self._constant = True  # whether mj_setConst has anything to do
        self._kept: dict[str, np.ndarray] = {}
        self.derived = self._what_follows(model)

    def _rows(self, *fields: str) -> np.ndarray:
        """The rows of all targets that write one of some fields, in order, each once."""
        rows = [t.rows for t in self._targets if t.field in fields]
        return np.unique(np.concatenate(rows)) if rows else np.zeros(0, dtype=np.int64)

    def _changed_bounds(self, model: mujoco.MjModel) -> Bounds | None:
        geoms = self._rows("geom_size", "geom_pos", "geom_quat")
        moved = self._rows("body_ipos", "body_iquat")
        inside = np.flatnonzero(np.isin(model.geom_bodyid, moved))
        changed = np.union1d(geoms, inside).astype(np.int64)
        return Bounds(model, changed) if changed.size else None

    def _loosen(self, model: mujoco.MjModel) -> None:
        """Clear what the compiler has noted of frames that coincide: they may not for long."""
        model.geom_sameframe[self._rows("geom_pos", "geom_quat")] = 0
        model.site_sameframe[self._rows("site_pos", "site_quat")] = 0
        bodies = self._rows("body_ipos", "body_iquat")
        model.body_sameframe[bodies] = 0
        model.geom_sameframe[np.isin(model.geom_bodyid, bodies)] = 0
        model.site_sameframe[np.isin(model.site_bodyid, bodies)] = 0

    def _what_follows(self, model: mujoco.MjModel) -> tuple[str, ...]:
        """Names of the fields that change when the varied ones do; asked of the engine itself."""
        probe = copy.copy(model)
        before = _numbers(probe)
        mujoco.mj_setConst(probe, self._data)
        after = _numbers(probe)
        # What a model file states although it could be computed stays as it has been stated. So do
        # the statistics, which a batch holds once: the solver's measure of being done is theirs.
        self._kept = {
            name: before[name]
            for name in before
            if name.startswith("stat.") or not np.array_equal(before[name], after[name])
        }
        for target in self._targets:
            values = 1.1 * self._own[target.key] + 0.01
            if target.field in _UNIT:
                values /= np.sqrt((values * values).sum(axis=-1, keepdims=True))
            _write(probe, target, values)
        written = _numbers(probe)
        self._follow(probe)
        constant = _numbers(probe)
        changed = [n for n in written if not np.array_equal(written[n], constant[n])]
        self._constant = bool(changed)
        if self._bounds is not None:
            self._bounds.update(probe)
            final = _numbers(probe)
            changed += [n for n in final if not np.array_equal(constant[n], final[n])]
        return tuple(n for n in changed if n not in self.fields)

    def draw(self, rng: np.random.Generator, number: int) -> dict[str, np.ndarray]:
        """The values of an episode by key.

        Args:
            rng: the generator.
            number: of episodes that have been drawn before.
        """
        return {t.key: t.draw(self._own[t.key], rng, number) for t in self._targets}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of the values by key."""
        return {t.key: t.shape for t in self._targets}

    def write(self, model: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> None:
        """Write an episode's values, and all that follows from them, into a model."""
        for target in self._targets:
            _write(model, target, values[target.key])
        self.follow(model)

    def follow(self, model: mujoco.MjModel) -> None:
        """Compute all that follows from the varied fields, as the compiler does."""
        if self._constant:
            self._follow(model)
        if self._bounds is not None:
            self._bounds.update(model)

    def _follow(self, model: mujoco.MjModel) -> None:
        mujoco.mj_setConst(model, self._data)
        for name, value in self._kept.items():
            set_field(model, name, value)


def _target(key: str, value: Any, model: mujoco.MjModel) -> _Target:
    if not isinstance(key, str) or (match := _KEY.fullmatch(key.strip())) is None:
        raise ValueError(f"vary: {key!r} is not of the form field or field[name, column]")
    field, inside = match["field"], match["inside"]
    _check_field(field, model)
    items = [] if inside is None else [item.strip() for item in inside.split(",")]
    prefix = field.partition("." if field.startswith("opt.") else "_")[0]
    own = np.asarray(get_field(model, field))
    if prefix == "opt":
        rows = np.zeros(0, dtype=np.int64)
        index: tuple[Any, ...] = tuple(_column(key, item) for item in items)
    else:
        rows = _matching(key, prefix, items[0] if items else "*", model)
        index = (rows, *(_column(key, item) for item in items[1:]))
        _check_rows(key, field, rows, model)
    try:
        shape = own[index].shape
    except IndexError as error:
        raise ValueError(f"vary: {key!r}: {error}") from None
    shared = isinstance(value, Shared)
    inner = value.of if isinstance(value, Shared) else value
    relative = "absolute"
    if isinstance(inner, Factor | Offset):
        relative = "factor" if isinstance(inner, Factor) else "offset"
        inner = inner.distribution
    if not isinstance(inner, Distribution):
        try:
            np.asarray(inner, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"vary: {key!r}: expected a distribution, factor(...), offset(...) or a number,"
                f" got {value!r}"
            ) from None
        inner = Constant(inner)
    return _Target(key, field, rows, index, shape, relative, inner, shared)


def _check_field(field: str, model: mujoco.MjModel) -> None:
    known = [
        f"opt.{name}" if prefix == "opt" else f"{prefix}_{name}"
        for prefix, names in _FIELDS.items()
        for name in names
    ]
    if field in known:
        return
    head, _, leaf = field.rpartition(".")
    holder = {"": model, "opt": model.opt, "stat": model.stat, "vis": model.vis}.get(head)
    if holder is not None and hasattr(holder, leaf):
        reasons = (reason for pattern, reason in _REASONS if re.fullmatch(pattern, field))
        raise ValueError(f"vary: {field!r} cannot vary: {next(reasons, _STRUCTURE)}")
    raise ValueError(f"vary: no field {field!r}{nearest(field, known)}")


def _check_rows(key: str, field: str, rows: np.ndarray, model: mujoco.MjModel) -> None:
    """Refuse what the engine would not notice in these rows."""
    if field == "geom_size":
        fixed = rows[~np.isin(model.geom_type[rows], list(RESIZABLE))]
        if fixed.size:
            name = model.geom(fixed[0]).name or str(fixed[0])
            raise ValueError(
                f"vary: {key!r}: the size of geom {name!r} is that of an asset, or it has no end"
            )
    elif field in ("body_ipos", "body_iquat"):
        simple = rows[model.body_simple[rows] > 0]
        if simple.size:
            name = model.body(simple[0]).name
            raise ValueError(
                f"vary: {key!r}: the engine holds the inertia of body {name!r} in a form that has"
                " its centre of mass at its origin"
            )
    elif field == "body_gravcomp":
        idle = rows[model.body_gravcomp[rows] == 0]
        if idle.size:
            raise ValueError(
                f"vary: {key!r}: body {model.body(idle[0]).name!r} has none in the model, so the"
                " engine leaves it out; give it a small one there"
            )


def _matching(key: str, prefix: str, pattern: str, model: mujoco.MjModel) -> np.ndarray:
    """Rows of a field whose elements' names fit a pattern."""
    kind, count = _KINDS[prefix]
    names = [mujoco.mj_id2name(model, kind, i) or "" for i in range(getattr(model, count))]
    chosen = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
    if pattern == "*" and prefix == "body":
        chosen = chosen[1:]  # nothing of the world can be felt
    if not chosen:
        word = {"jnt": "joint", "dof": "joint", "mat": "material", "cam": "camera"}.get(prefix)
        hint = nearest(pattern, names) or f"; there are {', '.join(filter(None, names))}"
        raise ValueError(f"vary: {key!r}: no {word or prefix} fits {pattern!r}{hint}")
    if prefix == "dof":
        spans = [(model.jnt_dofadr[i], _DOFS[int(model.jnt_type[i])]) for i in chosen]
        return np.concatenate([np.arange(start, start + width) for start, width in spans])
    if prefix == "hfield":
        return np.concatenate(
            [
                model.hfield_adr[i] + np.arange(model.hfield_nrow[i] * model.hfield_ncol[i])
                for i in chosen
            ]
        )
    return np.array(chosen, dtype=np.int64)


def _column(key: str, text: str) -> int | slice:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"(-?\d+)?:(-?\d+)?", text):
        start, _, stop = text.partition(":")
        return slice(int(start) if start else None, int(stop) if stop else None)
    raise ValueError(f"vary: {key!r}: {text!r} is no column; give a number or a range such as 0:2")


def _part(model: mujoco.MjModel, target: _Target) -> np.ndarray:
    return np.asarray(np.asarray(get_field(model, target.field))[target.index], dtype=float)


def _write(model: mujoco.MjModel, target: _Target, values: np.ndarray) -> None:
    whole = get_field(model, target.field)
    if isinstance(whole, np.ndarray):
        whole[target.index] = values
    else:
        set_field(model, target.field, values)


def _numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Copies of all real numbers of a model by name."""
    found = {}
    for head, holder in (("", model), ("stat.", model.stat)):
        for name in dir(holder):
            if name.startswith("_"):
                continue
            value = getattr(holder, name)
            real = isinstance(value, float) or (
                isinstance(value, np.ndarray) and value.dtype.kind == "f"
            )
            if real and np.size(value):
                found[head + name] = np.array(value)
    return found
