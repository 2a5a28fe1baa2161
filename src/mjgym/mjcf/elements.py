"""Kinds of elements of a `mujoco.MjSpec`, and their attributes that are enumerations or names."""

import functools
import operator
import re
from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

import mujoco

from mjgym.util.suggestions import or_else

Spec: TypeAlias = mujoco.MjSpec
Element: TypeAlias = Any
"""A handle: an `MjsBody`, `MjsGeom`, `MjsActuator`, ... of a spec."""

IN_TREE = ("body", "frame", "joint", "geom", "site", "camera", "light")
ASSETS = ("mesh", "hfield", "texture", "material", "skin")
KINDS = (
    *IN_TREE,
    *ASSETS,
    *("flex", "pair", "exclude", "equality", "tendon", "actuator", "sensor"),
    *("numeric", "text", "tuple", "key", "plugin"),
)
_PLURALS = {"body": "bodies", "mesh": "meshes", "flex": "flexes", "equality": "equalities"}

# Attributes that hold names: the kind they refer to, or the attribute that says the kind.
REFERENCES: dict[str, dict[str, str]] = {
    "geom": {"material": "material", "meshname": "mesh", "hfieldname": "hfield"},
    "site": {"material": "material", "meshname": "mesh"},
    "camera": {"targetbody": "body"},
    "light": {"targetbody": "body", "texture": "texture"},
    "mesh": {"material": "material"},
    "material": {"textures": "texture"},
    "skin": {"material": "material", "bodyname": "body"},
    "flex": {"material": "material", "nodebody": "body", "vertbody": "body"},
    "pair": {"geomname1": "geom", "geomname2": "geom"},
    "exclude": {"bodyname1": "body", "bodyname2": "body"},
    "equality": {"name1": "objtype", "name2": "objtype"},
    "tendon": {"material": "material"},
    "actuator": {"target": "trntype", "refsite": "site", "slidersite": "site"},
    "sensor": {"objname": "objtype", "refname": "reftype"},
    "tuple": {"objname": "objtype"},
}

_TRANSMISSIONS = {
    "joint": ("joint",),
    "jointinparent": ("joint",),
    "slidercrank": ("site",),
    "tendon": ("tendon",),
    "site": ("site",),
    "body": ("body",),
    "so3": ("joint", "site"),
}

# The engine declares these as plain integers.
_LISTED: dict[tuple[str, str], Any] = {
    ("tuple", "objtype"): mujoco.mjtObj,
    ("option", "integrator"): mujoco.mjtIntegrator,
    ("option", "cone"): mujoco.mjtCone,
    ("option", "jacobian"): mujoco.mjtJacobian,
    ("option", "solver"): mujoco.mjtSolver,
}

# MJCF words that differ from the engine's enumerations.
_SPELLINGS = {
    "E_POTENTIAL": "potential",
    "E_KINETIC": "kinetic",
    "GEOMDIST": "distance",
    "GEOMNORMAL": "normal",
    "GEOMFROMTO": "fromto",
    "AUTO_NEVER": "auto-never",
    "AUTO_ALLOWED": "auto-allowed",
    "SRGB": "sRGB",
    "EULER": "Euler",
    "RK4": "RK4",
    "PGS": "PGS",
    "CG": "CG",
    "NEWTON": "Newton",
}


def plural(kind: str) -> str:
    return _PLURALS.get(kind, f"{kind}s")


_lists = operator.attrgetter(*map(plural, KINDS))


def kind_of(element: Element) -> str:
    """The kind of an element: "body", "geom", "actuator", ...; TypeError for anything else."""
    if not is_element(element):
        raise TypeError(f"expected an element of a MjSpec, got {type(element).__name__}")
    return type(element).__name__.removeprefix("Mjs").lower()


def require_spec(what: str, value: Any) -> None:
    if not isinstance(value, mujoco.MjSpec):
        raise TypeError(f"{what}: expected a mujoco.MjSpec, got {value!r:.100}")


def is_element(value: Any) -> bool:
    return _is_handle(type(value).__name__)


@functools.cache
def _is_handle(type_name: str) -> bool:
    return type_name.startswith("Mjs") and type_name[3:].lower() in (*KINDS, "default")


def elements(spec: Spec, kind: str) -> list[Element]:
    """All elements of a kind; bodies include the world."""
    if kind not in KINDS:
        raise ValueError(f"a model has no elements called {kind!r}{or_else(kind, KINDS)}")
    return list(getattr(spec, plural(kind)))


def names(spec: Spec, kind: str) -> list[str]:
    return [element.name for element in elements(spec, kind) if element.name]


def contents(spec: Spec) -> dict[str, list[Element]]:
    """All elements by kind, without empty kinds; bodies include the world."""
    return {kind: listed for kind, listed in zip(KINDS, _lists(spec), strict=True) if listed}


def every(spec: Spec) -> Iterator[tuple[str, Element]]:
    """Every element with its kind."""
    for kind, listed in contents(spec).items():
        for element in listed:
            yield kind, element


def described(element: Element) -> str:
    return f"{kind_of(element)} {element.name!r}"


def path(element: Element) -> str:
    """The path of an element: "world > torso > geom 'foot'"; its name alone outside of bodies."""
    steps = [described(element)]
    if kind_of(element) in IN_TREE:
        body = element.parent
        while body is not None:
            steps.append(body.name or "(unnamed body)")
            body = body.parent
    return " > ".join(reversed(steps))


def root(element: Element) -> Element:
    """The world body above an element of a kinematic tree."""
    body = element
    while (above := body.parent) is not None:
        body = above
    return body


@functools.cache
def enumerated(enumeration: Hashable) -> dict[str, Any]:
    """The members of an enumeration by their MJCF words."""
    known: dict[str, Any] = enumeration.__members__  # type: ignore[attr-defined]
    members = {name: member for name, member in known.items() if "_" in name}
    first = next(iter(members))
    ends = [i + 1 for i, letter in enumerate(first) if letter == "_"]
    prefix = max(first[:end] for end in ends if all(n.startswith(first[:end]) for n in members))
    words = {}
    for name, member in members.items():
        word = name.removeprefix(prefix)
        words[_SPELLINGS.get(word, word.lower())] = member
    return words


def enumeration(kind: str, attribute: str, part: Any = None) -> Any:
    """The enumeration of an attribute, or None.

    Args:
        kind: of an element, or the name of a part of a spec ("option").
        part: the part of a spec that has the attribute, if not an element.
    """
    enum = _enumeration(kind, attribute)
    if enum is not None or part is None:
        return enum
    enum = type(getattr(part, attribute, None))
    return enum if hasattr(enum, "__members__") else None


@functools.cache
def _enumeration(kind: str, attribute: str) -> Any:
    value = getattr(samples().get(kind), attribute, None)
    return type(value) if hasattr(type(value), "__members__") else _LISTED.get((kind, attribute))


def from_word(kind: str, attribute: str, word: str, enum: Any) -> Any:
    """The member of an enumeration for an MJCF word, in either case."""
    words = enumerated(enum)
    if word in words:
        return words[word]
    for known, member in words.items():
        if known.lower() == word.lower():
            return member
    raise ValueError(f"{kind} {attribute}: no such word {word!r}{or_else(word, words)}")


def to_word(member: Any) -> str:
    enum: Any = type(member)
    return next(word for word, known in enumerated(enum).items() if known == member)


def target_kinds(kind: str, attribute: str, said: Any) -> tuple[str, ...]:
    """The kinds that a name in an attribute can refer to.

    Args:
        said: value of the attribute that says the kind, if any (`objtype`, `trntype`).
    """
    by = REFERENCES[kind][attribute]
    if by in KINDS:
        return (by,)
    try:
        word = to_word(enumeration(kind, by)(int(said)))
    except (StopIteration, ValueError):
        return ()
    if by == "trntype":
        return _TRANSMISSIONS.get(word, ())
    return ({"xbody": "body"}.get(word, word),)


@functools.cache
def samples() -> dict[str, Element]:
    """A sample element of each kind with the engine's defaults."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    handles = {kind: getattr(body, f"add_{kind}")() for kind in IN_TREE}
    handles |= {kind: getattr(spec, f"add_{kind}")() for kind in KINDS if kind not in IN_TREE}
    return handles


class _Scratch:
    """A scratch spec, replaced now and then because deleting from it costs more."""

    enough = 256
    count = enough  # of elements in the spec
    spec: Spec
    body: Element

    @classmethod
    def parent(cls, kind: str) -> Any:
        if cls.count >= cls.enough:
            cls.spec, cls.count = mujoco.MjSpec(), 0
            cls.body = cls.spec.worldbody.add_body()
        cls.count += 1
        return cls.body if kind in (*IN_TREE, "freejoint") else cls.spec


@functools.cache
def parameters(owner: type, method: str) -> tuple[str, ...]:
    """Argument names of an engine method, from its documentation."""
    if method == "add_freejoint":
        return ("align", "group", "name")
    first = (getattr(owner, method).__doc__ or "").partition("\n")[0]
    return tuple(re.findall(r"[(,] ?(\w+): ", first)[1:])  # without self


def try_form(kind: str, method: str, attributes: dict[str, Any]) -> None:
    """Raise TypeError or ValueError unless the engine takes attributes of this form."""
    form = kind, tuple((name, _form(value)) for name, value in attributes.items())
    if form not in _taken:
        tried(kind, method, attributes)
        if all(known is not None for _, known in form[1]):
            _taken.add(form)


_taken: set[Hashable] = set()


def _form(value: Any) -> Hashable:
    """Type and length of a value, which the engine's checks depend on; None if unsure."""
    cls: Any = type(value)
    if cls is list or cls is tuple:
        whole = all(isinstance(number, int) for number in value)
        return (len(value), whole) if all(map(_is_number, value)) else None
    if cls is int:
        return int if _is_number(value) else None
    return cls if cls in (float, str, bool) or hasattr(cls, "__members__") else None


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**31)


def tried(kind: str, method: str, attributes: dict[str, Any]) -> Element:
    """An element in a scratch spec with these attributes.

    The engine checks sizes and types only after it has made an element; this keeps refused values
    out of the user's model.
    """
    here = {k: v for k, v in attributes.items() if k not in ("name", "default", "plugin")}
    try:
        return getattr(_Scratch.parent(kind), method)(**here)
    except (TypeError, ValueError) as error:
        message = str(error).partition(" incompatible function arguments")
        if message[1]:
            shown = ", ".join(f"{name}={value!r}" for name, value in here.items())
            raise TypeError(f"{kind}: the engine does not take the types in {shown}") from None
        raise type(error)(f"{kind}: {error}") from None
