"""Arenas: the room, with tables, bins or pegs in it."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.mjcf import asset_path
from mjgym_compat.robosuite.models.base import MujocoXML
from mjgym_compat.robosuite.models.object_models import CylinderObject, visual_copy
from mjgym_compat.robosuite.utils.mjcf_utils import (
    CustomMaterial,
    add_prefix,
    array_to_string,
    find_elements,
    new_body,
    new_element,
    new_geom,
    new_site,
    scale_mjcf_model,
    string_to_array,
)

ROOM = "robosuite/room.xml"
TABLE = (0.8, 0.8, 0.05)  # m
FRICTION = (1, 0.005, 0.0001)
LEG, INSET = 0.025, 0.1  # m, radius of a leg, and its distance to the table's edges
STEP = 0.005  # m between markers of dirt
TURNS, TURN = 0.3, 0.5  # probability that dirt changes its direction, and by how much (rad, std)


class Arena(MujocoXML):
    """The surroundings of robots and objects.

    Args:
        fname: path of the MJCF file, with a geom "floor"; by default the room of the tasks.
    """

    def __init__(self, fname: Any = None) -> None:
        super().__init__(asset_path(ROOM) if fname is None else fname)
        self.bottom_pos = np.zeros(3)
        self.floor = self.worldbody.find("./geom[@name='floor']")
        self.object_scales: dict[str, Any] = {}
        self._postprocess_arena()

    def _postprocess_arena(self) -> None:
        """Finish the model; a hook for subclasses."""

    def set_origin(self, offset: Any) -> None:
        """Shift everything at the top of the world, (3,) m."""
        for element in self.worldbody.findall("./*[@pos]"):
            pos = string_to_array(element.get("pos", "0 0 0")) + np.array(offset)
            element.set("pos", array_to_string(pos))

    def set_camera(
        self, camera_name: str, pos: Any, quat: Any, camera_attribs: dict[str, Any] | None = None
    ) -> None:
        """Move a camera, or add it.

        Args:
            pos: (3,) m.
            quat: w, x, y, z.
        """
        wanted = new_element("camera", camera_name, **camera_attribs or {}, pos=pos, quat=quat)
        camera = find_elements(self.worldbody, "camera", {"name": camera_name})
        if camera is None:
            self.worldbody.append(wanted)
        else:
            camera.attrib.update(wanted.attrib)

    def set_scale(self, scale: Any, obj_name: str) -> None:
        """Scale a body at the top of the world, by one factor or three.

        Raises:
            ValueError: there is no such body.
        """
        body = self.worldbody.find(f"./body[@name='{obj_name}']")
        if body is None:
            known = [each.get("name") for each in self.worldbody.findall("./body")]
            raise ValueError(f"obj_name: no body {obj_name!r} among {known}")
        self.object_scales[obj_name] = scale
        scale_mjcf_model(body, self.asset, scale, scale_slide_joints=False)


class EmptyArena(Arena):
    """The room alone."""


def table_body(
    name: str, size: Any, top: Any, friction: Any = FRICTION, legs: bool = True, rot: float = 0.0
) -> ET.Element:
    """A table: a slab on four legs.

    Args:
        name: of its body; the slab is the geom "<name>_collision".
        size: of the slab, (3,) m.
        top: centre of its upper face, (3,) m.
        friction: of the slab.
        rot: angle about the vertical, rad.
    """
    half = np.array(size) / 2
    body = new_body(name, pos=np.array(top) - [0, 0, half[2]])
    quat = (np.cos(rot / 2), 0, 0, np.sin(rot / 2))
    slab = new_geom(f"{name}_collision", "box", half, quat=quat, friction=friction, material="wood")
    look = visual_copy(slab)
    look.set("name", f"{name}_visual")
    body.extend([slab, look])
    body.append(new_site(f"{name}_top", rgba=(0, 0, 0, 0), pos=(0, 0, half[2]), size=(0.001,) * 3))
    height = (top[2] - half[2]) / 2
    inward = np.maximum(half[:2] - INSET, 0.0)
    cosine, sine = np.cos(rot), np.sin(rot)
    corners = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    for i, (x, y) in enumerate(inward * corners if legs and height > 0 else (), start=1):
        pos = (cosine * x - sine * y, sine * x + cosine * y, -height)
        body.append(
            new_geom(
                f"{name}_leg{i}_visual", "cylinder", (LEG, height), pos, group=1, conaffinity=0,
                contype=0, mass=0, material="steel",
            )
        )  # fmt: skip
    return body


class TableArena(Arena):
    """A table in the room.

    Args:
        table_full_size: of the slab, (3,) m.
        table_friction: sliding, torsional and rolling.
        table_offset: centre of its upper face, (3,) m.
        xml: path of another room.
    """

    def __init__(
        self,
        table_full_size: Any = TABLE,
        table_friction: Any = FRICTION,
        table_offset: Any = (0, 0, 0.8),
        has_legs: bool = True,
        xml: Any = None,
    ) -> None:
        super().__init__(xml)
        self.table_full_size = np.array(table_full_size)
        self.table_half_size = self.table_full_size / 2
        self.table_friction, self.has_legs = table_friction, has_legs
        self.table_offset = np.array(table_offset)
        self.center_pos = self.table_offset - [0, 0, self.table_half_size[2]]
        self.configure_location()

    def configure_location(self) -> None:
        """Add the table to the room."""
        self.table_body = table_body(
            "table", self.table_full_size, self.table_offset, self.table_friction, self.has_legs
        )
        self.worldbody.append(self.table_body)
        self.table_collision, self.table_visual = self.table_body.findall("geom")[:2]
        self.table_top = self.table_body.find("site")

    @property
    def table_top_abs(self) -> np.ndarray:
        """Centre of its upper face, (3,) m, wherever the floor is."""
        assert self.floor is not None
        return np.asarray(string_to_array(self.floor.get("pos", "0 0 0")) + self.table_offset)


class PegsArena(TableArena):
    """A table with a square and a round peg, the bodies "peg1" and "peg2"."""

    def __init__(
        self,
        table_full_size: Any = (0.45, 0.69, 0.05),
        table_friction: Any = FRICTION,
        table_offset: Any = (0, 0, 0),
    ) -> None:
        super().__init__(table_full_size, table_friction, table_offset)
        self.peg1_body, self.peg2_body = _furnish(self, "pegs", "peg")


class BinsArena(Arena):
    """Two bins, the bodies "bin1" and "bin2".

    Args:
        bin1_pos: where tasks look for the first, (3,) m.
        table_full_size: of the space that objects are placed in, (3,) m.
        table_friction: sliding, torsional and rolling.
    """

    def __init__(
        self,
        bin1_pos: Any = (0.1, -0.5, 0.8),
        table_full_size: Any = (0.39, 0.49, 0.82),
        table_friction: Any = FRICTION,
    ) -> None:
        super().__init__()
        self.table_full_size = np.array(table_full_size)
        self.table_half_size = self.table_full_size / 2
        self.table_friction, self.table_top_abs = table_friction, np.array(bin1_pos)
        self.bin1_body, self.bin2_body = _furnish(self, "bins", "bin")
        for body, y in ((self.bin1_body, -0.25), (self.bin2_body, 0.28)):
            body.set("pos", array_to_string((0.1, y, 0.8)))
            for geom in body.iter("geom"):
                if geom.get("contype") != "0":
                    geom.set("friction", array_to_string(table_friction))


def _furnish(arena: Arena, file: str, prefix: str) -> list[ET.Element]:
    parts = MujocoXML(asset_path(f"robosuite/{file}.xml"))
    add_prefix(parts.root, prefix)
    for body in parts.worldbody:
        body.extend([visual_copy(g) for g in body.findall("geom") if g.get("contype") != "0"])
    bodies = list(parts.worldbody)
    arena.merge(parts)
    return bodies


class MultiTableArena(Arena):
    """Several tables, the bodies "table0", "table1" and so on.

    Args:
        table_offsets: centre of the upper face of each, (n, 3) m.
        table_rots: angle about the vertical of all or each, rad.
        table_full_sizes: of all or each, m.
        table_frictions: of all or each.
        xml: path of another room.
    """

    def __init__(
        self,
        table_offsets: Any,
        table_rots: Any = 0,
        table_full_sizes: Any = TABLE,
        table_frictions: Any = FRICTION,
        has_legs: bool | Sequence[bool] = True,
        xml: Any = None,
    ) -> None:
        self.table_offsets = np.array(table_offsets, float)
        self.n_tables = count = len(self.table_offsets)
        self.table_rots = np.broadcast_to(np.array(table_rots, float), count)
        self.table_full_sizes = np.broadcast_to(np.array(table_full_sizes, float), (count, 3))
        self.table_half_sizes = self.table_full_sizes / 2
        self.table_frictions = np.broadcast_to(np.array(table_frictions, float), (count, 3))
        self.has_legs = np.broadcast_to(has_legs, count).tolist()
        self.center_pos = self.table_offsets - [0, 0, 1] * self.table_half_sizes
        super().__init__(xml)

    def _postprocess_arena(self) -> None:
        for i in range(self.n_tables):
            self.worldbody.append(
                table_body(
                    f"table{i}",
                    self.table_full_sizes[i],
                    self.table_offsets[i],
                    self.table_frictions[i],
                    self.has_legs[i],
                    self.table_rots[i],
                )
            )


class WipeArena(TableArena):
    """A table with a path of dirt, markers that a robot wipes off.

    Args:
        coverage_factor: share of the table, along x and y, that dirt may lie on.
        table_friction_std: kept as an attribute.
        line_width: of the path, m.
        two_clusters: whether the path begins anew in its middle.
    """

    def __init__(
        self,
        table_full_size: Any = TABLE,
        table_friction: Any = (0.01, 0.005, 0.0001),
        table_offset: Any = (0, 0, 0.8),
        coverage_factor: float = 0.9,
        num_markers: int = 10,
        table_friction_std: float = 0,
        line_width: float = 0.02,
        two_clusters: bool = False,
        rng: Any = None,
    ) -> None:
        self.rng = rng or np.random.default_rng()
        self.coverage_factor, self.num_markers = coverage_factor, num_markers
        self.table_friction_std, self.line_width = table_friction_std, line_width
        self.two_clusters = two_clusters
        self.direction = 0.0
        self.markers: list[CylinderObject] = []
        super().__init__(table_full_size, table_friction, table_offset)

    def configure_location(self) -> None:
        super().configure_location()
        look = {"specular": 0.0, "shininess": 0.0}
        dirt = CustomMaterial("Dirt", "dirt", "dirt_mat", {"type": "cube"}, look, shared=True)
        for i in range(self.num_markers):
            marker = CylinderObject(
                f"contact{i}",
                size=[self.line_width / 2, 0.001],
                material=dirt,
                obj_type="visual",
                joints=None,
            )
            self.merge_assets(marker)
            self.table_body.append(marker.get_obj())
            self.markers.append(marker)

    def reset_arena(self, sim: Any) -> None:
        """Draw a new path and put the markers on it."""
        model = sim.model
        pos = self.sample_start_pos()
        for i, marker in enumerate(self.markers):
            if self.two_clusters and i == self.num_markers // 2:
                pos = self.sample_start_pos()
            place = (*pos, self.table_half_size[2])
            model.body_pos[model.body_name2id(marker.root_body)] = place
            model.geom_rgba[model.geom_name2id(marker.visual_geoms[0])][3] = 1
            model.site_rgba[model.site_name2id(marker.sites[0])][3] = 0
            pos = self.sample_path_pos(pos)

    @property
    def _reach(self) -> np.ndarray:
        return self.table_half_size[:2] * self.coverage_factor - self.line_width / 2

    def sample_start_pos(self) -> np.ndarray:
        """Draw a direction and the first point of a path, (2,) m from the table's centre."""
        self.direction = self.rng.uniform(-np.pi, np.pi)
        return np.asarray(self.rng.uniform(-self._reach, self._reach))

    def sample_path_pos(self, pos: Any) -> np.ndarray:
        """The next point of a path, on the table."""
        if self.rng.uniform(0, 1) > 1 - TURNS:
            self.direction += self.rng.normal(0, TURN)
        while True:
            way = np.array([np.sin(self.direction), np.cos(self.direction)])
            place = np.asarray(pos) + STEP * way
            if (np.abs(place) < self._reach).all():
                return place
            self.direction += self.rng.normal(0, TURN)


__path__: list[str] = []  # it answers for modules of others
