"""The suite's domains: quantities of their physics, and their tasks' classes and arguments."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mjgym import registry
from mjgym_compat.dm_control import mujoco
from mjgym_compat.dm_control.tasks import PublishedTask

Quantity = Callable[..., Any]


def _norm(vector: Any) -> float:
    return float(np.linalg.norm(vector))


def _sensor(*names: str) -> Quantity:
    key: Any = names[0] if len(names) == 1 else list(names)
    return lambda p: p.named.data.sensordata[key].copy()


def _log_touch(*names: str) -> Quantity:
    return lambda p: np.log1p(p.named.data.sensordata[list(names)])


def _row(body: str) -> Quantity:
    """Vertical components of a body's axes."""
    return lambda p: p.named.data.xmat[body, ["zx", "zy", "zz"]].copy()


def _upright(body: str, column: str = "zz") -> Quantity:
    return lambda p: p.named.data.xmat[body, column]


def _height(body: str) -> Quantity:
    return lambda p: p.named.data.xpos[body, "z"]


def _local(p: Any, body: str, vector: Any) -> np.ndarray:
    local: np.ndarray = vector @ p.named.data.xmat[body].reshape(3, 3)
    return local


def _extremities(torso: str, limbs: tuple[str, ...]) -> Quantity:
    def extremities(p: Any) -> np.ndarray:
        xpos = p.named.data.xpos
        return np.hstack([_local(p, torso, xpos[limb] - xpos[torso]) for limb in limbs])

    return extremities


def _hinges(names: bool) -> Quantity:
    def bounded(p: Any, joint_names: Any) -> np.ndarray:
        angles = p.named.data.qpos[joint_names]
        return np.vstack([np.sin(angles), np.cos(angles)]).T

    return bounded if names else lambda p, joint_names: p.named.data.qvel[joint_names]


def _pose_2d(p: Any, body_names: Any, orientation: bool = True) -> np.ndarray:
    names = [body_names] if isinstance(body_names, str) else list(body_names)
    pose: np.ndarray = p.named.data.xpos[names][:, [0, 2]]
    if orientation:
        pose = np.hstack([pose, p.named.data.xquat[names][:, [0, 2]]])
    return pose[0] if isinstance(body_names, str) else pose


def _apart(p: Any, site1: str, site2: str) -> float:
    places = p.named.data.site_xpos
    return _norm(places[site1] - places[site2])


def _in_target(p: Any) -> float:
    size = p.named.model.site_size["target", [0, 2]] - p.named.model.geom_size["ball", 0]
    return float((np.abs(p.ball_to_target()) < size).all())


def _of_joints(field: str, start: int) -> Quantity:
    return lambda p: getattr(p.data, field)[start:].copy()


_XZ = ["x", "z"]
_BIPED: dict[str, Quantity] = {
    "joint_angles": _of_joints("qpos", 7),
    "head_height": _height("head"),
}
_FISH = ["tail1", "tail_twist", "tail2", "finright_roll", "finright_pitch"]
_FISH += ["finleft_roll", "finleft_pitch"]
_ARM: dict[str, Quantity] = {
    "bounded_joint_pos": _hinges(True),
    "joint_vel": _hinges(False),
    "body_2d_pose": _pose_2d,
    "touch": lambda p: np.log1p(p.data.sensordata),
    "site_distance": _apart,
}
_QUANTITIES: dict[str, dict[str, Quantity]] = {
    "acrobot": {
        "horizontal": lambda p: p.named.data.xmat[["upper_arm", "lower_arm"], "xz"],
        "vertical": lambda p: p.named.data.xmat[["upper_arm", "lower_arm"], "zz"],
        "to_target": lambda p: _apart(p, "target", "tip"),
        "orientations": lambda p: np.concatenate([p.horizontal(), p.vertical()]),
    },
    "ball_in_cup": {
        "ball_to_target": lambda p: (
            p.named.data.site_xpos["target", _XZ] - p.named.data.xpos["ball", _XZ]
        ),
        "in_target": _in_target,
    },
    "cartpole": {
        "cart_position": lambda p: p.named.data.qpos["slider"][0],
        "angular_vel": lambda p: p.data.qvel[1:],
        "pole_angle_cosine": lambda p: p.named.data.xmat[2:, "zz"],
        "bounded_position": lambda p: np.hstack(
            [p.cart_position(), p.named.data.xmat[2:, ["zz", "xz"]].ravel()]
        ),
    },
    "cheetah": {"speed": lambda p: p.named.data.sensordata["torso_subtreelinvel"][0]},
    "dog": {
        "torso_pelvis_height": lambda p: p.named.data.xpos[["torso", "pelvis"], "z"],
        "z_projection": lambda p: np.vstack(
            [_row(body)(p) for body in ("skull", "torso", "pelvis")]
        ),
        "upright": lambda p: p.z_projection()[:, 2],
        "center_of_mass_velocity": _sensor("torso_linvel"),
        "torso_com_velocity": lambda p: _local(p, "torso", p.center_of_mass_velocity()),
        "com_forward_velocity": lambda p: p.torso_com_velocity()[0],
        "joint_angles": _of_joints("qpos", 7),
        "joint_velocities": _of_joints("qvel", 6),
        "inertial_sensors": _sensor("accelerometer", "velocimeter", "gyro"),
        "touch_sensors": _sensor("palm_L", "palm_R", "sole_L", "sole_R"),
    },
    "finger": {
        "touch": _log_touch("touchtop", "touchbottom"),
        "hinge_velocity": lambda p: p.named.data.sensordata["hinge_velocity"],
        "tip_position": lambda p: (_sensor("tip")(p) - _sensor("spinner")(p))[[0, 2]],
        "bounded_position": lambda p: np.hstack(
            [_sensor("proximal", "distal")(p), p.tip_position()]
        ),
        "velocity": _sensor("proximal_velocity", "distal_velocity", "hinge_velocity"),
        "target_position": lambda p: (_sensor("target")(p) - _sensor("spinner")(p))[[0, 2]],
        "to_target": lambda p: p.target_position() - p.tip_position(),
        "dist_to_target": lambda p: _norm(p.to_target()) - p.named.model.site_size["target", 0],
    },
    "fish": {
        "upright": _upright("torso"),
        "torso_velocity": lambda p: p.data.sensordata.copy(),
        "joint_velocities": lambda p: p.named.data.qvel[_FISH],
        "joint_angles": lambda p: p.named.data.qpos[_FISH],
        "mouth_to_target": lambda p: (
            (p.named.data.geom_xpos["target"] - p.named.data.geom_xpos["mouth"])
            @ p.named.data.geom_xmat["mouth"].reshape(3, 3)
        ),
    },
    "hopper": {
        "height": lambda p: p.named.data.xipos["torso", "z"] - p.named.data.xipos["foot", "z"],
        "speed": lambda p: p.named.data.sensordata["torso_subtreelinvel"][0],
        "touch": _log_touch("touch_toe", "touch_heel"),
    },
    "humanoid": {
        **_BIPED,
        "torso_upright": _upright("torso"),
        "torso_vertical_orientation": _row("torso"),
        "center_of_mass_position": lambda p: p.named.data.subtree_com["torso"].copy(),
        "center_of_mass_velocity": _sensor("torso_subtreelinvel"),
        "extremities": _extremities(
            "torso", ("left_hand", "left_foot", "right_hand", "right_foot")
        ),
    },
    "humanoid_CMU": {
        **_BIPED,
        "thorax_upright": _upright("thorax", "zy"),
        "torso_vertical_orientation": _row("thorax"),
        "center_of_mass_position": lambda p: p.named.data.subtree_com["thorax"].copy(),
        "center_of_mass_velocity": _sensor("thorax_subtreelinvel"),
        "extremities": _extremities("thorax", ("lhand", "lfoot", "rhand", "rfoot")),
    },
    "lqr": {"state_norm": lambda p: _norm(p.state())},
    "manipulator": _ARM,
    "pendulum": {
        "pole_vertical": _upright("pole"),
        "angular_velocity": lambda p: p.named.data.qvel["hinge"].copy(),
        "pole_orientation": lambda p: p.named.data.xmat["pole", ["zz", "xz"]],
    },
    "point_mass": {
        "mass_to_target": lambda p: (
            p.named.data.geom_xpos["target"] - p.named.data.geom_xpos["pointmass"]
        ),
        "mass_to_target_dist": lambda p: _norm(p.mass_to_target()),
    },
    "quadruped": {
        "torso_upright": _upright("torso"),
        "torso_velocity": _sensor("velocimeter"),
        "com_height": lambda p: _sensor("center_of_mass")(p)[2],
        "imu": _sensor("imu_accel", "imu_gyro"),
        "origin_distance": lambda p: _norm(p.named.data.site_xpos["workspace"]),
        "origin": lambda p: _local(p, "torso", -p.named.data.xpos["torso"]),
        "target_position": lambda p: _local(
            p, "torso", p.named.data.site_xpos["target"] - p.named.data.xpos["torso"]
        ),
        "ball_to_target_distance": lambda p: _norm(
            (p.named.data.site_xpos["target"] - p.named.data.xpos["ball"])[:2]
        ),
        "self_to_ball_distance": lambda p: _norm(
            p.named.data.site_xpos["workspace"] - p.named.data.xpos["ball"]
        ),
    },
    "reacher": {
        "finger_to_target": lambda p: (
            p.named.data.geom_xpos["target", :2] - p.named.data.geom_xpos["finger", :2]
        ),
        "finger_to_target_dist": lambda p: _norm(p.finger_to_target()),
    },
    "stacker": _ARM,
    "swimmer": {
        "nose_to_target": lambda p: _local(
            p, "head", p.named.data.geom_xpos["target"] - p.named.data.geom_xpos["nose"]
        )[:2],
        "nose_to_target_dist": lambda p: _norm(p.nose_to_target()),
        "joints": _of_joints("qpos", 3),
        "body_velocities": lambda p: p.data.sensordata[12:].reshape(-1, 6)[:, [0, 1, 5]].ravel(),
    },
    "walker": {
        "torso_upright": _upright("torso"),
        "torso_height": _height("torso"),
        "horizontal_velocity": lambda p: p.named.data.sensordata["torso_subtreelinvel"][0],
        "orientations": lambda p: p.named.data.xmat[1:, ["xx", "xz"]].ravel(),
    },
}

# Classes of tasks: their arguments, with the fields that they set ("argument=field"), and the task
# that has them in the registry.
_CLASSES: dict[str, dict[str, tuple[str, str | Callable[[Any], str]]]] = {
    "acrobot": {"Balance": ("sparse=sparse", "swingup")},
    "ball_in_cup": {"BallInCup": ("", "catch")},
    "cartpole": {"Balance": ("swing_up=swingup sparse=sparse", "balance")},
    "cheetah": {"Cheetah": ("", "run")},
    "dog": {"Stand": ("", "stand"), "Move": ("move_speed=speed", "walk"), "Fetch": ("", "fetch")},
    "finger": {"Spin": ("", "spin"), "Turn": ("target_radius=target_radius", "turn_easy")},
    "fish": {"Upright": ("", "upright"), "Swim": ("", "swim")},
    "hopper": {"Hopper": ("hopping", lambda a: "hop" if a["hopping"] else "stand")},
    "humanoid": {"Humanoid": ("move_speed=speed pure_state=pure_state", "run")},
    "humanoid_CMU": {"HumanoidCMU": ("move_speed=speed", "run")},
    "lqr": {"LQRLevel": ("control_cost_coef=control_cost", "lqr_2_1")},
    "manipulator": {
        "Bring": (
            "use_peg insert fully_observable=fully_observable",
            lambda a: "_".join(
                ["insert" if a["insert"] else "bring", "peg" if a["use_peg"] else "ball"]
            ),
        )
    },
    "pendulum": {"SwingUp": ("", "swingup")},
    "point_mass": {
        "PointMass": ("randomize_gains", lambda a: "hard" if a["randomize_gains"] else "easy")
    },
    "quadruped": {
        "Move": ("desired_speed=speed", "walk"),
        "Escape": ("", "escape"),
        "Fetch": ("", "fetch"),
    },
    "reacher": {"Reacher": ("target_size=target_radius", "easy")},
    "stacker": {"Stack": ("n_boxes=boxes fully_observable=fully_observable", "stack_4")},
    "swimmer": {"Swimmer": ("", "swimmer6")},
    "walker": {"PlanarWalker": ("move_speed=speed", "walk")},
}

MODULE = f"{__package__}.suite"  # where pickles find the classes


def make_task(domain: str, task: str, fields: Mapping[str, Any]) -> Any:
    """A task of this package by its published name."""
    registration = registry.registration(f"dmc/{domain}-{task}-v0")
    return registration.task_class(**{**registration.fields, **fields})


def _physics(domain: str) -> type[mujoco.Physics]:
    members = {**_QUANTITIES[domain], "__module__": f"{MODULE}.{domain}"}
    return type("Physics", (mujoco.Physics,), {"__doc__": f"The physics of {domain}.", **members})


PHYSICS = {domain: _physics(domain) for domain in _QUANTITIES}


def task_classes(domain: str) -> dict[str, type[PublishedTask]]:
    """Classes of a domain's tasks by their published names."""

    def of(name: str, words: str, task: str | Callable[[Any], str]) -> type[PublishedTask]:
        fields = dict(word.partition("=")[::2] for word in words.split())
        names = [*fields, "random"]

        def __init__(self: PublishedTask, *args: Any, **kwargs: Any) -> None:
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            random = given.pop("random", None)
            if len(args) > len(names) or set(given) != set(fields):
                raise TypeError(f"{name}: expected the arguments {', '.join(names)}")
            chosen = task if isinstance(task, str) else task(given)
            values = {fields[key]: value for key, value in given.items() if fields[key]}
            PublishedTask.__init__(self, make_task(domain, chosen, values), random)

        members = {"__init__": __init__, "__module__": f"{MODULE}.{domain}"}
        return type(name, (PublishedTask,), {"__doc__": f"A task of {domain}.", **members})

    return {name: of(name, *entry) for name, entry in _CLASSES[domain].items()}
