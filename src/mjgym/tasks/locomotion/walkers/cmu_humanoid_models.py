"""The CMU humanoids: two bodies on one skeleton, moved by motors or by servos."""

from mjgym.mjcf import Spec, load
from mjgym.util.suggestions import or_else

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

    Raises:
        ValueError: there is no such version; the message names the nearest one.
    """
    if version not in FILES:
        raise ValueError(f"no CMU humanoid of version {version!r}{or_else(version, sorted(FILES))}")
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
