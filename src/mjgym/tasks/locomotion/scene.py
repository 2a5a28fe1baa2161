"""What all tasks of the family share: a walker in an arena, observed and watched for falls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array
from mjgym.mjcf import Spec, add
from mjgym.observables import Observable, observe
from mjgym.sim.single import SingleView
from mjgym.sim.view import View
from mjgym.task import Arrays, Signal, Task
from mjgym.tasks.locomotion.arenas import Arena, find_arena
from mjgym.tasks.locomotion.walkers import Walker, find_walker, walker_names
from mjgym.tasks.locomotion.walkers.walker import PREFIX

HOW_MANY = (1, 0, 1)  # of a contact sensor: count the contacts, as they are, in one number
VELOCITY = "velocity"  # the sensor of the velocity of the walker's centre of mass
EYE = 64  # pixels, of the egocentric camera's pictures each way
LEAST_MASS, LEAST_INERTIA = 1e-5, 1e-11  # kg, kg m^2, of a body that moves


@dataclass(frozen=True)
class Scene(Task):
    """A walker in an arena.

    Args:
        walker: its name, or "module:Class" of one's own.
        arena: its name, or "module:Class" of one's own.
        control_timestep: s.
        physics_timestep: s.
        sees: whether an observation with pixels has what the egocentric camera sees.
        rangefinders: whether its rangefinders are observed, if it has any.
        ends_on_fall: whether the episode ends when something but a foot touches the ground.
    """

    walker: str = "cmu_humanoid"  # its name, or "module:Class"
    arena: str = "floor"  # its name, or "module:Class"
    time_limit: float = 30.0  # s
    control_timestep: float = 0.03  # s
    physics_timestep: float = 0.005  # s
    sees: bool = True  # with pixels, the egocentric camera's picture is observed
    rangefinders: bool = False  # they are observed
    ends_on_fall: bool = False  # when something but a foot touches the ground

    def __post_init__(self) -> None:
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
        """The walker."""
        return find_walker(self.walker)

    @property
    def place(self) -> Arena:
        """The arena."""
        return find_arena(self.arena)

    @property
    def varies(self) -> tuple[str, ...]:
        """What the arena varies."""
        return self.place.varies

    @property
    def observables(self) -> Mapping[str, Observable]:
        """What the egocentric camera sees, where pictures are observed."""
        if not self.sees:
            return {}
        walker = self.creature
        image = observe.image(
            PREFIX + walker.camera, width=EYE, height=EYE, hidden_groups=walker.hidden_groups
        )
        return {f"{PREFIX}egocentric_camera": Observable(image)}

    def episode_steps(self) -> int | None:
        """Control steps until the sum of the timesteps has reached the limit.

        The published tasks add up their clock: rounding makes 1001 steps of 30 s.
        """
        if self.time_limit == float("inf"):
            return None
        substeps = max(1, round(self.control_timestep / self.physics_timestep))
        clock, steps = 0.0, 0
        while clock < self.time_limit:
            for _ in range(substeps):
                clock += self.physics_timestep
            steps += 1
        return steps

    def model(self) -> Spec:
        spec = self.place.model()
        spec.option.timestep = self.physics_timestep
        # The walker's frame has no shape of its own, and so no mass.
        spec.compiler.boundmass = max(spec.compiler.boundmass, LEAST_MASS)
        spec.compiler.boundinertia = max(spec.compiler.boundinertia, LEAST_INERTIA)
        walker = self.creature
        body = add(spec.worldbody, "body", name=PREFIX)
        walker.hang(body)
        spec.attach(walker.model(), prefix=PREFIX, frame=body.add_frame())
        add(
            spec, "sensor", name=VELOCITY, type="subtreelinvel", objtype="body",
            objname=PREFIX + walker.root,
        )  # fmt: skip
        self._watch_ground(spec)
        return spec

    def _watch_ground(self, spec: Spec) -> None:
        """Sensors that count what of the walker touches the ground."""
        if not self.ends_on_fall:
            return
        for ground, kind in self.place.ground().items():
            for part in self._parts():
                add(
                    spec, "sensor", name=f"{ground} under {part}", type="contact",
                    objtype=kind, objname=ground, reftype="xbody", refname=PREFIX + part,
                    intprm=HOW_MANY,
                )  # fmt: skip

    def _parts(self) -> tuple[str, ...]:
        """The whole walker, whose name is empty, and its feet; each with all that hangs on it."""
        return ("", *self.creature.feet)

    def fallen(self, v: View) -> Array:
        """Whether a fall ends the episode: something of the walker but a foot is on the ground."""
        if not self.ends_on_fall:
            return v.xp.zeros(v.lead, dtype=bool)
        contacts = {
            part: v.sensordata[
                ..., v.rows("sensordata", [f"{g} under {part}" for g in self.place.ground()])
            ].sum(axis=-1)
            for part in self._parts()
        }
        return contacts[""] > sum(contacts[foot] for foot in self.creature.feet)

    def velocity(self, v: View) -> Array:
        """Of the walker's centre of mass in the world, (..., 3) m/s."""
        return v.sensor(VELOCITY).data

    def observation(self, v: View) -> Arrays:
        walker = self.creature
        seen = walker.observation(v)
        return {**seen, **walker.ranges(v)} if self.rangefinders else seen

    def labels(self, v: View) -> dict[str, Signal]:
        return self.signals(v)

    def signals(self, v: View) -> dict[str, Signal]:
        present = Scene.observation(self, v)
        return {key: s for key, s in self.creature.signals(v).items() if key in present}

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.place.draw(v, rng)
