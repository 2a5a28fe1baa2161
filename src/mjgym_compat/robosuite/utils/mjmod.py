"""Changes of a simulation's cameras, lights, colours and dynamics within an episode."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from mjgym.sim.fields import PREFIXES
from mjgym.util.suggestions import or_else
from mjgym.variation.varying import Varying
from mjgym_compat.robosuite.utils import transform_utils as turns
from mjgym_compat.robosuite.wrappers.domain_randomization_wrapper import (
    DEFAULT_CAMERA_ARGS,
    DEFAULT_DYNAMICS_ARGS,
    DEFAULT_LIGHTING_ARGS,
    VARIED,
    perturbed,
)

OPTIONS = ("density", "viscosity")  # of the medium, of no element
FIELDS: dict[str, str] = {
    **{name: f"opt.{name}" for name in OPTIONS},
    "quaternion": "body_quat",
    **{
        row[0]: row[1].partition("[")[0]
        for names in ("body_names", "geom_names", "joint_names")
        for row in VARIED[names]
    },
}
"""Field of the model by robosuite's name of a quantity."""
COLOUR_ARGS: dict[str, Any] = {
    "geom_names": None,
    "randomize_local": False,
    "randomize_material": False,
    "local_rgb_interpolation": 0.1,  # share of a random colour
    "local_material_interpolation": 0.2,
    "texture_variations": ("rgb", "checker", "noise", "gradient"),
    "randomize_skybox": True,
}
MATERIAL = ("reflectance", "shininess", "specular")
BYTE = 255


class BaseModder:
    """Change numbers of a simulation's model.

    Args:
        sim: of an environment.
        random_state: of draws, a `np.random.RandomState`; None for NumPy's global generator.
        **options: see `options`.

    Attributes:
        options: the options and their defaults.

    Raises:
        TypeError: there is no such option; the message names the nearest.
    """

    options: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, sim: Any, random_state: Any = None, **options: Any) -> None:
        for name in options:
            if name not in self.options:
                raise TypeError(f"no option {name!r}{or_else(name, self.options)}")
        self._options = {**self.options, **options}
        self.random_state = np.random if random_state is None else random_state
        self.sim = sim
        self.save_defaults()

    @property
    def model(self) -> Any:
        return self.sim.model

    def update_sim(self, sim: Any) -> None:
        """Use another simulation."""
        self.sim = sim

    def save_defaults(self) -> None:
        """Take the present values for the defaults."""

    def __getattr__(self, name: str) -> Any:
        """Its options, as in robosuite."""
        if name in self.options:
            return self._options[name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")


class _Elements(BaseModder):
    """Set or draw quantities of named elements, by `get_<quantity>` and `set_<quantity>`."""

    kind = ""
    prefix = ""  # of the fields
    drawn: ClassVar[Mapping[str, str]] = {}  # field by the option's name of a quantity

    @property
    def names(self) -> Any:
        """The elements that `randomize` draws."""
        given = self._options[f"{self.kind}_names"]
        return getattr(self.model, f"{self.kind}_names") if given is None else given

    def save_defaults(self) -> None:
        fields = self.drawn.values()
        self._defaults = {
            name: {field: np.copy(self._get(name, field)) for field in fields}
            for name in self.names
        }

    def restore_defaults(self) -> None:
        """Set all values to the defaults."""
        for name, values in self._defaults.items():
            for field, value in values.items():
                self._set(name, field, value)

    def randomize(self) -> None:
        """Draw all values around the defaults."""
        for name in self.names:
            for quantity, field in self.drawn.items():
                if self._options.get(f"randomize_{quantity}", True):
                    size = self._options.get(f"{quantity}_perturbation_size")
                    self._set(name, field, self._draw(field, self._defaults[name][field], size))

    def _draw(self, field: str, value: np.ndarray, size: Any) -> np.ndarray:
        return np.asarray(value + self.random_state.uniform(-size, size, value.shape or None))

    def _rotation(self, angle: float) -> np.ndarray:
        axis, angle = turns.random_axis_angle(angle, self.random_state)
        return turns.quat2mat(turns.axisangle2quat(axis * angle))

    def _id(self, name: str) -> int:
        return int(getattr(self.model, f"{self.kind}_name2id")(name))

    def _get(self, name: str, field: str) -> Any:
        return getattr(self.model, f"{self.prefix}_{field}")[self._id(name)]

    def _set(self, name: str, field: str, value: Any) -> None:
        rows, number = getattr(self.model, f"{self.prefix}_{field}"), self._id(name)
        if np.shape(value) != rows[number].shape:
            raise ValueError(f"{field}: expected shape {rows[number].shape}, got {value!r}")
        rows[number] = value

    def __getattr__(self, name: str) -> Any:
        way, _, field = name.partition("_")
        if way in ("get", "set") and field in self.drawn.values():
            access: Callable[..., Any] = getattr(self, f"_{way}")
            return lambda element, *value: access(element, field, *value)
        return super().__getattr__(name)


class LightingModder(_Elements):
    """Set or draw a simulation's lights: `pos`, `dir`, `specular`, `ambient`, `diffuse`, `active`.

    Args:
        sim: of an environment.
        random_state: of draws, a `np.random.RandomState`; None for NumPy's global generator.
        **options: what `randomize` draws, see `DEFAULT_LIGHTING_ARGS`; and `randomize_active`,
            whether it switches lights on and off.
    """

    kind = prefix = "light"
    options = DEFAULT_LIGHTING_ARGS | {"randomize_active": True}
    drawn: ClassVar[Mapping[str, str]] = {
        "position": "pos",
        "direction": "dir",
        **{name: name for name in ("specular", "ambient", "diffuse", "active")},
    }

    def get_lightid(self, name: str) -> int:
        """The id of a light."""
        return self._id(name)

    def _draw(self, field: str, value: np.ndarray, size: Any) -> np.ndarray:
        if field == "dir":
            return np.asarray(self._rotation(size) @ value)
        if field == "active":
            return np.asarray(self.random_state.uniform() > 0.5)
        return super()._draw(field, value, size)


class CameraModder(_Elements):
    """Set or draw a simulation's cameras: `pos`, m, `quat` (w, x, y, z) and `fovy`, degrees.

    Args:
        sim: of an environment.
        random_state: of draws, a `np.random.RandomState`; None for NumPy's global generator.
        **options: what `randomize` draws, see `DEFAULT_CAMERA_ARGS`.

    Raises:
        ValueError: an angle of view is not within 0 and 180 degrees.
    """

    kind, prefix = "camera", "cam"
    options = DEFAULT_CAMERA_ARGS
    drawn: ClassVar[Mapping[str, str]] = {"position": "pos", "rotation": "quat", "fovy": "fovy"}

    def get_camid(self, name: str) -> int:
        """The id of a camera."""
        return self._id(name)

    def _set(self, name: str, field: str, value: Any) -> None:
        if field == "fovy" and not 0 < value < 180:
            raise ValueError(f"fovy: expected 0 to 180 degrees, got {value!r}")
        super()._set(name, field, value)

    def _draw(self, field: str, value: np.ndarray, size: Any) -> np.ndarray:
        if field != "quat":
            return super()._draw(field, value, size)
        turned = self._rotation(size).T @ turns.quat2mat(turns.convert_quat(value))
        return turns.convert_quat(turns.mat2quat(turned), to="wxyz")


class TextureModder(_Elements):
    """Set or draw the colours of a simulation's geoms, and the shine of their materials.

    There are no textures to paint here: every geom is drawn as robosuite draws those without, with
    a colour; methods that paint patterns, and the sky, are missing. Unnamed geoms go by their ids.

    Args:
        sim: of an environment.
        random_state: of draws, a `np.random.RandomState`; None for NumPy's global generator.
        **options: see `COLOUR_ARGS`.
    """

    kind = prefix = "geom"
    options = COLOUR_ARGS
    drawn: ClassVar[Mapping[str, str]] = {"colour": "rgba"}

    @property
    def names(self) -> list[int]:
        given = self._options["geom_names"]
        return [*range(self.model.ngeom)] if given is None else [self._id(each) for each in given]

    def save_defaults(self) -> None:
        super().save_defaults()
        for number, values in self._defaults.items():
            if (shine := self.get_material(number)) is not None:
                values["material"] = shine

    def randomize(self) -> None:
        """Draw the colours, and with `randomize_material` the shine."""
        local = self._options["randomize_local"]
        for number in self.names:
            self._paint(number, self.random_state.uniform(0, 1, 3), local)
            if self._options["randomize_material"] and self.get_material(number) is not None:
                self.set_material(number, self.random_state.uniform(0, 1, 3), local)

    def whiten_materials(self) -> None:
        """Make the geoms white."""
        for number in self.names:
            self._set(number, "rgba", np.ones(4))

    def get_geom_rgb(self, name: Any) -> np.ndarray:
        """A geom's colour, (3,) from 0 to 1."""
        return np.asarray(self._get(name, "rgba")[:3])

    def set_geom_rgb(self, name: Any, rgb: Any) -> None:
        """Set a geom's colour, (3,) from 0 to 1."""
        self._get(name, "rgba")[:3] = rgb

    def set_rgb(self, name: Any, rgb: Any, perturb: bool = False) -> None:
        """Set a geom's colour, (3,) from 0 to 255, or with `perturb` mix a bit of it in."""
        self._paint(name, np.asarray(rgb) / BYTE, perturb)

    def rand_rgb(self, name: Any) -> None:
        """Draw a geom's colour."""
        self.set_rgb(name, self.get_rand_rgb(), self._options["randomize_local"])

    def get_rand_rgb(self, n: int = 1) -> Any:
        """A random colour, (3,) from 0 to 255, or a tuple of several."""
        drawn = tuple((self.random_state.uniform(size=3) * BYTE).astype(np.uint8) for _ in range(n))
        return drawn[0] if n == 1 else drawn

    def get_material(self, name: Any) -> np.ndarray | None:
        """Reflectance, shininess and specular of a geom's material, (3,), or None."""
        number = self._material(name)
        if number < 0:
            return None
        return np.array([getattr(self.model, f"mat_{each}")[number] for each in MATERIAL])

    def set_material(self, name: Any, material: Any, perturb: bool = False) -> None:
        """Set reflectance, shininess and specular of a geom's material, or mix a bit of them in.

        Raises:
            ValueError: the geom has no material.
        """
        number = self._material(name)
        if number < 0:
            raise ValueError(f"{name!r} has no material")
        if perturb:
            share = self._options["local_material_interpolation"]
            material = self._mixed(self._defaults[self._id(name)]["material"], material, share)
        for each, value in zip(MATERIAL, material, strict=True):
            getattr(self.model, f"mat_{each}")[number] = value

    def _paint(self, name: Any, rgb: np.ndarray, perturb: bool) -> None:
        if perturb:
            share = self._options["local_rgb_interpolation"]
            rgb = self._mixed(self._defaults[self._id(name)]["rgba"][:3], rgb, share)
        self.set_geom_rgb(name, rgb)
        self._get(name, "rgba")[3:] = 1.0  # as in robosuite

    def _mixed(self, before: np.ndarray, after: Any, share: float) -> np.ndarray:
        return (1 - share) * before + share * np.asarray(after)

    def _set(self, name: Any, field: str, value: Any) -> None:
        if field != "material":
            super()._set(name, field, value)
        else:
            self.set_material(name, value)

    def _material(self, name: Any) -> int:
        return int(self.model.geom_matid[self._id(name)])

    def _id(self, name: Any) -> int:
        return name if isinstance(name, int) else super()._id(name)


class DynamicsModder(BaseModder):
    """Set or draw masses, friction and the like of a simulation; `mod_<quantity>` sets one.

    Args:
        sim: of an environment.
        random_state: of draws, a `np.random.RandomState`; None for NumPy's global generator.
        **options: what `randomize` draws, see `DEFAULT_DYNAMICS_ARGS`.
    """

    options = DEFAULT_DYNAMICS_ARGS

    def __init__(self, sim: Any, random_state: Any = None, **options: Any) -> None:
        super().__init__(sim, random_state, **options)
        seed = None if random_state is None else int(random_state.randint(2**31))
        self._rng, self._draws = np.random.default_rng(seed), 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("mod_") and (quantity := name.removeprefix("mod_")) in FIELDS:
            return lambda name=None, val=0.0: self.mod(name, quantity, val)
        return super().__getattr__(name)

    @property
    def dynamics_parameters(self) -> Mapping[str, str]:
        """The fields that `mod` sets, by robosuite's names."""
        return FIELDS

    @property
    def opt(self) -> Any:
        return self.model.opt

    def update_sim(self, sim: Any) -> None:
        """Use another simulation, whose present values are the defaults."""
        super().update_sim(sim)
        self.save_defaults()

    def save_defaults(self) -> None:
        self._defaults = {field: np.copy(getattr(*self._place(field))) for field in FIELDS.values()}

    def restore_defaults(self) -> None:
        for field, values in self._defaults.items():
            self._write(field, values)

    def randomize(self) -> None:
        self.restore_defaults()
        model = self.sim.model._model
        varying = Varying(perturbed(self._options, model), model)
        varying.write(model, varying.draw(self._rng, self._draws))
        self._draws += 1
        self.update()

    def update(self) -> None:
        """Recompute what depends on the values."""
        self.sim.forward()

    def mod(self, name: str | None, attr: str, val: Any) -> None:
        """Set a quantity of an element; of no element for "density" and "viscosity".

        Raises:
            ValueError: there is no such quantity; the message names the nearest.
        """
        if attr not in FIELDS:
            raise ValueError(f"attr: no {attr!r}{or_else(attr, FIELDS)}")
        field = FIELDS[attr]
        if attr in OPTIONS:
            self._write(field, np.asarray(val))
            return
        prefix = field.partition("_")[0]
        kind = "joint" if prefix == "dof" else PREFIXES.get(prefix, prefix)
        element = getattr(self.sim.model._model, kind)(name)
        getattr(element, field.partition("_")[2])[:] = val

    def _place(self, field: str) -> tuple[Any, str]:
        model = self.sim.model._model
        return (model.opt if field.startswith("opt.") else model), field.removeprefix("opt.")

    def _write(self, field: str, values: np.ndarray) -> None:
        holder, name = self._place(field)
        setattr(holder, name, values[()])
