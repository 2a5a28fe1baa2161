"""Video and image files with frames rendered a few at a time: .mp4, .gif, .webp and .png."""

import contextlib
import importlib
import math
import subprocess
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SHORTEST = 20  # ms; browsers slow down a GIF whose frames are shorter
QUALITY = 85  # of a WebP, of 100
CRF = 18  # of an MP4; x264's constant rate factor, visually lossless

TOGETHER = 16  # frames rendered at once

Draw = Callable[[Sequence[Any]], Sequence[np.ndarray]]
"""Renders scenes to frames, uint8 (height, width, 3) each."""


class Film(ABC):
    """A file that frames are added to, rendered in batches, in the order of their scenes."""

    def __init__(self, path: Path, control_timestep: float, draw: Draw) -> None:
        self._path, self._timestep, self._draw = path, control_timestep, draw
        self._scenes: list[Any] = []
        self._size = (0, 0)

    def add(self, scene: Any) -> None:
        """Add the scene of the next frame, rendered only if needed."""
        self._scenes.append(scene)
        if len(self._scenes) == TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Render pending scenes that are needed."""
        scenes, self._scenes = self._scenes, []
        if scenes:
            for frame in self._draw(scenes):
                self._write(frame)

    @abstractmethod
    def _write(self, frame: np.ndarray) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Write the end of the file."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources, finished or not."""

    @abstractmethod
    def about(self) -> dict[str, str]:
        """A summary of the file."""


class _Mp4(Film):
    """H.264, a frame per control step; odd sizes gain a row or a column.

    ffmpeg is run from here because imageio's writer hides its errors.
    """

    def __init__(self, path: Path, control_timestep: float, draw: Draw) -> None:
        super().__init__(path, control_timestep, draw)
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the film)
        self._ffmpeg: subprocess.Popen[bytes] | None = None
        self._count = 0

    def _write(self, frame: np.ndarray) -> None:
        height, width, _ = frame.shape
        if height % 2 or width % 2:
            frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        if self._ffmpeg is None:
            self._size = frame.shape[1], frame.shape[0]
            self._ffmpeg = self._start()
        assert self._ffmpeg.stdin is not None
        try:
            self._ffmpeg.stdin.write(frame.tobytes())
        except BrokenPipeError:
            raise self._failure(self._ffmpeg.wait()) from None
        self._count += 1

    def _start(self) -> "subprocess.Popen[bytes]":
        rate = Fraction(1 / self._timestep).limit_denominator(1000)
        size = f"{self._size[0]}x{self._size[1]}"
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-framerate", str(rate)]
        # Playable everywhere, and in a browser before the whole file has loaded.
        h264 = ["-c:v", "libx264", "-crf", str(CRF), "-pix_fmt", "yuv420p"]
        end = ["-movflags", "+faststart", "-y", str(self._path.absolute())]
        return subprocess.Popen(
            [ffmpeg(), "-v", "error", *raw, "-i", "-", "-an", *h264, *end],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            start_new_session=True,  # keep Ctrl-C from ffmpeg; this process cleans up
        )

    def finish(self) -> None:
        self.flush()
        if self._ffmpeg is not None:
            assert self._ffmpeg.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # its exit code is more informative
                self._ffmpeg.stdin.close()
            if code := self._ffmpeg.wait():
                raise self._failure(code)

    def _failure(self, code: int) -> OSError:
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return OSError(": ".join([f"ffmpeg has ended with {code}", *lines[-1:]]))

    def close(self) -> None:
        if self._ffmpeg is not None:
            assert self._ffmpeg.stdin is not None
            self._ffmpeg.kill()
            with contextlib.suppress(BrokenPipeError):
                self._ffmpeg.stdin.close()
            self._ffmpeg.wait()
        self._complaints.close()

    def about(self) -> dict[str, str]:
        return _film_facts(self._count, self._size, self._count * self._timestep)


class _Reel(Image.Image):
    """Frames as one animated image, unpacked one at a time."""

    def __init__(self, size: tuple[int, int], packed: Sequence[bytes]) -> None:
        super().__init__()
        self._mode, self._size = "RGB", size
        self._packed = packed
        self.n_frames = len(packed)
        self.is_animated = True
        self.seek(0)

    def seek(self, frame: int) -> None:
        if frame not in range(self.n_frames):
            raise EOFError(f"no frame {frame} of {self.n_frames}")
        pixels = zlib.decompress(self._packed[frame])
        self.im = Image.frombytes("RGB", self.size, pixels).im
        self._frame = frame

    def tell(self) -> int:
        return self._frame


class _Animation(Film):
    """Frames in an image file written with Pillow, which needs all of them: they are kept packed.

    Durations are whole units of the format, so they vary by one to keep the simulation's speed on
    average. If control steps are shorter than browsers can show, only every second, third, ... is
    shown. Repeated frames extend the previous one.
    """

    def __init__(
        self, path: Path, control_timestep: float, draw: Draw, kind: str, unit: int
    ) -> None:
        super().__init__(path, control_timestep, draw)
        self._kind = kind
        self._unit = unit  # ms
        # The smallest number of steps that is long enough, despite rounding.
        self._stride = max(1, math.ceil(SHORTEST / (1000 * control_timestep) - 1e-6))
        self._period = self._stride * 1000 * control_timestep / unit
        self._steps = 0
        self._times: list[int] = []  # ms
        self._packed: list[bytes] = []

    def add(self, scene: Any) -> None:
        if self._steps % self._stride == 0:
            super().add(scene)
        self._steps += 1

    def _write(self, frame: np.ndarray) -> None:
        self._size = frame.shape[1], frame.shape[0]
        begin = round(len(self._times) * self._period)
        end = round((len(self._times) + 1) * self._period)
        self._times.append(self._unit * (end - begin))
        self._packed.append(zlib.compress(frame.tobytes(), level=1))

    def finish(self) -> None:
        self.flush()
        if self._packed:
            # Loop forever; each format ignores the options of the other.
            _Reel(self._size, self._packed).save(
                self._path,
                format=self._kind,
                save_all=True,
                duration=self._times,
                loop=0,
                quality=QUALITY,
            )

    def close(self) -> None:
        self._packed.clear()

    def about(self) -> dict[str, str]:
        if not self._times:
            return {}
        return _film_facts(len(self._times), self._size, sum(self._times) / 1000)


class _Png(Film):
    """Only the last frame; the rest are not rendered."""

    def add(self, scene: Any) -> None:
        self._scenes = [scene]

    def flush(self) -> None:
        """Do nothing: the last frame is known only at the end."""

    def finish(self) -> None:
        super().flush()

    def _write(self, frame: np.ndarray) -> None:
        self._size = frame.shape[1], frame.shape[0]
        Image.fromarray(frame).save(self._path, format="png")

    def close(self) -> None:
        self._scenes = []

    def about(self) -> dict[str, str]:
        return {"size": f"{self._size[0]} x {self._size[1]} pixels"}


def _film_facts(count: int, size: tuple[int, int], seconds: float) -> dict[str, str]:
    return {
        "size": f"{size[0]} x {size[1]} pixels",
        "frames": f"{count}, {count / seconds:.4g} per second, {seconds:.4g} s",
    }


FILMS: dict[str, Callable[[Path, float, Draw], Film]] = {
    ".mp4": _Mp4,
    ".gif": partial(_Animation, kind="gif", unit=10),
    ".webp": partial(_Animation, kind="webp", unit=1),
    ".png": _Png,
}


def ffmpeg() -> str:
    path: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    return path


def has_ffmpeg() -> bool:
    """Tell whether ffmpeg is available."""
    try:
        return bool(ffmpeg())
    except (ImportError, RuntimeError):
        return False
