"""MjModel, MjData and other structures of the engine under dm_control's names."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import mujoco
import numpy as np

from mjgym.mjcf.size_limits import require_bounded, require_bounded_text
from mjgym.util.suggestions import or_else
from mjgym_compat.importing import submodules

_CONTACT_ID_OUT_OF_RANGE = "contact_id: {actual} is not between 0 and {max_valid}"
_NOT_LAST_PARSED_ERROR = "check_model: another model was parsed later"
_FLAGS = {
    name.removeprefix("mjDSBL_").lower(): int(value)
    for name, value in mujoco.mjtDisableBit.__members__.items()
    if name.startswith("mjDSBL_")
}
_FONTS = [int(value) for value in mujoco.mjtFontScale.__members__.values()]
_last_parsed: list[mujoco.MjModel] = []  # at most one

MjvCamera, MjvFigure = mujoco.MjvCamera, mujoco.MjvFigure
MjvOption = mujoco.MjvOption
MjvPerturb = mujoco.MjvPerturb


class Error(KeyError):
    """An element or a kind of element does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Struct:
    """A structure of the engine, which is `ptr`, with the attributes of both."""

    _held: str

    def __init__(self, ptr: Any) -> None:
        self.__dict__[self._held] = ptr

    @property
    def ptr(self) -> Any:
        """The engine's own object, for its functions."""
        return self.__dict__[self._held]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._held not in self.__dict__:  # during copying
            raise AttributeError(name)
        return getattr(self.__dict__[self._held], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__[self._held], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.ptr)})

    def copy(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Self:
        raise NotImplementedError


class MjModel(_Struct):
    """The fields of an MjModel, with dm_control's additions."""

    _held = "_model"

    @classmethod
    def _parsed(cls, model: mujoco.MjModel) -> Self:
        _last_parsed[:] = [model]
        return cls(model)

    @classmethod
    def from_xml_string(
        cls, xml_string: str | bytes, assets: Mapping[str, bytes] | None = None
    ) -> Self:
        """The model of an MJCF string."""
        text = xml_string.decode() if isinstance(xml_string, bytes) else xml_string
        require_bounded_text(text)
        return cls._parsed(mujoco.MjModel.from_xml_string(text, dict(assets or {})))

    @classmethod
    def from_xml_path(cls, xml_path: str | Path) -> Self:
        """The model of an MJCF file."""
        if not Path(xml_path).is_file():
            raise _NoFileError(f"no file {xml_path}")
        require_bounded(Path(xml_path))
        return cls._parsed(mujoco.MjModel.from_xml_path(str(xml_path)))

    @classmethod
    def from_binary_path(cls, binary_path: str | Path) -> Self:
        return cls(mujoco.MjModel.from_binary_path(str(binary_path)))

    @classmethod
    def from_byte_string(cls, byte_string: bytes) -> Self:
        with tempfile.NamedTemporaryFile(suffix=".mjb") as file:
            file.write(byte_string)
            file.flush()
            return cls.from_binary_path(file.name)

    def save_binary(self, binary_path: str | Path) -> None:
        mujoco.mj_saveModel(self.ptr, str(binary_path), None)

    def to_bytes(self) -> bytes:
        buffer = np.zeros(mujoco.mj_sizeModel(self.ptr), np.uint8)
        mujoco.mj_saveModel(self.ptr, None, buffer)
        return buffer.tobytes()

    def __deepcopy__(self, memo: Any) -> Self:
        return type(self)(self.ptr.__deepcopy__(memo))

    def __getstate__(self) -> bytes:
        return self.to_bytes()

    def __setstate__(self, pickled: bytes) -> None:
        self.__init__(type(self).from_byte_string(pickled).ptr)  # type: ignore[misc]

    def free(self) -> None:
        """Do nothing: memory is released with the last reference."""

    @property
    def name(self) -> str:
        names: bytes = self.ptr.names
        return names[: names.find(b"\0")].decode()

    def name2id(self, name: str, object_type: str | int) -> int:
        """The index of an element."""
        kind = _object(object_type)
        index = mujoco.mj_name2id(self.ptr, kind, name)
        if index < 0:
            known = _names(self.ptr, kind)
            word = mujoco.mju_type2Str(kind)
            raise Error(f"{word} {name!r} does not exist in the model{or_else(name, known)}")
        return int(index)

    def id2name(self, object_id: int, object_type: str | int) -> str:
        """The name of an element, "" if it has none."""
        kind = _object(object_type)
        count = len(_names(self.ptr, kind))
        if object_id not in range(count):
            word = mujoco.mju_type2Str(kind)
            raise Error(f"{word} {object_id} does not exist; the model has {count}")
        return mujoco.mj_id2name(self.ptr, kind, object_id) or ""

    @contextlib.contextmanager
    def disable(self, *flags: str | int) -> Iterator[None]:
        """Disable parts of the physics in a `with` block: "gravity", "contact", "actuation", ..."""
        bits = 0
        for flag in flags:
            known = flag in _FLAGS if isinstance(flag, str) else int(flag) in _FLAGS.values()
            if not known:
                raise ValueError(f"no flag {flag!r}{or_else(flag, sorted(_FLAGS))}")
            bits |= _FLAGS[flag] if isinstance(flag, str) else int(flag)
        before = int(self.ptr.opt.disableflags)
        self.ptr.opt.disableflags = before | bits
        try:
            yield
        finally:
            self.ptr.opt.disableflags = before


class _NoFileError(FileNotFoundError, ValueError):
    """There is no such model file."""


class MjData(_Struct):
    """The fields of an MjData, with dm_control's additions."""

    _held = "_data"
    model: MjModel

    def __init__(self, model: MjModel, ptr: mujoco.MjData | None = None) -> None:
        super().__init__(mujoco.MjData(model.ptr) if ptr is None else ptr)
        self.__dict__["model"] = model

    def __deepcopy__(self, memo: Any) -> Self:
        return self._on(self.model.copy(), self.ptr)

    @classmethod
    def _on(cls, model: MjModel, data: mujoco.MjData) -> Self:
        copied = cls(model)
        mujoco.mj_copyData(copied.ptr, model.ptr, data)
        return copied

    def copy_state(self) -> Self:
        """A copy on the same model."""
        return self._on(self.model, self.ptr)

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "data": self.ptr}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__dict__.update(self._on(pickled["model"], pickled["data"]).__dict__)

    def free(self) -> None:
        """Do nothing: memory is released with the last reference."""

    def object_velocity(
        self, object_id: int | str, object_type: str | int, local_frame: bool = False
    ) -> np.ndarray:
        """Linear and angular velocity of an element, (2, 3), in the world's frame or its own."""
        kind = _object(object_type)
        index = object_id if isinstance(object_id, int) else self.model.name2id(object_id, kind)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(self.model.ptr, self.ptr, kind, index, velocity, local_frame)
        return velocity.reshape(2, 3)[::-1]

    def contact_force(self, contact_id: int) -> np.ndarray:
        """Force and torque of a contact in its frame, (2, 3)."""
        if contact_id not in range(self.ptr.ncon):
            most = self.ptr.ncon - 1
            raise ValueError(_CONTACT_ID_OUT_OF_RANGE.format(max_valid=most, actual=contact_id))
        wrench = np.zeros(6)
        mujoco.mj_contactForce(self.model.ptr, self.ptr, contact_id, wrench)
        return wrench.reshape(2, 3)


class MjvScene(mujoco.MjvScene):  # type: ignore[misc]
    """An MjvScene; `geoms` holds only those in use."""

    def __init__(self, model: MjModel | None = None, max_geom: int = 1000) -> None:
        if model is None:
            super().__init__()
        else:
            super().__init__(model.ptr, max_geom)

    @property
    def geoms(self) -> Any:
        return super().geoms[: self.ngeom]

    def free(self) -> None:
        """Do nothing: memory is released with the last reference."""


class MjrContext(_Struct):
    """The driver's copy of a model."""

    _held = "_context"

    def __init__(
        self,
        model: MjModel,
        gl_context: Any,
        font_scale: int = int(mujoco.mjtFontScale.mjFONTSCALE_150),
    ) -> None:
        if font_scale not in _FONTS:
            raise ValueError(f"font_scale: {font_scale} is none of {_FONTS}")
        with gl_context.make_current() as context:
            super().__init__(context.call(mujoco.MjrContext, model.ptr, font_scale))
        self.__dict__["_gl_context"] = gl_context

    def free(self) -> None:
        if self._held in self.__dict__:
            self.__dict__["_gl_context"].discard(self.__dict__.pop(self._held).free)


def _object(kind: str | int) -> int:
    number = mujoco.mju_str2Type(kind) if isinstance(kind, str) else int(kind)
    if number == 0 or not mujoco.mju_type2Str(number):
        words = [mujoco.mju_type2Str(i) for i in range(1, int(mujoco.mjtObj.mjNOBJECT))]
        hint = or_else(str(kind), list(filter(None, words)))
        raise Error(f"{kind!r} is not a valid object type{hint}")
    return int(number)


def _names(model: mujoco.MjModel, kind: int) -> list[str]:
    """Names of all elements of a kind by index; "" if unnamed."""
    word = mujoco.mju_type2Str(kind)
    fields = {"joint": "njnt", "camera": "ncam", "material": "nmat", "texture": "ntex"}
    fields |= {"equality": "neq", "actuator": "nactuator", "contact": "npair", "xbody": "nbody"}
    count = getattr(model, fields.get(word, f"n{word}"))
    return [mujoco.mj_id2name(model, kind, i) or "" for i in range(count)]


@contextlib.contextmanager
def callback_context(callback_name: str, callback: Callable[..., Any] | None) -> Iterator[None]:
    """Set one of the engine's callbacks, "mjcb_passive" for example, in a `with` block."""
    before = getattr(mujoco, f"get_{callback_name}")()
    set_callback(callback_name, callback)
    try:
        yield
    finally:
        set_callback(callback_name, before)


def set_callback(name: str, new_callback: Callable[..., Any] | None = None) -> None:
    """Set one of the engine's callbacks, or remove it."""
    getattr(mujoco, f"set_{name}")(new_callback)


def enable_timer(enabled: bool = True) -> None:
    """Let the engine measure times, or stop it."""
    set_callback("mjcb_time", time.time if enabled else None)


def save_last_parsed_model_to_xml(xml_path: str | Path, check_model: MjModel | None = None) -> None:
    """Write the last model that was parsed, with its changes, as MJCF."""
    if not _last_parsed or (check_model is not None and check_model.ptr is not _last_parsed[0]):
        raise ValueError(_NOT_LAST_PARSED_ERROR)
    mujoco.mj_saveLastXML(str(xml_path), _last_parsed[0])


__path__: list[str] = []  # it answers for modules of others
__getattr__ = submodules(__name__)
