"""Objects: of primitives, of MJCF files, and those of the tasks."""

import copy
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjgym.mjcf import asset_path
from mjgym.placements import Extent
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.models.base import (
    Extended,
    MujocoModel,
    MujocoXML,
    Parsed,
    merge_assets,
)
from mjgym_compat.robosuite.utils import XMLError
from mjgym_compat.robosuite.utils.mjcf_utils import (
    COLLISION_GROUPS,
    OBJECT_COLLISION_COLOR,
    RED,
    CustomMaterial,
    add_prefix,
    array_to_string,
    find_elements,
    get_elements,
    get_size,
    new_body,
    new_geom,
    new_joint,
    new_site,
    scale_mjcf_model,
    string_to_array,
)

GEOMTYPE2GROUP = {"collision": {0}, "visual": {1}, "all": {0, 1}}
GEOM_GROUPS = GEOMTYPE2GROUP.keys()
FRICTION = (1.0, 0.005, 0.0001)
SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001)
VISUAL = {"conaffinity": 0, "contype": 0, "mass": 1e-8, "group": 1}
COLLISION = {"group": 0, "rgba": OBJECT_COLLISION_COLOR}

Joints = str | Sequence[Mapping[str, Any]] | None


def joint_specs(joints: Joints, damping: float | None = None) -> list[dict[str, Any]]:
    """Attributes of joints by name; "default" is a single free joint."""
    if joints == "default":
        joints = [{"type": "free"} | ({} if damping is None else {"damping": damping})]
    assert not isinstance(joints, str)
    return [{"name": f"joint{i}", **joint} for i, joint in enumerate(joints or ())]


class MujocoObject(Parsed):
    """An object with its assets, and its dimensions for placement.

    Subclasses build the element of its body in `_get_object_subtree`, and define `bottom_offset`,
    `top_offset` (3,) and `horizontal_radius`, m from the body's frame.

    Args:
        obj_type: geoms that it has: "collision", "visual" or "all".
        duplicate_collision_geoms: whether each collision geom gets a visual copy.
        scale: of all sizes, one factor or three.
    """

    bottom_offset: Any
    top_offset: Any
    horizontal_radius: Any

    def __init__(
        self, obj_type: str = "all", duplicate_collision_geoms: bool = True, scale: Any = None
    ) -> None:
        if obj_type not in GEOM_GROUPS:
            raise ValueError(
                f"obj_type: expected one of {', '.join(GEOM_GROUPS)}, got {obj_type!r}"
            )
        self.obj_type, self.duplicate_collision_geoms = obj_type, duplicate_collision_geoms
        self._scale = scale
        self.asset = ET.Element("asset")
        self.shared_materials: set[str] = set()
        self._name: str | None = None
        self._obj: ET.Element | None = None

    @property
    def name(self) -> str:
        return str(self._name)

    @property
    def naming_prefix(self) -> str:
        return f"{self.name}_"

    def get_obj(self) -> ET.Element:
        """The element of its body."""
        assert self._obj is not None, "the object has no body yet"
        return self._obj

    def _get_object_subtree(self) -> ET.Element:
        raise NotImplementedError(f"{type(self).__name__} must define _get_object_subtree()")

    def _get_object_properties(self) -> None:
        self.take(self.get_obj())
        add_prefix(self.asset, self.naming_prefix, exclude=self.exclude_from_prefixing)

    def exclude_from_prefixing(self, inp: Any) -> bool:
        return isinstance(inp, str) and inp in self.shared_materials

    def merge_assets(self, other: Any) -> None:
        merge_assets(self.asset, other.asset)

    def append_material(self, material: CustomMaterial) -> None:
        """Add a material and its texture to the assets."""
        if material.name not in self.shared_materials:
            self.asset.append(ET.Element("texture", material.tex_attrib))
            self.asset.append(ET.Element("material", material.mat_attrib))
        if material.shared:
            self.shared_materials |= {material.name, material.tex_attrib["name"]}
        add_prefix(self.asset, self.naming_prefix, exclude=self.exclude_from_prefixing)

    def set_scale(self, scale: Any, obj: ET.Element | None = None) -> None:
        """Scale its geoms, sites, bodies, meshes and dimensions by one factor or three."""
        self._scale = scale
        whole, world = self.get_obj() if obj is None else obj, getattr(self, "worldbody", None)
        scale_mjcf_model(whole, self.asset, scale, worldbody=world, scale_slide_joints=False)

    @property
    def init_quat(self) -> np.ndarray:
        """Its orientation before a sampler rotates it, w, x, y, z."""
        return np.array([1.0, 0.0, 0.0, 0.0])

    @property
    def extent(self) -> Extent:
        """Its dimensions around its frame."""
        ends = float(self.bottom_offset[2]), float(self.top_offset[2])
        w, x, y, z = (float(q) for q in self.init_quat)
        return Extent(float(self.horizontal_radius), *ends, (w, x, y, z))

    @property
    def important_sites(self) -> dict[str, str]:
        return {"obj": f"{self.naming_prefix}default_site"}

    @property
    def important_geoms(self) -> dict[str, list[str]]:
        return {}

    @property
    def important_sensors(self) -> dict[str, str]:
        return {}

    def get_bounding_box_half_size(self) -> np.ndarray:
        radius = self.horizontal_radius
        return np.asarray(np.array([radius, radius, 0.0]) - self.bottom_offset)

    def get_bounding_box_size(self) -> np.ndarray:
        return 2.0 * self.get_bounding_box_half_size()

    @staticmethod
    def get_site_attrib_template() -> dict[str, str]:
        size = "0.002 0.002 0.002"
        return {"pos": "0 0 0", "size": size, "rgba": "1 0 0 1", "type": "sphere", "group": "0"}

    @staticmethod
    def get_joint_attrib_template() -> dict[str, str]:
        return {"type": "free"}


def _hidden_site() -> ET.Element:
    return new_site("default_site", rgba=(1, 0, 0, 0), size=(0.002,) * 3, group="0")


class MujocoXMLObject(MujocoObject, MujocoXML):
    """An object of an MJCF file: the body "object", and beside it the sites "bottom_site",
    "top_site" and "horizontal_radius_site" that hold its dimensions.

    Args:
        joints: attributes of each of its joints; "default" is a free joint, None are none.

    Raises:
        XMLError: the file has no body "object".
    """

    def __init__(
        self,
        fname: Any,
        name: str,
        joints: Joints = "default",
        obj_type: str = "all",
        duplicate_collision_geoms: bool = True,
        scale: Any = None,
    ) -> None:
        MujocoObject.__init__(self, obj_type, duplicate_collision_geoms, scale)
        MujocoXML.__init__(self, fname)
        self._name, self.joint_specs = name, joint_specs(joints)
        self._obj = self._get_object_subtree()
        if scale is not None:
            self.set_scale(scale)
        self._get_object_properties()

    def _get_object_subtree(self) -> ET.Element:
        body = self.worldbody.find("./body/body[@name='object']")
        if body is None:
            raise XMLError(f"{self.file}: no body 'object' within a body")
        body.set("name", "main")
        for i, (parent, geom) in enumerate(get_elements(body, "geom")):
            if int(geom.get("group", "0")) not in GEOMTYPE2GROUP[self.obj_type]:
                parent.remove(geom)
                continue
            geom.set("name", geom.get("name", f"g{i}"))
            if self.duplicate_collision_geoms and geom.get("group") in COLLISION_GROUPS:
                parent.append(visual_copy(geom))
                geom.set("rgba", array_to_string(OBJECT_COLLISION_COLOR))
                geom.attrib.pop("material", None)
        body.extend([new_joint(**joint) for joint in self.joint_specs])
        body.append(_hidden_site())
        return body

    def _get_object_properties(self) -> None:
        super()._get_object_properties()
        add_prefix(self.root, self.naming_prefix, exclude=self.exclude_from_prefixing)

    def _site(self, name: str) -> np.ndarray:
        site = find_elements(self.worldbody, "site", {"name": f"{self.naming_prefix}{name}"})
        if site is None:
            raise XMLError(f"{self.file}: no site {name!r}, which says how large the object is")
        return string_to_array(site.get("pos", "0 0 0"))

    @property
    def bottom_offset(self) -> np.ndarray:
        return self._site("bottom_site")

    @property
    def top_offset(self) -> np.ndarray:
        return self._site("top_site")

    @property
    def horizontal_radius(self) -> float:
        return float(self._site("horizontal_radius_site")[0])

    def get_bounding_box_half_size(self) -> np.ndarray:
        return np.asarray(self._site("horizontal_radius_site") - self.bottom_offset)

    def set_pos(self, pos: Any) -> None:
        self.get_obj().set("pos", array_to_string(pos))

    def set_euler(self, euler: Any) -> None:
        self.get_obj().set("euler", array_to_string(euler))


def visual_copy(geom: ET.Element) -> ET.Element:
    """A visual copy of a geom, without mass and contacts."""
    twin = copy.deepcopy(geom)
    twin.attrib |= {key: str(value) for key, value in VISUAL.items()}
    if (name := geom.get("name")) is not None:
        twin.set("name", f"{name}_visual")
    return twin


class MujocoGeneratedObject(MujocoObject):
    """An object built by code instead of a file."""

    def sanity_check(self) -> None:
        """Check its arguments; subclasses raise."""

    @staticmethod
    def get_collision_attrib_template() -> dict[str, Any]:
        return dict(COLLISION)

    @staticmethod
    def get_visual_attrib_template() -> dict[str, Any]:
        return dict(VISUAL)


class PrimitiveObject(Extended, MujocoGeneratedObject):
    """An object of one geom.

    Args:
        size: of the geom, m.
        rgba: its colour, red by default.
        density: kg/m3.
        friction: sliding, or sliding, torsional and rolling.
        material: a `CustomMaterial` in place of the colour, or "default" for one of that colour.
        joints: attributes of each of its joints; "default" is a free joint, None are none.
    """

    shape = "box"

    def __init__(
        self,
        name: str,
        size: Any = None,
        rgba: Any = None,
        density: float | None = None,
        friction: Any = None,
        solref: Any = None,
        solimp: Any = None,
        material: Any = None,
        joints: Joints = "default",
        obj_type: str = "all",
        duplicate_collision_geoms: bool = True,
    ) -> None:
        super().__init__(obj_type, duplicate_collision_geoms)
        self._name = name
        self.size = [0.05, 0.05, 0.05] if size is None else list(size)
        self.rgba = RED if rgba is None else list(rgba)
        self.density = 1000 if density is None else density
        self.friction = FRICTION if friction is None else friction
        if isinstance(self.friction, int | float):
            self.friction = [self.friction, *FRICTION[1:]]
        self.solref, self.solimp = solref or list(SOLREF), solimp or list(SOLIMP)
        if isinstance(material, str):
            material = CustomMaterial(self.rgba, "tex", "mat")
        self.material = material
        if material is not None:
            self.append_material(material)
        self.joint_specs = joint_specs(joints)
        self.sanity_check()
        self._obj = self._get_object_subtree()
        self._get_object_properties()

    def _get_object_subtree(self) -> ET.Element:
        return self._get_object_subtree_(self.shape)

    def _get_object_subtree_(self, ob_type: str = "box") -> ET.Element:
        body = new_body("main")
        shape: dict[str, Any] = {"type": ob_type, "size": self.size}
        if self.obj_type != "visual":
            touch: dict[str, Any] = {"density": self.density, "friction": self.friction}
            touch |= {"solref": self.solref, "solimp": self.solimp}
            touch |= self.get_collision_attrib_template()
            body.append(new_geom(name="g0", **shape, **touch))
        if self.obj_type != "collision":
            look: dict[str, Any] = self.get_visual_attrib_template()
            if self.material is None:
                look["rgba"] = self.rgba
            else:
                look["material"] = self.material.mat_attrib["name"]
            body.append(new_geom(name="g0_vis", **shape, **look))
        body.extend([new_joint(**joint) for joint in self.joint_specs])
        body.append(new_site("default_site", size=(0.002,) * 3, group="0"))
        return body

    def sanity_check(self) -> None:
        need = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2}.get(self.shape)
        if need is not None and len(self.size) != need:
            raise ValueError(f"size: a {self.shape} has {need} numbers, not {self.size}")

    @property
    def half(self) -> np.ndarray:
        """Half its bounding box along x, y and z, m."""
        return half_lengths(self.shape, self.size)

    @property
    def _space(self) -> Extent:
        radius = np.linalg.norm(self.half[:2]) if self.shape == "box" else self.half[0]
        return Extent(float(radius), float(-self.half[2]), float(self.half[2]))

    def get_bounding_box_half_size(self) -> np.ndarray:
        return self.half


def half_lengths(shape: str, size: Any) -> np.ndarray:
    """Half the bounding box of a geom, (3,) m.

    Raises:
        ValueError: the shape is none of box, ellipsoid, sphere, capsule and cylinder.
    """
    if shape in ("box", "ellipsoid"):
        return np.array(size, float)
    if shape not in ("sphere", "capsule", "cylinder"):
        raise ValueError(f"no box around a geom of type {shape!r}")
    along = {"sphere": size[0], "capsule": sum(size[:2]), "cylinder": size[-1]}[shape]
    return np.array([size[0], size[0], along], float)


class _Drawn(PrimitiveObject):
    """A primitive whose size may be drawn between `size_min` and `size_max`."""

    least: tuple[float, ...] = (0.03, 0.03, 0.03)
    most: tuple[float, ...] = (0.07, 0.07, 0.07)

    def __init__(
        self,
        name: str,
        size: Any = None,
        size_max: Any = None,
        size_min: Any = None,
        density: float | None = None,
        friction: Any = None,
        rgba: Any = None,
        solref: Any = None,
        solimp: Any = None,
        material: Any = None,
        joints: Joints = "default",
        obj_type: str = "all",
        duplicate_collision_geoms: bool = True,
        rng: Any = None,
    ) -> None:
        size = get_size(size, size_max, size_min, self.most, self.least, rng)
        super().__init__(
            name, size, rgba, density, friction, solref, solimp, material, joints, obj_type,
            duplicate_collision_geoms,
        )  # fmt: skip


class BoxObject(_Drawn):
    """A box of half sizes (x, y, z)."""


class BallObject(_Drawn):
    """A ball of a radius."""

    shape, least, most = "sphere", (0.03,), (0.07,)


class CapsuleObject(_Drawn):
    """A capsule of radius and half length without its ends."""

    shape, least, most = "capsule", (0.03, 0.03), (0.07, 0.07)


class CylinderObject(_Drawn):
    """A cylinder of radius and half length, with contacts that keep it from rolling on."""

    shape, least, most = "cylinder", (0.03, 0.03), (0.07, 0.07)

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        names = ("size", "size_max", "size_min", "density", "friction", "rgba", "solref", "solimp")
        given = dict(zip(names, args, strict=False)) | kwargs
        for key, value in (("friction", [1, 0.01, 0.001]), ("solref", [0.01, 0.5])):
            given[key] = value if given.get(key) is None else given[key]
        given["joints"] = joint_specs(given.get("joints", "default"), damping=0.0001)
        super().__init__(name, **given)

    @staticmethod
    def get_collision_attrib_template() -> dict[str, Any]:
        return COLLISION | {"margin": 0.001}


def _each(value: Any, count: int, single: bool) -> list[Any]:
    return [value] * count if single else list(value)


class CompositeObject(Extended, MujocoGeneratedObject):
    """An object of several geoms on one body.

    Args:
        total_size: half its bounding box, (3,) m.
        geom_types: "box", "sphere", "capsule", "cylinder" or "ellipsoid" for each geom.
        geom_sizes: of each, m.
        geom_locations: the lower corner of each geom's box from that of the whole, m; or its centre
            from the whole's, with `locations_relative_to_center`.
        geom_quats: w, x, y, z of each.
        geom_rgbas: of each; by default `rgba`.
        rgba: colour of geoms without one.
        density: of all geoms or of each, kg/m3.
        obj_types: "collision", "visual" or "all" for all geoms or each.
    """

    def __init__(
        self,
        name: str,
        total_size: Any,
        geom_types: Sequence[str],
        geom_sizes: Sequence[Any],
        geom_locations: Sequence[Any],
        geom_quats: Any = None,
        geom_names: Any = None,
        geom_rgbas: Any = None,
        geom_materials: Any = None,
        geom_frictions: Any = None,
        geom_condims: Any = None,
        rgba: Any = None,
        density: Any = 100.0,
        solref: Any = SOLREF,
        solimp: Any = SOLIMP,
        locations_relative_to_center: bool = False,
        joints: Joints = "default",
        sites: Any = None,
        obj_types: Any = "all",
        duplicate_collision_geoms: bool = True,
    ) -> None:
        super().__init__(duplicate_collision_geoms=duplicate_collision_geoms)
        count = len(geom_types)
        self._name, self.rgba = name, rgba
        self.joint_specs = joint_specs(joints)
        self.site_specs = [{"name": f"site{i}", **site} for i, site in enumerate(sites or ())]
        self.total_size = np.array(total_size, float)
        self.geom_types, self.geom_sizes = list(geom_types), list(geom_sizes)
        self.geom_locations = np.array(geom_locations, float)
        none = [None] * count
        self.geom_quats, self.geom_names = list(geom_quats or none), list(geom_names or none)
        self.geom_rgbas = list(geom_rgbas or none)
        self.geom_materials = list(geom_materials or none)
        self.geom_frictions = list(geom_frictions or none)
        self.geom_condims = list(geom_condims or none)
        self.density = _each(density, count, density is None or np.ndim(density) == 0)
        self.solref = _each(solref, count, np.ndim(solref) == 1)
        self.solimp = _each(solimp, count, np.ndim(solimp) == 1)
        self.obj_types = _each(obj_types, count, isinstance(obj_types, str))
        self.locations_relative_to_center = locations_relative_to_center
        self.sanity_check()
        self._obj = self._get_object_subtree()
        self._get_object_properties()

    def _get_object_subtree(self) -> ET.Element:
        body = new_body("root")
        body.extend([new_joint(**joint) for joint in self.joint_specs])
        body.extend([new_site(**site) for site in self.site_specs])
        body.append(_hidden_site())
        for i, (kind, size) in enumerate(zip(self.geom_types, self.geom_sizes, strict=True)):
            pos = self.geom_locations[i]
            if not self.locations_relative_to_center:
                pos = pos + half_lengths(kind, size) - self.total_size
            name = self.geom_names[i] or f"g{i}"
            shape: dict[str, Any] = {"type": kind, "size": size, "pos": pos}
            shape["quat"] = self.geom_quats[i]
            if self.obj_types[i] != "visual":
                touch: dict[str, Any] = {"density": self.density[i]}
                touch["condim"] = self.geom_condims[i]
                touch["friction"] = self.geom_frictions[i] or FRICTION
                touch |= {"solref": self.solref[i], "solimp": self.solimp[i]}
                body.append(
                    new_geom(name=name, **shape, **touch | self.get_collision_attrib_template())
                )
            if self.obj_types[i] != "collision":
                look = {"material": self.geom_materials[i], "rgba": self.geom_rgbas[i] or self.rgba}
                look |= self.get_visual_attrib_template()
                body.append(new_geom(name=f"{name}_vis", **shape, **look))
        return body

    def in_box(self, position: Any, object_position: Any) -> bool:
        """Whether a point lies in the bounding box, if the object's frame is at a position.

        The box reaches 1 cm deeper, as objects fall when they are put into it.
        """
        offset = np.asarray(object_position) - position
        low = -self.total_size - [0.0, 0.0, 0.01]
        return bool((offset > low).all() and (offset < self.total_size).all())

    def get_bounding_box_half_size(self) -> np.ndarray:
        return self.total_size

    @property
    def _space(self) -> Extent:
        radius, half = np.linalg.norm(self.total_size[:2]), self.total_size[2]
        return Extent(float(radius), float(-half), float(half))


class CompositeBodyObject(Extended, MujocoGeneratedObject):
    """An object of several bodies, each an object of its own.

    Args:
        objects: the objects, whose own joints are dropped.
        object_locations: of each from its parent, (3,) m or None.
        object_quats: of each, w, x, y, z or None.
        object_parents: the body that carries each: "root", or one added before.
        joints: of the whole, see `PrimitiveObject`.
        sites: attributes of further sites of the whole.
        total_size: half the bounding box, (3,) m, which `locations_relative_to_corner` needs.
        locations_relative_to_corner: whether locations are those of lower corners.
    """

    def __init__(
        self,
        name: str,
        objects: Any,
        object_locations: Sequence[Any],
        object_quats: Any = None,
        object_parents: Any = None,
        joints: Joints = "default",
        body_joints: Mapping[str, Joints] | None = None,
        sites: Any = None,
        total_size: Any = None,
        locations_relative_to_corner: bool = False,
    ) -> None:
        super().__init__()
        self._name = name
        self.objects = [objects] if isinstance(objects, MujocoObject) else list(objects)
        count = len(self.objects)
        self.object_locations = list(object_locations)
        self.object_quats = list(object_quats or [None] * count)
        self.object_parents = list(object_parents or ["root"] * count)
        self.joint_specs = joint_specs(joints)
        self.body_joint_specs = dict(body_joints or {})
        self.site_specs = [{"name": f"site{i}", **site} for i, site in enumerate(sites or ())]
        if locations_relative_to_corner and total_size is None:
            raise ValueError("locations_relative_to_corner: needs total_size")
        self.total_size = None if total_size is None else np.array(total_size, float)
        self.locations_relative_to_corner = locations_relative_to_corner
        self._places = {"root": np.zeros(3)}
        self._top = self._bottom = self._horizontal = 0.0
        self.sanity_check()
        self._obj = self._get_object_subtree()
        self._get_object_properties()

    def _get_object_subtree(self) -> ET.Element:
        whole = new_body("root")
        whole.extend([new_joint(**joint) for joint in self.joint_specs])
        whole.extend([new_site(**site) for site in self.site_specs])
        whole.append(_hidden_site())
        parts = (self.objects, self.object_parents, self.object_locations, self.object_quats)
        for part, parent, pos, quat in zip(*parts, strict=True):
            self._append_object(whole, part, parent, pos, quat)
        for name, joints in self.body_joint_specs.items():
            body = self._body(whole, name)
            for joint in joint_specs(joints):
                body.append(
                    new_joint(
                        **joint | {"name": f"{name}_{joint['name']}"}
                        if joint["name"].startswith("joint")
                        else joint
                    )
                )
        return whole

    def _body(self, whole: ET.Element, name: str) -> ET.Element:
        found: ET.Element | None = find_elements(whole, "body", {"name": name})
        if found is None:
            raise ValueError(f"{self.name}: no body {name!r} yet")
        return found

    def _append_object(
        self, root: ET.Element, obj: MujocoObject, parent: str | None, pos: Any, quat: Any
    ) -> None:
        above = self._body(root, parent or "root")
        child = obj.get_obj()
        for joint in child.findall("joint"):
            child.remove(joint)
        place = np.zeros(3) if pos is None else np.array(pos, float)
        if self.locations_relative_to_corner:
            assert self.total_size is not None
            place = place + obj.get_bounding_box_half_size() - self.total_size
        child.set("pos", array_to_string(place))
        child.set("quat", array_to_string([1, 0, 0, 0] if quat is None else quat))
        self.merge_assets(obj)
        above.append(child)
        whole = self._places[parent or "root"] + place
        self._places[obj.root_body] = whole
        self._top = max(self._top, whole[2] + obj.top_offset[2])
        self._bottom = min(self._bottom, whole[2] + obj.bottom_offset[2])
        self._horizontal = max(self._horizontal, max(whole[:2]) + obj.horizontal_radius)

    @property
    def _space(self) -> Extent:
        return Extent(self._horizontal, self._bottom, self._top)

    def get_bounding_box_half_size(self) -> np.ndarray:
        half = super().get_bounding_box_half_size()
        return half if self.total_size is None else self.total_size


# Objects of the tasks, with the published dimensions; those of others are measured.
EXTENTS = {
    "milk": Extent(0.025, -0.085, 0.075),
    "bread": Extent(0.03, -0.045, 0.03),
    "cereal": Extent(0.04, -0.1, 0.03),
    "can": Extent(0.025, -0.06, 0.04),
    "bottle": Extent(0.0254, -0.082, 0.075),
    "lemon": Extent(0.0375, -0.035, 0.02),
    "square_nut": Extent(0.11, -0.05, 0.01),
    "round_nut": Extent(0.11, -0.05, 0.025),
}


class TaskObject(Extended, MujocoObject, MujocoXML):
    """An object of a task here, by its file.

    Args:
        joints: see `PrimitiveObject`; "default" are the joints of the task.
        **sizes: its published dimensions, see `fixed`.

    Attributes:
        fixed: dimensions with their only values here, those of the tasks.

    Raises:
        TypeError: it has no such dimension; the message names the nearest.
        ValueError: the dimension is another here.
    """

    file_name = ""
    fixed: ClassVar[Mapping[str, Any]] = {}
    ghost = False  # whether it marks a destination: seen, and touching nothing

    def __init__(self, name: str, joints: Joints = "default", **sizes: Any) -> None:
        for key, value in sizes.items():
            if key not in self.fixed:
                raise TypeError(f"{type(self).__name__}: no {key!r}{or_else(key, self.fixed)}")
            own = self.fixed[key]
            if np.shape(value) != np.shape(own) or not np.allclose(value, own):
                raise ValueError(f"{type(self).__name__}: {key} is {own!r} here, not {value!r}")
        MujocoObject.__init__(self, "visual" if self.ghost else "all")
        MujocoXML.__init__(self, asset_path(f"robosuite/{self.file_name}.xml"))
        self._name = name
        self._obj = self._get_object_subtree()
        if self.ghost or joints != "default":
            for joint in [*self._obj.findall("joint"), *self._obj.findall("freejoint")]:
                self._obj.remove(joint)
            if not self.ghost:
                self._obj.extend([new_joint(**joint) for joint in joint_specs(joints)])
        self._get_object_properties()

    def _get_object_subtree(self) -> ET.Element:
        body = self.worldbody.find("body")
        assert body is not None
        for parent, geom in get_elements(body, "geom"):
            seen = not geom.get("rgba", "1").endswith(" 0")
            if geom.get("group") in COLLISION_GROUPS and geom.get("contype") != "0":
                if seen:
                    parent.append(visual_copy(geom))
                if self.ghost:
                    parent.remove(geom)
        return body

    @cached_property
    def _space(self) -> Extent:
        if self.file_name in EXTENTS:
            return EXTENTS[self.file_name]
        scene = ET.Element("mujoco")
        ET.SubElement(scene, "compiler", angle="radian", autolimits="true")
        scene.append(copy.deepcopy(self.asset))
        ET.SubElement(scene, "worldbody").append(copy.deepcopy(self.get_obj()))
        model = mujoco.MjModel.from_xml_string(ET.tostring(scene, encoding="unicode"))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        touch = np.flatnonzero(model.geom_contype)
        centre, half = np.split(model.geom_aabb[touch], 2, axis=1)
        axes = data.geom_xmat[touch].reshape(-1, 3, 3)
        middle = data.geom_xpos[touch] + np.einsum("nij,nj->ni", axes, centre)
        reach = np.einsum("nij,nj->ni", np.abs(axes), half)
        low, high = (middle - reach).min(axis=0), (middle + reach).max(axis=0)
        radius = np.linalg.norm(np.maximum(np.abs(low), np.abs(high))[:2])
        return Extent(float(radius), float(low[2]), float(high[2]))

    @property
    def important_sites(self) -> dict[str, str]:
        sites = {each.removesuffix("_site"): each for each in self._names["sites"]}
        return super().important_sites | dict(self.correct_naming(sites))

    def __getattr__(self, name: str) -> Any:
        """Its dimensions, and `<part>_geoms`: collision geoms whose names begin with the part's."""
        if name in self.fixed:
            own = self.fixed[name]
            return np.array(own) if isinstance(own, tuple) else own
        if name.endswith("_geoms") and not name.startswith("_"):
            start = self.naming_prefix + name.removesuffix("_geoms")
            geoms = super().__getattr__("contact_geoms")
            if found := [each for each in geoms if each.startswith(start)]:
                return found
        return super().__getattr__(name)


def _task_object(name: str, file: str, ghost: bool = False) -> type[TaskObject]:
    return type(name, (TaskObject,), {"file_name": file, "ghost": ghost, "__doc__": f"The {file}."})


CanObject = _task_object("CanObject", "can")
MilkObject = _task_object("MilkObject", "milk")
BreadObject = _task_object("BreadObject", "bread")
CerealObject = _task_object("CerealObject", "cereal")
BottleObject = _task_object("BottleObject", "bottle")
LemonObject = _task_object("LemonObject", "lemon")
CanVisualObject = _task_object("CanVisualObject", "can", ghost=True)
MilkVisualObject = _task_object("MilkVisualObject", "milk", ghost=True)
BreadVisualObject = _task_object("BreadVisualObject", "bread", ghost=True)
CerealVisualObject = _task_object("CerealVisualObject", "cereal", ghost=True)
SquareNutObject = _task_object("SquareNutObject", "square_nut")
RoundNutObject = _task_object("RoundNutObject", "round_nut")
PlateWithHoleObject = _task_object("PlateWithHoleObject", "hole")
PotWithHandlesObject = _task_object("PotWithHandlesObject", "pot")
Bin = _task_object("Bin", "bin")
Bin.fixed = {"bin_size": (0.3, 0.3, 0.15), "wall_thickness": 0.01, "density": 10000.0}
Lid = _task_object("Lid", "lid")
Lid.fixed = {"lid_size": (0.3, 0.3, 0.01), "handle_size": (0.02, 0.08, 0.03), "density": 250.0}
StandWithMount = _task_object("StandWithMount", "stand")
StandWithMount.fixed = {
    "size": (0.12, 0.14, 0.16),
    "mount_location": (0.0, 0.045),
    "mount_width": 0.012,
    "wall_thickness": 0.001,
    "base_thickness": 0.01,
    "initialize_on_side": False,
    "add_hole_vis": True,
    "density": 50000.0,
    "solref": (0.02, 1.0),
    "solimp": (0.998, 0.998, 0.001),
}


DRAWN_HEAD = 0.015  # m, half the height of the head in the hammer's file
LYING = (sqrt(0.5), sqrt(0.5), 0.0, 0.0)  # a quaternion: handle and head are level


class HammerObject(TaskObject):
    """A hammer, whose dimensions are drawn from ranges or given.

    Args:
        handle_radius: half the thickness of the handle, m; the head is up to 1.2 times as high.
        handle_length: m.
        handle_density: kg/m3.
        handle_friction: sliding.
        head_density_ratio: density of the head over the handle's.
    """

    file_name = "hammer"

    def __init__(
        self,
        name: str,
        handle_radius: Any = (0.015, 0.02),
        handle_length: Any = (0.1, 0.25),
        handle_density: Any = (100, 250),
        handle_friction: Any = (3.0, 5.0),
        head_density_ratio: float = 2.0,
        rng: Any = None,
    ) -> None:
        super().__init__(name)
        rng = rng or np.random.default_rng()

        def drawn(value: Any) -> float:
            return float(rng.uniform(*value) if np.ndim(value) else value)

        self.handle_radius, self.handle_length = drawn(handle_radius), drawn(handle_length)
        self.handle_density, self.handle_friction = drawn(handle_density), drawn(handle_friction)
        self.head_halfsize = float(rng.uniform(self.handle_radius, self.handle_radius * 1.2))
        reach, head = self.handle_length / 2, self.head_halfsize
        for geom in self.get_obj().findall("geom"):
            part = str(geom.get("name")).removeprefix(self.naming_prefix).removesuffix("_visual")
            if part == "handle":
                size, pos = np.array([self.handle_radius, self.handle_radius, reach]), np.zeros(3)
            else:
                size = string_to_array(geom.get("size", "")) * (head / DRAWN_HEAD)
                pos = string_to_array(geom.get("pos", "0 0 0")) * (head / DRAWN_HEAD)
                pos[2] = reach + head
            geom.attrib |= {"size": array_to_string(size), "pos": array_to_string(pos)}
            if "mass" not in geom.attrib:
                density = self.handle_density * (1 if part == "handle" else head_density_ratio)
                geom.set("density", str(density))
        handle = find_elements(self.get_obj(), "geom", {"name": f"{self.naming_prefix}handle"})
        handle.set("friction", array_to_string((self.handle_friction, *FRICTION[1:])))

    @property
    def _space(self) -> Extent:
        reach = self.head_halfsize + 0.5 * self.handle_length
        return Extent(reach, -self.handle_radius, self.handle_radius, LYING)


class DoorObject(TaskObject):
    """A door in its frame, with a handle that turns.

    Args:
        friction: of its hinge, N m.
        damping: of its hinge, N m s/rad.
        lock: whether the handle's latch holds it shut.
    """

    file_name = "door"

    def __init__(
        self, name: str, friction: Any = None, damping: Any = None, lock: bool = False
    ) -> None:
        super().__init__(name, joints="default")
        self.lock, self.friction, self.damping = lock, friction, damping
        self.door_body, self.frame_body, self.latch_body, self.hinge_joint = (
            self.naming_prefix + part for part in ("door", "frame", "latch", "hinge")
        )
        if not lock:
            for parent, joint in get_elements(self.get_obj(), "joint"):
                if joint.get("name") == f"{self.naming_prefix}latch_joint":
                    parent.remove(joint)
                    self._names["joints"].remove("latch_joint")
        hinge = find_elements(self.get_obj(), "joint", {"name": self.hinge_joint})
        for key, value in (("frictionloss", friction), ("damping", damping)):
            if value is not None:
                hinge.set(key, array_to_string(np.ravel(value)))


class ObjectGroup:
    """Objects that belong together; subclasses define `_generate_objects`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sim: Any = None
        self._objects: dict[str, MujocoModel] = {}
        self._generate_objects()

    @property
    def objects(self) -> dict[str, MujocoModel]:
        return self._objects

    def update_sim(self, sim: Any) -> None:
        self.sim = sim

    def get_states(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define get_states()")

    def _generate_objects(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _generate_objects()")
