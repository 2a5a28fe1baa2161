"""Attaching one model to another."""

import math
from typing import Any

import mujoco

from mjgym.mjcf import files
from mjgym.mjcf.debugging import watch
from mjgym.mjcf.elements import Element, Spec, contents, described, require_spec, root
from mjgym.mjcf.finding import name_all, remember_prefix
from mjgym.sim.engine import quiet

_KEY_VECTORS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat", "plastic")


def attach(
    parent: Spec,
    child: Spec,
    at: Any = None,
    *,
    name: str | None = None,
    prefix: str | None = None,
    free: bool = False,
    copy: bool = False,
) -> Any:
    """Attach a model to another one at a site, frame or body.

    As an entity, with a `name`: a frame body "<name>/" is added there, it holds the whole child,
    and all names of the child get the prefix "<name>/". With `free=True` the frame body has a free
    joint, also called "<name>/". With a bare `prefix` there is no frame body: the contents of the
    child's world go to `at` directly, and the prefix is put in front of all names unchanged.

    The child is moved, not copied: handles to its elements stay valid and show the new names, and
    references to them (sensors, actuators, tendons, materials, ...) follow. Its default classes
    become "<name>/main" and "<name>/<class>". Its meshes, textures and height fields are read from
    its own folders or `assets`, even if the parent has files of the same name. Angles and Euler
    sequences are read with the child's compiler settings. Unnamed elements are named first, see
    `name_unnamed`.

    Keyframes of both are merged: in those of one model, the other is in its initial state. Merged
    keyframes are new elements, `find(parent, "key", "<name>/ready")`, not the child's.

    Options (time step, gravity, ...) are the parent's; the engine warns at compilation if the
    child's differ. `assign(parent.compiler, conflict="merge")` before this call makes the engine
    merge them, and "error" makes it refuse.

    Args:
        at: handle of a site, frame or body of the parent, where the child's origin will be; None
            for the world.
        name: of the entity, without "/"; the child's model name by default.
        prefix: in front of all names, instead of the entity form.
        free: add a free joint; `at` must be in the world body.
        copy: attach a copy, so that the child can be attached again. Elements of the copy are found
            by name, `find(parent, "joint", "<name>/knee")`.

    Returns:
        The frame body (`MjsBody`), or with `prefix` the frame (`MjsFrame`), that holds the child.

    Raises:
        TypeError: both `name` and `prefix`, `free` without a name, or the parent, the child or `at`
            has a wrong type.
        ValueError: the parent or the child is attached already, `at` is not in the parent or is a
            site with `fromto`, names would clash, or a free joint would be outside the world body.
            Nothing has been added then.
    """
    watch()
    require_spec("attach: parent", parent)
    require_spec("attach: child", child)
    before = _checked_prefix(child, name, prefix, free)
    _check_models(parent, child)
    if at is None:
        at = parent.worldbody
    _check_place(parent, at, free)
    parts = contents(child)
    if prefix is None:
        _check_entity(parts.get("joint", []))
    _check_names(parent, name_all(parts), before, entity=prefix is None, free=free)
    pending = (not any(len(getattr(k, v)) for v in _KEY_VECTORS) for k in parts.get("key", []))
    if any(pending):  # a keyframe that is empty or not yet put together by the engine
        _assemble_keyframes(child)
    guest = child.copy() if copy else child
    stores = [files.take(guest), files.take(parent)]
    if prefix is not None:
        place = frame = _add_at(at, "frame")
    else:
        place = _add_at(at, "body", name=before)
        frame = place.add_frame()
        if free:
            place.add_freejoint(name=before)
    try:
        with quiet():
            parent.attach(guest, prefix=before, frame=frame)
    except ValueError:
        parent.delete(place)
        files.replace(guest, stores[0])
        raise
    finally:
        files.replace(parent, stores[1] if guest.parent is None else stores[0] | stores[1])
    remember_prefix(guest, before)
    return place


def _checked_prefix(child: Spec, name: str | None, prefix: str | None, free: bool) -> str:
    if prefix is not None:
        if name is not None:
            raise TypeError("attach: give a name, for an entity, or a bare prefix, not both")
        if free:
            raise TypeError("attach: free needs a name; a bare prefix makes no body to be free")
        if not prefix:
            raise ValueError("attach: the prefix is empty")
        return prefix
    if name is None:
        name = child.modelname
        if name == mujoco.MjSpec().modelname:  # the default name
            raise ValueError("attach: the child's model has no name; give a name or a prefix")
    if not name or "/" in name:
        raise ValueError(f"attach: the name {name!r} {'has a /' if name else 'is empty'}")
    return f"{name}/"


def _check_models(parent: Spec, child: Spec) -> None:
    if parent.parent is not None:
        raise ValueError(
            f"attach: model {parent.modelname!r} is attached to {parent.parent.modelname!r}; attach"
            " to that, at a place of this one"
        )
    if child is parent:
        raise ValueError(f"attach: model {child.modelname!r} cannot be attached to itself")
    if child.parent is not None:
        raise ValueError(
            f"attach: model {child.modelname!r} is attached to {child.parent.modelname!r} already;"
            " with copy=True each time, it can be attached several times"
        )


def _check_place(parent: Spec, at: Any, free: bool) -> None:
    if not isinstance(at, mujoco.MjsSite | mujoco.MjsFrame | mujoco.MjsBody):
        raise TypeError(
            f"attach: at: expected the handle of a site, frame or body, got {type(at).__name__}"
        )
    if root(at) is not parent.worldbody:
        raise ValueError(f"attach: at: {described(at)} is not in model {parent.modelname!r}")
    if isinstance(at, mujoco.MjsSite) and not math.isnan(at.fromto[0]):
        raise ValueError(f"attach: at: {described(at)} is given by its ends and has no pose yet")
    body = at if isinstance(at, mujoco.MjsBody) else at.parent
    if free and body is not parent.worldbody:
        raise ValueError(
            f"attach: free: {described(at)} is in body {body.name!r}; only what is attached to the"
            " world can be free"
        )


def _check_entity(joints: list[Element]) -> None:
    for joint in joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            raise ValueError(
                f"attach: the child has a free {described(joint)}, which cannot be inside a frame"
                " body; remove it and attach with free=True, or attach with a bare prefix"
            )


def _check_names(
    parent: Spec, named: dict[str, list[str]], prefix: str, *, entity: bool, free: bool
) -> None:
    coming = {kind: [prefix + name for name in names if name] for kind, names in named.items()}
    coming["body"][:1] = [prefix] if entity else []  # the first is the world
    if free:
        coming.setdefault("joint", []).append(prefix)
    for kind, names in coming.items():
        look_up = getattr(parent, kind)  # faster than listing the parent's names
        clashes = [name for name in names if look_up(name) is not None]
        if clashes:
            raise ValueError(
                f"attach: model {parent.modelname!r} has a {kind} {min(clashes)!r} already"
            )


def _assemble_keyframes(child: Spec) -> None:
    """Make the engine complete keyframes of models attached to the child.

    It does so at compilation; attached before that, they would lose the prefix of their names.
    """
    try:
        with quiet():
            child.compile()
    except ValueError as error:
        raise ValueError(
            f"attach: the keyframes of model {child.modelname!r} are put together by compiling it,"
            f" which fails: {error}"
        ) from None


def _pose(at: Any) -> dict[str, Any]:
    quaternion, orientation = at.quat, at.alt
    if orientation.type != mujoco.mjtOrientation.mjORIENTATION_QUAT:
        settings = at.compiler
        quaternion = mujoco.MjSpec.resolve_orientation(
            degree=settings.degree, sequence=settings.eulerseq, orientation=orientation
        )
    return {"pos": list(at.pos), "quat": list(quaternion)}


def _add_at(at: Any, kind: str, **attributes: Any) -> Element:
    """Add a body or a frame at a site, frame or body."""
    on_site = isinstance(at, mujoco.MjsSite)
    pose = _pose(at) if on_site else {}
    added = getattr(at.parent if on_site else at, f"add_{kind}")(**attributes, **pose)
    if on_site and at.frame is not None:
        added.set_frame(at.frame)
    return added
