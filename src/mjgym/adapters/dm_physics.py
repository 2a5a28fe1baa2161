"""The model and the state of an environment under the names of dm_control's `Physics`."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.util.suggestions import or_else

# Of these an element has as many numbers as it needs, so that its part is always an array.
_UNEVEN = ("qpos", "qvel", "qacc", "sensordata")
_COLUMNS = {
    "quat": ("qw", "qx", "qy", "qz"),
    "rgba": ("r", "g", "b", "a"),
    "mat": tuple(row + column for row in "xyz" for column in "xyz"),
    "": ("x", "y", "z"),
}


class NamedField:
    """A live array whose rows have names: `field["torso"]`, `field["torso", "z"]`.

    Rows are names of elements, columns "x", "y", "z", "qw" to "qz", "r" to "a" or "xx" to "zz";
    either may be a list of names, a number or a slice. Assignment writes into the simulation.

    Args:
        env: whose field it is.
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

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.array(self._values, *args, **kwargs)

    def __repr__(self) -> str:
        return f"{self._name}: {self._values!r}"

    def _index(self, key: Any) -> Any:
        rows, *columns = key if isinstance(key, tuple) else (key,)
        index = [self._rows(rows), *(self._column(column) for column in columns)]
        if all(isinstance(part, list | np.ndarray) for part in index) and len(index) > 1:
            return np.ix_(*index)  # some rows and some columns are a block
        return tuple(index)

    def _rows(self, names: Any) -> Any:
        if isinstance(names, str):
            found = self._env.view.rows(self._name, (names,))
            even = isinstance(found, slice) and self._name not in _UNEVEN
            return found.start if even else found  # type: ignore[union-attr]
        if _are_names(names):
            found = self._env.view.rows(self._name, tuple(names))
            return np.arange(len(self._values))[found]
        return names

    def _column(self, names: Any) -> Any:
        known = next(c for end, c in _COLUMNS.items() if self._name.endswith(end))
        for name in [names] if isinstance(names, str) else names if _are_names(names) else ():
            if name not in known:
                raise KeyError(f"{self._name} has no column {name!r}{or_else(name, known)}")
        if isinstance(names, str):
            return known.index(names)
        return [known.index(name) for name in names] if _are_names(names) else names


def _are_names(key: Any) -> bool:
    return isinstance(key, Sequence | np.ndarray) and all(isinstance(n, str) for n in key)


class NamedFields:
    """The fields of MjData or of MjModel, each with names for its rows.

    Args:
        env: whose they are.
        source: its MjData or its MjModel.
    """

    def __init__(self, env: Env, source: Any) -> None:
        self._env = env
        self._source = source

    def __getattr__(self, name: str) -> NamedField:
        value = None if name.startswith("_") else getattr(self._source, name, None)
        if not isinstance(value, np.ndarray):
            kind = type(self._source).__name__
            raise AttributeError(f"{kind} has no array {name!r}{or_else(name, dir(self._source))}")
        return NamedField(self._env, name, value)


class Named:
    """The fields with names: `named.data.xpos["torso", "z"]`, `named.model.geom_size["floor"]`.

    Args:
        env: whose they are.
    """

    def __init__(self, env: Env) -> None:
        self.data = NamedFields(env, env.data)
        self.model = NamedFields(env, env.model)


class Physics:
    """The model and the state of an environment: what analysis code asks dm_control's for.

    Attributes:
        model: the live MjModel.
        data: the live MjData.
        named: their fields with names, see `NamedField`.
    """

    def __init__(self, env: Env) -> None:
        self._env = env
        self.model: mujoco.MjModel = env.model
        self.data: mujoco.MjData = env.data
        self.named = Named(env)

    def timestep(self) -> float:
        """The duration of a physics step, s."""
        return float(self.model.opt.timestep)

    def time(self) -> float:
        """The time since the episode began, s."""
        return float(self.data.time)

    def position(self) -> np.ndarray:
        """A copy of the generalized positions, (nq,)."""
        return np.array(self.data.qpos)

    def velocity(self) -> np.ndarray:
        """A copy of the generalized velocities, (nv,)."""
        return np.array(self.data.qvel)

    def control(self) -> np.ndarray:
        """A copy of the controls, (nu,)."""
        return np.array(self.data.ctrl)

    def get_state(self) -> np.ndarray:
        """Positions, velocities and activations in one vector, (nq + nv + na,)."""
        return np.concatenate([self.data.qpos, self.data.qvel, self.data.act])

    def set_state(self, state: np.ndarray) -> None:
        """Write what `get_state` gives, and compute what follows from it.

        Raises:
            ValueError: the vector has a wrong length or is not finite; nothing is written.
        """
        sizes = self.model.nq, self.model.nv, self.model.na
        vector = np.asarray(state, dtype=np.float64)
        if vector.shape != (sum(sizes),):
            raise ValueError(f"state: expected shape ({sum(sizes)},), got {vector.shape}")
        parts = np.split(vector, np.cumsum(sizes)[:2])
        entries = zip(("qpos", "qvel", "act"), parts, strict=True)
        self._env.set_state({name: part for name, part in entries if part.size})

    def forward(self) -> None:
        """Compute what follows from a state that has been written into `data`."""
        mujoco.mj_forward(self.model, self.data)

    def render(
        self,
        height: int = 240,
        width: int = 320,
        camera_id: int | str = -1,
        *,
        depth: bool = False,
        segmentation: bool = False,
    ) -> np.ndarray:
        """A picture of the present state.

        Args:
            height: in pixels.
            width: in pixels.
            camera_id: index or name of the camera; -1 for the free one.
            depth: metres, float32 (height, width).
            segmentation: id and type of what is seen, int32 (height, width, 2).

        Returns:
            uint8 (height, width, 3) unless said otherwise.

        Raises:
            ValueError: there is no such camera, or depth and segmentation are both asked for.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        if depth and segmentation:
            raise ValueError("depth and segmentation are two pictures; ask for one of them")
        kind = "depth" if depth else "segmentation" if segmentation else "rgb"
        return self._env.camera(camera_id, kind=kind, width=width, height=height)
