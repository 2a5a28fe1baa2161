"""A model and its state, `Physics`, and cameras that see it."""

import collections
import contextlib
import copy
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.mjcf import Spec
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.studio import MAX_GEOMS, depth_of, objects_of
from mjgym.rendering.twin import Twin
from mjgym_compat.dm_control.mujoco import gl
from mjgym_compat.dm_control.mujoco.index import StructIndexer, make_axis_indexers
from mjgym_compat.dm_control.mujoco.wrapper import MjData, MjModel, MjrContext
from mjgym_compat.dm_control.rl import simulation

_BOTH_SEGMENTATION_AND_DEPTH_ENABLED = (
    "depth and segmentation are two pictures; ask for one of them"
)
_INVALID_PHYSICS_STATE = "the physics state is invalid; the engine warned: {warning_names}"
_OVERLAYS_NOT_SUPPORTED_FOR_DEPTH_OR_SEGMENTATION = "overlays: only for pictures in colour"
_RENDER_FLAG_OVERRIDES_NOT_SUPPORTED_FOR_DEPTH_OR_SEGMENTATION = (
    "render_flag_overrides: only for pictures in colour"
)
_KEYFRAME_ID_OUT_OF_RANGE = "keyframe_id: {actual} is not between 0 and {max_valid}"
_STATE = ("qpos", "qvel", "act")
_INPUTS = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat", "eq_active")
_WARNINGS = [name for name in mujoco.mjtWarning.__members__ if name != "mjNWARNING"]
_FONTS = {"normal": "NORMAL", "shadow": "SHADOW", "big": "BIG"}
_PLACES = {
    f"{row} {column}": f"{row}{column}".upper()
    for row in ("top", "bottom")
    for column in ("left", "right")
}

Contexts = collections.namedtuple("Contexts", "gl, mujoco")
NamedIndexStructs = collections.namedtuple("NamedIndexStructs", "model, data")
NamedViews = collections.namedtuple("NamedViews", "control, position, velocity, activation, state")
Pose = collections.namedtuple("Pose", "lookat, distance, azimuth, elevation")
Selected = collections.namedtuple("Selected", "body, geom, flex, skin, world_position")


def _copied(field: str) -> Callable[[Any], np.ndarray]:
    return lambda physics: np.array(getattr(physics.data, field))


class Physics(simulation.Physics):
    """A model and its state under dm_control's names."""

    _contexts: Contexts | None = None
    _env: Env | None = None  # whose state this is
    _scene: Callable[[], Spec] | None = None  # the model with its textures, if `model` has none
    _twin: Twin | None = None
    _raises = True

    def __init__(self, data: MjData) -> None:
        self._reload_from_data(data)

    def _reload_from_data(self, data: MjData) -> None:
        self._use(data)
        with self.suppress_physics_errors():
            self.reset()

    def _use(self, data: MjData) -> None:
        self._free_rendering_contexts()
        self._twin = None
        self.__dict__.pop("_view", None)
        self._data = data
        axes = make_axis_indexers(data.model)
        self._named = NamedIndexStructs(
            model=StructIndexer(data.model, "mjmodel", axes),
            data=StructIndexer(data, "mjdata", axes),
        )

    @classmethod
    def of_env(cls, env: Env) -> Self:
        """The live model and state of an environment."""
        physics = cls.__new__(cls)
        physics._env, physics._scene = env, env.task.model
        physics._use(MjData(MjModel(env.model), env.data))
        return physics

    @classmethod
    def of_copy(cls, model: mujoco.MjModel, scene: Callable[[], Spec]) -> Self:
        """The physics of a copy of a model, which `scene` builds with its textures."""
        physics = cls.from_model(MjModel(copy.copy(model)))
        physics._scene = scene
        return physics

    @classmethod
    def from_model(cls, model: MjModel) -> Self:
        return cls(MjData(model))

    @classmethod
    def from_xml_string(
        cls, xml_string: str | bytes, assets: Mapping[str, bytes] | None = None
    ) -> Self:
        return cls.from_model(MjModel.from_xml_string(xml_string, assets))

    @classmethod
    def from_xml_path(cls, file_path: str | Path) -> Self:
        return cls.from_model(MjModel.from_xml_path(file_path))

    @classmethod
    def from_byte_string(cls, byte_string: bytes) -> Self:
        return cls.from_model(MjModel.from_byte_string(byte_string))

    @classmethod
    def from_binary_path(cls, file_path: str | Path) -> Self:
        return cls.from_model(MjModel.from_binary_path(file_path))

    def _reload_from_model(self, model: MjModel) -> None:
        self._env = self._scene = None
        self._reload_from_data(MjData(model))

    def reload_from_xml_string(
        self, xml_string: str | bytes, assets: Mapping[str, bytes] | None = None
    ) -> None:
        self._reload_from_model(MjModel.from_xml_string(xml_string, assets))

    def reload_from_xml_path(self, file_path: str | Path) -> None:
        self._reload_from_model(MjModel.from_xml_path(file_path))

    @property
    def env(self) -> Env | None:
        """The environment that owns this state, or None."""
        return self._env

    @property
    def model(self) -> MjModel:
        return self._data.model

    @property
    def data(self) -> MjData:
        return self._data

    @property
    def named(self) -> NamedIndexStructs:
        return self._named

    # Time and state.

    def timestep(self) -> float:
        return float(self.model.opt.timestep)

    def time(self) -> float:
        return float(self.data.time)

    position, velocity = _copied("qpos"), _copied("qvel")
    activation, control = _copied("act"), _copied("ctrl")

    def set_control(self, control: Any) -> None:
        self.data.ctrl[:] = control

    def _physics_state_items(self) -> list[np.ndarray]:
        items = [getattr(self.data, name) for name in _STATE]
        return [*items, self.data.plugin_state] if self.model.nplugin else items

    def get_state(self, sig: int | None = None) -> np.ndarray:
        if sig is None:
            return np.concatenate(self._physics_state_items())
        state = np.empty(mujoco.mj_stateSize(self.model.ptr, sig))
        mujoco.mj_getState(self.model.ptr, self.data.ptr, state, sig)
        return state

    def state(self) -> np.ndarray:
        return self.get_state()

    def set_state(self, physics_state: Any, sig: int | None = None) -> None:
        """Set a state of `get_state`; what depends on it is recomputed by `forward` or `step`."""
        vector = np.asarray(physics_state, dtype=np.float64)
        items = self._physics_state_items()
        size = sum(map(len, items)) if sig is None else mujoco.mj_stateSize(self.model.ptr, sig)
        if vector.shape != (size,):
            raise ValueError(f"state: expected shape ({size},), got {vector.shape}")
        if sig is not None:
            mujoco.mj_setState(self.model.ptr, self.data.ptr, vector, sig)
            return
        ends = np.cumsum([len(item) for item in items])[:-1]
        for item, part in zip(items, np.split(vector, ends), strict=True):
            item[:] = part

    def copy(self, share_model: bool = False) -> Self:
        copied = type(self).__new__(type(self))
        copied._scene = self._scene
        copied._use(self.data.copy_state() if share_model else self.data.copy())
        return copied

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_contexts", "_named", "_release", "_twin", "_view")
        state = {name: value for name, value in self.__dict__.items() if name not in hidden}
        return state if self._env is None else {**state, "_data": self.data.ptr}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self.__dict__.update(pickled)
        if self._env is None:
            self._use(self._data)
            return
        self._use(MjData(MjModel(self._env.model), self._env.data))
        mujoco.mj_copyData(self.data.ptr, self.model.ptr, pickled["_data"])

    # Physics.

    def forward(self) -> None:
        """Recompute everything that depends on the state in `data`."""
        with self.check_invalid_state():
            mujoco.mj_forward(self.model.ptr, self.data.ptr)

    def step(self, nstep: int = 1) -> None:
        """Advance by some physics steps, in the order of the published suite.

        With `legacy_step`, afterwards positions, velocities and quantities that depend only on
        them belong to the new state; forces and accelerations belong to the last step.
        """
        model, data = self.model.ptr, self.data.ptr
        with self.check_invalid_state():
            halves = self.legacy_step and model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
            if halves:  # the half of a step that was begun before
                mujoco.mj_step2(model, data)
                nstep -= 1
            if nstep:
                mujoco.mj_step(model, data, nstep)
            if self.legacy_step:
                mujoco.mj_step1(model, data)

    def reset(self, keyframe_id: int | None = None) -> None:
        """Reset to the model's default state, or to a keyframe."""
        if keyframe_id is None:
            mujoco.mj_resetData(self.model.ptr, self.data.ptr)
        elif keyframe_id in range(self.model.nkey):
            mujoco.mj_resetDataKeyframe(self.model.ptr, self.data.ptr, keyframe_id)
        else:
            most = self.model.nkey - 1
            raise ValueError(_KEYFRAME_ID_OUT_OF_RANGE.format(max_valid=most, actual=keyframe_id))
        self.after_reset()

    def after_reset(self) -> None:
        with self.model.disable("actuation"):
            self.forward()

    @contextlib.contextmanager
    def check_invalid_state(self) -> Iterator[None]:
        """Raise MuJoCo's warnings in a `with` block."""
        before = self.data.ptr.warning.number.copy()
        yield
        counts = self.data.ptr.warning.number  # 0 after a reset, also by the engine
        new = (counts > before) & (counts != 0)
        if new.any():
            message = _INVALID_PHYSICS_STATE.format(
                warning_names=", ".join(_WARNINGS[int(i)] for i in np.flatnonzero(new))
            )
            if self._raises:
                raise simulation.PhysicsError(message)
            logging.warning(message)

    @contextlib.contextmanager
    def suppress_physics_errors(self) -> Iterator[None]:
        before, self._raises = self._raises, False
        try:
            yield
        finally:
            self._raises = before

    def enable_profiling(self) -> None:
        import time

        mujoco.set_mjcb_time(time.perf_counter)

    # Pictures.

    @property
    def contexts(self) -> Contexts:
        if self._contexts is None:
            self._make_rendering_contexts()
        assert self._contexts is not None
        return self._contexts

    def _make_rendering_contexts(self) -> None:
        context = gl.Renderer()
        drawn = MjrContext(MjModel(self._picture().model), context)
        self._contexts = Contexts(context, drawn)
        self._release = weakref.finalize(self, _free, self._contexts)
        self._release.atexit = False

    def _free_rendering_contexts(self) -> None:
        if self._contexts is not None:
            self._release()
        self._contexts = None

    def _picture(self) -> Any:
        if self._scene is None:
            return NamedIndexStructs(self.model.ptr, self.data.ptr)
        if self._twin is None:
            self._twin = Twin(self._scene, self.model.ptr, QUALITIES["reference"])
        self._twin.follow({name: getattr(self.data, name) for name in _INPUTS}, forces=True)
        return self._twin

    def render(
        self,
        height: int = 240,
        width: int = 320,
        camera_id: int | str = -1,
        overlays: Sequence["TextOverlay"] = (),
        depth: bool = False,
        segmentation: bool = False,
        scene_option: mujoco.MjvOption | None = None,
        render_flag_overrides: Mapping[Any, bool] | None = None,
        scene_callback: Callable[["Physics", mujoco.MjvScene], None] | None = None,
    ) -> np.ndarray:
        camera = Camera(self, height, width, camera_id, scene_callback=scene_callback)
        return camera.render(overlays, depth, segmentation, scene_option, render_flag_overrides)

    def free(self) -> None:
        self._free_rendering_contexts()


def _free(contexts: Contexts) -> None:
    contexts.mujoco.free()
    contexts.gl.free()


class CameraMatrices(NamedTuple):
    """Factors of a camera's matrix: image (3, 3), focal (3, 4), rotation and translation (4, 4)."""

    image: np.ndarray
    focal: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray


class Camera:
    """A view of a simulation.

    Attributes:
        scene: what is drawn, with the flags of `mujoco.mjtRndFlag`.
    """

    def __init__(
        self,
        physics: Physics,
        height: int = 240,
        width: int = 320,
        camera_id: int | str = -1,
        max_geom: int | None = None,
        scene_callback: Callable[[Physics, mujoco.MjvScene], None] | None = None,
    ) -> None:
        model = physics._picture().model
        for name, size in (("width", width), ("height", height)):
            most = getattr(model.vis.global_, f"off{name}")
            if size > most:
                raise ValueError(
                    f"{name}: {size} exceeds the off-screen buffer, {most}; <visual><global"
                    f' off{name}="{size}"/></visual> in the model makes it larger'
                )
        if isinstance(camera_id, str):
            camera_id = physics.model.name2id(camera_id, "camera")
        if camera_id not in range(-1, model.ncam):
            raise ValueError(f"camera_id: {camera_id} is not between -1 and {model.ncam - 1}")
        self.height, self.width = height, width
        self.scene = mujoco.MjvScene(model, MAX_GEOMS if max_geom is None else max_geom)
        self.option = mujoco.MjvOption()
        self.option.flags[mujoco.mjtVisFlag.mjVIS_RANGEFINDER] = False
        self._physics, self._callback = physics, scene_callback
        self._camera = mujoco.MjvCamera()
        if camera_id == -1:
            mujoco.mjv_defaultFreeCamera(model, self._camera)
        else:
            self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            self._camera.fixedcamid = camera_id

    def update(self, scene_option: mujoco.MjvOption | None = None) -> None:
        picture = self._physics._picture()
        mujoco.mjv_updateScene(
            picture.model,
            picture.data,
            scene_option or self.option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self.scene,
        )

    def matrices(self) -> CameraMatrices:
        self.update()
        position, forward, up = np.zeros(3), np.zeros(3), np.zeros(3)
        mujoco.mjv_cameraInModel(position, forward, up, self.scene)
        model, fixed = self._physics.model, self._camera.fixedcamid
        fovy = model.vis.global_.fovy if fixed < 0 else model.cam_fovy[fixed]
        rotation, translation = np.eye(4), np.eye(4)
        rotation[:3, :3] = np.cross(forward, up), up, -forward
        translation[:3, 3] = -position
        scale = self.height / 2 / np.tan(np.deg2rad(fovy) / 2)
        focal = np.diag([-scale, scale, 1.0, 0.0])[:3]
        image = np.eye(3)
        image[:2, 2] = (self.width - 1) / 2, (self.height - 1) / 2
        return CameraMatrices(image, focal, rotation, translation)

    @property
    def matrix(self) -> np.ndarray:
        image, focal, rotation, translation = self.matrices()
        projection: np.ndarray = image @ focal @ rotation @ translation
        return projection

    def render(
        self,
        overlays: Iterable["TextOverlay"] = (),
        depth: bool = False,
        segmentation: bool = False,
        scene_option: mujoco.MjvOption | None = None,
        render_flag_overrides: Mapping[Any, bool] | None = None,
    ) -> np.ndarray:
        """Render the current state.

        Returns:
            uint8 (height, width, 3), unless depth or segmentation is set.
        """
        overlays = list(overlays)
        if depth and segmentation:
            raise ValueError(_BOTH_SEGMENTATION_AND_DEPTH_ENABLED)
        if overlays and (depth or segmentation):
            raise ValueError(_OVERLAYS_NOT_SUPPORTED_FOR_DEPTH_OR_SEGMENTATION)
        if render_flag_overrides and (depth or segmentation):
            raise ValueError(_RENDER_FLAG_OVERRIDES_NOT_SUPPORTED_FOR_DEPTH_OR_SEGMENTATION)
        self.update(scene_option)
        if self._callback is not None:
            self._callback(self._physics, self.scene)
        flags = {_flag(key): value for key, value in (render_flag_overrides or {}).items()}
        if depth or segmentation:  # one colour per object, unlit and with hard edges
            flags = dict.fromkeys((_flag("segment"), _flag("idcolor")), True)
        before = self.scene.flags.copy()
        for flag, value in flags.items():
            self.scene.flags[flag] = value
        context = self._physics.contexts
        try:
            pixels: np.ndarray = context.gl.call(self._draw, context.mujoco.ptr, depth, overlays)
        finally:
            self.scene.flags[:] = before
        if depth:
            return depth_of(pixels, self._physics.model.ptr, self.scene)
        return objects_of(pixels, self.scene) if segmentation else pixels

    def _draw(self, context: Any, depth: bool, overlays: list["TextOverlay"]) -> np.ndarray:
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
        context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value
        rectangle = mujoco.MjrRect(0, 0, self.width, self.height)
        mujoco.mjr_render(rectangle, self.scene, context)
        for overlay in overlays:
            overlay.draw(context, rectangle)
        shape = (self.height, self.width) if depth else (self.height, self.width, 3)
        pixels: np.ndarray = np.empty(shape, np.float32 if depth else np.uint8)
        rgb, nearness = (None, pixels) if depth else (pixels, None)
        mujoco.mjr_readPixels(rgb, nearness, rectangle, context)
        return np.ascontiguousarray(pixels[::-1])  # OpenGL's first row is the lowest

    def select(self, cursor_position: Sequence[float]) -> Selected:
        self.update()
        picture, at = self._physics._picture(), np.zeros(3)
        ids = [np.array([[-1]], np.int32) for _ in range(3)]
        body = mujoco.mjv_select(
            picture.model,
            picture.data,
            self.option,
            self.width / self.height,
            *cursor_position,
            self.scene,
            at,
            *ids,
        )
        geom, flex, skin = (int(i[0, 0]) if i[0, 0] >= 0 else None for i in ids)
        found = body >= 0
        return Selected(body if found else None, geom, flex, skin, at if found else None)


class MovableCamera(Camera):
    """A free camera that can be moved."""

    def __init__(
        self,
        physics: Physics,
        height: int = 240,
        width: int = 320,
        max_geom: int | None = None,
        scene_callback: Callable[[Physics, mujoco.MjvScene], None] | None = None,
    ) -> None:
        super().__init__(physics, height, width, -1, max_geom, scene_callback)

    def get_pose(self) -> Pose:
        c = self._camera
        return Pose(c.lookat.copy(), c.distance, c.azimuth, c.elevation)

    def set_pose(self, lookat: Any, distance: float, azimuth: float, elevation: float) -> None:
        c = self._camera
        c.lookat[:], c.distance, c.azimuth, c.elevation = lookat, distance, azimuth, elevation


class TextOverlay:
    """A text on a picture."""

    def __init__(
        self, title: str = "", body: str = "", style: str = "normal", position: str = "top left"
    ) -> None:
        self.title, self.body = title, body
        self.style = getattr(mujoco.mjtFont, f"mjFONT_{_FONTS[style]}")
        self.position = getattr(mujoco.mjtGridPos, f"mjGRID_{_PLACES[position].replace(' ', '')}")

    def draw(self, context: Any, rect: mujoco.MjrRect) -> None:
        mujoco.mjr_overlay(self.style, self.position, rect, self.title, self.body, context)


def _flag(key: Any) -> int:
    return int(getattr(mujoco.mjtRndFlag, f"mjRND_{key.upper()}") if isinstance(key, str) else key)


def action_spec(physics: Physics) -> Any:
    """The controls and their ranges; those without limits have MuJoCo's largest number."""
    from dm_env import specs  # models alone need no dm_env

    model = physics.model
    limited = np.asarray(model.actuator_ctrllimited, dtype=bool)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -mujoco.mjMAXVAL)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], mujoco.mjMAXVAL)
    return specs.BoundedArray((model.nu,), np.float64, low, high)
