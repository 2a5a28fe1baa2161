"""`mjgym record`: a film or a picture of a task."""

import contextlib
import importlib
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import numpy as np
import typer

from mjgym import atomic
from mjgym.cli import fields
from mjgym.cli.ids import known_id
from mjgym.cli.output import console, facts
from mjgym.cli.policies import PolicyError, load_policy

if TYPE_CHECKING:
    from PIL.Image import Image

UNLIMITED = 1000  # control steps of an episode that has no time limit
MAX_SIDE = 8192  # pixels of a frame with all its tiles; few players show more
CENTISECOND = 0.01  # s, in which a GIF counts
SHORTEST = 2  # centiseconds; browsers show a GIF slowly whose frames are shorter
COLOURS = 256  # of a frame of a GIF
CRF = 18  # of an MP4; x264's constant rate factor, at which the eye sees no loss

Draw = Callable[[], np.ndarray]


def record(
    id: Annotated[
        str,
        typer.Argument(help='An id, or "module:id" for one of your own.', callback=known_id),
    ],
    out: Annotated[
        Path,
        typer.Option(help="The file: .mp4 or .gif, or .png for the last frame.", dir_okay=False),
    ],
    episodes: Annotated[int, typer.Option(min=1, help="One after the other.")] = 1,
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="Control steps of an episode at most; 0 shows its start."),
    ] = None,
    envs: Annotated[
        int, typer.Option(min=1, help="Sub-environments, beside each other; a batch from 2 on.")
    ] = 1,
    policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help='"random", "zero", or "module:function" from observation to action.',
        ),
    ] = "random",
    seed: Annotated[
        int, typer.Option(min=0, help="Of the first start; each further one has the next.")
    ] = 0,
    camera: Annotated[str, typer.Option(help="Name or index; -1 is the free camera.")] = "0",
    width: Annotated[int, typer.Option(min=1, help="Of each sub-environment, pixels.")] = 320,
    height: Annotated[int, typer.Option(min=1, help="Of each sub-environment, pixels.")] = 240,
    quality: Annotated[
        Literal["reference", "fast"], typer.Option(help='"fast" has no shadows.')
    ] = "reference",
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An argument of the task; repeatable."),
    ] = None,
    visualize_reward: Annotated[
        bool, typer.Option("--visualize-reward", help="Let colours follow the reward.")
    ] = False,
) -> None:
    """Film a task into .mp4 or .gif, or draw it into .png, while a policy acts.

    A film shows the start of each episode and runs at the speed of the simulation.

    A GIF that would need more than 50 frames a second leaves some out.

    Sub-environments that end before the others stand still until the next episode.
    """
    from mjgym import rendering

    sink = _sink(out)
    columns = math.ceil(math.sqrt(envs))
    shape = (math.ceil(envs / columns) * height, columns * width)
    if max(shape) > MAX_SIDE:
        raise typer.BadParameter(
            f"{shape[1]} x {shape[0]} pixels; at most {MAX_SIDE} can be a frame's width or height."
        )
    drawing = {
        "camera": int(camera) if camera.lstrip("-").isdigit() else camera,
        "width": width,
        "height": height,
        "render_quality": quality,
        "visualize_reward": visualize_reward,
    }
    with contextlib.ExitStack() as stack:
        player = _Player(_make(id, set or [], envs, drawing), envs, columns)
        stack.callback(player.env.close)
        act = load_policy(policy, player.env, seed=seed)
        try:
            with _whole(out) as part:
                rendering.choose()
                film = sink(part, player.control_timestep)
                try:
                    _record(player, act, film, episodes, steps, seed)
                finally:
                    film.close()
        except (PolicyError, rendering.RenderingError, OSError) as error:
            console(stderr=True).print(f"nothing is written: {error}", soft_wrap=True)
            raise typer.Exit(1) from None
    out_ = console()
    out_.print(facts({"written": str(out), **film.about(), **player.about()}))


def _make(id: str, settings: list[str], envs: int, drawing: dict[str, Any]) -> Any:
    """The environment, or the batch from two sub-environments on."""
    import gymnasium

    kwargs = fields.arguments(id, settings)
    for name in kwargs:
        if name in (*drawing, "num_envs"):
            option = {"render_quality": "quality", "num_envs": "envs"}.get(name, name)
            raise typer.BadParameter(
                f"{name} has an option of its own: --{option.replace('_', '-')}."
            )
    kwargs |= drawing
    try:
        if envs == 1:
            return gymnasium.make(id, **kwargs)
        return gymnasium.make_vec(id, num_envs=envs, **kwargs)
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{id}: {fields.refusal(error)}") from None


class _Player:
    """One environment or a batch, played episode by episode.

    Args:
        env: single if `count` is 1, else a vector environment.
        count: of sub-environments.
        columns: in which they are laid out.
    """

    def __init__(self, env: Any, count: int, columns: int) -> None:
        self.env = env
        self.count = count
        self.control_timestep: float = env.unwrapped.control_timestep
        self.returns: list[float] = []
        self._columns = columns
        self._still: dict[int, np.ndarray] = {}  # the last pictures of those that have ended

    def limit(self, steps: int | None) -> int:
        """Control steps of an episode, if nothing ends it earlier and `steps` are asked for."""
        most = self.env.spec.max_episode_steps
        if steps is None:
            return most or UNLIMITED
        return min(steps, most or steps)

    def play(self, act: Callable[[Any], Any], steps: int, seed: int) -> Iterator[None]:
        """Go through an episode: at its start, and after each of its steps."""
        self._still.clear()
        observation, _ = self.env.reset(seed=seed)
        returns = np.zeros(self.count)
        ended = np.zeros(self.count, dtype=bool)
        yield
        for _ in range(steps):
            observation, reward, terminated, truncated, _ = self.env.step(act(observation))
            returns += np.where(ended, 0.0, reward)
            over = np.atleast_1d(np.logical_or(terminated, truncated)) & ~ended
            ended |= over
            if over.any() and not ended.all():
                ids = np.flatnonzero(over)
                self._still.update(zip(ids.tolist(), self._pictures(ids), strict=True))
            yield
            if ended.all():
                break
        self.returns += returns.tolist()

    def _pictures(self, ids: np.ndarray) -> np.ndarray:
        if self.count == 1:
            return np.asarray(self.env.unwrapped.camera()[None])
        return np.asarray(self.env.unwrapped.camera(ids=ids))

    def draw(self) -> np.ndarray:
        """The present pictures of all, side by side in rows; what is left over stays black."""
        going = [i for i in range(self.count) if i not in self._still]
        pictures = dict(zip(going, self._pictures(np.array(going)), strict=True)) | self._still
        height, width, _ = pictures[0].shape
        rows = math.ceil(self.count / self._columns)
        frame = np.zeros((rows * height, self._columns * width, 3), dtype=np.uint8)
        for i, picture in pictures.items():
            y, x = i // self._columns * height, i % self._columns * width
            frame[y : y + height, x : x + width] = picture
        return frame

    def about(self) -> dict[str, str]:
        """What has come of it."""
        returns = np.array(self.returns)
        if len(returns) == 1:
            return {"return": f"{returns[0]:.2f}"}
        span = f"lowest {returns.min():.2f}, highest {returns.max():.2f}"
        return {"returns": f"mean {returns.mean():.2f}, {span}"}


def _record(
    player: _Player,
    act: Callable[[Any], Any],
    film: "_Film",
    episodes: int,
    steps: int | None,
    seed: int,
) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    limit = player.limit(steps)
    shown = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task("recording", total=episodes * limit)
        for episode in range(episodes):
            seen = player.play(act, limit, seed + episode * player.count)
            for step, _ in enumerate(seen):
                film.add(player.draw)
                bar.update(task, completed=episode * limit + step)
        film.finish()


@contextlib.contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A file to write to, that becomes `out` in the end, or else nothing.

    Raises:
        typer.BadParameter: its folder cannot be written to.
    """
    with contextlib.ExitStack() as stack:
        try:
            part = stack.enter_context(atomic.replacing(out))
        except OSError as error:
            folder = out.absolute().parent
            raise _refused(f"{folder} cannot be written to: {error.strerror}.") from None
        yield part


class _Film(Protocol):
    """What frames go into."""

    def add(self, draw: Draw) -> None:
        """The next frame, drawn only if it is needed."""

    def finish(self) -> None:
        """There are no more frames."""

    def close(self) -> None:
        """Let go of everything, finished or not."""

    def about(self) -> dict[str, str]:
        """What it has become."""


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
            [_ffmpeg(), "-v", "error", *raw, "-i", "-", "-an", *h264, *end],
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


FILMS: dict[str, Callable[[Path, float], _Film]] = {".mp4": _Mp4, ".gif": _Gif, ".png": _Png}


def _sink(out: Path) -> Callable[[Path, float], _Film]:
    """What makes a file with such an ending.

    Raises:
        typer.BadParameter: nothing does, the folder is not there, or ffmpeg is needed and missing.
    """
    ending = out.suffix.lower()
    if ending not in FILMS:
        raise _refused(f"{out.name}: end its name in one of {', '.join(FILMS)}.")
    if not out.absolute().parent.is_dir():
        raise _refused(f"there is no folder {out.absolute().parent}.")
    if ending == ".mp4" and not _has_ffmpeg():
        raise _refused('mp4 needs ffmpeg: pip install "mjgym[video]". .gif and .png do not.')
    return FILMS[ending]


def _ffmpeg() -> str:
    """The program that comes with imageio's plugin, or the one that the plugin finds.

    Raises:
        ImportError: there is no plugin.
        RuntimeError: it has no program.
    """
    path: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    return path


def _has_ffmpeg() -> bool:
    try:
        return bool(_ffmpeg())
    except (ImportError, RuntimeError):
        return False


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="'--out'")
