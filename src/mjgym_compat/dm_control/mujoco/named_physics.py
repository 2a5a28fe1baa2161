"""MjModel and MjData with named access, copies and pictures, in dm_control's words."""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.loop.episode import DivergenceError
from mjgym.mjcf import Spec
from mjgym.mjcf.size_limits import require_bounded, require_bounded_text
from mjgym.rendering import Renderer, dressed
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mujoco.index import StructIndexer, make_axis_indexers

_STATE = ("qpos", "qvel", "act")
_SHOWN = (*_STATE, "ctrl", "mocap_pos", "mocap_quat", "eq_active")
_ACTUATION = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
_WARNINGS = [name for name in mujoco.mjtWarning.__members__ if name != "mjNWARNING"]
_COUNTS = {"joint": "njnt", "camera": "ncam", "material": "nmat", "texture": "ntex"} | {
    "equality": "neq", "actuator": "nactuator", "contact": "npair", "xbody": "nbody",
}  # fmt: skip


class PhysicsError(DivergenceError):
    """MuJoCo warned about a state from which it cannot continue."""


class _Struct:
    """Wrapper of an engine structure, `ptr`, that passes attributes through."""

    def __init__(self, ptr: Any) -> None:
        self.__dict__["ptr"] = ptr

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "ptr" not in self.__dict__:  # during copying
            raise AttributeError(name)
        return getattr(self.__dict__["ptr"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["ptr"], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.__dict__["ptr"])})


class MjModel(_Struct):
    """An MjModel; elements by name and by index."""

    def name2id(self, name: str, object_type: str) -> int:
        """The index of an element; KeyError names the nearest ones."""
        kind = _kind(object_type)
        index = mujoco.mj_name2id(self.ptr, kind, name)
        if index < 0:
            known = (self.id2name(i, object_type) for i in range(self._count(kind)))
            raise KeyError(f"no {object_type} {name!r} in the model{or_else(name, known)}")
        return int(index)

    def id2name(self, object_id: int, object_type: str) -> str:
        """The name of an element, "" if it has none; KeyError if there is no such index."""
        kind = _kind(object_type)
        if object_id not in range(count := self._count(kind)):
            raise KeyError(f"no {object_type} {object_id}; the model has {count}")
        return mujoco.mj_id2name(self.ptr, kind, object_id) or ""

    def _count(self, kind: int) -> int:
        word = mujoco.mju_type2Str(kind)
        return int(getattr(self.ptr, _COUNTS.get(word, f"n{word}")))


def _kind(object_type: str) -> int:
    number = int(mujoco.mju_str2Type(object_type))
    if number == 0:
        words = [mujoco.mju_type2Str(i) for i in range(1, int(mujoco.mjtObj.mjNOBJECT))]
        raise KeyError(f"no kind of elements {object_type!r}{or_else(object_type, words)}")
    return number


class NamedStructs(NamedTuple):
    """Fields of a model and of a state, with named rows and columns."""

    model: StructIndexer
    data: StructIndexer


class _Compiled:
    """A compiled model, passed where a model source is expected."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model

    def compile(self) -> mujoco.MjModel:
        return copy.copy(self._model)


def _copied(field: str) -> Callable[[Any], np.ndarray]:
    return lambda physics: np.array(getattr(physics.data, field))


class Physics:
    """A model and its state under dm_control's names."""

    reward: float | None = None  # shown in the colours of the bodies
    _env: Env | None = None  # whose state this is
    _scene: Callable[[], Spec] | None = None  # the model with its textures, if `model` has none
    _renderer: Renderer | None = None

    def __init__(self, model: mujoco.MjModel) -> None:
        self._load(model)

    def _load(self, model: mujoco.MjModel) -> None:
        self._env = self._scene = None
        self._use(model, mujoco.MjData(model))
        with contextlib.suppress(PhysicsError):
            self.reset()

    def _use(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.free()
        self.model, self.data = MjModel(model), _Struct(data)
        axes = make_axis_indexers(self.model)
        self.named = NamedStructs(
            StructIndexer(self.model, "mjmodel", axes), StructIndexer(self.data, "mjdata", axes)
        )

    @classmethod
    def of_env(cls, env: Env) -> Self:
        """The live model and state of an environment."""
        physics = cls.__new__(cls)
        physics._env, physics._scene = env, functools.partial(dressed, env.task)
        physics._use(env.model, env.data)
        return physics

    @classmethod
    def of_copy(cls, model: mujoco.MjModel, scene: Callable[[], Spec]) -> Self:
        """The physics of a copy of a model, which `scene` builds with its textures."""
        physics = cls(copy.copy(model))
        physics._scene = scene
        return physics

    @classmethod
    def from_xml_string(cls, xml_string: str, assets: Mapping[str, bytes] | None = None) -> Self:
        return cls(_model_of(xml_string, assets))

    @classmethod
    def from_xml_path(cls, file_path: str | Path) -> Self:
        require_bounded(Path(file_path))
        return cls(mujoco.MjModel.from_xml_path(str(file_path)))

    def reload_from_xml_string(
        self, xml_string: str, assets: Mapping[str, bytes] | None = None
    ) -> None:
        self._load(_model_of(xml_string, assets))

    # Time and state.

    def timestep(self) -> float:
        return float(self.model.opt.timestep)

    def time(self) -> float:
        return float(self.data.time)

    position, velocity = _copied("qpos"), _copied("qvel")
    activation, control = _copied("act"), _copied("ctrl")

    def set_control(self, control: Any) -> None:
        self.data.ctrl[:] = control

    def get_state(self) -> np.ndarray:
        return np.concatenate([getattr(self.data, name) for name in _STATE])

    state = get_state

    def set_state(self, physics_state: Any) -> None:
        """Set positions, velocities and activations; `forward` or `step` follow them."""
        vector = np.asarray(physics_state, dtype=np.float64)
        items = [getattr(self.data, name) for name in _STATE]
        if vector.shape != (size := sum(map(len, items)),):
            raise ValueError(f"state: expected shape ({size},), got {vector.shape}")
        ends = np.cumsum([len(item) for item in items])[:-1]
        for item, part in zip(items, np.split(vector, ends), strict=True):
            item[:] = part

    def copy(self) -> Self:
        """A copy of the model and the state."""
        copied = type(self).__new__(type(self))
        copied._scene = self._scene
        model = copy.copy(self.model.ptr)
        data = mujoco.MjData(model)
        mujoco.mj_copyData(data, model, self.data.ptr)
        copied._use(model, data)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        pickled = {"_env": self._env, "_scene": self._scene, "reward": self.reward}
        return {**pickled, "model": self.model.ptr, "data": self.data.ptr}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        model, data = pickled.pop("model"), pickled.pop("data")
        self.__dict__.update(pickled)
        if self._env is None:
            self._use(model, data)
            return
        self._use(self._env.model, self._env.data)
        mujoco.mj_copyData(self.data.ptr, self.model.ptr, data)

    # Physics.

    def forward(self) -> None:
        with self.check_invalid_state():
            mujoco.mj_forward(self.model.ptr, self.data.ptr)

    def step(self, nstep: int = 1) -> None:
        """Advance by some physics steps, in the order of the published suite.

        Afterwards positions, velocities and quantities that depend only on them belong to the new
        state; forces and accelerations belong to the last step.
        """
        model, data = self.model.ptr, self.data.ptr
        with self.check_invalid_state():
            if model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4:
                mujoco.mj_step2(model, data)  # the half of a step that was begun before
                nstep -= 1
            if nstep:
                mujoco.mj_step(model, data, nstep)
            mujoco.mj_step1(model, data)

    def reset(self) -> None:
        mujoco.mj_resetData(self.model.ptr, self.data.ptr)
        self.after_reset()

    def after_reset(self) -> None:
        """Recompute everything that depends on the initial state, without actuation."""
        options = self.model.opt
        before = int(options.disableflags)
        options.disableflags = before | _ACTUATION
        try:
            self.forward()
        finally:
            options.disableflags = before

    @contextlib.contextmanager
    def reset_context(self) -> Iterator[Self]:
        """Reset, let the block set the state, and recompute what depends on it."""
        with contextlib.suppress(PhysicsError):
            self.reset()
        yield self
        self.after_reset()

    @contextlib.contextmanager
    def check_invalid_state(self) -> Iterator[None]:
        """Raise PhysicsError for new warnings of MuJoCo in a `with` block."""
        before = self.data.ptr.warning.number.copy()
        yield
        counts = self.data.ptr.warning.number  # 0 after a reset, also by the engine
        new = (counts > before) & (counts != 0)
        if new.any():
            names = ", ".join(_WARNINGS[int(i)] for i in np.flatnonzero(new))
            raise PhysicsError(f"the physics state is invalid; the engine warned: {names}")

    # Pictures.

    def render(
        self,
        height: int = 240,
        width: int = 320,
        camera_id: int | str = -1,
        depth: bool = False,
        segmentation: bool = False,
    ) -> np.ndarray:
        """Render the current state.

        Returns:
            uint8 (height, width, 3); with `depth` float32 (height, width), m; with `segmentation`
            int32 (height, width, 2), ids and types of the objects.
        """
        if depth and segmentation:
            raise ValueError("depth and segmentation are two pictures; ask for one of them")
        if self._renderer is None:
            model = self.model.ptr
            self._renderer = Renderer(self._scene or (lambda: _Compiled(model)), model)
        return self._renderer.render(
            {name: getattr(self.data, name) for name in _SHOWN},
            camera_id,
            width=width,
            height=height,
            kind="depth" if depth else "segmentation" if segmentation else "rgb",
            reward=self.reward,
        )

    def free(self) -> None:
        """Release the driver's resources; a later `render` starts over."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None


def _model_of(xml: str, assets: Mapping[str, bytes] | None) -> mujoco.MjModel:
    require_bounded_text(xml)
    return mujoco.MjModel.from_xml_string(xml, dict(assets or {}))
