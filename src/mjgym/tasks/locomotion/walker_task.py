"""Base class of the family's tasks: a walker in an arena, its observation, fall detection."""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mjgym.mjcf import Spec, published_look
from mjgym.observables import Observable, observe
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Signal, Task
from mjgym.task.task_fields import steps_in
from mjgym.tasks.locomotion.arenas import Arena, find_arena
from mjgym.tasks.locomotion.walkers import Walker, find_walker, walker_names
from mjgym.tasks.locomotion.walkers.any_walker import LEAST_INERTIA, LEAST_MASS
from mjgym.util.docstrings import meanings

EYE = 64  # pixels, each way, of the egocentric camera's images
MOST_ADDED = 10**6  # physics timesteps whose sum is the limit; rounding lengthens no other episode


@functools.cache  # called by hooks at each step
def _scaled(arena: Arena, scale: float | None) -> Arena:
    return arena.scaled(scale)


def _fitting(arena: Arena, walker: Walker, named: bool) -> Arena:
    """Scale an arena given by name to the walker; instances keep their sizes."""
    return _scaled(arena, walker.scale) if named and arena.scale is not None else arena


@dataclass(frozen=True)
class WalkerTask(Task):
    """A walker in an arena.

    A named arena has the walker's size, and its fields are keyword arguments of the id, too:
    `arena="walls", wall_gap=3.0`.
    """

    walker: str | Walker = "cmu_humanoid"  # its name, "module:Class", or itself
    arena: str | Arena = "floor"  # its name, "module:Class", or itself
    time_limit: float = 30.0  # s
    control_timestep: float = 0.03  # s
    physics_timestep: float = 0.005  # s
    sees: bool = True  # with pixels, the egocentric camera's image is observed
    rangefinders: bool = False  # of the walker, if it has any, are observed
    ends_on_fall: bool = False  # the episode ends when something but a foot touches the ground

    @classmethod
    def adopt(cls, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Move fields of the arena among the arguments into it; returns all, and their names."""
        defaults = {f.name: f.default for f in dataclasses.fields(cls)}
        walker, arena = (arguments.get(name, defaults[name]) for name in ("walker", "arena"))
        place = _fitting(find_arena(arena), find_walker(walker), isinstance(arena, str))
        sizes = [f.name for f in dataclasses.fields(place) if f.init and f.name not in defaults]
        adopted = {name: value for name, value in arguments.items() if name in sizes}
        rest = {name: value for name, value in arguments.items() if name not in sizes}
        if adopted:
            rest["arena"] = dataclasses.replace(place, **adopted)
        return rest, tuple(sizes)

    def __post_init__(self) -> None:
        if self.ends_on_fall and self.creature.crawls:
            raise ValueError(
                f"ends_on_fall: the trunk of the walker {self.walker!r} touches the ground in its"
                " usual posture, which would be a fall at once; give ends_on_fall=False"
            )
        for field, needed, what in (
            ("rangefinders", "rangefinder", "no rangefinders"),
            ("ends_on_fall", "feet", "no feet: whatever touches the ground would be a fall"),
        ):
            if getattr(self, field) and not getattr(self.creature, needed):
                able = [name for name in walker_names() if getattr(find_walker(name), needed)]
                raise ValueError(
                    f"{field}: the walker {self.walker!r} has {what}; {', '.join(able)} would do"
                )

    @property
    def creature(self) -> Walker:
        return find_walker(self.walker)

    @property
    def creatures(self) -> tuple[Walker, ...]:
        """All walkers in the scene, each with its own prefix."""
        return (self.creature,)

    @property
    def surroundings(self) -> Arena:
        """The arena, fitted to the walker."""
        return _fitting(find_arena(self.arena), self.creature, isinstance(self.arena, str))

    @property
    def varies(self) -> tuple[str, ...]:
        return self.surroundings.varies

    @property
    def observables(self) -> Mapping[str, Observable]:
        """Observables of the egocentric cameras, where images are observed."""
        return {
            f"{walker.prefix}egocentric_camera": Observable(
                observe.image(
                    walker.prefix + walker.camera,
                    width=EYE,
                    height=EYE,
                    hidden_groups=walker.hidden_groups,
                )
            )
            for walker in self.creatures
            if self.sees
        }

    @property
    def viewpoint(self) -> str | int:
        first = self.creatures[0]
        return f"{first.prefix}{first.viewpoint}" if first.viewpoint else 0

    def episode_steps(self) -> int | None:
        """Control steps until the sum of the timesteps has reached the limit.

        The published tasks add up their clock: rounding makes 1001 steps of 30 s.
        """
        steps = steps_in(self.time_limit, self.control_timestep)
        substeps = max(1, round(self.control_timestep / self.physics_timestep))
        if steps is None or steps * substeps > MOST_ADDED:
            return steps
        return _steps_of_clock(self.time_limit, self.physics_timestep, substeps)

    def model(self) -> Spec:
        spec = self.surroundings.model()
        spec.option.timestep = self.physics_timestep
        # Frames of walkers have no geoms, and so no mass.
        spec.compiler.boundmass = max(spec.compiler.boundmass, LEAST_MASS)
        spec.compiler.boundinertia = max(spec.compiler.boundinertia, LEAST_INERTIA)
        for walker in self.creatures:
            walker.enter(spec)
            if self.ends_on_fall:
                walker.watch_ground(spec, self.surroundings.ground())
        return spec

    def dress(self, spec: Spec) -> None:
        self.surroundings.dress(spec)
        for walker in self.creatures:
            walker.add_coat(spec)

    @property
    def has_published_look(self) -> bool:
        return all(walker.published_file for walker in self.creatures)

    def dress_as_published(self, spec: Spec) -> None:
        self.surroundings.dress_as_published(spec)
        for walker in self.creatures:
            published_look.wear(spec, walker.published_file, walker.prefix)

    def fallen(self, v: View) -> Array:
        """Tell whether something but a foot touches the ground; never without `ends_on_fall`."""
        fallen = v.xp.zeros(v.lead, dtype=v.xp.bool)
        for walker in self.creatures if self.ends_on_fall else ():
            fallen = fallen | walker.fallen(v, self.surroundings.ground())
        return fallen

    def observation(self, v: View) -> Arrays:
        entries: Arrays = {}
        for walker in self.creatures:
            entries |= walker.observation(v)
            if self.rangefinders:
                entries |= walker.ranges(v)
        return entries

    def labels(self, v: View) -> dict[str, Signal]:
        """Labels of the walkers' observations, from the walkers and their docstrings."""
        entries, stated = WalkerTask.observation(self, v), {}
        for walker in self.creatures:
            names = [
                key.removeprefix(walker.prefix) for key in entries if key.startswith(walker.prefix)
            ]
            labels = walker.labels()
            for key, meaning in meanings(type(walker), names).items():
                label = labels.get(key, Signal())
                stated[walker.prefix + key] = dataclasses.replace(label, meaning=meaning)
        return stated

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.surroundings.draw(v, rng)


@functools.cache  # called repeatedly, and many ids share a clock
def _steps_of_clock(limit: float, timestep: float, substeps: int) -> int:
    """Control steps until a sum of timesteps reaches a limit, both in seconds."""
    clock, steps = 0.0, 0
    while clock < limit:
        for _ in range(substeps):
            clock += timestep
        steps += 1
    return steps
