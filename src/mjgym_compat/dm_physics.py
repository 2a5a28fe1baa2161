"""A model and its state under the names of dm_control's `Physics`."""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.loop.episode import DivergenceError
from mjgym.mjcf import Spec
from mjgym.mjcf.size_limits import require_bounded, require_bounded_text
from mjgym.task import Arrays, Task
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_named import Named

_WARNINGS = {
    int(value): name
    for name, value in mujoco.mjtWarning.__members__.items()
    if name != "mjNWARNING"
}
_FLAGS = {
    name.removeprefix("mjDSBL_").lower(): int(value)
    for name, value in mujoco.mjtDisableBit.__members__.items()
    if name.startswith("mjDSBL_")
}

# Lists of elements that refer to others, and their number in the compiled model.
_REFERRING = {
    "actuators": "nu", "sensors": "nsensor", "equalities": "neq", "tendons": "ntendon",
    "pairs": "npair", "excludes": "nexclude", "skins": "nskin",
}  # fmt: skip


class PhysicsError(DivergenceError):
    """MuJoCo warned about a state from which it cannot continue."""


class _Struct:
    """An MjModel or MjData that also exposes itself as `ptr`, for MuJoCo's functions."""

    def __init__(self, ptr: Any) -> None:
        self.__dict__["ptr"] = ptr

    def __getattr__(self, name: str) -> Any:
        if name == "ptr" or name.startswith("__"):  # during copying
            raise AttributeError(name)
        return getattr(self.ptr, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.ptr, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.ptr)})


class Model(_Struct):
    """The fields of an MjModel, with dm_control's additions.

    Attributes:
        ptr: the MjModel.
    """

    def name2id(self, name: str, object_type: str | int) -> int:
        """The index of an element.

        Args:
            name: of the element.
            object_type: kind of element, e.g. "geom", or a value of `mujoco.mjtObj`.

        Raises:
            KeyError: there is no such kind or element; the message names the nearest ones.
        """
        kind = _object(object_type)
        index = mujoco.mj_name2id(self.ptr, kind, name)
        if index < 0:
            known = _names(self.ptr, kind)
            word = mujoco.mju_type2Str(kind)
            raise KeyError(f"the model has no {word} {name!r}{or_else(name, known)}")
        return int(index)

    def id2name(self, object_id: int, object_type: str | int) -> str:
        """The name of an element, "" if it has none.

        Raises:
            KeyError: there is no such kind or index.
        """
        kind = _object(object_type)
        count = len(_names(self.ptr, kind))
        if object_id not in range(count):
            word = mujoco.mju_type2Str(kind)
            raise KeyError(f"the model has {count} of {word}, no number {object_id}")
        return mujoco.mj_id2name(self.ptr, kind, object_id) or ""

    @contextlib.contextmanager
    def disable(self, *flags: str | int) -> Iterator[None]:
        """Disable parts of the physics in a `with` block: "gravity", "contact", "actuation", ...

        Raises:
            ValueError: there is no such flag; the message names the nearest ones.
        """
        bits = 0
        for flag in flags:
            if isinstance(flag, str) and flag not in _FLAGS:
                raise ValueError(f"no flag {flag!r}{or_else(flag, sorted(_FLAGS))}")
            bits |= _FLAGS[flag] if isinstance(flag, str) else int(flag)
        before = int(self.ptr.opt.disableflags)
        self.ptr.opt.disableflags = before | bits
        try:
            yield
        finally:
            self.ptr.opt.disableflags = before


class Data(_Struct):
    """The fields of an MjData.

    Attributes:
        ptr: the MjData.
    """


def _object(kind: str | int) -> int:
    number = mujoco.mju_str2Type(kind) if isinstance(kind, str) else int(kind)
    if number == 0 or not mujoco.mju_type2Str(number):
        words = [mujoco.mju_type2Str(i) for i in range(1, int(mujoco.mjtObj.mjNOBJECT))]
        raise KeyError(
            f"no kind of element {kind!r}{or_else(str(kind), list(filter(None, words)))}"
        )
    return int(number)


def _names(model: mujoco.MjModel, kind: int) -> list[str]:
    """Names of all elements of a kind by index; "" if unnamed."""
    word = mujoco.mju_type2Str(kind)
    fields = {"joint": "njnt", "camera": "ncam", "material": "nmat", "texture": "ntex"}
    fields |= {"equality": "neq", "actuator": "nu", "contact": "npair", "xbody": "nbody"}
    count = getattr(model, fields.get(word, f"n{word}"))
    return [mujoco.mj_id2name(model, kind, i) or "" for i in range(count)]


def _from_text(text: str, files: Mapping[str, bytes]) -> Spec:
    return Spec.from_string(text, assets=files)


def _from_file(path: str) -> Spec:
    return Spec.from_file(path)


@dataclass(frozen=True)
class _Alone(Task):
    """Task of a bare model: it does nothing."""

    make: Callable[[], Spec]

    def model(self) -> Spec:
        return self.make()

    def observation(self, v: Any) -> Arrays:
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v: Any) -> Arrays:
        return {}

    def reward(self, terms: Arrays) -> float:
        return 0.0


class Physics:
    """The model and the state of an environment under dm_control's names.

    Args:
        env: the environment; see `from_xml_string` and `from_xml_path` for a bare model.

    Attributes:
        model: the fields of the MjModel, which is `model.ptr`; they are writable.
        data: the fields of the MjData, which is `data.ptr`.
        named: fields with names, see `NamedField`.
        legacy_step: whether steps are in the order of the published suite.
    """

    legacy_step = True

    def __init__(self, env: Env) -> None:
        self._env = env
        self.model = Model(env.model)
        self.data = Data(env.data)
        self.named = Named(env)
        self._raises = True

    @classmethod
    def from_xml_string(
        cls, xml_string: str | bytes, assets: Mapping[str, bytes] | None = None
    ) -> Self:
        """The physics of an MJCF string.

        Args:
            xml_string: the model.
            assets: contents of the files that it names.

        Raises:
            ValueError: it does not compile; the message is the compiler's.
        """
        text = xml_string.decode() if isinstance(xml_string, bytes) else xml_string
        files = dict(assets or {})
        require_bounded_text(text)
        return cls._with_model(functools.partial(_from_text, text, files))

    @classmethod
    def from_xml_path(cls, file_path: str | Path) -> Self:
        """The physics of an MJCF file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it does not compile; the message is the compiler's.
        """
        path = Path(file_path)
        if not path.is_file():
            raise FileNotFoundError(f"no file {path}")
        require_bounded(path)
        return cls._with_model(functools.partial(_from_file, str(path)))

    @classmethod
    def _with_model(cls, make: Callable[[], Spec]) -> Self:
        spec = make()
        env = Env(_Alone(make, time_limit=float("inf"), control_timestep=spec.option.timestep))
        if any(len(getattr(spec, many)) != getattr(env.model, n) for many, n in _REFERRING.items()):
            spec.compile()  # the engine's copies lack what refers to nothing; this is its error
        physics = cls(env)
        physics.reset()
        return physics

    # Time and state.

    def timestep(self) -> float:
        """The physics time step, s."""
        return float(self.model.opt.timestep)

    def time(self) -> float:
        """The time since the start of the episode, s."""
        return float(self.data.time)

    def position(self) -> np.ndarray:
        """A copy of the generalized positions, (nq,)."""
        return np.array(self.data.qpos)

    def velocity(self) -> np.ndarray:
        """A copy of the generalized velocities, (nv,)."""
        return np.array(self.data.qvel)

    def activation(self) -> np.ndarray:
        """A copy of the actuator activations, (na,)."""
        return np.array(self.data.act)

    def control(self) -> np.ndarray:
        """A copy of the controls, (nu,)."""
        return np.array(self.data.ctrl)

    def set_control(self, control: Any) -> None:
        """Set the controls, (nu,), or one number for all of them."""
        self.data.ctrl[:] = control

    def get_state(self) -> np.ndarray:
        """Positions, velocities and activations as one vector, (nq + nv + na,)."""
        return np.concatenate([self.data.qpos, self.data.qvel, self.data.act])

    def state(self) -> np.ndarray:
        """The same as `get_state`."""
        return self.get_state()

    def set_state(self, state: np.ndarray) -> None:
        """Set a state of `get_state`, and recompute everything that depends on it.

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

    def copy(self) -> Self:
        """Another simulation of the same model in the same state."""
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: the environment with all computed quantities."""
        return {"env": self._env, "data": self.data.ptr, "raises": self._raises}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__init__(pickled["env"])  # type: ignore[misc]
        mujoco.mj_copyData(self.data.ptr, self.model.ptr, pickled["data"])
        self._raises = pickled["raises"]

    # Physics.

    def forward(self) -> None:
        """Recompute everything that depends on the state in `data`.

        Raises:
            PhysicsError: MuJoCo warns.
        """
        with self.check_invalid_state():
            mujoco.mj_forward(self.model.ptr, self.data.ptr)

    def step(self, nstep: int = 1) -> None:
        """Advance by some physics steps, in the order of the published suite.

        Afterwards positions, velocities and quantities that depend only on them belong to the new
        state; forces and accelerations belong to the last step.

        Raises:
            PhysicsError: MuJoCo warns, e.g. of a diverged state.
        """
        model, data = self.model.ptr, self.data.ptr
        with self.check_invalid_state():
            if not self.legacy_step:
                mujoco.mj_step(model, data, nstep)
                return
            if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:  # it has no second half
                mujoco.mj_step(model, data, nstep)
            else:
                mujoco.mj_step2(model, data)
                if nstep > 1:
                    mujoco.mj_step(model, data, nstep - 1)
            mujoco.mj_step1(model, data)

    def reset(self, keyframe_id: int | None = None) -> None:
        """Reset to the model's default state, or to a keyframe.

        Raises:
            ValueError: there is no such keyframe.
        """
        if keyframe_id is None:
            mujoco.mj_resetData(self.model.ptr, self.data.ptr)
        elif keyframe_id in range(self.model.nkey):
            mujoco.mj_resetDataKeyframe(self.model.ptr, self.data.ptr, keyframe_id)
        else:
            raise ValueError(f"keyframe_id: {keyframe_id} of {self.model.nkey} keyframes")
        self.after_reset()

    def after_reset(self) -> None:
        """Recompute everything that depends on the initial state, without actuation."""
        with self.model.disable("actuation"):
            self.forward()

    @contextlib.contextmanager
    def reset_context(self) -> Iterator[Self]:
        """Reset, let the `with` block set the initial state, and recompute dependent quantities."""
        self.reset()
        yield self
        self.after_reset()

    @contextlib.contextmanager
    def check_invalid_state(self) -> Iterator[None]:
        """Raise MuJoCo's warnings in a `with` block.

        Raises:
            PhysicsError: MuJoCo warned; the message names the warnings.
        """
        before = self.data.warning.number.copy()
        yield
        new = np.flatnonzero(self.data.warning.number > before)
        if new.size and self._raises:
            names = ", ".join(_WARNINGS[int(i)] for i in new)
            raise PhysicsError(f"the physics state is invalid; the engine warned: {names}")

    @contextlib.contextmanager
    def suppress_physics_errors(self) -> Iterator[None]:
        """Ignore MuJoCo's warnings in a `with` block."""
        before, self._raises = self._raises, False
        try:
            yield
        finally:
            self._raises = before

    def render(
        self,
        height: int = 240,
        width: int = 320,
        camera_id: int | str = -1,
        *,
        depth: bool = False,
        segmentation: bool = False,
        scene_option: mujoco.MjvOption | None = None,
    ) -> np.ndarray:
        """Render the current state.

        Args:
            height: in pixels.
            width: in pixels.
            camera_id: index or name of the camera; -1 for the free one.
            depth: return metres, float32 (height, width).
            segmentation: return ids and types of the elements, int32 (height, width, 2).
            scene_option: visual options; None for MuJoCo's, without rangefinder rays.

        Returns:
            uint8 (height, width, 3), unless depth or segmentation is set.

        Raises:
            ValueError: there is no such camera, or depth and segmentation are both set.
            RenderingError: OpenGL is not available; the message says what to install.
        """
        if depth and segmentation:
            raise ValueError("depth and segmentation are two pictures; ask for one of them")
        kind = "depth" if depth else "segmentation" if segmentation else "rgb"
        return self._env.camera(camera_id, kind=kind, width=width, height=height, show=scene_option)

    def free(self) -> None:
        """Release the renderer."""
        self._env.close()
