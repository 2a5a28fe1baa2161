"""Model, state and simulation of an environment under robosuite's names."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.loop.states import MEMORY
from mjgym.mjcf.size_limits import require_self_contained
from mjgym.mjcf.written_fields import fields_of, with_fields
from mjgym.sim.fields import KINDS, field_rows
from mjgym.util.values import one_of
from mjgym_compat.robosuite.episodes import Episodes

# Fields of MjData with a row per element, by robosuite's names.
_ROWS = {
    "body_xpos": "xpos",
    "body_xmat": "xmat",
    "body_xquat": "xquat",
    "geom_xpos": "geom_xpos",
    "geom_xmat": "geom_xmat",
    "site_xpos": "site_xpos",
    "site_xmat": "site_xmat",
    "camera_xpos": "cam_xpos",
    "camera_xmat": "cam_xmat",
    "light_xpos": "light_xpos",
    "light_xdir": "light_xdir",
}
_JACOBIANS: dict[str, Callable[..., None]] = {
    "body": mujoco.mj_jacBody,
    "geom": mujoco.mj_jacGeom,
    "site": mujoco.mj_jacSite,
}
_WRITTEN = {"joint": ("qpos", "qvel"), "mocap": ("pos", "quat")}
# Clipping planes of the published scenes, which define normalized depth.
EXTENT = 10.60981561453384  # m
NEAR, FAR = 0.001, 50.0  # of the extent
COUNTED = ("nq", "nv", "nu", "nbody", "njnt", "ngeom", "nsite", "ncam")
WRITTEN = ("body_pos", "body_mass", "geom_pos", "geom_size", "geom_friction", "jnt_range")
PRINTED = 1e-4  # relative rounding of numbers in XML


class MjModel:
    """The fields of an environment's MjModel, and `<kind>_names`, `_name2id` and `_id2name`.

    `stat.extent` and `vis.map` have the published clipping planes, which normalize depth.
    """

    def __init__(self, env: Env) -> None:
        model = env.model
        self._env, self._model = env, model
        self.stat = SimpleNamespace(extent=EXTENT, center=model.stat.center)
        self.vis = SimpleNamespace(map=SimpleNamespace(znear=NEAR, zfar=FAR))

    def __getattr__(self, name: str) -> Any:
        kind, _, way = name.partition("_")
        if name.startswith("_") or kind not in KINDS:
            return getattr(self.__dict__["_model"], name)
        element_of: Any = getattr(self._model, kind)
        if way == "name2id":
            return lambda element: int(element_of(element).id)
        if way == "id2name":
            return lambda number: element_of(number).name
        if way == "names":
            count = getattr(self._model, KINDS[kind].count)
            return tuple(element_of(i).name for i in range(count))
        return getattr(self._model, name)

    def get_joint_qpos_addr(self, name: str) -> Any:
        return self._address(name, "qpos")

    def get_joint_qvel_addr(self, name: str) -> Any:
        return self._address(name, "qvel")

    def _address(self, name: str, field: str) -> Any:
        joints = np.array([self._model.joint(name).id])
        first, *others = field_rows(self._model, field, joints).tolist()
        return (first, first + 1 + len(others)) if others else first

    def get_xml(self) -> str:
        """The model as MJCF, with the episode's drawn values and the controllers' memory.

        Changed values are in it twice: in the elements, and as exact numbers.
        """
        task, state = self._env.task, self._env.get_state()
        memory = {name: x for name, x in state.items() if name.startswith(MEMORY) and x.size}
        return with_fields(task.model(), {name: state[name] for name in task.varies}, memory)

    def read_xml(self, xml: str) -> dict[str, np.ndarray]:
        """The episode's fields and memory in XML of `get_xml`, as a state; ValueError otherwise."""
        task = self._env.task
        try:
            require_self_contained(xml)
            recorded = mujoco.MjSpec.from_string(xml).compile()
        except ValueError as error:
            raise ValueError(f"xml: not that of sim.model.get_xml(): {error}") from None
        model = self._model
        if any(getattr(recorded, count) != getattr(model, count) for count in COUNTED):
            raise ValueError(
                "xml: another model's; episodes change numbers here, never what there is, so only"
                " the XML of this environment's sim.model.get_xml() can be loaded"
            )
        fields = fields_of(recorded)
        if missing := [name for name in task.varies if name not in fields]:
            raise ValueError(f"xml: lacks what sim.model.get_xml() writes of {', '.join(missing)}")
        for name in WRITTEN:
            alike = np.allclose(getattr(recorded, name), getattr(model, name), PRINTED, PRINTED)
            if name not in task.varies and not alike:
                raise ValueError(f"xml: {name} differs; make(..., vary={{...}}) changes numbers")
        state = self._env.get_state()
        return {
            name: np.array(value).reshape(state[name].shape).astype(state[name].dtype)
            for name, value in fields.items()
            if name in state  # other controllers may have another memory
        }


class MjData:
    """The fields of the MjData, and accessors by element name.

    `body_xpos` and the like have a row per body; `get_body_xpos(name)` returns one row. Geoms,
    sites, cameras and lights work alike. `get_body_xvelp`, `get_body_xvelr`, `get_body_jacp` and
    `get_body_jacr` are velocities and Jacobians in world axes; `get_joint_qpos(name)` and
    `set_joint_qpos(name, value)`, and the same for `qvel`, access a joint; `get_sensor(name)` reads
    a sensor; `get_mocap_pos` and `set_mocap_quat` access a mocap body. Rotation matrices are rows
    of nine numbers, and those by an element's name (3, 3).
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.__dict__["_model"], self.__dict__["_data"] = model, data

    def __getattr__(self, name: str) -> Any:
        if name in _ROWS:
            return getattr(self._data, _ROWS[name])
        way, _, field = name.partition("_")
        kind, _, what = field.partition("_")
        access = None
        if way == "get":
            access = self._getter(kind, what)
        elif way == "set" and what in _WRITTEN.get(kind, ()):
            access = partial(self._write, kind, what)
        return getattr(self._data, name) if access is None else access

    def _getter(self, kind: str, what: str) -> Callable[[str], Any] | None:
        if kind == "sensor" and not what:
            return lambda element: _one_or_all(self._data.sensor(element).data.copy())
        if (field := f"{kind}_{what}") in _ROWS:
            shape = (3, 3) if what == "xmat" else (-1,)
            return lambda element: getattr(self, field)[
                getattr(self._model, kind)(element).id
            ].reshape(shape)
        if kind in _JACOBIANS and what in ("jacp", "jacr"):
            return lambda element: self._jacobian(kind, element, what[-1])
        if kind in _JACOBIANS and what in ("xvelp", "xvelr"):
            return lambda element: self._jacobian(kind, element, what[-1]) @ self._data.qvel
        if what in _WRITTEN.get(kind, ()):
            return lambda element: _one_or_all(self._state(kind, what, element).copy())
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._data, name, value)

    def _jacobian(self, kind: str, element: str, part: str) -> np.ndarray:
        """Jacobian of an element's position ("p") or rotation ("r"), (3, nv)."""
        rows = np.zeros((3, self._model.nv))
        number = getattr(self._model, kind)(element).id
        places = (rows, None) if part == "p" else (None, rows)
        _JACOBIANS[kind](self._model, self._data, *places, number)
        return rows

    def _state(self, kind: str, what: str, element: str) -> np.ndarray:
        if kind == "joint":
            return np.asarray(getattr(self._data.joint(element), what))
        number = int(self._model.body(element).mocapid[0])
        if number < 0:
            raise ValueError(f"{element!r} is no mocap body")
        return np.asarray(getattr(self._data, f"mocap_{what}")[number])

    def _write(self, kind: str, what: str, element: str, value: Any) -> None:
        self._state(kind, what, element)[:] = value


def _one_or_all(values: np.ndarray) -> Any:
    return values[0] if values.shape == (1,) else values


@dataclass(frozen=True)
class MjSimState:
    """Time, positions and velocities of a simulation."""

    time: float  # s
    qpos: np.ndarray
    qvel: np.ndarray

    @classmethod
    def from_flattened(cls, array: Any, sim: "Simulation") -> "MjSimState":
        """A state of `flatten`; ValueError for a wrong length."""
        nq, nv = sim.model.nq, sim.model.nv
        flat = np.asarray(array, float)
        if flat.shape != (1 + nq + nv,):
            raise ValueError(f"state: expected 1 + {nq} + {nv} numbers, got shape {flat.shape}")
        return cls(float(flat[0]), flat[1 : 1 + nq], flat[1 + nq :])

    def flatten(self) -> np.ndarray:
        return np.concatenate([[self.time], self.qpos, self.qvel])


class Simulation:
    """The simulation of an environment under robosuite's names."""

    def __init__(self, env: Env, episodes: Episodes) -> None:
        self._env = env
        self._upright, self._hidden = episodes.upright, episodes.hidden_groups
        self.model, self.data = MjModel(env), MjData(env.model, env.data)

    def reset(self) -> None:
        mujoco.mj_resetData(self._env.model, self._env.data)

    def forward(self) -> None:
        mujoco.mj_forward(self._env.model, self._env.data)

    def get_state(self) -> MjSimState:
        data = self._env.data
        return MjSimState(float(data.time), data.qpos.copy(), data.qvel.copy())

    def set_state(self, value: MjSimState | dict[str, Any]) -> None:
        """Set a state of `get_state`, then call `forward`; or entries of `mjgym.Env.set_state`."""
        if isinstance(value, dict):
            self._env.set_state(value)
        else:
            self.set_state_from_flattened(value.flatten())

    def set_state_from_flattened(self, value: Any) -> None:
        state, data = MjSimState.from_flattened(value, self), self._env.data
        data.time, data.qpos[:], data.qvel[:] = state.time, state.qpos, state.qvel

    def contacts(self) -> list[tuple[str, str]]:
        """The pairs of geoms that touch, by name."""
        model = self._env.model
        pairs = self._env.data.contact.geom
        return [(model.geom(int(a)).name, model.geom(int(b)).name) for a, b in pairs]

    def render(
        self,
        width: int = 256,
        height: int = 256,
        *,
        camera_name: str = "frontview",
        depth: bool = False,
        segmentation: bool = False,
    ) -> Any:
        """An image of the current state, uint8 (height, width, 3).

        Args:
            depth: whether to return depth as well, float32 (height, width), 0 at the near clipping
                plane and 1 at the far one.
            segmentation: whether to return types and ids of the elements instead, int32
                (height, width, 2).
        """
        one_of("camera_name", camera_name, self.model.camera_names)
        asked = {"width": width, "height": height, "hidden_groups": self._hidden}
        if segmentation:
            ids_and_types = self._env.camera(camera_name, kind="segmentation", **asked)
            return self._rows(ids_and_types[..., ::-1])
        picture = self._rows(self._env.camera(camera_name, **asked))
        if not depth:
            return picture
        metres = self._env.camera(camera_name, kind="depth", **asked)
        near, far = NEAR * EXTENT, FAR * EXTENT
        of_opengl = (1 - near / np.maximum(metres, near)) / (1 - near / far)
        return picture, self._rows(np.asarray(np.clip(of_opengl, 0, 1), np.float32))

    def _rows(self, picture: np.ndarray) -> np.ndarray:
        return picture if self._upright else picture[::-1]
