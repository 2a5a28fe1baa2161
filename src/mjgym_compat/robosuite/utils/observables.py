"""Custom and modified observation entries, under robosuite's names.

Entries are read once per control step. For delays, seeded noise and readings between control steps,
pass `observables` to `make`, see `mjgym.Observable`.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mjgym.util.suggestions import or_else

Sensor = Callable[[dict[str, Any]], Any]
ATTRIBUTES = ("sensor", "corrupter", "filter", "sampling_rate", "enabled", "active")


def sensor(modality: str) -> Callable[[Sensor], Sensor]:
    """Mark a function of all other entries as a sensor of a modality, e.g. "object"."""

    def mark(function: Sensor) -> Sensor:
        function.modality = modality  # type: ignore[attr-defined]
        return function

    return mark


def create_gaussian_noise_corrupter(
    mean: float, std: float, low: float = -np.inf, high: float = np.inf
) -> Callable[[Any], Any]:
    """A corrupter that adds Gaussian noise from NumPy's global generator, clipped to a range."""

    return _corrupter(partial(np.random.normal, mean, std), low, high)


def create_uniform_noise_corrupter(
    min_noise: float, max_noise: float, low: float = -np.inf, high: float = np.inf
) -> Callable[[Any], Any]:
    """A corrupter that adds uniform noise from NumPy's global generator, clipped to a range."""

    return _corrupter(partial(np.random.uniform, min_noise, max_noise), low, high)


def _corrupter(draw: Callable[..., Any], low: float, high: float) -> Callable[[Any], Any]:
    return lambda reading: np.clip(np.asarray(reading) + draw(np.shape(reading)), low, high)


@dataclass
class Observable:
    """An observation entry and how it is read.

    Args:
        name: of the entry.
        sensor: computes the reading from the previous entries, see `sensor`; None for the task's.
        corrupter: of readings, or None.
        filter: applied after the corrupter, or None.
        sampling_rate: Hz, at most the control frequency; None for every step.
        enabled: whether it is read.
        active: whether observations show it.
    """

    name: str
    sensor: Sensor | None = None
    corrupter: Callable[[Any], Any] | None = None
    filter: Callable[[Any], Any] | None = None
    sampling_rate: float | None = None
    enabled: bool = True
    active: bool = True


class Observables:
    """Entries that a user has added or modified, at a control frequency `rate` in Hz."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._changed: dict[str, Observable] = {}
        self._held: dict[str, tuple[float, Any]] = {}  # seconds since the reading, the reading
        self.added: dict[str, Observable] = {}

    def find(self, name: str) -> Observable:
        return self.added.get(name) or self._changed.get(name) or Observable(name)

    def add(self, observable: Observable) -> None:
        """Add an entry.

        Raises:
            ValueError: it has no sensor.
        """
        if not hasattr(observable.sensor, "modality"):
            raise ValueError(f"{observable.name}: its sensor needs @sensor(modality=...)")
        self.added[observable.name] = observable

    def modify(self, name: str, attribute: str, modifier: Any) -> None:
        """Change one of `ATTRIBUTES` of an entry.

        Raises:
            ValueError: there is no such attribute.
        """
        if attribute == "delayer":
            raise ValueError(
                "delayer: readings are taken once per control step here; make(..., observables="
                '{"name": mjgym.Observable(delay=...)}) delays'
            )
        if attribute not in ATTRIBUTES:
            raise ValueError(f"attribute: no {attribute!r}{or_else(attribute, ATTRIBUTES)}")
        if attribute == "sampling_rate" and modifier is not None and modifier > self._rate:
            warnings.warn(
                f"sampling_rate: {modifier:g} Hz is above that of actions, {self._rate:g} Hz, at"
                ' which entries are read here; make(..., observables={"name":'
                " mjgym.Observable(...)}) reads them between control steps",
                stacklevel=3,
            )
        observable = self.find(name)
        setattr(observable, attribute, modifier)
        if name not in self.added:
            self._changed[name] = observable

    def reset(self) -> None:
        self._held = {}

    def read(
        self, modalities: Mapping[str, Mapping[str, Any]], force: bool
    ) -> dict[str, dict[str, Any]]:
        """The entries of each modality as shown in the observation.

        Args:
            modalities: the task's entries by modality.
            force: whether to refresh held readings.
        """
        shown = {modality: dict(entries) for modality, entries in modalities.items()}
        if not (self._changed or self.added):
            return shown
        readings = {name: x for entries in shown.values() for name, x in entries.items()}
        for observable in self.added.values():
            assert observable.sensor is not None
            modality: str = observable.sensor.modality  # type: ignore[attr-defined]
            readings[observable.name] = observable.sensor(readings)
            shown.setdefault(modality, {})[observable.name] = readings[observable.name]
        for entries in shown.values():
            for name in list(entries):
                observable = self.find(name)
                if observable.active and observable.enabled:
                    entries[name] = self._read(observable, entries[name], readings, force)
                else:
                    del entries[name]
        return shown

    def _read(
        self, observable: Observable, value: Any, readings: dict[str, Any], force: bool
    ) -> Any:
        period = 1 / (observable.sampling_rate or self._rate)
        since, held = self._held.get(observable.name, (np.inf, None))
        since += 1 / self._rate
        if since < period * (1 - 1e-9) and not force:
            self._held[observable.name] = since, held
            return held
        if observable.sensor is not None and observable.name not in self.added:
            value = observable.sensor(readings)
        for change in (observable.corrupter, observable.filter):
            value = value if change is None else change(value)
        self._held[observable.name] = (0.0, value)
        return value
