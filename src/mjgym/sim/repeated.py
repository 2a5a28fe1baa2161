"""A view on copies of one simulation: the state of each is the same."""

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import Named, View


class RepeatedView(View):
    """A view of one simulation as if there were n of them; its arrays cannot be written to.

    Args:
        view: of the one simulation, in NumPy.
        n: how many there seem to be.
    """

    def __init__(self, view: View, n: int) -> None:
        super().__init__((n,))
        self.__dict__.update(_view=view, _model=view._model)

    def _repeated(self, value: Array) -> Array:
        return np.broadcast_to(value, (*self.lead, *np.shape(value)))

    def stays(self, name: str) -> bool:
        """As of the one simulation."""
        return bool(self._view.stays(name))

    def _field(self, name: str) -> Array:
        return self._repeated(getattr(self._view, name))

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._view, kind)(name)
        return Named(lambda attribute: self._repeated(getattr(named, attribute)))
