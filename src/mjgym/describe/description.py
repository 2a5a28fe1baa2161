"""Descriptions of environments as plain data: every index of the spaces has a name and a unit."""

import ast
import dataclasses
import functools
import inspect
import io
import math
import re
import textwrap
import tokenize
import types
import typing
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym.describe.labels import signals, unnamed
from mjgym.envs.pixels import viewpoint
from mjgym.envs.spaces import Layout
from mjgym.observables import Sensing
from mjgym.sim.views import View
from mjgym.task import Signal, Task, Viewpoint
from mjgym.util.docstrings import docstring, first_paragraph, paragraphs
from mjgym.util.values import plain

_TO_CHECKERS = re.compile(r"# (type: ignore|noqa)[^ ]*")  # comments for tools
# Reading a class's file takes most of the time.
_once = functools.lru_cache(maxsize=256)  # of classes
_SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor", "ntendon")


def observation_entries(
    task: Task, view: View, layout: Layout, sensing: Sensing | None = None
) -> list[dict[str, Any]]:
    """One row for each number of the flat observation.

    Returns:
        Rows of `index`, `entry`, `name`, `unit`, `frame`, `source` and `meaning`; see
        `mjgym.describe.labels`. Unknown numbers are named by their index, "entry[3]", with an empty
        unit.
    """
    observation = task.observation(view)
    shapes = {name: np.shape(value)[len(view.lead) :] for name, value in observation.items()}
    labels = signals(task, view, shapes)
    if sensing is not None:
        labels = _as_sensed(labels, sensing)
    rows = []
    for entry, part in layout.slices.items():
        signal = labels.get(entry) or unnamed(entry, layout.shapes[entry])
        for i, name in enumerate(signal.names):
            rows.append(
                {
                    "index": part.start + i,
                    "entry": entry,
                    "name": name,
                    "unit": _nth(signal.unit, i),
                    "frame": _nth(signal.frame, i),
                    "source": _nth(signal.source, i),
                    "meaning": signal.meaning,
                }
            )
    return rows


def _as_sensed(signals: dict[str, Signal], sensing: Sensing) -> dict[str, Signal]:
    """The signals of entries after sensing: some left out, some repeated, some added."""
    sensed = {name: signal for name, signal in signals.items() if name in sensing.shapes}
    for name, (observable, several) in sensing.read_entries().items():
        shape = sensing.shapes[name][1:] if several else sensing.shapes[name]
        signal = sensed.get(name)
        if signal is None:
            if observable.source is None:
                continue
            whole = repr(observable.source)
            signal = dataclasses.replace(
                unnamed(name, shape), meaning=f"read from {whole}", source=whole
            )
        if several:
            age = [
                f"{k} reading{'s' * (k > 1)} ago" for k in range(observable.buffer_size - 1, 0, -1)
            ]
            names = [f"{n}, {ago}" for ago in age for n in signal.names] + list(signal.names)
            repeat: dict[str, Any] = {
                field: value * observable.buffer_size
                for field in ("unit", "frame", "source")
                if isinstance(value := getattr(signal, field), tuple)
            }
            signal = dataclasses.replace(signal, names=tuple(names), **repeat)
        sensed[name] = signal
    return sensed


def _nth(value: str | tuple[str, ...], i: int) -> str:
    return value if isinstance(value, str) else value[i]


def action_entries(task: Task, model: mujoco.MjModel) -> list[dict[str, Any]]:
    return [{"index": i, **dataclasses.asdict(a)} for i, a in enumerate(task.actions(model))]


def describe(
    task: Task,
    view: View,
    layout: Layout,
    model: mujoco.MjModel,
    sensing: Sensing | None = None,
) -> dict[str, Any]:
    """A full description of a task, as data for JSON."""
    cls: type = type(task)
    file, line = _place(cls)
    with np.errstate(all="ignore"):
        terms = list(task.terms(view))
    return {
        "task": f"{cls.__module__}:{cls.__qualname__}",
        "file": file,
        "line": line,
        "summary": first_paragraph(cls),
        "description": docstring(cls),
        "observation": observation_entries(task, view, layout, sensing),
        "action": action_entries(task, model),
        "terms": terms,
        "reward": "".join(paragraphs(cls, "Reward")[:1]),
        "start": "".join(paragraphs(cls, "Start")[:1]),
        "end": "".join(paragraphs(cls, "End")[:1]),
        "success": task.success(view) is not None,
        "arguments": arguments(task),
        "physics_timestep": float(model.opt.timestep),
        "control_timestep": float(task.control_timestep),
        "time_limit": None if task.time_limit == float("inf") else float(task.time_limit),
        "varies": list(task.varies),
        "cameras": list(view.names("camera")),
        "viewpoint": _viewpoint(task, model),
        "model": {name: int(getattr(model, name)) for name in _SIZES},
        "versions": {str(version): text for version, text in task.versions.items()},
    }


def _viewpoint(task: Task, model: mujoco.MjModel) -> Any:
    where = viewpoint(task, model)
    return plain(vars(where)) if isinstance(where, Viewpoint) else where


def _type_name(annotation: Any) -> str:
    """The annotation of a field as in the source, without modules: "str | Walker"."""
    kind, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if kind is types.UnionType:
        return " | ".join(map(_type_name, inner))
    if kind is typing.Literal:
        return " | ".join(map(repr, inner))
    if kind is tuple:
        names = ", ".join("..." if each is ... else _type_name(each) for each in inner)
        return f"tuple[{names}]"
    if annotation is type(None):
        return "None"
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def arguments(task: Task) -> list[dict[str, Any]]:
    """The task's fields: `name`, `value`, `default`, `type` and the comment beside them."""
    comments = field_comments(type(task))
    rows = []
    for field in dataclasses.fields(task):
        default = None if field.default is dataclasses.MISSING else field.default
        rows.append(
            {
                "name": field.name,
                "value": _plain(getattr(task, field.name)),
                "default": _plain(default),
                "type": _type_name(field.type),
                "comment": comments.get(field.name, ""),
            }
        )
    return rows


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def field_comments(cls: type) -> dict[str, str]:
    """Comments beside the fields of a class and its bases, by field."""
    comments: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        comments.update(_own_comments(base))
    return comments


@_once
def _own_comments(cls: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):  # defined at a prompt
        return {}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string for t in tokens if t.type == tokenize.COMMENT}
    (definition,) = ast.parse(source).body
    by_field = {}
    for statement in getattr(definition, "body", []):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            comment = comments.get(statement.end_lineno or 0, "")
            by_field[statement.target.id] = _TO_CHECKERS.sub("", comment).lstrip("# ")
    return by_field


@_once
def _place(cls: type) -> tuple[str, int]:
    """The file and line of a class statement, after its decorators; "", 0 if there is no file."""
    try:
        lines, first = inspect.getsourcelines(cls)
        file = str(Path(inspect.getfile(cls)))
    except (OSError, TypeError):
        return "", 0
    behind = next((i for i, text in enumerate(lines) if text.lstrip().startswith("class ")), 0)
    return file, first + behind
