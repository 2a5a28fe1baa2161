"""A person on the skeleton of the CMU motion-capture database, with motors or with servos."""

import functools
from typing import Any, NamedTuple

import numpy as np

from mjgym.mocap import SCALE_V2020
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer.observation import observable
from mjgym_compat.dm_control.locomotion.models import read
from mjgym_compat.dm_control.locomotion.walkers import known, rescale
from mjgym_compat.dm_control.locomotion.walkers.scaled_actuators import add_position_actuator

FACE = (0.0, 0.039, 0.0699912)  # m, of the face's frame in that of the head, and again of its mass
SCALED_MASS, UNSCALED_MASS = 70.0, 66.95447883306099  # kg, of the humanoid of 2020
FACE_MASS, FACE_INERTIA = 1e-5, 1e-11  # kg, kg m^2


class _CMUHumanoidBase(known.WithHead):
    markers: tuple[str, ...] = ("rradius", "lradius")
    arms = ("lclavicle", "rclavicle")

    def _build(self, name: str = "walker", marker_rgba: Any = None, include_face: bool = False,
               initializer: Any = None) -> None:  # fmt: skip
        super()._build(name, marker_rgba, initializer)
        for joint in self._mjcf_root.find_all("joint"):
            mjcf.commit_defaults(joint, ["range"])
        if include_face and self._mjcf_root.find("body", "face") is None:
            _add_face(self.head)

    @functools.cached_property
    def mocap_tracking_bodies(self) -> tuple[mjcf.Element, ...]:
        return tuple(body for body in self.bodies if body is not self.root_body)

    @property
    def standing_height(self) -> float:
        """Height of the head when standing, m."""
        return 1.5

    @functools.cached_property
    def body_camera(self) -> mjcf.Element:
        return self._find("camera", "bodycam")[0]

    @functools.cached_property
    def actuator_order(self) -> np.ndarray:
        """Index among the actuators' joints of each motion-capture joint."""
        return np.argsort(self.actuator_to_joint_order)

    @functools.cached_property
    def actuator_to_joint_order(self) -> np.ndarray:
        names = [actuator.joint.name for actuator in self.actuators]
        return np.array([names.index(joint.name) for joint in self.mocap_joints])

    def _build_observables(self) -> "CMUHumanoidObservables":
        return CMUHumanoidObservables(self)


class CMUHumanoid(_CMUHumanoidBase):
    """The 2019 humanoid; controls are fractions of each motor's maximum torque."""

    file = "cmu_humanoid_2019_motors.xml"
    registered = "cmu_humanoid_torque"


class PositionActuatorParams(NamedTuple):
    """A servo of the humanoid: name of its joint, forces (N m) and stiffness (N m/rad)."""

    name: str
    forcerange: Any
    kp: float


class CMUHumanoidPositionControlled(CMUHumanoid):
    """The humanoid with servos; a control is a share of a joint's range, from -1 to 1."""

    def _build(
        self, model_version: str = "2019", scale_default: bool = False, **kwargs: Any
    ) -> None:
        if model_version not in VERSIONS:
            raise ValueError(
                f"model_version: no {model_version!r}{or_else(model_version, list(VERSIONS))}"
            )
        self.file, self.registered = VERSIONS[model_version]
        super()._build(**kwargs)
        if model_version == "2020" and not scale_default:
            rescale.rescale_humanoid(self, 1 / SCALE_V2020, mass=UNSCALED_MASS)
        elif model_version == "2019" and scale_default:
            rescale.rescale_humanoid(self, SCALE_V2020, mass=SCALED_MASS)
        _span_ranges(self._mjcf_root)

    def cmu_pose_to_actuation(self, target_pose: Any) -> np.ndarray:
        low, high = np.array([joint.range for joint in self.mocap_joints]).T
        shares = (2 * np.asarray(target_pose) - (low + high)) / (high - low)
        return np.asarray(shares[self.actuator_order])


VERSIONS = {  # version: file, name in the registry of walkers
    "2019": ("cmu_humanoid_2019_servos.xml", "cmu_humanoid"),
    "2020": ("cmu_humanoid_2020_servos.xml", "cmu_humanoid_2020"),
}


class CMUHumanoidPositionControlledV2020(CMUHumanoidPositionControlled):
    """The humanoid of 2020: 70 kg, with servos behind a low-pass filter of 0.03 s."""

    def _build(self, **kwargs: Any) -> None:
        super()._build(model_version="2020", scale_default=True, **kwargs)


class CMUHumanoidObservables(known.HeadObservables):
    """Observables of the humanoid."""

    @composer.observable
    def body_camera(self) -> Any:
        return observable.MJCFCamera(self._entity.body_camera)


def _add_face(head: mjcf.Element) -> None:
    face = head.add("body", name="face", pos=FACE)
    face.add("inertial", pos=FACE, mass=FACE_MASS, diaginertia=(FACE_INERTIA,) * 3)


def _servos(model: mjcf.RootElement) -> list[PositionActuatorParams]:
    servos = []
    for servo in model.find_all("actuator"):
        mjcf.commit_defaults(servo)
        kp = servo.kp if servo.tag == "position" else servo.gainprm[0]
        servos.append(PositionActuatorParams(servo.name, servo.forcerange, kp))
    return servos


def _span_ranges(model: mjcf.RootElement) -> None:
    """Rescale servos so that controls from -1 to 1 span the joint's range."""
    old = model.find_all("actuator")
    for servo, numbers in zip(old, _servos(model), strict=True):
        filtered = servo.tag == "general"
        dynamics = {"dyntype": servo.dyntype, "dynprm": servo.dynprm} if filtered else {}
        joint = servo.joint
        servo.remove()
        add_position_actuator(
            target=joint, qposrange=joint.range, kp=numbers.kp, name=numbers.name,
            forcerange=numbers.forcerange, **dynamics,
        )  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in ("_POSITION_ACTUATORS", "_POSITION_ACTUATORS_V2020"):
        raise AttributeError(name)
    version = "2020" if name.endswith("2020") else "2019"
    return _servos(read(f"walkers/{VERSIONS[version][0]}"))
