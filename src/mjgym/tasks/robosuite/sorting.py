"""Base class of PickPlace and NutAssembly: each object has its place."""

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.arrays import Array, namespace
from mjgym.resets import put
from mjgym.robots import touching
from mjgym.rotations import norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, vector_names
from mjgym.tasks.robosuite.tabletop import Tabletop, closeness, pose_in_hand, reward_if, xyzw
from mjgym.util.values import one_of

ALL, RANDOM = "all", "random"
TAGS = ("tabletop", "one-arm")
PARKED = 10.0  # m along x and y, position of unused objects

REACH, GRASP, LIFT, OVER, HOVER = 0.1, 0.35, 0.5, 0.5, 0.2  # rewards
LIFT_SCALE = 15.0  # 1/m, how fast the reward for lifting falls off
LET_GO = 0.6  # of 1 - tanh(10 d): an object counts only with the tool further than 4.2 cm away


@dataclass(frozen=True)
class Sorting(Tabletop):
    """Objects that each have a place to be put in.

    A task defines `kinds`, `asked` and `lowest`, where objects go to (`goal`, `arrived`,
    `lift_height`), and where they are held (`handle`).
    """

    kinds: ClassVar[Mapping[str, str]] = {}
    """The objects' names, in the order of their numbers, by the word that asks for each."""
    option: ClassVar[str] = ""
    """The field that says which objects are at work: "all", "random" or a word of `kinds`."""
    drawn_prefix: ClassVar[str] = ""
    """Prefix of the entries of an object that is drawn."""
    lowest: ClassVar[Mapping[str, float]] = {}
    """Height of each object's frame when it stands, m."""

    def __post_init__(self) -> None:
        one_of(self.option, self.choice, (ALL, RANDOM, *self.kinds))
        super().__post_init__()

    @property
    def choice(self) -> Any:
        return getattr(self, self.option)

    @property
    def most(self) -> float:
        """The raw reward of success: 1 for each object that is to be put away."""
        return float(len(self.kinds)) if self.choice == ALL else 1.0

    @property
    def labels_of_objects(self) -> dict[str, tuple[str, ...]]:
        """Prefixes of the entries of the objects to put away: all, or one of them."""
        if self.choice == RANDOM:
            return {self.drawn_prefix: self.object_names}
        names = self.object_names if self.choice == ALL else (self.kinds[self.choice],)
        return {name: (name,) for name in names}

    # Destinations.

    def goal(self, name: str) -> tuple[float, float]:
        """The middle of an object's place, x and y, m."""
        raise NotImplementedError(f"{type(self).__name__} must define goal()")

    def arrived(self, v: View, name: str) -> Array:
        """Tell whether an object is in its place, held or not, bool."""
        raise NotImplementedError(f"{type(self).__name__} must define arrived()")

    @property
    def lift_height(self) -> float:
        """Height to lift objects to while carrying them, m."""
        raise NotImplementedError(f"{type(self).__name__} must define lift_height")

    def handle(self, v: View, name: str) -> Array:
        """The point that an object is to be held by, (..., 3) m."""
        return v.body(self.body_of(name)).xpos

    def carried(self, v: View, name: str, lift: Array) -> Array:
        """The lower end of the hovering reward: the reward for lifting."""
        return lift

    def from_goal(self, v: View, name: str) -> Array:
        """From the middle of an object's place to the object, seen from above, (..., 2) m."""
        goal = v.xp.asarray(self.goal(name), dtype=v.xp.float64)
        return v.body(self.body_of(name)).xpos[..., 0:2] - goal

    # Start of an episode.

    def place(self, v: SingleView, rng: Any) -> None:
        super().place(v, rng)
        if self.choice == ALL:
            return
        names = self.object_names
        chosen = (
            names[rng.integers(len(names))] if self.choice == RANDOM else self.kinds[self.choice]
        )
        for i, name in enumerate(names):
            if name != chosen:
                where = PARKED, PARKED + i, self.lowest[name]
                put(v, self.body_of(name), where, (1.0, 0.0, 0.0, 0.0))

    def memory(self, v: View) -> Arrays:
        memory = super().memory(v)
        if self.choice == RANDOM:  # the one that is not parked
            xp = v.xp
            away = [v.body(self.body_of(name)).xpos[..., 0:1] for name in self.object_names]
            number = xp.argmin(xp.concat(away, axis=-1), axis=-1)
            memory["object"] = xp.asarray(number, dtype=xp.float64)
        return memory

    # Observation.

    def objects(self, v: View) -> Arrays:
        if self.choice != RANDOM:
            names = self.object_names if self.choice == ALL else (self.kinds[self.choice],)
            return {key: x for name in names for key, x in self.poses(v, name, name).items()}
        number, *others = (self.poses(v, name, self.drawn_prefix) for name in self.object_names)
        chosen = v.memory["object"]
        for i, other in enumerate(others, start=1):
            this = chosen[..., None] == i
            number = {key: v.xp.where(this, other[key], x) for key, x in number.items()}
        return {**number, f"{self.drawn_prefix}_id": chosen}

    def poses(self, v: View, name: str, label: str) -> Arrays:
        """An object's pose in each hand and in the world, in entries that begin with a label."""
        body, entries = self.body_of(name), {}
        for manipulator in self.manipulators:
            ahead, turn = pose_in_hand(v, manipulator, body)
            entries[f"{label}_to_{manipulator.label}eef_pos"] = ahead
            entries[f"{label}_to_{manipulator.label}eef_quat"] = turn
        entries[f"{label}_pos"] = v.body(body).xpos
        entries[f"{label}_quat"] = xyzw(v.body(body).xquat, v)
        return entries

    def labels(self, v: View) -> dict[str, Signal]:
        signals = super().labels(v)
        if self.grouped or not self.object_entries:
            return signals
        if self.choice == RANDOM:
            pose_signals = self._pose_labels(self.drawn_prefix, self.drawn_prefix, "the object")
            pose_signals[f"{self.drawn_prefix}_id"] = Signal(
                f"number of the object among {', '.join(self.object_names)}, from 0", unit="1"
            )
        else:
            names = self.object_names if self.choice == ALL else (self.kinds[self.choice],)
            pose_signals = {
                key: signal
                for name in names
                for key, signal in self._pose_labels(name, self.body_of(name), name).items()
            }
        return signals | pose_signals

    def _pose_labels(self, label: str, body: str, called: str) -> dict[str, Signal]:
        numbers = {
            "pos": (f"place of {called}", vector_names(body)),
            "quat": (
                f"orientation of {called}",
                tuple(f"{body} quaternion {part}" for part in "xyzw"),
            ),
        }
        signals = {}
        for part, (meaning, names) in numbers.items():
            for manipulator in self.manipulators:
                signals[f"{label}_to_{manipulator.label}eef_{part}"] = Signal(
                    f"{meaning}, as the hand sees it",
                    names,
                    frame=manipulator.link,
                    source=f"body x{part} of {called}, at site {manipulator.tool}",
                )
            signals[f"{label}_{part}"] = Signal(meaning, names, source=f"body x{part} of {called}")
        return signals

    # Reward.

    def placed(self, v: View, name: str) -> Array:
        """Tell whether an object is in its place and let go, bool."""
        near = closeness(self.distance(v, v.body(self.body_of(name)).xpos))
        return self.arrived(v, name) & (near < LET_GO)

    def held(self, v: View, loose: Mapping[str, Array]) -> Array:
        """Tell whether all fingers of a hand touch some object that is out of its place, bool."""
        held = v.xp.zeros(v.lead, dtype=v.xp.bool)
        for arm in self.manipulators:
            touched = [
                [
                    finger & loose[name]
                    for finger in touching(v, arm.hand, arm.hand_prefix, self.body_of(name))
                ]
                for name in self.object_names
            ]
            fingers = [functools.reduce(operator.or_, any_) for any_ in zip(*touched, strict=True)]
            if fingers:
                held = held | functools.reduce(operator.and_, fingers)
        return held

    def terms(self, v: View) -> Arrays:
        xp, names = v.xp, self.object_names
        placed = {name: self.placed(v, name) for name in names}
        put_away = {"placed": sum(reward_if(v, inside, 1.0) for inside in placed.values())}
        if self.reward_type == "sparse":
            return put_away
        loose = {name: ~inside for name, inside in placed.items()}

        def best(rewards: Mapping[str, Array]) -> Array:
            """The largest of the objects that are not in their places, (...)."""
            left = [reward_if(v, loose[name], 1.0) * reward for name, reward in rewards.items()]
            return functools.reduce(xp.maximum, left)

        held = self.held(v, loose)
        low = {n: self.lift_height - v.body(self.body_of(n)).xpos[..., 2] for n in names}
        missing = {n: xp.maximum(z, xp.zeros_like(z)) for n, z in low.items()}
        high = best({n: closeness(z, LIFT_SCALE) for n, z in missing.items()})
        lift = reward_if(v, held, 1.0) * (GRASP + (LIFT - GRASP) * high)
        hover = {
            n: self.carried(v, n, lift) + HOVER * closeness(norm(self.from_goal(v, n)))
            for n in names
        }
        near = {n: closeness(self.distance(v, self.handle(v, n))) for n in names}
        return {
            "reach": REACH * best(near),
            "grasp": reward_if(v, held, GRASP),
            "lift": lift,
            "hover": best(hover),
            **put_away,
        }

    def stages(self, terms: Arrays) -> Array:
        placed = terms["placed"]
        on_the_way = [value for name, value in terms.items() if name != "placed"]
        return placed + functools.reduce(namespace(placed).maximum, on_the_way)

    def success(self, v: View) -> Array:
        together = operator.and_ if self.choice == ALL else operator.or_
        return functools.reduce(together, (self.placed(v, name) for name in self.object_names))
