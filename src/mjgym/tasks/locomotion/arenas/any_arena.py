"""The arena interface of the locomotion family."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from mjgym.mjcf import Spec, published_look
from mjgym.mjcf.textures import add_texture, grass, layers, sky, slabs
from mjgym.sim.bounds import REFITTED
from mjgym.sim.single import SingleView
from mjgym.util.catalogue import Catalogue
from mjgym.variation import Uniform
from mjgym.variation.written import Written

PLACED = ("geom_pos", "geom_size", *REFITTED)
"""The model fields of an arena whose geoms are placed and sized for each episode."""


GROUND = ("grass", "slabs", "chequers")  # materials
DRY = (0.62, 0.56, 0.25)  # of the driest grass


def refine(spec: Spec) -> None:
    """Replace an arena's textures by finer ones in the same colours."""
    for texture in spec.textures:
        first, second, mark = (tuple(x) for x in (texture.rgb1, texture.rgb2, texture.markrgb))
        match texture.name:
            case "grass":
                add_texture(spec, "grass", grass(first, mark, DRY))
            case "slabs":
                add_texture(spec, "slabs", slabs(first, second))
            case "clay":
                add_texture(spec, "clay", layers(second, first), "cube")
            case "sky":
                add_texture(spec, "sky", sky(first, second, first), "skybox")


@dataclass(frozen=True)
class Arena(Written):
    """An arena: its model, and how that varies between episodes.

    An arena is a frozen dataclass without state; its fields are its dimensions. A new one is a file
    with a subclass under `@register_arena("name")`. It is compiled once, with as many parts as an
    episode may need; `draw` places and sizes them, and parks those that are left over.
    """

    scale: float | None = field(default=None, kw_only=True)  # size of its walkers beside a human

    varies: ClassVar[tuple[str, ...]] = ()
    """Fields of MjModel that `draw` writes to."""
    lengths: ClassVar[tuple[str, ...]] = ()
    """Its fields that are lengths, which `scaled` multiplies."""

    def model(self) -> Spec:
        """The arena's MJCF, without walkers."""
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def dress(self, spec: Spec) -> None:
        """Replace textures of the model by finer ones, for images alone."""
        refine(spec)

    def dress_as_published(self, spec: Spec) -> None:
        """Give the arena the meadow and the sky of the published ones for small animals."""
        meadow = published_look.add_outdoors(spec)
        for part in (*spec.geoms, *spec.sites):
            if part.material in GROUND:
                part.material = meadow

    def ground(self) -> dict[str, str]:
        """The ground, for detecting falls: names, with "geom" or "body" for each."""
        return {"ground": "geom"}

    def scaled(self, walker_scale: float | None) -> Self:
        """The arena for walkers of another size; itself where either size does not matter."""
        if self.scale is None or walker_scale is None or walker_scale == self.scale:
            return self
        factor = walker_scale / self.scale
        sizes = {name: _times(getattr(self, name), factor) for name in self.lengths}
        return replace(self, scale=walker_scale, **sizes)

    def draw(self, v: SingleView, rng: Any) -> Any:
        """Write one episode's place into a scratch simulation.

        Nothing has been computed of its defaults; `v.detect_contacts()` computes where things are.

        Returns:
            Details for the arena's tasks, e.g. the targets of a maze.
        """


def _times(length: Any, factor: float) -> Any:
    """Scale a length or a distribution of lengths; a uniform one stays uniform."""
    if isinstance(length, Uniform):
        return Uniform(length.low * factor, length.high * factor)
    return length * factor


_arenas: Catalogue[Arena] = Catalogue("arena", Arena, __package__)

register_arena = _arenas.register
"""Class decorator: register an arena under a name for the keyword argument `arena`."""


def find_arena(name: str | Arena) -> Arena:
    """Look up an arena by name or "module:Class"; an arena is returned as is."""
    return _arenas.find(name)
