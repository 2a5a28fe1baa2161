"""Demonstrations in robomimic's HDF5 layout.

`data/demo_<k>` holds `actions`, `rewards`, `dones`, `obs/<key>`, `next_obs/<key>` and `states`,
rows of time, qpos and qvel as robosuite flattens them; its attributes are `num_samples` and
`model_file`, the model of the episode as MJCF. `data` has the attribute `env_args`; `mask/train`
and `mask/valid` name nine tenths and one tenth of the demonstrations.

For exact replay there are also `terminations`, `truncations`, `successes` and `state/<name>`, the
entries of `mjgym.Env.get_state` before each action and after the last one, as one row if constant;
the attribute `seed`; and the attribute `mjgym` of `data`, the rest as JSON. `demos`, references to
the demonstrations at the beginning of the file, finds the remaining ones in a truncated file.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets import formats, journaled
from mjgym.datasets.formats import About, Demonstrations, Writer, facts_to_write, written_facts
from mjgym.datasets.hdf5_files import REFERENCES, File, flattened, h5py
from mjgym.datasets.recording import DAMAGE, DemonstrationError, Episode, Shapes
from mjgym.envs.pixels import KEY
from mjgym.mjcf.written_fields import with_fields
from mjgym.util import atomic, bounded, plugins

GYM = 2  # robomimic's EnvType
FLAT = "flat"  # key of a vector observation, as in robomimic's Gym environments
OBJECT = "object"  # key of all non-robot entries, as in robosuite
VALID = 0.1  # of the demonstrations
OWN_ATTRIBUTE = "mjgym"  # attribute of this package's files
MOST = 8192  # maximum number of references


def key_of(entry: str) -> str:
    """robomimic's key of an entry of an observation: "agentview_image" for "pixels_agentview"."""
    if entry == KEY:
        return "image"
    return f"{entry.removeprefix(f'{KEY}_')}_image" if entry.startswith(f"{KEY}_") else entry


def keyed(observation: Any, lead: int = 0) -> dict[str, np.ndarray]:
    """An observation, or rows of them, by robomimic's keys."""
    if not isinstance(observation, Mapping):
        return {FLAT: np.asarray(observation)}
    entries = {key_of(name): np.asarray(rows) for name, rows in observation.items()}
    robots = [name for name in entries if formats.OF_ROBOTS.match(name)]
    others = [
        rows.reshape(*rows.shape[:lead], -1)
        for name, rows in entries.items()
        if not formats.OF_ROBOTS.match(name) and rows.dtype != np.uint8
    ]
    if robots and others and OBJECT not in entries:
        entries[OBJECT] = np.concatenate(others, axis=-1)
    return entries


class RobomimicWriter(Writer):
    """Writes demonstrations in robomimic's layout."""

    def __init__(self, name: str, env: gymnasium.Env[Any, Any], facts: About) -> None:
        self._h5py = h5py()
        self._path = self.place = Path(name).expanduser()
        self._check_free()
        try:
            atomic.require_folder(self._path)
        except OSError as error:
            raise DemonstrationError(bounded.reason(error)) from None
        self.name = name
        self.kept = 0
        self._shapes = Shapes(env)
        self._task: Any = getattr(env.unwrapped, "task", None)
        written = facts_to_write(env, name, facts)
        arguments = {
            "env_name": facts.id,
            "type": GYM,
            "env_version": facts.version,
            "env_kwargs": dict(facts.kwargs),
        }
        try:
            self._attributes = {
                "env_args": json.dumps(arguments),
                OWN_ATTRIBUTE: json.dumps(written),
            }
        except TypeError as error:
            raise DemonstrationError(
                f"{name!r}: the arguments of {facts.id} cannot be written: {error}"
            ) from None
        self._steps, self._closed = 0, False

    def _check_free(self) -> None:
        if self._path.exists():
            raise DemonstrationError(f"there is a file {str(self._path)!r}: take another name")

    def add(self, episode: Episode) -> None:
        """Write an episode; after an error the file is unchanged."""
        if self._closed:
            raise DemonstrationError(f"{self.name!r} is closed")
        episode = episode.validated()
        self._shapes.require(episode)
        number, steps = self.kept, self._steps + len(episode)
        if number == 0:
            self._check_free()
            with (
                self._written(),
                atomic.replacing(self._path) as part,
                journaled.creating(part) as file,
            ):
                self._begin(file)
                self._write(file, number, episode, steps)
        else:
            with self._changing() as file:
                self._write(file, number, episode, steps)
        self.kept, self._steps = number + 1, steps

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Any]:
        with self._written(), journaled.changing(self._path) as file:
            yield file

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DemonstrationError(f"{self.name!r} cannot be written: {error}") from None

    def _begin(self, file: Any) -> None:
        """Write shared data, and all groups, so that they are at the file's beginning."""
        data = file.create_group("data")
        data.attrs.update(self._attributes)
        data.attrs["total"] = 0
        file.create_group("mask")
        references = file.create_dataset(REFERENCES, (MOST,), self._h5py.ref_dtype)
        references[0] = self._h5py.Reference()

    def _write(self, file: Any, number: int, episode: Episode, steps: int) -> None:
        data, name = file["data"], f"demo_{number}"
        try:
            demo = data.create_group(name)
            self._fill(demo, episode)
            demo.attrs["num_samples"] = len(episode)  # last: marks it complete
        except BaseException:
            with contextlib.suppress(KeyError):
                del data[name]
            raise
        if number < MOST:
            file[REFERENCES][number] = demo.ref
        data.attrs.modify("total", steps)  # in place

    def _fill(self, demo: Any, episode: Episode) -> None:
        demo["actions"] = episode.actions
        demo["rewards"] = episode.rewards
        demo["dones"] = (episode.terminations | episode.truncations).astype(np.int64)
        for name in ("terminations", "truncations", "successes"):
            demo[name] = getattr(episode, name)
        for key, rows in keyed(episode.observations, lead=1).items():
            pictures: dict[str, Any] = {}
            if rows.dtype == np.uint8:
                pictures = {"compression": "gzip", "chunks": (1, *rows.shape[1:])}
            demo.create_dataset(f"obs/{key}", data=rows[:-1], **pictures)
            demo.create_dataset(f"next_obs/{key}", data=rows[1:], **pictures)
        for name, rows in episode.states.items():
            demo[f"state/{name}"] = rows
        if {"time", "qpos", "qvel"} <= episode.states.keys():
            demo["states"] = state_rows(episode)
        if self._task is not None and episode.states:
            varies = [name for name in self._task.varies if name in episode.states]
            fields = {name: episode.states[name][0] for name in varies}
            demo.attrs["model_file"] = with_fields(self._task.model(), fields)
        if episode.seed is not None:
            demo.attrs["seed"] = episode.seed

    def close(self) -> None:
        """Write the masks."""
        self._closed = True
        if not self.kept:
            return
        mixed = np.random.default_rng(0).permutation(self.kept)
        valid = max(1, round(VALID * self.kept)) if self.kept > 1 else 0
        parts = {"train": sorted(mixed[valid:]), "valid": sorted(mixed[:valid])}
        with self._changing() as file:
            for part, numbers in parts.items():
                if numbers and f"mask/{part}" not in file:
                    file[f"mask/{part}"] = np.array([f"demo_{k}" for k in numbers], dtype="S")


def state_rows(episode: Episode) -> np.ndarray:
    """Time, qpos and qvel before each action, (steps, 1 + nq + nv), as robosuite flattens them."""
    rows = [
        np.concatenate([np.ravel(state[name]) for name in ("time", "qpos", "qvel")])
        for state in map(episode.state, range(len(episode)))
    ]
    return np.stack(rows)


def load(name: str) -> Demonstrations:
    """Open a file of this package, of robomimic or of robosuite."""
    path = Path(name).expanduser()
    if path.is_file():
        try:
            journaled.finish(path)
        except (OSError, ValueError) as error:
            raise DemonstrationError(f"{name!r} is damaged: {error}") from None
    file = File(name)
    if OWN_ATTRIBUTE in file.attributes:
        return RobomimicDemonstrations(file)
    recorded: Demonstrations = plugins.load(plugins.FORMATS, "robosuite")(file)
    return recorded


class RobomimicDemonstrations(Demonstrations):
    """Demonstrations written by this package in robomimic's layout."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.name, self.note = file.name, file.note
        self.count = len(file.demos)
        try:
            facts = bounded.json_of(file.attributes[OWN_ATTRIBUTE], OWN_ATTRIBUTE)
            self.about, self._entries = written_facts(facts)
        except DAMAGE as error:
            raise DemonstrationError(
                f"{self.name!r}: attribute {OWN_ATTRIBUTE!r} is none of this version's: {error!r}"
            ) from None

    def episode(self, number: int) -> Episode:
        self._require(number)
        with self._file.demo(number) as demo:
            whole = {
                key: np.concatenate([demo[f"obs/{key}"][:1], demo[f"next_obs/{key}"][:]])
                for key in map(key_of, self._entries or [FLAT])
            }
            states = demo.get("state", {})
            observations: Any
            if self._entries is None:
                observations = whole[FLAT]
            else:
                observations = {name: whole[key_of(name)] for name in self._entries}
            seed = demo.attrs.get("seed")
            return Episode(
                observations=observations,
                actions=demo["actions"][:],
                rewards=demo["rewards"][:],
                terminations=demo["terminations"][:],
                truncations=demo["truncations"][:],
                successes=demo["successes"][:],
                states=dict(flattened(states)),
                seed=None if seed is None else int(seed),
            ).validated()


create = RobomimicWriter
