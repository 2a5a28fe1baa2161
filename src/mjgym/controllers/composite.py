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
    """Controllers of named parts; the action concatenates theirs in order.

    Raises:
        ValueError: names and joints do not match, or a name is repeated.
    """

    parts: tuple[tuple[str, Controller], ...]  # pairs of a name and a controller
    joints: tuple[tuple[str, ...], ...]
    robots: tuple[int, ...] = ()  # robot index of each part; empty for a single robot

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(f"parts: a name is there twice: {names}")
        if len(self.joints) != len(names):
            raise ValueError(f"joints: of {len(self.joints)} parts, expected {len(names)}")

    def actions(self) -> tuple[Action, ...]:
        """Action dimensions of all parts, with names prefixed by part."""
        return tuple(
            dataclasses.replace(action, name=f"{name} {action.name}")
            for (name, part), joints in zip(self.parts, self.joints, strict=True)
            for action in part.actions(joints)
        )

    def memory(self, states: Mapping[str, State]) -> Arrays:
        return _joined({name: part.memory(states[name]) for name, part in self.parts})

    def goal(self, states: Mapping[str, State], action: Array, memory: Arrays) -> Arrays:
        """Memory at the start of a control step."""
        inputs = {
            name: (states[name], action[..., numbers])
            for (name, _), numbers in zip(self.parts, self._numbers, strict=True)
        }
        goals = {
            name: part.goal(*inputs[name], _within(name, memory))
            for name, part in self.parts
            if not part.couples
        }
        for together in self._coupled:
            parts = [(law, *inputs[name], _within(name, memory)) for name, law in together]
            coupled = together[0][1].coupled_goals(parts)
            goals |= zip((name for name, _ in together), coupled, strict=True)
        return _joined({name: goals[name] for name, _ in self.parts})

    @functools.cached_property
    def _coupled(self) -> list[list[tuple[str, Controller]]]:
        of_robots: dict[int, list[tuple[str, Controller]]] = {}
        robots = self.robots or (0,) * len(self.parts)
        for robot, (name, law) in zip(robots, self.parts, strict=True):
            if law.couples:
                of_robots.setdefault(robot, []).append((name, law))
        return list(of_robots.values())

    @functools.cached_property
    def _numbers(self) -> tuple[slice, ...]:
        counts = [
            len(part.actions(joints))
            for (_, part), joints in zip(self.parts, self.joints, strict=True)
        ]
        ends = list(itertools.accumulate(counts))
        return tuple(slice(end - n, end) for end, n in zip(ends, counts, strict=True))

    def torque(self, states: Mapping[str, State], memory: Arrays) -> Arrays:
        """Compute the torques of each part, (..., n), by name."""
        return {n: part.torque(states[n], _within(n, memory)) for n, part in self.parts}

    def start_from_goal(self, name: str, state: State, memory: Arrays, where: Array) -> None:
        dict(self.parts)[name].start_from_goal(state, _within(name, memory), where)

    def substep(self, states: Mapping[str, State], memory: Arrays) -> Arrays:
        """Update the memory of all parts after a physics step."""
        return _joined(
            {name: part.substep(states[name], _within(name, memory)) for name, part in self.parts}
        )


def _joined(parts: Mapping[str, Arrays]) -> Arrays:
    return {f"{name}/{key}": array for name, part in parts.items() for key, array in part.items()}


def _within(name: str, memory: Arrays) -> Arrays:
    short, full = _keys(name, tuple(memory))
    return dict(zip(short, map(memory.__getitem__, full), strict=True))


@functools.lru_cache
def _keys(name: str, keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    prefix = f"{name}/"
    full = tuple(key for key in keys if key.startswith(prefix))
    return tuple(key.removeprefix(prefix) for key in full), full
