"""LeRobotDatasets, version 3, written and read with the `lerobot` package.

A frame has `observation.state`, the robot's proprioception; `observation.environment_state`, all
other numbers; an image `observation.image`, or `observation.images.<camera>` if there are several,
as lossless PNG; `action`, `next.reward`, `next.done` and `next.success`.

Beside LeRobot's files, the folder `meta/mjgym` has the data for exact replay: the environment, and
for each episode its last observation and the states. Other datasets lack it.
"""

import contextlib
import importlib
import importlib.util
import json
import math
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets import formats
from mjgym.datasets.recording import DAMAGE, MOST_BYTES, DemonstrationError, Episode, Shapes
from mjgym.envs.pixels import KEY
from mjgym.task import registrations
from mjgym.util import bounded, npz
from mjgym.util.packaged import install

STATE, ENVIRONMENT = "observation.state", "observation.environment_state"
IMAGE, IMAGES = "observation.image", "observation.images."
ACTION, REWARD, DONE, SUCCESS = "action", "next.reward", "next.done", "next.success"
FLAT = "flat"
OWN_FOLDER = Path("meta", "mjgym")
ABOUT = "about.json"
INSTALL = install("lerobot")
# Arrays in an episode's file in `meta/mjgym`, besides observations, states and wide actions.
EXACT = ("rewards", "terminations", "truncations", "successes")


def _lerobot() -> Any:
    if importlib.util.find_spec("lerobot") is None:
        raise DemonstrationError(f"LeRobotDatasets need the package lerobot: {INSTALL}")
    return importlib.import_module("lerobot.datasets.lerobot_dataset")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Context manager: no progress bars of `datasets`, no NumPy warnings about histograms."""
    bars: Any = importlib.import_module("datasets.utils")
    shown = not bars.are_progress_bars_disabled()
    if shown:
        bars.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        if shown:
            bars.enable_progress_bars()


def described(id: str) -> str:
    return registrations[id].summary if id in registrations else id


def image_key(entry: str) -> str:
    """LeRobot's key of an image: "observation.images.agentview" for "pixels_agentview"."""
    return IMAGE if entry == KEY else f"{IMAGES}{entry.removeprefix(f'{KEY}_').replace('/', '_')}"


def vectors(entries: Mapping[str, Any]) -> dict[str, list[str]]:
    """Entries of an observation in each of LeRobot's vectors, by its key.

    Proprioception of robots is the state, all else the environment's state; if no entry is named
    after a robot, all are the state.
    """
    plain = [name for name, value in entries.items() if np.asarray(value).dtype != np.uint8]
    of_robots = [name for name in plain if formats.OF_ROBOTS.match(name)]
    others = [name for name in plain if name not in of_robots]
    parts = {STATE: of_robots or others, ENVIRONMENT: others if of_robots else []}
    return {key: names for key, names in parts.items() if names}


def spread(observation: Any, layout: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """The entries of an observation, including those of the vector "flat"."""
    entries = dict(observation) if isinstance(observation, Mapping) else {FLAT: observation}
    if not (layout and FLAT in entries):
        return entries
    ends = np.cumsum([math.prod(shape) for shape in layout.values()])
    parts = np.split(entries.pop(FLAT), ends[:-1])
    shaped = {n: x.reshape(layout[n]) for n, x in zip(layout, parts, strict=True)}
    return {**shaped, **entries}


def keyed(entries: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The entries of an observation by LeRobot's keys, vectors as float32."""
    keyed_entries = {
        key: np.concatenate([np.ravel(entries[name]) for name in names]).astype(np.float32)
        for key, names in vectors(entries).items()
    }
    for name, value in entries.items():
        if np.asarray(value).dtype == np.uint8:
            keyed_entries[image_key(name)] = value
    return keyed_entries


def _names(entries: Mapping[str, Any], names: list[str]) -> list[str]:
    sizes = {name: np.size(entries[name]) for name in names}
    return [f"{n}.{i}" if size > 1 else n for n, size in sizes.items() for i in range(size)]


def place_of(name: str) -> tuple[str, Path | None]:
    """LeRobot's name of a dataset, and its folder if the name is a path.

    Args:
        name: "lerobot:" and either a path, which begins with ".", "~" or "/", or LeRobot's name of
            a dataset in LeRobot's cache folder.
    """
    rest = name.removeprefix(formats.LEROBOT)
    if rest.startswith((".", "~", "/")) or Path(rest).is_absolute():
        path = Path(rest).expanduser()
        return path.name or "dataset", path
    return rest, None


class LeRobotWriter(formats.Writer):
    """Writes a LeRobotDataset to a temporary folder, which is moved into place on close."""

    def __init__(self, name: str, env: gymnasium.Env[Any, Any], facts: formats.About) -> None:
        self._lerobot = _lerobot()
        repo, folder = place_of(name)
        if not repo:
            raise DemonstrationError(
                f"{name!r} names no dataset: take {formats.LEROBOT}NAME or a folder"
            )
        self._repo = repo
        self._folder = self.place = folder or Path(self._lerobot.HF_LEROBOT_HOME) / repo
        self.name, self.kept = name, 0
        if self._folder.exists():
            raise DemonstrationError(f"there is a folder {str(self._folder)!r}: take another name")
        plain: Any = env.unwrapped
        space = env.observation_space
        self._shapes = Shapes(env)
        self._task = described(facts.id)
        self._rate = max(1, round(1 / plain.control_timestep))
        self._actions = [action.name for action in plain.task.actions(plain.model)]
        # Observations of players, or with a history, are not rows of these entries.
        size = sum(map(math.prod, plain.entry_shapes.values()))
        flat = space.spaces.get(FLAT) if isinstance(space, gymnasium.spaces.Dict) else space
        row = flat is not None and flat.shape == (size,) and flat.dtype != np.uint8
        self._layout = dict(plain.entry_shapes) if row else {}
        self._about = {"layout": self._layout, **formats.facts_to_write(env, name, facts)}
        self._dataset: Any = None
        self._saving = False
        self._stage: Path | None = None

    def _begin(self, episode: Episode) -> None:
        entries = spread(episode.observation(0), self._layout)
        features: dict[str, Any] = {}
        named = vectors(entries)
        for key, value in keyed(entries).items():
            if key in named:
                names, kind = _names(entries, named[key]), "float32"
            else:
                names, kind = ["height", "width", "channels"], "image"
            features[key] = {"dtype": kind, "shape": value.shape, "names": names}
        shape = episode.actions.shape[1:]
        features[ACTION] = {"dtype": "float32", "shape": shape, "names": self._actions}
        features[REWARD] = {"dtype": "float32", "shape": (1,), "names": None}
        for key in (DONE, SUCCESS):
            features[key] = {"dtype": "bool", "shape": (1,), "names": None}
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        self._stage = Path(
            tempfile.mkdtemp(prefix=f".{self._folder.name}-", dir=self._folder.parent)
        )
        self._dataset = self._lerobot.LeRobotDataset.create(
            self._repo,
            self._rate,
            features,
            root=self._stage / "whole",
            robot_type="mjgym",
            use_videos=False,
        )
        folder = self._root / OWN_FOLDER
        folder.mkdir()
        (folder / ABOUT).write_text(json.dumps(self._about))

    @property
    def _root(self) -> Path:
        assert self._stage is not None
        return self._stage / "whole"

    def add(self, episode: Episode) -> None:
        episode = episode.validated()
        self._shapes.require(episode)
        if self._saving:  # LeRobot's frames and list of episodes may disagree
            raise DemonstrationError(f"{self.name!r}: nothing follows an episode that was cut off")
        try:
            if self._dataset is None:
                self._begin(episode)
            for t, action in enumerate(episode.actions):
                self._dataset.add_frame(
                    {
                        **keyed(spread(episode.observation(t), self._layout)),
                        ACTION: np.asarray(action, np.float32),
                        REWARD: np.array([episode.rewards[t]], np.float32),
                        DONE: np.array([episode.terminations[t] or episode.truncations[t]]),
                        SUCCESS: np.array([episode.successes[t]]),
                        "task": self._task,
                    }
                )
            np.savez_compressed(self._root / OWN_FOLDER / _file(self.kept), **_exact(episode))
            self._saving = True
            with _quiet():
                self._dataset.save_episode()
            self._saving = False
        except BaseException as error:
            if self._dataset is not None:
                self._dataset.clear_episode_buffer()
            elif self._stage is not None:
                shutil.rmtree(self._stage)
                self._stage = None
            if not isinstance(error, OSError):
                raise
            raise DemonstrationError(f"{self.name!r} cannot be written: {error}") from None
        self.kept += 1

    def close(self) -> None:
        """Move the dataset into place, if it has any episodes."""
        if self._stage is None:
            return
        self._dataset.finalize()
        shutil.rmtree(self._root / "images", ignore_errors=True)  # temporary copies
        stage, self._stage = self._stage, None
        if not self.kept:
            shutil.rmtree(stage)
            return
        try:
            (stage / "whole").rename(self._folder)
        except OSError as error:
            raise DemonstrationError(
                f"{str(self._folder)!r} is taken: the dataset is in {str(stage / 'whole')!r}"
            ) from error
        stage.rmdir()


def _file(number: int) -> str:
    return f"episode-{number:06d}.npz"


def _is_exact(name: str) -> bool:
    return name in (*EXACT, ACTION, "seed") or name.startswith(("last/", "whole/", "state/"))


def _exact(episode: Episode) -> dict[str, Any]:
    arrays: dict[str, Any] = {name: getattr(episode, name) for name in EXACT}
    observed = episode.observations
    by_name = observed if isinstance(observed, Mapping) else {FLAT: observed}
    for name, rows in by_name.items():
        wide = rows.dtype not in (np.uint8, np.float32)  # not exact in float32
        arrays[f"{'whole' if wide else 'last'}/{name}"] = rows if wide else rows[-1]
    if episode.actions.dtype != np.float32:
        arrays[ACTION] = episode.actions
    arrays |= {f"state/{name}": rows for name, rows in episode.states.items()}
    if episode.seed is not None:
        arrays["seed"] = episode.seed
    return arrays


class LeRobotDemonstrations(formats.Demonstrations):
    """A LeRobotDataset.

    In datasets of other software the last observation of an episode is repeated, as LeRobot stores
    no observation after the last action; images are entries "pixels_<camera>" beside "flat", the
    state.

    Args:
        name: see `place_of`; datasets missing from LeRobot's cache are downloaded from the Hugging
            Face Hub.
    """

    def __init__(self, name: str) -> None:
        lerobot = _lerobot()
        self.name, self.note = name, ""
        repo, folder = place_of(name)
        if folder is not None and not (folder / "meta" / "info.json").is_file():
            raise DemonstrationError(
                f"{str(folder)!r} is no LeRobotDataset: it lacks meta/info.json"
            )
        for path in folder.rglob("*") if folder is not None else ():
            if not (path.is_file() or path.is_dir()):  # a pipe or device may never end
                raise DemonstrationError(f"{name!r}: {path} is no regular file")
        try:
            with _quiet():
                self._dataset = lerobot.LeRobotDataset(repo, root=folder)
                self._frames = self._dataset.hf_dataset.with_format(None)
        except Exception as error:  # from any package that reads it
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise DemonstrationError(f"{name!r} cannot be read: {reason}") from None
        self.count = int(self._dataset.num_episodes)
        self._own = Path(self._dataset.root) / OWN_FOLDER
        self._entries: list[str] | None = None
        self._layout: dict[str, tuple[int, ...]] = {}
        self.about = self._read_about()

    def _read_about(self) -> formats.About:
        if not (self._own / ABOUT).is_file():
            return formats.About("", description=f"LeRobotDataset {self._dataset.repo_id}")
        try:
            facts = bounded.read_json(self._own / ABOUT)
            about, self._entries = formats.written_facts(facts)
            self._layout = {name: tuple(shape) for name, shape in facts["layout"].items()}
            return about
        except DAMAGE as error:
            raise DemonstrationError(
                f"{self.name!r}: {OWN_FOLDER / ABOUT} is none of this version's: {error!r}"
            ) from None

    def episode(self, number: int) -> Episode:
        self._require(number)
        try:
            row = self._dataset.meta.episodes[number]
            first, end = int(row["dataset_from_index"]), int(row["dataset_to_index"])
            frames = self._frames.select(range(first, end))
            columns = {key: self._column(frames, key, first) for key in self._dataset.meta.features}
            if not self.about.id:
                return _of_others(columns, end - first).validated()
            exact = npz.read(self._own / _file(number), _is_exact, MOST_BYTES)
            return self._ours(columns, exact).validated()
        except (*DAMAGE, DemonstrationError) as error:
            raise DemonstrationError(
                f"{self.name!r}: episode {number} is damaged: {error}"
            ) from None

    def _column(self, frames: Any, key: str, first: int) -> np.ndarray:
        kind = self._dataset.meta.features[key]["dtype"]
        if kind == "image":
            return np.stack([np.asarray(picture) for picture in frames[key]])
        if kind == "video":
            shown = [self._dataset[first + t][key].permute(1, 2, 0) for t in range(len(frames))]
            return np.stack([np.round(np.asarray(x) * 255).astype(np.uint8) for x in shown])
        return np.asarray(frames[key])

    def _ours(self, columns: Mapping[str, np.ndarray], exact: Mapping[str, Any]) -> Episode:
        lasts = {n.removeprefix("last/"): x for n, x in exact.items() if n.startswith("last/")}
        wholes = {n.removeprefix("whole/"): x for n, x in exact.items() if n.startswith("whole/")}
        order = self._entries or [FLAT]
        one = {name: wholes[name][0] if name in wholes else lasts[name] for name in order}
        entries = spread(one, self._layout)
        rows = {n: columns[image_key(n)] for n, x in entries.items() if x.dtype == np.uint8}
        for key, names in vectors(entries).items():
            ends = np.cumsum([np.size(entries[name]) for name in names])
            parts = np.split(columns[key].astype(np.float32), ends[:-1], axis=-1)
            rows |= dict(zip(names, parts, strict=True))
        if self._layout and FLAT in one:
            rows[FLAT] = np.concatenate([rows[name] for name in self._layout], axis=-1)
        entry_rows = wholes | {
            name: np.concatenate([rows[name].reshape(-1, *np.shape(last)), last[None]])
            for name, last in lasts.items()
        }
        states = {n.removeprefix("state/"): x for n, x in exact.items() if n.startswith("state/")}
        return Episode(
            observations={n: entry_rows[n] for n in order} if self._entries else entry_rows[FLAT],
            actions=exact.get(ACTION, columns[ACTION].astype(np.float32)),
            states=states,
            seed=int(exact["seed"]) if "seed" in exact else None,
            **{name: exact[name] for name in EXACT},
        )


def _of_others(columns: Mapping[str, np.ndarray], steps: int) -> Episode:
    def flags(key: str) -> np.ndarray:
        return columns[key].reshape(steps).astype(bool) if key in columns else np.zeros(steps, bool)

    observed = {FLAT if key == STATE else key: rows for key, rows in _observed(columns)}
    observed = {name: np.concatenate([rows, rows[-1:]]) for name, rows in observed.items()}
    rewards = columns.get(REWARD, np.zeros(steps))
    truncations = np.zeros(steps, bool)
    truncations[-1] = not flags(DONE)[-1]
    return Episode(
        observations=observed[FLAT] if list(observed) == [FLAT] else observed,
        actions=columns[ACTION].astype(np.float32),
        rewards=rewards.reshape(steps).astype(float),
        terminations=flags(DONE),
        truncations=truncations,
        successes=flags(SUCCESS),
    )


def _observed(columns: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    for key, rows in columns.items():
        if key == IMAGE:
            yield KEY, rows
        elif key.startswith(IMAGES):
            yield f"{KEY}_{key.removeprefix(IMAGES)}", rows
        elif key.startswith("observation."):
            yield key, rows.astype(np.float32)


create = LeRobotWriter
load = LeRobotDemonstrations
