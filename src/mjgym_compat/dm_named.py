"""Fields of MjData and MjModel with named rows and columns, like dm_control's `named`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.envs.env import Env
from mjgym.sim.fields import VIEWED, owner
from mjgym.util.suggestions import or_else

_SEVERAL = ("joint", "sensor")
COLUMNS = {
    "quat": ("qw", "qx", "qy", "qz"),
    "rgba": ("r", "g", "b", "a"),
    "mat": tuple(row + column for row in "xyz" for column in "xyz"),
    "": ("x", "y", "z"),
}


class NamedField(np.lib.mixins.NDArrayOperatorsMixin):
    """A live array with named rows: `field["torso"]`, `field["torso", "z"]`.

    Rows are names of elements, columns "x", "y", "z", "qw" to "qz", "r" to "a" or "xx" to "zz";
    lists of names, integers and slices work as well. Assignment writes to the simulation. It
    supports arithmetic, has the attributes of an array, and prints with its names.

    Args:
        env: the environment.
        name: of the field.
        values: the array.
    """

    def __init__(self, env: Env, name: str, values: np.ndarray) -> None:
        self._env = env
        self._name = name
        self._values = values

    def __getitem__(self, key: Any) -> Any:
        return self._values[self._index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[self._index(key)] = value

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._values, name)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.array(self._values, *args, **kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        def plain(x: Any) -> Any:
            return x._values if isinstance(x, NamedField) else x

        if "out" in options:
            options["out"] = tuple(plain(x) for x in options["out"])
        return getattr(ufunc, method)(*(plain(x) for x in inputs), **options)

    def __repr__(self) -> str:
        values = self._values.reshape(len(self._values), -1) if self._values.size else self._values
        if values.ndim != 2:
            return f"{self._name}: empty, shape {self._values.shape}"
        known = self._known_columns()
        columns = known if self._values.ndim == 2 and len(known) == values.shape[1] else ()
        numbers = [[f"{value:.4g}" for value in row] for row in values.tolist()]
        rows = self._row_names()
        wide = max(map(len, rows))
        width = max(len(number) for row in [list(columns), *numbers] for number in row) + 2
        lines = [self._name]
        if columns:
            lines.append(" " * wide + "".join(f"{column:>{width}}" for column in columns))
        lines += [
            f"{name:<{wide}}" + "".join(f"{number:>{width}}" for number in row)
            for name, row in zip(rows, numbers, strict=True)
        ]
        return "\n".join(lines)

    def _row_names(self) -> list[str]:
        """The element of each row, indexed if it has no name."""
        names = [f"[{i}]" for i in range(len(self._values))]
        view = self._env.view
        for kind in VIEWED:
            for name in filter(None, view.names(kind)):
                try:
                    found = np.arange(len(self._values))[view.rows(self._name, (name,))]
                except (KeyError, IndexError):  # the field belongs to other elements
                    break
                for i in found:
                    names[i] = name
        return names

    def _known_columns(self) -> tuple[str, ...]:
        return next(c for end, c in COLUMNS.items() if self._name.endswith(end))

    def _index(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        # `np.ix_` makes grids of lists.
        flat = [np.ravel(part).tolist() if np.ndim(part) == 2 else part for part in parts]
        rows, *columns = flat
        index = [self._rows(rows), *(self._column(column) for column in columns)]
        if all(isinstance(part, list | np.ndarray) for part in index) and len(index) > 1:
            return np.ix_(*index)  # rows and columns select a block
        return tuple(index)

    def _rows(self, names: Any) -> Any:
        if isinstance(names, str):
            found = self._env.view.rows(self._name, (names,))
            # If elements may have several numbers, a single one is an array too.
            even = isinstance(found, slice) and owner(self._name)[0] not in _SEVERAL
            return found.start if even else found  # type: ignore[union-attr]
        if _are_names(names):
            found = self._env.view.rows(self._name, tuple(names))
            return np.arange(len(self._values))[found]
        return names

    def _column(self, names: Any) -> Any:
        known = self._known_columns()
        for name in [names] if isinstance(names, str) else names if _are_names(names) else ():
            if name not in known:
                raise KeyError(f"{self._name} has no column {name!r}{or_else(name, known)}")
        if isinstance(names, str):
            return known.index(names)
        return [known.index(name) for name in names] if _are_names(names) else names


def _are_names(key: Any) -> bool:
    return isinstance(key, Sequence | np.ndarray) and all(isinstance(n, str) for n in key)


class NamedFields:
    """The fields of MjData or MjModel, with named rows.

    Args:
        env: the environment.
        source: its MjData or its MjModel.
    """

    _env: Env
    _source: Any

    def __init__(self, env: Env, source: Any) -> None:
        self.__dict__.update(_env=env, _source=source)  # bypasses `__setattr__`

    def __getattr__(self, name: str) -> NamedField:
        value = None if name.startswith("_") else getattr(self._source, name, None)
        if not isinstance(value, np.ndarray):
            kind = type(self._source).__name__
            raise AttributeError(f"{kind} has no array {name!r}{or_else(name, dir(self._source))}")
        return NamedField(self._env, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)[:] = value  # `named.data.qpos += 1` writes to the simulation


class Named:
    """Named fields: `named.data.xpos["torso", "z"]`, `named.model.geom_size["floor"]`."""

    def __init__(self, env: Env) -> None:
        self.data = NamedFields(env, env.data)
        self.model = NamedFields(env, env.model)
