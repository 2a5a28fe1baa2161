"""Processes that help to render a batch with a software driver.

Mesa's software drivers render one image at a time per process, whichever thread asks. Each helper
is a process with the same model and driver, so its images are identical. A helper ends when its
connection closes.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import mujoco
import numpy as np

from mjgym.rendering.backends import RenderingError
from mjgym.rendering.looks import QUALITIES
from mjgym.rendering.studio import Shot, Studio
from mjgym.rendering.twin import Twin

MOST = 8  # rendering processes including this one; each takes some 300 MB
_RUN = "from mjgym.rendering.helpers import main; main()"

Numbers = Mapping[str, np.ndarray]


class Helpers:
    """Processes that render for one renderer.

    All methods but `abandon` must be called from one thread at a time.
    """

    def __init__(
        self, count: int, model: mujoco.MjModel, quality: str, backend: str, timeout: float
    ) -> None:
        self._timeout = timeout
        self._sent: dict[str, np.ndarray] = {}
        self._running: list[tuple[subprocess.Popen[bytes], Connection]] = []
        content = np.empty(mujoco.mj_sizeModel(model), np.uint8)
        mujoco.mj_saveModel(model, None, content)
        start = (quality, backend, content.tobytes())
        try:
            for _ in range(count):
                self._running.append(_start(backend))
            for _, connection in self._running:
                connection.send(start)
        except OSError as error:
            self.close()
            raise RenderingError(f"no process can be started that draws: {error}") from error

    def __len__(self) -> int:
        return len(self._running)

    def ask(self, shares: Sequence[Sequence[Shot]], numbers: Numbers) -> None:
        """Make each helper render its share."""
        changed = {
            name: array.copy()
            for name, array in numbers.items()
            if name not in self._sent or not np.array_equal(array, self._sent[name])
        }
        self._sent |= changed
        try:
            for (_, connection), share in zip(self._running, shares, strict=True):
                connection.send((changed, share))
        except OSError as error:
            raise self._ended() from error

    def pictures(self) -> list[np.ndarray]:
        """The images asked for, share by share."""
        images: list[np.ndarray] = []
        for _, connection in self._running:
            if not connection.poll(self._timeout):
                raise TimeoutError
            try:
                answer = connection.recv()
            except (EOFError, OSError) as error:
                raise self._ended() from error
            if isinstance(answer, Exception):
                raise answer
            images += answer
        return images

    def _ended(self) -> RenderingError:
        codes = [process.poll() for process, _ in self._running]
        ended = ", ".join(str(code) for code in codes if code is not None)
        return RenderingError(f"a process that draws has ended (exit code {ended or 'unknown'})")

    def close(self) -> None:
        """End the processes; may be called more than once."""
        running, self._running = self._running, []
        for process, connection in running:
            connection.close()
            process.kill()
            process.wait()

    def abandon(self) -> None:
        """Release them in a forked process; the parent keeps using them."""
        running, self._running = self._running, []
        for process, connection in running:
            connection.close()
            process.returncode = 0  # this process cannot wait for it


def _start(backend: str) -> tuple["subprocess.Popen[bytes]", Connection]:
    ours, theirs = Pipe()
    with theirs:
        path = os.pathsep.join(folder for folder in sys.path if folder)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _RUN, str(theirs.fileno())],
            env={**os.environ, "MUJOCO_GL": backend, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return process, ours


def main() -> None:
    """A helper's loop; the argument is the file descriptor of the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the renderer's process ends it
    connection = Connection(int(sys.argv[1]))
    quality, backend, content = connection.recv()
    numbers: dict[str, np.ndarray] = {}
    studio: Studio | None = None
    while True:
        try:
            changed, share = connection.recv()
        except EOFError:
            return
        for name, array in changed.items():
            if name in numbers:
                numbers[name][...] = array  # read by the twin
            else:
                numbers[name] = array
        answer: Any
        try:
            if studio is None:
                look = QUALITIES[quality]
                model = mujoco.MjModel.from_binary_path("scene.mjb", {"scene.mjb": content})
                studio = Studio(Twin.of_model(model, numbers, look), look, backend)
            answer = [studio.draw(shot) for shot in share]
        except Exception as error:
            answer = error
        connection.send(answer)
