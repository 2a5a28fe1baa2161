"""Fields of MjData and MjModel with named rows and columns: `named.data.xpos["torso", "z"]`."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco.introspect.structs import STRUCTS

from mjgym.sim import fields
from mjgym.util.suggestions import or_else


def _size(part: Any) -> Any:
    return getattr(mujoco, part, part) if isinstance(part, str) else part


array_sizes = {
    struct.lower(): {
        field.name: tuple(_size(part) for part in extent)
        for field in STRUCTS[struct].fields
        if (extent := getattr(field, "array_extent", None))
    }
    for struct in ("mjModel", "mjData")
}
"""Axis sizes of the arrays of "mjmodel" and "mjdata": names of fields of MjModel, or numbers."""

COLUMNS = {
    "quat": ("qw", "qx", "qy", "qz"),
    "rgba": ("r", "g", "b", "a"),
    "mat": tuple(row + column for row in "xyz" for column in "xyz"),
    "": ("x", "y", "z"),
}
_NO_COLUMNS = re.compile(
    r"^flex|^mesh_(face|poly|pos|quat|scale)|^skin_(bone|face|vert)"
    r"|friction$|^light_(ambient|attenuation|diffuse|specular)|intprm$"
)
_KINDS = {k.count: kind for kind, k in fields.KINDS.items()} | {
    f"n{kind}": kind for kind in ("numeric", "text", "tuple", "skin", "flex", "exclude", "plugin")
}
_UNEVEN = fields.UNEVEN | {"nnumericdata": ("numeric", "numeric_adr", "numeric_size")}
# A single element of these is an array even if it has one number.
_ALWAYS_SEVERAL = (fields.QPOS, fields.QVEL, "nsensordata", "nnumericdata")


def columns_of(field: str, sizes: tuple[Any, ...]) -> tuple[str, ...]:
    """The column names of a field, () if it has none."""
    names = next(c for end, c in COLUMNS.items() if field.removesuffix("0").endswith(end))
    named = len(sizes) == 2 and sizes[1] == len(names) and not _NO_COLUMNS.search(field)
    return names if named else ()


class Axis:
    """Rows of an axis by name, indices or slices; of elements without a name, that is ""."""

    def __init__(self, kind: str, names: list[str], rows: Mapping[str, Any] | None = None) -> None:
        self.kind, self._names = kind, names
        self._rows = {n: i for i, n in enumerate(names) if n} if rows is None else rows

    def convert_key_item(self, key: Any) -> Any:
        """An index of numbers; lists of names become lists of rows."""
        if key is Ellipsis or key is None:
            raise IndexError(f"{key!r} cannot be used to index a named field")
        if isinstance(key, bytes | str):
            return self._row(key)
        if isinstance(key, np.ndarray) and key.dtype.kind not in "OSU":
            return key
        if isinstance(key, list | np.ndarray):
            rows = [self.convert_key_item(part) for part in key]
            if any(isinstance(row, slice) for row in rows):  # one after another
                return [i for row in rows for i in range(row.start, row.stop)]
            return rows
        return key

    def _row(self, name: bytes | str) -> Any:
        text = name.decode() if isinstance(name, bytes) else str(name)
        if not text:
            raise IndexError("Empty string is no name")
        if text not in self._rows:
            raise KeyError(f"no {self.kind} {text!r}{or_else(text, self._rows)}")
        return self._rows[text]

    @property
    def names(self) -> list[str]:
        return self._names

    def labels(self, count: int) -> list[str]:
        """The name of each row, "" if it has none."""
        names = [""] * count
        for name, rows in self._rows.items():
            for i in [rows] if isinstance(rows, int) else range(rows.start, rows.stop):
                names[i] = name
        return names


def _names(model: mujoco.MjModel, kind: str) -> list[str]:
    number = fields.object_of(kind)
    size = fields.KINDS[kind].count if kind in fields.KINDS else f"n{kind}"
    return [mujoco.mj_id2name(model, number, i) or "" for i in range(getattr(model, size))]


def _axis(model: mujoco.MjModel, size: Any) -> Axis:
    if size in _UNEVEN:
        kind, address, count = _UNEVEN[size]
        names = _names(model, kind)
        ids = np.arange(len(names))
        if size in fields.UNEVEN:
            first, counts = fields.spans(model, size, ids)
        else:
            first, counts = getattr(model, address)[ids], getattr(model, count)[ids]
        here = (counts > 0) & (first >= 0)
        several = size in _ALWAYS_SEVERAL or (counts[here] > 1).any()
        rows: dict[str, Any] = {}
        for i in ids.tolist():
            begin, end = (int(first[i]), int(first[i] + counts[i])) if here[i] else (0, 0)
            rows[names[i]] = slice(begin, end) if several or not here[i] else begin
        if size == "nmocap":  # of the bodies, those that are
            names = [name for name, there in zip(names, here, strict=True) if there]
            rows = {name: rows[name] for name in names}
        rows.pop("", None)
        return Axis(kind, names, rows)
    kind = _KINDS.get(size, "")
    return Axis(kind or f"name on the axis {size}", _names(model, kind) if kind else [])


class Axes(NamedTuple):
    """Axes of a named field; `col` is None for one of one dimension."""

    row: Axis
    col: Axis | None = None


def make_axis_indexers(model: Any) -> Mapping[Any, Axis]:
    """Axes by size, "nbody" for example, made when first used."""

    class Axes(dict[Any, Axis]):
        def __missing__(self, size: Any) -> Axis:
            axis = self[size] = _axis(model.ptr, size)
            return axis

    return Axes()


class FieldIndexer(np.lib.mixins.NDArrayOperatorsMixin):
    """A live array with named rows: `field["torso"]`, `field["torso", "z"]`.

    Rows are names of elements, columns "x", "y", "z", "qw" to "qz", "r" to "a" or "xx" to "zz";
    lists of names, integers and slices work as well. Assignment writes to the simulation. It
    supports arithmetic, has the attributes of an array, and prints with its names.
    """

    def __init__(self, read: Callable[[], np.ndarray], name: str, axes: tuple[Axis, ...]) -> None:
        self.__dict__.update(_read=read, _name=name, _axes=axes)

    def _convert_key(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) > len(self._axes):
            raise IndexError(f"Index tuple has {len(parts)} parts, {self._name} {len(self._axes)}")
        try:
            index = tuple(a.convert_key_item(k) for a, k in zip(self._axes, parts, strict=False))
        except KeyError as error:
            raise KeyError(f"{self._name}: {error.args[0]}") from None
        return index if isinstance(key, tuple) else index[0]

    @property
    def axes(self) -> Axes:
        return Axes(*self._axes)

    def __getitem__(self, key: Any) -> Any:
        return self._read()[self._convert_key(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._read()[self._convert_key(key)] = value

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._read(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} of a named field cannot be set; assign to field[:]")

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *dir(self._read())})

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.array(self._read(), *args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        def plain(x: Any) -> Any:
            return x._read() if isinstance(x, FieldIndexer) else x

        if "out" in options:
            options["out"] = tuple(plain(x) for x in options["out"])
        return getattr(ufunc, method)(*(plain(x) for x in inputs), **options)

    def __repr__(self) -> str:
        head, values = f"FieldIndexer({self._name}):", self._read()
        if not values.size:
            return f"{head}\n(empty)"
        names = self._axes[0].labels(len(values))
        wide, most = max(map(len, names)), len(str(len(values) - 1))
        lines = [head]
        if values.ndim > 1 and any(columns := self._axes[1].labels(values.shape[1])):
            lines.append(" " * (most + wide + 4) + "".join(f"{c:<10}" for c in columns))
        for i, (name, row) in enumerate(zip(names, values.reshape(len(values), -1), strict=True)):
            numbers = "  ".join(f"{value:<8.3g}" for value in row.tolist())
            lines.append(f"{i:>{most}} {name:>{wide}} [ {numbers}]")
        return "\n".join(lines)


class StructIndexer:
    """The fields of MjData or MjModel, with named rows."""

    def __init__(self, struct: Any, name: str, axes: Mapping[Any, Axis]) -> None:
        self.__dict__.update(_struct=struct, _sizes=array_sizes[name], _axes=axes)

    def __getattr__(self, name: str) -> FieldIndexer:
        source = self.__dict__["_struct"]
        sizes = self.__dict__["_sizes"].get(name)
        values = None if sizes is None else getattr(source, name, None)
        if not isinstance(values, np.ndarray):
            known = self.__dict__["_sizes"]
            raise AttributeError(
                f"{type(source).__name__} has no array {name!r}{or_else(name, known)}"
            )
        columns = columns_of(name, sizes)
        by_size = [self._axes[size] for size in sizes[: values.ndim]]
        if columns:
            by_size[1] = Axis("column", list(columns))
        read = functools.partial(getattr, source, name)
        field = self.__dict__[name] = FieldIndexer(read, name, tuple(by_size))
        return field

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)[:] = value  # `named.data.qpos += 1` writes to the simulation

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *self._asdict()})

    def _asdict(self) -> dict[str, FieldIndexer]:
        source = self.__dict__["_struct"]
        is_array = {n: isinstance(getattr(source, n, None), np.ndarray) for n in self._sizes}
        return {name: getattr(self, name) for name, found in is_array.items() if found}
