"""The fields that can vary between episodes, and the reasons why others cannot."""

import fnmatch
import re
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS

from mjgym.sim.bounds import RESIZABLE
from mjgym.sim.engine import get_field
from mjgym.sim.fields import KINDS, PREFIXES, field_rows, object_of
from mjgym.util.suggestions import did_you_mean, or_else

# Fields writable at run time besides the numbers of a model's elements.
_MORE = (
    *("opt.timestep", "opt.gravity", "opt.wind", "opt.density", "opt.viscosity", "opt.magnetic"),
    *("opt.impratio", "hfield_data", "xfrc_applied", "qfrc_applied"),
)

_FORCES = {"xfrc": "body", "qfrc": "joint"}  # kinds by the beginning of a force's name

# Reasons why other fields cannot vary, by a pattern of their names; the first match counts.
_STRUCTURE = "it is part of the model's structure, which is compiled once"
_REASONS = (
    (r"actuator_ctrl(range|limited)", "it makes the action space"),
    (r"qpos0|qpos_spring|key_\w+", "it belongs to the start, which initialize() writes"),
    (
        r"\w*(invweight0|subtreemass|_M0|length0|acc0|rbound|aabb|pos0|poscom0|mat0|dir0)"
        r"|dof_length|body_margin|actuator_lengthrange|stat\.\w+|bvh_\w+",
        "it follows from other fields; vary those",
    ),
    (r"(mesh|tex|skin|oct|text|hfield)_\w+", "all simulations share it"),
    (r"(flex|flexedge|efm0)_\w+", "deformable bodies are compiled once"),
    (r"cam_(intrinsic|sensorsize|ipd)", "cam_fovy says how much a camera sees; vary that"),
    (r"opt\.\w+", "it chooses how the engine computes"),
    (r"wrap_\w+", "its rows have no names"),
    (r"\w+_(delay|interval|springyield)", _STRUCTURE),
    (r"\w+_user|sensor_noise|(numeric|tuple|plugin)_\w+|vis\.\w+", "no simulation depends on it"),
)

QUATERNIONS = frozenset({"body_quat", "body_iquat", "geom_quat", "site_quat", "cam_quat"})
"""Fields of orientations."""

UNIT = QUATERNIONS | {"jnt_axis", "light_dir"}
"""Fields with rows of unit length."""

_NEEDED = {
    "body_gravcomp": "flg_gravcomp",
    "geom_surfacevel": "flg_surfacevel",
    "geom_adhesion": "flg_adhesion",
    "pair_adhesion": "flg_adhesion",
}  # flag that enables a field
_LIMITED = {
    "jnt_range": "jnt_limited",
    "jnt_actfrcrange": "jnt_actfrclimited",
    "tendon_range": "tendon_limited",
    "tendon_actfrcrange": "tendon_actfrclimited",
    "actuator_forcerange": "actuator_forcelimited",
    "actuator_actrange": "actuator_actlimited",
}
RANGES = frozenset(_LIMITED)
"""Fields with rows of a lower and an upper limit."""

FORCES = frozenset({"xfrc_applied", "qfrc_applied"})
"""Fields of MjData that vary like those of the model: external forces, 0 by default."""

_SIMPLE = (
    "in a form that needs its centre of mass at its origin and its joints there;"
    " simple='false' of the body in the model lets them vary"
)
_FLUID_INPUTS = 6  # inputs in geom_fluid; the other numbers follow from the size
_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDER_CRANK = int(mujoco.mjtTrn.mjTRN_SLIDERCRANK)
_KEY = re.compile(r"(?P<field>[\w.]+)(?:\[(?P<inside>.*)\])?")


@dataclass(frozen=True)
class Part:
    """A part of a field of MjModel, or of `FORCES`."""

    key: str
    field: str
    index: tuple[Any, ...]
    numbers: np.ndarray


def find(key: str, model: mujoco.MjModel) -> Part:
    """Find the part of a model that a key names, see `mjgym.variation.varying.Varying`."""
    if not isinstance(key, str) or (match := _KEY.fullmatch(key.strip())) is None:
        raise ValueError(f"vary: {key!r} is not of the form field or field[name, column]")
    field, inside = match["field"], match["inside"]
    _check_field(field, model)
    items = [] if inside is None else [item.strip() for item in inside.split(",")]
    if field in FORCES:
        whole = np.zeros((model.nbody, 6) if field == "xfrc_applied" else model.nv)
    else:
        whole = np.asarray(get_field(model, field))
    if field.startswith("opt."):
        index: tuple[Any, ...] = _columns(key, field, items, whole.shape)
    else:
        pattern, *columns = items or ["*"]
        ids = _matching(key, field, pattern, model)
        obstacles = {i: reason for i in ids.tolist() if (reason := _obstacle(field, i, model))}
        if obstacles and (pattern != "*" or len(obstacles) == len(ids)):
            first, reason = next(iter(obstacles.items()))
            kind = _kind(field)
            name = mujoco.mj_id2name(model, object_of(kind), first) or str(first)
            raise ValueError(f"vary: {key!r}: {kind} {name!r} {reason}")
        usable = np.array([i for i in ids.tolist() if i not in obstacles], dtype=np.int64)
        index = (_rows(field, usable, model), *_columns(key, field, columns, whole.shape[1:]))
    return Part(key, field, index, np.array(whole[index], dtype=float))


def _check_field(field: str, model: mujoco.MjModel) -> None:
    if _can_vary(field, model):
        return
    head, _, leaf = field.rpartition(".")
    holder = {"": model, "opt": model.opt, "stat": model.stat, "vis": model.vis}.get(head)
    if holder is not None and hasattr(holder, leaf):
        raise ValueError(f"vary: {field!r} cannot vary: {_reason(field) or _STRUCTURE}")
    known = [name for name in (*MODEL_FIELDS, *_MORE) if _can_vary(name, model)]
    raise ValueError(f"vary: no field {field!r}{did_you_mean(field, known)}")


def _can_vary(field: str, model: mujoco.MjModel) -> bool:
    if field in _MORE:
        return True
    if field not in MODEL_FIELDS or field.partition("_")[0] not in PREFIXES or _reason(field):
        return False
    return bool(get_field(model, field).dtype.kind == "f")


def _reason(field: str) -> str | None:
    return next((reason for name, reason in _REASONS if re.fullmatch(name, field)), None)


def _kind(field: str) -> str:
    prefix = field.partition("_")[0]
    return _FORCES.get(prefix) or PREFIXES[prefix]


def _matching(key: str, field: str, pattern: str, model: mujoco.MjModel) -> np.ndarray:
    kind = _kind(field)
    count = getattr(model, KINDS[kind].count)
    names = [mujoco.mj_id2name(model, object_of(kind), i) or "" for i in range(count)]
    chosen = [
        i for i, name in enumerate(names) if name == pattern or fnmatch.fnmatchcase(name, pattern)
    ]
    if not chosen:
        raise ValueError(f"vary: {key!r}: no {kind} fits {pattern!r}{or_else(pattern, names)}")
    return np.array(chosen, dtype=np.int64)


def _rows(field: str, ids: np.ndarray, model: mujoco.MjModel) -> np.ndarray:
    if field.startswith("hfield_"):
        spans = [(model.hfield_adr[i], model.hfield_nrow[i] * model.hfield_ncol[i]) for i in ids]
        return np.concatenate([np.arange(start, start + count) for start, count in spans])
    return field_rows(model, field, ids)


def _obstacle(field: str, i: int, model: mujoco.MjModel) -> str | None:
    """Why an element cannot vary although others of its kind can; None if it can."""
    reason = None
    if field in _NEEDED and not getattr(model, _NEEDED[field]):
        reason = f"has none, and without {_NEEDED[field]} in the model the engine looks for none"
    elif field in _LIMITED and not getattr(model, _LIMITED[field])[i]:
        reason = "has no such limits in the model"
    elif field.startswith("body_"):
        reason = _obstacle_of_body(field, i, model)
    elif field == "xfrc_applied" and not model.body_weldid[i]:
        reason = "does not move"
    elif field in ("jnt_pos", "jnt_axis"):
        reason = _obstacle_of_joint(field, i, model)
    elif field == "geom_size" and model.geom_type[i] not in RESIZABLE:
        reason = "has the size of an asset, or no end"
    elif field == "geom_fluid" and not model.geom_fluid[i, 0]:
        reason = "has no fluid forces of its own (fluidshape) in the model"
    elif field == "actuator_cranklength" and model.actuator_trntype[i] != _SLIDER_CRANK:
        reason = "has no crank"
    return reason


def _obstacle_of_body(field: str, i: int, model: mujoco.MjModel) -> str | None:
    if i == 0:
        return "is the world, of which nothing can be felt"
    if field in ("body_ipos", "body_iquat") and model.body_simple[i]:
        return f"is held {_SIMPLE}"
    if field in ("body_pos", "body_quat"):
        if model.body_mocapid[i] >= 0:
            return "is placed by mocap_pos and mocap_quat, which initialize() writes"
        joint = model.body_jntadr[i]
        if joint >= 0 and model.jnt_type[joint] == _FREE:
            return "is placed by its free joint, whose qpos initialize() writes"
    return None


def _obstacle_of_joint(field: str, i: int, model: mujoco.MjModel) -> str | None:
    if model.jnt_type[i] == _FREE or (model.jnt_type[i] == _BALL and field == "jnt_axis"):
        return f"is a {'free' if model.jnt_type[i] == _FREE else 'ball'} joint, which has none"
    body = model.jnt_bodyid[i]
    if model.body_simple[body] and model.body_dofnum[body] > 1:
        return f"moves a body that is held {_SIMPLE}"
    return None


def _columns(
    key: str, field: str, texts: list[str], shape: tuple[int, ...]
) -> tuple[int | slice, ...]:
    if field == "geom_fluid":
        shape, texts = (_FLUID_INPUTS,), texts or [":"]
    if len(texts) > len(shape):
        count = f"{shape[0]} numbers in a row" if shape else "one number"
        raise ValueError(f"vary: {key!r}: {field} has {count} for each element")
    if texts and field in UNIT:
        raise ValueError(f"vary: {key!r}: a direction varies as a whole; give no column")
    indices: list[int | slice] = []
    for text, size in zip(texts, shape, strict=False):
        column = _column(key, text)
        try:
            chosen = np.arange(size)[column]
        except IndexError:
            chosen = np.zeros(0, dtype=np.int64)
        if not chosen.size:
            raise ValueError(f"vary: {key!r}: {field} has no column {text}, only 0 to {size - 1}")
        whole = isinstance(column, slice)
        indices.append(slice(int(chosen[0]), int(chosen[-1]) + 1) if whole else int(chosen))
    return tuple(indices)


def _column(key: str, text: str) -> int | slice:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"(-?\d+)?:(-?\d+)?", text):
        start, _, stop = text.partition(":")
        return slice(int(start) if start else None, int(stop) if stop else None)
    raise ValueError(f"vary: {key!r}: {text!r} is no column; give a number or a range such as 0:2")
