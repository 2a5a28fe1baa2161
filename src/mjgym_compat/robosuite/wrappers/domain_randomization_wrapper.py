"""Domain randomization with robosuite's magnitudes, by the keyword argument `vary`."""

import copy
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from mjgym.task.models import compile_model
from mjgym.util.suggestions import or_else
from mjgym.variation import Uniform, factor, offset
from mjgym.variation import rotations as turns
from mjgym.variation.varying import Varying
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper

DEFAULT_COLOR_ARGS: dict[str, Any] = {"local_rgb_interpolation": 0.2}  # share of a random colour


def _offset(size: float) -> Any:
    return offset(Uniform(-size, size))


def _increase(size: float) -> Any:
    return offset(Uniform(0.0, size))  # stays above zero


def _factor(ratio: float) -> Any:
    return factor(Uniform(1 - ratio, 1 + ratio))


def _decrease(ratio: float) -> Any:
    return factor(Uniform(1 - ratio, 1.0))  # stays below 1


def _rotation(angle: float) -> Any:
    return factor(turns.About((0, 0, 1), Uniform(-angle, angle)))


# Elements, quantity, key of `vary` for an element, distribution, and the published magnitude.
_TABLE: tuple[tuple[str, str, str, Callable[[float], Any], float], ...] = (
    ("camera", "position", "cam_pos[{}]", _offset, 0.01),  # m
    ("camera", "fovy", "cam_fovy[{}]", _offset, 5.0),  # degrees
    ("camera", "rotation", "cam_quat[{}]", _rotation, 0.087),  # rad
    ("light", "position", "light_pos[{}]", _offset, 0.1),  # m
    ("light", "direction", "light_dir[{}]", _offset, 0.35),
    ("light", "specular", "light_specular[{}]", _offset, 0.1),
    ("light", "ambient", "light_ambient[{}]", _offset, 0.1),
    ("light", "diffuse", "light_diffuse[{}]", _offset, 0.1),
    ("body", "mass", "body_mass[{}]", _factor, 0.02),
    ("body", "inertia", "body_inertia[{}]", _factor, 0.02),
    ("body", "position", "body_pos[{}]", _offset, 0.0015),  # m
    ("geom", "friction", "geom_friction[{}]", _factor, 0.1),
    ("geom", "solref", "geom_solref[{}]", _factor, 0.1),
    ("geom", "solimp", "geom_solimp[{}, 0]", _decrease, 0.1),
    ("geom", "solimp", "geom_solimp[{}, 1]", _decrease, 0.1),
    ("joint", "stiffness", "jnt_stiffness[{}]", _factor, 0.1),
    ("joint", "frictionloss", "dof_frictionloss[{}]", _increase, 0.05),
    ("joint", "damping", "dof_damping[{}]", _increase, 0.01),
    ("joint", "armature", "dof_armature[{}]", _increase, 0.01),
)
# Their rows by the argument with the elements' names, with the argument that has the magnitude.
Row = tuple[str, str, str, Callable[[float], Any]]
VARIED: dict[str, list[Row]] = {}
_DEFAULTS: dict[str, dict[str, Any]] = {}
for _kind, _quantity, _key, _draw, _magnitude in _TABLE:
    _unit = "ratio" if _draw in (_factor, _decrease) else "size"
    _argument = f"{_quantity}_perturbation_{_unit}"
    VARIED.setdefault(f"{_kind}_names", []).append((_quantity, _key, _argument, _draw))
    _own = {f"{_kind}_names": None, f"randomize_{_quantity}": True, _argument: _magnitude}
    _DEFAULTS.setdefault(_kind, {}).update(_own)
_MEDIUM = ("density", "viscosity")
DEFAULT_CAMERA_ARGS, DEFAULT_LIGHTING_ARGS = _DEFAULTS["camera"], _DEFAULTS["light"]
DEFAULT_DYNAMICS_ARGS: dict[str, Any] = {
    **{f"randomize_{name}": True for name in _MEDIUM},
    **{f"{name}_perturbation_ratio": 0.1 for name in _MEDIUM},
    **{**_DEFAULTS["body"], **_DEFAULTS["geom"], **_DEFAULTS["joint"]},
}


class DomainRandomizationWrapper(Wrapper):
    """Randomize colours, cameras, lights and dynamics in each episode, and within it.

    The environment is made again with a `vary` of the published magnitudes: each value is drawn
    from a range around the model's, with the episode's generator. Within an episode the wrapper
    draws again; numbers that the task draws itself stay.

    Args:
        env: of `make`; it is closed.
        seed: of the first episode and of draws within episodes; None for that of `make`.
        randomize_color: whether random colours are mixed into materials.
        randomize_camera: whether cameras move, rotate and zoom.
        randomize_lighting: whether lights move and change.
        randomize_dynamics: whether masses, friction and the like change.
        color_randomization_args: overrides of `DEFAULT_COLOR_ARGS`.
        camera_randomization_args: likewise for cameras.
        lighting_randomization_args: likewise for lights.
        dynamics_randomization_args: likewise for dynamics.
        randomize_on_reset: True.
        randomize_every_n_steps: control steps between draws within an episode, the first of which
            precedes its first step; 0 for none.

    Attributes:
        vary: passed to the environment.

    Raises:
        TypeError: an argument has an unknown key; the message names the nearest.
        ValueError: `randomize_on_reset` is False.
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
        plain = env.unwrapped
        self.vary: dict[str, Any] = {}
        for wanted, asked, usual, varied in (
            (randomize_color, color_randomization_args, DEFAULT_COLOR_ARGS, _colours),
            (randomize_camera, camera_randomization_args, DEFAULT_CAMERA_ARGS, perturbed),
            (randomize_lighting, lighting_randomization_args, DEFAULT_LIGHTING_ARGS, perturbed),
            (randomize_dynamics, dynamics_randomization_args, DEFAULT_DYNAMICS_ARGS, perturbed),
        ):
            for key in asked or {}:
                if key not in usual:
                    raise TypeError(f"randomization: no {key!r}{or_else(key, usual)}")
            if wanted:
                self.vary |= varied({**usual, **(asked or {})}, plain.env.model)
        seeded = {} if seed is None else {"seed": seed}
        super().__init__(plain.remade(vary=self.vary, **seeded))
        plain.close()
        self._every, self._steps = randomize_every_n_steps, 0
        self._rng, self._draws = np.random.default_rng(seed), 0
        self._compiled = compile_model(self.unwrapped.env.task)
        self._varying = Varying(self.vary, self._compiled)

    def reset(self) -> Any:
        self._steps = 0
        return self.env.reset()

    def step(self, action: Any) -> Any:
        if self._every and self._steps % self._every == 0:
            self.randomize_domain()
        self._steps += 1
        return self.env.step(action)

    def randomize_domain(self) -> None:
        """Draw all varied numbers again, within the episode."""
        env, varying = self.unwrapped.env, self._varying
        state = env.get_state()
        drawn = varying.draw(self._rng, self._draws)
        self._draws += 1
        before, after = copy.copy(self._compiled), copy.copy(self._compiled)
        varying.write(before, {key: state[f"variation.{key}"] for key in drawn})
        varying.write(after, drawn)
        model = copy.copy(env.model)
        for name in varying.fields:
            old, new, present = map(attrgetter(name), (before, after, model))
            # Numbers that differ from those of the last draw are the task's.
            holder = model.opt if name.startswith("opt.") else model
            setattr(holder, name.removeprefix("opt."), np.where(present == old, new, present)[()])
        varying.follow(model)
        fields = state.keys() & {*varying.fields, *varying.derived}
        numbers = {name: attrgetter(name)(model) for name in fields}
        env.set_state(numbers | {f"variation.{key}": values for key, values in drawn.items()})


def _colours(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    share = args["local_rgb_interpolation"]
    vary = {}
    for i in range(model.nmat):
        name = model.material(i).name
        for column, value in enumerate(model.mat_rgba[i, :3].tolist() if name else ()):
            rest = (1 - share) * value
            vary[f"mat_rgba[{name}, {column}]"] = Uniform(rest, rest + share)
    return vary


def perturbed(args: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """A `vary` of elements' quantities with the magnitudes of such arguments."""
    vary = {
        f"opt.{name}": _factor(args[f"{name}_perturbation_ratio"])
        for name in ("density", "viscosity")
        if args.get(f"randomize_{name}")
    }
    for names, rows in VARIED.items():
        for switch, key, size, distribution in rows if names in args else ():
            if args[f"randomize_{switch}"]:
                for name in ["*"] if args[names] is None else args[names]:
                    vary[key.format(name)] = distribution(args[size])
    return vary
