"""Minari datasets.

Each episode's `infos` hold `success` (if the task has a goal) and `state`: at each time the full
state of `mjgym.Env.get_state` just before the action, including changes made with the mouse.
Entries that are constant within an episode have one row.
"""

import importlib
import importlib.util
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np

from mjgym.datasets.formats import About, about_recorded, remake, specification
from mjgym.datasets.hdf5_files import require_bounded
from mjgym.datasets.recording import DemonstrationError, Episode
from mjgym.util.packaged import install

SUCCESS, STATE = "success", "state"
ENTRIES = "mjgym_entries"  # in Minari's metadata: the names of a dict observation
INSTALL = install("minari")
_SITE = "https://github.com/mjgym/mjgym"
_UNKNOWN = "unknown"  # Minari requires a value


def _minari() -> Any:
    if importlib.util.find_spec("minari") is None or importlib.util.find_spec("h5py") is None:
        raise DemonstrationError(f"demonstrations need Minari: {INSTALL}")
    return importlib.import_module("minari")


def versioned(name: str) -> str:
    """A dataset's name with a version: "demos" is "demos-v0"."""
    return name if re.search(r"-v\d+$", name) else f"{name}-v0"


def create(name: str, env: gymnasium.Env[Any, Any], facts: About) -> "MinariWriter":
    """Begin a new dataset; see `MinariWriter`."""
    return MinariWriter(name, env, facts)


def load(name: str) -> "MinariDemonstrations":
    """Open a dataset; see `MinariDemonstrations`."""
    return MinariDemonstrations(name)


class MinariWriter:
    """Writes a Minari dataset.

    Args:
        name: of the dataset: "demos", "lift/demos-v0"; see `versioned`.
        env: like the one of the episodes.
        facts: about them.

    Attributes:
        name: of the dataset, with its version.
        kept: number of episodes in it.

    Raises:
        DemonstrationError: Minari is not installed, there is such a dataset, the name is invalid,
            or the observations cannot be written.
    """

    def __init__(self, name: str, env: gymnasium.Env[Any, Any], facts: About) -> None:
        minari, name = _minari(), versioned(name)
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
        self._facts = facts
        self._dataset: Any = None

    def add(self, episode: Episode) -> None:
        """Write an episode."""
        from minari.data_collector import EpisodeBuffer

        infos: dict[str, Any] = {SUCCESS: np.array([False, *episode.successes])}
        if episode.states:
            infos[STATE] = dict(episode.states)
        buffer = EpisodeBuffer(
            seed=episode.seed,
            observations=episode.observations,
            actions=episode.actions,
            rewards=list(episode.rewards),
            terminations=list(episode.terminations),
            truncations=list(episode.truncations),
            infos=infos,
        )
        try:
            if self._dataset is None:
                self._dataset = self._create(buffer)
            else:
                self._dataset.storage.update_episodes([buffer])
        except BaseException as error:
            self._take_back()
            if isinstance(error, OSError):
                raise DemonstrationError(f"{self.name!r} cannot be written: {error}") from None
            raise
        self.kept += 1

    def _take_back(self) -> None:
        """Remove the traces of an episode that could not be written."""
        import h5py
        from minari.storage.datasets_root_dir import get_dataset_path

        if self._dataset is None:
            shutil.rmtree(get_dataset_path(self.name), ignore_errors=True)
            return
        with h5py.File(self._dataset.storage.data_path / "main_data.hdf5", "a") as file:
            file.pop(f"episode_{self.kept}", None)

    def _create(self, buffer: Any) -> Any:
        dataset = _minari().create_dataset_from_buffers(
            self.name,
            [buffer],
            env=self._env,
            eval_env=self._env,
            algorithm_name=self._facts.algorithm or _UNKNOWN,
            author=_UNKNOWN,
            author_email=_UNKNOWN,
            code_permalink=_SITE,
            description=f"{self._facts.description}, with mjgym {self._facts.version}",
            requirements=[f"mjgym=={self._facts.version}"],
            jpeg_encoding=False,
        )
        entries = _entries(self._env.observation_space)
        dataset.storage.update_metadata({ENTRIES: entries})  # in order, unlike spaces
        return dataset

    def close(self) -> None:
        """Do nothing: every episode is complete on disk."""


def _entries(space: gymnasium.Space[Any]) -> list[str]:
    return list(space.spaces) if isinstance(space, gymnasium.spaces.Dict) else []


class MinariDemonstrations:
    """A Minari dataset.

    Args:
        name: of the dataset; see `versioned`.

    Attributes:
        name: of the dataset, with its version.
        count: number of episodes.
        about: their origin.
        note: always empty.

    Raises:
        DemonstrationError: Minari is not installed, or there is no such dataset.
    """

    def __init__(self, name: str) -> None:
        minari, name = _minari(), versioned(name)
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
            return about_recorded(json.loads(metadata["env_spec"]), **facts)
        except (RecursionError, TypeError, ValueError) as error:
            raise DemonstrationError(
                f"{self.name!r}: its environment is damaged: {error}"
            ) from None

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """Recreate the environment that the dataset was recorded in."""
        return remake(self.about, kwargs)

    def episode(self, number: int) -> Episode:
        """An episode, by its number from 0."""
        try:
            return self._read(number).validated()
        except Exception as error:  # Minari checks nothing
            raise DemonstrationError(
                f"{self.name!r}: episode {number} is damaged: {error}"
            ) from None

    def _require_bounded(self, number: int) -> None:
        """Check that an episode of an HDF5 file is small enough to read."""
        import h5py

        file = self._dataset.storage.data_path / "main_data.hdf5"
        if file.is_file():
            with h5py.File(file, "r") as opened:
                require_bounded(opened[f"episode_{number}"])

    def _read(self, number: int) -> Episode:
        self._require_bounded(number)
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
            states=dict(_flat(infos.get(STATE, {}))),
            seed=metadata.get("seed"),
        )


def _require_spaces(name: str) -> None:
    """Raise unless a dataset states its spaces; otherwise Minari would make its environment."""
    from minari.dataset.minari_storage import MinariStorage
    from minari.storage.datasets_root_dir import get_dataset_path

    folder = get_dataset_path(name) / "data"
    if not folder.is_dir():
        return  # Minari reports missing datasets
    try:
        metadata = MinariStorage.read_raw_metadata(folder)
        stated = all(isinstance(metadata[f"{x}_space"], str) for x in ("observation", "action"))
    except (KeyError, OSError, RecursionError, TypeError, ValueError):
        stated = False
    if not stated:
        raise DemonstrationError(f"{name!r} does not state its spaces in its metadata")


def _flat(states: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Entries of a state by name: HDF5 makes groups of names with a "/"."""
    for name, value in states.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}/")
        else:
            yield f"{before}{name}", np.asarray(value)
