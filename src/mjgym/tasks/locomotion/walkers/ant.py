"""A four-legged creature with eight motors, and rangefinders all around."""

from dataclasses import dataclass

from mjgym.mjcf import Spec, load
from mjgym.rotations import ZZ
from mjgym.sim.views import View
from mjgym.task import Array, Arrays
from mjgym.tasks.locomotion.walkers.any_walker import Walker, register_walker

LEGS = ("front_left", "front_right", "back_right", "back_left")
BODIES = ("torso", *(f"{leg}_{part}" for leg in LEGS for part in ("leg", "aux", "foot")))


@register_walker("ant")
@dataclass(frozen=True)
class Ant(Walker):
    """The ant.

    Observation: `appendages_pos`, places of the feet; `bodies_pos`, places of all bodies as the
    torso sees them; `bodies_quats`, their orientations.
    """

    scale: float | None = 1.0
    root: str = "torso"
    end_effectors: tuple[str, ...] = tuple(f"{leg}_foot" for leg in LEGS)
    feet: tuple[str, ...] = tuple(f"{leg}_foot" for leg in LEGS)
    viewpoint: str = "floating"
    velocimeter: str = "torso_vel"
    gyro: str = "torso_gyro"
    accelerometer: str = "torso_accel"
    touch: tuple[str, ...] = (
        "torso_touch", "front_left_leg_touch", "front_left_ankle_touch", "back_left_leg_touch",
        "back_left_ankle_touch", "back_right_leg_touch", "back_right_ankle_touch",
        "front_right_leg_touch", "front_right_ankle_touch",
    )  # fmt: skip
    rangefinder: tuple[str, ...] = (
        "rf_xp", "rf_yp", "rf_xn", "rf_yn", "rf_xpyp", "rf_xpyn", "rf_xnyp", "rf_xnyn",
    )  # fmt: skip

    def model(self) -> Spec:
        return load("locomotion/walkers/ant.xml")

    def proprioception(self, v: View) -> Arrays:
        places = tuple(f"{body}_ego_body_pos" for body in BODIES)
        turns = tuple(f"{body}_ego_body_quat" for body in BODIES)
        return {
            **super().proprioception(v),
            "appendages_pos": self.places(v, self.end_effectors),
            "bodies_pos": self._take(v, "sensordata", places),
            "bodies_quats": self._take(v, "sensordata", turns),
        }

    def aliveness(self, v: View) -> Array:
        return (self.rotation(v)[..., ZZ] - 1) / 2
