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
from mjgym.tasks.locomotion.walkers import Walker, find_walker
from mjgym.tasks.locomotion.walkers.walker import PREFIX

HOW_MANY = (1, 0, 1)  # of a contact sensor: count the contacts, as they are, in one number
VELOCITY = "velocity"  # the sensor of the velocity of the walker's centre of mass
EYE = 64  # pixels, of the egocentric camera's pictures each way


@dataclass(frozen=True)
class Scene(Task):
    """A walker in an arena.

    Args:
        walker: its name, or "module:Class" of one's own.
        arena: its name, or "module:Class" of one's own.
        time_limit: s.
        control_timestep: s.
        physics_timestep: s.
        sees: whether an observation with pixels has what the egocentric camera sees.
        rangefinders: whether its rangefinders are observed, if it has any.
        ends_on_fall: whether the episode ends when something but a foot touches the ground.
    """

    walker: str = "cmu_humanoid"
    arena: str = "floor"
    time_limit: float = 30.0  # type: ignore[misc]  # s
    control_timestep: float = 0.03  # type: ignore[misc]  # s
    physics_timestep: float = 0.005  # s
    sees: bool = True
    rangefinders: bool = False
    ends_on_fall: bool = False

    def __post_init__(self) -> None:
        if self.rangefinders and not self.creature.rangefinder:
            raise ValueError(f"rangefinders: the walker {self.walker!r} has none")

    @property
    def creature(self) -> Walker:
        """The walker."""
        return find_walker(self.walker)

    @property
    def place(self) -> Arena:
        """The arena."""
        return find_arena(self.arena)

    @property
    def varies(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the arena varies."""
        return self.place.varies

    @property
    def observables(self) -> Mapping[str, Observable]:  # type: ignore[override]
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
        substeps = round(self.control_timestep / self.physics_timestep)
        clock, steps = 0.0, 0
        while clock < self.time_limit:
            for _ in range(substeps):
                clock += self.physics_timestep
            steps += 1
        return steps

    def model(self) -> Spec:
        spec = self.place.model()
        spec.option.timestep = self.physics_timestep
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
            for name, part in self._parts().items():
                add(
                    spec, "sensor", name=f"{ground} under {name}", type="contact",
                    objtype=kind, objname=ground, reftype=part, refname=PREFIX + name,
                    intprm=HOW_MANY,
                )  # fmt: skip

    def _parts(self) -> dict[str, str]:
        """The walker and its feet, and what they are to a contact sensor."""
        return {"": "xbody", **dict.fromkeys(self.creature.feet, "body")}

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

    def signals(self, v: View) -> dict[str, Signal]:
        present = Scene.observation(self, v)
        return {key: s for key, s in self.creature.signals(v).items() if key in present}

    def initialize(self, v: SingleView, rng: Any) -> None:
        self.place.draw(v, rng)
