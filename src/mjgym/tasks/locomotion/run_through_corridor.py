"""Run along a corridor, around its walls or over its gaps, at a set speed."""

from dataclasses import dataclass
from typing import Any

from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, register_variants, variant
from mjgym.tasks.locomotion.walker_task import WalkerTask

HUMAN: dict[str, Any] = {"target_speed": 3.0, "start": 0.5, "lowest": -0.5, "ends_on_fall": True}
QUICK: dict[str, Any] = {"target_speed": 3.0, "start": 0.5, "lowest": -0.5}


@register_variants(
    "locomotion/{}-run_walls-v0",
    ("vision", "extra"),
    cmu_humanoid=variant(
        "A humanoid runs along a corridor at 3 m/s, around walls.",
        ("vision",),
        arena="walls",
        **HUMAN,
    ),
    ant=variant(
        "An ant runs along a corridor at 3 m/s, around walls.", walker="ant", arena="walls", **QUICK
    ),
    rolling_ball=variant(
        "A rolling ball rolls along a corridor at 3 m/s, around walls.",
        walker="rolling_ball",
        arena="walls",
        **QUICK,
    ),
)
@register_variants(
    "locomotion/{}-run_gaps-v0",
    ("vision", "extra"),
    cmu_humanoid=variant(
        "A humanoid runs along a corridor at 3 m/s, over gaps.", ("vision",), arena="gaps", **HUMAN
    ),
    rodent=variant(
        "A rat runs along a corridor at 1 m/s, over gaps.",
        ("vision",),
        walker="rodent",
        arena="small_gaps",
        target_speed=1.0,
        start=5.0,
        lowest=-0.3,
        control_timestep=0.02,
        physics_timestep=0.001,
    ),
    ant=variant(
        "An ant runs along a corridor at 3 m/s, over gaps.",
        walker="ant",
        arena="gaps",
        **QUICK | {"start": 1.5},  # on the first platform with all feet
    ),
    jumping_ball=variant(
        "A ball that jumps rolls along a corridor at 3 m/s, over gaps.",
        walker="jumping_ball",
        arena="gaps",
        **QUICK,
    ),
)
@dataclass(frozen=True)
class RunThroughCorridor(WalkerTask):
    """A walker runs along a corridor at a target speed.

    Reward: max(0, 1 - |vx - target_speed| / target_speed), where vx is the x component of the
    velocity of the walker's centre of mass.

    Start: upright at rest at x = `start`, facing along the corridor, whose walls or gaps are drawn
    for each episode.

    End: an end effector is below `lowest`, or, with `ends_on_fall`, something but a foot touches
    the ground.

    Observation: proprioception (joints, height, vertical, end effectors), gyro, velocimeter,
    accelerometer, force, torque and touch sensors of the walker; with pixels, what its egocentric
    camera sees.
    """

    target_speed: float = 3.0  # m/s
    start: float = 0.5  # m along the corridor
    lowest: float = -0.5  # m, of an end effector

    def __post_init__(self) -> None:
        super().__post_init__()
        length = getattr(self.surroundings, "corridor_length", float("inf"))
        if not 0 <= self.start <= length:
            raise ValueError(f"start: must lie in the corridor, 0 to {length} m, got {self.start}")

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        self.creature.stand(v, (self.start, 0.0, 0.0))

    def current_forces(self, v: View) -> Array:
        return True

    def terms(self, v: View) -> Arrays:
        error = abs(self.creature.velocity(v)[..., 0] - self.target_speed) / self.target_speed
        return {"speed": v.xp.maximum(1.0 - error, 0.0)}

    def terminated(self, v: View) -> Array:
        walker = self.creature
        low = walker.heights(v, walker.end_effectors) < self.lowest
        return v.xp.any(low, axis=-1) | self.fallen(v)
