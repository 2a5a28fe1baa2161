"""The readings behind an observation, taken when due and kept until shown."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from mjgym.arrays import Array, shape
from mjgym.observables.observable import AGGREGATORS, Observable
from mjgym.observables.observe import Image, Quantity
from mjgym.observables.schedule import schedule
from mjgym.observables.streams import Stream
from mjgym.sim.views import View
from mjgym.util.suggestions import or_else

ObservableLike: TypeAlias = Observable | Quantity | Image
"""A user's description of an entry: an observable, or only its source."""

Evaluate: TypeAlias = Callable[[], dict[str, Array]]
"""Returns the task's entries at present."""

Draw: TypeAlias = Callable[[Image, np.ndarray], np.ndarray]
"""Returns images of some simulations, (len(rows), height, width, ...)."""


def merge(
    entries: Mapping[str, Any],
    by_task: Mapping[str, ObservableLike],
    by_user: Mapping[str, ObservableLike] | None,
) -> dict[str, Observable]:
    """Merge the observables of a task with those of its user.

    Args:
        by_user: these replace the task's, except for the source.

    Raises:
        TypeError: a value is not an observable.
        ValueError: a name is not an entry of the task and has no source; the message names the
            nearest ones.
    """
    if by_user is not None and not isinstance(by_user, Mapping):
        raise TypeError(f"observables: expected a dict by entry, got {type(by_user).__name__}")
    merged = {name: _observable(name, value) for name, value in by_task.items()}
    for name, value in (by_user or {}).items():
        observable = _observable(name, value)
        if observable.source is None and name in merged:
            observable = dataclasses.replace(observable, source=merged[name].source)
        merged[name] = observable
    for name, observable in merged.items():
        if observable.source is None and name not in entries:
            known = [*entries, *by_task.keys() - {name}]
            raise ValueError(
                f"observables: the observation has no entry {name!r}{or_else(name, known)}; an"
                " entry of your own needs a source, e.g. observe.body('torso').xpos"
            )
        if observable.source is not None and name in entries:
            raise ValueError(
                f"observables: {name!r} is an entry of the task, give another name to your own"
            )
    return merged


def _observable(name: str, value: Any) -> Observable:
    if isinstance(value, Observable):
        return value
    try:
        return Observable(value)
    except TypeError as error:
        raise TypeError(f"observables: {name!r}: {error}") from None


_TRIED = 3  # readings that a noise is tried on


class _Entry:
    """The readings of one entry; ValueError if noise or aggregator do not fit its shape."""

    def __init__(
        self, name: str, observable: Observable, sample: np.ndarray, n: int, substeps: int
    ) -> None:
        self.name = name
        self.observable = observable
        self.schedule = schedule(observable, n, substeps)
        self.readings = np.zeros((n, self.schedule.size, *sample.shape), sample.dtype)
        noise = observable.noise
        self.noise = None if noise is None else Stream(noise.distribution, n, sample.shape)
        aggregator = observable.aggregator
        self._aggregate = AGGREGATORS[aggregator] if isinstance(aggregator, str) else aggregator
        self._everyone = np.arange(n)[:, None]
        self.needed = np.zeros((n, substeps), dtype=bool)
        self.shows_several = observable.buffer_size > 1 and aggregator is None
        self.shape = (observable.buffer_size, *sample.shape) if self.shows_several else sample.shape
        self._check(sample)

    def _check(self, sample: np.ndarray) -> None:
        noise = self.observable.noise
        if noise is not None:
            with _named("noise"):
                several = np.stack([sample] * _TRIED)
                drawn = noise.distribution(np.random.default_rng(0), several.shape)
                _check_shape(noise.combine(several, drawn), several.shape)
        if self._aggregate is not None:
            with _named("aggregator"):
                several = np.stack([sample] * self.observable.buffer_size)[None]
                _check_shape(self._aggregate(several, axis=1), (1, *sample.shape))

    def seed(self, i: int, rng: np.random.Generator) -> None:
        of_schedule, of_noise = rng.spawn(2)
        self.schedule.seed(i, of_schedule)
        if self.noise is not None:
            self.noise.seed(i, of_noise)

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        parts = {"readings": self.readings[rows], **self.schedule.state(rows)}
        if self.noise is not None:
            parts["noise"] = self.noise.state(rows)
        return parts

    def restore(self, parts: dict[str, np.ndarray], rows: np.ndarray) -> None:
        self.readings[rows] = parts["readings"]
        self.schedule.restore(parts, rows)
        if self.noise is not None:
            self.noise.restore(rows, parts["noise"])

    def corrupt(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Add noise to the values of some simulations, (len(rows), *shape)."""
        noise = self.observable.noise
        if noise is None or self.noise is None:
            return values
        return self._like_readings(noise.combine(values, self.noise.take(rows)))

    def _like_readings(self, values: Any) -> np.ndarray:
        kind = self.readings.dtype
        if kind.kind in "iu":
            ends = np.iinfo(kind)
            values = np.clip(np.rint(values), ends.min, ends.max)
        return np.asarray(values, dtype=kind)

    def show(self, time: np.ndarray) -> np.ndarray:
        """The entry in observations at a time, (n, ...)."""
        readings: np.ndarray = self.readings[self._everyone, self.schedule.shown(time)]
        if self._aggregate is not None:
            return self._like_readings(self._aggregate(readings, axis=1))
        return readings if self.shows_several else readings[:, 0]


class Sensing:
    """The observations of n simulations, some entries of which have sensor models.

    Args:
        observables: by entry, see `merge`.
        entries: the task's in one simulation, in their order.
        substeps: physics steps between two observations.

    Raises:
        ValueError: a source names a missing element or does not give an array of numbers, or a
            noise or an aggregator does not fit; the message names the entry and the nearest
            elements.
    """

    def __init__(
        self,
        observables: Mapping[str, Observable],
        entries: Mapping[str, Array],
        view: View,
        image_sample: Callable[[Image], np.ndarray],
        n: int,
        substeps: int,
    ) -> None:
        self._n = n
        self._substeps = substeps
        self._everyone = np.arange(n)
        self._plain = [name for name in entries if name not in observables]
        self._entries: dict[str, _Entry] = {}
        for name in [*entries, *(name for name in observables if name not in entries)]:
            observable = observables.get(name)
            if observable is None or not observable.enabled:
                continue
            source = observable.source
            if source is None:
                sample = np.array(entries[name], dtype=float)
            elif isinstance(source, Image):
                sample = image_sample(source)
            else:
                with _named(f"observables: {name!r}"):
                    sample = np.array(source(view), dtype=float)
            with _named(f"observables: {name!r}"):
                self._entries[name] = _Entry(name, observable, sample, n, substeps)
        self.shapes = {
            name: self._entries[name].shape if name in self._entries else np.shape(entries[name])
            for name in [*entries, *(name for name in self._entries if name not in entries)]
            if name in self._plain or name in self._entries
        }
        self._needed = np.zeros((n, substeps), dtype=bool)

    def read_entries(self) -> dict[str, tuple[Observable, bool]]:
        """Numeric entries with sensor models, and whether they show several readings."""
        return {
            name: (entry.observable, entry.shows_several)
            for name, entry in self._entries.items()
            if not isinstance(entry.observable.source, Image)
        }

    @property
    def images(self) -> dict[str, tuple[Image, int]]:
        """Images among the entries, and the number of readings they show; 0 for just one."""
        images = {}
        for name, entry in self._entries.items():
            if isinstance(entry.observable.source, Image):
                readings = entry.observable.buffer_size if entry.shows_several else 0
                images[name] = (entry.observable.source, readings)
        return images

    def bind(self, view: View) -> None:
        """Read every source once, so that a batch fills its fields from now on.

        Raises:
            ValueError: a batch does not offer a source; the message names the entry.
        """
        for entry in self._entries.values():
            source = entry.observable.source
            if isinstance(source, Quantity):
                with _named(f"observables: {entry.name!r}"):
                    _check_shape(source(view), (*view.lead, *entry.readings.shape[2:]))

    def seed(self, i: int, rng: np.random.Generator) -> None:
        for entry, child in zip(self._entries.values(), rng.spawn(len(self._entries)), strict=True):
            entry.seed(i, child)

    def restart(
        self, rows: np.ndarray, time: np.ndarray, view: View, evaluate: Evaluate, draw: Draw
    ) -> None:
        """Take the first readings of new episodes.

        Args:
            time: physics steps of their episodes so far, (len(rows),).
        """
        task_entries: dict[str, Array] = {}
        for entry in self._entries.values():
            entry.schedule.restart(rows, time)
            values, task_entries = self._values(entry, rows, task_entries, view, evaluate, draw)
            entry.readings[rows] = entry.corrupt(values, rows)[:, None]

    def _values(
        self,
        entry: _Entry,
        rows: np.ndarray,
        task_entries: dict[str, Array],
        view: View,
        evaluate: Evaluate,
        draw: Draw,
    ) -> tuple[np.ndarray, dict[str, Array]]:
        """An entry's values in some simulations, and the task's entries once evaluated."""
        source = entry.observable.source
        if isinstance(source, Image):
            return draw(source, rows), task_entries
        if source is None:
            task_entries = task_entries or evaluate()
            value = task_entries[entry.name]
        else:
            value = source(view)
        whole = view.to_numpy(value).reshape(self._n, *entry.readings.shape[2:])
        return whole[rows], task_entries

    def stops(self, time: np.ndarray, active: np.ndarray | None) -> list[int]:
        """Physics steps of the next control step after which a reading is due.

        Args:
            time: physics steps of all episodes so far, (n,).
            active: simulations that make the step, (n,) bool; None for all.

        Returns:
            Numbers of physics steps, less than `substeps`, ascending.
        """
        self._needed[...] = False
        for entry in self._entries.values():
            entry.needed = entry.schedule.needed(time)
            if active is not None:
                entry.needed = entry.needed & active[:, None]
            self._needed |= entry.needed
        self._begin = time
        return (1 + np.flatnonzero(self._needed[:, :-1].any(axis=0))).tolist()

    def read(self, step: int, view: View, evaluate: Evaluate, draw: Draw) -> None:
        """Take the readings that are due after `step` physics steps of a control step."""
        task_entries: dict[str, Array] = {}
        for entry in self._entries.values():
            due = entry.needed[:, step - 1]
            if not due.any():
                continue
            rows = self._everyone if due.all() else np.flatnonzero(due)
            values, task_entries = self._values(entry, rows, task_entries, view, evaluate, draw)
            time = self._begin if rows is self._everyone else self._begin[rows]
            place = entry.schedule.place(rows, time + step)
            entry.readings[rows, place] = entry.corrupt(values, rows)

    def observe(self, time: np.ndarray, lead: tuple[int, ...], evaluate: Evaluate) -> Any:
        """The entries of an observation, by name, after physics steps (n,) of all episodes."""
        plain = evaluate() if self._plain else {}
        return {
            name: self._entries[name].show(time).reshape((*lead, *shape))
            if name in self._entries
            else plain[name]
            for name, shape in self.shapes.items()
        }

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of everything the next observations depend on, by "<entry>.<part>"."""
        return {
            f"{name}.{part}": values
            for name, entry in self._entries.items()
            for part, values in entry.state(rows).items()
        }

    def restore(self, state: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Continue from a state, which may lack entries."""
        for name, entry in self._entries.items():
            present = entry.state(rows)
            entry.restore({p: state.get(f"{name}.{p}", v) for p, v in present.items()}, rows)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Put the entry's name in front of error messages, including those of user functions.

    Floating-point warnings are off: some values are still zero.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        raise ValueError(f"{name}: {error}") from error


def _check_shape(value: Any, wanted: tuple[int, ...]) -> None:
    if shape(value) != wanted:
        raise ValueError(f"gives shape {shape(value)}, expected {wanted}")
