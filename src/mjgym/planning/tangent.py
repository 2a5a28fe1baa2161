"""Tangent coordinates of states: nv of the position, nv of the velocity, na of the activations.

What else a state holds (memory, bodies that the task moves) is kept as it is.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

State = dict[str, np.ndarray]
"""Entries of `get_state`, of one state or with a leading axis of several."""


@dataclass(frozen=True)
class Tangent:
    """Tangent coordinates of a model's states."""

    model: mujoco.MjModel

    @property
    def size(self) -> int:
        return int(2 * self.model.nv + self.model.na)

    def moved(self, states: State, by: np.ndarray) -> State:
        """States (m, ...) moved by coordinates (m, nx)."""
        model, nv = self.model, self.model.nv
        qpos = states["qpos"] + 0.0
        if model.nq == nv:
            qpos += by[:, :nv]
        else:
            for row, change in zip(qpos, by[:, :nv], strict=True):
                mujoco.mj_integratePos(model, row, np.ascontiguousarray(change), 1.0)
        moved = {**states, "qpos": qpos, "qvel": states["qvel"] + by[:, nv : 2 * nv]}
        if model.na:
            moved["act"] = states["act"] + by[:, 2 * nv :]
        return moved

    def between(self, start: State, end: State) -> np.ndarray:
        """Coordinates (m, nx) that lead from states (m, ...) to others."""
        model, nv = self.model, self.model.nv
        change = end["qpos"] - start["qpos"]
        if model.nq != nv:
            change = np.zeros((len(change), nv))
            for row, a, b in zip(change, start["qpos"], end["qpos"], strict=True):
                mujoco.mj_differentiatePos(model, row, 1.0, a, b)
        parts = [change, end["qvel"] - start["qvel"]]
        if model.na:
            parts.append(end["act"] - start["act"])
        return np.concatenate(parts, axis=1)
