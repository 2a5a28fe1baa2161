"""A person on the skeleton of the CMU motion-capture database, with 56 actuated hinges."""

from dataclasses import dataclass

from mjgym.mjcf import Spec, load
from mjgym.tasks.locomotion.walkers.any_walker import Walker, register_walker
from mjgym.util.values import one_of

HEIGHT_2020 = 1.143  # m, of the root of the larger body of 2020


@register_walker("cmu_humanoid")
@register_walker("cmu_humanoid_torque", version="2019_torque")
@register_walker("cmu_humanoid_2020", version="2020_position", height=HEIGHT_2020, activations=True)
@dataclass(frozen=True)
class CMUHumanoid(Walker):
    """The humanoid, with servos that hold a position, or with motors."""

    # "2019_position", "2019_torque" or "2020_position", see the function `model`
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


# Torque motors keep the MJCF's values; the others are servos, completed by `_span_ranges`.
MOTORS = {"2019_torque": "cmu_humanoid_2019_motors.xml"}
SERVOS = {
    "2019_position": "cmu_humanoid_2019_servos.xml",
    "2020_position": "cmu_humanoid_2020_servos.xml",
}
FILES = MOTORS | SERVOS


def model(version: str) -> Spec:
    """Build a CMU humanoid without a root joint.

    Args:
        version: "2019_torque", a body of 39.6 kg whose controls are torques as fractions of each
            motor's largest; "2019_position", the same body with servos; or "2020_position", a body
            of 70 kg with servos behind a low-pass filter of 0.03 s. Servo controls are target
            angles, from -1 at the lower end of the joint's range to 1 at its upper end.

    Returns:
        The model: 56 hinges, and 56 actuators in alphabetical order with controls in [-1, 1].
    """
    one_of("version", version, FILES)
    spec = load(f"locomotion/walkers/{FILES[version]}")
    if version in SERVOS:
        _span_ranges(spec)
    return spec


def _span_ranges(spec: Spec) -> None:
    """Rescale servos from angles to [-1, 1], spanning the joint's range.

    A servo's force is kp (target - q). With the target at (low + high) / 2 + u (high - low) / 2,
    the control u has the gain kp (high - low) / 2 and the force at rest is kp (low + high) / 2.
    """
    for servo in spec.actuators:
        low, high = spec.joint(servo.target).range
        kp = servo.gainprm[0]
        servo.gainprm[0] = kp * (high - low) / 2
        servo.biasprm[0] = kp * (high + low) / 2
        servo.ctrlrange = (-1, 1)
