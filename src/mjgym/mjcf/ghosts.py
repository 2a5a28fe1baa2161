"""Translucent copies of bodies, which show where they should be."""

from collections.abc import Iterable

from mjgym.mjcf.compose import add, without_textures, word
from mjgym.mjcf.elements import Spec

PREFIX = "ghost/"
RGBA = (0.6, 0.7, 0.9, 0.3)
GROUP = 1  # hidden from the egocentric cameras of people
DRAWN_GROUPS = 3  # geoms of higher groups are not drawn

_COPIED = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")  # types of geoms


def add_ghost(spec: Spec, bodies: Iterable[str]) -> None:
    """Add a mocap body for each of some bodies, with its visible geoms, which touch nothing.

    Its name is "ghost/" and that of the body without the part before the last slash.
    """
    model = without_textures(spec).compile()
    geoms = list(spec.geoms)  # in the order of their ids
    for name in bodies:
        ghost = add(spec.worldbody, "body", name=PREFIX + name.rpartition("/")[2], mocap=True)
        first, count = model.body(name).geomadr[0], model.body(name).geomnum[0]
        for i in range(first, first + count):
            kind = word(geoms[i], "type")
            seen = model.geom_group[i] < DRAWN_GROUPS and model.geom_rgba[i, 3] > 0
            if not seen or kind not in _COPIED:
                continue
            mesh = kind == "mesh"
            place = geoms[i] if mesh else model.geom(i)  # compiling moves meshes' frames
            shape = {"meshname": geoms[i].meshname} if mesh else {"size": model.geom_size[i]}
            add(
                ghost, "geom", type=kind, **shape, pos=place.pos, quat=place.quat,
                rgba=RGBA, group=GROUP, contype=0, conaffinity=0,
            )  # fmt: skip
