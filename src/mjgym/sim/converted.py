"""A view on the arrays of another library: what its hooks see there."""

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import Named, View


class ConvertedView(View):
    """A view whose arrays are copies, in another library, of those of a view in NumPy.

    Args:
        view: of one simulation or of many; its arrays are looked at anew with each access.
        xp: the library's namespace, of the array API standard.
    """

    def __init__(self, view: View, xp: ModuleType) -> None:
        super().__init__(view.lead, xp)
        self.__dict__.update(_view=view, _model=view._model)
        self.memory = {name: self._converted(value) for name, value in view.memory.items()}

    def _converted(self, value: Array) -> Array:
        return self.xp.asarray(np.array(value))

    def _field(self, name: str) -> Array:
        return self._converted(getattr(self._view, name))

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._view, kind)(name)
        return Named(lambda attribute: self._converted(getattr(named, attribute)))

    def rows(self, field: str, names: Iterable[str]) -> slice | Array:
        """As of the view in NumPy: a range, or an array of places in the library."""
        found = self._view.rows(field, names)
        return found if isinstance(found, slice) else self._converted(found)

    def _dofs(self, joints: tuple[str, ...]) -> np.ndarray:
        return np.asarray(self._view._dofs(joints))
