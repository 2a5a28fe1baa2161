"""Resources that draw one model: its twin, a GL context and the driver's copy of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym.envs.overlays import PLAIN, Overlay
from mjgym.envs.pixels import MAX_SIZE
from mjgym.rendering import backends, tiles
from mjgym.rendering.backends import RenderingError
from mjgym.rendering.looks import Look
from mjgym.rendering.twin import Camera, Twin
from mjgym.util.values import one_of, whole_number

KINDS = ("rgb", "depth", "segmentation")
GROUPS = range(6)  # of geoms
MAX_GEOMS = 10_000  # drawn at once
COARSE_PLANE = 4  # cells along half a plane's longer side, without shadows

_OFFSCREEN = mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value
_FONT = mujoco.mjtFontScale.mjFONTSCALE_100.value


@dataclass(frozen=True)
class Shot:
    """Parameters of one image; see `Renderer.render`."""

    state: Mapping[str, Any]
    camera: Camera = 0
    width: int = 84
    height: int = 84
    kind: str = "rgb"
    reward: float | None = None
    colours: Mapping[str, Any] | None = None
    hidden_groups: tuple[int, ...] = ()
    overlay: Overlay = PLAIN

    def check(self) -> None:
        """Raise ValueError for an unknown kind or group, or a size out of range."""
        one_of("kind", self.kind, KINDS)
        for name in ("width", "height"):
            whole_number(name, getattr(self, name), most=MAX_SIZE)
        for group in self.hidden_groups:
            if group not in GROUPS:
                raise ValueError(f"hidden_groups: geoms have groups 0 to 5, not {group!r}")


def depth_of(nearness: np.ndarray, model: mujoco.MjModel, scene: mujoco.MjvScene) -> np.ndarray:
    """Distances along the view (m), float32; nearness is 1 at the near plane, 0 at the far."""
    near = model.vis.map.znear * model.stat.extent
    far = model.vis.map.zfar * model.stat.extent
    z: np.ndarray = nearness.astype(np.float64)
    distance: np.ndarray
    if scene.camera[0].orthographic:
        distance = far - z * (far - near)
    else:
        distance = near / (near / far + z * (1 - near / far))
    return distance.astype(np.float32)


def objects_of(colours: np.ndarray, scene: mujoco.MjvScene) -> np.ndarray:
    """Ids and types of the objects in a segmentation image, int32 (height, width, 2)."""
    known = np.full((scene.ngeom + 1, 2), -1, dtype=np.int32)  # 0 is the background
    for geom in scene.geoms[: scene.ngeom]:
        if geom.segid >= 0:
            known[geom.segid + 1] = geom.objid, geom.objtype
    numbers = colours.astype(np.uint32) @ np.array([1, 2**8, 2**16], dtype=np.uint32)
    return np.asarray(known[numbers])


class Studio:
    """Draws a simulation, in one thread; RenderingError if the driver fails."""

    def __init__(self, twin: Twin, look: Look, backend: str) -> None:
        self._twin = twin
        self._look = look
        self._tiled = tiles.tiled(twin.model)
        self._option = mujoco.MjvOption()
        self._gl = backends.open_context(backend)
        self._scene = mujoco.MjvScene(twin.model, MAX_GEOMS)
        flags = self._scene.flags
        flags[mujoco.mjtRndFlag.mjRND_SHADOW] = look.shadows
        flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = look.shadows
        self._uploaded: tuple[np.ndarray, np.ndarray] | None = None
        self._drawing: Any = None

    @property
    def model(self) -> mujoco.MjModel:
        return self._twin.model

    def draw(self, shot: Shot) -> np.ndarray:
        """Render one image; see `Renderer.render`."""
        twin, width, height, kind = self._twin, shot.width, shot.height, shot.kind
        twin.follow(shot.state, shot.reward, shot.colours, shot.overlay.needs_forces)
        view = twin.camera(shot.camera)
        self._upload(width, height)
        scene = self._scene
        shot.overlay.write(self._option)
        for groups in (self._option.geomgroup, self._option.skingroup):
            groups[list(shot.hidden_groups)] = 0
        twin.cover(kind != "segmentation")
        if kind == "segmentation":
            self._option.skingroup[:] = 0
        mujoco.mjv_updateScene(
            twin.model,
            twin.data,
            self._option,
            None,
            view,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            scene,
        )
        if self._tiled and kind != "segmentation":
            tiles.lay(twin.model, twin.data, self._tiled, scene)
        # Depth and segmentation read an image with one colour per object, unlit and with hard
        # edges.
        for flag in (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR):
            scene.flags[flag] = kind != "rgb"
        rectangle = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(rectangle, scene, self._drawing)
        if kind == "depth":
            nearness = np.empty((height, width), dtype=np.float32)
            mujoco.mjr_readPixels(None, nearness, rectangle, self._drawing)
            return depth_of(nearness[::-1], twin.model, scene)
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(pixels, None, rectangle, self._drawing)
        picture = pixels[::-1]  # OpenGL's first row is the lowest
        return np.ascontiguousarray(picture) if kind == "rgb" else objects_of(picture, scene)

    def _upload(self, width: int, height: int) -> None:
        model = self._twin.model
        planes = model.geom_size[model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE]
        if self._uploaded is None or not np.array_equal(planes, self._uploaded[0]):
            self._make(width, height)
            self._uploaded = planes, model.hfield_data.copy()
        elif not np.array_equal(model.hfield_data, self._uploaded[1]):
            for i in range(model.nhfield):
                mujoco.mjr_uploadHField(model, self._drawing, i)
            self._uploaded = planes, model.hfield_data.copy()
        drawing = self._drawing
        if (drawing.offWidth, drawing.offHeight) != (width, height):
            mujoco.mjr_resizeOffscreen(width, height, drawing)

    def _make(self, width: int, height: int) -> None:
        if self._drawing is not None:
            self._drawing.free()
            self._drawing = self._uploaded = None
        model = self._twin.model
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        sizes = model.geom_size.copy()
        if not self._look.shadows:
            # The third size of a plane is its grid spacing: small cells for light and shadow, which
            # would be a million in a large floor.
            planes = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
            model.geom_size[planes, 2] = sizes[planes, :2].max(axis=1) / COARSE_PLANE
        try:
            self._drawing = mujoco.MjrContext(model, _FONT)
        except mujoco.FatalError as error:
            raise RenderingError(f"the OpenGL driver cannot draw this model: {error}") from error
        finally:
            model.geom_size[:] = sizes
        mujoco.mjr_setBuffer(_OFFSCREEN, self._drawing)
        if self._drawing.currentBuffer != _OFFSCREEN:
            raise RenderingError("the OpenGL driver has no off-screen framebuffers")
        self._drawing.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR.value

    def free(self) -> None:
        """Release the driver's resources."""
        if self._drawing is not None:
            self._drawing.free()
            self._drawing = None
        self._gl.free()
