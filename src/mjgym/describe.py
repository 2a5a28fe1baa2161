"""What an environment is made of, as plain data: every index of its spaces named, with its unit."""

import dataclasses
import inspect
import io
import tokenize
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym.sim.view import View
from mjgym.spaces import Layout, control_bounds
from mjgym.task import Task

# What an actuator acts on, by mjtTrn.
_TRANSMISSIONS = {0: "joint", 1: "joint", 3: "tendon", 4: "site", 5: "body"}
# Units of joint positions and velocities, by mjtJoint (hinge and slide).
_SLIDE = 2


def observation_entries(task: Task, view: View, layout: Layout) -> list[dict[str, Any]]:
    """One row for each number of the flat observation.

    Returns:
        Rows of `index`, `entry`, `name`, `unit`, `frame`, `source` and `meaning`. Entries that the
        task does not describe are named after their place, "entry[3]", with an empty unit.
    """
    signals = task.signals(view)
    rows = []
    for entry, part in layout.slices.items():
        signal = signals.get(entry)
        size = part.stop - part.start
        for i in range(size):
            row = {"index": part.start + i, "entry": entry}
            if signal is None:
                label = entry if layout.shapes[entry] == () else f"{entry}[{i}]"
                row |= {"name": label, "unit": "", "frame": "", "source": "", "meaning": ""}
            else:
                row |= {
                    "name": signal.names[i],
                    "unit": _nth(signal.unit, i),
                    "frame": signal.frame,
                    "source": _nth(signal.source, i),
                    "meaning": signal.meaning,
                }
            rows.append(row)
    return rows


def _nth(value: str | tuple[str, ...], i: int) -> str:
    return value if isinstance(value, str) else value[i]


def action_entries(model: mujoco.MjModel) -> list[dict[str, Any]]:
    """One row for each number of the action.

    Returns:
        Rows of `index`, `name`, `low`, `high`, `unit` (of what the actuator exerts on its target
        for a control of 1, times `gear`), `gear` and `source` (what it acts on).
    """
    low, high = control_bounds(model)
    rows = []
    for i in range(model.nu):
        kind = _TRANSMISSIONS.get(int(model.actuator_trntype[i]), "")
        target = int(model.actuator_trnid[i, 0])
        name = getattr(model, kind)(target).name if kind else ""
        linear = kind == "tendon" or (kind == "joint" and model.jnt_type[target] == _SLIDE)
        rows.append(
            {
                "index": i,
                "name": model.actuator(i).name or name,
                "low": float(low[i]),
                "high": float(high[i]),
                "unit": "N" if linear else "N m",
                "gear": float(model.actuator_gear[i, 0]),
                "source": f"{kind} {name}".strip(),
            }
        )
    return rows


def describe(task: Task, view: View, layout: Layout, model: mujoco.MjModel) -> dict[str, Any]:
    """All that there is to say about a task, as data for JSON.

    Args:
        task: the task.
        view: of one of its simulations.
        layout: of its observation.
        model: of its simulations.
    """
    cls = type(task)
    with np.errstate(all="ignore"):
        terms = list(task.terms(view))
    return {
        "task": f"{cls.__module__}:{cls.__qualname__}",
        "file": _file(cls),
        "line": _line(cls),
        "summary": _summary(cls),
        "description": inspect.getdoc(cls) or "",
        "observation": observation_entries(task, view, layout),
        "action": action_entries(model),
        "terms": terms,
        "reward": _paragraph(cls, "Reward"),
        "start": _paragraph(cls, "Start"),
        "success": task.success(view) is not None,
        "arguments": arguments(task),
        "physics_timestep": float(model.opt.timestep),
        "control_timestep": float(task.control_timestep),
        "time_limit": float(task.time_limit),
        "varies": list(task.varies),
        "model": {
            name: int(getattr(model, name))
            for name in ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsensor", "ntendon")
        },
        "versions": {str(k): text for k, text in task.versions.items()},
    }


def arguments(task: Task) -> list[dict[str, Any]]:
    """The task's fields: `name`, `value`, `default`, `type` and the comment beside them."""
    comments = _comments(type(task))
    rows = []
    for field in dataclasses.fields(task):
        default = None if field.default is dataclasses.MISSING else field.default
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
        rows.append(
            {
                "name": field.name,
                "value": getattr(task, field.name),
                "default": default,
                "type": str(kind),
                "comment": comments.get(field.name, ""),
            }
        )
    return rows


def _comments(cls: type[Task]) -> dict[str, str]:
    """The trailing comments of a class's fields, and of its bases', by field."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base is object or not dataclasses.is_dataclass(base):
            continue
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):  # typed in at a prompt
            continue
        first = ""
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and first.isidentifier():
                found[first] = token.string.lstrip("# ")
            elif token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = ""
            elif not first:
                first = token.string
    return found


def _file(cls: type[Task]) -> str:
    try:
        return str(Path(inspect.getfile(cls)))
    except (OSError, TypeError):
        return ""


def _line(cls: type[Task]) -> int:
    try:
        return inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return 0


def _summary(cls: type[Task]) -> str:
    return (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")


def _paragraph(cls: type[Task], title: str) -> str:
    """The paragraph of the docstring, or of a base's, that begins with a title."""
    for base in cls.__mro__:
        for paragraph in (inspect.getdoc(base) or "").split("\n\n"):
            if paragraph.startswith(f"{title}:"):
                return paragraph.removeprefix(f"{title}:").strip().replace("\n", " ")
    return ""
