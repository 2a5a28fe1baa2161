"""The keyword arguments of `robosuite.make` as those of this package's environments."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from mjgym import registry
from mjgym.adapters.robosuite_controllers import controller_of
from mjgym.robots import arms
from mjgym.util.suggestions import or_else

# Those that a task has a field for, by their published names.
FIELDS = {
    "gripper_types": "gripper",
    "base_types": "base",
    "use_object_obs": "object_entries",
    "reward_scale": "reward_scale",
    "control_freq": "control_frequency",
    "placement_initializer": "placement",
    "table_full_size": "table_size",
    "table_friction": "table_friction",
    "bin1_pos": "bin1_pos",
    "bin2_pos": "bin2_pos",
    "use_latch": "latch",
    "peg_radius": "peg_radius",
    "peg_length": "peg_length",
}
# Those of the key "task_config" of Wipe.
WIPING = {
    "num_markers": "num_markers",
    "line_width": "line_width",
    "coverage_factor": "coverage_factor",
    "two_clusters": "two_clusters",
    "table_height": "table_height",
    "early_terminations": "early_terminations",
    "use_condensed_obj_obs": "condensed",
    "table_full_size": "table_size",
    "table_friction": "table_friction",
}
# Those that nothing else can be asked of here, of any task and of some.
FIXED: dict[str, Any] = {"render_collision_mesh": False, "render_visual_mesh": True}
_FRICTION = (1.0, 0.005, 0.0001)
FIXED_OF: dict[str, dict[str, Any]] = {
    "PickPlace": {
        "table_full_size": (0.39, 0.49, 0.82),
        "table_friction": _FRICTION,
        "z_offset": 0.0,
        "z_rotation": None,
    },
    "NutAssembly": {"table_offset": (0, 0, 0.82)},
    "TwoArmHandover": {"table_full_size": (0.8, 1.2, 0.05), "prehensile": True},
    "TwoArmTransport": {
        "tables_boundary": (0.8, 1.2, 0.05),
        "table_friction": _FRICTION,
        "bin_size": (0.3, 0.3, 0.15),
    },
}
FIXED_WIPING = {
    "arm_limit_collision_penalty": -10.0,
    "wipe_contact_reward": 0.01,
    "unit_wiped_reward": 50.0,
    "ee_accel_penalty": 0,
    "excess_force_penalty_mul": 0.05,
    "distance_multiplier": 5.0,
    "distance_th_multiplier": 5.0,
    "table_offset": (0.15, 0, 0.9),
    "table_friction_std": 0,
    "table_height_std": 0.0,
    "contact_threshold": 1.0,
    "pressure_threshold": 0.5,
    "pressure_threshold_max": 60.0,
    "print_results": False,
    "get_info": False,
    "use_robot_obs": True,
    "use_contact_obs": True,
}
# Those that change nothing: nothing is compiled in a reset, and pictures need no other set-up.
NO_EFFECT = (
    "has_offscreen_renderer",
    "hard_reset",
    "lite_physics",
    "render_gpu_device_id",
    "renderer",
    "renderer_config",
)
# The field that says which objects are at work, of the tasks whose id does not say so.
CHOICES = {"PickPlace": "object_type", "NutAssembly": "nut_type"}
ALL, RANDOM = "all", "random"
ARRANGEMENTS = {
    "opposed": "opposed",
    "parallel": "parallel",
    "single-arm-opposed": "opposed",
    "single-arm-parallel": "parallel",
    "single-robot": None,
    "bimanual": None,
    "default": None,
}
# Those of all tasks that are no field's alone.
COMMON = (
    "robots",
    "env_configuration",
    "controller_configs",
    "initialization_noise",
    "reward_shaping",
)


def task_fields(
    name: str, id: str, asked: Mapping[str, Any], others: Iterable[str]
) -> dict[str, Any]:
    """The fields of a task that the keyword arguments of `robosuite.make` ask for.

    Args:
        name: of the task, e.g. "PickPlaceCan".
        id: of the task here.
        asked: the keyword arguments.
        others: names of keyword arguments that are no task's.

    Raises:
        TypeError: an argument is unknown; the message names the nearest ones.
        ValueError: an argument has a value that there is none of here.
    """
    task_class = registry.registration(id).task_class
    family, known = task_class.__name__, {field.name for field in dataclasses.fields(task_class)}
    fixed = {**FIXED, **FIXED_OF.get(family, {})}
    fields = {
        theirs: ours for theirs, ours in FIELDS.items() if ours in known and theirs not in fixed
    }
    choice = CHOICES.get(name)
    valid = [*fields, *fixed, *NO_EFFECT, *COMMON]
    valid += ["single_object_mode", choice] if choice else []
    valid += ["task_config"] if family == "Wipe" else []
    for argument in asked:
        if argument not in valid:
            hint = or_else(argument, [*valid, *others])
            raise TypeError(f"{name} has no argument {argument!r}{hint}")
    _check_fixed(asked, fixed)
    found = {ours: _plain(asked[theirs]) for theirs, ours in fields.items() if theirs in asked}
    if found.get("placement", ...) is None:
        del found["placement"]
    if choice:
        found |= _chosen(choice, asked)
    if asked.get("task_config") is not None:
        found |= _wiping(asked["task_config"])
    found["reward_type"] = "dense" if asked.get("reward_shaping", family == "Wipe") else "sparse"
    return found | _robots(asked) | _noise(asked.get("initialization_noise", "default"))


def _check_fixed(asked: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
    for name, only in fixed.items():
        if name in asked and _plain(asked[name]) != _plain(only):
            raise ValueError(f"{name}: only {only!r} here, not {asked[name]!r}")


def _plain(value: Any) -> Any:
    """Lists as the tuples that fields of tasks are."""
    return tuple(value) if isinstance(value, list) else value


def _chosen(field: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    mode = asked.get("single_object_mode", 0)
    if mode not in (0, 1, 2):
        raise ValueError(f"single_object_mode: expected 0, 1 or 2, got {mode!r}")
    kind = asked.get(field)
    if mode == 2 and kind is None:
        raise ValueError(f"single_object_mode: 2 needs {field}")
    return {field: (ALL, RANDOM, kind)[mode]}


def _wiping(config: Mapping[str, Any]) -> dict[str, Any]:
    for name in config:
        if name not in (*WIPING, *FIXED_WIPING):
            hint = or_else(name, (*WIPING, *FIXED_WIPING))
            raise TypeError(f"task_config: no key {name!r}{hint}")
    _check_fixed(config, FIXED_WIPING)
    return {ours: _plain(config[theirs]) for theirs, ours in WIPING.items() if theirs in config}


def _robots(asked: Mapping[str, Any]) -> dict[str, Any]:
    given = asked["robots"]
    names = (given,) if isinstance(given, str) else tuple(given)
    found: dict[str, Any] = {"robot": names[0] if len(names) == 1 else names}
    where = asked.get("env_configuration", "default")
    if where not in ARRANGEMENTS:
        raise ValueError(f"env_configuration: no {where!r}{or_else(where, ARRANGEMENTS)}")
    if ARRANGEMENTS[where] is not None:
        found["arrangement"] = ARRANGEMENTS[where]
    configs = asked.get("controller_configs")
    if configs is None:
        return found
    each = list(configs) if isinstance(configs, list | tuple) else [configs] * len(names)
    if len(each) != len(names):
        raise ValueError(f"controller_configs: {len(each)} of them for {len(names)} robots")
    laws = [
        controller_of(config, len(arms.find(robot).limbs))
        for config, robot in zip(each, names, strict=True)
    ]
    return {**found, "controller": laws[0] if len(laws) == 1 else tuple(laws)}


def _noise(asked: Any) -> dict[str, Any]:
    each = list(asked) if isinstance(asked, list | tuple) else [asked]
    if not each or any(other != each[0] for other in each):
        raise ValueError("initialization_noise: all robots have the same here")
    noise = each[0]
    if noise is None:
        return {"start_noise": 0.0}
    if noise == "default":
        return {}
    if not (isinstance(noise, Mapping) and noise.keys() <= {"magnitude", "type"}):
        raise ValueError(
            'initialization_noise: expected "default", None, or a dict of magnitude and type, got'
            f" {noise!r}"
        )
    named = {"magnitude": "start_noise", "type": "start_noise_type"}
    return {named[key]: 0.0 if value is None else value for key, value in noise.items()}
