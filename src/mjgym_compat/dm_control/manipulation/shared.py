"""Parts that manipulation tasks share: arena, robots, cameras, workspaces and what is observed."""

import collections
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mjgym.tasks.manipulation import arena, arm_scene
from mjgym.util.packaged import assets
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.composer.observation.observable import MJCFCamera
from mjgym_compat.dm_control.composer.variation import distributions, rotations
from mjgym_compat.dm_control.entities.manipulators import base, kinova
from mjgym_compat.importing import submodules

ARM_OFFSET = arm_scene.BASE  # m
CONTROL_TIMESTEP = arena.CONTROL_TIMESTEP  # s
DOWN_QUATERNION = base.DOWN_QUATERNION
RED, GREEN, BLUE = (1, 0, 0, 0.3), (0, 1, 0, 0.3), (0, 0, 1, 0.3)
CYAN, MAGENTA, YELLOW = (0, 1, 1, 0.3), (1, 0, 1, 0.3), (1, 1, 0, 0.3)
TASK_SITE_GROUP = 3  # hidden at first


class Standard(composer.Arena):
    """The work top."""

    def _build(self, name: str | None = None) -> None:
        self._mjcf_root = model("arena")
        if name is not None:
            self._mjcf_root.model = name


def model(name: str) -> mjcf.RootElement:
    """Read a model of the manipulation family."""
    return mjcf.from_path(assets() / "manipulation" / f"{name}.xml")


class ObservableSpec(NamedTuple):
    """Options of an observable."""

    enabled: bool
    update_interval: int = 1
    buffer_size: int = 1
    delay: int = 0
    aggregator: Any = None
    corruptor: Any = None


CameraObservableSpec = collections.namedtuple(
    "CameraObservableSpec",
    "height width enabled update_interval buffer_size delay aggregator corruptor",
    defaults=(True, 1, 1, 0, None, None),
)


class ObservationSettings(NamedTuple):
    """Options by kind: joints and tool; forces, torques and touch; props; cameras."""

    proprio: ObservableSpec
    ftt: ObservableSpec
    prop_pose: ObservableSpec
    camera: CameraObservableSpec


class ObservableNames(NamedTuple):
    """Names of observables by kind."""

    proprio: Sequence[str] = ()
    ftt: Sequence[str] = ()
    prop_pose: Sequence[str] = ()
    camera: Sequence[str] = ()


def _symlog1p(x: Any, random_state: Any) -> Any:
    return np.sign(x) * np.log1p(np.abs(x))


def _settings(*, props: bool) -> ObservationSettings:
    return ObservationSettings(
        proprio=ObservableSpec(True),
        ftt=ObservableSpec(True, corruptor=_symlog1p),
        prop_pose=ObservableSpec(props),
        camera=CameraObservableSpec(84, 84, not props),
    )


PERFECT_FEATURES, VISION = _settings(props=True), _settings(props=False)
JACO_ARM_OBSERVABLES = ObservableNames(("joints_pos", "joints_vel"), ("joints_torque",))
JACO_HAND_OBSERVABLES = ObservableNames(
    ("joints_pos", "joints_vel", "pinch_site_pos", "pinch_site_rmat")
)
FREEPROP_OBSERVABLES = ObservableNames(
    prop_pose=("position", "orientation", "linear_velocity", "angular_velocity")
)


def make_options(
    obs_settings: ObservationSettings, obs_names: ObservableNames
) -> dict[str, Mapping[str, Any]]:
    """The `observable_options` of an entity."""
    names = obs_names._asdict()
    return {
        name: options._asdict()
        for kind, options in obs_settings._asdict().items()
        for name in names[kind]
    }


def make_arm(obs_settings: ObservationSettings) -> kinova.JacoArm:
    """The arm."""
    return kinova.JacoArm(observable_options=make_options(obs_settings, JACO_ARM_OBSERVABLES))


def make_hand(obs_settings: ObservationSettings) -> kinova.JacoHand:
    """The hand."""
    return kinova.JacoHand(observable_options=make_options(obs_settings, JACO_HAND_OBSERVABLES))


class CameraSpec(NamedTuple):
    """A camera: its name, place and axes."""

    name: str
    pos: tuple[float, ...]
    xyaxes: tuple[float, ...]


FRONT_CLOSE = CameraSpec("front_close", (0, -0.6, 0.75), (1, 0, 0, 0, 0.7, 0.75))
FRONT_FAR = CameraSpec("front_far", (0, -0.8, 1), (1, 0, 0, 0, 0.7, 0.75))
TOP_DOWN = CameraSpec("top_down", (0, 0, 2.5), (1, 0, 0, 0, 1, 0))
LEFT_CLOSE = CameraSpec("left_close", (-0.6, 0, 0.75), (0, -1, 0, 0.7, 0, 0.75))
RIGHT_CLOSE = CameraSpec("right_close", (0.6, 0, 0.75), (0, 1, 0, -0.7, 0, 0.75))


def add_camera_observables(
    entity: composer.Entity, obs_settings: ObservationSettings, *camera_specs: CameraSpec
) -> dict[str, MJCFCamera]:
    """Add missing cameras, and return their observables."""
    root, found = entity.mjcf_model, {}
    for spec in camera_specs:
        camera = root.find("camera", spec.name) or root.worldbody.add("camera", **spec._asdict())
        found[spec.name] = MJCFCamera(camera)
        found[spec.name].configure(**obs_settings.camera._asdict())
    return found


class BoundingBox(NamedTuple):
    """Corners of a box, m."""

    lower: Sequence[float]
    upper: Sequence[float]


class Workspace(NamedTuple):
    """Starts of episodes: boxes of tool, target and props, m, and the goal hint's pose."""

    tcp_bbox: BoundingBox
    target_bbox: BoundingBox | None = None
    prop_bbox: BoundingBox | None = None
    goal_hint_pos: Any = None
    goal_hint_quat: Any = None
    arm_offset: Sequence[float] = ARM_OFFSET


uniform_z_rotation = rotations.QuaternionFromAxisAngle(
    (0, 0, 1), distributions.Uniform(-np.pi, np.pi, single_sample=True)
)


def add_bbox_site(
    body: mjcf.Element, lower: Any, upper: Any, visible: bool = False, **kwargs: Any
) -> mjcf.Element:
    """Add a site that shows a box."""
    lower, upper = np.asarray(lower, float), np.asarray(upper, float)
    size = np.maximum((upper - lower) / 2, arena.THINNEST)
    group = None if visible else TASK_SITE_GROUP
    return body.add("site", type="box", pos=(upper + lower) / 2, size=size, group=group, **kwargs)


def add_target_site(
    body: mjcf.Element, radius: float, visible: bool = False, **kwargs: Any
) -> mjcf.Element:
    """Add a site that shows a target."""
    group = None if visible else TASK_SITE_GROUP
    return body.add("site", type="sphere", size=[radius], group=group, **kwargs)


__path__: list[str] = []  # it answers for modules of others
__getattr__ = submodules(__name__)
