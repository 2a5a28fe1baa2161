"""Forces of a walker packed for the compiled function that runs between physics steps."""

import itertools
from collections.abc import Mapping

import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View
from mjgym_fast import walker_kernel as kernel
from mjgym_fast.stepping import Law


class PackedWalker(Law):
    """Packed forces of a musculoskeletal walker; see `mjgym_fast.stepping.Law`.

    Args:
        sizes: counts, by the names in `walker_kernel.SIZES`.
        constants: scalars, by the names in `CONSTANTS`.
        arrays: the rest, by the names in `INTEGERS` and `NUMBERS`.
        memory: entries of the task's memory and their widths, in the function's order: excitations,
            activations, fibre and muscle lengths, joint forces, the count of physics steps. All but
            the first change.

    Raises:
        ValueError: the walker exceeds a capacity.
    """

    address, work = int(kernel.law.address), kernel.WORK

    def __init__(
        self,
        sizes: Mapping[str, int],
        constants: Mapping[str, float],
        arrays: Mapping[str, np.ndarray],
        memory: Mapping[str, int],
    ) -> None:
        for name, most in (
            ("joints", kernel.MOST_JOINTS),
            ("points", kernel.MOST_POINTS),
            ("pieces", kernel.MOST_PIECES),
            ("muscles", kernel.MOST_MUSCLES),
            ("functions", kernel.MOST_FUNCTIONS),
        ):
            if sizes[name] > most:
                raise ValueError(f"{name}: at most {most}, got {sizes[name]}")
        numbers = {**arrays, "constants": np.array([constants[x] for x in kernel.CONSTANTS])}
        whole = [np.ravel(arrays[name]).astype(np.int64) for name in kernel.INTEGERS]
        real = [np.ravel(numbers[name]).astype(np.float64) for name in kernel.NUMBERS]
        head = len(kernel.SIZES) + len(whole) + len(real)
        starts = np.cumsum([head, *map(len, whole[:-1])]), np.cumsum([0, *map(len, real[:-1])])
        counts = np.array([sizes[name] for name in kernel.SIZES])
        self.integers = np.concatenate([counts, *starts, *whole]).astype(np.int64)
        self.numbers = np.concatenate(real)
        self._joints = sizes["joints"]
        ends = np.cumsum([0, *memory.values()]).tolist()
        self._places = dict(zip(memory, itertools.pairwise(ends), strict=True))
        self._single = [name for name, width in memory.items() if width == 1]

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls, all set by the function, and its memory, (n, k)."""
        n = view.lead[0] if view.lead else 1
        parts = [view.memory[name].reshape(n, -1) for name in self._places]
        control = np.zeros((*view.lead, self._joints))
        return control, np.concatenate(parts, axis=1, dtype=np.float64)

    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """Memory entries that physics steps change."""
        _, *changed = self._places.items()
        entries = {}
        for name, (start, end) in changed:
            values = memory[:, start:end].reshape(*view.lead, end - start)
            entries[name] = values[..., 0] if name in self._single else values
        return entries
