"""MuJoCo's own window on a session."""

from collections.abc import Sequence

import mujoco
import numpy as np

from mjgym import rendering
from mjgym.rendering import Camera
from mjgym.rendering.passive import PassiveViewer
from mjgym.task.viewpoint import Viewpoint
from mjgym.viewing.session import Command, Progress, Session
from mjgym.viewing.watch import ViewerError

REFRESH = 0.1  # s of the simulation between two texts
# As GLFW counts keys. The window has uses of its own for nearly all letters.
KEYS = {32: Command.PAUSE, 262: Command.STEP, 259: Command.RESET, 257: Command.NEXT}
NAMES = {32: "Space", 262: "Right", 259: "Backspace", 257: "Enter"}
# Keys that drive something, by the names of `mjgym.viewing.keyboard`.
DRIVING = {
    262: "right",
    263: "left",
    264: "down",
    265: "up",
    266: "page up",
    267: "page down",
    268: "home",
    269: "end",
    298: "f9",
    **{ord(key): key for key in "6789."},
}


def hindrance() -> str:
    """Why no window can be opened here; empty if one can. A driver is tried in another process."""
    window = rendering.candidates()[0]
    if window not in ("glfw", "cgl"):
        return "there is no display (DISPLAY and WAYLAND_DISPLAY are not set)"
    return rendering.probe(window).reason


def press(session: Session, key: int) -> None:
    """Pass on a key of the window: to the driver, or as a command."""
    if session.keys is not None and key in DRIVING:
        session.press(DRIVING[key])
    elif key in KEYS:
        session.ask(KEYS[key])


class Native:
    """MuJoCo's window on a session; needs a display, see `hindrance`.

    Args:
        camera: at the opening: an index, -1 for the free camera, or a viewpoint, which goes along
            with its bodies.
    """

    def __init__(self, session: Session, camera: Camera) -> None:
        session.scene = session.env.cameras.scene
        session.follow()
        view = session.twin.camera(camera)
        try:
            self._window = PassiveViewer(
                session.twin, view, session.overlay, lambda key: press(session, key)
            )
        except RuntimeError as error:  # macOS wants mjpython
            raise ViewerError(f"no window can be opened: {error}") from error
        self._viewer = self._window.handle
        self._followed: Viewpoint | None = None
        if isinstance(camera, Viewpoint) and camera.bodies:
            self._followed = camera
        self._aimed = view
        self._shown = (-1, -1)  # episode and step
        self._told: Progress | None = None

    def sync(self, session: Session) -> bool:
        viewer = self._viewer
        if not viewer.is_running():
            return False
        shown = (session.episode, session.progress.steps)
        moved, self._shown = shown != self._shown, shown
        with viewer.lock():
            self._push(session)
            if moved:
                session.follow()
                self._go_along(session)
                scene, marks = self._viewer.user_scn, session.marks()
                scene.ngeom = min(len(marks), scene.maxgeom)
                for i in range(scene.ngeom):
                    scene.geoms[i] = marks[i]
        if moved and (images := session.images()):  # without the lock, which the window waits for
            viewer.set_images(self._at_the_right(images))
        self._tell(session)
        self._window.sync()
        return True

    def _at_the_right(
        self, images: Sequence[np.ndarray]
    ) -> list[tuple[mujoco.MjrRect, np.ndarray]]:
        """Images in the window's upper right corner, below each other."""
        window, placed = self._viewer.viewport, []
        top = window.height
        for image in images:
            height, width = image.shape[:2]
            top -= height
            placed.append((mujoco.MjrRect(window.width - width, top, width, height), image))
        return placed

    def _go_along(self, session: Session) -> None:
        camera = self._viewer.cam
        if self._followed is None or camera.type != mujoco.mjtCamera.mjCAMERA_FREE:
            return
        view = session.twin.camera(self._followed)
        camera.lookat += view.lookat - self._aimed.lookat
        camera.distance *= view.distance / self._aimed.distance
        self._aimed = view

    def _push(self, session: Session) -> None:
        model, data, perturb = session.twin.model, session.twin.data, self._viewer.perturb
        if session.paused and perturb.active and perturb.select > 0:
            mujoco.mjv_applyPerturbPose(model, data, perturb, 1)
            names = ("qpos", "mocap_pos", "mocap_quat")
            moved = {name: getattr(data, name).copy() for name in names}
            session.place({name: value for name, value in moved.items() if value.size})
            self._shown = (-1, -1)
            return
        data.xfrc_applied[:] = 0.0
        if perturb.select > 0:
            mujoco.mjv_applyPerturbPose(model, data, perturb, 0)
            mujoco.mjv_applyPerturbForce(model, data, perturb)
        session.push(data.xfrc_applied)

    def _tell(self, session: Session) -> None:
        progress, told = session.progress, self._told
        fresh = told is not None and (
            (told.seed, told.paused) == (progress.seed, progress.paused)
            and 0 <= progress.time - told.time < REFRESH
        )
        if fresh:
            return
        self._told = progress
        numbers = {**progress.terms, "reward": progress.reward, "return": progress.total}
        numbers = {"seed": progress.seed, "time": progress.time, **numbers}
        if progress.pace is not None:
            numbers["x real time"] = progress.pace
        driven = session.keys is not None
        commands = {key: c for key, c in KEYS.items() if not (driven and key in DRIVING)}
        texts = [
            (
                None,
                mujoco.mjtGridPos.mjGRID_TOPLEFT.value,
                "\n".join(numbers),
                "\n".join(f"{value:.3f}".removesuffix(".000") for value in numbers.values()),
            ),
            (
                None,
                mujoco.mjtGridPos.mjGRID_BOTTOMLEFT.value,
                "\n".join(NAMES[key] for key in commands),
                "\n".join(command.value for command in commands.values()),
            ),
        ]
        if session.keys is not None:
            names, meanings = ("\n".join(row) for row in zip(*session.keys.help, strict=True))
            texts.append((None, mujoco.mjtGridPos.mjGRID_BOTTOMRIGHT.value, names, meanings))
        self._viewer.set_texts(texts)

    def close(self) -> None:
        self._window.close()
