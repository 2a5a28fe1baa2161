"""Plain functions that load, extend and cut a `mujoco.MjSpec`."""

import difflib
from pathlib import Path
from typing import Any, TypeAlias

import mujoco

from mjgym.mjcf.assets import asset_path

Spec: TypeAlias = mujoco.MjSpec

# How the words of MJCF are spelt in the engine's enumerations, by element and attribute.
_ENUMERATIONS: dict[tuple[str, str], tuple[Any, str]] = {
    ("geom", "type"): (mujoco.mjtGeom, "mjGEOM_"),
    ("site", "type"): (mujoco.mjtGeom, "mjGEOM_"),
    ("joint", "type"): (mujoco.mjtJoint, "mjJNT_"),
    ("sensor", "type"): (mujoco.mjtSensor, "mjSENS_"),
    ("sensor", "objtype"): (mujoco.mjtObj, "mjOBJ_"),
    ("sensor", "reftype"): (mujoco.mjtObj, "mjOBJ_"),
    ("equality", "type"): (mujoco.mjtEq, "mjEQ_"),
    ("equality", "objtype"): (mujoco.mjtObj, "mjOBJ_"),
    ("actuator", "dyntype"): (mujoco.mjtDyn, "mjDYN_"),
    ("actuator", "gaintype"): (mujoco.mjtGain, "mjGAIN_"),
    ("actuator", "biastype"): (mujoco.mjtBias, "mjBIAS_"),
    ("texture", "type"): (mujoco.mjtTexture, "mjTEXTURE_"),
    ("texture", "builtin"): (mujoco.mjtBuiltin, "mjBUILTIN_"),
    ("texture", "mark"): (mujoco.mjtMark, "mjMARK_"),
    ("camera", "proj"): (mujoco.mjtProjection, "mjPROJ_"),
    ("light", "type"): (mujoco.mjtLightType, "mjLIGHT_"),
    ("actuator", "trntype"): (mujoco.mjtTrn, "mjTRN_"),
    ("camera", "mode"): (mujoco.mjtCamLight, "mjCAMLIGHT_"),
    ("light", "mode"): (mujoco.mjtCamLight, "mjCAMLIGHT_"),
}


def load(name: str | Path) -> Spec:
    """A spec from MJCF.

    Args:
        name: one of the package's assets ("dmc/walker.xml"), or the path of a file anywhere.

    Raises:
        FileNotFoundError: there is neither; the message names the nearest assets.
    """
    try:
        path = asset_path(str(name))
    except FileNotFoundError:
        path = Path(name)
        if not path.is_file():
            raise
    return mujoco.MjSpec.from_file(str(path))


def add(parent: Any, kind: str, **attributes: Any) -> Any:
    """Add an element to a body (or, for sensors and the like, to a spec).

    Args:
        parent: an `MjsBody` or an `MjSpec`.
        kind: "body", "joint", "geom", "site", "camera", "light", "sensor", "actuator", ...
        **attributes: of the element, as MjSpec names them; enumerations as MJCF spells them, e.g.
            `type="capsule"`.

    Returns:
        The new element.

    Raises:
        ValueError: the parent takes no such element, or an enumeration has no such word.
        TypeError: the element has no such attribute.
    """
    method = getattr(parent, f"add_{kind}", None)
    if method is None:
        kinds = [m.removeprefix("add_") for m in dir(parent) if m.startswith("add_")]
        raise ValueError(f"nothing called {kind!r} can be added here{_nearest(kind, kinds)}")
    for attribute, value in attributes.items():
        if isinstance(value, str) and (kind, attribute) in _ENUMERATIONS:
            enumeration, prefix = _ENUMERATIONS[kind, attribute]
            words = {
                n.removeprefix(prefix).lower(): v
                for n, v in enumeration.__members__.items()
                if n.startswith(prefix)
            }
            if value not in words:
                raise ValueError(
                    f"{kind} {attribute}: no such word {value!r}{_nearest(value, list(words))}"
                )
            attributes[attribute] = words[value]
    return method(**attributes)


def remove(spec: Spec, kind: str, *names: str) -> None:
    """Delete named elements.

    A body takes with it everything in it and everything that refers to it or to what is in it.
    What refers to an element of another kind must be removed too, or the model does not compile.

    Raises:
        ValueError: there is no such kind, or no element of that kind and name; nothing has been
            deleted then.
    """
    kinds = [k for k in dir(spec) if not k.startswith("_") and hasattr(spec, _plural(k))]
    if kind not in kinds:
        raise ValueError(f"a model has no elements called {kind!r}{_nearest(kind, kinds)}")
    known = [e.name for e in getattr(spec, _plural(kind)) if e.name != "world"]
    for name in names:
        if name not in known:
            raise ValueError(f"the model has no {kind} {name!r}{_nearest(name, known)}")
    for name in names:
        element = getattr(spec, kind)(name)
        if element is not None:  # or it has gone with a body before it
            spec.delete(element)


def without_textures(spec: Spec) -> Spec:
    """A copy of a spec that has no textures: the same physics in a fraction of the memory."""
    bare = spec.copy()
    for material in bare.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(bare.textures):
        bare.delete(texture)
    return bare


def _plural(kind: str) -> str:
    return {"body": "bodies", "mesh": "meshes", "equality": "equalities"}.get(kind, f"{kind}s")


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=3)
    return f"; did you mean {', '.join(near)}?" if near else f"; there are {', '.join(known)}"
