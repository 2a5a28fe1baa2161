"""MuJoCo's web viewer on a session: a page that any browser shows, through a tunnel as well."""

import contextlib
import copy
import gc
import hashlib
import logging
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np
from mujoco.studio import app, launch_thread, messages, plugin, sim, viewer_protocol, web_viewer
from mujoco.studio.dear_imgui import dear_imgui as imgui

from mjgym.task.viewpoint import Viewpoint
from mjgym.viewing.guard import Guard
from mjgym.viewing.session import Command, Session
from mjgym.viewing.watch import ViewerError, title_of

START = 30.0  # s, in which the server must be up
_MOVED = ("qpos", "qvel", "mocap_pos", "mocap_quat")  # what a person can change by hand
_BUTTONS = (Command.STEP, Command.RESET, Command.NEXT)
# Keys of the page that drive something, by the names of `mjgym.viewing.keyboard`.
_DRIVING = {
    "up": imgui.Key.UpArrow,
    "down": imgui.Key.DownArrow,
    "left": imgui.Key.LeftArrow,
    "right": imgui.Key.RightArrow,
    "page up": imgui.Key.PageUp,
    "page down": imgui.Key.PageDown,
    "home": imgui.Key.Home,
    "end": imgui.Key.End,
    "6": imgui.Key.N6,
    "7": imgui.Key.N7,
    "8": imgui.Key.N8,
    "9": imgui.Key.N9,
    ".": imgui.Key.Period,
    "f9": imgui.Key.F9,
}
_RANGES = {"horizon": (0.05, 3.0), "noise": (0.01, 1.0)}  # of sliders: s, half ranges of actions
_CLOSED = ("/drop",)  # where the page would send files that are dropped on it


class Web:
    """Serves the page. The browser draws; here nothing of OpenGL is needed.

    Args:
        camera: at the opening: an index, -1 for the free camera, or a viewpoint, which tracks the
            first of its bodies.
        listener: a bound socket, see `mjgym.viewing.ports`; it is closed with the viewer.
    """

    def __init__(
        self, session: Session, camera: "int | Viewpoint", listener: socket.socket
    ) -> None:
        session.follow()
        model = session.twin.model
        viewpoint = camera if isinstance(camera, Viewpoint) else None
        # With which the page begins.
        model.vis.global_.cameraid = -1 if viewpoint else camera
        self._link = _Link(session)
        self._panel = _Panel(session, viewpoint)
        self._paused = False  # what the page shows
        self._shown = (-1, -1)  # episode and step
        self._model = b""  # hash of what the page has
        self._restore = contextlib.ExitStack()
        logging.getLogger("WebServer").setLevel(logging.WARNING)
        # The viewer's threads print for themselves, amidst what is printed here.
        self._restore.enter_context(contextlib.redirect_stdout(_OneThread(sys.stdout)))
        self._restore.callback(listener.close)
        try:
            inner, path = self._restore.enter_context(_hidden_socket())
            config = viewer_protocol.ViewerConfig(title=title_of(session), gfx="web")
            settings = app.Config(show_inspector=False)
            viewer_plugins, sim_plugins = plugin.split_plugins(
                [app.App(settings), self._panel, self._link]
            )
            taken = threading.Event()

            def run(endpoint: Any) -> None:
                viewer = _Viewer(config, endpoint, inner, taken, plugins=viewer_plugins)
                viewer_protocol.run_viewer_loop(viewer)

            self._handle = launch_thread.launch_thread(run, sim_plugins=sim_plugins)
            self._restore.callback(self._handle.close)
            self._wait(taken)
            self._guard = Guard(listener, lambda: _dial(path), title_of(session), _CLOSED)
            self._restore.callback(self._guard.close)
            self.url = self._guard.url
        except BaseException:
            self._restore.close()
            raise

    def _wait(self, taken: threading.Event) -> None:
        end = time.monotonic() + START
        try:
            while not self._panel.ready.wait(0.05):
                if not self._handle.is_running() or time.monotonic() > end:
                    raise ViewerError("MuJoCo's web viewer does not start")
        except RuntimeError as error:
            raise ViewerError(f"MuJoCo's web viewer does not start: {error}") from error
        if not taken.is_set():
            raise ViewerError(
                "this version of MuJoCo's web viewer opens a port by itself, on all interfaces;"
                " it has been closed"
            )

    def sync(self, session: Session) -> bool:
        handle = self._handle
        if not handle.is_running():
            return False
        session.attend(self._guard.visited.is_set())
        shown = (session.episode, session.progress.steps)
        if shown != self._shown:
            if session.episode != self._shown[0]:
                self._begin(session)
            session.follow()
            self._panel.marks = session.marks()
            self._panel.images = session.images()
            self._shown = shown
        if self._link.paused is not None:  # the page has changed it, and shows it
            self._paused, self._link.paused = self._link.paused, None
        handle.sync()
        if self._link.moved:
            self._link.moved = False
            self._shown = (session.episode, -1)
        if session.paused != self._paused and self._link.paused is None:
            self._paused = session.paused
            states = sim.PauseState.UNPAUSED, sim.PauseState.NORMAL_PAUSED
            handle.send_to_viewer(messages.RequestPauseEvent(pause_state=states[session.paused]))
        return True

    def _begin(self, session: Session) -> None:
        session.follow()
        model = session.twin.model
        content = np.empty(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, content)
        found = hashlib.blake2b(content.data, digest_size=16).digest()
        if found != self._model:
            self._model = found
            self._handle.set_model(model, data=session.twin.data)

    def close(self) -> None:
        self._restore.close()
        # MuJoCo's user interface has global state: a page that is collected after the next one has
        # been opened takes that down.
        for name in ("_handle", "_panel", "_link"):
            vars(self).pop(name, None)
        gc.collect()


@contextlib.contextmanager
def _hidden_socket() -> Iterator[tuple[socket.socket, str]]:
    """A socket that no browser can reach, in a folder that only this user can enter; its path."""
    if not hasattr(socket, "AF_UNIX"):
        raise ViewerError("the page needs Unix sockets, which this system's Python lacks")
    with (
        tempfile.TemporaryDirectory(prefix="mjgym-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as inner,
    ):
        path = os.path.join(folder, "viewer")
        inner.bind(path)
        yield inner, path


@contextlib.contextmanager
def _dial(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        yield connection


class _Viewer(web_viewer.WebViewer):  # type: ignore[misc]  # mujoco has no types
    """MuJoCo's, which listens where it is told to and not on all interfaces."""

    _http_sock: socket.socket

    def __init__(
        self,
        config: Any,
        endpoint: Any,
        listener: socket.socket,
        taken: threading.Event,
        plugins: list[Any],
    ) -> None:
        self._own_listener, self._taken = listener, taken
        super().__init__(config, endpoint, plugins=plugins)

    def _start_server(self) -> None:
        self._http_sock.close()  # bound to all interfaces, but nobody has listened yet
        self._http_sock = self._own_listener
        super()._start_server()
        self._taken.set()


class _Link(plugin.SimPlugin):  # type: ignore[misc]  # mujoco has no types
    """Adapter between the page's requests and the session, in place of MuJoCo's simulation."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.paused: bool | None = None  # as the page has just said
        self.moved = False  # by hand
        self._take: dict[type, Callable[[Any], None]] = {
            messages.StepControlSnapshot: self._control,
            messages.SingleStepEvent: lambda message: session.ask(Command.STEP),
            messages.ResetEvent: lambda message: session.ask(Command.RESET),
            messages.LoadModelEvent: self._load,
            messages.PerturbSnapshot: self._push,
            messages.StateEvent: self._place,
            messages.MjOptionSnapshot: self._options,
            messages.KeyframeEvent: lambda message: None,
            messages.ThreadPoolEvent: lambda message: None,
        }

    @messages.handler  # type: ignore[untyped-decorator]
    def receive(self, message: messages.Message) -> bool:
        take = self._take.get(type(message))
        if take is not None:
            take(message)
        return take is not None

    def _control(self, message: Any) -> None:
        self.paused = message.pause_state != sim.PauseState.UNPAUSED
        self._session.pause(self.paused)
        self._session.speed = message.speed / 100

    def _load(self, message: Any) -> None:
        if not message.path:  # the button "Reload"; a file that is dropped on the page is not shown
            self._session.ask(Command.RESET)

    def _push(self, message: Any) -> None:
        if message.state_sig == mujoco.mjtState.mjSTATE_XFRC_APPLIED.value:
            shape = self._session.env.data.xfrc_applied.shape
            if message.state.size == shape[0] * shape[1] and np.isfinite(message.state).all():
                self._session.push(message.state.reshape(shape))

    def _place(self, message: Any) -> None:
        twin = self._session.twin
        size = mujoco.mj_stateSize(twin.model, message.state_sig)
        if len(message.state) == size and np.isfinite(message.state).all():
            mujoco.mj_setState(twin.model, twin.data, message.state, message.state_sig)
            moved = {name: getattr(twin.data, name).copy() for name in _MOVED}
            self._session.place({name: value for name, value in moved.items() if value.size})
            self.moved = True

    def _options(self, message: Any) -> None:
        """Undo the page's changes of physics options, which belong to the task."""
        option = self._session.twin.model.opt
        if message.opt != option:
            self.handle.send_to_viewer(messages.MjOptionSnapshot(opt=copy.deepcopy(option)))


class _Panel(plugin.ViewerPlugin):  # type: ignore[misc]  # mujoco has no types
    """A window in the page with the reward terms and the buttons that MuJoCo's own lack."""

    def __init__(self, session: Session, viewpoint: Viewpoint | None) -> None:
        self._session = session
        self._aim: mujoco.MjvCamera | None = None  # where the page is to begin
        if viewpoint is not None:
            self._aim = session.twin.camera(viewpoint)
            if viewpoint.bodies:
                self._aim.type = mujoco.mjtCamera.mjCAMERA_TRACKING.value
                self._aim.trackbodyid = session.twin.model.body(viewpoint.bodies[0]).id
        self.marks: list[mujoco.MjvGeom] = []  # drawn besides the model
        self.images: list[np.ndarray] = []  # observed ones
        self._textures: list[int] = []  # which hold them
        self.ready = threading.Event()

    @messages.handler  # type: ignore[untyped-decorator]
    def receive(self, message: messages.Message) -> None:
        if isinstance(message, messages.BuildGuiEvent):
            if self._session.keys is not None:
                self._drive(self._session, imgui.IsKeyDown)
            self._begin()
            self._draw()
            self._draw_images()
            self.viewer.extra_geoms[:] = self.marks
        elif isinstance(message, plugin.ViewerInitEvent):
            self._session.overlay.write(self.viewer.vis_options)
            self.ready.set()

    def _begin(self) -> None:
        aim, viewer = self._aim, self.viewer
        if aim is not None and viewer.model.nbody == self._session.twin.model.nbody:
            for name in ("type", "trackbodyid", "lookat", "distance", "azimuth", "elevation"):
                setattr(viewer.camera, name, getattr(aim, name))
            self._aim = None

    @staticmethod
    def _drive(session: Session, is_down: Callable[[Any], bool]) -> None:
        for name, key in _DRIVING.items():
            if is_down(key):
                session.press(name)

    def _draw(self) -> None:
        progress = self._session.progress
        imgui.SetNextWindowPos(imgui.Vec2(230, 60), imgui.Cond.FirstUseEver)
        shown, kept = imgui.Begin("Task", True, imgui.WindowFlags.AlwaysAutoResize)
        if not kept:
            imgui.SetWindowCollapsed(True)  # there is no menu that would bring it back
        if shown:
            imgui.TextUnformatted(f"seed {progress.seed}, step {progress.steps}")
            if progress.waiting:
                imgui.TextUnformatted("waiting for a key or a device")
            imgui.TextUnformatted(f"time {progress.time:.2f} s")
            imgui.TextUnformatted(f"return {progress.total:.2f}")
            if progress.pace is not None:
                imgui.TextUnformatted(f"{progress.pace:.2f} x real time")
            for name, value in {**progress.terms, "reward": progress.reward}.items():
                imgui.ProgressBar(min(max(value, 0.0), 1.0), imgui.Vec2(120, 0), f"{value:.3f}")
                imgui.SameLine()
                imgui.TextUnformatted(name)
            if self._session.keys is not None:
                for key, meaning in self._session.keys.help:
                    imgui.TextUnformatted(f"{key}: {meaning}")
            self._slide()
            for command in _BUTTONS:
                if imgui.Button(command.value.capitalize()):
                    self._session.ask(command)
                if command is not _BUTTONS[-1]:
                    imgui.SameLine()
        imgui.End()

    def _draw_images(self) -> None:
        if not self.images:
            return
        imgui.SetNextWindowPos(imgui.Vec2(430, 60), imgui.Cond.FirstUseEver)
        imgui.Begin("Observation", None, imgui.WindowFlags.AlwaysAutoResize)
        images = self.images
        self._textures += [0] * (len(images) - len(self._textures))  # 0 makes one
        for i, image in enumerate(images):
            height, width, channels = image.shape
            self._textures[i] = self.viewer.upload_image(
                self._textures[i], image.tobytes(), width, height, channels
            )
            imgui.Image(self._textures[i], imgui.Vec2(width, height))
        imgui.End()

    def _slide(self) -> None:
        planner = self._session.planner
        for name, value in ({} if planner is None else planner.knobs).items():
            moved, chosen = imgui.SliderFloat(name, value, *_RANGES[name], "%.2f")
            if moved:
                self._session.turn(name, chosen)


class _OneThread:
    """A stream that keeps one thread's output and discards that of others."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.current_thread()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if threading.current_thread() is self._thread:
            self._stream.write(text)
        return len(text)
