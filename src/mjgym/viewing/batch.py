"""The sub-environments of a batch side by side on a page, through mjviser."""

import contextlib
import io
import itertools
import math
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import viser

from mjgym.envs.overlays import Overlay
from mjgym.viewing.guard import Guard, paced
from mjgym.viewing.session import Command, Session
from mjgym.viewing.shapes import SHAPED, USUAL, Look, Shapes, colour, sky
from mjgym.viewing.terminal import KEYS
from mjgym.viewing.watch import ViewerError, title_of

REFRESH = 0.2  # s between two texts
FRAME = 1 / 30  # s between two frames
_INNER = "127.0.0.1"  # where viser listens; people look at the guard
GAP = 2.4  # between the middles of two sub-environments, in radii of one
FAR = 3.0  # radii of a sub-environment, from which on a plane is the floor of all
STRAY = 0.15  # fraction of their total size by which the middle may leave that of the image
GROW = 1.2  # of the size of all, at which cameras are set when they fit no longer
SHRINK = 0.5  # fraction of their size in the image below which cameras move closer
ASPECT = 1.15  # aspect ratio below which cameras move back
COARSE = 1000  # vertices of a mesh that is seen from afar
AFAR = 2.0  # m from the eye
LINES = 0.8  # brightness of the lines of a floor's grid, of the floor's
BRIGHTNESS = 0.8  # of the light from all sides
_BUTTONS = (Command.PAUSE, Command.STEP, Command.RESET, Command.NEXT)


@dataclass
class _BodyMesh:
    """A body's mesh on the page, instanced for the sub-environments that share its looks."""

    handle: Any
    body: int
    ids: list[int]


class BatchViewer:
    """Serves the page.

    Each is drawn with the sizes, places and colours of its own episode. mjviser makes the meshes;
    textures of floors and the lights are the page's own.
    """

    def __init__(self, session: Session, camera: Any, listener: socket.socket) -> None:
        del camera
        overlay = session.overlay
        if overlay != Overlay(groups={k: v for k, v in overlay.groups.items() if k in SHAPED}):
            listener.close()
            raise ViewerError(
                "the page of several sub-environments draws geoms and sites alone; leave out"
                " --num-envs for joints, contacts, frames and the like"
            )
        self._groups = {kind: overlay.groups.get(kind, USUAL) for kind in SHAPED}
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its own addresses
            self._server = viser.ViserServer(
                host=_INNER, port=0, label=title_of(session), verbose=False
            )
        inner = _Inner(self._server)
        self._guard = Guard(listener, inner.dial, title_of(session))
        self.url = self._guard.url
        count = session.count or 1
        self._model = session.twin.model
        self._radius = max(_radius(self._model, session.follow(i)) for i in range(count))
        columns = math.ceil(math.sqrt(count))
        row, column = np.divmod(np.arange(count), columns)
        places = np.stack([column, row, np.zeros(count)], axis=1)
        self._offsets = GAP * self._radius * (places - places.mean(axis=0))
        self._middle = np.zeros(3)
        self._size = self._least = float(np.ptp(self._offsets, axis=0).max()) + 2 * self._radius
        self._world = self._server.scene.add_frame("/world", show_axes=False)
        self._server.scene.set_up_direction("+z")
        self._server.scene.configure_environment_map(environment_intensity=BRIGHTNESS)
        background = sky(self._model)
        if background is not None:
            self._server.scene.set_background_image(np.repeat(background, 2, axis=1))
        floors = self._floors()
        for i in floors:
            self._add_floor(i)
        self._shapes = Shapes(self._model, floors, self._groups)
        self._drawn: dict[Look, list[_BodyMesh]] = {}
        self._added = itertools.count()  # names of meshes
        self._server.on_client_connect(self._look)
        self._server.gui.configure_theme(show_share_button=False)  # it would invite strangers
        self._server.gui.main_panel.dock_right()  # else it hides what is behind it
        self._text = self._server.gui.add_markdown("")
        for command in _BUTTONS:
            button = self._server.gui.add_button(command.value.capitalize())
            button.on_click(_asking(session, command))
        for key, command in KEYS.items():
            if command in _BUTTONS:
                hotkey: Any = key.upper() if key.strip() else "space"
                keyed = self._server.gui.add_command(command.value.capitalize(), hotkey=hotkey)
                keyed.on_trigger(_asking(session, command))
        self._due = self._text_due = 0.0  # s on the clock

    def _look(self, client: Any) -> None:
        away = self._size * max(1.0, ASPECT / client.camera.aspect)
        client.camera.position = away * np.array([0.0, -0.7, 0.5])
        client.camera.look_at = np.zeros(3)  # second, because the position moves it along

    def _keep_in_sight(self, places: np.ndarray) -> None:
        # The world moves, not the cameras: those are the people's, who can turn them meanwhile.
        if places.shape[1] < 2:
            return
        solid = places[:, 1:, :2].reshape(-1, 2)
        low, high = solid.min(axis=0), solid.max(axis=0)
        astray = np.array([*(low + high) / 2, 0.0]) - self._middle
        distance = float(np.linalg.norm(astray))
        if distance > STRAY * self._size:
            self._middle += astray * (1 - STRAY * self._size / distance)
            self._world.position = -self._middle
        size = float((high - low).max()) + self._radius
        if SHRINK * self._size <= size <= self._size:
            return
        before, self._size = self._size, max(GROW * size, self._least)
        if self._size == before:
            return
        for client in self._server.get_clients().values():
            aim = np.asarray(client.camera.look_at)
            away = np.asarray(client.camera.position) - aim
            client.camera.position = aim + self._size / before * away
            client.camera.look_at = aim

    def _floors(self) -> list[int]:
        model = self._model
        planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
        half = model.geom_size[planes, :2]
        endless = (half.min(axis=1) == 0) | (half.max(axis=1) > FAR * self._radius)
        shown = np.array(self._groups["geom"], bool)[model.geom_group[planes]]
        shown &= [colour(model, int(i))[3] > 0 for i in planes]
        return [int(i) for i in planes[endless & shown]]

    def _add_floor(self, i: int) -> None:
        floor = colour(self._model, i)[:3]
        self._server.scene.add_grid(
            f"/world/floor{i}",
            infinite_grid=True,
            cell_size=self._radius / 2,
            section_size=GAP * self._radius,
            fade_distance=20 * self._radius + float(np.ptp(self._offsets)),
            shadow_opacity=0.2,
            plane_color=_of_255(floor),
            plane_opacity=1.0,
            cell_color=_of_255(floor * LINES),
            section_color=_of_255(floor * LINES),
            position=self._model.geom_pos[i],
            wxyz=self._model.geom_quat[i],
        )

    def sync(self, session: Session) -> bool:
        session.attend(self._guard.visited.is_set())
        now = time.monotonic()
        if now >= self._due:
            self._due = now + FRAME
            self._draw(session)
        if now >= self._text_due:
            self._text_due = now + REFRESH
            progress = session.progress
            rows = {**progress.terms, "reward": progress.reward, "return": progress.total}
            cells = "\n".join(f"| {name} | {value:.3f} |" for name, value in rows.items())
            self._text.content = (
                f"seeds from {progress.seed}, step {progress.steps}, {progress.time:.2f} s"
                f"{', paused' if progress.paused else ''}\n\n| mean | |\n|---|---|\n{cells}"
            )
        return True

    def _draw(self, session: Session) -> None:
        model, count = self._model, len(self._offsets)
        places, turns = np.empty((count, model.nbody, 3)), np.empty((count, model.nbody, 4))
        changed = False
        for i, offset in enumerate(self._offsets):
            data = session.follow(i)
            places[i], turns[i] = data.xpos + offset, data.xquat
            changed |= self._shapes.see(i, model)
        with self._server.atomic():
            self._keep_in_sight(places)
            if changed:
                self._add_shapes()
            for drawn in itertools.chain.from_iterable(self._drawn.values()):
                for name, there in (("batched_positions", places), ("batched_wxyzs", turns)):
                    now = there[drawn.ids, drawn.body].astype(np.float32)
                    if not np.array_equal(getattr(drawn.handle, name), now):
                        setattr(drawn.handle, name, now)

    def _add_shapes(self) -> None:
        found = self._shapes.drawable()
        before, self._drawn = self._drawn, {}
        for look, shape in found.items():
            same = before.get(look, [])
            if same and same[0].ids == shape.ids:
                self._drawn[look] = before.pop(look)
            else:
                self._drawn[look] = [
                    _BodyMesh(self._add(mesh, len(shape.ids), shape.body), shape.body, shape.ids)
                    for mesh in shape.meshes
                ]
        for drawn in itertools.chain.from_iterable(before.values()):
            drawn.handle.remove()

    def _add(self, mesh: Any, count: int, body: int) -> Any:
        # Terrain is seen from afar, and falls apart with fewer corners.
        coarse = COARSE / len(mesh.vertices) if body else 1.0
        return self._server.scene.add_batched_meshes_trimesh(
            f"/world/bodies/{next(self._added)}",
            mesh,
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            batched_positions=np.zeros((count, 3)),
            lod=((AFAR, coarse),) if coarse < 1 / 2 else "off",
        )

    def close(self) -> None:
        self._guard.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()


class _Inner:
    """viser's own port, on which only the guard is heard.

    viser listens on a port of its own, for anybody on this machine: it serves files that say
    nothing about the session, and a websocket that says all. The websocket is closed before
    anything goes through it, unless the guard has opened the connection. To the guard, viser sends
    no faster than it reads: what viser still holds, it replaces by the newest state.
    """

    def __init__(self, server: Any) -> None:
        self._port = server.get_port()
        self._dialled: set[tuple[str, int]] = set()
        try:
            websockets = server._websock_server
            connections = websockets._live_connections

            async def check(client: Any) -> None:
                connection = connections[client.client_id]
                if tuple(connection.remote_address[:2]) not in self._dialled:
                    await connection.close(1008, "open the address that mjgym view has printed")
                connection.send = paced(connection)

            websockets.on_client_connect(check)
            websockets.disconnect_all_clients()  # who was quicker than that
        except AttributeError as error:
            server.stop()
            raise ViewerError(f"this version of viser cannot be guarded: {error}") from error

    @contextlib.contextmanager
    def dial(self) -> Iterator[socket.socket]:
        """Connect to the guarded server; while open, the connection counts as the guard's own."""
        with socket.socket() as connection:
            connection.bind((_INNER, 0))
            address = connection.getsockname()[:2]
            self._dialled.add(address)
            try:
                connection.connect((_INNER, self._port))
                yield connection
            finally:
                self._dialled.discard(address)


def _asking(session: Session, command: Command) -> Callable[[Any], None]:
    return lambda _: session.ask(command)


def _of_255(colour: np.ndarray) -> tuple[int, int, int]:
    red, green, blue = (int(255 * min(max(part, 0.0), 1.0)) for part in colour)
    return red, green, blue


def _radius(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    distance = np.linalg.norm(data.geom_xpos[solid, :2], axis=1) + model.geom_rbound[solid]
    return float(distance.max(initial=1e-2))
