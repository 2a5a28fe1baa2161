"""Elements and attributes of MJCF, from the schema that MuJoCo prints."""

import functools
import tomllib
from dataclasses import dataclass, field

from mjgym.mjcf.lint.engine_schema import printed
from mjgym.util.packaged import asset_path
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

_TABLES = tomllib.loads(asset_path("mjcf/attributes.toml").read_text(encoding="utf-8"))


def _by_name(table: str) -> dict[str, str]:
    return {name: words for words, names in _TABLES[table].items() for name in names.split()}


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

_KNOWN = {name: _of(words) for name, words in _by_name("types").items()}


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
    required = {tag: names for tags, names in _TABLES["required"].items() for tag in tags.split()}
    conflicts = _by_name("conflicts")
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
