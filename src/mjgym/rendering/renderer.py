"""Rendering of a scene's simulations, one or many, from any thread and after a fork."""

import atexit
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeVar

import mujoco
import numpy as np

from mjgym.mjcf import Spec
from mjgym.rendering import backends
from mjgym.rendering.backends import RenderingError
from mjgym.rendering.helpers import MOST, Helpers
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.studio import Shot, Studio
from mjgym.rendering.twin import Camera, Twin, numbers
from mjgym.util.values import one_of

TIMEOUT = 60.0  # s, to render an image
SLOW = 0.25  # s for a batch, from which helper processes pay off
CLOSE_TIMEOUT = 5.0  # s, to release the driver

_T = TypeVar("_T")
_Job = tuple["Future[Any]", Callable[[Studio], Any]]


class Renderer:
    """Renders the simulations of a scene.

    OpenGL is not touched before the first `render`. One renderer serves all sub-environments of a
    batch. It may be used from several threads and, after `os.fork()`, in the child as in the
    parent. It draws in a separate thread, so that a hanging driver does not hang the program.

    Args:
        scene: makes the spec of the simulation, with its textures.
        model: the MjModel that the simulations share; later changes to it show.
        quality: one of `QUALITIES`.
        processes: maximum number of processes, including this one, that render a batch. Others are
            only started if a software driver takes long.

    Raises:
        ValueError: the quality is unknown.
    """

    def __init__(
        self,
        scene: Callable[[], Spec],
        model: mujoco.MjModel,
        quality: str = "reference",
        processes: int = 1,
    ) -> None:
        self._scene = scene
        self._model = model
        one_of("render_quality", quality, QUALITIES)
        self._quality, self._look = quality, QUALITIES[quality]
        self._processes = min(processes, MOST)
        self._lock = threading.RLock()
        self._worker: _Worker | None = None
        self._helpers: Helpers | None = None
        self._ends_helpers: weakref.finalize[..., Any] | None = None
        self._slow = False  # whether the last batch was
        _processwide.add(self)

    def render(self, state: Mapping[str, Any], camera: Camera = 0, **options: Any) -> np.ndarray:
        """Render a simulation; first row on top.

        Args:
            state: of a simulation, a row of `Simulation.rendered_state`.
            camera: a name, an index, -1 for the free camera, or an `MjvCamera`.
            **options: `width` and `height` in pixels, 84 by default. `kind`: "rgb", uint8 (height,
                width, 3); "depth", float32 (height, width), distance along the view in metres;
                "segmentation", int32 (height, width, 2), id and type (`mujoco.mjtObj`) of the
                object in each pixel, -1 and -1 where there is no object. `reward`: shown in the
                colours of the bodies; None for the model's colours. `colours`: of some elements, as
                `Task.colours` gives them for one simulation. `overlay`: shown beside the shapes (an
                `Overlay`). `hidden_groups`: groups of geoms that the overlay leaves out.

        Raises:
            ValueError: there is no such camera, kind or group, or a size is not from 1 to MAX_SIZE.
            RenderingError: OpenGL does not work here, or the driver has not answered for TIMEOUT s.
        """
        return self.render_all([Shot(state, camera, **options)])[0]

    def render_all(self, shots: Sequence[Shot]) -> list[np.ndarray]:
        """Render several simulations; see `render`.

        If a software driver takes long, other processes render a share from the next call on.
        """
        for shot in shots:
            shot.check()
        _processwide.hold_at_fork()
        with self._lock:
            backend = backends.choose()
            worker = self._worker or self._start(backend)
            try:
                if self._helpers is None and self._needs_helpers(shots):
                    model = worker.run(lambda studio: studio.model)
                    helpers = Helpers(self._processes - 1, model, self._quality, backend, TIMEOUT)
                    self._helpers = helpers
                    self._ends_helpers = weakref.finalize(self, helpers.close)
                pictures = self._share(worker, shots)
            except TimeoutError:
                self._worker = None
                worker.stop(0)
                self._end_helpers()
                raise RenderingError(
                    f"the OpenGL driver has not answered for {TIMEOUT:g} s. After a fork of a"
                    " process that used OpenGL by other means this is normal: start processes with"
                    " multiprocessing's 'spawn'"
                ) from None
            except BaseException:
                self._end_helpers()  # a late answer must not be mistaken for another
                raise
        _processwide.close_at_exit()
        return pictures

    def _needs_helpers(self, shots: Sequence[Shot]) -> bool:
        return (
            self._slow
            and len(shots) > 1
            and self._processes > 1
            and os.name == "posix"
            and backends.draws_in_caller()
        )

    def _end_helpers(self) -> None:
        if self._ends_helpers is not None:
            self._ends_helpers()
            self._helpers = self._ends_helpers = None

    def _share(self, worker: "_Worker", shots: Sequence[Shot]) -> list[np.ndarray]:
        helpers = self._helpers
        if helpers is None or len(shots) == 1:
            start = time.monotonic()
            pictures = worker.run_all([_drawing(shot) for shot in shots])
            self._slow = time.monotonic() - start > SLOW
            return pictures
        ends = [len(shots) * k // (len(helpers) + 1) for k in range(1, len(helpers) + 2)]
        helpers.ask([shots[i:j] for i, j in pairwise(ends)], numbers(self._model))
        images = worker.run_all([_drawing(shot) for shot in shots[: ends[0]]])
        return images + helpers.pictures()

    def _start(self, backend: str) -> "_Worker":
        scene, model, look = self._scene, self._model, self._look
        self._worker = _Worker(lambda: Studio(Twin(scene, model, look), look, backend), self)
        return self._worker

    def close(self) -> None:
        """Release the driver's resources; a later `render` starts over."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is not None:
                worker.stop(CLOSE_TIMEOUT)
            self._end_helpers()

    def hold(self) -> bool:
        """Lock rendering until `release`; returns False after a timeout."""
        if not self._lock.acquire(timeout=TIMEOUT):
            return False
        if self._worker is not None:
            self._worker.settle()
        return True

    def release(self) -> None:
        self._lock.release()

    def forget(self) -> None:
        """Start over in a forked process, without touching its parent's resources."""
        self._lock = threading.RLock()
        if self._worker is not None:
            self._worker.forget()
            self._worker = None
        if self._helpers is not None and self._ends_helpers is not None:
            self._ends_helpers.detach()
            self._helpers.abandon()
            self._helpers = self._ends_helpers = None


class _Worker:
    """A thread, and the studio that it makes and that only it uses; `make` holds no `owner`."""

    def __init__(self, make: Callable[[], Studio], owner: object) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._last: Future[Any] | None = None
        self._thread: threading.Thread | None = threading.Thread(
            target=_work, args=(self._jobs, make), name="mjgym rendering", daemon=True
        )
        self._thread.start()
        # Without waiting: garbage may be collected in any thread, including the worker's.
        self._finalizer = weakref.finalize(owner, self.stop, 0)
        self._finalizer.atexit = False

    def run(self, job: Callable[[Studio], _T]) -> _T:
        return self.run_all([job])[0]

    def run_all(self, jobs: Sequence[Callable[[Studio], _T]]) -> list[_T]:
        futures: list[Future[_T]] = [Future() for _ in jobs]
        for future, job in zip(futures, jobs, strict=True):
            self._last = future
            self._jobs.put((future, job))
        return [future.result(TIMEOUT) for future in futures]

    def settle(self) -> None:
        if self._last is not None:
            wait([self._last], TIMEOUT)

    def stop(self, timeout: float) -> None:
        self._finalizer.detach()
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            if timeout:
                thread.join(timeout)

    def forget(self) -> None:
        self._finalizer.detach()
        self._thread = None


def _drawing(shot: Shot) -> Callable[[Studio], np.ndarray]:
    return lambda studio: studio.draw(shot)


def _work(jobs: "queue.SimpleQueue[_Job | None]", make: Callable[[], Studio]) -> None:
    studio: Studio | None = None
    while (item := jobs.get()) is not None:
        future, job = item
        try:
            studio = studio or make()
            future.set_result(job(studio))
        except BaseException as error:
            future.set_exception(error)
        del item, future, job  # keep no references while waiting
    if studio is not None:
        with suppress(Exception):  # errors at the end do not matter
            studio.free()


class _Processwide:
    """Registry of this process's renderers: locked during a fork, closed at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._renderers: weakref.WeakSet[Renderer] = weakref.WeakSet()
        self._held: list[Renderer] = []
        self._holds_at_fork = False
        self._closes_at_exit = False

    def add(self, renderer: Renderer) -> None:
        with self._lock:
            self._renderers.add(renderer)

    def hold_at_fork(self) -> None:
        """From now on, lock rendering while this process forks, as the child inherits all locks."""
        with self._lock:
            if not self._holds_at_fork and hasattr(os, "register_at_fork"):
                os.register_at_fork(
                    before=self._before_fork,
                    after_in_parent=self._after_fork_in_parent,
                    after_in_child=self._after_fork_in_child,
                )
                self._holds_at_fork = True

    def close_at_exit(self) -> None:
        """Close at exit. Call after the first rendering: MuJoCo's handlers must run later."""
        with self._lock:
            if not self._closes_at_exit:
                atexit.register(self._close)
                self._closes_at_exit = True

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._held = [renderer for renderer in list(self._renderers) if renderer.hold()]

    def _after_fork_in_parent(self) -> None:
        for renderer in self._held:
            renderer.release()
        self._held = []
        self._lock.release()

    def _after_fork_in_child(self) -> None:
        self._lock = threading.Lock()
        self._held = []
        backends.after_fork()
        for renderer in list(self._renderers):
            renderer.forget()

    def _close(self) -> None:
        if backends.opened() == "glfw":
            return  # a viewer may have ended GLFW; the display cleans up
        for renderer in list(self._renderers):
            renderer.close()


_processwide = _Processwide()
