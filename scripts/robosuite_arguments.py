"""Compare the arguments of `make` with robosuite's, and write the table of the tabletop guide.

    # where robosuite is installed
    /path/to/venv/bin/python scripts/robosuite_arguments.py theirs >arguments.json
    # here, with that file in tests/data/robosuite
    python scripts/robosuite_arguments.py

The cases are those of `tests/data/robosuite/argument_cases.json`. Each is made (without images
unless it is about them) and reset. Recorded in `tests/data/robosuite/arguments.json` are the error,
or the horizon, the control step, the joint positions, and at these every observation entry (images:
their sizes), the reward, and the joints after one control step. For arguments in `DRAWN` it has the
means and deviations of joint positions over `DRAWS` resets, and for those in `FURNITURE` the shapes
of static geoms. The second call sets the recorded joint positions here and compares; after the
step, tool positions. The first one runs on robosuite 1.5.2 with MuJoCo 3.7.0.
"""

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import guide_marks
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data" / "robosuite"
CASES, RECORD = DATA / "argument_cases.json", DATA / "arguments.json"
GUIDE = ROOT / "assets" / "guides" / "tabletop.md"
BEGIN = "<!-- arguments:begin (written by scripts/robosuite_arguments.py) -->"
END = "<!-- arguments:end -->"
# Arguments that change the draws of a reset, and the number of draws to compare.
DRAWN = ("initialization_noise", "placement_initializer", "z_offset", "z_rotation", "hard_reset")
DRAWS = 12
SIGMAS = 5.0  # deviations by which two means may differ
SPREAD = 2.5  # factor by which two deviations may differ
# Arguments that change furniture.
FURNITURE = (
    *("table_full_size", "table_friction", "table_offset", "bin1_pos", "bin2_pos", "bin_size"),
    *("tables_boundary", "use_latch"),
)
CARRIED = (
    "robot",
    "gripper",
    "mount",
    "base",
    "Door",
)  # prefixes of geoms that are no furniture, or drawn
TOLERANCE = 1e-4  # of observations, rewards and furniture
MOVED = 1e-3  # m, of a tool after a control step; its arm's null space is drawn
AS_DRAWN = 1e-3  # m or parts of a quaternion, additional tolerance of means and deviations
PUBLISHED = "robosuite"
PUSH = 0.3  # every number of that step's action
PICTURES = ("camera_", "render_collision", "render_visual")  # prefixes of image arguments


def words(package: str, value: str) -> dict[str, Any]:
    """Functions used in the value of a case, from a package with robosuite's names.

    Samplers are robosuite's for both packages.
    """
    suite = importlib.import_module(package)
    factory: Any = suite
    if package == PUBLISHED:
        name = f"{package}.controllers.composite.composite_controller_factory"
        factory = importlib.import_module(name)

    def part(name: str) -> Any:
        own = suite.load_part_controller_config(default_controller=name)
        return factory.refactor_composite_controller_config(own, "Panda", ["right"])

    known = {
        "part": part,
        "load_composite_controller_config": suite.load_composite_controller_config,
    }
    if not any(name in value for name in ("sequential", "Sampler")):
        return known
    samplers = importlib.import_module(f"{PUBLISHED}.utils.placement_samplers")

    def sequential(*names: str) -> Any:
        found = samplers.SequentialCompositeSampler("several")
        for i, name in enumerate(names):
            place = {"x_range": [-0.1, -0.1], "y_range": [0.4 * i - 0.2] * 2, "rotation": 0.0}
            place |= {"reference_pos": (0, 0, 0.82), "ensure_object_boundary_in_range": False}
            found.append_sampler(samplers.UniformRandomSampler(f"{name}Sampler", **place))
        return found

    return {
        **known,
        "sequential": sequential,
        "UniformRandomSampler": samplers.UniformRandomSampler,
    }


def title(case: Mapping[str, Any]) -> str:
    """Title of a case: "Lift horizon=0"."""
    return f"{case['task']} {case['argument']}={case['value']}"


def outcome(
    package: str, case: Mapping[str, Any], theirs: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compared values of a case, or the error that it raises.

    Args:
        package: with robosuite's names.
        case: one of the file's.
        theirs: recorded outcome with the joint positions to compare at; None to record.
    """
    suite = importlib.import_module(package)
    about_pictures = case["argument"].startswith(PICTURES)
    asked = {
        "robots": case["robots"],
        "use_camera_obs": about_pictures,
        "has_offscreen_renderer": about_pictures,
        **case.get("with", {}),
    }
    if theirs is not None and case["argument"] != "seed":
        asked["seed"] = 0  # the same verdict each time
    if case["task"] == "TwoArmPegInHole":
        asked["gripper_types"] = None
    if about_pictures:
        asked = {"camera_heights": 32, "camera_widths": 32, **asked}
    try:
        asked[case["argument"]] = eval(case["value"], words(package, case["value"]))
        env = suite.make(case["task"], **asked)
        env.reset()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    found: dict[str, Any] = {"horizon": env.horizon, "timestep": env.control_timestep}
    if case["argument"] in DRAWN:
        found["drawn"] = _draws(env)
    if case["argument"] in FURNITURE:
        found["furniture"] = _furniture(env.sim.model._model, env.sim.data._data)
    found["joints"] = _joints(env)
    there = theirs if theirs is not None and "joints" in theirs else None
    _put(env, (there or found)["joints"])
    found["observation"] = {
        name: [list(value.shape)]
        if value.ndim > 1
        else np.round(value.ravel().astype(float), 6).tolist()
        for name, value in (
            (name, np.asarray(value))
            for name, value in sorted(env._get_observations(force_update=True).items())
        )
    }
    low, high = env.action_spec
    action = np.clip(np.full(low.shape, PUSH), low, high)
    found["reward"] = round(float(env.reward(action)), 6)
    found["action"] = len(low)
    found["done"] = bool(env.step(action)[2])
    found["moved"] = {n: x for n, x in _joints(env).items() if n.startswith("robot")}
    if there is not None:
        found["hands"] = [_hands(env)]
        _put(env, there["moved"])
        found["hands"].append(_hands(env))
    env.close()
    return found


def _joints(env: Any) -> dict[str, list[float]]:
    """Joint positions by name; quaternions with a non-negative scalar part."""
    model, data = env.sim.model._model, env.sim.data._data
    positions = {}
    for i in range(model.njnt):
        count = {0: 7, 1: 4}.get(int(model.jnt_type[i]), 1)
        value = np.array(data.qpos[model.jnt_qposadr[i] :][:count])
        if count >= 4 and value[-4] < 0:
            value[-4:] *= -1
        positions[model.joint(i).name] = np.round(value, 9).tolist()
    return positions


def _hands(env: Any) -> dict[str, list[float]]:
    """Tool positions, by entry."""
    entries = env._get_observations(force_update=True)
    return {
        name: list(x)
        for name, x in entries.items()
        if name.endswith("eef_pos") and "_to_" not in name
    }


def _put(env: Any, joints: Mapping[str, list[float]]) -> None:
    model, data = env.sim.model._model, env.sim.data._data
    names = [model.joint(i).name for i in range(model.njnt)]
    for name, value in joints.items():
        if name in names:
            data.qpos[model.jnt_qposadr[names.index(name)] :][: len(value)] = value
    data.qvel[:] = 0
    env.sim.forward()


def _draws(env: Any) -> dict[str, list[list[float]]]:
    """Mean and standard deviation of each joint position over resets."""
    drawn: list[dict[str, list[float]]] = []
    for _ in range(DRAWS):
        env.reset()
        drawn.append(_joints(env))
    return {
        name: [np.round(f([each[name] for each in drawn], axis=0), 6).tolist() for f in MOMENTS]
        for name in drawn[0]
    }


MOMENTS = (np.mean, np.std)


def _furniture(model: Any, data: Any) -> dict[str, list[float]]:
    """Friction, size and position of each named static shape with contacts."""
    return {
        model.geom(i).name: np.round(
            [*model.geom_friction[i], *model.geom_size[i], *data.geom_xpos[i]], 6
        ).tolist()
        for i in range(model.ngeom)
        if model.geom(i).name
        and not model.geom(i).name.startswith(CARRIED)
        and model.body_weldid[model.geom_bodyid[i]] == 0
        and model.geom_contype[i]
        and model.geom_type[i] != MESH
    }


MESH = 7


def compare(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Verdict on a case: a word, or the reason of its error."""
    if "error" in theirs:
        return "refused by both" if "error" in ours else "accepted here alone"
    if "error" in ours:
        reason = ours["error"].partition(": ")[2]
        return reason.replace("|", "/").replace("\n", " ")
    differing = _differing(theirs, ours)
    return "same" if not differing else "differs: " + ", ".join(differing)


def _differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    found = [name for name in ("action", "done", "horizon") if theirs[name] != ours[name]]
    found += [n for n in ("timestep", "reward") if abs(theirs[n] - ours[n]) > TOLERANCE]
    seen = [_comparable(each["observation"]) for each in (theirs, ours)]
    found += _unlike(*seen, TOLERANCE)
    found += _unlike(*ours["hands"], MOVED, " after a step")
    for name, value in theirs.get("furniture", {}).items():
        if name in ours["furniture"] and _far(value, ours["furniture"][name], TOLERANCE):
            found.append(name)
    for name, (mean, deviation) in theirs.get("drawn", {}).items():
        if name in ours["drawn"] and _drawn_otherwise(
            mean, deviation, *map(np.array, ours["drawn"][name])
        ):
            found.append(f"{name} as drawn")
    return found


def _comparable(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Entries determined by joint positions, and the shapes of the others.

    Accelerations depend on the previous torques, places of a door and sizes of a peg on the reset.
    """
    return {
        name: [0.0] * len(value)
        if name.endswith(UNDECIDED) or name.startswith("door") or name == "t"
        else value
        for name, value in observation.items()
    }


UNDECIDED = ("joint_acc", "proprio-state", "handle_pos", "handle_to_eef_pos", "object-state")


def _drawn_otherwise(a: Any, a_deviation: Any, b: np.ndarray, b_deviation: np.ndarray) -> bool:
    of_means = SIGMAS * np.hypot(a_deviation, b_deviation) / np.sqrt(DRAWS) + AS_DRAWN
    low, high = np.sort([a_deviation, b_deviation], axis=0)
    return bool((abs(a - b) > of_means).any() or (high > SPREAD * low + AS_DRAWN).any())


def _unlike(a: Mapping[str, Any], b: Mapping[str, Any], bound: float, when: str = "") -> list[str]:
    return [
        name + when
        for name in sorted(a.keys() | b.keys())
        if name not in a or name not in b or _far(a[name], b[name], bound)
    ]


def _far(a: Any, b: Any, bound: float) -> bool:
    return np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=0, atol=bound)


def table(cases: list[dict[str, Any]], theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Table of the guide: a row for each argument, and the differences."""
    rows: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for case in cases:
        verdict = compare(theirs[title(case)], ours[title(case)])
        rows.setdefault(case["argument"], []).append((case, verdict))
    lines = [
        "| argument | tried | accepted by robosuite | of those, the same here | what differs |"
    ]
    lines.append("|---|---|---|---|---|")
    accepted = same = 0
    for argument, tried in rows.items():
        both = [(case, how) for case, how in tried if "error" not in theirs[title(case)]]
        alike = [how for _, how in both if how == "same"]
        accepted, same = accepted + len(both), same + len(alike)
        other = "; ".join(
            f"`{case['value']}` ({case['task']}): {how}"
            for case, how in tried
            if how not in ("same", "refused by both")
        )
        lines.append(f"| `{argument}` | {len(tried)} | {len(both)} | {len(alike)} | {other} |")
    lines.append(f"| all | {len(cases)} | {accepted} | {same} | |")
    return "\n".join(lines)


def main() -> None:
    """Record robosuite's outcomes, or compare with them and write the table."""
    cases = json.loads(CASES.read_text())
    if sys.argv[1:] == ["theirs"]:
        record = {}
        for case in cases:
            record[title(case)] = outcome("robosuite", case)
            print(title(case), file=sys.stderr)
        packages = {name: importlib.metadata.version(name) for name in ("robosuite", "mujoco")}
        lines = [f"{json.dumps(name)}: {json.dumps(record[name])}" for name in sorted(record)]
        joined = ",\n".join(lines)
        print(f'{{"versions": {json.dumps(packages)}, "outcomes": {{\n{joined}\n}}}}')
        return
    theirs = json.loads(RECORD.read_text())["outcomes"]
    ours = {}
    for case in cases:
        ours[title(case)] = outcome("mjgym_compat.robosuite", case, theirs[title(case)])
    before, _, after = guide_marks.parts(GUIDE.read_text(), BEGIN, END)
    from mjgym.util import atomic  # not where robosuite is

    atomic.write_text(GUIDE, f"{before}\n{table(cases, theirs, ours)}\n{after}")


if __name__ == "__main__":
    main()
