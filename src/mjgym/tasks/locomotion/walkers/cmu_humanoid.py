"""A person on the skeleton of the CMU motion-capture database, with 56 actuated hinges."""

from dataclasses import dataclass

from mjgym.mjcf import Spec
from mjgym.tasks.locomotion.walkers.any_walker import Walker, register_walker
from mjgym.tasks.locomotion.walkers.cmu_humanoid_models import model

HEIGHT_2020 = 1.143  # m, of the root of the larger body of 2020


@register_walker("cmu_humanoid")
@register_walker("cmu_humanoid_torque", version="2019_torque")
@register_walker("cmu_humanoid_2020", version="2020_position", height=HEIGHT_2020, activations=True)
@dataclass(frozen=True)
class CMUHumanoid(Walker):
    """The humanoid, with servos that hold a position, or with motors.

    Args:
        version: "2019_position", "2019_torque" or "2020_position", see `cmu_humanoid_models`.
    """

    version: str = "2019_position"
    scale: float | None = 1.0
    root: str = "root"
    end_effectors: tuple[str, ...] = ("rradius", "lradius", "rfoot", "lfoot")
    head: str = "head"
    activations: bool = True
    feet: tuple[str, ...] = ("lfoot", "rfoot")
    height: float = 0.94  # m
    # The root's y axis points up (8.7 degrees off), its z axis forward.
    quaternion: tuple[float, float, float, float] = (0.859, 1.0, 1.0, 0.859)
    hidden_groups: tuple[int, ...] = (1,)
    viewpoint: str = "front_side"
    velocimeter: str = "sensor_root_veloc"
    gyro: str = "sensor_root_gyro"
    accelerometer: str = "sensor_root_accel"
    torque: tuple[str, ...] = ("sensor_torque_lhumerus", "sensor_torque_rhumerus")
    touch: tuple[str, ...] = tuple(
        f"sensor_touch_{part}"
        for part in (
            "lhand", "lfingers", "lthumb", "rhand", "rfingers", "rthumb", "ltoes", "rtoes",
            "rfoot", "lfoot",
        )
    )  # fmt: skip

    def model(self) -> Spec:
        return model(self.version)
