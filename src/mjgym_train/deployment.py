"""A policy of a legged robot with all that its controller needs, as files."""

import dataclasses
import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.policies.network import AnyPolicy, Policy, PolicyError
from mjgym.util import atomic
from mjgym.util.values import plain
from mjgym.version import __version__
from mjgym_train import onnx_graph

DESCRIPTION, POLICY = "deploy.yaml", "policy.onnx"

# Arguments of the environment that training varies, or that a policy does not see.
OF_TRAINING = {"noise": False, "pushes": False, "encoder_bias": 0.0, "vary": None}
UNSEEN = ("vary_every", "time_limit", "max_episode_steps")

UNTESTED = (
    "vendor_order is the index in the vendor's SDK of each joint of joint_order; it has not been"
    " tried on a robot, nor have signs: check them joint by joint before a motor moves with force."
)
UNKNOWN = (
    "joint_order is the order of the model. The order and the signs of the vendor's SDK are not"
    " known here: fill in the SDK's index of each joint before a motor moves."
)
TARGET = "target of joint i, rad: default_pose[i] + action_scale[i] * action[i]"
HEADER = """\
# What a controller needs to run policy.onnx. Lists of joints are in the order of joint_order.
# Units: rad, rad/s, m, m/s, s, N m, N m/rad, N m s/rad, Hz. Quaternions are w, x, y, z.
# The normalisation of observations is inside the policy; quantities are scaled as said here.
"""


def write(folder: Path, policy: AnyPolicy, id: str, env: Mapping[str, Any]) -> list[Path]:
    """Write the policy, its model and their description; returns the paths written."""
    import yaml

    atomic.require_empty(folder)
    made = _environment(id, env)
    try:
        about = _description(made.unwrapped, policy, id)
        graph = onnx_graph.graph_of(policy, id)
        with atomic.filling(folder) as part:
            model = mjcf.export(made.unwrapped.task.model(), part)
            (part / POLICY).write_bytes(graph.SerializeToString())
            files = sorted(path for path in part.rglob("*") if path.is_file())
            names = {path.relative_to(part).as_posix(): path for path in files}
            about["model"], about["policy"] = model.name, POLICY
            about["sha256"] = {
                name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in names.items()
            }
            text = yaml.safe_dump(plain(about), sort_keys=False, default_flow_style=None, width=100)
            (part / DESCRIPTION).write_text(HEADER + text, encoding="utf-8")
    finally:
        made.close()
    return [folder / name for name in (*names, DESCRIPTION)]


def _environment(id: str, env: Mapping[str, Any]) -> Any:
    """The environment without the variations of training."""
    kept = {name: value for name, value in env.items() if name not in (*OF_TRAINING, *UNSEEN)}
    if kept.pop("observation", "flat") != "flat":
        raise PolicyError(
            "only a policy of flat observations can be deployed: --onnx and --hub write others,"
            " also of images"
        )
    made: Any = gym.make(id, **kept)
    task = made.unwrapped.task
    known = getattr(task, "measurements", None)
    problem = ""
    if known is None:
        problem = f"{id} cannot be deployed: only legged/ ids say what a robot's controller needs"
    elif foreign := sorted(set(kept) - {field.name for field in dataclasses.fields(task)}):
        problem = f"a policy that was trained with {', '.join(foreign)} cannot be deployed"
    elif hidden := [name for name in made.unwrapped.entry_shapes if name not in known]:
        problem = f"a robot's controller does not know {', '.join(hidden)}, which the policy sees"
    if problem:
        made.close()
        raise PolicyError(problem)
    return made


def _description(env: Any, policy: AnyPolicy, id: str) -> dict[str, Any]:
    task, model = env.task, env.model
    entries = _entries(env)
    sizes = sum(entry["size"] for entry in entries), len(task.rest)
    if not isinstance(policy, Policy) or (policy.mean.size, len(policy.low)) != sizes:
        seen = policy.mean.shape
        raise PolicyError(
            f"the policy is not one of {id}: it sees {seen} and gives {len(policy.low)} numbers,"
            f" not {sizes[0]} and {sizes[1]}"
        )
    ranges = task.command_ranges
    if task.command is not None:
        ranges = tuple((value, value) for value in task.command)
    vendor = task.body.vendor_joints
    joints = model.actuator_trnid[:, 0]
    freedoms = model.jnt_dofadr[joints]
    commands = ("forward", "left", "turn"), ("m/s", "m/s", "rad/s"), ranges
    return {
        "id": id,
        "robot": task.robot if isinstance(task.robot, str) else type(task.robot).__name__,
        "versions": {
            "mjgym": __version__,
            "mujoco": mujoco.__version__,
            "onnx": version("onnx"),
            "opset": onnx_graph.OPSET,
        },
        "joint_order": task.body.joints,
        "vendor_order": [vendor.index(joint) for joint in task.body.joints] if vendor else None,
        "vendor_order_note": UNTESTED if vendor else UNKNOWN,
        "target": TARGET,
        "default_pose": task.rest,
        "root_height": task.body.height,
        "action_scale": task.scales,
        "action_bounds": [policy.low, policy.high],
        "stiffness": model.actuator_gainprm[:, 0],
        "damping": (model.dof_damping[freedoms] - model.actuator_biasprm[:, 2]),
        "effort_limits": _limits(model, joints),
        "armature": model.dof_armature[freedoms],
        "joint_ranges": model.jnt_range[joints],
        "control_rate": round(1 / (task.physics_timestep * task.physics_steps), 6),
        "physics_timestep": task.physics_timestep,
        "physics_steps": task.physics_steps,
        "control_steps_per_action": policy.repeat,
        "history": policy.history,
        "history_order": "oldest first; the first observation of an episode fills it",
        "observation": entries,
        "commands": [
            {"name": name, "unit": unit, "range": span, "frame": task.body.root}
            for name, unit, span in zip(*commands, strict=True)
        ],
    }


def _limits(model: Any, joints: np.ndarray) -> np.ndarray:
    """Largest torque of each joint, N m; infinite without a limit."""
    limited, ranges = model.actuator_forcelimited, model.actuator_forcerange[:, 1]
    own = np.where(limited, ranges, np.inf)
    limited, ranges = model.jnt_actfrclimited[joints], model.jnt_actfrcrange[joints, 1]
    return np.minimum(own, np.where(limited, ranges, np.inf))


def _entries(env: Any) -> list[dict[str, Any]]:
    """Entries of the observation in their order, with where each number comes from."""
    labels: dict[str, list[dict[str, Any]]] = {}
    for number in env.describe()["observation"]:
        labels.setdefault(number["entry"], []).append(number)
    entries = []
    for name, numbers in labels.items():
        first, units = numbers[0], sorted({number["unit"] for number in numbers})
        entry = {"name": name, "first": first["index"], "size": len(numbers), "scale": 1.0}
        entry |= {"meaning": first["meaning"], "unit": ", ".join(units)}
        entry |= {"frame": first["frame"]} if first["frame"] else {}
        entry |= {"numbers": [number["name"] for number in numbers]}
        entries.append(entry | dict(env.task.measurements[name]))
    return entries
