"""Functions that build and search MJCF as element trees, under robosuite's names."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import mujoco
import numpy as np

from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym.util.suggestions import or_else

RED, GREEN, BLUE, CYAN = [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1]
ROBOT_COLLISION_COLOR = [0, 0.5, 0, 1]
MOUNT_COLLISION_COLOR = ENVIRONMENT_COLLISION_COLOR = [0.5, 0.5, 0, 1]
GRIPPER_COLLISION_COLOR = [0, 0, 0.5, 1]
OBJECT_COLLISION_COLOR = [0.5, 0, 0, 1]
IMAGE_CONVENTION_MAPPING = {"opengl": 1, "opencv": -1}
# Colours in place of published images.
TEXTURES = {
    "WoodRed": (0.62, 0.22, 0.16),
    "WoodGreen": (0.25, 0.48, 0.24),
    "WoodBlue": (0.20, 0.34, 0.58),
    "WoodLight": (0.82, 0.69, 0.50),
    "WoodDark": (0.34, 0.23, 0.15),
    "WoodTiles": (0.66, 0.50, 0.33),
    "WoodPanels": (0.55, 0.37, 0.22),
    "WoodgrainGray": (0.55, 0.54, 0.52),
    "PlasterCream": (0.93, 0.89, 0.78),
    "PlasterPink": (0.90, 0.72, 0.71),
    "PlasterYellow": (0.92, 0.83, 0.55),
    "PlasterGray": (0.64, 0.64, 0.64),
    "PlasterWhite": (0.95, 0.95, 0.94),
    "BricksWhite": (0.88, 0.87, 0.85),
    "Metal": (0.60, 0.61, 0.63),
    "SteelBrushed": (0.68, 0.69, 0.70),
    "SteelScratched": (0.52, 0.53, 0.54),
    "Brass": (0.74, 0.60, 0.30),
    "Bread": (0.80, 0.60, 0.36),
    "Can": (0.78, 0.12, 0.12),
    "Ceramic": (0.90, 0.90, 0.88),
    "Cereal": (0.85, 0.62, 0.20),
    "Clay": (0.66, 0.42, 0.32),
    "Dirt": (0.40, 0.31, 0.22),
    "Glass": (0.78, 0.88, 0.92),
    "FeltGray": (0.45, 0.45, 0.46),
    "Lemon": (0.94, 0.86, 0.25),
}
ALL_TEXTURES = TEXTURES.keys()
TEXTURE_SIZE = 8  # pixels, of a single colour
# Attributes that name an element, of their own or of another.
NAMED = (
    *("name", "class", "childclass", "material", "mesh", "texture", "hfield", "joint", "joint1"),
    *("joint2", "body", "body1", "body2", "geom", "geom1", "geom2", "site", "site1", "site2"),
    *("tendon", "tendon1", "tendon2", "actuator", "objname", "refname", "camera", "target"),
    *("slidersite", "cranksite", "refsite", "sidesite", "key", "skin"),
)
MUJOCO_NAMED_ATTRIBUTES = NAMED
COLLISION_GROUPS = (None, "0")
VISUAL_GROUP = "1"

Filter = Callable[[Any], bool]


class CustomMaterial:
    """A material and its texture, as attributes of their elements.

    Args:
        texture: a key of `TEXTURES`, the path of an image, an RGBA colour, or None for `tex_attrib`
            alone.
        shared: whether several models use it, so that their prefixes are left out.

    Raises:
        ValueError: there is no such texture, or a colour has no four numbers.
    """

    def __init__(
        self,
        texture: Any,
        tex_name: str,
        mat_name: str,
        tex_attrib: Mapping[str, Any] | None = None,
        mat_attrib: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> None:
        self.name, self.shared = mat_name, shared
        colour = TEXTURES.get(texture) if isinstance(texture, str) else texture
        image: dict[str, Any] = {}
        if isinstance(texture, str) and colour is None:
            if "/" not in texture:
                raise ValueError(f"texture: no {texture!r}{or_else(texture, TEXTURES)}, or a path")
            image = {"file": xml_path_completion(texture)}
        elif colour is not None:
            if not isinstance(texture, str) and len(texture) != 4:
                raise ValueError(f"texture: expected red, green, blue and alpha, got {texture!r}")
            image = {"builtin": "flat", "rgb1": colour[:3], "rgb2": colour[:3]}
            image |= {"width": TEXTURE_SIZE, "height": TEXTURE_SIZE}
        whole = {**(tex_attrib or {}), "name": tex_name, **image}
        self.tex_attrib = {key: convert_to_string(x) for key, x in whole.items()}
        whole = {**(mat_attrib or {}), "name": mat_name, "texture": tex_name}
        self.mat_attrib = {key: convert_to_string(x) for key, x in whole.items()}


def xml_path_completion(xml_path: str, root: str | None = None) -> str:
    """An absolute path; relative ones begin at `root`, by default this package's assets."""
    return xml_path if xml_path.startswith("/") else f"{root or assets()}/{xml_path}"


# Numbers and words.


def array_to_string(array: Iterable[Any]) -> str:
    """Numbers as text in MJCF."""
    return " ".join(str(x) for x in np.asarray(array).tolist())


def string_to_array(string: str) -> np.ndarray:
    """The numbers of text in MJCF."""
    return np.array([None if x == "None" else float(x) for x in string.split()])


def convert_to_string(inp: Any) -> str:
    """The text of a value in MJCF.

    Raises:
        ValueError: its type has none.
    """
    if isinstance(inp, str):
        return str(inp)
    if isinstance(inp, bool | np.bool_):
        return str(bool(inp)).lower()
    if isinstance(inp, list | tuple | np.ndarray):
        return array_to_string(inp)
    if isinstance(inp, int | float | np.number):
        return str(inp)
    raise ValueError(f"no text in MJCF for {inp!r} of type {type(inp).__name__}")


def get_size(
    size: Any, size_max: Any, size_min: Any, default_max: Any, default_min: Any, rng: Any = None
) -> np.ndarray:
    """A size, or one drawn uniformly between two.

    Raises:
        ValueError: a size is given together with bounds, or bounds differ in length.
    """
    if len(default_max) != len(default_min):
        raise ValueError(
            f"default_max {default_max} and default_min {default_min} differ in length"
        )
    if size is not None:
        if size_max is not None or size_min is not None:
            raise ValueError(f"size {size} leaves no room for size_max and size_min")
        return np.array(size)
    low = default_min if size_min is None else size_min
    high = default_max if size_max is None else size_max
    return np.array((rng or np.random.default_rng()).uniform(low, high))


def add_to_dict(
    dic: dict[str, list[Any]],
    fill_in_defaults: bool = True,
    default_value: Any = None,
    **kwargs: Any,
) -> dict[str, list[Any]]:
    """Append a value to each list of a dict; lists without one get a default, new ones before."""
    length = max(map(len, dic.values()), default=0)
    for key in {**dic, **kwargs} if fill_in_defaults else kwargs:
        before = [default_value] * length if fill_in_defaults else []
        dic.setdefault(key, before).append(kwargs.get(key, default_value))
    return dic


# New elements.


def new_element(tag: str, name: str | None, **kwargs: Any) -> ET.Element:
    """An element of attributes that are not None, as text."""
    attributes = {"name": name, **kwargs}
    return ET.Element(
        tag, {k: convert_to_string(x) for k, x in attributes.items() if x is not None}
    )


def new_joint(name: str, **kwargs: Any) -> ET.Element:
    """A joint."""
    return new_element("joint", name, **kwargs)


def new_actuator(name: str, joint: str, act_type: str = "actuator", **kwargs: Any) -> ET.Element:
    """An actuator of a joint; `act_type` is its tag."""
    return new_element(act_type, name, joint=joint, **kwargs)


def new_site(
    name: str, rgba: Any = RED, pos: Any = (0, 0, 0), size: Any = (0.005,), **kwargs: Any
) -> ET.Element:
    """A site."""
    return new_element("site", name, pos=pos, size=size, rgba=rgba, **kwargs)


def new_geom(
    name: str, type: str, size: Any, pos: Any = (0, 0, 0), group: Any = 0, **kwargs: Any
) -> ET.Element:
    """A geom."""
    return new_element("geom", name, type=type, pos=pos, size=size, group=str(group), **kwargs)


def new_body(name: str, pos: Any = (0, 0, 0), **kwargs: Any) -> ET.Element:
    """A body."""
    return new_element("body", name, pos=pos, **kwargs)


def new_inertial(pos: Any = (0, 0, 0), mass: Any = None, **kwargs: Any) -> ET.Element:
    """The inertia of a body."""
    return new_element("inertial", None, pos=pos, mass=mass, **kwargs)


# Searches.


def _listed(words: Any) -> set[str]:
    return {words} if isinstance(words, str) else set(words)


def find_elements(
    root: ET.Element, tags: Any, attribs: Mapping[str, Any] | None = None, return_first: bool = True
) -> Any:
    """Elements of some tags with some attributes, the root included.

    Returns:
        the first one, or None; with `return_first=False` a list of all, or None.
    """
    wanted = _listed(tags)
    found = (
        each
        for each in root.iter()
        if each.tag in wanted and all(each.get(k) == x for k, x in (attribs or {}).items())
    )
    return next(found, None) if return_first else list(found) or None


def find_elements_by_substring(
    root: ET.Element, tags: Any, substrings: Any, attribs: Mapping[str, Any] | None = None
) -> list[ET.Element] | None:
    """Elements as in `find_elements` with names that contain one of some words, or None."""
    words = _listed(substrings)
    found = find_elements(root, tags, attribs, return_first=False) or []
    return [each for each in found if any(w in each.get("name", "") for w in words)] or None


def find_parent(root: ET.Element, child: ET.Element) -> ET.Element | None:
    """The element that has a child."""
    return next((each for each in root.iter() if child in list(each)), None)


def get_elements(root: ET.Element, element_type: str) -> list[tuple[ET.Element, ET.Element]]:
    """All elements of a tag, each after its parent."""
    return [(parent, each) for parent in root.iter() for each in parent if each.tag == element_type]


def sort_elements(
    root: ET.Element,
    parent: ET.Element | None = None,
    element_filter: Callable[[ET.Element, ET.Element | None], str | None] | None = None,
) -> dict[str, list[ET.Element]]:
    """Elements by kind: "root_body", "bodies", "joints", "actuators", "sites", "sensors",
    "contact_geoms" and "visual_geoms", or the kinds that a filter of element and parent returns."""
    kinds: dict[str, list[ET.Element]] = {}

    def walk(element: ET.Element, above: ET.Element | None) -> None:
        kind = (element_filter or kind_of)(element, above)
        if kind is not None:
            kinds.setdefault(kind, []).append(element)
        for child in element:
            walk(child, element)

    walk(root, parent)
    return kinds


def kind_of(element: ET.Element, parent: ET.Element | None) -> str | None:
    """The kind of an element in `sort_elements`."""
    section = None if parent is None else parent.tag
    if section in ("actuator", "sensor"):
        return f"{section}s"
    if element.tag in ("joint", "freejoint") and section == "body":
        return "joints"
    if element.tag == "body":
        return "bodies" if section == "body" else "root_body"
    if element.tag == "site" and section != "spatial":
        return "sites"
    if element.tag == "geom" and section in ("body", "worldbody"):
        return "visual_geoms" if is_visual(element) else "contact_geoms"
    return None


def is_visual(geom: ET.Element) -> bool:
    """Whether a geom is seen and touches nothing."""
    return (
        geom.get("group") == VISUAL_GROUP or geom.get("contype") == geom.get("conaffinity") == "0"
    )


# Changes.


def add_prefix(
    root: ET.Element,
    prefix: str,
    tags: Any = "default",
    attribs: Any = "default",
    exclude: Filter | None = None,
) -> None:
    """Put a prefix before names, unless they begin with it.

    Args:
        root: whose elements, itself included, are changed.
        tags: of the elements, by default all.
        attribs: the attributes, by default all that name an element.
        exclude: of an element, or of a name: whether it is left as it is.
    """
    names = NAMED if attribs == "default" else _listed(attribs)
    left = exclude or (lambda each: False)
    for element in root.iter():
        if (tags == "default" or element.tag in _listed(tags)) and not left(element):
            for key in names:
                value = element.get(key)
                if value is not None and not value.startswith(prefix) and not left(value):
                    element.set(key, prefix + value)


def add_material(
    root: ET.Element, naming_prefix: str = "", custom_material: CustomMaterial | None = None
) -> tuple[ET.Element, ET.Element, CustomMaterial, bool]:
    """Give visual geoms without a material one, by default plain white.

    Returns:
        texture, material, its description, and whether a geom uses it.
    """
    white = {"type": "cube"}
    made = custom_material or CustomMaterial((1, 1, 1, 1), "default_tex", "default_mat", white)
    if not made.name.startswith(naming_prefix) and not made.shared:
        made.name = naming_prefix + made.name
        made.tex_attrib["name"] = naming_prefix + made.tex_attrib["name"]
        made.mat_attrib |= {"name": made.name, "texture": made.tex_attrib["name"]}
    bare = [
        each
        for each in root.iter("geom")
        if each.get("group") == VISUAL_GROUP and each.get("material") is None
    ]
    for geom in bare:
        geom.set("material", made.name)
    texture, material = (
        ET.Element("texture", made.tex_attrib),
        ET.Element("material", made.mat_attrib),
    )
    return texture, material, made, bool(bare)


def recolor_collision_geoms(root: ET.Element, rgba: Any, exclude: Filter | None = None) -> None:
    """Give all collision geoms a colour in place of their materials."""
    for geom in root.iter("geom"):
        if geom.get("group") in COLLISION_GROUPS and not (exclude and exclude(geom)):
            geom.set("rgba", array_to_string(rgba))
            geom.attrib.pop("material", None)


def set_alpha(node: ET.Element, alpha: float = 0.1) -> None:
    """Set the opacity of all elements that have a colour."""
    for element in node.iter():
        if "rgba" in element.attrib:
            element.set(
                "rgba", array_to_string([*string_to_array(element.get("rgba", ""))[:3], alpha])
            )


def normalize_scale_array(scale: Any) -> np.ndarray:
    """Three factors, (3,), of one or three.

    Raises:
        ValueError: there is another number of them.
    """
    factors = np.array(scale, float).ravel()
    if factors.size not in (1, 3):
        raise ValueError(f"scale: expected one factor or three, got {scale!r}")
    return factors.repeat(3 // factors.size)


def scale_body_element(element: ET.Element, scale_array: Any) -> None:
    """Scale an element's position."""
    _scale(element, "pos", scale_array)


def scale_geom_element(element: ET.Element, scale_array: Any) -> None:
    """Scale an element's position and size.

    One number of a size is scaled by the mean of the factors; of two, the first by that of x and y,
    the second by that of z.
    """
    scale_body_element(element, scale_array)
    x, y, z = scale_array
    count = len(element.get("size", "").split())
    _scale(element, "size", {1: [(x + y + z) / 3], 2: [(x + y) / 2, z]}.get(count, scale_array))


scale_site_element = scale_geom_element


def scale_mesh_element(element: ET.Element, scale_array: Any) -> None:
    """Scale a mesh."""
    element.set("scale", element.get("scale", "1 1 1"))
    _scale(element, "scale", scale_array)


def scale_joint_element(
    element: ET.Element, scale_array: Any, scale_slide_joints: bool = True
) -> None:
    """Scale a joint's position, and a slide joint's range along its axis."""
    scale_body_element(element, scale_array)
    if scale_slide_joints and element.get("type") == "slide":
        axis = string_to_array(element.get("axis", "0 0 1"))
        _scale(element, "range", np.linalg.norm(axis * scale_array) / np.linalg.norm(axis))


def _scale(element: ET.Element, name: str, factors: Any) -> None:
    if name in element.attrib:
        element.set(name, array_to_string(string_to_array(element.get(name, "")) * factors))


def scale_mjcf_model(
    obj: ET.Element,
    asset_root: ET.Element,
    scale: Any,
    get_elements_func: Any = None,
    worldbody: ET.Element | None = None,
    scale_slide_joints: bool = True,
) -> np.ndarray:
    """Scale all that is in a body, meshes, and the sites of a world, by one factor or three.

    Returns:
        the factors, (3,).
    """
    factors = normalize_scale_array(scale)
    for element in [*obj.iter()][1:]:
        if element.tag in ("geom", "site"):
            scale_geom_element(element, factors)
        elif element.tag == "joint":
            scale_joint_element(element, factors, scale_slide_joints)
        else:
            scale_body_element(element, factors)
    inside = set(obj.iter("site"))
    for site in () if worldbody is None else worldbody.iter("site"):
        if site not in inside:
            scale_site_element(site, factors)
    for mesh in asset_root.iter("mesh"):
        scale_mesh_element(mesh, factors)
    return factors


# Compiled models.


def save_sim_model(sim: Any, fname: str) -> None:
    """Write a simulation's model as MJCF."""
    atomic.write_text(fname, sim.model.get_xml())


def get_ids(sim: Any, elements: Any, element_type: str = "geom", inplace: bool = False) -> Any:
    """Ids for names, in the same structure: a name, a list, or a dict of them."""
    if isinstance(elements, str):
        return getattr(sim.model, f"{element_type}_name2id")(elements)
    if isinstance(elements, Mapping):
        ids = {key: get_ids(sim, each, element_type) for key, each in elements.items()}
        if inplace and isinstance(elements, dict):
            elements.update(ids)
        return ids
    return [get_ids(sim, each, element_type) for each in elements]


# Defaults.


def inline_defaults(root: ET.Element) -> None:
    """Write the values of default classes into the elements without, and drop the classes."""
    classes: dict[str, dict[str, dict[str, str]]] = {}

    def read(default: ET.Element, above: dict[str, dict[str, str]], name: str) -> None:
        values = {tag: dict(each) for tag, each in above.items()}
        for child in default:
            if child.tag != "default":
                values.setdefault(child.tag, {}).update(child.attrib)
        classes[name] = values
        for child in default:
            if child.tag == "default":
                read(child, values, child.get("class", "main"))

    defaults = root.findall("default")
    for default in defaults:
        read(default, {}, default.get("class", "main"))
        root.remove(default)
    sections = [section for section in root if section.tag != "default"]
    found = (each for section in sections for each in _with_classes(section, "main"))
    for element, kind, inherited in found:
        name = element.attrib.pop("class", inherited)
        for key, value in classes.get(name, {}).get(kind, {}).items():
            if key not in element.attrib and key != "class":
                element.set(key, value)


_PLAIN = ("equality", "tendon")  # sections of one class; what is in their elements has none


def _with_classes(element: ET.Element, inherited: str) -> Iterator[tuple[ET.Element, str, str]]:
    for child in element:
        section = element.tag
        kind = section if section in _PLAIN else child.tag
        below = child.attrib.pop("childclass", inherited)
        yield child, kind, inherited
        if section not in _PLAIN:
            yield from _with_classes(child, below)


SENSOR_TYPES = {
    each.name.removeprefix("mjSENS_").lower() for each in mujoco.mjtSensor.__members__.values()
}
