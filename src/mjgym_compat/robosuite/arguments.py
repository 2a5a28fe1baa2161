"""Mapping from the keyword arguments of `robosuite.make` to task fields."""

import dataclasses
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from mjgym import registry
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of
from mjgym_compat.robosuite.controllers import controller_of
from mjgym_compat.robosuite.macros import SIMULATION_TIMESTEP
from mjgym_compat.robosuite.placement import SampledPlacement

# Arguments with a task field, by published name.
SAME = ("reward_scale", "table_friction", "bin1_pos", "bin2_pos", "peg_radius", "peg_length")
FIELDS = {name: name for name in SAME} | {
    "gripper_types": "gripper",
    "base_types": "base",
    "use_object_obs": "object_entries",
    "control_freq": "control_frequency",
    "placement_initializer": "placement",
    "table_full_size": "table_size",
    "use_latch": "latch",
}
# Entries of Wipe's argument "task_config".
SAME_WIPING = (
    *("num_markers", "line_width", "coverage_factor", "two_clusters"),
    *("table_height", "table_friction", "early_terminations"),
)
WIPING = {name: name for name in SAME_WIPING} | {
    "use_condensed_obj_obs": "condensed",
    "table_full_size": "table_size",
}
# Arguments of some tasks that are not field names in `FIELDS`.
FIELDS_OF: dict[str, dict[str, str]] = {
    "PickPlace": {"table_full_size": "bin_size"},
    "NutAssembly": {"table_offset": "table_top"},
}
# Arguments of some tasks that the published environments accept and ignore.
UNUSED: dict[str, tuple[str, ...]] = {"PickPlace": ("table_friction",)}
# Arguments of some tasks with their only supported value, and why.
FIXED: dict[str, dict[str, tuple[Any, str]]] = {
    "TwoArmHandover": {
        "prehensile": (True, "as robosuite's environment cannot be made with another value")
    },
    "TwoArmTransport": {
        "bin_size": ((0.3, 0.3, 0.15), "as the lid and the payload fit into these bins alone"),
        "tables_boundary": ((0.8, 1.2, 0.05), "as the bins stand where these tables are"),
    },
}
# The tables of TwoArmHandover lie within a boundary that is larger.
BOUNDED = {"TwoArmHandover": ("table_full_size", (0.8, 1.2, 0.05))}
HEIGHT_STD = "table_height_std"  # m, of the table's height, drawn in hard resets
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
    "contact_threshold": 1.0,
    "pressure_threshold": 0.5,
    "pressure_threshold_max": 60.0,
    "print_results": False,
    "get_info": False,
    "use_robot_obs": True,
    "use_contact_obs": True,
}
# Tasks without a shaped reward: the published ones accept the argument, and reward success.
SPARSE = ("ToolHang", "TwoArmTransport")
# Arguments without effect: `lite_physics` is bit-equal, rendering selects its device itself.
NO_EFFECT = ("lite_physics", "render_gpu_device_id")
# The field that selects the active objects, for tasks whose id does not.
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
# Sampler parameters of PickPlace, with their defaults.
SAMPLED: dict[str, tuple[str, Any]] = {
    "z_offset": ("z_offset", 0.0),
    "z_rotation": ("rotation", None),
}
NOISE_FIELDS = ("start_noise", "start_noise_type")
NOISES = ("gaussian", "uniform")
DEFAULT = "default"
WHOLE = 1e-9  # relative tolerance of integer numbers of physics steps
# Arguments of all tasks that do not map to a single field.
COMMON = (
    "robots",
    "env_configuration",
    "controller_configs",
    "initialization_noise",
    "reward_shaping",
)

# Entries of `robot_configs`: the argument that gives each, and its default.
OF_ROBOTS: dict[str, tuple[str, Any]] = {
    "composite_controller_config": ("controller_configs", None),
    "base_type": ("base_types", DEFAULT),
    "initialization_noise": ("initialization_noise", DEFAULT),
    "control_freq": ("control_freq", 20),
    "lite_physics": ("lite_physics", True),
    "gripper_type": ("gripper_types", DEFAULT),
}
GRIPPERS = {"Wipe": "WipingGripper", "TwoArmPegInHole": None}  # defaults of tasks with another


def robot_configs(name: str, asked: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """The `robot_configs` of robosuite: for each robot, the arguments that concern it."""
    given = {"gripper_types": GRIPPERS.get(name, DEFAULT), **asked}
    values = {key: given.get(argument, usual) for key, (argument, usual) in OF_ROBOTS.items()}
    return [
        {key: x[i] if isinstance(x, list | tuple) else x for key, x in values.items()}
        for i in range(count)
    ]


def task_fields(
    name: str, id: str, asked: Mapping[str, Any], others: Iterable[str]
) -> dict[str, Any]:
    """The task fields that the keyword arguments of `robosuite.make` ask for.

    Args:
        name: of the task, e.g. "PickPlaceCan".
        others: names of keyword arguments that do not concern the task.

    Raises:
        TypeError: an argument is unknown; the message names the nearest ones.
        ValueError: a value is not supported here.
    """
    names = asked["robots"]
    asked = {**asked, "robots": (names,) if isinstance(names, str) else tuple(names)}
    task_class = registry.registration(id).task_class
    family, known = task_class.__name__, {field.name for field in dataclasses.fields(task_class)}
    fixed = FIXED.get(family, {})
    special, unused = FIELDS_OF.get(family, {}), UNUSED.get(family, ())
    fields = {theirs: ours for theirs, ours in FIELDS.items() if ours in known} | special
    fields = {theirs: ours for theirs, ours in fields.items() if theirs not in fixed}
    choice = CHOICES.get(name)
    valid = [*fields, *unused, *fixed, *NO_EFFECT, *COMMON]
    valid += SAMPLED if family == "PickPlace" else ()
    valid += ["single_object_mode", choice] if choice else []
    valid += ["task_config"] if family == "Wipe" else []
    for argument in asked:
        if argument not in valid:
            hint = or_else(argument, [*valid, *others])
            raise TypeError(f"{name} has no argument {argument!r}{hint}")
    for argument, (only, reason) in fixed.items():
        _check_fixed({argument: only} | dict(asked), {argument: only}, f", {reason}")
    _check_frequency(asked.get("control_freq", 20))
    values = {ours: _plain(asked[theirs]) for theirs, ours in fields.items() if theirs in asked}
    if "control_frequency" in values:
        values["control_frequency"] = _simulated_frequency(values["control_frequency"])
    if family in BOUNDED:
        values.pop("table_size", None)
        values |= _bounded(asked, *BOUNDED[family])
    if "base" in values:
        values["base"] = bases_of(values["base"])
    values |= _placement(values.pop("placement", None), asked)
    if choice:
        values |= _chosen(choice, asked)
    if asked.get("task_config") is not None:
        values |= _wiping(asked["task_config"])
    shaped = asked.get("reward_shaping", family == "Wipe")
    if shaped and family in SPARSE:
        warnings.warn(
            f"reward_shaping: {family} pays for success alone, as in robosuite", stacklevel=3
        )
    values["reward_type"] = "dense" if shaped and family not in SPARSE else "sparse"
    robots = robot_fields(asked)
    count = 1 if isinstance(robots["robot"], str) else len(robots["robot"])
    return values | robots | _noise(asked.get("initialization_noise", "default"), count)


def _check_fixed(asked: Mapping[str, Any], fixed: Mapping[str, Any], reason: str = "") -> None:
    for name, only in fixed.items():
        if name in asked and _plain(asked[name]) != _plain(only):
            raise ValueError(f"{name}: only {only!r} here{reason}, not {asked[name]!r}")


def _check_frequency(hertz: Any) -> None:
    if not (isinstance(hertz, int | float) and hertz > 0):
        raise ValueError(f"control_freq: expected a number of Hz above 0, got {hertz!r}")
    if hertz * SIMULATION_TIMESTEP > 1 + WHOLE:
        raise ValueError(
            f"control_freq: at {hertz} Hz no physics step of {1000 * SIMULATION_TIMESTEP:g} ms fits"
            f" into a control step; at most {1 / SIMULATION_TIMESTEP:g} Hz"
        )


def _simulated_frequency(hertz: float) -> float:
    steps = int(1 / hertz / SIMULATION_TIMESTEP + WHOLE)
    return 1 / (steps * SIMULATION_TIMESTEP)


def _bounded(asked: Mapping[str, Any], argument: str, usual: tuple[float, ...]) -> dict[str, Any]:
    """A table along the right quarter of the boundary, as in the published task."""
    if argument not in asked or _plain(asked[argument]) == usual:
        return {}
    x, y, z = asked[argument]
    return {"table_size": (x, y / 4, z), "table_top": (0.0, -3 * y / 8, 0.8)}


def bases_of(asked: Any) -> Any:
    """Robot bases; None means no base."""
    if isinstance(asked, list | tuple):
        return tuple(map(bases_of, asked))
    return "NullMount" if asked is None else asked


def _placement(initializer: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    changed = {
        ours: _plain(asked[theirs])
        for theirs, (ours, usual) in SAMPLED.items()
        if theirs in asked and asked[theirs] != usual
    }
    if initializer is None:
        return {"placement": changed} if changed else {}
    if changed:
        raise ValueError(f"placement_initializer: not together with {', '.join(SAMPLED)}")
    sampled = hasattr(initializer, "sample")
    return {"placement": SampledPlacement(initializer) if sampled else initializer}


def _plain(value: Any) -> Any:
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
        if name not in (known := (*WIPING, *FIXED_WIPING, HEIGHT_STD)):
            hint = or_else(name, known)
            raise TypeError(f"task_config: no key {name!r}{hint}")
    _check_fixed(config, FIXED_WIPING)
    return {ours: _plain(config[theirs]) for theirs, ours in WIPING.items() if theirs in config}


def robot_fields(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The task fields about robots: names, arrangement and controllers."""
    names = asked["robots"]
    feet = asked.get("base_types", DEFAULT)
    feet = [feet] * len(names) if not isinstance(feet, list | tuple) else feet
    fields: dict[str, Any] = {"robot": names[0] if len(names) == 1 else names}
    where = asked.get("env_configuration", "default")
    one_of("env_configuration", where, ARRANGEMENTS)
    if ARRANGEMENTS[where] is not None:
        fields["arrangement"] = ARRANGEMENTS[where]
    configs = asked.get("controller_configs")
    each = list(configs) if isinstance(configs, list | tuple) else [configs] * len(names)
    if len(each) != len(names):
        raise ValueError(f"controller_configs: {len(each)} of them for {len(names)} robots")
    laws = [
        controller_of(config, robot, number, foot)
        for number, (config, robot, foot) in enumerate(zip(each, names, feet, strict=True))
    ]
    same = all(law == laws[0] for law in laws)
    return {**fields, "controller": laws[0] if same else tuple(laws)}


def _noise(asked: Any, robots: int) -> dict[str, Any]:
    each = noises(asked, robots)
    if all(other == each[0] for other in each):
        return {} if asked == "default" else dict(zip(NOISE_FIELDS, each[0], strict=True))
    return dict(zip(NOISE_FIELDS, zip(*each, strict=True), strict=True))


def noises(asked: Any, robots: int) -> list[tuple[float, str]]:
    """Size (rad) and type of each robot's initial noise."""
    each = list(asked) if isinstance(asked, list | tuple) else [asked] * robots
    if len(each) != robots:
        raise ValueError(f"initialization_noise: {len(each)} of them for {robots} robots")
    return [_noise_of(noise) for noise in each]


def _noise_of(noise: Any) -> tuple[float, str]:
    if noise is None:
        return 0.0, "gaussian"
    if noise == "default":
        return 0.02, "gaussian"
    if not (isinstance(noise, Mapping) and noise.keys() <= {"magnitude", "type"}):
        raise ValueError(
            'initialization_noise: expected "default", None, or a dict of magnitude and type, got'
            f" {noise!r}"
        )
    kind = noise.get("type", "gaussian")
    one_of("initialization_noise: type", kind, NOISES)
    return noise.get("magnitude", 0.0) or 0.0, kind
