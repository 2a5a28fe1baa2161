"""Changes of a simulation's dynamics within an episode."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mjgym.sim.fields import PREFIXES
from mjgym.util.suggestions import or_else
from mjgym.variation.varying import Varying
from mjgym_compat.robosuite.wrappers.domain_randomization_wrapper import (
    DEFAULT_DYNAMICS_ARGS,
    VARIED,
    perturbed,
)

OPTIONS = ("density", "viscosity")  # of the medium, of no element
FIELDS: dict[str, str] = {
    **{name: f"opt.{name}" for name in OPTIONS},
    "quaternion": "body_quat",
    **{
        row[0]: row[1].partition("[")[0]
        for names in ("body_names", "geom_names", "joint_names")
        for row in VARIED[names]
    },
}
"""Field of the model by robosuite's name of a quantity."""


class DynamicsModder:
    """Set or draw masses, friction and the like of a simulation.

    Args:
        random_state: of draws, a `np.random.RandomState`; None for a random one.
        **options: what `randomize` draws, see `DEFAULT_DYNAMICS_ARGS`.

    Raises:
        TypeError: there is no such option; the message names the nearest.
    """

    def __init__(self, sim: Any, random_state: Any = None, **options: Any) -> None:
        for name in options:
            if name not in DEFAULT_DYNAMICS_ARGS:
                raise TypeError(f"no option {name!r}{or_else(name, DEFAULT_DYNAMICS_ARGS)}")
        self._options = {**DEFAULT_DYNAMICS_ARGS, **options}
        seed = None if random_state is None else int(random_state.randint(2**31))
        self._rng, self._draws = np.random.default_rng(seed), 0
        self.update_sim(sim)

    @property
    def model(self) -> Any:
        return self.sim.model

    @property
    def dynamics_parameters(self) -> Mapping[str, str]:
        """The fields that `mod` sets, by robosuite's names."""
        return FIELDS

    def update_sim(self, sim: Any) -> None:
        """Use another simulation, whose present values are the defaults."""
        self.sim = sim
        self.save_defaults()

    def save_defaults(self) -> None:
        self._defaults = {field: np.copy(getattr(*self._place(field))) for field in FIELDS.values()}

    def restore_defaults(self) -> None:
        for field, values in self._defaults.items():
            self._write(field, values)

    def randomize(self) -> None:
        self.restore_defaults()
        model = self.sim.model._model
        varying = Varying(perturbed(self._options, model), model)
        varying.write(model, varying.draw(self._rng, self._draws))
        self._draws += 1
        self.update()

    def update(self) -> None:
        """Recompute what depends on the values."""
        self.sim.forward()

    def mod(self, name: str | None, attr: str, val: Any) -> None:
        """Set a quantity of an element; of no element for "density" and "viscosity".

        Raises:
            ValueError: there is no such quantity; the message names the nearest.
        """
        if attr not in FIELDS:
            raise ValueError(f"attr: no {attr!r}{or_else(attr, FIELDS)}")
        field = FIELDS[attr]
        if attr in OPTIONS:
            self._write(field, np.asarray(val))
            return
        prefix = field.partition("_")[0]
        kind = "joint" if prefix == "dof" else PREFIXES.get(prefix, prefix)
        element = getattr(self.sim.model._model, kind)(name)
        getattr(element, field.partition("_")[2])[:] = val

    def _place(self, field: str) -> tuple[Any, str]:
        model = self.sim.model._model
        return (model.opt if field.startswith("opt.") else model), field.removeprefix("opt.")

    def _write(self, field: str, values: np.ndarray) -> None:
        holder, name = self._place(field)
        setattr(holder, name, values[()])
