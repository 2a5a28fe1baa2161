"""Minari datasets.

Each episode's `infos` hold `success` (if the task has a goal) and `state`: at each time the full
state of `mjgym.Env.get_state` just before the action, including changes made with the mouse.
Entries that are constant within an episode have one row.
"""

import importlib
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets import journaled
from mjgym.datasets.formats import About, Demonstrations, Writer, about_recorded, specification
from mjgym.datasets.hdf5_files import flattened, h5py, require_bounded
from mjgym.datasets.recording import DemonstrationError, Episode, Shapes
from mjgym.util import atomic, bounded
from mjgym.util.packaged import install

SUCCESS, STATE = "success", "state"
DATA, METADATA = "main_data.hdf5", "metadata.json"
FIRST_METADATA = ".metadata-of-the-first-episode.json"  # what metadata are recovered from
ENTRIES = "mjgym_entries"  # in Minari's metadata: the names of a dict observation
INSTALL = install("minari")
_SITE = "https://github.com/mjgym/mjgym"
_UNKNOWN = "unknown"  # Minari requires a value


def _minari() -> Any:
    if importlib.util.find_spec("minari") is None or importlib.util.find_spec("h5py") is None:
        raise DemonstrationError(f"demonstrations need Minari: {INSTALL}")
    return importlib.import_module("minari")


class MinariWriter(Writer):
    """Writes a Minari dataset."""

    def __init__(self, name: str, env: gymnasium.Env[Any, Any], facts: About) -> None:
        minari = _minari()
        try:
            there = minari.list_local_datasets()
            minari.dataset.minari_dataset.parse_dataset_id(name)
        except ValueError as error:
            raise DemonstrationError(f"{name!r} can be no dataset's name: {error}") from None
        if name in there:
            raise DemonstrationError(
                f"there is a dataset {name!r}: take another name, or `minari delete {name}`"
            )
        folders = [n for n in _entries(env.observation_space) if "/" in n]
        if folders:
            raise DemonstrationError(
                f'Minari cannot write observations with a "/" in a name, as {folders[0]!r}:'
                ' take observation="flat"'
            )
        specification(env, name)  # Minari would drop a spec that JSON cannot hold
        self.name = name
        self.kept = 0
        self._env = env
        self._shapes = Shapes(env)
        self._facts = facts
        self.place = self._folder.parent

    @property
    def _folder(self) -> Path:
        return _folder(self.name)

    def add(self, episode: Episode) -> None:
        """Write an episode; once this returns, not even a kill of the process loses it."""
        episode = episode.validated()
        self._shapes.require(episode)
        try:
            if self.kept:
                with journaled.changing(self._folder / DATA) as file:
                    _write(file, self.kept, episode)
                _note(self._folder, len(episode))
            else:
                self._create(episode)
        except OSError as error:
            raise DemonstrationError(f"{self.name!r} cannot be written: {error}") from None
        self.kept += 1

    def _create(self, episode: Episode) -> None:
        """Write a dataset of one episode under a temporary name, and rename it when complete."""
        from minari import namespace as namespaces
        from minari.dataset.minari_storage import MinariStorage
        from minari.storage.datasets_root_dir import get_dataset_path

        env, target = self._env, get_dataset_path(self.name)
        with atomic.stage(get_dataset_path()) as stage:
            folder = stage / "dataset" / "data"
            folder.parent.mkdir()
            storage = MinariStorage.new(
                folder, env.observation_space, env.action_space, env.spec, jpeg_encoding=False
            )
            storage.update_metadata(self._metadata())
            with journaled.creating(folder / DATA, track_order=True) as file:
                _write(file, 0, episode)
            _note(folder, len(episode))
            shutil.copyfile(folder / METADATA, folder / FIRST_METADATA)
            namespace = self.name.rpartition("/")[0]
            if namespace and namespace not in namespaces.list_local_namespaces():
                namespaces.create_namespace(namespace)
            try:
                folder.parent.rename(target)
            except OSError:
                if not target.exists():
                    raise
                raise DemonstrationError(
                    f"another recorder has taken the name {self.name!r} meanwhile: take another"
                ) from None

    def _metadata(self) -> dict[str, Any]:
        facts = self._facts
        return {
            "dataset_id": self.name,
            "minari_version": _minari().__version__,
            "eval_env_spec": specification(self._env, self.name),
            "algorithm_name": facts.algorithm or _UNKNOWN,
            "author": {_UNKNOWN},
            "author_email": {_UNKNOWN},
            "code_permalink": _SITE,
            "description": f"{facts.description}, with mjgym {facts.version}",
            "requirements": [f"mjgym=={facts.version}"],
            ENTRIES: _entries(self._env.observation_space),  # in order, which spaces do not keep
        }

    def close(self) -> None:
        """Do nothing: every episode is complete on disk."""


def _folder(name: str) -> Path:
    from minari.storage.datasets_root_dir import get_dataset_path

    return Path(get_dataset_path(name)) / "data"


def _write(file: Any, number: int, episode: Episode) -> None:
    infos: dict[str, Any] = {SUCCESS: np.array([False, *episode.successes])}
    if episode.states:
        infos[STATE] = dict(episode.states)
    group = file.create_group(f"episode_{number}")
    group.attrs.update(id=number, total_steps=len(episode))
    if episode.seed is not None:
        group.attrs["seed"] = episode.seed
    columns = ("observations", "actions", "rewards", "terminations", "truncations")
    _fill(group, {**{name: getattr(episode, name) for name in columns}, "infos": infos})


def _fill(group: Any, contents: Mapping[str, Any]) -> None:
    for name, content in contents.items():
        if isinstance(content, Mapping):
            _fill(group.create_group(name), content)
        else:
            shape = (None, *content.shape[1:])
            group.create_dataset(name, data=content, chunks=True, maxshape=shape)


def _note(folder: Path, steps: int) -> None:
    """Count another episode in the metadata, replacing the file atomically."""
    metadata = bounded.read_json(folder / METADATA)
    metadata["total_episodes"] += 1
    metadata["total_steps"] += steps
    size = (folder / DATA).stat().st_size
    _replace_metadata(folder, {**metadata, "dataset_size": round(size / 1e6, 1)})


def _replace_metadata(folder: Path, metadata: Mapping[str, Any]) -> None:
    with atomic.replacing(folder / METADATA) as part, part.open("w", encoding="utf-8") as file:
        json.dump(metadata, file)
        file.flush()
        os.fsync(file.fileno())


def _recover(folder: Path) -> None:
    """Repair the dataset of a killed recorder; unreadable metadata are rebuilt from the data."""
    file = folder / DATA
    if not file.is_file():
        return
    journaled.finish(file)
    try:
        bounded.read_json(folder / METADATA)
        return
    except bounded.FileError:
        if not (folder / FIRST_METADATA).is_file():
            return  # Minari says what is wrong
    metadata = bounded.read_json(folder / FIRST_METADATA)
    with h5py().File(file, "r") as data:
        steps = [int(episode.attrs["total_steps"]) for episode in data.values()]
    metadata.update(total_episodes=len(steps), total_steps=sum(steps))
    _replace_metadata(folder, metadata)


def _entries(space: gymnasium.Space[Any]) -> list[str]:
    return list(space.spaces) if isinstance(space, gymnasium.spaces.Dict) else []


class MinariDemonstrations(Demonstrations):
    """A Minari dataset."""

    def __init__(self, name: str) -> None:
        minari = _minari()
        try:
            _recover(_folder(name))
        except PermissionError:
            raise
        except Exception as error:  # of any part of a damaged file
            raise DemonstrationError(f"{name!r} is damaged: {error}") from None
        _require_spaces(name)
        try:
            self._dataset = minari.load_dataset(name)
        except (ValueError, FileNotFoundError) as error:
            from mjgym.util.suggestions import or_else

            hint = or_else(name, minari.list_local_datasets())
            raise DemonstrationError(f"there is no dataset {name!r}{hint}") from error
        except Exception as error:  # damaged metadata
            raise DemonstrationError(f"{name!r} is damaged: {error}") from None
        self.name, self.note = name, ""
        self.count = int(self._dataset.total_episodes)
        self.about = self._about()

    def _about(self) -> About:
        metadata = self._dataset.storage.metadata
        versions = [
            requirement.partition("==")[2]
            for requirement in metadata.get("requirements", [])
            if requirement.startswith("mjgym==")
        ]
        facts: dict[str, Any] = {
            "version": versions[0] if versions else "",
            "algorithm": str(metadata.get("algorithm_name", "")).replace(_UNKNOWN, ""),
            "description": str(metadata.get("description", "")),
        }
        if not metadata.get("env_spec"):
            return About("", **facts)
        try:
            return about_recorded(bounded.json_of(metadata["env_spec"], "env_spec"), **facts)
        except (TypeError, ValueError) as error:
            raise DemonstrationError(
                f"{self.name!r}: its environment is damaged: {error}"
            ) from None

    def episode(self, number: int) -> Episode:
        self._require(number)
        try:
            return self._read(number).validated()
        except Exception as error:  # Minari checks nothing
            raise DemonstrationError(
                f"{self.name!r}: episode {number} is damaged: {error}"
            ) from None

    def _read(self, number: int) -> Episode:
        file = self._dataset.storage.data_path / DATA
        if file.is_file():
            with h5py().File(file, "r") as opened:
                require_bounded(opened[f"episode_{number}"])
        (episode,) = self._dataset.iterate_episodes([number])
        (metadata,) = self._dataset.storage.get_episode_metadata([number])
        infos, observations = episode.infos or {}, episode.observations
        if isinstance(observations, dict):  # sorted by HDF5
            order = self._dataset.storage.metadata.get(ENTRIES, observations)
            observations = {name: observations[name] for name in order}
        successes = infos.get(SUCCESS, np.zeros(len(episode.actions) + 1, dtype=bool))
        return Episode(
            observations=observations,
            actions=episode.actions,
            rewards=episode.rewards,
            terminations=episode.terminations,
            truncations=episode.truncations,
            successes=np.asarray(successes, dtype=bool)[1:],
            states=dict(flattened(infos.get(STATE, {}))),
            seed=metadata.get("seed"),
        )


def _require_spaces(name: str) -> None:
    """Raise unless a dataset states its spaces; otherwise Minari would make its environment."""
    from minari.dataset.minari_storage import MinariStorage

    folder = _folder(name)
    if not folder.is_dir():
        return  # Minari reports missing datasets
    try:
        metadata = MinariStorage.read_raw_metadata(folder)
        stated = all(isinstance(metadata[f"{x}_space"], str) for x in ("observation", "action"))
    except (KeyError, OSError, RecursionError, TypeError, ValueError):
        stated = False
    if not stated:
        raise DemonstrationError(f"{name!r} does not state its spaces in its metadata")


create = MinariWriter
load = MinariDemonstrations
