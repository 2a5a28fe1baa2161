"""Elements and attributes of MJCF, from the schema that MuJoCo prints."""

import functools
import re
from dataclasses import dataclass, field

import mujoco

from mjgym_compat.dm_control.mjcf.values import (
    Array,
    File,
    Identifier,
    Keyword,
    Memory,
    Number,
    Reference,
    Text,
)

PREFIX_SEPARATOR = "/"
FRAME = "attachment_frame"  # namespace

_MERGED = ("actuator", "sensor", "tendon", "equality")  # whose children share names
_ON_DEMAND = ("inertial", "freejoint", "plugin")
_BOOLEAN = ("true", "false")
_SWITCH = ("disable", "enable")
_AUTO = ("false", "true", "auto")
_WORDS = {
    **dict.fromkeys(
        (
            "limited",
            "ctrllimited",
            "forcelimited",
            "actlimited",
            "actuatorfrclimited",
            "inertiafromgeom",
            "align",
            "simple",
        ),
        _AUTO,
    ),
    **dict.fromkeys(
        (
            *("autolimits", "balanceinertia", "discardvisual", "fitaabb", "fusestatic"),
            *("strippath", "usethread", "useexisting", "uselimit", "alignfree", "saveinertial"),
            *("mocap", "active", "castshadow", "directional", "hflip", "vflip", "texuniform"),
            *("smoothnormal", "flatskin", "rigid", "internal", "actearly", "embed", "fuse"),
            *("actuatorgravcomp", "ellipsoidinertia", "bvactive", "savecanonical"),
            *("savecompiled", "passthrough", "orthographic", "passive", "shellinertia"),
        ),
        _BOOLEAN,
    ),
    "angle": ("radian", "degree"),
    "coordinate": ("local", "global"),
    "integrator": ("Euler", "RK4", "implicit", "implicitfast"),
    "cone": ("pyramidal", "elliptic"),
    "jacobian": ("dense", "sparse", "auto"),
    "solver": ("PGS", "CG", "Newton"),
    "mark": ("none", "edge", "cross", "random"),
    "colorspace": ("auto", "linear", "sRGB"),
    "projection": ("perspective", "orthographic"),
    "dyntype": (*("none", "integrator", "filter", "filterexact", "muscle", "user", "dcmotor"),),
    "joint.type": ("free", "ball", "slide", "hinge"),
    "site.type": ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"),
    "geom.type": (
        *("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"),
    ),
    "texture.type": ("2d", "cube", "skybox"),
    "texture.builtin": ("none", "gradient", "checker", "flat"),
    "light.type": ("spot", "directional", "point", "image"),
    "light.mode": ("fixed", "track", "trackcom", "targetbody", "targetbodycom"),
    "camera.mode": ("fixed", "track", "trackcom", "targetbody", "targetbodycom"),
    "lengthrange.mode": ("none", "muscle", "muscleuser", "all"),
}
_TEXTS = (
    *("eulerseq", "content_type", "gridlayout", "role", "key", "value", "plugin", "inertia"),
    *("assetdir", "meshdir", "texturedir", "conflict", "dof", "selfcollide", "elastic2d"),
    *("gaintype", "biastype", "interp", "input", "fluidshape", "sleep", "output", "curve"),
    *("initial", "prefix", "sep", "model", "frame", "kind", "controller", "objtype", "reftype"),
    *("shape", "datatype", "type", "mode", "builtin", "contact", "text.data", "needstage"),
    *("reduce", "equality", "contact.data", "rangefinder.data", "node", "cell"),
)
_ARRAYS: dict[str, int | None] = {
    **dict.fromkeys(("xyaxes",), 6),
    **dict.fromkeys(("fromto", "gear", "fullinertia"), 6),
    "relpose": 7,
    **dict.fromkeys(("dynprm", "gainprm", "biasprm"), 10),
    **dict.fromkeys(("quat", "axisangle", "rgba", "refquat", "bindquat", "hfield.size"), 4),
    **dict.fromkeys(
        (
            *("pos", "zaxis", "euler", "size", "axis", "dir", "ambient", "diffuse"),
            *("specular", "attenuation", "gravity", "wind", "magnetic", "center", "anchor"),
            *("diaginertia", "friction", "rgb1", "rgb2", "markrgb", "refpos", "bindpos"),
            *("bias", "offset", "spacing", "origin", "surfacevel"),
        ),
        3,
    ),
    **dict.fromkeys(
        (
            *("solref", "solreflimit", "solreffriction", "o_solref", "range", "ctrlrange"),
            *("forcerange", "actrange", "actuatorfrcrange", "lengthrange", "springdamper"),
            *("springlength", "texrepeat", "focal", "sensorsize", "principal", "posrange"),
            *("velrange", "ffrange", "muscle.timeconst", "adhesion.ctrlrange"),
        ),
        2,
    ),
    **dict.fromkeys(
        (
            *("solimp", "solimplimit", "solimpfriction", "o_solimp", "o_friction"),
            *("pair.friction", "polycoef", "fluidcoef"),
        ),
        5,
    ),
    "mesh.scale": 3,
    "flexcomp.scale": 3,
    **dict.fromkeys(
        (
            *("user", "vertex", "normal", "texcoord", "vertweight", "elevation", "point"),
            *("qpos", "qvel", "act", "ctrl", "mpos", "mquat", "numeric.data", "params"),
            "nodecoord",
        ),
        None,
    ),
}
_INT_ARRAYS: dict[str, int | None] = {
    **dict.fromkeys(("inertiagrouprange", "gridsize"), 2),
    **dict.fromkeys(("resolution", "focalpixel", "principalpixel"), 2),
    **dict.fromkeys(("count", "cellcount"), 3),
    **dict.fromkeys(
        ("face", "vertid", "element", "elemtexcoord", "grid", "gridrange", "actuatorgroupdisable"),
        None,
    ),
}
_INTS = (
    *("condim", "contype", "conaffinity", "group", "priority", "iterations", "ls_iterations"),
    *("noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints", "njmax"),
    *("nconmax", "nkey", "nstack", "nuserdata", "ncol", "nrow", "nchannel"),
    *(f"nuser_{kind}" for kind in ("body", "jnt", "geom", "site", "cam", "tendon")),
    *("nuser_actuator", "nuser_sensor"),
    *("cameraid", "numquads", "numslices", "numstacks", "offsamples", "shadowsize", "offwidth"),
    *("offheight", "dim", "actdim", "maxhullvert", "texture.width", "texture.height", "nsample"),
    *("activelayers",),
)
_REFERENCES = {
    **dict.fromkeys(("body", "body1", "body2", "camera.target", "light.target"), "body"),
    **dict.fromkeys(("geom", "geom1", "geom2"), "geom"),
    **dict.fromkeys(
        ("site", "site1", "site2", "sidesite", "cranksite", "slidersite", "refsite"), "site"
    ),
    **dict.fromkeys(("joint", "joint1", "joint2", "jointinparent"), "joint"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
    **{name: name for name in ("material", "mesh", "hfield", "texture", "actuator", "camera")},
    **{name: name for name in ("flex", "instance")},
    **dict.fromkeys(("class", "childclass"), "default"),
    "objname": "@objtype",
    "refname": "@reftype",
}
_REQUIRED = {
    "exclude": ("body1", "body2"),
    "config": ("key",),
    **{f"frame{name}": ("objtype", "objname") for name in ("pos", "quat", "linvel", "angvel")},
    **{f"frame{axis}axis": ("objtype", "objname") for axis in "xyz"},
    **{f"frame{name}acc": ("objtype", "objname") for name in ("lin", "ang")},
}


@dataclass(frozen=True, eq=False)
class ElementSpec:
    """An element of MJCF.

    Args:
        name: its tag.
        namespace: kind that its name is unique in.
        repeated: whether there may be several in a parent.
        on_demand: whether it exists only once it has been added, if not repeated.
        attributes: types by name.
        children: elements that it may hold, by tag.
        required: attributes that it cannot do without.
    """

    name: str
    namespace: str
    repeated: bool = False
    on_demand: bool = False
    attributes: dict[str, Text] = field(default_factory=dict)
    children: "dict[str, ElementSpec]" = field(default_factory=dict)
    required: tuple[str, ...] = ()

    @functools.cached_property
    def identifier(self) -> str | None:
        """The attribute that holds the name."""
        return next((n for n, v in self.attributes.items() if isinstance(v, Identifier)), None)


_TYPES: dict[str, Text] = {
    **{name: Keyword(words) for name, words in _WORDS.items()},
    **{name: Array(size) for name, size in _ARRAYS.items()},
    **{name: Array(size, int) for name, size in _INT_ARRAYS.items()},
    **{name: Number(int) for name in _INTS},
    **{name: Reference(namespace) for name, namespace in _REFERENCES.items()},
    **{name: Text() for name in _TEXTS},
    **{f"file{side}": File() for side in ("", *("back", "down", "front", "left", "right", "up"))},
    **{f"{tag}.scale": Number() for tag in ("muscle", "material")},
    **dict.fromkeys(("name", "default.class"), Identifier()),
    "material.specular": Number(),
    "pin.range": Array(None, int),
    "memory": Memory(),
    "model.file": File(),
}


def _type(tag: str, name: str, parents: tuple[str, ...]) -> Text:
    if tag == "flag":
        return Keyword(_SWITCH)
    known = _TYPES.get(f"{tag}.{name}", _TYPES.get(name, Number()))
    if "visual" in parents and tag != "headlight":  # elements' names are those of settings there
        if tag == "rgba":
            return Array(4)
        return known if isinstance(known, Keyword) or known == Number(int) else Number()
    return known


_LINE = re.compile(r"^( *)(\S+) \((.)\) *(.*)$")


@functools.cache
def schema() -> ElementSpec:
    """The root element, "mujoco"."""
    text = mujoco.mj_printSchema(False, False)
    rows: list[tuple[int, str, str, list[str]]] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            spaces, tag, times, names = match.groups()
            tag = tag.removeprefix("(world)")
            rows.append((len(spaces) // 3, tag, times, names.split()))
        elif rows:
            rows[-1][3].extend(line.split())
    stack: list[ElementSpec] = []
    for depth, tag, times, names in rows:
        del stack[depth:]
        parents = tuple(spec.name for spec in stack)
        top = depth <= 1
        in_default = "default" in parents
        repeated = (
            not top
            and times in "*R"
            and tag not in _ON_DEMAND
            and not (in_default and tag != "layer")
        )
        names.sort(key=lambda name: (name != "name", name != "class"))  # these come first
        spec = ElementSpec(
            tag,
            _namespace(tag, parents[-1] if parents else "", names),
            repeated or (tag == "plugin" and parents[-1] == "extension"),
            tag in _ON_DEMAND,
            {name: _type(tag, name, parents) for name in names},
            {},
            () if in_default else _REQUIRED.get(tag, ()),
        )
        if stack:
            stack[-1].children[tag] = spec
        stack.append(spec)
    root = stack[0]
    _finish(root)
    return root


def _namespace(tag: str, parent: str, attributes: list[str]) -> str:
    if tag == "default":
        return tag
    if "name" not in attributes:
        return ""
    return parent if parent in _MERGED else {"freejoint": "joint"}.get(tag, tag)


def _finish(root: ElementSpec) -> None:
    """Add what the printed schema only implies: recursion, the world, attachment frames."""
    printed = root.children.pop("body")
    body = ElementSpec("body", "body", True, False, printed.attributes, printed.children)
    body.children["body"] = body
    outside = ("inertial", "joint", "freejoint")
    in_world = {tag: spec for tag, spec in body.children.items() if tag not in outside}
    world = ElementSpec("worldbody", "body", False, False, {}, in_world)
    children = dict(root.children)
    root.children.clear()
    for tag, spec in children.items():
        if tag == "contact":
            root.children["worldbody"] = world
        root.children[tag] = spec
    default = root.children["default"]
    default.children["default"] = ElementSpec(
        "default", "default", True, False, default.attributes, default.children
    )
    root.attributes["model"] = Text()


@functools.cache
def frame_spec(in_world: bool) -> ElementSpec:
    """An attachment frame: the body that holds an attached model."""
    body = schema().children["worldbody"].children["body"]
    names = ("joint", "inertial", *(("freejoint",) if in_world else ()))
    attributes = {n: t for n, t in body.attributes.items() if n not in ("name", "childclass")}
    children = {name: body.children[name] for name in names}
    return ElementSpec("body", FRAME, True, False, attributes, children)


@functools.cache
def namespaces() -> frozenset[str]:
    """All kinds of named elements."""
    seen: set[int] = set()
    kinds = {FRAME}

    def visit(spec: ElementSpec) -> None:
        if id(spec) not in seen:
            seen.add(id(spec))
            kinds.update(filter(None, [spec.namespace]))
            for child in spec.children.values():
                visit(child)

    visit(schema())
    return frozenset(kinds)
