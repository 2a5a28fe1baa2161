"""The varied numbers of the current episodes: drawn, written and redrawn.

`begin` draws an episode's numbers and writes them into the model in which its start is written,
`push` writes its forces, and `redraw` those that change within the episode.
"""

from collections.abc import Mapping

import numpy as np

from mjgym.arrays import shape
from mjgym.sim import Simulation, Single
from mjgym.util.generators import STATE_WORDS, decode, encode
from mjgym.variation.varying import Varying

ROUNDING = 1e-9  # s, of times that are sums


class Draws:
    """The varied numbers of the episodes of n simulations, each with a separate generator.

    Args:
        every: when new values are drawn: "episode", "reset" or "never".

    Attributes:
        values: of the current episodes by key, (n, ...) each.
    """

    def __init__(self, varying: Varying, every: str, n: int) -> None:
        self.varying = varying
        self._every = every
        self._rngs = [np.random.default_rng(0) for _ in range(n)]
        self._count = np.zeros(n, dtype=np.int64)  # of draws so far
        shapes = {key: target.part.numbers.shape for key, target in varying.targets.items()}
        self.values = {key: np.zeros((n, *shape)) for key, shape in shapes.items()}
        self._due = {key: np.full(n, np.inf) for key in varying.intervals}  # s of the episode
        self._drawn = {key: np.zeros(n, dtype=np.int64) for key in varying.intervals}  # draws
        self.redraws = bool(varying.intervals)

    def seed(self, i: int, rng: np.random.Generator) -> None:
        """Reseed one simulation's stream."""
        self._rngs[i] = rng
        self._count[i] = 0
        for drawn in self._drawn.values():
            drawn[i] = 0

    def begin(self, i: int, scratch: Single, *, by_reset: bool) -> None:
        """Draw the values of a simulation's next episode, and write them over the defaults.

        `by_reset` is whether `reset` starts the episode, rather than an autoreset.
        """
        count = int(self._count[i])
        if count == 0 or self._every == "episode" or (self._every == "reset" and by_reset):
            for key, values in self.varying.draw(self._rngs[i], count).items():
                self.values[key][i] = values
            self._count[i] = count + 1
        for key, every in self.varying.intervals.items():
            self._due[key][i] = every(self._rngs[i])
        present = self._present(i)
        scratch.restore_defaults(lambda model: self.varying.write(model, present))

    def push(self, i: int, scratch: Single) -> None:
        fields = {name: getattr(scratch.view, name) for name in self.varying.forces}
        self.varying.push(fields, self._present(i))

    def _present(self, i: int) -> dict[str, np.ndarray]:
        return {key: values[i] for key, values in self.values.items()}

    def redraw(self, simulation: Simulation, time: np.ndarray, where: np.ndarray) -> None:
        """Redraw and write the forces that are due."""
        changed = np.zeros(len(time), dtype=bool)
        for key, every in self.varying.intervals.items():
            due = where & (time >= self._due[key] - ROUNDING)
            for i in np.flatnonzero(due).tolist():
                self._drawn[key][i] += 1  # not counted as an episode's draw
                count = int(self._drawn[key][i])
                self.values[key][i] = self.varying.targets[key].draw(self._rngs[i], count)
                # Late by less than a control step, which the next interval makes up for.
                following = self._due[key][i] + float(every(self._rngs[i], index=count))
                self._due[key][i] = max(following, time[i])
            changed |= due
        if not changed.any():
            return
        view = simulation.view
        fields = {name: getattr(view, name) for name in self.varying.forces}
        forces = {name: np.array(view.by_row(field)) for name, field in fields.items()}
        for i in np.flatnonzero(changed).tolist():
            self.varying.push({name: rows[i] for name, rows in forces.items()}, self._present(i))
        written = {n: view.from_numpy(forces[n].reshape(shape(fields[n]))) for n in fields}
        simulation.write(written, view.from_numpy(changed.reshape(view.lead)))

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of everything the next values depend on, and of the current values by key."""
        words = np.empty((len(rows), STATE_WORDS), dtype=np.uint64)
        for k, i in enumerate(rows.tolist()):
            words[k] = encode(self._rngs[i])
        present = {f"variation.{key}": values[rows] for key, values in self.values.items()}
        redrawn = {
            f"{prefix}{key}": values[rows]
            for prefix, held in self._repeated()
            for key, values in held.items()
        }
        return {"rng.variation": words, "variation.count": self._count[rows], **present, **redrawn}

    def _repeated(self) -> tuple[tuple[str, dict[str, np.ndarray]], ...]:
        return ("variation.due.", self._due), ("variation.drawn.", self._drawn)

    def restore(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Continue from a state, which may lack entries."""
        for k, i in enumerate(rows.tolist()):
            if "rng.variation" in state:
                decode(self._rngs[i], state["rng.variation"][k])
        if "variation.count" in state:
            self._count[rows] = state["variation.count"]
        for prefix, held in (("variation.", self.values), *self._repeated()):
            for key, values in held.items():
                if (name := f"{prefix}{key}") in state:
                    values[rows] = state[name]
