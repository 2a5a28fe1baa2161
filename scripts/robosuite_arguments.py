"""Compare the arguments of `make` with robosuite's, and write the table of the tabletop guide.

    # where robosuite is installed
    /path/to/venv/bin/python scripts/robosuite_arguments.py theirs >arguments.json
    # here, with that file in tests/data/robosuite
    python scripts/robosuite_arguments.py

The cases are those of `tests/data/robosuite/argument_cases.json`. Each is made without pictures,
unless it is about them, is reset and stepped once. What is kept of it is how many numbers an action
and the observations have, and the error that refuses it, in `tests/data/robosuite/arguments.json`;
the second call compares them with what there is here, and writes the guide's table. The first one
runs on robosuite 1.5.2 with MuJoCo 3.7.0.
"""

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data" / "robosuite"
CASES, RECORD = DATA / "argument_cases.json", DATA / "arguments.json"
GUIDE = ROOT / "assets" / "guides" / "tabletop.md"
BEGIN = "<!-- arguments:begin (written by scripts/robosuite_arguments.py) -->"
END = "<!-- arguments:end -->"
PICTURES = ("camera_", "render_collision", "render_visual")  # begin arguments that need pictures


def words(package: str) -> dict[str, Any]:
    """The functions that values of cases are written with, of a package with robosuite's names."""
    suite = importlib.import_module(package)
    samplers = importlib.import_module(f"{package}.utils.placement_samplers")
    factory = importlib.import_module(
        f"{package}.controllers.composite.composite_controller_factory"
    )

    def part(name: str) -> Any:
        own = suite.load_part_controller_config(default_controller=name)
        return factory.refactor_composite_controller_config(own, "Panda", ["right"])

    def sequential(*names: str) -> Any:
        found = samplers.SequentialCompositeSampler("several")
        for i, name in enumerate(names):
            place = {"x_range": [-0.1, -0.1], "y_range": [0.4 * i - 0.2] * 2, "rotation": 0.0}
            place |= {"reference_pos": (0, 0, 0.82), "ensure_object_boundary_in_range": False}
            found.append_sampler(samplers.UniformRandomSampler(f"{name}Sampler", **place))
        return found

    return {
        "part": part,
        "sequential": sequential,
        "UniformRandomSampler": samplers.UniformRandomSampler,
        "load_composite_controller_config": suite.load_composite_controller_config,
    }


def title(case: Mapping[str, Any]) -> str:
    """The name of a case: "Lift horizon=0"."""
    return f"{case['task']} {case['argument']}={case['value']}"


def outcome(package: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of a case's action and observations, or the error that refuses it."""
    suite = importlib.import_module(package)
    about_pictures = case["argument"].startswith(PICTURES)
    asked = {
        "robots": case["robots"],
        "use_camera_obs": about_pictures,
        "has_offscreen_renderer": about_pictures,
        **case.get("with", {}),
    }
    if case["task"] == "TwoArmPegInHole":
        asked["gripper_types"] = None
    if about_pictures:
        asked = {"camera_heights": 32, "camera_widths": 32, **asked}
    try:
        asked[case["argument"]] = eval(case["value"], words(package))
        env = suite.make(case["task"], **asked)
        seen = env.reset()
        low, _ = env.action_spec
        done = env.step(np.zeros(low.shape))[2]
        env.close()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    sizes = {name: list(np.shape(value)) for name, value in sorted(seen.items())}
    return {"action": len(low), "observation": sizes, "done": bool(done)}


def compare(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Verdict on a case: a word, or the reason for which it is refused."""
    if "error" in theirs:
        return "refused by both" if "error" in ours else "accepted here alone"
    if "error" in ours:
        reason = ours["error"].partition(": ")[2]
        return reason.replace("|", "/").replace("\n", " ")
    return "same" if theirs == ours else "differs: " + ", ".join(_differing(theirs, ours))


def _differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    found = [name for name in ("action", "done") if theirs[name] != ours[name]]
    a, b = theirs["observation"], ours["observation"]
    return found + sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def table(cases: list[dict[str, Any]], theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The guide's table: a row for each argument, and what differs."""
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
        record = {title(case): outcome("robosuite", case) for case in cases}
        packages = {name: importlib.metadata.version(name) for name in ("robosuite", "mujoco")}
        text = json.dumps({"versions": packages, "outcomes": record}, indent=1, sort_keys=True)
        print(text)
        return
    theirs = json.loads(RECORD.read_text())["outcomes"]
    ours = {title(case): outcome("mjgym.adapters.robosuite", case) for case in cases}
    before, _, rest = GUIDE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    from mjgym.util import atomic  # not where robosuite is

    atomic.write_text(GUIDE, f"{before}{BEGIN}\n{table(cases, theirs, ours)}\n{END}{after}")


if __name__ == "__main__":
    main()
