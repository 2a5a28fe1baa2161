"""Views whose arrays are computed from those of another view: repeated, or in another library."""

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import Named, View


class DerivedView(View):
    """A read-only view of another one, which is read at each access; subclasses change arrays.

    Args:
        view: NumPy view of one simulation or many.
        lead: leading shape of the changed arrays.
    """

    def __init__(self, view: View, lead: tuple[int, ...], xp: ModuleType = np) -> None:
        super().__init__(lead, xp)
        self.__dict__.update(_view=view, model=view.model)

    def _changed(self, value: Array) -> Array:
        raise NotImplementedError

    def _field(self, name: str) -> Array:
        return self._changed(getattr(self._view, name))

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._view, kind)(name)
        return Named(lambda attribute: self._changed(getattr(named, attribute)))


class RepeatedView(DerivedView):
    """A view of one simulation as if there were n copies."""

    def __init__(self, view: View, n: int) -> None:
        super().__init__(view, (n,))

    def _changed(self, value: Array) -> Array:
        return np.broadcast_to(value, (*self.lead, *np.shape(value)))

    def stays(self, name: str) -> bool:
        return bool(self._view.stays(name))


class ConvertedView(DerivedView):
    """A view with copies of another view's arrays in another array library.

    Args:
        xp: the library's array API namespace.
    """

    def __init__(self, view: View, xp: ModuleType) -> None:
        super().__init__(view, view.lead, xp)
        self.memory = {name: self._changed(value) for name, value in view.memory.items()}

    def _changed(self, value: Array) -> Array:
        return self.xp.asarray(np.array(value))

    def rows(self, field: str, names: Iterable[str]) -> slice | Array:
        """As `View.rows`, with indices in the library."""
        index = self._view.rows(field, names)
        return index if isinstance(index, slice) else self._changed(index)

    def _dofs(self, joints: tuple[str, ...]) -> np.ndarray:
        return np.asarray(self._view._dofs(joints))
