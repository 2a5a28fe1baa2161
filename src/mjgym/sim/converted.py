"""A view that converts arrays to another array library."""

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import Named, View


class ConvertedView(View):
    """A view with copies of another view's NumPy arrays in another library.

    Args:
        view: view of one simulation or many; its arrays are read at each access.
        xp: the library's array API namespace.
    """

    def __init__(self, view: View, xp: ModuleType) -> None:
        super().__init__(view.lead, xp)
        self.__dict__.update(_view=view, model=view.model)
        self.memory = {name: self._converted(value) for name, value in view.memory.items()}

    def _converted(self, value: Array) -> Array:
        return self.xp.asarray(np.array(value))

    def _field(self, name: str) -> Array:
        return self._converted(getattr(self._view, name))

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._view, kind)(name)
        return Named(lambda attribute: self._converted(getattr(named, attribute)))

    def rows(self, field: str, names: Iterable[str]) -> slice | Array:
        """As `View.rows`, with indices in the library."""
        index = self._view.rows(field, names)
        return index if isinstance(index, slice) else self._converted(index)

    def _dofs(self, joints: tuple[str, ...]) -> np.ndarray:
        return np.asarray(self._view._dofs(joints))
