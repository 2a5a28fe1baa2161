"""Elements and attributes of MJCF, from the schema that MuJoCo prints."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from mjgym.mjcf.lint.engine_schema import printed
from mjgym_compat.dm_control.mjcf.attribute import (
    Array,
    BasePath,
    File,
    Identifier,
    Keyword,
    Memory,
    Number,
    Reference,
    Text,
)
from mjgym_compat.dm_control.mjcf.constants import FRAME

# Sections whose children share names.
_MERGED = ("actuator", "sensor", "tendon", "equality", "contact", "deformable")
_ON_DEMAND = ("inertial", "freejoint", "plugin")

# Types of attributes, by name or by element and name; others are floats. An array's number is the
# most that it holds, words are those that an attribute takes.
_TYPES = """
array float *: user vertex normal texcoord vertweight elevation point qpos qvel act ctrl mpos
  mquat numeric.data params nodecoord
array float 2: solref solreflimit solreffriction o_solref range ctrlrange forcerange actrange
  actuatorfrcrange lengthrange springdamper springlength texrepeat focal sensorsize principal
  posrange velrange ffrange muscle.timeconst interval sectionsize focalpixel principalpixel
array float 3: pos zaxis euler size axis dir ambient diffuse specular attenuation gravity wind
  magnetic center anchor diaginertia friction rgb1 rgb2 markrgb refpos bindpos bias offset spacing
  origin mesh.scale flexcomp.scale cell
array float 4: quat axisangle rgba refquat bindquat hfield.size
array float 5: solimp solimplimit solimpfriction o_solimp o_friction pair.friction polycoef
  fluidcoef
array float 6: xyaxes fromto gear fullinertia surfacevel
array float 7: relpose
array float 10: dynprm gainprm biasprm
array int *: face vertid element elemtexcoord grid gridrange actuatorgroupdisable pin.range pin.id
array int 2: inertiagrouprange gridsize resolution
array int 3: count cellcount
int: condim contype conaffinity group priority iterations ls_iterations noslip_iterations
  ccd_iterations sdf_iterations sdf_initpoints njmax nconmax nkey nstack nuserdata ncol nrow
  nchannel nuser_body nuser_jnt nuser_geom nuser_site nuser_cam nuser_tendon nuser_actuator
  nuser_sensor cameraid numquads numslices numstacks offsamples shadowsize offwidth offheight dim
  actdim maxhullvert texture.width texture.height nsample activelayers numeric.size contact.num
  headlight.active
float: muscle.scale material.scale material.specular light.range lengthrange.interval
memory: memory
string: eulerseq content_type gridlayout role key value plugin input initial prefix sep model
  frame kind controller element.objtype user.objtype plugin.objtype plugin.reftype shape type mode
  text.data contact.data rangefinder.data node flex.body output
identifier: name default.class
reference body: body body1 body2 subtree1 subtree2 camera.target light.target
reference geom: geom geom1 geom2
reference site: site site1 site2 sidesite cranksite slidersite refsite
reference joint: joint joint1 joint2 jointinparent
reference tendon: tendon tendon1 tendon2
reference material: material
reference mesh: mesh
reference hfield: hfield
reference texture: texture
reference actuator: actuator
reference camera: camera
reference deformable: flex
reference plugin: instance
reference default: class childclass
reference @objtype: objname
reference @reftype: refname
basepath asset: assetdir
basepath mesh: meshdir
basepath texture: texturedir
file texture: texture.file fileback filedown filefront fileleft fileright fileup
file mesh: mesh.file hfield.file skin.file
file asset: file
disable enable: flag
false true auto: limited ctrllimited forcelimited actlimited actuatorfrclimited inertiafromgeom
  align embed
false auto: simple fuse
false true: autolimits balanceinertia discardvisual fitaabb fusestatic strippath usethread
  useexisting uselimit alignfree saveinertial mocap active castshadow directional hflip vflip
  texuniform smoothnormal flatskin rigid internal actearly actuatorgravcomp ellipsoidinertia
  bvactive savecanonical savecompiled orthographic passive shellinertia enclosed
none textures: passthrough
warning merge error: conflict
radian degree: angle
local global: coordinate
Euler RK4 implicit implicitfast discrete: integrator
pyramidal elliptic: cone
dense sparse auto: jacobian
PGS CG Newton: solver
none edge cross random: mark
auto linear sRGB: colorspace
perspective orthographic: projection
none integrator filter filterexact muscle dcmotor pid user: dyntype
fixed affine muscle dcmotor so3 pid user: gaintype
none affine muscle dcmotor so3 user: biastype
expmap quat: orientation.input
real positive axis quaternion: user.datatype
none pos vel acc: user.needstage
zoh linear cubic: interp
body xbody geom site camera: objtype reftype
none mindist maxforce netforce: reduce
auto never allowed init: sleep
none ellipsoid: fluidshape
none bend stretch both: elastic2d
circle box: section
none narrow bvh sap auto: selfcollide
false true vert strain: edge.equality
full radial trilinear quadratic 2d: dof
grid box cylinder ellipsoid square disc circle mesh gmsh direct: flexcomp.type
convex legacy exact shell: mesh.inertia
none sphere hemisphere cone supertorus supersphere wedge plate grid box cylinder ellipsoid square
  disc: mesh.builtin
free ball slide hinge: joint.type
sphere capsule ellipsoid cylinder box mesh: site.type
plane hfield sphere capsule ellipsoid cylinder box mesh sdf: geom.type
2d cube skybox: texture.type
none gradient checker flat: texture.builtin
spot directional point image: light.type
fixed track trackcom targetbody targetbodycom: light.mode camera.mode
none muscle muscleuser all: lengthrange.mode
"""

# Attributes that an element cannot do without.
_REQUIRED = """
exclude: body1 body2
config: key
layer: role
instance flexcomp numeric text tuple: name
hfield: size
inertial: pos mass
deformable.flex: body element
bone subtreecom subtreelinvel subtreeangmom: body
spatial.site touch accelerometer velocimeter gyro force torque magnetometer: site
spatial.geom: geom
camprojection: site camera
tactile: geom mesh
fixed.joint jointpos jointvel jointactuatorfrc ballquat ballangvel jointlimitpos jointlimitvel
  jointlimitfrc: joint
tendonpos tendonvel tendonactuatorfrc tendonlimitpos tendonlimitvel tendonlimitfrc: tendon
actuatorpos actuatorvel actuatorfrc: actuator
equality.joint: joint1
equality.tendon: tendon1
equality.flex flexstrain: flex
element framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel framelinacc
  frameangacc: objtype objname
insidesite: site objtype objname
"""

# The value of two models that are attached to each other; where none stands, theirs must be equal.
_CONFLICTS = """
min: option.timestep option.tolerance option.ls_tolerance option.noslip_tolerance
  option.ccd_tolerance map.znear
max: option.iterations option.ls_iterations option.noslip_iterations option.ccd_iterations
  option.sdf_iterations option.sdf_initpoints size.njmax size.nconmax size.nstack size.nkey
  map.zfar
max_bytes: size.memory
"""


def _rows(table: str) -> Iterator[tuple[str, str]]:
    for row in table.strip().replace("\n  ", " ").splitlines():
        words, _, names = row.partition(":")
        yield words, names


def _by_name(table: str) -> dict[str, str]:
    return {name: words for words, names in _rows(table) for name in names.split()}


def _of(words: str) -> Text:
    first, *rest = words.split()
    match first:
        case "array":
            size = None if rest[1] == "*" else int(rest[1])
            return Array(size, int if rest[0] == "int" else float)
        case "int" | "float":
            return Number(int if first == "int" else float)
        case "reference" | "basepath":
            return (Reference if first == "reference" else BasePath)(rest[0])
        case "file":
            return File(*rest)
        case _:
            plain = {"identifier": Identifier, "string": Text, "memory": Memory}.get(first)
            return plain() if plain else Keyword(tuple(words.split()))


@dataclass(frozen=True, eq=False)
class ElementSpec:
    """An element of MJCF."""

    name: str
    namespace: str  # kind that its name is unique in
    repeated: bool = False
    on_demand: bool = False  # exists only once it has been added, if not repeated
    attributes: dict[str, Text] = field(default_factory=dict)
    children: "dict[str, ElementSpec]" = field(default_factory=dict)
    required: tuple[str, ...] = ()
    # By attribute, which value models that are attached to each other have, if theirs differ.
    conflicts: dict[str, str] = field(default_factory=dict)

    @functools.cached_property
    def identifier(self) -> str | None:
        return next((n for n, v in self.attributes.items() if isinstance(v, Identifier)), None)


# The schema that the engine prints.

_KNOWN = {name: _of(words) for name, words in _by_name(_TYPES).items()}


def _type(tag: str, name: str, parents: tuple[str, ...]) -> Text:
    if tag == "flag":
        return _KNOWN[tag]
    known = _KNOWN.get(f"{tag}.{name}", _KNOWN.get(name, Number()))
    if "visual" in parents and tag != "headlight":  # elements' names are those of settings there
        if tag == "rgba":
            return Array(4)
        return known if isinstance(known, Keyword) or known == Number(int) else Number()
    return known


@functools.cache
def schema() -> ElementSpec:
    """The root element, "mujoco"."""
    required = {tag: attributes for tags, attributes in _rows(_REQUIRED) for tag in tags.split()}
    conflicts = _by_name(_CONFLICTS)
    stack: list[ElementSpec] = []
    for depth, printed_tag, times, names in printed():
        tag = printed_tag.removeprefix("(world)")
        del stack[depth:]
        parents = tuple(spec.name for spec in stack)
        in_default, parent = "default" in parents, parents[-1] if parents else ""
        several = depth > 1 and times in "*R" and tag not in _ON_DEMAND
        names.sort(key=lambda name: (name != "name", name != "class"))  # these come first
        spec = ElementSpec(
            tag,
            _namespace(tag, parent, names),
            (several and (not in_default or tag == "layer"))
            or (tag == "plugin" and parent == "extension"),
            tag in _ON_DEMAND,
            {name: _type(tag, name, parents) for name in names},
            required=()
            if in_default and tag != "layer"
            else tuple(required.get(f"{parent}.{tag}", required.get(tag, "")).split()),
            conflicts={n: conflicts[f"{tag}.{n}"] for n in names if f"{tag}.{n}" in conflicts},
        )
        if stack:
            stack[-1].children[tag] = spec
        stack.append(spec)
    _finish(stack[0])
    return stack[0]


def _namespace(tag: str, parent: str, attributes: list[str]) -> str:
    if tag == "default":
        return tag
    if "name" not in attributes:
        return ""
    shared = {"freejoint": "joint", "instance": "plugin"}
    return parent if parent in _MERGED else shared.get(tag, tag)


def _finish(root: ElementSpec) -> None:
    """Add the printed schema's implied parts: recursion and the world."""
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
def frame_spec(body: ElementSpec, in_world: bool) -> ElementSpec:
    """An attachment frame: the body that holds an attached model."""
    names = ("joint", "inertial", *(("freejoint",) if in_world else ()))
    attributes = {n: t for n, t in body.attributes.items() if n not in ("name", "childclass")}
    children = {name: body.children[name] for name in names}
    return ElementSpec("body", FRAME, True, False, attributes, children)


@functools.cache
def collect_namespaces(root_spec: ElementSpec) -> frozenset[str]:
    """All kinds of named elements."""
    seen: set[int] = set()
    kinds = {FRAME}

    def visit(spec: ElementSpec) -> None:
        if id(spec) not in seen:
            seen.add(id(spec))
            kinds.update(filter(None, [spec.namespace]))
            for child in spec.children.values():
                visit(child)

    visit(root_spec)
    return frozenset(kinds)
