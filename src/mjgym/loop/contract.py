"""Whether hooks return what they should, asked once for each environment, when it is made."""

from collections.abc import Mapping
from typing import Any

from mjgym.arrays import Array
from mjgym.task import Arrays, Task
from mjgym.util.suggestions import or_else


class Expected:
    """What hooks are to return; everything else is refused by the hook's name.

    Args:
        task: whose hooks they are.
        lead: shape of the view that they were given.
    """

    def __init__(self, task: Task, lead: tuple[int, ...]) -> None:
        self._task = type(task).__name__
        self._lead = lead

    def entries(self, hook: str, value: Any, *, led: bool = True) -> Arrays:
        """A dict of arrays; `led` ones have a shape that begins with that of the view."""
        if not isinstance(value, Mapping):
            raise TypeError(f"{self._task}.{hook}(): expected a dict of arrays, got {value!r}")
        for name, entry in value.items():
            shape = _shape(entry)
            if shape is None:
                raise TypeError(f"{self._task}.{hook}(): {name!r} is no array: {entry!r}")
            if led and shape[: len(self._lead)] != self._lead:
                raise ValueError(
                    f"{self._task}.{hook}(): {name!r} has shape {shape}, but must begin with"
                    f" v.lead, {self._lead}"
                )
        return dict(value)

    def parts_of_memory(self, hook: str, value: Any, memory: Mapping[str, Array]) -> None:
        """Entries of the memory, in their shapes."""
        for name, entry in self.entries(hook, value).items():
            if name not in memory:
                known = list(memory)
                raise ValueError(
                    f"{self._task}.{hook}(): memory() has no {name!r}"
                    + (or_else(name, known) if known else "; it has no entries")
                )
            self.shape(hook, entry, _shape(memory[name]) or (), whole=True, name=name)

    def terms(self, value: Any) -> None:
        """The factors of a reward: one number each for every simulation."""
        for name, term in self.entries("terms", value, led=False).items():
            self.number("terms", term, name)

    def number(self, hook: str, value: Any, name: str = "") -> None:
        """One number for every simulation, or a plain one for all of them."""
        if isinstance(value, int | float):
            return
        shape = _shape(value)
        if shape is None:
            raise TypeError(f"{self._task}.{hook}(){_of(name)}: expected numbers, got {value!r}")
        if shape[: len(self._lead)] != self._lead:
            raise ValueError(
                f"{self._task}.{hook}(){_of(name)}: expected shape {self._lead}, got {shape}"
            )

    def flags(self, hook: str, value: Any) -> None:
        """One bool for every simulation, or a plain one for all of them."""
        self.number(hook, value)
        kind = type(value) if isinstance(value, int | float) else value.dtype
        if "bool" not in str(kind):
            raise TypeError(f"{self._task}.{hook}(): expected bool, got {kind}")

    def shape(
        self, hook: str, value: Any, own: tuple[int, ...], *, whole: bool = False, name: str = ""
    ) -> None:
        """An array of a shape: that of the view and its own one behind it."""
        shape, wanted = _shape(value), own if whole else (*self._lead, *own)
        if shape != wanted:
            got = repr(value) if shape is None else f"shape {shape}"
            raise ValueError(
                f"{self._task}.{hook}(){_of(name)}: expected shape {wanted}, got {got}"
            )


def _of(name: str) -> str:
    return f"[{name!r}]" if name else ""


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or a number; None if it is neither."""
    if isinstance(value, int | float):
        return ()
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)
