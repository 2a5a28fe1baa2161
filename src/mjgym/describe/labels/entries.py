"""Labels of an observation's entries, stated by the task or derived."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mjgym.describe.labels.label import Label
from mjgym.describe.labels.label_view import LabelView
from mjgym.sim.views import View
from mjgym.task import Signal, Task
from mjgym.util.docstrings import meanings
from mjgym.util.suggestions import or_else


def signals(task: Task, view: View, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Signal]:
    """Labels of each entry of a task's observation: the stated ones, else the derived ones.

    Raises:
        ValueError: `task.labels` names a missing entry, or has the wrong number of labels for one.
        TypeError: it returns something else than a Signal.
    """
    observed = _observed(task, view)
    stated = dict(task.labels(view))
    cls = type(task).__name__
    for entry, signal in stated.items():
        if entry not in shapes:
            raise ValueError(
                f"{cls}.labels: no entry {entry!r} in the observation{or_else(entry, shapes)}"
            )
        if not isinstance(signal, Signal):
            raise TypeError(f"{cls}.labels: {entry!r}: expected a Signal, got {signal!r}")
    said = meanings(type(task), shapes)
    labels = {}
    for entry, shape in shapes.items():
        derived = _signal(entry, shape, observed.get(entry))
        labels[entry] = _overridden(
            dataclasses.replace(derived, meaning=said[entry]),
            stated.get(entry),
            f"{cls}.labels",
            entry,
        )
    return labels


def _observed(task: Task, view: View) -> Mapping[str, Any]:
    try:
        with np.errstate(all="ignore"):
            return task.observation(LabelView(view))
    except Exception:  # a hook may do anything that labels do not support
        return {}


def unnamed(entry: str, shape: tuple[int, ...]) -> Signal:
    """Names by index alone."""
    places = [", ".join(map(str, place)) for place in np.ndindex(shape)]
    return Signal("", tuple(f"{entry}[{p}]" if p else entry for p in places))


def _signal(entry: str, shape: tuple[int, ...], value: Any) -> Signal:
    by_place = unnamed(entry, shape)
    if np.shape(value) != tuple(shape):
        return by_place
    labels = np.asarray(value, dtype=object).ravel().tolist()
    labels = _told_apart(_as_rows([x if isinstance(x, Label) else None for x in labels]))
    names = [x.name if x else place for x, place in zip(labels, by_place.names, strict=True)]
    prefix = entry[: entry.rfind("/") + 1]  # of names of elements as well
    names = [name if name in by_place.names else name.removeprefix(prefix) for name in names]
    if len(set(names)) < len(names):
        names = list(by_place.names)

    def parts(field: Callable[[Label], str]) -> tuple[str, ...]:
        return tuple(field(x) if x else "" for x in labels)

    return Signal(
        "",
        tuple(names),
        parts(lambda x: x.whole_unit),
        parts(lambda x: x.frame),
        parts(lambda x: x.source),
    )


def _as_rows(labels: list[Label | None]) -> list[Label | None]:
    """Rotation entries by meaning: cosines, sines, and the vertical seen from a body."""
    whole = [x.turn for x in labels if x and x.turn]

    def meant(x: Label | None) -> Label | None:
        if x is None or x.turn is None or not x.source.endswith("xmat"):
            return x
        frame, row, column = x.turn
        if (frame, "x", "y") in whole or (frame, "y", "x") in whole:  # more than a row
            return x
        if row == "z" and ((frame, "z", "x") in whole or (frame, "z", "y") in whole):
            return x.replace(what="vertical", axis=column, frame=frame)
        if row == column == "z" or (x.swings and row == column != "y"):
            return x.replace(what=f"cosine of {frame}", axis="")
        if x.swings and (row, column) == ("x", "z"):
            return x.replace(what=f"sine of {frame}", axis="")
        return x

    return [meant(x) for x in labels]


_QUANTITIES = {"rad": "angle", "m/s": "velocity", "rad/s": "velocity", "m/s^2": "acceleration"}


def _told_apart(labels: list[Label | None]) -> list[Label | None]:
    """Duplicate names distinguished by their quantity, or by their frame."""

    def apart(change: Callable[[Label], str]) -> None:
        count = Counter(x.name for x in labels if x)
        labels[:] = [x.replace(what=change(x)) if x and count[x.name] > 1 else x for x in labels]

    apart(lambda x: f"{x.what} {_QUANTITIES.get(x.unit, '')}".strip())
    apart(lambda x: f"{x.what} in {x.frame}" if x.frame else x.what)
    return labels


def _overridden(derived: Signal, stated: Signal | None, where: str, entry: str) -> Signal:
    """Labels of an entry stated by the task, completed by the derived ones."""
    if stated is None:
        return derived
    count = len(derived.names)
    changed: dict[str, Any] = {"meaning": stated.meaning or derived.meaning}
    for field in ("names", "unit", "frame", "source"):
        value = getattr(stated, field)
        each = (value,) * count if isinstance(value, str) else value
        if each and len(each) != count:
            noun = (field if field == "names" else f"{field}s")[: -1 if len(each) == 1 else None]
            raise ValueError(f"{where}: {len(each)} {noun} for the {count} numbers of {entry!r}")
        values = getattr(derived, field)
        values = (values,) * count if isinstance(values, str) else values
        changed[field] = tuple(a or b for a, b in zip(each or values, values, strict=True))
    return Signal(**changed)
