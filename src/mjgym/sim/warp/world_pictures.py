"""Images of all worlds, ray-traced on the device."""

from typing import Any

import mujoco
import mujoco_warp
import torch
import warp

from mjgym.sim.warp.world_model import put

_RENDERED_GROUPS = (0, 1, 2)  # groups of geoms that are rendered


class Pictures:
    """Cameras of the worlds, with images on the device.

    They show geoms, lights, textures and the sky as MuJoCo's renderer does, but no sites, tendons
    or reflections, and no antialiasing.

    Args:
        scene: the model with its textures, for these images alone.
        engine: the worlds' model, for geom sizes, which may be per world.
        worlds: the engine's state of the worlds.
        shadows: whether lights cast shadows; without them, surfaces that reflect are darker.
    """

    def __init__(self, scene: mujoco.MjModel, engine: Any, worlds: Any, *, shadows: bool) -> None:
        if not shadows:
            # OpenGL leaves out the share of a surface's colour that it would reflect, too.
            scene.mat_rgba[:, :3] *= 1 - scene.mat_reflectance[:, None]
        self._scene, self._worlds, self._shadows = scene, worlds, shadows
        self._model = put(scene, {})
        self._model.geom_size = engine.geom_size
        self._contexts: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._far = float(scene.vis.map.zfar * scene.stat.extent)

    def draw(
        self, camera: int, width: int, height: int, kind: str, hidden_groups: tuple[int, ...] = ()
    ) -> torch.Tensor:
        """Images of all worlds at their computed positions.

        Args:
            camera: index of one of the model's cameras.
            width, height: in pixels.
            kind: "rgb" or "depth".
            hidden_groups: geom groups that are left out.

        Returns:
            uint8 (n, height, width, 3), or for "depth" float32 (n, height, width) in metres along
            the camera's axis, clipped to the far plane.
        """
        key = camera, width, height, kind, hidden_groups
        if key not in self._contexts:
            self._contexts[key] = self._context(*key)
        context, out = self._contexts[key]
        mujoco_warp.refit_bvh(self._model, self._worlds, context)
        mujoco_warp.render(self._model, self._worlds, context)
        if kind == "depth":
            mujoco_warp.get_depth(context, 0, self._far, out)
            metres = warp.to_torch(out) * self._far
            return torch.where(metres > 0, metres, self._far)
        mujoco_warp.get_rgb(context, 0, out)
        return (warp.to_torch(out) * 255).round().to(torch.uint8)

    def _context(
        self, camera: int, width: int, height: int, kind: str, hidden_groups: tuple[int, ...]
    ) -> tuple[Any, Any]:
        n = self._worlds.nworld
        context = mujoco_warp.create_render_context(
            self._scene,
            nworld=n,
            cam_res=(width, height),
            cam_active=[camera],
            render_rgb=kind == "rgb",
            render_depth=kind == "depth",
            render_seg=False,
            enabled_geom_groups=[group for group in _RENDERED_GROUPS if group not in hidden_groups],
            use_shadows=self._shadows,
            render_skybox=True,
        )
        pixel = warp.float32 if kind == "depth" else warp.vec3
        return context, warp.zeros((n, height, width), dtype=pixel)
