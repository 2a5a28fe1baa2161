"""A view that repeats one simulation."""

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import Named, View


class RepeatedView(View):
    """A read-only view of one simulation as if there were n copies.

    Args:
        view: NumPy view of the simulation.
    """

    def __init__(self, view: View, n: int) -> None:
        super().__init__((n,))
        self.__dict__.update(_view=view, model=view.model)

    def _repeated(self, value: Array) -> Array:
        return np.broadcast_to(value, (*self.lead, *np.shape(value)))

    def stays(self, name: str) -> bool:
        """As in the repeated view."""
        return bool(self._view.stays(name))

    def _field(self, name: str) -> Array:
        return self._repeated(getattr(self._view, name))

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._view, kind)(name)
        return Named(lambda attribute: self._repeated(getattr(named, attribute)))
