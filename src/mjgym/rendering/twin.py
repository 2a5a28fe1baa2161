"""A simulation's textured twin: a separate model and data in the simulation's state."""

from collections.abc import Callable, Mapping
from math import radians, tan
from typing import Any, TypeAlias

import mujoco
import numpy as np

from mjgym.envs.pixels import known_bodies
from mjgym.mjcf import Spec
from mjgym.rendering.looks import Look, colour_by_reward
from mjgym.sim.engine import set_field
from mjgym.task.viewpoint import Viewpoint
from mjgym.util.suggestions import or_else

Camera: TypeAlias = str | int | Viewpoint | mujoco.MjvCamera
"""A camera's name or index, -1 for the free camera, or a free camera's pose."""

# Prefixes of the MjModel fields that poses and images depend on.
_SHOWN = ("body_", "jnt_", "geom_", "site_", "cam_", "light_", "mat_", "tendon_", "hfield_")
# Others than real numbers. The groups of shapes are those without what covers them.
_GROUPS = ("geom_group", "site_group")
_DISCRETE = ("_sameframe", "light_active", *_GROUPS)


def numbers(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """A simulation's live arrays, by field, of everything that can be varied and seen.

    Excludes links between elements and to textures.
    """
    return {
        name: array
        for name in dir(model)
        if name.startswith(_SHOWN)
        and isinstance(array := getattr(model, name), np.ndarray)
        and (array.dtype.kind == "f" or name.endswith(_DISCRETE))
        and array.size
    }


class Twin:
    """A visual model of a simulation.

    Args:
        scene: makes the spec, with its textures, which is compiled here.
        model: the simulation's, without textures. Later changes to its sizes, positions, colours
            and other real numbers show in the next image.
    """

    def __init__(self, scene: Callable[[], Spec], model: mujoco.MjModel, look: Look) -> None:
        self._begin(scene().compile(), numbers(model), look)

    @classmethod
    def of_model(
        cls, model: mujoco.MjModel, followed: Mapping[str, np.ndarray], look: Look
    ) -> "Twin":
        """A twin with an existing textured model."""
        twin = cls.__new__(cls)
        twin._begin(model, followed, look)
        return twin

    def _begin(self, model: mujoco.MjModel, followed: Mapping[str, np.ndarray], look: Look) -> None:
        self.model: mujoco.MjModel = model
        self.data = mujoco.MjData(model)
        look.prepare(model)
        # The materials of coats come after those of the simulation.
        self._followed = [
            (getattr(model, name)[: len(theirs)], theirs)
            for name, theirs in followed.items()
            if name not in _GROUPS
        ]
        dressed = {name: getattr(model, name).copy() for name in _GROUPS}
        plain = {name: followed.get(name, array) for name, array in dressed.items()}
        self._groups = {True: dressed, False: plain}

    def cover(self, covered: bool) -> None:
        for name in _GROUPS:
            getattr(self.model, name)[:] = self._groups[covered][name]

    def follow(
        self,
        state: Mapping[str, Any],
        reward: float | None = None,
        colours: Mapping[str, Any] | None = None,
        forces: bool = False,
    ) -> None:
        """Copy a state of the simulation.

        Args:
            state: a row of `Simulation.rendered_state`: fields of MjData, and the model fields
                that vary between episodes.
            forces: compute the state's contacts, forces and sensors too.
        """
        model, data = self.model, self.data
        for array, theirs in self._followed:
            array[...] = theirs
        for name, value in state.items():
            if name == "time":
                data.time = float(value)
            elif hasattr(data, name):
                getattr(data, name)[...] = value
            elif name != "bvh_aabb":  # bounding volumes are invisible
                set_field(model, name, value)
        for element, colour in (colours or {}).items():
            kind, _, name = element.partition(" ")
            getattr(model, kind)(name).rgba[...] = colour
        if reward is not None:
            colour_by_reward(model, reward)
        if forces:
            mujoco.mj_forward(model, data)
            return
        mujoco.mj_fwdKinematics(model, data)
        mujoco.mj_makeConstraint(model, data)  # a tendon at its limit is drawn in another colour

    def camera(self, camera: Camera) -> mujoco.MjvCamera:
        """A camera in the engine's form."""
        if isinstance(camera, mujoco.MjvCamera):
            return camera
        view = mujoco.MjvCamera()
        if isinstance(camera, Viewpoint):
            known_bodies("camera", camera, self.model)
            middle, radius = np.zeros(3), 0.0
            if camera.bodies:
                places = np.stack([self.data.body(body).xpos for body in camera.bodies])
                low, high = places.min(axis=0), places.max(axis=0)
                middle, radius = (low + high) / 2, float(np.linalg.norm(high - low)) / 2
            view.type = mujoco.mjtCamera.mjCAMERA_FREE.value
            view.azimuth, view.elevation = camera.azimuth, camera.elevation
            view.lookat[:] = middle + camera.lookat
            view.distance = camera.distance + radius / tan(radians(self.model.vis.global_.fovy) / 2)
            return view
        if camera == -1:
            mujoco.mjv_defaultFreeCamera(self.model, view)
            return view
        names = [self.model.camera(i).name for i in range(self.model.ncam)]
        if isinstance(camera, str):
            if camera not in names:
                raise ValueError(f"no camera {camera!r}{or_else(camera, [*names, '-1 (free)'])}")
            camera = names.index(camera)
        if not 0 <= camera < len(names):
            labels = (f"{i}: {name!r}" if name else str(i) for i, name in enumerate(names))
            fixed = "".join(f"{label}, " for label in labels)
            raise ValueError(f"no camera {camera}; the cameras are {fixed}-1: free")
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED.value
        view.fixedcamid = camera
        return view
