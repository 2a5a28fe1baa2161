"""`mjgym record`: record a film or an image of a task."""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from mjgym.cli import shared_options
from mjgym.cli.ids import ID
from mjgym.cli.output import console, facts, failing, progress, require_folder
from mjgym.cli.policy_option import SCRIPTED, PolicyError, load_policy, make_for
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
    policy: shared_options.Policy = None,
    seed: shared_options.Seed = 0,
    camera: shared_options.Camera = None,
    show: shared_options.Show = None,
    groups: shared_options.Groups = None,
    width: Annotated[int, typer.Option(min=1, help="Pixels per sub-environment.")] = 320,
    height: Annotated[int, typer.Option(min=1, help="Pixels per sub-environment.")] = 240,
    quality: Annotated[
        Literal["reference", "fast"] | None,
        typer.Option(
            help='"fast" has no shadows.',
            show_default="that of a policy's images, else reference",
        ),
    ] = None,
    set: shared_options.Settings = None,
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

    sink_of(out)  # refuses other names before anything is made
    columns = math.ceil(math.sqrt(envs))
    shape = (math.ceil(envs / columns) * height, columns * width)
    if max(shape) > MAX_SIDE:
        raise typer.BadParameter(
            f"{shape[1]} x {shape[0]} pixels; at most {MAX_SIDE} can be a frame's width or height."
        )
    drawing: dict[str, Any] = {
        "camera": shared_options.camera_of(camera),
        "width": width,
        "height": height,
        "render_quality": quality,
        "visualize_reward": visualize_reward,
        **shared_options.overlay_of(show, groups),
    }
    policy, made = make_for(policy, context, id, set, envs, drawing)
    with contextlib.closing(made) as env:
        player = _Player(env, envs, columns, drawing["camera"])
        if policy == SCRIPTED and steps is None:
            player.patience = math.ceil(AFTER_SUCCESS / player.control_timestep)
        act = load_policy(policy, env, seed=seed)
        errors = (PolicyError, rendering.RenderingError, OSError)
        with (
            failing(*errors, prefix="nothing is written: "),
            filming(out, player.control_timestep, player.draw) as film,
        ):
            _record(player, act, film, episodes, steps, seed)
    console().print(facts({"written": str(out), **film.about(), **player.about()}))


class _Player:
    """One environment or a batch, played episode by episode."""

    def __init__(self, env: Any, count: int, columns: int, camera: str | int | None) -> None:
        self.env = env
        self._camera = camera
        self.count = count
        self.control_timestep: float = env.unwrapped.control_timestep
        self.returns: list[float] = []
        self.patience: int | None = None  # control steps from success to an episode's end
        self._columns = columns
        self._still: dict[int, Any] = {}  # last shots of ended episodes
        self._drawn: dict[int, tuple[Any, np.ndarray]] = {}  # their images, by id of the shots

    def play(self, act: Callable[[Any], Any], steps: int, seed: int) -> Iterator[None]:
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
    most = player.env.spec.max_episode_steps or steps or UNLIMITED
    limit = most if steps is None else min(steps, most)
    with progress() as bar:
        task = bar.add_task("recording", total=episodes * limit)
        for episode in range(episodes):
            played = player.play(act, limit, seed + episode * player.count)
            for step, _ in enumerate(played):
                film.add(player.scene())
                bar.update(task, completed=episode * limit + step)
            film.flush()  # while the model has this episode's fields


@contextlib.contextmanager
def filming(out: Path, control_timestep: float, draw: "Draw") -> "Iterator[Film]":
    """Context manager: a film that replaces a file on success."""
    from mjgym import rendering

    sink = sink_of(out)
    with contextlib.ExitStack() as stack:
        try:
            part = stack.enter_context(replacing(out))
        except OSError as error:
            folder = out.absolute().parent
            raise _refused(f"{folder} cannot be written to: {error.strerror}.") from None
        rendering.choose()
        film = stack.enter_context(contextlib.closing(sink(part, control_timestep, draw)))
        yield film
        film.finish()


def sink_of(out: Path) -> "Callable[[Path, float, Draw], Film]":
    """The writer for a suffix; typer.BadParameter if there is none or ffmpeg is missing."""
    from mjgym.rendering import film

    ending = out.suffix.lower()
    if ending not in film.FILMS:
        raise _refused(f"{out.name}: end its name in one of {', '.join(film.FILMS)}.")
    require_folder(out, hint="'--out'")
    if ending == ".mp4" and not film.has_ffmpeg():
        raise _refused(f"mp4 needs ffmpeg: {install('video')}. .gif, .webp and .png do not.")
    return film.FILMS[ending]


def _refused(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="'--out'")
