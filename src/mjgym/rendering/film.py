"""Films and pictures of frames that are drawn one after the other: .mp4, .gif and .png."""

import contextlib
import importlib
import math
import subprocess
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

CENTISECOND = 0.01  # s, in which a GIF counts
SHORTEST = 2  # centiseconds; browsers show a GIF slowly whose frames are shorter
COLOURS = 256  # of a frame of a GIF
CRF = 18  # of an MP4; x264's constant rate factor, at which the eye sees no loss

Draw = Callable[[], np.ndarray]
"""Draws a frame: (height, width, 3) of uint8."""


class Film(Protocol):
    """A file that takes frames."""

    def add(self, draw: Draw) -> None:
        """The next frame, drawn only if it is needed."""

    def finish(self) -> None:
        """There are no more frames."""

    def close(self) -> None:
        """Let go of everything, finished or not."""

    def about(self) -> dict[str, str]:
        """A summary of the file."""


class _Mp4:
    """H.264 through ffmpeg, a frame for each control step; an odd size gains a row or a column.

    ffmpeg is run from here because imageio's writer hides whether it has failed.
    """

    def __init__(self, path: Path, control_timestep: float) -> None:
        self._path = path
        self._timestep = control_timestep
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the film)
        self._ffmpeg: subprocess.Popen[bytes] | None = None
        self._size = (0, 0)
        self._count = 0

    def add(self, draw: Draw) -> None:
        frame = draw()
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
        # A film that every player shows, and that a browser shows before it has all of it.
        h264 = ["-c:v", "libx264", "-crf", str(CRF), "-pix_fmt", "yuv420p"]
        end = ["-movflags", "+faststart", "-y", str(self._path.absolute())]
        return subprocess.Popen(
            [ffmpeg(), "-v", "error", *raw, "-i", "-", "-an", *h264, *end],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._complaints,
            start_new_session=True,  # Ctrl-C is for this process alone, which then tidies up
        )

    def finish(self) -> None:
        if self._ffmpeg is not None:
            assert self._ffmpeg.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # its exit code tells more
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


class _Gif:
    """Frames with their own colours, of which each replaces what has changed since the last.

    Frames count in whole centiseconds, from two up, so their times vary by one where they must for
    the whole to run at the speed of the simulation. Where control steps are shorter, only every
    second, third, ... is shown.
    """

    def __init__(self, path: Path, control_timestep: float) -> None:
        self._file = path.open("wb")
        # The smallest number of steps that lasts long enough, in spite of rounding.
        self._stride = max(1, math.ceil(SHORTEST * CENTISECOND / control_timestep - 1e-6))
        self._period = self._stride * control_timestep / CENTISECOND
        self._steps = self._count = 0
        self._last: np.ndarray | None = None

    def add(self, draw: Draw) -> None:
        if self._steps % self._stride == 0:
            self._write(draw())
        self._steps += 1

    def _write(self, frame: np.ndarray) -> None:
        from PIL import GifImagePlugin

        if self._last is None:
            self._file.write(_gif_header(frame.shape[1], frame.shape[0]))
        top, left, changed = _changed(self._last, frame)
        end, begin = round((self._count + 1) * self._period), round(self._count * self._period)
        for part in GifImagePlugin.getdata(
            _with_palette(changed),
            offset=(left, top),
            duration=10 * (end - begin),  # ms
            include_color_table=True,
            disposal=1,  # the frame stays where the next one does not cover it
        ):
            self._file.write(part)
        self._last = frame
        self._count += 1

    def finish(self) -> None:
        self._file.write(b";")

    def close(self) -> None:
        self._file.close()

    def about(self) -> dict[str, str]:
        if self._last is None:
            return {}
        height, width, _ = self._last.shape
        seconds = round(self._count * self._period) * CENTISECOND
        return _film_facts(self._count, (width, height), seconds)


def _gif_header(width: int, height: int) -> bytes:
    """Size, no common palette, and to be repeated for ever."""
    size = width.to_bytes(2, "little") + height.to_bytes(2, "little")
    return b"GIF89a" + size + b"\x70\0\0" + b"!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"


def _changed(last: np.ndarray | None, frame: np.ndarray) -> tuple[int, int, np.ndarray]:
    """Top, left and contents of the smallest rectangle that holds everything that has changed."""
    if last is None:
        return 0, 0, frame
    differs = (frame != last).any(axis=2)
    rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
    if not rows.size:
        return 0, 0, frame[:1, :1]
    top, left = int(rows[0]), int(columns[0])
    return top, left, frame[top : rows[-1] + 1, left : columns[-1] + 1]


def _with_palette(picture: np.ndarray) -> "Image":
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(picture))
    return image.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


class _Png:
    """The last frame alone; the others are not drawn."""

    def __init__(self, path: Path, control_timestep: float) -> None:
        self._path = path
        self._steps = -1
        self._draw: Draw | None = None
        self._size = (0, 0)

    def add(self, draw: Draw) -> None:
        self._draw = draw

    def finish(self) -> None:
        from PIL import Image

        if self._draw is not None:
            picture = Image.fromarray(self._draw())
            self._size = picture.size
            picture.save(self._path)

    def close(self) -> None:
        self._draw = None

    def about(self) -> dict[str, str]:
        return {"size": f"{self._size[0]} x {self._size[1]} pixels"}


def _film_facts(count: int, size: tuple[int, int], seconds: float) -> dict[str, str]:
    return {
        "size": f"{size[0]} x {size[1]} pixels",
        "frames": f"{count}, {count / seconds:.4g} per second, {seconds:.4g} s",
    }


FILMS: dict[str, Callable[[Path, float], Film]] = {".mp4": _Mp4, ".gif": _Gif, ".png": _Png}


def ffmpeg() -> str:
    """The program that comes with imageio's plugin, or the one that the plugin finds.

    Raises:
        ImportError: there is no plugin.
        RuntimeError: it has no program.
    """
    path: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    return path


def has_ffmpeg() -> bool:
    """Whether there is that program."""
    try:
        return bool(ffmpeg())
    except (ImportError, RuntimeError):
        return False
