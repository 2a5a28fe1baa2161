"""Go to a target on the floor and stay there."""

from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register, register_variants, variant
from mjgym.tasks.locomotion.walker_task import WalkerTask

NEAR = 1.0  # m, from the target, seen from above
SPREAD = 4.0  # m, half-range of the initial positions of walker and target each way


@register_variants(
    "locomotion/{}-go_to_target-v0",
    ("extra",),
    ant=variant("An ant goes to a target on an endless floor.", walker="ant"),
    rolling_ball=variant(
        "A rolling ball goes to a target on an endless floor.", walker="rolling_ball"
    ),
)
@register(
    "locomotion/cmu_humanoid-go_to_target-v0",
    "A humanoid goes to a target on an endless floor.",
    ends_on_fall=True,
)
@dataclass(frozen=True)
class GoToTarget(WalkerTask):
    """A walker goes to a target that stands still.

    Reward: 1 while the walker's root is less than 1 m from the target, seen from above.

    Start: the target and the walker each anywhere in a square of 8 m; the walker upright at rest,
    facing along x.

    End: with `ends_on_fall`, something but a foot touches the ground.

    Observation: the walker's own, and `walker/target`, the target as the walker sees it.
    """

    arena: str = "floor"  # its name, or "module:Class"
    sees: bool = False  # with pixels, the egocentric camera's image is observed

    @property
    def varies(self) -> tuple[str, ...]:
        return (*super().varies, "site_pos")

    def model(self) -> Spec:
        spec = super().model()
        # Not at the origin: a site compiled there would ignore site_pos.
        add(
            spec.worldbody, "site", name="target", type="sphere", size=(0.1, 0, 0),
            pos=(SPREAD, 0, 0), rgba=(0, 0.8, 0.2, 0.7),
        )  # fmt: skip
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        x, y = (rng.uniform(-SPREAD, SPREAD) for _ in range(2))
        v.site("target").pos = x, y, 0.0
        x, y = (rng.uniform(-SPREAD, SPREAD) for _ in range(2))
        self.creature.stand(v, (x, y, 0.0))

    def observation(self, v: View) -> Arrays:
        target = self.creature.in_frame(v, v.site("target").xpos)
        return {**super().observation(v), f"{self.creature.prefix}target": target}

    def current_forces(self, v: View) -> Array:
        return True

    def terms(self, v: View) -> Arrays:
        away = (v.site("target").xpos - self.creature.position(v))[..., :2]
        distance = v.xp.sqrt(total(away * away))
        return {"near": v.xp.astype(distance < NEAR, v.xp.float64)}

    def terminated(self, v: View) -> Array:
        return self.fallen(v)

    def success(self, v: View) -> Array:
        return self.terms(v)["near"] > 0
