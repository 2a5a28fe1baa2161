"""Objects composed of primitives by their sizes: rings, cones, a frame with a hook, a wrench."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np

from mjgym.rotations import about_z
from mjgym_compat.robosuite.models.object_models import (
    Bin,
    BoxObject,
    CompositeBodyObject,
    CompositeObject,
    CylinderObject,
    Lid,
    MujocoObject,
    ObjectGroup,
)
from mjgym_compat.robosuite.utils import sim_utils, transform_utils
from mjgym_compat.robosuite.utils.mjcf_utils import BLUE, GREEN, RED, TEXTURES

BRASS, STEEL, RUBBER = (0.71, 0.6, 0.29, 1), (0.56, 0.57, 0.58, 1), (0.13, 0.13, 0.13, 1)
GRIP_FRICTION = (1.0, 0.005, 0.0001)
JOINT_DAMPING = 0.0005
DENSITY = 1000.0  # kg/m^3
CONDIM = 4
CONE_PARTS = 51
LYING = (0.5, 0.5, -0.5, -0.5)  # x, y, z, w: turned by 90 degrees about two axes


def _site(name: str, pos: Any, rgba: Any) -> dict[str, Any]:
    return {"name": name, "pos": pos, "size": "0.002", "rgba": rgba, "type": "sphere"}


class _Parts(list[dict[str, Any]]):
    def put(self, name: str, types: str, sizes: Any, locations: Any, **more: Any) -> None:
        """Append a geom; `more` takes quats, rgbas, materials, frictions and condims."""
        self.append({"names": name, "types": types, "sizes": sizes, "locations": locations, **more})

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `CompositeObject`."""
        keys = {key for each in self for key in each}
        return {f"geom_{key}": [each.get(key) for each in self] for key in keys}


class _Composed(CompositeObject):
    def __init__(
        self,
        name: str,
        half: Any,
        parts: _Parts,
        sites: Any,
        of_all: Mapping[str, Any],
        material: Any = None,
    ) -> None:
        of_all = {"density": DENSITY, **of_all}
        super().__init__(
            name, half, **parts.arguments, locations_relative_to_center=True, sites=sites, **of_all
        )
        if material is not None:
            self.append_material(material)


def _look(rgba: Any, material: Any, friction: Any) -> dict[str, Any]:
    name = None if material is None else material.name
    return {"rgbas": rgba, "materials": name, "frictions": friction, "condims": CONDIM}


class HollowCylinderObject(_Composed):
    """A ring of bars.

    Args:
        outer_radius: m.
        inner_radius: m.
        height: half of it, m.
        ngeoms: number of bars of the whole ring.
        material: a `CustomMaterial`.
        **of_all: density (kg/m^3), solref and solimp of all bars.
    """

    def __init__(
        self,
        name: str,
        outer_radius: float = 0.0425,
        inner_radius: float = 0.03,
        height: float = 0.05,
        ngeoms: int = 8,
        rgba: Any = None,
        material: Any = None,
        friction: Any = None,
        make_half: bool = False,
        **of_all: Any,
    ) -> None:
        step = pi / ngeoms
        self.unit_box_height = (outer_radius - inner_radius) * cos(step) / 2
        self.unit_box_width = outer_radius * sin(step)
        self.int_r = inner_radius * cos(step) + self.unit_box_height
        size = (self.unit_box_height, self.unit_box_width, height)
        parts, look = _Parts(), _look(rgba, material, friction)
        for i in range(ngeoms // 2 + 1 if make_half else ngeoms):
            angle = pi - i * 2 * step
            place = (self.int_r * cos(angle), self.int_r * sin(angle), 0.0)
            parts.put(f"hc_{i}", "box", size, place, quats=about_z(angle), **look)
        sites = [_site("center", (0, 0, 0), RED)]
        half = (outer_radius, outer_radius, height)
        super().__init__(name, half, parts, sites, of_all, material)


def _cone(low: float, high: float, height: float, count: int) -> list[tuple[float, float]]:
    """Height from the centre and half size, m, of each slice of a cone, bottom first."""
    half = height / 2 * (1 - 1 / count)
    return list(zip(np.linspace(-half, half, count), np.linspace(low, high, count), strict=True))


class ConeObject(_Composed):
    """A cone of cylinders, or a pyramid of boxes, with its base down.

    Args:
        outer_radius: of the base, m.
        inner_radius: of the tip, m.
        height: m.
        ngeoms: number of slices; an even one is increased by 1.
        material: a `CustomMaterial`.
        **of_all: density (kg/m^3), solref and solimp of all slices.
    """

    def __init__(
        self,
        name: str,
        outer_radius: float = 0.0425,
        inner_radius: float = 0.03,
        height: float = 0.05,
        ngeoms: int = 8,
        use_box: bool = False,
        rgba: Any = None,
        material: Any = None,
        friction: Any = None,
        **of_all: Any,
    ) -> None:
        count = ngeoms + 1 - ngeoms % 2
        parts, half = _Parts(), height / count / 2
        look = _look(rgba, material, friction)
        for i, (z, r) in enumerate(_cone(outer_radius, inner_radius, height, count)):
            size = (r, r, half) if use_box else (r, half)
            parts.put(f"c_{i}", "box" if use_box else "cylinder", size, (0, 0, z), **look)
        sites = [_site("center", (0, 0, 0), RED)]
        whole = (outer_radius, outer_radius, height / 2)
        super().__init__(name, whole, parts, sites, of_all, material)


class HookFrame(_Composed):
    """A post that carries a rod with a hook, as in ToolHang.

    Args:
        frame_length: of the rod, m.
        frame_height: of the post, m.
        frame_thickness: of both, m.
        hook_height: of the hook at the end of the rod, m; None for none.
        grip_location: height of the grip on the post, m; None for none.
        grip_size: its half width and half height, m; None for none.
        tip_size: half height of the tip's cylinder, radii of the cone below at its point and its
            base, and its height, m; None for none.
        friction: of all but the grip.
        use_texture: whether it has the colours of brass, rubber and steel, not `rgba`.
        **of_all: density (kg/m^3), solref and solimp of all geoms.
    """

    def __init__(
        self,
        name: str,
        frame_length: float = 0.3,
        frame_height: float = 0.2,
        frame_thickness: float = 0.025,
        hook_height: float | None = None,
        grip_location: float | None = None,
        grip_size: Sequence[float] | None = None,
        tip_size: Sequence[float] | None = None,
        friction: Any = None,
        use_texture: bool = True,
        rgba: Any = (0.2, 0.1, 0.0, 1.0),
        **of_all: Any,
    ) -> None:
        self.frame_length, self.frame_height = frame_length, frame_height
        self.frame_thickness, self.hook_height = frame_thickness, hook_height
        self.grip_location, self.grip_size, self.tip_size = grip_location, grip_size, tip_size
        thick = frame_thickness / 2
        post, rod = frame_length / 2 - thick, frame_height / 2 - thick
        brass = {"rgbas": BRASS if use_texture else rgba, "frictions": friction}
        steel = {"rgbas": STEEL if use_texture else rgba, "frictions": friction}
        parts = _Parts()
        parts.put("vertical_frame", "box", (thick, thick, rod), (post, 0, -thick), **brass)
        parts.put("horizontal_frame", "box", (frame_length / 2, thick, thick), (0, 0, rod), **brass)
        if hook_height is not None:
            place = (-post, 0, (frame_height + hook_height) / 2)
            parts.put("hook_frame", "box", (thick, thick, hook_height / 2), place, **brass)
        if grip_location is not None and grip_size is not None:
            wide, high = grip_size
            place = (post, 0, grip_location - thick)
            grip = {"rgbas": RUBBER, "frictions": GRIP_FRICTION}
            parts.put("grip_frame", "box", (wide, wide, high), place, **grip)
        sites = [
            _site("hang_site", (-frame_length / 2, 0, rod), RED),
            _site("mount_site", (post, 0, -frame_height / 2), GREEN),
            _site("intersection_site", (post, 0, rod), BLUE),
        ]
        whole = frame_height
        if tip_size is not None:
            cylinder, point, base, cone = tip_size
            foot = -frame_height / 2 - 2 * cylinder
            place = (post, 0, foot + cylinder)
            parts.put("tip_cylinder", "cylinder", (base, cylinder), place, **steel)
            for i, (z, r) in enumerate(_cone(point, base, cone, CONE_PARTS)):
                size, place = (r, r, cone / CONE_PARTS / 2), (post, 0, foot - cone / 2 + z)
                parts.put(f"tip_cone_{i}", "box", size, place, **steel)
            sites.append(_site("tip_site", (post, 0, foot - cone), RED))
            whole += 2 * (cylinder + 2 * cone)
        self.size = np.array((frame_length, frame_thickness, whole))
        super().__init__(name, self.size / 2, parts, sites, of_all)

    @property
    def init_quat(self) -> np.ndarray:
        """Orientation when lying, x, y, z, w."""
        return np.array(LYING)


class RatchetingWrenchObject(CompositeBodyObject):
    """A wrench with a ring at each end, as in ToolHang.

    Args:
        handle_size: half sizes, (3,) m.
        outer_radius_1: of the first ring, m.
        inner_radius_1: of the first ring, m.
        height_1: half of it, m.
        outer_radius_2: of the second ring, m.
        inner_radius_2: of the second ring, m.
        height_2: half of it, m.
        ngeoms: number of bars of a ring.
        grip_size: half width and half length of a grip, m; None for none.
        friction: of all but the grip.
        **of_all: density (kg/m^3), solref and solimp of all geoms.
    """

    def __init__(
        self,
        name: str,
        handle_size: Sequence[float] = (0.08, 0.01, 0.005),
        outer_radius_1: float = 0.0425,
        inner_radius_1: float = 0.03,
        height_1: float = 0.05,
        outer_radius_2: float = 0.0425,
        inner_radius_2: float = 0.03,
        height_2: float = 0.05,
        ngeoms: int = 8,
        grip_size: Sequence[float] | None = None,
        friction: Any = None,
        **of_all: Any,
    ) -> None:
        self.handle_size, self.grip_size = tuple(handle_size), grip_size
        self.outer_radii = outer_radius_1, outer_radius_2
        self.inner_radii, self.heights = (inner_radius_1, inner_radius_2), (height_1, height_2)
        self.ngeoms = ngeoms
        of_all = {"density": DENSITY, **of_all}
        parts: list[MujocoObject] = []
        places: list[Any] = []
        for i, side in enumerate((-1, 1)):
            ring = HollowCylinderObject(
                f"hole{i + 1}",
                self.outer_radii[i],
                self.inner_radii[i],
                self.heights[i],
                ngeoms,
                rgba=STEEL,
                friction=friction,
                **of_all,
            )
            parts.append(ring)
            reach = handle_size[0] + self.outer_radii[i] - 2 * ring.unit_box_height
            places.append((side * reach, 0, 0))
        handle: Any = np.array(handle_size)
        parts.append(BoxObject("handle", handle, rgba=STEEL, friction=friction, **of_all))
        places.append(None)
        quats: list[Any] = [None] * 3
        if grip_size is not None:
            wide, half = grip_size
            size: Any = np.array((wide, wide, half))
            parts.append(BoxObject("grip", size, rgba=RUBBER, friction=GRIP_FRICTION, **of_all))
            places.append(None)
            quats.append((sqrt(0.5), 0, sqrt(0.5), 0))
        joints = [{"type": "free", "damping": JOINT_DAMPING}]
        super().__init__(name, parts, places, quats, joints=joints)


class HingedBoxObject(CompositeBodyObject):
    """Two boxes, one on the other, with a hinge along an edge between them.

    Args:
        name: of the object.
        box1_size: half sizes of the lower box, (3,) m.
        box2_size: half sizes of the upper box, (3,) m.
        use_texture: whether they have the colours of wood, not red and blue.
    """

    def __init__(
        self,
        name: str,
        box1_size: Sequence[float] = (0.025, 0.025, 0.025),
        box2_size: Sequence[float] = (0.025, 0.025, 0.0125),
        use_texture: bool = True,
    ) -> None:
        self.box1_size, self.box2_size = np.array(box1_size), np.array(box2_size)
        self.use_texture = use_texture
        woods = [(*TEXTURES[wood], 1) for wood in ("WoodRed", "WoodBlue")]
        colours = woods if use_texture else [RED, BLUE]
        sizes: Any = self.box1_size, self.box2_size
        boxes = [
            BoxObject(f"box{i + 1}", size, rgba=colour)
            for i, (size, colour) in enumerate(zip(sizes, colours, strict=True))
        ]
        thin, long = min(box1_size[2], box2_size[2]) / 5, min(box1_size[0], box2_size[0])
        pin = CylinderObject("hinge", (thin, long), rgba=[0.5, 0.5, 0, 1], obj_type="visual")
        edge = (box2_size[0], 0.0, -box2_size[2])
        above = (box1_size[0] - box2_size[0], 0.0, box1_size[2] + box2_size[2])
        lower, upper = (box.root_body for box in boxes)
        hinge: dict[str, Any] = {
            "type": "hinge",
            "axis": (0, 1, 0),
            "pos": edge,
            "range": (0, 1.57),
        }
        hinge |= {"name": "box_hinge", "stiffness": 0.0001, "limited": "true"}
        super().__init__(
            name,
            [*boxes, pin],
            [None, above, edge],
            [None, None, (sqrt(0.5), sqrt(0.5), 0, 0)],
            ["root", lower, upper],
            body_joints={upper: [hinge]},
        )


class TransportGroup(ObjectGroup):
    """A payload in a bin with a lid, trash in the bin of its destination, and a bin for the trash.

    Args:
        bin_size: of the bins, (3,) m; those of the task alone.
    """

    def __init__(
        self,
        name: str,
        payload: MujocoObject,
        trash: MujocoObject,
        bin_size: Any = (0.3, 0.3, 0.15),
    ) -> None:
        self.payload, self.trash, self.bin_size = payload, trash, bin_size
        bins = ("start_bin", "target_bin", "trash_bin")
        self.start_bin, self.target_bin, self.trash_bin = (
            Bin(f"{name}_{each}", bin_size=bin_size, density=10000.0) for each in bins
        )
        self.lid = Lid(f"{name}_start_bin_lid", lid_size=(*bin_size[:2], 0.01))
        super().__init__(name)

    def _generate_objects(self) -> None:
        names = ("payload", "trash", "start_bin", "target_bin", "trash_bin", "lid")
        self._objects = {each: getattr(self, each) for each in names}

    def get_states(self) -> dict[str, Any]:
        """Poses of the objects, and whether they are where they belong."""
        return {
            "lid_handle_pose": (self.lid_handle_pos, self.lid_handle_quat),
            "payload_pose": (self.payload_pos, self.payload_quat),
            "trash_pose": (self.trash_pos, self.trash_quat),
            "target_bin_pos": self.target_bin_pos,
            "trash_bin_pos": self.trash_bin_pos,
            "trash_in_trash_bin": self.trash_in_trash_bin,
            "payload_in_target_bin": self.payload_in_target_bin,
        }

    def _quat(self, kind: str, name: str) -> np.ndarray:
        axes = getattr(self.sim.data, f"get_{kind}_xmat")(name)
        return np.array(transform_utils.mat2quat(axes))

    @property
    def lid_handle_pos(self) -> np.ndarray:
        return np.array(self.sim.data.get_geom_xpos(self.lid.handle_geoms[0]))

    @property
    def lid_handle_quat(self) -> np.ndarray:
        return self._quat("geom", self.lid.handle_geoms[0])

    @property
    def payload_pos(self) -> np.ndarray:
        return np.array(self.sim.data.get_body_xpos(self.payload.root_body))

    @property
    def payload_quat(self) -> np.ndarray:
        return self._quat("body", self.payload.root_body)

    @property
    def trash_pos(self) -> np.ndarray:
        return np.array(self.sim.data.get_body_xpos(self.trash.root_body))

    @property
    def trash_quat(self) -> np.ndarray:
        return self._quat("body", self.trash.root_body)

    @property
    def target_bin_pos(self) -> np.ndarray:
        return np.array(self.sim.data.get_geom_xpos(self.target_bin.base_geoms[0]))

    @property
    def trash_bin_pos(self) -> np.ndarray:
        return np.array(self.sim.data.get_geom_xpos(self.trash_bin.base_geoms[0]))

    @property
    def trash_in_trash_bin(self) -> bool:
        geoms = self.trash_bin.base_geoms, self.trash.contact_geoms
        return bool(sim_utils.check_contact(self.sim, *geoms))

    @property
    def payload_in_target_bin(self) -> bool:
        geoms = self.target_bin.base_geoms, self.payload.contact_geoms
        return bool(sim_utils.check_contact(self.sim, *geoms))
