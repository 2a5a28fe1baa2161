"""Differences between two compiled models, element by element and field by field."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym.mjcf.elements import Spec, enumeration, to_word
from mjgym.mjcf.lint.checking import explain
from mjgym.mjcf.lint.refusals import silence
from mjgym.mjcf.size_limits import require_bounded, require_whole_binary
from mjgym.sim.fields import KINDS, PREFIXES

# Prefix of the fields of a kind.
_PREFIXES = {kind: about.prefixes[0][:-1] for kind, about in KINDS.items()} | {"xbody": "body"}
_FIRST = ("body", "jnt", "geom", "site")

# Ids of a kind that is not in the field's name, or is in another field.
_BODIES = ("parent", "root", "weld")
_SAID_BY = {"obj": "objtype", "ref": "reftype", "obj1": "objtype", "obj2": "objtype"}
_SURFACES = ("sphere", "cylinder")
_OTHERWISE = {"sdf": "mesh", "jointinparent": "joint", "slidercrank": "site"}

# Fields that `mj_setConst` computes, and sizes of geoms that the compiler does.
_DERIVED = {
    "body": ("invweight0", "subtreemass", "margin"),
    "joint": ("invweight0", "M0", "length"),
    "camera": ("pos0", "mat0", "poscom0"),
    "light": ("pos0", "dir0", "poscom0"),
    "tendon": ("length0", "invweight0"),
    "actuator": ("length0", "acc0"),
    "geom": ("aabb", "rbound"),
}

_FLAGS = {"disableflags": mujoco.mjtDisableBit, "enableflags": mujoco.mjtEnableBit}

_NOTHING = "-"  # instead of an empty name or list
_SHORT = 10  # maximum length of an array shown in full


@dataclass(frozen=True)
class Difference:
    """A difference between two models."""

    # "body", "joint", "geom", ...; "option", "statistic" or "visual" for settings of the whole
    # model
    kind: str
    # Of the element; "torso/geom[0]" is the first unnamed one in the body torso, and empty is the
    # whole model
    name: str
    field: str  # as `MjModel` calls it, without the kind; empty if only one model has the element
    # Value in the first model: a number, a word, a name, or a list of them; for a long array, a
    # sentence. If only one model has the element: its body's name, or nothing, in that model and
    # None in the other
    a: Any
    b: Any  # value in the second model

    def __str__(self) -> str:
        what = f"{self.kind} {self.name!r}" if self.name else self.kind
        if self.field:
            return f"{what}: {self.field} {shown(self.a)} -> {shown(self.b)}"
        return f"{what}: {'removed' if self.b is None else 'added'}"


def shown(value: Any) -> str:
    """Format a differing value on one line."""
    if isinstance(value, list):
        return " ".join(map(shown, value)) or _NOTHING
    return f"{value:.6g}" if isinstance(value, float) else str(value) or _NOTHING


def diff(
    a: str | Path | Spec | mujoco.MjModel,
    b: str | Path | Spec | mujoco.MjModel,
    tolerance: float = 1e-9,
    *,
    derived: bool = False,
) -> list[Difference]:
    """Compare two compiled models.

    Elements match by kind and name, unnamed ones by their position among the unnamed ones of their
    body. Ids are compared by the names they refer to, and addresses are not compared, so a new body
    changes no others.

    Args:
        a: the path of an MJCF, URDF or MJB file, a spec, which is compiled, or a model.
        tolerance: numbers x and y differ where |x - y| > tolerance * max(1, |x|, |y|).
        derived: also compare the fields that `mj_setConst` computes (`invweight0`, `subtreemass`,
            ...): a single mass changes many of them.

    Returns:
        The differences: of the whole model, then kind by kind in the order of the first model, then
        of elements that only the second one has.

    Raises:
        FileNotFoundError: a path is not a file.
        ValueError: a file or a spec cannot be compiled, or the tolerance is negative.
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be 0 or more, got {tolerance}")
    tables = _Table(_compiled(a)), _Table(_compiled(b))
    differences = [*_of_whole(*tables, tolerance), *_of_elements(*tables, tolerance)]
    return [d for d in differences if derived or d.field not in _DERIVED.get(d.kind, ())]


def _compiled(model: str | Path | Spec | mujoco.MjModel) -> mujoco.MjModel:
    if isinstance(model, mujoco.MjModel):
        return model
    with silence():
        if isinstance(model, mujoco.MjSpec):
            return model.compile()  # a copy would lack unreferenced elements
        path = Path(model)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        if path.suffix == ".mjb":
            require_whole_binary(path)
            try:
                return mujoco.MjModel.from_binary_path(str(path))
            except (ValueError, mujoco.FatalError) as error:
                raise ValueError(f"{path}: {error}") from None
        require_bounded(path)
        try:
            return mujoco.MjSpec.from_file(str(path)).compile()
        except (ValueError, RuntimeError) as error:
            raise explain(path, error) from None


class _Table:
    """A model's elements and their fields, under the installed engine's names."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.arrays = {n: a for n in dir(model) if isinstance(a := getattr(model, n), np.ndarray)}
        prefixes = [n[5:-3] for n in self.arrays if re.fullmatch(r"name_\w+adr", n)]
        rest = sorted(set(prefixes) - set(_FIRST))
        self.prefixes = [*(p for p in _FIRST if p in prefixes), *rest]
        self._labels: dict[str, list[str]] = {}

    def labels(self, prefix: str) -> list[str]:
        if prefix not in self._labels:
            labels = self._labels[prefix] = []
            counts: Counter[str] = Counter()
            kind = PREFIXES.get(prefix, prefix)
            for i, start in enumerate(self.arrays[f"name_{prefix}adr"]):
                name = self.model.names[start:].split(b"\0", 1)[0].decode()
                if not name or re.fullmatch(rf"unnamed_{kind}_\d+", name):
                    body = self.body(prefix, i)
                    place = f"{body}/{kind}" if body else kind
                    name = f"{place}[{counts[place]}]"
                    counts[place] += 1
                labels.append(name)
        return self._labels[prefix]

    def body(self, prefix: str, i: int) -> str:
        """Label of the body that an element is in; empty if in no body."""
        if prefix == "body":
            parent = self.arrays["body_parentid"][i]
            # Parents have lower ids, so they have labels already.
            return self._labels["body"][parent] if i else ""
        if f"{prefix}_bodyid" in self.arrays:
            return self._name("body", self.arrays[f"{prefix}_bodyid"][i])
        return ""

    def fields(self, prefix: str, i: int) -> dict[str, Any]:
        """The fields of an element as numbers, words or names."""
        if prefix == "text":
            start, size = self.arrays["text_adr"][i], self.arrays["text_size"][i]
            return {"data": str(self.model.text_data[start : start + size - 1].decode())}
        values: dict[str, Any] = {}
        for name in self.arrays:
            field = name.removeprefix(f"{prefix}_")
            if field != name and (numbers := self._numbers(prefix, field, i)) is not None:
                values[field] = self._meaning(prefix, field, i, numbers)
        if prefix == "jnt":
            values |= self._of_freedoms(i, values)
        if prefix == "tendon":
            values["path"] = self._path(i)
        return {field: value for field, value in values.items() if value is not None}

    def _numbers(self, prefix: str, field: str, i: int) -> Any:
        """An element's numbers in a field; None if they are not ordered by element."""
        stem = field.removesuffix("num")
        if field.endswith("adr") or (stem != field and f"{prefix}_{stem}adr" in self.arrays):
            return None  # addresses into other arrays
        array = self.arrays[f"{prefix}_{field}"]
        count = len(self.arrays[f"name_{prefix}adr"])
        if len(array) == count:
            return array[i]
        stems = [field[:end] for end in range(len(field), -1, -1)]
        owner = next((s for s in stems if f"{prefix}_{s}adr" in self.arrays), None)
        if owner is None or len(starts := self.arrays[f"{prefix}_{owner}adr"]) != count:
            return None
        return _run(array, starts, self.arrays.get(f"{prefix}_{owner}num"), i)

    def _meaning(self, prefix: str, field: str, i: int, numbers: Any) -> Any:
        """Numbers as words or names, where they are; None for internal ones."""
        if field == "signature":
            pair = int(numbers) >> 16, int(numbers) & 0xFFFF
            return [self._name("body", id) for id in pair] if prefix == "exclude" else None
        stem = field.removesuffix("id")
        if field.endswith("id"):
            known = (*_SAID_BY, "data", "trn", *(_BODIES if prefix == "body" else ()))
            named = stem in known or any(stem.endswith(p) for p in self.prefixes)
            return self._names(prefix, stem, i, numbers) if named else None
        if field.rstrip("12") in self.prefixes:
            return self._names(prefix, field.rstrip("12"), i, numbers)
        enum = enumeration(PREFIXES.get(prefix, prefix), field)
        return numbers if enum is None else _enumerated_words(enum, numbers)

    def _names(self, prefix: str, stem: str, i: int, ids: Any) -> Any:
        ids = np.atleast_1d(ids)
        kinds = np.broadcast_to(np.atleast_1d(self._kinds(prefix, stem, i)), ids.shape)
        names = [self._name(str(kind), id) for kind, id in zip(kinds.flat, ids.flat, strict=True)]
        return names if len(names) > 1 else names[0] if names else ""

    def _name(self, kind: str, id: int) -> str:
        prefix = _PREFIXES.get(kind, kind)
        return self.labels(prefix)[id] if id >= 0 and prefix in self.prefixes else ""

    def _kinds(self, prefix: str, stem: str, i: int) -> Any:
        """Element kind that the ids refer to: a word, or one for each id."""
        if stem in _BODIES:
            return "body"
        by = {**_SAID_BY, "data": "type", "type": "type", "trn": "trntype"}.get(stem)
        if by is None:
            ends = [p for p in self.prefixes if stem.endswith(p)]
            return max(ends, key=len)
        if f"{prefix}_{by}" not in self.arrays:
            return ""
        numbers = self._numbers(prefix, by, i)
        said = _enumerated_words(enumeration(PREFIXES.get(prefix, prefix), by), numbers)
        if said == "unknown" and prefix == "eq":
            return self._kinds(prefix, "type", i)
        return _OTHERWISE.get(said, said) if by != "objtype" else said

    def _of_freedoms(self, i: int, known: Container[str]) -> dict[str, np.ndarray]:
        own, positions = self.arrays["dof_jntid"] == i, self.arrays["jnt_qposadr"]
        values = {n: _run(self.arrays[n], positions, None, i) for n in ("qpos0", "qpos_spring")}
        for name, array in self.arrays.items():
            field = name.removeprefix("dof_")
            if field != name and not field.endswith(("id", "adr", "num")):
                values[name if field in known else field] = array[own]
        return values

    def _path(self, i: int) -> list[Any]:
        start, count = self.arrays["tendon_adr"][i], self.arrays["tendon_num"][i]
        points: list[Any] = []
        for k in range(start, start + count):
            word = to_word(mujoco.mjtWrap(int(self.arrays["wrap_type"][k])))
            name = self._name("geom" if word in _SURFACES else word, self.arrays["wrap_objid"][k])
            number = float(self.arrays["wrap_prm"][k])
            points += [word, name]  # for a geom also its side site
            points.append(self._name("site", int(number)) if word in _SURFACES else number)
        return points


def _run(array: np.ndarray, starts: np.ndarray, counts: np.ndarray | None, i: int) -> np.ndarray:
    start = starts[i]
    if start < 0:
        stop = start
    elif counts is not None:
        stop = start + counts[i]
    else:
        stop = min(starts[starts > start], default=len(array))
    return array[start:stop]


def _enumerated_words(enum: Any, values: Any) -> Any:
    if np.ndim(values):
        return [_enumerated_words(enum, value) for value in values]
    try:
        return to_word(enum(int(values)))
    except (ValueError, StopIteration):
        return int(values)


def _of_whole(a: _Table, b: _Table, tolerance: float) -> Iterator[Difference]:
    ours, others = _settings(a.model), _settings(b.model)
    for kind, field in ours:
        values = _differing(ours[kind, field], others[kind, field], tolerance)
        if values is not None:
            yield Difference(kind, "", field, *values)


def _settings(model: mujoco.MjModel) -> dict[tuple[str, str], Any]:
    groups = {n: part for n, part in _public(model.vis).items() if not isinstance(part, type)}
    parts = {("option", ""): model.opt, ("statistic", ""): model.stat}
    parts |= {("visual", f"{name.rstrip('_')}."): part for name, part in groups.items()}
    return {
        (kind, before + field): _setting(kind, field, value)
        for (kind, before), part in parts.items()
        for field, value in _public(part).items()
    }


def _setting(kind: str, field: str, value: Any) -> Any:
    if (enum := enumeration(kind, field)) is not None:
        return _enumerated_words(enum, value)
    if field not in _FLAGS:
        return value
    words = {n.partition("_")[2].lower(): bit for n, bit in _FLAGS[field].__members__.items()}
    return [word for word, bit in words.items() if word and bit & value]


def _public(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in dir(part) if not name.startswith("_")}


def _of_elements(a: _Table, b: _Table, tolerance: float) -> Iterator[Difference]:
    for prefix in a.prefixes:
        kind = PREFIXES.get(prefix, prefix)
        ours = {name: i for i, name in enumerate(a.labels(prefix))}
        others = {name: i for i, name in enumerate(b.labels(prefix))}
        for name, i in ours.items():
            if name not in others:
                yield Difference(kind, name, "", a.body(prefix, i), None)
                continue
            theirs = b.fields(prefix, others[name])
            for field, value in a.fields(prefix, i).items():
                values = _differing(value, theirs[field], tolerance)
                if values is not None:
                    yield Difference(kind, name, field, *values)
        for name, i in others.items():
            if name not in ours:
                yield Difference(kind, name, "", None, b.body(prefix, i))


def _differing(a: Any, b: Any, tolerance: float) -> tuple[Any, Any] | None:
    """Two values in printable form; None if they are equal."""
    if isinstance(a, list):
        pairs = zip(a, b, strict=False)
        same = len(a) == len(b) and all(_differing(*pair, tolerance) is None for pair in pairs)
        return None if same else (a, b)
    x, y = np.asarray(a), np.asarray(b)
    if x.shape == y.shape and _same(x, y, tolerance).all():
        return None
    if max(x.size, y.size) <= _SHORT:
        return _plain(x), _plain(y)
    if x.shape != y.shape:
        return f"{x.size} numbers", f"{y.size} numbers"
    changed = ~_same(x, y, tolerance)
    most = np.abs(np.subtract(x, y, dtype=float)[changed]).max()
    return f"{x.size} numbers", f"{changed.sum()} of them differ, by up to {most:.3g}"


def _plain(array: np.ndarray) -> Any:
    if array.dtype == np.float32:  # only its own digits
        array = np.array([float(str(x)) for x in array.flat]).reshape(array.shape)
    return array.tolist()


def _same(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    if x.dtype.kind != "f" or y.dtype.kind != "f":
        return np.asarray(x == y)
    size = np.maximum(1, np.maximum(np.abs(x), np.abs(y)))
    near = np.abs(x - y) <= tolerance * size
    return np.asarray(near | (x == y) | (np.isnan(x) & np.isnan(y)))
