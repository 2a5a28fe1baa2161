"""The sub-environments of a batch beside each other on a page, through mjviser."""

import asyncio
import contextlib
import io
import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mjviser
import mujoco
import numpy as np
import trimesh
import viser
import viser.transforms
from mjviser import conversions

from mjgym.viewing.guard import Guard
from mjgym.viewing.session import Command, Session
from mjgym.viewing.watch import ViewerError

REFRESH = 0.2  # s between two texts
FRAME = 1 / 30  # s between two pictures
_INNER = "127.0.0.1"  # where viser listens; people look at the guard
GAP = 2.4  # between the middles of two sub-environments, in radii of one
FAR = 3.0  # radii of a sub-environment, from which on a plane is the floor of all
GROUPS = 3  # of geoms and sites, as many are shown
_BUTTONS = (Command.PAUSE, Command.STEP, Command.RESET, Command.NEXT)


@dataclass
class _Fixed:
    """A geom or a site of the world, in all sub-environments.

    Attributes:
        handle: viser's.
        place: its position and its matrix in a sub-environment.
    """

    handle: Any
    place: Callable[[mujoco.MjData], tuple[np.ndarray, np.ndarray]]


class Several:
    """Serves the page.

    mjviser draws shapes and colours of the bodies; skies, textures of floors and the lights are its
    own. Shapes that an episode changes are drawn as the model has them; places are the episode's.

    Args:
        session: of a batch.
        camera: not used; the page has a free one.
        listener: a bound socket, see `mjgym.viewing.ports`; it is closed with the viewer.

    Attributes:
        url: what a browser on this machine opens.

    Raises:
        ViewerError: the server cannot be started.
    """

    def __init__(self, session: Session, camera: int, listener: socket.socket) -> None:
        del camera
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its own addresses
            self._server = viser.ViserServer(host=_INNER, port=0, label="mjgym", verbose=False)
        inner = _Inner(self._server)
        self._guard = Guard(listener, inner.dial)
        self.url = self._guard.url
        count = session.count or 1
        datas = [_copy(session, i) for i in range(count)]
        self._model = session.twin.model
        self._radius = max(_radius(self._model, data) for data in datas)
        columns = math.ceil(math.sqrt(count))
        row, column = np.divmod(np.arange(count), columns)
        places = np.stack([column, row, np.zeros(count)], axis=1)
        self._offsets = GAP * self._radius * (places - places.mean(axis=0))
        self._server.scene.set_up_direction("+z")
        self._scene = mjviser.ViserMujocoScene(self._server, self._model, num_envs=count)
        self._scene.camera_tracking_enabled = False
        self._scene.fixed_bodies_frame.visible = False  # they are drawn here, for each
        self._fixed = self._add_fixed()
        self._server.on_client_connect(self._look)
        self._text = self._server.gui.add_markdown("")
        for command in _BUTTONS:
            button = self._server.gui.add_button(command.value.capitalize())
            button.on_click(_asking(session, command))
        self._due = self._text_due = 0.0  # s on the clock

    def _look(self, client: Any) -> None:
        """From aside and above, at all of them."""
        size = float(np.ptp(self._offsets, axis=0).max()) + 2 * self._radius
        client.camera.position = size * np.array([0.0, -0.7, 0.5])
        client.camera.look_at = np.zeros(3)  # second, because the position moves it along

    def _add_fixed(self) -> list[_Fixed]:
        model, found = self._model, []
        for i in range(model.ngeom):
            if not conversions.is_fixed_body(model, model.geom_bodyid[i]):
                continue
            if model.geom_group[i] >= GROUPS or _colour(model, i)[3] == 0:
                continue
            if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_PLANE:
                half = model.geom_size[i, :2]
                if half.min() == 0 or half.max() > FAR * self._radius:
                    self._add_floor(i)
                    continue
                mesh = _quad(half, _colour(model, i))
            else:
                mesh = conversions.merge_geoms(model, [i])
                mesh.apply_transform(_inverse(model.geom_pos[i], model.geom_quat[i]))
            place = lambda data, i=i: (data.geom_xpos[i], data.geom_xmat[i])  # noqa: E731
            found.append(_Fixed(self._add(f"/world/geom{i}", mesh), place))
        for i in range(model.nsite):
            if not conversions.is_fixed_body(model, model.site_bodyid[i]):
                continue
            if model.site_group[i] >= GROUPS or model.site_rgba[i, 3] == 0:
                continue
            mesh = conversions.merge_sites(model, [i])
            mesh.apply_transform(_inverse(model.site_pos[i], model.site_quat[i]))
            place = lambda data, i=i: (data.site_xpos[i], data.site_xmat[i])  # noqa: E731
            found.append(_Fixed(self._add(f"/world/site{i}", mesh), place))
        return found

    def _add(self, name: str, mesh: Any) -> Any:
        count = len(self._offsets)
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        return self._server.scene.add_batched_meshes_trimesh(
            name, mesh, batched_wxyzs=turns, batched_positions=np.zeros((count, 3)), lod="off"
        )

    def _add_floor(self, i: int) -> None:
        self._server.scene.add_grid(
            f"/world/floor{i}",
            infinite_grid=True,
            cell_size=self._radius / 2,
            section_size=GAP * self._radius,
            fade_distance=20 * self._radius + float(np.ptp(self._offsets)),
            shadow_opacity=0.2,
            plane_opacity=0.4,
            position=self._model.geom_pos[i],
            wxyz=self._model.geom_quat[i],
        )

    def sync(self, session: Session) -> bool:
        """See `Viewer`."""
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
        places = np.empty((count, model.nbody, 3))
        axes = np.empty((count, model.nbody, 3, 3))
        mocap_places = np.empty((count, model.nmocap, 3))
        mocap_turns = np.empty((count, model.nmocap, 4))
        fixed = [(np.empty((count, 3)), np.empty((count, 3, 3))) for _ in self._fixed]
        for i, offset in enumerate(self._offsets):
            data = session.follow(i)
            places[i] = data.xpos + offset
            axes[i] = data.xmat.reshape(-1, 3, 3)
            mocap_places[i], mocap_turns[i] = data.mocap_pos + offset, data.mocap_quat
            for one, (place, axis) in zip(self._fixed, fixed, strict=True):
                here, turned = one.place(data)
                place[i], axis[i] = here + offset, turned.reshape(3, 3)
        for one, (place, axis) in zip(self._fixed, fixed, strict=True):
            one.handle.batched_positions = place
            one.handle.batched_wxyzs = viser.transforms.SO3.from_matrix(axis).wxyz
        self._scene.update_from_arrays(places, axes, mocap_places, mocap_turns)

    def close(self) -> None:
        """See `Viewer`."""
        self._guard.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()


class _Inner:
    """viser's own port, on which only the guard is heard.

    viser listens on a port of its own, for anybody on this machine: it serves files that say
    nothing about the session, and a websocket that says all. The websocket is closed before
    anything goes through it, unless the guard has opened the connection.

    Args:
        server: viser's, on a loopback address.

    Raises:
        ViewerError: this version of viser does not say who has connected.
    """

    def __init__(self, server: Any) -> None:
        self._port = server.get_port()
        self._dialled: set[tuple[str, int]] = set()
        self._forgetting: set[asyncio.Task[None]] = set()
        try:
            websockets = server._websock_server
            connections = websockets._live_connections

            async def check(client: Any) -> None:
                connection = connections[client.client_id]
                if tuple(connection.remote_address[:2]) not in self._dialled:
                    await connection.close(1008, "open the address that mjgym view has printed")

            websockets.on_client_connect(check)
            websockets.disconnect_all_clients()  # who was quicker than that
        except AttributeError as error:
            server.stop()
            raise ViewerError(f"this version of viser cannot be guarded: {error}") from error

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection, and remember its address."""
        reader, writer = await asyncio.open_connection(_INNER, self._port)
        address = writer.get_extra_info("sockname")[:2]
        self._dialled.add(address)
        forgetting = asyncio.ensure_future(self._forget(address, writer))
        self._forgetting.add(forgetting)  # a loop keeps no task alive
        forgetting.add_done_callback(self._forgetting.discard)
        return reader, writer

    async def _forget(self, address: tuple[str, int], writer: asyncio.StreamWriter) -> None:
        """Let the address mean nobody any more, once the connection has ended."""
        try:
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        finally:
            self._dialled.discard(address)


def _asking(session: Session, command: Command) -> Callable[[Any], None]:
    return lambda _: session.ask(command)


def _copy(session: Session, i: int) -> mujoco.MjData:
    data = mujoco.MjData(session.twin.model)
    mujoco.mj_copyData(data, session.twin.model, session.follow(i))
    return data


def _radius(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Of what there is beside planes, around the origin and in the ground plane."""
    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    distance = np.linalg.norm(data.geom_xpos[solid, :2], axis=1) + model.geom_rbound[solid]
    return float(distance.max(initial=1e-2))


def _colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    material = model.geom_matid[geom]
    colour: np.ndarray = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    return colour


def _quad(half: np.ndarray, colour: np.ndarray) -> trimesh.Trimesh:
    """A plane, which is there from one side only."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * [*half, 0.0]
    colours = np.tile((255 * colour).astype(np.uint8), (4, 1))
    faces = [[0, 1, 2], [0, 2, 3]]
    return trimesh.Trimesh(corners, faces, vertex_colors=colours, process=False)


def _inverse(position: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The matrix that takes a mesh from its body's frame to its own."""
    frame = np.eye(4)
    axes = np.empty(9)
    mujoco.mju_quat2Mat(axes, turn)
    frame[:3, :3], frame[:3, 3] = axes.reshape(3, 3), position
    inverse: np.ndarray = np.linalg.inv(frame)
    return inverse
