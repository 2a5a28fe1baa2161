"""A four-legged creature with eight motors, and rangefinders all around."""

from dataclasses import dataclass

from mjgym.arrays import Array
from mjgym.mjcf import Spec, load
from mjgym.rotations import ZZ
from mjgym.sim.view import View
from mjgym.task import Arrays, Signal, vector_names
from mjgym.tasks.locomotion.walkers.walker import Walker, register_walker

LEGS = ("front_left", "front_right", "back_right", "back_left")
BODIES = ("torso", *(f"{leg}_{part}" for leg in LEGS for part in ("leg", "aux", "foot")))


@register_walker("ant")
@dataclass(frozen=True)
class Ant(Walker):
    """The ant. It also observes places and orientations of all its bodies."""

    root: str = "torso"
    end_effectors: tuple[str, ...] = tuple(f"{leg}_foot" for leg in LEGS)
    feet: tuple[str, ...] = tuple(f"{leg}_foot" for leg in LEGS)
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

    def signals(self, v: View) -> dict[str, Signal]:
        frame = self.prefix + self.root
        quaternions = tuple(f"{body} {part}" for body in BODIES for part in "wxyz")
        feet = vector_names(*self.end_effectors)
        return {
            **super().signals(v),
            f"{self.prefix}appendages_pos": Signal(
                "places of the feet", feet, "m", frame, "body xpos"
            ),
            f"{self.prefix}bodies_pos": Signal(
                "places of all bodies", vector_names(*BODIES), "m", frame, "body xpos"
            ),
            f"{self.prefix}bodies_quats": Signal(
                "orientations of all bodies", quaternions, "1", frame, "body xquat"
            ),
        }
