"""Several controllers side by side: two arms, an arm and its gripper."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from mjgym.actions import Action
from mjgym.arrays import Array
from mjgym.controllers.controller import Arrays, Controller, State


@dataclass(frozen=True)
class Composite:
    """Controllers of parts, by the parts' names; their actions stand in the parts' order.

    Args:
        parts: pairs of a name and a controller.
        joints: the names of each part's joints.

    Raises:
        ValueError: names and joints do not match, or a name is there twice.
    """

    parts: tuple[tuple[str, Controller], ...]
    joints: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"parts: a name is there twice: {names}")
        if len(self.joints) != len(names):
            raise ValueError(f"joints: of {len(self.joints)} parts, expected {len(names)}")

    def actions(self) -> tuple[Action, ...]:
        """The action dimensions of all parts, each name prefixed with its part's."""
        return tuple(
            dataclasses.replace(action, name=f"{name} {action.name}")
            for (name, part), joints in zip(self.parts, self.joints, strict=True)
            for action in part.actions(joints)
        )

    def memory(self, states: Mapping[str, State]) -> Arrays:
        """The memory of all parts at the start of an episode, from the state of each."""
        return _joined({name: part.memory(states[name]) for name, part in self.parts})

    def goal(self, states: Mapping[str, State], action: Array, memory: Arrays) -> Arrays:
        """The memory at the start of a control step."""
        return _joined(
            {
                name: part.goal(states[name], action[..., numbers], _of(name, memory))
                for (name, part), numbers in zip(self.parts, self._numbers, strict=True)
            }
        )

    @functools.cached_property
    def _numbers(self) -> tuple[slice, ...]:
        """The slice of the action that belongs to each part."""
        counts = [
            len(part.actions(joints))
            for (_, part), joints in zip(self.parts, self.joints, strict=True)
        ]
        ends = list(itertools.accumulate(counts))
        return tuple(slice(end - n, end) for end, n in zip(ends, counts, strict=True))

    def torque(self, states: Mapping[str, State], memory: Arrays) -> Arrays:
        """Each part's torques, (..., n), by its name."""
        return {name: part.torque(states[name], _of(name, memory)) for name, part in self.parts}

    @property
    def remembers_substeps(self) -> bool:
        """Whether `substep` changes the memory of any part."""
        return any(part.remembers_substeps for _, part in self.parts)

    def substep(self, states: Mapping[str, State], memory: Arrays) -> Arrays:
        """The memory after a physics step."""
        return _joined(
            {name: part.substep(states[name], _of(name, memory)) for name, part in self.parts}
        )


def _joined(parts: Mapping[str, Arrays]) -> Arrays:
    return {f"{name}/{key}": array for name, part in parts.items() for key, array in part.items()}


def _of(name: str, memory: Arrays) -> Arrays:
    return {own: memory[key] for own, key in _keys(name, tuple(memory))}


@functools.lru_cache
def _keys(name: str, keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The names that a part gives to its entries, and those in the whole memory."""
    prefix = f"{name}/"
    return tuple((key.removeprefix(prefix), key) for key in keys if key.startswith(prefix))
