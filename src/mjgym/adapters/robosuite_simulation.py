"""The model and the state of an environment under the names of robosuite's `sim`."""

from typing import Any

import mujoco
import numpy as np

from mjgym.envs.env import Env

_KINDS = ("body", "joint", "geom", "site", "actuator", "sensor", "camera")
_COUNTS = {"body": "nbody", "joint": "njnt", "camera": "ncam", "actuator": "nu"}
# What there are rows of for elements, and how MjData calls it.
_ROWS = {
    "body_xpos": "xpos",
    "body_xmat": "xmat",
    "body_xquat": "xquat",
    "geom_xpos": "geom_xpos",
    "geom_xmat": "geom_xmat",
    "site_xpos": "site_xpos",
    "site_xmat": "site_xmat",
}


class Model:
    """The fields of the MjModel, and `<kind>_names`, `<kind>_name2id` and `<kind>_id2name`.

    Args:
        model: the live MjModel.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        kind, _, way = name.partition("_")
        if name.startswith("__") or kind not in _KINDS:
            return getattr(self._model, name)
        of: Any = getattr(self._model, kind)
        if way == "name2id":
            return lambda element: int(of(element).id)
        if way == "id2name":
            return lambda number: of(number).name
        if way == "names":
            count = getattr(self._model, _COUNTS.get(kind, f"n{kind}"))
            return tuple(of(i).name for i in range(count))
        return getattr(self._model, name)


class Data:
    """The fields of the MjData, and those of elements by their names.

    `body_xpos` and the like are rows of all bodies; `get_body_xpos(name)` is one of them, and so
    for geoms and sites; `get_joint_qpos(name)`, `set_joint_qpos(name, value)` and the same of
    `qvel` are a joint's. Rotation matrices are (..., 3, 3).

    Args:
        model: the live MjModel.
        data: the live MjData.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self.__dict__["_model"], self.__dict__["_data"] = model, data

    def __getattr__(self, name: str) -> Any:
        if name in _ROWS:
            rows = getattr(self._data, _ROWS[name])
            return rows.reshape(-1, 3, 3) if name.endswith("xmat") else rows
        way, _, field = name.partition("_")
        if way == "get" and field in _ROWS:
            kind = field.partition("_")[0]
            return lambda element: getattr(self, field)[getattr(self._model, kind)(element).id]
        if field in ("joint_qpos", "joint_qvel"):
            of = field.removeprefix("joint_")
            if way == "get":
                return lambda joint: _one_or_all(getattr(self._data.joint(joint), of).copy())
            if way == "set":
                return lambda joint, value: setattr(self._data.joint(joint), of, value)
        return getattr(self._data, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._data, name, value)


def _one_or_all(values: np.ndarray) -> Any:
    return values[0] if values.shape == (1,) else values


class Simulation:
    """What robosuite's users ask of `env.sim`.

    Attributes:
        model: see `Model`.
        data: see `Data`.

    Args:
        env: whose it is.
        upright: whether pictures begin with their upper row.
    """

    def __init__(self, env: Env, upright: bool) -> None:
        self._env = env
        self._upright = upright
        self.model = Model(env.model)
        self.data = Data(env.model, env.data)

    def forward(self) -> None:
        """Compute what follows from positions, velocities and controls that have been written."""
        mujoco.mj_forward(self._env.model, self._env.data)

    def get_state(self) -> dict[str, np.ndarray]:
        """Everything that the episode's future depends on; see `mjgym.Env.get_state`."""
        return self._env.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        """Write a state, or some entries of one; see `mjgym.Env.set_state`."""
        self._env.set_state(state)

    def render(
        self,
        width: int = 256,
        height: int = 256,
        *,
        camera_name: str = "frontview",
        depth: bool = False,
        segmentation: bool = False,
    ) -> Any:
        """A picture of the present state, uint8 (height, width, 3).

        Args:
            width: pixels.
            height: pixels.
            camera_name: a camera's.
            depth: whether the picture comes with the depth of its pixels, float32 (height, width),
                0 at the nearest and 1 at the farthest that the camera sees.
            segmentation: whether it is the types and the ids of the elements instead, int32
                (height, width, 2).

        Raises:
            ValueError: there is no such camera.
            RenderingError: no OpenGL works here; the message says what to install.
        """
        size = {"width": width, "height": height}
        if segmentation:
            seen = self._env.camera(camera_name, kind="segmentation", **size)
            return self._rows(seen[..., ::-1])
        picture = self._rows(self._env.camera(camera_name, **size))
        if not depth:
            return picture
        return picture, self._rows(self.normalized_depth(camera_name, **size))

    def normalized_depth(self, camera: str, **size: int) -> np.ndarray:
        """Depth as OpenGL has it, from 0 at the near plane to 1 at the far one, rows from above."""
        metres = self._env.camera(camera, kind="depth", **size)
        model = self._env.model
        near, far = (
            model.vis.map.znear * model.stat.extent,
            model.vis.map.zfar * model.stat.extent,
        )
        beyond = np.maximum(metres, near)
        return np.asarray(np.clip((1 - near / beyond) / (1 - near / far), 0, 1), np.float32)

    def _rows(self, picture: np.ndarray) -> np.ndarray:
        return picture if self._upright else picture[::-1]
