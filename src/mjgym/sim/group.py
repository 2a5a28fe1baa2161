"""A view that stacks several identical creatures along an axis."""

from collections.abc import Callable, Iterable
from typing import Any

from mjgym.arrays import Array, reshaped
from mjgym.sim.fields import owner
from mjgym.sim.views import Named, View


class GroupView(View):
    """Elements that occur under several prefixes, seen as one creature's with an extra axis.

    `GroupView(v, ("home_0/", "away_0/")).body("head").xpos` is (*v.lead, 2, 3): hooks written for
    one creature run for all of them at once. Its arrays are copies, made when first accessed since
    `of`.

    Args:
        prefixes: name prefix of each creature's elements.
    """

    def __init__(self, view: View, prefixes: tuple[str, ...]) -> None:
        super().__init__((*view.lead, len(prefixes)), view.xp)
        self.__dict__.update(_view=view, model=view.model, _prefixes=prefixes, _seen={})

    @classmethod
    def from_view(cls, view: View, prefixes: tuple[str, ...]) -> "GroupView":
        """The group view of the current state, cached per view."""
        key = "group", prefixes
        if key not in view._rows:
            view._rows[key] = cls(view, prefixes)
        group: GroupView = view._rows[key]
        group._seen.clear()
        return group

    def take(self, field: str, names: Iterable[str]) -> Array:
        """As `View.take`, with the axis of creatures behind that of the simulations."""
        names = tuple(names)
        if (field, names) in self._seen:
            return self._seen[field, names]
        view, lead = self._view, len(self._view.lead)
        values = view.take(field, self._full(names))
        count = values.shape[lead] // len(self._prefixes)
        stacked = reshaped(values, (*self.lead, count, *values.shape[lead + 1 :]))
        self._seen[field, names] = stacked
        return stacked

    def _full(self, names: tuple[str, ...]) -> tuple[str, ...]:
        full: tuple[str, ...] | None = self._rows.get(names)
        if full is None:
            full = tuple(prefix + name for prefix in self._prefixes for name in names)
            self._rows[names] = full
        return full

    def _element(self, kind: str, name: str) -> Named:
        return _Lookup(lambda attribute: self._attribute(kind, name, attribute))

    def _attribute(self, kind: str, name: str, attribute: str) -> Array:
        if kind == "sensor":
            return self.take("sensordata", (name,))
        field = attribute if owner(attribute)[0] == kind else f"{kind}_{attribute}"
        values = self.take(field, (name,))
        return values if kind == "joint" else values[..., 0, :]

    def _field(self, name: str) -> Array:
        raise AttributeError(f"{name}: ask for it by the names of elements, with take()")


class _Lookup(Named):
    """Named access without caching, since the values are copies."""

    def __init__(self, fetch: Callable[[str], Any]) -> None:
        self.__dict__["_fetch"] = fetch

    def __getattr__(self, attribute: str) -> Array:
        return self._fetch(attribute)
