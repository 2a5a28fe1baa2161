"""Models as element trees, and the attributes that all models have."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import mujoco
import numpy as np

from mjgym.util import atomic
from mjgym_compat.robosuite.utils import XMLError
from mjgym_compat.robosuite.utils.mjcf_utils import (
    add_prefix,
    find_elements,
    inline_defaults,
    recolor_collision_geoms,
    sort_elements,
    string_to_array,
)

SECTIONS = ("worldbody", "actuator", "sensor", "asset", "tendon", "equality", "contact")
KINDS = ("bodies", "joints", "actuators", "sites", "sensors", "contact_geoms", "visual_geoms")


class MujocoXML:
    """An MJCF file as an element tree, with `worldbody`, `actuator`, `asset` and the like.

    Default classes are written into the elements, included files into the tree, and paths of files
    are absolute, so that models can be merged.

    Args:
        fname: path of the file, or an open one.
    """

    worldbody: ET.Element
    actuator: ET.Element
    sensor: ET.Element
    asset: ET.Element
    tendon: ET.Element
    equality: ET.Element
    contact: ET.Element

    def __init__(self, fname: str | Path | TextIO) -> None:
        path = Path(fname) if isinstance(fname, str | Path) else Path()
        self.file, self.folder = str(path), str(path.parent)
        self.tree = ET.parse(fname)
        root = self.tree.getroot()
        assert root is not None
        self.root: ET.Element = root
        for include in root.findall("include"):
            other = ET.parse(path.parent / include.get("file", "")).getroot()
            assert other is not None
            place = list(root).index(include)
            root[place : place + 1] = list(other)
        for section in SECTIONS:
            setattr(self, section, self.create_default_element(section))
        for extra in [each for each in root if each.tag == "asset" and each is not self.asset]:
            self.asset.extend(extra)
            root.remove(extra)
        inline_defaults(root)
        self.resolve_asset_dependency()

    def create_default_element(self, name: str) -> ET.Element:
        """The top-level section of a name, created if missing."""
        found = self.root.find(name)
        return ET.SubElement(self.root, name) if found is None else found

    def resolve_asset_dependency(self) -> None:
        """Make the paths of files absolute."""
        for asset in self.asset.findall("./*[@file]"):
            asset.set("file", str(Path(self.folder).absolute() / asset.get("file", "")))

    @property
    def name(self) -> str:
        return self.root.get("model", "")

    def merge(self, others: Any, merge_body: str | None = "default") -> None:
        """Add the elements of other models.

        Args:
            others: one or several.
            merge_body: the body that gets the others' bodies; "default" for the world, None to
                leave them out.

        Raises:
            XMLError: one is no model, or there is no such body.
        """
        for other in others if isinstance(others, list) else [others]:
            if not isinstance(other, MujocoXML):
                raise XMLError(f"merge: expected a MujocoXML, got {type(other).__name__}")
            if merge_body is not None:
                place = self.worldbody
                if merge_body != "default":
                    place = find_elements(self.worldbody, "body", {"name": merge_body})
                    if place is None:
                        raise XMLError(f"merge: no body {merge_body!r}")
                place.extend(list(other.worldbody))
            self.merge_assets(other)
            for section in SECTIONS:
                if section not in ("worldbody", "asset"):
                    getattr(self, section).extend(list(getattr(other, section)))

    def merge_assets(self, other: Any) -> None:
        merge_assets(self.asset, other.asset)

    def get_xml(self) -> str:
        return ET.tostring(self.root, encoding="unicode")

    def get_model(self, mode: str = "mujoco") -> mujoco.MjModel:
        """Compile it.

        Raises:
            ValueError: another mode than "mujoco", or the engine refuses the model.
        """
        if mode != "mujoco":
            raise ValueError(f"mode: only 'mujoco', not {mode!r}")
        return mujoco.MjModel.from_xml_string(self.get_xml())

    def save_model(self, fname: str, pretty: bool = False) -> None:
        """Write the XML to a file, indented if `pretty`."""
        if pretty:
            ET.indent(self.root)
        atomic.write_text(fname, self.get_xml())

    def get_element_names(self, root: ET.Element, element_type: str) -> list[str | None]:
        return [each.get("name") for each in root.iter(element_type) if each is not root]


def merge_assets(into: ET.Element, assets: Iterable[ET.Element]) -> None:
    """Add assets whose names are new among those of their kind."""
    known = {(each.tag, each.get("name")) for each in into}
    into.extend([a for a in assets if a.get("name") is None or (a.tag, a.get("name")) not in known])


class Extended:
    """The dimensions of an object, by robosuite's names."""

    _space: Any  # an `Extent`

    @property
    def horizontal_radius(self) -> float:
        """Radius of a vertical cylinder around its frame that contains it, m."""
        return float(self._space.radius)

    @property
    def bottom_offset(self) -> np.ndarray:
        """Its lowest point relative to its frame, (3,) m."""
        return np.array([0.0, 0.0, self._space.bottom])

    @property
    def top_offset(self) -> np.ndarray:
        """Its highest point relative to its frame, (3,) m."""
        return np.array([0.0, 0.0, self._space.top])

    @property
    def init_quat(self) -> np.ndarray:
        """Its orientation before a sampler rotates it, w, x, y, z."""
        return np.array(self._space.quat)


class MujocoModel:
    """A robot, a gripper, a base or an object: elements of a model that belong together.

    Its elements are `bodies`, `joints`, `actuators`, `sites`, `sensors`, `contact_geoms` and
    `visual_geoms`, by name; `root_body` carries all of them. Names begin with `naming_prefix`.
    """

    name: Any
    naming_prefix: Any
    root_body: Any
    contact_geoms: Any
    visual_geoms: Any
    joints: Any
    sites: Any

    def exclude_from_prefixing(self, inp: Any) -> bool:
        """Whether a name, or an element's, gets no prefix."""
        return False

    def correct_naming(self, names: Any) -> Any:
        """Put the prefix before a name, or all in a list or dict.

        Raises:
            TypeError: it is none of them.
        """
        if isinstance(names, str):
            left = self.exclude_from_prefixing(names)
            return names if left else f"{self.naming_prefix}{names}"
        if isinstance(names, list | tuple):
            return [self.correct_naming(each) for each in names]
        if isinstance(names, dict):
            return {key: self.correct_naming(each) for key, each in names.items()}
        raise TypeError(f"names: expected str, list or dict, got {names!r}")

    def set_sites_visibility(self, sim: Any, visible: bool) -> None:
        """Show or hide its sites; a negative opacity remembers that of a hidden one."""
        for name in self.sites:
            rgba = sim.model.site_rgba[sim.model.site_name2id(name)]
            rgba[3] = abs(rgba[3]) if visible else -abs(rgba[3])


class Parsed(MujocoModel):
    """A model whose elements stand in a tree; `take` reads their names."""

    _names: dict[str, list[str]]

    def take(self, root: ET.Element) -> None:
        """Name unnamed geoms, note all names, and put the prefix before them.

        Raises:
            XMLError: not exactly one body is at the top.
        """
        kinds = sort_elements(root)
        count = {"col": 0, "vis": 0}
        for kind, word in (("contact_geoms", "col"), ("visual_geoms", "vis")):
            for geom in kinds.get(kind, ()):
                if geom.get("name") is None:
                    geom.set("name", f"g{count[word]}_{word}")
                    count[word] += 1
        top = kinds.pop("root_body", [])
        if len(top) != 1:
            raise XMLError(f"{self.name}: expected one body at the top, found {len(top)}")
        kinds["bodies"] = [*top, *kinds.get("bodies", [])]
        self._names = {
            kind: [name for each in kinds.get(kind, []) if (name := each.get("name"))]
            for kind in KINDS
        }
        add_prefix(root, self.naming_prefix, exclude=self.exclude_from_prefixing)

    @property
    def root_body(self) -> str:
        return str(self.bodies[0])

    def __getattr__(self, name: str) -> Any:
        if name in KINDS:
            return self.correct_naming(self.__dict__["_names"][name])
        if name.removeprefix("_") in KINDS and name.startswith("_"):
            return self.__dict__["_names"][name[1:]]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")


class MujocoXMLModel(Parsed, MujocoXML):
    """A model of a file, whose names begin with a prefix.

    Subclasses define `_important_sites`, `_important_geoms` and `_important_sensors`: names without
    prefix, by key.

    Args:
        fname: path of the file, or an open one.
        idn: the number of the model, in its names.
    """

    contact_geom_rgba: Any = None

    def __init__(self, fname: Any, idn: Any = 0) -> None:
        MujocoXML.__init__(self, fname)
        self.idn = idn
        self.take(self.root)
        top = find_elements(self.worldbody, "body")
        self._base_offset = string_to_array(top.get("pos", "0 0 0"))
        if self.contact_geom_rgba is not None:
            recolor_collision_geoms(self.worldbody, self.contact_geom_rgba)

    @property
    def name(self) -> str:
        return f"{type(self).__name__}{self.idn}"

    @property
    def naming_prefix(self) -> str:
        return f"{self.idn}_"

    @property
    def base_offset(self) -> np.ndarray:
        """Position of its body at the top, (3,) m."""
        return self._base_offset

    @property
    def bottom_offset(self) -> np.ndarray:
        return self.base_offset

    @property
    def _important_sites(self) -> dict[str, str]:
        return {}

    @property
    def _important_geoms(self) -> dict[str, list[str]]:
        return {}

    @property
    def _important_sensors(self) -> dict[str, str]:
        return {}

    @property
    def important_sites(self) -> dict[str, str]:
        return dict(self.correct_naming(self._important_sites))

    @property
    def important_geoms(self) -> dict[str, list[str]]:
        return dict(self.correct_naming(self._important_geoms))

    @property
    def important_sensors(self) -> dict[str, str]:
        return dict(self.correct_naming(self._important_sensors))
