"""Domain randomization with robosuite's magnitudes, by the keyword argument `vary`."""

import warnings
from collections.abc import Mapping
from typing import Any

from mjgym.util.suggestions import or_else
from mjgym.variation import Uniform, factor, offset
from mjgym.variation import rotations as turns
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper

DEFAULT_COLOR_ARGS: dict[str, Any] = {"local_rgb_interpolation": 0.2}  # share of a random colour
DEFAULT_CAMERA_ARGS: dict[str, Any] = {
    "camera_names": None,
    "randomize_position": True,
    "randomize_rotation": True,
    "randomize_fovy": True,
    "position_perturbation_size": 0.01,  # m
    "rotation_perturbation_size": 0.087,  # rad
    "fovy_perturbation_size": 5.0,  # degrees
}
DEFAULT_LIGHTING_ARGS: dict[str, Any] = {
    "light_names": None,
    "randomize_position": True,
    "randomize_direction": True,
    "randomize_specular": True,
    "randomize_ambient": True,
    "randomize_diffuse": True,
    "position_perturbation_size": 0.1,  # m
    "direction_perturbation_size": 0.35,
    "specular_perturbation_size": 0.1,
    "ambient_perturbation_size": 0.1,
    "diffuse_perturbation_size": 0.1,
}
DEFAULT_DYNAMICS_ARGS: dict[str, Any] = {
    "randomize_density": True,
    "randomize_viscosity": True,
    "density_perturbation_ratio": 0.1,
    "viscosity_perturbation_ratio": 0.1,
    "body_names": None,
    "randomize_position": True,
    "randomize_inertia": True,
    "randomize_mass": True,
    "position_perturbation_size": 0.0015,  # m
    "inertia_perturbation_ratio": 0.02,
    "mass_perturbation_ratio": 0.02,
    "geom_names": None,
    "randomize_friction": True,
    "randomize_solref": True,
    "randomize_solimp": True,
    "friction_perturbation_ratio": 0.1,
    "solref_perturbation_ratio": 0.1,
    "solimp_perturbation_ratio": 0.1,
    "joint_names": None,
    "randomize_stiffness": True,
    "randomize_frictionloss": True,
    "randomize_damping": True,
    "randomize_armature": True,
    "stiffness_perturbation_ratio": 0.1,
    "frictionloss_perturbation_size": 0.05,
    "damping_perturbation_size": 0.01,
    "armature_perturbation_size": 0.01,
}
# For each switch: the varied field, the key of its magnitude, and whether that is relative.
CAMERAS = (
    ("randomize_position", "cam_pos", "position_perturbation_size"),
    ("randomize_fovy", "cam_fovy", "fovy_perturbation_size"),
)
LIGHTS = (
    ("randomize_position", "light_pos", "position_perturbation_size"),
    ("randomize_direction", "light_dir", "direction_perturbation_size"),
)
COLOURS = ("specular", "ambient", "diffuse")
SHARES = {
    "body": (
        ("randomize_mass", "body_mass", "mass_perturbation_ratio"),
        ("randomize_inertia", "body_inertia", "inertia_perturbation_ratio"),
    ),
    "geom": (
        ("randomize_friction", "geom_friction", "friction_perturbation_ratio"),
        ("randomize_solref", "geom_solref", "solref_perturbation_ratio"),
    ),
    "joint": (("randomize_stiffness", "jnt_stiffness", "stiffness_perturbation_ratio"),),
}
JOINTS = (
    ("randomize_frictionloss", "dof_frictionloss", "frictionloss_perturbation_size"),
    ("randomize_damping", "dof_damping", "damping_perturbation_size"),
    ("randomize_armature", "dof_armature", "armature_perturbation_size"),
)
SOLIMP = 2  # columns of solimp below 1


class DomainRandomizationWrapper(Wrapper):
    """Randomize colours, cameras, lights and dynamics in each episode.

    The environment is made again with a `vary` of the published magnitudes: each value is drawn
    from a range around the model's, with the episode's generator.

    Args:
        env: of `make`; it is closed.
        seed: of the first episode; None for that of `make`.
        randomize_color: whether random colours are mixed into materials.
        randomize_camera: whether cameras move, rotate and zoom.
        randomize_lighting: whether lights move and change.
        randomize_dynamics: whether masses, friction and the like change.
        color_randomization_args: overrides of `DEFAULT_COLOR_ARGS`.
        camera_randomization_args: likewise for cameras.
        lighting_randomization_args: likewise for lights.
        dynamics_randomization_args: likewise for dynamics.
        randomize_on_reset: True.
        randomize_every_n_steps: 0 to avoid a warning: models do not change within an episode.

    Attributes:
        vary: passed to the environment.

    Raises:
        TypeError: an argument has an unknown key; the message names the nearest.
        ValueError: `randomize_on_reset` is False.

    Warns:
        UserWarning: `randomize_every_n_steps` is not 0, as by robosuite's default.
    """

    def __init__(
        self,
        env: Any,
        seed: int | None = None,
        randomize_color: bool = True,
        randomize_camera: bool = True,
        randomize_lighting: bool = True,
        randomize_dynamics: bool = True,
        color_randomization_args: Mapping[str, Any] | None = None,
        camera_randomization_args: Mapping[str, Any] | None = None,
        lighting_randomization_args: Mapping[str, Any] | None = None,
        dynamics_randomization_args: Mapping[str, Any] | None = None,
        randomize_on_reset: bool = True,
        randomize_every_n_steps: int = 1,
    ) -> None:
        if not randomize_on_reset:
            raise ValueError(
                "randomize_on_reset: only True, as the numbers of a model are drawn at the start of"
                " an episode here"
            )
        if randomize_every_n_steps:
            warnings.warn(
                f"randomize_every_n_steps: {randomize_every_n_steps} asks for draws within an"
                " episode, but a model's numbers are drawn at its start here; 0 says so",
                stacklevel=2,
            )
        model = env.unwrapped.env.model if isinstance(env, Wrapper) else env.env.model
        self.vary: dict[str, Any] = {}
        for wanted, given, usual, varied in (
            (randomize_color, color_randomization_args, DEFAULT_COLOR_ARGS, _colours),
            (randomize_camera, camera_randomization_args, DEFAULT_CAMERA_ARGS, _cameras),
            (randomize_lighting, lighting_randomization_args, DEFAULT_LIGHTING_ARGS, _lights),
            (randomize_dynamics, dynamics_randomization_args, DEFAULT_DYNAMICS_ARGS, _dynamics),
        ):
            for key in given or {}:
                if key not in usual:
                    raise TypeError(f"randomization: no {key!r}{or_else(key, usual)}")
            if wanted:
                self.vary |= varied({**usual, **(given or {})}, model)
        plain = env.unwrapped if isinstance(env, Wrapper) else env
        super().__init__(plain.remade(vary=self.vary, **({} if seed is None else {"seed": seed})))
        plain.close()


def _within(size: float) -> Any:
    return offset(Uniform(-size, size))


def _share(size: float) -> Any:
    return factor(Uniform(1 - size, 1 + size))


def _named(args: Mapping[str, Any], key: str, field: str) -> list[str]:
    """Keys of a field for the elements that an argument names, or for all."""
    names = args[key]
    return [field] if names is None else [f"{field}[{name}]" for name in names]


def _switched(
    args: Mapping[str, Any], names: str, rows: tuple[tuple[str, str, str], ...], make: Any
) -> dict[str, Any]:
    return {
        key: make(args[size])
        for switch, field, size in rows
        if args[switch]
        for key in _named(args, names, field)
    }


def _colours(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    share = args["local_rgb_interpolation"]
    found = {}
    for i in range(model.nmat):
        name = model.material(i).name
        for column, own in enumerate(model.mat_rgba[i, :3].tolist() if name else ()):
            kept = (1 - share) * own
            found[f"mat_rgba[{name}, {column}]"] = Uniform(kept, kept + share)
    return found


def _cameras(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    found = _switched(args, "camera_names", CAMERAS, _within)
    if args["randomize_rotation"]:
        angle = args["rotation_perturbation_size"]
        for key in _named(args, "camera_names", "cam_quat"):
            found[key] = factor(turns.About((0, 0, 1), Uniform(-angle, angle)))
    return found


def _lights(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    found = _switched(args, "light_names", LIGHTS, _within)
    for name in COLOURS:
        if args[f"randomize_{name}"]:
            for key in _named(args, "light_names", f"light_{name}"):
                found[key] = _within(args[f"{name}_perturbation_size"])
    return found


def _dynamics(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("density", "viscosity"):
        if args[f"randomize_{name}"]:
            found[f"opt.{name}"] = _share(args[f"{name}_perturbation_ratio"])
    for kind, rows in SHARES.items():
        found |= _switched(args, f"{kind}_names", rows, _share)
    if args["randomize_position"]:
        found |= {
            key: _within(args["position_perturbation_size"])
            for key in _named(args, "body_names", "body_pos")
        }
    if args["randomize_solimp"]:
        found |= _solimp(args, model)
    for switch, field, size in JOINTS:
        if args[switch]:
            for key in _named(args, "joint_names", field):
                found[key] = offset(Uniform(0.0, args[size]))  # stays above zero
    return found


def _solimp(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Variation of solimp, which only decreases, as it must stay below 1."""
    size = args["solimp_perturbation_ratio"]
    columns = range(SOLIMP)
    if args["geom_names"] is None:
        return {f"geom_solimp[*, {i}]": factor(Uniform(1 - size, 1.0)) for i in columns}
    return {
        f"geom_solimp[{name}, {i}]": factor(Uniform(1 - size, 1.0))
        for name in args["geom_names"]
        for i in columns
    }
