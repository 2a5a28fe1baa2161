"""An open room with objects, and padding around it."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.locomotion.arenas.mazes import OUTSIDE, SPAWN, TARGET, WALL

FREE = " "


class PaddedRoom:
    """The text of a square room with targets and starts at random."""

    def __init__(
        self,
        room_size: int,
        num_objects: int = 0,
        random_state: Any = None,
        pad_with_walls: bool = True,
        num_agent_spawn_positions: int = 1,
    ) -> None:
        self._random_state = random_state or np.random.RandomState()
        self.width = self.height = room_size + 2 if pad_with_walls else room_size
        self._edge = 1 if pad_with_walls else 0
        self._tokens = [TARGET] * num_objects + [SPAWN] * num_agent_spawn_positions
        self.regenerate()

    def regenerate(self) -> None:
        layer = np.full((self.height, self.width), WALL)
        inside = layer[self._edge : self.height - self._edge, self._edge : self.width - self._edge]
        inside[:] = FREE
        cells = self._random_state.permutation(inside.size)[: len(self._tokens)]
        inside[np.unravel_index(cells, inside.shape)] = self._tokens
        self.entity_layer = layer
        self.variations_layer = np.full(layer.shape, OUTSIDE)
