"""`mjgym record`: record a film or an image of a task."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from mjgym.cli import completions, fields
from mjgym.cli.cameras import Groups, Show, camera_of, overlay_of
from mjgym.cli.ids import ID
from mjgym.cli.output import console, facts
from mjgym.cli.policies import DEFAULT, HELP, SCRIPTED, PolicyError, chosen, load_policy, of_teams
from mjgym.policies.network import begin
from mjgym.util.atomic import replacing
from mjgym.util.packaged import install

if TYPE_CHECKING:
    from mjgym.rendering.film import Draw, Film

AFTER_SUCCESS = 1.0  # s to show a scripted policy after success
UNLIMITED = 1000  # control steps of an episode without time limit
MAX_SIDE = 8192  # pixels of a frame with all its tiles; few players show more


def record(
    context: typer.Context,
    id: Annotated[str, ID],
    out: Annotated[
        Path,
        typer.Option(
            help="The file: .mp4, .webp or .gif, or .png for the last frame.", dir_okay=False
        ),
    ],
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 1,
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="Largest number of control steps per episode; 0 shows the start."),
    ] = None,
    envs: Annotated[
        int, typer.Option("--num-envs", min=1, help="Sub-environments, shown as tiles.")
    ] = 1,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help=HELP,
            show_default=DEFAULT,
            autocompletion=completions.policies,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first episode; each further episode adds 1.")
    ] = 0,
    camera: Annotated[
        str | None,
        typer.Option(
            help="Camera name or index, -1 for the free camera. Default: the task's viewpoint.",
            autocompletion=completions.cameras,
        ),
    ] = None,
    show: Show = None,
    groups: Groups = None,
    width: Annotated[int, typer.Option(min=1, help="Pixels per sub-environment.")] = 320,
    height: Annotated[int, typer.Option(min=1, help="Pixels per sub-environment.")] = 240,
    quality: Annotated[
        Literal["reference", "fast"], typer.Option(help='"fast" has no shadows.')
    ] = "reference",
    set: fields.Settings = None,
    visualize_reward: Annotated[
        bool, typer.Option("--visualize-reward", help="Colour the scene by the reward.")
    ] = False,
) -> None:
    """Record a task as .mp4, .webp, .gif or .png while a policy acts.

    A film shows the start of each episode and runs at the speed of the simulation.

    A .webp or .gif that would need more than 50 frames a second leaves some out; a .webp is about
    a quarter of the size of a .gif.

    Sub-environments that end early freeze until the next episode. Episodes of --policy scripted
    end soon after they have succeeded, unless --steps says how long they are.
    """
    from mjgym import rendering

    sink = sink_of(out)
    columns = math.ceil(math.sqrt(envs))
    shape = (math.ceil(envs / columns) * height, columns * width)
    if max(shape) > MAX_SIDE:
        raise typer.BadParameter(
            f"{shape[1]} x {shape[0]} pixels; at most {MAX_SIDE} can be a frame's width or height."
        )
    drawing: dict[str, Any] = {
        "camera": camera_of(camera),
        "width": width,
        "height": height,
        "render_quality": quality,
        "visualize_reward": visualize_reward,
        "show": None,
        "groups": None,
        **overlay_of(show, groups),
    }
    with contextlib.ExitStack() as stack:
        policy, opponent = of_teams(chosen(policy, context))
        env = _make(id, set or [], envs, drawing, opponent)
        player = _Player(env, envs, columns, drawing["camera"])
        if policy == SCRIPTED and steps is None:
            player.patience = math.ceil(AFTER_SUCCESS / player.control_timestep)
        stack.callback(player.env.close)
        act = load_policy(policy, player.env, seed=seed)
        try:
            with _whole(out) as part:
                rendering.choose()
                film = sink(part, player.control_timestep, player.draw)
                try:
                    _record(player, act, film, episodes, steps, seed)
                finally:
                    film.close()
        except (PolicyError, rendering.RenderingError, OSError) as error:
            console(stderr=True).print(f"nothing is written: {error}", soft_wrap=True)
            raise typer.Exit(1) from None
    out_ = console()
    out_.print(facts({"written": str(out), **film.about(), **player.about()}))


def _make(
    id: str, settings: list[str], envs: int, drawing: dict[str, Any], opponent: dict[str, str]
) -> Any:
    """The environment, or a batch of two or more sub-environments."""
    import gymnasium

    from mjgym.registry import one_agent

    kwargs = {**fields.arguments(id, settings), **opponent}
    for name in kwargs:
        if name in (*drawing, "num_envs"):
            option = {"render_quality": "quality"}.get(name, name)
            raise typer.BadParameter(
                f"{name} has an option of its own: --{option.replace('_', '-')}."
            )
    kwargs |= {name: value for name, value in drawing.items() if value is not None}
    try:
        if envs == 1:
            return gymnasium.make(id, **kwargs)
        return gymnasium.make_vec(id, num_envs=envs, **one_agent(id, **kwargs))
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"{id}: {fields.refusal(error)}") from None


class _Player:
    """One environment or a batch, played episode by episode.

    Args:
        env: single if `count` is 1, else a vector environment.
        count: number of sub-environments.
        columns: of tiles.
        camera: name or index; None for the task's viewpoint.

    Attributes:
        patience: control steps from success to the end of an episode; None to go on.
    """

    def __init__(self, env: Any, count: int, columns: int, camera: str | int | None) -> None:
        self.env = env
        self._camera = camera
        self.count = count
        self.control_timestep: float = env.unwrapped.control_timestep
        self.returns: list[float] = []
        self.patience: int | None = None
        self._columns = columns
        self._still: dict[int, Any] = {}  # last shots of ended episodes
        self._drawn: dict[int, tuple[Any, np.ndarray]] = {}  # their images, by id of the shots

    def limit(self, steps: int | None) -> int:
        """Maximum control steps of an episode, if `steps` are asked for."""
        most = self.env.spec.max_episode_steps
        if steps is None:
            return most or UNLIMITED
        return min(steps, most or steps)

    def play(self, act: Callable[[Any], Any], steps: int, seed: int) -> Iterator[None]:
        """Play an episode; yields at its start, and after each of its steps."""
        self._still.clear()
        observation, _ = self.env.reset(seed=seed)
        begin(act)
        returns = np.zeros(self.count)
        ended = np.zeros(self.count, dtype=bool)
        since = np.zeros(self.count, dtype=int)  # steps since the first success
        yield
        for _ in range(steps):
            observation, reward, terminated, truncated, info = self.env.step(act(observation))
            returns += np.where(ended, 0.0, reward)
            over = np.atleast_1d(np.logical_or(terminated, truncated))
            if self.patience is not None:
                since += np.atleast_1d(info.get("success_once", False)).astype(bool)
                over = over | (since > self.patience)
            over &= ~ended
            ended |= over
            if over.any() and not ended.all():
                ids = np.flatnonzero(over)
                self._still.update(zip(ids.tolist(), self._shots(ids), strict=True))
            yield
            if ended.all():
                break
        self.returns += returns.tolist()

    def scene(self) -> list[Any]:
        """The present shots of all sub-environments; those of ended episodes are frozen."""
        going = [i for i in range(self.count) if i not in self._still]
        shots = dict(zip(going, self._shots(np.array(going)), strict=True)) | self._still
        return [shots[i] for i in range(self.count)]

    def _shots(self, ids: np.ndarray) -> list[Any]:
        env = self.env.unwrapped
        shots: list[Any] = (
            env.shots(self._camera) if self.count == 1 else env.shots(self._camera, ids=ids)
        )
        return shots

    def draw(self, scenes: Sequence[list[Any]]) -> list[np.ndarray]:
        """Images of all, tiled in rows; unused tiles are black."""
        shots = {id(shot): shot for scene in scenes for shot in scene}
        new = [shot for key, shot in shots.items() if key not in self._drawn]
        pictures = self.env.unwrapped.cameras.render(new)
        drawn = self._drawn | {
            id(shot): (shot, picture) for shot, picture in zip(new, pictures, strict=True)
        }
        # Frozen shots are reused in every frame.
        self._drawn = {key: drawn[key] for key in map(id, self._still.values()) if key in drawn}
        return [self._tiles([drawn[id(shot)][1] for shot in scene]) for scene in scenes]

    def _tiles(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        height, width, _ = pictures[0].shape
        rows = math.ceil(self.count / self._columns)
        frame = np.zeros((rows * height, self._columns * width, 3), dtype=np.uint8)
        for i, picture in enumerate(pictures):
            y, x = i // self._columns * height, i % self._columns * width
            frame[y : y + height, x : x + width] = picture
        return frame

    def about(self) -> dict[str, str]:
        """A summary of the recording."""
        returns = np.array(self.returns)
        if len(returns) == 1:
            return {"return": f"{returns[0]:.2f}"}
        span = f"lowest {returns.min():.2f}, highest {returns.max():.2f}"
        return {"returns": f"mean {returns.mean():.2f}, {span}"}


def _record(
    player: _Player,
    act: Callable[[Any], Any],
    film: "Film",
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
            played = player.play(act, limit, seed + episode * player.count)
            for step, _ in enumerate(played):
                film.add(player.scene())
                bar.update(task, completed=episode * limit + step)
            film.flush()  # while the model has this episode's fields
        film.finish()


@contextlib.contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A file to write to, which replaces `out` on success."""
    with contextlib.ExitStack() as stack:
        try:
            part = stack.enter_context(replacing(out))
        except OSError as error:
            folder = out.absolute().parent
            raise _refused(f"{folder} cannot be written to: {error.strerror}.") from None
        yield part


def sink_of(out: Path) -> "Callable[[Path, float, Draw], Film]":
    """The writer for a suffix; typer.BadParameter if there is none or ffmpeg is missing."""
    from mjgym.rendering import film

    ending = out.suffix.lower()
    if ending not in film.FILMS:
        raise _refused(f"{out.name}: end its name in one of {', '.join(film.FILMS)}.")
    if not out.absolute().parent.is_dir():
        raise _refused(f"there is no folder {out.absolute().parent}.")
    if ending == ".mp4" and not film.has_ffmpeg():
        raise _refused(f"mp4 needs ffmpeg: {install('video')}. .gif, .webp and .png do not.")
    return film.FILMS[ending]


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="'--out'")
